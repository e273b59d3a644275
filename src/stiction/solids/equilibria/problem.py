"""A solid as equations: unknowns, residual, tangent, and what is prescribed at a time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.laws.adhesive_friction import Frictionless
from stiction.numerics.direct.factors import Layout
from stiction.solids.arrays import Discretisation, Elements, Surface
from stiction.solids.assembly import Bulk, Pattern
from stiction.solids.conditions import Driven, Fixed, Loaded, Nearest, Rigid
from stiction.solids.contact.model import ContactPass, Found, History
from stiction.solids.contact.partners import Boundary, RigidShape
from stiction.solids.equilibria.unknowns import Unknowns, nearest_place

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.solids.model import Assembled

__all__ = ["Problem", "State", "Trial"]

# nodes that two boundaries may share at a corner
_CORNER = 2
# rounding of the residual over eps times modulus times the root of the area: 1 to 3 in runs
_STRAINS = 4.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class State(NamedTuple):
    """What the method commits: unknowns (nodes, 2), histories and nearest points.

    Unknowns are the displacements of nodes and control points, unless conditions hold for places
    between control points: `Problem.unknowns` knows the difference.
    """

    time: float
    u: Floats
    histories: tuple[History, ...]
    founds: tuple[Found, ...]


class Trial(NamedTuple):
    """Residual (nodes, 2) and what contact told, at a trial displacement."""

    u: Floats
    residual: Floats
    internal: Floats
    outs: tuple[Floats, ...]
    founds: tuple[Found, ...]
    bad: int


class Problem:
    """The equations of a solid.

    Parameters
    ----------
    assembled : bodies, contacts and conditions of a system
    """

    def __init__(self, assembled: Assembled) -> None:
        self.assembled = assembled
        parts = [
            body.discretised(assembled.boundaries_of(i)) for i, body in enumerate(assembled.bodies)
        ]
        self.parts: list[Discretisation] = parts
        self.first = np.cumsum([0, *(part.points.shape[0] for part in parts)])
        rigid = [i for i, c in enumerate(assembled.contacts) if isinstance(c.partner, RigidShape)]
        self.rigid_node = {i: int(self.first[-1]) + k for k, i in enumerate(rigid)}
        extra = np.zeros((len(rigid), 2))
        self.points = np.concatenate([*(part.points for part in parts), extra])
        self.size = self.points.shape[0]
        blocks: list[tuple[Elements, Floats]] = []
        for i, (part, body) in enumerate(zip(parts, assembled.bodies, strict=True)):
            table = body.material.table(body.plane_stress)
            shifted = [b._replace(nodes=b.nodes + self.first[i]) for b in part.blocks]
            blocks.extend((block, table) for block in shifted)
        self.bulk = Bulk(blocks)
        self.passes: list[ContactPass] = []
        self.contact_of_pass: list[int] = []
        self.body_of_pass: list[int] = []
        for i, contact in enumerate(assembled.contacts):
            own = self._surface(contact.boundary)
            if isinstance(contact.partner, Boundary):
                other = self._surface(contact.partner)
                pairs = [(own, other, contact.boundary.body), (other, own, contact.partner.body)]
            else:
                shape = (contact.partner, self.rigid_node[i])
                pairs = [(own, shape, contact.boundary.body)]  # type: ignore[list-item]
            for a, b, body_number in pairs:
                self.passes.append(ContactPass(contact, a, b, self.points))
                self.contact_of_pass.append(i)
                self.body_of_pass.append(body_number)
        self.unknowns = Unknowns(self.size)
        self._conditions()
        self.unknowns.bind()
        self.coupled: list[tuple[Ints, Ints]] = []
        self._pattern: Pattern | None = None
        self._signature: list[tuple[bytes, bytes]] = []

    # ------------------------------------------------------------ what is prescribed

    def _surface(self, boundary: Boundary) -> Surface:
        surface = self.parts[boundary.body].surfaces[boundary.name]
        return surface._replace(nodes=surface.nodes + self.first[boundary.body])

    def nodes_of(self, where: object) -> Ints:
        """Return the nodes that a condition refers to."""
        if isinstance(where, Rigid):
            if where.contact not in self.rigid_node:
                why = "conditions refer to contacts by number."
                needs = "the number of a contact with a rigid partner"
                try_ = "see the order of the contacts."
                raise ModelError(explain("Rigid.contact", where.contact, needs, why, try_))
            return np.array([self.rigid_node[where.contact]])
        if isinstance(where, Nearest):
            self._check_body("Nearest.body", where.body)
            part = self.parts[where.body]
            numbers, shares = nearest_place(part.points, part.places, np.asarray(where.point))
            numbers = numbers + int(self.first[where.body])
            if numbers.size == 1:
                return numbers
            return np.array([self.unknowns.take(numbers, shares)])
        if isinstance(where, Boundary):
            self._check_body("Boundary.body", where.body)
            sets = self.parts[where.body].node_sets
            if where.name not in sets:
                from stiction.errors import nearest

                why = "the mesh of the body has no boundary of that name."
                needs = "one of " + ", ".join(sorted(sets))
                try_ = nearest(where.name, sorted(sets))
                raise ModelError(explain("Boundary.name", repr(where.name), needs, why, try_))
            return np.asarray(sets[where.name] + self.first[where.body])
        raise TypeError(where)

    def _check_body(self, name: str, body: int) -> None:
        if body >= len(self.parts):
            needs = f"a number below {len(self.parts)}"
            why, try_ = "bodies are counted from 0.", "give the place in the list."
            raise ModelError(explain(name, body, needs, why, try_))

    def _conditions(self) -> None:
        self.fixed = np.zeros((self.size, 2), dtype=bool)
        for node in self.rigid_node.values():
            self.fixed[node] = True
        # which condition has each unknown: none, or its number; what is held comes first
        owner = np.full((self.size, 2), -1)
        self._driven: list[tuple[Ints, int, Driven]] = []
        self._loaded: list[tuple[Ints, int, Loaded]] = []
        conditions = list(enumerate(self.assembled.conditions))
        for number, condition in sorted(conditions, key=lambda c: not isinstance(c[1], Fixed)):
            nodes = self.nodes_of(condition.where)
            if isinstance(condition, Fixed):
                for component in condition.components:
                    self._claim(owner, nodes, component, number)
                    self.fixed[nodes, component] = True
            elif isinstance(condition, Driven):
                nodes = self._claim(owner, nodes, condition.component, number)
                self.fixed[nodes, condition.component] = True
                self._driven.append((nodes, condition.component, condition))
            elif isinstance(condition, Loaded):
                nodes = self._claim(owner, nodes, condition.component, number)
                self.fixed[nodes, condition.component] = False
                self._loaded.append((nodes, condition.component, condition))
        self.free = np.flatnonzero(~self.fixed.ravel())

    def _claim(self, owner: Ints, nodes: Ints, component: int, number: int) -> Ints:
        """Note that a condition has these unknowns, and return those that are left to it.

        Where boundaries share a node at their corner, what is held stays held. What two
        conditions ask for beyond that is refused, unless both ask for the same.
        """
        conditions = self.assembled.conditions
        mine = conditions[number]
        taken = owner[nodes, component] >= 0
        for other in np.unique(owner[nodes[taken], component]):
            theirs = conditions[other]
            shared = int(np.sum(owner[nodes, component] == other))
            corner = isinstance(mine, Driven) and shared <= _CORNER and nodes.size > 2 * shared
            if isinstance(theirs, Fixed) and (isinstance(mine, Fixed) or corner):
                continue
            both = isinstance(mine, Driven) and isinstance(theirs, Driven)
            if both and vars(mine)["program"] == vars(theirs)["program"]:
                continue
            name = "xy"[component]
            kinds = [type(condition).__name__ for condition in (theirs, mine)]
            raise ModelError(
                explain(
                    "Solid.boundary_conditions",
                    f"conditions {other} ({kinds[0]}) and {number} ({kinds[1]}) for the same "
                    f"{name} displacement of {shared} nodes",
                    "one condition for each component of a node",
                    "two conditions ask for different things there.",
                    "leave one out, or name smaller boundaries: Mesh.split.",
                )
            )
        left = nodes if isinstance(mine, Fixed) else nodes[~taken]
        owner[left, component] = number
        return left

    def _check_start(self, x: Floats, founds: tuple[Found, ...]) -> None:
        """Refuse surfaces that lie inside each other at the start."""
        for p, found in zip(self.passes, founds, strict=True):
            gap = p.gaps(x, found)
            q = int(np.argmin(gap))
            if gap[q] < 0.0:
                at = p.places(x)[q]
                raise ModelError(
                    explain(
                        "Solid.contacts",
                        f"boundary {p.contact.boundary.name!r} {-gap[q]:.3g} deep inside its "
                        f"partner near ({at[0]:.6g}, {at[1]:.6g}) at the start",
                        "gaps >= 0",
                        "surfaces that lie inside each other have no contact traction.",
                        "move the bodies apart, or turn the normal of the rigid plane.",
                    )
                )

    def places(self, u: Floats) -> Floats:
        """Return the places (nodes, 2) of nodes and control points [m]."""
        return self.points + self.unknowns.displacements(u)

    def prescribed(self, t: float) -> Floats:
        """Return displacements (nodes, 2) [m], zero where nothing is prescribed."""
        u = np.zeros((self.size, 2))
        for nodes, component, condition in self._driven:
            u[nodes, component] = condition.program.at(t)
        return u

    def loads(self, t: float) -> Floats:
        """Return given forces (nodes, 2) [N/m]."""
        f = np.zeros((self.size, 2))
        for nodes, component, condition in self._loaded:
            f[nodes, component] += condition.program.at(t) / nodes.size
        return f

    def corners(self) -> Floats:
        """Return the times at which a program changes its slope, or friction begins."""
        found = [c.friction_from for c in self.assembled.contacts]
        programs = [condition.program for _, _, condition in self._driven]
        programs += [condition.program for _, _, condition in self._loaded]
        for program in programs:
            found.extend(program.corners())
        found.extend(self.assembled.attraction.corners())
        return np.unique(np.asarray(found, dtype=np.float64))

    def start(self, t: float) -> State:
        """Return the state before anything happened."""
        u = self.prescribed(t)
        x = self.places(u)
        founds = tuple(p.project(x, None) for p in self.passes)
        self._check_start(x, founds)
        return State(t, u, tuple(p.fresh() for p in self.passes), founds)

    def rubs(self, t: float) -> bool:
        """Return whether friction acts anywhere at time t."""
        return any(
            t > p.contact.friction_from and not isinstance(p.contact.friction, Frictionless)
            for p in self.passes
        )

    def held(self, trial: Trial) -> list[Ints]:
        """Return the states of a trial, to be held while Newton's method goes on."""
        from stiction.solids.contact import sweeps as k

        found = []
        for out in trial.outs:
            state = out[:, k.STATE]
            held = np.where(state == k.STICKS, 0, np.where(state == k.SLIDES, 1, -1))
            found.append(held.astype(np.int64))
        return found

    @functools.cached_property
    def strongest(self) -> Floats:
        """T_max of the law at every point of the passes, one pass after another [Pa]."""
        found = [np.full(p.count, p.contact.adhesion.max_tension) for p in self.passes]
        return np.concatenate([np.zeros(0), *found])

    @functools.cached_property
    def rounding(self) -> float:
        """What rounding leaves of the residual [N/m]: of places under the stiffest law, of strains.

        Strains are rounded to eps at every point of a body, and stress follows with the modulus
        of one-dimensional compression, which grows beyond bounds where volume is kept.

        Verified by: tests/unit/solids/equilibria/test_floor.py::test_residuals_stop_at_the_floor
        """
        eps = np.finfo(np.float64).eps
        far = float(np.abs(self.points).max())
        total = 0.0
        for p in self.passes:
            law = p.contact.adhesion
            stiff = abs(float(np.asarray(law.stiffness(0.999999 * law.gap_eq))))
            stiff = max(stiff, p.contact.tangential_stiffness)
            partner = p.contact.partner
            reach = max(far, partner.extent()) if isinstance(partner, RigidShape) else far
            total += eps * reach * stiff * float(np.linalg.norm(p.own.areas))
        for part, body in zip(self.parts, self.assembled.bodies, strict=True):
            e, nu = body.material.elastic_constants()
            modulus = e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
            area = sum(float(block.weights.sum()) for block in part.blocks)
            total += _STRAINS * eps * modulus * np.sqrt(area)
        return float(total)

    @functools.cached_property
    def largest_length(self) -> float:
        """The longest side of a box around all bodies [m]."""
        return float(np.ptp(self.points, axis=0).max())

    @functools.cached_property
    def smallest_force(self) -> float:
        """A force [N/m] below which balance is not measured."""
        tension = max((p.contact.adhesion.max_tension for p in self.passes), default=0.0)
        length, stiff = self.largest_length, self._stiffest
        # a tolerance of 1e-9 lies a little above rounding then
        return max(1e-4 * tension * length, 5e-5 * stiff * length, 2e9 * self.rounding)

    @property
    def _stiffest(self) -> float:
        return max(body.material.elastic_constants()[0] for body in self.assembled.bodies)

    def check_tolerance(self, name: str, tolerance: float) -> None:
        """Refuse a tolerance of Newton's method that rounding keeps any residual from meeting.

        Parameters
        ----------
        name : of the method, for messages
        tolerance : residual over the forces in balance [1]
        """
        floor = self.rounding / (self._stiffest * self.largest_length)
        if tolerance < floor:
            why = "rounding of places and strains leaves more of forces as large as E times length."
            needs = f"at least {floor:.2g}, the floor of rounding"
            try_ = "use 1e-9; a softer penalty or law, or nu farther from 1/2, lowers the floor."
            raise ModelError(explain(f"{name}.newton_tolerance", tolerance, needs, why, try_))

    # ------------------------------------------------------------ residual and tangent

    def evaluate(
        self, state: State, u: Floats, t: float, helds: list[Ints] | None, data: bool
    ) -> tuple[Trial, csr_matrix | None]:
        """Return the residual, and the tangent when `data` is set, at a trial displacement.

        Parameters
        ----------
        state : the last accepted one; its histories are used and not changed
        u : (nodes, 2) trial displacements [m]
        t : time of the trial
        helds : states of the points of each pass held fixed; None decides
        """
        moved = self.unknowns.displacements(u)
        x = self.points + moved
        residual = np.zeros((self.size, 2)) if self.unknowns.rows else -self.loads(t)
        founds = tuple(p.project(x, f) for p, f in zip(self.passes, state.founds, strict=True))
        pattern = self._bound(founds, state) if data else self._pattern
        values = np.zeros(pattern.entries) if data and pattern is not None else None
        if self._pattern is None:
            pattern = self._bound(founds, state)
        internal = np.zeros((self.size, 2))
        bad = self.bulk.add(moved, internal, values)
        residual += internal
        outs = []
        for k, p in enumerate(self.passes):
            held = helds[k] if helds is not None else np.full(p.count, -1)
            store = np.empty(p.shape) if data else None
            out = p.evaluate(
                x,
                founds[k],
                state.histories[k],
                held,
                rubs=t > p.contact.friction_from,
                attraction=self.assembled.attraction.at(t),
                residual=residual,
                values=store,
            )
            outs.append(out)
            if store is not None and values is not None:
                np.add.at(values, self._places[k], store.ravel())
        if self.unknowns.rows:
            # loads act on the unknowns themselves
            residual = self.unknowns.forces(residual) - self.loads(t)
            internal = self.unknowns.forces(internal)
        trial = Trial(u, residual, internal, tuple(outs), founds, bad)
        if values is None or pattern is None:
            return trial, None
        return trial, self.unknowns.tangent(pattern.matrix(values))

    def _bound(self, founds: tuple[Found, ...], state: State) -> Pattern:
        """Return the pattern of the tangent at these nearest points, found anew when needed."""
        blocks = [
            p.blocks(f, h) for p, f, h in zip(self.passes, founds, state.histories, strict=True)
        ]
        signature = [
            p.signature(f, h) for p, f, h in zip(self.passes, founds, state.histories, strict=True)
        ]
        if self._pattern is not None and signature == self._signature:
            return self._pattern
        if self._pattern is not None:
            try:
                self._places = [self._place(self._pattern, *b) for b in blocks]
                self._signature = signature
                return self._pattern
            except KeyError:
                pass
        self.couple(
            [
                (rows, p.window(columns, found))
                for p, (rows, columns), found in zip(self.passes, blocks, founds, strict=True)
            ]
        )
        assert self._pattern is not None
        self._places = [self._place(self._pattern, *b) for b in blocks]
        self._signature = signature
        return self._pattern

    def couple(self, coupled: list[tuple[Ints, Ints]]) -> None:
        """Make a pattern in which the bodies and these nodes of each pass are coupled."""
        self.coupled = coupled
        pairs = list(self.bulk.pairs())
        for rows, wide in coupled:
            r = np.repeat(rows, wide.shape[1], axis=1)
            pairs.append((r, np.tile(wide, (1, rows.shape[1]))))
        self._pattern = Pattern(self.size, 2, pairs)
        self.bulk.bind(self._pattern)
        self._signature = []
        self._reduce(self._pattern)

    @staticmethod
    def _place(pattern: Pattern, rows: Ints, columns: Ints) -> Ints:
        """Return the entry of every number in the tangent blocks of a pass, one after another."""
        p, r = rows.shape
        c = columns.shape[1]
        left, right = np.repeat(rows, c, axis=1), np.tile(columns, (1, r))
        first = pattern.places(left.ravel(), right.ravel()).reshape(p, r, 1, c, 1)
        down = np.arange(2)[:, None, None] * pattern.row[rows][:, :, None, None, None]
        return np.asarray(first + down + np.arange(2), dtype=np.int64).ravel()

    def _reduce(self, pattern: Pattern) -> None:
        """Find the entries of the free rows and columns."""
        from scipy.sparse import csr_matrix

        numbers = np.arange(pattern.entries, dtype=np.int64)
        size = self.size * 2
        whole = csr_matrix((numbers, pattern.indices, pattern.indptr), shape=(size, size))
        part = whole[self.free][:, self.free]
        part.sort_indices()
        self._keep = part.data
        self._free_indices = part.indices.astype(np.int32)
        self._free_indptr = part.indptr.astype(np.int32)

    def reduced(self, matrix: csr_matrix) -> csr_matrix:
        """Return the rows and columns of the free unknowns; index arrays are shared."""
        from scipy.sparse import csr_matrix

        n = self.free.size
        if not self.unknowns.plain:
            part = csr_matrix(matrix[self.free][:, self.free])
            part.sort_indices()
            return part
        made = csr_matrix(
            (matrix.data[self._keep], self._free_indices, self._free_indptr),
            shape=(n, n),
            copy=False,
        )
        made.has_sorted_indices = True
        # scipy may wrap the index arrays anew: solvers tell patterns apart by identity
        made.indices, made.indptr = self._free_indices, self._free_indptr
        return made

    def layout(self) -> Layout:
        """Return what the free unknowns stand for."""
        touches = np.zeros(self.size, dtype=bool)
        for p in self.passes:
            touches[p.own.nodes.ravel()] = True
            touches[p.partner.nodes.ravel()] = True
        nodes = self.free // 2
        return Layout(self.points[nodes], self.free % 2, touches[nodes])

    def accepted(self, state: State, trial: Trial, t: float) -> State:
        """Return the state after a step that was accepted."""
        histories = tuple(
            p.committed(out, h)
            for p, out, h in zip(self.passes, trial.outs, state.histories, strict=True)
        )
        return State(t, trial.u, histories, trial.founds)

    def stored(self, trial: Trial) -> tuple[float, float]:
        """Return elastic energy, the springs of stick included, and adhesive energy [J/m]."""
        from stiction.solids.contact import sweeps as k

        adhesive = 0.0
        for p, out in zip(self.passes, trial.outs, strict=True):
            share = 1.0 if p.partner.rigid else 0.5
            adhesive += share * float(out[:, k.POTENTIAL].sum())
        moved = self.unknowns.displacements(trial.u)
        return self.bulk.energy(moved) + self.springs(trial), adhesive

    def springs(self, trial: Trial) -> float:
        """Return the energy of the springs of stick [J/m]; half of each pass of two bodies."""
        from stiction.solids.contact import sweeps as k

        total = 0.0
        for p, out in zip(self.passes, trial.outs, strict=True):
            share = 1.0 if p.partner.rigid else 0.5
            total += share * float(out[:, k.SPRING].sum())
        return total
