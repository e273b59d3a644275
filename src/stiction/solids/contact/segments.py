"""Mortar segments of a contact boundary: cells divided at breakpoints of the partner's elements.

Forces on a partner are integrals of tractions times its shape functions, which have kinks. A
Gauss rule that runs across a kink is not exact, and a constant pressure is then not transferred
exactly from one mesh to the other (the patch test). So each integral ends at the kinks. The
reference boundary is divided once into integration cells, which store the friction history. In
every state a cell is divided into segments at breakpoints: points of the own boundary whose closest
point on the partner is the end c of an element,

    h(s) = (X(s) - c) . v = 0,

with the tangent v of the element there, or the sum of both unit tangents at a concave corner. At a
convex corner there is an interval of points whose closest point is the corner itself; it lies
between two breakpoints, one for the tangent on each side.

The feature of the partner that a point projects to has a number: 2 k + 1 for element k, 2 k for the
corner before it. A cell whose ends have different features passes through those in between.
Cells in which the closest-point projection jumps are divided there first (see `segmentation`).

`segmentation` calls these functions in the order `closest_features`, `feature_sequence`,
`segments_of_cells`. Coordinates xi are those of an element, from -1 to 1.
Source: Puso and Laursen 2004 for mortar segments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.shape_functions.splines import curve_functions

__all__ = [
    "ElementEnds",
    "FeatureSequence",
    "Segments",
    "closest_features",
    "feature_sequence",
    "gauss_rule",
    "integration_cells",
    "is_closed",
    "segments_of_cells",
    "single_points",
    "smooth_joints",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Curve = Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]

# Gauss points for the reference lengths of cells, the weights of the recorded tractions
_LENGTH_POINTS = 8
# largest difference of unit tangents at a joint that counts as smooth. Chosen, above the rounding
# of meshes that are read from files
_PARALLEL = 1e-9
# most steps of Newton's method for a breakpoint, and the change of xi at which it has converged:
# convergence is quadratic
_STEPS, _CONVERGED = 60, 1e-9
# fraction of a cell by which rounding may put a breakpoint outside of it
_ROUNDING = 1e-9
# fraction of a cell within which a breakpoint coincides with an end of the cell
_SLIVER = 1e-9


class Segments(NamedTuple):
    """Mortar segments c of a boundary with g integration points each.

    Parameters
    ----------
    element, cell : (c,) elements of the own boundary, and cells
    ends : (c, 2) xi of both ends on the element
    partner_elements : (c, K) elements of the partner in K slots: the closest one alone (K = 1) if
        all joints of the partner are smooth, else with its two neighbours (K = 3)
    slot : (c,) slot of the element that holds the closest points
    corner : (c,) xi of the corner that is the closest point of the whole segment, -1 or 1; 0 if
        closest points lie inside the element
    tangents : (c, 2, 2) the slot of the element whose tangent enters v of the breakpoint at each of
        both ends: first the element before the joint, then the one behind it; -1 if it does not
    sides : (c, 2, 2) xi at which these tangents are taken: 1 before the joint, -1 behind it
    weights, at : (c, g) weights, and coordinates on [0, 1] along the segment, of the integration
        points
    xi_guess : (c, 2) xi of the closest points of both ends, where iterations start
    """

    element: Ints
    cell: Ints
    ends: Floats
    partner_elements: Ints
    slot: Ints
    corner: Floats
    tangents: Ints
    sides: Floats
    weights: Floats
    at: Floats
    xi_guess: Floats

    def selected(self, which: Bools | Ints) -> Segments:
        """Return some of the segments."""
        return Segments._make(part[which] for part in self)


@functools.cache
def gauss_rule(points: int) -> tuple[Floats, Floats]:
    """Return the points and weights of the Gauss rule on [0, 1]."""
    gauss, weight = np.polynomial.legendre.leggauss(points)
    return 0.5 + 0.5 * gauss, 0.5 * weight


def integration_cells(own: Surface, points: Floats) -> Surface:
    """Return a boundary of the plane with one point at the centre of each integration cell.

    Cells divide the coordinate xi of an element into equal parts, as many as it had integration
    points; the areas of points are those of cells.

    Parameters
    ----------
    own : the boundary
    points : (nodes, d) reference positions [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_cells_have_the_lengths_of_parts
    """
    count = own.points.size
    ends = np.linspace(-1.0, 1.0, count + 1)
    gauss, weight = np.polynomial.legendre.leggauss(_LENGTH_POINTS)
    middle, half_width = 0.5 * (ends[1:] + ends[:-1]), 1.0 / count
    xi = (middle[:, None] + half_width * gauss).ravel()
    _, rates = curve_functions(own.extraction, own.weights, xi)
    tangents = np.matmul(rates, points[own.nodes])
    size = np.sqrt((tangents * tangents).sum(axis=2)).reshape(-1, count, _LENGTH_POINTS)
    functions, rates = curve_functions(own.extraction, own.weights, middle)
    areas = half_width * (size * weight).sum(axis=2)
    cells = own._replace(points=middle, functions=functions, derivatives=rates[..., None])
    return cells._replace(areas=areas)


def is_closed(surface: Surface) -> bool:
    """Return whether a boundary of the plane is a closed curve."""
    return bool(surface.neighbours[0, 0] >= 0)


def smooth_joints(partner: Surface) -> Bools:
    """Return at which element ends both tangents agree in every state, (elements + 1,).

    They agree in every state where both are the same functional of the nodes, up to a factor.

    Verified by: tests/unit/solids/contact/test_segments.py::test_joints_of_splines_are_smooth
    """
    count, nodes = partner.nodes.shape[0], int(partner.nodes.max()) + 1
    _, rates = curve_functions(partner.extraction, partner.weights, np.array([-1.0, 1.0]))
    smooth = np.zeros(count + 1, dtype=np.bool_)
    for end in range(1, count):
        tangents = np.zeros((2, nodes))
        np.add.at(tangents[0], partner.nodes[end - 1], rates[end - 1, 1])
        np.add.at(tangents[1], partner.nodes[end], rates[end, 0])
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        smooth[end] = bool(np.abs(tangents[0] - tangents[1]).max() < _PARALLEL)
    return smooth


def closest_features(
    element: Ints, xi: Floats, is_orthogonal: Bools, smooth: Bools
) -> tuple[Ints, Bools]:
    """Return the features (p,) that hold closest points, and which points have no closest point.

    Parameters
    ----------
    element, xi : (p,) of closest points; the projection sets xi to -1 or 1 exactly at an end
    is_orthogonal : (p,) whether the partner is orthogonal to the line to its closest point
    smooth : from `smooth_joints`
    """
    joint = element + (xi > 0.0)
    at_end = ~is_orthogonal & (np.abs(xi) == 1.0)
    corner = at_end & ~smooth[joint]
    return np.where(corner, 2 * joint, 2 * element + 1), ~(is_orthogonal | at_end)


class ElementEnds:
    """Places and tangents at the ends of the partner's elements in a state.

    Parameters
    ----------
    partner : the boundary
    functions : (2, 2, n, elements) at the lower and upper end of elements, shape functions and
        their derivatives
    smooth : from `smooth_joints`
    x : (nodes, d) positions [m]

    Attributes
    ----------
    place : (d, joints) positions [m]
    low, high : (2, d, elements) position and tangent at the lower and upper end of each element
    before, behind : (d, joints) unit tangents of the element before a joint and of that behind it;
        zero where there is none
    exposed : (joints,) whether the joint is a corner that can be a closest point
    smooth : (joints,) whether both tangents agree in every state
    """

    def __init__(self, partner: Surface, functions: Floats, smooth: Bools, x: Floats) -> None:
        at = x.T[:, partner.nodes]
        low, high = np.einsum("ernp,dpn->erdp", functions, at, optimize=False)
        self.place = np.concatenate([low[0], high[0][:, -1:]], axis=1)
        self.low, self.high = low, high
        at_low, at_high = (row[1] / np.sqrt((row[1] ** 2).sum(axis=0)) for row in (low, high))
        none = np.zeros((2, 1))
        self.before = np.concatenate([none, at_high], axis=1)
        self.behind = np.concatenate([at_low, none], axis=1)
        turn = self.before[0] * self.behind[1] - self.before[1] * self.behind[0]
        # convex corners, and both ends of an open boundary. The outside lies to the right, so that
        # a convex corner turns to the left
        self.exposed = ~smooth & (turn > 0.0)
        self.exposed[0] = self.exposed[-1] = True
        self.smooth = smooth


class FeatureSequence(NamedTuple):
    """Features of the partner onto which cells project, in order, and the breakpoints between.

    Parameters
    ----------
    cell, feature : (c,) of each segment
    ends : (2, c) xi at which a segment begins and ends
    invalid : (cells,) cells without a valid segmentation
    end_features : two of (cells,), features of the lower and of the upper cell ends, also where the
        segment there had no length and was omitted
    """

    cell: Ints
    feature: Ints
    ends: Floats
    invalid: Bools
    end_features: tuple[Ints, Ints]


def feature_sequence(
    own_curve: Curve,
    cells: tuple[Ints, Floats, Floats],
    end_features: tuple[Ints, Ints],
    places: Floats,
    ends: ElementEnds,
    x: Floats,
) -> FeatureSequence:
    """Return the features onto which cells project between their ends.

    Parameters
    ----------
    own_curve : functions and positions of the own boundary at elements and xi (c,)
    cells : elements (n,) of cells, and xi (n,) of their lower and upper ends
    end_features : (n,) features of the closest points of both ends
    places : (2, d, n) of both ends [m]
    ends : of the elements of the partner
    x : (nodes, d) positions [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_breakpoints_are_opposite_to_ends
    """
    first, last = end_features
    # one segment for each feature, up or down from that of the first end to that of the last
    count = np.abs(last - first) + 1
    cell = np.repeat(np.arange(first.size), count)
    step = np.arange(cell.size) - np.repeat(np.cumsum(count) - count, count)
    feature = first[cell] + np.where(last[cell] >= first[cell], step, -step)
    inner = (step > 0) & (step < count[cell] - 1)
    # concave and smooth joints hold no closest points
    skipped = inner & (feature % 2 == 0) & ~ends.exposed[feature // 2]
    cell, feature = cell[~skipped], feature[~skipped]
    low, high = cells[1][cell], cells[2][cell]
    xi = np.stack([low, high])
    invalid = np.zeros(first.size, dtype=np.bool_)
    breaks = np.flatnonzero(cell[1:] == cell[:-1])
    if breaks.size:
        s, missing = _breakpoints(
            own_curve, cells, cell[breaks], feature[breaks], feature[breaks + 1], places, ends, x
        )
        xi[1, breaks], xi[0, breaks + 1] = s, s
        invalid[cell[breaks[missing]]] = True
        # breakpoints follow each other but for rounding; else the cell has no valid segmentation
        width = (high - low) * _ROUNDING
        invalid[cell[xi[1] < xi[0] - width]] = True
        xi[1] = np.maximum(xi[0], xi[1])
        overlaps = np.flatnonzero(xi[0, 1:] != xi[1, :-1])
        overlaps = overlaps[cell[overlaps + 1] == cell[overlaps]]
        xi[0, overlaps + 1] = xi[1, overlaps]
        cell, feature, xi = _without_slivers(cell, feature, xi, high - low, invalid)
    return FeatureSequence(cell, feature, xi, invalid, end_features)


def _without_slivers(
    cell: Ints, feature: Ints, xi: Floats, width: Floats, invalid: Bools
) -> tuple[Ints, Ints, Floats]:
    """Return cells, features and ends without segments at cell ends that have only rounding length.

    If an element end lies opposite to a cell end, rounding alone decides in which of two cells the
    breakpoint lies. The integral is the same, but not its derivative with respect to the
    breakpoint.

    Parameters
    ----------
    cell, feature, xi : (c,), (c,) and (2, c) of segments, as in `FeatureSequence`
    width : (c,) length in xi of the cell of each segment
    invalid : (cells,) cells without a valid segmentation, which are left as they are
    """
    keep = np.ones(cell.size, dtype=np.bool_)
    short = (xi[1] - xi[0] <= width * _SLIVER) & ~invalid[cell]
    for direction in (1, -1):
        c, s = cell[::direction], short[::direction]
        begins = np.append(True, c[1:] != c[:-1])
        removed, before = np.zeros(c.size, dtype=np.bool_), begins
        while (now := before & s & ~removed).any():
            removed |= now
            before = np.append(False, removed[:-1]) & ~begins
        keep[::direction] &= ~removed
    # a cell that consists of such segments only keeps them
    whole = np.bincount(cell[keep], minlength=invalid.size) > 0
    keep |= ~whole[cell]
    # the remaining segments of a cell reach again from its first to its last end
    low, high = xi[0].copy(), xi[1].copy()
    first = np.append(True, cell[1:] != cell[:-1])
    start, number = low[first], np.cumsum(first) - 1
    stop = high[np.append(first[1:], True)]
    number = number[keep]
    cell, feature, xi = cell[keep], feature[keep], np.stack([low[keep], high[keep]])
    first = np.append(True, cell[1:] != cell[:-1])
    last = np.append(first[1:], True)
    xi[0, first], xi[1, last] = start[number[first]], stop[number[last]]
    return cell, feature, xi


def _breakpoints(
    own_curve: Curve,
    cells: tuple[Ints, Floats, Floats],
    cell: Ints,
    one: Ints,
    other: Ints,
    places: Floats,
    ends: ElementEnds,
    x: Floats,
) -> tuple[Floats, Bools]:
    """Return xi (c,) of breakpoints between features, and which of them do not exist.

    Each is a root of h(s) = (X(s) - c) . v, by Newton's method inside a bracket.

    Parameters
    ----------
    own_curve, cells, places, ends, x : as in `feature_sequence`
    cell, one, other : (c,) cell of each breakpoint, and features before and behind it
    """
    # features 2 k + 1 and 2 k + 3 are the elements of joint k + 1, which holds no closest point;
    # features 2 k + 1 and 2 k + 2 are an element and the corner at its upper end, features 2 k and
    # 2 k + 1 a corner and the element behind it
    low, high = np.minimum(one, other), np.maximum(one, other)
    joint = (low + 1) // 2
    between_elements = high - low == 2
    is_concave = between_elements & ~ends.smooth[joint]
    # v is the tangent of the element next to a corner; between two elements it is the common
    # tangent at a smooth joint, and the sum of both unit tangents at a concave corner
    takes_before = between_elements | (low % 2 == 1)
    takes_behind = (low % 2 == 0) | is_concave
    v = ends.before[:, joint] * takes_before + ends.behind[:, joint] * takes_behind
    c = ends.place[:, joint]
    e, left, right = cells[0][cell], cells[1][cell], cells[2][cell]
    f_left, f_right = (((place[:, cell] - c) * v).sum(axis=0) for place in places)
    no_sign_change = (f_left < 0.0) == (f_right < 0.0)
    small = _ROUNDING * np.abs(f_left - f_right)
    missing = no_sign_change & (np.minimum(np.abs(f_left), np.abs(f_right)) > small)
    a, b, rises = left.copy(), right.copy(), f_right > f_left
    with np.errstate(all="ignore"):
        s = left - f_left * (right - left) / (f_right - f_left)
    s = np.clip(np.where(np.isfinite(s), s, left), left, right)
    active = np.flatnonzero(~no_sign_change)
    for _ in range(_STEPS):
        if not active.size:
            break
        _, row = own_curve(e[active], s[active], x)
        f = ((row[0] - c[:, active]) * v[:, active]).sum(axis=0)
        slope = (row[1] * v[:, active]).sum(axis=0)
        above = (f > 0.0) == rises[active]
        b[active[above]], a[active[~above]] = s[active[above]], s[active[~above]]
        with np.errstate(all="ignore"):
            trial = s[active] - f / slope
        inside = (trial >= a[active]) & (trial <= b[active])
        trial = np.where(inside, trial, 0.5 * (a[active] + b[active]))
        moved = np.abs(trial - s[active])
        s[active] = trial
        active = active[(moved > _CONVERGED) & (f != 0.0)]
    return s, missing


def segments_of_cells(
    sequence: FeatureSequence, cells: Ints, end_xi: Floats, ends: ElementEnds, points: int
) -> Segments:
    """Return the mortar segments of cells.

    Parameters
    ----------
    sequence : features of the partner onto which the cells project
    cells : (n,) elements of the own boundary in which they lie
    end_xi : (n, 2) xi of the closest points of both ends of the cells
    ends : of the elements of the partner
    points : integration points of each segment
    """
    valid = ~sequence.invalid[sequence.cell]
    cell, feature = sequence.cell[valid], sequence.feature[valid]
    count, slots = cell.size, 1 if ends.smooth[1:-1].all() else 3
    last = ends.smooth.size - 2
    odd = feature % 2 == 1
    # the element in the middle slot: that of the feature, or the one behind a corner
    middle = np.where(odd, feature // 2, np.minimum(feature // 2, last))
    base = middle - (slots > 1)
    # a corner is stored with the element before it
    closest_element = np.where(odd | (feature == 0), feature // 2, feature // 2 - 1)
    corner = np.where(odd, 0.0, np.where(feature == 0, -1.0, 1.0))
    partner_elements = np.clip(base[:, None] + np.arange(slots), 0, last)
    tangents = np.full((count, 2, 2), -1)
    sides = np.zeros((count, 2, 2))
    xi_guess = end_xi[cell].copy()
    inner = np.append(cell[1:] == cell[:-1], False)
    for end, step in ((0, -1), (1, 1)):
        beyond = sequence.end_features[end][cell] - feature
        xi_guess[beyond != 0, end] = np.sign(beyond[beyond != 0])
        at = np.flatnonzero(np.roll(inner, 1) if end == 0 else inner)
        low = np.minimum(feature[at], feature[at + step])
        # features and their joint, as in `_breakpoints`
        joint = (low + 1) // 2
        between_elements = np.abs(feature[at] - feature[at + step]) == 2
        is_smooth = between_elements & ends.smooth[joint]
        is_concave = between_elements & ~ends.smooth[joint]
        lies_behind = middle[at] == joint
        # at a corner v is the tangent of the element next to it in the sequence, at a concave
        # corner of both; at a smooth joint, whose tangents are equal, of the middle slot
        takes_before = np.where(is_smooth, ~lies_behind, low % 2 == 1)
        takes_behind = np.where(is_smooth, lies_behind, (low % 2 == 0) | is_concave)
        tangents[at, end, 0] = np.where(takes_before, joint - 1 - base[at], -1)
        tangents[at, end, 1] = np.where(takes_behind, joint - base[at], -1)
        sides[at, end] = (1.0, -1.0)
        xi_guess[at, end] = np.where(joint > middle[at], 1.0, -1.0)
    places, weights = gauss_rule(points)
    return Segments(
        cells[cell],
        cell,
        np.ascontiguousarray(sequence.ends[:, valid].T),
        partner_elements,
        closest_element - base,
        corner,
        tangents,
        sides,
        np.tile(weights, (count, 1)),
        np.tile(places, (count, 1)),
        xi_guess,
    )


def single_points(
    cell: Ints,
    element: Ints,
    ends: Floats,
    closest_element: Ints,
    corner: Floats,
    slots: int,
    last: int,
) -> Segments:
    """Return one segment for each integration point of cells without a segmentation.

    All segments have g points: each point is repeated g times with a g-th of its weight.

    Parameters
    ----------
    cell, element : (c,) cells, and elements of the own boundary
    ends : (c, 2) xi of the ends of the cells
    closest_element, corner : (c, g) partner elements of closest points, and xi of corners
    slots : of partner elements in a segment
    last : the last element of the partner
    """
    points = closest_element.shape[1]
    places, weights = gauss_rule(points)
    each = np.repeat(np.arange(cell.size), points)
    number = np.tile(np.arange(points), cell.size)
    partner_elements = np.clip(
        closest_element.ravel()[:, None] - (slots > 1) + np.arange(slots), 0, last
    )
    count = each.size
    return Segments(
        element[each],
        cell[each],
        ends[each],
        partner_elements,
        np.full(count, int(slots > 1)),
        corner.ravel(),
        np.full((count, 2, 2), -1),
        np.zeros((count, 2, 2)),
        np.tile((weights / points)[number][:, None], (1, points)),
        np.tile(places[number][:, None], (1, points)),
        np.zeros((count, 2)),
    )
