"""h, L+ and L- at many points: the kernel of the search for two-folds.

L+- = grad h . f+- are the rates of h along the fields of both sides; all three are zero at a
two-fold. `newton.Probe` calls this kernel.

`addresses` are those of the functions of the system (`flow.state.Addresses`), p its parameters;
there are n states, m surfaces and k kink functions.
"""

from __future__ import annotations

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.callback import at, call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients
from stiction.switching.flow.state import Addresses

__all__ = ["lie_values"]


@kernel
def lie_values(
    addresses: Table[Addresses],
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
    p, scale : as in `Compiled`
    signs : (m,) of all surfaces; entry i is used as scratch
    points : (q, n)
    out : (q, 3)
    grad : (m n,) scratch
    work : (4, >= m + k + n) scratch: rows 0 and 1 for values of h here and in `gradients`, rows 2
        and 3 for the fields on both sides
    """
    of, m, n = addresses[0], signs.size, points.shape[1]
    plus, minus = work[2, :n], work[3, :n]
    for q in range(points.shape[0]):
        x = points[q]
        call_arrays(of.surface, x, signs, p, work[0])
        h = work[0, i]
        # fields on both sides of surface i; the signs of the others are given
        signs[i] = 1.0
        call_arrays(of.field, x, signs, p, plus)
        signs[i] = -1.0
        call_arrays(of.field, x, signs, p, minus)
        gradients(of.surface, of.gradient, m, n, at(p), scale, x, grad, work)
        up, down = 0.0, 0.0
        for j in range(n):
            up += grad[i * n + j] * plus[j]
            down += grad[i * n + j] * minus[j]
        out[q, 0], out[q, 1], out[q, 2] = h, up, down
