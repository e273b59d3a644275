"""Starting points of the searches of a fit: a Latin hypercube over estimated ranges.

The range of each parameter is estimated from the data, for example that of a coefficient of
friction from quantiles of force / normal force. `search.best` calls `candidates`.

A range, `Span`, is (lowest value, highest value).
Source: McKay, Beckman, Conover 1979 (Latin hypercubes).
"""

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

# phase of a vibration between two rows, of the lightest mass of a start [rad]; rows do not show
# faster vibrations. Phase in the whole test, of the heaviest mass. Both were chosen
_MOST_PHASE, _LEAST_PHASE = math.log(10.0), 30.0


def candidates(
    parameters: Sequence[Parameter],
    coordinates: Coordinates,
    curves: Sequence[Curve],
    count: int,
    seed: int,
) -> Floats:
    """Return (count, n) coordinates of starting points; the first one is the centre of the ranges.

    Parameters
    ----------
    parameters, coordinates : the n fitted parameters, and the map to their coordinates
    curves : the measured curves
    count, seed : number of points, and seed of the random numbers

    Verified by: tests/unit/fits/test_starts.py::test_starts_lie_within_the_bounds
    """
    from scipy.stats import qmc

    spans = _spans(parameters, curves)
    n = len(parameters)
    draws = qmc.LatinHypercube(d=n, rng=np.random.default_rng(seed)).random(count)
    draws[0] = 0.5
    made = np.empty((count, n))
    low, high = coordinates.bounds()
    peak = _peak(curves)
    for row, draw in zip(made, draws, strict=True):
        values = np.array(
            [
                _between(spans[q.name], u, q.logarithmic)
                for q, u in zip(parameters, draw, strict=True)
            ]
        )
        _scale_bouc_wen(parameters, coordinates.fixed, values, peak)
        row[:] = np.clip(coordinates.coordinates(values), low, np.where(high > low, high, low))
    return made


def _between(span: Span, u: float, logarithmic: bool) -> float:
    """Return the value at the fraction u of a range, of its logarithm if `logarithmic`."""
    low, high = span
    if logarithmic and low > 0.0:
        return float(low * (high / low) ** u)
    return low + (high - low) * u


def _scale_bouc_wen(
    parameters: Sequence[Parameter], fixed: Mapping[str, float], values: Floats, peak: float
) -> None:
    """Scale beta and gamma of Bouc-Wen, which `_ranges` gives without units.

    values (n,) are changed in place; `peak` is the largest coefficient of friction. In steady slip
    mu = sigma0 (a / (beta + gamma))^(1/power), so beta is divided by a (sigma0 / peak)^power, and
    gamma by beta.
    """
    place = {q.field: i for i, q in enumerate(parameters)}

    def value(field: str) -> float:
        return float(values[place[field]] if field in place else fixed[field])

    def drawn(field: str) -> bool:
        return field in place and parameters[place[field]].start is None

    if not {"sigma0", "a", "beta", "gamma", "power"} <= place.keys() | fixed.keys():
        return
    if drawn("beta"):
        scale = value("a") * (value("sigma0") / peak) ** value("power")
        # a given gamma is a lower bound of beta
        least = 0.0 if "gamma" in place else abs(fixed["gamma"])
        values[place["beta"]] = max(values[place["beta"]] * scale, least)
    if drawn("gamma"):
        values[place["gamma"]] *= value("beta")


def _spans(parameters: Sequence[Parameter], curves: Sequence[Curve]) -> Mapping[str, Span]:
    """Return {name: (low, high)}, the range of starting values of each parameter."""
    estimated = _ranges(curves)
    spans = {}
    for q in parameters:
        # zero has no logarithm, and is no starting value
        if q.start is not None and (q.start != 0.0 or not q.logarithmic):
            spans[q.name] = _around(q)
            continue
        # of a field of a user's law nothing is known
        spans[q.name] = _within(estimated.get(q.field, (0.0, 1.0)), q.low, q.high)
    return spans


def _within(span: Span, low: float, high: float) -> Span:
    """Return the part of a range between bounds; if there is none, a range next to a bound."""
    if max(span[0], low) < min(span[1], high):
        return max(span[0], low), min(span[1], high)
    if span[1] <= low:
        return low, min(high, low + max(span[1] - span[0], 9.0 * abs(low)))
    return max(low, high - max(span[1] - span[0], 0.9 * abs(high))), high


