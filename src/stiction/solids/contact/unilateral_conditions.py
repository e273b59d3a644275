"""Signorini's conditions and Coulomb's law at nodes, as roots of functions for Newton's method.

With the weighted gap G, slip U and area W of a node, its pressure lambda and traction tau, and any
c > 0, the conditions are

    W [lambda - max(0, lambda')] = 0,    lambda' = lambda - c G / W,
    W [tau - P(tau')] = 0,               tau' = tau + c M U / W,

where P projects on the disc |tau| <= mu max(0, lambda') in the metric M of the coordinates along
the partner. Both functions are smooth but for contact and stick that begin or end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Multipliers", "Weighted", "conditions"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# compliance of contact beside that of an element: where supports hold nodes that stick, conditions
# would be said twice, and multipliers not be unique
_COMPLIANCE = 1e-8


class Weighted(NamedTuple):
    """Integrals over the functions of every node: A nodes, m coordinates.

    Parameters
    ----------
    area, gap : (A,) W and G
    slip : (A, m) U, since the last accepted state
    metric : (A, m, m) M, a mean
    faces, remembers : (A,) whether a node faces its partner, and whether its slip is known
    """

    area: Floats
    gap: Floats
    slip: Floats
    metric: Floats
    faces: Bools
    remembers: Bools


class Multipliers(NamedTuple):
    """Multipliers, and what their conditions say of them.

    Parameters
    ----------
    pressure, shear : (A,), (A, m) [Pa]
    closed, sticks, slides : (A,) states of contact
    excess : (A,) trial traction over the threshold [Pa]
    residual : (A, 1 + m) of normal and tangential conditions [N/m, in space N]
    by_gap : (A, 1 + m) derivatives of the conditions by G
    by_slip : (A, m, m) of the tangential ones by U
    by_metric : (A, m, m, m) of the tangential ones by M W
    by_own : (A, 1 + m, 1 + m) by the multipliers themselves, over W
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
    stiffness : c [Pa/m]
    touching : a gap that is none: rounding [m]
    mu : coefficient of friction; None where no friction acts

    Source: Alart and Curnier 1991; Hueber, Stadler and Wohlmuth 2008.
    Verified by: tests/unit/solids/contact/test_unilateral_conditions.py::test_derivatives
    """
    c, (count, m) = stiffness, at.slip.shape
    pressure, shear = values[:, 0], values[:, 1:]
    # where surfaces touch this is the pressure itself
    trial = (1.0 - _COMPLIANCE) * pressure - c * at.gap / at.area
    # surfaces that touch without pressure are in contact, as what is only pressed on has to be held
    closed = (trial >= -c * touching) & at.faces
    residual, by_gap = np.empty((count, 1 + m)), np.zeros((count, 1 + m))
    by_own = np.zeros((count, 1 + m, 1 + m))
    soft = c * at.gap + _COMPLIANCE * at.area * pressure
    residual[:, 0] = np.where(closed, soft, at.area * pressure)
    by_gap[:, 0] = np.where(closed, c, 0.0)
    by_own[:, 0, 0] = np.where(closed, _COMPLIANCE, 1.0)
    # where nothing holds there is no shear
    residual[:, 1:] = at.area[:, None] * shear
    by_own[:, 1:, 1:] = np.eye(m)
    none, flat = np.zeros(count, dtype=bool), np.zeros((count, m, m))
    found = Multipliers(
        pressure, shear, closed, none, none, np.zeros(count), residual, by_gap, flat,
        np.zeros((count, m, m, m)), by_own,
    )  # fmt: skip
    return found if mu is None else _rubbed(found, at, c, mu, np.maximum(trial, 0.0))


def _rubbed(found: Multipliers, at: Weighted, c: float, mu: float, press: Floats) -> Multipliers:
    """Return the conditions with Coulomb's law in the rows of the tangential ones."""
    shear, m, area = found.shear, at.slip.shape[1], at.area[:, None]
    unit, up = np.eye(m), np.linalg.inv(at.metric)
    tried = shear + c * np.einsum("nab,nb->na", at.metric, at.slip) / area
    raised = np.einsum("nab,nb->na", up, tried)
    size = np.sqrt(np.maximum(np.einsum("na,na->n", tried, raised), 0.0))
    most = mu * press
    # slip that turns round against its traction passes through stick: without, iterations cycle
    turns = np.einsum("na,na->n", raised, shear) < 0.0
    known = found.closed & at.remembers
    sticks = known & ((size <= most) | turns)
    slides = known & ~sticks
    residual, by_gap, by_own = found.residual, found.by_gap, found.by_own
    i = np.flatnonzero(sticks)
    pull = np.einsum("nab,nb->na", at.metric[i], at.slip[i])
    residual[i, 1:] = _COMPLIANCE * area[i] * shear[i] - c * pull
    found.by_slip[i] = -c * at.metric[i]
    found.by_metric[i] = -c * np.einsum("ab,nc->nabc", unit, at.slip[i]) / area[i, None, None]
    by_own[i, 1:, 1:] = _COMPLIANCE * unit
    i = np.flatnonzero(slides)
    e, back, limit = tried[i] / size[i, None], raised[i] / size[i, None], most[i]
    residual[i, 1:] = area[i] * (shear[i] - limit[:, None] * e)
    turned = (unit - np.einsum("na,nb->nab", e, back)) * (limit / size[i])[:, None, None]
    found.by_slip[i] = -c * np.einsum("nab,nbc->nac", turned, at.metric[i])
    by_own[i, 1:, 1:] = unit - turned
    by_own[i, 1:, 0] = -mu * (1.0 - _COMPLIANCE) * e
    by_gap[i, 1:] = mu * c * e
    found.by_metric[i] = -c * np.einsum("nab,nc->nabc", turned, at.slip[i]) / area[i, None, None]
    found.by_metric[i] -= 0.5 * np.einsum("n,na,nb,nc->nabc", limit, e, back, back)
    return found._replace(sticks=sticks, slides=slides, excess=size - most)
