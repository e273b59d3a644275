"""The contact law at the level of accelerations: which contacts open, stick and slip.

A closed contact obeys 0 <= du_n/dt, 0 <= r_n, r_n du_n/dt = 0. Where it slips, r_t = -mu s r_n with
the direction s of slip. Where u_t = 0, |r_t| <= mu r_n, and r_t = -mu r_n sign(du_t/dt) unless
du_t/dt = 0. With du/dt = W r + b these are a frictional contact problem: r are forces [N], W is
J M^-1 J^T [1/kg], b the accelerations without contact forces [m/s^2], each with the normal and the
tangential component of each contact in turn. Directions of slip make it unsymmetric. It may then
have no solution, or several (Painleve 1895).

In groups with few combinations of modes all are solved, so that the number of solutions is known:
each combination is a linear system for r, whose solution must satisfy the inequalities of its
modes. In other groups the solver of `friction_problem` gives one solution. `run.Integrator` calls
`modes_of_groups` after an event, `bodies.paradox` after a time step.

Source: Glocker 2001, Set-Valued Force Laws, chapter 10; Genot, Brogliato 1999 (Painleve's rod).
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.exact_stick import sticking
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.record import (
    BACKWARD,
    FORWARD,
    NO_ACCELERATION,
    OPEN,
    PAINLEVE_BOUNDARY,
    SEVERAL_ACCELERATIONS,
    STICK,
)
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.blocks import local_of
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.programmes import maximise
from stiction.numerics.friction_problem.solver import solve_local

__all__ = [
    "Answer",
    "Found",
    "admissible",
    "admissible_on_line",
    "combinations",
    "farthest_inside",
    "find_modes",
    "losses_of",
    "modes_of_groups",
]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# combinations of modes that are all solved: four contacts at rest
MOST_COMBINATIONS = 256
# The five numbers below were chosen, far above the rounding of small matrices.
# rounding in the conditions of a mode, as a fraction of the accelerations without forces and of W
_ROUNDING = 1e-10
# singular values of a mode below this fraction of the largest are zero
_ZERO = 1e-10
# two solutions whose accelerations differ by less than this fraction are the same
_SAME = 1e-7
# relative distance from a boundary between no solution, one and several, below which it is reported
BOUNDARY = 1e-9
# attempts of the solver: all its methods but random starts
_ATTEMPTS = 5
# relative residual up to which a solution of the solver is accepted
_SOLVED = 1e-9


class Answer(enum.Enum):
    """How many accelerations obey the contact law."""

    ONE = "one"
    NONE = "none"
    SEVERAL = "several"
    NOT_DECIDED = "not decided"
    NOT_FOUND = "not found"


class Found(NamedTuple):
    """Modes and forces of closed contacts.

    Attributes
    ----------
    answer : how many accelerations there are
    modes : (c,) OPEN, STICK, FORWARD or BACKWARD, of the solution with the smallest forces
    r : (c, 2) its forces [N]
    number : of solutions with different accelerations that were found
    near : whether a relative change of 1e-9 may change the answer
    error : residual of an iterative solution, relative; 0 of a direct one
    """

    answer: Answer
    modes: Wholes
    r: Floats
    number: int
    near: bool
    error: float


def modes_of_groups(
    m: Mechanics, closed: Table[kin.Closed], time: float, q: Floats, v: Floats, slip: Wholes
) -> Iterator[tuple[Wholes, Found]]:
    """Yield the contacts of each group that shares no body with others, and its modes.

    Parameters
    ----------
    closed : (c,) contacts with a normal velocity of zero
    time : from the start of the run [s]
    q, v : (n, 3) places and velocities of the bodies
    slip : (c,) as of `find_modes`
    """
    # W = J M^-1 J^T and b = J M^-1 f + bias of all contacts; `sizes` (2 c,) bounds the terms of b
    k = kin.kinematics(closed, m.pose(time, q), m.velocity(v))
    rows = kin.rows(closed, k, m.n)
    inverse, load = 1.0 / m.mass.ravel(), m.loads(time, q, v).ravel()
    mu, size_of_load = m.mu(closed), m.sizes(time, q, v).ravel()
    w = rows * inverse @ rows.T
    b = rows @ (inverse * load) + k.bias.ravel()
    sizes = np.abs(rows) @ (inverse * size_of_load) + np.abs(k.bias.ravel())
    group = np.zeros(len(closed), dtype=np.int64)
    count = group_contacts(kin.as_contacts(closed, k), m.n, group)
    for g in range(int(count)):
        at = np.flatnonzero(group == g)
        both = (2 * at[:, None] + [0, 1]).ravel()
        size = float(sizes[both].max())
        yield at, find_modes(w[np.ix_(both, both)], b[both], size, slip[at], mu[at])


def losses_of(found: Found) -> list[int]:
    """Return the kinds of losses of determinism of a group."""
    kinds = [PAINLEVE_BOUNDARY] if found.near else []
    kinds += [SEVERAL_ACCELERATIONS] if found.answer is Answer.SEVERAL else []
    return kinds + ([NO_ACCELERATION] if found.answer is Answer.NONE else [])


def combinations(slip: Wholes) -> int:
    """Return the number of combinations of modes of contacts with a direction of slip, or 0."""
    return int(np.prod([len(_options(int(s))) for s in slip], dtype=np.float64))


def find_modes(w: Floats, b: Floats, size: float, slip: Wholes, mu: Floats) -> Found:
    """Return the modes of a group of contacts with a normal velocity of zero.

    Parameters
    ----------
    w : (2 c, 2 c) J M^-1 J^T, normal and tangential components in turn [1/kg]
    b : (2 c,) accelerations without contact forces [m/s^2]
    size : of the terms of b, whose rounding is relative to it [m/s^2]
    slip : (c,) direction of slip, 1 or -1; 0 where the tangential velocity is zero
    mu : (c,) coefficients of friction

    Verified by: tests/exact/test_event_driven_bodies.py::test_painleves_rod
    """
    count, unit = len(slip), float(np.diag(w).max())
    scale = max(size, float(np.abs(b).max(initial=0.0)))
    if scale == 0.0:
        modes = np.where(slip > 0, FORWARD, np.where(slip < 0, BACKWARD, STICK))
        return Found(Answer.ONE, modes, np.zeros((count, 2)), 1, False, 0.0)
    w, b = w / unit, b / scale
    near = _near_boundary(w, b, slip, mu)
    if combinations(slip) > MOST_COMBINATIONS:
        modes, r, error = _by_solver(w, b, slip, mu)
        answer = Answer.NOT_DECIDED if error <= _SOLVED else Answer.NOT_FOUND
        return Found(answer, modes, r * scale / unit, int(error <= _SOLVED), near, error)
    options = itertools.product(*(_options(int(s)) for s in slip))
    solutions = _solutions(w, b, np.array(list(options)), mu, slip)
    if not solutions:
        return Found(Answer.NONE, np.full(count, OPEN), np.zeros((count, 2)), 0, near, 0.0)
    modes, r = min(solutions, key=lambda one: float(np.abs(one[1]).sum()))
    answer = Answer.ONE if len(solutions) == 1 else Answer.SEVERAL
    return Found(answer, modes, r.reshape(-1, 2) * scale / unit, len(solutions), near, 0.0)


def _options(slip: int) -> tuple[int, ...]:
    """Return the modes that a contact with this direction of slip may have."""
    if slip == 0:
        return STICK, FORWARD, BACKWARD, OPEN
    return (FORWARD if slip > 0 else BACKWARD), OPEN


def _near_boundary(w: Floats, b: Floats, slip: Wholes, mu: Floats) -> bool:
    """Return whether a slipping contact is at a boundary of existence or uniqueness by itself."""
    for c in np.flatnonzero(slip):
        p = w[2 * c, 2 * c] - mu[c] * slip[c] * w[2 * c, 2 * c + 1]
        # where friction cannot lift the contact its separation is no paradox
        if abs(p) <= BOUNDARY * w[2 * c, 2 * c] or (p < 0.0 and abs(b[2 * c]) <= BOUNDARY):
            return True
    return False


def _solutions(
    w: Floats, b: Floats, modes: Wholes, mu: Floats, slip: Wholes
) -> list[tuple[Wholes, Floats]]:
    """Return modes (c,) with admissible forces, and these forces (2 c,); one for each acceleration.

    modes : (t, c) combinations of modes that are tried; w and b are scaled to size 1
    """
    matrix, right = _systems(w, b, modes, mu)
    # least-norm solutions of all systems by singular value decomposition
    left, values, transposed = np.linalg.svd(matrix)
    zero = values <= _ZERO * values[:, :1]
    inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, values))
    r = np.einsum("tji,tj->ti", transposed, inverse * np.einsum("tji,tj->ti", left, right))
    # one step of refinement
    rest = right - np.einsum("tij,tj->ti", matrix, r)
    r += np.einsum("tji,tj->ti", transposed, inverse * np.einsum("tji,tj->ti", left, rest))
    rest = right - np.einsum("tij,tj->ti", matrix, r)
    # rounding grows with the forces
    allowed = _ROUNDING * (1.0 + np.abs(r).max(axis=1))
    solved = np.abs(rest).max(axis=1) <= allowed
    found: list[tuple[Wholes, Floats]] = []
    accelerations: list[Floats] = []
    # of combinations with the same accelerations the one with most sticking contacts
    for t in sorted(np.flatnonzero(solved), key=lambda t: -int((modes[t] == STICK).sum())):
        u = w @ r[t] + b
        if any(np.abs(u - other).max() <= _SAME for other in accelerations):
            continue
        conditions, constant = _conditions(modes[t], w, b, mu, slip)
        # forces that are not unique may be admissible only elsewhere: a linear programme decides
        values_t, forces = conditions @ r[t] + constant, r[t]
        if (values_t < -allowed[t]).any() and zero[t].any():
            free = transposed[t][zero[t]].T
            y = _largest_margin(conditions @ free, values_t)[1]
            forces = forces if y is None else forces + free @ y
            values_t = conditions @ forces + constant
        if (values_t >= -allowed[t]).all():
            found.append((modes[t], forces))
            accelerations.append(u)
    return found


def _systems(w: Floats, b: Floats, modes: Wholes, mu: Floats) -> tuple[Floats, Floats]:
    """Return the equations A r = a of each combination of modes, (t, 2 c, 2 c) and (t, 2 c).

    They are r = 0 if a contact is open; du_n/dt = 0, and du_t/dt = 0 if it sticks, else
    r_t + sign mu r_n = 0.
    """
    total, count = modes.shape
    matrix = np.tile(np.eye(2 * count), (total, 1, 1))
    right = np.zeros((total, 2 * count))
    for c in range(count):
        n, t = 2 * c, 2 * c + 1
        closed, stick = modes[:, c] != OPEN, modes[:, c] == STICK
        matrix[closed, n], right[closed, n] = w[n], -b[n]
        matrix[stick, t], right[stick, t] = w[t], -b[t]
        for mode, sign in ((FORWARD, 1.0), (BACKWARD, -1.0)):
            matrix[modes[:, c] == mode, t, n] = sign * mu[c]
    return matrix, right


def _conditions(
    modes: Wholes, w: Floats, b: Floats, mu: Floats, slip: Wholes
) -> tuple[Floats, Floats]:
    """Return rows (k, 2 c) and constants (k,) of the conditions rows r + constants >= 0 of modes.

    They are du_n/dt >= 0 if a contact is open; r_n >= 0 if it is closed; mu r_n -+ r_t >= 0 if it
    sticks; and +-du_t/dt >= 0 if slip begins.
    """
    eye, made, constants = np.eye(len(b)), [], []
    for c, mode in enumerate(modes):
        n, t = 2 * c, 2 * c + 1
        if mode == OPEN:
            made.append(w[n])
            constants.append(b[n])
            continue
        made.append(eye[n])
        constants.append(0.0)
        if mode == STICK:
            made += [mu[c] * eye[n] - eye[t], mu[c] * eye[n] + eye[t]]
            constants += [0.0, 0.0]
        elif slip[c] == 0:
            sign = 1.0 if mode == FORWARD else -1.0
            made.append(sign * w[t])
            constants.append(sign * b[t])
    return np.array(made), np.array(constants)


def _largest_margin(rows: Floats, constants: Floats) -> tuple[float, Floats | None]:
    """Return the largest s with rows y + constants >= s, and y; -inf and None without an optimum.

    y (k,) are changes of forces along free directions. The linear programme bounds s by the largest
    constant.
    """
    scale = float(np.abs(constants).max()) or 1.0
    objective = np.zeros(rows.shape[1] + 1)
    objective[-1] = 1.0
    left = np.hstack([-rows, np.ones((len(rows), 1))])
    # forces that may press without bound need no more room than this
    left, most = np.vstack([left, objective]), np.append(constants / scale, 1.0)
    none = np.zeros((0, len(objective))), np.zeros(0)
    found = maximise(objective, left, most, lambda _: none, box=1e6)
    if found.status != "optimal":
        return -np.inf, None
    return scale * found.value, scale * found.point[:-1]


def admissible(r: Floats, free: Floats, mu: Floats, modes: Wholes) -> tuple[float, Floats]:
    """Return the margin of the forces that are farthest inside the law, and these forces.

    Parameters
    ----------
    r : (c, 2) forces that give the accelerations [N]
    free : (2 c, k) changes of forces that leave them unchanged
    mu : (c,) coefficients of friction

    Returns
    -------
    The least of r_n and, where a contact sticks, mu r_n - |r_t| [N]; and (c, 2) forces.

    Verified by: tests/unit/bodies/test_event_driven.py::test_forces_of_redundant_contacts
    """
    none = np.zeros((2 * len(r), 2 * len(r))), np.zeros(2 * len(r))
    conditions, _ = _conditions(modes, *none, mu, np.ones(len(r), dtype=np.int64))
    margin, y = _largest_margin(conditions @ free, conditions @ r.ravel())
    if y is None:
        return margin, r
    return margin, r + (free @ y).reshape(-1, 2)


def farthest_inside(r: Floats, free: Floats, mu: Floats) -> tuple[float, Floats]:
    """Return margin and forces of `admissible` if all contacts stick."""
    return admissible(r, free, mu, np.full(len(r), STICK))


def admissible_on_line(
    r: Floats, free: Floats, mu: Floats, modes: Wholes
) -> tuple[Floats, Floats] | None:
    """Return the result of `admissible` for N states with one free change; None if unbounded.

    With one unknown y the margin is the minimum of lines values + slope y. The largest minimum of
    rising and falling lines is the lowest crossing of two of them.

    Parameters
    ----------
    r : (N, c, 2) forces [N]
    free : (2 c, 1) the free change of the forces
    mu : (c,)

    Returns
    -------
    (N,) margins [N] and (N, c, 2) forces [N].

    Verified by: tests/unit/bodies/test_event_driven.py::test_forces_of_redundant_contacts
    """
    none = np.zeros((free.shape[0], free.shape[0])), np.zeros(free.shape[0])
    conditions, _ = _conditions(modes, *none, mu, np.ones(len(modes), dtype=np.int64))
    slope, values = (conditions @ free)[:, 0], r.reshape(len(r), -1) @ conditions.T
    small = _ZERO * np.abs(slope).max()
    rising, falling = np.flatnonzero(slope > small), np.flatnonzero(slope < -small)
    if not (rising.size and falling.size):
        return None
    i, j = (grid.ravel() for grid in np.meshgrid(rising, falling))
    y = (values[:, j] - values[:, i]) / (slope[i] - slope[j])
    height = values[:, i] + slope[i] * y
    every, lowest = np.arange(len(r)), np.argmin(height, axis=1)
    flat = np.min(values[:, np.abs(slope) <= small], axis=1, initial=np.inf)
    made = r.reshape(len(r), -1) + y[every, lowest, None] * free[:, 0]
    return np.minimum(height[every, lowest], flat), made.reshape(r.shape)


def _by_solver(w: Floats, b: Floats, slip: Wholes, mu: Floats) -> tuple[Wholes, Floats, float]:
    """Return modes (c,) and forces (c, 2) of the frictional contact problem, and its residual.

    A contact that slips has its friction in the column of its normal force, and no cone.
    """
    matrix, slips = w.copy(), np.flatnonzero(slip)
    matrix[:, 2 * slips] -= mu[slips] * slip[slips] * w[:, 2 * slips + 1]
    matrix[:, 2 * slips + 1] = 0.0
    matrix[2 * slips + 1] = 0.0
    q = b.reshape(-1, 2).copy()
    q[slips, 1] = 0.0
    bounds = np.where(slip == 0, mu, 0.0)
    local = local_of(matrix, q, bounds, np.zeros(len(slip)), 1)
    scale = float(np.linalg.norm(q)) or 1.0
    found, _ = solve_local(local, np.zeros_like(q), 1e-13 * scale, attempts=_ATTEMPTS)
    r, error = found.r.copy(), residual(local, found.r)
    closed, stick = sticking(r, q, found.u, mu)
    # at the bound of friction, as without friction: the accelerations without forces are of size 1
    stick |= closed & (np.abs(found.u[:, 1]) <= _SOLVED)
    r[slips, 1] = -mu[slips] * slip[slips] * r[slips, 0]
    forward = np.where(slip == 0, r[:, 1] < 0.0, slip > 0)
    modes = np.where(forward, FORWARD, BACKWARD)
    modes = np.where(stick & (slip == 0), STICK, modes)
    return np.where(closed, modes, OPEN), r, error
