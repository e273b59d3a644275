"""A rod in frictional contact with a rigid plane: rolling, slip, impacts and opening.

At each node hold 0 <= r_n _|_ u_n >= 0 for a closed gap and |r_t| <= mu r_n, against the slip
velocity u_t at its bound, with the contact force r and the velocity u of the point one radius below
the node. `RodOnPlane` has the data of the system and checks them; `plane.run` integrates its motion
with the method `PlaneLeapfrog`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Declared, Part
from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.rods.contact.model import FRICTION, RESTITUTION
from stiction.rods.rod import GRAVITY, CosseratRod, Driven, Turned
from stiction.rods.state.size import NUMBERS_PER_CONTACT, saved_numbers

__all__ = ["RodOnPlane"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

# largest admissible initial penetration of a node, in radii
_TOUCHING = 1e-7

_ROD = Part("the system computes the motion of one rod.", "give one rod.")
_POINT = Components("m", "the plane goes through this point.")
_NORMAL = Components(
    "1", "the normal points to the side of the rod.", "give [0, 0, 1].", direction=True
)


@dataclass(frozen=True, eq=False, repr=False)
class RodOnPlane(Declared):
    """One rod above a rigid plane; every node can have a contact at the point below it.

    A contact is open, rolls or slips by Coulomb's law, and closes with an impact. The surface of
    the rod at node k has the velocity v + w x (-a n), with the node velocity v, the mean angular
    velocity w of the two adjacent elements, the radius a and the normal n.

    Parameters
    ----------
    rod : with free, pinned or clamped ends, without damping
    point, normal : a point of the plane [m]; normal vector to the side of the rod
    friction : Coulomb's law, one coefficient or one per node; None: rolling without slip
    restitution : coefficient of normal restitution in an impact [1]
    tangential_restitution : coefficient of tangential restitution [1]; if friction is None, of
        nodes that bounce
    gravity : acceleration [m/s^2]

    Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6; rigid limits in closed form.
    Verified by: tests/exact/test_rolling_on_a_plane.py::test_rolling_down_an_incline
    """

    default_method: ClassVar[str] = "PlaneLeapfrog"

    rod: Annotated[CosseratRod, _ROD]
    point: Annotated[Vector, _POINT] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, _NORMAL] = (0.0, 0.0, 1.0)
    friction: Annotated[Coulomb | None, FRICTION] = None
    restitution: Annotated[float, RESTITUTION] = 0.0
    tangential_restitution: Annotated[float, RESTITUTION] = 0.0
    gravity: Annotated[Vector, GRAVITY] = (0.0, 0.0, -9.81)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_rod()

    def _check_rod(self) -> None:
        """Raise ModelError if supports, damping or initial position are not admissible."""
        for name in ("left", "right"):
            end = getattr(self.rod, name)
            if isinstance(end, Driven | Turned):
                why = "the method for a plane has no prescribed motion of ends."
                _refuse(
                    f"rod.{name}",
                    type(end).__name__,
                    "Free, Pinned or Clamped",
                    why,
                    "give Free().",
                )
        for name in ("drag", "rotational_drag", "internal_damping"):
            if getattr(self.rod, name) > 0.0:
                why = "the method for a plane has no damping but friction and impacts."
                _refuse(f"rod.{name}", getattr(self.rod, name), "0", why, "leave this value out.")
        if not np.isfinite(self.rod.section.radius):
            why = "the plane touches the surface of the rod."
            try_ = "give a CircularSection."
            _refuse("rod.section", "no radius", "a section with a radius", why, try_)
        if self.friction is not None:
            self.friction.table(self.rod.elements + 1)
        gaps = self.gaps(self.rod.nodes())
        if gaps.min() < -_TOUCHING * self.rod.section.radius:
            k = int(np.argmin(gaps))
            raise ModelError(
                "RodOnPlane.rod",
                f"node {k + 1}, which lies {-gaps[k]:.6g} m inside the plane",
                "an axis at least one radius above the plane",
                "the surfaces may touch, but not overlap.",
                f"move the centreline by {-gaps[k]:.6g} m along the normal.",
            )

    def gaps(self, nodes: Floats) -> Floats:
        """Return (...) gaps of nodes (..., 3): distance of the surface from the plane [m]."""
        normal = np.asarray(self.normal) / np.linalg.norm(self.normal)
        return np.asarray((nodes - self.point) @ normal - self.rod.section.radius)

    @property
    def state_size(self) -> int:
        """Upper bound of the numbers in one saved state."""
        nodes = self.rod.elements + 1
        return NUMBERS_PER_CONTACT * nodes + saved_numbers(nodes, 2, 0)


def _refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise the ModelError of a field."""
    raise ModelError(f"RodOnPlane.{name}", got, needs, why, try_)
