"""Plane meshes of quadrilaterals and triangles with named boundaries, and meshes of simple shapes.

A quadrilateral has four corners, counter-clockwise, or nine nodes: corners, the middles of the
edges 0-1, 1-2, 2-3, 3-0, and the centre. A triangle has three corners, or six nodes: corners and
the middles of 0-1, 1-2, 2-0. In arrays of four or nine columns, corners of a triangle are entries
0, 1, 2 and its middles entries 4, 5, 6; the others are -1. Edge k goes from corner k to the next
one, and its middle is entry 4 + k; the cell lies to its left. The facets of a boundary are edges of
cells, given by cell and edge.
"""

from __future__ import annotations

import functools
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain, nearest
from stiction.numerics.checks import Record, fits, number, numbers, whole
from stiction.solids.mesh import checks
from stiction.solids.mesh.gradings import (
    dense_between,
    graded,
    refined,
    rising,
    toward,
    toward_end,
    toward_middle,
    uniform,
)

__all__ = [
    "Mesh",
    "block",
    "cap",
    "dense_between",
    "disc",
    "graded",
    "half_disc",
    "merged",
    "rectangle",
    "rotated",
    "toward",
    "toward_end",
    "toward_middle",
    "uniform",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# memory of a cell in the mesh, the assembled matrix and its factors
BYTES_OF_CELL = 4000
# largest distance of the inner rectangle's corners from the centre of a disc over its radius: the
# ring keeps a tenth of the radius. Chosen
_MOST_INNER = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Record):
    """A plane mesh of quadrilaterals and triangles with named boundaries.

    Parameters
    ----------
    points : (n, 2) positions of the nodes [m]
    cells : (c, 4) or (c, 9) nodes of each cell, counter-clockwise; triangles alone also as
        (c, 3) or (c, 6), among quadrilaterals with -1 in unused entries
    boundaries : name -> (k, 2) facets, columns: cell, and edge from 0 to 3; a contact boundary is
        one chain of facets in order, the body to its left

    Raises
    ------
    ModelError : for cells that are inverted, folded, flat or overlapping; for nodes that hang on an
        edge, belong to no cell or coincide; for edges with two middle nodes; for boundaries with
        edges inside the body.

    Verified by: tests/unit/solids/mesh/test_model.py::test_areas_and_outward_normals
    """

    points: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    cells: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    boundaries: Mapping[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        points = checks.clean_points(self.points)
        cells = checks.clean_cells(self.cells, points.shape[0])
        boundaries = checks.clean_boundaries(self.boundaries)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "boundaries", boundaries)
        checks.check_body(points, cells, self.edges)
        for name, facets in boundaries.items():
            checks.check_facets(name, facets, cells, self.edges)

    @classmethod
    def read(cls, path: str | os.PathLike[str], contact: str | Sequence[str] = ()) -> Mesh:
        """Return the mesh in a file of any format that meshio reads.

        Boundaries are the named groups of lines, in Gmsh physical curves, or of nodes.

        Parameters
        ----------
        path : the file
        contact : names of contact boundaries, which are checked at once

        Raises
        ------
        ModelError : if meshio is missing, or the file holds no usable plane mesh.

        Verified by: tests/unit/solids/mesh/test_files.py::test_a_written_mesh_comes_back
        """
        from stiction.solids.mesh.files import read

        mesh = cls(*read(path))
        if not (mesh.boundaries or contact):
            many = f"{len(mesh.cells)} cells and {len(mesh.points)} points"
            got, needs = f"no named boundary in {str(path)!r} ({many})", "named groups of lines"
            why = "contacts and conditions refer to boundaries by name."
            try_ = "name physical curves in Gmsh, or sets of nodes."
            warnings.warn(explain("Mesh.read", got, needs, why, try_), stacklevel=2)
        for name in (contact,) if isinstance(contact, str) else contact:
            mesh.chain(name)
        return mesh

    # ------------------------------------------------------------ topology: edges and boundaries

    @functools.cached_property
    def edges(self) -> checks.EdgeTable:
        """The edges of all cells, and the numbers of distinct edges."""
        return checks.edge_table(self.cells)

    @property
    def triangles(self) -> npt.NDArray[np.bool_]:
        """Which cells are triangles, (c,)."""
        return np.asarray(self.cells[:, 3] < 0)

    def boundary(self, name: str) -> Ints:
        """Return the facets (k, 2) of a boundary.

        Raises
        ------
        ModelError : if there is none of that name.
        """
        if name not in self.boundaries:
            why = "contacts and conditions refer to boundaries by name."
            needs = "one of " + (", ".join(sorted(self.boundaries)) or "none: the mesh has none")
            try_ = nearest(str(name), self.boundaries) if self.boundaries else "name boundaries."
            raise ModelError("boundary", repr(name), needs, why, try_)
        return self.boundaries[name]

    def depths(self, places: Floats) -> Floats:
        """Return depths of positions (p, 2) inside the outline of the corners, (p,) [m]; 0 outside.

        Verified by: tests/unit/solids/mesh/test_model.py::test_depths
        """
        # ends (k, 2, 2) of the outer edges: the distance to the nearest of them is the depth
        outer = np.flatnonzero(self.edges.uses[self.edges.number] == 1)
        ends = self.points[self.edges.ends[outer]]
        a, direction = ends[:, 0], ends[:, 1] - ends[:, 0]
        depth = np.zeros(len(places))
        for i, x in enumerate(places):
            from_start = x - a
            # a line to the right crosses the outline an odd number of times
            above = (a[:, 1] > x[1]) != (ends[:, 1, 1] > x[1])
            with np.errstate(divide="ignore", invalid="ignore"):
                at = a[:, 0] + from_start[:, 1] / direction[:, 1] * direction[:, 0]
            if np.sum(above & (at > x[0])) % 2:
                fraction = np.einsum("ek,ek->e", from_start, direction) / np.einsum(
                    "ek,ek->e", direction, direction
                )
                near = a + np.clip(fraction, 0.0, 1.0)[:, None] * direction
                depth[i] = np.sqrt(((x - near) ** 2).sum(axis=1).min())
        return depth

    def chain(self, name: str, closed: bool = False) -> Ints:
        """Return the facets (k, 2) of a boundary that is one chain.

        Parameters
        ----------
        closed : whether it may be closed

        Raises
        ------
        ModelError : if no boundary has this name, it has gaps, or it is closed and `closed` is
            False.
        """
        facets = self.boundary(name)
        checks.check_chain(name, self.edge_nodes(name)[:, :2], closed)
        return facets

    def closes(self, name: str) -> bool:
        """Return whether a boundary is closed."""
        ends = self.edge_nodes(name)
        return bool(ends[0, 0] == ends[-1, 1])

    def edge_nodes(self, name: str) -> Ints:
        """Return first, last and, with nine nodes, middle node of every edge, (k, 2 or 3)."""
        facets = self.boundary(name)
        cell, edge = facets[:, 0], facets[:, 1]
        after = np.where(self.triangles[cell] & (edge == 2), 0, (edge + 1) % 4)
        ends = np.stack([self.cells[cell, edge], self.cells[cell, after]], axis=1)
        if self.cells.shape[1] == 9:
            ends = np.concatenate([ends, self.cells[cell, 4 + edge][:, None]], axis=1)
        return ends

    def split(self, name: str, count: int, first: str, second: str) -> Mesh:
        """Return the mesh with the boundary `name` split after `count` edges into two new ones.

        The first part is called `first`, the remaining edges `second`. If none remain, there is no
        boundary `second`.
        """
        facets = self.chain(name)
        why = "the first part has this many edges."
        whole("Mesh.split.count", count, least=1, why=why, try_="give 1.")
        others = {key: value for key, value in self.boundaries.items() if key != name}
        # where no edges remain, no boundary gets the second name
        remain = count < facets.shape[0]
        if first == second or first in others or (remain and second in others):
            got = f"{first!r} and {second!r}"
            why = "names of boundaries are unique."
            needs = "two names that no other boundary has"
            raise ModelError("Mesh.split", got, needs, why, "choose other names.")
        if count > facets.shape[0]:
            why = "the first part is made of edges of the boundary."
            needs = f"at most {facets.shape[0]}, the number of edges of the boundary"
            raise ModelError("Mesh.split.count", count, needs, why, "give fewer edges.")
        others[first] = facets[:count]
        if remain:
            others[second] = facets[count:]
        return Mesh(self.points, self.cells, others)

    def outlined(self, name: str) -> Mesh:
        """Return the mesh with one more boundary: the whole outline of the body.

        It begins at the first outer edge of the first cell that has one.

        Raises
        ------
        ModelError : if there is a boundary of that name, or the outline is not one closed chain,
            because the body has holes, or parts that touch in a node only.

        Verified by: tests/unit/solids/mesh/test_model.py::test_outlines_and_discs
        """
        where = "Mesh.outlined"
        if name in self.boundaries:
            why, try_ = "names of boundaries are unique.", "choose another name."
            raise ModelError(where, repr(name), "a new name", why, try_)
        # outer edges by their first node, followed from end to begin
        edges = self.edges
        outer = np.flatnonzero(edges.uses[edges.number] == 1)
        begins = {int(node): k for k, node in enumerate(edges.ends[outer, 0])}
        why = "a boundary is one chain of edges."
        if len(begins) != outer.size:
            nodes, uses = np.unique(edges.ends[outer, 0], return_counts=True)
            got = f"an outline that passes twice through node {nodes[uses > 1][0]}"
            try_ = "name the boundary of each part separately."
            raise ModelError(where, got, "an outline that passes once through each node", why, try_)
        order = [0]
        while (k := begins[int(edges.ends[outer[order[-1]], 1])]) != 0:
            order.append(k)
        if len(order) != outer.size:
            got = f"{outer.size} outer edges, of which {len(order)} go around"
            try_ = "name the boundary of each hole separately."
            raise ModelError(where, got, "a body without holes", why, try_)
        outline = outer[order]
        facets = np.stack([edges.cell[outline], edges.side[outline]], axis=1)
        return Mesh(self.points, self.cells, {**self.boundaries, name: facets})

    def moved(self, shift: Sequence[float] | Floats) -> Mesh:
        """Return the mesh translated by `shift` (2,) [m]."""
        why = "the mesh is moved by these lengths."
        by = numbers("Mesh.moved", shift, size=2, unit="m", why=why, try_="give (0, 1).")
        return Mesh(self.points + by, self.cells, self.boundaries)


