"""The one question: which law, with which numbers and how surely, these curves come from."""

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
from stiction.fits.intervals import KNOWN, Bootstrap, Ends, Intervals, Profile, drawn, profiles
from stiction.fits.outcome import Estimate, Fit
from stiction.fits.parameters import Law, Parameter
from stiction.fits.problem import Problem
from stiction.fits.rigs import ImposedSlip, Rig
from stiction.fits.search import ALIKE, Found, agreeing, best
from stiction.numerics.checks import MOST_SEED, whole

__all__ = ["checked", "fit", "fitted"]

Floats = npt.NDArray[np.float64]

# a direction whose effect is so much smaller than the largest has none
_NO_EFFECT = 1e-7
# profiles begin again from a better fit so often at most
_MOST_RESTARTS = 20
_DISAGREE = "no interval is stated: searches disagree"
# searches ended at two places where a coordinate differs by this share of its size
_ELSEWHERE = 0.1


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
    """Return the law of this kind that is nearest to measured curves, and how sure it is.

    Parameters
    ----------
    curves : one test, or several with the same law and rig
    law : a law's class, searched from places that the data suggest; or a law whose numbers are
        one start, and stay where they are not fitted
    rig : how it was measured; None for `ImposedSlip()`
    free : fields of the law that are fitted; None for all it has
    known : of a law's class, numbers of fields that are not fitted
    intervals : `Profile()`, the default, or `Bootstrap()`
    seed : of the places where searches begin

    Returns
    -------
    Parameters with intervals, what data cannot tell, residuals, figures, and a scenario.

    Raises
    ------
    ModelError : where data and law do not fit together, or nothing can be found.

    Source: Gauss 1809; Levenberg 1944; Marquardt 1963; trust regions of scipy.optimize.
    Verified by: tests/exact/test_fits.py::test_noiseless_data_give_the_law_back
    """
    given = checked(curves)
    problem = Problem(law, ImposedSlip() if rig is None else rig, given, free, known or {})
    return fitted(problem, intervals, seed)


def checked(curves: Curve | Sequence[Curve]) -> list[Curve]:
    """Return the curves as a list; refuse what holds none."""
    given = [curves] if isinstance(curves, Curve) else list(curves)
    if not given or not all(isinstance(curve, Curve) for curve in given):
        needs, why = "a Curve, or a list of them", "a law is found from measured curves."
        try_ = "read_curve(FILE), or Curve(force=..., time=..., displacement=...) of arrays."
        raise ModelError("fit.curves", repr(curves), needs, why, try_)
    return given


def fitted(problem: Problem, intervals: Intervals | None, seed: int) -> Fit:
    """Return the best fit of a problem, with intervals and audit."""
    why, try_ = "it makes a search that can be repeated.", "leave it out."
    whole("fit.seed", seed, least=0, most=MOST_SEED, why=why, try_=try_)
    how = Profile() if intervals is None else intervals
    search = _searched(problem, seed, how.level)
    top, spread = search.top, search.spread
    estimates = _estimates(problem, search, how)
    values = problem.coordinates.physical(top.y)
    forces, _ = problem.forces(values)
    checks = _checks(problem, search, forces, estimates)
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
        intervals=how,
        evaluations=problem.evaluations,
        problem=problem,
    )


@dataclass(frozen=True)
class _Search:
    """The best fit, and what its surroundings and its profiles say.

    Parameters
    ----------
    top : the best fit
    agree, followed : how many searches ended at it, of how many
    spread : variance of the residuals, and its degrees of freedom
    errors, correlation : of the parameters, as of a linear law
    ends : intervals along the profiles
    """

    top: Found
    agree: int
    followed: int
    spread: tuple[float, int]
    errors: Floats
    correlation: Floats
    ends: Sequence[Ends]

    @property
    def agreed(self) -> bool:
        """Whether two searches ended at the best fit, where there were two."""
        return self.agree >= min(2, self.followed)


