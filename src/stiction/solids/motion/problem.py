"""A solid with mass as equations: while a step of time is set, residual and tangent are its own.

Newton's method of load steps solves them: at the end of the step it asks for

    M a_m + (1 - alpha_f) G(u, v, t) + alpha_f G_0 = 0,    a_m = (1 - alpha_m) a + alpha_m a_0,

with what resists, G = internal forces - loads + dampers, at its end and at its start (0).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.membranes.assembly import WithMembranes
from stiction.solids.membranes.model import Membrane
from stiction.solids.model import Body
from stiction.solids.motion.interface import Dashpots, dashpots
from stiction.solids.motion.masses import body_mass, membrane_mass, swept_mass
from stiction.solids.motion.model import MovingSolid
from stiction.solids.motion.weights import Weights
from stiction.solids.space.model import SweptBody

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.solids.equilibria.problem import Ints

__all__ = ["MovingProblem", "Step"]

Floats = npt.NDArray[np.float64]

# a tolerance of Newton's method of 1e-9 lies a little above rounding then
_FLOOR = 2e9


class Step(NamedTuple):
    """A step of time from a state: displacements, velocities, accelerations, and G there.

    Parameters
    ----------
    dt : [s]
    u, v, a, force : (nodes, d) at its start
    """

    dt: float
    u: Floats
    v: Floats
    a: Floats
    force: Floats
    weights: Weights

    def rates(self, u: Floats) -> tuple[Floats, Floats]:
        """Return velocities and accelerations at the end, from displacements there.

        Source: Newmark 1959.
        """
        w, dt = self.weights, self.dt
        a = (u - self.u - dt * self.v - dt * dt * (0.5 - w.beta) * self.a) / (w.beta * dt * dt)
        return self.v + dt * ((1.0 - w.gamma) * self.a + w.gamma * a), a

    def predicted(self) -> Floats:
        """Return where everything gets with the acceleration it has."""
        return self.u + self.dt * self.v + 0.5 * self.dt * self.dt * self.a


class MovingProblem(Problem):
    """The equations of a solid with mass.

    Parameters
    ----------
    moving : the solid, its masses and dampers
    lumped : whether masses are diagonal
    """

    def __init__(self, moving: MovingSolid, lumped: bool) -> None:
        from scipy.sparse import block_diag, csr_matrix, identity, kron

        self._plain: list[csr_matrix] = []
        super().__init__(moving.assembled())
        self.moving, self.lumped = moving, lumped
        masses = []
        for i, (b, rho) in enumerate(zip(self.assembled.bodies, moving.densities, strict=True)):
            contact = self.assembled.boundaries_of(i)
            if isinstance(b, Body):
                masses.append(body_mass(b.mesh, b.element, contact, rho, lumped))
            elif isinstance(b, SweptBody):
                masses.append(swept_mass(b, contact, rho, lumped))
            elif isinstance(b, Membrane):
                masses.append(membrane_mass(b, rho, lumped))
        n = len(self.rigid_node)
        whole = block_diag([*masses, csr_matrix((n, n))] if n else masses)
        self._plain = [csr_matrix(kron(whole, identity(self.dim)))]
        if moving.retardation:
            self._plain.append(self._undeformed())
        self._weigh()
        self.step: Step | None = None
        # of a step of the flow towards equilibrium: unknowns at its start, and k [1/s^2]
        self.flow: tuple[Floats, float] | None = None
        # of the last step, what rounding leaves of it, as a floor of forces [N/m]
        self.moving_floor = 0.0
        blocks = [b.weights.sum(axis=1).min() for part in self.parts for b in part.blocks]
        self._least_side = float(min(blocks, default=np.inf)) ** (1.0 / self.dim)
        self._seen: list[tuple[Trial, Trial]] = []
        self._aligned: dict[str, tuple[object, Ints]] = {}

    def enter(
        self, stage: int, base: Floats | None = None, angles: dict[int, float] | None = None
    ) -> None:
        """Take the conditions of a stage; see `Problem.enter`. Masses follow its unknowns."""
        super().enter(stage, base, angles)
        if self._plain:
            self._weigh()

    def _weigh(self) -> None:
        """Find masses and dampers of the unknowns."""
        from scipy.sparse import csr_matrix, diags

        self.mass, *stiffness = (self._of_unknowns(matrix) for matrix in self._plain)
        self.damping = self.moving.drag * self.mass
        for matrix in stiffness:
            self.damping = csr_matrix(self.damping + self.moving.retardation * matrix)
        self.heavy = self.mass.diagonal() > 0.0
        # in the flow towards equilibrium rigid partners are as heavy as all bodies together
        light = np.where(self.heavy, 0.0, self.mass.sum() / self.dim)
        self.metric = csr_matrix(self.mass + diags(light))

    def _of_unknowns(self, matrix: csr_matrix) -> csr_matrix:
        made = self.unknowns.tangent(matrix)
        made.sum_duplicates()
        made.sort_indices()
        return made

    def _undeformed(self) -> csr_matrix:
        """Return the tangent of the bodies as they are made, of membranes as they are attached."""
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

    def weigh(self, a: Floats) -> Floats:
        """Return M a, (nodes, d) [N/m]."""
        return np.asarray(self.mass @ a.ravel()).reshape(a.shape)

    def kinetic(self, v: Floats) -> float:
        """Return the kinetic energy [J/m]."""
        return 0.5 * float(np.sum(v * self.weigh(v)))

    def bent(self, moved: Floats) -> float:
        """Return the size of displacements beyond the mean of every body, weighted by mass [m].

        Verified by: tests/unit/solids/motion/test_flight.py::test_flight_changes_no_error
        """
        u, mass = self.unknowns.displacements(moved), self._plain[0]
        weighed, total = (
            np.asarray(mass @ w.ravel()).reshape(u.shape) for w in (u, np.ones_like(u))
        )
        away = u.copy()
        for low, high in pairwise(self.first):
            away[low:high] -= weighed[low:high].sum(axis=0) / total[low:high].sum(axis=0)
        square = float(np.sum(away * np.asarray(mass @ away.ravel()).reshape(u.shape)))
        return float(np.sqrt(max(square, 0.0) / float(total[:, 0].sum())))

    @property
    def smallest_force(self) -> float:
        """A force [N/m] below which balance is not measured; see `Problem.still_force`."""
        return max(self.still_force, self.moving_floor)

    def dashpots(self, trial: Trial) -> list[Dashpots]:
        """Return the dashpots of all passes, none without viscosity."""
        normal, along = self.moving.normal_viscosity, self.moving.tangential_viscosity
        if normal == 0.0 and along == 0.0:
            return []
        x = self.places(trial.u)
        return [
            dashpots(p, out, found, x, normal, along)
            for p, out, found in zip(self.passes, trial.outs, trial.founds, strict=True)
        ]

    def resisted(self, pots: list[Dashpots], v: Floats) -> Floats:
        """Return the forces of dampers at rates v, as added to a residual [N/m]."""
        total = np.asarray(self.damping @ v.ravel()).reshape(v.shape)
        if pots:
            rates = self.unknowns.displacements(v)
            total += self.unknowns.forces(sum((p.forces(rates) for p in pots), np.zeros_like(v)))
        return total

    def lost(self, pots: list[Dashpots], v: Floats) -> float:
        """Return the power of dampers at rates v, never negative [W/m]."""
        rates = self.unknowns.displacements(v)
        bulk = float(np.sum(v * np.asarray(self.damping @ v.ravel()).reshape(v.shape)))
        return bulk + sum(p.loss(rates) for p in pots)

    def evaluate(
        self, state: State, u: Floats, t: float, helds: list[Ints] | None, data: bool
    ) -> tuple[Trial, csr_matrix | None]:
        """Return residual and tangent of the step of time, or of balance while none is set."""
        trial, matrix = super().evaluate(state, u, t, helds, data)
        step = self.step
        if step is None:
            return (trial, matrix) if self.flow is None else self._flowing(trial, matrix)
        w = step.weights
        v, a = step.rates(u)
        pots = self.dashpots(trial)
        force = trial.residual + self.resisted(pots, v)
        mean = w.mass * step.a + (1.0 - w.mass) * a
        moved = self.weigh(mean) + (1.0 - w.force) * force + w.force * step.force
        made = trial._replace(residual=moved)
        self._seen.append((made, trial))
        if matrix is None:
            return made, None
        by_rate = w.gamma / (w.beta * step.dt)
        matrix.data *= 1.0 - w.force
        self._add(matrix, "mass", self.mass, (1.0 - w.mass) / (w.beta * step.dt**2))
        self._add(matrix, "damping", self.damping, (1.0 - w.force) * by_rate)
        rates = self.unknowns.displacements(v)
        for number, p in enumerate(pots):
            tangent = self._of_unknowns(p.tangent(rates, by_rate))
            self._add(matrix, f"dashpots {number}", tangent, 1.0 - w.force)
        return made, matrix

    def _flowing(self, trial: Trial, matrix: csr_matrix | None) -> tuple[Trial, csr_matrix | None]:
        """Return residual and tangent of a step of the flow towards equilibrium."""
        assert self.flow is not None
        begin, rate = self.flow
        if matrix is not None:
            self._add(matrix, "metric", self.metric, rate)
        drag = rate * np.asarray(self.metric @ (trial.u - begin).ravel()).reshape(begin.shape)
        return trial._replace(residual=trial.residual + drag), matrix

    def _add(self, matrix: csr_matrix, name: str, part: csr_matrix, factor: float) -> None:
        """Add a matrix, all of whose places the tangent has; constant ones are found once."""
        if factor == 0.0 or part.nnz == 0:
            return
        known = self._aligned.get(name)
        owner: object = self._pattern if self.unknowns.plain else None
        if known is None or owner is None or known[0] is not owner or name[0] == "d":
            n = matrix.shape[0]
            keys, wanted = (
                np.repeat(np.arange(n, dtype=np.int64), np.diff(m.indptr)) * n + m.indices
                for m in (matrix, part)
            )
            at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            there = keys[at] == wanted
            if not there[part.data != 0.0].all():
                raise KeyError("the tangent lacks places of masses or dampers")
            self._aligned[name] = known = (owner, np.where(there, at, -1))
        at = known[1]
        np.add.at(matrix.data, at[at >= 0], factor * part.data[at >= 0])

    # ------------------------------------------------------------ starts

    def nodes_of_body(self, body: int) -> slice:
        """Return the nodes and control points of a body."""
        return slice(self.first[body], self.first[body + 1])

    @contextlib.contextmanager
    def held_still(self, bodies: npt.NDArray[np.bool_]) -> Iterator[None]:
        """Hold bodies where they are meanwhile.

        Parameters
        ----------
        bodies : (b,) which
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

    def distance(self, moved: Floats) -> float:
        """Return the size of displacements in the metric of the flow [m]."""
        weighed = np.asarray(self.metric @ moved.ravel())
        return float(np.sqrt(moved.ravel() @ weighed * self.dim / self.metric.sum()))

    def drift(self, residual: Floats) -> float:
        """Return the speed of the flow under forces out of equilibrium [m/s^2]."""
        return self.distance(self._free_solve(self.metric, self.free, residual))

    # ------------------------------------------------------------ steps

    def begin(self, step: Step) -> None:
        """Let residual and tangent be those of a step."""
        self.step, self._seen = step, []
        w = step.weights
        large = np.maximum(np.abs(step.u), np.abs(step.predicted()))
        rate = (1.0 - w.mass) / (w.beta * step.dt**2)
        inertia = float(np.finfo(np.float64).eps) * rate * float(np.linalg.norm(self.weigh(large)))
        # strains are differences of displacements, however far a body has gone
        strains = self.rounding * float(large.max(initial=0.0)) / self._least_side
        self.moving_floor = _FLOOR * (inertia + strains)

    def end(self, made: Trial | None) -> Trial | None:
        """Go back to balance, and return the forces at rest that a trial of the step had."""
        self.step = None
        found = next((rest for told, rest in self._seen if told is made), None)
        self._seen = []
        return found

    def kicked(self, v: Floats, driven: Floats) -> Floats:
        """Return velocities after supports have changed theirs at once.

        No impulse acts on what is free: M_ff dv_f = -M_fd dv_d.

        Parameters
        ----------
        driven : (nodes, d) velocities of what is prescribed [m/s]
        """
        change = np.where(self.fixed, driven - v, 0.0)
        return v + change + self._free_mass(-self.weigh(change))

    def accelerated(self, force: Floats) -> Floats:
        """Return accelerations from the forces at rest and of dampers; zero for supports."""
        return self._free_mass(-force)

    def _free_mass(self, right: Floats) -> Floats:
        """Return M^-1 times forces on what is free and has mass."""
        return self._free_solve(self.mass, self.free[self.heavy[self.free]], right)

    @staticmethod
    def _free_solve(matrix: csr_matrix, free: Ints, right: Floats) -> Floats:
        """Return the solution for some unknowns, zero for the others."""
        from stiction.numerics.linear_solvers import SuperLU

        found = np.zeros(right.size)
        if free.size and right.ravel()[free].any():
            with SuperLU().start() as space:
                inside = matrix[free][:, free].tocsr()
                found[free] = space.factorise(inside).solve(right.ravel()[free])
        return found.reshape(right.shape)
