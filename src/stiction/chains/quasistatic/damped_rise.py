"""Quasistatic chain with dampers under a load that never falls: link by link.

With one wall, the load on the free end and no stress at the start,

    k_i d_i + c_i d_i' = max(0, f - F_i),    F_i = sum_{j >= i} mu N_j ,

holds for the elongation d_i of every link on its own, exactly: nothing ever turns. Where
the load is a straight line this is one exponential, and so are work and heat. O(n) per
saved state, any n.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents
from stiction.chains.quasistatic.load_path import breakpoints
from stiction.core.ledger import Ledger
from stiction.core.run import Request

__all__ = ["applies", "rise_history"]

Floats = npt.NDArray[np.float64]


def applies(chain: Chain, request: Request) -> bool:
    """Return whether the closed form holds for this chain, load and start."""
    pieces = chain.load.pieces()
    end = {"left": chain.n_mass - 1, "right": 0}.get(chain.supports)
    if (
        end is None
        or np.flatnonzero(chain.load_shares).tolist() != [end]
        or chain.plate_springs.any()
        or chain.belt_speed != 0.0
        or chain.x_start.any()
        or pieces.function is not None
        or pieces.amplitude.any()
        or not (_from_wall(chain)[1] > 0.0).all()
    ):
        return False
    cuts = breakpoints(pieces, request.t_start, request.t_end)
    f = np.sign(chain.load_shares[end]) * pieces.at(cuts)
    way = 1.0 if f[-1] >= 0.0 else -1.0
    return bool(way * f[0] >= 0.0 and (np.diff(way * f) >= 0.0).all())


def _from_wall(chain: Chain) -> tuple[Floats, Floats]:
    """Return stiffness and damping of the links, the one at the wall first."""
    if chain.supports == "left":
        return chain.link_stiffness[:-1], chain.link_damping[:-1]
    return chain.link_stiffness[:0:-1], chain.link_damping[:0:-1]


def rise_history(chain: Chain, request: Request) -> ChainHistory:
    """Return what happens to a chain for which `applies` is true.

    Source: formulas sheet of the chains paper, section 3, "with damping".
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_damped_rise_is_the_closed_form
    """
    return _Rise(chain, request).run()


class _Rise:
    """Masses and links are counted from the wall; the load pulls away from it."""

    def __init__(self, chain: Chain, request: Request) -> None:
        self.chain, self.request = chain, request
        self.order = slice(None) if chain.supports == "left" else slice(None, None, -1)
        self.k, self.c = _from_wall(chain)
        self.bound = np.asarray(chain.stick_bound[self.order])
        self.width = np.cumsum(self.bound[::-1])[::-1]
        share = float(chain.load_shares[self.order][-1])
        self.sign = -1.0 if share * float(chain.load.at(request.t_end)) < 0.0 else 1.0
        self.factor = abs(share)
        n, rows = chain.n_mass, request.save.size
        self.d, self.rate = np.zeros((rows, n)), np.zeros((rows, n))
        self.gone = np.zeros((rows, n), bool)
        self.work, self.viscous = np.zeros(rows), np.zeros(rows)
        # state of each link at the start of a piece: elongation, work and heat so far
        self.now, self.worked, self.heated = np.zeros(n), np.zeros(n), np.zeros(n)
        self.onset = np.full(n, np.inf)

    def run(self) -> ChainHistory:
        request, pieces = self.request, self.chain.load.pieces()
        cuts, filled = breakpoints(pieces, request.t_start, request.t_end), 0
        load = self.factor * np.abs(pieces.at(cuts))
        for (t0, f0), (t1, f1) in itertools.pairwise(zip(cuts, load, strict=True)):
            stop = int(np.searchsorted(request.save, t1, side="right"))
            times = np.append(request.save[filled:stop], t1)
            self._piece(times, (float(t0), float(t1)), (float(f0), float(f1)), filled)
            filled = stop
        return self._history()

    def _piece(
        self, times: Floats, span: tuple[float, float], load: tuple[float, float], row: int
    ) -> None:
        (t0, t1), (f0, f1) = span, load
        r = (f1 - f0) / (t1 - t0)
        starts = (self.width >= f0) & (self.width < f1)
        self.onset[starts] = np.minimum(self.onset, t0 + (self.width - f0) / max(r, 1e-300))[starts]
        self.onset[self.width < f0] = np.minimum(self.onset, t0)[self.width < f0]
        gone = self.onset < t1
        begin = np.where(gone, np.maximum(self.onset, t0), np.inf)
        at = f0 + r * np.where(gone, begin - t0, 0.0)
        over = np.where(gone & ~starts, f0 - self.width, 0.0)
        s = np.maximum(np.where(gone, times[:, None] - begin, 0.0), 0.0)
        # k d + c d' = over + r s: slow part a + b s, and what is left of the start
        b = np.where(gone, r / self.k, 0.0)
        a = np.where(gone, (over - self.c * b) / self.k, self.now)
        left, decay = self.now - a, self.k / self.c
        done = -np.expm1(-decay * s)
        d = self.now + b * s - left * done
        rate = b - decay * left * (1.0 - done)
        work = b * (at * s + 0.5 * r * s * s)
        work -= left * (at * done + r * (done / decay - s * (1.0 - done)))
        heat = b * b * s - 2.0 * b * left * done + 0.5 * decay * left**2 * done * (2.0 - done)
        rows = slice(row, row + times.size - 1)
        moving = times[:, None] >= self.onset
        self.d[rows], self.rate[rows] = d[:-1], np.where(moving, rate, 0.0)[:-1]
        self.gone[rows] = moving[:-1]
        self.work[rows] = (self.worked + work)[:-1].sum(axis=1)
        self.viscous[rows] = (self.heated + self.c * heat)[:-1].sum(axis=1)
        self.now, self.worked = d[-1], self.worked + work[-1]
        self.heated = self.heated + self.c * heat[-1]

    def _history(self) -> ChainHistory:
        time, order, sign = self.request.save.copy(), self.order, self.sign
        x, v = np.cumsum(self.d, axis=1), np.cumsum(self.rate, axis=1)
        carried = self.k * self.d + self.c * self.rate
        load = self.factor * np.abs(np.asarray(self.chain.load.at(time)))
        friction = -np.diff(carried, axis=1, append=load[:, None])
        ledger = Ledger(
            time=time,
            kinetic=np.zeros(time.size),
            stored=0.5 * np.sum(self.k * self.d**2, axis=1),
            external_work=self.work,
            friction_heat=(self.bound * x)[:, order],
            viscous_heat=self.viscous,
        )
        i = np.flatnonzero(self.onset < self.request.t_end)
        i = i[np.lexsort((i if self.chain.supports == "left" else -i, self.onset[i]))]
        count, slid = i.size, -sign * self.bound[i]
        mass = i if self.chain.supports == "left" else self.chain.n_mass - 1 - i
        none = np.zeros(count)
        # a load that is there at once meets masses whose friction carried less before
        return ChainHistory(
            time=time,
            x=sign * x[:, order],
            v=sign * v[:, order],
            mode=(sign * self.gone[:, order]).astype(np.int8),
            friction=sign * friction[:, order],
            events=RawEvents(
                time=self.onset[i],
                mass=mass.astype(np.int64),
                before=np.zeros(count, np.int64),
                after=np.full(count, int(sign), np.int64),
                x=none,
                v=none,
                friction_left=slid,
                friction_right=slid,
            ),
            stop_time=None if count else self._stop(),
            energy=ledger,
            stats={"links": self.chain.n_mass},
        )

    def _stop(self) -> float | None:
        ends = [self.factor * f for f in self.chain.load.bounds_after(self.request.t_end)]
        held = max(abs(f) for f in ends) <= self.width.min()
        return self.request.t_start if held else None
