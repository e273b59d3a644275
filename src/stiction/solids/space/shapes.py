"""Where the places of a body in space go before anything deforms it."""

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

_TIP = Components("m", "the sphere touches there first.")
_RADIUS = Positive(
    "m", "the face becomes a part of a sphere.", "leave `shape` out for a flat face."
)
_WHY_BASE, _TRY_BASE = "this level stays flat.", "give the level of the other face."


class BodyShape(Declared, abc.ABC):
    """Base of shapes; one of your own gives `moved`.

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
        """Return where places (n, 3) of the swept body lie [m]."""


@dataclass(frozen=True, eq=False, repr=False)
class Dome(BodyShape):
    """A block whose upper or lower face becomes a part of a sphere.

    Lines of the block along the second axis stay upright. The level `base` stays flat, the level
    of the tip becomes a sphere that is highest there, and what lies between moves in proportion.

    Parameters
    ----------
    tip : the highest point of the sphere, on the face of the block; the lowest where it lies below
        the base [m]
    radius : of the sphere [m]
    base : second coordinate of the face that stays flat [m]

    Verified by: tests/unit/solids/space/test_space_bodies.py::test_faces_go_through_the_sphere

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
        """Return where places (n, 3) lie: drops are free of cancellation near the tip."""
        tip, radius = np.asarray(self.tip), float(self.radius)
        aside = places[:, [0, 2]] - tip[[0, 2]]
        square = (aside * aside).sum(axis=1)
        height = float(tip[1]) - float(self.base)
        far = float(square.max(initial=0.0))
        least = radius - math.sqrt(max(radius * radius - far, 0.0))
        if far > radius * radius or not least < abs(height):
            got = f"a body that reaches {math.sqrt(far):.6g} [m] from the tip"
            needs = f"places nearer than the radius {radius:.6g} [m], and a sphere above the base"
            why, try_ = "the sphere must cover the face.", "make the body narrower, or higher."
            raise ModelError("Dome.radius", got, needs, why, try_)
        drop = square / (radius + np.sqrt(radius * radius - square))
        made = np.array(places, dtype=np.float64)
        made[:, 1] -= (places[:, 1] - float(self.base)) / abs(height) * drop
        return made
