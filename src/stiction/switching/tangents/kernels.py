"""The variational equation of one mode of a flow: kernels.

In a mode (without sliding, sliding on one surface, or on two) the flow is a smooth field
x' = F(x, p). The derivatives V of the state with respect to m directions satisfy

    V' = A V + B e,    A = dF/dx, B = dF/dp.

A direction is a component of the initial state, with e = 0, or a parameter, whose e is a unit
vector. A(t) and B(t) are interpolated at the Gauss nodes of an interval along the recorded orbit.
The linear equation with these polynomial coefficients is solved by its Taylor series up to
rounding. As for collocation, the order of the solution is twice the number of nodes. The lengths of
intervals are those that resolve A and B, often several steps of the run.

Derivatives of functions are central differences, of order 2 for a function that is linear in a
number, else of order 4. At both ends of an interval the points of the differences move closer until
those of the next higher order agree. With the differences D(k d) over k d on either side,

    order 2: D(d),  order 4: (4 D(d) - D(2 d)) / 3,  order 6: (15 D(d) - 6 D(2 d) + D(3 d)) / 10.

`mode.ModeFlow` calls these kernels. There are n states, q parameters and m directions.

Arguments: w is the `flow.state.Workspace`, s the `Stencil`, v the `Variation`; `what` is the number
of an event function, -1 for the field; column j of A and B belongs to state j,
or to parameter j - n. Row NAME of `w.vectors`, called `a`, is a vector.

Source: Hairer, Norsett, Wanner 1993, section I.14 (variational equation), section II.7
(collocation), section II.10 (DOP853).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import event_values, rates
from stiction.switching.flow.state import (
    DENSE,
    DENSE_TERMS,
    GRAD,
    LATER,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    TRIAL,
    VALUE,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import (
    dense,
    dense_coefficients,
    finish_stages,
    moves_freely,
    step,
)
from stiction.switching.flow.tableau import AT_END

__all__ = [
    "MOST_TERMS",
    "NODES",
    "Stencil",
    "Variation",
    "derivatives",
    "evaluate",
    "record_segment",
    "state_at_end",
    "variational",
]

# number of Gauss nodes of an interval; largest number of terms of the Taylor series
NODES, MOST_TERMS = 6, 40
# distance of points on the first level, over the scale; they are 4 times closer on each next level
_STEP, _LEVELS = 0.015625, 12
# relative difference of two orders below which the points are close enough
_RESOLVED = 1e-12
# rounding error of a derivative above which the next points are farther away
_ROUNDED = 1e-10
# relative difference of both orders at a longer distance for a small parameter
_SIMILAR = 0.1
# a derivative by a parameter, times the parameter, counts as rounding below this fraction of x'
_FLOOR = 1e-8
_EPS = 2.220446049250313e-16
# the distance of points is at least the state over this number
_FARTHEST = 1e7
# the distance of points next to a kink, over the size of the number, is at least this. The rounding
# error of such differences is large, but an orbit stays near a kink for a short time only
_NEAREST = 1e-13
# smallest ratio of L- - L+ at both points of a difference; its zero is a pole of the sliding field
_BEFORE_POLE = 0.5
# rounding error of a state, over that of the field, in estimates of rounding
_AMPLIFIED = 0.25
# bound of neglected terms of the series; largest norm of A times the interval; smallest number of a
# term that is not set to zero
_NEGLIGIBLE, _LARGEST, _TINY = 1e-14, 4.0, 1e-100


class Stencil(NamedTuple):
    """The numbers that the functions of a system read, and their derivatives by its parameters.

    Attributes
    ----------
    numbers : (size,) array at whose address the functions read their numbers
    home, home_normals : (size,), (m n,) unchanged values of these numbers, and of the gradients of
        planes
    along, normals_along : (q, size), (q, m n) their derivatives by each parameter
    first, end : (q,) range of the numbers that depend on the parameter
    turns : (q,) whether the gradients of planes depend on the parameter
    lengths : (q,) distance of the points of differences at the first level
    """

    numbers: Vector
    home: Vector
    home_normals: Vector
    along: Matrix
    normals_along: Matrix
    first: Integers
    end: Integers
    turns: Integers
    lengths: Vector


class Variation(NamedTuple):
    """Arrays of the variational equation. The columns of A and B are those of states, parameters.

    Attributes
    ----------
    states : (n, m) derivatives V of the state
    nodes : (2 + NODES, NODES) in the first row the Gauss nodes in [0, 1]; then the weights of
        values at them in the Legendre coefficient of the highest degree, and in the coefficients of
        powers
    samples, powers : (NODES, n, n + q) A and B at the nodes, and their coefficients of powers
    terms : (MOST_TERMS + 1, n, m) terms of the Taylor series
    bounds : (2, MOST_TERMS + 1) bounds of the norms of the coefficients, and of the terms
    work : (3, n) scratch
    lengths, pairs : (n + q,) distance of the points of differences for each column, and number of
        pairs of points; 0 pairs for a column that is constant in an interval
    noise : (n + q,) errors of the last derivatives over the sizes of the states
    floor : (q,) derivatives by a parameter below this are rounding
    level : (n + q,) level at which the last difference of a column was resolved
    parameter : (m,) number of the parameter of each direction, -1 for a component of the start
    """

    states: Matrix
    nodes: Matrix
    samples: Stack
    powers: Stack
    terms: Stack
    bounds: Matrix
    work: Matrix
    lengths: Vector
    pairs: Integers
    noise: Vector
    floor: Vector
    level: Integers
    parameter: Integers


# ---- derivatives of functions


@kernel(inline=True)
def _evaluate(w: Workspace, what: int, row: int, free: bool) -> None:
    """Do the work of `evaluate`; `free` is the result of `moves_freely`."""
    now, a = w.progress[0], w.vectors
    if what >= 0:
        event_values(w, row, VALUE)
        a[LATER, 0] = a[VALUE, what]
    elif free:
        call_at(now.field, row_at(a, row), row_at(a, SIDES), now.parameters, row_at(a, LATER))
    else:
        rates(w, row, LATER)
        # dx/dt = (dx/ds) / (dt/ds)
        for c in range(now.n):
            a[LATER, c] /= a[LATER, now.n]


@kernel(separate=True)
def evaluate(w: Workspace, what: int, row: int) -> None:
    """Fill row LATER with x' at the state in `row`, or with event function `what` if >= 0."""
    _evaluate(w, what, row, moves_freely(w))


