"""Kernels of the wheel on a tyre that remembers: material elements that move through a patch.

The patch is cut into `n + 1` elements of ground contact that travel with the material: n - 1
whole ones and two that are just entering or leaving. In stick an element's displacement
grows with the lateral velocity and with nothing else, so that there is no numerical
diffusion, and slip is a property of material, as it is in the tyre.
"""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.wheel.parameters import OMEGA, R, V

__all__ = [
    "DONE",
    "FULL",
    "LOST",
    "advance",
    "drive",
    "patch_loads",
    "roll_patch",
    "rolling",
    "stored_energy",
]

# entries of the parameter array
(D, M, C1, C2, BETA, R0, OMEGA0, GAMMA, K2) = range(9)
(A, SIGMA, RHO, BREAK, ONSET, STRING, TURN, FORCE, MOMENT, DT, CFL) = range(9, 20)
N_PARAMETERS = 20
# entries of the patch's own numbers: offset, both edges, and the ledger
(OFFSET, FRONT, REAR, WORK, HEAT, SHED) = range(6)
N_PATCH = 6
# entries of the motion that the tyre feels, and columns of the results after the state
(ROLLING, LATERAL, TURNING) = range(3)
(FORCE_AT, MOMENT_AT, STORED_AT, WORK_AT, HEAT_AT, SHED_AT) = range(3, 9)
N_COLUMNS = 9

DONE, FULL, LOST = range(3)

# an element shorter than this share of its length has left
_GONE = 1e-12


@kernel
def rolling(p: Vector, r: float, v: float, w: float) -> tuple[float, float]:
    """Return the lateral and the rolling velocity h and g [m/s]."""
    sin, cos = math.sin(p[GAMMA]), math.cos(p[GAMMA])
    turn = w - p[OMEGA0]
    along = v - p[D] * turn
    return -along * sin - r * turn * cos, -along * cos + r * turn * sin


@kernel
def drive(p: Vector, h: float, g: float) -> float:
    """Return the lateral velocity [m/s] that the string feels.

    It is h where the string keeps its own angle. Otherwise slip angles up to ONSET are
    stretched over 0 to STRING and the rest over STRING to pi/2.
    """
    if p[ONSET] == p[STRING]:
        return h
    half_turn = 0.5 * math.pi
    past = (half_turn - p[STRING]) / (half_turn - p[ONSET])
    angle = math.atan2(abs(h), abs(g))
    if angle < p[ONSET]:
        return math.copysign(abs(g) * math.tan(angle * p[STRING] / p[ONSET]), h)
    # from the right angle down, so that g = 0 is a limit and no division by zero
    rest = math.atan2(abs(g), abs(h))
    if rest < 1e-7:
        return h / past
    return math.copysign(abs(g) / math.tan(past * rest), h)


