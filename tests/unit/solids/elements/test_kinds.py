"""Elements and layers: linear fields, areas, conformity, drawing, on meshes of every kind."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from scipy.spatial import Delaunay
from solid_cases import MATERIALS, bound, forces, tangent

from stiction.errors import ModelError
from stiction.numerics.bsplines import open_knots
from stiction.solids.elements import layers as el
from stiction.solids.elements.kinds import Q1, Q1H, Q1N2, Q2, Q2N2, QM6, _with_middles, discretise
from stiction.solids.mesh.model import Mesh, block, cap, half_disc, rectangle
from stiction.solids.shape_functions import functions as ef

ELEMENTS = [Q1, Q2, Q1N2, Q2N2, Q1H]
LAYERED = [Q1N2, Q2N2, Q1H]
G = np.array([[0.3, 0.2], [-0.1, 0.4]])


def outer_chain(cells, wanted):
    """Pieces of the outer edges whose ends are all wanted, in order."""
    mesh = Mesh(wanted[0], cells)
    edges = mesh.edges
    rows = np.flatnonzero((edges.uses[edges.number] == 1) & wanted[1][edges.ends].all(axis=1))
    start = {int(edges.ends[r, 0]): r for r in rows}
    after = {int(edges.ends[r, 1]) for r in rows}
    (node,) = [n for n in start if n not in after]
    order = []
    while node in start:
        order.append(start[node])
        node = int(edges.ends[order[-1], 1])
    return np.stack([edges.cell[order], edges.side[order]], axis=1)


def triangulated(seed, bend=0.0, quads=False, nx=7, ny=4):
    """A body of random triangles with a straight or bent top; some pairs are quadrilaterals."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0.0, 3.0, nx), np.linspace(0.0, 1.0, ny))
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    inner = (points[:, 0] > 0) & (points[:, 0] < 3) & (points[:, 1] > 0) & (points[:, 1] < 1)
    points[inner] += rng.uniform(-0.06, 0.06, (int(inner.sum()), 2))
    top = points[:, 1] == 1.0
    edge = top & (points[:, 0] > 0) & (points[:, 0] < 3)
    points[edge, 0] += rng.uniform(-0.1, 0.1, int(edge.sum()))
    cells = []
    if quads:
        for j in range(ny - 1):
            for i in range(nx - 1):
                a = j * nx + i
                corners = [a, a + 1, a + nx + 1, a + nx]
                cut = [[0, 1, 2, 3]] if rng.random() < 0.5 else [[0, 1, 2], [0, 2, 3]]
                if rng.random() < 0.3 and len(cut) == 2:
                    cut = [[0, 1, 3], [1, 2, 3]]
                cells += [[*(corners[k] for k in c), *[-1] * (4 - len(c))] for c in cut]
        cells = np.array(cells)
    else:
        cells = Delaunay(points).simplices.astype(int)
        x = points[cells]
        a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
        area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        cells = cells[np.abs(area) > 1e-9]
        turned = area[np.abs(area) > 1e-9] < 0.0
        cells[turned] = cells[turned][:, [0, 2, 1]]
    bottom = points[:, 1] == 0.0
    points[:, 1] += bend * points[:, 1] * (points[:, 0] - 1.4) ** 2
    made = {
        name: outer_chain(cells, (points, at)) for name, at in (("top", top), ("bottom", bottom))
    }
    return Mesh(points, cells, made)


def ring():
    """Triangles and quadrilaterals bent to a part of a ring, arcs of circles as boundaries."""
    flat = triangulated(4, quads=True)
    angle, radius = -0.8 * flat.points[:, 0], 1.0 + flat.points[:, 1]
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Mesh(points, flat.cells, flat.boundaries)


