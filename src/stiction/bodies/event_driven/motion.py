"""Smooth motion between events: accelerations in fixed modes, and steps of collocation.

Closed contacts are constraints at the level of accelerations (index 1). A has the rows of J for all
normal velocities and for the tangential ones of sticking contacts; their derivatives A a + bias are
zero, with the accelerations a. B^T l are the loads by the unknown forces l; in B the friction
-mu s r_n of a slipping contact belongs to its normal force. So

    A M^-1 B^T l = -(A M^-1 f + bias),    a = M^-1 (f + B^T l).

with the masses M. The loads f may contain those of springs and dampers. A step solves these
equations at Chebyshev-Radau points for a polynomial acceleration, by fixed-point iteration
(collocation); places and velocities are its integrals, at all times of the step. `Phase` has the
equations in fixed modes, `Segment` one step. `run.Integrator` makes both; `events` and `record`
evaluate them. Velocities are (n, 3): v_x, v_y, spin of each body.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.7.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.event_driven import kinematics as kin
from stiction.bodies.event_driven.modes import admissible, admissible_on_line
from stiction.bodies.impulse_kernels import group_contacts
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.record import FORWARD, STICK
from stiction.numerics.arrays import Table
from stiction.numerics.event_localisation import NODES, nodes

__all__ = ["Forces", "Phase", "Segment", "integrals", "step_of"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# constraints whose singular values are below this fraction of the largest are redundant. Chosen
_RANK = 1e-9
# accelerations below this fraction of those of free bodies are rounding, as of a body that is fixed
# to a support. Chosen
_AT_REST = 1e-10
# relative change of forces in a step that is rounding. Chosen
_CONSTANT = 1e-12
# largest number of fixed-point iterations of a step, and the relative change of velocities that
# ends them: the rounding of 1
_ITERATIONS, _CONVERGED = 40, 2e-16


class Forces(NamedTuple):
    """Accelerations and forces in fixed modes at one or more states.

    Attributes
    ----------
    a : (..., n, 3) of bodies [m/s^2], [rad/s^2]
    r : (..., c, 2) contact forces [N]
    regular : (...) determinant of A M^-1 B^T over that without friction; it vanishes where forces
        grow without bound
    """

    a: Floats
    r: Floats
    regular: Floats


class Phase:
    """The motion in fixed modes of the closed contacts.

    Parameters
    ----------
    closed : (c,) the closed contacts with their modes
    time, q, v : state at which redundant constraints and fixed bodies are determined

    Attributes
    ----------
    mu, stick, slip : (c,) friction coefficients, whether contacts stick, directions of slip, else 0
    active : (k,) rows of J (2 c) that are constraints: normal ones, then tangential ones that stick
    fixed : (n,) whether no free motion moves a body
    loops : contacts of groups with redundant constraints, and (., 2, k) changes of their forces
        that leave accelerations as they are
    """

    def __init__(
        self, mechanics: Mechanics, closed: Table[kin.Closed], time: float, q: Floats, v: Floats
    ) -> None:
        self.mechanics, self.closed, self.mu = mechanics, closed, mechanics.mu(closed)
        self.stick = closed["mode"] == STICK
        self.slip = np.where(self.stick, 0, np.where(closed["mode"] == FORWARD, 1, -1))
        self.active = np.concatenate(
            [2 * np.arange(len(closed)), 2 * np.flatnonzero(self.stick) + 1]
        )
        self.fixed = np.zeros(mechanics.n, dtype=bool)
        self.loops: list[tuple[Wholes, Floats]] = []
        if len(closed):
            self._ranks(*self._rows(time, q, v))

    @property
    def redundant(self) -> bool:
        """Whether there are several forces for the same accelerations."""
        return bool(self.loops)

    def _ranks(self, rows: Floats, k: kin.Kinematics) -> None:
        """Determine redundant constraints, and bodies that no free motion moves.

        rows : (2 c, 3 n) J
        """
        scaled = rows / np.sqrt(self.mechanics.mass.ravel())
        rank, right = _rank(scaled[self.active])
        moves = np.abs(right[rank:]).max(axis=0, initial=0.0).reshape(-1, 3).max(axis=1)
        self.fixed = moves < _RANK
        if rank == len(self.active):
            return
        columns, group = self._columns(), np.zeros(len(self.closed), dtype=np.int64)
        group_contacts(kin.as_contacts(self.closed, k), self.mechanics.n, group)
        owner = group[self.active // 2]
        for g in range(int(group.max()) + 1):
            at = np.flatnonzero(group == g)
            mine = columns[:, owner == g]
            rank, right = _rank(scaled.T @ mine)
            if rank < mine.shape[1]:
                free = mine @ right[rank:].T
                self.loops.append((at, free.reshape(-1, 2, free.shape[1])[at]))

    def _columns(self) -> Floats:
        """Return (2 c, k) contact forces r by unit values of the k unknown ones l."""
        made = np.eye(2 * len(self.closed))[:, self.active]
        slips = np.flatnonzero(~self.stick)
        made[2 * slips + 1, slips] = -self.mu[slips] * self.slip[slips]
        return np.asarray(made)

    def _rows(self, time: Floats | float, q: Floats, v: Floats) -> tuple[Floats, kin.Kinematics]:
        """Return J (..., 2 c, 3 n) and the kinematics at states (..., n, 3)."""
        m = self.mechanics
        k = kin.kinematics(self.closed, m.pose(time, q), m.velocity(v))
        return kin.rows(self.closed, k, m.n), k

    def kinematics(self, time: Floats | float, q: Floats, v: Floats) -> kin.Kinematics:
        """Return the kinematics of the closed contacts."""
        m = self.mechanics
        return kin.kinematics(self.closed, m.pose(time, q), m.velocity(v))

    def limits(self, time: Floats, q: Floats, v: Floats) -> Floats:
        """Return (..., c, 2) distances from the ends of the features, as `kinematics.limits`."""
        k = self.kinematics(time, q, v)
        return kin.limits(self.closed, k, self.mechanics.pose(time, q))

    def forces(self, time: Floats | float, q: Floats, v: Floats) -> Forces:
        """Return accelerations and forces at states (..., n, 3)."""
        m, count = self.mechanics, len(self.closed)
        free = np.broadcast_to(m.loads(time, q, v) / m.mass, q.shape)
        if not count:
            lead = q.shape[:-2]
            return Forces(free.copy(), np.zeros((*lead, 0, 2)), np.ones(lead))
        rows, k = self._rows(time, q, v)
        flat = (*q.shape[:-2], 3 * m.n)
        inverse, a = 1.0 / m.mass.ravel(), rows[..., self.active, :]
        columns = self._columns()
        b = columns.T @ rows
        matrix = a * inverse @ np.swapaxes(b, -1, -2)
        bias = k.bias.reshape(*k.bias.shape[:-2], -1)[..., self.active]
        # least-norm forces where constraints are redundant
        if self.redundant:
            regular = np.ones(flat[:-1])
            inverted = np.linalg.pinv(matrix, _RANK)
        else:
            without = a * inverse @ np.swapaxes(a, -1, -2)
            regular = np.linalg.det(matrix) / np.linalg.det(without)
            inverted = _inverse(matrix)
        acceleration, unknown = free.reshape(flat), np.zeros(bias.shape)
        # the second time refines: the remaining error of the constraints is rounding of the loads
        for _ in range(2):
            left = np.einsum("...ki,...i->...k", a, acceleration) + bias
            change = -np.einsum("...ij,...j->...i", inverted, left)
            acceleration = acceleration + inverse * np.einsum("...ki,...k->...i", b, change)
            unknown = unknown + change
        acceleration = acceleration.reshape(q.shape)
        if self.fixed.any():
            small = np.abs(m.arms * acceleration) <= _AT_REST * m.largest_load(time, q, v)
            acceleration = np.where(self.fixed[:, None] & small, 0.0, acceleration)
        r = (unknown @ columns.T).reshape(*flat[:-1], count, 2)
        return Forces(acceleration, r, regular)

    def margins(self, r: Floats) -> Floats:
        """Return (loops, N) margins of redundant forces (N, c, 2) inside the law [N]."""
        found = [self._inside(r[:, at], at, free)[0] for at, free in self.loops]
        return np.array(found)

    def inside(self, r: Floats) -> Floats:
        """Return forces (N, c, 2) with the same accelerations, farthest inside the law."""
        made = r.copy()
        for at, free in self.loops:
            made[:, at] = self._inside(r[:, at], at, free)[1]
        return made

    def _inside(self, r: Floats, at: Wholes, free: Floats) -> tuple[Floats, Floats]:
        """Return margins (N,) and forces farthest inside the law for one entry of `loops`.

        r : (N, len(at), 2) forces of the contacts `at` [N]
        """
        m, mu, modes = self.mechanics, self.mu[at], self.closed["mode"][at]
        flat = free.reshape(-1, free.shape[2])
        # with springs forces vary, and a programme for each state would take most of the time
        if m.springs is not None and flat.shape[1] == 1:
            inside = admissible_on_line(r, flat, mu, modes)
            if inside is not None:
                return inside
        # bodies at rest have constant forces: one programme is enough
        constant = np.ptp(r, axis=0).max() <= _CONSTANT * np.abs(r).max()
        found = [admissible(one, flat, mu, modes) for one in (r[:1] if constant else r)]
        shape = (len(r),)
        margins = np.broadcast_to([margin for margin, _ in found], shape)
        return np.asarray(margins), np.broadcast_to(
            [forces for _, forces in found], (*shape, *r.shape[1:])
        )


def _inverse(matrices: Floats) -> Floats:
    """Return inverses of (..., k, k) matrices; NaN if one is singular."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        return np.full_like(matrices, np.nan)


