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
        ([*TETRAHEDRON[:3], [0.0, 0.0, np.nan]], "not finite"),
        (np.random.default_rng(0).normal(size=(513, 3)), "at most 512"),
    ],
)
def test_hulls_that_are_refused(points, words):
    with pytest.raises(st.ModelError, match=words):
        B.ConvexHull(points)


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
        ({"inertia": np.full((3, 3), np.inf)}, "not finite"),
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


def test_faces_of_rounded_coordinates():
    """However a face is divided, each edge has two faces, and moments change by the rounding."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=2)))
    pairs = np.stack([np.zeros(4), signs[:, 0] / golden, signs[:, 1] * golden], axis=1)
    cube = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    dodecahedron = np.concatenate([cube, *(np.roll(pairs, k, axis=1) for k in range(3))])
    exact = B.SpatialBody(B.ConvexHull(dodecahedron)).shape.inertia
    rng = np.random.default_rng(2)
    for digits in (6, 7, 8, 9):
        for turn in rng.normal(size=(6, 4)):
            points = np.round(dodecahedron @ matrices(turn / np.linalg.norm(turn)).T, digits)
            hull = B.ConvexHull(points)
            assert len(hull.hull.vertices) - len(hull.hull.edges) + len(hull.hull.faces) == 2
            # reason: all moments are equal; coordinates are rounded by 10^-digits
            np.testing.assert_allclose(hull.inertia, exact, atol=20.0 * 10.0**-digits)