MESHES = {
    "rectangle": (rectangle(3.0, 1.0, (6, 3)), ("bottom",)),
    "cap": (cap(40.65, 10.0, 20.0, (12, 4)), ("top",)),
    "disc": (half_disc(1.0, (8, 5), 6), ("arc",)),
    "bent": (block(lambda s, t: (s + 0.2 * t * s, t + 0.15 * np.sin(3 * s)), (5, 3)), ("top",)),
    "two sides": (rectangle(3.0, 1.0, (6, 3)), ("bottom", "top")),
    "in a row": (rectangle(3.0, 1.0, (6, 2)).split("bottom", 2, "a", "b"), ("a", "b")),
    "triangles": (triangulated(0), ("top",)),
    "bent triangles": (triangulated(1, bend=0.1), ("top", "bottom")),
    "mixed": (triangulated(2, quads=True), ("top", "bottom")),
    "thin": (triangulated(3, bend=-0.05, quads=True, ny=3), ("top", "bottom")),
    "ring": (ring(), ("top", "bottom")),
    "one layer": (rectangle(3.0, 1.0, (4, 2)), ("bottom",)),
    "one cell": (Mesh([[0.0, 0.0], [1.0, 0.1], [0.9, 1.0], [0.0, 1.0]], [[0, 1, 2, 3]],
                      {"top": [[0, 2]]}), ("top",)),
    "one triangle": (Mesh([[0.0, 0.0], [1.0, 0.1], [0.4, 1.0]], [[0, 1, 2]],
                          {"side": [[0, 1]]}), ("side",)),
}  # fmt: skip


def around(d):
    """Area inside the drawn outline, by Green's theorem."""
    a, b = (d.picture.matrix @ d.points)[d.picture.edge.T]
    return 0.5 * float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("reduced", [False, True])
def test_linear_fields(name, kind, reduced):
    mesh, contact = MESHES[name]
    d = discretise(mesh, kind(reduced=reduced), contact=contact)
    used = np.concatenate([b.nodes.ravel() for b in d.blocks])
    assert np.array_equal(np.unique(used), np.arange(d.points.shape[0]))
    total = part = 0.0
    for b in d.blocks:
        u = d.points[b.nodes] @ G.T
        for g in (b.gradients, b.volume_gradients):
            assert np.abs(g.sum(axis=2)).max(initial=0.0) < 1e-11
            found = np.einsum("end,eqnk->eqdk", u, g)
            assert np.abs(found - G).max(initial=0.0) < 1e-12
        assert (b.weights > 0.0).all()
        total, part = total + b.weights.sum(), part + b.volume_weights.sum()
        for array in b[:5]:  # what kernels read
            assert array.flags.c_contiguous
            assert array.flags.writeable
    if reduced:
        assert part == pytest.approx(total, rel=1e-9)
    else:
        assert all(b.volume_gradients.shape[1] == 0 for b in d.blocks)


def over_outline(mesh, element, contact, d, u, exact=False):
    """Integral of u n over the outline, from the boundary's own functions and points."""
    order, gauss = element.ORDER, np.polynomial.legendre.leggauss(5)
    layers = []
    if element.SPLINE:
        bent = mesh.cells.shape[1] == 9
        layers = [el.layer_of(mesh, c, element.SPLINE, exact, bent) for c in contact]
    numbering = el.number_nodes(mesh, order, layers)
    total = np.zeros(2)
    for layer in layers:
        s = d.surfaces[layer.name]
        t = np.matmul(s.derivatives[..., 0], d.points[s.nodes])
        here = np.einsum("sqn,sn->sq", s.functions, u[s.nodes])
        weights = np.polynomial.legendre.leggauss(s.points.size)[1]
        total += np.einsum("sq,sqd,q->d", here, t, weights)
    edges = mesh.edges
    outer = edges.uses[edges.number] == 1
    for layer in layers:
        outer &= ~np.isin(edges.cell * 4 + edges.side, layer.facets @ np.array([4, 1]))
    nodes = edges.ends[outer]
    if order == 2:
        nodes = np.stack([nodes[:, 0], edges.middle[outer], nodes[:, 1]], axis=1)
    shares, numbers = numbering.fractions[nodes], numbering.numbers[nodes]
    x = (shares[..., None] * d.points[numbers]).sum(axis=2)
    value = (shares * u[numbers]).sum(axis=2)
    f, df = ef.lagrange(order, gauss[0])
    total += np.einsum("qn,en,qm,emd,q->d", f, value, df, x, gauss[1])
    # tangent (tx, ty) to outward normal (ty, -tx)
    return np.array([total[1], -total[0]])


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_displacements_are_continuous(name, kind):
    """The gradient of any field integrates to its values on the outline: nothing jumps inside."""
    mesh, contact = MESHES[name]
    if kind.ORDER == 2 and mesh.cells.shape[1] == 4:
        mesh = _with_middles(mesh)
    d = discretise(mesh, kind(), contact=contact)
    u = np.random.default_rng(0).standard_normal(d.points.shape[0])
    inside = sum(np.einsum("en,eqnk,eq->k", u[b.nodes], b.gradients, b.weights) for b in d.blocks)
    expected = over_outline(mesh, kind, contact, d, u)
    assert np.abs(inside - expected).max() < 1e-12 * max(1.0, np.ptp(mesh.points))


