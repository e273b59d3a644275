"""GMRES, preconditioned by the factors of an earlier matrix of the same run.

Between Newton iterations the tangent matrix A changes mainly at points whose contact opens, sticks
or slides. With the factors F of an earlier tangent, A F^-1 is the identity plus a matrix of low
rank, so that GMRES converges in a few iterations. If it needs many, A itself is factorised.
`linear_solvers.CachedFactors` describes this solver.

Source: Saad, Schultz 1986 (GMRES).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.direct.factors import (
    Factors,
    Floats,
    LinearSolveError,
    Pattern,
    Workspace,
    singular,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import LinearSolver

__all__ = ["CachedFactorsWorkspace", "OnCachedFactors", "gmres"]

# with more unknowns cached factors are freed before the sign of a determinant is computed
_LARGE = 100_000
# largest ratio of the true residual to the tolerance, which SciPy compares with an estimate that
# rounding makes too small. Chosen
_ROUNDED = 2.0


def gmres(
    matrix: csr_matrix, factors: Factors, b: Floats, tolerance: float, most: int
) -> tuple[Floats, int, bool]:
    """Return x with A x = b, the number of iterations, and whether GMRES converged.

    The preconditioner acts from the right, so that the monitored residual is that of A x = b.

    Parameters
    ----------
    matrix : A
    factors : factors of a similar matrix
    b : (n,) right-hand side
    tolerance : largest residual over the right-hand side, in the Euclidean norm [1]
    most : largest number of iterations

    Source: Saad, Schultz 1986; Saad 2003, Iterative methods for sparse linear systems, sect. 9.3.
    Verified by: tests/unit/numerics/test_cached.py::test_a_change_of_low_rank_takes_its_rank
    """
    from scipy.sparse.linalg import LinearOperator
    from scipy.sparse.linalg import gmres as iterate

    residuals: list[float] = []
    product = LinearOperator(
        matrix.shape, matvec=lambda v: matrix @ factors.apply(v), dtype=np.float64
    )
    y, _ = iterate(
        product,
        b,
        rtol=tolerance,
        restart=most,
        maxiter=1,
        callback=residuals.append,
        callback_type="pr_norm",
    )
    x = factors.apply(np.asarray(y))
    # the true residual exceeds the estimate if the matrix is singular to working precision
    residual = float(np.linalg.norm(b - matrix @ x))
    return x, len(residuals), residual <= _ROUNDED * tolerance * float(np.linalg.norm(b))


class CachedFactorsWorkspace(Workspace):
    """Workspace of GMRES preconditioned by cached factors.

    Parameters
    ----------
    tolerance : residual over the right-hand side [1]
    most : if a solution needs more iterations than this, its matrix is factorised
    worn : if a solution takes more iterations than this, the next matrix is factorised
    direct : the direct solver
    """

    def __init__(self, tolerance: float, most: int, worn: int, direct: LinearSolver) -> None:
        super().__init__()
        self.tolerance, self.most, self.worn = tolerance, most, worn
        # a separate workspace for signs of determinants, so that the cached factors remain valid
        self._direct, self._for_signs = direct.start(), direct.start()
        self.cached: Factors | None = None
        # number of times that cached factors were freed for memory
        self.spared = 0
        self.iterations = self.solutions = 0

    def _factorise(self, pattern: Pattern, data: Floats) -> Factors:
        made = OnCachedFactors(pattern.matrix(data), self)
        if self.cached is None:
            made.factorise()
        return made

    def renew(self, matrix: csr_matrix) -> Factors:
        """Factorise this matrix and cache its factors."""
        self.cached = None
        self.cached = self._direct.factorise(matrix)
        self.factorisations, self.analyses = self._direct.factorisations, self._direct.analyses
        return self.cached

    def make_room(self, matrix: csr_matrix) -> None:
        """Free the cached factors, if they are large."""
        if matrix.shape[0] >= _LARGE:
            self.cached = None
            self.spared += 1
            self._direct.spare()

    def sign(self, matrix: csr_matrix) -> int:
        """Return the sign of a determinant; large cached factors are freed before."""
        self.make_room(matrix)
        return self._for_signs.sign(matrix)

    def log_det(self, matrix: csr_matrix) -> float:
        """Return the logarithm of the absolute value of a determinant; cached factors remain."""
        return self._for_signs.factorise(matrix).log_det

    def report(self) -> dict[str, int | float]:
        """Return the numbers of iterations and solutions."""
        return {"linear_iterations": self.iterations, "linear_solutions": self.solutions}

    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        return self._for_signs.inertia(pattern.matrix(data))

    def _forget(self) -> None:
        # a new pattern invalidates all factors
        self.cached = None
        self._direct.close()
        self._for_signs.close()


class OnCachedFactors(Factors):
    """A matrix with which systems are solved by GMRES on cached factors, or by its own factors."""

    def __init__(self, matrix: csr_matrix, space: CachedFactorsWorkspace) -> None:
        super().__init__(matrix)
        self._space = space
        self._own: Factors | None = None
        self._of = 0

    def factorise(self) -> Factors:
        """Factorise this matrix, and cache its factors."""
        self._own, self._of = self._space.renew(self._matrix), self._space.spared
        return self._own

    def apply(self, b: Floats) -> Floats:
        """Return the solution to the tolerance of the workspace."""
        if b.ndim > 1:
            return np.stack([self.apply(column) for column in b.T], axis=1)
        space = self._space
        space.solutions += 1
        if self._of != space.spared:
            self._own = None
        if self._own is None and space.cached is not None:
            x = self._iterated(space.cached, b)
            if x is not None:
                return x
        return (self._own or self.factorise()).apply(b)

    def _iterated(self, factors: Factors, b: Floats) -> Floats | None:
        """Return the solution by iteration on cached factors; None if it takes too many."""
        space = self._space
        try:
            x, count, converged = gmres(self._matrix, factors, b, space.tolerance, space.most)
        except LinearSolveError:
            return None
        space.iterations += count
        if converged and count > space.worn:
            space.cached = None
        return x if converged else None

    def solve(self, b: npt.ArrayLike) -> Floats:
        """Return x with A x = b to the tolerance of the workspace.

        Raises
        ------
        ModelError : if `b` has another shape.
        LinearSolveError : if `b` holds NaN, or if the matrix is singular to working precision.
        """
        right = self._right(b)
        x = self.apply(right)
        if self._own is not None:
            return self._own.solve(right)
        if not np.isfinite(x).all():
            raise singular("Factors.solve", "a solution that is not finite")
        self.check_size(x, right)
        return x

    @property
    def sign(self) -> int:
        """Sign of the determinant, 1 or -1."""
        return self._space.sign(self._matrix)

    @property
    def log_det(self) -> float:
        """Natural logarithm of the absolute value of the determinant."""
        return self._space.log_det(self._matrix)
