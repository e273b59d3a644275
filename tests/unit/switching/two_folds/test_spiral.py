"""Orbits that spiral out of a two-fold: exact numbers, and a run along the ray."""

import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching.methods import EventDriven
from stiction.switching.presets import NormalForm
from stiction.switching.two_folds.spiral import spiral


def test_spiral_numbers():
    found = spiral(-1.2, -1.5)
    assert found.growth == pytest.approx(5.0, rel=1e-14)
    assert found.decay == pytest.approx(0.2, rel=1e-14)
    assert found.ray_out == pytest.approx(-0.4, rel=1e-14)
    assert found.ray_in == pytest.approx(-2.0, rel=1e-14)


def test_spiral_of_the_run():
    found = spiral(-1.2, -1.5)
    start = NormalForm(-1.2, -1.5, x0=(0.0, -1.0, -found.ray_out))
    events = st.solve(start, EventDriven(rtol=1e-12), t_span=(0.0, 10.0)).events
    # above for 2, below for 2 |z| = 4
    crossed = events[events["time"] > 5.5].iloc[0]
    assert crossed["time"] == pytest.approx(6.0, rel=1e-9)
    assert crossed["y"] == pytest.approx(-found.growth, rel=1e-9)
    assert crossed["z"] == pytest.approx(found.growth * -found.ray_out, rel=1e-9)


@pytest.mark.parametrize("pair", [(1.2, -1.5), (-0.5, -0.5), (1.2, 1.5)])
def test_spiral_needs_case_1(pair):
    with pytest.raises(ModelError, match="case 1"):
        spiral(*pair)