@pytest.mark.parametrize("name", ["ring", "disc"])
@pytest.mark.parametrize("kind", LAYERED)
def test_displacements_with_exact_arcs_are_continuous(name, kind):
    mesh, contact = MESHES[name]
    bent = mesh.cells.shape[1] == 9
    mesh = mesh if bent or kind.ORDER == 1 else _with_middles(mesh)
    d = discretise(mesh, kind(exact_arc=True, contact_points=12), contact=contact)
    assert all((d.surfaces[c].weights != 1.0).any() for c in contact)
    u = np.random.default_rng(0).standard_normal(d.points.shape[0])
    # many points, because functions are rational along the face
    (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in (12, 4))
    rule = ef.Rule(np.tile(x, 4), np.repeat(y, 12), np.tile(wx, 4) * np.repeat(wy, 12))
    layers = [el.layer_of(mesh, c, kind.SPLINE, True, bent) for c in contact]
    groups = el.groups(mesh, kind.ORDER, layers, el.number_nodes(mesh, kind.ORDER, layers))
    inside = np.zeros(2)
    for group, b in zip(groups, d.blocks, strict=True):
        g, w = b.gradients, b.weights
        if group.face is not None:
            g, w = ef.gradients(group, d.points, rule)
        inside += np.einsum("en,eqnk,eq->k", u[b.nodes], g, w)
    expected = over_outline(mesh, kind, contact, d, u, exact=True)
    assert np.abs(inside - expected).max() < 1e-12
    linear = d.points @ G.T
    for b in d.blocks:
        found = np.einsum("end,eqnk->eqdk", linear[b.nodes], b.gradients)
        assert np.abs(found - G).max() < 1e-12


@pytest.mark.parametrize("name", ["rectangle", "two sides", "in a row", "triangles", "mixed"])
@pytest.mark.parametrize("kind", ELEMENTS)
def test_areas_of_straight_bodies(name, kind):
    mesh, contact = MESHES[name]
    d = discretise(mesh, kind(contact_points=3), contact=contact)
    assert sum(b.weights.sum() for b in d.blocks) == pytest.approx(3.0, rel=1e-13)
    if name != "in a row":
        for boundary in contact:
            assert d.surfaces[boundary].areas.sum() == pytest.approx(3.0, rel=1e-13)


