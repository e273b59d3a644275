"""Kernels of a rod on a plane against vectors: slip, slip per impulse, impulses."""

import numpy as np
import pytest

from stiction.rods.plane import kernels
from stiction.rods.plane.stepper_kernels import open_separating
from stiction.rods.rod_kernels import MATERIAL_ROWS, material_of

pytestmark = pytest.mark.usefixtures("plain_kernels")

SIZE, RADIUS = 4, 0.3


@pytest.fixture
def made():
    """A rod of four nodes with any directions, a plane at any angle, and any inertia."""
    rng = np.random.default_rng(5)
    q = rng.normal(size=(4, SIZE))
    q /= np.linalg.norm(q, axis=0)
    plane = kernels.Plane.table(1)[0]
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    b1 = np.cross(n, [1.0, 0.0, 0.0])
    b1 /= np.linalg.norm(b1)
    plane.radius, plane.normal[:], plane.tangents[:] = RADIUS, n, [b1, np.cross(n, b1)]
    mat = rng.uniform(0.5, 2.0, size=(MATERIAL_ROWS, SIZE))
    nodes = kernels.Node.table(SIZE)
    v, p = rng.normal(size=(2, 3, SIZE))
    return q, v, p, plane, mat, nodes


def axis(q, e):
    """Return the third column of the rotation of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q[:, e]
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def beside(k):
    return range(max(k - 1, 0), min(k + 1, SIZE - 1))


def mean_of(k):
    return 1.0 if k in (0, SIZE - 1) else 0.5


def test_slip_is_that_of_the_point_below_the_axis(made):
    """u = v + a n x w, with the mean spin of the elements beside; half counts about the axis."""
    q, v, p, plane, _, nodes = made
    n, b = np.array(plane.normal), np.array(plane.tangents)
    kernels.contact_velocities(q, v, p, plane, nodes)
    for k in range(SIZE):
        u = v[:, k].copy()
        for e in beside(k):
            d3 = axis(q, e)
            spin = p[:, e] - 0.5 * (p[:, e] @ d3) * d3
            u += mean_of(k) * RADIUS * np.cross(n, spin)
        assert kernels.slip_at(k, nodes) == pytest.approx(b @ u, rel=1e-12, abs=1e-13)
        assert nodes[k].normal_velocity == pytest.approx(n @ v[:, k], rel=1e-12)


def test_slip_per_impulse_is_what_a_push_does(made):
    """The change of slip at a node by a unit impulse there is a column of G."""
    q, v, p, plane, mat, nodes = made
    kernels.contact_velocities(q, v, p, plane, nodes)
    kernels.assemble_mobility(q, plane, mat, nodes)
    n, b = np.array(plane.normal), np.array(plane.tangents)
    for e in range(SIZE - 1):
        np.testing.assert_allclose(nodes[e].m, b @ np.cross(n, axis(q, e)), rtol=1e-12)
    rod = material_of(mat)
    for k in range(SIZE):
        g = rod.free[k] * np.eye(2)
        for e in beside(k):
            m = b @ np.cross(n, axis(q, e))
            inverse = rod.turns[e] * (np.eye(2) - 0.5 * np.outer(m, m))
            g += (mean_of(k) * RADIUS) ** 2 * inverse
        node = nodes[k]
        assert (node.g11, node.g12, node.g22) == pytest.approx((g[0, 0], g[0, 1], g[1, 1]))
        for d in np.eye(2):
            before = np.array(kernels.slip_at(k, nodes))
            kernels.apply_tangential_impulse(k, float(d[0]), float(d[1]), plane, mat, nodes)
            change = np.array(kernels.slip_at(k, nodes)) - before
            np.testing.assert_allclose(change, g @ d, rtol=1e-9, atol=1e-12)


def test_pushes_are_reciprocal(made):
    """What an impulse at one node does to its neighbour, the neighbour does to it."""
    q, v, p, plane, mat, nodes = made
    kernels.contact_velocities(q, v, p, plane, nodes)
    kernels.assemble_mobility(q, plane, mat, nodes)

    def change(k, d, other):
        before = np.array(kernels.slip_at(other, nodes))
        kernels.apply_tangential_impulse(k, float(d[0]), float(d[1]), plane, mat, nodes)
        return np.array(kernels.slip_at(other, nodes)) - before

    for k in range(SIZE - 1):
        there = np.stack([change(k, d, k + 1) for d in np.eye(2)], axis=1)
        back = np.stack([change(k + 1, d, k) for d in np.eye(2)], axis=1)
        np.testing.assert_allclose(there, back.T, rtol=1e-9, atol=1e-12)
        assert np.abs(there).max() > 1e-3


def test_weights_of_elements_in_nodes():
    assert [kernels.frame_weight(k, SIZE) for k in range(SIZE)] == [1.0, 0.5, 0.5, 1.0]


def test_friction_that_drives_the_slip_gives_heat_back():
    nodes = kernels.Node.table(3)
    nodes[1].impulse[1], nodes[1].x[0], nodes[1].before[1], nodes[1].slips = 1.0, 1.0, 1.0, 1
    assert kernels.contact_work(nodes, kernels.SECOND_HALF) == 0.0
    assert nodes[1].heat == -1.0


def test_a_contact_that_separates_is_logged_with_its_slip():
    nodes, events = kernels.Node.table(3), kernels.Event.table(3)
    nodes["mode"] = kernels.SLIP
    nodes[1].normal_velocity, nodes[1].x[:] = 0.1, (3.0, 4.0)
    open_separating(nodes, 0.5, events, np.zeros(1, np.int64))
    assert (events[0].node, events[0].slip_speed) == (1, 5.0)
