"""Return map of friction with a penalty: the tangential traction from gap and slip history.

Elastic predictor: in stick the traction is penalty times (tangential gap - slip), with the stick
stiffness `penalty` [Pa/m] and the slip of all steps before [m]. Corrector: if the
traction exceeds the sliding threshold, the slip grows until the two are equal. `return_map` returns
the new slip, the history of the next step; the caller stores it when the step is accepted. With the
tangential gap g, the slip e, the penalty p and the threshold s: trial t = p (g - e); t is the
traction if |t| < s, otherwise s t / |t|, and e grows by (|t| - s) / p along t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.checks import number

__all__ = ["Tangential", "convective_increment", "return_map"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# squared sine of the angle between two tangents, below which rounding decides. Chosen
_PARALLEL = 1e-15


class Tangential(NamedTuple):
    """Result of the return map for n points with d components each.

    Parameters
    ----------
    traction : tangential traction [Pa], (n, d); along the relative motion: it acts on the
        partner, its negative on the moving body
    slip : new slip, the history of the next step [m], (n, d)
    increment : slip of this step [m], (n, d)
    slides : True for points that slide, (n,)
    dissipation : traction times increment [J/m^2], (n,); negative only for a point
        in stick that `held` sets to slip
    by_tangential_gap : d traction / d tangential gap [Pa/m], (n, d, d)
    by_normal_gap : d traction / d normal gap [Pa/m], (n, d)
    direction : of sliding [1], (n, d), zero where a point sticks; d traction / d q =
        direction * d threshold / d q for other variables q of the threshold
    """

    traction: Floats
    slip: Floats
    increment: Floats
    slides: Bools
    dissipation: Floats
    by_tangential_gap: Floats
    by_normal_gap: Floats
    direction: Floats


def return_map(
    tangential_gap: npt.ArrayLike,
    slip: npt.ArrayLike,
    threshold: npt.ArrayLike,
    slope: npt.ArrayLike,
    penalty: float,
    held: npt.ArrayLike | None = None,
) -> Tangential:
    """Return tangential tractions, the new slip and the consistent tangent.

    Parameters
    ----------
    tangential_gap : tangential displacement of the body along its partner [m], (n, d); d = 1 in a
        plane, 2 on a surface, or 3 for vectors in space
    slip : slip at the end of the last step [m], (n, d)
    threshold : sliding threshold [Pa], (n,) or one number, >= 0
    slope : its derivative with respect to the normal gap [Pa/m], (n,) or one number
    penalty : tangential stiffness of the interface in stick [Pa/m], > 0; per current area for
        model DI, per reference area for model EA
    held : fixed states during Newton iterations, True slides, False sticks, (n,); None for the
        slip criterion. A fixed state may violate the criterion and dissipate a negative amount;
        a step must be accepted with the criterion

    Raises
    ------
    ModelError : if shapes disagree, a threshold is negative, or something is not finite.

    Notes
    -----
    Trial t = penalty (gap - slip); it sticks if |t| < s. Otherwise n = t / |t|, the slip
    grows by (|t| - s) / penalty n, and the traction is s n. The tangent in slip is
    penalty s / |t| (1 - n n) by the tangential gap and n ds/dg by the normal one. The sum
    of work and stored energy closes exactly in every step:
    t . d(gap) = d(|t|^2 / 2 penalty) + D + penalty |de|^2 / 2, e = gap - slip.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32), (52)-(57).
    Verified by: tests/unit/laws/test_return_mapping.py::test_tangent_against_differences
    """
    # predictor
    gap, old, s, ds, eps = _checked(tangential_gap, slip, threshold, slope, penalty)
    trial = eps * (gap - old)
    # norm with the largest component factored out, so that squares cannot underflow
    largest = np.abs(trial).max(axis=1)
    unit = np.where(largest > 0.0, largest, 1.0)
    size = unit * np.sqrt(((trial / unit[:, None]) ** 2).sum(axis=1))
    slides = size >= s if held is None else _checked_states(held, size.size)
    pulled = slides & (size > 0.0)
    safe = np.where(pulled, size, 1.0)
    direction = np.where(pulled[:, None], trial / safe[:, None], 0.0)
    # corrector: slip of the excess over the penalty
    amount = np.where(pulled, (size - s) / eps, 0.0)
    increment = amount[:, None] * direction
    traction = np.where(slides[:, None], s[:, None] * direction, trial)
    # without friction the slip equals the gap, without rounding
    free = slides & (s == 0.0)
    new = np.where(free[:, None], gap, old + increment)
    across = np.eye(gap.shape[1]) - direction[:, :, None] * direction[:, None, :]
    ratio = np.where(slides, np.where(pulled, s / safe, 0.0), 1.0)
    return Tangential(
        traction=traction,
        slip=new,
        increment=increment,
        slides=slides,
        dissipation=s * amount,
        by_tangential_gap=eps * ratio[:, None, None] * across,
        by_normal_gap=direction * ds[:, None],
        direction=direction,
    )


def convective_increment(increment: npt.ArrayLike, tangents: npt.ArrayLike) -> Floats:
    """Return a slip increment in the coordinates of the partner's surface [1], (n, m).

    d xi^a = increment . a^a with the dual vectors a^a of the tangents a_a at the projection.

    Parameters
    ----------
    increment : slip of this step in space [m], (n, d)
    tangents : a_a, change of place per coordinate [m], (n, m, d): m = 1 on a curve, 2 on a
        surface

    Source: Mergel, Scheibert, Sauer 2021, eq. (31).
    Verified by: tests/unit/laws/test_return_mapping.py::test_convective_increment
    """
    d, a = np.asarray(increment, dtype=np.float64), np.asarray(tangents, dtype=np.float64)
    if d.ndim != 2 or a.ndim != 3 or a.shape[0] != d.shape[0] or a.shape[2] != d.shape[1]:
        raise ModelError(
            "convective_increment",
            f"increments of shape {d.shape} with tangents of shape {a.shape}",
            "shapes (n, d) and (n, m, d)",
            "every point has its own tangents, in the space of its slip.",
            "add an axis where there is one point or one tangent.",
        )
    metric = np.einsum("nai,nbi->nab", a, a)
    # relative to the lengths of the tangents, so that their unit does not matter
    lengths = np.einsum("naa->na", metric).prod(axis=1)
    finite = np.isfinite(d).all() and np.isfinite(a).all()
    if not (finite and (np.linalg.det(metric) > _PARALLEL * lengths).all()):
        raise ModelError(
            "convective_increment",
            "numbers that are not finite, or tangents that are zero or parallel",
            "finite increments, and independent tangents",
            "the tangents are the axes of the coordinates of the surface.",
            "check the parametrisation of the surface at the projection.",
        )
    # metric times d xi = tangents . increment
    along = np.einsum("nai,ni->na", a, d)
    return np.asarray(np.linalg.solve(metric, along[:, :, None])[:, :, 0])


def _checked(
    gap: npt.ArrayLike,
    slip: npt.ArrayLike,
    threshold: npt.ArrayLike,
    slope: npt.ArrayLike,
    penalty: float,
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Return gap, slip, threshold, slope and penalty as arrays, or raise ModelError."""
    g, old = np.asarray(gap, dtype=np.float64), np.asarray(slip, dtype=np.float64)
    if g.ndim != 2 or g.shape != old.shape or g.shape[1] == 0:
        raise ModelError(
            "return_map",
            f"tangential gaps of shape {g.shape} and slips of shape {old.shape}",
            "two arrays of the same shape (points, components)",
            "the traction of a point follows from its own tangential gap and slip.",
            "give shape (n, 1) for both in the plane, (n, 2) or (n, 3) in space.",
        )
    n = g.shape[0]
    s, ds = (np.asarray(value, dtype=np.float64) for value in (threshold, slope))
    if s.shape not in ((), (n,)) or ds.shape not in ((), (n,)):
        raise ModelError(
            "return_map.threshold",
            f"shapes {s.shape} and {ds.shape} of threshold and slope",
            f"one number, or {n} values",
            "a threshold belongs to all points, or to one each.",
            "evaluate the friction law at the gaps of all points.",
        )
    finite = all(bool(np.isfinite(value).all()) for value in (g, old, s, ds))
    if not finite or bool((s < 0.0).any()):
        raise ModelError(
            "return_map",
            "gaps, slips or thresholds that are not finite, or a negative threshold",
            "finite numbers, thresholds >= 0 [Pa]",
            "a negative threshold would push the body along and create energy.",
            "check the gaps at which the friction law was evaluated.",
        )
    eps = number(
        "return_map.penalty",
        penalty,
        rule="positive",
        unit="Pa/m",
        why="the interface has this tangential stiffness in stick.",
        try_="give about ten times the stiffness of the bulk over the element size.",
    )
    return g, old, np.broadcast_to(s, (n,)), np.broadcast_to(ds, (n,)), eps


def _checked_states(held: npt.ArrayLike, n: int) -> Bools:
    """Return the fixed states (n,) as flags; raise ModelError for another shape or type."""
    states = np.asarray(held)
    if states.dtype.kind != "b" or states.shape != (n,):
        raise ModelError(
            "return_map.held",
            f"an array of shape {states.shape} and type {states.dtype}",
            f"{n} values True (slides) or False (sticks)",
            "every point has one fixed state.",
            "pass `slides` of an earlier result, or None.",
        )
    return states
