"""Closed forms of adhesion and contact: Lennard-Jones, Hertz, Cattaneo-Mindlin, JKR, Kendall.

T is the normal traction, positive in pressure, at the gap g of two half spaces that interact by
the integrated Lennard-Jones potential. Hertz, Cattaneo-Mindlin and JKR describe an elastic cylinder
of radius R on a rigid plane; Kendall describes a peeled strip. Tests compare the laws of adhesion
and the finite-element solutions with these formulas. Contacts are plane:
forces are per out-of-plane width [N/m]. The module uses NumPy only, so that no check is circular.
Functions of the gap accept complex numbers, for derivatives by a complex step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LennardJonesConstants",
    "cattaneo_mindlin_traction",
    "cohesive_zone_length",
    "hertz_half_width",
    "jkr_load",
    "jkr_pull_off",
    "jkr_shear_detachment",
    "kendall_force",
    "lennard_jones_constants",
    "lennard_jones_potential",
    "lennard_jones_traction",
]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LennardJonesConstants:
    """Constants of the integrated Lennard-Jones curve, from the Hamaker constant A_H and r0.

    traction_scale T0 [Pa], gap_eq and gap_max [m], max_tension [Pa], work_of_adhesion [J/m^2],
    stiffness -dT/dg at gap_eq [Pa/m].
    """

    traction_scale: float
    gap_eq: float
    gap_max: float
    max_tension: float
    work_of_adhesion: float
    stiffness: float


def lennard_jones_constants(hamaker: float, r0: float) -> LennardJonesConstants:
    """Return the constants of the curve with A_H [J] and r0 [m].

    Source: formulas sheet of the adhesion paper, section 1.
    Verified by: tests/exact/test_adhesion.py::test_constants_are_those_of_the_curve
    """
    t0 = hamaker / (2.0 * np.pi * r0**3)
    return LennardJonesConstants(
        traction_scale=t0,
        gap_eq=r0 / 15.0 ** (1.0 / 6.0),
        gap_max=r0 / 5.0 ** (1.0 / 6.0),
        max_tension=np.sqrt(5.0) * hamaker / (9.0 * np.pi * r0**3),
        work_of_adhesion=15.0 ** (1.0 / 3.0) * hamaker / (16.0 * np.pi * r0**2),
        stiffness=2.0 * 15.0 ** (2.0 / 3.0) * t0 / r0,
    )


def lennard_jones_traction(gap: Any, hamaker: float, r0: float) -> Any:
    """Return T [Pa] at a gap [m], without regularisation; real or complex.

    T = A_H / (2 pi r0^3) [(r0/g)^9 / 45 - (r0/g)^3 / 3] with A_H = `hamaker` and the gap g.

    Source: Mergel, Scheibert, Sauer 2021, eq. (10).
    Verified by: tests/exact/test_adhesion.py::test_constants_are_those_of_the_curve
    """
    x = r0 / np.asarray(gap)
    return hamaker / (2.0 * np.pi * r0**3) * (x**9 / 45.0 - x**3 / 3.0)


def lennard_jones_potential(gap: Any, hamaker: float, r0: float) -> Any:
    """Return the work [J/m^2] of T from a gap [m] to infinity; real or complex.

    It is A_H / (2 pi r0^2) [(r0/g)^8 / 360 - (r0/g)^2 / 6] with A_H = `hamaker` and the gap g.

    Source: formulas sheet of the adhesion paper, section 1.
    Verified by: tests/exact/test_adhesion.py::test_potential_is_the_work
    """
    x = r0 / np.asarray(gap)
    return hamaker / (2.0 * np.pi * r0**2) * (x**8 / 360.0 - x**2 / 6.0)


def cohesive_zone_length(modulus: float, work: float, max_tension: float) -> float:
    """Return E* W / T_max^2 [m], the length that a mesh must resolve at a peeling front."""
    return modulus * work / max_tension**2


def hertz_half_width(load: npt.ArrayLike, radius: float, modulus: float) -> Floats:
    """Return the half width a [m] of a cylinder pressed on a plane, without adhesion.

    Parameters
    ----------
    load : P [N/m], >= 0
    radius : R [m]
    modulus : E* = E / (1 - nu^2) [Pa] against a rigid plane

    Source: formulas sheet of the adhesion paper, section 6.
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    return np.asarray(np.sqrt(4.0 * np.asarray(load) * radius / (np.pi * modulus)))


