"""Two-folds of the wheel: their positions, their classification, and parameters that give them.

A two-fold is a point with h = L+ = L- = 0, L+- the rates of h along the fields of both sides. The
numbers K_ab, derivatives of L_a along the field of side b, classify it. Positions follow from
quadratic equations; `fold_kernels` has the K_ab. `WheelOnTurntable` calls these functions.

For K++ < 0 < K-- the numbers J1 = K-+ / sqrt(-K++ K--) and J2 = -K+- / sqrt(-K++ K--) determine the
local sliding flow, whose matrix is [[J1, 1], [1, J2]].

Source: Szalai, Jeffrey 2014, section IV; formulas sheet, sections 3 to 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.switching.wheel.parameters import Parameters

if TYPE_CHECKING:
    from stiction.switching.wheel.model import WheelOnTurntable

__all__ = ["WheelTwoFolds", "all_two_folds", "degenerate_places", "placed_two_folds"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WheelTwoFolds:
    """Two-folds with their local numbers, arrays of one shape.

    Parameters
    ----------
    r, v, omega : the states [m, m/s, rad/s]
    g : rolling velocity there [m/s]; the friction law depends on its sign
    kappa, k2 : moment over force [m] and stiffness [N/m] for which these states are two-folds
    kpp, kpm, kmp, kmm : K_ab, the derivative of L_a = dh/dt on side a along the field of
        side b [m/s per unit of run time squared]; a, b are p for h > 0, m for h < 0
    mu : friction force [N]

    Source: formulas sheet of the wheel paper, sections 4 and 5.
    Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
    """

    r: Floats
    v: Floats
    omega: Floats
    g: Floats
    kappa: Floats
    k2: Floats
    kpp: Floats
    kpm: Floats
    kmp: Floats
    kmm: Floats
    mu: float

    @property
    def states(self) -> Floats:
        """(..., 3) the states (r, v, omega)."""
        return np.stack([self.r, self.v, self.omega], axis=-1)

    @property
    def size(self) -> Floats:
        """sqrt(-K++ K--), NaN where exactly one of the two folds is visible."""
        square = -self.kpp * self.kmm
        return np.sqrt(np.where(square > 0.0, square, np.nan))

    @property
    def j1(self) -> Floats:
        """J1 = K-+ / sqrt(-K++ K--)."""
        return np.asarray(self.kmp / self.size)

    @property
    def j2(self) -> Floats:
        """J2 = -K+- / sqrt(-K++ K--)."""
        return np.asarray(-self.kpm / self.size)

    @property
    def eigenvalues(self) -> tuple[Floats, Floats]:
        """lambda1 >= lambda2 of the normal form [[J1, 1], [1, J2]].

        Source: formulas sheet, section 5.
        Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
        """
        j1, j2 = self.j1, self.j2
        root = np.sqrt((j1 - j2) ** 2 + 4.0)
        return np.asarray(0.5 * (j1 + j2 + root)), np.asarray(0.5 * (j1 + j2 - root))

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the desingularised sliding field dx/ds = B f_lam - A f0.

        Here f0 + F f_lam is the field for the friction force F, and B + F A the rate of h.

        Source: formulas sheet, sections 3 and 5.
        Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
        """
        scale = 0.5 * self.size / self.mu
        first, second = self.eigenvalues
        return first * scale, second * scale

    @property
    def invisible(self) -> Flags:
        """Whether both folds are invisible: a Teixeira singularity."""
        return np.asarray((self.kpp < 0.0) & (self.kmm > 0.0))

    @property
    def case(self) -> npt.NDArray[np.int64]:
        """Case 1, 2 or 3 of the Teixeira singularity; 0 where a fold is visible.

        In case 1 all nearby sliding orbits reach the two-fold and continue into the escaping
        region; in case 2 orbits pass from escaping into sliding; in case 3 one orbit does so.

        Source: formulas sheet, section 5.
        Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
        """
        j1, j2 = self.j1, self.j2
        case = np.where(j1 * j2 < 1.0, 3, np.where((j1 < 0.0) & (j2 < 0.0), 1, 2))
        return np.asarray(np.where(self.invisible, case, 0))

    @property
    def funnels(self) -> Flags:
        """Whether an open set of sliding orbits reaches the two-fold, with visible folds too.

        In (a, b) = (-L+, L-), both positive in sliding, the desingularised field is, up to the
        factor 1 / (2 mu), a' = -K+- a - K++ b, b' = K-- a + K-+ b. An open set of orbits arrives if
        both eigenvalues are negative and the eigenvector of the smaller modulus points into the
        sliding region.

        Source: linearised from the formulas sheet, section 3.
        Verified by: tests/unit/switching/wheel/test_model.py::test_statements_of_the_paper
        """
        trace, det = self.kmp - self.kpm, self.kpp * self.kmm - self.kpm * self.kmp
        square = trace**2 - 4.0 * det
        weak = 0.5 * (trace + np.sqrt(np.where(square > 0.0, square, np.nan)))
        # (a, b) = (-K++, weak + K+-) is the eigenvector
        inward = -self.kpp * (weak + self.kpm) > 0.0
        return np.asarray((weak < 0.0) & (det > 0.0) & inward)

    @property
    def flags(self) -> dict[str, Flags]:
        """The conditions of Fig. 4 by panel.

        b K-- > 0, c K++ < 0, d J1 < 0, e J2 < 0, f J1 J2 > 1, g1 k2 > 0, g2 kappa > 0, and
        `all`, where they hold together. Panels d to f are False where J1, J2 are undefined.

        Source: Szalai, Jeffrey 2014, Fig. 4.
        Verified by: tests/exact/test_wheel_references.py::test_fig4_flags
        """
        j1, j2 = self.j1, self.j2
        flags = {
            "b": self.kmm > 0.0,
            "c": self.kpp < 0.0,
            "d": j1 < 0.0,
            "e": j2 < 0.0,
            "f": j1 * j2 > 1.0,
            "g1": self.k2 > 0.0,
            "g2": self.kappa > 0.0,
        }
        flags["all"] = np.logical_and.reduce(list(flags.values()))
        return {name: np.asarray(flag) for name, flag in flags.items()}


