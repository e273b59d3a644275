"""One Runge-Kutta step, its error, its dense output, and the first event inside it: kernels."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NODES, NONE, first_fall
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import event_values, rates
from stiction.switching.flow.rows import (
    ATOL,
    BERNSTEIN,
    COEFFICIENT,
    DENSE,
    DENSE_ROWS,
    DIRECTION,
    EXTRA2,
    FIELD,
    FLOOR,
    KINKS,
    LAST,
    LATER,
    NODE,
    NOISE,
    ORDER,
    PACE,
    ROOT,
    ROUNDING,
    RTOL,
    SAMPLE,
    SCALE,
    SHARE,
    SIDES,
    SLOPE,
    SPARE,
    STAGE,
    STEPPER,
    SURFACE,
    TAIL,
    TOUCH,
    TRIAL,
    VALUE,
    K,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.tableau import AT_END, RADAU, RADAU_NODES, STAGES

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
def _stage(table: Matrix, a: Matrix, row: int, count: int, width: int, h: float, out: int) -> None:
    """Fill row `out`[:width] with y + h sum_j table[row, j] k[j] over the first stages k."""
    # the weights of stages 1 and 2 are zero in all later rows
    begin = 1 if row < 3 else 2 if row < 5 else 3
    for c in range(width):
        total = table[row, 0] * a[STAGE, c]
        for j in range(begin, count):
            total += table[row, j] * a[STAGE + j, c]
        a[out, c] = a[Y, c] + h * total


@kernel
def is_plain(system: Integers, a: Matrix) -> bool:
    """Return whether the rates are the field alone: no sliding, no energies, forward."""
    if system[Q] > 0 or a[PACE, DIRECTION] < 0.0:
        return False
    free = True
    for i in range(system[M]):
        free = free and a[SIDES, i] != 0.0
    return free


@kernel
def step(system: Integers, p: Vector, table: Matrix, a: Matrix, h: float) -> float:
    """Fill row TRIAL with y at the end of a step of length h; return its error over the tolerance.

    Row STAGE must hold the rates at y; row STAGE + AT_END holds those at the end afterwards.
    Energies are carried along but do not steer the step. NaN errors count as inf.
    """
    if system[STEPPER] != 0:
        return _other_step(system, p, a, h)
    n, plain = system[N], is_plain(system, a)
    width = n if plain else n + 1 + system[Q]
    for j in range(1, AT_END + 1):
        row = j if j < AT_END else _SOLUTION
        _stage(table, a, row, j, width, h, TRIAL)
        if plain:
            new, out = row_at(a, TRIAL), row_at(a, STAGE + j)
            call_at(system[FIELD], new, row_at(a, SIDES), at(p), out)
            a[STAGE + j, n] = 1.0
        else:
            rates(system, p, a, TRIAL, STAGE + j)
    if plain:
        a[TRIAL, n] = a[Y, n] + h
    e3 = e5 = 0.0
    for c in range(n if plain else n + 1):
        unit = a[SCALE, c] if c < n else 1.0
        largest = max(abs(a[Y, c]), abs(a[TRIAL, c]))
        size = a[PACE, ATOL] * unit + a[PACE, RTOL] * largest
        # no tolerance is below what rounding does
        size = max(size * a[PACE, SHARE], a[PACE, FLOOR] * abs(h), a[PACE, ROUNDING])
        a3 = a5 = 0.0
        for j in range(AT_END + 1):
            a3 += table[_ERROR3, j] * a[STAGE + j, c]
            a5 += table[_ERROR5, j] * a[STAGE + j, c]
        a3, a5 = a3 / size, a5 / size
        e3 += a3 * a3
        e5 += a5 * a5
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    error = abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * (n + 1))
    return error if error == error else math.inf


@kernel
def _other_step(system: Integers, p: Vector, a: Matrix, h: float) -> float:
    """Take the step behind the address STEPPER; row LATER tells it what places cannot."""
    a[LATER, 0], a[LATER, 1], a[LATER, 2], a[LATER, 3] = h, a.shape[0], a.shape[1], p.size
    call_at(system[STEPPER], at(a), at(system), at(p), row_at(a, LATER))
    return a[LATER, 4]


@kernel
def _cubic_rows(system: Integers, a: Matrix, h: float) -> None:
    """Fill rows DENSE with the polynomial through the stages of Radau IIA."""
    c1, c2 = RADAU_NODES[0], RADAU_NODES[1]
    for c in range(system[N] + 1 + system[Q]):
        z1 = z2 = 0.0
        for r in range(3):
            z1 += h * RADAU[0][r] * a[STAGE + 1 + r, c]
            z2 += h * RADAU[1][r] * a[STAGE + 1 + r, c]
        change = a[TRIAL, c] - a[Y, c]
        g1, g2 = (z1 / c1 - change) / (1.0 - c1), (z2 / c2 - change) / (1.0 - c2)
        bend = (g2 - g1) / (c2 - c1)
        a[DENSE, c], a[DENSE + 1, c], a[DENSE + 2, c] = change, g1 - c1 * bend, bend
        for d in range(3, DENSE_ROWS):
            a[DENSE + d, c] = 0.0


@kernel
def finish_stages(system: Integers, p: Vector, table: Matrix, a: Matrix, h: float) -> None:
    """Compute the last three stages, which only the dense output needs."""
    if system[STEPPER] != 0:
        return
    for j in range(AT_END + 1, STAGES):
        _stage(table, a, j, j, system[N] + 1 + system[Q], h, SPARE)
        rates(system, p, a, SPARE, STAGE + j)


@kernel
def dense_rows(system: Integers, table: Matrix, a: Matrix, h: float) -> None:
    """Fill rows DENSE with the coefficients of the dense output of a finished step."""
    if system[STEPPER] != 0:
        _cubic_rows(system, a, h)
        return
    for c in range(system[N] + 1 + system[Q]):
        change = a[TRIAL, c] - a[Y, c]
        a[DENSE, c] = change
        a[DENSE + 1, c] = h * a[STAGE, c] - change
        a[DENSE + 2, c] = 2.0 * change - h * (a[STAGE + AT_END, c] + a[STAGE, c])
        for d in range(4):
            total = 0.0
            for j in range(STAGES):
                total += table[_DENSE + d, j] * a[STAGE + j, c]
            a[DENSE + 3 + d, c] = h * total


@kernel
def dense(a: Matrix, s: float, width: int, out: int) -> None:
    """Fill row `out`[:width] with y at the fraction s of the step."""
    for c in range(width):
        value = 0.0
        for r in range(DENSE_ROWS):
            value += a[DENSE + DENSE_ROWS - 1 - r, c]
            value *= s if r % 2 == 0 else 1.0 - s
        a[out, c] = a[Y, c] + value


@kernel
def sample_events(system: Integers, p: Vector, table: Matrix, a: Matrix) -> None:
    """Fill rows SAMPLE with the event functions along the dense output of a step."""
    plain = is_plain(system, a)
    m, last = system[M], 2 * system[M] + system[K]
    width = system[N] if plain else system[N] + 1 + system[Q]
    for b in range(NODES):
        dense(a, table[NODE, b], width, LATER)
        row = SAMPLE + b
        if plain:
            here, signs = row_at(a, LATER), row_at(a, SIDES)
            call_at(system[SURFACE], here, signs, at(p), row_at(a, EXTRA2))
            for i in range(m):
                a[row, i], a[row, m + i] = a[SIDES, i] * a[EXTRA2, i], 1.0
            for i in range(2 * m, last):
                a[row, i] = a[KINKS, i - 2 * m] * a[EXTRA2, i - m]
            a[row, last] = 1.0
            continue
        event_values(system, p, a, LATER, row)


@kernel
def first_event(system: Integers, table: Matrix, a: Matrix, h: float) -> tuple[int, float, float]:
    """Return which event function falls to zero first in a step, where, and the nearest miss.

    Rows SAMPLE hold the functions along the step, of length h; rows COEFFICIENT are filled for
    those that may fall to zero. Entries ORDER of `system` say how many times each function is
    known to be zero at the start, 0, 1 or 2; such a root is divided out, so that it cannot be
    found again.

    Returns
    -------
    index of the function, -1 for none, or HIDDEN where the step is too long to see one;
    fraction of the step; a number up to 1 where a surface comes so near that a touch must be
    looked for, 2 elsewhere.
    """
    m, best, which = system[M], NONE, -1
    for i in range(2 * m + system[K] + 1):
        order = system[ORDER + i]
        low, high = math.inf, -math.inf
        last_but_one = last_one = size = 0.0
        for b in range(NODES - 1, -1, -1):
            value = a[SAMPLE + b, i]
            size = max(size, abs(value))
            last_but_one += table[TAIL, b] * value
            last_one += table[LAST, b] * value
            if order > 0:
                theta = table[NODE, b]
                value -= a[VALUE, i] + (a[SLOPE, i] * h * theta if order == 2 else 0.0)
                if abs(value) > 64.0 * a[NOISE, i]:
                    value /= theta if order == 1 else theta * theta
                else:
                    # rounding, where the start is too near: the function goes on as behind it
                    value = a[SAMPLE + b + 1, i] if b + 1 < NODES else a[NOISE, i]
                a[SAMPLE + b, i] = value
            low, high = min(low, value), max(high, value)
        if abs(last_but_one) + abs(last_one) > _RESOLVED * size + 1e3 * a[NOISE, i]:
            return HIDDEN, best, 1.0
        near = i < m and a[SIDES, i] != 0.0 and low < _CLOSE * a[TOUCH, i]
        if low > _SAFE * high and not near:
            # an interpolant through such samples cannot reach zero
            continue
        row = COEFFICIENT + i
        for b in range(NODES):
            total = 0.0
            for c in range(NODES):
                total += table[BERNSTEIN + b, c] * a[SAMPLE + c, i]
            a[row, b] = total
        if order == 0 and a[VALUE, i] > 0.0:
            a[row, 0] = a[VALUE, i]
        if low > 0.0 and a[row, 0] <= 0.0:
            a[row, 0] = a[NOISE, i]
        root = first_fall(a[row, :NODES], a[ROOT:])
        if root < best:
            best, which = root, i
    miss = 2.0
    for i in range(m):
        if a[SIDES, i] != 0.0 and system[ORDER + i] == 0:
            low, high = a[SAMPLE, i], a[SAMPLE, i]
            for b in range(NODES):
                low, high = min(low, a[SAMPLE + b, i]), max(high, a[SAMPLE + b, i])
            # low beside the rest of the step, or low beside what counts as a touch
            if low < 1e-2 * high or low < _CLOSE * a[TOUCH, i]:
                miss = min(miss, low / high)
    return which, best, miss
