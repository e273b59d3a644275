"""The codimension-2 line h = g = 0 of the wheel: incoming rays and exit directions.

Lateral velocity h and rolling velocity g vanish together at the states (r, 0, omega0) for any r,
and at (0, d (omega - omega0), omega) for any omega. Friction has no limit there: it depends on the
direction (h, g) of approach. So several solutions may leave one point of the line, which is a loss
of determinism besides that at the two-fold. `line_kernels` computes the rays; `nonuniqueness`
takes the exits of a run from here.

Source: formulas sheet, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.switching.model import LineExit
from stiction.switching.wheel.parameters import LineRates, Rates, Ray

if TYPE_CHECKING:
    from stiction.switching.wheel.model import WheelOnTurntable

__all__ = ["LineChange", "LineRay", "line_changes", "line_exits_at", "line_rays_at", "on_line"]

Floats = npt.NDArray[np.float64]

# changes of rays are one if their distance in r is below this times |r|, or times the spacing of
# samples
_SAME = 1e-10


@dataclass(frozen=True)
class LineRay:
    """A direction in which orbits enter or leave a point of the line, or an equilibrium at it.

    Parameters
    ----------
    kind : `slip`, `slide` (lateral stick, stable), `escape` (lateral stick, unstable) or `rest`
        (equilibrium)
    mode : "+", "-" or "slide"
    angle : atan2(h, g) along the ray [rad]; NaN for an equilibrium
    growth : rho' = d sqrt(h^2 + g^2) / dt, > 0 out of the line, < 0 into it
    attracting : whether the ray attracts neighbouring directions
    velocity : x' along the ray, per unit of the time of the run
    """

    kind: str
    mode: str
    angle: float
    growth: float
    attracting: bool
    velocity: tuple[float, ...]

    @property
    def outgoing(self) -> bool:
        """Whether it leaves the line."""
        return self.growth > 0.0

    @property
    def ratio(self) -> float:
        """Ratio h / g along the ray."""
        return math.tan(self.angle)

    @property
    def label(self) -> str:
        """The kind, the signs of h and g, and `in` or `out`, as in "slip +- in"."""
        if self.kind == "rest":
            return "rest"
        direction = "out" if self.outgoing else "in"
        rolling = "+" if abs(self.angle) < 0.5 * math.pi else "-"
        side = self.mode if self.kind == "slip" else "0"
        return f"{self.kind} {side}{rolling} {direction}"


@dataclass(frozen=True)
class LineChange:
    """A point of the line at which an incoming or outgoing ray appears or disappears.

    Parameters
    ----------
    r : position [m]
    below, above : labels of the rays at smaller and at larger r
    """

    r: float
    below: tuple[str, ...]
    above: tuple[str, ...]

    @property
    def gained(self) -> tuple[str, ...]:
        """Labels that appear as r grows."""
        return _minus(self.above, self.below)

    @property
    def lost(self) -> tuple[str, ...]:
        """Labels that disappear as r grows."""
        return _minus(self.below, self.above)


def on_line(wheel: WheelOnTurntable, x: npt.ArrayLike) -> Floats:
    """Return the point of the line closest to `x`, on the branch that is closer."""
    r, v, w = (float(a) for a in np.asarray(x, dtype=np.float64))
    slip = w - wheel.omega0
    if abs(r) + abs(v - wheel.d * slip) < abs(v) + abs(slip):
        return np.array([0.0, wheel.d * slip, w])
    return np.array([r, 0.0, wheel.omega0])


def line_rays_at(wheel: WheelOnTurntable, x: npt.ArrayLike) -> tuple[LineRay, ...]:
    """Return all rays at a point of the line, in and out, and `rest` if it is an equilibrium.

    At (0, 0, omega0), where both branches intersect, h and g do not determine a direction, and
    the result is empty.

    Parameters
    ----------
    x : (r, v, omega), moved to the line first

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_model.py::test_rays_follow_the_field
    """
    from stiction.switching.wheel.line_kernels import MOST_RAYS, line_rates, sector_rays

    x, p = on_line(wheel, x), wheel.params
    if x[0] == 0.0 and x[1] == 0.0 and x[2] == wheel.omega0:
        return ()
    # scan and the argument of `line_rates` are scratch
    rates, scan, table = LineRates.table(), np.empty(64), Ray.table(MOST_RAYS)
    line_rates(x, p, np.empty((2, 3)), rates)
    rays = []
    for sector in range(4):
        count = sector_rays(sector, rates, p, scan, table)
        rays += [_slip_ray(wheel, x, *values) for values in table[:count].tolist()]
    rays += _sliding_rays(wheel, x, rates)
    if _is_equilibrium(wheel, rates):
        rays.append(LineRay("rest", "slide", math.nan, 0.0, False, (0.0, 0.0, 0.0)))
    return tuple(rays)


def line_exits_at(wheel: WheelOnTurntable, x: npt.ArrayLike) -> tuple[LineExit, ...]:
    """Return the exit directions of a point of the line, and `rest` if it is an equilibrium.

    Source: formulas sheet, section 7.
    Verified by: tests/unit/switching/wheel/test_model.py::test_exits_at_the_paper_parameters
    """
    exits, rays = [], line_rays_at(wheel, x)
    # of several rays of one mode the fastest is the first, which `Leave` takes
    order = [(ray.kind, ray.mode) for ray in rays]
    for ray in sorted(rays, key=lambda ray: (order.index((ray.kind, ray.mode)), -ray.growth)):
        speed = math.hypot(*ray.velocity)
        if ray.kind == "rest":
            exits.append(LineExit("rest", "slide", ray.velocity, 0.0, 0.0))
        elif ray.outgoing:
            direction = tuple(a / speed for a in ray.velocity)
            exits.append(LineExit(ray.kind, ray.mode, direction, speed, ray.angle))
    return tuple(exits)


def line_changes(
    wheel: WheelOnTurntable, r_low: float, r_high: float, count: int = 400
) -> tuple[LineChange, ...]:
    """Return the changes of the set of rays between two values of r, in rising order, by bisection.

    The labels of the rays are compared at the ends of `count` intervals; two changes within one
    interval of which the second reverses the first are not located.

    Source: formulas sheet, section 7.
    Verified by: tests/exact/test_wheel_references.py::test_thresholds_of_the_line
    """

    def labels(r: float) -> tuple[str, ...]:
        return tuple(sorted(ray.label for ray in line_rays_at(wheel, (r, 0.0, wheel.omega0))))

    r_low, r_high = min(r_low, r_high), max(r_low, r_high)
    changes: list[LineChange] = []
    spacing = (r_high - r_low) / count
    points = np.linspace(r_low, r_high, count + 1).tolist()
    sets = [labels(r) for r in points]
    for i in range(count):
        low, below = points[i], sets[i]
        # several changes in one interval are located one after the other
        while below != sets[i + 1]:
            high, above = points[i + 1], sets[i + 1]
            while low < (middle := 0.5 * (low + high)) < high:
                at = labels(middle)
                if at == below:
                    low = middle
                else:
                    high, above = middle, at
            if changes and high - changes[-1].r < _SAME * max(abs(high), spacing):
                # next to a change rates are zero within rounding: merge it with the last change
                below = changes.pop().below
            if below != above:
                changes.append(LineChange(high, below, above))
            low, below = high, above
    return tuple(changes)


def _slip_ray(
    wheel: WheelOnTurntable, x: Floats, angle: float, growth: float, slope: float, side: float
) -> LineRay:
    """Return a ray of slip; the numbers are those of `parameters.Ray`."""
    from stiction.switching.wheel.kernels import tyre_contact

    p = wheel.params
    force, moment = tyre_contact(side, math.sin(angle), math.cos(angle), p)
    mode = "+" if side > 0.0 else "-"
    velocity = _velocity(wheel, x, force, moment)
    return LineRay("slip", mode, angle, growth, slope < 0.0, velocity)


def _sliding_rays(wheel: WheelOnTurntable, x: Floats, rates: Rates) -> list[LineRay]:
    """Return the rays on h = 0: h' = b + F a = 0 with the friction force F in (-mu, mu)."""
    if wheel.has_string:
        # no friction at h = 0, so no sliding
        return []
    rays, rate = [], rates[0]
    for rolling in (1.0, -1.0):
        a = float(rate.h_by_force + rolling * wheel.kappa * rate.h_by_moment)
        b = float(rate.h)
        if not abs(b) < wheel.mu * abs(a):
            continue
        force = -b / a
        moment = rolling * wheel.kappa * force
        growth = rolling * float(rate.g + rate.g_by_force * force + rate.g_by_moment * moment)
        kind = "slide" if a < 0.0 else "escape"
        angle = 0.0 if rolling > 0.0 else math.pi
        velocity = _velocity(wheel, x, force, moment)
        rays.append(LineRay(kind, "slide", angle, growth, a < 0.0, velocity))
    return rays


