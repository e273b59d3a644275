"""Dashpots between surfaces: tractions in proportion to the rates of gap and slip.

The viscous traction on a boundary is -b(g) [c_n n (n . w) + c_t (1 - n n) w], with the rate w of
the boundary against its partner. The intensity b is what is left of adhesion: 1 in contact,
Psi(g) / Psi(g_eq) beyond the gap of equilibrium; a law without tension has b = 0 there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ClosestPoints, ContactPass

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Dashpots", "dashpots", "intensity"]

Floats = npt.NDArray[np.float64]


class Dashpots(NamedTuple):
    """Dashpots of a pass at a state.

    Parameters
    ----------
    map : (2 p, 2 nodes), rates of the boundary against its partner from rates of all nodes
    points : (p, 2, 2) dashpots of the points [N s/m^2]
    slopes : (p, 2, 2) their derivatives by the gap
    normals : (p, 2)
    """

    map: csr_matrix
    points: Floats
    slopes: Floats
    normals: Floats

    def forces(self, v: Floats) -> Floats:
        """Return the forces that resist rates v (nodes, 2), as added to a residual [N/m]."""
        rate = np.asarray(self.map @ v.ravel()).reshape(-1, 2)
        force = np.einsum("pij,pj->pi", self.points, rate)
        return np.asarray(self.map.T @ force.ravel()).reshape(v.shape)

    def tangent(self, v: Floats, by_rate: float) -> csr_matrix:
        """Return the derivative of the forces by displacements, rates changing `by_rate` as fast.

        The normal of a bent partner is taken as it is.
        """
        from scipy.sparse import bsr_matrix, csr_matrix

        rate = np.asarray(self.map @ v.ravel()).reshape(-1, 2)
        by_gap = np.einsum("pij,pj,pk->pik", self.slopes, rate, self.normals)
        blocks, n = by_rate * self.points + by_gap, len(self.points)
        inside = bsr_matrix((blocks, np.arange(n), np.arange(n + 1)), shape=(2 * n, 2 * n))
        return csr_matrix(self.map.T @ inside @ self.map)

    def loss(self, w: Floats) -> float:
        """Return the power w^T C w [W/m] at rates w (nodes, 2)."""
        rate = np.asarray(self.map @ w.ravel()).reshape(-1, 2)
        return float(np.einsum("pi,pij,pj->", rate, self.points, rate))


def intensity(p: ContactPass, gap: Floats) -> tuple[Floats, Floats]:
    """Return what is left of adhesion at gaps (p,) [1] and its derivative [1/m].

    Source: after the intensity of adhesion of Raous, Cangemi, Cocou 1999.
    Verified by: tests/unit/solids/motion/test_interface.py::test_intensity_falls_with_the_gap
    """
    law = p.contact.adhesion
    inside = gap <= law.gap_eq
    whole = float(np.asarray(law.potential(law.gap_eq)))
    if not whole < 0.0:
        return np.where(inside, 1.0, 0.0), np.zeros_like(gap)
    at = np.where(np.isfinite(gap), np.maximum(gap, law.gap_eq), 1e3 * law.gap_eq)
    left = np.asarray(law.potential(at)) / whole
    slope = -np.asarray(law.traction(at)) / whole
    there = np.isfinite(gap)
    return np.where(inside, 1.0, left * there), np.where(inside, 0.0, slope * there)


def _map(p: ContactPass, found: ClosestPoints, x: Floats) -> csr_matrix:
    """Return the map from rates of all nodes to rates of points against their partner."""
    from scipy.sparse import coo_matrix, csr_matrix, identity, kron

    count, n = p.count, p.own.nodes.shape[1]
    own = p.own.functions.reshape(count, n)
    nodes = np.repeat(p.own.nodes, p.own.areas.shape[1], axis=0)
    if p.partner.rigid:
        others, shares = np.full((count, 1), p.partner.node), np.ones((count, 1))
    else:
        near, _ = p.partner_at(found.element, found.xi.T, x)
        others, shares = p.partner.nodes[found.element], near[k.VALUE].T
    columns = np.concatenate([nodes, others], axis=1)
    values = np.concatenate([own, -shares], axis=1)
    rows = np.repeat(np.arange(count), columns.shape[1])
    flat = coo_matrix((values.ravel(), (rows, columns.ravel())), shape=(count, x.shape[0]))
    return csr_matrix(kron(flat, identity(2)))


def dashpots(
    p: ContactPass, out: Floats, found: ClosestPoints, x: Floats, normal: float, tangential: float
) -> Dashpots:
    """Return the dashpots of a pass at a state; each of two passes has half of them.

    Parameters
    ----------
    out, found : what the pass told, (p, OUT), and its nearest points
    x : (nodes, 2) places [m]
    normal, tangential : coefficients in full contact [Pa s/m]

    Verified by: tests/unit/solids/motion/test_interface.py::test_tangent_against_differences
    """
    share = 0.5 if p.is_half_pass else 1.0
    left, slope = intensity(p, out[:, k.GAP])
    n = out[:, [k.NORMAL_X, k.NORMAL_Y]]
    across = np.einsum("pi,pj->pij", n, n)
    full = normal * across + tangential * (np.eye(2) - across)
    weight = share * out[:, k.WEIGHT]
    points = (weight * left)[:, None, None] * full
    slopes = (weight * slope)[:, None, None] * full
    return Dashpots(_map(p, found, x), points, slopes, n)
