"""Impulses of all contacts in one kick or impact, by block Gauss-Seidel with exact 3x3 solutions.

Everything is written in impulses P = h l over a step and in u' = u(before) + u(after), twice the
mean slip velocity: a kick with persistent contacts and an impact are then one problem, and the
energy a contact takes is exactly -P . u' / 2.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import FITTED
from stiction.rods.contact.kernels import (
    AT_END,
    B1,
    CROSSING,
    DISTANCE,
    E1,
    ELEM1,
    EMPTY,
    FOUND,
    HEAT,
    HEAT_NOW,
    INDEX_COLUMNS,
    INSIDE,
    KIND,
    LINE,
    LINE_BELOW,
    MODE,
    MU,
    NODE1,
    NODES_G,
    OPEN,
    OPENS,
    OUTER,
    OUTSIDE,
    REACH,
    ROLL,
    RULE,
    SINGULAR,
    SLIP,
    TANGENCY,
    D,
    N,
    P,
    Touch,
    U,
    locate,
    push,
    response,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.rub_kernels import pressing, rubbing
from stiction.rods.driving_kernels import spatial_spin
from stiction.rods.rod_kernels import FREE, TURNS, State

Ints = npt.NDArray[np.int64]

SWEEPS = 400
# entries of worst: largest slip velocity of a contact that rolls [m/s], most sweeps, kicks that did
# not converge, length of the last kick [s]
ROLL_SLIP, MOST_SWEEPS, STUCK, LAST_KICK = range(4)
WORST_ENTRIES = 4
# sine of ten degrees
PARALLEL = 0.17364817766693033
# code of a crossing below that angle, after INSIDE, OUTSIDE and SINGULAR
NEAR_PARALLEL = 3


@kernel(borrows=True)
def measure(q: Matrix, index: Ints, geom: Matrix, v: Matrix, p: Matrix, kick: Matrix) -> None:
    """Put u of all closed contacts for the velocities before a kick into kick[U]."""
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            kick[c, U], kick[c, U + 1], kick[c, U + 2] = slip_velocity(q, c, index, geom, v, p)


@kernel(borrows=True)
def near_rates(index: Ints, f: Matrix, t: Matrix, mat: Matrix, av: Matrix, ap: Matrix) -> None:
    """Put the rates of v and p without contacts into av, ap, where closed contacts see them."""
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            continue
        for side in range(2):
            for j in range(4):
                i, e = index[c, NODE1 + side] + j, index[c, ELEM1 + side] + j
                for a in range(3):
                    av[a, i] = mat[FREE, i] * f[a, i]
                    ap[a, e] = mat[TURNS, e] * t[a, e]
            if index[c, RULE] == FITTED:
                # where there are none beyond an end, they have no weight
                for i in (index[c, NODE1 + side] - 1, index[c, NODE1 + side] + 4):
                    if 0 <= i < av.shape[1]:
                        for a in range(3):
                            av[a, i] = mat[FREE, i] * f[a, i]


@kernel(borrows=True)
def local_impulse(
    g: Vector, c: int, index: Ints, law: Matrix, ux: float, uy: float, uz: float
) -> tuple[float, float, float, int]:
    """Return the impulse of one contact whose u' without it is given, and its mode."""
    nx, ny, nz = g[N], g[N + 1], g[N + 2]
    pn = pressing(g, ux, uy, uz)
    if index[c, OPENS] == 1 and pn <= 0.0:
        return 0.0, 0.0, 0.0, OPEN
    bound = math.inf
    if law[c, MU] < math.inf:
        bound = law[c, MU] * max(pn, 0.0)
    lx, ly, lz, mode = rubbing(g, ux, uy, uz, bound)
    return lx - pn * nx, ly - pn * ny, lz - pn * nz, mode