def _searched(problem: Problem, seed: int, level: float) -> _Search:
    """Return the best fit and its profiles, begun again from each better fit that one passes."""
    from scipy.stats import chi2, f

    top, agree, found = best(problem, seed)
    for _ in range(_MOST_RESTARTS):
        spread = _variance(problem, top)
        errors, correlation = _errors(problem, top, spread[0])
        limit = chi2.ppf(level, 1) if problem.known_noise else f.ppf(level, 1, spread[1])
        # where searches disagree no interval is stated; profiles look for better fits alone
        others = _others(problem, top, found) if agree >= min(2, len(found)) else []
        ends = profiles(problem, top, errors, spread[0], float(limit), others)
        if not isinstance(ends, Found):
            break
        top = ends
        found = [top, *found]
        agree = agreeing(problem, found)
    else:
        # the last fit has no profile
        values = problem.coordinates.physical(top.y)
        ends = [Ends(v, v, False, False, np.array([(v, 0.0)])) for v in values.tolist()]
        agree = 0
    return _Search(top, agree, len(found), spread, errors, correlation, ends)


def _others(problem: Problem, top: Found, found: Sequence[Found]) -> list[Floats]:
    """Return where searches ended elsewhere, and the simpler law whose friction does not fall."""
    size = problem.spread(top.y)
    others = [end.y for end in found if np.max(np.abs(end.y - top.y) / size) > _ELSEWHERE]
    even = problem.coordinates.even(top.y)
    return others if even is None else [*others, even]


