"""Nodes whose contact curve passes through given points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["curve_nodes"]

Floats = npt.NDArray[np.float64]

# rows of a matrix beyond which only its band is stored
_MOST_DENSE = 2000


def curve_nodes(points: Floats, contact_curve: str) -> Floats:
    """Return nodes whose contact curve passes through `points` (n, 3).

    The spline of the points themselves would cut corners by ds^2/6 times the curvature, the fitted
    curve by its ds^4, and rods laid to touch would not.

    Verified by: tests/unit/rods/test_presets.py::test_nodes_bring_the_curve_to_the_points
    """
    # a spline is (p_(k-1) + 4 p_k + p_(k+1)) / 6 at its points p_k, which are the nodes, or fitted:
    # (8 r_k - r_(k-1) - r_(k+1)) / 6
    through = _solved(points, 4.0 / 6.0, 1.0 / 6.0)
    return through if contact_curve == "spline" else _solved(through, 8.0 / 6.0, -1.0 / 6.0)


def _solved(points: Floats, middle: float, neighbour: float) -> Floats:
    """Solve middle x_k + neighbour (x_(k-1) + x_(k+1)) = points, the ends being the points."""
    n = len(points)
    if n > _MOST_DENSE:
        return _banded(points, middle, neighbour)
    matrix = np.eye(n)
    for k in range(1, n - 1):
        matrix[k, k - 1 : k + 2] = (neighbour, middle, neighbour)
    return np.asarray(np.linalg.solve(matrix, points))


def _banded(points: Floats, middle: float, neighbour: float) -> Floats:
    """Return what `_solved` does for long rods, whose full matrix would not fit."""
    from scipy.linalg import solve_banded

    band = np.full((3, len(points)), neighbour)
    band[1] = middle
    band[1, [0, -1]], band[0, 1], band[2, -2] = 1.0, 0.0, 0.0
    return np.asarray(solve_banded((1, 1), band, points))
