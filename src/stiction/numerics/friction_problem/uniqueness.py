"""Uniqueness of the velocities and forces of a solution, and the set of other admissible forces.

The problem is u = W r + q with Coulomb's law between forces r and velocities u. Two solutions r, r'
with De Saxce's velocities u~ = u + mu |u_t| n (normal n, tangential part u_t) obey
(r - r') . (u~ - u~') <= 0, so that

    (r - r') . W (r - r') <= sum of mu |r_n - r_n'| |u_t - u_t'|.

For a symmetric positive semidefinite W sufficient criteria of uniqueness follow from this. If none
holds, a second solution is searched for, which disproves uniqueness; in small plane problems all
modes are enumerated. The forces for given velocities are a convex set, whose extent in a normal
force is computed by cone programmes. `problem.FrictionSolution` and `bodies.equilibrium` call this
module. Arrays r, u and q are (n, size), see `blocks.Local`.

Source: De Saxce, Feng 1998; the criteria are derived in docs/decisions/38-friction-problem.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.certificate import is_solved, residual
from stiction.numerics.friction_problem.existence import MOST_ENUMERATED, solutions_in_the_plane
from stiction.numerics.friction_problem.gauss_seidel import swept
from stiction.numerics.friction_problem.newton import newton
from stiction.numerics.friction_problem.programmes import cone_rows, maximise

__all__ = [
    "Admissible",
    "Answer",
    "Uniqueness",
    "admissible_forces",
    "unique_velocities",
    "uniqueness",
]

Floats = npt.NDArray[np.float64]

# numbers below this fraction of |q| or |r| count as zero. Chosen, above `_SOLVED`
_ZERO = 1e-8
# velocities of a contact are distinct if they differ by more than the first fraction of their size,
# the same below the second; in between uniqueness is not decided. The third is the largest residual
# of a solution: velocities of small contacts have a larger relative error. Chosen
_OTHER, _SAME, _SOLVED = 1e-4, 1e-7, 1e-10
# largest component of y (see `Admissible`) in a programme with forces scaled to about 1. Chosen
_BOX = 1e7
# number of random starts in the search for another solution. Chosen
_STARTS = 8
# largest number of contacts for which two linear programmes each are solved, which takes seconds
_MOST_CONTACTS_OF_PROGRAMMES = 30
# criteria by which velocities and forces are unique
_NO_CONTACT, _SMALL_FRICTION = "no contact", "small friction and W of full rank"


@dataclass(frozen=True)
class Answer:
    """Whether velocities, or forces, are unique.

    Attributes
    ----------
    answer : "unique", "not unique" or "not decided"
    criterion : the criterion that proves the answer
    other : (n, size) forces of a second solution [N]; empty if none was found
    residual : residual of these forces [1]
    """

    answer: str
    criterion: str = ""
    other: Floats = field(default_factory=lambda: np.zeros(0))
    residual: float = np.nan


@dataclass(frozen=True)
class Uniqueness:
    """Answers for velocities and for forces."""

    velocities: Answer
    forces: Answer


@dataclass(frozen=True, eq=False)
class Admissible:
    """Forces with the same velocities: point + directions @ y, within Coulomb's cones.

    Attributes
    ----------
    local : the problem
    point : (n, size) the forces of the solution [N]
    directions : (n, size, k) changes of forces that do not change the velocities
    """

    local: Local
    point: Floats
    directions: Floats

    def _rows(self, at: Floats | None, constant: float) -> tuple[Floats, Floats]:
        """Return A (j, k) and b (j,) of inequalities A y <= b for forces within the cones.

        The forces are constant point + directions @ y.

        Parameters
        ----------
        at : (k,) optimum y of the last programme, for the inequalities that it violates (cutting
            planes); None for a first polyhedron that contains the cones
        constant : 1; with 0 the inequalities describe the recession cone of the set
        """
        local, k = self.local, self.local.n_tangent
        parts = [(np.zeros((0, self.directions.shape[2])), np.zeros(0))]
        for c, matrix in enumerate(self.directions):
            if not matrix.any():
                continue
            b = constant * self.point[c]
            for part, bound in (
                (slice(1, 1 + k), local.mu[c]),
                (slice(1 + k, None), local.rolling[c]),
            ):
                if len(b[part]):
                    normal, tangents = (matrix[0], float(b[0])), (matrix[part], b[part])
                    parts.append(cone_rows(normal, tangents, float(bound), at))
            if at is None:
                parts.append((-matrix[:1], b[:1]))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def interval(self, contact: int) -> tuple[float, float]:
        """Return bounds of the normal force of a contact [N]; infinite if it is unbounded.

        They are optima over a polyhedron that contains the cones, so that the true interval lies
        inside.

        Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_intervals
        """
        scale = float(np.abs(self.point).max()) or 1.0
        scaled = Admissible(self.local, self.point / scale, self.directions)
        low, high = (scaled._bound(contact, sign)[0] for sign in (-1.0, 1.0))
        return -scale * low, scale * high

    def _bound(self, contact: int, sign: float) -> tuple[float, Floats]:
        """Return the maximum of sign r_n of a contact, and the y of the maximum."""
        objective = sign * self.directions[contact, 0]
        here = sign * float(self.point[contact, 0])
        if not np.abs(objective).max(initial=0.0) > 1e-12:
            return here, np.zeros(objective.size)
        if sign > 0.0:
            # the force is unbounded if the recession cone has a y with objective . y = 1
            rows, most = self._rows(None, 0.0)
            equal = (objective[None], np.ones(1))
            nothing = np.zeros(objective.size)
            ray = maximise(nothing, rows, most, lambda at: self._rows(at, 0.0), equal)
            if ray.status == "optimal":
                return np.inf, ray.point
        rows, most = self._rows(None, 1.0)
        found = maximise(objective, rows, most, lambda at: self._rows(at, 1.0), box=_BOX)
        if not np.isfinite(found.value):
            return np.inf, np.full(objective.size, np.nan)
        # an optimum on the box is no bound, unless there is provably no such y
        bounded = sign < 0.0 or ray.status == "infeasible"
        if not bounded and np.abs(found.point).max() > 0.99 * _BOX:
            return np.inf, found.point
        return here + found.value, found.point

    def _solves(self, other: Floats) -> bool:
        """Return whether forces are another solution with the same velocities.

        The contributions to W (other - point) must cancel in each component: a product that is
        small only because entries of W are small is a change of velocities.
        """
        change, matrix = (other - self.point).ravel(), self.local.matrix
        cancels = np.abs(matrix @ change) <= 1e-8 * (abs(matrix) @ np.abs(change))
        return bool(cancels.all()) and is_solved(self.local, other, _SOLVED)

    def another(self) -> Floats | None:
        """Return other admissible forces; None if none were found."""
        scale = float(np.abs(self.point).max()) or 1.0
        for share in (0.1, 1e-2, 1e-3):
            for direction in np.moveaxis(self.directions, 2, 0):
                step = share * scale / np.abs(direction).max() * direction
                for sign in (1.0, -1.0):
                    other = np.asarray(self.point + sign * step)
                    if self._solves(other):
                        return other
        for other in _candidates(self.local, self.point, plane=False):
            far = np.abs(other - self.point).max() > 1e-4 * scale
            if far and self._solves(other):
                return other
        # the forces may lie on the boundary of the set: try the middle of segments to other points
        # of the boundary
        scaled = Admissible(self.local, self.point / scale, self.directions)
        few = len(self.point) <= _MOST_CONTACTS_OF_PROGRAMMES
        for c in range(len(self.point)) if few else ():
            for sign in (1.0, -1.0):
                _, y = scaled._bound(c, sign)
                other = np.asarray(self.point + 0.5 * scale * (self.directions @ np.nan_to_num(y)))
                far = np.abs(other - self.point).max() > 1e-4 * scale
                if far and self._solves(other):
                    return other
        return None


def admissible_forces(local: Local, r: Floats) -> Admissible:
    """Return the set of forces with the same velocities as forces r."""
    u, k = local.velocities(r), local.n_tangent
    n, size = r.shape
    zero = _ZERO * float(np.abs(local.q).max(initial=0.0))
    columns = []
    for c in range(n):
        if u[c, 0] > zero:
            continue
        free = np.eye(size)
        for part, bound in ((slice(1, 1 + k), local.mu[c]), (slice(1 + k, size), local.rolling[c])):
            length = float(np.linalg.norm(u[c, part]))
            if length > zero or bound == 0.0:
                # in slip the force lies on the surface of the cone, opposed to the slip
                unit = u[c, part] / length if length > zero else np.zeros(len(u[c, part]))
                free[part, part] = 0.0
                free[part, 0] = -bound * unit
        columns += [(c, column) for column in free.T if column.any()]
    made = np.zeros((n, size, len(columns)))
    for j, (c, column) in enumerate(columns):
        made[c, :, j] = column / np.linalg.norm(column)
    flat = local.matrix @ made.reshape(n * size, -1)
    _, values, right = np.linalg.svd(flat) if len(columns) else (0, np.zeros(0), np.zeros((0, 0)))
    # changes of forces in the null space of W
    rank = int((values > 1e-10 * values.max(initial=0.0)).sum())
    return Admissible(local, r, made @ right[rank:].T)


def unique_velocities(local: Local, r: Floats) -> Answer:
    """Return the proven statement on the uniqueness of velocities.

    Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_small_friction
    """
    if len(r) == 0:
        return Answer("unique", _NO_CONTACT)
    semidefinite = local.is_semidefinite()
    if semidefinite and _small_friction(local):
        return Answer("unique", _SMALL_FRICTION)
    if not is_solved(local, r, _SOLVED):
        return Answer("not decided")
    proof = _proof(local, r) if semidefinite else ""
    return Answer("unique", proof) if proof else _compared(local, r, semidefinite)


def uniqueness(local: Local, r: Floats) -> Uniqueness:
    """Return the proven statements on the uniqueness of velocities and forces.

    Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_small_friction
    """
    velocities = unique_velocities(local, r)
    # these criteria prove that forces are unique too
    if velocities.criterion in (_NO_CONTACT, _SMALL_FRICTION):
        return Uniqueness(velocities, velocities)
    if not is_solved(local, r, _SOLVED):
        return Uniqueness(velocities, Answer("not decided"))
    admissible = admissible_forces(local, r)
    if velocities.answer == "not unique":
        why = "velocities are not unique"
        return Uniqueness(
            velocities, Answer("not unique", why, velocities.other, velocities.residual)
        )
    if admissible.directions.shape[2] == 0:
        answer = velocities.answer
        why = "forces at closed contacts are independent, and velocities are unique"
        return Uniqueness(velocities, Answer(answer, why if answer == "unique" else ""))
    other = admissible.another()
    if other is not None:
        why, error = "another solution has other forces", residual(local, other)
        return Uniqueness(velocities, Answer("not unique", why, other, error))
    return Uniqueness(velocities, Answer("not decided"))


def _small_friction(local: Local) -> bool:
    """Return whether the criterion of small friction holds.

    It is |mu N W^(-1/2)| |T W^(1/2)| < 1 in the spectral norm, where N selects the normal and T the
    other components.
    """
    w = local.matrix.toarray()
    values, vectors = np.linalg.eigh(0.5 * (w + w.T))
    if values[0] <= 1e-9 * values[-1]:
        return False
    size = local.q.shape[1]
    normal = np.arange(0, local.q.size, size)
    other = np.setdiff1d(np.arange(local.q.size), normal)
    # the criterion holds for any positive weights by which the contacts are scaled
    weight = np.sqrt(local.rho)
    bound = np.hypot(local.mu, local.rolling) / weight
    root = vectors / np.sqrt(values)
    pressure = np.linalg.norm(bound[:, None] * root[normal], 2)
    sizes = np.repeat(weight, size)[other]
    slip = np.linalg.norm(sizes[:, None] * (vectors * np.sqrt(values))[other], 2)
    return bool(pressure * slip < 0.99)


def _proof(local: Local, r: Floats) -> str:
    """Return a criterion by which velocities are unique, else ""."""
    if not local.mu.any() and not local.rolling.any():
        return "without friction velocities are those of a convex problem"
    k, q = local.n_tangent, local.q
    slip = local.mu * np.linalg.norm(q[:, 1 : 1 + k], axis=1)
    turn = local.rolling * np.linalg.norm(q[:, 1 + k :], axis=1)
    if np.all(q[:, 0] >= slip + turn):
        return "velocities without forces lie in the dual cone"
    if _rests_without_friction(local, r):
        return "all contacts rest, and normal forces alone carry the load"
    return ""


def _compared(local: Local, r: Floats, semidefinite: bool) -> Answer:
    """Return whether other solutions have other velocities, compared on the scale of each contact.

    Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_a_small_contact
    """
    q, u = local.q, local.velocities(r)
    scale = float(np.linalg.norm(q))
    own = np.maximum(_own_scales(q), np.linalg.norm(u, axis=1))
    plane = q.shape[1] == 2 and len(r) <= MOST_ENUMERATED
    same = plane and semidefinite
    for other in _candidates(local, r, plane):
        error = residual(local, other)
        change = np.linalg.norm(local.velocities(other) - u, axis=1)
        apart = change > _OTHER * np.maximum(own, 1e-3 * scale)
        small = is_solved(local, other, _SOLVED)
        if small and apart.any() and error <= 1e-6 * change[apart].max() / max(scale, 1e-300):
            return Answer("not unique", "another solution has other velocities", other, error)
        same = same and bool(np.all(change <= _SAME * own))
    return Answer("unique", "enumeration of all modes") if same else Answer("not decided")


def _own_scales(q: Floats) -> Floats:
    """Return the scale of the velocity of each contact [m/s].

    A velocity q_c within rounding counts as zero; then the scale is that of all contacts.
    """
    scale, own = float(np.linalg.norm(q)), np.linalg.norm(q, axis=1)
    return np.where(own > 1e-13 * scale, own, scale)


def _candidates(local: Local, r: Floats, plane: bool) -> Iterator[Floats]:
    """Yield forces that may be another solution; in small plane problems all solutions."""
    if plane:
        yield from solutions_in_the_plane(local, extremes=True)
        return
    rng = np.random.default_rng(0)
    size = float(np.abs(r).max()) or 1.0
    tol = 1e-12 * float(np.linalg.norm(local.q))
    for _ in range(_STARTS):
        start = size * 10.0 ** rng.uniform(-1, 2) * rng.normal(size=r.shape)
        start[:, 0] = np.abs(start[:, 0])
        yield newton(local, swept(local, start, 50)[0], tol)[0].r


def _rests_without_friction(local: Local, r: Floats) -> bool:
    """Return whether u = 0 and normal forces r_n >= 0 alone give W r = -q.

    Then u' . W^+ u' <= -sum mu r_n' |u_t'| - sum r_n u_n' <= 0 for any other solution r', u', so
    that its velocities are zero too. The scale is that of each contact: one with small velocities
    can have a second solution.

    Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_a_small_contact
    """
    from scipy.optimize import nnls

    if not _rest(local, r):
        return False
    normals, alone = local.matrix.toarray()[:, :: local.q.shape[1]], np.zeros_like(r)
    alone[:, 0] = nnls(normals, -local.q.ravel(), maxiter=50 * len(r))[0]
    return _rest(local, alone)


def _rest(local: Local, r: Floats) -> bool:
    """Return whether u = 0 at each contact, on its own scale or within the rounding of W r."""
    rounding = 1e-13 * (abs(local.matrix) @ np.abs(r).ravel()).reshape(r.shape)
    allowed = np.maximum(1e-9 * _own_scales(local.q), np.linalg.norm(rounding, axis=1))
    return bool(np.all(np.linalg.norm(local.velocities(r), axis=1) <= allowed))
