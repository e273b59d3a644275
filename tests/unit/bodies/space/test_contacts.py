"""Contacts in space: gaps against distances, pairs, the matrix of the contact problem."""

import itertools
import unittest.mock

import numpy as np
import pytest
from bodies import in_both_bodies
from scipy.spatial import ConvexHull as Triangles

import stiction as st
from stiction.bodies.space.mechanics import SpatialMechanics
from stiction.bodies.space.rotation import matrices

B = st.bodies


def random_hull(rng, size=0.3):
    points = rng.normal(size=(int(rng.integers(4, 12)), 3))
    return B.ConvexHull(size * points / np.linalg.norm(points, axis=1, keepdims=True))


def contacts_of(bodies, supports=(), within=0.0):
    """Return mechanics and contacts of bodies that may overlap."""
    with unittest.mock.patch("stiction.bodies.space.model.refuse_overlap"):
        m = SpatialMechanics(B.SpatialBodies(list(bodies), list(supports)))
    return m, m.contacts(m.pose(0.0, m.start()[0]), within)


def corners(body):
    q = np.asarray(body.orientation) / np.linalg.norm(body.orientation)
    return body.shape.hull.vertices @ matrices(q).T + body.position


def test_gaps_are_distances():
    """The separation of polyhedra is that of the Minkowski difference; a nearest point projects."""
    rng = np.random.default_rng(5)
    kinds = set()
    for trial in range(24):
        shape = B.Cuboid(*rng.uniform(0.2, 0.6, 3)) if trial % 3 else random_hull(rng)
        first = B.SpatialBody(shape, orientation=rng.normal(size=4))
        direction = rng.normal(size=3)
        place = rng.uniform(0.1, 0.6) * direction / np.linalg.norm(direction)
        second = B.SpatialBody(random_hull(rng), position=place, orientation=rng.normal(size=4))
        _, found = contacts_of([first, second], within=0.05)
        a, b = corners(first), corners(second)
        planes = Triangles((a[:, None] - b[None]).reshape(-1, 3)).equations
        separation = planes[:, 3].max()  # of the origin
        kinds.add(bool(len(found) and found["feature"][0] < 0))
        if separation > 0.05:
            assert not len(found)
        elif separation < -1e-3:
            assert abs(found["gap"].min() - separation) < 1e-12
        for c in found:
            assert c.gap >= separation - 1e-12
            # both points lie on the surfaces, a gap apart along the normal
            between = first.position + c.arm_first + 0.5 * c.gap * c.normal
            assert (Triangles(a).equations @ [*between, 1.0]).max() < 1e-12
            between = second.position + c.arm_second - 0.5 * c.gap * c.normal
            assert (Triangles(b).equations @ [*between, 1.0]).max() < 1e-12
        # a sphere about a point, and the nearest point of the first body
        radius = float(rng.uniform(0.02, 0.1))
        ball = B.SpatialBody(B.Sphere(radius), position=place)
        for order in ((first, ball), (ball, first)):
            _, near = contacts_of(order, within=0.5)
            (c,) = near
            n = c.normal if order[0] is ball else -c.normal
            y = place - (c.gap + radius) * n
            assert (Triangles(a).equations @ [*y, 1.0]).max() < 1e-12
            if c.gap > -radius:
                assert ((a - y) @ n).max() < 1e-12
    assert kinds == {True, False}


