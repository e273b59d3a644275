"""Set-valued friction laws of tribology: the Stribeck curve, and ageing of contacts in stick.

`Stribeck` has no state: mu = mu_k + (mu_s - mu_k) exp(-(|v| / v_scale)^power) + viscous |v| at slip
speed |v|. `AgeingCoulomb` and `RestingCoulomb` have one, the age theta of the contacts or the
duration of stick, with whose logarithm the coefficient grows; `ThetaStepper` integrates it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, NonNegative, Positive
from stiction.laws.friction import Formulas, Friction, StateVariable, check_order
from stiction.numerics.checks import Numbers
from stiction.numerics.jit import native

__all__ = ["AgeingCoulomb", "RestingCoulomb", "Stribeck"]

Floats = npt.NDArray[np.float64]
# exponent of the smallest number
_LEAST = -700.0

_TRY, _WHY_MU = (
    "give one number for all contacts, or one per contact.",
    "a negative coefficient of friction would create energy.",
)
_MU = NonNegative("1", _WHY_MU, _TRY, per="contact")
_V_SCALE = Positive(
    "m/s",
    "friction decreases over this slip speed; a speed of zero would be a jump.",
    _TRY,
    per="contact",
)
_VISCOUS = NonNegative("s/m", "negative viscous friction would create energy.", _TRY, per="contact")
_WHY_POWER = "a fractional power of |v| has no Taylor series at zero speed."
_POWER = Choice((1.0, 2.0), _WHY_POWER, "give 2 for the Gaussian curve, 1 for the exponential one.")
_GROWTH = NonNegative("1", "contacts in stick do not weaken with time.", _TRY, per="contact")
_TIME = Positive("s", "the coefficient grows with ln(1 + age / time).", _TRY, per="contact")
_RESTED = NonNegative("s", "the contacts have this age at the start.", _TRY, per="contact")

# indices of the parameters p in the formulas of `Stribeck`, `AgeingCoulomb` and `RestingCoulomb`.
# Formulas are functions of the slip speed v [m/s], the states z and p, see `friction.Formulas`
STATIC, KINETIC, SCALE, POWER, VISCOUS = range(5)
FRESH, GROWTH, TIME, LENGTH = range(4)
SLIDING, HELD, RISE, SINCE = range(4)


@native("numpy:exp")
def _exp(x: Any) -> Any:
    """Return e to the power x: for one number by the C library, as in compiled code."""
    if np.ndim(x) > 0:
        return np.exp(x)
    return math.exp(x) if x > _LEAST else 0.0


@native("numpy:log1p")
def _log1p(x: Any) -> Any:
    """Return ln(1 + x): for one number by the C library, as in compiled code."""
    return np.log1p(x) if np.ndim(x) > 0 else math.log1p(x)


# ---- Stribeck's curve


def _mu(v: Any, z: Any, p: Any) -> Any:
    """Return mu_k + (mu_s - mu_k) exp(-x^power) + viscous v, with x = v / v_scale."""
    x = v / p[SCALE]
    # p[POWER] is 1 or 2: x, or its square
    y = x * (1.0 + (p[POWER] - 1.0) * (x - 1.0))
    return p[KINETIC] + (p[STATIC] - p[KINETIC]) * _exp(-y) + p[VISCOUS] * v


def _mu_slope(v: Any, z: Any, p: Any) -> Any:
    """Return d mu / dv [s/m]; `by_x` is the derivative of x^power by x."""
    x = v / p[SCALE]
    y = x * (1.0 + (p[POWER] - 1.0) * (x - 1.0))
    by_x = 1.0 + (p[POWER] - 1.0) * (2.0 * x - 1.0)
    return p[VISCOUS] - (p[STATIC] - p[KINETIC]) / p[SCALE] * by_x * _exp(-y)


def _mu_static(v: Any, z: Any, p: Any) -> Any:
    return p[STATIC]


@dataclass(frozen=True, eq=False, repr=False)
class Stribeck(Friction):
    """Stribeck's curve: mu_k + (mu_s - mu_k) exp(-(|v| / v_scale)^power) + viscous |v|.

    Friction decreases as a lubricant film forms, and increases with its viscosity. Stick is exact,
    with the coefficient mu_static.

    Parameters
    ----------
    mu_static, mu_kinetic : coefficients [1], numbers or one per contact; mu_static >= mu_kinetic
    v_scale : Stribeck's speed [m/s]; > 0
    power : 1 for the exponential curve, 2 for the Gaussian one
    viscous : rise of the coefficient with speed [s/m]; >= 0

    Source: Stribeck 1902; Bo and Pavelescu 1982 (power 1); Armstrong-Helouvry 1991 (power 2).
    Verified by: tests/conformance/test_laws.py::test_slope_is_the_derivative
    """

    mu_static: Annotated[Numbers, _MU]
    mu_kinetic: Annotated[Numbers, _MU]
    v_scale: Annotated[Numbers, _V_SCALE]
    power: Annotated[float, _POWER] = 2.0
    viscous: Annotated[Numbers, _VISCOUS] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "the Stribeck curve decreases from the static to the kinetic coefficient."
        check_order(self, "mu_static", "mu_kinetic", why)

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a Gaussian curve, an exponential one, and one with numbers for each contact."""
        each = cls([0.4, 0.3, 0.3], [0.25, 0.3, 0.0], [0.1, 0.01, 2.0], 2, [0.0, 0.1, 0.02])
        return cls(0.4, 0.25, 0.1), cls(0.4, 0.25, 0.1, 1, 0.05), each

    @property
    def formulas(self) -> Formulas:
        """The curve and its slope; Taylor methods fit its values."""
        return Formulas(mu=_mu, slope=_mu_slope, static=_mu_static)

    def speed_scale(self, n: int) -> Floats:
        """Return Stribeck's speed [m/s]."""
        return self._spread("v_scale", n)


