"""Base classes of solvers of sparse linear systems: pattern, workspace of a run, factors.

`Workspace.factorise` checks a matrix and returns its `Factors`; `Factors.solve` refines a solution
and raises an error if the matrix is singular to working precision. Subclasses in `direct` and
`iterative` implement the factorisation and the solution by the factors.
"""

from __future__ import annotations

import abc
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError, explain

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "Factors",
    "Layout",
    "LinearSolveError",
    "Pattern",
    "Workspace",
    "check_matrix",
    "check_symmetric",
    "singular",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

# relative residual above which a solution is refined; number of refinements, of which each gains
# the digits that the factors have. Chosen, see docs/decisions/15
REFINE_ABOVE, MOST_REFINEMENTS = 1e-10, 2
# largest admissible residual over |A| |x| + |b|. Chosen: stable factors give 1e-15 or so
BACKWARD_ERROR = 1e-8
# |A| |x| / |b|, a lower bound of the condition number, above which the matrix counts as singular to
# working precision: 1e14 leaves two digits of 1e-16; 1e11 leaves as many if the solver replaced a
# pivot by 1e-13 of the largest entry
GROWTH, GROWTH_OF_REPLACED = 1e14, 1e11
# largest difference of A_ij and A_ji, over the largest entry, of a symmetric matrix. Chosen, above
# the rounding of an assembly in another order
MIRRORED = 1e-9


class LinearSolveError(SolveError):
    """A matrix is singular, or a number is not finite: there is no solution."""


class Layout(NamedTuple):
    """Meaning of the unknowns of a matrix, for algebraic multigrid.

    Parameters
    ----------
    places : (n, d) position of the node of each unknown [m]
    components : (n,) component of the displacement that the unknown is, from 0
    layer : (n,) whether the node is in contact
    """

    places: Floats
    components: Ints
    layer: npt.NDArray[np.bool_]

    def rigid_motions(self) -> Floats:
        """Return displacements without strain, (n, k): translations and rotations.

        Verified by: tests/unit/numerics/test_multigrid.py::test_rigid_motions_strain_nothing
        """
        n, d = self.places.shape
        x = self.places - self.places.mean(axis=0)
        x = x / max(float(np.abs(x).max()), 1e-300)
        turns = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (2, 0)]
        modes = np.zeros((n, d + len(turns)))
        modes[np.arange(n), self.components] = 1.0
        for k, (i, j) in enumerate(turns):
            modes[:, d + k] = np.where(self.components == i, -x[:, j], 0.0)
            modes[:, d + k] += np.where(self.components == j, x[:, i], 0.0)
        return modes


