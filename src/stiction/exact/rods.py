"""Closed forms of elastic rods in equilibrium: circle, elastica, buckling, helix; a published bend.

Tests compare the statics of Cosserat rods, ropes and knots with these results, and
`stiction.rods.wrapped.ropes` calls `rope_radius`. EI, GJ, EA and kGA are the stiffness of a rod in
bending [N m^2], twist [N m^2], tension [N] and shear [N]. Each function states its formula.

Source: formulas sheet of the rods paper names the benchmarks; Euler's elastica is classical.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "BEND_45_PUBLISHED",
    "bent_to_a_circle",
    "capstan_exponent",
    "complete_elliptic",
    "elastic_capstan_ratio",
    "elastica_tip",
    "euler_load",
    "helix_compliance",
    "plectoneme_load",
    "rope_friction",
    "rope_radius",
    "rope_stiffness",
]

Floats = npt.NDArray[np.float64]

# Tip of the 45-degree bend of radius 100 under an upward force at its free end: (x, y, z) with
# the bend in x-y. E = 1e7, G = 5e6, unit square section, polar moment of area 1/6. From Simo and
# Vu-Quoc, Comput. Methods Appl. Mech. Eng. 58 (1986) 79, eight linear elements.
BEND_45_PUBLISHED = {
    300.0: (58.84, 22.33, 40.08),
    450.0: (52.32, 18.62, 48.39),
    600.0: (47.23, 15.79, 53.37),
}


def bent_to_a_circle(length: float, bending: float, moment: float) -> Floats:
    """Return the tip (x, y) [m] of a cantilever along x, bent to an arc by a moment at its end.

    The curvature is M / EI, so the tip is (EI / M) (sin a, 1 - cos a) with a = M l / EI.

    Parameters
    ----------
    length : [m]
    bending : stiffness EI [N m^2]
    moment : at the free end [N m]
    """
    half = 0.5 * moment * length / bending
    # (sin a)/a and (1 - cos a)/a at a = 2 half, also at 0; np.sinc(a) is sin(pi a)/(pi a)
    return length * np.sinc(half / np.pi) * np.array([np.cos(half), np.sin(half)])


def capstan_exponent(mu: float, thickness: float) -> float:
    """Return lambda of the ratio of tensions exp(lambda theta) of a rope wound around a cylinder.

    The rope does not resist bending. Friction acts at its surface, a radius r from its axis, whose
    curvature is 1/rho: so moments about the axis of the cylinder give dT/dtheta = f (rho - r), the
    shear force is r f, and the normal force p = T/rho - r df/ds. With f = mu p

        lambda (1 + mu lambda r/rho) = mu (1 - r/rho) .

    Parameters
    ----------
    mu : coefficient of friction [1]
    thickness : r/rho [1]; theta is the turning of the tangent, so that it holds for a helix too
    """
    a = mu * thickness
    # the positive root of a lambda^2 + lambda = b, without a difference of nearly equal numbers
    b = mu * (1.0 - thickness)
    return float(2.0 * b / (1.0 + np.sqrt(1.0 + 4.0 * a * b)))


def elastic_capstan_ratio(mu: float, angle: float, bending: float, thickness: float = 0.0) -> float:
    """Return the ratio F1/F0 of forces at a rod that slips on a cylinder and resists bending.

    The rod is straight without load. A strand far from the cylinder is straight along its force F.
    By the first integral of the elastica, B kappa^2 / 2 = F (1 - cos phi), it has turned by phi
    where it meets the cylinder with kappa = 1/rho:

        1 - cos phi = B / (2 F rho^2) .

    Its shear force F sin phi ends there in a point force of contact, with the friction
    mu F sin phi. In the arc between, theta - phi0 - phi1, the tension grows by exp(lambda), so

        F1 (cos phi1 - mu sin phi1)
            = F0 (cos phi0 + mu sin phi0) exp(lambda (theta - phi0 - phi1)) ,

    or to first order in B: ln(F1/F0) = mu theta - (1 + mu^2) (B/rho^2) (1/F0 - 1/F1) / 2.

    Parameters
    ----------
    mu : coefficient of friction [1]
    angle : theta between both forces [rad]
    bending : B / (F0 rho^2) [1], rho from the axis of the cylinder to that of the rod
    thickness : r/rho [1], in lambda of `capstan_exponent`; the moment of the friction of point
        forces is left out, of first order in r/rho

    Raises
    ------
    ValueError : if the rod is too stiff or the angle too small for an arc of contact.

    Source: the problem is that of Singh, J. Elasticity 151 (2022) 321; derived here.
    Verified by: tests/exact/test_wrapped_rods.py::test_elastic_capstan
    """
    exponent = capstan_exponent(mu, thickness)
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.arccos(1.0 - 0.5 * bending)
        start = np.log(np.cos(first) + mu * np.sin(first))

        def turned(ratio: float) -> float:
            return float(np.arccos(1.0 - 0.5 * bending / ratio))

        def excess(ratio: float) -> float:
            last = turned(ratio)
            end = np.log(np.cos(last) - mu * np.sin(last))
            return float(start - end + exponent * (angle - first - last) - np.log(ratio))

        # it falls strictly with the ratio, from where the point force at the end locks
        low = max(0.5 * bending / (1.0 - mu / np.hypot(1.0, mu)), 1e-3)
        high = 2.0 * low
        while excess(high) > 0.0:
            low, high = high, 2.0 * high
        while high - low > 4e-16 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    # (a comparison with NaN is false)
    if not (np.isfinite(start) and angle - first - turned(high) >= 0.0):
        raise ValueError(
            f"elastic_capstan_ratio: angle = {angle}, bending = {bending}; needs an angle of at "
            "least phi0 + phi1 and a bending of few units, so that the rod touches the cylinder "
            "along an arc."
        )
    return float(high)


def euler_load(length: float, bending: float) -> float:
    """Return the buckling load of a column clamped at one end, pi^2 EI / (4 l^2) [N]."""
    return float(np.pi**2 * bending / (4.0 * length**2))


def helix_compliance(
    radius: float,
    pitch: float,
    turns: float,
    *,
    bending: float,
    twist: float,
    axial: float = np.inf,
    shear: float = np.inf,
) -> Floats:
    """Return (2, 2) extension [m] and rotation [rad] of a helical spring by axial force and moment.

    A force F along the axis of the helix and a moment M about it are a moment M e_z + F R e_theta
    at any section. With the pitch angle a, tan a = p / (2 pi R), its twisting and bending parts are

        m_t = F R cos a + M sin a,   m_b = M cos a - F R sin a ,

    constant along the wire of length l, and the force has the parts F sin a and F cos a along and
    across the wire. The energy, l/2 times

        m_t^2 / GJ + m_b^2 / EI + F^2 sin^2 a / EA + F^2 cos^2 a / kGA ,

    has the derivatives by F and M that are extension and rotation. For a small pitch the stiffness
    1 / c_00 is GJ / (2 pi R^3 n), which is G d^4 / (8 D^3 n) of a round wire. A rotation is
    positive about the direction of the force; the pitch of a left-handed helix is negative. An end
    that does not rotate has the stiffness c_11 / det c.

    Parameters
    ----------
    radius : of the axis of the wire R [m]
    pitch : p [m]
    turns : n [1]
    bending, twist : stiffness EI and GJ of the wire [N m^2]
    axial, shear : stiffness EA and kGA of the wire [N]; infinite in Kirchhoff's theory

    Source: Love, A Treatise on the Mathematical Theory of Elasticity, 4th ed., sections 270-271,
    to first order in the loads.
    """
    a = np.arctan2(pitch, 2.0 * np.pi * radius)
    length = turns * np.hypot(2.0 * np.pi * radius, pitch)
    cos, sin = np.cos(a), np.sin(a)
    by_force = np.array([radius * cos, -radius * sin])
    by_moment = np.array([sin, cos])
    wire = np.array([1.0 / twist, 1.0 / bending])
    stretch = sin * sin / axial + cos * cos / shear
    mixed = by_force @ (wire * by_moment)
    extension = by_force @ (wire * by_force) + stretch
    return np.asarray(length * np.array([[extension, mixed], [mixed, by_moment**2 @ wire]]))


def rope_radius(strands: int, lay: float) -> tuple[float, float]:
    """Return R/a of a rope whose neighbouring strands touch, and its logarithmic slope by the lay.

    The axes are helices of radius R and lay angle alpha (between strand and rope), 2 pi/n apart.
    The squared distance of a point from its neighbour at the angle 2 pi/n + d is

        R^2 (2 - 2 cos(2 pi/n + d) + d^2 / tan^2 alpha) ;

    its smallest value is (2 a)^2. There sin(2 pi/n + d) + d / tan^2 alpha = 0, and by the envelope
    d ln R / d alpha = (R/a)^2 d^2 / (4 tan alpha sin^2 alpha).

    Parameters
    ----------
    strands : n, at least 2
    lay : alpha, below pi/4 [rad]
    """
    angle, slope, turn = 2.0 * np.pi / strands, np.tan(lay) ** -2.0, 0.0
    for _ in range(100):
        # the distance is convex in d for alpha < pi/4
        turn -= (np.sin(angle + turn) + turn * slope) / (np.cos(angle + turn) + slope)
    square = 4.0 / (2.0 - 2.0 * np.cos(angle + turn) + turn**2 * slope)
    rate = 0.25 * square * turn**2 / (np.tan(lay) * np.sin(lay) ** 2)
    return float(np.sqrt(square)), float(rate)


def rope_stiffness(
    strands: int,
    lay: float,
    radius: float,
    *,
    axial: float,
    bending: float,
    twist: float,
) -> Floats:
    """Return (2, 2) axial force [N] and moment [N m] of a rope by strain and twist, no friction.

    The helices of n strands are unloaded. Strain e and twist t per length of the rope change
    advance cos alpha and turning sin alpha / R of a strand per length to

        z' = (1 + e) cos alpha,   theta' = sin alpha / R + t cos alpha ,

    and so its lay angle, tan alpha = R theta' / z', and R with it. A strand is stretched by

        e cos^2 alpha + t R sin alpha cos alpha + (dR/R) sin^2 alpha ,

    and its curvature theta' sin alpha and torsion theta' cos alpha (per unloaded length) change.
    Forces of contact are radial and do no work beyond that, so the energy is quadratic in these
    three, and the stiffness is n J^T diag(EA, EI, GJ) J / cos alpha, J their rates by e and t. For
    small lay angles F = n EA e and M = F R tan alpha.

    Parameters
    ----------
    strands : n, at least 2
    lay : alpha, below pi/4 [rad]
    radius : a of a strand [m]
    axial, bending, twist : stiffness EA [N], EI and GJ [N m^2] of a strand

    Source: the strains are those of Love, A Treatise on the Mathematical Theory of Elasticity, 4th
    ed., and Costello, Theory of Wire Rope (1997); derived here, with R by `rope_radius`.
    Verified by: tests/exact/test_ropes.py::test_rope_under_tension_and_twist
    """
    ratio, slope = rope_radius(strands, lay)
    r, sin, cos = ratio * radius, np.sin(lay), np.cos(lay)
    # rows by e and t: of ln theta', and of alpha
    turning = np.array([0.0, r * cos / sin])
    angle = sin * cos * (turning - [1.0, 0.0]) / (1.0 - slope * sin * cos)
    stretch = [cos**2, 0.0] + sin**2 * (turning + slope * angle)
    rate = sin / r
    curvature = rate * (sin * turning + cos * angle)
    torsion = rate * (cos * turning - sin * angle)
    strains = np.array([stretch, curvature, torsion])
    return np.asarray(strands / cos * strains.T @ np.diag([axial, bending, twist]) @ strains)


def rope_friction(strands: int, lay: float, mu: float) -> float:
    """Return the relative change of the moment of a rope by strands that slip along each other.

    As a rope is pulled its lay angle falls, so each strand slips along its neighbours, to opposite
    sides. The normal forces p per length on both sides hold the tension T against its curvature,
    2 p sin(pi/n) = T sin^2 alpha / R. Their friction mu p has no resultant but the moment
    2 a mu p cos(pi/n) about the radial direction, which a shear force -Q of that size balances. Its
    moment about the rope, -R Q cos alpha, is added to R T sin alpha:

        dM / M = -mu (a/R) cot(pi/n) sin alpha cos alpha ,

    to first order in mu. Two strands have no such moment.

    Parameters
    ----------
    strands : n, at least 2
    lay : alpha, below pi/4 [rad]
    mu : coefficient of friction [1]

    Verified by: tests/exact/test_ropes.py::test_friction_of_a_rope
    """
    ratio, _ = rope_radius(strands, lay)
    return float(-mu * np.sin(lay) * np.cos(lay) / (ratio * np.tan(np.pi / strands)))


def plectoneme_load(angle: float, radius: float, bending: float) -> tuple[float, float]:
    """Return tension [N] and moment [N m] of the tails of a long plectoneme without friction.

    Both strands of the double helix have the radius R of the rod as distance from the axis. With
    the lay angle a, a length l of the rod in the double helix has the bending energy
    B sin^4 a l / 2 R^2, and takes l from the distance of the ends and l sin 2a / 2 R from the
    twist. Forces T and moments M of the tails do work on these; l and a are stationary:

        M = 2 B sin^3 a cos a / (R cos 2a),   T = B sin^4 a (1/2 + 1 / cos 2a) / R^2 .

    The energy of the loop at the end does not depend on l. The stiffness of twist does not enter.

    Parameters
    ----------
    angle : lay angle between strand and axis, below pi / 4 [rad]
    radius : of the rod [m]
    bending : stiffness EI [N m^2]

    Source: derived above; Clauvelin, Audoly, Neukirch 2008, Macromolecules 41, 4479 have the same.
    Verified by: tests/exact/test_knots.py::test_plectoneme
    """
    sine, double = np.sin(angle), np.cos(2.0 * angle)
    moment = 2.0 * bending * sine**3 * np.cos(angle) / (radius * double)
    return float(bending * sine**4 * (0.5 + 1.0 / double) / radius**2), float(moment)


def complete_elliptic(k: float) -> tuple[float, float]:
    """Return the complete elliptic integrals K(k) and E(k) of modulus k (k^2 is the parameter m).

    They are computed by the arithmetic-geometric mean: with a_0 = 1, b_0 = sqrt(1 - k^2), c_0 = k
    and c_(n+1) = (a_n - b_n) / 2, K = pi / (2 a_inf) and E = K (1 - sum 2^(n-1) c_n^2).
    """
    return _complete_elliptic(k, float(np.sqrt((1.0 - k) * (1.0 + k))))


def _complete_elliptic(k: float, complement: float) -> tuple[float, float]:
    """Return K and E; the complementary modulus sqrt(1 - k^2) is given, without cancellation."""
    a, b, c, power, lost = 1.0, complement, k, 0.5, 0.5 * k * k
    for _ in range(40):
        a, b, c = 0.5 * (a + b), np.sqrt(a * b), 0.5 * (a - b)
        power *= 2.0
        lost += power * c * c
        if abs(c) < 1e-17:
            break
    first = np.pi / (2.0 * a)
    return float(first), float(first * (1.0 - lost))


def elastica_tip(length: float, bending: float, load: float) -> Floats:
    """Return the tip (x, y) of a buckled cantilever along x, pressed by `load` along -x [m].

    With the modulus k at which K(k) = l sqrt(P / EI), P = `load`, the tip of Euler's elastica is
    x = l (2 E(k) / K(k) - 1), y = 2 l k / K(k). The rod neither stretches nor shears. A Cosserat
    rod whose shear stiffness equals its axial stiffness S has the same angles, and its tip is
    displaced by -load * length / S along x.

    Parameters
    ----------
    load : above Euler's load [N]
    """
    wanted = length * np.sqrt(load / bending)
    # bisect in q = -ln sqrt(1 - k^2), for which K > q; at q = 300 already k = E = 1 to rounding
    low, high = 0.0, min(wanted, 300.0)
    for _ in range(200):
        q = 0.5 * (low + high)
        if _complete_elliptic(*_moduli(q))[0] < wanted:
            low = q
        else:
            high = q
    k, complement = _moduli(0.5 * (low + high))
    first, second = _complete_elliptic(k, complement)
    first = max(first, wanted)
    return np.array([2.0 * second / first - 1.0, 2.0 * k / first]) * length


def _moduli(q: float) -> tuple[float, float]:
    """Return k and sqrt(1 - k^2) = e^-q."""
    return float(np.sqrt(-np.expm1(-2.0 * q))), float(np.exp(-q))
