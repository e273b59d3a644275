"""Tractions, residual and tangent of one pass of contact: one body against one partner.

A pass loads its own body alone. The traction per reference area is T n / J - J* t, where J is the
ratio of current to reference area of the partner, and J* that of the own body if the law gives t
per current area, else 1. A rigid partner is one more node, its translation, which takes the
opposite force. Two deformable bodies make two passes. T(g) is the normal traction, positive in
pressure, n the unit normal of the partner, and t the friction traction of the return map

    t_tr = eps (x_p - x_s),   t = t_tr if |t_tr| <= s, else s t_tr / |t_tr|,

with the closest point x_p, the origin of slip x_s, the penalty eps and the sliding threshold s.
`ContactPass.evaluate` calls `own_points`, `tractions`, `loads` and `tangents`, in this order.

These are sweeps over the integration points of a pass in NumPy: boundaries have few points, so that
compiled code would be no faster. Points are the last axis of every array. Sums have a fixed order,
so that results of a point do not depend on the others. The number d of components and that of
coordinates of a surface, m = d - 1, follow from array shapes; recorded vectors have three entries.

Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(62).
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
from stiction.solids.contact.curves import derivative_layout
from stiction.solids.dimensions import area_derivatives, crossed, dot, positive_definite, solve

__all__ = [
    "OUT",
    "ContactKinematics",
    "ContactState",
    "loads",
    "own_points",
    "tangents",
    "tractions",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# columns of the record of each point, with units of the plane; the third entries of vectors are
# then zero. Areas A are reference areas of the own boundary, weighted for integration:
#   GAP [m], PRESSURE: normal traction T / STRETCH [Pa], SHEAR: tangential traction [Pa]
#   STATE: NONE, STICKS or SLIDES; THRESHOLD of sliding and EXCESS of the trial traction [Pa]
#   HEAT of friction in the step, SPRING: energy of the stick spring [J/m]
#   POTENTIAL of adhesion [J/m], BY_ATTRACTION: its derivative by the attraction factor [J/m]
#   STRETCH of the partner at the closest point, OWN_STRETCH: current over reference area [1]
#   WEIGHT: A [m], ORIGIN, ORIGIN_2: coordinates of the origin of slip [m]
#   X, Y, Z: place of the point [m], FORCE on the own body [N/m], SLIP in the step [m]
#   NORMAL of the partner [1]; of the mortar method FRICTION_FORCE A t [N/m], SLIP_STEP [m]
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
    FRICTION_FORCE,
    SLIP_STEP,
) = range(29)
OUT = 29
# recorded values of points without a partner, where they are not zero
_UNKNOWN = {GAP: np.inf, ORIGIN: np.nan, ORIGIN_2: np.nan}
# entries of the settings of a pass: tangential penalty [Pa/m]; whether t is per current area;
# whether J is computed, else 1; factor of tensile tractions; factor of the threshold of points that
# stuck; depth of the adhesive potential [J/m^2]
PENALTY, PER_CURRENT, WITH_STRETCH, ATTRACTION, STICK_RATIO, DEPTH = range(6)
# fraction of points: if fewer have tractions, tangents are computed for these alone. Chosen: it
# affects the time only
_MOSTLY_ACTIVE = 0.8
# rows of a point on a boundary: position, tangents a_a, their derivatives a_a,b; of shape
# functions: value, then derivatives along the surface coordinates
PLACE, ALONG = range(2)
VALUE, RATE = range(2)
# most coordinates of a surface
_MAX_COORDINATES = 2
# requested states in addition to those of `return_map_points`: no friction; a point that stuck,
# whose threshold is multiplied by the stick ratio
FREE, STUCK = -3, -2
# recorded friction states: none, stick, slip
NONE, STICKS, SLIDES = 0.0, 1.0, 2.0


class ContactKinematics(NamedTuple):
    """Kinematics of the partner at the closest points, one for each point of the own boundary.

    Parameters
    ----------
    coordinate : (m, p) reference length along the partner at the closest points [m]
    span : (m, p) derivative of the coordinate with respect to xi of the element
    closest_functions, origin_functions : (rows, n, p) shape functions at the closest points and at
        the origins of slip
    closest_places, reference_places, origin_places : (rows, d, p) closest points in the current
        and in the reference state, and origins of slip, with tangents and their derivatives
    """

    coordinate: Floats
    span: Floats
    closest_functions: Floats
    origin_functions: Floats
    closest_places: Floats
    reference_places: Floats
    origin_places: Floats


class ContactState(NamedTuple):
    """Kinematics and tractions of contact points, for tangents.

    Parameters
    ----------
    has_closest : (p,) whether a point has a closest point on its partner
    frictional : (p,) whether friction acts on it
    normal_traction, slope : (p,) normal traction T [Pa] and dT/dg [Pa/m]
    by_gap, by_stretch : (p,) derivatives of the threshold [Pa/m], [Pa]
    area_ratio : (p,) J*, current over reference area if t is per current area, else 1
    surface, slide : (SURFACE, d, p) and (SLIDE, d, p) rows of `interface_rates` and of
        `interface_tractions`
    """

    has_closest: Bools
    frictional: Bools
    normal_traction: Floats
    slope: Floats
    by_gap: Floats
    by_stretch: Floats
    area_ratio: Floats
    surface: Floats
    slide: Floats


def summed(functions: Floats, values: Floats) -> Any:
    """Return the sum of functions (n, p) times values at nodes (..., n, p), in fixed order."""
    total = functions[0] * values[..., 0, :]
    for k in range(1, functions.shape[0]):
        total = total + functions[k] * values[..., k, :]
    return total


def lengths(vectors: Floats) -> Any:
    """Return the lengths of vectors (d, p)."""
    return np.sqrt(dot(vectors, vectors))


def own_points(nodes: Ints, functions: Floats, x: Floats, length: Floats, out: Floats) -> Floats:
    """Record places and stretches of the own points; return d area / d tangents (m, d, p).

    Parameters
    ----------
    nodes : (n, p) of each point
    functions : (1 + m, n, p), VALUE and from RATE on
    x : positions of all nodes, (nodes, d)
    length : (p,) area of the reference tangents
    out : (OUT, p)
    """
    d = x.shape[1]
    now = np.take(np.ascontiguousarray(x.T), nodes, axis=1)
    out[X : X + d] = summed(functions[VALUE], now)
    tangents = np.stack([summed(rate, now) for rate in functions[RATE:]])
    normal = crossed(tangents)
    size = lengths(normal)
    out[OWN_STRETCH] = size / length
    return area_derivatives(tangents, normal / size)


def _surface_at(
    points: Floats, with_stretch: bool, kinematics: ContactKinematics, s: Floats
) -> tuple[Floats, Any]:
    """Fill in the partner's surface at the closest points; return gaps and stretches.

    `s` (SURFACE, d, p) has the rows of `interface_rates`; `points` (d, p) are the own points.
    g = (x_k - x_p) . n, eq. (8); the stretch is the ratio of current to reference area, eq. (10).
    """
    places, d = kinematics.closest_places, points.shape[0]
    m = d - 1
    # unit normal and gap, then the rows of `s`: tangents, second derivatives, reference state
    normal = crossed(places[ALONG:d])
    s[NORMAL, :d] = normal / lengths(normal)
    gap = dot(points - places[PLACE], s[NORMAL])
    s[TANGENT : TANGENT + m, :d] = places[ALONG:d]
    rows = [(TURN, places)]
    if with_stretch:
        s[REFERENCE : REFERENCE + m, :d] = kinematics.reference_places[ALONG:d]
        rows.append((REFERENCE_TURN, kinematics.reference_places))
    for row, a, b in derivative_layout(m).pairs:
        for first, values in rows:
            s[first + _MAX_COORDINATES * a + b, :d] = s[first + _MAX_COORDINATES * b + a, :d] = (
                values[row]
            )
    s[STRETCHING, :m], stretch = 0.0, np.ones_like(gap)
    if with_stretch:
        stretch = surface_stretch(m, s)
    projected_surface(gap, m, s)
    return gap, stretch


def _slide_rows(d: int) -> int:
    """Return the number of rows of the array `slide` for d components: MODULUS has d rows."""
    return MODULUS + d


def _return_map(
    requested: Ints,
    threshold: Floats,
    settings: Floats,
    kinematics: ContactKinematics,
    slide: Floats,
) -> Bools:
    """Fill in the tangential traction of points with a history; return which of them slip.

    The trial traction is the penalty times the vector from the origin of slip to the closest point.
    `slide` has the rows of `interface_tractions`: TRIAL, TRACTION, INCREMENT of slip, MODULUS.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32).
    """
    penalty = float(settings[PENALTY])
    trial = penalty * (kinematics.closest_places[PLACE] - kinematics.origin_places[PLACE])
    frictional = requested != FREE
    slide[TRIAL] = np.where(frictional, trial, 0.0)
    bound = settings[STICK_RATIO] * threshold
    sticks = dot(trial, trial) < bound * bound
    states = np.where(requested == STUCK, np.where(sticks, STICK, DECIDE), requested)
    slips = return_map_points(slide, slide.shape[1], threshold, penalty, states)
    none = ~frictional | (slips & (threshold <= 0.0))
    slide[TRACTION, :, none] = 0.0
    slide[INCREMENT, :, ~frictional] = 0.0
    return slips


def _record_friction(
    slips: Bools,
    penalty: float,
    kinematics: ContactKinematics,
    history: Floats,
    state: ContactState,
    out: Floats,
) -> None:
    """Record friction heat, stored energy, new origins of slip and slip.

    Parameters
    ----------
    slips : (p,) from `_return_map`
    penalty : eps [Pa/m]
    kinematics, state : of the partner, and of the contact points
    history : (m, p) coordinates of the origins of slip at the last accepted step [m]
    out : (OUT, p) record, changed in place
    """
    # the origin of slip moves by the slip, in coordinates along the partner: eq-so-return in
    # docs/theory/solids
    traction, slip = state.slide[TRACTION], state.slide[INCREMENT]
    d = slip.shape[0]
    tangents = kinematics.closest_places[ALONG:d]
    recorded = state.frictional & ((out[THRESHOLD] > 0.0) | ~slips)
    weight = out[WEIGHT] * state.area_ratio
    metric = np.stack([np.stack([dot(a, b) for b in tangents]) for a in tangents])
    coordinate_change = solve(metric, np.stack([dot(slip, a) for a in tangents])) * kinematics.span
    for column, value in (
        (STATE, np.where(slips, SLIDES, STICKS)),
        (HEAT, weight * dot(traction, slip)),
        (SPRING, weight * dot(traction, traction) / (2.0 * penalty)),
        *((ORIGIN + a, history[a] + coordinate_change[a]) for a in range(d - 1)),
    ):
        out[column] = np.where(recorded, value, out[column])
    # where a point has just lost friction, its last slip still counts in the energy balance
    for p in range(d):
        out[SLIP_X + p] = np.where(state.frictional, slip[p], out[SLIP_X + p])


def _record(
    gap: Floats,
    tensile: Bools,
    tangent: Floats,
    settings: Floats,
    c_n: Floats,
    state: ContactState,
    out: Floats,
) -> None:
    """Record tractions, potential and force of every point.

    `gap` (p,) and `tensile` (p,) are gaps and whether T < 0; `c_n` is the table of the normal law;
    other arguments are those of `tractions`.
    """
    traction, trial = state.slide[TRACTION], state.slide[TRIAL]
    d = traction.shape[0]
    w, j = out[WEIGHT], state.area_ratio
    pressure = state.normal_traction / out[STRETCH]
    out[GAP], out[PRESSURE] = gap, pressure
    # in the plane the component along the own boundary, in space the magnitude
    shear = dot(traction, tangent[0]) if d < 3 else lengths(traction)
    out[SHEAR] = -j * shear
    out[EXCESS] = lengths(trial) - out[THRESHOLD]
    # attraction scales the well of the potential, not its repulsive wall
    psi = adhesion_potential(gap, c_n)
    well = np.where(tensile, psi, -settings[DEPTH])
    out[POTENTIAL] = w * (psi + (settings[ATTRACTION] - 1.0) * well)
    out[BY_ATTRACTION] = w * well
    normal = out[NORMAL_X : NORMAL_X + d]
    out[FORCE_X : FORCE_X + d] = w * (pressure * normal - j * traction)


def tractions(
    out: Floats,
    tangent: Floats,
    requested: Ints,
    normal: Bools,
    kinematics: ContactKinematics,
    history: Floats,
    settings: Floats,
    tables: tuple[Floats, Floats],
) -> ContactState:
    """Fill in gap, tractions and forces of each point; return the state from which tangents follow.

    Points beyond the end or the centre of curvature of their partner are omitted: beyond the centre
    of curvature of a concave partner the projection is a maximum of the distance, not a minimum.

    Parameters
    ----------
    out : (OUT, p), filled in; see the names above
    tangent : (m, d, p) d area / d tangents, from `own_points`; in the plane the unit tangent
    requested : (p,) states of the return map, FREE, or STUCK
    normal : (p,) whether the closest point is an orthogonal projection on the partner
    kinematics : of the partner at closest points and origins of slip
    history : (m, p) coordinates of the origins of slip at the last accepted step [m]
    settings : of the pass
    tables : of adhesion and friction

    Source: Mergel, Scheibert, Sauer 2021, eqs (33)-(35), (38), (39).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    c_n, c_t = tables
    m, d, count = tangent.shape
    # gap, normal traction, sliding threshold, and the factor of attraction on tension
    s, slide = np.empty((SURFACE, d, count)), np.zeros((_slide_rows(d), d, count))
    gap, stretch = _surface_at(out[X : X + d], settings[WITH_STRETCH] > 0.0, kinematics, s)
    traction, slope = adhesion(gap, c_n)
    threshold, by_gap, by_stretch = slide_threshold(gap, traction, slope, stretch, c_t)
    tensile = traction < 0.0
    traction = np.where(tensile, settings[ATTRACTION] * traction, traction)
    slope = np.where(tensile, settings[ATTRACTION] * slope, slope)
    area_ratio = out[OWN_STRETCH] if settings[PER_CURRENT] > 0.0 else np.ones(count)
    out[STRETCH], out[THRESHOLD] = stretch, threshold
    out[ORIGIN : ORIGIN + m] = kinematics.coordinate
    out[NORMAL_X : NORMAL_X + d] = s[NORMAL]
    # the inverse from `projected_surface` is positive definite up to the centres of curvature
    has_closest = normal & positive_definite(s[INVERSE : INVERSE + m, :m])
    frictional = requested != FREE
    slips = np.ones(count, dtype=bool)
    if frictional.any():
        slips = _return_map(requested, threshold, settings, kinematics, slide)
    state = ContactState(
        has_closest, frictional, traction, slope, by_gap, by_stretch, area_ratio, s, slide
    )
    _record(gap, tensile, tangent, settings, c_n, state, out)
    if frictional.any():
        _record_friction(slips, float(settings[PENALTY]), kinematics, history, state, out)
    if not has_closest.all():
        # points without a closest point have a place and an area, and no other values
        for column in set(range(OUT)) - {X, Y, Z, OWN_STRETCH, WEIGHT}:
            out[column, ~has_closest] = _UNKNOWN.get(column, 0.0)
    return state


