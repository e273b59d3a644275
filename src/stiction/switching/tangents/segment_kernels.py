"""The variational equation of one mode of a flow: kernels.

In a mode, free, sliding on one surface or on two, the flow is a smooth field x' = F(x, p). Its
derivatives V of the state with respect to m directions obey

    V' = dF/dx V + dF/dp e,    e = 1 where a direction is that parameter, else 0.

State and derivatives take the same steps of the Runge-Kutta pair of order 8(5, 3). Jacobians are
central differences of order 8, whose points move closer until orders 8 and 6 agree.

Source: Hairer, Norsett, Wanner 1993, section I.14 (variational equation), section II.10 (DOP853).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import event_values, rates
from stiction.switching.flow.state import GRAD, LATER, SCALE, SPARE, TRIAL, VALUE, Workspace
from stiction.switching.flow.tableau import AT_END

__all__ = [
    "LEVELS",
    "STEPS",
    "Stencil",
    "Variation",
    "derivatives",
    "evaluate",
    "stage",
    "variational",
]

# rows of the weights in the tableau: solution, errors of order 3 and 5
_SOLUTION, _ERROR3, _ERROR5 = 16, 17, 18
# weights of central differences of order 8 and 6
_WEIGHTS = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
_LOWER = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0)
# points of a difference lie at multiples 1 to 4 of a step on both sides
STEPS = (1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0)
# steps are this fraction of a size, and 16 times shorter on each further level
_STEP, LEVELS = 0.015625, 6
# orders 8 and 6 agree to this fraction of a derivative where a function is resolved
_RESOLVED = 1e-10
_EPS = 2.220446049250313e-16
_FARTHEST = 1e7
# rounding errors of a field, and of a sliding field, in units of the last digit
_ROUNDING = 100.0
# rounding of a state over that of a field
_AMPLIFIED = 0.05


class Stencil(NamedTuple):
    """Parameters at the points of the differences.

    Attributes
    ----------
    numbers : (size,) the parameters that the functions of the system read
    values, normals : (8 LEVELS, q, size) parameters, and (8 LEVELS, q, m n) gradients of planes
    lengths : (q, LEVELS) steps
    home, home_normals : (1, size), (1, m n) the same at the system's own values
    """

    numbers: Vector
    values: Stack
    normals: Stack
    lengths: Matrix
    home: Matrix
    home_normals: Matrix


class Variation(NamedTuple):
    """What the variational equation reads and changes.

    Attributes
    ----------
    states : (n, 1 + m) the state, then its derivatives
    stages : (13, n, 1 + m) their rates
    trial : (n, 1 + m)
    jacobian : (n, n + q)
    work : (2, >= n)
    noise : (n + q,) rounding of the last derivatives by each column, over the sizes of the states
    level : (n + q,) level at which the last difference of a column was resolved
    parameter : (m,) parameter of a direction, -1 for none
    """

    states: Matrix
    stages: Stack
    trial: Matrix
    jacobian: Matrix
    work: Matrix
    noise: Vector
    level: Integers
    parameter: Integers


@kernel
def evaluate(w: Workspace, what: int, row: int) -> None:
    """Fill row LATER with x' at the state in `row`, or with event function `what` if >= 0."""
    now, a = w.progress[0], w.vectors
    n = now.n
    if what >= 0:
        event_values(w, row, VALUE)
        a[LATER, 0] = a[VALUE, what]
        return
    rates(w, row, LATER)
    # the sliding time becomes the time again
    for c in range(n):
        a[LATER, c] /= a[LATER, n]


@kernel
def _set_parameters(w: Workspace, s: Stencil, values: Matrix, normals: Matrix, k: int) -> None:
    now, a = w.progress[0], w.vectors
    for i in range(s.home.shape[1]):
        s.numbers[i] = values[k, i]
    if now.plane != 0:
        for i in range(now.m * now.n):
            a[GRAD, i] = normals[k, i]


