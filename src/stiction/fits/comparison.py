"""Comparison of friction laws that were fitted to the same curves.

The table has Akaike's and Schwarz's information criteria (`outcome.criteria`), Akaike weights
w_i = exp(-(AIC_i - AIC_min) / 2) / sum_j exp(-(AIC_j - AIC_min) / 2), and the error of
cross-validation. AIC = -2 ln L + 2 p + 2 p (p + 1) / (n - p - 1) and BIC = -2 ln L + p ln n,
with the likelihood L, p parameters and n rows. `stiction.compare_fits` and `command` call it. Each
law is fitted again to the rows that all laws use, without those in which all laws stick.
Cross-validation leaves out blocks of neighbouring rows, because the errors of neighbouring rows are
correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.fits.curves.curve import Curve
from stiction.fits.outcome import Fit, criteria, slipping_rows
from stiction.fits.parameters import law_name
from stiction.fits.problem import Problem
from stiction.fits.search import minimised
from stiction.numerics.checks import whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_fits"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# what the likelihood of a curve depends on
_COLUMNS = ("force", "time", "displacement", "velocity", "normal_force", "noise")


def compare_fits(fits: Sequence[Fit], *, folds: int = 5) -> pd.DataFrame:
    """Return a table of fits to the same curves, in the order of their AIC, the lowest first.

    Parameters
    ----------
    fits : two or more fits to the same curves
    folds : number of folds of cross-validation; each fold of rows is predicted by a fit to the
        other rows. With 0 or 1 there is no cross-validation, and `left_out` is NaN

    Returns
    -------
    One row per law: `parameters` (number), `noise` (standard deviation), `aic`, `bic`, `weight`
    (Akaike's weight among these laws), `left_out` (root mean square error of cross-validation, in
    N or divided by the given noise), `undetermined` (names of parameters that the data of the given
    fit do not determine).

    Raises
    ------
    ModelError : if the fits are not of the same curves.

    Source: Burnham and Anderson 2002; Roberts et al. 2017, Ecography 40, 913, for blocks.
    Verified by: tests/unit/fits/test_comparison.py::test_the_true_law_wins
    """
    why = "this many blocks of rows are predicted from the other rows; 0 for none."
    whole("compare_fits.folds", folds, least=0, most=100, why=why, try_="give 5.")
    if len(fits) < 2:
        needs, why = "at least two fits", "fits are compared with each other."
        raise ModelError("compare_fits", f"{len(fits)} fits", needs, why, "fit two laws.")
    common = [np.ones(used.size, dtype=bool) for used in fits[0].used]
    for one in fits:
        if len(one.curves) != len(common) or not all(map(_equal, one.curves, fits[0].curves)):
            got, why = (
                f"a fit of {law_name(one.law)} to other curves",
                "likelihoods of different data cannot be compared.",
            )
            try_ = "fit all laws to the same curves."
            raise ModelError("compare_fits", got, "the same curves", why, try_)
        # at reversals, where the slip speed is undefined, only some laws predict a force
        common = [a & b for a, b in zip(common, one.used, strict=True)]
    # rows in which every law sticks fit all of them exactly
    slipping = [np.any(rows, axis=0) for rows in zip(*map(slipping_rows, fits), strict=True)]
    counted = [a & b for a, b in zip(common, slipping, strict=True)]
    if sum(map(np.count_nonzero, counted)) > max(len(one.estimates) for one in fits):
        common = counted
    import pandas as pd

    rows = [_row(one, common, folds) for one in fits]
    table = pd.DataFrame(rows, index=pd.Index([law_name(one.law) for one in fits], name="law"))
    weight = np.exp(-0.5 * (table["aic"] - table["aic"].min()))
    table.insert(list(table).index("left_out"), "weight", weight / weight.sum())
    return table.sort_values("aic", kind="stable")


def _equal(one: Curve, other: Curve) -> bool:
    """Return whether two curves have the same rows; None equals None alone."""

    # one number for all rows equals a column of this number
    def column(curve: Curve, name: str) -> object:
        given = getattr(curve, name)
        return None if given is None else np.broadcast_to(given, np.shape(curve.force))

    return all(np.array_equal(column(one, c), column(other, c)) for c in _COLUMNS)  # type: ignore[arg-type]


def _row(one: Fit, common: Sequence[Bools], folds: int) -> dict[str, object]:
    """Return the row of the table for one fit, from the data rows that all fits use."""
    problem = one.problem.restricted_to(common)
    refit = minimised(problem, _coordinates(one))
    aic, bic = criteria(problem, refit.rss)
    free = max(problem.rows - len(one.estimates), 1)
    return {
        "parameters": len(one.estimates),
        "noise": float(np.sqrt(refit.rss / free)),
        "aic": aic,
        "bic": bic,
        "left_out": _left_out(problem, refit.y, folds),
        "undetermined": ", ".join(one.unknown),
    }


def _coordinates(one: Fit) -> Floats:
    """Return (n,) coordinates of the estimates, the start of further searches."""
    return one.problem.coordinates.coordinates(np.array([e.value for e in one.estimates]))


def _left_out(problem: Problem, start: Floats, folds: int) -> float:
    """Return the root mean square error of cross-validation, in N or divided by the given noise.

    start : (n,) coordinates from which each search starts
    """
    if folds < 2:
        return float("nan")
    total, count = 0.0, 0
    for k in range(folds):
        # five blocks in each fold: neighbouring forces are correlated
        blocks = [(np.arange(m.size) * 5 * folds // m.size) % folds != k for m in problem.masks]
        trained = minimised(problem.restricted_to(blocks), start)
        r = problem.restricted_to([~b for b in blocks]).residuals(trained.y)
        total, count = total + float(r @ r), count + r.size
    return float(np.sqrt(total / max(count, 1)))
