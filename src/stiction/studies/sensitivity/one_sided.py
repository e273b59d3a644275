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
# distances, as fractions of the value, or of 1 if it is zero; a shorter one is used if the order of
# events changes between the runs
_DISTANCES = (1e-4, 1e-5, 1e-6)
_POINTS = np.array([1.0, 2.0, 4.0, 8.0])
# relative tolerances: agreement of two extrapolations; continuity of the values at the run itself
_AGREE, _CONTINUOUS = 1e-7, 1e-6


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
    for distance in _DISTANCES:
        step = side * distance * (abs(value) or 1.0)
        try:
            runs = [
                system.with_parameter(name, value + p * step).tangents(method, span, (name,))
                for p in _POINTS
            ]
        except (ModelError, SolveError):
            # the model does not admit values on this side
            return None
        orders = {run.order for run in runs}
        if len(orders) > 1 or any(run.failures for run in runs):
            continue
        slopes = np.array([_columns(run, len(found.events))[1] for run in runs])
        values = np.array([_columns(run, len(found.events))[0] for run in runs])
        limits = _limits(slopes)
        known = _columns(found, len(found.events))[0]
        limits[~_continuous(known, values)] = np.nan
        if not np.isnan(limits).all():
            return limits
    return None


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
    """Return the limit at distance 0 by a polynomial in distance^power through `count` rows."""
    points = _POINTS[:count] ** power
    weights = [np.prod([q / (q - p) for q in points if q != p]) for p in points]
    found: Floats = np.asarray(weights) @ rows[:count]
    return found


def _limits(slopes: Floats) -> Floats:
    """Return the limits of derivatives at four distances; NaN if two extrapolations disagree."""
    sizes = np.abs(slopes).max(axis=0)
    limits = np.full(sizes.size, np.nan)
    size = np.maximum(sizes, 1e-3 * np.nanmax(sizes, initial=0.0))
    for power in (0.5, 1.0):
        end, lower = (_extrapolated(slopes, count, power) for count in (4, 3))
        good = np.abs(end - lower) <= _AGREE * size
        limits[good] = end[good]
    return limits


def _continuous(known: Floats, values: Floats) -> npt.NDArray[np.bool_]:
    """Return whether the values at four distances converge to those of the run."""
    size = np.maximum(np.abs(known), np.abs(values).max(axis=0))
    size = np.maximum(size, 1e-6 * np.nanmax(np.abs(known), initial=0.0))
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
