"""The result of a fit: parameters with confidence intervals, audit, criteria and summary.

`stiction.fit` returns a `Fit`, which `fitting.fitted` makes. It can be printed, drawn, saved,
compared with other fits, and converted to a scenario. A residual is the measured minus the fitted
force; L is the likelihood; the profile of a parameter is the drop of 2 ln L below its maximum when
that parameter is fixed and the others are fitted again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Audit
from stiction.errors import nearest
from stiction.fits.curves.curve import Curve
from stiction.fits.intervals import Intervals
from stiction.fits.parameters import Law, law_name
from stiction.fits.rigs import Rig
from stiction.numerics.shown import table_html

if TYPE_CHECKING:
    import pandas as pd

    from stiction.fits.figures import FitFigures
    from stiction.fits.problem import Problem
    from stiction.io.scenario import Scenario

__all__ = ["Estimate", "Fit", "criteria", "estimate_of", "screen", "slipping_rows"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# a warning is given if the correlation of two parameters exceeds this. Chosen: intervals are then
# five times as wide as with the other parameter known, 1 / sqrt(1 - 0.98^2)
_CORRELATED = 0.98
# an estimate is at a bound if its distance is below this fraction of its typical size or interval.
# Chosen
_AT_BOUND = 1e-3


@dataclass(frozen=True)
class Estimate:
    """The estimate of one parameter.

    Parameters
    ----------
    name, unit : name and unit of the field of the law or of the rig
    value : estimate, the value at the minimum
    error : standard error, by linearisation of the law at the minimum
    low, high : ends of the confidence interval; infinite if the data give no end
    message : text on an end that the data do not determine; "" if they determine both ends
    places : (m, 2) values along the profile likelihood, and the drop of 2 ln L at each
    """

    name: str
    unit: str
    value: float
    error: float
    low: float
    high: float
    message: str
    places: Floats = field(repr=False)


def estimate_of(estimates: Sequence[Estimate], name: str) -> Estimate:
    """Return the estimate of one parameter; KeyError names the nearest one."""
    named = {one.name: one for one in estimates}
    if name not in named:
        raise KeyError(f"{name!r}: {nearest(name, named)}")
    return named[name]


@dataclass(frozen=True, eq=False)
class Fit:
    """A law that was fitted to measured curves.

    Parameters
    ----------
    law : the law with the fitted values
    rig : the rig with the fitted values; offset and drift are those of the first curve
    curves : the measured curves
    estimates : the fitted parameters
    correlation : (n, n) correlation of the parameters; NaN for undetermined parameters
    noise : standard deviation of the residuals [N]; divided by the given noise if that is known
    known_noise : whether the noise was given
    rows : number of rows that were used
    rss : sum of squared residuals, each divided by the given noise if that is known
    freedom : degrees of freedom: number of nonzero residuals minus number of parameters
    forces : predicted force at the rows of each curve [N]
    used : for each curve, which rows were used: those whose slip speed is defined
    audit : checks of the fit
    intervals : method of the confidence intervals
    evaluations : number of predictions of all curves
    problem : the least-squares problem

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> speed = np.linspace(-0.1, 0.1, 20)
    >>> curve = st.fits.Curve(force=0.3 * np.sign(speed), velocity=speed, noise=0.01)
    >>> fit = st.fit(curve, st.Coulomb)
    >>> isinstance(fit, st.fits.Fit), round(float(fit.law.mu), 6)
    (True, 0.3)
    """

    law: Law
    rig: Rig
    curves: Sequence[Curve]
    estimates: Sequence[Estimate]
    correlation: Floats = field(repr=False)
    noise: float
    known_noise: bool
    rows: int
    rss: float
    freedom: int
    forces: Sequence[Floats] = field(repr=False)
    used: Sequence[Bools] = field(repr=False)
    audit: Audit
    intervals: Intervals
    evaluations: int
    problem: Problem = field(repr=False)

    def __getitem__(self, name: str) -> Estimate:
        """Return the estimate of one parameter; KeyError names the nearest one."""
        return estimate_of(self.estimates, name)

    def __repr__(self) -> str:
        """Return the one-screen summary."""
        return screen(self)

    def _repr_html_(self) -> str:
        """Return the parameters as a table, for notebooks."""
        rows = [(e.name, e.value, e.low, e.high, e.unit, e.message) for e in self.estimates]
        head = ("parameter", "value", "low", "high", "unit", "")
        return table_html(head, rows, title=law_name(self.law), bad=not self.audit.ok)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Undetermined parameters, estimates at a bound, and strongly correlated parameters."""
        warnings = list(dict.fromkeys(e.message for e in self.estimates if e.message))
        warnings += [f"{name} lies at the edge of its interval" for name in _at_bounds(self)]
        for i, one in enumerate(self.estimates):
            for j in range(i):
                size = self.correlation[i, j]
                if abs(size) >= _CORRELATED:
                    other = self.estimates[j].name
                    warnings.append(f"{other} and {one.name} are correlated: {size:.3f}")
        return tuple(warnings)

    @property
    def jacobian(self) -> str:
        """How the Jacobian of a simulated test was computed; empty for other tests."""
        return self.problem.jacobian_note

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parameters that the data do not determine."""
        return tuple(e.name for e in self.estimates if e.message)

    @property
    def aic(self) -> float:
        """Akaike's information criterion for small samples; estimated noise is a parameter.

        It counts the rows in which this law slips: `compare_fits` compares laws on equal rows.
        """
        return criteria(self.problem.restricted_to(slipping_rows(self)), self.rss)[0]

    @property
    def bic(self) -> float:
        """Schwarz's (Bayesian) information criterion, of the same rows as `aic`."""
        return criteria(self.problem.restricted_to(slipping_rows(self)), self.rss)[1]

    @property
    def residuals(self) -> list[Floats]:
        """Measured minus fitted force of each curve [N]; NaN in rows that were not used."""
        rows = zip(self.problem.data, self.forces, self.used, strict=True)
        return [np.where(used, data - force, np.nan) for data, force, used in rows]

    @functools.cached_property
    def table(self) -> pd.DataFrame:
        """The parameters: value, standard error, interval, unit and message."""
        import pandas as pd

        columns = ("value", "error", "low", "high", "unit", "message")
        rows = {
            e.name: [e.value, e.error, e.low, e.high, e.unit, e.message] for e in self.estimates
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))

    @property
    def plot(self) -> FitFigures:
        """The figures of the fit: data and law, residuals, profiles, correlation."""
        from stiction.fits.figures import FitFigures

        return FitFigures(self)

    def scenario(self) -> Scenario:
        """Return a scenario: a slider with this law that is driven as in the test.

        Verified by: tests/unit/fits/test_outcome.py::test_a_fit_runs_on
        """
        from stiction.fits.fitted_scenario import scenario_of_fit

        return scenario_of_fit(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, figures: bool = True) -> Path:
        """Write fit.json, law.toml, scenario.toml, residuals.csv, report.html and figures.

        The folder appears only when it is complete. fit.json has the digests of the other files.

        Verified by: tests/unit/fits/test_outcome.py::test_a_folder_is_complete
        """
        from stiction.fits.folder import save_fit

        return save_fit(self, Path(folder), overwrite=overwrite, figures=figures)


