"""Initial states next to the line h = g = 0 of the wheel, for each exit direction: kernels.

On this line neither slip h nor rolling velocity g has a sign, so that force and moment of the tyre
depend on the direction in which a solution leaves. Directions are rays of constant h / g
(`line_kernels`), or sliding on h = 0. `return_map` integrates from these states.

Arguments: `p[0]` has the parameters of the wheel (`parameters.Parameters`), `rates[0]` the rates of
h and g next to the line (`parameters.LineRates`); `rays` and `scan` are scratch.

Source: formulas sheet, section 7.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.laws.tyre_kernels import simplified
from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.wheel.kernels import wheel_forced
from stiction.switching.wheel.line_kernels import MOST_RAYS, line_rates, sector_rays
from stiction.switching.wheel.parameters import LineRates, Rates, Ray, Rays, Wheel

__all__ = [
    "ESCAPE",
    "SLIDE",
    "SLIP_MINUS",
    "SLIP_PLUS",
    "line_entered",
    "line_starts",
    "surface_lie",
]

SLIP_PLUS, SLIP_MINUS, SLIDE, ESCAPE = range(4)
_RATES, _RAY = LineRates.fields_type, Ray.fields_type


@kernel
def _slip(direction: int, rates: Rates, p: Wheel, scan: Vector, rays: Rays) -> tuple[float, float]:
    """Return force and moment on the slip ray out of the line with the largest rho'; NaN for none.

    Parameters
    ----------
    direction : SLIP_PLUS or SLIP_MINUS, the side of h = 0
    """
    wheel = p[0]
    side = 1.0 if direction == SLIP_PLUS else -1.0
    first = 0 if direction == SLIP_PLUS else 2
    best, force, moment = 0.0, math.nan, math.nan
    for sector in range(first, first + 2):
        for j in range(sector_rays(sector, rates, p, scan, rays)):
            if rays[j].growth > best:
                best, angle = rays[j].growth, rays[j].angle
                sin, cos = math.sin(angle), math.cos(angle)
                force, moment = simplified(side, sin, cos, wheel.kappa, wheel.mu)
    return force, moment


@kernel
def _along(direction: int, rates: Rates, p: Wheel) -> tuple[float, float]:
    """Return force and moment of sliding on h = 0 out of the line; NaN for none.

    Parameters
    ----------
    direction : SLIDE in the sliding region, ESCAPE in the escaping region
    """
    wheel, rate = p[0], rates[0]
    for sign in range(2):
        rolling = 1.0 if sign == 0 else -1.0
        a = rate.h_by_force + rolling * wheel.kappa * rate.h_by_moment
        # L+- = h' +- mu a must have opposite signs, a < 0 in sliding and a > 0 in escaping
        if not abs(rate.h) < wheel.mu * abs(a) or (a < 0.0) != (direction == SLIDE):
            continue
        force = -rate.h / a
        moment = rolling * wheel.kappa * force
        if rolling * (rate.g + rate.g_by_force * force + rate.g_by_moment * moment) > 0.0:
            return force, moment
    return math.nan, math.nan


@kernel(allocates=True)
def line_starts(r: Vector, direction: Integers, p: Wheel, distance: float, out: Matrix) -> None:
    """Fill out[i, 4] with a state at a `distance` from (r[i], 0, omega0), and the time to it.

    It is NaN if there is no such exit direction. The fastest of several rays is taken.

    Parameters
    ----------
    direction : (N,) exit directions, numbered as SLIP_PLUS to ESCAPE
    distance : distance along the ray, in the units of the states

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_starts_are_exits_of_the_line
    """
    wheel = p[0]
    x, work, velocity, scan = np.empty(3), np.empty((2, 3)), np.empty(3), np.empty(64)
    rates: Any = np.empty(1, _RATES)
    rays: Any = np.empty(MOST_RAYS, _RAY)
    for i in range(r.size):
        x[0], x[1], x[2] = r[i], 0.0, wheel.omega0
        line_rates(x, p, work, rates)
        if direction[i] == SLIP_PLUS or direction[i] == SLIP_MINUS:
            force, moment = _slip(direction[i], rates, p, scan, rays)
        else:
            force, moment = _along(direction[i], rates, p)
        # force and moment are constant along a ray: next to the line the orbit is straight
        wheel_forced(x, force, moment, p, velocity)
        v_r, v_v, v_w = velocity[0], velocity[1], velocity[2]
        speed = math.sqrt(v_r * v_r + v_v * v_v + v_w * v_w)
        for c in range(3):
            out[i, c] = x[c] + distance * velocity[c] / speed
        out[i, 3] = distance / speed


@kernel(allocates=True)
def line_entered(r: Vector, p: Wheel, out: npt.NDArray[np.bool_]) -> None:
    """Fill out[i] with whether an open set of orbits enters the line at (r[i], 0, omega0).

    This requires an incoming ray that attracts neighbouring directions, in slip or in stick.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_where_orbits_enter_the_line
    """
    wheel = p[0]
    x, work, scan = np.empty(3), np.empty((2, 3)), np.empty(64)
    rates: Any = np.empty(1, _RATES)
    rays: Any = np.empty(MOST_RAYS, _RAY)
    for i in range(r.size):
        x[0], x[1], x[2] = r[i], 0.0, wheel.omega0
        line_rates(x, p, work, rates)
        rate, out[i] = rates[0], False
        # slip: inward, and rho th' decreases through zero
        for sector in range(4):
            for j in range(sector_rays(sector, rates, p, scan, rays)):
                out[i] = out[i] or (rays[j].growth < 0.0 and rays[j].turning < 0.0)
        for sign in range(2):
            rolling = 1.0 if sign == 0 else -1.0
            # stick: sliding (a < 0) with |g| decreasing
            a = rate.h_by_force + rolling * wheel.kappa * rate.h_by_moment
            if a < 0.0 and abs(rate.h) < -wheel.mu * a:
                force = -rate.h / a
                moment = rolling * wheel.kappa * force
                grows = rolling * (rate.g + rate.g_by_force * force + rate.g_by_moment * moment)
                out[i] = out[i] or grows < 0.0


@kernel(allocates=True)
def surface_lie(x: Matrix, p: Wheel, out: Matrix) -> None:
    """Fill out[i, 2] with L+ and L- at points of h = 0, in scaled or physical time.

    Source: formulas sheet, section 3.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_points_of_the_escaping_region
    """
    wheel = p[0]
    velocity, gradient = np.empty(3), np.empty(3)
    for i in range(x.shape[0]):
        r, v, slip = x[i, 0], x[i, 1], x[i, 2] - wheel.omega0
        g = -(v - wheel.d * slip) * wheel.cos + r * slip * wheel.sin
        gradient[0], gradient[1] = -slip * wheel.cos, -wheel.sin
        gradient[2] = wheel.d * wheel.sin - r * wheel.cos
        for side in range(2):
            # on h = 0: F = +-mu and M = sgn(g) kappa F
            force = wheel.mu if side == 0 else -wheel.mu
            wheel_forced(x[i], force, math.copysign(wheel.kappa, g) * force, p, velocity)
            out[i, side] = 0.0
            for c in range(3):
                out[i, side] += gradient[c] * velocity[c]
