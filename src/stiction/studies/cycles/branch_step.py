"""Bifurcations on one step of a branch of periodic orbits.

A step leads from a solution of the equations of `shooting` to the next one. If both orbits have the
same order of events, test functions are compared: a fold, a flip or a Neimark-Sacker bifurcation is
a zero of its test function along the step. If the orders differ, the step is bisected between the
last orbit with the first order and the next orbit with another; the equations in `sliding` then
give the change of order to rounding, or bisection continues where these equations do not apply.

Callers: `branch`, after each step.

Source: Seydel 2010, chapter 5; di Bernardo et al. 2008, section 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError
from stiction.numerics.continuation import Place, Step, corrected, located, place_at
from stiction.studies.cycles.bifurcations import (
    TESTS,
    Bifurcation,
    change_of_order,
    hopf_bifurcation,
    merged_events,
    same_order,
    verified,
)
from stiction.studies.cycles.cycle import Cycle, cycle_of, find_cycle
from stiction.studies.cycles.doubled import flip_of_half, halves_apart
from stiction.studies.cycles.shooting import Shooting
from stiction.studies.cycles.sliding import sliding_orbit

__all__ = ["JUMP", "SHRUNK", "BranchStep", "known_orbit", "orbit_at", "solved_change"]

Floats = npt.NDArray[np.float64]

# bisections of a step that bracket a change of order before its equations are solved; bisections
# that locate the change without its equations; largest number of changes on a step
_BRACKETINGS, _HALVINGS, _MOST_CHANGES = 10, 40, 8
# jump of the states, relative to their sizes, at which no continuous branch exists
JUMP = 1e-4
# why a branch ends at a Hopf bifurcation
SHRUNK = "the orbit shrinks to an equilibrium"


def orbit_at(problem: Shooting, u: Floats) -> Cycle:
    """Return the orbit at a solution u of the equations of shooting.

    Raises
    ------
    ModelError : if an arc has no derivatives.
    """
    return cycle_of(problem, u, float(np.abs(problem.residual(u)).max()), 0)


def known_orbit(problem: Shooting, u: Floats) -> Cycle | None:
    """Return the orbit at a solution u; None if it has no derivatives."""
    try:
        return orbit_at(problem, u)
    except ModelError:
        return None


def solved_change(first: Cycle, last: Cycle, parameter: str) -> Bifurcation | None:
    """Return the sliding bifurcation between two orbits as the solution of its equations.

    Verified by: tests/exact/test_sliding_bifurcations.py::test_parameter_and_kind
    """
    merged = merged_events(first, last)
    if isinstance(merged, str):
        return None
    fewer = first if len(first.order) <= len(last.order) else last
    solved = sliding_orbit(fewer, merged, parameter)
    if solved is None:
        return None
    value = float(solved[1][-1])
    cycle = _beside(fewer, value, parameter) or fewer
    orders = first.order, last.order
    return Bifurcation(merged.kind, value, cycle, *orders, parameter, solved)


def _beside(fewer: Cycle, value: float, parameter: str) -> Cycle | None:
    """Return the orbit nearest to `value` that has the order of events of `fewer`."""
    there = float(fewer.system.parameter(parameter))
    for distance in (0.0, 1e-9, 1e-6, 1e-3):
        try:
            system = fewer.system.with_parameter(parameter, value + distance * (there - value))
            cycle = find_cycle(system, fewer)
        except (ModelError, SolveError):
            continue
        if same_order(cycle.order, fewer.order):
            return cycle
    return None


@dataclass(frozen=True)
class BranchStep:
    """One step of a branch, between two solutions of the equations of shooting.

    Parameters
    ----------
    problem : the equations
    parameter : name of the parameter
    place : the solution at which the step begins, with its tangent
    step : the solution at which it ends
    """

    problem: Shooting
    parameter: str
    place: Place[Floats]
    step: Step[Floats]

    def smooth(self, cycles: Sequence[Cycle], new: Cycle) -> tuple[list[Bifurcation], str]:
        """Return folds, flips and Neimark-Sacker bifurcations on the step.

        Parameters
        ----------
        cycles : the orbits of the branch before the step
        new : the orbit at the end of the step

        Returns
        -------
        (bifurcations, reason) : "" or the reason why the branch ends on this step.
        """
        problem, place, last = self.problem, self.place, cycles[-1]
        found = []
        there = place_at(problem, self.step.u, place.tangent)
        ends = float(place.tangent[-1]), float(there.tangent[-1])

        def along(u: Floats) -> float:
            return float(place_at(problem, u, place.tangent).tangent[-1])

        tests: list[tuple[str, Callable[[Floats], float], tuple[float, float]]] = []
        if ends[0] * ends[1] < 0.0:
            flip = self._met_flip(last, new)
            if flip is not None:
                return [flip], "the orbit meets the flip of the orbit of half its period"
            # the fold is checked first, because the branch may end there in a Hopf bifurcation
            tests.append(("fold", along, ends))
        for kind, test in TESTS.items():
            values = test(last), test(new)
            # a fold is a limit point of the branch, located above
            if kind != "fold" and values[0] * values[1] < 0.0:
                tests.append((kind, lambda u, test=test: test(orbit_at(problem, u)), values))  # type: ignore[misc]
        for kind, function, values in tests:
            at = located(problem, place, self.step.step, function, values)
            cycle = None if at is None else known_orbit(problem, at[1])
            critical = cycle is not None and verified(kind, cycle)
            if kind == "fold" and (not critical or self._turned_over(last, new)):
                hopf = None
                if problem.period is None:
                    pair = last, new
                    hopf = hopf_bifurcation(cycles, problem.sizes, self.parameter, pair)
                if hopf is not None:
                    # beyond the Hopf point the same orbits follow, shifted by half a period
                    return [hopf], SHRUNK
            if at is not None and cycle is not None and critical:
                value = float(at[1][-1])
                orders = last.order, new.order
                found.append((at[0], Bifurcation(kind, value, cycle, *orders, self.parameter)))
        return [one for _, one in sorted(found, key=lambda pair: pair[0])], ""

    def _turned_over(self, last: Cycle, new: Cycle) -> bool:
        """Return whether the nodes have moved to the opposite side of their mean."""
        spans = [(one.nodes - one.nodes.mean(axis=0)) / self.problem.sizes for one in (last, new)]
        return float((spans[0] * spans[1]).sum()) < 0.0

    def _met_flip(self, last: Cycle, new: Cycle) -> Bifurcation | None:
        """Return the flip at which a branch of doubled period ends; None if there is none.

        At the flip both halves of the orbit are equal. Beyond it the same orbits follow, with their
        halves exchanged, so that the parameter has an extremum that is no fold. The flip is located
        on the branch of the orbit of half the period, where it is a regular point.

        Source: Kuznetsov 2004, section 5.3.
        Verified by: tests/exact/test_cycle_branches.py::test_a_branch_of_doubled_period_ends
        """
        apart = halves_apart(last), halves_apart(new)
        if not float((apart[0] * apart[1]).sum()) < 0.0:
            return None
        nearest = last if np.abs(apart[0]).max() < np.abs(apart[1]).max() else new
        half = flip_of_half(nearest, self.parameter)
        if half is None:
            return None
        value = float(half.system.parameter(self.parameter))
        return Bifurcation("flip", value, half, last.order, half.order, self.parameter)

    def changes(self, last: Cycle, new: Cycle) -> list[Bifurcation]:
        """Return the changes of the order of events between the orbits at the ends of the step."""
        found, low, before = list[Bifurcation](), 0.0, last
        while not same_order(before.order, new.order) and len(found) < _MOST_CHANGES:
            order = before.order

            def unchanged(cycle: Cycle | None, order: tuple[str, ...] = order) -> bool:
                return cycle is not None and same_order(cycle.order, order)

            edge, behind = self._bracket(low, unchanged, _BRACKETINGS)
            nearest = self._orbit(edge) or before
            after = self._orbit(behind) or new
            one = solved_change(nearest, after, self.parameter)
            if one is not None and self._between(one.value, nearest, after):
                found.append(one)
                low, before = behind, after
                continue
            edge, behind = self._bracket(edge, unchanged, _HALVINGS)
            nearest = self._orbit(edge) or before
            after = self._orbit(behind) or new
            apart = np.abs((after.nodes - nearest.nodes) / self.problem.sizes).max()
            kind = "jump" if apart > JUMP else change_of_order(nearest, after)
            # the reported orbit is that of the side with fewer events
            cycle = nearest if len(order) <= len(after.order) else after
            value = float(cycle.system.parameter(self.parameter))
            found.append(Bifurcation(kind, value, cycle, order, after.order, self.parameter))
            low, before = behind, after
        return found

    def _between(self, value: float, first: Cycle, last: Cycle) -> bool:
        """Return whether a value of the parameter lies between two orbits, or near."""
        ends = [float(one.system.parameter(self.parameter)) for one in (first, last)]
        length = float(np.linalg.norm(self.step.step))
        # near a turn of the branch, the parameter changes quadratically with the step
        near = abs(ends[1] - ends[0]) + 1e-3 * length * float(self.problem.scale[-1])
        return min(abs(value - end) for end in ends) <= near + 1e-9 * abs(value)

    def corner(self, last: Cycle, new: Cycle) -> Bifurcation:
        """Return the corner of the branch on a step along the tangent before the corner.

        Parameters
        ----------
        last, new : orbits before and behind the corner, with different orders of events
        """

        def unchanged(cycle: Cycle | None) -> bool:
            return cycle is not None and same_order(cycle.order, last.order)

        edge, _ = self._bisected(0.0, 1.0, unchanged, _HALVINGS)
        nearest = last if edge == 0.0 else self._orbit(edge) or last
        cycle = nearest if len(last.order) <= len(new.order) else new
        value = float(nearest.system.parameter(self.parameter))
        kind = change_of_order(nearest, new)
        return Bifurcation(kind, value, cycle, last.order, new.order, self.parameter)

    def _bracket(
        self, low: float, holds: Callable[[Cycle | None], bool], halvings: int
    ) -> tuple[float, float]:
        """Return fractions of a step, each with an orbit, between which a condition fails."""
        low, high = self._bisected(low, 1.0, holds, halvings)
        if self._orbit(high) is None:
            # in between, orbits are tangent to a surface within the error of a run
            high = self._bisected(high, 1.0, lambda orbit: orbit is None, halvings)[1]
        return low, high

    def _bisected(
        self, low: float, high: float, holds: Callable[[Cycle | None], bool], halvings: int
    ) -> tuple[float, float]:
        """Return fractions of a step: a condition holds at the first, fails at the second."""
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            if holds(self._orbit(middle)):
                low = middle
            else:
                high = middle
        return low, high

    def _orbit(self, fraction: float) -> Cycle | None:
        """Return the orbit at a fraction of the step; None if it has no derivatives."""
        found: Step[Floats] | None = self.step
        if fraction != 1.0:
            along = self.place.tangent
            found = corrected(self.problem, self.place, along, fraction * self.step.step)
        return None if found is None else known_orbit(self.problem, found.u)
