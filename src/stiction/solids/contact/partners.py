"""Partners of a contact boundary: rigid shapes, or the boundary of a deformable body.

The boundary that is integrated is projected onto its partner. Rigid partners are planes, circular
cylinders of the plane problem, and spheres; each moves as a whole. Their shape is passed to the
closest-point projection (`curves.closest_on_rigid`) as a small table of numbers: KIND (PLANE or
SPHERE of `curves`), then d entries of a point and d of the outward normal [1], or d entries of the
centre and the radius [m]. The translation of a partner is an unknown of the problem.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Count, Declared, Positive
from stiction.errors import ModelError
from stiction.solids.dimensions import frame

__all__ = ["Boundary", "Partner", "RigidCircle", "RigidPlane", "RigidSphere"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

_WHY_SIDE = "the normal points to the side of the body."
_POINT = Components("m", "the point lies on the plane.", counts=(2, 3))
_NORMAL = Components(
    "1", _WHY_SIDE, "give (0, 1) for a plane below the body.", counts=(2, 3), direction=True
)
_AXIS = Components("m", "the axis of the cylinder is at this point.", counts=(2,))
_CENTRE = Components("m", "the centre of the sphere is at this point.")
_RADIUS = Positive(
    "m",
    "bodies are in contact with the outside of a circle or sphere.",
    "use RigidPlane for a flat partner.",
)
BODY = Count(0, "bodies are counted from 0.", "give the index of the body in the list.")


class Partner(Declared, abc.ABC):
    """Base of the partners of a contact boundary."""


class RigidShape(Partner):
    """Base of rigid partners: a shape that moves as a whole."""

    @property
    @abc.abstractmethod
    def components(self) -> int:
        """How many components its points have."""

    @abc.abstractmethod
    def table(self) -> Floats:
        """Return the table of the shape for kernels, a new array; the module has its entries."""

    @abc.abstractmethod
    def extent(self) -> float:
        """Return the largest length [m] in the data of the shape, a measure of rounding errors."""

    @abc.abstractmethod
    def outline(self, reach: float) -> Floats:
        """Return points (k, d) along the shape for drawing, `reach` to each side [m]."""


@dataclass(frozen=True, eq=False, repr=False)
class RigidPlane(RigidShape):
    """A flat rigid surface, in the plane or in space.

    Parameters
    ----------
    point : any point on it [m]
    normal : direction out of the rigid side, towards the body; need not have length one

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """

    point: Annotated[Vector, _POINT] = (0.0, 0.0)
    normal: Annotated[Vector, _NORMAL] = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.point) != len(self.normal):
            got, needs = f"{len(self.point)} coordinates", f"{len(self.normal)}, as the normal has"
            try_ = "give both in the plane, or both in space."
            raise ModelError("RigidPlane.point", got, needs, _WHY_SIDE, try_)
        object.__setattr__(self, "normal", np.asarray(self.normal) / math.hypot(*self.normal))

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.normal)

    def table(self) -> Floats:
        """Return the table of the shape for kernels."""
        return np.array([0.0, *self.point, *self.normal])

    def extent(self) -> float:
        """Return the largest coordinate of the point of the plane [m]."""
        return float(np.abs(self.point).max())

    def outline(self, reach: float) -> Floats:
        """Return points at the ends of lines through the point, `reach` to each side [m]."""
        lines = [np.outer([-reach, reach], tangent) for tangent in frame(np.asarray(self.normal))]
        return np.asarray(np.asarray(self.point) + np.concatenate(lines))


@dataclass(frozen=True, eq=False, repr=False)
class RigidCircle(RigidShape):
    """A rigid cylinder, with contact on its outside.

    Parameters
    ----------
    centre : [m]
    radius : [m], > 0

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """

    centre: Annotated[Vector, _AXIS] = (0.0, -1.0)
    radius: Annotated[float, _RADIUS] = 1.0

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.centre)

    def table(self) -> Floats:
        """Return the table of the shape for kernels."""
        return np.array([1.0, *self.centre, self.radius, 0.0])

    def extent(self) -> float:
        """Return the largest coordinate of the circle [m]."""
        return float(np.abs(self.centre).max()) + self.radius

    def outline(self, reach: float) -> Floats:
        """Return points around the circle."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.asarray(self.centre) + self.radius * ring


@dataclass(frozen=True, eq=False, repr=False)
class RigidSphere(RigidShape):
    """A rigid sphere, with contact on its outside.

    Parameters
    ----------
    centre : [m]
    radius : [m], > 0

    Notes
    -----
    Coordinates on the sphere are lengths of great circles from the pole on the first axis. They are
    singular at the opposite pole, near which hard contact (`Signorini`) is refused.

    Verified by: tests/unit/solids/contact/test_space.py::test_rigid_sphere

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.RigidSphere(centre=(0.0, -2.0, 0.0), radius=2.0).radius
    2.0
    """

    centre: Annotated[Vector, _CENTRE] = (0.0, 0.0, -1.0)
    radius: Annotated[float, _RADIUS] = 1.0

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.centre)

    def table(self) -> Floats:
        """Return the table of the shape for kernels."""
        return np.array([1.0, *self.centre, self.radius])

    def extent(self) -> float:
        """Return the largest coordinate of the sphere [m]."""
        return float(np.abs(self.centre).max()) + self.radius

    def outline(self, reach: float) -> Floats:
        """Return points around the equator."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
        return np.asarray(self.centre) + self.radius * ring


@dataclass(frozen=True, eq=False, repr=False)
class Boundary(Partner):
    """A named boundary of a body.

    Parameters
    ----------
    body : number of the body, from 0 in the order of `Solid.bodies`
    name : of the boundary in the body's mesh
    """

    body: Annotated[int, BODY] = 0
    name: str = "bottom"

    def __post_init__(self) -> None:
        super().__post_init__()
        name: object = self.name
        if not isinstance(name, str) or not name:
            why = "boundaries are identified by name."
            try_ = "give a name of the mesh, such as 'bottom'."
            raise ModelError("Boundary.name", repr(name), "the name of a boundary", why, try_)
