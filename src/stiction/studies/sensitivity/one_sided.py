"""One-sided derivatives at parameters where a run has no derivative, such as coinciding events.

On each side of such a parameter value the order of events is fixed and the run is smooth. The
one-sided derivative is the limit of the derivatives of runs on that side. The derivatives at four
distances are extrapolated to distance zero, as polynomials of the distance, or of its square root
beside a grazing. The limit is accepted if two extrapolations of different order agree.

Source: Deuflhard, Bornemann 2008, section 4.3 (extrapolation to the limit); di Bernardo, Budd,
Champneys, Kowalczyk 2008, section 4.1 (square root at a grazing).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.tangents import Tangents
from stiction.errors import ModelError, SolveError

__all__ = ["both_sides", "one_sided_derivatives"]

Floats = npt.NDArray[np.float64]

# kinds of failures on each side of which a run is smooth
_KINDS = (
    *("grazing", "degenerate thresholds", "event at a breakpoint", "event at the end"),
    *("start on the surface", "start on a surface", "codimension-2 intersection"),
)
# distances, as fractions of the value; a shorter one is used if the order of events changes between
# the runs, or if a value is not admissible. The absolute distances from zero, whose size is not
# known, have three more
_DISTANCES, _FROM_ZERO = (1e-4, 1e-5, 1e-6), (1e-8, 1e-10, 1e-12)
_POINTS = np.array([1.0, 2.0, 4.0, 8.0])
# relative tolerances: agreement of two extrapolations; continuity of the values at the run itself
_AGREE, _CONTINUOUS = 1e-7, 1e-6
# least sizes of derivatives and of values, over the largest one of the same kind
_SMALL_SLOPE, _SMALL_VALUE = 1e-3, 1e-6


def one_sided_derivatives(
    system: Any, method: Any, span: tuple[float, float], found: Tangents, name: str, side: float
) -> Floats | None:
    """Return the derivatives with respect to `name` towards larger (side 1) or smaller values (-1).

    Parameters
    ----------
    found : the run that has no derivative with respect to `name`

    Returns
    -------
    (k,) derivatives of the final state, of the times of events and of the other quantities; NaN for
    those that do not exist; None if no derivative exists.

    Verified by: tests/unit/studies/test_one_sided.py::test_two_masses_that_slip_together
    """
    if not all(one.kind in _KINDS for one in found.failures):
        return None
    value = system.parameter(name)
    alike = _Alike(system, found)
    for distance in _DISTANCES if value else (*_DISTANCES, *_FROM_ZERO):
        step = side * distance * (abs(value) or 1.0)
        try:
            runs = [
                system.with_parameter(name, value + p * step).tangents(method, span, (name,))
                for p in _POINTS
            ]
        except (ModelError, SolveError):
            # the model does not admit a value at this distance, or on this side
            continue
        orders = {run.order for run in runs}
        if len(orders) > 1 or any(run.failures for run in runs):
            continue
        slopes = np.array([_columns(run, len(found.events))[1] for run in runs])
        values = np.array([_columns(run, len(found.events))[0] for run in runs])
        limits = _limits(slopes, alike)
        known = _columns(found, len(found.events))[0]
        limits[~_continuous(known, values, alike)] = np.nan
        if not np.isnan(limits).all():
            return limits
    return None


class _Alike:
    """Numbers of a run that share a scale: its state, its times, quantities of one unit."""

    def __init__(self, system: Any, found: Tangents) -> None:
        units = sorted({q.unit for q in found.quantities})
        kinds = [0] * found.final.size + [1] * len(found.events)
        self.kinds = np.array([*kinds, *(2 + units.index(q.unit) for q in found.quantities)])
        self.scales = np.ones(self.kinds.size)
        self.scales[: found.final.size] = system.start_scales

    def at_least(self, sizes: Floats, fraction: float) -> Floats:
        """Return sizes (k,) that are at least a fraction of the largest one of their kind."""
        relative = np.nan_to_num(sizes / self.scales)
        largest = np.zeros(self.kinds.max(initial=0) + 1)
        np.maximum.at(largest, self.kinds, relative)
        return np.asarray(np.maximum(sizes, fraction * largest[self.kinds] * self.scales))


def _columns(run: Tangents, events: int) -> tuple[Floats, Floats]:
    """Return values, and derivatives by the last direction; NaN if the number of events differs."""
    same = len(run.events) == events
    times = [(e.time, e.time_by[-1] if e.time_by.size else np.nan) for e in run.events]
    times = times if same else [(np.nan, np.nan)] * events
    by = run.final_by[:, -1] if run.final_by.size else np.full(run.final.size, np.nan)
    others = [(q.value, q.by[-1] if q.by.size else np.nan) for q in run.quantities]
    rows = [*zip(run.final, by, strict=True), *times, *others]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def _extrapolated(rows: Floats, count: int, power: float = 1.0) -> Floats:
    """Return the limit at distance 0 by a polynomial in distance^power through `count` rows.

    Its weights are Lagrange's at zero: w_p = product over q of q / (q - p).
    """
    points = _POINTS[:count] ** power
    weights = [np.prod([q / (q - p) for q in points if q != p]) for p in points]
    found: Floats = np.asarray(weights) @ rows[:count]
    return found


def _limits(slopes: Floats, alike: _Alike) -> Floats:
    """Return the limits of derivatives at four distances; NaN if two extrapolations disagree."""
    sizes = np.abs(slopes).max(axis=0)
    limits = np.full(sizes.size, np.nan)
    size = alike.at_least(sizes, _SMALL_SLOPE)
    for power in (0.5, 1.0):
        end, lower = (_extrapolated(slopes, count, power) for count in (4, 3))
        good = np.abs(end - lower) <= _AGREE * size
        limits[good] = end[good]
    return limits


def _continuous(known: Floats, values: Floats, alike: _Alike) -> npt.NDArray[np.bool_]:
    """Return whether the values at four distances converge to those of the run."""
    size = alike.at_least(np.maximum(np.abs(known), np.abs(values).max(axis=0)), _SMALL_VALUE)
    found: npt.NDArray[np.bool_] = np.abs(_extrapolated(values, 4) - known) <= _CONTINUOUS * size
    return found


def both_sides(
    system: Any,
    method: Any,
    span: tuple[float, float],
    found: Tangents,
    by: Floats,
    rows: Sequence[int],
) -> tuple[Floats, Floats]:
    """Return `by` (k, m) twice, with NaN replaced by derivatives towards larger, smaller values."""
    above, below = by.copy(), by.copy()
    if found.failures:
        for j in np.flatnonzero(np.isnan(by).any(axis=0)).tolist():
            for side, out in ((1.0, above), (-1.0, below)):
                limits = one_sided_derivatives(
                    system, method, span, found, found.directions[j], side
                )
                if limits is not None:
                    gaps = np.isnan(by[:, j])
                    out[gaps, j] = limits[list(rows)][gaps]
    return above, below