@pytest.mark.parametrize("kind", LAYERED)
def test_exact_arcs_have_the_area_of_the_disc(kind):
    mesh = half_disc(2.0, (6, 4), 4)
    d = discretise(mesh, kind(exact_arc=True, contact_points=8), contact="arc")
    arc = d.surfaces["arc"]
    x = np.matmul(arc.functions, d.points[arc.nodes])
    assert np.abs(np.hypot(x[..., 0], x[..., 1]) / 2.0 - 1.0).max() < 1e-14
    assert arc.areas.sum() == pytest.approx(2.0 * math.pi, rel=1e-13)
    # three or four points along a rational curve: no longer exact, but near
    assert sum(b.weights.sum() for b in d.blocks) == pytest.approx(2.0 * math.pi, rel=1e-6)
    plain = discretise(mesh, kind(contact_points=8), contact="arc").surfaces["arc"]
    assert abs(plain.areas.sum() / (2.0 * math.pi) - 1.0) > 1e-7


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_surfaces(name, kind):
    mesh, contact = MESHES[name]
    d = discretise(mesh, kind(), contact=contact)
    assert set(d.surfaces) == set(contact)
    middle = mesh.points.mean(axis=0)
    for boundary in contact:
        s = d.surfaces[boundary]
        count = s.nodes.shape[0]
        assert count == mesh.boundary(boundary).shape[0]
        assert s.neighbours[:, 0].tolist() == [*range(-1, count - 1)]
        assert s.neighbours[:, 1].tolist() == [*range(1, count), -1]
        assert np.abs(s.functions.sum(axis=2) - 1.0).max() < 1e-14
        assert np.abs(s.derivatives.sum(axis=2)).max() < 1e-13
        x = np.matmul(s.functions, d.points[s.nodes])
        tangent = np.matmul(s.derivatives[..., 0], d.points[s.nodes])
        normal = np.stack([tangent[..., 1], -tangent[..., 0]], axis=-1)
        # bodies here lie on the inner side of their boundaries, seen from the centre
        if name not in ("cap", "bent", "bent triangles", "thin", "ring"):
            assert (((x - middle) * normal).sum(axis=2) > 0.0).all()
        edges = mesh.points[mesh.edge_nodes(boundary)]
        along = np.repeat((edges[:, 1] - edges[:, 0])[:, None], s.points.size, axis=1)
        assert ((tangent * along).sum(axis=2) > 0.0).all()
        length = np.linalg.norm(tangent, axis=2)
        gauss = np.polynomial.legendre.leggauss(5)[1]
        assert np.abs(s.areas - gauss * length).max() < 1e-13
        # elements are consecutive
        for k in range(count - 1):
            shared = np.intersect1d(s.nodes[k], s.nodes[k + 1])
            assert shared.size == {1: 1, 2: 1}.get(kind.ORDER if not kind.SPLINE else 0, 2)


@pytest.mark.parametrize("kind", [Q1N2, Q2N2, Q1H])
def test_extraction_against_splines(kind):
    x = np.concatenate([[0.0], np.cumsum(np.random.default_rng(5).random(6) + 0.1)])
    mesh = rectangle(float(x[-1]), 1.0, (6, 2), grading_x=x / x[-1])
    d = discretise(mesh, kind(), contact=("bottom",))
    s = d.surfaces["bottom"]
    degree = s.extraction.shape[2] - 1
    knots = open_knots(x, degree, degree - 1)
    controls, back = np.unique(s.nodes, return_inverse=True)
    back = back.reshape(s.nodes.shape)
    oracle = BSpline(knots, np.eye(controls.size), degree)
    at = x[:-1, None] + 0.5 * (1.0 + s.points) * np.diff(x)[:, None]
    values = oracle(at)
    slopes = oracle.derivative()(at) * 0.5 * np.diff(x)[:, None, None]
    for piece in range(6):
        assert np.abs(values[piece][:, back[piece]] - s.functions[piece]).max() < 1e-14
        assert np.abs(slopes[piece][:, back[piece]] - s.derivatives[piece, ..., 0]).max() < 1e-13
    assert d.node_sets["bottom"].tolist() == controls.tolist()


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_pictures_cover_the_body(name, kind):
    mesh, contact = MESHES[name]
    d = discretise(mesh, kind(), contact=contact)
    matrix, quads, edge, owner = d.picture
    assert np.abs(np.asarray(matrix.sum(axis=1)) - 1.0).max() < 1e-14
    drawn = matrix @ d.points
    x = drawn[quads]
    y = np.roll(x, -1, axis=1)
    areas = 0.5 * (x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]).sum(axis=1)
    assert (areas > 0.0).all()
    assert np.array_equal(np.unique(quads), np.arange(drawn.shape[0]))
    # the outline goes round once, and no gap is left inside
    assert around(d) == pytest.approx(areas.sum(), rel=1e-12)
    assert np.array_equal(np.sort(edge[:, 0]), np.sort(edge[:, 1]))
    total = sum(b.weights.sum() for b in d.blocks)
    # reason: drawn edges are straight where those of the elements are bent
    assert areas.sum() == pytest.approx(total, rel=2e-2)
    for number, b in enumerate(d.blocks):
        own = owner[owner[:, 0] == number, 1]
        assert np.array_equal(np.unique(own), np.arange(b.nodes.shape[0]))


