"""Time integration of the wheel with a dynamic tyre: kernels.

The contact patch has `n + 1` material elements that move through it: n - 1 whole ones, and two at
the edges that are entering or leaving. This is a Lagrangian discretisation of q_t = g q_x + h
(`dynamic_tyre`): in stick the displacement q of an element grows with the lateral velocity only,
without numerical diffusion, and stick or slip is a state of the element. The wheel is integrated by
velocity Verlet. Elements are numbered from the rear, x = -a, to the front, x = a, with half the
length a of the patch. `DynamicTyreWheel.integrate` calls `advance`.

Arguments: `p[0]` has the numbers of the wheel and its tyre (`Tyre`), `patch[0]` the quantities of
the patch (`Patch`); q and `slip` are arrays over its elements, r, v, w the state of the wheel.

Source: Szalai, Jeffrey 2014, (2), (3) for the wheel and appendix B for the string.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Struct, Table, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "DONE",
    "FULL",
    "LOST",
    "Patch",
    "Sample",
    "Tyre",
    "advance",
    "drive",
    "patch_loads",
    "roll_patch",
    "rolling",
    "stored_energy",
]


class Tyre(Struct):
    """Numbers of a wheel and its tyre; `dynamic_tyre.DynamicTyreWheel` defines the others.

    break_at : displacement at which the tread breaks loose [m]
    string_angle : slip angle of the string at which slip begins [rad]
    turn_slip : 0 or 1
    onset_angle : slip angle of the wheel at which slip begins [rad]
    force, moment : force [N] and moment [N m] of the wheel per force and moment of the string
    step, cfl : longest step [s], and largest number of elements that material moves in a step
    """

    d: float
    m: float
    c1: float
    c2: float
    beta: float
    r0: float
    omega0: float
    gamma: float
    k2: float
    half_length: float
    relaxation: float
    kinetic_ratio: float
    break_at: float
    onset_angle: float
    string_angle: float
    turn_slip: float
    force: float
    moment: float
    step: float
    cfl: float


class Patch(Struct):
    """Quantities of the whole patch.

    offset : fraction of the length of the first element that lies in the patch
    front, rear : displacement at both edges [m]
    work, heat, shed : energies per force of the string [m]: work of the ground on the tread,
        friction heat, and energy that material carries out of the patch
    """

    offset: float
    front: float
    rear: float
    work: float
    heat: float
    shed: float


class Sample(Struct):
    """State of the wheel, force [N], moment [N m], stored energy and energies as in `Patch`."""

    r: float
    v: float
    omega: float
    force: float
    moment: float
    stored: float
    work: float
    heat: float
    shed: float


# results of `advance`: end reached, all steps used, state not finite
DONE, FULL, LOST = range(3)

# an element has left the patch if a smaller fraction of its length lies in it
_GONE = 1e-12


@kernel
def rolling(p: Table[Tyre], r: float, v: float, w: float) -> tuple[float, float]:
    """Return the lateral and the rolling velocity h and g [m/s]."""
    tyre = p[0]
    sin, cos = math.sin(tyre.gamma), math.cos(tyre.gamma)
    turn = w - tyre.omega0
    along = v - tyre.d * turn
    return -along * sin - r * turn * cos, -along * cos + r * turn * sin


@kernel
def drive(p: Table[Tyre], h: float, g: float) -> float:
    """Return the effective lateral velocity of the string [m/s].

    It is h if `string_angle` is `onset_angle`. Otherwise slip angles between 0 and `onset_angle`
    are mapped linearly to angles between 0 and `string_angle`, and those between `onset_angle` and
    pi/2 to angles between `string_angle` and pi/2.
    """
    tyre = p[0]
    if tyre.onset_angle == tyre.string_angle:
        return h
    half_turn = 0.5 * math.pi
    # pi/2 - psi = past (pi/2 - phi) beyond the onset: the paper's psi if the onset is at zero
    past = (half_turn - tyre.string_angle) / (half_turn - tyre.onset_angle)
    angle = math.atan2(abs(h), abs(g))
    if angle < tyre.onset_angle:
        return math.copysign(abs(g) * math.tan(angle * tyre.string_angle / tyre.onset_angle), h)
    # with the complement of the slip angle, so that g = 0 causes no division by zero
    complement = math.atan2(abs(g), abs(h))
    if complement < 1e-7:
        return h / past
    return math.copysign(abs(g) / math.tan(past * complement), h)


@kernel
def roll_patch(
    p: Table[Tyre],
    patch: Table[Patch],
    q: Vector,
    felt: Vector,
    slip: Vector,
    motion: tuple[float, float, float],
    dt: float,
) -> None:
    """Move the material for the time `dt`: update q, slip and the energies of the patch.

    Parameters
    ----------
    q : (n + 1,) displacement of the elements [m]
    felt : (n + 1,) filled with the displacements that give the force at the end of the step: q, or
        low + (2 f - 1) (most - low) if q falls from most to low at the fraction f of the step, so
        that both half kicks have the impulse of most for f dt and of low for (1 - f) dt
    slip : (n + 1,) direction of slip, -1 or 1; 0 in stick
    motion : rolling velocity [m/s], effective lateral velocity [m/s], turning rate [rad/s]
    """
    tyre, contact_patch = p[0], patch[0]
    g, lateral, turn = motion
    last = q.size - 1
    dx = 2.0 * tyre.half_length / last
    rolled_length = abs(g) * dt
    old, most, low = contact_patch.offset, tyre.break_at, tyre.kinetic_ratio * tyre.break_at
    entry = last if g > 0.0 else 0
    edge = contact_patch.front if g > 0.0 else contact_patch.rear
    contact_patch.offset = old - g * dt / dx
    for j in range(last + 1):
        # length of the part of the element in the patch, and its middle x
        length, x = dx, -tyre.half_length + (j + old - 0.5) * dx
        if j == 0:
            length, x = old * dx, -tyre.half_length + 0.5 * old * dx
        elif j == last:
            length, x = (1.0 - old) * dx, tyre.half_length - 0.5 * (1.0 - old) * dx
        speed = lateral + tyre.turn_slip * turn * x
        before, whole, lost, entered = q[j], length, 0.0, 0.0
        trial = before + speed * dt
        # material enters with displacement and energy of the edge, on average half a step earlier
        if j == entry and rolled_length > 0.0:
            whole, entered = length + rolled_length, rolled_length
            grown = speed * dt * (length + 0.5 * rolled_length)
            trial = (before * length + edge * rolled_length + grown) / whole
            contact_patch.shed -= 0.5 * edge * edge / most * rolled_length
        elif j == last - entry:
            lost = min(rolled_length, length)
        # the mean length of the part in contact during the step
        length += 0.5 * (entered - lost)
        after, felt_now = trial, trial
        mean = 0.5 * (before + trial)
        leaving = mean * mean
        # slip under the pressure rho delta, at the displacement `low`, until the ground moves back
        if slip[j] != 0.0:
            if slip[j] * trial > low:
                after = slip[j] * low
                felt_now, mean, leaving = after, after, low * low
                contact_patch.heat += slip[j] * speed * dt * low / most * length
                # material that enters a slipping element dissipates its energy above the limit
                contact_patch.heat += 0.5 * (edge * edge - low * low) / most * entered
            else:
                slip[j] = 0.0
        elif abs(trial) >= most:
            slip[j] = math.copysign(1.0, trial)
            # it breaks loose at this fraction of the step, and slips afterwards
            gap = abs(trial) - abs(before)
            fraction = (most - abs(before)) / gap if gap > 0.0 else 0.0
            fraction = min(max(fraction, 0.0), 1.0)
            after = slip[j] * low
            felt_now = slip[j] * (low + (2.0 * fraction - 1.0) * (most - low))
            mean = fraction * 0.5 * (before + slip[j] * most) + (1.0 - fraction) * after
            leaving = fraction * most * most + (1.0 - fraction) * low * low
            # the drop of the pressure to rho delta dissipates energy of the length in the patch
            broken = whole - fraction * lost
            contact_patch.heat += 0.5 * (most * most - low * low) / most * broken
            contact_patch.heat += (1.0 - fraction) * slip[j] * speed * dt * low / most * length
        contact_patch.work += mean * speed * dt / most * length
        contact_patch.shed += 0.5 * leaving / most * lost
        q[j], felt[j] = after, felt_now
    _edges(p, patch, q, g, lateral + tyre.turn_slip * turn * math.copysign(tyre.half_length, g), dt)


@kernel
def _edges(
    p: Table[Tyre], patch: Table[Patch], q: Vector, g: float, speed: float, dt: float
) -> None:
    """Update the displacement at both edges of the patch."""
    tyre, contact_patch = p[0], patch[0]
    last = q.size - 1
    front, rear = q[last], q[0]
    if tyre.relaxation == 0.0:
        front, rear = (0.0, rear) if g > 0.0 else (front, 0.0)
    else:
        # implicit Euler for q_t = speed - |g| q / sigma, from q_t = g q_x + h with sigma q_x = -+q
        fade = 1.0 + abs(g) * dt / tyre.relaxation
        most = tyre.break_at
        if g > 0.0:
            front = min(max((contact_patch.front + speed * dt) / fade, -most), most)
        else:
            rear = min(max((contact_patch.rear + speed * dt) / fade, -most), most)
    contact_patch.front, contact_patch.rear = front, rear


@kernel
def shift(patch: Table[Patch], q: Vector, slip: Vector, g: float) -> None:
    """Remove the element that has left the patch and add an empty one at the leading edge."""
    contact_patch = patch[0]
    last = q.size - 1
    if g > 0.0 and contact_patch.offset <= _GONE:
        for j in range(last):
            q[j], slip[j] = q[j + 1], slip[j + 1]
        q[last], slip[last] = contact_patch.front, 0.0
        contact_patch.offset = 1.0
    elif g < 0.0 and contact_patch.offset >= 1.0 - _GONE:
        for j in range(last, 0, -1):
            q[j], slip[j] = q[j - 1], slip[j - 1]
        q[0], slip[0] = contact_patch.rear, 0.0
        contact_patch.offset = 0.0


@kernel
def patch_loads(p: Table[Tyre], patch: Table[Patch], q: Vector) -> tuple[float, float]:
    """Return F [N] and M [N m] from the displacements `q` by quadrature over the patch."""
    tyre, contact_patch = p[0], patch[0]
    last = q.size - 1
    dx = 2.0 * tyre.half_length / last
    force = moment = 0.0
    for j in range(last + 1):
        low = max(-tyre.half_length, -tyre.half_length + (j - 1 + contact_patch.offset) * dx)
        high = min(tyre.half_length, -tyre.half_length + (j + contact_patch.offset) * dx)
        # F = integral of the pressure q / break_at, M = minus that of x times it
        part = q[j] / tyre.break_at * max(high - low, 0.0)
        force += part
        moment -= 0.5 * (low + high) * part
    return tyre.force * force, tyre.moment * moment


@kernel
def stored_energy(p: Table[Tyre], patch: Table[Patch], q: Vector) -> float:
    """Return the elastic energy of the tread in the patch, per force of the string [m]."""
    tyre, contact_patch = p[0], patch[0]
    last = q.size - 1
    dx, total = 2.0 * tyre.half_length / last, 0.0
    for j in range(last + 1):
        fraction = (
            contact_patch.offset if j == 0 else 1.0 - contact_patch.offset if j == last else 1.0
        )
        total += 0.5 * q[j] * q[j] / tyre.break_at * fraction * dx
    return total


@kernel
def accelerations(
    p: Table[Tyre], r: float, v: float, w: float, force: float, moment: float
) -> tuple[float, float]:
    """Return dv/dt and domega/dt in physical time for a given force [N] and moment [N m].

    Source: Szalai, Jeffrey 2014, (2), (3).
    """
    tyre = p[0]
    cos, sin = math.cos(tyre.gamma), math.sin(tyre.gamma)
    inertia = tyre.beta * tyre.beta + r * r
    p1 = tyre.k2 * (tyre.r0 - r) - tyre.c2 * v + tyre.m * r * w * w
    p2 = tyre.d * r * cos + inertia * sin
    drag = (tyre.c1 + 2.0 * tyre.m * r * v) * w
    # (2), (3) over m (beta^2 + r^2): physical time
    pull = (inertia + tyre.d * tyre.d) * p1 - tyre.d * drag + force * p2 + tyre.d * moment
    turn = tyre.d * p1 - drag + force * r * cos + moment
    return pull / (tyre.m * inertia), turn / (tyre.m * inertia)


@kernel(allocates=True)
def advance(
    p: Table[Tyre],
    patch: Table[Patch],
    q: Vector,
    slip: Vector,
    state: Vector,
    times: Vector,
    out: Table[Sample],
    most_steps: int,
    fixed: bool,
) -> tuple[int, int, int]:
    """Integrate until the last of `times`; return a code, the number of samples and the steps.

    Parameters
    ----------
    q, slip, state : as in `roll_patch`; r [m], v [m/s], omega [rad/s]. All change in place
    out : (t,) samples at `times` [s]
    fixed : whether the state of the wheel is constant
    """
    tyre, contact_patch = p[0], patch[0]
    felt, r, v, w = q.copy(), state[0], state[1], state[2]
    dx = 2.0 * tyre.half_length / (q.size - 1)
    t, sample_number, steps = times[0], 0, 0
    force, moment = patch_loads(p, patch, q)
    while True:
        while sample_number < times.size and times[sample_number] <= t:
            now, about = patch_loads(p, patch, q)
            sample = out[sample_number]
            sample.r, sample.v, sample.omega = r, v, w
            sample.force, sample.moment = now, about
            sample.stored, sample.work = stored_energy(p, patch, q), contact_patch.work
            sample.heat, sample.shed = contact_patch.heat, contact_patch.shed
            sample_number += 1
        state[0], state[1], state[2] = r, v, w
        if sample_number == times.size:
            return DONE, sample_number, steps
        if steps >= most_steps:
            return FULL, sample_number, steps
        h, g = rolling(p, r, v, w)
        shift(patch, q, slip, g)
        # a step changes the displacement by at most a tenth of its largest value
        dt = min(tyre.step, 0.1 * tyre.break_at / (abs(drive(p, h, g)) + 1e-300))
        if g != 0.0:
            left = contact_patch.offset if g > 0.0 else 1.0 - contact_patch.offset
            dt = min(dt, tyre.cfl * dx / abs(g))
            # end the step where the last element leaves; avoid a very short step before that
            if left * dx <= 1.001 * abs(g) * dt:
                dt = left * dx / abs(g)
        due = times[sample_number] - t
        if due <= dt:
            dt, t = due, times[sample_number]
        else:
            t += dt
        steps += 1
        # velocity Verlet: half a step of v and w, half a step of r, the tyre, and both again
        if not fixed:
            v_t, w_t = accelerations(p, r, v, w, force, moment)
            v, w = v + 0.5 * dt * v_t, w + 0.5 * dt * w_t
            r += 0.5 * dt * v
        h, rolled = rolling(p, r, v, w)
        # rolling does not reverse within a step, and at most one element leaves
        if rolled * g <= 0.0:
            rolled = 0.0
        elif abs(rolled) * dt > dx * (
            contact_patch.offset if g > 0.0 else 1.0 - contact_patch.offset
        ):
            rolled = dx * (contact_patch.offset if g > 0.0 else contact_patch.offset - 1.0) / dt
        motion = (rolled, drive(p, h, rolled), w - tyre.omega0)
        roll_patch(p, patch, q, felt, slip, motion, dt)
        if not fixed:
            r += 0.5 * dt * v
            force, moment = patch_loads(p, patch, felt)
            v_t, w_t = accelerations(p, r, v, w, force, moment)
            # the accelerations depend on the velocities: evaluate them at predicted ones
            v_t, w_t = accelerations(p, r, v + 0.5 * dt * v_t, w + 0.5 * dt * w_t, force, moment)
            v, w = v + 0.5 * dt * v_t, w + 0.5 * dt * w_t
            # elements that broke loose have the slip pressure at the start of the next step
            force, moment = patch_loads(p, patch, q)
        if not abs(r) + abs(v) + abs(w) < 1e12:
            return LOST, sample_number, steps
