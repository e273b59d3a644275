"""Boundary conditions of one stage: prescribed unknowns, multi-point constraints, external loads.

Conditions name places; this module finds their nodes and refuses conflicts. Displacements follow
from unknowns: they differ where a constraint has eliminated a displacement, and on splines, whose
unknowns belong to control points (see `unknowns`). `BoundaryConditions` returns, at any program
time, the prescribed unknowns, the external forces on unknowns and their tangents. `Problem` has one
such object for each stage, and evaluates it in every Newton iteration. Arrays (nodes, d) run over
the nodes of `Problem`; component d * node + axis is their flat index.

The order of the constructor is: nodes of single conditions, so that corners and points between
control points are known; then constraints, which eliminate unknowns that are still free; then
loads, which act on the remaining unknowns.

A program is a piecewise linear function of the program time t.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.conditions import (
    Condition,
    Driven,
    Fixed,
    Loaded,
    Nearest,
    Program,
    Rigid,
    described_place,
)
from stiction.solids.constraints import Linear, Symmetry, Tied
from stiction.solids.contact.partners import Boundary, RigidCircle
from stiction.solids.elements.faces import Faces, faces_of
from stiction.solids.equilibria.boundary_loads import (
    FaceMatrices,
    apply_matrices,
    load_vector,
    mean_weights,
    pressure_matrices,
    spring_matrices,
)
from stiction.solids.equilibria.multi_point_constraints import (
    Constraint,
    Substitution,
    eliminate,
    unprescribed,
)
from stiction.solids.equilibria.unknowns import Unknowns, nearest_node
from stiction.solids.loads import Pressure, Spring, Traction, Turned
from stiction.solids.membranes.model import Membrane
from stiction.solids.three_d.model import SweptBody

if TYPE_CHECKING:
    from stiction.solids.equilibria.problem import Problem

__all__ = ["BoundaryConditions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# largest number of nodes that two boundaries may share at a corner
_CORNER_NODES = 2
_PLANE = 2
# deviation from a line over the length up to which a boundary is straight; smaller components of a
# unit normal are zero
_STRAIGHT = 1e-9
# difference of K_ij and K_ji over the largest entry up to which a matrix is symmetric
_SYMMETRIC = 1e-12
# largest factor of a linear constraint, over that of its terms, up to which its terms cancel
_ROUNDOFF = 1e-12
_NAMES = "xyz"


class BoundaryConditions:
    """The conditions of one stage, as prescribed unknowns and external forces.

    Parameters
    ----------
    problem : bodies, contacts and their nodes
    stage : number of the stage
    base : (nodes, d) displacements when the stage began [m]; None takes zero
    angles : rotations of rigid partners when the stage began, by contact [rad]

    Attributes
    ----------
    by_number : conditions of the whole solid and of this stage, by their numbers
    fixed : (nodes, d) which unknowns are prescribed
    owner : (nodes, d) number of the condition that prescribes or loads it, -1 for none
    unknowns : the map to displacements
    driven : (nodes, component, condition) of each `Driven`
    loaded : (number, nodes, component, condition) of each `Loaded`
    dead_loads : (number, nodal forces (nodes, d) per unit of the program, program) of tractions
    pressures : (number, matrices of faces, program)
    springs : (number, spring, matrices of faces, nodal forces for a unit displacement of its end)
    rotations : by contact, (number, condition) of each `Turned`
    """

    def __init__(
        self,
        problem: Problem,
        stage: int,
        base: Floats | None = None,
        angles: Mapping[int, float] | None = None,
    ) -> None:
        self.problem, self.size, self.dim = problem, problem.size, problem.dim
        self._angles = dict(angles or {})
        assembled = problem.assembled
        stages = assembled.stages
        first = len(assembled.conditions) + sum(len(s.conditions) for s in stages[:stage])
        stage_conditions = stages[stage].conditions if stages else ()
        # numbers run through the conditions of the whole solid, then through those of all stages
        self.by_number: dict[int, Condition] = dict(enumerate(assembled.conditions))
        self.by_number |= {first + k: c for k, c in enumerate(stage_conditions)}
        self._first = len(assembled.conditions)
        self._check_components()
        self.unknowns = Unknowns(self.size, self.dim)
        self.fixed = np.zeros((self.size, self.dim), dtype=bool)
        for node in problem.rigid_node.values():
            self.fixed[node] = True
        self.owner = np.full((self.size, self.dim), -1)
        self.driven: list[tuple[Ints, int, Driven]] = []
        self.loaded: list[tuple[int, Ints, int, Loaded]] = []
        self._collect_nodal_conditions()
        base_displacements = np.zeros((self.size, self.dim)) if base is None else base
        until = [stage.until for stage in stages]
        times = np.clip(
            self.kink_times(),
            until[stage - 1] if stage else -np.inf,
            # the last stage goes on until the run ends
            until[stage] if stage + 1 < len(stages) else problem.end,
        )
        # without the positions at its begin, values of a later stage cannot be compared
        times = np.zeros(0) if stage and base is None else np.unique(times)
        self._substitutions = self._eliminate_constraints(base_displacements, times)
        self.unknowns.build()
        self._collect_loads()
        self.free = np.flatnonzero(~self.fixed.ravel())
        self._base = np.where(self.fixed, self.unknowns.values(base_displacements), 0.0)
        # programs of the whole solid give displacements since the start of the run
        self._base[(self.owner >= 0) & (self.owner < self._first)] = 0.0
        # values of constraints contain it
        self._base.flat[[component for component, _ in self._substitutions]] = 0.0

    def _check_components(self) -> None:
        """Refuse components that bodies do not have."""
        for number, condition in self.by_number.items():
            terms = getattr(condition, "terms", (condition,))
            for term in terms:
                components = getattr(term, "components", (getattr(term, "component", 0),))
                if max(components, default=0) >= self.dim:
                    where = described_place(term.where)
                    got = f"component {max(components)} in condition {number} on {where}"
                    why, try_ = "plane bodies have components 0 and 1.", "give 1 for the vertical."
                    raise ModelError("Solid.boundary_conditions", got, "0 or 1", why, try_)

    # ------------------------------------------------------------ nodes and faces

    def nodes_of(self, where: object) -> Ints:
        """Return the nodes that a condition refers to."""
        problem = self.problem
        if isinstance(where, Rigid):
            if where.contact not in problem.rigid_node:
                why = "conditions refer to contacts by number."
                needs = "the number of a contact with a rigid partner"
                try_ = "count the contacts from 0, in the order of `Solid.contacts`."
                raise ModelError("Rigid.contact", where.contact, needs, why, try_)
            return np.array([problem.rigid_node[where.contact]])
        if isinstance(where, Nearest):
            numbers, weights = self._point_weights(where)
            if numbers.size == 1:
                return numbers
            return np.array([self.unknowns.point_unknown(numbers, weights)])
        if isinstance(where, Boundary):
            self._check_boundary(where)
            sets = problem.parts[where.body].node_sets
            return np.asarray(sets[where.name] + problem.first[where.body])
        raise TypeError(f"a condition on {type(where).__name__}, which names no nodes")

    @property
    def constrained(self) -> bool:
        """Whether there are multi-point constraints."""
        return bool(self._substitutions)

    def points_of(self, where: object) -> Ints:
        """Return the nodes and control points whose weighted mean is the place of a condition."""
        if isinstance(where, Nearest):
            return self._point_weights(where)[0]
        return self.nodes_of(where)

    def other_places(self, where: object) -> list[int]:
        """Return the nodes whose unknowns are displacements of other places on splines.

        Where a place has no unknown of its own, its control points carry those of its neighbours,
        and none is returned.
        """
        if not isinstance(where, Nearest):
            return []
        own = self._point_weights(where)
        same = {
            node: all(map(np.array_equal, place, own))
            for node, place in self.unknowns.substituted.items()
        }
        return [node for node in same if not same[node]] if any(same.values()) else []

    def _point_weights(self, where: Nearest) -> tuple[Ints, Floats]:
        """Return the nodes whose weighted mean is the node nearest to a point, and the weights."""
        problem = self.problem
        self._check_body("Nearest.body", where.body)
        part = problem.parts[where.body]
        if np.size(where.point) != self.dim:
            got, needs = described_place(where), f"a point of {self.dim} coordinates"
            why = "the point has as many coordinates as the nodes of the body."
            try_ = "give (x, y) in the plane, (x, y, z) for membranes and bodies in space."
            raise ModelError("Nearest.point", got, needs, why, try_)
        numbers, weights = nearest_node(part.points, part.places, np.asarray(where.point))
        return numbers + int(problem.first[where.body]), weights

    def _check_boundary(self, where: Boundary) -> None:
        """Refuse a boundary that the body does not have."""
        self._check_body("Boundary.body", where.body)
        sets = self.problem.parts[where.body].node_sets
        if where.name not in sets:
            from stiction.errors import nearest

            why = "the mesh of the body has no boundary of that name."
            needs = "one of " + ", ".join(sorted(sets))
            try_ = nearest(where.name, sorted(sets))
            raise ModelError("Boundary.name", repr(where.name), needs, why, try_)

    def _check_body(self, name: str, body: int) -> None:
        """Refuse the number of a missing body; `name` is the argument of the message."""
        parts = self.problem.parts
        if body >= len(parts):
            needs = f"a number below {len(parts)}"
            why, try_ = "bodies are counted from 0.", "give the index of the body in the list."
            raise ModelError(name, body, needs, why, try_)

    def faces(self, where: Boundary) -> list[Faces]:
        """Return the faces of a boundary, in the numbers of the whole problem."""
        self._check_boundary(where)
        problem, body = self.problem, self.problem.assembled.bodies[where.body]
        if isinstance(body, (Membrane, SweptBody)):
            what = "of a membrane" if isinstance(body, Membrane) else "of a body in space"
            got = f"{described_place(where)}, {what}"
            why = "integrals over boundaries (loads, means) are implemented for plane bodies alone."
            try_ = "prescribe displacements, or name nodes: Loaded on Nearest, or Term of Nearest."
            needs = "a boundary of a body of the plane"
            raise ModelError("Solid.boundary_conditions", got, needs, why, try_)
        contacts = problem.assembled.boundaries_of(where.body)
        part = problem.parts[where.body]
        faces = faces_of(body.mesh, body.element, part, where.name, contacts)
        return [f._replace(nodes=f.nodes + problem.first[where.body]) for f in faces]

    def weights(self, where: object, component: int) -> tuple[Ints, Floats]:
        """Return the components, and their weights, whose sum is the displacement of a place.

        The displacement of a boundary is its mean over the reference length.
        """
        if isinstance(where, Boundary):
            weights = mean_weights(self.faces(where), self.size)
            nodes = np.flatnonzero(weights)
            return self.dim * nodes + component, weights[nodes]
        if isinstance(where, Nearest):
            numbers, weights = self._point_weights(where)
            return self.dim * numbers + component, weights
        nodes = self.nodes_of(where)
        return self.dim * nodes + component, np.ones(nodes.size)

    # ------------------------------------------------------------ single unknowns

    def _collect_nodal_conditions(self) -> None:
        """Assign unknowns to `Fixed`, `Driven` and `Loaded` conditions."""
        # at shared corners, fixed displacements take precedence over driven ones
        fixed_first = sorted(self.by_number.items(), key=lambda c: not isinstance(c[1], Fixed))
        for number, condition in fixed_first:
            if isinstance(condition, Fixed):
                nodes = self.nodes_of(condition.where)
                for component in condition.components:
                    self._claim(nodes, component, number)
                    self.fixed[nodes, component] = True
            elif isinstance(condition, Driven):
                nodes = self.nodes_of(condition.where)
                nodes = self._claim(nodes, condition.component, number)
                self.fixed[nodes, condition.component] = True
                self.driven.append((nodes, condition.component, condition))
            elif isinstance(condition, Loaded):
                nodes = self.nodes_of(condition.where)
                nodes = self._claim(nodes, condition.component, number)
                self.fixed[nodes, condition.component] = False
                self.loaded.append((number, nodes, condition.component, condition))

    def _claim(self, nodes: Ints, component: int, number: int) -> Ints:
        """Assign unknowns to a condition, and return the nodes that no other condition has.

        At a corner that two boundaries share, fixed displacements take precedence over driven ones.
        Other conflicts are refused, unless both conditions are `Driven` by the same program, or
        forces, which add up.
        """
        owner, new = self.owner, self.by_number[number]
        claimed = owner[nodes, component] >= 0
        for other in np.unique(owner[nodes[claimed], component]):
            old = self.by_number[int(other)]
            shared = int(np.sum(owner[nodes, component] == other))
            # boundaries meet in at most two nodes, which must be a minor part of this one
            corner = isinstance(new, Driven) and shared <= _CORNER_NODES and nodes.size > 2 * shared
            if isinstance(old, Fixed) and (isinstance(new, Fixed) or corner):
                continue
            if isinstance(new, Driven) and isinstance(old, Driven) and new.program == old.program:
                continue
            if isinstance(new, Loaded) and isinstance(old, Loaded):
                continue
            name = _NAMES[component]
            kinds = [type(condition).__name__ for condition in (old, new)]
            places = " and ".join(dict.fromkeys(described_place(c.where) for c in (old, new)))
            raise ModelError(
                "Solid.boundary_conditions",
                f"conditions {other} ({kinds[0]}) and {number} ({kinds[1]}) for the same "
                f"{name} displacement of {shared} nodes, on {places}",
                "one condition for each component of a node",
                "the two conditions contradict each other at these nodes.",
                "leave one of the two conditions out, or name smaller boundaries: Mesh.split.",
            )
        unclaimed = nodes if isinstance(new, (Fixed, Loaded)) else nodes[~claimed]
        owner[unclaimed, component] = number
        return unclaimed

    # ------------------------------------------------------------ sums of unknowns

    def _eliminate_constraints(self, base: Floats, times: Floats) -> list[Substitution]:
        """Eliminate one displacement for each multi-point constraint.

        Parameters
        ----------
        base : (nodes, d) displacements when the stage began [m]
        times : kinks of programs and ends of the stage, at which constraints are compared
        """
        constraints = []
        for number, condition in self.by_number.items():
            if isinstance(condition, Symmetry):
                constraints += self._symmetry_constraints(number, condition)
            elif isinstance(condition, Tied):
                constraints += self._tied_constraints(number, condition)
            elif isinstance(condition, Linear):
                constraints.append(self._linear_constraint(number, condition))
        if not constraints:
            return []
        # a rigid partner is fixed unless a constraint contains it
        rigid_nodes = set(self.problem.rigid_node.values())
        for constraint in constraints:
            for i in constraint.components:
                if int(i) // self.dim in rigid_nodes and self.owner.flat[i] < 0:
                    self.fixed.flat[i] = False
        # programs of a stage give displacements since its begin
        constraints = [self._from(base, constraint) for constraint in constraints]
        points = [
            point._replace(constraint=self._from(base, point.constraint))
            for point in self._point_substitutions()
        ]
        held = np.where((self.owner >= 0) & (self.owner < self._first), 0.0, base)
        fixed = self.fixed.ravel().copy()
        fixed[[point.component for point in points]] = False
        substitutions = eliminate(
            constraints,
            points,
            fixed,
            lambda t: (self._programs(t) + held).ravel(),
            self._owner_description,
            times,
        )
        for component, constraint in substitutions:
            self.fixed.flat[component] = True
            self.owner.flat[component] = constraint.number
            if constraint.components.size > 1 or constraint.factors[0] != 1.0:
                self.unknowns.sums[component] = (constraint.components, constraint.factors)
        return substitutions

    def _from(self, base: Floats, constraint: Constraint) -> Constraint:
        """Return a constraint whose value includes the sum at the begin of its stage."""
        if constraint.number < self._first or constraint.value is unprescribed:
            return constraint
        offset = float(constraint.factors @ base.flat[constraint.components])
        return constraint._replace(value=functools.partial(_shifted, constraint.value, offset))

    def _point_substitutions(self) -> list[Substitution]:
        """Return the substitutions made for conditions at points between control points."""
        substitutions = []
        for i, (numbers, weights) in self.unknowns.sums.items():
            prescribed = bool(self.fixed.flat[i])
            value = functools.partial(self._prescribed_value, i) if prescribed else unprescribed
            number = int(self.owner.flat[i])
            text = (
                self._owner_description(i) or f"the {_NAMES[i % self.dim]} displacement of a point"
            )
            substitutions.append(Substitution(i, Constraint(number, text, numbers, weights, value)))
        return substitutions

    def _prescribed_value(self, component: int, t: float) -> float:
        return float(self._programs(t).flat[component])

    def _owner_description(self, component: int) -> str:
        """Return words for the condition that prescribes a component, "" for none."""
        number = int(self.owner.flat[component])
        if number < 0:
            return ""
        condition = self.by_number[number]
        kind = type(condition).__name__
        where = described_place(condition.where)
        return f"condition {number}, {kind} on {where}, {_NAMES[component % self.dim]} displacement"

    def _symmetry_constraints(self, number: int, condition: Symmetry) -> list[Constraint]:
        """Return one constraint n . u = 0 for each node of a plane of symmetry."""
        where = condition.where
        nodes = self.nodes_of(where)
        if condition.normal is not None or self.dim > _PLANE:
            normal = np.zeros(0) if condition.normal is None else np.asarray(condition.normal)
            if normal.size != self.dim:
                got = f"{normal.size} components" if normal.size else None
                needs = f"{self.dim} components of the normal"
                why = "the plane of symmetry is normal to this vector."
                try_ = "give (0, 1, 0), or another direction."
                raise ModelError("Symmetry.normal", got, needs, why, try_)
        else:
            normal = self._normal_of(where, nodes)
        normal = np.where(np.abs(normal) > _STRAIGHT, normal, 0.0)
        axes = np.flatnonzero(normal)
        factors = normal[axes] / normal[np.argmax(np.abs(normal))]
        description = f"condition {number}, Symmetry on {described_place(where)}, "
        description += f"displacement along ({', '.join(f'{x:.4g}' for x in normal)})"
        return [Constraint(number, description, self.dim * n + axes, factors, _zero) for n in nodes]

    def _normal_of(self, where: Boundary, nodes: Ints) -> Floats:
        """Return the normal of a straight boundary."""
        x = self.problem.points[nodes]
        away = x - x.mean(axis=0)
        _, sizes, directions = np.linalg.svd(away, full_matrices=False)
        if sizes[-1] > _STRAIGHT * sizes[0] or nodes.size < 2:
            shape = "has one node" if nodes.size < 2 else "is curved"
            got = f"{described_place(where)}, which {shape}"
            needs = "a straight boundary, or a normal"
            why = "only a straight boundary determines the plane of symmetry."
            try_ = "give the normal of the plane."
            raise ModelError("Symmetry.where", got, needs, why, try_)
        return np.asarray(directions[-1])

    def _tied_constraints(self, number: int, condition: Tied) -> list[Constraint]:
        """Return one constraint u_node = u_leader for each other node of a tied boundary."""
        nodes, k = self.nodes_of(condition.where), condition.component
        description = f"condition {number}, Tied on {described_place(condition.where)}, "
        description += f"{_NAMES[k]} displacement"
        # all nodes are tied to a leader: a node that is fixed already, if there is one
        prescribed = np.flatnonzero(self.fixed[nodes, k])
        leader = nodes[prescribed[0]] if prescribed.size else nodes[0]
        pair = np.array([1.0, -1.0])
        others = nodes[nodes != leader]
        return [
            Constraint(number, description, self.dim * np.array([n, leader]) + k, pair, _zero)
            for n in others
        ]

    def _linear_constraint(self, number: int, condition: Linear) -> Constraint:
        """Return the constraint of a `Linear` condition; its largest factor becomes 1."""
        total: dict[int, float] = {}
        for term in condition.terms:
            for i, weight in zip(*self.weights(term.where, term.component), strict=True):
                total[int(i)] = total.get(int(i), 0.0) + term.factor * float(weight)
        components = np.array(sorted(total), dtype=np.int64)
        factors = np.array([total[int(i)] for i in components])
        largest = float(np.abs(factors).max())
        given = max(abs(term.factor) for term in condition.terms)
        terms = ", ".join(
            f"{t.factor:g} {_NAMES[t.component]} of {described_place(t.where)}"
            for t in condition.terms
        )
        description = f"condition {number}, Linear with {terms}"
        if not largest > _ROUNDOFF * given:
            why, try_ = (
                "the terms cancel, so that the condition constrains no displacement.",
                "leave this condition out.",
            )
            raise ModelError("Linear.terms", description, "a sum that is not zero", why, try_)
        value = functools.partial(_scaled, condition.program, 1.0 / largest)
        return Constraint(number, description, components, factors / largest, value, largest)

    # ------------------------------------------------------------ loads

    def _collect_loads(self) -> None:
        """Collect point loads, tractions, pressures, springs and rotations of partners."""
        self._point_loads = {
            number: (condition.program, *self._point_load(nodes, component))
            for number, nodes, component, condition in self.loaded
        }
        self.dead_loads: list[tuple[int, Floats, Program]] = []
        self.pressures: list[tuple[int, list[FaceMatrices], Program]] = []
        self.springs: list[tuple[int, Spring, list[FaceMatrices], Floats]] = []
        self.rotations: dict[int, tuple[int, Turned]] = {}
        for number, condition in self.by_number.items():
            if isinstance(condition, Traction):
                force = np.zeros((self.size, self.dim))
                faces = self.faces(condition.where)
                force[:, condition.component] = load_vector(faces, self.size)
                self.dead_loads.append((number, force, condition.program))
            elif isinstance(condition, Pressure):
                entries = pressure_matrices(self.faces(condition.where))
                self.pressures.append((number, entries, condition.program))
            elif isinstance(condition, Spring):
                self.springs.append((number, condition, *self._spring_terms(condition)))
            elif isinstance(condition, Turned):
                self._add_rotation(number, condition)

    def _spring_terms(self, spring: Spring) -> tuple[list[FaceMatrices], Floats]:
        """Return the matrix of a spring, and nodal forces for a unit displacement of its end."""
        end_force = np.zeros((self.size, self.dim))
        if isinstance(spring.where, Boundary):
            faces = self.faces(spring.where)
            end_force[:, spring.component] = spring.stiffness * mean_weights(faces, self.size)
            return spring_matrices(faces, spring.component, spring.stiffness), end_force
        components, weights = self.weights(spring.where, spring.component)
        nodes = components // self.dim
        if isinstance(spring.where, Rigid) and self.owner[nodes[0], spring.component] < 0:
            self.fixed[nodes[0], spring.component] = False
        end_force.flat[components] = spring.stiffness * weights
        blocks = np.zeros((1, nodes.size, self.dim, nodes.size, self.dim))
        k = spring.component
        blocks[0, :, k, :, k] = spring.stiffness * np.outer(weights, weights)
        return [FaceMatrices(nodes[None], blocks)], end_force

    def _add_rotation(self, number: int, condition: Turned) -> None:
        """Add the rotation of a rigid circle, once for each circle."""
        contact = condition.where.contact
        self.nodes_of(condition.where)
        if not isinstance(self.problem.assembled.pairs[contact].partner, RigidCircle):
            got = described_place(condition.where)
            why, try_ = "a plane has no axis.", "drive the plane along itself, as a belt."
            raise ModelError("Turned.where", got, "a RigidCircle", why, try_)
        if contact in self.rotations:
            other = self.rotations[contact][0]
            got = f"conditions {other} and {number} for the angle of one circle"
            why, try_ = "a circle has one angle.", "leave one of the two conditions out."
            raise ModelError("Solid.boundary_conditions", got, "one condition", why, try_)
        self.rotations[contact] = (number, condition)

    # ------------------------------------------------------------ values at a time

    def _programs(self, t: float) -> Floats:
        """Return the prescribed displacements (nodes, d) of Driven conditions [m]."""
        u = np.zeros((self.size, self.dim))
        for nodes, component, condition in self.driven:
            u[nodes, component] = condition.program.at(t)
        return u

    def prescribed(self, t: float) -> Floats:
        """Return the prescribed values (nodes, d) of unknowns [m], zero elsewhere."""
        u = self._programs(t)
        for component, constraint in self._substitutions:
            u.flat[component] = constraint.value(t)
        return u + self._base

    def programs(self) -> list[Program]:
        """Return the programs of all conditions."""
        return [c.program for c in self.by_number.values() if hasattr(c, "program")]

    def kink_times(self) -> Floats:
        """Return the times at which a program of a condition changes its slope."""
        times = [np.zeros(1), *(program.corners() for program in self.programs())]
        return np.unique(np.concatenate(times))

    def angle(self, contact: int, t: float) -> float:
        """Return the rotation of the rigid partner of a contact [rad]."""
        at_stage_start = self._angles.get(contact, 0.0)
        if contact not in self.rotations:
            return at_stage_start
        number, condition = self.rotations[contact]
        # programs of the whole solid give rotations since the start of the run
        return condition.program.at(t) + (at_stage_start if number >= self._first else 0.0)

    def loads(self, t: float, u: Floats) -> Floats:
        """Return the external loads on the unknowns (nodes, d) [N/m].

        Parameters
        ----------
        u : (nodes, d) displacements of nodes and control points [m]
        """
        f = np.zeros((self.size, self.dim))
        for program, components, weights in self._point_loads.values():
            f.flat[components] += program.at(t) * weights
        if self.dead_loads or self.pressures or self.springs:
            f += self.unknowns.forces(self.distributed_forces(t, u))
        return f

    def nodal_load(self, number: int, t: float) -> Floats:
        """Return the forces on the unknowns (nodes, d) of a `Loaded` condition [N/m]."""
        f = np.zeros((self.size, self.dim))
        program, components, weights = self._point_loads[number]
        f.flat[components] = program.at(t) * weights
        return f

    def _point_load(self, nodes: Ints, component: int) -> tuple[Ints, Floats]:
        """Return the unknowns loaded by a unit force distributed to nodes, and its components."""
        if not self._substitutions:
            return self.dim * nodes + component, np.full(nodes.size, 1.0 / nodes.size)
        # forces act on displacements, which are not the unknowns where constraints substitute them
        f = np.zeros((self.size, self.dim))
        for i in self.dim * nodes + component:
            components, weights = self.unknowns.combination(int(i))
            f.flat[components] += weights / nodes.size
        forces = self.unknowns.forces(f).ravel()
        loaded = np.flatnonzero(forces)
        return loaded, forces[loaded]

    def distributed_forces(self, t: float, u: Floats) -> Floats:
        """Return nodal forces of tractions, pressures and springs (nodes, d) [N/m]."""
        f = np.zeros((self.size, self.dim))
        for _, shape, program in self.dead_loads:
            f += program.at(t) * shape
        if self.pressures:
            x = self.problem.points + u
            for _, entries, program in self.pressures:
                f -= program.at(t) * apply_matrices(entries, x)
        return f + self.spring_forces(t, u)

    def spring_forces(self, t: float, u: Floats) -> Floats:
        """Return the forces of springs on nodes and control points (nodes, d) [N/m]."""
        f = np.zeros_like(u)
        for _, spring, entries, shape in self.springs:
            f += spring.program.at(t) * shape - apply_matrices(entries, u)
        return f

    def load_tangents(self, t: float) -> list[FaceMatrices]:
        """Return the tangents of loads: minus the derivatives of `distributed_forces`."""
        tangents = []
        for _, entries, program in self.pressures:
            p = program.at(t)
            tangents += [e._replace(blocks=p * e.blocks) for e in entries]
        for _, _, entries, _ in self.springs:
            tangents += entries
        return tangents

    @functools.cached_property
    def conservative_loads(self) -> bool:
        """Whether all loads have a potential; pressures do if their tangent is symmetric.

        Source: Hibbitt 1979.
        Verified by:
        tests/unit/solids/equilibria/test_boundary_loads.py::test_which_pressures_have_a_potential
        """
        if not self.pressures:
            return True
        # the pressures of all times are linear combinations of those at the kinks of the programs
        kinks = self.kink_times()
        pressures = np.array([[program.at(t) for t in kinks] for _, _, program in self.pressures])
        basis, sizes, _ = np.linalg.svd(pressures, full_matrices=False)
        independent = basis.T[: np.count_nonzero(sizes > _SYMMETRIC * sizes[0])]
        return all(self._is_symmetric(pressures) for pressures in independent)

    def _is_symmetric(self, pressures: Floats) -> bool:
        """Return whether the tangent of constant pressures (loaded boundaries,) is symmetric."""
        from scipy.sparse import coo_matrix

        n = self.dim * self.size
        rows, columns, values = [], [], []
        for p, (_, entries, _) in zip(pressures, self.pressures, strict=True):
            for e in entries:
                components = self.dim * e.nodes[:, :, None] + np.arange(self.dim)
                components = components.reshape(e.nodes.shape[0], -1)
                width = components.shape[1]
                rows.append(np.repeat(components, width, axis=1).ravel())
                columns.append(np.tile(components, (1, width)).ravel())
                values.append(p * e.blocks.ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        tangent = coo_matrix((np.concatenate(values), where), shape=(n, n)).tocsr()
        reduced = self.unknowns.tangent(tangent)[self.free][:, self.free]
        skew = abs(reduced - reduced.T).max() if reduced.nnz else 0.0
        return bool(skew <= _SYMMETRIC * abs(tangent).max())

    def spring_energies(self, t: float, u: Floats) -> dict[int, float]:
        """Return the energy of each spring to the ground [J/m]."""
        energies = {}
        for number, spring, entries, shape in self.springs:
            g = spring.program.at(t)
            strain = 0.5 * float(np.sum(u * apply_matrices(entries, u)))
            energies[number] = (
                strain - g * float(np.sum(u * shape)) + 0.5 * spring.stiffness * g * g
            )
        return energies


def _zero(_t: float) -> float:
    return 0.0


def _shifted(value: Callable[[float], float], offset: float, t: float) -> float:
    """Return value(t) + offset."""
    return value(t) + offset


def _scaled(program: Program, factor: float, t: float) -> float:
    """Return a factor times the program at the time t."""
    return factor * program.at(t)
