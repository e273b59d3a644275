"""A slider behind a spring whose end is moved: what the spring feels at every row.

Between rows the end moves evenly. Motion is cut where the slider stops, turns round or breaks
away, and where its contact is straight; between these it is smooth, and Runge-Kutta steps of
order 4 resolve the fastest of its rates. Steps depend continuously on all parameters, so that
differences by parameters are smooth between events of the same order.
"""

from __future__ import annotations

import math

from stiction.fits.law_kernels import (
    BOUC_WEN,
    DAHL,
    LUGRE,
    RATE_STATE,
    STRIBECK,
    coefficient,
    kinetic,
    level,
    state_rate,
)
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = ["MOST_STEPS", "pull", "saw"]

# a step over the shortest time of the motion
_PART = 0.12
# beyond these steps a set of parameters counts as one that cannot be followed
MOST_STEPS = 3_000_000
# entries of the state: extension of the spring, speed, what the contact remembers
_U, _W, _Z = 0, 1, 2


@kernel
def _turn(code: int, p: Vector, s: float, z: float) -> float:
    """Return dz/dx of a law that knows no time, in slip of the sign s."""
    return state_rate(code, p, s, z, s) * s


@kernel
def _rates(
    code: int, p: Vector, r: Vector, drive: float, s: float, y: Vector, out: Vector
) -> None:
    """Set `out` to the rates of (u, w, z).

    `r` holds stiffness, mass, normal force and impedance; `drive` is the speed of the end, `s`
    the sign of the slip.
    """
    k, m, n = r[0], r[1], r[2]
    if code == RATE_STATE:
        # y holds ln V in place of w; the spring is told by the balance of forces
        v = math.exp(y[1])
        part = v / p[2]
        rate = math.exp(-y[2]) - part
        if p[5] == 1.0:
            rate = -part * (y[1] + y[2] - math.log(p[2]))
        share = 1.0
        if p[6] == 1.0:
            power = y[1] - math.log(2.0 * p[4]) + (p[3] + p[1] * (y[2] + math.log(p[4] / p[2]))) / p[0]
            if power < 20.0:
                e = math.exp(power)
                share = e / math.sqrt(1.0 + e * e)
        out[0] = drive - v
        out[1] = (k * (drive - v) - n * p[1] * share * rate) / (n * p[0] * share + r[3] * v)
        out[2] = rate
    elif code == STRIBECK:
        out[0] = drive - y[1]
        out[1] = (k * y[0] - n * s * kinetic(p, max(s * y[1], 0.0))) / m
        out[2] = 0.0
    elif m == 0.0:
        turn = _turn(code, p, s, y[2])
        w = k * drive / (k + n * p[0] * turn)
        out[0] = drive - w
        out[1] = 0.0
        out[2] = turn * w
    else:
        w = y[1]
        rate = state_rate(code, p, w, y[2], s)
        friction = p[0] * y[2]
        if code == LUGRE:
            friction += p[1] * rate + p[2] * w
        out[0] = drive - w
        out[1] = (k * y[0] - n * friction) / m
        out[2] = rate


@kernel
def _fastest(code: int, p: Vector, r: Vector, drive: float, y: Vector) -> float:
    """Return the largest rate of the motion here [1/s]."""
    k, m, n = r[0], r[1], r[2]
    if code == RATE_STATE:
        v = math.exp(y[1])
        direct = n * p[0] + r[3] * v
        rate = (v + abs(drive)) * (1.0 / p[2] + k / direct) + math.exp(-y[2])
        return rate + v / p[2] * (n * p[1]) / direct
    if code == STRIBECK:
        rate = math.sqrt(k / m) + n * p[4] / m
        x = abs(y[1]) / p[2]
        if x < 6.0:
            rate += n * abs(p[0] - p[1]) / (p[2] * m)
        return rate
    if code == DAHL:
        yields = p[0] / p[1]
    elif code == LUGRE:
        yields = p[0] / level(p, abs(y[1]))
    else:
        yields = (p[2] + abs(p[3])) * (1.0 if p[4] == 1.0 else abs(y[2]) + p[1] * 1e-12)
        if p[4] != 1.0:
            yields = max(yields, math.sqrt(p[1] * (p[2] + abs(p[3]))))
    if m == 0.0:
        return yields * abs(drive)
    rate = math.sqrt((k + n * p[0]) / m) + yields * abs(y[1])
    if code == LUGRE:
        rate += n * (p[1] + p[2]) / m
    return rate


