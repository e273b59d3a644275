"""Kernels of the method of characteristics for two strings that roll on each other.

d'Alembert's waves u_t - c u_x (right, R) and u_t + c u_x (left, L) are constant along
characteristics. At the contact, incoming waves are scattered into outgoing ones by the contact
force; outgoing waves return after a reflection at a fixed end, or after one turn of a circle. The
remaining unknown is the path of the contact, the solution of a differential equation with delay,
which the classical Runge-Kutta method integrates.

The four waves are numbered as in `state`. Outgoing waves are stored as cubics. `queue` (wave, n)
contains the indices of the cubics that begin at a corner, a jump of the wave or of a derivative.
`parameters`, `contacts` and `progress` are tables of one element. The strings are u and v with wave
speeds c1, c2, the contact is at x = s1 and s2. Primes are rates, V is the mean velocity <v_t> of
string v at the contact, F V that of u, lam the contact force; s1' and s2' are proportional to V.
`characteristics.Path` calls `integrate`, as do blocks of a study.

Arguments: `par`, `contact` and `now` are the elements of these tables, `pair` has both strings and
their waves, f or m is the number of an outgoing or incoming wave, `step` has five moments of a step
of length h, and flags are the constants below.

Source: Gay-Balmaz, Putkaradze 2012, (16)-(19); formulas sheet (docs/formulas/rods.md), section 5.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.elementary import cos, exp, sin
from stiction.numerics.jit import kernel, py_function
from stiction.rods.strings.state import (
    END,
    START,
    TRIAL,
    Contact,
    Cubic,
    Moment,
    Pair,
    Parameters,
    Progress,
    Step,
    String,
    Wave,
)

__all__ = [
    "ENDED",
    "FULL",
    "LIMIT",
    "NOT_FINITE",
    "NO_SUBSONIC_ROOT",
    "REACHED",
    "evaluate_contact",
    "extend",
    "extend_many",
    "integrate",
    "part_of_area",
    "part_of_square",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# flags: target reached; no regular subsonic V; contact at an end; no room for cubics; limit of
# steps
REACHED, NO_SUBSONIC_ROOT, ENDED, FULL, LIMIT, NOT_FINITE = range(6)

# two corners closer than this, in steps, count as one: a shorter cubic would consist of rounding
_MERGED = 1e-6
# the third-difference test does not shorten steps below this fraction of the longest step
_FINEST = 1.0 / 256.0
# the end of the model is located to this time, relative to the longest step + t
_LOCATED = 1e-11


@kernel(inline=True)
def _wave_value(f: int, x: float, cubics: Table[Cubic], wave: Wave) -> float:
    """Return outgoing wave f at coordinate x of its characteristics, from the stored cubics."""
    # successive calls evaluate neighbouring cubics: start from the last one
    first, last = wave.first, wave.last
    j: int = max(wave.read, first)
    while j < last and cubics[f, j + 1].knot <= x:
        j += 1
    while j > first and cubics[f, j].knot > x:
        j -= 1
    wave.read = j
    # beyond the range extrapolate the first or last cubic: between two corners the wave is smooth
    cubic = cubics[f, j]
    d = x - cubic.knot
    return cubic.c0 + d * (cubic.c1 + d * (cubic.c2 + d * cubic.c3))


@kernel(inline=True)
def _incoming_characteristic(m: int, t: float, s: float, string: String) -> float:
    """Return the coordinate of the characteristic that reaches the contact in wave m at time t.

    Outgoing waves are functions of xi = t - s/c (right) and eta = t + s/c (left). On a circle the
    delay is one turn. With fixed ends the incoming left-going wave is the right-going one,
    reflected at x = l.
    """
    c, length = string.speed, string.length
    turn = length if string.periodic else (2.0 * length if m % 2 else 0.0)
    return t + (s if m % 2 else -s) / c - turn / c


@kernel(inline=True)
def _contact_velocity(
    wu: float, wv: float, V: float, par: Parameters, u: String, v: String
) -> tuple[float, bool]:
    """Return V from the velocities wu, wv without contact force, and whether it is regular.

    `V` is the initial value. Regular means a subsonic root on the branch that continues V = 0.

    Elimination of the contact force from the mean velocities of both strings gives

        F (w_u - F V) p c2 / c1 = (V - w_v) q + r V c2 / 2,

    with p = c1^2 - (a V)^2, q = c2^2 - (b V)^2, the velocities w_u, w_v without contact force, the
    rolling resistance r, a = s1' / V and b = s2' / V: a cubic, or a linear equation if
    a / c1 = b / c2 and r = 0. The left minus the right side, g, decreases between the two critical
    points of the cubic. They are on either side of V = 0 for any w, so the regular root is the
    only one between them.
    """
    # formulas sheet (docs/formulas/rods.md), section 5, with two wave speeds
    c1, c2, a, b, F, r = u.speed, v.speed, u.rate, v.rate, par.ratio, 0.5 * par.rolling
    if par.linear:
        V = (F * c1 * wu + c2 * wv) / (F * F * c1 + c2 + r)
        return V, abs(a * V) < c1 and abs(b * V) < c2
    k = F * c2 / c1
    # dg / dV = (third V - 2 second) V + first, with first < 0
    third, second = 3.0 * (k * F * a * a + b * b), k * a * a * wu + b * b * wv
    first = -(k * F * c1 * c1 + c2 * c2 + r * c2)
    root = abs(second) + math.sqrt(second * second - third * first)
    low, high = first / root, root / third
    if second < 0.0:
        low, high = -high, -low
    # the root is between 0 and one critical point, the fold; without a change of sign there is none
    rising = k * wu * c1 * c1 + wv * c2 * c2 > 0.0
    fold = high if rising else low
    p, q = c1 * c1 - a * a * fold * fold, c2 * c2 - b * b * fold * fold
    g = k * (wu - F * fold) * p - (fold - wv) * q - r * c2 * fold
    # NaN fails both
    if not (g < 0.0 if rising else g > 0.0):
        return fold, False
    low, high = (0.0, high) if rising else (low, 0.0)
    # Newton's method from the last velocity, with bisection if a step leaves the bracket
    V = V if low <= V <= high else 0.0
    for _ in range(60):
        p, q = c1 * c1 - a * a * V * V, c2 * c2 - b * b * V * V
        g = k * (wu - F * V) * p - (V - wv) * q - r * c2 * V
        low, high = (V, high) if g > 0.0 else (low, V)
        slope = (third * V - 2.0 * second) * V + first
        new = V - g / slope if slope < 0.0 else math.inf
        if not low <= new <= high:
            new = 0.5 * (low + high)
        change, V = abs(new - V), new
        if change <= 1e-15 * (abs(V) + abs(wu) + abs(wv)):
            break
    return V, abs(a * V) < c1 and abs(b * V) < c2


@kernel(inline=True)
def evaluate_contact(
    t: float,
    s1: float,
    s2: float,
    V: float,
    par: Parameters,
    pair: Pair,
    at: Moment,
    incoming: Vector,
) -> int:
    """Evaluate incoming waves, V and contact force at time t and points s1, s2; return a flag.

    Parameters
    ----------
    V : initial value of Newton's method
    at, incoming : outputs: the contact, and (4,) incoming waves
    """
    at.time, at.s1, at.s2 = t, s1, s2
    u, v = pair.strings[0], pair.strings[1]
    fixed = not u.periodic
    if fixed:
        l1, l2 = u.length, v.length
        gap1, gap2 = min(s1, l1 - s1) / l1, min(s2, l2 - s2) / l2
        if min(gap1, gap2) < par.margin:
            return ENDED
    # at a fixed end a wave is reflected into the other direction, with opposite sign
    for m in range(4):
        x = _incoming_characteristic(m, t, s1 if m < 2 else s2, u if m < 2 else v)
        if fixed:
            incoming[m] = -_wave_value(m ^ 1, x, pair.cubics, pair.waves[m ^ 1])
        else:
            incoming[m] = _wave_value(m, x, pair.cubics, pair.waves[m])
    # w = (R- + L+) / 2, the velocity without contact force
    wu, wv = 0.5 * (incoming[0] + incoming[1]), 0.5 * (incoming[2] + incoming[3])
    V, regular = _contact_velocity(wu, wv, V, par, u, v)
    # lam from the scattering at a point force that moves with s1'
    c, rate, at.velocity = u.speed, u.rate * V, V
    at.force = 2.0 * (wu - par.ratio * V) * (c * c - rate * rate) / c
    return REACHED if regular else NO_SUBSONIC_ROOT


@kernel(inline=True)
def _runge_kutta_step(h: float, par: Parameters, pair: Pair, step: Step) -> int:
    """Set the end of a step of length h, by the classical Runge-Kutta method; return a flag.

    Incoming waves are known for one delay ahead, so every stage evaluates the scattering law.
    """
    start, trial = step.moments[START], step.moments[TRIAL]
    t, s1, s2, V = start.time, start.s1, start.s2, start.velocity
    a, b, total, k = pair.strings[0].rate, pair.strings[1].rate, V, V
    for i in range(3):
        offset = h if i == 2 else 0.5 * h
        # s_i' is proportional to V for both paths
        s1k, s2k = s1 + offset * a * k, s2 + offset * b * k
        flag = evaluate_contact(t + offset, s1k, s2k, k, par, pair, trial, step.incoming[TRIAL])
        if flag:
            return flag
        k = trial.velocity
        # weights 1, 2, 2, 1 over 6
        total += k if i == 2 else 2.0 * k
    move = h * total / 6.0
    s1, s2 = s1 + a * move, s2 + b * move
    return evaluate_contact(t + h, s1, s2, k, par, pair, step.moments[END], step.incoming[END])


@kernel(inline=True)
def _fill_thirds(h: float, par: Parameters, pair: Pair, step: Step) -> int:
    """Set the thirds of a step, on the cubic Hermite interpolant of the path; return a flag.

    Start, thirds and end define the cubic that is stored for each outgoing wave.
    """
    start, end = step.moments[START], step.moments[END]
    V0, V3 = start.velocity, end.velocity
    for i in range(1, 3):
        z = i / 3.0
        # positions and V at both ends define the cubic of each path
        hermite = z * z * (3.0 - 2.0 * z)
        bend0, bend3 = h * z * (1.0 - z) * (1.0 - z), h * z * z * (z - 1.0)
        own = bend0 * V0 + bend3 * V3
        t, guess = start.time + z * h, V0 + z * (V3 - V0)
        s1 = start.s1 + hermite * (end.s1 - start.s1) + pair.strings[0].rate * own
        s2 = start.s2 + hermite * (end.s2 - start.s2) + pair.strings[1].rate * own
        flag = evaluate_contact(t, s1, s2, guess, par, pair, step.moments[i], step.incoming[i])
        if flag:
            return flag
    return REACHED


@kernel
def extend(f: int, x: Vector, y: Vector, pair: Pair) -> None:
    """Append the cubic of wave f through four points (x, y): start, thirds and end of a step.

    Running integrals of the wave and of its square are appended too, for displacements and
    energies.
    """
    j = pair.waves[f].count
    cubic, after = pair.cubics[f, j], pair.cubics[f, j + 1]
    y0, y3 = y[0], y[3]
    d1, d2, d3 = x[1] - x[0], x[2] - x[0], x[3] - x[0]
    pair.waves[f].count = j + 1
    cubic.knot = x[0]
    if not 0.0 < d1 < d2 < d3:
        # the contact moves with the speed of this wave: the coordinate is constant to rounding
        cubic.c0, cubic.c1, cubic.c2, cubic.c3 = y3, 0.0, 0.0, 0.0
        after.knot = max(x[0], x[3])
        after.area = cubic.area + d3 * y3
        after.square = cubic.square + d3 * y3 * y3
        return
    # divided differences (Newton), expanded about the knot
    a1 = (y[1] - y0) / d1
    e2 = (y[2] - y[1]) / (d2 - d1)
    e3 = (y3 - y[2]) / (d3 - d2)
    a2 = (e2 - a1) / d2
    a3 = ((e3 - e2) / (d3 - d1) - a2) / d3
    c1, c2 = a1 - d1 * a2 + d1 * d2 * a3, a2 - (d1 + d2) * a3
    cubic.c0, cubic.c1, cubic.c2, cubic.c3 = y0, c1, c2, a3
    after.knot = x[3]
    after.area = cubic.area + part_of_area(d3, y0, c1, c2, a3)
    after.square = cubic.square + part_of_square(d3, y0, c1, c2, a3)


def _extend_many(f: int, x: Floats, y: Floats, pair: Pair) -> None:
    d = x - x[:, :1]
    if not (d[:, 1] > 0.0).all() or not (np.diff(d[:, 1:]) > 0.0).all():
        for k in range(x.shape[0]):
            extend(f, x[k], y[k], pair)
        return
    j, n = pair.waves[f].count, x.shape[0]
    y0, y1, y2, y3 = y.T
    _, d1, d2, d3 = d.T
    a1, e2, e3 = (y1 - y0) / d1, (y2 - y1) / (d2 - d1), (y3 - y2) / (d3 - d2)
    a2 = (e2 - a1) / d2
    a3 = ((e3 - e2) / (d3 - d1) - a2) / d3
    cubic = (y0, a1 - d1 * a2 + d1 * d2 * a3, a2 - (d1 + d2) * a3, a3)
    for name, values in zip(("c0", "c1", "c2", "c3", "knot"), (*cubic, x[:, 0]), strict=True):
        pair.cubics[name][f, j : j + n] = values
    pair.cubics[f, j + n].knot = x[-1, 3]
    for name, part in (("area", part_of_area), ("square", part_of_square)):
        column, grown = pair.cubics[name][f], py_function(part)(d3, *cubic)
        column[j + 1 : j + n + 1] = np.cumsum(np.append(column[j], grown))[1:]
    pair.waves[f].count = j + n


@kernel(plain=_extend_many)
def extend_many(f: int, x: Matrix, y: Matrix, pair: Pair) -> None:
    """Append n cubics of wave f, through four points each: x, y (n, 4)."""
    for k in range(x.shape[0]):
        extend(f, x[k], y[k], pair)


@kernel
def part_of_area(d: float, c0: float, c1: float, c2: float, c3: float) -> float:
    """Return the integral of the cubic c0 + c1 x + c2 x^2 + c3 x^3 from 0 to d."""
    return d * (c0 + d * (c1 / 2.0 + d * (c2 / 3.0 + d * c3 / 4.0)))


@kernel
def part_of_square(d: float, c0: float, c1: float, c2: float, c3: float) -> float:
    """Return the integral of the square of the cubic c0 + c1 x + c2 x^2 + c3 x^3 from 0 to d."""
    low = c0 * c0 + d * (c0 * c1 + d * (2.0 * c0 * c2 + c1 * c1) / 3.0)
    high = (c0 * c3 + c1 * c2) / 2.0 + d * (2.0 * c1 * c3 + c2 * c2) / 5.0
    return d * (low + d * d * d * (high + d * d * (c2 * c3 / 3.0 + d * c3 * c3 / 7.0)))


@kernel
def _jump(f: int, j: int, step: float, pair: Pair) -> float:
    """Return the strength of a corner: jumps of w, step w' and step^2 w'' / 2 at knot j, added."""
    before, after = pair.cubics[f, j - 1], pair.cubics[f, j]
    # value and derivatives of the cubic before at its end
    d = after.knot - before.knot
    p1, p2, p3 = before.c1, before.c2, before.c3
    value = before.c0 + d * (p1 + d * (p2 + d * p3)) - after.c0
    slope = p1 + d * (2.0 * p2 + 3.0 * d * p3) - after.c1
    second = p2 + 3.0 * d * p3 - after.c2
    return abs(value) + step * abs(slope) + step * step * abs(second)


