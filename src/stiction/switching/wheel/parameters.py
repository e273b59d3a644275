"""Structs for the kernels of the wheel on a turntable (`model`).

They hold its parameters, and rates and rays near the line h = g = 0 on which lateral and rolling
velocity of the wheel vanish together. A rate is a derivative by the time of the run, which is the
time t [s] if `physical_time` is 1, else the scaled time tau. `line_kernels` fills the structs of
rates and rays.
"""

from __future__ import annotations

from stiction.numerics.arrays import Struct, Table

__all__ = ["N_SURFACES", "LineRates", "Parameters", "Rates", "Ray", "Rays", "Wheel"]


class Parameters(Struct):
    """Numbers of a wheel, see `model.WheelOnTurntable` and `laws.StretchedString`, in one element.

    sin, cos : sine and cosine of gamma
    physical_time, c1_between_disks : 0 or 1
    psi0, share : arccot(6 kappa), and 1 - 2 psi0 / pi, of the paper's tyre law
    half_length : half the length of the contact patch of a string, 0 for the paper's law
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


# number of values of `wheel_surface`: the switching function h, the rolling velocity g, and the two
# boundaries between the regimes of a string
N_SURFACES = 4


class LineRates(Struct):
    """Rates h' and g' next to the line h = g = 0.

    h, g : rates without contact force [m/s per time unit]
    h_by_force, g_by_force : their change per newton of friction force
    h_by_moment, g_by_moment : their change per newton metre of friction moment
    """

    h: float
    h_by_force: float
    h_by_moment: float
    g: float
    g_by_force: float
    g_by_moment: float


class Ray(Struct):
    """A ray out of the line or into it: an invariant direction of (h, g).

    angle : angle th of the direction, (h, g) = rho (sin th, cos th) [rad]
    growth : rho' along the ray, positive out of the line
    turning : sign of the derivative of rho th' by th; the ray attracts directions if it is negative
    side : sign of h
    """

    angle: float
    growth: float
    turning: float
    side: float


Wheel = Table[Parameters]
Rates = Table[LineRates]
Rays = Table[Ray]
