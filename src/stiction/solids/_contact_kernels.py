"""Tractions, residual and tangent of one pass of contact: one body against one partner.

A pass loads its own body alone: traction T n / J - t per reference area, with t counted per
current area where the law says so. A rigid partner is one more node, its translation, which
takes the opposite force. Two deformable bodies make two passes.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.laws._adhesion_kernels import (
    DECIDE,
    SLIP,
    STICK,
    adhesion,
    adhesion_potential,
    return_map_point,
    slide_threshold,
)
from stiction.laws._interface_kernels import (
    normal_derivatives,
    projected_surface,
    surface_stretch,
    tangential_derivatives,
)
from stiction.numerics.jit import kernel
from stiction.solids._curve_kernels import along, basis_at, curve_at, locate, rigid_at, rigid_place

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
    Verified by: tests/unit/solids/test_contact.py::test_tangents_against_differences
    """
    nodes, functions, derivatives, areas = own
    rigid, shape, node, pnodes, extraction, weights, knots = partner
    c_n, c_t, settings = laws
    origin, has_origin, stuck, held = history
    n, m = nodes.shape[1], pnodes.shape[1]
    points = areas.shape[1]
    f, g, b = np.empty((3, m)), np.empty((3, m)), np.empty((3, 4))
    place, before, root = np.empty((3, 2)), np.empty((3, 2)), np.empty((3, 2))
    a, da = np.empty((1, 2)), np.empty((1, 1, 2))
    ra, rda = np.empty((1, 2)), np.empty((1, 1, 2))
    normal, point, tangent = np.empty(2), np.empty(2), np.empty(2)
    c, dual, bend, change = np.empty((1, 1)), np.empty((1, 2)), np.empty((2, 2)), np.zeros(1)
    kn, qn = np.empty((2, 2)), np.empty((1, 2, 2))
    kt, pt, st, qt = np.empty((2, 2)), np.empty((2, 2)), np.empty((2, 2)), np.empty((1, 2, 2))
    trial, t, slip, turn = np.empty(2), np.empty(2), np.empty(2), np.empty((2, 2))
    direction, block = np.empty(2), np.empty((2, 2))
    left = 0
    for s in range(nodes.shape[0]):
        for i in range(points):
            q = s * points + i
            out[q] = 0.0
            if wants:
                values[q] = 0.0
            w = areas[s, i]
            point[:] = 0.0
            tangent[:] = 0.0
            base0 = base1 = 0.0
            for k in range(n):
                own_node = nodes[s, k]
                point[0] += functions[s, i, k] * x[own_node, 0]
                point[1] += functions[s, i, k] * x[own_node, 1]
                tangent[0] += derivatives[s, i, k, 0] * x[own_node, 0]
                tangent[1] += derivatives[s, i, k, 0] * x[own_node, 1]
                base0 += derivatives[s, i, k, 0] * reference[own_node, 0]
                base1 += derivatives[s, i, k, 0] * reference[own_node, 1]
            length = math.sqrt(base0 * base0 + base1 * base1)
            size = math.sqrt(tangent[0] * tangent[0] + tangent[1] * tangent[1])
            stretch_k = size / length
            tangent /= size
            out[q, X], out[q, Y], out[q, WEIGHT] = point[0], point[1], w
            out[q, OWN_STRETCH] = stretch_k
            out[q, GAP] = np.inf
            out[q, ORIGIN] = np.nan
            if not rigid and not found[2][q]:
                left += 1
                continue
            coordinate = _partner_at(q, point, partner, found, x, reference, f, b, place, before)
            area = math.sqrt(place[1, 0] ** 2 + place[1, 1] ** 2)
            normal[0], normal[1] = place[1, 1] / area, -place[1, 0] / area
            gap = (point[0] - place[0, 0]) * normal[0] + (point[1] - place[0, 1]) * normal[1]
            a[0], da[0, 0] = place[1], place[2]
            projected_surface(gap, normal, a, da, c, dual, bend)
            if not c[0, 0] > 0.0:
                left += 1
                continue
            stretch, change[0] = 1.0, 0.0
            if not rigid and settings[USE_STRETCH] > 0.0:
                ra[0], rda[0, 0] = before[1], before[2]
                stretch = surface_stretch(a, da, ra, rda, change)
            traction, slope = adhesion(gap, c_n)
            threshold, by_gap, by_stretch = slide_threshold(gap, traction, slope, stretch, c_t)
            pulls = traction < 0.0
            weight = settings[ATTRACTION] if pulls else 1.0
            traction, slope = weight * traction, weight * slope
            # stick or slide
            e_s, xi_s = 0, 0.0
            t[:] = 0.0
            slip[:] = 0.0
            trial[:] = 0.0
            rubs = settings[RUBS] > 0.0 and has_origin[q]
            state = SLIP
            j = stretch_k if settings[PER_CURRENT] > 0.0 else 1.0
            if rubs:
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
                state = return_map_point(
                    trial, threshold, settings[PENALTY], wanted, t, slip, turn, direction
                )
                if threshold <= 0.0 and state == SLIP:
                    t[:] = 0.0
            pull = math.sqrt(trial[0] * trial[0] + trial[1] * trial[1])
            # what is told
            out[q, GAP] = gap
            out[q, NORMAL_X], out[q, NORMAL_Y] = normal[0], normal[1]
            out[q, PRESSURE] = traction / stretch
            out[q, SHEAR] = -j * (t[0] * tangent[0] + t[1] * tangent[1])
            out[q, STRETCH] = stretch
            out[q, THRESHOLD] = threshold
            out[q, EXCESS] = pull - threshold
            # the well of the potential scales with the attraction, the wall does not
            psi = adhesion_potential(gap, c_n)
            well = psi if pulls else -settings[DEPTH]
            out[q, POTENTIAL] = w * (psi + (settings[ATTRACTION] - 1.0) * well)
            out[q, BY_ATTRACTION] = w * well
            out[q, ORIGIN] = coordinate
            if (rubs and threshold > 0.0) or (rubs and state == STICK):
                out[q, STATE] = STICKS if state == STICK else SLIDES
                scale = 2.0 / (knots[found[0][q] + 1] - knots[found[0][q]]) if not rigid else 1.0
                moved = (slip[0] * a[0, 0] + slip[1] * a[0, 1]) / (area * area) / scale
                out[q, ORIGIN] = origin[q] + moved
                out[q, HEAT] = w * j * (t[0] * slip[0] + t[1] * slip[1])
                out[q, SPRING] = w * j * (t[0] * t[0] + t[1] * t[1]) / (2.0 * settings[PENALTY])
                out[q, SLIP_X], out[q, SLIP_Y] = slip[0], slip[1]
            p0 = out[q, PRESSURE] * normal[0] - j * t[0]
            p1 = out[q, PRESSURE] * normal[1] - j * t[1]
            out[q, FORCE_X], out[q, FORCE_Y] = w * p0, w * p1
            for k in range(n):
                residual[nodes[s, k], 0] -= functions[s, i, k] * w * p0
                residual[nodes[s, k], 1] -= functions[s, i, k] * w * p1
            if rigid:
                residual[node, 0] += w * p0
                residual[node, 1] += w * p1
            if not wants:
                continue
            normal_derivatives(
                gap, traction, slope, stretch, change, normal, a, c, dual, bend, kn, qn
            )
            if settings[USE_STRETCH] == 0.0 or rigid:
                # no stretch of the partner, and none of its derivatives
                for k in range(2):
                    for p in range(2):
                        qn[0, k, p] += traction / stretch * normal[k] * dual[0, p]
            if rubs:
                tangential_derivatives(
                    gap,
                    settings[PENALTY],
                    by_gap,
                    by_stretch if settings[USE_STRETCH] > 0.0 and not rigid else 0.0,
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
            columns = n + 1 if rigid else n + 2 * m
            for col in range(columns):
                for k in range(2):
                    for p in range(2):
                        if col < n:
                            block[k, p] = (kn[k, p] - j * kt[k, p]) * functions[s, i, col]
                            if settings[PER_CURRENT] > 0.0:
                                grown = tangent[p] * derivatives[s, i, col, 0] / length
                                block[k, p] -= t[k] * grown
                        elif rigid:
                            block[k, p] = -kn[k, p] - j * (pt[k, p] + st[k, p])
                        elif col < n + m:
                            fc, dfc = f[0, col - n], f[1, col - n]
                            block[k, p] = (-kn[k, p] - j * pt[k, p]) * fc
                            block[k, p] += (qn[0, k, p] - j * qt[0, k, p]) * dfc
                        else:
                            block[k, p] = -j * st[k, p] * g[0, col - n - m]
                for r in range(n):
                    for k in range(2):
                        for p in range(2):
                            values[q, 2 * r + k, 2 * col + p] = (
                                -w * functions[s, i, r] * block[k, p]
                            )
                if rigid:
                    for k in range(2):
                        for p in range(2):
                            values[q, 2 * n + k, 2 * col + p] = w * block[k, p]
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
