"""Capsules: moments, gaps against minimised distances, motion against closed forms."""

import itertools
import unittest.mock

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize_scalar

import stiction as st
from stiction.bodies.figures.space import outlines_in_space
from stiction.bodies.space.mechanics import SpatialMechanics
from stiction.bodies.space.rotation import matrices

B = st.bodies


def test_moments_of_a_capsule():
    """Against sums over a grid of discs along the axis."""
    r, length = 0.3, 0.7
    edges = np.linspace(-0.5 * length - r, 0.5 * length + r, 20001)
    z, dz = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    beyond = np.maximum(np.abs(z) - 0.5 * length, 0.0)
    square = r * r - beyond * beyond
    volume = np.pi * square * dz
    along = (volume * square / 2.0).sum() / volume.sum()
    across = (volume * (square / 4.0 + z * z)).sum() / volume.sum()
    expected = np.diag([across, across, along])
    np.testing.assert_allclose(B.Capsule(r, length).inertia, expected, rtol=1e-7)
    # a short one is nearly a sphere
    np.testing.assert_allclose(B.Capsule(r, 1e-9).inertia, B.Sphere(r).inertia, rtol=1e-8)


def contacts_of(bodies, supports=(), within=0.0):
    """Return the contacts of bodies that may overlap."""
    with unittest.mock.patch("stiction.bodies.space.model.refuse_overlap"):
        m = SpatialMechanics(B.SpatialBodies(list(bodies), list(supports)))
    return m.contacts(m.pose(0.0, m.start()[0]), within)


def core(body):
    """Return the ends of the core of a capsule, or the vertices of a polyhedron."""
    q = np.asarray(body.orientation) / np.linalg.norm(body.orientation)
    return body.shape.hull.vertices @ matrices(q).T + body.position


def random_hull(rng):
    points = rng.normal(size=(int(rng.integers(4, 12)), 3))
    return B.ConvexHull(0.4 * points / np.linalg.norm(points, axis=1, keepdims=True))


def random_capsule(rng, far=0.6):
    shape = B.Capsule(float(rng.uniform(0.05, 0.2)), float(rng.uniform(0.1, 1.5)))
    direction = rng.normal(size=3)
    place = rng.uniform(0.0, far) * direction / np.linalg.norm(direction)
    return B.SpatialBody(shape, position=place, orientation=rng.normal(size=4))


def distance_of_hulls(a, b):
    """Return the distance of the convex hulls of points by bounded least squares."""
    weight = 1e4
    rows = np.vstack([
        np.hstack([a.T, -b.T]),
        weight * np.hstack([np.ones(len(a)), np.zeros(len(b))]),
        weight * np.hstack([np.zeros(len(a)), np.ones(len(b))]),
    ])  # fmt: skip
    right = np.array([0.0, 0.0, 0.0, weight, weight])
    return np.linalg.norm((rows @ lsq_linear(rows, right, (0.0, 1.0), tol=1e-14).x - right)[:3])


def test_gaps_of_capsules_are_distances():
    """The least gap is the distance of the cores less the radii; no gap is less than it."""
    rng = np.random.default_rng(4)
    features = set()
    for trial in range(300):
        bodies = [random_capsule(rng), random_capsule(rng)]
        if trial % 4 == 0:  # parallel
            bodies[1] = B.SpatialBody(
                bodies[1].shape, position=bodies[1].position, orientation=bodies[0].orientation
            )
        found = contacts_of(bodies, within=2.0)
        (a, b), (c, d) = (core(body) for body in bodies)

        def along(s, a=a, b=b, c=c, d=d):
            x = a + s * (b - a)
            t = np.clip((x - c) @ (d - c) / ((d - c) @ (d - c)), 0.0, 1.0)
            return np.linalg.norm(x - c - t * (d - c))

        best = minimize_scalar(along, bounds=(0.0, 1.0), options={"xatol": 1e-12}).fun
        best = min(best, along(0.0), along(1.0))
        radii = sum(body.shape.radius for body in bodies)
        assert found["gap"].min() == pytest.approx(best - radii, abs=1e-9), trial
        features.add(int(found["feature"][np.argmin(found["gap"])]))
    assert {0, 1, 2, 5, 6, 7, 8} <= features