def rotated(mesh: Mesh) -> Mesh:
    """Return the mesh rotated by 180 degrees about the origin.

    Examples
    --------
    >>> import stiction as st
    >>> mesh = st.solids.rectangle(2.0, 1.0, (1, 1))
    >>> st.solids.rotated(mesh).points.min(axis=0).tolist()
    [-2.0, -1.0]
    """
    return Mesh(-mesh.points, mesh.cells, mesh.boundaries)


# ---------------------------------------------------------------- shapes


def block(
    mapping: Callable[[Floats, Floats], tuple[Floats, Floats]],
    cells: tuple[int, int],
    xi: Floats | None = None,
    eta: Floats | None = None,
) -> Mesh:
    """Return a mapped unit square; boundaries bottom, right, top, left, counter-clockwise.

    Its cells have nine nodes.

    Parameters
    ----------
    mapping : (xi, eta) arrays -> (x, y) arrays [m], orientation preserving
    cells : numbers of cells along xi and along eta
    xi, eta : gradings, values from 0 to 1 at the ends of cells; None for equal cells

    Verified by: tests/unit/solids/mesh/test_model.py::test_areas_and_outward_normals
    """
    return _mapped(mapping, cells, ("block", xi, eta), ("xi", "eta"))


def _mapped(
    mapping: Callable[[Floats, Floats], tuple[Floats, Floats]],
    cells: tuple[int, int],
    gradings: tuple[str, Floats | None, Floats | None],
    names: tuple[str, str] = ("grading_x", "grading_y"),
) -> Mesh:
    """Return a `block`; messages name the function and the arguments of its caller.

    Nodes stand in 2 ny + 1 rows of 2 nx + 1, cells in ny rows of nx.

    Parameters
    ----------
    mapping, cells : as in `block`
    gradings : name of the calling function, and its two gradings
    names : of the arguments with these gradings
    """
    where, xi, eta = gradings
    nx, ny = _counts(f"{where}.cells", cells)
    lines_xi = refined(rising(f"{where}.{names[0]}", xi, nx))
    s, t = np.meshgrid(lines_xi, refined(rising(f"{where}.{names[1]}", eta, ny)))
    mapped = mapping(s, t)
    try:
        x, y = mapped
        x, y = np.broadcast_to(x, s.shape), np.broadcast_to(y, s.shape)
    except ValueError as error:
        why, try_ = "the mapping takes the unit square to the body.", "return x, y."
        needs = f"two arrays {s.shape}, x and y [m]"
        raise ModelError(f"{where}.mapping", str(error), needs, why, try_) from error
    points = np.stack([x, y], axis=-1)
    wide = 2 * nx + 1
    i, j = np.meshgrid(np.arange(nx), np.arange(ny))
    corner = (2 * j * wide + 2 * i).ravel()
    # from the first corner, in rows of `wide` nodes: corners, middles of edges, centre
    offsets = [0, 2, 2 * wide + 2, 2 * wide, 1, wide + 2, 2 * wide + 1, wide, wide + 1]
    nodes_of_cells = corner[:, None] + np.array(offsets)
    row, column = np.arange(nx), np.arange(ny)
    sides = {
        "bottom": np.stack([row, np.zeros_like(row)], axis=1),
        "right": np.stack([column * nx + nx - 1, np.ones_like(column)], axis=1),
        "top": np.stack([(ny - 1) * nx + row, np.full_like(row, 2)], axis=1)[::-1],
        "left": np.stack([column * nx, np.full_like(column, 3)], axis=1)[::-1],
    }
    return Mesh(points.reshape(-1, 2), nodes_of_cells, sides)


