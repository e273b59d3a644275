"""Newton's method for displacements u and program time t together: the bordered system.

A control equation c(u, t) = 0 joins the equilibrium r(u, t) = 0. Each iteration solves

    [ K    r_t ] [du]     [ r ]
    [ c_u  c_t ] [dt] = - [ c ],

by two solutions with K, for r and for r_t (block elimination). Indices u and t are derivatives with
respect to the free unknowns and to time. There are three controls c: arclength, adhesive energy,
and time. `arclength` and `branches` call `Bordered.solve`. The bordered matrix is regular at
limit points, where K is singular. Iterates lie near limit points, not on them, so that K can be
factorised; a step with an exactly singular K fails with this reason.

Source: Keller 1977; Riks 1979.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.continuation import bordered
from stiction.numerics.linear_solvers import LinearSolveError
from stiction.numerics.vectors import inner, size_of
from stiction.solids.contact import sweeps
from stiction.solids.equilibria.newton import (
    Factoriser,
    Limits,
    Probe,
    force_scale,
    line_search,
)
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.readings import columns

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors

__all__ = [
    "BEYOND",
    "AdhesionControl",
    "ArcStep",
    "ArclengthControl",
    "Bordered",
    "Control",
    "PathPoint",
    "TimeControl",
    "adhesion_gradient",
]

Floats = npt.NDArray[np.float64]

# step of finite differences in time, over the time of the path, and over the rounding of times
_TIME_STEP, _OF_ROUNDING = 1e-7, 1e3
BEYOND = "the step passes a kink of a load program"


class PathPoint(NamedTuple):
    """A point of the path: program time t, and unknowns u (nodes, d) [m]."""

    t: float
    u: Floats


class ArcStep(NamedTuple):
    """The result of one controlled step.

    Parameters
    ----------
    trial : the solution; None if the step did not converge
    t : program time of its end
    iterations, residuals : Newton iterations, and residual over the forces in each [1]
    factors, matrix : tangent of the last iteration
    reason : of a failure, "" for none
    """

    trial: Trial | None
    t: float
    iterations: int
    residuals: tuple[float, ...]
    factors: Factors | None
    matrix: csr_matrix | None
    reason: str


class ArclengthControl(NamedTuple):
    """Arclength control: the end lies in a plane normal to the predictor.

    Parameters
    ----------
    problem : the equations
    first : begin of the step
    gradient_u, gradient_t : unit normal of the plane, for free unknowns and for time
    size : distance of the plane from `first`, the arclength [1]
    """

    problem: Problem
    first: PathPoint
    gradient_u: Floats
    gradient_t: float
    size: float

    def at(self, trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return c at a trial, and dc/du of the free unknowns and dc/dt."""
        change = (trial.u - self.first.u).ravel()[self.problem.free]
        defect = inner(self.gradient_u, change) + self.gradient_t * (t - self.first.t) - self.size
        return defect, self.gradient_u, self.gradient_t


