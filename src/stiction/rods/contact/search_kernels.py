"""Closest points of contact curves: local minima of the distance, for the search for contacts.

The broad phase of `pairs` gives pairs of near segments, each the part of a curve of one element.
Newton's method finds the minima of |D|^2 on each pair: D . t1 = D . t2 = 0 with the separation
vector D of two points and the tangents t1, t2 there. Called by `contact.search` at the start, when
nodes have moved by a fraction of the margin, and when a step requests a search.

Arguments: r (3, slots) nodes of all rods [m], s1, s2 positions on both rods [elements], i and j
numbers of segments in the table `pairs.Segments`, `raw` a table of candidates with duplicates.

Source: formulas sheet (docs/formulas/rods.md), sections 2 and 3 (tangency on the spline).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import axis_point
from stiction.rods.contact.kernels import CROSSING, LINE, LINE_BELOW, at_end
from stiction.rods.contact.pairs import Segments, bound_segments, group_segments, near_segments

Ints = npt.NDArray[np.int64]

# largest number of steps of Newton's method. Chosen: about five are needed
NEWTON_STEPS = 25
# difference of positions, in elements, below which two minima are one. Chosen, above the error of
# Newton's method
SAME_PLACE = 1e-4
# a minimum at the border of two segments, within this number of elements, belongs to both until
# duplicates are merged. Chosen, below SAME_PLACE
BORDER = 1e-6


class Candidate(Struct):
    """A local minimum of the distance of two contact curves.

    bodies : indices of the bodies, from 0, the lower one first
    place : positions s on both [elements]
    distance, sine : distance of the axes [m], sine of the angle between them
    kind : CROSSING or LINE
    """

    bodies: Annotated[Integers, 2]
    place: Annotated[Vector, 2]
    distance: float
    sine: float
    kind: int


Candidates = Table[Candidate]
_CANDIDATE: Any = Candidate.fields_type


@kernel
def nearest_on_chords(segments: Segments, i: int, j: int) -> tuple[float, float, float]:
    """Return the closest points of two chords, as fractions in [0, 1], and the distance [m]."""
    # |d + x2 t2 - x1 t1|^2 is quadratic in x1, x2; a to f are its coefficients (Ericson 2005,
    # closest points of two segments)
    a, b, c, e, f = 0.0, 0.0, 0.0, 0.0, 0.0
    for x in range(3):
        t1, t2 = (
            segments.end[i, x] - segments.start[i, x],
            segments.end[j, x] - segments.start[j, x],
        )
        d = segments.start[j, x] - segments.start[i, x]
        a += t1 * t1
        b += t1 * t2
        c += t2 * t2
        e += t1 * d
        f += t2 * d
    det = a * c - b * b
    # parallel chords (sine below 1e-6, chosen) have a line of closest points: take the middle
    x1 = 0.5
    if det > 1e-12 * a * c:
        x1 = min(max((e * c - b * f) / det, 0.0), 1.0)
    # the best x2 for this x1; where it is outside, the best x1 for the end of the second chord
    x2 = (b * x1 - f) / c if c > 0.0 else 0.0
    if x2 < 0.0 or x2 > 1.0:
        x2 = min(max(x2, 0.0), 1.0)
        x1 = min(max((b * x2 + e) / a, 0.0), 1.0) if a > 0.0 else 0.0
    d2 = 0.0
    for x in range(3):
        p = segments.start[i, x] + x1 * (segments.end[i, x] - segments.start[i, x])
        q = segments.start[j, x] + x2 * (segments.end[j, x] - segments.start[j, x])
        d2 += (q - p) * (q - p)
    return x1, x2, math.sqrt(d2)


@kernel
def tangency(
    r: Matrix, pair: tuple[int, int, int, int, int], s1: float, s2: float
) -> tuple[float, float, float, float, float, float, float, float]:
    """Return |D|^2, D.t1, D.t2, t1.t1, t1.t2, t2.t2, D.r1'', D.r2'' [m^2] at s1, s2.

    pair : first slots and numbers of elements of both rods, and the rule of the curves
    """
    dd, f1, f2, t11, t12, t22, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first1, first2, count1, count2, rule = pair
    for a in range(3):
        x1, u1, b1 = axis_point(r, first1, count1, s1, a, rule)
        x2, u2, b2 = axis_point(r, first2, count2, s2, a, rule)
        d = x2 - x1
        dd += d * d
        f1 += d * u1
        f2 += d * u2
        t11 += u1 * u1
        t12 += u1 * u2
        t22 += u2 * u2
        c1 += d * b1
        c2 += d * b2
    return dd, f1, f2, t11, t12, t22, c1, c2


@kernel
def shrunk(segments: Segments, i: int, ds: float) -> bool:
    """Return whether a segment has shrunk to a point, so that it has no direction.

    The bound, 1e-6 of the length ds without load, was chosen: no strain of a rod reaches it.
    """
    start, end = segments.start[i], segments.end[i]
    x, y, z = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    return math.sqrt(x * x + y * y + z * z) < 1e-6 * ds


@kernel
def approach(
    r: Matrix,
    pair: tuple[int, int, int, int, int],
    segment: tuple[int, int],
    fixed: bool,
    s1: float,
    s2: float,
    candidate: Candidate,
) -> bool:
    """Find the closest points from the guess s1, s2; return False if none is found on the segments.

    Sets positions, distance and sine of the candidate. With `fixed` only s2 varies. `pair` is that
    of `tangency`, `segment` are the indices of the segments on both rods. The fractions below of
    t . t that count as too little convexity were chosen; they affect the path of Newton's method,
    not its end.
    """
    _, _, count1, count2, _ = pair
    for _ in range(NEWTON_STEPS):
        # iterates outside the neighbourhood belong to other segments
        if abs(s1 - segment[0] - 0.5) > 1.5 or abs(s2 - segment[1] - 0.5) > 1.5:
            return False
        s1, s2 = min(max(s1, 0.0), float(count1)), min(max(s2, 0.0), float(count2))
        dd, f1, f2, t11, t12, t22, c1, c2 = tangency(r, pair, s1, s2)
        # Newton's method on tangency, A of (10), as in `contact.kernels.locate`
        a11, a22 = -t11 + c1, t22 + c2
        det = a11 * a22 + t12 * t12
        if fixed:
            # without convexity (below a tenth of t2 . t2, chosen), a step with t2 . t2 in place of
            # the second derivative
            move1, move2 = 0.0, -f2 / (a22 if a22 > 0.1 * t22 else t22)
        else:
            # without convexity, a step with a matrix without curvatures decreases the distance; the
            # factor 1.1 makes its determinant nonzero for parallel tangents
            if a11 >= 0.0 or det >= -1e-3 * t11 * t22:
                a11, a22 = -1.1 * t11, 1.1 * t22
                det = a11 * a22 + t12 * t12
            move1 = -(f1 * a22 - t12 * f2) / det
            move2 = -(a11 * f2 + t12 * f1) / det
        size = max(abs(move1), abs(move2))
        # NaN fails the comparison
        if not size < 1e300:
            return False
        if size > 0.5:
            move1, move2 = 0.5 * move1 / size, 0.5 * move2 / size
        s1, s2 = s1 + move1, s2 + move2
        # convergence is quadratic: the next step would be about 1e-18
        if size < 1e-9:
            break
    else:
        return False
    # a minimum on another segment belongs to the pair of that segment
    if s1 < 0.0 or s2 < 0.0 or s1 > count1 or s2 > count2:
        return False
    if abs(s1 - segment[0] - 0.5) > 0.5 + BORDER or abs(s2 - segment[1] - 0.5) > 0.5 + BORDER:
        return False
    dd, f1, f2, t11, t12, t22, c1, c2 = tangency(r, pair, s1, s2)
    # a root of tangency is a minimum if the Hessian of |D|^2 is positive definite:
    # -a11 > 0, a22 > 0, det A < 0
    if t22 + c2 <= 0.0:
        return False
    if not fixed and (-t11 + c1 >= 0.0 or (-t11 + c1) * (t22 + c2) + t12 * t12 >= 0.0):
        return False
    candidate.place[0], candidate.place[1], candidate.distance = s1, s2, math.sqrt(dd)
    candidate.sine = math.sqrt(max(t11 * t22 - t12 * t12, 0.0) / (t11 * t22))
    return True


@kernel
def sine_range(segments: Segments, i: int, j: int) -> tuple[float, float]:
    """Return lower and upper bound of the sine of the angle between tangents of two segments."""
    a, b, c = 0.0, 0.0, 0.0
    for x in range(3):
        t1, t2 = (
            segments.end[i, x] - segments.start[i, x],
            segments.end[j, x] - segments.start[j, x],
        )
        a += t1 * t1
        b += t1 * t2
        c += t2 * t2
    sine = math.sqrt(max(a * c - b * b, 0.0) / (a * c))
    # a tangent differs from its chord by at most four bulges; an angle is at most pi / 2 sines
    slack = 2.0 * math.pi * (segments.bulge[i] / math.sqrt(a) + segments.bulge[j] / math.sqrt(c))
    # chosen: above the rounding error of a sine near 0, the root of that of its square
    slack += 1e-6
    return sine - slack, sine + slack


@kernel
def inspect(
    r: Matrix,
    first: Ints,
    elements: Ints,
    rods: tuple[int, int],
    segment: tuple[int, int],
    guess: tuple[float, float],
    sines: tuple[float, float],
    limit: float,
    rule: int,
    candidates: Candidates,
) -> int:
    """Set up to five candidates of a pair of segments; return their number.

    first, elements, rule : as of `find_candidates`
    rods, segment : indices of the rods, and of the segments on them
    guess : closest points of the chords, as fractions
    sines : bounds of `sine_range`
    limit : largest distance of the axes of interest [m]
    """
    a, b = rods
    pair = (first[a], first[b], elements[a], elements[b], rule)
    count = 0
    for kind in (CROSSING, LINE):
        candidate = candidates[count]
        fixed = kind == LINE
        # the angle anywhere on the segments excludes one of both kinds
        if (sines[0] >= LINE_BELOW) if fixed else (sines[1] < LINE_BELOW):
            continue
        # a point of a line contact stays at the middle of an element of the first rod
        s1 = segment[0] + (0.5 if fixed else guess[0])
        if not approach(r, pair, segment, fixed, s1, segment[1] + guess[1], candidate):
            continue
        # the sine at the point decides: it is either a crossing or a point of a line contact
        if candidate.distance < limit and (candidate.sine < LINE_BELOW) == fixed:
            candidate.bodies[0], candidate.bodies[1], candidate.kind = a, b, kind
            count += 1
    # minima at ends of rods: at an end of the first, of the second, of both
    for which in range(1, 4):
        s1, s2 = end_of(segment[0], elements[a]), end_of(segment[1], elements[b])
        if (which != 2 and s1 < 0.0) or (which != 1 and s2 < 0.0):
            continue
        s1 = s1 if which != 2 else segment[0] + guess[0]
        s2 = s2 if which != 1 else segment[1] + guess[1]
        candidate = candidates[count]
        if (
            nearest_at_end(r, pair, segment, which, s1, s2, candidate)
            and candidate.distance < limit
        ):
            candidate.bodies[0], candidate.bodies[1], candidate.kind = a, b, CROSSING
            count += 1
    return count


@kernel
def end_of(segment: int, count: int) -> float:
    """Return s of the rod end on a segment [elements]; -1 if there is none.

    count : number of elements of the rod
    """
    if segment == 0:
        return 0.0
    return float(count) if segment == count - 1 else -1.0


@kernel
def nearest_at_end(
    r: Matrix,
    pair: tuple[int, int, int, int, int],
    segment: tuple[int, int],
    which: int,
    s1: float,
    s2: float,
    candidate: Candidate,
) -> bool:
    """Find the closest points at an end of the first rod (`which` 1), the second (2), or both (3).

    Sets positions, distance and sine of the candidate. Returns False if the distance decreases from
    the end into the rod, or if the closest point of the other rod is on another segment.
    """
    for _ in range(NEWTON_STEPS if which != 3 else 0):
        dd, f1, f2, t11, t12, t22, c1, c2 = tangency(r, pair, s1, s2)
        # one unknown: first and second derivative of |D|^2 / 2; without convexity t . t replaces
        # the second one
        slope, second, least = (-f1, t11 - c1, t11) if which == 2 else (f2, t22 + c2, t22)
        # constants as in Newton's method above
        move = -slope / (second if second > 0.1 * least else least)
        move = min(max(move, -0.5), 0.5)
        if which == 2:
            s1 = min(max(s1 + move, float(segment[0])), segment[0] + 1.0)
        else:
            s2 = min(max(s2 + move, float(segment[1])), segment[1] + 1.0)
        if abs(move) < 1e-9:
            break
    dd, f1, f2, t11, t12, t22, c1, c2 = tangency(r, pair, s1, s2)
    candidate.place[0], candidate.place[1], candidate.distance = s1, s2, math.sqrt(dd)
    candidate.sine = math.sqrt(max(t11 * t22 - t12 * t12, 0.0) / (t11 * t22))
    parallel, tolerance = candidate.sine < LINE_BELOW, 1e-8 * math.sqrt(dd)
    # the distance is stationary along the other rod, cos(D, t) = 0 to 1e-8: the root of rounding
    if which == 2 and abs(f1) > tolerance * math.sqrt(t11):
        return False
    if which == 1 and abs(f2) > tolerance * math.sqrt(t22):
        return False
    # and it increases from the end into the rod
    if which != 2 and not at_end(s1, pair[2], f1, parallel and which == 1):
        return False
    return which == 1 or at_end(s2, pair[3], -f2, parallel and which == 2)


@kernel
def comes_after(raw: Candidates, i: int, j: int) -> bool:
    """Return whether candidate i sorts after candidate j: by rods, then by s on the first."""
    one, other = raw[i], raw[j]
    for side in range(2):
        if one.bodies[side] != other.bodies[side]:
            return bool(one.bodies[side] > other.bodies[side])
    return bool(one.place[0] > other.place[0])


@kernel(allocates=True)
def sorted_rows(raw: Candidates) -> Ints:
    """Return the sorted order of the candidates, by merge sort."""
    count = raw.shape[0]
    order, other = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        order[i] = i
    # bottom-up and stable: runs of `width` in order are merged in pairs
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            i, middle = low, min(low + width, count)
            j, high = middle, min(low + 2 * width, count)
            for k in range(low, high):
                if j >= high or (i < middle and not comes_after(raw, order[i], order[j])):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@kernel(allocates=True)
def merge(raw: Candidates, pairs_out: Candidates) -> int:
    """Sort candidates by rods and position, remove duplicates, store them; return their number."""
    order = sorted_rows(raw)
    retained = np.empty(raw.shape[0], np.int64)
    total = 0
    for place in range(raw.shape[0]):
        i = order[place]
        one, double = raw[i], False
        # candidates are sorted, so duplicates are among the last ones of the same rods
        for back in range(total - 1, -1, -1):
            other = raw[retained[back]]
            if other.bodies[0] != one.bodies[0] or other.bodies[1] != one.bodies[1]:
                break
            if one.place[0] - other.place[0] > SAME_PLACE:
                break
            if other.kind == one.kind and abs(one.place[1] - other.place[1]) < SAME_PLACE:
                double = True
                break
        if double:
            continue
        # counted even if the table is full: the caller repeats with a larger one
        if total < pairs_out.shape[0]:
            pairs_out[total] = one
        retained[total] = i
        total += 1
    return total


@kernel(allocates=True)
def find_candidates(
    r: Matrix,
    first: Ints,
    elements: Ints,
    radius: Vector,
    ds: Vector,
    margin: float,
    self_separation: Ints,
    rule: int,
    pairs_out: Candidates,
) -> int:
    """Find the candidates for contacts of curves; return their number.

    A candidate is a local minimum of the distance whose gap is less than `margin`. Curves within
    twenty degrees of parallel form a line contact instead: every element of the first rod gives one
    candidate, its middle and the closest point of the other rod. A pair of segments, each of one
    element, gives one crossing at most.

    Parameters
    ----------
    r : (3, slots) nodes of all rods [m]
    first, elements, radius, ds : of each rod: first slot, number of elements, radius [m], rest
        length of an element [m]
    margin : largest gap of interest [m]
    self_separation : pairs of segments of the same rod have at least this distance [elements]
    rule : rule of the curves, SPLINE or FITTED
    pairs_out : output, sorted by rods and positions on the first; if the returned number exceeds
        its length, the rest is missing

    Verified by: tests/unit/rods/contact/test_search.py::test_random_rods_against_all_pairs
    """
    # broad phase: pairs of segments with overlapping spheres; then closest points of each pair
    segments, spheres = bound_segments(r, first, elements, radius, margin, rule)
    groups, around = group_segments(segments, spheres, radius, ds, margin)
    near_pairs, near, _ = near_segments(segments, spheres, groups, around, self_separation)
    raw: Any = np.empty(64, _CANDIDATE)
    count = 0
    for m in range(near):
        i, j = near_pairs[m]
        a, b = segments.rod[i], segments.rod[j]
        if shrunk(segments, i, ds[a]) or shrunk(segments, j, ds[b]):
            continue
        limit = radius[a] + radius[b] + margin
        x1, x2, chord = nearest_on_chords(segments, i, j)
        # a curve is within `bulge` of its chord: this pair is too far apart everywhere
        if chord > limit + segments.bulge[i] + segments.bulge[j]:
            continue
        # `inspect` sets at most five: a crossing, a point of a line contact, three at ends
        if count + 5 > raw.shape[0]:
            wider = np.empty(2 * raw.shape[0], _CANDIDATE)
            for candidate in range(count):
                wider[candidate] = raw[candidate]
            raw = wider
        segment = (segments.number[i], segments.number[j])
        sines = sine_range(segments, i, j)
        rods, guess, unused = (a, b), (x1, x2), raw[count:]
        count += inspect(r, first, elements, rods, segment, guess, sines, limit, rule, unused)
    return merge(raw[:count], pairs_out)
