"""Exit directions of a codimension-2 intersection of two discontinuity surfaces: kernels.

To first order the rates of h_i and h_j are constant in each quadrant of the plane (h_i, h_j). Four
kinds of solutions start at its origin: (1) into a quadrant whose field points into it; (2) along
one of the four half surfaces, that is half axes, if the sliding field on it points away from the
origin; (3) codimension-2 sliding with a sliding vector whose multipliers lie in [-1, 1]; (4) an
outward spiral, if all quadrants are crossed in turn and each revolution is wider than the last. If
exactly one of all these solutions exists, the solution is unique.

Quadrants are numbered c = 0 .. 3 by the signs (h_i, h_j) = ++, +-, -+, --. Half surfaces are
numbered e = 0 .. 3: h_i = 0 with h_j > 0 and < 0, then h_j = 0 with h_i > 0 and < 0. Vector
QUADRANT_RATES has the rate of h_i in quadrant c at c, and that of h_j at 4 + c. A set of directions
is an integer with one bit for each. `transitions`, `sliding` and `nonuniqueness` use these sets.

Argument `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector. SIGNS are the signs
for which the field is evaluated, PLUS and MINUS the fields of both sides of a surface.

Source: Filippov 1988, sections 15 and 19; Dieci, Lopez 2009.
Verified by: tests/unit/switching/test_intersections.py::test_exit_directions_in_exact_arithmetic
"""

from __future__ import annotations

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.intersections.bilinear import root
from stiction.switching.flow.rates import (
    FOLD_TOLERANCE,
    interpolant,
    lie_derivative,
    normals,
    quadrant_rates,
)
from stiction.switching.flow.state import (
    GRAD,
    MINUS,
    PLUS,
    QUADRANT_RATES,
    SCALE,
    SIDES,
    SIGNS,
    SPARE,
    TRIAL,
    Workspace,
    Y,
)

__all__ = [
    "DIRECTIONS",
    "ESCAPES",
    "HALF_SURFACES",
    "SLIDES_MINUS",
    "SLIDES_PLUS",
    "SPIRAL",
    "count",
    "exit_directions",
    "open_directions",
    "turns",
]

# bits of a set of directions: into the quadrants ++, +-, -+, --; along the half surfaces h_i = 0
# with h_j > 0 and < 0, then h_j = 0 with h_i > 0 and < 0; codimension-2 sliding with the sliding
# vector of positive, of negative determinant; outward spiral; number of bits
HALF_SURFACES, SLIDES_PLUS, SLIDES_MINUS, SPIRAL, DIRECTIONS = 4, 8, 9, 10, 11
# bits from here on: which of the four half surfaces repels
ESCAPES = 11
# largest distance from 1 of a multiplier that belongs to a fold at the end of a half surface.
# Chosen: well above the error of a state that the run has located there
_AT_FOLD = 1e-6


@kernel
def turns(w: Workspace) -> tuple[float, float]:
    """Return two products of four rates whose quotient is the growth factor of one revolution.

    It holds for the sense of rotation from h_i > 0 to h_j > 0; the inverse for the opposite sense.
    """
    a = w.vectors
    # an orbit through ++ from (h_i, 0) arrives at (0, h_i r_j / |r_i|) with the rates r there; the
    # factors of ++, -+, -- and +- follow from their rates in the same way
    one = a[QUADRANT_RATES, 4] * a[QUADRANT_RATES, 2] * a[QUADRANT_RATES, 7] * a[QUADRANT_RATES, 1]
    two = a[QUADRANT_RATES, 0] * a[QUADRANT_RATES, 6] * a[QUADRANT_RATES, 3] * a[QUADRANT_RATES, 5]
    return one, two


@kernel
def _spirals_out(w: Workspace) -> bool:
    """Return whether all quadrants are crossed in turn, each revolution wider than the last."""
    a = w.vectors
    one, two = turns(w)
    left = right = True
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        out_i, out_j = si * a[QUADRANT_RATES, c] > 0.0, sj * a[QUADRANT_RATES, 4 + c] > 0.0
        in_i, in_j = si * a[QUADRANT_RATES, c] < 0.0, sj * a[QUADRANT_RATES, 4 + c] < 0.0
        # in consecutive quadrants |h_i| and |h_j| increase in turn
        grows_i = c == 0 or c == 3
        left = left and (in_i and out_j if grows_i else out_i and in_j)
        right = right and (out_i and in_j if grows_i else in_i and out_j)
    # a growth factor of 1 to rounding is no spiral
    least = 1e-12 * (abs(one) + abs(two))
    return (left and one - two > least) or (right and two - one > least)


