"""What a load refuses, with the reason it gives."""

import pytest

import stiction as st
from stiction.chains import PiecewiseLinear


@pytest.mark.parametrize("time", [[0.0, 2.0, 1.0], [0.0, 1.0, 1.0], [3.0, 2.0, 1.0]])
def test_points_of_a_load_come_in_the_order_of_time(time):
    with pytest.raises(st.ModelError, match=r"PiecewiseLinear\.time: .* that increase strictly"):
        PiecewiseLinear(time, [0.0, 1.0, 2.0])
    # a time does not rise over itself, and one point has no order
    assert PiecewiseLinear([1.0], [2.0]).at(5.0) == 2.0
    assert PiecewiseLinear(sorted({*time, 9.0}), [2.0] * len({*time, 9.0})).at(0.5) == 2.0
