"""A solid as equations: unknowns, residual, tangent, and what is prescribed at a time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws.adhesive_friction import Frictionless
from stiction.numerics.direct.factors import Layout
from stiction.solids.arrays import Discretisation, Elements, Surface, components
from stiction.solids.contact.model import ClosestPoints, Contact, ContactPass, History
from stiction.solids.contact.multipliers import MultiplierPass
from stiction.solids.contact.partners import Boundary, RigidShape
from stiction.solids.contact.self_contact import SelfPass
from stiction.solids.contact.virtual_work import MortarPass
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.elements.parasitic import Excess
from stiction.solids.equilibria.boundary_conditions import Holding
from stiction.solids.equilibria.work_integrals import LetGo, acting, let_go
from stiction.solids.many.broad_phase import BroadPhase
from stiction.solids.many.continuous_collision import check_start
from stiction.solids.membranes.assembly import WithMembranes
from stiction.solids.membranes.model import Membrane
from stiction.solids.shape_functions.hulls import least_of
from stiction.solids.unilateral import Signorini

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.solids.model import Assembled

__all__ = ["Problem", "State", "Trial"]

# rounding of the residual over eps times modulus times the root of the area: 1 to 3 in runs
_STRAINS = 4.0
_PLANE = 2
# part of the finest element by which single points of hard contact may overlap
_OVERLAP = 0.05

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class State(NamedTuple):
    """What the method commits: unknowns (nodes, d), histories and nearest points.

    Unknowns are the displacements of nodes and control points, unless conditions hold for places
    between control points: `Problem.unknowns` knows the difference.
    """

    time: float
    u: Floats
    histories: tuple[History, ...]
    founds: tuple[ClosestPoints, ...]


class Trial(NamedTuple):
    """Residual (nodes, d) and what contact told, at a trial displacement."""

    u: Floats
    residual: Floats
    internal: Floats
    outs: tuple[Floats, ...]
    founds: tuple[ClosestPoints, ...]
    bad: int


class Problem:
    """The equations of a solid.

    Parameters
    ----------
    assembled : bodies, contacts and conditions of a system

    Attributes
    ----------
    work_tolerance : error of the work between two load steps, see `works.unbalanced` [1]
    gone : what conditions let go when the stage began
    """

    work_tolerance = 1e-7
    gone: LetGo | None = None

    def __init__(self, assembled: Assembled) -> None:
        self.assembled = assembled
        parts = [
            body.discretised(assembled.boundaries_of(i)) for i, body in enumerate(assembled.bodies)
        ]
        self.parts: list[Discretisation] = parts
        self.dim = components(parts)
        self.first = np.cumsum([0, *(part.points.shape[0] for part in parts)])
        rigid = [i for i, c in enumerate(assembled.pairs) if isinstance(c.partner, RigidShape)]
        self.rigid_node = {i: int(self.first[-1]) + k for k, i in enumerate(rigid)}
        extra = np.zeros((len(rigid), self.dim))
        self.points = np.concatenate([*(part.points for part in parts), extra])
        self.carriers = self._add_multipliers()
        self.size = self.points.shape[0]
        blocks: list[tuple[Elements, Floats]] = []
        sheets = []
        for i, (part, body) in enumerate(zip(parts, assembled.bodies, strict=True)):
            if isinstance(body, Membrane):
                sheets += [s._replace(nodes=s.nodes + self.first[i]) for s in part.sheets]
                continue
            table = body.material.table(body.plane_stress)
            shifted = [b._replace(nodes=b.nodes + self.first[i]) for b in part.blocks]
            blocks.extend((block, table) for block in shifted)
        self.bulk = WithMembranes(blocks, sheets) if sheets else Bulk(blocks)
        self.passes: list[ContactPass] = []
        self.contact_of_pass: list[int] = []
        self.body_of_pass: list[int] = []
        self.widen(assembled)
        self.enter(0)

    def _add_multipliers(self) -> dict[int, Ints]:
        """Add an unknown for each node of boundaries in hard contact; return them by contact."""
        found: dict[int, Ints] = {}
        for i, contact in enumerate(self.assembled.pairs):
            if isinstance(contact.adhesion, Signorini):
                nodes = np.unique(self._surface(contact.boundary).nodes)
                found[i] = self.points.shape[0] + np.arange(nodes.size)
                self.points = np.concatenate([self.points, self.points[nodes]])
        return found

    def widen(self, assembled: Assembled) -> None:
        """Take contacts that have come after those that are known.

        Parameters
        ----------
        assembled : the same bodies and conditions, the same contacts, and more of them
        """
        known = len(set(self.contact_of_pass))
        self.assembled = assembled
        for i, contact in list(enumerate(assembled.pairs))[known:]:
            self._join(i, contact)
        self.strays = [
            BroadPhase(near, [self._surface(b) for b in near.boundaries])
            for near in assembled.watched
        ]
        # what all passes make together
        for name in ("joined", "deepest", "strongest", "overlap", "rounding", "still_force"):
            self.__dict__.pop(name, None)
        self._forget_pattern()

    def _join(self, i: int, contact: Contact) -> None:
        """Make the passes of a contact."""
        own, partner, body = self._surface(contact.boundary), contact.partner, contact.boundary.body
        other: Surface | tuple[RigidShape, int]
        if not isinstance(partner, Boundary):
            assert isinstance(partner, RigidShape)
            other = (partner, self.rigid_node[i])
        else:
            other = self._surface(partner)
        if i in self.carriers:
            modulus, numbers = self._modulus(body), self.carriers[i]
            made = MultiplierPass(contact, own, other, self.points, numbers, modulus)
            self._add_pass(i, made, body)
        elif not isinstance(other, Surface):
            self._add_pass(i, ContactPass(contact, own, other, self.points), body)
        elif partner == contact.boundary:
            self._add_pass(i, SelfPass(contact, own, self.points), body)
        elif contact.passes == "mortar":
            self._add_pass(i, MortarPass(contact, own, other, self.points), body)
        else:
            self._add_pass(i, ContactPass(contact, own, other, self.points), body)
            assert isinstance(partner, Boundary)
            self._add_pass(i, ContactPass(contact, other, own, self.points), partner.body)

    def _modulus(self, body: int) -> float:
        """Return the contact modulus of a body [Pa]."""
        described = self.assembled.bodies[body]
        if isinstance(described, Membrane):
            got, needs = "a Membrane with Signorini", "a Body or SweptBody"
            why, try_ = "a membrane has no thickness to press on.", "take a law with a stiffness."
            raise ModelError("Contact.adhesion", got, needs, why, try_)
        return float(described.material.contact_modulus(described.plane_stress))

    def _forget_pattern(self) -> None:
        self.coupled: list[tuple[Ints, Ints]] = []
        self._pattern: Pattern | None = None
        self._signature: list[tuple[bytes, bytes]] = []

    def _add_pass(self, contact: int, made: ContactPass, body: int) -> None:
        self.passes.append(made)
        self.contact_of_pass.append(contact)
        self.body_of_pass.append(body)

    # ------------------------------------------------------------ what is prescribed

    def _surface(self, boundary: Boundary) -> Surface:
        surface = self.parts[boundary.body].surfaces[boundary.name]
        return surface._replace(nodes=surface.nodes + self.first[boundary.body])

    def enter(
        self, stage: int, base: Floats | None = None, angles: dict[int, float] | None = None
    ) -> None:
        """Take the conditions of a stage.

        Parameters
        ----------
        stage : its number
        base : (nodes, d) displacements of nodes and control points when it begins [m]
        angles : of rigid partners then, by contact [rad]
        """
        self.stage, self.base, self.angles = stage, base, dict(angles or {})
        self.holding = Holding(self, stage, base, angles)
        self.unknowns = self.holding.unknowns
        self.fixed, self.free = self.holding.fixed, self.holding.free
        self._forget_pattern()

    def alike(self) -> Problem:
        """Return the same equations anew, in the same stage, with nothing remembered."""
        made = Problem(self.assembled)
        made.work_tolerance = self.work_tolerance
        if self.stage or self.base is not None:
            made.enter(self.stage, self.base, self.angles)
        made.gone = self.gone
        return made

    def carried(self, state: State, trial: Trial) -> tuple[State, Trial]:
        """Enter the next stage, and return a state and what was told of it in its unknowns."""
        t, u = state.time, self.unknowns.displacements(state.u)
        forces = self.unknowns.on_places(trial.residual + self.loads(t, u))
        inside = self.unknowns.on_places(trial.internal)
        angles = {i: self.holding.angle(i, t) for i in self.rigid_node}
        before = acting(self, t, u, trial.residual), self.holding.spring_energies(t, u)
        self.enter(self.stage + 1, u, angles)
        self.gone = let_go(self, t, u, *before)
        v = self.unknowns.values(u)
        residual = self.unknowns.forces(forces) - self.loads(t, u)
        told = trial._replace(u=v, residual=residual, internal=self.unknowns.forces(inside))
        return state._replace(u=v), told

    def nodes_of(self, where: object) -> Ints:
        """Return the nodes that a condition refers to."""
        return self.holding.nodes_of(where)

    def places(self, u: Floats) -> Floats:
        """Return the places (nodes, d) of nodes and control points [m]."""
        return self.points + self.unknowns.displacements(u)

    def least_jacobian(self, u: Floats) -> float:
        """Return the least over the largest Jacobian of any element, deformed; see `Hull`."""
        x = self.places(u)
        return min(
            least_of(part.hulls, x[first : first + part.points.shape[0]])
            for part, first in zip(self.parts, self.first, strict=False)
        )

    @functools.cached_property
    def excess(self) -> Excess:
        """What linear elements hold in bending and a beam does not."""
        made = []
        for part, body, first in zip(self.parts, self.assembled.bodies, self.first, strict=False):
            if not isinstance(body, Membrane):
                blocks = [b._replace(nodes=b.nodes + first) for b in part.blocks]
                made.append((blocks, body.material.table(body.plane_stress)))
        return Excess(made)

    def prescribed(self, t: float) -> Floats:
        """Return displacements (nodes, d) [m], zero where nothing is prescribed."""
        return self.holding.prescribed(t)

    def loads(self, t: float, u: Floats | None = None) -> Floats:
        """Return forces on the unknowns (nodes, d) that no body makes [N/m].

        Parameters
        ----------
        u : (nodes, d) displacements of nodes and control points, which pressures follow [m];
            None takes zero
        """
        return self.holding.loads(t, np.zeros((self.size, self.dim)) if u is None else u)

    def turns(self, contact: int, t: float) -> float:
        """Return by how much the rigid partner of a contact is turned [rad]."""
        return self.holding.angle(contact, t)

    def drifts(self, t: float, h: float) -> bool:
        """Return whether attraction or an angle changes between t - h and t + h."""
        ramp = self.assembled.attraction
        changed = [ramp.at(t + h) != ramp.at(t - h)]
        changed += [self.turns(i, t + h) != self.turns(i, t - h) for i in self.rigid_node]
        return any(changed)

    def corners(self) -> Floats:
        """Return the times at which a program changes its slope, or friction begins."""
        found = [c.friction_from for c in self.assembled.pairs]
        found += [stage.until for stage in self.assembled.stages]
        for program in (*self.assembled.programs(), self.assembled.attraction):
            found.extend(program.corners())
        return np.unique(np.asarray(found, dtype=np.float64))

    def start(self, t: float) -> State:
        """Return the state before anything happened."""
        u = self.prescribed(t)
        x = self.places(u)
        founds = tuple(p.project(x, None) for p in self.passes)
        check_start(self, x, founds)
        both = zip(self.passes, founds, strict=True)
        histories = tuple(
            p.sticking(x, found) if t > p.contact.friction_from else p.empty_history()
            for p, found in both
        )
        return State(t, u, histories, founds)

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
    def joined(self) -> bool:
        """Whether all bodies that rub touch by virtual work: then one energy has all forces."""
        rigid = [p for p in self.passes if not p.mortar]
        smooth = all(
            isinstance(p.contact.friction, Frictionless) and not p.is_half_pass for p in rigid
        )
        return smooth and len(rigid) < len(self.passes)

    @functools.cached_property
    def deepest(self) -> float:
        """The largest work of adhesion of a whole boundary [J/m]."""
        return max((p.adhesion_energy for p in self.passes), default=0.0)

    @functools.cached_property
    def strongest(self) -> Floats:
        """T_max of the law at every point of the passes [Pa]; hard contact has no bound."""
        found = [
            np.full(p.count, np.inf if p.hard else p.contact.adhesion.max_tension)
            for p in self.passes
        ]
        return np.concatenate([np.zeros(0), *found])

    @functools.cached_property
    def overlap(self) -> Floats:
        """By how much points of hard contact may lie inside their partner [m]; zero for others.

        Gaps vanish in the mean over each node: single points overlap by the error of the mesh.
        """
        found = [np.full(p.count, _OVERLAP * p.finest if p.hard else 0.0) for p in self.passes]
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
            if isinstance(p, MultiplierPass):
                stiff = p.stiffness
            else:
                stiff = abs(float(np.asarray(law.stiffness(0.999999 * law.gap_eq))))
                stiff = max(stiff, p.contact.tangential_stiffness)
            partner = p.contact.partner
            reach = max(far, partner.extent()) if isinstance(partner, RigidShape) else far
            total += eps * reach * stiff * float(np.linalg.norm(p.own.areas))
        for part, body in zip(self.parts, self.assembled.bodies, strict=True):
            if isinstance(body, Membrane):
                area = sum(float(sheet.weights.sum()) for sheet in part.sheets) / body.thickness
                total += _STRAINS * eps * body.tension * np.sqrt(area)
                continue
            e, nu = body.material.elastic_constants()
            modulus = e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
            if self.dim > _PLANE:
                # forces of a hexahedron grow with its faces
                faces = [block.weights.sum(axis=1) ** (4.0 / 3.0) for block in part.blocks]
                area = sum(float(face.sum()) for face in faces)
            else:
                area = sum(float(block.weights.sum()) for block in part.blocks)
            total += _STRAINS * eps * modulus * np.sqrt(area)
        return float(total)

    @functools.cached_property
    def largest_length(self) -> float:
        """The longest side of a box around all bodies [m]."""
        return float(np.ptp(self.points, axis=0).max())

    @property
    def smallest_force(self) -> float:
        """A force [N/m] below which balance is not measured: of a step, in motion."""
        return self.still_force

    @functools.cached_property
    def still_force(self) -> float:
        """A force [N/m] below which balance is not measured."""
        tension = max((p.contact.adhesion.max_tension for p in self.passes), default=0.0)
        length, stiff = self.largest_length, self._stiffest
        if self.dim > _PLANE:
            # forces themselves, where the plane has those per width
            tension *= sum(float(p.own.areas.sum()) for p in self.passes) / length
        # a tolerance of 1e-9 lies a little above rounding then
        return max(1e-4 * tension * length, 5e-5 * stiff * length, 2e9 * self.rounding)

    @property
    def _stiffest(self) -> float:
        bodies = self.assembled.bodies
        # stresses become forces per width by a length, in space
        wide = self.largest_length if self.dim > _PLANE else 1.0
        return max(
            body.tension
            if isinstance(body, Membrane)
            else body.material.elastic_constants()[0] * wide
            for body in bodies
        )

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
            raise ModelError(f"{name}.newton_tolerance", tolerance, needs, why, try_)

    def check_soft(self, name: str) -> None:
        """Refuse hard contact, whose multipliers only load steps follow.

        Parameters
        ----------
        name : of the method, for messages
        """
        if self.carriers:
            got, needs = (
                "contact by Signorini",
                "normal laws with a stiffness, such as LennardJones",
            )
            why = "impacts and limit points of hard contact take a method of their own."
            raise ModelError(name, got, needs, why, "solve it by Quasistatic.")

    # ------------------------------------------------------------ residual and tangent

    def evaluate(
        self, state: State, u: Floats, t: float, helds: list[Ints] | None, data: bool
    ) -> tuple[Trial, csr_matrix | None]:
        """Return the residual, and the tangent when `data` is set, at a trial displacement.

        Parameters
        ----------
        state : the last accepted one; its histories are used and not changed
        u : (nodes, d) trial displacements [m]
        t : time of the trial
        helds : states of the points of each pass held fixed; None decides
        """
        moved = self.unknowns.displacements(u)
        x = self.points + moved
        plain = self.unknowns.plain
        residual = -self.loads(t, moved) if plain else np.zeros((self.size, self.dim))
        founds = tuple(p.project(x, f) for p, f in zip(self.passes, state.founds, strict=True))
        pattern = self._bound(founds, state) if data else self._pattern
        values = np.zeros(pattern.entries) if data and pattern is not None else None
        if self._pattern is None:
            pattern = self._bound(founds, state)
        internal = np.zeros((self.size, self.dim))
        bad = self.bulk.add(moved, internal, values)
        residual += internal
        outs = []
        for k, p in enumerate(self.passes):
            held = helds[k] if helds is not None else np.full(p.count, -1)
            store = np.empty(p.block_shape(founds[k])) if data else None
            out = p.evaluate(
                x,
                founds[k],
                state.histories[k],
                held,
                with_friction=t > p.contact.friction_from,
                attraction=self.assembled.attraction.at(t),
                residual=residual,
                values=store,
                rotation=self.turns(self.contact_of_pass[k], t),
            )
            outs.append(out)
            if store is not None and values is not None:
                np.add.at(values, self._places[k], store.ravel())
        if values is not None and pattern is not None:
            for entries in self.holding.tangents(t):
                where = self._place(pattern, entries.nodes, entries.nodes)
                np.add.at(values, where, entries.blocks.ravel())
        if not plain:
            # loads act on the unknowns themselves
            residual = self.unknowns.forces(residual) - self.loads(t, moved)
            internal = self.unknowns.forces(internal)
        trial = Trial(u, residual, internal, tuple(outs), founds, bad)
        if values is None or pattern is None:
            return trial, None
        return trial, self.unknowns.tangent(pattern.matrix(values))

    def _bound(self, founds: tuple[ClosestPoints, ...], state: State) -> Pattern:
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
                p.coupled(rows, columns, found)
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
        for entries in self.holding.tangents(0.0):
            n = entries.nodes.shape[1]
            pairs.append((np.repeat(entries.nodes, n, axis=1), np.tile(entries.nodes, (1, n))))
        for rows, wide in coupled:
            r = np.repeat(rows, wide.shape[1], axis=1)
            pairs.append((r, np.tile(wide, (1, rows.shape[1]))))
        self._pattern = Pattern(self.size, self.dim, pairs)
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
        each = np.arange(pattern.dim)
        down = each[:, None, None] * pattern.row[rows][:, :, None, None, None]
        return np.asarray(first + down + each, dtype=np.int64).ravel()

    def _reduce(self, pattern: Pattern) -> None:
        """Find the entries of the free rows and columns."""
        from scipy.sparse import csr_matrix

        numbers = np.arange(pattern.entries, dtype=np.int64)
        size = self.size * self.dim
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
        nodes = self.free // self.dim
        return Layout(self.points[nodes], self.free % self.dim, touches[nodes])

    def accepted(self, state: State, trial: Trial, t: float) -> State:
        """Return the state after a step that was accepted."""
        histories = tuple(
            p.committed(out, h)
            for p, out, h in zip(self.passes, trial.outs, state.histories, strict=True)
        )
        return State(t, trial.u, histories, self.anew(trial.founds, trial.u))

    def anew(self, founds: tuple[ClosestPoints, ...], u: Floats) -> tuple[ClosestPoints, ...]:
        """Return closest points as a load step begins with them.

        Parameters
        ----------
        u : (nodes, d) unknowns of the accepted state
        """
        x = self.places(u)
        return tuple(p.anew(found, x) for p, found in zip(self.passes, founds, strict=True))

    def stored(self, trial: Trial) -> tuple[float, float]:
        """Return elastic energy, the springs of stick included, and adhesive energy [J/m]."""
        from stiction.solids.contact import sweeps as k

        adhesive = 0.0
        for p, out in zip(self.passes, trial.outs, strict=True):
            adhesive += p.energy_fraction * float(out[:, k.POTENTIAL].sum())
        moved = self.unknowns.displacements(trial.u)
        return self.bulk.energy(moved) + self.springs(trial), adhesive

    def grounded(self, trial: Trial, t: float) -> float:
        """Return the energy of springs to the ground [J/m]."""
        moved = self.unknowns.displacements(trial.u)
        return sum(self.holding.spring_energies(t, moved).values())

    def springs(self, trial: Trial) -> float:
        """Return the energy of the springs of stick [J/m]; half of each pass of two bodies."""
        from stiction.solids.contact import sweeps as k

        total = 0.0
        for p, out in zip(self.passes, trial.outs, strict=True):
            total += p.energy_fraction * float(out[:, k.SPRING].sum())
        return total
