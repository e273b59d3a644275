"""One Runge-Kutta step, its error, its dense output, and the first event inside it: kernels."""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NODES, NONE, first_fall
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import (
    ATOL,
    DIRECTION,
    EXTRA2,
    FIELD,
    FLOOR,
    LATER,
    ROUNDING,
    RTOL,
    SHARE,
    SLOPE,
    SURFACE,
    VALUE,
    N,
    Q,
    event_values,
    rates,
)
from stiction.switching.flow.tableau import AT_END, STAGES

__all__ = [
    "HIDDEN",
    "dense",
    "dense_rows",
    "finish_stages",
    "first_event",
    "sample_events",
    "step",
]

# rows of the weights in the tableau
_SOLUTION, _ERROR3, _ERROR5, _DENSE = 16, 17, 18, 19
DENSE_ROWS = 7
# rows of the table `bernstein`: coefficients from samples, then the places of the samples, then
# the last two Chebyshev coefficients from samples
_NODE, _TAIL, _LAST = NODES, NODES + 1, NODES + 2
# samples resolve a function when its last two Chebyshev coefficients are below this share
# of its size; dips that are deeper than about that are seen
_RESOLVED = 1e-5
# a sampled value below this many touches may belong to one
_CLOSE = 1e4
# what `first_event` returns where the step is too long to see a function
HIDDEN = -2
# samples whose smallest is more than this share of their largest belong to an interpolant
# without a root: the Lebesgue constant of the nodes on [0, 1] is below 2.8
_SAFE = 1.8 / 3.8


@kernel
def _stage(
    table: Matrix,
    row: int,
    count: int,
    width: int,
    h: float,
    y: Vector,
    k: Matrix,
    out: Vector,
) -> None:
    """Fill out[:width] with y + h sum_j table[row, j] k[j] over the first `count` stages."""
    # the weights of stages 1 and 2 are zero in all later rows
    begin = 1 if row < 3 else 2 if row < 5 else 3
    for c in range(width):
        total = table[row, 0] * k[0, c]
        for j in range(begin, count):
            total += table[row, j] * k[j, c]
        out[c] = y[c] + h * total


@kernel
def is_plain(system: Integers, sides: Vector, pace: Vector) -> bool:
    """Return whether the rates are the field alone: no sliding, no energies, forward."""
    if system[Q] > 0 or pace[DIRECTION] < 0.0:
        return False
    free = True
    for i in range(sides.size):
        free = free and sides[i] != 0.0
    return free


@kernel
def step(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    pace: Vector,
    table: Matrix,
    y: Vector,
    h: float,
    k: Matrix,
    y_new: Vector,
    grad: Matrix,
    work: Matrix,
) -> float:
    """Fill y_new with the step of length h from y; return its error over the tolerance.

    k[0] must hold the rates at y; k[AT_END] holds those at y_new afterwards.
    Energies are carried along but do not steer the step. NaN errors count as inf.
    """
    n, plain = system[N], is_plain(system, sides, pace)
    width = n if plain else y.size
    for j in range(1, AT_END + 1):
        row = j if j < AT_END else _SOLUTION
        _stage(table, row, j, width, h, y, k, y_new)
        if plain:
            new, out = at(y_new), row_at(k, j)
            call_at(system[FIELD], new, at(sides), at(p), out)
            k[j, n] = 1.0
        else:
            rates(system, p, scale, sides, pace, y_new, k, j, grad, work)
    if plain:
        y_new[n] = y[n] + h
    e3 = e5 = 0.0
    for c in range(n if plain else n + 1):
        unit = scale[c] if c < n else 1.0
        size = pace[ATOL] * unit + pace[RTOL] * max(abs(y[c]), abs(y_new[c]))
        # no tolerance is below what rounding does
        size = max(size * pace[SHARE], pace[FLOOR] * abs(h), pace[ROUNDING])
        a3 = a5 = 0.0
        for j in range(AT_END + 1):
            a3 += table[_ERROR3, j] * k[j, c]
            a5 += table[_ERROR5, j] * k[j, c]
        a3, a5 = a3 / size, a5 / size
        e3 += a3 * a3
        e5 += a5 * a5
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    error = abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * (n + 1))
    return error if error == error else np.inf


@kernel
def finish_stages(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    pace: Vector,
    table: Matrix,
    y: Vector,
    h: float,
    k: Matrix,
    spare: Vector,
    grad: Matrix,
    work: Matrix,
) -> None:
    """Compute the last three stages, which only the dense output needs."""
    for j in range(AT_END + 1, STAGES):
        _stage(table, j, j, y.size, h, y, k, spare)
        rates(system, p, scale, sides, pace, spare, k, j, grad, work)


@kernel
def dense_rows(table: Matrix, y: Vector, y_new: Vector, h: float, k: Matrix, f: Matrix) -> None:
    """Fill f[7] with the coefficients of the dense output of a finished step."""
    for c in range(y.size):
        change = y_new[c] - y[c]
        f[0, c] = change
        f[1, c] = h * k[0, c] - change
        f[2, c] = 2.0 * change - h * (k[AT_END, c] + k[0, c])
        for d in range(4):
            total = 0.0
            for j in range(STAGES):
                total += table[_DENSE + d, j] * k[j, c]
            f[3 + d, c] = h * total


