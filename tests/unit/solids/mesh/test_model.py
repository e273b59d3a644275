"""Meshes: shapes against closed forms, gradings, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stiction.errors import ModelError
from stiction.solids.mesh.model import (
    Mesh,
    block,
    cap,
    dense_between,
    disc,
    graded,
    half_disc,
    merged,
    rectangle,
    rotated,
    toward,
    toward_end,
    toward_middle,
    uniform,
)

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def outline_area(mesh, names):
    """Area from the boundary alone, by Green's theorem on straight facets."""
    total = 0.0
    for name in names:
        edges = mesh.edge_nodes(name)
        a, b = mesh.points[edges[:, 0]], mesh.points[edges[:, 1]]
        total += 0.5 * float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
    return total


def cell_area(mesh):
    """Area of the cells with straight edges, by the shoelace formula."""
    total = 0.0
    for cell in mesh.cells:
        x = mesh.points[cell[:3] if cell[3] < 0 else cell[:4]]
        y = np.roll(x, -1, axis=0)
        total += 0.5 * float((x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]).sum())
    return total


@pytest.mark.parametrize(
    ("mesh", "names", "outward"),
    [
        (rectangle(3.0, 2.0, (5, 4), (1.0, -1.0)), ("bottom", "right", "top", "left"), 4),
        (cap(40.65, 10.0, 20.0, (9, 4)), ("bottom", "right", "top", "left"), 4),
        (half_disc(2.0, (4, 3), 3), ("arc", "base"), 2),
    ],
)
def test_areas_and_outward_normals(mesh, names, outward):
    # the boundaries together go round the body once, counter-clockwise
    assert len(mesh.boundaries) == outward
    assert outline_area(mesh, names) == pytest.approx(cell_area(mesh), rel=1e-13)
    middle = mesh.points.mean(axis=0)
    for name in names:
        mesh.chain(name)
        edges = mesh.edge_nodes(name)
        a, b = mesh.points[edges[:, 0]], mesh.points[edges[:, 1]]
        normal = np.stack([(b - a)[:, 1], -(b - a)[:, 0]], axis=1)
        assert (((0.5 * (a + b) - middle) * normal).sum(axis=1) > 0.0).all()


def test_rectangle_is_where_it_should_be():
    mesh = rectangle(3.0, 2.0, (5, 4), (1.0, -1.0))
    assert mesh.points.min(axis=0) == pytest.approx([1.0, -1.0])
    assert mesh.points.max(axis=0) == pytest.approx([4.0, 1.0])
    assert mesh.cells.shape == (20, 9)
    assert (mesh.points[mesh.edge_nodes("bottom")][..., 1] == -1.0).all()
    assert mesh.moved((1.0, 2.0)).points == pytest.approx(mesh.points + np.array([1.0, 2.0]))
    assert (rotated(mesh).points == -mesh.points).all()


def test_cap_has_a_circular_top():
    mesh = cap(40.65, 10.0, 20.0, (12, 3), grading_x=toward_middle(12, 4.0))
    top = mesh.points[np.unique(mesh.edge_nodes("top"))]
    away = np.hypot(top[:, 0], top[:, 1] - (10.0 - 40.65))
    assert away == pytest.approx(np.full(away.size, 40.65), rel=1e-15)
    assert top[:, 1].max() == pytest.approx(10.0, rel=1e-15)
    # the edge is at 4.73 (formulas sheet)
    assert top[:, 1].min() == pytest.approx(10.0 - 40.65 + math.sqrt(40.65**2 - 400.0), rel=1e-14)


@pytest.mark.parametrize("top", [3, 8, 128])
def test_half_disc(top):
    mesh = half_disc(2.0, (top, 5), 4, grading_across=toward_end(4, 3.0))
    assert mesh.cells.shape[0] == top * 5 + 4 * (top + 10)
    arc = mesh.points[mesh.edge_nodes("arc")]
    assert np.hypot(arc[..., 0], arc[..., 1]) == pytest.approx(np.full(arc.shape[:2], 2.0))
    base = mesh.points[mesh.edge_nodes("base")]
    assert (base[..., 1] == 0.0).all()
    assert base[0, 0, 0] == -2.0
    assert base[-1, 1, 0] == 2.0
    # mirror symmetry in the middles and corners of the arc
    assert np.abs(arc[:, 0, 0] + arc[::-1, 1, 0]).max() < 1e-14
    assert 0.5 * math.pi * 4.0 > cell_area(mesh) > 0.5 * math.pi * 4.0 * (1.0 - 4.0 / top**2)


