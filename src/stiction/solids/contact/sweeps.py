"""Tractions, residual and tangent of one pass of contact: one body against one partner.

A pass loads its own body alone: traction T n / J - t per reference area, with t counted per
current area where the law says so. A rigid partner is one more node, its translation, which
takes the opposite force. Two deformable bodies make two passes.

These are sweeps over the points of a pass in NumPy: boundaries have few points, so that nothing
is gained by compiling them. Points come last in every array. Sums go in the order in which they
are written, and each point is computed as if it were alone. The number d of components and that of
coordinates of a surface, m = d - 1, are shapes of arrays; recorded vectors have room for three.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.interface_rates import (
    BY_ORIGIN,
    BY_PARTNER,
    BY_POINT,
    BY_RATE,
    DUAL,
    INVERSE,
    NORMAL,
    REFERENCE,
    REFERENCE_TURN,
    STRETCHING,
    SURFACE,
    TANGENT,
    TURN,
    normal_derivatives,
    projected_surface,
    surface_stretch,
    tangential_derivatives,
)
from stiction.laws.interface_tractions import (
    DECIDE,
    INCREMENT,
    MODULUS,
    STICK,
    TRACTION,
    TRIAL,
    adhesion,
    adhesion_potential,
    return_map_points,
    slide_threshold,
)
from stiction.solids.contact.curves import rows_of
from stiction.solids.dimensions import bends, crossed, rests, solve

__all__ = ["OUT", "ContactState", "Meeting", "loads", "own_points", "tangents", "tractions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# columns of what a pass tells about each point; a plane leaves the last of vectors empty
(
    GAP,
    PRESSURE,
    SHEAR,
    STATE,
    EXCESS,
    THRESHOLD,
    HEAT,
    SPRING,
    POTENTIAL,
    STRETCH,
    OWN_STRETCH,
    WEIGHT,
    BY_ATTRACTION,
    ORIGIN,
    ORIGIN_2,
    X,
    Y,
    Z,
    FORCE_X,
    FORCE_Y,
    FORCE_Z,
    SLIP_X,
    SLIP_Y,
    SLIP_Z,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    RUB,
    SLID,
) = range(29)
OUT = 29
# recorded values of points without a partner, where they are not zero
_UNKNOWN = {GAP: np.inf, ORIGIN: np.nan, ORIGIN_2: np.nan}
# entries of the settings of a pass
PENALTY, PER_CURRENT, THINS, ATTRACTION, STICK_RATIO, DEPTH = range(6)
# part of the points below which tangents are made for those that act alone
_FEW = 0.8
# rows of a point on a boundary: its place, then tangents and their changes; of functions: the
# value, then derivatives
PLACE, ALONG = range(2)
VALUE, RATE = range(2)
# most coordinates of a surface
_MOST = 2
# states wanted beside those of `return_map_points`: no friction; a point that stuck lets go at
# a higher traction
FREE, STUCK = -3, -2
# recorded friction states: none, stick, slip
NONE, STICKS, SLIDES = 0.0, 1.0, 2.0


class Meeting(NamedTuple):
    """The partner as the points of a boundary meet it.

    Parameters
    ----------
    coordinate : (m, p) of the nearest points along the partner [m]
    span : (m, p) change of that with the coordinates of the element
    near, far : (rows, n, p) functions at the nearest points and at the origins of slip
    place, before, root : (rows, d, p) nearest points now and on the reference boundary, and the
        origins of slip, with tangents and their changes
    """

    coordinate: Floats
    span: Floats
    near: Floats
    far: Floats
    place: Floats
    before: Floats
    root: Floats


class ContactState(NamedTuple):
    """Kinematics and tractions of contact points, from which tangents are made.

    Parameters
    ----------
    meets : (p,) whether a point has a nearest one on its partner
    rubs : (p,) whether it has friction
    pull, slope : (p,) normal traction [Pa] and its derivative by the gap [Pa/m]
    by_gap, by_stretch : (p,) derivatives of the threshold [Pa/m], [Pa]
    per_area : (p,) what shear counts per
    surface, slide : (SURFACE, d, p) and (SLIDE, d, p), named rows
    """

    meets: Bools
    rubs: Bools
    pull: Floats
    slope: Floats
    by_gap: Floats
    by_stretch: Floats
    per_area: Floats
    surface: Floats
    slide: Floats


def summed(functions: Floats, values: Floats) -> Any:
    """Return the sum of functions (n, p) times values at nodes (..., n, p), in their order."""
    total = functions[0] * values[..., 0, :]
    for k in range(1, functions.shape[0]):
        total = total + functions[k] * values[..., k, :]
    return total


def lengths(vectors: Floats) -> Any:
    """Return the lengths of vectors (d, p)."""
    return np.sqrt(dot(vectors, vectors))


def dot(a: Floats, b: Floats) -> Any:
    """Return the products of vectors (d, p), term after term."""
    total = a[0] * b[0]
    for k in range(1, a.shape[0]):
        total = total + a[k] * b[k]
    return total


def own_points(nodes: Ints, functions: Floats, x: Floats, length: Floats, out: Floats) -> Floats:
    """Fill in place and stretch of the own points; return d area / d tangents (m, d, p).

    Parameters
    ----------
    nodes : (n, p) of each point
    functions : (1 + m, n, p), VALUE and from RATE on
    x : places of all nodes, (nodes, d)
    length : (p,) area of the reference tangents
    out : (OUT, p)
    """
    d = x.shape[1]
    now = np.take(np.ascontiguousarray(x.T), nodes, axis=1)
    out[X : X + d] = summed(functions[VALUE], now)
    along = np.stack([summed(rate, now) for rate in functions[RATE:]])
    normal = crossed(along)
    size = lengths(normal)
    out[OWN_STRETCH] = size / length
    return rests(along, normal / size)


def _surface_at(points: Floats, thins: bool, meets: Meeting, s: Floats) -> tuple[Floats, Any]:
    """Fill in the partner's surface at the nearest points (d, p); return gaps and stretches."""
    there, d = meets.place, points.shape[0]
    m = d - 1
    normal = crossed(there[ALONG:d])
    s[NORMAL, :d] = normal / lengths(normal)
    gap = dot(points - there[PLACE], s[NORMAL])
    s[TANGENT : TANGENT + m, :d] = there[ALONG:d]
    rows = [(TURN, there)]
    if thins:
        s[REFERENCE : REFERENCE + m, :d] = meets.before[ALONG:d]
        rows.append((REFERENCE_TURN, meets.before))
    for row, a, b in rows_of(m).pairs:
        for first, known in rows:
            s[first + _MOST * a + b, :d] = s[first + _MOST * b + a, :d] = known[row]
    s[STRETCHING, :m], stretch = 0.0, np.ones_like(gap)
    if thins:
        stretch = surface_stretch(m, s)
    projected_surface(gap, m, s)
    return gap, stretch


