"""Initial data of two strings, stored as outgoing waves of the contact before t = 0.

u(x, t) is the displacement of a string, c its wave speed, x = s the contact point.
d'Alembert's waves R = u_t - c u_x and L = u_t + c u_x at t = 0 are functions of the coordinates of
their characteristics, xi = t - x/c and eta = t + x/c. They are stored in smooth intervals between
corners of the data. So the method of characteristics needs no separate initial phase. At fixed
ends the data are continued by reflection with opposite sign. `characteristics.Path` calls
`initial_waves` once.

`harmonic_start` starts the harmonic that `characteristics` integrates by Duhamel's formula.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from stiction.rods.strings.model import RollingStrings

__all__ = ["WavePoints", "breakpoints", "harmonic_start", "initial_waves"]

Floats = npt.NDArray[np.float64]
# coordinates (4, n) of characteristics, and values (4, n) of the wave, at four points of n cubics
WavePoints = tuple[Floats, Floats]

_THIRDS = np.array([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0])[:, None]


def initial_waves(system: RollingStrings, i: int, step: float) -> list[list[WavePoints]]:
    """Return the waves R and L of string i: for each, the points of smooth intervals in order.

    Beyond fixed ends the waves are continued by reflection with opposite sign, so that all incoming
    waves of the first delay are stored.

    i : 0 for u, 1 for v
    step : largest length of a cubic, in time
    """
    c, length, s = system.speeds[i], system.lengths[i], (system.s1, system.s2)[i]
    breaks = breakpoints(system, i)
    if system.ends == "periodic":
        # R(xi) at x = -c xi, from s + length down to s; L(eta) at x = c eta, from s - length up
        right = _smooth_intervals(
            system, i, -1, -s - length, -s, np.concatenate([-breaks, -breaks - length])
        )
        left = _smooth_intervals(
            system, i, 1, s - length, s, np.concatenate([breaks, breaks - length])
        )
    else:
        # R at x from s to 2 l - s, and L at x from -s to s; outside 0 < x < l by reflection
        mirrored = np.concatenate([-breaks, breaks - 2.0 * length])
        right = _smooth_intervals(system, i, -1, s - 2.0 * length, -s, mirrored)
        left = _smooth_intervals(system, i, 1, -s, s, np.concatenate([breaks, -breaks]))
    # no cubic is shorter than 1e-7 of the string, so that their number is bounded
    per_step = max(step, length / c / 1e7)
    return [[_points(wave, c, per_step) for wave in side] for side in (right, left)]


def breakpoints(system: RollingStrings, i: int) -> Floats:
    """Return the ends of string i and the corners of its data between them."""
    length = system.lengths[i]
    shapes = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
    corners = [shape.corners(length, system.ends) for shape in shapes if shape is not None]
    inner = np.concatenate([np.empty(0), *corners])
    inner = inner[(inner > 0.0) & (inner < length)]
    return np.unique(np.concatenate([[0.0, length], inner]))


class _SmoothWave:
    """A wave on a smooth interval a < b of c times the coordinate of its characteristics."""

    def __init__(self, system: RollingStrings, i: int, sign: int, a: float, b: float) -> None:
        self.system, self.i, self.sign, self.a, self.b = system, i, sign, a, b

    def __call__(self, z: Floats) -> Floats:
        """Return the wave at z = c times the coordinate; at an end, the inner limit."""
        length = self.system.lengths[self.i]
        # inside by some roundings, so that a shape with a jump at an end returns its inner limit
        inset = 1e-14 * length
        z = np.clip(z, self.a + inset, self.b - inset)
        if self.system.ends == "periodic":
            x = np.mod(self.sign * z, length)
            return self._data(x, self.sign)
        if self.sign > 0:
            return np.where(z < 0.0, -self._data(np.abs(z), -1), self._data(np.abs(z), 1))
        beyond = z < -length
        x = np.where(beyond, 2.0 * length + z, -z)
        return np.where(beyond, -self._data(x, 1), self._data(x, -1))

    def _data(self, x: Floats, sign: int) -> Floats:
        """Return u_t + sign c u_x at x and t = 0: L for +1, R for -1."""
        system, i = self.system, self.i
        c, length, ends = system.speeds[i], system.lengths[i], system.ends
        shape, velocity = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
        x = np.clip(x, 0.0, length)
        y = np.zeros(x.shape)
        if velocity is not None:
            y = y + velocity.value(x, length, ends)
        if shape is not None:
            y = y + sign * c * shape.slope(x, length, ends)
        return y


def _smooth_intervals(
    system: RollingStrings, i: int, sign: int, a: float, b: float, breaks: Floats
) -> list[_SmoothWave]:
    """Return the smooth waves on a < z < b between the breakpoints."""
    inner = breaks[(breaks > a) & (breaks < b)]
    edges = np.unique(np.concatenate([[a, b], inner]))
    # breakpoints that differ by rounding count once
    distinct = np.append(np.diff(edges) > 1e-12 * system.lengths[i], True)
    edges = edges[distinct]
    edges[0] = a
    return [_SmoothWave(system, i, sign, lo, hi) for lo, hi in itertools.pairwise(edges.tolist())]


def _points(wave: _SmoothWave, c: float, step: float) -> WavePoints:
    """Return four points of each cubic of a wave; cubics have at most the length `step`."""
    count = max(1, int(np.ceil((wave.b - wave.a) / (c * step))))
    edges = np.linspace(wave.a, wave.b, count + 1)
    z = edges[:-1] + _THIRDS * np.diff(edges)
    return z / c, wave(z)


def harmonic_start(system: RollingStrings, i: int, step: float) -> tuple[float, float]:
    """Return (2/l) times the integrals of shape and velocity with sin(2 pi x / l), at the start.

    Each smooth interval has 64 panels of 12 Gauss points or more, none wider than 4 cubics of
    length `step`.
    """
    c, length = system.speeds[i], system.lengths[i]
    widest = 4.0 * max(c * step, 1e-7 * length)
    shape, velocity = (system.u0, system.u_t0) if i == 0 else (system.v0, system.v_t0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    breaks = breakpoints(system, i)
    panels = [
        np.linspace(a, b, max(64, int(np.ceil((b - a) / widest))) + 1)[:-1]
        for a, b in itertools.pairwise(breaks)
    ]
    edges = np.concatenate([*panels, breaks[-1:]])
    half = 0.5 * np.diff(edges)
    x = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    weight = (2.0 / length) * half[:, None] * weights * np.sin(2.0 * np.pi * x / length)
    coefficients = []
    for one in (shape, velocity):
        y = np.zeros(x.size) if one is None else one.value(x.ravel(), length, system.ends)
        coefficients.append(float(np.sum(weight * y.reshape(x.shape))))
    return coefficients[0], coefficients[1]
