"""Event-driven integration of rigid bodies: smooth steps, located events, impacts, modes.

The loop (`Integrator._step`): a step of collocation (`motion`) with error control; the first event
in it (`events`); the state there; then `_settle`. At an event this collects the contacts that
touch. Where surfaces approach, impulses follow (`impacts`); then the contact law at the level of
accelerations gives the modes of the contacts with a normal velocity of zero (`modes`). Velocities
are projected onto the constraints of closed contacts, which removes rounding.

A hop is the flight of a contact between two impacts. Impacts of decreasing hops accumulate: with
the restitution e the times of successive hops are a geometric series. A hop below `HOP` is replaced
by a closed contact, and the end of the series is recorded as an accumulation.

A state has places q (n, 3): x, y [m], angle [rad], and velocities v (n, 3); times count from the
start of the run. `methods.EventDriven.solve` calls `solve_events`.

Source: Pfeiffer, Glocker 1996; Acary, Brogliato 2008, chapter 8 (event-driven schemes);
docs/decisions/40, "Event-driven runs".
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.event_driven import events as ev
from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.event_driven.impacts import Impact, impact
from stiction.bodies.event_driven.modes import Answer, Found, losses_of, modes_of_groups
from stiction.bodies.event_driven.motion import Phase, Segment, step_of
from stiction.bodies.event_driven.outcome import (
    AT_ONCE,
    DRIFT,
    ERROR,
    MOST_CONTACTS,
    OVERLAP,
    REDUCED,
    SETTLED,
    STEPS,
    UNDECIDED,
    History,
    build_run,
)
from stiction.bodies.event_driven.record import EventRecorder
from stiction.bodies.exact_stick import stop_resting
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.model import RigidBodies
from stiction.bodies.record import (
    BACKWARD,
    FORWARD,
    IMPACT_LOSS,
    OPEN,
    PAINLEVE_BOUNDARY,
    STICK,
    STORED,
    WORK,
)
from stiction.core.checkpoint import Log, StateArray, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request, Run
from stiction.errors import Status
from stiction.numerics.arrays import Table
from stiction.numerics.event_localisation import NONE

if TYPE_CHECKING:
    from stiction.bodies.methods import EventDriven

__all__ = ["Integrator", "solve_events"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# The tolerances below were chosen between the rounding of positions and velocities, 1e-16 of their
# size times the number of operations, and what a user would see.
# gap over the smallest size of a body below which surfaces touch: at the start that of
# `TimeStepper`, because given coordinates are rounded; later the error of located events
_TOUCH, _NEAR = 1e-9, 1e-12
# height of a hop over the size of the smallest body, below which the contact is closed: the hops
# that are left out have heights that decrease like a geometric series
HOP = 1e-12
# the same height over the rounding of gaps, below which the end of a hop is not located
_ROUNDED_HOP = 16.0
# relative change of the fall in the rest of a series of hops up to which the series is geometric
_GEOMETRIC = 1e-3
# normal and tangential velocities that count as zero: as a fraction of the largest speed, and after
# an impact, whose problem is solved to `outcome.RESIDUAL`, of the velocities before it
_STILL, _AFTER_IMPACT = 1e-12, 1e-10
# bounds and safety factor of the ratio of successive steps; a step is changed by this power of the
# ratio of tolerance and error
_LONGER, _SHORTER, _SAFETY, _POWER = 3.0, 0.2, 0.9, 1.0 / 8.0
# shortest step, as a fraction of the time span: some 50 roundings of the time
_SHORTEST = 1e-14
# determinant over that without friction below which forces of a step that fails count as unbounded
_UNBOUNDED = 1e-3
# largest number of events at one time; more mean that the motion does not advance
_MOST_AT_ONCE = 30
# time after an event, as a fraction of the step, of the state at which the next modes are tested;
# and how many times it grows tenfold while the same event repeats
_AHEAD, _FARTHER = 1e-6, 6
# entries of `clock`: time from the start of the run, and length of the next step [s]
_NOW, _NEXT = range(2)


def solve_events(system: RigidBodies, method: EventDriven, request: Request) -> Run:
    """Return the run of `system` from event to event."""
    integrator = Integrator(system, method, request)
    status, reason = run_to_end(integrator.steps(), request.progress, request.checkpoint)
    return build_run(system, method, integrator.history(status, reason))


class _Change(NamedTuple):
    """Changes of the closed contacts by an event.

    Attributes
    ----------
    opens, stops : (c,) which open, and whose slip ends
    begins : (c,) direction of slip that begins, else 0
    """

    opens: Bools
    stops: Bools
    begins: Wholes

    @classmethod
    def of(cls, count: int) -> _Change:
        """Return no change."""
        opens, stops = np.zeros((2, count), dtype=bool)
        return cls(opens, stops, np.zeros(count, dtype=np.int64))


class _Ahead(NamedTuple):
    """A state shortly after an event, from which modes or features after it follow.

    Attributes
    ----------
    ends : whether a feature ended there, else a threshold of redundant forces
    time, q, v : the state
    """

    ends: bool
    time: float
    q: Floats
    v: Floats


class Integrator:
    """The state of a run: bodies, closed contacts, and the record.

    Attributes
    ----------
    q, v : (n, 3) places and velocities
    clock : (2,) _NOW and _NEXT: time from the start, and length of the next step [s]
    log : the closed contacts, a table of `kinematics.Closed`
    sums : (5,) energies WORK to VISCOUS_HEAT [J]
    hops : (n,) speed of the last hop of the group of a body [m/s]: two of them give the ratio of
        the series
    worst, counts : as of `outcome.History`
    ended : status and reason if the run ended before its end time
    """

    def __init__(self, system: RigidBodies, method: EventDriven, request: Request) -> None:
        self.system, self.method, self.request = system, method, request
        self.m = Mechanics(system)
        self.q, self.v = system.start()
        self.span = request.t_end - request.t_start
        self.clock = np.array([0.0, min(self.span, method.max_step or math.inf)])  # _NOW, _NEXT
        self.log = Log(kin.Closed.table(0))
        self.sums = np.zeros(5)
        if self.m.springs is not None:
            self.sums[STORED] = self.m.springs.stored(system.places())
        self.hops = np.zeros(self.m.n)
        self.worst = np.zeros((3, 2))
        self.counts = np.zeros(6, dtype=np.int64)
        self.record = EventRecorder(system, request.save, request.t_start)
        self.record.save_start(self.q, self.v, self.m.kinetic(self.v), float(self.sums[STORED]))
        self.ended: tuple[Status, str] | None = None

    @property
    def closed(self) -> Table[kin.Closed]:
        """The closed contacts."""
        return cast("Table[kin.Closed]", self.log.rows)

    # ---- the loop

    def steps(self) -> Generator[Pause, None, tuple[Status, str]]:
        """Advance from event to event; yield a pause after each step."""
        checkpoint = self.request.checkpoint
        if checkpoint is not None and (saved := checkpoint.load()) is not None:
            restore(self._state(), saved)
            self.record.resumed()
        if not self.counts[SETTLED]:
            self._settle(_TOUCH * self.m.size, _Change.of(0), None)
        while self.ended is None and self._goes_on():
            self._step()
            note = f"{self.counts[STEPS]} steps, {len(self.record.events)} events"
            yield Pause(self.clock[_NOW] / self.span, note, self._state)
        return self.ended or (Status.SOLVED, "the end time was reached")

    def _goes_on(self) -> bool:
        """Return whether the end time is not reached."""
        return bool(self.span - self.clock[_NOW] > _SHORTEST * self.span)

    def _end(self, status: Status, reason: str) -> None:
        """End the run now, before its end time."""
        at = self.request.t_start + self.clock[_NOW]
        self.ended = status, f"{reason} at t = {at:.9g} s"

    def _near(self) -> float:
        """Return the gap within which surfaces touch at an event [m]."""
        return max(_NEAR * self.m.size, self.m.rounding(self.q))

    def _step(self) -> None:
        """Advance by one step, or to the first event in it."""
        segment = self._accepted()
        if segment is None:
            return
        # the first event: of a closed contact, or a contact that closes before it
        event = ev.first_condition(segment)
        until = min(1.0, event.theta if event is not None else 1.0)
        closing = ev.first_closing(segment, until, self._near())
        if closing < NONE:
            event, until = (event if event and closing == event.theta else None), closing
        # record the step up to the event, and advance
        near_end = _SHORTEST * self.span
        self.sums = self.record.save_segment(segment, until, self.sums, near_end)
        time, q, v = (part[0] for part in segment.at(np.array([until])))
        last = event is None and closing == NONE and self.clock[_NOW] + segment.length >= self.span
        moved = until * segment.length > _SHORTEST * self.span
        self.counts[AT_ONCE] = 0 if moved else self.counts[AT_ONCE] + 1
        self.clock[_NOW] = self.span if last else float(time)
        self.q, self.v = q, v
        self.counts[STEPS] += 1
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self._end(Status.NOT_FINITE, "a velocity is not finite")
            return
        self._project(segment.phase)
        if event is not None or closing < NONE:
            self._after_event(segment, event)
        method = self.method
        if self.ended is not None or not self._goes_on():
            return
        if method.max_steps and self.counts[STEPS] >= method.max_steps:
            self._end(Status.WORK_LIMIT, f"max_steps = {method.max_steps} were used up")
        elif len(self.record.events) > method.max_events:
            self._end(Status.WORK_LIMIT, f"max_events = {method.max_events} were used up")

    def _accepted(self) -> Segment | None:
        """Return a step whose error is at most `rtol`; None if the run ended for want of one."""
        time = float(self.clock[_NOW])
        phase = Phase(self.m, self.closed, time, self.q, self.v)
        h = min(float(self.clock[_NEXT]), self.span - time, self.method.max_step or math.inf)
        while h > _SHORTEST * self.span:
            segment = step_of(phase, time, self.q, self.v, h)
            if segment.error <= self.method.rtol:
                ratio = max(segment.error / self.method.rtol, 1e-300)
                factor = min(_LONGER, max(1.0, _SAFETY * ratio**-_POWER))
                self.clock[_NEXT] = max(factor * h, min(self.clock[_NEXT], self.span))
                return segment
            ratio = max(self.method.rtol / segment.error, 1e-300)
            h *= min(0.5, max(_SHORTER, _SAFETY * ratio**_POWER))
            self.clock[_NEXT] = h
        self._end_unbounded()
        return None

    def _end_unbounded(self) -> None:
        """End the run if no step is accepted: forces of sliding contacts may grow without bound."""
        closed, state = self.closed, (float(self.clock[_NOW]), self.q, self.v)
        # friction alone makes the determinant vanish
        regular = float(Phase(self.m, closed, *state).forces(*state).regular)
        if regular >= _UNBOUNDED:
            self._end(
                Status.UNCONVERGED, "no step satisfies the equations of motion and the contact law"
            )
            return
        pair = int(self.record.pairs_of(closed)[0])
        at = self.request.t_start + self.clock[_NOW]
        self.record.lose(at, PAINLEVE_BOUNDARY, pair, 0)
        self._end(Status.NO_CONTINUATION, "forces grow without bound")

    def _after_event(self, segment: Segment, event: ev.Event | None) -> None:
        """Settle the contacts after an event."""
        if self.counts[AT_ONCE] > _MOST_AT_ONCE:
            self._end(Status.ACCUMULATION, f"more than {_MOST_AT_ONCE} events")
            return
        change = _Change.of(len(self.closed))
        ahead = None
        if event is not None:
            if event.kind in (ev.SEPARATES, ev.LEAVES):
                change.opens[event.contact] = True
            elif event.kind == ev.SLIPS:
                change.begins[event.contact] = event.sign
            elif event.kind == ev.STOPS:
                change.stops[event.contact] = True
            elif event.kind == ev.SINGULAR:
                self._end_unbounded()
                return
            # contacts whose forces vanish together would open and close in turn
            in_turn = event.kind == ev.SEPARATES and self.counts[AT_ONCE] > 1
            if event.kind in (ev.MARGIN, ev.LEAVES) or in_turn:
                # further ahead where the state so near did not show what follows
                again = 0 if event.kind == ev.LEAVES else min(int(self.counts[AT_ONCE]), _FARTHER)
                theta = np.array([event.theta + _AHEAD * 10.0**again])
                time, q, v = (part[0] for part in segment.at(theta))
                ahead = _Ahead(event.kind == ev.LEAVES, float(time), q, v)
        self._settle(self._near(), change, ahead, self.m.speed(segment.v))

    # ---- events

    def _settle(
        self, near: float, change: _Change, ahead: _Ahead | None, before: float = 0.0
    ) -> None:
        """Find the contacts that touch, solve impacts, and find the modes.

        Parameters
        ----------
        near : gap within which surfaces touch [m]
        change : changes of the closed contacts by the event
        ahead : a state shortly after the event, at which modes or features are determined; or None
        before : largest speed before the step [m/s]; where bodies come to rest, what is left of
            their velocities is its rounding
        """
        self.counts[SETTLED] = 1
        old = self.closed
        known = old[~change.opens]
        # a feature that ends may continue in another one
        new = self._touching(near, known, ahead) if ahead and ahead.ends else (
            self._touching(near, old, None)
        )  # fmt: skip
        # known contacts, then new ones (`fresh`); `zero`: the tangential velocity is zero,
        # `begins`: direction of slip that begins, `shut`: the normal velocity is zero or an
        # approach
        candidates = kin.Closed.joined([known, new])
        fresh = np.arange(len(candidates)) >= len(known)
        zero = np.concatenate([known["mode"] == STICK, np.zeros(len(new), dtype=bool)])
        zero[: len(known)] |= change.stops[~change.opens]
        begins = np.concatenate([change.begins[~change.opens], np.zeros(len(new), dtype=np.int64)])
        k, still = self._kinematics(candidates), _STILL * max(before, self.m.speed(self.v))
        shut = k.u[:, 0] <= still
        approach: dict[int, float] = {}
        # impacts, of each group with a new contact that approaches
        if (k.u[fresh, 0] < -still).any():
            group = self._groups(candidates, k)
            for g in np.unique(group[fresh & (k.u[:, 0] < -still)]):
                at = np.flatnonzero(group == g)
                speeds, shut[at], zero[at] = self._impact(candidates[at], fresh[at])
                begins[at] = 0
                approach |= speeds
            k = self._kinematics(candidates)
        # directions of slip, then modes from the contact law of accelerations
        candidates = candidates[shut]
        slip = np.sign(np.where(np.abs(k.u[shut, 1]) <= still, 0.0, k.u[shut, 1])).astype(np.int64)
        slip[zero[shut]] = 0
        slip = np.where(begins[shut] != 0, begins[shut], slip)
        self._modes(candidates, slip, ahead)
        if self.ended is None:
            self._make_exact()
        self.counts[MOST_CONTACTS] = max(self.counts[MOST_CONTACTS], len(self.closed))
        self.record.change(self.clock[_NOW], self.closed, approach)

    def _kinematics(self, closed: Table[kin.Closed]) -> kin.Kinematics:
        """Return gaps and velocities of contacts in the present state."""
        m = self.m
        return kin.kinematics(closed, m.pose(self.clock[_NOW], self.q), m.velocity(self.v))

    def _touching(
        self, near: float, known: Table[kin.Closed], ahead: _Ahead | None
    ) -> Table[kin.Closed]:
        """Return contacts with a gap up to `near` [m] that are not among the known ones."""
        m, time, q, v = self.m, float(self.clock[_NOW]), self.q, self.v
        if ahead is not None:
            near += 2.0 * m.speed(v) * (ahead.time - time)
            time, q, v = ahead.time, ahead.q, ahead.v
        pose = m.pose(time, q)
        found = m.contacts(pose, near)
        points = kin.kinematics(known, pose, m.velocity(v)).point
        made = kin.Closed.table(len(found))
        count = 0
        for c in found:
            same = (known["first"] == c.first) & (known["second"] == c.second)
            place = pose[int(c.first), :2] + c.arm_first
            if (np.hypot(*(points[same] - place).T) > ev.SAME_PLACE * m.size).all():
                made[count] = kin.closed_contact(m.surfaces, c, pose)
                count += 1
        new = made[:count]
        if count:
            new["hold"] = self._kinematics(new).gap
            self._worst(OVERLAP, max(0.0, -float(new["hold"].min())) / m.size)
        return new

    def _groups(self, closed: Table[kin.Closed], k: kin.Kinematics) -> Wholes:
        """Return (c,) numbers of the groups of contacts that share bodies."""
        out = np.zeros(len(closed), dtype=np.int64)
        group_contacts(kin.as_contacts(closed, k), self.m.n, out)
        return out

    def _impact(
        self, closed: Table[kin.Closed], fresh: Bools
    ) -> tuple[dict[int, float], Bools, Bools]:
        """Solve the impact of a group; hops that are too low close their contacts.

        Parameters
        ----------
        closed, fresh : (c,) contacts of the group, and which of them are new

        Returns
        -------
        Velocities of approach of the pairs that hit, which contacts are closed after it, and which
        of them have a tangential velocity of zero.
        """
        m = self.m
        contacts = kin.as_contacts(closed, self._kinematics(closed))
        elastic = fresh | m.poisson
        found, after = impact(m, contacts, self.v, elastic)
        # contacts that open, those of them with a low hop, and the rest of their series of hops
        tolerance = _AFTER_IMPACT * float(np.abs(found.before).max())
        hit = fresh & (found.before[:, 0] < -tolerance)
        opens, speed = found.after[:, 0] > tolerance, found.after[:, 0]
        low, fall, ratio = self._low_hops(closed, found, after, hit, opens)
        rest = self._rest_of_series(speed, low, fall, ratio)
        self.hops[closed["first"]] = np.where(opens, speed, 0.0)
        falls = opens & (fall < 0.0)
        if falls.any():
            # a step much longer than a hop would have its rounding
            hop = float((2.0 * speed[falls] / -fall[falls]).min())
            hop = max(hop, _SHORTEST * self.span)
            self.clock[_NEXT] = min(self.clock[_NEXT], 2.0 * hop)
        # solve again without restitution at low hops. Contacts that open because these do not
        # expand have no separate series
        more = series = low
        while more.any():
            found, after = impact(m, contacts, self.v, elastic & ~low)
            if not m.poisson:
                break
            # where one contact does not expand, others that were pressed may open as slowly
            opens = found.after[:, 0] > tolerance
            more = self._low_hops(closed, found, after, hit, opens)[0] & ~low
            low = low | more
        self._account(contacts, found)
        self.v = after
        number = self.record.hits(self.clock[_NOW], contacts, found.r[:, 0] > 0.0, hit)
        for c in np.flatnonzero(series):
            # a series that outlasts the run has no end in it
            if (end := float(self.clock[_NOW] + rest[c])) <= self.span:
                self.record.accumulation(end, int(number[c]), float(speed[c]))
        shut = found.after[:, 0] <= tolerance
        if (low & ~shut).any():
            # what is left opens by the rotation of its body: a loss of the impact, too
            shut |= low
            part = closed[shut].copy()
            part["mode"] = np.where(found.stick[shut], STICK, FORWARD)
            kinetic = m.kinetic(self.v)
            self._project(Phase(m, part, self.clock[_NOW], self.q, self.v))
            self.sums[IMPACT_LOSS] += kinetic - m.kinetic(self.v)
        speeds: dict[int, float] = {}
        for c in np.flatnonzero(hit):
            pair = int(number[c])
            speeds[pair] = max(speeds.get(pair, 0.0), -float(found.before[c, 0]))
        return speeds, shut, found.stick & shut

    def _low_hops(
        self, closed: Table[kin.Closed], found: Impact, after: Floats, hit: Bools, opens: Bools
    ) -> tuple[Bools, Floats, Floats]:
        """Return which contacts open with a hop so low that they count as closed.

        A hop with the speed v and the normal acceleration -g has the height v^2 / (2 g).

        Returns
        -------
        (c,) each: whether the hop is low, normal accelerations [m/s^2], and the ratios of
        successive hops in the series.
        """
        m, fall = self.m, np.zeros(len(closed))
        if opens.any():
            fall = self._fall(closed, found, ~opens, after)
        # impacts of a single contact are a geometric series by Newton's law, those of several by
        # the last two of them
        speed, last = found.after[:, 0], self.hops[closed["first"]]
        alone = bool(len(closed) == 1 or not (last > 0.0).any())
        ratio = m.restitution(closed) if alone else speed / np.where(last > 0.0, last, np.inf)
        if alone and m.poisson:
            ratio = speed / np.where(hit, -found.before[:, 0], np.inf)
        hop = max(HOP * m.size, _ROUNDED_HOP * m.rounding(self.q))
        low = opens & (fall < 0.0) & (speed**2 <= -2.0 * hop * fall)
        low &= (ratio < 1.0) | (not alone)
        # a hop that did not shrink ends the series by itself
        ratio = np.where(ratio < 1.0, ratio, 0.0)
        if low.any() and m.springs is not None:
            rest = self._rest_of_series(speed, low, fall, ratio)
            later = self._fall(closed, found, ~opens, after, float(rest.max()))
            low &= np.abs(later - fall) <= _GEOMETRIC * np.abs(fall)
        return low, fall, ratio

    def _rest_of_series(self, speed: Floats, low: Bools, fall: Floats, ratio: Floats) -> Floats:
        """Return (c,) times of low hops and all after them, 2 v / (g (1 - ratio)) [s]; else 0."""
        return np.where(low, -2.0 * speed / (np.where(low, fall, 1.0) * (1.0 - ratio)), 0.0)

    def _fall(
        self, closed: Table[kin.Closed], found: Impact, shut: Bools, after: Floats, ahead: float = 0
    ) -> Floats:
        """Return (c,) normal accelerations of the contacts of a group after an impact [m/s^2].

        Parameters
        ----------
        shut : (c,) which contacts are closed after the impact
        after : (n, 3) velocities after it
        ahead : a time later at which they are computed, with constant velocities up to it [s]
        """
        m, time = self.m, float(self.clock[_NOW]) + ahead
        q = self.q + ahead * after
        part = closed[shut].copy()
        sliding = np.where(found.after[shut, 1] > 0.0, FORWARD, BACKWARD)
        part["mode"] = np.where(found.stick[shut], STICK, sliding)
        a = Phase(m, part, time, q, after).forces(time, q, after).a
        k = kin.kinematics(closed, m.pose(time, q), m.velocity(after))
        rows = kin.rows(closed, k, m.n)[::2]
        return np.asarray(rows @ a.ravel() + k.bias[:, 0])

    def _account(self, contacts: Table[Contact], found: Impact) -> None:
        """Add the losses of an impact, and the work of supports that move."""
        m = self.m
        normal = np.asarray(contacts["normal"])
        tangent = np.stack([normal[:, 1], -normal[:, 0]], axis=1)
        force = found.r[:, :1] * normal + found.r[:, 1:] * tangent
        support = m.velocity(np.zeros((m.n, 3)))[contacts["second"], :2]
        self.sums[WORK] += float((force * support).sum())
        self.sums[IMPACT_LOSS] -= 0.5 * float((found.r * (found.before + found.after)).sum())
        self._worst(ERROR, found.error)
        self.counts[REDUCED] += found.reduced

    def _modes(self, closed: Table[kin.Closed], slip: Wholes, ahead: _Ahead | None) -> None:
        """Set the modes of the contacts whose normal velocity is zero."""
        m, time, q, v = self.m, float(self.clock[_NOW]), self.q, self.v
        if ahead is not None and not ahead.ends:
            time, q, v = ahead.time, ahead.q, ahead.v
        modes = np.full(len(closed), OPEN)
        for at, found in modes_of_groups(m, closed, time, q, v, slip):
            self._lose(closed[at], found)
            self.counts[UNDECIDED] += found.answer is Answer.NOT_DECIDED
            self._worst(ERROR, found.error)
            modes[at] = found.modes
        closed["mode"] = modes
        self.log.rows = closed[modes != OPEN].copy()

    def _lose(self, closed: Table[kin.Closed], found: Found) -> None:
        """Record where accelerations of a group are not unique; end where there are none."""
        if found.answer is Answer.NONE:
            self._end(Status.NO_CONTINUATION, "no accelerations obey the contact law (Painleve)")
        if found.answer is Answer.NOT_FOUND:
            what = f"accelerations of {len(closed)} contacts were not found"
            self._end(Status.UNCONVERGED, f"{what} (relative residual {found.error:.1e})")
        for kind in losses_of(found):
            pair = int(self.record.pairs_of(closed)[0])
            self.record.lose(self.request.t_start + self.clock[_NOW], kind, pair, found.number)

    def _make_exact(self) -> None:
        """Remove the rounding of velocities that closed contacts fix."""
        closed = self.closed
        if not len(closed):
            return
        self._project(Phase(self.m, closed, self.clock[_NOW], self.q, self.v))
        contacts = kin.as_contacts(closed, self._kinematics(closed))
        all_v = self.m.velocity(self.v).copy()
        shut, stick = np.ones(len(closed), dtype=bool), closed["mode"] == STICK
        stop_resting(contacts, shut, stick, self.m.reach, all_v, self.m.n)
        self.v = all_v[: self.m.n].copy()

    def _project(self, phase: Phase) -> None:
        """Project places and velocities onto the constraints of the closed contacts.

        Gaps return to those at which contacts closed, constrained velocities to zero, with the
        least change in the metric of the mass matrix.
        """
        m, closed = self.m, phase.closed
        if not len(closed):
            return
        k = self._kinematics(closed)
        rows, inverse = kin.rows(closed, k, m.n), 1.0 / m.mass.ravel()
        drift = k.gap - closed["hold"]
        self._worst(DRIFT, float(np.abs(drift).max()) / m.size)
        if np.abs(drift).max() > 0.125 * m.rounding(self.q):
            a = rows[::2]
            push = np.linalg.pinv(a * inverse @ a.T, rcond=1e-9) @ drift
            self.q = self.q - (inverse * (a.T @ push)).reshape(-1, 3)
        a, u = rows[phase.active], k.u.ravel()[phase.active]
        if np.abs(u).max() > 0.0:
            push = np.linalg.pinv(a * inverse @ a.T, rcond=1e-9) @ u
            self.v = self.v - (inverse * (a.T @ push)).reshape(-1, 3)

    def _worst(self, which: int, value: float) -> None:
        """Save a value and the time in row `which` of `worst` if it is the largest so far."""
        if value > self.worst[which, 0]:
            self.worst[which] = value, self.request.t_start + self.clock[_NOW]

    # ---- checkpoint and results

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint by name."""
        return {
            "q": StateArray(self.q),
            "v": StateArray(self.v),
            "clock": StateArray(self.clock),
            "closed": StateArray(self.log, inf=("length",)),
            "sums": StateArray(self.sums),
            "hops": StateArray(self.hops),
            "worst": StateArray(self.worst),
            "counts": StateArray(self.counts),
            **self.record.state(),
        }

    def history(self, status: Status, reason: str) -> History:
        """Return the results of the integration."""
        return History(self.record, self.m.surfaces, self.worst, self.counts, status, reason)
