"""Assembly: converts rods and rigid partners to the flat arrays of the kernels.

All rods stand one after another in arrays (component, slot). A slot belongs to one node and to the
element from it to the next node. r (3, slots) are positions of nodes [m], q (4, slots) quaternions
of elements, v (3, slots) velocities [m/s], p (3, slots) angular momenta of elements over their
inertia about a diameter [1/s] (`rod_kernels`). Nodes have lumped masses; joints between elements
carry bending and twist. `leapfrog.run` and `plane.run` call `assemble` once, at the start of a run.

Source: docs/theory/rods, "Clamps" (lengths of joints, masses of nodes); docs/decisions/11.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Table
from stiction.rods.contact.curve.kernels import FITTED, SPLINE
from stiction.rods.contact.kernels import CURVE, PLANE, SPHERE
from stiction.rods.contact.partners import (
    CylinderPartner,
    PlanePartner,
    RodPartner,
    SpherePartner,
)
from stiction.rods.driving_kernels import Drive, Load
from stiction.rods.model import Rods
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Driven,
    Free,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    RodEnd,
    Turned,
)
from stiction.rods.rod_kernels import (
    DRAG_ROWS,
    MATERIAL_ROWS,
    Drag,
    Material,
    drag_of,
    joint_angle,
    material_of,
)

__all__ = [
    "Flat",
    "assemble",
    "clamp_frame",
    "end_distances",
    "end_lengths",
    "first_frames",
    "third_directors",
    "tributary_lengths",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# corrections of trapezoidal weights, from the end inwards, in elements: of joint lengths at a
# clamp, and of node masses at the free end of a supported rod. Their first moment 1/18 removes two
# thirds of the error h^2/12 times the slope at the end; their moments of order 0 and 2 are zero, so
# there is no error of third order
_OF_MOMENT_ONE = np.array([-1.5, 2.0, -0.5])
END_WEIGHTS = _OF_MOMENT_ONE / 18.0


@dataclass(frozen=True, eq=False)
class Flat:
    """All rods and rigid partners in flat arrays, one slot per node; see `rod_kernels`.

    A rod with a clamped section at its start has an additional slot before its first, for the frame
    of the clamp. The frame of a clamp at its end is in the slot of its last node, which has no
    element.

    Parameters
    ----------
    first, count : (bodies,) first slot and number of elements of each body: rods, then partners
    shape : (bodies,) CURVE, SPHERE or PLANE of `contact.kernels`
    rule : rule of the contact curves, SPLINE or FITTED of `contact.curve.kernels`
    nodes : (nodes,) slots of the nodes of rods, in order
    partners : number of rigid partners among the bodies
    ds, radius : (bodies,) rest length of an element and radius [m]
    r, q : (3, slots) positions [m], (4, slots) quaternions of the frames
    v, p : (3, slots) velocities [m/s], angular momenta in space over the inertia about a diameter
        [1/s]
    mat, drag : (14, slots), (3, slots) tables; `material` and `drags` name their rows
    constant : (3, slots) constant dead forces, gravity included [N]
    loads, times, factors : dead loads with a history, see `driving_kernels.add_loads`
    driven : slots with prescribed motion, see `driving_kernels.follow_clamps`
    """

    first: Ints
    count: Ints
    shape: Ints
    rule: int
    nodes: Ints
    partners: int
    ds: Floats
    radius: Floats
    r: Floats
    q: Floats
    v: Floats
    p: Floats
    mat: Floats
    drag: Floats
    constant: Floats
    loads: Table[Load]
    times: Floats
    factors: Floats
    driven: Table[Drive]

    @property
    def rods(self) -> int:
        """Number of rods among the bodies; partners come after them."""
        return len(self.first) - self.partners

    @functools.cached_property
    def material(self) -> Material:
        """Named rows of `mat`."""
        return material_of(self.mat)

    @functools.cached_property
    def drags(self) -> Drag:
        """Named rows of `drag`."""
        return drag_of(self.drag)

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """Whether there is drag, whether internal damping, whether any load."""
        loaded = bool(self.loads.size) or bool(np.any(self.constant))
        drags = self.drags
        damped = bool(np.any(drags.node)) or bool(np.any(drags.element))
        return damped, bool(np.any(drags.retardation)), loaded

    def mobility(self, step: float) -> Floats:
        """Return (3, slots) mobilities: velocity per impulse, with implicit drag over a step [s].

        Rows: of nodes [1/kg]; of elements across, and along their axis [1/(kg m^2)].
        """
        free, turns = self.material.free.copy(), self.material.turns
        # contacts act on a sliding node as on a clamp: it has no mobility
        free[self.driven["slot"][self.driven["slides"] == 1]] = 0.0
        lag = drag_of(0.5 * step * self.drag)
        return np.array(
            [
                free / (1.0 + lag.node * free),
                turns / (1.0 + lag.element * turns),
                0.5 * turns / (1.0 + 0.5 * lag.element * turns),
            ]
        )


def assemble(rods: Rods) -> Flat:
    """Return the flat arrays of all rods at the start.

    Raises
    ------
    ModelError : if a rod has two bending stiffnesses, or a rod with contacts is not round.
    """
    rods.check_sections()
    # slots: nodes of each rod, one before a clamped start, the points of partners after all rods
    counts = np.array([rod.elements for rod in rods.rods], dtype=np.int64)
    clamp_slots = np.array([supports_section(rod.left) for rod in rods.rods], dtype=np.int64)
    first = (
        np.concatenate([[0], np.cumsum(counts + 1 + clamp_slots)[:-1]]).astype(np.int64)
        + clamp_slots
    )
    # loops over joints omit the last slot of all
    slots = int(np.sum(counts + 1 + clamp_slots)) + int(supports_section(rods.rods[-1].right))
    bodies = [partner.points for partner in rods.partners]
    partner_counts = np.array([len(points) for points in bodies], dtype=np.int64)
    partner_first = (slots + np.cumsum(partner_counts) - partner_counts).astype(np.int64)
    slots += int(partner_counts.sum())
    rod_slots = zip(first, counts, strict=True)
    flat = Flat(
        first=np.concatenate([first, partner_first]),
        count=np.concatenate([counts, partner_counts - 1]),
        shape=np.array([0] * len(counts) + [_shape(p) for p in rods.partners], dtype=np.int64),
        rule=FITTED if rods.contact_curve == "fitted" else SPLINE,
        partners=len(bodies),
        nodes=np.concatenate([np.arange(i, i + n + 1) for i, n in rod_slots]),
        ds=np.array([rod.rest_length / rod.elements for rod in rods.rods] + _spacings(bodies)),
        radius=np.array(
            [rod.section.radius for rod in rods.rods]
            + [getattr(partner, "radius", 0.0) for partner in rods.partners]
        ),
        r=np.zeros((3, slots)),
        q=np.vstack([np.ones((1, slots)), np.zeros((3, slots))]),
        v=np.zeros((3, slots)),
        p=np.zeros((3, slots)),
        mat=np.zeros((MATERIAL_ROWS, slots)),
        drag=np.zeros((DRAG_ROWS, slots)),
        constant=np.zeros((3, slots)),
        loads=Load.table(0),
        times=np.zeros(0),
        factors=np.zeros(0),
        driven=Drive.table(0),
    )
    flat.material.inverse_length[:] = 1.0
    # then the entries of each rod: state, material, supports, loads, weight
    loads: list[Load] = []
    driven: list[Drive] = []
    history: tuple[list[float], list[float]] = ([], [])
    for b, rod in enumerate(rods.rods):
        start = int(first[b])
        _place(flat, rod, start)
        _stiffen(flat, rod, start)
        for end, at_start in ((rod.left, True), (rod.right, False)):
            driven += _hold(flat, rod, start, end, at_start, history)
        loads += _load(flat, rod, start, history)
        span = slice(start, start + rod.elements + 1)
        flat.constant[:, span] += np.outer(rods.gravity, flat.material.mass[span])
    for partner, points, start in zip(rods.partners, bodies, partner_first.tolist(), strict=True):
        driven += _place_partner(flat, partner, points, start)
    # drag has no effect where velocities are prescribed
    flat.drags.node[flat.material.free == 0.0] = 0.0
    flat.drags.element[flat.material.turns == 0.0] = 0.0
    return Flat(
        **{
            **{name: getattr(flat, name) for name in flat.__dataclass_fields__},
            "loads": Load.stacked(loads),
            "times": np.array(history[0]),
            "factors": np.array(history[1]),
            "driven": Drive.stacked(driven),
        }
    )


def _shape(partner: RodPartner) -> int:
    """Return CURVE, SPHERE or PLANE."""
    if isinstance(partner, PlanePartner):
        return PLANE
    return SPHERE if isinstance(partner, SpherePartner) else CURVE


def _spacings(bodies: list[Floats]) -> list[float]:
    """Return the spacing of the points of each partner [m]; 1 for a sphere."""
    lengths = [float(np.linalg.norm(points[1] - points[0])) for points in bodies]
    return [ds if ds > 0.0 else 1.0 for ds in lengths]


def _place_partner(flat: Flat, partner: RodPartner, points: Floats, start: int) -> list[Drive]:
    """Set the slots of a partner, which have no mass or stiffness; return their motion."""
    part = slice(start, start + len(points))
    flat.r[:, part] = points.T
    if isinstance(partner, CylinderPartner):
        flat.q[:, part] = first_frames(points, None)[:, :1]
    if not partner.moves:
        return []
    rows = []
    for slot in range(start, start + len(points)):
        for first in (flat.r[:, slot], flat.q[:, slot]):
            drive = Drive.table()[0]
            drive.slot, drive.is_frame, drive.rise = slot, int(first.size == 4), partner.rise
            drive.origin, drive.velocity = points[0], np.asarray(partner.velocity)
            drive.spin, drive.start[: first.size] = np.asarray(partner.angular_velocity), first
            rows.append(drive)
    if partner.rise == 0.0:
        spin = np.asarray(partner.angular_velocity)
        flat.v[:, part] = (partner.velocity + np.cross(spin, points - points[0])).T
        axis = third_directors(flat.q[:, part])
        flat.p[:, part] = spin[:, None] + (spin @ axis) * axis
    return rows


def third_directors(q: Floats) -> Floats:
    """Return (3, n) third directors of the frames with quaternions q (4, n)."""
    w, x, y, z = q
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def first_frames(nodes: Floats, hint: Floats | None) -> Floats:
    """Return (4, n) quaternions with the third director along each segment, without twist.

    Parameters
    ----------
    nodes : (n + 1, 3) [m]
    hint : first director of the first frame, projected normal to the segment; None chooses one
    """
    along = np.diff(nodes, axis=0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    helper = np.eye(3)[int(np.argmin(np.abs(along[0])))] if hint is None else np.asarray(hint)
    d1 = helper - (helper @ along[0]) * along[0]
    frames = np.empty((4, len(along)))
    for e, d3 in enumerate(along):
        if e > 0:
            # parallel transport of the first director: a frame without twist (Bishop)
            d1 = _carried(along[e - 1], d3, d1)
        d1 = d1 - (d1 @ d3) * d3
        d1 /= np.linalg.norm(d1)
        frames[:, e] = _quaternion(np.column_stack([d1, _cross(d3, d1), d3]))
        if e > 0 and frames[:, e] @ frames[:, e - 1] < 0.0:
            frames[:, e] *= -1.0
    return frames


def _carried(before: Floats, after: Floats, vector: Floats) -> Floats:
    """Return `vector` rotated by the smallest rotation from `before` to `after`, unit vectors."""
    axis = _cross(before, after)
    along, turned = 1.0 + before @ after, _cross(axis, vector)
    return np.asarray(vector + turned + _cross(axis, turned) / along)


def _cross(a: Floats, b: Floats) -> Floats:
    """Return the cross product of two vectors; NumPy takes ten times as long for single ones."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def _quaternion(matrix: Floats) -> Floats:
    """Return the unit quaternion of a rotation matrix."""
    # 4 q_k^2 - 1 of the four components; the largest one is the divisor (Shepperd 1978)
    outer = np.array(
        [
            matrix[0, 0] + matrix[1, 1] + matrix[2, 2],
            matrix[0, 0] - matrix[1, 1] - matrix[2, 2],
            matrix[1, 1] - matrix[0, 0] - matrix[2, 2],
            matrix[2, 2] - matrix[0, 0] - matrix[1, 1],
        ]
    )
    k = int(np.argmax(outer))
    big = 0.5 * np.sqrt(1.0 + outer[k])
    skew = matrix - matrix.T
    sums = matrix + matrix.T
    if k == 0:
        vector = np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / (4.0 * big)
        return np.array([big, *vector])
    a, b, c = (k - 1, k % 3, (k + 1) % 3)
    q = np.empty(4)
    q[0] = skew[c, b] / (4.0 * big)
    q[1 + a], q[1 + b], q[1 + c] = big, sums[a, b] / (4.0 * big), sums[a, c] / (4.0 * big)
    return q


