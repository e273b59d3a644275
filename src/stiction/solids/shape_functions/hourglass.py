"""Hourglass energy of linear cells, from which incompatible modes are condensed.

With the mean F_m of the deformation gradient and the hourglass displacements h_k = sum_a gamma_ka
u_a of the nodes, which vanish for linear fields, the energy of a cell of volume V is

    V psi(F_m) + 1/2 y_k . S_kl y_l,     y_k = F_m^-1 h_k,

where S is the stiffness of the hourglass patterns at small strain after static condensation of the
incompatible modes 1 - xi^2. At small strain this is the element QM6, without shear locking. At
large strain F_m^-1 makes the energy objective, and it stays positive: the hourglass instability of
enhanced-strain elements in compression (Wriggers, Reese 1996) does not occur. Elements have no
internal unknowns: energy, forces and tangent depend on displacements alone.

Here gamma_ka is hourglass function k at node a, u_a the displacement of the node, and psi the
strain energy per reference volume. Shapes have e cells with n nodes, q integration points, k
hourglass functions, m modes and d components.

Source: Taylor, Beresford, Wilson 1976 for S; Flanagan, Belytschko 1981 for gamma; the split in
homogeneous and linear inhomogeneous parts after Mueller-Hoeppe, Loehnert, Wriggers 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Elements
from stiction.solids.dimensions import cofactor
from stiction.solids.material_laws import KIND, LINEAR, small_moduli
from stiction.solids.stress_points import cached

__all__ = ["Hourglass", "condensed", "hourglass_of", "patterns"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# corners of the reference square, counter-clockwise
_XI, _ETA = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])


def stiffness(weights: Floats, a: Floats, b: Floats, lam: float, mu: float) -> Floats:
    """Return int (e_i grad A) : C : (e_j grad B) of functions, (e, k d, l d).

    Parameters
    ----------
    weights : (e, q) volumes of the points
    a, b : (e, q, k, d) and (e, q, l, d) gradients of the functions A and B
    lam, mu : Lame's constants of the isotropic elasticity tensor C [Pa]
    """
    both = np.einsum("eq,eqki,eqlj->ekilj", weights, a, b)
    same = np.einsum("ekili->ekl", both)
    result = lam * both + mu * both.transpose(0, 1, 4, 3, 2)
    for i in range(a.shape[3]):
        result[:, :, i, :, i] += mu * same
    e, k, d, l, _ = result.shape  # noqa: E741
    return np.asarray(result.reshape(e, k * d, l * d))


def condensed(weights: Floats, modes: Floats, lam: float, mu: float) -> Floats:
    """Return the inverse of the stiffness of the modes of every element, (e, m d, m d).

    `weights` (e, q) and `modes` (e, q, m, d) are those of `arrays.Elements`; `lam`, `mu` [Pa].
    """
    return np.asarray(np.linalg.inv(stiffness(weights, modes, modes, lam, mu)))


def patterns(x: Floats, gradients: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean gradients (e, n, d) [1/m] and hourglass functions gamma (e, n, k) of cells.

    Parameters
    ----------
    x : (e, n, d) positions of the corners [m]; in space corners 4 to 7 lie behind corners 0 to 3
    gradients, weights : (e, q, n, d) and (e, q) at integration points

    Verified by: tests/unit/solids/elements/test_hourglass.py::test_linear_fields_have_no_hourglass
    """
    n = x.shape[1]
    mean = np.einsum("eq,eqnd->end", weights, gradients) / weights.sum(axis=1)[:, None, None]
    g = (_XI * _ETA)[:, None]
    if n > g.shape[0]:
        xi, eta, zeta = np.tile(_XI, 2), np.tile(_ETA, 2), np.repeat([-1.0, 1.0], 4)
        g = np.stack([xi * eta, eta * zeta, xi * zeta, xi * eta * zeta], axis=-1)
    return mean, (g - np.einsum("nk,eni,emi->emk", g, x, mean)) / n


