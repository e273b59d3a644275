"""Periodic orbits and their Floquet multipliers, found by multiple shooting from a guess.

`shooting` has the equations and their source. A Floquet multiplier is an eigenvalue of the
monodromy matrix, the derivative of the state after one period by the state at its start. For an
autonomous system, the period of the guess is the time between two events with nearly equal states
in a run; under a periodic force the period is given.

The unknowns are the states x_i at k nodes at the times c_i T, and the period T of an autonomous
system. The equations are x_(i+1) - phi(x_i) = 0 with x_k = x_0 and the flow phi from node to node,
and a phase condition for an autonomous system.
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
from stiction.errors import ModelError, SolveError, Status, explain
from stiction.numerics.checks import number, numbers, shape_of, whole
from stiction.studies.cycles.shooting import (
    Arcs,
    Period,
    Shooting,
    closed,
    nodes_between,
    sizes_of,
)

__all__ = [
    "Cycle",
    "around",
    "check_second_period",
    "cycle_of",
    "find_cycle",
    "floquet",
    "part_of",
    "period_of_part",
    "settled_beside",
    "solved",
    "states_at",
    "with_new_nodes",
]

Floats = npt.NDArray[np.float64]

_NODES, _MOST_NODES = 4, 1000
# duration of a run that settles on a stable orbit, in periods
_SETTLED = 40.0
# runs in search of a recurrence end after this number of events, or if the distance of the states
# of two events, divided by their sizes, is below this
_MOST_EVENTS, _NEAR = 2000, 1e-5
# first and last duration of the runs that search for a recurrence, and the last one divided by the
# time in which the state changes
_FIRST_TIME, _LAST_TIME, _MOST_TIMES = 1e-18, 1e18, 2.0**17
# a component of a guess below this fraction of the largest does not determine its scale
_SMALL = 1e-3
# recurrences whose distance is below this multiple of the smallest one are equivalent
_ALIKE = 10.0
# fraction of a period by which a run starts later, to test whether the system is autonomous
_SHIFT = 0.37
# parts into which the given period of a force is divided, one after the other, to find its shortest
# part; distance of runs beside an orbit, relative to the sizes of its states
_TURNS, _BESIDE = (2, 3, 5, 7, 11), 0.31
# multipliers below this fraction of the largest derivative are zero up to rounding
_ZERO = 1e-13
# distance from the unit circle within which a multiplier is neither inside nor outside
_NEUTRAL = 1e-7
# an orbit is an equilibrium if the state changes by less than this, relative to its size; the state
# inside an interval is compared at this irrational fraction, which no resonance can hit
_STILL, _INSIDE = 1e-7, 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Cycle:
    """A periodic orbit.

    Parameters
    ----------
    system, method : the system, and the method of its runs
    start : time of the first node [s, or the system's unit of time]
    state : (n,) state at the first node
    period : period of the orbit [s, or the system's unit of time]
    order : labels of the events over a period, in order
    events : the events; their derivatives are with respect to the state at the previous node
    multipliers : Floquet multipliers, the largest first; some are 0 if the orbit sticks. The
        trivial multiplier 1 of an autonomous system is left out
    trivial : the trivial multiplier as computed, 1 up to the accuracy of the run; NaN for a system
        with a periodic force
    residual : largest gap between arcs, divided by the sizes of the states
    iterations : number of iterations of Newton's method
    nodes, fractions : (k, n) states at the nodes of shooting, and (k + 1,) times of the nodes
        divided by the period
    force_period : period of the force, or a function of the system that returns it; None for an
        autonomous system
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
        """Return "stable", "unstable", or "neutral" for a multiplier on the unit circle."""
        largest = float(np.abs(self.multipliers).max(initial=0.0))
        if abs(largest - 1.0) <= _NEUTRAL:
            return "neutral"
        return "stable" if largest < 1.0 else "unstable"

    @property
    def autonomous(self) -> bool:
        """Whether the system is autonomous, so that the period is unknown."""
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
    guess: Sequence[float] | Sequence[Sequence[float]] | Floats | Cycle,
    method: Any = None,
    *,
    period: Period = None,
    nodes: int = _NODES,
    settle: float = 0.0,
) -> Cycle:
    """Return the periodic orbit that shooting finds near a guess.

    Parameters
    ----------
    system : a system that supplies derivatives; see `core.tangents.Differentiable`
    guess : (n,) a state on the orbit or near it; or an orbit of a similar system; or, under a force
        of known period, (k, n) states near the orbit at k equal intervals of the period from t = 0
        on, which become the nodes: runs from one state do not stay near a strongly unstable orbit
    method : method of the runs; None for the default of the system
    period : period of the force, or a function of the system that returns it; None for an
        autonomous system, whose period is estimated from a recurrence of events in a run from the
        guess. A multiple of the period of the force finds subharmonic orbits; the result has the
        shortest part of it after which both the orbit and the force repeat
    nodes : number of nodes of multiple shooting; unstable orbits need more nodes
    settle : duration of a first run from the guess, to approach a stable orbit [s, or the system's
        unit of time]

    Raises
    ------
    ModelError : if an argument is not admissible.
    SolveError : if Newton's method finds no periodic orbit; the message states the remaining gap.

    Source: Seydel 2010, sections 7.3 to 7.5; di Bernardo et al. 2008, section 2.5 (multipliers).
    Verified by: tests/exact/test_cycles.py::test_den_hartog
    """
    where = "find_cycle"
    if not hasattr(system, "tangents"):
        needs, why = "a system with derivatives", "shooting needs the derivatives of runs."
        try_ = "use a system such as PiecewiseSmooth or Chain."
        raise ModelError(f"{where}.system", type(system).__name__, needs, why, try_)
    n, why = len(system.start_names), "shooting divides the orbit at this many nodes."
    whole(f"{where}.nodes", nodes, least=1, most=_MOST_NODES, why=why, try_="leave this value out.")
    if period is not None and not callable(period):
        why, try_ = (
            "the force repeats after this period.",
            "leave this value out for an autonomous system.",
        )
        period = number(f"{where}.period", period, rule="positive", why=why, try_=try_)
    if callable(period):
        why, try_ = (
            "the force repeats after this period.",
            "return a number in the system's unit of time.",
        )
        number(f"{where}.period(system)", period(system), rule="positive", why=why, try_=try_)
    why, try_ = (
        "a first run of this duration approaches the orbit.",
        "leave this value out, or for example 60.0.",
    )
    settle = number(f"{where}.settle", settle, rule="nonnegative", why=why, try_=try_)
    if isinstance(guess, Cycle):
        if guess.state.size != n:
            got = f"an orbit with {guess.state.size} states"
            needs, why = f"an orbit with {n} states", "the nodes of the orbit are the guess."
            try_ = "take an orbit of a similar system."
            raise ModelError(f"{where}.guess", got, needs, why, try_)
        problem, u = _around_cycle(system, guess, method)
    elif len(shape_of(guess)) == 2:
        problem, u = _around_states(system, method, guess, period)
    else:
        why = "the search starts at one state."
        state = numbers(
            f"{where}.guess", guess, size=n, per="state", why=why, try_=f"give {n} numbers."
        )
        if period is None:
            # with a multiplier near -1, a run returns more closely after two periods than after one
            cycle = solved(*_from_recurrence(system, method, state, nodes, settle))
            turns = _turns(cycle)
            return part_of(cycle, turns) if turns > 1 else cycle
        problem, u = _from_force(system, method, state, period, nodes, settle)
    cycle = solved(problem, u)
    return cycle if isinstance(guess, Cycle) or cycle.autonomous else _shortest(cycle)


def solved(problem: Shooting, u: Floats) -> Cycle:
    """Return the orbit that Newton's method finds from a guess of the unknowns."""
    try:
        ended = closed(problem, u)
    except ModelError as error:
        raise SolveError(f"find_cycle: shooting cannot start at the guess.\n{error}") from error
    if ended.residual <= _NEAR and _at_rest(problem, ended.u):
        raise _equilibrium(problem.nodes(ended.u)[0])
    if not ended.converged:
        u = ended.u
        got = (
            f"a gap of {ended.residual:.3g} of the state after {ended.iterations} iterations, "
            f"at the state {problem.nodes(u)[0].tolist()} and the period {problem.period_at(u):.9g}"
        )
        needs = "arcs of the orbit without gaps between them"
        why = "Newton's method did not close the gaps, so the arcs are no periodic orbit."
        try_ = "give a nearer guess, more `nodes`, or `settle` for a stable orbit."
        raise SolveError(explain("find_cycle", got, needs, why, try_))
    check_second_period(problem, ended.u)
    try:
        return cycle_of(problem, ended.u, ended.residual, ended.iterations)
    except ModelError as error:
        raise SolveError(f"find_cycle: the orbit has no derivatives.\n{error}") from error


def _equilibrium(state: Floats) -> SolveError:
    got, needs = f"the equilibrium {state.tolist()}", "a state that moves"
    why, try_ = "an equilibrium has no period.", "give another guess, or a larger force."
    return SolveError(explain("find_cycle", got, needs, why, try_))


def _at_rest(problem: Shooting, u: Floats) -> bool:
    """Return whether the orbit is an equilibrium: the state does not change over a period."""
    arcs, period, system = problem.arcs(u).arcs, problem.period_at(u), problem.system_at(u)
    near = _STILL * problem.sizes
    if any((np.abs(arc.rate) * period > near).any() for arc in arcs):
        return False
    # a moving orbit may rest at the end of an arc, but not within every interval between events
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
    """Check that a forced orbit repeats in the second period, which tests the given period.

    Raises
    ------
    SolveError : if arcs that start one period later do not end at the nodes.

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
                f"a state that returns after the period {period:.9g} and does not return in the "
                f"second period: it is off by {off:.3g} of its size"
            )
            needs, why = "the period of the force", "the force repeats after its period."
            try_ = "correct `period`, or give a multiple of it."
            raise SolveError(explain("find_cycle", got, needs, why, try_))
    turns = _turns_of_sines(system, period)
    part = np.abs(turns - np.rint(turns))
    if (part > _NEAR).any():
        got = f"a period in which a sine of the load repeats {turns[part.argmax()]:.9g} times"
        needs, why = "a whole number", "the load repeats after its period."
        try_ = "correct `period`, or leave this part of the load out."
        raise SolveError(explain("find_cycle", got, needs, why, try_))
    _check_changes(system, period, 2.0 * period)


def _turns_of_sines(system: Any, period: float) -> Floats:
    """Return how often each sine of a load repeats in a period."""
    if not hasattr(system, "load"):
        return np.empty(0)
    p = system.load.segments()
    turns = p.angular_frequency[p.amplitude != 0.0] * period / (2.0 * np.pi)
    return np.asarray(turns[turns != 0.0])


def _check_changes(system: Any, period: float, until: float) -> None:
    """Check that a load has no step or ramp of which runs up to the time `until` know nothing.

    A table that ends after several periods may stand for a load that repeats for all times.

    Raises
    ------
    SolveError : if the linear part of the load first changes after `until`, or if it differs there
        from its value one period before.

    Verified by: tests/exact/test_cycles_of_chains.py::test_a_step_after_two_periods
    """
    if not hasattr(system, "load"):
        return
    p = system.load.segments()
    size = np.abs(p.offset).max()
    steps = p.offset[:-1] + p.rate[:-1] * np.diff(p.time) - p.offset[1:]
    changes = (np.abs(steps) > 1e-9 * size) | (np.diff(p.rate) != 0.0)
    first = p.time[1:][changes & (p.time[1:] > 0.0)][:1]
    line = p.linear_part
    inside = np.append(0.5 * (p.time[:-1] + p.time[1:]), p.time[-1] + until + 2.0 * period)
    # steep edges are located within the accuracy of the period
    shifts = _NEAR * period * np.array([[-1.0], [0.0], [1.0]])
    now, before = line.at(inside), line.at(inside - period + shifts)
    off = np.maximum(now - before.max(axis=0), before.min(axis=0) - now) > _NEAR * size
    # the last segment has no end
    late = off & np.append(p.time[:-1] > until, True)
    times = np.concatenate([first[first > until], p.time[late]])
    if times.size:
        got, needs = f"a load that changes at t = {times[0]:.9g}", "a load that repeats"
        why = "an orbit is periodic for all times, and runs up to that time do not show the change."
        try_ = "leave this part of the load out."
        raise SolveError(explain("find_cycle", got, needs, why, try_))


def cycle_of(problem: Shooting, u: Floats, residual: float, iterations: int) -> Cycle:
    """Return the orbit at a solution of the equations of shooting.

    Raises
    ------
    ModelError : if an arc has no derivatives.
    """
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

    The monodromy matrix M of an autonomous orbit maps x' to itself, with the trivial multiplier 1.
    The other multipliers are the eigenvalues of Q^T M Q, where Q is an orthonormal basis of the
    complement of x'. The trivial multiplier is thereby removed exactly, also at a fold, where a
    second multiplier is 1.
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
    """Return a run without derivatives; SolveError if it does not reach its end."""
    run: Tangents = system.at_state(state).tangents(method, span, ())
    if not np.isfinite(run.final).all():
        failure = run.failures[0]
        got = f"{failure.kind} at t = {failure.time:.9g}: {failure.reason}"
        needs, why = (
            "a run that reaches its end",
            "an orbit and its derivatives are found by runs from its states.",
        )
        raise SolveError(explain("find_cycle", got, needs, why, _advice(system, failure.kind)))
    return run


def _advice(system: Any, kind: str) -> str:
    """Return what to try if a run from a guess ends early, or shows no recurrence."""
    if kind == Status.WORK_LIMIT.value:
        return (
            "give a guess just before the onset of slip: on a slow belt the preceding interval of "
            "stick may last millions of periods."
        )
    scale = (
        ""
        if not hasattr(system, "scale")
        else ("; if the states of the orbit are far from 1 in size, give these sizes as `scale`")
    )
    return f"give another guess{scale}."


def _around_cycle(system: Any, cycle: Cycle, method: Any) -> tuple[Shooting, Floats]:
    """Return the equations and the unknowns for an orbit of a similar system as the guess."""
    method = cycle.method if method is None else method
    return around(system, method, cycle.fractions, cycle.nodes, cycle.force_period, cycle.period)


def _around_states(system: Any, method: Any, guess: Any, period: Period) -> tuple[Shooting, Floats]:
    """Return the equations for a guess (k, n) of states at equal intervals of the period."""
    where, n, (k, size) = "find_cycle.guess", len(system.start_names), shape_of(guess)
    if period is None or size != n or not 0 < k <= _MOST_NODES:
        got = f"{k} x {size} values{'' if period else ' and no period'}"
        needs = f"1 to {_MOST_NODES} rows of {n} states and the period of a force"
        why = "the rows are the nodes of the orbit at equal intervals of the period."
        raise ModelError(where, got, needs, why, "give `period`, or one state.")
    why, try_ = "the rows are states near the orbit.", f"give {n} numbers in each row."
    nodes = numbers(where, np.ravel(guess), per="state", why=why, try_=try_).reshape(k, n)
    length = float(period(system) if callable(period) else period)
    return around(system, method, np.arange(k + 1) / k, nodes, period, length)


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
    """Return the equations and the unknowns for a guess (k, n) of the nodes of an orbit."""
    flow = np.ones(nodes.shape[1])
    if period is None:
        # x' at the first node, which is the end of the last arc
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
    """Return the equations and the unknowns for a run from a state under a force.

    The run settles over whole periods of the force first. Nodes are then laid at a distance from
    the events of two periods.
    """
    length = float(period(system) if callable(period) else period)  # type: ignore[arg-type]
    if settle > 0.0:
        whole_periods = float(np.ceil(settle / length)) * length
        state = _run(system, method, state, (0.0, whole_periods)).final
    run = _run(system, method, state, (0.0, 2.0 * length))
    times = [event.time / length % 1.0 for event in run.events]
    fractions = nodes_between(times, nodes)
    return _laid(system, method, state, fractions, period, length)


def _laid(
    system: Any,
    method: Any,
    state: Floats,
    fractions: Floats,
    period: Period,
    length: float,
) -> tuple[Shooting, Floats]:
    """Return the problem whose nodes lie on the run from a state."""
    found, time = [], 0.0
    for fraction in fractions[:-1]:
        until = float(fraction) * length
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
        if _comes_to_rest(system, settled):
            raise _equilibrium(settled.final)
        state = settled.final
    # the time scale is unknown: the runs begin very short and become longer
    size, best, run = _apart(system, np.abs(state)), None, None
    length, moved = _FIRST_TIME, np.inf if state.any() else 1.0
    while length <= min(_LAST_TIME, _MOST_TIMES * moved):
        run = _run(system, method, state, (0.0, length))
        if not (run.events or run.rate.any()) and np.array_equal(run.final, state):
            raise _equilibrium(state)
        best = _recurrence(system, run.events)
        if (best is not None and best[0] <= _NEAR) or len(run.events) > _MOST_EVENTS:
            break
        if (np.abs(run.final - state) > 0.1 * size).any():
            moved = min(moved, length)
            if length > moved and _comes_to_rest(system, run):
                raise _equilibrium(run.final)
        length *= 2.0 if moved < np.inf else 8.0
    if best is None or run is None:
        end = length if run is None else run.end
        got = f"a run to t = {end:.6g} without a recurrent event"
        needs = "an event that recurs with nearly the same state"
        why = (
            "the period of an autonomous orbit is estimated from such events, in a run of at most "
            f"{_MOST_TIMES:.6g} times the time in which the guess changes."
        )
        try_ = (
            "give a guess near an orbit with events, all of whose states have the sizes of the "
            "orbit, or a `settle` of several periods."
        )
        raise SolveError(explain("find_cycle", got, needs, why, try_))
    _, first, last = best
    begin, period = run.events[first].time, run.events[last].time - run.events[first].time
    times = [event.time - begin for event in run.events[first:last]]
    return _from_period(system, method, state, begin, times, period, nodes)


def _from_period(
    system: Any,
    method: Any,
    state: Floats,
    begin: float,
    times: Sequence[float],
    period: float,
    nodes: int,
) -> tuple[Shooting, Floats]:
    """Return the problem of an autonomous system around a run from a state.

    Parameters
    ----------
    begin : time after which the run is nearly periodic
    times : of the events of one period, from `begin` on
    """
    fractions = nodes_between([time / period for time in times], nodes)
    first = begin + float(fractions[0]) * period
    before = _run(system, method, state, (0.0, first)).final if first > 0.0 else state
    _check_autonomous(system, method, before, period)
    return _laid(system, method, before, fractions - fractions[0], None, period)


def _apart(system: Any, largest: Floats) -> Floats:
    """Return (n,) sizes by which states are compared, from their largest values."""
    return sizes_of(system, largest, least=_SMALL, otherwise=_SMALL)


def _turns(cycle: Cycle) -> int:
    """Return how many times an autonomous orbit is run through within its period."""
    events, count = cycle.events, len(cycle.events)
    if count < 2:
        return 1
    states = np.array([event.state for event in events])
    near = _STILL * _apart(cycle.system, np.abs(states).max(axis=0))
    for turns in range(count, 1, -1):
        shift = count // turns
        same = count % turns == 0 and cycle.order == (*cycle.order[shift:], *cycle.order[:shift])
        if same and (np.abs(states - np.roll(states, -shift, axis=0)) <= near).all():
            return turns
    return 1


def states_at(cycle: Cycle, fractions: Floats) -> Floats:
    """Return (k, n) states of an orbit at fractions of its period."""
    base, period, found = cycle.fractions, cycle.period, []
    for fraction in fractions:
        at = base[0] + (fraction - base[0]) % 1.0
        k = min(int(np.searchsorted(base, at, side="right")), len(base) - 1) - 1
        zero = base[k] if cycle.autonomous else 0.0
        span = (float(base[k] - zero) * period, float(at - zero) * period)
        state = cycle.nodes[k]
        if span[1] > span[0] + 1e-9 * period:
            state = cycle.system.at_state(state).tangents(cycle.method, span, ()).final
        found.append(state)
    return np.array(found)


def settled_beside(cycle: Cycle, parameter: str, value: float) -> Cycle:
    """Return the orbit on which a run from a stable orbit settles at another parameter.

    Raises
    ------
    ModelError, SolveError : if the parameter is inadmissible, or the run settles on no orbit.
    """
    system, start = cycle.system.with_parameter(parameter, value), states_at(cycle, np.zeros(1))[0]
    return find_cycle(
        system, start, cycle.method, period=cycle.force_period, nodes=len(cycle.nodes),
        settle=_SETTLED * cycle.period,
    )  # fmt: skip


def with_new_nodes(cycle: Cycle) -> Cycle:
    """Return the same orbit with nodes at a distance from its events.

    Raises
    ------
    SolveError : if the equations are not solved with these nodes.
    """
    times = [(event.time / cycle.period) % 1.0 for event in cycle.events]
    fractions = nodes_between(times, len(cycle.nodes))
    nodes, period = states_at(cycle, fractions[:-1]), cycle.period
    return solved(*around(cycle.system, cycle.method, fractions, nodes, cycle.force_period, period))


def period_of_part(force: Any, turns: int) -> Period:
    """Return the period of the force over the number of `turns`; None for an autonomous system."""
    if callable(force):
        return lambda system: force(system) / turns
    return None if force is None else float(force) / turns


def part_of(cycle: Cycle, turns: int) -> Cycle:
    """Return the orbit near one of `turns` nearly equal parts of an orbit.

    Raises
    ------
    SolveError : if there is none of this period.
    """
    # the events of the other parts are those of the first one
    events = cycle.events[: len(cycle.events) // turns]
    times = [(turns * event.time / cycle.period) % 1.0 for event in events]
    fractions = nodes_between(times, len(cycle.nodes))
    parts = [states_at(cycle, (fractions[:-1] + part) / turns) for part in range(turns)]
    period = period_of_part(cycle.force_period, turns)
    if cycle.autonomous:
        fractions = fractions - fractions[0]
    nodes, length = np.mean(parts, axis=0), cycle.period / turns
    return solved(*around(cycle.system, cycle.method, fractions, nodes, period, length))


def _shortest(cycle: Cycle) -> Cycle:
    """Return a forced orbit over the shortest part of its period after which it repeats.

    Over several periods of the force each multiplier is a power, and a flip looks like a fold.

    Verified by: tests/exact/test_cycles_of_chains.py::test_a_multiple_of_the_period_of_the_force
    """
    for turns in _TURNS:
        while _repeats(cycle, turns):
            try:
                cycle = part_of(cycle, turns)
            except SolveError:
                break
    return cycle


def _repeats(cycle: Cycle, turns: int) -> bool:
    """Return whether a forced orbit, and the force, repeat after one of `turns` equal parts."""
    shift, order = len(cycle.events) // turns, cycle.order
    if len(order) % turns or order != (*order[shift:], *order[:shift]):
        return False
    nodes, period, base = cycle.nodes, cycle.period, cycle.fractions
    sizes = _apart(cycle.system, np.abs(nodes).max(axis=0))
    for node, first in zip(nodes, base[:-1], strict=True):
        later = states_at(cycle, np.array([first + 1.0 / turns]))[0]
        if not (np.abs(later - node) <= _STILL * sizes).all():
            return False
    # the force on a mass that sticks, or a parametric one, may have no effect on the orbit, but has
    # one on runs beside it
    for node, first, last in zip(nodes, base[:-1], base[1:], strict=True):
        beside, ends = cycle.system.at_state(node + _BESIDE * sizes), []
        for delay in (0.0, 1.0 / turns):
            span = ((first + delay) * period, (last + delay) * period)
            ends.append(beside.tangents(cycle.method, span, ()).final / sizes)
        if not np.allclose(ends[0], ends[1], rtol=0.0, atol=_NEAR, equal_nan=True):
            return False
    return True


def _comes_to_rest(system: Any, run: Tangents) -> bool:
    """Return whether the state moves no more in the second half of a run of an autonomous flow."""
    length = run.end - run.start
    if any(event.time > run.start + 0.5 * length for event in run.events):
        return False
    still = _STILL * _apart(system, np.abs(run.final))
    return bool((np.abs(run.rate) * length <= still).all())


def _check_autonomous(system: Any, method: Any, state: Floats, period: float) -> None:
    """Raise ModelError if the run depends on its start time: the system is not autonomous."""
    ends = [
        _run(system, method, state, (shift * period, (shift + 1.0) * period)).final
        for shift in (0.0, _SHIFT)
    ]
    off = float(np.abs(ends[0] - ends[1]).max())
    near = _NEAR * max(float(np.abs(ends[0]).max()), float(np.abs(state).max()))
    if off > near or _turns_of_sines(system, period).size:
        got = f"no period, and runs that differ by {off:.3g} if they start at another time"
        needs = "the period of the force"
        why = "a periodic orbit under a force has the period of the force, or a multiple of it."
        raise ModelError(
            "find_cycle.period", got, needs, why, "for example period=2.0 * np.pi / r."
        )
    _check_changes(system, period, 0.0)


def _recurrence(system: Any, events: Sequence[EventTangent]) -> tuple[float, int, int] | None:
    """Return the last event and an earlier one with nearly the same state and the same label.

    The result is their distance divided by the size of the states, and their indices. Of several
    recurrences with similar distances the shortest one is taken, so that it spans one period only.
    """
    if not events:
        return None
    last = len(events) - 1
    states = np.array([event.state for event in events])
    # a component that is zero at every event takes the size of the largest component
    sizes = sizes_of(system, np.abs(states).max(axis=0))
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
