"""Newton's method for one load step, with a line search and an active set of contact.

Each iteration solves K du = -r for the free unknowns, with the residual r(u, t) and the consistent
tangent K = dr/du of `Problem.evaluate`. The first iteration also moves the prescribed unknowns, as
K_ff du_f = -r_f - K_fd du_d. The residual counts as zero if its norm over the free unknowns is at
most `Limits.tolerance` times `force_scale`. Points may change between open, stick and
slip in every iteration. If they still do after several iterations, their states are fixed until
the residual converges, and are then released: a solution counts only if it also holds with free
states.

`solve_step` is called by load steps, time steps and branch switching; `bordered` calls
`line_search`.
Source: Wriggers 2006 (consistent tangent, active set); Matthies and Strang 1979 (line search).
"""

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

__all__ = [
    "Limits",
    "Outcome",
    "Probe",
    "force_norm",
    "force_scale",
    "line_search",
    "solve_step",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# chosen: iterations with free contact states before the states are fixed, and how often they are
# released
_FREE_ITERATIONS = 15
_MOST_RELEASES = 5
# chosen: fractions of a step that a line search tries at most
_MOST_TRIALS = 6
# chosen: a line search ends when the slope is at most this fraction of that at its start
_SLOPE_REDUCTION = 0.2
# regula falsi may stagnate at an end of its interval, so its next point stays this fraction of the
# interval away from both ends (chosen)
_FROM_ENDS = 0.1


class Factoriser(Protocol):
    """The part of a linear solver that Newton's method uses."""

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return the factors of a matrix."""


class Limits(NamedTuple):
    """Limits of Newton's method: residual over the forces at convergence, and most iterations."""

    tolerance: float
    iterations: int


class Outcome(NamedTuple):
    """The result of one load step.

    Parameters
    ----------
    trial : the solution; None if the step did not converge
    iterations, residuals : Newton iterations, and residual over the forces in each [1]
    reason : of a failure, "" for none
    factors, matrix : factors of the last iteration, and tangent at the trial
    """

    trial: Trial | None
    iterations: int
    residuals: tuple[float, ...]
    reason: str
    factors: Factors | None = None
    matrix: csr_matrix | None = None


def force_norm(problem: Problem, trial: Trial) -> float:
    """Return the norm of the forces in equilibrium: reactions, internal forces or loads.

    Its unit is N/m in the plane, N in three dimensions.
    """
    reactions = size_of(trial.residual[problem.fixed])
    internal = size_of(trial.internal)
    loads = size_of(trial.internal - trial.residual)
    return max(reactions, internal, loads)


def force_scale(problem: Problem, trial: Trial) -> float:
    """Return the force that scales the residual, not below the floor of the problem.

    Its unit is N/m in the plane, N in three dimensions.
    """
    return max(force_norm(problem, trial), problem.force_floor)


def solve_step(
    problem: Problem,
    state: State,
    t: float,
    guess: Floats | None,
    limits: Limits,
    workspace: Factoriser,
) -> Outcome:
    """Solve the equilibrium equations at time t.

    Parameters
    ----------
    problem : the equations
    state : the last accepted one
    guess : (nodes, d) first iterate; with None it is `state.u`, and step 1 moves the supports
    limits : tolerance and number of iterations
    workspace : sparse solver
    """
    target = problem.prescribed(t)
    u = state.u.copy() if guess is None else guess.copy()
    increment = np.where(problem.fixed, target - u, 0.0)
    fixed_states: list[Ints] | None = None
    residuals: list[float] = []
    releases, free_iterations, supports_move = 0, 0, bool(increment.any())
    factors: Factors | None = None
    if supports_move and guess is not None:
        u += increment
        supports_move = False
    trial, matrix = problem.evaluate(state, u, t, fixed_states, data=True)
    if trial.inverted or not np.isfinite(trial.residual).all():
        what = "an element is inverted" if trial.inverted else "a force is not finite"
        return Outcome(None, 0, (), f"{what} at the first guess")
    for iteration in range(limits.iterations):
        norm = size_of(trial.residual.ravel()[problem.free])
        size = norm / force_scale(problem, trial)
        residuals.append(size)
        if not supports_move and size <= limits.tolerance:
            if fixed_states is None:
                return Outcome(trial, iteration, tuple(residuals), "", factors, matrix)
            # release the states, and check that they do not change
            fixed_states, free_iterations, releases = None, 0, releases + 1
            trial, matrix = problem.evaluate(state, u, t, fixed_states, data=True)
            if releases > _MOST_RELEASES:
                return Outcome(None, iteration, tuple(residuals), "stick and slip cycle")
            continue
        undecided = fixed_states is None and free_iterations >= _FREE_ITERATIONS
        if not supports_move and undecided and problem.has_friction(t):
            fixed_states, free_iterations = problem.contact_states(trial), 0
            trial, matrix = problem.evaluate(state, u, t, fixed_states, data=True)
        assert matrix is not None
        residual = trial.residual.ravel()[problem.free]
        right_side = -residual
        if supports_move:
            right_side = right_side - (matrix @ increment.ravel())[problem.free]
        try:
            step = right_side
            if right_side.size:  # everything may be driven
                factors = workspace.factorise(problem.reduced(matrix))
                step = factors.solve(right_side)
        except LinearSolveError:
            return Outcome(None, iteration, tuple(residuals), "the tangent is singular")
        if not np.isfinite(step).all():
            return Outcome(None, iteration, tuple(residuals), "the tangent is singular")
        change = np.zeros(u.size)
        change[problem.free] = step
        if supports_move:
            change += increment.ravel()
        # no search while supports move, as residuals do not measure steps, nor at saddle points
        slope = 0.0 if supports_move or problem.carriers else inner(residual, step)
        accepted = _advance(problem, state, u, change.reshape(u.shape), t, fixed_states, slope)
        if accepted is None:
            reason = "every fraction of Newton's step inverts an element"
            return Outcome(None, iteration, tuple(residuals), reason)
        u, trial, matrix = accepted.u, accepted.trial, accepted.matrix
        if supports_move and accepted.fraction == 1.0:
            supports_move = False
        elif supports_move:
            increment = np.where(problem.fixed, target - u, 0.0)
        free_iterations += 1
    return Outcome(None, limits.iterations, tuple(residuals), "Newton's method did not converge")


def _advance(
    problem: Problem,
    state: State,
    u: Floats,
    change: Floats,
    t: float,
    fixed_states: list[Ints] | None,
    slope: float,
) -> Probe | None:
    """Return the line search along a change; None if every fraction of it inverts an element.

    `change` (nodes, d) is the step of all unknowns [m], `slope` is r . step at its beginning.
    """

    def probe(fraction: float) -> Probe:
        tried = u + fraction * change
        trial, matrix = problem.evaluate(state, tried, t, fixed_states, data=True)
        return Probe(tried, t, trial, matrix, fraction)

    return line_search(probe, problem.free, change.ravel()[problem.free], slope)


class Probe(NamedTuple):
    """A fraction of a step: displacements, program time, residual and tangent there."""

    u: Floats
    t: float
    trial: Trial
    matrix: csr_matrix | None
    fraction: float


def line_search(
    probe: Callable[[float], Probe], free: Ints, step: Floats, slope_at_start: float
) -> Probe | None:
    """Return the whole step, or the fraction of it at which the slope r . step vanishes.

    The slope may change its sign within the step if points change between stick and slip. Regula
    falsi then approaches its root, until the slope is at most a fifth of that at the start. Returns
    None if every fraction inverts an element.

    Parameters
    ----------
    probe : evaluates a fraction of the step
    free : free unknowns
    step : the step of the free unknowns
    slope_at_start : r . step at its beginning

    Source: Matthies and Strang 1979.
    """
    low, high, fraction = 0.0, 1.0, 1.0
    slope_low, slope_high = slope_at_start, np.nan
    last: Probe | None = None
    for _ in range(_MOST_TRIALS):
        tried = probe(fraction)
        residual = tried.trial.residual.ravel()[free]
        if tried.trial.inverted or not np.isfinite(residual).all():
            if last is not None:
                return last
            high, slope_high, fraction = fraction, np.nan, 0.5 * fraction
            continue
        # r . step at this fraction; the search ends where it is small or has not reversed
        last = tried
        slope = inner(residual, step)
        reversed_ = slope * slope_at_start < 0.0
        if (
            slope_at_start == 0.0
            or abs(slope) <= _SLOPE_REDUCTION * abs(slope_at_start)
            or (fraction == 1.0 and not reversed_)
        ):
            return last
        if reversed_:
            high, slope_high = fraction, slope
        else:
            low, slope_low = fraction, slope
        if np.isnan(slope_high):
            return last
        # regula falsi between the ends of the bracket [low, high]
        fraction = low + (high - low) * slope_low / (slope_low - slope_high)
        inset = _FROM_ENDS * (high - low)
        fraction = min(max(fraction, low + inset), high - inset)
    return last
