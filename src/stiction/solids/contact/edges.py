"""Edges of the contact zone: points of a boundary at which the normal gap crosses a limit.

Between integration points with gaps on both sides of the limit, the crossing is a root of the gap
along the boundary, found by Chandrupatla's method. The gap is g = (x - x_p) . n, with the closest
point x_p on the partner and its unit normal n, and coordinates zeta [m] are reference lengths along
the own boundary. In the plane the roots bound the lengths of contact, in space the lines between
them bound its area. `equilibria.readings` reports both.

x is the position of a point of the own boundary. In arrays there are c crossings, s samples, m = d
- 1 coordinates and d components.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.curves import closest_on_rigid, knots_of, locate
from stiction.solids.contact.model import ClosestPoints, ContactPass
from stiction.solids.contact.sweeps import lengths
from stiction.solids.dimensions import crossed, dot

__all__ = ["areas", "crossings", "gaps_at"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# largest number of iterations; bisection alone needs fifty
_MAX_STEPS = 80


def gaps_at(p: ContactPass, zeta: Floats, guess: ClosestPoints, x: Floats) -> tuple[Floats, Floats]:
    """Return gaps (c,) and positions (c, d) at coordinates along the own boundary.

    Parameters
    ----------
    p : the pass
    zeta : (m, c) [m]
    guess : (c,) where each closest-point projection starts
    x : (nodes, d) positions [m]

    Source: Mergel, Scheibert, Sauer 2021, eq. (8).
    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    partner = p.partner
    places = p.own_curve.points(*locate(zeta, knots_of(p.own)), x)[1][0]
    normal = np.ones(zeta.shape[1], dtype=bool)
    if partner.rigid:
        other, _ = closest_on_rigid(places, partner.shape, x[partner.node])
    else:
        closest = p.closest_from(np.ascontiguousarray(places.T), guess, x)
        _, other = p.partner_at(closest.element, closest.xi.T, x)
        normal = closest.normal
    outward = crossed(other[1 : p.dim])
    gaps = dot(places - other[0], outward) / lengths(outward)
    return np.where(normal, gaps, np.inf), np.ascontiguousarray(places.T)


