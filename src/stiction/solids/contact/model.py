"""One contact: which boundary, which partner, which laws; and what it does at a state.

`Contact` is the description. `ContactPass` is one pass over one boundary while a problem is
solved: it finds nearest points, adds forces and tangents, and keeps the history that the method
commits when it accepts a step.
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
from stiction.laws.interface_tractions import DECIDE
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import (
    CENTRE,
    Pieces,
    along,
    knots_of,
    locate,
    rigid_nearest,
    rigid_places,
    rows_of,
)
from stiction.solids.contact.partners import Boundary, Partner, RigidShape
from stiction.solids.dimensions import crossed
from stiction.solids.unilateral import Coulomb, Signorini

__all__ = ["Contact", "ContactPass", "Found", "History", "Part"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# the penalty, in units of the stiffness of the normal law where its traction vanishes
_PENALTY = 10.0

_PART = fields.Part("a contact is made of these.", "see the docstring of Contact.")
PENALTY = Positive(
    "Pa/m",
    "it is the tangential stiffness of the interface in stick.",
    "leave it out for ten times the stiffness of the normal law.",
)
_STRETCH = Flag("tractions thin with the partner or they do not.", "give True.")
_STICK_RATIO = Positive(
    "1", "stick cannot end below the resistance of sliding.", "give 1, or 1.2.", least=1.0
)
_FROM = Finite("", "friction acts from then on.", "give 0.")
_PASSES = Choice(
    ("half", "mortar"),
    "it says how two bodies load each other.",
    'give "half", as the paper does.',
)


@dataclass(frozen=True, eq=False, repr=False)
class Contact(Declared):
    """A boundary that adheres to, presses on and rubs against a partner.

    Parameters
    ----------
    boundary : the boundary that is integrated over
    partner : a rigid shape, or the boundary of another body; two bodies are treated alike, in
        two half passes
    adhesion : the normal law
    friction : the threshold for sliding
    penalty : tangential stiffness in stick [Pa/m]; None takes ten times the stiffness of the
        normal law at its equilibrium gap. Per current area for DI, per reference area for EA
    stretch : whether tractions thin with the partner's surface, J of eq. (10)
    stick_ratio : threshold for leaving stick over that of sliding [1], >= 1
    friction_from : time from which friction acts [time unit]; before, the boundary slides freely.
        Where it lies before the start, friction holds what touches there from the beginning
    passes : "half", one pass over each of two bodies that loads that body alone, or "mortar", one
        pass over `boundary`, cut in every state where pieces of the partner begin, whose virtual
        work loads both bodies: forces and moments balance, and tractions follow from energies per
        reference area of `boundary`, whatever `stretch` says

    Source: Mergel, Scheibert, Sauer 2021, sections 2.2, 2.3, 3.1, 3.4.
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """

    boundary: Annotated[Boundary, _PART] = field(default_factory=Boundary)
    partner: Annotated[Partner, _PART] = field(default_factory=lambda: Boundary(1, "top"))
    adhesion: Annotated[Adhesion, _PART] = field(default_factory=lambda: LennardJones(1e-19, 4e-10))
    friction: Annotated[AdhesiveFriction, _PART] = field(default_factory=Frictionless)
    penalty: Annotated[float | None, PENALTY] = None
    stretch: Annotated[bool, _STRETCH] = True
    stick_ratio: Annotated[float, _STICK_RATIO] = 1.0
    friction_from: Annotated[float, _FROM] = 0.0
    passes: Annotated[str, _PASSES] = "half"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passes == "mortar" and not isinstance(self.partner, Boundary):
            why, try_ = "a rigid partner takes the opposite force anyway.", "leave it out."
            got = "'mortar' with a rigid partner"
            raise ModelError("Contact.passes", got, "two bodies", why, try_)
        if isinstance(self.adhesion, Signorini):
            self._check_hard()

    def _check_hard(self) -> None:
        """Refuse what hard contact has no use for."""
        friction = self.friction
        if not isinstance(friction, (Frictionless, Coulomb)):
            got, needs = type(friction).__name__, "Coulomb or Frictionless"
            why = "the other laws know pressure by a stiffness, which Signorini has not."
            raise ModelError("Contact.friction", got, needs, why, "give st.solids.Coulomb(mu).")
        for name, value, default in (
            ("penalty", self.penalty, None),
            ("stick_ratio", self.stick_ratio, 1.0),
        ):
            if value != default:
                got, needs = f"{value!r} with Signorini", f"{default!r}"
                why = "stick is exact under hard contact."
                raise ModelError(f"Contact.{name}", got, needs, why, "leave it out.")
        if self.partner == self.boundary:
            got, needs = "a boundary that touches itself, with Signorini", "another boundary"
            why = "multipliers are nodes of one side."
            try_ = "take a law with a stiffness, such as LennardJones, for contact with itself."
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


class Found(NamedTuple):
    """Nearest points on a deformable partner: element, xi (p, m), and whether normal."""

    element: Ints
    xi: Floats
    normal: Bools

    def at(self, which: Ints) -> Found:
        """Return those of some points."""
        return Found(self.element[which], self.xi[which], self.normal[which])


class History(NamedTuple):
    """What a point remembers: origin of slip (p, m), whether it has one, whether it stuck.

    An origin is the coordinates along the whole partner, of which `locate` finds the element and
    the xi: it moves on from one piece to the next by itself.
    """

    origin: Floats
    has_origin: Bools
    stuck: Bools


class Part(NamedTuple):
    """The partner as kernels read it."""

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
        # whether it is one of two passes that share their energy
        self.half, self.mortar = isinstance(partner, Surface), False
        self.share = 0.5 if self.half else 1.0
        self.contact, self.own, self.reference = contact, own, points
        self.count, self.dim = own.areas.size, int(points.shape[1])
        # sweeps read the own boundary point by point, and points come last
        n = int(own.nodes.shape[1])
        self._nodes = np.repeat(own.nodes, own.areas.shape[1], axis=0)
        self._nodes_of_points = np.ascontiguousarray(self._nodes.T)
        m = self.dim - 1
        rates = own.derivatives.reshape(-1, n, m)
        both = [own.functions.reshape(-1, n).T, *(rates[..., a].T for a in range(m))]
        self._functions = np.ascontiguousarray(np.stack(both))
        at = points.T[:, self._nodes_of_points]
        base = np.stack([k.summed(rate, at) for rate in self._functions[k.RATE :]])
        self._length = k.lengths(crossed(base))
        self.coordinate = self._own_coordinate()
        if isinstance(partner, Surface):
            self.neighbours = partner.neighbours
            self.partner = Part(
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
            self.partner = Part(
                True,
                shape.table(),
                node,
                np.full((1, 1), node),
                np.ones((1, 1, 1)),
                np.ones((1, 1)),
                (np.array([0.0, 1.0]),) * m,
            )
            self._fits(shape)
        self.shape = (self.count, self.dim * self._rows, self.dim * self._columns)
        rows = self._nodes
        if self.partner.rigid:
            rows = np.concatenate([rows, np.full((self.count, 1), self.partner.node)], axis=1)
        self._loaded = self.dim * rows[:, :, None] + np.arange(self.dim)
        self.own_curve = Pieces(own)
        self.curve = Pieces(partner) if isinstance(partner, Surface) else self.own_curve
        self._degrees = np.array(self.curve.degrees, dtype=np.int64)
        self.left_out = 0

    def _fits(self, shape: RigidShape) -> None:
        """Refuse a rigid shape of another number of components than the body has."""
        if shape.components != self.dim:
            got, needs = f"{shape.components} components", f"{self.dim}, as the body has"
            why, try_ = "body and partner lie in one space.", "give a shape of the same space."
            raise ModelError("Contact.partner", got, needs, why, try_)

    @property
    def deepest(self) -> float:
        """The work of adhesion of the whole boundary [J/m]."""
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
        return along(elements, xis, knots_of(surface))[0]

    @property
    def _rows(self) -> int:
        return int(self.own.nodes.shape[1]) + (1 if self.partner.rigid else 0)

    @property
    def _columns(self) -> int:
        n = int(self.own.nodes.shape[1])
        return n + 1 if self.partner.rigid else n + 2 * int(self.partner.nodes.shape[1])

    def fresh(self) -> History:
        """Return the history of points that never touched."""
        n = self.count
        origin = np.zeros((n, self.dim - 1))
        return History(origin, np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))

    def attached(self, x: Floats, found: Found) -> History:
        """Return the history of points that friction holds where they are."""
        out = self._told(x, found)
        return self.committed(out, self.fresh())

    def places(self, x: Floats) -> Floats:
        """Return where the points of the boundary are, (p, d)."""
        found = np.einsum("sqn,snd->sqd", self.own.functions, x[self.own.nodes])
        return np.asarray(found.reshape(-1, self.dim))

    def project(self, x: Floats, guess: Found | None) -> Found:
        """Return nearest points from a guess, or from a search over the whole partner."""
        n = self.count
        if self.partner.rigid:
            none = np.zeros(n, dtype=np.int64)
            return Found(none, np.zeros((n, self.dim - 1)), np.ones(n, dtype=bool))
        place = self.places(x)
        if guess is None:
            guess = self._search(place, x)
        found = self.nearest(place, guess, x)
        lost = ~found.normal
        if lost.any():
            # a second look where the walk along the boundary ended: a better start may exist
            again = self.nearest(place[lost], self._search(place[lost], x), x)
            for kept, better in zip(found, again, strict=True):
                kept[lost] = better
        return found

    def shown(self, out: Floats) -> tuple[Floats, Floats]:
        """Return the normal and the tangential traction of points, (p,) each, for pictures."""
        return out[:, k.PRESSURE], out[:, k.SHEAR]

    def anew(self, found: Found, x: Floats) -> Found:
        """Return nearest points as a load step begins with them: those that the last one found."""
        return found

    def nearest(self, place: Floats, guess: Found, x: Floats) -> Found:
        """Return the nearest points on a deformable partner from a guess."""
        from stiction.solids.contact.curve_kernels import nearest_kernel

        found = Found(guess.element.copy(), guess.xi.copy(), guess.normal.copy())
        nearest = nearest_kernel(self.dim - 1)
        nearest(place, found.element, found.xi, found.normal, *self._boundary, x)
        return found

    def partner_at(self, elements: Ints, xis: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return what `Pieces.points` does for a deformable partner, of which much is asked.

        Parameters
        ----------
        elements, xis : (p,) and (m, p)
        """
        from stiction.solids.contact.curve_kernels import points_kernel

        m = self.dim - 1
        rows = len(rows_of(m).orders)
        functions = np.empty((rows, self.partner.nodes.shape[1], elements.size))
        places = np.empty((rows, self.dim, elements.size))
        at = np.ascontiguousarray(xis.T)
        points_kernel(m)(elements, at, *self._boundary, x, functions, places)
        return functions, places

    @property
    def _boundary(self) -> tuple[Ints, Floats, Floats, Ints, Ints]:
        part = self.partner
        return part.nodes, part.extraction, part.weights, self.neighbours, self._degrees

    def gaps(self, x: Floats, found: Found) -> Floats:
        """Return the normal gap of every point (p,), infinite where there is no nearest one."""
        return np.asarray(self._told(x, found)[:, k.GAP])

    def _told(self, x: Floats, found: Found) -> Floats:
        """Return the record of each point without friction, (p, OUT)."""
        residual, free = np.zeros_like(x), np.full(self.count, -1)
        return self.evaluate(
            x, found, self.fresh(), free, rubs=False, attraction=1.0, residual=residual, values=None
        )

    def missed(self, x: Floats, found: Found) -> int:
        """Return how many points are near the end of their partner, and without a normal to it."""
        lost = np.flatnonzero(~found.normal)
        if self.partner.rigid or not lost.size:
            return 0
        place = self.places(x)
        _, there = self.curve.points(found.element[lost], found.xi[lost].T, x)
        away = there[0] - place[lost].T
        return int(np.sum(k.lengths(away) < self.contact.adhesion.gap_max))

    def _search(self, place: Floats, x: Floats) -> Found:
        """Return the nearest of three places per coordinate and element of the partner."""
        from scipy.spatial import cKDTree

        xis, elements, functions = self._cloud
        each, cloud = xis.shape[1], self.curve.places(elements, functions, x)
        _, at = cKDTree(cloud[0].T).query(place)
        # one beyond the last stands for a point so far away that its distance overflows
        at = np.minimum(np.asarray(at, dtype=np.int64), elements.size - 1)
        start = np.ascontiguousarray(xis[:, at % each].T)
        return Found(at // each, start, np.ones(place.shape[0], dtype=bool))

    @functools.cached_property
    def _cloud(self) -> tuple[Floats, Ints, Floats]:
        """The places at which the search begins: xi on each element, elements, functions."""
        m, t = self.dim - 1, self.partner.nodes.shape[0]
        each = np.array([-2.0 / 3.0, 0.0, 2.0 / 3.0])
        number = np.arange(each.size**m)
        xis = np.stack([each[number // each.size**a % each.size] for a in range(m)])
        elements = np.repeat(np.arange(t), number.size)
        return xis, elements, self.curve.functions(elements, np.tile(xis, (1, t)))[:1]

    def _meeting(
        self, x: Floats, points: Floats, found: Found, origin: Floats, turned: float
    ) -> k.Meeting:
        """Return the partner at nearest points and at origins of slip.

        Parameters
        ----------
        x : (nodes, d) places [m]
        points : (d, p) own points [m]
        found : nearest points
        origin : (m, p) coordinates of the origins of slip along the partner [m]
        turned : by how much a rigid circle is turned [rad]
        """
        part = self.partner
        if part.rigid:
            shift, none = x[part.node], np.empty((1, 0, self.count))
            place, coordinate = rigid_nearest(points, part.shape, shift)
            if turned:
                # coordinates are those of the circle's material, which moves along it
                way = part.shape[CENTRE + self.dim] * turned
                coordinate, origin = coordinate - way, origin + way
            root = rigid_places(origin, part.shape, shift)[None]
            return k.Meeting(coordinate, np.ones_like(coordinate), none, none, place, place, root)
        near, place = self.partner_at(found.element, found.xi.T, x)
        far, root = self.partner_at(*locate(origin, part.knots), x)
        before = place
        if self.contact.stretch:
            before = self.curve.places(found.element, near, self.reference)
        coordinate, span = along(found.element, found.xi.T, part.knots)
        return k.Meeting(coordinate, span, near, far, place, before, root)

    def evaluate(
        self,
        x: Floats,
        found: Found,
        history: History,
        held: npt.NDArray[np.int64],
        *,
        rubs: bool,
        attraction: float,
        residual: Floats,
        values: Floats | None,
        turned: float = 0.0,
    ) -> Floats:
        """Add the forces of this pass and return the record of each point, (p, OUT).

        Parameters
        ----------
        x : (nodes, d) places now [m]
        found, history : nearest points, and what the last accepted step left
        held : (p,) states held fixed; -1 decides
        rubs : whether friction acts
        attraction : factor on tensile tractions [1]
        residual : (nodes, d), added to
        values : tangent blocks, filled in; None leaves them out
        turned : by how much a rigid circle is turned [rad]
        """
        # what does not hold at a point is computed all the same, and not taken
        with np.errstate(all="ignore"):
            out = np.zeros((k.OUT, self.count))
            out[k.WEIGHT] = self.own.areas.ravel()
            nodes, functions = self._nodes_of_points, self._functions
            tangent = k.own_points(nodes, functions, x, self._length, out)
            origin = history.origin.T
            meets = self._meeting(x, out[k.X : k.X + self.dim], found, origin, turned)
            settings = self._constants.copy()
            settings[k.ATTRACTION] = attraction
            wanted = self._wanted(history, held, rubs)
            state = self._tractions(out, tangent, wanted, found, meets, origin, settings)
            self.left_out = self.count - int(state.meets.sum())
            self._load(out, found, history, meets, tangent, state, x, residual, values)
        return np.ascontiguousarray(out.T)

    def pressed(
        self, x: Floats, guess: Found, attraction: float, residual: Floats
    ) -> tuple[float, Found]:
        """Add normal forces alone; return d energy / d attraction [J/m], and the nearest points.

        Parameters
        ----------
        guess : nearest points from which those of this state are looked for
        x, attraction, residual : as in `evaluate`
        """
        free, found = np.full(self.count, -1), self.project(x, guess)
        out = self.evaluate(
            x,
            found,
            self.fresh(),
            free,
            rubs=False,
            attraction=attraction,
            residual=residual,
            values=None,
        )
        return float(out[:, k.BY_ATTRACTION].sum()), found

    def meets(self, found: Found) -> bytes:
        """Return which pieces of the partner are met: forces are smooth while these stay."""
        return b"" if self.partner.rigid else found.element.tobytes() + found.normal.tobytes()

    def _tractions(
        self,
        out: Floats,
        tangent: Floats,
        wanted: Ints,
        found: Found,
        meets: k.Meeting,
        origin: Floats,
        settings: Floats,
    ) -> k.ContactState:
        """Fill in gap, tractions and forces of each point; return what tangents need."""
        normal, tables = found.normal, self._tables
        return k.tractions(out, tangent, wanted, normal, meets, origin, settings, tables)

    def _load(
        self,
        out: Floats,
        found: Found,
        history: History,
        meets: k.Meeting,
        tangent: Floats,
        state: k.ContactState,
        x: Floats,
        residual: Floats,
        values: Floats | None,
    ) -> None:
        """Add the forces on the own body, and fill in the tangent."""
        rigid, functions = self.partner.rigid, self._functions
        k.loads(self._loaded, functions, out, rigid, residual)
        if values is not None:
            length, settings = self._length, self._constants
            k.tangents(rigid, functions, meets, settings, tangent, length, out, state, values)

    @functools.cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        """The constants of both laws as sweeps read them."""
        law, adhesion = self.contact.friction, self.contact.adhesion
        rub = law.sampled() if isinstance(law, UserThreshold) else law.table(adhesion)
        return adhesion.table(), rub

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass as sweeps read them, at full attraction."""
        c = self.contact
        settings = np.ones(6)
        settings[k.PENALTY] = c.tangential_stiffness
        settings[k.PER_CURRENT] = float(c.friction.per_current_area)
        settings[k.THINS] = float(c.stretch and not self.partner.rigid)
        settings[k.STICK_RATIO] = c.stick_ratio
        settings[k.DEPTH] = float(-np.asarray(c.adhesion.potential(c.adhesion.gap_eq)))
        return settings

    def _wanted(self, history: History, held: Ints, rubs: bool) -> Ints:
        """Return the state that the return map is asked for at each point, (p,)."""
        if not rubs or isinstance(self.contact.friction, Frictionless):
            return np.full(self.count, k.FREE)
        wanted = np.where(history.has_origin, held, k.FREE)
        if self.contact.stick_ratio > 1.0:
            wanted[(wanted == DECIDE) & history.stuck] = k.STUCK
        return wanted

    def blocks(self, found: Found, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block, (p, ...)."""
        mine, part = self._nodes, self.partner
        if part.rigid:
            both = np.concatenate([mine, np.full((self.count, 1), part.node)], axis=1)
            return both, both
        origin, _ = locate(history.origin.T, part.knots)
        columns = [mine, part.nodes[found.element], part.nodes[origin]]
        return mine, np.concatenate(columns, axis=1)

    def room(self, found: Found) -> tuple[int, int, int]:
        """Return the shape of the tangent blocks at these nearest points."""
        return self.shape

    def coupled(self, rows: Ints, columns: Ints, found: Found) -> tuple[Ints, Ints]:
        """Return nodes of rows and columns that are coupled in advance."""
        return rows, self.window(columns, found)

    def window(self, columns: Ints, found: Found, reach: int = 2) -> Ints:
        """Return columns and the nodes of the elements within reach of the nearest ones."""
        part = self.partner
        if part.rigid:
            return columns
        elements = [found.element]
        stride = 1
        for ends in part.knots:
            # a box of elements around each, clipped where the boundary ends
            count = ends.size - 1
            steps = range(-reach, reach + 1)
            elements = [
                e
                + stride * (np.clip(e // stride % count + step, 0, count - 1) - e // stride % count)
                for e in elements
                for step in steps
            ]
            stride *= count
        return np.concatenate([columns, *(part.nodes[e] for e in elements)], axis=1)

    def signature(self, found: Found, history: History) -> tuple[bytes, bytes]:
        """Return what decides which blocks the tangent has."""
        if self.partner.rigid:
            return b"", b""
        return found.element.tobytes(), locate(history.origin.T, self.partner.knots)[0].tobytes()

    def committed(self, out: Floats, history: History) -> History:
        """Return the history after a step that was accepted."""
        origin = out[:, k.ORIGIN : k.ORIGIN + self.dim - 1]
        known: Bools = np.all(np.isfinite(origin), axis=1)
        kept = np.where(known[:, None], origin, 0.0)
        return History(kept, known, out[:, k.STATE] == k.STICKS)
