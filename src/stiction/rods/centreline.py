"""Initial shapes of the axis of a rod: straight lines, arcs, helices and given points.

A `Centreline` returns the initial positions of the nodes of a rod (`CosseratRod.nodes`), at equal
parameters of the curve. An arc is start + R (sin t T + (1 - cos t) N), with the unit tangent T and
normal N at its start; a helix is start + R (cos t A + sin t B) + pitch t/(2 pi) E about its axis E.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Declared, Finite, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import numbers, shape_of

__all__ = ["Arc", "Centreline", "Curve", "Helix", "Straight"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

_WHY_LINE = "the nodes are on the line between two points."
_WHY_ARC = "the nodes are on an arc of a circle."
_WHY_HELIX = "the nodes are on a helix."
# sine of the angle of two directions, from which their plane has half of all digits
LEAST_SINE = 1e-8
_AXIS = Components("1", _WHY_HELIX, "give [0, 0, 1].", direction=True)


class Centreline(Declared, abc.ABC):
    """Base class of curves in space that define the initial nodes of a rod.

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> class Parabola(st.rods.Centreline):
    ...     def points(self, count):
    ...         x = np.linspace(0.0, 0.1, count)
    ...         return np.stack([x, 5.0 * x**2, 0.0 * x], axis=1)
    >>> Parabola().points(3).tolist()
    [[0.0, 0.0, 0.0], [0.05, 0.012500000000000002, 0.0], [0.1, 0.05000000000000001, 0.0]]
    """

    @abc.abstractmethod
    def points(self, count: int) -> Floats:
        """Return (count, 3) nodes [m], in the order of the rod."""


@dataclass(frozen=True, eq=False, repr=False)
class Straight(Centreline):
    """A straight line.

    Parameters
    ----------
    start, end : end points [m]; a distance above the rest length of the rod stretches it
    """

    start: Annotated[Vector, Components("m", _WHY_LINE)]
    end: Annotated[Vector, Components("m", _WHY_LINE)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.array_equal(self.start, self.end):
            try_ = "give two points."
            raise ModelError(
                "Straight.end", "the same point as `start`", "another point", _WHY_LINE, try_
            )

    def points(self, count: int) -> Floats:
        """Return (count, 3) nodes on the line [m]."""
        fraction = np.linspace(0.0, 1.0, count)[:, None]
        return np.asarray((1.0 - fraction) * self.start + fraction * self.end)


@dataclass(frozen=True, eq=False, repr=False)
class Arc(Centreline):
    """An arc of a circle.

    Parameters
    ----------
    start : first point [m]
    tangent, normal : directions at `start`; the arc bends towards the normal
    radius : of the circle [m]
    angle : between the tangents at both ends [rad]
    """

    start: Annotated[Vector, Components("m", _WHY_ARC)]
    tangent: Annotated[Vector, Components("1", _WHY_ARC, "give [1, 0, 0].", direction=True)]
    normal: Annotated[Vector, Components("1", _WHY_ARC, "give [0, 1, 0].", direction=True)]
    radius: Annotated[float, Positive("m", _WHY_ARC, "give 1.0.")]
    angle: Annotated[float, Positive("rad", _WHY_ARC, "give 1.0.")]

    def __post_init__(self) -> None:
        super().__post_init__()
        if sine_between(self.tangent, self.normal) < LEAST_SINE:
            raise ModelError(
                "Arc.normal",
                "a direction along the tangent",
                "two directions that span a plane",
                "the curve lies in that plane.",
                "give tangent [1, 0, 0] and normal [0, 1, 0].",
            )

    def points(self, count: int) -> Floats:
        """Return (count, 3) nodes on the arc [m]."""
        t, n = _orthonormal(self.tangent, self.normal)
        turn = np.linspace(0.0, self.angle, count)[:, None]
        return np.asarray(self.start + self.radius * (np.sin(turn) * t + (1.0 - np.cos(turn)) * n))


@dataclass(frozen=True, eq=False, repr=False)
class Helix(Centreline):
    """A helix about a straight axis.

    A rod with this centreline and `natural_curvature=None` is a helical spring.

    Parameters
    ----------
    start, axis : a point of the axis [m] and its direction
    radius : distance from the axis [m]
    pitch : advance along the axis per turn [m]; negative for a left-handed helix
    turns : number of turns [1]
    phase : angle of the first node about the axis [rad]; at 0 it lies in the direction of the
        coordinate axis that is closest to normal to `axis`

    Verified by: tests/exact/test_springs.py::test_compliance_of_a_free_end

    Examples
    --------
    >>> import stiction as st
    >>> helix = st.rods.Helix([0, 0, 0], [0, 0, 1], radius=0.02, pitch=0.1, turns=2.0)
    >>> helix.points(9).shape, float(helix.points(9)[-1, 2])
    ((9, 3), 0.2)
    """

    start: Annotated[Vector, Components("m", _WHY_HELIX)]
    axis: Annotated[Vector, _AXIS]
    radius: Annotated[float, Positive("m", _WHY_HELIX, "give 1.0.")]
    pitch: Annotated[float, Finite("m", _WHY_HELIX, "give 0.1.")]
    turns: Annotated[float, Positive("1", _WHY_HELIX, "give 1.0.")]
    phase: Annotated[float, Finite("rad", _WHY_HELIX, "give 0.1.")] = 0.0

    def points(self, count: int) -> Floats:
        """Return (count, 3) nodes on the helix [m]."""
        axis = np.asarray(self.axis) / np.linalg.norm(self.axis)
        helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
        across, up = _orthonormal(helper - (helper @ axis) * axis, np.cross(axis, helper))
        angle = np.linspace(0.0, 2.0 * np.pi * self.turns, count)[:, None]
        radial = np.cos(angle + self.phase) * across + np.sin(angle + self.phase) * up
        rise = self.pitch * angle / (2.0 * np.pi) * axis
        return np.asarray(self.start + self.radius * radial + rise)


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Centreline):
    """A curve through given points, one per node of the rod.

    Parameters
    ----------
    nodes : (elements + 1, 3) points [m], or the same numbers in one flat list

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.Curve([[0, 0, 0], [1, 0, 0], [2, 0.5, 0]]).points(3).shape
    (3, 3)
    """

    nodes: Sequence[float] | Floats

    def __post_init__(self) -> None:
        why, try_ = "the rod has a node at each point.", "give an array of shape (nodes, 3)."
        shape = shape_of(self.nodes)
        given = np.ravel(self.nodes) if len(shape) == 2 and shape[1] == 3 else self.nodes
        flat = numbers("Curve.nodes", given, unit="m", why=why, try_=try_)
        if flat.size % 3 or flat.size < 6:
            raise ModelError(
                "Curve.nodes", f"{flat.size} numbers", "three numbers per node", why, try_
            )
        object.__setattr__(self, "nodes", flat)

    def points(self, count: int) -> Floats:
        """Return the (count, 3) nodes [m]; ModelError if there is another number of them."""
        points = np.asarray(self.nodes).reshape(-1, 3)
        if len(points) != count:
            raise ModelError(
                "Curve.nodes",
                f"{len(points)} nodes",
                f"{count}, one more than the rod has elements",
                "every node starts at one of these points.",
                f"set elements = {len(points) - 1}.",
            )
        return points.copy()


def sine_between(first: Vector, second: Vector) -> float:
    """Return the sine of the angle between two directions."""
    sizes = np.linalg.norm(first), np.linalg.norm(second)
    return float(np.linalg.norm(np.cross(first, second)) / sizes[0] / sizes[1])


def _orthonormal(first: Vector, second: Vector) -> tuple[Floats, Floats]:
    """Return unit vectors: along the first one, and in the plane of both normal to it."""
    t = np.asarray(first) / np.linalg.norm(first)
    n = np.asarray(second) - (np.asarray(second) @ t) * t
    return t, n / np.linalg.norm(n)