def loads(places: Ints, functions: Floats, out: Floats, rigid: bool, residual: Floats) -> None:
    """Subtract forces on the own body from its residual; add them to that of a rigid partner.

    Parameters
    ----------
    places : (p, r, d) indices of the components of each row's node in the residual
    functions : (1 + m, n, p) of the own boundary
    out : (OUT, p) record with the forces
    rigid : whether the partner is rigid
    residual : (nodes, d), changed in place [N/m]
    """
    forces = out[FORCE_X : FORCE_X + places.shape[2]].T
    n = functions.shape[1]
    nodal_forces = np.empty(places.shape)
    nodal_forces[:, :n] = -(functions[VALUE].T[:, :, None] * forces[:, None])
    if rigid:
        nodal_forces[:, n] = forces
    np.add.at(residual.reshape(-1), places.ravel(), nodal_forces.ravel())


def _derivatives(with_stretch: bool, out: Floats, state: ContactState) -> tuple[Floats, Floats]:
    """Return the derivatives of normal and tangential tractions, (BLOCKS, d, d, p) each."""
    gap, stretch, s = out[GAP], out[STRETCH], state.surface
    d = s.shape[1]
    m = d - 1
    normal, shear = np.zeros((2, BY_RATE + m, d, d, gap.size))
    normal_derivatives(gap, state.normal_traction, state.slope, stretch, m, s, normal)
    by_stretch = state.by_stretch
    if not with_stretch:
        # tractions do not depend on the stretch of the partner
        by_stretch = np.zeros_like(gap)
        back = state.normal_traction / stretch * s[NORMAL]
        for a in range(m):
            normal[BY_RATE + a] += back[:, None] * s[DUAL + a]
    if state.frictional.any():
        slide = state.slide
        tangential_derivatives(gap, state.by_gap, by_stretch, stretch, m, s, slide, shear)
        if not state.frictional.all():
            shear[..., ~state.frictional] = 0.0
    return normal, shear


