"""The record of a run of rigid bodies: saved states, pairs that touched, events, heat.

A *pair* is two parts that have touched at some time of the run; it has a number from 0 in the order
of the first contacts, whatever the number of its contact points. A pair has a mode (`MODES`): open,
stick, or slip along the tangent (slip+) or against it (slip-). A change of the mode is an event.
`run.Stepper` and `event_driven.run.Integrator` write the record, and `outcome` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from stiction.bodies.exact_stick import CLOSED
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.model import RigidBodies
from stiction.core.checkpoint import Log, StateArray
from stiction.numerics.arrays import Struct, Table

if TYPE_CHECKING:
    from stiction.bodies.space.model import SpatialBodies

__all__ = [
    "ACCUMULATION",
    "BACKWARD",
    "DISSIPATION",
    "FORWARD",
    "HEAT",
    "IMPACT",
    "IMPACT_LOSS",
    "KINDS",
    "LOSSES",
    "MODES",
    "NO_ACCELERATION",
    "OPEN",
    "PAINLEVE_BOUNDARY",
    "SEVERAL_ACCELERATIONS",
    "STICK",
    "STORED",
    "VISCOUS_HEAT",
    "WORK",
    "Event",
    "PairSample",
    "Recorder",
]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

MODES = ("open", "stick", "slip+", "slip-")
OPEN, STICK, FORWARD, BACKWARD = range(4)
KINDS = ("impact", "contact", "separation", "onset", "stop", "reversal", "accumulation")
IMPACT, CONTACT, SEPARATION, ONSET, STOP, REVERSAL, ACCUMULATION = range(7)
# losses of determinism at the level of accelerations
LOSSES = ("no_acceleration", "several_accelerations", "painleve_boundary")
NO_ACCELERATION, SEVERAL_ACCELERATIONS, PAINLEVE_BOUNDARY = range(3)
# chosen limit of the simultaneous impacts that are recorded
_MOST_SIMULTANEOUS = 1000
# columns of `Recorder.of_pairs`: heat of friction after and before the step [J], normal force and
# first component of the friction of the step [N]
HEAT, _HEAT_BEFORE, _NORMAL, _TANGENTIAL = range(4)
# energies of a run beside the kinetic one [J]: external work, energy lost in impacts, numerical
# dissipation, and of systems with springs the elastic energy and the heat of dampers. The arrays
# `sums` have these columns; `Recorder.energy` has the kinetic energy before them, so 1 + WORK etc.
WORK, IMPACT_LOSS, DISSIPATION, STORED, VISCOUS_HEAT = range(5)


class Event(Struct):
    """A change of the mode of a pair, or an impact at another point of it.

    Attributes
    ----------
    time : end of the step [s]
    pair : number of the pair from 0
    before, after : modes
    kind : IMPACT to ACCUMULATION, the index of its name in `KINDS`
    approach : velocity of approach before an impact [m/s]
    """

    time: float
    pair: int
    before: int
    after: int
    kind: int
    approach: float


class PairSample(Struct):
    """Forces and heat of a pair at a saved time.

    Attributes
    ----------
    save, pair : index of the saved time, and number of the pair, from 0
    normal, tangential : mean forces of the step over all points of the pair [N]
    heat : of friction since the start [J]
    """

    save: int
    pair: int
    normal: float
    tangential: float
    heat: float


class Recorder:
    """The record of a run; states at saved times within a step are interpolated linearly.

    Parameters
    ----------
    save : (t,) times at which states are saved [s]
    step : length of a step [s]

    Attributes
    ----------
    q, v : (t, n, 3), in space (t, n, 7) and (t, n, 6): saved places and velocities
    energy : (t, 6) kinetic energy, then WORK to VISCOUS_HEAT [J]
    saved : (1,) number of the times whose states are saved
    pairs : (p, 2) numbers of the parts of each pair, from 0
    of_pairs : (p, 3 + directions) columns HEAT, _HEAT_BEFORE, _NORMAL, and friction from
        _TANGENTIAL on
    modes : (p,) index in `MODES`
    events, samples : tables of `Event` and `PairSample`
    simultaneous : (k, 3) time [s], and numbers of two pairs whose impacts coincide
    lost : (k, 4) losses of determinism: time [s], index in `LOSSES`, pair, number of solutions
    """

    # the samples of pairs, and the components of their friction
    sample: ClassVar[type[PairSample]] = PairSample
    directions: ClassVar[int] = 1
    # components of the forces and moments of a hinge
    of_hinge: ClassVar[int] = 3

    def __init__(self, system: RigidBodies | SpatialBodies, save: Floats, step: float) -> None:
        q, v = system.start()
        self.save, self.step = np.asarray(save, dtype=np.float64), step
        self.q, self.v = np.zeros((len(save), *q.shape)), np.zeros((len(save), *v.shape))
        self.energy = np.zeros((len(save), 6))
        # columns: forces and moments of hinges [N], [N m], and heat of friction at their pins since
        # the start [J]; in the step with a further column, that heat before the step
        hinges, count = system.hinges, len(system.hinges)
        self.of_hinges = np.zeros((count, self.of_hinge + 2))
        self.hinges = np.zeros((len(save), count, self.of_hinge + 1))
        self.saved = np.zeros(1, dtype=np.int64)
        self.before = np.zeros(q.size + v.size + 6)  # state and energies at the begin of the step
        self.events, self.samples = Log(Event.table(0)), Log(self.sample.table(0))
        self.pairs = Log(np.zeros((0, 2), dtype=np.int64))
        self.of_pairs = Log(np.zeros((0, _TANGENTIAL + self.directions)))
        self.modes = Log(np.zeros(0, dtype=np.int64))
        self.simultaneous = Log(np.zeros((0, 3)))
        self.lost = Log(np.zeros((0, 4)))
        self._numbers: dict[tuple[int, int], int] = {}
        # the least number of a body of each mechanism, for bodies and supports
        self._mechanism = _mechanisms([(h.first - 1, h.second - 1) for h in hinges], system)

    # ---- states

    def save_start(self, q: Floats, v: Floats, kinetic: float, stored: float) -> None:
        """Save the state at the start."""
        self.q[0], self.v[0] = q, v
        self.energy[0, 0], self.energy[0, 1 + STORED] = kinetic, stored
        self.saved[0] = 1
        self._keep(q, v, self.energy[0])

    def _keep(self, q: Floats, v: Floats, energy: Floats) -> None:
        """Store places, velocities and energies (6,) of the last step, for interpolation."""
        self.before[:] = np.concatenate([q.ravel(), v.ravel(), energy])

    def add_step(self, time: float, q: Floats, v: Floats, kinetic: float, sums: Floats) -> None:
        """Save the states at the times within a step that ends at `time` [s].

        q, v : places and velocities after the step
        kinetic : kinetic energy after it [J]
        sums : (5,) the energies WORK to VISCOUS_HEAT [J]
        """
        places, states = q.size, q.size + v.size
        now = np.array([kinetic, *sums])
        at = int(self.saved[0])
        while at < len(self.save) and self.save[at] <= time + 1e-9 * self.step:
            part = min(1.0, max(0.0, 1.0 - (time - self.save[at]) / self.step))
            part = 1.0 if part > 1.0 - 1e-9 else part
            before = self.before
            self.q[at] = _between(before[:places].reshape(q.shape), q, part)
            self.v[at] = _between(before[places:states].reshape(v.shape), v, part)
            self.energy[at] = _between(before[states:], now, part)
            self._save_pairs(at, part)
            self.hinges[at] = self.of_hinges[:, :-1]
            heat, heat_before = self.of_hinges[:, -2:].T
            self.hinges[at, :, -1] = _between(heat_before, heat, part)
            at += 1
        self.saved[0] = at
        self._keep(q, v, now)

    def _save_pairs(self, at: int, part: float) -> None:
        """Save forces and heat of all pairs at saved time `at`, a fraction `part` of the step."""
        values = self.of_pairs.rows
        rows = self.sample.table(len(values))
        if len(rows):
            rows["save"], rows["pair"] = at, np.arange(len(rows))
            rows["normal"] = values[:, _NORMAL]
            rows["tangential"] = values[:, _TANGENTIAL:].reshape(rows["tangential"].shape)
            rows["heat"] = _between(values[:, _HEAT_BEFORE], values[:, HEAT], part)
            self.samples.add(rows)

    def add_hinges(self, forces: Floats, heat: Floats) -> None:
        """Record loads (h, 3) of hinges [N], [N m], and heat (h,) of pins in a step [J]."""
        self.of_hinges[:, :-2], self.of_hinges[:, -1] = forces, self.of_hinges[:, -2]
        self.of_hinges[:, -2] += heat

    # ---- contacts

    def no_contacts(self, time: float) -> None:
        """Record a step in free flight."""
        values, modes = self.of_pairs.rows, self.modes.rows
        if len(modes):
            values[:, _HEAT_BEFORE], values[:, _NORMAL:] = values[:, HEAT], 0.0
            self._change(time, np.zeros_like(modes), np.zeros(len(modes)))

    def contacts(
        self, time: float, contacts: Table[Any], force: Floats, before: Floats, after: Floats,
        together: Bools, still: Bools, impacting: Bools, h: float,
    ) -> tuple[float, float]:  # fmt: skip
        """Record the contacts of a step; return dissipation by impacts and by the scheme [J].

        An impact is a contact that closes with a velocity of approach. The work of both components
        of its impulse is its loss. The same holds for a contact that parts and is pushed back by
        the impact of another one. At other contacts the work of the tangential component is heat
        of friction. The normal component then acts on gaps of the scheme's size, and its work is
        numerical dissipation.

        Parameters
        ----------
        time : end of the step [s]
        contacts : (n,) table of the contacts of the step
        force : (n, 2) or (n, 3) mean forces of the step, normal and tangential [N]
        before, after : as `force`, velocities of the contacts before and after the step [m/s]
        together, still : (n,) whether the surfaces neither approach nor part after the step, or
            close a gap of the scheme's size, and whether they do not slip. A contact without a
            force may be one of several whose forces are not unique
        impacting : (n,) whether the surfaces approached or parted before the step and the contact
            is new in this step
        h : length of the step [s]

        Verified by: tests/unit/bodies/test_impacts.py::test_the_loss_of_contacts_that_are_pushed
        """
        closed = force[:, 0] > CLOSED * force[:, 0].max(initial=0.0)
        mean = 0.5 * h * (before + after)
        loss = -(force * mean)
        impacting = closed & impacting
        hit = impacting & (before[:, 0] < 0.0)
        heat = np.where(impacting, 0.0, loss[:, 1:].sum(axis=1))
        number = self._pairs_of(contacts, closed | together)
        values, count = self.of_pairs.rows, len(self.pairs)
        values[:, _HEAT_BEFORE], values[:, _NORMAL:] = values[:, HEAT], 0.0
        used = number >= 0
        at = number[used]
        # no force acts where no contact of a pair was ever closed
        np.add.at(values[:, HEAT], at, heat[used])
        np.add.at(values[:, _NORMAL], at, force[used, 0])
        np.add.at(values[:, _TANGENTIAL:], at, self.friction(contacts, force)[used])
        modes = _modes(count, number, closed | together, still, after)
        approach = np.zeros(count)
        np.maximum.at(approach, number[hit], -before[hit, 0])
        self._note_simultaneous(time, contacts, number, closed, hit)
        self._change(time, modes, approach)
        return float(loss[impacting].sum()), float(loss[~impacting, 0].sum())

    def friction(self, contacts: Table[Any], force: Floats) -> Floats:
        """Return (n, k) friction of contacts, as the samples of pairs have it [N]."""
        return force[:, 1:]

    def _pairs_of(self, contacts: Table[Any], closed: Bools) -> Wholes:
        """Return the number of the pair of each contact; -1 of pairs that never were closed.

        A pair whose contact is closed for the first time gets the next number.
        """
        keys = list(zip(contacts["first"].tolist(), contacts["second"].tolist(), strict=True))
        new = dict.fromkeys(
            key for key, yes in zip(keys, closed, strict=True) if yes and key not in self._numbers
        )
        if new:
            for key in new:
                self._numbers[key] = len(self._numbers)
            self.pairs.add(np.array(list(new), dtype=np.int64))
            self.of_pairs.add(np.zeros((len(new), self.of_pairs.rows.shape[1])))
            self.modes.add(np.zeros(len(new), dtype=np.int64))
        return np.array([self._numbers.get(key, -1) for key in keys], dtype=np.int64)

    def _change(self, time: float, modes: Wholes, approach: Floats) -> None:
        """Record the events of a step: changed modes, and impacts of pairs that were closed.

        modes, approach : (p,) new modes, and velocities of approach [m/s], 0 without an impact
        """
        old = self.modes.rows
        for pair in np.flatnonzero((modes != old) | (approach > 0.0)):
            was, now = int(old[pair]), int(modes[pair])
            if approach[pair] > 0.0:
                kind = IMPACT
            elif was == OPEN:
                kind = CONTACT
            elif now == OPEN:
                kind = SEPARATION
            else:
                kind = STOP if now == STICK else ONSET if was == STICK else REVERSAL
            row = Event.table(1)
            row[0] = (time, pair, was, now, kind, approach[pair])
            self.events.add(row)
        old[:] = modes

    def _note_simultaneous(
        self, time: float, contacts: Table[Any], number: Wholes, closed: Bools, hit: Bools
    ) -> None:
        """Record impacts on a body that another body touches: their order would matter.

        Bodies that hinges join count as one. A step adds at most one entry for each group of
        contacts that share bodies.

        number, closed, hit : (n,) pairs of the contacts, and whether these are closed and impact
        """
        if not hit.any():
            return
        linked = contacts.copy()
        linked["first"], linked["second"] = (
            self._mechanism[contacts[name]] for name in ("first", "second")
        )
        ends = np.stack([linked["first"], linked["second"]], axis=1)
        group, known = np.zeros(len(contacts), dtype=np.int64), set()
        group_contacts(linked, len(self.q[0]), group)
        for c in np.flatnonzero(hit):
            if group[c] in known or len(self.simultaneous) >= _MOST_SIMULTANEOUS:
                continue
            others = closed & (number != number[c])
            shared = (ends[:, :1] == ends[c]) | (ends[:, 1:] == ends[c])
            # supports do not move: two contacts with one are independent
            shared &= ends[c] < len(self.q[0])
            touching = np.flatnonzero(others & shared.any(axis=1))
            # later impacts of the same pairs say nothing new
            pairs = self.simultaneous.rows[:, 1:]
            for other in number[touching].tolist():
                if not (pairs == (number[c], other)).all(axis=1).any():
                    self.simultaneous.add(np.array([[time, number[c], other]]))
                    known.add(group[c])
                    break

    def pairs_of(self, contacts: Table[Any]) -> Wholes:
        """Return the number of the pair of each closed contact."""
        return self._pairs_of(contacts, np.ones(len(contacts), dtype=bool))

    def lose(self, time: float, kind: int, pair: int, count: int) -> None:
        """Record a loss of determinism, once for each pair and kind.

        kind : index in `LOSSES`; count : number of solutions that were found
        """
        known = self.lost.rows
        if not ((known[:, 1] == kind) & (known[:, 2] == pair)).any():
            self.lost.add(np.array([[time, kind, pair, count]]))

    # ---- checkpoint

    def state(self) -> Mapping[str, StateArray]:
        """Return the arrays of a checkpoint."""
        filled = int(self.saved[0])
        return {
            "saved": StateArray(self.saved, within=(1, len(self.save))),
            "saved_q": StateArray(self.q, "states", filled),
            "saved_v": StateArray(self.v, "states", filled),
            "saved_energy": StateArray(self.energy, "states", filled),
            "before": StateArray(self.before),
            "of_hinges": StateArray(self.of_hinges),
            "saved_hinges": StateArray(self.hinges, "states", filled),
            "events": StateArray(self.events, within=(0, 1 << 62)),
            "samples": StateArray(self.samples, within=(0, 1 << 62)),
            "pairs": StateArray(self.pairs, within=(0, 1 << 62)),
            "of_pairs": StateArray(self.of_pairs),
            "modes": StateArray(self.modes, within=(0, 3)),
            "simultaneous": StateArray(self.simultaneous),
            "lost": StateArray(self.lost),
        }

    def resumed(self) -> None:
        """Number the pairs of a checkpoint."""
        self._numbers = {(a, b): k for k, (a, b) in enumerate(self.pairs.rows.tolist())}


def _mechanisms(links: list[tuple[int, int]], system: RigidBodies | SpatialBodies) -> Wholes:
    """Return (m,) the least number of the bodies that hinges join to each part, else its own.

    links : numbers of the parts of each hinge, from 0
    """
    label = np.arange(system.n + len(system.supports))
    between = np.array([pair for pair in links if max(pair) < system.n], dtype=np.int64)
    if between.size:
        shape = (len(label), len(label))
        joined = coo_array((np.ones(len(between)), tuple(between.T)), shape=shape)
        _, group = connected_components(joined, directed=False)
        _, first = np.unique(group, return_index=True)
        label = first[group]
    return label


def _between(before: Floats, after: Floats, part: float) -> Floats:
    """Return values interpolated linearly at a fraction `part` of the step; exact at 1."""
    return after if part == 1.0 else before + part * (after - before)


def _modes(count: int, number: Wholes, closed: Bools, stick: Bools, after: Floats) -> Wholes:
    """Return (count,) modes of the pairs: a pair slips if one of its points slips.

    number, closed, stick : (n,) pairs of the contacts, and whether these are closed and stick
    after : (n, 2) or (n, 3) velocities of the contacts after the step [m/s]
    """
    modes, fastest = np.zeros(count, dtype=np.int64), np.full(count, -1.0)
    for c in np.flatnonzero(closed):
        pair, slip = number[c], 0.0 if stick[c] else float(np.linalg.norm(after[c, 1:]))
        if slip > fastest[pair]:
            fastest[pair] = slip
            forward = after.shape[1] > 2 or after[c, 1] >= 0.0  # slip in space has no sign
            modes[pair] = STICK if stick[c] else FORWARD if forward else BACKWARD
    return modes
