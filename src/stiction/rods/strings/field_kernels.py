"""Kernels that read fields and energies of strings off the stored waves, at any time.

The arrays are those of `characteristics_kernels`; by `guide` (wave, slots), which `guide_waves`
fills, a cubic is found.
Nothing is interpolated on a mesh: a place x and a time t name two characteristics, and the waves
on them are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel, py_function
from stiction.rods.strings.characteristics_kernels import part_of_area, part_of_square
from stiction.rods.strings.state import Cubic, Pair

__all__ = ["fields", "guide_waves", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# panels between two contact points or ends
PANELS = 48


def _no_guide(pair: Pair, guide: Ints) -> None:
    """Do nothing: NumPy's own search takes none."""


@kernel(plain=_no_guide, separate=True)
def guide_waves(pair: Pair, guide: Ints) -> None:
    """Fill, for each wave, even slots with the cubic where they begin; the wave says which slot."""
    slots = guide.shape[1]
    for f in range(guide.shape[0]):
        n = pair.waves[f].count
        begin, end = pair.cubics[f, 0].knot, pair.cubics[f, n].knot
        pair.waves[f].begin, pair.waves[f].per_time = begin, slots / (end - begin)
        j = 0
        for b in range(slots):
            x = begin + (end - begin) * (b / slots)
            while j < n - 1 and pair.cubics[f, j + 1].knot <= x:
                j += 1
            guide[f, b] = j


def _seek_at_once(which: Ints, where: Floats, pair: Pair, guide: Ints, found: Ints) -> None:
    for f in np.unique(which).tolist():
        here, count = which == f, pair.waves[f].count
        knots = pair.cubics["knot"][f, : count + 1]
        j = np.searchsorted(knots, where[here], side="right") - 1
        found[here] = np.clip(j, 0, count - 1)


@kernel(plain=_seek_at_once)
def _seek(which: Ints, where: Matrix, pair: Pair, guide: Ints, found: Ints) -> None:
    """Fill in the cubics of waves at places: near those of their slots, else by bisection."""
    # no call inside the loops: counting references to arrays would take most of the time
    top = guide.shape[1] - 1
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            f, x = which[e, k], where[e, k]
            wave = pair.waves[f]
            slot, n = (x - wave.begin) * wave.per_time, wave.count
            # written so that what is not a number gives the first
            if not slot > 0.0:
                slot = 0.0
            j = guide[f, top if slot > top else int(slot)]
            for _ in range(8):
                if pair.cubics[f, j + 1].knot <= x and j < n - 1:
                    j += 1
                elif pair.cubics[f, j].knot > x and j > 0:
                    j -= 1
                else:
                    break
            if (pair.cubics[f, j].knot > x and j > 0) or (
                pair.cubics[f, j + 1].knot <= x and j < n - 1
            ):
                low, high = 0, n + 1
                while low < high:
                    middle = (low + high) // 2
                    if pair.cubics[f, middle].knot <= x:
                        low = middle + 1
                    else:
                        high = middle
                j = min(max(low - 1, 0), n - 1)
            found[e, k] = j


def _aim_at_once(
    i: int, x: Floats, t: float, s: float, pair: Pair, which: Ints, where: Floats, sign: Floats
) -> None:
    c, length = pair.strings[i].speed, pair.strings[i].length
    if pair.strings[i].periodic:
        at = s + (x - s) % length
        where[0], where[1] = t - at / c, t + (at - length) / c
        which[0], which[1], sign[:] = 2 * i, 2 * i + 1, 1.0
        return
    near = x <= s
    where[0], where[1] = t - x / c, t + np.where(near, x, x - 2.0 * length) / c
    which[:] = np.where(near, 2 * i + 1, 2 * i)
    sign[0], sign[1] = np.where(near, -1.0, 1.0), np.where(near, 1.0, -1.0)


