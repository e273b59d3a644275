"""Kernels of `BumpStrands`: two strings (strands) in normal modes, coupled over a Gaussian (bump).

Strings u and v, with velocities V_1 and V_2 at the contact, roll: V_1 = F V_2, and the contact
moves along them with G_i V_i. These velocities are averaged with the Gaussian, and the contact
force acts with the same Gaussian, so energy is conserved. Free vibration of the modes is exact; an
integrating-factor Runge-Kutta scheme (Lawson 1967) adds the contact force. `strand_state` calls
these kernels.

Index 0 of an array is u, index 1 is v. Mode k of strand i has the shape psi_k, the amplitude a[i,
k] and the rate p[i, k]; the contact is at s[i]. With g = (1, -F) the constraint is sum_i g_i V_i =
0, V_i = sum_k bump_k psi_k(s_i) p_k. The generalised force on mode k of strand i is -pull_i norm_k
bump_k psi_k(s_i), with pull = (lam, -F lam + r V_2), contact force lam and rolling resistance r.
In the arguments m are the `Strands`, x is the `State`, and h the step. All quantities are
dimensionless.

Source: Gay-Balmaz, Putkaradze 2012, (11)-(13) in one dimension; formulas sheet
(docs/formulas/rods.md), section 5.
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

# reasons why the integration ended
REACHED, FASTER_THAN_WAVES, NEAR_END, NOT_FINITE = range(4)


class Strand(Struct):
    """A strand: its parameters, and the contact at its last evaluation.

    speed : wave speed c
    angle : wave number of the first mode, pi / l, or 2 pi / l on a circle
    mobility : G
    sign : g of the constraint, 1 or -F
    low, high : bounds of the contact point
    mean : velocity V, averaged over the bump
    pull : contact force on the strand, see the module
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
    """The coupling of the strands: its parameters, and its state at the last evaluation.

    drag : drag coefficient of the air
    resistance : rolling resistance r
    periodic : 1 for circles, 0 for fixed ends
    force : contact force lam
    mismatch : residual of the constraint, sum_i g_i V_i
    weight : minus the derivative of its rate by lam: the inverse mass of the constraint
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
    drag_heat, rolling_heat : heat of drag and of rolling resistance
    settled : energy removed by projections of the velocities
    fastest, fastest_at : largest |s'| / c, and its time
    room, room_at : least distance of contact points to their bounds, and its time
    steps, saved : numbers of steps taken and of samples saved
    ended : reason of the end, REACHED before it
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
    """A saved state: time, s1, s2, V of u and v, lam, heats, energy removed by projections."""

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
    """Saved states: samples `rows` (t,); amplitudes and rates of the n modes (t, 2, n)."""

    rows: Table[Sample]
    amplitude: Floats
    velocity: Floats


class State(NamedTuple):
    """Amplitudes a and rates p (2, n), contact points s (2,), and work array (8, n)."""

    a: Floats
    p: Floats
    s: Floats
    spare: Floats


class Mode(Struct):
    """A mode of a strand.

    kappa, stiffness : wave number, squared frequency
    norm : weight of the projection on the mode, 2/l, or 1/l for the constant mode
    bump : coefficient exp(-(kappa width)^2 / 2) of the Gaussian
    psi, slope : mode and its derivative at the contact
    """

    kappa: float
    stiffness: float
    norm: float
    bump: float
    psi: float
    slope: float


class Strands(NamedTuple):
    """Two strands (2,), their coupling (1,), and their modes (2, n).

    push : (2, n) minus the rate of p per unit of `pull`
    """

    strands: Table[Strand]
    joint: Table[Joint]
    modes: Table[Mode]
    push: Floats


class FreeVibration(NamedTuple):
    """Free vibration over a fixed time: (a, p) becomes (aa a + ap p, pa a + pp p), all (2, n)."""

    aa: Floats
    ap: Floats
    pa: Floats
    pp: Floats


@kernel
def _evaluate_modes(
    angle: float, periodic: bool, kappa: Vector, psi: Vector, slope: Vector
) -> None:
    """Set modes and derivatives at a point: sines, or 1, cos, sin, cos 2, ... on a circle.

    angle : wave number of the first mode times the position
    kappa, psi, slope : (modes,) wave numbers, values psi_k and derivatives psi_k' of the modes
    """
    # cosines and sines of multiples of the angle, by the addition theorem
    c, s = cos(angle), sin(angle)
    x, y = 1.0, 0.0
    if periodic:
        psi[0] = 1.0
        slope[0] = 0.0
        # cosine and sine of each multiple
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
    """Evaluate the contact force and velocities at contact points s (2,).

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
            # V, its derivative by s, and its rate at fixed s without contact force
            b = bump[k] * psi[k]
            mean += b * p[i, k]
            velocity_gradient += bump[k] * slope[k] * p[i, k]
            acceleration -= b * (stiffness[k] * a[i, k] + drag * p[i, k])
            # a unit force changes p_k by norm bump psi, and V by the sum of push bump psi
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
    """Project the velocities onto the constraint by the least impulse; return the energy lost."""
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
    """Save a sample; the caller sets its time."""
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
    """Copy arrays (2, n); a loop compiles faster than an array assignment."""
    for i in range(2):
        for k in range(to.shape[1]):
            to[i, k] = values[i, k]