def rectangle(
    width: float,
    height: float,
    cells: tuple[int, int],
    origin: tuple[float, float] = (0.0, 0.0),
    grading_x: Floats | None = None,
    grading_y: Floats | None = None,
) -> Mesh:
    """Return a rectangle with its lower left corner at `origin` [m].

    Parameters
    ----------
    width, height : [m], > 0
    cells : how many along x and along y
    grading_x, grading_y : values from 0 to 1 at the ends of cells; None for equal cells
    """
    _extents("rectangle", width=width, height=height)
    why = "the lower left corner is at this point."
    x0, y0 = numbers("rectangle.origin", origin, size=2, unit="m", why=why, try_="give (0, 0).")
    gradings = "rectangle", grading_x, grading_y
    return _mapped(lambda s, t: (x0 + width * s, y0 + height * t), cells, gradings)


def cap(
    radius: float,
    height: float,
    half_width: float,
    cells: tuple[int, int],
    grading_x: Floats | None = None,
    grading_y: Floats | None = None,
) -> Mesh:
    """Return a body with flat base at y = 0 and a circular top, `height` high in the middle.

    Parameters
    ----------
    radius : of the top [m]
    height : in the middle [m]
    half_width : of the base [m]; the sides are vertical
    cells : how many along x and along y
    grading_x, grading_y : values from 0 to 1 at the ends of cells; None for equal cells

    Examples
    --------
    >>> import stiction as st
    >>> mesh = st.solids.cap(radius=10.0, height=2.0, half_width=3.0, cells=(6, 2))
    >>> float(mesh.points[:, 1].max()), len(mesh.cells)
    (2.0, 12)
    """
    _extents("cap", radius=radius, height=height, half_width=half_width)
    edge = height - radius + math.sqrt(max(radius * radius - half_width * half_width, 0.0))
    if half_width > radius or not edge > 0.0:
        why = "the circle must stay above the base over the whole width."
        # the circle meets the base at this half width, if its centre is not above the base
        meets = math.sqrt(max(height * (2.0 * radius - height), 0.0))
        needs = f"at most {radius:.6g}" if height > radius else f"less than {meets:.6g}"
        raise ModelError(
            "cap.half_width", half_width, f"{needs} [m]", why, "make the cap narrower."
        )

    def mapping(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        x = half_width * (2.0 * s - 1.0)
        # this form has no cancellation in the middle, where contact is
        drop = x * x / (radius + np.sqrt(radius * radius - x * x))
        return x, t * (height - drop)

    return _mapped(mapping, cells, ("cap", grading_x, grading_y))


def half_disc(
    radius: float,
    along: tuple[int, int],
    across: int,
    inner: float = 0.58,
    grading_arc: Floats | None = None,
    grading_across: Floats | None = None,
) -> Mesh:
    """Return the upper half of a disc: a rectangle inside a ring, boundaries "arc" and "base".

    Parameters
    ----------
    radius : [m]
    along : cells on the top of the inner rectangle, and on each of its sides
    across : cells of the ring
    inner : distance of the corners of the rectangle from the centre over the radius, below
        0.9, so that the ring has some thickness
    grading_arc : values from 0 to 1 at the ends of cells on the arc, from its right end; None for
        equal cells
    grading_across : values from 0 to 1 at the ends of cells across the ring, outward

    Verified by: tests/unit/solids/mesh/test_model.py::test_half_disc

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> mesh = st.solids.half_disc(radius=1.0, along=(4, 2), across=3)
    >>> bool(np.hypot(*mesh.points.T).max() <= 1.0 + 1e-15), sorted(mesh.boundaries)
    (True, ['arc', 'base'])
    """
    _extents("half_disc", radius=radius)
    why, try_ = "the corners of the rectangle lie inside the disc.", "give 0.58."
    number("half_disc.inner", inner, rule="positive", why=why, try_=try_)
    if not inner < _MOST_INNER:
        raise ModelError("half_disc.inner", inner, f"less than {_MOST_INNER}", why, try_)
    top, side = _counts("half_disc.along", along)
    why = "the ring has cells."
    across = whole("half_disc.across", across, least=1, why=why, try_="give 6.")
    parts = 2 * side + top
    fits("half_disc", parts * across + side * top, BYTES_OF_CELL, "give fewer cells.")
    graded_arc = rising("half_disc.grading_arc", grading_arc, parts)
    # both upper corners at one angle to the base: that of the nodes of the arc to which they are
    # connected, or the mean of the two angles if `grading_arc` is not symmetric
    corner = 0.5 * math.pi * float(graded_arc[side] + 1.0 - graded_arc[side + top])
    r = float(radius)
    a, b = inner * r * math.cos(corner), inner * r * math.sin(corner)
    ends = np.array([0.0, side, side + top, parts]) / parts
    xs, ys = np.array([a, a, -a, -a]), np.array([0.0, b, b, 0.0])

    def ring(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        # s runs along the arc from the right, t outward; sine and cosine keep mirror symmetry
        angle = np.pi * (np.interp(s, uniform(parts), graded_arc) - 0.5)
        x, y = -r * np.sin(angle), r * np.cos(angle)
        y = np.where((s == 0.0) | (s == 1.0), 0.0, y)
        x0, y0 = np.interp(s, ends, xs), np.interp(s, ends, ys)
        return (1.0 - t) * x0 + t * x, (1.0 - t) * y0 + t * y

    def flipped(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        return ring(t, s)

    graded_ring = rising("half_disc.grading_across", grading_across, across)
    outer = block(flipped, (across, parts), xi=graded_ring)
    middle = block(lambda s, t: (a * (2.0 * s - 1.0), b * t), (top, side))
    joined = merged([outer, middle])
    n = outer.cells.shape[0]
    first, last = outer.boundaries["bottom"], outer.boundaries["top"]
    base = np.concatenate([last, middle.boundaries["bottom"] + [n, 0], first])
    return Mesh(joined.points, joined.cells, {"arc": outer.boundaries["right"], "base": base})


def disc(
    radius: float,
    along: tuple[int, int],
    across: int,
    centre: Sequence[float] | Floats = (0.0, 0.0),
    inner: float = 0.58,
) -> Mesh:
    """Return a disc: a rectangle inside a ring, and the boundary "rim" all around.

    Parameters
    ----------
    radius : [m]
    along, across, inner : of each half, as in `half_disc`
    centre : [m]

    Verified by: tests/unit/solids/mesh/test_model.py::test_outlines_and_discs

    Examples
    --------
    >>> import stiction as st
    >>> mesh = st.solids.disc(radius=1.0, along=(4, 2), across=3, centre=(0.0, 1.0))
    >>> mesh.closes("rim"), len(mesh.boundaries["rim"])
    (True, 16)
    """
    upper = half_disc(radius, along, across, inner)
    rim = merged([upper, rotated(upper)]).outlined("rim")
    why = "the middle of the disc is at this point."
    at = numbers("disc.centre", centre, size=2, unit="m", why=why, try_="give (0, 0).")
    return rim.moved(at)


def merged(meshes: Sequence[Mesh]) -> Mesh:
    """Return the union of meshes; coincident nodes are united, and boundaries are dropped.

    Raises
    ------
    ModelError : if there is no mesh, if some have mid-nodes and others have not, or if cells
        overlap.

    Verified by: tests/unit/solids/mesh/test_model.py::test_merging_unites_nodes

    Examples
    --------
    >>> import stiction as st
    >>> left, right = (st.solids.rectangle(1.0, 1.0, (2, 2), origin=(x, 0.0)) for x in (0.0, 1.0))
    >>> len(left.points) + len(right.points) - len(st.solids.merged([left, right]).points)
    5
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    if not meshes or not all(isinstance(mesh, Mesh) for mesh in meshes):
        got, needs = repr(meshes), "at least one Mesh"
        why, try_ = "the meshes are the parts of the union.", "give merged([left, right])."
        raise ModelError("merged", got, needs, why, try_)
    if len({mesh.cells.shape[1] for mesh in meshes}) != 1:
        why = "cells that meet share all nodes of an edge."
        got, needs = "meshes with and without middle nodes", "meshes of one kind"
        raise ModelError(
            "merged", got, needs, why, "read all meshes with middle nodes, or all without."
        )
    points = np.concatenate([mesh.points for mesh in meshes])
    shift = np.cumsum([0, *(mesh.points.shape[0] for mesh in meshes)])
    cells = np.concatenate(
        [
            np.where(mesh.cells < 0, -1, mesh.cells + s)
            for mesh, s in zip(meshes, shift, strict=False)
        ]
    )
    # a tree finds coincident nodes within a tolerance; rounded coordinates may differ
    tolerance = 1e-10 * float(np.ptp(points, axis=0).max())
    pairs = cKDTree(points).query_pairs(tolerance, output_type="ndarray")
    n = points.shape[0]
    graph = coo_matrix((np.ones(pairs.shape[0]), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, place = connected_components(graph, directed=False)
    _, first, back = np.unique(place, return_index=True, return_inverse=True)
    merged_node = back.ravel()
    return Mesh(points[first], np.where(cells < 0, -1, merged_node[cells]), {})


def _extents(where: str, **values: float) -> None:
    """Raise ModelError unless all lengths are positive."""
    for name, value in values.items():
        why = "a body has a positive extent."
        number(f"{where}.{name}", value, rule="positive", unit="m", why=why, try_="give 1.")


def _counts(where: str, cells: object) -> tuple[int, int]:
    """Return two numbers of cells after checking them."""
    why, try_ = "the cells are counted along two directions.", "give (20, 5)."
    if not isinstance(cells, (tuple, list, np.ndarray)) or len(cells) != 2:
        raise ModelError(where, repr(cells), "two whole numbers", why, try_)
    nx, ny = (whole(where, value, least=1, why=why, try_=try_) for value in cells)
    fits(where, nx * ny, BYTES_OF_CELL, try_)
    return nx, ny
