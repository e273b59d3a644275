"""LU factors by SuperLU of SciPy; matrices of one sparsity pattern share the order of elimination.

Rows and columns of A are permuted so that the factors of P A^T Q = L U have few entries; solutions
follow by substitution. `linear_solvers.SuperLU` describes the solver. Besides solutions the factors
give the sign and the logarithm of the determinant, and the inertia of a symmetric matrix.

Source: Li 2005, An overview of SuperLU.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stiction.numerics.direct.factors import (
    Factors,
    Floats,
    Ints,
    Pattern,
    Workspace,
    singular,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["SuperLUFactors", "SuperLUWorkspace"]

_Order = Literal["NATURAL", "MMD_AT_PLUS_A"]
# columns of a panel. For sparse factors, as of matrices of long strips, panels of one column are
# 10 % faster than those of eight; in three dimensions they can take three times as long
_PANEL, _THIN_PANEL = 8, 1
# factors with fewer entries per unknown count as sparse
_THIN = 100


@dataclasses.dataclass(frozen=True)
class _Ordered:
    """Order of elimination (n,), permuted sparsity pattern, and permutation of the values."""

    order: Ints
    pattern: Pattern
    where: Ints


class SuperLUWorkspace(Workspace):
    """Workspace of SuperLU.

    SuperLU reorders the columns for every matrix. This workspace stores the order of the first
    matrix and permutes later ones by it.
    """

    def __init__(self, pivot_threshold: float) -> None:
        super().__init__()
        self._threshold = pivot_threshold
        self._order: Ints | None = None
        self._ordered: _Ordered | None = None
        self._panel = _PANEL

    def order_by(self, matrix: csr_matrix, order: Ints) -> None:
        """Use the order of elimination of another solver for matrices of this pattern.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_order_of_another_solver
        """
        if not np.array_equal(np.sort(order), np.arange(matrix.shape[0])):
            return
        self._pattern_of(matrix)
        self._order, self._ordered, self._panel = order.astype(np.int64), None, _PANEL

    def _factorise(self, pattern: Pattern, data: Floats) -> SuperLUFactors:
        return self._with_threshold(pattern, data, self._threshold)

    def _with_threshold(self, pattern: Pattern, data: Floats, threshold: float) -> SuperLUFactors:
        """Return factors with a threshold of pivoting, see `linear_solvers.SuperLU`."""
        self.factorisations += 1
        if self._order is None:
            self.analyses += 1
            own = pattern.matrix(data)
            lu = _splu(own, threshold, "MMD_AT_PLUS_A", _PANEL)
            self._order = np.argsort(lu.perm_c)
            self._panel = _THIN_PANEL if lu.nnz < _THIN * pattern.n else _PANEL
            return SuperLUFactors(own, lu, None)
        # the pattern is permuted at the second matrix only, because many runs have one matrix
        if self._ordered is None:
            self._ordered = _Ordered(self._order, *pattern.permuted(self._order))
        own = self._ordered.pattern.matrix(np.take(data, self._ordered.where))
        lu = _splu(own, threshold, "NATURAL", self._panel)
        return SuperLUFactors(own, lu, self._order)

    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        # with a threshold of zero every nonzero pivot is on the diagonal; then L U = L D L^T, and D
        # has as many positive entries as the matrix has positive eigenvalues (Sylvester)
        return self._with_threshold(pattern, data, 0.0).inertia()

    def _forget(self) -> None:
        self._order = self._ordered = None


class SuperLUFactors(Factors):
    """Factors of the transposed matrix, because SuperLU reads the CSR arrays as CSC.

    `order` is the permutation of rows and columns in `matrix`; None if there is none.
    """

    def __init__(self, matrix: csr_matrix, lu: Any, order: Ints | None) -> None:
        super().__init__(matrix)
        self._lu, self._order = lu, order

    def apply(self, b: Floats) -> Floats:
        """Return the solution by the factors alone, neither refined nor checked."""
        if self._order is None:
            return np.asarray(self._lu.solve(b, "T"))
        x = np.empty_like(b)
        x[self._order] = self._lu.solve(b[self._order], "T")
        return x

    def times(self, x: Floats) -> Floats:
        """Return A x, with the factorised matrix."""
        if self._order is None:
            return super().times(x)
        product = np.empty_like(x)
        product[self._order] = super().times(x[self._order])
        return product

    def _check_growth(self, x: Floats, right: Floats) -> None:
        order = slice(None) if self._order is None else self._order
        super()._check_growth(x[order], right[order])

    @cached_property
    def _pivots(self) -> Floats:
        """Return (n,) the pivots: the diagonal of the factor U."""
        return np.asarray(self._lu.U.diagonal())

    @property
    def sign(self) -> int:
        """Sign of the determinant, 1 or -1.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        exchanges = _parity(self._lu.perm_r, self._lu.perm_c)
        return exchanges * int(np.prod(np.sign(self._pivots)))

    @property
    def log_det(self) -> float:
        """Natural logarithm of the absolute value of the determinant.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        return float(np.log(np.abs(self._pivots)).sum())

    def inertia(self) -> tuple[int, int] | None:
        """Return the numbers of positive and negative pivots, None if they are unreliable."""
        if not np.array_equal(self._lu.perm_r, self._lu.perm_c) or not self.signs_are_reliable():
            return None
        return int(np.sum(self._pivots > 0.0)), int(np.sum(self._pivots < 0.0))


def _splu(matrix: csr_matrix, threshold: float, order: _Order, panel: int) -> Any:
    """Return SciPy's SuperLU object for the transposed matrix; raise an error for a zero pivot."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    read_as_columns = (matrix.data, matrix.indices, matrix.indptr)
    try:
        return splu(
            csc_matrix(read_as_columns, shape=matrix.shape),
            permc_spec=order,
            diag_pivot_thresh=threshold,
            panel_size=panel,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise singular("SuperLU", "a pivot that is exactly zero") from error


def _parity(first: Ints, second: Ints) -> int:
    """Return the sign of the permutation between two orders, from the lengths of its cycles."""
    moved = np.flatnonzero(first != second)
    # count the cycles of the entries that differ
    inverse = dict(zip(second[moved].tolist(), moved.tolist(), strict=True))
    target = {int(i): inverse[int(first[i])] for i in moved}
    sign = 1
    while target:
        start, place = target.popitem()
        while place != start:
            sign, place = -sign, target.pop(place)
    return sign
