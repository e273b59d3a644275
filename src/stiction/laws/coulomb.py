"""Set-valued Coulomb friction on a line: what a contact can carry at rest and in slip.

A law gives two things: the coefficient that bounds stick, ``mu_static``, and the one
that resists slip, ``mu(v)``. The friction force on a body that slips with velocity v
over its surface is ``-mu(|v|) N sign(v)``; at v = 0 it is any force of size at most
``mu_static N``. Laws are pure: the same slip gives the same answer, always.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Numbers, Record, number, numbers, shape_of, whole

__all__ = [
    "Coulomb",
    "ExponentialWeakening",
    "Friction",
    "FrictionTable",
    "LawKind",
    "RandomCoulomb",
    "StaticKinetic",
    "UserFriction",
]

Floats = npt.NDArray[np.float64]

_WHY_MU = "a negative coefficient would push a body along and create energy."
_TRY_MU = "give a number >= 0, or one per mass; 0 means no friction."


class LawKind(enum.IntEnum):
    """How kernels evaluate mu(v); an integer because compiled code branches on it."""

    CONSTANT = 0
    STATIC_KINETIC = 1
    EXPONENTIAL = 2
    USER = 3


@dataclass(frozen=True, eq=False)
class FrictionTable:
    """A law written out for n contacts, as kernels read it.

    mu(v) = mu_kinetic + (mu_static - mu_kinetic) exp(-|v| / v_scale) for EXPONENTIAL,
    mu_kinetic for v != 0 otherwise; USER calls `function` and `derivative` instead.
    """

    kind: LawKind
    mu_static: Floats
    mu_kinetic: Floats
    v_scale: Floats
    function: Callable[[float], float] | None = None
    derivative: Callable[[float], float] | None = None


class Friction(Record, abc.ABC):
    """A friction law: a static bound for stick, a coefficient for slip."""

    @abc.abstractmethod
    def table(self, n: int) -> FrictionTable:
        """Return the law written out for `n` contacts; raise ModelError on a wrong length."""

    @abc.abstractmethod
    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return the kinetic coefficient mu(|v|) [1] at slip velocity `v` [m/s].

        At v = 0 it is the limit from |v| > 0, which for a law with a jump is below the
        static coefficient.
        """

    @abc.abstractmethod
    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return d mu / d|v| [s/m] at slip velocity `v` [m/s]; at 0 the right derivative."""


@dataclass(frozen=True, eq=False)
class Coulomb(Friction):
    """Coulomb's law with one coefficient, the same at rest and in slip.

    Parameters
    ----------
    mu : coefficient [1], a number or one per contact

    Source: Axioms 14(4) 299, Problem 1 with a constant mu.
    Verified by: tests/conformance/test_laws.py::test_dissipates
    """

    mu: Numbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _coefficient("Coulomb.mu", self.mu))

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts."""
        mu = _spread("Coulomb.mu", self.mu, n)
        return FrictionTable(LawKind.CONSTANT, mu, mu, np.ones(n))

    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return the coefficient, whatever the slip."""
        return np.asarray(np.add(self.mu, np.zeros_like(v, dtype=np.float64)))

    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return zero, whatever the slip."""
        return np.asarray(0.0 * self.coefficient(v))


