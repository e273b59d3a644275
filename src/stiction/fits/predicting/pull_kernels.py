"""A slider behind a spring whose end is moved: what the spring feels at every row.

Between rows the end moves evenly. Motion is cut where the slider stops, turns round or breaks
away, and where its contact is straight; between these it is smooth, and Runge-Kutta steps of
order 4 resolve the fastest of its rates. Steps depend continuously on all parameters, so that
differences by parameters are smooth between events of the same order.
"""

from __future__ import annotations

import math

from stiction.fits.predicting.law_kernels import (
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

__all__ = ["pull", "saw"]

# (u, w, z): extension of the spring, speed, what the contact remembers
# a step over the shortest time of the motion
_PART = 0.05
# beyond these steps a set of parameters counts as one that cannot be followed
_MOST_STEPS, _MOST_EACH = 200_000, 100


@kernel
def _rates(
    code: int, p: Vector, r: Vector, drive: float, s: float, u: float, w: float, z: float
) -> tuple[float, float, float]:
    """Return the rates of (u, w, z).

    `r` holds stiffness, mass, normal force and impedance; `drive` is the speed of the end, `s`
    the sign of the slip.
    """
    k, m, n = r[0], r[1], r[2]
    if code == RATE_STATE:
        # w stands for ln V; the spring is told by the balance of forces
        v = math.exp(w)
        part = v / p[2]
        rate = math.exp(-z) - part
        if p[5] == 1.0:
            rate = -part * (w + z - math.log(p[2]))
        share = 1.0
        if p[6] == 1.0:
            grown = p[3] + p[1] * (z + math.log(p[4] / p[2]))
            power = w - math.log(2.0 * p[4]) + grown / p[0]
            if power < 20.0:
                e = math.exp(power)
                share = e / math.sqrt(1.0 + e * e)
        pulled = k * (drive - v) - n * p[1] * share * rate
        return drive - v, pulled / (n * p[0] * share + r[3] * v), rate
    if code == STRIBECK:
        return drive - w, (k * u - n * s * kinetic(p, max(s * w, 0.0))) / m, 0.0
    if m == 0.0:
        turn = state_rate(code, p, s, z, s) * s
        slip = k * drive / (k + n * p[0] * turn)
        return drive - slip, 0.0, turn * slip
    rate = state_rate(code, p, w, z, s)
    friction = p[0] * z
    if code == LUGRE:
        friction += p[1] * rate + p[2] * w
    return drive - w, (k * u - n * friction) / m, rate


@kernel
def _fastest(code: int, p: Vector, r: Vector, drive: float, w: float, z: float) -> float:
    """Return the largest rate of the motion here [1/s]."""
    k, m, n = r[0], r[1], r[2]
    if code == RATE_STATE:
        v = math.exp(w)
        direct = n * p[0] + r[3] * v
        rate = (v + abs(drive)) * (1.0 / p[2] + k / direct) + math.exp(-z)
        return rate + v / p[2] * (n * p[1]) / direct
    if code == STRIBECK:
        rate = math.sqrt(k / m) + n * p[4] / m
        if abs(w) < 6.0 * p[2]:
            rate += n * abs(p[0] - p[1]) / (p[2] * m)
        return rate
    if code == DAHL:
        yields = p[0] / p[1]
    elif code == LUGRE:
        yields = p[0] / level(p, abs(w))
    else:
        yields = (p[2] + abs(p[3])) * (1.0 if p[4] == 1.0 else abs(z) + p[1] * 1e-12)
        if p[4] != 1.0:
            yields = max(yields, math.sqrt(p[1] * (p[2] + abs(p[3]))))
    if m == 0.0:
        return yields * abs(drive)
    rate = math.sqrt((k + n * p[0]) / m) + yields * abs(w)
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
    u: float,
    w: float,
    z: float,
) -> tuple[float, float, float]:
    """Return the state a time `h` after (u, w, z)."""
    half = 0.5 * h
    u1, w1, z1 = _rates(code, p, r, drive, s, u, w, z)
    u2, w2, z2 = _rates(code, p, r, drive, s, u + half * u1, w + half * w1, z + half * z1)
    u3, w3, z3 = _rates(code, p, r, drive, s, u + half * u2, w + half * w2, z + half * z2)
    u4, w4, z4 = _rates(code, p, r, drive, s, u + h * u3, w + h * w3, z + h * z3)
    sixth = h / 6.0
    return (
        u + sixth * (u1 + 2.0 * (u2 + u3) + u4),
        w + sixth * (w1 + 2.0 * (w2 + w3) + w4),
        z + sixth * (z1 + 2.0 * (z2 + z3) + z4),
    )


