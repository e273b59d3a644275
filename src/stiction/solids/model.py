"""The description of a solid: bodies, contacts, boundary conditions, loads and stages.

`Solid` takes these parts from the user; presets such as `StripPeeling` make them from a few
numbers. Both expand into `Assembled`, which checks that references between the parts are valid and
from which `equilibria.problem` builds the discrete equations. These are the balance of forces
r(u) = f_int(u) + f_contact(u) - f_ext(t) = 0 at the nodes of all bodies, at finite strain
(docs/theory/solids.md). Bodies, contacts and conditions are referred to by their positions in the
lists, counted from 0. This module computes nothing; it declares and checks.
"""

from __future__ import annotations

import abc
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from stiction.core.fields import Count, Declared, Finite, Flag, Part, Parts
from stiction.errors import ModelError
from stiction.solids.arrays import Discretisation
from stiction.solids.conditions import Condition, Driven, Program, Reaction, Stage
from stiction.solids.constraints import Linear
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.elements.kinds import Q1, Element, discretise
from stiction.solids.loads import Spring
from stiction.solids.many.broad_phase import ContactAmong, PairSearch
from stiction.solids.many.pairs import check_partners, expanded_contacts
from stiction.solids.materials import Material, NeoHookean
from stiction.solids.membranes.model import Membrane
from stiction.solids.mesh.model import Mesh, rectangle
from stiction.solids.three_d.model import SweptBody

__all__ = ["Assembled", "Body", "Readings", "Solid", "SolidSystem"]

_OF_BODY = Part("a body consists of a mesh, a material and elements.", "see the docstring of Body.")
_PLANE_STRESS = Flag(
    "True selects plane stress, False plane strain.", "give False for plane strain."
)

_WHY_READ = "this field selects the reported curves."
_NUMBER, _YES = Count(0, _WHY_READ), Flag(_WHY_READ)
_START, _REACTIONS = Finite("", _WHY_READ), Parts(_WHY_READ)

_WHY = "a solid consists of bodies, contacts, conditions and stages."
_BODIES = Parts(_WHY, "give a list of Body objects.", "Body, Membrane or SweptBody objects", 1)
_CONTACTS = Parts(_WHY, "give a list of Contact or ContactAmong objects.")
_CONDITIONS = Parts(_WHY, "give a list of Condition objects, such as Fixed or Driven.")
_STAGES = Parts(_WHY, "give a list of Stage objects.")
_OF_SOLID = Part(_WHY)
_RATIOS = Flag("True reports quantities without units.", "give True.")

# sum over the sum of magnitudes, up to which factors cancel
_CANCELS = 1e-12

# a factor of one at all times
_one = functools.partial(Program, (0.0,), (1.0,))


@dataclass(frozen=True, eq=False, repr=False)
class Body(Declared):
    """A deformable body in the plane.

    Parameters
    ----------
    mesh : its shape and its named boundaries
    element : finite element; contact boundaries get the element's own layer
    material : constitutive law
    plane_stress : plane stress, with all loads and contact tractions per initial thickness; else
        plane strain
    """

    mesh: Annotated[Mesh, _OF_BODY] = field(default_factory=lambda: rectangle(1.0, 1.0, (4, 4)))
    element: Annotated[Element, _OF_BODY] = field(default_factory=Q1)
    material: Annotated[Material, _OF_BODY] = field(default_factory=NeoHookean)
    plane_stress: Annotated[bool, _PLANE_STRESS] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plane_stress and getattr(self.element, "reduced", False):
            why = "plane stress has no volumetric locking: the thickness changes freely."
            needs, try_ = "elements with full integration", "give reduced=False."
            raise ModelError("Body.element", "reduced=True", needs, why, try_)
        if self.element.reduced and self.element.ORDER == 1 and self.mesh.triangles.all():
            got = f"{type(self.element).__name__}(reduced=True) on linear triangles"
            why = "linear triangles have one integration point in any case, and lock."
            try_ = "use Q2(reduced=True) or Q2N2(reduced=True), or mesh with quadrilaterals."
            needs = "elements with several integration points"
            raise ModelError("Body.element", got, needs, why, try_)

    def discretised(self, boundaries: tuple[str, ...]) -> Discretisation:
        """Return the arrays of this body with these contact boundaries."""
        return discretise(self.mesh, self.element, contact=boundaries)


