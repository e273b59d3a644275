"""Where along a boundary the gap crosses a value: the edges of contact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.curves import knots_of, locate, rigid_nearest
from stiction.solids.contact.model import ContactPass, Found
from stiction.solids.contact.sweeps import dot, lengths
from stiction.solids.dimensions import crossed

__all__ = ["crossings", "gaps_at"]

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
    x : (nodes, 2) places [m]

    Returns
    -------
    Coordinates (c,) and places (c, 2).

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
