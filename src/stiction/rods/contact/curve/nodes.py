"""Nodes of a rod whose contact curve (`kernels`) passes through given points.

Control points p_k of the cubic B-spline through points x_k solve (p_(k-1) + 4 p_k + p_(k+1)) / 6 =
x_k, a tridiagonal system. They are the nodes of a "spline" curve; nodes r_k of a "fitted" curve
solve a second one, (8 r_k - r_(k-1) - r_(k+1)) / 6 = p_k. At both ends p_k = x_k and r_k = p_k.
`presets` calls `curve_nodes`, so that surfaces of rods touch where they should.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["curve_nodes"]

Floats = npt.NDArray[np.float64]

# largest number of nodes for which a full matrix is stored
_MOST_DENSE = 2000


def curve_nodes(points: Floats, contact_curve: str) -> Floats:
    """Return (n, 3) nodes [m] whose contact curve passes through `points` (n, 3) [m].

    With the points as nodes the spline would deviate from them by ds^2/6 times the curvature, the
    fitted curve by order ds^4. Then the surfaces of rods would not touch where they should.

    contact_curve : "spline" or "fitted"

    Verified by: tests/unit/rods/test_presets.py::test_nodes_bring_the_curve_to_the_points
    """
    # a B-spline has the value (p_(k-1) + 4 p_k + p_(k+1)) / 6 at control point p_k; control points
    # are the nodes r_k, or of a fitted curve (8 r_k - r_(k-1) - r_(k+1)) / 6
    through = _solved(points, 4.0 / 6.0, 1.0 / 6.0)
    return through if contact_curve == "spline" else _solved(through, 8.0 / 6.0, -1.0 / 6.0)


def _solved(points: Floats, middle: float, neighbour: float) -> Floats:
    """Solve middle x_k + neighbour (x_(k-1) + x_(k+1)) = points_k; x_k = points_k at both ends."""
    n = len(points)
    if n > _MOST_DENSE:
        return _banded(points, middle, neighbour)
    matrix = np.eye(n)
    for k in range(1, n - 1):
        matrix[k, k - 1 : k + 2] = (neighbour, middle, neighbour)
    return np.asarray(np.linalg.solve(matrix, points))


def _banded(points: Floats, middle: float, neighbour: float) -> Floats:
    """Solve the same equations with a banded matrix, for long rods."""
    from scipy.linalg import solve_banded

    band = np.full((3, len(points)), neighbour)
    band[1] = middle
    band[1, [0, -1]], band[0, 1], band[2, -2] = 1.0, 0.0, 0.0
    return np.asarray(solve_banded((1, 1), band, points))