@dataclass(frozen=True, eq=False, repr=False)
class Readings(Declared):
    """The curves that a run reports.

    Parameters
    ----------
    displacement : number of the condition whose prescribed value is the curve `displacement`; None
        takes time
    contact : number of the contact whose forces and lengths are reported
    support : report the reaction forces of that condition, summed over its places, instead of the
        contact forces
    body : number of the body on which the reported contact forces act, and whose lengths are
        reported; None takes the body of the boundary of the contact. The other body of the contact
        has the opposite forces
    nominal : measure lengths on the reference boundary
    start : time at which results begin, after preload [time unit of the run]; None takes the start
        of the run, so that results contain a preload
    reactions : places at which reaction forces and moments of supports are reported
    """

    displacement: Annotated[int | None, _NUMBER] = None
    contact: Annotated[int, _NUMBER] = 0
    support: Annotated[bool, _YES] = False
    body: Annotated[int | None, _NUMBER] = None
    nominal: Annotated[bool, _YES] = False
    start: Annotated[float | None, _START] = None
    reactions: Annotated[Sequence[Reaction], _REACTIONS] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Assembled(Declared):
    """The parts of a solid, into which `Solid` and the presets expand; references are checked.

    Parameters
    ----------
    bodies, contacts, conditions : in the order of their numbers; a `ContactAmong` expands into one
        contact for each pair, after the named contacts
    attraction : factor on tensile contact tractions over time; a ramp from 0 brings surfaces
        into adhesion without a jump
    readings : which curves are reported
    dimensionless : whether lengths, stresses and forces are ratios to reference values
    stages : consecutive intervals of time with further conditions
    pair_searches : for each `ContactAmong`, its boundaries and their active pairs
    """

    bodies: Annotated[Sequence[Body | Membrane | SweptBody], _BODIES]
    contacts: Annotated[Sequence[Contact | ContactAmong], _CONTACTS] = ()
    conditions: Annotated[Sequence[Condition], _CONDITIONS] = ()
    attraction: Annotated[Program, _OF_SOLID] = field(default_factory=_one)
    readings: Annotated[Readings, _OF_SOLID] = field(default_factory=Readings)
    dimensionless: Annotated[bool, _RATIOS] = False
    stages: Annotated[Sequence[Stage], _STAGES] = ()
    pair_searches: Sequence[PairSearch] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        named = self._write_out_contacts()
        ends = [stage.until for stage in self.stages]
        if any(b <= a for a, b in itertools.pairwise(ends)):
            why, try_ = "stages follow one another.", "let `until` rise from stage to stage."
            raise ModelError("Solid.stages", f"ends {ends}", "rising times", why, try_)
        self._check_readings(named)

    def _write_out_contacts(self) -> int:
        """Check the sides of contacts, and expand those among many bodies.

        Return the number of named contacts, which come first. With activated pairs it is not known,
        and 0 is returned.
        """
        named = 0 if self.pair_searches else sum(isinstance(c, Contact) for c in self.contacts)
        for contact in self.contacts:
            pair = (contact.boundary, contact.partner) if isinstance(contact, Contact) else ()
            for side in pair or vars(contact)["boundaries"]:
                if isinstance(side, Boundary):
                    self._check_side(side)
            self._check_plane(contact)
        meshes = [body.mesh if isinstance(body, Body) else None for body in self.bodies]
        pairs, pair_searches = expanded_contacts(self.contacts, meshes)
        object.__setattr__(self, "contacts", pairs)
        object.__setattr__(self, "pair_searches", (*self.pair_searches, *pair_searches))
        check_partners(pairs)
        return named

    @property
    def pairs(self) -> tuple[Contact, ...]:
        """The contacts between two sides, without `ContactAmong`."""
        return tuple(c for c in self.contacts if isinstance(c, Contact))

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the whole solid, then those of the stages in order."""
        return (*self.conditions, *(c for stage in self.stages for c in stage.conditions))

    @property
    def read_body(self) -> int:
        """The number of the body on which the reported contact forces act."""
        if self.readings.body is not None:
            return self.readings.body
        return self._sides_read()[0] if self.pairs else 0

    def _sides_read(self) -> list[int]:
        """Return the bodies of the reported contact."""
        contact = self.pairs[self.readings.contact]
        return [s.body for s in (contact.boundary, contact.partner) if isinstance(s, Boundary)]

    def programs(self) -> list[Program]:
        """Return the programs of all conditions."""
        return [vars(c)["program"] for c in self.all_conditions if "program" in vars(c)]

    def _check_readings(self, named: int) -> None:
        """Refuse readings of missing conditions, contacts and bodies.

        Parameters
        ----------
        named : number of contacts, first ones, whose numbers are known before the run
        """
        r = self.readings
        why = "reported curves refer to conditions, contacts and bodies by number."
        try_ = "count from 0 in the order given."
        if r.displacement is not None:
            kinds = (Driven, Spring, Linear)
            driven = [i for i, c in enumerate(self.all_conditions) if isinstance(c, kinds)]
            if r.displacement not in driven:
                needs = f"the number of a Driven, Spring or Linear condition: {driven or 'none'}"
                where = "Readings.displacement"
                raise ModelError(where, r.displacement, needs, why, try_)
        if r.support and r.displacement is None:
            needs = "Readings.displacement, the number of a Driven, Spring or Linear condition"
            raise ModelError("Readings.support", True, needs, why, try_)
        # without contact, the forces are those of the condition in any case
        if r.displacement is not None and (r.support or not self.contacts):
            self._check_sum(self.all_conditions[r.displacement])
        dim = 2 if isinstance(self.bodies[0], Body) else 3
        for place in r.reactions:
            if place.about is not None and len(place.about) != dim:
                got, needs = (
                    f"{len(place.about)} coordinates",
                    f"{dim} coordinates, one per dimension",
                )
                reason = "the moment of the reaction is taken about this point."
                try_ = "leave this value out for the moment about the origin."
                raise ModelError("Reaction.about", got, needs, reason, try_)
        for name, count in (("contact", len(self.contacts)), ("body", len(self.bodies))):
            if (getattr(r, name) or 0) >= max(count, 1):
                where, got = f"Readings.{name}", getattr(r, name)
                raise ModelError(where, got, f"a number below {count}", why, try_)
        # pairs of a `ContactAmong` get their numbers during the run
        sides = self._sides_read() if r.contact < named else []
        if r.body is not None and sides and r.body not in sides:
            needs = "one of the bodies of the reported contact: " + ", ".join(map(str, sides))
            reason = f"contact {r.contact} exerts no force on body {r.body}."
            raise ModelError("Readings.body", r.body, needs, reason, "leave this value out.")

    def _check_sum(self, condition: Condition) -> None:
        """Refuse to report the forces of a `Linear` condition if they cancel in any state."""
        terms = condition.terms if isinstance(condition, Linear) else ()
        for axis in {term.component for term in terms}:
            factors = [term.factor for term in terms if term.component == axis]
            if abs(sum(factors)) > _CANCELS * sum(map(abs, factors)):
                return
        if terms:
            got, needs = "a Linear condition whose factors cancel", "factors with a sum"
            why = "the constraint forces on these places are opposite, and their sum is zero."
            try_ = (
                "leave this value out, and report the force at one place: "
                "reactions=[Reaction(...)]."
            )
            name = "Readings.support" if self.readings.support else "Readings.displacement"
            raise ModelError(name, got, needs, why, try_)

    def _check_plane(self, contact: Contact | ContactAmong) -> None:
        """Refuse the mortar method and self-contact in three dimensions."""
        sides: Sequence[object] = vars(contact).get("boundaries", ())
        itself = False
        if isinstance(contact, Contact):
            sides, itself = (contact.boundary, contact.partner), contact.boundary == contact.partner
        if contact.passes != "mortar" and not itself:
            return
        for side in sides:
            if isinstance(side, Boundary) and not isinstance(self.bodies[side.body], Body):
                kind = type(self.bodies[side.body]).__name__
                got = f"body {side.body}, a {kind}, " + (
                    "in self-contact" if itself else "in contact by 'mortar'"
                )
                why = "segments between two boundaries are computed for plane bodies only."
                try_ = 'take passes="two-half-pass".'
                if itself:
                    why = "self-contact is computed for plane bodies only."
                    try_ = "leave this contact out."
                raise ModelError("Contact.passes", got, "bodies in the plane", why, try_)

    def _check_side(self, side: Boundary) -> None:
        """Refuse a side on a missing body or boundary."""
        if side.body >= len(self.bodies):
            why, try_ = "bodies are counted from 0.", "give the index of the body in the list."
            needs = f"a number below {len(self.bodies)}"
            raise ModelError("Boundary.body", side.body, needs, why, try_)
        self.bodies[side.body].mesh.boundary(side.name)

    def boundaries_of(self, body: int) -> tuple[str, ...]:
        """Return the contact boundaries of a body, each once."""
        sides = [side for c in self.pairs for side in (c.boundary, c.partner)]
        sides += [
            side for pairs_of_contact in self.pair_searches for side in pairs_of_contact.boundaries
        ]
        names = (s.name for s in sides if isinstance(s, Boundary) and s.body == body)
        return tuple(dict.fromkeys(names))


class SolidSystem(Declared, abc.ABC):
    """Base of systems of deformable bodies; `assembled` returns bodies, contacts and conditions.

    Examples
    --------
    >>> import stiction as st
    >>> peeling = st.StripPeeling()
    >>> isinstance(peeling, st.solids.SolidSystem), len(peeling.assembled().bodies)
    (True, 1)
    """

    default_method: ClassVar[str] = "Quasistatic"

    # a run saves every load step unless times are requested
    keeps_steps = True

    @abc.abstractmethod
    def assembled(self) -> Assembled:
        """Return the parts of the system."""

    @property
    def state_size(self) -> int:
        """Estimated number of values in one sample: curves and contact tractions."""
        total = 64
        parts = self.assembled()
        for contact in parts.pairs:
            for side in (contact.boundary, contact.partner):
                if isinstance(side, Boundary):
                    body = parts.bodies[side.body]
                    elements = len(body.mesh.boundary(side.name))
                    if isinstance(body, Membrane):
                        total += 9 * body.contact_points**2 * elements
                        continue
                    if isinstance(body, SweptBody):
                        total += 9 * body.face_points * elements * body.layers
                        continue
                    total += 8 * body.element.contact_points * elements
        return total


@dataclass(frozen=True, eq=False, repr=False)
class Solid(SolidSystem):
    """Deformable bodies at finite strain with adhesion, contact and friction.

    Parameters
    ----------
    bodies : deformable bodies, numbered from 0
    contacts : pairs of boundaries, or a boundary and a rigid partner; `ContactAmong` stands for a
        contact of each pair of many bodies
    boundary_conditions : prescribed displacements, linear constraints, forces and other loads
    attraction : factor on tensile contact tractions over time [1]
    readings : which curves are reported
    dimensionless : whether lengths and stresses are ratios to reference values of your choice
    stages : consecutive intervals of time with further conditions

    Source: Mergel, Scheibert, Sauer 2021.
    Verified by: tests/unit/solids/test_model.py::test_a_block_in_tension
    """

    bodies: Annotated[Sequence[Body | Membrane | SweptBody], _BODIES] = ()
    contacts: Annotated[Sequence[Contact | ContactAmong], _CONTACTS] = ()
    boundary_conditions: Annotated[Sequence[Condition], _CONDITIONS] = ()
    attraction: Annotated[Program, _OF_SOLID] = field(default_factory=_one)
    readings: Annotated[Readings, _OF_SOLID] = field(default_factory=Readings)
    dimensionless: Annotated[bool, _RATIOS] = False
    stages: Annotated[Sequence[Stage], _STAGES] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.assembled()

    def assembled(self) -> Assembled:
        """Return the parts of the system."""
        return Assembled(
            self.bodies,
            self.contacts,
            self.boundary_conditions,
            self.attraction,
            self.readings,
            self.dimensionless,
            self.stages,
        )
