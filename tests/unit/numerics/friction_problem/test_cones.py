import itertools

import numpy as np
import pytest

from stiction.numerics.friction_problem.cones import (
    de_saxce,
    de_saxce_derivative,
    project,
    project_in_plane,
    projection_derivative,
)

SHAPES = [(2, 1), (3, 2), (3, 1), (5, 2)]
COEFFICIENTS = list(itertools.product((0.0, 0.3, 2.0), (0.0, 0.1, 1.5)))


def in_cone(r, n_tangent, mu, rolling, slack=0.0):
    slip, turn = np.linalg.norm(r[1 : 1 + n_tangent]), np.linalg.norm(r[1 + n_tangent :])
    return slip <= mu * r[0] + slack and turn <= rolling * r[0] + slack and r[0] >= -slack


def projected(x, n_tangent, mu, rolling):
    out = np.empty_like(x)
    project(x, n_tangent, mu, rolling, out)
    return out


def test_projection_in_the_plane():
    rng = np.random.default_rng(3)
    for mu in (0.0, 0.3, 2.0):
        for x in [*rng.normal(size=(300, 2)), np.zeros(2), np.array([-1.0, 0.0])]:
            np.testing.assert_allclose(
                project_in_plane(*x, mu), projected(x, 1, mu, 0.0), rtol=1e-14, atol=1e-300
            )


@pytest.mark.parametrize(("size", "n_tangent"), SHAPES)
def test_projection_is_nearest(size, n_tangent):
    """The nearest point p of a convex cone: p in K, x - p in its polar, and both orthogonal."""
    rng = np.random.default_rng(0)
    seen = set()
    for mu, rolling in COEFFICIENTS:
        for _ in range(200):
            x = rng.normal(size=size) * rng.choice([0.1, 1.0, 10.0], size=size)
            p = projected(x, n_tangent, mu, rolling)
            assert in_cone(p, n_tangent, mu, rolling, 1e-13)
            left = p - x
            slip = np.linalg.norm(left[1 : 1 + n_tangent])
            turn = np.linalg.norm(left[1 + n_tangent :])
            # p - x in the dual cone
            assert left[0] - mu * slip - rolling * turn >= -1e-12
            assert abs(left @ p) <= 1e-12 * max(1.0, x @ x)
            seen.add((p[0] > 0, slip > 0, turn > 0))
            # also where rounding decides which components exceed their bounds
            np.testing.assert_allclose(projected(p, n_tangent, mu, rolling), p, rtol=1e-14)
    # open, inside, on one bound, on both
    assert len(seen) >= (3 if size == 1 + n_tangent else 5)


@pytest.mark.parametrize(("size", "n_tangent"), SHAPES)
def test_projection_derivative(size, n_tangent):
    rng = np.random.default_rng(1)
    step = 1e-6
    for mu, rolling in COEFFICIENTS:
        for _ in range(30):
            x = rng.normal(size=size)
            made = np.empty((size, size))
            projection_derivative(x, n_tangent, mu, rolling, made)
            for j in range(size):
                e = step * np.eye(size)[j]
                ahead, back = (projected(x + s * e, n_tangent, mu, rolling) for s in (1, -1))
                np.testing.assert_allclose((ahead - back) / (2 * step), made[:, j], atol=1e-8)


@pytest.mark.parametrize(("size", "n_tangent"), SHAPES)
def test_de_saxce_derivative(size, n_tangent):
    rng = np.random.default_rng(2)
    for _ in range(20):
        u, made = rng.normal(size=size), np.empty(size)
        de_saxce_derivative(u, n_tangent, 0.7, 0.2, made)
        for j in range(size):
            e = 1e-6 * np.eye(size)[j]
            difference = de_saxce(u + e, n_tangent, 0.7, 0.2) - de_saxce(u - e, n_tangent, 0.7, 0.2)
            assert difference / 2e-6 == pytest.approx(made[j], abs=1e-9)
