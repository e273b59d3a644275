"""Variations of the moving ends of mortar segments: breakpoints and jumps of the projection.

A breakpoint s lies opposite to the end c of a partner element with the tangent v there. By the
implicit function theorem,

    h(s, y) = (X(s) - c) . v = 0,    ds = -dh / h_s,
    dds = -(ddh + dh_s ds + ds dh_s + h_ss ds ds) / h_s.

A jump s of the projection solves G = D_1 - D_2 = 0, with half the squared distances D_i(s, y) to
both local minima (see `segmentation`). With r = X - c and the tangent a of the partner, r . a = 0,
so that

    dD = r . dr,    dG / ds = (r_1 - r_2) . X',

where dr is taken at fixed xi. D_1 depends on the nodes of the segment before the jump and D_2 on
those of the segment behind it, so that ds has two parts.

All variations are rows by "slots d": the d = 2 coordinates of the nodes of the own element, then of
the nodes of each partner element that the segment refers to (`SegmentVariations.slots`). dh is
(segments, slots d), ddh (segments, slots d, slots d). In the code h_s is `slope`, h_ss is
`second_slope`, dh_s is `slide`, dX and dc enter through the shape functions `by`, and X - c is
`offset`. `segment_variations` calls this module for the tangents of forces.

Forces take jumps as fixed. Gaps agree on both sides of a jump, so that the energy changes with s by
the quadrature error alone, and friction does no work when the closest point becomes another one.
Tangents are derivatives of these forces, and contain the motion of jumps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.dimensions import dot

if TYPE_CHECKING:
    from stiction.solids.contact.segment_variations import ContactPairs, SegmentVariations

__all__ = [
    "Breakpoints",
    "JumpVariations",
    "Jumps",
    "functional",
    "outer",
    "segment_breakpoints",
    "symmetric_product",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def outer(one: Floats, other: Floats) -> Floats:
    """Return the outer products (p, a, b) of vectors (p, a) and (p, b)."""
    return one[:, :, None] * other[:, None, :]


def symmetric_product(one: Floats, other: Floats) -> Floats:
    """Return the sum of both outer products (p, a, a) of two vectors (p, a)."""
    product = outer(one, other)
    return product + product.transpose(0, 2, 1)


def functional(by: Floats, v: Floats) -> Floats:
    """Return the derivatives (p, slots d) of v . sum_k by_k y_k by the nodes y_k.

    Parameters
    ----------
    by, v : (p, slots) shape functions, and (p, d) vectors
    """
    return (by[:, :, None] * v[:, None, :]).reshape(by.shape[0], 2 * by.shape[1])


class Breakpoints(NamedTuple):
    """Breakpoints opposite to ends of partner elements, at one end of segments (k,).

    Parameters
    ----------
    which : (k,) segments
    end : 0 or 1
    first : (k, slots d) ds
    slope, second_slope : (k,) derivatives of h by s
    by_offset, by_v : (k, slots d, d) variations of X - c and of v
    slide : (k, slots d) variation of h by s and nodes
    bend : (k, slots d, slots d) second variation of v times X - c, where there are two tangents
    """

    which: Ints
    end: int
    first: Floats
    slope: Floats
    second_slope: Floats
    by_offset: Floats
    by_v: Floats
    slide: Floats
    bend: Floats | None

    def second(self) -> Floats:
        """Return dds, (k, slots d, slots d)."""
        cross = np.matmul(self.by_offset, self.by_v.transpose(0, 2, 1))
        numerator = cross + cross.transpose(0, 2, 1) + symmetric_product(self.slide, self.first)
        numerator += self.second_slope[:, None, None] * outer(self.first, self.first)
        if self.bend is not None:
            numerator += self.bend
        return np.asarray(-numerator / self.slope[:, None, None])


def segment_breakpoints(variations: SegmentVariations) -> list[Breakpoints]:
    """Return the breakpoints at both ends of all segments.

    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """
    return [_breakpoints_at(variations, end) for end in (0, 1)]


def _breakpoints_at(variations: SegmentVariations, end: int) -> Breakpoints:
    """Return the breakpoints at one end of all segments: 0 for the lower, 1 for the upper."""
    # c and v at the partner's element end; at a kink of the partner v has two tangents
    segments, x, curves = variations.segments, variations.states[0], variations.curves
    which = np.flatnonzero((segments.tangents[:, end] >= 0).any(axis=1))
    n_own, _n_element, n_total = variations.slots()
    slots, high = segments.tangents[which, end], (segments.sides[which, end] > 0.0).astype(np.int64)
    functions, here = curves.own(segments.element[which], segments.ends[which, end], x)
    both = (slots >= 0).all(axis=1)
    number = np.where(slots[:, 0] >= 0, 0, 1)
    row, n_nodes = np.arange(which.size), n_total // 2
    at = slots[row, number], high[row, number]
    place, by_place, v, by_v, tangent = _element_end(variations, which, *at)
    bend = None
    if both.any():
        on = np.flatnonzero(both)
        pair = [(place[on], by_v[on], tangent[on])]
        other = _element_end(variations, which[on], slots[on, 1], high[on, 1])
        pair.append((place[on], other[3], other[4]))
        v[on], by_v[on], second_term = _tangent_sum(here[0].T[on] - place[on], pair)
        bend = np.zeros((which.size, n_total, n_total))
        bend[on] = second_term
    # dh = d(X - c) . v + (X - c) . dv, and its derivatives by s
    own = np.zeros((2, which.size, n_nodes))
    own[0, :, : n_own // 2], own[1, :, : n_own // 2] = functions[0].T, functions[1].T
    offset = here[0].T - place
    by_offset = ((own[0] - by_place)[:, :, None, None] * np.eye(2)).reshape(-1, n_total, 2)
    first = np.matmul(by_offset, v[:, :, None]) + np.matmul(by_v, offset[:, :, None])
    rate, turn = here[1].T, here[2].T
    slide = functional(own[1], v) + np.matmul(by_v, rate[:, :, None])[:, :, 0]
    slope, second_slope = (rate * v).sum(axis=1), (turn * v).sum(axis=1)
    ds = -first[:, :, 0] / slope[:, None]
    return Breakpoints(which, end, ds, slope, second_slope, by_offset, by_v, slide, bend)


def _element_end(
    variations: SegmentVariations, which: Ints, slot: Ints, high: Ints
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return an element end in a slot, its variation, its tangent v, and the variation of v.

    Parameters
    ----------
    which : (k,) segments
    slot, high : (k,) which partner element of the segment, and at which of its ends, 0 or 1

    Returns
    -------
    c (k, d), shape functions of c (k, slots), v (k, d), derivatives of v (k, slots d, d), v again.
    """
    segments = variations.segments
    x = variations.states[0]
    n_own, n_element, n_total = variations.slots()
    at = segments.partner_elements[which, slot]
    f = variations.curves.ends[high, :, :, at]
    nodes = x[variations.curves.partner.nodes[at]]
    place, v = np.matmul(f[:, None, 0], nodes)[:, 0], np.matmul(f[:, None, 1], nodes)[:, 0]
    rows = np.arange(which.size)[:, None]
    columns = (n_own + n_element * slot)[:, None] // 2 + np.arange(n_element // 2)
    by = np.zeros((2, which.size, n_total // 2))
    by[0, rows, columns], by[1, rows, columns] = f[:, 0], f[:, 1]
    by_v = (by[1][:, :, None, None] * np.eye(2)).reshape(-1, n_total, 2)
    return place, by[0], v, by_v, v.copy()


def _tangent_sum(
    offset: Floats, pair: list[tuple[Floats, Floats, Floats]]
) -> tuple[Floats, Floats, Floats]:
    """Return v, dv and ddv . `offset` for the sum v of two unit tangents.

    At a kink of the partner between two elements, v bisects their tangents t1 and t2. With t = T /
    |T|, n normal to t, and the variations dT: dt = n (n . dT) / |T|, and ddt is the variation of
    this.

    Parameters
    ----------
    offset : (k, d) X - c
    pair : of both tangents c (k, d), derivatives of T (k, slots d, d), and T (k, d)
    """
    v, by_v, bend = np.zeros_like(offset), np.zeros_like(pair[0][1]), 0.0
    for _, by, tangent in pair:
        size = np.sqrt((tangent * tangent).sum(axis=1))[:, None]
        along, across = tangent / size, np.stack([-tangent[:, 1], tangent[:, 0]], axis=1) / size
        # the variation of a unit vector is normal to it
        turns = np.matmul(by, across[:, :, None])[:, :, 0] / size
        grows = np.matmul(by, along[:, :, None])[:, :, 0] / size
        v += along
        by_v += turns[:, :, None] * across[:, None, :]
        out, up = (offset * across).sum(axis=1), (offset * along).sum(axis=1)
        bend = bend - out[:, None, None] * symmetric_product(grows, turns)
        bend = bend - up[:, None, None] * outer(turns, turns)
    return v, by_v, np.asarray(bend)


class Jumps(NamedTuple):
    """Jumps of the closest-point projection (k,).

    Parameters
    ----------
    one, other : segments before and behind each jump
    pairs : (2 k,) contact pairs at the jumps, those of the segments before them first
    """

    one: Ints
    other: Ints
    pairs: ContactPairs


class JumpVariations:
    """Contributions of moving jumps of the projection to the variations of forces.

    Parameters
    ----------
    variations : of all segments
    jumps : of the projection

    Verified by: tests/unit/solids/contact/test_jumps.py::test_tangents_with_a_jump_inside_a_cell
    """

    def __init__(self, variations: SegmentVariations, jumps: Jumps) -> None:
        self.one, self.other = jumps.one, jumps.other
        at, pairs, count = np.concatenate([jumps.one, jumps.other]), jumps.pairs, jumps.one.size
        n_own, n_element, n_total = variations.slots()
        columns = (n_own + n_element * variations.segments.slot[at][:, None]) // 2 + np.arange(
            n_element // 2
        )
        by_r = np.zeros((at.size, n_total // 2))
        by_r[:, : n_own // 2] = pairs.own_functions[0].T
        by_r[np.arange(at.size)[:, None], columns] = -pairs.partner_functions[0].T
        r = pairs.own_places[0] - pairs.partner_places[0]
        sign = np.repeat([1.0, -1.0], count)
        slope = (sign * dot(r, pairs.own_places[1])).reshape(2, -1).sum(axis=0)
        ds = -sign[:, None] * functional(by_r, r.T) / np.tile(slope, 2)[:, None]
        # ds by the nodes of the segment before the jump, and of the one behind it
        self.first = ds[:count], ds[count:]

    def add(self, by_nodes: Floats, vectors: Floats) -> None:
        """Add the contributions of moving jumps to variations.

        Parameters
        ----------
        by_nodes : (c, slots d) variations of segments by nodes, added to
        vectors : (c, M) variations by (y, s_a, s_b): the M - 2 coordinates of the own and of the
            partner element, and both ends of the segment, which alone are used
        """
        rate = (vectors[self.one, -1] + vectors[self.other, -2])[:, None]
        by_nodes[self.one] += rate * self.first[0]
        by_nodes[self.other] += rate * self.first[1]

    def bend(self, hessian: Floats, second: Floats, chain: Floats) -> tuple[Floats, Floats]:
        """Add to derivatives of forces by nodes (c, slots d, slots d); return coupling blocks.

        These couple the segment before each jump with the one behind it, and in the other order.

        Parameters
        ----------
        second, chain : (2 k, M, M) second variations by (y, s_a, s_b) of the segments before and
            behind jumps, and (2 k, M, slots d) derivatives of (y, s_a, s_b) by nodes
        """
        ends = np.repeat([-1, -2], self.one.size)
        by_end = np.take_along_axis(second, ends[:, None, None], axis=2)[:, :, 0]
        by_jump = np.split(np.einsum("km,kmz->kz", by_end, chain), 2)
        hessian[self.one] += outer(by_jump[0], self.first[0])
        hessian[self.other] += outer(by_jump[1], self.first[1])
        return outer(by_jump[0], self.first[1]), outer(by_jump[1], self.first[0])
