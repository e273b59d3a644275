"""Tractions, residual and tangent of one pass of contact: one body against one partner.

A pass loads its own body alone: traction T n / J - t per reference area, with t counted per
current area where the law says so. A rigid partner is one more node, its translation, which
takes the opposite force. Two deformable bodies make two passes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesion_kernels import (
    DECIDE,
    SLIP,
    STICK,
    adhesion,
    adhesion_potential,
    return_map_point,
    slide_threshold,
)
from stiction.laws.interface_kernels import (
    normal_derivatives,
    projected_surface,
    surface_stretch,
    tangential_derivatives,
)
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel
from stiction.solids.contact.curve_kernels import (
    along,
    basis_at,
    curve_at,
    locate,
    rigid_at,
    rigid_place,
)

__all__ = ["OUT", "contact_pass", "scatter"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# columns of what a pass tells about each point
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
    ORIGIN,
    X,
    Y,
    FORCE_X,
    FORCE_Y,
    SLIP_X,
    SLIP_Y,
    WEIGHT,
    BY_ATTRACTION,
    NORMAL_X,
    NORMAL_Y,
) = range(22)
OUT = 22
# entries of the settings of a pass
PENALTY, PER_CURRENT, USE_STRETCH, ATTRACTION, STICK_RATIO, RUBS, DEPTH = range(7)
# states told: no friction there, sticks, slides
NONE, STICKS, SLIDES = 0.0, 1.0, 2.0


@kernel
def _partner_at(
    q: int,
    point: Floats,
    partner: Any,
    found: Any,
    x: Floats,
    reference: Floats,
    f: Floats,
    b: Floats,
    place: Floats,
    before: Floats,
) -> float:
    """Fill in functions f, place (3, d) and reference place of the nearest point.

    Returns the coordinate of the nearest point along the whole partner.
    """
    rigid, shape, node, nodes, extraction, weights, knots = partner
    if rigid:
        s = rigid_at(point[0] - x[node, 0], point[1] - x[node, 1], shape, place)
        place[0, 0] += x[node, 0]
        place[0, 1] += x[node, 1]
        f[:] = 0.0
        f[0, 0] = 1.0
        return s
    e, xi = found[0][q], found[1][q]
    basis_at(xi, extraction[e], weights[e], b, f)
    curve_at(nodes[e], f, x, place)
    curve_at(nodes[e], f, reference, before)
    return along(e, xi, knots)


@kernel
def _own_at(
    s: int, i: int, own: Any, x: Floats, reference: Floats, point: Floats, tangent: Floats
) -> tuple[float, float]:
    """Fill in place and unit tangent of an own point; return its stretch and |dX/dxi|."""
    nodes, functions, derivatives, _ = own
    point[:] = 0.0
    tangent[:] = 0.0
    base0 = base1 = 0.0
    for k in range(nodes.shape[1]):
        node = nodes[s, k]
        point[0] += functions[s, i, k] * x[node, 0]
        point[1] += functions[s, i, k] * x[node, 1]
        tangent[0] += derivatives[s, i, k, 0] * x[node, 0]
        tangent[1] += derivatives[s, i, k, 0] * x[node, 1]
        base0 += derivatives[s, i, k, 0] * reference[node, 0]
        base1 += derivatives[s, i, k, 0] * reference[node, 1]
    length = math.sqrt(base0 * base0 + base1 * base1)
    size = math.sqrt(tangent[0] * tangent[0] + tangent[1] * tangent[1])
    tangent /= size
    return size / length, length


@kernel
def _rub(
    q: int,
    partner: Any,
    history: Any,
    settings: Floats,
    threshold: float,
    x: Floats,
    place: Floats,
    origin_at: Any,
    slide: Any,
) -> int:
    """Fill in the tangential traction of a point with a history; return stick or slip.

    Source: Mergel, Scheibert, Sauer 2021, eqs (27)-(32).
    """
    rigid, shape, node, pnodes, extraction, weights, knots = partner
    origin, _, stuck, held = history
    g, b, root = origin_at
    trial, t, slip, turn, direction = slide
    if rigid:
        rigid_place(origin[q], shape, root[0])
        root[0, 0] += x[node, 0]
        root[0, 1] += x[node, 1]
        g[:] = 0.0
        g[0, 0] = 1.0
    else:
        e_s, xi_s = locate(origin[q], knots)
        basis_at(xi_s, extraction[e_s], weights[e_s], b, g)
        curve_at(pnodes[e_s], g, x, root)
    trial[0] = settings[PENALTY] * (place[0, 0] - root[0, 0])
    trial[1] = settings[PENALTY] * (place[0, 1] - root[0, 1])
    wanted = held[q]
    if wanted == DECIDE and stuck[q] and settings[STICK_RATIO] > 1.0:
        # a point that stuck lets go at a higher traction
        most = settings[STICK_RATIO] * threshold
        if trial[0] * trial[0] + trial[1] * trial[1] < most * most:
            wanted = STICK
    state = return_map_point(trial, threshold, settings[PENALTY], wanted, t, slip, turn, direction)
    if threshold <= 0.0 and state == SLIP:
        t[:] = 0.0
    return state


@kernel
def _tell_friction(
    row: Floats,
    state: int,
    origin: float,
    scale: float,
    j: float,
    penalty: float,
    place: Floats,
    slide: Any,
) -> None:
    """Fill in what friction did at a point; `scale` is d zeta / d xi of the partner there."""
    _, t, slip, _, _ = slide
    w = row[WEIGHT]
    row[STATE] = STICKS if state == STICK else SLIDES
    metric = place[1, 0] * place[1, 0] + place[1, 1] * place[1, 1]
    moved = (slip[0] * place[1, 0] + slip[1] * place[1, 1]) / metric * scale
    row[ORIGIN] = origin + moved
    row[HEAT] = w * j * (t[0] * slip[0] + t[1] * slip[1])
    row[SPRING] = w * j * (t[0] * t[0] + t[1] * t[1]) / (2.0 * penalty)
    row[SLIP_X], row[SLIP_Y] = slip[0], slip[1]


@kernel
def _tell(
    row: Floats,
    told: tuple[float, float, float, float, float, bool],
    settings: Floats,
    c_n: Floats,
    normal: Floats,
    tangent: Floats,
    slide: Any,
) -> tuple[float, float]:
    """Fill in what is told about a point; return the traction on its body."""
    gap, traction, threshold, stretch, j, pulls = told
    trial, t, _, _, _ = slide
    w = row[WEIGHT]
    row[GAP] = gap
    row[NORMAL_X], row[NORMAL_Y] = normal[0], normal[1]
    row[PRESSURE] = traction / stretch
    row[SHEAR] = -j * (t[0] * tangent[0] + t[1] * tangent[1])
    row[STRETCH] = stretch
    row[THRESHOLD] = threshold
    row[EXCESS] = math.sqrt(trial[0] * trial[0] + trial[1] * trial[1]) - threshold
    # the well of the potential scales with the attraction, the wall does not
    psi = adhesion_potential(gap, c_n)
    well = psi if pulls else -settings[DEPTH]
    row[POTENTIAL] = w * (psi + (settings[ATTRACTION] - 1.0) * well)
    row[BY_ATTRACTION] = w * well
    p0 = row[PRESSURE] * normal[0] - j * t[0]
    p1 = row[PRESSURE] * normal[1] - j * t[1]
    row[FORCE_X], row[FORCE_Y] = w * p0, w * p1
    return p0, p1


@kernel
def _fill_blocks(
    s: int,
    i: int,
    own: Any,
    rigid: bool,
    m: int,
    size: tuple[float, float, float],
    tangent: Floats,
    t: Floats,
    f: Floats,
    g: Floats,
    derivatives: Any,
    block: Floats,
    values: Floats,
) -> None:
    """Fill in the tangent blocks of one point, (rows 2, columns 2).

    Parameters
    ----------
    size : reference area of the point, what its shear counts per, and 1 / |dX/dxi| where that
        is the current area, which grows with the boundary, else 0
    f, g : functions of the partner at the nearest point and at the origin of slip, (3, m)
    derivatives : of normal and tangential traction, as in `_interface_kernels`
    """
    nodes, functions, slopes, _ = own
    w, j, grows = size
    kn, qn, kt, pt, st, qt = derivatives
    n = nodes.shape[1]
    for col in range(n + 1 if rigid else n + 2 * m):
        for k in range(2):
            for p in range(2):
                if col < n:
                    block[k, p] = (kn[k, p] - j * kt[k, p]) * functions[s, i, col]
                    block[k, p] -= t[k] * tangent[p] * slopes[s, i, col, 0] * grows
                elif rigid:
                    block[k, p] = -kn[k, p] - j * (pt[k, p] + st[k, p])
                elif col < n + m:
                    block[k, p] = (-kn[k, p] - j * pt[k, p]) * f[0, col - n]
                    block[k, p] += (qn[0, k, p] - j * qt[0, k, p]) * f[1, col - n]
                else:
                    block[k, p] = -j * st[k, p] * g[0, col - n - m]
        for r in range(n):
            for k in range(2):
                for p in range(2):
                    values[2 * r + k, 2 * col + p] = -w * functions[s, i, r] * block[k, p]
        if rigid:
            for k in range(2):
                for p in range(2):
                    values[2 * n + k, 2 * col + p] = w * block[k, p]


@kernel
def _traction_derivatives(
    gap: float,
    slopes: tuple[float, float, float, float],
    stretch: float,
    penalty: float,
    thins: bool,
    rubs: bool,
    surface: Any,
    slide: Any,
    derivatives: Any,
) -> None:
    """Fill in the derivatives of both tractions at one point.

    Parameters
    ----------
    slopes : normal traction, its slope, and those of the threshold by gap and by stretch
    thins : whether the partner's stretch counts
    surface : change of the stretch, normal, tangents, and what `projected_surface` filled in
    """
    traction, slope, by_gap, by_stretch = slopes
    change, normal, a, _, c, dual, bend = surface
    _, _, _, turn, direction = slide
    kn, qn, kt, pt, st, qt = derivatives
    normal_derivatives(gap, traction, slope, stretch, change, normal, a, c, dual, bend, kn, qn)
    if not thins:
        # no stretch of the partner, and none of its derivatives
        for k in range(2):
            for p in range(2):
                qn[0, k, p] += traction / stretch * normal[k] * dual[0, p]
    if rubs:
        tangential_derivatives(
            gap,
            penalty,
            by_gap,
            by_stretch if thins else 0.0,
            stretch,
            change,
            normal,
            a,
            c,
            dual,
            turn,
            direction,
            kt,
            pt,
            st,
            qt,
        )
    else:
        kt[:] = 0.0
        pt[:] = 0.0
        st[:] = 0.0
        qt[:] = 0.0


@kernel
def _scratch(m: int) -> Any:
    """Return arrays that serve all points in turn, for a partner of m functions."""
    places = (
        np.empty((3, m)),
        np.empty((3, m)),
        np.empty((3, 4)),
        np.empty((3, 2)),
        np.empty((3, 2)),
        np.empty((3, 2)),
        np.empty(2),
        np.empty(2),
    )
    # change of the stretch, normal, tangents and their change, c, dual vectors, bend
    surface = (
        np.zeros(1),
        np.empty(2),
        np.empty((1, 2)),
        np.empty((1, 1, 2)),
        np.empty((1, 1)),
        np.empty((1, 2)),
        np.empty((2, 2)),
    )
    # trial, traction, slip, tangent and direction of the return map
    slide = (np.empty(2), np.empty(2), np.empty(2), np.empty((2, 2)), np.empty(2))
    derivatives = (
        np.empty((2, 2)),
        np.empty((1, 2, 2)),
        np.empty((2, 2)),
        np.empty((2, 2)),
        np.empty((2, 2)),
        np.empty((1, 2, 2)),
    )
    return places, surface, slide, derivatives, np.empty((2, 2))


@kernel
def _surface_there(
    thins: bool, point: Floats, place: Floats, before: Floats, surface: Any
) -> tuple[float, float, bool]:
    """Fill in the partner's surface at the nearest point; return gap, stretch, whether it is one.

    Beyond the centre of curvature of a hollow partner the point is the farthest, not the nearest.
    """
    change, normal, a, da, c, dual, bend = surface
    area = math.sqrt(place[1, 0] ** 2 + place[1, 1] ** 2)
    normal[0], normal[1] = place[1, 1] / area, -place[1, 0] / area
    gap = (point[0] - place[0, 0]) * normal[0] + (point[1] - place[0, 1]) * normal[1]
    a[0], da[0, 0] = place[1], place[2]
    projected_surface(gap, normal, a, da, c, dual, bend)
    stretch, change[0] = 1.0, 0.0
    if thins:
        ra, rda = np.empty((1, 2)), np.empty((1, 1, 2))
        ra[0], rda[0, 0] = before[1], before[2]
        stretch = surface_stretch(a, da, ra, rda, change)
    return gap, stretch, c[0, 0] > 0.0


@kernel
def _span(knots: Vector, element: int) -> float:
    """Return d zeta / d xi of an element of the partner."""
    return 0.5 * (knots[element + 1] - knots[element])


@kernel
def _load(
    s: int, i: int, own: Any, rigid: bool, node: int, f0: float, f1: float, residual: Floats
) -> None:
    """Subtract the force on the own body from its residual; a rigid partner takes the opposite."""
    nodes, functions, _, _ = own
    for k in range(nodes.shape[1]):
        residual[nodes[s, k], 0] -= functions[s, i, k] * f0
        residual[nodes[s, k], 1] -= functions[s, i, k] * f1
    if rigid:
        residual[node, 0] += f0
        residual[node, 1] += f1


@kernel
def contact_pass(
    own: Any,
    partner: Any,
    laws: Any,
    history: Any,
    found: Any,
    x: Floats,
    reference: Floats,
    wants: bool,
    residual: Floats,
    values: Floats,
    out: Floats,
) -> int:
    """Add the forces of one pass, fill in the tangent blocks, and tell about each point.

    Parameters
    ----------
    own : nodes (s, n), functions (s, q, n), derivatives (s, q, n, 1), areas (s, q)
    partner : whether it is rigid, its shape, its node, and of a boundary nodes (t, m),
        extraction, weights and knots (t + 1,)
    laws : tables of adhesion and friction, settings of the pass
    history : origin of slip along the partner (p,), whether there is one (p,), whether the
        point stuck at the last accepted step (p,), state held fixed (p,)
    found : element (p,), xi (p,) and normality (p,) of the nearest points
    x, reference : places of all nodes, (nodes, 2)
    wants : whether the tangent is wanted
    residual : (nodes, 2), added to
    values : (p, rows 2, columns 2) blocks, filled in. Rows are own nodes, then a rigid
        partner's; columns the same, or own nodes, partner's nodes at the nearest point and at
        the origin of slip
    out : (p, OUT), filled in; see the names above

    Returns
    -------
    How many points are near enough to their partner's end or centre of curvature that they
    were left out.

    Source: Mergel, Scheibert, Sauer 2021, eqs (33)-(35), (38)-(62).
    Verified by: tests/unit/solids/contact/test_model.py::test_tangents_against_differences
    """
    areas = own[3]
    rigid = partner[0]
    c_n, c_t, settings = laws
    origin, has_origin = history[0], history[1]
    m = partner[3].shape[1]
    places, surface, slide, derivatives, block = _scratch(m)
    f, g, b, place, before, root, point, tangent = places
    normal, trial, t, slip = surface[1], slide[0], slide[1], slide[2]
    thins = settings[USE_STRETCH] > 0.0 and not rigid
    left = 0
    for q in range(areas.size):
        s, i = q // areas.shape[1], q % areas.shape[1]
        out[q] = 0.0
        if wants:
            values[q] = 0.0
        w = areas[s, i]
        stretch_k, length = _own_at(s, i, own, x, reference, point, tangent)
        out[q, X], out[q, Y], out[q, WEIGHT] = point[0], point[1], w
        out[q, OWN_STRETCH], out[q, GAP], out[q, ORIGIN] = stretch_k, np.inf, np.nan
        if not rigid and not found[2][q]:
            left += 1
            continue
        coordinate = _partner_at(q, point, partner, found, x, reference, f, b, place, before)
        gap, stretch, near = _surface_there(thins, point, place, before, surface)
        if not near:
            left += 1
            continue
        traction, slope = adhesion(gap, c_n)
        threshold, by_gap, by_stretch = slide_threshold(gap, traction, slope, stretch, c_t)
        pulls = traction < 0.0
        if pulls:
            traction, slope = settings[ATTRACTION] * traction, settings[ATTRACTION] * slope
        trial[:] = 0.0
        t[:] = 0.0
        slip[:] = 0.0
        state = SLIP
        rubs = settings[RUBS] > 0.0 and has_origin[q]
        if rubs:
            state = _rub(q, partner, history, settings, threshold, x, place, (g, b, root), slide)
        j = stretch_k if settings[PER_CURRENT] > 0.0 else 1.0
        told = (gap, traction, threshold, stretch, j, pulls)
        p0, p1 = _tell(out[q], told, settings, c_n, normal, tangent, slide)
        out[q, ORIGIN] = coordinate
        if rubs and (threshold > 0.0 or state == STICK):
            scale = 1.0 if rigid else _span(partner[6], found[0][q])
            _tell_friction(out[q], state, origin[q], scale, j, settings[PENALTY], place, slide)
        _load(s, i, own, rigid, partner[2], w * p0, w * p1, residual)
        if wants:
            slopes = (traction, slope, by_gap, by_stretch)
            _traction_derivatives(
                gap, slopes, stretch, settings[PENALTY], thins, rubs, surface, slide, derivatives
            )
            grows = 1.0 / length if settings[PER_CURRENT] > 0.0 else 0.0
            size = (w, j, grows)
            _fill_blocks(s, i, own, rigid, m, size, tangent, t, f, g, derivatives, block, values[q])
    return left


@kernel
def scatter(values: Floats, places: Places, rows: Ints, row: Places, data: Floats) -> None:
    """Add blocks to a matrix: values (p, R 2, C 2), places (p, R, C), rows (p, R) nodes."""
    for q in range(places.shape[0]):
        for r in range(places.shape[1]):
            down = row[rows[q, r]]
            for c in range(places.shape[2]):
                at = places[q, r, c]
                data[at] += values[q, 2 * r, 2 * c]
                data[at + 1] += values[q, 2 * r, 2 * c + 1]
                data[at + down] += values[q, 2 * r + 1, 2 * c]
                data[at + down + 1] += values[q, 2 * r + 1, 2 * c + 1]
