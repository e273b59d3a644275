"""Elements in Bezier form: they are the elements, and their signs are those of dense samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.numerics.bsplines import bernstein
from stiction.solids.elements.kinds import Q1, Q1H, Q1N2, Q2, Q2N2, discretise, kinds_of
from stiction.solids.mesh.model import Mesh, cap, half_disc, rectangle
from stiction.solids.shape_functions.functions import Group, functions
from stiction.solids.shape_functions.hulls import bezier_form, hull_of, least_of
from stiction.solids.three_d.model import SweptBody

QUAD = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [1, 0], [2, 1], [1, 2], [0, 1], [1, 1]]) / 2
TRIANGLE = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])


def one(order, triangle, count):
    nodes = np.arange(count)[None]
    return Group(order, triangle, np.zeros(1, dtype=np.int64), nodes, None, None, None)


def least(group, places):
    table, degrees, weights = bezier_form(group)
    made = hull_of(
        group.nodes, table, degrees, weights, group.triangle, group.cells, places.shape[0]
    )
    return float(made.least(places)[0])


def sampled(group, places, count=41):
    """Least and largest Jacobian at many points."""
    side = np.linspace(-1.0, 1.0, count)
    xi, eta = (x.ravel() for x in np.meshgrid(side, side))
    if group.triangle:
        xi, eta = 0.25 * (1.0 + xi) * (1.0 - eta), 0.5 * (1.0 + eta)
    rates = np.einsum("nd,qnk->qdk", places, functions(group, xi, eta)[1][0])
    known = rates[:, 0, 0] * rates[:, 1, 1] - rates[:, 0, 1] * rates[:, 1, 0]
    return float(known.min()), float(np.abs(known).max())


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([QUAD, TRIANGLE]),
    st.lists(st.floats(-0.4, 0.4), min_size=18, max_size=18),
    st.floats(0.0, 6.3),
    st.floats(-3.0, 3.0),
)
def test_valid_curved_cells_are_never_refused(shape, moves, angle, power):
    """Of any curved cell, in any frame and unit, the sign is that of dense samples."""
    group = one(2, shape is TRIANGLE, shape.shape[0])
    c, s = np.cos(angle), np.sin(angle)
    bent = shape + np.reshape(moves, (9, 2))[: shape.shape[0]]
    places = 10.0**power * (bent @ np.array([[c, s], [-s, c]]) + [3.0, -2.0])
    (known, size), bound = sampled(group, places), least(group, places)
    # samples miss a dip by about the square of their distance
    if known > 0.02 * size:
        assert bound > 0.0
    if known <= -1e-12 * size:
        assert bound < 0.0
    # a determinant is at least as large as its samples
    assert min(bound, 0.0) * 100.0 * size <= known
    assert bound <= max(known / size, 0.0) + 1e-9


def moved_node(shift):
    """The middle node of two cells of second order, moved along the edge between them."""
    mesh = rectangle(2.0, 1.0, (2, 1))
    points = mesh.points.copy()
    points[np.argmin(np.hypot(points[:, 0] - 1.0, points[:, 1] - 0.5)), 1] += shift
    return points, mesh


@pytest.mark.parametrize("shift", [0.28, 0.45, -0.3])
def test_folded_cells_are_refused(shift):
    """Beyond a quarter of the edge the corner behind it is inside out; its 3 x 3 points are not."""
    points, mesh = moved_node(shift)
    with pytest.raises(ModelError, match="2 folded, inverted or flat cells"):
        Mesh(points, mesh.cells, mesh.boundaries)
    saved = Mesh(*[moved_node(np.sign(shift) * 0.24)[0], mesh.cells, mesh.boundaries])
    assert 0.0 < least_of(discretise(saved, Q2()).hulls, saved.points) < 0.2


def test_folded_triangles_are_refused():
    cells = np.array([[0, 1, 2, -1, 3, 4, 5, -1, -1]])
    for move, ok in ((0.2, True), (0.26, False)):
        points = TRIANGLE + np.array([0.0, move])[None] * (np.arange(6) == 4)[:, None]
        points[4] = [0.5, 0.5]
        points[3] = [0.5 + move, 0.0]
        if ok:
            assert Mesh(points, cells).triangles.all()
        else:
            with pytest.raises(ModelError, match="folded"):
                Mesh(points, cells)


def test_half_a_ring_is_one_cell():
    """Three corners lie on a line, and the cell is right side out: its edges are curved."""
    angle = np.array([1.0, 0.5, 0.0]) * np.pi
    inner, outer = (r * np.stack([np.cos(angle), np.sin(angle)], axis=1) for r in (1.0, 2.0))
    middle = 0.5 * (inner + outer)
    order = [inner[2], outer[2], outer[0], inner[0]]
    order += [middle[2], outer[1], middle[0], inner[1], middle[1]]
    mesh = Mesh(np.array(order), np.arange(9)[None])
    assert least_of(discretise(mesh, Q2()).hulls, mesh.points) > 0.0
    # with straight edges the same corners are no cell
    with pytest.raises(ModelError, match="folded"):
        discretise(mesh, Q1())
    # and clockwise it is inside out
    with pytest.raises(ModelError, match="folded"):
        Mesh(np.array(order), np.array([[0, 3, 2, 1, 7, 6, 5, 4, 8]]))


CASES = [
    (half_disc(1.0, (8, 5), 6), Q1N2(exact_arc=True), "arc"),
    (half_disc(1.0, (8, 5), 6), Q2N2(exact_arc=True), "arc"),
    (half_disc(1.0, (8, 5), 6), Q1H(exact_arc=True), "arc"),
    (half_disc(1.0, (8, 5), 6), Q2(), "arc"),
    (cap(40.0, 10.0, 20.0, (12, 4)), Q1H(), "top"),
    (cap(40.0, 10.0, 20.0, (12, 4)), Q2N2(), "top"),
    (Mesh([[0, 0], [1, 0], [2, 0.1], [0, 1], [1, 1.2]],
          [[0, 1, 3, -1], [1, 4, 3, -1], [1, 2, 4, -1]], {"top": [[0, 0], [2, 0]]}),
     Q1N2(), "top"),
    (Mesh([[0, 0], [1, 0], [2, 0.1], [0, 1], [1, 1.2]],
          [[0, 1, 3, -1], [1, 4, 3, -1], [1, 2, 4, -1]], {"top": [[0, 0], [2, 0]]}),
     Q2N2(), "top"),
]  # fmt: skip


@pytest.mark.parametrize(("mesh", "element", "name"), CASES)
def test_control_points_make_the_elements(mesh, element, name):
    """Bezier form and functions give the same places, layers and rational ones included."""
    made, points = kinds_of(mesh, element, name)
    rng = np.random.default_rng(1)
    xi, eta = rng.uniform(-1.0, 1.0, (2, 30))
    for group in made:
        table, (a, b), weights = bezier_form(group)
        at = (xi, eta)
        if group.triangle and group.face is None:
            at = 0.25 * (1.0 + xi) * (1.0 - eta), 0.5 * (1.0 + eta)
        f = np.broadcast_to(functions(group, *at)[0], (group.cells.size, 30, group.nodes.shape[1]))
        wanted = np.einsum("eqn,end->eqd", f, points[group.nodes])
        basis = bernstein(b, eta)[0][:, :, None] * bernstein(a, xi)[0][:, None]
        controls = np.matmul(table, points[group.nodes])
        found = np.matmul(basis.reshape(30, -1), controls)
        if weights is not None:
            found = found / (weights @ bernstein(weights.shape[1] - 1, xi)[0].T)[..., None]
        assert_allclose(found, wanted, atol=1e-12 * np.abs(points).max())


@pytest.mark.parametrize(
    ("element", "name"),
    [(Q1(), ()), (Q2(), ()), (Q1N2(), ("top",)), (Q2N2(exact_arc=True), ("top",))],
)
def test_prisms_have_the_jacobian_of_their_section(element, name):
    mesh = cap(10.0, 3.0, 4.0, (4, 2))
    body = SweptBody(mesh, (0.0, 0.5, 2.0), element)
    flat = discretise(mesh, element, name)
    made = body.discretised(name)
    whole = least_of(made.hulls, made.points)
    assert_allclose(whole, least_of(flat.hulls, flat.points), rtol=0.05)  # reason: other degrees
    turned = made.points * np.array([1.0, 1.0, -1.0])
    assert least_of(made.hulls, turned) < 0.0
    # one node pushed through its hexahedron folds it
    bent = made.points.copy()
    bent[0] += 5.0 * (made.points[made.blocks[0].nodes[0]].mean(axis=0) - bent[0])
    assert least_of(made.hulls, bent) <= 0.0
