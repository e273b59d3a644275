"""What a load refuses, with the reason it gives, and loads that jump."""

import numpy as np
import pytest

import stiction as st
from stiction.chains import Load, PiecewiseLinear
from stiction.chains.loads import LoadSegments


class Saw(Load):
    """Rises from 0 to `peak` in each of two seconds, and is zero at their ends."""

    def __init__(self, peak=5.0, start=0.0):
        self.peak, self.start = peak, start

    def segments(self):
        none = np.empty(0)
        rate = np.array([self.peak, self.peak, 0.0])
        return LoadSegments(self.start + np.arange(3.0), np.zeros(3), rate, none, none, none)


@pytest.mark.parametrize("time", [[0.0, 2.0, 1.0], [0.0, 1.0, 1.0], [3.0, 2.0, 1.0]])
def test_points_of_a_load_come_in_the_order_of_time(time):
    with pytest.raises(st.ModelError, match=r"PiecewiseLinear\.time: .* that increase strictly"):
        PiecewiseLinear(time, [0.0, 1.0, 2.0])
    # a time does not rise over itself, and one point has no order
    assert PiecewiseLinear([1.0], [2.0]).at(5.0) == 2.0
    assert PiecewiseLinear(sorted({*time, 9.0}), [2.0] * len({*time, 9.0})).at(0.5) == 2.0


@pytest.mark.parametrize("start", [-7.0, 0.0, 30.0])
def test_a_load_is_bounded_by_its_values_before_jumps(start):
    load = Saw(start=start)
    assert load.bounds_after(start) == (0.0, 5.0)
    assert load.bounds_after(start + 1.5) == (0.0, 5.0)
    assert load.bounds_after(start + 2.0) == (0.0, 0.0)
    # at the start no mass slips, and later values at breakpoints are zero
    chain = st.Chain(1.0, 10.0, law=st.Coulomb(0.3), load=load)
    span = (start, start + 2.5)
    slow = st.solve(chain, st.Quasistatic(), span).variables["x"].values
    assert slow.max() == pytest.approx((5.0 - 0.3 * 9.81) / 10.0, rel=1e-12)
    exact, steps = (
        np.abs(st.solve(chain, method, span).variables["x"].values).max()
        for method in (st.EventDriven(), st.ThetaStepper(1e-3))
    )
    assert exact > 0.09
    assert steps == pytest.approx(exact, rel=5e-3)
