"""Set-valued Coulomb friction in one dimension: laws without internal state.

The coefficient is constant, jumps between a static and a kinetic value, weakens with the slip
speed, or is a user's function: the friction force is -mu(|v|) N sign(v) in slip, and any force up
to mu_static N in stick. These laws are values of `Chain.law`. The base classes are in
`stiction.laws.friction`; laws with states are in `stribeck` and `presliding`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, NonNegative, Positive
from stiction.errors import ModelError
from stiction.laws.friction import Formulas, Friction, FrictionTable, check_order
from stiction.numerics.checks import MOST_SEED, Numbers
from stiction.numerics.jit import native

__all__ = [
    "Coulomb",
    "ExponentialWeakening",
    "Friction",
    "FrictionTable",
    "RandomCoulomb",
    "StaticKinetic",
    "UserFriction",
]

Floats = npt.NDArray[np.float64]
# exponent of the largest number
_LARGEST = 700.0

_WHY_MU = "a negative coefficient would push a body along and create energy."
_TRY_MU = "give a number >= 0, or one per mass; 0 means no friction."
_MU = NonNegative("1", _WHY_MU, _TRY_MU, per="contact")
_SPREAD = NonNegative(
    "1", "the spread is the half width of a distribution.", "give a number between 0 and mu_mean."
)
_SEED = Count(
    0,
    "the seed makes a random chain reproducible.",
    "give any whole number, such as 1.",
    most=MOST_SEED,
)
_CORRELATION = NonNegative(
    "1",
    "the correlation length is counted in masses.",
    "leave this value out for independent masses.",
)
_V_SCALE = Positive(
    "m/s",
    "friction weakens over this slip speed; a speed of zero would be a jump.",
    "give a positive speed, or use StaticKinetic for a jump.",
    per="contact",
)

_WHY_ORDER = "a contact with a lower static coefficient could never stick."
_OR_STRENGTHEN = ", or use UserFriction for friction that strengthens with speed"

# Formulas of the laws, see `friction.Formulas`: functions of the slip speed v [m/s], the states z
# (none here) and the parameters p of a contact. Indices of the parameters:
STATIC, KINETIC, SCALE = 0, 1, 2


def _first(v: Any, z: Any, p: Any) -> Any:
    """Return the first parameter: the static coefficient, or the only one."""
    return p[0]


def _second(v: Any, z: Any, p: Any) -> Any:
    """Return the kinetic coefficient."""
    return p[KINETIC]


def _flat(v: Any, z: Any, p: Any) -> Any:
    """Return the slope of a constant coefficient."""
    return 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Coulomb(Friction):
    """Coulomb's law with one coefficient for stick and slip.

    Parameters
    ----------
    mu : coefficient [1], a number or one per contact

    Source: Axioms 14(4) 299, Problem 1 with a constant mu.
    Verified by: tests/conformance/test_laws.py::test_dissipates_and_is_even
    """

    constant: ClassVar[bool] = True

    mu: Annotated[Numbers, _MU]

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return one coefficient for all contacts, and one per contact."""
        return cls(0.3), cls([0.3, 0.0, 0.1])

    @property
    def formulas(self) -> Formulas:
        """One coefficient."""
        return Formulas(mu=_first, slope=_flat)


