"""Broad phase: pairs of short curve segments with overlapping bounding spheres, at linear cost.

Element k of a rod is its contact curve for k <= s <= k + 1, a cubic with four Bezier points; the
curve stays inside their convex hull; beyond an end its points continue in a straight line. Every
segment has a bounding sphere of these points, every group of segments a larger one. Large
spheres of like size share a grid, grids double their cells from level to level, and a sphere looks
at the cells around it on its own and on each coarser level: thick and thin rods together cost no
more than either alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import points_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_LEVELS = 48
LONGEST_GROUP = 32.0
_LARGEST = float(1 << 62)


class Segments(NamedTuple):
    """Segments of all rods.

    rod, number : (n,) which rod, and k
    bulge : (n,) how far the curve leaves its chord [m]
    start, end : (n, 3) of the chord [m]
    """

    rod: Ints
    number: Ints
    bulge: Floats
    start: Floats
    end: Floats


class Spheres(NamedTuple):
    """Spheres around segments, or around groups of them: (n, 3) centres and (n,) radii [m]."""

    centre: Floats
    size: Floats


@kernel(allocates=True)
def bound_segments(
    r: Matrix, first: Ints, elements: Ints, radius: Vector, margin: float, rule: int
) -> tuple[Segments, Spheres]:
    """Return the segments and their bounding spheres.

    `rule` is that of the curves. A sphere has the rod's radius and half the margin on
    top: two segments can only be near if their spheres overlap.
    """
    total = 0
    for b in range(first.shape[0]):
        total += elements[b]
    segments = Segments(
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty(total),
        np.empty((total, 3)),
        np.empty((total, 3)),
    )
    spheres = Spheres(np.empty((total, 3)), np.empty(total))
    i = 0
    for b in range(first.shape[0]):
        for k in range(elements[b]):
            segments.rod[i], segments.number[i] = b, k
            far, bulge1, bulge2, half2 = 0.0, 0.0, 0.0, 0.0
            for a in range(3):
                # Bezier points of a segment of a uniform cubic B-spline: ends (p + 4 q + u) / 6 and
                # (q + 4 u + w) / 6, inner points (2 q + u) / 3 and (q + 2 u) / 3
                p, q, u, w = points_of(r, first[b], elements[b], k, a, rule)
                start, end = (p + 4.0 * q + u) / 6.0, (q + 4.0 * u + w) / 6.0
                segments.start[i, a], segments.end[i, a] = start, end
                spheres.centre[i, a] = 0.5 * (start + end)
                half2 += 0.25 * ((end - start) * (end - start))
                # what the inner points differ from thirds of the chord: a straight cubic has them
                # there
                off1 = (2.0 * q + u) / 3.0 - (2.0 * start + end) / 3.0
                off2 = (q + 2.0 * u) / 3.0 - (start + 2.0 * end) / 3.0
                bulge1 += off1 * off1
                bulge2 += off2 * off2
            # the weights of the two inner points never add up to more than 3/4
            segments.bulge[i] = 0.75 * math.sqrt(max(bulge1, bulge2))
            far = math.sqrt(half2) + segments.bulge[i]
            spheres.size[i] = far + radius[b] + 0.5 * margin
            i += 1
    return segments, spheres


@kernel(allocates=True)
def group_segments(
    segments: Segments, spheres: Spheres, radius: Vector, ds: Vector, margin: float
) -> tuple[Ints, Spheres]:
    """Return groups of consecutive segments (first, one past the last) and bounding spheres.

    Where a rod is thicker than its segments are long, each segment would overlap with many of its
    own rod; groups about as long as the rod is thick do not.
    """
    total = segments.rod.shape[0]
    groups = np.empty((total, 2), np.int64)
    centre, sizes = np.empty((total, 3)), np.empty(total)
    count, i = 0, 0
    while i < total:
        b = segments.rod[i]
        # in elements; a group is as long as the rod and its margin are thick
        thickness, length = (2.0 * radius[b] + margin) / ds[b], 1
        # NaN fails the comparison and leaves single segments
        if thickness > 1.0:
            length = int(min(thickness, LONGEST_GROUP))
        end = i + 1
        while end < total and end < i + length and segments.rod[end] == b:
            end += 1
        size = 0.0
        for a in range(3):
            # the middle of the first and the last is near the middle of all on a smooth rod
            centre[count, a] = 0.5 * (spheres.centre[i, a] + spheres.centre[end - 1, a])
        for j in range(i, end):
            d2 = 0.0
            for a in range(3):
                x = spheres.centre[j, a] - centre[count, a]
                d2 += x * x
            size = max(size, math.sqrt(d2) + spheres.size[j])
        sizes[count] = size
        groups[count, 0], groups[count, 1] = i, end
        count += 1
        i = end
    return groups[:count], Spheres(centre[:count], sizes[:count])


def _cell_of(x: float) -> int:
    # what does not fit in compiled code either
    return math.floor(x) if abs(x) < _LARGEST else -(1 << 63)


@kernel(plain=_cell_of)
def cell_of(x: float) -> int:
    """Return the largest whole number that is not above x."""
    return math.floor(x)


def _bucket_of(level: int, x: int, y: int, z: int, mask: int) -> int:
    # Python's integers are as long as they need to be
    level, x, y, z = int(level), int(x), int(y), int(z)
    h = _wrapped(x * 73856093 ^ y * 19349663 ^ z * 83492791 ^ level * 6542989)
    h = _wrapped((h ^ (h >> 17)) * 2246822519)
    return (h ^ (h >> 13)) & mask


def _wrapped(h: int) -> int:
    """Return what is left of a whole number in 64 bits."""
    h &= (1 << 64) - 1
    return h - (1 << 64) if h >> 63 else h


@kernel(plain=_bucket_of)
def bucket_of(level: int, x: int, y: int, z: int, mask: int) -> int:
    """Return the bucket of a cell."""
    h = x * 73856093 ^ y * 19349663 ^ z * 83492791 ^ level * 6542989
    h ^= h >> 17
    h *= 2246822519
    return (h ^ (h >> 13)) & mask


@kernel(allocates=True)
def sort_into_cells(spheres: Spheres) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the cells (level, x, y, z), cell sizes by level (0 unused), buckets, and order.

    The members of bucket h are order[start[h] : start[h + 1]].
    """
    n = spheres.size.shape[0]
    least = math.inf
    for i in range(n):
        least = min(least, spheres.size[i])
    widths = np.zeros(MOST_LEVELS)
    cells = np.empty((n, 4), np.int64)
    # a power of two, at least twice the spheres: a mask gives the bucket, and few cells share one
    slots = 16
    while slots < 2 * n:
        slots *= 2
    start = np.zeros(slots + 1, np.int64)
    for i in range(n):
        # cells of a level are at least as wide as its spheres, so that overlapping ones of a level
        # are in neighbouring cells
        level, width = 0, 2.0 * least
        while width < 2.0 * spheres.size[i] and level < MOST_LEVELS - 1:
            width *= 2.0
            level += 1
        widths[level] = width
        cells[i, 0] = level
        for a in range(3):
            cells[i, 1 + a] = cell_of(spheres.centre[i, a] / width)
        h = bucket_of(level, cells[i, 1], cells[i, 2], cells[i, 3], slots - 1)
        start[h + 1] += 1
    # counting sort by bucket: counts, running sums, places
    for h in range(slots):
        start[h + 1] += start[h]
    fill = start[:-1].copy()
    order = np.empty(n, np.int64)
    for i in range(n):
        h = bucket_of(cells[i, 0], cells[i, 1], cells[i, 2], cells[i, 3], slots - 1)
        order[fill[h]] = i
        fill[h] += 1
    return cells, widths, start, order


