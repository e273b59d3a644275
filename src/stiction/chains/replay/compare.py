"""Independent verification of an event-driven run: integrate it again and compare.

The trajectory consists of states between which no mass changes its mode. From each state the motion
is integrated by another algorithm (`linear` or `smooth`) to the next one, and compared there. At
both states the friction inclusion is tested: |R| <= mu_s N in stick, slip in the direction of the
mode otherwise. The recorded events and saved samples are then tested against the same states.
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
        "difference of the run from a second integration, by another method, of "
        f"{replay.fraction:.0%} of the time, over the largest speed, displacement or bound; also "
        "violations of the conditions of stick, slip and events"
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
    """One replay: the forces of the model, the run, scales, and the largest difference."""

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
        # jumps of the load are handled by the NumPy functions only
        plain = own_load or f.may_jump or jit.mode() != "compiled"
        self.compiled = trajectory.problem is not None and not plain

    def _set_scales(self, rate: float) -> None:
        """Set the scales of differences, so that rounding of the terms of forces does not count."""
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
        trajectory, h, f = self.trajectory, self.history, self.f
        if trajectory.time.size == 0:
            self.fraction, self.drive = 0.0, np.empty((f.n, 0))
            return
        k = np.flatnonzero(trajectory.follows[1:])
        samples, before = self._saved_samples()
        steps = self._selected_intervals(k)
        if self.compiled:
            self._compiled_motion(k, steps, samples, before)
            return
        start, row_x, row_v = np.concatenate([steps, before]), h.x[samples], h.v[samples]
        t0, t1 = (
            trajectory.time[start],
            np.concatenate([trajectory.time[steps + 1], h.time[samples]]),
        )
        x, v, mode = (
            a.T.copy() for a in (trajectory.x, trajectory.v, trajectory.mode.astype(np.float64))
        )
        intervals = Intervals(t0, t1, x[:, start], v[:, start], mode[:, start], f.segment_at(t0))
        x1 = np.concatenate([x[:, steps + 1], row_x.T], axis=1)
        v1 = np.concatenate([v[:, steps + 1], row_v.T], axis=1)
        self._integrate(intervals, x1, v1)
        self._check_inclusion(x, v, mode, k)
        self._check_saved_friction(samples, intervals, steps.size, x1, v1)
        self._covered_time(steps)

    def _covered_time(self, steps: Ints) -> None:
        """Compute the fraction of the time that is verified."""
        trajectory, time = self.trajectory, self.history.time
        covered = (trajectory.time[steps + 1] - trajectory.time[steps]).sum()
        asked = time[-1] - time[0]
        self.fraction = min(1.0, float(covered / asked)) if asked > 0.0 else 1.0

    def _compiled_motion(self, k: Ints, steps: Ints, sample: Ints, before: Ints) -> None:
        """Do the work of `check_motion` by compiled kernels, state by state."""
        from stiction.chains.replay import inclusion_kernels as ik

        f, h, trajectory, problem = self.f, self.history, self.trajectory, self.trajectory.problem
        assert problem is not None
        self._states = states = ik.States(
            trajectory.time, trajectory.x, trajectory.v, trajectory.mode, trajectory.follows
        )
        sliding = self._sliding(h.v[sample], trajectory.mode[before])
        samples = ik.SavedSamples(sample, before, h.time, h.x, h.v, h.mode, h.friction, sliding)
        s = steps.size + sample.size
        time, segment, mode = np.empty((s, 2)), np.empty(s, np.int64), np.empty((s, f.n), np.int8)
        start, goal = np.empty((2, s, 2, f.n))
        ik.gather(problem.segment_time, states, samples, steps, time, segment, start, mode, goal)
        off = self._end_differences(time, segment, start, mode, goal)
        moves = bool(mode.any())
        self.record(off, time[:, 1], _MOTION if moves else "an equilibrium")
        sizes = (f.bound[:, 0], self.hold[:, 0], self.speed, self.place, f.rate or 1.0)
        self._sizes = ik.Sizes(*sizes)
        self.drive, worst = np.empty((trajectory.time.size, f.n)), np.empty((len(ik.OF_STATES), 2))
        self._model = ik.Model(*f.numbers)
        ik.check_states(self._model, states, samples, self._sizes, self.drive, worst)
        self._note_each(worst, ik.OF_STATES)
        self._covered_time(steps)

    def _end_differences(
        self, time: Floats, segment: Ints, start: Floats, mode: npt.NDArray[np.int8], goal: Floats
    ) -> Floats:
        """Return (s,) differences at the ends of intervals between integration and run."""
        from stiction.chains.replay import kernels

        f, problem, end = self.f, self.trajectory.problem, np.empty_like(start)
        assert problem is not None
        work, length = np.empty((kernels.WORK_ROWS, f.n + 2)), time[:, 1] - time[:, 0]
        sizes = np.array([self.place, self.speed])
        if self.exact:
            rate = linear.rate_of(f)
            # intervals of stick need no series
            longest = linear.terms(rate * float(length[mode.any(axis=1)].max(initial=0.0)))
            weight = np.zeros(longest + 2 + 4 * f.segments.amplitude.size)
            kernels.linear_ends(problem, rate, time, segment, start, mode, end, work, weight)
            return np.asarray((np.abs(end - goal).max(axis=2) / sizes).max(axis=1))

        def difference_of(at: Ints | slice, parts: Floats) -> Floats:
            counts = parts.astype(np.int64)
            reached, initial = end[: counts.size], (start[at], mode[at])
            kernels.smooth_ends(
                problem, f.law.convex, time[at], segment[at], counts, *initial, reached, work
            )
            return np.asarray((np.abs(reached - goal[at]).max(axis=2) / sizes).max(axis=1))

        rate = f.rate + f.steepness
        parts = np.ceil(length * (rate / (1.2 * _SHORT_SPACING))).clip(1, _MOST_STEPS)
        off = difference_of(slice(None), parts)
        self._halve_steps(off, parts, difference_of)
        return off

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

    def _integrate(self, intervals: Intervals, x1: Floats, v1: Floats) -> None:
        """Integrate, compare with the states at the ends, and halve steps where they differ."""
        # stuck masses are at rest, or move with the belt
        x, v = intervals.x + intervals.v * (intervals.t1 - intervals.t0), intervals.v
        moving = np.flatnonzero(intervals.mode.any(axis=0))
        if moving.size == 0:
            self.record(self._difference(x - x1, v - v1), intervals.t1, "an equilibrium")
            return
        every = moving.size == intervals.t0.size
        part = intervals if every else intervals.part(moving)
        if self.exact:
            ends = self._linear_ends(part)
        else:
            rate = self.f.rate + self.f.steepness
            parts = np.ceil((part.t1 - part.t0) * (rate / (1.2 * _SHORT_SPACING))).clip(
                1, _MOST_STEPS
            )
            ends = self._smooth_ends(part, parts)
        if every:
            off = self._difference(ends[0] - x1, ends[1] - v1)
        else:
            v = v.copy()
            x[:, moving], v[:, moving] = ends
            off = self._difference(x - x1, v - v1)
        if not self.exact and not off.max() <= 0.1 * self.limit:
            where = slice(None) if every else moving
            off[where] = self._smooth_differences(
                part, parts, off[where], x1[:, where], v1[:, where]
            )
        self.record(off, intervals.t1, _MOTION)

    def _smooth_differences(
        self, intervals: Intervals, parts: Floats, off: Floats, x1: Floats, v1: Floats
    ) -> Floats:
        """Return (s,) differences by the Runge-Kutta method, with steps halved as needed."""

        def difference_of(at: Ints, parts: Floats) -> Floats:
            x, v = self._smooth_ends(intervals.part(at), parts)
            return self._difference(x - x1[:, at], v - v1[:, at])

        self._halve_steps(off, parts, difference_of)
        return off

    def _halve_steps(
        self, off: Floats, parts: Floats, difference_of: Callable[[Ints, Floats], Floats]
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

    def _linear_ends(self, intervals: Intervals) -> tuple[Floats, Floats]:
        if self.trajectory.problem is None or jit.mode() == "plain":
            return linear.ends(self.f, intervals)
        from stiction.chains.replay import kernels

        problem, rate = self.trajectory.problem, linear.rate_of(self.f)
        time, start, modes, end, work = _kernel_arrays(intervals, kernels.WORK_ROWS)
        longest = linear.terms(rate * float((intervals.t1 - intervals.t0).max()))
        weight = np.zeros(longest + 2 + 4 * problem.sine_amplitude.size)
        kernels.linear_ends(problem, rate, time, intervals.segment, start, modes, end, work, weight)
        return end[:, 0].T, end[:, 1].T

    def _smooth_ends(self, intervals: Intervals, parts: Floats) -> tuple[Floats, Floats]:
        if self.trajectory.problem is None or jit.mode() == "plain":
            return smooth.ends(self.f, intervals, parts)
        from stiction.chains.replay import kernels

        time, start, modes, end, work = _kernel_arrays(intervals, kernels.WORK_ROWS)
        counts, problem = parts.astype(np.int64), self.trajectory.problem
        kernels.smooth_ends(
            problem, self.f.law.convex, time, intervals.segment, counts, start, modes, end, work
        )
        return end[:, 0].T, end[:, 1].T

    def _difference(self, place: Floats, speed: Floats) -> Floats:
        """Return (s,) differences over the largest displacement and speed."""
        far, fast = np.abs(place).max(axis=0), np.abs(speed).max(axis=0)
        return np.asarray(np.maximum(far / self.place, fast / self.speed))

    def _check_inclusion(self, x: Floats, v: Floats, mode: Floats, k: Ints) -> None:
        """Test the friction inclusion at both ends of intervals."""
        f, time = self.f, self.trajectory.time
        now = time
        if f.may_jump:
            # the load may jump here: use its value after the jump
            now = np.where(np.isin(time, f.segments.time), np.nextafter(time, np.inf), time)
        self.drive = f.drive(x, v, now, f.segment_at(time))
        slip = v - f.belt
        self._stick_and_slip(time, self.drive, slip, mode)
        drive, end = self.drive[:, k + 1], time[k + 1]
        if f.may_jump:
            # at the end of an interval use the value before the jump
            at = np.flatnonzero(np.isin(end, f.segments.time))
            t, segment = np.nextafter(end[at], time[k][at]), f.segment_at(time[k][at])
            after, later = now[k + 1][at], f.segment_at(end[at])
            drive[:, at] += f.load_vector * (f.load(t, segment) - f.load(after, later))
        self._stick_and_slip(end, drive, slip[:, k + 1], mode[:, k])

    def _stick_and_slip(self, t: Floats, drive: Floats, slip: Floats, mode: Floats) -> None:
        stuck = mode == 0.0
        excess = np.abs(drive)
        excess -= self.f.bound
        excess *= stuck
        excess /= self.hold
        self.record(excess, t, "friction of a stuck mass above its bound")
        wrong = np.where(stuck, np.abs(slip), -mode * slip)
        wrong /= self.speed
        self.record(wrong, t, "slip against the mode")

    # ---- saved samples

    def _saved_samples(self) -> tuple[Ints, Ints]:
        """Return indices of saved samples, evenly spaced, and of the state before each."""
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

    def _check_saved_friction(
        self, samples: Ints, intervals: Intervals, first: int, x: Floats, v: Floats
    ) -> None:
        """Compare mode and friction of saved samples with the states before them and the law."""
        f, h, t = self.f, self.history, intervals.t1[first:]
        mode, x, v = intervals.mode[:, first:], x[:, first:], v[:, first:]
        self.record(np.abs(h.mode[samples].T - mode), t, "the mode of a saved sample")
        drive = f.drive(x, v, t, intervals.segment[first:])
        force = np.where(mode == 0.0, drive, mode * f.friction(mode * (v - f.belt)))
        force += h.friction[samples].T
        self.record(np.abs(force) / self.hold, t, "the friction of a saved sample")

    # ---- events

    def check_events(self) -> None:
        """Test that events and mode changes of the trajectory match, and the condition of each."""
        trajectory, f, events = self.trajectory, self.f, self.history.all_events()
        if self.compiled and trajectory.time.size and self._compiled_events():
            return
        first = np.sign(trajectory.v[:1] - f.belt).astype(np.int8)
        mode = np.concatenate([first, trajectory.mode])
        changes = mode[1:] != mode[:-1]
        logged = self._events_in_intervals(events.time)
        if not trajectory.follows[1:].all():
            changes[1:] &= trajectory.follows[1:, None]
        sample, mass = np.nonzero(changes)
        if logged is None:
            logged = np.arange(events.time.size)
        time, before, after = trajectory.time[sample], mode[sample, mass], mode[sample + 1, mass]
        if logged.size != time.size:
            at = self._first_difference(events.time[logged], time)
            self.record(np.ones(1), at, "an event in the log or in the motion, but not in both")
            return
        if time.size == 0:
            return
        other = (events.mass[logged] != mass) | (events.before[logged] != before)
        other |= events.after[logged] != after
        self.record(other.astype(np.float64), time, "an event of another mass or kind")
        late = np.abs(events.time[logged] - time) * (f.rate or 1.0)
        self.record(late, time, "the time of an event")
        far = np.abs(events.x[logged] - trajectory.x[sample, mass]) / self.place
        self.record(far, time, "the displacement of an event")
        fast = np.abs(events.v[logged] - trajectory.v[sample, mass]) / self.speed
        self.record(fast, time, "the velocity of an event")
        self._check_conditions(sample, mass, before, after, logged)

    def _compiled_events(self) -> bool:
        """Do the work of `check_events` by a kernel; return whether events and changes pair up."""
        from stiction.chains.replay import inclusion_kernels as ik

        e, logged = (
            self.history.all_events(),
            self._events_in_intervals(self.history.all_events().time),
        )
        if logged is None:
            logged = np.arange(e.time.size)
        before, after = (np.asarray(modes, dtype=np.int64) for modes in (e.before, e.after))
        log = ik.Log(
            logged, e.time, e.mass, before, after, e.x, e.v, e.friction_left, e.friction_right
        )
        worst = np.empty((len(ik.OF_EVENTS), 2))
        if not ik.check_log(self._model, self._states, log, self._sizes, self.drive, worst):
            self.drive = self.drive.T
            return False
        self._note_each(worst, ik.OF_EVENTS)
        return True

    def _events_in_intervals(self, time: Floats) -> Ints | None:
        """Return the events that lie in recorded parts of the trajectory; None for all."""
        trajectory = self.trajectory
        if trajectory.follows[1:].all():
            return None
        first = np.flatnonzero(~trajectory.follows[1:]) + 1
        start = np.concatenate([[0], first])
        stop = np.concatenate([first, [trajectory.time.size]]) - 1
        at = np.searchsorted(trajectory.time[start], time, side="right") - 1
        inside = (at >= 0) & (time <= trajectory.time[stop[at.clip(0)]])
        # a change at the first state of a part has no recorded state before it
        inside &= (time > trajectory.time[start[at.clip(0)]]) | (at == 0)
        return np.flatnonzero(inside)

    def _first_difference(self, one: Floats, two: Floats) -> Floats:
        size = min(one.size, two.size)
        off = np.flatnonzero(one[:size] != two[:size])
        at = int(off[0]) if off.size else size
        longer = one if one.size > two.size else two
        return longer[at : at + 1]

    def _check_conditions(
        self, sample: Ints, mass: Ints, before: Ints, after: Ints, logged: Ints
    ) -> None:
        """Test the conditions of release, stop and reversal."""
        f, t, events = self.f, self.trajectory.time[sample], self.history.all_events()
        force, bound = self.drive[mass, sample], f.bound[mass, 0]
        hold = self.hold[mass, 0]
        if f.may_jump:
            # at a jump of the load the event may hold its value on either side
            clear = ~np.isin(t, f.segments.time[1:])
            logged, sample, mass, t = (
                logged[clear],
                sample[clear],
                mass[clear],
                t[clear],
            )
            before, after, force = (
                before[clear],
                after[clear],
                force[clear],
            )
            bound, hold = bound[clear], hold[clear]
        # after release the drive exceeds the bound in the direction of slip, in stick it does not
        missing = np.where(after == 0, np.abs(force) - bound, bound - after * force) / hold
        self.record(missing, t, "the drive at an event")
        slip = self.trajectory.v[sample, mass] - f.belt
        begins = (t == self.history.time[0]) & (before != 0)
        self.record(np.where(begins, 0.0, np.abs(slip)) / self.speed, t, "slip at an event")
        # friction of the event on both sides: the reaction in stick, the law in slip
        law = f.kinetic[mass, 0]
        if not f.law.constant:
            law = f.friction(np.zeros((f.n, 1)))[mass, 0]
        left = np.where(before == 0, force, before * law) + events.friction_left[logged]
        right = np.where(after == 0, force, after * law) + events.friction_right[logged]
        off = np.maximum(np.abs(left), np.abs(right)) / hold
        self.record(off, t, "the friction of an event")


def _kernel_arrays(
    intervals: Intervals, samples: int
) -> tuple[Floats, Floats, npt.NDArray[np.int8], Floats, Floats]:
    """Return times, initial states, modes, an array for end states, and a work array."""
    n, s = intervals.x.shape
    start = np.empty((s, 2, n))
    start[:, 0], start[:, 1] = intervals.x.T, intervals.v.T
    time = np.stack([intervals.t0, intervals.t1], axis=1)
    modes = np.ascontiguousarray(intervals.mode.T, dtype=np.int8)
    return time, start, modes, np.empty((s, 2, n)), np.empty((samples, n + 2))
