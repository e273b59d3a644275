"""Right-hand side of the flow in each mode, and event functions whose roots end the mode: kernels.

A trajectory is the array y = (x_1 .. x_n, t, W_1 .. W_q): state, time, and energies (work and
heat). Let f+- be the fields of both sides of a surface and L+- = grad h . f+- their Lie
derivatives. The independent variable s of y is the time, except in sliding on one surface, where
the equations are desingularised,

    dx/ds = sense (L- f+ - L+ f-) / norm,    dt/ds = sense (L- - L+) / norm.

This is Filippov's sliding field times a positive factor, and smooth through a two-fold L+ = L- = 0
(sense = 1 in sliding, -1 in escaping regions; norm = |L- - L+| where the mode began, so that
dt/ds = 1 there). On an intersection of two surfaces the two multipliers solve two bilinear
equations, and s is the time. `steps` integrates these equations. Component c of vector NAME is
`w.vectors[NAME, c]`; an argument such as `x`, `y` or `out` is the number of a vector (`state`).

`w` holds the work arrays (`state.Workspace`): `w.progress[0]`, called `now`, has the state of the
integrator, and `w.vectors` is called `a`. SIDES are the signs of the mode, 0 in sliding.

Source: Szalai, Jeffrey 2014, eqs (15), (16), (20) with the direction of (20) corrected.
"""

from __future__ import annotations

import math

from stiction.numerics.callback import call_at, entry_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import finite, gradients
from stiction.switching.flow.intersections.bilinear import Bilinear, root, scaled_discriminant
from stiction.switching.flow.state import (
    DIFF,
    EXTRA,
    EXTRA2,
    GRAD,
    KINKS,
    MINUS,
    PLUS,
    QUADRANT_RATES,
    SCALE,
    SIDES,
    SIGNS,
    VALUE,
    EventFunctions,
    Workspace,
    Y,
)

__all__ = [
    "FOLD_TOLERANCE",
    "bilinear",
    "event_values",
    "interpolant",
    "lie_derivative",
    "lie_derivatives",
    "multipliers",
    "normals",
    "quadrant_rates",
    "rates",
    "second_surface",
    "sliding_surface",
]

# L counts as zero below this fraction of |grad h| |f|. Chosen: its rounding error is 3e-14 of it at
# most (`tighten_near_two_fold`), and located folds have an error a little above
FOLD_TOLERANCE = 1e-12


@kernel
def normals(w: Workspace, x: int, out: int) -> None:
    """Fill vector `out` with the gradients of the switching functions at the state in vector x.

    The gradients of planes are constant; they are copied from GRAD.
    """
    now, a = w.progress[0], w.vectors
    if now.plane == 0:
        surface, gradient, m, n = now.surface, now.gradient, now.m, now.n
        gradients(surface, gradient, m, n, now.parameters, a[SCALE], a[x], a[out], a[DIFF:])
    elif out != GRAD:
        for c in range(now.m * now.n):
            a[out, c] = a[GRAD, c]


@kernel
def sliding_surface(w: Workspace, sides: int) -> int:
    """Return the first sliding surface by the signs in vector `sides`, or -1."""
    now, a = w.progress[0], w.vectors
    for i in range(now.m):
        if a[sides, i] == 0.0:
            return i
    return -1


@kernel
def second_surface(w: Workspace, sides: int, first: int) -> int:
    """Return the next sliding surface after `first`, or -1."""
    now, a = w.progress[0], w.vectors
    for i in range(first + 1, now.m):
        if a[sides, i] == 0.0:
            return i
    return -1


@kernel
def lie_derivative(w: Workspace, i: int, field: int) -> float:
    """Return the Lie derivative of h_i along the field in vector `field`."""
    now, a = w.progress[0], w.vectors
    n, total = now.n, 0.0
    for j in range(n):
        total += a[GRAD, i * n + j] * a[field, j]
    return total


@kernel
def lie_derivatives(w: Workspace, sides: int, i: int, x: int) -> tuple[float, float]:
    """Return L+ and L- of surface i at the state in vector x; PLUS and MINUS hold the fields."""
    now, a = w.progress[0], w.vectors
    for j in range(now.m):
        a[SIGNS, j] = a[sides, j]
    state, signs = row_at(a, x), row_at(a, SIGNS)
    a[SIGNS, i] = 1.0
    call_at(now.field, state, signs, now.parameters, row_at(a, PLUS))
    a[SIGNS, i] = -1.0
    call_at(now.field, state, signs, now.parameters, row_at(a, MINUS))
    normals(w, x, GRAD)
    up, down, n = 0.0, 0.0, now.n
    for j in range(n):
        up += a[GRAD, i * n + j] * a[PLUS, j]
        down += a[GRAD, i * n + j] * a[MINUS, j]
    return up, down


