"""One trajectory in Python's hands: place it somewhere, let kernels carry it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import mode
from stiction.switching.flow import advance as loop
from stiction.switching.flow import records as r
from stiction.switching.flow import saving
from stiction.switching.flow.events import NEXT_TO_TWO_FOLD
from stiction.switching.flow.intersections.directions import directions_here
from stiction.switching.flow.placing import fold_gap, put, survey
from stiction.switching.flow.state import EXTRA, LATER, PLUS, TOLD, Y
from stiction.switching.flow.surfaces import Landing, landing
from stiction.switching.model import SwitchingSystem

__all__ = ["Tolerance", "Trajectory"]

Floats = npt.NDArray[np.float64]

_LINE = 1e-10
# steps after which a plain run says how far it is: about a tenth of a second
_PLAIN_SLICE = 20


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


class Survey(NamedTuple):
    """What is at a state.

    finite : whether all numbers are
    h, gradient : (m,) and (m, n) the switching functions and their gradients
    near : (m,) whether the state counts as on each surface
    field : (n,) x' for all signs +1
    """

    finite: bool
    h: Floats
    gradient: Floats
    near: npt.NDArray[np.bool_]
    field: Floats


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
        self.system, self.compiled, self.tolerance = system, system.compiled, tolerance
        self.flow = r.Flow(self.compiled, tolerance.array(), save, events, energies=energies)
        if backward:
            self.flow.progress.direction = -1.0

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

    def place(
        self, t: float, x: Floats, sides: Sequence[float] | Floats, *, branch: int = 0
    ) -> None:
        """Put the trajectory at (t, x) with the given signs; 0 means sliding there.

        Parameters
        ----------
        branch : sign of the determinant of the sliding vector that is meant where two surfaces
            meet and it was told that there are others; 0 takes the one that is admissible
        """
        flow = self.flow
        flow.progress.reported_open = int(branch != 0)
        if branch:
            flow.progress.branch = branch
        flow.y[: self.compiled.n] = x
        flow.sides[:] = sides
        put(flow.work, flow.functions, float(t))

    def survey(self, x: Floats) -> Survey:
        """Return what is at `x`, which becomes the present state."""
        flow, c = self.flow, self.compiled
        flow.y[: c.n] = x
        good, a = bool(survey(flow.work, flow.functions)), flow.rows
        steep = a[LATER, : c.m * c.n].reshape(c.m, c.n).copy()
        return Survey(
            good,
            a[EXTRA, : c.m].copy(),
            steep,
            flow.functions["near"][: c.m] != 0,
            a[PLUS, : c.n].copy(),
        )

    def at_two_fold(self, i: int, share: float = 1e-10) -> bool:
        """Return whether the state stands at a two-fold of surface i: L+ = L- = 0."""
        flow = self.flow
        return bool(fold_gap(flow.work, i) <= share)

    def directions(self, i: int, j: int) -> int:
        """Return the directions on from the present state, where surfaces i and j meet, as bits."""
        return int(directions_here(self.flow.work, i, j, -1))

    def crossroads(self) -> tuple[int, int, int]:
        """Return the surfaces at which a choice waits, and the exit directions, as bits."""
        now = self.flow.progress
        return int(now.which), int(now.other), int(now.open_paths)

    def margin_beside(self) -> float:
        """Return how far two surfaces meet from a choice that waits, over the error; inf at it."""
        now = self.flow.progress
        margin, now.margin = float(now.margin), np.inf
        now.least_margin = min(now.least_margin, margin)
        return margin

    def hops_unseen(self) -> bool:
        """Return whether a state just placed hops too near to a two-fold to be seen landing."""
        flow = self.flow
        if self.compiled.m != 1 or flow.sides[0] == 0.0 or flow.progress.direction < 0.0:
            return False
        surface = flow.functions[0]
        return bool(surface.near and surface.order) and self.at_two_fold(0, NEXT_TO_TWO_FOLD)

    def multiplier(self) -> Floats:
        """Return (m,) the signs, with the multiplier where the state slides."""
        saving.signs_at(self.flow.work, Y)
        return self.flow.rows[TOLD, : self.compiled.m].copy()

    def landing(self, i: int) -> Landing:
        """Return what `surfaces.landing` says of the present state."""
        return Landing(*(bool(answer) for answer in landing(self.flow.work, i)))

    def advance(
        self, t_end: float, max_steps: int, report: Callable[[], None] = lambda: None
    ) -> int:
        """Carry on to t_end, at most `max_steps` steps; return how it ended (see `records`).

        Parameters
        ----------
        report : called between the short slices in which plain kernels go
        """
        arrays, now, left = self.flow.arrays, self.flow.progress, max_steps
        most = _PLAIN_SLICE if mode() == "plain" else max_steps
        now.continues = 0
        while left > 0:
            room = min(left, most)
            code = int(loop.advance(*arrays, float(t_end), room))
            left -= room
            now.continues = int(code == r.PAUSED)
            if code < 0:
                left += int(now.left)
                code = self._handle(code)
            elif code == r.PAUSED and left > 0:
                code = r.RUNNING
                report()
            if code != r.RUNNING:
                return code
        return r.PAUSED

    def _handle(self, code: int) -> int:
        """Handle a rare event; only where there is one are its kernels compiled."""
        from stiction.switching.flow import rare_events

        return int(rare_events.settle(code, *self.flow.arrays))

    def log(self, kind: int, surface: int, before: float, after: float) -> None:
        """Write an event at a surface (counted from 0) at the present state."""
        flow, old, new = self.flow, float(before), float(after)
        saving.log_event(flow.work, flow.records, kind, surface, old, new, old, new)
