"""Exact quasistatic solution of a chain with one wall and an end load, by play operators.

The force of link i, k_i d_i + c_i d_i' = s_i for the elongation d_i, is the play operator of the
load with half width F_i = sum_{j >= i} mu N_j: s_i is constant while |f - s_i| < F_i and otherwise
follows the load f (formulas sheet, section 3). The composition of plays of one load is a play whose
half width is the sum, so every link is independent of the others. An interval of monotone load
costs O(n), whatever the number of events.

Without dampers this is exact from any start in the stick set and for every history without jumps.
With a damper on every link it is exact without reversals: under a load that never decreases, from
an unstressed chain. A chain whose load jumps is left to `stepper`. `quasistatic.run` calls
`is_play` and `play_history`.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory
from stiction.chains.quasistatic.checkpoint import (
    numbers_of,
    pack_recorder,
    unpack_recorder,
)
from stiction.chains.quasistatic.load_path import LoadPath, breakpoints, jumps_at, slope
from stiction.chains.quasistatic.slip_frame import Frame, Recorder
from stiction.core.checkpoint import check_count, saved_array
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import Status

__all__ = ["is_play", "play_history"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# forces that differ by this fraction are equal: sums of forces have a rounding error below it
_ROUNDING = 1e-12


def is_play(chain: Chain, request: Request) -> bool:
    """Return whether the force of every link is the play operator applied to the load."""
    # one wall, the load on the other end, no belt and no plate
    loaded = np.flatnonzero(chain.load_weights)
    end = {"left": chain.n_mass - 1, "right": 0}.get(chain.supports)
    if (
        end is None
        or not (loaded == end).all()
        or chain.plate_springs.any()
        or chain.belt_speed != 0.0
    ):
        return False
    # no jumps of the load
    segments = chain.load.segments()
    points = breakpoints(segments, request.t_start, request.t_end)
    f = segments.at(points)
    size = float(np.max(np.abs(f)) + np.max(chain.stick_bound))
    if any(jumps_at(segments, float(t), size) for t in points[1:]):
        return False
    # with dampers only for a linear load whose size never decreases, from an unstressed chain
    damping = chain.link_damping[:-1] if chain.supports == "left" else chain.link_damping[1:]
    if not damping.any():
        return True
    if not damping.all() or chain.x_start.any() or segments.function or segments.amplitude.any():
        return False
    f = f if f[-1] >= 0.0 else -f
    return bool(f[0] >= 0.0 and (np.diff(f) >= 0.0).all())


def play_history(chain: Chain, request: Request, path: LoadPath, most: int) -> ChainHistory:
    """Return the history of a chain for which `is_play` is true.

    Parameters
    ----------
    chain : the chain; without dampers its start must lie in the stick set
    request : time span and saved times
    path : the load on monotone intervals
    most : largest number of events; the run ends with WORK_LIMIT beyond it

    Source: formulas sheet of the chains paper, section 3.
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_sweeping_equals_play
    """
    return _Play(chain, request, path, most).run()


@dataclass(frozen=True, eq=False)
class _LoadInterval:
    """An interval of monotone load; masses and links are counted from the wall.

    Parameters
    ----------
    j : its index in the path
    direction : of the change of link forces: -1, 0, 1
    f0, f1 : force on the end mass at the start and at the end of the interval [N]
    going : (n,) links whose force follows the load in some part of the interval
    at_once : (n,) links whose force follows the load from the beginning
    onset, begin : (n,) load [N] and time [s] at which the force of each link begins to follow the
        load; the time is inf for a link whose force stays constant
    """

    j: int
    direction: int
    f0: float
    f1: float
    going: Flags
    at_once: Flags
    onset: Floats
    begin: Floats


class _Play:
    """Run of a chain whose link forces are plays of the load.

    k, c : (n,) stiffness [N/m] and damping [N s/m] of the links, from the wall
    d, carried : (n,) elongations d_i [m] and forces s_i [N] of the links
    width : (n,) half widths F_i of the plays [N]
    bound, mode : (n,) static bounds [N] and modes of the masses, from the wall
    order, number : slice from the wall, and indices of the masses of the chain in this order
    load_factor : weight of the load on the end mass [1]
    """

    def __init__(self, chain: Chain, request: Request, path: LoadPath, most: int) -> None:
        self.chain, self.request, self.path, self.most = chain, request, path, most
        # masses are counted from the wall; a wall at the right mirrors the chain
        left = chain.supports == "left"
        self.order = slice(None) if left else slice(None, None, -1)
        self.number = np.arange(chain.n_mass)[self.order]
        links = slice(None, -1) if left else slice(None, 0, -1)
        self.k, self.c = chain.link_stiffness[links], chain.link_damping[links]
        self.damped = bool(self.c.any())
        self.load_factor = float(chain.load_weights[self.order][-1])
        self.bound = np.asarray(chain.stick_bound[self.order])
        self.width = np.cumsum(self.bound[::-1])[::-1]
        self.d = np.diff(chain.x_start[self.order], prepend=0.0)
        # forces of links [N]
        self.carried = self.k * self.d
        self.mode = np.zeros(chain.n_mass, np.int8)
        self.recorder = Recorder(Frame(chain), request)
        self.status, self.reason = Status.SOLVED, ""
        self.last_stick = request.t_start

    def run(self) -> ChainHistory:
        """Integrate all intervals of the path, and return the history."""
        reached = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        recorder, order = self.recorder, self.order
        if not self.status.ok:
            x, still = np.cumsum(self.d)[order], np.zeros(self.d.size)
            friction = self._friction(self.carried[None], np.array([reached]))[0, order]
            recorder.last(reached, x, still, friction, self.mode[order])
        stats: dict[str, int | float] = {"load_intervals": self.path.first.size}
        stop = self._stop_time(reached)
        return recorder.history(self.status, self.reason, stop, stats, [], ())

    def _loop(self) -> Generator[Pause, None, float]:
        """Integrate the intervals one after the other; return the time reached."""
        path, request, log = self.path, self.request, self.recorder.log
        first, reached = self._resumed(), float(path.time[-1])
        for j in range(first, path.first.size):
            reached = float(path.time[j + 1])
            self._integrate_interval(self._interval(j))
            if len(log.time) > self.most:
                break
            done = (reached - request.t_start) / (request.t_end - request.t_start)
            yield Pause(done, f"{len(log.time)} events", functools.partial(self._pack, j + 1))
        if reached < request.t_end or len(log.time) > self.most:
            self.status = Status.WORK_LIMIT
            what = "events" if len(log.time) > self.most else "reversals of the load"
            self.reason = f"max_events = {self.most} {what} were used up"
        return reached

    # ---- checkpoint

    def _pack(self, interval: int) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a checkpoint before an interval."""
        return {
            **pack_recorder(self.recorder),
            "links": np.array([self.d, self.carried]),
            "modes": self.mode,
            "numbers": np.array([self.last_stick, interval]),
        }

    def _resumed(self) -> int:
        """Restore a checkpoint; return the index of the next interval."""
        saved = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if saved is None:
            return 0
        unpack_recorder(self.recorder, saved)
        n = self.chain.n_mass
        self.d, self.carried = saved_array(saved, "links", (2, n))
        self.mode = saved_array(saved, "modes", (n,), "i", within=(-1, 1))
        self.last_stick, interval = numbers_of(saved, 2)
        return check_count("numbers", int(interval), 0, self.path.first.size)

    # ---- one interval

    def _interval(self, j: int) -> _LoadInterval:
        """Return interval j: the links that follow the load in it, and the onset of each."""
        path = self.path
        f0, f1 = self.load_factor * path.first[j], self.load_factor * path.last[j]
        # a damped link continues to relax under a constant load
        direction = int(np.sign(f1 - f0)) or int(self.damped) * int(np.sign(f1))
        onset = self.carried + direction * self.width
        going = (direction * (f1 - onset) > 0.0) & (direction != 0)
        if self.damped:
            going |= self.mode != 0
        at_once = going & (direction * (onset - f0) <= _ROUNDING * (abs(f0) + self.width))
        onset = np.where(at_once, f0, onset)
        begin = np.where(at_once, path.time[j], np.inf)
        later = going & ~at_once
        if later.any():
            begin[later] = path.inverse(j, onset[later] / self.load_factor)
        return _LoadInterval(j, direction, f0, f1, going, at_once, onset, begin)

    def _integrate_interval(self, s: _LoadInterval) -> None:
        """Record events and samples of an interval, and advance to its end.

        Arrays of times have the saved times in the interval first, and last its end.
        """
        self._log(s)
        recorder, path, order = self.recorder, self.path, self.order
        end = float(path.time[s.j + 1])
        samples = slice(recorder.filled, int(np.searchsorted(recorder.time, end, side="right")))
        t = np.append(recorder.time[samples], end)
        f = self.load_factor * path.segments.at(t)
        follows = self.mode == s.direction
        moving = s.going & (follows | (s.direction * (f[:, None] - s.onset) > 0.0))
        if self.damped:
            moving = t[:, None] >= s.begin
        elif s.j == 0 and s.direction and t[0] == path.time[0]:
            # the first sample has the rates just after the start
            moving[0] = s.going & (s.onset == f[0])
        # link forces: those that follow the load differ from it by their half width
        carried = np.where(moving, f[:, None] - s.direction * self.width, self.carried)
        advance = self._relaxed if self.damped else self._followed
        d, rate, work, viscous = advance(s, t, f, carried)
        # friction heat of a mass: its bound times the slip; its slip is the sum of elongations
        heat = self.bound * np.abs(np.cumsum(d - self.d, axis=1))
        # columns of `Recorder.save`: work, viscous heat, heat of each mass of the chain
        total = recorder.so_far + np.column_stack([work, viscous, heat[:, order]])
        x, v = np.cumsum(d, axis=1), np.cumsum(rate * moving, axis=1)
        state = (x[:-1], v[:-1], self._friction(carried[:-1], t[:-1]))
        mode = (s.direction * moving[:-1, order]).astype(np.int8)
        y, w, friction = (values[:, order].T for values in state)
        # a `slip_frame.State`, of which `save` reads the last three
        recorder.save(samples, (t, t, y, w, friction), mode, total[:-1])
        recorder.so_far, recorder.filled = total[-1], samples.stop
        self.d, self.carried = d[-1], carried[-1]
        self.mode = np.where(s.going, s.direction, 0).astype(np.int8)

    def _followed(
        self, s: _LoadInterval, t: Floats, f: Floats, carried: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return elongations and their rates without dampers, work and viscous heat so far.

        At the m times t with end loads f, d_i = s_i / k_i. A link follows the load from its onset
        f_i, d_i' = f' / k_i, and the work of the load is the sum over links of

            int_{f_i}^{f} g dg / k_i = (f - f_i) (f + f_i) / (2 k_i).

        Parameters
        ----------
        s : interval of monotone load
        t, f : (m,) times [s] and forces on the end mass [N]
        carried : (m, n) forces of the links [N]

        Returns
        -------
        (m, n) elongations [m] and rates [m/s]; (m,) work and viscous heat since the start of the
        interval [J]
        """
        segments, begin, rate = self.path.segments, self.path.time[s.j], np.zeros(t.size)
        if s.direction:
            step = np.minimum(self.path.step(s.j), 0.5 * (t - begin))
            rate = self.load_factor * slope(segments, t, step, left=True)
        if s.j == 0 and s.direction and t[0] == begin:
            rate[0] = self.load_factor * float(slope(segments, begin, self.path.step(0)))
        pulled = s.direction * np.maximum(s.direction * (f[:, None] - s.onset), 0.0) * s.going
        work = 0.5 * pulled * np.where(pulled != 0.0, f[:, None] + s.onset, 0.0) / self.k
        return carried / self.k, rate[:, None] / self.k, work.sum(axis=1), np.zeros(t.size)

    def _relaxed(
        self, s: _LoadInterval, t: Floats, f: Floats, carried: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return elongations and their rates with dampers, work and viscous heat so far.

        Each link obeys k d + c d' = over + r tau, where tau is the time since its onset, r the rate
        of the load, and `over` the force of the link at the onset. The force is 0 for a link that
        begins within the interval, from an unstressed state. The solution from d_0 on is

            d = d_0 + b tau - left (1 - e^(-decay tau)),
            b = r / k,   decay = k / c,   left = d_0 - (over - c b) / k.

        The work of the load is int f d' dtau, and the viscous heat int c d'^2 dtau. Arguments and
        results are those of `_followed`.
        """
        k, c, decay = self.k, self.c, self.k / self.c
        begin = float(self.path.time[s.j])
        r = (s.f1 - s.f0) / (float(self.path.time[s.j + 1]) - begin)
        tau = np.maximum(t[:, None] - s.begin, 0.0)
        over = np.where(s.at_once, s.f0 - s.direction * self.width, 0.0)
        b = np.where(s.going, r / k, 0.0)
        left = np.where(s.going, self.d - (over - c * b) / k, 0.0)
        # 1 - e^(-decay tau), of which the integrals of f d' and d'^2 are composed
        done = -np.expm1(-decay * tau)
        work = b * (s.onset * tau + 0.5 * r * tau * tau)
        work -= left * (s.onset * done + r * (done / decay - tau * (1.0 - done)))
        heat = b * b * tau - 2.0 * b * left * done + 0.5 * decay * left**2 * done * (2.0 - done)
        d = self.d + b * tau - left * done
        rate = b - decay * left * (1.0 - done)
        return d, rate, work.sum(axis=1), (c * heat).sum(axis=1)

    def _friction(self, carried: Floats, t: Floats) -> Floats:
        """Return (m, n) friction s_i - s_{i+1} [N], masses from the wall; s_{n+1} is the load."""
        return -np.diff(
            carried, axis=1, append=self.load_factor * self.path.segments.at(t)[:, None]
        )

    # ---- events

    def _log(self, s: _LoadInterval) -> None:
        """Record the events of an interval: stops and reversals at its start, then onsets.

        A mass that slipped in another direction either stops (`halts`) or reverses (`turns`) at the
        start; a mass whose link begins to follow the load starts to slip (`starts`).
        """
        begin = float(self.path.time[s.j])
        stops = (self.mode != 0) & (self.mode != s.direction)
        turns = stops & s.at_once
        starts = s.going & (self.mode != s.direction) & ~turns
        # the links between mass i and the wall begin to change after link i, so that mass i is
        # still at its old position at its onset
        x, v = np.cumsum(self.d), np.zeros(self.d.size)
        if stops.any():
            rate = slope(self.path.segments, begin, self.path.step(s.j - 1), left=True)
            v = np.cumsum((self.mode != 0) * self.load_factor * rate / self.k)
        friction, slid = -self.mode * self.bound, -s.direction * self.bound
        stuck = self._friction(self.carried[None], np.array([begin]))[0]
        halts = stops & ~turns
        at, before = np.full(x.size, begin), self.mode
        self._record_events(halts, at, (before, 0 * before), (x, v, friction, stuck))
        self._record_events(turns, at, (before, 0 * before + s.direction), (x, v, friction, slid))
        self._record_events(
            starts, s.begin, (0 * before, 0 * before + s.direction), (x, 0.0 * v, slid, slid)
        )
        if halts.any():
            self.last_stick = begin

    def _record_events(
        self,
        who: Flags,
        time: Floats,
        modes: tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]],
        state: tuple[Floats, Floats, Floats, Floats],
    ) -> None:
        """Record one event of each mass of `who`.

        time : (n,) of the events [s]
        modes : (n,) before and after
        state : (n,) x [m], v [m/s], friction before and after [N]
        """
        i = np.flatnonzero(who)
        i = i[np.lexsort((self.number[i], time[i]))]
        columns: list[npt.NDArray[Any]] = [time, self.number, *modes, *state]
        for column, values in zip(vars(self.recorder.log).values(), columns, strict=True):
            column += values[i].tolist()

    def _stop_time(self, t_end: float) -> float | None:
        """Return the time from which all masses stick, if no later load moves any of them."""
        if self.mode.any() or not self.status.ok:
            return None
        bounds = self.chain.load.bounds_after(t_end)
        # a load without weight may be unbounded
        ends = np.sort([self.load_factor * f if self.load_factor else 0.0 for f in bounds])
        slack = _ROUNDING * (self.width + np.abs(self.carried))
        for_good = (ends[1] <= self.carried + self.width + slack) & (
            ends[0] >= self.carried - self.width - slack
        )
        return self.last_stick if bool(for_good.all()) else None
