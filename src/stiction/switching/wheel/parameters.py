"""Structs of the kernels of the wheel: parameters, and rates near the line h = g = 0."""

from __future__ import annotations

from stiction.numerics.arrays import Struct, Table

__all__ = ["N_SURFACES", "LineRates", "Parameters", "Rates", "Ray", "Rays", "Wheel"]


class Parameters(Struct):
    """Numbers of a wheel, see `model.WheelOnTurntable` and `laws.StretchedString`, in one element.

    sin, cos : of gamma
    physical_time, c1_between_disks : 0 or 1
    psi0, share : functions of kappa, computed once
    half_length : 0 without a string
    """

    d: float
    m: float
    c1: float
    c2: float
    beta: float
    r0: float
    omega0: float
    mu: float
    sin: float
    cos: float
    kappa: float
    k2: float
    physical_time: float
    c1_between_disks: float
    psi0: float
    share: float
    stiffness: float
    max_pressure: float
    kinetic_ratio: float
    relaxation: float
    half_length: float


# of the switching function, and of the kinks: the rolling velocity, and the two borders of the
# regimes of a string
N_SURFACES = 4


class LineRates(Struct):
    """Rates of h and g next to the line h = g = 0: without contact, by force, and by moment."""

    h: float
    h_by_force: float
    h_by_moment: float
    g: float
    g_by_force: float
    g_by_moment: float


class Ray(Struct):
    """A ray out of the line or into it.

    angle : of the direction (h, g) = rho (sin, cos) [rad]
    growth : rho' there
    turning : sign of the slope of rho th'
    side : sign of h
    """

    angle: float
    growth: float
    turning: float
    side: float


Wheel = Table[Parameters]
Rates = Table[LineRates]
Rays = Table[Ray]
