"""Presliding laws: bristles that deflect elastically before they slip, without set-valued stick.

The state z [m] is the deflection of a contact; the friction force is N (sigma0 z + ...) with the
normal force N. Under varying loads far below the friction force the laws of Dahl, Bouc-Wen and
LuGre creep; the elasto-plastic law does not, below a given deflection. w is the slip rate. These
laws are solved by `Radau` and `ThetaStepper`.

Formulas `answer` take x = (w, z), the signs s of the switching functions and the parameters p, and
write the nine entries of a `friction.Response` to `out`: coefficient, its derivatives by w and by
z, dz/dt, its derivatives by w and by z, stored energy over N, its rate, irreversible slip rate.
Formulas of steady slip take the slip speed v >= 0, z (not used) and p. p holds the fields of the
law in order; the last one, the initial deflection, is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Finite, NonNegative, Positive
from stiction.errors import ModelError
from stiction.laws.friction import ForceLaw, Formulas, Friction, StateVariable, check_order
from stiction.numerics.checks import Numbers

__all__ = ["BoucWen", "Dahl", "ElastoPlastic", "LuGre"]

Floats = npt.NDArray[np.float64]

_TRY, _WHY_MU = (
    "give one number for all contacts, or one per contact.",
    "friction dissipates energy only if its coefficient is positive.",
)
_MU = Positive("1", _WHY_MU, _TRY, per="contact")
_STIFFNESS = Positive("1/m", "a contact is an elastic spring before it slips.", _TRY, per="contact")
_DAMPING = NonNegative(
    "s/m", "negative damping of the bristles would create energy.", _TRY, per="contact"
)
_VISCOUS = NonNegative("s/m", "negative viscous friction would create energy.", _TRY, per="contact")
_V_SCALE = Positive(
    "m/s",
    "friction decreases over this slip speed; a speed of zero would be a jump.",
    _TRY,
    per="contact",
)
_START = Finite("m", "a contact has this deflection at the start.", _TRY, per="contact")
_POWER = Choice(
    (1.0, 2.0), "a fractional power has a branch point at the deflection of steady slip.", "give 1."
)
_CURVE = Choice(
    (2.0, 1.0),
    "a fractional power of |w| is not smooth at zero slip rate.",
    "give 2 for the Gaussian curve, or 1 for the exponential one.",
)
_ELASTIC_SHARE = Positive(
    "1",
    "a contact yields from this fraction of the deflection of steady slip on.",
    "give 0.7, for example.",
    per="contact",
    below=1.0,
)
_DEFLECTION = (StateVariable("deflection", "m", "elastic deflection of each contact"),)


def _no_slope(v: Any, z: Any, p: Any) -> Any:
    return 0.0 * v


class _Deflecting(ForceLaw):
    """Base class of the four laws: one state, the deflection, with a stiffness and a limit."""

    states: ClassVar[tuple[StateVariable, ...]] = _DEFLECTION

    def creep_length(self, p: Sequence[Floats]) -> Floats | None:
        """Return the deflection at the onset of slip [m]."""
        formulas = self.formulas
        level = (formulas.static or formulas.mu)(0.0 * p[0], None, p)
        return np.asarray(level / p[0])

    def slip_scale(self, p: Sequence[Floats]) -> Floats:
        """Return the deflection at the onset of slip [m]."""
        return np.asarray(self.creep_length(p))

    def state_scale(self, p: Sequence[Floats]) -> Floats:
        """Return the deflection at the onset of slip [m]."""
        return np.asarray(self.creep_length(p))


# ---- Dahl


def _switch_of_slip(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the switching function: the slip rate."""
    out[0] = x[0]


def _put(out: Any, entries: Any) -> None:
    """Write the entries of a `Response`: coefficient, its derivatives by w and z, dz/dt, ..."""
    for j in range(len(entries)):
        out[j] = entries[j]


def _dahl_level(v: Any, z: Any, p: Any) -> Any:
    """Return the coefficient mu of steady slip."""
    return p[1] + 0.0 * v