@kernel(inline=True)
def _set_parameters(w: Workspace, s: Stencil, j: int, step: float) -> None:
    """Set the numbers of the system to those for parameter j plus `step`, to first order."""
    now, a = w.progress[0], w.vectors
    for i in range(s.first[j], s.end[j]):
        s.numbers[i] = s.home[i] + step * s.along[j, i]
    if now.plane != 0 and s.turns[j] != 0:
        for i in range(now.m * now.n):
            a[GRAD, i] = s.home_normals[i] + step * s.normals_along[j, i]


@kernel(inline=True)
def _difference(
    w: Workspace, s: Stencil, what: int, j: int, d: float, free: bool, out: Vector
) -> bool:
    """Fill `out` with the central difference over +-d of column j; SPARE holds the state.

    Returns whether no pole L- = L+ of the sliding field is near both points.
    """
    now, a = w.progress[0], w.vectors
    n, scale = now.n, 0.5 / d
    count = n if what < 0 else 1
    slides, first = what < 0 and not free, 1.0
    for b in range(2):
        step = d if b == 0 else -d
        if j < n:
            a[SPARE, j] = a[TRIAL, j] + step
        else:
            _set_parameters(w, s, j - n, step)
        _evaluate(w, what, SPARE, free)
        if b == 0:
            first = a[LATER, n] if slides else 1.0
            for c in range(count):
                out[c] = a[LATER, c]
        else:
            for c in range(count):
                out[c] = (out[c] - a[LATER, c]) * scale
    # dt/ds is proportional to L- - L+
    last = a[LATER, n] if slides else 1.0
    return min(first, last) > _BEFORE_POLE * max(first, last)


