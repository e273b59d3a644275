"""Solids: bodies, what they touch, and what is done to them."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, whole
from stiction.solids.arrays import Discretisation
from stiction.solids.conditions import Condition, Driven, Program, Reaction, Stage
from stiction.solids.constraints import Linear
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary
from stiction.solids.elements.kinds import Q1, Element, discretise
from stiction.solids.loads import Spring
from stiction.solids.many.among import Among, Near
from stiction.solids.many.pairs import check_partners, written_out
from stiction.solids.materials import Material, NeoHookean
from stiction.solids.membranes.model import Membrane
from stiction.solids.mesh.model import Mesh, rectangle
from stiction.solids.space.model import SweptBody

if TYPE_CHECKING:
    pass

__all__ = ["Assembled", "Body", "Readings", "Solid", "SolidSystem"]


@dataclass(frozen=True, eq=False, repr=False)
class Body(Record):
    """A deformable body in the plane.

    Parameters
    ----------
    mesh : its shape and its named boundaries
    element : what displacements are made of; contact boundaries get the element's own layer
    material : what it is made of
    plane_stress : free to become thinner; else it cannot, plane strain
    """

    mesh: Mesh = field(default_factory=lambda: rectangle(1.0, 1.0, (4, 4)))
    element: Element = field(default_factory=Q1)
    material: Material = field(default_factory=NeoHookean)
    plane_stress: bool = False

    def __post_init__(self) -> None:
        for name, kind in (("mesh", Mesh), ("element", Element), ("material", Material)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                why, try_ = "a body is made of these.", "see the docstring of Body."
                raise ModelError(f"Body.{name}", repr(value), f"a {kind.__name__}", why, try_)
        plane: object = self.plane_stress
        if not isinstance(plane, bool):
            why, try_ = "it is plane stress or plane strain.", "give False for plane strain."
            raise ModelError("Body.plane_stress", repr(plane), "True or False", why, try_)
        if self.plane_stress and getattr(self.element, "reduced", False):
            why = "in plane stress the volume is free, and its part has nothing to lock."
            needs, try_ = "elements with full integration", "give reduced=False."
            raise ModelError("Body.element", "reduced=True", needs, why, try_)
        if self.element.reduced and self.element.ORDER == 1 and self.mesh.triangles.all():
            got = f"{type(self.element).__name__}(reduced=True) on linear triangles"
            why = "they have one point and no fewer for the volumetric part: they would lock."
            try_ = "use Q2(reduced=True) or Q2N2(reduced=True), or mesh with quadrilaterals."
            raise ModelError("Body.element", got, "elements with fewer points", why, try_)

    def discretised(self, boundaries: tuple[str, ...]) -> Discretisation:
        """Return the arrays of this body with these contact boundaries."""
        return discretise(self.mesh, self.element, contact=boundaries)


def yes_or_no(where: str, value: object, why: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise ModelError(where, repr(value), "True or False", why, "give True.")


@dataclass(frozen=True, eq=False, repr=False)
class Readings(Record):
    """Which curves a run reports.

    Parameters
    ----------
    displacement : number of the condition whose value is the displacement; None takes time
    contact : number of the contact whose forces and lengths are reported
    support : whether forces are those of the displacement's condition on the body, else
        those of the contact
    body : whose contact forces they are, where two bodies touch
    nominal : whether lengths are measured on the reference boundary
    start : time from which results count, after what brings the bodies there
    reactions : places whose forces of supports are told, with moments
    """

    displacement: int | None = None
    contact: int = 0
    support: bool = False
    body: int = 0
    nominal: bool = False
    start: float = 0.0
    reactions: Sequence[Reaction] = ()

    def __post_init__(self) -> None:
        why, try_ = "it says which curves are reported.", "leave it out for the default."
        given: object = self.reactions
        reactions = (given,) if isinstance(given, Reaction) else tuple(self.reactions)
        wrong: list[object] = [r for r in reactions if not issubclass(type(r), Reaction)]
        if wrong:
            needs = "Reaction objects"
            raise ModelError("Readings.reactions", repr(wrong[0]), needs, why, try_)
        object.__setattr__(self, "reactions", reactions)
        if self.displacement is not None:
            whole("Readings.displacement", self.displacement, least=0, why=why, try_=try_)
        whole("Readings.contact", self.contact, least=0, why=why, try_=try_)
        whole("Readings.body", self.body, least=0, why=why, try_=try_)
        for name in ("support", "nominal"):
            yes_or_no(f"Readings.{name}", getattr(self, name), why)
        start = number("Readings.start", self.start, why=why, try_=try_)
        object.__setattr__(self, "start", start)


@dataclass(frozen=True, eq=False, repr=False)
class Assembled(Record):
    """A solid in its parts: what presets are made into.

    Parameters
    ----------
    bodies, contacts, conditions : in the order in which others refer to them; contacts among many
        bodies are written out, a contact for each pair, after those that are named
    attraction : factor on tensile contact tractions over time; a ramp from 0 brings surfaces
        into adhesion without a jump
    readings : which curves are reported
    dimensionless : whether lengths, stresses and forces are ratios
    stages : parts of the program with conditions of their own, one after the other
    watched : the pairs of each contact among many, and what makes one
    """

    bodies: Sequence[Body | Membrane | SweptBody]
    contacts: Sequence[Contact | Among] = ()
    conditions: Sequence[Condition] = ()
    attraction: Program = field(default_factory=lambda: Program((0.0,), (1.0,)))
    readings: Readings = field(default_factory=Readings)
    dimensionless: bool = False
    stages: Sequence[Stage] = ()
    watched: Sequence[Near] = ()

    def __post_init__(self) -> None:
        for name, kind in (
            ("bodies", (Body, Membrane, SweptBody)),
            ("contacts", (Contact, Among)),
            ("conditions", Condition),
            ("stages", Stage),
        ):
            given = getattr(self, name)
            if isinstance(given, kind):
                given = [given]
            try:
                values = tuple(given)
            except TypeError:
                values = (given,)
            wrong = [v for v in values if not isinstance(v, kind)]
            told = (kind[0] if isinstance(kind, tuple) else kind).__name__ + " objects"
            if wrong or (name == "bodies" and not values):
                got = repr(wrong[0]) if wrong else "none"
                why, try_ = "a solid is made of these.", f"give a list of {told}."
                raise ModelError(f"Solid.{name}", got, told, why, try_)
            object.__setattr__(self, name, values)
        self._write_out_contacts()
        for name, part in (("attraction", Program), ("readings", Readings)):
            value: object = getattr(self, name)
            if not isinstance(value, part):
                why, try_ = "a solid is made of these.", "leave it out for the default."
                needs = f"a {part.__name__}"
                raise ModelError(f"Solid.{name}", repr(value), needs, why, try_)
        yes_or_no("Solid.dimensionless", self.dimensionless, "units are ratios or they are not.")
        ends = [stage.until for stage in self.stages]
        if any(b <= a for a, b in itertools.pairwise(ends)):
            why, try_ = "one stage follows the other.", "let `until` rise from stage to stage."
            raise ModelError("Solid.stages", f"ends {ends}", "rising times", why, try_)
        self._check_readings()

    def _write_out_contacts(self) -> None:
        """Check the sides of contacts, and write out those among many bodies."""
        for contact in self.contacts:
            pair = (contact.boundary, contact.partner) if isinstance(contact, Contact) else ()
            for side in pair or vars(contact)["boundaries"]:
                if isinstance(side, Boundary):
                    self._check_side(side)
            self._check_plane(contact)
        meshes = [body.mesh if isinstance(body, Body) else None for body in self.bodies]
        made, watched = written_out(self.contacts, meshes)
        object.__setattr__(self, "contacts", made)
        object.__setattr__(self, "watched", (*self.watched, *watched))
        check_partners(made)

    @property
    def pairs(self) -> tuple[Contact, ...]:
        """The contacts, each of two sides."""
        return tuple(c for c in self.contacts if isinstance(c, Contact))

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the whole solid, then those of one stage after the other."""
        return (*self.conditions, *(c for stage in self.stages for c in stage.conditions))

    def programs(self) -> list[Program]:
        """Return the programs of all conditions."""
        return [vars(c)["program"] for c in self.all_conditions if "program" in vars(c)]

    def _check_readings(self) -> None:
        """Refuse readings of what is not there."""
        r = self.readings
        why = "curves are read from the conditions, contacts and bodies of the solid."
        try_ = "count from 0 in the order given."
        if r.displacement is not None:
            kinds = (Driven, Spring, Linear)
            driven = [i for i, c in enumerate(self.all_conditions) if isinstance(c, kinds)]
            if r.displacement not in driven:
                needs = f"the number of a Driven, Spring or Linear condition: {driven or 'none'}"
                where = "Readings.displacement"
                raise ModelError(where, r.displacement, needs, why, try_)
        if r.support and r.displacement is None:
            needs = "the number of such a condition in Readings.displacement"
            raise ModelError("Readings.support", True, needs, why, try_)
        dim = 2 if isinstance(self.bodies[0], Body) else 3
        for place in r.reactions:
            if place.about is not None and len(place.about) != dim:
                got, needs = f"{len(place.about)} coordinates", f"{dim}, as places of bodies have"
                told = "moments are told about it."
                raise ModelError("Reaction.about", got, needs, told, "leave it out for 0.")
        for name, count in (("contact", len(self.contacts)), ("body", len(self.bodies))):
            if getattr(r, name) >= max(count, 1):
                where, got = f"Readings.{name}", getattr(r, name)
                raise ModelError(where, got, f"a number below {count}", why, try_)

    def _check_plane(self, contact: Contact | Among) -> None:
        """Refuse virtual work, and boundaries that touch themselves, in space."""
        sides: Sequence[object] = vars(contact).get("boundaries", ())
        itself = False
        if isinstance(contact, Contact):
            sides, itself = (contact.boundary, contact.partner), contact.boundary == contact.partner
        if contact.passes != "mortar" and not itself:
            return
        for side in sides:
            if isinstance(side, Boundary) and not isinstance(self.bodies[side.body], Body):
                kind = type(self.bodies[side.body]).__name__
                got = f"body {side.body}, a {kind}, that " + (
                    "touches itself" if itself else "touches by 'mortar'"
                )
                why = "segments between two boundaries are found in the plane."
                try_ = 'take passes="half", between two bodies.'
                raise ModelError("Contact.passes", got, "bodies in the plane", why, try_)

    def _check_side(self, side: Boundary) -> None:
        if side.body >= len(self.bodies):
            why, try_ = "bodies are counted from 0.", "give the place of the body in the list."
            needs = f"a number below {len(self.bodies)}"
            raise ModelError("Boundary.body", side.body, needs, why, try_)
        self.bodies[side.body].mesh.boundary(side.name)

    def boundaries_of(self, body: int) -> tuple[str, ...]:
        """Return the contact boundaries of a body, each once."""
        sides = [side for c in self.pairs for side in (c.boundary, c.partner)]
        sides += [side for near in self.watched for side in near.boundaries]
        mine = (s.name for s in sides if isinstance(s, Boundary) and s.body == body)
        return tuple(dict.fromkeys(mine))


