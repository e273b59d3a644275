"""Integrate a chain without stick by Radau's collocation: one run of `step_kernels`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stiction.chains.creep import collocation_kernels as co
from stiction.chains.creep import step_kernels as sk
from stiction.chains.creep.motion import Motion
from stiction.chains.creep.state import Saved
from stiction.chains.creep.walk import PAUSE_EVERY, Walk
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.jit import quiet

if TYPE_CHECKING:
    from stiction.chains.methods import Radau

__all__ = ["March"]


class March(Walk):
    """One run.

    Parameters
    ----------
    motion : the equations
    method : tolerances and bounds
    request : when to start, stop and save
    """

    def __init__(self, motion: Motion, method: Radau, request: Request) -> None:
        super().__init__(motion, request, method.max_steps, method.max_events, co.STAGES + 1)
        n, size, law, p = motion.n, self.tables.y.size, motion.law, motion.p
        tables, count, looks = self.tables, law.n_switch, sk.LOOKS.size
        narrow, breaks = law.range_of_fall(n), motion.load.time
        sizes = sk.Sizes(
            rtol=method.rtol,
            max_step=method.max_step or math.inf,
            t_start=request.t_start,
            t_end=request.t_end,
            cycle=self.cycle,
            max_steps=self.max_steps,
            max_events=self.max_events,
            small=float(np.min(law.slip_scale(p))),
            quickest=motion.quickest,
            least=np.zeros(n) + law.least_speed(p),
            state=law.state_scale(p),
            narrow=np.zeros(0) if narrow is None else narrow,
            levels=self.level,
            breaks=breaks[(breaks > request.t_start) & (breaks < request.t_end)],
        )
        self.work = sk.Work(
            model=motion.model,
            sizes=sizes,
            y=tables.y[None],
            sides=tables.sides,
            progress=tables.progress,
            contacts=tables.contacts,
            before=tables.before,
            saved=Saved(self.time, tables.kept, tables.sums, tables.heat),
            events=np.zeros((n * PAUSE_EVERY, 6)),
            step=co.room(n),
            looks=np.zeros((looks, size)),
            force=np.zeros((looks, n)),
            heat=np.zeros((co.STAGES + 1, n)),
            plastic=np.zeros((co.STAGES + 1, n)),
            powers=np.zeros((co.STAGES + 1, 2)),
            roots=np.zeros((n, count)),
            switch=np.zeros(count),
            point=np.zeros((1, size)),
            weight=np.zeros((2, co.STAGES + 1)),
            total=np.zeros(n),
        )

    def _advance(self) -> None:
        """Make steps up to the next pause."""
        now, events = self.now, self.tables.events
        with quiet():
            failed = sk.advance(self.work, PAUSE_EVERY, len(events))
        self.motion.load_call.check()
        events.add(self.work.events[: now.events - len(events)])
        if failed == sk.STUCK:
            self._end(Status.NO_CONTINUATION, "steps became shorter than time can tell")
        elif failed == sk.NOT_FINITE:
            self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
