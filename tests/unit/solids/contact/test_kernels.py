"""Kernels of contact boundaries: curves, closest-point projections and rigid shapes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import curve

from stiction.errors import ModelError
from stiction.solids.contact.curve_kernels import (
    basis_kernel,
    bernstein,
    closest_point_kernel,
    place_kernel,
    points_kernel,
)
from stiction.solids.contact.curves import (
    RationalBoundary,
    bernstein_at,
    boundary_coordinate,
    closest_on_rigid,
    locate,
    points_on_rigid,
)
from stiction.solids.contact.partners import Boundary, RigidCircle, RigidPlane

XIS = np.array([-1.0, -0.6, 0.0, 0.3, 1.0])


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_bernstein(degree):
    b = np.empty((3, 4))
    t = np.polynomial.Polynomial([0.5, 0.5])
    for k in range(degree + 1):
        exact = math.comb(degree, k) * t**k * (1 - t) ** (degree - k)
        for xi in XIS:
            bernstein(xi, degree, b)
            wanted = [exact(xi), exact.deriv()(xi), exact.deriv(2)(xi)]
            assert_allclose(b[:, k], wanted, atol=1e-15)
            assert np.array_equal(b[:, k], bernstein_at(np.array([xi]), degree)[:, k, 0])


def at(surface, e, xi, x):
    """Return place, derivative and second derivative of a curve."""
    n = surface.nodes.shape[1]
    f, b, out = np.empty((3, n)), np.empty((9, 4)), np.empty((3, 2))
    degree = np.array([surface.extraction.shape[2] - 1])
    basis_kernel(1)(np.array([xi]), e, surface.extraction, surface.weights, degree, b, f)
    place_kernel(1)(e, surface.nodes, f, x, out)
    return f, out


def test_rational_basis():
    """A quarter of a circle is a rational quadratic; its derivatives, against differences."""
    control = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    arc = curve(control, 2, weights=np.array([1.0, math.sqrt(0.5), 1.0]))
    step = 1e-3
    for xi in (-0.9, -0.2, 0.0, 0.7):
        f, out = at(arc, 0, xi, control)
        assert_allclose(f.sum(axis=1), [1.0, 0.0, 0.0], atol=1e-15)
        assert_allclose(np.hypot(*out[0]), 1.0, rtol=1e-15)
        assert abs(out[0] @ out[1]) < 1e-15
        near = [at(arc, 0, xi + s * step, control)[1] for s in (-2, -1, 1, 2)]
        slope = (near[0] - near[3] + 8.0 * (near[2] - near[1])) / (12.0 * step)
        assert_allclose(out[1:], slope[:2], atol=1e-10)


def wavy(degree, rational=False):
    """Return a curve with its control points."""
    random = np.random.default_rng(degree)
    count = {1: 7, 2: 8, 3: 14}[degree]
    x = np.linspace(0.0, 6.0, count)
    control = np.stack([x, 0.25 * random.standard_normal(count)], axis=1)
    weights = 1.0 + 0.4 * random.random(count) if rational else None
    return curve(control, degree, weights=weights), control


def arrays(surface):
    """Return the arrays of a boundary as kernels take them."""
    degrees = np.array([surface.extraction.shape[2] - 1])
    curve = (surface.nodes, surface.extraction, surface.weights, surface.neighbours)
    return *curve, degrees


def improve(surface, points, element, xi, normal, x):
    """Project points on a curve, in place."""
    closest_point_kernel(1)(points, element, xi, normal, *arrays(surface), x)


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
def test_projection_is_orthogonal(degree, rational):
    surface, x = wavy(degree, rational)
    n_element = surface.nodes.shape[0]
    fine = np.concatenate(
        [[at(surface, e, xi, x)[1][0] for xi in np.linspace(-1, 1, 201)] for e in range(n_element)]
    )
    random = np.random.default_rng(9)
    points = np.stack([random.uniform(0.3, 5.7, 60), random.uniform(-0.5, 0.4, 60)], axis=1)
    far = np.linalg.norm(points[:, None] - fine, axis=2)
    first = np.argmin(far, axis=1)
    # start in the middle of an adjacent element
    element = np.clip(first // 201 + random.integers(-1, 2, 60), 0, n_element - 1)
    xi, normal = np.zeros((60, 1)), np.zeros(60, dtype=bool)
    improve(surface, points, element, xi, normal, x)
    result = RationalBoundary(surface).points(element, xi.T, x)[1].transpose(2, 0, 1)
    one = np.stack([at(surface, e, s[0], x)[1] for e, s in zip(element, xi, strict=True)])
    assert (result == one).all()
    away = result[:, 0] - points
    slope = np.einsum("qd,qd->q", away, result[:, 1])
    assert normal.sum() >= (20 if degree == 1 else 55)
    assert np.abs(slope[normal]).max() < 1e-12
    # closest points are corners, or have a normal line and are global minima
    best = np.linalg.norm(away, axis=1)
    near = best < far.min(axis=1) + 1e-9
    assert near[normal].mean() > 0.9


@pytest.mark.parametrize(("degree", "count"), [(2, 12), (2, 24), (3, 12), (3, 24)])
def test_projections_end(degree, count):
    """Of 5,000 projections all converge but one, at a centre of curvature.

    There were 10 to 39: whole steps went back and forth for ever where curvature changes much, and
    were too short by far beyond half of its radius.
    """
    random = np.random.default_rng(count)
    x = np.linspace(0.0, 2.0, count)
    control = np.stack([x, 0.25 * np.cos(2.0 * np.pi * x)], axis=1)
    control += 0.01 * random.standard_normal(control.shape)
    surface = curve(control, degree)
    last = surface.nodes.shape[0] - 1
    points = np.stack([random.uniform(0.1, 1.9, 5000), random.uniform(-0.2, 0.8, 5000)], axis=1)
    near = (0.5 * points[:, 0] * (last + 1)).astype(np.int64)
    element = np.clip(near + random.integers(-2, 3, 5000), 0, last)
    xi, normal = random.uniform(-1.0, 1.0, (5000, 1)), np.ones(5000, dtype=bool)
    improve(surface, points, element, xi, normal, control)
    ends = ((element == 0) & (xi[:, 0] == -1.0)) | ((element == last) & (xi[:, 0] == 1.0))
    assert (~normal & ~ends).sum() <= 1


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, True), (3, False)])
def test_points_of_a_curve(degree, rational):
    """One point after the other and all at once: the same bits, compiled or not."""
    surface, x = wavy(degree, rational)
    random = np.random.default_rng(4)
    elements = random.integers(0, surface.nodes.shape[0], 50)
    xis = random.uniform(-1.0, 1.0, 50)
    wanted = RationalBoundary(surface).points(elements, xis[None], x)
    n = surface.nodes.shape[1]
    for points in (points_kernel(1), points_kernel(1).plain):
        result = (np.empty((3, n, 50)), np.empty((3, 2, 50)))
        points(elements, xis[:, None], *arrays(surface), x, *result)
        assert all((a == b).all() for a, b in zip(result, wanted, strict=True))


def test_beyond_the_end_nothing_is_normal():
    surface, x = wavy(2)
    points = np.array([[-0.5, 0.1], [6.6, 0.0]])
    element, xi = np.array([2, 2]), np.zeros((2, 1))
    normal = np.ones(2, dtype=bool)
    improve(surface, points, element, xi, normal, x)
    assert not normal.any()
    assert element.tolist() == [0, surface.nodes.shape[0] - 1]
    assert xi.ravel().tolist() == [-1.0, 1.0]


SHAPES = {
    "plane": RigidPlane((0.3, -0.2), (0.6, 1.2)),
    "circle": RigidCircle((0.4, -2.0), 1.7),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_rigid_shapes(name):
    """Closest point, unit tangent, its derivative, outward normal, and the inverse mapping."""
    shape, shift = SHAPES[name].table(), np.array([0.2, -0.1])
    random = np.random.default_rng(2)
    points = random.uniform(-1.0, 1.0, (10, 2)) + np.array([0.4, 0.3])
    out, coordinates = closest_on_rigid((points + shift).T, shape, shift)
    out = out.transpose(2, 0, 1)
    step = 1e-3
    for (x, y), s, (place, tangent, change) in zip(points, coordinates[0], out, strict=True):
        near = s + step * np.array([[-2, -1, 1, 2, 0]])
        back = points_on_rigid(near, shape, shift).T
        assert_allclose(back[4], place, atol=1e-14)
        slope = (back[0] - back[3] + 8.0 * (back[2] - back[1])) / (12.0 * step)
        assert_allclose(tangent, slope, atol=1e-11)
        bend = (back[1] + back[2] - 2.0 * place) / step**2
        assert_allclose(change, bend, atol=1e-6)
        place = place - shift
        away = np.array([x, y]) - place
        assert abs(away @ tangent) < 1e-13
        assert_allclose(np.hypot(*tangent), 1.0, rtol=1e-14)
        normal = np.array([tangent[1], -tangent[0]])
        outward = SHAPES[name].normal if name == "plane" else (x - 0.4, y + 2.0)
        assert normal @ outward > 0.0


def test_outlines_lie_on_the_shapes():
    plane, circle = SHAPES["plane"], SHAPES["circle"]
    assert_allclose((plane.outline(3.0) - plane.point) @ plane.normal, 0.0, atol=1e-15)
    ring = circle.outline(1.0) - np.asarray(circle.centre)
    assert_allclose(np.linalg.norm(ring, axis=1), circle.radius, rtol=1e-14)


def test_coordinate_along_a_boundary():
    knots = (np.array([0.0, 0.5, 2.0, 2.25]),)
    zeta = np.array([[0.0, 0.2, 0.5, 1.9, 2.1, 2.25]])
    e, xi = locate(zeta, knots)
    assert (np.abs(xi) <= 1.0).all()
    assert e.tolist() == [0, 0, 1, 1, 2, 2]
    assert_allclose(boundary_coordinate(e, xi, knots)[0], zeta, atol=1e-15)
    e, xi = locate(np.array([[-1.0, 3.0]]), knots)
    assert e.tolist() == [0, 2]
    assert xi.tolist() == [[-1.0, 1.0]]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RigidPlane((0.0, 0.0, 0.0)), "point"),
        (lambda: RigidPlane(normal=(0.0, 0.0)), "normal"),
        (lambda: RigidPlane(point=(float("nan"), 0.0)), "point"),
        (lambda: RigidCircle(radius=0.0), "radius"),
        (lambda: RigidCircle(centre=(1.0,)), "centre"),
        (lambda: Boundary(-1), "body"),
        (lambda: Boundary(0, ""), "name"),
    ],
)
def test_bad_partners_are_refused(make, name):
    with pytest.raises(ModelError, match=name):
        make()
