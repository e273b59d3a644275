"""Quasistatic chain without dampers, one wall, load on the free end: the play operator.

The force in link i is the play of the load with half width F_i = sum_{j >= i} mu N_j:
it rests until the load is F_i away from it and then follows. Plays of one load compose
to plays of the load (their half widths add), so every link can be computed on its own,
from any compatible start: a stretch of monotone load costs O(n), whatever happens on it.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents
from stiction.chains.quasistatic.load_path import LoadPath, slope
from stiction.core.checkpoint import check_count, kept_array, put_back
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.ledger import Ledger
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.checks import MOST_WORK

__all__ = ["is_play", "play_history"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_TIE = 1e-12


def is_play(chain: Chain) -> bool:
    """Return whether one wall holds the chain and the load acts on its free end alone."""
    loaded = np.flatnonzero(chain.load_shares)
    end = {"left": chain.n_mass - 1, "right": 0}.get(chain.supports)
    return (
        end is not None
        and loaded.size <= 1
        and (loaded == end).all()
        and not chain.plate_springs.any()
        and not chain.link_damping.any()
        and chain.belt_speed == 0.0
    )


def play_history(chain: Chain, request: Request, path: LoadPath, most: int) -> ChainHistory:
    """Return what happens to a chain of which `is_play` is true.

    Parameters
    ----------
    chain : the chain; its start must lie in the stick set
    request : time span and saved times
    path : the load between its turns
    most : largest number of events; the run ends with WORK_LIMIT beyond it
    """
    return _Play(chain, request, path, most).run()


@dataclass(eq=False)
class _Rows:
    """Saved states; links and masses run from the wall."""

    x: Floats
    v: Floats
    tension: Floats
    mode: npt.NDArray[np.int8]
    work: Floats
    heat: Floats


class _Play:
    def __init__(self, chain: Chain, request: Request, path: LoadPath, most: int) -> None:
        self.chain, self.request, self.path, self.most = chain, request, path, most
        # masses are counted from the wall; a wall at the right mirrors the chain
        self.mirrored = chain.supports == "right"
        way = slice(None, None, -1) if self.mirrored else slice(None)
        self.way = way
        self.k = chain.link_stiffness[1:][way] if self.mirrored else chain.link_stiffness[:-1]
        self.share = float(chain.load_shares[way][-1])
        self.bound = chain.stick_bound[way]
        self.width = np.cumsum(self.bound[::-1])[::-1]
        self.tension = self.k * np.diff(chain.x_start[way], prepend=0.0)
        n, rows = chain.n_mass, request.save.size
        self.rows = _Rows(
            x=np.empty((rows, n)),
            v=np.zeros((rows, n)),
            tension=np.empty((rows, n)),
            mode=np.zeros((rows, n), np.int8),
            work=np.zeros(rows),
            heat=np.zeros((rows, n)),
        )
        self.mode = np.zeros(n, np.int8)
        self.work, self.heat = 0.0, np.zeros(n)
        self.log: list[tuple[Floats, Ints, Floats, Floats, Floats, Floats, Floats]] = []
        self.logged = 0
        self.losses: list[Loss] = []
        self.status, self.reason = Status.SOLVED, ""
        self.last_stick = request.t_start
        self.end = request.t_end

    def run(self) -> ChainHistory:
        filled = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        return self._history(filled)

    def _loop(self) -> Generator[Pause, None, int]:
        """Go from stretch to stretch, and return how many rows are filled."""
        path, save = self.path, self.request.save
        first, filled = self._resumed()
        t_end = self.request.t_end
        reached = float(path.time[-1])
        for j in range(first, path.first.size):
            begin, end = float(path.time[j]), float(path.time[j + 1])
            if not self._continues(j):
                reached = begin
                break
            stop = int(np.searchsorted(save, end, side="right"))
            self._stretch(j, slice(filled, stop))
            filled = stop
            if self.logged > self.most:
                reached = end
                break
            done = (end - self.request.t_start) / (t_end - self.request.t_start)
            pack = functools.partial(self._pack, j + 1, filled)
            yield Pause(done, f"{self.logged} events", pack)
        if self.status is Status.SOLVED and (reached < t_end or self.logged > self.most):
            self.status = Status.WORK_LIMIT
            self.reason = f"max_events = {self.most} were used up"
        if not self.status.ok:
            filled = self._close(filled, reached)
        return filled

    # ---- checkpoint

    def _pack(self, stretch: int, filled: int) -> dict[str, npt.NDArray[Any]]:
        """Return what is needed to go on with a stretch, so many saved states being filled."""
        rows = {f"seen_{name}": values[:filled] for name, values in vars(self.rows).items()}
        log = {
            f"log_{k}": np.concatenate(c, axis=-1)
            for k, c in enumerate(zip(*self.log, strict=True))
        }
        scalars = (float(stretch), float(filled), float(self.logged), self.work, self.last_stick)
        return {
            **rows,
            **log,
            "tension": self.tension,
            "modes": self.mode,
            "heat": self.heat,
            "numbers": np.array(scalars),
        }

    def _resumed(self) -> tuple[int, int]:
        """Take up a checkpoint; return the stretch to go on with, and the saved states filled."""
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return 0, 0
        first, upto, logged, *rest = kept_array(kept, "numbers", (5,)).tolist()
        self.work, self.last_stick = rest
        stretch = check_count("numbers", int(first), 0, self.path.first.size)
        filled = check_count("numbers", int(upto), 0, self.request.save.size)
        signs, n = (-1, 1), self.chain.n_mass
        kept_array(kept, "modes", (n,), "i", within=signs)
        rows = {f"seen_{name}": v[:filled] for name, v in vars(self.rows).items()}
        kept_array(kept, "seen_mode", (filled, n), "i", within=signs)
        put_back({**rows, "tension": self.tension, "modes": self.mode, "heat": self.heat}, kept)
        if logged:
            events = check_count("numbers", int(logged), 1, MOST_WORK)
            time = kept_array(kept, "log_0", (events,))
            mass = kept_array(kept, "log_1", time.shape, "i", within=(0, n))
            modes = kept_array(kept, "log_2", (2, time.size), "i", within=signs)
            x, v, left, right = (kept_array(kept, f"log_{k}", time.shape) for k in range(3, 7))
            self.log, self.logged = [(time, mass, modes, x, v, left, right)], time.size
        return stretch, filled

    def _continues(self, j: int) -> bool:
        """Whether a jump of the load into stretch j leaves every link where it is."""
        if j == 0 or self.path.first[j] == self.path.last[j - 1]:
            return True
        f = self.share * self.path.first[j]
        over = np.abs(f - self.tension) - self.width
        if (over <= _TIE * (abs(f) + self.width)).all():
            return True
        t = float(self.path.time[j])
        self.status = Status.NO_CONTINUATION
        self.reason = f"the load jumps at t = {t:.9g} s, and without dampers the chain jumps too"
        where = {"load": float(self.path.first[j]), "contact": self._number(int(np.argmax(over)))}
        self.losses.append(Loss(t, "no_continuation", where, "the run ends here"))
        return False

    def _stretch(self, j: int, rows: slice) -> None:
        path = self.path
        f0, f1 = self.share * path.first[j], self.share * path.last[j]
        way = int(np.sign(f1 - f0))
        # load at which each link starts to follow on this stretch
        onset = self.tension + way * self.width
        going = (way * (f1 - onset) > 0.0) & (way != 0)
        at_once = going & (way * (onset - f0) <= _TIE * (abs(f0) + self.width))
        onset = np.where(at_once, f0, onset)
        self._log(j, way, going, at_once, onset)
        start = self.mode == way
        self._save(j, rows, way, going, onset, start)
        pulled = np.where(going, f1 - onset, 0.0)
        self._advance(pulled, onset, f1)
        # not tension + pulled, whose rounding would add up over many turns
        self.tension = np.where(going, f1 - way * self.width, self.tension)
        self.mode = np.where(going, way, 0).astype(np.int8)

    def _advance(self, pulled: Floats, onset: Floats, f: float) -> None:
        self.work += float(np.sum(0.5 * pulled * (f + onset) / self.k))
        self.heat = self.heat + self.bound * np.abs(np.cumsum(pulled / self.k))

    def _log(
        self, j: int, way: int, going: npt.NDArray[np.bool_], at_once: Floats, onset: Floats
    ) -> None:
        begin = float(self.path.time[j])
        x = np.cumsum(self.tension / self.k)
        stops = (self.mode != 0) & (self.mode != way)
        turns = stops & at_once & going
        starts = going & (self.mode != way) & ~turns
        rate = slope(self.path.pieces, begin, left=True) if stops.any() else 0.0
        v = np.where(stops, np.cumsum((self.mode != 0) * self.share * rate / self.k), 0.0)
        friction = -self.mode * self.bound
        rest = -np.diff(self.tension, append=self.share * self.path.first[j])
        for who, after, left, right in (
            (stops & ~turns, 0, friction, rest),
            (turns, way, friction, -way * self.bound),
        ):
            i = np.flatnonzero(who)
            self._rows_of(np.full(i.size, begin), i, after, x, v, left, right)
        if (stops & ~turns).any():
            self.last_stick = begin
        i = np.flatnonzero(starts)
        time = self.path.inverse(j, onset[i] / self.share) if i.size else np.empty(0)
        time = np.where(at_once[i], begin, time)
        # link i starts before the links nearer to the wall, so x is still the old one
        mode, self.mode = self.mode, np.where(stops, 0, self.mode).astype(np.int8)
        slid = -way * self.bound
        self._rows_of(time, i, way, x, np.zeros(x.size), slid, slid)
        self.mode = mode

    def _rows_of(
        self, time: Floats, i: Ints, after: int, x: Floats, v: Floats, left: Floats, right: Floats
    ) -> None:
        if i.size == 0:
            return
        order = np.argsort(time, kind="stable")
        i = i[order]
        modes = np.stack([self.mode[i], np.full(i.size, after)])
        self.log.append((time[order], i, modes, x[i], v[i], left[i], right[i]))
        self.logged += i.size

    def _save(
        self,
        j: int,
        rows: slice,
        way: int,
        going: npt.NDArray[np.bool_],
        onset: Floats,
        follows: npt.NDArray[np.bool_],
    ) -> None:
        t = self.request.save[rows]
        if t.size == 0:
            return
        pieces, r = self.path.pieces, self.rows
        f = self.share * pieces.at(t)
        # at the very end of a stretch a user's load may already have jumped
        f[t == self.path.time[j + 1]] = self.share * self.path.last[j]
        pulled = way * np.maximum(way * (f[:, None] - onset), 0.0) * going
        moving = going & (follows | (way * (f[:, None] - onset) > 0.0))
        rate = self.share * slope(pieces, t, left=True) if way else np.zeros(t.size)
        if j == 0 and way and t[0] == self.path.time[0]:
            # at the start the rates just after it are saved
            moving[0] = going & (onset == f[0])
            rate[0] = self.share * float(slope(pieces, t[0]))
        r.tension[rows] = np.where(moving, f[:, None] - way * self.width, self.tension)
        r.x[rows] = np.cumsum(r.tension[rows] / self.k, axis=1)
        r.v[rows] = np.cumsum(moving * (rate[:, None] / self.k), axis=1)
        r.mode[rows] = way * moving
        work = 0.5 * pulled * (np.where(pulled != 0.0, f[:, None] + onset, 0.0)) / self.k
        r.work[rows] = self.work + work.sum(axis=1)
        r.heat[rows] = self.heat + self.bound * np.abs(np.cumsum(pulled / self.k, axis=1))

    def _close(self, filled: int, reached: float) -> int:
        """Save the state at which the run ends early as its last row."""
        r, row = self.rows, filled
        if filled and self.request.save[filled - 1] == reached:
            return filled
        r.tension[row], r.x[row] = self.tension, np.cumsum(self.tension / self.k)
        r.mode[row], r.work[row], r.heat[row] = self.mode, self.work, self.heat
        self.end = reached
        return filled + 1

    def _history(self, filled: int) -> ChainHistory:
        r, way = self.rows, self.way
        time = np.minimum(self.request.save[:filled], self.end)
        load = np.empty((filled, 1))
        load[:, 0] = self.share * self.path.pieces.at(time)
        tension = r.tension[:filled]
        friction = -np.diff(tension, axis=1, append=load)
        stored = np.sum(0.5 * tension**2 / self.k, axis=1)
        ledger = Ledger(
            time=time,
            kinetic=np.zeros(filled),
            stored=stored,
            external_work=r.work[:filled],
            friction_heat=r.heat[:filled][:, way],
        )
        return ChainHistory(
            time=time,
            x=r.x[:filled][:, way],
            v=r.v[:filled][:, way],
            mode=r.mode[:filled][:, way],
            friction=friction[:, way],
            events=self._events(),
            stop_time=self._stop_time(float(time[-1])),
            energy=ledger,
            stats={"stretches": int(self.path.first.size)},
            status=self.status,
            reason=self.reason,
            losses=self.losses,
        )

    def _events(self) -> RawEvents:
        if not self.log:
            none, index = np.empty(0), np.empty(0, np.int64)
            return RawEvents(none, index, index, index, none, none, none, none)
        time, mass, mode, *state = (np.concatenate(c, axis=-1) for c in zip(*self.log, strict=True))
        if self.mirrored:
            mass = self.chain.n_mass - 1 - mass
        order = np.argsort(time, kind="stable")
        before, after = mode.astype(np.int64)[:, order]
        return RawEvents(time[order], mass[order], before, after, *(s[order] for s in state))

    def _stop_time(self, t_end: float) -> float | None:
        """Return the time from which nothing moves, if no later load moves anything."""
        if self.mode.any() or not self.status.ok:
            return None
        ends = np.sort([self.share * f for f in self.chain.load.bounds_after(t_end)])
        slack = _TIE * (self.width + np.abs(self.tension))
        held = (ends[1] <= self.tension + self.width + slack) & (
            ends[0] >= self.tension - self.width - slack
        )
        return self.last_stick if bool(held.all()) else None

    def _number(self, i: int) -> int:
        return self.chain.n_mass - i if self.mirrored else i + 1
