"""Kernels that read fields and energies of strings off the stored waves, at any time.

The arrays are those of `characteristics_kernels`; `count` is the number of cubics of each wave,
`guide` (family, slots) and `scale` what `guide_waves` fills, by which a cubic is found.
Nothing is interpolated on a mesh: a place x and a time t name two characteristics, and the waves
on them are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.jit import kernel, py_function
from stiction.rods.strings.characteristics_kernels import (
    AREA,
    C0,
    C1,
    C2,
    C3,
    KNOT,
    LENGTH,
    PERIODIC,
    SPEED,
    SQUARE,
    part_of_area,
    part_of_square,
)

__all__ = ["fields", "guide_waves", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


# columns of the integrals that `powers` fills: energies of u and v, of R L of each, of both
ENERGY, OWN, BOTH = 0, 2, 4
POWER_COLUMNS = 5

# panels between two contact points or ends
PANELS = 48
# columns of scale: where the first slot begins, slots per length
BEGIN, PER_LENGTH = 0, 1


def _no_guide(wave: Floats, count: Ints, guide: Ints, scale: Floats) -> None:
    """Do nothing: NumPy's own search takes none."""


@kernel(plain=_no_guide, apart=True)
def guide_waves(wave: Stack, count: Integers, guide: Ints, scale: Matrix) -> None:
    """Fill, for each wave, even slots with the cubic where they begin; scale says which slot."""
    slots = guide.shape[1]
    for f in range(guide.shape[0]):
        n = count[f]
        begin, end = wave[f, 0, KNOT], wave[f, n, KNOT]
        scale[f, BEGIN], scale[f, PER_LENGTH] = begin, slots / (end - begin)
        j = 0
        for b in range(slots):
            x = begin + (end - begin) * (b / slots)
            while j < n - 1 and wave[f, j + 1, KNOT] <= x:
                j += 1
            guide[f, b] = j


def _seek_at_once(
    which: Ints,
    where: Floats,
    wave: Floats,
    count: Ints,
    guide: Ints,
    scale: Floats,
    found: Ints,
) -> None:
    for f in np.unique(which):
        here = which == f
        j = np.searchsorted(wave[f, : count[f] + 1, KNOT], where[here], side="right") - 1
        found[here] = np.clip(j, 0, count[f] - 1)


@kernel(plain=_seek_at_once)
def _seek(
    which: Ints,
    where: Matrix,
    wave: Stack,
    count: Integers,
    guide: Ints,
    scale: Matrix,
    found: Ints,
) -> None:
    """Fill in the cubics of waves at places: near those of their slots, else by bisection."""
    # no call inside the loops: counting references to arrays would take most of the time
    top = guide.shape[1] - 1
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            f, x = which[e, k], where[e, k]
            slot, n = (x - scale[f, BEGIN]) * scale[f, PER_LENGTH], count[f]
            # written so that what is not a number gives the first
            if not slot > 0.0:
                slot = 0.0
            j = guide[f, top if slot > top else int(slot)]
            for _ in range(8):
                if wave[f, j + 1, KNOT] <= x and j < n - 1:
                    j += 1
                elif wave[f, j, KNOT] > x and j > 0:
                    j -= 1
                else:
                    break
            if (wave[f, j, KNOT] > x and j > 0) or (wave[f, j + 1, KNOT] <= x and j < n - 1):
                low, high = 0, n + 1
                while low < high:
                    middle = (low + high) // 2
                    if wave[f, middle, KNOT] <= x:
                        low = middle + 1
                    else:
                        high = middle
                j = min(max(low - 1, 0), n - 1)
            found[e, k] = j


def _aim_at_once(
    i: int,
    x: Floats,
    t: float,
    s: float,
    par: Floats,
    which: Ints,
    where: Floats,
    sign: Floats,
) -> None:
    c, length = par[SPEED + i], par[LENGTH + i]
    if par[PERIODIC] > 0.0:
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
    i: int,
    x: Vector,
    t: float,
    s: float,
    par: Vector,
    which: Ints,
    where: Matrix,
    sign: Matrix,
) -> None:
    """Fill in where R (row 0) and L (row 1) at places x are read, on which waves, their signs.

    Left of the contact on fixed ends R is minus an earlier L; right of it L is minus an
    earlier R; on a circle each is itself.
    """
    c, length, around = par[SPEED + i], par[LENGTH + i], par[PERIODIC] > 0.0
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
    which: Ints, where: Floats, found: Ints, sign: Floats, wave: Floats, out: Floats
) -> None:
    cubic = wave[which, found]
    d = where - cubic[..., KNOT]
    high = cubic[..., C2] + d * cubic[..., C3]
    out[:] = sign * (cubic[..., C0] + d * (cubic[..., C1] + d * high))


@kernel(plain=_values_at_once)
def _values(
    which: Ints, where: Matrix, found: Ints, sign: Matrix, wave: Stack, out: Matrix
) -> None:
    """Fill out with the waves at places whose cubics are found."""
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            f, j = which[e, k], found[e, k]
            d = where[e, k] - wave[f, j, KNOT]
            high = wave[f, j, C2] + d * wave[f, j, C3]
            out[e, k] = sign[e, k] * (wave[f, j, C0] + d * (wave[f, j, C1] + d * high))


def _areas_at_once(which: Ints, where: Floats, found: Ints, wave: Floats, out: Floats) -> None:
    cubic = wave[which, found]
    part: Any = py_function(part_of_area)
    part = part(where - cubic[..., KNOT], *(cubic[..., c] for c in (C0, C1, C2, C3)))
    out[:] = cubic[..., AREA] + part


