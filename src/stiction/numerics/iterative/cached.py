"""GMRES, preconditioned by the factors of an earlier matrix of the same run.

Between Newton iterations a tangent changes mainly at points whose contact opens, sticks or slides.
With the factors F of an earlier tangent, A F^-1 is the identity plus a matrix of low rank, and
GMRES converges in a few iterations. If it takes many, A itself is factorised.
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

# unknowns above which cached factors are freed before the sign of a determinant is computed
_LARGE = 100_000
# admissible ratio of the true residual to the estimate of SciPy
_ROUNDED = 2.0


def gmres(
    matrix: csr_matrix, factors: Factors, b: Floats, tolerance: float, most: int
) -> tuple[Floats, int, bool]:
    """Return x with A x = b, iterations, and whether the residual fell below `tolerance` of b.

    Preconditioned from the right, so that the monitored residual is that of the system itself.

    Parameters
    ----------
    matrix : A
    factors : of a similar matrix
    b : (n,)
    tolerance : residual over the right-hand side, Euclidean [1]
    most : iterations

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
    # true residual: larger than the estimate if the matrix is singular to working precision
    residual = float(np.linalg.norm(b - matrix @ x))
    return x, len(residuals), residual <= _ROUNDED * tolerance * float(np.linalg.norm(b))


class CachedFactorsWorkspace(Workspace):
    """Workspace of GMRES preconditioned by cached factors.

    Parameters
    ----------
    tolerance : residual over the right-hand side [1]
    most : iterations, after which a matrix is factorised itself
    worn : iterations, after which the next matrix is factorised itself
    direct : the direct solver
    """

    def __init__(self, tolerance: float, most: int, worn: int, direct: LinearSolver) -> None:
        super().__init__()
        self.tolerance, self.most, self.worn = tolerance, most, worn
        # a separate workspace for signs leaves the cached factors valid
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
        """Return the sign of a determinant; cached factors remain unless they are large."""
        self.make_room(matrix)
        return self._for_signs.sign(matrix)

    def log_det(self, matrix: csr_matrix) -> float:
        """Return the logarithm of the size of a determinant; cached factors remain."""
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
    """A matrix that is solved by its own factors, or by GMRES on those of an earlier one."""

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
        """Return x with A x = b to the tolerance of the workspace; an error if it is not finite.

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