def _slide_rows(d: int) -> int:
    """Return how many rows of SLIDE there are for d components: MODULUS has as many as these."""
    return MODULUS + d


def _rub(wanted: Ints, threshold: Floats, settings: Floats, meets: Meeting, slide: Floats) -> Bools:
    """Fill in the tangential traction of points with a history; return which of them slip.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32).
    """
    penalty = float(settings[PENALTY])
    trial = penalty * (meets.place[PLACE] - meets.root[PLACE])
    rubs = wanted != FREE
    slide[TRIAL] = np.where(rubs, trial, 0.0)
    most = settings[STICK_RATIO] * threshold
    holds = dot(trial, trial) < most * most
    asked = np.where(wanted == STUCK, np.where(holds, STICK, DECIDE), wanted)
    slips = return_map_points(slide, slide.shape[1], threshold, penalty, asked)
    none = ~rubs | (slips & (threshold <= 0.0))
    slide[TRACTION, :, none] = 0.0
    slide[INCREMENT, :, ~rubs] = 0.0
    return slips


def _record_friction(
    slips: Bools, penalty: float, meets: Meeting, history: Floats, state: ContactState, out: Floats
) -> None:
    """Fill in what friction did, where it did anything."""
    traction, slip = state.slide[TRACTION], state.slide[INCREMENT]
    d = slip.shape[0]
    tangents = meets.place[ALONG:d]
    there = state.rubs & ((out[THRESHOLD] > 0.0) | ~slips)
    per = out[WEIGHT] * state.per_area
    metric = np.stack([np.stack([dot(a, b) for b in tangents]) for a in tangents])
    moved = solve(metric, np.stack([dot(slip, a) for a in tangents])) * meets.span
    for column, value in (
        (STATE, np.where(slips, SLIDES, STICKS)),
        (HEAT, per * dot(traction, slip)),
        (SPRING, per * dot(traction, traction) / (2.0 * penalty)),
        *((ORIGIN + a, history[a] + moved[a]) for a in range(d - 1)),
    ):
        out[column] = np.where(there, value, out[column])
    # where friction has just come to its end, the spring that it leaves goes with its last slip
    for p in range(d):
        out[SLIP_X + p] = np.where(state.rubs, slip[p], out[SLIP_X + p])


