"""Arguments and results of the kernels of ensembles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

__all__ = ["End", "Ends", "Grid", "Limits"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Limits(Struct):
    """Bounds of all trajectories of a block.

    t_end, direction : end time, and 1, or -1 for backward in time
    steps : most steps
    off : relative error of the distance of each start from a two-fold
    """

    t_end: float
    direction: float
    steps: int
    off: float


class End(Struct):
    """The end of a trajectory: time, speed of the state, code and number of steps."""

    time: float
    speed: float
    code: int
    steps: int


class Grid(NamedTuple):
    """Cells of two states in which time is added; no cells for no grid.

    axes (2,) numbers of the states, cell (2, 2) their lower ends and widths, cells (c_1, c_2) the
    times
    """

    axes: Ints
    cell: Floats
    cells: Floats


class Ends(NamedTuple):
    """Results of the kernels, one per start of a block.

    state (b, n), signs (b, m), ends (b,), counts of events (b, kinds), first (b, kinds) times of
    the first ones
    """

    state: Floats
    signs: Floats
    ends: Table[End]
    counts: npt.NDArray[np.int32]
    first: Floats