@kernel
def _step(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    y: Vector,
    work: Vector,
    out: Vector,
) -> None:
    """Set `out` to the state a time `h` after `y`; `work` holds 15 numbers."""
    k1, k2, k3, k4, at = work[0:3], work[3:6], work[6:9], work[9:12], work[12:15]
    _rates(code, p, r, drive, s, y, k1)
    for j in range(3):
        at[j] = y[j] + 0.5 * h * k1[j]
    _rates(code, p, r, drive, s, at, k2)
    for j in range(3):
        at[j] = y[j] + 0.5 * h * k2[j]
    _rates(code, p, r, drive, s, at, k3)
    for j in range(3):
        at[j] = y[j] + h * k3[j]
    _rates(code, p, r, drive, s, at, k4)
    for j in range(3):
        out[j] = y[j] + h / 6.0 * (k1[j] + 2.0 * (k2[j] + k3[j]) + k4[j])


@kernel
def _cut(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    y: Vector,
    work: Vector,
    out: Vector,
    which: int,
) -> float:
    """Return the time within `h` at which entry `which` of the state passes zero.

    `out` holds the state after `h`, and then the one at that time.
    """
    low, high, f_low, f_high = 0.0, h, y[which], out[which]
    t = h
    for _ in range(80):
        t = high - f_high * (high - low) / (f_high - f_low)
        if not (low < t < high):
            t = 0.5 * (low + high)
        _step(code, p, r, drive, s, t, y, work, out)
        f = out[which]
        if f == 0.0 or high - low <= 1e-14 * h:
            break
        # the method of Illinois: the end that stays counts half
        if (f < 0.0) == (f_low < 0.0):
            low, f_low = t, f
            f_high *= 0.5
        else:
            high, f_high = t, f
            f_low *= 0.5
    out[which] = 0.0
    return t


@kernel
def _free(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    h: float,
    y: Vector,
    work: Vector,
    out: Vector,
    s: float,
) -> float:
    """Step by at most `h` to where something turns its sign; return the time that passed."""
    _step(code, p, r, drive, s, h, y, work, out)
    if code == RATE_STATE or (r[1] == 0.0 and code != BOUC_WEN):
        return h
    if code != RATE_STATE and r[1] > 0.0 and y[_W] * out[_W] < 0.0:
        h = _cut(code, p, r, drive, s, h, y, work, out, 1)
    elif code == STRIBECK and y[_W] == 0.0 and s * out[_W] < 0.0:
        # it was to break away and could not
        for j in range(3):
            out[j] = y[j]
        return 0.0
    if code == BOUC_WEN and y[_Z] * out[_Z] < 0.0:
        h = _cut(code, p, r, drive, s, h, y, work, out, 2)
    return h


@kernel
def _sign(w: float, rate: float) -> float:
    """Return the sign of a slip velocity, or of what it is about to be."""
    if w != 0.0:
        return 1.0 if w > 0.0 else -1.0
    return 1.0 if rate >= 0.0 else -1.0


@kernel
def _stays(p: Vector, r: Vector, drive: float, left: float, y: Vector) -> float:
    """Load a stuck slider for at most `left`; return the time until it breaks away."""
    bound = p[5] * r[2] / r[0]
    if drive == 0.0:
        return left
    s = 1.0 if drive > 0.0 else -1.0
    t = max((s * bound - y[_U]) / drive, 0.0)
    if t >= left:
        y[_U] += drive * left
        return left
    y[_U] = s * bound
    return t


