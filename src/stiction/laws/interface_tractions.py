"""Adhesion, sliding threshold and return map at the points of an interface, vectorised.

These are the laws of `adhesion`, `adhesive_friction` and `return_mapping` in the form that the
contact kernels of solids call: pure functions of numbers or arrays, one entry per point. The normal
traction T(g) follows from the gap g; a tangential trial traction below the sliding threshold s(g)
sticks, a larger one is scaled back to s. The
constants come from `LennardJones.table()` and `AdhesiveFriction.table(adhesion)`, small arrays of
floats whose entries are named below.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import exp

__all__ = [
    "DECIDE",
    "DIRECTION",
    "INCREMENT",
    "MODULUS",
    "SLIDE",
    "SLIP",
    "STICK",
    "TRACTION",
    "TRIAL",
    "adhesion",
    "adhesion_potential",
    "return_map_points",
    "slide_threshold",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pair = tuple[Floats, Floats]
Three = tuple[Floats, Floats, Floats]

# entries of the adhesion table: traction scale and length; gap, traction and stiffness at the start
# of the linear part; gap from which there is no traction; potential at both gaps
T0, R0, GAP_REG, T_REG, K_REG, GAP_FAR, PSI_REG, PSI_FAR = range(8)
# entries of the friction table: code of the law, tau (model DI) or mu (model EA), cut-off gap,
# sharpness over r0, and normal traction at the cut-off gap
KIND, STRENGTH, GAP_CUT, SHARPNESS, T_CUT = range(5)
# values of KIND
FRICTIONLESS, DISTANCE_INDEPENDENT, EXTENDED_AMONTONS, SAMPLED = range(4)
# entries of the table of a sampled threshold: kind, lowest gap, spacing, then values and slopes
_LOW, _SPACING, _VALUES = 1, 2, 3
# selection of stick or slip in the return map: the criterion, or a fixed state
DECIDE, STICK, SLIP = -1, 0, 1
# rows of the return map at a point: trial traction, traction, slip increment, direction of slip,
# and the tangent in as many rows as there are components
TRIAL, TRACTION, INCREMENT, DIRECTION, MODULUS = range(5)
SLIDE = 7
# exp(-40) is negligible against 1: the cut-off of model DI
_TAIL = 40.0


def adhesion(gap: Floats | float, c: Floats) -> Pair:
    """Return normal traction T [Pa], positive in pressure, and dT/dgap [Pa/m]; c is the table.

    Source: Mergel, Scheibert, Sauer 2021, eqs (10), (41); formulas sheet, section 1.
    Verified by: tests/unit/laws/test_adhesion.py::test_array_form_is_the_law
    """
    far, wall = gap >= c[GAP_FAR], gap <= c[GAP_REG]
    x = c[R0] / np.where(wall, c[R0], gap)
    x3 = x * x * x
    x9 = x3 * x3 * x3
    traction = c[T0] * (x9 / 45.0 - x3 / 3.0)
    slope = -c[T0] / c[R0] * x * (x9 / 5.0 - x3)
    at_wall = c[T_REG] + c[K_REG] * (c[GAP_REG] - gap)
    return _one_of(far, wall, at_wall, traction), _one_of(far, wall, -c[K_REG], slope)


def adhesion_potential(gap: Floats | float, c: Floats) -> Floats:
    """Return the potential [J/m^2], the work of T from `gap` to infinity.

    Source: formulas sheet, section 1.
    Verified by: tests/unit/laws/test_adhesion.py::test_array_form_is_the_law
    """
    far, wall = gap >= c[GAP_FAR], gap <= c[GAP_REG]
    d = c[GAP_REG] - gap
    at_wall = c[PSI_REG] - c[PSI_FAR] + d * (c[T_REG] + 0.5 * c[K_REG] * d)
    x = c[R0] / np.where(wall, c[R0], gap)
    x2 = x * x
    psi = c[T0] * c[R0] * x2 * (x2 * x2 * x2 / 360.0 - 1.0 / 6.0) - c[PSI_FAR]
    return _one_of(far, wall, at_wall, psi)


def _one_of(far: object, wall: object, at_wall: object, between: Floats) -> Floats:
    """Return zero beyond the largest gap, else `at_wall` (linear part) or `between` (the curve).

    far, wall : whether a gap is beyond the largest one, and whether it is in the linear part
    """
    return np.asarray(np.where(far, 0.0, np.where(wall, at_wall, between)))  # type: ignore[call-overload]


def slide_threshold(
    gap: Floats | float,
    traction: Floats | float,
    slope: Floats | float,
    stretch: Floats | float,
    c: Floats,
) -> Three:
    """Return the sliding threshold s [Pa], ds/dgap [Pa/m] and ds/dJ [Pa].

    Parameters
    ----------
    gap : normal gap, open > 0 [m]
    traction, slope : of `adhesion(gap, ...)`, without stretch
    stretch : J, surface stretch of the partner [1]; it affects model EA only
    c : table of the friction law

    Source: Mergel, Scheibert, Sauer 2021, eqs (14), (16), (59)-(61).
    Verified by: tests/unit/laws/test_adhesive_friction.py::test_array_form_is_the_law
    """
    gap = np.asarray(gap)
    none = np.zeros_like(gap)
    if c[KIND] == DISTANCE_INDEPENDENT:
        z = c[SHARPNESS] * (gap - c[GAP_CUT])
        tail = z > _TAIL
        e = exp(np.where(tail, 0.0, z))
        s = c[STRENGTH] / (1.0 + e)
        slopes = -c[SHARPNESS] * s * (e / (1.0 + e))
        return np.where(tail, 0.0, s), np.where(tail, 0.0, slopes), none
    if c[KIND] == EXTENDED_AMONTONS:
        near = gap < c[GAP_CUT]
        factor = c[STRENGTH] / stretch
        above = np.asarray(traction - c[T_CUT])
        s = factor * np.where(above < 0.0, 0.0, above)  # negative by rounding only
        found = (s, factor * slope, -s / stretch)
        return cast(Three, tuple(np.where(near, one, 0.0) for one in found))
    if c[KIND] == SAMPLED:
        return *_sampled(gap, c), none
    return none, none, none


def _sampled(gap: Floats, c: Floats) -> Pair:
    """Return a cubic Hermite interpolant of s [Pa] and its slope [Pa/m] at gaps [m].

    Beyond the samples in the table c it is constant.
    """
    count = (c.size - _VALUES) // 2
    x = (gap - c[_LOW]) / c[_SPACING]
    before, after = ~(x > 0.0), x >= count - 1
    i = np.where(before | after, 0.0, x).astype(np.int64)
    x = x - i
    a, b = c[_VALUES + i], c[_VALUES + i + 1]
    da, db = c[_SPACING] * c[_VALUES + count + i], c[_SPACING] * c[_VALUES + count + i + 1]
    p, q = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
    s = a + x * (da + x * (p + x * q))
    ds = (da + x * (2.0 * p + 3.0 * x * q)) / c[_SPACING]
    # a cubic interpolant may be negative near a kink of the samples
    s, ds = np.where(s > 0.0, s, 0.0), np.where(s > 0.0, ds, 0.0)
    ends = np.where(before, c[_VALUES], c[_VALUES + count - 1])
    return np.where(before | after, ends, s), np.where(before | after, 0.0, ds)


def return_map_points(
    slide: Floats, n: int, threshold: Floats | float, penalty: float, wanted: Ints | int
) -> npt.NDArray[np.bool_]:
    """Compute traction, slip increment, tangent and direction; return which points slip.

    Parameters
    ----------
    slide : (SLIDE, 3, ...) with TRIAL in its first n columns, n <= 3; all other rows are filled
        in. MODULUS is d traction / d tangential gap (n, n); the derivative with respect to the
        normal gap is DIRECTION times the slope of the threshold where a point slips, and zero
        where it sticks, for which DIRECTION is set to zero
    threshold : of sliding [Pa]
    penalty : tangential stiffness [Pa/m]
    wanted : DECIDE, or a fixed state during Newton iterations: STICK or SLIP

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32), (52), (53).
    Verified by: tests/unit/laws/test_return_mapping.py::test_points_are_the_map
    """
    trial = slide[TRIAL, :n]
    square = trial[0] * trial[0]
    for i in range(1, n):
        square = square + trial[i] * trial[i]
    size = np.sqrt(square)
    sticks = (wanted == STICK) | ((wanted == DECIDE) & (size < threshold))
    moves = size > 0.0
    length = np.where(moves, size, 1.0)
    scaling = np.where(moves, threshold / length, 0.0)
    direction = np.where(moves, trial / length, 0.0)
    slide[DIRECTION, :n] = np.where(sticks, 0.0, direction)
    slide[TRACTION, :n] = np.where(sticks, trial, threshold * direction)
    slide[INCREMENT, :n] = np.where(sticks, 0.0, (size - threshold) / penalty * direction)
    unit = np.eye(n).reshape(n, n, *(1,) * (slide.ndim - 2))
    bends = penalty * scaling * (unit - direction[:, None] * direction)
    slide[MODULUS : MODULUS + n, :n] = np.where(sticks, penalty * unit, bends)
    return np.asarray(~sticks)
