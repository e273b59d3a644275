"""Rate-and-state friction of rocks, from plate velocity to seismic slip.

The coefficient depends on the slip speed V and on a state theta, the age of the contacts:

    mu = a arsinh(V / (2 V0) exp((mu0 + b ln(V0 theta / L)) / a))

which away from V = 0 is mu0 + a ln(V / V0) + b ln(V0 theta / L), Dieterich's and Ruina's form.
There is no stick: at zero speed the force is zero, and under a small force contacts creep. The
direct effect a > 0 increases friction with speed immediately; steady-state weakening, and with it
instability of steady sliding, depends on b - a. V0 is a reference speed, mu0 the coefficient of
steady sliding at it, and L the slip over which contacts are renewed. Faults use `AgeingLaw` and
`SlipLaw`; `RateAndStateFriction` is their form for chains, with the state ln(theta / 1 s).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Flag, NonNegative, Part, Positive
from stiction.errors import ModelError
from stiction.laws.friction import ForceLaw, Formulas, Friction, StateVariable
from stiction.numerics.checks import Numbers

__all__ = ["AgeingLaw", "RateAndState", "RateAndStateFriction", "SlipLaw"]

Floats = npt.NDArray[np.float64]

# codes of the evolution laws in kernels
AGEING, SLIP = 0, 1

_WHY, _TRY = (
    "the friction coefficient of every cell depends on this value.",
    "leave this value out for the default.",
)
_LAW = Part(
    "the evolution law gives the rate of the state theta.", _TRY, "AgeingLaw(...) or SlipLaw(...)"
)
_AGE = Positive("s", "the contacts have this age theta at the start.", _TRY, per="mass")
_VISCOUS = NonNegative("s/m", "negative radiation damping would create energy.", _TRY, per="mass")


@dataclass(frozen=True, eq=False, repr=False)
class RateAndState(Declared):
    """Base class of the two laws, which differ in the evolution of the state theta.

    A cell is an element of a fault, or a contact; its parameters may differ from those of others.

    Parameters
    ----------
    a : direct effect [1], a number or one per cell, > 0
    b : effect of the state [1], a number or one per cell, >= 0
    length : slip L over which contacts are renewed [m], a number or one per cell
    mu0 : coefficient of steady sliding at `speed0` [1]
    speed0 : reference speed V0 [m/s]
    regularised : whether mu is the arsinh above, which is odd in V; else its logarithm

    Source: Dieterich 1979; Ruina 1983; Rice and Ben-Zion 1996 for the arsinh.
    """

    evolution: ClassVar[int] = AGEING

    a: Annotated[Numbers, Positive("1", _WHY, _TRY, per="cell")] = 0.01
    b: Annotated[Numbers, NonNegative("1", _WHY, _TRY, per="cell")] = 0.015
    length: Annotated[Numbers, Positive("m", _WHY, _TRY, per="cell")] = 1e-5
    mu0: Annotated[Numbers, Positive("1", _WHY, _TRY, per="cell")] = 0.6
    speed0: Annotated[
        float, Positive("m/s", "mu0 is the coefficient at this slip speed.", "give 1e-6.")
    ] = 1e-6
    regularised: Annotated[
        bool, Flag("mu has the form with arsinh (True) or with ln V (False).", _TRY)
    ] = True

    def spread(self, n: int) -> dict[str, Floats]:
        """Return a, b, length and mu0 as (n,) arrays for n cells.

        Raises
        ------
        ModelError : if one is a list of another length.
        """
        found = {}
        for field in ("a", "b", "length", "mu0"):
            values = np.asarray(getattr(self, field), dtype=np.float64)
            if values.ndim and values.size != n:
                got, needs = f"{values.size} numbers", f"one number, or one per cell: {n}"
                where, why = f"{type(self).__name__}.{field}", "every cell has its own value."
                raise ModelError(where, got, needs, why, "give one number.")
            found[field] = np.full(n, values) if values.ndim == 0 else values.copy()
        return found

    def coefficient(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return mu [1] at slip speed `v` [m/s] and state `theta` [s].

        Verified by: tests/unit/laws/test_rate_and_state.py::test_the_two_forms_agree
        """
        speed, age = np.asarray(v, dtype=np.float64), np.asarray(theta, dtype=np.float64)
        a, b, length, mu0 = (np.asarray(getattr(self, f)) for f in ("a", "b", "length", "mu0"))
        level = mu0 + b * np.log(self.speed0 * age / length)
        with np.errstate(divide="ignore"):
            lift = np.log(np.abs(speed) / self.speed0)
        if not self.regularised:
            return np.asarray(a * lift + level)
        power = lift - np.log(2.0) + level / a
        # asinh(e^p) without an overflow
        low = np.arcsinh(np.exp(np.minimum(power, 0.0)))
        high = np.maximum(power, 0.0)
        high = high + np.log1p(np.sqrt(1.0 + np.exp(-2.0 * high)))
        return np.asarray(np.sign(speed) * a * np.where(power > 0.0, high, low))

    def state_rate(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return d theta / dt [1]."""
        raise NotImplementedError

    def steady_state(self, v: npt.ArrayLike) -> Floats:
        """Return theta = L / V [s] of steady sliding."""
        return np.asarray(np.asarray(self.length) / np.abs(np.asarray(v, dtype=np.float64)))

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return theta [s] after sliding at constant speed `v` for `t` [s], in closed form."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class AgeingLaw(RateAndState):
    """Ageing law: d theta / dt = 1 - V theta / L; contacts age in stick.

    Source: Dieterich 1979; the name and form after Ruina 1983.
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.AgeingLaw(length=1e-5)
    >>> float(law.state_rate(0.0, 1.0))  # at V = 0 the age grows with time
    1.0
    """

    evolution: ClassVar[int] = AGEING

    def state_rate(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return 1 - V theta / L [1]."""
        speed, length = np.abs(np.asarray(v, dtype=np.float64)), np.asarray(self.length)
        return np.asarray(1.0 - speed * np.asarray(theta) / length)

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return L/V + (theta - L/V) exp(-V t / L), and theta + t at V = 0."""
        start, t = np.asarray(theta, dtype=np.float64), np.asarray(t, dtype=np.float64)
        if v == 0.0:
            return np.asarray(start + t)
        steady = self.steady_state(v)
        u = abs(v) * t / np.asarray(self.length)
        # L/V (1 - exp(-u)) without cancellation at small u
        return np.asarray(start * np.exp(-u) - steady * np.expm1(-u))


@dataclass(frozen=True, eq=False, repr=False)
class SlipLaw(RateAndState):
    """Slip law: d theta / dt = -(V theta / L) ln(V theta / L); the state changes in slip only.

    Source: Ruina 1983.
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.SlipLaw(length=1e-5)
    >>> round(float(law.steady_state(1e-6)), 9)  # L / V
    10.0
    """

    evolution: ClassVar[int] = SLIP

    def state_rate(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return -(V theta / L) ln(V theta / L) [1]; zero at V = 0."""
        speed, length = np.abs(np.asarray(v, dtype=np.float64)), np.asarray(self.length)
        part = speed * np.asarray(theta, dtype=np.float64) / length
        return np.asarray(-part * np.log(np.where(part > 0.0, part, 1.0)))

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return L/V (V theta / L)^exp(-V t / L), and theta at V = 0."""
        start, t = np.asarray(theta, dtype=np.float64), np.asarray(t, dtype=np.float64)
        if v == 0.0:
            return np.asarray(start + 0.0 * t)
        steady = self.steady_state(v)
        return np.asarray(
            steady * (start / steady) ** np.exp(-abs(v) * t / np.asarray(self.length))
        )


# ---- the same laws for chains


# indices of the parameters in formulas
A, B, LENGTH, MU0, SPEED0, VISCOUS, SLIPS = range(7)
# largest exponent: its exponential times any slip speed does not overflow
_MOST = 600.0
_LEAST_SPEED = 1e-300


def _answer(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the entries of a `friction.Response`; no energy is stored, all slip is plastic.

    x holds the slip rate w and the state log_age = ln(theta / 1 s), s the sign of w. With
    lift = exp(level / a) / (2 V0), level = mu0 + b ln(V0 theta / L), the coefficient is
    a arsinh(w lift) + viscous w. d log_age / dt is 1 / theta - |w| / L by the ageing law and
    -|w| / L ln(|w| theta / L) by the slip law.
    """
    w, log_age, side = x[0], x[1], s[0]
    level = p[MU0] + p[B] * (np.log(p[SPEED0] / p[LENGTH]) + log_age)
    power = level / p[A]
    bounded = _bounded(power)
    lift = np.exp(bounded) / (2.0 * p[SPEED0])
    root = np.hypot(1.0, w * lift)
    turn = side * w / p[LENGTH]
    older = np.exp(-_bounded(log_age))
    known = np.log(np.maximum(turn, _LEAST_SPEED)) + log_age
    by_slip = p[SLIPS] == 1.0
    # coefficient, and its derivatives by w and by log_age. Beyond the bound of the exponent
    # arsinh(w lift) grows by the exponent
    out[0] = p[A] * (np.arcsinh(w * lift) + (power - bounded) * w * lift / root) + p[VISCOUS] * w
    out[1] = p[A] * lift / root + p[VISCOUS]
    out[2] = p[B] * w * lift / root
    # rate of log_age, and its derivatives by w and by log_age
    out[3] = np.where(by_slip, -turn * known, older - turn)
    out[4] = np.where(by_slip, -(known + 1.0), -1.0) * side / p[LENGTH]
    out[5] = np.where(by_slip, -turn, -older)
    # stored energy, its rate, and the irreversible slip rate
    out[6] = out[7] = 0.0 * w
    out[8] = w


def _bounded(power: Any) -> Any:
    """Return an exponent whose exponential is a finite number."""
    return np.minimum(np.maximum(power, -_MOST), _MOST)


def _switch(x: Any, s: Any, p: Any, out: Any) -> None:
    """Write the switching function: the slip rate."""
    out[0] = x[0]


def _even(v: Any, z: Any, p: Any) -> Any:
    """Return the coefficient mu0 + (a - b) ln(v / V0) + viscous v of steady slip at speed v."""
    with np.errstate(divide="ignore"):
        lift = np.log(np.maximum(v, _LEAST_SPEED) / p[SPEED0])
    return np.maximum(p[MU0] + (p[A] - p[B]) * lift, 0.0) + p[VISCOUS] * v


def _even_slope(v: Any, z: Any, p: Any) -> Any:
    return (p[A] - p[B]) / np.maximum(v, _LEAST_SPEED) + p[VISCOUS]


def _reference(v: Any, z: Any, p: Any) -> Any:
    return p[MU0] + 0.0 * v


@dataclass(frozen=True, eq=False, repr=False)
class RateAndStateFriction(ForceLaw):
    """Rate-and-state friction of the masses of a chain, with their inertia.

    Parameters
    ----------
    law : AgeingLaw or SlipLaw, regularised at V = 0
    age_start : theta at the start [s], a number or one per mass; None for L / V0, steady
        sliding at the reference speed
    viscous : radiation damping over the normal force [s/m]; >= 0. For a fault it is the impedance
        G / (2 c) over the normal stress

    Source: Dieterich 1979; Ruina 1983; Rice 1993 for radiation damping.
    Verified by: tests/unit/chains/regularised/test_rate_and_state.py::test_slider_against_the_fault

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.RateAndStateFriction(st.laws.AgeingLaw(length=1e-5), age_start=10.0)
    >>> law.sticks  # every force moves it, if only a little
    False
    """

    states: ClassVar[tuple[StateVariable, ...]] = (
        StateVariable("log_age", "1", "logarithm of the age of each contact over a second"),
    )

    law: Annotated[RateAndState, _LAW] = dataclasses.field(default_factory=AgeingLaw)
    age_start: Annotated[Numbers | None, _AGE] = None
    viscous: Annotated[Numbers, _VISCOUS] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.law.regularised:
            why = "with inertia the slip rate passes zero, where ln V is not defined."
            where = "RateAndStateFriction.law.regularised"
            raise ModelError(where, False, "True", why, "leave this value out.")

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return the ageing law, and the slip law with an age for each contact."""
        ageing = cls(AgeingLaw(0.01, 0.025, 1e-5))
        return ageing, cls(SlipLaw(0.012, [0.01, 0.02, 0.015], 1e-4), [1.0, 10.0, 1e3], 0.1)

    @property
    def formulas(self) -> Formulas:
        """The coefficient of steady slip, and that at the reference speed."""
        return Formulas(_even, _even_slope, _reference, answer=_answer, switches=_switch)

    def parameters(self, n: int) -> list[Floats]:
        """Return a, b, L, mu0, V0, the viscous part and whether the slip law holds."""
        spread = self.law.spread(n)
        rows = [spread[name] for name in ("a", "b", "length", "mu0")]
        slips = float(self.law.evolution == SLIP)
        rows += [np.full(n, self.law.speed0), self._spread("viscous", n), np.full(n, slips)]
        return rows

    def given(self) -> list[npt.NDArray[Any]]:
        """Return the parameters, numbers if they apply to all contacts."""
        law = self.law
        rows = [np.asarray(getattr(law, name)) for name in ("a", "b", "length", "mu0", "speed0")]
        return [*rows, np.asarray(self.viscous), np.asarray(float(law.evolution == SLIP))]

    def fast_coefficient(self, n: int) -> Floats:
        """Return the coefficient at the reference speed [1]."""
        return self.law.spread(n)["mu0"]

    def speed_scale(self, n: int) -> Floats:
        """Return the reference speed [m/s]."""
        return np.full(n, self.law.speed0)

    def _state(self, state: npt.ArrayLike | None) -> Any:
        if state is not None:
            return super()._state(state)
        age = np.asarray(self.law.length) / self.law.speed0
        return [np.log(age if self.age_start is None else np.asarray(self.age_start))]

    def state_start(self, n: int) -> Floats:
        """Return (1, n) logarithms of the initial age."""
        if self.age_start is None:
            return np.log(self.law.spread(n)["length"] / self.law.speed0)[None]
        return np.log(self._spread("age_start", n))[None]

    def slip_scale(self, p: Sequence[Floats]) -> Floats:
        """Return the slip over which contacts are renewed [m]."""
        return np.asarray(p[LENGTH])

    def least_speed(self, p: Sequence[Floats]) -> Floats | float:
        """Return a speed far below the reference one [m/s]."""
        return np.asarray(1e-10 * p[SPEED0])