def _place(flat: Flat, rod: CosseratRod, start: int) -> None:
    """Set initial positions, frames and velocities of a rod whose first slot is `start`."""
    n = rod.elements
    nodes = rod.nodes()
    hint = None if rod.first_director is None else np.asarray(rod.first_director)
    frames = first_frames(nodes, hint)
    flat.r[:, start : start + n + 1] = nodes.T
    flat.q[:, start : start + n] = frames
    axis = third_directors(frames).T
    spin = np.zeros((n, 3))
    for part in rod.motion:
        flat.v[:, start : start + n + 1] += part.velocity_at(nodes).T
        spin += part.spin_at(nodes, axis)
    # p is angular momentum over the inertia about a diameter; that about the axis is twice it
    flat.p[:, start : start + n] = (spin + (spin * axis).sum(axis=1)[:, None] * axis).T


def _stiffen(flat: Flat, rod: CosseratRod, start: int) -> None:
    """Set stiffness, mass and damping of a rod whose first slot is `start`."""
    n, section = rod.elements, rod.section
    ds = rod.rest_length / n
    elements, nodes = slice(start, start + n), slice(start, start + n + 1)
    weights = tributary_lengths(rod)
    rows, drags = flat.material, flat.drags
    rows.length[elements], rows.inverse_length[elements] = ds, 1.0 / ds
    rows.shear[elements], rows.axial[elements] = section.shear_stiffness, section.axial_stiffness
    # a node with joint length zero has no joint: stiffness zero
    lengths = end_lengths(rod)
    joints = np.arange(n + 1)[lengths > 0.0]
    rows.bend[start + joints] = section.bending_stiffness / (ds * lengths[joints])
    rows.bend2[start + joints] = section.second_bending_stiffness / (ds * lengths[joints])
    rows.twist[start + joints] = section.twist_stiffness / (ds * lengths[joints])
    for end, slot, inner, other in (
        (rod.left, start - 1, start, start + 1),
        (rod.right, start + n, start + n - 1, start + n - 2),
    ):
        if supports_section(end):
            flat.q[:, slot] = clamp_frame(flat.q[:, inner], flat.q[:, other])
            # the slot of the clamp has no element, but kernels divide by its length
            rows.length[slot], rows.inverse_length[slot] = ds, 1.0 / ds
    if supports_section(rod.left):
        flat.r[:, start - 1] = 2.0 * flat.r[:, start] - flat.r[:, start + 1]
    if supports_section(rod.right) and start + n + 2 == flat.r.shape[1]:
        flat.r[:, start + n + 1] = flat.r[:, start + n]
    if rod.natural_curvature is None:
        for i in start + joints:
            rows.angle[:, i] = joint_angle(flat.q, i)
    else:
        turns = np.outer(rod.natural_curvature, ds * end_distances(rod)[joints])
        rows.angle[:, start + joints] = turns
    # the weights add up to the number of elements: the mass of the rod is exact
    rows.mass[nodes] = section.line_density * ds * weights
    rows.inertia[elements] = section.line_inertia * ds
    rows.free[nodes] = 1.0 / rows.mass[nodes]
    rows.turns[elements] = 1.0 / rows.inertia[elements]
    drags.node[nodes] = rod.drag * ds * weights
    drags.element[elements] = rod.rotational_drag * ds
    drags.retardation[elements] = rod.internal_damping
    if supports_section(rod.right):
        drags.retardation[start + n] = rod.internal_damping


