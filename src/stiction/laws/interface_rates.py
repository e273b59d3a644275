"""Consistent linearisation of the contact tractions, closest-point projection included.

A point x_k of one body has the closest point x_p(xi) on the surface of a partner. The displacement
of either changes the projection, the normal, the gap and the surface stretch. These functions give
the derivatives for the tangent matrix. There are m = 1 surface coordinates in a plane, m = 2 in
space, and d = m + 1 components of a vector:

    d traction = K d x_k + P N(xi_p) du + S N(xi_s) du + sum_b Q[b] N_,b(xi_p) du,

where u are the displacements of the partner's nodes, N its shape functions with the derivatives
N_,b by surface coordinate b, xi_p the coordinates of the closest point and xi_s those of the origin
of slip. K, P, S and Q[b] are (d, d) blocks. For the normal traction P = -K and S = 0. A fixed rigid
partner needs K alone, with a constant stretch of 1. The contact elements of solids assemble these
blocks (`solids.contact`).

Vectors are named rows of one array `s` of shape (SURFACE, 3, ...), derivatives of one of shape
(BLOCKS, 3, 3, ...); the last axes are the points. In a plane the third components and the rows of
the second coordinate are unused. Sums are evaluated in the written order, so that results are
reproducible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.laws.interface_tractions import DIRECTION, MODULUS

__all__ = [
    "BEND",
    "BLOCKS",
    "BY_ORIGIN",
    "BY_PARTNER",
    "BY_POINT",
    "BY_RATE",
    "DUAL",
    "INVERSE",
    "NORMAL",
    "REFERENCE",
    "REFERENCE_TURN",
    "STRETCHING",
    "SURFACE",
    "TANGENT",
    "TURN",
    "normal_derivatives",
    "projected_surface",
    "surface_stretch",
    "tangential_derivatives",
]

Floats = npt.NDArray[np.float64]

# largest number of surface coordinates
_MOST = 2
# rows of the partner's surface at one point: unit normal n, tangents a_a, their derivatives a_{a,b}
# at TURN + 2 a + b, the same of the reference surface, and the derivative of the stretch J_,a
NORMAL, TANGENT, TURN, REFERENCE, REFERENCE_TURN, STRETCHING = 0, 1, 3, 7, 9, 13
# rows filled in by `projected_surface`: [a_ab - gap b_ab]^-1, the dual vectors a^a, d n / d x_k
INVERSE, DUAL, BEND = 14, 16, 18
SURFACE = 21
# derivatives of a traction: by x_k, by N(xi_p) du, by N(xi_s) du, by N_,b(xi_p) du at BY_RATE + b
BY_POINT, BY_PARTNER, BY_ORIGIN, BY_RATE = 0, 1, 2, 3
BLOCKS = 5


def _sum(terms: Floats) -> Any:
    """Return the sum along the first axis, term after term."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _outer(a: Floats, b: Floats) -> Floats:
    """Return the dyadic product a (x) b, (d, d, ...), of two vectors (d, ...)."""
    return a[:, None] * b


def _metric(s: Floats, row: int, m: int) -> Floats:
    """Return the scalar products (m, m, ...) of the m tangents from row `row` of s."""
    t = s[row : row + m, : m + 1]
    return np.stack([np.stack([_sum(t[i] * t[j]) for j in range(m)]) for i in range(m)])


def _invert(metric: Floats, s: Floats) -> Any:
    """Write the inverse of a symmetric metric (m, m, ...) to rows INVERSE of s; return its det."""
    m = metric.shape[0]
    if m == 1:
        s[INVERSE, 0] = 1.0 / metric[0, 0]
        return metric[0, 0]
    det = metric[0, 0] * metric[1, 1] - metric[0, 1] * metric[1, 0]
    s[INVERSE, 0], s[INVERSE + 1, 1] = metric[1, 1] / det, metric[0, 0] / det
    s[INVERSE, 1], s[INVERSE + 1, 0] = -metric[0, 1] / det, -metric[1, 0] / det
    return det


def projected_surface(gap: Floats | float, m: int, s: Floats) -> Any:
    """Compute the derivative of the closest-point projection: d xi^a / d x_k = c^{ab} a_b.

    a_a are the tangents, a_ab = a_a . a_b the metric and b_ab = n . a_{a,b} the curvature of the
    surface, and c^{ab} = [a_ab - gap b_ab]^-1.

    Parameters
    ----------
    gap : (x_k - x_p) . n [m]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3, ...) with NORMAL, TANGENT and TURN (a_{a,b}); filled with INVERSE, c^{ab}
        (m, m), DUAL, a^a (m, d), and BEND (d, d), d n / d x_k = -c^{ab} b_{ag} a^g (x) a_b. This
        form has no factor 1/gap and holds at zero gap

    Returns
    -------
    The area of the tangents, sqrt(det a_ab).

    Source: Mergel, Scheibert, Sauer 2021, eqs (42), (44); formulas sheet, section 4 (c).
    Verified by: tests/unit/laws/test_interface_rates.py::test_projection_and_normal
    """
    d = m + 1
    tangents, normal = s[TANGENT : TANGENT + m, :d], s[NORMAL, :d]
    metric = _metric(s, TANGENT, m)
    det = _invert(metric, s)
    inverse = s[INVERSE : INVERSE + m, :m]
    for i in range(m):
        s[DUAL + i, :d] = _sum(inverse[i][:, None] * tangents)
    curvature = np.empty_like(metric)
    for i in range(m):
        for j in range(m):
            curvature[i, j] = _sum(normal * s[TURN + _MOST * i + j, :d])
    _invert(metric - gap * curvature, s)
    bend = s[BEND : BEND + d, :d]
    bend[...] = 0.0
    for i in range(m):
        for j in range(m):
            for e in range(m):
                factor = -inverse[i, j] * curvature[i, e]
                bend += _outer(factor * s[DUAL + e, :d], tangents[j])
    return np.sqrt(det)


