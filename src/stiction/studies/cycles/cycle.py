"""Periodic orbits: found by shooting, with their Floquet multipliers.

`shooting` has the equations and their source.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.core.tangents import EventTangent, Tangents
from stiction.errors import ModelError, SolveError, explain
from stiction.numerics.checks import number, numbers, whole
from stiction.studies.cycles.shooting import Arcs, Period, Shooting, closed, nodes_between

__all__ = [
    "Cycle",
    "around",
    "check_second_period",
    "cycle_of",
    "find_cycle",
    "floquet",
    "solved",
]

Floats = npt.NDArray[np.float64]

_NODES, _MOST_NODES = 4, 1000
# runs in search of a recurrence end there: time, events, and distance over the sizes of states
_MOST_EVENTS, _NEAR = 2000, 1e-5
# of the runs that look for a recurrence; the last number is over the time in which the state moves
_FIRST_TIME, _LAST_TIME, _MOST_TIMES = 1e-18, 1e18, 2.0**17
# a component of a guess below this fraction of the largest says nothing of its size
_SMALL = 1e-3
# a distance that is so much larger than the least belongs to another period
_ALIKE = 10.0
# fraction of a period by which a run starts later to see whether the time matters
_SHIFT = 0.37
# multipliers below this fraction of the largest derivative are rounding of 0
_ZERO = 1e-13
# distance from the unit circle within which a multiplier is neither inside nor outside
_NEUTRAL = 1e-7
# change of the state over a period, over its size, below which it is at rest, and the fraction of
# an interval at which it is compared, which no multiple of a period meets
_STILL, _INSIDE = 1e-7, 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Cycle:
    """A periodic orbit.

    Parameters
    ----------
    system, method : the system, and the method of its runs
    start : time of the first node [s, or the system's unit of time]
    state : (n,) state there
    period : [s, or the system's unit of time]
    order : labels of the events over a period, in order
    events : the events; their derivatives are with respect to the state at the node before
    multipliers : Floquet multipliers, the largest first; 0 where the orbit sticks. The trivial
        multiplier 1 of an autonomous system is not among them
    trivial : the trivial multiplier as computed, 1 to the accuracy of the run; NaN with a force
    residual : largest gap between arcs, over the sizes of the states
    iterations : of Newton's method
    nodes, fractions : (k, n) states at the nodes of shooting, and (k + 1,) their times over the
        period
    force_period : period of the force, or a function of the system that returns it; None where
        the system is autonomous
    """

    system: Any
    method: Any
    start: float
    state: Floats
    period: float
    order: tuple[str, ...]
    events: tuple[EventTangent, ...]
    multipliers: npt.NDArray[np.complex128]
    trivial: float
    residual: float
    iterations: int
    nodes: Floats
    fractions: Floats
    force_period: Period

    @property
    def stable(self) -> bool:
        """Whether all multipliers lie inside the unit circle."""
        return bool((np.abs(self.multipliers) < 1.0).all())

    @property
    def _stability(self) -> str:
        """Return `neutral` where a multiplier lies on the unit circle to its accuracy."""
        largest = float(np.abs(self.multipliers).max(initial=0.0))
        if abs(largest - 1.0) <= _NEUTRAL:
            return "neutral"
        return "stable" if largest < 1.0 else "unstable"

    @property
    def autonomous(self) -> bool:
        """Whether the period is an unknown."""
        return self.force_period is None

    def run(self, save: int = 1001) -> Run:
        """Return the run over one period."""
        from stiction.solve import solve

        span = (self.start, self.start + self.period)
        return solve(self.system.at_state(self.state), self.method, span, save=save)

    def __repr__(self) -> str:
        """Return period, stability, multipliers and events in a few lines."""
        names = self.system.start_names
        state = ", ".join(f"{n} = {v:.9g}" for n, v in zip(names, self.state, strict=True))
        shown = ", ".join(_shown(value) for value in self.multipliers)
        return (
            f"<Cycle: period {self.period:.12g}, {self._stability}, {len(self.order)} events\n"
            f"  state at t = {self.start:.6g}: {state}\n"
            f"  Floquet multipliers: {shown}\n"
            f"  events: {'; '.join(self.order) or 'none'}>"
        )


def _shown(value: complex) -> str:
    return f"{value.real:.9g}" if value.imag == 0.0 else f"{value.real:.9g} {value.imag:+.9g}i"


def find_cycle(
    system: Any,
    guess: Sequence[float] | Floats | Cycle,
    method: Any = None,
    *,
    period: Period = None,
    nodes: int = _NODES,
    settle: float = 0.0,
) -> Cycle:
    """Return the periodic orbit that shooting finds near a guess.

    Parameters
    ----------
    system : a flow or another system with derivatives, see `core.tangents.Differentiable`
    guess : (n,) a state on the orbit or near it; or an orbit of a similar system
    method : of the runs; the system's default when None
    period : of the force, or a function of the system that returns it. None for an autonomous
        system: a run from the guess then looks for a recurrence of its events. A multiple of the
        force's period finds subharmonic orbits
    nodes : of multiple shooting; unstable orbits need more
    settle : time that the run from the guess is given to approach a stable orbit

    Raises
    ------
    ModelError : if the input describes no problem.
    SolveError : if no orbit closes; the message states the nearest miss.

    Source: Seydel 2010, sections 7.3 to 7.5; di Bernardo et al. 2008, section 2.5 (multipliers).
    Verified by: tests/exact/test_cycles.py::test_den_hartog
    """
    where = "find_cycle"
    if not hasattr(system, "tangents"):
        needs, why = "a system that has derivatives", "shooting needs those of runs."
        raise ModelError(
            f"{where}.system", type(system).__name__, needs, why, "take a flow that switches."
        )
    n, why = len(system.start_names), "it counts the nodes of shooting."
    whole(f"{where}.nodes", nodes, least=1, most=_MOST_NODES, why=why, try_="leave it out.")
    if period is not None and not callable(period):
        why, try_ = "it is the period of the force.", "leave it out for an autonomous system."
        period = number(f"{where}.period", period, rule="positive", why=why, try_=try_)
    if callable(period):
        why, try_ = (
            "it is the period of the force.",
            "return a number of the system's unit of time.",
        )
        number(f"{where}.period(system)", period(system), rule="positive", why=why, try_=try_)
    why, try_ = "the run from the guess takes so long.", "leave it out, or for example 60.0."
    settle = number(f"{where}.settle", settle, rule="nonnegative", why=why, try_=try_)
    if isinstance(guess, Cycle):
        if guess.state.size != n:
            got, needs = f"an orbit of {guess.state.size} states", f"one of {n} states"
            why, try_ = "its nodes are the guess.", "take an orbit of a similar system."
            raise ModelError(f"{where}.guess", got, needs, why, try_)
        problem, u = _around_cycle(system, guess, method)
    else:
        why = "the search starts at one state."
        state = numbers(
            f"{where}.guess", guess, size=n, per="state", why=why, try_=f"give {n} numbers."
        )
        if period is None:
            problem, u = _from_recurrence(system, method, state, nodes, settle)
        else:
            problem, u = _from_force(system, method, state, period, nodes, settle)
    return solved(problem, u)


def solved(problem: Shooting, u: Floats) -> Cycle:
    """Return the orbit that Newton's method finds from a guess of the unknowns."""
    try:
        ended = closed(problem, u)
    except ModelError as error:
        raise SolveError(f"find_cycle: the guess is no start of shooting.\n{error}") from error
    if ended.residual <= _NEAR and _at_rest(problem, ended.u):
        raise _equilibrium(problem.nodes(ended.u)[0])
    if not ended.converged:
        u = ended.u
        got = (
            f"a gap of {ended.residual:.3g} of the state after {ended.iterations} iterations, "
            f"at the state {problem.nodes(u)[0].tolist()} and the period {problem.period_at(u):.9g}"
        )
        why = "the arcs of a periodic orbit meet at the nodes."
        try_ = "start nearer, with more nodes, or give `settle` for a stable orbit."
        raise SolveError(explain("find_cycle", got, "arcs that meet", why, try_))
    check_second_period(problem, ended.u)
    return cycle_of(problem, ended.u, ended.residual, ended.iterations)


def _equilibrium(state: Floats) -> SolveError:
    got, needs = f"the equilibrium {state.tolist()}", "a state that moves"
    why, try_ = "a state at rest has no period.", "start elsewhere, or force more."
    return SolveError(explain("find_cycle", got, needs, why, try_))


def _at_rest(problem: Shooting, u: Floats) -> bool:
    """Return whether the state does not move over a period."""
    arcs, period, system = problem.arcs(u).arcs, problem.period_at(u), problem.system_at(u)
    near = _STILL * problem.sizes
    if any((np.abs(arc.rate) * period > near).any() for arc in arcs):
        return False
    # an orbit may be at rest where an arc ends, but not within every interval between events
    for arc, node, length in zip(
        arcs, problem.nodes(u), np.diff(problem.fractions) * period, strict=True
    ):
        times = [arc.start, *(event.time for event in arc.events), arc.start + float(length)]
        for first, last in itertools.pairwise(times):
            at = first + _INSIDE * (last - first)
            if at > arc.start:
                inside = _run(system, problem.method, node, (arc.start, at)).final
                if (np.abs(inside - node) > near).any():
                    return False
    return True


def check_second_period(problem: Shooting, u: Floats) -> None:
    """Refuse an orbit under a force that does not come back in the second period.

    Raises
    ------
    SolveError : if the arcs do not meet when they start a period later.

    Verified by: tests/exact/test_cycles.py::test_a_wrong_period_of_the_force
    """
    if problem.period is None:
        return
    nodes, system, period = problem.nodes(u), problem.system_at(u), problem.period_at(u)
    for i, node in enumerate(nodes):
        first, last = (1.0 + problem.fractions[i : i + 2]) * period
        final = _run(system, problem.method, node, (float(first), float(last))).final
        off = float((np.abs(final - nodes[(i + 1) % len(nodes)]) / problem.sizes).max())
        if off > _NEAR:
            got = (
                f"a state that comes back after the period {period:.9g} and does not come back in "
                f"the second period: it is off by {off:.3g} of its size"
            )
            needs, why = "the period of the force", "the force repeats itself after its period."
            try_ = "correct `period`, or give a multiple of it."
            raise SolveError(explain("find_cycle", got, needs, why, try_))


def cycle_of(problem: Shooting, u: Floats, residual: float, iterations: int) -> Cycle:
    """Return the orbit at a solution of the equations of shooting."""
    arcs, period = problem.arcs(u), problem.period_at(u)
    start = float(problem.fractions[0]) * period
    multipliers, trivial = floquet(arcs, problem.n, autonomous=problem.period is None)
    events = []
    for arc, first in zip(arcs.arcs, problem.fractions[:-1], strict=True):
        shift = float(first) * period - arc.start
        events += [
            EventTangent(event.time + shift, event.label, event.state, event.time_by)
            for event in arc.events
        ]
    return Cycle(
        system=problem.system_at(u),
        method=problem.method,
        start=start,
        state=problem.nodes(u)[0].copy(),
        period=period,
        order=arcs.order,
        events=tuple(events),
        multipliers=multipliers,
        trivial=trivial,
        residual=residual,
        iterations=iterations,
        nodes=problem.nodes(u).copy(),
        fractions=problem.fractions,
        force_period=problem.period,
    )


def floquet(arcs: Arcs, n: int, *, autonomous: bool) -> tuple[npt.NDArray[np.complex128], float]:
    """Return the Floquet multipliers, the largest first, and the trivial one (NaN with a force).

    The monodromy matrix M of an autonomous orbit maps x' to itself. What is left acts on the
    quotient by x', as Q^T M Q with an orthonormal basis Q of its complement; so a fold does not
    merge its multiplier with the trivial one.
    """
    matrix, trivial = arcs.monodromy(n), np.nan
    size = max(float(np.abs(arc.final_by[:, :n]).max(initial=0.0)) for arc in arcs.arcs)
    if autonomous:
        rate = arcs.arcs[-1].rate
        trivial = float(rate @ matrix @ rate / (rate @ rate))
        basis = np.linalg.svd(rate[None, :])[2][1:].T
        matrix = basis.T @ matrix @ basis
    values = np.linalg.eigvals(matrix).astype(np.complex128)
    values[np.abs(values) <= _ZERO * max(size, float(np.abs(matrix).max(initial=0.0)))] = 0.0
    return values[np.argsort(-np.abs(values), kind="stable")], trivial


# ---- guesses


def _run(system: Any, method: Any, state: Floats, span: tuple[float, float]) -> Tangents:
    """Return a run without derivatives; SolveError where it does not get to its end."""
    run: Tangents = system.at_state(state).tangents(method, span, ())
    if not np.isfinite(run.final).all():
        failure = run.failures[0]
        got = f"{failure.kind} at t = {failure.time:.9g}: {failure.reason}"
        needs, why = "a run that goes on", "the search for an orbit follows it."
        raise SolveError(explain("find_cycle", got, needs, why, "start elsewhere."))
    return run


def _around_cycle(system: Any, cycle: Cycle, method: Any) -> tuple[Shooting, Floats]:
    method = cycle.method if method is None else method
    return around(system, method, cycle.fractions, cycle.nodes, cycle.force_period, cycle.period)


def around(
    system: Any,
    method: Any,
    fractions: Floats,
    nodes: Floats,
    period: Period,
    unknown_period: float,
    parameters: tuple[str, ...] = (),
    limits: tuple[tuple[float, float], ...] = (),
) -> tuple[Shooting, Floats]:
    """Return the equations and unknowns near nodes of an orbit."""
    flow = np.ones(nodes.shape[1])
    if period is None:
        # x' at the first node, which the last arc ends at
        length = float(fractions[-1] - fractions[-2]) * unknown_period
        flow = _run(system, method, nodes[-1], (0.0, length)).rate
    return Shooting.around(
        system,
        method,
        fractions,
        nodes,
        period=period,
        unknown_period=unknown_period,
        flow=flow,
        parameters=parameters,
        limits=limits,
    )


def _from_force(
    system: Any, method: Any, state: Floats, period: Period, nodes: int, settle: float
) -> tuple[Shooting, Floats]:
    length = float(period(system) if callable(period) else period)  # type: ignore[arg-type]
    if settle > 0.0:
        whole_periods = float(np.ceil(settle / length)) * length
        state = _run(system, method, state, (0.0, whole_periods)).final
    run = _run(system, method, state, (0.0, 2.0 * length))
    times = [event.time / length % 1.0 for event in run.events]
    fractions = nodes_between(times, nodes)
    return _laid(system, method, state, 0.0, fractions, period, length)


def _laid(
    system: Any,
    method: Any,
    state: Floats,
    start: float,
    fractions: Floats,
    period: Period,
    length: float,
) -> tuple[Shooting, Floats]:
    """Return the problem whose nodes lie on the run from a state."""
    found, time = [], start
    for fraction in fractions[:-1]:
        until = start + float(fraction) * length
        if until > time:
            state = _run(system, method, state, (time, until)).final
            time = until
        found.append(state)
    return around(system, method, fractions, np.array(found), period, length)


def _from_recurrence(
    system: Any, method: Any, state: Floats, nodes: int, settle: float
) -> tuple[Shooting, Floats]:
    """Return the problem around the best recurrence of events on a run from a state."""
    if settle > 0.0:
        settled = _run(system, method, state, (0.0, settle))
        if _comes_to_rest(settled):
            raise _equilibrium(settled.final)
        state = settled.final
    # the unit of time is the user's: short runs find out how fast the state moves
    size, best, run = np.maximum(np.abs(state), _SMALL * np.abs(state).max()), None, None
    length, moved = _FIRST_TIME, np.inf if size.any() else 1.0
    while length <= min(_LAST_TIME, _MOST_TIMES * moved):
        run = _run(system, method, state, (0.0, length))
        if not (run.events or run.rate.any()) and np.array_equal(run.final, state):
            raise _equilibrium(state)
        best = _recurrence(run.events)
        if (best is not None and best[0] <= _NEAR) or len(run.events) > _MOST_EVENTS:
            break
        if (np.abs(run.final - state) > 0.1 * size).any():
            moved = min(moved, length)
            if length > moved and _comes_to_rest(run):
                raise _equilibrium(run.final)
        length *= 2.0 if moved < np.inf else 8.0
    if best is None or run is None:
        got = f"a run to t = {length:.6g} none of whose events comes back"
        needs, why = "an event that recurs", "the period of an autonomous orbit is unknown."
        raise SolveError(explain("find_cycle", got, needs, why, "start near an orbit with events."))
    _, first, last = best
    begin, period = run.events[first].time, run.events[last].time - run.events[first].time
    times = [(event.time - begin) / period for event in run.events[first:last]]
    fractions = nodes_between(times, nodes)
    before = _run(system, method, state, (0.0, begin + float(fractions[0]) * period)).final
    _check_autonomous(system, method, before, period)
    return _laid(system, method, before, 0.0, fractions - fractions[0], None, period)


def _comes_to_rest(run: Tangents) -> bool:
    """Return whether the state moves no more in the second half of a run of an autonomous flow."""
    length, size = run.end - run.start, np.abs(run.final)
    if any(event.time > run.start + 0.5 * length for event in run.events):
        return False
    still = _STILL * np.maximum(size, _SMALL * size.max())
    return bool((np.abs(run.rate) * length <= still).all())


def _check_autonomous(system: Any, method: Any, state: Floats, period: float) -> None:
    """Refuse a system whose run depends on the time at which it starts."""
    ends = [
        _run(system, method, state, (shift * period, (shift + 1.0) * period)).final
        for shift in (0.0, _SHIFT)
    ]
    off = float(np.abs(ends[0] - ends[1]).max())
    if off > _NEAR * max(float(np.abs(ends[0]).max()), float(np.abs(state).max())):
        got = f"nothing, and runs that differ by {off:.3g} when they start at another time"
        needs, why = "the period of the force", "an orbit under a force has its period."
        raise ModelError(
            "find_cycle.period", got, needs, why, "for example period=2.0 * np.pi / r."
        )


def _recurrence(events: Sequence[EventTangent]) -> tuple[float, int, int] | None:
    """Return the distance over the size, and the indices, of two alike events; the last ones.

    Of recurrences of like distance the shortest counts, so that no period is taken twice.
    """
    if not events:
        return None
    last = len(events) - 1
    states = np.array([event.state for event in events])
    sizes = np.abs(states).max(axis=0)
    # a state that is zero at every event has no size of its own
    sizes = np.where(sizes > 1e-6 * sizes.max(), sizes, sizes.max() or 1.0)
    far = [
        (float(np.abs((states[k] - states[last]) / sizes).max()), k)
        for k in range(last - 1, -1, -1)
        if events[k].label == events[last].label
    ]
    if not far:
        return None
    least = max(min(far)[0], 1e-9)
    distance, first = next(one for one in far if one[0] <= _ALIKE * least)
    return distance, first, last
