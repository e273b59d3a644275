"""Meshes of quadrilaterals with named boundaries, and the shapes of the examples.

A cell has four corners, counter-clockwise, or nine nodes: corners, the middles of the edges
0-1, 1-2, 2-3, 3-0, and the centre. Edge k goes from corner k to corner k + 1, so that the
body's outside lies to its right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain, nearest
from stiction.numerics.checks import Record, number, whole

__all__ = [
    "Mesh",
    "block",
    "cap",
    "graded",
    "half_disc",
    "merged",
    "rectangle",
    "rotated",
    "uniform",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


@dataclass(frozen=True, eq=False)
class Mesh(Record):
    """Quadrilaterals and named boundaries.

    Parameters
    ----------
    points : (n, 2) places of the nodes [m]
    cells : (c, 4) or (c, 9) nodes of each cell, counter-clockwise
    boundaries : name -> (k, 2) cell and edge of each piece, in order along the boundary

    Verified by: tests/unit/solids/test_mesh.py::test_areas_and_outward_normals
    """

    points: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    cells: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    boundaries: Mapping[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        points = np.ascontiguousarray(np.asarray(self.points, dtype=np.float64))
        cells = np.ascontiguousarray(np.asarray(self.cells, dtype=np.int64))
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "cells", cells)
        self._check_shapes()
        made = {}
        for name, pieces in dict(self.boundaries).items():
            made[name] = np.asarray(pieces, dtype=np.int64).reshape(-1, 2)
        object.__setattr__(self, "boundaries", made)
        self._check_cells()
        for name in made:
            self._check_chain(name)

    # ------------------------------------------------------------ checks

    def _check_shapes(self) -> None:
        points, cells = self.points, self.cells
        if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
            got = f"points of shape {points.shape}, {int((~np.isfinite(points)).sum())} not finite"
            why = "a node has two coordinates."
            try_ = "look at the file or the mapping that made them."
            raise ModelError(explain("Mesh.points", got, "finite numbers (n, 2) [m]", why, try_))
        if cells.ndim != 2 or cells.shape[1] not in (4, 9) or cells.shape[0] == 0:
            why = "cells are quadrilaterals."
            try_ = "split triangles in three quadrilaterals, or mesh with quadrilaterals."
            needs = "nodes (c, 4) or (c, 9) of at least one cell"
            raise ModelError(explain("Mesh.cells", f"an array {cells.shape}", needs, why, try_))
        if cells.min() < 0 or cells.max() >= points.shape[0]:
            why = "cells refer to nodes by number."
            got = f"node numbers from {cells.min()} to {cells.max()}"
            needs = f"numbers from 0 to {points.shape[0] - 1}"
            raise ModelError(explain("Mesh.cells", got, needs, why, "count nodes from 0."))

    def _check_cells(self) -> None:
        corners = self.points[self.cells[:, :4]]
        size = np.ptp(self.points, axis=0).max()
        for k in range(4):
            a = corners[:, (k + 1) % 4] - corners[:, k]
            b = corners[:, (k + 3) % 4] - corners[:, k]
            area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
            wrong = np.flatnonzero(~(area > 1e-14 * size**2))
            if wrong.size:
                at = corners[wrong[0]].mean(axis=0)
                got = f"{wrong.size} inverted or flat cells, the first is number {wrong[0]} "
                got += f"near ({at[0]:.6g}, {at[1]:.6g})"
                why = "corners are counted counter-clockwise, with angles below 180 degrees."
                try_ = "turn the order of its nodes, or repair the mesh."
                needs = "cells with positive area at every corner"
                raise ModelError(explain("Mesh.cells", got, needs, why, try_))
        self._check_hanging()

    def _check_hanging(self) -> None:
        """Refuse two nodes at one place: pieces of the body would not hold together."""
        used = np.unique(self.cells[:, :4])
        size = np.ptp(self.points, axis=0).max()
        rounded = np.round(self.points[used] / (1e-9 * size)).astype(np.int64)
        _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
        twice = np.flatnonzero(counts > 1)
        if twice.size:
            at = self.points[used[first[twice[0]]]]
            got = f"{twice.size} places with two nodes, the first near ({at[0]:.6g}, {at[1]:.6g})"
            why = "cells that do not share their nodes do not hold together."
            needs, try_ = "one node per place", "merge the nodes."
            raise ModelError(explain("Mesh.points", got, needs, why, try_))

    def _check_chain(self, name: str) -> None:
        pieces = self.boundaries[name]
        where = f"Mesh.boundaries[{name!r}]"
        if pieces.size == 0:
            why, try_ = "a boundary is made of edges of cells.", "leave it out."
            raise ModelError(explain(where, "no edges", "at least one", why, try_))
        inside = (pieces[:, 0] >= 0) & (pieces[:, 0] < self.cells.shape[0])
        inside &= (pieces[:, 1] >= 0) & (pieces[:, 1] < 4)
        if not inside.all():
            why, try_ = "an edge belongs to a cell.", "count cells and edges from 0."
            got = f"cell and edge {tuple(int(v) for v in pieces[~inside][0])}"
            raise ModelError(explain(where, got, "cells and edges 0 to 3 of the mesh", why, try_))
        ends = self.edge_nodes(name)[:, :2]
        if not (ends[1:, 0] == ends[:-1, 1]).all():
            k = int(np.flatnonzero(ends[1:, 0] != ends[:-1, 1])[0])
            why = "a boundary is one chain of edges, the body to its left."
            got = f"an edge {k + 2} that does not begin where edge {k + 1} ends"
            raise ModelError(explain(where, got, "edges in order", why, "sort the edges."))

    # ------------------------------------------------------------ what it knows

    def boundary(self, name: str) -> Ints:
        """Return the pieces (k, 2) of a boundary.

        Raises
        ------
        ModelError : if there is none of that name.
        """
        if name not in self.boundaries:
            why = "contacts and conditions refer to boundaries by name."
            needs = "one of " + (", ".join(sorted(self.boundaries)) or "none: the mesh has none")
            try_ = nearest(name, self.boundaries) if self.boundaries else "name boundaries."
            raise ModelError(explain("boundary", repr(name), needs, why, try_))
        return self.boundaries[name]

    def edge_nodes(self, name: str) -> Ints:
        """Return first, last and, with nine nodes, middle node of every edge, (k, 2 or 3)."""
        pieces = self.boundary(name)
        cell, edge = pieces[:, 0], pieces[:, 1]
        ends = np.stack([self.cells[cell, edge], self.cells[cell, (edge + 1) % 4]], axis=1)
        if self.cells.shape[1] == 9:
            ends = np.concatenate([ends, self.cells[cell, 4 + edge][:, None]], axis=1)
        return ends

    def split(self, name: str, count: int, first: str, second: str) -> Mesh:
        """Return the mesh with a boundary cut in two after `count` edges, under new names."""
        pieces = self.boundary(name)
        rest = {key: value for key, value in self.boundaries.items() if key != name}
        rest[first] = pieces[:count]
        if count < pieces.shape[0]:
            rest[second] = pieces[count:]
        return Mesh(self.points, self.cells, rest)

    def moved(self, shift: tuple[float, float]) -> Mesh:
        """Return the mesh, shifted [m]."""
        return Mesh(self.points + np.asarray(shift), self.cells, self.boundaries)


def rotated(mesh: Mesh) -> Mesh:
    """Return the mesh turned by half a turn about the origin, exactly."""
    return Mesh(-mesh.points, mesh.cells, mesh.boundaries)


# ---------------------------------------------------------------- gradings


def uniform(n: int) -> Floats:
    """Return n + 1 values from 0 to 1 in equal steps."""
    whole("uniform.n", n, least=1, why="there is at least one cell.", try_="give 10.")
    return np.linspace(0.0, 1.0, n + 1)


def graded(n: int, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1 in steps that grow by `ratio` from first to last.

    Verified by: tests/unit/solids/test_mesh.py::test_gradings
    """
    whole("graded.n", n, least=1, why="there is at least one cell.", try_="give 10.")
    why = "it is the last step over the first."
    r = number("graded.ratio", ratio, rule="positive", why=why, try_="give 5.")
    steps = r ** (np.arange(n) / max(n - 1, 1))
    return np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])


