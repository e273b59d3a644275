"""The frictional contact problem: its statement by a user, and its solution with a certificate.

Find forces r and velocities u = W r + q so that at each contact

    u_n >= 0, r_n >= 0, u_n r_n = 0              (Signorini)
    |r_t| <= mu r_n, and r_t = -mu r_n u_t / |u_t| where u_t is not 0      (Coulomb).

In global form M v = H r + f and u = H^T v + w, so that W = H^T M^-1 H (the Delassus operator) and
q = H^T M^-1 f + w. r (n, size) are forces of n contacts [N] (or impulses [N s], with W in [1/kg]),
u velocities [m/s]. With rolling friction further components are moments |r_m| <= rolling r_n.
`stiction.friction_problem` is the public function. `solver` has the numerical methods,
`certificate`, `existence` and `uniqueness` the statements about a solution, `formats` the files.

Source: Acary, Brogliato 2008; Acary, Cadoux 2013.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from stiction.errors import ModelError
from stiction.numerics.checks import number, numbers, whole
from stiction.numerics.friction_problem import formats
from stiction.numerics.friction_problem.blocks import Local, local_of
from stiction.numerics.friction_problem.certificate import Certificate, certify, is_solved, residual
from stiction.numerics.friction_problem.existence import (
    MOST_ENUMERATED,
    Existence,
    decide,
    solutions_in_the_plane,
)
from stiction.numerics.friction_problem.solver import Work, solve_local
from stiction.numerics.friction_problem.uniqueness import Uniqueness, admissible_forces, uniqueness

__all__ = [
    "FrictionProblem",
    "FrictionSolution",
    "friction_problem",
]

Floats = npt.NDArray[np.float64]
Matrix = sp.csr_array[Any]

# asymmetry and negative eigenvalues of W up to this fraction of its norm are reported; a W with
# larger ones is refused
_MOST_DEFECT = 1e-3
# largest coefficient of friction: an error of 1e-10 in a normal force is one of 1e-6 in friction
_MOST_FRICTION = 1e4
# squares of smaller numbers, and of the inverse, are not representable
_LEAST = 1e-100
# the check of a given W computes eigenvalues of larger matrices by Lanczos' method; the number was
# chosen. Rank and least eigenvalue of the certificate need all eigenvalues: they are dense always
_DENSE_UP_TO = 400
_SHAPES = {2: "the plane", 3: "space", 5: "space, with rolling friction"}


@dataclass(frozen=True, eq=False)
class FrictionProblem:
    """A frictional contact problem; `friction_problem` makes one.

    Attributes
    ----------
    local : W, q and coefficients in blocks, normal components first
    order : positions of (normal, tangents, rolling) in the vectors that the user gave
    asymmetry : largest |W - W^T|, relative to the norm of W [1]
    masses : (M, H, f, w) of the global form M v = H r + f, u = H^T v + w: masses, frames, momenta
        and given velocities, normal components first; None if the problem was given by W and q
    """

    local: Local
    order: tuple[int, ...]
    asymmetry: float
    masses: tuple[Matrix, Matrix, Floats, Floats] | None = None

    @property
    def n_contact(self) -> int:
        """Number of contacts."""
        return len(self.local.q)

    @functools.cached_property
    def rank(self) -> int:
        """Rank of W: number of singular values above rounding.

        A dense decomposition, whose time grows as the third power of the size of W.
        """
        if self.n_contact == 0:
            return 0
        return int(np.linalg.matrix_rank(self.local.matrix.toarray()))

    @functools.cached_property
    def least_eigenvalue(self) -> float:
        """Least eigenvalue of the symmetric part of W, relative to the largest modulus [1].

        All eigenvalues are computed, in a time that grows as the third power of the size of W.
        """
        if self.n_contact == 0:
            return 0.0
        matrix = self.local.matrix.toarray()
        values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
        return float(values[0] / (np.abs(values).max() or 1.0))

    def __repr__(self) -> str:
        return (
            f"FrictionProblem({self.n_contact} contacts, {_name_of(self.local)}, "
            f"W {self.local.q.size} x {self.local.q.size} in {len(self.local.blocks)} blocks)"
        )

    def solve(self, start: Floats | None = None, *, tol: float = 1e-10) -> FrictionSolution:
        """Return forces and velocities, with a certificate.

        Parameters
        ----------
        start : (n, size) initial forces [N], such as those of the last time step; zeros by default
        tol : largest residual, and largest velocity of approach over |q| [1]; forces with larger
            ones are returned with `converged` False

        Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_files_are_solved
        """
        local = self.local
        why, try_ = (
            "the tolerance is relative to |q|; rounding errors are near 1e-15 of |q|.",
            "leave this value out for 1e-10.",
        )
        tol = number("friction_problem.tol", tol, rule="positive", why=why, try_=try_)
        r = np.zeros_like(local.q)
        if start is not None:
            r = self._ordered("start", start)
        scale = max(float(np.linalg.norm(local.q)), 1e-300)
        sweeps = systems = 0
        method = "start"
        for fraction in (0.5, 1e-2, 1e-4, 1e-5):
            # the error of the solver may be below the residual if the blocks of W differ in size:
            # repeat with smaller tolerances
            found, work = solve_local(local, r, fraction * tol * scale)
            sweeps, systems = sweeps + work.sweeps, systems + work.linear_systems
            # "start" are the forces of the pass before
            r, method = found.r, method if work.method == "start" else work.method
            # the residual with a small rho is the larger one. It is worth more work, but
            # `converged` does not require it: where W has blocks of very different sizes, rounding
            # errors alone may exceed `tol`
            if is_solved(local, r, tol) and residual(local, r, 1e-3) <= tol:
                break
            # the solver did not reach its tolerance, and will not reach a smaller one
            if found.error > fraction * tol * scale:
                break
        plane = local.q.shape[1] == 2 and self.n_contact <= MOST_ENUMERATED
        if plane and not is_solved(local, r, tol):
            for other in solutions_in_the_plane(local):
                if is_solved(local, other, tol):
                    r, method = other, "enumeration"
                    break
        return FrictionSolution(self, r, tol, Work(sweeps, systems, method))

    def certificate(self, r: Floats) -> Certificate:
        """Return the certificate of given forces, also from another solver.

        Parameters
        ----------
        r : (n, size) forces, components in the order of the given vectors [N]

        Verified by: tests/unit/numerics/friction_problem/test_certificate.py::test_zero_is_refused
        """
        ordered = self._ordered("r", r)
        return certify(self.local, ordered, self.rank, self.asymmetry, self.least_eigenvalue)

    def existence(self, solution: FrictionSolution | None = None) -> Existence:
        """Return whether a solution is proven to exist, proven not to exist, or neither.

        Parameters
        ----------
        solution : a solution, if one was found; it is a proof too

        Verified by: tests/unit/numerics/friction_problem/test_existence.py::test_closing_supports
        """
        ordered = None if solution is None else self._ordered("solution", solution.r)
        found = decide(self.local, ordered)
        # forces, but not the combination of rows that proves "none"
        if found.witness.size != self.local.q.size:
            return found
        witness = self.given_order(found.witness.reshape(self.local.q.shape)).ravel()
        return dataclasses.replace(found, witness=witness)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file: HDF5 of FCLIB if the name ends in .hdf5 or .h5, else text of Siconos."""
        local = self.local
        if self.masses is None:
            matrices: tuple[Any, ...] = (local.matrix,)
            vectors: tuple[Floats, ...] = (local.q.ravel(),)
        else:
            m, h, f, w = self.masses
            matrices, vectors = (m, h), (f, w)
        size = local.q.shape[1]
        rolling = local.rolling if size > 1 + local.n_tangent else np.zeros(0)
        formats.write(path, formats.Content(size, matrices, vectors, local.mu, rolling))

    def given_order(self, values: Floats) -> Floats:
        """Return components in the order of the given vectors, from normal ones first."""
        return np.ascontiguousarray(values[:, np.argsort(self.order)])

    def _ordered(self, where: str, values: Floats) -> Floats:
        """Return (n, size) components, normal ones first, from the order of the given vectors."""
        size = self.local.q.shape[1]
        flat = _vector(where, _array(where, values), self.local.q.size, "force component")
        return np.ascontiguousarray(flat.reshape(-1, size)[:, self.order])


