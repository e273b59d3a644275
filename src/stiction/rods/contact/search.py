"""Update of the contacts of a run by a search over all pairs of rods."""

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

# two places nearer than this, in elements, are the same contact: both are nearest points
_SAME = 0.25
_MOST_PAIRS = 1 << 20


def search_pairs(flat: Flat, margin: float, self_contact: bool, capacity: int) -> Candidates:
    """Return the pairs that are near.

    Parameters
    ----------
    margin : gap below which a pair counts as near [m]
    self_contact : whether pairs of one rod with itself are wanted
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
    """Return first slots, elements, radii, lengths of elements of all curves, and two more.

    These are the least separation of self-contacts in elements, and the numbers of the bodies.
    """
    # a section without a radius has no surface
    curves = np.flatnonzero((flat.shape == ck.CURVE) & (flat.radius > 0.0))
    elements, radius, ds = flat.count[curves], flat.radius[curves], flat.ds[curves]
    # along one rod, surfaces nearer than half a circle of contact are the rod itself
    separation_along = np.ceil(np.pi * radius / ds + 4.0)
    bends = self_contact & (curves < flat.rods)
    separation = np.where(bends, separation_along, elements + 1.0).astype(np.int64)
    return (flat.first[curves], elements, radius, ds), separation, curves


def _partner_candidates(flat: Flat, margin: float) -> list[Candidates]:
    """Return places of rods that are near spheres and planes."""
    candidates_of_partners = []
    for b in np.flatnonzero(flat.shape != ck.CURVE).tolist():
        for a in range(flat.rods):
            candidates_of_partners.append(_near_sphere(flat, a, b, margin))
            if flat.shape[b] == ck.PLANE:
                candidates_of_partners[-1] = _near_plane(flat, a, b, margin)
    return candidates_of_partners


def _near_sphere(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of a rod that are nearest to a sphere, and near it."""
    nodes = flat.r[:, flat.first[a] : flat.first[a] + flat.count[a] + 1]
    far = np.linalg.norm(nodes - flat.r[:, flat.first[b], None], axis=0)
    wide = np.concatenate([[np.inf], far, [np.inf]])
    least = (far <= wide[:-2]) & (far < wide[2:])
    near = np.flatnonzero(least & (far < flat.radius[a] + flat.radius[b] + margin + flat.ds[a]))
    return _at_nodes(a, b, near, far, ck.CROSSING)


def _near_plane(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of a rod that are near a plane.

    As many points as nodes can move: at the middles of elements, forces that alternate from one
    to the next would do nothing, and there would be no saying how large they are.
    """
    nodes = flat.r[:, flat.first[a] : flat.first[a] + flat.count[a] + 1]
    origin, one, two = flat.r[:, flat.first[b] : flat.first[b] + 3].T
    high = np.cross(one - origin, two - origin) @ (nodes - origin[:, None])
    near = np.flatnonzero(high < flat.radius[a] + margin)
    return _at_nodes(a, b, near, high, ck.LINE)


def _at_nodes(a: int, b: int, near: Ints, far: Floats, kind: int) -> Candidates:
    """Return candidates at nodes `near` of a rod, `far` away from a partner."""
    from stiction.rods.contact.search_kernels import Candidate

    candidates = Candidate.table(near.size)
    candidates["bodies"], candidates["place"][:, 0] = (a, b), near
    candidates["distance"], candidates["sine"], candidates["kind"] = far[near], 1.0, kind
    return candidates


def refresh_slots(state: ContactState, flat: Flat) -> None:
    """Open slots for new pairs, and empty those of pairs with large gaps."""
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
            "ContactSearch.most",
            search.max_contacts,
            f"room for at least {state.size - state.known - len(free) + len(new)} contacts",
            f"{len(new)} more pairs came near each other.",
            "raise `most`, or lower `margin`.",
        )
    for c, candidate in zip(free, new, strict=False):
        state.open_slot(c, candidate)


def _matches(one: ck.Contact, candidates: Candidates) -> npt.NDArray[np.bool_]:
    """Return which candidates are the pair of a contact."""
    place, kind = candidates["place"], candidates["kind"]
    rods = candidates["bodies"] == np.asarray(one.bodies)
    away = np.abs(place - np.asarray(one.place))
    pair = rods.all(axis=1)
    if one.kind == ck.LINE:
        return np.asarray(pair & (away[:, 0] < np.where(kind == ck.LINE, 0.5, 0.05)))
    # an end of the first rod and one of the second are different places, however near
    ends = np.zeros(len(candidates), dtype=np.int64)
    if one.shape == ck.CURVE:
        count = np.asarray(one.elements)
        on = (place <= 0.0) | (place >= count)
        ends = on[:, 0] + 2 * on[:, 1]
    mine = one.at_end
    pair &= ~((ends > 0) & (mine > 0) & (ends != mine)) | (away.max(axis=1, initial=0.0) < 1e-3)
    near = away.max(axis=1, initial=0.0) < _SAME
    return np.asarray(pair & (kind == ck.CROSSING) & near)