def test_half_disc_takes_a_grading_of_its_arc():
    parts = 16
    mesh = half_disc(1.0, (8, 4), 5, grading_arc=toward_middle(parts, 4.0))
    arc = mesh.points[mesh.edge_nodes("arc")]
    length = np.linalg.norm(arc[:, 1] - arc[:, 0], axis=1)
    assert length[0] > 3.0 * length[parts // 2]
    assert length == pytest.approx(length[::-1], rel=1e-12)


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        (uniform(8), 0.125, 1.0),
        (graded(8, 5.0), None, 5.0),
        (toward_end(8, 5.0), None, 0.2),
        (toward_middle(9, 5.0), None, 1.0),
        (toward(40, 0.5, 0.2, 6.0), None, 1.0),
        (toward(40, [0.2, 0.7], 0.1, 6.0), None, None),
        (dense_between(40, 0.3, 0.7, 6.0), None, 1.0),
    ],
)
def test_gradings(values, first, last):
    steps = np.diff(values)
    assert values[0] == 0.0
    assert values[-1] == 1.0
    assert (steps > 0.0).all()
    if first is not None:
        assert steps[0] == pytest.approx(first)
    if last is not None:
        assert steps[-1] / steps[0] == pytest.approx(last, rel=1e-9)


def test_cells_are_as_much_finer_as_asked():
    steps = np.diff(toward(400, [0.25, 0.8], 0.1, 8.0))
    middles = np.cumsum(steps) - 0.5 * steps
    for place in (0.25, 0.8):
        assert steps.max() / steps[np.argmin(np.abs(middles - place))] == pytest.approx(8, rel=0.01)
    steps = np.diff(toward_middle(9, 5.0))
    assert steps[0] / steps[4] == pytest.approx(5.0 ** (8 / 9), rel=1e-12)


def test_splitting_a_boundary():
    mesh = rectangle(4.0, 1.0, (8, 2)).split("bottom", 5, "adhering", "lifted")
    assert mesh.boundary("adhering").shape == (5, 2)
    assert mesh.edge_nodes("adhering")[-1, 1] == mesh.edge_nodes("lifted")[0, 0]
    assert "bottom" not in mesh.boundaries
    # where no edges remain, the second name is not used
    assert mesh.split("top", 8, "all", "left").boundary("all").shape == (8, 2)
    with pytest.raises(ModelError, match="two names that no other"):
        mesh.split("top", 7, "a", "left")
    with pytest.raises(ModelError, match="count"):
        mesh.split("top", 0, "a", "b")


def test_merging_unites_nodes():
    left, right = rectangle(1.0, 1.0, (2, 3)), rectangle(1.0, 1.0, (4, 3), (1.0, 0.0))
    both = merged([left, right])
    assert both.points.shape[0] == left.points.shape[0] + right.points.shape[0] - 7
    assert cell_area(both) == pytest.approx(2.0)
    with pytest.raises(ModelError, match="several cells on one side"):
        merged([left, left])


def test_triangles_stand_beside_quadrilaterals():
    points = np.vstack([SQUARE, [[2.0, 0.5]]])
    mesh = Mesh(points, [[0, 1, 2, 3], [1, 4, 2, -1]], {"end": [[1, 0], [1, 1]]})
    assert mesh.triangles.tolist() == [False, True]
    assert mesh.edge_nodes("end").tolist() == [[1, 4], [4, 2]]
    alone = Mesh(points[:3], [[0, 1, 2]], {"slope": [[0, 2]]})
    assert alone.edge_nodes("slope").tolist() == [[2, 0]]
    assert alone.cells.tolist() == [[0, 1, 2, -1]]


@given(
    nx=st.integers(1, 5),
    ny=st.integers(1, 5),
    bend=st.floats(-0.3, 0.3),
    turn=st.floats(0.0, 6.0),
)
@settings(max_examples=40, deadline=None)
def test_any_smooth_map_makes_a_closed_outline(nx, ny, bend, turn):
    def mapping(s, t):
        x, y = s + bend * t * t, t + bend * np.sin(2.0 * s)
        return x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)

    mesh = block(mapping, (nx, ny))
    area = outline_area(mesh, ("bottom", "right", "top", "left"))
    assert area == pytest.approx(cell_area(mesh), rel=1e-12)
    around = ("bottom", "right", "top", "left", "bottom")
    for first, after in itertools.pairwise(around):
        assert mesh.edge_nodes(first)[-1, 1] == mesh.edge_nodes(after)[0, 0]


# ---------------------------------------------------------------- what is refused

CELL = [[0, 1, 2, 3]]


def strip_with_hanging_node():
    """One large cell next to two small ones: a node in the middle of its edge."""
    points = [[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 0.5], [1, 0.5], [2, 1]]
    return Mesh(points, [[0, 1, 2, 3], [1, 4, 5, 6], [6, 5, 7, 2]])


