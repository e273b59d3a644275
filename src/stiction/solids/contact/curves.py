"""Coordinates along a contact boundary: reference length from its beginning."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface

__all__ = ["along", "curve_points", "knots_of", "locate"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def knots_of(surface: Surface) -> Floats:
    """Return the coordinate along a boundary at the ends of its elements: reference length."""
    return np.concatenate([[0.0], np.cumsum(surface.areas.sum(axis=1))])


def locate(zeta: Floats, knots: Floats) -> tuple[Ints, Floats]:
    """Return elements and their xi for coordinates along the whole curve, clamped to it.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
    """
    at = np.searchsorted(knots, zeta, side="right") - 1
    e = np.minimum(np.maximum(at, 0), knots.size - 2)
    xi = 2.0 * (zeta - knots[e]) / (knots[e + 1] - knots[e]) - 1.0
    return e, np.minimum(np.maximum(xi, -1.0), 1.0)


def along(elements: Ints, xis: Floats, knots: Floats) -> Floats:
    """Return the coordinates along the whole curve.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
    """
    low = knots[elements]
    return np.asarray(low + 0.5 * (1.0 + xis) * (knots[elements + 1] - low))


def curve_points(
    elements: Ints, xis: Floats, nodes: Ints, extraction: Floats, weights: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Return functions (p, 3, n) and points with tangents and their changes (p, 3, 2).

    Parameters
    ----------
    elements, xis : (p,)
    nodes, extraction, weights : of the boundary, as in `Surface`
    x : (nodes, 2) places [m]
    """
    from stiction.solids.contact.curve_kernels import functions_at, places_at

    functions = np.empty((elements.size, 3, nodes.shape[1]))
    places = np.empty((elements.size, 3, 2))
    functions_at(elements, xis, extraction, weights, np.empty((3, 4)), functions)
    places_at(elements, nodes, functions, x, places)
    return functions, places
