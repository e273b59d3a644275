"""Contacts of the nodes of rods: which node may touch which body or rod, and their geometry.

The slip of a contact over a step is s = y - y_0 - phi x (arm) (`contact`): y is the position of the
node relative to the body, or to the closest point of the other axis, y_0 that at the start of the
step, phi the rotation of the sections. The arm is a n against a body, with the radius a and the
normal n, and (y + y_0)/4 against a rod. `contacts_of` lists once the possible contacts: each free
node with each body, and each node with the axes of later rods. `all_pairs` computes in each
iteration the gap, the normal, y - y_0, the arm, and their derivatives by the positions of nodes
(`contact.Pairs`). The closest point of an axis X at the place u [elements] obeys y . X'(u) = 0;
differentiation of this equation gives du. A slot is a column of the arrays of all nodes (3, slots)
or of all frames (4, slots). `problem.WrappedProblem` calls both functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.rods.contact.partners import RodPartner
from stiction.rods.rod import CosseratRod
from stiction.rods.wrapped.contact import Pairs
from stiction.rods.wrapped.curves import closest, curve_at
from stiction.rods.wrapped.obstacles import Placement, surface_at

__all__ = ["Contacts", "Reference", "Strand", "all_pairs", "contacts_of", "excluded"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Strand(NamedTuple):
    """A rod among others: the slot of its node 0, its number of elements, and its free nodes."""

    node: int
    elements: int
    free: Ints

    @property
    def nodes(self) -> slice:
        """Slots of its nodes."""
        return slice(self.node, self.node + self.elements + 1)


class Contacts(NamedTuple):
    """The possible contacts: the node of each, and the body or rod that it may touch.

    node : (k,) slots of the nodes
    frame : (k, 2) slots of the frames beside them
    partner : (k,) number of the body, or of the rod after the bodies
    lowest, highest : (k,) bounds of the place along that rod, in elements
    radius : of the rods [m]
    bodies : number of contacts with bodies; these are the first ones, in the order of the nodes
    """

    node: Ints
    frame: Ints
    partner: Ints
    lowest: Ints
    highest: Ints
    radius: float
    bodies: int


class Reference(NamedTuple):
    """The state at the start of a step.

    `r`, `q` and the part of `basis` of contacts with bodies are moved with their body to the end of
    the step, so that a node that moves with the body has no slip.

    r, q : (b, 3) positions of nodes [m] and (b, 2, 4) quaternions of the frames beside them, of the
        first b = `Contacts.bodies` contacts
    basis : (k, 3, 2) tangential vectors of all contacts
    nodes, frames : (3, slots) positions [m] and (4, slots) quaternions, not moved
    """

    r: Floats
    q: Floats
    basis: Floats
    nodes: Floats
    frames: Floats


def excluded(rod: CosseratRod) -> int:
    """Return how many elements beyond a node a rod may touch itself: half a circle of contact."""
    return math.ceil(np.pi * rod.section.radius * rod.elements / rod.rest_length) + 1


def contacts_of(
    rods: Sequence[CosseratRod],
    strands: Sequence[Strand],
    bodies: int,
    *,
    self_contact: bool,
    turn: float | None = None,
) -> Contacts:
    """Return the contacts of rods with bodies, and of nodes with the axes of later rods.

    Of two rods only the nodes of the first touch the axis of the second, because constraints on
    both sides would be linearly dependent. In the same way a node touches its own rod at later
    places. If `turn`, the length of rod in one turn of a coil [m], is given, a node has one contact
    with each later turn, at places up to half a turn from its own angle.
    """
    parts = []
    nodes = np.concatenate([strand.free for strand in strands])
    owner = np.repeat(np.arange(len(strands)), [len(strand.free) for strand in strands])
    parts.append(
        (
            np.repeat(nodes, bodies),
            np.repeat(owner, bodies),
            np.tile(np.arange(bodies), len(nodes)),
            np.zeros(len(nodes) * bodies, dtype=np.int64),
            np.zeros(len(nodes) * bodies, dtype=np.int64),
        )
    )
    # in the order of `all_pairs`
    for j in range(len(strands)):
        for i, strand in enumerate(strands[: j + 1 if self_contact else j]):
            n, own = strands[j].elements, strand.free - strand.node
            bounds = [(np.zeros_like(own), np.full_like(own, n))]
            if i == j:
                each = n if turn is None else round(turn * n / rods[i].rest_length)
                ends = [excluded(rods[i]), *range(each + each // 2, n, each), n]
                bounds = [(own + low, own + high) for low, high in itertools.pairwise(ends)]
            for low, high in bounds:
                here = low < n
                free = strand.free[here]
                whose = np.full_like(free, i), np.full_like(free, bodies + j)
                parts.append((free, *whose, low[here], np.minimum(high, n)[here]))
    node, owner, partner, low, high = (np.concatenate(x) for x in zip(*parts, strict=True))
    first = np.array([strand.node for strand in strands])[owner]
    last = first + np.array([strand.elements for strand in strands])[owner]
    frame = np.stack([np.maximum(node - 1, first), np.minimum(node, last - 1)], axis=1)
    radius = rods[0].section.radius
    return Contacts(node, frame, partner, low, high, radius, len(nodes) * bodies)


def all_pairs(
    contacts: Contacts,
    strands: Sequence[Strand],
    partners: Sequence[RodPartner],
    places: Sequence[Placement],
    start: Reference,
    nodes: Floats,
) -> Pairs:
    """Return the geometry of all contacts.

    Parameters
    ----------
    places : pose of each body at the end of the step
    start : the state at the start of the step
    nodes : (3, slots) positions at the end of the step [m]
    """
    parts = [_with_bodies(contacts, partners, places, start, nodes)]
    for j, strand in enumerate(strands):
        here = np.flatnonzero(contacts.partner[contacts.bodies :] == len(partners) + j)
        if len(here):
            parts.append(_with_rod(contacts, contacts.bodies + here, strand, start, nodes))
    return parts[0] if len(parts) == 1 else _joined(parts)


def _with_bodies(
    contacts: Contacts,
    partners: Sequence[RodPartner],
    places: Sequence[Placement],
    start: Reference,
    nodes: Floats,
) -> Pairs:
    """Return the contacts of nodes with bodies."""
    count, a = contacts.bodies, contacts.radius
    points = nodes[:, contacts.node[:count]].T
    gap, normal = np.zeros(count), np.zeros((count, 3))
    curvature = np.zeros((count, 1, 3, 3))
    for j, (partner, place) in enumerate(zip(partners, places, strict=True)):
        here = slice(j, count, len(partners))
        surface = surface_at(partner, place, points[here])
        gap[here] = surface.distance - a
        normal[here], curvature[here, 0] = surface.normal, surface.curvature
    one, none = np.ones((count, 1)), np.zeros((count, 1))
    return Pairs(
        radius=a,
        nodes=contacts.node[:count, None],
        frames=contacts.frame[:count],
        share=one,
        share_rate=none,
        weight=np.full((count, 2), 0.5),
        weight_rate=np.zeros((count, 2)),
        place_by_node=np.zeros((count, 1, 3)),
        before=start.q,
        gap=gap,
        normal=normal,
        normal_by_node=curvature,
        moved=points - start.r,
        moved_by_node=np.broadcast_to(np.eye(3), (count, 1, 3, 3)),
        arm=a * normal,
        arm_by_node=a * curvature,
    )


def _with_rod(
    contacts: Contacts, here: Ints, strand: Strand, start: Reference, nodes: Floats
) -> Pairs:
    """Return the contacts numbered `here` of nodes with the axis of a rod."""
    node, axis, n = contacts.node[here], nodes[:, strand.nodes].T, strand.elements
    place, inside = closest(nodes[:, node].T, axis, contacts.lowest[here], contacts.highest[here])
    curve = curve_at(place, n)
    taking = np.column_stack([node, strand.node + curve.nodes])
    # the separation is y = r - X(u) = sum_j share_j r_j over the node itself and those of X; `rate`
    # and `bend` are first and second derivatives by u
    none = np.zeros((len(here), 1))
    share, share_rate = np.hstack([none + 1.0, -curve.weight]), np.hstack([none, -curve.rate])
    bend = np.hstack([none, -curve.second])
    now, then = nodes.T[taking], start.nodes.T[taking]
    y, y_rate, y_bend = (np.einsum("kp,kpa->ka", w, now) for w in (share, share_rate, bend))
    before, before_rate = (np.einsum("kp,kpa->ka", w, then) for w in (share, share_rate))
    far = np.linalg.norm(y, axis=1)
    normal = y / far[:, None]
    # y . y' = 0 at the closest point: its derivative determines the place
    stiffness = (y_rate * y_rate).sum(axis=1) + (y * y_bend).sum(axis=1)
    by_node = share[:, :, None] * y_rate[:, None] + share_rate[:, :, None] * y[:, None]
    by_node *= np.where(inside, -1.0 / stiffness, 0.0)[:, None, None]
    # dy = sum_j share_j dr_j + y' du, and y_0 changes with u alone; dn = (1 - n n^T) dy / |y|
    each = share[:, :, None, None] * np.eye(3)
    y_by_node = each + y_rate[:, None, :, None] * by_node[:, :, None, :]
    before_by_node = before_rate[:, None, :, None] * by_node[:, :, None, :]
    flat = (np.eye(3) - normal[:, :, None] * normal[:, None, :]) / far[:, None, None]
    # rotations are linear between the middles of elements
    left = np.floor(place - 0.5)
    part = place - 0.5 - left
    beside = np.clip(left[:, None].astype(np.int64) + np.arange(2), 0, n - 1)
    frames = np.hstack([contacts.frame[here], strand.node + beside])
    half, one = np.full((len(here), 2), 0.5), np.ones_like(part)
    return Pairs(
        radius=contacts.radius,
        nodes=taking,
        frames=frames,
        share=share,
        share_rate=share_rate,
        weight=np.hstack([half, np.column_stack([1.0 - part, part])]),
        weight_rate=np.hstack([0.0 * half, np.column_stack([-one, one])]),
        place_by_node=by_node,
        before=start.frames.T[frames],
        gap=far - 2.0 * contacts.radius,
        normal=normal,
        normal_by_node=flat[:, None] @ y_by_node,
        moved=y - before,
        moved_by_node=y_by_node - before_by_node,
        arm=0.25 * (y + before),
        arm_by_node=0.25 * (y_by_node + before_by_node),
    )


# fields of `Pairs` whose second axis counts nodes, or frames; shorter ones are padded with slot 0,
# which has no share or weight
_BY_NODES = ("nodes", "share", "share_rate", "place_by_node")
_BY_FRAMES = ("frames", "weight", "weight_rate", "before")
_TENSORS = ("normal_by_node", "moved_by_node", "arm_by_node")


def _joined(parts: Sequence[Pairs]) -> Pairs:
    """Return contacts of all parts as one, padded to the largest numbers of nodes and frames."""
    out = {}
    for name in Pairs._fields[1:]:
        arrays = [getattr(part, name) for part in parts]
        if name in (*_BY_NODES, *_BY_FRAMES, *_TENSORS):
            most = max(x.shape[1] for x in arrays)
            arrays = [
                np.pad(x, [(0, 0), (0, most - x.shape[1]), *[(0, 0)] * (x.ndim - 2)])
                for x in arrays
            ]
        out[name] = np.concatenate(arrays)
    return Pairs(parts[0].radius, **out)
