"""Nearest points on contact boundaries, of rational Bezier pieces: walks along them.

The number m of coordinates of a boundary is a constant of each kernel.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.arrays import Surface
from stiction.solids.contact.curves import Pieces, rows_of
from stiction.solids.dimensions import bends, bends_kernel, solve, solve_kernel

__all__ = ["basis_kernel", "bernstein", "nearest_kernel", "place_kernel", "points_kernel"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_PROJECTION_STEPS, _PATIENCE = 60, 20
# steps of a coordinate that is found, that counts as found, and of a corner that is normal
_FOUND, _NEARLY, _CORNER = 1e-14, 1e-10, 1e-9
# what holds a coordinate at a side: nothing, the end of the boundary, an edge that it turns at
_FREE, _END, _EDGE = 0, 1, 2


@kernel
def bernstein(xi: float, p: int, b: Matrix) -> None:
    """Fill in the Bernstein polynomials of degree p <= 3 on [-1, 1] and two derivatives, (3, p+1).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_bernstein
    """
    t, s = 0.5 * (1.0 + xi), 0.5 * (1.0 - xi)
    if p == 1:
        b[0, 0], b[0, 1] = s, t
        b[1, 0], b[1, 1] = -0.5, 0.5
        b[2, 0] = b[2, 1] = 0.0
    elif p == 2:
        b[0, 0], b[0, 1], b[0, 2] = s * s, 2.0 * s * t, t * t
        b[1, 0], b[1, 1], b[1, 2] = -s, s - t, t
        b[2, 0], b[2, 1], b[2, 2] = 0.5, -1.0, 0.5
    else:
        b[0, 0], b[0, 1], b[0, 2], b[0, 3] = s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t
        b[1, 0], b[1, 1] = -1.5 * s * s, 1.5 * s * (s - 2.0 * t)
        b[1, 2], b[1, 3] = 1.5 * t * (2.0 * s - t), 1.5 * t * t
        b[2, 0], b[2, 1] = 1.5 * s, 1.5 * (t - 2.0 * s)
        b[2, 2], b[2, 3] = 1.5 * (s - 2.0 * t), 1.5 * t


@functools.cache
def basis_kernel(m: int) -> Any:
    """Return the kernel for the functions of an element at xi and two derivatives, f (rows, n).

    `b` is scratch: (rows, b) of products, then (3, 4) for each coordinate in rows of their own.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rational_basis
    """
    rows = len(rows_of(m).orders)
    # derivatives by either coordinate in each row, and the rows of second ones
    first = tuple(order[0] for order in rows_of(m).orders)
    other = tuple(order[-1] for order in rows_of(m).orders)
    pairs = rows_of(m).pairs

    @kernel
    def basis(
        xi: Vector,
        e: int,
        extraction: Stack,
        weights: Matrix,
        degrees: Ints,
        b: Matrix,
        f: Matrix,
    ) -> None:
        n, width = extraction.shape[1], extraction.shape[2]
        bernstein(xi[0], degrees[0], b)
        if m > 1:
            bernstein(xi[0], degrees[0], b[rows:])
            bernstein(xi[m - 1], degrees[m - 1], b[rows + 3 :])
            one = degrees[0] + 1
            for r in range(rows):
                for k in range(width):
                    b[r, k] = b[rows + first[r], k % one] * b[rows + 3 + other[r], k // one]
        for i in range(n):
            for r in range(rows):
                total = 0.0
                for k in range(width):
                    total += extraction[e, i, k] * b[r, k]
                f[r, i] = total * weights[e, i]
        for r in range(rows):
            # sums of weighted functions, behind the products
            total = 0.0
            for i in range(n):
                total += f[r, i]
            b[r, 0] = total
        for i in range(n):
            f[0, i] = f[0, i] / b[0, 0]
            for a in range(1, m + 1):
                f[a, i] = (f[a, i] - f[0, i] * b[a, 0]) / b[0, 0]
            for r, p, q in pairs:
                if p == q:
                    rest = f[r, i] - 2.0 * f[1 + p, i] * b[1 + p, 0]
                else:
                    rest = f[r, i] - f[1 + p, i] * b[1 + q, 0] - f[1 + q, i] * b[1 + p, 0]
                f[r, i] = (rest - f[0, i] * b[r, 0]) / b[0, 0]

    return basis


@functools.cache
def place_kernel(m: int) -> Any:
    """Return the kernel for the point of an element, tangents and their changes, (rows, d)."""
    rows, d = len(rows_of(m).orders), m + 1

    @kernel
    def place(e: int, nodes: Ints, f: Matrix, x: Matrix, out: Matrix) -> None:
        for k in range(rows):
            for p in range(d):
                total = 0.0
                for i in range(nodes.shape[1]):
                    total += f[k, i] * x[nodes[e, i], p]
                out[k, p] = total

    return place


def _pieces(
    nodes: Ints, extraction: Floats, weights: Floats, neighbours: Ints, degrees: Ints
) -> Pieces:
    none = np.zeros((0, 0, 0))
    known = Surface(nodes, extraction, weights, neighbours, none, none, none, none)
    return Pieces(known._replace(degrees=tuple(int(k) for k in degrees)))


def _points_plain(
    elements: Ints,
    xis: Floats,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    neighbours: Ints,
    degrees: Ints,
    x: Floats,
    functions: Floats,
    places: Floats,
) -> None:
    pieces = _pieces(nodes, extraction, weights, neighbours, degrees)
    functions[...], places[...] = pieces.points(elements, xis.T, x)


@functools.cache
def points_kernel(m: int) -> Any:
    """Return the kernel that fills in functions (rows, n, p) and places with changes (rows, d, p).

    Its first arguments are elements (p,) and xis (p, m); then come arrays of the boundary, the
    degrees (m,) and places x (nodes, d).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_points_of_a_curve
    """
    rows = len(rows_of(m).orders)
    basis, place = basis_kernel(m), place_kernel(m)

    @kernel(allocates=True, plain=_points_plain)
    def points(
        elements: Ints,
        xis: Matrix,
        nodes: Ints,
        extraction: Stack,
        weights: Matrix,
        neighbours: Ints,
        degrees: Ints,
        x: Matrix,
        functions: Stack,
        places: Stack,
    ) -> None:
        n = nodes.shape[1]
        f, out = np.empty((rows, n)), np.empty((rows, m + 1))
        b = np.empty((rows + 6, max(extraction.shape[2], 4)))
        for q in range(elements.size):
            basis(xis[q], elements[q], extraction, weights, degrees, b, f)
            place(elements[q], nodes, f, x, out)
            for k in range(rows):
                for i in range(n):
                    functions[k, i, q] = f[k, i]
                for p in range(m + 1):
                    places[k, p, q] = out[k, p]

    return points


@functools.cache
def _step_kernel(m: int) -> Any:
    """Return the kernel for one step of Newton's method on the squared distance.

    It takes a point on the boundary and leaves the step (m,), zero for what is held: where that
    would go back inside, it lets go. It returns the largest part of the step. With a share of 1/2
    what bends the distance less than half as much as a plane is taken for one.
    """
    d, pairs = m + 1, rows_of(m).pairs
    solves, bent = solve_kernel(m), bends_kernel(m)

    @kernel
    def step(
        point: Vector, out: Matrix, xi: Vector, held: Ints, share: float, h: Stack, way: Vector
    ) -> float:
        for r, a, b in pairs:
            near = turns = 0.0
            for p in range(d):
                near += out[1 + a, p] * out[1 + b, p]
                turns += (out[0, p] - point[p]) * out[r, p]
            h[0, a, b] = h[0, b, a] = near
            h[1, a, b] = h[1, b, a] = near + turns
            h[2, a, b] = h[2, b, a] = turns + share * near
        for a in range(m):
            slope = 0.0
            for p in range(d):
                slope += (out[0, p] - point[p]) * out[1 + a, p]
            way[a] = -slope
        used = 1 if bent(h[2]) else 0
        for a in range(m):
            if held[a] != _FREE:
                if way[a] * xi[a] < 0.0:
                    held[a] = _FREE
                    continue
                way[a] = 0.0
                for b in range(m):
                    h[used, a, b] = h[used, b, a] = 0.0
                h[used, a, a] = 1.0
        solves(h[used], way)
        size = 0.0
        for a in range(m):
            size = max(size, abs(way[a]))
        return size

    return step


@functools.cache
def _walk_kernel(m: int) -> Any:
    """Return the kernel that improves one element and xi (m,), and tells whether it is normal.

    Newton's method on the squared distance from a first guess, from element to element; a
    step never goes uphill, one back is at most half as long as the one before it, and the number
    of steps is bounded. `held` (m,) and the stacks and vectors behind it are scratch.

    Source: Mergel, Scheibert, Sauer 2021, eq. (7).
    """
    basis, place, steps = basis_kernel(m), place_kernel(m), _step_kernel(m)

    @kernel
    def walk(
        point: Vector,
        element: int,
        xi: Vector,
        boundary: Any,
        x: Matrix,
        held: Ints,
        scratch: Any,
    ) -> tuple[int, bool]:
        nodes, extraction, weights, neighbours, degrees = boundary
        f, b, out, h, way, moved = scratch
        came, size = -1, 0.0
        for a in range(m):
            held[a], moved[a] = _FREE, 0.0
        across, last = 0, 0.0
        for number in range(_PROJECTION_STEPS):
            # near a centre of curvature the steps of a plane are too short by far
            share = 0.5 if number < _PATIENCE else 1.0
            basis(xi, element, extraction, weights, degrees, b, f)
            place(element, nodes, f, x, out)
            size = steps(point, out, xi, held, share, h, way)
            if size <= _FOUND:
                for a in range(m):
                    if held[a] == _END or (held[a] == _EDGE and last > _CORNER):
                        return element, False
                return element, True
            leaves = False
            for a in range(m):
                up = way[a] > 0.0
                if leaves or abs(way[a]) <= _FOUND:
                    continue
                if (up and xi[a] >= 1.0) or (not up and xi[a] <= -1.0):
                    leaves = True
                    after = neighbours[element, 2 * a + (1 if up else 0)]
                    if after < 0:
                        held[a] = _END
                    elif after == came:
                        # an edge that is nearest from both sides
                        held[a], last = _EDGE, abs(way[a])
                    else:
                        came, element, across = element, after, a
                        xi[a] = -1.0 if up else 1.0
            if leaves:
                continue
            for a in range(m):
                # where curvature changes much, whole steps would go there and back for ever
                if way[a] * moved[a] < 0.0 and abs(way[a]) > 0.5 * abs(moved[a]):
                    way[a] = -0.5 * moved[a]
                began = xi[a]
                xi[a] = min(1.0, max(-1.0, began + way[a]))
                moved[a] = xi[a] - began
            if abs(xi[across]) < 1.0:
                came = -1
        return element, size <= _NEARLY

    return walk


def _nearest_plain(
    points: Floats,
    elements: Ints,
    xis: Floats,
    normal: Bools,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    neighbours: Ints,
    degrees: Ints,
    x: Floats,
) -> None:
    """Walk with all points at once, each as the kernel does."""
    pieces = _pieces(nodes, extraction, weights, neighbours, degrees)
    count, m = xis.shape
    going, came, size = np.arange(count), np.full(count, -1), np.zeros(count)
    across, last = np.zeros(count, dtype=np.int64), np.zeros(count)
    held, way_before = np.full((m, count), _FREE), np.zeros((m, count))
    for number in range(_PROJECTION_STEPS):
        if not going.size:
            return
        share = 0.5 if number < _PATIENCE else 1.0
        e, xi = elements[going], xis[going].T.copy()
        out = pieces.points(e, xi, x)[1]
        free = held[:, going]
        way = _step_plain(points[going].T, out, xi, free, share)
        size[going] = np.abs(way).max(axis=0)
        done = size[going] <= _FOUND
        bad = (free == _END) | ((free == _EDGE) & (last[going] > _CORNER))
        normal[going[done]] = ~bad.any(axis=0)[done]
        leaves = done.copy()
        for a in range(m):
            up = way[a] > 0.0
            out_of = ~leaves & (np.abs(way[a]) > _FOUND)
            out_of &= np.where(up, xi[a] >= 1.0, xi[a] <= -1.0)
            leaves |= out_of
            after = neighbours[e, 2 * a + up]
            end, edge = out_of & (after < 0), out_of & (after >= 0) & (after == came[going])
            free[a, end], free[a, edge] = _END, _EDGE
            last[going[edge]] = np.abs(way[a, edge])
            over = out_of & ~end & ~edge
            come = going[over]
            came[come], elements[come], across[come] = e[over], after[over], a
            xis[come, a] = np.where(up[over], -1.0, 1.0)
        held[:, going] = free
        stays = ~leaves
        moved = going[stays]
        before = way_before[:, going]
        back = (way * before < 0.0) & (np.abs(way) > 0.5 * np.abs(before))
        way = np.where(back, -0.5 * before, way)
        xis[moved] = np.minimum(1.0, np.maximum(-1.0, (xi + way)[:, stays])).T
        way_before[:, moved] = xis[moved].T - xi[:, stays]
        came[moved[np.abs(xis[moved, across[moved]]) < 1.0]] = -1
        going = going[~done]
    normal[going] = size[going] <= _NEARLY


def _step_plain(points: Floats, out: Floats, xi: Floats, held: Ints, share: float) -> Floats:
    """Return one step (m, p) of each point, and let go of what would go back inside."""
    m = xi.shape[0]
    away = out[0] - points
    near, turns, way = np.empty((m, m, xi.shape[1])), np.empty((m, m, xi.shape[1])), xi * 0.0
    for r, a, b in rows_of(m).pairs:
        near[a, b] = near[b, a] = _dot(out[1 + a], out[1 + b])
        turns[a, b] = turns[b, a] = _dot(away, out[r])
    for a in range(m):
        way[a] = -_dot(away, out[1 + a])
    h = np.where(bends(turns + share * near), near + turns, near)
    held[(held != _FREE) & (way * xi < 0.0)] = _FREE
    for a in range(m):
        stays = held[a] != _FREE
        way[a, stays], h[a, :, stays], h[:, a, stays] = 0.0, 0.0, 0.0
        h[a, a, stays] = 1.0
    return solve(h, way)


def _dot(a: Floats, b: Floats) -> Floats:
    total = a[0] * b[0]
    for p in range(1, a.shape[0]):
        total = total + a[p] * b[p]
    return np.asarray(total)


@functools.cache
def nearest_kernel(m: int) -> Any:
    """Return the kernel that improves every point's nearest point, in place.

    Its arguments are points (p, d), first guesses of elements (p,), xis (p, m) and whether the
    line to it is normal (p,), then the arrays of the boundary, degrees (m,) and x (nodes, d).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
    """
    walk, rows, d = _walk_kernel(m), len(rows_of(m).orders), m + 1

    @kernel(allocates=True, plain=_nearest_plain)
    def nearest(
        points: Matrix,
        elements: Ints,
        xis: Matrix,
        normal: Bools,
        nodes: Ints,
        extraction: Stack,
        weights: Matrix,
        neighbours: Ints,
        degrees: Ints,
        x: Matrix,
    ) -> None:
        boundary = (nodes, extraction, weights, neighbours, degrees)
        b = np.empty((rows + 6, max(extraction.shape[2], 4)))
        f, out = np.empty((rows, nodes.shape[1])), np.empty((rows, d))
        scratch = (f, b, out, np.empty((3, m, m)), np.empty(m), np.empty(m))
        held = np.zeros(m, dtype=np.int64)
        for q in range(points.shape[0]):
            elements[q], normal[q] = walk(
                points[q], elements[q], xis[q], boundary, x, held, scratch
            )

    return nearest