@kernel(plain=_aim_at_once)
def _aim(
    i: int, x: Vector, t: float, s: float, pair: Pair, which: Ints, where: Matrix, sign: Matrix
) -> None:
    """Fill in where R (row 0) and L (row 1) at places x are read, on which waves, their signs.

    Left of the contact on fixed ends R is minus an earlier L; right of it L is minus an
    earlier R; on a circle each is itself.
    """
    c, length, around = pair.strings[i].speed, pair.strings[i].length, pair.strings[i].periodic == 1
    r, left = 2 * i, 2 * i + 1
    for k in range(x.shape[0]):
        at = x[k]
        if around:
            at = s + (at - s) % length
            where[0, k], where[1, k] = t - at / c, t + (at - length) / c
            which[0, k], which[1, k] = r, left
            sign[0, k], sign[1, k] = 1.0, 1.0
        elif at <= s:
            where[0, k], where[1, k] = t - at / c, t + at / c
            which[0, k], which[1, k] = left, left
            sign[0, k], sign[1, k] = -1.0, 1.0
        else:
            where[0, k], where[1, k] = t - at / c, t + (at - 2.0 * length) / c
            which[0, k], which[1, k] = r, r
            sign[0, k], sign[1, k] = 1.0, -1.0


def _values_at_once(
    which: Ints, where: Floats, found: Ints, sign: Floats, cubics: Table[Cubic], out: Floats
) -> None:
    names = ("c0", "c1", "c2", "c3", "knot")
    c0, c1, c2, c3, knot = (cubics[name][which, found] for name in names)
    d = where - knot
    out[:] = sign * (c0 + d * (c1 + d * (c2 + d * c3)))


@kernel(plain=_values_at_once)
def _values(
    which: Ints, where: Matrix, found: Ints, sign: Matrix, cubics: Table[Cubic], out: Matrix
) -> None:
    """Fill out with the waves at places whose cubics are found."""
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            cubic = cubics[which[e, k], found[e, k]]
            d = where[e, k] - cubic.knot
            high = cubic.c2 + d * cubic.c3
            out[e, k] = sign[e, k] * (cubic.c0 + d * (cubic.c1 + d * high))


def _areas_at_once(
    which: Ints, where: Floats, found: Ints, cubics: Table[Cubic], out: Floats
) -> None:
    names = ("c0", "c1", "c2", "c3", "knot", "area")
    *cubic, knot, area = (cubics[name][which, found] for name in names)
    part: Any = py_function(part_of_area)
    out[:] = area + part(where - knot, *cubic)


@kernel(plain=_areas_at_once)
def _areas(which: Ints, where: Matrix, found: Ints, cubics: Table[Cubic], out: Matrix) -> None:
    """Fill out with the running integrals of the waves at places whose cubics are found."""
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            at = cubics[which[e, k], found[e, k]]
            out[e, k] = at.area + part_of_area(where[e, k] - at.knot, at.c0, at.c1, at.c2, at.c3)


@kernel(allocates=True, separate=True)
def fields(
    i: int,
    x: Floats,
    times: Floats,
    contact: Floats,
    start: float,
    pair: Pair,
    guide: Ints,
    place: Floats,
    rate: Floats,
) -> None:
    """Fill place and rate (time, node) of string i; start is u at its contact at time 0."""
    n, around = x.size, pair.strings[i].periodic == 1
    which, found = np.empty((2, n), np.int64), np.empty((2, n), np.int64)
    where, sign, read = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    base = start
    if around:
        # the contact itself, at time 0
        c, length = pair.strings[i].speed, pair.strings[i].length
        for j in range(n):
            which[0, j], which[1, j] = 2 * i, 2 * i + 1
            where[0, j], where[1, j] = -contact[0] / c, (contact[0] - length) / c
        _seek(which, where, pair, guide, found)
        _areas(which, where, found, pair.cubics, read)
        base -= 0.5 * read[0, 0]
        base -= 0.5 * read[1, 0]
    for k in range(times.size):
        _aim(i, x, times[k], contact[k], pair, which, where, sign)
        _seek(which, where, pair, guide, found)
        _values(which, where, found, sign, pair.cubics, read)
        for j in range(n):
            rate[k, j] = 0.5 * (read[0, j] + read[1, j])
        _areas(which, where, found, pair.cubics, read)
        for j in range(n):
            if around:
                place[k, j] = base + 0.5 * (read[0, j] + read[1, j])
            else:
                place[k, j] = 0.5 * sign[0, j] * (read[0, j] - read[1, j])