def dense_between(n: int, low: float, high: float, ratio: float) -> Floats:
    """Return n + 1 values from 0 to 1, `ratio` times finer between low and high than far away.

    The change is smooth: steps follow 1 / (1 + (ratio - 1) bump), a bump of width high - low.
    """
    t = np.linspace(0.0, 1.0, 20 * n + 1)
    width = 0.15 * max(high - low, 1e-3) + 1e-3
    inside = 0.5 * (np.tanh((t - low) / width) - np.tanh((t - high) / width))
    density = 1.0 + (ratio - 1.0) * inside
    total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    values = np.interp(np.linspace(0.0, total[-1], n + 1), total, t)
    # the same from both sides, so that symmetric bodies get symmetric meshes
    if abs(low + high - 1.0) < 1e-12:
        values = 0.5 * (values + 1.0 - values[::-1])
    return np.asarray(values)


def _rising(name: str, values: Floats, n: int) -> Floats:
    v = np.asarray(values, dtype=np.float64)
    if v.shape != (n + 1,) or not np.isfinite(v).all() or not (np.diff(v) > 0.0).all():
        why = "cells lie between these values."
        needs, try_ = f"{n + 1} rising values", "leave it out for equal cells."
        raise ModelError(explain(name, f"{v.size} values", needs, why, try_))
    return v


