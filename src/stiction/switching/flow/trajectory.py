"""One trajectory of a flow: its arrays, and calls of the kernels from Python.

`Trajectory` places a state in a mode, evaluates switching functions and fields there, and
integrates. `event_driven`, `funnel`, `tangents` and `nonuniqueness` use it. L+ and L- are the Lie
derivatives of a switching function h along the fields f+ and f- of its two sides, see `rates`.
There are n states, m surfaces and k kink functions; surfaces are numbered from 0.

`Trajectory` passes the kernels four arguments, the arrays of `records.Flow`: work arrays, event
functions, tableau, and records of saved states and events.

Source: Filippov 1988; Szalai, Jeffrey 2014; for intersections see `intersections.directions`.
"""

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
from stiction.switching.flow.intersections.directions import exit_directions
from stiction.switching.flow.placement import evaluate_state, fold_gap, place_state
from stiction.switching.flow.state import EXTRA, LATER, PLUS, RECORDED, Y
from stiction.switching.flow.surfaces import Continuations, continuations_at
from stiction.switching.model import SwitchingSystem

__all__ = ["Tolerance", "Trajectory"]

Floats = npt.NDArray[np.float64]

# lower bound of the distance from the line h = g = 0 up to which a state counts as on it. It was
# chosen: well above the rounding errors of h and g, whose quotient is the direction to the line
_LINE = 1e-10
# steps between progress reports of the fallback without compiler: about a tenth of a second
_PLAIN_SLICE = 20


class Tolerance:
    """Relative and absolute tolerance and the longest step of a trajectory.

    Parameters
    ----------
    rtol : relative tolerance of a step
    atol : absolute tolerance in units of the scale of each state; `rtol` if None
    longest : longest step [time unit]
    """

    def __init__(self, rtol: float, atol: float | None = None, longest: float = np.inf) -> None:
        self.rtol = rtol
        self.atol = rtol if atol is None else atol
        self.longest = longest

    def array(self) -> Floats:
        """Return rtol, atol, distance up to which a state is on a line, longest step."""
        return np.array([self.rtol, self.atol, max(_LINE, 0.1 * self.rtol), self.longest])


class Survey(NamedTuple):
    """Switching functions and field at a state.

    finite : whether all values are finite
    h, gradient : (m,) and (m, n) the switching functions and their gradients
    near : (m,) whether the state is on each surface
    field : (n,) x' for all signs +1
    """

    finite: bool
    h: Floats
    gradient: Floats
    near: npt.NDArray[np.bool_]
    field: Floats


