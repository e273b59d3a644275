"""The discrete equations of a solid: unknowns, residual, consistent tangent, prescribed values.

In equilibria the residual is r = f_int(u) + f_contact(u) - f_load(t), and the tangent is dr/du.
Entries of r at prescribed unknowns are the reactions. Arrays of unknowns are (nodes, d): first the
nodes and control points of all bodies, then one node for the translation of each rigid partner,
then one node for the multipliers of each node in hard contact (see `contact.multipliers`); unknown
i of a vector is component i % d of node i // d.

`Problem.evaluate` computes r and the tangent at trial unknowns without changing the state
(`Trial`), and `Problem.accepted` commits a trial (`State`). `newton`, `bordered` and
`dynamics.problem` call `evaluate`; `load_steps` and `arclength` call `accepted`.
Source: docs/theory/solids.md, "One load step"; Mergel, Scheibert, Sauer 2021.
"""

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
from stiction.solids.equilibria.boundary_conditions import BoundaryConditions
from stiction.solids.equilibria.work_integrals import Released, condition_forces, release
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

# factor of eps * modulus * sqrt(area) in the rounding error of the residual; 1 to 3 were measured
_STRAIN_ROUNDOFF = 4.0
_PLANE = 2
# admissible penetration at single points of hard contact, over the length of the finest element
_OVERLAP = 0.05
# ratio of element length to length of the normal law, beyond which Newton's method may meet a jump
_COARSE = 100.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class State(NamedTuple):
    """The committed state of a load step.

    Parameters
    ----------
    time : program time
    u : (nodes, d) unknowns [m]: displacements of nodes and control points. If conditions prescribe
        displacements between control points, or sums of displacements, some unknowns are linear
        combinations of displacements; `Problem.unknowns` maps one to the other
    histories : friction history of each pass
    closest_points : closest points of each pass, from which the next projection starts
    """

    time: float
    u: Floats
    histories: tuple[History, ...]
    closest_points: tuple[ClosestPoints, ...]


class Trial(NamedTuple):
    """The evaluation of the equations at trial unknowns, not yet accepted.

    Parameters
    ----------
    u : (nodes, d) unknowns [m]
    residual, internal : (nodes, d) residual, and internal forces of bodies [N/m]
    point_values : (p, OUT) record of the contact points of each pass, see `contact.sweeps`
    closest_points : closest points of each pass
    inverted : number of integration points with det F <= 0
    """

    u: Floats
    residual: Floats
    internal: Floats
    point_values: tuple[Floats, ...]
    closest_points: tuple[ClosestPoints, ...]
    inverted: int


