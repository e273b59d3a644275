"""Descriptions of contacts between rods: declared contact points, and contacts by search.

`RollingContact` is a contact at given points; `ContactSearch` finds contacts while the rods move.
Both have Coulomb friction, opening in tension, and restitution: 0 <= p_N _|_ -u . n >= 0 for the
normal force p_N, and friction |f| <= mu p_N, opposite to the slip velocity where it is at its bound
(docs/theory/rods, eq-rd-law). Without a friction law a contact rolls, u = 0. These classes are
fields of `Rods`; `contact.state` converts them to the table of the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stiction.core.fields import Count, Declared, Finite, Flag, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb

__all__ = ["FRICTION", "RESTITUTION", "ContactSearch", "RodTouch", "RollingContact"]

RESTITUTION = NonNegative(
    "1",
    "restitution is the ratio of the velocities after and before an impact; more than 1 would "
    "create energy.",
    "give a number between 0 and 1.",
    most=1.0,
)
FRICTION = Part(
    "the contact solver is implemented for Coulomb's law only.",
    "give the coefficient of stick as Coulomb(mu).",
    "Coulomb(mu), or None for no slip",
)
_PLACE = Finite(
    "m", "the search for the closest points starts at this position.", "for example 0.5."
)
_ROD = Count(1, "rods are numbered from 1.", "give 1.")
_OPENS = Flag(
    "True lets a contact open in tension; False lets it transmit tension.", "leave this value out."
)
_PROJECT = Flag("True moves the second rod until it touches the first.", "give True.")
_MARGIN = Positive(
    "1",
    "pairs with a gap below this multiple of the smallest radius are monitored between searches.",
    "give 1.0.",
)
_SELF = Flag("True searches for contacts of a rod with itself.", "give True.")
_MOST = Count(1, "memory for contacts is allocated at the start.", "give 256.", each=4000)


class RodTouch(Declared):
    """Base class of `RollingContact` and `ContactSearch`."""


@dataclass(frozen=True, eq=False, repr=False)
class RollingContact(RodTouch):
    """Two rods in contact at one point, which may move along both.

    Without a friction law the rods roll without slip, as in the paper, and the contact transmits
    tension unless it `opens`. With a friction law it is unilateral and rolls, slips or opens.

    Parameters
    ----------
    s1, s2 : rest length from the start of each rod to the contact [m]; the closest points nearby
        replace them at the start
    first, second : numbers of the rods, from 1; the same number twice is a self-contact; numbers
        above that of the last rod are rigid partners
    friction : Coulomb's law; None: rolling without slip
    opens : whether the contact opens in tension; None: only with a friction law
    restitution : coefficient of the normal velocity when an open contact closes [1]
    tangential_restitution : coefficient of the slip velocity then [1]
    project : move the second rod so that the surfaces just touch at the start

    Source: Gay-Balmaz and Putkaradze 2012, equations (3)-(10); formulas sheet
    (docs/formulas/rods.md), sections 2 and 4.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    s1: Annotated[float, _PLACE]
    s2: Annotated[float, _PLACE]
    first: Annotated[int, _ROD] = 1
    second: Annotated[int, _ROD] = 2
    friction: Annotated[Coulomb | None, FRICTION] = None
    opens: Annotated[bool | None, _OPENS] = None
    restitution: Annotated[float, RESTITUTION] = 0.0
    tangential_restitution: Annotated[float, RESTITUTION] = 0.0
    project: Annotated[bool, _PROJECT] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.friction is not None and self.opens is False:
            raise ModelError(
                "RollingContact.opens",
                "False, with a friction law",
                "a contact that may open",
                "Coulomb's bound needs a compressive normal force; under tension there is none.",
                "leave out `opens`, or leave out `friction` for perfect rolling.",
            )

    @property
    def may_open(self) -> bool:
        """Whether the contact opens in tension."""
        return self.friction is not None if self.opens is None else self.opens


@dataclass(frozen=True, eq=False, repr=False)
class ContactSearch(RodTouch):
    """Contacts found while the rods move: of all rods and rigid partners, and of a rod with itself.

    Parameters
    ----------
    friction : Coulomb's law; None: rolling without slip under compression
    restitution, tangential_restitution : coefficients of the normal and of the slip velocity when a
        contact closes [1]
    margin : gap below which a pair is monitored, over the smallest radius [1]
    self_contact : whether contacts of a rod with itself are searched
    max_contacts : largest number of monitored pairs at one time

    Verified by: tests/unit/rods/contact/test_many_contacts.py::test_a_net_finds_its_crossings
    """

    friction: Annotated[Coulomb | None, FRICTION] = None
    restitution: Annotated[float, RESTITUTION] = 0.0
    tangential_restitution: Annotated[float, RESTITUTION] = 0.0
    margin: Annotated[float, _MARGIN] = 1.0
    self_contact: Annotated[bool, _SELF] = True
    max_contacts: Annotated[int, _MOST] = 256
