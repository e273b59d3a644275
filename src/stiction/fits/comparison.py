"""Which of several laws the data ask for: Akaike's weights, and rows that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.fits.outcome import Fit, criteria
from stiction.fits.parameters import law_name
from stiction.fits.problem import Problem
from stiction.fits.search import polished
from stiction.numerics.checks import whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_fits"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def compare_fits(fits: Sequence[Fit], *, folds: int = 5) -> pd.DataFrame:
    """Return a table of fits to the same curves, the one that data ask for most first.

    Parameters
    ----------
    fits : of the same rows
    folds : blocks of rows, each of which is predicted by a fit to the others; 0 leaves this out

    Returns
    -------
    By law: `parameters`, `noise`, `aic`, `bic`, `weight` (Akaike's, of all laws compared),
    `left_out` (root mean square of what rows left out differ by), `told` (parameters unknown).

    Raises
    ------
    ModelError : if the fits are not of the same curves.

    Source: Burnham and Anderson 2002; Roberts et al. 2017, Ecography 40, 913, for blocks.
    Verified by: tests/unit/fits/test_comparison.py::test_the_true_law_wins
    """
    whole("compare_fits.folds", folds, least=0, most=100, why="blocks of rows.", try_="give 5.")
    if len(fits) < 2:
        needs, why = "at least two fits", "they are compared with each other."
        raise ModelError("compare_fits", f"{len(fits)} fits", needs, why, "fit two laws.")
    common = [np.ones(used.size, dtype=bool) for used in fits[0].used]
    for one in fits:
        same = len(one.curves) == len(common) and all(
            map(np.array_equal, one.problem.data, fits[0].problem.data)
        )
        if not same:
            got, why = f"{law_name(one.law)} of other curves", "their likelihoods say nothing."
            try_ = "fit all laws to the same curves."
            raise ModelError("compare_fits", got, "the same curves", why, try_)
        # a law without speeds has a force at reversals, where others have none
        common = [a & b for a, b in zip(common, one.used, strict=True)]
    import pandas as pd

    told = [_told(one, common, folds) for one in fits]
    table = pd.DataFrame(told, index=pd.Index([law_name(one.law) for one in fits], name="law"))
    weight = np.exp(-0.5 * (table["aic"] - table["aic"].min()))
    table.insert(4, "weight", weight / weight.sum())
    return table.sort_values("aic", kind="stable")


def _told(one: Fit, common: Sequence[Bools], folds: int) -> dict[str, object]:
    """Return the row of a fit, of the rows that count in all of them."""
    problem = one.problem.only(common)
    top = polished(problem, _place(one))
    aic, bic = criteria(problem, top.rss)
    free = max(problem.rows - len(one.estimates), 1)
    return {
        "parameters": len(one.estimates),
        "noise": float(np.sqrt(top.rss / free)),
        "aic": aic,
        "bic": bic,
        "left_out": _left_out(problem, top.y, folds),
        "told": ", ".join(one.unknown),
    }


def _place(one: Fit) -> Floats:
    return one.problem.coordinates.coordinates(np.array([e.value for e in one.estimates]))


def _left_out(problem: Problem, start: Floats, folds: int) -> float:
    """Return the root mean square of rows that were left out of the fit [N]."""
    if folds < 2:
        return float("nan")
    total, count = 0.0, 0
    for k in range(folds):
        # blocks apart, since neighbours tell each other's force
        blocks = [(np.arange(m.size) * 5 * folds // m.size) % folds != k for m in problem.masks]
        found = polished(problem.only(blocks), start)
        r = problem.only([~b for b in blocks]).residuals(found.y)
        total, count = total + float(r @ r), count + r.size
    return float(np.sqrt(total / max(count, 1)))
