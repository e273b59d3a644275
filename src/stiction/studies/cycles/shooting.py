"""Multiple shooting: the equations of a periodic orbit, and Newton's method for them.

The unknowns are the states at k nodes of the orbit, the period of an autonomous system, and the
parameters in which an orbit is continued: one on a branch, two on a curve of bifurcations. An arc
is a run from one node to the next, with located events. With the flow phi from t_i = c_i T to
t_(i+1) and the nodes x_i, the equations are x_(i+1) - phi(x_i) = 0, x_k = x_0, and for an
autonomous system a phase condition. The order of events is not prescribed: it results from the
runs, and may change from one iteration to the next.

Source: Seydel 2010, section 7.5; Dankowicz and Schilder 2013, chapters 8 and 9 (hybrid orbits).
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.tangents import Differentiable, Tangents
from stiction.errors import ModelError

__all__ = [
    "Arcs",
    "Ended",
    "Family",
    "OrbitEquations",
    "Period",
    "Shooting",
    "closed",
    "nodes_between",
    "null_vectors",
    "obstacle",
    "sizes_of",
]

Floats = npt.NDArray[np.float64]
# period of a force: a number, or a function of the system if parameters change it; None for an
# autonomous system
Period = float | Callable[[Any], float] | None

_MOST_ITERATIONS, _MOST_HALVINGS = 40, 8
# Newton's method ends at steps below the first value, relative to the sizes of the unknowns; an
# iteration that stagnates below the second value has the accuracy of the runs
_CONVERGED, _NOISE = 1e-14, 1e-9
# bisections that locate a change of the order of events on a step; a change of the residual over
# the distance of two points, above which it is a jump
_MOST_BISECTIONS, _STEEP = 32, 100.0
# a singular value below this fraction of the largest one belongs to a family of orbits
_NULL = 1e-13


class Family(NamedTuple):
    """Derivatives (q, q + 1) of the equations by scaled unknowns, if orbits may form a family.

    A mass that sticks during the whole period may rest at any position in an interval. The matrix
    then has further null vectors. Steps of least norm leave such a mass at its position.
    """

    jacobian: Floats

    def tangent(self, before: Floats | None) -> Floats:
        """Return the unit null vector nearest to `before`, or to the last unknown."""
        null, aim = null_vectors(self.jacobian), before
        if aim is None:
            aim = null[-1] if len(null) == 1 else np.eye(self.jacobian.shape[1])[-1]
        tangent = (null @ aim) @ null
        return np.asarray(tangent / np.linalg.norm(tangent))

    def solve(self, row: Floats, right: Floats) -> Floats:
        """Return the dx of least norm with J dx = right[:-1] and row . dx = right[-1]."""
        matrix = np.vstack([self.jacobian, row])
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=_NULL)[0])


def null_vectors(matrix: Floats) -> Floats:
    """Return (k, n) an orthonormal basis of the null space of a matrix (m, n)."""
    _, values, rows = np.linalg.svd(matrix)
    return rows[int((values > _NULL * values[0]).sum()) :]


class Arcs(NamedTuple):
    """The runs from each node to the next one, with their derivatives."""

    arcs: tuple[Tangents, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """The order of events."""
        return tuple(label for arc in self.arcs for label in arc.order)

    def monodromy(self, n: int) -> Floats:
        """Return the monodromy matrix (n, n): derivatives of the state after one period.

        Raises
        ------
        ModelError : if an arc has no derivatives.
        """
        found = np.eye(n)
        for arc in self.arcs:
            if arc.failures:
                raise _undefined(arc)
            found = arc.final_by[:, :n] @ found
        return found


class Ended(NamedTuple):
    """How Newton's method ended.

    Parameters
    ----------
    u : the unknowns
    residual : largest gap between arcs, divided by the sizes of the states
    iterations : number of iterations
    converged : whether the unknowns solve the equations
    """

    u: Floats
    residual: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class OrbitEquations(abc.ABC):
    """Equations of a periodic orbit; a `VectorProblem` of `numerics.continuation`.

    The last unknowns are the parameters, and before them the period of an autonomous system.

    Parameters
    ----------
    system, method : the system, and the method of its runs
    period : period of the force; None for an autonomous system, whose period is unknown
    parameters : names of the unknown parameters
    sizes : (n,) sizes of the states
    scale : sizes of the unknowns, by which they are divided
    limits : see `VectorProblem`
    """

    system: Any
    method: Any
    period: Period
    parameters: tuple[str, ...]
    sizes: Floats
    scale: Floats
    limits: tuple[tuple[int, float, float, str], ...] = ()

    @abc.abstractmethod
    def residual(self, u: Floats) -> Floats:
        """Return the residual of the equations, divided by the sizes of its terms."""

    @abc.abstractmethod
    def jacobian(self, u: Floats) -> Floats:
        """Return the derivatives of the residual by the unknowns."""

    @property
    def n(self) -> int:
        """Number of states."""
        return int(self.sizes.size)

    def system_at(self, u: Floats) -> Any:
        """Return the system with the parameters of u; ModelError if it does not admit a value."""
        return self._systems(*u[u.size - len(self.parameters) :].tolist())

    @functools.cached_property
    def _systems(self) -> Callable[..., Any]:
        return functools.lru_cache(maxsize=8)(
            functools.partial(system_with, self.system, self.parameters)
        )

    def period_at(self, u: Floats) -> float:
        """Return the period."""
        if self.period is None:
            return float(u[-1 - len(self.parameters)])
        if callable(self.period):
            return float(self.period(self.system_at(u)))
        return float(self.period)

    def tolerance(self, u: Floats) -> float:
        """Return 0: the size of the steps decides on convergence."""
        return 0.0

    def moved(self, u: Floats, step: Floats) -> Floats:
        """Return u after a scaled step."""
        return np.asarray(u + self.scale * step)


@dataclass(frozen=True, eq=False)
class Shooting(OrbitEquations):
    """The equations of a periodic orbit by multiple shooting.

    Parameters
    ----------
    fractions : (k + 1,) times of the nodes divided by the period, increasing; the last one is the
        first one plus 1
    anchor, flow : (n,) a state x_a near the first node, and x' there. The phase condition of an
        autonomous orbit is x' . (x - x_a) = 0 at the first node, in scaled states
    """

    fractions: Floats
    anchor: Floats
    flow: Floats

    @classmethod
    def around(
        cls,
        system: Any,
        method: Any,
        fractions: Floats,
        nodes: Floats,
        *,
        period: Period,
        unknown_period: float,
        flow: Floats,
        parameters: tuple[str, ...] = (),
        limits: tuple[tuple[float, float], ...] = (),
    ) -> tuple[Shooting, Floats]:
        """Return the equations for a guess (k, n) of the nodes, and the unknowns of the guess."""
        sizes = sizes_of(system, np.abs(nodes).max(axis=0))
        # the norm of a scaled step does not depend on the number of nodes
        u, scale = [nodes.ravel()], [np.tile(sizes, len(nodes)) * np.sqrt(len(nodes))]
        if period is None:
            u.append(np.array([unknown_period]))
            scale.append(np.array([unknown_period]))
        values, spans, ends = parameter_unknowns(system, parameters, limits, sum(map(len, u)))
        u.append(values)
        scale.append(spans)
        problem = cls(
            fractions,
            anchor=nodes[0].copy(),
            flow=flow,
            system=system,
            method=method,
            period=period,
            parameters=parameters,
            sizes=sizes,
            scale=np.concatenate(scale),
            limits=ends,
        )
        return problem, np.concatenate(u)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.fractions) - 1

    def nodes(self, u: Floats) -> Floats:
        """Return (k, n) the states at the nodes."""
        return u[: self.n * self.count].reshape(self.count, self.n)

    def arcs(self, u: Floats) -> Arcs:
        """Return the runs from the nodes; ModelError if one has no derivatives.

        Verified by: tests/exact/test_cycles_of_chains.py::test_a_node_in_stick_at_the_bound
        """
        return self._arcs(u.tobytes())

    @functools.cached_property
    def _arcs(self) -> Callable[[bytes], Arcs]:
        return functools.lru_cache(maxsize=4)(self._computed)

    def _computed(self, raw: bytes) -> Arcs:
        """Return the runs between nodes for the unknowns with these bytes, the key of a cache.

        A mass that slips at once at the start of an arc has no derivatives by its slip rate there:
        these are set to 0, since the slip rate at the end of the arc before is 0.
        """
        u = np.frombuffer(raw)
        if not np.isfinite(u).all():
            raise _refused("unknowns that are not finite")
        period, system, found = self.period_at(u), self.system_at(u), []
        if not period > 0.0:
            raise _refused(f"a period of {period:.6g}")
        to = ("x0", *self.parameters)
        for node, first, last in zip(
            self.nodes(u), self.fractions[:-1], self.fractions[1:], strict=True
        ):
            base = 0.0 if self.period is not None else first
            span = ((first - base) * period, (last - base) * period)
            arc = system.at_state(node).tangents(self.method, span, to)
            lost = np.asarray(np.isnan(arc.final_by).any(axis=0))
            if arc.failures:
                # a mass at rest slips at once if a prediction exceeds its bound. Derivatives by its
                # slip rate are then not needed: it is zero at the end of the arc before
                if arc.failures[-1].time > arc.start or lost.all() or lost[self.n :].any():
                    raise _undefined(arc)
                arc = dataclasses.replace(arc, final_by=np.where(lost, 0.0, arc.final_by))
            found.append(arc)
        return Arcs(tuple(found))

    # ---- the equations

    def residual(self, u: Floats) -> Floats:
        """Return the gaps between arcs and the phase condition, divided by their sizes."""
        arcs, nodes = self.arcs(u).arcs, self.nodes(u)
        gaps = [
            (nodes[(i + 1) % self.count] - arc.final) / self.sizes for i, arc in enumerate(arcs)
        ]
        if self.period is None:
            gaps.append(np.atleast_1d(self._phase @ (nodes[0] - self.anchor)))
        return np.concatenate(gaps)

    @property
    def _phase(self) -> Floats:
        """(n,) gradient of the phase condition."""
        row = self.flow / self.sizes
        return np.asarray(row / (np.linalg.norm(row) * self.sizes))

    def jacobian(self, u: Floats) -> Floats:
        """Return the derivatives of the residual by the unknowns."""
        n, k, arcs = self.n, self.count, self.arcs(u).arcs
        out = np.zeros((n * k + (self.period is None), u.size))
        lengths = np.diff(self.fractions)
        q = len(self.parameters)
        changes = period_by(self, u)
        for i, arc in enumerate(arcs):
            rows, after = slice(n * i, n * (i + 1)), (i + 1) % k
            out[rows, n * after : n * (after + 1)] += np.diag(1.0 / self.sizes)
            out[rows, n * i : n * (i + 1)] -= arc.final_by[:, :n] / self.sizes[:, None]
            if self.period is None:
                out[rows, n * k] = -lengths[i] * arc.rate / self.sizes
            if q:
                by = arc.final_by[:, n:].copy()
                # a parameter that changes the period of the force moves both ends of the arc in
                # time; the rate at its start is that at the end of the previous arc
                by += np.outer(self.fractions[i + 1] * arc.rate, changes)
                before = arc.final_by[:, :n] @ arcs[i - 1].rate
                by -= np.outer(self.fractions[i] * before, changes)
                out[rows, -q:] -= by / self.sizes[:, None]
        if self.period is None:
            out[-1, :n] = self._phase
        return out

    def linearised(self, u: Floats) -> Family:
        """Return the derivatives of the residual by the scaled unknowns."""
        return Family(self.jacobian(u) * self.scale)


def obstacle(problem: Shooting, u: Floats, step: Floats, least: float) -> str:
    """Return why no orbit is found on a scaled step from an orbit.

    Where a mass is released at its static bound, friction drops to its kinetic value. The motion
    after a tangency of the force to this bound then differs by a finite amount.

    Parameters
    ----------
    least : smallest change of the residual at a change of the order of events that is a jump
    """
    order, low, high = problem.arcs(u).order, 0.0, 1.0
    try:
        after = problem.residual(problem.moved(u, step))
    except ModelError as error:
        return str(error).splitlines()[0]
    before = problem.residual(u)
    for _ in range(_MOST_BISECTIONS):
        middle = problem.moved(u, 0.5 * (low + high) * step)
        try:
            same, there = problem.arcs(middle).order == order, problem.residual(middle)
        except ModelError:
            # tangent to the bound within the error of a run
            break
        if same:
            low, before = 0.5 * (low + high), there
        else:
            high, after = 0.5 * (low + high), there
    jump, apart = float(np.abs(after - before).max()), (high - low) * float(np.linalg.norm(step))
    if jump > least + _STEEP * apart:
        why = f"the state after a period jumps by {jump:.2g} of its size"
        return f"{why} where the order of events changes"
    return "the steps became too short"


def sizes_of(
    system: Differentiable, largest: Floats, *, least: float = 1e-6, otherwise: float = 1.0
) -> Floats:
    """Return (n,) the sizes of the states, from the largest values on an orbit.

    States in other units, as in a fast motion, may differ by many orders of magnitude. They are
    compared by `start_scales`.

    Parameters
    ----------
    least : smallest size over the largest one, both over their scales
    otherwise : the size of smaller states in the same measure

    Verified by: tests/exact/test_cycles.py::test_a_fast_motion
    """
    scales = np.asarray(system.start_scales)
    most = max(float((largest / scales).max()), 1e-300)
    return np.where(largest > least * most * scales, largest, otherwise * most * scales)


def system_with(system: Differentiable, names: Sequence[str], *values: float) -> Differentiable:
    """Return the system with other values of parameters."""
    for name, value in zip(names, values, strict=True):
        system = system.with_parameter(name, value)
    return system


def parameter_unknowns(
    system: Differentiable,
    names: tuple[str, ...],
    limits: tuple[tuple[float, float], ...],
    before: int,
) -> tuple[Floats, Floats, tuple[tuple[int, float, float, str], ...]]:
    """Return values, sizes and limits of parameters, which follow `before` other unknowns."""
    values = np.array([float(system.parameter(name)) for name in names])
    spans = np.array([high - low for low, high in limits]) if limits else np.zeros(len(names))
    sizes = np.maximum(np.abs(values), spans)
    ends = tuple(
        (before + j, low, high, name)
        for j, (name, (low, high)) in enumerate(zip(names, limits, strict=False))
    )
    return values, np.where(sizes > 0.0, sizes, 1.0), ends


def period_by(problem: OrbitEquations, u: Floats) -> Floats:
    """Return (q,) derivatives of the period of the force with respect to the parameters."""
    q = len(problem.parameters)
    found = np.zeros(q)
    if not callable(problem.period):
        return found
    for j in range(q):
        at = u.size - q + j
        # a shorter step is used next to a bound of the model
        for fraction in (1e-3, 1e-4, 1e-5, 1e-6):
            try:
                found[j] = _period_difference(problem, u, at, fraction * float(problem.scale[at]))
                break
            except ModelError:
                if fraction == 1e-6:
                    raise
    return found


def _period_difference(problem: OrbitEquations, u: Floats, at: int, step: float) -> float:
    """Return the derivative of the period by a central difference of fourth order."""
    total = 0.0
    for weight, distance in ((2.0 / 3.0, 1.0), (-1.0 / 12.0, 2.0)):
        for sign in (1.0, -1.0):
            there = u.copy()
            there[at] += sign * distance * step
            total += sign * weight * problem.period_at(there) / step
    return total


def _undefined(arc: Tangents) -> ModelError:
    failure = arc.failures[-1] if arc.failures[0].time == arc.start else arc.failures[0]
    return _refused(f"{failure.kind} at t = {failure.time:.9g}: {failure.reason}")


def _refused(got: str) -> ModelError:
    needs, why = "arcs that have derivatives", "shooting needs the derivatives of every arc."
    try_ = "start from another guess; or give the sizes of the states of the orbit as `scale`."
    return ModelError("find_cycle", got, needs, why, try_)


def closed(problem: OrbitEquations, u: Floats) -> Ended:
    """Return the end of Newton's method with step halving from a guess `u`.

    Raises
    ------
    ModelError : if an arc of the guess has no derivatives.
    """
    residual = problem.residual(u)
    for iteration in range(_MOST_ITERATIONS):
        norm = float(np.linalg.norm(residual))
        jacobian = problem.jacobian(u) * problem.scale
        # the step has least norm if the orbit belongs to a family
        move = np.asarray(np.linalg.lstsq(jacobian, -residual, rcond=1e-13)[0], dtype=np.float64)
        size, fraction, new = float(np.abs(move).max()), 1.0, None
        for _ in range(_MOST_HALVINGS):
            try:
                there = problem.moved(u, fraction * move)
                ahead = problem.residual(there)
            except ModelError:
                fraction *= 0.5
                continue
            if float(np.linalg.norm(ahead)) < (1.0 - 0.1 * fraction) * norm:
                new = there, ahead
                break
            fraction *= 0.5
        worst = float(np.abs(residual).max())
        if new is None:
            return Ended(u, worst, iteration, worst <= _NOISE and size <= _NOISE)
        u, residual = new
        if size <= _CONVERGED:
            break
    worst = float(np.abs(residual).max())
    return Ended(u, worst, iteration + 1, worst <= _NOISE)


def nodes_between(events: Sequence[float], count: int) -> Floats:
    """Return at most (count + 1,) times of nodes divided by the period, at a distance from events.

    The last one is the first one plus 1. Nodes that would move to the same time are one.

    Parameters
    ----------
    events : times of the events divided by the period, in [0, 1)
    count : number of nodes
    """
    targets = (np.arange(count) + 0.5) / count
    times = np.sort(np.asarray(events, dtype=np.float64))
    if times.size:
        ends = np.concatenate([[times[-1] - 1.0], times, [times[0] + 1.0]])
        for j, target in enumerate(targets):
            k = int(np.searchsorted(ends, target)) - 1
            low, high = ends[k], ends[k + 1]
            # the distance from both events is at least a quarter of the interval between them
            targets[j] = min(max(target, low + 0.25 * (high - low)), high - 0.25 * (high - low))
    targets = np.unique(np.mod(targets, 1.0))
    return np.append(targets, targets[0] + 1.0)