@dataclass(frozen=True, eq=False)
class FrictionSolution:
    """Forces and velocities of a frictional contact problem.

    Attributes
    ----------
    problem : the solved problem
    ordered : (n, size) forces, normal components first [N]
    tol : requested residual [1]
    work : numbers of sweeps and linear systems, and the method
    """

    problem: FrictionProblem
    ordered: Floats
    tol: float
    work: Work

    @functools.cached_property
    def r(self) -> Floats:
        """(n, size) forces, in the order of the vectors that were given [N]."""
        return self.problem.given_order(self.ordered)

    @functools.cached_property
    def u(self) -> Floats:
        """(n, size) velocities, in the order of the vectors that were given [m/s]."""
        return self.problem.given_order(self.problem.local.velocities(self.ordered))

    @functools.cached_property
    def v(self) -> Floats | None:
        """Velocities of the global form, M v = H r + f; None in local form."""
        if self.problem.masses is None:
            return None
        m, h, f, _ = self.problem.masses
        return _mass_solve(m, h @ self.ordered.ravel() + f)

    @functools.cached_property
    def residual(self) -> float:
        """Residual of the certificate [1]."""
        return residual(self.problem.local, self.ordered)

    @property
    def converged(self) -> bool:
        """Whether residual and velocity of approach, relative to |q|, are at most `tol`."""
        return is_solved(self.problem.local, self.ordered, self.tol)

    @functools.cached_property
    def certificate(self) -> Certificate:
        """The certificate of the forces."""
        return self.problem.certificate(self.r)

    def uniqueness(self) -> Uniqueness:
        """Return the proven statements on the uniqueness of velocities and forces.

        Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_files
        """
        found = uniqueness(self.problem.local, self.ordered)
        both = (found.velocities, found.forces)
        return Uniqueness(
            *(
                dataclasses.replace(one, other=self.problem.given_order(one.other))
                if one.other.size
                else one
                for one in both
            )
        )

    def normal_force_interval(self, contact: int) -> tuple[float, float]:
        """Return bounds of a normal force over all forces with the same velocities [N].

        The true interval lies inside these bounds. The upper bound is infinite if the force is
        unbounded, as between two rigid supports that press on a body from opposite sides.

        Parameters
        ----------
        contact : number of the contact, from 0

        Raises
        ------
        ModelError : if there is no such contact, or the forces are not a solution.

        Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_intervals
        """
        most, why = self.problem.n_contact - 1, "contacts are counted from 0."
        where, try_ = "FrictionSolution.normal_force_interval", "for example 0."
        contact = whole(f"{where}.contact", contact, least=0, most=most, why=why, try_=try_)
        if not self.converged:
            raise ModelError(
                where,
                f"forces with a residual of {self.residual:.1e}",
                f"a solution, converged to {self.tol:.0e}",
                "the interval contains the forces that give the velocities of a solution.",
                "look at problem.existence(solution), and solve again with other `start` or `tol`.",
            )
        return admissible_forces(self.problem.local, self.ordered).interval(contact)

    def __repr__(self) -> str:
        ended = "solved" if self.converged else "not decided, not converged"
        return (
            f"FrictionSolution({ended}: residual {self.residual:.1e}, {self.problem.n_contact} "
            f"contacts, {self.work.method}, {self.work.sweeps} sweeps, "
            f"{self.work.linear_systems} linear systems)"
        )