class AdhesionControl(NamedTuple):
    """Control by the adhesive energy, which increases monotonically while bodies peel.

    Parameters
    ----------
    problem : the equations
    before, size : adhesive energy at the begin of the step, and its prescribed change [J/m]
    """

    problem: Problem
    before: float
    size: float

    def at(self, trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return c at a trial, and dc/du of the free unknowns and dc/dt."""
        energy, slope = adhesion_gradient(self.problem, trial, t)
        return energy - self.before - self.size, slope.ravel()[self.problem.free], 0.0


class TimeControl(NamedTuple):
    """Control by time, as in a load step.

    Parameters
    ----------
    problem : the equations
    time : prescribed program time
    size : scale of times, for the tolerance
    """

    problem: Problem
    time: float
    size: float

    def at(self, _trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return c at a trial, and dc/du of the free unknowns and dc/dt."""
        return t - self.time, np.zeros(self.problem.free.size), 1.0


Control = ArclengthControl | AdhesionControl | TimeControl


def adhesion_gradient(problem: Problem, trial: Trial, t: float) -> tuple[float, Floats]:
    """Return the adhesive energy and its derivatives with respect to displacements (nodes, d).

    Energies are in J, in the plane per unit thickness. In two-half-pass contact each pass counts
    half the energy; the traction of a point on its own surface is then the whole gradient.
    Columns of `point_values`: see `contact.sweeps`.

    Parameters
    ----------
    t : program time, which the attraction depends on

    Verified by: tests/unit/solids/equilibria/test_two_half_pass.py::test_slope_of_the_adhesion
    """
    gradient = np.zeros((problem.size, problem.dim))
    energy = 0.0
    x, attraction = problem.positions(trial.u), problem.assembled.attraction.at(t)
    passes = zip(problem.passes, trial.point_values, trial.closest_points, strict=True)
    for p, out, closest in passes:
        energy += p.energy_fraction * float(out[:, sweeps.POTENTIAL].sum())
        if p.mortar:
            p.add_normal_forces(x, closest, attraction, gradient)
            continue
        traction = -out[:, sweeps.WEIGHT] * out[:, sweeps.PRESSURE] * out[:, sweeps.STRETCH]
        force = traction[:, None] * out[:, columns(sweeps.NORMAL_X, p.dim)]
        s, q = p.own.areas.shape
        nodal = np.einsum("sqn,sqd->snd", p.own.functions, force.reshape(s, q, p.dim))
        np.add.at(gradient, p.own.nodes.ravel(), nodal.reshape(-1, p.dim))
        if p.partner.rigid:
            gradient[p.partner.node] -= force.sum(axis=0)
    return energy, problem.unknowns.forces(gradient)


class Bordered:
    """The bordered system of a problem.

    Parameters
    ----------
    problem, space, limits : the equations, a linear solver, and when Newton's method ends
    span : program times between which the path lies
    """

    def __init__(
        self, problem: Problem, space: Factoriser, limits: Limits, span: tuple[float, float]
    ) -> None:
        self.problem, self.workspace, self.limits = problem, space, limits
        begin, end = span
        rounding = np.finfo(np.float64).eps * max(abs(begin), abs(end))
        # of finite differences in time
        self.time_step = max(_TIME_STEP * (end - begin), _OF_ROUNDING * rounding)

    def time_derivative(self, trial: Trial, matrix: csr_matrix, state: State, t: float) -> Floats:
        """Return dr/dt of the free unknowns (free,), including moving prescribed displacements.

        Loads and prescribed displacements have central differences. Attraction and rotation of
        partners, which have no other derivative, have a forward difference of the residual.

        Parameters
        ----------
        trial, matrix : evaluation and tangent at the point
        state : the last accepted one
        t : program time
        """
        problem = self.problem
        h = self.time_step
        rate = (problem.prescribed(t + h) - problem.prescribed(t - h)) / (2.0 * h)
        u = problem.unknowns.displacements(trial.u)
        loads = problem.loads(t, u)
        load_rate = (problem.loads(t + h, u) - problem.loads(t - h, u)) / (2.0 * h)
        derivative = matrix @ rate.ravel() - load_rate.ravel()
        if problem.contact_varies(t, h):
            later, _ = problem.evaluate(state, trial.u, t + h, None, data=False)
            later_forces = later.residual + problem.loads(t + h, u)
            derivative += ((later_forces - trial.residual - loads) / h).ravel()
        return np.asarray(derivative)[problem.free]

    def solve(self, state: State, guess: PathPoint, control: Control, kink_time: float) -> ArcStep:
        """Solve for the point near the guess at which equilibrium and the control hold.

        Parameters
        ----------
        state : the last accepted one
        kink_time : program time at which the slope of a program changes; no step goes beyond it
        """
        problem, free = self.problem, self.problem.free
        t, u = guess
        u = np.where(problem.fixed, problem.prescribed(t), u)
        residuals: list[float] = []
        trial, matrix = problem.evaluate(state, u, t, None, data=True)
        if trial.inverted or not np.isfinite(trial.residual).all():
            return ArcStep(None, t, 0, (), None, None, "an element is inverted at the first guess")
        factors: Factors | None = None
        for iteration in range(self.limits.iterations):
            size = size_of(trial.residual.ravel()[free]) / force_scale(problem, trial)
            residuals.append(size)
            defect, gradient_u, gradient_t = control.at(trial, t)
            # chosen: the length of a step need not be met more accurately
            converged = size <= self.limits.tolerance and abs(defect) <= 1e-6 * control.size
            if converged and iteration > 0:
                return ArcStep(trial, t, iteration, tuple(residuals), factors, matrix, "")
            assert matrix is not None
            time_derivative = self.time_derivative(trial, matrix, state, t)
            residual = trial.residual.ravel()[free]
            failed = ArcStep(None, t, iteration, tuple(residuals), None, None, "a singular tangent")
            try:
                factors = self.workspace.factorise(problem.reduced(matrix))
                solutions = factors.solve(np.stack([-residual, time_derivative], axis=1))
            except LinearSolveError:
                return failed
            try:
                step, dt = bordered(solutions, gradient_u, gradient_t, -defect)
            except np.linalg.LinAlgError:
                return failed._replace(reason="the bordered matrix is singular")
            if not np.isfinite(dt) or not np.isfinite(step).all():
                return failed
            accepted = self._advance(state, u, t, step, dt, inner(residual, step))
            if accepted is None:
                return failed._replace(reason="every fraction of Newton's step inverts an element")
            u, t, trial, matrix, _ = accepted
            if t > kink_time:
                # derivatives of the programs change at the kink
                return ArcStep(None, t, iteration, tuple(residuals), None, None, BEYOND)
        reason = "Newton's method did not converge"
        return ArcStep(None, t, self.limits.iterations, tuple(residuals), None, None, reason)

    def _advance(
        self, state: State, u: Floats, t: float, step: Floats, dt: float, slope: float
    ) -> Probe | None:
        """Return the line search along a step (free,) of displacements and `dt` of time.

        `slope` is r . step at the beginning.
        """
        problem, free = self.problem, self.problem.free

        def probe(fraction: float) -> Probe:
            new_time = t + fraction * dt
            new = u.ravel().copy()
            new[free] += fraction * step
            tried = np.where(problem.fixed, problem.prescribed(new_time), new.reshape(u.shape))
            trial, matrix = problem.evaluate(state, tried, new_time, None, data=True)
            return Probe(tried, new_time, trial, matrix, fraction)

        return line_search(probe, free, step, slope)
