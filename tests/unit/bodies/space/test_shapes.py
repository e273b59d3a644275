"""Shapes in space: moments, faces, refusals."""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction.bodies.space.rotation import matrices

B = st.bodies
CORNERS = np.array(list(itertools.product((0.0, 1.0), (0.0, 2.0), (0.0, 3.0))))
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_moments_of_polyhedra():
    """A cuboid as a hull; a regular tetrahedron of side a: I = a^2 / 20; a cube turned."""
    hull, cuboid = B.ConvexHull(CORNERS + 5.0), B.Cuboid(1.0, 2.0, 3.0)
    np.testing.assert_allclose(hull.inertia, cuboid.inertia, atol=1e-14)
    np.testing.assert_allclose(hull.hull.vertices.mean(axis=0), 0.0, atol=1e-14)
    assert hull.thickness == pytest.approx(cuboid.thickness, rel=1e-14)
    assert hull.reach == pytest.approx(np.sqrt(14.0) / 2.0, rel=1e-14)
    tetrahedron = B.ConvexHull([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    np.testing.assert_allclose(tetrahedron.inertia, 8.0 / 20.0 * np.eye(3), atol=1e-14)
    # the centroid of a tetrahedron is the mean of its corners, its moments those of these points
    points = np.random.default_rng(0).normal(size=(4, 3))
    points -= points.mean(axis=0)
    second = points.T @ points / 20.0
    np.testing.assert_allclose(
        B.ConvexHull(points).inertia, np.trace(second) * np.eye(3) - second, atol=1e-14
    )


def test_hulls_in_rounded_coordinates():
    """Of a dodecahedron and a prism: faces fit together, and moments are those but for rounding."""
    g, signs = 0.5 * (1.0 + np.sqrt(5.0)), (-1.0, 1.0)
    points = [list(corner) for corner in itertools.product(signs, repeat=3)]
    for a, b in itertools.product(signs, repeat=2):
        points += [[0.0, a / g, b * g], [a / g, b * g, 0.0], [b * g, 0.0, a / g]]
    angle = np.arange(30) * np.pi / 15.0
    circle = [[np.cos(t), np.sin(t), z] for z in (-0.5, 0.5) for t in angle]
    rng = np.random.default_rng(1)
    for corners, count in ((points, 12), (circle, 32)):
        exact = np.linalg.eigvalsh(B.ConvexHull(corners).inertia)
        for digits, tries in ((6, 3), (7, 6), (8, 8), (9, 8), (15, 3)):
            for _ in range(tries):
                q = rng.normal(size=4)
                turn = matrices(q / np.linalg.norm(q))
                shape = B.ConvexHull(np.round(np.array(corners) @ turn.T, digits))
                hull = shape.hull
                assert len(corners) - len(hull.edges) + len(hull.faces) == 2
                assert digits < 15 or len(hull.faces) == count
                near = max(10.0**-digits, 1e-13)
                np.testing.assert_allclose(np.linalg.eigvalsh(shape.inertia), exact, rtol=near)


def test_size_place_and_repetition_of_a_hull():
    """Units far from 1 change nothing; a centred hull stays as it is, and cannot be changed."""
    rng = np.random.default_rng(0)
    for k in range(30):
        power = 400 * (k % 3 - 1)
        points = rng.normal(size=(4, 3)) * [1.0, 0.1, 0.01] + rng.normal(size=3)
        one, other = B.ConvexHull(points), B.ConvexHull(np.ldexp(points, power))
        np.testing.assert_array_equal(np.ldexp(one.vertices, power), other.vertices)
        np.testing.assert_array_equal(np.ldexp(one.inertia, 2 * power), other.inertia)
        np.testing.assert_array_equal(B.ConvexHull(one.vertices.tolist()).vertices, one.vertices)
    with pytest.raises(ValueError, match="read-only"):
        one.vertices[0] = 0.0


@pytest.mark.parametrize("shape", [B.Cuboid(1.0, 2.0, 3.0), B.ConvexHull(CORNERS)])
def test_faces_and_edges_of_a_cuboid(shape):
    hull = shape.hull
    assert (len(hull.faces), len(hull.edges)) == (6, 12)
    for loop, normal in zip(hull.faces, hull.normals, strict=True):
        corners = hull.vertices[loop]
        turn = np.cross(
            np.roll(corners, -1, axis=0) - corners, np.roll(corners, -2, axis=0) - corners
        )
        assert (turn @ normal > 0.0).all()
        assert (hull.vertices @ normal <= corners[0] @ normal + 1e-14).all()
    for a, b, left, right in hull.edges:
        loops = hull.faces[left], hull.faces[right]
        assert all(a in loop and b in loop for loop in loops)
        assert loops[0][(loops[0].index(a) + 1) % 4] == b


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (TETRAHEDRON[:3], "at least four points"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "points in a plane"),
        ([*TETRAHEDRON, [0.1, 0.1, 0.1]], "vertex 5 inside the hull"),
        ([*TETRAHEDRON, [0.5, 0.0, 0.0]], "on a face or an edge"),
        ([*TETRAHEDRON, [0.3, 0.3, 0.0]], "on a face or an edge"),
        ([*TETRAHEDRON[:3], [0.0, 0.0, np.nan]], "not a finite number"),
        (np.random.default_rng(0).normal(size=(513, 3)), "at most 512"),
        ([["a", "b", "c"]] * 4, "not a finite number"),
        (1j * TETRAHEDRON, "not a finite number"),
    ],
)
def test_hulls_that_are_refused(points, words):
    with pytest.raises(st.ModelError, match=words):
        B.ConvexHull(points)


