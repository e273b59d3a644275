"""Checks of rods, bodies and friction that `Quasistatic` and `ImplicitEuler` cannot solve.

`stepper.Stepper` calls them before the first step, and `check_fineness` and `overlap` after each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.rods.contact.partners import CylinderPartner, RodPartner, SpherePartner
from stiction.rods.rod import Clamped, CosseratRod, Driven, Pinned, Turned
from stiction.rods.wrapped.curves import axis_points, closest
from stiction.rods.wrapped.pairs import Contacts, Strand

if TYPE_CHECKING:
    from stiction.rods.methods import ImplicitContact

__all__ = [
    "MOST_OVERLAP",
    "MOST_TURN",
    "check_fineness",
    "check_friction",
    "check_gaps",
    "check_inertia",
    "check_overlap",
    "check_rods",
    "check_supports",
    "check_turn",
    "overlap",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# turning of the axis from one element to the next: at this value the ratio of tensions is 0.6 % off
MOST_TURN = 0.2
# overlap at nodes, over the radius, that counts as none. Chosen
MOST_OVERLAP = 1e-3
# the same between nodes: where the curvature jumps, the axis between nodes has an error of second
# order in the length of elements. Chosen
_BETWEEN = 0.02
# deepest overlap that counts as none, over the radius
_TOUCHING = 1e-6
# largest exponent of a ratio of tensions: Newton's method balances forces to 1e-8 of the largest
_MOST_EXPONENT = 16.0


def check_friction(friction: Coulomb, rods: Sequence[CosseratRod]) -> float:
    """Return the coefficient of friction.

    Raises
    ------
    ModelError : if tensions along the given centreline could differ beyond floating point.
    """
    mu = float(friction.table(1).mu_static[0])
    turn = max(float(_turning(rod.nodes()).sum()) for rod in rods)
    if not mu * turn <= _MOST_EXPONENT:
        got = f"mu = {mu:.6g} on a rod that turns by {turn:.6g} rad"
        needs = f"a product of mu and angle up to {_MOST_EXPONENT:g}"
        why = "tensions differ by the factor exp(mu angle), beyond the accuracy of the forces."
        try_ = f"give mu up to {_MOST_EXPONENT / turn:.3g}, or fewer turns."
        raise ModelError("Rods.search.friction", got, needs, why, try_)
    return mu


def check_rods(
    rods: Sequence[CosseratRod], partners: Sequence[RodPartner], *, self_contact: bool
) -> None:
    """Raise ModelError for rods and bodies that can have no contact."""
    for rod in rods:
        _check_rod(rod)
    radii = [rod.section.radius for rod in rods]
    if len(set(radii)) > 1:
        got, needs = f"radii from {min(radii):.6g} to {max(radii):.6g} m", "one radius"
        why = "the points of contact of two rods are halfway between their axes."
        raise ModelError("Rods.rods", got, needs, why, "give all rods one outer radius.")
    if not partners and len(rods) == 1 and not self_contact:
        why, try_ = "the rod is wrapped around these bodies.", "give [CylinderPartner(...)]."
        raise ModelError("Rods.partners", "none", "one body or more", why, try_)
    _check_partners(partners, radii[0])
    if not self_contact:
        for rod in rods:
            _check_turns(rod)


def _check_rod(rod: CosseratRod) -> None:
    """Raise ModelError for a rod without a radius, or with an end that is `Turned`."""
    radius = rod.section.radius
    if not radius > 0.0:
        got, needs = f"a {type(rod.section).__name__} without a radius", "a section with a radius"
        why = "contacts act at a round surface; flat and elliptic sections have no contact."
        try_ = "give outer_radius of a round section, or solve by rods.equilibrium."
        raise ModelError("Rods.rods.section", got, needs, why, try_)
    for name in ("left", "right"):
        if isinstance(getattr(rod, name), Turned):
            got, needs = "Turned", "Free, Pinned, Clamped or Driven"
            why, try_ = (
                "ends of wrapped rods rotate by a given angular velocity, not by a given angle.",
                "give Driven(angular_velocity).",
            )
            raise ModelError(f"Rods.rods.{name}", got, needs, why, try_)


def _check_partners(partners: Sequence[RodPartner], radius: float) -> None:
    """Raise ModelError for a cylinder or sphere thinner than the rods."""
    for i, partner in enumerate(partners, start=1):
        if not isinstance(partner, CylinderPartner | SpherePartner):
            continue
        if partner.radius < radius:
            got, needs = (
                f"radius {partner.radius:.6g} m",
                f"at least the radius of the rod, {radius:.6g} m",
            )
            why = "a rod bent around a thinner body has strains of one half and more."
            where = f"Rods.partners[{i}].radius"
            raise ModelError(where, got, needs, why, "give a thicker body.")


def check_turn(method: ImplicitContact, rods: Sequence[CosseratRod], *, self_contact: bool) -> None:
    """Raise ModelError for a length of turns without self-contact, or below that of a circle."""
    turn, where = method.turn, f"{type(method).__name__}.turn"
    if turn is None:
        return
    why, try_ = "each node may touch every turn of its rod once.", "give None."
    if not self_contact:
        got, needs = f"{turn:.6g} m without self_contact", "self_contact=True, or None"
        raise ModelError(where, got, needs, why, "give self_contact=True.")
    # two elements beyond half a circle of contact, and beyond half a turn
    least = max(4.0 * rod.rest_length / rod.elements for rod in rods)
    least = max(least, 4.0 * math.pi * rods[0].section.radius)
    if turn < least:
        why = "a turn has four elements, and is longer than a circle around a second rod."
        raise ModelError(where, f"{turn:.6g} m", f"at least {least:.6g} m", why, try_)


def check_supports(rods: Sequence[CosseratRod], mu: float) -> bool:
    """Return whether the ends hold every rod; ModelError if neither they nor friction do."""
    # a list, so that every rod is checked
    held = [_is_held(rod, mu) for rod in rods]
    return all(held)


def _is_held(rod: CosseratRod, mu: float) -> bool:
    """Return whether the ends of a rod prevent a rigid motion; ModelError if nothing does."""
    ends = (rod.left, rod.right)
    if any(isinstance(end, Clamped | Driven) for end in ends):
        return True
    if all(isinstance(end, Pinned) for end in ends):
        return True
    if not mu > 0.0:
        pinned = any(isinstance(end, Pinned) for end in ends)
        got = "a pin and a free end" if pinned else "free ends"
        needs = "an end that is clamped or driven, two pins, or friction"
        why = "nothing prevents a rigid motion of the rod."
        try_ = "give left = Clamped(), or friction = Coulomb(0.3)."
        raise ModelError("Rods.rods", f"{got} without friction", needs, why, try_)
    return False


def check_inertia(rods: Sequence[CosseratRod]) -> None:
    """Raise ModelError for rods with internal damping, which wrapped rods do not have."""
    for i, rod in enumerate(rods, start=1):
        if rod.internal_damping:
            where = f"Rods.rods[{i}].internal_damping"
            got, why = f"{rod.internal_damping:g} s with inertia", "wrapped rods are elastic."
            raise ModelError(where, got, "0", why, "give `drag`, or solve by RollingLeapfrog.")


def check_fineness(rod: int, nodes: Floats, touching: Ints) -> None:
    """Raise ModelError if the axis turns too much at nodes that are in contact.

    Parameters
    ----------
    rod : number of the rod, from 1
    nodes : (elements + 1, 3) [m]
    touching : (k,) numbers of nodes, from 0; others do not count
    """
    elements = len(nodes) - 1
    inner = touching[(touching > 0) & (touching < elements)]
    turn = _turning(nodes)[inner - 1]
    if not turn.max(initial=0.0) <= MOST_TURN:
        worst = int(turn.argmax())
        least = math.ceil(elements * float(turn[worst]) / MOST_TURN)
        got, needs = f"{elements} elements", f"at least {least}"
        why = f"at node {inner[worst] + 1} of rod {rod}, in contact, the axis turns by "
        why += f"{turn[worst]:.3g} rad from one element to the next; "
        why += f"at most {MOST_TURN:g} rad is admissible."
        raise ModelError("Rods.rods.elements", got, needs, why, f"give {least}.")


def _turning(nodes: Floats) -> Floats:
    """Return (elements - 1,) angles between neighbouring chords [rad]."""
    chords = np.diff(nodes, axis=0)
    chords /= np.linalg.norm(chords, axis=1)[:, None]
    return np.asarray(np.arccos(np.clip((chords[1:] * chords[:-1]).sum(axis=1), -1.0, 1.0)))


def check_gaps(gap: Floats, contacts: Contacts, strands: Sequence[Strand], bodies: int) -> None:
    """Raise ModelError if a given rod is inside a body or a rod, with all gaps (k,) [m]."""
    if not gap.size:
        got, needs = "rods that can touch nothing", "a free node that can touch a body or a rod"
        why = "a rod can touch itself only at points more than pi radii apart along it."
        raise ModelError("Rods.rods", got, needs, why, "give a longer rod, or partners.")
    worst = int(gap.argmin())
    deepest, radius = -float(gap[worst]), contacts.radius
    if deepest <= _TOUCHING * radius:
        return
    node, other = int(contacts.node[worst]), int(contacts.partner[worst])
    rod = sum(node >= strand.node for strand in strands)
    at = f"rod {rod} at its node {node - strands[rod - 1].node + 1}"
    where = "Rods.rods.centreline"
    if other < bodies:
        got, needs = (
            f"{at}, which lies {deepest:.6g} m inside body {other + 1}",
            "an axis one radius outside",
        )
        why, try_ = "surfaces may touch, but not overlap.", "move the centreline."
        raise ModelError(where, got, needs, why, try_)
    other -= bodies - 1
    got = f"{at}, which lies {deepest:.6g} m inside " + (
        "itself" if other == rod else f"rod {other}"
    )
    needs = f"axes at least twice the radius apart, {2.0 * radius:.6g} m"
    why, try_ = (
        "surfaces may touch, but not overlap.",
        "move the centreline, or take more elements.",
    )
    raise ModelError(where, got, needs, why, try_)


def _check_turns(rod: CosseratRod) -> None:
    """Raise ModelError for a rod that overlaps itself, if self-contact is not computed."""
    depth = overlap([rod], [rod.nodes()])
    if depth > MOST_OVERLAP:
        distance = (2.0 - depth) * rod.section.radius
        got = f"axes {distance:.6g} m apart"
        needs = f"at least twice the radius, {2.0 * rod.section.radius:.6g} m"
        why = "turns do not touch each other without self_contact."
        raise ModelError("Rods.rods.centreline", got, needs, why, "give a larger pitch.")


def check_overlap(rods: Sequence[CosseratRod], nodes: Sequence[Floats]) -> None:
    """Raise ModelError if axes of different rods are too close, also between their nodes."""
    depth = overlap(rods, nodes) if len(rods) > 1 else 0.0
    if depth > MOST_OVERLAP:
        radius = rods[0].section.radius
        got = f"axes of two rods {(2.0 - depth) * radius:.6g} m apart"
        needs = f"at least twice the radius, {2.0 * radius:.6g} m"
        why, try_ = "surfaces may touch, but not overlap.", "move a centreline."
        raise ModelError("Rods.rods.centreline", got, needs, why, try_)


def overlap(rods: Sequence[CosseratRod], nodes: Sequence[Floats]) -> float:
    """Return how deep rods are inside themselves and each other, over the radius.

    Nodes are compared with nodes; neighbours on a rod within half a circle of contact do not
    count. Between nodes only an overlap beyond 0.02 counts, as of rods that cross there: nodes and
    middles of elements of each rod are compared with the axes of the others.

    nodes : (elements + 1, 3) of each rod [m]

    Verified by: tests/unit/rods/wrapped/test_wrapped_rods.py::test_rods_that_cross_between_nodes
    """
    from scipy.spatial import cKDTree

    radius, every = rods[0].section.radius, np.concatenate(nodes)
    owner = np.repeat(np.arange(len(rods)), [len(x) for x in nodes])
    along = np.array([np.pi * radius * rod.elements / rod.rest_length for rod in rods])
    one, other = cKDTree(every).query_pairs(2.0 * radius, output_type="ndarray").T
    far = (owner[one] != owner[other]) | (np.abs(one - other) > along[owner[one]] + 1.0)
    apart = np.linalg.norm(every[one] - every[other], axis=1)[far]
    at_nodes = 2.0 - float(apart.min(initial=2.0 * radius)) / radius
    between = 2.0 - _least_distance(nodes, 2.0 * radius) / radius
    return max(at_nodes, between) if between > _BETWEEN else at_nodes


def _least_distance(nodes: Sequence[Floats], bound: float) -> float:
    """Return the smallest distance of axes [m], from nodes and middles of elements; or `bound`."""
    from scipy.spatial import cKDTree

    least = bound
    for i, axis in enumerate(nodes):
        tree = cKDTree(axis)
        # a point of an axis is closer to a node than the length of its element
        reach = bound + float(np.linalg.norm(np.diff(axis, axis=0), axis=1).max())
        for j, other in enumerate(nodes):
            if j == i:
                continue
            points = axis_points(other, np.arange(2 * len(other) - 1) / 2.0)
            near = points[np.isfinite(tree.query(points, distance_upper_bound=reach)[0])]
            if len(near):
                place, _ = closest(near, axis, np.zeros(len(near), dtype=np.int64))
                apart = np.linalg.norm(near - axis_points(axis, place), axis=1)
                least = min(least, float(apart.min()))
    return least
