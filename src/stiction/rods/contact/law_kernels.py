"""Set-valued contact in steps of two half kicks: the forces of a state, the impulses of its end.

Forces obey the law at the level of accelerations: a contact that rolls keeps u at zero, one that
slips is held back by mu times what presses, against u. Impulses at the end of a step bring u of
what rolls, and the rate of every gap, to zero; what slips obeys the law at its new velocity.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import apart_from_ends
from stiction.rods.contact.kernels import (
    B1,
    COUNT1,
    CROSSING,
    CURVE,
    DISTANCE,
    DRIFT_C,
    E1,
    EASE,
    ELEM1,
    FORCE_C,
    GAP,
    GRIP,
    HALF,
    HELD,
    INDEX_COLUMNS,
    INSIDE,
    KIND,
    LEVER,
    MODE,
    MU,
    NODE1,
    NODES_G,
    NOISE,
    OPEN,
    OPENS,
    PARTS,
    PRESS,
    R1,
    R2,
    RATES_C,
    REACH,
    ROLL,
    RULE,
    SHAPE,
    SLACK,
    SLIP,
    SPEED,
    T1,
    T2,
    WILL,
    D,
    N,
    P,
    Touch,
    U,
    both_inside,
    locate,
    push,
    response,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.observe_kernels import contact_rates, slip_drift, solve3
from stiction.rods.contact.rub_kernels import BEYOND, pressing, rubbing, turn_of_normal
from stiction.rods.contact.touch_kernels import MOST_SWEEPS, STUCK
from stiction.rods.rod_kernels import State

Ints = npt.NDArray[np.int64]

# slip below this part of the largest velocity has no direction
STILL = 1e-13
# what opens without speed is out when its gap is this part of the reach
OUT = 1e-10
# sweeps for the forces of a state, and for the impulses that end a step: two contacts close to each
# other take many
FORCE_SWEEPS, END_SWEEPS = 2000, 2000
# forces that grow by more than this behind the first sweep have no bound; those of a light rod
# between heavy ones grow by the ratio of their masses
GROWN = 1e6
# sweeps in which friction that would give is let down
GIVING = 8
# a gap that changes by more than this part of the reach times EASE h has jumped
JUMP = 0.02
# what was found inside, or jumped, comes out by this part of it times EASE h: so slowly that it is
# lifted against what presses, and not thrown
LIFT = 0.002


@kernel(borrows=True)
def count_closed(index: Ints) -> int:
    """Return how many contacts are closed."""
    closed = 0
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            closed += 1
    return closed


@kernel(borrows=True)
def judge_sweeps(sweeps: int, good: bool, worst: Vector) -> None:
    """Keep the largest number of sweeps, and count what did not converge."""
    worst[MOST_SWEEPS] = max(worst[MOST_SWEEPS], float(sweeps))
    if not good:
        worst[STUCK] += 1.0


@kernel(borrows=True)
def law_force(
    c: int, touch: Touch, jammed: bool, ux: float, uy: float, uz: float
) -> tuple[float, float, float, int]:
    """Return the force of one contact for the rate u' that it would have without, and its mode.

    It leaves in kick what presses, and by how much rolling passes the bound of friction. Where
    forces are `jammed`, friction acts against what is about to slip, not against the slip there is.
    """
    index, law = touch.marks, touch.law
    g, k, mode = touch.geom[c], touch.kick[c], index[c, MODE]
    pn = pressing(g, ux, uy, uz)
    k[PRESS] = pn
    if index[c, OPENS] == 1 and (pn <= -law[c, NOISE] or k[PARTS] > 0.0):
        k[PRESS] = min(pn, 0.0)
        return 0.0, 0.0, 0.0, OPEN
    if index[c, OPENS] == 1:
        pn = max(pn, 0.0)
    mu = law[c, MU]
    bound = math.inf if mu == math.inf else mu * max(pn, 0.0)
    if mode == SLIP and k[SPEED] > 0.0:
        if jammed:
            lx, ly, lz, _ = rubbing(g, ux, uy, uz, bound)
            return lx - pn * g[N], ly - pn * g[N + 1], lz - pn * g[N + 2], SLIP
        # against the slip that there is
        nx, ny, nz = g[N], g[N + 1], g[N + 2]
        un = k[U] * nx + k[U + 1] * ny + k[U + 2] * nz
        b = bound / k[SPEED]
        lx, ly, lz = -b * (k[U] - un * nx), -b * (k[U + 1] - un * ny), -b * (k[U + 2] - un * nz)
        return lx - pn * nx, ly - pn * ny, lz - pn * nz, SLIP
    lx, ly, lz = solve3(g, -ux, -uy, -uz)
    ln = lx * g[N] + ly * g[N + 1] + lz * g[N + 2]
    tx, ty, tz = lx - ln * g[N], ly - ln * g[N + 1], lz - ln * g[N + 2]
    k[GRIP] = math.sqrt(tx * tx + ty * ty + tz * tz) - bound
    if k[GRIP] <= law[c, NOISE]:
        return tx - pn * g[N], ty - pn * g[N + 1], tz - pn * g[N + 2], ROLL
    lx, ly, lz, _ = rubbing(g, ux, uy, uz, bound)
    return lx - pn * g[N], ly - pn * g[N + 1], lz - pn * g[N + 2], SLIP


@kernel(borrows=True)
def drift_of_slip(q: Matrix, c: int, touch: Touch, v: Matrix, p: Matrix, spare: Vector) -> None:
    """Put the rate of u at constant velocities into kick[DRIFT_C], and those of the places."""
    place, index, g, k = touch.place, touch.marks, touch.geom[c], touch.kick[c]
    rule = index[c, RULE]
    inner = apart_from_ends(place[c, 0], index[c, COUNT1], rule)
    inner = inner and apart_from_ends(place[c, 1], index[c, COUNT1 + 1], rule)
    if not inner or index[c, KIND] != CROSSING or index[c, SHAPE] != CURVE:
        rate1, rate2 = contact_rates(v, c, place, index, touch.geom)
        slip_drift(q, c, place, index, touch.geom, v, p, rate1, rate2, spare)
        k[DRIFT_C], k[DRIFT_C + 1], k[DRIFT_C + 2] = spare[0], spare[1], spare[2]
        k[RATES_C], k[RATES_C + 1] = rate1, rate2
        turn_of_normal(c, touch, spare[3], spare[4], spare[5])
        return
    # the same, inside both rods, with the weights that geom holds
    v1, v2, a11, a12, a22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        t1, t2, d = g[T1 + a], g[T2 + a], g[D + a]
        x1, w1 = spline_rate(v, index[c, NODE1], place[c, 0], g[B1 : B1 + 4], a)
        x2, w2 = spline_rate(v, index[c, NODE1 + 1], place[c, 1], g[B1 + 4 : B1 + 8], a)
        spare[a], spare[3 + a], spare[6 + a] = x2 - x1, w1, w2
        v1 += (x2 - x1) * t1 + d * w1
        v2 += (x2 - x1) * t2 + d * w2
        a11 += -t1 * t1 + d * g[R1 + a]
        a12 += t1 * t2
        a22 += t2 * t2 + d * g[R2 + a]
    det = a11 * a22 + a12 * a12
    rate1, rate2 = -(a22 * v1 - a12 * v2) / det, -(a12 * v1 + a11 * v2) / det
    k[RATES_C], k[RATES_C + 1] = rate1, rate2
    mx, my, mz = 0.0, 0.0, 0.0
    sx, sy, sz = 0.0, 0.0, 0.0
    for side in range(2):
        rate = g[LEVER + side] * (rate1 if side == 0 else rate2)
        s = place[c, side] - 0.5
        x = s - math.floor(s)
        y = 1.0 - x
        slopes = (-0.5 * y * y, 1.5 * x * x - 2.0 * x, 2.0 * y - 1.5 * y * y, 0.5 * x * x)
        for j in range(4):
            i = index[c, ELEM1 + side] + j
            e, de = g[E1 + 4 * side + j], rate * slopes[j]
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            px, py, pz = p[0, i], p[1, i], p[2, i]
            half = 0.5 * (px * ax + py * ay + pz * az)
            wx, wy, wz = px - half * ax, py - half * ay, pz - half * az
            mx, my, mz = mx + e * wx, my + e * wy, mz + e * wz
            # a free rotor: w' = -(p . d3) / 2 (p x d3)
            sx += de * wx - e * half * (py * az - pz * ay)
            sy += de * wy - e * half * (pz * ax - px * az)
            sz += de * wz - e * half * (px * ay - py * ax)
    dx = spare[0] + g[T2] * rate2 - g[T1] * rate1
    dy = spare[1] + g[T2 + 1] * rate2 - g[T1 + 1] * rate1
    dz = spare[2] + g[T2 + 2] * rate2 - g[T1 + 2] * rate1
    ux, uy, uz = (
        spare[3] * rate1 - spare[6] * rate2,
        spare[4] * rate1 - spare[7] * rate2,
        spare[5] * rate1 - spare[8] * rate2,
    )
    k[DRIFT_C] = ux + sy * g[D + 2] - sz * g[D + 1] + my * dz - mz * dy
    k[DRIFT_C + 1] = uy + sz * g[D] - sx * g[D + 2] + mz * dx - mx * dz
    k[DRIFT_C + 2] = uz + sx * g[D + 1] - sy * g[D] + mx * dy - my * dx
    turn_of_normal(c, touch, dx, dy, dz)


@kernel(borrows=True)
def spline_rate(v: Matrix, start: int, s: float, b: Vector, a: int) -> tuple[float, float]:
    """Return component a of v at s, by the weights b, and its slope along the rod."""
    x = s - math.floor(s)
    y = 1.0 - x
    v0, v1, v2, v3 = v[a, start], v[a, start + 1], v[a, start + 2], v[a, start + 3]
    value = b[0] * v0 + b[1] * v1 + b[2] * v2 + b[3] * v3
    slope = -0.5 * y * y * v0 + (1.5 * x * x - 2.0 * x) * v1
    slope += (2.0 * y - 1.5 * y * y) * v2 + 0.5 * x * x * v3
    return value, slope


@kernel(borrows=True)
def solve_forces(
    q: Matrix,
    touch: Touch,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    av: Matrix,
    ap: Matrix,
    spare: Vector,
    worst: Vector,
) -> None:
    """Put the forces of all closed contacts into kick, and the modes that they belong to.

    av, ap : rates of v and p without contacts, which get those with them
    """
    index, geom, law, kick = touch.marks, touch.geom, touch.law, touch.kick
    closed, rubs = count_closed(index), False
    for c in range(index.shape[0]):
        k = kick[c]
        if index[c, MODE] < ROLL:
            k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2] = 0.0, 0.0, 0.0
            continue
        drift_of_slip(q, c, touch, v, p, spare)
        rubs = rubs or law[c, MU] > 0.0
        if closed == 1:
            k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2] = 0.0, 0.0, 0.0
        else:
            push(q, c, index, geom, k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2], mobility, av, ap)
    change, size, former, sweep = 0.0, 0.0, math.inf, 0
    good, jammed, first = True, False, 0.0
    for sweep in range(2 * FORCE_SWEEPS):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL:
                continue
            g, k = geom[c], kick[c]
            ux, uy, uz = slip_velocity(q, c, index, geom, av, ap)
            fx, fy, fz = k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2]
            ox, oy, oz = slip_per(g, fx, fy, fz)
            ux, uy, uz = (
                ux + (k[DRIFT_C] - ox),
                uy + (k[DRIFT_C + 1] - oy),
                uz + (k[DRIFT_C + 2] - oz),
            )
            lx, ly, lz, mode = law_force(c, touch, jammed, ux, uy, uz)
            k[WILL] = mode
            k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2] = lx, ly, lz
            if closed == 1:
                return
            dx, dy, dz = lx - fx, ly - fy, lz - fz
            push(q, c, index, geom, dx, dy, dz, mobility, av, ap)
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        stalled = change >= 0.5 * former and change <= 1e-10 * size
        if change <= 1e-13 * size or change <= 0.1 * law[0, NOISE] or stalled:
            break
        former = change
        first = max(size, 1e3 * law[0, NOISE]) if sweep == 0 else first
        if jammed:
            continue
        if rubs and size > GROWN * first:
            # friction against the slip presses by more than it was given (Painleve): begin anew
            good, jammed, former = False, True, math.inf
            take_back(q, touch, mobility, av, ap)
        elif sweep == FORCE_SWEEPS - 1:
            good = change <= 1e-8 * size
            break
    judge_sweeps(sweep + 1, good, worst)


@kernel(borrows=True)
def take_back(q: Matrix, touch: Touch, mobility: Matrix, av: Matrix, ap: Matrix) -> None:
    """Take the forces of closed contacts back out of the rates."""
    for c in range(touch.marks.shape[0]):
        k = touch.kick[c]
        if touch.marks[c, MODE] >= ROLL:
            x, y, z = -k[FORCE_C], -k[FORCE_C + 1], -k[FORCE_C + 2]
            push(q, c, touch.marks, touch.geom, x, y, z, mobility, av, ap)
            k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2] = 0.0, 0.0, 0.0


@kernel(borrows=True)
def end_impulse(
    c: int, index: Ints, geom: Matrix, law: Matrix, kick: Matrix, ux: float, uy: float, uz: float
) -> tuple[float, float, float, int]:
    """Return the impulse that ends a step at a contact with u' without it, and its mode then.

    What rolled goes on rolling: forces decide whether it may. So does what presses: the impulse
    of one half of a step can pull by what the other half pressed too much, and by no more.
    """
    g, k = geom[c], kick[c]
    least = -math.inf
    if index[c, OPENS] == 1:
        least = min(k[HALF] * g[N] + k[HALF + 1] * g[N + 1] + k[HALF + 2] * g[N + 2], 0.0)
    if index[c, MODE] == ROLL:
        lx, ly, lz = solve3(g, -ux, -uy, -uz)
        pn = -(lx * g[N] + ly * g[N + 1] + lz * g[N + 2])
        less = min(pn - least, 0.0)
        lx, ly, lz = lx + less * g[N], ly + less * g[N + 1], lz + less * g[N + 2]
        if index[c, OPENS] == 0 or (law[c, MU] == math.inf and less == 0.0):
            return lx, ly, lz, ROLL
        # forces are what tells slip, but what hardly presses in the whole step hardly rubs
        hn = k[HALF] * g[N] + k[HALF + 1] * g[N + 1] + k[HALF + 2] * g[N + 2]
        hx, hy, hz = k[HALF] - hn * g[N], k[HALF + 1] - hn * g[N + 1], k[HALF + 2] - hn * g[N + 2]
        pn = max(pn, least)
        bound = 0.0
        if law[c, MU] < math.inf:
            bound = BEYOND * law[c, MU] * max(pn - hn, 0.0)
        tx, ty, tz = lx + pn * g[N] + hx, ly + pn * g[N + 1] + hy, lz + pn * g[N + 2] + hz
        if tx * tx + ty * ty + tz * tz <= bound * bound:
            return lx, ly, lz, ROLL
        ox, oy, oz = slip_per(g, hx, hy, hz)
        tx, ty, tz, _ = rubbing(g, ux - ox, uy - oy, uz - oz, bound)
        return tx - hx - pn * g[N], ty - hy - pn * g[N + 1], tz - hz - pn * g[N + 2], SLIP
    pn = max(pressing(g, ux, uy, uz), least)
    lx, ly, lz, mode = rubbing(g, ux, uy, uz, law[c, MU] * max(pn, 0.0))
    return lx - pn * g[N], ly - pn * g[N + 1], lz - pn * g[N + 2], mode


@kernel(borrows=True)
def rounding(c: int, index: Ints, geom: Matrix, v: Matrix, p: Matrix) -> float:
    """Return the impulse that rounding of velocities makes at a contact [N s]."""
    speed = 0.0
    for side in range(2):
        i, e = index[c, NODE1 + side] + 1, index[c, ELEM1 + side] + 1
        for a in range(3):
            speed = max(speed, abs(v[a, i]), abs(p[a, e]) * geom[c, DISTANCE])
    return 1e-15 * speed / geom[c, NODES_G]


@kernel(borrows=True)
def solve_end(
    q: Matrix, touch: Touch, mobility: Matrix, v: Matrix, p: Matrix, worst: Vector
) -> None:
    """Find and apply the impulses that end a step; set the modes, and leave u in kick.

    What came to rest although it slipped keeps minus the speed it would have had, as SPEED.
    """
    index, geom, law, kick = touch.marks, touch.geom, touch.law, touch.kick
    closed, small = count_closed(index), 0.0
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            k = kick[c]
            response(q, c, index, geom, mobility)
            k[P], k[P + 1], k[P + 2] = 0.0, 0.0, 0.0
            if closed > 1:
                small = max(small, rounding(c, index, geom, v, p))
                # where contacts share what presses in many ways: as in the first half, by the law
                k[P], k[P + 1], k[P + 2] = k[HALF], k[HALF + 1], k[HALF + 2]
                push(q, c, index, geom, k[P], k[P + 1], k[P + 2], mobility, v, p)
    change, size, former, sweep, good = 0.0, 0.0, math.inf, 0, True
    for sweep in range(END_SWEEPS):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL:
                continue
            g, k = geom[c], kick[c]
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            ox, oy, oz = slip_per(g, k[P], k[P + 1], k[P + 2])
            ux, uy, uz = ux - ox, uy - oy, uz - oz
            lx, ly, lz, mode = end_impulse(c, index, geom, law, kick, ux, uy, uz)
            k[WILL] = mode
            dx, dy, dz = lx - k[P], ly - k[P + 1], lz - k[P + 2]
            push(q, c, index, geom, dx, dy, dz, mobility, v, p)
            k[P], k[P + 1], k[P + 2] = lx, ly, lz
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        stalled = change >= 0.9 * former and change <= 1e-12 * size
        if closed == 1 or change <= 1e-14 * size + small or stalled:
            break
        former = change
        good = sweep < END_SWEEPS - 1 or change <= 1e-10 * size
    judge_sweeps(sweep + 1, good, worst)


@kernel(borrows=True)
def aim(touch: Touch) -> None:
    """Put the direction of slip into kick[DRIFT_C], where the drift of u stood."""
    index, geom, kick = touch.marks, touch.geom, touch.kick
    for c in range(index.shape[0]):
        if index[c, MODE] == SLIP:
            g, k = geom[c], kick[c]
            un = k[U] * g[N] + k[U + 1] * g[N + 1] + k[U + 2] * g[N + 2]
            dx, dy, dz = k[U] - un * g[N], k[U + 1] - un * g[N + 1], k[U + 2] - un * g[N + 2]
            if k[SPEED] <= 0.0:
                # it starts to slip: against friction
                pn = k[FORCE_C] * g[N] + k[FORCE_C + 1] * g[N + 1] + k[FORCE_C + 2] * g[N + 2]
                dx, dy = pn * g[N] - k[FORCE_C], pn * g[N + 1] - k[FORCE_C + 1]
                dz = pn * g[N + 2] - k[FORCE_C + 2]
            size = math.sqrt(dx * dx + dy * dy + dz * dz)
            if size > 0.0:
                dx, dy, dz = dx / size, dy / size, dz / size
            k[DRIFT_C], k[DRIFT_C + 1], k[DRIFT_C + 2] = dx, dy, dz


@kernel(borrows=True)
def stop_turning(q: Matrix, touch: Touch, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Take back what friction did in the first half of a step beyond bringing a slip to rest.

    kick[U] holds the slip before it. A step that is cut where a slip ends has nothing of the kind.
    """
    index, geom = touch.marks, touch.geom
    for c in range(index.shape[0]):
        g, k = geom[c], touch.kick[c]
        if index[c, MODE] != SLIP or k[SPEED] <= 0.0:
            continue
        ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
        dx, dy, dz = k[DRIFT_C], k[DRIFT_C + 1], k[DRIFT_C + 2]
        along = ux * dx + uy * dy + uz * dz
        if along >= 0.0:
            continue
        gx, gy, gz = slip_per(g, dx, dy, dz)
        rub = -(k[P] * dx + k[P + 1] * dy + k[P + 2] * dz)
        less = min(-along / (gx * dx + gy * dy + gz * dz), max(rub, 0.0))
        push(q, c, index, geom, less * dx, less * dy, less * dz, mobility, v, p)
        k[P] += less * dx
        k[P + 1] += less * dy
        k[P + 2] += less * dz