def _refined(values: Floats) -> Floats:
    """Return the values with the middles between them."""
    out = np.empty(2 * values.size - 1)
    out[::2] = values
    out[1::2] = 0.5 * (values[1:] + values[:-1])
    return out


# ---------------------------------------------------------------- shapes


def block(
    mapping: Callable[[Floats, Floats], tuple[Floats, Floats]],
    cells: tuple[int, int],
    xi: Floats | None = None,
    eta: Floats | None = None,
) -> Mesh:
    """Return a mapped unit square; boundaries bottom, right, top, left, counter-clockwise.

    Parameters
    ----------
    mapping : (xi, eta) arrays -> (x, y) arrays [m], keeping the orientation
    cells : how many along xi and along eta
    xi, eta : values from 0 to 1 between the cells; equal cells when None

    Verified by: tests/unit/solids/test_mesh.py::test_areas_and_outward_normals
    """
    nx, ny = (int(v) for v in cells)
    for value in (nx, ny):
        whole("cells", value, least=1, why="a body has cells.", try_="give (20, 5).")
    a = _refined(uniform(nx) if xi is None else _rising("xi", xi, nx))
    b = _refined(uniform(ny) if eta is None else _rising("eta", eta, ny))
    s, t = np.meshgrid(a, b)
    x, y = mapping(s, t)
    points = np.stack([np.broadcast_to(x, s.shape), np.broadcast_to(y, s.shape)], axis=-1)
    wide = 2 * nx + 1
    i, j = np.meshgrid(np.arange(nx), np.arange(ny))
    corner = (2 * j * wide + 2 * i).ravel()
    at = [0, 2, 2 * wide + 2, 2 * wide, 1, wide + 2, 2 * wide + 1, wide, wide + 1]
    made = corner[:, None] + np.array(at)
    row, column = np.arange(nx), np.arange(ny)
    sides = {
        "bottom": np.stack([row, np.zeros_like(row)], axis=1),
        "right": np.stack([column * nx + nx - 1, np.ones_like(column)], axis=1),
        "top": np.stack([(ny - 1) * nx + row, np.full_like(row, 2)], axis=1)[::-1],
        "left": np.stack([column * nx, np.full_like(column, 3)], axis=1)[::-1],
    }
    return Mesh(points.reshape(-1, 2), made, sides)


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
    grading_x, grading_y : values from 0 to 1 between the cells; equal cells when None
    """
    for name, value in (("width", width), ("height", height)):
        why = "a body has an extent."
        number(f"rectangle.{name}", value, rule="positive", unit="m", why=why, try_="give 1.")
    x0, y0 = origin
    return block(lambda s, t: (x0 + width * s, y0 + height * t), cells, grading_x, grading_y)


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
    grading_x, grading_y : values from 0 to 1 between the cells; equal cells when None
    """
    for name, value in (("radius", radius), ("height", height), ("half_width", half_width)):
        why = "a body has an extent."
        number(f"cap.{name}", value, rule="positive", unit="m", why=why, try_="give 10.")
    edge = height - radius + math.sqrt(max(radius**2 - half_width**2, 0.0))
    if half_width > radius or edge <= 0.0:
        why = "the circle must stay above the base over the whole width."
        least = math.sqrt(max(radius**2 - (radius - height) ** 2, 0.0))
        needs = f"less than {min(least, radius):.6g} [m]"
        raise ModelError(explain("cap.half_width", half_width, needs, why, "make it narrower."))

    def mapping(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        x = half_width * (2.0 * s - 1.0)
        # written so that the middle, where bodies touch, is free of cancellation
        drop = x * x / (radius + np.sqrt(radius * radius - x * x))
        return x, t * (height - drop)

    return block(mapping, cells, grading_x, grading_y)


def half_disc(radius: float, along: tuple[int, int], across: int, inner: float = 0.45) -> Mesh:
    """Return the upper half of a disc: a rectangle inside a ring, boundaries "arc" and "base".

    Parameters
    ----------
    radius : [m]
    along : cells on the top of the inner rectangle, and on each of its sides
    across : cells of the ring
    inner : half width of the rectangle over the radius

    Verified by: tests/unit/solids/test_mesh.py::test_half_disc
    """
    why = "a body has an extent."
    r = number("half_disc.radius", radius, rule="positive", unit="m", why=why, try_="give 1.")
    top, side = (int(v) for v in along)
    a, b = inner * r, 0.8 * inner * r
    parts = 2 * side + top
    ends = np.array([0.0, side, side + top, parts]) / parts
    xs, ys = np.array([a, a, -a, -a]), np.array([0.0, b, b, 0.0])

    def ring(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        # s runs along the arc from the right, t outward; sine and cosine keep mirror symmetry
        angle = np.pi * (s - 0.5)
        x, y = -r * np.sin(angle), r * np.cos(angle)
        y = np.where((s == 0.0) | (s == 1.0), 0.0, y)
        x0, y0 = np.interp(s, ends, xs), np.interp(s, ends, ys)
        return (1.0 - t) * x0 + t * x, (1.0 - t) * y0 + t * y

    def flipped(s: Floats, t: Floats) -> tuple[Floats, Floats]:
        return ring(t, s)

    outer = block(flipped, (int(across), parts))
    middle = block(lambda s, t: (a * (2.0 * s - 1.0), b * t), (top, side))
    joined = merged([outer, middle])
    n = outer.cells.shape[0]
    first, last = outer.boundaries["bottom"], outer.boundaries["top"]
    base = np.concatenate([last, middle.boundaries["bottom"] + [n, 0], first])
    return Mesh(joined.points, joined.cells, {"arc": outer.boundaries["right"], "base": base})


def merged(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one, nodes at one place made one; without boundaries."""
    points = np.concatenate([mesh.points for mesh in meshes])
    shift = np.cumsum([0, *(mesh.points.shape[0] for mesh in meshes)])
    cells = np.concatenate([mesh.cells + s for mesh, s in zip(meshes, shift, strict=False)])
    size = np.ptp(points, axis=0).max()
    rounded = np.round(points / (1e-10 * size)).astype(np.int64)
    _, first, back = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return Mesh(points[first], back.ravel()[cells], {})
