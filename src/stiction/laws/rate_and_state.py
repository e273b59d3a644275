"""Rate-and-state friction: what rocks do at speeds from a plate's to an earthquake's.

The coefficient depends on the slip speed V and on a state theta, the age of the contacts:

    mu = a arsinh(V / (2 V0) exp((mu0 + b ln(V0 theta / L)) / a))

which away from V = 0 is mu0 + a ln(V / V0) + b ln(V0 theta / L), Dieterich's and Ruina's form.
There is no stick: at rest the force is zero, and under a small one contacts creep slowly. Every
direct effect a > 0 makes friction rise with speed at once; whether it falls in the end, and
with it whether even sliding can be unstable, depends on b - a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Numbers, Record, number, numbers

__all__ = ["AgeingLaw", "RateAndState", "SlipLaw"]

Floats = npt.NDArray[np.float64]

# how the state goes on, as kernels read it
AGEING, SLIP = 0, 1


@dataclass(frozen=True, eq=False, repr=False)
class RateAndState(Record):
    """What both laws share; they differ in how the state goes on.

    Parameters
    ----------
    a : direct effect [1], a number or one per cell, > 0
    b : effect of the state [1], a number or one per cell, >= 0
    length : slip L over which contacts are renewed [m], a number or one per cell
    mu0 : coefficient of even sliding at `speed0` [1]
    speed0 : reference speed V0 [m/s]
    regularised : whether mu is the arsinh above, which is odd in V; else its logarithm

    Source: Dieterich 1979; Ruina 1983; Rice and Ben-Zion 1996 for the arsinh.
    """

    evolution: ClassVar[int] = AGEING

    a: Numbers = 0.01
    b: Numbers = 0.015
    length: Numbers = 1e-5
    mu0: Numbers = 0.6
    speed0: float = 1e-6
    regularised: bool = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        rules = {"a": "positive", "b": "nonnegative", "length": "positive", "mu0": "positive"}
        why = "friction of cells is made of it."
        for field, rule in rules.items():
            where, given, try_ = f"{name}.{field}", getattr(self, field), "leave it out."
            clean: object
            if np.ndim(given) == 0:
                clean = number(where, given, rule=rule, why=why, try_=try_)
            else:
                clean = numbers(where, given, per="cell", rule=rule, why=why, try_=try_)
            object.__setattr__(self, field, clean)
        where, why = f"{name}.speed0", "speeds are counted from it."
        number(where, self.speed0, rule="positive", unit="m/s", why=why, try_="give 1e-6.")
        regularised: object = self.regularised
        if not isinstance(regularised, bool):
            got, why = repr(regularised), "mu is one form or the other."
            raise ModelError(explain(f"{name}.regularised", got, "a bool", why, "leave it out."))

    def spread(self, n: int) -> dict[str, Floats]:
        """Return a, b, length and mu0 as (n,) arrays for so many cells.

        Raises
        ------
        ModelError : if one is a list of another length.
        """
        found = {}
        for field in ("a", "b", "length", "mu0"):
            values = np.asarray(getattr(self, field), dtype=np.float64)
            if values.ndim and values.size != n:
                got, needs = f"{values.size} numbers", f"one number, or one per cell: {n}"
                where, why = f"{type(self).__name__}.{field}", "every cell has its own."
                raise ModelError(explain(where, got, needs, why, "give one number."))
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
        """Return theta = L / V [s], which even sliding tends to."""
        return np.asarray(np.asarray(self.length) / np.abs(np.asarray(v, dtype=np.float64)))

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return theta [s] after sliding at constant speed `v` for `t` [s], in closed form."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class AgeingLaw(RateAndState):
    """Contacts age while they rest: d theta / dt = 1 - V theta / L.

    Source: Dieterich 1979; the name and form after Ruina 1983.
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps
    """

    evolution: ClassVar[int] = AGEING

    def state_rate(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return 1 - V theta / L [1]."""
        speed, length = np.abs(np.asarray(v, dtype=np.float64)), np.asarray(self.length)
        return np.asarray(1.0 - speed * np.asarray(theta) / length)

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return L/V + (theta - L/V) exp(-V t / L), and theta + t at rest."""
        start, t = np.asarray(theta, dtype=np.float64), np.asarray(t, dtype=np.float64)
        if v == 0.0:
            return np.asarray(start + t)
        steady = self.steady_state(v)
        return np.asarray(steady + (start - steady) * np.exp(-abs(v) * t / np.asarray(self.length)))


@dataclass(frozen=True, eq=False, repr=False)
class SlipLaw(RateAndState):
    """Contacts change only while they slip: d theta / dt = -(V theta / L) ln(V theta / L).

    Source: Ruina 1983.
    Verified by: tests/unit/laws/test_rate_and_state.py::test_velocity_steps
    """

    evolution: ClassVar[int] = SLIP

    def state_rate(self, v: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
        """Return -(V theta / L) ln(V theta / L) [1]; nothing at rest."""
        speed, length = np.abs(np.asarray(v, dtype=np.float64)), np.asarray(self.length)
        part = speed * np.asarray(theta, dtype=np.float64) / length
        return np.asarray(-part * np.log(np.where(part > 0.0, part, 1.0)))

    def state_after(self, v: float, theta: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
        """Return L/V (V theta / L)^exp(-V t / L), and theta at rest."""
        start, t = np.asarray(theta, dtype=np.float64), np.asarray(t, dtype=np.float64)
        if v == 0.0:
            return np.asarray(start + 0.0 * t)
        steady = self.steady_state(v)
        return np.asarray(
            steady * (start / steady) ** np.exp(-abs(v) * t / np.asarray(self.length))
        )
