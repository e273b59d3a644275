"""Broad phase: pairs of short curve segments with overlapping bounding spheres, at linear cost.

Segment k of a rod is its contact curve for k <= s <= k + 1, a cubic inside the convex hull of its
four Bezier points. Every segment has a bounding sphere of these points, every group of segments a
larger one. The spheres are sorted into a hierarchy of hashed grids, whose cell size doubles from
level to level. Each sphere belongs to the level of its size, and is compared with those in
neighbouring cells of its own level and of each coarser one. So the cost is linear, also for thick
and thin rods together. Called by `search_kernels` and `overlap_kernels`.

Source: Ericson 2005 (hierarchical grids); Teschner and others 2003 (hash function).
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

# number of levels of the grids: the cells of each are twice as wide as those of the last
MOST_LEVELS = 48
# largest number of segments in a group that one sphere encloses. Chosen
LONGEST_GROUP = 32.0
_LARGEST = float(1 << 62)


class Segments(NamedTuple):
    """Segments of all rods.

    rod, number : (n,) index of the rod, and k
    bulge : (n,) bound of the distance of the curve from its chord [m]
    start, end : (n, 3) ends of the chord [m]
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

    The radius of a sphere includes that of the rod and half the margin. So two segments whose gap
    is below the margin have overlapping spheres.

    r : (3, slots) nodes [m]
    first, elements, radius : of each rod: first slot, number of elements, radius [m]
    margin : largest gap of interest [m]
    rule : rule of the curves, SPLINE or FITTED
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
            half_size, bulge1, bulge2, half2 = 0.0, 0.0, 0.0, 0.0
            for a in range(3):
                # Bezier points of a segment of a uniform cubic B-spline: ends (p + 4 q + u) / 6 and
                # (q + 4 u + w) / 6, inner points (2 q + u) / 3 and (q + 2 u) / 3
                p, q, u, w = points_of(r, first[b], elements[b], k, a, rule)
                start, end = (p + 4.0 * q + u) / 6.0, (q + 4.0 * u + w) / 6.0
                segments.start[i, a], segments.end[i, a] = start, end
                spheres.centre[i, a] = 0.5 * (start + end)
                half2 += 0.25 * ((end - start) * (end - start))
                # distance of the inner points from the thirds of the chord, where those of a
                # straight cubic are
                off1 = (2.0 * q + u) / 3.0 - (2.0 * start + end) / 3.0
                off2 = (q + 2.0 * u) / 3.0 - (start + 2.0 * end) / 3.0
                bulge1 += off1 * off1
                bulge2 += off2 * off2
            # the Bernstein weights of the two inner points add up to at most 3/4
            segments.bulge[i] = 0.75 * math.sqrt(max(bulge1, bulge2))
            half_size = math.sqrt(half2) + segments.bulge[i]
            spheres.size[i] = half_size + radius[b] + 0.5 * margin
            i += 1
    return segments, spheres


@kernel(allocates=True)
def group_segments(
    segments: Segments, spheres: Spheres, radius: Vector, ds: Vector, margin: float
) -> tuple[Ints, Spheres]:
    """Return (n, 2) groups of consecutive segments, first and one past the last, and spheres.

    Spheres of segments shorter than the rod is thick overlap with many others of the same rod;
    spheres of groups about as long as the rod is thick do not.

    ds : (rods,) rest length of an element [m]
    """
    total = segments.rod.shape[0]
    groups = np.empty((total, 2), np.int64)
    centre, sizes = np.empty((total, 3)), np.empty(total)
    count, i = 0, 0
    while i < total:
        b = segments.rod[i]
        # length of the group in elements: rod diameter and margin
        thickness, length = (2.0 * radius[b] + margin) / ds[b], 1
        # NaN fails the comparison and leaves single segments
        if thickness > 1.0:
            length = int(min(thickness, LONGEST_GROUP))
        end = i + 1
        while end < total and end < i + length and segments.rod[end] == b:
            end += 1
        size = 0.0
        for a in range(3):
            # on a smooth rod the midpoint of the first and the last is near the middle of all
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
    """Return `cell_of` in plain Python."""
    # the compiled code has the same result if the number does not fit
    return math.floor(x) if abs(x) < _LARGEST else -(1 << 63)


@kernel(plain=_cell_of)
def cell_of(x: float) -> int:
    """Return floor(x), the grid cell of a coordinate in cell widths."""
    return math.floor(x)


