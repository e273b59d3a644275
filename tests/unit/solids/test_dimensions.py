"""What is particular to a plane or to space, against general formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import jacobian

from stiction.solids.dimensions import (
    area_derivatives,
    cofactor,
    cofactor_derivative,
    cofactor_derivative_kernel,
    cofactor_kernel,
    crossed,
    determinant,
    frame,
    positive_definite,
    positive_definite_kernel,
    solve,
    solve_kernel,
)


@pytest.mark.parametrize("d", [2, 3])
def test_cofactors(d):
    random = np.random.default_rng(d)
    for _ in range(20):
        f, a, b = random.standard_normal((d, d)), *random.standard_normal((2, d))
        made, det = cofactor(f)
        assert_allclose(made, det * np.linalg.inv(f).T, atol=1e-12)
        assert_allclose([det, determinant(f)], np.linalg.det(f), rtol=1e-12)
        t = np.append(f.ravel(), np.zeros(d * d))
        assert cofactor_kernel(d)(t) == det
        assert np.array_equal(t[d * d :], made.ravel())
        # second derivatives of the determinant, by differences that are exact for cubics
        second = jacobian(lambda g: cofactor(g.reshape(d, d))[0], f.ravel(), 0.1)
        skew = np.einsum("iIkK,I,K->ik", second.reshape(d, d, d, d), a, b)
        pairs = [(0, 1), (0, 2), (1, 2)][: len(cofactor_derivative(a, b, f))]
        assert_allclose(cofactor_derivative(a, b, f), [skew[p] for p in pairs], atol=1e-12)
        reported = cofactor_derivative_kernel(d)(np.stack([a, b]), 0, 1, f.ravel())
        assert_allclose(reported[: len(pairs)], cofactor_derivative(a, b, f), rtol=1e-14)


@pytest.mark.parametrize("m", [1, 2])
def test_normals_and_areas(m):
    random = np.random.default_rng(m)
    for _ in range(20):
        tangents = random.standard_normal((m, m + 1))
        normal = crossed(tangents)
        area = np.sqrt(np.linalg.det(tangents @ tangents.T))
        assert_allclose(np.linalg.norm(normal), area, rtol=1e-12)
        assert_allclose(tangents @ normal, 0.0, atol=1e-13)
        slope = jacobian(
            lambda a: np.linalg.norm(crossed(a.reshape(m, m + 1))), tangents.ravel(), 1e-3
        )
        found = area_derivatives(tangents, normal / area)
        assert_allclose(found.ravel(), slope[0], atol=1e-9)
        axes = frame(normal / area)
        assert_allclose(axes @ axes.T, np.eye(m), atol=1e-14)
        assert_allclose(crossed(axes), normal / area, atol=1e-14)


@pytest.mark.parametrize("m", [1, 2])
def test_small_systems(m):
    random = np.random.default_rng(m)
    for _ in range(20):
        a = random.standard_normal((m, m))
        matrix, right = a + a.T, random.standard_normal(m)
        wanted = np.linalg.solve(matrix, right)
        assert_allclose(solve(matrix, right), wanted, rtol=1e-10)
        positive = bool((np.linalg.eigvalsh(matrix) > 0.0).all())
        assert bool(positive_definite(matrix)) == positive_definite_kernel(m)(matrix) == positive
        solve_kernel(m)(matrix, right)
        assert_allclose(right, wanted, rtol=1e-10)
