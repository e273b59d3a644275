"""Existence of a solution of a frictional contact problem: proofs for it, and against it.

The problem is u = W r + q with forces r (n, size) and velocities u (n, size) of n contacts. K is
the product of Coulomb's cones of all contacts (`cones`), K* its dual, n selects the normal
components. For a symmetric positive semidefinite W a solution exists if some x has W x + q in the
interior of the dual cone K*. In the plane, where cones are polyhedra, the closed cone suffices; if
W has full rank, such an x always exists. No solution exists if the set {r in K, (W r + q)_n >= 0}
is empty. A vector y >= 0 with -W^T n y in K* and y . q_n < 0 proves that: y . (W r + q)_n is then
negative for all r in K. Both x and y come from cone programmes (`programmes`), and are tested
afterwards, so that errors of the programmes do not matter. In small plane problems all modes are
enumerated. `problem.FrictionProblem.existence` calls `decide`, `solver` calls
`solutions_in_the_plane`.

Source: Acary, Cadoux, Lemarechal, Malick 2011 (existence); Farkas' lemma over cones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.certificate import is_solved, residual
from stiction.numerics.friction_problem.programmes import dual_cone_rows, maximise

__all__ = ["MOST_ENUMERATED", "Existence", "decide", "solutions_in_the_plane"]

Floats = npt.NDArray[np.float64]

# largest number of contacts in the plane whose 4^n modes are enumerated
MOST_ENUMERATED = 5
# relative singular values of W above the first number are nonzero, those below the second, some 50
# roundings, are zero; in between nothing is stated. Chosen
_FULL_RANK, _ZERO_RANK = 1e-10, 1e-14
# rounding error of a proof that there is no solution, per unit of normal force. Chosen
_ROUNDING = 1e-13
# largest residual of a solution: the default `tol` of `FrictionProblem.solve`
_SOLVED = 1e-10
# modes of a contact in the plane
_OPEN, _STICK, _RIGHT, _LEFT = range(4)


@dataclass(frozen=True)
class Existence:
    """Whether there is a solution.

    Attributes
    ----------
    answer : "proven", "none", or "not decided"
    criterion : the criterion that proves the answer
    witness : the vector W x + q, the vector y, or the forces of the proof; empty if it has none
    largest_force : with the answer "none" and a proof limited by rounding, no forces up to this
        size solve the problem [N]; infinite if there is no limit
    """

    answer: str
    criterion: str
    witness: Floats
    largest_force: float = np.inf


def _scaled(local: Local) -> tuple[Local, Floats]:
    """Return the problem with diagonal blocks and q of size one, and the units of forces.

    All components of a contact have the same factor, so that its cone does not change.
    """
    root = np.sqrt(local.rho)
    row = np.repeat(np.arange(len(root)), np.diff(local.start))
    q = root[:, None] * local.q
    unit = float(np.abs(q).max()) or 1.0
    blocks = (root[row] * root[local.column])[:, None, None] * local.blocks
    scaled = local._replace(blocks=blocks, q=q / unit, rho=np.ones_like(root))
    return scaled, unit * root


def _solves(local: Local, r: Floats) -> bool:
    """Return whether forces are a solution, and the rounding of W r is below its residual bound."""
    moved = np.linalg.norm(abs(local.matrix) @ np.abs(r.ravel()))
    rounded = float(np.finfo(float).eps * moved) <= _SOLVED * float(np.linalg.norm(local.q))
    return is_solved(local, r, _SOLVED) and (rounded or not r.any())


def decide(local: Local, r: Floats | None = None) -> Existence:
    """Return whether there is a solution.

    Parameters
    ----------
    r : forces that were found, if any

    Verified by: tests/unit/numerics/friction_problem/test_existence.py::test_closing_supports
    """
    if len(local.q) == 0:
        return Existence("proven", "no contact", np.zeros(0))
    if r is not None and _solves(local, r):
        return Existence("proven", f"a solution with residual {residual(local, r):.0e}", r.ravel())
    # proofs for a solution, then one against it, then the enumeration
    scaled, units = _scaled(local)
    plane = local.q.shape[1] == 2
    # with singular values between rounding and `_FULL_RANK` an enumeration proves nothing
    values = np.linalg.svd(scaled.matrix.toarray(), compute_uv=False)
    values = values / (values[0] or 1.0)
    if local.is_semidefinite():
        if values[-1] > _FULL_RANK:
            return Existence("proven", "W has full rank", np.zeros(0))
        slack, z = _motion_inside(scaled)
        if slack > 1e-7 or (plane and slack > -1e-12):
            witness = z.reshape(local.q.shape) * (units / local.rho)[:, None]
            criterion = "W x + q lies in the dual cone for some x"
            return Existence("proven", criterion, witness.ravel())
    separating = _separating(scaled)
    if separating is not None:
        criterion = "no forces in Coulomb's cones make all normal velocities nonnegative"
        y, largest = separating
        return Existence("none", criterion, y * np.sqrt(local.rho), largest * float(units.min()))
    if plane and len(local.q) <= MOST_ENUMERATED:
        certain = not np.any((values > _ZERO_RANK) & (values <= _FULL_RANK))
        for forces in solutions_in_the_plane(local):
            if _solves(local, forces):
                return Existence("proven", "enumeration of all modes", forces.ravel())
            certain = False
        if certain:
            return Existence("none", "enumeration of all modes", np.zeros(0))
    return Existence("not decided", "", np.zeros(0))


def _motion_inside(local: Local) -> tuple[float, Floats]:
    """Return the largest t <= 1 with W x + q - t n in K*, and the velocities W x + q (n size,)."""
    n, size = local.q.shape
    # a basis of the range of W is enough
    basis, values, _ = np.linalg.svd(local.matrix.toarray())
    basis = basis[:, values > 1e-10 * values[0]] if values[0] > 0.0 else basis[:, :0]
    x_size = basis.shape[1]
    matrices = basis.reshape(n, size, x_size)
    shift = np.zeros((size, 1))
    shift[0] = -1.0

    # inequalities for W x + q - t n in K*: all around the cones, or those that `at` violates
    def rows(at: Floats | None) -> tuple[Floats, Floats]:
        parts = [
            dual_cone_rows(
                (np.hstack([matrices[c], shift]), local.q[c]),
                local.n_tangent,
                local.mu[c],
                local.rolling[c],
                at,
            )
            for c in range(n)
        ]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    a, b = rows(None)
    top = np.zeros((1, x_size + 1))
    top[0, -1] = 1.0
    found = maximise(top[0], np.vstack([a, top]), np.append(b, 1.0), rows, box=1e6)
    if not np.isfinite(found.point).all():
        return -np.inf, np.zeros(0)
    # compute t at this point, which is a proof even if the programme did not converge
    z = local.q + matrices @ found.point[:-1]
    k = local.n_tangent
    slip = local.mu * np.linalg.norm(z[:, 1 : 1 + k], axis=1)
    turn = local.rolling * np.linalg.norm(z[:, 1 + k :], axis=1)
    return float((z[:, 0] - slip - turn).min()), z.ravel()


def _separating(local: Local) -> tuple[Floats, float] | None:
    """Return y >= 0 (n,) with -W^T n y in K* and y . q_n < 0, and the largest forces it excludes.

    None if the programme finds no such y. The programme maximises -y . q_n for sum y = 1.
    """
    n, size = local.q.shape
    normals = local.matrix.toarray()[::size]
    matrices = -normals.T.reshape(n, size, n)
    constant = np.zeros(size)

    # inequalities for -W^T n y in K*
    def rows(at: Floats | None) -> tuple[Floats, Floats]:
        parts = [
            dual_cone_rows(
                (matrices[c], constant), local.n_tangent, local.mu[c], local.rolling[c], at
            )
            for c in range(n)
        ]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    a, b = rows(None)
    sides = np.vstack([a, -np.eye(n)]), np.concatenate([b, np.zeros(n)])
    found = maximise(-local.q[:, 0], *sides, rows, equal=(np.ones((1, n)), np.ones(1)))
    if not np.isfinite(found.point).all():
        return None
    y = np.maximum(found.point, 0.0)
    closing = -float(y @ local.q[:, 0])
    z = matrices @ y
    k = local.n_tangent
    slip = local.mu * np.linalg.norm(z[:, 1 : 1 + k], axis=1)
    turn = local.rolling * np.linalg.norm(z[:, 1 + k :], axis=1)
    # by rounding -W^T n y may lie outside K*: largest gain of y . (W r)_n per unit of normal force
    gain = float(np.maximum(slip + turn - z[:, 0], 0.0).max())
    # solutions may have forces of about 1e4 in these units; a proof up to 1e8 excludes all of them
    if not (closing > 1e-6 and closing > 1e8 * n * gain and gain <= _ROUNDING):
        return None
    return y, closing / gain / n if gain > 0.0 else np.inf


# ---- the plane, mode by mode


def solutions_in_the_plane(local: Local, extremes: bool = False) -> Iterator[Floats]:
    """Yield forces for each of the 4^n modes that has a solution.

    In a mode each contact is open, sticks, or slides to the right or to the left; the conditions on
    forces and velocities are then linear. Where a linear programme ends without an answer, the
    forces are NaN: they solve nothing, and the enumeration proves nothing.

    Parameters
    ----------
    extremes : whether to yield also the forces with extreme velocity components within each mode

    Verified by: tests/unit/numerics/friction_problem/test_existence.py::test_wedged_contact
    """
    scaled, units = _scaled(local)
    w, q = scaled.matrix.toarray(), scaled.q.ravel()
    none = (np.zeros((0, q.size)), np.zeros(0))
    for mode in itertools.product(range(4), repeat=len(scaled.q)):
        rows, most, *equal = _conditions(mode, w, q, scaled.mu)
        for objective in (np.zeros(q.size), *w, *-w):
            found = maximise(objective, rows, most, lambda _: none, (equal[0], equal[1]))
            if found.status in ("infeasible", "unbounded"):
                break
            yield units[:, None] * found.point.reshape(-1, 2)
            if not extremes:
                break


def _conditions(
    mode: tuple[int, ...], w: Floats, q: Floats, mu: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the inequalities rows r <= most and the equations equal r = values of a mode.

    A contact is open (r = 0, u_n >= 0), sticks (u = 0, |r_t| <= mu r_n), or slips with the sign s
    (u_n = 0, r_t = -s mu r_n, s u_t >= 0); r_n >= 0 if it is not open.

    Returns
    -------
    rows (j, 2 n), most (j,), equal (2 n, 2 n), values (2 n,).
    """
    equal: list[Floats] = []
    values: list[float] = []
    rows: list[Floats] = []
    most: list[float] = []
    eye = np.eye(len(q))
    for c, state in enumerate(mode):
        i, j = 2 * c, 2 * c + 1
        if state == _OPEN:
            equal += [eye[i], eye[j]]
            values += [0.0, 0.0]
            rows.append(-w[i])
            most.append(q[i])
            continue
        equal.append(w[i])
        values.append(-q[i])
        rows.append(-eye[i])
        most.append(0.0)
        if state == _STICK:
            equal.append(w[j])
            values.append(-q[j])
            for sign in (1.0, -1.0):
                rows.append(sign * eye[j] - mu[c] * eye[i])
                most.append(0.0)
            continue
        sign = 1.0 if state == _RIGHT else -1.0
        equal.append(eye[j] + sign * mu[c] * eye[i])
        values.append(0.0)
        rows.append(-sign * w[j])
        most.append(sign * q[j])
    return np.array(rows), np.array(most), np.array(equal), np.array(values)
