"""Tyre laws: lateral force and aligning moment of a rolling wheel as functions of slip.

Angles are slip angles phi: tan(phi) = h / |g|, with the lateral velocity h and the rolling velocity
g of the wheel [m/s]. Laws are odd in the angle and have no state; the dynamic tyre is in
`stiction.switching.wheel.dynamic_tyre`. F [N] is the lateral force that opposes h, M [N m] the
moment about the vertical axis of the wheel. The wheel on a turntable uses these laws.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, NonNegative, Positive
from stiction.errors import ModelError

__all__ = ["Pacejka", "SimplifiedTyre", "StretchedString", "TyreLaw"]

Floats = npt.NDArray[np.float64]

_TRY_STRING = "see help(stiction.laws.StretchedString)."
_STIFFNESS = Positive("N/m^2", "the tread is held laterally by this stiffness.", _TRY_STRING)
_PRESSURE = Positive("N/m", "without friction the tread carries no lateral force.", _TRY_STRING)
_KINETIC_RATIO = Positive(
    "1",
    "friction in slip is at most the friction bound in stick.",
    "give 1 for friction without a drop.",
    most=1.0,
    needs="a number in (0, 1]",
)
_RELAXATION = NonNegative(
    "m", "the deflection of the string decays over this length outside the patch.", _TRY_STRING
)
_WHY_SIMPLIFIED = (
    "kappa is the lever arm of the moment, and mu the friction force that opposes slip."
)
_TRY_SIMPLIFIED = "give a positive number; the sign of M comes from the rolling velocity."
_FACTOR = Finite(
    "", "the formula has the factors B, C, D and E.", "use Pacejka.fit_to(law.force) to find them."
)


class TyreLaw(Declared, abc.ABC):
    """Base class of tyre laws: force and moment at slip velocities.

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> class Viscous(st.laws.TyreLaw):
    ...     def contact(self, h, g):
    ...         return -2.0 * np.asarray(h), 0.0 * np.asarray(g)
    >>> [float(value) for value in Viscous().contact(0.5, 1.0)]
    [-1.0, 0.0]
    """

    @abc.abstractmethod
    def contact(self, h: npt.ArrayLike, g: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return F [N] and M [N m] at lateral and rolling velocities h, g [m/s]."""


