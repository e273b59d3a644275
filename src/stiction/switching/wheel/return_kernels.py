"""Starts next to the line h = g = 0 of the wheel, one per point and way out: kernels."""

# NumPy's stubs type a single entry of an array as Any
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.laws.tyre_kernels import simplified
from stiction.numerics.jit import kernel
from stiction.switching.wheel.kernels import wheel_forced
from stiction.switching.wheel.line_kernels import MOST_RAYS, line_rates, sector_rays

__all__ = [
    "ESCAPE",
    "SLIDE",
    "SLIP_MINUS",
    "SLIP_PLUS",
    "line_entered",
    "line_starts",
    "surface_lie",
]

Floats = npt.NDArray[np.float64]

SLIP_PLUS, SLIP_MINUS, SLIDE, ESCAPE = range(4)


@kernel
def _slip(way: int, rates: Floats, p: Floats, scan: Floats, rays: Floats) -> tuple[float, float]:
    """Return force and moment along the fastest slip ray out of the line, NaN for none."""
    side = 1.0 if way == SLIP_PLUS else -1.0
    first = 0 if way == SLIP_PLUS else 2
    best, force, moment = 0.0, math.nan, math.nan
    for sector in range(first, first + 2):
        for j in range(sector_rays(sector, rates, p, scan, rays)):
            if rays[j, 1] > best:
                best, angle = rays[j, 1], rays[j, 0]
                force, moment = simplified(side, math.sin(angle), math.cos(angle), p[10], p[7])
    return force, moment


@kernel
def _along(way: int, rates: Floats, p: Floats) -> tuple[float, float]:
    """Return force and moment of sliding out of the line on h = 0, NaN where it cannot."""
    for sign in range(2):
        rolling = 1.0 if sign == 0 else -1.0
        a = rates[1] + rolling * p[10] * rates[2]
        if not abs(rates[0]) < p[7] * abs(a) or (a < 0.0) != (way == SLIDE):
            continue
        force = -rates[0] / a
        moment = rolling * p[10] * force
        if rolling * (rates[3] + rates[4] * force + rates[5] * moment) > 0.0:
            return force, moment
    return math.nan, math.nan


@kernel
def line_starts(r: Floats, way: npt.NDArray[np.int64], p: Floats, far: float, out: Floats) -> None:
    """Fill out[i, 4] with a state at the distance `far` from (r[i], 0, omega0), and its time.

    NaN where there is no such way out. Of several rays the fastest counts.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_starts_are_exits_of_the_line
    """
    x, rates, work, velocity = np.empty(3), np.empty(6), np.empty((2, 3)), np.empty(3)
    scan, rays = np.empty(64), np.empty((MOST_RAYS, 4))
    for i in range(r.size):
        x[0], x[1], x[2] = r[i], 0.0, p[6]
        line_rates(x, p, work, rates)
        if way[i] == SLIP_PLUS or way[i] == SLIP_MINUS:
            force, moment = _slip(way[i], rates, p, scan, rays)
        else:
            force, moment = _along(way[i], rates, p)
        wheel_forced(x, force, moment, p, velocity)
        speed = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
        for c in range(3):
            out[i, c] = x[c] + far * velocity[c] / speed
        out[i, 3] = far / speed


@kernel
def line_entered(r: Floats, p: Floats, out: npt.NDArray[np.bool_]) -> None:
    """Fill out[i] with whether an open set of orbits runs into the line at (r[i], 0, omega0).

    That takes a ray into the line which attracts its neighbours, in slip or in stick.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_where_orbits_enter_the_line
    """
    x, rates, work = np.empty(3), np.empty(6), np.empty((2, 3))
    scan, rays = np.empty(64), np.empty((MOST_RAYS, 4))
    for i in range(r.size):
        x[0], x[1], x[2] = r[i], 0.0, p[6]
        line_rates(x, p, work, rates)
        out[i] = False
        for sector in range(4):
            for j in range(sector_rays(sector, rates, p, scan, rays)):
                out[i] = out[i] or (rays[j, 1] < 0.0 and rays[j, 2] < 0.0)
        for sign in range(2):
            rolling = 1.0 if sign == 0 else -1.0
            a = rates[1] + rolling * p[10] * rates[2]
            if a < 0.0 and abs(rates[0]) < -p[7] * a:
                force = -rates[0] / a
                moment = rolling * p[10] * force
                grows = rolling * (rates[3] + rates[4] * force + rates[5] * moment)
                out[i] = out[i] or grows < 0.0


@kernel
def surface_lie(x: Floats, p: Floats, out: Floats) -> None:
    """Fill out[i, 2] with L+ and L- at points of h = 0, in scaled or physical time.

    Source: formulas sheet, section 3.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_points_of_the_escaping_region
    """
    velocity, gradient = np.empty(3), np.empty(3)
    for i in range(x.shape[0]):
        slip = x[i, 2] - p[6]
        g = -(x[i, 1] - p[0] * slip) * p[9] + x[i, 0] * slip * p[8]
        gradient[0], gradient[1], gradient[2] = -slip * p[9], -p[8], p[0] * p[8] - x[i, 0] * p[9]
        for side in range(2):
            force = p[7] if side == 0 else -p[7]
            wheel_forced(x[i], force, math.copysign(p[10], g) * force, p, velocity)
            out[i, side] = 0.0
            for c in range(3):
                out[i, side] += gradient[c] * velocity[c]