@kernel(allocates=True)
def _energy(i: int, t: float, s: float, pair: Pair, guide: Ints) -> float:
    """Return the energy of string i, exact for the stored cubics."""
    c, length, r, left = pair.strings[i].speed, pair.strings[i].length, 2 * i, 2 * i + 1
    which, found = np.empty((2, 2), np.int64), np.empty((2, 2), np.int64)
    where = np.empty((2, 2))
    if pair.strings[i].periodic:
        which[0, 0], which[0, 1], which[1, 0], which[1, 1] = r, r, left, left
        where[0, 0], where[0, 1] = t - s / c, t - (s + length) / c
        where[1, 0], where[1, 1] = t + s / c, t + (s - length) / c
    else:
        which[0, 0], which[0, 1], which[1, 0], which[1, 1] = left, left, r, r
        where[0, 0], where[0, 1] = t + s / c, t - s / c
        where[1, 0], where[1, 1] = t - s / c, t + (s - 2.0 * length) / c
    _seek(which, where, pair, guide, found)
    total = 0.0
    for e in range(2):
        part, sign = 0.0, 1.0
        for k in range(2):
            at = pair.cubics[which[e, k], found[e, k]]
            far = where[e, k] - at.knot
            part += sign * (at.square + part_of_square(far, at.c0, at.c1, at.c2, at.c3))
            sign = -1.0
        total += part
    return 0.25 * c * total


@kernel(allocates=True, separate=True)
def powers(
    times: Floats,
    contacts: Floats,
    gauss: Floats,
    weights: Floats,
    alike: bool,
    pair: Pair,
    guide: Ints,
    energy: Floats,
    product: Floats,
    both: Floats,
) -> None:
    """Fill in energies of u and v, integrals of R L of each, and of R_u R_v + L_u L_v.

    energy and product are (time, 2), both is (time,). The integrals are sums over Gauss points on
    panels between the contact points, the last one only for strings that are alike: there both
    have the same points.
    """
    # ends of the panels: of the string, and both places of the contact in order
    cut, most = np.empty(4), 3 * PANELS * gauss.size
    x, size, read = np.zeros(most), np.empty(most), np.empty((2, 2, most))
    which, found = np.empty((2, most), np.int64), np.empty((2, most), np.int64)
    where, sign = np.empty((2, most)), np.empty((2, most))
    for k in range(times.size):
        t, both[k] = times[k], 0.0
        for i in range(2):
            s, length = contacts[k, i], pair.strings[i].length
            energy[k, i] = _energy(i, t, s, pair, guide)
            product[k, i] = 0.0
            if not alike or i == 0:
                own, far = s % length, contacts[k, 1 - i] % pair.strings[1 - i].length
                cut[0], cut[-1] = 0.0, length
                cut[1], cut[2] = min(own, far, length), min(max(own, far), length)
                points = _spread(cut, gauss, weights, x, size)
            # all of them, so that arrays stay whole; those behind `points` count nothing
            _aim(i, x, t, s, pair, which, where, sign)
            _seek(which, where, pair, guide, found)
            _values(which, where, found, sign, pair.cubics, read[i])
            for n in range(points):
                product[k, i] += size[n] * read[i, 0, n] * read[i, 1, n]
        for n in range(points if alike else 0):
            same = read[0, 0, n] * read[1, 0, n] + read[0, 1, n] * read[1, 1, n]
            both[k] += size[n] * same


@kernel
def _spread(cut: Vector, gauss: Vector, weights: Vector, x: Vector, size: Vector) -> int:
    """Fill in Gauss points of all panels and their weights; return how many there are."""
    points = 0
    for side in range(3):
        wide = (cut[side + 1] - cut[side]) / PANELS
        for n in range(PANELS if wide > 0.0 else 0):
            for g in range(gauss.shape[0]):
                x[points] = cut[side] + wide * (n + gauss[g])
                size[points] = wide * weights[g]
                points += 1
    return points
