"""Corrections to the printed equations of rods in rolling contact, each by its own numbers.

Nothing here uses the solver: derivatives are finite differences of smooth fields.
"""

import numpy as np
import pytest


def hat(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def vee(m):
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2.0


def rotation(v):
    """Return exp(hat(v)), by Rodrigues' formula."""
    angle = np.linalg.norm(v)
    k = hat(v / angle)
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k


def frame(s, t):
    """Return a smooth field of rotations."""
    first = rotation(np.array([np.sin(s + 0.3 * t), 0.5 * np.cos(2.0 * t), 0.2 + s * t]))
    return first @ rotation(np.array([0.3 * t, 0.4 + s, np.cos(s - t)]))


def slope(f, x, h=1e-3):
    """Return f'(x) of order 4."""
    return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)


def test_compatibility_of_rotations_has_the_other_sign():
    def bend(s, t):
        return vee(frame(s, t).T @ slope(lambda x: frame(x, t), s))

    def turn(s, t):
        return vee(frame(s, t).T @ slope(lambda x: frame(s, x), t))

    s, t = 0.4, 0.7
    left = slope(lambda x: bend(s, x), t) - slope(lambda x: turn(x, t), s)
    cross = np.cross(bend(s, t), turn(s, t))
    assert np.abs(left - cross).max() < 1e-8
    # as printed, with om x Om
    assert np.abs(left + cross).max() > 0.1


def bent(angle, height, curvature):
    """Return a curve through (0, 0, height), bent along z, as a function of arc length."""
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    up = np.array([0.0, 0.0, 1.0])

    def at(s):
        return (
            height * up
            + np.sin(curvature * s) / curvature * along
            + (1.0 - np.cos(curvature * s)) / curvature * up
        )

    return at, along, curvature * up


def tangency(angle, kappa1, kappa2, distance=0.04):
    """Return the matrix A of the contact's motion where two bent curves cross."""
    _, t1, c1 = bent(0.0, 0.0, kappa1)
    _, t2, c2 = bent(angle, distance, kappa2)
    d = np.array([0.0, 0.0, distance])
    return np.array([[-(t1 @ t1) + d @ c1, t1 @ t2], [-(t1 @ t2), t2 @ t2 + d @ c2]])


def test_determinant_needs_curvature():
    # straight rods: -sin^2 of the angle
    straight = np.linalg.det(tangency(np.pi / 3.0, 1e-12, 1e-12))
    assert straight == pytest.approx(-(np.sin(np.pi / 3.0) ** 2), rel=1e-10)
    # two rods that cross at 60 degrees, bent towards each other: singular, though not parallel
    assert np.linalg.det(tangency(np.pi / 3.0, 12.5, -12.5)) == pytest.approx(0.0, abs=1e-14)
    # two parallel rods, bent away from each other: regular, though parallel
    assert np.linalg.det(tangency(0.0, -12.5, 12.5)) == pytest.approx(-1.25, rel=1e-12)


def test_determinant_is_minus_that_of_the_distance():
    angle, h = 0.8, 2e-4
    first, *_ = bent(0.0, 0.0, 3.0)
    second, *_ = bent(angle, 0.04, -5.0)

    def half(x, y):
        d = second(y) - first(x)
        return 0.5 * d @ d

    xx = (half(h, 0.0) - 2.0 * half(0.0, 0.0) + half(-h, 0.0)) / h**2
    yy = (half(0.0, h) - 2.0 * half(0.0, 0.0) + half(0.0, -h)) / h**2
    xy = (half(h, h) - half(h, -h) - half(-h, h) + half(-h, -h)) / (4.0 * h**2)
    det = np.linalg.det(tangency(angle, 3.0, -5.0))
    assert det == pytest.approx(-(xx * yy - xy**2), rel=2e-6)
    # a nearest pair of points
    assert det < 0.0


def test_mobilities_of_straight_rods():
    radius, angle = 0.02, 1.1
    t1, t2 = np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])
    d = np.array([0.0, 0.0, 2.0 * radius])
    a = tangency(angle, 1e-12, 1e-12)
    for u, v in ((1.0, 0.0), (0.0, 1.0), (0.7, -0.4)):
        apart = 0.5 * np.cross(u * t1 + v * t2, d)
        rates = np.linalg.solve(a, -np.array([apart @ t1, apart @ t2]))
        wanted = radius / np.sin(angle) * np.array([v + np.cos(angle) * u, u + np.cos(angle) * v])
        # each up to the orientation of its rod
        assert np.abs(rates) == pytest.approx(np.abs(wanted), rel=1e-10)
        # spin without translation of the axes breaks rolling
        assert np.linalg.norm(apart) > 0.01


def test_tangency_to_the_director_loses_the_distance():
    # rolling gives V = (w1 + w2) x D / 2; the contact moves by rates s1', s2'
    rng = np.random.default_rng(3)
    d = np.array([0.0, 0.0, 0.04])
    spin = rng.normal(size=3)
    apart = np.cross(spin, d)
    rates = rng.normal(size=2)
    shear = 0.01
    t1, t2 = np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.8, 0.0])
    on_curve = 2.0 * d @ (apart + rates[1] * t2 - rates[0] * t1)
    assert abs(on_curve) < 1e-15
    # third director at right angles to D: the tangent leans by the shear strain
    lean = shear * np.array([0.0, 0.0, 1.0])
    on_director = 2.0 * d @ (apart + rates[1] * (t2 + lean) - rates[0] * (t1 + lean))
    assert on_director == pytest.approx(2.0 * 0.04 * shear * (rates[1] - rates[0]), rel=1e-12)


def test_averaging_body_components_depends_on_the_directors():
    rng = np.random.default_rng(5)
    frames = [rotation(rng.normal(size=3)) for _ in range(2)]
    spins = rng.normal(size=(2, 3))
    weights = (0.3, 0.7)

    def mixed(first):
        """Return the mean of body components, brought to space by the first frame."""
        body = sum(b * f.T @ w for b, f, w in zip(weights, (first, frames[1]), spins, strict=True))
        return first @ body

    def spatial(first):
        """Return the mean in space of the same two angular velocities."""
        both = (first @ (first.T @ spins[0]), frames[1] @ (frames[1].T @ spins[1]))
        return weights[0] * both[0] + weights[1] * both[1]

    # turn the directors of one section about its axis: a circular rod does not notice
    other = frames[0] @ rotation(np.array([0.0, 0.0, 0.5]))
    assert np.abs(mixed(other) - mixed(frames[0])).max() > 0.1
    assert spatial(other) == pytest.approx(spatial(frames[0]), abs=1e-15)
