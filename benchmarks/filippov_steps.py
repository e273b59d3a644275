"""A DISODE45-type code: Dormand-Prince steps, events on the interpolant, Filippov sliding.

Written anew from the published algorithms for this comparison, for flows with one switching
surface; nothing of the original programs is used:

- M. Calvo, J. I. Montijano, L. Randez, Algorithm 968: DISODE45, ACM TOMS 43 (2016) 25;
- P. T. Piiroinen, Yu. A. Kuznetsov, An event-driven method to simulate Filippov systems with
  accurate computing of sliding motions, ACM TOMS 34 (2008) 13.

Every step is the 5(4) pair of Dormand and Prince. A change of sign of an event function on
its continuous extension of order 4 is bracketed and located there; `polish` then repeats the
step so that its end, not the interpolant, meets the surface. On the surface the state follows
Filippov's convex field and is put back on h = 0 after each step, until one side lets it go.

The loop is the same compiled or not: NUMBA_DISABLE_JIT=1 runs it as plain Python, with sums over
stages by NumPy.
"""

import math

import numba
import numpy as np
from scipy.integrate import RK45

# the Butcher table; the fields do not depend on time, so its nodes are not needed
A = np.zeros((7, 6))
A[:6, :5], A[6] = RK45.A, RK45.B
# fifth less fourth order
E = RK45.E[None]
# the continuous extension: rows are stages, columns powers theta^1 ... theta^4
P = RK45.P
LOOKS = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
MOST_EVENTS, MOST_STEPS = 1000, 1_000_000


# ---- the system: a block on a belt, x'' + x = -(mu0 - alpha |u|) sgn(u), u = x' - vb


@numba.njit(cache=True)
def field(side, x, p, out):
    out[0] = x[1]
    out[1] = -x[0] - side * p[0] + p[1] * (x[1] - p[2])


@numba.njit(cache=True)
def surface(x, p):
    return x[1] - p[2]


@numba.njit(cache=True)
def lie(f):
    """Return grad h . f."""
    return f[1]


@numba.njit(cache=True)
def put_back(x, p):
    """Put the state on h = 0."""
    x[1] = p[2]


# ---- the method


def _weighted(weights, row, count, k, x, h, out):
    """Set out = x + h (row of weights) . k; loops are what a compiler is good at."""
    for j in range(x.size):
        total = 0.0
        for i in range(count):
            total += weights[row, i] * k[i, j]
        out[j] = x[j] + h * total


def _weighted_by_numpy(weights, row, count, k, x, h, out):
    """Do the same as plain Python does it best."""
    out[:] = x + h * (weights[row, :count] @ k[:count])


def _between(x, h, k, theta, out):
    """The continuous extension at a part theta of the step."""
    for j in range(x.size):
        total = 0.0
        for i in range(7):
            weight = P[i, 0] + theta * (P[i, 1] + theta * (P[i, 2] + theta * P[i, 3]))
            total += weight * k[i, j]
        out[j] = x[j] + h * theta * total


def _between_by_numpy(x, h, k, theta, out):
    weights = P[:, 0] + theta * (P[:, 1] + theta * (P[:, 2] + theta * P[:, 3]))
    out[:] = x + h * theta * (weights @ k)


plain = bool(numba.config.DISABLE_JIT)
between = _between_by_numpy if plain else numba.njit(cache=True)(_between)
weighted = _weighted_by_numpy if plain else numba.njit(cache=True)(_weighted)


@numba.njit(cache=True)
def right_side(mode, x, p, plus, minus, out):
    """The field of a side, or Filippov's convex field for mode 0."""
    if mode != 0:
        field(mode, x, p, out)
        return
    field(1, x, p, plus)
    field(-1, x, p, minus)
    up, down = lie(plus), lie(minus)
    for j in range(x.size):
        out[j] = (down * plus[j] - up * minus[j]) / (down - up)


@numba.njit(cache=True)
def event(mode, x, p, plus, minus):
    """Positive in the mode: the distance from the surface, or how firmly both sides hold."""
    if mode != 0:
        return mode * surface(x, p)
    field(1, x, p, plus)
    field(-1, x, p, minus)
    return min(-lie(plus), lie(minus))


@numba.njit(cache=True)
def take_step(mode, x, h, p, k, plus, minus, stage, out):
    """One step from x with k[0] given; k[6] is the field at the end."""
    for i in range(1, 7):
        weighted(A, i, i, k, x, h, stage)
        right_side(mode, stage, p, plus, minus, k[i])
    out[:] = stage