@dataclass(frozen=True, eq=False, repr=False)
class RandomCoulomb(Friction):
    """Coulomb's law with a random coefficient of each contact, uniform in mean +- spread.

    The same seed gives the same coefficients for the same number of contacts.

    Parameters
    ----------
    mu_mean : mean coefficient [1]
    mu_spread : half width of the uniform distribution [1], at most `mu_mean`
    seed : whole number >= 0
    correlation : length in masses over which the correlation decays to 1/e, >= 0. The distribution
        of each coefficient remains uniform

    Source: Axioms 14(4) 299, section 10 names randomness in friction as future work.
    Verified by: tests/unit/laws/test_coulomb.py::test_random_is_seeded
    """

    constant: ClassVar[bool] = True

    mu_mean: Annotated[float, _MU]
    mu_spread: Annotated[float, _SPREAD]
    seed: Annotated[int, _SEED]
    correlation: Annotated[float, _CORRELATION] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mu_spread > self.mu_mean:
            raise ModelError(
                "RandomCoulomb.mu_spread",
                self.mu_spread,
                f"at most mu_mean = {self.mu_mean}",
                "a wider spread would draw negative coefficients, which create energy.",
                "lower mu_spread or raise mu_mean.",
            )

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return one law."""
        return (cls(0.3, 0.1, seed=7),)

    @property
    def formulas(self) -> Formulas:
        """One coefficient per contact."""
        return Formulas(mu=_first, slope=_flat)

    def parameters(self, n: int) -> list[Floats]:
        """Return the coefficients of `n` contacts; mass 1 has the first draw."""
        source = np.random.Generator(np.random.PCG64(self.seed))
        draws = source.random(n) if self.correlation == 0.0 else self._correlated_draws(source, n)
        return [self.mu_mean + self.mu_spread * (2.0 * draws - 1.0)]

    def _correlated_draws(self, source: np.random.Generator, n: int) -> Floats:
        """Return (n,) correlated uniform draws, by a Gauss-Markov sequence."""
        from scipy.signal import lfilter
        from scipy.special import ndtr

        rho = math.exp(-1.0 / self.correlation)
        noise = source.standard_normal(n)
        noise[1:] *= math.sqrt(1.0 - rho * rho)
        return np.asarray(ndtr(lfilter([1.0], [1.0, -rho], noise)))

    def given(self) -> list[npt.NDArray[Any]]:
        """Return the mean coefficient."""
        return [np.asarray(self.mu_mean)]


@dataclass(frozen=True, eq=False, repr=False)
class StaticKinetic(Friction):
    """A static coefficient in stick and a lower kinetic one in slip, with a jump at v = 0.

    Between the two the inclusion admits stick and slip; this law sticks as long as it can. The
    quantity `stick_above_kinetic` of a run shows how far that rule was needed. Where it is not
    sufficient, because the drive grazes the static bound, `determinism` has a loss
    `grazing_onset`; where a slip rate grazes zero, `grazing_slip`. `SlipAtGrazing` selects the
    other solution there.

    Parameters
    ----------
    mu_static, mu_kinetic : coefficients [1], numbers or one per contact;
        mu_static >= mu_kinetic

    Source: formulas sheet of the chains paper, section 1c.
    Verified by: tests/unit/laws/test_coulomb.py::test_static_kinetic_jump
    """

    constant: ClassVar[bool] = True
    has_jump: ClassVar[bool] = True

    mu_static: Annotated[Numbers, _MU]
    mu_kinetic: Annotated[Numbers, _MU]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self, "mu_static", "mu_kinetic", _WHY_ORDER, _OR_STRENGTHEN)

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return laws with a jump, with one per contact, and with none."""
        return cls(0.4, 0.25), cls([0.4, 0.3, 0.3], [0.25, 0.3, 0.0]), cls(0.3, 0.3)

    @property
    def formulas(self) -> Formulas:
        """The kinetic and the static coefficient."""
        return Formulas(mu=_second, slope=_flat, static=_first)


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialWeakening(Friction):
    """Friction that weakens with slip speed: mu_k + (mu_s - mu_k) exp(-|v| / v_scale).

    Parameters
    ----------
    mu_static, mu_kinetic : coefficients [1], the latter the limit at high speed, numbers or one
        per contact; mu_static >= mu_kinetic
    v_scale : speed [m/s] at which the difference has fallen to 1/e; > 0

    Source: Axioms 14(4) 299, section 8 (formula lost; the formulas sheet has this form).
    Verified by: tests/conformance/test_laws.py::test_slope_is_the_derivative
    """

    convex: ClassVar[bool] = True

    mu_static: Annotated[Numbers, _MU]
    mu_kinetic: Annotated[Numbers, _MU]
    v_scale: Annotated[Numbers, _V_SCALE]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self, "mu_static", "mu_kinetic", _WHY_ORDER, _OR_STRENGTHEN)

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return a law for all contacts, and one with numbers for each."""
        each = cls([0.4, 0.3, 0.3], [0.25, 0.3, 0.0], [0.1, 0.01, 2.0])
        return cls(0.4, 0.25, 0.1), each

    @property
    def formulas(self) -> Formulas:
        """The law, its slope, and its series in time."""
        return Formulas(
            mu=_weakening, slope=_weakening_slope, static=_first, share=_share, shares=_shares
        )

    def fast_coefficient(self, n: int) -> Floats:
        """Return the kinetic coefficient."""
        return self._spread("mu_kinetic", n)

    def speed_scale(self, n: int) -> Floats:
        """Return the speed over which the difference falls to 1/e."""
        return self._spread("v_scale", n)

    def slowed(self, times: float) -> float:
        """Return log(times): the slope decays exponentially, as mu - mu_k does."""
        return math.log(times)


@native("numpy:exp")
def _exp(x: Any) -> Any:
    """Return e to the power x: for one number by the C library, as in compiled code."""
    if np.ndim(x) > 0:
        return np.exp(x)
    return math.exp(x) if x < _LARGEST else np.exp(x)


def _decay(v: Any, p: Any) -> Any:
    """Return e = exp(-v / v_scale)."""
    return _exp(-v / p[SCALE])


def _weakening(v: Any, z: Any, p: Any) -> Any:
    """Return mu = mu_k + (mu_s - mu_k) exp(-v / v_scale)."""
    return p[KINETIC] + (p[STATIC] - p[KINETIC]) * _decay(v, p)


def _weakening_slope(v: Any, z: Any, p: Any) -> Any:
    """Return d mu / dv [s/m]."""
    return -(p[STATIC] - p[KINETIC]) / p[SCALE] * _decay(v, p)


def _share(k: Any, v: Any, factor: Any, w: Any, step: Any, e: Any, p: Any) -> Any:
    """Return Taylor coefficient k of e(t) = exp(-v(t) / v_scale), from e' = -v' e / v_scale.

    v is the slip speed at the start; its coefficient j > 0 is factor (j + 1) w[j step].
    e[0] to e[k - 1] are known; p holds mu_s, mu_k and v_scale.
    """
    if k == 0:
        return _decay(v, p)
    total = 0.0
    for j in range(1, k + 1):
        total += j * (j + 1) * w[j * step] * e[k - j]
    return -factor / p[SCALE] * total / k


def _shares(k: int, v: Floats, factor: Floats, w: Floats, e: Floats, p: list[Floats]) -> Any:
    """Return (n,) results of `_share` for n contacts at once, without a loop in Python.

    v, factor, p : (n,) each; w, e : (order + 1, n) arrays, as `_share` takes them for one contact
    """
    if k == 0:
        return _decay(v, p)
    j = np.arange(1, k + 1)[:, None]
    terms = j * (j + 1) * w[1 : k + 1] * e[k - 1 :: -1][:k]
    # summed in the order of `_share`; NumPy's sum is pairwise
    return -factor / p[SCALE] * np.add.accumulate(terms, axis=0)[-1] / k


@dataclass(frozen=True, eq=False, repr=False)
class UserFriction(Friction):
    """A user's own smooth mu(v), times a factor of each contact.

    Parameters
    ----------
    function : takes a slip speed >= 0 [m/s] and returns mu [1]; plain Python on floats,
        compiled with Numba if possible
    slope_function : its derivative d mu / d|v| [s/m]; checked against differences of
        `function` here, to detect a wrong sign before a run
    factor : of both functions [1], a number or one per contact, >= 0

    Raises
    ------
    ModelError : if mu is negative or not finite, or the derivative disagrees.

    Source: Axioms 14(4) 299, section 2: mu bounded, positive, continuous. An infinite
    slope at v = 0 would lose uniqueness (formulas sheet, section 1b), so it is an error.
    Verified by: tests/unit/laws/test_coulomb.py::test_user_derivative_is_checked
    """

    function: Callable[[float], float]
    slope_function: Callable[[float], float]
    factor: Annotated[Numbers, _MU] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for v in (0.0, 1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0):
            mu, slope = _probe(self.function, v), _probe(self.slope_function, v)
            if not (np.isfinite(mu) and mu >= 0.0 and np.isfinite(slope)):
                raise ModelError(
                    "UserFriction",
                    f"mu = {mu!r} with slope {slope!r} at v = {v} m/s",
                    "a finite mu >= 0 with a finite slope at every speed",
                    "negative friction creates energy, and an infinite slope at zero speed "
                    "makes the motion non-unique.",
                    "bound mu and its slope: mu0 - a*v/(v + v0), not mu0 - a*sqrt(v).",
                )
            # short beside the speeds over which mu varies, however slow they are
            near = 1e-3 * v if v > 0.0 else 1e-5 * max(mu, 1e-2) / max(abs(slope), 1e-3)
            step = min(1e-6 * max(v, 1e-2), near)
            # of second order, also at v = 0, where mu is not defined on one side
            if v > 0.0:
                ends = float(self.function(v + step)) - float(self.function(v - step))
            else:
                ends = 4.0 * float(self.function(step)) - float(self.function(2.0 * step))
                ends -= 3.0 * mu
            difference = ends / (2.0 * step)
            scale = max(abs(slope), abs(difference), 1e-3)
            if abs(difference - slope) > 1e-3 * scale:
                raise ModelError(
                    "UserFriction.slope_function",
                    f"{slope!r} s/m at v = {v} m/s",
                    f"the derivative of `function`, which is near {difference:.6g} s/m at this "
                    "speed",
                    "implicit methods use it; a wrong one stops them from converging.",
                    "differentiate mu with respect to the speed |v|.",
                )

    @classmethod
    def examples(cls) -> Sequence[Friction]:
        """Return velocity-weakening and velocity-strengthening friction."""
        weak = cls(lambda v: 0.2 + 0.1 / (1.0 + v), lambda v: -0.1 / (1.0 + v) ** 2)
        grows = cls(lambda v: 0.2 + 0.01 * v, lambda v: 0.01)
        each = cls(lambda v: 0.2 + 0.01 * v, lambda v: 0.01, [1.0, 0.5, 2.0])
        return weak, grows, each

    @property
    def formulas(self) -> Formulas:
        """The user's functions, called for each speed."""
        function, slope = self.function, self.slope_function
        return Formulas(
            mu=lambda v, z, p: p[0] * _mapped(function, v),
            slope=lambda v, z, p: p[0] * _mapped(slope, v),
        )

    def plain(self) -> tuple[Callable[[float], float], Callable[[float], float]]:
        """Return the user's functions."""
        return self.function, self.slope_function

    def parameters(self, n: int) -> list[Floats]:
        """Return the factor of each contact."""
        return [self._spread("factor", n)]

    def given(self) -> list[npt.NDArray[Any]]:
        """Return the factor."""
        return [np.asarray(self.factor)]


def _probe(function: object, v: float) -> float:
    """Return function(v), NaN if it is no function of a speed."""
    if not callable(function):
        return np.nan
    try:
        return float(function(v))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return np.nan


def _mapped(function: Callable[[float], float], v: npt.ArrayLike) -> Floats:
    """Return the values of a function of one number at all slip speeds |v|."""
    speed = np.abs(np.asarray(v, dtype=np.float64))
    if speed.size > 1 and (speed == speed.flat[0]).all():
        # one call for equal speeds, such as those of contacts in stick
        return np.full(speed.shape, float(function(float(speed.flat[0]))))
    return np.array([float(function(float(s))) for s in speed.ravel()]).reshape(speed.shape)