@kernel
def _agree(w: Workspace, what: int, v: Variation, pairs: int) -> tuple[float, float]:
    """Return the relative difference of the orders 2 pairs and 2 pairs + 2, and the size.

    The rows of `work` have the central differences over d, 2 d and 3 d.
    """
    now, a = w.progress[0], w.vectors
    off = size = 0.0
    for c in range(now.n if what < 0 else 1):
        one, two, unit = v.work[0, c], v.work[1, c], a[SCALE, c] if what < 0 else 1.0
        fourth = (4.0 * one - two) / 3.0
        lower = one if pairs == 1 else fourth
        high = fourth if pairs == 1 else 1.5 * one - 0.6 * two + 0.1 * v.work[2, c]
        off, size = max(off, abs(high - lower) / unit), max(size, abs(high) / unit)
        if high - lower != high - lower:
            off = math.inf
    return off, size


@kernel(inline=True)
def _restore(w: Workspace, s: Stencil, j: int) -> None:
    """Restore the state in SPARE, or the numbers of the system, after a difference of column j."""
    now, a = w.progress[0], w.vectors
    if j < now.n:
        a[SPARE, j] = a[TRIAL, j]
    else:
        _set_parameters(w, s, j - now.n, 0.0)


@kernel
def _clear_of_kinks(w: Workspace, s: Stencil, j: int, d: float) -> float:
    """Return a distance of points, at most d, at which no kink lies between them and the state.

    Differences across a kink agree with those of higher order if they are much farther apart than
    its distance, although both are wrong. For a state on a kink within rounding d is returned: the
    difference is then the mean of both sides. SPARE holds the state.
    """
    now, a = w.progress[0], w.vectors
    size = max(a[SCALE, j], abs(a[TRIAL, j])) if j < now.n else s.lengths[j - now.n] / _STEP
    call_at(now.surface, row_at(a, TRIAL), row_at(a, SIDES), now.parameters, row_at(a, VALUE))
    distance = d
    while distance > _NEAREST * size:
        crossed = False
        for b in range(2):
            step = 3.0 * distance if b == 0 else -3.0 * distance
            if j < now.n:
                a[SPARE, j] = a[TRIAL, j] + step
            else:
                _set_parameters(w, s, j - now.n, step)
            out = row_at(a, LATER)
            call_at(now.surface, row_at(a, SPARE), row_at(a, SIDES), now.parameters, out)
            for i in range(now.m, now.m + now.k):
                crossed = crossed or a[LATER, i] * a[VALUE, i] < 0.0
        _restore(w, s, j)
        if not crossed:
            return distance
        distance *= 0.25
    return d


@kernel
def _size_of_field(w: Workspace, what: int, j: int, v: Variation, out: Matrix) -> float:
    """Return the size of the numbers whose rounding enters the difference by column j."""
    now, a = w.progress[0], w.vectors
    n, largest = now.n, 0.0
    for c in range(n if what < 0 else 1):
        total = abs(a[LATER, c])
        # effect of the rounding of the states on the field
        if j < n and not moves_freely(w):
            total += _AMPLIFIED * abs(v.work[0, c] * a[TRIAL, j])
        for e in range(min(j, n) if what < 0 else 0):
            total += _AMPLIFIED * abs(out[c, e] * a[TRIAL, e])
        largest = max(largest, total / (a[SCALE, c] if what < 0 else 1.0))
    return largest


