"""Supports of rod ends and their reactions, from the balance of momentum of supported nodes.

The reaction force is R = m a - F, with the mass m, the prescribed acceleration a and the sum F of
all other forces on the node, and correspondingly for moments. `state.record` calls it at each saved
time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.rods.assembly import Flat, supports_section, third_directors
from stiction.rods.driving_kernels import Drive
from stiction.rods.model import Rods
from stiction.rods.rod import Clamped, Driven, Pinned, Turned

__all__ = ["PIN", "Support", "reactions", "supports_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# kinds of supports: they fix the position of the node, the section, or the last element
PIN, SECTION, ELEMENT = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Support:
    """One supported end.

    Parameters
    ----------
    kind : PIN, SECTION or ELEMENT
    number : number of its node among the nodes of all rods, from 1
    node, nodes, frames : slots of the end node, of all fixed nodes, of fixed frames
    frame : slot of the frame whose motion is saved
    """

    kind: int
    number: int
    node: int
    nodes: tuple[int, ...]
    frames: tuple[int, ...]
    frame: int


def supports_of(rods: Rods, flat: Flat) -> list[Support]:
    """Return the supported ends in the order of the rods, the start of a rod before its end."""
    supports, before = [], 0
    for b, rod in enumerate(rods.rods):
        first, n = int(flat.first[b]), rod.elements
        for end, node, inner, frame, outer, number in (
            (rod.left, first, first + 1, first, first - 1, before + 1),
            (rod.right, first + n, first + n - 1, first + n - 1, first + n, before + n + 1),
        ):
            if isinstance(end, Pinned):
                supports.append(Support(PIN, number, node, (node,), (), frame))
            elif isinstance(end, Clamped | Driven | Turned) and supports_section(end):
                supports.append(Support(SECTION, number, node, (node,), (outer,), outer))
            elif isinstance(end, Clamped | Driven):
                supports.append(Support(ELEMENT, number, node, (node, inner), (frame,), frame))
        before += n + 1
    return supports


def reactions(
    flat: Flat, supports: list[Support], force: Floats, torque: Floats, now: float
) -> tuple[Floats, Floats]:
    """Return (supports, 3) reaction forces [N], and moments about the end nodes [N m].

    A reaction is mass times prescribed acceleration minus all other forces.

    Parameters
    ----------
    force, torque : (3, slots) all other forces on nodes [N] and torques on frames [N m]
    now : time [s]
    """
    force_sum, moment = np.zeros((len(supports), 3)), np.zeros((len(supports), 3))
    nodes = np.array([(k, slot) for k, support in enumerate(supports) for slot in support.nodes])
    frames = [(k, slot) for k, support in enumerate(supports) for slot in support.frames]
    owner, slots = nodes.T
    ends = np.array([support.node for support in supports])[owner]
    reaction, arm = -force[:, slots].T, (flat.r[:, slots] - flat.r[:, ends]).T
    reaction += _of_moving(flat, slots, arm, now)
    for drive in flat.driven[flat.driven["slides"] == 1]:
        # the support is free along the axis
        axis, is_sliding = drive.spin, slots == drive.slot
        reaction[is_sliding] -= np.outer(reaction[is_sliding] @ axis, axis)
    np.add.at(force_sum, owner, reaction)
    np.add.at(moment, owner, np.cross(arm, reaction))
    for k, slot in frames:
        moment[k] -= torque[:, slot]
    owners = {slot: k for k, slot in frames}
    for drive in flat.driven:
        slot = drive.slot
        if drive.is_frame and slot in owners:
            _, (spin, rate) = _rates(drive, now)
            axis = third_directors(flat.q[:, slot : slot + 1])[:, 0]
            inertia_torque = rate + (rate @ axis) * axis + (spin @ axis) * np.cross(spin, axis)
            moment[owners[slot]] += flat.material.inertia[slot] * inertia_torque
    return force_sum, moment


def _of_moving(flat: Flat, slots: Ints, arm: Floats, now: float) -> Floats:
    """Return (slots, 3) mass times prescribed acceleration of nodes; 0 for fixed ones."""
    inertia_force = np.zeros((len(slots), 3))
    position = {int(slot): j for j, slot in enumerate(slots)}
    for drive in flat.driven:
        j = position.get(drive.slot, -1)
        if drive.is_frame or drive.slides or j < 0:
            continue
        (_, acceleration), (spin, rate) = _rates(drive, now)
        acceleration = (
            acceleration + np.cross(rate, arm[j]) + np.cross(spin, np.cross(spin, arm[j]))
        )
        inertia_force[j] = flat.material.mass[drive.slot] * acceleration
    return inertia_force


def _rates(drive: Drive, now: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return (velocity, its rate), (angular velocity, its rate) of a clamp at time `now`."""
    if drive.last > drive.first:
        # the frame of a section has no inertia
        still = np.zeros(3)
        return (still, still), (still, still)
    since_start, rise = now - drive.since, drive.rise
    fraction = 1.0 if since_start >= rise else since_start / rise
    fraction_rate = 0.0 if since_start >= rise else 1.0 / rise
    velocity, spin = np.asarray(drive.velocity), np.asarray(drive.spin)
    return (fraction * velocity, fraction_rate * velocity), (fraction * spin, fraction_rate * spin)