@kernel
def _free_vibration(a: Matrix, p: Matrix, flow: FreeVibration) -> None:
    """Advance a and p of both strands by free vibration, exactly."""
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
    """Add h times the contact force of a stage, followed by half a step of free vibration."""
    for i in range(2):
        impulse_per_push = -h * strands[i].pull
        for k in range(p.shape[1]):
            impulse = impulse_per_push * push[i, k]
            a[i, k] += flow.ap[i, k] * impulse
            p[i, k] += flow.pp[i, k] * impulse


@kernel
def _add_impulse(h: float, strands: Table[Strand], push: Matrix, p: Matrix) -> None:
    """Add h times the contact force of a stage to the rates."""
    for i in range(2):
        impulse_per_push = -h * strands[i].pull
        for k in range(p.shape[1]):
            p[i, k] += impulse_per_push * push[i, k]


@kernel(allocates=True)
def _step(h: float, x: State, m: Strands, flow: FreeVibration) -> tuple[float, float]:
    """Take one step of the integrating-factor Runge-Kutta scheme of order 4.

    The classical scheme acts in variables that are constant in free vibration. So the impulse of
    the first stage is followed by a whole step of free vibration, those of the middle stages by
    half a step, that of the last by none. `flow` is the free vibration over half a step. Returns
    the heat of drag and of rolling resistance, by Simpson's rule on the stages.
    """
    a, p, s, strands, push = x.a, x.p, x.s, m.strands, m.push
    now, start = np.empty(2), np.empty(2)
    v, drag, resistance = strands[1], m.joint[0].drag, m.joint[0].resistance
    start[0], start[1] = s[0], s[1]
    a1, p1, sum_a, sum_p = x.spare[0:2], x.spare[2:4], x.spare[4:6], x.spare[6:8]
    # stage 1, at the start; then a, p are those after half a step of free vibration
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
    # stages 2 and 3, in the middle of the step, at the time of a, p
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
    # stage 4, at the end: the impulse of stage 3 is followed by half a step
    _free_vibration(a1, p1, flow)
    contact(a1, p1, now, m)
    heat += _heat_rate(p1, m.modes, drag)
    rolling += resistance * (v.mean * v.mean)
    # stages with weights 1/6, 2/6, 2/6, advanced to the end, where the last 1/6 is added
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
    """Take steps of h, fewer if the model ends, and save a sample; return the reason of the end.

    After each step a projection of the velocities removes the drift of the constraint.
    """
    now, s, ended = progress[0], x.s, REACHED
    for _ in range(steps):
        heat, rolling = _step(h, x, m, flow)
        now.drag_heat += heat
        now.rolling_heat += rolling
        # stages satisfy the time derivative of the constraint, not the constraint itself
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
        # the model ends if a contact reaches the wave speed or an end of its strand
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
