"""Where along a boundary the gap crosses a value: the edges of contact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.curves import knots_of, locate, rigid_nearest
from stiction.solids.contact.model import ContactPass, Found

__all__ = ["crossings", "gaps_at"]

Floats = npt.NDArray[np.float64]

_BISECTIONS = 80


def gaps_at(p: ContactPass, zeta: Floats, guess: Found, x: Floats) -> tuple[Floats, Floats]:
    """Return gaps (c,) and places (c, 2) at coordinates along the own boundary.

    Parameters
    ----------
    p : the pass
    zeta : (c,) [m]
    guess : (c,) where the search for each nearest point begins
    x : (nodes, 2) places [m]

    Source: Mergel, Scheibert, Sauer 2021, eq. (8).
    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    part = p.partner
    places = p.own_curve.points(*locate(zeta, knots_of(p.own)), x)[1][0]
    normal = np.ones(zeta.size, dtype=bool)
    if part.rigid:
        other, _ = rigid_nearest(places, part.shape, x[part.node])
    else:
        found = p.nearest(np.ascontiguousarray(places.T), guess, x)
        _, other = p.curve.points(found.element, found.xi, x)
        normal = found.normal
    along = other[1]
    size = np.sqrt(along[0] * along[0] + along[1] * along[1])
    away = places - other[0]
    gaps = (away[0] * along[1] - away[1] * along[0]) / size
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
    inside, low, high = below[at], zeta[at], zeta[at + 1]
    start = guess.at(at)
    open_ = np.arange(at.size)
    for _ in range(_BISECTIONS):
        # each crossing stops by itself: its last digits do not depend on its neighbours
        if not open_.size:
            break
        middle = 0.5 * (low[open_] + high[open_])
        same = (gaps_at(p, middle, start.at(open_), x)[0] < limit) == inside[open_]
        low[open_[same]], high[open_[~same]] = middle[same], middle[~same]
        open_ = open_[high[open_] - low[open_] > 1e-15 * zeta[-1]]
    found = 0.5 * (low + high)
    return found, gaps_at(p, found, start, x)[1]
