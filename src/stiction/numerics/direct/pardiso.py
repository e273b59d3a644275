"""PARDISO of MKL, called through ctypes, with the analysis kept between matrices."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.metadata
import os
import re
import sys
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stiction.errors import ModelError, explain
from stiction.numerics.direct.factors import (
    Factors,
    Floats,
    Ints,
    LinearSolveError,
    Pattern,
    Workspace,
    singular,
)
from stiction.numerics.direct.signs import parted, sign_of_parts
from stiction.numerics.direct.superlu import SuperLUWorkspace

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["PardisoFactors", "PardisoWorkspace", "library_path"]

_NAME = re.compile(r"(lib)?mkl_rt([.\d]*)\.(so|dll|dylib)([.\d]*)")
ANALYSE, ANALYSE_AND_FACTORISE, FACTORISE, SOLVE, RELEASE = 11, 12, 22, 33, -1
RELEASE_FACTORS = 0
UNSYMMETRIC, SYMMETRIC = 11, -2
# places in the list of settings, counted from zero
REPLACED, POSITIVE, NEGATIVE, TWO_LEVELS = 13, 21, 22, 23
ORDER, SCALED, MATCHED, PARTS = 4, 10, 12, 35
_SETTINGS = {
    0: 1,  # every setting is given here
    1: 3,  # nested dissection on all threads
    4: 2,  # tell the order of elimination
    10: 1,  # scale rows and columns
    12: 1,  # bring large entries to the diagonal, needed where it holds zeros
    20: 1,  # pivots of one or two rows, symmetric matrices only
    34: 1,  # numbering from zero
}
# unknowns from which on signs come from the symmetric part, which takes less time and memory
_LARGE = 10_000


# ---- the library


def library_path() -> Path | None:
    """Return where the MKL library is, None if it is not installed.

    Verified by: tests/unit/numerics/test_linear_solvers.py::test_missing_library_is_named
    """
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())) for file in files if _NAME.fullmatch(file.name)]
    for folder in (Path(sys.prefix, "lib"), Path(sys.prefix, "Library", "bin")):
        found += [path for path in sorted(folder.glob("*mkl_rt*")) if _NAME.fullmatch(path.name)]
    return next((path.resolve() for path in found if path.is_file()), None)


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def _library() -> ctypes.CDLL:
    where, needs = "Pardiso", "the library mkl_rt with 32-bit integers"
    path = library_path()
    if path is None:
        why = "PARDISO is part of MKL, which is not a dependency of the core"
        hint = "pip install stiction[pardiso] (x86-64 only), or use SuperLU()"
        raise ModelError(where, "no MKL library", needs, why, hint)
    if "ILP64" in os.environ.get("MKL_INTERFACE_LAYER", ""):
        why = "MKL reads all integers with 64 bits when MKL_INTERFACE_LAYER says ILP64"
        hint = "unset MKL_INTERFACE_LAYER"
        raise ModelError(where, "MKL_INTERFACE_LAYER=ILP64", needs, why, hint)
    try:
        return _load(path)
    except OSError as error:
        why = f"the system cannot load it: {error}"
        hint = "pip install --force-reinstall mkl, or use SuperLU()"
        raise ModelError(where, path.name, needs, why, hint) from error


@contextlib.contextmanager
def _threads(library: ctypes.CDLL, wanted: int | None) -> Iterator[None]:
    """Let MKL use so many threads in this block, whatever others set before."""
    if wanted is None:
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
        wanted = min(int(library.MKL_Get_Max_Threads()), cores)
    before = library.MKL_Set_Num_Threads_Local(wanted)
    try:
        yield
    finally:
        library.MKL_Set_Num_Threads_Local(before)


# ---- one analysed pattern


class _Handle:
    """What PARDISO keeps for one pattern; freed with the object at the latest."""

    def __init__(self, kind: int, indptr: Ints, indices: Ints, threads: int | None) -> None:
        self.library, self.threads, self.kind = _library(), threads, kind
        self.n, self.indptr, self.indices = indptr.size - 1, indptr, indices
        # whether scaling and matching suit values like the latest; counts matrices
        self.fits, self.generation = True, 0
        self.memory, self.settings = np.zeros(64, np.int64), np.zeros(64, np.int32)
        for place, value in _SETTINGS.items():
            self.settings[place] = value
        unsymmetric = kind == UNSYMMETRIC
        self.settings[9] = 13 if unsymmetric else 8  # replace pivots below 10 to the minus this
        # Elimination in two levels is a third faster, but only safe with nested dissection:
        # with minimum degree and two threads MKL 2026.2 gave wrong solutions without a word.
        self.settings[TWO_LEVELS] = 10 if unsymmetric else 0
        self.order = np.zeros(self.n, np.int32)
        empty = np.zeros(1)
        arguments = (self.memory, self.settings, kind, indptr, indices, empty, self.order)
        self._finalizer = weakref.finalize(self, _release, self.library, *arguments)
        self._finalizer.atexit = False

    def run(self, phase: int, data: Floats, b: Floats | None = None) -> Floats:
        """Run one phase and return the solution, which is empty unless there is a `b`."""
        if not self._finalizer.alive:
            raise ModelError(_invalid("freed"))
        b = np.zeros((0, 1)) if b is None else b
        right = np.asfortranarray(b, dtype=np.float64)
        x = np.empty_like(right, order="F")
        columns = 1 if right.ndim == 1 else right.shape[1]
        with _threads(self.library, self.threads):
            code = _call(
                self.library,
                (
                    self.memory,
                    self.settings,
                    self.kind,
                    self.indptr,
                    self.indices,
                    data,
                    self.order,
                ),
                phase,
                (columns, right, x),
            )
        if phase == FACTORISE:
            self.generation += 1
        if code != 0:
            raise _failure(code)
        return x

    def without(self, rows: Ints, data: Floats) -> Floats | None:
        """Eliminate all but some rows of a symmetric matrix, and return what that leaves, dense.

        Nothing else is kept, except the numbers of positive and negative pivots.
        """
        if self.generation == 0:
            for place, value in ((ORDER, 0), (SCALED, 0), (MATCHED, 0), (PARTS, 1)):
                self.settings[place] = value
            # here the library is told something, and tells nothing
            self.order[:] = 0
            self.order[rows] = 1
        left = np.zeros((rows.size, rows.size))
        matrix = (self.memory, self.settings, self.kind, self.indptr, self.indices, data)
        phase = FACTORISE if self.generation else ANALYSE_AND_FACTORISE
        with _threads(self.library, self.threads):
            code = _call(self.library, (*matrix, self.order), phase, (1, np.zeros(self.n), left))
        self.generation += 1
        complete = self.settings[POSITIVE] + self.settings[NEGATIVE] == self.n - rows.size
        return left if code == 0 and complete and self.settings[REPLACED] == 0 else None

    def drop(self) -> None:
        """Free the factors; what was found of the pattern stays, for the next matrix."""
        self.generation += 1
        empty = np.zeros(1)
        matrix = (self.memory, self.settings, self.kind, self.indptr, self.indices, empty)
        _call(self.library, (*matrix, self.order), RELEASE_FACTORS, (1, empty, empty))

    def close(self) -> None:
        """Free the memory that PARDISO holds."""
        self._finalizer()


_Matrix = tuple[Ints, Ints, int, Ints, Ints, Floats, Ints]


def _call(
    library: ctypes.CDLL, matrix: _Matrix, phase: int, system: tuple[int, Floats, Floats]
) -> int:
    memory, settings, kind, indptr, indices, data, order = matrix
    columns, right, x = system
    code = ctypes.c_int32(0)
    one, silent = _integer(1), _integer(0)
    # pt, maxfct, mnum, mtype, phase, n, a, ia, ja, perm, nrhs, iparm, msglvl, b, x, error
    library.pardiso(
        _pointer(memory),
        one,
        one,
        _integer(kind),
        _integer(phase),
        _integer(indptr.size - 1),
        _pointer(data),
        _pointer(indptr),
        _pointer(indices),
        _pointer(order),
        _integer(columns),
        _pointer(settings),
        silent,
        _pointer(right),
        _pointer(x),
        ctypes.byref(code),
    )
    return code.value


def _release(library: ctypes.CDLL, *matrix: object) -> None:
    empty = np.zeros(1)
    _call(library, matrix, RELEASE, (1, empty, empty))  # type: ignore[arg-type]


def _pointer(array: Floats | Ints) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def _integer(value: int) -> object:
    return ctypes.byref(ctypes.c_int32(value))


class _GaveUp(LinearSolveError):
    """The library failed; it says nothing about the matrix."""


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
    got = _MEANING.get(code, f"error {code} of the library")
    if code == -2:
        return MemoryError(f"PARDISO: {got}")
    if code in (-4, -6, -7):
        return singular("PARDISO", got)
    why, hint = "PARDISO gave up", "use SuperLU() for this matrix, and report it please"
    return _GaveUp(explain("PARDISO", got, "a matrix it can factorise", why, hint))


def _invalid(how: str) -> str:
    why = "PARDISO holds the factors of one matrix at a time, in its workspace"
    hint = "solve for all right-hand sides before the next matrix, or start another workspace"
    return explain("Factors", f"factors that were {how}", "the latest factors", why, hint)


# ---- workspace and factors


class PardisoWorkspace(Workspace):
    """Workspace of PARDISO; holds the factors of one matrix at a time."""

    def __init__(self, threads: int | None) -> None:
        super().__init__()
        _library()
        self._threads = threads
        self.superlu = SuperLUWorkspace(0.01)
        self._general: _Handle | None = None
        self._symmetric: tuple[_Handle, Ints] | None = None
        self._parts: tuple[Pattern, _Handle, Ints, Ints] | None = None

    def _factorise(self, pattern: Pattern, data: Floats) -> PardisoFactors:
        with contextlib.suppress(_GaveUp):
            if self._general is not None and self._general.fits:
                factors = self._run(self._general, pattern, data)
                # Scaling and matching come from the values that were analysed. Pivots that
                # had to be replaced may mean that they are out of date.
                if factors.replaced == 0:
                    return factors
            factors = self._anew(pattern, data, two_levels=True)
            # wrong factors without an error were seen; a solution tells, once per analysis
            if factors.solves():
                return factors
        factors = self._anew(pattern, data, two_levels=False)
        factors.handle.fits = factors.replaced == 0 and factors.solves()
        return factors

    def _anew(self, pattern: Pattern, data: Floats, *, two_levels: bool) -> PardisoFactors:
        if self._general is not None:
            self._general.close()
            self._general = None
        handle = _Handle(UNSYMMETRIC, pattern.indptr, pattern.indices, self._threads)
        handle.settings[TWO_LEVELS] = 10 if two_levels else 0
        self.analyses += 1
        handle.run(ANALYSE, data)
        factors = self._run(handle, pattern, data)
        self._general = handle
        # its dissection halves the factors of SuperLU in space, which signs are taken from
        self.superlu.order_by(pattern.matrix(data), handle.order)
        return factors

    def _run(self, handle: _Handle, pattern: Pattern, data: Floats) -> PardisoFactors:
        self.factorisations += 1
        handle.run(FACTORISE, data)
        return PardisoFactors(handle, pattern, data, self)

    def _inertia(self, pattern: Pattern, data: Floats) -> tuple[int, int] | None:
        known = self._symmetric
        if known is not None:
            factors = self._half(known, pattern, data)
            if factors.replaced == 0:
                return _told(factors)
            known[0].close()
            self._symmetric = None
        indptr, indices, where = _upper_half(pattern)
        known = _Handle(SYMMETRIC, indptr, indices, self._threads), where
        self.analyses += 1
        known[0].run(ANALYSE, np.append(data, 0.0)[where])
        factors = self._half(known, pattern, data)
        self._symmetric = known
        return _told(factors)

    def _half(self, known: tuple[_Handle, Ints], pattern: Pattern, data: Floats) -> PardisoFactors:
        handle, where = known
        self.factorisations += 1
        upper = np.append(data, 0.0)[where]
        handle.run(FACTORISE, upper)
        made = PardisoFactors(handle, pattern, data, self)
        made.data = upper
        return made

    def sign(self, matrix: csr_matrix) -> int:
        """Return the sign of a determinant, of large ones by their symmetric part."""
        pattern = self._pattern_of(matrix)
        found = self.sign_of(pattern, pattern.values(matrix))
        return super().sign(matrix) if found is None else found

    def sign_of(self, pattern: Pattern, data: Floats) -> int | None:
        """Return the sign of a determinant by its symmetric part, None where that does not tell.

        Parameters
        ----------
        pattern, data : of a large matrix, of which few rows are unsymmetric
        """
        rows = parted(pattern, data) if pattern.n >= _LARGE else None
        if rows is None:
            return None
        if not rows.size:
            signs = self._inertia(pattern, data)
            return None if signs is None else (-1 if signs[1] % 2 else 1)
        if self._parts is not None:
            of, handle, _, kept = self._parts
            few = kept.size <= 2 * rows.size and np.isin(rows, kept, assume_unique=True).all()
            if of is not pattern or not few:
                handle.close()
                self._parts = None
        if self._parts is None:
            indptr, indices, where = _upper_half(pattern)
            handle = _Handle(SYMMETRIC, indptr, indices, self._threads)
            self._parts = pattern, handle, where, rows
        _, handle, where, rows = self._parts
        left = handle.without(rows, np.append(data, 0.0)[where])
        handle.drop()
        if left is None:
            return None
        return sign_of_parts(pattern, data, rows, left, int(handle.settings[NEGATIVE]))

    def spare(self) -> None:
        """Free the factors; what was found of the pattern stays, for the next matrix."""
        if self._general is not None:
            self._general.drop()

    def _forget(self) -> None:
        if self._general is not None:
            self._general.close()
        if self._symmetric is not None:
            self._symmetric[0].close()
        if self._parts is not None:
            self._parts[1].close()
        self._general = self._symmetric = self._parts = None
        self.superlu.close()


def _told(factors: PardisoFactors) -> tuple[int, int] | None:
    """Return the inertia, and free the factors: others may be kept beside them."""
    try:
        return factors.inertia()
    finally:
        factors.handle.drop()


def _upper_half(pattern: Pattern) -> tuple[Ints, Ints, Ints]:
    """Return the pattern of the upper half with a full diagonal, and where values come from.

    Diagonal entries that are not stored take the value behind the last one.
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

    def _held(self) -> _Handle:
        if self.handle.generation != self._generation:
            raise ModelError(_invalid("replaced by those of another matrix"))
        return self.handle

    def apply(self, b: Floats) -> Floats:
        """Return the solution by the factors alone, neither refined nor checked."""
        return self._held().run(SOLVE, self.data, b)

    @cached_property
    def _of_superlu(self) -> Factors:
        # PARDISO keeps its row exchanges and scaling to itself
        return self._workspace.superlu.factorise(self._matrix)

    @cached_property
    def sign(self) -> int:
        """Sign of the determinant: 1 or -1; takes a factorisation, by SuperLU if need be.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        found = self._workspace.sign_of(self._pattern, self._matrix.data)
        return self._of_superlu.sign if found is None else found

    @property
    def log_det(self) -> float:
        """Natural logarithm of the size of the determinant; takes one by SuperLU as well.

        Verified by: tests/unit/numerics/test_linear_solvers.py::test_determinant
        """
        return self._of_superlu.log_det

    def inertia(self) -> tuple[int, int] | None:
        """Return the numbers of positive and negative pivots, None if that tells nothing."""
        return self._signs if self.replaced == 0 and self.tells_signs() else None