def cattaneo_mindlin_traction(
    x: npt.ArrayLike, load: float, shear: float, friction: float, half_width: float
) -> Floats:
    """Return the shear traction [Pa] of a pressed cylinder in partial slip.

    Dundurs' parameter beta is 0: shear and pressure are uncoupled. p0 = 2 P / (pi a) is the largest
    pressure.

    q = sgn(Q) mu p0 [sqrt(1 - x^2/a^2) - (c/a) sqrt(1 - x^2/c^2)], c/a = sqrt(1 - |Q| / (mu P));
    the second root counts for |x| < c only, the stick zone.

    Parameters
    ----------
    x : positions [m] from the middle of the contact
    load, shear : P and Q [N/m], |Q| <= mu P
    friction : mu [1]
    half_width : a [m]

    Source: formulas sheet of the adhesion paper, section 6.
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    stuck = np.sqrt(1.0 - np.abs(shear) / (friction * load))
    s = np.asarray(x, dtype=np.float64) / half_width
    outer = np.sqrt(np.maximum(1.0 - s**2, 0.0))
    inner = np.sqrt(np.maximum(stuck**2 - s**2, 0.0))
    peak = 2.0 * load / (np.pi * half_width)
    return np.asarray(np.sign(shear) * friction * peak * (outer - inner))


def jkr_load(half_width: npt.ArrayLike, radius: float, modulus: float, work: float) -> Floats:
    """Return the load P(a) [N/m] of an adhering cylinder with contact half width a [m].

    P = pi E* a^2 / (4 R) - sqrt(2 pi E* W a), with the work of adhesion W = `work` [J/m^2].

    Source: formulas sheet of the adhesion paper, section 6 (Barquins 1988).
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    a = np.asarray(half_width, dtype=np.float64)
    hertz = np.pi * modulus * a**2 / (4.0 * radius)
    return np.asarray(hertz - np.sqrt(2.0 * np.pi * modulus * work * a))


def jkr_pull_off(radius: float, modulus: float, work: float) -> tuple[float, float]:
    """Return half width a_c [m] and load P_c < 0 [N/m] where an adhering cylinder detaches.

    a_c = (2 W R^2 / (pi E*))^(1/3) and P_c = -3 (pi E* W^2 R / 16)^(1/3), the minimum of
    `jkr_load`.

    Source: formulas sheet of the adhesion paper, section 6.
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    a = (2.0 * work * radius**2 / (np.pi * modulus)) ** (1.0 / 3.0)
    return a, -3.0 * (np.pi * modulus * work**2 * radius / 16.0) ** (1.0 / 3.0)


def jkr_shear_detachment(
    load: float, radius: float, modulus: float, work: float
) -> tuple[float, float]:
    """Return a [m] and Q [N/m] at which shear without slip detaches a cylinder under load P.

    (pi E* a^2 / 4R - P)^2 + Q^2 = 2 pi E* W a, and Q is largest where
    (pi E* a^2 / 4R - P) a = 2 R W. Under a load below that of `jkr_pull_off` Q is NaN.

    Source: formulas sheet of the adhesion paper, section 6 (after Savkoor).
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    stiffness = np.pi * modulus / (4.0 * radius)
    roots = np.roots([stiffness, 0.0, -load, -2.0 * radius * work])
    a = float(max(root.real for root in roots if abs(root.imag) < 1e-9 * abs(root)))
    square = 2.0 * np.pi * modulus * work * a - (stiffness * a**2 - load) ** 2
    return a, float(np.sqrt(square)) if square >= 0.0 else np.nan


def kendall_force(angle: float, work: float, membrane_stiffness: float) -> float:
    """Return the force [N/m] that peels a strip off at `angle` [rad].

    F (1 - cos angle) + F^2 / (2 E' h) = W.

    Parameters
    ----------
    angle : between the pulled strip and the plane [rad]
    work : W_adh [J/m^2]
    membrane_stiffness : E' h [N/m]

    Source: formulas sheet of the adhesion paper, section 6 (Kendall).
    Verified by: tests/exact/test_adhesion.py::test_plane_contact
    """
    # both without cancellation: 1 - cos at small angles, the root for stiff strips
    b = 2.0 * np.sin(0.5 * angle) ** 2
    return float(2.0 * work / (b + np.sqrt(b**2 + 2.0 * work / membrane_stiffness)))
