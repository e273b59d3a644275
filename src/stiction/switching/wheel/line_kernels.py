"""Rays of the wheel at the line h = g = 0, where friction depends on the direction: kernels.

Let (h, g) = rho (sin th, cos th). As rho -> 0 the rates h' = L(th) and g' = G(th) depend on the
angle th alone, so that rho th' = L cos th - G sin th and rho' = L sin th + G cos th. Rays are the
roots of rho th'. Kinks at th = 0, +-pi/2, pi divide the circle into four sectors:

    0: h > 0, g > 0     1: h > 0, g < 0     2: h < 0, g < 0     3: h < 0, g > 0

Arguments: `p[0]` has the parameters of the wheel (`parameters.Parameters`), `rates[0]` the rates h'
and g' without contact and their derivatives by force and moment (`parameters.LineRates`), and
`rays` the rays of a sector (`parameters.Ray`).

Source: formulas sheet, section 7.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.wheel.kernels import tyre_contact, wheel_forced
from stiction.switching.wheel.parameters import LineRates, Rates, Ray, Rays, Wheel

__all__ = ["MOST_RAYS", "line_rates", "sector_rays", "turn_and_growth"]

# largest number of rays in a sector
MOST_RAYS = 8
_RATES, _RAY = LineRates.fields_type, Ray.fields_type
# number of intervals of the scan of a sector; golden section, (3 - sqrt 5) / 2
_SCAN = 48
_GOLDEN = 0.3819660112501051


@kernel
def line_rates(x: Vector, p: Wheel, work: Matrix, rates: Rates) -> None:
    """Fill `rates` with h' and g' without contact, and their derivatives by force and by moment.

    Parameters
    ----------
    x : (3,) a point of the line
    work : (2, 3) scratch space

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_model.py::test_rays_follow_the_field
    """
    wheel = p[0]
    r, slip, rate = x[0], x[2] - wheel.omega0, rates[0]
    free, pushed = work[0], work[1]
    wheel_forced(x, 0.0, 0.0, p, free)
    # the field without contact, then its changes by a unit of force and of moment
    for i in range(3):
        if i > 0:
            wheel_forced(x, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0, p, pushed)
            for j in range(3):
                pushed[j] -= free[j]
        else:
            for j in range(3):
                pushed[j] = free[j]
        # gradients of h (4) and g (5) at v = 0, omega = omega0, times this field
        h = -slip * wheel.cos * pushed[0] - wheel.sin * pushed[1]
        h += (wheel.d * wheel.sin - r * wheel.cos) * pushed[2]
        g = slip * wheel.sin * pushed[0] - wheel.cos * pushed[1]
        g += (wheel.d * wheel.cos + r * wheel.sin) * pushed[2]
        if i == 0:
            rate.h, rate.g = h, g
        elif i == 1:
            rate.h_by_force, rate.g_by_force = h, g
        else:
            rate.h_by_moment, rate.g_by_moment = h, g


@kernel
def turn_and_growth(
    angle: float, side: float, rolling: float, rates: Rates, p: Wheel
) -> tuple[float, float]:
    """Return rho th' and rho' in the direction `angle` on one side of h = 0.

    Parameters
    ----------
    side : +1 or -1, the sign of h; matters where sin(angle) = 0
    rolling : the sign of g; matters where cos(angle) = 0

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_model.py::test_rays_follow_the_field
    """
    sin, cos, rate = math.sin(angle), math.cos(angle), rates[0]
    force, moment = tyre_contact(side, sin, rolling * abs(cos), p)
    # L(th) and G(th), see the module
    lateral = rate.h + rate.h_by_force * force + rate.h_by_moment * moment
    along = rate.g + rate.g_by_force * force + rate.g_by_moment * moment
    return lateral * cos - along * sin, lateral * sin + along * cos


@kernel
def _refined(
    low: float,
    high: float,
    side: float,
    rolling: float,
    rates: Rates,
    p: Wheel,
) -> float:
    """Return the root of rho th' in the bracket, by bisection to the last bit."""
    falling = turn_and_growth(low, side, rolling, rates, p)[0] > 0.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if (turn_and_growth(middle, side, rolling, rates, p)[0] > 0.0) == falling:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _lowest(
    low: float,
    high: float,
    side: float,
    rolling: float,
    rates: Rates,
    p: Wheel,
) -> float:
    """Return the angle of the minimum of sign rho th' in the bracket, by golden section.

    `sign` is the sign of rho th' at `low`. The function is negative between two close roots, so
    that its minimum separates them.
    """
    sign = math.copysign(1.0, turn_and_growth(low, side, rolling, rates, p)[0])
    a = low + _GOLDEN * (high - low)
    b = high - _GOLDEN * (high - low)
    at_a = sign * turn_and_growth(a, side, rolling, rates, p)[0]
    at_b = sign * turn_and_growth(b, side, rolling, rates, p)[0]
    for _ in range(60):
        # a negative value: this point separates both roots
        if min(at_a, at_b) < 0.0:
            break
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = low + _GOLDEN * (high - low)
            at_a = sign * turn_and_growth(a, side, rolling, rates, p)[0]
        else:
            low, a, at_a = a, b, at_b
            b = high - _GOLDEN * (high - low)
            at_b = sign * turn_and_growth(b, side, rolling, rates, p)[0]
    return a if at_a < at_b else b