@kernel
def _queue_corners(pair: Pair, queue: Ints) -> None:
    """Queue a corner on all four outgoing waves, at the begin of their next cubics."""
    for f in range(4):
        wave = pair.waves[f]
        tail = wave.tail
        again = tail > 0 and queue[f, tail - 1] == wave.count
        if not again and tail < queue.shape[1]:
            queue[f, tail] = wave.count
            wave.tail = tail + 1


@kernel
def _next_corner(
    par: Parameters, contact: Contact, now: Progress, pair: Pair, queue: Ints
) -> tuple[int, float]:
    """Return the incoming wave with the next corner, and the time until it arrives.

    The scattering law is algebraic, so a corner never becomes smoother: each is scattered into four
    outgoing corners of about half its strength. Steps end at strong corners only. To bound their
    number, the threshold of strength grows geometrically from `least` to 1 as the number of corners
    at which steps have ended approaches `corners`. Without a corner the wave is -1.
    """
    first, until_corner = -1, np.inf
    threshold = np.inf
    if par.corners > 0:
        threshold = par.least * exp(-math.log(par.least) * now.met / par.corners)
    for m in range(4):
        string = pair.strings[m // 2]
        # the outgoing wave that arrives as m: after a reflection the other one of the string
        f = m if string.periodic else m ^ 1
        wave = pair.waves[f]
        # evaluate up to the last cubic, unless a corner lies ahead
        wave.last = wave.count - 1
        x = _incoming_characteristic(m, contact.time, contact.s1 if m < 2 else contact.s2, string)
        sign = 1.0 if m % 2 else -1.0
        # rate of the coordinate of the characteristic at the contact
        rate_of_coordinate = 1.0 + sign * string.rate * contact.velocity / string.speed
        while wave.head < wave.tail:
            j = queue[f, wave.head]
            if j >= wave.count:
                break
            # a weak corner: steps may contain it
            if _jump(f, j, par.step, pair) < threshold * par.size:
                wave.head += 1
                continue
            # first estimate of its arrival, at the present speed of the contact
            dt = (pair.cubics[f, j].knot - x) / rate_of_coordinate
            if dt > _MERGED * par.step:
                wave.last = j - 1
                if dt < until_corner:
                    first, until_corner = m, dt
                break
            # the corner arrives now: evaluate after it, and queue it on all outgoing waves
            wave.first = j
            wave.head += 1
            now.fresh = 1
            _queue_corners(pair, queue)
    return first, until_corner


@kernel
def _step_to_corner(
    m: int, h: float, coordinate: float, par: Parameters, pair: Pair, step: Step
) -> tuple[int, float]:
    """Take the step at whose end incoming wave m has this coordinate; return flag and length.

    Newton's method for the length of the step, from the estimate h.
    """
    string, end = pair.strings[m // 2], step.moments[END]
    sign = 1.0 if m % 2 else -1.0
    longest, t = 2.0 * h, step.moments[START].time
    for _ in range(8):
        # h is the exact difference of two times
        h = (t + h) - t
        flag = _runge_kutta_step(h, par, pair, step)
        if flag:
            return flag, h
        error = (
            _incoming_characteristic(m, end.time, end.s1 if m < 2 else end.s2, string) - coordinate
        )
        if abs(error) <= 4e-16 * (string.length / string.speed + abs(end.time)):
            break
        # divided by the rate of the coordinate at the end of the step
        h -= error / (1.0 + sign * string.rate * end.velocity / string.speed)
        h = min(max(h, 0.0), longest)
    return REACHED, h


@kernel
def _record_extremes(
    par: Parameters, pair: Pair, contact: Contact, incoming: Vector, now: Progress
) -> None:
    """Record the largest speeds of the contact and its least distance to an end."""
    for i in range(2):
        string, s = pair.strings[i], contact.s2 if i else contact.s1
        fast = abs(string.rate * contact.velocity) / string.speed
        if fast > now.fastest:
            now.fastest, now.fastest_at = fast, contact.time
        room = min(s, string.length - s) / string.length
        if room < now.room:
            now.room, now.room_at = room, contact.time
    wu, wv = 0.5 * (incoming[0] + incoming[1]), 0.5 * (incoming[2] + incoming[3])
    # |w| / V_m, where V_m = 1 / steepest is the smallest V at which s' reaches a wave speed:
    # below 1 the subsonic root is unique (formulas sheet (docs/formulas/rods.md), section 5)
    uncoupled = wv if par.ratio == 0.0 else max(abs(wu / par.ratio), abs(wv))
    if abs(uncoupled) * par.steepest > now.alone:
        now.alone, now.alone_at = abs(uncoupled) * par.steepest, contact.time


@kernel(allocates=True)
def _accept_step(
    h: float, par: Parameters, contact: Contact, now: Progress, pair: Pair, step: Step
) -> None:
    """Append the outgoing waves of a step, integrate heat and harmonics, and accept its end.

    A point force f moving at s' adds f / (c - s') to the right-going wave and f / (c + s') to the
    left-going one. Integrals use Simpson's 3/8 rule on the start, the thirds and the end.
    """
    x, y = np.empty((4, 4)), np.empty((4, 4))
    for q in range(4):
        at, weight = step.moments[q], h * (0.125 if q % 3 == 0 else 0.375)
        t, V = at.time, at.velocity
        contact.heat += weight * par.rolling * V * V
        for i in range(2):
            string, right, left = pair.strings[i], 2 * i, 2 * i + 1
            c, rate = string.speed, string.rate * V
            s, force = at.s1, -at.force
            if i == 1:
                s, force = at.s2, par.ratio * at.force - par.rolling * V
            # R+ = R- - lam / (c - s'), L- = L+ - lam / (c + s') for u (docs/theory/strings,
            # eq-st-scatter); v has -F lam in place of lam, and the resistance
            x[right, q], x[left, q] = t - s / c, t + s / c
            y[right, q] = step.incoming[q, right] + force / (c - rate)
            y[left, q] = step.incoming[q, left] + force / (c + rate)
            # contact force on the second mode, sin(2 pi x / l), by the variation of constants:
            # integrals with cos and sin(c k t)
            k = 2.0 * np.pi / string.length
            force = force * sin(k * s)
            phase = c * k * t
            if i == 0:
                contact.u_cosine += weight * force * cos(phase)
                contact.u_sine += weight * force * sin(phase)
            else:
                contact.v_cosine += weight * force * cos(phase)
                contact.v_sine += weight * force * sin(phase)
    for f in range(4):
        extend(f, x[f], y[f], pair)
    end = step.moments[END]
    contact.time, contact.s1, contact.s2 = end.time, end.s1, end.s2
    contact.velocity, contact.force = end.velocity, end.force
    now.steps += 1
    _record_extremes(par, pair, contact, step.incoming[END], now)


@kernel
def _fill_start(par: Parameters, contact: Contact, now: Progress, pair: Pair, step: Step) -> int:
    """Set the start of a step: the end of the last step, or evaluated again; return a flag."""
    if now.fresh:
        t, s1, s2, V = contact.time, contact.s1, contact.s2, contact.velocity
        flag = evaluate_contact(t, s1, s2, V, par, pair, step.moments[START], step.incoming[START])
        if flag:
            return flag
        now.fresh = 0
        return REACHED
    step.moments[START] = step.moments[END]
    for m in range(4):
        step.incoming[START, m] = step.incoming[END, m]
    return REACHED


@kernel
def _step_length(
    target: float, par: Parameters, pair: Pair, contact: Contact, longest: float
) -> float:
    """Return the length of the next step if no corner arrives: at most `longest`, up to `target`.

    It is shorter than the delay, so that all incoming waves are known.
    """
    left = target - contact.time
    h: float = left / max(np.ceil(left / par.step - 1e-9), 1.0)
    h = min(h, longest * (1.0 + 1e-8))
    for i in range(2):
        string, s = pair.strings[i], contact.s2 if i else contact.s1
        room = min(s, string.length - s)
        room = 0.45 * string.length if string.periodic else 0.99 * room
        h = min(h, room / string.speed)
    # the exact difference of two times, so that the rounding of t does not accumulate
    return (contact.time + h) - contact.time


@kernel(separate=True)
def integrate(
    targets: Vector,
    samples: Table[Contact],
    most_steps: int,
    parameters: Table[Parameters],
    contacts: Table[Contact],
    progress: Table[Progress],
    pair: Pair,
    queue: Ints,
    step: Step,
) -> int:
    """Integrate the contact path to the targets (t,), save samples (t,) there; return a flag.

    A step ends at the next target time or strong corner.
    """
    par, contact, now, start, end = (
        parameters[0],
        contacts[0],
        progress[0],
        step.moments[START],
        step.moments[END],
    )
    if now.tries == 0:
        t, s1, s2 = contact.time, contact.s1, contact.s2
        flag = evaluate_contact(t, s1, s2, 0.0, par, pair, end, step.incoming[END])
        contact.velocity, contact.force = end.velocity, end.force
        # no point is farther from both ends than half the length
        now.room = 1.0
        _record_extremes(par, pair, contact, step.incoming[END], now)
        if flag:
            return flag
    while now.done < targets.size:
        target = targets[now.done]
        while contact.time < target - 1e-14 * (par.step + abs(target)):
            for f in range(4):
                if pair.waves[f].count + 2 >= pair.cubics.shape[1] - 1:
                    return FULL
            now.tries += 1
            if now.steps >= most_steps or now.tries > 4 * most_steps:
                return LIMIT
            m, until_corner = _next_corner(par, contact, now, pair, queue)
            flag = _fill_start(par, contact, now, pair, step)
            if flag:
                return flag
            h = _step_length(target, par, pair, contact, now.longest)
            # a corner arrives first: the step ends exactly there, so that no cubic contains it
            if until_corner < h:
                f = m if pair.strings[0].periodic else m ^ 1
                j = queue[f, pair.waves[f].head]
                coordinate = pair.cubics[f, j].knot
                flag, h = _step_to_corner(m, until_corner, coordinate, par, pair, step)
            else:
                m = -1
                flag = _runge_kutta_step(h, par, pair, step)
            if flag == REACHED:
                flag = _fill_thirds(h, par, pair, step)
            # the model ends within the step: halve the step, which locates the end by bisection
            if flag:
                now.fresh = 1
                now.longest = 0.5 * min(h, until_corner)
                if now.longest < _LOCATED * (par.step + abs(contact.time)):
                    return flag
                continue
            # third difference of V: halve a step over which V deviates too much from a parabola
            third = end.velocity - start.velocity
            third -= 3.0 * (step.moments[2].velocity - step.moments[1].velocity)
            if abs(third) * par.steepest > par.tolerance and h > _FINEST * par.step and m < 0:
                now.fresh, now.longest = 1, 0.5 * h
                continue
            now.longest = min(2.0 * now.longest, par.step)
            _accept_step(h, par, contact, now, pair, step)
            if m >= 0:
                pair.waves[f].first = j
                pair.waves[f].head += 1
                now.met += 1
                now.fresh = 1
                _queue_corners(pair, queue)
        samples[now.done] = contacts[0]
        now.done += 1
    return REACHED
