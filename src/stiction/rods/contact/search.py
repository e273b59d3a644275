"""Update of the contacts of a run by a search over all pairs of bodies.

The search finds local minima of the distance of contact curves (`search_kernels`), and points of
rods near spheres and planes. `refresh_slots` compares them with the contacts of the run.

A minimum is of the kind `CROSSING` (isolated closest points) or `LINE` (a point of nearly parallel
rods, with a constant position on the first one). Of a contact of the run `reach` is the sum of both
radii, and `at_end` the body at whose end it lies; see `kernels.Contact`. Declared contacts are the
first `ContactState.known` ones; the search neither adds nor removes them. `ContactState.search`
calls `refresh_slots` at the start, when nodes have moved by a fraction of the margin, and when a
step requests a search.
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

__all__ = ["curve_tables", "refresh_slots", "search_pairs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A candidate is an old contact if their positions differ by less than a limit, in elements. Both
# solve the same equations at the same state, so that they agree to the tolerance of Newton's
# method unless the minimum has moved within the last step; the limits were chosen between this
# tolerance and the distance of different contacts:
# two crossings, which are an element or more apart where they are not at an end
_SAME = 0.25
# a point near a sphere, whose candidate is the nearest node, within an element of it. Minima at
# nodes are two elements or more apart
_SAME_SPHERE = 1.0
# two points of a line contact, which are one element apart on the first rod. On the second one they
# are this number of elements of the first apart, and less than the distance of two strands
_SAME_LINE = 0.5
# a crossing and a point of a line contact, in whose place it appears when the angle grows
_SAME_TURNED = 0.05
# a point that rounding puts at an end of a rod in one of both and beside it in the other; minima
# are merged at a tenth of this (`search_kernels.SAME_PLACE`)
_SAME_END = 1e-3
# displacement of nodes, over the margin, after which the search is repeated. Two bodies that
# approach each other by this much close 0.8 of the margin, and a pair is found before it touches
_REPEAT = 0.4
# a contact found at a gap below `margin` is removed at a gap above this many margins, so that it is
# not added and removed in turn
_REMOVE = 2.0
# largest number of candidates, 60 MB; they are many more than a run can hold as contacts
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

    tables, self_separation, curves = curve_tables(flat, self_contact)
    while True:
        candidates = Candidate.table(capacity)
        count = find_candidates(flat.r, *tables, margin, self_separation, flat.rule, candidates)
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

    All arrays are (c,) for the c bodies that are curves. Separations are the least arc lengths
    between two points of a rod in contact with itself [elements], bodies the indices of the bodies.
    """
    # a section without radius has no surface; `Rods` refuses it in contacts, so that it occurs in
    # the search for overlaps only
    curves = np.flatnonzero((flat.shape == ck.CURVE) & (flat.radius > 0.0))
    elements, radius, ds = flat.count[curves], flat.radius[curves], flat.ds[curves]
    # a rod bent no tighter than to its own radius a touches itself, at the distance 2 a, half a
    # circle away at the nearest. Points within four elements share nodes of the cubic spline
    separation_along = np.ceil(np.pi * radius / ds + 4.0)
    # a separation of more than all elements excludes contacts of a body with itself
    bends = self_contact & (curves < flat.rods)
    self_separation = np.where(bends, separation_along, elements + 1.0).astype(np.int64)
    return (flat.first[curves], elements, radius, ds), self_separation, curves


def _partner_candidates(flat: Flat, margin: float) -> list[Candidates]:
    """Return points of rods that are near spheres and planes."""
    partners = np.flatnonzero(flat.shape != ck.CURVE).tolist()
    near = {b: _near_plane if flat.shape[b] == ck.PLANE else _near_sphere for b in partners}
    return [near[b](flat, a, b, margin) for b in partners for a in range(flat.rods)]


def _near_sphere(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of rod a at local minima of the distance from sphere b, if near."""
    nodes = flat.r[:, flat.first[a] : flat.first[a] + flat.count[a] + 1]
    distance = np.linalg.norm(nodes - flat.r[:, flat.first[b], None], axis=0)
    padded = np.concatenate([[np.inf], distance, [np.inf]])
    least = (distance <= padded[:-2]) & (distance < padded[2:])
    # the rod between two nodes is nearer than its nearest node, by half an element at most
    near = np.flatnonzero(
        least & (distance < flat.radius[a] + flat.radius[b] + margin + flat.ds[a])
    )
    return _at_nodes(a, b, near, distance, ck.CROSSING)


def _near_plane(flat: Flat, a: int, b: int, margin: float) -> Candidates:
    """Return the nodes of rod a that are near plane b.

    Contact points are nodes, as many as there are degrees of freedom normal to the plane. At
    midpoints of elements, alternating forces would have no effect and would be indeterminate.

    The three nodes of a plane are its origin and two points one metre from it, at a right angle
    (`kernels.PLANE`), so that the cross product below is the unit normal.
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
    state.limit = _REPEAT * margin
    candidates = search_pairs(flat, margin, search.self_contact, max(64, 2 * search.max_contacts))
    used = np.zeros(len(candidates), dtype=bool)
    for c in range(state.size):
        one = state.contacts[c]
        if one.mode == ck.EMPTY:
            continue
        used |= _matches(one, candidates, flat.ds)
        far = one.distance > one.reach + _REMOVE * margin
        if c >= state.known and one.mode == ck.OPEN and far:
            one.mode = ck.EMPTY
    free = [c for c in range(state.known, state.size) if state.contacts[c].mode == ck.EMPTY]
    new = candidates[~used]
    if len(new) > len(free):
        raise ModelError(
            "ContactSearch.max_contacts",
            search.max_contacts,
            f"room for at least {state.size - state.known - len(free) + len(new)} contacts",
            f"{len(new)} more pairs of points came closer than `margin`.",
            "raise `max_contacts`, or lower `margin`.",
        )
    for c, candidate in zip(free, new, strict=False):
        state.open_slot(c, candidate)


def _matches(one: ck.Contact, candidates: Candidates, ds: Floats) -> npt.NDArray[np.bool_]:
    """Return (candidates,) whether each is the same pair of points as a contact.

    ds : (bodies,) lengths of elements [m]
    """
    place, kind = candidates["place"], candidates["kind"]
    rods = candidates["bodies"] == np.asarray(one.bodies)
    away = np.abs(place - np.asarray(one.place))
    pair = rods.all(axis=1)
    if one.kind == ck.LINE:
        limit = np.where(kind == ck.LINE, _SAME_LINE, _SAME_TURNED)
        pair &= away[:, 0] < limit
        if one.shape == ck.CURVE:
            # another strand of the second rod may be near the same point of the first
            first, second = ds[np.asarray(one.bodies)]
            pair &= away[:, 1] * second < 2.0 * _SAME_LINE * first + _SAME * second
        return np.asarray(pair)
    # contacts at an end of the first rod and of the second are different, however near
    ends = np.zeros(len(candidates), dtype=np.int64)
    if one.shape == ck.CURVE:
        count = np.asarray(one.elements)
        is_end = (place <= 0.0) | (place >= count)
        ends = is_end[:, 0] + 2 * is_end[:, 1]
    end = one.at_end
    same_end = away.max(axis=1, initial=0.0) < _SAME_END
    pair &= ~((ends > 0) & (end > 0) & (ends != end)) | same_end
    near = away.max(axis=1, initial=0.0) < (_SAME_SPHERE if one.shape == ck.SPHERE else _SAME)
    return np.asarray(pair & (kind == ck.CROSSING) & near)
