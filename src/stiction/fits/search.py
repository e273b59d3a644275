"""Least squares from many starts, and along profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.fits.problem import Held, Problem
from stiction.fits.starts import candidates

__all__ = ["Found", "best", "polished"]

Floats = npt.NDArray[np.float64]

# of the misfit, of searches from many places
_ROUGH = 1e-7
_MOST_ITERATIONS = 200


@dataclass(frozen=True)
class Found:
    """Where a search ended.

    Parameters
    ----------
    y : coordinates
    rss : sum of squared residuals
    converged : whether it came to rest
    """

    y: Floats
    rss: float
    converged: bool


def polished(
    problem: Problem,
    y: Floats,
    held: Held = None,
    most: int = _MOST_ITERATIONS,
    tolerance: float | None = None,
) -> Found:
    """Return the least misfit near `y`, where one parameter may be held.

    Verified by: tests/unit/fits/test_search.py::test_a_search_ends_where_the_gradient_vanishes
    """
    from scipy.optimize import least_squares

    low, high = problem.coordinates.bounds(held)
    free = np.array([held is None or held[0] != i for i in range(y.size)])
    free &= high > low
    whole = np.clip(y, low, np.maximum(high, low))
    if not free.any():
        r = problem.residuals(whole, held)
        return Found(whole, float(r @ r), True)
    size = problem.spread(whole)[free]

    def full(x: Floats) -> Floats:
        made = whole.copy()
        made[free] = x
        return made

    # a search by interior points may not begin on a bound
    room = 1e-9 * size
    least, largest = low[free], high[free]
    inside = np.clip(whole[free], least + np.minimum(room, 0.25 * (largest - least)), None)
    inside = np.minimum(inside, largest - np.minimum(room, 0.25 * (largest - least)))
    bounded = np.isfinite(least).any() or np.isfinite(largest).any()

    def misfit(x: Floats) -> Floats:
        return problem.residuals(full(x), held)

    def slopes(x: Floats) -> Floats:
        return np.asarray(problem.jacobian(full(x), held)[:, free])

    # far from the data a law may be beyond what numbers hold; the search turns back there
    with np.errstate(over="ignore", invalid="ignore"):
        result: Any = least_squares(
            misfit,
            inside,
            jac=slopes,
            bounds=(least, largest) if bounded else (-np.inf, np.inf),
            x_scale=size,
            ftol=problem.tolerance if tolerance is None else tolerance,
            xtol=1e-9,
            gtol=1e-15,
            max_nfev=most,
        )
    return Found(full(result.x), 2.0 * float(result.cost), bool(result.status > 0))


def best(problem: Problem, seed: int) -> tuple[Found, int, list[Found]]:
    """Return the best of many searches, how many agree with it, and all that ended.

    Verified by: tests/unit/fits/test_search.py::test_many_starts_find_the_same
    """
    count = problem.looked_at
    places = candidates(problem.parameters, problem.coordinates, problem.curves, count, seed)
    misfits = []
    for y in places:
        r = problem.residuals(y)
        misfits.append(float(r @ r))
    # the first is what the user gave, where anything was given
    order = np.argsort(misfits, kind="stable")
    given = any(q.start is not None for q in problem.parameters)
    chosen = list(dict.fromkeys(([0] if given else []) + order[: problem.followed].tolist()))
    rough = max(_ROUGH, problem.tolerance)
    ends = [polished(problem, places[i], most=60, tolerance=rough) for i in chosen]
    ends.sort(key=lambda end: end.rss)
    if problem.tolerance < rough:
        last = polished(problem, ends[0].y)
        if last.rss <= ends[0].rss:
            ends[0] = last
    close = ends[0].rss * (1.0 + problem.agreement) + 1e-30
    return ends[0], sum(end.rss <= close for end in ends), ends
