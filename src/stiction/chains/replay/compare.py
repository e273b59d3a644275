"""Independent verification of an event-driven run: integrate it again and compare.

The trajectory consists of states between which no mass changes its mode; a slipping mass obeys
m x'' = R - mode N mu there, with R the sum of all forces but friction, and a stuck one moves with
the belt. From each state the motion
is integrated by another algorithm (`linear` or `smooth`) to the next one, and compared there. At
both states the friction inclusion is tested: |R| <= mu_s N in stick, and slip in the direction of
the mode otherwise. The recorded events and saved samples are then tested against the same states.
`outcome.build_run` calls `replay_check` for the audit line `replay_agrees`.
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
from stiction.chains.replay.forces import MOST_DENSE, Forces, Intervals, forces_of
from stiction.chains.replay.trajectory import Trajectory
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
# longest time between states, over 1 / (fastest rate), that one step covers: of `linear`, which
# sums terms until they are rounding, and of `smooth`, whose order is 8. Chosen; steps of `smooth`
# that disagree are halved
_LONG_SPACING, _SHORT_SPACING = 4.0, 0.5
# relative difference of two algorithms at which the check fails, at least ten times `rtol` where a
# user's function is sampled. Chosen, far above the rounding of both
_LIMIT = 1e-8
_EPS = float(np.finfo(np.float64).eps)
# longest time between states, over 1 / (fastest rate), that is compared: the number of terms grows
# with it. Chosen
_LONGEST = 256.0
# two times are equal within this fraction of the time
_ONE_TIME = 4.0 * _EPS
_MOTION = "the motion from one state to another"
# the steps of an interval that disagrees are halved up to this many times
_HALVINGS = 6
_MOST_STEPS = 64
# most saved samples that are compared with the motion, evenly spaced
_MOST_SAMPLES = 32
# up to this many intervals of slip under weakening friction all are integrated, of more every other
_MOST_INTERVALS = 256
# calls of a user's function, for each expansion of the method in a series
_CALLS = 12.0


def spacing(chain: Chain) -> float:
    """Return the spacing in time of states that a replay needs, over 1 / (fastest rate) [1]."""
    if not chain.law.constant or chain.load.segments().function is not None:
        return _SHORT_SPACING
    return _LONG_SPACING if chain.n_mass > MOST_DENSE else 0.5 * _LONG_SPACING


def replay_check(chain: Chain, history: ChainHistory, trajectory: Trajectory, rtol: float) -> Check:
    """Return the audit line of the replay: the largest difference to the run.

    Parameters
    ----------
    trajectory : states that the method recorded
    rtol : tolerance of the fits of a user's functions

    Verified by: tests/unit/chains/replay/test_compare.py::test_damage_is_detected
    """
    replay = _Replay(chain, history, trajectory, rtol)
    replay.check_motion()
    replay.check_events()
    value, time, what = replay.worst
    note = (
        "largest difference between the run and a second integration by another method over "
        f"{replay.fraction:.0%} of the time, relative to the largest speed, displacement or "
        "bound; violations of the conditions of stick, slip and events are included"
    )
    if value > replay.limit:
        note = f"{what}; {note}"
    return Check("replay_agrees", bool(value <= replay.limit), value, replay.limit, time, note)


@functools.lru_cache(maxsize=64)
def _evenly_spaced(size: int, most: int) -> Ints:
    """Return all indices below `size`, or `most` evenly spaced ones. Shared: do not write."""
    if size <= most:
        return np.arange(size)
    return np.linspace(0, size - 1, most).astype(np.int64)


def jumps_of(begin: Floats) -> Floats:
    """Return the times of jumps: ends of load segments that are shorter than rounding.

    Verified by: tests/unit/chains/replay/test_compare.py::test_a_jump_in_no_time
    """
    return np.asarray(begin[1:][np.diff(begin) <= _ONE_TIME * np.abs(begin[1:])])


def _resolved(trajectory: Trajectory, f: Forces) -> Trajectory:
    """Return the trajectory without intervals that are shorter than rounding and hold a jump.

    On such an interval the load has both values, so that no state can be tested.
    """
    jumps = jumps_of(f.segments.time)
    if jumps.size == 0:
        return trajectory
    end, follows = trajectory.time[1:], trajectory.follows.copy()
    follows[1:] &= (np.diff(trajectory.time) > _ONE_TIME * np.abs(end)) | ~np.isin(end, jumps)
    return dataclasses.replace(trajectory, follows=follows)


class _Replay:
    """One replay: the forces of the model, the run, scales, and the largest difference.

    Attributes
    ----------
    limit : largest accepted relative difference [1]
    exact : whether the motion between events is linear, so that `linear` integrates it
    reach : bound of the rates of the motion [1/s], if `exact`; else 0
    speed, place : scales of velocities [m/s] and displacements [m]
    hold : (n, 1) scales of forces [N]
    worst : largest difference, its time [s] (None for none), and what differs
    fraction : verified fraction of the time of the run [1]
    """

    def __init__(
        self, chain: Chain, history: ChainHistory, trajectory: Trajectory, rtol: float
    ) -> None:
        self.f = f = forces_of(chain)
        self.history, self.trajectory = history, _resolved(trajectory, f)
        trajectory = self.trajectory
        own_load, own_law = f.segments.function is not None, not (f.law.constant or f.law.convex)
        # a load or a law that the run fits with the tolerance rtol cannot agree better
        self.limit = max(_LIMIT, 10.0 * rtol) if own_load or own_law else _LIMIT
        # number of calls of a user's functions for one state
        self.calls = int(own_load) + int(own_law) * f.n
        self.exact = f.law.constant and not own_load
        # unit of the time between states
        self.reach = linear.rate_of(f) if self.exact else 0.0
        rate = f.rate or 1.0
        speed = float(np.abs(trajectory.v).max(initial=0.0)) + abs(f.belt)
        self.speed = speed or 1.0
        self.place = float(np.abs(trajectory.x).max(initial=0.0)) + self.speed / rate
        self.worst: tuple[float, float | None, str] = (0.0, None, "")
        self.fraction = 1.0
        self._set_scales(rate)
        # a user's load and jumps of the load are evaluated here, not by kernels
        self.special = own_load or f.may_jump

    def _set_scales(self, rate: float) -> None:
        """Set the scales of differences, so that rounding of the terms of forces does not count.

        `rate` is a bound of the rates of the chain [1/s]. Each scale is increased by the rounding
        error of its quantity over `limit`.
        """
        f, p, time = self.f, self.f.segments, self.trajectory.time
        ends = (float(time[0]), float(time[-1])) if time.size else (0.0, 0.0)
        late = max(map(abs, ends))
        if p.time.size == 1:
            begin, offset, rise = float(p.time[0]), float(p.offset[0]), float(p.rate[0])
            load = max(abs(offset + rise * (t - begin)) for t in ends)
        else:
            both = np.array(ends)
            load = float(np.abs(f.straight(both, f.segment_at(both))).max())
            load = max(load, float(np.abs(p.offset).max()))
        if p.amplitude.size:
            load += float(np.abs(p.amplitude).sum())
        force = (2.0 * self.place) * f.stiffest
        force += f.load_size * load + f.bound
        if f.damped:
            force += (2.0 * self.speed) * np.maximum(f.link_c[1:], f.link_c[:-1])
        if f.plate:
            force += f.plate_k * (self.place + abs(f.plate_speed) * late)
        hold = f.bound
        if not f.all_bounded:
            # a bound of zero is replaced by a fraction of the forces
            hold = np.where(hold > 0.0, hold, max(float(hold.max()), 1e-3 * float(force.max())))
        # the angle of a fast sine is rounded at late times
        turns = float((np.abs(p.amplitude) * np.abs(p.angular_frequency)).sum()) * (0.25 * late)
        self.hold = hold + (16.0 * _EPS / self.limit) * (force + f.load_size * turns)
        # errors of velocities and displacements in one interval, by rounding of forces and of time
        push = float((force / f.mass).max())
        loose = push * _EPS * (64.0 / rate + 4.0 * late)
        self.speed += loose / self.limit
        loose = 16.0 * _EPS * self.place + 4.0 / rate * loose + 4.0 * _EPS * late * self.speed
        self.place += loose / self.limit

    def record(self, value: Floats, time: Floats, what: str) -> None:
        """Update the largest difference by relative values (..., s) at times (s,)."""
        if value.size == 0 or value.max() <= self.worst[0]:
            return
        worst = value.max(axis=0) if value.ndim > 1 else value
        at = int(np.argmax(worst))
        # NaN counts as the largest value
        size = float(worst[at]) if np.isfinite(worst[at]) else 1e300
        self.worst = size, float(time[at]), what

    # ---- from state to state

    def check_motion(self) -> None:
        """Integrate the intervals again, and test the inclusion at both ends."""
        from stiction.chains.replay import inclusion_kernels as ik

        f, h, trajectory = self.f, self.history, self.trajectory
        self._states = states = ik.States(
            trajectory.time, trajectory.x, trajectory.v, trajectory.mode, trajectory.follows
        )
        self._model = ik.Model(*f.numbers)
        sizes = (f.bound[:, 0], self.hold[:, 0], self.speed, self.place, f.rate or 1.0)
        self._sizes = ik.Sizes(*sizes)
        self._loads = ik.Loads(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.bool_))
        self.drive, worst = np.empty((trajectory.time.size, f.n)), np.empty((len(ik.OF_STATES), 2))
        if trajectory.time.size == 0:
            self.fraction = 0.0
            return
        # intervals between states, and from states to saved samples: integrate, and compare the
        # ends with the run
        steps = self._selected_intervals(np.flatnonzero(trajectory.follows[1:]))
        sample, before = self._saved_samples()
        sliding = self._sliding(h.v[sample], trajectory.mode[before])
        samples = ik.SavedSamples(sample, before, h.time, h.x, h.v, h.mode, h.friction, sliding)
        s = steps.size + sample.size
        time, segment, mode = np.empty((s, 2)), np.empty(s, np.int64), np.empty((s, f.n), np.int8)
        start, goal = np.empty((2, s, 2, f.n))
        ik.gather(f.segments.time, states, samples, steps, time, segment, start, mode, goal)
        off = self._end_differences(time, segment, start, mode, goal)
        moves = bool(mode.any())
        self.record(off, time[:, 1], _MOTION if moves else "an equilibrium")
        # the friction inclusion at all states and saved samples
        if self.special:
            self._loads = ik.Loads(*self._special_loads(h.time[sample], trajectory.time[before]))
        ik.check_states(self._model, states, self._loads, samples, self._sizes, self.drive, worst)
        self._note_each(worst, ik.OF_STATES)
        self._covered_time(steps)

    def _covered_time(self, steps: Ints) -> None:
        """Compute the fraction of the time that is verified."""
        trajectory, time = self.trajectory, self.history.time
        covered = (trajectory.time[steps + 1] - trajectory.time[steps]).sum()
        asked = time[-1] - time[0]
        self.fraction = min(1.0, float(covered / asked)) if asked > 0.0 else 1.0

    def _end_differences(
        self, time: Floats, segment: Ints, start: Floats, mode: npt.NDArray[np.int8], goal: Floats
    ) -> Floats:
        """Return (s,) differences at the ends of intervals between integration and run.

        Parameters
        ----------
        time, segment : (s, 2) start and end of each interval [s], (s,) its segment of the load
        start, goal : (s, 2, n) x [m] and v [m/s] of the run at both
        mode : (s, n) modes
        """
        sizes = np.array([self.place, self.speed])

        def difference_of(at: Ints | slice, parts: Floats | None = None) -> Floats:
            end = self._ends(time[at], segment[at], start[at], mode[at], parts)
            return np.asarray((np.abs(end - goal[at]).max(axis=2) / sizes).max(axis=1))

        if self.exact:
            return difference_of(slice(None))
        rate = self.f.rate + self.f.steepness
        length = time[:, 1] - time[:, 0]
        parts = np.ceil(length * (rate / (1.2 * _SHORT_SPACING))).clip(1, _MOST_STEPS)
        off = difference_of(slice(None), parts)
        self._halve_steps(off, parts, difference_of)
        return off

    def _ends(
        self,
        time: Floats,
        segment: Ints,
        start: Floats,
        mode: npt.NDArray[np.int8],
        parts: Floats | None,
    ) -> Floats:
        """Return (s, 2, n) states at the ends of intervals; see `kernels.linear_ends`.

        Parameters
        ----------
        parts : (s,) numbers of steps of the Runge-Kutta method; None for constant friction
        """
        from stiction.chains.replay import kernels

        f, problem, end = self.f, self.trajectory.problem, np.empty_like(start)
        moving = np.asarray(mode.any(axis=1))
        if jit.mode() == "plain":
            # stuck masses are at rest, or move with the belt
            end[:, 0] = start[:, 0] + start[:, 1] * (time[:, 1] - time[:, 0])[:, None]
            end[:, 1] = start[:, 1]
            if moving.any():
                x, v = start.transpose(1, 2, 0)
                every = Intervals(time[:, 0], time[:, 1], x, v, mode.T.astype(np.float64), segment)
                part = every.part(moving)
                ends = (
                    linear.ends(f, part) if parts is None else smooth.ends(f, part, parts[moving])
                )
                end[moving] = np.stack(ends).transpose(2, 0, 1)
            return end
        assert problem is not None
        work = np.empty((kernels.WORK_ROWS, f.n + 2))
        if parts is None:
            rate = linear.rate_of(f)
            # intervals of stick need no series
            longest = float((time[moving, 1] - time[moving, 0]).max(initial=0.0))
            weight = np.zeros(linear.terms(rate * longest) + 2 + 4 * f.segments.amplitude.size)
            kernels.linear_ends(problem, rate, time, segment, start, mode, end, work, weight)
        else:
            counts = parts.astype(np.int64)
            kernels.smooth_ends(
                problem, f.law.convex, time, segment, counts, start, mode, end, work
            )
        return end

    def _special_loads(
        self, t: Floats, begin: Floats
    ) -> tuple[Floats, Floats, Floats, npt.NDArray[np.bool_]]:
        """Return the arrays of `inclusion_kernels.Loads`, by the function and the jumps of a load.

        Parameters
        ----------
        t, begin : (r,) times of the saved samples, and of the states before them [s]
        """
        f, time = self.f, self.trajectory.time
        jumps = np.isin(time, f.segments.time) & f.may_jump
        # the load may jump at a state: its values just after and just before
        after = f.load(np.where(jumps, np.nextafter(time, np.inf), time), f.segment_at(time))
        before, at = after.copy(), np.flatnonzero(jumps[1:]) + 1
        earlier = time[at - 1]
        before[at] = f.load(np.nextafter(time[at], earlier), f.segment_at(earlier))
        jumps &= time != f.segments.time[0]
        return after, before, f.load(t, f.segment_at(begin)), jumps

    def _sliding(self, v: Floats, mode: npt.NDArray[np.int8]) -> Floats:
        """Return the magnitude (r, n) of kinetic friction [N] at (r, n) velocities."""
        f = self.f
        if f.law.constant:
            return np.repeat(f.kinetic.T, len(v), axis=0)
        return np.ascontiguousarray(f.friction((mode * (v - f.belt)).T).T)

    def _note_each(self, worst: Floats, what: Sequence[str]) -> None:
        """Update the largest difference by the worst of each kind, (kinds, 2) with its time."""
        for (value, time), words in zip(worst.tolist(), what, strict=True):
            if not value <= self.worst[0]:
                # NaN counts as the largest value
                self.worst = value if math.isfinite(value) else 1e300, time, words

    @functools.cached_property
    def _moves(self) -> Flags:
        """(m,) whether a mass slips after a state."""
        return np.asarray(self.trajectory.mode.any(axis=1))

    def _selected_intervals(self, k: Ints) -> Ints:
        """Return the intervals to compare: all of stick; of slip not all, if that is expensive."""
        moves = self._moves[k]
        if self.exact:
            # the number of terms grows with the length of an interval in radians: skip long ones
            time = self.trajectory.time
            return k[~moves | ((time[k + 1] - time[k]) * self.reach <= _LONGEST)]
        slips = k[moves]
        most = max(_MOST_INTERVALS, slips.size // 2)
        if self.calls:
            most = max(16, int(_CALLS * float(self.history.stats["expansions"]) / 11.0))
        if slips.size <= most:
            return k
        return np.sort(np.concatenate([slips[_evenly_spaced(slips.size, most)], k[~moves]]))

    def _halve_steps(
        self, off: Floats, parts: Floats, difference_of: Callable[[Ints | slice, Floats], Floats]
    ) -> None:
        """Halve the steps of intervals that disagree, as long as this changes the differences.

        Parameters
        ----------
        off, parts : (s,) differences and numbers of steps, both updated
        difference_of : returns the differences of some intervals for given numbers of steps
        """
        left = np.flatnonzero(~(off <= 0.1 * self.limit))
        for _ in range(_HALVINGS):
            if left.size == 0:
                break
            parts[left] *= 2.0
            before, off[left] = off[left], difference_of(left, parts[left])
            # a difference that shorter steps do not change is an error of the run
            changes = np.abs(off[left] - before) > 0.01 * off[left]
            left = left[(off[left] > 0.1 * self.limit) & changes]

    # ---- saved samples

    def _saved_samples(self) -> tuple[Ints, Ints]:
        """Return (r,) indices of evenly spaced saved samples, and (r,) of the state before each."""
        time, trajectory = self.history.time, self.trajectory
        most = 4 if self.calls else _MOST_SAMPLES
        samples = _evenly_spaced(time.size, most)
        before = np.searchsorted(trajectory.time, time[samples], side="right") - 1
        last = trajectory.time.size - 1
        known = (before >= 0) & ((before < last) | (time[samples] == trajectory.time[last]))
        known &= trajectory.follows[np.minimum(before + 1, last)] | (before == last)
        short = (time[samples] - trajectory.time[before]) * self.reach <= _LONGEST
        known &= short | ~self._moves[before]
        return samples[known], before[known]

    # ---- events

    def check_events(self) -> None:
        """Test that events and mode changes of the trajectory match, and the condition of each."""
        from stiction.chains.replay import inclusion_kernels as ik

        e = self.history.all_events()
        logged = self._events_in_intervals(e.time)
        before, after = (np.asarray(modes, dtype=np.int64) for modes in (e.before, e.after))
        log = ik.Log(
            logged, e.time, e.mass, before, after, e.x, e.v, e.friction_left, e.friction_right
        )
        worst = np.empty((len(ik.OF_EVENTS), 2))
        if ik.check_log(
            self._model, self._states, self._loads, log, self._sizes, self.drive, worst
        ):
            self._note_each(worst, ik.OF_EVENTS)
            return
        at = self._first_difference(e.time[logged])
        self.record(np.ones(1), at, "an event in the log or in the motion, but not in both")

    def _events_in_intervals(self, time: Floats) -> Ints:
        """Return the events that lie in recorded parts of the trajectory."""
        trajectory = self.trajectory
        if trajectory.follows[1:].all():
            return np.arange(time.size)
        first = np.flatnonzero(~trajectory.follows[1:]) + 1
        start = np.concatenate([[0], first])
        stop = np.concatenate([first, [trajectory.time.size]]) - 1
        at = np.searchsorted(trajectory.time[start], time, side="right") - 1
        inside = (at >= 0) & (time <= trajectory.time[stop[at.clip(0)]])
        # a change at the first state of a part has no recorded state before it
        inside &= (time > trajectory.time[start[at.clip(0)]]) | (at == 0)
        return np.flatnonzero(inside)

    def _first_difference(self, one: Floats) -> Floats:
        """Return the first time (1,) at which events and mode changes differ, by event times."""
        states = self._states
        first = np.sign(states.v[:1] - self.f.belt).astype(np.int8)
        changes = np.diff(np.concatenate([first, states.mode]), axis=0) != 0
        changes[1:] &= states.follows[1:, None]
        two = states.time[np.nonzero(changes)[0]]
        size = min(one.size, two.size)
        off = np.flatnonzero(one[:size] != two[:size])
        at = int(off[0]) if off.size else size
        longer = one if one.size > two.size else two
        return longer[at : at + 1]
