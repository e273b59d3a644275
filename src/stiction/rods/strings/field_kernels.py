"""Kernels that evaluate fields and energies of strings from the stored waves, at any time.

A point x at a time t is on two characteristics, whose waves R and L are stored as cubics
(`characteristics_kernels`): u_t = (R + L) / 2, c u_x = (L - R) / 2, and u follows from running
integrals of the waves. The energy density is (u_t^2 + c^2 u_x^2) / 2 = (R^2 + L^2) / 4, kinetic
minus elastic energy R L / 2. There is no mesh. `guide` (wave, n) is a look-up table for the cubic
at a coordinate, set by `guide_waves`. `characteristics.Path.history` calls these kernels.
Functions with the ending `_numpy` are the NumPy fallbacks of the kernels after them.

Arguments: i is the string, 0 or 1, s its contact point; `pair` has strings, waves and cubics
(`state.Pair`). For n points, with row 0 for R and row 1 for L, all (2, n): `wave_of` numbers of the
stored waves, 0 to 3; `coordinate` coordinates of the characteristics, t - x/c or t + x/c before
reflections; `index` numbers of the cubics there; `sign` 1, or -1 after a reflection.

Source: formulas sheet (docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel, py_function
from stiction.rods.strings.characteristics_kernels import part_of_area, part_of_square
from stiction.rods.strings.state import Cubic, Pair

__all__ = ["fields", "guide_waves", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# least number of panels of Gauss quadrature between two contact points or ends
PANELS = 48
# panels are halved where quadrature misses the exact energy by more than this part of the whole,
# down to this length over that of the string, which takes fewer than this number of halvings
_RESOLVED, _NARROWEST, _HALVINGS = 1e-6, 1e-12, 40
# number of panels that are evaluated together
_TOGETHER = 24


def _no_table(pair: Pair, guide: Ints) -> None:
    """Do nothing: the NumPy fallback uses searchsorted."""


@kernel(plain=_no_table, separate=True)
def guide_waves(pair: Pair, guide: Ints) -> None:
    """Set the look-up table: for each of n equal intervals of a wave, the cubic at its begin."""
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


def _locate_cubics_numpy(
    wave_of: Ints, coordinate: Floats, pair: Pair, guide: Ints, index: Ints
) -> None:
    for f in np.unique(wave_of).tolist():
        mine, count = wave_of == f, pair.waves[f].count
        knots = pair.cubics["knot"][f, : count + 1]
        j = np.searchsorted(knots, coordinate[mine], side="right") - 1
        index[mine] = np.clip(j, 0, count - 1)


@kernel(plain=_locate_cubics_numpy)
def _locate_cubics(wave_of: Ints, coordinate: Matrix, pair: Pair, guide: Ints, index: Ints) -> None:
    """Set the index of the cubic at each coordinate: by the look-up table, else by bisection."""
    # no function call inside the loops, because reference counting of arrays would dominate
    top = guide.shape[1] - 1
    for e in range(coordinate.shape[0]):
        for k in range(coordinate.shape[1]):
            f, x = wave_of[e, k], coordinate[e, k]
            wave = pair.waves[f]
            # the interval of the table that contains x, and the cubic at its begin
            slot, n = (x - wave.begin) * wave.per_time, wave.count
            # NaN fails the comparison and gives the first interval
            if not slot > 0.0:
                slot = 0.0
            j = guide[f, top if slot > top else int(slot)]
            # mostly the cubic is a few knots away; otherwise bisection
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
            index[e, k] = j


@kernel
def _locate_characteristics(
    i: int,
    x: Vector,
    t: float,
    s: float,
    pair: Pair,
    wave_of: Ints,
    coordinate: Matrix,
    sign: Matrix,
) -> None:
    """Set the waves, coordinates and signs of R and L at points x and time t, contact at s.

    With fixed ends, R at the left of the contact is minus an outgoing L, reflected at the left end,
    and L at the right of it is minus an outgoing R, reflected at the right end. On a circle both
    are outgoing waves.
    """
    c, length, periodic = (
        pair.strings[i].speed,
        pair.strings[i].length,
        pair.strings[i].periodic == 1,
    )
    r, left = 2 * i, 2 * i + 1
    for k in range(x.shape[0]):
        at = x[k]
        # on a circle L comes from the contact one turn ahead, hence `at - length`
        if periodic:
            at = s + (at - s) % length
            coordinate[0, k], coordinate[1, k] = t - at / c, t + (at - length) / c
            wave_of[0, k], wave_of[1, k] = r, left
            sign[0, k], sign[1, k] = 1.0, 1.0
        # at the left of the contact: L is outgoing, R is L before a reflection at x = 0
        elif at <= s:
            coordinate[0, k], coordinate[1, k] = t - at / c, t + at / c
            wave_of[0, k], wave_of[1, k] = left, left
            sign[0, k], sign[1, k] = -1.0, 1.0
        else:
            # at the right of the contact: R is outgoing, L is R before a reflection at x = l
            coordinate[0, k], coordinate[1, k] = t - at / c, t + (at - 2.0 * length) / c
            wave_of[0, k], wave_of[1, k] = r, r
            sign[0, k], sign[1, k] = 1.0, -1.0


def _values_numpy(
    wave_of: Ints, coordinate: Floats, index: Ints, sign: Floats, cubics: Table[Cubic], out: Floats
) -> None:
    names = ("c0", "c1", "c2", "c3", "knot")
    c0, c1, c2, c3, knot = (cubics[name][wave_of, index] for name in names)
    d = coordinate - knot
    out[:] = sign * (c0 + d * (c1 + d * (c2 + d * c3)))


@kernel(plain=_values_numpy)
def _values(
    wave_of: Ints, coordinate: Matrix, index: Ints, sign: Matrix, cubics: Table[Cubic], out: Matrix
) -> None:
    """Set `out` to the waves at coordinates, from the cubics with these indices."""
    for e in range(coordinate.shape[0]):
        for k in range(coordinate.shape[1]):
            cubic = cubics[wave_of[e, k], index[e, k]]
            d = coordinate[e, k] - cubic.knot
            high = cubic.c2 + d * cubic.c3
            out[e, k] = sign[e, k] * (cubic.c0 + d * (cubic.c1 + d * high))


def _areas_numpy(
    wave_of: Ints, coordinate: Floats, index: Ints, cubics: Table[Cubic], out: Floats
) -> None:
    names = ("c0", "c1", "c2", "c3", "knot", "area")
    *cubic, knot, area = (cubics[name][wave_of, index] for name in names)
    part: Any = py_function(part_of_area)
    out[:] = area + part(coordinate - knot, *cubic)


@kernel(plain=_areas_numpy)
def _areas(
    wave_of: Ints, coordinate: Matrix, index: Ints, cubics: Table[Cubic], out: Matrix
) -> None:
    """Set `out` to the running integrals of the waves at coordinates."""
    for e in range(coordinate.shape[0]):
        for k in range(coordinate.shape[1]):
            at = cubics[wave_of[e, k], index[e, k]]
            out[e, k] = at.area + part_of_area(
                coordinate[e, k] - at.knot, at.c0, at.c1, at.c2, at.c3
            )


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
    """Set displacements `place` and velocities `rate` (t, n) of string i at points x (n,).

    With fixed ends u follows from the difference of two running integrals, because u vanishes at
    the ends. On a circle only differences of u follow from the waves.

    times, contact : (t,) times, and contact points on this string
    start : u at the contact at time 0
    """
    n, periodic = x.size, pair.strings[i].periodic == 1
    wave_of, index = np.empty((2, n), np.int64), np.empty((2, n), np.int64)
    coordinate, sign, values = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    base = start
    if periodic:
        # reference value: the contact at time 0
        c, length = pair.strings[i].speed, pair.strings[i].length
        for j in range(n):
            wave_of[0, j], wave_of[1, j] = 2 * i, 2 * i + 1
            coordinate[0, j], coordinate[1, j] = -contact[0] / c, (contact[0] - length) / c
        _locate_cubics(wave_of, coordinate, pair, guide, index)
        _areas(wave_of, coordinate, index, pair.cubics, values)
        base -= 0.5 * values[0, 0]
        base -= 0.5 * values[1, 0]
    # at each time: u_t = (R + L) / 2, and u from running integrals of both waves
    for k in range(times.size):
        _locate_characteristics(i, x, times[k], contact[k], pair, wave_of, coordinate, sign)
        _locate_cubics(wave_of, coordinate, pair, guide, index)
        _values(wave_of, coordinate, index, sign, pair.cubics, values)
        for j in range(n):
            rate[k, j] = 0.5 * (values[0, j] + values[1, j])
        _areas(wave_of, coordinate, index, pair.cubics, values)
        for j in range(n):
            # u from c u_x = (L - R) / 2, as integrals over the coordinates of characteristics
            if periodic:
                place[k, j] = base + 0.5 * (values[0, j] + values[1, j])
            else:
                place[k, j] = 0.5 * sign[0, j] * (values[0, j] - values[1, j])


@kernel(allocates=True)
def _energy(i: int, t: float, s: float, pair: Pair, guide: Ints) -> float:
    """Return the energy of string i at time t, exact for the stored cubics; the contact is at s.

    It is (c / 4) times the integral of R^2 + L^2 over the coordinates of all characteristics
    that cross the string at time t.
    """
    c, length, r, left = pair.strings[i].speed, pair.strings[i].length, 2 * i, 2 * i + 1
    wave_of, index = np.empty((2, 2), np.int64), np.empty((2, 2), np.int64)
    coordinate = np.empty((2, 2))
    if pair.strings[i].periodic:
        # upper and lower limits of the integrals: one turn of R, one of L
        wave_of[0, 0], wave_of[0, 1], wave_of[1, 0], wave_of[1, 1] = r, r, left, left
        coordinate[0, 0], coordinate[0, 1] = t - s / c, t - (s + length) / c
        coordinate[1, 0], coordinate[1, 1] = t + s / c, t + (s - length) / c
    else:
        # with fixed ends all waves are outgoing L, at the left of the contact, or outgoing R
        wave_of[0, 0], wave_of[0, 1], wave_of[1, 0], wave_of[1, 1] = left, left, r, r
        coordinate[0, 0], coordinate[0, 1] = t + s / c, t - s / c
        coordinate[1, 0], coordinate[1, 1] = t - s / c, t + (s - 2.0 * length) / c
    _locate_cubics(wave_of, coordinate, pair, guide, index)
    total = 0.0
    for e in range(2):
        interval, sign = 0.0, 1.0
        for k in range(2):
            at = pair.cubics[wave_of[e, k], index[e, k]]
            distance = coordinate[e, k] - at.knot
            # difference of the running integrals of the square at both ends
            interval += sign * (at.square + part_of_square(distance, at.c0, at.c1, at.c2, at.c3))
            sign = -1.0
        total += interval
    return 0.25 * c * total


class _Panels(NamedTuple):
    """Panels of Gauss quadrature, with n points each: the begin, Gauss points, the end.

    stack : (s, 2) begins and widths of panels that wait
    begin, width, halved : (m,) those that are evaluated together; 1 if one is to be halved
    x, wave_of, cubic, coordinate, sign : (m n), (2, m n): points, and their characteristics
    values : (string, 2, m n) waves R and L
    """

    stack: Floats
    begin: Floats
    width: Floats
    halved: Ints
    x: Floats
    wave_of: Ints
    cubic: Ints
    coordinate: Floats
    sign: Floats
    values: Floats


@kernel(allocates=True, separate=True)
def powers(
    times: Floats,
    contacts: Floats,
    gauss: Floats,
    weights: Floats,
    identical: bool,
    pair: Pair,
    guide: Ints,
    energy: Floats,
    product: Floats,
    both: Floats,
) -> None:
    """Set energies of u and v, integrals of R L of each, and integrals of R_u R_v + L_u L_v.

    The integral of R L gives the difference of kinetic and elastic energy. The integrals use Gauss
    points on panels between the contact points, where waves jump. Panels are halved until the same
    points give the exact integral of R^2 + L^2. The last integral, for identical strings only,
    gives the energies of u + v and u - v.

    times : (t,)
    contacts : (t, 2) contact points
    gauss, weights : four Gauss points and weights of an interval of length 1: exact for R L within
        cubics
    energy, product, both : outputs (t, 2), (t, 2), (t,)
    """
    most, each = _TOGETHER, gauss.size + 2
    # at most two waiting halves for each panel of a batch and length
    stack = np.empty((3 * PANELS + 2 * most * _HALVINGS, 2))
    begin, width = np.zeros(most), np.zeros(most)
    halved, x = np.zeros(most, np.int64), np.zeros(most * each)
    wave_of, index = np.empty((2, x.size), np.int64), np.empty((2, x.size), np.int64)
    coordinate, sign = np.empty((2, x.size)), np.empty((2, x.size))
    values = np.empty((2, 2, x.size))
    at = _Panels(stack, begin, width, halved, x, wave_of, index, coordinate, sign, values)
    for k in range(times.size):
        both[k] = 0.0
        for i in range(2):
            energy[k, i], product[k, i] = _energy(i, times[k], contacts[k, i], pair, guide), 0.0
        limit = 4.0 * _RESOLVED * (energy[k, 0] + energy[k, 1])
        # identical strings have their points in common, for products of both waves
        for first in range(1 if identical else 2):
            strings = (0, 1) if identical else (first, first)
            waiting = _first_panels(first, contacts[k], pair, at)
            while waiting > 0:
                count = min(waiting, most)
                waiting -= count
                _place_points(waiting, count, gauss, at)
                for i in range(strings[0], strings[1] + 1):
                    _evaluate(
                        i, count, times[k], contacts[k, i], limit, gauss, weights, pair, guide, at
                    )
                for n in range(count):
                    if halved[n] == 1:
                        for side in range(2):
                            stack[waiting, 0] = begin[n] + 0.5 * side * width[n]
                            stack[waiting, 1] = 0.5 * width[n]
                            waiting += 1
                        continue
                    for g in range(gauss.size):
                        j, size = n * each + 1 + g, width[n] * weights[g]
                        for i in range(strings[0], strings[1] + 1):
                            product[k, i] += size * values[i, 0, j] * values[i, 1, j]
                        if identical:
                            same = values[0, 0, j] * values[1, 0, j]
                            same += values[0, 1, j] * values[1, 1, j]
                            both[k] += size * same


@kernel
def _first_panels(first: int, contacts: Vector, pair: Pair, at: _Panels) -> int:
    """Put panels between the ends of a string and both contact points on the stack."""
    length = pair.strings[first].length
    own, far = contacts[first] % length, contacts[1 - first] % pair.strings[1 - first].length
    low, high = min(own, far, length), min(max(own, far), length)
    count = 0
    for side in range(3):
        a = 0.0 if side == 0 else (low if side == 1 else high)
        b = low if side == 0 else (high if side == 1 else length)
        width = (b - a) / PANELS
        for n in range(PANELS if width > 0.0 else 0):
            at.stack[count, 0], at.stack[count, 1] = a + n * width, width
            count += 1
    return count


@kernel
def _place_points(start: int, count: int, gauss: Vector, at: _Panels) -> None:
    """Set the points of panels from the stack.

    The first and last Gauss point stand for the ends, which a contact point may share with another
    panel; `_evaluate` moves their characteristics.
    """
    each, last = gauss.shape[0] + 2, gauss.shape[0] - 1
    for n in range(count):
        begin, width = at.stack[start + n, 0], at.stack[start + n, 1]
        at.begin[n], at.width[n], at.halved[n] = begin, width, 0
        for g in range(each):
            at.x[n * each + g] = begin + width * gauss[min(max(g - 1, 0), last)]


@kernel
def _evaluate(
    i: int,
    count: int,
    t: float,
    s: float,
    limit: float,
    gauss: Vector,
    weights: Vector,
    pair: Pair,
    guide: Ints,
    at: _Panels,
) -> None:
    """Set the waves of string i on panels, and find panels that do not resolve them.

    `missed` is the Gauss sum of R^2 + L^2 over a panel minus the exact integral, the difference of
    the running integrals at its ends. Panels in which it exceeds `limit` are to be halved, unless
    each wave is a single cubic there.
    """
    each, string = gauss.shape[0] + 2, pair.strings[i]
    c = string.speed
    # whole arrays are evaluated, without slices; entries after `count` are not used. Then the end
    # points move from the Gauss points beside them to the ends of the panel
    _locate_characteristics(i, at.x, t, s, pair, at.wave_of, at.coordinate, at.sign)
    for n in range(count):
        a, b, out = n * each, n * each + each - 1, at.width[n] * gauss[0] / c
        at.coordinate[0, a] += out
        at.coordinate[1, a] -= out
        at.coordinate[0, b] -= out
        at.coordinate[1, b] += out
    _locate_cubics(at.wave_of, at.coordinate, pair, guide, at.cubic)
    _values(at.wave_of, at.coordinate, at.cubic, at.sign, pair.cubics, at.values[i])
    for n in range(count):
        a, b, missed, within = n * each, n * each + each - 1, 0.0, True
        for e in range(2):
            for g in range(each - 2):
                missed += at.width[n] * weights[g] * at.values[i, e, a + 1 + g] ** 2
            # the coordinate of R decreases along the string, that of L increases
            sign = c if e == 0 else -c
            for j in (a, b):
                cubic = pair.cubics[at.wave_of[e, j], at.cubic[e, j]]
                d = at.coordinate[e, j] - cubic.knot
                square = part_of_square(d, cubic.c0, cubic.c1, cubic.c2, cubic.c3)
                missed += (-sign if j == a else sign) * (cubic.square + square)
            within = within and at.cubic[e, a] == at.cubic[e, b]
        wide = at.width[n] > _NARROWEST * string.length and not within
        if wide and abs(missed) > limit:
            at.halved[n] = 1