class Trajectory:
    """The arrays of one trajectory, and calls of its kernels.

    Parameters
    ----------
    save : (s,) times at which the state is saved
    events : number of events that can be stored before the kernels return
    energies : whether work and heat are integrated
    backward : whether time decreases
    steps : number of steps whose dense output can be recorded
    """

    def __init__(
        self,
        system: SwitchingSystem,
        tolerance: Tolerance,
        save: Floats,
        *,
        events: int = 1024,
        energies: bool = False,
        backward: bool = False,
        steps: int = 0,
    ) -> None:
        self.system, self.compiled, self.tolerance = system, system.compiled, tolerance
        self.flow = r.Flow(
            self.compiled, tolerance.array(), save, events, energies=energies, n_steps=steps
        )
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
        """(m,) the present signs, 0 in sliding."""
        return self.flow.sides.copy()

    def place(
        self, t: float, x: Floats, sides: Sequence[float] | Floats, *, branch: int = 0
    ) -> None:
        """Place the trajectory at (t, x) with the given signs, 0 for sliding.

        Parameters
        ----------
        branch : on an intersection of two surfaces, the sliding vector chosen after a reported loss
            of uniqueness: the sign of the determinant of the Jacobian of both sliding conditions
            with respect to the two multipliers, see `intersections.bilinear`; 0 takes the
            admissible sliding vector
        """
        flow = self.flow
        # the loss was reported before this choice: do not report the same exit directions again
        flow.progress.reported_open = int(branch != 0)
        if branch:
            flow.progress.branch = branch
        flow.y[: self.compiled.n] = x
        flow.sides[:] = sides
        place_state(flow.work, flow.functions, float(t))

    def evaluate_state(self, x: Floats) -> Survey:
        """Evaluate switching functions and field at `x`, which becomes the present state."""
        flow, c = self.flow, self.compiled
        flow.y[: c.n] = x
        # fills the scratch vectors EXTRA with h, LATER with the gradients, PLUS with f(+1)
        finite_values, a = bool(evaluate_state(flow.work, flow.functions)), flow.vectors
        gradient = a[LATER, : c.m * c.n].reshape(c.m, c.n).copy()
        return Survey(
            finite_values,
            a[EXTRA, : c.m].copy(),
            gradient,
            flow.functions["near"][: c.m] != 0,
            a[PLUS, : c.n].copy(),
        )

    def at_two_fold(self, i: int, tolerance: float = 1e-10) -> bool:
        """Return whether the state is at a two-fold of surface i: L+ = L- = 0.

        Parameters
        ----------
        tolerance : largest |L+| and |L-|, over |grad h| times the larger of |f+| and |f-|
        """
        flow = self.flow
        return bool(fold_gap(flow.work, i) <= tolerance)

    def directions(self, i: int, j: int) -> int:
        """Return the exit directions from the intersection of surfaces i and j, as bits."""
        return int(exit_directions(self.flow.work, i, j, -1))

    def pending_choice(self) -> tuple[int, int, int]:
        """Return the two surfaces at which a choice is pending, and its exit directions as bits."""
        now = self.flow.progress
        return int(now.which), int(now.other), int(now.open_paths)

    def take_pending_margin(self) -> float:
        """Return the margin of a pending choice, and reset it: it belongs to this loss only.

        The margin is the distance of the orbit from the intersection over its error.
        """
        now = self.flow.progress
        margin, now.margin = float(now.margin), np.inf
        now.least_margin = min(now.least_margin, margin)
        return margin

    def starts_next_to_two_fold(self) -> bool:
        """Return whether a placed state leaves its surface so near a two-fold that arcs are lost.

        These arcs lead back to the surface and are lower than the rounding errors of h. Only
        systems with one surface are tested.
        """
        flow = self.flow
        if self.compiled.m != 1 or flow.sides[0] == 0.0 or flow.progress.direction < 0.0:
            return False
        surface = flow.functions[0]
        # the orbit starts on the surface (`near`), and its h has a known zero there (`order`)
        leaves = bool(surface.near and surface.order)
        return leaves and self.at_two_fold(0, NEXT_TO_TWO_FOLD)

    def multiplier(self) -> Floats:
        """Return (m,) the signs, with the multiplier in sliding."""
        saving.signs_at(self.flow.work, Y)
        return self.flow.vectors[RECORDED, : self.compiled.m].copy()

    def continuations_at(self, i: int) -> Continuations:
        """Return the admissible continuations from surface i at the present state."""
        return Continuations(*(bool(answer) for answer in continuations_at(self.flow.work, i)))

    def advance(
        self, t_end: float, max_steps: int, report: Callable[[], None] = lambda: None
    ) -> int:
        """Integrate to t_end, at most `max_steps` steps; return a code of `records`.

        Parameters
        ----------
        report : called between the short slices of the NumPy fallback
        """
        arrays, now, steps_left = self.flow.arrays, self.flow.progress, max_steps
        most = _PLAIN_SLICE if mode() == "plain" else max_steps
        # the caller may have placed another state since the last call
        now.continues = 0
        while steps_left > 0:
            budget = min(steps_left, most)
            code = int(loop.advance(*arrays, float(t_end), budget))
            steps_left -= budget
            # a call after PAUSED resumes the loop exactly; a handler of a rare event may set
            # `continues` too, so it is set before
            now.continues = int(code == r.PAUSED)
            if code < 0:
                # a rare event: the unused steps of the budget are in `left`
                steps_left += int(now.left)
                code = self._handle(code)
            elif code == r.PAUSED and steps_left > 0:
                code = r.RUNNING
                report()
            if code != r.RUNNING:
                return code
        return r.PAUSED

    def _handle(self, code: int) -> int:
        """Handle a rare event; its kernels are compiled at the first one."""
        from stiction.switching.flow import rare_events

        return int(rare_events.handle_rare_event(code, *self.flow.arrays))

    def log(self, kind: int, surface: int, before: float, after: float) -> None:
        """Log an event at a surface (numbered from 0) at the present state."""
        flow, old, new = self.flow, float(before), float(after)
        saving.log_event(flow.work, flow.records, kind, surface, old, new, old, new)
