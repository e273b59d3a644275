"""Run steps of two half kicks, for contacts that may slip or open; see `halves_kernels`."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.driver import Pause
from stiction.core.run import Request, Run
from stiction.rods.contact import kernels as ck
from stiction.rods.contact import touch_kernels as tk
from stiction.rods.contact.overlap import refuse_overlap
from stiction.rods.leapfrog import halves_kernels as hk
from stiction.rods.leapfrog import impact_kernels as ik
from stiction.rods.leapfrog import march_kernels as mk
from stiction.rods.leapfrog import turn_kernels as uk
from stiction.rods.leapfrog.history import RodHistory
from stiction.rods.leapfrog.run import Marcher
from stiction.rods.leapfrog.steps import changes_modes
from stiction.rods.model import RodSystem

if TYPE_CHECKING:
    from stiction.rods.methods import RollingLeapfrog

__all__ = ["HalvesMarcher", "run_leapfrog"]

Floats = npt.NDArray[np.float64]

# slip below this part of the largest velocity at the start is none
_STILL = 1e-12


class HalvesMarcher(Marcher):
    """A run whose steps begin and end with velocities at the same time as positions."""

    def _kept(self) -> hk.Kept:
        if not hasattr(self, "kept"):
            slots, size = self.flat.r.shape[1], self.touch.size
            self.kept = hk.Kept(
                np.zeros((hk.KEPT_ROWS, slots)),
                np.zeros((size, ck.KICK_COLUMNS)),
                np.zeros((size, ck.KICK_COLUMNS)),
                np.zeros((size, 2)),
                np.zeros((size, ck.INDEX_COLUMNS), dtype=np.int64),
                np.zeros(len(self.sums) + 1),
                np.zeros(10),
            )
            self.kept.rows[hk.FREELY : hk.KEPT_ROWS] = self.flat.mobility(0.0)
        return self.kept

    def _start(self) -> None:
        f = self.flat
        self._settle_start()
        self.clock[mk.NOW] = self.save[0]
        state, table, touch, spare = self._tables()
        kept, forcing = self._kept(), self.forcing
        self.worst[tk.LAST_KICK] = -1.0
        still = _STILL * max(float(np.abs(f.v).max()), 1e-300)
        log = (self.buffer, self.written)
        uk.begin(state, table, forcing, touch, spare, kept, still, *log)
        self._keep_events()
        self.v_old[:], self.p_old[:] = f.v, f.p
        self._observe(0, f.v.copy(), f.p.copy())
        self._note_extremes(0.0, float(self.save[0]))
        refuse_overlap(self.overlap, f.rods)

    def history(self) -> RodHistory:
        """Return what was seen, slips in the order in which they began."""
        kick, rows = self.touch.kick, []
        for c in np.flatnonzero(kick[:, ck.UNTOLD] == ck.SLID):
            at = kick[c, [ck.ONSET_S, ck.ONSET_S + 1, ck.ONSET_PRESS]]
            rows.append([kick[c, ck.ONSET], c, ck.ROLL, ck.SLIP, ik.SLIPS, *at, 0.0])
        seen = super().history()
        events = np.vstack([seen.events, np.array(rows).reshape(-1, ik.EVENT_COLUMNS)])
        events = events[np.argsort(events[:, ik.TIME], kind="stable")]
        pressed, gave = float(kick[:, ck.PRESSED].sum()), float(kick[:, ck.GAVE].sum())
        excess = float(kick[:, ck.EXCESS].sum()) / pressed if pressed > 0.0 else 0.0
        return replace(seen, events=events, excess=excess, given=gave)

    def _accelerations(
        self, v: Floats, p: Floats, now: float, kick: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Take the forces that the last step ended with, those of contacts as the law gave them."""
        self._resist(v, p)
        self.touch.force[:] = self.touch.kick[:, ck.FORCE_C : ck.FORCE_C + 3]
        return v, p

    def _observe(self, k: int, v: Floats, p: Floats) -> None:
        # velocities are those of the saved time: the whole of the last kick counts
        super()._observe(k, self.flat.v, self.flat.p)

    def _interval(self, k: int) -> Generator[Pause, None, bool]:
        left, h = int(self.counts[k]), float(self.h[k])
        state, table, touch, spare = self._tables()
        kept, forcing, log = self._kept(), self.forcing, (self.buffer, self.written)
        while left > 0:
            self.clock[mk.NOW], self.todo[mk.LOST] = self.save[k + 1] - left * h, -1
            steps = min(left, self.most_steps)
            whole, limit = (h if self.method.shake else 0.0), self.touch.limit
            code, done = hk.march_halves(
                state, table, forcing, touch, spare, kept, whole, h, steps, limit
            )
            self.now.steps += int(done)
            left -= int(done)
            if code in (mk.STRUCK, mk.CHANGED):
                step = self.now.steps
                code = uk.turn(
                    state, table, forcing, touch, spare, kept, whole, h, code, step, *log
                )
                self._keep_events()
                if code == ck.INSIDE:
                    self.now.steps += 1
                    left -= 1
                    self._note_extremes(0.0, float(self.clock[mk.NOW]))
                    far = limit > 0.0 and mk.moved(self.flat.r, self.built, limit)
                    lost = limit > 0.0 and self.todo[mk.LOST] == -2
                    code = mk.SEARCH if far or lost else mk.DONE
            if code == mk.SEARCH:
                self._search()
                state, table, touch, spare = self._tables()
            elif code in self.reasons:
                self._stop(code, int(self.todo[mk.LOST]), float(self.clock[mk.NOW]))
                return False
            if self._too_many_events(k):
                return False
            yield self._within(k, 1.0 - left / int(self.counts[k]))
        self.v_old[:], self.p_old[:] = self.flat.v, self.flat.p
        self.sums[:, mk.LATEST] = 0.0
        return True


def run_leapfrog(system: RodSystem, method: RollingLeapfrog, request: Request) -> Run:
    """Return the run of `system`."""
    from stiction.rods.outcome import build_run

    rods = system.assembled()
    march = (HalvesMarcher if changes_modes(rods) else Marcher)(rods, method, request)
    march.go()
    return build_run(system, rods, method, march.history())
