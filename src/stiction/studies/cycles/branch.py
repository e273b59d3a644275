"""Branches of periodic orbits over a parameter, by pseudo-arclength continuation.

The unknowns u (states at the nodes, period, parameter) solve the equations of `shooting`. An arc of
the orbit is a run with located events, so that the order of events may change along the branch. At
a change the map over one period is continuous and its derivatives jump. Newton's method converges
beyond it. `branch_step` locates the bifurcations on each step.

Source: Keller 1977; Seydel 2010, chapter 4 and section 7.8; Dankowicz and Schilder 2013.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Checkpoint
from stiction.errors import ModelError, SolveError
from stiction.numerics.checks import number, whole
from stiction.numerics.continuation import (
    SHORTEST,
    Place,
    Step,
    advance,
    corrected,
    place_at,
)
from stiction.studies.cycles.bifurcations import (
    Bifurcation,
    change_of_order,
    hopf_bifurcation,
    same_order,
)
from stiction.studies.cycles.branch_step import (
    JUMP,
    SHRUNK,
    BranchStep,
    known_orbit,
    orbit_at,
    solved_change,
)
from stiction.studies.cycles.checkpoints import Half, pack_branch, restore_branch
from stiction.studies.cycles.curves import (
    BifurcationCurve,
    bifurcation_curve,
    checked_span,
    two_of,
)
from stiction.studies.cycles.cycle import (
    Cycle,
    around,
    check_second_period,
    settled_beside,
    states_at,
    with_new_nodes,
)
from stiction.studies.cycles.doubled import halves_apart
from stiction.studies.cycles.shooting import Shooting, null_vectors, obstacle

__all__ = ["CycleBranch", "continue_cycle"]

Floats = npt.NDArray[np.float64]
Span = tuple[float, float]

# distances, as fractions of a step, at which the other order of events is tried at a sharp turn
_BEYOND = (1e-4, 1e-3, 1e-2, 0.1)
# longest step over `step` where longer ones fail: at a sharp turn of the branch, and before an end
_FINE = 2.0**-6
# distances of positions of a mass that always sticks, relative to the sizes of the states
_IN_FAMILY = 0.25 ** np.arange(8)
# growth of the states, relative to their sizes, at which the unknowns are scaled again
_OUTGROWN = 4.0
# distances beyond a corner at which tangents are computed, as multiples of the shortest step
_BEHIND_CORNER = np.array([1.0, 4.0, 16.0, 64.0])
# amplitude of an orbit, relative to the largest on the branch, at which it is an equilibrium
_VANISHED = 1e-6
# halves of an orbit are equal if they differ by less than this, relative to those of another orbit
# and to the sizes of the states
_MERGED = 1e-5
_MOST_ORBITS, _NONE = 100_000, "no further orbit was found"


@dataclass(frozen=True, eq=False, repr=False)
class CycleBranch:
    """Periodic orbits along a branch.

    Parameters
    ----------
    parameter : name of the parameter
    cycles : the orbits in order along the branch
    bifurcations : the bifurcations in order along the branch
    ends : why the branch ended at its first and at its last orbit
    """

    parameter: str
    cycles: tuple[Cycle, ...]
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]

    @property
    def values(self) -> Floats:
        """(k,) values of the parameter."""
        return np.array([cycle.system.parameter(self.parameter) for cycle in self.cycles])

    @property
    def periods(self) -> Floats:
        """(k,) periods [s, or the system's unit of time]."""
        return np.array([cycle.period for cycle in self.cycles])

    @property
    def stable(self) -> npt.NDArray[np.bool_]:
        """(k,) whether each orbit is stable."""
        return np.array([cycle.stable for cycle in self.cycles])

    def __repr__(self) -> str:
        """Return the span, the ends and the bifurcations."""
        values = self.values
        lines = [
            f"<CycleBranch: {len(values)} orbits, {self.parameter} = {values.min():.6g} "
            f"to {values.max():.6g}, {int(self.stable.sum())} of them stable",
            f"  first end: {self.ends[0]}",
            f"  last end: {self.ends[1]}",
        ]
        lines += [
            f"  {one.kind} at {self.parameter} = {one.value:.12g}" for one in self.bifurcations
        ]
        return "\n".join(lines) + ">"


@overload
def continue_cycle(
    cycle: Cycle,
    parameter: str,
    span: Span,
    *,
    step: float = ...,
    max_orbits: int = ...,
    checkpoint: Checkpoint | None = ...,
) -> CycleBranch: ...


@overload
def continue_cycle(
    cycle: Bifurcation,
    parameter: tuple[str, str],
    span: tuple[Span, Span],
    *,
    step: float = ...,
    max_orbits: int = ...,
    checkpoint: Checkpoint | None = ...,
) -> BifurcationCurve: ...


def continue_cycle(
    cycle: Cycle | Bifurcation,
    parameter: str | tuple[str, str],
    span: Any,
    *,
    step: float = 0.05,
    max_orbits: int = 200,
    checkpoint: Checkpoint | None = None,
) -> CycleBranch | BifurcationCurve:
    """Return the branch of periodic orbits through an orbit, followed in both directions.

    A bifurcation of such a branch is followed as a curve in two parameters.

    Parameters
    ----------
    cycle : the orbit at which the branch begins, from `find_cycle`; or a bifurcation on a branch
    parameter : name of the parameter, such as `p.mu` or `belt_speed`; for a bifurcation the names
        of two parameters
    span : lowest and highest value of the parameter, where the branch ends; for a bifurcation one
        pair for each parameter
    step : longest step along the branch, in unknowns that are divided by their sizes [1]
    max_orbits : largest number of orbits in each direction
    checkpoint : saves the state of a long branch between two steps, and resumes it; see
        `io.checkpoint_file.FileCheckpoint`. None for none; a curve in two parameters has none

    Raises
    ------
    ModelError : if a parameter is unknown or a span does not hold its value.
    SolveError : if the equations of a bifurcation are not solved.

    Source: Keller 1977.
    Verified by: tests/exact/test_cycle_branches.py::test_boundary_of_stops
    """
    where = "continue_cycle"
    why, try_ = "this number bounds the work.", "leave this value out."
    whole(f"{where}.max_orbits", max_orbits, least=2, most=_MOST_ORBITS, why=why, try_=try_)
    why = "a step has a positive length."
    number(f"{where}.step", step, rule="positive", why=why, try_="leave this value out.")
    given: object = cycle
    if isinstance(given, Bifurcation):
        if checkpoint is not None:
            needs, why = "no checkpoint", "a curve in two parameters has no state to resume from."
            raise ModelError(
                f"{where}.checkpoint", "a checkpoint", needs, why, "leave this value out."
            )
        names, spans = two_of(given.cycle, parameter, span)
        return bifurcation_curve(given, names, spans, step, max_orbits)
    if not isinstance(given, Cycle):
        needs, why = "a Cycle", "the branch begins at a periodic orbit."
        try_ = "find_cycle(system, guess) returns one."
        raise ModelError(f"{where}.cycle", type(given).__name__, needs, why, try_)
    if not isinstance(parameter, str):
        needs, why = "one name", "an orbit is followed in one parameter."
        try_ = "give one name, or start from a bifurcation of a branch."
        raise ModelError(f"{where}.parameter", repr(parameter), needs, why, try_)
    low, high = checked_span(f"{where}.span", given, parameter, span)
    halves = [
        _HalfBranch(given, parameter, (low, high), step, max_orbits, sense) for sense in (-1.0, 1.0)
    ]
    asked = [parameter, low, high, step, max_orbits]
    if checkpoint is not None and (saved := checkpoint.load()) is not None:
        restore_branch(halves, asked, saved)
    run_to_end(_followed(halves, asked), checkpoint=checkpoint)
    back, ahead = halves
    return CycleBranch(
        parameter,
        (*reversed(back.cycles[1:]), *ahead.cycles),
        (*(_turned(one) for one in reversed(back.bifurcations)), *ahead.bifurcations),
        (back.reason, ahead.reason),
    )


def _followed(halves: Sequence[_HalfBranch], asked: list[Any]) -> Generator[Pause, None, None]:
    """Follow both halves of a branch, with a pause before each step."""
    for half in halves:
        for _ in half.follow():
            count = sum(len(one.cycles) for one in halves)
            done = count / (2.0 * half.most)
            yield Pause(done, f"{count} orbits", lambda: pack_branch(halves, asked))


def _turned(one: Bifurcation) -> Bifurcation:
    return dataclasses.replace(one, before=one.after, after=one.before)


class _HalfBranch(Half):
    """A branch from its first orbit in one direction of the parameter, and its continuation."""

    def __init__(
        self, cycle: Cycle, parameter: str, span: Span, step: float, most: int, sense: float
    ) -> None:
        self.parameter, self.span, self.step, self.most = parameter, span, step, most
        self.given, self.sense = cycle, sense
        self.cycles, self.bifurcations = [cycle], list[Bifurcation]()
        self.reason, self.length, self.fresh, self.moved = "", step, True, 0
        self.problem, self.place = self._begun(cycle, None)
        here, rate = float(self.place.u[-1]), float(self.place.tangent[-1])
        if rate != 0.0 and here == span[int(rate > 0.0)]:
            self.reason = f"{parameter} reached its limit"

    def _begun(self, cycle: Cycle, before: Cycle | None) -> tuple[Shooting, Place[Floats]]:
        """Return the equations around an orbit, and the point there with its tangent.

        Parameters
        ----------
        before : the previous orbit, which gives the direction of the tangent; None for the
            direction of the parameter
        """
        problem, u = around(
            cycle.system,
            cycle.method,
            cycle.fractions,
            cycle.nodes,
            cycle.force_period,
            cycle.period,
            (self.parameter,),
            (self.span,),
        )
        place = place_at(problem, u)
        along = place.tangent[-1] * self.sense
        if before is not None:
            value = float(before.system.parameter(self.parameter))
            period = [before.period] if problem.period is None else []
            last = np.concatenate([before.nodes.ravel(), period, [value]])
            along = float(place.tangent @ ((u - last) / problem.scale))
        return problem, place if along > 0.0 else Place(u, -place.tangent)

    def follow(self) -> Iterator[None]:
        """Follow the branch to its end, with a pause before each step."""
        while not self.reason:
            yield
            if len(self.cycles) >= self.most:
                self.reason = f"the allowed number of orbits, {self.most}"
                return
            if self._landed(self.length * self.place.tangent):
                return
            fine = self.length < SHORTEST * self.step
            longest = self.step * (_FINE if fine else 1.0)
            new = advance(self.problem, self.place, self.length, longest=longest)
            if new is None:
                if self._turn() or (not self.fresh and not fine and self._new_nodes()):
                    self.fresh, self.length = True, self.step
                elif not fine:
                    self.length = 0.5 * SHORTEST * self.step
                elif self._turn_corner() or self._move_in_family() or self._settle():
                    self.fresh, self.length = False, self.step
                else:
                    self.reason = self._why()
                continue
            place, step, self.length = new
            if self._landed(step.step):
                return
            if not self.span[0] <= float(place.u[-1]) <= self.span[1]:
                # the step passed the limit, and no orbit was found at the limit
                self.length = 0.25 * float(np.linalg.norm(step.step))
                if self.length < SHORTEST * self.step:
                    self.reason = self._why()
                    return
            elif self._accept(self.place, step):
                self.fresh = False
                if self._vanished():
                    return
                self._anchor(place)
                self._rescale()
            elif (
                self.reason.startswith(_NONE)
                and self.moved != len(self.cycles)
                and self._new_nodes()
            ):
                # the step fails if a node lies at an event: other nodes are tried
                self.reason, self.fresh, self.moved = "", True, len(self.cycles)

    def _rescale(self) -> None:
        """Scale the unknowns again if the states have grown, as at a resonance."""
        problem, place = self.problem, self.place
        largest = np.abs(problem.nodes(place.u)).max(axis=0)
        if (largest > _OUTGROWN * problem.sizes).any():
            scale, sizes = problem.scale.copy(), np.maximum(problem.sizes, largest)
            scale[: problem.n * problem.count] = np.tile(sizes, problem.count)
            before = place.tangent * problem.scale / scale
            self.problem = dataclasses.replace(problem, sizes=sizes, scale=scale)
            self.place = place_at(self.problem, place.u, before)

    def _landed(self, step: Floats) -> bool:
        """End the branch at the limit of the parameter if a step passes it; return whether so."""
        here = float(self.place.u[-1])
        change = float(step[-1] * self.problem.scale[-1])
        for bound in self.span:
            fraction = (bound - here) / change if change != 0.0 else -1.0
            if not 0.0 < fraction <= 1.0:
                continue
            row = np.zeros(step.size)
            row[-1] = 1.0
            found = corrected(self.problem, self.place, row, fraction * step)
            near = 2.0 * max(float(np.linalg.norm(step)), 1e-3)
            if found is not None and float(np.linalg.norm(found.step)) <= near:
                if self._halves_merge(found.u):
                    return False
                if self._accept(self.place, found):
                    self.reason = f"{self.parameter} reached its limit"
                return True
        return False

    def _halves_merge(self, u: Floats) -> bool:
        """Return whether a solution is an orbit of half the period, but the last orbit is none.

        Where a branch of doubled period ends at a flip, the branch of the single orbit continues.
        """
        orbits = self.cycles[-1], known_orbit(self.problem, u)
        ends = [np.inf if x is None else np.abs(halves_apart(x)).max() for x in orbits]
        return bool(ends[1] < _MERGED * ends[0] and ends[0] > _MERGED * self.problem.sizes.max())

    def _turn(self) -> bool:
        """Pass a bifurcation at which the branch turns sharply; return whether this succeeded.

        At such a non-smooth fold, orbits with both orders of events exist on the same side of the
        bifurcation. The tangent of the orbits with the other order is computed at states beyond the
        last orbit.

        Source: di Bernardo et al. 2008, section 3.4.
        Verified by: tests/exact/test_sliding_bifurcations.py::test_parameter_and_kind
        """
        last, one = self.cycles[-1], None
        for distance in _BEYOND:
            u = self.problem.moved(self.place.u, distance * self.step * self.place.tangent)
            beyond = known_orbit(self.problem, u)
            if beyond is None or same_order(beyond.order, last.order):
                continue
            one = one or solved_change(last, beyond, self.parameter)
            reach = self.step * float(self.problem.scale[-1])
            if one is None or abs(one.value - self.place.u[-1]) > reach:
                continue
            new = self._other_side(place_at(self.problem, u).tangent)
            if new is not None:
                self.bifurcations.append(one)
                self.cycles.append(new[1])
                self._anchor(new[0])
                return True
        return False

    def _other_side(self, tangent: Floats) -> tuple[Place[Floats], Cycle] | None:
        """Return an orbit with another order of events, in either direction of a tangent."""
        order = self.cycles[-1].order
        for side in (1.0, -1.0):
            turned = Place(self.place.u, side * tangent)
            for length in (0.1 * self.step, 0.01 * self.step):
                new = corrected(self.problem, turned, turned.tangent, length * turned.tangent)
                cycle = None if new is None else known_orbit(self.problem, new.u)
                if new is None or cycle is None or same_order(cycle.order, order):
                    continue
                if float(np.linalg.norm(new.step)) <= 4.0 * length:
                    return place_at(self.problem, new.u, turned.tangent), cycle
        return None

    def _why(self) -> str:
        """Return why no further orbit was found."""
        ahead = 1e-3 * self.step * self.place.tangent
        return f"{_NONE}: {obstacle(self.problem, self.place.u, ahead, JUMP)}"

    def _turn_corner(self) -> bool:
        """Continue beyond a corner of the branch; return whether this succeeded.

        At a corner the derivatives of the map over one period jump, or change within a distance
        below the shortest step, and so does the tangent of the branch. The tangent beyond it is
        computed from the equations a little further ahead. The branch may turn back there.

        Source: di Bernardo et al. 2008, section 3.1 (border collisions, persistence and folds).
        Verified by: tests/exact/test_cycles_of_chains.py::test_corners_of_branches
        """
        problem, place, last = self.problem, self.place, self.cycles[-1]
        for length in _BEHIND_CORNER * SHORTEST * self.step:
            ahead = length * place.tangent
            try:
                tangent = place_at(problem, problem.moved(place.u, ahead), place.tangent).tangent
            except (ModelError, np.linalg.LinAlgError):
                continue
            for sense in (1.0, -1.0):
                row = sense * tangent
                new = corrected(problem, place, row, ahead + 4.0 * length * row)
                cycle = None if new is None else known_orbit(problem, new.u)
                if new is None or cycle is None:
                    continue
                # the branch behind the corner has orbits at this distance, too
                back = min(float(place.tangent @ new.step), 0.0) * place.tangent
                behind = corrected(problem, place, place.tangent, back)
                apart = new.step if behind is None else new.step - behind.step
                size = float(np.linalg.norm(new.step))
                if size > 20.0 * length or float(np.linalg.norm(apart)) < 0.1 * size:
                    continue
                try:
                    check_second_period(problem, new.u)
                    there = place_at(problem, new.u, row)
                except (ModelError, SolveError, np.linalg.LinAlgError):
                    continue
                if not same_order(cycle.order, last.order):
                    before = Step(problem.moved(place.u, ahead), ahead, 0)
                    corner = BranchStep(problem, self.parameter, place, before).corner(last, cycle)
                    self.bifurcations.append(corner)
                self.cycles.append(cycle)
                self._anchor(there)
                return True
        return False

    def _move_in_family(self) -> bool:
        """Move masses that always stick to other positions; return whether it succeeded.

        A mass that sticks during the whole period may have any position in an interval. Along the
        branch its position is constant, until the force on it reaches its bound during the period.

        Verified by: tests/exact/test_cycles_of_chains.py::test_the_end_of_an_interval_of_stick
        """
        if self.moved == len(self.cycles):
            return False
        rows = self.problem.linearised(self.place.u).jacobian, np.eye(self.place.u.size)[-1:]
        null = null_vectors(np.vstack(rows))
        for length in _IN_FAMILY:
            for vector in (*null, *(-null)):
                new = corrected(self.problem, self.place, vector, length * vector)
                # positions in the interval differ by the null vector; other orbits do not
                if new is None or np.linalg.norm(new.step - length * vector) > 0.1 * length:
                    continue
                cycle = known_orbit(self.problem, new.u)
                if cycle is None or not same_order(cycle.order, self.cycles[-1].order):
                    continue
                self.place = place_at(self.problem, new.u, self.place.tangent)
                self.cycles[-1], self.moved = cycle, len(self.cycles)
                return True
        return False

    def _settle(self) -> bool:
        """Continue at an orbit on which runs beyond a stable orbit settle; return whether so.

        Where the derivatives jump at several events at once, Newton's method may alternate between
        the orders of events. The distance of the orbits decreases with that of the parameters, or
        the branch ends here in a jump.

        Verified by: tests/exact/test_cycles_of_chains.py::test_a_turn_that_no_step_resolves
        """
        last, rate, before = self.cycles[-1], float(self.place.tangent[-1]), np.inf
        if self.problem.period is None or not last.stable:
            return False
        for length in _BEHIND_CORNER * SHORTEST * self.step:
            value = float(self.place.u[-1]) + length * rate * float(self.problem.scale[-1])
            try:
                cycle = settled_beside(last, self.parameter, value)
                problem, place = self._begun(cycle, last)
            except (ModelError, SolveError, np.linalg.LinAlgError):
                continue
            states = [states_at(one, last.fractions[:-1]) for one in (last, cycle)]
            apart = float(np.abs((states[1] - states[0]) / self.problem.sizes).max())
            if 2.0 * before < apart < 20.0 * length:
                if not same_order(cycle.order, last.order):
                    kind, orders = change_of_order(last, cycle), (last.order, cycle.order)
                    value = float(self.place.u[-1])
                    self.bifurcations.append(
                        Bifurcation(kind, value, last, *orders, self.parameter)
                    )
                self.cycles.append(cycle)
                self.problem, self.place = problem, place
                return True
            before = apart
        return False

    def _new_nodes(self) -> bool:
        """Move the nodes away from the events of the last orbit; return whether it succeeded."""
        try:
            moved = with_new_nodes(self.cycles[-1])
            problem, place = self._begun(moved, None)
        except (ModelError, SolveError, np.linalg.LinAlgError):
            return False
        # parameter and period change with the same sign whatever the nodes
        same = slice(-1 if problem.period is not None else -2, None)
        if float(place.tangent[same] @ self.place.tangent[same]) < 0.0:
            place = Place(place.u, -place.tangent)
        self.problem, self.place = problem, place
        self.cycles[-1] = moved
        return True

    def _anchor(self, place: Place[Floats]) -> None:
        """Continue from a point, with the phase condition of an autonomous orbit updated there."""
        largest = np.abs(self.problem.nodes(place.u)).max()
        ratio = float(largest / self.problem.sizes.max())
        if ratio > 2.0:
            # the states have grown: steps are fractions of their sizes, which are updated
            self.problem, self.place = self._begun(self.cycles[-1], self.cycles[-2])
            return
        if self.problem.period is None:
            flow = self.problem.arcs(place.u).arcs[-1].rate
            anchor = self.problem.nodes(place.u)[0].copy()
            self.problem = dataclasses.replace(self.problem, anchor=anchor, flow=flow)
            place = place_at(self.problem, place.u, place.tangent)
        self.place = place

    def _accept(self, place: Place[Floats], step: Step[Floats]) -> bool:
        """Add the orbit at the end of a step, and the bifurcations on it; or end the branch."""
        last = self.cycles[-1]
        try:
            new = orbit_at(self.problem, step.u)
            check_second_period(self.problem, step.u)
        except (ModelError, SolveError) as error:
            self.reason = f"{_NONE}: {str(error).splitlines()[0]}"
            return False
        between = BranchStep(self.problem, self.parameter, place, step)
        if same_order(last.order, new.order):
            found, self.reason = between.smooth(self.cycles, new)
        else:
            found = between.changes(last, new)
        self.bifurcations += found
        if self.reason:
            return False
        self.cycles.append(new)
        return True

    def _vanished(self) -> bool:
        """End the branch of an autonomous orbit whose amplitude has nearly vanished.

        Without symmetry no orbit lies beyond the equilibrium, and steps would shrink for ever.
        """
        last, new = self.cycles[-2:]
        spreads = [
            float(np.ptp(one.nodes / self.problem.sizes, axis=0).max()) for one in self.cycles
        ]
        if self.problem.period is not None or not spreads[-1] < _VANISHED * max(spreads):
            return False
        pair = last, new
        hopf = hopf_bifurcation(self.cycles, self.problem.sizes, self.parameter, pair)
        if hopf is None:
            return False
        self.bifurcations.append(hopf)
        self.reason = SHRUNK
        return True
