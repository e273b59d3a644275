"""Curves of bifurcations of periodic orbits in two parameters.

The unknowns are an orbit and two parameters. The equations are those of the periodic orbit together
with the condition of the bifurcation: a test function of the multipliers is zero, or the condition
of a sliding bifurcation holds (module `sliding`). Pseudo-arclength continuation follows the
solution.

At a point u = (states at the nodes, period, two parameters) the equations are G(u) = 0, the gaps
between arcs and the phase condition of `shooting`, and g(u) = 0, the test function.

Source: Kuznetsov 2004, section 10.3; Dercole and Kuznetsov 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import numbers
from stiction.numerics.continuation import Dense, corrected, place_at, trace
from stiction.studies.cycles.bifurcations import TESTS, Bifurcation, same_order, verified
from stiction.studies.cycles.cycle import Cycle, around, cycle_of
from stiction.studies.cycles.shooting import Shooting
from stiction.studies.cycles.sliding import SlidingOrbit

__all__ = ["BifurcationCurve", "bifurcation_curve", "checked_span", "two_of"]

Floats = npt.NDArray[np.float64]
Spans = tuple[tuple[float, float], tuple[float, float]]

# step of the finite differences of test functions, in scaled unknowns
_STEP = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class BifurcationCurve:
    """A curve of bifurcations of periodic orbits in two parameters.

    Parameters
    ----------
    kind : kind of the bifurcation
    parameters : names of the two parameters
    values : (k, 2) values of the parameters, in order along the curve
    periods : (k,) periods of the orbits [s, or the system's unit of time]
    states : (k, n) states of the orbits at the critical event, or at the first node if there is no
        critical event
    ends : why the curve ended at its first and at its last point
    """

    kind: str
    parameters: tuple[str, str]
    values: Floats
    periods: Floats
    states: Floats
    ends: tuple[str, str]

    def __repr__(self) -> str:
        """Return the kind, the ranges and the ends."""
        spans = [
            f"{name} = {column.min():.6g} to {column.max():.6g}"
            for name, column in zip(self.parameters, self.values.T, strict=True)
        ]
        return (
            f"<BifurcationCurve: {self.kind}, {len(self.values)} points, {', '.join(spans)}\n"
            f"  first end: {self.ends[0]}\n"
            f"  last end: {self.ends[1]}>"
        )


@dataclass(frozen=True, eq=False)
class _CriticalOrbit:
    """The equations of an orbit and a test function of its multipliers.

    It has the interface `VectorProblem` of `numerics.continuation`.
    """

    base: Shooting
    kind: str

    @property
    def scale(self) -> Floats:
        return self.base.scale

    @property
    def limits(self) -> tuple[tuple[int, float, float, str], ...]:
        """Return the limits of the unknowns of the orbit, (index, low, high, name) each."""
        return self.base.limits

    def cycle(self, u: Floats) -> Cycle:
        """Return the orbit."""
        return cycle_of(self.base, u, float(np.abs(self.base.residual(u)).max()), 0)

    def test(self, u: Floats) -> float:
        """Return the test function, 0 at the bifurcation."""
        cycle = self.cycle(u)
        return TESTS[self.kind](cycle) / float(np.prod(1.0 + np.abs(cycle.multipliers)))

    def residual(self, u: Floats) -> Floats:
        return np.append(self.base.residual(u), self.test(u))

    def tolerance(self, u: Floats) -> float:
        return 0.0

    def linearised(self, u: Floats) -> Dense:
        """Return the derivatives of the residual by the scaled unknowns.

        The test function is differentiated only along the null space of the orbit equations. The
        other components do not matter at a solution, because a step there vanishes with the
        residual of the orbit equations.
        """
        jacobian = self.base.jacobian(u) * self.scale
        free = np.linalg.svd(jacobian)[2][len(jacobian) :]
        slopes = [
            self.test(self.moved(u, _STEP * null)) - self.test(self.moved(u, -_STEP * null))
            for null in free
        ]
        return Dense(np.vstack([jacobian, np.array(slopes) @ free / (2.0 * _STEP)]))

    def moved(self, u: Floats, step: Floats) -> Floats:
        return self.base.moved(u, step)


def bifurcation_curve(
    one: Bifurcation, parameters: tuple[str, str], spans: Spans, step: float, most: int
) -> BifurcationCurve:
    """Return the curve of a bifurcation in two parameters, followed in both directions.

    Raises
    ------
    SolveError : if the bifurcation has no equations, or its orbit does not solve them.

    Verified by: tests/exact/test_bifurcation_curves.py::test_den_hartog
    """
    problem: Any
    cycle = one.cycle
    if one.kind in TESTS:
        base, u = around(
            cycle.system,
            cycle.method,
            cycle.fractions,
            cycle.nodes,
            cycle.force_period,
            cycle.period,
            parameters,
            spans,
        )
        problem = _CriticalOrbit(base, one.kind)
    elif one.equations is not None:
        solved, u = one.equations
        problem, u = solved.with_limits(u, parameters, spans)
    else:
        needs, why = (
            "a bifurcation whose equations were solved",
            "the curve begins at a solution of these equations.",
        )
        try_ = "take a fold, flip, Neimark-Sacker or sliding bifurcation of a flow."
        raise SolveError(explain("continue_cycle", f"a {one.kind}", needs, why, try_))
    start = _started(problem, u)
    if start is None:
        needs, why = "an orbit at the bifurcation", "the curve begins at this orbit."
        try_ = "locate the bifurcation on a branch with smaller steps."
        raise SolveError(explain("continue_cycle", "no solution", needs, why, try_))
    halves = [
        _checked(problem, one.kind, *trace(problem, start, sense, step=step, most=most))
        for sense in (-1.0, 1.0)
    ]
    (back, first), (ahead, last) = halves
    points = [*reversed(back[1:]), *ahead] if first != "the curve is closed" else back
    return BifurcationCurve(
        one.kind,
        parameters,
        np.array([u[-2:] for u in points]),
        np.array([_plain(problem).period_at(u) for u in points]),
        np.array([_state(problem, u) for u in points]),
        (first, last),
    )


def _plain(problem: Any) -> Any:
    return problem.base if isinstance(problem, _CriticalOrbit) else problem


def _state(problem: Any, u: Floats) -> Floats:
    if isinstance(problem, SlidingOrbit):
        return np.array(problem.states(u)[problem.critical.at])
    return np.array(problem.base.nodes(u)[0])


def _started(problem: Any, u: Floats) -> Floats | None:
    """Return the solution nearest to the unknowns `u`; None if Newton's method fails."""
    try:
        place = place_at(problem, u)
        new = corrected(problem, place, place.tangent, np.zeros(u.size))
    except (ModelError, np.linalg.LinAlgError):
        return None
    return None if new is None else new.u


def _checked(
    problem: Any, kind: str, points: list[Floats], reason: str
) -> tuple[list[Floats], str]:
    """Return the points before the first one at which the orbit has a second bifurcation."""
    order = None
    for k, u in enumerate(points):
        if isinstance(problem, SlidingOrbit):
            good = problem.valid(u)
        else:
            cycle = problem.cycle(u)
            order = cycle.order if order is None else order
            good = same_order(cycle.order, order) and verified(kind, cycle)
        if not good:
            return points[:k] or points[:1], "another bifurcation of the same orbit is next"
    return points, reason


def checked_span(where: str, cycle: Cycle, name: str, span: Any) -> tuple[float, float]:
    """Return the lowest and highest value of a parameter."""
    why, try_ = "the branch ends at these values.", "for example span=(0.1, 0.5)."
    low, high = numbers(where, span, size=2, per="end", why=why, try_=try_).tolist()
    value = float(cycle.system.parameter(name))
    if not low <= value <= high or not low < high:
        needs = f"a lower and a higher value around {value:.9g}"
        why = "the branch begins at this value of the parameter."
        raise ModelError(where, repr(span), needs, why, try_)
    return low, high


def two_of(cycle: Cycle, names: Any, spans: Any) -> tuple[tuple[str, str], Spans]:
    """Return two different names and their spans."""
    where = "continue_cycle"
    lists = all(isinstance(one, Sequence) and len(one) == 2 for one in (names, spans))
    if not lists or isinstance(names, str) or names[0] == names[1]:
        got, needs = f"{names!r} and {spans!r}", "two names and two spans"
        why = "a bifurcation is followed in two parameters."
        try_ = 'for example ("p.a", "p.b"), ((0.0, 1.0), (0.1, 0.5)).'
        raise ModelError(f"{where}.parameter", got, needs, why, try_)
    first, second = (
        checked_span(f"{where}.span[{i}]", cycle, names[i], spans[i]) for i in range(2)
    )
    return (names[0], names[1]), (first, second)