def crossings(
    p: ContactPass, limit: float, zeta: Floats, gap: Floats, guess: ClosestPoints, x: Floats
) -> tuple[Floats, Floats]:
    """Return where the gap crosses `limit` between samples, by bracketed roots along the boundary.

    Parameters
    ----------
    p : the pass
    limit : [m]
    zeta, gap : (s,) coordinates and gaps at the sampled points, in order
    guess : (s,) closest points of these
    x : (nodes, d) positions [m]

    Returns
    -------
    Coordinates (c,) and positions (c, d).

    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    below = gap < limit
    at = np.flatnonzero(below[1:] != below[:-1])
    start = guess.at(at)

    def excess(where: Floats, which: Ints) -> Floats:
        return gaps_at(p, where[None], start.at(which), x)[0] - limit

    ends = (zeta[at], gap[at] - limit), (zeta[at + 1], gap[at + 1] - limit)
    roots = _roots(excess, *ends, 1e-15 * zeta[-1])
    return roots, gaps_at(p, roots[None], start, x)[1]


def _roots(
    f: Callable[[Floats, Ints], Floats],
    left: tuple[Floats, Floats],
    right: tuple[Floats, Floats],
    tolerance: float,
) -> Floats:
    """Return one root between each pair of ends, whose values have different signs.

    Chandrupatla's method (1997): inverse quadratic interpolation where it is safe, else bisection.
    An infinite value counts by its sign. Each root stops on its own, so that its last digits do not
    depend on other roots.

    Parameters
    ----------
    f : values at coordinates (k,) for roots (k,) by number
    left, right : coordinates and values at the ends (c,)
    tolerance : width of a bracket at convergence
    """
    root = np.empty(left[0].size)
    active = np.arange(root.size)
    (x1, f1), (x2, f2), t = left, right, np.full(root.size, 0.5)
    for _ in range(_MAX_STEPS):
        if not active.size:
            break
        x = x1 + t * (x2 - x1)
        # x1 is the last point, (x1, x2) the bracket, x3 the point that left the bracket
        value = f(x, active)
        same = (value < 0.0) == (f1 < 0.0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, value
        root[active] = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        least = 0.5 * tolerance / np.maximum(np.abs(x2 - x1), 1e-300)
        with np.errstate(all="ignore"):
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            curved = f1 / (f2 - f1) * f3 / (f2 - f3)
            curved += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            t = np.where((phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi), curved, 0.5)
        t = np.clip(np.where(np.isfinite(t), t, 0.5), least, 1.0 - least)
        unfinished = (least < 0.5) & (f1 != 0.0)
        active, x1, f1, x2, f2, t = (values[unfinished] for values in (active, x1, f1, x2, f2, t))
    return root


# subdivisions of elements along each coordinate, between which edges of contact are straight
_SUBDIVISIONS = 4


def areas(p: ContactPass, limit: float, x: Floats) -> tuple[Floats, Floats]:
    """Return the areas of the own boundary with gaps below `limit`: reference, current [m^2].

    Elements are divided into triangles. On a triangle with gaps on both sides of the limit, the
    crossings of its sides are roots of the gap. Triangles are flat: the error falls with the square
    of their size.

    Parameters
    ----------
    p : a pass in space
    limit : [m]
    x : (nodes, 3) positions [m]

    Verified by: tests/unit/solids/contact/test_space.py::test_area_of_a_disc
    """
    zeta, corners = _triangles(knots_of(p.own))

    def gap_at(where: Floats) -> Floats:
        places = p.own_curve.points(*locate(where, knots_of(p.own)), x)[1][0]
        if p.partner.rigid:
            return gaps_at(p, where, p.project(x, None).at(np.zeros(1, dtype=np.int64)), x)[0]
        return gaps_at(p, where, p._search(np.ascontiguousarray(places.T), x), x)[0]

    # which corners of triangles are in contact; triangles with corners on both sides of the limit
    inside = (gap_at(zeta) < limit)[corners]
    count = inside.sum(axis=1)
    straddling = (count > 0) & (count < corners.shape[1])
    # the corner that is alone on its side of the limit, and the two others in their order
    odd_corner = np.where(count == 1, np.argmax(inside, axis=1), np.argmin(inside, axis=1))
    order = (odd_corner[:, None] + np.arange(3)) % 3
    ordered = np.take_along_axis(corners, order, axis=1)[straddling]
    begin, ends = zeta[:, ordered[:, 0]], [zeta[:, ordered[:, k]] for k in (1, 2)]
    edge_points = []
    for end in ends:

        def excess(t: Floats, which: Ints, end: Floats = end) -> Floats:
            direction = end[:, which] - begin[:, which]
            return gap_at(begin[:, which] + t * direction) - limit

        numbers = np.arange(ordered.shape[0])
        low, high = np.zeros(numbers.size), np.ones(numbers.size)
        sides = (low, excess(low, numbers)), (high, excess(high, numbers))
        edge_points.append(begin + _roots(excess, *sides, 1e-14) * (end - begin))
    # whole triangles, and the parts cut off at the crossings, in both configurations
    totals = []
    for state in (p.reference, x):
        points = [
            p.own_curve.points(*locate(where, knots_of(p.own)), state)[1][0]
            for where in (zeta, *edge_points)
        ]
        whole = _sizes(*(points[0][:, corners[:, k]] for k in range(3)))
        inside_area = np.zeros(whole.size)
        inside_area[straddling] = _sizes(points[0][:, ordered[:, 0]], points[1], points[2])
        area = np.where(count == 3, whole, np.where(count == 1, inside_area, whole - inside_area))
        totals.append(np.where(count > 0, area, 0.0).sum())
    return totals[0], totals[1]


def _triangles(knots: tuple[Floats, ...]) -> tuple[Floats, Ints]:
    """Return coordinates (m, c) of a grid in all elements, and corners (t, 3) of triangles."""
    steps = np.arange(_SUBDIVISIONS) / _SUBDIVISIONS
    lines = [
        np.append((ends[:-1, None] + np.diff(ends)[:, None] * steps).ravel(), ends[-1])
        for ends in knots
    ]
    number = np.arange(lines[0].size * lines[1].size).reshape(lines[1].size, lines[0].size)
    a, b, c, d = (
        n.ravel() for n in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    )
    corners = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    grid = np.meshgrid(*lines)
    return np.stack([axis.ravel() for axis in grid]), corners


def _sizes(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the areas of triangles with corners (3, t)."""
    return np.asarray(0.5 * lengths(crossed(np.stack([b - a, c - a]))))
