"""Fit a friction law to measured curves: least squares, confidence intervals and audit.

`fit` minimises the sum of squared residuals, predicted minus measured force over the noise if that
is known, from many starting points (modules `problem`, `search`). The covariance of the parameters
is s^2 (J^T J)^-1 with the Jacobian J at the minimum and the variance s^2 of the residuals;
confidence intervals follow from the profile likelihood or a block bootstrap (module `intervals`).
The audit checks convergence, agreement of the searches and whiteness of the residuals. The search
is in n coordinates y (`parameters.Coordinates`); values are those of the parameters in SI units.
`stiction.fit`, `command` and `simulated.fit_scenario` call it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Audit, Check, Kind
from stiction.errors import ModelError
from stiction.fits.curves.curve import Curve
from stiction.fits.intervals import (
    KNOWN_DROP,
    Bootstrap,
    Ends,
    Intervals,
    Profile,
    drop_at_ends,
    profiles,
    resampled,
)
from stiction.fits.outcome import Estimate, Fit
from stiction.fits.parameters import Law, Parameter
from stiction.fits.problem import Problem
from stiction.fits.rigs import ImposedSlip, Rig
from stiction.fits.search import WHITE_NOISE_LIMIT, Minimum, best, count_agreeing
from stiction.numerics.checks import MOST_SEED, whole

__all__ = ["checked", "fit", "fitted"]

Floats = npt.NDArray[np.float64]

# singular values of the scaled Jacobian below this fraction of the largest one count as zero.
# Chosen, near the error of derivatives by differences
_NULL_DIRECTION = 1e-7
# largest number of restarts from a better minimum that a profile finds
_MOST_RESTARTS = 20
_DISAGREE = "no interval is stated: searches disagree"
# fraction of its start below which a positive parameter of a user's law is at zero
_TINY = 1e-6
# two minima are distinct if a coordinate differs by more than this fraction of its typical size.
# Chosen
_DISTINCT = 0.1


def fit(
    curves: Curve | Sequence[Curve],
    law: Law | type[Law],
    rig: Rig | None = None,
    *,
    free: Sequence[str] | None = None,
    known: Mapping[str, float] | None = None,
    intervals: Intervals | None = None,
    seed: int = 1,
) -> Fit:
    """Return the least-squares fit of a friction law to measured curves, with intervals.

    Parameters
    ----------
    curves : one test, or several with the same law and rig
    law : the class of a law, whose starting points are estimated from the data; or a law object,
        whose values are the starting point, and stay fixed for fields that are not fitted. A field
        of your own law may be negative only if it starts from a negative number
    rig : the test rig, which defines how friction was measured; None for `ImposedSlip()`
    free : fields of the law that are fitted; None for all fields that can be fitted
    known : {field: value} of fields that are not fitted, if `law` is a class
    intervals : method of the confidence intervals: `Profile()`, the default, or `Bootstrap()`
    seed : seed of the random starting points

    Returns
    -------
    The fit: parameters with intervals, warnings, residuals, figures, and a scenario.

    Raises
    ------
    ModelError : if the curves lack a quantity that the law needs, or have too few rows.

    Source: Gauss 1809; Levenberg 1944; Marquardt 1963; trust regions of scipy.optimize.
    Verified by: tests/exact/test_fits.py::test_noiseless_data_give_the_law_back
    """
    given = checked(curves)
    problem = Problem(law, ImposedSlip() if rig is None else rig, given, free, known or {})
    return fitted(problem, intervals, seed)


def checked(curves: Curve | Sequence[Curve]) -> list[Curve]:
    """Return the curves as a list; raise an error if there are none."""
    given = [curves] if isinstance(curves, Curve) else list(curves)
    if not given or not all(isinstance(curve, Curve) for curve in given):
        needs, why = "a Curve, or a list of them", "a law is fitted to measured curves."
        try_ = "read_curve(FILE), or Curve(force=..., time=..., displacement=...) of arrays."
        raise ModelError("fit.curves", repr(curves), needs, why, try_)
    return given


def fitted(problem: Problem, intervals: Intervals | None, seed: int) -> Fit:
    """Return the best fit of a problem, with intervals and audit."""
    why, try_ = "the same seed repeats the search.", "leave this value out."
    whole("fit.seed", seed, least=0, most=MOST_SEED, why=why, try_=try_)
    method = Profile() if intervals is None else intervals
    search = _searched(problem, seed, method.level)
    top, spread = search.top, search.spread
    estimates = _estimates(problem, search, method)
    values = problem.coordinates.physical(top.y)
    forces, _ = problem.forces(values)
    checks = _checks(problem, search, estimates)
    checks += problem.checks(values)
    return Fit(
        law=problem.law_at(values),
        rig=problem.rig_at(values),
        curves=problem.curves,
        estimates=tuple(estimates),
        correlation=search.correlation,
        noise=math.sqrt(spread[0]),
        known_noise=problem.known_noise,
        rows=problem.rows,
        rss=top.rss,
        freedom=spread[1],
        forces=tuple(forces),
        used=tuple(problem.masks),
        audit=Audit(tuple(checks)),
        intervals=method,
        evaluations=problem.evaluations,
        problem=problem,
    )


@dataclass(frozen=True)
class _Search:
    """The best minimum, with variance, standard errors and profile intervals.

    Parameters
    ----------
    top : the best minimum
    agree, n_searches : number of searches that ended at the best minimum, and of all searches
    spread : variance of the residuals, and its degrees of freedom
    errors, correlation : standard errors and correlation of the parameters, by linearisation of the
        law at the minimum
    ends : intervals along the profiles
    """

    top: Minimum
    agree: int
    n_searches: int
    spread: tuple[float, int]
    errors: Floats
    correlation: Floats
    ends: Sequence[Ends]

    @property
    def agreed(self) -> bool:
        """Whether two searches ended at the best minimum, or one if there was only one."""
        return self.agree >= min(2, self.n_searches)


def _searched(problem: Problem, seed: int, level: float) -> _Search:
    """Return the best minimum and its profiles; restart if a profile finds a better minimum."""
    top, agree, minima = best(problem, seed)
    for _ in range(_MOST_RESTARTS):
        spread = _variance(problem, top)
        errors, correlation = _errors(problem, top, spread[0])
        limit = drop_at_ends(level, problem.known_noise, spread[1])
        # if searches disagree, the profiles serve only to find a better minimum
        others = _others(problem, top, minima) if agree >= min(2, len(minima)) else []
        ends = profiles(problem, top, errors, spread[0], limit, others)
        if not isinstance(ends, Minimum):
            break
        top = ends
        minima = [top, *minima]
        agree = count_agreeing(problem, minima)
    else:
        # too many restarts: the last minimum has no profile
        spread = _variance(problem, top)
        errors, correlation = _errors(problem, top, spread[0])
        values = problem.coordinates.physical(top.y)
        ends = [Ends(v, v, False, False, np.array([(v, 0.0)])) for v in values.tolist()]
        agree = 0
    return _Search(top, agree, len(minima), spread, errors, correlation, ends)


def _others(problem: Problem, top: Minimum, minima: Sequence[Minimum]) -> list[Floats]:
    """Return distinct minima, and the fit without weakening, as further starts of profiles."""
    size = problem.typical_sizes(top.y)
    others = [end.y for end in minima if np.max(np.abs(end.y - top.y) / size) > _DISTINCT]
    flat = problem.coordinates.without_weakening(top.y)
    return others if flat is None else [*others, flat]


def _variance(problem: Problem, top: Minimum) -> tuple[float, int]:
    """Return the variance of the residuals and its degrees of freedom.

    It is 1 if the noise is given, because residuals are then divided by it; else the sum of squares
    over the degrees of freedom.
    """
    r = problem.residuals(top.y)
    # residuals that are zero in stick do not estimate the noise
    freedom = int(np.count_nonzero(r)) - len(problem.parameters)
    if problem.known_noise:
        return 1.0, max(freedom, 1)
    if freedom >= max(4, problem.rows // 10):
        return max(top.rss / freedom, _smallest_size(problem)), freedom
    # without slip, second differences and the median absolute deviation estimate the noise
    rough = [np.diff(d, 2) / math.sqrt(6.0) for d in problem.data]
    size = 1.4826 * float(np.median(np.abs(np.concatenate(rough))))
    return max(size * size, _smallest_size(problem)), max(freedom, 1)


def _smallest_size(problem: Problem) -> float:
    """Return the variance of rounding errors of the data."""
    return float(max(np.ptp(d) for d in problem.data) * 1e-12) ** 2


def _errors(problem: Problem, top: Minimum, variance: float) -> tuple[Floats, Floats]:
    """Return standard errors (n,) of the values, and their correlations (n, n).

    The singular value decomposition of J in units of typical sizes gives the covariance without
    undetermined directions; parameters with a part in these have infinite errors.
    """
    jac = problem.jacobian(top.y)
    size = problem.typical_sizes(top.y)
    _, sigma, v = np.linalg.svd(jac * size, full_matrices=False)
    determined = sigma > _NULL_DIRECTION * sigma.max(initial=0.0)
    inverse = np.where(determined, 1.0 / np.where(determined, sigma, 1.0), 0.0)
    to_values = problem.coordinates.derivatives(top.y)
    root = to_values @ (size[:, None] * v.T * inverse)
    covariance = variance * root @ root.T
    # a parameter with a component in an undetermined direction has an infinite error
    null = np.abs(v[~determined]) > 1e-3
    lost = null.any(axis=0) if (~determined).any() else np.zeros(size.size, bool)
    errors = np.sqrt(np.diag(covariance))
    scale = np.where(errors > 0.0, errors, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    lost = (np.abs(to_values) @ lost) > 0.0
    correlation[lost] = correlation[:, lost] = np.nan
    return np.where(lost, np.inf, errors), correlation


def _estimates(problem: Problem, search: _Search, how: Intervals) -> list[Estimate]:
    """Return the estimates of all parameters; without intervals if the searches disagree."""
    top, ends = search.top, list(search.ends)
    values = problem.coordinates.physical(top.y)
    if isinstance(how, Bootstrap):
        ends = _resampled(problem, top, how, ends)
    if not search.agreed:
        ends = [dataclasses.replace(end, low=-math.inf, high=math.inf) for end in ends]
    return [
        Estimate(
            name=q.name,
            unit=q.unit,
            value=float(values[i]),
            error=float(search.errors[i]),
            low=end.low,
            high=end.high,
            message=_message(q, end, float(values[i])) if search.agreed else _DISAGREE,
            places=end.places,
        )
        for i, (q, end) in enumerate(zip(problem.parameters, ends, strict=True))
    ]


def _resampled(problem: Problem, top: Minimum, how: Bootstrap, ends: list[Ends]) -> list[Ends]:
    """Return bootstrap intervals; an end that the data do not determine is that of the profile."""
    block = how.block or _block_length(problem, top)
    values = resampled(problem, top, how, block)
    tails = [0.5 - 0.5 * how.level, 0.5 + 0.5 * how.level]
    low, high = np.quantile(values, tails, axis=0)
    return [
        Ends(
            float(low[i]) if end.low_known else end.low,
            float(high[i]) if end.high_known else end.high,
            end.low_known,
            end.high_known,
            end.places,
        )
        for i, end in enumerate(ends)
    ]


def _block_length(problem: Problem, top: Minimum) -> int:
    """Return the block length of the bootstrap, from the autocorrelation of the residuals."""
    rho = problem.autocorrelation(problem.residuals(top.y))
    if rho <= 2.0 / math.sqrt(problem.rows):
        return 1
    # length of least mean square error for a first-order autoregressive process
    rho = min(rho, 0.99)
    best = (2.0 * rho / (1.0 - rho * rho)) ** (2.0 / 3.0) * problem.rows ** (1.0 / 3.0)
    return int(max(2.0, min(math.ceil(best), problem.rows / 4)))


def _message(q: Parameter, end: Ends, value: float) -> str:
    """Return the warning for a parameter that the data do not bound; empty if they do."""
    if end.low_known and end.high_known:
        return ""
    if q.of_own_law and not q.signed and value < _TINY * (q.start or 1.0):
        return f"{q.name} tends to 0; for values below 0 start from a negative number"
    if end.low_known and not (q.low == end.low and q.may_equal_low):
        return f"data fix {q.name} only from below: at least {end.low:.4g} {q.unit}"
    if end.high_known:
        return f"data fix {q.name} only from above: at most {end.high:.4g} {q.unit}"
    return f"data do not fix {q.name}"


# ---- audit


def _checks(problem: Problem, search: _Search, estimates: Sequence[Estimate]) -> list[Check]:
    """Return the audit: search, agreement of starts, residuals, noise, undetermined parameters."""
    from scipy.stats import norm

    top, variance = search.top, search.spread[0]
    r = problem.residuals(top.y)
    n, size = r.size, float(np.max(np.abs(r))) / math.sqrt(variance)
    correlated, most = problem.autocorrelation(r), WHITE_NOISE_LIMIT / math.sqrt(n)
    exact = variance <= 4.0 * _smallest_size(problem)
    checks = [
        Check(
            "search_ended",
            top.converged,
            float(top.converged),
            1.0,
            note="the best search converged",
            kind=Kind.CONVERGENCE,
        ),
        Check(
            "starts_agree",
            search.agreed,
            float(search.agree),
            float(min(2, search.n_searches)),
            note="number of searches that end at the best minimum; a single search may miss it",
            kind=Kind.CONDITION,
        ),
        Check(
            "residuals_white",
            exact or correlated <= most,
            correlated,
            most,
            note="autocorrelation of the residuals; beyond the limit the law or the rig has an "
            "error, or the noise is not white; Bootstrap() gives intervals that remain valid",
        ),
        Check(
            "no_outliers",
            exact or size <= float(norm.isf(5e-4 / n)),
            size,
            float(norm.isf(5e-4 / n)),
            note="largest residual divided by the noise; beyond the limit the law does not "
            "explain single rows",
        ),
    ]
    if not problem.known_noise:
        note = "noise is not given: it is estimated from the residuals"
        checks.append(Check("misfit_is_noise", None, None, None, note=note))
    else:
        # without the rows that stick, whose residuals are zero
        ratio = top.rss / search.spread[1]
        limit = 1.0 + 4.0 * math.sqrt(2.0 / max(int(np.count_nonzero(r)), 1))
        note = "mean square of the residuals divided by the square of the given noise"
        checks.append(Check("misfit_is_noise", ratio <= limit, ratio, limit, note=note))
    unknown = sum(bool(e.message) for e in estimates)
    note = (
        f"number of undetermined parameters: to one side 2 ln L drops by less than {KNOWN_DROP:g}"
    )
    checks.append(
        Check("parameters_known", not unknown, float(unknown), 0.0, note=note, kind=Kind.CONDITION)
    )
    return checks
