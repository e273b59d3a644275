"""Van der Waals adhesion between two surfaces: traction over the gap, with its potential.

The Lennard-Jones law is T(g) = T0 [(r0/g)^9 / 45 - (r0/g)^3 / 3], with T0 = A_H / (2 pi r0^3), the
Hamaker constant A_H [J] and a length r0 [m] (Mergel, Scheibert, Sauer 2021, eq. (10)). A law is a
pure function of the gap g [m]. Tractions [Pa] are positive in pressure and negative in tension.
Solids use these laws for normal contact; the friction laws of `adhesive_friction` depend on them.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Flag, Positive
from stiction.errors import ModelError
from stiction.laws.interface_tractions import (
    GAP_FAR,
    GAP_REG,
    K_REG,
    PSI_FAR,
    PSI_REG,
    R0,
    T0,
    T_REG,
)
from stiction.numerics.checks import number, numbers

__all__ = ["Adhesion", "LennardJones"]

Floats = npt.NDArray[np.float64]

# equilibrium gap, gap of the largest tension, largest tension and work of adhesion of the curve, in
# units of r0 and T0 = A_H / (2 pi r0^3)
_EQ = 15.0 ** (-1.0 / 6.0)
_MAX = 5.0 ** (-1.0 / 6.0)
_STRENGTH = 2.0 * math.sqrt(5.0) / 9.0
_WORK = 15.0 ** (1.0 / 3.0) / 8.0

_TRY_CONSTANTS = (
    "give `hamaker` from 1e-20 to 1e-18 J and `r0` of a few 1e-10 m, as for solids in air; or use "
    "LennardJones.from_strength(max_tension, work_of_adhesion)."
)
_HAMAKER = Positive("J", "without attraction there is no adhesion.", _TRY_CONSTANTS)
_R0 = Positive("m", "the attraction acts over this length.", _TRY_CONSTANTS)
_GAP_REG = Positive(
    "m",
    "below gap_reg the curve continues along its tangent; a tangent beyond gap_max never repels.",
    "leave gap_reg out for the default, gap_eq.",
)
_ADHESIVE = Flag("False removes all tension.", "to weaken adhesion, lower `hamaker`.")


class Adhesion(Declared, abc.ABC):
    """Base class of normal laws with adhesion: traction, stiffness and potential at a gap.

    Examples
    --------
    >>> import stiction as st
    >>> law = st.LennardJones(hamaker=1.0, r0=1.0)
    >>> isinstance(law, st.laws.Adhesion), bool(abs(law.traction(law.gap_eq)) < 1e-15)
    (True, True)
    """

    @abc.abstractmethod
    def traction(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return the normal traction [Pa], positive in pressure."""

    @abc.abstractmethod
    def stiffness(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return d traction / d gap [Pa/m]."""

    @abc.abstractmethod
    def potential(self, gap: npt.ArrayLike) -> Floats:
        """Return the work [J/m^2] of the traction from `gap` to infinity."""

    def table(self) -> Floats:
        """Return the constants for kernels, in a new array.

        Raises
        ------
        ModelError : for a law of Python functions, which kernels cannot call.
        """
        raise ModelError(
            type(self).__name__,
            "a law made of Python functions where compiled code asks for constants",
            "a law that is given by constants, such as LennardJones",
            "compiled code cannot call these functions.",
            "fit a LennardJones law to it: LennardJones.fit.",
        )

    @property
    @abc.abstractmethod
    def length(self) -> float:
        """Length scale of the traction [m]; `sharpness` is relative to it."""

    @property
    @abc.abstractmethod
    def gap_eq(self) -> float:
        """Gap [m] where tension begins."""

    @property
    @abc.abstractmethod
    def gap_max(self) -> float:
        """Gap [m] of the largest tension; up to it two surfaces count as in contact."""

    @property
    @abc.abstractmethod
    def max_tension(self) -> float:
        """Largest tension T_max [Pa], of the adhesive curve."""


@dataclass(frozen=True, eq=False, repr=False)
class LennardJones(Adhesion):
    """Lennard-Jones attraction and repulsion, integrated over a half space.

    T(g) = T0 [(r0/g)^9 / 45 - (r0/g)^3 / 3] with T0 = A_H / (2 pi r0^3), continued by its
    tangent for g <= gap_reg, so that tractions are finite for negative gaps.

    Parameters
    ----------
    hamaker : A_H, Hamaker constant [J], > 0
    r0 : length of the Lennard-Jones potential [m], > 0
    gap_reg : gap [m] below which the law is linear, between 0 and `gap_max`;
        None means `gap_eq`, as in the paper
    adhesive : False removes all tension; the constants have the values of the adhesive
        curve, so that friction can be compared with and without adhesion

    Notes
    -----
    Any consistent units are admissible: with tractions in E and lengths in L0, `hamaker` is in E
    L0^3. At `gap_eq` of a curve without tension the stiffness jumps; its value there is 0.

    Source: Mergel, Scheibert, Sauer 2021, eqs (10), (41); formulas sheet, section 1.
    Verified by: tests/exact/test_adhesion.py::test_constants_in_closed_form
    """

    hamaker: Annotated[float, _HAMAKER]
    r0: Annotated[float, _R0]
    gap_reg: Annotated[float | None, _GAP_REG] = None
    adhesive: Annotated[bool, _ADHESIVE] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gap_reg is not None and self.gap_reg >= self.gap_max:
            where, needs = "LennardJones.gap_reg", f"a gap below gap_max = {self.gap_max!r} m"
            raise ModelError(where, self.gap_reg, needs, _GAP_REG.why, _GAP_REG.try_)

    @classmethod
    def from_strength(
        cls,
        max_tension: float,
        work_of_adhesion: float,
        gap_reg: float | None = None,
        adhesive: bool = True,
    ) -> LennardJones:
        """Return the law with this largest tension T_max [Pa] and work W_adh [J/m^2].

        Source: formulas sheet, section 1, inverse map.
        Verified by: tests/exact/test_adhesion.py::test_inverse_map
        """
        # T_max = (2 sqrt(5) / 9) T0 and W_adh = (15^(1/3) / 8) T0 r0, solved for r0 and A_H
        why = "tension and work of adhesion fix both constants of the curve."
        try_ = "give positive numbers, or adhesive=False for contact without tension."
        strength = number(
            "LennardJones.from_strength.max_tension",
            max_tension,
            rule="positive",
            unit="Pa",
            why=why,
            try_=try_,
        )
        work = number(
            "LennardJones.from_strength.work_of_adhesion",
            work_of_adhesion,
            rule="positive",
            unit="J/m^2",
            why=why,
            try_=try_,
        )
        if not 1e-60 < work < 1e60 or not 1e-60 < strength < 1e60:
            needs = "numbers between 1e-60 and 1e60"
            got = f"{work:.3g} J/m^2 and {strength:.3g} Pa"
            raise ModelError("LennardJones.from_strength", got, needs, why, try_)
        r0 = _STRENGTH / _WORK * work / strength
        return cls(2.0 * math.pi * r0**3 * strength / _STRENGTH, r0, gap_reg, adhesive)

    @classmethod
    def fit(
        cls,
        gap: npt.ArrayLike,
        traction: npt.ArrayLike,
        weight: npt.ArrayLike = 1.0,
        gap_reg: float | None = None,
        adhesive: bool = True,
    ) -> LennardJones:
        """Return the least-squares fit of the law to measured tractions.

        T = p / g^9 - q / g^3 is linear in p and q, so that the solution is unique: r0^6 = 15 p / q
        and T0 = 3 q / r0^3.

        Parameters
        ----------
        gap : gaps [m], > 0, at least two different ones
        traction : tractions [Pa], positive in pressure, one per gap
        weight : weights of the residuals [1/Pa up to a factor], > 0, one or one per gap

        Raises
        ------
        ModelError : if the fitted curve has no repulsion or no attraction.

        Verified by: tests/unit/laws/test_adhesion.py::test_fit_finds_the_curve
        """
        why, try_ = "every datum is a gap and its traction.", "give lists of one length."
        g = numbers("LennardJones.fit.gap", gap, rule="positive", unit="m", why=why, try_=try_)
        t = numbers(
            "LennardJones.fit.traction", traction, size=g.size, unit="Pa", why=why, try_=try_
        )
        w = numbers(
            "LennardJones.fit.weight", weight, size=g.size, rule="positive", why=why, try_=try_
        )
        # scaled by the smallest gap, so that the powers are comparable
        x = float(g.min()) / g
        columns = np.column_stack([x**9, -(x**3)]) * w[:, None]
        (p, q), _, rank, _ = np.linalg.lstsq(columns, t * w, rcond=None)
        if rank < 2 or p <= 0.0 or q <= 0.0:
            raise ModelError(
                "LennardJones.fit",
                f"a fit of rank {rank} with repulsion {p:.3g} and attraction {q:.3g}",
                "both positive, and rank 2: data at two or more gaps",
                "without both there is no equilibrium gap.",
                "add data on both sides of the largest tension, pressure positive.",
            )
        r0 = float(g.min()) * (15.0 * float(p / q)) ** (1.0 / 6.0)
        t0 = 3.0 * float(q) * (float(g.min()) / r0) ** 3
        return cls(2.0 * math.pi * r0**3 * t0, r0, gap_reg, adhesive)

    @property
    def length(self) -> float:
        """Length r0 [m]."""
        return self.r0

    @property
    def traction_scale(self) -> float:
        """T0 = A_H / (2 pi r0^3) [Pa]."""
        return self.hamaker / (2.0 * math.pi * self.r0**3)

    @property
    def gap_eq(self) -> float:
        """Equilibrium gap g_eq = r0 15^(-1/6) [m] of the curve without regularisation."""
        return self.r0 * _EQ

    @property
    def gap_max(self) -> float:
        """Gap g_max = r0 5^(-1/6) [m] of the largest tension."""
        return self.r0 * _MAX

    @property
    def max_tension(self) -> float:
        """T_max = (2 sqrt(5) / 9) T0 [Pa]."""
        return _STRENGTH * self.traction_scale

    @property
    def work_of_adhesion(self) -> float:
        """W_adh = (15^(1/3) / 8) T0 r0 [J/m^2], from `gap_eq` to infinity."""
        return _WORK * self.traction_scale * self.r0

    @property
    def linear_below(self) -> float:
        """Gap [m] below which the law is linear: `gap_reg`, or `gap_eq` without one."""
        return self.gap_eq if self.gap_reg is None else self.gap_reg

    @property
    def linear_stiffness(self) -> float:
        """k_reg = -dT/dg [Pa/m] of the linear part; 2 15^(2/3) T0 / r0 from `gap_eq`."""
        x = self.r0 / self.linear_below
        return self.traction_scale / self.r0 * (x**10 / 5.0 - x**4)

    @property
    def gap_zero(self) -> float:
        """Gap [m] where the regularised traction vanishes: `gap_eq` if `gap_reg` <= `gap_eq`."""
        c = self._constants
        return self.gap_eq if c[T_REG] >= 0.0 else float(c[GAP_REG] + c[T_REG] / c[K_REG])

    @property
    def separation_work(self) -> float:
        """Work [J/m^2] of the regularised tension from `gap_zero` to infinity.

        It is `work_of_adhesion` unless `gap_reg` lies above `gap_eq`. A law without tension
        has the value of the adhesive one.

        Verified by: tests/exact/test_adhesion.py::test_regularised_work
        """
        c = self._constants
        return (
            self.work_of_adhesion
            if c[T_REG] >= 0.0
            else float(-c[PSI_REG] + c[T_REG] ** 2 / (2.0 * c[K_REG]))
        )

    @cached_property
    def _constants(self) -> Floats:
        """(8,) the table T0 to PSI_FAR of `interface_tractions`, with tension at any gap."""
        t0, gap = self.traction_scale, self.linear_below
        x = self.r0 / gap
        # exactly zero at gap_eq, without rounding
        traction = 0.0 if self.gap_reg is None else t0 * (x**9 / 45.0 - x**3 / 3.0)
        psi = t0 * self.r0 * (x**8 / 360.0 - x**2 / 6.0)
        return np.array([t0, self.r0, gap, traction, self.linear_stiffness, np.inf, psi, 0.0])

    def table(self) -> Floats:
        """Return the constants for kernels, in a new array.

        Verified by: tests/unit/laws/test_adhesion.py::test_array_form_is_the_law
        """
        c = self._constants.copy()
        if not self.adhesive:
            c[GAP_FAR], c[PSI_FAR] = self.gap_zero, -self.separation_work
        return c

    def traction(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return the normal traction T(g) / J [Pa], positive in pressure.

        Parameters
        ----------
        gap : normal gap, open > 0 [m]
        stretch : J, surface stretch of the partner at the closest point [1]

        Raises
        ------
        ModelError : if a gap is NaN or minus infinity, or a stretch is not positive.

        Source: Mergel, Scheibert, Sauer 2021, eq. (10).
        Verified by: tests/unit/laws/test_adhesion.py::test_continuous_where_the_line_begins
        """
        c, g = self.table(), _gaps(gap)
        x = _ratio(g, c)
        curve = c[T0] * (x**9 / 45.0 - x**3 / 3.0)
        line = c[T_REG] + c[K_REG] * (c[GAP_REG] - g)
        return _by_range(g, line, curve, c) / _stretch(stretch)

    def stiffness(self, gap: npt.ArrayLike, stretch: npt.ArrayLike = 1.0) -> Floats:
        """Return dT/dg / J [Pa/m], negative where a larger gap lowers the pressure.

        Source: Mergel, Scheibert, Sauer 2021, eq. (41).
        Verified by: tests/unit/laws/test_adhesion.py::test_derivatives
        """
        c, g = self.table(), _gaps(gap)
        x = _ratio(g, c)
        curve = -c[T0] / c[R0] * (x**10 / 5.0 - x**4)
        return _by_range(g, np.full_like(g, -c[K_REG]), curve, c) / _stretch(stretch)

    def potential(self, gap: npt.ArrayLike) -> Floats:
        """Return the work [J/m^2] of T from `gap` to infinity; T is minus its derivative.

        Source: formulas sheet, section 1.
        Verified by: tests/unit/laws/test_adhesion.py::test_derivatives
        """
        c, g = self.table(), _gaps(gap)
        x = _ratio(g, c)
        curve = c[T0] * c[R0] * (x**8 / 360.0 - x**2 / 6.0) - c[PSI_FAR]
        d = np.where(g <= c[GAP_REG], c[GAP_REG] - g, 0.0)
        return _by_range(g, c[PSI_REG] - c[PSI_FAR] + d * (c[T_REG] + 0.5 * c[K_REG] * d), curve, c)

    def stored_energy(self, pressure: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return energies [J/m^2] stored under `pressure` [Pa] >= 0: of the curve, of the law.

        The law has the linear part below `gap_reg`.

        Both are relative to the gap without traction. The linear part is softer than the curve and
        stores more; the difference bounds the error of energies under pressure.

        Source: formulas sheet, section 1.
        Verified by: tests/exact/test_adhesion.py::test_energy_under_pressure
        """
        p = np.asarray(pressure, dtype=np.float64)
        if not np.all(np.isfinite(p) & (p >= 0.0)):
            raise ModelError(
                "LennardJones.stored_energy",
                "a pressure that is negative or not finite",
                "numbers >= 0 [Pa]",
                "in tension the gap is not a unique function of the traction.",
                "use `potential` with the gap itself.",
            )
        t0 = self.traction_scale
        # (r0/g)^3 is the largest root of z^3 - 15 z - 45 p/T0
        angle = np.arccos((45.0 / (10.0 * math.sqrt(5.0))) * p / t0 + 0.0j)
        x = np.cbrt(2.0 * math.sqrt(5.0) * np.cos(angle / 3.0).real)
        true = t0 * self.r0 * (x**8 / 360.0 - x**2 / 6.0) + self.work_of_adhesion
        c = self._constants
        if c[T_REG] > 0.0:
            on_line = p >= c[T_REG]
            start = c[PSI_REG] + self.work_of_adhesion
            line = start + (p**2 - c[T_REG] ** 2) / (2.0 * c[K_REG])
            return np.asarray(true), np.asarray(np.where(on_line, line, true))
        return np.asarray(true), np.asarray(p**2 / (2.0 * c[K_REG]))


def _gaps(gap: npt.ArrayLike) -> Floats:
    """Return gaps as an array; raise ModelError for NaN or minus infinity."""
    g = np.asarray(gap, dtype=np.float64)
    bad = ~(g > -np.inf)
    if bad.any():
        raise ModelError(
            "gap",
            f"{int(bad.sum())} of {g.size} gaps that are NaN or minus infinity",
            "numbers [m]; plus infinity means out of reach",
            "the traction at such a gap is not defined.",
            "check the positions or the closest-point projection that gave this gap.",
        )
    return g


def _stretch(stretch: npt.ArrayLike) -> Floats:
    """Return surface stretches as an array; raise ModelError unless they are positive."""
    j = np.asarray(stretch, dtype=np.float64)
    if not np.all(np.isfinite(j) & (j > 0.0)):
        raise ModelError(
            "stretch",
            "a surface stretch that is not positive or not finite",
            "positive numbers [1]",
            "the stretch is current area over reference area.",
            "give 1 for a rigid partner.",
        )
    return j


def _ratio(g: Floats, c: Floats) -> Floats:
    """Return r0 / g, with g not below the start of the linear part, to avoid overflow there.

    c : table of the law
    """
    return np.asarray(c[R0] / np.maximum(g, c[GAP_REG]))


def _by_range(g: Floats, line: Floats, curve: Floats, c: Floats) -> Floats:
    """Return `line` below the start of the linear part, 0 beyond GAP_FAR, `curve` between.

    g, line, curve : gaps [m], and values of both formulas there, of one shape
    c : table of the law, entries T0 to PSI_FAR of `interface_tractions`
    """
    return np.asarray(np.where(g >= c[GAP_FAR], 0.0, np.where(g <= c[GAP_REG], line, curve)))
