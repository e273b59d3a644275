"""Intervals of parameters: along the profile of the likelihood, or from data drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Positive
from stiction.fits.problem import Problem
from stiction.fits.search import Found, polished
from stiction.numerics.checks import MOST_SEED

__all__ = ["KNOWN", "Bootstrap", "Ends", "Intervals", "Profile", "profile_ends", "profiles"]

Floats = npt.NDArray[np.float64]

# an end is known where data speak against going farther by this in 2 ln L: odds of e^10
KNOWN = 20.0
# how far a parameter is followed: decades of what has a logarithm, times its size of the rest
_DECADES, _TIMES = 4.0, 300.0
_CLOSE = 0.01
# a value below this share of its size is zero
_ZERO = 1e-9
# of a misfit on a profile, whose differences count beside noise
_TOLERANCE = 1e-8
_MOST_PLACES, _MOST_VALLEYS = 40, 5
# a crossing is looked for by so many secants, then by halves; where the drop jumps, to this share
_SECANTS, _JUMP = 6, 1e-4
# a fit is a better one where 2 ln L is higher by this
_BETTER = 0.01

_WHY = "intervals are quantiles of what is drawn."
_LEVEL = Positive(
    "1", "it is the share of intervals that cover.", "give 0.95.", least=0.5, most=0.9999
)


@dataclass(frozen=True)
class Ends:
    """The interval of one parameter.

    Parameters
    ----------
    low, high : its ends; infinite, or the bound of the law, where data give none
    low_known, high_known : whether data speak against values beyond
    places : (m, 2) values along the profile, and 2 ln L below its top
    """

    low: float
    high: float
    low_known: bool
    high_known: bool
    places: Floats


class Intervals(Declared):
    """How intervals are found."""

    level: Annotated[float, _LEVEL]


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Intervals):
    """Ends where the best fit with one parameter held is worse by what noise explains.

    Parameters
    ----------
    level : share of such intervals that cover the true value

    Source: Venzon and Moolgavkar 1988, J. R. Stat. Soc. C 37, 87; Bates and Watts 1988 for s^2.
    Verified by: tests/exact/test_fits_coverage.py::test_intervals_cover
    """

    level: float = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Intervals):
    """Quantiles of fits to the law's forces with blocks of residuals drawn again.

    Blocks as long as residuals remember keep what is alike in neighbours: intervals stay honest
    where noise is no white one, or the law is not quite that of the contact.

    Parameters
    ----------
    resamples : how many sets are drawn
    seed : fixes the draws
    level : share of such intervals that cover the true value
    block : rows in a block; 0 takes what the residuals say

    Source: Kuensch 1989, Ann. Stat. 17, 1217.
    Verified by: tests/unit/fits/test_intervals.py::test_blocks_widen_intervals_of_alike_noise
    """

    resamples: Annotated[int, Count(50, _WHY, most=100_000)] = 400
    seed: Annotated[int, Count(0, _WHY, most=MOST_SEED)] = 1
    level: float = 0.95
    block: Annotated[int, Count(0, _WHY, most=1_000_000)] = 0


class _BetterFitError(Exception):
    """A profile passes a better fit than the one it began at; `found` is that fit."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


def profiles(
    problem: Problem,
    top: Found,
    errors: Floats,
    variance: float,
    limit: float,
    others: Sequence[Floats] = (),
) -> list[Ends] | Found:
    """Return the interval of every parameter, or a better fit than `top` if a profile passes one.

    Parameters
    ----------
    errors : standard errors of the parameters
    top, variance, limit, others : as of `profile_ends`

    Verified by: tests/unit/fits/test_intervals.py::test_profiles_return_a_better_fit
    """
    try:
        return [
            profile_ends(problem, top, i, float(error), variance, limit, others)
            for i, error in enumerate(errors)
        ]
    except _BetterFitError as better:
        return polished(problem, better.found.y)


