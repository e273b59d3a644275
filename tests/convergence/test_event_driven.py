"""The order of the series, from below and from above, with steps of fixed length."""

import numpy as np
import pytest

import stiction as st

CHAIN = st.Chain(
    mass=[1.0, 2.0, 0.5],
    stiffness=[20.0, 30.0, 10.0],
    damping=0.2,
    load=st.chains.Sine(12.0, 3.0),
    law=st.ExponentialWeakening(0.25, 0.2, 0.5),
)


@pytest.mark.parametrize(("order", "longest"), [(8, 0.016), (10, 0.024)])
def test_order_of_the_series(order, longest):
    """Series of order p on steps of length h: the error falls as h^(p-1) with events."""
    exact = st.solve(CHAIN, st.EventDriven(), (0.0, 2.0), save=2).final["x"]
    steps = longest / np.array([1.0, 1.5, 2.0])
    errors = []
    for step in steps:
        method = st.chains.EventDriven(rtol=1e-2, order=order, max_step=float(step))
        run = st.solve(CHAIN, method, (0.0, 2.0), save=2)
        errors.append(np.max(np.abs(run.final["x"] - exact)))
    observed = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order - 2.0 < observed < order + 1.0
