"""Rolling by two principles: Lagrange-d'Alembert (nonholonomic) and vakonomic mechanics.

Rolling constrains velocities, A(q) q' = 0. In the principle of Lagrange and d'Alembert a reaction
force does no work on any admissible virtual displacement. In the vakonomic principle the action is
stationary among the paths that satisfy the constraint. Both conserve energy and the constraint. The
motions differ if the constraint is not integrable. The vakonomic motion also depends on the initial
multiplier, which has no meaning in an experiment. `dalembert`, `vakonomic` and `rough` compute the
motion of a `RollingBody` by SciPy's `solve_ivp` (DOP853; LSODA for the stiff equations of `rough`).

Source: Gay-Balmaz and Putkaradze 2012, text below equation (7); docs/theory/vakonomic.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Positive
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import Numbers, Record, number, numbers

__all__ = [
    "CrossedCylinders",
    "Motion",
    "RollingBody",
    "Skate",
    "VerticalDisk",
    "dalembert",
    "rough",
    "vakonomic",
]

Floats = npt.NDArray[np.float64]

Rate = Callable[[float, Floats], Floats]

_RTOL = 1e-12

_WHY = "a body has mass, size and inertia."
_MASS, _RADIUS, _INERTIA = Positive("kg", _WHY), Positive("m", _WHY), Positive("kg m^2", _WHY)
_PULL = Finite("m/s^2", "gravity accelerates the body along the slope.", "give 1.0.")


class RollingBody(Declared, abc.ABC):
    """Base class of bodies with a diagonal mass matrix and constraints A(q) q' = 0.

    n is the number of coordinates q, k that of constraints.
    """

    @property
    @abc.abstractmethod
    def masses(self) -> Floats:
        """(n,) masses [kg] and moments of inertia [kg m^2]."""

    def force(self, q: Floats) -> Floats:
        """Return (n,) generalised forces, minus the gradient of `potential`, at q (n,)."""
        return np.zeros_like(q)

    def potential(self, q: Floats) -> float:
        """Return the potential energy [J]."""
        return 0.0

    @abc.abstractmethod
    def condition(self, q: Floats) -> Floats:
        """Return A(q), (k, n)."""

    @abc.abstractmethod
    def condition_slope(self, q: Floats) -> Floats:
        """Return (k, n, n) derivatives dA[k, i] / dq[j]."""


@dataclass(frozen=True, eq=False, repr=False)
class VerticalDisk(RollingBody):
    """A vertical disk that rolls on a plane; q = (x, y, heading, roll) [m, m, rad, rad].

    Parameters
    ----------
    mass : [kg]
    radius : [m]
    rolling_inertia, heading_inertia : about its axis and about the vertical [kg m^2]

    Verified by: tests/unit/rods/test_principles.py::test_disk_against_its_closed_forms
    """

    mass: Annotated[float, _MASS] = 1.0
    radius: Annotated[float, _RADIUS] = 1.0
    rolling_inertia: Annotated[float, _INERTIA] = 0.5
    heading_inertia: Annotated[float, _INERTIA] = 0.25

    @property
    def masses(self) -> Floats:
        """(4,) mass, mass, inertia about the vertical, inertia about the axis."""
        return np.array([self.mass, self.mass, self.heading_inertia, self.rolling_inertia])

    def condition(self, q: Floats) -> Floats:
        """Return A of x' = R roll' cos(heading) and y' = R roll' sin(heading)."""
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[1.0, 0.0, 0.0, -self.radius * c], [0.0, 1.0, 0.0, -self.radius * s]])

    def condition_slope(self, q: Floats) -> Floats:
        """Return the derivative with respect to the heading."""
        slope = np.zeros((2, 4, 4))
        slope[0, 3, 2], slope[1, 3, 2] = self.radius * np.sin(q[2]), -self.radius * np.cos(q[2])
        return slope


@dataclass(frozen=True, eq=False, repr=False)
class Skate(RollingBody):
    """A blade on a slope without sideways motion; q = (x downhill, y, heading from x).

    Parameters
    ----------
    mass, inertia : mass [kg]; moment of inertia about the contact [kg m^2]
    pull : g sin(slope) [m/s^2]

    Verified by: tests/unit/rods/test_principles.py::test_skate_against_its_closed_form

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> skate, time = st.rods.Skate(pull=1.0), np.linspace(0.0, 2.0, 3)
    >>> motion = st.rods.dalembert(skate, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], time)
    >>> motion.q[0].round(6).tolist()  # t^2 / 2: it runs straight downhill
    [0.0, 0.5, 2.0]
    """

    mass: Annotated[float, _MASS] = 1.0
    inertia: Annotated[float, _INERTIA] = 1.0
    pull: Annotated[float, _PULL] = 1.0

    @property
    def masses(self) -> Floats:
        """(3,) mass, mass, inertia."""
        return np.array([self.mass, self.mass, self.inertia])

    def force(self, q: Floats) -> Floats:
        """Return (3,) forces: mass times `pull` along x."""
        return np.array([self.mass * self.pull, 0.0, 0.0])

    def potential(self, q: Floats) -> float:
        """Return the potential energy of gravity [J]."""
        return float(-self.mass * self.pull * q[0])

    def condition(self, q: Floats) -> Floats:
        """Return A of x' sin(heading) - y' cos(heading) = 0."""
        return np.array([[np.sin(q[2]), -np.cos(q[2]), 0.0]])

    def condition_slope(self, q: Floats) -> Floats:
        """Return the derivative with respect to the heading."""
        slope = np.zeros((1, 3, 3))
        slope[0, 0, 2], slope[0, 1, 2] = np.cos(q[2]), np.sin(q[2])
        return slope


@dataclass(frozen=True, eq=False, repr=False)
class CrossedCylinders(RollingBody):
    """A straight rigid rod that rolls on a fixed one along x, with horizontal axis.

    q = (x, y, heading, spin): centre of the moving rod [m], angle of its axis to x, and rotation
    about this axis [rad]. The contact is where the axes cross, -y / sin(heading) from the centre.

    Parameters
    ----------
    mass : of the moving rod [kg]
    radius : of its section [m]
    spin_inertia, heading_inertia : about its axis and about the vertical [kg m^2]

    Source: the rolling condition, equation (4) of Gay-Balmaz and Putkaradze 2012, for rigid rods.
    Verified by: tests/unit/rods/test_principles.py::test_crossed_cylinders_keep_their_integral

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> rods, time = st.rods.CrossedCylinders(radius=0.1), np.linspace(0.0, 0.1, 3)
    >>> motion = st.rods.dalembert(rods, [0.0, 0.0, np.pi / 2, 0.0], [0.0, 0.0, 1.0, 0.0], time)
    >>> bool(motion.slip.max() < 1e-9)
    True
    """

    mass: Annotated[float, _MASS] = 1.0
    radius: Annotated[float, _RADIUS] = 0.1
    spin_inertia: Annotated[float, _INERTIA] = 0.005
    heading_inertia: Annotated[float, _INERTIA] = 1.0 / 12.0

    @property
    def masses(self) -> Floats:
        """(4,) mass, mass, inertia about the vertical, inertia about the axis."""
        return np.array([self.mass, self.mass, self.heading_inertia, self.spin_inertia])

    def place(self, q: Floats) -> Floats:
        """Return the position of the contact along the moving rod, from its centre [m].

        q : (n,) or (n, t)
        """
        return np.asarray(-q[1] / np.sin(q[2]))

    def condition(self, q: Floats) -> Floats:
        """Return A of zero velocity of the contact point, along the axis and across."""
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, s, 0.0, 0.0], [-s, c, -q[1] / s, self.radius]])

    def condition_slope(self, q: Floats) -> Floats:
        """Return the derivatives by y and by the heading."""
        c, s = np.cos(q[2]), np.sin(q[2])
        slope = np.zeros((2, 4, 4))
        slope[0, 0, 2], slope[0, 1, 2] = -s, c
        slope[1, 0, 2], slope[1, 1, 2] = -c, -s
        slope[1, 2, 1], slope[1, 2, 2] = -1.0 / s, q[1] * c / s**2
        return slope


@dataclass(frozen=True, eq=False, repr=False)
class Motion(Record):
    """A motion of a rolling body.

    Parameters
    ----------
    time : (t,) [s]
    q, v : (n, t) coordinates and velocities
    multiplier : (k, t) vakonomic multipliers of the constraints [N s]; otherwise zero
    energy : (t,) kinetic and potential energy [J]
    slip : (t,) norm of A q' [m/s]
    """

    time: Floats
    q: Floats
    v: Floats
    multiplier: Floats
    energy: Floats
    slip: Floats


def dalembert(body: RollingBody, q: Numbers, v: Numbers, times: Floats) -> Motion:
    """Return the motion of the principle of Lagrange and d'Alembert.

    M q'' = F + A^T l with A q' = 0: the reaction A^T l does no virtual work.

    Parameters
    ----------
    q, v : (n,) initial coordinates and velocities; `v` must satisfy the constraint
    times : (t,) increasing times [s], the first is the start

    Verified by: tests/unit/rods/test_principles.py::test_disk_against_its_closed_forms
    """
    q0, v0 = _start(body, q, v)
    n = q0.size

    def rate(_t: float, y: Floats) -> Floats:
        # the reaction makes the derivative of A q' = 0 hold: A q'' = -(dA/dq q') q'
        q, v = y[:n], y[n:]
        a, slope = body.condition(q), body.condition_slope(q)
        free = body.force(q) / body.masses
        return np.concatenate([v, free + _reaction(body, a, -(a @ free) - (slope @ v) @ v)])

    return _integrated(body, rate, np.concatenate([q0, v0]), times, 0)


def vakonomic(
    body: RollingBody, q: Numbers, v: Numbers, times: Floats, multiplier: Numbers = 0.0
) -> Motion:
    """Return the motion that makes the action stationary among paths with A q' = 0.

    d/dt (M q' + A^T m) = F + d(m . A q')/dq with A q' = 0: every m(0) gives another motion from
    the same position and velocity. It does not describe rolling; it serves for comparison.

    Parameters
    ----------
    q, v : (n,) initial coordinates and velocities; `v` must satisfy the constraint
    times : (t,) increasing times [s], the first is the start
    multiplier : (k,) initial m [N s], or one number for all constraints

    Source: Gay-Balmaz and Putkaradze 2012, text below equation (7): "incorrect".
    Verified by: tests/unit/rods/test_principles.py::test_disk_against_its_closed_forms
    """
    q0, v0 = _start(body, q, v)
    n, k = q0.size, len(body.condition(q0))
    why = "the motion depends on this value."
    m0 = numbers("vakonomic.multiplier", multiplier, size=k, why=why, try_="give 0.0.")

    def rate(_t: float, y: Floats) -> Floats:
        q, v, m = y[:n], y[n : 2 * n], y[2 * n :]
        a, slope = body.condition(q), body.condition_slope(q)
        # m_k (dA_kj/dq_i - dA_ki/dq_j) v_j, which is zero for an integrable constraint
        curl = np.einsum("k,kji,j->i", m, slope, v) - np.einsum("k,kij,j->i", m, slope, v)
        free = (body.force(q) + curl) / body.masses
        # A q'' = -(dA/dq q') q' as above determines m' = -`pull`
        needed = -(a @ free) - (slope @ v) @ v
        pull = np.linalg.solve((a / body.masses) @ a.T, needed)
        return np.concatenate([v, free + (a.T @ pull) / body.masses, -pull])

    return _integrated(body, rate, np.concatenate([q0, v0, m0]), times, k)


def rough(body: RollingBody, q: Numbers, v: Numbers, times: Floats, viscosity: float) -> Motion:
    """Return the motion with viscous friction against slip instead of a constraint.

    M q'' = F - c A^T A q'. For large c the slip and the difference from `dalembert` are of order
    1/c: the limit of strong friction is the principle of d'Alembert.

    Parameters
    ----------
    q, v, times : as of `dalembert`
    viscosity : c [N s/m]

    Verified by: tests/unit/rods/test_principles.py::test_strong_friction_gives_dalembert

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> skate, time = st.rods.Skate(pull=1.0), np.linspace(0.0, 1.0, 5)
    >>> start = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]  # it turns while it runs down
    >>> slip = [st.rods.rough(skate, *start, time, c).slip[-1] for c in (1e3, 1e4)]
    >>> bool(9.0 < slip[0] / slip[1] < 11.0)  # slip is of order 1 / c
    True
    """
    q0, v0 = _start(body, q, v)
    n = q0.size
    why = "viscous friction resists slip."
    c = number("rough.viscosity", viscosity, rule="positive", unit="N s/m", why=why, try_="1e3.")

    def rate(_t: float, y: Floats) -> Floats:
        q, v = y[:n], y[n:]
        a = body.condition(q)
        return np.concatenate([v, (body.force(q) - c * (a.T @ (a @ v))) / body.masses])

    return _integrated(body, rate, np.concatenate([q0, v0]), times, 0, stiff=True)


def _reaction(body: RollingBody, a: Floats, needed: Floats) -> Floats:
    """Return (n,) accelerations M^-1 A^T l by the reaction with A M^-1 A^T l = `needed`."""
    pull = np.linalg.solve((a / body.masses) @ a.T, needed)
    return np.asarray((a.T @ pull) / body.masses)


def _integrated(
    body: RollingBody, rate: Rate, y0: Floats, times: Floats, k: int, *, stiff: bool = False
) -> Motion:
    """Return the motion dy/dt = `rate`, y = (q, v, k multipliers), at `times`."""
    from scipy.integrate import solve_ivp

    why, try_ = "the motion is saved at these times.", "give [0, 1]."
    times = numbers("times", times, unit="s", why=why, try_=try_)
    if times.size < 2 or not (np.diff(times) > 0.0).all():
        needs = "at least 2 numbers [s] that increase strictly"
        got = times.tolist() if times.size < 8 else f"{times.size} numbers that do not increase"
        raise ModelError("times", got, needs, why, try_)
    rtol = 1e-10 if stiff else _RTOL
    solution = solve_ivp(
        rate,
        (times[0], times[-1]),
        y0,
        method="LSODA" if stiff else "DOP853",
        t_eval=times,
        rtol=rtol,
        atol=0.01 * rtol * _sizes(body, y0, k, float(np.diff(times).min())),
    )
    if not solution.success:
        raise SolveError(
            explain(
                type(body).__name__,
                f"an integration that stopped at t = {solution.t[-1]:.6g} s",
                f"a motion that can be integrated up to t = {times[-1]:.6g} s",
                f"SciPy's solve_ivp reports: {solution.message}",
                "end the motion before it stops.",
            )
        )
    n = body.masses.size
    q, v = solution.y[:n], solution.y[n : 2 * n]
    pairs = list(zip(q.T, v.T, strict=True))
    energy = [0.5 * (body.masses * w) @ w + body.potential(x) for x, w in pairs]
    slip = [np.linalg.norm(body.condition(x) @ w) for x, w in pairs]
    multiplier = (
        solution.y[2 * n :] if k else np.zeros((len(body.condition(q[:, 0])), len(solution.t)))
    )
    return Motion(solution.t, q, v, multiplier, np.array(energy), np.array(slip))


def _sizes(body: RollingBody, y0: Floats, k: int, duration: float) -> Floats:
    """Return sizes of y = (q, v, k multipliers) in the metric of the masses, in any units.

    Parameters
    ----------
    duration : time in which the coordinates change by their sizes [s]
    """
    n, masses = body.masses.size, body.masses
    q, v = y0[:n], y0[n : 2 * n]
    change = np.abs(v) + duration * np.abs(body.force(q)) / masses
    speed = max(float((np.sqrt(masses) * change).max()), 1e-200)
    rates = speed / np.sqrt(masses)
    a = body.condition(q)
    impulses = speed / np.sqrt(((a / masses) * a).sum(axis=1))
    return np.concatenate([duration * rates, rates, impulses[:k]])


def _start(body: RollingBody, q: Numbers, v: Numbers) -> tuple[Floats, Floats]:
    """Return the initial q and v; ModelError if v violates the constraint."""
    n = body.masses.size
    why, try_ = "the motion starts from these values.", f"give {n} numbers."
    q0 = numbers("q", q, size=n, why=why, try_=try_)
    v0 = numbers("v", v, size=n, why=why, try_=try_)
    # A(q) may be singular, then the velocity violates it too
    with np.errstate(divide="ignore", invalid="ignore"):
        a = body.condition(q0)
        slip, terms = a @ v0, np.abs(a) @ np.abs(v0)
    # rounding is relative to the terms of the sum
    if not np.linalg.norm(slip) <= 1e-12 * np.linalg.norm(terms):
        raise ModelError(
            f"{type(body).__name__}.v",
            f"a velocity that slips by {np.linalg.norm(slip):.3g}",
            "one that satisfies the constraint A(q) v = 0",
            "every motion starts with rolling, without slip at the contact.",
            "choose the independent velocities, and solve the constraint for the others.",
        )
    return q0, v0