@numba.njit(cache=True)
def locate(mode, x, h, p, k, low, high, g_low, g_high, plus, minus, out):
    """The zero on the interpolant: false position with Illinois weights."""
    side = 0
    for _ in range(100):
        theta = (low * g_high - high * g_low) / (g_high - g_low)
        between(x, h, k, theta, out)
        g = event(mode, out, p, plus, minus)
        if g == 0.0 or high - low < 4e-16:
            return theta
        if g > 0.0:
            low, g_low = theta, g
            if side == 1:
                g_high *= 0.5
            side = 1
        else:
            high, g_high = theta, g
            if side == -1:
                g_low *= 0.5
            side = -1
    return theta


@numba.njit(cache=True)
def polished(mode, x, h, p, k, theta, plus, minus, stage, out):
    """The part of the step after which its end, not the interpolant, meets the event."""
    last, g_last = theta, 0.0
    for turn in range(6):
        take_step(mode, x, theta * h, p, k, plus, minus, stage, out)
        g = event(mode, out, p, plus, minus)
        if turn == 0:
            step = 1e-6
        elif g == g_last:
            break
        else:
            step = -g * (theta - last) / (g - g_last)
        last, g_last = theta, g
        if abs(step) < 1e-15 * theta:
            break
        theta += step
    return last


@numba.njit(cache=True)
def mode_at(x, p, plus, minus):
    """What the fields force on the surface: slide, or the side both point to."""
    field(1, x, p, plus)
    field(-1, x, p, minus)
    up, down = lie(plus), lie(minus)
    if up < 0.0 < down:
        return 0
    if up >= 0.0 and down >= 0.0:
        return 1
    if up <= 0.0 and down <= 0.0:
        return -1
    raise ValueError("an escaping point")


@numba.njit(cache=True)
def after_sliding(x, p, plus, minus):
    """The side that no longer holds the state."""
    field(1, x, p, plus)
    field(-1, x, p, minus)
    return 1 if -lie(plus) < lie(minus) else -1


@numba.njit(cache=True)
def integrate(x, t_end, p, rtol, atol, polish, events, counts):
    """Fill events with rows (time, mode after) and return their number; x becomes the end."""
    n = x.size
    k, plus, minus = np.empty((7, n)), np.empty(n), np.empty(n)
    stage, new, trial = np.empty(n), np.empty(n), np.empty(n)
    nothing, miss = np.zeros(n), np.empty(n)
    t, found, h = 0.0, 0, 1e-2
    mode = mode_at(x, p, plus, minus)
    right_side(mode, x, p, plus, minus, k[0])
    fresh = mode != 0
    while t < t_end and counts[0] < MOST_STEPS:
        h = min(h, t_end - t)
        take_step(mode, x, h, p, k, plus, minus, stage, new)
        counts[0] += 1
        counts[1] += 6
        weighted(E, 0, 7, k, nothing, h, miss)
        norm = 0.0
        for j in range(n):
            norm += (miss[j] / (atol + rtol * max(abs(x[j]), abs(new[j])))) ** 2
        norm = math.sqrt(norm / n)
        if norm > 1.0:
            h *= max(0.2, 0.9 * norm**-0.2)
            continue
        wider = h * min(5.0, 0.9 * max(norm, 1e-10) ** -0.2)
        # a step that begins on the surface has no sign there to lose
        low, theta = 0.0, -1.0
        g_low = 0.0 if fresh else event(mode, x, p, plus, minus)
        for look in LOOKS:
            between(x, h, k, look, trial)
            g = event(mode, trial, p, plus, minus)
            if g < 0.0 and g_low > 0.0:
                theta = locate(mode, x, h, p, k, low, look, g_low, g, plus, minus, trial)
                break
            low, g_low = look, g
        if theta < 0.0:
            t += h
            x[:] = new
            if mode == 0:
                put_back(x, p)
            k[0] = k[6]
            h, fresh = wider, False
            continue
        if polish:
            theta = polished(mode, x, h, p, k, theta, plus, minus, stage, trial)
        t += theta * h
        x[:] = trial
        put_back(x, p)
        mode = after_sliding(x, p, plus, minus) if mode == 0 else mode_at(x, p, plus, minus)
        right_side(mode, x, p, plus, minus, k[0])
        events[found, 0], events[found, 1] = t, mode
        found += 1
        h, fresh = min(wider, 1e-2), mode != 0
        if found == MOST_EVENTS:
            raise ValueError("too many events")
    return found
