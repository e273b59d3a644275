"""Adhesion, sliding threshold and return map at one point, for kernels that integrate contact.

Functions of numbers: no mesh, no clock, no history of their own. The constants come from
`LennardJones.table()` and `AdhesiveFriction.table(adhesion)`, small float arrays whose
entries are named below.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

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
    "return_map_1d",
    "return_map_point",
    "slide_threshold",
    "stretched_adhesion",
]

# entries of the adhesion table
T0, R0, GAP_REG, T_REG, K_REG, GAP_FAR, PSI_REG, PSI_FAR = range(8)
# entries of the friction table
KIND, STRENGTH, GAP_CUT, SHARPNESS, T_CUT = range(5)
# values of KIND
FRICTIONLESS, DISTANCE_INDEPENDENT, EXTENDED_AMONTONS, SAMPLED = range(4)
# entries of the table of a sampled threshold: kind, lowest gap, spacing, then values and slopes
_LOW, _SPACING, _VALUES = 1, 2, 3
# what decides between stick and slip in the return map: the criterion, or a frozen state
DECIDE, STICK, SLIP = -1, 0, 1
# rows of what slides at one point: trial traction, traction, slip increment, direction of slip,
# and the tangent of the return map in as many rows as there are components
TRIAL, TRACTION, INCREMENT, DIRECTION, MODULUS = range(5)
SLIDE = 7
# exp(-40) is below rounding beside 1: the tail of model DI ends there
_TAIL = 40.0


@kernel
def adhesion(gap: float, c: Vector) -> tuple[float, float]:
    """Return normal traction T [Pa], positive in pressure, and dT/dgap [Pa/m].

    Source: Mergel, Scheibert, Sauer 2021, eqs (10), (41); formulas sheet, section 1.
    Verified by: tests/unit/laws/test_adhesion.py::test_kernel_is_the_law
    """
    if gap >= c[GAP_FAR]:
        return 0.0, 0.0
    if gap <= c[GAP_REG]:
        return c[T_REG] + c[K_REG] * (c[GAP_REG] - gap), -c[K_REG]
    x = c[R0] / gap
    x3 = x * x * x
    x9 = x3 * x3 * x3
    return c[T0] * (x9 / 45.0 - x3 / 3.0), -c[T0] / c[R0] * x * (x9 / 5.0 - x3)


@kernel
def adhesion_potential(gap: float, c: Vector) -> float:
    """Return the potential [J/m^2], the work of T from `gap` to infinity.

    Source: formulas sheet, section 1.
    Verified by: tests/unit/laws/test_adhesion.py::test_kernel_is_the_law
    """
    if gap >= c[GAP_FAR]:
        return 0.0
    if gap <= c[GAP_REG]:
        d = c[GAP_REG] - gap
        return c[PSI_REG] - c[PSI_FAR] + d * (c[T_REG] + 0.5 * c[K_REG] * d)
    x = c[R0] / gap
    x2 = x * x
    return c[T0] * c[R0] * x2 * (x2 * x2 * x2 / 360.0 - 1.0 / 6.0) - c[PSI_FAR]


@kernel
def stretched_adhesion(gap: float, stretch: float, c: Vector) -> tuple[float, float, float]:
    """Return T / J [Pa], its derivatives by gap [Pa/m] and by the partner's stretch J [Pa].

    The traction per reference area of the one body thins with the surface of the other.

    Source: Mergel, Scheibert, Sauer 2021, eqs (10), (11), (40).
    Verified by: tests/unit/laws/test_adhesion.py::test_kernel_is_the_law
    """
    traction, slope = adhesion(gap, c)
    share = traction / stretch
    return share, slope / stretch, -share / stretch


@kernel
def slide_threshold(
    gap: float, traction: float, slope: float, stretch: float, c: Vector
) -> tuple[float, float, float]:
    """Return the sliding threshold s [Pa], ds/dgap [Pa/m] and ds/dJ [Pa].

    Parameters
    ----------
    gap : normal gap [m]
    traction, slope : what `adhesion(gap, ...)` returned, without any stretch
    stretch : J, surface stretch of the partner [1]; only model EA feels it
    c : table of the friction law

    Source: Mergel, Scheibert, Sauer 2021, eqs (14), (16), (59)-(61).
    Verified by: tests/unit/laws/test_adhesive_friction.py::test_kernel_is_the_law
    """
    if c[KIND] == DISTANCE_INDEPENDENT:
        z = c[SHARPNESS] * (gap - c[GAP_CUT])
        if z > _TAIL:
            return 0.0, 0.0, 0.0
        e = math.exp(z)
        s = c[STRENGTH] / (1.0 + e)
        return s, -c[SHARPNESS] * s * (e / (1.0 + e)), 0.0
    if c[KIND] == EXTENDED_AMONTONS and gap < c[GAP_CUT]:
        factor = c[STRENGTH] / stretch
        s = factor * max(traction - c[T_CUT], 0.0)  # below zero only by rounding
        return s, factor * slope, -s / stretch
    if c[KIND] == SAMPLED:
        s, ds = _sampled(gap, c)
        return s, ds, 0.0
    return 0.0, 0.0, 0.0


@kernel
def _sampled(gap: float, c: Vector) -> tuple[float, float]:
    """Return a cubic through samples and slopes, and its slope; constant beyond the samples."""
    count = (c.size - _VALUES) // 2
    x = (gap - c[_LOW]) / c[_SPACING]
    if not x > 0.0:
        return c[_VALUES], 0.0
    if x >= count - 1:
        return c[_VALUES + count - 1], 0.0
    i = int(x)
    x -= i
    a, b = c[_VALUES + i], c[_VALUES + i + 1]
    da, db = c[_SPACING] * c[_VALUES + count + i], c[_SPACING] * c[_VALUES + count + i + 1]
    p, q = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
    s = a + x * (da + x * (p + x * q))
    ds = (da + x * (2.0 * p + 3.0 * x * q)) / c[_SPACING]
    # a cubic may dip below zero beside a kink
    return (s, ds) if s > 0.0 else (0.0, 0.0)


@kernel
def return_map_1d(
    trial: float, threshold: float, slope: float, penalty: float, state: int
) -> tuple[float, float, float, float, int]:
    """Return the traction of a line contact in a plane, where slip is one number.

    Parameters
    ----------
    trial : penalty times (tangential gap - slip) [Pa]
    threshold, slope : of sliding, and its derivative by the normal gap [Pa], [Pa/m]
    penalty : tangential stiffness [Pa/m]
    state : DECIDE, or a state held fixed while Newton iterates: STICK or SLIP

    Returns
    -------
    traction [Pa], slip increment [m], d traction / d tangential gap [Pa/m],
    d traction / d normal gap [Pa/m], the state STICK or SLIP.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32), (52), (53).
    Verified by: tests/unit/laws/test_return_mapping.py::test_kernels_are_the_map
    """
    size = abs(trial)
    if state == STICK or (state == DECIDE and size < threshold):
        return trial, 0.0, penalty, 0.0, STICK
    direction = 0.0
    if trial > 0.0:
        direction = 1.0
    elif trial < 0.0:
        direction = -1.0
    increment = (size - threshold) / penalty * direction
    return threshold * direction, increment, 0.0, slope * direction, SLIP


@kernel
def return_map_point(slide: Matrix, n: int, threshold: float, penalty: float, state: int) -> int:
    """Fill in traction, slip increment, tangent and direction at one point; return the state.

    Parameters
    ----------
    slide : (SLIDE, 3) with TRIAL in its first n columns, n <= 3; all other rows are filled in.
        MODULUS is d traction / d tangential gap (n, n); the derivative by the normal gap is
        DIRECTION times the slope of the threshold where the state is SLIP, and zero where it
        is STICK, for which DIRECTION is set to zero
    threshold : of sliding [Pa]
    penalty : tangential stiffness [Pa/m]
    state : DECIDE, or a state held fixed while Newton iterates: STICK or SLIP

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32), (52), (53).
    Verified by: tests/unit/laws/test_return_mapping.py::test_kernels_are_the_map
    """
    square = 0.0
    for i in range(n):
        square += slide[TRIAL, i] * slide[TRIAL, i]
    size = math.sqrt(square)
    if state == STICK or (state == DECIDE and size < threshold):
        for i in range(n):
            slide[TRACTION, i] = slide[TRIAL, i]
            slide[INCREMENT, i] = 0.0
            slide[DIRECTION, i] = 0.0
            for j in range(n):
                slide[MODULUS + i, j] = penalty if i == j else 0.0
        return STICK
    share = threshold / size if size > 0.0 else 0.0
    for i in range(n):
        slide[DIRECTION, i] = slide[TRIAL, i] / size if size > 0.0 else 0.0
    for i in range(n):
        along = slide[DIRECTION, i]
        slide[TRACTION, i] = threshold * along
        slide[INCREMENT, i] = (size - threshold) / penalty * along
        for j in range(n):
            unit = 1.0 if i == j else 0.0
            slide[MODULUS + i, j] = penalty * share * (unit - along * slide[DIRECTION, j])
    return SLIP