@dataclass(frozen=True, eq=False)
class RandomCoulomb(Friction):
    """Coulomb's law with a coefficient drawn per contact, uniform in mean +- spread.

    The same seed gives the same coefficients for the same number of contacts.

    Parameters
    ----------
    mu_mean : mean coefficient [1]
    mu_spread : half width of the uniform distribution [1], at most `mu_mean`
    seed : whole number >= 0

    Source: Axioms 14(4) 299, section 10 names randomness in friction as future work.
    Verified by: tests/unit/laws/test_coulomb.py::test_random_is_seeded
    """

    mu_mean: float
    mu_spread: float
    seed: int

    def __post_init__(self) -> None:
        mean = number(
            "RandomCoulomb.mu_mean", self.mu_mean, rule="nonnegative", why=_WHY_MU, try_=_TRY_MU
        )
        spread = number(
            "RandomCoulomb.mu_spread",
            self.mu_spread,
            rule="nonnegative",
            why="it is the half width of a distribution.",
            try_="give a number between 0 and mu_mean.",
        )
        if spread > mean:
            raise ModelError(
                explain(
                    "RandomCoulomb.mu_spread",
                    spread,
                    f"at most mu_mean = {mean}",
                    "a wider spread would draw negative coefficients, which create energy.",
                    "lower mu_spread or raise mu_mean.",
                )
            )
        whole(
            "RandomCoulomb.seed",
            self.seed,
            least=0,
            why="the seed makes a random chain reproducible.",
            try_="give any whole number, such as 1.",
        )

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts; mass 1 takes the first draw."""
        draws = np.random.Generator(np.random.PCG64(self.seed)).random(n)
        mu = self.mu_mean + self.mu_spread * (2.0 * draws - 1.0)
        return FrictionTable(LawKind.CONSTANT, mu, mu, np.ones(n))

    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return the mean coefficient, whatever the slip."""
        return np.full_like(v, self.mu_mean, dtype=np.float64)

    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return zero, whatever the slip."""
        return np.zeros_like(v, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class StaticKinetic(Friction):
    """A static coefficient at rest and a lower kinetic one in slip, with a jump at v = 0.

    Between the two the bare inclusion allows both stick and slip; this law sticks as long
    as it can. The audit of a run says how far that rule was needed
    (`stick_as_long_as_possible`), and where it fails to decide, because the drive touches
    the static bound and turns back, `determinism` has a line `grazing_onset`.

    Parameters
    ----------
    mu_static, mu_kinetic : coefficients [1], numbers or one per contact;
        mu_static >= mu_kinetic

    Source: formulas sheet of the chains paper, section 1c.
    Verified by: tests/unit/laws/test_coulomb.py::test_static_kinetic_jump
    """

    mu_static: Numbers
    mu_kinetic: Numbers

    def __post_init__(self) -> None:
        _check_pair("StaticKinetic", self)

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts."""
        return FrictionTable(
            LawKind.STATIC_KINETIC,
            _spread("StaticKinetic.mu_static", self.mu_static, n),
            _spread("StaticKinetic.mu_kinetic", self.mu_kinetic, n),
            np.ones(n),
        )

    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return the kinetic coefficient, whatever the slip."""
        return np.asarray(np.add(self.mu_kinetic, np.zeros_like(v, dtype=np.float64)))

    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return zero, whatever the slip."""
        return np.asarray(0.0 * self.coefficient(v))


