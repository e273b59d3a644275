"""GMRES, preconditioned by algebraic multigrid and by factors of the contact layer.

One application of the preconditioner P to r is

    x = V r,   x += E L^-1 E^T (r - A x),

where V is a V-cycle of smoothed aggregation for the symmetric part of A, L the submatrix of A for
the contact layer, and E the embedding of the layer. In the contact layer friction makes A
unsymmetric and adhesion makes it indefinite. The multigrid hierarchy is reused while the sparsity
pattern is the same and GMRES converges well; L is factorised for every matrix.
`linear_solvers.Multigrid` describes this solver.

Source: Vanek, Mandel, Brezina 1996 (smoothed aggregation); Saad, Schultz 1986 (GMRES).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.errors import ModelError
from stiction.numerics.direct.factors import (
    Factors,
    Floats,
    Ints,
    Layout,
    Pattern,
    Workspace,
    check_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import LinearSolver

__all__ = ["MultigridFactors", "MultigridWorkspace"]

# the hierarchy is rebuilt if a solution takes this factor more iterations than when it was new.
# Chosen
_WORN = 1.7
# GMRES stops at this factor of the tolerance in the Euclidean norm, because solutions are checked
# entry by entry
_SAFE = 0.2
# restart length of GMRES
_RESTART = 60
# number of matrix entries in a chain of couplings from a contact to the unknowns of the factorised
# layer
_REACH = 1


class MultigridWorkspace(Workspace):
    """Workspace of GMRES on multigrid; small matrices go to a direct solver.

    Parameters
    ----------
    tolerance : residual over the right-hand side [1]
    most : largest number of iterations of a solution
    direct : direct solver for small matrices, for contact layers, and if iteration fails
    direct_below : matrices with fewer unknowns are solved directly
    """

    def __init__(
        self, tolerance: float, most: int, direct: LinearSolver, direct_below: int
    ) -> None:
        super().__init__()
        self.tolerance, self.most, self.direct_below = tolerance, most, direct_below
        self.direct = direct
        self._small = direct.start()
        self.layout: Layout | None = None
        self.hierarchy: Any = None
        self.fresh = self.iterations = self.fallbacks = self.most_bytes = 0

    def describe(self, layout: Layout) -> None:
        """Set the meaning of the unknowns."""
        self.layout = layout
        self.hierarchy = None

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return factors of a small matrix, or a preconditioner; see `Workspace.factorise`."""
        check_matrix(matrix)
        if matrix.shape[0] >= self.direct_below:
            return super().factorise(matrix)
        made = self._small.factorise(matrix)
        made.space = self
        self.factorisations, self.analyses = self._small.factorisations, self._small.analyses
        return made

    def inertia(self, matrix: csr_matrix) -> tuple[int, int] | None:
        """Return the numbers of positive and negative eigenvalues, by the direct solver."""
        return self._small.inertia(matrix)

    @property
    def bytes_used(self) -> int:
        """Memory of hierarchy and Krylov space [bytes]; zero if only factors were used."""
        if self.hierarchy is None:
            return 0
        total = 0
        for level in self.hierarchy.levels:
            for name in ("A", "P", "R"):
                part = getattr(level, name, None)
                if part is not None:
                    total += part.data.nbytes + part.indices.nbytes + part.indptr.nbytes
        n = self.hierarchy.levels[0].A.shape[0]
        return int(total + 8 * n * (_RESTART + 2))

    def _factorise(self, pattern: Pattern, data: Floats) -> Factors:
        self.factorisations += 1
        matrix = pattern.matrix(data)
        if self.hierarchy is None and not self.rebuild(matrix):
            return self.fallback(matrix)
        return MultigridFactors(matrix, self)

    def rebuild(self, matrix: csr_matrix) -> bool:
        """Build the hierarchy of a matrix; return False if it fails, as for indefinite ones.

        Raises
        ------
        ModelError : if pyamg is not installed.
        """
        pyamg = _pyamg()
        self.analyses += 1
        self.fresh = 0
        part = ((matrix + matrix.T) * 0.5).tocsr()
        modes = None if self.layout is None else self.layout.rigid_motions()
        if modes is not None and modes.shape[0] != matrix.shape[0]:
            modes = None
        # pyamg takes random vectors from NumPy's global generator: fix the seed, then restore it
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(0)  # noqa: NPY002
        try:
            self.hierarchy = pyamg.smoothed_aggregation_solver(
                part,
                B=modes,
                strength=("symmetric", {"theta": 0.0}),
                smooth=("jacobi", {"omega": 4.0 / 3.0}),
                presmoother=("gauss_seidel", {"sweep": "symmetric", "iterations": 2}),
                postsmoother=("gauss_seidel", {"sweep": "symmetric", "iterations": 2}),
                max_coarse=400,
                coarse_solver="pinv",
            )
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            self.hierarchy = None
        finally:
            np.random.set_state(state)  # noqa: NPY002
        self.most_bytes = max(self.most_bytes, self.bytes_used)
        return self.hierarchy is not None

    def report(self) -> dict[str, int | float]:
        """Return iterations, memory and number of fallbacks; nothing for small matrices."""
        if not self.iterations and not self.fallbacks:
            return {}
        return {
            "linear_iterations": self.iterations,
            "solver_bytes": self.most_bytes,
            "linear_fallbacks": self.fallbacks,
        }

    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        return self._small.inertia(pattern.matrix(data))

    def fallback(self, matrix: csr_matrix) -> Factors:
        """Return factors of a matrix on which iteration failed."""
        self.fallbacks += 1
        return self.direct.start().factorise(matrix)

    def _forget(self) -> None:
        self.hierarchy = None

    def close(self) -> None:
        """Free all memory."""
        super().close()
        if hasattr(self, "_small"):
            self._small.close()


