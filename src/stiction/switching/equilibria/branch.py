"""Branches of equilibria over a parameter, through their boundary bifurcations.

The branch is followed by pseudo-arclength continuation (Keller 1977, `numerics.continuation`) in
both directions. At a boundary bifurcation an equilibrium reaches a surface, where it meets a
pseudo-equilibrium whose multiplier is 1 or -1. If the two exist on opposite sides of this value of
the parameter, the equilibrium persists; if they exist on the same side, they form a non-smooth
fold. The branch continues with the pseudo-equilibrium in both cases; a branch of pseudo-equilibria
continues with the equilibrium. Unknowns u and scales are those of `finding.Balance`.

Source: di Bernardo et al. 2008, section 5.1; Kuznetsov, Rinaldi, Gragnani 2003, section 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError
from stiction.numerics.checks import number, numbers, whole
from stiction.numerics.continuation import (
    Place,
    Step,
    advance,
    limit_on_step,
    located,
    place_at,
)
from stiction.switching.equilibria.finding import Balance, Equilibrium, equilibrium_of

__all__ = ["EquilibriumBifurcation", "EquilibriumBranch", "continue_equilibrium"]

Floats = npt.NDArray[np.float64]

_MOST_POINTS = 100_000
# a pair of eigenvalues at a Hopf bifurcation has imaginary parts above this fraction of the largest
# modulus
_COMPLEX = 1e-7
# the parameter is constant along a branch if its component of the unit tangent is below this: its
# rounding error is some 1e-13. Chosen
_CONSTANT = 1e-9


@dataclass(frozen=True, eq=False)
class EquilibriumBifurcation:
    """A bifurcation on a branch of equilibria.

    Parameters
    ----------
    kind : `fold`, `Hopf`; `persistence` or `non-smooth fold` where an equilibrium reaches a
        surface
    value : value of the parameter
    equilibrium : the equilibrium at this value. Where it reaches a surface, its eigenvalues are
        those of the equilibrium that does not slide there
    """

    kind: str
    value: float
    equilibrium: Equilibrium


@dataclass(frozen=True, eq=False, repr=False)
class EquilibriumBranch:
    """Equilibria along a branch.

    Parameters
    ----------
    parameter : name of the parameter
    points : the equilibria in order along the branch
    bifurcations : the bifurcations in the same order
    ends : reasons why the branch ended at its first and at its last point
    """

    parameter: str
    points: tuple[Equilibrium, ...]
    bifurcations: tuple[EquilibriumBifurcation, ...]
    ends: tuple[str, str]

    @property
    def values(self) -> Floats:
        """(k,) values of the parameter."""
        return np.array([one.system.parameter(self.parameter) for one in self.points])

    def __repr__(self) -> str:
        """Return the range, the ends and the bifurcations."""
        values = self.values
        lines = [
            f"<EquilibriumBranch: {len(values)} points, {self.parameter} = {values.min():.6g} "
            f"to {values.max():.6g}",
            f"  first end: {self.ends[0]}",
            f"  last end: {self.ends[1]}",
        ]
        for one in self.bifurcations:
            # at a fold or a Hopf bifurcation the eigenvalues determine no other type
            of = "" if one.kind in ("fold", "Hopf") else f" of a {one.equilibrium.kind}"
            lines.append(f"  {one.kind}{of} at {self.parameter} = {one.value:.12g}")
        return "\n".join(lines) + ">"


def continue_equilibrium(
    point: Equilibrium,
    parameter: str,
    span: tuple[float, float],
    *,
    step: float = 0.1,
    max_points: int = 500,
) -> EquilibriumBranch:
    """Return the branch of equilibria through an equilibrium, followed in both directions.

    Parameters
    ----------
    point : from `find_equilibrium`
    parameter : name of the parameter, such as `p.mu` or `belt_speed`
    span : lowest and highest value; the branch ends there
    step : longest step along the branch, over the sizes of the states and of the parameter
    max_points : largest number of points in each direction

    Raises
    ------
    ModelError : if the parameter is unknown or the span does not hold its value.

    Source: Keller 1977.
    Verified by: tests/exact/test_equilibria_of_flows.py::test_branches_of_linear_flows
    """
    where = "continue_equilibrium"
    why, try_ = "this number bounds the work.", "leave this value out."
    whole(f"{where}.max_points", max_points, least=2, most=_MOST_POINTS, why=why, try_=try_)
    why = "a step has a positive arclength."
    number(f"{where}.step", step, rule="positive", why=why, try_=try_)
    given: object = point
    if not isinstance(given, Equilibrium):
        needs, why = "an Equilibrium", "the branch begins at an equilibrium."
        try_ = "give point=find_equilibrium(system, ...)."
        raise ModelError(f"{where}.point", type(given).__name__, needs, why, try_)
    why, try_ = "the branch ends at these values.", "for example span=(0.1, 0.5)."
    low, high = numbers(f"{where}.span", span, size=2, per="end", why=why, try_=try_).tolist()
    value = float(point.system.parameter(parameter))
    if not low <= value <= high or not low < high:
        needs = f"a lower and a higher value around {value:.9g}"
        why = "the branch begins at this value of the parameter."
        raise ModelError(f"{where}.span", repr(span), needs, why, try_)
    back, ahead = (
        _Follow(point, parameter, (low, high), step, max_points, sense) for sense in (-1.0, 1.0)
    )
    for half in (back, ahead):
        half.follow()
    return EquilibriumBranch(
        parameter,
        (*reversed(back.points[1:]), *ahead.points),
        (*reversed(back.found), *ahead.found),
        (back.reason, ahead.reason),
    )


def _is_constant(place: Place[Floats]) -> bool:
    """Return whether the parameter does not change along a branch, within rounding."""
    return abs(float(place.tangent[-1])) < _CONSTANT


class _Follow:
    """One direction of a branch, the method state of the continuation.

    Parameters
    ----------
    span : lowest and highest value of the parameter
    step, most : longest step, and largest number of points
    sense : 1 or -1, the direction of the parameter at the start
    """

    def __init__(
        self,
        point: Equilibrium,
        parameter: str,
        span: tuple[float, float],
        step: float,
        most: int,
        sense: float,
    ) -> None:
        self.parameter, self.span, self.step, self.most = parameter, span, step, most
        self.points, self.found, self.reason = [point], list[EquilibriumBifurcation](), ""
        s = point.multipliers
        self.problem = self._balance(point, np.where(np.abs(s) < 1.0, 0.0, s))
        value = float(point.system.parameter(parameter))
        u = np.concatenate([point.state, s[self.problem.sliding], [value]])
        place = place_at(self.problem, u)
        along = sense * (1.0 if place.tangent[-1] >= 0.0 else -1.0)
        self.place = Place(u, along * place.tangent)

    def _balance(self, point: Equilibrium, sides: Floats) -> Balance:
        """Return the equations of the mode with these signs, bounded by the span."""
        low, high = self.span
        problem = Balance(point.system, sides, self.parameter, high - low, point.state)
        last = problem.n + problem.sliding.size
        problem.limits = ((last, low, high, self.parameter),)
        return problem

    def follow(self) -> None:
        """Follow the branch to its end."""
        length = self.step
        here, rate = float(self.place.u[-1]), float(self.place.tangent[-1])
        if rate != 0.0 and here == self.span[int(rate > 0.0)]:
            self.reason = f"{self.parameter} reached {here:g}"
        while not self.reason and len(self.points) < self.most:
            new = advance(self.problem, self.place, length, longest=self.step)
            if new is None:
                self.reason = "no further equilibrium was found"
                return
            there, step, length = new
            bounded = limit_on_step(self.problem, self.place, step.step)
            if bounded is not None:
                u, reason = bounded
                move = (u - self.place.u) / self.problem.scale
                there, step = place_at(self.problem, u, self.place.tangent), Step(u, move, 0)
            if self._reaches_surface(step):
                length = self.step
                continue
            before = self.place
            self._smooth(there, step)
            self.points.append(equilibrium_of(self.problem, step.u))
            self.place = there
            if bounded is not None:
                self.reason = reason
            elif _is_constant(before) and _is_constant(there):
                self.reason = f"{self.parameter} is constant along the branch"
        self.reason = self.reason or f"the allowed number of points, {self.most}"

    def _reaches_surface(self, step: Step[Floats]) -> bool:
        """Handle the first boundary bifurcation on a step; return whether there is one.

        It is the first root of a margin: a state on a surface, or a multiplier at 1 or -1.
        """
        ends = self.problem.margins(self.place.u), self.problem.margins(step.u)
        passed = np.flatnonzero((ends[0] > 0.0) & (ends[1] <= 0.0))
        places = []
        for i in passed.tolist():

            def margin(u: Floats, i: int = i) -> float:
                return float(self.problem.margins(u)[i])

            values = float(ends[0][i]), float(ends[1][i])
            at = located(self.problem, self.place, step.step, margin, values)
            if at is not None:
                places.append((at[0], i, at[1]))
        if not places:
            return False
        _, i, u = min(places, key=lambda one: one[0])
        self._pass(i, u)
        return True

    def _pass(self, i: int, u: Floats) -> None:
        """Continue with the other branch at a boundary bifurcation at surface i.

        The mode of surface i changes from its side to sliding, or from sliding to a side.
        """
        old, there = self.problem, place_at(self.problem, u, self.place.tangent)
        here, value = equilibrium_of(old, u), float(u[-1])
        s, sides = here.multipliers.copy(), old.sides.copy()
        slides = old.sides[i] == 0.0
        s[i] = np.sign(s[i]) if slides else old.sides[i]
        sides[i] = s[i] if slides else 0.0
        self.problem = self._balance(here, sides)
        x = u[: old.n]
        u = np.concatenate([x, s[self.problem.sliding], [value]])
        place = place_at(self.problem, u)
        tangent = self.problem.scale * place.tangent
        # the tangent must point into the new mode: s_i h_i increases, or |multiplier| decreases
        if slides:
            inward = float(s[i] * (here.system.gradient(x)[i] @ tangent[: old.n]))
        else:
            k = old.n + int(np.flatnonzero(self.problem.sliding == i)[0])
            inward = -float(s[i] * tangent[k])
        if inward < 0.0:
            place = Place(u, -place.tangent)
        free = equilibrium_of(self.problem, u) if slides else here
        # the parameter continues in its direction, or turns back
        same = float(place.tangent[-1] * there.tangent[-1]) > 0.0
        kind = "persistence" if same else "non-smooth fold"
        self.found.append(EquilibriumBifurcation(kind, value, free))
        # the first step must leave the boundary, at which the margin is zero within rounding
        new = advance(self.problem, place, self.step, longest=self.step)
        while new is not None and (self.problem.margins(new[0].u) <= 0.0).any():
            shorter = 0.5 * float(np.linalg.norm(new[1].step))
            if shorter < 1e-9 * self.step:
                new = None
                break
            new = advance(self.problem, place, shorter, longest=shorter)
        if new is None:
            self.reason = "no equilibrium was found beyond the boundary bifurcation"
            return
        landed = limit_on_step(self.problem, place, new[1].step)
        if landed is not None:
            self.place = place_at(self.problem, landed[0], place.tangent)
            self.reason = landed[1]
        else:
            self.place = new[0]
        self.points.append(equilibrium_of(self.problem, self.place.u))

    def _smooth(self, there: Place[Floats], step: Step[Floats]) -> None:
        """Locate folds and Hopf bifurcations on a step.

        A fold is a root of the component of the tangent along the parameter. A Hopf bifurcation is
        a root of the product of all sums of two eigenvalues with a complex pair.
        """
        problem, place = self.problem, self.place

        def along(u: Floats) -> float:
            return float(place_at(problem, u, place.tangent).tangent[-1])

        def pairs(u: Floats) -> float:
            values = equilibrium_of(problem, u).eigenvalues
            # over their sizes, so that products of many sums neither vanish nor overflow
            sums: list[complex] = [
                (a + b) / ((abs(a) + abs(b)) or 1.0) for a, b in itertools.combinations(values, 2)
            ]
            return float(np.prod(sums).real) if sums else 1.0

        tests: list[tuple[str, Callable[[Floats], float], tuple[float, float]]] = [
            ("fold", along, (float(place.tangent[-1]), float(there.tangent[-1]))),
            ("Hopf", pairs, (pairs(place.u), pairs(step.u))),
        ]
        for kind, test, ends in tests:
            # where the parameter is constant along the branch, its rate is rounding
            flat = kind == "fold" and _is_constant(place) and _is_constant(there)
            if ends[0] * ends[1] >= 0.0 or flat:
                continue
            at = located(problem, place, step.step, test, ends)
            if at is None:
                continue
            try:
                here = equilibrium_of(problem, at[1])
            except (ModelError, SolveError):
                continue
            values = here.eigenvalues
            least = values[np.argmin(np.abs(values.real))]
            if kind == "fold" or abs(least.imag) > _COMPLEX * float(np.abs(values).max()):
                self.found.append(EquilibriumBifurcation(kind, float(at[1][-1]), here))
