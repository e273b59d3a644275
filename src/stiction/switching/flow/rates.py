"""What moves: the right side of the flow in each mode, and the functions whose zeros end it.

One trajectory is the array y = (x_1 .. x_n, t, W_1 .. W_q): the state, the time, and the
energies that went in and out. Its independent variable s is the time while every surface
is left alone. While the state slides on one surface, s is desingularised,

    dx/ds = sense (L- f+ - L+ f-) / norm,    dt/ds = sense (L- - L+) / norm,

which is Filippov's sliding field times a positive factor, and smooth through a two-fold
(sense = 1 in sliding, -1 in escaping regions). On an intersection of two surfaces the two
multipliers solve a bilinear pair of equations and s is the time again.

Source: Szalai, Jeffrey 2014, eqs (15), (16), (20) with the direction of (20) mended.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import at, call_arrays, call_at, entry_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import gradients, lie_pair

__all__ = ["event_values", "multipliers", "normals", "rates", "slide_data"]

# entries of `system`: addresses of its functions; numbers of states, surfaces and kinks, whether
# there is a line (0 or 1), number of energies, whether surfaces are planes (see `records`)
FIELD, SURFACE, GRADIENT, POWER, N, M, K, LINE, Q, PLANE = range(10)
# entries of `pace`: direction and scale of the sliding time; 1, or -1 for backward in time;
# how much tighter the tolerance is near a two-fold or a line; what rounding does there to a
# rate, to the state and to L; then what is given: relative and absolute tolerance, distance
# that counts as on a line, longest step, and the time at which the call ends
SENSE, NORM, DIRECTION, SHARE, FLOOR, ROUNDING, LIE_NOISE = range(7)
RTOL, ATOL, ON_LINE, LONGEST, T_END = range(7, 12)
# rows of `start`: event functions at the start of a step, and their slopes there
VALUE, SLOPE = range(2)
# rows of the scratch array; at least WORK_ROWS of them, n + 2m + k + 2 wide: at least as y
PLUS, MINUS, SIGNS, EXTRA, EXTRA2, DIFF, DIFF2, LATER = range(8)
WORK_ROWS = 8


@kernel
def normals(
    system: Integers, p: Vector, scale: Vector, x: Vector, grad: Matrix, work: Matrix
) -> None:
    """Fill grad[m, n] with the gradients of the switching functions; a plane keeps its own."""
    if system[PLANE] == 0:
        gradients(system[SURFACE], system[GRADIENT], p, scale, x, grad, work[DIFF:])


@kernel
def sliding_surface(sides: Vector) -> int:
    """Return the first surface the state slides on, or -1."""
    for i in range(sides.size):
        if sides[i] == 0.0:
            return i
    return -1


@kernel
def second_surface(sides: Vector, first: int) -> int:
    """Return the surface after `first` the state slides on too, or -1."""
    for i in range(first + 1, sides.size):
        if sides[i] == 0.0:
            return i
    return -1


@kernel
def slide_data(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    i: int,
    x: Vector,
    grad: Matrix,
    work: Matrix,
) -> tuple[float, float]:
    """Return L+ and L- of surface i at x; the two fields stand in rows PLUS and MINUS."""
    m = system[M]
    for j in range(m):
        work[SIGNS, j] = sides[j]
    signs = row_at(work, SIGNS)
    work[SIGNS, i] = 1.0
    call_at(system[FIELD], at(x), signs, at(p), row_at(work, PLUS))
    work[SIGNS, i] = -1.0
    call_at(system[FIELD], at(x), signs, at(p), row_at(work, MINUS))
    normals(system, p, scale, x, grad, work)
    up, down = 0.0, 0.0
    for j in range(system[N]):
        up += grad[i, j] * work[PLUS, j]
        down += grad[i, j] * work[MINUS, j]
    return up, down


@kernel
def multipliers(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    x: Vector,
    dx: Vector,
    lam: Vector,
    grad: Matrix,
    work: Matrix,
) -> bool:
    """Fill dx with the field on an intersection of two surfaces, lam with its multipliers.

    Newton's method on L_i = L_j = 0, both bilinear in (lam_i, lam_j), from lam = 0. Returns
    whether it converged; otherwise dx is NaN.
    """
    n, m = system[N], system[M]
    i = sliding_surface(sides)
    j = second_surface(sides, i)
    normals(system, p, scale, x, grad, work)
    signs = work[SIGNS, :m]
    corner = work[PLUS, :n]
    # the coefficients of 1, lam_i, lam_j, lam_i lam_j of L_i, L_j and of the field
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    for c in range(m):
        signs[c] = sides[c]
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        signs[i], signs[j] = si, sj
        call_arrays(system[FIELD], x, signs, p, corner)
        li, lj = lie_pair(grad[i], corner, corner)[0], lie_pair(grad[j], corner, corner)[0]
        a0, a1, a2, a3 = a0 + li, a1 + si * li, a2 + sj * li, a3 + si * sj * li
        b0, b1, b2, b3 = b0 + lj, b1 + si * lj, b2 + sj * lj, b3 + si * sj * lj
    u, v, good = 0.0, 0.0, False
    for _ in range(30):
        e1 = a0 + a1 * u + a2 * v + a3 * u * v
        e2 = b0 + b1 * u + b2 * v + b3 * u * v
        j11, j12, j21, j22 = a1 + a3 * v, a2 + a3 * u, b1 + b3 * v, b2 + b3 * u
        det = j11 * j22 - j12 * j21
        if det == 0.0:
            break
        du, dv = (e1 * j22 - e2 * j12) / det, (j11 * e2 - j21 * e1) / det
        u, v = u - du, v - dv
        if abs(du) + abs(dv) <= 4e-16 * (1.0 + abs(u) + abs(v)):
            good = True
            break
    for c in range(n):
        dx[c] = 0.0
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        signs[i], signs[j] = si, sj
        call_arrays(system[FIELD], x, signs, p, corner)
        weight = 0.25 * (1.0 + si * u) * (1.0 + sj * v)
        for e in range(n):
            dx[e] += weight * corner[e]
    lam[i], lam[j] = u, v
    if not good:
        for e in range(n):
            dx[e] = np.nan
    return good


@kernel
def rates(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    pace: Vector,
    y: Vector,
    k: Matrix,
    row: int,
    grad: Matrix,
    work: Matrix,
) -> None:
    """Fill row `row` of k with dy/ds in the present mode (see the top of this module)."""
    n, m, q = system[N], system[M], system[Q]
    way = pace[DIRECTION]
    i = sliding_surface(sides)
    signs = sides
    if i < 0:
        call_at(system[FIELD], at(y), at(sides), at(p), row_at(k, row))
        k[row, n] = way
        if way < 0.0:
            for c in range(n):
                k[row, c] = -k[row, c]
    else:
        signs = work[EXTRA, :m]
        for c in range(m):
            signs[c] = sides[c]
        x = y[:n]
        if second_surface(sides, i) >= 0:
            multipliers(system, p, scale, sides, x, k[row, :n], signs, grad, work)
            k[row, n] = way
            for c in range(n):
                k[row, c] *= way
        else:
            up, down = slide_data(system, p, scale, sides, i, x, grad, work)
            factor = way * pace[SENSE] / pace[NORM]
            for c in range(n):
                k[row, c] = factor * (down * work[PLUS, c] - up * work[MINUS, c])
            gap = down - up
            k[row, n] = factor * gap
            # not cut off at +-1: past a fold the step must stay smooth to find it
            signs[i] = (down + up) / gap if gap != 0.0 else 0.0
    if q > 0:
        out = entry_at(k, row, n + 1)
        call_at(system[POWER], at(y), at(signs), at(p), out)
        for c in range(n + 1, n + 1 + q):
            k[row, c] *= k[row, n]


@kernel
def event_values(
    system: Integers,
    p: Vector,
    scale: Vector,
    sides: Vector,
    pace: Vector,
    kinks: Vector,
    y: Vector,
    out: Matrix,
    row: int,
    grad: Matrix,
    work: Matrix,
) -> None:
    """Fill row `row` of out[:, 2m + k + 1] with functions that are positive in the mode.

    Entries 0 .. m-1 and m .. 2m-1: for a surface left alone sign(h) h and 1; on one it
    slides on, the distances to the upper and the lower fold. Then the kinks with the sign
    they have had, then the time left while sliding.
    """
    n, m, k = system[N], system[M], system[K]
    here = row_at(work, EXTRA2)
    call_at(system[SURFACE], at(y), at(sides), at(p), here)
    for c in range(m):
        out[row, c], out[row, m + c] = sides[c] * work[EXTRA2, c], 1.0
    for c in range(k):
        out[row, 2 * m + c] = kinks[c] * work[EXTRA2, m + c]
    out[row, 2 * m + k] = 1.0
    i = sliding_surface(sides)
    if i < 0:
        return
    x = y[:n]
    j = second_surface(sides, i)
    if j >= 0:
        lam = work[EXTRA, :m]
        multipliers(system, p, scale, sides, x, work[MINUS, :n], lam, grad, work)
        out[row, i], out[row, m + i] = 1.0 - lam[i], 1.0 + lam[i]
        out[row, j], out[row, m + j] = 1.0 - lam[j], 1.0 + lam[j]
        return
    up, down = slide_data(system, p, scale, sides, i, x, grad, work)
    factor = pace[SENSE] / pace[NORM]
    out[row, i], out[row, m + i] = -factor * up, factor * down
    out[row, 2 * m + k] = (pace[T_END] - y[n]) * pace[DIRECTION]
