"""Where along a boundary the gap crosses a value: the edges of contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.solids.contact.curve_kernels import (
    basis_at,
    curve_at,
    locate,
    nearest_on_curve,
    rigid_at,
)

__all__ = ["crossings", "gap_at"]

Floats = npt.NDArray[np.float64]

_BISECTIONS = 80


@kernel
def gap_at(zeta: float, own: Any, partner: Any, guess: Any, x: Floats, place: Floats) -> float:
    """Return the gap at a coordinate along the own boundary, and fill in the place (2,).

    Parameters
    ----------
    own : nodes, extraction, weights, knots of the boundary
    partner : rigid, shape, node, nodes, extraction, weights, knots, neighbours
    guess : element and xi to begin the search for the nearest point
    x : (nodes, 2) places

    Source: Mergel, Scheibert, Sauer 2021, eq. (8).
    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    nodes, extraction, weights, knots = own
    rigid, shape, node, pnodes, pextraction, pweights, _, neighbours = partner
    e, xi = locate(zeta, knots)
    f, b, out = np.empty((3, nodes.shape[1])), np.empty((3, 4)), np.empty((3, 2))
    basis_at(xi, extraction[e], weights[e], b, f)
    curve_at(nodes[e], f, x, out)
    place[0], place[1] = out[0, 0], out[0, 1]
    if rigid:
        rigid_at(place[0] - x[node, 0], place[1] - x[node, 1], shape, out)
        out[0, 0] += x[node, 0]
        out[0, 1] += x[node, 1]
    else:
        g = np.empty((3, pnodes.shape[1]))
        _, _, normal = nearest_on_curve(
            place, guess[0], guess[1], pnodes, pextraction, pweights, neighbours, x, g, b, out
        )
        if not normal:
            return np.inf
    size = np.sqrt(out[1, 0] ** 2 + out[1, 1] ** 2)
    dx, dy = place[0] - out[0, 0], place[1] - out[0, 1]
    gap: float = (dx * out[1, 1] - dy * out[1, 0]) / size
    return gap


@kernel
def crossings(
    limit: float,
    zeta: Floats,
    gap: Floats,
    elements: Any,
    xis: Floats,
    own: Any,
    partner: Any,
    x: Floats,
    found: Floats,
    places: Floats,
) -> int:
    """Fill in where the gap crosses `limit` between sampled points; return how often.

    Parameters
    ----------
    zeta, gap : (p,) coordinates and gaps at the sampled points, in order
    elements, xis : (p,) nearest points of these
    found : (p,) filled with the coordinates, by bisection on the curve itself
    places : (p, 2) filled with the places

    Verified by: tests/unit/solids/equilibria/test_readings.py::test_edges_of_a_parabola
    """
    count = 0
    place = np.empty(2)
    for q in range(zeta.size - 1):
        below, after = gap[q] < limit, gap[q + 1] < limit
        if below == after:
            continue
        low, high = zeta[q], zeta[q + 1]
        guess = (elements[q], xis[q])
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if (gap_at(middle, own, partner, guess, x, place) < limit) == below:
                low = middle
            else:
                high = middle
            if high - low <= 1e-15 * zeta[-1]:
                break
        found[count] = 0.5 * (low + high)
        gap_at(found[count], own, partner, guess, x, place)
        places[count, 0], places[count, 1] = place[0], place[1]
        count += 1
    return count
