"""Signorini's conditions and Coulomb's law at nodes as nonsmooth equations for Newton's method.

With the weighted gap G, slip U and area W of a node, its pressure lambda and tangential traction
tau, and any c > 0, the conditions are (semi-smooth complementarity functions)

    W [lambda - max(0, lambda')] = 0,    lambda' = lambda - c G / W,
    W [tau - P(tau')] = 0,               tau' = tau + c M U / W,

where P projects on the disc |tau| <= mu max(0, lambda') in the metric M of the coordinates along
the partner. Their roots are lambda >= 0, G >= 0, lambda G = 0, and Coulomb's law |tau| <= mu lambda
with slip along tau. The functions are smooth except where contact or stick begins or ends.
`conditions` returns their values and derivatives; `multipliers` computes G, U and W and calls it.
Source: Alart and Curnier 1991; Hueber, Stadler and Wohlmuth 2008.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Multipliers", "Weighted", "conditions"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# compliance of contact relative to that of an element. It makes multipliers unique at a sticking
# node whose displacement a boundary condition prescribes as well. Chosen at half the digits
_COMPLIANCE = 1e-8


class Weighted(NamedTuple):
    """Weighted kinematics of the nodes of a boundary: A nodes, m coordinates.

    Parameters
    ----------
    area, gap : (A,) W and G: [m] and [m^2] in the plane, [m^2] and [m^3] in space
    slip : (A, m) U since the last accepted state, in the unit of G
    metric : (A, m, m) M, the mean over a node [1]
    faces, remembers : (A,) whether a node has points with a closest point on the partner, and
        whether its slip is known
    """

    area: Floats
    gap: Floats
    slip: Floats
    metric: Floats
    faces: Bools
    remembers: Bools


class Multipliers(NamedTuple):
    """Multipliers, states of contact, and residuals of the conditions with their derivatives.

    Parameters
    ----------
    pressure, shear : (A,) lambda and (A, m) tau [Pa]
    closed, sticks, slides : (A,) states of contact
    excess : (A,) magnitude of the trial traction minus the sliding threshold [Pa]
    residual : (A, 1 + m) of normal and tangential conditions [N/m, in space N]
    by_gap : (A, 1 + m) derivatives of the conditions with respect to G
    by_slip : (A, m, m) of the tangential ones with respect to U
    by_metric : (A, m, m, m) of the tangential ones with respect to M W
    by_own : (A, 1 + m, 1 + m) with respect to lambda and tau, over W
    """

    pressure: Floats
    shear: Floats
    closed: Bools
    sticks: Bools
    slides: Bools
    excess: Floats
    residual: Floats
    by_gap: Floats
    by_slip: Floats
    by_metric: Floats
    by_own: Floats


def conditions(
    values: Floats, at: Weighted, stiffness: float, touching: float, mu: float | None
) -> Multipliers:
    """Return the conditions of all nodes with their derivatives.

    Parameters
    ----------
    values : (A, 1 + m) pressures and tangential tractions [Pa]
    at : weighted gaps and slips
    stiffness : c [Pa/m]
    touching : gap up to which a node without pressure counts as closed, for rounding [m]
    mu : coefficient of friction; None without friction

    Source: Alart and Curnier 1991; Hueber, Stadler and Wohlmuth 2008.
    Verified by: tests/unit/solids/contact/test_unilateral_conditions.py::test_derivatives
    """
    c, (count, m) = stiffness, at.slip.shape
    pressure, shear = values[:, 0], values[:, 1:]
    # lambda', with the compliance; at zero gap it is the pressure itself
    trial = (1.0 - _COMPLIANCE) * pressure - c * at.gap / at.area
    # touching nodes without pressure are closed: a body held by contact alone starts so
    closed = (trial >= -c * touching) & at.faces
    residual, by_gap = np.empty((count, 1 + m)), np.zeros((count, 1 + m))
    by_own = np.zeros((count, 1 + m, 1 + m))
    soft = c * at.gap + _COMPLIANCE * at.area * pressure
    residual[:, 0] = np.where(closed, soft, at.area * pressure)
    by_gap[:, 0] = np.where(closed, c, 0.0)
    by_own[:, 0, 0] = np.where(closed, _COMPLIANCE, 1.0)
    # without contact, or without friction, tau = 0
    residual[:, 1:] = at.area[:, None] * shear
    by_own[:, 1:, 1:] = np.eye(m)
    none, flat = np.zeros(count, dtype=bool), np.zeros((count, m, m))
    result = Multipliers(
        pressure, shear, closed, none, none, np.zeros(count), residual, by_gap, flat,
        np.zeros((count, m, m, m)), by_own,
    )  # fmt: skip
    return result if mu is None else _with_coulomb(result, at, c, mu, np.maximum(trial, 0.0))


def _with_coulomb(
    result: Multipliers, at: Weighted, c: float, mu: float, trial_pressure: Floats
) -> Multipliers:
    """Return the conditions with Coulomb's law in the rows of the tangential ones.

    `trial_pressure` is max(0, lambda') (A,) [Pa].
    """
    shear, m, area = result.shear, at.slip.shape[1], at.area[:, None]
    unit, inverse_metric = np.eye(m), np.linalg.inv(at.metric)
    # tau', its contravariant components, and its magnitude
    trial = shear + c * np.einsum("nab,nb->na", at.metric, at.slip) / area
    raised = np.einsum("nab,nb->na", inverse_metric, trial)
    size = np.sqrt(np.maximum(np.einsum("na,na->n", trial, raised), 0.0))
    threshold = mu * trial_pressure
    # a reversal of slip passes through stick: otherwise iterations may cycle
    reverses = np.einsum("na,na->n", raised, shear) < 0.0
    known = result.closed & at.remembers
    sticks = known & ((size <= threshold) | reverses)
    slides = known & ~sticks
    residual, by_gap, by_own = result.residual, result.by_gap, result.by_own
    # stick: M U = 0, with a small compliance
    i = np.flatnonzero(sticks)
    covariant_slip = np.einsum("nab,nb->na", at.metric[i], at.slip[i])
    residual[i, 1:] = _COMPLIANCE * area[i] * shear[i] - c * covariant_slip
    result.by_slip[i] = -c * at.metric[i]
    result.by_metric[i] = -c * np.einsum("ab,nc->nabc", unit, at.slip[i]) / area[i, None, None]
    by_own[i, 1:, 1:] = _COMPLIANCE * unit
    # slip: tau = mu max(0, lambda') e with the direction e = tau' / |tau'|
    i = np.flatnonzero(slides)
    e, e_raised, limit = trial[i] / size[i, None], raised[i] / size[i, None], threshold[i]
    residual[i, 1:] = area[i] * (shear[i] - limit[:, None] * e)
    # derivative of the projection P by tau'
    projected = (unit - np.einsum("na,nb->nab", e, e_raised)) * (limit / size[i])[:, None, None]
    result.by_slip[i] = -c * np.einsum("nab,nbc->nac", projected, at.metric[i])
    by_own[i, 1:, 1:] = unit - projected
    by_own[i, 1:, 0] = -mu * (1.0 - _COMPLIANCE) * e
    by_gap[i, 1:] = mu * c * e
    result.by_metric[i] = (
        -c * np.einsum("nab,nc->nabc", projected, at.slip[i]) / area[i, None, None]
    )
    result.by_metric[i] -= 0.5 * np.einsum("n,na,nb,nc->nabc", limit, e, e_raised, e_raised)
    return result._replace(sticks=sticks, slides=slides, excess=size - threshold)