class Pattern:
    """Sparsity pattern of a matrix, valid while its index arrays are the same objects.

    Attributes
    ----------
    indptr, indices : CSR arrays of 32-bit integers with sorted rows
    rows : row of each entry
    gather : permutation of the given values into this order; None if they are in it
    """

    def __init__(self, matrix: csr_matrix) -> None:
        self._given = (matrix.indptr, matrix.indices)
        self.n = int(matrix.shape[0])
        self.gather: Ints | None = None
        if matrix.indices.size >= 2**31:
            why = "indices of entries have 32 bits"
            got = f"{matrix.indices.size} entries"
            raise ModelError(_bad_matrix(got, "fewer than 2^31", why, "take fewer unknowns"))
        indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int32)
        indices = np.ascontiguousarray(matrix.indices, dtype=np.int32)
        if indices.size and not 0 <= indices.min() <= indices.max() < self.n:
            why = "a column belongs to an unknown"
            needs = f"numbers from 0 to {self.n - 1}"
            raise ModelError(_bad_matrix("column numbers out of range", needs, why))
        rows = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(indptr))
        place = rows * np.int64(self.n) + indices
        if not np.all(np.diff(place) > 0):
            self.gather = np.argsort(place, kind="stable")
            if not np.all(np.diff(place[self.gather]) > 0):
                why, hint = "each coefficient is stored once", "call matrix.sum_duplicates()"
                got, needs = "two entries of one row and column", "one entry for each place"
                raise ModelError(_bad_matrix(got, needs, why, hint))
            indices = indices[self.gather]
        self.indptr, self.indices, self.rows = indptr, indices, rows

    def is_of(self, matrix: csr_matrix) -> bool:
        """Return whether this is the pattern of `matrix`: the same arrays, not equal ones.

        SciPy wraps given arrays, so that the addresses of their memory are compared. The references
        in this object prevent a reuse of that memory.
        """
        return all(
            old is new or (_memory(old) == _memory(new))
            for old, new in zip(self._given, (matrix.indptr, matrix.indices), strict=True)
        )

    def values(self, matrix: csr_matrix) -> Floats:
        """Return a copy of the numbers of `matrix` in the order of this pattern."""
        return matrix.data.copy() if self.gather is None else matrix.data[self.gather]

    def matrix(self, data: Floats) -> csr_matrix:
        """Return the matrix with these numbers."""
        from scipy.sparse import csr_matrix

        return csr_matrix((data, self.indices, self.indptr), shape=(self.n, self.n))

    def permuted(self, order: Ints) -> tuple[Pattern, Ints]:
        """Return the pattern with permuted rows and columns, and the permutation of values.

        Row i of the new matrix is row `order[i]` of this one; its values are `data[where]`.
        """
        from scipy.sparse import csr_matrix

        place = np.empty(self.n, dtype=np.int32)
        place[order] = np.arange(self.n)
        # permute the indices of the values in place of the values, in linear time
        places = csr_matrix(
            (np.arange(self.indices.size), self.indices, self.indptr), shape=(self.n, self.n)
        )[order]
        places.indices[:] = place[places.indices]
        places.has_sorted_indices = False
        places.sort_indices()
        return Pattern(places), places.data

    @cached_property
    def transposition(self) -> Ints | None:
        """Return for each entry (i, j) the index of entry (j, i); None if the pattern has none."""
        where = np.lexsort((self.rows, self.indices)).astype(np.int32)
        mirrored = np.array_equal(self.rows[where], self.indices)
        return where if mirrored and np.array_equal(self.indices[where], self.rows) else None


def _memory(array: Ints) -> tuple[object, ...]:
    """Return address, shape, strides and type of an array, which identify its memory."""
    return array.ctypes.data, array.shape, array.strides, array.dtype


def _bad_matrix(
    got: str,
    needs: str,
    why: str,
    hint: str = "give a square scipy.sparse.csr_matrix of float64",
) -> str:
    """Return the message for an argument of `factorise` that is refused."""
    return explain("Workspace.factorise", got, needs, why, hint)


def check_matrix(matrix: object) -> None:
    """Raise an error unless the argument is a square CSR matrix of finite numbers.

    Raises
    ------
    ModelError : for another type, shape or number type.
    LinearSolveError : for NaN and infinity.

    Verified by: tests/unit/numerics/test_linear_solvers.py::test_what_is_no_system_is_named
    """
    from scipy.sparse import csr_array, csr_matrix

    if not isinstance(matrix, (csr_matrix, csr_array)):
        why = "the factorisation reads the arrays of this format"
        raise ModelError(_bad_matrix(type(matrix).__name__, "a matrix in CSR format", why))
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        got = f"a matrix of {rows} x {columns}"
        why = "a linear system has as many equations as unknowns"
        raise ModelError(_bad_matrix(got, "a square matrix with rows", why))
    if matrix.data.dtype != np.float64 or matrix.data.size != matrix.indices.size:
        got = f"{matrix.data.size} entries of {matrix.data.dtype}"
        why = "each index belongs to one coefficient in double precision"
        raise ModelError(_bad_matrix(got, f"{matrix.indices.size} of float64", why))
    bad = matrix.data.size - np.count_nonzero(np.isfinite(matrix.data))
    if bad:
        why = "an overflow or an undefined operation occurred in these entries"
        hint = "take a smaller step from the last valid state"
        got = f"{bad} entries that are NaN or infinite"
        raise LinearSolveError(explain("Workspace.factorise", got, "finite numbers", why, hint))


