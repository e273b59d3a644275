import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.fits import Curve

T = np.linspace(0.0, 1.0, 11)


def curve(**changes):
    return Curve(**{"force": np.sin(T), "time": T, "displacement": T, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"force": [1.0, 2.0]}, "at least 8"),
        ({"force": np.where(T == 0.5, np.nan, T)}, "finite numbers"),
        ({"force": np.ones(11)}, "a force that varies"),
        ({"time": T[::-1]}, "increasing times"),
        ({"time": np.zeros(11)}, "increasing times"),
        ({"displacement": T[:5]}, "one per row"),
        ({"displacement": None}, "displacement nor velocity"),
        ({"normal_force": -1.0}, "positive"),
        ({"normal_force": np.zeros(11)}, "positive"),
        ({"noise": 0.0}, "positive"),
        ({"force": "text"}, "finite numbers"),
    ],
)
def test_bad_columns_are_refused(changes, words):
    with pytest.raises(ModelError, match=words):
        curve(**changes)


def test_speeds_of_a_displacement():
    x = np.array([0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    speeds = curve(displacement=x).speeds() / 10.0
    expected = [1.0, 1.0, 1.0, np.nan, -1.0, -1.0, np.nan, 0.0, np.nan, 1.0, 1.0]
    np.testing.assert_allclose(speeds, expected, rtol=1e-12)


def test_a_measured_speed_moves_as_far():
    v = np.cos(T)
    steps = curve(displacement=None, velocity=v).steps()
    assert steps.sum() == pytest.approx(np.trapezoid(v, T), rel=1e-13)
    assert steps[0] == 0.0
