"""Several rods and their contacts: the system of the methods for rods."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Declared, Part, Parts
from stiction.errors import ModelError
from stiction.rods.contact.model import ContactSearch, RollingContact
from stiction.rods.contact.partners import CylinderPartner, RodPartner
from stiction.rods.rod import GRAVITY, CosseratRod
from stiction.rods.section import CircularSection
from stiction.rods.state.size import NUMBERS_PER_CONTACT, saved_numbers

__all__ = ["RodSystem", "Rods"]

Floats = npt.NDArray[np.float64]

# spline contact needs its support inside the rod, and room to move
LEAST_MARGIN = 8

CONTACT_CURVE = Choice(
    ("spline", "fitted"), "contacts see one of these axes.", "leave it out for the spline."
)
_WHY = "a system of rods is made of such objects."
_RODS = Parts("something must move.", "give a list of CosseratRod objects.", least=1)
_CONTACTS = Parts(_WHY, "give a list of RollingContact objects.")
_SEARCH = Part(_WHY, "leave it out, or give ContactSearch().")
_PARTNERS = Parts(_WHY, "give a list of RodPartner objects.")


class RodSystem(Declared, abc.ABC):
    """Base of systems of rods; presets describe themselves as `Rods`.

    Examples
    --------
    >>> import stiction as st
    >>> crossed = st.CrossedRods()
    >>> isinstance(crossed, st.rods.RodSystem), type(crossed.assembled()).__name__
    (True, 'Rods')
    """

    default_method: ClassVar[str] = "RollingLeapfrog"

    def __post_init__(self) -> None:
        super().__post_init__()
        # a preset is refused where its rods would be
        self.assembled()

    @abc.abstractmethod
    def assembled(self) -> Rods:
        """Return the rods and contacts this system stands for."""

    @property
    def state_size(self) -> int:
        """Numbers in one saved state."""
        rods = self.assembled()
        slots = sum(rod.elements + 1 for rod in rods.rods)
        most = len(rods.contacts) if rods.search is None else rods.search.max_contacts
        partners = len(rods.partners)
        return NUMBERS_PER_CONTACT * most + saved_numbers(slots, 2 * len(rods.rods), partners)


@dataclass(frozen=True, eq=False, repr=False)
class Rods(RodSystem):
    """Geometrically exact rods that roll on, slip along and open from each other.

    Parameters
    ----------
    rods : numbered from 1
    contacts : known contacts, numbered from 1
    search : finds contacts while the rods move; None keeps to the known ones
    gravity : acceleration on every rod [m/s^2]
    partners : rigid bodies in contact with rods, numbered after the rods; in a contact with one
        the rod is first
    contact_curve : the axis that contacts see. "spline", the cubic B-spline of the nodes, lies
        ds^2/6 times the curvature inside them;
        "fitted" lies nearer to them by two orders of ds, and costs more

    Source: Gay-Balmaz and Putkaradze 2012; formulas sheet of the rods paper, sections 1-4, 6.
    Verified by: tests/exact/test_crossed_rods.py::test_reference_case
    """

    rods: Annotated[Sequence[CosseratRod], _RODS]
    contacts: Annotated[Sequence[RollingContact], _CONTACTS] = ()
    search: Annotated[ContactSearch | None, _SEARCH] = None
    gravity: Annotated[Sequence[float] | Floats, GRAVITY] = (0.0, 0.0, 0.0)
    partners: Annotated[Sequence[RodPartner], _PARTNERS] = ()
    contact_curve: Annotated[str, CONTACT_CURVE] = "spline"

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, contact in enumerate(self.contacts, start=1):
            self._check_contact(i, contact)
        self._check_sections()

    def _check_sections(self) -> None:
        """Refuse contact of rods whose sections are not round."""
        touching = {n for c in self.contacts for n in (c.first, c.second) if n <= len(self.rods)}
        if self.search is not None:
            touching = set(range(1, len(self.rods) + 1))
        for n in sorted(touching):
            section = self.rods[n - 1].section
            if not isinstance(section, CircularSection):
                raise ModelError(
                    f"Rods.rods[{n}].section",
                    type(section).__name__,
                    "a CircularSection",
                    "only a round rod keeps its axis one radius from what it rolls on.",
                    "give radius and material of a round rod.",
                )

    def _check_contact(self, i: int, contact: RollingContact) -> None:
        for which, number, s in (
            ("first", contact.first, contact.s1),
            ("second", contact.second, contact.s2),
        ):
            where = f"Rods.contacts[{i}]"
            bodies = len(self.rods) + (len(self.partners) if which == "second" else 0)
            if number > bodies:
                why = "rods are numbered from 1."
                if self.partners:
                    why = "rods are numbered from 1, then partners, which are second in a contact."
                try_ = f"give {which} = {bodies} or less."
                needs = f"one of the {bodies} rods"
                raise ModelError(f"{where}.{which}", number, needs, why, try_)
            length = self._length(number)
            if not 0.0 <= s <= length:
                needs = f"a place between 0 and {length:.6g} m on rod {number}"
                why = "the contact is somewhere on the rod; its ends are half spheres."
                label = "s1" if which == "first" else "s2"
                raise ModelError(f"{where}.{label}", f"{s} m", needs, why, "move the contact.")
        if contact.second > len(self.rods) and contact.project:
            why, try_ = "a rigid partner is fixed at the start.", "move the rod."
            raise ModelError(f"Rods.contacts[{i}].project", True, "False for a partner", why, try_)

    def _length(self, number: int) -> float:
        """Return the length of a body along which a contact has a place [m]."""
        if number <= len(self.rods):
            return self.rods[number - 1].rest_length
        partner = self.partners[number - len(self.rods) - 1]
        if isinstance(partner, CylinderPartner):
            return float(np.linalg.norm(np.subtract(partner.end, partner.start)))
        return np.inf

    def assembled(self) -> Rods:
        """Return itself."""
        return self