def test_gaps_from_polyhedra_are_distances():
    """The least gap is the distance of core and polyhedron less the radius, in either order."""
    rng = np.random.default_rng(6)
    features = set()
    for trial in range(150):
        shape = B.Cuboid(*rng.uniform(0.2, 0.9, 3)) if trial % 2 else random_hull(rng)
        solid = B.SpatialBody(shape, orientation=rng.normal(size=4))
        capsule = random_capsule(rng, 1.2)
        apart = distance_of_hulls(core(capsule), core(solid))
        found = {}
        for order in ((solid, capsule), (capsule, solid)):
            found[order[0] is solid] = contacts_of(order, within=2.0)
        gaps = [np.sort(one["gap"]) for one in found.values()]
        np.testing.assert_allclose(*gaps, atol=1e-14)
        if apart < 1e-6:  # the cores overlap
            assert gaps[0].min() < -capsule.shape.radius + 1e-6
            # no point is deeper than half the thickness
            assert gaps[0].min() > -0.5 * shape.thickness - capsule.shape.radius - 1e-9
            continue
        assert gaps[0].min() == pytest.approx(apart - capsule.shape.radius, abs=1e-6), trial
        best = found[False][np.argmin(found[False]["gap"])]
        features.add(min(int(best.feature), 2))
        # both points are a gap apart along the normal, that of the capsule on its surface
        x = capsule.position + best.arm_first + 0.5 * best.gap * best.normal
        a, b = core(capsule)
        s = np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        assert np.linalg.norm(x - a - s * (b - a)) == pytest.approx(capsule.shape.radius, rel=1e-9)
    assert features == {0, 1, 2}


LYING = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]  # along x


@pytest.mark.parametrize("length", [0.6, 2.0])
def test_a_capsule_lies_on_a_box_and_on_a_capsule(length):
    """Two contacts at the ends of what lies above the other surface, however the capsule tilts."""
    box = B.SpatialSupport(B.Cuboid(1.0, 1.0, 0.2))
    for tilt in (0.0, 1e-15, -1e-15, 1e-9, -1e-9):
        turned = np.add(LYING, [-tilt, 0.0, tilt, 0.0])
        capsule = B.SpatialBody(B.Capsule(0.1, length), 1.0, [0.0, 0.0, 0.2], turned)
        found = contacts_of([capsule], [box], within=1e-6)
        assert len(found) == 2
        np.testing.assert_allclose(found["gap"], 0.0, atol=1e-8)
        ends = np.sort(found["arm_first"][:, 0])
        np.testing.assert_allclose(ends, np.array([-0.5, 0.5]) * min(length, 1.0), atol=1e-8)
    log = B.SpatialSupport(B.Capsule(0.1, 1.0), orientation=LYING)
    found = contacts_of([capsule], [log], within=1e-6)
    np.testing.assert_allclose(np.ptp(found["arm_first"][:, 0]), min(length, 1.0), atol=1e-8)


def test_a_capsule_rolls_on_a_slope_and_stands_on_its_side():
    """Down the slope it rolls with g sin(a) / (1 + I / m r^2); across it sticks, or slides."""
    r, angle = 0.1, 0.3
    shape = B.Capsule(r, 0.5)
    gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    for turned, mu, rate in (
        ([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0], 0.5, 1.0 / (1.0 + shape.inertia[2, 2] / r**2)),
        (LYING, np.tan(angle) * 1.001, 0.0),
        (LYING, 0.2, 1.0 - 0.2 / np.tan(angle)),
    ):
        body = B.SpatialBody(shape, 2.0, [0.0, 0.0, r], turned)
        system = B.SpatialBodies([body], [B.SpatialSupport()], gravity=gravity, law=st.Coulomb(mu))
        run = st.solve(system, B.TimeStepper(1e-2), (0.0, 0.5), save=2)
        assert run.audit.ok
        v = run.variables["velocity"].values[-1, 0]
        expected = 0.5 * 9.81 * np.sin(angle) * rate
        np.testing.assert_allclose(v, [expected, 0.0, 0.0], atol=1e-12)
        if rate == 0.0:
            assert np.array_equal(run.variables["position"].values[-1, 0], body.position)


