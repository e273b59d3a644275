"""Kernels of `BumpStrands`: two strands in normal modes, coupled over a smooth bump.

The point values of the rolling condition are averaged with a Gaussian, the bump, and the contact
force acts through the same Gaussian, so that energy is conserved. Free vibration of the modes is
exact; an integrating-factor Runge-Kutta scheme adds the contact force.

Index 0 of an array is u, index 1 is v. Mode k of strand i has amplitude a[i, k] and rate
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
    "FreeVibration",
    "Joint",
    "Mode",
    "Progress",
    "Sample",
    "Samples",
    "State",
    "Strand",
    "Strands",
    "contact",
    "integrate",
    "project_velocities",
    "save",
]

Floats = npt.NDArray[np.float64]

REACHED, FASTER_THAN_WAVES, NEAR_END, NOT_FINITE = range(4)


class Strand(Struct):
    """A strand: its parameters, and the contact when it was evaluated last.

    speed : of its waves
    angle : of its modes, per length
    mobility : G
    sign : g of the constraint, 1 or -F
    low, high : bounds of the contact point
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
    """The coupling of the strands: its parameters, and its state when it was evaluated last.

    drag : of the air
    resistance : r of rolling
    periodic : 1 on circles
    force : lam
    mismatch : sum g V
    weight : of lam in the rate of the mismatch, the inverse mass of the constraint
    """

    drag: float
    resistance: float
    periodic: int
    force: float
    mismatch: float
    weight: float


