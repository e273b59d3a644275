"""What conditions ask of the unknowns: which are held, which follow programs, what loads them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
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
    told_place,
)
from stiction.solids.constraints import Linear, Symmetry, Tied
from stiction.solids.contact.partners import Boundary, RigidCircle
from stiction.solids.elements.faces import Faces, faces_of
from stiction.solids.equilibria import boundary_loads as on
from stiction.solids.equilibria.multi_point_constraints import Row, Taken, eliminate, free_sum
from stiction.solids.equilibria.unknowns import Unknowns, nearest_place
from stiction.solids.loads import Pressure, Spring, Traction, Turned
from stiction.solids.membranes.model import Membrane
from stiction.solids.space.model import SweptBody

if TYPE_CHECKING:
    from stiction.solids.equilibria.problem import Problem

__all__ = ["Holding"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# nodes that two boundaries may share at a corner
_CORNER = 2
# part of its length by which a straight boundary may leave its line
_STRAIGHT = 1e-9
# part of the largest entry by which mirrored entries of a pressure may differ
_EVEN = 1e-12
_NAMES = "xyz"


class Holding:
    """Conditions of one stage, as unknowns that are held and forces that act.

    Parameters
    ----------
    problem : bodies, contacts and their nodes
    stage : number of the stage
    base : (nodes, d) displacements when the stage began [m]; None takes zero
    angles : of rigid partners then, by contact [rad]

    Attributes
    ----------
    fixed : (nodes, d) which unknowns are prescribed
    owner : (nodes, d) number of the condition that prescribes or loads it, -1 for none
    unknowns : the map to displacements
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
        whole = problem.assembled
        stages = whole.stages
        first = len(whole.conditions) + sum(len(s.conditions) for s in stages[:stage])
        now = stages[stage].conditions if stages else ()
        # numbered through: those of the whole solid, then those of one stage after the other
        self.conditions: dict[int, Condition] = dict(enumerate(whole.conditions))
        self.conditions |= {first + k: c for k, c in enumerate(now)}
        self._first = len(whole.conditions)
        self._check_components()
        self.unknowns = Unknowns(self.size, self.dim)
        self.fixed = np.zeros((self.size, self.dim), dtype=bool)
        for node in problem.rigid_node.values():
            self.fixed[node] = True
        self.owner = np.full((self.size, self.dim), -1)
        self.driven: list[tuple[Ints, int, Driven]] = []
        self.loaded: list[tuple[int, Ints, int, Loaded]] = []
        self._points_held()
        self._rows = self._constrained()
        self.unknowns.bind()
        self.free = np.flatnonzero(~self.fixed.ravel())
        moved = np.zeros((self.size, self.dim)) if base is None else base
        self._base = np.where(self.fixed, self.unknowns.values(moved), 0.0)
        # conditions of the whole solid count from the beginning
        self._base[(self.owner >= 0) & (self.owner < self._first)] = 0.0
        self._boundaries()

    def _check_components(self) -> None:
        """Refuse components that bodies do not have."""
        for number, condition in self.conditions.items():
            terms = getattr(condition, "terms", (condition,))
            for one in terms:
                given = getattr(one, "components", (getattr(one, "component", 0),))
                if max(given, default=0) >= self.dim:
                    got = f"component {max(given)} in condition {number} on {told_place(one.where)}"
                    why, try_ = "bodies of the plane have two of them.", "give 1 for the vertical."
                    where = "Solid.boundary_conditions"
                    raise ModelError(where, got, "0 or 1", why, try_)

    # ------------------------------------------------------------ places

    def nodes_of(self, where: object) -> Ints:
        """Return the nodes that a condition refers to."""
        problem = self.problem
        if isinstance(where, Rigid):
            if where.contact not in problem.rigid_node:
                why = "conditions refer to contacts by number."
                needs = "the number of a contact with a rigid partner"
                try_ = "see the order of the contacts."
                raise ModelError("Rigid.contact", where.contact, needs, why, try_)
            return np.array([problem.rigid_node[where.contact]])
        if isinstance(where, Nearest):
            numbers, shares = self._place_of(where)
            if numbers.size == 1:
                return numbers
            return np.array([self.unknowns.take(numbers, shares)])
        if isinstance(where, Boundary):
            self._check_boundary(where)
            sets = problem.parts[where.body].node_sets
            return np.asarray(sets[where.name] + problem.first[where.body])
        raise TypeError(where)

    @property
    def constrained(self) -> bool:
        """Whether sums of displacements are held."""
        return bool(self._rows)

    def points_of(self, where: object) -> Ints:
        """Return the nodes and control points that make a place."""
        if isinstance(where, Nearest):
            return self._place_of(where)[0]
        return self.nodes_of(where)

    def _place_of(self, where: Nearest) -> tuple[Ints, Floats]:
        problem = self.problem
        self._check_body("Nearest.body", where.body)
        part = problem.parts[where.body]
        if np.size(where.point) != self.dim:
            got, needs = told_place(where), f"a point of {self.dim} coordinates"
            why, try_ = "body and point lie in one space.", "give (x, y), of membranes (x, y, z)."
            raise ModelError("Nearest.point", got, needs, why, try_)
        numbers, shares = nearest_place(part.points, part.places, np.asarray(where.point))
        return numbers + int(problem.first[where.body]), shares

    def _check_boundary(self, where: Boundary) -> None:
        self._check_body("Boundary.body", where.body)
        sets = self.problem.parts[where.body].node_sets
        if where.name not in sets:
            from stiction.errors import nearest

            why = "the mesh of the body has no boundary of that name."
            needs = "one of " + ", ".join(sorted(sets))
            try_ = nearest(where.name, sorted(sets))
            raise ModelError("Boundary.name", repr(where.name), needs, why, try_)

    def _check_body(self, name: str, body: int) -> None:
        parts = self.problem.parts
        if body >= len(parts):
            needs = f"a number below {len(parts)}"
            why, try_ = "bodies are counted from 0.", "give the place in the list."
            raise ModelError(name, body, needs, why, try_)

    def faces(self, where: Boundary) -> list[Faces]:
        """Return the faces of a boundary, in the numbers of the whole problem."""
        self._check_boundary(where)
        problem, body = self.problem, self.problem.assembled.bodies[where.body]
        if isinstance(body, (Membrane, SweptBody)):
            what = "of a membrane" if isinstance(body, Membrane) else "of a body in space"
            got = f"{told_place(where)}, {what}"
            why, try_ = "loads are spread over lines of plane bodies alone.", "drive it instead."
            needs = "a boundary of a body of the plane"
            raise ModelError("Solid.boundary_conditions", got, needs, why, try_)
        contacts = problem.assembled.boundaries_of(where.body)
        part = problem.parts[where.body]
        found = faces_of(body.mesh, body.element, part, where.name, contacts)
        return [f._replace(nodes=f.nodes + problem.first[where.body]) for f in found]

    def shares(self, where: object, component: int) -> tuple[Ints, Floats]:
        """Return components and shares that make the displacement of a place, or a mean one."""
        if isinstance(where, Boundary):
            found = on.mean_shares(self.faces(where), self.size)
            nodes = np.flatnonzero(found)
            return self.dim * nodes + component, found[nodes]
        if isinstance(where, Nearest):
            numbers, shares = self._place_of(where)
            return self.dim * numbers + component, shares
        nodes = self.nodes_of(where)
        return self.dim * nodes + component, np.ones(nodes.size)

    # ------------------------------------------------------------ single unknowns

    def _points_held(self) -> None:
        # what is held comes first
        given = sorted(self.conditions.items(), key=lambda c: not isinstance(c[1], Fixed))
        for number, condition in given:
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
        """Note that a condition has these unknowns, and return those that are left to it.

        Where boundaries share a node at their corner, what is held stays held. What two
        conditions ask for beyond that is refused, unless both ask for the same.
        """
        owner, mine = self.owner, self.conditions[number]
        taken = owner[nodes, component] >= 0
        for other in np.unique(owner[nodes[taken], component]):
            theirs = self.conditions[int(other)]
            shared = int(np.sum(owner[nodes, component] == other))
            corner = isinstance(mine, Driven) and shared <= _CORNER and nodes.size > 2 * shared
            if isinstance(theirs, Fixed) and (isinstance(mine, Fixed) or corner):
                continue
            both = isinstance(mine, Driven) and isinstance(theirs, Driven)
            if both and vars(mine)["program"] == vars(theirs)["program"]:
                continue
            name = _NAMES[component]
            kinds = [type(condition).__name__ for condition in (theirs, mine)]
            places = " and ".join(dict.fromkeys(told_place(c.where) for c in (theirs, mine)))
            raise ModelError(
                "Solid.boundary_conditions",
                f"conditions {other} ({kinds[0]}) and {number} ({kinds[1]}) for the same "
                f"{name} displacement of {shared} nodes, on {places}",
                "one condition for each component of a node",
                "two conditions ask for different things there.",
                "leave one out, or name smaller boundaries: Mesh.split.",
            )
        left = nodes if isinstance(mine, Fixed) else nodes[~taken]
        owner[left, component] = number
        return left

    # ------------------------------------------------------------ sums of unknowns

    def _constrained(self) -> list[Taken]:
        """Give every linear constraint its unknown."""
        rows = []
        for number, condition in self.conditions.items():
            if isinstance(condition, Symmetry):
                rows += self._in_plane(number, condition)
            elif isinstance(condition, Tied):
                rows += self._as_one(number, condition)
            elif isinstance(condition, Linear):
                rows.append(self._sum(number, condition))
        if not rows:
            return []
        # a rigid partner stands still unless something else is said of it
        rigid = set(self.problem.rigid_node.values())
        for row in rows:
            for i in row.places:
                if int(i) // self.dim in rigid and self.owner.flat[i] < 0:
                    self.fixed.flat[i] = False
        places = self._places_taken()
        fixed = self.fixed.ravel().copy()
        fixed[[place.place for place in places]] = False
        taken = eliminate(
            rows,
            places,
            fixed,
            lambda t: self._programs(t).ravel(),
            self._owner_words,
            self.corners(),
        )
        for place, row in taken:
            self.fixed.flat[place] = True
            self.owner.flat[place] = row.number
            if row.places.size > 1 or row.shares[0] != 1.0:
                self.unknowns.rows[place] = (row.places, row.shares)
        return taken

    def _places_taken(self) -> list[Taken]:
        """Return the sums that stand for places between control points."""
        found = []
        for i, (numbers, shares) in self.unknowns.rows.items():
            held = bool(self.fixed.flat[i])
            asked = functools.partial(self._value_of, i) if held else free_sum
            number = int(self.owner.flat[i])
            words = self._owner_words(i) or f"the {_NAMES[i % self.dim]} displacement of a place"
            found.append(Taken(i, Row(number, words, numbers, shares, asked)))
        return found

    def _value_of(self, place: int, t: float) -> float:
        return float(self._programs(t).flat[place])

    def _owner_words(self, place: int) -> str:
        number = int(self.owner.flat[place])
        if number < 0:
            return ""
        condition = self.conditions[number]
        what = type(condition).__name__
        where = told_place(condition.where)
        return f"condition {number}, {what} on {where}, {_NAMES[place % self.dim]} displacement"

    def _in_plane(self, number: int, condition: Symmetry) -> list[Row]:
        where = condition.where
        nodes = self.nodes_of(where)
        if condition.normal is not None or self.dim > _CORNER:
            normal = np.zeros(0) if condition.normal is None else np.asarray(condition.normal)
            if normal.size != self.dim:
                got, needs = f"{normal.size} components", f"a normal of {self.dim}"
                why, try_ = "the plane is across it.", "give (0, 1, 0), or another direction."
                raise ModelError("Symmetry.normal", got, needs, why, try_)
        else:
            normal = self._normal_of(where, nodes)
        normal = np.where(np.abs(normal) > _STRAIGHT, normal, 0.0)
        there = np.flatnonzero(normal)
        shares = normal[there] / normal[np.argmax(np.abs(normal))]
        words = f"condition {number}, Symmetry on {told_place(where)}, "
        words += f"displacement along ({', '.join(f'{x:.4g}' for x in normal)})"
        return [Row(number, words, self.dim * n + there, shares, _nothing) for n in nodes]

    def _normal_of(self, where: Boundary, nodes: Ints) -> Floats:
        """Return the normal of a straight boundary."""
        x = self.problem.points[nodes]
        away = x - x.mean(axis=0)
        _, sizes, directions = np.linalg.svd(away, full_matrices=False)
        if sizes[-1] > _STRAIGHT * sizes[0] or nodes.size < 2:
            got, needs = f"{told_place(where)}, which is bent", "a straight boundary, or a normal"
            why, try_ = "one plane contains it.", "give the normal of the plane."
            raise ModelError("Symmetry.where", got, needs, why, try_)
        return np.asarray(directions[-1])

    def _as_one(self, number: int, condition: Tied) -> list[Row]:
        nodes, k = self.nodes_of(condition.where), condition.component
        words = f"condition {number}, Tied on {told_place(condition.where)}, "
        words += f"{_NAMES[k]} displacement"
        # a node that is held already leads the others
        held = np.flatnonzero(self.fixed[nodes, k])
        first = nodes[held[0]] if held.size else nodes[0]
        pair = np.array([1.0, -1.0])
        others = nodes[nodes != first]
        return [
            Row(number, words, self.dim * np.array([n, first]) + k, pair, _nothing) for n in others
        ]

    def _sum(self, number: int, condition: Linear) -> Row:
        total: dict[int, float] = {}
        for term in condition.terms:
            for i, share in zip(*self.shares(term.where, term.component), strict=True):
                total[int(i)] = total.get(int(i), 0.0) + term.factor * float(share)
        where = np.array(sorted(total), dtype=np.int64)
        shares = np.array([total[int(i)] for i in where])
        size = float(np.abs(shares).max())
        places = ", ".join(
            f"{t.factor:g} {_NAMES[t.component]} of {told_place(t.where)}" for t in condition.terms
        )
        words = f"condition {number}, Linear with {places}"
        if not size > 0.0:
            why, try_ = "it would hold nothing.", "leave it out."
            raise ModelError("Linear.terms", words, "a sum that is not empty", why, try_)
        asked = functools.partial(_scaled, condition.program, 1.0 / size)
        return Row(number, words, where, shares / size, asked)

    # ------------------------------------------------------------ loads

    def _boundaries(self) -> None:
        """Find what acts on boundaries and through springs."""
        self._pulls = {
            number: (condition.program, *self._pull(nodes, component))
            for number, nodes, component, condition in self.loaded
        }
        self.dead: list[tuple[int, Floats, Program]] = []
        self.pressed: list[tuple[int, list[on.Entries], Program]] = []
        self.springs: list[tuple[int, Spring, list[on.Entries], Floats]] = []
        self.turned: dict[int, tuple[int, Turned]] = {}
        for number, condition in self.conditions.items():
            if isinstance(condition, Traction):
                force = np.zeros((self.size, self.dim))
                faces = self.faces(condition.where)
                force[:, condition.component] = on.shares_of(faces, self.size)
                self.dead.append((number, force, condition.program))
            elif isinstance(condition, Pressure):
                entries = on.pressed(self.faces(condition.where))
                self.pressed.append((number, entries, condition.program))
            elif isinstance(condition, Spring):
                self.springs.append((number, condition, *self._sprung(condition)))
            elif isinstance(condition, Turned):
                self._turn(number, condition)

    def _sprung(self, spring: Spring) -> tuple[list[on.Entries], Floats]:
        """Return the matrix of a spring, and the force on the nodes of a unit motion of its end."""
        out = np.zeros((self.size, self.dim))
        if isinstance(spring.where, Boundary):
            faces = self.faces(spring.where)
            out[:, spring.component] = spring.stiffness * on.mean_shares(faces, self.size)
            return on.spread(faces, spring.component, spring.stiffness), out
        places, shares = self.shares(spring.where, spring.component)
        nodes = places // self.dim
        if isinstance(spring.where, Rigid) and self.owner[nodes[0], spring.component] < 0:
            self.fixed[nodes[0], spring.component] = False
            self.free = np.flatnonzero(~self.fixed.ravel())
        out.flat[places] = spring.stiffness * shares
        blocks = np.zeros((1, nodes.size, self.dim, nodes.size, self.dim))
        k = spring.component
        blocks[0, :, k, :, k] = spring.stiffness * np.outer(shares, shares)
        return [on.Entries(nodes[None], blocks)], out

    def _turn(self, number: int, condition: Turned) -> None:
        contact = condition.where.contact
        self.nodes_of(condition.where)
        if not isinstance(self.problem.assembled.pairs[contact].partner, RigidCircle):
            got = told_place(condition.where)
            why, try_ = "a plane has no axis.", "drive the plane along itself, as a belt."
            raise ModelError("Turned.where", got, "a RigidCircle", why, try_)
        if contact in self.turned:
            got = f"conditions {self.turned[contact][0]} and {number} for the angle of one circle"
            why, try_ = "a circle has one angle.", "leave one out."
            raise ModelError("Solid.boundary_conditions", got, "one of them", why, try_)
        self.turned[contact] = (number, condition)

    # ------------------------------------------------------------ at a time

    def _programs(self, t: float) -> Floats:
        """Return prescribed values (nodes, d) of single unknowns, as their programs say [m]."""
        u = np.zeros((self.size, self.dim))
        for nodes, component, condition in self.driven:
            u[nodes, component] = condition.program.at(t)
        return u

    def prescribed(self, t: float) -> Floats:
        """Return what is prescribed (nodes, d) [m], zero where nothing is."""
        u = self._programs(t)
        for place, row in self._rows:
            u.flat[place] = row.asked(t)
        return u + self._base

    def programs(self) -> list[Program]:
        """Return the programs of all conditions."""
        return [c.program for c in self.conditions.values() if hasattr(c, "program")]

    def corners(self) -> Floats:
        """Return the times at which a program of a condition changes its slope."""
        found = [np.zeros(1), *(program.corners() for program in self.programs())]
        return np.unique(np.concatenate(found))

    def angle(self, contact: int, t: float) -> float:
        """Return by how much the rigid partner of a contact is turned [rad]."""
        before = self._angles.get(contact, 0.0)
        if contact not in self.turned:
            return before
        number, condition = self.turned[contact]
        # conditions of the whole solid count from the beginning
        return condition.program.at(t) + (before if number >= self._first else 0.0)

    def loads(self, t: float, u: Floats) -> Floats:
        """Return forces on the unknowns that no body makes (nodes, d) [N/m].

        Parameters
        ----------
        u : (nodes, d) displacements of nodes and control points [m]
        """
        f = np.zeros((self.size, self.dim))
        for program, places, shares in self._pulls.values():
            f.flat[places] += program.at(t) * shares
        if self.dead or self.pressed or self.springs:
            f += self.unknowns.forces(self.spread(t, u))
        return f

    def force_of(self, number: int, t: float) -> Floats:
        """Return the forces on the unknowns (nodes, d) of a `Loaded` condition [N/m]."""
        f = np.zeros((self.size, self.dim))
        program, places, shares = self._pulls[number]
        f.flat[places] = program.at(t) * shares
        return f

    def _pull(self, nodes: Ints, component: int) -> tuple[Ints, Floats]:
        """Return the unknowns that a force of one acts on, shared by nodes, and its parts."""
        if not self._rows:
            return self.dim * nodes + component, np.full(nodes.size, 1.0 / nodes.size)
        # the unknown of a node may be that of a constraint: force acts on the displacement
        f = np.zeros((self.size, self.dim))
        for i in self.dim * nodes + component:
            places, shares = self.unknowns.taken_as(int(i))
            f.flat[places] += shares / nodes.size
        found = self.unknowns.forces(f).ravel()
        there = np.flatnonzero(found)
        return there, found[there]

    def spread(self, t: float, u: Floats) -> Floats:
        """Return forces on nodes and control points, of what is spread over boundaries [N/m]."""
        f = np.zeros((self.size, self.dim))
        for _, shape, program in self.dead:
            f += program.at(t) * shape
        if self.pressed:
            x = self.problem.points + u
            for _, entries, program in self.pressed:
                f -= program.at(t) * on.followers(entries, x)
        return f + self.sprung(t, u)

    def sprung(self, t: float, u: Floats) -> Floats:
        """Return the forces of springs on nodes and control points (nodes, d) [N/m]."""
        f = np.zeros_like(u)
        for _, spring, entries, shape in self.springs:
            f += spring.program.at(t) * shape - on.followers(entries, u)
        return f

    def tangents(self, t: float) -> list[on.Entries]:
        """Return minus the derivatives of `spread` by displacements."""
        found = []
        for _, entries, program in self.pressed:
            p = program.at(t)
            found += [e._replace(blocks=p * e.blocks) for e in entries]
        for _, _, entries, _ in self.springs:
            found += entries
        return found

    @functools.cached_property
    def conservative(self) -> bool:
        """Whether all loads follow from a potential: pressures do where the ends are held."""
        from scipy.sparse import coo_matrix

        n = self.dim * self.size
        parts = [e for _, entries, _ in self.pressed for e in entries]
        rows, columns, values = [], [], []
        for e in parts:
            places = self.dim * e.nodes[:, :, None] + np.arange(self.dim)
            places = places.reshape(e.nodes.shape[0], -1)
            wide = places.shape[1]
            rows.append(np.repeat(places, wide, axis=1).ravel())
            columns.append(np.tile(places, (1, wide)).ravel())
            values.append(e.blocks.ravel())
        if not parts:
            return True
        where = (np.concatenate(rows), np.concatenate(columns))
        whole = coo_matrix((np.concatenate(values), where), shape=(n, n)).tocsr()
        mine = self.unknowns.tangent(whole)[self.free][:, self.free]
        skew = abs(mine - mine.T).max() if mine.nnz else 0.0
        return bool(skew <= _EVEN * abs(whole).max())

    def spring_energies(self, t: float, u: Floats) -> dict[int, float]:
        """Return the energy of each spring to the ground [J/m]."""
        found = {}
        for number, spring, entries, shape in self.springs:
            g = spring.program.at(t)
            inner = 0.5 * float(np.sum(u * on.followers(entries, u)))
            found[number] = inner - g * float(np.sum(u * shape)) + 0.5 * spring.stiffness * g * g
        return found


def _nothing(_t: float) -> float:
    return 0.0


def _scaled(program: Program, factor: float, t: float) -> float:
    return factor * program.at(t)