@kernel(allocates=True)
def near_groups(groups: Ints, spheres: Spheres) -> tuple[Ints, int, int]:
    """Return pairs of groups whose spheres overlap, how many, and how many were looked at.

    A group is paired with itself too.
    """
    cells, widths, start, order = sort_into_cells(spheres)
    pairs = np.empty((2 * groups.shape[0] + 64, 2), np.int64)
    count, tests, mask = 0, 0, start.shape[0] - 2
    for i in range(groups.shape[0]):
        # coarser levels only: a smaller sphere searches for larger ones, not the reverse
        for level in range(cells[i, 0], MOST_LEVELS):
            width = widths[level]
            if width == 0.0:
                continue
            cx = cell_of(spheres.centre[i, 0] / width)
            cy = cell_of(spheres.centre[i, 1] / width)
            cz = cell_of(spheres.centre[i, 2] / width)
            same = level == cells[i, 0]
            # within one level half of the neighbouring cells are enough by symmetry
            for turn in range(13 if same else 0, 27):
                x, y, z = cx + turn % 3 - 1, cy + turn // 3 % 3 - 1, cz + turn // 9 - 1
                h = bucket_of(level, x, y, z, mask)
                for place in range(start[h], start[h + 1]):
                    j = order[place]
                    tests += 1
                    if cells[j, 0] != level or (same and turn == 13 and j < i):
                        continue
                    # another cell may share the bucket
                    if cells[j, 1] != x or cells[j, 2] != y or cells[j, 3] != z:
                        continue
                    if not overlap(spheres, i, j):
                        continue
                    if count == pairs.shape[0]:
                        pairs = longer(pairs)
                    pairs[count, 0], pairs[count, 1] = min(i, j), max(i, j)
                    count += 1
    return pairs, count, tests


@kernel(allocates=True, separate=True)
def near_segments(
    segments: Segments, spheres: Spheres, groups: Ints, around: Spheres, self_separation: Ints
) -> tuple[Ints, int, int]:
    """Return pairs of segments whose spheres overlap, their number, and the number of tests.

    The first of a pair is on the rod with the lower number, or is the earlier one on its rod.
    """
    close, many, tests = near_groups(groups, around)
    pairs = np.empty((64, 2), np.int64)
    count = 0
    for m in range(many):
        one, two = groups[close[m, 0]], groups[close[m, 1]]
        # neighbours on one rod are always near: they count from `self_separation` elements on
        separation = 0
        if segments.rod[one[0]] == segments.rod[two[0]]:
            separation = max(self_separation[segments.rod[one[0]]], 1)
        for i in range(one[0], one[1]):
            for j in range(max(two[0], i + separation), two[1]):
                tests += 1
                if not overlap(spheres, i, j):
                    continue
                if count == pairs.shape[0]:
                    pairs = longer(pairs)
                pairs[count, 0], pairs[count, 1] = i, j
                count += 1
    return pairs, count, tests


@kernel(allocates=True)
def longer(pairs: Ints) -> Ints:
    """Return a copy with twice the room."""
    more = np.empty((2 * pairs.shape[0], 2), np.int64)
    for m in range(pairs.shape[0]):
        more[m, 0], more[m, 1] = pairs[m, 0], pairs[m, 1]
    return more


@kernel
def overlap(spheres: Spheres, i: int, j: int) -> bool:
    """Return whether two spheres overlap."""
    d2 = 0.0
    for a in range(3):
        x = spheres.centre[i, a] - spheres.centre[j, a]
        d2 += x * x
    reach = spheres.size[i] + spheres.size[j]
    return bool(d2 < reach * reach)
