"""Right-hand side of regularised flows, and paths of stochastic flows: kernels.

A regularised flow x' = (1 + s) f+ / 2 + (1 - s) f- / 2 has a smooth function s(h) in place of the
sign of h; `smoothing` integrates it. A stochastic flow dx = f(x; sgn h) dt + level scale dW has the
discontinuous sign, with the scale of each state and independent Wiener processes W. Its paths are
computed here by the Euler-Maruyama scheme with steps that resolve the surface, for `noise`.

`addresses[0]` has the functions of the system (`flow.state.Addresses`), p its parameters; x is a
state of n components, h the switching function and `slope` its gradient. L+ and L- are the rates of
h along the fields f+ and f- of both sides.

Source: Szalai, Jeffrey 2014, section VII, for the regularisation; Kloeden and Platen 1992 for the
scheme.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.callback import at, call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients
from stiction.switching.flow.state import Addresses

__all__ = ["Noise", "noisy_paths", "smooth_rates"]


class Noise(NamedTuple):
    """Parameters of noisy paths and of their exits.

    level : level of the noise, in units of the scale per square root of the time unit
    spread : standard deviation of h per square root of the time, by the noise
    step, least : longest and shortest step [time unit]
    fraction : longest step as a fraction of a time that must be resolved
    t_end, lost : end of the paths, and time of the loss of determinism [time unit]
    layer : time after the loss in which the noise decides the side of the exit [time unit]
    away : |h| at which a path has left the surface [unit of h]
    most : largest number of steps of one path
    """

    level: float
    spread: float
    step: float
    fraction: float
    least: float
    t_end: float
    lost: float
    layer: float
    away: float
    most: int


@kernel
def smooth_rates(
    addresses: Table[Addresses],
    p: Vector,
    x: Vector,
    tanh: bool,
    width: float,
    out: Vector,
    work: Matrix,
) -> None:
    """Fill out[n] with x' of the regularised flow: sgn(h_1) is smoothed over the given width.

    If the field jumps with the sign of a kink function g_1, sgn(g_1) is smoothed too, and the
    integral of that smooth sign replaces |g_1|.

    Parameters
    ----------
    tanh : whether the smooth sign is tanh(h / width), else h / sqrt(h^2 + width^2)
    work : (3, >= max(n, m + k, 3)) scratch; row 0 holds the signs of h and g and |g|, row 1 h and
        the kink functions, then the field of the other side
    """
    of = addresses[0]
    signs, other, field = work[0], work[1], of.field
    call_arrays(of.surface, x, signs, p, other)
    s, _ = _smooth_sign(other[0], tanh, width)
    # a field that takes sgn(g) and |g| as inputs, such as that of the wheel
    if of.smooth != 0:
        field = of.smooth
        signs[1], signs[2] = _smooth_sign(other[1], tanh, width)
    signs[0] = 1.0
    call_arrays(field, x, signs, p, out)
    signs[0] = -1.0
    call_arrays(field, x, signs, p, other)
    for c in range(out.size):
        # the convex combination of both fields, with the smooth sign as its multiplier
        out[c] = 0.5 * ((1.0 + s) * out[c] + (1.0 - s) * other[c])


@kernel
def _smooth_sign(h: float, tanh: bool, width: float) -> tuple[float, float]:
    """Return the regularised sign of h, and its integral, a regularised |h|."""
    if tanh:
        ratio = abs(h) / width
        return math.tanh(h / width), abs(h) + width * math.log1p(math.exp(-2.0 * ratio))
    size = math.hypot(h, width)
    return h / size, size


@kernel
def _step_length(noise: Noise, t: float, h: float, up: float, down: float) -> float:
    """Return the length of the next step, which must resolve the choice of the side by the noise.

    A surface with L+ = `up` > 0 > L- = `down` repels. The noise exceeds the drift in a layer of
    the width spread^2 / L around it, which a path crosses in a time spread^2 / L^2; a step is a
    fraction of that time. Farther away a step is so short that it does not return to the surface.
    Near the time of the loss, at which L may vanish, a step is a fraction of the time from there.
    An attracting surface needs no short steps: the steps to either side average to sliding.
    """
    wanted = noise.fraction * max(abs(t - noise.lost), noise.layer)
    if up > 0.0 > down:
        drift, spread = max(up, -down), noise.spread
        layer = noise.fraction * spread * spread / (drift * drift)
        back = min(abs(h) / (4.0 * drift), (h / (8.0 * spread)) ** 2)
        wanted = min(wanted, max(layer, back))
    return min(noise.step, wanted)


@kernel
def _touches(before: float, after: float, variance: float, rng: np.random.Generator) -> bool:
    """Return whether h was zero within a step, drawn with the probability of a Brownian bridge.

    Between the ends h(0) = `before` and h(1) = `after` of the same sign a bridge of the given
    variance reaches zero with the probability exp(-2 before after / variance).
    """
    if before * after <= 0.0:
        return True
    exponent = 2.0 * before * after / variance
    return exponent < 40.0 and rng.random() < math.exp(-exponent)


@kernel
def _drift(
    addresses: Table[Addresses],
    p: Vector,
    x: Vector,
    slope: Vector,
    h: float,
    work: Matrix,
    rate: Vector,
) -> tuple[float, float]:
    """Fill rate[n] with the field of the side of h, or the mean of both at h = 0; return L+, L-."""
    of, signs, other = addresses[0], work[0, :1], work[2]
    up = down = 0.0
    signs[0] = -1.0
    call_arrays(of.field, x, signs, p, other)
    signs[0] = 1.0
    call_arrays(of.field, x, signs, p, rate)
    for c in range(x.size):
        up += slope[c] * rate[c]
        down += slope[c] * other[c]
        if h < 0.0:
            rate[c] = other[c]
        elif h == 0.0:
            rate[c] = 0.5 * (rate[c] + other[c])
    return up, down


@kernel(allocates=True)
def noisy_paths(
    addresses: Table[Addresses],
    p: Vector,
    scale: Vector,
    spread: Vector,
    slope: Vector,
    x0: Vector,
    noise: Noise,
    rng: np.random.Generator,
    exits: Matrix,
    final: Matrix,
    work: Matrix,
) -> tuple[float, int]:
    """Follow paths of dx = f(x; sgn h) dt + level spread dW by Euler and Maruyama's scheme.

    Parameters
    ----------
    spread : (n,) scale of the noise of each state, 0 for a clock
    slope : (n,) the gradient of h if the surface is a plane, else NaN
    exits : (3, paths), filled with the time of the last visit to the surface where it repels, the
        time at which |h| reached `away`, and the side; NaN, NaN, 0 for a path that has not left
    final : (paths, n), filled with the states at the end
    work : (7, >= max(n, m + k)) scratch: sign of h, values of h, field of the other side, rates,
        gradient of h, and two rows for `gradients`

    Returns
    -------
    The shortest necessary step below the shortest allowed one, infinity if there was none; and the
    number of paths that used all their steps before the end.
    """
    of = addresses[0]
    n, signs, values, rate, steep = x0.size, work[0, :1], work[1], work[3, : x0.size], work[4]
    flat, missed, unfinished = slope[0] == slope[0], math.inf, 0
    for c in range(n):
        steep[c] = slope[c]
    for i in range(exits.shape[1]):
        x, t, visit = final[i], 0.0, math.nan
        x[:] = x0
        exits[0, i], exits[1, i], exits[2, i] = math.nan, math.nan, 0.0
        call_arrays(of.surface, x, signs, p, values)
        h = values[0]
        for j in range(noise.most):
            # a path has left when |h| first exceeds `away` after the loss
            far = abs(h) > noise.away
            if far and exits[2, i] == 0.0 and t > noise.lost:
                exits[0, i] = visit if visit == visit else noise.lost
                exits[1, i], exits[2, i] = t, 1.0 if h > 0.0 else -1.0
            if t >= noise.t_end:
                break
            # the normal is needed near the surface only
            if not (flat or far or exits[2, i] != 0.0):
                gradients(of.surface, of.gradient, 1, n, at(p), scale, x, steep, work[5:])
            step, up, down = noise.step, 0.0, 0.0
            if far or exits[2, i] != 0.0:
                # far from the surface, or after the exit: the field of the side, the longest step
                signs[0] = 1.0 if h > 0.0 else -1.0
                call_arrays(of.field, x, signs, p, rate)
            else:
                up, down = _drift(addresses, p, x, steep, h, work, rate)
                step = _step_length(noise, t, h, up, down)
            if step < noise.least:
                missed, step = min(missed, step), noise.least
            # Euler and Maruyama: drift times the step, noise times its square root
            root, before = noise.level * math.sqrt(step), h
            for c in range(n):
                x[c] += step * rate[c] + root * spread[c] * rng.standard_normal()
            call_arrays(of.surface, x, signs, p, values)
            t, h = t + step, values[0]
            # where both fields point to the same side the surface is crossed
            monitored = exits[2, i] == 0.0 and t > noise.lost and up >= 0.0 >= down
            if monitored and _touches(before, h, noise.spread * noise.spread * step, rng):
                visit = max(t - 0.5 * step, noise.lost)
            if j == noise.most - 1:
                unfinished += 1
    return missed, unfinished
