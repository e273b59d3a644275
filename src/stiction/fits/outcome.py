"""What a fit found: a law, its numbers with intervals, and whether to believe them."""

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

__all__ = ["Estimate", "Fit", "criteria", "screen"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# parameters that go together so closely are named
_TOGETHER = 0.98
# an estimate is at an edge that is nearer than this share of its size, or of its interval
_EDGE = 1e-3


@dataclass(frozen=True)
class Estimate:
    """One parameter.

    Parameters
    ----------
    name, unit : of the law's field, or the rig's
    value : the best one
    error : standard error, of the law as a straight one near the best fit
    low, high : ends of the interval; infinite where data give none
    told : what data cannot tell of it; empty where they tell it
    places : (m, 2) values along its profile, and 2 ln L below the top
    """

    name: str
    unit: str
    value: float
    error: float
    low: float
    high: float
    told: str
    places: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Fit:
    """A law that was found from curves.

    Parameters
    ----------
    law : with the best numbers; a law like any other
    rig : with the best numbers; of offsets and drifts those of the first curve
    curves : what was measured
    estimates : the parameters
    correlation : (n, n) of the parameters; NaN where data do not fix one
    noise : standard deviation of a row [N]; over the given noise where that is known
    known_noise : whether the noise was given
    rows : that counted
    rss : sum of squared residuals
    freedom : rows that say something of the noise, less the parameters
    forces : of the law at the rows of each curve [N]
    used : rows of each curve that counted
    audit : whether this may be believed
    intervals : how intervals were found
    evaluations : how often curves were predicted
    problem : what was solved

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> speed = np.linspace(-0.1, 0.1, 20)
    >>> told = st.fits.Curve(force=0.3 * np.sign(speed), velocity=speed, noise=0.01)
    >>> found = st.fit(told, st.Coulomb)
    >>> isinstance(found, st.fits.Fit), round(float(found.law.mu), 6)
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
        """Return the estimate of one parameter."""
        found = {e.name: e for e in self.estimates}
        return found[name]

    def __repr__(self) -> str:
        """Return the one-screen summary."""
        return screen(self)

    def _repr_html_(self) -> str:
        """Return the parameters as a table, for notebooks."""
        rows = [(e.name, e.value, e.low, e.high, e.unit, e.told) for e in self.estimates]
        head = ("parameter", "value", "low", "high", "unit", "")
        return table_html(head, rows, title=law_name(self.law), bad=not self.audit.ok)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What data cannot tell, what lies at an edge, and which parameters go together."""
        found = list(dict.fromkeys(e.told for e in self.estimates if e.told))
        found += [f"{name} lies at the edge of its interval" for name in _at_edges(self)]
        for i, one in enumerate(self.estimates):
            for j in range(i):
                size = self.correlation[i, j]
                if abs(size) >= _TOGETHER:
                    other = self.estimates[j].name
                    found.append(f"{other} and {one.name} go together: correlation {size:.3f}")
        return tuple(found)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the parameters that data do not fix."""
        return tuple(e.name for e in self.estimates if e.told)

    @property
    def aic(self) -> float:
        """Akaike's criterion for few rows; the noise counts as a parameter where it was found."""
        return criteria(self.problem, self.rss)[0]

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return criteria(self.problem, self.rss)[1]

    @property
    def residuals(self) -> list[Floats]:
        """Measured less fitted force of each curve [N]; NaN in rows that did not count."""
        rows = zip(self.problem.data, self.forces, self.used, strict=True)
        return [np.where(used, data - force, np.nan) for data, force, used in rows]

    @functools.cached_property
    def table(self) -> pd.DataFrame:
        """The parameters: value, standard error, interval, unit, what data cannot tell."""
        import pandas as pd

        columns = ("value", "error", "low", "high", "unit", "told")
        rows = {e.name: [getattr(e, c) for c in columns] for e in self.estimates}
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))

    @property
    def plot(self) -> FitFigures:
        """Its figures: data and law, residuals, profiles, correlation."""
        from stiction.fits.figures import FitFigures

        return FitFigures(self)

    def scenario(self) -> Scenario:
        """Return a scenario in which this law slides as it was measured, to run on.

        Verified by: tests/unit/fits/test_outcome.py::test_a_fit_runs_on
        """
        from stiction.fits.handing_on import scenario_of_fit

        return scenario_of_fit(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, figures: bool = True) -> Path:
        """Write fit.json, law.toml, scenario.toml, residuals.csv, report.html and figures.

        The folder appears complete or not at all; fit.json holds digests of the files.

        Verified by: tests/unit/fits/test_outcome.py::test_a_folder_is_complete
        """
        from stiction.fits.folder import save_fit

        return save_fit(self, Path(folder), overwrite=overwrite, figures=figures)


def _at_edges(fit: Fit) -> Iterator[str]:
    """Yield the names of parameters at an end of their interval, or of what the law admits."""
    coordinates = fit.problem.coordinates
    y = coordinates.coordinates(np.array([e.value for e in fit.estimates]))
    size = _EDGE * fit.problem.spread(y)
    low, high = coordinates.bounds()
    bounded = (y <= low + size) | (y >= high - size)
    for e, at_bound in zip(fit.estimates, bounded, strict=True):
        close = _EDGE * min(e.error, e.high - e.low)
        close = close if math.isfinite(close) else 0.0
        if at_bound or not e.low + close < e.value < e.high - close:
            yield e.name


def criteria(problem: Problem, rss: float) -> tuple[float, float]:
    """Return Akaike's and Schwarz's criterion of a misfit.

    Source: Hurvich and Tsai 1989, Biometrika 76, 297, for few rows; Schwarz 1978.
    Verified by: tests/unit/fits/test_comparison.py::test_the_true_law_wins
    """
    n, turn = problem.rows, math.log(2.0 * math.pi)
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
    unit = "of the noise given" if fit.known_noise else "N"
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
    lines += [f"told              {line}" for line in fit.warnings]
    for check in fit.audit.failed:
        if check.check != "parameters_known":
            lines.append(f"FAILED            {check.check}: {check.value:.3g}, {check.note}")
    lines += [f"not checked       {c.check}: {c.note}" for c in fit.audit.not_checked]
    lines += [f"cleaned           {line}" for curve in fit.curves for line in curve.cleaned]
    return "\n".join(lines)
