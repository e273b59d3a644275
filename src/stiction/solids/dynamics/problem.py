"""The discrete equations of a solid with mass, for Newton's method of load steps.

While a time step is set, residual and tangent are those of the generalised-alpha scheme,

    M a_m + (1 - alpha_f) G(u, v, t) + alpha_f G_0 = 0,    a_m = (1 - alpha_m) a + alpha_m a_0,

with G = internal forces - loads + dampers at the end of the step, and G_0 at its start. The
unknowns are the displacements u at the end; Newmark's relations give v and a (`Step.rates`), so the
tangent is

    K = (1 - alpha_m) / (beta dt^2) M + (1 - alpha_f) (dG/du + gamma / (beta dt) dG/dv).

Without a time step residual and tangent are those of equilibrium, or of the gradient flow towards
it. `dynamics.stepper` sets time steps, `dynamics.starts` the flow; `equilibria.newton` calls
`MovingProblem.evaluate`.

Source: Chung, Hulbert 1993.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.dynamics.interface import Dashpots, dashpots
from stiction.solids.dynamics.masses import body_mass, membrane_mass, swept_mass
from stiction.solids.dynamics.model import MovingSolid
from stiction.solids.dynamics.weights import Weights
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.membranes.assembly import WithMembranes
from stiction.solids.membranes.model import Membrane
from stiction.solids.model import Body
from stiction.solids.three_d.model import SweptBody

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.solids.equilibria.problem import Ints

__all__ = ["MovingProblem", "Step"]

Floats = npt.NDArray[np.float64]

# floor of forces over their rounding: a residual of 1e-9 times the floor lies just above rounding
_FORCE_FLOOR = 2e9


class Step(NamedTuple):
    """A time step: the state at its start, and the weights of the scheme.

    Parameters
    ----------
    dt : length of the step [s]
    u, v, a : (nodes, d) displacements, velocities and accelerations at its start
    force : (nodes, d) G at its start [N/m]
    weights : alpha_m, alpha_f, beta and gamma
    """

    dt: float
    u: Floats
    v: Floats
    a: Floats
    force: Floats
    weights: Weights

    def rates(self, u: Floats) -> tuple[Floats, Floats]:
        """Return velocities and accelerations at the end (nodes, d), from displacements there.

        Source: Newmark 1959.
        """
        w, dt = self.weights, self.dt
        a = (u - self.u - dt * self.v - dt * dt * (0.5 - w.beta) * self.a) / (w.beta * dt * dt)
        return self.v + dt * ((1.0 - w.gamma) * self.a + w.gamma * a), a

    def predicted(self) -> Floats:
        """Return the displacements at the end with constant acceleration: the predictor."""
        return self.u + self.dt * self.v + 0.5 * self.dt * self.dt * self.a


class MovingProblem(Problem):
    """The equations of a solid with mass.

    Parameters
    ----------
    system : the solid, its masses and dampers
    lumped : whether masses are diagonal
    """

    def __init__(self, system: MovingSolid, lumped: bool) -> None:
        from scipy.sparse import block_diag, csr_matrix, identity, kron

        self._full_matrices: list[csr_matrix] = []
        super().__init__(system.assembled())
        self.system, self.lumped = system, lumped
        masses = []
        for i, (b, rho) in enumerate(zip(self.assembled.bodies, system.densities, strict=True)):
            contact = self.assembled.boundaries_of(i)
            if isinstance(b, Body):
                masses.append(body_mass(b.mesh, b.element, contact, rho, lumped))
            elif isinstance(b, SweptBody):
                masses.append(swept_mass(b, contact, rho, lumped))
            elif isinstance(b, Membrane):
                masses.append(membrane_mass(b, rho, lumped))
        n = len(self.rigid_node)
        assembled_mass = block_diag([*masses, csr_matrix((n, n))] if n else masses)
        self._full_matrices = [csr_matrix(kron(assembled_mass, identity(self.dim)))]
        if system.retardation:
            self._full_matrices.append(self._undeformed())
        self._assemble_mass()
        self.step: Step | None = None
        # a step of the gradient flow: unknowns at its start, and k [1/s^2]
        self.flow: tuple[Floats, float] | None = None
        # floor of forces that follows from rounding in the current time step [N/m]
        self.step_force_floor = 0.0
        blocks = [b.weights.sum(axis=1).min() for part in self.parts for b in part.blocks]
        self._shortest_side = float(min(blocks, default=np.inf)) ** (1.0 / self.dim)
        self._evaluated: list[tuple[Trial, Trial]] = []
        self._entries_by_name: dict[str, tuple[object, Ints]] = {}

    def enter_stage(
        self, stage: int, base: Floats | None = None, angles: dict[int, float] | None = None
    ) -> None:
        """Enter a stage; see `Problem.enter_stage`. The mass matrix is that of its unknowns."""
        super().enter_stage(stage, base, angles)
        if self._full_matrices:
            self._assemble_mass()

    def _assemble_mass(self) -> None:
        """Assemble the mass and damping matrices of the unknowns."""
        from scipy.sparse import csr_matrix, diags

        self.mass, *stiffness = (self._of_unknowns(matrix) for matrix in self._full_matrices)
        self.damping = self.system.drag * self.mass
        for matrix in stiffness:
            self.damping = csr_matrix(self.damping + self.system.retardation * matrix)
        self.has_mass = self.mass.diagonal() > 0.0
        # in the gradient flow each rigid partner has the mass of all bodies together
        light = np.where(self.has_mass, 0.0, self.mass.sum() / self.dim)
        self.metric = csr_matrix(self.mass + diags(light))

    def _of_unknowns(self, matrix: csr_matrix) -> csr_matrix:
        """Return B^T M B, the matrix of the unknowns (see `equilibria.unknowns`), in sorted CSR."""
        mapped = self.unknowns.tangent(matrix)
        mapped.sum_duplicates()
        mapped.sort_indices()
        return mapped

    def _undeformed(self) -> csr_matrix:
        """Return the tangent of undeformed bodies and of prestretched membranes."""
        blocks = [(block.elements, block.table) for block in self.bulk.blocks]
        sheets = getattr(self.bulk, "sheets", [])
        bulk = WithMembranes(blocks, sheets) if sheets else Bulk(blocks)
        pattern = Pattern(self.size, self.dim, bulk.pairs())
        bulk.bind(pattern)
        data = np.zeros(pattern.entries)
        none = np.zeros((self.size, self.dim))
        bulk.add(none, none.copy(), data)
        return pattern.matrix(data)

    # ------------------------------------------------------------ forces

    def mass_times(self, a: Floats) -> Floats:
        """Return M a, (nodes, d) [N/m]."""
        return np.asarray(self.mass @ a.ravel()).reshape(a.shape)

    def kinetic(self, v: Floats) -> float:
        """Return the kinetic energy [J/m]."""
        return 0.5 * float(np.sum(v * self.mass_times(v)))

    def deformation(self, unknowns: Floats) -> float:
        """Return the mass-weighted norm of displacements minus the mean of each body [m].

        Verified by: tests/unit/solids/dynamics/test_flight.py::test_flight_changes_no_error
        """
        u, mass = self.unknowns.displacements(unknowns), self._full_matrices[0]
        momentum, total = (
            np.asarray(mass @ w.ravel()).reshape(u.shape) for w in (u, np.ones_like(u))
        )
        relative = u.copy()
        for low, high in pairwise(self.first):
            relative[low:high] -= momentum[low:high].sum(axis=0) / total[low:high].sum(axis=0)
        square = float(np.sum(relative * np.asarray(mass @ relative.ravel()).reshape(u.shape)))
        return float(np.sqrt(max(square, 0.0) / float(total[:, 0].sum())))

    @property
    def force_floor(self) -> float:
        """The smallest scale of residuals [N/m]; see `Problem.static_force_floor`."""
        return max(self.static_force_floor, self.step_force_floor)

    def dashpots(self, trial: Trial) -> list[Dashpots]:
        """Return the dashpots of all passes, none without viscosity."""
        normal, tangential = self.system.normal_viscosity, self.system.tangential_viscosity
        if normal == 0.0 and tangential == 0.0:
            return []
        x = self.positions(trial.u)
        return [
            dashpots(p, out, points, x, normal, tangential)
            for p, out, points in zip(
                self.passes, trial.point_values, trial.closest_points, strict=True
            )
        ]

    def damping_force(self, dampers: list[Dashpots], v: Floats) -> Floats:
        """Return the damping forces at velocities v, as added to a residual [N/m]."""
        total = np.asarray(self.damping @ v.ravel()).reshape(v.shape)
        if dampers:
            rates = self.unknowns.displacements(v)
            total += self.unknowns.forces(sum((p.forces(rates) for p in dampers), np.zeros_like(v)))
        return total

    def damping_power(self, dampers: list[Dashpots], v: Floats) -> float:
        """Return the power that dampers dissipate at velocities v, never negative [W/m]."""
        rates = self.unknowns.displacements(v)
        bulk = float(np.sum(v * np.asarray(self.damping @ v.ravel()).reshape(v.shape)))
        return bulk + sum(p.power(rates) for p in dampers)

    def evaluate(
        self, state: State, u: Floats, t: float, fixed_states: list[Ints] | None, data: bool
    ) -> tuple[Trial, csr_matrix | None]:
        """Return residual and tangent of the time step, of the flow, or of equilibrium.

        Arguments are those of `Problem.evaluate`; u are the displacements at the end of the step.
        """
        trial, matrix = super().evaluate(state, u, t, fixed_states, data)
        step = self.step
        if step is None:
            return (trial, matrix) if self.flow is None else self._gradient_flow(trial, matrix)
        # G at the end of the step, and the residual of the scheme
        w = step.weights
        v, a = step.rates(u)
        interface = self.dashpots(trial)
        force = trial.residual + self.damping_force(interface, v)
        mean = w.mass * step.a + (1.0 - w.mass) * a
        residual = self.mass_times(mean) + (1.0 - w.force) * force + w.force * step.force
        step_trial = trial._replace(residual=residual)
        self._evaluated.append((step_trial, trial))
        if matrix is None:
            return step_trial, None
        # tangent: static part and dampers weighted by 1 - alpha_f, mass by (1 - alpha_m)
        by_rate = w.gamma / (w.beta * step.dt)
        matrix.data *= 1.0 - w.force
        self._add_matrix(matrix, "mass", self.mass, (1.0 - w.mass) / (w.beta * step.dt**2))
        self._add_matrix(matrix, "damping", self.damping, (1.0 - w.force) * by_rate)
        rates = self.unknowns.displacements(v)
        for number, p in enumerate(interface):
            tangent = self._of_unknowns(p.tangent(rates, by_rate))
            self._add_matrix(matrix, f"dashpots {number}", tangent, 1.0 - w.force)
        return step_trial, matrix

    def _gradient_flow(
        self, trial: Trial, matrix: csr_matrix | None
    ) -> tuple[Trial, csr_matrix | None]:
        """Return residual f + k M (u - u_0) and tangent of a step of the gradient flow."""
        assert self.flow is not None
        begin, rate = self.flow
        if matrix is not None:
            self._add_matrix(matrix, "metric", self.metric, rate)
        drag = rate * np.asarray(self.metric @ (trial.u - begin).ravel()).reshape(begin.shape)
        return trial._replace(residual=trial.residual + drag), matrix

    def _add_matrix(self, matrix: csr_matrix, name: str, part: csr_matrix, factor: float) -> None:
        """Add `factor` times `part`, whose pattern the tangent `matrix` contains.

        Constant patterns are indexed once, under `name`.
        """
        if factor == 0.0 or part.nnz == 0:
            return
        entries = self._entries_by_name.get(name)
        owner: object = self._pattern if self.unknowns.is_identity else None
        if (
            entries is None
            or owner is None
            or entries[0] is not owner
            or name.startswith("dashpots")
        ):
            # one sorted key per entry (row, column): places of the entries of `part` in `matrix`
            n = matrix.shape[0]
            keys, wanted = (
                np.repeat(np.arange(n, dtype=np.int64), np.diff(m.indptr)) * n + m.indices
                for m in (matrix, part)
            )
            positions = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            exists = keys[positions] == wanted
            if not exists[part.data != 0.0].all():
                raise KeyError("the pattern of the tangent lacks entries of masses or dampers")
            self._entries_by_name[name] = entries = (owner, np.where(exists, positions, -1))
        positions = entries[1]
        np.add.at(matrix.data, positions[positions >= 0], factor * part.data[positions >= 0])

    # ------------------------------------------------------------ starts

    def nodes_of_body(self, body: int) -> slice:
        """Return the nodes and control points of a body."""
        return slice(self.first[body], self.first[body + 1])

    @contextlib.contextmanager
    def fixed_bodies(self, bodies: npt.NDArray[np.bool_]) -> Iterator[None]:
        """Context in which all unknowns of some bodies are fixed.

        Parameters
        ----------
        bodies : (b,) whether each body is fixed
        """
        fixed, free = self.fixed, self.free
        if not bodies.any():
            yield
            return
        self.fixed = fixed.copy()
        for body in np.flatnonzero(bodies):
            self.fixed[self.nodes_of_body(int(body))] = True
        self.free = free[~self.fixed.ravel()[free]]
        self.couple([])
        try:
            yield
        finally:
            self.fixed, self.free = fixed, free
            self.couple([])

    def distance(self, displacement: Floats) -> float:
        """Return the norm of displacements in the metric of the flow [m]."""
        weighed = np.asarray(self.metric @ displacement.ravel())
        return float(np.sqrt(displacement.ravel() @ weighed * self.dim / self.metric.sum()))

    def flow_speed(self, residual: Floats) -> float:
        """Return the speed of the flow, the norm of M^-1 f, at a residual f [m/s^2]."""
        return self.distance(self._free_solve(self.metric, self.free, residual))

    # ------------------------------------------------------------ steps

    def begin_step(self, step: Step) -> None:
        """Begin a time step: residual and tangent are those of the step from now on."""
        self.step, self._evaluated = step, []
        w = step.weights
        large = np.maximum(np.abs(step.u), np.abs(step.predicted()))
        rate = (1.0 - w.mass) / (w.beta * step.dt**2)
        eps = float(np.finfo(np.float64).eps)
        inertia = eps * rate * float(np.linalg.norm(self.mass_times(large)))
        # strains are differences of displacements, whose rounding grows with the distance travelled
        strains = self.rounding * float(large.max(initial=0.0)) / self._shortest_side
        self.step_force_floor = _FORCE_FLOOR * (inertia + strains)

    def end_step(self, step_trial: Trial | None) -> Trial | None:
        """End the time step, and return the static residual of one of its trials."""
        self.step = None
        static = next(
            (
                static_trial
                for evaluated, static_trial in self._evaluated
                if evaluated is step_trial
            ),
            None,
        )
        self._evaluated = []
        return static

    def after_impulse(self, v: Floats, driven: Floats) -> Floats:
        """Return velocities after an instantaneous change of those of supports.

        No impulse acts on free unknowns: M_ff dv_f = -M_fd dv_d.

        Parameters
        ----------
        driven : (nodes, d) velocities of prescribed unknowns [m/s]
        """
        change = np.where(self.fixed, driven - v, 0.0)
        return v + change + self._free_mass(-self.mass_times(change))

    def acceleration(self, force: Floats) -> Floats:
        """Return accelerations -M^-1 G [m/s^2] of free unknowns, zero for supports.

        `force` is G (nodes, d) [N/m].
        """
        return self._free_mass(-force)

    def _free_mass(self, right: Floats) -> Floats:
        """Return M^-1 times the forces `right` (nodes, d) on free unknowns with mass."""
        return self._free_solve(self.mass, self.free[self.has_mass[self.free]], right)

    @staticmethod
    def _free_solve(matrix: csr_matrix, free: Ints, right: Floats) -> Floats:
        """Return the solution of the linear system of the unknowns `free`, zero for the others."""
        from stiction.numerics.linear_solvers import SuperLU

        solution = np.zeros(right.size)
        if free.size and right.ravel()[free].any():
            with SuperLU().start() as workspace:
                reduced = matrix[free][:, free].tocsr()
                solution[free] = workspace.factorise(reduced).solve(right.ravel()[free])
        return solution.reshape(right.shape)
