"""One Runge-Kutta step, its error, its dense output, and the first event inside it: kernels."""

# NumPy's stubs type a single entry of an array as Any
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.bernstein import NODES, NONE, first_fall
from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import (
    DIRECTION,
    EXTRA2,
    FIELD,
    FLOOR,
    ROUNDING,
    SHARE,
    SURFACE,
    N,
    Q,
    event_values,
    rates,
)

__all__ = ["dense", "dense_rows", "finish_stages", "first_event", "sample_events", "step"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# rows of the weights in the tableau
_SOLUTION, _ERROR3, _ERROR5, _DENSE = 16, 17, 18, 19
DENSE_ROWS = 7
# samples resolve a function when its last two Chebyshev coefficients are below this share
# of its size; dips that are deeper than about that are seen
_RESOLVED = 1e-5
# a sampled value below this many touches may belong to one
_CLOSE = 1e4
# samples whose smallest is more than this share of their largest belong to an interpolant
# without a root: the Lebesgue constant of the nodes on [0, 1] is below 2.8
_SAFE = 1.8 / 3.8


@kernel
def _stage(
    table: Floats,
    row: int,
    count: int,
    width: int,
    h: float,
    y: Floats,
    k: Floats,
    out: Floats,
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
def is_plain(dims: Ints, sides: Floats, pace: Floats) -> bool:
    """Return whether the rates are the field alone: no sliding, no energies, forward."""
    if dims[Q] > 0 or pace[DIRECTION] < 0.0:
        return False
    free = True
    for i in range(sides.size):
        free = free and sides[i] != 0.0
    return free


@kernel
def step(
    addr: Ints,
    dims: Ints,
    p: Floats,
    scale: Floats,
    sides: Floats,
    pace: Floats,
    table: Floats,
    tol: Floats,
    y: Floats,
    h: float,
    k: Floats,
    y_new: Floats,
    grad: Floats,
    work: Floats,
) -> float:
    """Fill y_new with the step of length h from y; return its error over the tolerance.

    k[0] must hold the rates at y; k[12] holds those at y_new afterwards. `tol` is (rtol,
    atol). Energies are carried along but do not steer the step. NaN errors count as inf.
    """
    n, plain = dims[N], is_plain(dims, sides, pace)
    width = n if plain else y.size
    for j in range(1, 13):
        if j < 12:
            _stage(table, j, j, width, h, y, k, y_new)
        else:
            _stage(table, _SOLUTION, 12, width, h, y, k, y_new)
        if plain:
            call_at(addr[FIELD], y_new.ctypes.data, sides.ctypes.data, p.ctypes.data, row_at(k, j))
            k[j, n] = 1.0
        else:
            rates(addr, dims, p, scale, sides, pace, y_new, k, j, grad, work)
    if plain:
        y_new[n] = y[n] + h
    e3 = e5 = 0.0
    for c in range(n if plain else n + 1):
        unit = scale[c] if c < n else 1.0
        size = tol[1] * unit + tol[0] * max(abs(y[c]), abs(y_new[c]))
        # no tolerance is below what rounding does
        size = max(size * pace[SHARE], pace[FLOOR] * abs(h), pace[ROUNDING])
        a3 = a5 = 0.0
        for j in range(13):
            a3 += table[_ERROR3, j] * k[j, c]
            a5 += table[_ERROR5, j] * k[j, c]
        e3 += (a3 / size) ** 2
        e5 += (a5 / size) ** 2
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    error = abs(h) * e5 / np.sqrt((e5 + 0.01 * e3) * (n + 1))
    return error if error == error else np.inf


@kernel
def finish_stages(
    addr: Ints,
    dims: Ints,
    p: Floats,
    scale: Floats,
    sides: Floats,
    pace: Floats,
    table: Floats,
    y: Floats,
    h: float,
    k: Floats,
    spare: Floats,
    grad: Floats,
    work: Floats,
) -> None:
    """Compute the last three stages, which only the dense output needs."""
    for j in range(13, 16):
        _stage(table, j, j, y.size, h, y, k, spare)
        rates(addr, dims, p, scale, sides, pace, spare, k, j, grad, work)


@kernel
def dense_rows(table: Floats, y: Floats, y_new: Floats, h: float, k: Floats, f: Floats) -> None:
    """Fill f[7] with the coefficients of the dense output of a finished step."""
    for c in range(y.size):
        change = y_new[c] - y[c]
        f[0, c] = change
        f[1, c] = h * k[0, c] - change
        f[2, c] = 2.0 * change - h * (k[12, c] + k[0, c])
        for d in range(4):
            total = 0.0
            for j in range(16):
                total += table[_DENSE + d, j] * k[j, c]
            f[3 + d, c] = h * total


@kernel
def dense(f: Floats, y: Floats, s: float, width: int, out: Floats) -> None:
    """Fill out[:width] with the solution at the fraction s of the step that began at y."""
    for c in range(width):
        value = 0.0
        for r in range(DENSE_ROWS):
            value += f[DENSE_ROWS - 1 - r, c]
            value *= s if r % 2 == 0 else 1.0 - s
        out[c] = y[c] + value


@kernel
def sample_events(
    addr: Ints,
    dims: Ints,
    p: Floats,
    scale: Floats,
    sides: Floats,
    pace: Floats,
    kinks: Floats,
    t_end: float,
    nodes: Floats,
    y: Floats,
    f: Floats,
    samples: Floats,
    spare: Floats,
    grad: Floats,
    work: Floats,
) -> None:
    """Fill samples[NODES, e] with the event functions along the dense output of a step."""
    plain = is_plain(dims, sides, pace)
    width = dims[N] if plain else y.size
    m, last = sides.size, samples.shape[1] - 1
    for a in range(NODES):
        dense(f, y, nodes[a], width, spare)
        if plain:
            here = row_at(work, EXTRA2)
            call_at(addr[SURFACE], spare.ctypes.data, sides.ctypes.data, p.ctypes.data, here)
            for i in range(m):
                samples[a, i], samples[a, m + i] = sides[i] * work[EXTRA2, i], 1.0
            for i in range(2 * m, last):
                samples[a, i] = kinks[i - 2 * m] * work[EXTRA2, i - m]
            samples[a, last] = 1.0
            continue
        event_values(addr, dims, p, scale, sides, pace, kinks, t_end, spare, samples, a, grad, work)


@kernel
def first_event(
    nodes: Floats,
    to_bernstein: Floats,
    tail: Floats,
    start: Floats,
    noise: Floats,
    order: Ints,
    h: float,
    sides: Floats,
    touch: Floats,
    samples: Floats,
    coefficients: Floats,
    roots: Floats,
) -> tuple[int, float, float]:
    """Return which event function falls to zero first in a step, where, and the nearest miss.

    Parameters
    ----------
    nodes, to_bernstein, tail : of `numerics.bernstein`
    start : (2, e) event functions at the start of the step and their slopes there [per s]
    noise : (e,) size below which a value is rounding
    order : (e,) how many times each function is known to be zero at the start: 0, 1 or 2;
        such a root is divided out, so that it cannot be found again
    h : length of the step
    touch : (>= m,) values of h that count as a touch
    samples, coefficients : (NODES, e) from `sample_events` and (e, NODES), filled

    Returns
    -------
    index of the function, -1 for none, or -2 where the step is too long to see the function;
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
            last_but_one += tail[0, a] * value
            last_one += tail[1, a] * value
            if order[i] > 0:
                theta = nodes[a]
                value -= start[0, i] + (start[1, i] * h * theta if order[i] == 2 else 0.0)
                if abs(value) > 64.0 * noise[i]:
                    value /= theta if order[i] == 1 else theta * theta
                else:
                    # rounding, where the start is too near: the function goes on as behind it
                    value = samples[a + 1, i] if a + 1 < NODES else noise[i]
                samples[a, i] = value
            low, high = min(low, value), max(high, value)
        if abs(last_but_one) + abs(last_one) > _RESOLVED * size + 1e3 * noise[i]:
            return -2, best, 1.0
        near = i < m and sides[i] != 0.0 and low < _CLOSE * touch[i]
        if low > _SAFE * high and not near:
            # an interpolant through such samples cannot reach zero
            continue
        for a in range(NODES):
            total = 0.0
            for b in range(NODES):
                total += to_bernstein[a, b] * samples[b, i]
            coefficients[i, a] = total
        if order[i] == 0 and start[0, i] > 0.0:
            coefficients[i, 0] = start[0, i]
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
