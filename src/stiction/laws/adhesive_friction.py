"""Friction laws under adhesion: the sliding threshold of an interface as a function of the gap.

A law gives a sliding threshold s(g) >= 0 [Pa] of the tangential traction at the normal gap g [m]:
s = tau / (1 + exp(k (g - g_cut))) in model DI, s = mu (T(g) - T(g_cut)) / J in model EA, with the
normal traction T and the surface stretch J (Mergel, Scheibert, Sauer 2021, eqs (14), (16)). tau
[Pa] and mu [1] are the friction parameters, g_cut is the gap where friction ends, and k [1/m] the
steepness there. Below the threshold the interface sticks. The threshold may be positive under
tension, so that friction acts in adhesive contact. The return map to the threshold is in
`stiction.laws.return_mapping`; solids use both.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Flag, NonNegative, Positive
from stiction.errors import ModelError
from stiction.laws.adhesion import Adhesion
from stiction.numerics.checks import number, whole

__all__ = ["DI", "EA", "AdhesiveFriction", "Frictionless", "UserThreshold", "amontons"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_WHY_MU = "a negative threshold would push the body along and create energy."
_TRY_MU = "give a number >= 0, or use Frictionless()."
_MU = NonNegative("1", _WHY_MU, _TRY_MU)
_WHY_CUT = (
    "for smaller values friction would need a very large pressure; for larger ones friction "
    "would act far outside the contact area, or be negative."
)
_TRY_CUT = "give 1 for friction in the whole contact area, or 0 for friction under pressure alone."
_SHARPNESS = Positive(
    "1",
    "the sharpness is r0 divided by the width of the gap interval in which friction falls to zero.",
    "give 80, as in the paper.",
)
_PROBE = Finite(
    "m",
    "the functions are checked between these two gaps.",
    "give (0.5 * gap_eq, 2 * gap_max) of the adhesion law.",
    per="end",
    size=2,
)
# exp(-40) is below rounding beside 1, as in the kernels
_TAIL = 40.0


class AdhesiveFriction(Declared, abc.ABC):
    """Base class of friction laws that depend on the gap: a sliding threshold, and its slope.

    Examples
    --------
    >>> import stiction as st
    >>> laws = st.DI(mu=1.0), st.EA(mu=0.3), st.laws.Frictionless()
    >>> all(isinstance(law, st.laws.AdhesiveFriction) for law in laws)
    True
    """

    @property
    @abc.abstractmethod
    def per_current_area(self) -> bool:
        """Whether thresholds count per current area; else per reference area of the body."""

    @abc.abstractmethod
    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return the sliding threshold [Pa], >= 0, at `gap` [m].

        Parameters
        ----------
        gap : normal gap, open > 0 [m]
        adhesion : the normal law of the interface
        stretch : J, surface stretch of the partner [1]; laws per current area ignore it
        """

    @abc.abstractmethod
    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d threshold / d gap [Pa/m]; where it jumps, the value at larger gaps."""

    @abc.abstractmethod
    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return the gap [m] where friction ends; minus infinity if there is none at all."""

    def table(self, adhesion: Adhesion) -> Floats:
        """Return the constants as kernels read them, in a fresh array.

        Its five entries are KIND to T_CUT of `interface_tractions`.

        Raises
        ------
        ModelError : for a law made of Python functions, which kernels cannot read; evaluate
            `threshold` and `slope` for all points at once instead.
        """
        raise ModelError(
            type(self).__name__,
            "a law made of Python functions where compiled code asks for constants",
            "a law with a table: DI, EA or Frictionless",
            "compiled code cannot call these functions.",
            "evaluate `threshold` and `slope` on arrays of gaps.",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Frictionless(AdhesiveFriction):
    """No friction: the threshold is zero at every gap.

    Verified by: tests/unit/laws/test_adhesive_friction.py::test_frictionless
    """

    @property
    def per_current_area(self) -> bool:
        """Whether thresholds count per current area; without effect, because they are zero."""
        return False

    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return zero."""
        return 0.0 * adhesion.traction(gap, stretch)

    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return zero."""
        return 0.0 * adhesion.traction(gap, stretch)

    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return minus infinity: no friction at any gap."""
        return -np.inf

    def table(self, adhesion: Adhesion) -> Floats:
        """Return the constants for kernels."""
        return np.array([0.0, 0.0, -np.inf, 0.0, 0.0])


@dataclass(frozen=True, eq=False, repr=False)
class DI(AdhesiveFriction):
    """Model DI, distance-independent friction: one threshold in the whole contact area.

    s(g) = tau / (1 + exp(k (g - g_cut))) per current area, with tau = mu T_max,
    g_cut = s_cut gap_max + (1 - s_cut) gap_eq and k = sharpness / r0.

    Parameters
    ----------
    mu : tau over the largest tension of the adhesion law [1], >= 0
    s_cut : parameter of the cut-off gap [1]: 0 at `gap_eq`, 1 at `gap_max`, between -1 and 10
    sharpness : of the cut-off [1], > 0; its width is r0 / sharpness

    Notes
    -----
    At `gap_cut` the threshold is exactly tau / 2. Without tension in the adhesion law tau
    has the same value, and friction acts where the normal traction is zero.

    Source: Mergel, Scheibert, Sauer 2021, eqs (13), (14), (59).
    Verified by: tests/unit/laws/test_adhesive_friction.py::test_di_values
    """

    mu: Annotated[float, _MU] = 1.0
    s_cut: Annotated[float, Finite("1", _WHY_CUT, _TRY_CUT, least=-1.0, most=10.0)] = 1.0
    sharpness: Annotated[float, _SHARPNESS] = 80.0

    @classmethod
    def from_tau(
        cls, tau: float, adhesion: Adhesion, s_cut: float = 1.0, sharpness: float = 80.0
    ) -> DI:
        """Return the law with threshold `tau` [Pa] on this adhesion law.

        Verified by: tests/unit/laws/test_adhesive_friction.py::test_di_values
        """
        value = number(
            "DI.from_tau.tau", tau, rule="nonnegative", unit="Pa", why=_WHY_MU, try_=_TRY_MU
        )
        return cls(value / adhesion.max_tension, s_cut, sharpness)

    @property
    def per_current_area(self) -> bool:
        """Whether the threshold is per current area: yes."""
        return True

    def tau(self, adhesion: Adhesion) -> float:
        """Return the threshold [Pa] in the contact area, mu T_max."""
        return self.mu * adhesion.max_tension

    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return g_cut [m]."""
        return _gap_cut(self.s_cut, adhesion)

    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return the sliding threshold [Pa] per current area, between 0 and tau."""
        e = self._exponential(gap, adhesion, stretch)
        return np.asarray(self.tau(adhesion) / (1.0 + e))

    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d threshold / d gap [Pa/m].

        Source: Mergel, Scheibert, Sauer 2021, eq. (59).
        Verified by: tests/unit/laws/test_adhesive_friction.py::test_slopes
        """
        e = self._exponential(gap, adhesion, stretch)
        k = self.sharpness / adhesion.length
        with np.errstate(invalid="ignore"):
            logistic = np.where(np.isinf(e), 0.0, e / (1.0 + e))
        return np.asarray(-k * self.tau(adhesion) / (1.0 + e) * logistic)

    def _exponential(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike
    ) -> Floats:
        """Return exp(k (g - g_cut)), infinite in the tail."""
        # the normal law checks gaps and stretches; its values broadcast the two
        g = np.asarray(gap, dtype=np.float64) + 0.0 * adhesion.traction(gap, stretch)
        z = self.sharpness / adhesion.length * (g - self.gap_cut(adhesion))
        return np.asarray(np.where(z > _TAIL, np.inf, np.exp(np.minimum(z, _TAIL))))

    def table(self, adhesion: Adhesion) -> Floats:
        """Return the constants for kernels."""
        k = self.sharpness / adhesion.length
        return np.array([1.0, self.tau(adhesion), self.gap_cut(adhesion), k, 0.0])

    def matching_ea(self, adhesion: Adhesion, s_cut: float = 1.0) -> EA:
        """Return the EA law whose threshold at `gap_eq` is the tau of this law, without stretch.

        mu_EA = mu_DI T_max / |T(g_cut)| with g_cut of EA. The threshold of DI is below tau by the
        factor 1 / (1 + exp(k (g_eq - g_cut))): by 4e-5 by default, by half for s_cut = 0. Away from
        `gap_eq` and under stretch the two models differ.

        Source: Mergel, Scheibert, Sauer 2021, eq. (36).
        Verified by: tests/exact/test_adhesion.py::test_matched_models
        """
        ratio = _tension_at_gap_cut(s_cut, adhesion) / adhesion.max_tension
        return EA(self.mu / ratio, s_cut)


@dataclass(frozen=True, eq=False, repr=False)
class EA(AdhesiveFriction):
    """Model EA, extended Amontons: friction proportional to the traction above a tension.

    s(g) = (mu / J) [T(g) - T(g_cut)] for g < g_cut, else 0, per reference area, with
    g_cut = s_cut gap_max + (1 - s_cut) gap_eq. s_cut = 0 is Amontons' law at every point;
    s_cut = 1 lets friction act up to the largest tension.

    Parameters
    ----------
    mu : friction parameter [1], >= 0; a coefficient only for s_cut = 0
    s_cut : parameter of the cut-off gap [1], from -1 to 1. With slightly negative values, such as
        -0.001, friction begins at a small pressure

    Notes
    -----
    The slope jumps at g_cut unless s_cut = 1. With an adhesion law without tension
    T(g_cut) = 0 for s_cut >= 0, so that only pressure causes friction. If the linear part
    of the normal law extends beyond g_cut, T is that of the linear part.

    Source: Mergel, Scheibert, Sauer 2021, eqs (15), (16), (60), (61); section 3.3 for
    negative s_cut.
    Verified by: tests/unit/laws/test_adhesive_friction.py::test_ea_values
    """

    mu: Annotated[float, _MU] = 1.0
    s_cut: Annotated[float, Finite("1", _WHY_CUT, _TRY_CUT, least=-1.0, most=1.0)] = 1.0

    @property
    def per_current_area(self) -> bool:
        """Whether the threshold is per current area: no."""
        return False

    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return g_cut [m]."""
        return _gap_cut(self.s_cut, adhesion)

    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return the sliding threshold [Pa] per reference area."""
        cut = self.gap_cut(adhesion)
        # the traction of a rigid partner; the second term checks and broadcasts the stretch
        above = adhesion.traction(gap) + 0.0 * adhesion.traction(cut, stretch)
        above = np.maximum(above - adhesion.traction(cut), 0.0)  # negative by rounding only
        j = np.asarray(stretch, dtype=np.float64)
        return np.asarray(np.where(np.asarray(gap) < cut, self.mu * above / j, 0.0))

    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d threshold / d gap [Pa/m]; zero at g_cut.

        Source: Mergel, Scheibert, Sauer 2021, eq. (60).
        Verified by: tests/unit/laws/test_adhesive_friction.py::test_slopes
        """
        inside = np.asarray(gap) < self.gap_cut(adhesion)
        return np.asarray(np.where(inside, self.mu * adhesion.stiffness(gap, stretch), 0.0))

    def table(self, adhesion: Adhesion) -> Floats:
        """Return the constants for kernels."""
        cut = self.gap_cut(adhesion)
        return np.array([2.0, self.mu, cut, 0.0, float(adhesion.traction(cut))])

    def matching_di(self, adhesion: Adhesion, sharpness: float = 80.0) -> DI:
        """Return the DI law whose tau is this threshold at `gap_eq`, with its cut-off at `gap_max`.

        mu_DI = mu_EA |T(g_cut)| / T_max. The threshold of DI is below tau, see `DI.matching_ea`: by
        a third for sharpness = 1. Away from `gap_eq` and under stretch the two models differ.

        Source: Mergel, Scheibert, Sauer 2021, eq. (36).
        Verified by: tests/exact/test_adhesion.py::test_matched_models
        """
        ratio = _tension_at_gap_cut(self.s_cut, adhesion) / adhesion.max_tension
        return DI(self.mu * ratio, 1.0, sharpness)


def amontons(mu: float) -> EA:
    """Return Coulomb's law at every point: EA with s_cut = 0, friction mu <T> under pressure.

    Parameters
    ----------
    mu : coefficient of friction [1], >= 0

    Verified by: tests/unit/laws/test_adhesive_friction.py::test_ea_values

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.amontons(0.3)
    >>> type(law).__name__, law.mu
    ('EA', 0.3)
    """
    return EA(mu, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class UserThreshold(AdhesiveFriction):
    """A user's own threshold s(g), with its derivative.

    Parameters
    ----------
    function : takes a gap [m], returns s [Pa] >= 0; plain Python on floats
    slope_function : d threshold / d gap [Pa/m]; checked against differences
    probe : gaps [m], lowest and highest, between which both are checked here; s is constant
        beyond them
    current : True if s is per current area, False if per reference area

    Raises
    ------
    ModelError : if s is negative or not finite, or the derivative disagrees.

    Source: Mergel, Scheibert, Sauer 2021, eq. (12): any non-negative threshold is admissible.
    Verified by: tests/unit/laws/test_adhesive_friction.py::test_user_threshold

    Examples
    --------
    >>> import stiction as st
    >>> law = st.laws.UserThreshold(
    ...     function=lambda gap: 1.0 / (1.0 + gap),
    ...     slope_function=lambda gap: -1.0 / (1.0 + gap) ** 2,
    ...     probe=(0.0, 2.0),
    ... )
    >>> float(law.threshold(1.0, st.LennardJones(hamaker=1.0, r0=1.0)))
    0.5
    """

    function: Callable[[float], float]
    slope_function: Callable[[float], float]
    probe: Annotated[Sequence[float], _PROBE]
    current: Annotated[
        bool, Flag("the threshold is per current area (True) or per reference area (False).")
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (float(gap) for gap in self.probe)
        if not low < high:
            needs = "a pair of gaps [m], the lower one first"
            where, got = "UserThreshold.probe", f"({low}, {high})"
            raise ModelError(where, got, needs, _PROBE.why, _PROBE.try_)
        object.__setattr__(self, "probe", (low, high))
        gaps = np.linspace(low, high, 24)
        values = np.array([_probe(self.function, g) for g in gaps])
        slopes = np.array([_probe(self.slope_function, g) for g in gaps])
        good = np.isfinite(values) & (values >= 0.0) & np.isfinite(slopes)
        if not good.all():
            bad = int(np.argmin(good))
            raise ModelError(
                "UserThreshold.function",
                f"s = {values[bad]:.6g} with slope {slopes[bad]:.6g} at the gap {gaps[bad]:.6g} m",
                "a finite s >= 0 with a finite slope at every gap",
                _WHY_MU,
                "bound the function from below, or narrow `probe` to gaps that occur.",
            )
        step = 1e-6 * (high - low)
        # the function may be defined between the two gaps only
        left, right = np.maximum(gaps - step, low), np.minimum(gaps + step, high)
        rise = [
            _probe(self.function, b) - _probe(self.function, a)
            for a, b in zip(left, right, strict=True)
        ]
        differences = np.array(rise) / (right - left)
        scale = max(float(values.max()) / (high - low), float(np.abs(slopes).max()))
        off = ~(np.abs(differences - slopes) <= 1e-3 * scale)
        # one probe in 24 may hit a kink
        if off.sum() > 1:
            bad = int(np.argmax(off))
            raise ModelError(
                "UserThreshold.slope_function",
                f"{slopes[bad]:.6g} Pa/m at the gap {gaps[bad]:.6g} m",
                f"the derivative of `function`, near {differences[bad]:.6g} Pa/m at this gap",
                "Newton's method uses it; a wrong one stops it from converging.",
                "differentiate s with respect to the gap.",
            )

    @property
    def per_current_area(self) -> bool:
        """Whether the threshold is per current area, by the user's choice."""
        return self.current

    def gap_cut(self, adhesion: Adhesion) -> float:
        """Return infinity: the function has no cut-off."""
        return np.inf

    def threshold(
        self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0
    ) -> Floats:
        """Return the sliding threshold [Pa].

        Raises
        ------
        ModelError : if s is negative or not finite.
        """
        values, gaps, _ = self._mapped(self.function, gap, adhesion, stretch)
        good = np.isfinite(values) & (values >= 0.0)
        if not good.all():
            bad = int(np.argmin(good))
            got = f"s = {values.flat[bad]:.6g} at the gap {gaps.flat[bad]:.6g} m"
            try_ = "bound the function from below, or narrow `probe`."
            raise ModelError("UserThreshold.function", got, "a finite s >= 0", _WHY_MU, try_)
        return values

    def slope(self, gap: npt.ArrayLike, adhesion: Adhesion, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d threshold / d gap [Pa/m]."""
        slopes, _, inside = self._mapped(self.slope_function, gap, adhesion, stretch)
        return np.asarray(np.where(inside, slopes, 0.0))

    def _mapped(
        self,
        function: Callable[[float], float],
        gap: npt.ArrayLike,
        adhesion: Adhesion,
        stretch: npt.ArrayLike,
    ) -> tuple[Floats, Floats, Bools]:
        """Return values of a function, its gaps limited to `probe`, and which gaps are within."""
        # the normal law checks gaps and stretches; its values broadcast the two
        g = np.asarray(gap, dtype=np.float64) + 0.0 * adhesion.traction(gap, stretch)
        low, high = self.probe
        near = np.clip(g, low, high)
        values = np.array([_probe(function, entry) for entry in near.ravel()]).reshape(g.shape)
        return values, near, near == g

    def sampled(self, count: int = 4001) -> Floats:
        """Return `count` samples between the gaps of `probe` for kernels, in a new array.

        Its entries are the code SAMPLED, the lowest gap [m], the spacing [m], then all values [Pa]
        and all slopes [Pa/m].

        Kernels interpolate by cubic Hermite polynomials, with an error of fourth order in the
        spacing for smooth functions; beyond the samples s is constant.

        Verified by: tests/unit/laws/test_adhesive_friction.py::test_sampled_threshold
        """
        whole(
            "UserThreshold.sampled",
            count,
            least=2,
            why="an interpolation needs at least two samples.",
            try_="give 4001.",
        )
        low, high = self.probe
        gaps = np.linspace(low, high, count)
        values = np.array([_probe(self.function, g) for g in gaps])
        slopes = np.array([_probe(self.slope_function, g) for g in gaps])
        good = np.isfinite(values) & (values >= 0.0) & np.isfinite(slopes)
        if not good.all():
            bad = gaps[int(np.argmin(good))]
            got = f"no finite s >= 0 with a finite slope at the gap {bad:.6g} m"
            needs = "a finite s >= 0 with a finite slope at every gap between those of `probe`"
            try_ = "bound the function from below, or narrow `probe`."
            raise ModelError("UserThreshold.function", got, needs, _WHY_MU, try_)
        return np.concatenate([[3.0, low, (high - low) / (count - 1)], values, slopes])


def _gap_cut(s_cut: float, adhesion: Adhesion) -> float:
    """Return g_cut [m], eq. (13) of the source of `DI`."""
    return s_cut * adhesion.gap_max + (1.0 - s_cut) * adhesion.gap_eq


def _tension_at_gap_cut(s_cut: float, adhesion: Adhesion) -> float:
    """Return -T(g_cut) [Pa]; raise ModelError unless there is tension."""
    tension = -float(adhesion.traction(EA(1.0, s_cut).gap_cut(adhesion)))
    if tension > 0.0:
        return tension
    raise ModelError(
        "s_cut",
        f"{s_cut!r} with the normal traction {-tension:.6g} Pa at the cut-off gap",
        "a cut-off gap in tension: an adhesive law and 0 < s_cut <= 1",
        "the two models are matched by the friction at the equilibrium gap, where model EA has "
        "no friction otherwise.",
        "raise s_cut, or compare peak forces instead.",
    )


def _probe(function: object, gap: float) -> float:
    """Return function(gap), NaN if it is no function of a gap."""
    if not callable(function):
        return np.nan
    try:
        return float(function(float(gap)))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return np.nan
