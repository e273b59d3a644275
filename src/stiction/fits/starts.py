"""Where searches begin: places that the data themselves suggest, and others around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stiction.fits.curves.curve import Curve
from stiction.fits.parameters import Coordinates, Parameter

__all__ = ["candidates"]

Floats = npt.NDArray[np.float64]
Span = tuple[float, float]

_DECADE = math.log(10.0)


def candidates(
    parameters: Sequence[Parameter],
    coordinates: Coordinates,
    curves: Sequence[Curve],
    count: int,
    seed: int,
) -> Floats:
    """Return (count, n) coordinates: the first from what was given, others spread around.

    Verified by: tests/unit/fits/test_starts.py::test_starts_lie_within_the_bounds
    """
    from scipy.stats import qmc

    spans = _spans(parameters, curves)
    n = len(parameters)
    draws = qmc.LatinHypercube(d=n, rng=np.random.default_rng(seed)).random(count)
    draws[0] = 0.5
    made = np.empty((count, n))
    low, high = coordinates.bounds()
    for row, draw in zip(made, draws, strict=True):
        values = np.array(
            [
                _between(spans[q.name], u, q.logarithmic)
                for q, u in zip(parameters, draw, strict=True)
            ]
        )
        _dependent(parameters, values, draw)
        row[:] = np.clip(coordinates.coordinates(values), low, np.where(high > low, high, low))
    return made


def _between(span: Span, u: float, logarithmic: bool) -> float:
    low, high = span
    if logarithmic and low > 0.0:
        return float(low * (high / low) ** u)
    return low + (high - low) * u


def _dependent(parameters: Sequence[Parameter], values: Floats, draw: Floats) -> None:
    """Set what is known from the others: the level of a loop, the mass of a vibration."""
    place = {q.field: i for i, q in enumerate(parameters)}
    if "beta" in place and parameters[place["beta"]].start is None and "gamma" in place:
        # the level was put into beta for sigma0 = 1 by `_spans`
        i, g = place["beta"], place["gamma"]
        if "sigma0" in place:
            values[i] *= values[place["sigma0"]]
        if parameters[g].start is None:
            values[g] = values[i] * (1.2 * draw[g] - 0.4)


def _spans(parameters: Sequence[Parameter], curves: Sequence[Curve]) -> Mapping[str, Span]:
    """Return the range of each parameter over which searches begin."""
    told = _told(curves)
    found = {}
    for q in parameters:
        if q.start is not None:
            found[q.name] = _around(q)
            continue
        span = told.get(q.field, (0.0, 1.0))
        low, high = max(span[0], q.low), min(span[1], q.high)
        found[q.name] = (low, high) if low < high else (max(q.low, -1e300), min(q.high, 1e300))
    return found


def _around(q: Parameter) -> Span:
    start = float(q.start or 0.0)
    if q.logarithmic and start > 0.0:
        return start / 3.0, start * 3.0
    wide = abs(start) * 0.6
    return max(start - wide, q.low), min(start + wide, q.high)


def _told(curves: Sequence[Curve]) -> dict[str, Span]:
    """Return what the data say of the size of every field."""
    ratio = np.concatenate([_ratio(c) for c in curves])
    size = np.abs(ratio)
    top, usual, mean = np.quantile(size, 0.97), np.quantile(size, 0.6), float(np.mean(ratio))
    normal = float(np.mean([np.mean(np.asarray(c.normal_force)) for c in curves]))
    force = np.concatenate([np.asarray(c.force) for c in curves])
    speeds = np.concatenate([np.abs(c.speeds()) for c in curves])
    moving = speeds[np.isfinite(speeds) & (speeds > 0.0)]
    slow, fast = (np.quantile(moving, 0.02), moving.max()) if moving.size else (1e-3, 1.0)
    steps = np.concatenate([np.abs(c.steps()[1:]) for c in curves])
    fine = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 1e-6
    # where nothing moved, some length: data say nothing of what depends on it
    path = max(float(np.ptp(np.cumsum(c.steps()))) for c in curves) or fine
    lasts = max(float(np.ptp(c.clock)) for c in curves)
    tick = min(float(np.min(np.diff(c.clock))) for c in curves)
    stiff = _stiffness(curves)
    drift = float(np.ptp(force)) / lasts
    return {
        "mu": (0.4 * usual, 1.3 * top),
        "mu0": (0.7 * usual, 1.2 * top),
        "mu_kinetic": (0.3 * usual, 1.1 * usual),
        "mu_static": (0.9 * usual, 1.4 * top),
        "mu_fresh": (0.4 * usual, 1.1 * usual),
        "growth": (0.002 * top, 0.15 * top),
        "v_scale": (0.5 * slow, max(0.7 * fast, slow)),
        "viscous": (0.0, 0.5 * top / fast),
        "sigma2": (0.0, 0.5 * top / fast),
        "sigma1": (0.0, 0.5 * top / fast),
        "sigma0": (2.0 * top / path, 2.0 * top / fine),
        "beta": (0.5 / top, 1.0 / top),
        "gamma": (-0.5 / top, 0.5 / top),
        "a": (0.002 * top, 0.05 * top),
        "b": (0.002 * top, 0.05 * top),
        "time": (tick, lasts),
        "length": (2.0 * fine, 0.3 * path),
        "stiffness": (0.5 * stiff, 2.0 * stiff),
        "mass": (stiff * (tick / _DECADE) ** 2, stiff * (lasts / 30.0) ** 2),
        "offset": (mean * normal - 0.1 * np.ptp(force), mean * normal + 0.1 * np.ptp(force)),
        "drift": (-0.2 * drift, 0.2 * drift),
        "force_start": (force[0] - 0.1 * np.ptp(force), force[0] + 0.1 * np.ptp(force)),
    }


def _ratio(curve: Curve) -> Floats:
    """Return the force over the normal force, its middle taken out where it has both signs."""
    ratio = np.asarray(curve.force) / np.asarray(curve.normal_force)
    low, high = np.quantile(ratio, [0.02, 0.98])
    return np.asarray(ratio - 0.5 * (low + high) if low * high < 0.0 else ratio)


def _stiffness(curves: Sequence[Curve]) -> float:
    """Return the steepest rise of the force over the displacement that lasts [N/m]."""
    found = 0.0
    for curve in curves:
        x, f = np.cumsum(curve.steps()), np.asarray(curve.force)
        wide = max(2, curve.rows // 100)
        rise, way = f[wide:] - f[:-wide], x[wide:] - x[:-wide]
        moved = np.abs(way) > 1e-9 * max(float(np.ptp(x)), 1e-300)
        if moved.any():
            found = max(found, float(np.quantile(rise[moved] / way[moved], 0.95)))
    return found if found > 0.0 else 1.0
