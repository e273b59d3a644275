"""Kernels of `BumpStrands`: two strands in their normal modes, joined by a smooth bump.

Row 0 of an array belongs to u, row 1 to v. Mode k of strand i has amplitude a[i, k] and rate
p[i, k]; `norm` is the weight of its projection (2/l, 1/l for the mean), `bump` the coefficient
exp(-(kappa width)^2 / 2) of the bump, zero where the shorter strand has no mode. With
g = (1, -F) the constraint is sum_i g_i V_i = 0, V_i = sum_k bump psi_k(s_i) p_k, and the force on
mode k of strand i is -pull_i norm bump psi_k(s_i), pull = (lam, -F lam + r V_2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Vector
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


@kernel
def _basis(angle: float, periodic: bool, kappa: Floats, psi: Floats, slope: Floats) -> None:
    """Fill modes and derivatives at one place: sines, or 1, cos, sin, cos 2, ... on a circle."""
    c, s = np.cos(angle), np.sin(angle)
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
    a: Floats, p: Floats, s: Floats, strands: Floats, shared: Floats, work: Floats, out: Vector
) -> None:
    """Fill out = (V_1, V_2, lam, mismatch, weight, pull_1, pull_2) and the forces work[2 + i].

    strands: rows kappa, omega^2, norm, bump of u, then of v. shared: (angle per length) x 2,
    G1, G2, g1, g2, drag, 1 when periodic, r. `lam` keeps the constraint at acceleration level.
    """
    top, bottom, mismatch = 0.0, 0.0, 0.0
    for i in range(2):
        psi, slope, force = work[0], work[1], work[2 + i]
        kappa, stiff = strands[4 * i], strands[4 * i + 1]
        norm, bump = strands[4 * i + 2], strands[4 * i + 3]
        _basis(shared[i] * s[i], shared[7] > 0.5, kappa, psi, slope)
        mean, drift, own, weight = 0.0, 0.0, 0.0, 0.0
        for k in range(psi.size):
            b = bump[k] * psi[k]
            mean += b * p[i, k]
            drift += bump[k] * slope[k] * p[i, k]
            own -= b * (stiff[k] * a[i, k] + shared[6] * p[i, k])
            force[k] = norm[k] * b
            weight += force[k] * b
        g = shared[4 + i]
        out[i] = mean
        if i == 1:
            own -= shared[8] * mean * weight
        mismatch += g * mean
        top += g * (own + shared[2 + i] * mean * drift)
        bottom += g * g * weight
    out[2] = top / bottom
    out[3] = mismatch
    out[4] = bottom
    out[5] = out[2] * shared[4]
    out[6] = out[2] * shared[5] + shared[8] * out[1]


@kernel
def settle(
    a: Floats, p: Floats, s: Floats, strands: Floats, shared: Floats, work: Floats, out: Vector
) -> float:
    """Make the velocities obey the constraint by the least impulse; return the energy it takes."""
    contact(a, p, s, strands, shared, work, out)
    impulse = out[3] / out[4]
    for i in range(2):
        for k in range(p.shape[1]):
            p[i, k] -= impulse * shared[4 + i] * work[2 + i, k]
    return 0.5 * impulse * out[3]


@kernel
def _glide(a: Floats, p: Floats, flow: Floats) -> None:
    """Let both strands vibrate freely, exactly: flow holds the 2 x 2 matrix of each mode."""
    for i in range(2):
        for k in range(a.shape[1]):
            x, y = a[i, k], p[i, k]
            a[i, k] = flow[4 * i, k] * x + flow[4 * i + 1, k] * y
            p[i, k] = flow[4 * i + 2, k] * x + flow[4 * i + 3, k] * y


@kernel
def _heat_rate(p: Floats, strands: Floats, drag: float) -> float:
    """Return the power that the drag takes: drag times the integral of the squared velocity."""
    if drag == 0.0:
        return 0.0
    total = 0.0
    for i in range(2):
        norm = strands[4 * i + 2]
        for k in range(p.shape[1]):
            if norm[k] > 0.0:
                total += p[i, k] * p[i, k] / norm[k]
    return drag * total


@kernel
def _push(h: float, out: Floats, flow: Floats, work: Floats, a: Floats, p: Floats) -> None:
    """Add h times the contact force of one stage, carried on by half a step of free flow."""
    for i in range(2):
        size = -h * out[5 + i]
        for k in range(p.shape[1]):
            kick = size * work[2 + i, k]
            a[i, k] += flow[4 * i + 1, k] * kick
            p[i, k] += flow[4 * i + 3, k] * kick


@kernel
def _kick(h: float, out: Floats, work: Floats, p: Floats) -> None:
    """Add h times the contact force of one stage."""
    for i in range(2):
        size = -h * out[5 + i]
        for k in range(p.shape[1]):
            p[i, k] += size * work[2 + i, k]


@kernel
def _step(
    h: float,
    a: Floats,
    p: Floats,
    s: Floats,
    strands: Floats,
    shared: Floats,
    flow: Floats,
    work: Floats,
    spare: Floats,
    out: Floats,
) -> tuple[float, float]:
    """Take one step of the integrating-factor Runge-Kutta scheme of order 4.

    The free vibration is exact. `flow` is that of half a step. Returns the heat of the drag and
    of the rolling resistance.
    """
    now, start, drag = np.empty(2), s.copy(), shared[6]
    a1, p1 = spare[0:2], spare[2:4]
    sum_a, sum_p = spare[4:6], spare[6:8]
    contact(a, p, s, strands, shared, work, out)
    heat, rolling = _heat_rate(p, strands, drag), shared[8] * out[1] ** 2
    _glide(a, p, flow)
    a1[:] = a
    p1[:] = p
    sum_a[:] = a
    sum_p[:] = p
    _push(0.5 * h, out, flow, work, a1, p1)
    _push(h / 6.0, out, flow, work, sum_a, sum_p)
    for i in range(2):
        rate = shared[2 + i] * out[i]
        now[i] = start[i] + 0.5 * h * rate
        s[i] = start[i] + h / 6.0 * rate
    for stage in range(2):
        contact(a1, p1, now, strands, shared, work, out)
        heat += 2.0 * _heat_rate(p1, strands, drag)
        rolling += 2.0 * shared[8] * out[1] ** 2
        a1[:] = a
        p1[:] = p
        share = 0.5 if stage == 0 else 1.0
        _kick(share * h, out, work, p1)
        _kick(h / 3.0, out, work, sum_p)
        for i in range(2):
            rate = shared[2 + i] * out[i]
            now[i] = start[i] + share * h * rate
            s[i] += h / 3.0 * rate
    _glide(a1, p1, flow)
    contact(a1, p1, now, strands, shared, work, out)
    heat += _heat_rate(p1, strands, drag)
    rolling += shared[8] * out[1] ** 2
    a[:] = sum_a
    p[:] = sum_p
    _glide(a, p, flow)
    _kick(h / 6.0, out, work, p)
    for i in range(2):
        s[i] += h / 6.0 * shared[2 + i] * out[i]
    return h / 6.0 * heat, h / 6.0 * rolling


@kernel
def march(
    steps: int,
    h: float,
    a: Floats,
    p: Floats,
    s: Floats,
    strands: Floats,
    shared: Floats,
    flow: Floats,
    bounds: Floats,
    work: Floats,
    spare: Floats,
    seen: Floats,
) -> tuple[int, int]:
    """Take `steps` steps; return why it ended and how many were taken.

    bounds: c of u and v, then least and largest place of s1 and s2. seen: heat of the drag,
    energy taken by settling, largest |s'| / c, heat of rolling; all are added to.
    """
    out = np.empty(7)
    for n in range(steps):
        heat, rolling = _step(h, a, p, s, strands, shared, flow, work, spare, out)
        seen[0] += heat
        seen[3] += rolling
        seen[1] += settle(a, p, s, strands, shared, work, out)
        fastest = 0.0
        for i in range(2):
            fastest = max(fastest, abs(shared[2 + i] * out[i]) / bounds[i])
        seen[2] = max(seen[2], fastest)
        if not np.isfinite(s[0] + s[1] + out[2]):
            return NOT_FINITE, n + 1
        if fastest >= 1.0:
            return FASTER_THAN_WAVES, n + 1
        for i in range(2):
            if s[i] < bounds[2 + 2 * i] or s[i] > bounds[3 + 2 * i]:
                return NEAR_END, n + 1
    return REACHED, steps
