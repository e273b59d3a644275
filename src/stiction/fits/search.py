"""Least squares from many starts, and along profiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.fits.problem import Held, Problem
from stiction.fits.starts import candidates

__all__ = ["ALIKE", "Found", "agreeing", "best", "polished"]

Floats = npt.NDArray[np.float64]

# residuals that are as alike as this are no white noise [1/sqrt(rows)]
ALIKE = 4.0
# of the misfit, of searches from many places
_ROUGH = 1e-7
_MOST_ITERATIONS = 200
# evolution: members for each parameter, from how many ends they begin, how far from them over the
# size of a coordinate (decades, of each round), and where it ends
_MEMBERS, _ENDS, _SETTLED = 8, 3, 1e-6
_FAR = (-3.0, -1.0), (-3.0, -1.0), (-2.0, -0.5), (-2.0, -0.5)
# ends are at one place where their misfits differ by less than this of one row's
_SAME = 0.01


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
    ends = _evolved(problem, ends, rough, seed)
    if problem.tolerance < rough:
        last = polished(problem, ends[0].y)
        if last.rss <= ends[0].rss:
            ends[0] = last
    return ends[0], agreeing(problem, ends), ends


def agreeing(problem: Problem, ends: Sequence[Found]) -> int:
    """Return how many searches ended at the best place; they are sorted."""
    close = ends[0].rss * (1.0 + max(problem.agreement, _SAME / problem.rows)) + problem.exact
    return sum(end.rss <= close for end in ends)


def _doubtful(problem: Problem, ends: Sequence[Found]) -> bool:
    """Return whether a better place is likely: one search alone, or what looks like no noise."""
    r = problem.residuals(ends[0].y)
    alike = problem.alikeness(r) > ALIKE / math.sqrt(r.size)
    return alike or agreeing(problem, ends) < 2


def _evolved(problem: Problem, ends: Sequence[Found], tolerance: float, seed: int) -> list[Found]:
    """Return these ends, and where differential evolution came to from around them, sorted.

    Where events come and go, as stick and slip of a spring-driven slider do, valleys of the misfit
    end in cliffs, which no derivative sees. Each round begins without what another found, so that
    two that agree say something.

    Source: Storn and Price, J. Global Optimization 11, 1997, 341.
    """
    from scipy.optimize import Bounds, differential_evolution

    def misfit(y: Floats) -> float:
        r = problem.residuals(y)
        return float(r @ r)

    found = list(ends)
    if not problem.has_events:
        return found
    low, high = problem.coordinates.bounds()
    for k, decades in enumerate(_FAR):
        if not _doubtful(problem, found):
            break
        rng = np.random.default_rng([seed, k])
        size = problem.spread(ends[0].y)
        box = np.maximum(low, ends[0].y - 0.5 * size), np.minimum(high, ends[0].y + 0.5 * size)
        far = 10.0 ** rng.uniform(*decades, (_MEMBERS * size.size, 1))
        around = [ends[i % min(_ENDS, len(ends))].y for i in range(far.size)]
        members = np.clip(around + far * size * rng.normal(size=(far.size, size.size)), *box)
        with np.errstate(over="ignore", invalid="ignore"):
            made: Any = differential_evolution(
                misfit,
                Bounds(*box),
                init=members,
                maxiter=problem.generations,
                tol=_SETTLED,
                rng=rng,
                polish=False,
            )
        found.append(polished(problem, made.x, most=60, tolerance=tolerance))
        found.sort(key=lambda end: end.rss)
    return found