def surface_stretch(m: int, s: Floats) -> Any:
    """Return the surface stretch J and compute its derivatives J_,a.

    Parameters
    ----------
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3, ...) with TANGENT, TURN, REFERENCE and REFERENCE_TURN; STRETCHING is filled
        in. INVERSE is overwritten: call `projected_surface` afterwards

    Source: Mergel, Scheibert, Sauer 2021, eqs (11), (43).
    Verified by: tests/unit/laws/test_interface_rates.py::test_stretch_and_its_change
    """
    d = m + 1
    # J^2 = det(metric) / det(reference metric); J_,a = J/2 times the difference of log-derivatives
    areas = []
    changes = s[STRETCHING, :m]
    changes[...] = 0.0
    for sign, t, dt in ((1.0, TANGENT, TURN), (-1.0, REFERENCE, REFERENCE_TURN)):
        areas.append(_invert(_metric(s, t, m), s))
        for e in range(m):
            for i in range(m):
                for j in range(m):
                    change = _sum(s[t + j, :d] * s[dt + _MOST * i + e, :d])
                    changes[e] += sign * s[INVERSE + i, j] * change
    stretch = np.sqrt(areas[0] / areas[1])
    changes *= stretch
    return stretch


def normal_derivatives(
    gap: Floats | float,
    traction: Floats | float,
    slope: Floats | float,
    stretch: Floats | float,
    m: int,
    s: Floats,
    blocks: Floats,
) -> None:
    """Compute the derivatives of the normal traction vector T n / J.

    Parameters
    ----------
    gap : normal gap [m]
    traction, slope : T [Pa] and T' [Pa/m] of the law, not divided by the stretch
    stretch : J of the partner [1]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3, ...), filled by `projected_surface`, with STRETCHING of the partner
    blocks : (BLOCKS, 3, 3, ...), filled with K by x_k in BY_POINT and Q by the partner's
        N_,b du in BY_RATE; P = -K and S = 0 are not stored

    Source: Mergel, Scheibert, Sauer 2021, eqs (40), (43), (46).
    Verified by: tests/unit/laws/test_interface_rates.py::test_normal_traction
    """
    d = m + 1
    pressure = traction / stretch
    normal = s[NORMAL, :d]
    tangents, inverse = s[TANGENT : TANGENT + m, :d], s[INVERSE : INVERSE + m, :m]
    by_point = blocks[BY_POINT, :d, :d]
    bends = pressure * s[BEND : BEND + d, :d]
    by_point[...] = _outer(slope / stretch * normal, normal) + bends
    for b in range(m):
        along = _sum(s[STRETCHING, :m] / stretch * inverse[:, b])
        by_point -= _outer(pressure * normal * along, tangents[b])
        term = _outer(normal, s[DUAL + b, :d]) + _outer(gap * along * normal, normal)
        for i in range(m):
            term = term + _outer(inverse[i, b] * tangents[i], normal)
        blocks[BY_RATE + b, :d, :d] = -pressure * term


def tangential_derivatives(
    gap: Floats | float,
    threshold_by_gap: Floats | float,
    threshold_by_stretch: Floats | float,
    stretch: Floats | float,
    m: int,
    s: Floats,
    slide: Floats,
    blocks: Floats,
) -> None:
    """Compute the derivatives of the tangential traction, in stick or in slip.

    The trial traction is penalty (x(xi_p) - x(xi_s)), with a constant origin of slip xi_s.

    Parameters
    ----------
    gap : normal gap [m]
    threshold_by_gap, threshold_by_stretch : ds/dg and ds/dJ from `slide_threshold`
    stretch : J of the partner [1]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3, ...), filled by `projected_surface`, with STRETCHING of the partner
    slide : results of `return_map_points`; the direction is zero in stick
    blocks : (BLOCKS, 3, 3, ...), filled with K by x_k, P and S by N(xi_p) du and N(xi_s) du,
        and Q by N_,b(xi_p) du

    Source: Mergel, Scheibert, Sauer 2021, eqs (50)-(62).
    Verified by: tests/unit/laws/test_interface_rates.py::test_tangential_traction
    """
    d = m + 1
    normal, direction = s[NORMAL, :d], slide[DIRECTION, :d]
    tangents, inverse = s[TANGENT : TANGENT + m, :d], s[INVERSE : INVERSE + m, :m]
    modulus = slide[MODULUS : MODULUS + d, :d]
    by_point = blocks[BY_POINT, :d, :d]
    by_point[...] = 0.0
    # derivative of the trial traction times the tangent of the return map over the penalty; the
    # threshold contributes direction (x) its gradient. `moved` is the tangent times c^{ab} a_a
    by_stretch = direction * threshold_by_stretch
    for b in range(m):
        along = _sum(s[STRETCHING, :m] * inverse[:, b])
        moved = np.zeros_like(direction)
        for i in range(m):
            for q in range(d):
                moved += modulus[:, q] * inverse[i, b] * tangents[i, q]
        by_point += _outer(moved, tangents[b])
        by_point += _outer(by_stretch * along, tangents[b])
        rotated = stretch * s[DUAL + b, :d] + gap * along * normal
        blocks[BY_RATE + b, :d, :d] = _outer(moved * gap, normal) + _outer(by_stretch, rotated)
    by_point += _outer(direction * threshold_by_gap, normal)
    blocks[BY_ORIGIN, :d, :d] = -modulus
    blocks[BY_PARTNER, :d, :d] = modulus - by_point
