"""The method of the puck: it integrates the slide and finds the stop."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from stiction.core.fields import Positive
from stiction.core.method import Method
from stiction.errors import Status
from stiction_puck.model import Puck

__all__ = ["Sliding"]


@dataclass(frozen=True, eq=False, repr=False)
class Sliding(Method):
    """Runge-Kutta of order 8 from saved time to saved time; the puck rests after its stop."""

    solves: ClassVar[tuple[type, ...]] = (Puck,)

    rtol: Annotated[float, Positive("1", "it is the error of a step over each state.")] = 1e-12

    def solve(self, system, request):
        """Return the run of `system`."""
        from scipy.integrate import solve_ivp

        from stiction.core.audit import Check
        from stiction.core.events import EventLog
        from stiction.core.ledger import Ledger
        from stiction.core.run import Quantity, Run, Variable

        def rates(t, y):
            brake = float(system.law.coefficient(y[1])) * system.gravity
            return y[1], -brake, system.mass * brake * y[1]

        def stops(t, y):
            return y[1]

        stops.terminal, stops.direction = True, -1.0
        time, start = np.asarray(request.save), (0.0, system.speed, 0.0)
        options = {"rtol": max(self.rtol, 1e-12), "atol": 1e-13, "dense_output": True}
        span = (request.t_start, request.t_end)
        slide = solve_ivp(rates, span, start, "DOP853", events=stops, **options)
        end = slide.t[-1]
        x, v, heat = np.where(time < end, slide.sol(np.minimum(time, end)), slide.y[:, -1:])
        stopped = slide.t_events[0]
        v = np.where((time >= end) & bool(stopped.size), 0.0, v)
        still = np.zeros_like(time)
        energy = Ledger(
            time=time,
            kinetic=0.5 * system.mass * v**2,
            stored=still,
            external_work=still,
            friction_heat=heat[:, None],
        )
        each, events, off = ("time",), stopped.size, energy.imbalance_rel
        stop = Quantity(float(end), "s", "when the puck stops")
        return Run.of(
            system,
            self,
            time=time,
            status=Status.SOLVED,
            reason="",
            variables={
                "x": Variable(x, each, "m", "distance on the ice"),
                "v": Variable(v, each, "m/s", "velocity"),
            },
            final={"x": x[-1:], "v": v[-1:]},
            event_log=EventLog(
                time=stopped,
                contact=np.ones(events, dtype=np.int64),
                before=("slip+",) * events,
                after=("stick",) * events,
                kind=("stop",) * events,
            ),
            energy=energy,
            checks=(Check("ledger_closes", off <= 1e-9, off, 1e-9),),
            quantities={"stop_time": stop} if events else {},
            stats={"events": events},
            size="1 puck",
        )
