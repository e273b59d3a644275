"""What a boundary may touch: rigid shapes, or the boundary of another body."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, number, numbers, whole

__all__ = ["Boundary", "Partner", "RigidCircle", "RigidPlane"]

Floats = npt.NDArray[np.float64]


class Partner(Record, abc.ABC):
    """Base of what a boundary may touch."""


class RigidShape(Partner):
    """Base of rigid partners: a shape that moves as a whole."""

    @abc.abstractmethod
    def table(self) -> Floats:
        """Return the shape as kernels read it, in a fresh array."""

    @abc.abstractmethod
    def extent(self) -> float:
        """Return the largest length [m] from which places of the shape are computed."""

    @abc.abstractmethod
    def outline(self, reach: float) -> Floats:
        """Return points (k, 2) along the shape for drawing, `reach` to each side [m]."""


def point_of(where: str, value: Sequence[float] | Floats, why: str) -> Floats:
    """Return a point of the plane, checked."""
    found = numbers(where, value, unit="m", per="component", why=why, try_="give (x, y).")
    if found.shape != (2,):
        raise ModelError(
            explain(where, f"{found.size} values", "two coordinates [m]", why, "give (x, y).")
        )
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RigidPlane(RigidShape):
    """A flat rigid surface.

    Parameters
    ----------
    point : any point on it [m]
    normal : direction out of the rigid side, towards the body; need not have length one

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """

    point: Sequence[float] | Floats = (0.0, 0.0)
    normal: Sequence[float] | Floats = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", point_of("RigidPlane.point", self.point, "it is there."))
        why = "the body lies on this side."
        n = point_of("RigidPlane.normal", self.normal, why)
        size = math.hypot(n[0], n[1])
        if not size > 0.0:
            try_ = "give (0, 1) for a plane below the body."
            raise ModelError(explain("RigidPlane.normal", "(0, 0)", "a direction", why, try_))
        object.__setattr__(self, "normal", n / size)

    def table(self) -> Floats:
        """Return the shape as kernels read it."""
        return np.array([0.0, *self.point, *self.normal])

    def extent(self) -> float:
        """Return how far the point of the plane lies from the origin [m]."""
        return float(np.abs(self.point).max())

    def outline(self, reach: float) -> Floats:
        """Return two points of the plane, `reach` to each side [m]."""
        along = np.array([-self.normal[1], self.normal[0]])
        return np.asarray(self.point) + np.outer([-reach, reach], along)


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
        why = "it is the axis of the cylinder."
        object.__setattr__(self, "centre", point_of("RigidCircle.centre", self.centre, why))
        value = number(
            "RigidCircle.radius",
            self.radius,
            rule="positive",
            unit="m",
            why="bodies touch it from outside.",
            try_="use RigidPlane for a flat partner.",
        )
        object.__setattr__(self, "radius", value)

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
            raise ModelError(
                explain("Boundary.name", repr(name), "the name of a boundary", why, try_)
            )