def _bucket_of(level: int, x: int, y: int, z: int, mask: int) -> int:
    """Return `bucket_of` in plain Python."""
    # primes of Teschner and others 2003 for x, y, z; the fourth number and the multiplier, large
    # and odd, were chosen. Python's integers do not overflow: wrap them as 64-bit integers do
    level, x, y, z = int(level), int(x), int(y), int(z)
    h = _wrapped(x * 73856093 ^ y * 19349663 ^ z * 83492791 ^ level * 6542989)
    h = _wrapped((h ^ (h >> 17)) * 2246822519)
    return (h ^ (h >> 13)) & mask


def _wrapped(h: int) -> int:
    """Return an integer wrapped to 64 bits with sign."""
    h &= (1 << 64) - 1
    return h - (1 << 64) if h >> 63 else h


@kernel(plain=_bucket_of)
def bucket_of(level: int, x: int, y: int, z: int, mask: int) -> int:
    """Return the hash bucket of the cell (x, y, z) of a level; `mask` + 1 is their number."""
    h = x * 73856093 ^ y * 19349663 ^ z * 83492791 ^ level * 6542989
    h ^= h >> 17
    h *= 2246822519
    return (h ^ (h >> 13)) & mask


@kernel(allocates=True)
def sort_into_cells(spheres: Spheres) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the cells, their widths, and the spheres sorted by hash bucket.

    Returned are (n, 4) the cell of each sphere (level, x, y, z), (levels,) cell widths [m], 0 of
    unused levels, and `start`, `order`: bucket h has the spheres order[start[h] : start[h + 1]].
    """
    n = spheres.size.shape[0]
    least = math.inf
    for i in range(n):
        least = min(least, spheres.size[i])
    widths = np.zeros(MOST_LEVELS)
    cells = np.empty((n, 4), np.int64)
    # a power of two, so that a mask gives the bucket; at least 2 n, for few collisions
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
    # counting sort by bucket: counts, cumulative sums, positions
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
    """Return pairs of groups whose spheres overlap, their number, and the number of tests.

    Pairs are rows of two numbers of groups, the lower one first; rows from the number of pairs on
    are unused. A group forms a pair with itself too.
    """
    cells, widths, start, order = sort_into_cells(spheres)
    pairs = np.empty((2 * groups.shape[0] + 64, 2), np.int64)
    count, tests, mask = 0, 0, start.shape[0] - 2
    for i in range(groups.shape[0]):
        # own and coarser levels: a small sphere searches for large ones, not the reverse
        for level in range(cells[i, 0], MOST_LEVELS):
            width = widths[level]
            if width == 0.0:
                continue
            cx = cell_of(spheres.centre[i, 0] / width)
            cy = cell_of(spheres.centre[i, 1] / width)
            cz = cell_of(spheres.centre[i, 2] / width)
            same = level == cells[i, 0]
            # 27 cells, of which number 13 is the cell itself; within one level half of the
            # neighbouring cells suffice by symmetry
            for neighbour in range(13 if same else 0, 27):
                x, y, z = (
                    cx + neighbour % 3 - 1,
                    cy + neighbour // 3 % 3 - 1,
                    cz + neighbour // 9 - 1,
                )
                h = bucket_of(level, x, y, z, mask)
                for place in range(start[h], start[h + 1]):
                    j = order[place]
                    tests += 1
                    if cells[j, 0] != level or (same and neighbour == 13 and j < i):
                        continue
                    # the bucket may contain members of another cell
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

    Pairs are rows of two numbers of segments; rows from the number of pairs on are unused. The
    first is on the rod with the lower number, or is the earlier one on its rod.

    spheres, around : spheres of the segments, and of the groups
    groups : (n, 2) first segment of each group, and one past the last
    self_separation : (rods,) least distance of two segments of the same rod [elements]
    """
    close, many, tests = near_groups(groups, around)
    pairs = np.empty((64, 2), np.int64)
    count = 0
    for m in range(many):
        one, two = groups[close[m, 0]], groups[close[m, 1]]
        # neighbours on one rod are always near: pairs are at least `self_separation` elements apart
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
    """Return a copy of a table of pairs with twice the length."""
    longer_pairs = np.empty((2 * pairs.shape[0], 2), np.int64)
    for m in range(pairs.shape[0]):
        longer_pairs[m, 0], longer_pairs[m, 1] = pairs[m, 0], pairs[m, 1]
    return longer_pairs


@kernel
def overlap(spheres: Spheres, i: int, j: int) -> bool:
    """Return whether two spheres overlap."""
    d2 = 0.0
    for a in range(3):
        x = spheres.centre[i, a] - spheres.centre[j, a]
        d2 += x * x
    reach = spheres.size[i] + spheres.size[j]
    return bool(d2 < reach * reach)