def cells_with_two_middles(shift):
    """Two cells of nine nodes that share the corners of an edge, not the node in its middle."""
    mesh = rectangle(2.0, 1.0, (2, 1))
    cells = mesh.cells.copy()
    middle = int(cells[1, 7])
    cells[1, 7] = len(mesh.points)
    return Mesh(np.vstack([mesh.points, mesh.points[middle] + [shift, 0.0]]), cells)


BAD = {
    "two coordinates": lambda: Mesh(np.zeros((4, 3)), CELL),
    "2 positions that are not finite, the first at node 1": lambda: Mesh(
        [[0.0, 0.0], [np.nan, 0.0], [1.0, np.inf], [0.0, 1.0]], CELL
    ),
    "got list": lambda: Mesh([["a", "b"]], CELL),
    r"got an array of shape \(0, 2\)": lambda: Mesh(),
    r"an array \(0, 4\)": lambda: Mesh(SQUARE, np.zeros((0, 4), dtype=int)),
    r"an array \(1, 4\) of float64": lambda: Mesh(SQUARE, [[0.0, 1.0, 2.0, 3.0]]),
    r"an array \(1, 8\)": lambda: Mesh(SQUARE, [[0, 1, 2, 3, 0, 0, 0, 0]]),
    "ragged rows": lambda: Mesh(SQUARE, [[0, 1, 2], [0, 1, 2, 3]]),
    r"nodes \[0, 1, 2, 7\] in cell 0": lambda: Mesh(SQUARE, [[0, 1, 2, 7]]),
    r"nodes \[0, 1, -2, 3\] in cell 0": lambda: Mesh(SQUARE, [[0, 1, -2, 3]]),
    r"1 inverted or flat cells, the first is number 0 near \(0.5, 0.5\)": lambda: Mesh(
        SQUARE, [[0, 3, 2, 1]]
    ),
    "1 inverted or flat": lambda: Mesh([[0, 0], [1, 0], [2, 0], [0.5, 1]], CELL),
    "2 nodes of no cell, the first is number 4": lambda: Mesh(
        np.vstack([SQUARE, [[5.0, 5.0], [6.0, 6.0]]]), CELL
    ),
    r"1 pairs of nodes at one place, the first are \[1, 4\]": lambda: Mesh(
        np.vstack([SQUARE, [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0]]]), [[0, 1, 2, 3], [4, 5, 6, 2]]
    ),
    r"1 pairs of nodes at one place, the first are \[7, 15\]": lambda: cells_with_two_middles(0.0),
    r"1 edges with two middle nodes, the first near \(1, 0.5\)": lambda: cells_with_two_middles(
        0.02
    ),
    "a node in between, the first is node 6 on an edge of cell 0": strip_with_hanging_node,
    r"a coordinate of 1e\+300 m": lambda: rectangle(1e300, 1.0, (2, 1)),
    "several cells on one side": lambda: Mesh(SQUARE, [*CELL, *CELL]),
    r"Mesh.boundaries\['a'\]: got no edges": lambda: Mesh(SQUARE, CELL, {"a": []}),
    "got an array of shape": lambda: Mesh(SQUARE, CELL, {"a": [0, 1]}),
    "float64 numbers": lambda: Mesh(SQUARE, CELL, {"a": [[0.0, 1.5]]}),
    r"cell and edge \[0, 4\]": lambda: Mesh(SQUARE, CELL, {"a": [[0, 4]]}),
    r"cell and edge \[0, 3\]": lambda: Mesh(SQUARE[:3], [[0, 1, 2]], {"a": [[0, 3]]}),
    r"Mesh.boundaries\['a'\]: got ragged rows": lambda: Mesh(SQUARE, CELL, {"a": [[0, 0], [0]]}),
    "an edge listed twice": lambda: Mesh(SQUARE, CELL, {"a": [[0, 1], [0, 1]]}),
    "between two cells": lambda: Mesh(SQUARE, [[0, 1, 2, -1], [0, 2, 3, -1]], {"a": [[0, 2]]}),
    "names with the edges": lambda: Mesh(SQUARE, CELL, [[0, 0]]),
    "edge 2, which does not begin where edge 1 ends": lambda: Mesh(
        SQUARE, CELL, {"a": [[0, 0], [0, 2]]}
    ).chain("a"),
    "a chain that closes": lambda: Mesh(
        SQUARE, CELL, {"a": [[0, 0], [0, 1], [0, 2], [0, 3]]}
    ).chain("a"),
    "did you mean 'bottom'": lambda: rectangle(1.0, 1.0, (1, 1)).chain("botom"),
    "3 values from 0.0 to 1.0 that do not rise at position 2": lambda: rectangle(
        1.0, 1.0, (2, 1), grading_x=[0.0, 0.0, 1.0]
    ),
    "rectangle.width: got -1.0": lambda: rectangle(-1.0, 1.0, (2, 1)),
    "rectangle.origin": lambda: rectangle(1.0, 1.0, (2, 1), origin=(0.0, math.nan)),
    "rectangle.cells": lambda: rectangle(1.0, 1.0, 4),
    "block.cells: got 0": lambda: block(lambda s, t: (s, t), (0, 1)),
    "block.mapping: got not enough values": lambda: block(lambda s, t: s[:1], (2, 2)),
    "block.mapping: got .* two arrays": lambda: block(lambda s, t: (s[1:], t), (2, 2)),
    "rectangle.grading_y: got 2 values": lambda: rectangle(1.0, 1.0, (2, 2), grading_y=[0.0, 1.0]),
    r"cap.half_width: got 0.9; needs less than 0.866025 \[m\]": lambda: cap(1.0, 0.5, 0.9, (4, 4)),
    r"cap.half_width: got 1.2; needs at most 1 \[m\]": lambda: cap(1.0, 1.5, 1.2, (4, 4)),
    "half_disc.inner: got -1.0": lambda: half_disc(1.0, (4, 4), 3, inner=-1.0),
    "half_disc.inner: got 0.95": lambda: half_disc(1.0, (4, 4), 3, inner=0.95),
    "half_disc.across": lambda: half_disc(1.0, (4, 4), 0),
    "toward.places": lambda: toward(10, 1.5, 0.1, 3.0),
    "graded.ratio": lambda: graded(4, -1.0),
    r"merged: got \[\]; needs at least one Mesh": lambda: merged([]),
    r"merged: got \[1, 2\]": lambda: merged([1, 2]),
    "with and without middle nodes": lambda: merged([Mesh(SQUARE, CELL), rectangle(1, 1, (1, 1))]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_meshes_are_refused(message):
    with pytest.raises(ModelError, match=message) as caught:
        BAD[message]()
    assert "Why:" in str(caught.value)
    assert "Try:" in str(caught.value)


def test_meshes_compare_by_what_they_hold_and_cannot_be_changed():
    mesh = rectangle(1.0, 1.0, (2, 2))
    assert mesh == rectangle(1.0, 1.0, (2, 2))
    assert mesh != rectangle(1.0, 2.0, (2, 2))
    with pytest.raises(ValueError, match="read-only"):
        mesh.points[0, 0] = 1.0


def test_depths():
    mesh = rectangle(2.0, 1.0, (4, 2), (1.0, 0.0))
    places = [(1.5, 0.5), (0.9, 0.5), (2.9, 0.4), (2.0, 1.1), (1.2, 0.95)]
    np.testing.assert_allclose(mesh.depths(np.array(places)), [0.5, 0, 0.1, 0, 0.05], atol=1e-15)


def test_outlines_and_discs():
    """Once around, the body to the left, and a disc has the area and the rim of its polygon."""
    mesh = rectangle(3.0, 2.0, (3, 2)).outlined("rim")
    ends = mesh.edge_nodes("rim")
    assert mesh.closes("rim")
    assert len(ends) == 10
    a, b = mesh.points[ends[:, 0]], mesh.points[ends[:, 1]]
    assert 0.5 * np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) == pytest.approx(6.0, rel=1e-14)
    round_ = disc(2.0, (4, 3), 2, centre=(1.0, -3.0))
    ends = round_.edge_nodes("rim")
    assert list(round_.boundaries) == ["rim"]
    assert len(ends) == 2 * (4 + 2 * 3)
    corners = round_.points[ends[:, :2]] - (1.0, -3.0)
    assert np.abs(np.hypot(*corners.reshape(-1, 2).T) - 2.0).max() < 1e-14
    a, b = corners[:, 0], corners[:, 1]
    polygon = 0.5 * len(ends) * 4.0 * np.sin(2.0 * np.pi / len(ends))
    area = 0.5 * np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    assert area == pytest.approx(polygon, rel=1e-12)


def test_outlines_that_cannot_be_are_refused():
    with pytest.raises(ModelError, match=r"Mesh\.outlined.*a new name"):
        rectangle(1.0, 1.0, (2, 2)).outlined("top")
    cells = [c for k, c in enumerate(rectangle(3.0, 3.0, (3, 3)).cells[:, :4]) if k != 4]
    points = rectangle(3.0, 3.0, (3, 3)).points
    used = np.unique(cells)
    ring = Mesh(points[used], np.searchsorted(used, cells), {})
    touching = Mesh([*SQUARE, [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]], [*CELL, [2, 4, 5, 6]])
    with pytest.raises(ModelError, match="passes twice through node 2"):
        touching.outlined("rim")
    with pytest.raises(ModelError, match=r"12 go around|4 go around"):
        ring.outlined("rim")