def singular(where: str, got: str) -> LinearSolveError:
    """Return the error for a singular matrix."""
    why = "some combination of the unknowns has no stiffness, or two equations are the same"
    hint = (
        "constrain rigid motions, give every unknown an equation, or at a limit point solve the "
        "bordered system"
    )
    needs = "a matrix that is nonsingular to working precision"
    return LinearSolveError(explain(where, got, needs, why, hint))


# ---- workspaces and factors


class Workspace(abc.ABC):
    """State of a solver during one run: patterns, storage and counts.

    Attributes
    ----------
    analyses : number of symbolic analyses
    factorisations : number of factorised matrices
    backward : largest backward error of an accepted solution: residual over |A| |x| + |b| [1]
    """

    def __init__(self) -> None:
        self.analyses = 0
        self.backward = 0.0
        self.factorisations = 0
        self._pattern: Pattern | None = None

    def factorise(self, matrix: csr_matrix) -> Factors:
        """Return the factors of `matrix`; those of the previous matrix may become invalid.

        Parameters
        ----------
        matrix : square matrix of float64 in CSR format, each entry stored once. Its `data` may be
            changed in place afterwards, its `indptr` and `indices` may not

        Raises
        ------
        ModelError : if the argument is not such a matrix.
        LinearSolveError : if it holds NaN or is singular.

        Notes
        -----
        Verified by: tests/unit/numerics/test_linear_solvers.py::test_analysis_is_reused
        """
        pattern = self._pattern_of(matrix)
        made = self._factorise(pattern, pattern.values(matrix))
        made.space = self
        return made

    def inertia(self, matrix: csr_matrix) -> tuple[int, int] | None:
        """Return the numbers of positive and of negative eigenvalues of a symmetric matrix.

        They need a separate factorisation. None if it is too inaccurate.

        Raises
        ------
        ModelError : if the matrix is not symmetric.
        LinearSolveError : if it holds NaN or is singular.

        Notes
        -----
        Source: Sylvester's law of inertia; Golub, Van Loan 2013, sect. 8.1.5.
        Verified by: tests/unit/numerics/test_linear_solvers.py::test_inertia
        """
        pattern = self._pattern_of(matrix)
        data = pattern.values(matrix)
        check_symmetric(pattern, data)
        return self._inertia(pattern, data)

    def sign(self, matrix: csr_matrix) -> int:
        """Return the sign of the determinant of a matrix, possibly without storing all factors.

        Raises
        ------
        ModelError : if the argument is not a matrix as for `factorise`.
        LinearSolveError : if it holds NaN or is singular.
        """
        return self.factorise(matrix).sign

    def describe(self, layout: Layout) -> None:
        """Set the meaning of the unknowns."""
        del layout  # unused by direct solvers

    def report(self) -> dict[str, int | float]:
        """Return counts of the solver for the statistics of a run, by name."""
        return {}

    def spare(self) -> None:
        """Free the memory of large factors, which become invalid."""
        return  # other factors are freed with their objects

    def close(self) -> None:
        """Free all memory; the workspace may be used again afterwards."""
        self._pattern = None
        self._forget()

    def _pattern_of(self, matrix: csr_matrix) -> Pattern:
        """Check a matrix and return its pattern; a new pattern frees the memory of the old one."""
        check_matrix(matrix)
        if self._pattern is None or not self._pattern.is_of(matrix):
            self.close()
            self._pattern = Pattern(matrix)
        return self._pattern

    # of subclasses: factors, numbers of positive and negative eigenvalues, and freeing of memory;
    # the values `data` (nnz,) are in the order of the pattern
    @abc.abstractmethod
    def _factorise(self, pattern: Pattern, data: Floats) -> Factors:
        """Return the factors of a checked matrix: its pattern, and the values of its entries."""

    @abc.abstractmethod
    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        """Return the numbers of positive and negative eigenvalues of a checked matrix."""

    @abc.abstractmethod
    def _forget(self) -> None:
        """Free the storage that belongs to the present pattern."""

    def __enter__(self) -> Self:
        """Return the workspace, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all memory."""
        self.close()


