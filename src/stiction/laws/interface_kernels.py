"""Derivatives of the tractions at one contact point, exact with its own projection.

A point x_k of one body sees its nearest point x_p(xi) on the surface of a partner. Moving
either moves the projection, the normal, the gap and the surface stretch. These kernels give
what a tangent matrix needs, for m = 1 coordinate in a plane or m = 2 in space (d = m + 1):

    d traction = K d x_k + P N(xi_p) du + S N(xi_s) du + sum_b Q[b] N_,b(xi_p) du,

where u are the nodes of the partner and N its shape functions, one block per node. For the
normal traction P = -K and S = 0. A rigid partner at rest needs K alone, with stretch 1 and no
change of it.

Vectors lie in named rows of one array per point, `s` of shape (SURFACE, 3), and derivatives in
one array (BLOCKS, 3, 3): an array costs ten numbers at every call, and compiled code has to be
made for each. In a plane the last column stays empty, and rows of a second coordinate too.
"""

from __future__ import annotations

import math

from stiction.laws.adhesion_kernels import DIRECTION, MODULUS
from stiction.numerics.arrays import Matrix, Stack
from stiction.numerics.jit import kernel

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

# most coordinates of a surface
_MOST = 2
# rows of the partner's surface at one point: unit normal n, tangents a_a, their changes a_{a,b}
# at TURN + 2 a + b, the same of the reference surface, and the change of the stretch J_,a
NORMAL, TANGENT, TURN, REFERENCE, REFERENCE_TURN, STRETCHING = 0, 1, 3, 7, 9, 13
# rows filled in by `projected_surface`: [a_ab - gap b_ab]^-1, the dual vectors a^a, d n / d x_k
INVERSE, DUAL, BEND = 14, 16, 18
# rows that are used while others are computed
_METRIC, _CURVATURE = 21, 23
SURFACE = 25
# derivatives of a traction: by x_k, by N(xi_p) du, by N(xi_s) du, by N_,b(xi_p) du at BY_RATE + b
BY_POINT, BY_PARTNER, BY_ORIGIN, BY_RATE = 0, 1, 2, 3
BLOCKS = 5


@kernel
def _invert_metric(s: Matrix, m: int) -> float:
    """Fill in INVERSE of the symmetric rows of the metric; return their determinant."""
    if m == 1:
        det = s[_METRIC, 0]
        s[INVERSE, 0] = 1.0 / det
        return det
    one, off, two = s[_METRIC, 0], s[_METRIC, 1], s[_METRIC + 1, 1]
    det = one * two - off * s[_METRIC + 1, 0]
    s[INVERSE, 0], s[INVERSE + 1, 1] = two / det, one / det
    s[INVERSE, 1], s[INVERSE + 1, 0] = -off / det, -s[_METRIC + 1, 0] / det
    return det


@kernel
def _dot(s: Matrix, i: int, j: int, d: int) -> float:
    """Return the product of two rows."""
    total = 0.0
    for k in range(d):
        total += s[i, k] * s[j, k]
    return total


@kernel
def projected_surface(gap: float, m: int, s: Matrix) -> float:
    """Fill in how the projection moves with the point: d xi^a / d x_k = c^{ab} a_b.

    Parameters
    ----------
    gap : (x_k - x_p) . n [m]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3) with NORMAL, TANGENT and TURN; filled with INVERSE, c = [a_ab - gap
        b_ab]^-1 (m, m), DUAL (m, d), and BEND, d n / d x_k (d, d), as -c^{ab} b_{ag} a^g (x)
        a_b: this form has no 1/gap, and a gap of zero is no exception

    Returns
    -------
    The area of the tangents, sqrt(det a_ab).

    Source: Mergel, Scheibert, Sauer 2021, eqs (42), (44); formulas sheet, section 4 (c).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_projection_and_normal
    """
    d = m + 1
    for i in range(m):
        for j in range(m):
            s[_METRIC + i, j] = _dot(s, TANGENT + i, TANGENT + j, d)
    det = _invert_metric(s, m)
    for i in range(m):
        for k in range(d):
            total = 0.0
            for j in range(m):
                total += s[INVERSE + i, j] * s[TANGENT + j, k]
            s[DUAL + i, k] = total
    for i in range(m):
        for j in range(m):
            curve = 0.0
            for k in range(d):
                curve += s[NORMAL, k] * s[TURN + _MOST * i + j, k]
            s[_CURVATURE + i, j] = curve
            s[_METRIC + i, j] -= gap * curve
    _invert_metric(s, m)
    for k in range(d):
        for p in range(d):
            total = 0.0
            for i in range(m):
                for j in range(m):
                    for e in range(m):
                        factor = -s[INVERSE + i, j] * s[_CURVATURE + i, e]
                        total += factor * s[DUAL + e, k] * s[TANGENT + j, p]
            s[BEND + k, p] = total
    return math.sqrt(det)