def friction_problem(
    W: object = None,
    q: object = None,
    mu: object = None,
    *,
    M: object = None,
    H: object = None,
    f: object = None,
    w: object = None,
    rolling: object = None,
    normal: int = 0,
) -> FrictionProblem:
    """Return the frictional contact problem u = W r + q, or M v = H r + f, u = H^T v + w.

    Parameters
    ----------
    W : (n size, n size) symmetric positive semidefinite matrix, dense or a sparse one of SciPy
        [m/s/N]. Or the only argument: the path of a file, text of Siconos or HDF5 of FCLIB
    q : (n, size), or flat: velocities at the contacts without contact forces [m/s]
    mu : coefficients of friction, one for all contacts or one for each [1]
    M, H, f, w : instead of W and q: (dof, dof) masses, (dof, n size) contact frames, (dof,)
        momenta, and (n size,) velocities at the contacts, zero by default
    rolling : coefficients of rolling friction, one for all contacts or one for each [m]. A contact
        then has 3 components in the plane and 5 in space: normal, tangential, rolling
    normal : position of the normal component among those of a contact; 0 in files of Siconos and
        FCLIB. The tangential components follow in their order

    Raises
    ------
    ModelError : for wrong sizes, NaN, mu < 0 or above 1e4, a singular M, or a W that is unsymmetric
        or indefinite by more than 1e-3 of its norm. Smaller defects of W are not changed.

    Examples
    --------
    >>> import stiction as st
    >>> block = st.friction_problem([[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.25]], mu=0.5)
    >>> block.solve().r
    array([[ 1.  , -0.25]])

    Verified by: tests/unit/numerics/friction_problem/test_problem.py::test_bad_input_is_refused
    """
    arguments = {"q": q, "mu": mu, "M": M, "H": H, "f": f, "w": w, "rolling": rolling}
    given = [name for name, value in arguments.items() if value is not None]
    if isinstance(W, str | os.PathLike):
        if given or normal:
            _refuse_more(f"the path of a file and {', '.join(given) or 'normal'}", "a file alone")
        return _read(W)
    q, mu, f, w = (_array(name, arguments[name]) for name in ("q", "mu", "f", "w"))
    masses = None
    wanted = ("q", "mu") if W is not None else ("M", "H", "f", "mu")
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ModelError(
            "friction_problem",
            f"no {', '.join(missing)}",
            "W, q and mu, or M, H, f, mu and perhaps w",
            "velocities at contacts follow from forces by W, or by M and H.",
            "give W, q, mu for the local form, or M, H, f, w, mu for the global one.",
        )
    others = ("M", "H", "f", "w") if W is not None else ("q",)
    if foreign := [name for name in given if name in others]:
        form = "W, q and mu" if W is not None else "M, H, f, w and mu"
        _refuse_more(f"{form} and {', '.join(foreign)}", f"{form} alone")
    if W is None:
        masses, W, q = _condensed(M, H, f, w)
        if w is not None and w.ndim == 2:
            # the rows of a two-dimensional w are the contacts
            q = q.reshape(w.shape)
    matrix = _matrix("W", W)
    local, order = _local(matrix, q, mu, rolling, normal)
    if masses is not None:
        m, h, f, w = masses
        at = _positions(len(local.q), order)
        masses = (m, h[:, at], f, w[at])
    return FrictionProblem(local, order, _asymmetry(local.matrix), masses)


