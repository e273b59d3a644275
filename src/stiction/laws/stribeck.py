"""Laws by the names they have in tribology: Stribeck's curve, and contacts that age at rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, NonNegative, Positive
from stiction.errors import ModelError
from stiction.laws.friction import Formulas, Friction, StateVariable
from stiction.numerics.checks import Numbers
from stiction.numerics.jit import native

__all__ = ["AgeingCoulomb", "RestingCoulomb", "Stribeck"]

Floats = npt.NDArray[np.float64]
# e to this power is near the least number
_LEAST = -700.0

_TRY, _WHY_MU = "give one number.", "it is a coefficient of friction, which takes energy out."
_MU = NonNegative("1", _WHY_MU, _TRY, per="contact")
_V_SCALE = Positive("m/s", "friction falls over this slip speed.", _TRY, per="contact")
_VISCOUS = NonNegative("s/m", "a film resists more when it is faster.", _TRY, per="contact")
_WHY_POWER = "any other power has no series at rest, where its derivatives have no bound."
_POWER = Choice((1.0, 2.0), _WHY_POWER, "give 2.")
_GROWTH = NonNegative("1", "contacts that rest hold no less.", _TRY, per="contact")
_TIME = Positive("s", "a logarithm needs a time to begin at.", _TRY, per="contact")
_RESTED = NonNegative("s", "contacts have rested for so long.", _TRY, per="contact")

# the fields in their order, as formulas read them
STATIC, KINETIC, SCALE, POWER, VISCOUS = range(5)
KEPT, GROWTH, TIME, LENGTH = range(4)
SLIDING, HELD, RISE, SINCE = range(4)


@native("numpy:exp")
def _exp(x: Any) -> Any:
    """Return e to the power x: of one number by the C library, as compiled code does."""
    if np.ndim(x) > 0:
        return np.exp(x)
    return math.exp(x) if x > _LEAST else 0.0


@native("numpy:log1p")
def _log1p(x: Any) -> Any:
    """Return ln(1 + x): of one number by the C library, as compiled code does."""
    return np.log1p(x) if np.ndim(x) > 0 else math.log1p(x)


# ---- Stribeck's curve


def _mu(v: Any, z: Any, p: Any) -> Any:
    x = v / p[SCALE]
    # p[POWER] is 1 or 2: x, or its square
    y = x * (1.0 + (p[POWER] - 1.0) * (x - 1.0))
    return p[KINETIC] + (p[STATIC] - p[KINETIC]) * _exp(-y) + p[VISCOUS] * v


def _mu_slope(v: Any, z: Any, p: Any) -> Any:
    x = v / p[SCALE]
    y = x * (1.0 + (p[POWER] - 1.0) * (x - 1.0))
    by_x = 1.0 + (p[POWER] - 1.0) * (2.0 * x - 1.0)
    return p[VISCOUS] - (p[STATIC] - p[KINETIC]) / p[SCALE] * by_x * _exp(-y)


def _mu_static(v: Any, z: Any, p: Any) -> Any:
    return p[STATIC]


@dataclass(frozen=True, eq=False, repr=False)
class Stribeck(Friction):
    """Stribeck's curve: mu_k + (mu_s - mu_k) exp(-(|v| / v_scale)^power) + viscous |v|.

    Friction falls from its static value as a film forms, and rises with its viscosity. Stick is
    exact: at rest the coefficient is mu_static.

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
        if np.any(np.asarray(self.mu_static) < np.asarray(self.mu_kinetic)):
            got, needs = f"{self.mu_static} below {self.mu_kinetic}", "mu_static >= mu_kinetic"
            why = "Stribeck's curve falls from rest."
            raise ModelError("Stribeck.mu_static", got, needs, why, "exchange them.")

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a Gaussian curve, an exponential one, and one with numbers for each contact."""
        each = cls([0.4, 0.3, 0.3], [0.25, 0.3, 0.0], [0.1, 0.01, 2.0], 2, [0.0, 0.1, 0.02])
        return cls(0.4, 0.25, 0.1), cls(0.4, 0.25, 0.1, 1, 0.05), each

    @property
    def formulas(self) -> Formulas:
        """The curve and its slope; methods of series fit it by its values."""
        return Formulas(mu=_mu, slope=_mu_slope, static=_mu_static)

    def speed_scale(self, n: int) -> Floats:
        """Return Stribeck's speed [m/s]."""
        return self._spread("v_scale", n)


# ---- contacts that age at rest