def profile_ends(
    problem: Problem,
    top: Found,
    i: int,
    error: float,
    variance: float,
    limit: float,
    others: Sequence[Floats] = (),
) -> Ends:
    """Return the interval of parameter `i` along its profile.

    Parameters
    ----------
    top : the best fit
    error : its standard error, by which steps begin; may be infinite
    variance : of the residuals
    limit : of 2 ln L at the ends of the interval
    others : coordinates where other searches ended; a profile that seems known is looked at from
        there, too, since it may have left its lowest valley

    Verified by: tests/unit/fits/test_intervals.py::test_a_linear_law_has_the_interval_of_students_t
    """
    value = float(problem.coordinates.physical(top.y)[i])
    sides = [_side(problem, top, i, error, variance, limit, s, others) for s in (-1.0, 1.0)]
    (low, low_known, below), (high, high_known, above) = sides
    places = np.array([*below[::-1], (value, 0.0), *above])
    return Ends(low, high, low_known, high_known, places)


def _side(
    problem: Problem,
    top: Found,
    i: int,
    error: float,
    variance: float,
    limit: float,
    s: float,
    others: Sequence[Floats],
) -> tuple[float, bool, list[tuple[float, float]]]:
    q = problem.parameters[i]
    value = float(problem.coordinates.physical(top.y)[i])
    size = float(problem.spread(top.y)[i])
    logarithmic = q.logarithmic or (s > 0.0 and _is_far(q.low, value, error, size))
    most = _last(q.low, q.high, value, size, s, q.logarithmic)
    seen: list[tuple[float, float]] = []
    last, moved = top.y, 1.0

    def at(x: float, starts: Sequence[Floats] = ()) -> float:
        nonlocal last, moved
        # the others move in proportion, nearly
        ahead = (x - value) / moved if moved else 1.0
        guess = top.y + ahead * (last - top.y) if 0.2 < ahead < 5.0 else last
        ends = [
            polished(problem, y, (i, x), 40, max(_TOLERANCE, problem.tolerance))
            for y in starts or (guess,)
        ]
        found = min(ends, key=lambda one: one.rss)
        if top.rss - found.rss > max(_BETTER * variance, problem.exact):
            values = problem.coordinates.physical(found.y, (i, x))
            raise _BetterFitError(Found(problem.coordinates.coordinates(values), found.rss, True))
        last, moved = found.y, x - value
        drop = max((found.rss - top.rss) / variance, 0.0)
        seen.append((x, drop))
        return drop

    def lowest(x: float, f: float) -> float:
        nonlocal last, moved
        here = last, moved
        if (other := at(x, others)) < f:
            return other
        seen.pop()
        last, moved = here
        return f

    step = error if math.isfinite(error) and error > 0.0 else 0.05 * max(abs(value), size)
    x, far = value, 1.0
    inner, f_inner = value, 0.0
    end: float | None = None
    for _ in range(_MOST_PLACES):
        x = _ahead(value, s * step * far * math.sqrt(limit), logarithmic)
        x = max(x, most) if s < 0.0 else min(x, most)
        f = at(x)
        if f >= limit and others:
            lower = lowest(x, f)
            if lower < f - _BETTER:
                # the lowest valley is another one, and the end is there, if there is one
                end = None
            f = lower
        if end is None and f >= limit:
            end = _crossing(at, (inner, f_inner), (x, f), limit)
            for _ in range(_MOST_VALLEYS if others else 0):
                lower = lowest(end, limit)
                if lower > (1.0 - 2.0 * _CLOSE) * limit:
                    break
                # another valley is lower at this end: the end is beyond it
                end = _crossing(at, (end, lower), (x, f), limit)
        if f >= KNOWN:
            return end if end is not None else x, True, _sorted(seen, s)
        if x == most:
            break
        if f < limit:
            inner, f_inner = x, f
        # toward the drop that says that the end is known, as a parabola would
        far *= min(max(math.sqrt(1.3 * KNOWN / max(f, 1e-9)), 1.3), 4.0)
    # the law itself ends here: it is the end, whatever data say
    natural = most == q.high or (most == q.low and q.may_vanish)
    if end is None or not natural:
        end = most if natural else s * math.inf
    return end, natural, _sorted(seen, s)


