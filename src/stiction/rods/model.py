"""Systems of several rods: rods, contacts between them, rigid partners and gravity.

`Rods` has the data of a system and checks that contacts fit them; presets such as `CrossedRods`
derive from `RodSystem` and return `Rods` by `assembled`. `assembly.assemble` converts them to the
arrays of the methods, which solve M dv/dt = f + J^T lam: elastic forces and loads f of the rods
(`rod_kernels`), contact forces lam by Signorini's and Coulomb's laws (`contact.model`).
"""

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

# least number of elements between a contact and an end in presets: the spline acts on four nodes
LEAST_MARGIN = 8

CONTACT_CURVE = Choice(
    ("spline", "fitted"),
    "contact points lie on this curve along the axis of the rod.",
    "leave this value out for the spline.",
)
_WHY = "a system of rods consists of rods, contacts, a search and partners."
_RODS = Parts(
    "a system of rods has at least one rod.", "give a list of CosseratRod objects.", least=1
)
_CONTACTS = Parts(_WHY, "give a list of RollingContact objects.")
_SEARCH = Part(_WHY, "leave this value out, or give ContactSearch().")
_PARTNERS = Parts(_WHY, "give a list of RodPartner objects.")


class RodSystem(Declared, abc.ABC):
    """Base class of systems of rods; `assembled` converts a preset to `Rods`.

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
        """Return the system as rods and contacts."""

    @property
    def state_size(self) -> int:
        """Upper bound of the numbers in one saved state."""
        rods = self.assembled()
        slots = sum(rod.elements + 1 for rod in rods.rods)
        most = len(rods.contacts) if rods.search is None else rods.search.max_contacts
        partners = len(rods.partners)
        return NUMBERS_PER_CONTACT * most + saved_numbers(slots, 2 * len(rods.rods), partners)


@dataclass(frozen=True, eq=False, repr=False)
class Rods(RodSystem):
    """Geometrically exact rods in unilateral or bilateral contact, with rolling and slip.

    Parameters
    ----------
    rods : numbered from 1
    contacts : declared contacts, numbered from 1
    search : finds contacts while the rods move; None: only declared contacts
    gravity : acceleration of every rod [m/s^2]
    partners : rigid bodies in contact with rods, numbered after the rods; in a contact with a
        partner the rod is first
    contact_curve : axis for contact. "spline", the cubic B-spline of the nodes, deviates from them
        by ds^2/6 times the curvature, with the element length ds; "fitted" deviates by order ds^4,
        and costs more

    Source: Gay-Balmaz and Putkaradze 2012; formulas sheet (docs/formulas/rods.md), sections 1-4, 6.
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

    def check_stiffness(self) -> None:
        """Raise ModelError if rods that move have two bending stiffnesses."""
        for n, rod in enumerate(self.rods, start=1):
            first, second = rod.section.bending_stiffness, rod.section.second_bending_stiffness
            if first != second:
                raise ModelError(
                    f"Rods.rods[{n}].section",
                    f"bending stiffnesses of {first:.6g} and {second:.6g} N m^2",
                    "two equal stiffnesses",
                    "inertia and damping are those of a round section, not a flat or elliptic one.",
                    "use Quasistatic, rods.equilibrium or rods.follow_path.",
                )

    def check_sections(self) -> None:
        """Raise ModelError if rods with a section that is not round can touch, or move."""
        self.check_stiffness()
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
                    "the axis of a rolling rod stays at a constant distance only if the rod is "
                    "round.",
                    "give a CircularSection, or solve by Quasistatic or ImplicitEuler.",
                )

    def _check_contact(self, i: int, contact: RollingContact) -> None:
        """Raise ModelError if contact number i does not fit the rods and partners."""
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
                needs = f"a position between 0 and {length:.6g} m on rod {number}"
                why = "the contact is on the rod, whose ends are half spheres."
                label = "s1" if which == "first" else "s2"
                raise ModelError(f"{where}.{label}", f"{s} m", needs, why, "move the contact.")
        if contact.second > len(self.rods) and contact.project:
            why, try_ = "`project` cannot move a rigid partner.", "move the rod."
            raise ModelError(f"Rods.contacts[{i}].project", True, "False for a partner", why, try_)

    def _length(self, number: int) -> float:
        """Return the largest position of a contact along a body [m]."""
        if number <= len(self.rods):
            return self.rods[number - 1].rest_length
        partner = self.partners[number - len(self.rods) - 1]
        if isinstance(partner, CylinderPartner):
            return float(np.linalg.norm(np.subtract(partner.end, partner.start)))
        return np.inf

    def assembled(self) -> Rods:
        """Return this system."""
        return self
