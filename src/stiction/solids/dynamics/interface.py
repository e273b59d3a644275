"""Viscous interfaces: tractions proportional to gap rate and slip rate.

The viscous traction on a boundary is -b(g) [c_n n (n . w) + c_t (1 - n n) w], with the velocity w
of the boundary relative to its partner, the partner's unit normal n, and the coefficients c_n, c_t
[Pa s/m]. The intensity of adhesion b is 1 in contact, and Psi(g) / Psi(g_eq) beyond the equilibrium
gap, with the potential Psi of the normal traction; a law without tension has b = 0 there.
`dynamics.problem` calls `dashpots` for each pass of a contact with p integration points.

Source: after the intensity of adhesion of Raous, Cangemi, Cocou 1999.
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
    map : (2 p, 2 nodes) from velocities of all nodes to relative velocities at points
    points : (p, 2, 2) damping matrices of the points [N s/m^2]
    slopes : (p, 2, 2) their derivatives with respect to the gap [N s/m^3]
    normals : (p, 2) unit normals of the partner
    """

    map: csr_matrix
    points: Floats
    slopes: Floats
    normals: Floats

    def forces(self, v: Floats) -> Floats:
        """Return the damping forces at velocities v (nodes, 2), as added to a residual [N/m]."""
        rate = np.asarray(self.map @ v.ravel()).reshape(-1, 2)
        force = np.einsum("pij,pj->pi", self.points, rate)
        return np.asarray(self.map.T @ force.ravel()).reshape(v.shape)

    def tangent(self, v: Floats, by_rate: float) -> csr_matrix:
        """Return the derivative of forces with respect to displacements, with dv/du = `by_rate`.

        The change of the normal along a curved partner is neglected.
        """
        from scipy.sparse import bsr_matrix, csr_matrix

        rate = np.asarray(self.map @ v.ravel()).reshape(-1, 2)
        by_gap = np.einsum("pij,pj,pk->pik", self.slopes, rate, self.normals)
        blocks, n = by_rate * self.points + by_gap, len(self.points)
        point_blocks = bsr_matrix((blocks, np.arange(n), np.arange(n + 1)), shape=(2 * n, 2 * n))
        return csr_matrix(self.map.T @ point_blocks @ self.map)

    def power(self, w: Floats) -> float:
        """Return the dissipated power w^T C w [W/m] at velocities w (nodes, 2)."""
        rate = np.asarray(self.map @ w.ravel()).reshape(-1, 2)
        return float(np.einsum("pi,pij,pj->", rate, self.points, rate))


def intensity(p: ContactPass, gap: Floats) -> tuple[Floats, Floats]:
    """Return the intensity of adhesion at gaps (p,) [1] and its derivative [1/m].

    Source: after the intensity of adhesion of Raous, Cangemi, Cocou 1999.
    Verified by: tests/unit/solids/dynamics/test_interface.py::test_intensity_falls_with_the_gap
    """
    law = p.contact.adhesion
    in_contact = gap <= law.gap_eq
    at_equilibrium = float(np.asarray(law.potential(law.gap_eq)))
    if not at_equilibrium < 0.0:
        return np.where(in_contact, 1.0, 0.0), np.zeros_like(gap)
    clipped = np.where(np.isfinite(gap), np.maximum(gap, law.gap_eq), 1e3 * law.gap_eq)
    fraction = np.asarray(law.potential(clipped)) / at_equilibrium
    slope = -np.asarray(law.traction(clipped)) / at_equilibrium
    finite = np.isfinite(gap)
    return np.where(in_contact, 1.0, fraction * finite), np.where(in_contact, 0.0, slope * finite)


def _map(p: ContactPass, found: ClosestPoints, x: Floats) -> csr_matrix:
    """Return the matrix (2 p, 2 nodes) from nodal velocities to relative velocities at points."""
    from scipy.sparse import coo_matrix, csr_matrix, identity, kron

    count, n = p.count, p.own.nodes.shape[1]
    own_functions = p.own.functions.reshape(count, n)
    nodes = np.repeat(p.own.nodes, p.own.areas.shape[1], axis=0)
    if p.partner.rigid:
        partner_nodes, partner_weights = np.full((count, 1), p.partner.node), np.ones((count, 1))
    else:
        projected, _ = p.partner_at(found.element, found.xi.T, x)
        partner_nodes, partner_weights = p.partner.nodes[found.element], projected[k.VALUE].T
    columns = np.concatenate([nodes, partner_nodes], axis=1)
    values = np.concatenate([own_functions, -partner_weights], axis=1)
    point_rows = np.repeat(np.arange(count), columns.shape[1])
    scalar = coo_matrix((values.ravel(), (point_rows, columns.ravel())), shape=(count, x.shape[0]))
    return csr_matrix(kron(scalar, identity(2)))


def dashpots(
    p: ContactPass, out: Floats, closest: ClosestPoints, x: Floats, normal: float, tangential: float
) -> Dashpots:
    """Return the dashpots of a pass at a state; each of two passes has half of the viscosity.

    Parameters
    ----------
    p : the pass
    out, closest : point values of the pass, (p, OUT), and its closest points
    x : (nodes, 2) positions [m]
    normal, tangential : coefficients in full contact [Pa s/m]

    Verified by: tests/unit/solids/dynamics/test_interface.py::test_tangent_against_differences
    """
    pass_weight = 0.5 if p.is_half_pass else 1.0
    fraction, slope = intensity(p, out[:, k.GAP])
    n = out[:, [k.NORMAL_X, k.NORMAL_Y]]
    normal_projector = np.einsum("pi,pj->pij", n, n)
    coefficients = normal * normal_projector + tangential * (np.eye(2) - normal_projector)
    weight = pass_weight * out[:, k.WEIGHT]
    points = (weight * fraction)[:, None, None] * coefficients
    slopes = (weight * slope)[:, None, None] * coefficients
    return Dashpots(_map(p, closest, x), points, slopes, n)