class SolidSystem(Record, abc.ABC):
    """Base of every system of deformable bodies; presets make themselves a plain one.

    Examples
    --------
    >>> import stiction as st
    >>> peeling = st.StripPeeling()
    >>> isinstance(peeling, st.solids.SolidSystem), len(peeling.assembled().bodies)
    (True, 1)
    """

    default_method: ClassVar[str] = "Quasistatic"

    # rows of a run are its load steps unless times are asked for
    keeps_steps = True

    @abc.abstractmethod
    def assembled(self) -> Assembled:
        """Return the parts of the system."""

    @property
    def state_size(self) -> int:
        """How many numbers one saved row holds: curves and tractions, not the whole field."""
        total = 64
        parts = self.assembled()
        for contact in parts.pairs:
            for side in (contact.boundary, contact.partner):
                if isinstance(side, Boundary):
                    body = parts.bodies[side.body]
                    pieces = len(body.mesh.boundary(side.name))
                    if isinstance(body, Membrane):
                        total += 9 * body.contact_points**2 * pieces
                        continue
                    if isinstance(body, SweptBody):
                        total += 9 * body.face_points * pieces * body.layers
                        continue
                    total += 8 * body.element.contact_points * pieces
        return total


@dataclass(frozen=True, eq=False, repr=False)
class Solid(SolidSystem):
    """Deformable bodies at finite strain that adhere, press and rub.

    Parameters
    ----------
    bodies : what deforms, numbered from 0
    contacts : which boundaries touch what; `Among` stands for a contact of each pair of many bodies
    boundary_conditions : what is held, driven or loaded
    attraction : factor on tensile contact tractions over time
    readings : which curves are reported
    dimensionless : whether lengths and stresses are ratios to units of the user's choice
    stages : parts of the program with conditions of their own, one after the other

    Source: Mergel, Scheibert, Sauer 2021.
    Verified by: tests/unit/solids/test_model.py::test_a_block_in_tension
    """

    bodies: Sequence[Body | Membrane | SweptBody] = ()
    contacts: Sequence[Contact | Among] = ()
    boundary_conditions: Sequence[Condition] = ()
    attraction: Program = field(default_factory=lambda: Program((0.0,), (1.0,)))
    readings: Readings = field(default_factory=Readings)
    dimensionless: bool = False
    stages: Sequence[Stage] = ()

    def __post_init__(self) -> None:
        made = self.assembled()
        object.__setattr__(self, "bodies", made.bodies)
        given = self.contacts
        listed = (given,) if isinstance(given, (Contact, Among)) else tuple(given)
        object.__setattr__(self, "contacts", listed)
        object.__setattr__(self, "stages", made.stages)
        object.__setattr__(self, "boundary_conditions", made.conditions)

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