@kernel(borrows=True)
def kick_contacts(
    q: Matrix,
    index: Ints,
    geom: Matrix,
    law: Matrix,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    kick: Matrix,
) -> int:
    """Solve all closed contacts after the free kick; return the sweeps used, -1 if too many.

    Sets the mode of each: ROLL, SLIP, or OPEN where it would have to pull.
    """
    closed = 0
    for c in range(index.shape[0]):
        kick[c, P], kick[c, P + 1], kick[c, P + 2] = 0.0, 0.0, 0.0
        if index[c, MODE] >= ROLL:
            closed += 1
            response(q, c, index, geom, mobility)
    if closed == 0:
        return 0
    change, size, former = 0.0, 0.0, math.inf
    for sweep in range(SWEEPS):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL:
                continue
            g, k = geom[c], kick[c]
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            ox, oy, oz = slip_per(g, k[P], k[P + 1], k[P + 2])
            ux, uy, uz = ux + (k[U] - ox), uy + (k[U + 1] - oy), uz + (k[U + 2] - oz)
            lx, ly, lz, _ = local_impulse(g, c, index, law, ux, uy, uz)
            dx, dy, dz = lx - k[P], ly - k[P + 1], lz - k[P + 2]
            push(q, c, index, geom, dx, dy, dz, mobility, v, p)
            k[P], k[P + 1], k[P + 2] = lx, ly, lz
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        # small forces between large ones end at the rounding of the velocities
        stalled = change >= 0.5 * former and change <= 1e-10 * size
        if sweep > 0 and (change <= 1e-14 * size or stalled):
            return sweep + 1
        former = change
        # one contact is exact after one pass; the second pass removes its rounding
        if closed == 1 and sweep == 1:
            return 2
    return SWEEPS if change <= 1e-10 * size else -1


@kernel(borrows=True)
def settle_modes(index: Ints, geom: Matrix, law: Matrix, kick: Matrix) -> None:
    """Set the modes of closed contacts from their impulses."""
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            continue
        g, k = geom[c], kick[c]
        pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
        if index[c, OPENS] == 1 and pn <= 0.0:
            index[c, MODE] = OPEN
            continue
        index[c, MODE] = ROLL
        if law[c, MU] < math.inf:
            tx, ty, tz = k[P] + pn * g[N], k[P + 1] + pn * g[N + 1], k[P + 2] + pn * g[N + 2]
            rub = math.sqrt(tx * tx + ty * ty + tz * tz)
            if rub >= law[c, MU] * pn * (1.0 - 1e-9):
                index[c, MODE] = SLIP


@kernel(borrows=True)
def hold_gaps(state: State, touch: Touch, mobility: Matrix, h: float, trial: Matrix) -> None:
    """Correct normal impulses so that closed contacts just touch after the drift (SHAKE)."""
    r, q, v, p = state.r, state.q, state.v, state.p
    place, index, geom, law = touch.place, touch.marks, touch.geom, touch.law
    places, indices, geoms, kick = (
        touch.trial_place,
        touch.trial_marks,
        touch.trial_geom,
        touch.kick,
    )
    # their only row, but not the constant 0: Numba would compile `locate` for it again
    only = places.shape[0] - 1
    for _ in range(20):
        worst = 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL:
                continue
            g, k = geom[c], kick[c]
            for side in range(2):
                start = index[c, NODE1 + side]
                low, high = max(start - 3, 0), min(start + 7, r.shape[1])
                for a in range(3):
                    for i in range(low, high):
                        trial[a, i] = r[a, i] + h * v[a, i]
            for j in range(INDEX_COLUMNS):
                indices[only, j] = index[c, j]
            places[only, 0], places[only, 1] = place[c, 0], place[c, 1]
            if locate(trial, only, places, indices, geoms) != INSIDE:
                continue
            gap = geoms[only, DISTANCE] - law[c, REACH]
            worst = max(worst, abs(gap) / law[c, REACH])
            d = gap / (h * g[NODES_G])
            dx, dy, dz = d * g[N], d * g[N + 1], d * g[N + 2]
            if law[c, MU] < math.inf and index[c, MODE] == SLIP:
                # the disk of friction follows the corrected pressure
                ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
                ox, oy, oz = slip_per(g, k[P], k[P + 1], k[P + 2])
                ux, uy, uz = ux + (k[U] - ox), uy + (k[U + 1] - oy), uz + (k[U + 2] - oz)
                pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2]) - d
                bound = law[c, MU] * max(pn, 0.0)
                lx, ly, lz, _ = rubbing(g, ux, uy, uz, bound)
                dx = lx - pn * g[N] - k[P]
                dy = ly - pn * g[N + 1] - k[P + 1]
                dz = lz - pn * g[N + 2] - k[P + 2]
            push(q, c, index, geom, dx, dy, dz, mobility, v, p)
            k[P] += dx
            k[P + 1] += dy
            k[P + 2] += dz
        # corrected already: what is left is smaller by orders of magnitude
        if worst < 1e-10:
            break


@kernel(borrows=True)
def pulls(index: Ints, geom: Matrix, kick: Matrix) -> bool:
    """Return whether a contact that may open would have to pull."""
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL and index[c, OPENS] == 1:
            k, g = kick[c], geom[c]
            if k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2] > 0.0:
                return True
    return False