def _pyamg() -> Any:
    """Return the module pyamg, or raise an error that says how to install it."""
    try:
        import pyamg
    except ImportError as error:
        why = "pyamg builds the multigrid hierarchy."
        needs, try_ = "the package pyamg", "pip install stiction[amg], or take SuperLU()."
        raise ModelError("Multigrid", "no pyamg", needs, why, try_) from error
    return pyamg


class MultigridFactors(Factors):
    """A matrix with its preconditioner; it is factorised for determinants, or if GMRES fails."""

    def __init__(self, matrix: csr_matrix, space: MultigridWorkspace) -> None:
        super().__init__(matrix)
        self._space = space
        self._direct: Factors | None = None
        self._cycle = space.hierarchy.aspreconditioner(cycle="V")
        self._layer = self._members()
        self._inside: Factors | None = None
        if self._layer.size:
            part = matrix[self._layer][:, self._layer].tocsr()
            self._inside = space.direct.start().factorise(part)
            self._columns = matrix[self._layer].tocsr()
        self.worst = 0

    def _members(self) -> Ints:
        """Return the contact layer and the unknowns that are coupled to it."""
        layout = self._space.layout
        if layout is None or np.shape(layout.layer) != (self.n,):
            return np.zeros(0, dtype=np.int64)
        inside = np.asarray(layout.layer, dtype=bool).copy()
        for _ in range(_REACH):
            near = abs(self._matrix) @ inside.astype(np.float64) > 0.0
            inside = inside | near if inside.any() else inside
        return np.flatnonzero(inside)

    def _precondition(self, r: Floats) -> Floats:
        """Return x = P r: a V-cycle, then a correction by the factors of the contact layer."""
        x = np.asarray(self._cycle @ r)
        if self._inside is not None:
            x[self._layer] += self._inside.apply(r[self._layer] - self._columns @ x)
        return x

    def apply(self, b: Floats) -> Floats:
        """Return the solution, by iteration unless the matrix was factorised."""
        if b.ndim == 2:
            return np.stack([self.apply(column) for column in b.T], axis=1)
        if self._direct is not None:
            return self._direct.apply(b)
        x = self._iterate_or_none(b)
        # the hierarchy of an earlier matrix may be unsuitable: rebuild it
        if x is None and self._space.rebuild(self._matrix):
            self._cycle = self._space.hierarchy.aspreconditioner(cycle="V")
            x = self._iterate_or_none(b)
        return x if x is not None else self._factors().apply(b)

    def _iterate_or_none(self, b: Floats) -> Floats | None:
        """Return the solution by iteration; None if it fails."""
        try:
            return self._iterate(b)
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            # the coarsest matrix is inverted in the first cycle, and may be singular
            return None

    def _iterate(self, b: Floats) -> Floats | None:
        """Return the solution by restarted GMRES; None if it does not converge."""
        from scipy.sparse.linalg import LinearOperator, gmres

        space, residuals = self._space, list[float]()
        preconditioner = LinearOperator((self.n, self.n), matvec=self._precondition)
        x, info = gmres(
            self._matrix,
            b,
            rtol=_SAFE * space.tolerance,
            restart=_RESTART,
            maxiter=-(-space.most // _RESTART),
            M=preconditioner,
            callback=residuals.append,
            callback_type="pr_norm",
        )
        count = len(residuals)
        space.iterations += count
        self.worst = max(self.worst, count)
        if info != 0 or not np.isfinite(x).all():
            return None
        if not space.fresh:
            space.fresh = max(count, 1)
        elif count > _WORN * space.fresh + 5:
            # converged, but slowly: rebuild for the next matrix
            space.hierarchy = None
        return np.asarray(x)

    def _factors(self) -> Factors:
        """Return factors of this matrix by the direct solver, computed once."""
        if self._direct is None:
            self._direct = self._space.fallback(self._matrix)
        return self._direct

    @property
    def sign(self) -> int:
        """Sign of the determinant, by factors."""
        return self._factors().sign

    @property
    def log_det(self) -> float:
        """Natural logarithm of the absolute value of the determinant, by factors."""
        return self._factors().log_det
