"""Boundaries cut where pieces of a partner begin: integrals over segments that both meshes bound.

Forces on a partner weigh tractions with its functions, which have kinks where its pieces meet. An
integral that runs across such a kink is not exact for any Gauss rule, and a constant pressure is
then not carried from one mesh to the other. A cut boundary has the curve of the boundary and more
pieces: functions and coordinates are those of before.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact.curves import Pieces
from stiction.solids.elements.splines import curve_functions

__all__ = ["cut", "marks_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# places on a piece between which the foot of a partner's end is looked for
_LOOKS = 9
_HALVINGS = 60
# parts of a piece that are too short to be a segment, and too short at the ends of a boundary,
# where both bodies are meant to end together
_SLIVER, _RIM = 1e-5, 1e-3


def marks_of(own: Surface, partner: Surface, points: Floats) -> tuple[Ints, Floats]:
    """Return pieces (c,) of a boundary and xi (c,) at which a partner passes from piece to piece.

    There the line to the nearest point of the partner meets the end of a piece,
    (x - x_l) . a_l = 0; where the partner has a corner, with the tangents of both its sides.

    Parameters
    ----------
    own, partner : boundaries of the plane, in one numbering
    points : (nodes, d) places [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_cuts_lie_opposite_to_ends
    """
    other, mine = Pieces(partner), Pieces(own)
    pieces, count = partner.nodes.shape[0], own.nodes.shape[0]
    sides = np.array([-1.0, 1.0])
    every = np.repeat(np.arange(pieces), sides.size)
    ends = other.points(every, np.tile(sides, pieces)[None], points)[1]
    xis = np.linspace(-1.0, 1.0, _LOOKS)
    elements = np.repeat(np.arange(count), _LOOKS)

    def height(e: Ints, xi: Floats, end: Ints) -> Floats:
        """Return (x - x_l) . a_l for points and ends, one by one."""
        place = mine.points(e, xi[None], points)[1][0]
        return np.asarray(((place - ends[0][:, end]) * ends[1][:, end]).sum(axis=0))

    place = mine.points(elements, np.tile(xis, count)[None], points)[1][0]
    away = place[:, :, None] - ends[0][:, None]
    along = (away * ends[1][:, None]).sum(axis=0).reshape(count, _LOOKS, -1)
    e, k, end = np.nonzero((along[:, 1:] < 0.0) != (along[:, :-1] < 0.0))
    low, high = xis[k], xis[k + 1]
    below = along[e, k, end] < 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        same = (height(e, middle, end) < 0.0) == below
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return e, 0.5 * (low + high)


def cut(own: Surface, e: Ints, xi: Floats, points: Floats) -> Surface:
    """Return a boundary of the plane with its pieces cut at xi, and points on every segment.

    Parameters
    ----------
    own : the boundary
    e, xi : (c,) pieces and coordinates at which to cut
    points : (nodes, d) reference places [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_a_cut_boundary_is_the_same_curve
    """
    nodes, extraction, weights = [], [], []
    for k in range(own.nodes.shape[0]):
        inner = np.sort(xi[e == k])
        low = -1.0 + (_RIM if k == 0 else _SLIVER)
        high = 1.0 - (_RIM if k == own.nodes.shape[0] - 1 else _SLIVER)
        ends = np.concatenate([[-1.0], inner[(inner > low) & (inner < high)], [1.0]])
        ends = ends[np.append(True, np.diff(ends) > _SLIVER)]
        for low, high in itertools.pairwise(ends):
            nodes.append(own.nodes[k])
            weights.append(own.weights[k])
            extraction.append(own.extraction[k] @ _part(own.extraction.shape[2] - 1, low, high))
    made = np.array(nodes), np.array(extraction), np.array(weights)
    functions, rates = curve_functions(made[1], made[2], own.points)
    _, share = np.polynomial.legendre.leggauss(own.points.size)
    tangents = np.matmul(rates, points[made[0]])
    areas = share * np.sqrt((tangents * tangents).sum(axis=2))
    number = np.arange(len(nodes))
    after = np.append(number[1:], -1)
    neighbours = np.stack([number - 1, after], axis=1)
    return Surface(*made, neighbours, own.points, functions, rates[..., None], areas)


def _part(degree: int, low: float, high: float) -> Floats:
    """Return Bernstein coefficients on a part of [-1, 1] from those on the whole, as columns.

    The polar form of a polynomial at (low, .., high, ..) is its coefficient on the part.
    """
    columns = []
    for k in range(degree + 1):
        c = np.eye(degree + 1)
        for x in [low] * (degree - k) + [high] * k:
            t = 0.5 * (1.0 + x)
            c = (1.0 - t) * c[:-1] + t * c[1:]
        columns.append(c[0])
    return np.stack(columns, axis=1)