@dataclass(frozen=True, eq=False, repr=False)
class StretchedString(TyreLaw):
    """A tyre as a stretched string on a lateral foundation, with partial slip.

    The tread enters the contact patch at its leading edge x = half_length and leaves it at
    x = -half_length. Outside the patch the deflection q of the string decays over the length
    `relaxation`. In stick the tread follows the ground, q = (a + sigma - x) tan(phi). Where the
    pressure k q passes `max_pressure` it slips, from there to the trailing edge, under the pressure
    rho delta.

    Parameters
    ----------
    stiffness : k, lateral stiffness of the patch per length [N/m^2], > 0
    max_pressure : delta, largest pressure in stick, per length [N/m], > 0
    kinetic_ratio : rho, pressure in slip over `max_pressure` [1], 0 < rho <= 1
    relaxation : sigma [m], >= 0
    half_length : a, half the length of the patch [m], > 0

    Notes
    -----
    The place where slip begins is x_s = a + sigma - (delta / k) cot(phi). Force and moment
    are continuous in the angle for every rho. For rho < 1 their slopes jump where slip
    begins (x_s = -a) and where it is complete (x_s = a), and the displacement jumps from
    delta / k to rho delta / k at x_s. At phi = 0 all are zero.

    Source: Szalai, Jeffrey 2014, appendix B; formulas sheet, section 2, which corrects three
    of its formulas.
    Verified by: tests/unit/laws/test_tyre.py::test_quadrature_over_the_patch
    """

    stiffness: Annotated[float, _STIFFNESS]
    max_pressure: Annotated[float, _PRESSURE]
    kinetic_ratio: Annotated[float, _KINETIC_RATIO]
    relaxation: Annotated[float, _RELAXATION]
    half_length: Annotated[
        float, Positive("m", "half the contact patch has this length.", _TRY_STRING)
    ]

    @property
    def onset_angle(self) -> float:
        """Slip angle [rad] at which slip begins, at the trailing edge."""
        length = 2.0 * self.half_length + self.relaxation
        return float(np.arctan2(self.max_pressure, self.stiffness * length))

    @property
    def full_slip_angle(self) -> float:
        """Slip angle [rad] from which the whole patch slips; pi/2 without relaxation."""
        return float(np.arctan2(self.max_pressure, self.stiffness * self.relaxation))

    def slip_position(self, slip_angle: npt.ArrayLike) -> Floats:
        """Return x_s [m], clipped to the patch: slip reaches from -half_length to it.

        Source: formulas sheet, section 2 (the paper prints cot(phi) / k, without delta).
        Verified by: tests/unit/laws/test_tyre.py::test_slip_begins_at_the_largest_pressure
        """
        angle, _ = _halves(slip_angle)
        reach = self.max_pressure / self.stiffness / _tan(angle)
        a = self.half_length
        return np.asarray(np.clip(a + self.relaxation - reach, -a, a))

    def displacement(self, x: npt.ArrayLike, slip_angle: npt.ArrayLike) -> Floats:
        """Return q [m], the lateral deflection of the tread at `x` from the wheel's plane.

        Parameters
        ----------
        x : position in the patch [m], -half_length to half_length; broadcast with `slip_angle`

        Source: formulas sheet, section 2.
        Verified by: tests/unit/laws/test_tyre.py::test_slip_begins_at_the_largest_pressure
        """
        angle, sign = _halves(slip_angle)
        x = np.asarray(x, dtype=np.float64)
        stuck = (self.half_length + self.relaxation - x) * _tan(angle)
        most = self.max_pressure / self.stiffness
        slips = (x < self.slip_position(angle)) | (stuck > most * (1.0 + 1e-12))
        return np.asarray(sign * np.where(slips, self.kinetic_ratio * most, stuck))

    def force(self, slip_angle: npt.ArrayLike) -> Floats:
        """Return F [N], the lateral force that opposes the slip, with its sign.

        Parameters
        ----------
        slip_angle : phi [rad], within -pi/2 to pi/2

        Source: formulas sheet, section 2, F of the three regimes.
        Verified by: tests/unit/laws/test_tyre.py::test_quadrature_over_the_patch
        """
        angle, sign = _halves(slip_angle)
        k, delta, rho, sigma, a = self._symbols()
        tan = _tan(angle)
        stick = 2.0 * a * k * (a + sigma) * tan
        partial = rho * delta * (2.0 * a + sigma) + delta**2 / (2.0 * k) * (1.0 - 2.0 * rho) / tan
        partial -= 0.5 * k * sigma**2 * tan
        return np.asarray(sign * self._choose(angle, stick, partial, 2.0 * a * rho * delta))

    def moment(self, slip_angle: npt.ArrayLike) -> Floats:
        """Return M [N m] about the middle of the patch, with the sign of the angle.

        The force acts behind the middle, so that the moment turns the wheel towards its
        velocity.

        Parameters
        ----------
        slip_angle : phi [rad], within -pi/2 to pi/2

        Source: formulas sheet, section 2, M of the three regimes.
        Verified by: tests/unit/laws/test_tyre.py::test_quadrature_over_the_patch
        """
        angle, sign = _halves(slip_angle)
        k, delta, rho, sigma, a = self._symbols()
        tan = _tan(angle)
        stick = 2.0 / 3.0 * a**3 * k * tan
        reach = delta / (k * tan)
        partial = k * sigma**2 * (3.0 * a + sigma) * tan / 6.0
        partial += k * tan * reach**2 * (2.0 * reach - 3.0 * (a + sigma)) / 6.0
        partial -= 0.5 * delta * rho * ((a - reach + sigma) ** 2 - a**2)
        return np.asarray(sign * self._choose(angle, stick, partial, 0.0))

    def contact(self, h: npt.ArrayLike, g: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return F [N] and M [N m] at the slip angle arctan2(h, |g|), M with the sign of g.

        Parameters
        ----------
        h, g : lateral and rolling velocity [m/s]

        Source: formulas sheet, section 2.
        Verified by: tests/unit/laws/test_tyre.py::test_string_kernel_is_the_law
        """
        angle = np.arctan2(np.asarray(h, dtype=np.float64), np.abs(g))
        return self.force(angle), np.asarray(np.sign(g) * self.moment(angle))

    def _symbols(self) -> tuple[float, float, float, float, float]:
        """Return k, delta, rho, sigma and a of the formulas."""
        return (
            self.stiffness,
            self.max_pressure,
            self.kinetic_ratio,
            self.relaxation,
            self.half_length,
        )

    def _choose(self, angle: Floats, stick: Floats, partial: Floats, full: float) -> Floats:
        """Return the value of the regime at each angle: stick, partial slip or full slip.

        angle : slip angles >= 0 [rad]; `stick`, `partial` and `full` are values of the formulas of
        the three regimes there, of force or moment
        """
        inner = np.where(angle <= self.onset_angle, stick, partial)
        return np.where((angle >= self.full_slip_angle) & (angle > 0.0), full, inner)


@dataclass(frozen=True, eq=False, repr=False)
class SimplifiedTyre(TyreLaw):
    """The tyre of the wheel on a turntable: a jump at zero replaces the steep rise of the string.

    It is the string with k = delta = 1 / (3 kappa), rho = 2/3, sigma = 0 and a = 3 kappa. Its
    angles from psi0 = arccot(6 kappa) to pi/2 are mapped linearly to the range 0 to pi/2.

    Parameters
    ----------
    kappa : moment over force as h -> 0 [m], > 0
    mu : force as h -> 0 [N], > 0

    Notes
    -----
    As h -> 0 with g != 0: abs(F) -> mu, abs(M) -> mu kappa. As g -> 0 with h != 0:
    abs(F) -> 4 mu / 3, M -> 0. So abs(F) lies in [mu, 4 mu / 3] and grows with slip. F has
    a kink in g at g = 0 and M has none. On h = 0 the law is set-valued, and the methods return the
    middle of the set, zero; at h = g = 0 the limit depends on the direction.

    Source: Szalai, Jeffrey 2014, (6), (7); formulas sheet, section 2.
    Verified by: tests/unit/laws/test_tyre.py::test_simplified_limits
    """

    kappa: Annotated[float, Positive("m", _WHY_SIMPLIFIED, _TRY_SIMPLIFIED)]
    mu: Annotated[float, Positive("N", _WHY_SIMPLIFIED, _TRY_SIMPLIFIED)] = 1.0

    @property
    def onset_angle(self) -> float:
        """psi0 = arccot(6 kappa) [rad]: the string's angle at which its patch begins to slip."""
        return float(np.arctan2(1.0, 6.0 * self.kappa))

    @property
    def string(self) -> StretchedString:
        """The stretched string whose force and moment, times mu, this law takes at psi."""
        k = 1.0 / (3.0 * self.kappa)
        return StretchedString(k, k, 2.0 / 3.0, 0.0, 3.0 * self.kappa)

    def psi(self, h: npt.ArrayLike, g: npt.ArrayLike) -> Floats:
        """Return the string's slip angle psi [rad], psi0 to pi/2, at slip velocities [m/s].

        psi = psi0 + (1 - 2 psi0 / pi) arctan|h / g|.
        """
        start = self.onset_angle
        return np.asarray(start + (1.0 - 2.0 * start / np.pi) * np.arctan2(np.abs(h), np.abs(g)))

    def force(self, h: npt.ArrayLike, g: npt.ArrayLike) -> Floats:
        """Return F [N], mu sgn(h) (4/3 - cot(psi) / (18 kappa)).

        Parameters
        ----------
        h, g : lateral and rolling velocity [m/s]

        Source: Szalai, Jeffrey 2014, (6).
        Verified by: tests/unit/laws/test_tyre.py::test_simplified_is_the_squeezed_string
        """
        cot = _cot(self.psi(h, g))
        return np.asarray(self.mu * np.sign(h) * (4.0 / 3.0 - cot / (18.0 * self.kappa)))

    def moment(self, h: npt.ArrayLike, g: npt.ArrayLike) -> Floats:
        """Return M [N m], mu sgn(g) sgn(h) cot(psi) / 6.

        Parameters
        ----------
        h, g : lateral and rolling velocity [m/s]

        Source: Szalai, Jeffrey 2014, (7).
        Verified by: tests/unit/laws/test_tyre.py::test_simplified_is_the_squeezed_string
        """
        cot = _cot(self.psi(h, g))
        return np.asarray(self.mu * np.sign(g) * np.sign(h) * cot / 6.0)

    def contact(self, h: npt.ArrayLike, g: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return F [N] and M [N m], as `force` and `moment` do."""
        return self.force(h, g), self.moment(h, g)


@dataclass(frozen=True, eq=False, repr=False)
class Pacejka(Declared):
    """Pacejka's magic formula y = D sin(C arctan(B t - E (B t - arctan(B t)))), t = tan(phi).

    Parameters
    ----------
    B : stiffness factor [1]
    C : shape factor [1]
    D : peak factor, in the unit of y
    E : curvature factor [1]

    Source: Pacejka, Tyre and Vehicle Dynamics, 2006, the sine version without offsets.
    Verified by: tests/unit/laws/test_tyre.py::test_pacejka_fit_finds_its_own_numbers
    """

    B: Annotated[float, _FACTOR]
    C: Annotated[float, _FACTOR]
    D: Annotated[float, _FACTOR]
    E: Annotated[float, _FACTOR]

    def __call__(self, slip_angle: npt.ArrayLike) -> Floats:
        """Return y at slip angles phi [rad], within -pi/2 to pi/2."""
        angle, sign = _halves(slip_angle)
        return np.asarray(sign * _magic(_tan(angle), self.B, self.C, self.D, self.E))

    @classmethod
    def fit_to(
        cls, curve: Callable[[Floats], Floats], slip_angle: npt.ArrayLike | None = None
    ) -> Pacejka:
        """Return the formula closest to a curve, such as `law.force`, by least squares.

        Parameters
        ----------
        curve : y at an array of slip angles [rad]
        slip_angle : where to compare [rad]; 200 angles up to 1.4 when left out

        Source: none; the best least-squares fit from several starts.
        Verified by: tests/unit/laws/test_tyre.py::test_pacejka_fit_finds_its_own_numbers
        """
        from scipy.optimize import least_squares

        wanted = np.linspace(0.0, 1.4, 201)[1:] if slip_angle is None else slip_angle
        angle, sign = _halves(wanted)
        tan, y = _tan(angle), sign * np.asarray(curve(sign * angle), dtype=np.float64)
        # the peak has the sign of the curve, which conventions of tyre data choose
        top = float(y[np.argmax(np.abs(y))])
        if not (np.isfinite(y).all() and top != 0.0):
            raise ModelError(
                "Pacejka.fit_to",
                "a curve that is zero or not finite",
                "finite values, not all zero",
                "there is nothing to fit.",
                "check the law and the range of angles.",
            )

        def miss(p: Floats) -> Floats:
            return _magic(tan, p[0], p[1], p[2], p[3]) - y / top

        # the residual has several minima: the best of six starts
        best = None
        for shape in (1.3, 1.9, 2.4):
            for steep in (1.0, 5.0):
                start = np.array([steep, shape, 1.0, 0.0])
                fit = least_squares(
                    miss,
                    start,
                    bounds=([0.0, 0.1, 0.0, -500.0], [1e4, 4.0, 10.0, 1.0]),
                    xtol=1e-12,
                    ftol=1e-12,
                )
                if best is None or fit.cost < best.cost:
                    best = fit
        assert best is not None
        b, c, d, e = (float(value) for value in best.x)
        return cls(b, c, d * top, e)


def _magic(tan: Floats, b: float, c: float, d: float, e: float) -> Floats:
    """Return Pacejka's formula at tan(phi)."""
    slope = b * tan
    return np.asarray(d * np.sin(c * np.arctan(slope - e * (slope - np.arctan(slope)))))


def _halves(slip_angle: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return |phi| and sgn(phi), of any shape; raise ModelError for NaN or angles beyond pi/2."""
    phi = np.asarray(slip_angle, dtype=np.float64)
    if not np.all(np.abs(phi) <= 0.5 * np.pi):
        raise ModelError(
            "slip_angle",
            "an angle that is NaN or larger than pi/2 in size",
            "angles from -pi/2 to pi/2 [rad]",
            "a wheel that rolls backwards has its leading edge at the other end.",
            "use the angle arctan2(h, |g|), and the sign of g on the moment.",
        )
    return np.abs(phi), np.sign(phi)


def _tan(angle: Floats) -> Floats:
    """Return tan, bounded away from zero for its inverse; the sign makes y zero."""
    return np.asarray(np.maximum(np.tan(angle), 1e-150))


def _cot(angle: Floats) -> Floats:
    return np.asarray(1.0 / np.tan(angle))
