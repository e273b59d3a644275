"""Nonlinear least squares from many starting points; one parameter may be fixed for a profile.

A Latin hypercube of starting points is ranked by the misfit, the sum of squared residuals. Local
searches by the trust-region reflective method start from the best points. Stick-slip events make
the misfit discontinuous. If the searches then disagree, differential evolution continues from their
minima. All points y (n,) are coordinates (`parameters.Coordinates`). `fitting` calls `best`, and
`intervals` and `comparison` call `minimised`.

Source: Branch, Coleman, Li 1999 (the trust-region reflective method of scipy.optimize); Storn and
Price 1997 (differential evolution).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.fits.problem import Problem, Profiled
from stiction.fits.starts import candidates

__all__ = ["WHITE_NOISE_LIMIT", "Minimum", "best", "count_agreeing", "minimised"]

Floats = npt.NDArray[np.float64]

# autocorrelation above which residuals are not white [1/sqrt(rows)]: four standard deviations of
# that of white noise, which it exceeds once in 16,000 data sets
WHITE_NOISE_LIMIT = 4.0
# relative tolerance of the misfit in the searches from many points; the best of them is searched
# again. This number and those below were chosen
_COARSE_TOLERANCE = 1e-7
_MOST_ITERATIONS = 200
# differential evolution: number of members per parameter; number of minima around which they start;
# tolerance at which a round ends
_MEMBERS, _CENTRES, _EVOLUTION_TOLERANCE = 8, 3, 1e-6
# for each round, range of log10 of the distance of members from a minimum, divided by the size of a
# coordinate
_DISTANCES = (-3.0, -1.0), (-3.0, -1.0), (-2.0, -0.5), (-2.0, -0.5)
# two minima are the same if their misfits differ by less than this fraction of that of one row
_SAME = 0.01


@dataclass(frozen=True)
class Minimum:
    """A local minimum of the sum of squared residuals.

    Parameters
    ----------
    y : (n,) coordinates of the minimum
    rss : sum of squared residuals
    converged : whether the search reached its tolerance
    """

    y: Floats
    rss: float
    converged: bool


def minimised(
    problem: Problem,
    y: Floats,
    profiled: Profiled = None,
    most: int = _MOST_ITERATIONS,
    tolerance: float | None = None,
) -> Minimum:
    """Return the local minimum near `y`; `profiled` (index, value) fixes one parameter.

    Parameters
    ----------
    most : largest number of evaluations of the residuals
    tolerance : relative change of the misfit that ends the search; None for that of the problem

    Verified by: tests/unit/fits/test_search.py::test_a_search_ends_where_the_gradient_vanishes
    """
    from scipy.optimize import least_squares

    low, high = problem.coordinates.bounds(profiled)
    free = np.array([profiled is None or profiled[0] != i for i in range(y.size)])
    free &= high > low
    whole = np.clip(y, low, np.maximum(high, low))
    if not free.any():
        r = problem.residuals(whole, profiled)
        return Minimum(whole, float(r @ r), True)
    size = problem.typical_sizes(whole)[free]

    # coordinates that a bound or the profile fixes are left out of x
    def full(x: Floats) -> Floats:
        made = whole.copy()
        made[free] = x
        return made

    # the trust-region reflective method starts strictly inside the bounds, by a distance that
    # changes no residual seen in the data
    room = 1e-9 * size
    least, largest = low[free], high[free]
    inside = np.clip(whole[free], least + np.minimum(room, 0.25 * (largest - least)), None)
    inside = np.minimum(inside, largest - np.minimum(room, 0.25 * (largest - least)))
    bounded = np.isfinite(least).any() or np.isfinite(largest).any()

    # `gtol` is an absolute tolerance: residuals are divided by a power of two next to the range of
    # the data, which changes no digit
    unit = math.ldexp(1.0, math.frexp(problem.size)[1])

    def misfit(x: Floats) -> Floats:
        problem.prepare(full(x), profiled)
        return problem.residuals(full(x), profiled) / unit

    def slopes(x: Floats) -> Floats:
        return np.asarray(problem.jacobian(full(x), profiled)[:, free]) / unit

    # far from the data a law may overflow; such a step is rejected
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
    return Minimum(full(result.x), 2.0 * float(result.cost) * unit**2, bool(result.status > 0))


def best(problem: Problem, seed: int) -> tuple[Minimum, int, list[Minimum]]:
    """Return the best minimum, the number of searches that agree with it, and all minima, sorted.

    Verified by: tests/unit/fits/test_search.py::test_many_starts_find_the_same
    """
    count = problem.n_candidates
    places = candidates(problem.parameters, problem.coordinates, problem.curves, count, seed)
    misfits = []
    for y in places:
        r = problem.residuals(y)
        misfits.append(float(r @ r))
    # the first point has the starting values that the user gave
    order = np.argsort(misfits, kind="stable")
    given = any(q.start is not None for q in problem.parameters)
    chosen = list(dict.fromkeys(([0] if given else []) + order[: problem.n_searches].tolist()))
    rough = max(_COARSE_TOLERANCE, problem.tolerance)
    ends = [minimised(problem, places[i], most=60, tolerance=rough) for i in chosen]
    ends.sort(key=lambda end: end.rss)
    rest = [places[i] for i in order if i not in chosen]
    for y in _further_starts(problem, rest, seed):
        if count_agreeing(problem, ends) > 1:
            break
        ends.append(minimised(problem, y, most=60, tolerance=rough))
        ends.sort(key=lambda end: end.rss)
    ends = _differential_evolution(problem, ends, rough, seed)
    if problem.tolerance < rough:
        last = minimised(problem, ends[0].y)
        if last.rss <= ends[0].rss:
            ends[0] = last
    return ends[0], count_agreeing(problem, ends), ends


def _further_starts(problem: Problem, rest: Sequence[Floats], seed: int) -> Iterator[Floats]:
    """Yield starting points of further searches, for a problem with further draws.

    rest : (n,) coordinates of each point of the first draw from which no search has started
    """
    if problem.further_draws:
        yield from rest
    for k in range(1, problem.further_draws + 1):
        count = problem.n_candidates
        draw = seed + k
        places = candidates(problem.parameters, problem.coordinates, problem.curves, count, draw)
        # the first point is the same in each draw
        yield from places[1:]


def count_agreeing(problem: Problem, ends: Sequence[Minimum]) -> int:
    """Return how many of the sorted minima equal the best one."""
    close = ends[0].rss * (1.0 + max(problem.agreement, _SAME / problem.rows)) + problem.exact
    return sum(end.rss <= close for end in ends)


def _better_minimum_likely(problem: Problem, ends: Sequence[Minimum]) -> bool:
    """Return whether a better minimum is likely: no two agree, or residuals are not white."""
    r = problem.residuals(ends[0].y)
    correlated = problem.autocorrelation(r) > WHITE_NOISE_LIMIT / math.sqrt(r.size)
    return correlated or count_agreeing(problem, ends) < 2


def _differential_evolution(
    problem: Problem, ends: Sequence[Minimum], tolerance: float, seed: int
) -> list[Minimum]:
    """Return the minima `ends` and those of differential evolution around them, sorted.

    The misfit jumps where stick-slip events appear or vanish, and derivatives do not show the jump.
    Each round starts from the minima `ends` alone, so that the agreement of two rounds is evidence.

    Source: Storn and Price, J. Global Optimization 11, 1997, 341.
    """
    from scipy.optimize import Bounds, differential_evolution

    def misfit(y: Floats) -> float:
        r = problem.residuals(y)
        return float(r @ r)

    minima = list(ends)
    if not problem.has_events:
        return minima
    low, high = problem.coordinates.bounds()
    for k, decades in enumerate(_DISTANCES):
        if not _better_minimum_likely(problem, minima):
            break
        rng = np.random.default_rng([seed, k])
        size = problem.typical_sizes(ends[0].y)
        box = np.maximum(low, ends[0].y - 0.5 * size), np.minimum(high, ends[0].y + 0.5 * size)
        far = 10.0 ** rng.uniform(*decades, (_MEMBERS * size.size, 1))
        around = [ends[i % min(_CENTRES, len(ends))].y for i in range(far.size)]
        members = np.clip(around + far * size * rng.normal(size=(far.size, size.size)), *box)
        with np.errstate(over="ignore", invalid="ignore"):
            made: Any = differential_evolution(
                misfit,
                Bounds(*box),
                init=members,
                maxiter=problem.generations,
                tol=_EVOLUTION_TOLERANCE,
                rng=rng,
                polish=False,
            )
        minima.append(minimised(problem, made.x, most=60, tolerance=tolerance))
        minima.sort(key=lambda end: end.rss)
    return minima