def _refuse_more(got: str, needs: str) -> None:
    """Raise the error for arguments of two forms at once."""
    why, try_ = (
        "each form defines the whole problem, and the two may differ.",
        "leave out one form.",
    )
    raise ModelError("friction_problem", got, needs, why, try_)


def _read(path: str | os.PathLike[str]) -> FrictionProblem:
    """Return the problem of a file."""
    content = formats.read(path)
    rolling = content.rolling if content.rolling.size else None
    if len(content.matrices) == 1:
        q = content.vectors[0]
        return friction_problem(content.matrices[0], q, content.mu, rolling=rolling)
    (m, h), (f, w) = content.matrices, content.vectors
    return friction_problem(M=m, H=h, f=f, w=w, mu=content.mu, rolling=rolling)


# ---- checks


def _name_of(local: Local) -> str:
    """Return the kind of the problem in words: "the plane", "space", with rolling friction."""
    size = local.q.shape[1]
    if size == 1 + local.n_tangent:
        return _SHAPES[size]
    return "plane, with rolling friction" if local.n_tangent == 1 else _SHAPES[5]


def _array(where: str, value: object) -> npt.NDArray[Any] | None:
    """Return an argument as an array, of any type; None if it is None."""
    if value is None:
        return None
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ModelError(
            f"friction_problem.{where}", repr(value), "an array of numbers",
            "in rows of unequal length the contact and component of a number are unclear.",
            "give the same number of components for each contact.",
        ) from error  # fmt: skip