def supports_section(end: RodEnd) -> bool:
    """Return whether an end is a clamp of the section, joined to the frame beside it."""
    return isinstance(end, Clamped | Driven | Turned) and end.hold == "section"


def end_lengths(rod: CosseratRod) -> Floats:
    """Return (n + 1,) lengths of the joints at all nodes, in elements; 0 without a joint.

    They are the quadrature weights of the integral of the bending energy.
    """
    lengths = end_distances(rod)
    for end, weights in ((rod.left, lengths), (rod.right, lengths[::-1])):
        if supports_section(end):
            weights[: END_WEIGHTS.size] += END_WEIGHTS
    return lengths


def end_distances(rod: CosseratRod) -> Floats:
    """Return (n + 1,) distances of the two frames at each node, in elements; 0 at free ends."""
    distances = np.ones(rod.elements + 1)
    distances[0] = 0.5 if supports_section(rod.left) else 0.0
    distances[-1] = 0.5 if supports_section(rod.right) else 0.0
    return distances


def tributary_lengths(rod: CosseratRod) -> Floats:
    """Return (n + 1,) tributary lengths of the nodes, in elements: weights of mass and loads."""
    lengths = np.ones(rod.elements + 1)
    lengths[[0, -1]] = 0.5
    if rod.end_correction is not None:
        for weights in (lengths, lengths[::-1]):
            weights[: END_WEIGHTS.size] += rod.end_correction * _OF_MOMENT_ONE
        return lengths
    ends = ((rod.left, rod.right, lengths), (rod.right, rod.left, lengths[::-1]))
    for end, other, weights in ends:
        if isinstance(end, Free) and (supports_section(other) or isinstance(other, Pinned)):
            weights[: END_WEIGHTS.size] += END_WEIGHTS
    return lengths


