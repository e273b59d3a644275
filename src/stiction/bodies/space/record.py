"""The record of a run in space: as `bodies.record`, with friction and moments as vectors.

The friction of a pair has three components in the axes of space, a hinge three forces and three
moments. `bodies.run.Stepper` writes it.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.record import PairSample, Recorder
from stiction.numerics.arrays import Table, Vector

__all__ = ["SpatialRecorder"]

Floats = npt.NDArray[np.float64]


class SpatialSample(PairSample):
    """Forces and heat of a pair at a saved time, as `PairSample`.

    save, pair : index of the saved time, and number of the pair, from 0
    normal : mean normal force of the step over all points of the pair [N]
    tangential : (3,) mean friction on the first body, in the axes of space [N]
    heat : of friction since the start [J]
    """

    save: int
    pair: int
    normal: float
    tangential: Annotated[Vector, 3]  # type: ignore[assignment]
    heat: float


class SpatialRecorder(Recorder):
    """The record of a run in space; places (t, n, 7) and velocities (t, n, 6)."""

    sample: ClassVar[type[PairSample]] = SpatialSample
    directions: ClassVar[int] = 3
    of_hinge: ClassVar[int] = 6

    def friction(self, contacts: Table[Any], force: Floats) -> Floats:
        """Return (n, 3) friction on the first bodies, in the axes of space [N]."""
        tangents = contacts["rows"][:, 0, 1:, :3]
        return np.asarray((force[:, None, 1:] @ tangents)[:, 0])
