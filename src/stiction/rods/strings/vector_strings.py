"""Two linearised rods ("vector strings") with six waves each, in rolling contact.

Equations (14), (15) of the paper, for displacements and rotations phi1, phi2 (6 components each):

    V phi1_tt - Q phi1_ss =   C1^T lam delta(s - s1),      C1 = [Id, -kappa x / 2]
    V phi2_tt - Q phi2_ss = - C2^T lam delta(s - s2),      C2 = [xi, kappa x xi / 2]
    C1 <phi1_t> = C2 <phi2_t>,  phi_t = (gamma, omega) in the frame of each rod

gamma and omega are velocity and angular velocity, xi the rotation between both frames, kappa the
vector between the axes; both are constant. <.> is the mean of the limits from both sides of the
contact, lam (3) the contact force. The waves are linear, the motion of the contact along the rods
is not. Each rod is expanded in sine modes, whose free vibration is exact. The contact is averaged
over a Gaussian (bump), so that the 3 x 3 system for lam is regular at each stage.

Source: Gay-Balmaz, Putkaradze 2012, (10), (14), (15); formulas sheet (docs/formulas/rods.md),
sections 2 and 5.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Positive
from stiction.errors import ModelError, SolveError
from stiction.numerics.checks import Record, number, numbers

__all__ = ["VectorMotion", "VectorStrings", "vector_motion"]

Floats = npt.NDArray[np.float64]

# largest wave number times the width of the bump, whose spectrum there is exp(-6.3^2 / 2) = 2e-9
_REACH = 6.3
# distance from its centre, in widths, at which the bump is truncated
_TAIL = 6.0
_MOST_MODES = 20_000
_MOST_STEPS = 2_000_000

_EXTENT = Positive("m", "a rod has a size.", "give a positive number.")
_ANGLE = Finite("rad", "the rods cross at this angle.", "give pi / 2.")
_CONTACT_POINT = Finite("m", "the contact is between the ends.", "give the middle.")


@dataclass(frozen=True, eq=False, repr=False)
class VectorStrings(Declared):
    """Two equal linearised rods that cross at a fixed angle and roll on each other.

    The third axis of the frame of a rod is along it, the second points from rod 1 to rod 2, so
    kappa = (0, 2 radius, 0). Rod 2 is rotated by the angle about that axis.

    Parameters
    ----------
    inertia : (6, 6) V, inertia per length of (gamma, omega) [kg/m; kg m]
    stiffness : (6, 6) Q, stiffness of the strains (Gamma, Omega) [N; N m^2]
    length : between the fixed ends [m]
    radius : of both rods [m]
    angle : between the rods [rad], from 10 to 170 degrees
    s1, s2 : initial contact points [m]
    shape1, shape2 : (6, m) coefficients of the initial phi in sin(k pi s / length), k = 1, ..., m
        [m; rad]
    rate1, rate2 : (6, m) coefficients of the initial phi_t [m/s; rad/s]

    Raises
    ------
    ModelError : if V or Q is not symmetric and positive, or the contact is not on the rods.

    Source: Gay-Balmaz, Putkaradze 2012, eqs (14), (15), (10); formulas sheet
    (docs/formulas/rods.md), section 2.
    Verified by: tests/unit/rods/strings/test_vector_strings.py::test_force_of_the_point_contact

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> strings = st.rods.VectorStrings(np.eye(6), 4.0 * np.eye(6))
    >>> strings.waves[0].tolist()  # speeds of the six waves [m/s]
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """

    inertia: Floats
    stiffness: Floats
    length: Annotated[float, _EXTENT] = 1.0
    radius: Annotated[float, _EXTENT] = 0.01
    angle: Annotated[float, _ANGLE] = np.pi / 2.0
    s1: Annotated[float, _CONTACT_POINT] = 0.5
    s2: Annotated[float, _CONTACT_POINT] = 0.5
    shape1: Floats | None = None
    shape2: Floats | None = None
    rate1: Floats | None = None
    rate2: Floats | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("inertia", "stiffness"):
            _check_positive(name, np.asarray(getattr(self, name), dtype=np.float64))
        if not abs(np.sin(self.angle)) >= np.sin(np.radians(10.0)) - 1e-12:
            why = "nearly parallel rods have no single contact point."
            needs = "an angle [rad] between 10 and 170 degrees"
            _refuse("angle", self.angle, needs, why, "give pi / 2.")
        for name in ("s1", "s2"):
            if not 0.0 < getattr(self, name) < self.length:
                why, needs = (
                    "the contact is between the ends.",
                    f"a position above 0 and below {self.length:g} m",
                )
                _refuse(name, getattr(self, name), needs, why, "give the middle.")
        for name in ("shape1", "shape2", "rate1", "rate2"):
            given = getattr(self, name)
            array = np.zeros((6, 1)) if given is None else np.asarray(given, dtype=np.float64)
            if array.ndim != 2 or array.shape[0] != 6 or not np.isfinite(array).all():
                why = "phi has six components, each a sum of m sines."
                got, needs = f"an array of shape {array.shape}", "finite numbers of shape (6, m)"
                _refuse(name, got, needs, why, "give zeros((6, 2)).")
            object.__setattr__(self, name, array)

    @functools.cached_property
    def waves(self) -> tuple[Floats, Floats]:
        """Speeds c (6,) [m/s] and shapes E (6, 6) of the waves: Q E = V E c^2, E^T V E = 1."""
        from scipy.linalg import eigh

        squares, shapes = eigh(self.stiffness, self.inertia)
        return np.sqrt(squares), shapes

    @functools.cached_property
    def turn(self) -> Floats:
        """(3, 3) xi: rotation from the frame of rod 2 to that of rod 1."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        # the tangent of rod 2 is (s, 0, c) in the frame of rod 1
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    @functools.cached_property
    def grips(self) -> tuple[Floats, Floats]:
        """(3, 6) C1 E and -C2 E: slip velocity per unit rate of each wave of rod 1 and rod 2."""
        shapes, arm = self.waves[1], self._arm
        one = np.hstack([np.eye(3), -0.5 * arm])
        two = -np.hstack([self.turn, 0.5 * arm @ self.turn])
        return one @ shapes, two @ shapes

    @property
    def _arm(self) -> Floats:
        """(3, 3) matrix of kappa x, with kappa = (0, 2 radius, 0) [m]."""
        a = 2.0 * self.radius
        return np.array([[0.0, 0.0, a], [0.0, 0.0, 0.0], [-a, 0.0, 0.0]])

    def impedance(self, rate1: float = 0.0, rate2: float = 0.0) -> Floats:
        """Return (3, 3) slip velocity per force of a point contact with these speeds [m/(N s)].

        rate1, rate2 : speeds of the contact along both rods [m/s]

        A point force F changes the mean velocity of a wave by c F / (2 (c^2 - rate^2)).

        Source: formulas sheet (docs/formulas/rods.md), section 5, for each wave.
        Verified by: tests/unit/rods/strings/test_vector_strings.py::test_force_of_the_point_contact
        """
        c = self.waves[0]
        total = np.zeros((3, 3))
        for grip, rate in zip(self.grips, (rate1, rate2), strict=True):
            total += (grip * (0.5 * c / (c**2 - rate**2))) @ grip.T
        return total

    def contact_rates(self, motion: Floats, bend: Floats, curve: Floats) -> Floats:
        """Return (s1', s2') [m/s] from the time derivative of the conditions of tangency.

        Parameters
        ----------
        motion : (2, 6) mean phi_t of both rods at the contact
        bend : (2, 3) mean gamma' of both rods [1/s]
        curve : (2, 3) mean Gamma' of both rods [1/m]

        Notes
        -----
        A s' = -v of (10) with constant tangents. gamma' and Gamma' at a point contact both contain
        a delta function, which cancels in d/dt (kappa . r'), so both must be included. For twist
        alone s1' = (radius / sin)(v_t + cos u_t), and s2' is the same with u and v exchanged.

        Source: formulas sheet (docs/formulas/rods.md), section 2, (10) and the physical G.
        Verified by: tests/unit/rods/strings/test_vector_strings.py::test_mobility_of_twist
        """
        kappa = np.array([0.0, 2.0 * self.radius, 0.0])
        t1, t2 = np.array([0.0, 0.0, 1.0]), self.turn[:, 2]
        # under rolling twice this is the relative velocity of the two axes
        spin = motion[0, 3:] + self.turn @ motion[1, 3:]
        half_difference = 0.5 * np.cross(spin, kappa)
        v = np.array(
            [
                half_difference @ t1 + kappa @ bend[0],
                half_difference @ t2 + kappa @ self.turn @ bend[1],
            ]
        )
        cosine = np.cos(self.angle)
        tangency = np.array([[-1.0, cosine], [-cosine, 1.0]])
        tangency[0, 0] += kappa @ curve[0]
        tangency[1, 1] += kappa @ self.turn @ curve[1]
        if np.linalg.det(tangency) > -1e-3 * np.sin(self.angle) ** 2:
            raise SolveError(
                "VectorStrings: det A is zero: tangency does not determine the contact rates.\n"
                "Why: the strings are no longer nearly straight over the width of the bump.\n"
                "Try: a smaller amplitude or a wider bump."
            )
        return np.asarray(-np.linalg.solve(tangency, v))


