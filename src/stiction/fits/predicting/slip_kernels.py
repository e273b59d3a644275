"""Imposed slip: the state of the law from row to row, and the friction coefficient there.

Between rows of a curve the slip speed is constant. `law_kernels` has the closed solutions of the
state equations, and their sources.
"""

from __future__ import annotations

from stiction.fits.predicting.law_kernels import coefficient, state_after
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = ["follow_slip"]


@kernel
def follow_slip(
    code: int, p: Vector, z: float, dt: Vector, dx: Vector, speed: Vector, out: Vector
) -> float:
    """Set `out` to friction over the normal force at the rows; return the last state.

    The state is advanced by its exact solution at the mean speed between rows.

    Parameters
    ----------
    code, p : the law
    z : its state at the first row
    dt, dx : time and slip since the previous row; not used at the first
    speed : slip velocity at the rows
    """
    for i in range(out.size):
        if i > 0:
            z = state_after(code, p, z, dx[i], dt[i])
        out[i] = coefficient(code, p, speed[i], z)
    return z
