"""Where on a boundary the gap crosses a value: edges of contact, lengths and areas inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.curves import knots_of, locate, rigid_nearest
from stiction.solids.contact.model import ContactPass, Found
from stiction.solids.contact.sweeps import dot, lengths
from stiction.solids.dimensions import crossed

__all__ = ["areas", "crossings", "gaps_at"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# bisection alone would need fifty
_LOOKS = 80


def gaps_at(p: ContactPass, zeta: Floats, guess: Found, x: Floats) -> tuple[Floats, Floats]:
    """Return gaps (c,) and places (c, d) at coordinates along the own boundary.

    Parameters
    ----------
    p : the pass
    zeta : (m, c) [m]
    guess : (c,) where the search for each nearest point begins
    x : (nodes, d) places [m]

    Source: Mergel, Scheibert, Sauer 2021, eq. (8).
    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    part = p.partner
    places = p.own_curve.points(*locate(zeta, knots_of(p.own)), x)[1][0]
    normal = np.ones(zeta.shape[1], dtype=bool)
    if part.rigid:
        other, _ = rigid_nearest(places, part.shape, x[part.node])
    else:
        found = p.nearest(np.ascontiguousarray(places.T), guess, x)
        _, other = p.partner_at(found.element, found.xi.T, x)
        normal = found.normal
    outward = crossed(other[1 : p.dim])
    gaps = dot(places - other[0], outward) / lengths(outward)
    return np.where(normal, gaps, np.inf), np.ascontiguousarray(places.T)


def crossings(
    p: ContactPass, limit: float, zeta: Floats, gap: Floats, guess: Found, x: Floats
) -> tuple[Floats, Floats]:
    """Return where the gap crosses `limit` between sampled points, by bisection on the curve.

    Parameters
    ----------
    p : the pass
    limit : [m]
    zeta, gap : (s,) coordinates and gaps at the sampled points, in order
    guess : (s,) nearest points of these
    x : (nodes, d) places [m]

    Returns
    -------
    Coordinates (c,) and places (c, d).

    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    below = gap < limit
    at = np.flatnonzero(below[1:] != below[:-1])
    start = guess.at(at)

    def excess(where: Floats, which: Ints) -> Floats:
        return gaps_at(p, where[None], start.at(which), x)[0] - limit

    ends = (zeta[at], gap[at] - limit), (zeta[at + 1], gap[at + 1] - limit)
    found = _roots(excess, *ends, 1e-15 * zeta[-1])
    return found, gaps_at(p, found[None], start, x)[1]


def _roots(
    f: Callable[[Floats, Ints], Floats],
    left: tuple[Floats, Floats],
    right: tuple[Floats, Floats],
    near: float,
) -> Floats:
    """Return one root between each pair of ends, whose values have different signs.

    Bisection, and inverse quadratic interpolation where three points lie well for it
    (Chandrupatla 1997); an infinite value is of use for its sign. Each root stops by itself:
    its last digits do not depend on its neighbours.

    Parameters
    ----------
    f : values at coordinates (k,) for roots (k,) by number
    left, right : coordinates and values at the ends (c,)
    near : width of a bracket that is small enough
    """
    root = np.empty(left[0].size)
    open_ = np.arange(root.size)
    (x1, f1), (x2, f2), t = left, right, np.full(root.size, 0.5)
    for _ in range(_LOOKS):
        if not open_.size:
            break
        x = x1 + t * (x2 - x1)
        value = f(x, open_)
        same = (value < 0.0) == (f1 < 0.0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, value
        root[open_] = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        least = 0.5 * near / np.maximum(np.abs(x2 - x1), 1e-300)
        with np.errstate(all="ignore"):
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            curved = f1 / (f2 - f1) * f3 / (f2 - f3)
            curved += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            t = np.where((phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi), curved, 0.5)
        t = np.clip(np.where(np.isfinite(t), t, 0.5), least, 1.0 - least)
        going = (least < 0.5) & (f1 != 0.0)
        open_, x1, f1, x2, f2, t = (part[going] for part in (open_, x1, f1, x2, f2, t))
    return root


# steps into which elements are cut along each coordinate, before their edges are followed
_CUTS = 4


def areas(p: ContactPass, limit: float, x: Floats) -> tuple[Floats, Floats]:
    """Return the areas of the own boundary that are nearer than `limit`: reference, current [m^2].

    Elements are cut in a grid and that in triangles; where the gap at their corners lies on both
    sides of the limit, the places between are found on the gap itself. What is left is the error
    of flat triangles, which falls with their size squared.

    Parameters
    ----------
    p : a pass in space
    limit : [m]
    x : (nodes, 3) places [m]

    Verified by: tests/unit/solids/contact/test_space.py::test_area_of_a_disc
    """
    zeta, corners = _triangles(knots_of(p.own))

    def gap_at(where: Floats) -> Floats:
        places = p.own_curve.points(*locate(where, knots_of(p.own)), x)[1][0]
        if p.partner.rigid:
            return gaps_at(p, where, p.project(x, None).at(np.zeros(1, dtype=np.int64)), x)[0]
        return gaps_at(p, where, p._search(np.ascontiguousarray(places.T), x), x)[0]

    inside = (gap_at(zeta) < limit)[corners]
    count = inside.sum(axis=1)
    cut = (count > 0) & (count < corners.shape[1])
    # the corner that stands alone on its side, and the two others in their order
    alone = np.where(count == 1, np.argmax(inside, axis=1), np.argmin(inside, axis=1))
    order = (alone[:, None] + np.arange(3)) % 3
    turned = np.take_along_axis(corners, order, axis=1)[cut]
    begin, ends = zeta[:, turned[:, 0]], [zeta[:, turned[:, k]] for k in (1, 2)]
    marks = []
    for end in ends:

        def excess(t: Floats, which: Ints, end: Floats = end) -> Floats:
            way = end[:, which] - begin[:, which]
            return gap_at(begin[:, which] + t * way) - limit

        every = np.arange(turned.shape[0])
        low, high = np.zeros(every.size), np.ones(every.size)
        sides = (low, excess(low, every)), (high, excess(high, every))
        marks.append(begin + _roots(excess, *sides, 1e-14) * (end - begin))
    found = []
    for state in (p.reference, x):
        points = [
            p.own_curve.points(*locate(where, knots_of(p.own)), state)[1][0]
            for where in (zeta, *marks)
        ]
        whole = _sizes(*(points[0][:, corners[:, k]] for k in range(3)))
        part = np.zeros(whole.size)
        part[cut] = _sizes(points[0][:, turned[:, 0]], points[1], points[2])
        share = np.where(count == 3, whole, np.where(count == 1, part, whole - part))
        found.append(np.where(count > 0, share, 0.0).sum())
    return found[0], found[1]


def _triangles(knots: tuple[Floats, ...]) -> tuple[Floats, Ints]:
    """Return coordinates (m, c) of a grid in the elements, and corners (t, 3) of triangles."""
    steps = np.arange(_CUTS) / _CUTS
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
    return np.stack([part.ravel() for part in grid]), corners


def _sizes(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the areas of triangles with corners (3, t)."""
    return np.asarray(0.5 * lengths(crossed(np.stack([b - a, c - a]))))
