"""LU and LDL^T factors by PARDISO of Intel's MKL, called through the package pypardiso.

`linear_solvers.Pardiso` describes the solver. The symbolic analysis of a sparsity pattern is reused
for all matrices of a run. pypardiso itself analyses the pattern for every matrix, and compares the
whole matrix with a copy at every solution; so this module sets the phases of PARDISO and calls
`_call_pardiso` of pypardiso.

Source: Schenk, Gaertner 2004 (PARDISO); the manual of MKL for the settings.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import os
import weakref
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.errors import ModelError, explain
from stiction.numerics.checks import cores_of_process
from stiction.numerics.direct.factors import (
    Factors,
    Floats,
    Ints,
    LinearSolveError,
    Pattern,
    Workspace,
    singular,
)
from stiction.numerics.direct.signs import sign_of_parts, unsymmetric_rows
from stiction.numerics.direct.superlu import SuperLUWorkspace

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["PardisoFactors", "PardisoWorkspace", "installed"]

# phases of PARDISO, and types of matrices
ANALYSE, ANALYSE_AND_FACTORISE, FACTORISE, SOLVE = 11, 12, 22, 33
UNSYMMETRIC, SYMMETRIC = 11, -2
# indices into the settings (`iparm` of PARDISO), from zero
REPLACED, POSITIVE, NEGATIVE, TWO_LEVELS = 13, 21, 22, 23
ORDER, SCALED, MATCHED, PARTS = 4, 10, 12, 35
# entries of `iparm` and their values, from zero; `_Handle` sets the others
_SETTINGS = {
    0: 1,  # no default settings
    1: 3,  # nested dissection on all threads
    4: 2,  # return the order of elimination
    10: 1,  # scale rows and columns
    12: 1,  # matching: permute large entries to the diagonal, needed if it has zeros
    20: 1,  # pivots of one or two rows, for symmetric matrices
}
# for more unknowns signs are computed from the symmetric part, which takes less time and memory
_LARGE = 10_000


# ---- the library


def installed() -> bool:
    """Return whether pypardiso is installed, which installs MKL too.

    Verified by: tests/unit/numerics/test_linear_solvers.py::test_missing_library_is_named
    """
    return importlib.util.find_spec("pypardiso") is not None


def _library() -> Any:
    """Return the solver of pypardiso, which loads MKL at import."""
    where, needs = "Pardiso", "pypardiso and MKL with 32-bit integers"
    if "ILP64" in os.environ.get("MKL_INTERFACE_LAYER", ""):
        why = "with this setting MKL reads all integers with 64 bits"
        hint = "unset MKL_INTERFACE_LAYER"
        raise ModelError(where, "MKL_INTERFACE_LAYER=ILP64", needs, why, hint)
    try:
        from pypardiso import ps
    except ImportError as error:
        why = "PARDISO is part of MKL, which is an optional dependency"
        hint = "pip install stiction[pardiso] (x86-64 only), or use SuperLU()"
        raise ModelError(where, str(error), needs, why, hint) from error
    except OSError as error:
        why = f"the system cannot load the library: {error}"
        hint = "pip install --force-reinstall mkl, or use SuperLU()"
        raise ModelError(where, "a damaged MKL library", needs, why, hint) from error
    return ps


@contextlib.contextmanager
def _threads(library: Any, wanted: int | None) -> Iterator[None]:
    """Set the number of MKL threads within this block."""
    if wanted is None:
        wanted = min(int(library.MKL_Get_Max_Threads()), cores_of_process())
    before = library.MKL_Set_Num_Threads_Local(wanted)
    try:
        yield
    finally:
        library.MKL_Set_Num_Threads_Local(before)


# ---- one analysed pattern


class _Handle:
    """Memory of PARDISO for one sparsity pattern; it is freed with this object at the latest.

    Parameters
    ----------
    kind : UNSYMMETRIC or SYMMETRIC (upper triangle only)
    indptr, indices : CSR arrays of the pattern
    threads : number of threads; None for MKL's default
    """

    def __init__(self, kind: int, indptr: Ints, indices: Ints, threads: int | None) -> None:
        self.solver, self.threads = copy.copy(_library()), threads
        self.n, self.indptr, self.indices = indptr.size - 1, indptr, indices
        # whether scaling and matching suit the latest values; number of factorisations
        # and releases, which identifies factors
        self.fits, self.generation = True, 0
        self.settings = np.zeros(64, np.int32)
        for place, value in _SETTINGS.items():
            self.settings[place] = value
        unsymmetric = kind == UNSYMMETRIC
        self.settings[9] = 13 if unsymmetric else 8  # pivots below 10^-13 or 10^-8 are replaced
        # two-level elimination is a third faster. With the minimum-degree order and two threads
        # MKL 2026.2 gave wrong solutions without an error, so that nested dissection is used
        self.settings[TWO_LEVELS] = 10 if unsymmetric else 0
        # the order of elimination, numbered from one
        self.perm = np.zeros(self.n, np.int32)
        self.solver.mtype, self.solver.pt = kind, np.zeros(64, np.int64)
        self.solver.iparm, self.solver.perm = self.settings, self.perm
        self._finalizer = weakref.finalize(self, self.solver.free_memory, everything=True)
        self._finalizer.atexit = False

    def run(self, phase: int, data: Floats, b: Floats | None = None) -> Floats:
        """Run one phase and return the solution, which is empty unless there is a `b`."""
        if not self._finalizer.alive:
            raise ModelError(_invalid("freed"))
        right = np.asfortranarray(np.zeros((0, 1)) if b is None else b, dtype=np.float64)
        return self._call(phase, data, right)

    def _call(self, phase: int, data: Floats, right: Floats) -> Floats:
        """Run one phase for the values `data`; raise the error of the library, if any."""
        from pypardiso.pardiso_wrapper import PyPardisoError
        from scipy.sparse import csr_matrix

        matrix = csr_matrix((data, self.indices, self.indptr), shape=(self.n, self.n))
        self.solver.set_phase(phase)
        if phase in (FACTORISE, ANALYSE_AND_FACTORISE):
            self.generation += 1
        try:
            with _threads(self.solver.libmkl, self.threads):
                return np.asarray(self.solver._call_pardiso(matrix, right))
        except PyPardisoError as error:
            raise _failure(error.value) from error

    def schur_complement(self, rows: Ints, data: Floats) -> Floats | None:
        """Return the dense Schur complement of some rows of a symmetric matrix; None if it fails.

        The factors of the other rows are not stored, but the numbers of their positive and negative
        pivots are.
        """
        if self.generation == 0:
            for place, value in ((ORDER, 0), (SCALED, 0), (MATCHED, 0), (PARTS, 1)):
                self.settings[place] = value
            # `perm` is 1 for the rows of the Schur complement
            self.perm[:] = 0
            self.perm[rows] = 1
        phase = FACTORISE if self.generation else ANALYSE_AND_FACTORISE
        try:
            schur = self._call(phase, data, np.zeros((rows.size, rows.size)))
        except (LinearSolveError, MemoryError):
            return None
        complete = self.settings[POSITIVE] + self.settings[NEGATIVE] == self.n - rows.size
        return schur if complete and self.settings[REPLACED] == 0 else None

    def free_factors(self) -> None:
        """Free the factors; the symbolic analysis remains for the next matrix."""
        self.generation += 1
        self.solver.free_memory()

    def close(self) -> None:
        """Free the memory that PARDISO holds."""
        self._finalizer()


class _LibraryError(LinearSolveError):
    """An error of the library, not of the matrix."""


# meaning of the error codes of PARDISO
_MEANING = {
    -1: "inconsistent input",
    -2: "not enough memory",
    -3: "the order of elimination could not be found",
    -4: "a pivot that is exactly zero",
    -5: "an internal error",
    -6: "no entries to bring to the diagonal",
    -7: "a diagonal that is singular",
    -8: "more entries than 32-bit integers can count",
    -13: "an interrupt",
    -15: "an error in the elimination in two levels",
}


def _failure(code: int) -> LinearSolveError | MemoryError:
    """Return the error for an error code of PARDISO."""
    got = _MEANING.get(code, f"error {code} of the library")
    if code == -2:
        return MemoryError(f"PARDISO: {got}")
    if code in (-4, -6, -7):
        return singular("PARDISO", got)
    why, hint = "PARDISO failed", "use SuperLU() for this matrix, and please report the failure"
    return _LibraryError(explain("PARDISO", got, "a matrix that PARDISO can factorise", why, hint))


def _invalid(how: str) -> str:
    """Return the message for factors that are no longer valid."""
    why = "PARDISO holds the factors of one matrix at a time, in its workspace"
    hint = "solve all right-hand sides before the next matrix, or start another workspace"
    return explain("Factors", f"factors that were {how}", "the latest factors", why, hint)


# ---- workspace and factors


class PardisoWorkspace(Workspace):
    """Workspace of PARDISO; holds the factors of one matrix at a time.

    It has up to three handles: of the matrix itself, of the upper triangle of a symmetric matrix
    for the inertia, and of the symmetric part with a Schur complement for the sign (`signs`).
    """

    def __init__(self, threads: int | None) -> None:
        super().__init__()
        _library()
        self._threads = threads
        self.superlu = SuperLUWorkspace(0.01)
        self._general: _Handle | None = None
        self._symmetric: tuple[_Handle, Ints] | None = None
        self._parts: tuple[Pattern, _Handle, Ints, Ints] | None = None

    def _factorise(self, pattern: Pattern, data: Floats) -> PardisoFactors:
        """Return factors: by the last analysis, else a new one, else one without two levels."""
        with contextlib.suppress(_LibraryError):
            if self._general is not None and self._general.fits:
                factors = self._run(self._general, pattern, data)
                # scaling and matching were computed for the analysed values: replaced pivots show
                # that they may not suit the present ones
                if factors.replaced == 0:
                    return factors
            factors = self._analyse(pattern, data, two_levels=True)
            # test a solution after each analysis, because wrong factors without an error occurred
            if factors.solves():
                return factors
        factors = self._analyse(pattern, data, two_levels=False)
        factors.handle.fits = factors.replaced == 0 and factors.solves()
        return factors

    def _analyse(self, pattern: Pattern, data: Floats, *, two_levels: bool) -> PardisoFactors:
        """Analyse the pattern anew, and factorise."""
        if self._general is not None:
            self._general.close()
            self._general = None
        handle = _Handle(UNSYMMETRIC, pattern.indptr, pattern.indices, self._threads)
        handle.settings[TWO_LEVELS] = 10 if two_levels else 0
        self.analyses += 1
        handle.run(ANALYSE, data)
        factors = self._run(handle, pattern, data)
        self._general = handle
        # SuperLU gives the signs; with this order (nested dissection) its factors are half as large
        self.superlu.order_by(pattern.matrix(data), handle.perm - 1)
        return factors

    def _run(self, handle: _Handle, pattern: Pattern, data: Floats) -> PardisoFactors:
        """Factorise by an analysed handle."""
        self.factorisations += 1
        handle.run(FACTORISE, data)
        return PardisoFactors(handle, pattern, data, self)

    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        """Return the numbers of positive and negative eigenvalues of a symmetric matrix."""
        known = self._symmetric
        if known is not None:
            factors = self._factorise_upper(known, pattern, data)
            if factors.replaced == 0:
                return _inertia_of(factors)
            known[0].close()
            self._symmetric = None
        indptr, indices, where = _upper_half(pattern)
        known = _Handle(SYMMETRIC, indptr, indices, self._threads), where
        self.analyses += 1
        known[0].run(ANALYSE, np.append(data, 0.0)[where])
        factors = self._factorise_upper(known, pattern, data)
        self._symmetric = known
        return _inertia_of(factors)

    def _factorise_upper(
        self, known: tuple[_Handle, Ints], pattern: Pattern, data: Floats
    ) -> PardisoFactors:
        """Factorise the upper triangle of a symmetric matrix by an analysed handle."""
        handle, where = known
        self.factorisations += 1
        upper = np.append(data, 0.0)[where]
        handle.run(FACTORISE, upper)
        made = PardisoFactors(handle, pattern, data, self)
        made.data = upper
        return made

    def sign(self, matrix: csr_matrix) -> int:
        """Return the sign of a determinant, for large matrices by their symmetric part."""
        pattern = self._pattern_of(matrix)
        sign = self.sign_of(pattern, pattern.values(matrix))
        return super().sign(matrix) if sign is None else sign

    def sign_of(self, pattern: Pattern, data: Floats) -> int | None:
        """Return the sign of a determinant by the symmetric part; None if that is not possible.

        It is possible for large matrices with few unsymmetric rows, see `signs`.

        Parameters
        ----------
        pattern, data : sparsity pattern and values of the matrix
        """
        rows = unsymmetric_rows(pattern, data) if pattern.n >= _LARGE else None
        if rows is None:
            return None
        if not rows.size:
            signs = self._inertia(pattern, data)
            return None if signs is None else (-1 if signs[1] % 2 else 1)
        if self._parts is not None:
            of, handle, _, old = self._parts
            reusable = old.size <= 2 * rows.size and np.isin(rows, old, assume_unique=True).all()
            if of is not pattern or not reusable:
                handle.close()
                self._parts = None
        if self._parts is None:
            indptr, indices, where = _upper_half(pattern)
            handle = _Handle(SYMMETRIC, indptr, indices, self._threads)
            self._parts = pattern, handle, where, rows
        _, handle, where, rows = self._parts
        schur = handle.schur_complement(rows, np.append(data, 0.0)[where])
        handle.free_factors()
        if schur is None:
            return None
        return sign_of_parts(pattern, data, rows, schur, int(handle.settings[NEGATIVE]))

    def spare(self) -> None:
        """Free the factors; the symbolic analysis remains for the next matrix."""
        if self._general is not None:
            self._general.free_factors()

    def _forget(self) -> None:
        if self._general is not None:
            self._general.close()
        if self._symmetric is not None:
            self._symmetric[0].close()
        if self._parts is not None:
            self._parts[1].close()
        self._general = self._symmetric = self._parts = None
        self.superlu.close()


def _inertia_of(factors: PardisoFactors) -> tuple[int, int] | None:
    """Return the numbers of positive and negative eigenvalues, and free the factors."""
    try:
        return factors.inertia()
    finally:
        factors.handle.free_factors()


def _upper_half(pattern: Pattern) -> tuple[Ints, Ints, Ints]:
    """Return the pattern of the upper triangle with a full diagonal, and the indices of its values.

    Diagonal entries that are not stored have the index after the last value, where callers append
    a zero.
    """
    rows, columns = pattern.rows, pattern.indices
    upper = np.flatnonzero(columns >= rows)
    missing = np.setdiff1d(np.arange(pattern.n), rows[rows == columns])
    all_rows = np.concatenate([rows[upper], missing])
    all_columns = np.concatenate([columns[upper], missing])
    where = np.concatenate([upper, np.full(missing.size, columns.size)])
    order = np.lexsort((all_columns, all_rows))
    counts = np.bincount(all_rows, minlength=pattern.n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return indptr, all_columns[order].astype(np.int32), where[order]


class PardisoFactors(Factors):
    """Factors that PARDISO holds, valid until the next matrix of the same workspace."""

    def __init__(
        self, handle: _Handle, pattern: Pattern, data: Floats, workspace: PardisoWorkspace
    ) -> None:
        self.replaced = int(handle.settings[REPLACED])
        super().__init__(pattern.matrix(data), self.replaced)
        self.handle, self._generation = handle, handle.generation
        self.data = data
        self._pattern, self._workspace = pattern, workspace
        self._signs = int(handle.settings[POSITIVE]), int(handle.settings[NEGATIVE])

    def _current_handle(self) -> _Handle:
        """Return the handle; raise an error if it has the factors of another matrix."""
        if self.handle.generation != self._generation:
            raise ModelError(_invalid("replaced by those of another matrix"))
        return self.handle

    def apply(self, b: Floats) -> Floats:
        """Return the solution by the factors alone, neither refined nor checked."""
        return self._current_handle().run(SOLVE, self.data, b)

    @cached_property
    def _of_superlu(self) -> Factors:
        """Factors of the same matrix by SuperLU, for the determinant."""
        # PARDISO does not return its permutations and scaling
        return self._workspace.superlu.factorise(self._matrix)

    @cached_property
    def sign(self) -> int:
        """Sign of the determinant, 1 or -1; needs a further factorisation, perhaps by SuperLU.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        sign = self._workspace.sign_of(self._pattern, self._matrix.data)
        return self._of_superlu.sign if sign is None else sign

    @property
    def log_det(self) -> float:
        """Natural logarithm of the absolute value of the determinant; needs factors by SuperLU.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        return self._of_superlu.log_det

    def inertia(self) -> tuple[int, int] | None:
        """Return the numbers of positive and negative pivots, None if they are unreliable."""
        return self._signs if self.replaced == 0 and self.signs_are_reliable() else None