@kernel
def pull(
    code: int, p: Vector, r: Vector, y: Vector, dt: Vector, dx: Vector, normal: Vector,
    work: Vector, out: Vector,
) -> tuple[int, int]:
    """Set `out` to the force of the spring at the rows; return events and steps.

    Parameters
    ----------
    code, p : the law
    r : stiffness, mass, a place for the normal force, impedance
    y : state at the first row, see `_rates`; a slider at rest begins stuck where it can
    dt, dx : time and motion of the end since the row before
    normal : normal forces at the rows
    work : 18 numbers

    Verified by: tests/exact/test_fits.py::test_a_pulled_slider_against_the_chain
    """
    events, steps = 0, 0
    after = work[15:18]
    stuck = code == STRIBECK and y[_W] == 0.0
    s = 1.0
    r[2] = normal[0]
    out[0] = _felt(code, p, r, y)
    for i in range(1, out.size):
        r[2] = 0.5 * (normal[i] + normal[i - 1])
        left, drive = dt[i], dx[i] / dt[i]
        while left > 0.0:
            if stuck:
                t = _stays(p, r, drive, left, y)
                if t < left:
                    stuck, s = False, 1.0 if y[_U] > 0.0 else -1.0
                    events += 1
                left = left - t if t < left else 0.0
                continue
            if code != STRIBECK:
                _rates(code, p, r, drive, s, y, work[0:3])
                s = _sign(y[_W] if r[1] > 0.0 else drive, work[1])
            h = min(left, _PART / max(_fastest(code, p, r, drive, y), 1e-300))
            t = _free(code, p, r, drive, h, y, work, after, s)
            for j in range(3):
                y[j] = after[j]
            left -= t
            steps += 1
            if steps > MOST_STEPS or not math.isfinite(y[_U] + y[_W] + y[_Z]):
                out[i:] = math.nan
                return events, steps
            if code == STRIBECK and y[_W] == 0.0:
                bound = p[5] * r[2]
                pulls = r[0] * y[_U]
                stuck = abs(pulls) <= bound * (1.0 + 1e-12)
                events += 1
                if not stuck:
                    s = 1.0 if pulls > 0.0 else -1.0
                elif t == 0.0:
                    # it broke away and came to rest at once: the end moves too slowly to tell
                    y[_U] += drive * left
                    left = 0.0
        r[2] = normal[i]
        out[i] = _felt(code, p, r, y)
    return events, steps


@kernel
def _felt(code: int, p: Vector, r: Vector, y: Vector) -> float:
    """Return the force of the spring."""
    if code == RATE_STATE:
        v = math.exp(y[1])
        return r[2] * coefficient(code, p, v, y[2]) + r[3] * v
    return r[0] * y[_U]


@kernel
def saw(p: Vector, stiffness: float, force: float, dx: Vector, normal: Vector, out: Vector) -> int:
    """Set `out` to the force of the spring on a slider without mass; return events.

    Friction mu_static and mu_kinetic: where it breaks away the slider overshoots as far as a
    small mass would, to 2 mu_kinetic - mu_static, and sticks again. Where both are equal it
    slips evenly.
    """
    events = 0
    f = force
    out[0] = f
    for i in range(1, out.size):
        bound = p[0] * normal[i]
        drop = 2.0 * (p[0] - p[1]) * normal[i]
        left = stiffness * dx[i]
        s = 1.0 if left >= 0.0 else -1.0
        f += left
        if drop <= 1e-9 * bound:
            if s * f > bound:
                f = s * bound
        elif s * f > bound:
            times = math.floor((s * f - bound) / drop) + 1.0
            events += int(times)
            f -= s * times * drop
        out[i] = f
    return events