@pytest.mark.parametrize("kind", LAYERED)
def test_layers_in_a_row_share_their_ends(kind):
    mesh = rectangle(3.0, 1.0, (6, 2)).split("bottom", 2, "a", "b")
    d = discretise(mesh, kind(), contact=("a", "b"))
    a, b = d.surfaces["a"].nodes, d.surfaces["b"].nodes
    assert a[-1, -1] == b[0, 0]
    assert np.intersect1d(a, b).size == 1
    places = np.round(d.points, 9)
    assert np.unique(places, axis=0).shape == places.shape


def test_names_of_nodes():
    mesh = rectangle(3.0, 1.0, (6, 2))
    d = discretise(mesh, Q1N2(), contact="bottom")
    assert d.node_sets["bottom"].size == 8
    assert d.node_sets["right"].size == 3
    assert np.intersect1d(d.node_sets["bottom"], d.node_sets["right"]).size == 1
    assert (d.points[d.node_sets["top"]][:, 1] == 1.0).all()
    same = discretise(mesh, Q1N2(), contact=["bottom"])
    assert np.array_equal(same.points, d.points)
    whole = Mesh(
        mesh.points,
        mesh.cells,
        {
            **mesh.boundaries,
            "low": np.concatenate([mesh.boundary("bottom"), mesh.boundary("right")]),
        },
    )
    sets = discretise(whole, Q1H(), contact="bottom").node_sets
    assert np.isin(sets["bottom"], sets["low"]).all()


@pytest.mark.parametrize(
    ("kind", "points", "fewer"),
    [(Q1, (4, 4), (1, 1)), (Q2, (9, 9), (4, 4)), (Q1N2, (4, 6), (1, 1)), (Q2N2, (9, 9), (4, 4)),
     (Q1H, (4, 8), (1, 1))],
)  # fmt: skip
def test_numbers_of_integration_points(kind, points, fewer):
    d = discretise(rectangle(2.0, 1.0, (3, 3)), kind(reduced=True), contact="bottom")
    assert {b.weights.shape[1] for b in d.blocks} == set(points)
    assert {b.volume_weights.shape[1] for b in d.blocks} == set(fewer)
    functions = {Q1: {4}, Q2: {9}, Q1N2: {4, 5}, Q2N2: {9}, Q1H: {4, 6}}[kind]
    assert {b.nodes.shape[1] for b in d.blocks} == functions


@given(
    seed=st.integers(0, 500),
    kind=st.sampled_from(ELEMENTS),
    quads=st.booleans(),
    bend=st.floats(-0.08, 0.08),
)
@settings(max_examples=25, deadline=None)
def test_random_meshes(seed, kind, quads, bend):
    mesh = triangulated(seed, bend, quads, nx=5, ny=3)
    d = discretise(mesh, kind(reduced=bool(seed % 2)), contact=("top", "bottom"))
    for b in d.blocks:
        found = np.einsum("end,eqnk->eqdk", d.points[b.nodes] @ G.T, b.gradients)
        assert np.abs(found - G).max() < 1e-12
    # the divergence theorem on the true shape: its volume from its outline
    total = sum(b.weights.sum() for b in d.blocks)
    volume = 0.0
    for name in ("top", "bottom"):
        s = d.surfaces[name]
        x = np.matmul(s.functions, d.points[s.nodes])
        t = np.matmul(s.derivatives[..., 0], d.points[s.nodes])
        # the sides x = 0 and x = 3 add 3/2 of the height of the right one
        volume += float((0.5 * (x[..., 0] * t[..., 1] - x[..., 1] * t[..., 0])
                         * s.areas / np.linalg.norm(t, axis=2)).sum())  # fmt: skip
    right = mesh.points[mesh.edge_nodes("top")[0, 0], 1]
    assert volume + 1.5 * right == pytest.approx(total, rel=1e-12)


