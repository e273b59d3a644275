"""A contact pair: its boundary, partner and laws, its forces and its tangent in a state.

`Contact` is the description. `ContactPass` is one pass over one boundary while a problem is
solved: it computes closest-point projections, adds forces and tangents, and returns the friction
history that the method commits when it accepts a step. `ContactPass.evaluate` computes own points,
closest points and origins of slip on the partner, return map, forces and tangent, in this order
(Mergel, Scheibert, Sauer 2021, section 3): the traction on the own body per reference area is
T n / J - J* t, and the force on its node k is -int N_k (T n / J - J* t) dA as part of the residual.
The formulas are in `sweeps`; `equilibria.problem` calls the passes.

A pass integrates over the p points of its own boundary; m = d - 1 is the number of coordinates
along a boundary. `MortarPass`, `SelfPass` and `MultiplierPass` are other passes with the same
methods.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core import fields
from stiction.core.fields import Choice, Declared, Finite, Flag, Positive
from stiction.errors import ModelError
from stiction.laws.adhesion import Adhesion, LennardJones
from stiction.laws.adhesive_friction import AdhesiveFriction, Frictionless, UserThreshold
from stiction.laws.interface_tractions import DECIDE, INCREMENT
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import (
    CENTRE,
    RationalBoundary,
    boundary_coordinate,
    closest_on_rigid,
    derivative_layout,
    knots_of,
    locate,
    points_on_rigid,
)
from stiction.solids.contact.partners import Boundary, Partner, RigidCircle, RigidShape
from stiction.solids.contact.segments import is_closed
from stiction.solids.dimensions import crossed
from stiction.solids.unilateral import Coulomb, Signorini

__all__ = ["ClosestPoints", "Contact", "ContactPass", "History", "PartnerArrays"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# default penalty over the stiffness of the normal law at its equilibrium gap. Chosen: stick then
# yields a tenth as much as the normal contact
_PENALTY = 10.0

_OF_CONTACT = "a contact consists of a boundary, a partner and laws."
_SIDE = fields.Part(_OF_CONTACT, "give st.solids.Boundary(body, name).")
_PARTNER = fields.Part(
    _OF_CONTACT, "give st.solids.Boundary(body, name), or a RigidPlane, RigidCircle or RigidSphere."
)
_NORMAL = fields.Part(_OF_CONTACT, "give st.solids.Signorini() or st.LennardJones(...).")
_FRICTION = fields.Part(
    _OF_CONTACT,
    "give st.solids.Coulomb(mu), st.EA, st.DI or st.laws.Frictionless(); st.Coulomb is for chains.",
)
PENALTY = Positive(
    "Pa/m",
    "the interface has this tangential stiffness in stick.",
    "leave this value out for ten times the stiffness of the normal law.",
)
_STRETCH = Flag("True lets tractions decrease as surfaces stretch.", "give True.")
_STICK_RATIO = Positive(
    "1", "the static threshold is at least the sliding one.", "give 1, or 1.2.", least=1.0
)
_FROM = Finite("", "friction acts from this time on.", "leave this value out for the start.")
_PASSES = Choice(
    ("two-half-pass", "mortar"),
    "the passes select how contact between two bodies is integrated.",
    'give "two-half-pass", as the paper does.',
)


@dataclass(frozen=True, eq=False, repr=False)
class Contact(Declared):
    """Adhesion, pressure and friction between a boundary and a partner.

    Parameters
    ----------
    boundary : the boundary over which contact is integrated
    partner : a rigid shape, or the boundary of a body; see `passes`
    adhesion : the normal law
    friction : the threshold for sliding
    penalty : tangential stiffness in stick [Pa/m]; None takes ten times the stiffness of the
        normal law at its equilibrium gap. Per current area for DI, per reference area for EA
    stretch : whether tractions decrease with the area stretch J of the partner's surface, eq. (10)
    stick_ratio : threshold for leaving stick over that of sliding [1], >= 1
    friction_from : time from which friction acts [time unit]; before, the boundary slips freely.
        None takes the start of the run. If it lies before the start, points in contact at the start
        stick there
    passes : "two-half-pass": one pass over each of two bodies, which loads that
        body alone; or "mortar", one pass over mortar segments of `boundary`, whose virtual work
        loads both bodies: forces and moments balance, and tractions follow from energies per
        reference area of `boundary`, whatever `stretch` is

    Source: Mergel, Scheibert, Sauer 2021, sections 2.2, 2.3, 3.1, 3.4.
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """

    boundary: Annotated[Boundary, _SIDE] = field(default_factory=Boundary)
    partner: Annotated[Partner, _PARTNER] = field(default_factory=lambda: Boundary(1, "top"))
    adhesion: Annotated[Adhesion, _NORMAL] = field(
        default_factory=lambda: LennardJones(1e-19, 4e-10)
    )
    friction: Annotated[AdhesiveFriction, _FRICTION] = field(default_factory=Frictionless)
    penalty: Annotated[float | None, PENALTY] = None
    stretch: Annotated[bool, _STRETCH] = True
    stick_ratio: Annotated[float, _STICK_RATIO] = 1.0
    friction_from: Annotated[float | None, _FROM] = None
    passes: Annotated[str, _PASSES] = "two-half-pass"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passes == "mortar" and not isinstance(self.partner, Boundary):
            why = "a rigid partner gets the opposite force in any case."
            try_ = "leave this value out."
            got = "'mortar' with a rigid partner"
            raise ModelError("Contact.passes", got, "two bodies", why, try_)
        if isinstance(self.adhesion, Signorini):
            self._check_hard()

    def _check_hard(self) -> None:
        """Refuse a penalty, self-contact and friction other than Coulomb's in hard contact."""
        friction = self.friction
        if not isinstance(friction, (Frictionless, Coulomb)):
            got, needs = type(friction).__name__, "Coulomb or Frictionless"
            why = "other friction laws need a normal law with a stiffness."
            raise ModelError("Contact.friction", got, needs, why, "give st.solids.Coulomb(mu).")
        for name, value, default in (
            ("penalty", self.penalty, None),
            ("stick_ratio", self.stick_ratio, 1.0),
        ):
            if value != default:
                got, needs = f"{value!r} with Signorini", f"{default!r}"
                why = "stick is exact under hard contact."
                raise ModelError(f"Contact.{name}", got, needs, why, "leave this value out.")
        if self.partner == self.boundary:
            got, needs = "a boundary that touches itself, with Signorini", "another boundary"
            why = "multipliers belong to the nodes of one side; the other side has none."
            try_ = "take a law with a stiffness, such as LennardJones, for self-contact."
            raise ModelError("Contact.partner", got, needs, why, try_)

    @property
    def tangential_stiffness(self) -> float:
        """The penalty [Pa/m], or its default."""
        if self.penalty is not None:
            return float(self.penalty)
        if isinstance(self.adhesion, Signorini):
            return 0.0
        # just inside the wall: a law without tension has no stiffness at the gap itself
        slope = np.asarray(self.adhesion.stiffness(0.999999 * self.adhesion.gap_eq))
        return _PENALTY * abs(float(slope))