def _rank(matrix: Floats) -> tuple[int, Floats]:
    """Return the rank of a matrix, and its right singular vectors."""
    _, values, right = np.linalg.svd(matrix)
    return int((values > _RANK * values.max(initial=0.0)).sum()), right


# ---- steps


class _Tables(NamedTuple):
    """Points of a step, and matrices from samples there.

    Attributes
    ----------
    nodes : (NODES,) in (0, 1]
    first, second : (NODES + 1, NODES), (NODES + 2, NODES) to Chebyshev coefficients of the integral
        and the double integral from 0
    tail : (2, NODES) to the last two coefficients of the polynomial
    """

    nodes: Floats
    first: Floats
    second: Floats
    tail: Floats


@functools.cache
def _tables() -> _Tables:
    """Return the matrices of a step, for theta = (1 + x) / 2 with x in [-1, 1]."""
    chebyshev = np.polynomial.chebyshev
    to = np.linalg.inv(chebyshev.chebvander(2.0 * nodes() - 1.0, NODES - 1))
    # d theta is half of d x on [-1, 1]
    first = np.stack([chebyshev.chebint(e, 1, lbnd=-1.0, scl=0.5) for e in np.eye(NODES)], axis=1)
    second = np.stack([chebyshev.chebint(e, 2, lbnd=-1.0, scl=0.5) for e in np.eye(NODES)], axis=1)
    return _Tables(nodes(), first @ to, second @ to, np.asarray(to[-2:]))