def _is_equilibrium(wheel: WheelOnTurntable, rates: Rates) -> bool:
    """Return whether h' = g' = 0 for a force and a moment in Filippov's convex set.

    The set is the hull of all limits of (F, M): the hexagon |M| <= kappa mu, |F| + |M| / (3
    kappa) <= 4 mu / 3.
    """
    contact = contact_at_rest(rates)
    if contact is None:
        return False
    force, moment = contact
    if wheel.has_string:
        return _in_convex_hull(wheel, force, moment)
    in_hexagon = abs(force) + abs(moment) / (3.0 * wheel.kappa) <= 4.0 * wheel.mu / 3.0
    return bool(in_hexagon and abs(moment) <= wheel.kappa * wheel.mu)


def _in_convex_hull(wheel: WheelOnTurntable, force: float, moment: float) -> bool:
    """Return whether (F, M) lies in the convex hull of the string's limits at the line.

    The limits are sampled in the angle of (h, g), the hull by its support function.
    """
    assert wheel.tyre is not None
    angle = np.linspace(0.0, 2.0 * math.pi, 4001)
    f, m = wheel.tyre.contact(np.sin(angle), np.cos(angle))
    size = np.array([np.max(np.abs(f)), max(float(np.max(np.abs(m))), 1e-300)])
    turn = np.linspace(0.0, 2.0 * math.pi, 721)
    directions = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    reach = (directions @ (np.stack([f, m]) / size[:, None])).max(axis=1)
    return bool(np.all(directions @ (np.array([force, moment]) / size) <= reach))


