import dataclasses

import numpy as np
import pytest
from fit_cases import cases

import stiction as st
from stiction.errors import ModelError
from stiction.fits import Curve, Free, ImposedSlip, compare_fits
from stiction.laws import Dahl, LuGre

RIG = ImposedSlip(offset=Free(), drift=Free())


def test_the_true_law_wins():
    curve = cases(100)["LuGre"].drawn(1)
    fits = [st.fit(curve, law, RIG) for law in (st.Coulomb, Dahl, LuGre)]
    table = compare_fits(fits, folds=3)
    assert table.index[0] == "LuGre"
    assert table.index[-1] == "Coulomb"
    assert table["weight"].iloc[0] == pytest.approx(1.0)
    assert table["left_out"].idxmin() == "LuGre"
    assert table["bic"].idxmin() == "LuGre"


def test_a_law_with_more_numbers_than_needed_is_no_better():
    curve = cases(150)["Coulomb"].drawn(1)
    fits = [st.fit(curve, law, RIG) for law in (st.Coulomb, st.ExponentialWeakening)]
    table = compare_fits(fits, folds=0)
    assert table["aic"]["Coulomb"] < table["aic"]["ExponentialWeakening"] + 2.0
    assert table["bic"].idxmin() == "Coulomb"


def test_other_curves_are_refused():
    one = st.fit(cases(60)["Coulomb"].drawn(1), st.Coulomb, RIG)
    two = st.fit(cases(60)["Coulomb"].drawn(2), st.Coulomb, RIG)
    with pytest.raises(ModelError, match="the same curves"):
        compare_fits([one, two])
    # the force is the same, but not the displacement
    moved = dataclasses.replace(one.curves[0], displacement=2.0 * one.curves[0].displacement)
    with pytest.raises(ModelError, match="the same curves"):
        compare_fits([one, st.fit(moved, st.Coulomb, RIG)])
    with pytest.raises(ModelError, match="at least two"):
        compare_fits([one])


def test_rows_in_stick_do_not_estimate_the_noise():
    v = np.zeros(200)
    v[::5] = np.linspace(0.01, 0.2, 40)
    force = np.where(v > 0.0, 0.3, 0.05) + np.random.default_rng(0).normal(0.0, 0.01, 200)
    at_rest, rig = Curve(force=force, velocity=v), ImposedSlip(0.0, 0.0)
    moving = Curve(force=force[::5], velocity=v[::5])
    found, slipping = (st.fit(curve, st.Coulomb, rig) for curve in (at_rest, moving))
    assert (found.aic, found.bic) == pytest.approx((slipping.aic, slipping.bic))
    # an offset leaves no rounding in rows that stick
    shifted = st.fit(at_rest, st.Coulomb, ImposedSlip(drift=0.0))
    assert np.count_nonzero(shifted.residuals[0]) == 40
    table, wanted = (compare_fits([one, one], folds=0) for one in (found, slipping))
    for name in ("noise", "aic", "bic"):
        assert table[name].to_list() == pytest.approx(wanted[name].to_list())
    assert table["noise"].iloc[0] == pytest.approx(found.noise)
    given = dataclasses.replace(at_rest, noise=0.003)
    (check,) = [c for c in st.fit(given, st.Coulomb, rig).audit if c.check == "misfit_is_noise"]
    assert not check.ok
    # three times the given noise
    assert check.value == pytest.approx((found.noise / 0.003) ** 2)