class Hourglass(NamedTuple):
    """Hourglass energy of the elements of one kind.

    Parameters
    ----------
    nodes : (e, n) node numbers
    mean : (e, n, d) mean gradients of the shape functions [1/m]
    gamma : (e, n, k) hourglass functions
    stiff : (e, k d, k d) S [N/m]
    linear : whether the law is linear elasticity, where y = h
    """

    nodes: Ints
    mean: Floats
    gamma: Floats
    stiff: Floats
    linear: bool

    def energy(self, u: Floats) -> float:
        """Return the energy [J/m]."""
        _, y, z = self._strains(u)
        return 0.5 * float(np.sum(y * z))

    def add(
        self, u: Floats, residual: Floats, data: Floats | None, places: Places, row: Places
    ) -> None:
        """Add forces and, unless `data` is None, the tangent; see `bulk_kernels.bulk_kernel`.

        Verified by: tests/unit/solids/elements/test_hourglass.py::test_tangent_against_differences
        """
        # force on node a: sum_k c_ak t_k with c_ak = gamma_ka - mean_a . y_k, t_k = F_m^-T z_k,
        # because d y_k = F_m^-1 sum_a c_ak d u_a; in linear elasticity c = gamma and t = z
        inverse, y, z = self._strains(u)
        t, c, mean = z, self.gamma, self.mean
        if not self.linear:
            t = np.matmul(z, inverse)
            c = c - np.matmul(mean, y.transpose(0, 2, 1))
        force = np.matmul(c, t)
        np.add.at(residual, self.nodes, force)
        if data is None:
            return
        (e, n, k), d = c.shape, u.shape[1]
        # rows of the h_k by the displacements, (e, n d, k d)
        wide = np.zeros((e, n, d, k, d))
        for i in range(d):
            wide[:, :, i, :, i] = c
        rows = wide.reshape(e, n * d, k * d)
        if not self.linear:
            back = np.zeros((e, k, d, k, d))
            for i in range(k):
                back[:, i, :, i] = inverse
            # material part B S B^T, with the rows B of d y_k / d u_a
            rows_back = np.matmul(rows, back.reshape(e, k * d, k * d).transpose(0, 2, 1))
            block = np.matmul(np.matmul(rows_back, self.stiff), rows_back.transpose(0, 2, 1))
            # geometric part: change of F_m^-1, -(r_b (x) F_m^-T mean_a + transpose)
            turned = np.matmul(mean, inverse)
            both = np.einsum("ebi,eaj->eaibj", force, turned).reshape(e, n * d, n * d)
            block -= both + both.transpose(0, 2, 1)
        else:
            block = np.matmul(np.matmul(rows, self.stiff), rows.transpose(0, 2, 1))
        np.add.at(data, cached(entries, self.nodes, places, row, d), block.ravel())

    def _strains(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return F_m^-1 (e, d, d), y and S y (e, k, d)."""
        moved = u[self.nodes]
        e, d = moved.shape[0], moved.shape[2]
        h = np.matmul(self.gamma.transpose(0, 2, 1), moved)
        inverse, y = np.zeros((0, d, d)), h
        if not self.linear:
            f = np.eye(d) + np.matmul(moved.transpose(0, 2, 1), self.mean)
            with np.errstate(all="ignore"):
                cof, det = cofactor(f.transpose(1, 2, 0))
                inverse = np.ascontiguousarray((cof / det).transpose(2, 1, 0))
            y = np.matmul(h, inverse.transpose(0, 2, 1))
        z = np.matmul(self.stiff, y.reshape(e, -1, 1)).reshape(y.shape)
        return inverse, y, z


def entries(nodes: Ints, places: Places, row: Places, d: int) -> Ints:
    """Return the indices into the matrix data of all block entries, (elements n d n d,).

    Parameters
    ----------
    nodes : (e, n)
    places : (e, n, n) index of each block, in the first of its rows
    row : (nodes,) length of a matrix row of each node
    d : number of components
    """
    row_offset = np.arange(d)[:, None, None] * row[nodes][:, :, None, None, None]
    positions: Ints = places[:, :, None, :, None] + row_offset + np.arange(d)
    return positions.ravel()


def hourglass_of(elements: Elements, table: Floats) -> Hourglass | None:
    """Return the hourglass energy of elements, None if they have none.

    Parameters
    ----------
    table : of the material
    """
    # functions are the k patterns, then the m modes; S is the Schur complement of the modes
    inner = elements.inner
    if inner is None:
        return None
    lam, mu = small_moduli(table)
    g, w, modes, gamma = inner.gradients, inner.weights, inner.modes, elements.hourglass
    mean = elements.gradients[:, 0]
    # dual basis: nodal displacements for which one of the h_k is one and the others zero
    own = np.einsum("eak,eal->ekl", gamma, gamma)
    unit = np.matmul(gamma, np.linalg.inv(own))
    rates = np.einsum("eqad,eak->eqkd", g - mean[:, None], unit)
    # stiffness of patterns and modes, then static condensation of the modes
    all_functions = np.concatenate([rates, modes], axis=2)
    # volumetric strains are projected on those of the modes: else the pattern xi eta zeta locks
    divergence = np.einsum("eqmd,emd->eqm", modes, modes[:, 0])
    projected = _projected(w, all_functions, divergence)
    stiffness_of_all = stiffness(w, all_functions, all_functions, 0.0, mu) + lam * np.matmul(
        projected.transpose(0, 2, 1), projected
    )
    count = rates.shape[2] * rates.shape[3]
    stiff = stiffness_of_all[:, :count, :count]
    couple = stiffness_of_all[:, count:, :count]
    inside = stiffness_of_all[:, count:, count:]
    stiff = stiff - np.matmul(couple.transpose(0, 2, 1), np.linalg.solve(inside, couple))
    stiff = 0.5 * (stiff + stiff.transpose(0, 2, 1))
    return Hourglass(elements.nodes, mean, gamma, stiff, bool(table[KIND] == LINEAR))


def _projected(weights: Floats, rates: Floats, basis: Floats) -> Floats:
    """Return the divergence of functions, projected on an orthonormal basis, (e, m, k d).

    Parameters
    ----------
    weights : (e, q)
    rates : (e, q, k, d) their gradients
    basis : (e, q, m) functions at the points
    """
    root = np.sqrt(weights)
    flat = np.linalg.qr(root[..., None] * basis)[0]
    divergence = root[..., None] * rates.reshape(*weights.shape, -1)
    return np.asarray(np.matmul(flat.transpose(0, 2, 1), divergence))
