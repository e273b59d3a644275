"""Confidence intervals of fitted parameters: profile likelihood, or block bootstrap.

Along a profile one parameter is fixed and the others are fitted again; the interval ends where
2 ln L has dropped by the quantile of its distribution. The bootstrap fits data that are resampled
in blocks of residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Positive
from stiction.fits.problem import Problem
from stiction.fits.search import Minimum, minimised
from stiction.numerics.checks import MOST_SEED

__all__ = ["KNOWN_DROP", "Bootstrap", "Ends", "Intervals", "Profile", "profile_ends", "profiles"]

Floats = npt.NDArray[np.float64]

# an end counts as determined where 2 ln L drops by this beyond it: odds of e^10
KNOWN_DROP = 20.0
# range of a profile: decades of a logarithmic parameter, multiples of the size of others
_DECADES, _SIZES = 4.0, 300.0
_CROSSING_TOLERANCE = 0.01
# a value below this part of its size is zero
_ZERO = 1e-9
# relative tolerance of the misfit on a profile
_TOLERANCE = 1e-8
_MOST_POINTS, _MOST_VALLEYS = 40, 5
# a crossing is located by so many secants, then by bisection; relative width at a jump
_SECANTS, _BISECTION_TOLERANCE = 6, 1e-4
# a minimum is better where 2 ln L is higher by this
_BETTER = 0.01

_WHY = "intervals are quantiles of the resampled fits."
_LEVEL = Positive("1", "it is the coverage probability.", "give 0.95.", least=0.5, most=0.9999)


@dataclass(frozen=True)
class Ends:
    """The interval of one parameter.

    Parameters
    ----------
    low, high : its ends; infinite, or the bound of the law, where data give none
    low_known, high_known : whether the data exclude values beyond
    places : (m, 2) values along the profile, and the drop of 2 ln L there
    """

    low: float
    high: float
    low_known: bool
    high_known: bool
    places: Floats


class Intervals(Declared):
    """Method of confidence intervals."""

    level: Annotated[float, _LEVEL]


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Intervals):
    """Profile likelihood: one parameter is fixed, the others are fitted again.

    Parameters
    ----------
    level : coverage probability

    Source: Venzon and Moolgavkar 1988, J. R. Stat. Soc. C 37, 87; Bates and Watts 1988 for s^2.
    Verified by: tests/exact/test_fits_coverage.py::test_intervals_cover
    """

    level: float = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Intervals):
    """Block bootstrap: quantiles of fits to the law's forces plus resampled residuals.

    Blocks preserve the autocorrelation of the residuals: the intervals remain valid where the noise
    is not white, or where the law has a small error.

    Parameters
    ----------
    resamples : number of resampled data sets
    seed : of the random numbers
    level : coverage probability
    block : rows in a block; 0 takes it from the autocorrelation of the residuals

    Source: Kuensch 1989, Ann. Stat. 17, 1217.
    Verified by: tests/unit/fits/test_intervals.py::test_blocks_widen_intervals_of_alike_noise
    """

    resamples: Annotated[int, Count(50, _WHY, most=100_000)] = 400
    seed: Annotated[int, Count(0, _WHY, most=MOST_SEED)] = 1
    level: float = 0.95
    block: Annotated[int, Count(0, _WHY, most=1_000_000)] = 0


class _BetterFitError(Exception):
    """A profile passes a better minimum than its start."""

    def __init__(self, minimum: Minimum) -> None:
        super().__init__()
        self.minimum = minimum


def profiles(
    problem: Problem,
    top: Minimum,
    errors: Floats,
    variance: float,
    limit: float,
    others: Sequence[Floats] = (),
) -> list[Ends] | Minimum:
    """Return the interval of every parameter, or a better minimum if a profile passes one.

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
        return minimised(problem, better.minimum.y)


def profile_ends(
    problem: Problem,
    top: Minimum,
    i: int,
    error: float,
    variance: float,
    limit: float,
    others: Sequence[Floats] = (),
) -> Ends:
    """Return the interval of parameter `i` along its profile.

    Parameters
    ----------
    top : the best minimum
    error : its standard error, the scale of the first step; may be infinite
    variance : of the residuals
    limit : of 2 ln L at the ends of the interval
    others : coordinates of other minima. The ends of a profile are searched from there as well,
        since the profile may have left its lowest branch

    Verified by: tests/unit/fits/test_intervals.py::test_a_linear_law_has_the_interval_of_students_t
    """
    value = float(problem.coordinates.physical(top.y)[i])
    sides = [_one_side(problem, top, i, error, variance, limit, s, others) for s in (-1.0, 1.0)]
    (low, low_known, below), (high, high_known, above) = sides
    places = np.array([*below[::-1], (value, 0.0), *above])
    return Ends(low, high, low_known, high_known, places)


