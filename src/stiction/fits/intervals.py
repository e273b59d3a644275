"""Confidence intervals of fitted parameters: profile likelihood, or block bootstrap.

Along a profile, one parameter is fixed and the others are fitted again. The interval ends where
2 ln L (L: likelihood) has dropped below its maximum by the quantile of its distribution: of chi^2
for known noise, of Fisher's F for estimated noise. The bootstrap fits synthetic data, which are the
fitted forces plus blocks of resampled residuals. With the sum of squares R of the residuals and its
minimum R_min, the drop of 2 ln L is (R - R_min) / s^2 with the variance s^2 of the residuals.
`fitting` calls `profiles` and `resampled`. y are the n coordinates of the search
(`parameters.Coordinates`), values those of the parameters in SI units, rss is R of a `Minimum`.
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

__all__ = [
    "KNOWN_DROP",
    "Bootstrap",
    "Ends",
    "Intervals",
    "Profile",
    "drop_at_ends",
    "profile_ends",
    "profiles",
]

Floats = npt.NDArray[np.float64]

# the data determine an end if 2 ln L drops by this beyond it: a likelihood ratio of e^10, above the
# drop of 15 that bounds the widest interval, of level 0.9999. This number and those below were
# chosen
KNOWN_DROP = 20.0
# range of a profile: decades of a logarithmic parameter, multiples of the typical size of another
_DECADES, _SIZES = 4.0, 300.0
# relative tolerance of the root of the drop at an end, before the last step by interpolation
_CROSSING_TOLERANCE = 0.01
# a value below this fraction of its typical size counts as zero
_ZERO = 1e-9
# relative tolerance of the misfit on a profile
_TOLERANCE = 1e-8
# largest number of points on one side of a profile, and of other branches that are tried at an end
_MOST_POINTS, _MOST_VALLEYS = 40, 5
# an end is located by this many secant steps, then by bisection to this relative width
_SECANTS, _BISECTION_TOLERANCE = 6, 1e-4
# a minimum is better than another one if 2 ln L is higher by this
_BETTER = 0.01

_WHY = "intervals are quantiles of the resampled fits."
_LEVEL = Positive("1", "level is a coverage probability.", "give 0.95.", least=0.5, most=0.9999)


@dataclass(frozen=True)
class Ends:
    """The interval of one parameter.

    Parameters
    ----------
    low, high : ends of the interval; infinite, or the bound of the law, if the data give no end
    low_known, high_known : whether the data exclude values beyond this end, or the law has its
        bound there
    places : (m, 2) values along the profile, and the drop of 2 ln L at each
    """

    low: float
    high: float
    low_known: bool
    high_known: bool
    places: Floats


class Intervals(Declared):
    """Base class of the methods of confidence intervals."""

    level: Annotated[float, _LEVEL]


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Intervals):
    """Profile likelihood: one parameter is fixed, and the others are fitted again.

    Parameters
    ----------
    level : coverage probability

    Source: Venzon and Moolgavkar 1988, J. R. Stat. Soc. C 37, 87; Bates and Watts 1988 for s^2.
    Verified by: tests/exact/test_fits_coverage.py::test_intervals_cover
    """

    level: float = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Intervals):
    """Block bootstrap: quantiles of the parameters of fits to resampled data.

    Resampled data are the fitted forces plus blocks of residuals in random order. Blocks preserve
    the autocorrelation of the residuals. The intervals therefore remain valid if the noise is not
    white, or if the law has a small error.

    Parameters
    ----------
    resamples : number of resampled data sets
    seed : seed of the random numbers
    level : coverage probability
    block : number of rows in a block; 0 chooses it from the autocorrelation of the residuals

    Blocks continue at the first row after the last one (circular bootstrap).

    Source: Kuensch 1989, Ann. Stat. 17, 1217; Politis and Romano 1992 for circular blocks.
    Verified by: tests/unit/fits/test_intervals.py::test_blocks_widen_intervals_of_alike_noise
    """

    resamples: Annotated[int, Count(50, _WHY, most=100_000)] = 400
    seed: Annotated[int, Count(0, _WHY, most=MOST_SEED)] = 1
    level: float = 0.95
    block: Annotated[int, Count(0, _WHY, most=1_000_000)] = 0


class _BetterFitError(Exception):
    """A profile has found a better minimum than the one at which it started."""

    def __init__(self, minimum: Minimum) -> None:
        super().__init__()
        self.minimum = minimum


def drop_at_ends(level: float, known_noise: bool, freedom: int) -> float:
    """Return the drop of 2 ln L at the ends of an interval: a quantile of chi^2 or of Fisher's F.

    Parameters
    ----------
    level : coverage probability
    known_noise : whether the noise was given; its estimate has `freedom` degrees of freedom
    """
    from scipy.stats import chi2, f

    return float(chi2.ppf(level, 1) if known_noise else f.ppf(level, 1, freedom))


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
    top, variance, limit, others : as in `profile_ends`

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
    error : standard error of the parameter, the scale of the first step; may be infinite
    variance : variance of the residuals
    limit : drop of 2 ln L at the ends of the interval
    others : coordinates of other minima. Fits at the ends of a profile start from these as well,
        because the profile may have left its lowest branch

    Verified by: tests/unit/fits/test_intervals.py::test_a_linear_law_has_the_interval_of_students_t
    """
    value = float(problem.coordinates.physical(top.y)[i])
    sides = [_one_side(problem, top, i, error, variance, limit, s, others) for s in (-1.0, 1.0)]
    (low, low_known, below), (high, high_known, above) = sides
    places = np.array([*below[::-1], (value, 0.0), *above])
    return Ends(low, high, low_known, high_known, places)