@kernel(separate=True)
def derivatives(
    w: Workspace, s: Stencil, what: int, v: Variation, out: Matrix, columns: int, more: bool
) -> None:
    """Fill out[:, :columns] with derivatives of x' or an event function by states and parameters.

    Vector TRIAL has the state. Points of differences move closer until those of orders 4 and 2
    agree, or those of orders 6 and 4. `lengths` and `pairs` store the points that were used.

    Parameters
    ----------
    what : number of the event function, -1 for x'
    more : whether to use at least as many pairs of points as for the last state
    """
    now, a = w.progress[0], w.vectors
    n, free = now.n, moves_freely(w)
    count = n if what < 0 else 1
    for c in range(n + 1):
        a[SPARE, c] = a[TRIAL, c]
    for j in range(columns):
        best = math.inf
        first = v.level[j] if what < 0 else 0
        before = v.pairs[j] if more else 1
        length = _STEP if j < n else s.lengths[j - n]
        tried, nearer = False, 1.0
        for level in range(first, _LEVELS):
            while True:
                if j < n:
                    d = _STEP * a[SCALE, j] * 0.25**level
                    while _FARTHEST * d < abs(a[TRIAL, j]) < math.inf:
                        # a state much larger than its scale: a larger distance reduces rounding
                        d *= 1024.0
                else:
                    d = length * 0.25**level
                if what < 0 and now.k > 0:
                    d = _clear_of_kinks(w, s, j, d)
                d *= nearer
                clear = _difference(w, s, what, j, d, free, v.work[0])
                largest = _size_of_field(w, what, j, v, out)
                clear = _difference(w, s, what, j, 2.0 * d, free, v.work[1]) and clear
                if not clear and nearer > _EPS:
                    # differences across a pole may agree although they are wrong
                    nearer *= 0.25
                    continue
                (off, size), pairs, noise = _agree(w, what, v, 1), 1, 20.0 * _EPS * largest / d
                found = tried or level > first or length >= _STEP or noise <= _ROUNDED * size
                fits = off <= _SIMILAR * size + noise if found else off < math.inf
                if level == first and j >= n and length > s.lengths[j - n] and not fits:
                    # the domain or the curvature of the field does not admit this distance
                    length, tried = s.lengths[j - n], True
                    continue
                if found:
                    break
                # a small parameter, such as an offset: a larger distance reduces rounding
                length = min(1024.0 * length, _STEP)
            if not off <= _RESOLVED * size + noise:
                _difference(w, s, what, j, 3.0 * d, free, v.work[2])
                (off, size), pairs = _agree(w, what, v, 2), 2
            if off < best or (best == math.inf and level == _LEVELS - 1):
                best = off
                for c in range(count):
                    one, two, three = v.work[0, c], v.work[1, c], v.work[2, c]
                    fourth = (4.0 * one - two) / 3.0
                    out[c, j] = fourth if pairs == 1 else 1.5 * one - 0.6 * two + 0.1 * three
                    if not clear:
                        out[c, j] = math.nan
                if what < 0:
                    v.level[j], v.lengths[j], v.pairs[j] = level, d, max(pairs, before)
                    if j >= n:
                        floor = _FLOOR * _STEP * largest / length
                        v.floor[j - n] = max(v.floor[j - n], floor)
            if off <= _RESOLVED * size + noise:
                if what < 0:
                    v.noise[j] = _RESOLVED * size + noise
                    # where rounding dominates, the next points are farther away
                    v.level[j] = max(level - 1, 0) if noise > _ROUNDED * size else level
                break
        _restore(w, s, j)


@kernel(inline=True)
def _unchecked_derivatives(w: Workspace, s: Stencil, v: Variation, out: Matrix) -> None:
    """Fill `out` with the derivatives of x' by the points that `derivatives` used last."""
    now, a = w.progress[0], w.vectors
    n, free = now.n, moves_freely(w)
    for c in range(n + 1):
        a[SPARE, c] = a[TRIAL, c]
    for j in range(out.shape[1]):
        if v.pairs[j] == 0:
            for c in range(n):
                out[c, j] = v.samples[0, c, j]
            continue
        d = v.lengths[j]
        _difference(w, s, -1, j, d, free, v.work[0])
        if v.pairs[j] == 2:
            _difference(w, s, -1, j, 2.0 * d, free, v.work[1])
        _restore(w, s, j)
        for c in range(n):
            one, two = v.work[0, c], v.work[1, c]
            out[c, j] = one if v.pairs[j] == 1 else (4.0 * one - two) / 3.0


# ---- the recorded orbit


@kernel(inline=True)
def _load_step(w: Workspace, steps: Matrix, k: int) -> None:
    """Fill Y and DENSE with the start and the dense output of recorded step k."""
    a, width = w.vectors, w.progress[0].n + 1
    for c in range(width):
        a[Y, c] = steps[k, c]
    for d in range(DENSE_TERMS):
        for c in range(width):
            a[DENSE + d, c] = steps[k, (1 + d) * width + c]


