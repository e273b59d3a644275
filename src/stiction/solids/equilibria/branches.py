"""Branch switching at a bifurcation of an equilibrium path.

At a singular point (u_0, t_0) the tangent K has null vectors, K phi = 0 and psi^T K = 0. The point
is a bifurcation if psi^T dr/dt = 0, and a limit point otherwise. A first point of the branch has a
prescribed distance a along phi, while program time is unknown:

    r(u, t) = 0,   phi . (u - u_0) = a.

The distance is so small that t is slightly larger than t_0; on a symmetric branch t - t_0 grows
with the square of a. phi has 1 as its largest displacement, so a is a length [m]. Inverse iteration
with the tangent just after the bifurcation gives phi and psi. `load_steps` and `arclength` call
`find_branch` if the policy of the method is to follow a branch.

Source: Wriggers 2008, sect. 7.3; Wagner and Wriggers 1988.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.determinism import Loss
from stiction.core.method import BranchPolicy, FollowBranch, StopThere
from stiction.numerics.linear_solvers import LinearSolveError
from stiction.numerics.vectors import inner, size_of
from stiction.solids.equilibria.bordered import ArclengthControl, ArcStep, Bordered, PathPoint
from stiction.solids.equilibria.newton import Factoriser, Limits, solve_step
from stiction.solids.equilibria.problem import Problem, State

if TYPE_CHECKING:
    from stiction.numerics.linear_solvers import LinearSolver

__all__ = ["Branch", "bifurcation_loss", "find_branch"]

Floats = npt.NDArray[np.float64]

# largest numbers of inverse iterations for the null vector, and of distances tried along it
_INVERSE, _MOST_DISTANCES = 30, 24
# first distance over the largest length, and the fractions of the time from the bifurcation to the
# end of the step between which the time of the point may lie
_FIRST_DISTANCE, _EARLIEST, _LATEST = 1e-3, 0.02, 0.6
# largest ratio of the rest of the step to the time interval in which the point may lie
_MOST_PARTS = 256.0
# cosine between dr/dt and the left null vector below which they count as orthogonal
_ORTHOGONAL = 1e-3


class Branch(NamedTuple):
    """A point of a branch, and the bifurcation at which it leaves the path.

    Parameters
    ----------
    arc : the point, None if no step converged
    time : program time of the bifurcation [1]
    node, component : of the displacement that is largest along the branch
    position : of that node [m]
    limit_point : whether the singular point is a limit point, which has no branch
    """

    arc: ArcStep | None
    time: float
    node: int
    component: int
    position: tuple[float, ...]
    limit_point: bool

    @property
    def converged(self) -> bool:
        """Whether a point of the branch was found."""
        return self.arc is not None and self.arc.trial is not None


class _NullVectors(NamedTuple):
    """Right and left null vectors of the tangent, over free unknowns."""

    right: Floats
    left: Floats


def _null_vectors(problem: Problem, matrix: object, workspace: Factoriser) -> _NullVectors | None:
    """Return the null vectors by inverse iteration, None if the tangent cannot be factorised."""
    reduced = problem.reduced(matrix)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    first = rng.standard_normal(problem.free.size)
    directions = []
    try:
        for side in (reduced, reduced.T.tocsr()):
            factors = workspace.factorise(side)
            x = first / size_of(first)
            for _ in range(_INVERSE):
                y = factors.solve(x)
                y = y / size_of(y)
                # constant up to its sign, within some thousand roundings
                converged = min(size_of(y - x), size_of(y + x)) < 1e-12
                x = y
                if converged:
                    break
            directions.append(x)
    except LinearSolveError:
        return None
    return _NullVectors(directions[0], directions[1])


def find_branch(
    problem: Problem,
    state: State,
    span: tuple[float, float, float, float],
    u: Floats,
    side: str,
    limits: Limits,
    solver: LinearSolver,
) -> Branch | None:
    """Return a point of the branch, None if the equilibrium at the bifurcation is not found.

    Parameters
    ----------
    problem : the equations
    state : the last one accepted before the bifurcation
    span : program times at which the path begins, just before and just after the bifurcation, and
        at the end of the step
    u : unknowns at the end of the step
    side : "+" or "-", sign of the largest displacement along the branch
    limits, solver : of Newton's method, and the sparse solver

    Verified by: tests/unit/solids/equilibria/test_branches.py::test_a_column_follows_the_elastica
    """
    begin, low, high, end = span
    copy, workspace = problem.fresh_copy(), solver.start()
    try:
        guess = state.u + (high - state.time) / (end - state.time) * (u - state.u)
        outcome = solve_step(copy, state, high, guess, limits, workspace)
        if outcome.trial is None or outcome.matrix is None:
            return None
        critical = _null_vectors(copy, outcome.matrix, workspace)
        if critical is None:
            return None
        bordered = Bordered(copy, workspace, limits, (begin, end))
        by_time = bordered.time_derivative(outcome.trial, outcome.matrix, state, high)
        limit_point = abs(inner(critical.left, by_time)) > _ORTHOGONAL * size_of(by_time)
        full = np.zeros(u.size)
        full[copy.free] = critical.right
        displacements = copy.unknowns.displacements(full.reshape(u.shape))
        # the first of those that differ by rounding: the sign must not depend on it
        candidates = np.abs(displacements.ravel()) > (1.0 - 1e-6) * np.abs(displacements).max()
        largest = int(np.argmax(candidates))
        node, component = divmod(largest, problem.dim)
        sign = 1.0 if (displacements.flat[largest] > 0.0) == (side == "+") else -1.0
        position = tuple(float(v) for v in copy.points[node])
        branch = Branch(None, 0.5 * (low + high), node, component, position, limit_point)
        if limit_point:
            return branch
        direction = sign * critical.right / abs(displacements.flat[largest])
        point = PathPoint(high, outcome.trial.u)
        # the energy balance of one step needs a step that is short against the path so far
        t0 = branch.time
        longest = max(min(end - t0, t0 - begin), (end - t0) / _MOST_PARTS)
        arc = _point_on_branch(bordered, state, point, direction, (t0, t0 + longest))
        return branch._replace(arc=arc)
    finally:
        workspace.close()


def _point_on_branch(
    bordered: Bordered,
    state: State,
    first: PathPoint,
    direction: Floats,
    times: tuple[float, float],
) -> ArcStep | None:
    """Return a point of the branch slightly beyond the bifurcation, or the last one found.

    Parameters
    ----------
    first : a point of the path at the bifurcation
    direction : the null vector, with largest displacement 1
    times : of the bifurcation, and of the end of the step
    """
    problem = bordered.problem
    begin, end = times
    square = inner(direction, direction)
    distance, last = _FIRST_DISTANCE * problem.largest_length, None
    for _ in range(_MOST_DISTANCES):
        guess = first.u.copy().ravel()
        guess[problem.free] += distance * direction
        control = ArclengthControl(problem, first, direction / square, 0.0, distance)
        predictor = PathPoint(first.t, guess.reshape(first.u.shape))
        arc = bordered.solve(state, predictor, control, np.inf)
        if arc.trial is None:
            distance *= 0.25
            continue
        fraction = (arc.t - begin) / (end - begin)
        last = arc
        if _EARLIEST <= fraction <= _LATEST or fraction < -_EARLIEST:
            return arc
        # the time grows as the square of the distance; aim at a quarter of the step, and change the
        # distance by 0.1 to 8 at once (chosen)
        target = 0.25 / max(abs(fraction), 1e-12)
        distance *= min(max(target**0.5, 0.1), 8.0)
    return last


def bifurcation_loss(
    policy: BranchPolicy | None, loss: Loss, branch: Branch | None, time_may_decrease: bool
) -> Loss:
    """Return the loss of determinism at a bifurcation, with the choice that was made there.

    Parameters
    ----------
    policy : the user's choice
    loss : the bifurcation
    branch : the point of the branch, None if it was not found
    time_may_decrease : whether a path may go back in time
    """
    if isinstance(policy, StopThere):
        return replace(loss, choice="the run ended there; another path branches off")
    if branch is None or branch.limit_point or not branch.converged:
        choice = "the same path was followed: no point of the other branch was found nearby"
        return replace(loss, choice=choice)
    assert branch.arc is not None
    position = ", ".join(f"{x:.6g}" for x in branch.position)
    where = {**loss.where, "branch_moves": f"{'xyz'[branch.component]} of ({position})"}
    if branch.arc.t <= branch.time and not time_may_decrease:
        choice = "the same path was followed: time decreases on the branch; take Continuation"
        return replace(loss, where=where, choice=choice)
    side = policy.side if isinstance(policy, FollowBranch) else "+"
    choice = f"the branch to the side {side} was followed; there is one to the other side as well"
    return replace(loss, where=where, choice=choice)
