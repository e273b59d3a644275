"""One load step: Newton's method with states held when they cycle, and steps cut when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stiction.numerics.linear_solvers import LinearSolveError
from stiction.numerics.vectors import inner, size_of
from stiction.solids.equilibria.problem import Problem, State, Trial

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors

__all__ = ["Limits", "Outcome", "Probe", "force_scale", "forces_met", "search", "solve_step"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# iterations in which points may change between stick and slip, before they are held
_FREE = 15
_ROUNDS = 5
_HALVINGS = 6
# part of the slope at its start that a step may end with, turned round
_TURNED = 0.2


class Solving(Protocol):
    """What Newton's method asks of a linear solver."""

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return the factors of a matrix."""


class Limits(NamedTuple):
    """When Newton's method has converged, and when it gives up."""

    tolerance: float
    iterations: int


class Outcome(NamedTuple):
    """What came of one load step; `trial` is None unless it converged.

    `matrix` is the tangent at the trial, `factors` are those of the last one that was factorised.
    """

    trial: Trial | None
    iterations: int
    residuals: tuple[float, ...]
    reason: str
    factors: Factors | None = None
    matrix: csr_matrix | None = None


def forces_met(problem: Problem, trial: Trial) -> float:
    """Return the size of the forces that balance each other [N/m]."""
    reactions = size_of(trial.residual[problem.fixed])
    inside = size_of(trial.internal)
    loads = size_of(trial.internal - trial.residual)
    return max(reactions, inside, loads)


def force_scale(problem: Problem, trial: Trial) -> float:
    """Return the measure of the residual [N/m]: the forces that balance, or their floor."""
    return max(forces_met(problem, trial), problem.smallest_force)


def solve_step(
    problem: Problem, state: State, t: float, guess: Floats | None, limits: Limits, space: Solving
) -> Outcome:
    """Solve for the displacements at time t.

    Parameters
    ----------
    state : the last accepted one
    guess : (nodes, d) displacements to begin with; None takes those of the state, and lets the
        first iteration carry what is prescribed into the body
    """
    target = problem.prescribed(t)
    u = state.u.copy() if guess is None else guess.copy()
    shift = np.where(problem.fixed, target - u, 0.0)
    helds: list[Ints] | None = None
    residuals: list[float] = []
    rounds, since = 0, 0
    factors: Factors | None = None
    jump = bool(shift.any())
    if jump and guess is not None:
        u += shift
        jump = False
    trial, matrix = problem.evaluate(state, u, t, helds, data=True)
    if trial.bad or not np.isfinite(trial.residual).all():
        return Outcome(None, 0, (), "an element is inside out at the first guess")
    for iteration in range(limits.iterations):
        norm = size_of(trial.residual.ravel()[problem.free])
        size = norm / force_scale(problem, trial)
        residuals.append(size)
        if not jump and size <= limits.tolerance:
            if helds is None:
                return Outcome(trial, iteration, tuple(residuals), "", factors, matrix)
            # let go, and see whether the states stay
            helds, since, rounds = None, 0, rounds + 1
            trial, matrix = problem.evaluate(state, u, t, helds, data=True)
            if rounds > _ROUNDS:
                return Outcome(None, iteration, tuple(residuals), "stick and slip cycle")
            continue
        if not jump and helds is None and since >= _FREE and problem.rubs(t):
            helds, since = problem.held(trial), 0
            trial, matrix = problem.evaluate(state, u, t, helds, data=True)
        assert matrix is not None
        rest = trial.residual.ravel()[problem.free]
        right = -rest
        if jump:
            right = right - (matrix @ shift.ravel())[problem.free]
        try:
            step = right
            if right.size:  # everything may be driven
                factors = space.factorise(problem.reduced(matrix))
                step = factors.solve(right)
        except LinearSolveError:
            return Outcome(None, iteration, tuple(residuals), "the tangent is singular")
        if not np.isfinite(step).all():
            return Outcome(None, iteration, tuple(residuals), "the tangent is singular")
        full = np.zeros(u.size)
        full[problem.free] = step
        if jump:
            full += shift.ravel()
        found = _moved(problem, state, u, full.reshape(u.shape), t, helds, step, rest, jump)
        if found is None:
            reason = "no step of Newton's method keeps the elements from turning inside out"
            return Outcome(None, iteration, tuple(residuals), reason)
        u, trial, matrix = found.u, found.trial, found.matrix
        if jump and found.part == 1.0:
            jump = False
        elif jump:
            shift = np.where(problem.fixed, target - u, 0.0)
        since += 1
    return Outcome(None, limits.iterations, tuple(residuals), "Newton's method did not converge")


def _moved(
    problem: Problem,
    state: State,
    u: Floats,
    full: Floats,
    t: float,
    helds: list[Ints] | None,
    step: Floats,
    residual: Floats,
    jump: bool,
) -> Probe | None:
    """Return where a step of all displacements leads; what is prescribed comes in whole steps."""

    def probe(part: float) -> Probe:
        tried = u + part * full
        trial, matrix = problem.evaluate(state, tried, t, helds, data=True)
        return Probe(tried, t, trial, matrix, part)

    start = inner(residual, step)
    # while supports move, the residual at the start says nothing of the step; conditions of hard
    # contact are no slopes of an energy, and take whole steps
    return search(probe, problem.free, step, 0.0 if jump or problem.carriers else start)


class Probe(NamedTuple):
    """A trial part of a step: places, program time, residual and tangent there."""

    u: Floats
    t: float
    trial: Trial
    matrix: csr_matrix | None
    part: float


def search(
    probe: Callable[[float], Probe], free: Ints, along: Floats, start: float
) -> Probe | None:
    """Return the whole step, or the part of it at which the residual has no slope along it.

    Where stick and slip switch, the residual times the step may turn its sign; then the step is
    cut to where the secant says that it vanishes. None if every part turns an element inside
    out.

    Parameters
    ----------
    probe : evaluates a part of the step, 1 for the whole
    free : free unknowns
    along : the step of the free unknowns
    start : residual times step at its beginning

    Source: Matthies and Strang 1979.
    """
    low, high, part = 0.0, 1.0, 1.0
    slope_low, slope_high = start, np.nan
    best: Probe | None = None
    for _ in range(_HALVINGS):
        tried = probe(part)
        rest = tried.trial.residual.ravel()[free]
        if tried.trial.bad or not np.isfinite(rest).all():
            if best is not None:
                return best
            high, slope_high, part = part, np.nan, 0.5 * part
            continue
        best = tried
        slope = inner(rest, along)
        turned = slope * start < 0.0
        if start == 0.0 or abs(slope) <= _TURNED * abs(start) or (part == 1.0 and not turned):
            return best
        if turned:
            high, slope_high = part, slope
        else:
            low, slope_low = part, slope
        if np.isnan(slope_high):
            return best
        part = low + (high - low) * slope_low / (slope_low - slope_high)
        part = min(max(part, low + 0.1 * (high - low)), high - 0.1 * (high - low))
    return best
