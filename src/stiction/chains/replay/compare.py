"""Goes through an event-driven run again and says how far it is from what the run tells.

Each stretch in which nobody changes mode is integrated from the state the method kept at its
start, by another algorithm, and compared at its end; the inclusion is looked at in both. Then
the log of events and saved rows are held against the same states.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.replay import linear, smooth
from stiction.chains.replay.forces import MOST_DENSE, Forces, Stretches, forces_of
from stiction.chains.replay.trajectory import Trail
from stiction.core.audit import Check
from stiction.numerics import jit

if TYPE_CHECKING:
    from stiction.chains.outcome import ChainHistory

__all__ = ["MOST_MASSES", "jumps_of", "replay_check", "spacing"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# a run of more masses is replayed on request only
MOST_MASSES = 200
# longest way between states, in units of the fastest rate: what both algorithms take at once
_FAR, _NEAR = 4.0, 0.5
_LIMIT = 1e-8
_EPS = float(np.finfo(np.float64).eps)
_LONGEST = 256.0
# two times that differ by less are one, as shares of the time
_ONE_TIME = 4.0 * _EPS
_MOTION = "the motion from one state to another"
# a stretch that disagrees is cut in two up to this many times before it counts
_CUTS = 6
_MOST_PARTS = 64
# saved rows that are held against the motion, evenly spread
_MOST_ROWS = 32
# stretches under friction that weakens of which all are integrated; of more, every other one
_MOST_ALL = 256
# calls of a user's function, for each expansion of the method in a series
_CALLS = 12.0


def spacing(chain: Chain) -> float:
    """Return how near to each other a replay needs states, in units of the fastest rate."""
    if not chain.law.constant or chain.load.pieces().function is not None:
        return _NEAR
    return _FAR if chain.n_mass > MOST_DENSE else 0.5 * _FAR


def replay_check(chain: Chain, history: ChainHistory, trail: Trail, rtol: float) -> Check:
    """Return the line of the audit that says whether a second look agrees with the run.

    Parameters
    ----------
    trail : the states that the method kept on its way
    rtol : what a user's functions were followed to

    Verified by: tests/unit/chains/replay/test_compare.py::test_damage_is_seen
    """
    second = _Replay(chain, history, trail, rtol)
    second.go_through()
    second.look_at_events()
    value, time, what = second.worst
    note = (
        f"{second.share:.0%} of the time integrated again by other means, with the conditions of "
        "stick, slip and events; difference over the largest speed, place or bound"
    )
    if value > second.limit:
        note = f"{what}; {note}"
    return Check("replay_agrees", bool(value <= second.limit), value, second.limit, time, note)


@functools.lru_cache(maxsize=64)
def _spread(size: int, most: int) -> Ints:
    """Return numbers below `size`, all of them or `most` that are evenly spread, to be read."""
    if size <= most:
        return np.arange(size)
    return np.linspace(0, size - 1, most).astype(np.int64)


def jumps_of(begin: Floats) -> Floats:
    """Return the times at which pieces of a load end that begin within rounding of their end.

    Verified by: tests/unit/chains/replay/test_compare.py::test_a_jump_in_no_time
    """
    return np.asarray(begin[1:][np.diff(begin) <= _ONE_TIME * np.abs(begin[1:])])


def _resolved(trail: Trail, f: Forces) -> Trail:
    """Return the states without the ways on which a load changes within rounding of the time.

    On them it is before and after a jump at once: no state can be held against it.
    """
    jumps = jumps_of(f.pieces.time)
    if jumps.size == 0:
        return trail
    end, follows = trail.time[1:], trail.follows.copy()
    follows[1:] &= (np.diff(trail.time) > _ONE_TIME * np.abs(end)) | ~np.isin(end, jumps)
    return dataclasses.replace(trail, follows=follows)


class _Replay:
    """One replay: the model, what is compared, and the worst that was met."""

    def __init__(self, chain: Chain, history: ChainHistory, trail: Trail, rtol: float) -> None:
        self.f = f = forces_of(chain)
        self.history, self.trail = history, _resolved(trail, f)
        trail = self.trail
        own_load, own_law = f.pieces.function is not None, not (f.law.constant or f.law.convex)
        # what is fitted to rtol cannot agree better
        self.limit = max(_LIMIT, 10.0 * rtol) if own_load or own_law else _LIMIT
        # calls of a user's function for one state
        self.calls = int(own_load) + int(own_law) * f.n
        self.exact = f.law.constant and not own_load
        # what the ways from state to state are counted in
        self.reach = linear.rate_of(f) if self.exact else 0.0
        rate = f.rate or 1.0
        speed = float(np.abs(trail.v).max(initial=0.0)) + abs(f.belt)
        self.speed = speed or 1.0
        self.place = float(np.abs(trail.x).max(initial=0.0)) + self.speed / rate
        self.worst: tuple[float, float | None, str] = (0.0, None, "")
        self.share = 1.0
        self._size_up(rate)
        # a user's load may jump, which takes a closer look
        self.compiled = trail.problem is not None and not own_load and jit.mode() == "compiled"

    def _size_up(self, rate: float) -> None:
        """Find the size of the terms that forces are made of: their rounding is no difference."""
        f, p, time = self.f, self.f.pieces, self.trail.time
        ends = (float(time[0]), float(time[-1])) if time.size else (0.0, 0.0)
        late = max(map(abs, ends))
        if p.time.size == 1:
            begin, offset, rise = float(p.time[0]), float(p.offset[0]), float(p.rate[0])
            load = max(abs(offset + rise * (t - begin)) for t in ends)
        else:
            both = np.array(ends)
            load = float(np.abs(f.straight(both, f.piece_at(both))).max())
            load = max(load, float(np.abs(p.offset).max()))
        if p.amplitude.size:
            load += float(np.abs(p.amplitude).sum())
        force = (2.0 * self.place) * f.stiffest
        force += f.share_size * load + f.bound
        if f.damped:
            force += (2.0 * self.speed) * np.maximum(f.link_c[1:], f.link_c[:-1])
        if f.plate:
            force += f.plate_k * (self.place + abs(f.plate_speed) * late)
        hold = f.bound
        if not f.held:
            # a bound of zero is compared with the forces there are
            hold = np.where(hold > 0.0, hold, max(float(hold.max()), 1e-3 * float(force.max())))
        # angles of fast sines are rounded at late times
        turns = float((np.abs(p.amplitude) * np.abs(p.angular_frequency)).sum()) * (0.25 * late)
        self.hold = hold + (16.0 * _EPS / self.limit) * (force + f.share_size * turns)
        # what rounding of forces and of time makes of speeds and places in one stretch
        push = float((force / f.mass).max())
        loose = push * _EPS * (64.0 / rate + 4.0 * late)
        self.speed += loose / self.limit
        loose = 16.0 * _EPS * self.place + 4.0 / rate * loose + 4.0 * _EPS * late * self.speed
        self.place += loose / self.limit

    def note(self, value: Floats, time: Floats, what: str) -> None:
        """Take values (..., s) at times (s,), as shares of what they may be."""
        if value.size == 0 or value.max() <= self.worst[0]:
            return
        worst = value.max(axis=0) if value.ndim > 1 else value
        at = int(np.argmax(worst))
        # a NaN is the worst of all
        size = float(worst[at]) if np.isfinite(worst[at]) else 1e300
        self.worst = size, float(time[at]), what

    # ---- from state to state

    def go_through(self) -> None:
        """Integrate every stretch again, and look at the inclusion at both ends."""
        trail, h, f = self.trail, self.history, self.f
        if trail.time.size == 0:
            self.share, self.drive = 0.0, np.empty((f.n, 0))
            return
        k = np.flatnonzero(trail.follows[1:])
        rows, before = self._rows()
        steps = self._few(k)
        if self.compiled:
            self._compiled_through(k, steps, rows, before)
            return
        start, row_x, row_v = np.concatenate([steps, before]), h.x[rows], h.v[rows]
        t0, t1 = trail.time[start], np.concatenate([trail.time[steps + 1], h.time[rows]])
        x, v, mode = (a.T.copy() for a in (trail.x, trail.v, trail.mode.astype(np.float64)))
        given = Stretches(t0, t1, x[:, start], v[:, start], mode[:, start], f.piece_at(t0))
        x1 = np.concatenate([x[:, steps + 1], row_x.T], axis=1)
        v1 = np.concatenate([v[:, steps + 1], row_v.T], axis=1)
        self._integrate(given, x1, v1)
        self._inclusion(x, v, mode, k)
        self._friction_of_rows(rows, given, steps.size, x1, v1)
        self._count(k, steps)

    def _count(self, k: Ints, steps: Ints) -> None:
        """Find the share of the time that is gone through."""
        trail, time = self.trail, self.history.time
        all_lengths = trail.time[1:] - trail.time[:-1]
        length = all_lengths[k]
        covered = length.sum()
        if steps.size < k.size:
            # those in which nobody slips are compared without
            covered += all_lengths[steps].sum() - length[self._moves[k]].sum()
        asked = time[-1] - time[0]
        self.share = min(1.0, float(covered / asked)) if asked > 0.0 else 1.0

    def _compiled_through(self, k: Ints, steps: Ints, row: Ints, before: Ints) -> None:
        """Do with compiled kernels what the rest of this class does for all states at once."""
        from stiction.chains.replay import inclusion_kernels as ik

        f, h, trail, problem = self.f, self.history, self.trail, self.trail.problem
        assert problem is not None
        self._way = way = ik.Way(trail.time, trail.x, trail.v, trail.mode, trail.follows)
        sliding = self._sliding(h.v[row], trail.mode[before])
        rows = ik.Rows(row, before, h.time, h.x, h.v, h.mode, h.friction, sliding)
        s = steps.size + row.size
        time, piece, mode = np.empty((s, 2)), np.empty(s, np.int64), np.empty((s, f.n), np.int8)
        start, goal = np.empty((2, s, 2, f.n))
        ik.gather(problem.piece_time, way, rows, steps, time, piece, start, mode, goal)
        off = self._ends_apart(time, piece, start, mode, goal)
        moves = bool(mode.any())
        self.note(off, time[:, 1], _MOTION if moves else "a state of rest")
        sizes = (f.bound[:, 0], self.hold[:, 0], self.speed, self.place, f.rate or 1.0)
        self._sizes = ik.Sizes(*sizes)
        self.drive, worst = np.empty((trail.time.size, f.n)), np.empty((len(ik.OF_STATES), 2))
        self._model = ik.Model(*f.numbers)
        ik.look(self._model, way, rows, self._sizes, self.drive, worst)
        self._note_each(worst, ik.OF_STATES)
        self._count(k, steps)

    def _ends_apart(
        self, time: Floats, piece: Ints, start: Floats, mode: npt.NDArray[np.int8], goal: Floats
    ) -> Floats:
        """Return (s,) differences between where stretches lead and what the run says of it."""
        from stiction.chains.replay import kernels

        f, problem, end = self.f, self.trail.problem, np.empty_like(start)
        assert problem is not None
        work, length = np.empty((kernels.WORK_ROWS, f.n + 2)), time[:, 1] - time[:, 0]
        sizes = np.array([self.place, self.speed])
        if self.exact:
            rate = linear.rate_of(f)
            longest = linear.terms(rate * float(length.max(initial=0.0)))
            weight = np.zeros(longest + 2 + 4 * f.pieces.amplitude.size)
            kernels.linear_ends(problem, rate, time, piece, start, mode, end, work, weight)
            return np.asarray((np.abs(end - goal).max(axis=2) / sizes).max(axis=1))

        def apart(at: Ints | slice, parts: Floats) -> Floats:
            cut = parts.astype(np.int64)
            given = time[at], piece[at], cut, start[at], mode[at], end[: cut.size], work
            kernels.smooth_ends(problem, f.law.convex, *given)
            return np.asarray((np.abs(given[5] - goal[at]).max(axis=2) / sizes).max(axis=1))

        rate = f.rate + f.steepness
        parts = np.ceil(length * (rate / (1.2 * _NEAR))).clip(1, _MOST_PARTS)
        off = apart(slice(None), parts)
        self._refine(off, parts, apart)
        return off

    def _sliding(self, v: Floats, mode: npt.NDArray[np.int8]) -> Floats:
        """Return (r, n) the size of friction [N] at (r, n) velocities, if the masses slip."""
        f = self.f
        if f.law.constant:
            return np.repeat(f.kinetic.T, len(v), axis=0)
        return np.ascontiguousarray(f.friction((mode * (v - f.belt)).T).T)

    def _note_each(self, worst: Floats, what: Sequence[str]) -> None:
        """Take the worst of each kind, (kinds, 2) with its time."""
        for (value, time), words in zip(worst.tolist(), what, strict=True):
            if not value <= self.worst[0]:
                # a NaN is the worst of all
                self.worst = value if math.isfinite(value) else 1e300, time, words

    @functools.cached_property
    def _moves(self) -> Flags:
        """(m,) whether a mass moves from a state on."""
        return np.asarray(self.trail.mode.any(axis=1))

    def _few(self, k: Ints) -> Ints:
        """Return which stretches are integrated: all, or evenly spread ones where that is dear."""
        if self.exact or k.size == 0:
            # uniform motion lasts as long as it likes, and would take as many terms
            time = self.trail.time
            return k[(time[k + 1] - time[k]) * self.reach <= _LONGEST]
        k = k[self._moves[k]]
        most = max(_MOST_ALL, k.size // 2)
        if self.calls:
            most = max(16, int(_CALLS * float(self.history.stats["expansions"]) / 11.0))
        return k if k.size <= most else k[_spread(k.size, most)]

    def _integrate(self, given: Stretches, x1: Floats, v1: Floats) -> None:
        """Compare with the states at the ends; cut finer what does not agree."""
        # masses that stick rest, or ride on the belt
        x, v = given.x + given.v * (given.t1 - given.t0), given.v
        goes = np.flatnonzero(given.mode.any(axis=0))
        if goes.size == 0:
            self.note(self._off(x - x1, v - v1), given.t1, "a state of rest")
            return
        every = 2 * goes.size > given.t0.size
        part = given if every else given.part(goes)
        if self.exact:
            ends = self._linear_ends(part)
        else:
            rate = self.f.rate + self.f.steepness
            parts = np.ceil((part.t1 - part.t0) * (rate / (1.2 * _NEAR))).clip(1, _MOST_PARTS)
            ends = self._smooth_ends(part, parts)
        if every:
            off = self._off(ends[0] - x1, ends[1] - v1)
        else:
            v = v.copy()
            x[:, goes], v[:, goes] = ends
            off = self._off(x - x1, v - v1)
        if not self.exact and not off.max() <= 0.1 * self.limit:
            where = slice(None) if every else goes
            off[where] = self._refined(part, parts, off[where], x1[:, where], v1[:, where])
        self.note(off, given.t1, _MOTION)

    def _refined(
        self, given: Stretches, parts: Floats, off: Floats, x1: Floats, v1: Floats
    ) -> Floats:
        """Return (s,) differences of the smooth method, with steps as short as they need."""

        def apart(at: Ints, parts: Floats) -> Floats:
            x, v = self._smooth_ends(given.part(at), parts)
            return self._off(x - x1[:, at], v - v1[:, at])

        self._refine(off, parts, apart)
        return off

    def _refine(self, off: Floats, parts: Floats, apart: Callable[[Ints, Floats], Floats]) -> None:
        """Cut stretches finer whose ends disagree, for as long as that changes something.

        Parameters
        ----------
        off, parts : (s,) differences and number of steps, both written anew
        apart : returns the differences of some stretches, cut into so many steps
        """
        left = np.flatnonzero(~(off <= 0.1 * self.limit))
        for _ in range(_CUTS):
            if left.size == 0:
                break
            parts[left] *= 2.0
            before, off[left] = off[left], apart(left, parts[left])
            # a difference that shorter steps do not change is one of the run
            changes = np.abs(off[left] - before) > 0.01 * off[left]
            left = left[(off[left] > 0.1 * self.limit) & changes]

    def _linear_ends(self, given: Stretches) -> tuple[Floats, Floats]:
        if self.trail.problem is None or jit.mode() == "plain":
            return linear.ends(self.f, given)
        from stiction.chains.replay import kernels

        problem, rate = self.trail.problem, linear.rate_of(self.f)
        time, start, modes, end, work = _packed(given, kernels.WORK_ROWS)
        longest = linear.terms(rate * float((given.t1 - given.t0).max()))
        weight = np.zeros(longest + 2 + 4 * problem.sine_amplitude.size)
        kernels.linear_ends(problem, rate, time, given.piece, start, modes, end, work, weight)
        return end[:, 0].T, end[:, 1].T

    def _smooth_ends(self, given: Stretches, parts: Floats) -> tuple[Floats, Floats]:
        if self.trail.problem is None or jit.mode() == "plain":
            return smooth.ends(self.f, given, parts)
        from stiction.chains.replay import kernels

        time, start, modes, end, work = _packed(given, kernels.WORK_ROWS)
        cut, problem = parts.astype(np.int64), self.trail.problem
        kernels.smooth_ends(
            problem, self.f.law.convex, time, given.piece, cut, start, modes, end, work
        )
        return end[:, 0].T, end[:, 1].T

    def _off(self, place: Floats, speed: Floats) -> Floats:
        """Return (s,) differences over the largest place and speed."""
        far, fast = np.abs(place).max(axis=0), np.abs(speed).max(axis=0)
        return np.asarray(np.maximum(far / self.place, fast / self.speed))

    def _inclusion(self, x: Floats, v: Floats, mode: Floats, k: Ints) -> None:
        """Look at stick within its bound and slip along its mode, at both ends of stretches."""
        f, time = self.f, self.trail.time
        now = time
        if f.pieces.function is not None and f.pieces.time.size > 1:
            # a user's load may jump here, and its value at the jump itself may be either
            now = np.where(np.isin(time, f.pieces.time), np.nextafter(time, np.inf), time)
        self.drive = f.drive(x, v, now, f.piece_at(time))
        slip = v - f.belt
        self._stick_and_slip(time, self.drive, slip, mode)
        drive, end = self.drive[:, k + 1], time[k + 1]
        if f.pieces.function is not None and f.pieces.time.size > 1:
            # and at the end of a stretch the value before counts
            at = np.flatnonzero(np.isin(end, f.pieces.time))
            t, piece = np.nextafter(end[at], time[k][at]), f.piece_at(time[k][at])
            after, later = now[k + 1][at], f.piece_at(end[at])
            drive[:, at] += f.share * (f.load(t, piece) - f.load(after, later))
        self._stick_and_slip(end, drive, slip[:, k + 1], mode[:, k])

    def _stick_and_slip(self, t: Floats, drive: Floats, slip: Floats, mode: Floats) -> None:
        stuck = mode == 0.0
        excess = np.abs(drive)
        excess -= self.f.bound
        excess *= stuck
        excess /= self.hold
        self.note(excess, t, "friction of a stuck mass above its bound")
        wrong = np.where(stuck, np.abs(slip), -mode * slip)
        wrong /= self.speed
        self.note(wrong, t, "slip against the mode")

    # ---- saved rows

    def _rows(self) -> tuple[Ints, Ints]:
        """Return saved rows, evenly spread, and the state before each."""
        time, trail = self.history.time, self.trail
        most = 4 if self.calls else _MOST_ROWS
        rows = _spread(time.size, most)
        before = np.searchsorted(trail.time, time[rows], side="right") - 1
        last = trail.time.size - 1
        known = (before >= 0) & ((before < last) | (time[rows] == trail.time[last]))
        known &= trail.follows[np.minimum(before + 1, last)] | (before == last)
        known &= (time[rows] - trail.time[before]) * self.reach <= _LONGEST
        return rows[known], before[known]

    def _friction_of_rows(
        self, rows: Ints, given: Stretches, first: int, x: Floats, v: Floats
    ) -> None:
        """Hold mode and friction of saved rows against the states before them and the law."""
        f, h, t = self.f, self.history, given.t1[first:]
        mode, x, v = given.mode[:, first:], x[:, first:], v[:, first:]
        self.note(np.abs(h.mode[rows].T - mode), t, "the mode of a saved row")
        drive = f.drive(x, v, t, given.piece[first:])
        force = np.where(mode == 0.0, drive, mode * f.friction(mode * (v - f.belt)))
        force += h.friction[rows].T
        self.note(np.abs(force) / self.hold, t, "the friction of a saved row")

    # ---- events

    def look_at_events(self) -> None:
        """Hold the log against the states: each event is there, and its condition holds."""
        trail, f, events = self.trail, self.f, self.history.all_events()
        if self.compiled and trail.time.size and self._compiled_log():
            return
        first = np.sign(trail.v[:1] - f.belt).astype(np.int8)
        mode = np.concatenate([first, trail.mode])
        changes = mode[1:] != mode[:-1]
        logged = self._logged(events.time)
        if not trail.follows[1:].all():
            changes[1:] &= trail.follows[1:, None]
        row, mass = np.nonzero(changes)
        if logged is None:
            logged = np.arange(events.time.size)
        time, before, after = trail.time[row], mode[row, mass], mode[row + 1, mass]
        if logged.size != time.size:
            at = self._first_difference(events.time[logged], time)
            self.note(np.ones(1), at, "an event in the log or in the motion, but not in both")
            return
        if time.size == 0:
            return
        other = (events.mass[logged] != mass) | (events.before[logged] != before)
        other |= events.after[logged] != after
        self.note(other.astype(np.float64), time, "an event of another mass or kind")
        late = np.abs(events.time[logged] - time) * (f.rate or 1.0)
        self.note(late, time, "the time of an event")
        far = np.abs(events.x[logged] - trail.x[row, mass]) / self.place
        self.note(far, time, "the place of an event")
        fast = np.abs(events.v[logged] - trail.v[row, mass]) / self.speed
        self.note(fast, time, "the speed of an event")
        self._conditions(row, mass, before, after, logged)

    def _compiled_log(self) -> bool:
        """Do the same in compiled code; return whether there are as many events as changes."""
        from stiction.chains.replay import inclusion_kernels as ik

        e, logged = self.history.all_events(), self._logged(self.history.all_events().time)
        if logged is None:
            logged = np.arange(e.time.size)
        before, after = (np.asarray(modes, dtype=np.int64) for modes in (e.before, e.after))
        log = ik.Log(
            logged, e.time, e.mass, before, after, e.x, e.v, e.friction_left, e.friction_right
        )
        worst = np.empty((len(ik.OF_EVENTS), 2))
        if not ik.look_at_log(self._model, self._way, log, self._sizes, self.drive, worst):
            self.drive = self.drive.T
            return False
        self._note_each(worst, ik.OF_EVENTS)
        return True

    def _logged(self, time: Floats) -> Ints | None:
        """Return which events of the log lie in kept stretches; None for all."""
        trail = self.trail
        if trail.follows[1:].all():
            return None
        first = np.flatnonzero(~trail.follows[1:]) + 1
        start = np.concatenate([[0], first])
        stop = np.concatenate([first, [trail.time.size]]) - 1
        at = np.searchsorted(trail.time[start], time, side="right") - 1
        inside = (at >= 0) & (time <= trail.time[stop[at.clip(0)]])
        # what changed at the first state of a stretch changed before anything was kept of it
        inside &= (time > trail.time[start[at.clip(0)]]) | (at == 0)
        return np.flatnonzero(inside)

    def _first_difference(self, one: Floats, two: Floats) -> Floats:
        size = min(one.size, two.size)
        off = np.flatnonzero(one[:size] != two[:size])
        at = int(off[0]) if off.size else size
        longer = one if one.size > two.size else two
        return longer[at : at + 1]

    def _conditions(self, row: Ints, mass: Ints, before: Ints, after: Ints, logged: Ints) -> None:
        """Look at what must hold where a mass lets go, stops or turns round."""
        f, t, events = self.f, self.trail.time[row], self.history.all_events()
        force, bound = self.drive[mass, row], f.bound[mass, 0]
        hold = self.hold[mass, 0]
        if f.pieces.function is not None:
            # where a user's load jumps, the log may tell its value on either side
            kept = ~np.isin(t, f.pieces.time[1:])
            logged, row, mass, t = logged[kept], row[kept], mass[kept], t[kept]
            before, after, force = before[kept], after[kept], force[kept]
            bound, hold = bound[kept], hold[kept]
        # the drive is past the bound on the side to which the mass goes, or within it
        missing = np.where(after == 0, np.abs(force) - bound, bound - after * force) / hold
        self.note(missing, t, "the drive at an event")
        slip = self.trail.v[row, mass] - f.belt
        begins = (t == self.history.time[0]) & (before != 0)
        self.note(np.where(begins, 0.0, np.abs(slip)) / self.speed, t, "slip at an event")
        # friction as the log tells it: what held before, and what holds from there
        law = f.kinetic[mass, 0]
        if not f.law.constant:
            law = f.friction(np.zeros((f.n, 1)))[mass, 0]
        left = np.where(before == 0, force, before * law) + events.friction_left[logged]
        right = np.where(after == 0, force, after * law) + events.friction_right[logged]
        off = np.maximum(np.abs(left), np.abs(right)) / hold
        self.note(off, t, "the friction of an event")


def _packed(
    given: Stretches, rows: int
) -> tuple[Floats, Floats, npt.NDArray[np.int8], Floats, Floats]:
    """Return times, starts, modes, room for ends, and work space, as kernels take them."""
    n, s = given.x.shape
    start = np.empty((s, 2, n))
    start[:, 0], start[:, 1] = given.x.T, given.v.T
    time = np.stack([given.t0, given.t1], axis=1)
    modes = np.ascontiguousarray(given.mode.T, dtype=np.int8)
    return time, start, modes, np.empty((s, 2, n)), np.empty((rows, n + 2))
