"""What a run in space records beside one in the plane: friction and moments as vectors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.record import PairSample, Recorder
from stiction.numerics.arrays import Table, Vector

__all__ = ["SpatialRecorder"]

Floats = npt.NDArray[np.float64]


class SpatialSample(PairSample):
    """As `PairSample`; friction on the first body has three components [N]."""

    save: int
    pair: int
    normal: float
    tangential: Annotated[Vector, 3]  # type: ignore[assignment]
    heat: float


class SpatialRecorder(Recorder):
    """The record of a run in space."""

    sample: ClassVar[type[PairSample]] = SpatialSample
    directions: ClassVar[int] = 3
    of_hinge: ClassVar[int] = 6

    def friction(self, contacts: Table[Any], force: Floats) -> Floats:
        """Return (n, 3) friction on the first bodies, in the axes of space [N]."""
        tangents = contacts["rows"][:, 0, 1:, :3]
        return np.asarray((force[:, None, 1:] @ tangents)[:, 0])