def clamp_frame(inner: Floats, other: Floats) -> Floats:
    """Return the frame (4,) of a clamp, half an element beyond the outermost frame of the rod.

    inner, other : (4,) the outermost frame, and the next one
    """
    # linear extrapolation by half an element, normalised
    frame = 1.5 * inner - 0.5 * (other if inner @ other > 0.0 else -other)
    return np.asarray(frame / np.linalg.norm(frame))


def _hold(
    flat: Flat,
    rod: CosseratRod,
    start: int,
    end: RodEnd,
    at_start: bool,
    history: tuple[list[float], list[float]],
) -> list[Drive]:
    """Apply the support of one end; return the prescribed motions of a moving clamp.

    Histories of rotation angles are appended to `history`, times and values.
    """
    n = rod.elements
    node, inner, element = (
        (start, start + 1, start) if at_start else (start + n, start + n - 1, start + n - 1)
    )
    if isinstance(end, Pinned):
        _fix_node(flat, node)
    if isinstance(end, Turned):
        return _turn(flat, end, node, start - 1 if at_start else start + n, history)
    if not isinstance(end, Clamped | Driven):
        return []
    fixed = [(node, flat.r[:, node]), (inner, flat.r[:, inner]), (element, flat.q[:, element])]
    _fix_node(flat, node)
    if end.hold == "section":
        # the frame of the clamp has no inertia: its motion is prescribed
        frame = start - 1 if at_start else start + n
        fixed = [fixed[0], (frame, flat.q[:, frame])]
    else:
        _fix_node(flat, inner)
        flat.material.turns[element] = 0.0
        flat.p[:, element] = 0.0
    if isinstance(end, Clamped):
        return []
    rows = []
    for slot, first in fixed:
        # `since`, the time at which it starts, is set at the start of the run
        drive = Drive.table()[0]
        drive.slot, drive.is_frame, drive.rise = slot, int(first.size == 4), end.rise
        drive.origin, drive.velocity = flat.r[:, node], np.asarray(end.velocity)
        drive.spin, drive.start[: first.size] = np.asarray(end.angular_velocity), first
        rows.append(drive)
    return rows