@kernel
def roll_patch(
    p: Vector, patch: Vector, q: Vector, felt: Vector, slip: Vector, motion: Vector, dt: float
) -> None:
    """Move the material through the patch for `dt` and let it stick or slip.

    Parameters
    ----------
    q : (n + 1,) displacement of the elements [m]
    felt : (n + 1,) what the force of this step is taken from: q, and for an element that
        breaks within the step its mean, so that the motion depends continuously on when
    slip : (n + 1,) -1, 0 or 1
    motion : rolling velocity, lateral velocity felt, and turning rate
    """
    g, lateral, turn = motion[ROLLING], motion[LATERAL], motion[TURNING]
    last = q.size - 1
    dx = 2.0 * p[A] / last
    way = abs(g) * dt
    old, most, low = patch[OFFSET], p[BREAK], p[RHO] * p[BREAK]
    entry = last if g > 0.0 else 0
    edge = patch[FRONT] if g > 0.0 else patch[REAR]
    patch[OFFSET] = old - g * dt / dx
    for j in range(last + 1):
        length, x = dx, -p[A] + (j + old - 0.5) * dx
        if j == 0:
            length, x = old * dx, -p[A] + 0.5 * old * dx
        elif j == last:
            length, x = (1.0 - old) * dx, p[A] - 0.5 * (1.0 - old) * dx
        speed = lateral + p[TURN] * turn * x
        before, whole, lost, entered = q[j], length, 0.0, 0.0
        trial = before + speed * dt
        if j == entry and way > 0.0:
            whole, entered = length + way, way
            grown = speed * dt * (length + 0.5 * way)
            trial = (before * length + edge * way + grown) / whole
            patch[SHED] -= 0.5 * edge * edge / most * way
        elif j == last - entry:
            lost = min(way, length)
        # the mean length of the part in contact during the step
        length += 0.5 * (entered - lost)
        after, felt_now = trial, trial
        mean = 0.5 * (before + trial)
        leaving = mean * mean
        if slip[j] != 0.0:
            if slip[j] * trial > low:
                after = slip[j] * low
                felt_now, mean, leaving = after, after, low * low
                patch[HEAT] += slip[j] * speed * dt * low / most * length
                # what enters a patch in slip gives up at once what it brought beyond the limit
                patch[HEAT] += 0.5 * (edge * edge - low * low) / most * entered
            else:
                slip[j] = 0.0
        elif abs(trial) >= most:
            slip[j] = math.copysign(1.0, trial)
            gap = abs(trial) - abs(before)
            share = (most - abs(before)) / gap if gap > 0.0 else 0.0
            share = min(max(share, 0.0), 1.0)
            after = slip[j] * low
            felt_now = slip[j] * (low + 2.0 * share * (most - low))
            mean = share * 0.5 * (before + slip[j] * most) + (1.0 - share) * after
            leaving = share * most * most + (1.0 - share) * low * low
            broken = whole - share * lost
            patch[HEAT] += 0.5 * (most * most - low * low) / most * broken
            patch[HEAT] += (1.0 - share) * slip[j] * speed * dt * low / most * length
        patch[WORK] += mean * speed * dt / most * length
        patch[SHED] += 0.5 * leaving / most * lost
        q[j], felt[j] = after, felt_now
    _edges(p, patch, q, g, lateral + p[TURN] * turn * math.copysign(p[A], g), dt)


@kernel
def _edges(p: Vector, patch: Vector, q: Vector, g: float, speed: float, dt: float) -> None:
    """Update the displacement at both edges, where the string outside begins."""
    last = q.size - 1
    front, rear = q[last], q[0]
    if p[SIGMA] == 0.0:
        front, rear = (0.0, rear) if g > 0.0 else (front, 0.0)
    else:
        fade = 1.0 + abs(g) * dt / p[SIGMA]
        most = p[BREAK]
        if g > 0.0:
            front = min(max((patch[FRONT] + speed * dt) / fade, -most), most)
        else:
            rear = min(max((patch[REAR] + speed * dt) / fade, -most), most)
    patch[FRONT], patch[REAR] = front, rear


@kernel
def shift(patch: Vector, q: Vector, slip: Vector, g: float) -> None:
    """Drop the element that has left and open an empty one at the leading edge."""
    last = q.size - 1
    if g > 0.0 and patch[OFFSET] <= _GONE:
        for j in range(last):
            q[j], slip[j] = q[j + 1], slip[j + 1]
        q[last], slip[last] = patch[FRONT], 0.0
        patch[OFFSET] = 1.0
    elif g < 0.0 and patch[OFFSET] >= 1.0 - _GONE:
        for j in range(last, 0, -1):
            q[j], slip[j] = q[j - 1], slip[j - 1]
        q[0], slip[0] = patch[REAR], 0.0
        patch[OFFSET] = 0.0


@kernel
def patch_loads(p: Vector, patch: Vector, q: Vector) -> tuple[float, float]:
    """Return F [N] and M [N m] from the displacements `q` by quadrature over the patch."""
    last = q.size - 1
    dx = 2.0 * p[A] / last
    force = moment = 0.0
    for j in range(last + 1):
        low = max(-p[A], -p[A] + (j - 1 + patch[OFFSET]) * dx)
        high = min(p[A], -p[A] + (j + patch[OFFSET]) * dx)
        part = q[j] / p[BREAK] * max(high - low, 0.0)
        force += part
        moment -= 0.5 * (low + high) * part
    return p[FORCE] * force, p[MOMENT] * moment


@kernel
def stored_energy(p: Vector, patch: Vector, q: Vector) -> float:
    """Return the energy of the tread in the patch, per force of the string [m]."""
    last = q.size - 1
    dx, total = 2.0 * p[A] / last, 0.0
    for j in range(last + 1):
        share = patch[OFFSET] if j == 0 else 1.0 - patch[OFFSET] if j == last else 1.0
        total += 0.5 * q[j] * q[j] / p[BREAK] * share * dx
    return total


