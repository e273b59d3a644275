"""The flow with a smooth sign, and the flow with noise: kernels."""

# NumPy's stubs type a single entry of an array as Any
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel

__all__ = ["noisy_paths", "smooth_rates"]

Floats = npt.NDArray[np.float64]


@kernel
def smooth_rates(
    field: int,
    surface: int,
    p: Floats,
    x: Floats,
    tanh: bool,
    width: float,
    out: Floats,
    work: Floats,
) -> None:
    """Fill out[n] with x' for sgn(h_1) replaced by a smooth sign of the given width.

    Parameters
    ----------
    tanh : tanh(h / width), or h / sqrt(h^2 + width^2)
    work : (3, >= max(n, m + k)) scratch
    """
    signs, other = work[0, :1], work[1]
    call_arrays(surface, x, signs, p, other)
    h = other[0]
    s = math.tanh(h / width) if tanh else h / math.hypot(h, width)
    signs[0] = 1.0
    call_arrays(field, x, signs, p, out)
    signs[0] = -1.0
    call_arrays(field, x, signs, p, other)
    for c in range(out.size):
        out[c] = 0.5 * ((1.0 + s) * out[c] + (1.0 - s) * other[c])


@kernel
def noisy_paths(
    field: int,
    surface: int,
    p: Floats,
    scale: Floats,
    x0: Floats,
    level: float,
    step: float,
    steps: int,
    after: int,
    away: float,
    rng: np.random.Generator,
    left: Floats,
    side: Floats,
    final: Floats,
    work: Floats,
) -> None:
    """Follow paths of dx = f(x; sgn h) dt + level scale dW by the Euler-Maruyama scheme.

    Parameters
    ----------
    after : step from which leaving the surface is watched for
    away : |h| at which a path has left it
    left, side, final : (paths,), (paths,), (paths, n), filled; NaN and 0 for one that has
        not left by the end
    work : (2, >= max(n, m + k)) scratch
    """
    n, signs, row = x0.size, work[0, :1], work[1]
    root = level * math.sqrt(step)
    rate = np.empty(n)
    for i in range(left.size):
        x = final[i]
        x[:] = x0
        left[i], side[i] = np.nan, 0.0
        for j in range(steps):
            call_arrays(surface, x, signs, p, row)
            h = row[0]
            if side[i] == 0.0 and j >= after and abs(h) > away:
                left[i], side[i] = j * step, 1.0 if h > 0.0 else -1.0
            signs[0] = 1.0 if h >= 0.0 else -1.0
            call_arrays(field, x, signs, p, rate)
            for c in range(n):
                x[c] += step * rate[c] + root * scale[c] * rng.standard_normal()
