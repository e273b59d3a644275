"""Starts next to the line h = g = 0 of the wheel, one per point and way out: kernels."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.laws.tyre_kernels import simplified
from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.wheel.kernels import wheel_forced
from stiction.switching.wheel.line_kernels import MOST_RAYS, line_rates, sector_rays
from stiction.switching.wheel.parameters import (
    ANGLE,
    COS,
    G0,
    GF,
    GM,
    GROWTH,
    KAPPA,
    L0,
    LF,
    LM,
    MU,
    OMEGA,
    OMEGA0,
    SIN,
    TIME,
    TURNING,
    D,
    R,
    V,
)

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


@kernel
def _slip(way: int, rates: Vector, p: Vector, scan: Vector, rays: Matrix) -> tuple[float, float]:
    """Return force and moment along the fastest slip ray out of the line, NaN for none."""
    side = 1.0 if way == SLIP_PLUS else -1.0
    first = 0 if way == SLIP_PLUS else 2
    best, force, moment = 0.0, math.nan, math.nan
    for sector in range(first, first + 2):
        for j in range(sector_rays(sector, rates, p, scan, rays)):
            if rays[j, GROWTH] > best:
                best, angle = rays[j, GROWTH], rays[j, ANGLE]
                force, moment = simplified(side, math.sin(angle), math.cos(angle), p[KAPPA], p[MU])
    return force, moment


@kernel
def _along(way: int, rates: Vector, p: Vector) -> tuple[float, float]:
    """Return force and moment of sliding out of the line on h = 0, NaN where it cannot."""
    for sign in range(2):
        rolling = 1.0 if sign == 0 else -1.0
        a = rates[LF] + rolling * p[KAPPA] * rates[LM]
        if not abs(rates[L0]) < p[MU] * abs(a) or (a < 0.0) != (way == SLIDE):
            continue
        force = -rates[L0] / a
        moment = rolling * p[KAPPA] * force
        if rolling * (rates[G0] + rates[GF] * force + rates[GM] * moment) > 0.0:
            return force, moment
    return math.nan, math.nan


@kernel
def line_starts(r: Vector, way: Integers, p: Vector, far: float, out: Matrix) -> None:
    """Fill out[i, 4] with a state at the distance `far` from (r[i], 0, omega0), and its time.

    NaN where there is no such way out. Of several rays the fastest counts.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_starts_are_exits_of_the_line
    """
    x, rates, work, velocity = np.empty(3), np.empty(6), np.empty((2, 3)), np.empty(3)
    scan, rays = np.empty(64), np.empty((MOST_RAYS, 4))
    for i in range(r.size):
        x[R], x[V], x[OMEGA] = r[i], 0.0, p[OMEGA0]
        line_rates(x, p, work, rates)
        if way[i] == SLIP_PLUS or way[i] == SLIP_MINUS:
            force, moment = _slip(way[i], rates, p, scan, rays)
        else:
            force, moment = _along(way[i], rates, p)
        wheel_forced(x, force, moment, p, velocity)
        v_r, v_v, v_w = velocity[R], velocity[V], velocity[OMEGA]
        speed = math.sqrt(v_r * v_r + v_v * v_v + v_w * v_w)
        for c in range(3):
            out[i, c] = x[c] + far * velocity[c] / speed
        out[i, TIME] = far / speed


@kernel
def line_entered(r: Vector, p: Vector, out: npt.NDArray[np.bool_]) -> None:
    """Fill out[i] with whether an open set of orbits runs into the line at (r[i], 0, omega0).

    That takes a ray into the line which attracts its neighbours, in slip or in stick.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_where_orbits_enter_the_line
    """
    x, rates, work = np.empty(3), np.empty(6), np.empty((2, 3))
    scan, rays = np.empty(64), np.empty((MOST_RAYS, 4))
    for i in range(r.size):
        x[R], x[V], x[OMEGA] = r[i], 0.0, p[OMEGA0]
        line_rates(x, p, work, rates)
        out[i] = False
        for sector in range(4):
            for j in range(sector_rays(sector, rates, p, scan, rays)):
                out[i] = out[i] or (rays[j, GROWTH] < 0.0 and rays[j, TURNING] < 0.0)
        for sign in range(2):
            rolling = 1.0 if sign == 0 else -1.0
            a = rates[LF] + rolling * p[KAPPA] * rates[LM]
            if a < 0.0 and abs(rates[L0]) < -p[MU] * a:
                force = -rates[L0] / a
                moment = rolling * p[KAPPA] * force
                grows = rolling * (rates[G0] + rates[GF] * force + rates[GM] * moment)
                out[i] = out[i] or grows < 0.0


@kernel
def surface_lie(x: Matrix, p: Vector, out: Matrix) -> None:
    """Fill out[i, 2] with L+ and L- at points of h = 0, in scaled or physical time.

    Source: formulas sheet, section 3.
    Verified by: tests/unit/switching/wheel/test_return_map.py::test_points_of_the_escaping_region
    """
    velocity, gradient = np.empty(3), np.empty(3)
    for i in range(x.shape[0]):
        slip = x[i, OMEGA] - p[OMEGA0]
        g = -(x[i, V] - p[D] * slip) * p[COS] + x[i, R] * slip * p[SIN]
        gradient[R], gradient[V] = -slip * p[COS], -p[SIN]
        gradient[OMEGA] = p[D] * p[SIN] - x[i, R] * p[COS]
        for side in range(2):
            force = p[MU] if side == 0 else -p[MU]
            wheel_forced(x[i], force, math.copysign(p[KAPPA], g) * force, p, velocity)
            out[i, side] = 0.0
            for c in range(3):
                out[i, side] += gradient[c] * velocity[c]
