"""Pore pressure p of fluid that is injected at one point of a line and diffuses along it.

Diffusion equation: dp/dt = alpha d2p/dz2 + (q / S) delta(z), with diffusivity alpha [m^2/s],
injection rate q per area from t = 0 on [m/s], and storage S, porosity times compressibility [1/Pa].
The kernels return the mean of p over a cell, because its rate is finite at all times; dp/dt at the
injection point is infinite at t = 0. With y = z / sqrt(4 alpha t), the integrals of p and dp/dt
from z > 0 to infinity are (2 q t / S) i2erfc(y) and (q / 2 S) erfc(y), where i2erfc is the twice
iterated integral of erfc. The end of injection is a sink of the same rate from then on.

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

# erfc of larger numbers underflows: exp(-27.3^2) = 1e-324
_FAR = 27.3
# time after the start of a source that stands for its limit zero, by which kernels divide [s]
_SOON = 1e-300


class Fluid(Struct):
    """Parameters of an injection, as kernels use them.

    source : q / S [m/s Pa]
    diffusivity : alpha [m^2/s]
    until : end of injection [s]
    place : distance of the injection point from the start of the first cell [m]
    width : of a cell [m]
    """

    source: float
    diffusivity: float
    until: float
    place: float
    width: float


@kernel
def _tails(z: float, t: float, diffusivity: float) -> tuple[float, float]:
    """Return 2 t i2erfc(y) [s] and erfc(y) / 2 [1] at a distance z >= 0 [m] and a time t > 0 [s].

    Times q / S they are the integrals of p and dp/dt over all distances beyond z.
    """
    y = z / math.sqrt(4.0 * diffusivity * t)
    if y > _FAR:
        return 0.0, 0.0
    erfc = math.erfc(y)
    # i2erfc(y) = ((1 + 2 y^2) erfc(y) - 2 y exp(-y^2) / sqrt(pi)) / 4
    gaussian = 2.0 * y * math.exp(-y * y) / math.sqrt(math.pi)
    return 0.5 * t * ((1.0 + 2.0 * y * y) * erfc - gaussian), 0.5 * erfc


@kernel
def _add_source(t: float, sign: float, fluid: Fluid, pressure: Floats, rate: Floats) -> None:
    """Add to (n,) pressures [Pa] and rates [Pa/s] those of a source that began a time t > 0 ago.

    The mean over a cell is the difference of the tail integrals at its two ends over its width.
    `sign` is 1 for a source, -1 for a sink.
    """
    width, alpha = fluid.width, fluid.diffusivity
    strength = sign * fluid.source / width
    left = -fluid.place
    volume_left, flux_left = _tails(abs(left), t, alpha)
    for i in range(pressure.size):
        right = (i + 1.0) * width - fluid.place
        volume, flux = _tails(abs(right), t, alpha)
        if left < 0.0 < right:
            # the cell of the source: all injected volume less both tails
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
def pressures(t: float, after: bool, fluid: Table[Fluid], pressure: Floats, rate: Floats) -> None:
    """Set the mean pore pressure of every cell and its rate at time t [s].

    Parameters
    ----------
    after : whether the rate at the start and at the end of injection, where it jumps, is that
        thereafter
    fluid : one element
    pressure, rate : (n,) output: pressure relative to that before injection, its rate [Pa], [Pa/s]

    Verified by: tests/exact/test_injection.py::test_the_pressure_diffuses
    """
    for i in range(pressure.size):
        pressure[i] = rate[i] = 0.0
    # superposition of the source from t = 0 on and of a sink from the end of injection on
    for begin, sign in ((0.0, 1.0), (fluid[0].until, -1.0)):
        since = t - begin
        if since > 0.0 or (after and since == 0.0):
            _add_source(max(since, _SOON), sign, fluid[0], pressure, rate)