def _vector(where: str, value: object, size: int, per: str) -> Floats:
    """Return an argument as a flat array (size,) of finite numbers, one per `per`."""
    flat = np.ravel(cast(Any, value))
    if size == 0 and flat.size == 0:
        return np.zeros(0)
    return numbers(
        f"friction_problem.{where}", flat, size=size, per=per,
        why="the problem is defined by finite numbers, one per component.",
        try_="check how the vector is assembled: all components of a contact follow each other.",
    )  # fmt: skip


def _matrix(name: str, value: object) -> Matrix:
    """Return an argument as a sparse matrix of finite real numbers."""
    why = "velocities at contacts are finite linear functions of the forces."
    tries = "give a matrix of NumPy or SciPy without NaN and infinity."
    where = f"friction_problem.{name}"
    given: Any = value
    if np.iscomplexobj(cast(Any, value)):
        raise ModelError(where, "complex numbers", "a matrix of real numbers", why, tries)
    if not sp.issparse(value):
        try:
            given = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(where, repr(value), "a matrix of numbers", why, tries) from error
    if given.ndim != 2:
        raise ModelError(where, f"an array of shape {given.shape}", "two dimensions", why, tries)
    made: Matrix = sp.csr_array(given, dtype=np.float64, copy=True)
    if not np.isfinite(made.data).all():
        raise ModelError(where, "NaN or infinity", "finite numbers", why, tries)
    return made


def _local(
    matrix: Matrix, q: object, mu: object, rolling: object, normal: int
) -> tuple[Local, tuple[int, ...]]:
    """Return the problem in blocks, and positions of components in the given vectors."""
    n, size = _counts(matrix, q, mu)
    n_tangent = size - 1 if rolling is None else (size - 1) // 2
    wanted = (2, 3) if rolling is None else (3, 5)
    if size not in wanted:
        raise ModelError(
            "friction_problem.W",
            f"{matrix.shape[0]} rows for {n} contacts, {size} components each",
            f"{wanted[0]} components in the plane, or {wanted[1]} in space",
            "a contact has 1 normal and 1 or 2 tangential components; with rolling friction it "
            "has as many rolling components.",
            "check that mu has one value per contact; give `rolling` for 5 components.",
        )
    if normal not in range(n_tangent + 1):
        raise ModelError(
            "friction_problem.normal",
            repr(normal),
            f"the index of the normal component, from 0 to {n_tangent}",
            "the normal component is first in Siconos and FCLIB, and second in LMGC90.",
            "give normal=0, or normal=1 for vectors (tangential, normal).",
        )
    order = (int(normal), *(i for i in range(size) if i != normal))
    flat = _vector("q", q, n * size, "component")
    _check_squares("q", np.abs(flat).max(initial=0.0), "component", "velocity")
    coefficients = _coefficients("mu", mu, n)
    if coefficients.max(initial=0.0) > _MOST_FRICTION:
        raise ModelError(
            "friction_problem.mu",
            f"{coefficients.max():g}",
            f"coefficients up to {_MOST_FRICTION:g}",
            "an error of a normal force is mu times larger in the bound of friction.",
            "give 100 for a contact that hardly ever slips.",
        )
    rollings = np.zeros(n) if rolling is None else _coefficients("rolling", rolling, n)
    if normal:
        at = _positions(n, order)
        matrix = matrix[at][:, at]
    ordered = np.ascontiguousarray(flat.reshape(n, size)[:, order])
    local = local_of(matrix, ordered, coefficients, rollings, n_tangent)
    own = np.abs(local.blocks[local.diagonal]).max(axis=(1, 2), initial=0.0)
    if own.any():
        for largest in (own.max(), own[own > 0.0].min()):
            _check_squares("W", largest, "entry of a contact's block", "force")
    fixed = np.flatnonzero((own == 0.0) & (ordered[:, 0] < 0.0))
    if fixed.size:
        k = int(fixed[0])
        raise ModelError(
            "friction_problem.W",
            f"a block of zeros for contact {k} (counted from 0), whose surfaces approach at "
            f"{-ordered[k, 0]:g}",
            "a block that is not zero wherever a contact approaches",
            "no force changes the velocity of this contact, so that it cannot stop approaching.",
            "leave out contacts between bodies that cannot move.",
        )
    return local, order