@kernel
def dense(f: Matrix, y: Vector, s: float, width: int, out: Vector) -> None:
    """Fill out[:width] with the solution at the fraction s of the step that began at y."""
    for c in range(width):
        value = 0.0
        for r in range(DENSE_ROWS):
            value += f[DENSE_ROWS - 1 - r, c]
            value *= s if r % 2 == 0 else 1.0 - s
        out[c] = y[c] + value


@kernel
def sample_events(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    pace: Vector,
    kinks: Vector,
    bernstein: Matrix,
    y: Vector,
    f: Matrix,
    samples: Matrix,
    grad: Matrix,
    work: Matrix,
) -> None:
    """Fill samples[NODES, e] with the event functions along the dense output of a step."""
    plain = is_plain(system, sides, pace)
    width = system[N] if plain else y.size
    x = work[LATER, : y.size]
    m, last = sides.size, samples.shape[1] - 1
    for a in range(NODES):
        dense(f, y, bernstein[_NODE, a], width, x)
        if plain:
            here = row_at(work, EXTRA2)
            call_at(system[SURFACE], at(x), at(sides), at(p), here)
            for i in range(m):
                samples[a, i], samples[a, m + i] = sides[i] * work[EXTRA2, i], 1.0
            for i in range(2 * m, last):
                samples[a, i] = kinks[i - 2 * m] * work[EXTRA2, i - m]
            samples[a, last] = 1.0
            continue
        event_values(system, p, scale, sides, pace, kinks, x, samples, a, grad, work)


@kernel
def first_event(
    bernstein: Matrix,
    start: Matrix,
    noise: Vector,
    order: Integers,
    h: float,
    sides: Vector,
    touch: Vector,
    samples: Matrix,
    coefficients: Matrix,
    roots: Matrix,
) -> tuple[int, float, float]:
    """Return which event function falls to zero first in a step, where, and the nearest miss.

    Parameters
    ----------
    bernstein : (NODES + 3, NODES) of `numerics.bernstein`, see above
    start : (2, e) event functions at the start of the step and their slopes there [per s]
    noise : (e,) size below which a value is rounding
    order : (e,) how many times each function is known to be zero at the start: 0, 1 or 2;
        such a root is divided out, so that it cannot be found again
    h : length of the step
    touch : (>= m,) values of h that count as a touch
    samples, coefficients : (NODES, e) from `sample_events` and (e, NODES), filled

    Returns
    -------
    index of the function, -1 for none, or HIDDEN where the step is too long to see one;
    fraction of the step; a number up to 1 where a surface comes so near that a touch must be
    looked for, 2 elsewhere.
    """
    m = sides.size
    best, which = NONE, -1
    for i in range(order.size):
        low, high = np.inf, -np.inf
        last_but_one = last_one = size = 0.0
        for a in range(NODES - 1, -1, -1):
            value = samples[a, i]
            size = max(size, abs(value))
            last_but_one += bernstein[_TAIL, a] * value
            last_one += bernstein[_LAST, a] * value
            if order[i] > 0:
                theta = bernstein[_NODE, a]
                value -= start[VALUE, i] + (start[SLOPE, i] * h * theta if order[i] == 2 else 0.0)
                if abs(value) > 64.0 * noise[i]:
                    value /= theta if order[i] == 1 else theta * theta
                else:
                    # rounding, where the start is too near: the function goes on as behind it
                    value = samples[a + 1, i] if a + 1 < NODES else noise[i]
                samples[a, i] = value
            low, high = min(low, value), max(high, value)
        if abs(last_but_one) + abs(last_one) > _RESOLVED * size + 1e3 * noise[i]:
            return HIDDEN, best, 1.0
        near = i < m and sides[i] != 0.0 and low < _CLOSE * touch[i]
        if low > _SAFE * high and not near:
            # an interpolant through such samples cannot reach zero
            continue
        for a in range(NODES):
            total = 0.0
            for b in range(NODES):
                total += bernstein[a, b] * samples[b, i]
            coefficients[i, a] = total
        if order[i] == 0 and start[VALUE, i] > 0.0:
            coefficients[i, 0] = start[VALUE, i]
        if low > 0.0 and coefficients[i, 0] <= 0.0:
            coefficients[i, 0] = noise[i]
        root = first_fall(coefficients[i], roots)
        if root < best:
            best, which = root, i
    miss = 2.0
    for i in range(m):
        if sides[i] != 0.0 and order[i] == 0:
            low, high = samples[0, i], samples[0, i]
            for a in range(NODES):
                low, high = min(low, samples[a, i]), max(high, samples[a, i])
            # low beside the rest of the step, or low beside what counts as a touch
            if low < 1e-2 * high or low < _CLOSE * touch[i]:
                miss = min(miss, low / high)
    return which, best, miss
