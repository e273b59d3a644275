"""What is compiled of the kernels of solids, as plain Python: the bits of NumPy's bodies."""

import numpy as np
import pytest
from bodies import in_both_bodies
from numpy.testing import assert_array_equal
from solid_cases import ELEMENTS, MATERIALS, bound, curve, distorted

from stiction.solids.contact.curve_kernels import nearest_kernel, points_kernel
from stiction.solids.elements.kinds import discretise


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
    nearest, at = nearest_kernel(1), points_kernel(1)

    def found():
        element, xi, normal = first.copy(), np.zeros((size, 1)), np.zeros(size, dtype=bool)
        nearest(points, element, xi, normal, *own, np.array([degree]), x)
        functions = np.zeros((4, surface.nodes.shape[1], size))
        places = np.zeros((4, 2, size))
        at(element, xi, *own, np.array([degree]), x, functions, places)
        return element, xi, normal, functions, places

    plain, body = in_both_bodies(found)
    for one, other in zip(plain, body, strict=True):
        assert_array_equal(one, other)
