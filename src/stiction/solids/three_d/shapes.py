"""Maps from a swept block to the reference configuration of a body, such as a spherical dome.

A map takes points (n, 3) [m] and returns their images (n, 3) [m].
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Declared, Finite, Positive
from stiction.errors import ModelError

__all__ = ["BodyShape", "Dome"]

Floats = npt.NDArray[np.float64]

_TIP = Components("m", "the apex of the sphere is at this point.")
_RADIUS = Positive(
    "m", "the face becomes a part of a sphere.", "leave `shape` out for a flat face."
)
_WHY_BASE = "the face at the base stays flat, and the face at the tip becomes spherical."
_TRY_BASE = "give the second coordinate of the other face."


class BodyShape(Declared, abc.ABC):
    """Base of maps of a swept block; a subclass defines `moved`.

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> class Sheared(st.solids.BodyShape):
    ...     def moved(self, places):
    ...         return places + 0.1 * places[:, 1:2] * np.array([1.0, 0.0, 0.0])
    >>> Sheared().moved(np.array([[0.0, 1.0, 0.0]])).tolist()
    [[0.1, 1.0, 0.0]]
    """

    @abc.abstractmethod
    def moved(self, places: Floats) -> Floats:
        """Return the mapped positions of points (n, 3) of the swept body [m]."""


@dataclass(frozen=True, eq=False, repr=False)
class Dome(BodyShape):
    """A block whose upper or lower face becomes a part of a sphere.

    Points (x, y, z) move along y by -(y - base) / |tip_y - base| times the drop of the sphere,
    r^2 / (R + sqrt(R^2 - r^2)) at the distance r from the apex in the x-z plane.

    Parameters
    ----------
    tip : apex of the sphere, on the face that becomes spherical, above or below the base [m]. Tip
        and base are the ends of the section
    radius : R of the sphere [m]
    base : second coordinate of the face that stays flat [m]

    Verified by: tests/unit/solids/three_d/test_space_bodies.py::test_faces_go_through_the_sphere

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> dome = st.solids.Dome(tip=(0.0, 3.0, 0.0), radius=5.0)
    >>> dome.moved(np.array([[0.0, 3.0, 0.0], [3.0, 3.0, 0.0], [3.0, 0.0, 0.0]])).round(12).tolist()
    [[0.0, 3.0, 0.0], [3.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
    """

    tip: Annotated[Sequence[float] | Floats, _TIP] = (0.0, 1.0, 0.0)
    radius: Annotated[float, _RADIUS] = 10.0
    base: Annotated[float, Finite("m", _WHY_BASE, _TRY_BASE)] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base == float(self.tip[1]):
            needs = "a number other than the second coordinate of the tip [m]"
            raise ModelError("Dome.base", self.base, needs, _WHY_BASE, _TRY_BASE)

    def moved(self, places: Floats) -> Floats:
        """Return the mapped positions of points (n, 3) [m]."""
        tip, radius = np.asarray(self.tip), float(self.radius)
        horizontal = places[:, [0, 2]] - tip[[0, 2]]
        square = (horizontal * horizontal).sum(axis=1)
        height = float(tip[1]) - float(self.base)
        largest_square = float(square.max(initial=0.0))
        largest_drop = radius - math.sqrt(max(radius * radius - largest_square, 0.0))
        if largest_square > radius * radius or not largest_drop < abs(height):
            got = f"a body that extends {math.sqrt(largest_square):.6g} [m] from the tip"
            needs = f"less than the radius {radius:.6g} [m], and a sphere that stays above the base"
            why, try_ = "the sphere must cover the face.", "make the body narrower, or higher."
            raise ModelError("Dome.radius", got, needs, why, try_)
        # the drop R - sqrt(R^2 - r^2) in a form without cancellation near the apex
        drop = square / (radius + np.sqrt(radius * radius - square))
        moved = np.array(places, dtype=np.float64)
        moved[:, 1] -= (places[:, 1] - float(self.base)) / abs(height) * drop
        return moved
