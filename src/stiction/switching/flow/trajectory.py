"""One trajectory in Python's hands: place it somewhere, let kernels carry it on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.switching.flow import advance as loop
from stiction.switching.flow import records as r
from stiction.switching.flow import saving
from stiction.switching.flow.rates import DIRECTION
from stiction.switching.flow.surfaces import Landing, begin_mode, landing, project
from stiction.switching.model import SwitchingSystem

__all__ = ["Tolerance", "Trajectory"]

Floats = npt.NDArray[np.float64]

# a start this close to a surface, in units of |grad h| times the scale, is on it
ON_SURFACE = 1e-11
_LINE = 1e-10


class Tolerance:
    """Relative and absolute tolerance and the longest step of a trajectory.

    Parameters
    ----------
    rtol : relative tolerance of a step
    atol : absolute one in units of the scale of each state; `rtol` when None
    longest : longest step [time unit]
    """

    def __init__(self, rtol: float, atol: float | None = None, longest: float = np.inf) -> None:
        self.rtol = rtol
        self.atol = rtol if atol is None else atol
        self.longest = longest

    def array(self) -> Floats:
        """Return what kernels read: rtol, atol, distance that counts as on a line, longest."""
        return np.array([self.rtol, self.atol, max(_LINE, 0.1 * self.rtol), self.longest])


class Trajectory:
    """The arrays of one trajectory and the calls that move it."""

    def __init__(
        self,
        system: SwitchingSystem,
        tolerance: Tolerance,
        save: Floats,
        *,
        events: int = 1024,
        energies: bool = False,
        backward: bool = False,
    ) -> None:
        self.system, self.compiled = system, system.compiled
        self.flow = r.flow_arrays(self.compiled, tolerance.array(), save, events, energies=energies)
        if backward:
            self.flow.pace[DIRECTION] = -1.0

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.flow.y[self.compiled.n])

    @property
    def x(self) -> Floats:
        """(n,) the present state."""
        return self.flow.y[: self.compiled.n].copy()

    @property
    def sides(self) -> Floats:
        """(m,) the present signs, 0 on a surface the state slides on."""
        return self.flow.sides.copy()

    def place(self, t: float, x: Floats, sides: Sequence[float] | Floats) -> None:
        """Put the trajectory at (t, x) with the given signs; 0 means sliding there."""
        flow, c = self.flow, self.compiled
        flow.y[: c.n], flow.y[c.n] = x, t
        flow.sides[:] = sides
        flow.order[:] = 0
        flow.clock[:] = 0.0
        flow.clock[r.LAST_EVENT] = t
        flow.count[r.SHRINKS] = flow.count[r.SAME_TIME] = 0
        values = self.system.surfaces_at(x)
        near = self.on_surface(x)
        for i in range(c.m):
            if flow.sides[i] == 0.0:
                project(flow, i)
            elif near[i] or values[i] * flow.sides[i] <= 0.0:
                project(flow, i)
                flow.order[i] = 2 if landing(flow, i).fold else 1
        self._set_kinks()
        begin_mode(flow)

    def _set_kinks(self) -> None:
        flow, c = self.flow, self.compiled
        if not c.k:
            return
        x = self.x
        now = self.system.kinks_at(x)
        signs = np.where(flow.sides == 0.0, 1.0, flow.sides)
        rate = self.system.field(x, signs)
        ahead = 1e-7 * float(np.min(c.scale)) / max(float(np.max(np.abs(rate))), 1e-300)
        later = self.system.kinks_at(x + flow.pace[DIRECTION] * ahead * rate)
        size = 1e-13 * max(1.0, float(np.max(np.abs(x))))
        flow.kinks[:] = np.where(np.where(np.abs(now) > size, now, later) >= 0.0, 1.0, -1.0)

    def on_surface(self, x: Floats) -> npt.NDArray[np.bool_]:
        """Return (m,) whether `x` counts as on each surface."""
        reach = np.abs(self.system.gradient(x)) @ np.maximum(np.abs(x), self.compiled.scale)
        return np.asarray(np.abs(self.system.surfaces_at(x)) <= ON_SURFACE * reach)

    def multiplier(self) -> Floats:
        """Return (m,) the signs, with the multiplier where the state slides."""
        out = np.empty(self.compiled.m)
        saving.signs_at(self.flow, self.flow.y[: self.compiled.n], out)
        return out

    def landing(self, i: int) -> Landing:
        """Return what `surfaces.landing` says of the present state."""
        return Landing(*(bool(answer) for answer in landing(self.flow, i)))

    def advance(self, t_end: float, max_steps: int) -> int:
        """Carry on to t_end, at most `max_steps` steps; return how it ended (see `records`)."""
        return int(loop.advance(self.flow, t_end, max_steps))

    def log(self, kind: int, surface: int, before: float, after: float) -> None:
        """Write an event at a surface (counted from 0) at the present state."""
        saving.log_event(self.flow, kind, surface, before, after, before, after)