def integrals(samples: Floats, theta: Floats) -> Floats:
    """Return integrals from 0 to each theta of a function sampled at the points of a step.

    Parameters
    ----------
    samples : (NODES, ...) values of the function
    theta : (k,) in [0, 1]
    """
    values = np.polynomial.chebyshev.chebvander(2.0 * theta - 1.0, NODES)
    flat = samples.reshape(NODES, -1)
    return np.asarray((values @ _tables().first @ flat).reshape(len(theta), *samples.shape[1:]))


class Segment(NamedTuple):
    """A step of smooth motion.

    Attributes
    ----------
    phase : equations of motion in the modes of the contacts
    start, length : time from the start of the run at which it begins, and its length [s]
    q, v : (n, 3) at its start
    a : (NODES, n, 3) accelerations at its points
    error : the last two coefficients of velocities, relative
    """

    phase: Phase
    start: float
    length: float
    q: Floats
    v: Floats
    a: Floats
    error: float

    def at(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return times, places and velocities at (k,) fractions of the step."""
        moved, v = self.moved(theta)
        return self.start + self.length * theta, self.q + moved, v

    def moved(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return displacements from the start, and velocities, both (k, n, 3).

        Displacements are computed without places, and so without their rounding.
        """
        tables, h = _tables(), self.length
        flat = self.a.reshape(NODES, -1)
        values = np.polynomial.chebyshev.chebvander(2.0 * theta - 1.0, NODES + 1)
        shape = (len(theta), *self.q.shape)
        v = (values[:, :-1] @ (tables.first @ flat)).reshape(shape)
        q = (values @ (tables.second @ flat)).reshape(shape)
        part = theta[:, None, None]
        return h * part * self.v + h * h * q, self.v + h * v

    def forces(self, theta: Floats) -> Forces:
        """Return forces at (k,) fractions of the step."""
        return self.phase.forces(*self.at(theta))


def step_of(phase: Phase, start: float, q: Floats, v: Floats, length: float) -> Segment:
    """Return a step of collocation; its error is infinite where the iteration did not converge.

    Parameters
    ----------
    phase : equations of motion
    start, q, v : time from the start of the run [s], places and velocities (n, 3) there
    length : [s]

    Verified by: tests/unit/bodies/test_event_driven.py::test_steps_are_of_high_order
    """
    tables, m = _tables(), phase.mechanics
    # start with the constant acceleration at the begin of the step
    a = np.broadcast_to(phase.forces(start, q, v).a, (NODES, *q.shape))
    last, noise = np.inf, length * m.noise(q)
    for _ in range(_ITERATIONS):
        made = Segment(phase, start, length, q, v, a, np.inf)
        new = made.forces(tables.nodes).a
        if not np.isfinite(new).all():
            return made
        changes = length * np.abs(m.arms * (new - a)).max(axis=(0, 2))
        change = float(changes.max())
        scale = m.speed(v) + length * float(np.abs(m.arms * new).max())
        a = new
        # rounding of the forces ends the decrease before the bound does
        if (changes <= np.maximum(_CONVERGED * scale, noise)).all() or (
            change <= 1e-13 * scale and change >= 0.5 * last
        ):
            made = made._replace(a=a)
            return made._replace(error=max(_error(m, a, length, scale, noise), _of_loads(made)))
        last = change
    return made


def _error(m: Mechanics, a: Floats, length: float, scale: float, noise: Floats) -> float:
    """Return the last two Chebyshev coefficients of velocities over their size, an error estimate.

    a (NODES, n, 3) accelerations; noise (n,) rounding of velocities, which is no error [m/s]
    """
    tail = np.abs(np.einsum("ki,i...->k...", _tables().tail, a) * m.arms).max(axis=(0, 2))
    return max(0.0, float((length * tail - noise).max())) / scale if scale > 0.0 else 0.0


def _of_loads(segment: Segment) -> float:
    """Return the error of the velocities that the loads of springs alone would give, as `_error`.

    A body that contacts fix has no acceleration while loads change; the forces of the contacts are
    interpolated as well, and their error is that of the loads.
    """
    m, h = segment.phase.mechanics, segment.length
    if m.springs is None:
        return 0.0
    free = m.loads(*segment.at(nodes())) / m.mass
    scale = m.speed(segment.v) + h * float(np.abs(m.arms * free).max())
    return _error(m, free, h, scale, h * m.noise(segment.q))