@kernel(inline=True)
def _state_at(w: Workspace, t: float, free: bool) -> None:
    """Fill TRIAL with the state at time t of the loaded step, and the time.

    In sliding on one surface t(s) = t is solved for the fraction s of the step by Newton's method;
    in other modes s is proportional to the time.
    """
    a, n = w.vectors, w.progress[0].n
    length = a[DENSE, n]
    s, near = (t - a[Y, n]) / length, 4.0 * _EPS * max(abs(t), abs(length))
    for _ in range(0 if free else 40):
        value = slope = 0.0
        # Horner's scheme of `steps.dense` with its derivative
        for d in range(DENSE_TERMS - 1, -1, -1):
            factor, sign = (s, 1.0) if d % 2 == 0 else (1.0 - s, -1.0)
            value += a[DENSE + d, n]
            slope = slope * factor + sign * value
            value *= factor
        if slope <= 0.0:
            # beyond the end of sliding the time of a step decreases where L- - L+ < 0
            if s == 0.0:
                break
            s = 0.0
            continue
        error = a[Y, n] + value - t
        if abs(error) <= near:
            break
        s -= error / slope
    dense(a, s, n, TRIAL)
    a[TRIAL, n] = t


@kernel(separate=True)
def state_at_end(w: Workspace, steps: Matrix, count: int, t: float) -> None:
    """Fill TRIAL with the state at time t of the last of `count` recorded steps."""
    _load_step(w, steps, count - 1)
    _state_at(w, t, moves_freely(w))


@kernel(separate=True)
def record_segment(w: Workspace, table: Matrix, steps: Matrix, t_end: float) -> int:
    """Integrate the field of the present mode from Y to t_end, without regard to its events.

    Parameters
    ----------
    steps : filled with the steps, as in `flow.state.Records`; in sliding on one surface the last
        step may end after t_end

    Returns
    -------
    Number of steps; all rows of `steps` if they are not enough; -1 if the field is not defined.

    Verified by: tests/exact/test_sliding_bifurcations.py::test_parameter_and_kind
    """
    now, a = w.progress[0], w.vectors
    n, slides = now.n, 0
    for i in range(now.m):
        slides += 1 if a[SIDES, i] == 0.0 else 0
    rates(w, Y, STAGE)
    size = speed = 0.0
    for c in range(n):
        size = max(size, max(abs(a[Y, c]), 0.1 * a[SCALE, c]) / a[SCALE, c])
        speed = max(speed, abs(a[STAGE, c]) / a[SCALE, c])
    # first step: the state changes by a hundredth of its size
    h, count = 0.01 * size / speed if speed > 0.0 else math.inf, 0
    while count < steps.shape[0]:
        t, rate = a[Y, n], a[STAGE, n]
        left, least = t_end - t, 16.0 * _EPS * max(abs(t), abs(t_end))
        if left <= least and count > 0:
            return count
        if not rate > 0.0:
            return -1
        # in sliding on one surface the time is a state: let the step end a little after t_end
        reach = left / rate * (1.01 if slides == 1 else 1.0)
        length = min(h, reach)
        error = step(w, table, length)
        if not error <= 1.0:
            if length * rate <= least:
                return -1
            h = length * (0.1 if error > 1e8 else max(0.2, 0.9 * error ** (-0.125)))
            continue
        finish_stages(w, table, length)
        dense_coefficients(w, table, length)
        for c in range(n + 1):
            steps[count, c] = a[Y, c]
            for d in range(DENSE_TERMS):
                steps[count, (1 + d) * (n + 1) + c] = a[DENSE + d, c]
        count += 1
        if slides != 1 and length == reach:
            a[TRIAL, n] = t_end
        for c in range(n + 1):
            a[Y, c], a[STAGE, c] = a[TRIAL, c], a[STAGE + AT_END, c]
        h = length * (5.0 if error < 1e-6 else min(5.0, max(0.3, 0.9 * error ** (-0.125))))
    return count


# ---- one interval