@kernel
def sector_rays(sector: int, rates: Rates, p: Wheel, scan: Vector, rays: Rays) -> int:
    """Fill `rays` with the rays of a sector; return their number.

    A scan of the sector brackets the roots of rho th'. A minimum of |rho th'| between the nodes of
    the scan is located too, so that both rays of a close pair are found, also next to an end of the
    sector.

    Parameters
    ----------
    sector : 0 to 3, see the module
    scan : (>= 49,) scratch space

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_model.py::test_rays_follow_the_field
    """
    side = 1.0 if sector < 2 else -1.0
    rolling = 1.0 if sector == 0 or sector == 3 else -1.0
    # sectors 2 and 3 begin at -pi and -pi / 2
    begin = 0.5 * math.pi * (sector if sector < 2 else sector - 4)
    step, count = 0.5 * math.pi / _SCAN, 0
    for i in range(_SCAN + 1):
        scan[i] = turn_and_growth(begin + i * step, side, rolling, rates, p)[0]
    for i in range(_SCAN):
        low, high = begin + i * step, begin + (i + 1) * step
        split = high
        if scan[i] * scan[i + 1] > 0.0:
            # no change of sign: two roots may lie next to a node with the smallest |rho th'|, which
            # is between two intervals or at an end of the sector
            inside = i + 1 < _SCAN and scan[i] * scan[i + 2] > 0.0
            inside = inside and abs(scan[i + 1]) <= abs(scan[i])
            inside = inside and abs(scan[i + 1]) < abs(scan[i + 2])
            at_end = i == 0 and abs(scan[0]) < abs(scan[1])
            at_end = at_end or (i + 1 == _SCAN and abs(scan[_SCAN]) <= abs(scan[i]))
            if not (inside or at_end):
                continue
            high += step if inside else 0.0
            split = _lowest(low, high, side, rolling, rates, p)
            if scan[i] * turn_and_growth(split, side, rolling, rates, p)[0] > 0.0:
                continue
        # one root in [low, high], or one on each side of `split`
        for half in range(2 if split < high else 1):
            left = low if half == 0 else split
            right = split if half == 0 else high
            if count == len(rays):
                return count
            rising = turn_and_growth(left, side, rolling, rates, p)[0] < 0.0
            angle = _refined(left, right, side, rolling, rates, p)
            ray = rays[count]
            ray.angle, ray.turning, ray.side = angle, 1.0 if rising else -1.0, side
            ray.growth = turn_and_growth(angle, side, rolling, rates, p)[1]
            count += 1
    return count
