"""Preset of a capstan: a rope wound around a fixed drum, pulled at one end.

Without bending stiffness and radius the tensions at both ends have the ratio exp(mu angle) (Euler,
Eytelwein); `Capstan` states that of a thick rope. `assembled` returns the rope on a helix between
two straight strands that are tangent to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Finite, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.rods.centreline import Curve
from stiction.rods.contact.model import ContactSearch
from stiction.rods.contact.partners import CylinderPartner
from stiction.rods.model import Rods, RodSystem
from stiction.rods.rod import BYTES_OF_ELEMENT, CosseratRod, Driven, Free, PointForce
from stiction.rods.section import GivenSection

__all__ = ["Capstan"]

Floats = npt.NDArray[np.float64]

# elements of each straight strand beside the arc
_STRAND = 8
# angle beyond which a rope without pitch lies on itself [rad]
_OWN_TURN = 1.9 * math.pi

_FRICTION = Part("friction holds the rope.", "give Coulomb(0.3).")
_ANGLE = Positive(
    "rad", "the rope turns around the drum by this angle.", "give 3.14159.", most=100.0
)
_DRUM = Positive("m", "the drum has this radius.", "give 0.1.")
_ROPE = Positive("m", "the rope has this radius.", "give 0.005.")
_TENSION = Positive("N", "without tension the rope does not press on the drum.", "give 10.0.")
_SPEED = Finite("m/s", "the pulled end moves along the rope at this velocity.")
_PITCH = NonNegative(
    "m", "one turn advances by this length along the drum.", "give 0.0 for less than a turn."
)
_STIFF = Positive("N", "the stiffness is the force divided by the strain.", "give 2e4.")
_BEND = Positive("N m^2", "the stiffness is the moment divided by the curvature.", "give 1e-4.")
_DENSE = Positive("kg/m", "the density is the mass divided by the length.", "give 0.1.")
_ELEMENTS = Count(
    16, "from one element to the next the rope turns by 0.2 rad at most.", each=BYTES_OF_ELEMENT
)


@dataclass(frozen=True, eq=False, repr=False)
class Capstan(RodSystem):
    """A rope on a fixed drum: a dead load on the slack end, the other end is pulled.

    The pulled end moves at a constant velocity, so slip spreads from it until the rope slides. The
    ratio of both tensions is then exp(lambda angle) if the rope has no bending stiffness, with
    lambda (1 + mu lambda r / rho) = mu (1 - r / rho). Here rho = (R + r) / cos^2(a) is the radius
    of curvature of the axis, and tan(a) = pitch / (2 pi (R + r)).

    Parameters
    ----------
    friction : Coulomb's law between rope and drum
    angle : between the straight strands, by which the rope turns [rad]
    drum_radius, radius : R of the drum, r of the rope [m]
    tension : dead load on the slack end [N]
    speed : velocity of the pulled end; negative towards the drum [m/s]
    pitch : axial advance of the rope in a turn around the drum, at least its diameter if it turns
        by more than 1.9 pi [m]
    stiffness : axial and shear stiffness of the rope [N]
    bending, twist : stiffness of the rope [N m^2]
    line_density : of the rope [kg/m]
    elements : number of elements for half a turn

    Source: Euler 1762; docs/decisions/41-wrapped-rods.md for the thick rope.
    Verified by: tests/exact/test_capstan_runs.py::test_ratio_of_tensions

    Examples
    --------
    >>> import stiction as st
    >>> len(st.rods.Capstan(elements=20).assembled().rods)
    1
    """

    default_method: ClassVar[str] = "Quasistatic"

    friction: Annotated[Coulomb, _FRICTION] = field(default_factory=lambda: Coulomb(0.3))
    angle: Annotated[float, _ANGLE] = math.pi
    drum_radius: Annotated[float, _DRUM] = 0.1
    radius: Annotated[float, _ROPE] = 0.005
    tension: Annotated[float, _TENSION] = 10.0
    speed: Annotated[float, _SPEED] = 5e-4
    pitch: Annotated[float, _PITCH] = 0.0
    stiffness: Annotated[float, _STIFF] = 2e4
    bending: Annotated[float, _BEND] = 1e-4
    twist: Annotated[float, _BEND] = 1e-2
    line_density: Annotated[float, _DENSE] = 0.1
    elements: Annotated[int, _ELEMENTS] = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius > self.drum_radius:
            got, needs = (
                f"{self.radius:.6g} m",
                f"at most the radius of the drum, {self.drum_radius:.6g} m",
            )
            why = "a rope bent around a thinner drum has strains of one half and more."
            raise ModelError("Capstan.radius", got, needs, why, "give a thinner rope.")
        if self.angle > _OWN_TURN and self.pitch < 2.0 * self.radius:
            got, needs = f"{self.pitch:.6g} m", f"at least {2.0 * self.radius:.6g} m"
            why = f"a rope that turns by {self.angle:.6g} rad would lie on itself."
            raise ModelError("Capstan.pitch", got, needs, why, "give a larger pitch.")

    def assembled(self) -> Rods:
        """Return rope and drum, whose axis is z."""
        nodes, back, ahead = self._centreline()
        density, r = self.line_density, self.radius
        section = GivenSection(
            self.stiffness, self.stiffness, self.bending, self.twist,
            mass=density, inertia=0.25 * density * r**2, outer_radius=r,
        )  # fmt: skip
        rope = CosseratRod(
            section,
            Curve(nodes),
            elements=len(nodes) - 1,
            left=Free(),
            right=Driven(velocity=(self.speed * ahead).tolist()),
            loads=[PointForce((-self.tension * back).tolist(), at=0.0)],
        )
        room = 30.0 * (self.drum_radius + r)
        low, high = nodes[:, 2].min() - room, nodes[:, 2].max() + room
        drum = CylinderPartner([0.0, 0.0, low], [0.0, 0.0, high], self.drum_radius)
        search = ContactSearch(self.friction, self_contact=False)
        return Rods([rope], search=search, partners=[drum])

    def _centreline(self) -> tuple[Floats, Floats, Floats]:
        """Return nodes of a helix between straight strands, and tangents of its ends."""
        distance = self.drum_radius + self.radius
        rise = math.atan(self.pitch / (2.0 * math.pi * distance))
        # the curvature of a helix is cos^2(rise) / distance
        length = self.angle * distance / math.cos(rise) ** 2
        count = max(1, round(self.elements * length / (math.pi * distance)))
        azimuth = np.linspace(0.0, length * math.cos(rise) / distance, count + 1)
        around = np.stack([np.cos(azimuth), np.sin(azimuth), azimuth * math.tan(rise)], axis=1)
        arc = distance * around
        first, last = (
            np.array([-math.sin(a), math.cos(a), math.tan(rise)]) * math.cos(rise)
            for a in azimuth[[0, -1]].tolist()
        )
        far = np.arange(1, _STRAND + 1)[:, None] * length / count
        return np.concatenate([arc[0] - far[::-1] * first, arc, arc[-1] + far * last]), first, last
