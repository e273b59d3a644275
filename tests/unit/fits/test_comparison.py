import dataclasses

import pytest
from fit_cases import cases

import stiction as st
from stiction.errors import ModelError
from stiction.fits import Free, ImposedSlip, compare_fits
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
