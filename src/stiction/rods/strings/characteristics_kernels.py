"""Kernels of `Characteristics`: the march of the contact, and what the waves hold at a time.

Four waves leave the contact: R of u, L of u, R of v, L of v (families 0 to 3). Each is kept
against its own characteristic, xi = t - s/c for R and eta = t + s/c for L, as cubics between
knots: coef[f, j] on knot[f, j] <= x <= knot[f, j + 1], with running integrals of the wave (area)
and of its square (square). `count` is the number of cubics. The waves that come in (0 R-, 1 L+
of u, 2 and 3 of v) are read from them a whole reflection or turn earlier.

par: 0-1 c, 2-3 l, 4 F, 5-6 s'/V, 7 r, 8 periodic, 9 step, 10 margin, 11 wave size, 12 least
strength, 13 corners, 14 equal mobilities, 15 tolerance, 16 largest (s'/c)/V.
now: 0 t, 1-2 s, 3 V, 4 lam, 5 heat, 6-9 forcing of the harmonics, 10-11 largest |s'|/c and when,
12-13 largest |w|/V_m and when, 14 steps, 15 corners met, 16 fresh, 17 longest step now, 18 tries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "ENDED",
    "FULL",
    "LIMIT",
    "OUTRUN",
    "REACHED",
    "extend",
    "look",
    "march",
    "part_of_area",
    "part_of_square",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REACHED, OUTRUN, ENDED, FULL, LIMIT = 0, 1, 2, 3, 4
# two corners this near, in steps, are one: a cubic over less would be noise
_MERGED = 1e-6
# steps are not cut below this part of the longest one because the path bends
_FINEST = 1.0 / 256.0
# a time is located when the step that would pass it is this short, relative to 1 + t
_LOCATED = 1e-11


@kernel
def _wave(f: int, x: float, knot: Matrix, coef: Stack, where: Ints) -> float:
    """Return outgoing wave f at x; where: rows of last, first allowed, last allowed cubic."""
    j: int = max(where[0, f], where[1, f])
    while j < where[2, f] and knot[f, j + 1] <= x:
        j += 1
    while j > where[1, f] and knot[f, j] > x:
        j -= 1
    where[0, f] = j
    d = x - knot[f, j]
    return coef[f, j, 0] + d * (coef[f, j, 1] + d * (coef[f, j, 2] + d * coef[f, j, 3]))


@kernel
def _place(m: int, t: float, s: float, par: Vector) -> float:
    """Return where incoming wave m is read at time t."""
    c, length = par[m // 2], par[2 + m // 2]
    turn = length if par[8] > 0.0 else (2.0 * length if m % 2 else 0.0)
    return t + (s if m % 2 else -s) / c - turn / c


@kernel
def _velocity(wu: float, wv: float, V: float, par: Floats) -> tuple[float, bool]:
    """Return the mean velocity of v at the contact, and whether it is a regular subsonic one."""
    c1, c2, F, a, b = par[0], par[1], par[4], par[5], par[6]
    if par[14] > 0.0:
        V = (F * c1 * wu + c2 * wv) / (F * F * c1 + c2)
        return V, abs(a * V) < c1 and abs(b * V) < c2
    k, r = F * c2 / c1, 0.5 * par[7] * c2
    for _ in range(40):
        p, q = c1 * c1 - a * a * V * V, c2 * c2 - b * b * V * V
        g = k * (wu - F * V) * p - (V - wv) * q - r * V
        slope = -k * (F * p + 2.0 * a * a * V * (wu - F * V)) - q - r
        slope += 2.0 * b * b * V * (V - wv)
        if not slope < 0.0:
            return V, False
        change = -g / slope
        V += change
        if abs(change) <= 1e-15 * (abs(V) + abs(wu) + abs(wv)):
            return V, abs(a * V) < c1 and abs(b * V) < c2
    # at rounding level the last change may dither
    settled = abs(change) <= 1e-12 * (abs(V) + abs(wu) + abs(wv))
    return V, settled and abs(a * V) < c1 and abs(b * V) < c2


@kernel
def look(
    t: float,
    s1: float,
    s2: float,
    V: float,
    par: Floats,
    knot: Floats,
    coef: Floats,
    where: Ints,
    out: Floats,
) -> int:
    """Fill out = (t, s1, s2, V, lam, force on v, R-, L+ of u, R-, L+ of v); return a flag."""
    out[0], out[1], out[2] = t, s1, s2
    fixed = par[8] == 0.0
    if fixed:
        gap1, gap2 = min(s1, par[2] - s1) / par[2], min(s2, par[3] - s2) / par[3]
        if min(gap1, gap2) < par[10]:
            return ENDED
    for m in range(4):
        x = _place(m, t, s1 if m < 2 else s2, par)
        if fixed:
            out[6 + m] = -_wave(m ^ 1, x, knot, coef, where)
        else:
            out[6 + m] = _wave(m, x, knot, coef, where)
    wu, wv = 0.5 * (out[6] + out[7]), 0.5 * (out[8] + out[9])
    V, good = _velocity(wu, wv, V, par)
    out[3] = V
    rate = par[5] * V
    out[4] = 2.0 * (wu - par[4] * V) * (par[0] * par[0] - rate * rate) / par[0]
    out[5] = par[4] * out[4] - par[7] * V
    return REACHED if good else OUTRUN


@kernel
def _trial(
    h: float, par: Floats, knot: Floats, coef: Floats, where: Ints, node: Floats, work: Floats
) -> int:
    """Fill node[3], the state a step h after node[0], by the classical Runge-Kutta method."""
    t, s1, s2, V = node[0, 0], node[0, 1], node[0, 2], node[0, 3]
    a, b, total, k = par[5], par[6], V, V
    for i in range(3):
        part = h if i == 2 else 0.5 * h
        flag = look(t + part, s1 + part * a * k, s2 + part * b * k, k, par, knot, coef, where, work)
        if flag:
            return flag
        k = work[3]
        total += k if i == 2 else 2.0 * k
    move = h * total / 6.0
    return look(t + h, s1 + a * move, s2 + b * move, k, par, knot, coef, where, node[3])


@kernel
def _inside(h: float, par: Floats, knot: Floats, coef: Floats, where: Ints, node: Floats) -> int:
    """Fill node[1] and node[2] at thirds of the step; the path is a cubic through both ends."""
    V0, V3 = node[0, 3], node[3, 3]
    for i in range(1, 3):
        z = i / 3.0
        rise = z * z * (3.0 - 2.0 * z)
        bend0, bend3 = h * z * (1.0 - z) * (1.0 - z), h * z * z * (z - 1.0)
        own = bend0 * V0 + bend3 * V3
        s1 = node[0, 1] + rise * (node[3, 1] - node[0, 1]) + par[5] * own
        s2 = node[0, 2] + rise * (node[3, 2] - node[0, 2]) + par[6] * own
        guess = V0 + z * (V3 - V0)
        flag = look(node[0, 0] + z * h, s1, s2, guess, par, knot, coef, where, node[i])
        if flag:
            return flag
    return REACHED


@kernel
def extend(
    f: int,
    x: Floats,
    y: Floats,
    knot: Floats,
    coef: Floats,
    area: Floats,
    square: Floats,
    count: Ints,
) -> None:
    """Append the cubic through four points of wave f."""
    j = count[f]
    d1, d2, d3 = x[1] - x[0], x[2] - x[0], x[3] - x[0]
    if not 0.0 < d1 < d2 < d3:
        # the contact rides with this wave: its characteristic stands still to rounding
        coef[f, j] = 0.0
        coef[f, j, 0] = y[3]
        knot[f, j], knot[f, j + 1] = x[0], max(x[0], x[3])
        area[f, j + 1] = area[f, j] + d3 * y[3]
        square[f, j + 1] = square[f, j] + d3 * y[3] * y[3]
        count[f] = j + 1
        return
    a1 = (y[1] - y[0]) / d1
    e2 = (y[2] - y[1]) / (d2 - d1)
    e3 = (y[3] - y[2]) / (d3 - d2)
    a2 = (e2 - a1) / d2
    a3 = ((e3 - e2) / (d3 - d1) - a2) / d3
    c0, c1, c2 = y[0], a1 - d1 * a2 + d1 * d2 * a3, a2 - (d1 + d2) * a3
    coef[f, j, 0], coef[f, j, 1], coef[f, j, 2], coef[f, j, 3] = c0, c1, c2, a3
    knot[f, j], knot[f, j + 1] = x[0], x[3]
    area[f, j + 1] = area[f, j] + part_of_area(d3, coef[f, j])
    square[f, j + 1] = square[f, j] + part_of_square(d3, coef[f, j])
    count[f] = j + 1


@kernel
def part_of_area(d: float, c: Vector) -> float:
    """Return the integral of a cubic from its knot over d."""
    return d * (c[0] + d * (c[1] / 2.0 + d * (c[2] / 3.0 + d * c[3] / 4.0)))


@kernel
def part_of_square(d: float, c: Vector) -> float:
    """Return the integral of the square of a cubic from its knot over d."""
    low = c[0] * c[0] + d * (c[0] * c[1] + d * (2.0 * c[0] * c[2] + c[1] * c[1]) / 3.0)
    high = (c[0] * c[3] + c[1] * c[2]) / 2.0 + d * (2.0 * c[1] * c[3] + c[2] * c[2]) / 5.0
    return d * (low + d * d * d * (high + d * d * (c[2] * c[3] / 3.0 + d * c[3] * c[3] / 7.0)))


@kernel
def _jump(f: int, j: int, step: float, knot: Matrix, coef: Stack) -> float:
    """Return how much wave f breaks at knot j: jumps of value, slope and bend over one step."""
    p, q, d = coef[f, j - 1], coef[f, j], knot[f, j] - knot[f, j - 1]
    value = p[0] + d * (p[1] + d * (p[2] + d * p[3])) - q[0]
    slope = p[1] + d * (2.0 * p[2] + 3.0 * d * p[3]) - q[1]
    bend = p[2] + 3.0 * d * p[3] - q[2]
    return abs(value) + step * abs(slope) + step * step * abs(bend)


@kernel
def _push(count: Ints, queue: Ints, ends: Ints) -> None:
    """Note that a corner leaves on all four waves from where their next cubic begins."""
    for f in range(4):
        tail = ends[1, f]
        again = tail > 0 and queue[f, tail - 1] == count[f]
        if not again and tail < queue.shape[1]:
            queue[f, tail] = count[f]
            ends[1, f] = tail + 1


@kernel
def _next_corner(
    par: Floats,
    now: Floats,
    knot: Floats,
    coef: Floats,
    count: Ints,
    where: Ints,
    queue: Ints,
    ends: Ints,
) -> tuple[int, float]:
    """Return the incoming wave that brings the next corner, and the time until then.

    The scattering has no memory, so a corner never gets smoother: each gives four, about half as
    strong. Only strong ones are met; what counts as strong rises as the allowance is used up.
    """
    first, wait = -1, np.inf
    least = par[12] * np.exp(-np.log(par[12]) * now[15] / par[13]) if par[13] > 0.0 else np.inf
    for m in range(4):
        f = m if par[8] > 0.0 else m ^ 1
        where[2, f] = count[f] - 1
        i = m // 2
        x = _place(m, now[0], now[1 + i], par)
        toward = 1.0 + (1.0 if m % 2 else -1.0) * par[5 + i] * now[3] / par[i]
        while ends[0, f] < ends[1, f]:
            j = queue[f, ends[0, f]]
            if j >= count[f]:
                break
            if _jump(f, j, par[9], knot, coef) < least * par[11]:
                ends[0, f] += 1
                continue
            dt = (knot[f, j] - x) / toward
            if dt > _MERGED * par[9]:
                where[2, f] = j - 1
                if dt < wait:
                    first, wait = m, dt
                break
            where[1, f] = j
            ends[0, f] += 1
            now[16] = 1.0
            _push(count, queue, ends)
    return first, wait


@kernel
def _land(
    m: int,
    h: float,
    par: Floats,
    knot: Floats,
    coef: Floats,
    where: Ints,
    node: Floats,
    work: Floats,
    goal: float,
) -> tuple[int, float]:
    """Fill node[3] where incoming wave m reads the place `goal`; return a flag and the step."""
    i = m // 2
    sign = 1.0 if m % 2 else -1.0
    longest, t = 2.0 * h, node[0, 0]
    for _ in range(8):
        h = (t + h) - t
        flag = _trial(h, par, knot, coef, where, node, work)
        if flag:
            return flag, h
        miss = _place(m, node[3, 0], node[3, 1 + i], par) - goal
        if abs(miss) <= 4e-16 * (1.0 + abs(node[3, 0])):
            break
        h -= miss / (1.0 + sign * par[5 + i] * node[3, 3] / par[i])
        h = min(max(h, 0.0), longest)
    return REACHED, h


@kernel
def _accept(
    h: float,
    par: Floats,
    now: Floats,
    knot: Floats,
    coef: Floats,
    area: Floats,
    square: Floats,
    count: Ints,
    node: Floats,
) -> None:
    """Store the four waves of a step and move on."""
    x, y = np.empty(4), np.empty(4)
    for f in range(4):
        i, sign = f // 2, (1.0 if f % 2 else -1.0)
        for q in range(4):
            rate = par[5 + i] * node[q, 3]
            force = node[q, 5] if i else -node[q, 4]
            x[q] = node[q, 0] + sign * node[q, 1 + i] / par[i]
            y[q] = node[q, 6 + f] + force / (par[i] + sign * rate)
        extend(f, x, y, knot, coef, area, square, count)
    for q in range(4):
        weight = h * (0.125 if q % 3 == 0 else 0.375)
        now[5] += weight * par[7] * node[q, 3] * node[q, 3]
        for i in range(2):
            k = 2.0 * np.pi / par[2 + i]
            force = (node[q, 5] if i else -node[q, 4]) * np.sin(k * node[q, 1 + i])
            phase = par[i] * k * node[q, 0]
            now[6 + 2 * i] += weight * force * np.cos(phase)
            now[7 + 2 * i] += weight * force * np.sin(phase)
    now[:5] = node[3, :5]
    now[14] += 1.0
    fast = max(abs(par[5] * now[3]) / par[0], abs(par[6] * now[3]) / par[1])
    if fast > now[10]:
        now[10], now[11] = fast, now[0]
    wu, wv = 0.5 * (node[3, 6] + node[3, 7]), 0.5 * (node[3, 8] + node[3, 9])
    slow = max(abs(par[5]) / par[0], abs(par[6]) / par[1])
    alone = wv if par[4] == 0.0 else max(abs(wu / par[4]), abs(wv))
    if abs(alone) * slow > now[12]:
        now[12], now[13] = abs(alone) * slow, now[0]


@kernel
def march(
    targets: Floats,
    rows: Floats,
    done: int,
    most_steps: int,
    par: Floats,
    now: Floats,
    knot: Floats,
    coef: Floats,
    area: Floats,
    square: Floats,
    count: Ints,
    where: Ints,
    queue: Ints,
    ends: Ints,
    node: Floats,
) -> tuple[int, int]:
    """Go on to the targets and fill one row at each; return a flag and how many are done."""
    work = np.empty(10)
    for k in range(done, targets.size):
        while now[0] < targets[k] - 1e-14 * (1.0 + abs(targets[k])):
            if count.max() + 2 >= coef.shape[1]:
                return FULL, k
            now[18] += 1.0
            if now[14] >= most_steps or now[18] > 4.0 * most_steps:
                return LIMIT, k
            m, wait = _next_corner(par, now, knot, coef, count, where, queue, ends)
            if now[16] > 0.0:
                flag = look(now[0], now[1], now[2], now[3], par, knot, coef, where, node[0])
                if flag:
                    return flag, k
                now[16] = 0.0
            else:
                node[0] = node[3]
            left = targets[k] - now[0]
            h = left / max(np.ceil(left / par[9] - 1e-9), 1.0)
            h = min(h, now[17] * (1.0 + 1e-8))
            for i in range(2):
                room = min(now[1 + i], par[2 + i] - now[1 + i])
                room = 0.45 * par[2 + i] if par[8] > 0.0 else 0.99 * room
                h = min(h, room / par[i])
            # the step that the clock really makes: else rounding of t would add up
            h = (now[0] + h) - now[0]
            if wait < h:
                i = m // 2
                f = m if par[8] > 0.0 else m ^ 1
                j = queue[f, ends[0, f]]
                flag, h = _land(m, wait, par, knot, coef, where, node, work, knot[f, j])
            else:
                m = -1
                flag = _trial(h, par, knot, coef, where, node, work)
            if flag == REACHED:
                flag = _inside(h, par, knot, coef, where, node)
            if flag:
                now[16] = 1.0
                now[17] = 0.5 * min(h, wait)
                if now[17] < _LOCATED * (1.0 + abs(now[0])):
                    return flag, k
                continue
            bend = node[3, 3] - node[0, 3] - 3.0 * (node[2, 3] - node[1, 3])
            if abs(bend) * par[16] > par[15] and h > _FINEST * par[9] and m < 0:
                now[16], now[17] = 1.0, 0.5 * h
                continue
            now[17] = min(2.0 * now[17], par[9])
            _accept(h, par, now, knot, coef, area, square, count, node)
            if m >= 0:
                where[1, f] = j
                ends[0, f] += 1
                now[15] += 1.0
                now[16] = 1.0
                _push(count, queue, ends)
        rows[k] = now[:10]
    return REACHED, targets.size