@kernel(borrows=True)
def account(
    q: Matrix,
    index: Ints,
    geom: Matrix,
    v: Matrix,
    p: Matrix,
    kick: Matrix,
    worst: Vector,
) -> float:
    """Add the work of this kick: friction heat per contact; return the normal work [J].

    worst[ROLL_SLIP] takes the largest mean slip velocity of a rolling contact.
    """
    normal = 0.0
    for c in range(index.shape[0]):
        kick[c, HEAT_NOW] = 0.0
        if index[c, MODE] < ROLL:
            continue
        g, k = geom[c], kick[c]
        ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
        ux, uy, uz = 0.5 * (ux + k[U]), 0.5 * (uy + k[U + 1]), 0.5 * (uz + k[U + 2])
        un = ux * g[N] + uy * g[N + 1] + uz * g[N + 2]
        pn = k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2]
        normal -= pn * un
        kick[c, HEAT_NOW] = -(k[P] * ux + k[P + 1] * uy + k[P + 2] * uz - pn * un)
        kick[c, HEAT] += kick[c, HEAT_NOW]
        if index[c, MODE] == ROLL:
            tx, ty, tz = ux - un * g[N], uy - un * g[N + 1], uz - un * g[N + 2]
            worst[ROLL_SLIP] = max(worst[ROLL_SLIP], math.sqrt(tx * tx + ty * ty + tz * tz))
    return normal


@kernel(borrows=True)
def drive_work(
    q: Matrix, index: Ints, geom: Matrix, mobility: Matrix, v: Matrix, p: Matrix, kick: Matrix
) -> float:
    """Return the work that what is driven does against the impulses of contacts [J]."""
    work = 0.0
    for c in range(index.shape[0]):
        g, k = geom[c], kick[c]
        if k[P] == 0.0 and k[P + 1] == 0.0 and k[P + 2] == 0.0:
            continue
        # moment of the impulse with a lever of one
        tx = g[D + 1] * k[P + 2] - g[D + 2] * k[P + 1]
        ty = g[D + 2] * k[P] - g[D] * k[P + 2]
        tz = g[D] * k[P + 1] - g[D + 1] * k[P]
        for side in range(2):
            sign = 1.0 - 2.0 * side
            for j in range(4):
                i = index[c, NODE1 + side] + j
                if mobility[0, i] == 0.0:
                    b = sign * g[B1 + 4 * side + j]
                    work -= b * (k[P] * v[0, i] + k[P + 1] * v[1, i] + k[P + 2] * v[2, i])
                i = index[c, ELEM1 + side] + j
                if mobility[1, i] == 0.0:
                    e = g[E1 + 4 * side + j]
                    wx, wy, wz, _, _, _ = spatial_spin(q, p, i)
                    work -= e * (tx * wx + ty * wy + tz * wz)
            for j in range(2 if index[c, RULE] == FITTED else 0):
                b, i = sign * g[OUTER + 2 * side + j], index[c, NODE1 + side] + 5 * j - 1
                if b != 0.0 and mobility[0, i] == 0.0:
                    work -= b * (k[P] * v[0, i] + k[P + 1] * v[1, i] + k[P + 2] * v[2, i])
    return work


@kernel(borrows=True, apart=True)
def locate_all(r: Matrix, place: Matrix, index: Ints, geom: Matrix) -> tuple[int, int]:
    """Locate every contact; return (code, contact).

    A closed contact that leaves its rod, loses its nearest points or comes near parallel ends
    the run; one that a search found becomes a point of a line contact instead: it keeps its
    place on the first rod from here on, and contact -2 asks for a search of its neighbours.
    """
    contact = -1
    for c in range(index.shape[0]):
        if index[c, MODE] == EMPTY:
            continue
        code = locate(r, c, place, index, geom)
        # the end of a rod is a point at any angle
        crossing = index[c, KIND] == CROSSING and index[c, AT_END] == 0
        least = PARALLEL if index[c, FOUND] == 0 else 0.75 * LINE_BELOW
        near = code == INSIDE and geom[c, TANGENCY] < least
        if crossing and (near or code == SINGULAR) and index[c, MODE] >= ROLL:
            if index[c, FOUND] == 0:
                return (NEAR_PARALLEL if near else SINGULAR), c
            index[c, KIND] = LINE
            contact = -2
            code = locate(r, c, place, index, geom)
        if code == INSIDE:
            continue
        if index[c, MODE] >= ROLL:
            if code != OUTSIDE or index[c, KIND] != LINE:
                return code, c
            # a point of a line that runs off the other rod: the end of that one carries on
            contact = -2
        index[c, MODE] = EMPTY
    return INSIDE, contact
