"""What a boundary may touch: rigid shapes, or the boundary of another body."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, numbers, whole
from stiction.solids.dimensions import frame

__all__ = ["Boundary", "Partner", "RigidCircle", "RigidPlane", "RigidSphere"]

Floats = npt.NDArray[np.float64]


class Partner(Record, abc.ABC):
    """Base of what a boundary may touch."""


class RigidShape(Partner):
    """Base of rigid partners: a shape that moves as a whole."""

    @property
    @abc.abstractmethod
    def components(self) -> int:
        """How many components its points have."""

    @abc.abstractmethod
    def table(self) -> Floats:
        """Return the shape as kernels read it, in a fresh array."""

    @abc.abstractmethod
    def extent(self) -> float:
        """Return the largest length [m] from which places of the shape are computed."""

    @abc.abstractmethod
    def outline(self, reach: float) -> Floats:
        """Return points (k, d) along the shape for drawing, `reach` to each side [m]."""


# how points are written, by their number of components
_WRITTEN = {2: ("two coordinates", "(x, y)"), 3: ("three coordinates", "(x, y, z)")}


def point_of(
    where: str, value: Sequence[float] | Floats, why: str, components: Sequence[int] = (2,)
) -> Floats:
    """Return a point of the plane or of space, checked.

    Parameters
    ----------
    components : how many it may have
    """
    try_ = f"give {' or '.join(_WRITTEN[d][1] for d in components)}."
    found = numbers(where, value, unit="m", per="component", why=why, try_=try_)
    if found.shape not in {(d,) for d in components}:
        needs = " or ".join(_WRITTEN[d][0] for d in components) + " [m]"
        raise ModelError(where, f"{found.size} values", needs, why, try_)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RigidPlane(RigidShape):
    """A flat rigid surface, in the plane or in space.

    Parameters
    ----------
    point : any point on it [m]
    normal : direction out of the rigid side, towards the body; need not have length one

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """

    point: Sequence[float] | Floats = (0.0, 0.0)
    normal: Sequence[float] | Floats = (0.0, 1.0)

    def __post_init__(self) -> None:
        why = "the body lies on this side."
        n = point_of("RigidPlane.normal", self.normal, why, (2, 3))
        point = point_of("RigidPlane.point", self.point, "it is there.", (n.size,))
        object.__setattr__(self, "point", point)
        size = math.hypot(*n)
        if not size > 0.0:
            try_ = "give (0, 1) for a plane below the body."
            raise ModelError("RigidPlane.normal", "(0, 0)", "a direction", why, try_)
        object.__setattr__(self, "normal", n / size)

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.normal)

    def table(self) -> Floats:
        """Return the shape as kernels read it."""
        return np.array([0.0, *self.point, *self.normal])

    def extent(self) -> float:
        """Return how far the point of the plane lies from the origin [m]."""
        return float(np.abs(self.point).max())

    def outline(self, reach: float) -> Floats:
        """Return points at the ends of lines through the point, `reach` to each side [m]."""
        lines = [np.outer([-reach, reach], along) for along in frame(np.asarray(self.normal))]
        return np.asarray(np.asarray(self.point) + np.concatenate(lines))


def _ball(shape: RigidCircle | RigidSphere, why: str, components: int) -> None:
    """Check centre and radius of a round shape."""
    name = type(shape).__name__
    centre = point_of(f"{name}.centre", shape.centre, why, (components,))
    object.__setattr__(shape, "centre", centre)
    value = number(
        f"{name}.radius",
        shape.radius,
        rule="positive",
        unit="m",
        why="bodies touch it from outside.",
        try_="use RigidPlane for a flat partner.",
    )
    object.__setattr__(shape, "radius", value)


@dataclass(frozen=True, eq=False, repr=False)
class RigidCircle(RigidShape):
    """A rigid cylinder, touched from outside.

    Parameters
    ----------
    centre : [m]
    radius : [m], > 0

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """

    centre: Sequence[float] | Floats = (0.0, -1.0)
    radius: float = 1.0

    def __post_init__(self) -> None:
        _ball(self, "it is the axis of the cylinder.", 2)

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.centre)

    def table(self) -> Floats:
        """Return the shape as kernels read it."""
        return np.array([1.0, *self.centre, self.radius, 0.0])

    def extent(self) -> float:
        """Return how far the circle reaches from the origin [m]."""
        return float(np.abs(self.centre).max()) + self.radius

    def outline(self, reach: float) -> Floats:
        """Return points around the circle."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.asarray(self.centre) + self.radius * ring


@dataclass(frozen=True, eq=False, repr=False)
class RigidSphere(RigidShape):
    """A rigid ball in space, touched from outside.

    Parameters
    ----------
    centre : [m]
    radius : [m], > 0

    Notes
    -----
    Slip is counted along great circles from the side of the ball that looks along the first axis.
    Bodies may touch it anywhere but on the opposite point, where directions of slip have no name.

    Verified by: tests/unit/solids/contact/test_space.py::test_rigid_ball

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.RigidSphere(centre=(0.0, -2.0, 0.0), radius=2.0).radius
    2.0
    """

    centre: Sequence[float] | Floats = (0.0, 0.0, -1.0)
    radius: float = 1.0

    def __post_init__(self) -> None:
        _ball(self, "it is the middle of the ball.", 3)

    @property
    def components(self) -> int:
        """How many components its points have."""
        return len(self.centre)

    def table(self) -> Floats:
        """Return the shape as kernels read it."""
        return np.array([1.0, *self.centre, self.radius])

    def extent(self) -> float:
        """Return how far the ball reaches from the origin [m]."""
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

    body: int = 0
    name: str = "bottom"

    def __post_init__(self) -> None:
        whole(
            "Boundary.body",
            self.body,
            least=0,
            why="bodies are counted from 0.",
            try_="give the place of the body in the list.",
        )
        name: object = self.name
        if not isinstance(name, str) or not name:
            why, try_ = "boundaries have names.", "give a name of the mesh, such as 'bottom'."
            raise ModelError("Boundary.name", repr(name), "the name of a boundary", why, try_)
