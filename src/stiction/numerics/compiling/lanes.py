"""Eight numbers side by side, which one instruction of the processor adds or multiplies.

In compiled code eight neighbours of a row are one vector of LLVM: loops over lanes need not be
recognised by the compiler, which gives up where rows may overlap, nor do values between two
operations go through memory. Operators are those of NumPy, and so are the bits: nothing is
reordered and nothing contracted. A processor with narrower registers takes two for one vector.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import native

__all__ = ["LANES", "Lanes", "Mask", "count", "full", "load", "store", "where"]

Lanes = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LANES = 8


@native("stiction.numerics.compiling.vectors:full")
def full(x: float) -> Lanes:
    """Return lanes that all hold x."""
    return np.full(LANES, x)


@native("stiction.numerics.compiling.vectors:load")
def load(a: npt.NDArray[np.float64], i: int, at: int) -> Lanes:
    """Return the lanes of row i of a table from place `at` on; the row must reach so far.

    Verified by: tests/unit/numerics/compiling/test_lanes.py::test_the_bits_of_numpy
    """
    return a[i, at : at + LANES].copy()


@native("stiction.numerics.compiling.vectors:store")
def store(a: npt.NDArray[np.float64], i: int, at: int, v: Lanes) -> None:
    """Write lanes to row i of a table, from place `at` on."""
    a[i, at : at + LANES] = v


@native("stiction.numerics.compiling.vectors:where")
def where(mask: Mask, x: Lanes | float, y: Lanes | float) -> Lanes:
    """Return x where the mask holds, else y; a number stands for lanes that all hold it."""
    return np.where(mask, x, y)


@native("stiction.numerics.compiling.vectors:count")
def count(mask: Mask) -> int:
    """Return in how many lanes the mask holds."""
    return int(np.count_nonzero(mask))