def _at_bounds(fit: Fit) -> Iterator[str]:
    """Yield the names of parameters at an end of their interval, or at a bound of the law."""
    coordinates = fit.problem.coordinates
    y = coordinates.coordinates(np.array([e.value for e in fit.estimates]))
    size = _AT_BOUND * fit.problem.typical_sizes(y)
    low, high = coordinates.bounds()
    bounded = (y <= low + size) | (y >= high - size)
    for e, at_bound in zip(fit.estimates, bounded, strict=True):
        close = _AT_BOUND * min(e.error, e.high - e.low)
        close = close if math.isfinite(close) else 0.0
        if at_bound or not e.low + close < e.value < e.high - close:
            yield e.name


def slipping_rows(fit: Fit) -> list[Bools]:
    """Return, for each curve, which rows have a residual.

    In stick the law admits any force up to its bound: such a row has the residual zero and
    estimates no noise.
    """
    return [used & (data != 0.0) for used, data in zip(fit.used, fit.residuals, strict=True)]


def criteria(problem: Problem, rss: float) -> tuple[float, float]:
    """Return Akaike's and Schwarz's criterion (AIC, BIC) of a fit with the sum of squares `rss`.

    For n rows and p parameters, AIC = -2 ln L + 2 p + 2 p (p + 1) / (n - p - 1), and
    BIC = -2 ln L + p ln n. -2 ln L = n (ln(2 pi) + 1 + ln(rss / n)) if the noise is estimated, and
    rss + n ln(2 pi) + 2 sum ln(noise) if it is known.

    Source: Hurvich and Tsai 1989, Biometrika 76, 297, for small samples; Schwarz 1978.
    Verified by: tests/unit/fits/test_comparison.py::test_the_true_law_wins
    """
    n, turn = max(problem.rows, 1), math.log(2.0 * math.pi)
    p = len(problem.parameters) + (not problem.known_noise)
    misfit = n * (turn + 1.0 + math.log(max(rss, 1e-300) / n))
    if problem.known_noise:
        scales = zip(problem.scales, problem.masks, strict=True)
        misfit = rss + n * turn + 2.0 * float(sum(np.log(s[m]).sum() for s, m in scales))
    small = 2.0 * p * (p + 1) / max(n - p - 1, 1)
    return misfit + 2.0 * p + small, misfit + p * math.log(n)


def screen(fit: Fit) -> str:
    """Return the one-screen summary of a fit."""
    rows = sum(curve.rows for curve in fit.curves)
    unit = "times the given noise" if fit.known_noise else "N"
    state = "UNTRUSTED" if fit.audit.untrusted else "FITTED"
    state += ", audit held" if fit.audit.ok else ", audit FAILED"
    lines = [
        f"{state}: {law_name(fit.law)}, {type(fit.rig).__name__}, {fit.rows} of {rows} rows",
        f"{'parameter':<18}{'value':>13}  {100 * fit.intervals.level:g} % interval",
    ]
    lines += [
        f"{e.name:<18}{e.value:>13.6g}  {e.low:.6g} to {e.high:.6g} {e.unit}" for e in fit.estimates
    ]
    lines.append(f"{'noise':<18}{fit.noise:>13.4g}  {unit}; AIC {fit.aic:.6g}")
    lines += [f"{'Jacobian':<18}{fit.jacobian}"] if fit.jacobian else []
    lines += [f"warning           {line}" for line in fit.warnings]
    for check in fit.audit.failed:
        if check.check != "parameters_known":
            lines.append(f"FAILED            {check.check}: {check.value:.3g}, {check.note}")
    lines += [f"not checked       {c.check}: {c.note}" for c in fit.audit.not_checked]
    lines += [f"cleaned           {line}" for curve in fit.curves for line in curve.cleaned]
    return "\n".join(lines)