def _is_far(low: float, value: float, error: float, size: float) -> bool:
    """Return whether the end above a small value lies decades away.

    From a value that is zero but for rounding no number of decades leads to the end.
    """
    return low == 0.0 and value > _ZERO * size and error > value


def _ahead(value: float, step: float, logarithmic: bool) -> float:
    if not logarithmic or value <= 0.0:
        return value + step
    # down to nothing takes for ever, as it should
    return float(value * math.exp(min(max(step / value, -50.0), 50.0)))


def _last(low: float, high: float, value: float, size: float, s: float, logarithmic: bool) -> float:
    """Return the last value that is looked at to one side."""
    if logarithmic:
        x = value * 10.0 ** (s * _DECADES)
    else:
        x = value + s * _TIMES * max(abs(value), size)
    return float(max(x, low) if s < 0.0 else min(x, high))


def _sorted(seen: list[tuple[float, float]], s: float) -> list[tuple[float, float]]:
    return sorted(seen, key=lambda place: s * place[0])


def _crossing(
    at: Callable[[float], float],
    inner: tuple[float, float],
    outer: tuple[float, float],
    limit: float,
) -> float:
    """Return where the drop is `limit`; its root is nearly straight in the parameter.

    Where the drop jumps over `limit`, the end is the first value beyond.
    """
    want = math.sqrt(limit)
    (a, fa), (b, fb) = inner, outer
    ra, rb = math.sqrt(fa), math.sqrt(fb)
    begin = a
    for k in range(_MOST_PLACES):
        scale = min(abs(b - begin), max(abs(a), abs(b)) if a * b <= 0.0 else min(abs(a), abs(b)))
        if rb - ra <= 1e-12 or abs(b - a) <= _JUMP * scale:
            break
        if k < _SECANTS:
            x = a + (b - a) * min(max((want - ra) / (rb - ra), 0.02), 0.98)
        else:
            # a root far from straight: halve the interval, or its decades
            x = math.copysign(math.sqrt(a * b), a) if a * b > 0.0 else 0.5 * (a + b)
        f = at(x)
        r = math.sqrt(f)
        if abs(r - want) <= _CLOSE * want:
            # the last bit by the same line
            slope = (r - ra) / (x - a) if r != ra else (rb - r) / (b - x)
            return float(x + (want - r) / slope) if slope else x
        if r < want:
            a, ra = x, r
        else:
            b, rb = x, r
    return float(b)


def drawn(problem: Problem, top: Found, how: Bootstrap, block: int) -> Floats:
    """Return (resamples, n) values of fits to data drawn again.

    Verified by: tests/unit/fits/test_intervals.py::test_blocks_widen_intervals_of_alike_noise
    """
    values = problem.coordinates.physical(top.y)
    forces, _ = problem.forces(values)
    rng = np.random.default_rng(how.seed)
    made = np.empty((how.resamples, values.size))
    for row in made:
        again = []
        for f, d, s in zip(forces, problem.data, problem.scales, strict=True):
            scaled = (d - f) / s
            again.append(f + s * _blocks(scaled - scaled.mean(), block, rng))
        found = polished(
            problem.with_data(again), top.y, None, 60, max(_TOLERANCE, problem.tolerance)
        )
        row[:] = problem.coordinates.physical(found.y)
    return made


def _blocks(values: Floats, block: int, rng: np.random.Generator) -> Floats:
    n = values.size
    block = max(1, min(block, n))
    starts: Any = rng.integers(0, n, size=-(-n // block))
    places = (starts[:, None] + np.arange(block)) % n
    return np.asarray(values[places.ravel()[:n]])