@kernel
def _half_surface(w: Workspace, e: int) -> tuple[int, float]:
    """Return 1 if half surface e attracts, -1 if it repels, else 0; and its outward sliding rate.

    The second value is the rate at which sliding on the half surface leads away from the origin.
    """
    now, a = w.progress[0], w.vectors
    first, on_i = e % 2, e < 2
    # numbers of the quadrants on its positive and on its negative side
    up = first if on_i else 2 * first
    down = 2 + first if on_i else 2 * first + 1
    k, o = (0, 4) if on_i else (4, 0)
    side = 1.0 if first == 0 else -1.0
    plus, minus = a[QUADRANT_RATES, k + up], a[QUADRANT_RATES, k + down]
    limit = FOLD_TOLERANCE * (now.speed_i if on_i else now.speed_j)
    kind = 1 if plus < -limit and minus > limit else -1 if plus > limit and minus < -limit else 0
    if kind == 0:
        return 0, 0.0
    # the rate of the other function along the sliding field (15), positive outward
    other_plus, other_minus = a[QUADRANT_RATES, o + up], a[QUADRANT_RATES, o + down]
    return kind, side * (minus * other_plus - plus * other_minus) / (minus - plus)


@kernel
def _slides_on_both(w: Workspace, sign: float, closed: int, opened: int) -> bool:
    """Return whether the sliding vector whose determinant has this sign is admissible.

    Parameters
    ----------
    closed, opened : half surfaces, as bits, whose sliding rate is zero to first order and points
        inward, or outward, to second order

    Notes
    -----
    A root next to v = 1, where codimension-2 sliding becomes sliding on a half surface, is at
    v = 1 - r / r'. Here r is the outward rate at v = 1 and r' its derivative by v. This derivative
    has the sign of the determinant if the half surface repels, the opposite sign if it attracts.
    """
    candidate = root(interpolant(w), sign, False)
    if not candidate.good:
        return False
    u, v = candidate.u, candidate.v
    for e in range(4):
        if (opened | closed) & (1 << e) == 0:
            continue
        side = 1.0 if e % 2 == 0 else -1.0
        # the multiplier whose end is half surface e
        value = side * v if e < 2 else side * u
        if abs(value - 1.0) > _AT_FOLD:
            continue
        # r' > 0: the root lies in v < 1 if r has the same sign as r'; r > 0 if it is `opened`
        grows = _half_surface(w, e)[0] * candidate.det < 0.0
        if grows != (opened & (1 << e) != 0):
            return False
        # the multiplier is 1 to first order
        if e < 2:
            v = side
        else:
            u = side
    return abs(u) <= 1.0 and abs(v) <= 1.0


@kernel
def _set_of_directions(w: Workspace, closed: int, opened: int) -> int:
    """Return the exit directions, as bits, by the rates in QUADRANT_RATES.

    See `_slides_on_both` for `closed` and `opened`.
    """
    now, a = w.progress[0], w.vectors
    directions = 0
    limit_i = FOLD_TOLERANCE * now.speed_i
    limit_j = FOLD_TOLERANCE * now.speed_j
    for c in range(4):
        si = 1.0 if c < 2 else -1.0
        sj = 1.0 if c % 2 == 0 else -1.0
        # both distances increase
        if si * a[QUADRANT_RATES, c] > limit_i and sj * a[QUADRANT_RATES, 4 + c] > limit_j:
            directions |= 1 << c
    for e in range(4):
        kind, rate = _half_surface(w, e)
        # sliding away from the origin; the second order decides where the rate is zero
        away = rate > (limit_j if e < 2 else limit_i)
        if (opened | closed) & (1 << e):
            away = opened & (1 << e) != 0
        if kind != 0 and away:
            directions |= 1 << (HALF_SURFACES + e)
            if kind < 0:
                directions |= 1 << (ESCAPES + e)
    if _slides_on_both(w, 1.0, closed, opened):
        directions |= 1 << SLIDES_PLUS
    if _slides_on_both(w, -1.0, closed, opened):
        directions |= 1 << SLIDES_MINUS
    if _spirals_out(w):
        directions |= 1 << SPIRAL
    return directions


@kernel
def open_directions(w: Workspace) -> int:
    """Return the exit directions of first order by the rates in QUADRANT_RATES, as bits."""
    return _set_of_directions(w, 0, 0)


@kernel
def count(directions: int) -> int:
    """Return the number of directions in a set."""
    total = 0
    for b in range(DIRECTIONS):
        total += (directions >> b) & 1
    return total


@kernel
def _field_of(w: Workspace, x: int, out: int) -> None:
    """Fill vector `out` with the field for the signs in SIGNS at the state in vector x."""
    now, a = w.progress[0], w.vectors
    call_at(now.field, row_at(a, x), row_at(a, SIGNS), now.parameters, row_at(a, out))


