"""One rod on a rigid plane: impulses of all touching nodes, impacts, and the march.

Every node can touch at one point, one radius below it. Its surface moves there with
u = v + a n x w, w the mean of the frames beside the node. Normal impulses meet in no other node
and turn no frame, so that they are known at once; with them given, friction is a convex problem
that block Gauss-Seidel solves, with the exact solution of Coulomb's law at each node.

Symbols: n normal, b1, b2 tangents, a radius, P impulses (normal, two tangents), x slip of nodes
without the frames' part, z = a n x w of elements, m = n x d3.

`work` (rows below, slots) numbers of nodes and elements, `marks` (rows below, nodes) their modes,
`par` what stays the same, `tally` times and sums.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.rod_kernels import FREE, TURNS, axis_of

Ints = npt.NDArray[np.int64]

# modes of a node
OPEN, ROLL, SLIP = 0, 1, 2
# why the march paused
DONE, EVENTS_FULL, NOT_FINITE, TOO_MANY_STEPS = range(4)

# rows of marks: mode; whether the impulses found last are those of slip, whether a node is held
# by impulses, whether it arrives in an impact (0 or 1)
MODE, BRANCH, HOLD, ARRIVE = range(4)
MARK_ROWS = 4

# rows of work, of nodes unless said otherwise; vectors over tangents, or n and tangents, take as
# many rows as "(2)" or "(3)" says
UN = 0  # normal velocity [m/s]
GAP = 1  # [m]
BOUND = 2  # largest tangential impulse [N s]
BACK, KEPT = 3, 4  # parts of the normal and the tangential velocity that come back
HEAT = 5  # of friction [J]
HIT = 6  # time of the last impact [s]
MU = 7  # Coulomb's coefficient
BEFORE = 8  # (3) velocity before the impulses [m/s]
P = 11  # (3) impulse [N s]
X = 14  # (2) slip without the frames' part [m/s]
Z = 16  # (2) of elements: a n x w [m/s]
M = 18  # (2) of elements: n x d3
G11, G12, G22 = 20, 21, 22  # slip per tangential impulse [1/kg]
BIAS = 23  # (2) added to the slip that the law sees [m/s]
PRESS = 25  # (3) mean force of the last step [N]
OLD_P, OLD_HEAT = 28, 31  # (3) and (1) impulse and heat before a half kick that may be repeated
LAST_HEAT = 32  # heat at the end of the last step [J]
WORK_ROWS = 33

# entries of par: radius [m]; largest mu; parts of the normal and the slip velocity that come back
# after an impact; longest step [s]
RADIUS, MU_MOST, RESTITUTION, TANGENTIAL, STEP = range(5)
# (3) each: n, b1, b2, a point of the plane [m]
NORMAL, TANGENT, TANGENT_2, ORIGIN = 5, 8, 11, 14
PAR_ENTRIES = 17

# entries of tally: time [s], length of the last drift [s], 1 where impulses must be found afresh
NOW, LAST, FRESH = range(3)
# work of loads, energy lost in impacts, and to the scheme [J]
EXTERNAL, IMPACT, ALGORITHMIC = range(3, 6)
# most sweeps, kicks that did not converge, deepest gap [m], shortest step [s]
SWEEPS, STUCK, DEPTH, SHORTEST = range(6, 10)
# 1 where the march only tries a kick, much shorter than a step
TRIAL = 10
# of all steps: largest friction beyond mu times the normal force, and when [s]; largest normal
# force [N]; heat that friction gave back, in all, and when first; largest energy that the scheme
# cost so far [J]
OVER, OVER_AT, MOST_N, GAVE, GAVE_AT, COST = range(11, 17)
TALLY_ENTRIES = 17

# columns of an event; numbers are those of nodes, `normal` a force [N], or a velocity [m/s] when
# the node closes, `slip` a speed [m/s]
TIME, NODE, MODE_BEFORE, MODE_AFTER, KIND, FORCE_N, SPEED_T = range(7)
EVENT_COLUMNS = 7

# Numba compiles a kernel once more for every integer constant that it is called with, but not for
# every real one: what only names a case is therefore a real number.
# kinds of events
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES = 0.0, 1.0, 2.0, 3.0, 4.0
# halves of a step: its end, its start with the impulses of the end before, its start alone
END, AGAIN, ALONE = 0.0, 1.0, 2.0

MOST_SWEEPS = 2000
_CONVERGED = 1e-14
# velocities are known to this part of the largest
_ROUNDING = 2e-15
# depth, in radii, that closes a node without an impact located in time
SHALLOW = 1e-7


# loops instead of array expressions: they compile ten times faster


@kernel
def put(to: Matrix, values: Matrix, factor: float) -> None:
    """Copy `values` times `factor`."""
    for c in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[c, k] = factor * values[c, k]


@kernel
def put_row(to: Vector, values: Vector) -> None:
    """Copy a row of values."""
    for k in range(to.shape[0]):
        to[k] = values[k]


@kernel
def fill(to: Vector, value: float) -> None:
    """Fill a row."""
    for k in range(to.shape[0]):
        to[k] = value


@kernel
def hold_touching(marks: Ints) -> None:
    """Hold the nodes that touch."""
    for k in range(marks.shape[1]):
        marks[HOLD, k] = 0 if marks[MODE, k] == OPEN else 1


@kernel
def slips(q: Matrix, v: Matrix, p: Matrix, par: Vector, work: Matrix) -> None:
    """Put normal velocities into work[UN], tangential parts into work[X] and work[Z]."""
    a, size = par[RADIUS], work.shape[1]
    for k in range(size):
        work[UN, k] = par[NORMAL] * v[0, k] + par[NORMAL + 1] * v[1, k] + par[NORMAL + 2] * v[2, k]
        for c in range(2):
            b = TANGENT + 3 * c
            work[X + c, k] = par[b] * v[0, k] + par[b + 1] * v[1, k] + par[b + 2] * v[2, k]
            work[Z + c, k] = 0.0
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        half = 0.5 * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        wx, wy, wz = p[0, e] - half * ax, p[1, e] - half * ay, p[2, e] - half * az
        # b1, b2, n right-handed: n x b1 = b2
        work[Z, e] = -a * (par[TANGENT_2] * wx + par[TANGENT_2 + 1] * wy + par[TANGENT_2 + 2] * wz)
        work[Z + 1, e] = a * (par[TANGENT] * wx + par[TANGENT + 1] * wy + par[TANGENT + 2] * wz)


@kernel
def slip_at(k: int, work: Matrix) -> tuple[float, float]:
    """Return the slip velocity of node k along both tangents."""
    x1, x2 = work[X, k], work[X + 1, k]
    if k == 0:
        return x1 + work[Z, 0], x2 + work[Z + 1, 0]
    if k == work.shape[1] - 1:
        return x1 + work[Z, k - 1], x2 + work[Z + 1, k - 1]
    z1, z2 = work[Z, k - 1] + work[Z, k], work[Z + 1, k - 1] + work[Z + 1, k]
    return x1 + 0.5 * z1, x2 + 0.5 * z2


@kernel
def weight(k: int, size: int) -> float:
    """Return the share of an element beside node k in the angular velocity of the node."""
    return 1.0 if k == 0 or k == size - 1 else 0.5


@kernel
def turn_table(q: Matrix, par: Vector, mat: Matrix, work: Matrix) -> None:
    """Fill work[M], n x d3 along the tangents, and G, the slip per impulse at each node."""
    a, size = par[RADIUS], work.shape[1]
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        work[M, e] = -(par[TANGENT_2] * ax + par[TANGENT_2 + 1] * ay + par[TANGENT_2 + 2] * az)
        work[M + 1, e] = par[TANGENT] * ax + par[TANGENT + 1] * ay + par[TANGENT + 2] * az
    for k in range(size):
        g11, g12, g22 = mat[FREE, k], 0.0, mat[FREE, k]
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            m1, m2 = work[M, e], work[M + 1, e]
            arm = weight(k, size) * a
            s = arm * arm * mat[TURNS, e]
            g11 += s * (1.0 - 0.5 * m1 * m1)
            g12 -= s * 0.5 * m1 * m2
            g22 += s * (1.0 - 0.5 * m2 * m2)
        work[G11, k], work[G12, k], work[G22, k] = g11, g12, g22


@kernel
def push(k: int, dx: float, dy: float, par: Vector, mat: Matrix, work: Matrix) -> None:
    """Let a tangential impulse act on node k: change x and z."""
    a, size = par[RADIUS], work.shape[1]
    work[X, k] += mat[FREE, k] * dx
    work[X + 1, k] += mat[FREE, k] * dy
    for e in range(max(k - 1, 0), min(k + 1, size - 1)):
        m1, m2 = work[M, e], work[M + 1, e]
        s = weight(k, size) * a * a * mat[TURNS, e]
        along = 0.5 * (m1 * dx + m2 * dy)
        work[Z, e] += s * (dx - along * m1)
        work[Z + 1, e] += s * (dy - along * m2)


@kernel
def coulomb(
    g0: float,
    g1: float,
    g2: float,
    bx: float,
    by: float,
    bound: float,
) -> tuple[float, float, bool]:
    """Return (P, slips): b + G P = 0 with |P| < bound, or P against b + G P with |P| = bound.

    G = [[g0, g1], [g1, g2]] is positive definite. In slip (G + alpha) P = -b, and 1/|P| is a
    concave function of alpha: Newton's method converges from alpha = 0 without a safeguard.
    """
    det = g0 * g2 - g1 * g1
    px, py = -(g2 * bx - g1 * by) / det, -(g0 * by - g1 * bx) / det
    size = math.sqrt(px * px + py * py)
    if size <= bound:
        return px, py, False
    if bound <= 0.0:
        return 0.0, 0.0, True
    alpha = 0.0
    for _ in range(60):
        h0, h2 = g0 + alpha, g2 + alpha
        det = h0 * h2 - g1 * g1
        px, py = -(h2 * bx - g1 * by) / det, -(h0 * by - g1 * bx) / det
        size = math.sqrt(px * px + py * py)
        # d|P|/d alpha = -P . (G + alpha)^-1 P / |P|
        steep = (h2 * px * px - 2.0 * g1 * px * py + h0 * py * py) / det
        change = (size - bound) * size * size / (bound * steep)
        alpha += change
        if abs(change) <= 1e-15 * (alpha + g0 + g2):
            break
    scale = bound / size
    return px * scale, py * scale, True


@kernel
def first_guess(par: Vector, mat: Matrix, marks: Ints, work: Matrix) -> None:
    """Let the tangential impulses of the last time act, cut to the bounds of this one."""
    for k in range(work.shape[1]):
        bound, couples = work[BOUND, k], work[G11, k] * work[G22, k] > work[G12, k] * work[G12, k]
        if marks[HOLD, k] and bound > 0.0 and couples:
            p1, p2 = work[P + 1, k], work[P + 2, k]
            length = math.sqrt(p1 * p1 + p2 * p2)
            if length > bound:
                work[P + 1, k] *= bound / length
                work[P + 2, k] *= bound / length
            push(k, work[P + 1, k], work[P + 2, k], par, mat, work)
        else:
            work[P + 1, k] = 0.0
            work[P + 2, k] = 0.0
        marks[BRANCH, k] = 1 if marks[HOLD, k] and mat[FREE, k] > 0.0 else 0


@kernel
def friction(par: Vector, mat: Matrix, marks: Ints, work: Matrix) -> int:
    """Find tangential impulses of the held nodes; return the sweeps, negative if too many.

    The law acts on u + kept * before + bias. x, z come in without, and leave with, impulses;
    P come in as a first guess. BRANCH is 1 where a node slips.
    """
    largest, speed, size = 0.0, 0.0, work.shape[1]
    for k in range(size):
        for c in range(2):
            here = abs(work[BEFORE + 1 + c, k])
            speed = max(speed, abs(work[X + c, k]), abs(work[Z + c, k]), here)
    first_guess(par, mat, marks, work)
    for sweep in range(MOST_SWEEPS):
        change = 0.0
        for j in range(size):
            k = j if sweep % 2 == 0 else size - 1 - j
            bound, kept = work[BOUND, k], work[KEPT, k]
            if not marks[HOLD, k] or bound <= 0.0:
                continue
            g0, g1, g2 = work[G11, k], work[G12, k], work[G22, k]
            if g0 * g2 <= g1 * g1:
                continue
            ux, uy = slip_at(k, work)
            p1, p2 = work[P + 1, k], work[P + 2, k]
            bx = ux + kept * work[BEFORE + 1, k] + work[BIAS, k] - g0 * p1 - g1 * p2
            by = uy + kept * work[BEFORE + 2, k] + work[BIAS + 1, k] - g1 * p1 - g2 * p2
            px, py, slid = coulomb(g0, g1, g2, bx, by, bound)
            dx, dy = px - p1, py - p2
            push(k, dx, dy, par, mat, work)
            work[P + 1, k] = px
            work[P + 2, k] = py
            marks[BRANCH, k] = 1 if slid else 0
            largest = max(largest, g0 * abs(px) + g2 * abs(py))
            change = max(change, g0 * abs(dx) + g2 * abs(dy))
        if change <= _CONVERGED * largest + _ROUNDING * speed:
            return sweep + 1
    return -MOST_SWEEPS


@kernel
def act(par: Vector, mat: Matrix, work: Matrix, v: Matrix, p: Matrix) -> None:
    """Let impulses P act on velocities and spins."""
    a, size = par[RADIUS], work.shape[1]
    for k in range(size):
        pn, p1, p2 = work[P, k], work[P + 1, k], work[P + 2, k]
        for i in range(3):
            push_i = par[NORMAL + i] * pn + par[TANGENT + i] * p1 + par[TANGENT_2 + i] * p2
            v[i, k] += mat[FREE, k] * push_i
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            s = weight(k, size) * a * mat[TURNS, e]
            # torque -a n x P
            for i in range(3):
                p[i, e] += s * (par[TANGENT + i] * p2 - par[TANGENT_2 + i] * p1)


@kernel
def impulses(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    work: Matrix,
    grip: float,
) -> int:
    """Find and apply the impulses of held nodes; return the sweeps.

    In: v, p without impulses; BEFORE, velocities before; BACK, the part of the normal one that
    returns; `grip`, whether held nodes cannot slip even without a normal impulse. Out: UN, X, Z
    belong to the new velocities.
    """
    slips(q, v, p, par, work)
    for k in range(work.shape[1]):
        free, pn = mat[FREE, k], 0.0
        if marks[HOLD, k] and free > 0.0:
            pn = max(0.0, -(work[UN, k] + work[BACK, k] * work[BEFORE, k]) / free)
            work[UN, k] += free * pn
        work[P, k] = pn
        work[BOUND, k] = work[MU, k] * pn if pn > 0.0 else 0.0
        if grip > 0.0 and marks[HOLD, k]:
            work[BOUND, k] = math.inf
    sweeps = friction(par, mat, marks, work)
    act(par, mat, work, v, p)
    return sweeps


@kernel
def contact_work(work: Matrix, half: float) -> float:
    """Add friction heat to work[HEAT]; return the remaining energy that the impulses took out.

    Heat is impulse times slip at the synchronous end of the half kick, which for a law obeyed
    there is never negative. What is left cancels between two halves with the same impulses; a
    half that stands alone and slows the slip counts all of its work.
    """
    rest = 0.0
    for k in range(work.shape[1]):
        ux, uy = slip_at(k, work)
        bn, b1, b2 = work[BEFORE, k], work[BEFORE + 1, k], work[BEFORE + 2, k]
        pn, p1, p2 = work[P, k], work[P + 1, k], work[P + 2, k]
        done = 0.5 * pn * (bn + work[UN, k])
        done += 0.5 * (p1 * (b1 + ux) + p2 * (b2 + uy))
        there = p1 * ux + p2 * uy
        if half != END:
            slower = b1 * b1 + b2 * b2 > ux * ux + uy * uy
            there = p1 * b1 + p2 * b2
            if half == ALONE and slower:
                there = 0.5 * (there + p1 * ux + p2 * uy)
        lost = max(0.0, -there)
        work[HEAT, k] += lost
        rest -= done + lost
    return rest


@kernel
def drifting_slip(q: Matrix, p: Matrix, par: Vector, w: float, work: Matrix) -> None:
    """Put w times the rate of slip during free motion into work[BIAS]: frames turn, p stays."""
    a, size = par[RADIUS], work.shape[1]
    for c in range(2):
        for k in range(size):
            work[BIAS + c, k] = 0.0
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        along = -0.5 * w * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        dx = along * (p[1, e] * az - p[2, e] * ay)
        dy = along * (p[2, e] * ax - p[0, e] * az)
        dz = along * (p[0, e] * ay - p[1, e] * ax)
        z0 = -a * (par[TANGENT_2] * dx + par[TANGENT_2 + 1] * dy + par[TANGENT_2 + 2] * dz)
        z1 = a * (par[TANGENT] * dx + par[TANGENT + 1] * dy + par[TANGENT + 2] * dz)
        for k in range(e, e + 2):
            work[BIAS, k] += weight(k, size) * z0
            work[BIAS + 1, k] += weight(k, size) * z1


@kernel
def gaps(r: Matrix, par: Vector, work: Matrix) -> None:
    """Put gaps of all nodes into work[GAP]."""
    for k in range(work.shape[1]):
        g = -par[RADIUS]
        for i in range(3):
            g += par[NORMAL + i] * (r[i, k] - par[ORIGIN + i])
        work[GAP, k] = g


@kernel
def note(
    events: Matrix,
    written: Ints,
    now: float,
    k: int,
    old: int,
    new: int,
    kind: float,
    normal: float,
    slip: float,
) -> None:
    """Write one event if there is room."""
    count = written[0]
    if count < events.shape[0]:
        row = events[count]
        row[TIME], row[NODE], row[MODE_BEFORE], row[MODE_AFTER] = now, k, old, new
        row[KIND], row[FORCE_N], row[SPEED_T] = kind, normal, slip
        written[0] = count + 1


@kernel
def remember(work: Matrix) -> None:
    """Copy the present velocities at the contacts into work[BEFORE]."""
    for k in range(work.shape[1]):
        work[BEFORE, k] = work[UN, k]
        work[BEFORE + 1, k], work[BEFORE + 2, k] = slip_at(k, work)
