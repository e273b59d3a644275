"""Parasitic shear energy of linear elements in bending (shear locking), from displacements.

A bilinear cell in bending has parasitic shear strain: its stiffness is too large by a fraction that
grows as (length / height)^2 of the cell. Incompatible modes M = 1 - xi^2 remove this shear (Wilson
1973; Taylor, Beresford, Wilson 1976): at fixed nodes they reduce the strain energy E by

    Delta = 1/2 r . H^-1 r,   r = int grad M . C : e,   H = int grad M . C . grad M,

with the elasticity tensor C and the symmetric part e of F_mean^-1 F - 1; F_mean is the mean of F
over the cell. Delta vanishes in homogeneous states of any size. In a beam under prescribed
displacements, Delta / (E - Delta) is the relative error of its stiffness.

Reduced integration of the volumetric energy 1/2 K (tr e)^2 keeps the mean of tr e, which vanishes,
so that E lacks 1/2 K int (tr e)^2 in bending. In a plane this is subtracted,

    Delta = 1/2 r . H^-1 r - 1/2 K int (tr e)^2,

with K = lam in the neo-Hookean law and the bulk modulus in the others. In space such a cell also
bends across the beam without volumetric energy; r and H then have the part of C with mu alone. This
is chosen, without a bound of the error.

For linear triangles and wedges Delta is the energy of the difference between their strain and the
recovered strain, which is linear between nodal averages (Zienkiewicz, Zhu 1987). The strain of a
wedge is linear along its axis; its variation in the section, which one point does not see, counts
as parasitic too. `Excess` returns E and Delta of each body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Elements
from stiction.solids.dimensions import cofactor
from stiction.solids.elements.assembly import Block, Bulk, energy_terms
from stiction.solids.material_laws import KIND, LINEAR, NEO_HOOKEAN, small_moduli
from stiction.solids.shape_functions.hourglass import condensed
from stiction.solids.stress_points import deformation

__all__ = ["Excess", "IncompatibleModes", "excess", "incompatible_modes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SPACE = 3
# points, nodes and dimension of a wedge
_WEDGE = (2, 6, 3)
# strains below which the quadratic form of the energy is used, and below which strains are rounding
_SMALL, _ROUNDING = 1e-5, 1e-13


class IncompatibleModes(NamedTuple):
    """Incompatible modes that would remove the parasitic shear of elements of one kind.

    Parameters
    ----------
    elements : arrays with global node numbers
    inverse : (e, m d, m d) H^-1 of the m modes; empty for simplices
    lam, mu : Lame's constants [Pa]
    linear : whether the law is linear elasticity, with e from the displacement gradient
    missing_modulus : K of the volumetric energy that reduced integration omits [Pa]
    """

    elements: Elements
    inverse: Floats
    lam: float
    mu: float
    linear: bool
    missing_modulus: float = 0.0


def incompatible_modes(elements: Elements, table: Floats) -> IncompatibleModes | None:
    """Return the incompatible modes of elements of one kind, None if they have none."""
    lam, mu = small_moduli(table)
    linear = bool(table[KIND] == LINEAR)
    if elements.modes.shape[2]:
        missing_modulus = 0.0
        if len(energy_terms(elements)) > 1:
            in_plane = elements.modes.shape[3] < _SPACE
            bulk = lam if table[KIND] == NEO_HOOKEAN else lam + 2.0 * mu / 3.0
            lam, missing_modulus = (lam, bulk) if in_plane else (0.0, 0.0)
        inverse = condensed(elements.weights, elements.modes, lam, mu)
        return IncompatibleModes(elements, inverse, lam, mu, linear, missing_modulus)
    # a linear simplex has d + 1 nodes and one point, a wedge six nodes and two points on its axis
    _, points, nodes, d = elements.gradients.shape
    if nodes == d + 1 or (points, nodes, d) == _WEDGE:
        return IncompatibleModes(elements, np.zeros((0, 0, 0)), lam, mu, linear)
    return None


def excess(kinds: list[IncompatibleModes], u: Floats) -> float:
    """Return Delta of a body, its energy above that with incompatible modes [J/m].

    Parameters
    ----------
    kinds : the modes of its elements by kind
    u : (nodes, d) displacements [m]

    Verified by: tests/unit/solids/elements/test_parasitic.py::test_excess_is_that_of_a_beam
    """
    total = 0.0
    triangles = []
    for kind in kinds:
        elements = kind.elements
        f = deformation(elements.nodes, elements.gradients, u)
        if not kind.inverse.size:
            triangles.append((kind, _at_nodes(f, elements.nodes.shape[1])))
            continue
        w, d = elements.weights.T, f.shape[0]
        f_mean = (w * f).sum(axis=2) / w.sum(axis=0)
        strain = _strain(f, f_mean[:, :, None], kind.linear)
        trace, stress = np.einsum("iiqe->qe", strain), 2.0 * kind.mu * strain
        for i in range(d):
            stress[i, i] += kind.lam * trace
        r = np.einsum("ijqe,eqmj->emi", w * stress, elements.modes, optimize=True)
        r = r.reshape(w.shape[1], -1)
        total += 0.5 * float(np.sum(r * np.matmul(kind.inverse, r[:, :, None])[..., 0]))
        total -= 0.5 * kind.missing_modulus * float(np.sum(w * trace**2))
    return total + _of_triangles(triangles, u.shape[0])


def _strain(f: Floats, mean: Floats, linear: bool) -> Floats:
    """Return the symmetric part (d, d, ...) of mean^-1 f - 1; of f - mean in linear elasticity."""
    difference = f - mean
    if not linear:
        cof, det = cofactor(mean)
        difference = np.einsum("ki...,kj...->ij...", cof / det, difference)
    return np.asarray(0.5 * (difference + difference.swapaxes(0, 1)))


def _at_nodes(f: Floats, count: int) -> Floats:
    """Return F (d, d, e, n) at the nodes of simplices, where it is constant, or of wedges."""
    if f.shape[2] == 1:
        return np.repeat(f.swapaxes(2, 3), count, axis=3)
    mean, rate = f.mean(axis=2), np.sqrt(0.75) * (f[:, :, 1] - f[:, :, 0])
    return np.stack([mean - rate] * 3 + [mean + rate] * 3, axis=3)


def _of_triangles(kinds: list[tuple[IncompatibleModes, Floats]], count: int) -> float:
    """Return Delta of linear simplices or wedges: the energy of strain minus recovered strain.

    `kinds` holds the modes and F (d, d, e, n) of each kind at the n nodes of elements; `count` is
    the number of nodes.
    """
    if not kinds:
        return 0.0
    d = kinds[0][1].shape[0]
    total, weight = np.zeros((count, d, d)), np.zeros(count)
    for kind, f in kinds:
        w = kind.elements.weights.sum(axis=1)
        for n, column in enumerate(kind.elements.nodes.T):
            np.add.at(total, column, (w * f[..., n]).transpose(2, 0, 1))
            np.add.at(weight, column, w)
    average = total.transpose(1, 2, 0) / np.where(weight > 0.0, weight, 1.0)
    energy = 0.0
    for kind, f in kinds:
        w, size = kind.elements.weights.sum(axis=1), f.shape[3]
        difference = _strain(average[:, :, kind.elements.nodes.T].swapaxes(2, 3), f, kind.linear)
        # integrals of products of two functions over the volume: of barycentric coordinates, times
        # those of two linear functions along the axis of a wedge
        simplex = d + 1 if size == d + 1 else d
        products = (np.ones((simplex, simplex)) + np.eye(simplex)) / (simplex * (simplex + 1))
        if size > simplex:
            products = np.kron((np.ones((2, 2)) + np.eye(2)) / 6.0, products)
        trace = np.einsum("iien->en", difference)
        square = 0.5 * kind.lam * np.einsum("en,nm,em->e", trace, products, trace)
        square += kind.mu * np.einsum("ijen,nm,ijem->e", difference, products, difference)
        energy += float(np.sum(w * square))
    return energy


class Excess:
    """Strain energies of bodies and their parasitic parts.

    Parameters
    ----------
    bodies : for each body its elements by kind, with global node numbers, and the table of its
        material
    """

    def __init__(self, bodies: Sequence[tuple[list[Elements], Floats]]) -> None:
        self._bodies = []
        for blocks, table in bodies:
            kinds = [k for block in blocks if (k := incompatible_modes(block, table)) is not None]
            volume = sum(float(block.weights.sum()) for block in blocks)
            size = small_moduli(table)[1] * volume
            self._bodies.append((kinds, Bulk([(block, table) for block in blocks]), size))

    def at(self, u: Floats) -> Floats:
        """Return E and Delta (bodies, 2) [J/m]; zeros for a body without modes or without strain.

        Verified by: tests/unit/solids/elements/test_parasitic.py::test_rigid_motions_have_no_excess
        """
        result = np.zeros((len(self._bodies), 2))
        for row, (kinds, bulk, size) in zip(result, self._bodies, strict=True):
            if not kinds:
                continue
            energy = bulk.energy(u)
            if energy < _SMALL**2 * size:
                # the energy of the law would lose all digits to cancellation
                energy = sum(_quadratic(block, u) for block in bulk.blocks)
            largest_gradient = max(float(np.abs(k.elements.gradients).max()) for k in kinds)
            rounding = _ROUNDING * (1.0 + largest_gradient * float(np.abs(u).max()))
            if energy > rounding**2 * size:
                row[:] = energy, excess(kinds, u)
        return result


def _quadratic(block: Block, u: Floats) -> float:
    """Return the quadratic energy of small strains of elements, at any rotation [J/m]."""
    d, energy = u.shape[1], 0.0
    for term in energy_terms(block.elements):
        f = deformation(block.elements.nodes, term.gradients, u)
        rate = f - np.eye(d)[:, :, None, None]
        strain = 0.5 * (rate + rate.swapaxes(0, 1))
        if block.table[KIND] != LINEAR:
            strain = strain + 0.5 * np.einsum("kiqe,kjqe->ijqe", rate, rate)
        lam, mu = small_moduli(block.table, term.part)
        square = 0.5 * lam * np.einsum("iiqe->qe", strain) ** 2
        square = square + mu * np.einsum("ijqe,ijqe->qe", strain, strain)
        energy += float(np.sum(term.weights.T * square))
    if block.hourglass is not None:
        energy += block.hourglass.energy(u)
    return energy
