"""One rod on a rigid plane: impulses of all touching nodes, impacts, and the march.

Every node can touch at one point, one radius below it. Its surface moves there with
u = v + a n x w, w the mean of the frames beside the node. Normal impulses meet in no other node
and turn no frame, so that they are known at once; with them given, friction is a convex problem
that block Gauss-Seidel solves, with the exact solution of Coulomb's law at each node.

Symbols: n normal, b tangents (rows of `basis`), a radius, P impulses (normal, two tangents),
x slip of nodes without the frames' part, z = a n x w of elements.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.rods.rod_kernels import FREE, INERTIA, MASS, TURNS, axis_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

OPEN, ROLL, SLIP = 0, 1, 2
# why the march paused
DONE, EVENTS_FULL, NOT_FINITE, TOO_MANY_STEPS = range(4)
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES = range(5)
# time, node, mode before, after, kind, normal, slip
EVENT_COLUMNS = 7
EXTERNAL, IMPACT, ALGORITHMIC = range(3)
# entries of clock: time, length of the last drift, whether impulses must be found afresh
NOW, LAST, FRESH = range(3)
# entries of worst: sweeps, kicks that did not converge, deepest gap, shortest step
SWEEPS, STUCK, DEPTH, SHORTEST = range(4)
# halves of a step: its end, its start with the impulses of the end before, its start alone
END, AGAIN, ALONE = range(3)

MOST_SWEEPS = 2000
_CONVERGED = 1e-14
# velocities are known to this part of the largest
_ROUNDING = 2e-15
# depth, in radii, that closes a node without an impact located in time
SHALLOW = 1e-7


# loops instead of array expressions: they compile ten times faster


@kernel
def put(to: Floats, values: Floats, factor: float) -> Any:
    """Copy `values` times `factor`, both two-dimensional."""
    for c in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[c, k] = factor * values[c, k]


@kernel
def put_row(to: Floats, values: Floats) -> Any:
    """Copy a row of values."""
    for k in range(to.shape[0]):
        to[k] = values[k]


@kernel
def fill(to: Floats, value: float) -> Any:
    """Fill a row."""
    for k in range(to.shape[0]):
        to[k] = value


@kernel
def touching(modes: Ints) -> Any:
    """Return which nodes touch."""
    found = np.empty(modes.shape[0], np.bool_)
    for k in range(modes.shape[0]):
        found[k] = modes[k] != OPEN
    return found


@kernel
def slips(
    q: Floats,
    v: Floats,
    p: Floats,
    basis: Floats,
    a: float,
    size: int,
    un: Floats,
    x: Floats,
    z: Floats,
) -> Any:
    """Put normal velocities into un (nodes), tangential parts into x (2, nodes), z (2, slots)."""
    for k in range(size):
        un[k] = basis[0, 0] * v[0, k] + basis[0, 1] * v[1, k] + basis[0, 2] * v[2, k]
        for c in range(2):
            b = basis[c + 1]
            x[c, k] = b[0] * v[0, k] + b[1] * v[1, k] + b[2] * v[2, k]
            z[c, k] = 0.0
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        half = 0.5 * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        wx, wy, wz = p[0, e] - half * ax, p[1, e] - half * ay, p[2, e] - half * az
        # b1, b2, n right-handed: n x b1 = b2
        z[0, e] = -a * (basis[2, 0] * wx + basis[2, 1] * wy + basis[2, 2] * wz)
        z[1, e] = a * (basis[1, 0] * wx + basis[1, 1] * wy + basis[1, 2] * wz)


@kernel
def slip_at(
    k: int,
    size: int,
    x: Floats,
    z: Floats,
) -> Any:
    """Return the slip velocity of node k along both tangents."""
    if k == 0:
        return x[0, 0] + z[0, 0], x[1, 0] + z[1, 0]
    if k == size - 1:
        return x[0, k] + z[0, k - 1], x[1, k] + z[1, k - 1]
    return x[0, k] + 0.5 * (z[0, k - 1] + z[0, k]), x[1, k] + 0.5 * (z[1, k - 1] + z[1, k])


@kernel
def weight(
    k: int,
    e: int,
    size: int,
) -> Any:
    """Return the share of element e in the angular velocity of node k."""
    return 1.0 if k == 0 or k == size - 1 else 0.5


@kernel
def turn_table(
    q: Floats,
    basis: Floats,
    a: float,
    mat: Floats,
    size: int,
    m: Floats,
    gram: Floats,
) -> Any:
    """Fill m (2, slots), n x d3 along the tangents, and gram (3, nodes), 2x2 slip per impulse."""
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        m[0, e] = -(basis[2, 0] * ax + basis[2, 1] * ay + basis[2, 2] * az)
        m[1, e] = basis[1, 0] * ax + basis[1, 1] * ay + basis[1, 2] * az
    for k in range(size):
        gram[0, k] = mat[FREE, k]
        gram[1, k] = 0.0
        gram[2, k] = mat[FREE, k]
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            s = (weight(k, e, size) * a) ** 2 * mat[TURNS, e]
            gram[0, k] += s * (1.0 - 0.5 * m[0, e] * m[0, e])
            gram[1, k] -= s * 0.5 * m[0, e] * m[1, e]
            gram[2, k] += s * (1.0 - 0.5 * m[1, e] * m[1, e])


@kernel
def push(
    k: int,
    dx: float,
    dy: float,
    size: int,
    a: float,
    mat: Floats,
    m: Floats,
    x: Floats,
    z: Floats,
) -> Any:
    """Let a tangential impulse act on node k: change x and z."""
    x[0, k] += mat[FREE, k] * dx
    x[1, k] += mat[FREE, k] * dy
    for e in range(max(k - 1, 0), min(k + 1, size - 1)):
        s = weight(k, e, size) * a * a * mat[TURNS, e]
        along = 0.5 * (m[0, e] * dx + m[1, e] * dy)
        z[0, e] += s * (dx - along * m[0, e])
        z[1, e] += s * (dy - along * m[1, e])


@kernel
def coulomb(
    g0: float,
    g1: float,
    g2: float,
    bx: float,
    by: float,
    bound: float,
) -> Any:
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
def friction(
    size: int,
    a: float,
    mat: Floats,
    m: Floats,
    gram: Floats,
    hold: Flags,
    bound: Floats,
    kept: Floats,
    bias: Floats,
    before: Floats,
    P: Floats,
    x: Floats,
    z: Floats,
    branch: Ints,
) -> Any:
    """Find tangential impulses of the held nodes; return the sweeps, negative if too many.

    The law acts on u + kept * before + bias. x, z come in without, and leave with, impulses;
    P[1:3] come in as a first guess. branch is 1 where a node slips.
    """
    largest, speed = 0.0, 0.0
    for k in range(size):
        for c in range(2):
            speed = max(speed, abs(x[c, k]), abs(z[c, k]), abs(before[c, k]))
    for k in range(size):
        if hold[k] and bound[k] > 0.0 and gram[0, k] * gram[2, k] > gram[1, k] ** 2:
            length = math.sqrt(P[1, k] ** 2 + P[2, k] ** 2)
            if length > bound[k]:
                P[1, k] *= bound[k] / length
                P[2, k] *= bound[k] / length
            push(k, P[1, k], P[2, k], size, a, mat, m, x, z)
        else:
            P[1, k] = 0.0
            P[2, k] = 0.0
        branch[k] = 1 if hold[k] and mat[FREE, k] > 0.0 else 0
    for sweep in range(MOST_SWEEPS):
        change = 0.0
        for j in range(size):
            k = j if sweep % 2 == 0 else size - 1 - j
            if not hold[k] or bound[k] <= 0.0:
                continue
            g0, g1, g2 = gram[0, k], gram[1, k], gram[2, k]
            if g0 * g2 <= g1 * g1:
                continue
            ux, uy = slip_at(k, size, x, z)
            bx = ux + kept[k] * before[0, k] + bias[0, k] - g0 * P[1, k] - g1 * P[2, k]
            by = uy + kept[k] * before[1, k] + bias[1, k] - g1 * P[1, k] - g2 * P[2, k]
            px, py, slid = coulomb(g0, g1, g2, bx, by, bound[k])
            dx, dy = px - P[1, k], py - P[2, k]
            push(k, dx, dy, size, a, mat, m, x, z)
            P[1, k] = px
            P[2, k] = py
            branch[k] = 1 if slid else 0
            largest = max(largest, g0 * abs(px) + g2 * abs(py))
            change = max(change, g0 * abs(dx) + g2 * abs(dy))
        if change <= _CONVERGED * largest + _ROUNDING * speed:
            return sweep + 1
    return -MOST_SWEEPS


@kernel
def act(
    size: int,
    basis: Floats,
    a: float,
    mat: Floats,
    P: Floats,
    v: Floats,
    p: Floats,
) -> Any:
    """Let impulses P act on velocities and spins."""
    for k in range(size):
        for i in range(3):
            push_i = basis[0, i] * P[0, k] + basis[1, i] * P[1, k] + basis[2, i] * P[2, k]
            v[i, k] += mat[FREE, k] * push_i
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            s = weight(k, e, size) * a * mat[TURNS, e]
            # torque -a n x P
            for i in range(3):
                p[i, e] += s * (basis[1, i] * P[2, k] - basis[2, i] * P[1, k])


@kernel
def impulses(
    q: Floats,
    v: Floats,
    p: Floats,
    basis: Floats,
    a: float,
    mat: Floats,
    hold: Flags,
    back: Floats,
    kept: Floats,
    bias: Floats,
    mu: Floats,
    grip: float,
    before: Floats,
    P: Floats,
    un: Floats,
    x: Floats,
    z: Floats,
    m: Floats,
    gram: Floats,
    bound: Floats,
    branch: Ints,
) -> Any:
    """Find and apply the impulses of held nodes; return the sweeps.

    In: v, p without impulses; `before` (3, nodes) normal and tangential velocities before, `back`
    (nodes) the part of the normal one that returns, `grip` whether held nodes cannot slip even
    without a normal impulse. Out: un, x, z belong to the new velocities.
    """
    size = un.shape[0]
    slips(q, v, p, basis, a, size, un, x, z)
    for k in range(size):
        P[0, k] = 0.0
        if hold[k] and mat[FREE, k] > 0.0:
            P[0, k] = max(0.0, -(un[k] + back[k] * before[0, k]) / mat[FREE, k])
            un[k] += mat[FREE, k] * P[0, k]
        bound[k] = mu[k] * P[0, k] if P[0, k] > 0.0 else 0.0
        if grip > 0.0 and hold[k]:
            bound[k] = math.inf
    sweeps = friction(size, a, mat, m, gram, hold, bound, kept, bias, before[1:3], P, x, z, branch)
    act(size, basis, a, mat, P, v, p)
    return sweeps


@kernel
def contact_work(
    size: int,
    P: Floats,
    before: Floats,
    un: Floats,
    x: Floats,
    z: Floats,
    half: int,
    heat: Floats,
) -> Any:
    """Add friction heat to `heat`; return the remaining energy that the impulses took out.

    Heat is impulse times slip at the synchronous end of the half kick, which for a law obeyed
    there is never negative. What is left cancels between two halves with the same impulses; a
    half that stands alone and slows the slip counts all of its work.
    """
    rest = 0.0
    for k in range(size):
        ux, uy = slip_at(k, size, x, z)
        work = 0.5 * P[0, k] * (before[0, k] + un[k])
        work += 0.5 * (P[1, k] * (before[1, k] + ux) + P[2, k] * (before[2, k] + uy))
        there = P[1, k] * ux + P[2, k] * uy
        if half != END:
            slower = before[1, k] ** 2 + before[2, k] ** 2 > ux * ux + uy * uy
            there = P[1, k] * before[1, k] + P[2, k] * before[2, k]
            if half == ALONE and slower:
                there = 0.5 * (there + P[1, k] * ux + P[2, k] * uy)
        lost = max(0.0, -there)
        heat[k] += lost
        rest -= work + lost
    return rest


@kernel
def drifting_slip(
    q: Floats,
    p: Floats,
    basis: Floats,
    a: float,
    size: int,
    w: float,
    bias: Floats,
) -> Any:
    """Put w times the rate of slip during free motion into bias: frames turn, p stays."""
    for c in range(2):
        for k in range(size):
            bias[c, k] = 0.0
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        along = -0.5 * w * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        dx = along * (p[1, e] * az - p[2, e] * ay)
        dy = along * (p[2, e] * ax - p[0, e] * az)
        dz = along * (p[0, e] * ay - p[1, e] * ax)
        z0 = -a * (basis[2, 0] * dx + basis[2, 1] * dy + basis[2, 2] * dz)
        z1 = a * (basis[1, 0] * dx + basis[1, 1] * dy + basis[1, 2] * dz)
        for k in range(e, e + 2):
            bias[0, k] += weight(k, e, size) * z0
            bias[1, k] += weight(k, e, size) * z1


@kernel
def gaps(
    r: Floats,
    basis: Floats,
    origin: Floats,
    a: float,
    size: int,
    g: Floats,
) -> Any:
    """Put gaps of all nodes into g."""
    for k in range(size):
        g[k] = -a
        for i in range(3):
            g[k] += basis[0, i] * (r[i, k] - origin[i])


@kernel
def quadratic(
    q: Floats,
    v: Floats,
    p: Floats,
    mat: Floats,
) -> Any:
    """Return the kinetic energy [J]."""
    total = 0.0
    for i in range(v.shape[1]):
        ax, ay, az = axis_of(q, i)
        along = p[0, i] * ax + p[1, i] * ay + p[2, i] * az
        spin2 = p[0, i] ** 2 + p[1, i] ** 2 + p[2, i] ** 2 - 0.5 * along * along
        speed2 = v[0, i] ** 2 + v[1, i] ** 2 + v[2, i] ** 2
        total += 0.5 * (mat[MASS, i] * speed2 + mat[INERTIA, i] * spin2)
    return total


@kernel
def note(
    events: Floats,
    count: int,
    now: float,
    k: int,
    old: int,
    new: int,
    kind: int,
    normal: float,
    slip: float,
) -> Any:
    """Write one event; return the new count."""
    if count < events.shape[0]:
        row = events[count]
        row[0], row[1], row[2], row[3] = now, k, old, new
        row[4], row[5], row[6] = kind, normal, slip
        count += 1
    return count


@kernel
def remember(
    size: int,
    un: Floats,
    x: Floats,
    z: Floats,
    before: Floats,
) -> Any:
    """Copy the present velocities at the contacts into before."""
    for k in range(size):
        before[0, k] = un[k]
        before[1, k], before[2, k] = slip_at(k, size, x, z)
