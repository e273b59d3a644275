"""Moreau-Jean steps of rigid bodies: contacts at midpoints, one frictional contact problem a step.

A step of length h from q, v takes the loads f and the contacts with a gap <= 0 at q + h v / 2, the
matrix W = J M^-1 J^T of these and their velocities J (v + h M^-1 f) without impulses. The impulses
r follow from Coulomb's law for the velocities after the step, with Newton's u_n+ >= -e u_n- for the
normal ones; v+ = v + M^-1 (h f + J^T r), q+ = q + h (v + v+) / 2. The kinetic energy changes by
exactly h f . (v + v+) / 2 + r . (u + u+) / 2, so that the ledger of a step closes.

The order of a step (`Stepper._step`): contacts and loads at the middle, hinges, the contact problem
of each group (restitution, rolling contacts and rounding change its right side), impulses, exact
stick, places, energies, losses of determinism, record. docs/decisions/40 has the reasons. `Stepper`
is for the plane and for space: `mechanics` knows the dimension. The columns of places (n, 3) and
velocities are x, y and the angle; in space places are (n, 7) and velocities (n, 6). `methods` and
`space.run` use it.

Source: Moreau 1988; Jean 1999.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.event_driven.modes import farthest_inside, losses_of
from stiction.bodies.exact_stick import sticking
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.joints.hinges import HingeStep, PinFriction
from stiction.bodies.joints.springs import Springs
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.model import RigidBodies
from stiction.bodies.outcome import (
    ERROR,
    HINGES,
    LINEAR_SYSTEMS,
    MOST_CONTACTS,
    MOTION,
    OVERLAP,
    REDUCED,
    RESIDUAL,
    SWEEPS,
    TURN,
    UNDECIDED,
    History,
    build_run,
)
from stiction.bodies.paradox import paradoxes
from stiction.bodies.record import (
    DISSIPATION,
    IMPACT_LOSS,
    STORED,
    VISCOUS_HEAT,
    WORK,
    Recorder,
)
from stiction.bodies.restitution import expand, without_gain
from stiction.core.checkpoint import Log, StateArray, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request, Run
from stiction.errors import Status
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.newton import newton
from stiction.numerics.friction_problem.solver import solve_local

if TYPE_CHECKING:
    from stiction.bodies.methods import TimeStepper
    from stiction.bodies.space.mechanics import SpatialMechanics
    from stiction.bodies.space.model import SpatialBodies

__all__ = ["Stepper", "solve_steps"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# gap over the smallest size of a body below which surfaces touch: rounding of given coordinates
_TOUCH = 1e-9
# the same for a contact that was closed in the step before: a body that turns about it drifts away
# by an error of the scheme, of second order in the step
_DRIFT = 0.1
# entries of W in space up to which steps of Newton's method follow the solution, and their number
_FEW_ENTRIES, _POLISHING = 20_000, 2
# steps between two reports
_PAUSE = 50
# a bounce slower than this fraction of the velocities without impulses is rounding. Chosen
_NO_BOUNCE = 1e-9
# least energy, over the work of the impulses, that a step must add for its restitution to be
# reduced. Chosen
_GAIN = 1e-9
# residual of the contact problem above which the run ends. Chosen
_UNSOLVED = 1e-7
# fraction of the opening of a step by which a contact that rolls or pivots closes in the next one.
# The whole of it would let impulses alternate from step to step
_CLOSING = 0.5
_NO_WORK = np.zeros(2, dtype=np.int64)
# steps in a row that move nothing, after which nothing ever moves
_STILL = 2


def solve_steps(system: RigidBodies, method: TimeStepper, request: Request) -> Run:
    """Return the run of `system` by time stepping."""
    stepper = Stepper(system, method, request, Mechanics(system), Recorder)
    status, reason = run_to_end(stepper.steps(), request.progress, request.checkpoint)
    return build_run(system, method, stepper.history(status, reason))


class _Solved(NamedTuple):
    """The contacts of a step, or of one of its groups, with their impulses.

    Attributes
    ----------
    contacts : (n,) table
    r, before, free, after : (n, 2), in space (n, 3): impulses [N s], velocities before the step,
        after it without impulses, and after it [m/s]
    bounce : (n,) minus the prescribed normal velocities of closed contacts [m/s]: u_n+ + bounce and
        the normal impulse are complementary
    error : residual of the contact problem, relative
    closed, stick : (n,) whether impulses give the normal velocity zero, and the tangential one too
    lasting : (n,) whether the contact is a known one in the next step: the surfaces approach, or
        have the prescribed velocity
    together : (n,) whether the surfaces neither approach nor part, or approach after a step in
        which the contact had a force. The mode of its pair is then not open
    still : (n,) whether the surfaces do not slip. `lasting`, `together` and `still` follow from
        velocities, because forces need not be unique
    impacting : (n,) whether the contact is new in this step, and its surfaces approached or parted
        before the impulses
    friction, in_impact : (h,) impulses of friction at the pins of hinges [N s], and whether they
        belong to an impact
    """

    contacts: Table[Any]
    r: Floats
    before: Floats
    free: Floats
    after: Floats
    bounce: Floats
    error: float
    closed: Bools
    stick: Bools
    lasting: Bools
    together: Bools
    still: Bools
    impacting: Bools
    friction: Floats
    in_impact: Bools


class Stepper:
    """The state of a run: bodies, impulses of the last step, and the record.

    Parameters
    ----------
    mechanics : masses, loads and contacts, in the plane or in space
    recorder : class of the record

    Attributes
    ----------
    q, v : places and velocities of bodies after the last step
    h, count : length [s] and number of the steps
    done, still : (1,) number of steps done, and of steps in a row that moved nothing
    touch, drift : gaps up to which new contacts, and those of the step before, are active [m]
    sums : (5,) energies WORK to VISCOUS_HEAT [J]
    worst, counts : as of `outcome.History`
    last : contacts that last, and their impulses (c, d) in the last step [N s]
    of_hinges : (h, k + 1) impulses of the conditions of hinges in the step, and of friction [N s]
    """

    def __init__(
        self,
        system: RigidBodies | SpatialBodies,
        method: TimeStepper,
        request: Request,
        mechanics: Mechanics | SpatialMechanics,
        recorder: type[Recorder],
    ) -> None:
        self.system, self.method, self.request = system, method, request
        name = type(method).__name__
        self.count, self.h = request.number_of_steps(name, method.step, method.max_steps)
        self.m = mechanics
        self.touch, self.drift = _TOUCH * system.size, _DRIFT * system.size
        q, v = mechanics.start()
        self.q, self.v = q, v
        self.done = np.zeros(1, dtype=np.int64)
        self.still = np.zeros(1, dtype=np.int64)
        self.sums = np.zeros(5)
        if self.m.springs is not None:
            self.sums[STORED] = self.m.springs.stored(self.m.pose(0.0, q))
        # surfaces that others may pass through
        shapes = [*(b.shape for b in system.bodies), *(s.shape for s in system.supports)]
        thickness = np.array([shape.thickness for shape in shapes])
        self.finite = np.flatnonzero(np.isfinite(thickness))
        self.thinnest = float(thickness.min())
        self.sweep = np.array([body.shape.sweep for body in system.bodies])
        self.worst = np.zeros((5, 2))  # ERROR to HINGES; with times
        self.counts = np.zeros(5, dtype=np.int64)  # SWEEPS to UNDECIDED
        self.last = Log(self.m.no_contacts()), Log(np.zeros((0, self.m.components)))
        self.pins: HingeStep | None = None
        self.n_hinges = len(system.hinges)
        self.of_hinges = np.zeros((self.n_hinges, 0))
        self.record = recorder(system, request.save, self.h)
        self.record.save_start(q, v, self.m.kinetic(v), float(self.sums[STORED]))

    # ---- the loop

    def steps(self) -> Generator[Pause, None, tuple[Status, str]]:
        """Do all steps; yield a pause now and then."""
        self._resume()
        if not self.done[0]:
            self._begin()
        for k in range(int(self.done[0]), self.count):
            if self.still[0] == _STILL:
                # loads are constant: what two steps in a row do not move rests for ever
                k = self.count - 1
                kinetic = self.m.kinetic(self.v)
                self.record.add_step(self._time(k + 1), self.q, self.v, kinetic, self.sums)
                self.done[0] = self.count
                break
            self._step(k)
            self.done[0] = k + 1
            if not np.isfinite(self.v).all():
                return (
                    Status.NOT_FINITE,
                    f"a velocity is not finite at t = {self._time(k + 1):.9g} s",
                )
            if self.worst[ERROR, 0] > _UNSOLVED:
                what = (
                    "no velocities satisfy all contact conditions; moving supports may squeeze a "
                    "body"
                )
                if self._has_pin_friction():
                    what += (
                        ", or a hinge with friction may lock, as its pin is thick or its "
                        "bearings are close together"
                    )
                return Status.UNCONVERGED, f"{what} at t = {self._time(k + 1):.9g} s"
            if len(self.record.events) > self.method.max_events:
                limit = self.method.max_events
                at = self._time(k + 1)
                return Status.WORK_LIMIT, f"max_events = {limit} were used up at t = {at:.9g} s"
            if (k + 1) % _PAUSE == 0:
                note = f"{k + 1} steps, {len(self.record.events)} events"
                yield Pause((k + 1) / self.count, note, self._state)
        return Status.SOLVED, "the end time was reached"

    def _time(self, k: int) -> float:
        """Return the time after k steps, that of the run [s]."""
        if k == self.count:
            return self.request.t_end
        return self.request.t_start + k * self.h

    def _step(self, k: int) -> None:
        """Advance by one step, and record it."""
        h, q = self.h, self.q
        # places, contacts and loads at the middle of the step
        halfway, v = self.m.halfway(q, self.v, h)
        middle = self.m.pose((k + 0.5) * h, halfway)
        contacts, old = self._active(self.m.contacts(middle, self.drift))
        springs = self.m.springs
        loads = springs.loads(middle, self.m.velocity(v)) if springs is not None else None
        given = self.m.given_loads(halfway)
        force = given if loads is None else given + (loads[0] + loads[1])[: len(v)]
        free = v + h * self.m.inverse[: len(v)] * force
        self.pins = self._pins(middle, v, free)
        # impulses; again with other conditions of hinges where their parts stop turning
        after, solved, error = self._solve(contacts, old, v, free)
        if self.pins is not None and solved is not None:
            moves, unsolved = self.m.velocity(v), error > RESIDUAL
            stopped = self.pins.stopped(moves, self.m.velocity(after), unsolved=unsolved)
            if stopped is not None:
                self.pins = stopped
                after, solved, error = self._solve(contacts, old, v, free)
        self._worst(ERROR, error, self._time(k + 1))
        in_impact = np.zeros(self.n_hinges, dtype=bool) if solved is None else solved.in_impact
        solved = solved if len(contacts) else None
        # places at the end, and the work of the step
        mean = 0.5 * (v + after)
        rests = not (v.any() or after.any() or self.m.support_velocity.any())
        self.still[0] = self.still[0] + 1 if rests else 0
        self.q, self.v = self.m.end(q, halfway, mean, after, h)
        self.sums[WORK] += h * float((given * mean).sum())
        if springs is not None and loads is not None:
            self._add_work(k, springs, loads, mean)
        if self.pins is not None:
            self._note_hinges(k, self.pins, mean, in_impact)
        self._note(k, contacts, solved, mean)
        if solved is not None:
            slip = np.where(solved.still, 0, np.sign(solved.after[:, 1])).astype(np.int64)
            self._find_paradox(k + 1, contacts, solved.lasting, slip, middle)
        kinetic = self.m.kinetic(self.v)
        self.record.add_step(self._time(k + 1), self.q, self.v, kinetic, self.sums)

    def _pins(self, middle: Floats, v: Floats, free: Floats) -> HingeStep | None:
        """Return the hinges of the step; None without hinges."""
        m = self.m
        if m.hinges is None:
            return None
        gaps = m.hinges.gaps(m.pose((self.done[0]) * self.h, self.q))
        moving = m.velocity(v), m.velocity(free)
        return m.hinges.step(middle, *moving, gaps, self.h, m.rounding(self.q))

    def _solve(
        self, contacts: Table[Any], old: Wholes, v: Floats, free: Floats
    ) -> tuple[Floats, _Solved | None, float]:
        """Return velocities after the step, contacts with their impulses, and the largest error.

        Parameters
        ----------
        contacts, old : as `_active` returns
        v, free : (n, 3) velocities before the step, and after it without impulses
        """
        solved = None
        if len(contacts) or self._has_pin_friction():
            solved = self._groups(contacts, old, v, free)
        elif self.pins is None:
            return free, None, 0.0
        after, solved, error = self._after(solved, free)
        return after, solved, error if solved is None else max(error, solved.error)

    def _has_pin_friction(self) -> bool:
        """Return whether a pin has friction."""
        return self.pins is not None and bool(self.pins.hinges.sine.any())

    def _add_work(
        self, k: int, springs: Springs, loads: tuple[Floats, Floats], mean: Floats
    ) -> None:
        """Add the work of springs and dampers in step k.

        The work of springs is that of their loads at the middle of the step. The difference of it
        and of the loss of elastic energy is numerical dissipation.

        loads : two (m, 3) arrays, of springs and of dampers [N], [N m]
        mean : (n, 3) mean velocities of the step
        """
        moved = self.h * self.m.velocity(mean)
        elastic, viscous = (load * moved for load in loads)
        stored = float(springs.stored(self.m.pose((k + 1) * self.h, self.q)))
        self.sums[WORK] -= float(elastic[self.system.n :].sum() + viscous[self.system.n :].sum())
        self.sums[DISSIPATION] -= stored - self.sums[STORED] + float(elastic.sum())
        self.sums[STORED] = stored
        self.sums[VISCOUS_HEAT] -= float(viscous.sum())

    def _find_paradox(
        self, k: int, contacts: Table[Any], closed: Bools, slip: Wholes, pose: Floats
    ) -> None:
        """Record where no acceleration or several obey the contact law after k steps.

        closed, slip : (c,) which contacts have a normal velocity of zero, and directions of slip
        pose : (m, 3) places at which the contacts were found
        """
        if not isinstance(self.m, Mechanics) or self.n_hinges:
            return
        state = k * self.h, self.q, self.v
        for group, found in paradoxes(self.m, contacts[closed], slip[closed], pose, *state):
            if found is None:
                self.counts[UNDECIDED] += 1
                continue
            for kind in losses_of(found):
                pair = int(self.record.pairs_of(group)[0])
                self.record.lose(self._time(k), kind, pair, found.number)

    def _begin(self) -> None:
        """Make contacts that are closed at the start known ones: a body may turn about them."""
        pose = self.m.pose(0.0, self.q)
        contacts: Table[Any] = self.m.contacts(pose, self.touch)
        u = self.m.contact_velocities(contacts, self.m.velocity(self.v))
        u[np.abs(u) <= _NO_BOUNCE * np.abs(u).max(initial=0.0)] = 0.0
        closed, slip = u[:, 0] == 0.0, np.sign(u[:, 1]).astype(np.int64)
        self.last[0].rows = contacts[closed].copy()
        self.last[1].rows = np.zeros((int(closed.sum()), self.m.components))
        self._find_paradox(0, contacts, closed, slip, pose)

    def _active(self, contacts: Table[Any]) -> tuple[Table[Any], Wholes]:
        """Return the active contacts, and their numbers in the step before, -1 of new ones.

        A contact is active if its gap is at most `touch`, or if it lasted in the step before: these
        stay active up to the gap `drift`.

        Verified by: tests/unit/bodies/test_runs.py::test_a_contact_that_drifts_stays_closed
        """
        place = {key: k for k, key in enumerate(_keys(self.last[0].rows))}
        old = np.array([place.get(key, -1) for key in _keys(contacts)], dtype=np.int64)
        if not isinstance(self.m, Mechanics):
            self.m.know(self.last[0].rows, contacts, self.drift, old)
        active = np.asarray((contacts["gap"] <= self.touch) | (old >= 0))
        return contacts[active], old[active]

    def _groups(self, contacts: Table[Any], old: Wholes, v: Floats, free: Floats) -> _Solved:
        """Return the impulses of all contacts; groups that share no body are separate problems.

        Hinges connect bodies. The parts are concatenated and put into the order of `contacts`.

        Verified by: tests/unit/bodies/test_impacts.py::test_groups_do_not_feel_each_other
        """
        v, free = self.m.velocity(v), self.m.velocity(free)
        links, with_friction = contacts, np.zeros(0, dtype=np.int64)
        if self.pins is not None:
            free, with_friction = self.pins.moving, np.flatnonzero(self.pins.hinges.sine)
            links = self.pins.hinges.contact.joined([contacts, self.pins.hinges.links()])
        group = np.zeros(len(links), dtype=np.int64)
        count = int(group_contacts(links, self.system.n, group))
        if count == 1:
            return self._impulses(contacts, old, v, free, with_friction)
        group, of_pin = group[: len(contacts)], group[len(contacts) :][with_friction]
        index = [np.flatnonzero(group == k) for k in range(count)]
        pins = [with_friction[of_pin == k] for k in range(count)]
        parts = [
            self._impulses(contacts[at], old[at], v, free, pin)
            for at, pin in zip(index, pins, strict=True)
            if len(at) or len(pin)
        ]
        order = np.argsort(np.concatenate(index))
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts])[order]
            for name in _Solved._fields
            if name not in ("contacts", "error", "friction", "in_impact")
        }
        error = max(part.error for part in parts)
        friction = np.sum([part.friction for part in parts], axis=0)
        in_impact = np.any([part.in_impact for part in parts], axis=0)
        return _Solved(
            contacts=contacts, error=error, friction=friction, in_impact=in_impact, **joined
        )

    def _impulses(
        self, contacts: Table[Any], old: Wholes, v: Floats, free: Floats, with_friction: Wholes
    ) -> _Solved:
        """Return impulses; restitution is reduced where Newton's law would create energy.

        with_friction : numbers of the hinges with friction
        """
        solved, reduced = without_gain(
            lambda part: self._with_restitution(contacts, old, v, free, with_friction, part),
            lambda solved: float(np.abs(solved.r * solved.free).sum()),
            _GAIN if self.m.restitution(contacts).any() else np.inf,
        )
        self.counts[REDUCED] += reduced
        return solved

    def _with_restitution(
        self,
        contacts: Table[Any],
        old: Wholes,
        v: Floats,
        free: Floats,
        with_friction: Wholes,
        part: float,
    ) -> _Solved:
        """Return the impulses with `part` times the coefficients of restitution.

        Parameters
        ----------
        old : (n,) numbers of the contacts in the step before, -1 of new ones
        v, free : (m, 3) velocities of bodies and supports before the step, and without impulses
            of contacts
        with_friction : numbers of the hinges with friction
        """
        before = self.m.contact_velocities(contacts, v)
        q = self.m.contact_velocities(contacts, free)
        unstopped, known = q.copy(), old >= 0
        mu, e = self.m.mu(contacts), self.m.restitution(contacts)
        # Newton's law at new contacts: u_n+ >= -e u_n-
        bounce = np.where(known, 0.0, part * e * np.minimum(before[:, 0], 0.0))
        # a closed contact that rolls or pivots opens within the step, by the scheme's error: it may
        # close again by a part of that, u_n+ >= -(u_n- + 2 gap / h) / 2 (docs/decisions/40, Drift)
        opening = np.maximum(before[:, 0], 0.0)
        gap = np.maximum(contacts["gap"] - 0.5 * self.h * before[:, 0] - self.touch, 0.0)
        bounce += np.where(known, _CLOSING * (opening + 2.0 * gap / self.h), 0.0)
        # rounding of a contact that rests is no velocity
        rounding = _NO_BOUNCE * float(np.abs(q).max(initial=0.0))
        bounce[np.abs(bounce) <= rounding] = 0.0
        e = np.where(e > 0.0, part * e, 0.0)
        if self.m.poisson and e.any() and (~known & (before[:, 0] < -rounding)).any():
            return self._by_poisson(contacts, old, before, unstopped, bounce, e)
        # the problem for u + bounce n, from the impulses of the step before
        q[:, 0] += bounce
        start = np.zeros_like(q)
        start[known] = self.last[1].rows[old[known]]
        found = self._solved(contacts, q, mu, start, with_friction)
        after, friction = found.u.copy(), np.zeros(self.n_hinges)
        after[:, 0] -= bounce
        # modes, from velocities above rounding
        friction[with_friction] = found.friction
        in_impact = np.zeros(self.n_hinges, dtype=bool)
        closed, stick = sticking(found.r, unstopped, after, mu)
        # a prescribed velocity that is not zero leaves nothing at rest
        closed &= bounce == 0.0
        lasting = np.minimum(after[:, 0], found.u[:, 0]) <= rounding
        together = np.abs(after[:, 0]) <= rounding
        still = np.linalg.norm(after[:, 1:], axis=1) <= rounding
        # a contact that closes its drift has forces in some steps only: two without separate it
        together |= (after[:, 0] < 0.0) & (start[:, 0] > 0.0)
        impacting = ~known & (np.abs(before[:, 0]) > rounding)
        in_impact[with_friction] = (impacting & (found.r[:, 0] > 0.0)).any()
        return _Solved(
            contacts, found.r, before, unstopped, after, bounce, found.error, closed, stick,
            lasting, together, still, impacting, friction, in_impact,
        )  # fmt: skip

    def _solved(
        self, contacts: Table[Any], q: Floats, mu: Floats, start: Floats, with_friction: Wholes
    ) -> PinFriction:
        """Return the impulses of contacts, and of pins with friction.

        Parameters
        ----------
        q, start : (n, 2) or (n, 3) velocities without impulses, and impulses to begin with
        """
        if self.pins is not None and len(with_friction):
            rows = self.pins.hinges.contact_rows(contacts, len(self.pins.moving))
            found = self.pins.solve(rows, q, mu, with_friction, farthest_inside)
            self.counts[[SWEEPS, LINEAR_SYSTEMS]] += found.work
            return found
        local = self._problem(contacts, q)
        scale = float(np.sqrt(np.vdot(q, q)))
        solved, work = solve_local(local, start, self.m.tolerance * scale)
        if local.n_tangent == 2 and local.blocks.size <= _FEW_ENTRIES:
            # sweeps end at the tolerance; what slips or turns would add their error up over steps
            solved, polished = newton(local, solved.r, 0.0, _POLISHING)
            self.counts[LINEAR_SYSTEMS] += polished
        self.counts[[SWEEPS, LINEAR_SYSTEMS]] += work.sweeps, work.linear_systems
        return PinFriction(solved.r, solved.u, np.zeros(0), residual(local, solved.r), _NO_WORK)

    def _problem(self, contacts: Table[Any], q: Floats) -> Local:
        """Return the frictional contact problem with velocities `q` before contact forces."""
        if self.pins is None:
            return self.m.problem(contacts, q)
        rows = self.pins.hinges.contact_rows(contacts, len(self.pins.moving))
        return self.pins.problem(rows, q, self.m.mu(contacts))

    def _by_poisson(
        self, contacts: Table[Any], old: Wholes, before: Floats, free: Floats, bounce: Floats,
        e: Floats,
    ) -> _Solved:  # fmt: skip
        """Return the impulses by Poisson's law; those of the loads of the step do not expand.

        Parameters
        ----------
        old : (n,) numbers of the contacts in the step before, -1 of new ones
        before, free, bounce : as of `_Solved`; only known contacts have a bounce here
        e : (n,) coefficients of restitution
        """
        known, rounding = old >= 0, _NO_BOUNCE * float(np.abs(free).max())
        bounce, q = np.where(known, bounce, 0.0), free.copy()
        q[:, 0] += bounce
        local = self._problem(contacts, q)
        made = expand(local, e, self.m.tolerance, before)
        self.counts[[SWEEPS, LINEAR_SYSTEMS]] += made.work
        after = made.u.copy()
        after[:, 0] -= bounce
        closed = made.closed & (bounce == 0.0)
        lasting = made.pressed | (after[:, 0] <= rounding)
        together = np.abs(after[:, 0]) <= rounding
        still = np.linalg.norm(after[:, 1:], axis=1) <= rounding
        impacting = made.pressed | (~known & (np.abs(before[:, 0]) > rounding))
        return _Solved(
            contacts, made.r, before, free, after, bounce, made.error, closed, made.stick, lasting,
            together, still, impacting, np.zeros(self.n_hinges),
            np.zeros(self.n_hinges, dtype=bool),
        )  # fmt: skip

    def _after(self, solved: _Solved | None, free: Floats) -> tuple[Floats, _Solved | None, float]:
        """Return velocities of bodies after the impulses, the contacts with theirs, and an error.

        The error is that of the conditions of hinges, relative.

        free : (n, 3) without any impulses
        """
        all_v = self.m.velocity(free)
        contacts: Table[Any] = self.m.no_contacts()
        closed, stick, error = np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), 0.0
        if solved is not None:
            contacts, closed, stick = solved.contacts, solved.closed, solved.stick
            self.m.add_impulses(contacts, solved.r, all_v)
        if self.pins is not None:
            friction = np.zeros(self.n_hinges) if solved is None else solved.friction
            all_v, self.of_hinges, error = self.pins.apply(all_v, friction)
            joined = self.pins.resting(all_v, self.of_hinges)
            contacts = self.pins.hinges.contact.joined([contacts, joined])
            closed = np.append(closed, np.ones(len(joined), bool))
            stick = np.append(stick, np.ones(len(joined), bool))
        if closed.any():
            self.m.stop_resting(contacts, closed, closed & stick, all_v)
        if solved is not None:
            left = self.m.contact_velocities(solved.contacts, all_v)
            solved = solved._replace(after=left)
        return all_v[: self.system.n], solved, error

    def _note(self, k: int, contacts: Table[Any], solved: _Solved | None, mean: Floats) -> None:
        """Record contacts, losses, and the worst values for the audit; mean (n, 3) velocities."""
        time, h = self._time(k + 1), self.h
        spin = self.m.spins(mean)
        self._worst(TURN, h * float(spin.max()), time)
        if len(self.finite) > 1:
            # a bound of the relative normal velocity of any two surfaces, whatever frame they move
            # in: the largest of centres, and the two largest of surfaces about their centres
            moving = self.m.velocity(mean)[self.finite, : self.m.components]
            turning = np.sort(spin * self.sweep)[-2:].sum()
            fastest = float(np.linalg.norm(np.ptp(moving, axis=0)) + turning)
            self._worst(MOTION, h * fastest / self.thinnest, time)
        if solved is None:
            self.last[0].rows = self.m.no_contacts()
            self.last[1].rows = np.zeros((0, self.m.components))
            self.record.no_contacts(time)
            return
        self.counts[MOST_CONTACTS] = max(self.counts[MOST_CONTACTS], len(contacts))
        ends = contacts["gap"] + 0.5 * h * solved.after[:, 0]
        self._worst(OVERLAP, max(0.0, -float(ends.min())) / self.system.size, time)
        support = self.m.velocity(np.zeros_like(mean))[contacts["second"], : self.m.components]
        self.sums[WORK] += float((self.m.in_axes(contacts, solved.r) * support).sum())
        self.sums[[IMPACT_LOSS, DISSIPATION]] += self.record.contacts(
            time, contacts, solved.r / h, solved.before, solved.after,
            solved.together, solved.still, solved.impacting, h,
        )  # fmt: skip
        lasting = solved.lasting
        self.last[0].rows, self.last[1].rows = contacts[lasting].copy(), solved.r[lasting].copy()

    def _note_hinges(self, k: int, pins: HingeStep, mean: Floats, in_impact: Bools) -> None:
        """Record forces, heat and gaps of hinges.

        The work of their forces on the velocities of gaps is numerical dissipation. In an impact
        the friction of a pin opposes the slip after it, and its work on the mean slip may have
        either sign: it is a loss of the impact.

        in_impact : (h,) whether the friction of a pin belongs to an impact
        """
        moved, still = self.m.velocity(mean), self.m.velocity(np.zeros_like(mean))
        heat = pins.heat(moved, self.of_hinges[:, -1])
        self.sums[IMPACT_LOSS] += float(heat[in_impact].sum())
        heat[in_impact] = 0.0
        lost, given = pins.work(moved, self.of_hinges), pins.work(still, self.of_hinges)
        self.sums[DISSIPATION] -= lost
        self.sums[WORK] -= given
        self.record.add_hinges(pins.hinges.loads(pins.pose, self.of_hinges / self.h), heat)
        time = self._time(k + 1)
        gaps = pins.hinges.gaps(self.m.pose((k + 1) * self.h, self.q))
        self._worst(HINGES, float(np.linalg.norm(gaps, axis=1).max()) / self.system.size, time)

    def _worst(self, which: int, value: float, time: float) -> None:
        """Save a value and its time in row `which` of `worst` if it is the largest so far."""
        if value > self.worst[which, 0]:
            self.worst[which] = value, time

    # ---- checkpoint and results

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint by name."""
        return {
            "q": StateArray(self.q),
            "v": StateArray(self.v),
            "done": StateArray(self.done, within=(0, self.count)),
            "still": StateArray(self.still, within=(0, _STILL)),
            "sums": StateArray(self.sums),
            "worst": StateArray(self.worst),
            "counts": StateArray(self.counts),
            "last": StateArray(self.last[0]),
            "impulses": StateArray(self.last[1]),
            **self.record.state(),
        }

    def _resume(self) -> None:
        """Restore the state of a checkpoint, if there is one."""
        checkpoint = self.request.checkpoint
        if checkpoint is not None and (saved := checkpoint.load()) is not None:
            restore(self._state(), saved)
            self.record.resumed()

    def history(self, status: Status, reason: str) -> History:
        """Return the results of the steps."""
        return History(
            record=self.record,
            surfaces=self.m.surfaces,
            worst=self.worst,
            counts=self.counts,
            steps=int(self.done[0]),
            step=self.h,
            springs=self.m.springs,
            status=status,
            reason=reason,
        )


def _keys(contacts: npt.NDArray[Any]) -> Iterator[tuple[int, ...]]:
    """Return (first, second, feature) of each contact, which identify it in the next step."""
    return zip(*(contacts[name].tolist() for name in ("first", "second", "feature")), strict=True)
