"""How two rods touch: where, whether they may slip or open, and what a closing loses."""

from __future__ import annotations

from dataclasses import dataclass

from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb, Friction
from stiction.numerics.checks import Record, number, whole

__all__ = ["ContactSearch", "RodTouch", "RollingContact"]


class RodTouch(Record):
    """Base of descriptions of contact between rods."""


def _check_law(touch: RollingContact | ContactSearch) -> None:
    name = type(touch).__name__
    for field in ("restitution", "tangential_restitution"):
        value = number(
            f"{name}.{field}",
            getattr(touch, field),
            rule="nonnegative",
            unit="1",
            why="it is the part of the velocity that comes back after an impact.",
            try_="give a number between 0 and 1.",
        )
        if value > 1.0:
            why = "more would create energy in every impact."
            try_ = "give a number between 0 and 1."
            raise ModelError(f"{name}.{field}", value, "at most 1", why, try_)
    if touch.friction is not None and not isinstance(touch.friction, Coulomb):
        raise ModelError(
            f"{name}.friction",
            repr(touch.friction),
            "Coulomb(mu), or None for perfect rolling",
            "the contact solver has the exact solution of Coulomb's law.",
            "give the coefficient of stick as Coulomb(mu).",
        )


@dataclass(frozen=True, eq=False, repr=False)
class RollingContact(RodTouch):
    """Two rods that cross and touch at one point which may move along both.

    Without a friction law the rods roll perfectly, as in the paper, and the contact holds in
    tension too unless it `opens`. With one the contact is set-valued: it rolls, slips or opens.

    Parameters
    ----------
    s1, s2 : rest length from the start of each rod to the contact [m]; corrected to the
        nearest pair of points at the start
    first, second : numbers of the rods, from 1; the same number twice is a self-contact
    friction : Coulomb's law; None rolls perfectly
    opens : whether the contact lets go in tension; None: only with a friction law
    restitution : of the normal velocity when an open contact closes [1]
    tangential_restitution : of the slip velocity then [1]
    project : move the second rod so that the surfaces just touch at the start

    Source: Gay-Balmaz and Putkaradze 2012, equations (3)-(10); formulas sheet of the rods
    paper, sections 2 and 4.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    s1: float
    s2: float
    first: int = 1
    second: int = 2
    friction: Friction | None = None
    opens: bool | None = None
    restitution: float = 0.0
    tangential_restitution: float = 0.0
    project: bool = False

    def __post_init__(self) -> None:
        for name in ("s1", "s2"):
            why = "it is a place on the rod."
            number(f"RollingContact.{name}", getattr(self, name), unit="m", why=why, try_="0.5.")
        for name in ("first", "second"):
            why = "rods are numbered from 1."
            whole(f"RollingContact.{name}", getattr(self, name), least=1, why=why, try_="give 1.")
        _check_law(self)
        if self.friction is not None and self.opens is False:
            raise ModelError(
                "RollingContact.opens",
                "False, with a friction law",
                "a contact that may open",
                "Coulomb's bound needs a pressing force; under tension there is none.",
                "leave out `opens`, or leave out `friction` for perfect rolling.",
            )

    @property
    def may_open(self) -> bool:
        """Whether the contact lets go in tension."""
        return self.friction is not None if self.opens is None else self.opens


@dataclass(frozen=True, eq=False, repr=False)
class ContactSearch(RodTouch):
    """Contacts that are found while the rods move, among all rods and of a rod with itself.

    Parameters
    ----------
    friction : Coulomb's law; None rolls perfectly while it presses
    restitution, tangential_restitution : when a contact closes [1]
    margin : gap below which a pair is watched, in radii
    self_contact : whether a rod can touch itself
    most : contacts watched at the same time

    Verified by: tests/unit/rods/contact/test_many_contacts.py::test_a_net_finds_its_crossings
    """

    friction: Friction | None = None
    restitution: float = 0.0
    tangential_restitution: float = 0.0
    margin: float = 1.0
    self_contact: bool = True
    most: int = 256

    def __post_init__(self) -> None:
        _check_law(self)
        why = "pairs nearer than this are watched between two searches."
        number("ContactSearch.margin", self.margin, rule="positive", unit="1", why=why, try_="1.0.")
        why = "memory for contacts is set aside at the start."
        whole("ContactSearch.most", self.most, least=1, each=4000, why=why, try_="give 256.")
