"""The flow with a smooth sign, and the flow with noise: kernels."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.rows import FIELD, SURFACE

__all__ = ["Noise", "noisy_paths", "smooth_rates"]


class Noise(NamedTuple):
    """How noisy paths are followed and watched.

    level : of the noise, in units of the scale per square root of the time unit
    step, steps : of the scheme, and how many are taken
    after : step from which leaving the surface is watched for
    away : |h| at which a path has left it
    """

    level: float
    step: float
    steps: int
    after: int
    away: float


@kernel
def smooth_rates(
    system: Integers,
    p: Vector,
    x: Vector,
    tanh: bool,
    width: float,
    out: Vector,
    work: Matrix,
) -> None:
    """Fill out[n] with x' for sgn(h_1) replaced by a smooth sign of the given width.

    Parameters
    ----------
    system : addresses, by FIELD and SURFACE
    tanh : tanh(h / width), or h / sqrt(h^2 + width^2)
    work : (3, >= max(n, m + k)) scratch
    """
    signs, other = work[0, :1], work[1]
    call_arrays(system[SURFACE], x, signs, p, other)
    h = other[0]
    s = math.tanh(h / width) if tanh else h / math.hypot(h, width)
    signs[0] = 1.0
    call_arrays(system[FIELD], x, signs, p, out)
    signs[0] = -1.0
    call_arrays(system[FIELD], x, signs, p, other)
    for c in range(out.size):
        out[c] = 0.5 * ((1.0 + s) * out[c] + (1.0 - s) * other[c])


@kernel
def noisy_paths(
    system: Integers,
    p: Vector,
    scale: Vector,
    x0: Vector,
    noise: Noise,
    rng: np.random.Generator,
    left: Vector,
    side: Vector,
    final: Matrix,
    work: Matrix,
) -> None:
    """Follow paths of dx = f(x; sgn h) dt + level scale dW by the Euler-Maruyama scheme.

    Parameters
    ----------
    system : addresses, by FIELD and SURFACE
    left, side, final : (paths,), (paths,), (paths, n), filled; NaN and 0 for one that has
        not left by the end
    work : (2, >= max(n, m + k)) scratch
    """
    n, signs, row = x0.size, work[0, :1], work[1]
    step, root = noise.step, noise.level * math.sqrt(noise.step)
    rate = np.empty(n)
    for i in range(left.size):
        x = final[i]
        x[:] = x0
        left[i], side[i] = np.nan, 0.0
        for j in range(noise.steps):
            call_arrays(system[SURFACE], x, signs, p, row)
            h = row[0]
            if side[i] == 0.0 and j >= noise.after and abs(h) > noise.away:
                left[i], side[i] = j * step, 1.0 if h > 0.0 else -1.0
            signs[0] = 1.0 if h >= 0.0 else -1.0
            call_arrays(system[FIELD], x, signs, p, rate)
            for c in range(n):
                x[c] += step * rate[c] + root * scale[c] * rng.standard_normal()
