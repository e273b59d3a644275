"""Maps of switching surfaces against closed forms of other modules."""

import math

import numpy as np
import pytest

from stiction.switching.model import PiecewiseSmooth
from stiction.switching.portraits import local_arcs, local_sticking, portrait, wheel_surface
from stiction.switching.presets import NormalForm, TwoBlockStickSlip
from stiction.switching.wheel.model import WheelOnTurntable


@pytest.mark.parametrize("gamma", [0.0, -0.75 * math.pi, 0.5 * math.pi])
def test_grids_lie_on_the_surface(gamma):
    wheel = WheelOnTurntable(gamma=gamma)
    points = wheel_surface(wheel, np.linspace(0.1, 0.3, 4), np.linspace(-1.2, -0.9, 5))
    assert points.shape == (5, 4, 3)
    heights = [wheel.surfaces_at(x)[0] for x in points.reshape(-1, 3)]
    assert np.abs(heights).max() < 1e-15


def test_regions_and_sticking_flow():
    y, z = np.meshgrid(np.array([-0.3, 0.2]), np.array([-0.1, 0.4]))
    points = np.stack([np.zeros_like(y), y, z], axis=-1)
    found = portrait(NormalForm(-1.2, -1.5), points)
    # L+ = -y and L- = z: sliding for y, z > 0, escaping for y, z < 0
    assert found.region.tolist() == [[1, 3], [2, 0]]
    flow = found.sticking
    assert np.isnan(flow[0, 1]).all()
    assert np.isnan(flow[1, 0]).all()
    for i, j in ((0, 0), (1, 1)):
        b, c = y[i, j], z[i, j]
        # f_s = (L- f+ - L+ f-) / (L- - L+), by hand
        expected = np.array([0.0, c + b * -1.5, c * -1.2 + b]) / (b + c)
        assert flow[i, j] == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_local_sticking():
    j1, j2 = -1.2, -1.5
    xi, eta = np.array([0.3, -0.3, 0.3]), np.array([0.1, -0.1, -0.1])
    a, b = local_sticking(j1, j2, xi, eta)
    # the flow runs along one line through the point: into it before, away from it after
    assert a[:2] == pytest.approx([-0.26, -0.26], rel=1e-13)
    assert b[:2] == pytest.approx([0.15, 0.15], rel=1e-13)
    assert np.isnan([a[2], b[2]]).all()


def test_arcs_follow_the_fields():
    system = NormalForm(-1.2, -1.5)
    arcs = local_arcs(-1.2, -1.5, (-0.1, -0.08), 1, 4, points=401)
    assert [side for side, _ in arcs] == [1, -1, 1, -1]
    for side, arc in arcs:
        assert arc[0, [0, -1]] == pytest.approx([0.0, 0.0], abs=1e-15)
        assert (side * arc[0, 1:-1] > 0.0).all()
        middle = arc[:, 200]
        slope = (arc[:, 201] - arc[:, 199]) / 2.0
        along = system.field(middle, float(side))
        assert np.cross(slope, along) == pytest.approx(np.zeros(3), abs=1e-12)
        assert slope @ along > 0.0


def test_other_surfaces_keep_their_signs():
    blocks, at = TwoBlockStickSlip(), [0.0, 0.0, 0.2, -1.0]
    found = portrait(blocks, [at])
    # the second block moves backward
    assert blocks.surfaces_at(at)[1] < 0.0
    assert found.f_plus[0].tolist() == blocks.field(at, [1.0, -1.0]).tolist()
    assert found.f_minus[0].tolist() == blocks.field(at, [-1.0, -1.0]).tolist()


def test_points_may_lack_the_clock():
    forced = PiecewiseSmooth(h=lambda x: x[0], f=lambda t, x, s, p: [-s[0] + t], x0=[0.0])
    assert portrait(forced, [[0.0]]).f_plus.tolist() == [[-1.0, 1.0]]