@kernel
def quadrant_rates(w: Workspace, i: int, j: int, x: int) -> bool:
    """Fill QUADRANT_RATES with the rates of h_i and h_j in the four quadrants, at vector x.

    Returns whether all rates are finite.
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    normals(w, x, GRAD)
    # scales of the rates: |D grad h| of both surfaces times the largest |D^-1 f|, D the scales
    steep_i = steep_j = fastest = 0.0
    for e in range(n):
        slope_i, slope_j = a[GRAD, i * n + e] * a[SCALE, e], a[GRAD, j * n + e] * a[SCALE, e]
        steep_i, steep_j = steep_i + slope_i * slope_i, steep_j + slope_j * slope_j
    for c in range(now.m):
        a[SIGNS, c] = a[SIDES, c]
    # in the order ++, +-, -+, --
    for c in range(4):
        a[SIGNS, i] = 1.0 if c < 2 else -1.0
        a[SIGNS, j] = 1.0 if c % 2 == 0 else -1.0
        call_at(now.field, row_at(a, x), row_at(a, SIGNS), now.parameters, row_at(a, PLUS))
        a[QUADRANT_RATES, c], a[QUADRANT_RATES, 4 + c] = (
            lie_derivative(w, i, PLUS),
            lie_derivative(w, j, PLUS),
        )
        speed = 0.0
        for e in range(n):
            rate = a[PLUS, e] / a[SCALE, e]
            speed += rate * rate
        fastest = max(fastest, speed)
    now.speed_i = math.sqrt(steep_i) * math.sqrt(fastest)
    now.speed_j = math.sqrt(steep_j) * math.sqrt(fastest)
    return (
        finite(w, QUADRANT_RATES, 8) and math.isfinite(now.speed_i) and math.isfinite(now.speed_j)
    )


@kernel
def interpolant(w: Workspace) -> Bilinear:
    """Return the bilinear interpolant of the rates in QUADRANT_RATES, times four."""
    a = w.vectors
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    # sums of the rates in the quadrants ++, +-, -+, -- with the signs 1, s_i, s_j, s_i s_j are four
    # times the coefficients of the interpolant; this factor changes no root
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        li, lj = a[QUADRANT_RATES, c], a[QUADRANT_RATES, 4 + c]
        a0, a1, a2, a3 = a0 + li, a1 + si * li, a2 + sj * li, a3 + si * sj * li
        b0, b1, b2, b3 = b0 + lj, b1 + si * lj, b2 + sj * lj, b3 + si * sj * lj
    return Bilinear(a0, a1, a2, a3, b0, b1, b2, b3)


@kernel
def bilinear(w: Workspace, x: int) -> Bilinear:
    """Return both sliding conditions L_i = L_j = 0 as bilinear functions of the multipliers.

    The field is the bilinear interpolant of its values in the four quadrants. A rate that is zero
    in all of them becomes zero exactly: its condition holds for all multipliers, as for a position
    where its velocity is zero.
    """
    now, a = w.progress[0], w.vectors
    i = sliding_surface(w, SIDES)
    quadrant_rates(w, i, second_surface(w, SIDES, i), x)
    void_i = void_j = True
    for c in range(4):
        void_i = void_i and abs(a[QUADRANT_RATES, c]) <= FOLD_TOLERANCE * now.speed_i
        void_j = void_j and abs(a[QUADRANT_RATES, 4 + c]) <= FOLD_TOLERANCE * now.speed_j
    for c in range(4):
        if void_i:
            a[QUADRANT_RATES, c] = 0.0
        if void_j:
            a[QUADRANT_RATES, 4 + c] = 0.0
    return interpolant(w)


@kernel
def multipliers(w: Workspace, x: int, dx: int) -> bool:
    """Fill dx with the sliding field of codimension 2, and EXTRA with its multipliers.

    The equations L_i = L_j = 0 have up to two roots; `branch` is the sign of the determinant of the
    Jacobian at the selected one. Entry m + k of EXTRA is the discriminant, zero where both roots
    merge. Returns whether the root exists; otherwise dx is NaN.
    """
    now, a = w.progress[0], w.vectors
    n, m = now.n, now.m
    i = sliding_surface(w, SIDES)
    j = second_surface(w, SIDES, i)
    rate = bilinear(w, x)
    multiplier_pair = root(rate, float(now.branch), True)
    for c in range(m):
        a[SIGNS, c] = a[SIDES, c]
    for c in range(n):
        a[dx, c] = 0.0
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        a[SIGNS, i], a[SIGNS, j] = si, sj
        call_at(now.field, row_at(a, x), row_at(a, SIGNS), now.parameters, row_at(a, PLUS))
        # convex combination of the four fields with product weights; for additive forces, such as
        # dry friction, it is the only one
        weight = 0.25 * (1.0 + si * multiplier_pair.u) * (1.0 + sj * multiplier_pair.v)
        for e in range(n):
            a[dx, e] += weight * a[PLUS, e]
    a[EXTRA, i], a[EXTRA, j] = multiplier_pair.u, multiplier_pair.v
    a[EXTRA, m + now.k] = scaled_discriminant(rate)
    # without a root the rates are NaN; the error of the step is then inf, and it is rejected
    if not multiplier_pair.good:
        for e in range(n):
            a[dx, e] = math.nan
    return multiplier_pair.good


@kernel
def rates(w: Workspace, y: int, out: int) -> None:
    """Fill vector `out` with dy/ds at the y in vector `y`, by the equations of the present mode."""
    now, a = w.progress[0], w.vectors
    n, m, q = now.n, now.m, now.q
    direction, signs = now.direction, SIDES
    i = sliding_surface(w, SIDES)
    if i < 0:
        # free motion: s is the time
        call_at(now.field, row_at(a, y), row_at(a, SIDES), now.parameters, row_at(a, out))
        a[out, n] = direction
        if direction < 0.0:
            for c in range(n):
                a[out, c] = -a[out, c]
    else:
        signs = EXTRA
        for c in range(m):
            a[EXTRA, c] = a[SIDES, c]
        if second_surface(w, SIDES, i) >= 0:
            # codimension-2 sliding: s is the time
            multipliers(w, y, out)
            a[out, n] = direction
            for c in range(n):
                a[out, c] *= direction
        else:
            # the sliding field (15), (16) times |L- - L+| / norm, without the quotient 0 / 0 of a
            # two-fold
            up, down = lie_derivatives(w, SIDES, i, y)
            factor = direction * now.sense / now.norm
            for c in range(n):
                a[out, c] = factor * (down * a[PLUS, c] - up * a[MINUS, c])
            gap = down - up
            a[out, n] = factor * gap
            # not limited to +-1: the step must stay smooth past a fold to locate it
            a[EXTRA, i] = (down + up) / gap if gap != 0.0 else 0.0
    if q > 0:
        # dW/ds = power times dt/ds; in sliding the power takes the multiplier in place of the sign
        call_at(now.power, row_at(a, y), row_at(a, signs), now.parameters, entry_at(a, out, n + 1))
        for c in range(n + 1, n + 1 + q):
            a[out, c] *= a[out, n]


@kernel(separate=True)
def event_values(w: Workspace, y: int, out: int) -> None:
    """Fill vector `out`[:2m + k + 1] with the event functions at y, which are positive in the mode.

    Entries i and m + i belong to surface i: without sliding they are |h_i| and 1, in sliding the
    distances of the multiplier from 1 and from -1, up to a positive factor. The next k entries are
    the kink functions times their present signs. The last one is the time left until t_end in
    sliding on one surface, the discriminant of the sliding vectors on two surfaces, else 1.
    """
    now, a = w.progress[0], w.vectors
    n, m, k = now.n, now.m, now.k
    call_at(now.surface, row_at(a, y), row_at(a, SIDES), now.parameters, row_at(a, EXTRA2))
    for c in range(m):
        a[out, c], a[out, m + c] = a[SIDES, c] * a[EXTRA2, c], 1.0
    for c in range(k):
        a[out, 2 * m + c] = a[KINKS, c] * a[EXTRA2, m + c]
    a[out, 2 * m + k] = 1.0
    i = sliding_surface(w, SIDES)
    if i < 0:
        return
    j = second_surface(w, SIDES, i)
    if j >= 0:
        # 1 - lambda and 1 + lambda of both surfaces; the discriminant is zero where roots merge
        multipliers(w, y, MINUS)
        a[out, i], a[out, m + i] = 1.0 - a[EXTRA, i], 1.0 + a[EXTRA, i]
        a[out, j], a[out, m + j] = 1.0 - a[EXTRA, j], 1.0 + a[EXTRA, j]
        a[out, 2 * m + k] = a[EXTRA, m + k]
        return
    # by (16) 1 - lambda and 1 + lambda are -2 L+ and 2 L- over L- - L+, which vanishes at a
    # two-fold; their numerators remain smooth, and positive in sliding and escaping alike
    up, down = lie_derivatives(w, SIDES, i, y)
    factor = now.sense / now.norm
    a[out, i], a[out, m + i] = -factor * up, factor * down
    # s is not the time: the end of the run is a root
    a[out, 2 * m + k] = (now.t_end - a[y, n]) * now.direction


@kernel
def update_event_values(w: Workspace, functions: EventFunctions) -> None:
    """Set the values of all event functions at the present y."""
    a = w.vectors
    event_values(w, Y, VALUE)
    for i in range(len(functions)):
        functions[i].value = a[VALUE, i]