def _record(
    gap: Floats,
    pulls: Bools,
    tangent: Floats,
    settings: Floats,
    c_n: Floats,
    state: ContactState,
    out: Floats,
) -> None:
    """Fill in tractions, potential and force of every point."""
    traction, trial = state.slide[TRACTION], state.slide[TRIAL]
    d = traction.shape[0]
    w, j = out[WEIGHT], state.per_area
    pressure = state.pull / out[STRETCH]
    out[GAP], out[PRESSURE] = gap, pressure
    # along the own boundary in the plane; in space the magnitude
    along = dot(traction, tangent[0]) if d < 3 else lengths(traction)
    out[SHEAR] = -j * along
    out[EXCESS] = lengths(trial) - out[THRESHOLD]
    # the well of the potential scales with the attraction, the wall does not
    psi = adhesion_potential(gap, c_n)
    well = np.where(pulls, psi, -settings[DEPTH])
    out[POTENTIAL] = w * (psi + (settings[ATTRACTION] - 1.0) * well)
    out[BY_ATTRACTION] = w * well
    normal = out[NORMAL_X : NORMAL_X + d]
    out[FORCE_X : FORCE_X + d] = w * (pressure * normal - j * traction)


def tractions(
    out: Floats,
    tangent: Floats,
    wanted: Ints,
    normal: Bools,
    meets: Meeting,
    history: Floats,
    settings: Floats,
    tables: tuple[Floats, Floats],
) -> ContactState:
    """Fill in gap, tractions and forces of each point; return what tangents need.

    Points near enough to their partner's end or centre of curvature are left out: beyond the
    centre of curvature of a hollow partner the point found is the farthest, not the nearest.

    Parameters
    ----------
    out : (OUT, p), filled in; see the names above
    tangent : (m, d, p) what `own_points` returned
    wanted : (p,) states of the return map, FREE, or STUCK
    normal : (p,) whether the line to the nearest point is normal
    meets : nearest points and origins of slip
    history : (m, p) coordinates of the origins of slip at the last accepted step [m]
    settings : of the pass
    tables : of adhesion and friction

    Source: Mergel, Scheibert, Sauer 2021, eqs (33)-(35), (38), (39).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    c_n, c_t = tables
    m, d, count = tangent.shape
    s, slide = np.empty((SURFACE, d, count)), np.zeros((_slide_rows(d), d, count))
    gap, stretch = _surface_at(out[X : X + d], settings[THINS] > 0.0, meets, s)
    traction, slope = adhesion(gap, c_n)
    threshold, by_gap, by_stretch = slide_threshold(gap, traction, slope, stretch, c_t)
    pulls = traction < 0.0
    traction = np.where(pulls, settings[ATTRACTION] * traction, traction)
    slope = np.where(pulls, settings[ATTRACTION] * slope, slope)
    per_area = out[OWN_STRETCH] if settings[PER_CURRENT] > 0.0 else np.ones(count)
    out[STRETCH], out[THRESHOLD], out[ORIGIN : ORIGIN + m] = stretch, threshold, meets.coordinate
    out[NORMAL_X : NORMAL_X + d] = s[NORMAL]
    # the inverse that `projected_surface` leaves is positive up to the centres of curvature
    found, rubs = normal & bends(s[INVERSE : INVERSE + m, :m]), wanted != FREE
    slips = np.ones(count, dtype=bool)
    if rubs.any():
        slips = _rub(wanted, threshold, settings, meets, slide)
    state = ContactState(found, rubs, traction, slope, by_gap, by_stretch, per_area, s, slide)
    _record(gap, pulls, tangent, settings, c_n, state, out)
    if rubs.any():
        _record_friction(slips, float(settings[PENALTY]), meets, history, state, out)
    if not found.all():
        # of points that meet nothing it is known where they are, and no more
        for column in set(range(OUT)) - {X, Y, Z, OWN_STRETCH, WEIGHT}:
            out[column, ~found] = _UNKNOWN.get(column, 0.0)
    return state


def loads(places: Ints, functions: Floats, out: Floats, rigid: bool, residual: Floats) -> None:
    """Subtract forces on the own body from its residual; a rigid partner takes the opposite.

    Parameters
    ----------
    places : (p, r, d) of the components of each row's node in the residual, point by point
    """
    forces = out[FORCE_X : FORCE_X + places.shape[2]].T
    n = functions.shape[1]
    shares = np.empty(places.shape)
    shares[:, :n] = -(functions[VALUE].T[:, :, None] * forces[:, None])
    if rigid:
        shares[:, n] = forces
    np.add.at(residual.reshape(-1), places.ravel(), shares.ravel())


def _derivatives(thins: bool, out: Floats, state: ContactState) -> tuple[Floats, Floats]:
    """Return the derivatives of normal and tangential tractions, (BLOCKS, d, d, p) each."""
    gap, stretch, s = out[GAP], out[STRETCH], state.surface
    d = s.shape[1]
    m = d - 1
    normal, shear = np.zeros((2, BY_RATE + m, d, d, gap.size))
    normal_derivatives(gap, state.pull, state.slope, stretch, m, s, normal)
    by_stretch = state.by_stretch
    if not thins:
        # no stretch of the partner, and none of its derivatives
        by_stretch = np.zeros_like(gap)
        back = state.pull / stretch * s[NORMAL]
        for a in range(m):
            normal[BY_RATE + a] += back[:, None] * s[DUAL + a]
    if state.rubs.any():
        slide = state.slide
        tangential_derivatives(gap, state.by_gap, by_stretch, stretch, m, s, slide, shear)
        if not state.rubs.all():
            shear[..., ~state.rubs] = 0.0
    return normal, shear


def _acting(state: ContactState) -> Ints:
    """Return the points whose tractions, or their derivatives, are not all zero."""
    rub = (state.by_gap != 0.0) | (state.by_stretch != 0.0)
    rub |= (state.slide[TRACTION] != 0.0).any(axis=0) | (state.slide[MODULUS:] != 0.0).any((0, 1))
    acts = (state.pull != 0.0) | (state.slope != 0.0) | state.rubs & rub
    return np.flatnonzero(state.meets & acts)


def tangents(
    rigid: bool,
    functions: Floats,
    meets: Meeting,
    settings: Floats,
    tangent: Floats,
    length: Floats,
    out: Floats,
    state: ContactState,
    values: Floats,
) -> None:
    """Fill in the tangent blocks of each point, (p, rows d, columns d).

    Rows are own nodes, then a rigid partner's; columns the same, or own nodes, partner's nodes
    at the nearest point and at the origin of slip.

    Parameters
    ----------
    rigid : whether the partner is
    functions : (1 + m, n, p) of the own boundary
    meets, settings, tangent, out, state : the arguments and the result of `tractions`
    length : (p,) area of the reference tangents of the own boundary
    values : filled in, zero where no force acts

    Source: Mergel, Scheibert, Sauer 2021, eqs (40)-(62).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    acts = _acting(state)
    if acts.size < _FEW * state.meets.size:
        # most points of a wide boundary are away from their partner, and have blocks of zeros
        values[...] = 0.0
        if not acts.size:
            return
        functions, tangent, length = functions[..., acts], tangent[..., acts], length[acts]
        meets = Meeting._make(part[..., acts] for part in meets)
        state = ContactState._make(part[..., acts] for part in state)
        part = np.empty((acts.size, *values.shape[1:]))
        tangents(rigid, functions, meets, settings, tangent, length, out[:, acts], state, part)
        values[acts] = part
        return
    n, p = functions.shape[1:]
    normal, shear = _derivatives(settings[THINS] > 0.0, out, state)
    j = state.per_area
    # derivatives of the whole traction
    by_point = normal[BY_POINT] - j * shear[BY_POINT]
    moves = shear[BY_PARTNER] + shear[BY_ORIGIN] if rigid else shear[BY_PARTNER]
    by_partner = -normal[BY_POINT] - j * moves
    columns = functions[VALUE][:, None, None] * by_point
    if settings[PER_CURRENT] > 0.0:
        # the current area grows with the boundary
        for rate, rest in zip(functions[RATE:], tangent, strict=True):
            grows = -state.slide[TRACTION][:, None] * rest
            columns += grows * rate[:, None, None] * (1.0 / length)
    if rigid:
        columns = np.concatenate([columns, by_partner[None]])
    else:
        first = by_partner * meets.near[VALUE][:, None, None]
        for a in range(tangent.shape[0]):
            by_rate = normal[BY_RATE + a] - j * shear[BY_RATE + a]
            first += by_rate * meets.near[RATE + a][:, None, None]
        second = -j * shear[BY_ORIGIN] * meets.far[VALUE][:, None, None]
        columns = np.concatenate([columns, first, second])
    # one block per column, of components of the force by those of the node
    blocks = np.ascontiguousarray(columns.transpose(3, 1, 0, 2))
    w = np.where(state.meets, out[WEIGHT], 0.0)
    made = values.reshape(p, -1, *blocks.shape[1:])
    left = (-w * functions[VALUE]).T
    made[:, :n] = left[:, :, None, None, None] * blocks[:, None]
    if rigid:
        made[:, n] = w[:, None, None, None] * blocks
    if not state.meets.all():
        made[~state.meets] = 0.0
