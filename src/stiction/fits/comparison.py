"""Which of several laws the data ask for: Akaike's weights, and rows that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stiction.errors import ModelError, explain
from stiction.fits.outcome import Fit
from stiction.fits.parameters import law_name
from stiction.fits.search import polished
from stiction.numerics.checks import whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_fits"]


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
    ModelError : if the fits are not of the same rows.

    Source: Burnham and Anderson 2002; Roberts et al. 2017, Ecography 40, 913, for blocks.
    Verified by: tests/unit/fits/test_comparison.py::test_the_true_law_wins
    """
    whole("compare_fits.folds", folds, least=0, most=100, why="blocks of rows.", try_="give 5.")
    if len(fits) < 2:
        needs, why = "at least two fits", "they are compared with each other."
        raise ModelError(explain("compare_fits", f"{len(fits)} fits", needs, why, "fit two laws."))
    first = fits[0]
    for other in fits[1:]:
        same = len(other.curves) == len(first.curves) and all(
            np.array_equal(a, b) for a, b in zip(first.problem.data, other.problem.data, strict=True)
        )
        alike = same and all(map(np.array_equal, first.used, other.used))
        if not alike:
            got = f"{first.rows} rows of {law_name(first.law)}, {other.rows} of another"
            why = "a likelihood of other rows says nothing."
            try_ = "fit all to the same curves; a velocity column keeps rows at reversals."
            raise ModelError(explain("compare_fits", got, "the same rows", why, try_))
    import pandas as pd

    aic = np.array([one.aic for one in fits])
    weight = np.exp(-0.5 * (aic - aic.min()))
    table = pd.DataFrame(
        {
            "parameters": [len(one.estimates) for one in fits],
            "noise": [one.noise for one in fits],
            "aic": aic,
            "bic": [one.bic for one in fits],
            "weight": weight / weight.sum(),
            "left_out": [_left_out(one, folds) for one in fits],
            "told": [", ".join(one.unknown) for one in fits],
        },
        index=pd.Index([law_name(one.law) for one in fits], name="law"),
    )
    return table.sort_values("aic", kind="stable")


def _left_out(one: Fit, folds: int) -> float:
    """Return the root mean square of rows that were left out of the fit [N]."""
    if folds < 2:
        return float("nan")
    values = np.array([e.value for e in one.estimates])
    start = one.problem.coordinates.coordinates(values)
    total, count = 0.0, 0
    for k in range(folds):
        # blocks apart, since neighbours tell each other's force
        blocks = [(np.arange(m.size) * 5 * folds // m.size) % folds != k for m in one.used]
        found = polished(one.problem.only(blocks), start)
        rest = one.problem.only([~b for b in blocks])
        r = rest.residuals(found.y)
        total, count = total + float(r @ r), count + r.size
    return float(np.sqrt(total / max(count, 1)))
