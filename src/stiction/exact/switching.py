"""Closed forms of Filippov systems, which the event-driven solver must reproduce.

The systems are a block on a belt, a relay, the normal form of a two-fold singularity, and the wheel
on a turntable (Szalai, Jeffrey 2014, "the wheel paper"), with all derivatives written out by hand.
At a two-fold both fields f+ and f- are tangent to the surface h = 0: with the rates
L+- = grad h . f+- this is L+ = L- = 0. Symbols are those of docs/notation.md, "Filippov flows".
Tests of `stiction.switching` and of the wheel's figures call these functions. The module uses NumPy
only, so that no check is circular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "BeltCycle",
    "Turntable",
    "WheelTwoFold",
    "belt_cycle",
    "crossing_map",
    "crossing_multipliers",
    "crossing_ray",
    "field_parts",
    "lie_gradients",
    "lie_parts",
    "relay_half_period",
    "sliding_arrival",
    "sliding_eigenvalues",
    "sliding_orbit",
    "two_folds_of",
    "wheel_two_fold",
]

Floats = npt.NDArray[np.float64]


# ---- a block on a belt


@dataclass(frozen=True)
class BeltCycle:
    """The stick-slip cycle of a block on a belt.

    Parameters
    ----------
    slip_time, stick_time, period : [1]
    x_stick : displacement at which the block sticks to the belt again [1]
    """

    slip_time: float
    stick_time: float
    period: float
    x_stick: float


def belt_cycle(mu0: float, alpha: float, belt_speed: float) -> BeltCycle:
    """Return the stick-slip cycle of x'' + x = mu0 - alpha (vb - x'), x' < vb.

    The block sticks while -mu0 <= x <= mu0. Slip begins at x = mu0, x' = vb with x'' = 0, and x''
    obeys the homogeneous equation, so that with w = sqrt(1 - alpha^2 / 4)

        x'' = -(vb / w) e^(alpha t / 2) sin(w t),
        x' - vb = (vb / w) (e^(alpha t / 2) (w cos w t - (alpha / 2) sin w t) - w).

    The second line has exactly one zero in (pi / w, 2 pi / w]: the end of slip, where
    x = mu0 - x''. The durations depend on neither mu0 nor vb.

    Parameters
    ----------
    mu0 : friction at the belt's speed over normal force and stiffness [1], > 0
    alpha : weakening per relative speed [1], 0 <= alpha < 2
    belt_speed : vb [1], > 0

    Raises
    ------
    ValueError : if slip ends beyond -mu0, where the block cannot stick.

    Source: derived here from the equation in the reference numbers (`belt`).
    Verified by: tests/exact/test_switching_closed_forms.py::test_belt_cycle
    """
    if not 0.0 <= alpha < 2.0:
        raise ValueError(f"belt_cycle: alpha = {alpha}; needs 0 <= alpha < 2 for a cycle")
    w = float(np.sqrt(1.0 - 0.25 * alpha**2))

    def slip_speed(t: float) -> float:
        wave = w * np.cos(w * t) - 0.5 * alpha * np.sin(w * t)
        return float(np.exp(0.5 * alpha * t) * wave - w)

    end = _bisect(slip_speed, np.pi / w, 2.0 * np.pi / w)
    # x'' / vb at the end of slip: distance of x_stick from x = mu0, in units of vb
    reach = -float(np.exp(0.5 * alpha * end) * np.sin(w * end)) / w
    x_stick = mu0 - belt_speed * reach
    if x_stick < -mu0:
        raise ValueError(f"belt_cycle: the block meets the belt at x = {x_stick}, below -mu0")
    return BeltCycle(end, reach, end + reach, x_stick)


# ---- relay feedback


def relay_half_period(order: int = 3) -> float:
    """Return half the period [1] of the cycle of the linear system 1/(s + 1)^n under a relay.

    n >= 3 is `order`, y the output, and u = -sgn(y) the input: (d/dt + 1)^n y = u. While u = -1,
    y + 1 = e^(-t) (c_0 + c_1 t + ... + c_(n-1) t^(n-1) / (n-1)!). The states (d/dt + 1)^j y change
    sign after half a period T, which with E = e^(-T) gives

        c_j (1 + E) = 2 - E (c_(j+1) T + c_(j+2) T^2 / 2 + ...),

    from the last coefficient to the first. The switch at t = 0 is at y = 0: c_0 = 1.

    Source: derived here; the reference numbers have n = 3 (`relay_1_over_s+1_cubed`).
    Verified by: tests/exact/test_switching_closed_forms.py::test_relay_half_period
    """
    if order < 3:
        raise ValueError(f"relay_half_period: order {order}; a relay cycle needs at least 3")

    # c_0 - 1 if half the period is t
    def start(t: float) -> float:
        """Return c_0 - 1 for the half period t."""
        decayed = float(np.exp(-t))
        later: list[float] = []
        for _ in range(order):
            total, term = 0.0, 1.0
            for j, c in enumerate(later, start=1):
                term *= t / j
                total += c * term
            later.insert(0, (2.0 - decayed * total) / (1.0 + decayed))
        return later[0] - 1.0

    # the describing function puts the oscillation at the phase of -180 degrees
    guess = np.pi / np.tan(np.pi / order)
    return _bisect(start, 0.7 * guess, 1.5 * guess)


# ---- the normal form of a two-fold: h = x, f+ = (-y, 1, J1), f- = (z, J2, 1)


def sliding_eigenvalues(j1: npt.ArrayLike, j2: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return l1 >= l2, the eigenvalues of [[J1, 1], [1, J2]]; eigenvectors (l - J2, 1).

    Source: formulas sheet of the wheel paper, section 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_sliding_orbit
    """
    j1, j2 = np.asarray(j1, dtype=np.float64), np.asarray(j2, dtype=np.float64)
    half, root = 0.5 * (j1 + j2), 0.5 * np.hypot(j1 - j2, 2.0)
    return np.asarray(half + root), np.asarray(half - root)


def sliding_orbit(
    s: npt.ArrayLike, j1: float, j2: float, start: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return (z, y) along the sliding orbit from `start`, and the time, at desingularised s.

    (z, y)' = A (z, y) / (z + y) with A = [[J1, 1], [1, J2]] is linear in ds = dt / (z + y):
    (z, y) = e^(A s) (z0, y0), t = (1, 1) A^-1 (e^(A s) - 1) (z0, y0).

    Parameters
    ----------
    s : (n,) desingularised times [1]
    start : (z0, y0), both > 0 in the sliding region

    Returns
    -------
    (n, 2) points and (n,) times. In the escaping region z + y < 0 and time runs against s.

    Source: formulas sheet of the wheel paper, section 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_sliding_orbit
    """
    values, vectors = np.linalg.eigh(np.array([[j1, 1.0], [1.0, j2]]))
    amplitude = vectors.T @ np.asarray(start, dtype=np.float64)
    s = np.atleast_1d(np.asarray(s, dtype=np.float64))
    points = (np.exp(s[:, None] * values) * amplitude) @ vectors.T
    # J1 J2 = 1 has an eigenvalue of zero, for which it is s
    safe = np.where(values == 0.0, 1.0, values)
    grown = np.where(values == 0.0, s[:, None], np.expm1(s[:, None] * values) / safe) * amplitude
    return points, np.asarray(np.sum(grown @ vectors.T, axis=1))


def sliding_arrival(j1: float, j2: float, start: tuple[float, float]) -> float:
    """Return the time at which a sliding orbit of case 1 arrives at the two-fold.

    T = -(1, 1) A^-1 (z0, y0), the time of `sliding_orbit` for s to infinity.

    Raises
    ------
    ValueError : unless J1, J2 < 0 and J1 J2 > 1 (case 1).

    Source: formulas sheet of the wheel paper, section 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_normal_form_arrival
    """
    if not (j1 < 0.0 and j2 < 0.0 and j1 * j2 > 1.0):
        raise ValueError(
            f"sliding_arrival: J1 = {j1}, J2 = {j2}; needs case 1, J1 < 0, J2 < 0 and J1 J2 > 1"
        )
    z, y = start
    return -(((j2 - 1.0) * z + (j1 - 1.0) * y) / (j1 * j2 - 1.0))


def crossing_map(side: int, j1: float, j2: float, y: float, z: float) -> tuple[float, float, float]:
    """Return the point (y, z) at which an orbit returns to the surface, and the time it takes.

    With side 1 the orbit starts at y < 0 and passes h > 0; otherwise it starts at z < 0 and passes
    h < 0. The fields are those of the normal form in the heading of this section, with J1, J2.

    Source: formulas sheet of the wheel paper, section 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_crossing_maps
    """
    if side > 0:
        return -y, z - 2.0 * j1 * y, -2.0 * y
    return y - 2.0 * j2 * z, -z, -2.0 * z


def crossing_multipliers(j1: npt.ArrayLike, j2: npt.ArrayLike) -> npt.NDArray[np.complex128]:
    """Return both multipliers of one turn, h > 0 then h < 0, on a last axis of length 2.

    2 P - 1 +- 2 sqrt(P (P - 1)) with P = J1 J2; their product is 1.

    Source: formulas sheet of the wheel paper, section 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_crossing_maps
    """
    product = np.asarray(np.multiply(j1, j2), dtype=np.complex128)
    root = 2.0 * np.sqrt(product * (product - 1.0))
    return np.stack([2.0 * product - 1.0 + root, 2.0 * product - 1.0 - root], axis=-1)


def crossing_ray(j1: float, j2: float) -> float:
    """Return z / y of the ray on which orbits spiral out, where they enter h > 0.

    An eigenvector of one turn with multiplier m > 1 has z / y = 2 J1 / (m + 1).

    Source: formulas sheet of the wheel paper, section 5 (-0.4 for J1 = -1.2, J2 = -1.5).
    Verified by: tests/exact/test_switching_closed_forms.py::test_crossing_maps
    """
    if not (j1 < 0.0 and j2 < 0.0 and j1 * j2 > 1.0):
        got = f"crossing_ray: got J1 = {j1}, J2 = {j2}"
        needs = "needs J1 < 0, J2 < 0 and J1 J2 > 1"
        raise ValueError(f"{got}; {needs}: only then do orbits cross and spiral out.")
    return 2.0 * j1 / (float(crossing_multipliers(j1, j2)[0].real) + 1.0)


# ---- the wheel on a turntable


@dataclass(frozen=True)
class Turntable:
    """Parameters of the wheel that do not depend on the position of its two-fold.

    Parameters
    ----------
    d : distance of the slit from the axis [m]
    m : mass of the slider [kg]
    c1, c2 : damping of the disk [N m s] and of the slider [N s/m]
    beta : radius of gyration of the disk [m]; its moment of inertia is m beta^2
    r0 : position of the slider at which the spring is unstressed [m]
    omega0 : speed of the turntable [1/s]
    mu : friction force [N]
    gamma : angle of the wheel to the slit [rad]
    """

    d: float
    m: float
    c1: float
    c2: float
    beta: float
    r0: float
    omega0: float
    mu: float
    gamma: float


@dataclass(frozen=True)
class WheelTwoFold:
    """Two-folds of the wheel at positions (r*, omega*), with their local numbers, as arrays.

    Parameters
    ----------
    r, omega, v : the position [m, 1/s, m/s]
    kappa, k2 : moment over force [m] and spring stiffness [N/m] for which it is a two-fold
    g : rolling velocity there [m/s]; its sign is part of the law
    kpp, kpm, kmp, kmm : K_ab = d(L_a) . f^b in scaled time
    j1, j2 : J1 = K-+ / sqrt(-K++ K--), J2 = -K+- / sqrt(-K++ K--); NaN if not K++ < 0 < K--
        or its mirror image
    lambda1, lambda2 : eigenvalues of the normal form, lambda1 >= lambda2
    rate1, rate2 : eigenvalues of the desingularised sliding field in scaled time
    case : 1, 2, 3 of the invisible-invisible two-fold; 0 for any other
    """

    r: Floats
    omega: Floats
    v: Floats
    kappa: Floats
    k2: Floats
    g: Floats
    kpp: Floats
    kpm: Floats
    kmp: Floats
    kmm: Floats
    j1: Floats
    j2: Floats
    lambda1: Floats
    lambda2: Floats
    rate1: Floats
    rate2: Floats
    case: npt.NDArray[np.int64]

    @property
    def flags(self) -> dict[str, npt.NDArray[np.bool_]]:
        """The conditions of Fig. 4, panels b to f, and of panel g: g1 k2 > 0, g2 kappa > 0."""
        return {
            "b": self.kmm > 0.0,
            "c": self.kpp < 0.0,
            "d": self.j1 < 0.0,
            "e": self.j2 < 0.0,
            "f": self.j1 * self.j2 > 1.0,
            "g1": self.k2 > 0.0,
            "g2": self.kappa > 0.0,
        }


def field_parts(
    table: Turntable, kappa: npt.ArrayLike, k2: npt.ArrayLike, sign: npt.ArrayLike, x: npt.ArrayLike
) -> tuple[npt.NDArray[np.inexact], npt.NDArray[np.inexact]]:
    """Return f0 and f_lam with x' = f0 + lam f_lam in scaled time, on h = 0 and g of `sign`.

    h is the slip velocity of the wheel, g its rolling velocity, and lam the friction force [N],
    -mu <= lam <= mu; the fields of both sides are f+- = f0 +- mu f_lam. Scaled time tau has
    dt = m (beta^2 + r^2) dtau.

    Parameters
    ----------
    kappa, k2 : moment over force [m] and spring stiffness [N/m]
    sign : sign of g
    x : (3, ...) states r [m], v [m/s], omega [1/s]; complex ones for the complex step

    Source: formulas sheet of the wheel paper, sections 1 and 3, with M = sgn(g) kappa lam.
    Verified by: tests/exact/test_switching_closed_forms.py::test_field_parts
    """
    r, v, w = np.asarray(x)
    p1, p2, drag, inertia = _terms(table, k2, r, v, w)
    cos = np.cos(table.gamma)
    moment = np.multiply(sign, kappa)
    free = np.stack(
        [
            table.m * inertia * v,
            (inertia + table.d**2) * p1 - table.d * drag * w,
            table.d * p1 - drag * w,
        ]
    )
    turned = np.broadcast_arrays(0.0 * r, p2 + table.d * moment, r * cos + moment)
    return free, np.stack(turned)


def lie_parts(
    table: Turntable, kappa: npt.ArrayLike, k2: npt.ArrayLike, sign: npt.ArrayLike, x: npt.ArrayLike
) -> tuple[npt.NDArray[np.inexact], npt.NDArray[np.inexact]]:
    """Return A and B of h' = B + lam A on the surface; arguments as for `field_parts`.

    A = -(r^2 + beta^2 sin^2 gamma) - sgn(g) kappa r cos gamma,
    B = -p1 p2 - m (beta^2 + r^2) v Om cos gamma + r cos gamma (c1 + 2 m r v) w,

    with the angular velocity w of the disk, Om = w - omega0, p1 = k2 (r0 - r) - c2 v + m r w^2 and
    p2 = d r cos gamma + (beta^2 + r^2) sin gamma.

    Source: formulas sheet of the wheel paper, section 3.
    Verified by: tests/exact/test_switching_closed_forms.py::test_lie_parts_and_gradients
    """
    r, v, w = np.asarray(x)
    p1, p2, drag, inertia = _terms(table, k2, r, v, w)
    cos, sin = np.cos(table.gamma), np.sin(table.gamma)
    a = -(r**2 + (table.beta * sin) ** 2) - np.multiply(sign, kappa) * r * cos
    b = -p1 * p2 - table.m * inertia * v * (w - table.omega0) * cos + r * cos * drag * w
    return np.asarray(a), np.asarray(b)


def lie_gradients(
    table: Turntable, kappa: npt.ArrayLike, k2: npt.ArrayLike, sign: npt.ArrayLike, x: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Return the gradients (3, ...) of A and B; arguments as for `field_parts`.

    Source: derived by hand from `lie_parts`.
    Verified by: tests/exact/test_switching_closed_forms.py::test_lie_parts_and_gradients
    """
    r, v, w = np.asarray(x, dtype=np.float64)
    p1, p2, drag, inertia = _terms(table, k2, r, v, w)
    cos, sin, m = np.cos(table.gamma), np.sin(table.gamma), table.m
    slip = w - table.omega0
    p1_r, p1_v, p1_w = m * w**2 - k2, -table.c2, 2.0 * m * r * w
    p2_r = table.d * cos + 2.0 * r * sin
    a_r = -2.0 * r - np.multiply(sign, kappa) * cos
    b_r = -p1_r * p2 - p1 * p2_r - 2.0 * m * r * v * slip * cos
    b_r = b_r + cos * drag * w + 2.0 * m * r * v * w * cos
    b_v = -p1_v * p2 - m * inertia * slip * cos + 2.0 * m * r**2 * w * cos
    b_w = -p1_w * p2 - m * inertia * v * cos + r * cos * drag
    none = np.zeros_like(a_r)
    return np.stack([a_r, none, none]), np.stack(np.broadcast_arrays(b_r, b_v, b_w))


def wheel_two_fold(table: Turntable, r: npt.ArrayLike, omega: npt.ArrayLike) -> WheelTwoFold:
    """Return the two-fold at r* and omega*, with the kappa and k2 for which it exists.

    v* follows from h = 0, kappa from A = 0 with the sign of g* = r* Om* / sin gamma, and k2
    from B = 0. The K_ab are products of the gradients of L+- = B +- mu A with the fields;
    lam may be held at +-mu, because h / g is stationary along both fields there.

    Parameters
    ----------
    r, omega : r* [m] and omega* [1/s], numbers or arrays

    Source: Szalai, Jeffrey 2014, (9)-(11); formulas sheet, sections 4 and 5.
    Verified by: tests/exact/test_switching_closed_forms.py::test_two_fold_reference
    """
    r, omega = np.broadcast_arrays(np.asarray(r, dtype=np.float64), np.asarray(omega, dtype=float))
    # v* from h = 0, kappa from A = 0, k2 from B = 0
    cos, sin, mu = np.cos(table.gamma), np.sin(table.gamma), table.mu
    slip = omega - table.omega0
    v = slip * (table.d - r * cos / sin)
    g = r * slip / sin
    sign = np.sign(g)
    kappa = -sign * (r**2 + (table.beta * sin) ** 2) / (r * cos)
    _, p2, drag, inertia = _terms(table, 0.0, r, v, omega)
    p1 = (r * cos * drag * omega - table.m * inertia * v * slip * cos) / p2
    k2 = (p1 + table.c2 * v - table.m * r * omega**2) / (table.r0 - r)
    # K_ab = grad(B + a mu A) . (f0 + b mu f_lam), then J1, J2, eigenvalues and case
    x = np.stack([r, v, omega])
    f0, f_lam = field_parts(table, kappa, k2, sign, x)
    grad_a, grad_b = lie_gradients(table, kappa, k2, sign, x)
    k = {
        (a, b): np.sum((grad_b + a * mu * grad_a) * (f0 + b * mu * f_lam), axis=0)
        for a in (1, -1)
        for b in (1, -1)
    }
    square = -k[1, 1] * k[-1, -1]
    size = np.sqrt(np.where(square > 0.0, square, np.nan))
    j1, j2 = k[-1, 1] / size, -k[1, -1] / size
    l1, l2 = sliding_eigenvalues(j1, j2)
    case = np.where(j1 * j2 < 1.0, 3, np.where((j1 < 0.0) & (j2 < 0.0), 1, 2))
    case = np.where((k[1, 1] < 0.0) & (k[-1, -1] > 0.0), case, 0)
    rate = 0.5 * size / mu
    sharp = (k[1, 1], k[1, -1], k[-1, 1], k[-1, -1])
    return WheelTwoFold(
        r, omega, v, kappa, k2, g, *sharp, j1, j2, l1, l2, l1 * rate, l2 * rate, case
    )


def two_folds_of(table: Turntable, kappa: float, k2: float) -> Floats:
    """Return all two-folds (n, 3) of a wheel, rows r*, v*, omega*: at most four for each sign of g.

    For either sign s of g: r^2 + s kappa cos(gamma) r + beta^2 sin^2(gamma) = 0, then B = 0
    is quadratic in omega, and only roots with sgn(r Om / sin gamma) = s count. The paper's
    "at most four" is the count for one rolling direction.

    Source: formulas sheet of the wheel paper, section 4.
    Verified by: tests/exact/test_switching_closed_forms.py::test_all_two_folds,
    tests/exact/test_switching_closed_forms.py::test_the_papers_count_of_two_folds
    """
    cos, sin, m, w0 = np.cos(table.gamma), np.sin(table.gamma), table.m, table.omega0
    found = []
    for s in (1.0, -1.0):
        for r in _real_roots(1.0, s * kappa * cos, (table.beta * sin) ** 2):
            lever = table.d - r * cos / sin
            inertia = table.beta**2 + r**2
            p2 = table.d * r * cos + inertia * sin
            pull = m * lever * cos
            a = -p2 * m * r - pull * (inertia - 2.0 * r**2)
            b = p2 * table.c2 * lever + r * cos * table.c1
            b += 2.0 * pull * w0 * (inertia - r**2)
            c = -p2 * (k2 * (table.r0 - r) + table.c2 * lever * w0) - pull * inertia * w0**2
            valid = [w for w in _real_roots(a, b, c) if s * r * (w - w0) / sin > 0.0]
            found += [[r, lever * (w - w0), w] for w in valid]
    return np.array(found).reshape(-1, 3)


def _terms(
    table: Turntable, k2: npt.ArrayLike, r: Floats, v: Floats, w: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return p1, p2, c1 + 2 m r v and beta^2 + r^2; see `lie_parts`."""
    p1 = np.multiply(k2, table.r0 - r) - table.c2 * v + table.m * r * w**2
    inertia = table.beta**2 + r**2
    p2 = table.d * r * np.cos(table.gamma) + inertia * np.sin(table.gamma)
    return p1, p2, table.c1 + 2.0 * table.m * r * v, inertia


def _real_roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a x^2 + b x + c without cancellation."""
    square = b * b - 4.0 * a * c
    if square < 0.0:
        return []
    half = -0.5 * (b + float(np.copysign(np.sqrt(square), b)))
    roots = [high / low for high, low in ((half, a), (c, half)) if low != 0.0]
    # a double root counts once
    return roots[:1] if square == 0.0 else roots


def _bisect(gap: Callable[[float], float], low: float, high: float) -> float:
    """Return the sign change of `gap` between `low` and `high` to the last bit."""
    falling = gap(low) > 0.0
    if falling == (gap(high) > 0.0) and gap(high) != 0.0:
        raise ValueError("no change of sign in the bracket")
    while low < (middle := 0.5 * (low + high)) < high:
        if (gap(middle) > 0.0) == falling:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
