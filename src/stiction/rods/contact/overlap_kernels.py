"""Largest penetration of rods and rigid cylinders, with or without a contact between them.

A segment is the part of a contact curve of one element. The broad phase of `pairs` finds pairs of
near segments, as in the search for contacts. Here every pair has a distance, that of its closest
points on the two segments, which need not be closest points of the whole curves. D is the vector
between two points, s1 and s2 are their positions along both curves [elements].

Source: formulas sheet (docs/formulas/rods.md), section 2.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.pairs import bound_segments, group_segments, near_segments
from stiction.rods.contact.search_kernels import nearest_on_chords, shrunk, tangency

Ints = npt.NDArray[np.int64]

# steps of Newton's method. Chosen: it converges quadratically, except where curves are nearly
# parallel
_STEPS = 16


class Overlap(Struct):
    """The largest penetration of two bodies.

    depth : penetration over the smaller radius [1]
    bodies : their indices, from 0
    place : positions s on both [elements]
    """

    depth: float
    bodies: Annotated[Integers, 2]
    place: Annotated[Vector, 2]


@kernel
def nearest_on_segments(
    r: Matrix, pair: tuple[int, int, int, int, int], segment: tuple[int, int], s1: float, s2: float
) -> tuple[float, float, float]:
    """Return the distance of two segments [m], and the positions s1, s2 of it [elements].

    Newton's method for |D|^2 / 2 from the guess s1, s2, limited to the segments; it finds a minimum
    near the guess. Where the function is not convex, one step is made in s1, then one in s2.

    pair : first slots and numbers of elements of both bodies, and the rule of the curves
    segment : indices of the segments on both
    """
    least, best1, best2 = math.inf, s1, s2
    low1, low2 = float(segment[0]), float(segment[1])
    for _ in range(_STEPS):
        # with D = r2 - r1: dd = D.D, f = D.r', t = r'.r', c = D.r''
        dd, f1, f2, t11, t12, t22, c1, c2 = tangency(r, pair, s1, s2)
        if dd < least:
            least, best1, best2 = dd, s1, s2
        # H = [[h11, -t12], [-t12, h22]], gradient (-f1, f2) of |D|^2 / 2
        h11, h22 = t11 - c1, t22 + c2
        det = h11 * h22 - t12 * t12
        # at an end of the segment beyond which the distance decreases, the position is fixed
        stop1 = (s1 <= low1 and f1 < 0.0) or (s1 >= low1 + 1.0 and f1 > 0.0)
        stop2 = (s2 <= low2 and f2 > 0.0) or (s2 >= low2 + 1.0 and f2 < 0.0)
        if h11 <= 0.0 or det <= 1e-3 * t11 * t22 or stop1 or stop2:
            # curvatures bounded below (by a fifth of t: chosen) keep the step downhill; the second
            # move uses the first one
            h11, h22 = max(h11, 0.2 * t11), max(h22, 0.2 * t22)
            new1 = s1 if stop1 else min(max(s1 + f1 / h11, low1), low1 + 1.0)
            new2 = s2 if stop2 else s2 - (f2 - (0.0 if stop1 else t12 * (new1 - s1))) / h22
        else:
            new1 = min(max(s1 + (h22 * f1 - t12 * f2) / det, low1), low1 + 1.0)
            new2 = s2 + (t12 * f1 - h11 * f2) / det
        new2 = min(max(new2, low2), low2 + 1.0)
        # far below the error that the distance needs, which is quadratic in this difference
        converged = max(abs(new1 - s1), abs(new2 - s2)) < 1e-10
        s1, s2 = new1, new2
        if converged:
            break
    dd, _, _, _, _, _, _, _ = tangency(r, pair, s1, s2)
    if dd < least:
        least, best1, best2 = dd, s1, s2
    return math.sqrt(least), best1, best2


@kernel
def deepest_overlap(
    r: Matrix,
    first: Ints,
    elements: Ints,
    radius: Vector,
    ds: Vector,
    self_separation: Ints,
    rule: int,
    rods: int,
    out: Table[Overlap],
) -> None:
    """Set `out` to the largest penetration of two bodies, at least one a rod; 0 if there is none.

    Parameters
    ----------
    r : (3, slots) nodes [m]
    first, elements : first slot and number of elements of each body; rods, then cylinders
    radius, ds : (bodies,) radius and rest length of an element [m]
    self_separation : pairs of segments of the same rod have at least this distance [elements]
    rule : rule of the curves, SPLINE or FITTED
    rods : number of rods among the bodies
    out : one element, zero on entry

    Verified by: tests/unit/rods/contact/test_overlap.py::test_random_rods_against_samples
    """
    most = out[0]
    # broad phase: pairs of segments with overlapping spheres
    segments, spheres = bound_segments(r, first, elements, radius, 0.0, rule)
    groups, around = group_segments(segments, spheres, radius, ds, 0.0)
    near_pairs, near, _ = near_segments(segments, spheres, groups, around, self_separation)
    for m in range(near):
        i, j = near_pairs[m]
        a, b = segments.rod[i], segments.rod[j]
        # two cylinders, whose motion is prescribed, may overlap
        if a >= rods and b >= rods:
            continue
        if shrunk(segments, i, ds[a]) or shrunk(segments, j, ds[b]):
            continue
        reach = radius[a] + radius[b]
        x1, x2, chord = nearest_on_chords(segments, i, j)
        # a curve leaves its chord by at most its bulge
        if chord > reach + segments.bulge[i] + segments.bulge[j]:
            continue
        pair = (first[a], first[b], elements[a], elements[b], rule)
        segment = (segments.number[i], segments.number[j])
        distance, s1, s2 = nearest_on_segments(r, pair, segment, segment[0] + x1, segment[1] + x2)
        depth = (reach - distance) / min(radius[a], radius[b])
        if depth > most.depth:
            most.depth, most.bodies[0], most.bodies[1] = depth, a, b
            most.place[0], most.place[1] = s1, s2
