"""Cross-sections of rods: stiffness, and mass and inertia per length.

A section gives the matrices of the rod's energy per rest length (docs/theory/rods, eq-rd-energy),
1/2 (g - e3) . S (g - e3) + 1/2 (k - k0) . B (k - k0) + 1/2 w . J w, with the derivative g of the
axis, the curvature k, that without load k0, and the angular velocity w, all in the directors:
S = diag(shear, shear, axial), B = diag(EI1, EI2, twist), J = diag(1, 1, 2) times the inertia about
a diameter. `assembly` and `statics` read them.
"""

from __future__ import annotations

import abc
import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from stiction.core.fields import Declared, Finite, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import shape_of

__all__ = ["CircularSection", "GivenSection", "Section"]

_WHY, _TRY = (
    "without this value a rod has no equations of motion.",
    "give a positive number in SI units.",
)
_TRY_EQUAL = (
    "leave this value out for a section that is equally stiff in all directions of bending."
)


class _Uniform(Positive):
    """A positive number, the same along the rod; parameters as of `Finite`."""

    def clean(self, where: str, value: Any, owner: Any, hint: Any) -> object:
        """Return a float; refuse functions and arrays by name: there are no tapered rods."""
        if callable(value) or shape_of(value):
            got = "a function" if callable(value) else "several values"
            needs = f"one positive number [{self.unit}]"
            why = "a rod has the same section everywhere; tapered rods are not supported."
            try_ = "give one number; for layers of different materials, give a GivenSection."
            raise ModelError(where, got, needs, why, try_)
        return super().clean(where, value, owner, hint)


_OUTER = _Uniform(
    "m", "contacts act at the surface.", "leave this value out for a rod that touches nothing."
)

# admissible values of section and material
RADIUS = _Uniform("m", "a rod without thickness has no surface to roll on.", _TRY)
YOUNG = _Uniform("Pa", "a rod without stiffness has no rest shape.", _TRY)
POISSON = Finite(
    "1",
    "a stable material has a positive shear modulus E / (2 (1 + nu)).",
    "give 0.5 for rubber, 0.3 for steel.",
    above=-1.0,
    most=0.5,
    needs="a number above -1 and up to 0.5",
)
DENSITY = _Uniform("kg/m^3", "a massless rod has no inertia to move with.", _TRY)
SHEAR_FACTOR = _Uniform("1", "it scales the shear stiffness.", _TRY)


class Section(Declared, abc.ABC):
    """Base class of cross-sections.

    The moment of inertia about the axis is twice that about a diameter.
    """

    # outer radius [m]; NaN for a section without a surface for contact
    radius: float

    @property
    @abc.abstractmethod
    def shear_stiffness(self) -> float:
        """Transverse force per shear strain [N]."""

    @property
    @abc.abstractmethod
    def axial_stiffness(self) -> float:
        """Axial force per strain [N]."""

    @property
    @abc.abstractmethod
    def bending_stiffness(self) -> float:
        """Moment per curvature about the first director, EI1 [N m^2]."""

    @property
    def second_bending_stiffness(self) -> float:
        """Moment per curvature about the second director, EI2 [N m^2]; EI1 unless overridden."""
        return self.bending_stiffness

    @property
    @abc.abstractmethod
    def twist_stiffness(self) -> float:
        """Moment per twist [N m^2]."""

    @property
    @abc.abstractmethod
    def line_density(self) -> float:
        """Mass per length [kg/m]."""

    @property
    @abc.abstractmethod
    def line_inertia(self) -> float:
        """Moment of inertia about a diameter per length [kg m]."""