@kernel(borrows=True)
def stop_giving(q: Matrix, touch: Touch, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Take back what friction would give to a slip in the first half of a step.

    Other contacts, and gaps that are held, turn a slow slip within the half; kick[U] holds the slip
    before it. Friction is let down to where its work is none.
    """
    index, geom = touch.marks, touch.geom
    for _ in range(GIVING):
        gives = False
        for c in range(index.shape[0]):
            g, k = geom[c], touch.kick[c]
            if index[c, MODE] != SLIP:
                continue
            pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
            lx, ly, lz = k[P] + pn * g[N], k[P + 1] + pn * g[N + 1], k[P + 2] + pn * g[N + 2]
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            work = lx * (ux + k[U]) + ly * (uy + k[U + 1]) + lz * (uz + k[U + 2])
            if work <= 0.0:
                continue
            ox, oy, oz = slip_per(g, lx, ly, lz)
            part = -min(work / (lx * ox + ly * oy + lz * oz), 1.0)
            push(q, c, index, geom, part * lx, part * ly, part * lz, mobility, v, p)
            k[P] += part * lx
            k[P + 1] += part * ly
            k[P + 2] += part * lz
            gives = True
        if not gives:
            break


@kernel(borrows=True)
def near_enough(trial: Matrix, c: int, touch: Touch, h: float) -> bool:
    """Find the distance at the end of a drift from the place that its rate predicts.

    The distance is stationary there: what the place is off by counts squared, and one step of
    Newton's method takes that out. Returns False near ends, and where that is not enough.
    """
    places, indices, geoms = touch.trial_place, touch.trial_marks, touch.trial_geom
    only = places.shape[0] - 1
    s1, s2 = places[only, 0], places[only, 1]
    rule = indices[only, RULE]
    inner = apart_from_ends(s1, indices[only, COUNT1], rule)
    inner = inner and apart_from_ends(s2, indices[only, COUNT1 + 1], rule)
    if not inner or indices[only, KIND] != CROSSING or indices[only, SHAPE] != CURVE:
        return False
    g = geoms[only]
    dd = both_inside(trial, only, s1, s2, indices, g)
    f1, f2, a11, a12, a22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        t1, t2, d = g[T1 + a], g[T2 + a], g[D + a]
        f1 += d * t1
        f2 += d * t2
        a11 += -t1 * t1 + d * g[R1 + a]
        a12 += t1 * t2
        a22 += t2 * t2 + d * g[R2 + a]
    det = a11 * a22 + a12 * a12
    if det >= 0.0:
        return False
    move1, move2 = -(f1 * a22 - a12 * f2) / det, -(a11 * f2 + a12 * f1) / det
    if max(abs(move1), abs(move2)) > 1e-4:
        return False
    g[DISTANCE] = math.sqrt(dd - f1 * move1 + f2 * move2)
    return True


@kernel(borrows=True)
def hold(
    state: State, touch: Touch, mobility: Matrix, h: float, whole: float, trial: Matrix
) -> None:
    """Correct normal impulses so that closed contacts touch after the drift of length h.

    Friction follows what presses where a contact slips. What is left of a gap is for the next. A
    part of a step takes back its part of a gap that a `whole` step does. Where a contact closed as
    deep as it was found, it stays there, and comes out by and by: at once, it would be thrown out.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    place, index, geom, law = touch.place, touch.marks, touch.geom, touch.law
    places, indices, geoms, kick = (
        touch.trial_place,
        touch.trial_marks,
        touch.trial_geom,
        touch.kick,
    )
    only = places.shape[0] - 1
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            continue
        g, k = geom[c], kick[c]
        for j in range(INDEX_COLUMNS):
            indices[only, j] = index[c, j]
        places[only, 0] = place[c, 0] + h * k[RATES_C]
        places[only, 1] = place[c, 1] + h * k[RATES_C + 1]
        for side in range(2):
            start = index[c, NODE1 + side]
            low, high = max(start - 3, 0), min(start + 7, r.shape[1])
            for a in range(3):
                for i in range(low, high):
                    trial[a, i] = r[a, i] + h * v[a, i]
        if not near_enough(trial, c, touch, h):
            places[only, 0], places[only, 1] = place[c, 0], place[c, 1]
            if locate(trial, only, places, indices, geoms) != INSIDE:
                continue
        eased = law[c, EASE] * h
        k[HELD] *= 1.0 - min(LIFT * eased, 1.0)
        gap = geoms[only, DISTANCE] - law[c, REACH] - k[HELD]
        if abs(gap) > JUMP * law[c, REACH] * eased:
            # another pair of points is the nearest: it comes out by and by, too
            k[HELD] += gap
            gap = 0.0
        if h > 0.5 * whole:
            k[SLACK] = max(8.0 * abs(gap), OUT * law[c, REACH]) - 1.01 * k[HELD]
        if gap > 0.0 and k[PRESS] <= 0.0:
            # about to open: nothing pulls it back
            continue
        d = gap / (whole * g[NODES_G])
        pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
        if index[c, OPENS] == 1:
            # what presses may press less, and not pull
            d = min(d, max(pn, 0.0))
        dx, dy, dz = d * g[N], d * g[N + 1], d * g[N + 2]
        if index[c, MODE] == SLIP and pn > 0.0:
            # the disk of friction follows the corrected pressure
            more = max(-d / pn, -1.0)
            dx += more * (k[P] + pn * g[N])
            dy += more * (k[P + 1] + pn * g[N + 1])
            dz += more * (k[P + 2] + pn * g[N + 2])
        push(q, c, index, geom, dx, dy, dz, mobility, v, p)
        k[P] += dx
        k[P + 1] += dy
        k[P + 2] += dz


@kernel(borrows=True)
def note_gaps(touch: Touch) -> None:
    """Put the gaps of all contacts into kick.

    Holding a gap corrects what a step of order two leaves of it. A contact that has just opened may
    be as deep, until it has come out.
    """
    for c in range(touch.marks.shape[0]):
        k = touch.kick[c]
        k[GAP] = touch.geom[c, DISTANCE] - touch.law[c, REACH]
        if touch.marks[c, MODE] == OPEN and k[GAP] > k[SLACK]:
            k[SLACK] = 0.0
