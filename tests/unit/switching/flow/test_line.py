"""Where a state ends on a codimension-2 line: on a ray that the field turns towards."""

import math

import numpy as np
import pytest

from stiction.switching.flow.line import slips_to_its_end
from stiction.switching.flow.state import STAGE, Y
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import PiecewiseSmooth

# h and g are these times x: neither of length 1 nor at right angles
NORMALS = np.array([[1.0, 0.5, -0.3], [0.4, 2.0, 0.7]])
BACK = np.linalg.pinv(NORMALS)
H, G = NORMALS.tolist()
ROWS = BACK.tolist()
NEAR = 5e-11


def flow(ray, turn):
    """Return a flow into the line h = g = 0 at rate 1, that turns towards a ray.

    With (h, g) = rho (sin phi, cos phi): rho' = -1 and rho phi' = -turn (phi - ray); a third
    state grows along the line.
    """

    def field(x):
        h = H[0] * x[0] + H[1] * x[1] + H[2] * x[2]
        g = G[0] * x[0] + G[1] * x[1] + G[2] * x[2]
        phi = math.atan2(h, g)
        sine, cosine, off = math.sin(phi), math.cos(phi), -turn * (phi - ray)
        dh, dg = -sine + cosine * off, -cosine - sine * off
        return [ROWS[j][0] * dh + ROWS[j][1] * dg for j in range(3)]

    return PiecewiseSmooth(
        h=lambda x: H[0] * x[0] + H[1] * x[1] + H[2] * x[2],
        f_plus=field,
        f_minus=field,
        kinks=[lambda x: G[0] * x[0] + G[1] * x[1] + G[2] * x[2]],
        x0=[1.0, 1.0, 1.0],
    )


def ends(ray, turn, off):
    """Return whether a state so near that only rays count ends there, and where it is then."""
    system, phi = flow(ray, turn), ray + off
    x = BACK @ (NEAR * np.array([math.sin(phi), math.cos(phi)]))
    path = Trajectory(system, Tolerance(1e-9), np.array([0.0, 1.0]))
    # placed far out in the same direction: so near, it would be put on the surface
    path.place(0.0, x / NEAR, np.sign(system.surfaces_at(x)))
    arrays = path.flow
    a = arrays.vectors
    a[Y, :3] = x
    arrays.functions[0].value = abs(system.surfaces_at(x)[0])
    arrays.functions[2].value = abs(system.kinks_at(x)[0])
    a[STAGE, :3], a[STAGE, 3] = system.field(x, 1.0), 1.0
    return bool(slips_to_its_end(arrays.work, arrays.functions, 1.0)), a[Y, :4].copy()


@pytest.mark.parametrize("ray", [0.2, 1.2, -0.3, 2.0])
def test_a_state_ends_on_a_ray_that_attracts(ray):
    for off in (-0.01, 0.0, 0.01):
        there, y = ends(ray, 1.0, off)
        assert there
        # straight on at rate 1: both functions vanish after the time NEAR, but for the turn
        assert np.abs(NORMALS @ y[:3]).max() <= 0.02 * NEAR
        # reason: rho shrinks by as much as the turn adds
        assert y[3] == pytest.approx(NEAR, rel=2e-2)


@pytest.mark.parametrize("ray", [0.2, 1.2])
@pytest.mark.parametrize(("turn", "off"), [(-1.0, 0.0), (-1.0, 0.01), (1.0, 0.05), (1.0, -0.05)])
def test_a_state_passes_where_no_ray_attracts_it(ray, turn, off):
    there, y = ends(ray, turn, off)
    assert not there
    assert y[3] == 0.0
