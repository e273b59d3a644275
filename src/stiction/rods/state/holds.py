"""Supports of rod ends: boundary conditions, prescribed motion, and reactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.rods.assembly import Flat, holds_section, third_directors
from stiction.rods.driving_kernels import Drive
from stiction.rods.model import Rods
from stiction.rods.rod import Clamped, Driven, Pinned, Turned

__all__ = ["PIN", "Hold", "holds_of", "reactions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# boundary conditions of an end: position of the node, of the section, of the last element
PIN, SECTION, ELEMENT = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Hold:
    """One supported end.

    Parameters
    ----------
    kind : PIN, SECTION or ELEMENT
    number : of its node among the nodes of all rods, from 1
    node, nodes, frames : slots of the end node, of all nodes that are held, of frames that are held
    frame : slot of the frame that is told
    """

    kind: int
    number: int
    node: int
    nodes: tuple[int, ...]
    frames: tuple[int, ...]
    frame: int


def holds_of(rods: Rods, flat: Flat) -> list[Hold]:
    """Return the supported ends, by rod, its start before its end."""
    found, before = [], 0
    for b, rod in enumerate(rods.rods):
        first, n = int(flat.first[b]), rod.elements
        for end, node, inner, frame, outer, number in (
            (rod.left, first, first + 1, first, first - 1, before + 1),
            (rod.right, first + n, first + n - 1, first + n - 1, first + n, before + n + 1),
        ):
            if isinstance(end, Pinned):
                found.append(Hold(PIN, number, node, (node,), (), frame))
            elif isinstance(end, Clamped | Driven | Turned) and holds_section(end):
                found.append(Hold(SECTION, number, node, (node,), (outer,), outer))
            elif isinstance(end, Clamped | Driven):
                found.append(Hold(ELEMENT, number, node, (node, inner), (frame,), frame))
        before += n + 1
    return found


def reactions(
    flat: Flat, holds: list[Hold], force: Floats, torque: Floats, now: float
) -> tuple[Floats, Floats]:
    """Return (holds, 3) forces [N], and moments about the end nodes [N m], of holds on their rods.

    Parameters
    ----------
    force, torque : (3, slots) everything else that acts on nodes and frames [N], [N m]
    now : [s]; what a hold drives has the inertia of its share of the rod
    """
    pull, turn = np.zeros((len(holds), 3)), np.zeros((len(holds), 3))
    nodes = np.array([(k, slot) for k, hold in enumerate(holds) for slot in hold.nodes])
    frames = [(k, slot) for k, hold in enumerate(holds) for slot in hold.frames]
    owner, slots = nodes.T
    ends = np.array([hold.node for hold in holds])[owner]
    part, arm = -force[:, slots].T, (flat.r[:, slots] - flat.r[:, ends]).T
    part += _of_moving(flat, slots, arm, now)
    for drive in flat.driven[flat.driven["slides"] == 1]:
        # the support is free along the axis
        axis, here = drive.spin, slots == drive.slot
        part[here] -= np.outer(part[here] @ axis, axis)
    np.add.at(pull, owner, part)
    np.add.at(turn, owner, np.cross(arm, part))
    for k, slot in frames:
        turn[k] -= torque[:, slot]
    owners = {slot: k for k, slot in frames}
    for drive in flat.driven:
        slot = drive.slot
        if drive.is_frame and slot in owners:
            _, (spin, rate) = _rates(drive, now)
            axis = third_directors(flat.q[:, slot : slot + 1])[:, 0]
            more = rate + (rate @ axis) * axis + (spin @ axis) * np.cross(spin, axis)
            turn[owners[slot]] += flat.material.inertia[slot] * more
    return pull, turn


def _of_moving(flat: Flat, slots: Ints, arm: Floats, now: float) -> Floats:
    """Return (slots, 3) mass times acceleration of nodes that are driven; 0 of those that stay."""
    found = np.zeros((len(slots), 3))
    where = {int(slot): j for j, slot in enumerate(slots)}
    for drive in flat.driven:
        j = where.get(drive.slot, -1)
        if drive.is_frame or drive.slides or j < 0:
            continue
        (_, faster), (spin, rate) = _rates(drive, now)
        faster = faster + np.cross(rate, arm[j]) + np.cross(spin, np.cross(spin, arm[j]))
        found[j] = flat.material.mass[drive.slot] * faster
    return found


def _rates(drive: Drive, now: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return velocity and angular velocity of a moving clamp, each with its rate."""
    if drive.last > drive.first:
        # the frame of a section has no inertia
        still = np.zeros(3)
        return (still, still), (still, still)
    late, rise = now - drive.since, drive.rise
    part = 1.0 if late >= rise else late / rise
    grows = 0.0 if late >= rise else 1.0 / rise
    velocity, spin = np.asarray(drive.velocity), np.asarray(drive.spin)
    return (part * velocity, grows * velocity), (part * spin, grows * spin)
