"""Exits from the escaping region, against the closed form of the normal form."""

import math

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.switching.flow.trajectory import Tolerance
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.nonuniqueness.exits import EscapingWedge, dwell_time
from stiction.switching.presets import NormalForm
from stiction.switching.two_folds.newton import Probe
from stiction.switching.wheel.model import WheelOnTurntable

J1, J2 = -1.2, -1.5
# the sliding field is A w / (y + z), so that t = (1, 1) A^-1 w from the two-fold
CLOCK = np.linalg.solve(np.array([[J2, 1.0], [1.0, J1]]).T, np.ones(2))


def wedge():
    return EscapingWedge(NormalForm(J1, J2), np.zeros(3), Tolerance(1e-11))


def at_wheel(omega):
    wheel = WheelOnTurntable.at_two_fold(0.1859, omega)
    v = float(wheel.two_folds_at(0.1859, omega).v)
    return EscapingWedge(wheel, np.array([0.1859, v, omega]), Tolerance(1e-10))


@pytest.mark.parametrize("w", [(-0.3, -0.1), (-0.02, -0.5), (-1.0, -1.0)])
def test_dwell_of_the_normal_form(w):
    dwell, origin, back = dwell_time(NormalForm(J1, J2), np.array([0.0, *w]), Tolerance(1e-11))
    assert origin == "two_fold"
    assert dwell == pytest.approx(CLOCK @ np.array(w), rel=1e-8)
    assert np.max(np.abs(back.x)) < 1e-6


def test_another_surface_keeps_its_sign():
    # the fields of the normal form where x4 < 0, and none where x4 > 0
    def field(x, s):
        size = 0.5 - 0.5 * s[1]
        up, down = 0.5 + 0.5 * s[0], 0.5 - 0.5 * s[0]
        return [
            size * (down * x[2] - up * x[1]),
            size * (up + down * J2),
            size * (up * J1 + down),
            0.0,
        ]

    x = [0.0, -0.3, -0.1, -1.0]
    flow = PiecewiseSmooth(h=[lambda x: x[0], lambda x: x[3]], f=field, x0=x)
    dwell, origin, _ = dwell_time(flow, np.array(x), Tolerance(1e-11))
    assert origin == "two_fold"
    assert dwell == pytest.approx(CLOCK @ x[1:3], rel=1e-8)
    assert EscapingWedge(flow, np.array([0.0, 0.0, 0.0, -1.0]), Tolerance(1e-11)).sides[1] == -1.0


def test_exit_at_a_distance():
    found = wedge().exit_at(0.25 * math.pi, 0.2)
    assert found is not None
    assert found.x[0] == pytest.approx(0.0, abs=1e-14)
    assert np.linalg.norm(found.x) == pytest.approx(0.2, rel=1e-9)
    assert found.dwell == pytest.approx(CLOCK @ found.x[1:], rel=1e-8)


@pytest.mark.parametrize("angle", [0.2, 0.8, 1.4])
def test_exit_after_a_time(angle):
    found = wedge().exit_after(angle, 0.5)
    assert found is not None
    assert found.x[1] < 0.0
    assert found.x[2] < 0.0
    assert found.dwell == pytest.approx(0.5, rel=1e-9)
    assert CLOCK @ found.x[1:] == pytest.approx(0.5, rel=1e-8)


@pytest.mark.parametrize("dwell", [3e-4, 1e-4, 6.672, 20.067])
def test_exit_after_a_time_on_a_curved_ray(dwell):
    found = at_wheel(-1.037).exit_after(0.25 * math.pi, dwell)
    assert found is not None
    assert found.dwell == pytest.approx(dwell, rel=1e-8)


def test_folds_beside_a_kink():
    near = at_wheel(-1.01)
    lie = Probe(near.system, 0, near.sides).values(
        np.array([near.point(0.0, 1e-6), near.point(0.5 * math.pi, 1e-6)])
    )[:, 1:]
    # L- = 0 at angle 0, L+ = 0 at angle pi / 2, to the first order in the distance
    assert abs(lie[0, 1] / lie[0, 0]) < 1e-4
    assert abs(lie[1, 0] / lie[1, 1]) < 1e-4


def test_dwell_in_a_slow_flow():
    rate = 1e-9
    slow = PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: (-rate * x[1], rate, rate * J1),
        f_minus=lambda x: (rate * x[2], rate * J2, rate),
        x0=[0.0, -0.3, -0.1],
    )
    dwell, origin, _ = dwell_time(slow, np.array(slow.x0), Tolerance(1e-11))
    assert origin == "two_fold"
    assert rate * dwell == pytest.approx(CLOCK @ slow.x0[1:], rel=1e-8)


def test_no_exit_where_nothing_passes():
    closed = EscapingWedge(NormalForm(0.5, 0.5), np.zeros(3), Tolerance(1e-10))
    with pytest.raises(ModelError, match="case 1"):
        closed.longest(0.8)
