"""The record of an event-driven run: states within a step, energies, impacts, accumulations.

It extends `bodies.record.Recorder`: a step is a polynomial (`motion.Segment`), so states at saved
times are evaluated and not interpolated, and heat and work are integrals of polynomials. Times in
the record are those of the run; `Segment` counts from its start. `run.Integrator` writes it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.event_driven.kinematics import Closed
from stiction.bodies.event_driven.motion import Segment, integrals
from stiction.bodies.model import RigidBodies
from stiction.bodies.record import (
    ACCUMULATION,
    HEAT,
    OPEN,
    STICK,
    STORED,
    VISCOUS_HEAT,
    WORK,
    Event,
    PairSample,
    Recorder,
)
from stiction.numerics.arrays import Table
from stiction.numerics.event_localisation import nodes

__all__ = ["EventRecorder"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]


class EventRecorder(Recorder):
    """The record of an event-driven run.

    Parameters
    ----------
    save : (t,) times at which states are saved [s]
    start : time at which the run starts [s]
    """

    def __init__(self, system: RigidBodies, save: Floats, start: float) -> None:
        super().__init__(system, save, 0.0)
        self.start = start

    def save_segment(self, segment: Segment, until: float, sums: Floats, rounding: float) -> Floats:
        """Save the states at the times within a step, and add its heat; return energies after it.

        Parameters
        ----------
        until : fraction of the step that is taken
        sums : energies before the step, WORK to VISCOUS_HEAT [J]
        rounding : of times [s]

        Returns
        -------
        The energies after the step [J].
        """
        m = segment.phase.mechanics
        # fractions theta of the step at the saved times within it, and at its end
        time = self.save - self.start
        end = segment.start + until * segment.length
        at = int(self.saved[0])
        stop = int(np.searchsorted(time, end + rounding, side="right"))
        theta = np.append(np.maximum(time[at:stop] - segment.start, 0.0), end - segment.start)
        theta = np.minimum(theta / segment.length, until)
        theta[-1] = until
        _, q, v = segment.at(theta)
        # energies of each theta; constant loads do work on displacements
        number, r, heat, drive = self._power(segment, theta)
        each = np.tile(sums, (len(theta), 1))
        each[:, WORK] += (segment.moved(theta)[0] * m.force).sum(axis=(1, 2)) + drive
        self._add_springs(segment, theta, each)
        heats = np.zeros((len(theta), len(self.pairs)))
        for k, pair in enumerate(number.tolist()):
            heats[:, pair] += heat[:, k]
        values = self.of_pairs.rows
        for k in range(stop - at):
            self.q[at + k], self.v[at + k] = q[k], v[k]
            self.energy[at + k] = m.kinetic(v[k]), *each[k]
            rows = PairSample.table(len(values))
            if len(rows):
                rows["save"], rows["pair"] = at + k, np.arange(len(rows))
                rows["heat"] = values[:, HEAT] + heats[k]
                np.add.at(rows["normal"], number, r[k, :, 0])
                np.add.at(rows["tangential"], number, r[k, :, 1])
                self.samples.add(rows)
        self.saved[0] = stop
        values[:, HEAT] += heats[-1]
        return np.asarray(each[-1])

    def _add_springs(self, segment: Segment, theta: Floats, each: Floats) -> None:
        """Add the energies of springs and dampers up to theta (k,) to `each` (k, 5), in place."""
        m = segment.phase.mechanics
        if m.springs is None:
            return
        time, q, v = segment.at(nodes())
        moving = m.velocity(v)
        elastic, viscous = m.springs.loads(m.pose(time, q), moving)
        # supports work against the forces of springs on them
        drive = -((elastic + viscous) * moving)[..., m.n :, :].sum(axis=(1, 2))
        heat = -(viscous * moving).sum(axis=(1, 2))
        each[:, WORK] += segment.length * integrals(drive, theta)
        each[:, VISCOUS_HEAT] += segment.length * integrals(heat, theta)
        time, q, _ = segment.at(theta)
        each[:, STORED] = m.springs.stored(m.pose(time, q))

    def _power(self, segment: Segment, theta: Floats) -> tuple[Wholes, Floats, Floats, Floats]:
        """Return pairs, forces at theta, heat of contacts and work of supports up to theta.

        Returns
        -------
        (c,) numbers of the pairs of the closed contacts; (k, c, 2) forces [N]; (k, c) heat of
        friction; (k,) work of moving supports [J].
        """
        phase, m = segment.phase, segment.phase.mechanics
        closed = phase.closed
        if not len(closed):
            empty = np.zeros((len(theta), 0))
            none = np.zeros((len(theta), 0, 2))
            return np.zeros(0, np.int64), none, empty, np.zeros(len(theta))
        state = segment.at(nodes())
        forces, k = phase.forces(*state), phase.kinematics(*state)
        # of forces that are not unique those farthest inside the law
        r = phase.inside(segment.forces(theta).r)
        slips = ~phase.stick
        power = -forces.r[..., 1] * k.u[..., 1] * slips
        support = m.velocity(np.zeros((m.n, 3)))[closed["second"], :2]
        normal = k.normal
        tangent = np.stack([normal[..., 1], -normal[..., 0]], axis=-1)
        force = forces.r[..., :1] * normal + forces.r[..., 1:] * tangent
        drive = (force * support).sum(axis=(1, 2))
        h = segment.length
        return (
            self.pairs_of(closed),
            r,
            h * integrals(power, theta),
            h * integrals(drive, theta),
        )

    def change(self, time: float, closed: Table[Closed], approach: dict[int, float]) -> None:
        """Record the modes after an event, and impacts.

        Parameters
        ----------
        time : from the start of the run [s]
        closed : the closed contacts after the event
        approach : velocity of approach of the pairs that hit [m/s]
        """
        number = self.pairs_of(closed)
        modes = np.full(len(self.pairs), OPEN)
        for pair, mode in zip(number.tolist(), closed["mode"].tolist(), strict=True):
            # a pair slips where one of its points slips
            if modes[pair] in (OPEN, STICK):
                modes[pair] = mode
        fastest = np.zeros(len(self.pairs))
        for pair, speed in approach.items():
            fastest[pair] = speed
        self._change(self.start + time, modes, fastest)

    def hits(self, time: float, contacts: Table[Contact], closed: Bools, hit: Bools) -> Wholes:
        """Record impacts whose order would matter; return the numbers of the pairs.

        closed, hit : (c,) which contacts have an impulse, and which of them impact
        """
        number = self._pairs_of(contacts, closed | hit)
        self._note_simultaneous(self.start + time, contacts, number, closed, hit)
        return number

    def accumulation(self, time: float, pair: int, speed: float) -> None:
        """Record that infinitely many impacts of a pair end; speed after the last one computed."""
        row = Event.table(1)
        row[0] = (self.start + time, pair, OPEN, STICK, ACCUMULATION, speed)
        self.events.add(row)