def placed_two_folds(
    wheel: WheelOnTurntable, r: npt.ArrayLike, omega: npt.ArrayLike
) -> WheelTwoFolds:
    """Return the two-folds at r*, omega* with the kappa and k2 that produce them.

    Parameters
    ----------
    wheel : all other parameters
    r, omega : states [m, rad/s], numbers or arrays of one shape

    Source: Szalai, Jeffrey 2014, (9)-(11); formulas sheet, section 4.
    Verified by: tests/exact/test_wheel_references.py::test_two_fold_reference
    """
    from stiction.switching.wheel.fold_kernels import COLUMNS, place_two_folds

    r, omega = (np.array(a, dtype=np.float64) for a in np.broadcast_arrays(r, omega))
    out = np.empty((r.size, len(COLUMNS)))
    place_two_folds(r.reshape(-1), omega.reshape(-1), wheel.params, out)
    columns = {name: out[:, i].reshape(r.shape) for i, name in enumerate(COLUMNS)}
    return _in_run_time(wheel, r, omega, columns)


def all_two_folds(wheel: WheelOnTurntable) -> WheelTwoFolds:
    """Return every two-fold of a wheel, in the order of r.

    The rate of h is B + F A for the friction force F; it is zero for F = +-mu if A = B = 0. For
    either sign s of g, A = 0 is r^2 + s kappa cos(gamma) r + beta^2 sin^2(gamma) = 0. On
    h = 0 omega - omega0 = g sin(gamma) / r and v = g (d sin(gamma) / r - cos(gamma)), so that
    B = 0 is quadratic in g for each r; only roots of the sign s count. As an equation for g, and
    not for omega, it is regular at gamma = 0.

    Source: Szalai, Jeffrey 2014, (8); formulas sheet, sections 3 and 4.
    Verified by: tests/unit/switching/wheel/test_model.py::test_all_two_folds
    """
    from stiction.switching.wheel.fold_kernels import curvatures

    p = wheel.params[0]
    folds: list[tuple[float, float, float, float, float]] = []
    for sign in (1.0, -1.0):
        roots = _real_roots(1.0, sign * p.kappa * p.cos, (p.beta * p.sin) ** 2)
        for r in (root for root in roots if root != 0.0):
            turn, slide = p.sin / r, p.d * p.sin / r - p.cos
            valid = [g for g in _real_roots(*_balance(p, r, turn, slide)) if sign * g > 0.0]
            folds += [(r, slide * g, p.omega0 + turn * g, g, sign) for g in valid]
    folds.sort()
    table = np.array(folds).reshape(-1, 5)
    k = np.empty((len(table), 4))
    for i, line in enumerate(table):
        curvatures(line[:3].copy(), line[4], wheel.params, k[i])
    columns = {"v": table[:, 1], "g": table[:, 3]}
    columns |= {name: k[:, i] for i, name in enumerate(("kpp", "kpm", "kmp", "kmm"))}
    columns |= {"kappa": np.full(len(table), p.kappa), "k2": np.full(len(table), p.k2)}
    return _in_run_time(wheel, table[:, 0], table[:, 2], columns)


