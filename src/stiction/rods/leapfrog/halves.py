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
                ck.Contact.table(size),
                ck.Contact.table(size),
                mk.Sums.table(),
                np.zeros(10),
            )
            _, _, freely = hk.rates_of(self.kept.rows)
            freely[:] = self.flat.mobility(0.0)
        return self.kept

    def _start(self) -> None:
        f = self.flat
        self._settle_start()
        self.sums[0].time = self.save[0]
        state, table, touch, spare = self._tables()
        kept, forcing = self._kept(), self.forcing
        self.tally[0].last_kick = -1.0
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
        contacts, seen = self.touch.contacts, super().history()
        begun = np.flatnonzero(contacts["unreported_slip"] == ck.SLID)
        events = ik.Event.table(len(seen.events) + begun.size)
        events[: len(seen.events)] = seen.events
        for event, c in zip(events[len(seen.events) :], begun.tolist(), strict=True):
            k = contacts[c]
            event.time, event.contact, event.kind = k.onset_time, c, ik.SLIPS
            event.before, event.after, event.pressing = ck.ROLL, ck.SLIP, k.onset_force
            event.place = k.onset_place
        events = events[np.argsort(events["time"], kind="stable")]
        pressed, gave = (float(contacts[n].sum()) for n in ("normal_impulse", "friction_work"))
        excess = float(contacts["excess_impulse"].sum()) / pressed if pressed > 0.0 else 0.0
        return replace(seen, events=events, excess=excess, given=gave)

    def _accelerations(
        self, v: Floats, p: Floats, now: float, kick: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Take the forces that the last step ended with, those of contacts as the law gave them."""
        self._resist(v, p)
        self.touch.force[:] = self.touch.contacts["force"]
        return v, p

    def _observe(self, k: int, v: Floats, p: Floats) -> None:
        # velocities are those of the saved time: the whole of the last kick counts
        super()._observe(k, self.flat.v, self.flat.p)

    def _interval(self, k: int) -> Generator[Pause, None, bool]:
        left, h = int(self.counts[k]), float(self.h[k])
        state, table, touch, spare = self._tables()
        kept, forcing, log = self._kept(), self.forcing, (self.buffer, self.written)
        while left > 0:
            self.sums[0].time, self.tally[0].lost = self.save[k + 1] - left * h, -1
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
                    self._note_extremes(0.0, float(self.sums[0].time))
                    far = limit > 0.0 and mk.moved(self.flat.r, self.built, limit)
                    lost = limit > 0.0 and self.tally[0].lost == -2
                    code = mk.SEARCH if far or lost else mk.DONE
            if code == mk.SEARCH:
                self._search()
                state, table, touch, spare = self._tables()
            elif code in self.reasons:
                self._stop(code, int(self.tally[0].lost), float(self.sums[0].time))
                return False
            if self._too_many_events(k):
                return False
            yield self._within(k, 1.0 - left / int(self.counts[k]))
        self.v_old[:], self.p_old[:] = self.flat.v, self.flat.p
        self._forget_kick()
        return True


def run_leapfrog(system: RodSystem, method: RollingLeapfrog, request: Request) -> Run:
    """Return the run of `system`."""
    from stiction.rods.outcome import build_run

    rods = system.assembled()
    march = (HalvesMarcher if changes_modes(rods) else Marcher)(rods, method, request)
    march.go()
    return build_run(system, rods, method, march.history())