class ClosestPoints(NamedTuple):
    """Closest-point projections onto a deformable partner.

    Parameters
    ----------
    element, xi : (p,) partner element and (p, m) coordinates on it of each closest point
    normal : (p,) whether the line to the closest point is normal to the partner, so that the point
        is a projection
    """

    element: Ints
    xi: Floats
    normal: Bools

    def at(self, which: Ints) -> ClosestPoints:
        """Return the closest points of some points."""
        return ClosestPoints(self.element[which], self.xi[which], self.normal[which])


class History(NamedTuple):
    """Friction history of points, committed at every accepted step.

    Parameters
    ----------
    origin : (p, m) origins of slip, the points where the friction spring is relaxed, as coordinates
        along the whole partner [m]; `locate` returns their elements and xi
    has_origin : (p,) whether a point has an origin of slip
    stuck : (p,) whether it stuck in the last accepted step
    """

    origin: Floats
    has_origin: Bools
    stuck: Bools


class PartnerArrays(NamedTuple):
    """Arrays of the partner for kernels.

    Parameters
    ----------
    rigid, shape : whether the partner is a rigid shape, and the table of this shape
    node : of the translation of a rigid shape
    nodes, extraction, weights, knots : of a deformable boundary: nodes of its elements, rational
        Bernstein extraction and weights, knots
    """

    rigid: bool
    shape: Floats
    node: int
    nodes: Ints
    extraction: Floats
    weights: Floats
    knots: tuple[Floats, ...]