@kernel(plain=_areas_at_once)
def _areas(which: Ints, where: Matrix, found: Ints, wave: Stack, out: Matrix) -> None:
    """Fill out with the running integrals of the waves at places whose cubics are found."""
    for e in range(where.shape[0]):
        for k in range(where.shape[1]):
            f, j = which[e, k], found[e, k]
            c0, c1, c2, c3 = wave[f, j, C0], wave[f, j, C1], wave[f, j, C2], wave[f, j, C3]
            part = part_of_area(where[e, k] - wave[f, j, KNOT], c0, c1, c2, c3)
            out[e, k] = wave[f, j, AREA] + part


@kernel(apart=True)
def fields(
    i: int,
    x: Floats,
    times: Floats,
    contact: Floats,
    start: float,
    par: Vector,
    wave: Stack,
    count: Integers,
    guide: Ints,
    scale: Matrix,
    place: Floats,
    rate: Floats,
) -> None:
    """Fill place and rate (time, node) of string i; start is u at its contact at time 0."""
    n, around = x.size, par[PERIODIC] > 0.0
    which, found = np.empty((2, n), np.int64), np.empty((2, n), np.int64)
    where, sign, read = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    base = start
    if around:
        # the contact itself, at time 0
        c, length = par[SPEED + i], par[LENGTH + i]
        for j in range(n):
            which[0, j], which[1, j] = 2 * i, 2 * i + 1
            where[0, j], where[1, j] = -contact[0] / c, (contact[0] - length) / c
        _seek(which, where, wave, count, guide, scale, found)
        _areas(which, where, found, wave, read)
        base -= 0.5 * read[0, 0]
        base -= 0.5 * read[1, 0]
    for k in range(times.size):
        _aim(i, x, times[k], contact[k], par, which, where, sign)
        _seek(which, where, wave, count, guide, scale, found)
        _values(which, where, found, sign, wave, read)
        for j in range(n):
            rate[k, j] = 0.5 * (read[0, j] + read[1, j])
        _areas(which, where, found, wave, read)
        for j in range(n):
            if around:
                place[k, j] = base + 0.5 * (read[0, j] + read[1, j])
            else:
                place[k, j] = 0.5 * sign[0, j] * (read[0, j] - read[1, j])


@kernel
def _energy(
    i: int,
    t: float,
    s: float,
    par: Vector,
    wave: Stack,
    count: Integers,
    guide: Ints,
    scale: Matrix,
) -> float:
    """Return the energy of string i, exact for the stored cubics."""
    c, length, r, left = par[SPEED + i], par[LENGTH + i], 2 * i, 2 * i + 1
    which, found = np.empty((2, 2), np.int64), np.empty((2, 2), np.int64)
    where = np.empty((2, 2))
    if par[PERIODIC] > 0.0:
        which[0, 0], which[0, 1], which[1, 0], which[1, 1] = r, r, left, left
        where[0, 0], where[0, 1] = t - s / c, t - (s + length) / c
        where[1, 0], where[1, 1] = t + s / c, t + (s - length) / c
    else:
        which[0, 0], which[0, 1], which[1, 0], which[1, 1] = left, left, r, r
        where[0, 0], where[0, 1] = t + s / c, t - s / c
        where[1, 0], where[1, 1] = t - s / c, t + (s - 2.0 * length) / c
    _seek(which, where, wave, count, guide, scale, found)
    total = 0.0
    for e in range(2):
        part, sign = 0.0, 1.0
        for k in range(2):
            f, j = which[e, k], found[e, k]
            far = where[e, k] - wave[f, j, KNOT]
            c0, c1, c2, c3 = wave[f, j, C0], wave[f, j, C1], wave[f, j, C2], wave[f, j, C3]
            part += sign * (wave[f, j, SQUARE] + part_of_square(far, c0, c1, c2, c3))
            sign = -1.0
        total += part
    return 0.25 * c * total


@kernel(apart=True)
def powers(
    times: Floats,
    contacts: Floats,
    gauss: Floats,
    weights: Floats,
    alike: bool,
    par: Vector,
    wave: Stack,
    count: Integers,
    guide: Ints,
    scale: Matrix,
    out: Floats,
) -> None:
    """Fill out (time, 5): energies of u and v, integrals of R L of each, and of R_u R_v + L_u L_v.

    The integrals are sums over Gauss points on panels between the contact points, the last one
    only for strings that are alike: there both have the same points.
    """
    # ends of the panels: of the string, and both places of the contact in order
    cut, most = np.empty(4), 3 * PANELS * gauss.size
    x, size, read = np.zeros(most), np.empty(most), np.empty((2, 2, most))
    which, found = np.empty((2, most), np.int64), np.empty((2, most), np.int64)
    where, sign = np.empty((2, most)), np.empty((2, most))
    for k in range(times.size):
        for column in range(POWER_COLUMNS):
            out[k, column] = 0.0
        t = times[k]
        for i in range(2):
            s, length = contacts[k, i], par[LENGTH + i]
            out[k, ENERGY + i] = _energy(i, t, s, par, wave, count, guide, scale)
            if not alike or i == 0:
                own, far = s % length, contacts[k, 1 - i] % par[LENGTH + 1 - i]
                cut[0], cut[-1] = 0.0, length
                cut[1], cut[2] = min(own, far, length), min(max(own, far), length)
                points = _spread(cut, gauss, weights, x, size)
            # all of them, so that arrays stay whole; those behind `points` count nothing
            _aim(i, x, t, s, par, which, where, sign)
            _seek(which, where, wave, count, guide, scale, found)
            _values(which, where, found, sign, wave, read[i])
            for n in range(points):
                out[k, OWN + i] += size[n] * read[i, 0, n] * read[i, 1, n]
        for n in range(points if alike else 0):
            both = read[0, 0, n] * read[1, 0, n] + read[0, 1, n] * read[1, 1, n]
            out[k, BOTH] += size[n] * both


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