def _one_side(
    problem: Problem,
    top: Minimum,
    i: int,
    error: float,
    variance: float,
    limit: float,
    s: float,
    others: Sequence[Floats],
) -> tuple[float, bool, list[tuple[float, float]]]:
    q = problem.parameters[i]
    value = float(problem.coordinates.physical(top.y)[i])
    size = float(problem.typical_sizes(top.y)[i])
    logarithmic = q.logarithmic or (s > 0.0 and _is_decades_away(q.low, value, error, size))
    most = _farthest_value(q.low, q.high, value, size, s, q.logarithmic)
    seen: list[tuple[float, float]] = []
    last, moved = top.y, 1.0

    def at(x: float, starts: Sequence[Floats] = ()) -> float:
        nonlocal last, moved
        # predictor: the other coordinates change in proportion
        factor = (x - value) / moved if moved else 1.0
        guess = top.y + factor * (last - top.y) if 0.2 < factor < 5.0 else last
        ends = [
            minimised(problem, y, (i, x), 40, max(_TOLERANCE, problem.tolerance))
            for y in starts or (guess,)
        ]
        best = min(ends, key=lambda one: one.rss)
        if top.rss - best.rss > max(_BETTER * variance, problem.exact):
            values = problem.coordinates.physical(best.y, (i, x))
            raise _BetterFitError(Minimum(problem.coordinates.coordinates(values), best.rss, True))
        last, moved = best.y, x - value
        drop = max((best.rss - top.rss) / variance, 0.0)
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
    for _ in range(_MOST_POINTS):
        x = _stepped(value, s * step * far * math.sqrt(limit), logarithmic)
        x = max(x, most) if s < 0.0 else min(x, most)
        f = at(x)
        if f >= limit and others:
            lower = lowest(x, f)
            if lower < f - _BETTER:
                # another branch of the profile is lower: its end counts
                end = None
            f = lower
        if end is None and f >= limit:
            end = _crossing(at, (inner, f_inner), (x, f), limit)
            for _ in range(_MOST_VALLEYS if others else 0):
                lower = lowest(end, limit)
                if lower > (1.0 - 2.0 * _CROSSING_TOLERANCE) * limit:
                    break
                # another branch is lower at this end: the end is beyond it
                end = _crossing(at, (end, lower), (x, f), limit)
        if f >= KNOWN_DROP:
            return end if end is not None else x, True, _sorted(seen, s)
        if x == most:
            break
        if f < limit:
            inner, f_inner = x, f
        # next step: where a parabola reaches 1.3 KNOWN_DROP
        far *= min(max(math.sqrt(1.3 * KNOWN_DROP / max(f, 1e-9)), 1.3), 4.0)
    # at a bound of the law the interval ends
    natural = most == q.high or (most == q.low and q.may_vanish)
    if end is None or not natural:
        end = most if natural else s * math.inf
    return end, natural, _sorted(seen, s)


def _is_decades_away(low: float, value: float, error: float, size: float) -> bool:
    """Return whether the end above a small value lies decades away.

    A value that is zero up to rounding has no decades: its profile takes linear steps.
    """
    return low == 0.0 and value > _ZERO * size and error > value


def _stepped(value: float, step: float, logarithmic: bool) -> float:
    if not logarithmic or value <= 0.0:
        return value + step
    # steps of the logarithm: zero is approached and never reached
    return float(value * math.exp(min(max(step / value, -50.0), 50.0)))


def _farthest_value(
    low: float, high: float, value: float, size: float, s: float, logarithmic: bool
) -> float:
    """Return the value at which a profile stops to one side."""
    if logarithmic:
        x = value * 10.0 ** (s * _DECADES)
    else:
        x = value + s * _SIZES * max(abs(value), size)
    return float(max(x, low) if s < 0.0 else min(x, high))


def _sorted(seen: list[tuple[float, float]], s: float) -> list[tuple[float, float]]:
    return sorted(seen, key=lambda place: s * place[0])


def _crossing(
    at: Callable[[float], float],
    inner: tuple[float, float],
    outer: tuple[float, float],
    limit: float,
) -> float:
    """Return where the drop of 2 ln L is `limit`: secants of its square root.

    The square root is nearly linear in the parameter. Where the drop jumps over `limit`, the end is
    the first value beyond.
    """
    want = math.sqrt(limit)
    (a, fa), (b, fb) = inner, outer
    ra, rb = math.sqrt(fa), math.sqrt(fb)
    begin = a
    for k in range(_MOST_POINTS):
        scale = min(abs(b - begin), max(abs(a), abs(b)) if a * b <= 0.0 else min(abs(a), abs(b)))
        if rb - ra <= 1e-12 or abs(b - a) <= _BISECTION_TOLERANCE * scale:
            break
        if k < _SECANTS:
            x = a + (b - a) * min(max((want - ra) / (rb - ra), 0.02), 0.98)
        else:
            # the square root is not linear: bisection, of the logarithm within one sign
            x = math.copysign(math.sqrt(a * b), a) if a * b > 0.0 else 0.5 * (a + b)
        f = at(x)
        r = math.sqrt(f)
        if abs(r - want) <= _CROSSING_TOLERANCE * want:
            # last step by linear interpolation
            slope = (r - ra) / (x - a) if r != ra else (rb - r) / (b - x)
            return float(x + (want - r) / slope) if slope else x
        if r < want:
            a, ra = x, r
        else:
            b, rb = x, r
    return float(b)


def resampled(problem: Problem, top: Minimum, method: Bootstrap, block: int) -> Floats:
    """Return (resamples, n) values of fits to resampled data.

    Verified by: tests/unit/fits/test_intervals.py::test_blocks_widen_intervals_of_alike_noise
    """
    values = problem.coordinates.physical(top.y)
    forces, _ = problem.forces(values)
    rng = np.random.default_rng(method.seed)
    made = np.empty((method.resamples, values.size))
    for row in made:
        again = []
        for f, d, s in zip(forces, problem.data, problem.scales, strict=True):
            scaled = (d - f) / s
            again.append(f + s * _blocks(scaled - scaled.mean(), block, rng))
        refit = minimised(
            problem.with_data(again), top.y, None, 60, max(_TOLERANCE, problem.tolerance)
        )
        row[:] = problem.coordinates.physical(refit.y)
    return made


def _blocks(values: Floats, block: int, rng: np.random.Generator) -> Floats:
    n = values.size
    block = max(1, min(block, n))
    starts: Any = rng.integers(0, n, size=-(-n // block))
    places = (starts[:, None] + np.arange(block)) % n
    return np.asarray(values[places.ravel()[:n]])