def _around(q: Parameter) -> Span:
    """Return a range about a starting value that the user gave; its factors were chosen."""
    start = float(q.start or 0.0)
    if q.logarithmic and start > 0.0:
        return start / 3.0, start * 3.0
    wide = abs(start) * 0.6
    return max(start - wide, q.low), min(start + wide, q.high)


def _ranges(curves: Sequence[Curve]) -> dict[str, Span]:
    """Return {field: (low, high)}, ranges of every field that are estimated from the data.

    Each range surrounds an estimate: the peak `top` and the 60 % quantile `usual` of |force| /
    normal force, slip speeds, the spacing `fine` and the length `path` of displacements, and the
    spacing `tick` and the duration of times. All factors were chosen. They do not bound the search,
    which may leave a range.
    """
    ratio = np.concatenate([_ratio(c) for c in curves])
    size = np.abs(ratio)
    top, usual, mean = _peak(curves), np.quantile(size, 0.6), float(np.mean(ratio))
    normal = float(np.mean([np.mean(np.asarray(c.normal_force)) for c in curves]))
    force = np.concatenate([np.asarray(c.force) for c in curves])
    speeds = np.concatenate([np.abs(c.speeds()) for c in curves])
    moving = speeds[np.isfinite(speeds) & (speeds > 0.0)]
    slow, fast = (np.quantile(moving, 0.02), moving.max()) if moving.size else (1e-3, 1.0)
    steps = np.concatenate([np.abs(c.steps()[1:]) for c in curves])
    fine = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 1e-6
    # without motion the data do not depend on this length, and any value serves
    path = max(float(np.ptp(np.cumsum(c.steps()))) for c in curves) or fine
    duration = max(float(np.ptp(c.clock)) for c in curves)
    tick = min(float(np.min(np.diff(c.clock))) for c in curves)
    stiff = _stiffness(curves)
    drift = float(np.ptp(force)) / duration
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
        # see `_scale_bouc_wen`; gamma lies between -beta and beta
        "beta": (0.5, 1.0),
        "gamma": (-0.4, 0.8),
        "a": (0.002 * top, 0.05 * top),
        "b": (0.002 * top, 0.05 * top),
        "time": (tick, duration),
        "length": (2.0 * fine, 0.3 * path),
        "stiffness": (0.5 * stiff, 2.0 * stiff),
        "mass": (stiff * (tick / _MOST_PHASE) ** 2, stiff * (duration / _LEAST_PHASE) ** 2),
        "offset": (mean * normal - 0.1 * np.ptp(force), mean * normal + 0.1 * np.ptp(force)),
        "drift": (-0.2 * drift, 0.2 * drift),
        "force_start": (force[0] - 0.1 * np.ptp(force), force[0] + 0.1 * np.ptp(force)),
    }


def _peak(curves: Sequence[Curve]) -> float:
    """Return the 97 % quantile of |force| / normal force of all rows [1]."""
    return float(np.quantile(np.abs(np.concatenate([_ratio(c) for c in curves])), 0.97))


def _ratio(curve: Curve) -> Floats:
    """Return force / normal force [1]; if it has both signs, minus its midrange."""
    ratio = np.asarray(curve.force) / np.asarray(curve.normal_force)
    low, high = np.quantile(ratio, [0.02, 0.98])
    return np.asarray(ratio - 0.5 * (low + high) if low * high < 0.0 else ratio)


def _stiffness(curves: Sequence[Curve]) -> float:
    """Return the 95 % quantile of the slope of force over displacement [N/m]."""
    stiffness = 0.0
    for curve in curves:
        x, f = np.cumsum(curve.steps()), np.asarray(curve.force)
        wide = max(2, curve.rows // 100)
        rise, travel = f[wide:] - f[:-wide], x[wide:] - x[:-wide]
        moved = np.abs(travel) > 1e-9 * max(float(np.ptp(x)), 1e-300)
        if moved.any():
            stiffness = max(stiffness, float(np.quantile(rise[moved] / travel[moved], 0.95)))
    return stiffness if stiffness > 0.0 else 1.0