@kernel
def _find_constant_columns(w: Workspace, v: Variation) -> None:
    """Set `pairs` to 0 for the constant columns of A and B.

    A column is constant if x' is linear in its number and derivatives at three nodes agree within
    rounding.
    """
    a = w.vectors
    for j in range(v.samples.shape[2]):
        constant = v.pairs[j] == 1
        for c in range(v.samples.shape[1]):
            first, limit = v.samples[0, c, j], 2.0 * v.noise[j] * a[SCALE, c]
            constant = constant and abs(v.samples[NODES - 1, c, j] - first) <= limit
            constant = constant and abs(v.samples[NODES // 2, c, j] - first) <= limit
        if constant:
            v.pairs[j] = 0


@kernel
def _sample(
    w: Workspace,
    s: Stencil,
    v: Variation,
    steps: Matrix,
    k: int,
    last: int,
    t: float,
    h: float,
) -> int:
    """Fill `samples` with A and B at the nodes of [t, t + h]; return the step of the last one."""
    n, columns, reached = w.progress[0].n, v.samples.shape[2], k
    free = moves_freely(w)
    for c in range(NODES):
        # first both ends, which determine the points of differences for all nodes; then the middle
        b = c - 2 if c - 2 < NODES // 2 else c - 1
        b = 0 if c == 0 else NODES - 1 if c == 1 else NODES // 2 if c == 2 else b
        at, here = t + v.nodes[0, b] * h, k
        while here + 1 < last and steps[here + 1, n] <= at:
            here += 1
        _load_step(w, steps, here)
        _state_at(w, at, free)
        if c < 2:
            reached = here
            derivatives(w, s, -1, v, v.samples[b], columns, c == 1)
        else:
            _unchecked_derivatives(w, s, v, v.samples[b])
        if c == 2:
            _find_constant_columns(w, v)
    return reached


@kernel(inline=True)
def _error(w: Workspace, v: Variation, h: float) -> tuple[float, float]:
    """Return the relative error of an interval of length h, and the norm of A times h.

    The error is a sum of products h a_k w_l with k, l >= NODES, where a_k are the Legendre
    coefficients of A and w_l those of the propagator, estimated by e^(A h). The coefficients of
    degree NODES - 1 give the error E of one node less; the result is E^(NODES / (NODES - 1)).
    """
    a, n, columns = w.vectors, w.progress[0].n, v.samples.shape[2]
    # norm: bound of |A| in scaled states; rough: that of its Legendre coefficient of highest degree
    norm = rough = zero = 0.0
    for b in range(NODES):
        for c in range(n):
            for e in range(n):
                zero += 0.0 * v.samples[b, c, e]
    if zero != 0.0:
        # a maximum ignores NaN; one of B makes the derivatives NaN
        return math.inf, math.inf
    for c in range(n):
        mean = high = 0.0
        for e in range(n):
            whole = part = 0.0
            for b in range(NODES):
                whole = max(whole, abs(v.samples[b, c, e]))
                part += v.nodes[1, b] * v.samples[b, c, e]
            unit = a[SCALE, e] / a[SCALE, c]
            mean, high = mean + whole * unit, high + abs(part) * unit
        norm, rough = max(norm, mean), max(rough, high)
    norm, rough = norm * h, rough * h
    # bend: such a coefficient of e^(A h) from its leading term, times 1 / (2 NODES - 1), the
    # integral of the square of its Legendre polynomial
    bend, odd = 0.5 * norm, 1.0
    for k in range(2, NODES):
        odd *= 2.0 * k - 1.0
        bend *= 0.5 * norm
    bend /= odd * (2.0 * NODES - 1.0)
    error = rough * max(bend, rough / norm / (2.0 * NODES - 1.0)) if norm > 0.0 else 0.0
    # the same for B, relative to the size of B or of the derivatives per length of the interval
    for j in range(n, columns):
        mean, high = v.floor[j - n], 0.0
        for c in range(n):
            part = 0.0
            for b in range(NODES):
                mean = max(mean, abs(v.samples[b, c, j]) / a[SCALE, c])
                part += v.nodes[1, b] * v.samples[b, c, j]
            high = max(high, abs(part) / a[SCALE, c])
        for d in range(v.states.shape[1]):
            if v.parameter[d] == j - n:
                for c in range(n):
                    mean = max(mean, abs(v.states[c, d]) / (h * a[SCALE, c]))
        if mean > 0.0:
            error = max(error, high / mean * max(bend, high / mean / (2.0 * NODES - 1.0)))
    return error ** (NODES / (NODES - 1.0)), norm


@kernel(inline=True)
def _powers(v: Variation) -> None:
    """Fill `powers` with the coefficients of A and B in powers of the fraction of the interval."""
    n, columns = v.samples.shape[1], v.samples.shape[2]
    for k in range(NODES):
        for c in range(n):
            for j in range(columns):
                total = 0.0
                for b in range(NODES):
                    total += v.nodes[2 + k, b] * v.samples[b, c, j]
                v.powers[k, c, j] = total


@kernel(inline=True)
def _bounds(w: Workspace, v: Variation, h: float) -> int:
    """Fill `bounds` with norms of coefficients and terms; return the necessary number of terms."""
    a, n = w.vectors, w.progress[0].n
    sizes, terms = v.bounds[0], v.bounds[1]
    for k in range(NODES):
        sizes[k] = 0.0
        for c in range(n):
            total = 0.0
            for e in range(n):
                total += abs(v.powers[k, c, e]) * a[SCALE, e]
            sizes[k] = max(sizes[k], total * h / a[SCALE, c])
    terms[0], small = 1.0, 0
    for k in range(MOST_TERMS):
        # B has NODES coefficients and adds to as many terms
        total = 1.0 if k < NODES else 0.0
        for j in range(min(k + 1, NODES)):
            total += sizes[j] * terms[k - j]
        terms[k + 1] = total / (k + 1.0)
        small = small + 1 if terms[k + 1] < _NEGLIGIBLE else 0
        if small == NODES:
            return k + 1
    return MOST_TERMS


@kernel(inline=True)
def _propagate(w: Workspace, v: Variation, h: float) -> None:
    """Advance the derivatives over an interval by the Taylor series of the linear equation.

    With A = sum_j A_j theta^j and B = sum_j B_j theta^j in the fraction theta of the interval, the
    terms are T_0 = V and T_k+1 = h / (k + 1) (B_k e + sum_j A_j T_k-j); V becomes their sum.
    """
    n, m = v.states.shape
    count = _bounds(w, v, h)
    sizes, bounds = v.bounds[0], v.bounds[1]
    for c in range(n):
        for d in range(m):
            v.terms[0, c, d] = v.states[c, d]
    for k in range(count):
        new = v.terms[k + 1]
        for c in range(n):
            for d in range(m):
                p = v.parameter[d]
                new[c, d] = v.powers[k, c, n + p] if p >= 0 and k < NODES else 0.0
        for j in range(min(k + 1, NODES)):
            if sizes[j] * bounds[k - j] < _NEGLIGIBLE:
                continue
            old = v.terms[k - j]
            for c in range(n):
                for e in range(n):
                    factor = v.powers[j, c, e]
                    if factor != 0.0:
                        for d in range(m):
                            new[c, d] += factor * old[e, d]
        scale = h / (k + 1.0)
        for c in range(n):
            for d in range(m):
                value = new[c, d] * scale
                # set terms near the smallest representable number to zero, which are slow
                new[c, d] = value if abs(value) > _TINY else 0.0
                v.states[c, d] += value


@kernel(separate=True)
def variational(
    w: Workspace,
    s: Stencil,
    v: Variation,
    steps: Matrix,
    first: int,
    last: int,
    t_start: float,
    t_end: float,
    tol: float,
    most: int,
) -> int:
    """Integrate the derivatives from t_start to t_end in one mode.

    Parameters
    ----------
    steps : recorded steps of the orbit, see `flow.state.Records`; those from `first` to `last` - 1
        cover the time from t_start to t_end
    tol : largest relative error of an interval
    most : largest number of intervals

    Returns
    -------
    Number of intervals; -1 if `most` are not enough, or an interval becomes too short.

    Verified by: tests/unit/switching/tangents/test_tangents.py::test_linear_flow
    """
    now = w.progress[0]
    v.level[:] = 0
    v.floor[:] = 0.0
    t, k = t_start, first
    least = 1e-13 * max(abs(t_end), abs(t_start))
    # the first interval has the length of four steps of the run
    k = min(first + 3, last - 1)
    h, k = steps[k, now.n] + steps[k, 2 * now.n + 1] - t_start, first
    for count in range(most):
        left = math.ceil((t_end - t) / (1.0001 * h))
        h = (t_end - t) / left
        reached = _sample(w, s, v, steps, k, last, t, h)
        error, norm = _error(w, v, h)
        good = error <= tol and norm <= _LARGEST
        if good or (h <= least and norm < math.inf):
            _powers(v)
            _propagate(w, v, h)
            if left == 1:
                return count + 1
            t, k = t + h, reached
        elif h <= least:
            return -1
        factor = (
            min(3.0, max(0.2, 0.9 * (tol / error) ** (1.0 / (2.0 * NODES + 1.0))))
            if error > 0.0
            else 3.0
        )
        if norm > 0.0:
            factor = min(factor, 0.9 * _LARGEST / norm)
        h *= factor
    return -1
