"""One rod on a rigid plane: contact impulses of all nodes, impacts, modes.

Each node has one contact point, one radius below it. Its velocity is u = v + w x (-a n) =
v + a n x w, where w is the mean angular velocity of the two adjacent elements. The normal impulse
of a node changes no other node and no angular velocity, so the normal problem is explicit. With
these impulses given, friction is a convex problem; block Gauss-Seidel solves it, with the exact
local Coulomb problem at each node.

Symbols: n normal, b1, b2 tangents, a radius, P impulses (along n, b1, b2) [N s], x tangential
velocity of nodes [m/s], z = a n x w of elements [m/s], m = n x d3 with the third director d3 of an
element. Arrays r, q, v, p, mat are those of `rod_kernels`; p is the angular momentum over the
inertia J across the axis [1/s]. `free` is 1/mass of nodes and `turns` 1/J of elements, both 0 at a
support. An element of the table `Node` also holds the data of the rod element after the node; k is
its number, `plane` the element of `Plane`. Called by `plane.stepper_kernels`.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.rod_kernels import axis_of, material_of

Floats = npt.NDArray[np.float64]

# modes of a node
OPEN, ROLL, SLIP = 0, 1, 2
# reasons why the integration returned
DONE, EVENTS_FULL, NOT_FINITE, TOO_MANY_STEPS = range(4)

# codes that are passed to kernels as constants are real numbers, because Numba compiles a kernel
# again for each integer constant. Kinds of events:
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES = 0.0, 1.0, 2.0, 3.0, 4.0
# half kicks of a step of velocity Verlet: the second; the first with the impulses of the last step;
# the first with new impulses
SECOND_HALF, REPEATED_HALF, FIRST_HALF = 0.0, 1.0, 2.0

# chosen; a kick that needs more sweeps counts as unconverged
MOST_SWEEPS = 2000
# change of a sweep over the largest impulse: some fifty roundings
_CONVERGED = 1e-14
# roundoff of velocities, relative to the largest
_ROUNDING = 2e-15
# depth, in radii, that closes a node without an impact located in time. Chosen: far above the
# rounding of positions, far below any depth that matters
SHALLOW = 1e-7


class Node(Struct):
    """A node, and the element after it.

    mode : OPEN, ROLL or SLIP
    slips : 1 if the last impulse is on the bound of Coulomb's law
    held, arrives : 1 if the contact is in the active set; 1 if the node has an impact
    normal_velocity, gap : u . n [m/s]; distance of the surface from the plane [m]
    bound : mu times the normal impulse [N s]
    returned, tangential : coefficients of restitution of the normal and the tangential velocity in
        the present problem
    heat, last_heat, old_heat : friction heat now, at the end of the last step, and before a half
        kick that may be repeated [J]
    last_impact : time of the last impact [s]
    friction : Coulomb's coefficient mu
    before : contact velocity before the impulses, along n, b1, b2 [m/s]
    impulse, old_impulse : P along n, b1, b2; P before a half kick that may be repeated [N s]
    x : tangential velocity of the node along b1, b2 [m/s]
    z, m : of the element after the node: a n x w [m/s] and n x d3, along b1, b2
    g11, g12, g22 : G, slip velocity per tangential impulse [1/kg]
    bias : velocity added to the slip in the law, see `predict_slip` [m/s]
    force : mean force of the last step, along n, b1, b2 [N]
    """

    mode: int
    slips: int
    held: int
    arrives: int
    normal_velocity: float
    gap: float
    bound: float
    returned: float
    tangential: float
    heat: float
    last_heat: float
    old_heat: float
    last_impact: float
    friction: float
    before: Annotated[Vector, 3]
    impulse: Annotated[Vector, 3]
    old_impulse: Annotated[Vector, 3]
    x: Annotated[Vector, 2]
    z: Annotated[Vector, 2]
    m: Annotated[Vector, 2]
    g11: float
    g12: float
    g22: float
    bias: Annotated[Vector, 2]
    force: Annotated[Vector, 3]


Nodes = Table[Node]


class Plane(Struct):
    """Constants of the plane and of its contact law, in one element.

    radius, friction : radius of the rod [m]; largest coefficient of friction
    restitution, tangential_restitution : coefficients of normal and tangential velocity in an
        impact
    step : longest step [s]
    normal, tangents, origin : n; b1 and b2; a point of the plane [m]
    """

    radius: float
    friction: float
    restitution: float
    tangential_restitution: float
    step: float
    normal: Annotated[Vector, 3]
    tangents: Annotated[Matrix, 2, 3]
    origin: Annotated[Vector, 3]


class Tally(Struct):
    """Progress, energy accounting and extremes of a run, in one element.

    time, last : time [s]; length of the last drift, the motion between two half kicks [s]
    fresh, trial : 1 if impulses must be solved again; 1 for a trial kick much shorter than a step
    external, impact, algorithmic : work of loads, impact loss, numerical dissipation [J]
    sweeps, unconverged : largest number of sweeps; number of kicks that did not converge
    depth, shortest : least gap [m]; shortest step [s]
    excess, excess_time : largest friction force beyond mu times the normal force [N]; its time [s]
    normal_force : largest normal force [N]
    given, given_time : total of negative friction heat [J]; its first time [s]
    cost : largest numerical dissipation so far [J]
    """

    time: float
    last: float
    fresh: int
    trial: int
    external: float
    impact: float
    algorithmic: float
    sweeps: int
    unconverged: int
    depth: float
    shortest: float
    excess: float
    excess_time: float
    normal_force: float
    given: float
    given_time: float
    cost: float


class Event(Struct):
    """A mode change or impact at node number `node`, from 0.

    before, after, kind : modes; one of the kinds above
    normal : normal force [N]; in an impact the normal velocity before it [m/s]
    slip_speed : [m/s]
    """

    time: float
    node: int
    before: int
    after: int
    kind: float
    normal: float
    slip_speed: float


# loops instead of array expressions: they compile ten times faster


@kernel
def copy(to: Matrix, values: Matrix) -> None:
    """Set `to` to `values`."""
    for c in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[c, k] = values[c, k]


@kernel
def activate_closed(nodes: Nodes) -> None:
    """Set the active set to the nodes in contact."""
    for k in range(nodes.shape[0]):
        node = nodes[k]
        node.held = 0 if node.mode == OPEN else 1


@kernel
def contact_velocities(q: Matrix, v: Matrix, p: Matrix, plane: Plane, nodes: Nodes) -> None:
    """Set normal velocities, x of nodes and z of elements for velocities v, p."""
    a, size, n, b = plane.radius, nodes.shape[0], plane.normal, plane.tangents
    for k in range(size):
        node = nodes[k]
        node.normal_velocity = n[0] * v[0, k] + n[1] * v[1, k] + n[2] * v[2, k]
        for c in range(2):
            node.x[c] = b[c, 0] * v[0, k] + b[c, 1] * v[1, k] + b[c, 2] * v[2, k]
            node.z[c] = 0.0
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        # angular velocity w = p - (p . d3) d3 / 2
        half = 0.5 * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        wx, wy, wz = p[0, e] - half * ax, p[1, e] - half * ay, p[2, e] - half * az
        # b1, b2, n right-handed: n x b1 = b2
        nodes[e].z[0] = -a * (b[1, 0] * wx + b[1, 1] * wy + b[1, 2] * wz)
        nodes[e].z[1] = a * (b[0, 0] * wx + b[0, 1] * wy + b[0, 2] * wz)


@kernel
def slip_at(k: int, nodes: Nodes) -> tuple[float, float]:
    """Return the slip velocity of node k along both tangents."""
    x, z, before = nodes[k].x, nodes[k].z, nodes[max(k - 1, 0)].z
    if k == 0:
        return x[0] + z[0], x[1] + z[1]
    if k == nodes.shape[0] - 1:
        return x[0] + before[0], x[1] + before[1]
    return x[0] + 0.5 * (before[0] + z[0]), x[1] + 0.5 * (before[1] + z[1])


@kernel
def frame_weight(k: int, size: int) -> float:
    """Return the weight of an adjacent element in the angular velocity of node k."""
    return 1.0 if k == 0 or k == size - 1 else 0.5


@kernel
def assemble_mobility(q: Matrix, plane: Plane, mat: Floats, nodes: Nodes) -> None:
    """Set m = n x d3 of elements, and G, the slip velocity per tangential impulse of nodes.

    An element has inertia 2 J about its axis and J across it, hence the factors 1 - m m^T / 2.
    """
    a, size, b, rod = plane.radius, nodes.shape[0], plane.tangents, material_of(mat)
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        # n x d3 by components, as n x w in `contact_velocities`
        nodes[e].m[0] = -(b[1, 0] * ax + b[1, 1] * ay + b[1, 2] * az)
        nodes[e].m[1] = b[0, 0] * ax + b[0, 1] * ay + b[0, 2] * az
    for k in range(size):
        g11, g12, g22 = rod.free[k], 0.0, rod.free[k]
        # torque -a n x P on the adjacent elements; its axial part acts on twice the inertia
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            m1, m2 = nodes[e].m[0], nodes[e].m[1]
            arm = frame_weight(k, size) * a
            s = arm * arm * rod.turns[e]
            g11 += s * (1.0 - 0.5 * m1 * m1)
            g12 -= s * 0.5 * m1 * m2
            g22 += s * (1.0 - 0.5 * m2 * m2)
        node = nodes[k]
        node.g11, node.g12, node.g22 = g11, g12, g22


@kernel
def apply_tangential_impulse(
    k: int, dx: float, dy: float, plane: Plane, mat: Floats, nodes: Nodes
) -> None:
    """Apply the tangential impulse (dx, dy) [N s] to node k: update x and z."""
    a, size, x, rod = plane.radius, nodes.shape[0], nodes[k].x, material_of(mat)
    x[0] += rod.free[k] * dx
    x[1] += rod.free[k] * dy
    for e in range(max(k - 1, 0), min(k + 1, size - 1)):
        m, z = nodes[e].m, nodes[e].z
        m1, m2 = m[0], m[1]
        s = frame_weight(k, size) * a * a * rod.turns[e]
        # z changes by weight a^2 / J (1 - m m^T / 2) P, for both nodes of the element
        along = 0.5 * (m1 * dx + m2 * dy)
        z[0] += s * (dx - along * m1)
        z[1] += s * (dy - along * m2)


@kernel
def local_coulomb(
    g0: float,
    g1: float,
    g2: float,
    bx: float,
    by: float,
    bound: float,
) -> tuple[float, float, bool]:
    """Return the tangential impulse P (2 components) of Coulomb's law, and whether it slips.

    Stick: b + G P = 0 with |P| <= bound; slip: P opposite to b + G P with |P| = bound. b = (bx, by)
    is the slip velocity without P [m/s], G = [[g0, g1], [g1, g2]] is positive definite [1/kg]. In
    slip (G + alpha) P = -b, and 1/|P| is a concave function of alpha: Newton's method converges
    from alpha = 0 without a safeguard.
    """
    # the impulse that stops the slip
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
        slope = (h2 * px * px - 2.0 * g1 * px * py + h0 * py * py) / det
        # Newton's step for 1 / |P| = 1 / bound
        increment = (size - bound) * size * size / (bound * slope)
        alpha += increment
        # a few roundings of the largest term
        if abs(increment) <= 1e-15 * (alpha + g0 + g2):
            break
    scale = bound / size
    return px * scale, py * scale, True


@kernel
def warm_start(plane: Plane, mat: Floats, nodes: Nodes) -> None:
    """Apply the tangential impulses of the last solution, limited to the present bounds."""
    rod = material_of(mat)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        bound, impulse = node.bound, node.impulse
        # a node that is fixed with its elements has no mobility, hence no impulse
        couples = node.g11 * node.g22 > node.g12 * node.g12
        if node.held and bound > 0.0 and couples:
            p1, p2 = impulse[1], impulse[2]
            length = math.sqrt(p1 * p1 + p2 * p2)
            if length > bound:
                impulse[1] *= bound / length
                impulse[2] *= bound / length
            apply_tangential_impulse(k, impulse[1], impulse[2], plane, mat, nodes)
        else:
            impulse[1], impulse[2] = 0.0, 0.0
        # initial value, which remains if the bound is zero: the sweeps skip such a node, and it
        # slips
        node.slips = 1 if node.held and rod.free[k] > 0.0 else 0


@kernel
def solve_friction(plane: Plane, mat: Floats, nodes: Nodes) -> int:
    """Solve Coulomb's law at all active nodes; return the number of sweeps, < 0 if too many.

    Block Gauss-Seidel, alternately upwards and downwards, with the exact local problem at each
    node. The law acts on u + tangential * before + bias. On entry x and z are without impulses and
    P is the first iterate; on return x and z include P.
    """
    largest, speed, size = 0.0, 0.0, nodes.shape[0]
    # the scale of velocities, for their rounding
    for k in range(size):
        node = nodes[k]
        for c in range(2):
            before_speed = abs(node.before[1 + c])
            speed = max(speed, abs(node.x[c]), abs(node.z[c]), before_speed)
    warm_start(plane, mat, nodes)
    for sweep in range(MOST_SWEEPS):
        change = 0.0
        for j in range(size):
            # alternate directions: nodes couple with both neighbours, through the elements
            k = j if sweep % 2 == 0 else size - 1 - j
            node = nodes[k]
            bound, restitution = node.bound, node.tangential
            if not node.held or bound <= 0.0:
                continue
            g0, g1, g2 = node.g11, node.g12, node.g22
            if g0 * g2 <= g1 * g1:
                continue
            impulse, before, bias = node.impulse, node.before, node.bias
            ux, uy = slip_at(k, nodes)
            p1, p2 = impulse[1], impulse[2]
            # slip without this node's impulse, with restitution and bias
            bx = ux + restitution * before[1] + bias[0] - g0 * p1 - g1 * p2
            by = uy + restitution * before[2] + bias[1] - g1 * p1 - g2 * p2
            px, py, slip = local_coulomb(g0, g1, g2, bx, by, bound)
            dx, dy = px - p1, py - p2
            apply_tangential_impulse(k, dx, dy, plane, mat, nodes)
            impulse[1], impulse[2] = px, py
            node.slips = 1 if slip else 0
            # impulses as velocities, for comparison with their rounding
            largest = max(largest, g0 * abs(px) + g2 * abs(py))
            change = max(change, g0 * abs(dx) + g2 * abs(dy))
        if change <= _CONVERGED * largest + _ROUNDING * speed:
            return sweep + 1
    return -MOST_SWEEPS


@kernel
def apply_impulses(plane: Plane, mat: Floats, nodes: Nodes, v: Matrix, p: Matrix) -> None:
    """Apply the impulses P of all nodes to v and p."""
    a, size, rod = plane.radius, nodes.shape[0], material_of(mat)
    n, b = plane.normal, plane.tangents
    for k in range(size):
        impulse = nodes[k].impulse
        pn, p1, p2 = impulse[0], impulse[1], impulse[2]
        for i in range(3):
            push_i = n[i] * pn + b[0, i] * p1 + b[1, i] * p2
            v[i, k] += rod.free[k] * push_i
        for e in range(max(k - 1, 0), min(k + 1, size - 1)):
            s = frame_weight(k, size) * a * rod.turns[e]
            # torque -a n x P
            for i in range(3):
                p[i, e] += s * (b[0, i] * p2 - b[1, i] * p1)


@kernel
def solve_impulses(
    q: Matrix, v: Matrix, p: Matrix, plane: Plane, mat: Floats, nodes: Nodes, no_slip: float
) -> int:
    """Solve and apply the impulses of active nodes; return the number of sweeps.

    The normal problem is explicit: P_n = max(0, -(u_n + e u_n before) m), with node mass m and
    coefficient of restitution e, because no normal impulse changes another node. Friction follows
    with the bounds mu P_n.

    On entry v and p are without impulses; on return v, p, normal velocities, x and z include them.
    `no_slip` is 1 if active nodes cannot slip even without a normal impulse.
    """
    rod = material_of(mat)
    contact_velocities(q, v, p, plane, nodes)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        free, pn = rod.free[k], 0.0
        if node.held and free > 0.0:
            # normal first: friction needs its bound, and does not change it
            pn = max(0.0, -(node.normal_velocity + node.returned * node.before[0]) / free)
            node.normal_velocity += free * pn
        node.impulse[0] = pn
        node.bound = node.friction * pn if pn > 0.0 else 0.0
        if no_slip > 0.0 and node.held:
            node.bound = math.inf
    sweeps = solve_friction(plane, mat, nodes)
    apply_impulses(plane, mat, nodes, v, p)
    return sweeps


@kernel
def contact_work(nodes: Nodes, half: float) -> float:
    """Add friction heat of the nodes; return the remaining energy loss of the impulses [J].

    Heat is minus impulse times slip velocity at that end of the half kick at which positions and
    velocities belong to the same time. It is not negative if Coulomb's law holds there. The
    remainder cancels between two half kicks with the same impulses. A first half kick with new
    impulses that decelerates the slip counts all of its tangential work as heat; the normal work
    stays in the remainder.

    half : SECOND_HALF, REPEATED_HALF or FIRST_HALF
    """
    remainder = 0.0
    for k in range(nodes.shape[0]):
        node = nodes[k]
        ux, uy = slip_at(k, nodes)
        bn, b1, b2 = node.before[0], node.before[1], node.before[2]
        pn, p1, p2 = node.impulse[0], node.impulse[1], node.impulse[2]
        # work of the impulses by the mean of the velocities before and after
        work = 0.5 * pn * (bn + node.normal_velocity)
        work += 0.5 * (p1 * (b1 + ux) + p2 * (b2 + uy))
        power = p1 * ux + p2 * uy
        # velocities of saved times are those before a first half kick, and after a second one
        if half != SECOND_HALF:
            decelerates = b1 * b1 + b2 * b2 > ux * ux + uy * uy
            power = p1 * b1 + p2 * b2
            if half == FIRST_HALF and decelerates:
                power = 0.5 * (power + p1 * ux + p2 * uy)
        heat = max(0.0, -power)
        # the law holds at this end: heat below zero is work of friction, see `record_extremes`
        if half == SECOND_HALF and node.slips == 1:
            heat = -power
        node.heat += heat
        remainder -= work + heat
    return remainder


@kernel
def predict_slip(q: Matrix, p: Matrix, plane: Plane, duration: float, nodes: Nodes) -> None:
    """Set the bias to the change of slip in a free motion of a duration [s], with constant p."""
    a, size, b = plane.radius, nodes.shape[0], plane.tangents
    clear_bias(nodes)
    for e in range(size - 1):
        ax, ay, az = axis_of(q, e)
        along = -0.5 * duration * (p[0, e] * ax + p[1, e] * ay + p[2, e] * az)
        # rate of a free rotor, w' = -(p . d3) / 2 (p x d3), times the duration
        dx = along * (p[1, e] * az - p[2, e] * ay)
        dy = along * (p[2, e] * ax - p[0, e] * az)
        dz = along * (p[0, e] * ay - p[1, e] * ax)
        # a n x w' by components, as in `contact_velocities`
        z0 = -a * (b[1, 0] * dx + b[1, 1] * dy + b[1, 2] * dz)
        z1 = a * (b[0, 0] * dx + b[0, 1] * dy + b[0, 2] * dz)
        for k in range(e, e + 2):
            bias = nodes[k].bias
            bias[0] += frame_weight(k, size) * z0
            bias[1] += frame_weight(k, size) * z1


@kernel
def clear_bias(nodes: Nodes) -> None:
    """Set the bias to zero: the law holds for the slip velocity itself."""
    for k in range(nodes.shape[0]):
        nodes[k].bias[0], nodes[k].bias[1] = 0.0, 0.0


@kernel
def scale_impulses(nodes: Nodes, factor: float) -> None:
    """Multiply all impulses by a factor."""
    for k in range(nodes.shape[0]):
        for c in range(3):
            nodes[k].impulse[c] *= factor


@kernel
def gaps(r: Matrix, plane: Plane, nodes: Nodes) -> None:
    """Set the gaps of all nodes [m]."""
    for k in range(nodes.shape[0]):
        g = -plane.radius
        for i in range(3):
            g += plane.normal[i] * (r[i, k] - plane.origin[i])
        nodes[k].gap = g


@kernel
def log_event(
    events: Table[Event],
    written: Integers,
    now: float,
    k: int,
    old: int,
    new: int,
    kind: float,
    normal: float,
    slip: float,
) -> None:
    """Log one event if the buffer has room."""
    count = written[0]
    if count < events.shape[0]:
        event = events[count]
        event.time, event.node, event.before, event.after = now, k, old, new
        event.kind, event.normal, event.slip_speed = kind, normal, slip
        written[0] = count + 1


@kernel
def store_velocities(nodes: Nodes) -> None:
    """Store contact velocities as those before the impulses."""
    for k in range(nodes.shape[0]):
        node = nodes[k]
        before = node.before
        before[0] = node.normal_velocity
        before[1], before[2] = slip_at(k, nodes)