@kernel
def accelerations(
    p: Vector, r: float, v: float, w: float, force: float, moment: float
) -> tuple[float, float]:
    """Return dv/dt and domega/dt in physical time."""
    cos, sin = math.cos(p[GAMMA]), math.sin(p[GAMMA])
    inertia = p[BETA] * p[BETA] + r * r
    p1 = p[K2] * (p[R0] - r) - p[C2] * v + p[M] * r * w * w
    p2 = p[D] * r * cos + inertia * sin
    drag = (p[C1] + 2.0 * p[M] * r * v) * w
    pull = (inertia + p[D] * p[D]) * p1 - p[D] * drag + force * p2 + p[D] * moment
    turn = p[D] * p1 - drag + force * r * cos + moment
    return pull / (p[M] * inertia), turn / (p[M] * inertia)


@kernel
def advance(
    p: Vector,
    patch: Vector,
    q: Vector,
    slip: Vector,
    state: Vector,
    times: Vector,
    out: Matrix,
    most_steps: int,
    held: bool,
) -> tuple[int, int, int]:
    """Integrate until the last of `times`; return why it ended, rows written and steps.

    Velocity Verlet: half a kick by the forces, drift and tyre, half a kick again. A step ends
    where a time to save is due and where an element has left the patch.

    Parameters
    ----------
    state : r, v, omega, changed in place
    out : (t, 9) r, v, omega, F, M at `times`, then energies of the tread per force of the string:
        stored, put in by the ground, turned into heat, carried out
    held : whether the wheel itself stays where it is
    """
    felt, motion = q.copy(), np.zeros(3)
    r, v, w = state[R], state[V], state[OMEGA]
    dx = 2.0 * p[A] / (q.size - 1)
    t, row, steps = times[0], 0, 0
    force, moment = patch_loads(p, patch, q)
    while True:
        while row < times.size and times[row] <= t:
            now, about = patch_loads(p, patch, q)
            out[row, R], out[row, V], out[row, OMEGA] = r, v, w
            out[row, FORCE_AT], out[row, MOMENT_AT] = now, about
            out[row, STORED_AT], out[row, WORK_AT] = stored_energy(p, patch, q), patch[WORK]
            out[row, HEAT_AT], out[row, SHED_AT] = patch[HEAT], patch[SHED]
            row += 1
        state[R], state[V], state[OMEGA] = r, v, w
        if row == times.size:
            return DONE, row, steps
        if steps >= most_steps:
            return FULL, row, steps
        h, g = rolling(p, r, v, w)
        shift(patch, q, slip, g)
        dt = min(p[DT], 0.1 * p[BREAK] / (abs(drive(p, h, g)) + 1e-300))
        if g != 0.0:
            left = patch[OFFSET] if g > 0.0 else 1.0 - patch[OFFSET]
            dt = min(dt, p[CFL] * dx / abs(g))
            # stop where the element leaves, and do not leave a sliver before it
            if left * dx <= 1.001 * abs(g) * dt:
                dt = left * dx / abs(g)
        due = times[row] - t
        if due <= dt:
            dt, t = due, times[row]
        else:
            t += dt
        steps += 1
        if not held:
            v_t, w_t = accelerations(p, r, v, w, force, moment)
            v, w = v + 0.5 * dt * v_t, w + 0.5 * dt * w_t
            r += 0.5 * dt * v
        h, rolled = rolling(p, r, v, w)
        # what has left must not be overrun, and rolling keeps its way within a step
        if rolled * g <= 0.0:
            rolled = 0.0
        elif abs(rolled) * dt > dx * (patch[OFFSET] if g > 0.0 else 1.0 - patch[OFFSET]):
            rolled = dx * (patch[OFFSET] if g > 0.0 else patch[OFFSET] - 1.0) / dt
        motion[ROLLING], motion[LATERAL] = rolled, drive(p, h, rolled)
        motion[TURNING] = w - p[OMEGA0]
        roll_patch(p, patch, q, felt, slip, motion, dt)
        if not held:
            r += 0.5 * dt * v
            force, moment = patch_loads(p, patch, felt)
            v_t, w_t = accelerations(p, r, v, w, force, moment)
            v_t, w_t = accelerations(p, r, v + 0.5 * dt * v_t, w + 0.5 * dt * w_t, force, moment)
            v, w = v + 0.5 * dt * v_t, w + 0.5 * dt * w_t
            force, moment = patch_loads(p, patch, q)
        if not abs(r) + abs(v) + abs(w) < 1e12:
            return LOST, row, steps
