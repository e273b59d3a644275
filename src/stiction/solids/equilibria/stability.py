"""Stability of equilibria, bifurcations of their path, and jumps to another equilibrium.

If the tangent K is the second derivative of an energy, its negative eigenvalues are unstable
modes. A change of their number along a path that goes on in time indicates a bifurcation: the
solution is not unique there. With friction or between two deformable bodies K is not symmetric,
and the sign of its determinant gives the parity of their number alone. The number is that of
negative pivots of L D L^T (Sylvester's law of inertia), and bisection in time locates its change.

A jump without a bifurcation is detected by energies (`find_snap`): on a smooth path the energy that
the trapezoidal rule misses in a step vanishes as the step is divided. `load_steps` and `arclength`
call the monitor after each step.
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

__all__ = ["SIGNS", "Snap", "StabilityMonitor", "UnstableModes", "find_snap", "unstable_directions"]

Floats = npt.NDArray[np.float64]

# bisections that locate a bifurcation in a step, and the number of bifurcations located in a run;
# later ones are recorded with their step
_HALVINGS, _MOST_LOCATED = 12, 20
# for long steps: largest number of bisections, and resolution over the time since the start
_MOST_HALVINGS, _RESOLUTION = 26, 2e-4
# size of matrices up to which all eigenvalues are computed, and largest number of eigenvalues near
# zero of larger ones
_DENSE, _MOST_EIGENVALUES = 60, 64
# substeps of a step whose energy balance does not close; largest fraction of the missing energy
# that substeps miss on a smooth path (a sixteenth in theory, an eighth near a limit point); levels
# of substeps; bisections that locate a jump
_SUBSTEPS, _SMOOTH_LIMIT, _MOST_DEPTH, _SNAP_HALVINGS = 4, 0.25, 3, 24


SINGULAR = "unstable modes were not counted where the tangent is singular"
SIGNS = (
    "unstable modes were detected by the sign of the determinant, which two modes at once do not "
    "change"
)


class UnstableModes(NamedTuple):
    """Unstable modes of a state.

    Parameters
    ----------
    number : of negative eigenvalues of the tangent; if not `counted`, its parity, 0 or 1
    counted : whether the number is known, not only its parity
    """

    number: int
    counted: bool

    @property
    def reported(self) -> int | str:
        """The number, or its parity."""
        return self.number if self.counted else "odd" if self.number else "even"

    def changed(self, other: UnstableModes) -> bool:
        """Return whether the numbers of two states differ, as far as they are known."""
        if self.counted and other.counted:
            return self.number != other.number
        return bool((self.number - other.number) % 2)


class StabilityMonitor:
    """Counts unstable modes along a path, and locates changes of their number.

    Parameters
    ----------
    problem : the equations
    solver : of a workspace of its own, so that the path is the same without the monitor
    begin : time at which the path begins
    """

    def __init__(self, problem: Problem, solver: LinearSolver, begin: float) -> None:
        self.problem, self.solver = problem, solver
        self.workspace = solver.start()
        self.rigid_partners = all(p.partner.rigid and not p.hard for p in problem.passes)
        self.last: UnstableModes | None = None
        self.located = 0
        # a sentence on bifurcations that would not be detected
        self.unseen = ""
        self.begin = begin

    def close(self) -> None:
        """Free the factors."""
        self.workspace.close()

    def symmetric(self, problem: Problem, t: float) -> bool:
        """Return whether the tangent is the second derivative of an energy."""
        return (
            self.rigid_partners
            and not problem.has_friction(t)
            and problem.conditions.conservative_loads
        )

    def modes(
        self, problem: Problem, t: float, matrix: csr_matrix | None, factors: Factors | None
    ) -> UnstableModes | None:
        """Return the unstable modes at a state, None if they cannot be determined.

        Parameters
        ----------
        matrix : the tangent there
        factors : of the tangent one iteration before, if there are any
        """
        if matrix is None or not problem.free.size:
            return None
        try:
            if self.symmetric(problem, t):
                inertia = self.workspace.inertia(problem.reduced(matrix))
                if inertia is not None:
                    return UnstableModes(inertia[1], counted=True)
            if factors is None:
                factors = self.workspace.factorise(problem.reduced(matrix))
            self.unseen = SIGNS
            return UnstableModes(int(factors.sign < 0), counted=False)
        except LinearSolveError:
            self.unseen = SINGULAR
            return None

    def check(self, state: State, outcome: Outcome, target: float, limits: Limits) -> list[Loss]:
        """Count at the end of a load step, and return the bifurcations within the step.

        Parameters
        ----------
        state : at the start of the step
        outcome : of the step
        target : program time of its end
        limits : of Newton's method
        """
        assert outcome.trial is not None
        now = self.modes(self.problem, target, outcome.matrix, outcome.factors)
        before = self.update(now)
        if before is None or now is None:
            return []
        return self.bifurcations(state, outcome.trial.u, target, (before, now), limits)

    def update(self, now: UnstableModes | None) -> UnstableModes | None:
        """Store the modes of a state, and return those of the previous one if they differ."""
        if now is None:
            return None
        before, self.last = self.last, now
        if before is None:
            before = UnstableModes(0, now.counted)
        return before if now.changed(before) else None

    def bifurcations(
        self,
        state: State,
        u: Floats,
        target: float,
        modes: tuple[UnstableModes, UnstableModes],
        limits: Limits,
    ) -> list[Loss]:
        """Return the bifurcations between a state and a later one as losses of determinism.

        Where the count changes by more than one mode there may be several, each with its time.

        Parameters
        ----------
        state : the last accepted one
        u, target : unknowns and program time of the later state
        modes : unstable modes of both
        limits : of Newton's method

        Verified by: tests/unit/solids/equilibria/test_branches.py::test_two_modes_in_one_step
        """
        (before, now), losses, begin = modes, list[Loss](), state.time
        while not losses or now.changed(before):
            low, high, before = self._bracket(state, u, (begin, target), (before, now), limits)
            where: dict[str, object] = {
                "program_time": 0.5 * (low + high),
                "from": low,
                "to": high,
                "unstable_modes": before.reported,
            }
            self.located += 1
            choice = "the same path was followed; another branches off"
            losses.append(Loss(high, "bifurcation", where, choice))
            begin = high
        return losses

    def _bracket(
        self,
        state: State,
        u: Floats,
        times: tuple[float, float],
        modes: tuple[UnstableModes, UnstableModes],
        limits: Limits,
    ) -> tuple[float, float, UnstableModes]:
        """Return two program times, by bisection, between which the count changes.

        The count after the change is returned, too.

        Parameters
        ----------
        times, modes : at both ends of the interval; the later one is that of `u`
        """
        (low, high), target, (before, after) = times, times[1], modes
        if self.located >= _MOST_LOCATED or high <= low:
            return low, high, after
        problem = self.problem.fresh_copy()
        workspace = self.solver.start()
        try:
            for k in range(_MOST_HALVINGS):
                if k >= _HALVINGS and high - low <= _RESOLUTION * (low - self.begin):
                    break
                # equilibrium in the middle, and its number of unstable modes
                t = 0.5 * (low + high)
                guess = state.u + (t - state.time) / (target - state.time) * (u - state.u)
                outcome = solve_step(problem, state, t, guess, limits, workspace)
                if outcome.trial is None:
                    break
                now = self.modes(problem, t, outcome.matrix, outcome.factors)
                if now is None:
                    break
                if now.changed(before):
                    high, after = t, now
                else:
                    low = t
        finally:
            workspace.close()
        return low, high, after


def unstable_directions(workspace: Workspace, matrix: csr_matrix, number: int) -> Floats:
    """Return eigenvectors (k, n) of negative eigenvalues, sorted by magnitude of the eigenvalue.

    If no negative one is found near zero, return the eigenvector nearest to zero alone.

    Parameters
    ----------
    workspace : of the solver
    matrix : (n, n), symmetric
    number : of negative eigenvalues

    Raises
    ------
    LinearSolveError : if the matrix is singular.

    Source: Lanczos' method on the inverse; Lehoucq, Sorensen, Yang 1998.
    Verified by: tests/unit/solids/dynamics/test_stability.py::test_unstable_modes
    """
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    n = matrix.shape[0]
    if n <= max(_DENSE, number + 2):
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        factors = workspace.factorise(matrix)
        inverse = LinearOperator(matrix.shape, factors.solve, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        count = min(number + 2, n - 1)
        while True:
            try:
                # chosen: signs of eigenvalues and directions of motions need few digits
                values, vectors = eigsh(matrix, count, sigma=0.0, OPinv=inverse, v0=start, tol=1e-6)
            except ArpackNoConvergence as partial:
                values, vectors = partial.eigenvalues, partial.eigenvectors
            except ArpackError:
                values, vectors = np.zeros(0), np.zeros((n, 0))
            if (values < 0.0).sum() >= max(number, 1) or 2 * count > min(_MOST_EIGENVALUES, n - 1):
                break
            count *= 2
        if not values.size:
            return (start / np.linalg.norm(start))[None]
    order = np.argsort(np.abs(values))
    chosen = order[values[order] < 0.0] if (values < 0.0).any() else order[:1]
    return np.ascontiguousarray(vectors[:, chosen].T)


class Snap(NamedTuple):
    """A jump to a distant equilibrium: program times around it, and the energy it releases."""

    low: float
    high: float
    energy: float


def find_snap(
    problem: Problem,
    start: tuple[State, Trial, Energies],
    target: float,
    thresholds: tuple[float, float],
    limits: Limits,
    solver: LinearSolver,
    begin: float,
) -> Snap | None:
    """Return the jump to another equilibrium within a load step, None if there is none.

    The step is repeated in recursively divided substeps. On a smooth path the error of the
    trapezoidal rule for work vanishes with their length; the energy that a jump releases remains
    missing in the substep that contains it.

    Parameters
    ----------
    problem : a copy of the equations that nothing else uses
    start : state, trial and energies at the start of the step
    target : program time of its end
    thresholds : missing energy of the whole step, and the one below which a substep is not divided
        [J/m]
    limits, solver : of Newton's method, and the sparse solver
    begin : program time at which the path begins

    Verified by: tests/convergence/test_arches.py::test_no_arch_snaps_in_silence
    """
    workspace = solver.start()
    missing, negligible = thresholds

    def step(last: tuple[State, Trial, Energies], t: float) -> tuple[State, Trial, Energies] | None:
        state, trial, energy = last
        outcome = solve_step(problem, state, t, None, limits, workspace)
        if outcome.trial is None:
            return None
        times = (state.time, t)
        energy = step_energies(problem, trial, outcome.trial, times, energy, rough=True)
        return problem.accepted(state, outcome.trial, t), outcome.trial, energy

    def locate(
        last: tuple[State, Trial, Energies], end: float, missing: float, depth: int
    ) -> tuple[float, tuple[State, Trial, Energies], float] | None:
        """Return missing energy, start and end time of a substep with a jump; None without one."""
        substeps = []
        for t in np.linspace(last[0].time, end, _SUBSTEPS + 1)[1:]:
            after = step(last, float(t))
            less = np.inf if after is None else missing_energy(last[2], after[2])[0]
            substeps.append((less, last, float(t)))
            if after is None:
                break
            last = after
        if sum(substep[0] for substep in substeps) > _SMOOTH_LIMIT * missing:
            return max(substeps, key=lambda substep: substep[0])
        for less, begin, t in substeps:
            if less > negligible and depth < _MOST_DEPTH:
                located = locate(begin, t, less, depth + 1)
                if located is not None:
                    return located
        return None

    try:
        located = locate(start, target, missing, 0)
        if located is None:
            return None
        less, last, high = located
        released = min(less, missing)
        for _ in range(_SNAP_HALVINGS):
            low = last[0].time
            # chosen: a tenth of the resolution of bifurcations
            if high - low <= 0.1 * _RESOLUTION * (low - begin):
                break
            middle = step(last, 0.5 * (low + high))
            less = np.inf if middle is None else missing_energy(last[2], middle[2])[0]
            if middle is not None and less <= 0.5 * released:
                last = middle
            else:
                high = 0.5 * (low + high)
        return Snap(last[0].time, high, released)
    finally:
        workspace.close()
