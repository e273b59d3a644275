"""Kernels for points of rational Bezier boundaries and for closest-point projections onto them.

The projection of a point x_k minimises |x_k - x(xi)|^2 / 2 by Newton's method, from element to
element of the boundary: H d xi = r . x_,a with r = x_k - x and H_ab = x_,a . x_,b - r . x_,ab. The
number m of coordinates of a boundary is a constant of each kernel.

`ContactPass.closest_from` and `.partner_at` call the kernels. The arrays nodes (s, n), extraction
(s, n, b), weights (s, n) and neighbours (s, 2 m) are those of `arrays.Surface`; degrees (m,) are
those of its polynomials. Functions of a point are (rows, n) and places (rows, d), with the rows of
`curves.derivative_layout`. Functions `_..._plain` do the same for all points at once, in NumPy.

E_ab is the extraction and w_a the rational weights of an element, B_b are Bernstein polynomials. A
boundary has s elements of n functions, each a sum of b Bernstein polynomials; there are d
components.

Source: Mergel, Scheibert, Sauer 2021, eq. (7).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.arrays import Surface
from stiction.solids.contact.curves import RationalBoundary, derivative_layout
from stiction.solids.dimensions import (
    positive_definite,
    positive_definite_kernel,
    solve,
    solve_kernel,
)

__all__ = ["basis_kernel", "bernstein", "closest_point_kernel", "place_kernel", "points_kernel"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# largest number of Newton steps of a projection; number of first steps that use the Hessian only if
# it exceeds half the metric, later ones wherever it is positive definite. Chosen
_PROJECTION_STEPS, _CAUTIOUS_STEPS = 60, 20
# change of xi at convergence, some 50 roundings; change that is accepted after the last step;
# change across an edge below which the line to it counts as normal. The last two were chosen
_CONVERGED, _ACCEPTED, _CORNER = 1e-14, 1e-10, 1e-9
# constraint of a coordinate: none, at the end of the boundary, at an edge that is a minimum
_FREE, _END, _EDGE = 0, 1, 2
# matrices (m, m) of a Newton step: x_,a . x_,b; the Hessian; the matrix whose positive definiteness
# decides between them
_METRIC, _HESSIAN, _SHIFTED = range(3)


@kernel
def bernstein(xi: float, p: int, b: Matrix) -> None:
    """Fill in the Bernstein polynomials of degree p <= 3 on [-1, 1] and two derivatives, (3, p+1).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_bernstein
    """
    # on [-1, 1] the derivative by xi is half of that by t
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
    """Return the kernel for rational functions of an element and two derivatives, f (rows, n).

    Its arguments are xi (m,), the number e of the element, extraction, weights and degrees of the
    boundary, then b and f. `b` is scratch: (rows, b) of products, then (3, 4) for each coordinate.
    f_a = w_a sum_b E_ab B_b / sum_c w_c sum_b E_cb B_b, with its derivatives by the quotient rule.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rational_basis
    """
    rows = len(derivative_layout(m).orders)
    # order of the derivative by either coordinate in each row, and rows of second derivatives
    first = tuple(order[0] for order in derivative_layout(m).orders)
    other = tuple(order[-1] for order in derivative_layout(m).orders)
    pairs = derivative_layout(m).pairs

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
        # in the plane the polynomials themselves; in space their products, the first coordinate
        # runs fastest
        bernstein(xi[0], degrees[0], b)
        if m > 1:
            bernstein(xi[0], degrees[0], b[rows:])
            bernstein(xi[m - 1], degrees[m - 1], b[rows + 3 :])
            one = degrees[0] + 1
            for r in range(rows):
                for k in range(width):
                    b[r, k] = b[rows + first[r], k % one] * b[rows + 3 + other[r], k // one]
        # numerators w_i sum_k E_ik B_k of eq-so-extraction in docs/theory/solids
        for i in range(n):
            for r in range(rows):
                total = 0.0
                for k in range(width):
                    total += extraction[e, i, k] * b[r, k]
                f[r, i] = total * weights[e, i]
        for r in range(rows):
            # the denominator W = sum_i f_i and its derivatives
            total = 0.0
            for i in range(n):
                total += f[r, i]
            b[r, 0] = total
        # R = f / W by the quotient rule: R' = (f' - R W') / W, and so on
        for i in range(n):
            f[0, i] = f[0, i] / b[0, 0]
            for a in range(1, m + 1):
                f[a, i] = (f[a, i] - f[0, i] * b[a, 0]) / b[0, 0]
            for r, p, q in pairs:
                if p == q:
                    numerator = f[r, i] - 2.0 * f[1 + p, i] * b[1 + p, 0]
                else:
                    numerator = f[r, i] - f[1 + p, i] * b[1 + q, 0] - f[1 + q, i] * b[1 + p, 0]
                f[r, i] = (numerator - f[0, i] * b[r, 0]) / b[0, 0]

    return basis


@functools.cache
def place_kernel(m: int) -> Any:
    """Return the kernel for a point of an element, tangents and second derivatives, (rows, d)."""
    rows, d = len(derivative_layout(m).orders), m + 1

    @kernel
    def place(e: int, nodes: Ints, f: Matrix, x: Matrix, out: Matrix) -> None:
        # sum of functions, or derivatives, times positions
        for k in range(rows):
            for p in range(d):
                total = 0.0
                for i in range(nodes.shape[1]):
                    total += f[k, i] * x[nodes[e, i], p]
                out[k, p] = total

    return place


def _rational_boundary(
    nodes: Ints, extraction: Floats, weights: Floats, neighbours: Ints, degrees: Ints
) -> RationalBoundary:
    """Return the boundary with these arrays of `Surface`; it needs no others."""
    none = np.zeros((0, 0, 0))
    arrays = Surface(nodes, extraction, weights, neighbours, none, none, none, none)
    return RationalBoundary(arrays._replace(degrees=tuple(int(k) for k in degrees)))


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
    """Fill in functions and places of all points, as `points_kernel` does."""
    boundary = _rational_boundary(nodes, extraction, weights, neighbours, degrees)
    functions[...], places[...] = boundary.points(elements, xis.T, x)


@functools.cache
def points_kernel(m: int) -> Any:
    """Return the kernel for functions (rows, n, p) and places with derivatives (rows, d, p).

    Its first arguments are elements (p,) and xis (p, m); then come arrays of the boundary, the
    degrees (m,) and places x (nodes, d).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_points_of_a_curve
    """
    rows = len(derivative_layout(m).orders)
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
        # scratch: functions and places of one point, Bernstein polynomials; then point by point
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
def _newton_step_kernel(m: int) -> Any:
    """Return the kernel for one step of Newton's method on the squared distance.

    With r = x_k - x it solves H d xi = r . x_,a for the Hessian H_ab = x_,a . x_,b - r . x_,ab. If
    H - (1 - metric_fraction) x_,a . x_,b is not positive definite, the metric takes the place of H
    (Gauss-Newton). Constrained coordinates have no step; a constraint is released if the gradient
    points back inside. It returns the largest component of the step.
    """
    d, pairs = m + 1, derivative_layout(m).pairs
    solve_system, is_positive = solve_kernel(m), positive_definite_kernel(m)

    # `constraint` (m,) has a code for each coordinate; `h` (3, m, m) is scratch for the matrices
    # _METRIC to _SHIFTED; `out` (rows, d) holds the place and its derivatives as in
    # `DerivativeLayout`
    @kernel
    def newton_step(
        point: Vector,
        out: Matrix,
        xi: Vector,
        constraint: Ints,
        metric_fraction: float,
        h: Stack,
        increment: Vector,
    ) -> float:
        # both parts of H; out[0] - point is -r
        for r, a, b in pairs:
            metric = curvature = 0.0
            for p in range(d):
                metric += out[1 + a, p] * out[1 + b, p]
                curvature += (out[0, p] - point[p]) * out[r, p]
            h[_METRIC, a, b] = h[_METRIC, b, a] = metric
            h[_HESSIAN, a, b] = h[_HESSIAN, b, a] = metric + curvature
            shifted = curvature + metric_fraction * metric
            h[_SHIFTED, a, b] = h[_SHIFTED, b, a] = shifted
        # minus the gradient of half the squared distance
        for a in range(m):
            slope = 0.0
            for p in range(d):
                slope += (out[0, p] - point[p]) * out[1 + a, p]
            increment[a] = -slope
        # the Hessian if it is sufficiently positive, else the metric
        used = _HESSIAN if is_positive(h[_SHIFTED]) else _METRIC
        for a in range(m):
            if constraint[a] != _FREE:
                # from the end at xi = 1 or -1 back to the inside
                if increment[a] * xi[a] < 0.0:
                    constraint[a] = _FREE
                    continue
                increment[a] = 0.0
                # a row and column of the identity: no step, and no coupling with the other
                # coordinate
                for b in range(m):
                    h[used, a, b] = h[used, b, a] = 0.0
                h[used, a, a] = 1.0
        solve_system(h[used], increment)
        size = 0.0
        for a in range(m):
            size = max(size, abs(increment[a]))
        return size

    return newton_step


@functools.cache
def _projection_kernel(m: int) -> Any:
    """Return the kernel for one projection: element, xi (m,), and whether the line is normal.

    Newton's method on the squared distance, from a first guess and from element to element. Each
    step is a descent direction, a step that reverses is at most half of the one before it, and the
    number of steps is bounded. `constraint` (m,) and the arrays behind it are scratch.

    Source: Mergel, Scheibert, Sauer 2021, eq. (7).
    """
    basis, place, newton_step = basis_kernel(m), place_kernel(m), _newton_step_kernel(m)

    @kernel
    def project_point(
        point: Vector,
        element: int,
        xi: Vector,
        boundary: Any,
        x: Matrix,
        constraint: Ints,
        scratch: Any,
    ) -> tuple[int, bool]:
        nodes, extraction, weights, neighbours, degrees = boundary
        f, b, out, h, increment, last_step = scratch
        previous, size = -1, 0.0
        for a in range(m):
            constraint[a], last_step[a] = _FREE, 0.0
        across, last = 0, 0.0
        for number in range(_PROJECTION_STEPS):
            # Gauss-Newton steps are far too short near a centre of curvature
            metric_fraction = 0.5 if number < _CAUTIOUS_STEPS else 1.0
            basis(xi, element, extraction, weights, degrees, b, f)
            place(element, nodes, f, x, out)
            size = newton_step(point, out, xi, constraint, metric_fraction, h, increment)
            if size <= _CONVERGED:
                for a in range(m):
                    # past the end the line is not normal; at an edge it is, if the last step across
                    # was small
                    if constraint[a] == _END or (constraint[a] == _EDGE and last > _CORNER):
                        return element, False
                return element, True
            leaves = False
            for a in range(m):
                up = increment[a] > 0.0
                if leaves or abs(increment[a]) <= _CONVERGED:
                    continue
                # at an edge, and the step leads out: no move, the next step starts in the neighbour
                if (up and xi[a] >= 1.0) or (not up and xi[a] <= -1.0):
                    leaves = True
                    after = neighbours[element, 2 * a + (1 if up else 0)]
                    if after < 0:
                        constraint[a] = _END
                    elif after == previous:
                        # a minimum at the edge: steps on both sides lead to it
                        constraint[a], last = _EDGE, abs(increment[a])
                    else:
                        previous, element, across = element, after, a
                        xi[a] = -1.0 if up else 1.0
            if leaves:
                continue
            for a in range(m):
                # full Newton steps may cycle if the curvature varies strongly
                if increment[a] * last_step[a] < 0.0 and abs(increment[a]) > 0.5 * abs(
                    last_step[a]
                ):
                    increment[a] = -0.5 * last_step[a]
                start = xi[a]
                xi[a] = min(1.0, max(-1.0, start + increment[a]))
                last_step[a] = xi[a] - start
            # away from the edge again: a return to the former element is a new crossing
            if abs(xi[across]) < 1.0:
                previous = -1
        return element, size <= _ACCEPTED

    return project_point


def _closest_point_plain(
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
    """Project all points at once, each by the steps of the kernel."""
    boundary = _rational_boundary(nodes, extraction, weights, neighbours, degrees)
    count, m = xis.shape
    active, previous, size = np.arange(count), np.full(count, -1), np.zeros(count)
    across, last = np.zeros(count, dtype=np.int64), np.zeros(count)
    constraint, last_step = np.full((m, count), _FREE), np.zeros((m, count))
    for number in range(_PROJECTION_STEPS):
        if not active.size:
            return
        # one step of all points that have not converged
        metric_fraction = 0.5 if number < _CAUTIOUS_STEPS else 1.0
        e, xi = elements[active], xis[active].T.copy()
        out = boundary.points(e, xi, x)[1]
        free = constraint[:, active]
        increment = _newton_step_plain(points[active].T, out, xi, free, metric_fraction)
        size[active] = np.abs(increment).max(axis=0)
        done = size[active] <= _CONVERGED
        bad = (free == _END) | ((free == _EDGE) & (last[active] > _CORNER))
        normal[active[done]] = ~bad.any(axis=0)[done]
        # points at an edge whose step leads out: into the neighbour, or constrained to the edge
        leaves = done.copy()
        for a in range(m):
            up = increment[a] > 0.0
            crosses = ~leaves & (np.abs(increment[a]) > _CONVERGED)
            crosses &= np.where(up, xi[a] >= 1.0, xi[a] <= -1.0)
            leaves |= crosses
            after = neighbours[e, 2 * a + up]
            end = crosses & (after < 0)
            at_edge = crosses & (after >= 0) & (after == previous[active])
            free[a, end], free[a, at_edge] = _END, _EDGE
            last[active[at_edge]] = np.abs(increment[a, at_edge])
            entered = crosses & ~end & ~at_edge
            entering = active[entered]
            previous[entering], elements[entering], across[entering] = e[entered], after[entered], a
            xis[entering, a] = np.where(up[entered], -1.0, 1.0)
        # the others move, by at most half of the last step where the direction reverses
        constraint[:, active] = free
        remains = ~leaves
        inside = active[remains]
        before = last_step[:, active]
        reverses = (increment * before < 0.0) & (np.abs(increment) > 0.5 * np.abs(before))
        increment = np.where(reverses, -0.5 * before, increment)
        xis[inside] = np.minimum(1.0, np.maximum(-1.0, (xi + increment)[:, remains])).T
        last_step[:, inside] = xis[inside].T - xi[:, remains]
        previous[inside[np.abs(xis[inside, across[inside]]) < 1.0]] = -1
        active = active[~done]
    normal[active] = size[active] <= _ACCEPTED


def _newton_step_plain(
    points: Floats, out: Floats, xi: Floats, constraint: Ints, metric_fraction: float
) -> Floats:
    """Return one step (m, p) of each point, and release constraints as the kernel does."""
    m = xi.shape[0]
    away = out[0] - points
    metric = np.empty((m, m, xi.shape[1]))
    curvature = np.empty((m, m, xi.shape[1]))
    increment = xi * 0.0
    for r, a, b in derivative_layout(m).pairs:
        metric[a, b] = metric[b, a] = _dot(out[1 + a], out[1 + b])
        curvature[a, b] = curvature[b, a] = _dot(away, out[r])
    for a in range(m):
        increment[a] = -_dot(away, out[1 + a])
    h = np.where(
        positive_definite(curvature + metric_fraction * metric), metric + curvature, metric
    )
    constraint[(constraint != _FREE) & (increment * xi < 0.0)] = _FREE
    for a in range(m):
        constrained = constraint[a] != _FREE
        increment[a, constrained], h[a, :, constrained], h[:, a, constrained] = 0.0, 0.0, 0.0
        h[a, a, constrained] = 1.0
    return solve(h, increment)


def _dot(a: Floats, b: Floats) -> Floats:
    total = a[0] * b[0]
    for p in range(1, a.shape[0]):
        total = total + a[p] * b[p]
    return np.asarray(total)


@functools.cache
def closest_point_kernel(m: int) -> Any:
    """Return the kernel for closest-point projections of all points, in place.

    Its arguments are points (p, d), first guesses of elements (p,) and xis (p, m), room for whether
    lines are normal (p,), then the arrays of the boundary, degrees (m,) and x (nodes, d).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
    """
    project_point, rows, d = _projection_kernel(m), len(derivative_layout(m).orders), m + 1

    @kernel(allocates=True, plain=_closest_point_plain)
    def project(
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
        # scratch of `project_point`, in its order
        boundary = (nodes, extraction, weights, neighbours, degrees)
        b = np.empty((rows + 6, max(extraction.shape[2], 4)))
        f, out = np.empty((rows, nodes.shape[1])), np.empty((rows, d))
        scratch = (f, b, out, np.empty((3, m, m)), np.empty(m), np.empty(m))
        constraint = np.zeros(m, dtype=np.int64)
        for q in range(points.shape[0]):
            elements[q], normal[q] = project_point(
                points[q], elements[q], xis[q], boundary, x, constraint, scratch
            )

    return project