# ---- ageing in stick and slip


def _aged(v: Any, z: Any, p: Any) -> Any:
    """Return mu_fresh + growth ln(1 + theta / time), in stick and slip."""
    return p[FRESH] + p[GROWTH] * _log1p(z[0] / p[TIME])


def _flat(v: Any, z: Any, p: Any) -> Any:
    return 0.0


def _by_age(v: Any, z: Any, p: Any, out: Any) -> None:
    """Write d mu / d theta [1/s]."""
    out[0] = p[GROWTH] / (p[TIME] + z[0])


def _age_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    """Write d theta / dt = 1 - v theta / length [1]; its derivatives follow."""
    out[0] = 1.0 - v * z[0] / p[LENGTH]


def _age_rate_by_speed(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -z[0] / p[LENGTH]


def _age_rate_by_age(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -v / p[LENGTH]


@dataclass(frozen=True, eq=False, repr=False)
class AgeingCoulomb(Friction):
    """Coulomb friction with a coefficient that grows with the logarithm of the age of contacts.

    mu = mu_fresh + growth ln(1 + theta / time), d theta / dt = 1 - |v| theta / length: theta is the
    age of the contacts. Stick is exact, and its bound grows with its duration.

    Parameters
    ----------
    mu_fresh : coefficient of fresh contacts [1], a number or one per contact
    growth : of the coefficient per e-fold of time [1]; >= 0
    time : scale of ageing [s]; > 0
    length : slip over which contacts are renewed [m]; > 0
    age_start : theta at the start [s]; >= 0

    Source: Dieterich 1972; Rabinowicz 1958 for the length of slip.
    Verified by: tests/unit/laws/test_stribeck.py::test_longer_stick_carries_more

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.AgeingCoulomb(mu_fresh=0.3, growth=0.02, time=1.0, length=1e-5)
    >>> round(float(law.static([9.0])), 4)  # after 9 s of stick: 0.3 + 0.02 ln 10
    0.3461
    """

    states: ClassVar[tuple[StateVariable, ...]] = (
        StateVariable("age", "s", "age of the contacts", 0.0),
    )

    mu_fresh: Annotated[Numbers, _MU]
    growth: Annotated[Numbers, _GROWTH]
    time: Annotated[Numbers, _TIME]
    length: Annotated[
        Numbers, Positive("m", "contacts are renewed over this slip.", _TRY, per="contact")
    ]
    age_start: Annotated[Numbers, _RESTED] = 0.0

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a law for fresh contacts, and one for three contacts of different age."""
        return cls(0.3, 0.02, 0.1, 1e-3), cls([0.3, 0.2, 0.1], 0.05, 1.0, 0.01, [0.0, 1.0, 50.0])

    @property
    def formulas(self) -> Formulas:
        """The law above."""
        return Formulas(
            mu=_aged,
            slope=_flat,
            by_state=_by_age,
            rate=_age_rate,
            rate_by_speed=_age_rate_by_speed,
            rate_by_state=_age_rate_by_age,
        )


# ---- ageing in stick alone, reset by slip


def _sliding(v: Any, z: Any, p: Any) -> Any:
    return p[SLIDING]


def _static_at_age(v: Any, z: Any, p: Any) -> Any:
    """Return mu_held + growth ln(1 + rest / time)."""
    return p[HELD] + p[RISE] * _log1p(z[0] / p[SINCE])


def _by_rest(v: Any, z: Any, p: Any, out: Any) -> None:
    # the kinetic coefficient does not depend on the duration of stick
    out[0] = 0.0


def _rest_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    """Write the rate of the duration of stick: 1 in stick, 0 in slip."""
    out[0] = 1.0 - 1.0 * (v > 0.0)


def _no_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = 0.0


def _over(event: Any, z: Any, p: Any, out: Any) -> None:
    # stick begins or ends: reset its duration
    out[0] = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class RestingCoulomb(Friction):
    """Coulomb friction with a static coefficient that grows with the duration of stick.

    mu_static = mu_held + growth ln(1 + rest / time), where `rest` is the duration of the present
    stick; slip resets it. The coefficient in slip is mu_kinetic. Stick is exact.

    Parameters
    ----------
    mu_kinetic : coefficient in slip [1], a number or one per contact
    mu_held : static coefficient at the start of stick [1]; >= mu_kinetic
    growth : of the static coefficient per e-fold of time [1]; >= 0
    time : scale of ageing [s]; > 0
    rest_start : duration of stick before the start [s]; >= 0

    Source: Rabinowicz 1958; Dieterich 1972 for the logarithm.
    Verified by: tests/unit/laws/test_state_jump.py::test_stick_and_slip_in_closed_form

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.RestingCoulomb(mu_kinetic=0.3, mu_held=0.35, growth=0.02, time=1.0)
    >>> round(float(law.static([9.0])), 4), float(law.coefficient(0.1))
    (0.3961, 0.3)
    """

    states: ClassVar[tuple[StateVariable, ...]] = (
        StateVariable("rest", "s", "duration of the present stick", 0.0),
    )
    has_jump: ClassVar[bool] = True

    mu_kinetic: Annotated[Numbers, _MU]
    mu_held: Annotated[Numbers, _MU]
    growth: Annotated[Numbers, _GROWTH]
    time: Annotated[Numbers, _TIME]
    rest_start: Annotated[Numbers, _RESTED] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "the static coefficient is at least the kinetic one."
        check_order(self, "mu_held", "mu_kinetic", why)

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a law for equal contacts, and one for three different ones."""
        return cls(0.2, 0.3, 0.02, 0.1), cls([0.3, 0.2, 0.1], [0.3, 0.3, 0.2], 0.05, 1.0, 2.0)

    @property
    def formulas(self) -> Formulas:
        """The law above."""
        return Formulas(
            mu=_sliding,
            slope=_flat,
            static=_static_at_age,
            by_state=_by_rest,
            rate=_rest_rate,
            rate_by_speed=_no_rate,
            rate_by_state=_no_rate,
            jump=_over,
        )