# Returns one end of the interval of parameter i, whether it is determined, and the points (value,
# drop of 2 ln L) of the profile on this side. `top` is the best fit, `error` the standard error of
# the value, `variance` that of the residuals, `limit` the drop at the end, `s` the side, -1 or 1,
# and `others` are starting points on other branches of the profile. The steps go outwards until
# the drop exceeds KNOWN_DROP and 1.3 `limit`, or to the farthest value. Raises _BetterFitError at
# a lower minimum. Its inner function `at` returns the drop at a value x, by a search from a
# predicted point or from given starts; `lowest` returns the lower of the drop f at x and that of
# the other branches.
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
    known = max(KNOWN_DROP, 1.3 * limit)
    x, far, inner, f_inner = value, 1.0, value, 0.0
    end: float | None = None
    for _ in range(_MOST_POINTS):
        x = _stepped(value, s * step * far * math.sqrt(limit), logarithmic)
        x = max(x, most) if s < 0.0 else min(x, most)
        f = at(x)
        if f >= limit and others:
            lower = lowest(x, f)
            if lower < f - _BETTER:
                # another branch of the profile is lower, and its end is searched instead
                end = None
            f = lower
        if end is None and f >= limit:
            end = _crossing(at, (inner, f_inner), (x, f), limit)
            for _ in range(_MOST_VALLEYS if others else 0):
                lower = lowest(end, limit)
                if lower > (1.0 - 2.0 * _CROSSING_TOLERANCE) * limit:
                    break
                # another branch is lower at this end, so that the interval ends further outside
                end = _crossing(at, (end, lower), (x, f), limit)
        if f >= known:
            return end if end is not None else x, True, _sorted(seen, s)
        if x == most:
            break
        if f < limit:
            inner, f_inner = x, f
        # the next step ends where a parabola through this point reaches 1.3 `known`
        far *= min(max(math.sqrt(1.3 * known / max(f, 1e-9)), 1.3), 4.0)
    # the interval ends at a bound of the law
    natural = most == q.high or (most == q.low and q.may_equal_low)
    if end is None or not natural:
        end = most if natural else s * math.inf
    return end, natural, _sorted(seen, s)


def _is_decades_away(low: float, value: float, error: float, size: float) -> bool:
    """Return whether the upper end of a small value lies decades above it.

    The profile then takes steps of the logarithm. A value that is zero up to rounding errors has
    no logarithm, and its profile takes linear steps.
    """
    return low == 0.0 and value > _ZERO * size and error > value


def _stepped(value: float, step: float, logarithmic: bool) -> float:
    """Return the value after a step, of the logarithm if `logarithmic`."""
    if not logarithmic or value <= 0.0:
        return value + step
    # steps of the logarithm approach zero and never reach it
    return float(value * math.exp(min(max(step / value, -50.0), 50.0)))


def _farthest_value(
    low: float, high: float, value: float, size: float, s: float, logarithmic: bool
) -> float:
    """Return the farthest value of a profile on the side `s` (-1 below, 1 above)."""
    if logarithmic:
        x = value * 10.0 ** (s * _DECADES)
    else:
        x = value + s * _SIZES * max(abs(value), size)
    return float(max(x, low) if s < 0.0 else min(x, high))


def _sorted(seen: list[tuple[float, float]], s: float) -> list[tuple[float, float]]:
    """Return points (value, drop) on the side s in the order of their distance from the minimum."""
    return sorted(seen, key=lambda place: s * place[0])


def _crossing(
    at: Callable[[float], float],
    inner: tuple[float, float],
    outer: tuple[float, float],
    limit: float,
) -> float:
    """Return the value at which the drop of 2 ln L equals `limit`, by the secant method.

    at : returns the drop at a value
    inner, outer : (value, drop) inside of the interval, and outside of it

    The secants are those of the square root of the drop, which is nearly linear in the parameter.
    If the drop jumps over `limit`, the first value after the jump is returned.
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
            # secants have failed: bisection, of the logarithm if both ends have the same sign
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
        for f, d, s, used in zip(forces, problem.data, problem.scales, problem.masks, strict=True):
            scaled = ((d - f) / s)[used]
            # residuals that are zero in stick do not estimate the noise
            scaled = scaled[scaled != 0.0] if scaled.any() else np.zeros(1)
            again.append(f + s * _blocks(scaled - scaled.mean(), block, f.size, rng))
        refit = minimised(
            problem.with_data(again), top.y, None, 60, max(_TOLERANCE, problem.tolerance)
        )
        row[:] = problem.coordinates.physical(refit.y)
    return made


def _blocks(values: Floats, block: int, rows: int, rng: np.random.Generator) -> Floats:
    """Return (rows,) values in random circular blocks of length `block`."""
    n = values.size
    block = max(1, min(block, n))
    starts: Any = rng.integers(0, n, size=-(-rows // block))
    places = (starts[:, None] + np.arange(block)) % n
    return np.asarray(values[places.ravel()[:rows]])