def test_no_overlap_is_missed():
    """Of sheared boxes, splinters and plates: the least gap is the separation, however small."""
    rng = np.random.default_rng(3)
    corners_of_box = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    sheared = B.ConvexHull(corners_of_box @ [[1.0, 0, 0], [0.9, 0.3, 0], [0.8, 0.2, 0.2]])

    def shape(k):
        points = rng.normal(size=(8, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        stretch = (1.0, 0.3, 0.1) if k % 2 else (1.0, 1.0, 0.1)
        return sheared if k % 3 == 0 else B.ConvexHull(points * stretch)

    def pair(k):
        return (shape(k), shape(k + 1)) if k % 2 else (B.Cuboid(8.0, 8.0, 2.0), sheared)

    for k in range(60):
        first, second = (B.SpatialBody(one, orientation=rng.normal(size=4)) for one in pair(k))
        minkowski = Triangles((corners(first)[:, None] - corners(second)).reshape(-1, 3)).equations
        # along this direction they overlap by the depth here
        direction, depth = rng.normal(size=3), 10.0 ** rng.uniform(-8.0, -2.0)
        along = minkowski[:, :3] @ direction
        far = (-(minkowski[:, 3] + depth)[along > 0.0] / along[along > 0.0]).min()
        second = B.SpatialBody(
            second.shape, orientation=second.orientation, position=far * direction
        )
        _, found = contacts_of([first, second])
        assert found["gap"].min() == pytest.approx(-depth, abs=1e-13), k
    with pytest.raises(st.ModelError, match="overlap by"):
        B.SpatialBodies([first, second])


def test_a_polyhedron_on_a_plane_and_faces_on_faces():
    cube = B.SpatialBody(B.Cuboid(1.0, 1.0, 1.0), position=[0.0, 0.0, 0.5])
    _, found = contacts_of([cube], [B.SpatialSupport(B.HalfSpace([0, 0, 2]))])
    assert found["gap"].tolist() == [0.0] * 4
    # a smaller cube turned by 30 degrees on it: its four lower corners; beyond the rim five points
    half = np.deg2rad(15.0)
    for x, count in ((0.0, 4), (0.4, 5)):
        other = B.SpatialBody(
            B.Cuboid(0.4, 0.4, 0.4), position=[x, 0.0, 1.2],
            orientation=[np.cos(half), 0.0, 0.0, np.sin(half)],
        )  # fmt: skip
        for order in ((cube, other), (other, cube)):
            _, found = contacts_of(order, within=1e-9)
            assert len(found) == count == len(np.unique(found["feature"]))
            sign = -1.0 if order[0] is cube else 1.0
            np.testing.assert_array_equal(found["normal"], [[0.0, 0.0, sign]] * count)
            np.testing.assert_allclose(found["gap"], 0.0, atol=1e-15)


def test_contacts_are_known_by_place():
    """Two equal cubes on each other: a turn beyond rounding gives eight new features for four."""

    def found(yaw):
        other = B.SpatialBody(
            position=[0.0, 0.0, 1.0], orientation=[np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]
        )
        return contacts_of([B.SpatialBody(), other], within=1e-9)

    m, last = found(0.0)
    for yaw, count in ((1e-10, 4), (3e-9, 8), (1e-3, 8)):
        now = found(yaw)[1]
        assert len(now) == count
        assert count == 4 or not set(now["feature"]) & set(last["feature"])
        old = np.full(count, -1)
        m.know(last, now, 1e-2, old)
        assert sorted(set(old)) == [0, 1, 2, 3]
        # four of eight are corners still, the others near the middles of the sides
        near = np.linalg.norm(now["arm_first"] - last["arm_first"][old], axis=1)
        assert (near < 1e-3).sum() == 4
    # what is known stays so; what is farther away, or of another pair, is new
    old = np.array([-1, -1, 0, *[-1] * 5])
    m.know(last[:2], now, 1e-2, old)
    assert old.tolist() == [0, 1, 0, *[-1] * 5]
    now["second"] += 1
    old = np.full(8, -1)
    m.know(last, now, 1e-2, old)
    assert (old == -1).all()


def test_near_pairs_are_all_found():
    rng = np.random.default_rng(2)
    x, r = rng.uniform(0.0, 1.0, (60, 3)), rng.uniform(0.02, 0.2, 60)
    bodies = [B.SpatialBody(B.Sphere(a), position=p) for a, p in zip(r, x, strict=True)]
    supports = [B.SpatialSupport(b.shape, b.position) for b in bodies[40:]]
    supports.append(B.SpatialSupport(B.HalfSpace([1.0, 1.0, 1.0]), position=[0.2, 0.2, 0.2]))
    _, found = contacts_of(bodies[:40], supports)
    apart = np.linalg.norm(x[:, None] - x, axis=-1) - r[:, None] - r
    i, j = np.nonzero(np.triu(apart <= 0.0, 1))
    pairs = {(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True) if a < 40}
    on_plane = np.flatnonzero((x[:40] - 0.2).sum(axis=1) / np.sqrt(3.0) <= r[:40])
    pairs |= {(a, 60) for a in on_plane.tolist()}
    got = list(zip(found["first"].tolist(), found["second"].tolist(), strict=True))
    assert got == sorted(pairs)
    assert len(got) > 50


def test_the_matrix_of_a_heap():
    """W = J M^-1 J^T, for few contacts and for many; both bodies of kernels agree."""
    rng = np.random.default_rng(3)
    for count in (4, 40):
        bodies = [
            B.SpatialBody(
                B.Cuboid(0.5, 0.4, 0.3) if k % 2 else B.Sphere(0.3), mass=1.0 + k,
                position=rng.uniform(0.0, 0.9, 3), orientation=rng.normal(size=4),
            )
            for k in range(count)
        ]  # fmt: skip
        m, found = contacts_of(bodies, [B.SpatialSupport()])
        j = np.zeros((3 * len(found), 6 * count))
        for k, c in enumerate(found):
            for side, body in enumerate((c.first, c.second)):
                if body < count:
                    j[3 * k : 3 * k + 3, 6 * body : 6 * body + 6] = c.rows[side]
        q = rng.normal(size=(len(found), 3))
        local = m.problem(found, q)
        w = (j / m.mass.ravel()) @ j.T
        np.testing.assert_allclose(local.dense(), w, atol=1e-12 * np.abs(w).max())
        assert (len(found) > 100) == (count == 40)
        v = np.concatenate([rng.normal(size=(count, 6)), np.zeros((1, 6))])
        np.testing.assert_allclose(
            m.contact_velocities(found, v).ravel(), j @ v[:count].ravel(), atol=1e-12
        )
        r, pushed = rng.normal(size=q.shape), np.zeros_like(v)
        m.add_impulses(found, r, pushed)
        np.testing.assert_allclose(
            pushed[:count].ravel(), j.T @ r.ravel() / m.mass.ravel(), atol=1e-12
        )
    plain, compiled = in_both_bodies(lambda: contacts_of(bodies[:6], [B.SpatialSupport()])[1])
    for name in plain.dtype.names:
        np.testing.assert_array_equal(plain[name], compiled[name])
