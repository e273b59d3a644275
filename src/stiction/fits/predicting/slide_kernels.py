"""Imposed slip: the states of a contact from row to row, and its friction at the rows."""

from __future__ import annotations

from stiction.fits.predicting.law_kernels import after, coefficient
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = ["slide"]


@kernel
def slide(
    code: int, p: Vector, z: float, dt: Vector, dx: Vector, speed: Vector, out: Vector
) -> float:
    """Set `out` to friction over the normal force at the rows; return the last state.

    Parameters
    ----------
    code, p : the law
    z : its state at the first row
    dt, dx : time and slip since the row before; not used at the first
    speed : slip velocity at the rows
    """
    for i in range(out.size):
        if i > 0:
            z = after(code, p, z, dx[i], dt[i])
        out[i] = coefficient(code, p, speed[i], z)
    return z
