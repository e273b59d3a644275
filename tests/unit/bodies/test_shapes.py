"""Shapes of rigid bodies: moments, centroids, refusals."""

import numpy as np
import pytest

import stiction as st

B = st.bodies


def test_moments_of_a_polygon():
    """A rectangle as a polygon, a triangle by its closed form, and random ones by sampling."""
    box = B.Polygon([[3.0, 1.0], [5.0, 1.0], [5.0, 2.0], [3.0, 2.0]])
    assert box.radius_of_gyration == pytest.approx(np.sqrt((4.0 + 1.0) / 12.0), rel=1e-14)
    assert B.Box(2.0, 1.0).radius_of_gyration == pytest.approx(box.radius_of_gyration, rel=1e-14)
    # equilateral triangle of side a: I = m a^2 / 12
    triangle = B.Polygon([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    assert triangle.radius_of_gyration**2 == pytest.approx(1.0 / 12.0, rel=1e-14)
    assert B.Disc(2.0).radius_of_gyration ** 2 == pytest.approx(2.0, rel=1e-14)


def test_normal_velocities_of_turning_boundaries():
    """They are the slope of the largest coordinate in a direction, over the angle of that."""
    angle, h = np.linspace(0.0, 2.0 * np.pi, 20001, retstep=True)
    ways = np.stack([np.cos(angle), np.sin(angle)])
    for shape in (B.Box(10.0, 0.05), B.Polygon([[0.0, 0.0], [3.0, 0.5], [1.0, 2.0], [0.2, 1.5]])):
        slope = np.abs(np.diff((shape.corners @ ways).max(axis=0))).max() / h
        # an interval of two slopes has their mean
        assert slope == pytest.approx(shape.sweep, rel=1e-3)
    assert B.Disc(2.0).sweep == 0.0


def test_corners_lie_about_the_centroid():
    rng = np.random.default_rng(4)
    for _ in range(50):
        angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, int(rng.integers(4, 9))))
        if np.diff(np.append(angle, angle[0] + 2.0 * np.pi)).max() > np.pi:
            continue
        points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        shape = B.Polygon(points[:: int(rng.choice([-1, 1]))] + rng.normal(size=2))
        corners = shape.corners
        np.testing.assert_array_equal(B.Polygon(corners).corners, corners)
        # two triangulations, from the first corner and from the third, have the same centroid
        for first in (0, 2):
            turned = np.roll(corners, -first, axis=0)
            a, b, c = turned[0], turned[1:-1], turned[2:]
            x, y = b - a, c - a
            area = 0.5 * (x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0])
            assert (area > 0.0).all()
            centre = (area[:, None] * (a + b + c) / 3.0).sum(axis=0) / area.sum()
            np.testing.assert_allclose(centre, 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[0, 0], [1, 0]], "at least three points"),
        ([[0, 0], [1, 0], [2, 0]], "that is not convex"),
        ([[0, 0], [2, 0], [1, 0.2], [1, 2]], "a convex polygon"),
        ([[0, 0], [1, 1], [1, 0], [0, 1]], "a convex polygon"),
        ([[0, 0], [0, 1], [1, 1], [0.6, 0.5], [1, 0]], "corner 4 that is not convex"),
        ([[0, 0], [1, 0], [0, np.nan]], "not a finite number"),
        ([[0, 0], [1, 0], [0, 1j]], "not a finite number"),
        ([["a", "b"], ["c", "d"], ["e", "f"]], "not a finite number"),
        ("square", "at least three points"),
    ],
)
def test_polygons_that_are_refused(points, words):
    with pytest.raises(st.ModelError, match=words):
        B.Polygon(points)


def test_a_star_is_refused():
    """A pentagram turns outwards at every corner, twice around."""
    angle = np.arange(5) * 4.0 * np.pi / 5.0
    with pytest.raises(st.ModelError, match="winds around more than once"):
        B.Polygon(np.stack([np.cos(angle), np.sin(angle)], axis=1))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_any_unit_of_length_will_do(size):
    """Squares of such numbers do not exist, so that bodies of this size are refused."""
    corners = np.array([[0.0, 0.0], [3.0, 0.5], [1.0, 2.0]])
    shape, other = B.Polygon(corners), B.Polygon(size * corners)
    np.testing.assert_allclose(other.corners, size * shape.corners, rtol=1e-14)
    assert other.radius_of_gyration == pytest.approx(size * shape.radius_of_gyration, rel=1e-14)
    for one in (other, B.Disc(size)):
        with pytest.raises(st.ModelError, match=r"inertia of .* needs a finite number > 0"):
            B.RigidBody(one)
        B.RigidBody(one, inertia=1.0)
