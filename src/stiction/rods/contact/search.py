"""Update of the contacts of a run by a search over all pairs of bodies.

The search finds local minima of the distance of contact curves (`search_kernels`), and points of
rods near spheres and planes. `refresh_slots` compares them with the contacts of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.rods.contact import kernels as ck

if TYPE_CHECKING:
    from stiction.rods.assembly import Flat
    from stiction.rods.contact.search_kernels import Candidates
    from stiction.rods.contact.state import ContactState

__all__ = ["refresh_slots", "search_pairs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# difference of positions, in elements, below which two closest points are the same contact
_SAME = 0.25
_MOST_PAIRS = 1 << 20


def search_pairs(flat: Flat, margin: float, self_contact: bool, capacity: int) -> Candidates:
    """Return pairs of near points: candidates for contacts.

    Parameters
    ----------
    margin : gap below which a pair is near [m]
    self_contact : whether pairs of a rod with itself are included
    capacity : initial number of candidates
    """
    from stiction.rods.contact.search_kernels import Candidate, find_candidates

    tables, separation, curves = curve_tables(flat, self_contact)
    while True:
        candidates = Candidate.table(capacity)
        count = find_candidates(flat.r, *tables, margin, separation, flat.rule, candidates)
        if count <= capacity or capacity >= _MOST_PAIRS:
            candidates = candidates[: min(count, capacity)]
            break
        capacity = min(2 * int(count), _MOST_PAIRS)
    if flat.rods == len(flat.first):
        return candidates
    candidates["bodies"] = curves[candidates["bodies"]]
    # partners have no contacts with each other
    parts = [candidates[candidates["bodies"][:, 0] < flat.rods], *_partner_candidates(flat, margin)]
    return Candidate.joined(parts)


def curve_tables(
    flat: Flat, self_contact: bool
) -> tuple[tuple[Ints, Ints, Floats, Floats], Ints, Ints]:
    """Return (first slots, numbers of elements, radii, element lengths), separations, bodies.

    All arrays are (c,) for the c bodies that are curves. Separations are the least distances of
    self-contacts along a rod [elements], bodies the indices of the bodies.
    """
    # a section without radius has no surface
    curves = np.flatnonzero((flat.shape == ck.CURVE) & (flat.radius > 0.0))
    elements, radius, ds = flat.count[curves], flat.radius[curves], flat.ds[curves]
    # a rod cannot touch itself within half a circle of its radius
    separation_along = np.ceil(np.pi * radius / ds + 4.0)
    bends = self_contact & (curves < flat.rods)
    separation = np.where(bends, separation_along, elements + 1.0).astype(np.int64)
    return (flat.first[curves], elements, radius, ds), separation, curves


def _partner_candidates(flat: Flat, margin: float) -> list[Candidates]:
    """Return points of rods that are near spheres and planes."""
    candidates_of_partners = []
    for b in np.flatnonzero(flat.shape != ck.CURVE).tolist():
        for a in range(flat.rods):
            candidates_of_partners.append(_near_sphere(flat, a, b, margin))
            if flat.shape[b] == ck.PLANE:
                candidates_of_partners[-1] = _near_plane(flat, a, b, margin)
    return candidates_of_partners


def _near_sphere(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of rod a at local minima of the distance from sphere b, if near."""
    nodes = flat.r[:, flat.first[a] : flat.first[a] + flat.count[a] + 1]
    distance = np.linalg.norm(nodes - flat.r[:, flat.first[b], None], axis=0)
    padded = np.concatenate([[np.inf], distance, [np.inf]])
    least = (distance <= padded[:-2]) & (distance < padded[2:])
    near = np.flatnonzero(
        least & (distance < flat.radius[a] + flat.radius[b] + margin + flat.ds[a])
    )
    return _at_nodes(a, b, near, distance, ck.CROSSING)


def _near_plane(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of rod a that are near plane b.

    Contact points are nodes, as many as there are degrees of freedom normal to the plane. At
    midpoints of elements, alternating forces would have no effect and would be indeterminate.
    """
    nodes = flat.r[:, flat.first[a] : flat.first[a] + flat.count[a] + 1]
    origin, one, two = flat.r[:, flat.first[b] : flat.first[b] + 3].T
    height = np.cross(one - origin, two - origin) @ (nodes - origin[:, None])
    near = np.flatnonzero(height < flat.radius[a] + margin)
    return _at_nodes(a, b, near, height, ck.LINE)


def _at_nodes(a: int, b: int, near: Ints, far: Floats, kind: int) -> Candidates:
    """Return candidates at nodes `near` of rod a; `far` are distances of all nodes from b [m]."""
    from stiction.rods.contact.search_kernels import Candidate

    candidates = Candidate.table(near.size)
    candidates["bodies"], candidates["place"][:, 0] = (a, b), near
    candidates["distance"], candidates["sine"], candidates["kind"] = far[near], 1.0, kind
    return candidates


def refresh_slots(state: ContactState, flat: Flat) -> None:
    """Add contacts for new pairs to the table, and remove open ones with large gaps."""
    search = state.rods.search
    if search is None:
        return
    margin = search.margin * float(flat.radius[: flat.rods].min())
    state.limit = 0.4 * margin
    candidates = search_pairs(flat, margin, search.self_contact, max(64, 2 * search.max_contacts))
    used = np.zeros(len(candidates), dtype=bool)
    for c in range(state.size):
        one = state.contacts[c]
        if one.mode == ck.EMPTY:
            continue
        used |= _matches(one, candidates)
        far = one.distance > one.reach + 2.0 * margin
        if c >= state.known and one.mode == ck.OPEN and far:
            one.mode = ck.EMPTY
    free = [c for c in range(state.known, state.size) if state.contacts[c].mode == ck.EMPTY]
    new = candidates[~used]
    if len(new) > len(free):
        raise ModelError(
            "ContactSearch.max_contacts",
            search.max_contacts,
            f"room for at least {state.size - state.known - len(free) + len(new)} contacts",
            f"{len(new)} more pairs came near each other.",
            "raise `max_contacts`, or lower `margin`.",
        )
    for c, candidate in zip(free, new, strict=False):
        state.open_slot(c, candidate)


def _matches(one: ck.Contact, candidates: Candidates) -> npt.NDArray[np.bool_]:
    """Return (candidates,) whether each is the same pair of points as a contact."""
    place, kind = candidates["place"], candidates["kind"]
    rods = candidates["bodies"] == np.asarray(one.bodies)
    away = np.abs(place - np.asarray(one.place))
    pair = rods.all(axis=1)
    if one.kind == ck.LINE:
        return np.asarray(pair & (away[:, 0] < np.where(kind == ck.LINE, 0.5, 0.05)))
    # contacts at an end of the first rod and of the second are different, however near
    ends = np.zeros(len(candidates), dtype=np.int64)
    if one.shape == ck.CURVE:
        count = np.asarray(one.elements)
        is_end = (place <= 0.0) | (place >= count)
        ends = is_end[:, 0] + 2 * is_end[:, 1]
    end = one.at_end
    pair &= ~((ends > 0) & (end > 0) & (ends != end)) | (away.max(axis=1, initial=0.0) < 1e-3)
    near = away.max(axis=1, initial=0.0) < _SAME
    return np.asarray(pair & (kind == ck.CROSSING) & near)
