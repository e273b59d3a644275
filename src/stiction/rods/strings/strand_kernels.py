"""Kernels of `BumpStrands`: two strands in their normal modes, joined by a smooth bump.

Row 0 of an array belongs to u, row 1 to v. Mode k of strand i has amplitude a[i, k] and rate
p[i, k]; what else there is of it stands in `strands` (strand, rows below, mode). With
g = (1, -F) the constraint is sum_i g_i V_i = 0, V_i = sum_k bump psi_k(s_i) p_k, and the force on
mode k of strand i is -pull_i norm bump psi_k(s_i), pull = (lam, -F lam + r V_2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = [
    "FASTER_THAN_WAVES",
    "NEAR_END",
    "NOT_FINITE",
    "REACHED",
    "contact",
    "march",
    "settle",
]

Floats = npt.NDArray[np.float64]

REACHED, FASTER_THAN_WAVES, NEAR_END, NOT_FINITE = 0, 1, 2, 3

# rows of strands, for each strand: wave number; squared frequency; weight of the projection on
# the mode (2/l, 1/l for the mean); coefficient exp(-(kappa width)^2 / 2) of the bump, zero
# where the shorter strand has no mode
KAPPA, STIFF, NORM, BUMP = range(4)
STRAND_ROWS = 4

# entries of shared; of u, and of v in the entry after it, where "(2)" is written
ANGLE = 0  # (2) angle per length
MOBILITY = 2  # (2) G
SIGN = 4  # (2) g = (1, -F)
DRAG, PERIODIC, ROLLING = 6, 7, 8  # of the air; 1 on circles; resistance r
SHARED_ENTRIES = 9

# entries of out, what a contact is found to be: mean velocities V (2), force lam, sum g V,
# the weight of lam in its rate, pull on the strands (2)
V, LAM, MISMATCH, WEIGHT, PULL = 0, 2, 3, 4, 5
OUT_ENTRIES = 7

# rows of flow, for each strand: the 2 x 2 matrix of free vibration, amplitude and rate after it
# per amplitude and rate before it
A_A, A_P, P_A, P_P = range(4)
FLOW_ROWS = 4

# columns of bounds, for each strand: speed of its waves, least and largest place of the contact
SPEED, LOW, HIGH = range(3)

# entries of seen: heat of the drag, energy taken by settling, largest |s'| / c, heat of rolling;
# time since the start, when the largest |s'| / c was met, least room to a bound, and when
DRAG_HEAT, SETTLED, FASTEST, ROLLING_HEAT, CLOCK, FASTEST_AT, ROOM, ROOM_AT = range(8)
SEEN_ENTRIES = 8

# rows of work: modes at the contact, their slopes, the force of a unit pull on u and on v
PSI, SLOPE, PULLED = 0, 1, 2
WORK_ROWS = 4


@kernel
def _basis(angle: float, periodic: bool, kappa: Vector, psi: Vector, slope: Vector) -> None:
    """Fill modes and derivatives at one place: sines, or 1, cos, sin, cos 2, ... on a circle."""
    c, s = cos(angle), sin(angle)
    x, y = 1.0, 0.0
    if periodic:
        psi[0] = 1.0
        slope[0] = 0.0
        for k in range(1, psi.size - 1, 2):
            x, y = x * c - y * s, x * s + y * c
            psi[k] = x
            psi[k + 1] = y
            slope[k] = -kappa[k] * y
            slope[k + 1] = kappa[k] * x
    else:
        for k in range(psi.size):
            x, y = x * c - y * s, x * s + y * c
            psi[k] = y
            slope[k] = kappa[k] * x


@kernel
def contact(
    a: Matrix, p: Matrix, s: Vector, strands: Stack, shared: Vector, work: Matrix, out: Vector
) -> None:
    """Fill out, and the forces work[PULLED + i]; lam keeps the constraint of the accelerations."""
    top, bottom, mismatch = 0.0, 0.0, 0.0
    for i in range(2):
        psi, slope, force = work[PSI], work[SLOPE], work[PULLED + i]
        kappa, stiff = strands[i, KAPPA], strands[i, STIFF]
        norm, bump = strands[i, NORM], strands[i, BUMP]
        _basis(shared[ANGLE + i] * s[i], shared[PERIODIC] > 0.5, kappa, psi, slope)
        mean, drift, own, weight = 0.0, 0.0, 0.0, 0.0
        for k in range(psi.size):
            b = bump[k] * psi[k]
            mean += b * p[i, k]
            drift += bump[k] * slope[k] * p[i, k]
            own -= b * (stiff[k] * a[i, k] + shared[DRAG] * p[i, k])
            force[k] = norm[k] * b
            weight += force[k] * b
        g = shared[SIGN + i]
        out[V + i] = mean
        if i == 1:
            own -= shared[ROLLING] * mean * weight
        mismatch += g * mean
        top += g * (own + shared[MOBILITY + i] * mean * drift)
        bottom += g * g * weight
    out[LAM] = top / bottom
    out[MISMATCH] = mismatch
    out[WEIGHT] = bottom
    out[PULL] = out[LAM] * shared[SIGN]
    out[PULL + 1] = out[LAM] * shared[SIGN + 1] + shared[ROLLING] * out[V + 1]


@kernel
def settle(
    a: Matrix, p: Matrix, s: Vector, strands: Stack, shared: Vector, work: Matrix, out: Vector
) -> float:
    """Make the velocities obey the constraint by the least impulse; return the energy it takes."""
    contact(a, p, s, strands, shared, work, out)
    impulse = out[MISMATCH] / out[WEIGHT]
    for i in range(2):
        for k in range(p.shape[1]):
            p[i, k] -= impulse * shared[SIGN + i] * work[PULLED + i, k]
    return 0.5 * impulse * out[MISMATCH]


@kernel
def _copy(values: Matrix, to: Matrix) -> None:
    """Copy both rows of values; a loop compiles faster than an assignment of arrays."""
    for i in range(2):
        for k in range(to.shape[1]):
            to[i, k] = values[i, k]


@kernel
def _glide(a: Matrix, p: Matrix, flow: Stack) -> None:
    """Let both strands vibrate freely, exactly."""
    for i in range(2):
        for k in range(a.shape[1]):
            x, y = a[i, k], p[i, k]
            a[i, k] = flow[i, A_A, k] * x + flow[i, A_P, k] * y
            p[i, k] = flow[i, P_A, k] * x + flow[i, P_P, k] * y


@kernel
def _heat_rate(p: Matrix, strands: Stack, drag: float) -> float:
    """Return the power that the drag takes: drag times the integral of the squared velocity."""
    if drag == 0.0:
        return 0.0
    total = 0.0
    for i in range(2):
        norm = strands[i, NORM]
        for k in range(p.shape[1]):
            if norm[k] > 0.0:
                total += p[i, k] * p[i, k] / norm[k]
    return drag * total


@kernel
def _push(h: float, out: Vector, flow: Stack, work: Matrix, a: Matrix, p: Matrix) -> None:
    """Add h times the contact force of one stage, carried on by half a step of free flow."""
    for i in range(2):
        size = -h * out[PULL + i]
        for k in range(p.shape[1]):
            kick = size * work[PULLED + i, k]
            a[i, k] += flow[i, A_P, k] * kick
            p[i, k] += flow[i, P_P, k] * kick


@kernel
def _kick(h: float, out: Vector, work: Matrix, p: Matrix) -> None:
    """Add h times the contact force of one stage."""
    for i in range(2):
        size = -h * out[PULL + i]
        for k in range(p.shape[1]):
            p[i, k] += size * work[PULLED + i, k]


@kernel
def _step(
    h: float,
    a: Matrix,
    p: Matrix,
    s: Vector,
    strands: Stack,
    shared: Vector,
    flow: Stack,
    work: Matrix,
    spare: Matrix,
    out: Vector,
) -> tuple[float, float]:
    """Take one step of the integrating-factor Runge-Kutta scheme of order 4.

    The free vibration is exact. `flow` is that of half a step. Returns the heat of the drag and
    of the rolling resistance.
    """
    now, start, drag = np.empty(2), np.empty(2), shared[DRAG]
    start[0], start[1] = s[0], s[1]
    a1, p1 = spare[0:2], spare[2:4]
    sum_a, sum_p = spare[4:6], spare[6:8]
    contact(a, p, s, strands, shared, work, out)
    heat, rolling = _heat_rate(p, strands, drag), shared[ROLLING] * (out[V + 1] * out[V + 1])
    _glide(a, p, flow)
    _copy(a, a1)
    _copy(p, p1)
    _copy(a, sum_a)
    _copy(p, sum_p)
    _push(0.5 * h, out, flow, work, a1, p1)
    _push(h / 6.0, out, flow, work, sum_a, sum_p)
    for i in range(2):
        rate = shared[MOBILITY + i] * out[V + i]
        now[i] = start[i] + 0.5 * h * rate
        s[i] = start[i] + h / 6.0 * rate
    for stage in range(2):
        contact(a1, p1, now, strands, shared, work, out)
        heat += 2.0 * _heat_rate(p1, strands, drag)
        rolling += 2.0 * shared[ROLLING] * (out[V + 1] * out[V + 1])
        _copy(a, a1)
        _copy(p, p1)
        share = 0.5 if stage == 0 else 1.0
        _kick(share * h, out, work, p1)
        _kick(h / 3.0, out, work, sum_p)
        for i in range(2):
            rate = shared[MOBILITY + i] * out[V + i]
            now[i] = start[i] + share * h * rate
            s[i] += h / 3.0 * rate
    _glide(a1, p1, flow)
    contact(a1, p1, now, strands, shared, work, out)
    heat += _heat_rate(p1, strands, drag)
    rolling += shared[ROLLING] * (out[V + 1] * out[V + 1])
    _copy(sum_a, a)
    _copy(sum_p, p)
    _glide(a, p, flow)
    _kick(h / 6.0, out, work, p)
    for i in range(2):
        s[i] += h / 6.0 * shared[MOBILITY + i] * out[V + i]
    return h / 6.0 * heat, h / 6.0 * rolling


@kernel
def march(
    steps: int,
    h: float,
    a: Matrix,
    p: Matrix,
    s: Vector,
    strands: Stack,
    shared: Vector,
    flow: Stack,
    bounds: Matrix,
    work: Matrix,
    spare: Matrix,
    seen: Vector,
) -> tuple[int, int]:
    """Take `steps` steps; return why it ended and how many were taken.

    `seen` is added to; `bounds` end the march.
    """
    out = np.empty(OUT_ENTRIES)
    for n in range(steps):
        heat, rolling = _step(h, a, p, s, strands, shared, flow, work, spare, out)
        seen[DRAG_HEAT] += heat
        seen[ROLLING_HEAT] += rolling
        seen[SETTLED] += settle(a, p, s, strands, shared, work, out)
        fastest = 0.0
        for i in range(2):
            fastest = max(fastest, abs(shared[MOBILITY + i] * out[V + i]) / bounds[i, SPEED])
        seen[CLOCK] += h
        if fastest > seen[FASTEST]:
            seen[FASTEST], seen[FASTEST_AT] = fastest, seen[CLOCK]
        for i in range(2):
            room = min(s[i] - bounds[i, LOW], bounds[i, HIGH] - s[i])
            if room < seen[ROOM]:
                seen[ROOM], seen[ROOM_AT] = room, seen[CLOCK]
        if not np.isfinite(s[0] + s[1] + out[LAM]):
            return NOT_FINITE, n + 1
        if fastest >= 1.0:
            return FASTER_THAN_WAVES, n + 1
        for i in range(2):
            if s[i] < bounds[i, LOW] or s[i] > bounds[i, HIGH]:
                return NEAR_END, n + 1
    return REACHED, steps