@dataclass(frozen=True, eq=False, repr=False)
class VectorMotion(Record):
    """The motion of two vector strings at the saved times.

    Parameters
    ----------
    time : (t,) [s]
    s1, s2 : (t,) contact points [m]
    rates : (t, 2) speeds of the contact along the rods [m/s]
    contact_force : (t, 3) lam, the force on rod 1 in its frame [N]
    energy : (t,) energy of both rods [J]
    motion : (t, 2, 6) mean phi_t of both rods at the contact, each in its frame [m/s; rad/s]
    tilt : (t, 2) mean kappa . r' of both rods at the contact [m]
    modes : (t, 2, 6, k) coefficients of phi on sin(k pi s / length)
    """

    time: Floats
    s1: Floats
    s2: Floats
    rates: Floats
    contact_force: Floats
    energy: Floats
    motion: Floats
    tilt: Floats
    modes: Floats


def vector_motion(
    system: VectorStrings, time: Floats, width: float, *, step: float = 0.2
) -> VectorMotion:
    """Return the motion of two vector strings at the given times.

    Parameters
    ----------
    system : the strings and their initial data
    time : (t,) increasing times, the first is the start [s]
    width : standard deviation of the bump [m]
    step : longest time step, over the time in which the fastest wave crosses the width [1]

    Returns
    -------
    The motion. Initial velocities are projected onto the rolling condition by the least impulse.

    Raises
    ------
    ModelError : if the bump reaches an end, or too many steps or modes are needed.
    SolveError : if a contact reaches an end or the speed of the slowest wave.

    Verified by: tests/unit/rods/strings/test_vector_strings.py::test_order_in_the_step

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> strings = st.rods.VectorStrings(np.eye(6), np.eye(6), angle=1.1, s1=0.45, s2=0.55)
    >>> motion = st.rods.vector_motion(strings, np.array([0.0, 0.05]), width=0.05)
    >>> bool(np.all(motion.contact_force == 0.0))  # a state of rest is an equilibrium
    True
    """
    why, try_ = "the motion is saved at these times, in this order.", "give [0.0, 0.1]."
    times = numbers("vector_motion.time", time, per="saved state", why=why, try_=try_)
    if np.any(np.diff(times) <= 0.0):
        raise ModelError("vector_motion.time", "times out of order", "increasing times", why, try_)
    why = "a step of 1 is the time in which the fastest wave crosses the width of the bump."
    step = number("vector_motion.step", step, rule="positive", why=why, try_="give 0.2.")
    if step > 1.0:
        raise ModelError("vector_motion.step", step, "at most 1", why, "give 0.2.")
    why = "the contact acts over this width."
    width = number("vector_motion.width", width, rule="positive", why=why, try_="0.02.")
    integrator = _Integrator(system, width)
    fastest = float(system.waves[0].max())
    longest = step * integrator.width / fastest
    if (times[-1] - times[0]) / longest > _MOST_STEPS:
        why = "the step is proportional to the width of the bump."
        needs = f"a width of at most {_MOST_STEPS} steps over these times"
        _refuse("width", width, needs, why, "a wider bump, or an earlier end.")
    saved = [integrator.sample()]
    for gap in np.diff(times):
        steps = max(int(np.ceil(gap / longest)), 1)
        integrator.advance(steps, gap / steps)
        saved.append(integrator.sample())
    s, rates, force, energy, motion, tilt, modes = (
        np.array(column) for column in zip(*saved, strict=True)
    )
    return VectorMotion(times, s[:, 0], s[:, 1], rates, force, energy, motion, tilt, modes)