class Problem:
    """The discrete equations of a solid: residual, tangent and prescribed values.

    Parameters
    ----------
    assembled : bodies, contacts and conditions of a system

    Attributes
    ----------
    work_tolerance : tolerance of the work between two load steps, see `unbalanced_work` [1]
    released : forces that conditions released at the begin of the stage
    begin, end : times at which the run begins, and ends with its last stage; 0 and infinite if they
        are not known
    carriers : for each hard contact, the additional nodes whose unknowns are its multipliers
    first : first node of each body in the global numbering, then the number of their nodes
    rigid_node : for each contact with a rigid partner, the node of its translation
    fixed, free : (nodes, d) which unknowns are prescribed, and the flat indices of the others
    free_indices : column indices of the tangent of free unknowns, a new array per sparsity pattern
    """

    # error of the work integrals of a step over its exchanged energy, unless the method sets it
    work_tolerance = 1e-7
    released: Released | None = None
    begin, end = 0.0, np.inf

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
        # elements with global node numbers, and tables of materials
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
        self.add_contacts(assembled)
        self.enter_stage(0)

    def _add_multipliers(self) -> dict[int, Ints]:
        """Add an unknown for each node of boundaries in hard contact; return them by contact."""
        carriers: dict[int, Ints] = {}
        for i, contact in enumerate(self.assembled.pairs):
            if isinstance(contact.adhesion, Signorini):
                nodes = np.unique(self._surface(contact.boundary).nodes)
                carriers[i] = self.points.shape[0] + np.arange(nodes.size)
                self.points = np.concatenate([self.points, self.points[nodes]])
        return carriers

    def add_contacts(self, assembled: Assembled) -> None:
        """Add contacts that were activated during a run.

        Parameters
        ----------
        assembled : the same bodies, conditions and contacts, with further contacts at the end
        """
        known = len(set(self.contact_of_pass))
        self.assembled = assembled
        for i, contact in list(enumerate(assembled.pairs))[known:]:
            self._add_contact(i, contact)
        self.unpaired = [
            BroadPhase(near, [self._surface(b) for b in near.boundaries])
            for near in assembled.pair_searches
        ]
        # cached properties of all passes
        for name in (
            "mortar_only",
            "largest_adhesion_work",
            "max_tensions",
            "overlap",
            "rounding",
            "static_force_floor",
        ):
            self.__dict__.pop(name, None)
        self._forget_pattern()

    def _add_contact(self, i: int, contact: Contact) -> None:
        """Add the passes of a contact."""
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
            why = "hard contact needs a contact modulus, and a membrane has none."
            try_ = "use a normal law with a stiffness, such as LennardJones."
            raise ModelError("Contact.adhesion", got, needs, why, try_)
        return float(described.material.contact_modulus(described.plane_stress))

    def _forget_pattern(self) -> None:
        """Discard the sparsity pattern, which the next evaluation builds again."""
        self.coupled: list[tuple[Ints, Ints]] = []
        self._pattern: Pattern | None = None
        self._signature: list[tuple[bytes, bytes]] = []

    def _add_pass(self, contact: int, contact_pass: ContactPass, body: int) -> None:
        """Add a pass of a contact (number `contact`) that integrates over the body `body`."""
        self.passes.append(contact_pass)
        self.contact_of_pass.append(contact)
        self.body_of_pass.append(body)

    # ------------------------------------------------------------ conditions and loads

    def _surface(self, boundary: Boundary) -> Surface:
        """Return the arrays of a boundary, in the numbers of the nodes of all bodies."""
        surface = self.parts[boundary.body].surfaces[boundary.name]
        return surface._replace(nodes=surface.nodes + self.first[boundary.body])

    def enter_stage(
        self, stage: int, base: Floats | None = None, angles: dict[int, float] | None = None
    ) -> None:
        """Enter a stage: its conditions replace those of the last one.

        Parameters
        ----------
        stage : its number
        base : (nodes, d) displacements of nodes and control points at its begin [m]
        angles : rotations of rigid partners at its begin, by contact [rad]
        """
        self.stage, self.base, self.angles = stage, base, dict(angles or {})
        self.conditions = BoundaryConditions(self, stage, base, angles)
        self.unknowns = self.conditions.unknowns
        self.fixed, self.free = self.conditions.fixed, self.conditions.free
        self._forget_pattern()

    def check_stages(self) -> list[int]:
        """Return the number of free displacements of each stage, of one without stages.

        Conditions of later stages on missing places are refused, and two on one displacement. Sums
        of displacements that contradict each other are refused when their stage begins: they
        contain its positions.
        """
        later = range(1, len(self.assembled.stages))
        return [self.free.size, *(BoundaryConditions(self, stage).free.size for stage in later)]

    def fresh_copy(self) -> Problem:
        """Return a copy of the equations in the same stage, without cached patterns."""
        copy = Problem(self.assembled)
        copy.work_tolerance, copy.begin, copy.end = self.work_tolerance, self.begin, self.end
        if self.stage or self.base is not None:
            copy.enter_stage(self.stage, self.base, self.angles)
        copy.released = self.released
        return copy

    def enter_next_stage(self, state: State, trial: Trial) -> tuple[State, Trial]:
        """Enter the next stage, and return state and trial in its unknowns."""
        t, u = state.time, self.unknowns.displacements(state.u)
        forces = self.unknowns.nodal_forces(trial.residual + self.loads(t, u))
        internal = self.unknowns.nodal_forces(trial.internal)
        angles = {i: self.conditions.angle(i, t) for i in self.rigid_node}
        before = (
            condition_forces(self, t, u, trial.residual),
            self.conditions.spring_energies(t, u),
        )
        self.enter_stage(self.stage + 1, u, angles)
        self.released = release(self, t, u, *before)
        v = self.unknowns.values(u)
        residual = self.unknowns.forces(forces) - self.loads(t, u)
        new_trial = trial._replace(u=v, residual=residual, internal=self.unknowns.forces(internal))
        return state._replace(u=v), new_trial

    def nodes_of(self, where: object) -> Ints:
        """Return the nodes that a condition refers to."""
        return self.conditions.nodes_of(where)

    def positions(self, u: Floats) -> Floats:
        """Return the current positions (nodes, d) of nodes and control points [m]."""
        return self.points + self.unknowns.displacements(u)

    def least_jacobian(self, u: Floats) -> float:
        """Return the smallest ratio of minimum to maximum Jacobian in an element; see `Hull`."""
        x = self.positions(u)
        return min(
            least_of(part.hulls, x[first : first + part.points.shape[0]])
            for part, first in zip(self.parts, self.first, strict=False)
        )

    @functools.cached_property
    def bending_excess(self) -> Excess:
        """The parasitic strain energy of linear elements in bending."""
        bodies = []
        for part, body, first in zip(self.parts, self.assembled.bodies, self.first, strict=False):
            if not isinstance(body, Membrane):
                blocks = [b._replace(nodes=b.nodes + first) for b in part.blocks]
                bodies.append((blocks, body.material.table(body.plane_stress)))
        return Excess(bodies)

    def prescribed(self, t: float) -> Floats:
        """Return displacements (nodes, d) [m], zero where nothing is prescribed."""
        return self.conditions.prescribed(t)

    def loads(self, t: float, u: Floats | None = None) -> Floats:
        """Return the external loads on the unknowns (nodes, d) [N/m].

        Parameters
        ----------
        u : (nodes, d) displacements of nodes and control points, which pressures follow [m];
            None takes zero
        """
        return self.conditions.loads(t, np.zeros((self.size, self.dim)) if u is None else u)

    def rotation(self, contact: int, t: float) -> float:
        """Return the rotation of the rigid partner of a contact [rad]."""
        return self.conditions.angle(contact, t)

    def contact_varies(self, t: float, h: float) -> bool:
        """Return whether attraction or a rotation of partners changes between t - h and t + h."""
        ramp = self.assembled.attraction
        varies = [ramp.at(t + h) != ramp.at(t - h)]
        varies += [self.rotation(i, t + h) != self.rotation(i, t - h) for i in self.rigid_node]
        return any(varies)

    def friction_from(self, contact: Contact) -> float:
        """Return the time from which friction acts at a contact."""
        return self.begin if contact.friction_from is None else float(contact.friction_from)

    def kink_times(self) -> Floats:
        """Return the times at which a program changes slope, friction starts or a stage ends."""
        times = [self.friction_from(c) for c in self.assembled.pairs]
        times += [stage.until for stage in self.assembled.stages]
        for program in (*self.assembled.programs(), self.assembled.attraction):
            times.extend(program.corners())
        return np.unique(np.asarray(times, dtype=np.float64))

    def start(self, t: float) -> State:
        """Return the initial state."""
        u = self.prescribed(t)
        x = self.positions(u)
        closest_points = tuple(p.project(x, None) for p in self.passes)
        check_start(self, x, closest_points)
        projected = zip(self.passes, closest_points, strict=True)
        histories = tuple(
            p.sticking(x, points) if t > self.friction_from(p.contact) else p.empty_history()
            for p, points in projected
        )
        return State(t, u, histories, closest_points)

    def has_friction(self, t: float) -> bool:
        """Return whether friction acts anywhere at time t."""
        return any(
            t > self.friction_from(p.contact) and not isinstance(p.contact.friction, Frictionless)
            for p in self.passes
        )

    def contact_states(self, trial: Trial) -> list[Ints]:
        """Return the contact states of each pass (p,): 0 stick, 1 slip, -1 without friction."""
        from stiction.solids.contact import sweeps as k

        states = []
        for values in trial.point_values:
            state = values[:, k.STATE]
            fixed = np.where(state == k.STICKS, 0, np.where(state == k.SLIDES, 1, -1))
            states.append(fixed.astype(np.int64))
        return states

    @functools.cached_property
    def mortar_only(self) -> bool:
        """Whether all deformable pairs and all friction use the mortar method."""
        rigid = [p for p in self.passes if not p.mortar]
        smooth = all(
            isinstance(p.contact.friction, Frictionless) and not p.is_half_pass for p in rigid
        )
        return smooth and len(rigid) < len(self.passes)

    @functools.cached_property
    def largest_adhesion_work(self) -> float:
        """The largest work of adhesion of any one contact boundary [J/m]."""
        return max((p.adhesion_energy for p in self.passes), default=0.0)

    @functools.cached_property
    def max_tensions(self) -> Floats:
        """T_max of the law at every point of the passes [Pa]; hard contact has no bound."""
        tensions = [
            np.full(p.count, np.inf if p.hard else p.contact.adhesion.max_tension)
            for p in self.passes
        ]
        return np.concatenate([np.zeros(0), *tensions])

    @functools.cached_property
    def overlap(self) -> Floats:
        """(p,) admissible penetration at the points of hard contact [m], zero at others.

        Only the weighted gap of each node vanishes; single points penetrate by the discretisation
        error.
        """
        overlaps = [np.full(p.count, _OVERLAP * p.finest if p.hard else 0.0) for p in self.passes]
        return np.concatenate([np.zeros(0), *overlaps])

    @functools.cached_property
    def rounding(self) -> float:
        """The rounding error of the residual [N/m], from positions in contact and from strains.

        Positions are rounded to eps times their size, and tractions follow with the stiffness of
        the law. Strains are rounded to eps, and stresses follow with the modulus of
        one-dimensional compression, which grows without bound as nu tends to 1/2.

        Verified by: tests/unit/solids/equilibria/test_floor.py::test_residuals_stop_at_the_floor
        """
        eps = np.finfo(np.float64).eps
        extent = float(np.abs(self.points).max())
        total = 0.0
        for p in self.passes:
            law = p.contact.adhesion
            if isinstance(p, MultiplierPass):
                stiffness = p.stiffness
            else:
                # on the side of repulsion: at the gap itself a law may change its branch
                stiffness = abs(float(np.asarray(law.stiffness(0.999999 * law.gap_eq))))
                stiffness = max(stiffness, p.contact.tangential_stiffness)
            partner = p.contact.partner
            distance = max(extent, partner.extent()) if isinstance(partner, RigidShape) else extent
            total += eps * distance * stiffness * float(np.linalg.norm(p.own.areas))
        for part, body in zip(self.parts, self.assembled.bodies, strict=True):
            if isinstance(body, Membrane):
                area = sum(float(sheet.weights.sum()) for sheet in part.sheets) / body.thickness
                total += _STRAIN_ROUNDOFF * eps * body.tension * np.sqrt(area)
                continue
            e, nu = body.material.elastic_constants()
            modulus = e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
            if self.dim > _PLANE:
                # forces of a hexahedron grow with its faces
                faces = [block.weights.sum(axis=1) ** (4.0 / 3.0) for block in part.blocks]
                area = sum(float(face.sum()) for face in faces)
            else:
                area = sum(float(block.weights.sum()) for block in part.blocks)
            total += _STRAIN_ROUNDOFF * eps * modulus * np.sqrt(area)
        return float(total)

    @functools.cached_property
    def largest_length(self) -> float:
        """The longest side of a box around all bodies [m]."""
        return float(np.ptp(self.points, axis=0).max())

    @property
    def force_floor(self) -> float:
        """The smallest scale of residuals [N/m]; in dynamics that of a time step."""
        return self.static_force_floor

    @functools.cached_property
    def static_force_floor(self) -> float:
        """The smallest scale of residuals in equilibria [N/m]."""
        tension = max((p.contact.adhesion.max_tension for p in self.passes), default=0.0)
        length, modulus = self.largest_length, self._largest_modulus
        if self.dim > _PLANE:
            # forces in space, forces per width in the plane
            tension *= sum(float(p.own.areas.sum()) for p in self.passes) / length
        # a residual of 1e-9 of this force lies a little above rounding. The other two were chosen:
        # small fractions of the tension of the whole boundary, and of strains of order one
        return max(1e-4 * tension * length, 5e-5 * modulus * length, 2e9 * self.rounding)

    @property
    def _largest_modulus(self) -> float:
        """The largest Young's modulus [Pa]; in space times the largest length [N/m]."""
        bodies = self.assembled.bodies
        # in space a modulus times a length is a force per width
        length = self.largest_length if self.dim > _PLANE else 1.0
        return max(
            body.tension
            if isinstance(body, Membrane)
            else body.material.elastic_constants()[0] * length
            for body in bodies
        )

    def check_tolerance(self, name: str, tolerance: float) -> None:
        """Refuse a tolerance of Newton's method below the rounding error of the residual.

        Parameters
        ----------
        name : of the method, for messages
        tolerance : residual over the forces in equilibrium [1]
        """
        floor = self.rounding / (self._largest_modulus * self.largest_length)
        if tolerance < floor:
            why = "a smaller residual, divided by E times the largest length, is rounding error."
            needs = f"at least {floor:.2g}, the effect of rounding"
            try_ = (
                self.coarse_elements()
                or f"give {floor:.1e}; a softer penalty or law, or nu farther from 1/2, lowers "
                "the rounding error"
            ) + "."
            raise ModelError(f"{name}.newton_tolerance", tolerance, needs, why, try_)

    def coarse_elements(self) -> str:
        """Return advice on elements much longer than the length of a normal law, "" without any."""
        for p in self.passes:
            length = p.contact.adhesion.length
            if 0.0 < _COARSE * length < p.finest:
                return (
                    f"elements of boundary {p.contact.boundary.name!r} are {p.finest:.2g} m, "
                    f"{p.finest / length:.2g} times the length {length:.2g} m of the normal law: "
                    "refine them, take a longer law, or Signorini() for hard contact without one"
                )
        return ""

    def check_soft(self, name: str) -> None:
        """Refuse hard contact: only the load steps of `Quasistatic` solve for its multipliers.

        Parameters
        ----------
        name : of the method, for messages
        """
        if self.carriers:
            got, needs = (
                "contact by Signorini",
                "normal laws with a stiffness, such as LennardJones",
            )
            why = "this method does not solve for the multipliers of hard contact."
            raise ModelError(name, got, needs, why, "solve it by Quasistatic.")

    # ------------------------------------------------------------ residual and tangent

    def evaluate(
        self, state: State, u: Floats, t: float, fixed_states: list[Ints] | None, data: bool
    ) -> tuple[Trial, csr_matrix | None]:
        """Return the residual, and the tangent if `data` is set, at trial unknowns.

        Parameters
        ----------
        state : the last accepted one; its histories are not changed
        u : (nodes, d) trial unknowns [m]
        t : time of the trial
        fixed_states : (p,) prescribed contact states of each pass; None lets every point change
        """
        # positions, closest points, and the sparsity pattern that they determine
        u_nodes = self.unknowns.displacements(u)
        x = self.points + u_nodes
        identity = self.unknowns.is_identity
        residual = -self.loads(t, u_nodes) if identity else np.zeros((self.size, self.dim))
        closest = tuple(
            p.project(x, f) for p, f in zip(self.passes, state.closest_points, strict=True)
        )
        pattern = self._pattern_for(closest, state) if data else self._pattern
        values = np.zeros(pattern.entries) if data and pattern is not None else None
        if self._pattern is None:
            pattern = self._pattern_for(closest, state)
        # internal forces of bodies, then contact forces of each pass, then tangents of loads
        internal = np.zeros((self.size, self.dim))
        inverted = self.bulk.add(u_nodes, internal, values)
        residual += internal
        point_values = []
        for k, p in enumerate(self.passes):
            fixed = fixed_states[k] if fixed_states is not None else np.full(p.count, -1)
            block_values = np.empty(p.block_shape(closest[k])) if data else None
            out = p.evaluate(
                x,
                closest[k],
                state.histories[k],
                fixed,
                with_friction=t > self.friction_from(p.contact),
                attraction=self.assembled.attraction.at(t),
                residual=residual,
                values=block_values,
                rotation=self.rotation(self.contact_of_pass[k], t),
            )
            point_values.append(out)
            if block_values is not None and values is not None:
                np.add.at(values, self._pass_entries[k], block_values.ravel())
        if values is not None and pattern is not None:
            for entries in self.conditions.load_tangents(t):
                where = self._entries_of(pattern, entries.nodes, entries.nodes)
                np.add.at(values, where, entries.blocks.ravel())
        if not identity:
            # loads act on the unknowns themselves
            residual = self.unknowns.forces(residual) - self.loads(t, u_nodes)
            internal = self.unknowns.forces(internal)
        trial = Trial(u, residual, internal, tuple(point_values), closest, inverted)
        if values is None or pattern is None:
            return trial, None
        return trial, self.unknowns.tangent(pattern.matrix(values))

    def _pattern_for(self, closest: tuple[ClosestPoints, ...], state: State) -> Pattern:
        """Return the sparsity pattern of the tangent at these closest points, new if needed."""
        blocks = [
            p.blocks(f, h) for p, f, h in zip(self.passes, closest, state.histories, strict=True)
        ]
        signature = [
            p.signature(f, h) for p, f, h in zip(self.passes, closest, state.histories, strict=True)
        ]
        # the same blocks, or other blocks that the pattern contains; else a new pattern
        if self._pattern is not None and signature == self._signature:
            return self._pattern
        if self._pattern is not None:
            try:
                self._pass_entries = [self._entries_of(self._pattern, *b) for b in blocks]
                self._signature = signature
                return self._pattern
            except KeyError:
                pass
        self.couple(
            [
                p.coupled(rows, columns, points)
                for p, (rows, columns), points in zip(self.passes, blocks, closest, strict=True)
            ]
        )
        assert self._pattern is not None
        self._pass_entries = [self._entries_of(self._pattern, *b) for b in blocks]
        self._signature = signature
        return self._pattern

    def couple(self, coupled: list[tuple[Ints, Ints]]) -> None:
        """Build the sparsity pattern of bodies, loads and contact.

        Parameters
        ----------
        coupled : (rows, columns) of the nodes that each pass couples
        """
        self.coupled = coupled
        pairs = list(self.bulk.pairs())
        for entries in self.conditions.load_tangents(0.0):
            n = entries.nodes.shape[1]
            pairs.append((np.repeat(entries.nodes, n, axis=1), np.tile(entries.nodes, (1, n))))
        for rows, columns in coupled:
            r = np.repeat(rows, columns.shape[1], axis=1)
            pairs.append((r, np.tile(columns, (1, rows.shape[1]))))
        self._pattern = Pattern(self.size, self.dim, pairs)
        self.bulk.bind(self._pattern)
        self._signature = []
        self._index_free(self._pattern)

    @staticmethod
    def _entries_of(pattern: Pattern, rows: Ints, columns: Ints) -> Ints:
        """Return the indices into the tangent's data of all entries of node blocks."""
        p, r = rows.shape
        c = columns.shape[1]
        left, right = np.repeat(rows, c, axis=1), np.tile(columns, (1, r))
        offsets = pattern.places(left.ravel(), right.ravel()).reshape(p, r, 1, c, 1)
        components_ = np.arange(pattern.dim)
        rows_below = components_[:, None, None] * pattern.row[rows][:, :, None, None, None]
        return np.asarray(offsets + rows_below + components_, dtype=np.int64).ravel()

    def _index_free(self, pattern: Pattern) -> None:
        """Index the entries of free rows and columns."""
        from scipy.sparse import csr_matrix

        numbers = np.arange(pattern.entries, dtype=np.int64)
        size = self.size * self.dim
        entries = csr_matrix((numbers, pattern.indices, pattern.indptr), shape=(size, size))
        reduced = entries[self.free][:, self.free]
        reduced.sort_indices()
        self._free_entries = reduced.data
        self.free_indices = reduced.indices.astype(np.int32)
        self._free_indptr = reduced.indptr.astype(np.int32)

    def reduced(self, matrix: csr_matrix) -> csr_matrix:
        """Return the rows and columns of the free unknowns; index arrays are shared."""
        from scipy.sparse import csr_matrix

        n = self.free.size
        if not self.unknowns.is_identity:
            reduced = csr_matrix(matrix[self.free][:, self.free])
            reduced.sort_indices()
            return reduced
        reduced = csr_matrix(
            (matrix.data[self._free_entries], self.free_indices, self._free_indptr),
            shape=(n, n),
            copy=False,
        )
        reduced.has_sorted_indices = True
        # scipy may copy the index arrays: solvers recognise a pattern by their identity
        reduced.indices, reduced.indptr = self.free_indices, self._free_indptr
        return reduced

    def layout(self) -> Layout:
        """Return position, axis and contact flag of free unknowns, for ordering and multigrid."""
        in_contact = np.zeros(self.size, dtype=bool)
        for p in self.passes:
            in_contact[p.own.nodes.ravel()] = True
            in_contact[p.partner.nodes.ravel()] = True
        nodes = self.free // self.dim
        return Layout(self.points[nodes], self.free % self.dim, in_contact[nodes])

    def accepted(self, state: State, trial: Trial, t: float) -> State:
        """Return the state after a step that was accepted."""
        histories = tuple(
            p.committed(values) for p, values in zip(self.passes, trial.point_values, strict=True)
        )
        return State(t, trial.u, histories, self.next_step_points(trial.closest_points, trial.u))

    def next_step_points(
        self, closest: tuple[ClosestPoints, ...], u: Floats
    ) -> tuple[ClosestPoints, ...]:
        """Return the closest points from which a load step begins.

        Parameters
        ----------
        u : (nodes, d) unknowns of the accepted state
        """
        x = self.positions(u)
        return tuple(
            p.next_step_points(found, x) for p, found in zip(self.passes, closest, strict=True)
        )

    def stored(self, trial: Trial) -> tuple[float, float]:
        """Return elastic energy, stick springs included, and adhesive energy [J/m]."""
        from stiction.solids.contact import sweeps as k

        adhesive = 0.0
        for p, values in zip(self.passes, trial.point_values, strict=True):
            adhesive += p.energy_fraction * float(values[:, k.POTENTIAL].sum())
        displacements = self.unknowns.displacements(trial.u)
        return self.bulk.energy(displacements) + self.stick_energy(trial), adhesive

    def ground_energy(self, trial: Trial, t: float) -> float:
        """Return the energy of springs to the ground [J/m]."""
        displacements = self.unknowns.displacements(trial.u)
        return sum(self.conditions.spring_energies(t, displacements).values())

    def stick_energy(self, trial: Trial) -> float:
        """Return the energy of stick springs [J/m]; each of two passes contributes half."""
        from stiction.solids.contact import sweeps as k

        total = 0.0
        for p, values in zip(self.passes, trial.point_values, strict=True):
            total += p.energy_fraction * float(values[:, k.SPRING].sum())
        return total
