"""What `wrapped_path` refuses: rods, bodies and friction that it cannot solve."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.laws.coulomb import Coulomb
from stiction.rods.contact.partners import CylinderPartner, RodPartner, SpherePartner
from stiction.rods.rod import Clamped, CosseratRod, Driven, Pinned, Turned

__all__ = [
    "check_fineness",
    "check_friction",
    "check_gaps",
    "check_rod",
    "check_supports",
    "self_overlap",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# turning of the axis from one element to the next: at this value the ratio of tensions is 0.6 % off
_MOST_TURN = 0.2
# deepest overlap that counts as none, over the radius
_TOUCHING = 1e-6
# largest exponent of a ratio of tensions: Newton's method balances forces to 1e-8 of the largest
_MOST_EXPONENT = 16.0


def check_friction(friction: object, rod: CosseratRod) -> float:
    """Return the coefficient of friction, 0 without a law.

    Raises
    ------
    ModelError : for a law other than Coulomb's with one coefficient, and if tensions along the
        given centreline could differ beyond floating point.
    """
    if friction is None:
        return 0.0
    if not isinstance(friction, Coulomb):
        got, needs = type(friction).__name__, "Coulomb(mu), or None"
        why = "the active sets are those of one coefficient for stick and slip."
        raise ModelError("wrapped_path.friction", got, needs, why, "give st.Coulomb(0.3).")
    mu = float(friction.table(1).mu_static[0])
    turn = float(_turning(rod.nodes()).sum())
    if not mu * turn <= _MOST_EXPONENT:
        got = f"mu = {mu:.6g} on a rod that turns by {turn:.6g} rad"
        needs = f"a product up to {_MOST_EXPONENT:g}"
        why = "tensions differ by its exponential, beyond the accuracy of the forces."
        try_ = f"give mu up to {_MOST_EXPONENT / turn:.3g}, or fewer turns."
        raise ModelError("wrapped_path.friction", got, needs, why, try_)
    return mu


def check_rod(rod: CosseratRod, partners: Sequence[object]) -> None:
    """Raise ModelError for rods that can have no contact, and rods inside themselves."""
    radius = rod.section.radius
    if not radius > 0.0:
        got, needs = f"a {type(rod.section).__name__} without a radius", "a section with one"
        why, try_ = "contacts act at the surface.", "give outer_radius."
        raise ModelError("wrapped_path.rod.section", got, needs, why, try_)
    for name in ("left", "right"):
        if isinstance(getattr(rod, name), Turned):
            got, needs = "Turned", "Free, Pinned, Clamped or Driven"
            why, try_ = "this end would turn by the load factor.", "give Driven(angular_velocity)."
            raise ModelError(f"wrapped_path.rod.{name}", got, needs, why, try_)
    if not partners:
        why, try_ = "the rod is wrapped around them.", "give [CylinderPartner(...)]."
        raise ModelError("wrapped_path.partners", "none", "one body or more", why, try_)
    for i, partner in enumerate(partners, start=1):
        where = f"wrapped_path.partners[{i}]"
        if not isinstance(partner, RodPartner):
            got, needs = type(partner).__name__, "a RodPartner"
            why, try_ = "bodies are rigid.", "give CylinderPartner, SpherePartner or PlanePartner."
            raise ModelError(where, got, needs, why, try_)
        if not isinstance(partner, CylinderPartner | SpherePartner):
            continue
        if partner.radius < radius:
            got, needs = f"radius {partner.radius:.6g} m", f"at least that of the rod, {radius:.6g}"
            why = "bent around it the rod has strains of half and more."
            raise ModelError(f"{where}.radius", got, needs, why, "give a thicker body.")
    _check_self_contact(rod)


def check_supports(rod: CosseratRod, mu: float) -> bool:
    """Return whether the ends hold the rod; ModelError if neither they nor friction do."""
    ends = (rod.left, rod.right)
    if any(isinstance(end, Clamped | Driven) for end in ends):
        return True
    if all(isinstance(end, Pinned) for end in ends):
        return True
    if not mu > 0.0:
        pinned = any(isinstance(end, Pinned) for end in ends)
        got = "a pin and a free end" if pinned else "free ends"
        needs = "an end that is clamped or driven, two pins, or friction"
        why, try_ = "nothing holds the rod.", "give left = Clamped(), or friction = Coulomb(0.3)."
        raise ModelError("wrapped_path.rod", f"{got} without friction", needs, why, try_)
    return False


def check_fineness(rod: CosseratRod, nodes: Floats, touching: Ints) -> None:
    """Raise ModelError if the axis turns too much at nodes that touch a body.

    Parameters
    ----------
    nodes : (elements + 1, 3) [m]
    touching : (k,) numbers of nodes, from 0
    """
    inner = touching[(touching > 0) & (touching < rod.elements)]
    turn = _turning(nodes)[inner - 1]
    if not turn.max(initial=0.0) <= _MOST_TURN:
        worst = int(turn.argmax())
        least = math.ceil(rod.elements * float(turn[worst]) / _MOST_TURN)
        got, needs = f"{rod.elements} elements", f"at least {least}"
        why = f"at node {inner[worst] + 1}, on a body, the axis turns by {turn[worst]:.3g} rad"
        why += f" from one element to the next; {_MOST_TURN:g} is the most."
        raise ModelError("wrapped_path.rod.elements", got, needs, why, f"give {least}.")


def _turning(nodes: Floats) -> Floats:
    """Return (elements - 1,) angles between neighbouring chords [rad]."""
    chords = np.diff(nodes, axis=0)
    chords /= np.linalg.norm(chords, axis=1)[:, None]
    return np.asarray(np.arccos(np.clip((chords[1:] * chords[:-1]).sum(axis=1), -1.0, 1.0)))


def check_gaps(gap: Floats, radius: float) -> None:
    """Raise ModelError if the given rod is inside a body, with its gaps (k,) [m]."""
    deepest = -float(gap.min(initial=0.0))
    if not deepest <= _TOUCHING * radius:
        got, needs = f"a rod {deepest:.6g} m inside a body", "an axis at least one radius outside"
        why, try_ = "surfaces may touch, but not overlap.", "move the centreline."
        raise ModelError("wrapped_path.rod.centreline", got, needs, why, try_)


def _check_self_contact(rod: CosseratRod) -> None:
    depth = self_overlap(rod, rod.nodes())
    if depth > 1e-3:
        distance = (2.0 - depth) * rod.section.radius
        got = f"axes {distance:.6g} m apart"
        needs = f"at least twice the radius, {2.0 * rod.section.radius:.6g}"
        why = "turns do not touch each other here."
        raise ModelError("wrapped_path.rod.centreline", got, needs, why, "give a larger pitch.")


def self_overlap(rod: CosseratRod, nodes: Floats) -> float:
    """Return how deep the rod is inside itself at its nodes (elements + 1, 3), over its radius.

    Neighbours within half a circle of contact do not count.
    """
    from scipy.spatial import cKDTree

    radius = rod.section.radius
    pairs = cKDTree(nodes).query_pairs(2.0 * radius, output_type="ndarray")
    along = np.pi * radius * rod.elements / rod.rest_length
    pairs = pairs[np.abs(pairs[:, 0] - pairs[:, 1]) > along + 1.0]
    apart = np.linalg.norm(nodes[pairs[:, 0]] - nodes[pairs[:, 1]], axis=1)
    return float(2.0 - apart.min(initial=2.0 * radius) / radius)
