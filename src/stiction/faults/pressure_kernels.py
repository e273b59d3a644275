"""Pore pressure of fluid that is injected at one point of a line and diffuses along it.

Volume per area at rate q, from t = 0 on, in pores of storage S = phi beta: dp/dt = alpha
d2p/dz2 + (q / S) delta(z). The kernels use the mean of p over a cell, whose rate is finite at
all times; that of p at the point is not. With y = z / sqrt(4 alpha t), the integrals of p and
dp/dt from z > 0 to infinity are (2 q t / S) i2erfc(y) and (q / 2 S) erfc(y). The end of injection
is a sink of the same rate from then on.

Source: SEAS benchmark BP6-QD (Lambert and Dunham 2021), eqs. (20), (26) and (27); Carslaw and
Jaeger 1959, Conduction of Heat in Solids, sec. 2.9 and app. II for the integrals i_n erfc.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table
from stiction.numerics.jit import kernel

__all__ = ["Fluid", "pressures"]

Floats = npt.NDArray[np.float64]

# from here on erfc underflows
_FAR = 27.3


class Fluid(Struct):
    """Parameters of an injection in compiled form.

    source : q / S [m/s Pa]
    diffusivity : alpha [m^2/s]
    until : end of injection [s]
    place : distance of the point from the start of the first cell [m]
    width : of a cell [m]
    """

    source: float
    diffusivity: float
    until: float
    place: float
    width: float


@kernel
def _tails(z: float, t: float, diffusivity: float) -> tuple[float, float]:
    """Return 4 t i2erfc(y) / 2 and erfc(y) / 2 of a distance z >= 0 at a time t > 0."""
    y = z / math.sqrt(4.0 * diffusivity * t)
    if y > _FAR:
        return 0.0, 0.0
    beyond = math.erfc(y)
    # i2erfc(y) = ((1 + 2 y^2) erfc(y) - 2 y exp(-y^2) / sqrt(pi)) / 4
    slope = 2.0 * y * math.exp(-y * y) / math.sqrt(math.pi)
    return 0.5 * t * ((1.0 + 2.0 * y * y) * beyond - slope), 0.5 * beyond


@kernel
def _add_source(t: float, sign: float, fluid: Fluid, pressure: Floats, rate: Floats) -> None:
    """Add the pressure of a source (sign 1) or sink (-1) that began a time t > 0 ago."""
    width, alpha = fluid.width, fluid.diffusivity
    strength = sign * fluid.source / width
    left = -fluid.place
    volume_left, flux_left = _tails(abs(left), t, alpha)
    for i in range(pressure.size):
        right = (i + 1.0) * width - fluid.place
        volume, flux = _tails(abs(right), t, alpha)
        if left < 0.0 < right:
            # the cell of the source: the whole volume less both tails
            pressure[i] += strength * (t - volume_left - volume)
            rate[i] += strength * (1.0 - flux_left - flux)
        elif left < 0.0:
            pressure[i] += strength * (volume - volume_left)
            rate[i] += strength * (flux - flux_left)
        else:
            pressure[i] += strength * (volume_left - volume)
            rate[i] += strength * (flux_left - flux)
        left, volume_left, flux_left = right, volume, flux


@kernel
def pressures(t: float, fluid: Table[Fluid], pressure: Floats, rate: Floats) -> None:
    """Set the mean pore pressure of every cell and its rate at time t [s].

    Parameters
    ----------
    fluid : one element
    pressure, rate : (n,) relative to that before injection [Pa], [Pa/s]

    Verified by: tests/exact/test_injection.py::test_the_pressure_diffuses
    """
    for i in range(pressure.size):
        pressure[i] = rate[i] = 0.0
    if t > 0.0:
        _add_source(t, 1.0, fluid[0], pressure, rate)
    if t > fluid[0].until:
        _add_source(t - fluid[0].until, -1.0, fluid[0], pressure, rate)
