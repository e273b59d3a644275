"""Gradients of switching functions and the fields seen on a surface: kernels."""

from __future__ import annotations

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import at, call_arrays, call_at
from stiction.numerics.jit import kernel

__all__ = ["finite", "gradients", "lie_pair"]

# central differences of order 8; exact for polynomials up to degree 8
_WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
_LOWER = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0)
_STEP = 0.015625
# both formulas agree to this share where h is smooth; otherwise the points move closer
_ROUGH, _LEVELS = 1e-8, 6


@kernel
def gradients(
    surface: int, gradient: int, p: Vector, scale: Vector, x: Vector, out: Matrix, work: Matrix
) -> None:
    """Fill out[m, n] with the gradients of the m switching functions at x.

    Parameters
    ----------
    surface, gradient : addresses; gradient 0 takes differences of `surface`
    p : numbers handed to them
    scale : (n,) sizes of the states
    out : (m, n) contiguous
    work : (2, >= m + k + n) scratch
    """
    n = out.shape[1]
    if gradient != 0:
        call_at(gradient, at(x), at(x), at(p), at(out))
        return
    y = work[1]
    for j in range(n):
        y[j] = x[j]
    for j in range(n):
        # a power of two: x + d and x - d are then exact for most x
        d = _STEP * scale[j]
        for _ in range(_LEVELS):
            off, size = _differences(surface, p, j, d, y, out, work[0])
            if off <= _ROUGH * size:
                break
            # a kink of h within reach of the differences: look closer
            d *= 0.0625


@kernel
def _differences(
    surface: int, p: Vector, j: int, d: float, y: Vector, out: Matrix, row: Vector
) -> tuple[float, float]:
    """Fill out[:, j] with the derivatives along state j from points d apart.

    Returns how much the formulas of order 8 and 6 differ, and the size of the result.
    """
    m, here = out.shape[0], y[j]
    for i in range(m):
        out[i, j] = 0.0
    off = size = 0.0
    for i in range(m):
        low = 0.0
        for a in range(4):
            y[j] = here + (a + 1) * d
            call_arrays(surface, y, y, p, row)
            rise = row[i]
            y[j] = here - (a + 1) * d
            call_arrays(surface, y, y, p, row)
            rise -= row[i]
            out[i, j] += _WEIGHTS[a] * rise / d
            low += _LOWER[a] * rise / d
        y[j] = here
        off, size = max(off, abs(out[i, j] - low)), max(size, abs(low))
    return off, size


@kernel
def lie_pair(normal: Vector, plus: Vector, minus: Vector) -> tuple[float, float]:
    """Return L+ and L-: how fast h grows along the field of each side."""
    up, down = 0.0, 0.0
    for j in range(normal.size):
        up += normal[j] * plus[j]
        down += normal[j] * minus[j]
    return up, down


@kernel
def finite(values: Vector) -> bool:
    """Return whether every entry is a finite number."""
    total = 0.0
    for c in range(values.size):
        total += values[c] * 0.0
    return total == 0.0