@dataclass(frozen=True, eq=False)
class ExponentialWeakening(Friction):
    """Friction that weakens with slip speed: mu_k + (mu_s - mu_k) exp(-|v| / v_scale).

    Parameters
    ----------
    mu_static, mu_kinetic : coefficients [1] at rest and at high speed, numbers or one per
        contact; mu_static >= mu_kinetic
    v_scale : speed [m/s] at which the difference has fallen to 1/e; > 0

    Source: Axioms 14(4) 299, section 8 (formula lost; the formulas sheet has this form).
    Verified by: tests/conformance/test_laws.py::test_slope_is_the_derivative
    """

    mu_static: Numbers
    mu_kinetic: Numbers
    v_scale: Numbers

    def __post_init__(self) -> None:
        _check_pair("ExponentialWeakening", self)
        single = shape_of(self.v_scale) == ()
        scale = numbers(
            "ExponentialWeakening.v_scale",
            self.v_scale,
            size=1 if single else None,
            rule="positive",
            unit="m/s",
            per="contact, or one for all",
            why="friction weakens over this slip speed; zero would be a jump.",
            try_="give a positive speed, or use StaticKinetic for a jump.",
        )
        object.__setattr__(self, "v_scale", float(scale[0]) if single else scale)

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts."""
        return FrictionTable(
            LawKind.EXPONENTIAL,
            _spread("ExponentialWeakening.mu_static", self.mu_static, n),
            _spread("ExponentialWeakening.mu_kinetic", self.mu_kinetic, n),
            _spread("ExponentialWeakening.v_scale", self.v_scale, n),
        )

    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return mu(|v|)."""
        drop = np.subtract(self.mu_static, self.mu_kinetic)
        weakened = drop * np.exp(-np.abs(v) / np.asarray(self.v_scale))
        return np.asarray(np.add(self.mu_kinetic, weakened))

    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return d mu / d|v|."""
        drop = np.subtract(self.mu_static, self.mu_kinetic)
        scale = np.asarray(self.v_scale)
        return np.asarray(-drop / scale * np.exp(-np.abs(v) / scale))


@dataclass(frozen=True, eq=False)
class UserFriction(Friction):
    """A user's own smooth mu(v), the same for every contact.

    Parameters
    ----------
    function : takes a slip speed >= 0 [m/s] and returns mu [1]; plain Python on floats,
        compiled with Numba when it can be and run as it is otherwise
    slope_function : its derivative d mu / d|v| [s/m]; checked against differences of
        `function` here, so that a wrong sign is found before a run

    Raises
    ------
    ModelError : if mu is negative or not finite, or the derivative disagrees.

    Source: Axioms 14(4) 299, section 2: mu bounded, positive, continuous. An infinite
    slope at v = 0 would lose uniqueness (formulas sheet, section 1b), so it is refused.
    Verified by: tests/unit/laws/test_coulomb.py::test_user_derivative_is_checked
    """

    function: Callable[[float], float]
    slope_function: Callable[[float], float]

    def __post_init__(self) -> None:
        for v in (0.0, 1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0):
            mu, slope = _probe(self.function, v), _probe(self.slope_function, v)
            if not (np.isfinite(mu) and mu >= 0.0 and np.isfinite(slope)):
                raise ModelError(
                    explain(
                        "UserFriction",
                        f"mu = {mu!r} with slope {slope!r} at v = {v} m/s",
                        "a finite mu >= 0 with a finite slope at every speed",
                        "negative friction creates energy, and an infinite slope at rest "
                        "makes the motion non-unique.",
                        "bound the function, for example mu0 - a*v/(v + v0) instead of a root.",
                    )
                )
            step = 1e-6 * max(v, 1e-2)
            low = max(v - step, 0.0)
            difference = (float(self.function(v + step)) - float(self.function(low))) / (
                v + step - low
            )
            scale = max(abs(slope), abs(difference), 1e-3)
            if abs(difference - slope) > 1e-3 * scale:
                raise ModelError(
                    explain(
                        "UserFriction.slope_function",
                        f"{slope!r} s/m at v = {v} m/s",
                        f"the derivative of `function`, which is near {difference:.6g} s/m there",
                        "implicit methods use it; a wrong one stops them from converging.",
                        "differentiate mu with respect to the speed |v|.",
                    )
                )

    def table(self, n: int) -> FrictionTable:
        """Return the law for `n` contacts."""
        mu0 = np.full(n, float(self.function(0.0)))
        return FrictionTable(LawKind.USER, mu0, mu0, np.ones(n), self.function, self.slope_function)

    def coefficient(self, v: npt.ArrayLike) -> Floats:
        """Return mu(|v|)."""
        return _mapped(self.function, v)

    def slope(self, v: npt.ArrayLike) -> Floats:
        """Return d mu / d|v|."""
        return _mapped(self.slope_function, v)


def _probe(function: object, v: float) -> float:
    """Return function(v), NaN for whatever is no function of a speed."""
    if not callable(function):
        return np.nan
    try:
        return float(function(v))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return np.nan


def _mapped(function: Callable[[float], float], v: npt.ArrayLike) -> Floats:
    speed = np.abs(np.asarray(v, dtype=np.float64))
    return np.array([float(function(float(s))) for s in speed.ravel()]).reshape(speed.shape)


def _coefficient(where: str, value: Numbers) -> Numbers:
    if shape_of(value) == ():
        return number(where, value, rule="nonnegative", why=_WHY_MU, try_=_TRY_MU)
    return numbers(where, value, rule="nonnegative", per="contact", why=_WHY_MU, try_=_TRY_MU)


def _check_pair(name: str, law: StaticKinetic | ExponentialWeakening) -> None:
    static = _coefficient(f"{name}.mu_static", law.mu_static)
    kinetic = _coefficient(f"{name}.mu_kinetic", law.mu_kinetic)
    object.__setattr__(law, "mu_static", static)
    object.__setattr__(law, "mu_kinetic", kinetic)
    sizes = {np.size(c) for c in (static, kinetic) if np.ndim(c)}
    if len(sizes) > 1 or np.any(np.asarray(static) < np.asarray(kinetic)):
        raise ModelError(
            explain(
                f"{name}.mu_static",
                f"{static!r} beside mu_kinetic = {kinetic!r}",
                "mu_static >= mu_kinetic for every contact, in lists of one length",
                "a contact at rest that carries less than one in slip could never stick.",
                "swap the two, or use UserFriction for friction that strengthens with speed.",
            )
        )


def _spread(where: str, value: Numbers, n: int) -> Floats:
    return numbers(
        where,
        value,
        size=n,
        per="contact",
        rule="nonnegative",
        why="every contact needs its own value.",
        try_=f"give one number for all, or a list of {n}.",
    )