class Factors(abc.ABC):
    """A factorised matrix.

    Parameters
    ----------
    matrix : the matrix A
    replaced : number of pivots that the solver replaced, because they were too small

    Attributes
    ----------
    n : number of unknowns
    space : workspace that made the factors; it records the largest backward error
    """

    def __init__(self, matrix: csr_matrix, replaced: int = 0) -> None:
        self.n = int(matrix.shape[0])
        self.space: Workspace | None = None
        self._matrix = matrix
        data = matrix.data
        self._size = max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))
        self._growth = GROWTH if replaced == 0 else GROWTH_OF_REPLACED

    def solve(self, b: npt.ArrayLike) -> Floats:
        """Return x with A x = b, refined when the residual is above 1e-10 of b.

        Parameters
        ----------
        b : right-hand side (n,), or several as columns (n, k)

        Raises
        ------
        ModelError : if `b` has another shape.
        LinearSolveError : if `b` holds NaN, or if the matrix is singular to working precision.

        Notes
        -----
        Source: Higham 2002, Accuracy and stability, sect. 12.1 (fixed precision refinement).
        Verified by: tests/unit/numerics/test_linear_solvers.py::test_solution_is_the_dense_one
        """
        right = self._right(b)
        largest = _largest(right)
        x = self.apply(right)
        residual = right - self.times(x)
        for _ in range(MOST_REFINEMENTS):
            error = _largest(residual)
            # an infinite x is reported below; refinement would give NaN
            if not np.any(error > REFINE_ABOVE * largest) or not np.isfinite(x).all():
                break
            refined = x + self.apply(residual)
            refined_residual = right - self.times(refined)
            if not np.all(_largest(refined_residual) <= error):
                break
            x, residual = refined, refined_residual
        self._check_solution(x, right, residual)
        return x

    def _right(self, b: npt.ArrayLike) -> Floats:
        """Return a right-hand side as floats (n,) or (n, k), or raise an error."""
        try:
            right = np.asarray(b, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(self._bad_right(repr(b))) from error
        if right.ndim not in (1, 2) or right.shape[0] != self.n or right.size == 0:
            raise ModelError(self._bad_right(f"an array of shape {right.shape}"))
        if not np.isfinite(right).all():
            why = "an overflow or an undefined operation occurred in these entries"
            hint = "take a smaller step from the last valid state"
            got = "NaN or infinite entries"
            raise LinearSolveError(explain("Factors.solve", got, "finite numbers", why, hint))
        return right

    def _bad_right(self, got: str) -> str:
        """Return the message for a right-hand side of a wrong shape."""
        why = "a right-hand side has one number for each equation"
        needs = f"shape ({self.n},) or ({self.n}, k)"
        return explain(
            "Factors.solve", got, needs, why, "write several right-hand sides as columns"
        )

    def _check_solution(self, x: Floats, right: Floats, residual: Floats) -> None:
        """Raise an error unless x is finite and has a small backward error; record the error."""
        largest = _largest(right)
        if not (np.isfinite(x).all() and np.isfinite(residual).all()):
            raise singular("Factors.solve", "a solution that is not finite")
        longest = self._size * _largest(x)
        self.check_size(x, right)
        sizes = longest + largest
        if np.any(_largest(residual) > BACKWARD_ERROR * sizes):
            raise singular("Factors.solve", "a residual that refinement does not reduce")
        if self.space is not None:
            errors = _largest(residual) / np.maximum(sizes, np.finfo(np.float64).tiny)
            self.space.backward = max(self.space.backward, float(np.max(errors)))

    def check_size(self, x: Floats, right: Floats) -> None:
        """Raise an error for a solution so large that its matrix is singular to working precision.

        Raises
        ------
        LinearSolveError : if it is.
        """
        if np.any(self._size * _largest(x) > self._growth * _largest(right)):
            self._check_growth(x, right)

    def _check_growth(self, x: Floats, right: Floats) -> None:
        """Raise an error if x is too large, with equations scaled to equal size."""
        # compute the growth for equations scaled to equal size, because their units are arbitrary
        sizes = abs(self._matrix).max(axis=1).toarray().reshape(-1, *[1] * (x.ndim - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.abs(x).max(axis=0) / np.abs(right / sizes).max(axis=0)
        if np.any(sizes == 0.0) or np.any(growth > self._growth):
            got = f"a solution {np.nanmax(growth):.0e} times its right-hand side"
            raise singular("Factors.solve", got if np.all(sizes) else "an equation of zeros")

    def times(self, x: Floats) -> Floats:
        """Return A x, with the factorised matrix."""
        if x.ndim == 1:
            return np.asarray(self._matrix @ x)
        # column by column, which is faster in SciPy
        return np.stack([self._matrix @ column for column in x.T], axis=1)

    @abc.abstractmethod
    def apply(self, b: Floats) -> Floats:
        """Return the solution by the factors alone, neither refined nor checked."""

    @property
    @abc.abstractmethod
    def sign(self) -> int:
        """Sign of the determinant, 1 or -1."""

    @property
    @abc.abstractmethod
    def log_det(self) -> float:
        """Natural logarithm of the absolute value of the determinant."""

    def solves(self) -> bool:
        """Return whether a random right-hand side is solved accurately without refinement."""
        b, x, residual = self._probe()
        size = self._size * np.abs(x).max() + np.abs(b).max()
        return bool(np.abs(residual).max() <= BACKWARD_ERROR * size)

    def signs_are_reliable(self) -> bool:
        """Return whether the factors are accurate enough for the signs of all eigenvalues.

        The eigenvector of the smallest eigenvalue dominates the solution for a random right-hand
        side. The residual of this solution thus compares the error of the factors with that
        eigenvalue.
        """
        b, _, residual = self._probe()
        return bool(np.abs(residual).max() < 1e-3 * np.abs(b).max())

    def _probe(self) -> tuple[Floats, Floats, Floats]:
        """Return a random right-hand side, its solution without refinement, and the residual."""
        b = np.random.default_rng(0).standard_normal(self.n)
        x = self.apply(b)
        return b, x, b - self.times(x)


def _largest(columns: Floats) -> Any:
    """Return the largest absolute entry of a vector, or of each column."""
    # one column at a time: NumPy is slow along the first of two axes
    if columns.ndim == 1:
        return np.abs(columns).max(initial=0.0)
    return np.array([np.abs(column).max(initial=0.0) for column in columns.T])


def check_symmetric(pattern: Pattern, data: Floats) -> None:
    """Raise ModelError if A_ij and A_ji differ by more than 1e-9 of the largest entry."""
    where, size = pattern.transposition, float(np.abs(data).max(initial=0.0))
    if where is not None:
        difference = float(np.abs(data - data[where]).max(initial=0.0))
    else:
        matrix = pattern.matrix(data)
        difference = float(abs(matrix - matrix.T).max())
    if difference <= MIRRORED * size:
        return
    got = f"entries A_ij and A_ji that differ by {difference / size:.0e} of the largest entry"
    why = "the signs of eigenvalues follow from pivots for symmetric matrices only"
    hint = "use the sign of the determinant of the factors instead"
    raise ModelError("Workspace.inertia", got, "a symmetric matrix", why, hint)