class ContactPass:
    """One pass over one boundary.

    Parameters
    ----------
    contact : the description
    own : the boundary, in the global numbering
    partner : the other boundary, or a rigid shape with the number of its node
    points : (nodes, d) reference places of all nodes; surfaces have m = d - 1 coordinates

    Attributes
    ----------
    count, dim : number p of points, and d
    coordinate : (m, p) reference length along the own boundary at each point [m]
    energy_fraction : 1/2 in two-half-pass contact, where two passes contain one energy, else 1
    is_half_pass, mortar : whether it is one of two passes, and whether it is integrated by segments
    partner, neighbours : arrays of the partner, and (s, 2 m) adjacent elements on it
    """

    # whether conditions of hard contact hold by multipliers
    hard = False

    def __init__(
        self,
        contact: Contact,
        own: Surface,
        partner: Surface | tuple[RigidShape, int],
        points: Floats,
    ) -> None:
        # in two-half-pass contact each pass contributes half of the energy
        self.is_half_pass, self.mortar = isinstance(partner, Surface), False
        self.energy_fraction = 0.5 if self.is_half_pass else 1.0
        self.contact, self.own, self.reference = contact, own, points
        self.count, self.dim = own.areas.size, int(points.shape[1])
        # arrays of the own boundary by integration point, which is the last axis in sweeps
        n = int(own.nodes.shape[1])
        self._nodes = np.repeat(own.nodes, own.areas.shape[1], axis=0)
        self._nodes_of_points = np.ascontiguousarray(self._nodes.T)
        m = self.dim - 1
        rates = own.derivatives.reshape(-1, n, m)
        functions_and_rates = [own.functions.reshape(-1, n).T, *(rates[..., a].T for a in range(m))]
        self._functions = np.ascontiguousarray(np.stack(functions_and_rates))
        at = points.T[:, self._nodes_of_points]
        base = np.stack([k.summed(rate, at) for rate in self._functions[k.RATE :]])
        self._length = k.lengths(crossed(base))
        self.coordinate = self._own_coordinate()
        if isinstance(partner, Surface):
            self.neighbours = partner.neighbours
            self.partner = PartnerArrays(
                False,
                np.zeros(1),
                0,
                partner.nodes,
                partner.extraction,
                partner.weights,
                knots_of(partner),
            )
        else:
            shape, node = partner
            self.neighbours = np.zeros((0, 2 * m), dtype=np.int64)
            self.partner = PartnerArrays(
                True,
                shape.table(),
                node,
                np.full((1, 1), node),
                np.ones((1, 1, 1)),
                np.ones((1, 1)),
                (np.array([0.0, 1.0]),) * m,
            )
            self._check_components(shape)
        # length of a closed partner in the plane; 0 of others
        self.period = 0.0
        if isinstance(partner, Surface):
            closed = m == 1 and is_closed(partner)
            self.period = float(self.partner.knots[0][-1]) if closed else 0.0
        elif isinstance(partner[0], RigidCircle):
            self.period = 2.0 * np.pi * float(partner[0].radius)
        self.shape = (self.count, self.dim * self._rows, self.dim * self._columns)
        rows = self._nodes
        if self.partner.rigid:
            rows = np.concatenate([rows, np.full((self.count, 1), self.partner.node)], axis=1)
        self._loaded_dofs = self.dim * rows[:, :, None] + np.arange(self.dim)
        self.own_curve = RationalBoundary(own)
        self.curve = RationalBoundary(partner) if isinstance(partner, Surface) else self.own_curve
        self._degrees = np.array(self.curve.degrees, dtype=np.int64)
        self.left_out = 0

    def _check_components(self, shape: RigidShape) -> None:
        """Refuse a rigid shape of another number of components than the body has."""
        if shape.components != self.dim:
            got, needs = f"{shape.components} components", f"{self.dim}, as the body has"
            why, try_ = "body and partner lie in one space.", "give a shape of the same space."
            raise ModelError("Contact.partner", got, needs, why, try_)

    @property
    def adhesion_energy(self) -> float:
        """The work of adhesion of the whole boundary [J/m], in space [J]."""
        law = self.contact.adhesion
        return abs(float(np.asarray(law.potential(law.gap_eq)))) * float(self.own.areas.sum())

    @property
    def finest(self) -> float:
        """The length of the smallest element of the boundary [m]."""
        return float(self.own.areas.sum(axis=1).min() ** (1.0 / (self.dim - 1)))

    def _own_coordinate(self) -> Floats:
        """Return the reference length along each coordinate at every point, (m, p)."""
        surface, gauss = self.own, self.own.points
        m, each = self.dim - 1, gauss.size
        q = np.arange(surface.areas.shape[1])
        xis = np.stack(
            [np.tile(gauss[q // each**a % each], surface.nodes.shape[0]) for a in range(m)]
        )
        elements = np.repeat(np.arange(surface.nodes.shape[0]), q.size)
        return boundary_coordinate(elements, xis, knots_of(surface))[0]

    def _shortest(self, path: Floats) -> Floats:
        """Return differences of coordinates, along a closed partner the shorter of both [m]."""
        return path - self.period * np.round(path / self.period) if self.period else path

    @property
    def _rows(self) -> int:
        """Number of nodes in the rows of a tangent block."""
        return int(self.own.nodes.shape[1]) + (1 if self.partner.rigid else 0)

    @property
    def _columns(self) -> int:
        """Number of nodes in its columns: own, and of the partner at closest point and origin."""
        n = int(self.own.nodes.shape[1])
        return n + 1 if self.partner.rigid else n + 2 * int(self.partner.nodes.shape[1])

    def empty_history(self) -> History:
        """Return the history of points that have had no contact yet."""
        n = self.count
        origin = np.zeros((n, self.dim - 1))
        return History(origin, np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))

    def sticking(self, x: Floats, closest: ClosestPoints) -> History:
        """Return the history of points that stick to their closest points."""
        out = self._frictionless_record(x, closest)
        return self.committed(out)

    def places(self, x: Floats) -> Floats:
        """Return the current positions of the integration points, (p, d)."""
        places = np.einsum("sqn,snd->sqd", self.own.functions, x[self.own.nodes])
        return np.asarray(places.reshape(-1, self.dim))

    def project(self, x: Floats, guess: ClosestPoints | None) -> ClosestPoints:
        """Return closest points from a guess, or from a search over the whole partner."""
        n = self.count
        if self.partner.rigid:
            none = np.zeros(n, dtype=np.int64)
            return ClosestPoints(none, np.zeros((n, self.dim - 1)), np.ones(n, dtype=bool))
        place = self.places(x)
        if guess is None:
            guess = self._search(place, x)
        closest = self.closest_from(place, guess, x)
        unprojected = ~closest.normal
        if unprojected.any():
            # iterations that ended without a normal start again from a search
            second = self.closest_from(place[unprojected], self._search(place[unprojected], x), x)
            for values, refined in zip(closest, second, strict=True):
                values[unprojected] = refined
        return closest

    def shown(self, out: Floats) -> tuple[Floats, Floats]:
        """Return the normal and the tangential traction at points, (p,) each, for figures."""
        return out[:, k.PRESSURE], out[:, k.SHEAR]

    def next_step_points(self, closest: ClosestPoints, x: Floats) -> ClosestPoints:
        """Return the closest points with which the next load step starts: the last ones."""
        return closest

    def closest_from(self, place: Floats, guess: ClosestPoints, x: Floats) -> ClosestPoints:
        """Return closest points on a deformable partner by Newton's method from a guess.

        Parameters
        ----------
        place : (p, d) own points [m]
        guess : closest points from which the iterations start
        x : (nodes, d) positions [m]
        """
        from stiction.solids.contact.curve_kernels import closest_point_kernel

        closest = ClosestPoints(guess.element.copy(), guess.xi.copy(), guess.normal.copy())
        arrays = closest.element, closest.xi, closest.normal
        closest_point_kernel(self.dim - 1)(place, *arrays, *self._boundary, x)
        return closest

    def partner_at(self, elements: Ints, xis: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return the functions and positions of `RationalBoundary.points`, by a compiled kernel.

        Parameters
        ----------
        elements, xis : (p,) and (m, p)
        """
        from stiction.solids.contact.curve_kernels import points_kernel

        m = self.dim - 1
        rows = len(derivative_layout(m).orders)
        functions = np.empty((rows, self.partner.nodes.shape[1], elements.size))
        places = np.empty((rows, self.dim, elements.size))
        at = np.ascontiguousarray(xis.T)
        points_kernel(m)(elements, at, *self._boundary, x, functions, places)
        return functions, places

    @property
    def _boundary(self) -> tuple[Ints, Floats, Floats, Ints, Ints]:
        """The arrays of a deformable partner, in the order of the kernels' arguments."""
        partner = self.partner
        return partner.nodes, partner.extraction, partner.weights, self.neighbours, self._degrees

    def gaps(self, x: Floats, closest: ClosestPoints) -> Floats:
        """Return the normal gap of every point (p,), infinite without a closest point."""
        return np.asarray(self._frictionless_record(x, closest)[:, k.GAP])

    def _frictionless_record(self, x: Floats, closest: ClosestPoints) -> Floats:
        """Return the record of each point without friction, (p, OUT)."""
        residual, free = np.zeros_like(x), np.full(self.count, -1)
        return self.evaluate(
            x,
            closest,
            self.empty_history(),
            free,
            with_friction=False,
            attraction=1.0,
            residual=residual,
            values=None,
        )

    def without_projection(self, x: Floats, closest: ClosestPoints) -> int:
        """Return how many points are near their partner but have no normal to it."""
        unprojected = np.flatnonzero(~closest.normal)
        if self.partner.rigid or not unprojected.size:
            return 0
        place = self.places(x)
        _, closest_places = self.curve.points(
            closest.element[unprojected], closest.xi[unprojected].T, x
        )
        offset = closest_places[0] - place[unprojected].T
        return int(np.sum(k.lengths(offset) < self.contact.adhesion.gap_max))

    def _search(self, place: Floats, x: Floats) -> ClosestPoints:
        """Return the nearest of three samples per coordinate and element of the partner."""
        from scipy.spatial import cKDTree

        xis, elements, functions = self._samples
        per_element, cloud = xis.shape[1], self.curve.places(elements, functions, x)
        _, at = cKDTree(cloud[0].T).query(place)
        # the tree returns one beyond the last index if a distance overflows
        at = np.minimum(np.asarray(at, dtype=np.int64), elements.size - 1)
        start = np.ascontiguousarray(xis[:, at % per_element].T)
        return ClosestPoints(at // per_element, start, np.ones(place.shape[0], dtype=bool))

    @functools.cached_property
    def _samples(self) -> tuple[Floats, Ints, Floats]:
        """Samples of the partner for the search: xi on each element, elements, functions."""
        m, t = self.dim - 1, self.partner.nodes.shape[0]
        # middles of three equal parts of an element
        each = np.array([-2.0 / 3.0, 0.0, 2.0 / 3.0])
        number = np.arange(each.size**m)
        xis = np.stack([each[number // each.size**a % each.size] for a in range(m)])
        elements = np.repeat(np.arange(t), number.size)
        return xis, elements, self.curve.functions(elements, np.tile(xis, (1, t)))[:1]

    def _kinematics(
        self, x: Floats, points: Floats, closest: ClosestPoints, origin: Floats, rotation: float
    ) -> k.ContactKinematics:
        """Return the kinematics of the partner at closest points and at origins of slip.

        Parameters
        ----------
        x : (nodes, d) positions [m]
        points : (d, p) own points [m]
        closest : closest points
        origin : (m, p) coordinates of the origins of slip along the partner [m]
        rotation : of a rigid circle [rad]
        """
        partner = self.partner
        if partner.rigid:
            shift, none = x[partner.node], np.empty((1, 0, self.count))
            closest_places, coordinate = closest_on_rigid(points, partner.shape, shift)
            if rotation:
                # coordinates are material ones of the circle, which rotates
                radius = partner.shape[CENTRE + self.dim]
                arc = radius * rotation
                coordinate, origin = coordinate - arc, origin + arc
            origin_places = points_on_rigid(origin, partner.shape, shift)[None]
            return k.ContactKinematics(
                coordinate,
                np.ones_like(coordinate),
                none,
                none,
                closest_places,
                closest_places,
                origin_places,
            )
        closest_functions, closest_places = self.partner_at(closest.element, closest.xi.T, x)
        origin_functions, origin_places = self.partner_at(*locate(origin, partner.knots), x)
        reference_places = closest_places
        if self.contact.stretch:
            reference_places = self.curve.places(closest.element, closest_functions, self.reference)
        coordinate, span = boundary_coordinate(closest.element, closest.xi.T, partner.knots)
        return k.ContactKinematics(
            coordinate,
            span,
            closest_functions,
            origin_functions,
            closest_places,
            reference_places,
            origin_places,
        )

    def evaluate(
        self,
        x: Floats,
        closest: ClosestPoints,
        history: History,
        fixed_states: npt.NDArray[np.int64],
        *,
        with_friction: bool,
        attraction: float,
        residual: Floats,
        values: Floats | None,
        rotation: float = 0.0,
    ) -> Floats:
        """Add the forces of this pass and return the record of each point, (p, OUT).

        Parameters
        ----------
        x : (nodes, d) positions now [m]
        closest, history : closest points, and the friction history of the last accepted step
        fixed_states : (p,) prescribed states of the return map; -1 lets it decide
        with_friction : whether friction acts
        attraction : factor on tensile tractions [1]
        residual : (nodes, d), added to
        values : tangent blocks, filled in; None omits them
        rotation : of a rigid circle [rad]
        """
        # points without contact are computed as well, and masked afterwards
        with np.errstate(all="ignore"):
            out = np.zeros((k.OUT, self.count))
            out[k.WEIGHT] = self.own.areas.ravel()
            nodes, functions = self._nodes_of_points, self._functions
            tangent = k.own_points(nodes, functions, x, self._length, out)
            origin = history.origin.T
            kinematics = self._kinematics(x, out[k.X : k.X + self.dim], closest, origin, rotation)
            settings = self._constants.copy()
            settings[k.ATTRACTION] = attraction
            requested = self._requested_states(history, fixed_states, with_friction)
            tables, normal = self._tables, closest.normal
            state = k.tractions(
                out, tangent, requested, normal, kinematics, origin, settings, tables
            )
            if self.partner.rigid and self.dim > 2:
                self._slip_in_space(out, kinematics, state, x)
            self.left_out = self.count - int(state.has_closest.sum())
            rigid, length = self.partner.rigid, self._length
            k.loads(self._loaded_dofs, functions, out, rigid, residual)
            if values is not None:
                settings = self._constants
                k.tangents(
                    rigid, functions, kinematics, settings, tangent, length, out, state, values
                )
        return np.ascontiguousarray(out.T)

    def _slip_in_space(
        self, out: Floats, kinematics: k.ContactKinematics, state: k.ContactState, x: Floats
    ) -> None:
        """Move the origins of sliding points in space: coordinates on a sphere have a singularity.

        The place of the origin moves by the slip, and its coordinates are those of this place.
        """
        slid = np.flatnonzero(out[k.STATE] == k.SLIDES)
        places = (kinematics.origin_places[0] + state.slide[INCREMENT])[:, slid]
        _, origin = closest_on_rigid(places, self.partner.shape, x[self.partner.node])
        out[k.ORIGIN : k.ORIGIN + self.dim - 1, slid] = origin

    def add_normal_forces(
        self, x: Floats, guess: ClosestPoints, attraction: float, residual: Floats
    ) -> tuple[float, ClosestPoints]:
        """Add normal forces alone; return d energy / d attraction, and the closest points.

        The derivative is in [J/m], in space in [J].

        Parameters
        ----------
        guess : closest points from which the projection of this state starts
        x, attraction, residual : as in `evaluate`
        """
        free, closest = np.full(self.count, -1), self.project(x, guess)
        out = self.evaluate(
            x,
            closest,
            self.empty_history(),
            free,
            with_friction=False,
            attraction=attraction,
            residual=residual,
            values=None,
        )
        return float(out[:, k.BY_ATTRACTION].sum()), closest

    def pairing(self, closest: ClosestPoints) -> bytes:
        """Return the partner elements of closest points: forces are smooth while these stay."""
        return b"" if self.partner.rigid else closest.element.tobytes() + closest.normal.tobytes()

    @functools.cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        """The constants of both laws as sweeps read them."""
        law, adhesion = self.contact.friction, self.contact.adhesion
        friction = law.sampled() if isinstance(law, UserThreshold) else law.table(adhesion)
        return adhesion.table(), friction

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass as sweeps read them, at full attraction."""
        c = self.contact
        settings = np.ones(6)
        settings[k.PENALTY] = c.tangential_stiffness
        settings[k.PER_CURRENT] = float(c.friction.per_current_area)
        settings[k.WITH_STRETCH] = float(c.stretch and not self.partner.rigid)
        settings[k.STICK_RATIO] = c.stick_ratio
        settings[k.DEPTH] = float(-np.asarray(c.adhesion.potential(c.adhesion.gap_eq)))
        return settings

    def _requested_states(self, history: History, fixed_states: Ints, with_friction: bool) -> Ints:
        """Return the requested state of the return map at each point, (p,); DECIDE for none."""
        if not with_friction or isinstance(self.contact.friction, Frictionless):
            return np.full(self.count, k.FREE)
        # a point without an origin is free; `committed` gives it one
        requested = np.where(history.has_origin, fixed_states, k.FREE)
        if self.contact.stick_ratio > 1.0:
            requested[(requested == DECIDE) & history.stuck] = k.STUCK
        return requested

    def blocks(self, closest: ClosestPoints, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block, (p, ...).

        Parameters
        ----------
        closest : closest points of the trial
        history : friction history of the last accepted step
        """
        own, partner = self._nodes, self.partner
        if partner.rigid:
            both = np.concatenate([own, np.full((self.count, 1), partner.node)], axis=1)
            return both, both
        origin, _ = locate(history.origin.T, partner.knots)
        columns = [own, partner.nodes[closest.element], partner.nodes[origin]]
        return own, np.concatenate(columns, axis=1)

    def block_shape(self, closest: ClosestPoints) -> tuple[int, int, int]:
        """Return the shape of the tangent blocks at these closest points."""
        return self.shape

    def coupled(self, rows: Ints, columns: Ints, closest: ClosestPoints) -> tuple[Ints, Ints]:
        """Return the nodes of rows and columns that the sparsity pattern couples.

        They contain those of the present blocks, and of elements near the closest ones, so that the
        pattern need not change when closest points move on.

        Parameters
        ----------
        rows, columns : (p, ...) nodes of the blocks
        closest : closest points
        """
        return rows, self.window(columns, closest)

    def window(self, columns: Ints, closest: ClosestPoints, reach: int = 2) -> Ints:
        """Return columns and the nodes of the elements within reach of the closest ones."""
        partner = self.partner
        if partner.rigid:
            return columns
        elements = [closest.element]
        stride = 1
        for ends in partner.knots:
            # elements within `reach` along each coordinate, clipped at the ends of the boundary
            count = ends.size - 1
            steps = range(-reach, reach + 1)
            elements = [
                e
                + stride * (np.clip(e // stride % count + step, 0, count - 1) - e // stride % count)
                for e in elements
                for step in steps
            ]
            stride *= count
        return np.concatenate([columns, *(partner.nodes[e] for e in elements)], axis=1)

    def signature(self, closest: ClosestPoints, history: History) -> tuple[bytes, bytes]:
        """Return data that change exactly when the nodes of tangent blocks change."""
        if self.partner.rigid:
            return b"", b""
        return closest.element.tobytes(), locate(history.origin.T, self.partner.knots)[0].tobytes()

    def committed(self, out: Floats) -> History:
        """Return the history after an accepted step."""
        origin = out[:, k.ORIGIN : k.ORIGIN + self.dim - 1]
        known: Bools = np.all(np.isfinite(origin), axis=1)
        origins = np.where(known[:, None], origin, 0.0)
        if self.period and not self.partner.rigid:
            # an origin that passes the first node of a closed partner is on it again
            origins %= self.period
        return History(origins, known, out[:, k.STATE] == k.STICKS)
