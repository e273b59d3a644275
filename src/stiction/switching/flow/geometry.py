"""Gradients of switching functions by central differences of order 8: kernels.

For each component x_j of the state and the distance d

    dh/dx_j = sum_k w_k (h(x + k d e_j) - h(x - k d e_j)) / d,    w = 4/5, -1/5, 4/105, -1/280,

for k = 1 .. 4, with a check by the formula of order 6. A gradient that the user gives is called
instead. `rates.normals` and other kernels call `gradients`. Small functions follow: scales of the
time, and a test for finite numbers.

Source: Fornberg 1988, Math. Comp. 51, 699, for the weights.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import at, call_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.state import Workspace, Y

__all__ = ["elapsed_time", "finite", "gradients", "size_of_time"]

_FOUR = (1, 2, 3, 4)
# central differences of order 8; exact for polynomials up to degree 8
_WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
_LOWER = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0)
# first distance of the points, over the scale of the state: 1/64, where the truncation error of
# order 8, (1/64)^8 = 4e-15, and the rounding error, 64 times 2e-16, are about equal
_STEP = 0.015625
# four such differences predict the one over `_CHECKED` times d, within the fraction `_ALIASED`
# of the largest where h is smooth: the odd polynomial of degree 7 through the four predicts it, in
# Lagrange's form. Chosen: near a period of h that divides d the four look like those of a slower
# function, and no small multiple of `_CHECKED` is nearly whole
_CHECKED, _ALIASED = 2.618, 1e-3
_PREDICTED = tuple(
    _CHECKED / a * math.prod((_CHECKED**2 - b * b) / (a * a - b * b) for b in _FOUR if b != a)
    for a in _FOUR
)
# the formulas of orders 8 and 6 agree to this relative difference where h is smooth; otherwise the
# points move closer by a factor of 16. The sixth and last distance is 1.5e-8 of the scale, where
# the rounding error is 1e-8 too
_ROUGH, _LEVELS = 1e-8, 6
# the distance of the points is at least the state over this number, so that the rounding of the
# state, 1e-16 of it, is below 1e-9 of the distance
_FARTHEST = 1e7
_EPS = 2.220446049250313e-16  # of float64


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
    surface, gradient : addresses; with gradient 0 differences of `surface` are used
    p : address of their parameters
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
            # a state much larger than its scale: a larger distance reduces rounding errors
            d *= 1024.0
        least, best = math.inf, d
        for level in range(_LEVELS + 1):
            difference, size = _differences(surface, m, n, p, j, d, y, out, work[0])
            if difference <= _ROUGH * size or level == _LEVELS:
                break
            if difference <= least:
                least, best = difference, d
            # a kink of h within the differences: a smaller step; if rounding errors in h exceed
            # the limit in all of them, the one with the least difference
            d = 0.0625 * d if level + 1 < _LEVELS else best


@kernel
def _differences(
    surface: int, m: int, n: int, p: int, j: int, d: float, y: Vector, out: Vector, vector: Vector
) -> tuple[float, float]:
    """Fill component j of each gradient by central differences over the distance d.

    Returns the largest difference of the formulas of orders 8 and 6, infinity if they alias, and
    the size of the result.
    """
    centre = y[j]
    for i in range(m):
        out[i * n + j] = 0.0
    difference = size = 0.0
    for i in range(m):
        lower_order = predicted = largest = rounding = 0.0
        # antisymmetric differences over 1 to 4 times d: four pairs for order 8, three for order 6
        for a in range(4):
            y[j] = centre + (a + 1) * d
            call_at(surface, at(y), at(y), p, at(vector))
            change = vector[i]
            y[j] = centre - (a + 1) * d
            call_at(surface, at(y), at(y), p, at(vector))
            change -= vector[i]
            out[i * n + j] += _WEIGHTS[a] * change / d
            lower_order += _LOWER[a] * change / d
            predicted += _PREDICTED[a] * change
            largest = max(largest, abs(change))
            rounding = max(rounding, 64.0 * _EPS * abs(vector[i]))
        y[j] = centre + _CHECKED * d
        call_at(surface, at(y), at(y), p, at(vector))
        change = vector[i]
        y[j] = centre - _CHECKED * d
        call_at(surface, at(y), at(y), p, at(vector))
        if abs(change - vector[i] - predicted) > _ALIASED * largest + rounding:
            difference = math.inf
        y[j] = centre
        # over all surfaces, which share the points
        difference, size = (
            max(difference, abs(out[i * n + j] - lower_order)),
            max(size, abs(lower_order)),
        )
    return difference, size


@kernel
def size_of_time(w: Workspace) -> float:
    """Return the scale of time: the larger of the present time and of min(1, end time)."""
    now = w.progress[0]
    return max(abs(w.vectors[Y, now.n]), min(1.0, abs(now.t_end)))


@kernel
def elapsed_time(w: Workspace) -> float:
    """Return the scale of the time since the start, at least a thousand roundings of the time."""
    now = w.progress[0]
    t, duration = w.vectors[Y, now.n], abs(now.t_end - now.t_start)
    return max(abs(t - now.t_start), min(1.0, duration), 1e3 * _EPS * abs(t))


@kernel
def finite(w: Workspace, vector: int, count: int) -> bool:
    """Return whether the first `count` entries of a vector are finite numbers."""
    total = 0.0
    for c in range(count):
        total += w.vectors[vector, c] * 0.0
    return total == 0.0