def _variance(problem: Problem, top: Found) -> tuple[float, int]:
    """Return the variance of the residuals and its degrees of freedom."""
    r = problem.residuals(top.y)
    # rows at rest that are within what stick carries say nothing of the noise
    freedom = int(np.count_nonzero(r)) - len(problem.parameters)
    if problem.known_noise:
        return 1.0, max(freedom, 1)
    if freedom >= max(4, problem.rows // 10):
        return max(top.rss / freedom, _least(problem)), freedom
    # nothing slips: noise is what neighbours differ by
    rough = [np.diff(d, 2) / math.sqrt(6.0) for d in problem.data]
    size = 1.4826 * float(np.median(np.abs(np.concatenate(rough))))
    return max(size * size, _least(problem)), max(freedom, 1)


def _least(problem: Problem) -> float:
    """Return a variance below which numbers are equal."""
    return float(max(np.ptp(d) for d in problem.data) * 1e-12) ** 2


def _errors(problem: Problem, top: Found, variance: float) -> tuple[Floats, Floats]:
    """Return standard errors of the values, and their correlations."""
    jac = problem.jacobian(top.y)
    size = problem.spread(top.y)
    _, sigma, v = np.linalg.svd(jac * size, full_matrices=False)
    kept = sigma > _NO_EFFECT * sigma.max(initial=0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
    turned = _turned(problem, top.y)
    root = turned @ (size[:, None] * v.T * inverse)
    covariance = variance * root @ root.T
    # what lies in a direction without effect has no error at all
    lost = (np.abs(v[~kept]) > 1e-3).any(axis=0) if (~kept).any() else np.zeros(size.size, bool)
    errors = np.sqrt(np.diag(covariance))
    scale = np.where(errors > 0.0, errors, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    lost = (np.abs(turned) @ lost) > 0.0
    correlation[lost] = correlation[:, lost] = np.nan
    return np.where(lost, np.inf, errors), correlation


def _turned(problem: Problem, y: Floats) -> Floats:
    """Return d values / d coordinates."""
    made = np.empty((y.size, y.size))
    for i in range(y.size):
        h = 1e-6 * max(abs(y[i]), 1e-3)
        up, down = y.copy(), y.copy()
        up[i] += h
        down[i] -= h
        at = problem.coordinates.physical
        made[:, i] = (at(up) - at(down)) / (2.0 * h)
    return made


def _estimates(problem: Problem, search: _Search, how: Intervals) -> list[Estimate]:
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
            told=_told(q, end) if search.agreed else _DISAGREE,
            places=end.places,
        )
        for i, (q, end) in enumerate(zip(problem.parameters, ends, strict=True))
    ]


def _resampled(problem: Problem, top: Found, how: Bootstrap, ends: list[Ends]) -> list[Ends]:
    """Return intervals by the bootstrap, open where the profile says that data give no end."""
    block = how.block or _memory(problem, top)
    made = drawn(problem, top, how, block)
    tails = [0.5 - 0.5 * how.level, 0.5 + 0.5 * how.level]
    low, high = np.quantile(made, tails, axis=0)
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


def _memory(problem: Problem, top: Found) -> int:
    """Return the rows over which residuals remember: a block of the bootstrap."""
    alike = problem.alikeness(problem.residuals(top.y))
    if alike <= 2.0 / math.sqrt(problem.rows):
        return 1
    # of a first-order process; its mean square error is least for blocks of this length
    rho = min(alike, 0.99)
    best = (2.0 * rho / (1.0 - rho * rho)) ** (2.0 / 3.0) * problem.rows ** (1.0 / 3.0)
    return int(max(2.0, min(math.ceil(best), problem.rows / 4)))


def _told(q: Parameter, end: Ends) -> str:
    """Return what data cannot tell of a parameter; nothing where they tell it."""
    if end.low_known and end.high_known:
        return ""
    if end.low_known and not (q.low == end.low and q.may_vanish):
        return f"data fix {q.name} only from below: at least {end.low:.4g} {q.unit}"
    if end.high_known:
        return f"data fix {q.name} only from above: at most {end.high:.4g} {q.unit}"
    return f"data do not fix {q.name}"


# ---- whether all this may be believed


def _checks(
    problem: Problem, search: _Search, forces: Sequence[Floats], estimates: Sequence[Estimate]
) -> list[Check]:
    from scipy.stats import norm

    top, variance = search.top, search.spread[0]
    r = problem.residuals(top.y)
    n, size = r.size, float(np.max(np.abs(r))) / math.sqrt(variance)
    alike, most = problem.alikeness(r), ALIKE / math.sqrt(n)
    exact = variance <= 4.0 * _least(problem)
    checks = [
        Check(
            "search_ended",
            top.converged,
            float(top.converged),
            1.0,
            note="it came to rest",
            kind=Kind.CONVERGENCE,
        ),
        Check(
            "starts_agree",
            search.agreed,
            float(search.agree),
            float(min(2, search.followed)),
            note="searches that end at the best place; one alone may have missed a better one",
            kind=Kind.CONDITION,
        ),
        Check(
            "residuals_white",
            exact or alike <= most,
            alike,
            most,
            note="residuals that are alike: the law or the rig is not quite this one, or noise is "
            "no white one; Bootstrap() gives intervals that allow for it",
        ),
        Check(
            "no_outliers",
            exact or size <= float(norm.isf(5e-4 / n)),
            size,
            float(norm.isf(5e-4 / n)),
            note="the largest residual over the noise; single rows that no law explains",
        ),
    ]
    if not problem.known_noise:
        note = "noise is not given: it is taken from the misfit itself"
        checks.append(Check("misfit_is_noise", None, None, None, note=note))
    else:
        ratio = top.rss / max(n - len(problem.parameters), 1)
        limit = 1.0 + 4.0 * math.sqrt(2.0 / n)
        note = "square of the residuals over that of the noise you gave"
        checks.append(Check("misfit_is_noise", ratio <= limit, ratio, limit, note=note))
    unknown = sum(bool(e.told) for e in estimates)
    note = f"parameters that data do not fix: 2 ln L falls by less than {KNOWN:g} to one side"
    checks.append(
        Check("parameters_known", not unknown, float(unknown), 0.0, note=note, kind=Kind.CONDITION)
    )
    return checks