class Progress(Struct):
    """Progress of the integration, in one element.

    clock : time since the start
    drag_heat, rolling_heat : heat of the drag and of rolling
    settled : energy removed by projections of the velocities
    fastest, fastest_at : largest |s'| / c, and when
    room, room_at : least distance to the bounds of the contact points, and when
    steps, saved : steps taken, samples saved
    ended : the reason of its end, REACHED before
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
    """A saved state: time, contact points, V, lam, heats, energy removed by projections."""

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
    """Saved states: samples `rows` (t,), and amplitudes and rates of the modes (t, 2, n)."""

    rows: Table[Sample]
    amplitude: Floats
    velocity: Floats


class State(NamedTuple):
    """Amplitudes and rates (2, n), contact points (2,), and work space (8, n)."""

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
    """Two strands, their coupling and their modes (2, n).

    push : (2, n) change of the rates of the modes by a unit of pull
    """

    strands: Table[Strand]
    joint: Table[Joint]
    modes: Table[Mode]
    push: Floats


class FreeVibration(NamedTuple):
    """Free vibration over a fixed time, (a, p) to (aa a + ap p, pa a + pp p), all (2, n)."""

    aa: Floats
    ap: Floats
    pa: Floats
    pp: Floats


@kernel
def _evaluate_modes(
    angle: float, periodic: bool, kappa: Vector, psi: Vector, slope: Vector
) -> None:
    """Fill modes and derivatives at one point: sines, or 1, cos, sin, cos 2, ... on a circle."""
    # multiples of the angle by the addition theorem
    c, s = cos(angle), sin(angle)
    x, y = 1.0, 0.0
    if periodic:
        psi[0] = 1.0
        slope[0] = 0.0
        # cosine and sine of each multiple in turn
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
    """Evaluate the contact at points s.

    lam solves the time derivative of the constraint, sum_i g_i dV_i/dt = 0, where
    dV_i/dt = sum_k bump (psi_k dp_k/dt + s_i' psi_k' p_k) and s_i' = G_i V_i.
    """
    joint = m.joint[0]
    drag, resistance = joint.drag, joint.resistance
    numerator, denominator, mismatch = 0.0, 0.0, 0.0
    for i in range(2):
        strand, modes, push = m.strands[i], m.modes[i, :], m.push[i]
        psi, slope, bump = modes["psi"], modes["slope"], modes["bump"]
        stiffness, norm = modes["stiffness"], modes["norm"]
        _evaluate_modes(strand.angle * s[i], joint.periodic == 1, modes["kappa"], psi, slope)
        mean, velocity_gradient, acceleration, weight = 0.0, 0.0, 0.0, 0.0
        for k in range(psi.size):
            # V, its rate per speed of the contact, and its rate at fixed s without contact force
            b = bump[k] * psi[k]
            mean += b * p[i, k]
            velocity_gradient += bump[k] * slope[k] * p[i, k]
            acceleration -= b * (stiffness[k] * a[i, k] + drag * p[i, k])
            # a unit force on the bump changes p_k by norm bump psi; V responds by the sum of push
            # bump psi
            push[k] = norm[k] * b
            weight += push[k] * b
        # the resistance r V_2 acts on v without lam
        g = strand.sign
        strand.mean = mean
        if i == 1:
            acceleration -= resistance * mean * weight
        mismatch += g * mean
        # sum_i g_i dV_i/dt without lam, and minus its change by lam: each pull is g_i lam
        numerator += g * (acceleration + strand.mobility * mean * velocity_gradient)
        denominator += g * g * weight
    u, v = m.strands[0], m.strands[1]
    joint.force, joint.mismatch, joint.weight = numerator / denominator, mismatch, denominator
    u.pull = joint.force * u.sign
    v.pull = joint.force * v.sign + resistance * v.mean


@kernel
def project_velocities(x: State, m: Strands) -> float:
    """Project the velocities onto the constraint by the least impulse; return its energy."""
    contact(x.a, x.p, x.s, m)
    mismatch = m.joint[0].mismatch
    # the inverse mass of the constraint is the weight of lam in its rate
    impulse = mismatch / m.joint[0].weight
    for i in range(2):
        for k in range(x.p.shape[1]):
            x.p[i, k] -= impulse * m.strands[i].sign * m.push[i, k]
    return float(0.5 * impulse * mismatch)


@kernel
def save(x: State, m: Strands, progress: Table[Progress], samples: Samples) -> None:
    """Save a sample without its time."""
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
    """Copy values of both strands; a loop compiles faster than an assignment of arrays."""
    for i in range(2):
        for k in range(to.shape[1]):
            to[i, k] = values[i, k]


@kernel
def _free_vibration(a: Matrix, p: Matrix, flow: FreeVibration) -> None:
    """Advance the free vibration of both strands, exactly."""
    for i in range(2):
        for k in range(a.shape[1]):
            x, y = a[i, k], p[i, k]
            a[i, k] = flow.aa[i, k] * x + flow.ap[i, k] * y
            p[i, k] = flow.pa[i, k] * x + flow.pp[i, k] * y


@kernel
def _heat_rate(p: Matrix, modes: Table[Mode], drag: float) -> float:
    """Return the power of the drag: drag times the integral of the squared velocity."""
    if drag == 0.0:
        return 0.0
    norm, total = modes["norm"], 0.0
    for i in range(2):
        for k in range(p.shape[1]):
            if norm[i, k] > 0.0:
                # the integral of the square of a mode is 1 / norm
                total += p[i, k] * p[i, k] / norm[i, k]
    return drag * total


@kernel
def _add_impulse_before_half_step(
    h: float, strands: Table[Strand], push: Matrix, flow: FreeVibration, a: Matrix, p: Matrix
) -> None:
    """Add h times the contact force of a stage, advanced by half a step of free vibration."""
    for i in range(2):
        size = -h * strands[i].pull
        for k in range(p.shape[1]):
            impulse = size * push[i, k]
            a[i, k] += flow.ap[i, k] * impulse
            p[i, k] += flow.pp[i, k] * impulse


@kernel
def _add_impulse(h: float, strands: Table[Strand], push: Matrix, p: Matrix) -> None:
    """Add h times the contact force of a stage to the rates."""
    for i in range(2):
        size = -h * strands[i].pull
        for k in range(p.shape[1]):
            p[i, k] += size * push[i, k]


@kernel(allocates=True)
def _step(h: float, x: State, m: Strands, flow: FreeVibration) -> tuple[float, float]:
    """Take one step of the integrating-factor Runge-Kutta scheme of order 4.

    The classical scheme acts in variables in which free vibration is at rest: the force of the
    first stage is carried on by a whole step, those of the middle stages by half a step, that of
    the last by none. `flow` is the free vibration of half a step. Returns the heat of the drag
    and of the rolling resistance, by Simpson's rule on the stages.
    """
    a, p, s, strands, push = x.a, x.p, x.s, m.strands, m.push
    now, start = np.empty(2), np.empty(2)
    v, drag, resistance = strands[1], m.joint[0].drag, m.joint[0].resistance
    start[0], start[1] = s[0], s[1]
    a1, p1, sum_a, sum_p = x.spare[0:2], x.spare[2:4], x.spare[4:6], x.spare[6:8]
    # stage 1, at the start; from here on a, p are those of free vibration after half a step
    contact(a, p, s, m)
    heat, rolling = _heat_rate(p, m.modes, drag), resistance * (v.mean * v.mean)
    _free_vibration(a, p, flow)
    _copy(a, a1)
    _copy(p, p1)
    _copy(a, sum_a)
    _copy(p, sum_p)
    _add_impulse_before_half_step(0.5 * h, strands, push, flow, a1, p1)
    _add_impulse_before_half_step(h / 6.0, strands, push, flow, sum_a, sum_p)
    for i in range(2):
        rate = strands[i].mobility * strands[i].mean
        now[i] = start[i] + 0.5 * h * rate
        s[i] = start[i] + h / 6.0 * rate
    # stages 2 and 3, in the middle: their forces act at the time of a, p
    for stage in range(2):
        contact(a1, p1, now, m)
        heat += 2.0 * _heat_rate(p1, m.modes, drag)
        rolling += 2.0 * resistance * (v.mean * v.mean)
        _copy(a, a1)
        _copy(p, p1)
        fraction = 0.5 if stage == 0 else 1.0
        _add_impulse(fraction * h, strands, push, p1)
        _add_impulse(h / 3.0, strands, push, sum_p)
        for i in range(2):
            rate = strands[i].mobility * strands[i].mean
            now[i] = start[i] + fraction * h * rate
            s[i] += h / 3.0 * rate
    # stage 4, at the end: stage 3 acted in the middle and is carried on by half a step
    _free_vibration(a1, p1, flow)
    contact(a1, p1, now, m)
    heat += _heat_rate(p1, m.modes, drag)
    rolling += resistance * (v.mean * v.mean)
    # the sum of weights 1, 2, 2 over 6, carried to the end, where the last 1 over 6 is added
    _copy(sum_a, a)
    _copy(sum_p, p)
    _free_vibration(a, p, flow)
    _add_impulse(h / 6.0, strands, push, p)
    for i in range(2):
        s[i] += h / 6.0 * strands[i].mobility * strands[i].mean
    return h / 6.0 * heat, h / 6.0 * rolling


@kernel
def integrate(
    steps: int,
    h: float,
    x: State,
    m: Strands,
    flow: FreeVibration,
    progress: Table[Progress],
    samples: Samples,
) -> int:
    """Take steps, fewer if the model ends, and save a sample; return the reason of the end.

    After each step a projection of the velocities removes the drift of the constraint.
    """
    now, s, ended = progress[0], x.s, REACHED
    for _ in range(steps):
        heat, rolling = _step(h, x, m, flow)
        now.drag_heat += heat
        now.rolling_heat += rolling
        # stages satisfy the derivative of the constraint in time only
        now.settled += project_velocities(x, m)
        now.steps += 1
        now.clock += h
        fastest, least_room = 0.0, np.inf
        for i in range(2):
            strand = m.strands[i]
            fastest = max(fastest, abs(strand.mobility * strand.mean) / strand.speed)
            room = min(s[i] - strand.low, strand.high - s[i])
            least_room = min(least_room, room)
            if room < now.room:
                now.room, now.room_at = room, now.clock
        if fastest > now.fastest:
            now.fastest, now.fastest_at = fastest, now.clock
        # the model ends where a contact reaches the speed of waves, or an end of its strand
        if not np.isfinite(s[0] + s[1] + m.joint[0].force):
            ended = NOT_FINITE
        elif fastest >= 1.0:
            ended = FASTER_THAN_WAVES
        elif least_room < 0.0:
            ended = NEAR_END
        if ended:
            break
    save(x, m, progress, samples)
    return ended
