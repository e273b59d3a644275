"""One Runge-Kutta step, its error, its dense output, and the first event in it: kernels.

The right-hand side is that of the present mode (`rates`), the scheme DOP853 or Radau IIA. Event
functions are sampled at Chebyshev nodes of the dense output and converted to Bernstein
coefficients. The convex hull of these coefficients bounds the function, so that no root of the
interpolant is missed. `advance` calls these kernels in each step. Vector Y is y = (x, t, W), that
is state, time and energies, at the start of the step; STAGE + j has dy/ds at stage j.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i, `table` the Runge-Kutta tableau and the transforms of samples,
`records` the saved states and events. h is the length of the step in s; vector TRIAL is y at its
end, row DENSE + c has coefficient c of its dense output, and row SAMPLE + b has all event functions
at Chebyshev node b.

Source: Hairer, Norsett, Wanner I, section II.6 (dense output); Hairer, Wanner II, section IV.8
(Radau IIA).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Matrix
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.event_localisation import NODES, NONE, first_dip, first_fall, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import size_of_time
from stiction.switching.flow.rates import event_values, rates
from stiction.switching.flow.state import (
    BERNSTEIN,
    COEFFICIENT,
    DENSE,
    DENSE_TERMS,
    EXTRA2,
    KINKS,
    LAST,
    LATER,
    NODE,
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    TAIL,
    TRIAL,
    EventFunctions,
    Workspace,
    Y,
)
from stiction.switching.flow.tableau import AT_END, RADAU, RADAU_NODES, STAGES

__all__ = [
    "NEARBY",
    "UNRESOLVED",
    "FirstEvent",
    "dense",
    "dense_coefficients",
    "finish_stages",
    "first_event",
    "sample_events",
    "step",
    "too_short",
]

# rows of weights in the tableau
_SOLUTION, _ERROR3, _ERROR5, _DENSE = 16, 17, 18, 19
# samples resolve a function if its last two Chebyshev coefficients are below this fraction of its
# size. Chosen: the samples decide whether and in which order roots occur, repeated steps locate
# them
_RESOLVED = 1e-5
# a sample below this multiple of the largest value of a grazing may be near a grazing. Chosen
_NEAR_GRAZING = 1e4
# margins below this number of errors are recorded. In 3,000 random grazings all beyond it were
# decided correctly (docs/decisions/10)
NEARBY = 100.0
# a minimum nearer to the start of a step, as a fraction of it, belongs to the known zero there.
# Chosen: the quotient of the samples by that zero is inaccurate so near to it
_NEAR_START = 0.02
# a step shorter than this fraction of the time is not halved further to resolve an arc that leaves
# a fold. Chosen, 5e4 roundings of the time
_SHORTEST = 1e-11
# `first_event` returns this if the step is too long to resolve a function
UNRESOLVED = -2
# the interpolant has no root if the smallest sample m over the largest one M exceeds this: the
# Lebesgue constant of the nodes on [0, 1] is below 2.8, and (M + m) / 2 > 2.8 (M - m) / 2
_NO_ROOT = 1.8 / 3.8


@kernel
def _stage(table: Matrix, a: Matrix, row: int, count: int, width: int, h: float, out: int) -> None:
    """Fill vector `out`[:width] with y + h sum_j table[row, j] k_j over the rates k_j of stages.

    Parameters
    ----------
    row : row of the tableau
    count : number of stages, from the first one
    """
    # weights of stages 1 and 2 are zero in later rows of the tableau
    begin = 1 if row < 3 else 2 if row < 5 else 3
    for c in range(width):
        total = table[row, 0] * a[STAGE, c]
        for j in range(begin, count):
            total += table[row, j] * a[STAGE + j, c]
        a[out, c] = a[Y, c] + h * total


@kernel
def moves_freely(w: Workspace) -> bool:
    """Return whether dy/ds is the vector field itself: no sliding, no energies, forward in time."""
    now, a = w.progress[0], w.vectors
    if now.q > 0 or now.direction < 0.0:
        return False
    free = True
    for i in range(now.m):
        free = free and a[SIDES, i] != 0.0
    return free


@kernel(separate=True)
def step(w: Workspace, table: Matrix, h: float) -> float:
    """Fill TRIAL with y at the end of a step of length h; return its error over the tolerance.

    Vector STAGE must hold the rates at y; STAGE + AT_END holds the rates at the end afterwards.
    Energies are integrated but do not enter the error. The error combines the estimates of orders
    5 and 3 as in DOP853; a NaN error counts as inf.
    """
    now, a = w.progress[0], w.vectors
    if now.stepper != 0:
        return _implicit_step(w, h)
    n, plain = now.n, moves_freely(w)
    width = n if plain else n + 1 + now.q
    # eleven further stages; then the solution, whose rates are the first stage of the next step
    for j in range(1, AT_END + 1):
        row = j if j < AT_END else _SOLUTION
        _stage(table, a, row, j, width, h, TRIAL)
        # the rates are the field itself, and dt/ds = 1
        if plain:
            new, out = row_at(a, TRIAL), row_at(a, STAGE + j)
            call_at(now.field, new, row_at(a, SIDES), now.parameters, out)
            a[STAGE + j, n] = 1.0
        else:
            rates(w, TRIAL, STAGE + j)
    if plain:
        a[TRIAL, n] = a[Y, n] + h
    # in sliding the time is a component of y, and its error counts
    e3 = e5 = 0.0
    for c in range(n if plain else n + 1):
        unit = a[SCALE, c] if c < n else now.time_scale
        largest = max(abs(a[Y, c]), abs(a[TRIAL, c]))
        size = now.atol * unit + now.rtol * largest
        # the tolerance is at least the rounding error
        size = max(size * now.tightening, now.rate_rounding * unit * abs(h), now.state_rounding)
        a3 = a5 = 0.0
        for j in range(AT_END + 1):
            a3 += table[_ERROR3, j] * a[STAGE + j, c]
            a5 += table[_ERROR5, j] * a[STAGE + j, c]
        a3, a5 = a3 / size, a5 / size
        e3 += a3 * a3
        e5 += a5 * a5
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    # e5^2 / sqrt(e5^2 + 0.01 e3^2) of DOP853, of order 8 in h; Hairer, Norsett, Wanner I, II.10
    error = abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * (n + 1))
    return error if error == error else math.inf


@kernel
def _implicit_step(w: Workspace, h: float) -> float:
    """Call the implicit step at the address `stepper`; return its error.

    Vector LATER passes the length of the step and the shape of the vectors, and returns the error.
    """
    a, later = w.vectors, row_at(w.vectors, LATER)
    a[LATER, 0], a[LATER, 1], a[LATER, 2] = h, a.shape[0], a.shape[1]
    call_at(w.progress[0].stepper, at(a), at(w.progress), at(w.progress), later)
    return a[LATER, 3]


@kernel
def _radau_dense_output(w: Workspace, h: float) -> None:
    """Fill DENSE with the cubic collocation polynomial through the stages of Radau IIA."""
    now, a = w.progress[0], w.vectors
    c1, c2 = RADAU_NODES[0], RADAU_NODES[1]
    for c in range(now.n + 1 + now.q):
        z1 = z2 = 0.0
        for r in range(3):
            z1 += h * RADAU[0][r] * a[STAGE + 1 + r, c]
            z2 += h * RADAU[1][r] * a[STAGE + 1 + r, c]
        # u(s) - y = s (change + (1 - s) (d1 + d2 s)), the basis of `dense`: d1 + d2 s at both nodes
        change = a[TRIAL, c] - a[Y, c]
        g1, g2 = (z1 / c1 - change) / (1.0 - c1), (z2 / c2 - change) / (1.0 - c2)
        bend = (g2 - g1) / (c2 - c1)
        a[DENSE, c], a[DENSE + 1, c], a[DENSE + 2, c] = change, g1 - c1 * bend, bend
        for d in range(3, DENSE_TERMS):
            a[DENSE + d, c] = 0.0


@kernel
def finish_stages(w: Workspace, table: Matrix, h: float) -> None:
    """Compute the last three stages, which only the dense output needs."""
    now = w.progress[0]
    if now.stepper != 0:
        return
    for j in range(AT_END + 1, STAGES):
        _stage(table, w.vectors, j, j, now.n + 1 + now.q, h, SPARE)
        rates(w, SPARE, STAGE + j)


@kernel
def dense_coefficients(w: Workspace, table: Matrix, h: float) -> None:
    """Fill DENSE with the coefficients of the dense output of a step, of order 7."""
    now, a = w.progress[0], w.vectors
    if now.stepper != 0:
        _radau_dense_output(w, h)
        return
    for c in range(now.n + 1 + now.q):
        # the cubic Hermite interpolant of both ends, then four terms from all stages
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
    """Fill vector `out`[:width] with y at the fraction s of the step."""
    t = 1.0 - s
    for c in range(width):
        # Horner's scheme in s and 1 - s alternately, the basis of DOP853
        value = a[DENSE + 6, c] * s
        value = (value + a[DENSE + 5, c]) * t
        value = (value + a[DENSE + 4, c]) * s
        value = (value + a[DENSE + 3, c]) * t
        value = (value + a[DENSE + 2, c]) * s
        value = (value + a[DENSE + 1, c]) * t
        a[out, c] = a[Y, c] + (value + a[DENSE, c]) * s


@kernel
def sample_events(w: Workspace, table: Matrix) -> None:
    """Fill SAMPLE with the event functions at the nodes of the dense output of a step."""
    now, a = w.progress[0], w.vectors
    plain = moves_freely(w)
    m, last = now.m, 2 * now.m + now.k
    width = now.n if plain else now.n + 1 + now.q
    for b in range(NODES):
        dense(a, table[NODE, b], width, LATER)
        row = SAMPLE + b
        if plain:
            # the event functions of `event_values` if nothing slides
            state, signs = row_at(a, LATER), row_at(a, SIDES)
            call_at(now.surface, state, signs, now.parameters, row_at(a, EXTRA2))
            for i in range(m):
                a[row, i], a[row, m + i] = a[SIDES, i] * a[EXTRA2, i], 1.0
            for i in range(2 * m, last):
                a[row, i] = a[KINKS, i - 2 * m] * a[EXTRA2, i - m]
            a[row, last] = 1.0
            continue
        event_values(w, LATER, row)


class FirstEvent(NamedTuple):
    """The first event in a step.

    which, root : number of the function that falls to zero, and the fraction of the step at its
        root; -1 for no root, UNRESOLVED if the step is too long
    low, at : surface that the state grazes or nearly grazes before that root, and the fraction of
        the step there; -1 for none
    """

    which: int
    root: float
    low: int
    at: float


@kernel
def too_short(w: Workspace, h: float) -> bool:
    """Return whether a step is not halved further: its functions jump at a kink inside it."""
    return w.progress[0].k > 0 and h <= _SHORTEST * size_of_time(w)


@kernel(separate=True)
def first_event(w: Workspace, functions: EventFunctions, table: Matrix, h: float) -> FirstEvent:
    """Return the first root of all event functions in a step, or a near grazing before it.

    SAMPLE holds the functions along the step of length h. COEFFICIENT is filled for the functions
    that may have a root. A function with a known zero at the start, of multiplicity `order`, is
    divided by the fraction of the step to that power, so that this zero is not located again.

    Verified by: tests/unit/switching/test_margins.py::test_no_grazing_is_missed_between_samples
    """
    now, a = w.progress[0], w.vectors
    m, best, which, grazed, at, first = now.m, NONE, -1, -1, NONE, NONE
    long = h > _SHORTEST * size_of_time(w)
    for i in range(2 * m + now.k + 1):
        least, most, tail = _check_samples(functions, table, a, i, h)
        if tail < 0.0:
            if too_short(w, h):
                continue
            return FirstEvent(UNRESOLVED, best, -1, NONE)
        free, one = i < m and a[SIDES, i] != 0.0, functions[i]
        near = free and least < max(_NEAR_GRAZING * one.grazing, NEARBY * one.uncertainty)
        if least > _NO_ROOT * most and not near:
            # the interpolant of such samples has no root
            continue
        _coefficients(functions, table, a, i, least)
        b = a[COEFFICIENT + i, :NODES]
        root = first_fall(b, a[ROOT:])
        if free:
            # not below the resolution of the samples, nor 1e-4 of their size (chosen)
            dip = _minimum_near_zero(w, functions, i, root, max(4.0 * tail, 1e-4 * most))
            if dip < NONE and one.order != 0:
                # the division by the known zero changes the minimum: a shorter step resolves it
                if dip > _NEAR_START and long:
                    return FirstEvent(UNRESOLVED, best, -1, NONE)
            elif one.order == 2 and root < _NEAR_START and long:
                # the arc that leaves the fold returns to the surface before the first sample
                return FirstEvent(UNRESOLVED, best, -1, NONE)
            elif min(root, dip) < first:
                # a minimum counts if it comes before the roots of all functions
                grazed, at, first = (i if dip < NONE else -1), dip, min(root, dip)
        elif i < 2 * m and a[SIDES, i % m] == 0.0:
            root = _end_of_sliding(functions, a, i, root, tail)
            if root < 0.0:
                if long:
                    return FirstEvent(UNRESOLVED, best, -1, NONE)
                continue
        if root < best:
            best, which = root, i
    if best < first:
        grazed = -1
    return FirstEvent(which, best, grazed, at)


@kernel
def _check_samples(
    functions: EventFunctions, table: Matrix, a: Matrix, i: int, h: float
) -> tuple[float, float, float]:
    """Return the smallest and the largest sample of function i, and its resolution error.

    The resolution error is the size of its last two Chebyshev coefficients, -1 if it is too large.
    The samples are divided by a known zero at the start of the step.
    """
    one = functions[i]
    order, least, most = one.order, math.inf, -math.inf
    last_but_one = last_one = size = 0.0
    # from the end, where quotients by the zero are accurate
    for b in range(NODES - 1, -1, -1):
        value = a[SAMPLE + b, i]
        size = max(size, abs(value))
        last_but_one += table[TAIL, b] * value
        last_one += table[LAST, b] * value
        if order > 0:
            theta = table[NODE, b]
            # f = f(0) + f'(0) h theta + theta^order g: g has the other roots
            value -= one.value + (one.slope * h * theta if order == 2 else 0.0)
            # the multiple of its rounding below which a value counts as zero, as in `advance`
            if abs(value) > 64.0 * one.noise:
                value /= theta if order == 1 else theta * theta
            else:
                # near the start the quotient is rounding: take the value of the next sample
                value = a[SAMPLE + b + 1, i] if b + 1 < NODES else one.noise
            a[SAMPLE + b, i] = value
        least, most = min(least, value), max(most, value)
    tail = abs(last_but_one) + abs(last_one)
    # chosen: the two last coefficients of a function of rounding errors have some of these errors
    if tail > _RESOLVED * size + 1e3 * one.noise:
        tail = -1.0
    return least, most, tail


@kernel
def _coefficients(
    functions: EventFunctions, table: Matrix, a: Matrix, i: int, least: float
) -> None:
    """Fill COEFFICIENT + i with the Bernstein coefficients of function i."""
    one, row = functions[i], COEFFICIENT + i
    for b in range(NODES):
        total = 0.0
        for c in range(NODES):
            total += table[BERNSTEIN + b, c] * a[SAMPLE + c, i]
        a[row, b] = total
    if one.order == 0 and one.value > 0.0:
        a[row, 0] = one.value
    if least > 0.0 and a[row, 0] <= 0.0:
        a[row, 0] = one.noise


@kernel
def _minimum_near_zero(
    w: Workspace, functions: EventFunctions, i: int, root: float, resolution: float
) -> float:
    """Return the fraction of the step at a minimum of s_i h_i near zero; NONE if there is none.

    Here s_i is the sign of the mode; the minimum may lie above or below zero.

    Parameters
    ----------
    root : first root of the function, or NONE
    resolution : the samples do not resolve the sign of smaller values
    """
    now, one, a = w.progress[0], functions[i], w.vectors
    b, n, level = a[COEFFICIENT + i, :NODES], now.n, resolution
    order = one.order
    if order == 0:
        level = max(level, NEARBY * one.uncertainty, one.grazing)
    # convex hull: no value lies below the least coefficient
    lowest = math.inf
    for c in range(NODES):
        lowest = min(lowest, b[c])
    if lowest > level:
        return NONE
    at, value = first_dip(b, 0.0, level, a[ROOT])
    approached = one.slope < 0.0 and order == 0 and b[0] <= level
    if approached and value_and_slope(b, 0.0, a[ROOT])[1] >= 0.0:
        # the minimum is at the start of this step
        at, value = 0.0, b[0]
    if at == NONE or value < -level:
        return NONE
    length = a[TRIAL, n] - a[Y, n]
    # a minimum that was classified before: the repeated step ignores it
    if now.judged == i + 1 and order == 0:
        difference = abs(a[Y, n] + at * length - now.judged_at)
        if difference <= now.judged_within:
            return NONE
    return at


@kernel
def _end_of_sliding(
    functions: EventFunctions, a: Matrix, i: int, root: float, tail: float
) -> float:
    """Return the root at which sliding ends in a fold, NONE for none; -1 if it is not resolved.

    A multiplier that exceeds its limit by rounding errors only does not end sliding.

    Parameters
    ----------
    root : first root of the function by its samples
    tail : resolution error of these samples
    """
    b, noise, order = a[COEFFICIENT + i, :NODES], functions[i].noise, functions[i].order
    # chosen: with a smaller tail the samples are as accurate as rounding allows
    if tail > 16.0 * noise and order == 0:
        # the samples do not resolve whether this minimum lies below zero
        at, value = first_dip(b, 0.0, 4.0 * tail, a[ROOT])
        if at < NONE and value > -4.0 * tail:
            return -1.0
    if root == NONE or order != 0:
        return root
    # below zero within rounding: sliding ends only where the function is lower than that
    at, lowest = first_dip(b, root, math.inf, a[ROOT])
    if at == NONE:
        lowest = b[NODES - 1]
    if lowest <= -4.0 * noise:
        return root
    for c in range(NODES):
        b[c] += 4.0 * noise
    return first_fall(b, a[ROOT:])
