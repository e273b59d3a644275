"""Closed forms of incompressible Neo-Hookean membranes, and of the steady peeling of a tape.

The energy per reference volume is (E/6)(l1^2 + l2^2 + l3^2 - 3) with the principal stretches
l1 l2 l3 = 1; the stress through the thickness is zero. A tension is a force per width of the
unstretched sheet, an energy is per area of it. Both are divided by E T, with Young's modulus E
(three times the shear modulus) and the thickness T. Tests of membranes and the example of the
peeled tape compare computed results with these functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

__all__ = [
    "SteadyPeel",
    "equibiaxial",
    "inflated_cylinder",
    "inflated_sphere",
    "pure_shear",
    "steady_peel",
    "uniaxial",
]

_HALVINGS = 200
# largest stretch of a film
_FARTHEST = 100.0


def uniaxial(stretch: float) -> tuple[float, float]:
    """Return tension and energy of a strip in uniaxial tension [E T], [E T].

    At the stretch l they are (l - l^-2) / 3 and (l^2 + 2 / l - 3) / 6.

    Source: Treloar 1975, chapter 4.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear
    """
    return (stretch - stretch**-2) / 3.0, (stretch**2 + 2.0 / stretch - 3.0) / 6.0


def pure_shear(stretch: float) -> tuple[float, float]:
    """Return tension and energy of a strip of fixed width (pure shear) [E T], [E T].

    At the stretch l they are (l - l^-3) / 3 and (l^2 + l^-2 - 2) / 6.

    Source: Treloar 1975, chapter 4.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear
    """
    return (stretch - stretch**-3) / 3.0, (stretch**2 + stretch**-2 - 2.0) / 6.0


def equibiaxial(stretch: float) -> tuple[float, float]:
    """Return tension and energy of a sheet with equal stretches in both directions [E T], [E T].

    At the stretch l they are (l - l^-5) / 3 and (2 l^2 + l^-4 - 3) / 6.

    Source: Treloar 1975, chapter 4.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear
    """
    return (stretch - stretch**-5) / 3.0, (2.0 * stretch**2 + stretch**-4 - 3.0) / 6.0


def inflated_cylinder(stretch: float, axial: float) -> float:
    """Return the pressure in a long tube [E T / R], R its radius without pressure.

    It is (l^2 - (l a)^-2) / (3 a l^2) with l = `stretch` and a = `axial`.

    Parameters
    ----------
    stretch : of the circumference [1]
    axial : along the axis [1]

    Source: Sauer, Duong, Corbett 2014, section 5.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_inflated_shapes
    """
    return (stretch**2 - (stretch * axial) ** -2) / (3.0 * axial * stretch**2)


def inflated_sphere(stretch: float) -> float:
    """Return the pressure in a balloon [E T / R], R its radius without pressure.

    At the stretch l it is (2/3) (1 / l - l^-7).

    Source: Sauer, Duong, Corbett 2014, section 5.1.
    Verified by: tests/unit/solids/membranes/test_membrane.py::test_inflated_shapes
    """
    return 2.0 * (1.0 / stretch - stretch**-7) / 3.0


class SteadyPeel(NamedTuple):
    """Steady peeling of a tape: stretches, forces per width [E T], and friction heat [E T].

    Parameters
    ----------
    stretch : of the detached film [1]
    angle : of the film to the plane [rad]
    force, along, away : pulling force, its component along the plane, and that away from it [E T]
    heat : friction heat per peeled reference area [E T]
    sliding : stretch of the tape that still adheres, at the front [1]
    """

    stretch: float
    angle: float
    force: float
    along: float
    away: float
    heat: float
    sliding: float


def steady_peel(
    work: float,
    angle: float,
    law: Callable[[float], tuple[float, float]] = uniaxial,
    friction: bool = True,
) -> SteadyPeel:
    """Return the steady peel of a long tape whose end moves at an angle to the plane.

    If friction acts under tension, the adhering tape slides ahead of the peeling front. There it is
    stretched until its tension equals the component of the film's tension along the plane. The
    friction heat does not depend on the coefficient of friction, which determines only the length
    of the sliding zone.

    Parameters
    ----------
    work : of adhesion over E T [1]
    angle : of the motion [rad], between 0 and pi
    law : tension and energy over the stretch; the tension is the derivative of the energy
    friction : whether the tape slides ahead of the front and dissipates friction heat; without
        friction the result is a bound for fronts that stick

    Raises
    ------
    ValueError : if the angle is outside (0, pi], or the film peels at no stretch below 100.

    Notes
    -----
    N and psi are tension and energy of the detached film, phi is its angle to the plane:
    work + heat = N (stretch - cos phi) - psi, with stretch sin(angle - phi) = sin(angle).
    Source: docs/theory/membranes.md; Rivlin 1944 for tapes that do not stretch.
    Verified by: tests/unit/solids/membranes/test_tape.py::test_closed_form_of_the_steady_peel
    """

    # kinematics: stretch sin(angle - phi) = sin(angle); `slid` is the stretch at which the adhering
    # tape has the tension N cos(phi)
    def state(stretch: float) -> SteadyPeel:
        film = angle - math.asin(math.sin(angle) / stretch)
        pull, _ = law(stretch)
        along = pull * math.cos(film)
        slid = _root(lambda s: law(s)[0] - along, 1.0, stretch) if friction else 1.0
        heat = along * (slid - 1.0) - law(slid)[1]
        return SteadyPeel(stretch, film, pull, along, pull * math.sin(film), heat, slid)

    # energy balance: its root is the stretch of the detached film
    def excess(stretch: float) -> float:
        s = state(stretch)
        return s.force * (stretch - math.cos(s.angle)) - law(stretch)[1] - work - s.heat

    if not 0.0 < angle <= math.pi:
        raise ValueError(f"steady_peel: angle = {angle}; needs more than 0 and at most pi")
    if not excess(_FARTHEST) >= 0.0:
        raise ValueError(
            f"steady_peel: work = {work}, angle = {angle}; needs a film that peels at a stretch "
            f"below {_FARTHEST}"
        )
    return state(_root(excess, 1.0, _FARTHEST))


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function passes zero, by bisection."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if f(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
