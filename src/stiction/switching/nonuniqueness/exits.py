"""Exits from the escaping region after a two-fold, and their dwell times.

In the escaping region L- < 0 < L+ of a surface, L+- the rates of h along the fields of both sides.
Forward integration there is unstable, and all orbits leave the two-fold in the same direction.
Backward in time the two-fold attracts these orbits. So an exit point p of the escaping region is
chosen first; backward integration of the sliding field from p to the two-fold then gives the dwell
time. `EscapingWedge` has the exits in polar coordinates around the two-fold, for `choices` and
`funnel`.

Source: formulas sheet of the paper on switching, section 5 (funnel).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.switching.flow import records as r
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import SwitchingSystem, sides_at
from stiction.switching.two_folds.newton import Probe

__all__ = ["EscapingWedge", "Exit", "dwell_time"]

Floats = npt.NDArray[np.float64]

# largest number of steps of a backward integration
_STEPS = 3_000
# largest number of corrections of an exit until its orbit comes from the given two-fold
_SHIFTS = 8
# relative width of the bracket around the end of a ray's exits, within which none is sought: most
# draws beyond the end would else be bisected down to rounding
_EDGE = 1e-6
# largest number of exits that are tried for a given dwell time, and largest relative error of a
# dwell time; both chosen. The error is largest next to the two-fold
_GUESSES, _NOISE = 100, 1e-6


@dataclass(frozen=True, eq=False)
class Exit:
    """A point where an orbit from the two-fold can leave the escaping region.

    Parameters
    ----------
    x : (n,) the point, on the surface
    dwell : time from the two-fold to the point along the surface [time unit]
    angle : direction as seen from the two-fold [rad], 0 on the fold of f-, pi/2 on the fold of f+
    distance : length of the ray from the two-fold [scaled states]
    """

    x: Floats
    dwell: float
    angle: float
    distance: float


def dwell_time(
    system: SwitchingSystem,
    x: Floats,
    tolerance: Tolerance,
    *,
    save: Floats | None = None,
    sides: Floats | None = None,
) -> tuple[float, str, Trajectory]:
    """Return the time of sliding in the escaping region before the state was at `x`.

    Parameters
    ----------
    x : (n,) a point of the escaping region
    save : decreasing times <= 0 at which the motion is saved; the state is x at time 0
    sides : (m,) signs, 0 on the sliding surface; by default the first surface slides

    Returns
    -------
    The dwell time (> 0), the origin of the orbit (`two_fold`, `codim2_line`, `fold` or `unknown`),
    and the trajectory, whose present state is the origin.

    Verified by: tests/unit/switching/test_exits.py::test_dwell_of_the_normal_form
    """
    saves = np.empty(0) if save is None else save
    back = Trajectory(system, tolerance, saves, energies=save is not None, backward=True)
    if sides is None:
        sides = sides_at(system, x)
        sides[0] = 0.0
    back.place(0.0, x, sides)
    code = back.advance(-math.inf, _STEPS)
    origin = {r.TWO_FOLD_HIT: "two_fold", r.LINE_HIT: "codim2_line", r.SPLIT: "fold"}
    return -back.t, origin.get(code, "unknown"), back


class EscapingWedge:
    """The escaping region near a two-fold, which is a wedge between the folds L- = 0 and L+ = 0.

    Its points have the polar coordinates `angle` and `distance` around the two-fold.

    Parameters
    ----------
    system : the flow
    x : (n,) the two-fold
    tolerance : tolerance of backward integrations
    sides : (m,) signs there, 0 on its surface; by default that is the first surface
    """

    def __init__(
        self,
        system: SwitchingSystem,
        x: Floats,
        tolerance: Tolerance,
        sides: Floats | None = None,
    ) -> None:
        self.system, self.x, self.tolerance = system, np.array(x, dtype=np.float64), tolerance
        self.sides = sides_at(system, self.x) if sides is None else np.array(sides)
        self.surface = 0 if sides is None else int(np.flatnonzero(self.sides == 0.0)[0])
        self.sides[self.surface] = 0.0
        self.scale = np.asarray(system.compiled.scale)
        normal = system.gradient(self.x)[self.surface] * self.scale
        # not by fixed differences: a kink may be close
        probe = Probe(system, self.surface, self.sides)
        up, down = probe.gradients(self.x)[1:] * self.scale
        normals = np.array([normal, up, down])
        # columns of the inverse of the gradients of (h, L+, L-): directions in the surface along
        # which only L+ increases and only L- decreases
        inverse = np.linalg.pinv(normals)
        self._plus = inverse[:, 1] * float(np.linalg.norm(up))
        self._minus = -inverse[:, 2] * float(np.linalg.norm(down))

    def _signs(self, side: float) -> Floats:
        """Return (m,) the signs of all surfaces, with `side` for that of the two-fold."""
        signs = self.sides.copy()
        signs[self.surface] = side
        return signs

    def point(self, angle: float, distance: float) -> Floats:
        """Return the point of the surface at `distance` along the ray of `angle`."""
        direction = math.sin(angle) * self._minus + math.cos(angle) * self._plus
        # at angle 0 only L+ changes: the fold of f-, where L- = 0
        x = self.x + self.scale * direction * (distance / float(np.linalg.norm(direction)))
        return self._on_surface(x)

    def _on_surface(self, x: Floats) -> Floats:
        """Return the projection of x on the surface, by Newton's method along the gradient."""
        for _ in range(4):
            value = float(self.system.surfaces_at(x)[self.surface])
            normal = self.system.gradient(x)[self.surface] * self.scale
            x = x - self.scale * normal * value / float(normal @ normal)
        return x

    def is_escaping(self, x: Floats) -> bool:
        """Return whether L- < 0 < L+ at a point of the surface."""
        normal = self.system.gradient(x)[self.surface]
        up = float(normal @ self.system.field(x, self._signs(1.0)))
        down = float(normal @ self.system.field(x, self._signs(-1.0)))
        return down < 0.0 < up

    def exit_at(self, angle: float, distance: float) -> Exit | None:
        """Return the exit on a ray; None if no orbit from the two-fold passes there."""
        x, shift = self.point(angle, distance), np.zeros(self.x.size)
        for _ in range(_SHIFTS):
            at = self._on_surface(x + shift)
            if not np.isfinite(at).all() or not self.is_escaping(at):
                return None
            dwell, origin, back = dwell_time(self.system, at, self.tolerance, sides=self.sides)
            if origin != "two_fold":
                return None
            difference = self.x - back.x
            if float(np.max(np.abs(difference / self.scale))) <= 1e-4 * max(distance, 1e-4):
                return Exit(at, dwell, angle, distance)
            # with more than three states two-folds form curves: shift the exit until its orbit
            # comes from this one
            shift = shift + difference
        return None

    def exit_after(self, angle: float, dwell: float) -> Exit | None:
        """Return the exit on a ray that is reached after `dwell`; None if there is none.

        Solves dwell(distance) = dwell by the secant method and bisection within a bracket. Near the
        two-fold it needs a few steps, because the dwell time is proportional to the distance.

        Verified by: tests/unit/switching/test_exits.py::test_exit_after_a_time
        """
        # ends of the bracket, each (distance, dwell time)
        low, high = (0.0, 0.0), (math.inf, math.inf)
        distance = 1e-3
        best: Exit | None = None
        for _ in range(_GUESSES):
            point, width = self.exit_at(angle, distance), high[0] - low[0]
            if point is None:
                guess = 0.5 * (low[0] + distance)
                if math.isinf(high[1]):
                    high = (distance, math.inf)
            else:
                if best is None or abs(point.dwell - dwell) < abs(best.dwell - dwell):
                    best = point
                if abs(point.dwell - dwell) <= 1e-12 * dwell:
                    break
                if point.dwell < dwell:
                    low = (distance, point.dwell)
                else:
                    high = (distance, point.dwell)
                guess = distance * dwell / point.dwell
                if math.isfinite(high[1]):
                    guess = low[0] + (high[0] - low[0]) * (dwell - low[1]) / (high[1] - low[1])
                    if high[0] - low[0] > 0.5 * width:
                        # where dwell(distance) is curved, the secant method moves one end only
                        guess = 0.5 * (low[0] + high[0])
            if not low[0] < guess < high[0]:
                guess = 0.5 * (low[0] + high[0]) if math.isfinite(high[0]) else 2.0 * low[0]
            at_edge = math.isinf(high[1]) and high[0] - low[0] <= _EDGE * high[0] < math.inf
            if at_edge or abs(guess - distance) <= 1e-14 * distance:
                break
            distance = guess
        if best is None:
            return None
        # two ends next to each other differ by the error of dwell times
        close = high[1] - low[1] <= _NOISE * dwell
        return best if close or abs(best.dwell - dwell) <= 1e-9 * dwell else None

    def longest(self, angle: float) -> Exit:
        """Return the farthest exit on a ray that still comes from the two-fold.

        Raises
        ------
        ModelError : if no orbit of the ray comes from the two-fold.
        """
        reach, point, beyond = 1e-3, self.exit_at(angle, 1e-3), math.inf
        for _ in range(40):
            if point is not None:
                break
            reach *= 0.25
            point = self.exit_at(angle, reach)
            if reach < 1e-9:
                break
        if point is None:
            raise ModelError(
                "two_fold",
                f"x = {self.x.tolist()}",
                "a two-fold through which orbits pass from the sliding to the escaping region "
                "(case 1: J1, J2 < 0, J1 J2 > 1)",
                f"no orbit leaves the two-fold along the ray at {angle:.3g} rad; rays of the "
                "escaping region have 0 to pi/2.",
                "look at two_fold(system, guess).case.",
            )
        for _ in range(60):
            trial = 2.0 * reach if math.isinf(beyond) else 0.5 * (reach + beyond)
            if trial > 1e3 or beyond - reach <= 1e-3 * reach:
                break
            tried = self.exit_at(angle, trial)
            if tried is None:
                beyond = trial
            else:
                reach, point = trial, tried
        return point
