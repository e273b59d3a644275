"""Derivatives of the tractions at one contact point, exact with its own projection.

A point x_k of one body sees its nearest point x_p(xi) on the surface of a partner. Moving
either moves the projection, the normal, the gap and the surface stretch. These kernels give
what a tangent matrix needs, for m = 1 coordinate in a plane or m = 2 in space (d = m + 1):

    d traction = K d x_k + P N(xi_p) du + S N(xi_s) du + sum_b Q[b] N_,b(xi_p) du,

where u are the nodes of the partner and N its shape functions, one block per node. For the
normal traction P = -K and S = 0. A rigid partner at rest needs K alone, with stretch 1 and no
change of it. Results are filled into arrays of the caller, which serve all points in turn.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel

__all__ = [
    "normal_derivatives",
    "projected_surface",
    "surface_stretch",
    "tangential_derivatives",
]

Floats = npt.NDArray[np.float64]


@kernel
def _invert(q: Matrix, out: Matrix) -> float:
    """Fill in the inverse of a symmetric 1x1 or 2x2 matrix and return its determinant."""
    if q.shape[0] == 1:
        out[0, 0] = 1.0 / q[0, 0]
        return q[0, 0]
    det = q[0, 0] * q[1, 1] - q[0, 1] * q[1, 0]
    out[0, 0], out[1, 1] = q[1, 1] / det, q[0, 0] / det
    out[0, 1], out[1, 0] = -q[0, 1] / det, -q[1, 0] / det
    return det


@kernel
def _dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@kernel
def projected_surface(
    gap: float, n: Floats, a: Floats, da: Floats, c: Floats, dual: Floats, bend: Floats
) -> float:
    """Fill in how the projection moves with the point: d xi^a / d x_k = c^{ab} a_b.

    Parameters
    ----------
    gap : (x_k - x_p) . n [m]
    n : unit normal of the partner at the projection, (d,)
    a : tangents a_a, (m, d)
    da : their changes a_{a,b}, (m, m, d)
    c : filled with [a_ab - gap b_ab]^-1, (m, m)
    dual : filled with the dual vectors a^a, (m, d)
    bend : filled with d n / d x_k, (d, d), as -c^{ab} b_{ag} a^g (x) a_b: this form has no
        1/gap, and a gap of zero is no exception

    Returns
    -------
    The area of the tangents, sqrt(det a_ab).

    Source: Mergel, Scheibert, Sauer 2021, eqs (42), (44); formulas sheet, section 4 (c).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_projection_and_normal
    """
    m, d = a.shape
    metric = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            metric[i, j] = _dot(a[i], a[j])
    det = _invert(metric, c)
    for i in range(m):
        for k in range(d):
            dual[i, k] = 0.0
            for j in range(m):
                dual[i, k] += c[i, j] * a[j, k]
    curve = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            curve[i, j] = _dot(n, da[i, j])
            metric[i, j] -= gap * curve[i, j]
    _invert(metric, c)
    bend[:] = 0.0
    for i in range(m):
        for j in range(m):
            for e in range(m):
                factor = -c[i, j] * curve[i, e]
                for k in range(d):
                    for p in range(d):
                        bend[k, p] += factor * dual[e, k] * a[j, p]
    return math.sqrt(det)


@kernel
def surface_stretch(
    a: Floats, da: Floats, reference: Floats, dreference: Floats, change: Floats
) -> float:
    """Return the surface stretch J and fill in its change J_,a along the coordinates, (m,).

    Parameters
    ----------
    a, da : current tangents (m, d) and their changes (m, m, d)
    reference, dreference : the same of the reference surface
    change : filled with J_,a

    Source: Mergel, Scheibert, Sauer 2021, eqs (11), (43).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_stretch_and_its_change
    """
    m = a.shape[0]
    q, inverse, first = np.empty((m, m)), np.empty((m, m)), 0.0
    change[:] = 0.0
    for turn in range(2):
        t, dt = (a, da) if turn == 0 else (reference, dreference)
        sign = 1.0 if turn == 0 else -1.0
        for i in range(m):
            for j in range(m):
                q[i, j] = _dot(t[i], t[j])
        det = _invert(q, inverse)
        for e in range(m):
            for i in range(m):
                for j in range(m):
                    change[e] += sign * inverse[i, j] * _dot(t[j], dt[i, e])
        if turn == 0:
            first = det
        else:
            first = math.sqrt(first / det)
    for e in range(m):
        change[e] *= first
    return first


@kernel
def normal_derivatives(
    gap: float,
    traction: float,
    slope: float,
    stretch: float,
    change: Floats,
    n: Floats,
    a: Floats,
    c: Floats,
    dual: Floats,
    bend: Floats,
    by_point: Floats,
    by_rate: Floats,
) -> None:
    """Fill in the derivatives of the normal traction vector T n / J.

    Parameters
    ----------
    gap : normal gap [m]
    traction, slope : T [Pa] and T' [Pa/m] of the law, not divided by the stretch
    stretch, change : J and J_,a of the partner
    n, a, c, dual, bend : normal, tangents, and what `projected_surface` filled in
    by_point : filled with K, by x_k, (d, d); P = -K
    by_rate : filled with Q, by the partner's N_,b du, (m, d, d)

    Source: Mergel, Scheibert, Sauer 2021, eqs (40), (43), (46).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_normal_traction
    """
    m, d = a.shape
    share = traction / stretch
    for k in range(d):
        for p in range(d):
            by_point[k, p] = slope / stretch * n[k] * n[p] + share * bend[k, p]
    for b in range(m):
        along = 0.0
        for i in range(m):
            along += change[i] / stretch * c[i, b]
        for k in range(d):
            for p in range(d):
                by_point[k, p] -= share * n[k] * along * a[b, p]
                term = n[k] * dual[b, p] + gap * along * n[k] * n[p]
                for i in range(m):
                    term += c[i, b] * a[i, k] * n[p]
                by_rate[b, k, p] = -share * term


@kernel
def tangential_derivatives(
    gap: float,
    penalty: float,
    threshold_by_gap: float,
    threshold_by_stretch: float,
    stretch: float,
    change: Floats,
    n: Floats,
    a: Floats,
    c: Floats,
    dual: Floats,
    tangent: Floats,
    direction: Floats,
    by_point: Floats,
    by_partner: Floats,
    by_origin: Floats,
    by_rate: Floats,
) -> None:
    """Fill in the derivatives of the tangential traction, in stick or in slip.

    The trial traction is penalty (x(xi_p) - x(xi_s)), with the origin of slip xi_s held.

    Parameters
    ----------
    gap : normal gap [m]
    penalty : tangential stiffness [Pa/m]
    threshold_by_gap, threshold_by_stretch : ds/dg and ds/dJ from `slide_threshold`
    stretch, change : J and J_,a of the partner
    n, a, c, dual : normal, tangents, and what `projected_surface` filled in
    tangent, direction : what `return_map_point` filled in, (d, d) and (d,); the direction is
        zero in stick
    by_point : filled with K, by x_k, (d, d)
    by_partner, by_origin : filled with P and S, by N(xi_p) du and N(xi_s) du, (d, d)
    by_rate : filled with Q, by N_,b(xi_p) du, (m, d, d)

    Source: Mergel, Scheibert, Sauer 2021, eqs (50)-(62).
    Verified by: tests/unit/laws/test_interface_kernels.py::test_tangential_traction
    """
    m, d = a.shape
    by_point[:] = 0.0
    by_rate[:] = 0.0
    # what the trial does, times the tangent of the return map over the penalty; the shift of
    # the threshold adds direction (x) its gradient
    for b in range(m):
        along = 0.0
        for i in range(m):
            along += change[i] * c[i, b]
        for k in range(d):
            moved = 0.0
            for i in range(m):
                for q in range(d):
                    moved += tangent[k, q] * c[i, b] * a[i, q]
            for p in range(d):
                by_point[k, p] += moved * a[b, p]
                by_point[k, p] += direction[k] * threshold_by_stretch * along * a[b, p]
                turned = stretch * dual[b, p] + gap * along * n[p]
                by_rate[b, k, p] = moved * gap * n[p]
                by_rate[b, k, p] += direction[k] * threshold_by_stretch * turned
    for k in range(d):
        for p in range(d):
            by_point[k, p] += direction[k] * threshold_by_gap * n[p]
            by_origin[k, p] = -tangent[k, p]
            by_partner[k, p] = tangent[k, p] - by_point[k, p]
