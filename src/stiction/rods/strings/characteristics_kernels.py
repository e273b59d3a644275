"""Kernels of `Characteristics`: the march of the contact, and what the waves hold at a time.

Four waves leave the contact: R of u, L of u, R of v, L of v (families 0 to 3). Each is kept
against its own characteristic, xi = t - s/c for R and eta = t + s/c for L, as cubics between
knots, with running integrals of the wave and of its square. The waves that come in (0 R-, 1 L+
of u, 2 and 3 of v) are read from them a whole reflection or turn earlier.

`wave` (family, knot, columns below): cubic j of a family holds from knot j to knot j + 1.
`marks` (rows below, family). `queue` (family, n): cubics that begin with a corner, in order.
`par`, `now`, and `node` (moments of a step, columns below): everything else about a march.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.elementary import cos, exp, sin
from stiction.numerics.jit import kernel, py_function

__all__ = [
    "ENDED",
    "FULL",
    "LIMIT",
    "OUTRUN",
    "REACHED",
    "extend",
    "extend_many",
    "look",
    "march",
    "part_of_area",
    "part_of_square",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REACHED, OUTRUN, ENDED, FULL, LIMIT = 0, 1, 2, 3, 4

# columns of wave: the cubic in x - knot, where it begins, and the integrals up to there of the
# wave and of its square; u itself is dimensionless here, as are x and t
C0, C1, C2, C3, KNOT, AREA, SQUARE = range(7)
WAVE_COLUMNS = 7

# rows of marks: how many cubics there are; which one was read last; the first and the last one
# that may be read; the corners of the queue that are still to be met, from HEAD up to TAIL
COUNT, READ, FIRST, LAST, HEAD, TAIL = range(6)
MARK_ROWS = 6

# entries of par; of u, and of v in the entry after it, where "(2)" is written
SPEED = 0  # (2) c
LENGTH = 2  # (2) l
RATIO = 4  # F of the rolling condition V_1 = F V_2
RATE = 5  # (2) s' / V
ROLLING = 7  # resistance r
PERIODIC = 8  # 1 on circles, 0 with fixed ends
STEP = 9  # longest step
MARGIN = 10  # least distance to a fixed end, over the length
SIZE = 11  # largest initial wave
LEAST = 12  # least strength of a corner that is met, over SIZE
CORNERS = 13  # about how many corners are met
ALIKE = 14  # 1 where the law of the contact is linear
TOLERANCE = 15  # of the third difference of s' / c in a step
STEEPEST = 16  # largest (s' / c) / V
PAR_ENTRIES = 17

# entries of now, and the first five columns of node too: time, both places of the contact, mean
# velocity V of v there, force lam
TIME, PLACE, VELOCITY, FORCE = 0, 1, 3, 4
# entries of now alone
HEAT = 5  # of rolling
FORCING = 6  # (2 x 2) integrals of force times sin(k s) times cos and sin(c k t), of u and v
SAVED = 10  # entries before it are saved at the times that are asked for
FASTEST, FASTEST_AT = 10, 11  # largest |s'| / c, and when
ALONE, ALONE_AT = 12, 13  # largest |w| / V_m of a string without contact, and when
STEPS, TRIES = 14, 18  # steps taken, steps tried
MET = 15  # corners met
FRESH = 16  # 1 where the state at the start of a step must be found again
LONGEST = 17  # longest step now
ROOM, ROOM_AT = 19, 20  # least distance to a fixed end over the length, and when
NOW_ENTRIES = 21

# columns of node alone: force on v, and the four waves that come in
ON_V, COMING = 5, 6
NODE_COLUMNS = 10
# rows of node: the start, the thirds and the end of a step, and a trial between them
START, END, TRIAL = 0, 3, 4
NODE_ROWS = 5

# two corners this near, in steps, are one: a cubic over less would be noise
_MERGED = 1e-6
# steps are not cut below this part of the longest one because the path bends
_FINEST = 1.0 / 256.0
# a time is located when the step that would pass it is this short, relative to 1 + t
_LOCATED = 1e-11


@kernel
def _wave(f: int, x: float, wave: Stack, marks: Ints) -> float:
    """Return outgoing wave f at x."""
    j: int = max(marks[READ, f], marks[FIRST, f])
    while j < marks[LAST, f] and wave[f, j + 1, KNOT] <= x:
        j += 1
    while j > marks[FIRST, f] and wave[f, j, KNOT] > x:
        j -= 1
    marks[READ, f] = j
    d = x - wave[f, j, KNOT]
    return wave[f, j, C0] + d * (wave[f, j, C1] + d * (wave[f, j, C2] + d * wave[f, j, C3]))


@kernel
def _place(m: int, t: float, s: float, par: Vector) -> float:
    """Return where incoming wave m is read at time t."""
    c, length = par[SPEED + m // 2], par[LENGTH + m // 2]
    turn = length if par[PERIODIC] > 0.0 else (2.0 * length if m % 2 else 0.0)
    return t + (s if m % 2 else -s) / c - turn / c


@kernel
def _velocity(wu: float, wv: float, V: float, par: Vector) -> tuple[float, bool]:
    """Return the mean velocity of v at the contact, and whether it is a regular subsonic one."""
    c1, c2, F = par[SPEED], par[SPEED + 1], par[RATIO]
    a, b = par[RATE], par[RATE + 1]
    if par[ALIKE] > 0.0:
        V = (F * c1 * wu + c2 * wv) / (F * F * c1 + c2)
        return V, abs(a * V) < c1 and abs(b * V) < c2
    k, r = F * c2 / c1, 0.5 * par[ROLLING] * c2
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
    par: Vector,
    wave: Stack,
    marks: Ints,
    out: Vector,
) -> int:
    """Fill out, a row of node, at a time and a place of the contact; return a flag.

    V comes in as a guess.
    """
    out[TIME], out[PLACE], out[PLACE + 1] = t, s1, s2
    fixed = par[PERIODIC] == 0.0
    if fixed:
        l1, l2 = par[LENGTH], par[LENGTH + 1]
        gap1, gap2 = min(s1, l1 - s1) / l1, min(s2, l2 - s2) / l2
        if min(gap1, gap2) < par[MARGIN]:
            return ENDED
    for m in range(4):
        x = _place(m, t, s1 if m < 2 else s2, par)
        if fixed:
            out[COMING + m] = -_wave(m ^ 1, x, wave, marks)
        else:
            out[COMING + m] = _wave(m, x, wave, marks)
    wu = 0.5 * (out[COMING] + out[COMING + 1])
    wv = 0.5 * (out[COMING + 2] + out[COMING + 3])
    V, good = _velocity(wu, wv, V, par)
    out[VELOCITY] = V
    c, rate = par[SPEED], par[RATE] * V
    out[FORCE] = 2.0 * (wu - par[RATIO] * V) * (c * c - rate * rate) / c
    out[ON_V] = par[RATIO] * out[FORCE] - par[ROLLING] * V
    return REACHED if good else OUTRUN


@kernel
def _trial(h: float, par: Vector, wave: Stack, marks: Ints, node: Matrix) -> int:
    """Fill the end of a step of length h, by the classical Runge-Kutta method."""
    t, s1, s2 = node[START, TIME], node[START, PLACE], node[START, PLACE + 1]
    V = node[START, VELOCITY]
    a, b, total, k = par[RATE], par[RATE + 1], V, V
    for i in range(3):
        part = h if i == 2 else 0.5 * h
        flag = look(
            t + part, s1 + part * a * k, s2 + part * b * k, k, par, wave, marks, node[TRIAL]
        )
        if flag:
            return flag
        k = node[TRIAL, VELOCITY]
        total += k if i == 2 else 2.0 * k
    move = h * total / 6.0
    return look(t + h, s1 + a * move, s2 + b * move, k, par, wave, marks, node[END])


@kernel
def _inside(h: float, par: Vector, wave: Stack, marks: Ints, node: Matrix) -> int:
    """Fill the thirds of a step; the path is a cubic through both ends."""
    V0, V3 = node[START, VELOCITY], node[END, VELOCITY]
    for i in range(1, 3):
        z = i / 3.0
        rise = z * z * (3.0 - 2.0 * z)
        bend0, bend3 = h * z * (1.0 - z) * (1.0 - z), h * z * z * (z - 1.0)
        own = bend0 * V0 + bend3 * V3
        s1, s2 = node[START, PLACE], node[START, PLACE + 1]
        s1 = s1 + rise * (node[END, PLACE] - s1) + par[RATE] * own
        s2 = s2 + rise * (node[END, PLACE + 1] - s2) + par[RATE + 1] * own
        guess = V0 + z * (V3 - V0)
        flag = look(node[START, TIME] + z * h, s1, s2, guess, par, wave, marks, node[i])
        if flag:
            return flag
    return REACHED


@kernel
def extend(f: int, x: Vector, y: Vector, wave: Stack, marks: Ints) -> None:
    """Append the cubic through four points (x, y) of wave f: the start, the thirds, the end."""
    j = marks[COUNT, f]
    y0, y3 = y[START], y[END]
    d1, d2, d3 = x[1] - x[START], x[2] - x[START], x[END] - x[START]
    marks[COUNT, f] = j + 1
    wave[f, j, KNOT] = x[START]
    if not 0.0 < d1 < d2 < d3:
        # the contact rides with this wave: its characteristic stands still to rounding
        wave[f, j, C0], wave[f, j, C1], wave[f, j, C2], wave[f, j, C3] = y3, 0.0, 0.0, 0.0
        wave[f, j + 1, KNOT] = max(x[START], x[END])
        wave[f, j + 1, AREA] = wave[f, j, AREA] + d3 * y3
        wave[f, j + 1, SQUARE] = wave[f, j, SQUARE] + d3 * y3 * y3
        return
    a1 = (y[1] - y0) / d1
    e2 = (y[2] - y[1]) / (d2 - d1)
    e3 = (y3 - y[2]) / (d3 - d2)
    a2 = (e2 - a1) / d2
    a3 = ((e3 - e2) / (d3 - d1) - a2) / d3
    c1, c2 = a1 - d1 * a2 + d1 * d2 * a3, a2 - (d1 + d2) * a3
    wave[f, j, C0], wave[f, j, C1], wave[f, j, C2], wave[f, j, C3] = y0, c1, c2, a3
    wave[f, j + 1, KNOT] = x[END]
    wave[f, j + 1, AREA] = wave[f, j, AREA] + part_of_area(d3, y0, c1, c2, a3)
    wave[f, j + 1, SQUARE] = wave[f, j, SQUARE] + part_of_square(d3, y0, c1, c2, a3)


def _extend_many(f: int, x: Floats, y: Floats, wave: Floats, marks: Ints) -> None:
    d = x - x[:, :1]
    if not (d[:, 1] > 0.0).all() or not (np.diff(d[:, 1:]) > 0.0).all():
        for k in range(x.shape[0]):
            extend(f, x[k], y[k], wave, marks)
        return
    j, n = int(marks[COUNT, f]), x.shape[0]
    y0, y1, y2, y3 = y.T
    d1, d2, d3 = d[:, 1], d[:, 2], d[:, END]
    a1, e2, e3 = (y1 - y0) / d1, (y2 - y1) / (d2 - d1), (y3 - y2) / (d3 - d2)
    a2 = (e2 - a1) / d2
    a3 = ((e3 - e2) / (d3 - d1) - a2) / d3
    cubic = (y0, a1 - d1 * a2 + d1 * d2 * a3, a2 - (d1 + d2) * a3, a3)
    for column, values in zip((C0, C1, C2, C3, KNOT), (*cubic, x[:, START]), strict=True):
        wave[f, j : j + n, column] = values
    wave[f, j + n, KNOT] = x[-1, END]
    for column, part in ((AREA, part_of_area), (SQUARE, part_of_square)):
        grown = py_function(part)(d3, *cubic)  # type: ignore[arg-type]
        wave[f, j + 1 : j + n + 1, column] = np.cumsum(np.append(wave[f, j, column], grown))[1:]
    marks[COUNT, f] = j + n


@kernel(plain=_extend_many)
def extend_many(f: int, x: Matrix, y: Matrix, wave: Stack, marks: Ints) -> None:
    """Append the cubics through four points each, in rows of x and y."""
    for k in range(x.shape[0]):
        extend(f, x[k], y[k], wave, marks)


@kernel
def part_of_area(d: float, c0: float, c1: float, c2: float, c3: float) -> float:
    """Return the integral of a cubic from its knot over d."""
    return d * (c0 + d * (c1 / 2.0 + d * (c2 / 3.0 + d * c3 / 4.0)))


@kernel
def part_of_square(d: float, c0: float, c1: float, c2: float, c3: float) -> float:
    """Return the integral of the square of a cubic from its knot over d."""
    low = c0 * c0 + d * (c0 * c1 + d * (2.0 * c0 * c2 + c1 * c1) / 3.0)
    high = (c0 * c3 + c1 * c2) / 2.0 + d * (2.0 * c1 * c3 + c2 * c2) / 5.0
    return d * (low + d * d * d * (high + d * d * (c2 * c3 / 3.0 + d * c3 * c3 / 7.0)))


@kernel
def _jump(f: int, j: int, step: float, wave: Stack) -> float:
    """Return how much wave f breaks at knot j: jumps of value, slope and bend over one step."""
    d = wave[f, j, KNOT] - wave[f, j - 1, KNOT]
    p0, p1 = wave[f, j - 1, C0], wave[f, j - 1, C1]
    p2, p3 = wave[f, j - 1, C2], wave[f, j - 1, C3]
    value = p0 + d * (p1 + d * (p2 + d * p3)) - wave[f, j, C0]
    slope = p1 + d * (2.0 * p2 + 3.0 * d * p3) - wave[f, j, C1]
    bend = p2 + 3.0 * d * p3 - wave[f, j, C2]
    return abs(value) + step * abs(slope) + step * step * abs(bend)


@kernel
def _push(marks: Ints, queue: Ints) -> None:
    """Note that a corner leaves on all four waves from where their next cubic begins."""
    for f in range(4):
        tail = marks[TAIL, f]
        again = tail > 0 and queue[f, tail - 1] == marks[COUNT, f]
        if not again and tail < queue.shape[1]:
            queue[f, tail] = marks[COUNT, f]
            marks[TAIL, f] = tail + 1


@kernel
def _next_corner(
    par: Vector, now: Vector, wave: Stack, marks: Ints, queue: Ints
) -> tuple[int, float]:
    """Return the incoming wave that brings the next corner, and the time until then.

    The scattering has no memory, so a corner never gets smoother: each gives four, about half as
    strong. Only strong ones are met; what counts as strong rises as the allowance is used up.
    """
    first, wait = -1, np.inf
    least = np.inf
    if par[CORNERS] > 0.0:
        least = par[LEAST] * exp(-math.log(par[LEAST]) * now[MET] / par[CORNERS])
    for m in range(4):
        f = m if par[PERIODIC] > 0.0 else m ^ 1
        marks[LAST, f] = marks[COUNT, f] - 1
        i = m // 2
        x = _place(m, now[TIME], now[PLACE + i], par)
        toward = 1.0 + (1.0 if m % 2 else -1.0) * par[RATE + i] * now[VELOCITY] / par[SPEED + i]
        while marks[HEAD, f] < marks[TAIL, f]:
            j = queue[f, marks[HEAD, f]]
            if j >= marks[COUNT, f]:
                break
            if _jump(f, j, par[STEP], wave) < least * par[SIZE]:
                marks[HEAD, f] += 1
                continue
            dt = (wave[f, j, KNOT] - x) / toward
            if dt > _MERGED * par[STEP]:
                marks[LAST, f] = j - 1
                if dt < wait:
                    first, wait = m, dt
                break
            marks[FIRST, f] = j
            marks[HEAD, f] += 1
            now[FRESH] = 1.0
            _push(marks, queue)
    return first, wait


@kernel
def _land(
    m: int, h: float, goal: float, par: Vector, wave: Stack, marks: Ints, node: Matrix
) -> tuple[int, float]:
    """Fill the end of a step where incoming wave m reads the place `goal`; return flag and step."""
    i = m // 2
    sign = 1.0 if m % 2 else -1.0
    longest, t = 2.0 * h, node[START, TIME]
    for _ in range(8):
        h = (t + h) - t
        flag = _trial(h, par, wave, marks, node)
        if flag:
            return flag, h
        miss = _place(m, node[END, TIME], node[END, PLACE + i], par) - goal
        if abs(miss) <= 4e-16 * (1.0 + abs(node[END, TIME])):
            break
        h -= miss / (1.0 + sign * par[RATE + i] * node[END, VELOCITY] / par[SPEED + i])
        h = min(max(h, 0.0), longest)
    return REACHED, h


@kernel
def _note_contact(par: Vector, now: Vector) -> None:
    """Keep the largest speed of the contact, and its least distance to an end."""
    for i in range(2):
        fast = abs(par[RATE + i] * now[VELOCITY]) / par[SPEED + i]
        if fast > now[FASTEST]:
            now[FASTEST], now[FASTEST_AT] = fast, now[TIME]
        length, s = par[LENGTH + i], now[PLACE + i]
        room = min(s, length - s) / length
        if room < now[ROOM]:
            now[ROOM], now[ROOM_AT] = room, now[TIME]


@kernel
def _accept(h: float, par: Vector, now: Vector, wave: Stack, marks: Ints, node: Matrix) -> None:
    """Store the four waves of a step and move on."""
    x, y = np.empty(4), np.empty(4)
    for f in range(4):
        i, sign = f // 2, (1.0 if f % 2 else -1.0)
        c = par[SPEED + i]
        for q in range(4):
            rate = par[RATE + i] * node[q, VELOCITY]
            force = node[q, ON_V] if i else -node[q, FORCE]
            x[q] = node[q, TIME] + sign * node[q, PLACE + i] / c
            y[q] = node[q, COMING + f] + force / (c + sign * rate)
        extend(f, x, y, wave, marks)
    for q in range(4):
        weight = h * (0.125 if q % 3 == 0 else 0.375)
        now[HEAT] += weight * par[ROLLING] * node[q, VELOCITY] * node[q, VELOCITY]
        for i in range(2):
            k = 2.0 * np.pi / par[LENGTH + i]
            force = node[q, ON_V] if i else -node[q, FORCE]
            force = force * sin(k * node[q, PLACE + i])
            phase = par[SPEED + i] * k * node[q, TIME]
            now[FORCING + 2 * i] += weight * force * cos(phase)
            now[FORCING + 1 + 2 * i] += weight * force * sin(phase)
    for column in range(FORCE + 1):
        now[column] = node[END, column]
    now[STEPS] += 1.0
    _note_contact(par, now)
    c1, c2, a, b = par[SPEED], par[SPEED + 1], par[RATE], par[RATE + 1]
    wu = 0.5 * (node[END, COMING] + node[END, COMING + 1])
    wv = 0.5 * (node[END, COMING + 2] + node[END, COMING + 3])
    slow = max(abs(a) / c1, abs(b) / c2)
    alone = wv if par[RATIO] == 0.0 else max(abs(wu / par[RATIO]), abs(wv))
    if abs(alone) * slow > now[ALONE]:
        now[ALONE], now[ALONE_AT] = abs(alone) * slow, now[TIME]


@kernel
def _begin(par: Vector, now: Vector, wave: Stack, marks: Ints, node: Matrix) -> int:
    """Fill the start of a step: the end of the one before, or found again; return a flag."""
    if now[FRESH] > 0.0:
        s1, s2, V = now[PLACE], now[PLACE + 1], now[VELOCITY]
        flag = look(now[TIME], s1, s2, V, par, wave, marks, node[START])
        if flag:
            return flag
        now[FRESH] = 0.0
        return REACHED
    for column in range(NODE_COLUMNS):
        node[START, column] = node[END, column]
    return REACHED


@kernel
def _length(target: float, par: Vector, now: Vector) -> float:
    """Return the length of the next step if no corner comes in."""
    left = target - now[TIME]
    h: float = left / max(np.ceil(left / par[STEP] - 1e-9), 1.0)
    h = min(h, now[LONGEST] * (1.0 + 1e-8))
    for i in range(2):
        room = min(now[PLACE + i], par[LENGTH + i] - now[PLACE + i])
        room = 0.45 * par[LENGTH + i] if par[PERIODIC] > 0.0 else 0.99 * room
        h = min(h, room / par[SPEED + i])
    # the step that the clock really makes: else rounding of t would add up
    return (now[TIME] + h) - now[TIME]


@kernel(apart=True)
def march(
    targets: Vector,
    rows: Matrix,
    done: int,
    most_steps: int,
    par: Vector,
    now: Vector,
    wave: Stack,
    marks: Ints,
    queue: Ints,
    node: Matrix,
) -> tuple[int, int]:
    """Go on to the targets and fill one row at each; return a flag and how many are done."""
    if now[TRIES] == 0.0:
        flag = look(now[TIME], now[PLACE], now[PLACE + 1], 0.0, par, wave, marks, node[END])
        now[VELOCITY], now[FORCE] = node[END, VELOCITY], node[END, FORCE]
        # no place is farther from both ends than half the length
        now[ROOM] = 1.0
        _note_contact(par, now)
        if flag:
            return flag, done
    for k in range(done, targets.size):
        while now[TIME] < targets[k] - 1e-14 * (1.0 + abs(targets[k])):
            for f in range(4):
                if marks[COUNT, f] + 2 >= wave.shape[1] - 1:
                    return FULL, k
            now[TRIES] += 1.0
            if now[STEPS] >= most_steps or now[TRIES] > 4.0 * most_steps:
                return LIMIT, k
            m, wait = _next_corner(par, now, wave, marks, queue)
            flag = _begin(par, now, wave, marks, node)
            if flag:
                return flag, k
            h = _length(targets[k], par, now)
            if wait < h:
                f = m if par[PERIODIC] > 0.0 else m ^ 1
                j = queue[f, marks[HEAD, f]]
                flag, h = _land(m, wait, wave[f, j, KNOT], par, wave, marks, node)
            else:
                m = -1
                flag = _trial(h, par, wave, marks, node)
            if flag == REACHED:
                flag = _inside(h, par, wave, marks, node)
            if flag:
                now[FRESH] = 1.0
                now[LONGEST] = 0.5 * min(h, wait)
                if now[LONGEST] < _LOCATED * (1.0 + abs(now[TIME])):
                    return flag, k
                continue
            bend = node[END, VELOCITY] - node[START, VELOCITY]
            bend -= 3.0 * (node[2, VELOCITY] - node[1, VELOCITY])
            if abs(bend) * par[STEEPEST] > par[TOLERANCE] and h > _FINEST * par[STEP] and m < 0:
                now[FRESH], now[LONGEST] = 1.0, 0.5 * h
                continue
            now[LONGEST] = min(2.0 * now[LONGEST], par[STEP])
            _accept(h, par, now, wave, marks, node)
            if m >= 0:
                marks[FIRST, f] = j
                marks[HEAD, f] += 1
                now[MET] += 1.0
                now[FRESH] = 1.0
                _push(marks, queue)
        for column in range(SAVED):
            rows[k, column] = now[column]
    return REACHED, targets.size