@kernel
def _zero(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    u: float,
    w: float,
    z: float,
    of_speed: bool,
) -> float:
    """Return the time within `h` at which the speed, or else the deflection, passes zero."""
    _, end_w, end_z = _step(code, p, r, drive, s, h, u, w, z)
    low, high = 0.0, h
    f_low, f_high = (w, end_w) if of_speed else (z, end_z)
    t = h
    for _ in range(80):
        t = high - f_high * (high - low) / (f_high - f_low)
        if not (low < t < high):
            t = 0.5 * (low + high)
        _, now_w, now_z = _step(code, p, r, drive, s, t, u, w, z)
        f = now_w if of_speed else now_z
        if f == 0.0 or high - low <= 1e-14 * h:
            break
        # the method of Illinois: the end that stays counts half
        if (f < 0.0) == (f_low < 0.0):
            low, f_low = t, f
            f_high *= 0.5
        else:
            high, f_high = t, f
            f_low *= 0.5
    return t


@kernel
def _free(
    code: int,
    p: Vector,
    r: Vector,
    drive: float,
    s: float,
    h: float,
    u: float,
    w: float,
    z: float,
) -> tuple[float, float, float, float]:
    """Return a time of at most `h`, to where something turns its sign, and the state then."""
    u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
    if code == RATE_STATE:
        return h, u1, w1, z1
    if r[1] > 0.0 and w * w1 < 0.0:
        h = _zero(code, p, r, drive, s, h, u, w, z, True)
        u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
        w1 = 0.0
    elif code == STRIBECK and w == 0.0 and s * w1 < 0.0:
        # it was to break away and could not
        return 0.0, u, w, z
    if code == BOUC_WEN and z * z1 < 0.0:
        h = _zero(code, p, r, drive, s, h, u, w, z, False)
        u1, w1, z1 = _step(code, p, r, drive, s, h, u, w, z)
        z1 = 0.0
    return h, u1, w1, z1


@kernel
def _sign(w: float, rate: float) -> float:
    """Return the sign of a slip velocity, or of what it is about to be."""
    if w != 0.0:
        return 1.0 if w > 0.0 else -1.0
    return 1.0 if rate >= 0.0 else -1.0


@kernel
def _stays(p: Vector, r: Vector, drive: float, left: float, u: float) -> tuple[float, float]:
    """Return the time, at most `left`, that a slider stays stuck, and the spring then."""
    if drive == 0.0:
        return left, u
    s = 1.0 if drive > 0.0 else -1.0
    bound = s * p[5] * r[2] / r[0]
    t = max((bound - u) / drive, 0.0)
    if t >= left:
        return left, u + drive * left
    return t, bound


@kernel
def pull(
    code: int,
    p: Vector,
    r: Vector,
    y: Vector,
    dt: Vector,
    dx: Vector,
    normal: Vector,
    out: Vector,
) -> tuple[int, int]:
    """Set `out` to the force of the spring at the rows; return events and steps.

    Parameters
    ----------
    code, p : the law
    r : stiffness, mass, a place for the normal force, impedance
    y : extension, speed and state at the first row; a slider at rest begins stuck where it can
    dt, dx : time and motion of the end since the row before
    normal : normal forces at the rows

    Verified by: tests/exact/test_fits.py::test_a_pulled_slider_against_the_chain
    """
    events, steps = 0, 0
    u, w, z = y[0], y[1], y[2]
    stuck = code == STRIBECK and w == 0.0
    # arcs of slip end in events, and must be followed more closely
    part = _PART if code == STRIBECK else 3.0 * _PART
    s = 1.0
    # a search looks at springs that no rig has, and must not stay there
    most = max(_MOST_STEPS, _MOST_EACH * out.size)
    r[2] = normal[0]
    out[0] = _felt(code, p, r, u, w, z)
    for i in range(1, out.size):
        r[2] = 0.5 * (normal[i] + normal[i - 1])
        left, drive = dt[i], dx[i] / dt[i]
        while left > 0.0:
            if stuck:
                t, u = _stays(p, r, drive, left, u)
                if t < left:
                    stuck, s = False, 1.0 if u > 0.0 else -1.0
                    events += 1
                left = left - t if t < left else 0.0
                continue
            if code != STRIBECK:
                s = _sign(drive, 0.0)
                if r[1] > 0.0:
                    _, pulled, _ = _rates(code, p, r, drive, s, u, w, z)
                    s = _sign(w, pulled)
            h = min(left, part / max(_fastest(code, p, r, drive, w, z), 1e-300))
            t, u, w, z = _free(code, p, r, drive, s, h, u, w, z)
            left -= t
            steps += 1
            if steps > most or not math.isfinite(u + w + z):
                out[i:] = math.nan
                return events, steps
            if code == STRIBECK and w == 0.0:
                bound = p[5] * r[2]
                stuck = abs(r[0] * u) <= bound * (1.0 + 1e-12)
                events += 1
                if not stuck:
                    s = 1.0 if u > 0.0 else -1.0
                elif t == 0.0:
                    # it broke away and came to rest at once: the end moves too slowly to tell
                    u += drive * left
                    left = 0.0
        r[2] = normal[i]
        out[i] = _felt(code, p, r, u, w, z)
    return events, steps


@kernel
def _felt(code: int, p: Vector, r: Vector, u: float, w: float, z: float) -> float:
    """Return the force of the spring."""
    if code == RATE_STATE:
        v = math.exp(w)
        return r[2] * coefficient(code, p, v, z) + r[3] * v
    return r[0] * u


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
