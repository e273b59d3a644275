"""Kernels that read fields and energies of strings off the stored waves, at any time.

The arrays are those of `characteristics_kernels`; `count` is the number of cubics of each wave,
`last` the cubic of each that was read last. Nothing is interpolated on a mesh: a place x
and a time t name two characteristics, and the waves on them are known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Stack, Vector
from stiction.numerics.jit import kernel
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

__all__ = ["fields", "powers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


# columns of the integrals that `powers` fills: energies of u and v, of R L of each, of both
ENERGY, OWN, BOTH = 0, 2, 4
POWER_COLUMNS = 5


@kernel
def _find(f: int, x: float, wave: Stack, count: Integers, last: Integers) -> int:
    """Return the cubic of wave f at x: near the last one if it is, else by bisection."""
    j = last[f]
    for _ in range(4):
        if wave[f, j, KNOT] > x and j > 0:
            j -= 1
        elif wave[f, j + 1, KNOT] <= x and j < count[f] - 1:
            j += 1
        else:
            break
    if (wave[f, j, KNOT] > x and j > 0) or (wave[f, j + 1, KNOT] <= x and j < count[f] - 1):
        low, high = 0, count[f] + 1
        while low < high:
            middle = (low + high) // 2
            if wave[f, middle, KNOT] <= x:
                low = middle + 1
            else:
                high = middle
        j = min(max(low - 1, 0), count[f] - 1)
    last[f] = j
    return j


@kernel
def _value(f: int, x: float, wave: Stack, count: Integers, last: Integers) -> float:
    """Return wave f at x."""
    j = _find(f, x, wave, count, last)
    d = x - wave[f, j, KNOT]
    return wave[f, j, C0] + d * (wave[f, j, C1] + d * (wave[f, j, C2] + d * wave[f, j, C3]))


@kernel
def _area(f: int, x: float, wave: Stack, count: Integers, last: Integers) -> float:
    """Return the running integral of wave f at x."""
    j = _find(f, x, wave, count, last)
    return wave[f, j, AREA] + part_of_area(x - wave[f, j, KNOT], wave[f, j])


@kernel
def _square(f: int, x: float, wave: Stack, count: Integers, last: Integers) -> float:
    """Return the running integral of the square of wave f at x."""
    j = _find(f, x, wave, count, last)
    return wave[f, j, SQUARE] + part_of_square(x - wave[f, j, KNOT], wave[f, j])


@kernel
def _waves(
    i: int, x: float, t: float, s: float, par: Vector, wave: Stack, count: Integers, last: Integers
) -> tuple[float, float, float, float, int, int, float]:
    """Return R, L at x of string i, where each is read, by which waves, and the sign of R or L.

    Left of the contact on fixed ends R is minus an earlier L; right of it L is minus an
    earlier R; on a circle each is itself.
    """
    c, length = par[SPEED + i], par[LENGTH + i]
    r, left = 2 * i, 2 * i + 1
    if par[PERIODIC] > 0.0:
        x = s + (x - s) % length
        p, q = t - x / c, t + (x - length) / c
        R = _value(r, p, wave, count, last)
        L = _value(left, q, wave, count, last)
        return R, L, p, q, r, left, 1.0
    if x <= s:
        p, q = t - x / c, t + x / c
        R = -_value(left, p, wave, count, last)
        L = _value(left, q, wave, count, last)
        return R, L, p, q, left, left, -1.0
    p, q = t - x / c, t + (x - 2.0 * length) / c
    R = _value(r, p, wave, count, last)
    L = -_value(r, q, wave, count, last)
    return R, L, p, q, r, r, 1.0


@kernel
def fields(
    i: int,
    x: Floats,
    times: Floats,
    contact: Floats,
    start: float,
    par: Vector,
    wave: Stack,
    count: Integers,
    place: Floats,
    rate: Floats,
) -> None:
    """Fill place and rate (time, node) of string i; start is u at its contact at time 0."""
    last = np.zeros(4, dtype=np.int64)
    c, length = par[SPEED + i], par[LENGTH + i]
    r, left = 2 * i, 2 * i + 1
    base = start
    if par[PERIODIC] > 0.0:
        base -= 0.5 * _area(r, -contact[0] / c, wave, count, last)
        base -= 0.5 * _area(left, (contact[0] - length) / c, wave, count, last)
    for k in range(times.size):
        for j in range(x.size):
            R, L, p, q, f, g, sign = _waves(i, x[j], times[k], contact[k], par, wave, count, last)
            rate[k, j] = 0.5 * (R + L)
            one = _area(f, p, wave, count, last)
            two = _area(g, q, wave, count, last)
            if par[PERIODIC] > 0.0:
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
    par: Vector,
    wave: Stack,
    count: Integers,
    out: Floats,
) -> None:
    """Fill out (time, 5): energies of u and v, integrals of R L of each, and of R_u R_v + L_u L_v.

    Energies are exact for the stored cubics; the other integrals by Gauss points on panels
    between the contact points, the last one only for strings that are alike.
    """
    last = np.zeros(4, dtype=np.int64)
    other = np.zeros(4, dtype=np.int64)
    # ends of the panels: of the string, and both places of the contact in order
    cut = np.empty(4)
    for k in range(times.size):
        for column in range(POWER_COLUMNS):
            out[k, column] = 0.0
        for i in range(2):
            t, s, c, length = times[k], contacts[k, i], par[SPEED + i], par[LENGTH + i]
            r, left = 2 * i, 2 * i + 1
            if par[PERIODIC] > 0.0:
                one = _square(r, t - s / c, wave, count, last)
                one -= _square(r, t - (s + length) / c, wave, count, last)
                two = _square(left, t + s / c, wave, count, last)
                two -= _square(left, t + (s - length) / c, wave, count, last)
            else:
                one = _square(left, t + s / c, wave, count, last)
                one -= _square(left, t - s / c, wave, count, last)
                two = _square(r, t - s / c, wave, count, last)
                two -= _square(r, t + (s - 2.0 * length) / c, wave, count, last)
            out[k, ENERGY + i] = 0.25 * c * (one + two)
            own, far = s % length, contacts[k, 1 - i] % par[LENGTH + 1 - i]
            cut[0], cut[-1] = 0.0, length
            cut[1], cut[2] = min(own, far, length), min(max(own, far), length)
            for side in range(3):
                wide = (cut[side + 1] - cut[side]) / panels
                for n in range(panels if wide > 0.0 else 0):
                    for g in range(gauss.size):
                        x = cut[side] + wide * (n + gauss[g])
                        R, L, _, _, _, _, _ = _waves(i, x, t, s, par, wave, count, last)
                        out[k, OWN + i] += wide * weights[g] * R * L
                        if alike and i == 0:
                            Rv, Lv, _, _, _, _, _ = _waves(
                                1 - i, x, t, contacts[k, 1 - i], par, wave, count, other
                            )
                            out[k, BOTH] += wide * weights[g] * (R * Rv + L * Lv)
