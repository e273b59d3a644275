"""Orbits that leave a two-fold by hops lower than the rounding errors of the states.

A hop is an arc of the orbit from the surface h = 0 back to it. At the distance rho from an
invisible two-fold its height is of order rho^2, which is below the rounding errors of h(x) although
rho is not small against those of x. So hops are integrated in local coordinates: the offset
X = x - x* from the two-fold x*, which `refinement` gives beyond its last digit, and h itself as a
state with the rate L = grad h . f. Nearest to the two-fold L comes from its Taylor series in X,
without cancellation. The equations are integrated by the classical Runge-Kutta method of order 4.
Hops grow with each revolution; when they are large enough, the kernels of `flow` continue in the
states x. `following` calls `hop_away` for a run, `ensembles.blocks` for an ensemble.

Source: formulas sheet of the wheel paper, section 5 (crossing maps of the exact model).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError
from stiction.numerics.callback import call_arrays
from stiction.switching.flow.events import NEXT_TO_TWO_FOLD
from stiction.switching.model import SwitchingSystem

__all__ = ["NEAREST", "Hops", "hop_away"]

Floats = npt.NDArray[np.float64]

# largest initial distance from the two-fold, and least final distance [scaled states]. Chosen: the
# kernels resolve hops from about 1e-5 on
NEAREST, _FAR = 1e-2, 2e-3
# below this distance L is computed from its Taylor series to the second order in X, whose relative
# error there is X^2 = 1e-12. The direct value has the rounding error 2e-16 / X = 2e-10
_EXPANDED = 1e-6
# at the end L+ or L- must exceed the limit NEXT_TO_TWO_FOLD of the kernels by this factor. Chosen
_BEYOND = 3.0
# largest bound of the relative error of the initial distance; the error is about a fifth of it.
# Chosen: hops keep this relative error, which later margins include
_KNOWN = 5e-4
# number of Runge-Kutta steps in one hop; largest number of hops. Chosen
_STEPS, _MOST = 12, 400
# weights of central differences of order 8, and their step: (1e-3)^8 is below the rounding error
_WEIGHTS, _SEPARATION = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0), 1e-3


@dataclass(frozen=True, eq=False)
class Hops:
    """The motion between a start next to a two-fold and a point far enough from it.

    Parameters
    ----------
    nodes : (k, 1 + n + q) time, state and energies at the ends of all steps
    landings : rows of `nodes` at which the orbit crosses the surface, and the side after each
    side : the side at the end
    relative_error : relative error of the final offset from the two-fold. It is that of the initial
        offset, because errors of position grow in proportion to the hops
    """

    nodes: Floats
    landings: list[tuple[int, float]]
    side: float
    relative_error: float

    def at(self, times: Floats) -> Floats:
        """Return (t, n + q) states and energies at the given times, by linear interpolation."""
        return np.array([np.interp(times, self.nodes[:, 0], c) for c in self.nodes[:, 1:].T]).T


def hop_away(
    system: SwitchingSystem, x: Floats, surface: int, signs: Floats, energies: int, t_end: float
) -> Hops | None:
    """Return the hops from a point of the surface next to a two-fold; None if they do not grow.

    The result is also None if the two-fold is not invisible, the point is not near it, or its
    offset is not known well enough.

    Parameters
    ----------
    x : (n,) the start, on the surface
    surface : number of the surface, from 0
    signs : (m,) signs of the surfaces; +1 or -1 for the side of the first hop
    energies : number of energies, 0 or 3
    t_end : largest duration of the hops

    Verified by: tests/unit/switching/two_folds/test_hopping.py::test_hops_of_the_exact_model
    """
    from stiction.switching.two_folds.finding import two_fold
    from stiction.switching.two_folds.refinement import correction

    scale = np.asarray(system.compiled.scale)
    try:
        point = two_fold(system, x, surface=surface)
    except (ModelError, SolveError):
        return None
    star = np.asarray(point.x)
    if any(point.visible) or not float(np.max(np.abs(x - star) / scale)) <= NEAREST:
        return None
    fine = correction(point.probe, star)
    # remove the rounding error of the start normal to the surface: it exceeds the first heights
    normal = system.gradient(x)[surface] * scale
    beside = float(system.surfaces_at(x)[surface]) * normal / float(normal @ normal)
    offset = (x - star) - fine.low - scale * beside
    distance = float(np.max(np.abs(offset) / scale))
    error = fine.error + float(np.max(np.abs(beside)))
    if not error < _KNOWN * distance:
        return None
    bends = {1.0: point.Kpp, -1.0: point.Kmm}
    hopper = _Hopper(system, (star, fine.low), surface, signs, energies, bends)
    return hopper.run(offset, t_end, error / distance)


class _Hopper:
    """The flow in coordinates about a two-fold: y = (X, h, W), with the energies W."""

    def __init__(
        self,
        system: SwitchingSystem,
        position: tuple[Floats, Floats],
        surface: int,
        signs: Floats,
        energies: int,
        bends: dict[float, float],
    ) -> None:
        # the position as a sum, whose second term is below the last digit of the first
        self.system, (self.star, self.low), self.surface = system, position, surface
        self.signs, self.q, self.n, self.bends = signs.copy(), energies, self.star.size, bends
        self.scale = np.asarray(system.compiled.scale)
        self.expansion = {side: self._expand(side) for side in (1.0, -1.0)}

    def _lie(self, x: Floats, side: float) -> float:
        """Return L of one side at x."""
        signs = self.signs.copy()
        signs[self.surface] = side
        return float(self.system.gradient(x)[self.surface] @ self.system.field(x, signs))

    def _expand(self, side: float) -> tuple[Floats, Floats]:
        """Return (n,) first and (n, n) second derivatives of L at the two-fold, by differences."""
        n, shifts = self.n, np.diag(_SEPARATION * self.scale)
        slope, bend = np.zeros(n), np.zeros((n, n))
        for j in range(n):
            for a, weight in enumerate(_WEIGHTS, start=1):
                up = self._lie(self.star + a * shifts[j], side)
                slope[j] += weight * (up - self._lie(self.star - a * shifts[j], side))
            for k in range(n):
                for one, two in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                    at = self.star + one * shifts[j] + two * shifts[k]
                    bend[j, k] += 0.25 * one * two * self._lie(at, side)
        size = _SEPARATION * self.scale
        return slope / size, bend / np.outer(size, size)

    def rate(self, y: Floats) -> Floats:
        """Return dy/dt on the side of `signs`."""
        x, c, out = self._at(y), self.system.compiled, np.empty(y.size)
        out[: self.n] = self.system.field(x, self.signs)
        offset = y[: self.n]
        if np.max(np.abs(offset) / self.scale) < _EXPANDED:
            slope, bend = self.expansion[float(self.signs[self.surface])]
            out[self.n] = slope @ offset + 0.5 * offset @ bend @ offset
        else:
            out[self.n] = self.system.gradient(x)[self.surface] @ out[: self.n]
        if self.q:
            spent = np.empty(self.q)
            call_arrays(c.power, x, self.signs.copy(), c.params, spent)
            out[self.n + 1 :] = spent
        return out

    def step(self, y: Floats, dt: float) -> Floats:
        """Return y after one step of the classical Runge-Kutta method."""
        one = self.rate(y)
        two = self.rate(y + 0.5 * dt * one)
        three = self.rate(y + 0.5 * dt * two)
        four = self.rate(y + dt * three)
        return np.asarray(y + dt / 6.0 * (one + 2.0 * two + 2.0 * three + four))

    def run(self, offset: Floats, t_end: float, relative_error: float) -> Hops | None:
        """Integrate hops until the state is far from the two-fold; None if it does not get there.

        Parameters
        ----------
        offset : (n,) initial offset from the two-fold, on the surface
        relative_error : of the offset
        """
        n, i, t = self.n, self.surface, 0.0
        y = np.concatenate([offset, [0.0], np.zeros(self.q)])
        nodes, landings = [self._node(t, y)], []
        for _ in range(_MOST):
            lie_derivative, side = self.rate(y)[n], self.signs[i]
            if not lie_derivative * side > 0.0:
                return None
            steps = self._hop(y, lie_derivative)
            if not steps:
                return None
            for dt in steps:
                y = self.step(y, dt)
                t += dt
                nodes.append(self._node(t, y))
            y[n] = 0.0
            if t >= t_end:
                return None
            self.signs[i] = -side
            landings.append((len(nodes) - 1, -side))
            if self._is_far(y) and self.rate(y)[n] * side < 0.0:
                return Hops(np.array(nodes), landings, -side, relative_error)
        return None

    def _is_far(self, y: Floats) -> bool:
        """Return whether the kernels resolve the next hops, by the distance and L+, L- there."""
        if np.max(np.abs(y[: self.n]) / self.scale) <= _FAR:
            return False
        x, gap = self._at(y), 0.0
        # in scaled states, as in `flow.surfaces.surface_speed`
        normal = self.system.gradient(x)[self.surface] * self.scale
        for side in (1.0, -1.0):
            signs = self.signs.copy()
            signs[self.surface] = side
            field = self.system.field(x, signs) / self.scale
            size = float(np.linalg.norm(normal) * np.linalg.norm(field))
            gap = max(gap, abs(float(normal @ field)) / size)
        return gap > _BEYOND * NEXT_TO_TWO_FOLD

    def _hop(self, y: Floats, lie_derivative: float) -> list[float]:
        """Return the lengths of the steps of one hop; the last ends at h = 0, by Newton's method.

        The first guess is the parabola h = L t + K t^2 / 2 with K = K++ or K--. Returns no steps if
        the orbit does not curve back.
        """
        n = self.n
        bend = self.bends[float(self.signs[self.surface])]
        if not bend * lie_derivative < 0.0:
            return []
        total = -2.0 * lie_derivative / bend
        for _ in range(8):
            end = y
            for _ in range(_STEPS):
                end = self.step(end, total / _STEPS)
            move = end[n] / self.rate(end)[n]
            total -= move
            if abs(move) <= 1e-13 * total:
                break
        return [total / _STEPS] * _STEPS

    def _node(self, t: float, y: Floats) -> Floats:
        """Return (1 + n + q,) time, state and energies."""
        return np.concatenate([[t], self._at(y), y[self.n + 1 :]])

    def _at(self, y: Floats) -> Floats:
        """Return the state x = x* + X."""
        return np.asarray(self.star + (self.low + y[: self.n]))
