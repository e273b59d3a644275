"""Gradients of switching functions and the fields seen on a surface: kernels."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import at, call_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.state import Workspace, Y

__all__ = ["finite", "gradients", "size_of_time"]

# central differences of order 8; exact for polynomials up to degree 8
_WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
_LOWER = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0)
_STEP = 0.015625
# both formulas agree to this share where h is smooth; otherwise the points move closer
_ROUGH, _LEVELS = 1e-8, 6
# points are never nearer than this to a state, as a share of it
_FARTHEST = 1e7


@kernel
def gradients(
    surface: int,
    gradient: int,
    m: int,
    n: int,
    p: int,
    scale: Vector,
    x: Vector,
    out: Vector,
    work: Matrix,
) -> None:
    """Fill out[m n] with the gradients of the m switching functions at x, one after the other.

    Parameters
    ----------
    surface, gradient : addresses; gradient 0 takes differences of `surface`
    p : place of the numbers handed to them
    scale : (>= n,) sizes of the states
    x : (>= n,)
    work : (2, >= m + k + n) scratch
    """
    if gradient != 0:
        call_at(gradient, at(x), at(x), p, at(out))
        return
    y = work[1]
    for j in range(n):
        y[j] = x[j]
    for j in range(n):
        # a power of two: x + d and x - d are then exact for most x
        d = _STEP * scale[j]
        while _FARTHEST * d < abs(y[j]) < math.inf:
            # where a state has left its scale far behind, its rounding would be seen
            d *= 1024.0
        for _ in range(_LEVELS):
            off, size = _differences(surface, m, n, p, j, d, y, out, work[0])
            if off <= _ROUGH * size:
                break
            # a kink of h within reach of the differences: look closer
            d *= 0.0625


@kernel
def _differences(
    surface: int, m: int, n: int, p: int, j: int, d: float, y: Vector, out: Vector, row: Vector
) -> tuple[float, float]:
    """Fill entry j of each gradient with the derivatives from points d apart.

    Returns how much the formulas of order 8 and 6 differ, and the size of the result.
    """
    here = y[j]
    for i in range(m):
        out[i * n + j] = 0.0
    off = size = 0.0
    for i in range(m):
        low = 0.0
        for a in range(4):
            y[j] = here + (a + 1) * d
            call_at(surface, at(y), at(y), p, at(row))
            rise = row[i]
            y[j] = here - (a + 1) * d
            call_at(surface, at(y), at(y), p, at(row))
            rise -= row[i]
            out[i * n + j] += _WEIGHTS[a] * rise / d
            low += _LOWER[a] * rise / d
        y[j] = here
        off, size = max(off, abs(out[i * n + j] - low)), max(size, abs(low))
    return off, size


@kernel
def size_of_time(w: Workspace) -> float:
    """Return what times are small against: the present one, one, or the end where that is less."""
    now = w.progress[0]
    return max(abs(w.rows[Y, now.n]), min(1.0, abs(now.t_end)))


@kernel
def finite(w: Workspace, row: int, count: int) -> bool:
    """Return whether the first `count` entries of a row are finite numbers."""
    total = 0.0
    for c in range(count):
        total += w.rows[row, c] * 0.0
    return total == 0.0