@given(seed=st.integers(0, 500), kind=st.sampled_from(ELEMENTS))
@settings(max_examples=15, deadline=None)
def test_partition_of_unity_everywhere(seed, kind):
    mesh = triangulated(seed, quads=True, nx=4, ny=3)
    mesh = _with_middles(mesh) if kind.ORDER == 2 else mesh
    layers = [el.layer_of(mesh, "top", kind.SPLINE, False, False)] if kind.SPLINE else []
    numbering = el.number_nodes(mesh, kind.ORDER, layers)
    rng = np.random.default_rng(seed)
    for group in el.groups(mesh, kind.ORDER, layers, numbering):
        xi, eta = rng.uniform(0.0, 0.5, 4), rng.uniform(0.0, 0.5, 4)
        f, df = ef.functions(group, xi, eta)
        assert np.abs(f.sum(axis=2) - 1.0).max() < 1e-14
        assert np.abs(df.sum(axis=2)).max() < 1e-14


@pytest.mark.parametrize("kind", [Q1, Q2N2, Q1N2])
def test_patches_of_mixed_cells_carry_homogeneous_states(kind):
    """Forces on the inner unknowns vanish where the deformation is linear; the tangent is right."""
    mesh = MESHES["mixed"][0]
    d = discretise(mesh, kind(), contact=("top", "bottom"))
    bulk, pattern = bound(d, MATERIALS["NeoHookean"].table(False))
    u = d.points @ G.T
    force = forces(bulk, u)
    outer = np.unique(np.concatenate(list(d.node_sets.values())))
    ends = np.unique(mesh.edges.ends[mesh.edges.uses[mesh.edges.number] == 1])
    away = np.abs(d.points[:, None] - mesh.points[ends][None]).max(axis=2).min(axis=1)
    sides = (d.points[:, 0] < 1e-12) | (d.points[:, 0] > 3.0 - 1e-12)
    inner = np.setdiff1d(np.flatnonzero((away > 1e-12) & ~sides), outer)
    assert inner.size > 5
    assert np.abs(force[inner]).max() < 1e-13
    assert np.abs(force).max() > 0.1
    v = np.random.default_rng(1).standard_normal(u.shape)
    h = 1e-4
    near = [forces(bulk, u + k * h * v) for k in (-2, -1, 1, 2)]
    difference = (near[0] - near[3] + 8.0 * (near[2] - near[1])) / (12.0 * h)
    found = (tangent(bulk, pattern, u) @ v.ravel()).reshape(-1, 2)
    assert np.abs(found - difference).max() < 1e-8 * np.abs(found).max()


# ---------------------------------------------------------------- what is refused

LONG = rectangle(3.0, 1.0, (6, 2))
CORNER = Mesh(
    LONG.points,
    LONG.cells,
    {"L": np.concatenate([LONG.boundary("bottom"), LONG.boundary("right")])},
)
BAD = {
    "did you mean 'bottom'": lambda: discretise(LONG, Q1N2(), contact="botom"),
    "did you mean 'top'": lambda: discretise(LONG, Q1(), contact=("top_",)),
    "different names": lambda: discretise(LONG, Q1(), contact=("top", "top")),
    "cell 5 with two edges on contact": lambda: discretise(LONG, Q1N2(), ("bottom", "right")),
    "a corner of 90 degrees": lambda: discretise(CORNER, Q1H(), contact="L"),
    "Q1.reduced": lambda: Q1(reduced=1),
    "Q2.contact_points": lambda: Q2(contact_points=0),
    "Q1N2.exact_arc": lambda: Q1N2(exact_arc="yes"),
    "Q2.exact_arc: got True": lambda: Q2(exact_arc=True),
    "QM6.reduced: got True": lambda: QM6(reduced=True),
    "off the circle": lambda: discretise(MESHES["bent"][0], Q1N2(exact_arc=True), "top"),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_bodies_are_refused(message):
    with pytest.raises(ModelError, match=message) as caught:
        BAD[message]()
    assert "Why:" in str(caught.value)
    assert "Try:" in str(caught.value)


def test_folded_elements_are_named():
    mesh = rectangle(2.0, 1.0, (2, 1))
    points = mesh.points.copy()
    # the centre of the second cell outside of it
    points[mesh.cells[1, 8]] = [0.2, 0.5]
    with pytest.raises(ModelError, match=r"folded.*number 1 near"):
        discretise(Mesh(points, mesh.cells), Q2())