def contact_at_rest(rates: Rates) -> tuple[float, float] | None:
    """Return the force and the moment for which h' = g' = 0; None if they are not unique."""
    rate = rates[0]
    # h' = l0 + lf F + lm M = 0 and g' = g0 + gf F + gm M = 0, by Cramer's rule
    l0, lf, lm = float(rate.h), float(rate.h_by_force), float(rate.h_by_moment)
    g0, gf, gm = float(rate.g), float(rate.g_by_force), float(rate.g_by_moment)
    det = lf * gm - lm * gf
    if abs(det) <= 1e-13 * (abs(lf * gm) + abs(lm * gf)):
        return None
    return (lm * g0 - gm * l0) / det, (gf * l0 - lf * g0) / det


def _velocity(wheel: WheelOnTurntable, x: Floats, force: float, moment: float) -> tuple[float, ...]:
    """Return x' under a friction force [N] and moment [N m]."""
    from stiction.switching.wheel.kernels import wheel_forced

    out = np.empty(3)
    wheel_forced(x.copy(), force, moment, wheel.params, out)
    return tuple(out.tolist())


def _minus(these: tuple[str, ...], those: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels in `these` without those in `those`, each as often as it occurs."""
    left = list(those)
    difference = []
    for label in these:
        if label in left:
            left.remove(label)
        else:
            difference.append(label)
    return tuple(difference)
