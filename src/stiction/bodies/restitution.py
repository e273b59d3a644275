"""Impact laws with friction: Newton's law without gain of energy, and Poisson's law.

Newton's law prescribes u_n+ = -e u_n- for the normal velocities of contacts that close. With
friction it may add energy (Kane 1984); `without_gain` reduces e where it does. r (n, d) are
impulses [N s], u (n, d) velocities of contacts [m/s], with d = 2 components in the plane (normal,
tangential) and 3 in space.

Poisson's law has two phases. Compression is the impact without restitution, with impulses r_C and
velocities u_C after it. In expansion the normal impulse of a contact is at least e r_C, and r_E,
u_E obey

    0 <= r_En - e r_Cn,   0 <= u_En,   (r_En - e r_Cn) u_En = 0,   |r_Et| <= mu r_En

with friction against u_Et. With p = r_En - e r_Cn the bound mu (p + e r_Cn) is that of a contact
with the normal impulse p and of a second one, with the same tangential velocity, whose normal
impulse is given. So the expansion is a frictional contact problem with a second contact for each
one that expands. `run.Stepper` and `event_driven.impacts` call both functions.

Source: Pfeiffer, Glocker 1996, Multibody Dynamics with Unilateral Contacts, chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.exact_stick import CLOSED, sticking
from stiction.numerics.friction_problem.blocks import Local, local_of
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.solver import solve_local

__all__ = ["Expansion", "expand", "without_gain"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Wholes = npt.NDArray[np.int64]

# bisections of the factor of restitution: it is exact to 2^-40
_HALVINGS = 40


class _Impulses(Protocol):
    """Impulses r of contacts [N s], and velocities before and after them [m/s], all (n, d)."""

    @property
    def r(self) -> Floats: ...

    @property
    def before(self) -> Floats: ...

    @property
    def after(self) -> Floats: ...


Solved = TypeVar("Solved", bound=_Impulses)


def without_gain(
    solve: Callable[[float], Solved], scale: Callable[[Solved], float], most: float
) -> tuple[Solved, bool]:
    """Return impulses that add no energy, and whether restitution was reduced for that.

    Parameters
    ----------
    solve : returns impulses, and velocities before and after them, with a factor from 0 to 1 times
        the coefficients of restitution
    scale : returns the sum of the absolute values of the works of all impulses [J]
    most : largest energy that may be added, over that work [1]; infinite without restitution

    Verified by: tests/unit/bodies/test_impacts.py::test_newtons_law_creates_no_energy
    """
    found = solve(1.0)
    # infinity times the work of impulses that are all zero is no number
    if np.isinf(most):
        return found, False
    work = scale(found)
    # a contact that opens within a step does work without any restitution
    if _gain(found) <= most * work or _gain(solve(0.0)) > most * work:
        return found, False
    # bisection: no energy is added at the factor `low`
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _gain(solve(middle)) > 0.0 else (middle, high)
    return solve(low), True


def _gain(found: _Impulses) -> float:
    """Return the energy that the impulses add, r . (u- + u+) / 2 [J]."""
    return 0.5 * float((found.r * (found.before + found.after)).sum())


# ---- Poisson's law


class Expansion(NamedTuple):
    """Impulses and velocities after compression and expansion.

    Attributes
    ----------
    r, u : (n, d) impulses of both parts [N s], velocities after them [m/s]
    closed, stick : (n,) whether more than the impulse of expansion acts, so that the normal
        velocity is zero, and whether such a contact sticks
    pressed : (n,) whether impulses of compression act
    error : largest residual of the contact problems, relative
    work : (2,) sweeps and linear systems
    """

    r: Floats
    u: Floats
    closed: Bools
    stick: Bools
    pressed: Bools
    error: float
    work: Wholes


class _Solution(NamedTuple):
    """Impulses and velocities of a contact problem, its residual, sweeps and linear systems."""

    r: Floats
    u: Floats
    error: float
    work: Wholes


def _solved(local: Local, tolerance: float) -> _Solution:
    """Return the solution of a contact problem from zero impulses; the tolerance is relative."""
    scale = float(np.linalg.norm(local.q))
    found, work = solve_local(local, np.zeros_like(local.q), tolerance * scale)
    counts = np.array([work.sweeps, work.linear_systems])
    return _Solution(found.r, found.u, residual(local, found.r), counts)


def expand(local: Local, e: Floats, tolerance: float, before: Floats | None = None) -> Expansion:
    """Return the impulses of compression and expansion.

    Parameters
    ----------
    local : the contact problem of compression
    e : (n,) coefficients of restitution
    tolerance : of the contact problems, relative
    before : (n, d) velocities without the loads of a step, whose impulses do not expand; None if
        those of `local` have none [m/s]

    Verified by: tests/exact/test_poissons_law.py::test_a_rod_as_in_rouths_construction
    """
    # compression
    first = _solved(local, tolerance)
    # impulses of compression without the loads of the step: these alone expand
    alone = first if before is None else _solved(local._replace(q=before), tolerance)
    most = float(alone.r[:, 0].max(initial=0.0))
    pressed = alone.r[:, 0] > CLOSED * most
    given = np.where(pressed, e * alone.r[:, 0], 0.0)
    at = np.flatnonzero(given > 0.0)
    # expansion: contacts 0 to n, then a second contact for each of `at`, whose friction is added
    second = _second(local, given, at, first.u)
    found = _solved(second, tolerance)
    n = len(given)
    r, u = found.r[:n].copy(), found.u[:n]
    closed = r[:, 0] > CLOSED * max(most, float(r[:, 0].max(initial=0.0)))
    r[:, 0] += given
    r[at, 1:] += found.r[n:, 1:]
    _, stick = sticking(r, local.q, u, local.mu)
    solutions = (first, found) if before is None else (first, alone, found)
    error = max(one.error for one in solutions)
    work = np.sum([one.work for one in solutions], axis=0)
    return Expansion(first.r + r, u, closed, closed & stick, pressed, error, work)


def _second(local: Local, given: Floats, at: Wholes, u: Floats) -> Local:
    """Return the contact problem of expansion: n contacts, then a second one for each of `at`.

    Parameters
    ----------
    local : the contact problem of compression
    given : (n,) normal impulses of expansion [N s]
    at : numbers of the contacts that have one
    u : (n, d) velocities after compression [m/s]
    """
    n, d, w = len(given), 1 + local.n_tangent, local.dense()
    # velocities after compression and the given impulses, without p and friction of expansion
    pushed = u + (w[:, ::d] @ given).reshape(-1, d)
    # the normal row of a second contact gives that impulse, whatever the others are
    normal = d * (n + np.arange(len(at)))
    rows = d * at[:, None] + [1, *range(1, d)]
    of = np.concatenate([np.arange(d * n), rows.ravel()])
    wide, own = w[np.ix_(of, of)], w[d * at, d * at]
    wide[normal], wide[:, normal] = 0.0, 0.0
    wide[normal, normal] = own
    second = np.concatenate([(-own * given[at])[:, None], pushed[at, 1:]], axis=1)
    q = np.concatenate([pushed, second])
    mu = np.concatenate([local.mu, local.mu[at]])
    return local_of(wide, q, mu, np.zeros(len(q)), local.n_tangent)
