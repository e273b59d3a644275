"""Sobol's indices against a function whose indices are known."""

import numpy as np
import pytest

import stiction as st
from stiction.studies import Range, Saltelli, sobol_indices


def product(run):
    a, b = run.system.mass[0], run.system.stiffness
    return {"f": a + 2.0 * b + a * b, "one": 1.0, "a": a}


@pytest.fixture
def study(tmp_path):
    chain = st.Chain(mass=[2.0], stiffness=2.0)
    fields = {"mass[0]": Range(1.0, 2.0), "stiffness": Range(1.0, 2.0)}
    sweep = st.Sweep(chain, fields, Saltelli(64), product, t_span=(0.0, 0.1))
    return sweep.run(tmp_path / "study", workers=1)


def test_indices_of_a_known_function(study):
    found = sobol_indices(study, "f", resamples=50)
    # a + 2 b + a b of means 1.5: variances (1 + 1.5)^2/12, (2 + 1.5)^2/12 and 1/144
    parts = np.array([2.5**2, 3.5**2]) / 12.0
    whole = parts.sum() + 1.0 / 144.0
    # reason: a sample of 64
    assert found["first_order"].to_numpy() == pytest.approx(parts / whole, abs=0.03)
    # reason: a sample of 64
    assert found["total"].to_numpy() == pytest.approx((parts + 1.0 / 144.0) / whole, abs=0.03)
    assert (found["first_low"] <= found["first_high"]).all()
    # the formulas of the source, for the same sample
    a, b, one, other = study.table["f"].reshape(4, -1)
    variance = np.var([a, b])
    mean = np.mean([a, b])
    first = [np.mean((b - mean) * (mixed - a)) / variance for mixed in (one, other)]
    total = [0.5 * np.mean((a - mixed) ** 2) / variance for mixed in (one, other)]
    assert found["first_order"].to_numpy() == pytest.approx(first, rel=1e-9)
    assert found["total"].to_numpy() == pytest.approx(total, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_field_without_effect(study):
    """All bootstrap samples are zero: the interval is a point, not NaN."""
    without = sobol_indices(study, "a", resamples=10).loc["stiffness"]
    assert without.tolist() == [0.0] * 6


def test_indices_as_salib_has_them(study):
    sobol = pytest.importorskip("SALib.analyze.sobol", reason="SALib is in the extra `test`")
    a, b, one, other = study.table["f"].reshape(4, -1)
    problem = {"num_vars": 2, "names": study.fields, "bounds": [[1.0, 2.0]] * 2}
    # a sample goes after the other there: A, AB of each field, B
    rows = np.stack([a, one, other, b], axis=1).ravel()
    theirs = sobol.analyze(problem, rows, calc_second_order=False, num_resamples=10, seed=1)
    ours = sobol_indices(study, "f", resamples=10)
    # reason: the mean that is taken off is that of all rows there, of A and B here
    assert ours["first_order"].to_numpy() == pytest.approx(theirs["S1"], rel=1e-6)
    assert ours["total"].to_numpy() == pytest.approx(theirs["ST"], rel=1e-9)


def test_what_has_no_indices_is_refused(study, sweep, tmp_path):
    with pytest.raises(st.ModelError, match="is constant"):
        sobol_indices(study, "one")
    with pytest.raises(st.ModelError, match="one number for each member"):
        sobol_indices(study, "g")
    with pytest.raises(st.ModelError, match="Saltelli"):
        sobol_indices(sweep(2).run(tmp_path / "other", workers=1), "max(onset_force)")
    chain, fields = sweep(2).scenario.system, {"stiffness": Range(1.0, 2.0)}
    alone = st.Sweep(chain, fields, Saltelli(2), product, t_span=(0.0, 0.1))
    with pytest.raises(st.ModelError, match="one field has all the variance"):
        sobol_indices(alone.run(tmp_path / "alone", workers=1), "f")