def _dahl(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the response for dz/dt = w left^power, with left = 1 - sigma0 z sgn(w) / mu."""
    w, z, sigma, mu, power = x[0], x[1], p[0], p[1], p[2]
    left = 1.0 - s[0] * sigma * z / mu
    size = np.abs(left) ** (power - 1.0)
    part, slope = left * size, power * size * (-s[0] * sigma / mu)
    rate = w * part
    derivatives = 0.0 * w, sigma, rate, part, w * slope
    _put(out, (sigma * z, *derivatives, 0.5 * sigma * z * z, sigma * z * rate, w - rate))


@dataclass(frozen=True, eq=False, repr=False)
class Dahl(_Deflecting):
    """Dahl's law: dz/dt = w (1 - sigma0 z sgn(w) / mu)^power, friction N sigma0 z.

    The force is a function of slip alone, not of time: the law has no viscosity and no
    Stribeck effect. It approaches N mu asymptotically.

    Parameters
    ----------
    sigma0 : stiffness of the contacts over the normal force [1/m], a number or one per contact
    mu : coefficient of steady slip [1]
    power : 1 (the usual one) or 2; others have a branch point at mu
    deflection_start : initial z [m]; |sigma0 z| <= mu

    Source: Dahl 1968, TOR-0158(3107-18).
    Verified by: tests/unit/laws/test_presliding.py::test_dahl_against_its_closed_form
    """

    sigma0: Annotated[Numbers, _STIFFNESS]
    mu: Annotated[Numbers, _MU]
    power: Annotated[float, _POWER] = 1.0
    deflection_start: Annotated[Numbers, _START] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _within(self, np.asarray(self.mu) / np.asarray(self.sigma0))

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a law of power 1, and one of power 2 with parameters for each contact."""
        return cls(1e4, 0.3), cls([1e4, 2e4, 5e3], [0.3, 0.2, 0.4], 2, [0.0, 5e-6, -2e-5])

    @property
    def formulas(self) -> Formulas:
        """The coefficient of steady slip."""
        return Formulas(mu=_dahl_level, slope=_no_slope, answer=_dahl, switches=_switch_of_slip)


def _within(law: Any, most: Floats) -> None:
    """Raise an error if the initial deflection exceeds that of steady slip."""
    start = np.abs(np.asarray(law.deflection_start))
    if np.any(start > most * (1.0 + 1e-12)):
        where = f"{type(law).__name__}.deflection_start"
        needs = f"at most {float(np.max(most)):g} m in size"
        why = "at a larger deflection the contact slips already."
        raise ModelError(
            where, law.deflection_start, needs, why, "leave this value out to start at 0."
        )


# ---- LuGre and the elasto-plastic model, with a Stribeck curve


def _curve(v: Any, p: Any) -> Any:
    """Return g = mu_k + (mu_s - mu_k) exp(-(v / v_scale)^power) and dg/dv at speed v >= 0."""
    power = p[POWER]
    x = v / p[SCALE]
    drop = (p[STATIC] - p[KINETIC]) * np.exp(-np.where(power == 1.0, x, x * x))
    slope = -drop * np.where(power == 1.0, 1.0, 2.0 * x) / p[SCALE]
    return p[KINETIC] + drop, slope


# indices of the parameters in formulas of LuGre and, with BREAK, of the elasto-plastic law
SIGMA, SIGMA1, SIGMA2, STATIC, KINETIC, SCALE, POWER, BREAK = range(8)


def _steady(v: Any, z: Any, p: Any) -> Any:
    """Return the coefficient g(v) + sigma2 v of steady slip."""
    return _curve(v, p)[0] + p[SIGMA2] * v


def _steady_slope(v: Any, z: Any, p: Any) -> Any:
    return _curve(v, p)[1] + p[SIGMA2]


def _bristles(x: Any, p: Any, y: Any, y_w: Any, y_z: Any, out: Any) -> None:
    """Write the response where dz/dt = w - y, given y and its derivatives y_w, y_z by w and z.

    The coefficient is sigma0 z + sigma1 dz/dt + sigma2 w.
    """
    w, z, sigma, sigma1 = x[0], x[1], p[SIGMA], p[SIGMA1]
    rate, rate_w = w - y, 1.0 - y_w
    force = sigma * z + sigma1 * rate + p[SIGMA2] * w
    derivatives = sigma1 * rate_w + p[SIGMA2], sigma - sigma1 * y_z, rate, rate_w, -y_z
    _put(out, (force, *derivatives, 0.5 * sigma * z * z, sigma * z * rate, y))


def _lugre(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the response for y = sigma0 |w| z / g(w); `side` is the sign of w."""
    w, side = x[0], s[0]
    g, slope = _curve(side * w, p)
    ratio = p[SIGMA] * x[1] / g
    y_w = side * ratio * (1.0 - side * w * slope / g)
    _bristles(x, p, side * w * ratio, y_w, side * w * p[SIGMA] / g, out)


def _elasto_plastic(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the response for y = alpha(z, w) sigma0 |w| z / g(w).

    The signs s are those of w, z, |z| - low and |z| - high, with the elastic deflection `low` and
    that of steady slip, `high`. alpha = (1 + sin(turn)) / 2 between the two.
    """
    w, z, side, r = x[0], x[1], s[0], s[1]
    g, slope = _curve(side * w, p)
    low, high = p[BREAK] * p[KINETIC] / p[SIGMA], g / p[SIGMA]
    high_w = side * slope / p[SIGMA]
    turn = np.pi * ((r * z - 0.5 * (high + low)) / (high - low))
    by_turn = 0.5 * np.cos(turn)
    turn_z = np.pi * r / (high - low)
    turn_w = -(0.5 * np.pi + turn) / (high - low) * high_w
    # loading (w and z have one sign) beyond the elastic deflection; `mixed` up to steady slip
    yields = (side == r) & (s[2] > 0.0)
    mixed = yields & (s[3] < 0.0)
    alpha = np.where(mixed, 0.5 * (1.0 + np.sin(turn)), np.where(yields, 1.0, 0.0))
    alpha_z, alpha_w = (
        np.where(mixed, by_turn * turn_z, 0.0),
        np.where(mixed, by_turn * turn_w, 0.0),
    )
    ratio = side * p[SIGMA] * z / g
    ratio_w = -ratio * side * slope / g
    y_w = alpha * ratio + w * (alpha_w * ratio + alpha * ratio_w)
    y_z = w * (alpha_z * ratio + alpha * side * p[SIGMA] / g)
    _bristles(x, p, alpha * w * ratio, y_w, y_z, out)


def _elastic_switches(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the switching functions: w, z, |z| relative to the elastic and the full deflection."""
    out[0], out[1] = x[0], x[1]
    out[2] = np.abs(x[1]) - p[BREAK] * p[KINETIC] / p[SIGMA]
    out[3] = np.abs(x[1]) - _curve(np.abs(x[0]), p)[0] / p[SIGMA]


class _Bristles(_Deflecting):
    """Base class of both bristle laws: phi = sigma0 z + sigma1 dz/dt + sigma2 w."""

    sigma0: Numbers
    mu_static: Numbers
    mu_kinetic: Numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "the Stribeck curve decreases from the static to the kinetic coefficient."
        check_order(self, "mu_static", "mu_kinetic", why)
        _within(self, np.asarray(self.mu_static) / np.asarray(self.sigma0))

    def fast_coefficient(self, n: int) -> Floats:
        """Return the kinetic coefficient [1]."""
        return self._spread("mu_kinetic", n)

    def speed_scale(self, n: int) -> Floats:
        """Return Stribeck's speed [m/s]."""
        return self._spread("v_scale", n)

    def range_of_fall(self, n: int) -> Floats | None:
        """Return the speed at which the Stribeck curve has decayed to exp(-25) [m/s]."""
        gaussian = self._spread("power", n) == 2.0
        return np.where(gaussian, 5.0, 25.0) * self._spread("v_scale", n)

    def passive_below(self) -> float:
        """Return sigma1 (mu_s / mu_k - 1) - sigma2 [s/m], at most 0 if the law is passive.

        A law is passive if it never releases more energy than was stored. Bristles deflected beyond
        the steady deflection of the present speed release more if
        w^2 (sigma1 (sigma0 |z| / g - 1) - sigma2) > |w| g (sigma0 z / g)^2. This is impossible if
        sigma1 (mu_static / mu_kinetic - 1) <= sigma2.

        Source: Barabanov, Ortega 2000, IEEE Trans. Autom. Control 45, 830.
        Verified by: tests/unit/laws/test_presliding.py::test_passive_bristles_give_nothing_back
        """
        ratio = np.asarray(self.mu_static) / np.asarray(self.mu_kinetic) - 1.0
        sigma1, sigma2 = getattr(self, "sigma1"), getattr(self, "sigma2")  # noqa: B009
        return float(np.max(np.asarray(sigma1) * ratio - np.asarray(sigma2)))


@dataclass(frozen=True, eq=False, repr=False)
class LuGre(_Bristles):
    """The LuGre law (Lund, Grenoble): damped elastic bristles with a Stribeck curve.

    dz/dt = w - sigma0 |w| z / g(w), g = mu_k + (mu_s - mu_k) exp(-|w / v_scale|^power), friction
    N (sigma0 z + sigma1 dz/dt + sigma2 w).

    Parameters
    ----------
    sigma0 : stiffness of the bristles over the normal force [1/m], a number or one per contact
    sigma1 : damping of the bristles [s/m]
    sigma2 : viscous friction [s/m]
    mu_static, mu_kinetic : coefficients [1]
    v_scale : Stribeck's speed [m/s]
    power : 2, the Gaussian curve, or 1
    deflection_start : initial z [m]

    Source: Canudas de Wit, Olsson, Astrom, Lischinsky 1995, IEEE Trans. Autom. Control 40, 419.
    Verified by: tests/unit/laws/test_presliding.py::test_lugre_at_constant_speed
    """

    sigma0: Annotated[Numbers, _STIFFNESS]
    sigma1: Annotated[Numbers, _DAMPING]
    sigma2: Annotated[Numbers, _VISCOUS]
    mu_static: Annotated[Numbers, _MU]
    mu_kinetic: Annotated[Numbers, _MU]
    v_scale: Annotated[Numbers, _V_SCALE]
    power: Annotated[float, _CURVE] = 2.0
    deflection_start: Annotated[Numbers, _START] = 0.0

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return the parameters of the source, for a mass of 1 kg, and three different contacts."""
        paper = cls(1e4, 31.6, 0.04, 0.15, 0.1, 1e-3)
        each = cls([1e4, 3e4, 1e3], 10.0, 0.1, [0.3, 0.2, 0.4], 0.2, 0.01, 1, [0.0, 1e-6, -1e-4])
        return paper, each

    @property
    def formulas(self) -> Formulas:
        """Steady slip: g(v) + sigma2 v."""
        return Formulas(_steady, _steady_slope, answer=_lugre, switches=_switch_of_slip)


@dataclass(frozen=True, eq=False, repr=False)
class ElastoPlastic(_Bristles):
    """The elasto-plastic law of Dupont et al.: LuGre without creep below an elastic deflection.

    dz/dt = w (1 - alpha(z, w) sigma0 z sgn(w) / g(w)). On loading, alpha is 0 where |z| is below
    the elastic deflection `elastic_share` mu_kinetic / sigma0, 1 beyond the deflection of steady
    slip, and half a sine wave in between. On unloading alpha is 0.

    Parameters
    ----------
    sigma0, sigma1, sigma2, mu_static, mu_kinetic, v_scale, power, deflection_start : as of `LuGre`
    elastic_share : deflection below which bristles are elastic, over mu_kinetic / sigma0;
        between 0 and 1, exclusive

    Source: Dupont, Hayward, Armstrong, Altpeter 2002, IEEE Trans. Autom. Control 47, 787.
    Verified by: tests/unit/laws/test_presliding.py::test_elastic_contacts_do_not_creep
    """

    n_switch: ClassVar[int] = 4

    sigma0: Annotated[Numbers, _STIFFNESS]
    sigma1: Annotated[Numbers, _DAMPING]
    sigma2: Annotated[Numbers, _VISCOUS]
    mu_static: Annotated[Numbers, _MU]
    mu_kinetic: Annotated[Numbers, _MU]
    v_scale: Annotated[Numbers, _V_SCALE]
    power: Annotated[float, _CURVE] = 2.0
    elastic_share: Annotated[Numbers, _ELASTIC_SHARE] = 0.7
    deflection_start: Annotated[Numbers, _START] = 0.0

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return the parameters of the LuGre paper, and three different contacts."""
        paper = cls(1e4, 31.6, 0.04, 0.15, 0.1, 1e-3)
        each = cls([1e4, 3e4, 1e3], 10.0, 0.1, [0.3, 0.2, 0.4], 0.2, 0.01, 1, [0.5, 0.7, 0.9])
        return paper, each

    @property
    def formulas(self) -> Formulas:
        """Steady slip: g(v) + sigma2 v."""
        return Formulas(
            mu=_steady, slope=_steady_slope, answer=_elasto_plastic, switches=_elastic_switches
        )


# ---- Bouc and Wen


def _bouc_level(v: Any, z: Any, p: Any) -> Any:
    """Return the coefficient sigma0 (a / (beta + gamma))^(1/power) of steady slip."""
    return p[0] * (p[1] / (p[2] + p[3])) ** (1.0 / p[4]) + 0.0 * v


def _bouc_wen(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the response for dz/dt of `BoucWen`, with the signs `side` of w and r of z."""
    w, z, side, r = x[0], x[1], s[0], s[1]
    sigma, a, beta, gamma, power = p[0], p[1], p[2], p[3], p[4]
    size = r * z
    # |z|^(power-1) z and |z|^power with fixed signs
    odd, odd_z = r * size**power, power * size ** (power - 1.0)
    rate = a * w - beta * side * w * odd - gamma * w * r * odd
    by_speed = a - beta * side * odd - gamma * r * odd
    derivatives = 0.0 * w, sigma, rate, by_speed, -(beta * side + gamma * r) * w * odd_z
    # |gamma| <= beta: the dissipation is not negative
    _put(
        out, (sigma * z, *derivatives, 0.5 * sigma * z * z / a, sigma * z * rate / a, w - rate / a)
    )


def _switches_of_both(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the switching functions: slip rate and deflection."""
    out[0], out[1] = x[0], x[1]


@dataclass(frozen=True, eq=False, repr=False)
class BoucWen(_Deflecting):
    """Bouc-Wen law: dz/dt = a w - beta |w| |z|^(power-1) z - gamma w |z|^power.

    Friction is N sigma0 z. z tends to (a / (beta + gamma))^(1/power) in steady slip.

    Parameters
    ----------
    sigma0 : stiffness over the normal force [1/m], a number or one per contact
    a : dz/dw at z = 0 [1]
    beta, gamma : shape of the loop [1/m^power]; |gamma| <= beta, or a loop creates energy
    power : 1 or 2; larger powers would approach a spring with a Coulomb slider
    deflection_start : initial z [m]

    Source: Bouc 1967; Wen 1976, J. Eng. Mech. Div. 102, 249; Erlicher, Point 2004 for |gamma|.
    Verified by: tests/unit/laws/test_presliding.py::test_bouc_wen_against_its_closed_form
    """

    n_switch: ClassVar[int] = 2

    sigma0: Annotated[Numbers, _STIFFNESS]
    a: Annotated[
        Numbers, Positive("1", "the deflection grows with slip: dz/dw = a.", _TRY, per="contact")
    ]
    beta: Annotated[
        Numbers, Positive("1/m^power", "beta limits the deflection in slip.", _TRY, per="contact")
    ]
    gamma: Annotated[
        Numbers, Finite("1/m^power", "gamma shapes the hysteresis loop.", _TRY, per="contact")
    ]
    power: Annotated[float, _POWER] = 1.0
    deflection_start: Annotated[Numbers, _START] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.abs(np.asarray(self.gamma)) > np.asarray(self.beta)):
            got, needs = f"{self.gamma} with beta = {self.beta}", "|gamma| <= beta"
            why = "with |gamma| > beta a small cycle of slip gives back more energy than it took."
            try_ = "give gamma = 0, or gamma = beta for elastic unloading."
            raise ModelError("BoucWen.gamma", got, needs, why, try_)
        if np.any(np.asarray(self.beta) + np.asarray(self.gamma) <= 0.0):
            got, needs = f"beta = {self.beta}, gamma = {self.gamma}", "beta + gamma > 0"
            why = "with beta + gamma <= 0 friction has no finite limit in steady slip."
            raise ModelError("BoucWen.gamma", got, needs, why, "give a larger gamma.")
        level = np.asarray(self.a) / (np.asarray(self.beta) + np.asarray(self.gamma))
        _within(self, level ** (1.0 / self.power))

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a law of power 1, and a law of power 2 with parameters of three contacts."""
        one = cls(1e4, 1.0, 2e4, 1e4)
        return one, cls([1e4, 5e3, 2e4], 0.9, 1e9, [1e9, 0.0, -5e8], 2, [0.0, 1e-5, -2e-5])

    @property
    def formulas(self) -> Formulas:
        """The coefficient of steady slip."""
        return Formulas(
            mu=_bouc_level, slope=_no_slope, answer=_bouc_wen, switches=_switches_of_both
        )
