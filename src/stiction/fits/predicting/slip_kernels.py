"""Imposed slip: integration of the state of a friction law along the rows of a measured curve.

The slip speed is constant between two rows. `law_kernels` has the closed-form solutions of the
state equations, and their sources. `models.Predictor` calls `follow_slip`.
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
    """Set `out` to the coefficient of friction at the rows; return the last state.

    The state is advanced by its exact solution at the mean speed between rows.

    Parameters
    ----------
    code, p : code and parameters of the law; see `law_kernels`
    z : state at the first row
    dt, dx : (n,) time [s] and slip [m] since the previous row; not used at the first row
    speed : (n,) slip velocity at the rows [m/s]
    out : (n,) output
    """
    for i in range(out.size):
        if i > 0:
            z = state_after(code, p, z, dx[i], dt[i])
        out[i] = coefficient(code, p, speed[i], z)
    return z
