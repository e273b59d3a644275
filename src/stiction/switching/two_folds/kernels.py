"""h, L+ and L- at many points at once: the kernel behind the search for two-folds."""

from __future__ import annotations

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients
from stiction.switching.flow.rows import FIELD, GRADIENT, SURFACE

__all__ = ["lie_values"]

# columns of `lie_values`
VALUE, LIE_PLUS, LIE_MINUS = range(3)


@kernel
def lie_values(
    addresses: Integers,
    p: Vector,
    scale: Vector,
    signs: Vector,
    i: int,
    points: Matrix,
    out: Matrix,
    grad: Vector,
    work: Matrix,
) -> None:
    """Fill out[q] with h_i, L+ and L- of surface i at each of the points.

    Parameters
    ----------
    addresses : of field, surface and gradient (0 takes differences of the surface)
    p, scale : as in `Compiled`
    signs : (m,) of all surfaces; entry i is used as scratch
    points : (q, n)
    out : (q, 3)
    grad : (m n,) scratch
    work : (4, >= m + k + n) scratch
    """
    m, n = signs.size, points.shape[1]
    plus, minus = work[2, :n], work[3, :n]
    for q in range(points.shape[0]):
        x = points[q]
        call_arrays(addresses[SURFACE], x, signs, p, work[0])
        out[q, VALUE] = work[0, i]
        signs[i] = 1.0
        call_arrays(addresses[FIELD], x, signs, p, plus)
        signs[i] = -1.0
        call_arrays(addresses[FIELD], x, signs, p, minus)
        gradients(addresses[SURFACE], addresses[GRADIENT], m, n, p, scale, x, grad, work)
        up, down = 0.0, 0.0
        for j in range(n):
            up += grad[i * n + j] * plus[j]
            down += grad[i * n + j] * minus[j]
        out[q, LIE_PLUS], out[q, LIE_MINUS] = up, down
