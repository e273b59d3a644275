"""Going over to another path of equilibria at a bifurcation.

At a bifurcation the tangent K has a way phi without resistance, K phi = 0, which the load does not
feel: psi^T dr/dt = 0, with the way psi from the left. At a limit point the load feels it. A point
of the branch is found with its distance along phi prescribed and the program's time free,

    r(u, t) = 0,   phi . (u - u_0) = a,

and a distance a so small that its time lies little beyond that of the bifurcation; on a symmetric
branch t - t_0 grows with the square of a.

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
from stiction.solids.equilibria.bordered import Arc, Bordered, ByLength, Point
from stiction.solids.equilibria.newton import Limits, Solving, solve_step
from stiction.solids.equilibria.problem import Problem, State

if TYPE_CHECKING:
    from stiction.numerics.linear_solvers import LinearSolver

__all__ = ["Branch", "find_branch", "taken"]

Floats = npt.NDArray[np.float64]

# inverse iterations for the critical way, and halvings of its distance
_INVERSE, _TRIES = 30, 24
# part of the largest length that the first point lies away, and of the way to the end of the
# step at which the time of the point that is taken may lie
_AWAY, _BEGIN, _END = 1e-3, 0.02, 0.6
# parts of a step into which the way to the branch may fall
_LONGEST = 256.0
# cosine between load and critical way below which the load does not feel it
_UNFELT = 1e-3


class Branch(NamedTuple):
    """A point of another path, and how it lies to the one that it leaves.

    Parameters
    ----------
    arc : the point, which may not have been found
    at : the bifurcation [program time]
    node, component : of the displacement that is largest along the branch
    place : where that is [m]
    felt : whether the load feels the critical way: a limit point, and no branch
    """

    arc: Arc | None
    at: float
    node: int
    component: int
    place: tuple[float, float]
    felt: bool

    @property
    def found(self) -> bool:
        """Whether there is a point to go on from."""
        return self.arc is not None and self.arc.trial is not None


class _Critical(NamedTuple):
    """The way without resistance from the right and from the left, over free unknowns."""

    right: Floats
    left: Floats


def _critical(problem: Problem, matrix: object, space: Solving) -> _Critical | None:
    """Return the ways of the smallest eigenvalue by inverse iteration; None if there is none."""
    reduced = problem.reduced(matrix)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    first = rng.standard_normal(problem.free.size)
    found = []
    try:
        for one in (reduced, reduced.T.tocsr()):
            factors = space.factorise(one)
            x = first / size_of(first)
            for _ in range(_INVERSE):
                y = factors.solve(x)
                y = y / size_of(y)
                done = min(size_of(y - x), size_of(y + x)) < 1e-12
                x = y
                if done:
                    break
            found.append(x)
    except LinearSolveError:
        return None
    return _Critical(found[0], found[1])


def find_branch(
    problem: Problem,
    state: State,
    span: tuple[float, float, float, float],
    u: Floats,
    side: str,
    limits: Limits,
    solver: LinearSolver,
) -> Branch | None:
    """Return a point of the branch that leaves a path; None where the place is not found again.

    Parameters
    ----------
    state : the last one accepted before the bifurcation
    span : program times at which the path begins, just before and just after the bifurcation, and
        at the end of the step
    u : unknowns at the end of the step
    side : "+" or "-"

    Verified by: tests/unit/solids/equilibria/test_branches.py::test_a_column_follows_the_elastica
    """
    begin, low, high, end = span
    alike, space = problem.alike(), solver.start()
    try:
        guess = state.u + (high - state.time) / (end - state.time) * (u - state.u)
        outcome = solve_step(alike, state, high, guess, limits, space)
        if outcome.trial is None or outcome.matrix is None:
            return None
        critical = _critical(alike, outcome.matrix, space)
        if critical is None:
            return None
        bordered = Bordered(alike, space, limits, end)
        by_time = bordered.by_time(outcome.trial, outcome.matrix, state, high)
        felt = abs(inner(critical.left, by_time)) > _UNFELT * size_of(by_time)
        full = np.zeros(u.size)
        full[alike.free] = critical.right
        moved = alike.unknowns.displacements(full.reshape(u.shape))
        # the first of those that are equal but for rounding
        large = np.abs(moved.ravel()) > (1.0 - 1e-6) * np.abs(moved).max()
        largest = int(np.argmax(large))
        node, component = divmod(largest, problem.dim)
        sign = 1.0 if (moved.flat[largest] > 0.0) == (side == "+") else -1.0
        place = tuple(float(v) for v in alike.points[node])
        branch = Branch(None, 0.5 * (low + high), node, component, place, felt)  # type: ignore[arg-type]
        if felt:
            return branch
        way = sign * critical.right / abs(moved.flat[largest])
        first = Point(high, outcome.trial.u)
        # a step that is long beside what was travelled leads too far for the energy of one step
        far = max(min(end - branch.at, branch.at - begin), (end - branch.at) / _LONGEST)
        arc = _point_of(bordered, state, first, way, (branch.at, branch.at + far))
        return branch._replace(arc=arc)
    finally:
        space.close()


def _point_of(
    bordered: Bordered, state: State, first: Point, way: Floats, times: tuple[float, float]
) -> Arc | None:
    """Return a point of the branch a little beyond the bifurcation, or the nearest there is.

    Parameters
    ----------
    first : a point of the path at the bifurcation
    way : the critical one, with largest displacement 1
    times : of the bifurcation, and of the end of the step
    """
    problem = bordered.problem
    begin, end = times
    norm = inner(way, way)
    distance, best = _AWAY * problem.largest_length, None
    for _ in range(_TRIES):
        guess = first.u.copy().ravel()
        guess[problem.free] += distance * way
        control = ByLength(problem, first, way / norm, 0.0, distance)
        arc = bordered.arc(state, Point(first.t, guess.reshape(first.u.shape)), control, np.inf)
        if arc.trial is None:
            distance *= 0.25
            continue
        beyond = (arc.t - begin) / (end - begin)
        best = arc
        if _BEGIN <= beyond <= _END or beyond < -_BEGIN:
            return arc
        # the time grows as the square of the distance
        wanted = 0.25 / max(abs(beyond), 1e-12)
        distance *= min(max(wanted**0.5, 0.1), 8.0)
    return best


def taken(policy: BranchPolicy | None, loss: Loss, branch: Branch | None, goes_back: bool) -> Loss:
    """Return a bifurcation as it is told, with what was done there.

    Parameters
    ----------
    policy : what was asked for
    loss : as it is told without
    branch : what was found of the other path
    goes_back : whether a path may go back in time
    """
    if isinstance(policy, StopThere):
        return replace(loss, choice="the run ended there; another path leaves it")
    if branch is None or branch.felt or not branch.found:
        why = "the path was followed on: no branch was found near; another leaves it"
        return replace(loss, choice=why)
    assert branch.arc is not None
    x, y = branch.place
    where = {**loss.where, "branch_moves": f"{'xy'[branch.component]} of ({x:.6g}, {y:.6g})"}
    if branch.arc.t <= branch.at and not goes_back:
        why = "the path was followed on: the branch goes back in load, as Continuation does"
        return replace(loss, where=where, choice=why)
    side = policy.side if isinstance(policy, FollowBranch) else "+"
    why = f"the branch to the side {side} was followed; there is one to the other side as well"
    return replace(loss, where=where, choice=why)
