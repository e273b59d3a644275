"""Kernels of `BumpStrands`: two strands in their normal modes, joined by a smooth bump.

Row 0 of an array belongs to u, row 1 to v. Mode k of strand i has amplitude a[i, k] and rate
p[i, k]; the contact is at s[i]. With g = (1, -F) the constraint is sum_i g_i V_i = 0,
V_i = sum_k bump psi_k(s_i) p_k, and the force on mode k of strand i is
-pull_i norm bump psi_k(s_i), pull = (lam, -F lam + r V_2). All of it is dimensionless.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel

__all__ = [
    "FASTER_THAN_WAVES",
    "NEAR_END",
    "NOT_FINITE",
    "REACHED",
    "Flow",
    "Joint",
    "Mode",
    "Progress",
    "Sample",
    "Samples",
    "State",
    "Strand",
    "Strands",
    "contact",
    "march",
    "save",
    "settle",
]

Floats = npt.NDArray[np.float64]

REACHED, FASTER_THAN_WAVES, NEAR_END, NOT_FINITE = range(4)


class Strand(Struct):
    """A strand: its numbers, and the contact on it when it was computed last.

    speed : of its waves
    angle : of its modes, per length
    mobility : G
    sign : g of the constraint, 1 or -F
    low, high : least and largest place of the contact
    mean : velocity V, averaged over the bump
    pull : of the contact on the strand
    """

    speed: float
    angle: float
    mobility: float
    sign: float
    low: float
    high: float
    mean: float
    pull: float


class Joint(Struct):
    """What joins the strands: its numbers, and what it was when it was computed last.

    drag : of the air
    resistance : r of rolling
    periodic : 1 on circles
    force : lam
    mismatch : sum g V
    weight : of lam in the rate of the mismatch
    """

    drag: float
    resistance: float
    periodic: int
    force: float
    mismatch: float
    weight: float


class Progress(Struct):
    """Where a march stands, in one element.

    clock : time since the start
    drag_heat, rolling_heat : heat of the drag and of rolling
    settled : energy taken by settling
    fastest, fastest_at : largest |s'| / c, and when
    room, room_at : least distance to where the bump comes to an end, and when
    steps, saved : steps taken, samples saved
    ended : why it ended, REACHED while it goes on
    """

    clock: float
    drag_heat: float
    rolling_heat: float
    settled: float
    fastest: float
    fastest_at: float
    room: float
    room_at: float
    steps: int
    saved: int
    ended: int


class Sample(Struct):
    """A saved state: time, places of the contact, V, lam, heats, energy taken by settling."""

    time: float
    s1: float
    s2: float
    u_mean: float
    v_mean: float
    force: float
    drag_heat: float
    rolling_heat: float
    settled: float


class Samples(NamedTuple):
    """What is saved: rows (t,), and amplitudes and rates of the modes (t, 2, n)."""

    rows: Table[Sample]
    amplitude: Floats
    velocity: Floats


class State(NamedTuple):
    """Amplitudes and rates (2, n), places (2,) of the contact, and work space (8, n)."""

    a: Floats
    p: Floats
    s: Floats
    spare: Floats


class Mode(Struct):
    """A mode of a strand.

    kappa, stiffness : wave number and squared frequency
    norm : weight of the projection on the mode, 2/l, or 1/l for the mean
    bump : coefficient exp(-(kappa width)^2 / 2), zero where the shorter strand has no mode
    psi, slope : the mode and its derivative at the contact
    """

    kappa: float
    stiffness: float
    norm: float
    bump: float
    psi: float
    slope: float


class Strands(NamedTuple):
    """Two strands, what joins them, their modes (2, n).

    push : (2, n) what a unit of pull does to the rates of the modes
    """

    strands: Table[Strand]
    joint: Table[Joint]
    modes: Table[Mode]
    push: Floats


class Flow(NamedTuple):
    """Free vibration: amplitude a and rate p after it per a and p before it, all (2, n)."""

    aa: Floats
    ap: Floats
    pa: Floats
    pp: Floats


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
def contact(a: Matrix, p: Matrix, s: Vector, m: Strands) -> None:
    """Fill in the contact at places s; lam keeps the constraint of the accelerations."""
    joint = m.joint[0]
    drag, resistance = joint.drag, joint.resistance
    top, bottom, mismatch = 0.0, 0.0, 0.0
    for i in range(2):
        strand, modes, push = m.strands[i], m.modes[i, :], m.push[i]
        psi, slope, bump = modes["psi"], modes["slope"], modes["bump"]
        stiffness, norm = modes["stiffness"], modes["norm"]
        _basis(strand.angle * s[i], joint.periodic == 1, modes["kappa"], psi, slope)
        mean, drift, own, weight = 0.0, 0.0, 0.0, 0.0
        for k in range(psi.size):
            b = bump[k] * psi[k]
            mean += b * p[i, k]
            drift += bump[k] * slope[k] * p[i, k]
            own -= b * (stiffness[k] * a[i, k] + drag * p[i, k])
            push[k] = norm[k] * b
            weight += push[k] * b
        g = strand.sign
        strand.mean = mean
        if i == 1:
            own -= resistance * mean * weight
        mismatch += g * mean
        top += g * (own + strand.mobility * mean * drift)
        bottom += g * g * weight
    u, v = m.strands[0], m.strands[1]
    joint.force, joint.mismatch, joint.weight = top / bottom, mismatch, bottom
    u.pull = joint.force * u.sign
    v.pull = joint.force * v.sign + resistance * v.mean


@kernel
def settle(x: State, m: Strands) -> float:
    """Make the velocities obey the constraint by the least impulse; return the energy it takes."""
    contact(x.a, x.p, x.s, m)
    mismatch = m.joint[0].mismatch
    impulse = mismatch / m.joint[0].weight
    for i in range(2):
        for k in range(x.p.shape[1]):
            x.p[i, k] -= impulse * m.strands[i].sign * m.push[i, k]
    return float(0.5 * impulse * mismatch)


@kernel
def save(x: State, m: Strands, progress: Table[Progress], samples: Samples) -> None:
    """Save a sample, but for its time."""
    contact(x.a, x.p, x.s, m)
    now = progress[0]
    k, u, v = now.saved, m.strands[0], m.strands[1]
    sample, amplitude, velocity = samples.rows[k], samples.amplitude[k], samples.velocity[k]
    sample.s1, sample.s2, sample.u_mean, sample.v_mean = x.s[0], x.s[1], u.mean, v.mean
    sample.force, sample.settled = m.joint[0].force, now.settled
    sample.drag_heat, sample.rolling_heat = now.drag_heat, now.rolling_heat
    _copy(x.a, amplitude)
    _copy(x.p, velocity)
    now.saved = k + 1


@kernel
def _copy(values: Matrix, to: Matrix) -> None:
    """Copy both rows of values; a loop compiles faster than an assignment of arrays."""
    for i in range(2):
        for k in range(to.shape[1]):
            to[i, k] = values[i, k]


@kernel
def _glide(a: Matrix, p: Matrix, flow: Flow) -> None:
    """Let both strands vibrate freely, exactly."""
    for i in range(2):
        for k in range(a.shape[1]):
            x, y = a[i, k], p[i, k]
            a[i, k] = flow.aa[i, k] * x + flow.ap[i, k] * y
            p[i, k] = flow.pa[i, k] * x + flow.pp[i, k] * y


@kernel
def _heat_rate(p: Matrix, modes: Table[Mode], drag: float) -> float:
    """Return the power that the drag takes: drag times the integral of the squared velocity."""
    if drag == 0.0:
        return 0.0
    norm, total = modes["norm"], 0.0
    for i in range(2):
        for k in range(p.shape[1]):
            if norm[i, k] > 0.0:
                total += p[i, k] * p[i, k] / norm[i, k]
    return drag * total


@kernel
def _push(h: float, strands: Table[Strand], push: Matrix, flow: Flow, a: Matrix, p: Matrix) -> None:
    """Add h times the contact force of one stage, carried on by half a step of free flow."""
    for i in range(2):
        size = -h * strands[i].pull
        for k in range(p.shape[1]):
            kick = size * push[i, k]
            a[i, k] += flow.ap[i, k] * kick
            p[i, k] += flow.pp[i, k] * kick


@kernel
def _kick(h: float, strands: Table[Strand], push: Matrix, p: Matrix) -> None:
    """Add h times the contact force of one stage."""
    for i in range(2):
        size = -h * strands[i].pull
        for k in range(p.shape[1]):
            p[i, k] += size * push[i, k]


@kernel(allocates=True)
def _step(h: float, x: State, m: Strands, flow: Flow) -> tuple[float, float]:
    """Take one step of the integrating-factor Runge-Kutta scheme of order 4.

    The free vibration is exact. `flow` is that of half a step. Returns the heat of the drag and
    of the rolling resistance.
    """
    a, p, s, strands, push = x.a, x.p, x.s, m.strands, m.push
    now, start = np.empty(2), np.empty(2)
    v, drag, resistance = strands[1], m.joint[0].drag, m.joint[0].resistance
    start[0], start[1] = s[0], s[1]
    a1, p1, sum_a, sum_p = x.spare[0:2], x.spare[2:4], x.spare[4:6], x.spare[6:8]
    contact(a, p, s, m)
    heat, rolling = _heat_rate(p, m.modes, drag), resistance * (v.mean * v.mean)
    _glide(a, p, flow)
    _copy(a, a1)
    _copy(p, p1)
    _copy(a, sum_a)
    _copy(p, sum_p)
    _push(0.5 * h, strands, push, flow, a1, p1)
    _push(h / 6.0, strands, push, flow, sum_a, sum_p)
    for i in range(2):
        rate = strands[i].mobility * strands[i].mean
        now[i] = start[i] + 0.5 * h * rate
        s[i] = start[i] + h / 6.0 * rate
    for stage in range(2):
        contact(a1, p1, now, m)
        heat += 2.0 * _heat_rate(p1, m.modes, drag)
        rolling += 2.0 * resistance * (v.mean * v.mean)
        _copy(a, a1)
        _copy(p, p1)
        share = 0.5 if stage == 0 else 1.0
        _kick(share * h, strands, push, p1)
        _kick(h / 3.0, strands, push, sum_p)
        for i in range(2):
            rate = strands[i].mobility * strands[i].mean
            now[i] = start[i] + share * h * rate
            s[i] += h / 3.0 * rate
    _glide(a1, p1, flow)
    contact(a1, p1, now, m)
    heat += _heat_rate(p1, m.modes, drag)
    rolling += resistance * (v.mean * v.mean)
    _copy(sum_a, a)
    _copy(sum_p, p)
    _glide(a, p, flow)
    _kick(h / 6.0, strands, push, p)
    for i in range(2):
        s[i] += h / 6.0 * strands[i].mobility * strands[i].mean
    return h / 6.0 * heat, h / 6.0 * rolling


@kernel
def march(
    steps: int,
    h: float,
    x: State,
    m: Strands,
    flow: Flow,
    progress: Table[Progress],
    samples: Samples,
) -> int:
    """Take steps, fewer if the model ends, and save a sample; return why it ended."""
    now, s, ended = progress[0], x.s, REACHED
    for _ in range(steps):
        heat, rolling = _step(h, x, m, flow)
        now.drag_heat += heat
        now.rolling_heat += rolling
        now.settled += settle(x, m)
        now.steps += 1
        now.clock += h
        fastest, ahead = 0.0, np.inf
        for i in range(2):
            strand = m.strands[i]
            fastest = max(fastest, abs(strand.mobility * strand.mean) / strand.speed)
            room = min(s[i] - strand.low, strand.high - s[i])
            ahead = min(ahead, room)
            if room < now.room:
                now.room, now.room_at = room, now.clock
        if fastest > now.fastest:
            now.fastest, now.fastest_at = fastest, now.clock
        if not np.isfinite(s[0] + s[1] + m.joint[0].force):
            ended = NOT_FINITE
        elif fastest >= 1.0:
            ended = FASTER_THAN_WAVES
        elif ahead < 0.0:
            ended = NEAR_END
        if ended:
            break
    save(x, m, progress, samples)
    return ended
