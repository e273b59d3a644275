"""Global sensitivity: Sobol's indices of a study with the design of Saltelli.

The indices give the fraction of the variance of a result Y that is due to each swept field X_i:

    first order  S_i = V(E(Y | X_i)) / V(Y),   total  T_i = 1 - V(E(Y | all fields but X_i)) / V(Y).

SciPy estimates them from the samples A, B and AB_i of the design `designs.Saltelli`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.errors import ModelError, nearest
from stiction.numerics.checks import MOST_SEED, whole
from stiction.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sobol_indices"]


def sobol_indices(
    study: Study, result: str, *, resamples: int = 200, seed: int = 1
) -> pd.DataFrame:
    """Return Sobol's indices: the fraction of a result's variance due to each swept field.

    Parameters
    ----------
    study : a complete study with the design `Saltelli`
    result : name of a saved result that is one number
    resamples : number of bootstrap samples for the 95 % confidence intervals
    seed : seed of the bootstrap

    Returns
    -------
    A table with one row per field: `first_order` (effect of the field alone) and `total` (with its
    interactions with other fields), and the ends of their confidence intervals `first_low`,
    `first_high`, `total_low`, `total_high`.

    Raises
    ------
    ModelError : if the study has another design or one field, is not complete, or members have no
        number.

    Source: Saltelli et al., Comput. Phys. Commun. 181 (2010) 259; scipy.stats.sobol_indices.
    Verified by: tests/unit/studies/test_sensitivity.py::test_indices_of_a_known_function
    """
    why, try_ = "intervals come from resampling.", "leave this value out."
    whole("sobol_indices.resamples", resamples, least=2, most=1_000_000, why=why, try_=try_)
    why = "the same seed repeats the bootstrap."
    whole("sobol_indices.seed", seed, least=0, most=MOST_SEED, why=why, try_=try_)
    import pandas as pd
    from scipy.stats import DegenerateDataWarning
    from scipy.stats import sobol_indices as of_scipy

    if study.manifest.description["design"] != "Saltelli" or not study.complete:
        got = f"a study of the design {study.manifest.description['design']}, {study!r}"
        needs = "a complete study with the design Saltelli"
        why = "the indices are computed from the samples A, B and AB of this design."
        raise ModelError("sobol_indices", got, needs, why, "use Saltelli(members=256).")
    known = [
        n for n, v in study.manifest.variables.items() if not v.shape and n not in study.fields
    ]
    if result not in known:
        needs, why = "one of " + ", ".join(known), "an index needs one number for each member."
        raise ModelError("sobol_indices", repr(result), needs, why, nearest(result, known))
    values = np.asarray(study.table[result], dtype=np.float64)
    missing = int((~np.isfinite(values)).sum())
    if missing:
        got, needs = f"{missing} members without {result}", "a number for each member"
        why = "the indices need the results of all members."
        try_ = "narrow the ranges; study.failures lists the failed members."
        raise ModelError("sobol_indices", got, needs, why, try_)
    size = len(study.fields)
    if size == 1:
        needs, why = "two fields or more", "one field has all the variance: its indices are 1."
        try_ = "vary a second field; study.table has the results of one."
        raise ModelError("sobol_indices", "a study of one field", needs, why, try_)
    # rows: the results of A, of B, and of AB of each field
    parts = values.reshape(size + 2, -1)
    # a constant result has no variance
    if not np.ptp(values) > 0.0:
        got, needs = f"{result}, which is constant", "a result that varies"
        why = "the indices are fractions of its variance, which is zero."
        raise ModelError("sobol_indices", got, needs, why, "widen the ranges.")
    func: Any = {"f_A": parts[:1], "f_B": parts[1:2], "f_AB": parts[2:, None, :]}
    indices = of_scipy(func=func, n=parts.shape[1], rng=np.random.default_rng(seed))
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        ends = indices.bootstrap(confidence_level=0.95, n_resamples=resamples)
    made = {}
    for name, values, part in (
        ("first", indices.first_order, ends.first_order),
        ("total", indices.total_order, ends.total_order),
    ):
        made["first_order" if name == "first" else name] = index = np.ravel(values)
        for side in ("low", "high"):
            end = np.ravel(getattr(part.confidence_interval, side))
            # all bootstrap samples of a field without effect are equal
            made[f"{name}_{side}"] = np.where(np.isnan(end), index, end)
    return pd.DataFrame(made, index=pd.Index(study.fields, name="field"))
