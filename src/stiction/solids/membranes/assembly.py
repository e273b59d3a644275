"""Assembly of internal forces, tangent and strain energy of bodies and membranes together.

`WithMembranes` extends `elements.assembly.Bulk`, so that the discrete equations treat bodies and
membranes alike. The formulas of membranes are in `kinematics`, their kernels in `membrane_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Elements
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.membranes.kinematics import Sheet, energy_of
from stiction.solids.membranes.membrane_kernels import membrane_kernel

__all__ = ["WithMembranes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


class WithMembranes(Bulk):
    """Internal forces, tangent and energy of bodies and membranes.

    Parameters
    ----------
    blocks : elements of bodies with the tables of their materials
    sheets : membranes, with nodes in the global numbering

    Verified by: tests/unit/solids/membranes/test_membrane.py::test_tangent_against_differences
    """

    def __init__(self, blocks: Sequence[tuple[Elements, Floats]], sheets: Sequence[Sheet]) -> None:
        super().__init__(blocks)
        self.sheets = list(sheets)
        self._where: list[Places] = []

    def pairs(self) -> list[tuple[Ints, Ints]]:
        """Return the pairs of nodes that elements couple."""
        return [*super().pairs(), *(_pairs(sheet.nodes) for sheet in self.sheets)]

    def bind(self, pattern: Pattern) -> None:
        """Compute the positions of the element blocks in the matrix of this pattern."""
        super().bind(pattern)
        self._where = []
        for sheet in self.sheets:
            e, n = sheet.nodes.shape
            rows, columns = _pairs(sheet.nodes)
            self._where.append(pattern.places(rows.ravel(), columns.ravel()).reshape(e, n, n))

    def add(self, u: Floats, residual: Floats, data: Floats | None) -> int:
        """Add internal forces and, unless `data` is None, the tangent; count degenerate points.

        Parameters
        ----------
        u : (nodes, 3) displacements [m]
        residual : (nodes, 3), added to [N]
        data : (entries,) of the matrix, added to
        """
        bad = super().add(u, residual, data)
        none = np.zeros((0, 0, 0), dtype=np.int32)
        store = data if data is not None else np.zeros(1)
        row = self._pattern.row if data is not None else np.zeros(0, dtype=np.int32)
        for i, sheet in enumerate(self.sheets):
            run = membrane_kernel(sheet.nodes.shape[1])
            where = self._where[i] if data is not None else none
            arrays = (sheet.nodes, sheet.gradients, sheet.start, sheet.weights)
            bad += run(*arrays, u, sheet.shear, residual, store, where, row)
        return bad

    def energy(self, u: Floats) -> float:
        """Return the strain energy [J]; NaN if an element has degenerated to a line."""
        return super().energy(u) + sum(energy_of(sheet, u) for sheet in self.sheets)


def _pairs(nodes: Ints) -> tuple[Ints, Ints]:
    """Return rows and columns of all pairs of nodes of each element, (e, n n) each."""
    n = nodes.shape[1]
    return np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))
