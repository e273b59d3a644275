"""Solvers of sparse linear systems, and how users choose one: SuperLU, PARDISO, and two iterative.

A `LinearSolver` describes a solver; `start()` returns the `Workspace` of one run. The workspace
reuses the order of elimination and the storage for matrices of the same sparsity pattern, and
returns the `Factors` of each matrix, which solve for several right-hand sides. The implementations
are in `direct` and `iterative`. Methods of solids take a `LinearSolver` as their field `solver`.

Two matrices have the same pattern if their `indptr` and `indices` are the same arrays; the entries
are not compared. `matrix.data` may be overwritten between calls, since factors hold a copy.

Measured with 85 000 unknowns in two dimensions: `benchmarks/bench_linear_solvers.py`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number, whole
from stiction.numerics.direct.factors import Factors, LinearSolveError, Workspace

__all__ = [
    "CachedFactors",
    "Factors",
    "LinearSolveError",
    "LinearSolver",
    "Multigrid",
    "Pardiso",
    "SuperLU",
    "Workspace",
    "fastest",
]

# ---- descriptions


@dataclass(frozen=True, eq=False, repr=False)
class LinearSolver(Record, abc.ABC):
    """Base class of solvers of sparse linear systems."""

    @abc.abstractmethod
    def start(self) -> Workspace:
        """Return the workspace of one run."""


@dataclass(frozen=True, eq=False, repr=False)
class SuperLU(LinearSolver):
    """SuperLU of SciPy, with options for nearly symmetric patterns.

    Parameters
    ----------
    pivot_threshold : the diagonal entry is the pivot unless it is smaller than this fraction
        of the largest entry in its column [1], from 0 to 1

    Notes
    -----
    Source: Li 2005, An overview of SuperLU; Demmel et al. 1999 (pivoting by threshold).
    Verified by: tests/unit/numerics/test_linear_solvers.py::test_solution_is_the_dense_one

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import stiction as st
    >>> workspace = st.solids.SuperLU().start()
    >>> factors = workspace.factorise(sp.csr_matrix([[2.0, 0.0], [0.0, 4.0]]))
    >>> factors.solve(np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """

    pivot_threshold: float = 0.01

    def __post_init__(self) -> None:
        """Check the field."""
        where, why = (
            "SuperLU.pivot_threshold",
            "a pivot is compared with this fraction of the largest entry",
        )
        hint = "give 0.01, or 1 for the largest entry of each column"
        value = number(where, self.pivot_threshold, rule="nonnegative", why=why, try_=hint)
        if value > 1.0:
            raise ModelError(where, repr(value), "one number from 0 to 1", why, hint)
        object.__setattr__(self, "pivot_threshold", value)

    def start(self) -> Workspace:
        """Return the workspace of one run."""
        from stiction.numerics.direct.superlu import SuperLUWorkspace

        return SuperLUWorkspace(self.pivot_threshold)


@dataclass(frozen=True, eq=False, repr=False)
class Pardiso(LinearSolver):
    """PARDISO of Intel's MKL, on several threads; the extra `pardiso` installs it.

    Parameters
    ----------
    threads : number of threads; None for the default of MKL, at most the cores of this process

    Notes
    -----
    Pivoting is restricted to dense blocks of the factors; a pivot that is too small is replaced
    and the solution refined. Results may differ in the last digits between machines and
    numbers of threads.

    Source: Schenk, Gaertner 2004 (PARDISO).
    Verified by: tests/unit/numerics/test_linear_solvers.py::test_solution_is_the_dense_one

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Quasistatic(solver=st.solids.Pardiso(threads=2)).solver.threads
    2
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        """Check the field."""
        if self.threads is not None:
            why = "PARDISO divides a factorisation among the threads"
            hint = "give 1 inside worker processes, or None"
            where = "Pardiso.threads"
            threads = whole(where, self.threads, least=1, most=4096, why=why, try_=hint)
            object.__setattr__(self, "threads", threads)

    def start(self) -> Workspace:
        """Return the workspace of one run.

        Raises
        ------
        ModelError : if pypardiso or its MKL library is not installed.
        """
        from stiction.numerics.direct.pardiso import PardisoWorkspace

        return PardisoWorkspace(self.threads)


def _check_iterative(
    solver: LinearSolver, tolerance: float, direct: object, usual: str, why_direct: str
) -> None:
    """Check the common fields of iterative solvers; store the tolerance as a number."""
    name = type(solver).__name__
    where, why = (
        f"{name}.tolerance",
        "iterations continue until the residual is below this tolerance",
    )
    value = number(where, tolerance, rule="positive", why=why, try_=f"give {usual}")
    if not 1e-14 <= value <= 1e-2:
        needs = "a number between 1e-14 and 1e-2"
        raise ModelError(where, repr(value), needs, why, f"give {usual}")
    object.__setattr__(solver, "tolerance", value)
    if direct is not None and not isinstance(direct, (SuperLU, Pardiso)):
        needs, hint = "SuperLU() or Pardiso()", "leave this value out"
        raise ModelError(f"{name}.direct", repr(direct), needs, why_direct, hint)


@dataclass(frozen=True, eq=False, repr=False)
class Multigrid(LinearSolver):
    """GMRES on algebraic multigrid, for matrices too large for factors; the extra `amg`.

    Parameters
    ----------
    tolerance : residual over the right-hand side [1]; solutions are refined below 1e-10
    max_iterations : largest number of iterations of a solution. If they do not suffice, the
        hierarchy is rebuilt once; if it fails again, the matrix is factorised
    direct : direct solver for small matrices, for the contact layer, and for matrices on which
        iteration fails; None takes the fastest one that is installed
    direct_below : matrices with fewer unknowns are solved directly

    Notes
    -----
    In the contact layer, the unknowns near contact, the matrix is unsymmetric or indefinite; the
    preconditioner solves this part directly. Signs of determinants and eigenvalues need factors.

    Source: Vanek, Mandel, Brezina 1996 (smoothed aggregation); Saad, Schultz 1986 (GMRES);
    Bell, Olson, Schroder 2022 (pyamg).
    Verified by: tests/unit/numerics/test_multigrid.py::test_solution_is_the_direct_one

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Quasistatic(solver=st.solids.Multigrid(tolerance=1e-8)).solver.tolerance
    1e-08
    """

    tolerance: float = 1e-10
    max_iterations: int = 240
    direct: LinearSolver | None = None
    direct_below: int = 150_000

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_iterative(
            self,
            self.tolerance,
            self.direct,
            "1e-10",
            "the direct solver factorises small matrices",
        )
        for name, least, most in (("max_iterations", 1, 10_000), ("direct_below", 0, 10**8)):
            where, why = f"Multigrid.{name}", "iterations and unknowns are counted in whole numbers"
            value = whole(
                where,
                getattr(self, name),
                least=least,
                most=most,
                why=why,
                try_="leave this value out",
            )
            object.__setattr__(self, name, value)

    def start(self) -> Workspace:
        """Return the workspace of one run."""
        from stiction.numerics.iterative.multigrid import MultigridWorkspace

        direct = self.direct if self.direct is not None else fastest()
        return MultigridWorkspace(self.tolerance, self.max_iterations, direct, self.direct_below)


@dataclass(frozen=True, eq=False, repr=False)
class CachedFactors(LinearSolver):
    """GMRES, preconditioned by the factors of an earlier matrix.

    Parameters
    ----------
    tolerance : residual over the right-hand side [1]; Newton's method reduces the remaining error
    max_iterations : largest number of iterations of a solution; a matrix that needs more is
        factorised itself
    worn : if a solution takes more iterations than this, the next matrix is factorised
    direct : the solver that factorises; None takes the fastest one that is installed

    Notes
    -----
    It is for large three-dimensional problems, where a factorisation takes as long as tens of
    solutions. Equilibrium paths agree to the tolerance of Newton's method, not to the last bit: a
    run that is resumed from a checkpoint has other factors.

    Source: Saad, Schultz 1986 (GMRES); Dembo, Eisenstat, Steihaug 1982 (inexact Newton).
    Verified by: tests/unit/numerics/test_cached.py::test_paths_are_the_same

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Quasistatic(solver=st.solids.CachedFactors(tolerance=1e-4)).solver.worn
    12
    """

    tolerance: float = 1e-6
    max_iterations: int = 30
    worn: int = 12
    direct: LinearSolver | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        _check_iterative(
            self, self.tolerance, self.direct, "1e-6", "the factors of this solver are cached"
        )
        for name in ("max_iterations", "worn"):
            where, why = f"CachedFactors.{name}", "iterations are counted from 1"
            count = getattr(self, name)
            value = whole(where, count, least=1, most=1000, why=why, try_="leave this value out")
            object.__setattr__(self, name, value)

    def start(self) -> Workspace:
        """Return the workspace of one run."""
        from stiction.numerics.iterative.cached import CachedFactorsWorkspace

        direct = self.direct if self.direct is not None else fastest()
        return CachedFactorsWorkspace(self.tolerance, self.max_iterations, self.worn, direct)


def fastest() -> LinearSolver:
    """Return PARDISO if its library is installed, else SuperLU.

    Verified by: tests/unit/numerics/test_linear_solvers.py::test_fastest_takes_what_is_there
    """
    from stiction.numerics.direct.pardiso import installed

    return Pardiso() if installed() else SuperLU()
