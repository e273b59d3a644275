"""Arguments and results of the kernels that integrate many trajectories of one flow.

`kernels.follow` integrates a block of b starts; `blocks` allocates these arrays. The flow has n
states and m surfaces; times are in the time unit of the system.
"""

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

    t_end : end time; direction : 1, or -1 for backward in time
    steps : largest number of steps of a trajectory
    off : relative error of the distance of each start from a two-fold, for its margins
    """

    t_end: float
    direction: float
    steps: int
    off: float


class End(Struct):
    """The end of a trajectory: time, speed of the state, code and number of steps.

    speed : |x'| in units of the scale of each state per time unit
    code : reason of the end, a code of `flow.records` or `kernels`
    """

    time: float
    speed: float
    code: int
    steps: int


class Grid(NamedTuple):
    """A grid over two states; the time that trajectories spend in each cell is added.

    axes : (2,) numbers of the two states
    cell : (2, 2) lower ends of the grid, and widths of a cell
    cells : (c_1, c_2) the times; empty for no grid
    """

    axes: Ints
    cell: Floats
    cells: Floats


class Ends(NamedTuple):
    """Results of the kernels, one for each start of a block.

    state, signs : (b, n) states and (b, m) signs at the end
    ends : (b,) time, speed, code and steps
    counts, first : (b, kinds) number of events of each kind, and the time of the first one
    """

    state: Floats
    signs: Floats
    ends: Table[End]
    counts: npt.NDArray[np.int32]
    first: Floats
