"""Goes through an event-driven run again and says how far it is from what the run tells.

Each stretch in which nobody changes mode is integrated from the state the method kept at its
start, by another algorithm, and compared at its end; the inclusion is looked at in both. Then
the log of events and the saved rows are held against the same states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.replay import linear, smooth
from stiction.chains.replay.forces import Forces, Stretches
from stiction.chains.replay.trail import Trail
from stiction.results.audit import Check

if TYPE_CHECKING:
    from stiction.chains.outcome import ChainHistory

__all__ = ["MOST_MASSES", "replay_check", "spacing"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# a run of more masses is replayed on request only
MOST_MASSES = 50
# longest way between states, in units of the fastest rate: what both algorithms take at once
_FAR, _NEAR = 4.0, 0.5
_LIMIT = 1e-8
_EPS = float(np.finfo(np.float64).eps)
# a stretch that disagrees is cut finer up to this many times before it counts
_CUTS = 6
_MOST_ROWS = 64
# calls of a user's function from Python, for each expansion of the method in a series
_CALLS = 12


def spacing(chain: Chain) -> float:
    """Return how near to each other a replay needs states, in units of the fastest rate."""
    return _FAR if chain.law.constant and chain.load.pieces().function is None else _NEAR


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
    second.look_at_rows()
    value, time, what = second.worst
    note = (
        f"{second.share:.0%} of the time integrated again by other means, and the conditions of "
        "stick, slip and each event; difference in shares of the largest speed, place or bound"
    )
    if value > second.limit:
        note = f"{what}; {note}"
    return Check("replay_agrees", bool(value <= second.limit), value, second.limit, time, note)


class _Replay:
    """One replay: the model, what is compared, and the worst that was met."""

    def __init__(self, chain: Chain, history: ChainHistory, trail: Trail, rtol: float) -> None:
        self.history, self.trail, self.n = history, trail, chain.n_mass
        self.f = f = Forces(chain)
        own_load, own_law = f.pieces.function is not None, not (f.law.constant or f.law.convex)
        self.fitted = own_load or own_law
        # what is fitted to rtol cannot agree better
        self.limit = max(_LIMIT, 10.0 * rtol) if self.fitted else _LIMIT
        # calls of a user's function that one step of the smooth method takes
        self.calls = 11 * (own_load + own_law * self.n)
        self.speed = float(np.max(np.abs(trail.v - f.belt), initial=0.0))
        self.speed = max(self.speed, abs(f.belt)) or 1.0
        self.place = float(np.max(np.abs(trail.x), initial=0.0)) + self.speed / (f.rate or 1.0)
        self.worst: tuple[float, float | None, str] = (0.0, None, "")
        self.share = 1.0
        self._size_up()

    def _size_up(self) -> None:
        """Find the size of the terms that forces are made of: their rounding is no disagreement."""
        f, trail = self.f, self.trail
        k, c = f.link_k, f.link_c
        late = float(np.max(np.abs(trail.time), initial=0.0))
        ends = np.array([trail.time[0], trail.time[-1]]) if trail.time.size else np.zeros(1)
        p = f.pieces
        load = float(np.abs(f.straight(ends, f.piece_at(ends))).max() + np.abs(p.amplitude).sum())
        load = max(load, float(np.abs(p.offset[(p.time >= ends[0]) & (p.time <= ends[-1])]).max(initial=0.0)))  # fmt: skip
        force = 2.0 * np.maximum(k[1:], k[:-1]) * self.place
        force += 2.0 * np.maximum(c[1:], c[:-1]) * self.speed
        force += f.plate_k * (self.place + abs(f.plate_speed) * late)
        force += np.abs(f.share) * load + f.bound
        self.rounding = 16.0 * _EPS * force
        self.late = 4.0 * _EPS * late
        self.push = force / f.mass
        # a bound of zero is compared with the forces there are
        self.hold = np.where(f.bound > 0.0, f.bound, max(float(f.bound.max()), 1e-3 * float(force.max())))  # fmt: skip

    def note(self, value: Floats, time: Floats, what: str) -> None:
        """Take values (..., s) at times (s,), as shares of what they may be."""
        if value.size == 0:
            return
        worst = value.max(axis=0) if value.ndim > 1 else value
        at = int(np.argmax(worst))
        # a NaN is the worst of all
        size = float(worst[at]) if np.isfinite(worst).all() else 1e300
        if size > self.worst[0]:
            self.worst = size, float(time[at]), what

    # ---- from state to state

    def go_through(self) -> None:
        """Integrate every stretch again, and look at the inclusion at both ends."""
        trail = self.trail
        k = np.flatnonzero(trail.follows[1:]) if trail.time.size > 1 else np.empty(0, np.int64)
        asked = self.history.time[-1] - self.history.time[0]
        every = Stretches(
            (trail.time[k], trail.time[k + 1]),
            (trail.x[k].T.copy(), trail.v[k].T.copy()),
            (trail.x[k + 1].T.copy(), trail.v[k + 1].T.copy()),
            trail.mode[k].T.copy(),
            self.f.piece_at(trail.time[k]),
        )
        self._inclusion(every)
        length = every.t1 - every.t0
        goes = (length > 0.0) & every.mode.any(axis=0)
        self._resting(every.part(~goes))
        columns = self._sampled(np.flatnonzero(goes), float(self.history.stats["expansions"]))
        left_out = float(length[goes].sum() - length[columns].sum())
        self.share = max(0.0, float(length.sum()) - left_out) / asked if asked > 0.0 else 1.0
        self._integrate(every.part(columns), "the motion between two states")

    def _sampled(self, columns: Ints, expansions: float) -> Ints:
        """Return evenly spread columns, so few that a user's functions are not called too often."""
        if self.calls == 0:
            return columns
        most = max(16, int(_CALLS * expansions * (self.calls / 11) / self.calls))
        if columns.size <= most:
            return columns
        return columns[np.linspace(0, columns.size - 1, most).astype(np.int64)]

    def _resting(self, given: Stretches) -> None:
        """Compare stretches in which no mass slips, or no time passes."""
        speed, span = given.v1 - given.v0, given.t1 - given.t0
        place = given.x1 - given.x0 - given.v0 * span
        self._differ(given, place, speed, "a state of rest")

    def _integrate(self, given: Stretches, what: str) -> None:
        """Integrate stretches and compare their ends; finer where they do not agree."""
        if given.t0.size == 0:
            return
        f = self.f
        if f.law.constant and f.pieces.function is None:
            x, v = linear.ends(f, given)
            self._differ(given, given.x1 - x, given.v1 - v, what)
            return
        rate = f.rate
        if not f.law.constant:
            slip = given.mode * (given.v0 - f.belt)
            rate += float(np.max(f.steepness(slip), initial=0.0)) if f.law.convex else 0.0
        parts = np.ceil((given.t1 - given.t0) * rate / _NEAR).clip(1, 64)
        cut = int(np.ceil(np.percentile(parts, 90)))
        for few in (True, False):
            group = given.part(parts <= cut if few else parts > cut)
            if group.t0.size:
                self._refined(group, cut if few else int(parts.max()), what)

    def _refined(self, given: Stretches, parts: int, what: str) -> None:
        before = np.full(given.t0.size, np.inf)
        for again in range(_CUTS + 1):
            x, v = smooth.ends(self.f, given, parts << again)
            off = self._off(given, given.x1 - x, given.v1 - v)
            with np.errstate(invalid="ignore"):
                # a difference that a finer step does not change is one of the run
                rough = (off > 0.1 * self.limit) & ~(np.abs(off - before) < 0.01 * off)
            if again == _CUTS:
                rough[:] = False
            self.note(off[~rough], given.t1[~rough], what)
            if not rough.any():
                return
            given, before = given.part(rough), off[rough]

    def _differ(self, given: Stretches, place: Floats, speed: Floats, what: str) -> None:
        self.note(self._off(given, place, speed), given.t1, what)

    def _off(self, given: Stretches, place: Floats, speed: Floats) -> Floats:
        """Return (s,) differences in shares of the largest place and speed, rounding aside."""
        span = np.minimum(given.t1 - given.t0, 4.0 / (self.f.rate or 1.0))
        loose = float(self.push.max()) * (16.0 * _EPS * span + self.late)
        fast = np.abs(speed).max(axis=0) / (self.speed + loose / self.limit)
        loose = 16.0 * _EPS * self.place + span * loose + self.late * self.speed
        far = np.abs(place).max(axis=0) / (self.place + loose / self.limit)
        return np.maximum(fast, far)

    def _inclusion(self, given: Stretches) -> None:
        """Look at stick within its bound and slip along its mode, at both ends."""
        f, stuck = self.f, given.mode == 0
        hold = self.hold + self.rounding / self.limit
        ends = ((given.t0, given.x0, given.v0), (given.t1, given.x1, given.v1))
        for t, x, v in ends:
            drive = f.drive(x, v, t, f.load(t, given.piece))
            excess = np.where(stuck, (np.abs(drive) - f.bound) / hold, 0.0)
            self.note(excess, t, "friction of a stuck mass above its bound")
            slip = v - f.belt
            wrong = np.where(stuck, np.abs(slip), -given.mode * slip) / self.speed
            self.note(wrong, t, "slip against the mode")

    # ---- events

    def look_at_events(self) -> None:
        """Hold the log against the states: each event is there, and its condition holds."""
        trail, f, events = self.trail, self.f, self.history.events
        first = np.sign(trail.v[:1] - f.belt).astype(np.int8)
        mode = np.concatenate([first, trail.mode])
        follows = trail.follows.copy()
        follows[:1] = True
        row, mass = np.nonzero((mode[1:] != mode[:-1]) & follows[:, None])
        time, before, after = trail.time[row], mode[row, mass], mode[row + 1, mass]
        told = self._told(events.time)
        seen = (events.time[told], events.mass[told], events.before[told], events.after[told])
        if seen[0].size != time.size:
            at = self._first_difference(seen[0], time)
            self.note(np.ones(1), at, "an event in the log, or in the motion, but not in both")
            return
        same = (seen[1] == mass) & (seen[2] == before) & (seen[3] == after)
        self.note(np.where(same, 0.0, 1.0), time, "an event of another mass or kind")
        late = np.abs(seen[0] - time) * (f.rate or 1.0)
        self.note(late, time, "the time of an event")
        for found, size, what in (
            (events.x[told] - trail.x[row, mass], self.place, "the place of an event"),
            (events.v[told] - trail.v[row, mass], self.speed, "the speed of an event"),
        ):
            self.note(np.abs(found) / size, time, what)
        self._conditions(row, mass, before, after)

    def _told(self, time: Floats) -> npt.NDArray[np.bool_]:
        """Return which events of the log lie where states were kept."""
        trail = self.trail
        if trail.follows[1:].all():
            return np.ones(time.size, np.bool_)
        k = np.searchsorted(trail.time, time, side="right") - 1
        at = np.minimum(k + 1, trail.time.size - 1)
        first = np.searchsorted(trail.time, time, side="left")
        begins = (first < trail.time.size) & (trail.time[first.clip(max=at)] == time)
        begins &= ~trail.follows[first.clip(max=trail.time.size - 1)] & (first > 0)
        return np.asarray((k >= 0) & trail.follows[at] & ~begins)

    def _first_difference(self, one: Floats, two: Floats) -> Floats:
        size = min(one.size, two.size)
        off = np.flatnonzero(one[:size] != two[:size])
        at = int(off[0]) if off.size else size
        longer = one if one.size > two.size else two
        return longer[min(at, longer.size - 1)][None]

    def _conditions(self, row: Ints, mass: Ints, before: Ints, after: Ints) -> None:
        """Look at what must hold where a mass lets go, stops or turns round."""
        if row.size == 0:
            return
        f, trail = self.f, self.trail
        t, x, v = trail.time[row], trail.x[row].T, trail.v[row].T
        drive = f.drive(x, v, t, f.load(t, f.piece_at(t)))
        own = np.arange(row.size)
        force, bound = drive[mass, own], f.bound[mass, 0]
        hold = self.hold[mass, 0] + self.rounding[mass, 0] / self.limit
        # the drive is past the bound on the side to which the mass goes, or within it
        missing = np.where(after == 0, np.abs(force) - bound, bound - after * force) / hold
        self.note(missing, t, "the drive at an event")
        rests = np.abs(v[mass, own] - f.belt) / self.speed
        self.note(rests, t, "slip at an event")
        # friction as the log tells it: what held before, and what holds from there
        events = self.history.events
        told = self._told(events.time)
        for mode, name in ((before, "friction_left"), (after, "friction_right")):
            law = np.broadcast_to(f.friction(np.zeros_like(v)), v.shape)[mass, own]
            right = np.where(mode == 0, -force, -mode * law)
            off = np.abs(getattr(events, name)[told] - right) / hold
            self.note(off, t, "the friction of an event")

    # ---- saved rows

    def look_at_rows(self) -> None:
        """Hold saved rows against the states before them, and their friction against the law."""
        trail, h, f = self.trail, self.history, self.f
        if trail.time.size < 2:
            return
        k = np.searchsorted(trail.time, h.time, side="right") - 1
        after = np.minimum(k + 1, trail.time.size - 1)
        known = (k >= 0) & ((k == trail.time.size - 1) | trail.follows[after])
        known &= h.time <= trail.time[-1]
        rows = np.flatnonzero(known)
        t, k, mode = h.time[rows], k[rows], h.mode[rows].T
        same = (mode == trail.mode[k].T).all(axis=0)
        self.note(np.where(same, 0.0, 1.0), t, "the mode of a saved row")
        x, v = h.x[rows].T, h.v[rows].T
        drive = f.drive(x, v, t, f.load(t, f.piece_at(trail.time[k])))
        law = -mode * f.friction(mode * (v - f.belt))
        right = np.where(mode == 0, -drive, law)
        hold = self.hold + self.rounding / self.limit
        self.note(np.abs(h.friction[rows].T - right) / hold, t, "the friction of a saved row")
        some = self._rows(rows.size)
        k, some_of = k[some], rows[some]
        given = Stretches(
            (trail.time[k], h.time[some_of]),
            (trail.x[k].T.copy(), trail.v[k].T.copy()),
            (h.x[some_of].T.copy(), h.v[some_of].T.copy()),
            trail.mode[k].T.copy(),
            f.piece_at(trail.time[k]),
        )
        goes = (given.t1 > given.t0) & given.mode.any(axis=0)
        self._resting(given.part(~goes))
        self._integrate(given.part(goes), "a saved row")

    def _rows(self, size: int) -> Ints:
        most = 4 if self.fitted else _MOST_ROWS
        if size <= most:
            return np.arange(size)
        return np.linspace(0, size - 1, most).astype(np.int64)