def degenerate_places(
    wheel: WheelOnTurntable, r: npt.ArrayLike, omega: npt.ArrayLike
) -> dict[str, Floats]:
    """Return the curves in the (r*, omega*) plane on which a Teixeira singularity is degenerate.

    On `product`, J1 J2 = 1, an eigenvalue of the sliding field is zero; on `sum`, J1 + J2 = 0, the
    two eigenvalues are opposite. Each curve is a table with rows (r*, omega*), found by bisection
    in omega* for each r*.

    Parameters
    ----------
    r : (n,) r* [m]
    omega : (k,) increasing omega* [rad/s], whose intervals are searched

    Source: Szalai, Jeffrey 2014, section IV; formulas sheet, section 5.
    Verified by: tests/unit/switching/wheel/test_model.py::test_degenerate_places
    """
    r, omega = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in (r, omega))
    grid = placed_two_folds(wheel, r[:, None], omega[None, :])
    good = grid.invisible
    folds = {}
    for name, gap in (("product", _product_gap), ("sum", _sum_gap)):
        positive = gap(grid) > 0.0
        hit = (positive[:, :-1] != positive[:, 1:]) & good[:, :-1] & good[:, 1:]
        # at omega0 the sign of g changes, and with it the friction law: this is not a root
        hit &= grid.g[:, :-1] * grid.g[:, 1:] > 0.0
        line, column = np.nonzero(hit)
        low, high, at = omega[column], omega[column + 1], r[line]
        rising = ~positive[line, column]
        for _ in range(60):
            middle = 0.5 * (low + high)
            before = (gap(placed_two_folds(wheel, at, middle)) > 0.0) != rising
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        folds[name] = np.stack([at, 0.5 * (low + high)], axis=-1)
    return folds


def _product_gap(folds: WheelTwoFolds) -> Floats:
    """J1 J2 - 1 times a positive number."""
    return folds.kpp * folds.kmm - folds.kmp * folds.kpm


def _sum_gap(folds: WheelTwoFolds) -> Floats:
    """J1 + J2 times a positive number."""
    return folds.kmp - folds.kpm


def _balance(p: Parameters, r: float, turn: float, slide: float) -> tuple[float, float, float]:
    """Return the coefficients of g^2, g and 1 of the quadratic B(g) = 0 on h = 0 at position r."""
    d, m, c1, c2, w0, sin, cos = (
        float(getattr(p, name)) for name in ("d", "m", "c1", "c2", "omega0", "sin", "cos")
    )
    inertia = float(p.beta) ** 2 + r * r
    p2 = d * r * cos + inertia * sin
    grounded = 0.0 if p.c1_between_disks != 0.0 else 1.0
    spring_force = float(p.k2) * (float(p.r0) - r) + m * r * w0 * w0
    steep = -c2 * slide + 2.0 * m * r * w0 * turn
    two = -m * r * turn**2 * p2 + m * slide * turn * cos * (2.0 * r * r - inertia)
    one = -steep * p2 + r * cos * (c1 * turn + 2.0 * m * r * slide * w0)
    return two, one, -spring_force * p2 + grounded * r * cos * c1 * w0


def _in_run_time(
    wheel: WheelOnTurntable, r: Floats, omega: Floats, columns: dict[str, Floats]
) -> WheelTwoFolds:
    """Return the two-folds, with K_ab in the time of the run.

    Since L+- = 0 at a two-fold, a change of the time scale divides K_ab by its square.
    """
    if wheel.physical_time:
        factor = (wheel.m * (wheel.beta**2 + r**2)) ** 2
        for name in ("kpp", "kpm", "kmp", "kmm"):
            columns[name] = columns[name] / factor
    return WheelTwoFolds(r=r, omega=omega, mu=wheel.mu, **columns)


def _real_roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a x^2 + b x + c = 0, by the formula without cancellation."""
    square = b * b - 4.0 * a * c
    if square < 0.0:
        return []
    half = -0.5 * (b + float(np.copysign(np.sqrt(square), b)))
    roots = [top / bottom for top, bottom in ((half, a), (c, half)) if bottom != 0.0]
    # a double root counts once
    return roots[:1] if square == 0.0 else roots