@kernel
def _column(
    w: Workspace, s: Stencil, what: int, j: int, level: int, d: float, work: Matrix
) -> tuple[float, float, float]:
    """Fill work[0] with the derivatives along column j of order 8, by points d apart.

    Returns
    -------
    Largest difference of orders 8 and 6, largest derivative, largest value of the function.
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    count = n if what < 0 else 1
    for c in range(count):
        work[0, c], work[1, c] = 0.0, 0.0
    largest = 0.0
    for b in range(8):
        for c in range(n + 1):
            a[SPARE, c] = a[TRIAL, c]
        if j < n:
            a[SPARE, j] += STEPS[b] * d
        else:
            _set_parameters(w, s, s.values[8 * level + b], s.normals[8 * level + b], j - n)
        evaluate(w, what, SPARE)
        weight = 1.0 if b % 2 == 0 else -1.0
        for c in range(count):
            value = a[LATER, c]
            largest = max(largest, abs(value))
            work[0, c] += weight * _WEIGHTS[b // 2] * value / d
            work[1, c] += weight * _LOWER[b // 2] * value / d
    if j >= n:
        _set_parameters(w, s, s.home, s.home_normals, 0)
    off = size = 0.0
    for c in range(count):
        off, size = max(off, abs(work[0, c] - work[1, c])), max(size, abs(work[0, c]))
    return off, size, largest


@kernel(separate=True)
def derivatives(
    w: Workspace, s: Stencil, what: int, v: Variation, out: Matrix, columns: int
) -> float:
    """Fill out[:, :columns] with derivatives of x' or an event function in states and parameters.

    The state lies in row TRIAL.

    Returns
    -------
    Largest relative difference of orders 8 and 6 that is left.
    """
    now, a = w.progress[0], w.vectors
    n, worst = now.n, 0.0
    count = n if what < 0 else 1
    for j in range(columns):
        best = math.inf
        first = max(v.level[j] - 1, 0) if what < 0 else 0
        for level in range(first, LEVELS):
            if j < n:
                d = _STEP * a[SCALE, j] * 0.0625**level
                while _FARTHEST * d < abs(a[TRIAL, j]) < math.inf:
                    # a state that is far beyond its scale would round the points
                    d *= 1024.0
            else:
                d = s.lengths[j - n, level]
            off, size, largest = _column(w, s, what, j, level, d, v.work)
            noise = 20.0 * _EPS * largest / d
            if off < best or (best == math.inf and level == LEVELS - 1):
                best = off
                for c in range(count):
                    out[c, j] = v.work[0, c]
                left = off / (size + noise) if size + noise > 0.0 else 0.0
                if what < 0:
                    v.level[j] = level
                    rate = 0.0
                    for c in range(n):
                        total = abs(a[LATER, c])
                        for e in range(min(j, n)):
                            # rounding of the states, which the field amplifies
                            total += _AMPLIFIED * abs(out[c, e] * a[TRIAL, e])
                        rate = max(rate, total / a[SCALE, c])
                    v.noise[j] = _ROUNDING * _EPS * rate / d
            if off <= _RESOLVED * size + noise:
                left = 0.0
                break
        worst = max(worst, left if best < math.inf else math.inf)
    return worst


@kernel(separate=True)
def stage(w: Workspace, s: Stencil, v: Variation, states: Matrix, at: int, t: float) -> None:
    """Fill stage `at` with the rates of states and derivatives."""
    now, a = w.progress[0], w.vectors
    n, m = now.n, v.trial.shape[1] - 1
    for c in range(n):
        a[TRIAL, c] = states[c, 0]
    a[TRIAL, n] = t
    if m > 0:
        derivatives(w, s, -1, v, v.jacobian, v.jacobian.shape[1])
    evaluate(w, -1, TRIAL)
    for c in range(n):
        v.stages[at, c, 0] = a[LATER, c]
        for d in range(m):
            p = v.parameter[d]
            total = v.jacobian[c, n + p] if p >= 0 else 0.0
            for e in range(n):
                total += v.jacobian[c, e] * states[e, 1 + d]
            v.stages[at, c, 1 + d] = total


@kernel
def _error(w: Workspace, table: Matrix, v: Variation, h: float, tol: float) -> float:
    """Return the error of a step over the tolerance: the largest of state and directions."""
    now, a = w.progress[0], w.vectors
    n, worst, largest = now.n, 0.0, 1e-300
    for c in range(n):
        for d in range(1, v.states.shape[1]):
            largest = max(largest, abs(v.trial[c, d]) / a[SCALE, c])
    for d in range(v.states.shape[1]):
        # a difference that cancels to rounding has no relative error
        size = 1.0 if d == 0 else 1e-8 * largest
        for c in range(n):
            here = max(abs(v.states[c, d]), abs(v.trial[c, d])) / a[SCALE, c]
            size = max(size, here)
        e3 = e5 = noise = 0.0
        if d > 0:
            # smaller steps do not reduce the rounding of differences
            p = v.parameter[d - 1]
            noise = v.noise[n + p] if p >= 0 else 0.0
            for c in range(n):
                noise += v.noise[c] * abs(v.trial[c, d])
        for c in range(n):
            a3 = a5 = 0.0
            for j in range(AT_END + 1):
                a3 += table[_ERROR3, j] * v.stages[j, c, d]
                a5 += table[_ERROR5, j] * v.stages[j, c, d]
            unit = (tol * size + noise * abs(h)) * a[SCALE, c]
            e3, e5 = e3 + (a3 / unit) ** 2, e5 + (a5 / unit) ** 2
        if not size < math.inf or e3 != e3 or e5 != e5:
            return math.inf
        if e3 > 0.0 or e5 > 0.0:
            worst = max(worst, abs(h) * e5 / math.sqrt((e5 + 0.01 * e3) * n))
    return worst


@kernel
def _first_step(w: Workspace, v: Variation, span: float) -> float:
    """Return a step in which the state changes by a twentieth of its size."""
    a, size, rate = w.vectors, 0.1, 0.0
    for c in range(w.progress[0].n):
        size = max(size, abs(v.states[c, 0]) / a[SCALE, c])
        rate = max(rate, abs(v.stages[0, c, 0]) / a[SCALE, c])
    return min(span, 0.05 * size / rate) if rate > 0.0 else span


@kernel(separate=True)
def variational(
    w: Workspace,
    table: Matrix,
    s: Stencil,
    v: Variation,
    t_start: float,
    t_end: float,
    tol: float,
    most: int,
) -> int:
    """Integrate states and derivatives from t_start to t_end; return the steps, -1 for too many.

    Verified by: tests/unit/switching/tangents/test_tangents.py::test_linear_flow
    """
    n, width = w.progress[0].n, v.states.shape[1]
    t = t_start
    least = 1e-13 * max(abs(t_end), abs(t_start))
    v.level[:] = 0
    stage(w, s, v, v.states, 0, t)
    h = _first_step(w, v, t_end - t_start)
    for count in range(most):
        last = t + 1.0001 * h >= t_end
        if last:
            h = t_end - t
        for j in range(1, AT_END + 1):
            row = j if j < AT_END else _SOLUTION
            for c in range(n):
                for d in range(width):
                    total = 0.0
                    for b in range(j):
                        total += table[row, b] * v.stages[b, c, d]
                    v.trial[c, d] = v.states[c, d] + h * total
            stage(w, s, v, v.trial, j, t + h)
        error = _error(w, table, v, h, tol)
        if error <= 1.0 or (h <= least and error < math.inf):
            t += h
            for c in range(n):
                for d in range(width):
                    v.states[c, d] = v.trial[c, d]
                    v.stages[0, c, d] = v.stages[AT_END, c, d]
            if last:
                return count + 1
        elif h <= least:
            return -1
        factor = 5.0 if error < 1e-10 else min(5.0, max(0.2, 0.9 * error ** (-0.125)))
        h *= factor
    return -1