@kernel
def _displaced_state(w: Workspace, field: int, fraction: float) -> None:
    """Fill TRIAL with the present state displaced along vector `field`."""
    now, a = w.progress[0], w.vectors
    size = 1e-300
    for e in range(now.n):
        size = max(size, abs(a[field, e]) / a[SCALE, e])
    for e in range(now.n):
        a[TRIAL, e] = a[Y, e] + fraction / size * a[field, e]


@kernel
def _second_derivative_sign(w: Workspace, i: int, j: int, c: int, k: int) -> float:
    """Return the sign of the second derivative of h_k along the field of quadrant c."""
    now, a = w.progress[0], w.vectors
    for e in range(now.m):
        a[SIGNS, e] = a[SIDES, e]
    a[SIGNS, i] = 1.0 if c < 2 else -1.0
    a[SIGNS, j] = 1.0 if c % 2 == 0 else -1.0
    _field_of(w, Y, SPARE)
    change = 0.0
    for b in range(2):
        # as in `surfaces.curvature`: truncation error 1e-8, rounding error 1e-12 of the difference
        _displaced_state(w, SPARE, 1e-4 if b == 0 else -1e-4)
        _field_of(w, TRIAL, PLUS)
        normals(w, TRIAL, GRAD)
        rate = lie_derivative(w, k, PLUS)
        change += rate if b == 0 else -rate
    return 1.0 if change > 0.0 else -1.0 if change < 0.0 else 0.0


@kernel
def _sliding_rate(w: Workspace, s: int, o: int, side: float, x: int) -> float:
    """Return the rate of h_o in sliding on s at the state in vector x; MINUS gets the field.

    Parameters
    ----------
    s, o, side : sliding surface, the other one, and the sign of the other one
    """
    now, a = w.progress[0], w.vectors
    for e in range(now.m):
        a[SIGNS, e] = a[SIDES, e]
    a[SIGNS, o] = side
    a[SIGNS, s] = 1.0
    _field_of(w, x, PLUS)
    a[SIGNS, s] = -1.0
    _field_of(w, x, MINUS)
    normals(w, x, GRAD)
    up, down = lie_derivative(w, s, PLUS), lie_derivative(w, s, MINUS)
    # (15): weights L- and -L+ over L- - L+
    fraction = down / (down - up) if down != up else 0.5
    for e in range(now.n):
        a[MINUS, e] = fraction * a[PLUS, e] + (1.0 - fraction) * a[MINUS, e]
    return lie_derivative(w, o, MINUS)


@kernel
def _leads_away(w: Workspace, i: int, j: int, e: int) -> bool:
    """Return whether sliding on half surface e leads outward by its second derivative."""
    now, a = w.progress[0], w.vectors
    s, o = (i, j) if e < 2 else (j, i)
    side = 1.0 if e % 2 == 0 else -1.0
    _sliding_rate(w, s, o, side, Y)
    for c in range(now.n):
        a[SPARE, c] = a[MINUS, c]
    change = 0.0
    for b in range(2):
        # as in `_second_derivative_sign`
        _displaced_state(w, SPARE, 1e-4 if b == 0 else -1e-4)
        rate = _sliding_rate(w, s, o, side, TRIAL)
        change += rate if b == 0 else -rate
    return side * change > 0.0


@kernel(separate=True)
def exit_directions(w: Workspace, i: int, j: int, edge: int) -> int:
    """Return the exit directions of the present state on surfaces i and j, as bits.

    If a rate is zero, the sign of its derivative decides.

    Parameters
    ----------
    edge : half surface whose sliding begins because a multiplier has become +-1; -1 for none
    """
    now, a = w.progress[0], w.vectors

    if not quadrant_rates(w, i, j, Y):
        return 0
    nonzero = False
    for c in range(4):
        for k in range(2):
            # a zero rate gets the sign of its derivative and a size above the limit
            limit = FOLD_TOLERANCE * (now.speed_i if k == 0 else now.speed_j)
            if abs(a[QUADRANT_RATES, 4 * k + c]) > limit:
                nonzero = True
                continue
            curvature_sign = _second_derivative_sign(w, i, j, c, i if k == 0 else j)
            a[QUADRANT_RATES, 4 * k + c] = 2.0 * limit * curvature_sign
    if not nonzero:
        return 0
    closed = opened = 0
    for e in range(4):
        kind, rate = _half_surface(w, e)
        if kind == 0:
            continue
        # sliding rates that are zero: second order
        if e == edge or abs(rate) <= FOLD_TOLERANCE * (now.speed_j if e < 2 else now.speed_i):
            if _leads_away(w, i, j, e):
                opened |= 1 << e
            else:
                closed |= 1 << e
    directions = _set_of_directions(w, closed, opened)
    # GRAD may hold the gradients at a displaced state
    normals(w, Y, GRAD)
    return directions
