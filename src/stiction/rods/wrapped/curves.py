r"""The axis of a rod between its nodes, a smooth cubic, and its points closest to others.

Between the nodes r_1 and r_2 the axis is the cubic

    X(u) = sum_j w_j(u) r_j,   j = 0, ..., 3,   0 <= u <= 1,

through both, with the slopes (r_2 - r_0)/2 and (r_3 - r_1)/2 (Catmull and Rom 1974). So its tangent
is continuous, and a node that slides along a rod does not see its chords. Beyond an end there is a
fourth node on the cubic through the last four. `pairs` finds the closest points of contacts with
rods, `checks` distances of rods.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Curve", "axis_points", "closest", "curve_at"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# rows: coefficients of 1, u, u^2, u^3; columns: nodes
_CUBIC = 0.5 * np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]], dtype=float)
# rows: the four nodes of an end arc, one of them beyond the end; columns: the four nodes of the rod
# that are nearest to this end
_START = np.vstack([[4.0, -6.0, 4.0, -1.0], np.eye(4)[:3]])
_END = np.vstack([np.eye(4)[1:], [-1.0, 4.0, -6.0, 4.0]])
# most iterations of Newton's method with bisection
_ITERATIONS = 60
# of the place of the closest point, over the number of elements: rounding
_TOLERANCE = 1e-14
# distances of points from nodes that are computed at once: 20 MB with the vectors between them
_MOST_DISTANCES = 250_000


class Curve(NamedTuple):
    """The nodes of k places of an axis, and their weights; all arrays are (k, 4).

    nodes : numbers from 0
    weight, rate, second : w_j, and their first and second derivative by the place [1]
    """

    nodes: Ints
    weight: Floats
    rate: Floats
    second: Floats


def curve_at(place: Floats, elements: int) -> Curve:
    """Return the weights of nodes at places (k,) of an axis, counted in elements from its start."""
    arc = np.clip(place.astype(np.int64), 0, elements - 1)
    u = place - arc
    one, zero = np.ones_like(u), np.zeros_like(u)
    powers = np.array(
        [
            [one, u, u * u, u * u * u],
            [zero, one, 2.0 * u, 3.0 * u * u],
            [zero, zero, 2.0 * one, 6.0 * u],
        ]
    )
    cubic = np.tile(_CUBIC, (len(u), 1, 1))
    cubic[arc == 0] = _CUBIC @ _START
    cubic[arc == elements - 1] = _CUBIC @ _END
    weight, rate, second = np.einsum("dpk,kpj->dkj", powers, cubic)
    nodes = np.clip(arc - 1, 0, elements - 3)[:, None] + np.arange(4)
    return Curve(nodes, weight, rate, second)


def axis_points(nodes: Floats, place: Floats) -> Floats:
    """Return the points (k, 3) of an axis with nodes (elements + 1, 3) at places (k,) [m]."""
    curve = curve_at(place, len(nodes) - 1)
    return np.asarray(np.einsum("kj,kja->ka", curve.weight, nodes[curve.nodes]))


def closest(
    points: Floats, nodes: Floats, first: Ints, last: Ints | None = None
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the places of an axis closest to points, and whether each is between its bounds.

    Parameters
    ----------
    points : (k, 3) [m]
    nodes : (elements + 1, 3) of the axis [m]
    first, last : (k,) the lowest and highest place allowed for each point; None for the end

    Returns
    -------
    (k,) places in elements from the start, and (k,) whether the distance is stationary there. If
    it is not, the place is that of the nearest node: the lowest place or the end, or a place at a
    distance above the radius of curvature.

    Verified by: tests/unit/rods/wrapped/test_wrapped_rods.py::test_closest_points
    """
    elements = len(nodes) - 1
    last = np.full_like(first, elements) if last is None else last
    nearest = np.empty(len(points), dtype=np.int64)
    # blocks of points bound the memory of their distances from all nodes
    size = max(1, _MOST_DISTANCES // len(nodes))
    for start in range(0, len(points), size):
        block = slice(start, start + size)
        apart = np.linalg.norm(points[block, None] - nodes, axis=2)
        numbers = np.arange(elements + 1)
        apart[(numbers < first[block, None]) | (numbers > last[block, None])] = np.inf
        nearest[block] = apart.argmin(axis=1)
    low = np.maximum(nearest - 1, first).astype(np.float64)
    high = np.minimum(nearest + 1, last).astype(np.float64)

    def slope(place: Floats) -> tuple[Floats, Floats]:
        """Return minus the derivative of half the squared distance by the place, and its rate."""
        curve = curve_at(place, elements)
        support = nodes[curve.nodes]
        x, dx, ddx = (
            np.einsum("kj,kja->ka", w, support) for w in (curve.weight, curve.rate, curve.second)
        )
        away = points - x
        return (away * dx).sum(axis=1), (away * ddx - dx * dx).sum(axis=1)

    # a minimum is bracketed between the neighbours of the nearest node
    inside = (slope(low)[0] > 0.0) & (slope(high)[0] < 0.0)
    place = nearest.astype(np.float64)
    for _ in range(_ITERATIONS):
        # Newton's method, with bisection if a step leaves the bracket
        value, rate = slope(place)
        low, high = np.where(value > 0.0, place, low), np.where(value > 0.0, high, place)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(rate < 0.0, place - value / rate, np.nan)
        good = (step >= low) & (step <= high)
        new = np.where(good, step, 0.5 * (low + high))
        moved = np.abs(new - place)
        place = new
        if moved[inside].max(initial=0.0) <= _TOLERANCE * elements:
            break
    return np.where(inside, place, nearest), inside