def test_faces_that_do_not_fit_together_are_refused(monkeypatch):
    """As where a part of a face is a face too."""
    from stiction.bodies.space import shapes

    loops = [*B.Cuboid().hull.faces, [0, 1, 3]]
    monkeypatch.setattr(shapes, "_faces", lambda points: loops)
    with pytest.raises(st.ModelError, match="faces do not fit together"):
        B.ConvexHull(CORNERS)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": B.HalfSpace()}, "no finite mass"),
        ({"shape": B.Disc(0.1)}, "SpatialShape"),
        ({"mass": 0.0}, "without mass"),
        ({"position": [0.0, np.nan, 0.0]}, "nan at position 2"),
        ({"orientation": [0.0, 0.0, 0.0, 0.0]}, "quaternion"),
        ({"orientation": [1.0, 0.0, 0.0]}, "quaternion"),
        ({"inertia": [1.0, 2.0, 3.0]}, r"shape \(3,\)"),
        ({"inertia": np.diag([1.0, 1.0, -1.0])}, "eigenvalue -1"),
        ({"inertia": [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}, "not symmetric"),
        ({"inertia": np.full((3, 3), np.inf)}, "not a finite number"),
        ({"inertia": [["a"] * 3] * 3}, "not a finite number"),
        ({"inertia": (1.0 + 1.0j) * np.eye(3)}, "not a finite number"),
        ({"inertia": np.diag([1.0, 10.0, 1.0])}, "principal moments 1, 1 and 10"),
        ({"shape": B.ConvexHull(1e160 * TETRAHEDRON)}, "moments of inertia"),
        ({"shape": B.Cuboid(1e-170, 1e-170, 1e-170)}, "moments of inertia"),
        ({"shape": B.Sphere(1e160)}, "moments of inertia"),
    ],
)
def test_bodies_that_are_refused(fields, words):
    with pytest.raises(st.ModelError, match=words):
        B.SpatialBody(**fields)


def test_systems_that_are_refused():
    cube, other = B.SpatialBody(position=[0, 0, 0.3]), B.SpatialBody(position=[0.1, 0.9, 0.3])
    with pytest.raises(st.ModelError, match=r"body 1 and support 1 that overlap by 0.2 m") as error:
        B.SpatialBodies([cube], [B.SpatialSupport()])
    assert "move body 1 by 0.2 m along [0, 0, 1]" in str(error.value)
    with pytest.raises(st.ModelError, match=r"move body 1 by 0.1 m along \[0, -1, 0\]"):
        B.SpatialBodies([cube, other])
    with pytest.raises(st.ModelError, match="one mu for all contacts"):
        B.SpatialBodies(law=st.Coulomb([0.1, 0.2]))
    with pytest.raises(st.ModelError, match=r"SpatialBodies is solved by bodies.TimeStepper"):
        st.solve(B.SpatialBodies(), B.EventDriven(), (0.0, 1.0))
