"""Which surfaces may be in contact with which, together."""

from __future__ import annotations

from collections.abc import Sequence

from stiction.errors import ModelError, explain
from stiction.solids.contact.model import Contact
from stiction.solids.contact.partners import Boundary

__all__ = ["check_partners"]


def check_partners(contacts: Sequence[Contact]) -> None:
    """Refuse a boundary that is in two contacts with bodies, or twice with one rigid shape."""
    with_bodies: dict[tuple[int, str], int] = {}
    seen: list[Contact] = []
    for contact in contacts:
        own = (contact.boundary.body, contact.boundary.name)
        partner = contact.partner
        if partner == contact.boundary and contact.passes != "mortar":
            got = f"boundary {own[1]!r} of body {own[0]} as its own partner, in half passes"
            why = "half passes would load it twice, with forces that do not balance."
            try_ = 'give passes="mortar".'
            raise ModelError(explain("Contact.passes", got, "'mortar'", why, try_))
        if isinstance(partner, Boundary):
            # one that touches itself is met from both sides in one contact
            for key in {own, (partner.body, partner.name)}:
                with_bodies[key] = with_bodies.get(key, 0) + 1
        for other in seen:
            if other.boundary == contact.boundary and other.partner == partner:
                _refuse_twice(own, "with one and the same partner")
        seen.append(contact)
    for key, count in with_bodies.items():
        if count > 1:
            _refuse_twice(key, "in contacts with bodies")


def _refuse_twice(key: tuple[int, str], how: str) -> None:
    raise ModelError(
        explain(
            "Solid.contacts",
            f"boundary {key[1]!r} of body {key[0]} twice {how}",
            "each pair of surfaces once",
            "each pass would load the boundary again, with twice the adhesion.",
            "split the boundary, or leave one contact out.",
        )
    )