def test_capsules_fall_on_a_box_and_on_each_other():
    """A pile comes to rest; ledger, frames, orders and units do not matter."""
    rng = np.random.default_rng(8)
    turned = rng.normal(size=(3, 4))
    places = np.array([[0.0, 0.0, 0.5], [0.1, 0.05, 0.95], [-0.1, 0.0, 1.35]])
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.linalg.det(q)
    frame = quaternion(q)

    def final(order, frame, unit):
        turn = matrices(frame)
        shapes = [B.Capsule(0.1 * unit, 0.5 * unit), B.Cuboid(*([0.3 * unit] * 3)),
                  B.Capsule(0.15 * unit, 0.2 * unit)]  # fmt: skip
        bodies = [
            B.SpatialBody(shapes[k], 1.0 + k, unit * turn @ places[k], product(frame, turned[k]))
            for k in order
        ]
        floor = [
            B.SpatialSupport(B.Cuboid(*(unit * np.array([3.0, 3.0, 0.2]))), orientation=frame),
            B.SpatialSupport(
                B.Capsule(0.1 * unit, 2.0 * unit), unit * turn @ [0.4, 0.0, 0.15],
                product(frame, [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]),
            ),
        ]  # fmt: skip
        system = B.SpatialBodies(
            bodies, floor, gravity=unit * turn @ [0.0, 0.0, -2.0], law=st.Coulomb(0.4),
            restitution=0.2,
        )  # fmt: skip
        run = st.solve(system, B.TimeStepper(1e-3), (0.0, 0.6), save=2)
        assert run.audit.ok, run.audit
        at = run.variables["position"].values[-1][np.argsort(order)]
        return at @ turn / unit

    one = np.array([1.0, 0.0, 0.0, 0.0])
    expected = final([0, 1, 2], one, 1.0)
    assert (expected[:, 2] < places[:, 2] - 0.2).all()
    for order, turn, unit in (
        ([2, 0, 1], one, 1.0),
        ([0, 1, 2], frame, 1.0),
        ([0, 1, 2], one, 1e-3),
    ):
        np.testing.assert_allclose(final(order, turn, unit), expected, atol=1e-9)


def product(p, q):
    """Return the product of quaternions."""
    p, q = np.asarray(p), np.asarray(q)
    return np.array(
        [p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))]
    )


def quaternion(turn):
    """Return the quaternion of a rotation without an angle of pi."""
    w = 0.5 * np.sqrt(1.0 + np.trace(turn))
    skew = (turn - turn.T) / (4.0 * w)
    return np.array([w, skew[2, 1], skew[0, 2], skew[1, 0]])


def test_a_capsule_is_drawn_about_its_core():
    body = B.SpatialBody(B.Capsule(0.1, 0.5), 1.0, [0.2, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    run = st.solve(B.SpatialBodies([body]), B.TimeStepper(1e-2), (0.0, 0.1), save=3)
    values = run.variables
    lines, starts = outlines_in_space(
        run, 0, values["position"].values[:, 0], values["orientation"].values[:, 0]
    )
    pieces = np.split(lines[0], starts[1:])
    assert [len(one) for one in pieces] == [49, 49, 49, 49, 2, 2]
    ends = [pieces[k][:-1].mean(axis=0) for k in (0, 2)]
    # the sides touch the circles: they are a radius from the ends, normal to the axis
    for side in pieces[4:]:
        away = side - ends
        np.testing.assert_allclose(np.linalg.norm(away, axis=1), 0.1, rtol=1e-12)
        np.testing.assert_allclose(away @ (ends[1] - ends[0]), 0.0, atol=1e-15)
    assert run.plot.scene().axes


@pytest.mark.parametrize(("values", "said"), list(itertools.zip_longest(
    [{"radius": 0.0}, {"length": -1.0}, {"length": float("nan")}],
    [r"Capsule\.radius", r"Capsule\.length", r"Capsule\.length"],
)))  # fmt: skip
def test_capsules_that_are_refused(values, said):
    with pytest.raises(st.ModelError, match=said):
        B.Capsule(**values)