def _check_squares(name: str, largest: float, what: str, unit: str) -> None:
    """Raise an error if the square of the largest entry overflows or underflows."""
    if largest and not _LEAST < largest < 1.0 / _LEAST:
        raise ModelError(
            f"friction_problem.{name}",
            f"{largest:g} as the largest {what}",
            f"a largest {what} between {_LEAST:g} and {1.0 / _LEAST:g}",
            "squares of other numbers overflow or underflow.",
            f"take another unit of {unit}.",
        )


def _positions(n: int, order: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return the indices of the components of n contacts, normal ones first, in given vectors."""
    at: npt.NDArray[np.int64] = np.arange(n)[:, None] * len(order) + np.array(order)
    return at.ravel()


def _counts(matrix: Matrix, q: Any, mu: Any) -> tuple[int, int]:
    """Return the number of contacts and the components of each."""
    size: tuple[int, int] = matrix.shape
    rows, columns = size
    if rows != columns:
        raise ModelError(
            "friction_problem.W", f"{rows} x {columns}", "a square matrix",
            "W maps the forces r of the contacts to velocities of the same contacts.",
            "compute W = H^T M^-1 H, or give M and H.",
        )  # fmt: skip
    shape: tuple[int, ...] = np.shape(q) if q is not None else ()
    n = int(shape[0]) if len(shape) == 2 else int(np.size(mu)) if np.ndim(mu) else -1
    if n < 0:
        if rows == 0:
            return 0, 3
        rooms = ((2, "in the plane"), (3, "in space"))
        may_be = [f"{rows // each} contacts {room}" for each, room in rooms if rows % each == 0]
        known = f"belong to {' or '.join(may_be)}" if may_be else "have 2 or 3 for each contact"
        raise ModelError(
            "friction_problem.mu", "one coefficient, and q or w in a single row of numbers",
            "one coefficient per contact, or q (in global form w) of shape (contacts, components)",
            f"the number of contacts is not given, and {rows} components may {known}.",
            "for example mu=[0.3] * n, or q.reshape(n, 3).",
        )  # fmt: skip
    if n == 0 and rows == 0:
        return 0, int(shape[1]) if len(shape) == 2 and shape[1] in (2, 3, 5) else 3
    if n == 0 or rows % n:
        raise ModelError(
            "friction_problem.W", f"{rows} rows for {n} contacts",
            "2, 3 or 5 rows per contact",
            "contacts follow each other, each with its normal and tangential components.",
            "check that mu has one value per contact, and that q and W have all rows.",
        )  # fmt: skip
    return n, rows // n


def _coefficients(name: str, value: object, n: int) -> Floats:
    """Return (n,) coefficients >= 0; a single one is repeated."""
    if n == 0:
        return np.zeros(0)
    return numbers(
        f"friction_problem.{name}", value, size=n, per="contact", rule="nonnegative",
        why="a coefficient of friction is finite and not negative.",
        try_="give 0 for a contact without friction, 100 for one that hardly ever slips.",
    )  # fmt: skip


def _asymmetry(matrix: sp.bsr_array[Any]) -> float:
    """Return the asymmetry of W; refuse larger defects than 1e-3 of its norm.

    A defect is the asymmetry, or a negative eigenvalue.
    """
    size = matrix.shape[0]
    if not matrix.data.any():
        return 0.0
    symmetric = sp.csr_array(0.5 * (matrix + matrix.T))
    if size <= _DENSE_UP_TO:
        values = np.linalg.eigvalsh(symmetric.toarray())
        least, norm = float(values[0]), float(np.abs(values).max())
    else:
        least, norm = _ends(symmetric)
    asymmetry = float(np.abs((matrix - matrix.T).data).max(initial=0.0)) / norm
    if asymmetry > _MOST_DEFECT or least < -_MOST_DEFECT * norm:
        kind = (
            f"an asymmetry of {asymmetry:.1e} of its norm"
            if asymmetry > _MOST_DEFECT
            else f"a least eigenvalue of {least / norm:.1e} of its norm"
        )
        raise ModelError(
            "friction_problem.W", kind,
            f"a symmetric W without eigenvalues below -{_MOST_DEFECT:g} of its norm",
            "W = H^T M^-1 H is symmetric and positive semidefinite for symmetric positive masses.",
            "check that rows and columns have the same order, and that M is symmetric.",
        )  # fmt: skip
    return asymmetry


def _ends(symmetric: sp.csr_array[Any]) -> tuple[float, float]:
    """Return the least eigenvalue and the largest modulus, with errors of 1e-6 of the latter."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = symmetric.shape[0]
    start = np.random.default_rng(0).normal(size=size)

    def top(apply: Any) -> float:
        operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        return float(
            eigsh(operator, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0]
        )

    largest = top(lambda x: symmetric @ x)
    # twice a bound of the modulus, so that reach I - W is not zero for a multiple W of I
    reach = 2.0 * float(abs(symmetric).sum(axis=1).max())
    least = reach - top(lambda x: reach * x - symmetric @ x)
    return least, max(abs(largest), abs(least))


# ---- global form


def _mass_solve(m: Matrix, right: Floats) -> Floats:
    """Return M^-1 times a vector or the columns of a matrix."""
    from scipy.sparse.linalg import splu

    return np.asarray(splu(sp.csc_array(m)).solve(right))


def _condensed(
    m: object, h: object, f: object, w: object
) -> tuple[tuple[Matrix, Matrix, Floats, Floats], sp.csr_array[Any], Floats]:
    """Return the checked global form, W and q."""
    mass, frames = _matrix("M", m), _matrix("H", h)
    rows = mass.shape[0]
    if mass.shape != (rows, rows) or frames.shape[0] != rows:
        raise ModelError(
            "friction_problem.H", f"M {mass.shape} and H {frames.shape}",
            "M of (dof, dof) and H of (dof, contact components)",
            "the problem is M v = H r + f, with u = H^T v + w.", "transpose H, or check that M "
            "has all rows.",
        )  # fmt: skip
    momenta = _vector("f", f, rows, "degree of freedom")
    free = np.zeros(frames.shape[1]) if w is None else _vector("w", w, frames.shape[1], "component")
    scale = np.abs(mass.data).max(initial=0.0)
    sparse_h = sp.csc_array(frames)
    try:
        both = np.column_stack([sparse_h.toarray(), momenta])
        solved = _mass_solve(mass, both) if rows else both
    except RuntimeError as error:
        raise _singular(str(error)) from error
    left = mass @ solved - both
    size = np.abs(solved).max(initial=0.0) * scale
    if not np.isfinite(solved).all() or np.abs(left).max(initial=0.0) > 1e-8 * size:
        raise _singular("M v = f is not solved to eight digits")
    compliance = sparse_h.T @ sp.csc_array(solved[:, :-1])
    q = sparse_h.T @ solved[:, -1] + free
    return (mass, frames, momenta, free), sp.csr_array(compliance), q


def _singular(got: str) -> ModelError:
    """Return the error for a singular M."""
    return ModelError(
        "friction_problem.M", f"a singular matrix ({got})", "a nonsingular matrix",
        "M v = H r + f must determine all velocities, which needs a mass for each.",
        "give each degree of freedom a mass, or leave this degree of freedom out of M and H.",
    )  # fmt: skip