def _acting(state: ContactState) -> Ints:
    """Return the points with a traction or a derivative of it that is not zero."""
    by_friction = (state.by_gap != 0.0) | (state.by_stretch != 0.0)
    by_friction |= (state.slide[TRACTION] != 0.0).any(axis=0) | (state.slide[MODULUS:] != 0.0).any(
        (0, 1)
    )
    acts = (state.normal_traction != 0.0) | (state.slope != 0.0) | state.frictional & by_friction
    return np.flatnonzero(state.has_closest & acts)


def tangents(
    rigid: bool,
    functions: Floats,
    kinematics: ContactKinematics,
    settings: Floats,
    tangent: Floats,
    length: Floats,
    out: Floats,
    state: ContactState,
    values: Floats,
) -> None:
    """Fill in the tangent blocks of each point, (p, rows d, columns d).

    Rows are own nodes, then that of a rigid partner. Columns are the same for a rigid partner, else
    own nodes, and the partner's nodes at the closest point and at the origin of slip.

    Parameters
    ----------
    rigid : whether the partner is
    functions : (1 + m, n, p) of the own boundary
    kinematics, settings, tangent, out, state : the arguments and the result of `tractions`
    length : (p,) area of the reference tangents of the own boundary
    values : filled in, zero where no force acts

    Source: Mergel, Scheibert, Sauer 2021, eqs (40)-(62).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    active = _acting(state)
    if active.size < _MOSTLY_ACTIVE * state.has_closest.size:
        # most points of a wide boundary are far from their partner: their blocks are zero
        values[...] = 0.0
        if not active.size:
            return
        functions, tangent, length = functions[..., active], tangent[..., active], length[active]
        kinematics = ContactKinematics._make(part[..., active] for part in kinematics)
        state = ContactState._make(part[..., active] for part in state)
        part = np.empty((active.size, *values.shape[1:]))
        tangents(
            rigid, functions, kinematics, settings, tangent, length, out[:, active], state, part
        )
        values[active] = part
        return
    n, p = functions.shape[1:]
    normal, shear = _derivatives(settings[WITH_STRETCH] > 0.0, out, state)
    j = state.area_ratio
    # derivatives of the total traction by the own point, the closest point and its tangents
    by_point = normal[BY_POINT] - j * shear[BY_POINT]
    by_translation = shear[BY_PARTNER] + shear[BY_ORIGIN] if rigid else shear[BY_PARTNER]
    by_partner = -normal[BY_POINT] - j * by_translation
    columns = functions[VALUE][:, None, None] * by_point
    if settings[PER_CURRENT] > 0.0:
        # derivative of the current area by own nodes
        for rate, area_derivative in zip(functions[RATE:], tangent, strict=True):
            by_area = -state.slide[TRACTION][:, None] * area_derivative
            columns += by_area * rate[:, None, None] * (1.0 / length)
    if rigid:
        columns = np.concatenate([columns, by_partner[None]])
    else:
        first = by_partner * kinematics.closest_functions[VALUE][:, None, None]
        for a in range(tangent.shape[0]):
            by_rate = normal[BY_RATE + a] - j * shear[BY_RATE + a]
            first += by_rate * kinematics.closest_functions[RATE + a][:, None, None]
        second = -j * shear[BY_ORIGIN] * kinematics.origin_functions[VALUE][:, None, None]
        columns = np.concatenate([columns, first, second])
    # one block per column, of components of the force by those of the node
    blocks = np.ascontiguousarray(columns.transpose(3, 1, 0, 2))
    w = np.where(state.has_closest, out[WEIGHT], 0.0)
    blocks_of_nodes = values.reshape(p, -1, *blocks.shape[1:])
    weighted = (-w * functions[VALUE]).T
    blocks_of_nodes[:, :n] = weighted[:, :, None, None, None] * blocks[:, None]
    if rigid:
        blocks_of_nodes[:, n] = w[:, None, None, None] * blocks
    if not state.has_closest.all():
        blocks_of_nodes[~state.has_closest] = 0.0
