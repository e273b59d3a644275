"""Kernels that read fields and energies of strings off the stored waves, at any time.

The arrays are those of `_characteristics_kernels`. Nothing is interpolated on a mesh: a place x
and a time t name two characteristics, and the waves on them are known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Stack
from stiction.numerics.jit import kernel
from stiction.rods.strings.characteristics_kernels import part_of_area, part_of_square

__all__ = ["fields", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def _find(f: int, x: float, knot: Matrix, count: Integers, last: Integers) -> int:
    """Return the cubic of wave f at x: near the last one if it is, else by bisection."""
    j = last[f]
    for _ in range(4):
        if knot[f, j] > x and j > 0:
            j -= 1
        elif knot[f, j + 1] <= x and j < count[f] - 1:
            j += 1
        else:
            break
    if (knot[f, j] > x and j > 0) or (knot[f, j + 1] <= x and j < count[f] - 1):
        j = int(np.searchsorted(knot[f, : count[f] + 1], x, side="right")) - 1
        j = min(max(j, 0), count[f] - 1)
    last[f] = j
    return j


@kernel
def _value(f: int, x: float, knot: Matrix, coef: Stack, count: Ints, last: Ints) -> float:
    """Return wave f at x."""
    j = _find(f, x, knot, count, last)
    d, c = x - knot[f, j], coef[f, j]
    return c[0] + d * (c[1] + d * (c[2] + d * c[3]))


@kernel
def _area(
    f: int, x: float, knot: Matrix, coef: Stack, area: Matrix, count: Ints, last: Ints
) -> float:
    """Return the running integral of wave f at x."""
    j = _find(f, x, knot, count, last)
    return area[f, j] + part_of_area(x - knot[f, j], coef[f, j])


@kernel
def _square(
    f: int, x: float, knot: Matrix, coef: Stack, square: Matrix, count: Ints, last: Ints
) -> float:
    """Return the running integral of the square of wave f at x."""
    j = _find(f, x, knot, count, last)
    return square[f, j] + part_of_square(x - knot[f, j], coef[f, j])


@kernel
def _waves(
    i: int,
    x: float,
    t: float,
    s: float,
    par: Floats,
    knot: Floats,
    coef: Floats,
    count: Ints,
    last: Ints,
) -> tuple[float, float, float, float, int, int, float]:
    """Return R, L at x of string i, where each is read, by which waves, and the sign of R or L.

    Left of the contact on fixed ends R is minus an earlier L; right of it L is minus an
    earlier R; on a circle each is itself.
    """
    c, length = par[i], par[2 + i]
    r, left = 2 * i, 2 * i + 1
    if par[8] > 0.0:
        x = s + (x - s) % length
        p, q = t - x / c, t + (x - length) / c
        R = _value(r, p, knot, coef, count, last)
        L = _value(left, q, knot, coef, count, last)
        return R, L, p, q, r, left, 1.0
    if x <= s:
        p, q = t - x / c, t + x / c
        R = -_value(left, p, knot, coef, count, last)
        L = _value(left, q, knot, coef, count, last)
        return R, L, p, q, left, left, -1.0
    p, q = t - x / c, t + (x - 2.0 * length) / c
    R = _value(r, p, knot, coef, count, last)
    L = -_value(r, q, knot, coef, count, last)
    return R, L, p, q, r, r, 1.0


@kernel
def fields(
    i: int,
    x: Floats,
    times: Floats,
    contact: Floats,
    start: float,
    par: Floats,
    knot: Floats,
    coef: Floats,
    area: Floats,
    count: Ints,
    place: Floats,
    rate: Floats,
) -> None:
    """Fill place and rate (time, node) of string i; start is u at its contact at time 0."""
    last = np.zeros(4, dtype=np.int64)
    c, length = par[i], par[2 + i]
    r, left = 2 * i, 2 * i + 1
    base = start
    if par[8] > 0.0:
        base -= 0.5 * _area(r, -contact[0] / c, knot, coef, area, count, last)
        base -= 0.5 * _area(left, (contact[0] - length) / c, knot, coef, area, count, last)
    for k in range(times.size):
        for j in range(x.size):
            R, L, p, q, f, g, sign = _waves(
                i, x[j], times[k], contact[k], par, knot, coef, count, last
            )
            rate[k, j] = 0.5 * (R + L)
            one = _area(f, p, knot, coef, area, count, last)
            two = _area(g, q, knot, coef, area, count, last)
            if par[8] > 0.0:
                place[k, j] = base + 0.5 * (one + two)
            else:
                place[k, j] = 0.5 * sign * (one - two)


@kernel
def powers(
    times: Floats,
    contacts: Floats,
    gauss: Floats,
    weights: Floats,
    panels: int,
    alike: bool,
    par: Floats,
    knot: Floats,
    coef: Floats,
    square: Floats,
    count: Ints,
    out: Floats,
) -> None:
    """Fill out (time, 5): energies of u and v, integrals of R L of each, and of R_u R_v + L_u L_v.

    Energies are exact for the stored cubics; the other integrals by Gauss points on panels
    between the contact points, the last one only for strings that are alike.
    """
    last = np.zeros(4, dtype=np.int64)
    other = np.zeros(4, dtype=np.int64)
    cut = np.empty(4)
    for k in range(times.size):
        out[k] = 0.0
        for i in range(2):
            t, s, c, length = times[k], contacts[k, i], par[i], par[2 + i]
            r, left = 2 * i, 2 * i + 1
            if par[8] > 0.0:
                one = _square(r, t - s / c, knot, coef, square, count, last)
                one -= _square(r, t - (s + length) / c, knot, coef, square, count, last)
                two = _square(left, t + s / c, knot, coef, square, count, last)
                two -= _square(left, t + (s - length) / c, knot, coef, square, count, last)
            else:
                one = _square(left, t + s / c, knot, coef, square, count, last)
                one -= _square(left, t - s / c, knot, coef, square, count, last)
                two = _square(r, t - s / c, knot, coef, square, count, last)
                two -= _square(r, t + (s - 2.0 * length) / c, knot, coef, square, count, last)
            out[k, i] = 0.25 * c * (one + two)
            own, far = s % length, contacts[k, 1 - i] % par[3 - i]
            cut[0], cut[3] = 0.0, length
            cut[1], cut[2] = min(own, far, length), min(max(own, far), length)
            for side in range(3):
                wide = (cut[side + 1] - cut[side]) / panels
                for n in range(panels if wide > 0.0 else 0):
                    for g in range(gauss.size):
                        x = cut[side] + wide * (n + gauss[g])
                        R, L, _, _, _, _, _ = _waves(i, x, t, s, par, knot, coef, count, last)
                        out[k, 2 + i] += wide * weights[g] * R * L
                        if alike and i == 0:
                            Rv, Lv, _, _, _, _, _ = _waves(
                                1, x, t, contacts[k, 1], par, knot, coef, count, other
                            )
                            out[k, 4] += wide * weights[g] * (R * Rv + L * Lv)