@dataclass(frozen=True, eq=False, repr=False)
class GivenSection(Section):
    """A section of given stiffness and inertia.

    It also represents composite sections: docs/howto/rods, "Sections of several materials".
    With an outer radius the rod has contact, at a round surface, in `RodOnPlane`, `Quasistatic` and
    `ImplicitEuler` only. `first_director` of the rod gives the direction of the first director.

    Parameters
    ----------
    shear, axial : stiffness [N]
    bending, twist : stiffness [N m^2]; `bending` about the first director, EI1
    mass : per length [kg/m]
    inertia : about a diameter per length [kg m]
    outer_radius : of its round surface [m]; None for none
    second_bending : stiffness about the second director, EI2 [N m^2]; None: equal to `bending`.
        Another value, as of a flat or elliptic section, is for statics only

    Verified by: tests/exact/test_rod_equilibria.py::test_bend_of_45_degrees,
    tests/exact/test_springs.py::test_strip_buckles_sideways

    Examples
    --------
    >>> import stiction as st
    >>> cord = st.rods.GivenSection(1e4, 1e4, bending=1e-3, twist=1e-3, outer_radius=0.002)
    >>> cord.radius
    0.002

    A strip 10 mm wide and 1 mm thick, E = 200 GPa, whose thin side is along the first director:

    >>> strip = st.rods.GivenSection(6e5, 2e6, bending=16.7, twist=0.24, second_bending=0.167)
    >>> strip.second_bending_stiffness
    0.167
    """

    shear: Annotated[float, _Uniform("N", _WHY, _TRY)]
    axial: Annotated[float, _Uniform("N", _WHY, _TRY)]
    bending: Annotated[float, _Uniform("N m^2", _WHY, _TRY)]
    twist: Annotated[float, _Uniform("N m^2", _WHY, _TRY)]
    mass: Annotated[float, _Uniform("kg/m", _WHY, _TRY)] = 1.0
    inertia: Annotated[float, _Uniform("kg m", _WHY, _TRY)] = 1.0
    outer_radius: Annotated[float | None, _OUTER] = None
    second_bending: Annotated[float | None, _Uniform("N m^2", _WHY, _TRY_EQUAL)] = None

    @property
    def radius(self) -> float:  # type: ignore[override]
        """The outer radius, NaN if there is none [m]."""
        return math.nan if self.outer_radius is None else self.outer_radius

    @property
    def shear_stiffness(self) -> float:
        """Transverse force per shear strain, `shear` [N]."""
        return self.shear

    @property
    def axial_stiffness(self) -> float:
        """Axial force per strain, `axial` [N]."""
        return self.axial

    @property
    def bending_stiffness(self) -> float:
        """Moment per curvature about the first director, `bending` [N m^2]."""
        return self.bending

    @property
    def second_bending_stiffness(self) -> float:
        """Moment per curvature about the second director, `second_bending` [N m^2]."""
        return self.bending if self.second_bending is None else self.second_bending

    @property
    def twist_stiffness(self) -> float:
        """Moment per twist, `twist` [N m^2]."""
        return self.twist

    @property
    def line_density(self) -> float:
        """Mass per length, `mass` [kg/m]."""
        return self.mass

    @property
    def line_inertia(self) -> float:
        """Moment of inertia about a diameter per length, `inertia` [kg m]."""
        return self.inertia


@dataclass(frozen=True, eq=False, repr=False)
class CircularSection(Section):
    """A solid circular section of a homogeneous isotropic material.

    Rolling contact requires a round section: then the axis has a constant distance from the
    surface, for any rotation of the rod about its axis.

    Parameters
    ----------
    radius : a [m]
    young : Young's modulus E [Pa]
    poisson : Poisson's ratio [1], between -1 and 0.5
    density : mass density [kg/m^3]
    shear_factor : shear correction k [1]; 27/28 for a circle and Poisson's ratio 1/2

    Source: formulas sheet (docs/formulas/rods.md), section 1.
    Verified by: tests/unit/rods/test_section.py::test_stiffness_and_inertia
    """

    radius: Annotated[float, RADIUS]
    young: Annotated[float, YOUNG]
    poisson: Annotated[float, POISSON] = 0.5
    density: Annotated[float, DENSITY] = 1000.0
    shear_factor: Annotated[float, SHEAR_FACTOR] = 27.0 / 28.0

    def __post_init__(self) -> None:
        super().__post_init__()
        # floating point must represent stiffness and inertia
        for name in _DERIVED:
            try:
                value = getattr(self, name)
            except OverflowError:
                value = math.inf
            if not sys.float_info.min <= value <= sys.float_info.max:
                raise ModelError(
                    "CircularSection",
                    f"{name} = {value}",
                    "stiffness and inertia that floating point can represent",
                    "every acceleration is a ratio of the two.",
                    "give radius, young and density in SI units.",
                )

    @property
    def area(self) -> float:
        """A = pi a^2 [m^2]."""
        return math.pi * self.radius**2

    @property
    def second_moment(self) -> float:
        """I = pi a^4 / 4 [m^4]."""
        return math.pi * self.radius**4 / 4.0

    @property
    def shear_modulus(self) -> float:
        """G = E / (2 (1 + nu)) [Pa]."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def shear_stiffness(self) -> float:
        """Transverse force per shear strain, k G A with the shear correction k [N]."""
        return self.shear_factor * self.shear_modulus * self.area

    @property
    def axial_stiffness(self) -> float:
        """E A [N]."""
        return self.young * self.area

    @property
    def bending_stiffness(self) -> float:
        """E I [N m^2]."""
        return self.young * self.second_moment

    @property
    def twist_stiffness(self) -> float:
        """2 G I [N m^2]."""
        return 2.0 * self.shear_modulus * self.second_moment

    @property
    def line_density(self) -> float:
        """Mass per length, rho A [kg/m]."""
        return self.density * self.area

    @property
    def line_inertia(self) -> float:
        """Inertia about a diameter per length, rho I [kg m]; twice that about the axis."""
        return self.density * self.second_moment


_DERIVED = (
    *("area", "second_moment", "shear_modulus", "shear_stiffness", "axial_stiffness"),
    *("bending_stiffness", "twist_stiffness", "line_density", "line_inertia"),
)