def _aged(v: Any, z: Any, p: Any) -> Any:
    return p[KEPT] + p[GROWTH] * _log1p(z[0] / p[TIME])


def _flat(v: Any, z: Any, p: Any) -> Any:
    return 0.0


def _by_age(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = p[GROWTH] / (p[TIME] + z[0])


def _age_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = 1.0 - v * z[0] / p[LENGTH]


def _age_rate_by_speed(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -z[0] / p[LENGTH]


def _age_rate_by_age(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = -v / p[LENGTH]


@dataclass(frozen=True, eq=False, repr=False)
class AgeingCoulomb(Friction):
    """Coulomb friction whose coefficient grows with the logarithm of the time of rest.

    mu = mu_fresh + growth ln(1 + theta / time), d theta / dt = 1 - |v| theta / length: theta is the
    age of the contacts. Stick is exact, and the longer it lasts the more it carries.

    Parameters
    ----------
    mu_fresh : coefficient of fresh contacts [1], a number or one per contact
    growth : of the coefficient per e-fold of time [1]; >= 0
    time : of rest from which on it grows [s]; > 0
    length : slip that renews the contacts [m]; > 0
    age_start : theta at the start [s]; >= 0

    Source: Dieterich 1972; Rabinowicz 1958 for the length of slip.
    Verified by: tests/unit/laws/test_stribeck.py::test_longer_stick_carries_more

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.AgeingCoulomb(mu_fresh=0.3, growth=0.02, time=1.0, length=1e-5)
    >>> round(float(law.static([9.0])), 4)  # after 9 s of rest: 0.3 + 0.02 ln 10
    0.3461
    """

    states: ClassVar[tuple[StateVariable, ...]] = (
        StateVariable("age", "s", "age of the contacts", 0.0),
    )

    mu_fresh: Annotated[Numbers, _MU]
    growth: Annotated[Numbers, _GROWTH]
    time: Annotated[Numbers, _TIME]
    length: Annotated[Numbers, Positive("m", "slip renews contacts.", _TRY, per="contact")]
    age_start: Annotated[Numbers, _RESTED] = 0.0

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return fresh contacts, and three that have rested for different times."""
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


# ---- contacts that are strengthened by rest, and weak again when they slip


def _sliding(v: Any, z: Any, p: Any) -> Any:
    return p[SLIDING]


def _held(v: Any, z: Any, p: Any) -> Any:
    return p[HELD] + p[RISE] * _log1p(z[0] / p[SINCE])


def _by_rest(v: Any, z: Any, p: Any, out: Any) -> None:
    # of friction in slip, which does not know how long the contact had rested
    out[0] = 0.0


def _rest_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = 1.0 - 1.0 * (v > 0.0)


def _no_rate(v: Any, z: Any, p: Any, out: Any) -> None:
    out[0] = 0.0


def _over(event: Any, z: Any, p: Any, out: Any) -> None:
    # a new rest begins, or one has ended
    out[0] = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class RestingCoulomb(Friction):
    """Coulomb friction whose stick carries more with the logarithm of its own duration.

    mu_static = mu_held + growth ln(1 + rest / time), with the rest of this stick alone: any slip
    ends it at once. Slip has the coefficient mu_kinetic. Stick is exact.

    Parameters
    ----------
    mu_kinetic : coefficient in slip [1], a number or one per contact
    mu_held : of stick that has just begun [1]; >= mu_kinetic
    growth : of the static coefficient per e-fold of time [1]; >= 0
    time : of rest from which on it grows [s]; > 0
    rest_start : rest before the start [s]; >= 0

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
        if np.any(np.asarray(self.mu_held) < np.asarray(self.mu_kinetic)):
            got, needs = f"{self.mu_held} below {self.mu_kinetic}", "mu_held >= mu_kinetic"
            why = "what stick cannot hold slips, against less friction."
            raise ModelError("RestingCoulomb.mu_held", got, needs, why, "exchange them.")

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return contacts alike, and three that differ."""
        return cls(0.2, 0.3, 0.02, 0.1), cls([0.3, 0.2, 0.1], [0.3, 0.3, 0.2], 0.05, 1.0, 2.0)

    @property
    def formulas(self) -> Formulas:
        """The law above."""
        return Formulas(
            mu=_sliding,
            slope=_flat,
            static=_held,
            by_state=_by_rest,
            rate=_rest_rate,
            rate_by_speed=_no_rate,
            rate_by_state=_no_rate,
            jump=_over,
        )
