"""What is compiled of the kernels of solids, as plain Python: the bits of NumPy's bodies."""

import numpy as np
import pytest
from bodies import in_both_bodies
from numpy.testing import assert_array_equal
from solid_cases import ELEMENTS, MATERIALS, bound, curve, distorted

from stiction.solids.contact.curve_kernels import closest_point_kernel, points_kernel
from stiction.solids.elements.kinds import discretise
from stiction.solids.membranes.membrane_kernels import membrane_kernel

pytestmark = pytest.mark.usefixtures("plain_kernels")


@pytest.mark.parametrize("name", sorted(MATERIALS))
@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("reduced", [False, True])
def test_forces_and_tangents(element, name, reduced):
    parts = discretise(distorted(cells=(1, 1)), ELEMENTS[element](reduced=reduced), ("bottom",))
    for plane_stress in (False,) if parts.blocks[0].volume_weights.size else (False, True):
        bulk, pattern = bound(parts, MATERIALS[name].table(plane_stress))
        for size in (0.02, 2.0):
            u = size * np.random.default_rng(5).standard_normal(parts.points.shape)

            def added(u=u, bulk=bulk, pattern=pattern):
                residual, data = np.zeros_like(u), np.zeros(pattern.entries)
                without = np.zeros_like(u)
                bad = bulk.add(u, residual, data)
                assert bulk.add(u, without, None) == bad
                return bad, residual, data, without

            plain, body = in_both_bodies(added)
            for one, other in zip(plain, body, strict=True):
                assert_array_equal(one, other)


@pytest.mark.parametrize(("degree", "count"), [(1, 7), (2, 8), (3, 14)])
def test_nearest_points_and_places(degree, count):
    random = np.random.default_rng(degree)
    x = np.stack([np.linspace(0.0, 6.0, count), 0.25 * random.standard_normal(count)], axis=1)
    surface = curve(x, degree, weights=1.0 + 0.4 * random.random(count) if degree == 2 else None)
    size = 30
    points = np.stack([random.uniform(-0.5, 6.5, size), random.uniform(-2.0, 2.0, size)], axis=1)
    first = random.integers(0, surface.nodes.shape[0], size)
    own = (surface.nodes, surface.extraction, surface.weights, surface.neighbours)
    nearest, at = closest_point_kernel(1), points_kernel(1)

    def found():
        element, xi, normal = first.copy(), np.zeros((size, 1)), np.zeros(size, dtype=bool)
        nearest(points, element, xi, normal, *own, np.array([degree]), x)
        functions = np.zeros((3, surface.nodes.shape[1], size))
        places = np.zeros((3, 2, size))
        at(element, xi, *own, np.array([degree]), x, functions, places)
        return element, xi, normal, functions, places

    plain, body = in_both_bodies(found)
    for one, other in zip(plain, body, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("flat", [False, True])
def test_forces_and_tangents_of_membranes(n, flat):
    """Two elements with a side in common, one of them shrunk to a line where it is asked for."""
    random = np.random.default_rng(n)
    nodes = np.array([range(n), range(n - 2, 2 * n - 2)])
    size, points = 2 * n - 2, 2
    gradients = random.normal(size=(2, points, n, 2))
    start = random.normal(size=(2, points, 3, 2))
    if flat:
        start[1, 0, :, 1], gradients[1, 0] = start[1, 0, :, 0], 0.0
    weights, u = random.uniform(0.5, 1.0, (2, points)), 0.1 * random.normal(size=(size, 3))
    row = np.full(size, 3 * size)
    at = 9 * size * nodes[:, :, None] + 3 * nodes[:, None, :]
    kernel = membrane_kernel(n)

    def added():
        residual, without = np.zeros((size, 3)), np.zeros((size, 3))
        data, none = np.zeros(9 * size * size), np.zeros((0, n, n), dtype=np.int64)
        given = (nodes, gradients, start, weights, u, 1.5)
        with np.errstate(all="ignore"):
            bad = kernel(*given, residual, data, at, row)
            assert kernel(*given, without, np.zeros(0), none, row) == bad
        return bad, residual, data, without

    plain, body = in_both_bodies(added)
    assert plain[0] == body[0] == flat
    for one, other in zip(plain[1:], body[1:], strict=True):
        assert_array_equal(one, other)
    if not flat:
        # the tangent is symmetric, and the derivative of the forces
        tangent = plain[2].reshape(3 * size, 3 * size)
        np.testing.assert_allclose(tangent, tangent.T, atol=1e-12)
        way, h = random.normal(size=u.shape), 1e-6
        ends = []
        for sign in (1.0, -1.0):
            force = np.zeros((size, 3))
            none = np.zeros((0, n, n), dtype=np.int64)
            moved = (nodes, gradients, start, weights, u + sign * h * way, 1.5)
            kernel(*moved, force, np.zeros(0), none, row)
            ends.append(force)
        slope = (ends[0] - ends[1]) / (2.0 * h)
        np.testing.assert_allclose(
            (tangent @ way.ravel()).reshape(u.shape), slope, rtol=1e-6, atol=1e-6
        )
