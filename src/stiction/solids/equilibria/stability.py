"""Whether a path of equilibria passes places where another one leaves it.

Where the tangent K is the second derivative of an energy, every negative eigenvalue is a way to
leave the state at no cost. Where the count changes along a path that goes on in time, a branch
leaves it: the future was not unique there. With friction or between two deformable bodies K is
not symmetric, and the sign of its determinant tells the parity of the count.

Source: Wriggers 2008, sect. 7.3; Thompson and Hunt 1973, ch. 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.determinism import Loss
from stiction.numerics.linear_solvers import LinearSolveError, LinearSolver
from stiction.solids.equilibria.history import Energies, missing_energy, step_energies
from stiction.solids.equilibria.newton import Limits, Outcome, solve_step
from stiction.solids.equilibria.problem import Problem, State, Trial

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors, Workspace

__all__ = ["SIGNS", "Snap", "Watch", "Ways", "find_snap", "unstable"]

Floats = npt.NDArray[np.float64]

# halvings of a step in which the count of unstable ways changes, and how many places are looked
# for in a run; the others are told with the step
_HALVINGS, _PLACES = 12, 20
# halvings at most, and part of the time travelled to which a place is found then: where steps are
# long beside it
_MOST, _PART = 26, 2e-4
# unknowns of which all ways are found, and of more how many next to zero are looked through
_DENSE, _SEVERAL = 60, 64
# parts in which a step is taken again where its energies do not close, the part of what was
# missing that a smooth path may still miss then (a sixteenth, near a limit point an eighth),
# how often parts are taken in parts, and halvings for the place of a snap
_PARTS, _SMOOTH, _DEEP, _PLACED = 4, 0.25, 3, 24


SINGULAR = "unstable ways were not counted where the tangent is singular"
SIGNS = "unstable ways were told by a sign, which two at once leave as it is"


class Ways(NamedTuple):
    """Unstable ways of a state: their number, or 0 and 1 for even and odd where not `counted`."""

    number: int
    counted: bool

    def changed(self, other: Ways) -> bool:
        """Return whether two states have different numbers, as far as it is known."""
        if self.counted and other.counted:
            return self.number != other.number
        return bool((self.number - other.number) % 2)


class Watch:
    """Counts unstable ways along a path, and tells where their number changes.

    Parameters
    ----------
    problem : the equations
    solver : for matrices of its own: what a path is made of does not feel that it is watched
    begin : time at which the path begins
    """

    def __init__(self, problem: Problem, solver: LinearSolver, begin: float) -> None:
        self.problem, self.solver = problem, solver
        self.space = solver.start()
        self.rigid = all(p.partner.rigid and not p.hard for p in problem.passes)
        self.last: Ways | None = None
        self.places = 0
        # what is not looked for, in words
        self.unseen = ""
        self.begin = begin

    def close(self) -> None:
        """Free what is kept."""
        self.space.close()

    def symmetric(self, problem: Problem, t: float) -> bool:
        """Return whether the tangent is the second derivative of an energy."""
        return self.rigid and not problem.rubs(t) and problem.holding.conservative

    def ways(
        self, problem: Problem, t: float, matrix: csr_matrix | None, factors: Factors | None
    ) -> Ways | None:
        """Return the unstable ways at a state, None where they cannot be told.

        Parameters
        ----------
        matrix : the tangent there
        factors : of the tangent one iteration before, if there are any
        """
        if matrix is None or not problem.free.size:
            return None
        try:
            if self.symmetric(problem, t):
                inertia = self.space.inertia(problem.reduced(matrix))
                if inertia is not None:
                    return Ways(inertia[1], counted=True)
            if factors is None:
                factors = self.space.factorise(problem.reduced(matrix))
            self.unseen = SIGNS
            return Ways(int(factors.sign < 0), counted=False)
        except LinearSolveError:
            self.unseen = SINGULAR
            return None

    def see(self, state: State, outcome: Outcome, target: float, limits: Limits) -> Loss | None:
        """Count at the end of a load step, and return what there is to tell of it.

        Parameters
        ----------
        state : at the begin of the step
        outcome : of the step
        target : program time of its end
        limits : of Newton's method
        """
        assert outcome.trial is not None
        now = self.ways(self.problem, target, outcome.matrix, outcome.factors)
        before = self.change_to(now)
        if before is None or now is None:
            return None
        return self.loss(state, outcome.trial.u, target, (before, now), limits)

    def change_to(self, now: Ways | None) -> Ways | None:
        """Take note of a state, and return the ways of the one before if they are not the same."""
        if now is None:
            return None
        before, self.last = self.last, now
        if before is None:
            before = Ways(0, now.counted)
        return before if now.changed(before) else None

    def loss(
        self, state: State, u: Floats, target: float, ways: tuple[Ways, Ways], limits: Limits
    ) -> Loss:
        """Return what is told of a change between a state and displacements at a later time."""
        before, now = ways
        low, high = self._between(state, u, target, before, limits)
        where: dict[str, object] = {
            "program_time": 0.5 * (low + high),
            "from": low,
            "to": high,
            "unstable_ways": now.number if now.counted else "odd" if now.number else "even",
        }
        self.places += 1
        return Loss(high, "bifurcation", where, "the path was followed on; another leaves it")

    def _between(
        self, state: State, u: Floats, target: float, before: Ways, limits: Limits
    ) -> tuple[float, float]:
        """Return two program times, close to each other, between which the count changes."""
        low, high = state.time, target
        if self.places >= _PLACES or high <= low:
            return low, high
        problem = self.problem.alike()
        space = self.solver.start()
        try:
            for k in range(_MOST):
                if k >= _HALVINGS and high - low <= _PART * (low - self.begin):
                    break
                t = 0.5 * (low + high)
                guess = state.u + (t - state.time) / (target - state.time) * (u - state.u)
                outcome = solve_step(problem, state, t, guess, limits, space)
                if outcome.trial is None:
                    break
                now = self.ways(problem, t, outcome.matrix, outcome.factors)
                if now is None:
                    break
                low, high = (low, t) if now.changed(before) else (t, high)
        finally:
            space.close()
        return low, high


def unstable(space: Workspace, matrix: csr_matrix, number: int) -> Floats:
    """Return directions (k, n) of length 1 of negative eigenvalues, that nearest to zero first.

    Where none is found among those next to zero, the direction nearest to zero alone.

    Parameters
    ----------
    space : of the solver
    matrix : (n, n), symmetric
    number : of negative eigenvalues

    Raises
    ------
    LinearSolveError : if the matrix is singular.

    Source: Lanczos' method on the inverse; Lehoucq, Sorensen, Yang 1998.
    Verified by: tests/unit/solids/motion/test_stability.py::test_unstable_ways
    """
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    n = matrix.shape[0]
    if n <= max(_DENSE, number + 2):
        values, ways = np.linalg.eigh(matrix.toarray())
    else:
        factors = space.factorise(matrix)
        inverse = LinearOperator(matrix.shape, factors.solve, dtype=np.float64)
        begin = np.random.default_rng(0).standard_normal(n)
        several = min(number + 2, n - 1)
        while True:
            try:
                values, ways = eigsh(matrix, several, sigma=0.0, OPinv=inverse, v0=begin, tol=1e-6)
            except ArpackNoConvergence as some:
                values, ways = some.eigenvalues, some.eigenvectors
            except ArpackError:
                values, ways = np.zeros(0), np.zeros((n, 0))
            if (values < 0.0).sum() >= max(number, 1) or 2 * several > min(_SEVERAL, n - 1):
                break
            several *= 2
        if not values.size:
            return (begin / np.linalg.norm(begin))[None]
    order = np.argsort(np.abs(values))
    told = order[values[order] < 0.0] if (values < 0.0).any() else order[:1]
    return np.ascontiguousarray(ways[:, told].T)


class Snap(NamedTuple):
    """Where no balance is near the last one: program times around it, and the energy it frees."""

    low: float
    high: float
    energy: float


def find_snap(
    problem: Problem,
    start: tuple[State, Trial, Energies],
    target: float,
    missing: tuple[float, float],
    limits: Limits,
    solver: LinearSolver,
    begin: float,
) -> Snap | None:
    """Return where a load step leaves its path for another one, None if it does not.

    A step is taken again in parts, beside the path. The trapezoidal rule for work misses less
    and less of a smooth path; what a snap frees stays missing, in the part where it lies.

    Parameters
    ----------
    problem : equations that nothing else uses
    start : state, trial and energies at the begin of the step
    target : program time of its end
    missing : energy that the whole step misses, and that a part may miss without being taken in
        parts itself [J/m]
    begin : program time at which the path begins

    Verified by: tests/convergence/test_arches.py::test_no_arch_snaps_in_silence
    """
    space = solver.start()
    lost, least = missing

    def taken(at: tuple[State, Trial, Energies], t: float) -> tuple[State, Trial, Energies] | None:
        state, trial, energy = at
        outcome = solve_step(problem, state, t, None, limits, space)
        if outcome.trial is None:
            return None
        times = (state.time, t)
        energy = step_energies(problem, trial, outcome.trial, times, energy, rough=True)
        return problem.accepted(state, outcome.trial, t), outcome.trial, energy

    def left(
        at: tuple[State, Trial, Energies], end: float, lost: float, depth: int
    ) -> tuple[float, tuple[State, Trial, Energies], float] | None:
        """Return what is missing in a part that no smooth path leaves, its begin and its end."""
        parts = []
        for t in np.linspace(at[0].time, end, _PARTS + 1)[1:]:
            there = taken(at, float(t))
            less = np.inf if there is None else missing_energy(at[2], there[2])[0]
            parts.append((less, at, float(t)))
            if there is None:
                break
            at = there
        if sum(part[0] for part in parts) > _SMOOTH * lost:
            return max(parts, key=lambda part: part[0])
        for less, begin, t in parts:
            if less > least and depth < _DEEP:
                found = left(begin, t, less, depth + 1)
                if found is not None:
                    return found
        return None

    try:
        found = left(start, target, lost, 0)
        if found is None:
            return None
        less, at, high = found
        freed = min(less, lost)
        for _ in range(_PLACED):
            low = at[0].time
            if high - low <= 0.1 * _PART * (low - begin):
                break
            middle = taken(at, 0.5 * (low + high))
            less = np.inf if middle is None else missing_energy(at[2], middle[2])[0]
            if middle is not None and less <= 0.5 * freed:
                at = middle
            else:
                high = 0.5 * (low + high)
        return Snap(at[0].time, high, freed)
    finally:
        space.close()
