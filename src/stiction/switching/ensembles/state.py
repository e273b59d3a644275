"""What the kernels of ensembles read and fill."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

__all__ = ["End", "Ends", "Grid", "Limits"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Limits(Struct):
    """What limits all trajectories of a block.

    t_end, direction : end time, and 1, or -1 for backward in time
    steps : most steps
    off : by what share of its distance from a two-fold each may begin off
    """

    t_end: float
    direction: float
    steps: int
    off: float


class End(Struct):
    """How a trajectory ended: time, how fast the state moves, code and steps."""

    time: float
    speed: float
    code: int
    steps: int


class Grid(NamedTuple):
    """Cells of two states in which time is counted; nothing is where there are none.

    axes (2,) which states, cell (2, 2) their lower ends and widths, cells (c_1, c_2) times, filled
    """

    axes: Ints
    cell: Floats
    cells: Floats


class Ends(NamedTuple):
    """What kernels fill, one sample per start of a block.

    state (b, n), signs (b, m), ends (b,), counts of events (b, kinds), first (b, kinds) times of
    the first ones
    """

    state: Floats
    signs: Floats
    ends: Table[End]
    counts: npt.NDArray[np.int32]
    first: Floats
