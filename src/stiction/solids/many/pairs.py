"""The contact pairs of a solid: expansion of `ContactAmong` into pairs, their labels and checks.

`Assembled` calls these functions when a solid is described. Pairs that come near during a run are
added by `pair_activation`.

A `ContactAmong` names several boundaries that may touch; a pair is two of them with one law.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary, RigidPlane
from stiction.solids.many.broad_phase import ContactAmong, PairSearch
from stiction.solids.mesh.model import Mesh

__all__ = ["check_partners", "contact_label", "expanded_contacts"]

Floats = npt.NDArray[np.float64]


def expanded_contacts(
    contacts: Sequence[Contact | ContactAmong], meshes: Sequence[Mesh | None]
) -> tuple[tuple[Contact, ...], tuple[PairSearch, ...]]:
    """Return contacts of two sides each, the named ones first, and the searches for further pairs.

    Parameters
    ----------
    meshes : of the bodies; None for those that have no boundaries of the plane

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_pairs_as_if_named
    """
    named = [c for c in contacts if isinstance(c, Contact)]
    searches = []
    for group in contacts:
        if isinstance(group, Contact):
            continue
        places = []
        for boundary in group.boundaries:
            mesh = meshes[boundary.body]
            if mesh is None:
                got = f"body {boundary.body}, which is not a plane Body"
                why = "the search for pairs uses bounding boxes of plane outlines."
                try_ = "name each pair by a Contact."
                raise ModelError("ContactAmong.boundaries", got, "bodies of the plane", why, try_)
            places.append(mesh.points[np.unique(mesh.edge_nodes(boundary.name))])
        pairs, search = group.initial_pairs(places)
        named += pairs
        searches.append(search)
    return tuple(named), tuple(searches)


def contact_label(contact: Contact, number: int) -> str:
    """Return the label of a contact in messages: its number from 1 and its sides.

    Verified by: tests/unit/solids/many/test_broad_phase.py::test_a_run_as_if_named
    """
    own, partner = contact.boundary, contact.partner
    if isinstance(partner, Boundary):
        other = f"{partner.name!r} of body {partner.body}"
    else:
        other = type(partner).__name__
    return f"contact {number}, {own.name!r} of body {own.body} and {other}"


def check_partners(contacts: Iterable[Contact]) -> None:
    """Refuse two contacts of one boundary with the same body or the same rigid shape.

    A boundary may be in contact with several bodies. Two boundaries of one body are connected, and
    points near their common end would be loaded by both.
    """
    with_bodies: dict[tuple[int, str, int], int] = {}
    partners: dict[tuple[int, str], list[object]] = {}
    for contact in contacts:
        own = (contact.boundary.body, contact.boundary.name)
        partner = contact.partner
        if partner == contact.boundary and contact.passes != "mortar":
            got = (
                f"boundary {own[1]!r} of body {own[0]} as its own partner, in two-half-pass contact"
            )
            why = (
                "two passes would load the boundary twice, with forces that are not in equilibrium."
            )
            try_ = 'give passes="mortar".'
            raise ModelError("Contact.passes", got, "'mortar'", why, try_)
        if isinstance(partner, Boundary):
            # the set has one key if both sides are equal, as in self-contact
            for key in {(*own, partner.body), (partner.body, partner.name, own[0])}:
                with_bodies[key] = with_bodies.get(key, 0) + 1
        seen = partners.setdefault(own, [])
        if any(_are_same(other, partner) for other in seen):
            why = "each contact would load the boundary, with twice the adhesion."
            _refuse_twice(own, "with one and the same partner", why)
        seen.append(partner)
    for (body, name, other_body), count in with_bodies.items():
        if count > 1:
            why = "points near both partners, such as their common end, would be loaded twice."
            _refuse_twice((body, name), f"in contacts with body {other_body}", why)


def _are_same(one: object, other: object) -> bool:
    """Return whether two partners are the same surface; a plane has many points."""
    if isinstance(one, RigidPlane) and isinstance(other, RigidPlane):
        if len(one.normal) != len(other.normal):
            return False
        normal = np.asarray(one.normal)
        height = float(normal @ (np.asarray(other.point) - np.asarray(one.point)))
        rounding = 1e-12 * max(one.extent(), other.extent())
        return bool(np.abs(normal - other.normal).max() < 1e-12 and abs(height) <= rounding)
    return one == other


def _refuse_twice(key: tuple[int, str], how: str, why: str) -> None:
    """Raise the error of a boundary (body, name) that is named twice."""
    raise ModelError(
        "Solid.contacts",
        f"boundary {key[1]!r} of body {key[0]} twice {how}",
        "each pair of a boundary and a body once",
        why,
        "split the boundary, or leave one contact out.",
    )