def _turn(
    flat: Flat, end: Turned, node: int, frame: int, history: tuple[list[float], list[float]]
) -> list[Drive]:
    """Apply a rotating clamp; return the motion of its frame, and the sliding node if any.

    node, frame : slots of the end node, and of the frame of the clamp; history as of `_hold`
    """
    drive = Drive.table()[0]
    drive.slot, drive.is_frame, drive.first = frame, 1, len(history[0])
    axis = np.asarray(end.axis)
    drive.origin, drive.spin, drive.start = flat.r[:, node], axis, flat.q[:, frame]
    history[0].extend(end.times)
    history[1].extend(end.angles)
    drive.last = len(history[0])
    if not end.slides:
        _fix_node(flat, node)
        return [drive]
    flat.v[:, node] = (flat.v[:, node] @ axis) * axis
    sliding = Drive.table()[0]
    sliding.slot, sliding.slides, sliding.spin = node, 1, axis
    return [drive, sliding]


def _fix_node(flat: Flat, slot: int) -> None:
    """Fix a node: no mobility and no velocity."""
    flat.material.free[slot] = 0.0
    flat.v[:, slot] = 0.0


def _load(
    flat: Flat, rod: CosseratRod, start: int, history: tuple[list[float], list[float]]
) -> list[Load]:
    """Add the constant forces of a rod to `constant`; return its other loads.

    start : first slot of the rod
    history : times and factors of all loads so far, to which those of the rod are appended
    """
    rows: list[Load] = []
    n, ds = rod.elements, rod.rest_length / rod.elements
    for load in rod.loads:
        begin = len(history[0])
        history[0].extend(load.times)
        history[1].extend(load.factors)
        end = len(history[0])
        if isinstance(load, LineForce):
            node_lengths = ds * tributary_lengths(rod)
            targets = [(k, 0.0, node_lengths[k] * np.asarray(load.force)) for k in range(n + 1)]
        elif isinstance(load, PointForce):
            targets = [(round(load.at * n), 0.0, np.asarray(load.force))]
        elif isinstance(load, PointMoment):
            targets = [(min(int(load.at * n), n - 1), 1.0, np.asarray(load.moment))]
        else:
            continue
        for k, moment, vector in targets:
            if begin == end and moment == 0.0:
                flat.constant[:, start + k] += vector
            else:
                one = Load.table()[0]
                one.slot, one.is_moment, one.value = start + k, int(moment), vector
                one.first, one.last = begin, end
                rows.append(one)
    return rows
