"""Radau IIA collocation with five stages (order 9) for chains with a friction law without stick.

Such a law is single-valued at zero slip rate, so the motion solves y' = f(t, y), where y has
displacement, slip rate and contact state of each mass (`equations`). `collocation_kernels` solves
for the stages of a step, `step_kernels` controls its length; this module is the loop over the steps
of a run, which `run.solve_creep` calls.

Source: Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stiction.chains.regularised import collocation_kernels as co
from stiction.chains.regularised import step_kernels as sk
from stiction.chains.regularised.equations import Equations
from stiction.chains.regularised.integrator import PAUSE_EVERY, Integrator
from stiction.chains.regularised.state import Saved
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.jit import quiet

if TYPE_CHECKING:
    from stiction.chains.methods import Radau

__all__ = ["RadauIntegrator"]


class RadauIntegrator(Integrator):
    """Integrator of one run.

    Parameters
    ----------
    equations : of the chain and its law
    method : tolerances and bounds
    request : time span and save times
    """

    def __init__(self, equations: Equations, method: Radau, request: Request) -> None:
        super().__init__(equations, request, method.max_steps, method.max_events, co.STAGES + 1)
        n, tables, run, step = (
            equations.n,
            self.tables,
            equations.model.numbers[0],
            co.room(equations.n),
        )
        run.rtol, run.max_step = method.rtol, method.max_step or math.inf
        run.max_steps, run.max_events = method.max_steps, method.max_events
        # the state is the first row of the values of a step
        step.values[0] = tables.y
        tables.y = np.asarray(step.values)[0]
        n_fractions, n_values = sk.PROBES.size, co.STAGES + 1
        self.events = np.zeros((n * PAUSE_EVERY, 6))
        self.work = sk.Work(
            model=equations.model,
            sides=tables.sides,
            progress=tables.progress,
            contacts=tables.contacts,
            before=tables.before,
            saved=Saved(self.time, tables.kept, tables.sums, tables.heat),
            events=self.events,
            step=step,
            samples=np.zeros((n_fractions + 1, tables.y.size)),
            force=np.zeros((n_fractions, n)),
            power=np.zeros((n_values, n + 2)),
            plastic=np.zeros((n_values, n)),
            roots=np.zeros(tables.sides.shape),
            weight=np.zeros((2, n_values)),
            done=np.zeros(n + 2),
        )

    def _advance(self) -> None:
        """Make steps up to the next pause."""
        now, events = self.now, self.tables.events
        with quiet():
            failed = sk.advance(self.work, PAUSE_EVERY, len(events))
        self.equations.load_call.check()
        events.add(self.events[: now.events - len(events)])
        if failed == sk.STEP_TOO_SMALL:
            self._end(Status.NO_CONTINUATION, "steps became shorter than the rounding of time")
        elif failed == sk.NOT_FINITE:
            self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
