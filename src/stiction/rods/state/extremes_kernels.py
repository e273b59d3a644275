"""Extreme values of contacts over all steps of a run, for the checks of the audit.

Extremes are the largest tension, penetration, speed of a contact over that of shear waves, ratio of
tangential to normal force, and the least angle of crossing rods (`Extreme`). The steppers call
`update_extremes` after each step, so that the audit does not depend on the saved times;
`rods.outcome` compares the extremes with their limits.

Source: formulas sheet (docs/formulas/rods.md), sections 2 to 4.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Struct, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import FITTED
from stiction.rods.contact.kernels import CROSSING, EMPTY, ROLL, Contact, ContactSet
from stiction.rods.contact.observe_kernels import contact_rates
from stiction.rods.driving_kernels import Drive

# initial value, below all others
NEVER = -1e300


class Extreme(Struct):
    """Extreme values of a contact, each with the time [s].

    pull : largest normal force, tension > 0 [N]
    depth : largest penetration [m]
    parallel : minus the least sine of the angle of a crossing
    wave_ratio, wave_body : largest speed along a body over that of its shear waves; its index
    friction : largest ratio of tangential to normal force
    ignored, ignored_body : largest fraction of a contact force ignored by a sliding end; index of
        its rod
    """

    pull: float
    pull_time: float
    depth: float
    depth_time: float
    parallel: float
    parallel_time: float
    wave_ratio: float
    wave_ratio_time: float
    wave_body: int
    friction: float
    friction_time: float
    ignored: float
    ignored_time: float
    ignored_body: int


@kernel
def end_weight(k: Contact, side: int, node: int) -> float:
    """Return the weight of a node in the contact point on one rod (side 0 or 1)."""
    first = k.nodes[side]
    if first <= node < first + 4:
        return float(k.node_weights[side, node - first])
    if k.rule == FITTED and node == first - 1:
        return float(k.outer_weights[side, 0])
    if k.rule == FITTED and node == first + 4:
        return float(k.outer_weights[side, 1])
    return 0.0


@kernel
def update_extremes(
    contact_set: ContactSet, v: Matrix, driven: Table[Drive], per_impulse: float, now: float
) -> None:
    """Update the extremes of every contact at the end of a step.

    Parameters
    ----------
    v : velocities of nodes [m/s]
    driven : clamps with prescribed motion, see `driving_kernels`
    per_impulse : force per impulse of the step [1/s]; 0 if contacts store forces
    now : time [s]

    Verified by: tests/audit/test_all_steps.py::test_saved_times_do_not_matter
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode == EMPTY:
            continue
        most = contact_set.extremes[c]
        depth = k.reach - k.distance
        if depth > most.depth:
            most.depth, most.depth_time = depth, now
        # rods may be parallel at a line contact and at an end
        if k.kind == CROSSING and k.at_end == 0:
            sine = min(1.0, k.sine)
            if -sine > most.parallel:
                most.parallel, most.parallel_time = -sine, now
        if k.mode < ROLL:
            continue
        # velocity Verlet stores the force of the state, the leapfrog the impulse of the kick
        fx, fy, fz = k.force[0], k.force[1], k.force[2]
        if per_impulse > 0.0:
            fx, fy, fz = (
                per_impulse * k.impulse[0],
                per_impulse * k.impulse[1],
                per_impulse * k.impulse[2],
            )
        # n points from the first body to the second, the force acts on the first: positive is
        # tension
        n = k.normal
        normal_force = fx * n[0] + fy * n[1] + fz * n[2]
        tx, ty, tz = fx - normal_force * n[0], fy - normal_force * n[1], fz - normal_force * n[2]
        if normal_force > most.pull:
            most.pull, most.pull_time = normal_force, now
        # forces at roundoff have no direction
        tangential = math.sqrt(tx * tx + ty * ty + tz * tz)
        ratio = tangential / abs(normal_force) if abs(normal_force) > k.noise else 0.0
        if ratio > most.friction:
            most.friction, most.friction_time = ratio, now
        # the contact moves `rate` elements per second, shear waves 1 / wave_times
        first, second = contact_rates(v, k)
        for side in range(2):
            speed = k.wave_times[side] * (abs(first) if side == 0 else abs(second))
            if speed > most.wave_ratio:
                most.wave_ratio, most.wave_ratio_time = speed, now
                most.wave_body = k.bodies[side]
        # a sliding end takes the axial part of a force on its node: this fraction of a contact
        # force is lost to the motion (docs/theory/rods, "Rotating clamps")
        contact_force = math.sqrt(normal_force * normal_force + tangential * tangential)
        for d in range(driven.shape[0] if contact_force > 0.0 else 0):
            drive = driven[d]
            if drive.slides == 1:
                fraction = (
                    abs(fx * drive.spin[0] + fy * drive.spin[1] + fz * drive.spin[2])
                    / contact_force
                )
                for side in range(2):
                    weight = abs(end_weight(k, side, drive.slot))
                    if weight != 0.0 and weight * fraction > most.ignored:
                        most.ignored, most.ignored_time = weight * fraction, now
                        most.ignored_body = k.bodies[side]