@kernel
def surface_stretch(m: int, s: Matrix) -> float:
    """Return the surface stretch J and fill in its change J_,a along the coordinates.

    Parameters
    ----------
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3) with TANGENT, TURN, REFERENCE and REFERENCE_TURN; STRETCHING is filled in.
        INVERSE is used on the way, so that `projected_surface` comes after

    Source: Mergel, Scheibert, Sauer 2021, eqs (11), (43).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_stretch_and_its_change
    """
    d = m + 1
    now, before = 0.0, 0.0
    for e in range(m):
        s[STRETCHING, e] = 0.0
    for turn in range(2):
        sign, t, dt = 1.0, TANGENT, TURN
        if turn == 1:
            sign, t, dt = -1.0, REFERENCE, REFERENCE_TURN
        for i in range(m):
            for j in range(m):
                s[_METRIC + i, j] = _dot(s, t + i, t + j, d)
        now, before = before, _invert_metric(s, m)
        for e in range(m):
            for i in range(m):
                for j in range(m):
                    change = _dot(s, t + j, dt + _MOST * i + e, d)
                    s[STRETCHING, e] += sign * s[INVERSE + i, j] * change
    stretch = math.sqrt(now / before)
    for e in range(m):
        s[STRETCHING, e] *= stretch
    return stretch


@kernel
def normal_derivatives(
    gap: float, traction: float, slope: float, stretch: float, m: int, s: Matrix, blocks: Stack
) -> None:
    """Fill in the derivatives of the normal traction vector T n / J.

    Parameters
    ----------
    gap : normal gap [m]
    traction, slope : T [Pa] and T' [Pa/m] of the law, not divided by the stretch
    stretch : J of the partner [1]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3), filled by `projected_surface`, with STRETCHING of the partner
    blocks : (BLOCKS, 3, 3), filled with K by x_k in BY_POINT and Q by the partner's N_,b du in
        BY_RATE; P = -K and S = 0 are left out

    Source: Mergel, Scheibert, Sauer 2021, eqs (40), (43), (46).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_normal_traction
    """
    d = m + 1
    share = traction / stretch
    for k in range(d):
        n_k = s[NORMAL, k]
        for p in range(d):
            blocks[BY_POINT, k, p] = slope / stretch * n_k * s[NORMAL, p] + share * s[BEND + k, p]
    for b in range(m):
        along = 0.0
        for i in range(m):
            along += s[STRETCHING, i] / stretch * s[INVERSE + i, b]
        for k in range(d):
            n_k = s[NORMAL, k]
            for p in range(d):
                n_p = s[NORMAL, p]
                blocks[BY_POINT, k, p] -= share * n_k * along * s[TANGENT + b, p]
                term = n_k * s[DUAL + b, p] + gap * along * n_k * n_p
                for i in range(m):
                    term += s[INVERSE + i, b] * s[TANGENT + i, k] * n_p
                blocks[BY_RATE + b, k, p] = -share * term


@kernel
def tangential_derivatives(
    gap: float,
    threshold_by_gap: float,
    threshold_by_stretch: float,
    stretch: float,
    m: int,
    s: Matrix,
    slide: Matrix,
    blocks: Stack,
) -> None:
    """Fill in the derivatives of the tangential traction, in stick or in slip.

    The trial traction is penalty (x(xi_p) - x(xi_s)), with the origin of slip xi_s held.

    Parameters
    ----------
    gap : normal gap [m]
    threshold_by_gap, threshold_by_stretch : ds/dg and ds/dJ from `slide_threshold`
    stretch : J of the partner [1]
    m : coordinates of the surface, 1 or 2
    s : (SURFACE, 3), filled by `projected_surface`, with STRETCHING of the partner
    slide : what `return_map_point` filled in; the direction is zero in stick
    blocks : (BLOCKS, 3, 3), filled with K by x_k, P and S by N(xi_p) du and N(xi_s) du, and Q
        by N_,b(xi_p) du

    Source: Mergel, Scheibert, Sauer 2021, eqs (50)-(62).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_tangential_traction
    """
    d = m + 1
    for k in range(d):
        for p in range(d):
            blocks[BY_POINT, k, p] = 0.0
    # what the trial does, times the tangent of the return map over the penalty; the shift of
    # the threshold adds direction (x) its gradient
    for b in range(m):
        along = 0.0
        for i in range(m):
            along += s[STRETCHING, i] * s[INVERSE + i, b]
        for k in range(d):
            thins = slide[DIRECTION, k] * threshold_by_stretch
            moved = 0.0
            for i in range(m):
                for q in range(d):
                    moved += slide[MODULUS + k, q] * s[INVERSE + i, b] * s[TANGENT + i, q]
            for p in range(d):
                n_p = s[NORMAL, p]
                blocks[BY_POINT, k, p] += moved * s[TANGENT + b, p]
                blocks[BY_POINT, k, p] += thins * along * s[TANGENT + b, p]
                turned = stretch * s[DUAL + b, p] + gap * along * n_p
                blocks[BY_RATE + b, k, p] = moved * gap * n_p + thins * turned
    for k in range(d):
        closes = slide[DIRECTION, k] * threshold_by_gap
        for p in range(d):
            blocks[BY_POINT, k, p] += closes * s[NORMAL, p]
            blocks[BY_ORIGIN, k, p] = -slide[MODULUS + k, p]
            blocks[BY_PARTNER, k, p] = slide[MODULUS + k, p] - blocks[BY_POINT, k, p]