class _Integrator:
    """Modes of both strings and the contact; an integrating-factor scheme of order 4.

    Attributes
    ----------
    y, p : (2, 6, k) amplitudes of the six waves of both rods in k sine modes, and their rates
    s : (2,) contact points [m]
    kappa, bump : (k,) wave numbers [1/m], and factors of the Gaussian at the contact
    omega : (6, k) angular frequencies [rad/s]
    grips : (2, 3, 6) slip velocity per rate of each wave, see `VectorStrings.grips`
    """

    def __init__(self, system: VectorStrings, width: float) -> None:
        to_end = min(system.s1, system.s2, system.length - system.s1, system.length - system.s2)
        if _TAIL * width > to_end:
            why = "the bump extends over six widths on both sides and must fit on the rod."
            _refuse("width", width, f"at most {to_end / _TAIL:.3g} [m]", why, "a narrower bump.")
        count = max(int(np.ceil(_REACH / width * system.length / np.pi)), 2)
        given = (system.shape1, system.shape2, system.rate1, system.rate2)
        most = max(coefficients.shape[1] for coefficients in given if coefficients is not None)
        count = max(count, most)
        if count > _MOST_MODES:
            why = f"{count} modes would resolve the bump and the initial data."
            needs = f"a width that {_MOST_MODES} modes resolve"
            _refuse("width", width, needs, why, "a wider bump, or initial data of fewer modes.")
        self.system, self.width = system, width
        self.kappa = np.arange(1, count + 1) * np.pi / system.length
        self.bump = np.exp(-0.5 * (self.kappa * width) ** 2)
        self.omega = system.waves[0][:, None] * self.kappa
        # E^T V phi are the amplitudes of the waves
        to_waves = system.waves[1].T @ system.inertia
        self.y, self.p = np.zeros((2, 6, count)), np.zeros((2, 6, count))
        for i in range(2):
            for target, coefficients in ((self.y, given[i]), (self.p, given[2 + i])):
                if coefficients is not None:
                    target[i, :, : coefficients.shape[1]] = to_waves @ coefficients
        self.s = np.array([system.s1, system.s2])
        self.grips = np.stack(system.grips)
        self.project_velocities()

    def bump_modes(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (2, k) Gaussian averages of all modes at both contacts, and two derivatives."""
        angle = np.outer(s, self.kappa)
        psi, slope = self.bump * np.sin(angle), self.bump * self.kappa * np.cos(angle)
        return psi, slope, -(self.kappa**2) * psi

    def contact(self, y: Floats, p: Floats, s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return lam (3,), forces on the modes (2, 6, k), s' (2,), and the stopping impulse (3,).

        lam solves the time derivative of the rolling condition. Also sets `impulse`, the least
        change of the rates p that satisfies the condition itself.
        """
        system = self.system
        # averages over the bump: velocities, gamma' and Gamma' at both contacts
        psi, slope, curve = self.bump_modes(s)
        mean = np.einsum("imk,ik->im", p, psi)
        shapes = system.waves[1]
        bend = np.einsum("imk,ik->im", p, slope) @ shapes.T
        bent = np.einsum("imk,ik->im", y, curve) @ shapes.T
        rates = system.contact_rates(mean @ shapes.T, bend[:, :3], bent[:, :3])
        # rates of the mean velocities without lam; `weight` is the change of the slip rate by lam
        pull = -np.einsum("imk,ik->im", self.omega**2 * y, psi)
        pull += rates[:, None] * np.einsum("imk,ik->im", p, slope)
        norm = 2.0 / system.length
        weight = norm * np.einsum("imn,iln,i->ml", self.grips, self.grips, (psi**2).sum(axis=1))
        lam = -np.linalg.solve(weight, np.einsum("imn,in->m", self.grips, pull))
        force = norm * np.einsum("imn,m,ik->ink", self.grips, lam, psi)
        slip = np.linalg.solve(weight, np.einsum("imn,in->m", self.grips, mean))
        impulse = norm * np.einsum("imn,m,ik->ink", self.grips, slip, psi)
        self.impulse = impulse
        return lam, force, rates, slip

    def project_velocities(self) -> None:
        """Project the velocities onto the rolling condition by the least impulse."""
        self.contact(self.y, self.p, self.s)
        self.p = self.p - self.impulse

    def advance(self, steps: int, h: float) -> None:
        """Take steps of length h."""
        cos, sin = np.cos(0.5 * h * self.omega), np.sin(0.5 * h * self.omega)
        slowest = float(self.system.waves[0].min())

        # classical Runge-Kutta stages in variables that are constant in free vibration
        def free_vibration(y: Floats, p: Floats) -> tuple[Floats, Floats]:
            """Return amplitudes and rates after half a step of free vibration."""
            return cos * y + sin / self.omega * p, cos * p - self.omega * sin * y

        for _ in range(steps):
            s = self.s
            _, f1, r1, _ = self.contact(self.y, self.p, s)
            y, p = free_vibration(self.y, self.p)
            dy, dp = free_vibration(np.zeros_like(f1), f1)
            _, f2, r2, _ = self.contact(y + 0.5 * h * dy, p + 0.5 * h * dp, s + 0.5 * h * r1)
            _, f3, r3, _ = self.contact(y, p + 0.5 * h * f2, s + 0.5 * h * r2)
            _, f4, r4, _ = self.contact(*free_vibration(y, p + h * f3), s + h * r3)
            y, p = free_vibration(y + h / 6.0 * dy, p + h / 6.0 * (dp + 2.0 * f2 + 2.0 * f3))
            self.y, self.p = y, p + h / 6.0 * f4
            self.s = s + h / 6.0 * (r1 + 2.0 * r2 + 2.0 * r3 + r4)
            self.project_velocities()
            to_end = min(float(self.s.min()), self.system.length - float(self.s.max()))
            if not (to_end > _TAIL * self.width and max(abs(r4)) < slowest):
                raise SolveError(
                    f"vector_motion: the contact is {to_end:.3g} m from an end and moves at "
                    f"{max(abs(r4)):.3g}m/s; the slowest wave moves at {slowest:.3g} m/s.\n"
                    "Why: the model is valid for a slower contact away from the ends.\n"
                    "Try: an earlier end time."
                )

    def sample(self) -> tuple[Floats, ...]:
        """Return the present state in the order of VectorMotion, without the time."""
        system = self.system
        shapes = system.waves[1]
        lam, _, rates, _ = self.contact(self.y, self.p, self.s)
        psi, slope, _ = self.bump_modes(self.s)
        motion = np.einsum("imk,ik->im", self.p, psi) @ shapes.T
        bent = (np.einsum("imk,ik->im", self.y, slope) @ shapes.T)[:, :3]
        # xi maps the second axis, the direction of kappa, to itself
        tilt = 2.0 * system.radius * bent[:, 1]
        squares = (self.p**2 + (self.omega * self.y) ** 2).sum()
        modes = np.einsum("mn,ink->imk", shapes, self.y)
        energy = np.asarray(0.25 * system.length * squares)
        return self.s.copy(), rates, lam, energy, motion, tilt, modes


def _refuse(name: str, got: object, needs: str, why: str, try_: str) -> None:
    """Raise the ModelError of a field."""
    raise ModelError(f"VectorStrings.{name}", got, needs, why, try_)


def _check_positive(name: str, matrix: Floats) -> None:
    """Raise ModelError if a matrix is not (6, 6), symmetric and positive definite."""
    why, try_ = "the matrix defines an energy.", "give a diagonal matrix of positive numbers."
    if matrix.shape != (6, 6) or not np.isfinite(matrix).all():
        _refuse(name, f"shape {matrix.shape}", "a finite 6 x 6 matrix", why, try_)
    scale = np.sqrt(np.abs(np.outer(np.diag(matrix), np.diag(matrix))))
    if np.any(np.diag(matrix) <= 0.0) or np.any(np.abs(matrix - matrix.T) > 1e-12 * scale):
        got = "a matrix that is not symmetric, or not positive on its diagonal"
        _refuse(name, got, "a symmetric positive definite matrix", why, try_)
    if np.linalg.eigvalsh(matrix / scale).min() <= 0.0:
        _refuse(name, "a negative or zero eigenvalue", "a positive definite matrix", why, try_)
