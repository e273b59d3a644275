"""Work of conditions over a step, work of unbalanced forces, reactions of supports.

The recorder (`history`) calls these functions after each step, for the ledger and for curves of
reactions. Both ends of a load step are in equilibrium; states on the straight path between them are
not. On this path internal and contact forces f do the work

    int f . du = change of the energies + int tau dzeta,

with friction tau and slip zeta. The trapezoidal rule (f_0 + f_1) . du / 2 gives the work of
supports and loads, apart from the residuals of Newton's method. The difference is the work of
unbalanced forces between both ends. It is of second order in the step where forces are smooth, and
of first order where friction crosses kinks of a partner; at a jump it is the energy released.
`unbalanced_work` integrates the forces themselves, by an adaptive Lobatto rule; for tolerances
below the default one it divides intervals where closest points change to another element. It does
not use energies, so that the imbalance of the ledger would show an error in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.conditions import Driven, Fixed, Nearest, Rigid
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import CENTRE
from stiction.solids.equilibria.boundary_loads import apply_matrices

if TYPE_CHECKING:
    from stiction.solids.conditions import Condition, Reaction
    from stiction.solids.contact.model import ClosestPoints, ContactPass
    from stiction.solids.equilibria.problem import Problem, Trial

__all__ = [
    "AdaptiveLobatto",
    "Released",
    "condition_forces",
    "condition_works",
    "conservative_forces",
    "force_of_condition",
    "moment_on_circle",
    "reaction",
    "release",
    "residual_work",
    "unbalanced_work",
]

Floats = npt.NDArray[np.float64]
# value of an integrand, and signature: the elements of the closest points
Evaluation = tuple[float, object]

# tolerance of the integral: weight of the energies, relative to that of the exchanged energy;
# largest number of evaluations of forces in a step at the default tolerance, and its growth per
# decimal digit
_OF_ENERGY, _MOST_EVALUATIONS, _DEFAULT_TOLERANCE, _MORE_PER_DIGIT = 0.1, 300, 1e-7, 3.0
# bisections that locate a change of the signature, and width of the shortest interval
_HALVINGS, _WIDTH = 6, 1e-14
# evaluations before changes of the signature are located
_WITHOUT_SEARCH = 300
_PLANE = 2
# number for supports that no condition names; relative difference at which forces count as equal
_NO_CONDITION, _EQUAL = -1, 1e-12
# interior points of the Kronrod extension of the Lobatto rule with four points; weights of both
_KRONROD = (-np.sqrt(2.0 / 3.0), -1.0 / np.sqrt(5.0), 0.0, 1.0 / np.sqrt(5.0), np.sqrt(2.0 / 3.0))
_SEVEN = np.array([77.0, 432.0, 625.0, 672.0, 625.0, 432.0, 77.0]) / 1470.0
_FOUR = np.array([1.0, 0.0, 5.0, 0.0, 5.0, 0.0, 1.0]) / 6.0


def moment_on_circle(problem: Problem, trial: Trial, contact: int) -> float:
    """Return the torque that rotates a rigid circle against its contact [N m/m].

    It balances the moments of the contact forces about the centre of the circle; these forces act
    at the contact points of the body.
    """
    total = 0.0
    for number, p, out in zip(
        problem.contact_of_pass, problem.passes, trial.point_values, strict=True
    ):
        if number != contact or isinstance(p.contact.friction, Frictionless):
            continue
        centre = problem.unknowns.displacements(trial.u)[p.partner.node]
        arm = out[:, [k.X, k.Y]] - p.partner.shape[CENTRE : CENTRE + 2] - centre
        force = out[:, [k.FORCE_X, k.FORCE_Y]]
        total += float(np.sum(arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]))
    return total


def condition_works(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    support_forces: Floats | None = None,
    w1: float = 0.5,
) -> tuple[float, ...]:
    """Return the work of every condition over a step [J/m].

    Parameters
    ----------
    problem : the equations
    before, after : the accepted states at both ends
    times : at both ends
    support_forces : (nodes, d) reactions during the step [N/m]; None for the mean of both ends
    w1 : weight of the end of the step in the forces of loads; springs and rotations take the mean
        of both ends, which is exact for springs

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_works_sum_to_the_external
    """
    conditions, (t0, t1) = problem.conditions, times
    work = np.zeros(len(problem.assembled.all_conditions))
    increment = after.u - before.u
    w0 = 1.0 - w1
    carried = 0.5 * (before.residual + after.residual) if support_forces is None else support_forces
    reaction = carried * increment
    # reactions at supports, then point loads, tractions, pressures, springs, rotations
    supports = conditions.fixed & (conditions.owner >= 0)
    np.add.at(work, conditions.owner[supports], reaction[supports])
    for number, *_ in conditions.loaded:
        force = w0 * conditions.nodal_load(number, t0)
        force += w1 * conditions.nodal_load(number, t1)
        work[number] += float(np.sum(force * increment))
    u0, u1 = (problem.unknowns.displacements(trial.u) for trial in (before, after))
    displacement = u1 - u0
    for number, shape, program in conditions.dead_loads:
        value = w0 * program.at(t0) + w1 * program.at(t1)
        work[number] += value * float(np.sum(shape * displacement))
    for number, entries, program in conditions.pressures:
        first = program.at(t0) * apply_matrices(entries, problem.points + u0)
        last = program.at(t1) * apply_matrices(entries, problem.points + u1)
        work[number] -= float(np.sum((w0 * first + w1 * last) * displacement))
    for number, spring, _, shape in conditions.springs:
        # work of the driven end: mean force k (g - s) times its displacement g_1 - g_0
        g0, g1 = spring.program.at(t0), spring.program.at(t1)
        forces = spring.stiffness * (g0 + g1) - float(np.sum(shape * (u0 + u1)))
        work[number] += 0.5 * forces * (g1 - g0)
    for contact, (number, _) in conditions.rotations.items():
        angle = problem.rotation(contact, t1) - problem.rotation(contact, t0)
        torques = [moment_on_circle(problem, trial, contact) for trial in (before, after)]
        work[number] += 0.5 * sum(torques) * angle
    if support_forces is None:
        # the change of forces at the start of a stage acts with half its value over its first step
        for number, force in _released_at(problem, t0).items():
            work[number] += 0.5 * float(np.sum(force * increment))
    return tuple(float(v) for v in work)


def _continued(before: dict[int, Floats], after: dict[int, Floats]) -> set[int]:
    """Return conditions that end or begin with a stage, in pairs that exert the same force."""
    continued: set[int] = set()
    for old in sorted(before.keys() - after.keys()):
        for new in sorted(after.keys() - before.keys() - continued):
            tolerance = _EQUAL * float(np.abs(before[old]).max(initial=0.0))
            if float(np.abs(before[old] - after[new]).max(initial=0.0)) <= tolerance:
                continued |= {old, new}
                break
    return continued


def _successor(problem: Problem) -> int:
    """Return the condition to which forces of unnamed supports are assigned.

    It is the last condition on a rigid partner, or condition 0.
    """
    named = (
        n
        for n, c in problem.conditions.by_number.items()
        if isinstance(vars(c).get("where"), Rigid)
    )
    return max(named, default=0)


class Released(NamedTuple):
    """Forces that conditions release when a stage begins.

    Parameters
    ----------
    time : at which the stage begins
    forces : by condition, force before minus force after, on free unknowns (nodes, d) [N/m]
    energies : by condition, the change of the energy of springs to the ground [J/m]
    """

    time: float
    forces: dict[int, Floats]
    energies: dict[int, float]


def condition_forces(
    problem: Problem, t: float, u: Floats, residual: Floats | None = None
) -> dict[int, Floats]:
    """Return the forces of every condition on nodes and control points (nodes, d) [N/m].

    Parameters
    ----------
    u : (nodes, d) displacements of nodes and control points [m]
    residual : (nodes, d) reactions of supports; None omits supports. Supports that no condition
        names have the number -1
    """
    conditions, unknowns, forces = (problem.conditions, problem.unknowns, dict[int, Floats]())
    for number, *_ in conditions.loaded:
        forces[number] = unknowns.nodal_forces(conditions.nodal_load(number, t))
    for number, shape, program in conditions.dead_loads:
        forces[number] = program.at(t) * shape
    for number, entries, program in conditions.pressures:
        forces[number] = -program.at(t) * apply_matrices(entries, problem.points + u)
    for number, spring, entries, shape in conditions.springs:
        forces[number] = spring.program.at(t) * shape - apply_matrices(entries, u)
    if residual is not None:
        support_owner = np.where(conditions.fixed, conditions.owner, -1)
        for number in np.unique(support_owner[support_owner >= 0]):
            reaction = unknowns.nodal_forces(np.where(support_owner == number, residual, 0.0))
            forces[int(number)] = forces.get(int(number), 0.0) + reaction
        # rigid partners that no condition names stay in place
        unowned = conditions.fixed & (conditions.owner < 0)
        forces[_NO_CONDITION] = unknowns.nodal_forces(np.where(unowned, residual, 0.0))
    return forces


def release(
    problem: Problem, t: float, u: Floats, before: dict[int, Floats], energies: dict[int, float]
) -> Released:
    """Return the forces that conditions release at the start of the current stage.

    Parameters
    ----------
    u : (nodes, d) displacements of nodes and control points [m]
    before, energies : forces of conditions, and energies of springs, in the stage before

    Verified by: tests/unit/solids/equilibria/test_stages.py::test_energies_of_released_parts
    """
    after, forces = condition_forces(problem, t, u), dict[int, Floats]()
    continued = _continued(before, after)
    for number in sorted((before.keys() | after.keys()) - continued):
        change = before.get(number, 0.0) - after.get(number, 0.0) + np.zeros_like(u)
        change = np.where(problem.fixed, 0.0, problem.unknowns.forces(change))
        if change.any():
            receiver = _successor(problem) if number == _NO_CONDITION else number
            forces[receiver] = forces.get(receiver, 0.0) + change
    energies_after = problem.conditions.spring_energies(t, u)
    changes = {
        n: energies_after.get(n, 0.0) - energies.get(n, 0.0)
        for n in energies_after.keys() | energies.keys()
    }
    return Released(t, forces, changes)


def unbalanced_work(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    scale: float,
    exchanged: float,
) -> float:
    """Return the work by the trapezoidal rule minus that of forces on the straight path [J/m].

    Returns zero unless all contact between deformable bodies uses the mortar method. The
    trapezoidal rule is applied to all forces, inertia included.

    Parameters
    ----------
    before, after : the accepted states at both ends
    times : when
    scale, exchanged : largest magnitude of the energies, and sum of the magnitudes of their changes
        in the step [J/m]

    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_energies_close_in_any_step
    """
    if not problem.mortar_only:
        return 0.0
    d, ramp = after.u - before.u, problem.assembled.attraction
    first, last = ramp.at(times[0]), ramp.at(times[1])
    friction = [0.0]

    def along(fraction: float) -> Evaluation:
        strength = first + fraction * (last - first)
        u = before.u + fraction * d
        forces, by_strength, signature = conservative_forces(
            problem, before.closest_points, u, strength
        )
        if fraction in (0.0, 1.0):
            # forces of friction, which the integrand leaves out
            trial, t = (before, times[0]) if fraction == 0.0 else (after, times[1])
            loads = problem.loads(t, problem.unknowns.displacements(u))
            friction.append(float(np.sum(d * (trial.residual + loads - forces))))
        value = float(np.sum(d * forces)) + (last - first) * by_strength
        return value, signature

    def pairing(fraction: float) -> object:
        x = problem.positions(before.u + fraction * d)
        pairs = zip(problem.passes, before.closest_points, strict=True)
        return tuple(p.pairing(p.project(x, points)) for p, points in pairs)

    # integral of conservative forces, by the adaptive rule, and work of friction on slip
    ends = along(0.0), along(1.0)
    error = problem.work_tolerance
    digits = max(0.0, math.log10(_DEFAULT_TOLERANCE / error))
    most = _MOST_EVALUATIONS * _MORE_PER_DIGIT**digits
    tolerance = error * (_OF_ENERGY * scale + exchanged)
    line = AdaptiveLobatto(along, pairing, tolerance, most).integral(*ends)
    slip_work = 0.0
    for p, a, b in zip(problem.passes, before.point_values, after.point_values, strict=True):
        if p.mortar:
            slip_work += 0.5 * float(
                np.sum((a[:, k.FRICTION_FORCE] + b[:, k.FRICTION_FORCE]) * _slip_increment(p, a, b))
            )
    excess = 0.5 * (ends[0][0] + ends[1][0] + sum(friction)) - line - slip_work
    return excess if np.isfinite(excess) else 0.0


def _released_at(problem: Problem, t: float) -> dict[int, Floats]:
    """Return the forces that conditions release at a time, if a stage begins then."""
    released = problem.released
    return released.forces if released is not None and t == released.time else {}


def residual_work(problem: Problem, before: Trial, after: Trial, t: float) -> float:
    """Return the work of the residuals at both ends, by the trapezoidal rule [J/m].

    In load steps no condition does this work; in dynamics it is the work of inertia.

    Parameters
    ----------
    before, after : at both ends of the step
    t : time of the first

    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_ledger_of_loose_balance
    """
    released = sum(_released_at(problem, t).values(), np.zeros_like(before.residual))
    mean_residual = 0.5 * (before.residual - released + after.residual).ravel()[problem.free]
    return float(np.sum(mean_residual * (after.u - before.u).ravel()[problem.free]))


def _slip_increment(p: ContactPass, a: Floats, b: Floats) -> Floats:
    """Return the slip of closest points along the partner [m].

    It is the change of the elongation of the stick springs, plus the slip of their origins.
    """
    stiffness = p.contact.tangential_stiffness * a[:, k.WEIGHT]
    ratios = (
        out[:, k.OWN_STRETCH] if p.contact.friction.per_current_area else 1.0 for out in (a, b)
    )
    before, after = (
        out[:, k.FRICTION_FORCE] / (stiffness * j) for out, j in zip((a, b), ratios, strict=True)
    )
    return np.asarray(after - before + b[:, k.SLIP_STEP])


def conservative_forces(
    problem: Problem, closest: tuple[ClosestPoints, ...], u: Floats, strength: float | None
) -> tuple[Floats, float, tuple[bytes, ...]]:
    """Return forces that follow from an energy: of bodies, and normal forces of contact.

    Parameters
    ----------
    problem : the equations
    closest : initial guess of the closest-point projection
    u : (nodes, d) unknowns [m]
    strength : attraction factor of the normal forces of contact; None omits these

    Returns
    -------
    Forces on the unknowns (nodes, d) [N/m]; derivative of the energy by the attraction factor
    [J/m]; signature of each pass, which changes with the elements of the closest points.
    """
    displacements = problem.unknowns.displacements(u)
    x, total, by_strength = problem.points + displacements, np.zeros_like(displacements), 0.0
    if problem.bulk.add(displacements, total, None):
        total[:] = np.nan
    if strength is None:
        return problem.unknowns.forces(total), by_strength, ()
    signatures = []
    for p, points in zip(problem.passes, closest, strict=True):
        derivative, projected = p.add_normal_forces(x, points, strength, total)
        by_strength += derivative
        signatures.append(p.pairing(projected))
    return problem.unknowns.forces(total), by_strength, tuple(signatures)


class _Interval(NamedTuple):
    """An interval of the path.

    Parameters
    ----------
    error, integral : error estimate and value of the rule
    points, evaluations : where the integrand was evaluated, and its values with signatures; two
        points bracket a change of the signature
    """

    error: float
    integral: float
    points: list[float]
    evaluations: list[Evaluation]


class AdaptiveLobatto:
    """Integrates over [0, 1] a function that is smooth while its signature is constant.

    The interval with the largest error estimate, the difference of the Lobatto rule and its Kronrod
    extension, is divided at the points of the rule. After `_WITHOUT_SEARCH` evaluations, which only
    tolerances below the default one need, bisection locates changes of the signature between two
    points, and the interval is split there.

    Parameters
    ----------
    f : returns value and signature at a point
    signature : returns the signature alone, at half the cost
    tolerance : of the sum of the error estimates
    max_evaluations : largest number of evaluations of `f`; one of `signature` counts half

    Source: the rule, Gander and Gautschi 2000.
    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_breakpoints_split_the_rule
    """

    def __init__(
        self,
        f: Callable[[float], Evaluation],
        signature: Callable[[float], object],
        tolerance: float,
        max_evaluations: float = _MOST_EVALUATIONS,
    ) -> None:
        self.f, self.signature = f, signature
        self.tolerance, self.limit = tolerance, max_evaluations
        self.intervals: list[_Interval] = []
        self.calls = 0.0

    def integral(self, first: Evaluation, last: Evaluation) -> float:
        """Return the integral, from value and signature at both ends."""
        self._integrate(0.0, 1.0, first, last)
        while self.calls < self.limit and sum(p.error for p in self.intervals) > self.tolerance:
            worst = max(range(len(self.intervals)), key=lambda i: self.intervals[i].error)
            if self.intervals[worst].error <= 0.0:
                break
            interval = self.intervals.pop(worst)
            # long intervals contain too many changes to locate each of them
            search = self.calls >= _WITHOUT_SEARCH
            subdivide = self._split if search else self._integrate
            ends = zip(pairwise(interval.points), pairwise(interval.evaluations), strict=True)
            for (low, high), (at_low, at_high) in ends:
                subdivide(low, high, at_low, at_high)
        return sum(interval.integral for interval in self.intervals)

    def _integrate(self, low: float, high: float, at_low: Evaluation, at_high: Evaluation) -> None:
        """Add an interval with its integral by the Kronrod rule."""
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        points = [low, *(middle + x * half for x in _KRONROD), high]
        evaluations = [at_low, *(self.f(x) for x in points[1:-1]), at_high]
        values = [value for value, _ in evaluations]
        fine, coarse = (half * float(np.dot(w, values)) for w in (_SEVEN, _FOUR))
        self.intervals.append(_Interval(abs(fine - coarse), fine, points, evaluations))
        self.calls += len(_KRONROD)

    def _split(self, low: float, high: float, at_low: Evaluation, at_high: Evaluation) -> None:
        """Add three intervals: before a change of the signature, around it, and after it."""
        if at_low[1] == at_high[1]:
            self._integrate(low, high, at_low, at_high)
            return
        left, right = low, high
        for _ in range(_HALVINGS):
            middle = 0.5 * (left + right)
            if self.signature(middle) == at_low[1]:
                left = middle
            else:
                right = middle
        self.calls += 0.5 * _HALVINGS + 2.0
        # ends of the interval itself are known
        before = self.f(left) if left > low else at_low
        after = self.f(right) if right < high else at_high
        width, difference = right - left, abs(after[0] - before[0])
        error = 0.0 if width <= _WIDTH else 0.5 * difference * width
        integral = 0.5 * (before[0] + after[0]) * width
        self.intervals.append(_Interval(error, integral, [left, right], [before, after]))
        for a, b, start, end in ((low, left, at_low, before), (right, high, after, at_high)):
            if b > a:
                self._integrate(a, b, start, end)


def force_of_condition(problem: Problem, trial: Trial, t: float, condition: Condition) -> Floats:
    """Return the force (d,) of a condition with a program on the body [N/m].

    Parameters
    ----------
    problem, trial, t : the equations, their evaluation at a state, and its time
    condition : prescribed displacement, linear constraint or spring
    """
    conditions = problem.conditions
    for _, spring, _, shape in conditions.springs:
        if spring is condition:
            out = np.zeros(problem.dim)
            u = problem.unknowns.displacements(trial.u)
            force = spring.stiffness * spring.program.at(t) - float(np.sum(shape * u))
            out[spring.component] = force
            return out
    number = next((i for i, c in conditions.by_number.items() if c is condition), -2)
    if not isinstance(condition, (Driven, Fixed)):
        forces = np.where(conditions.fixed & (conditions.owner == number), trial.residual, 0.0)
        return np.asarray(conditions.unknowns.nodal_forces(forces).sum(axis=0))
    forces = trial.residual
    # a place between control points has an unknown of its own; neighbours share control points
    if conditions.constrained and not isinstance(condition.where, Nearest):
        forces = conditions.unknowns.nodal_forces(forces)
    return np.asarray(forces[problem.nodes_of(condition.where)].sum(axis=0))


def reaction(problem: Problem, trial: Trial, reaction_point: Reaction) -> dict[str, float]:
    """Return force and moment of supports on a body at a place [N/m, N m/m; in space N, N m].

    Supports are all conditions that prescribe displacements. On splines forces act on control
    points; since the shape functions reproduce linear fields, their moments are those of the
    tractions.

    Parameters
    ----------
    reaction_point : where, and the point of the moment

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """
    unknowns, dim = problem.unknowns, problem.dim
    about = np.zeros(dim) if reaction_point.about is None else np.asarray(reaction_point.about)
    if isinstance(reaction_point.where, Rigid):
        node = int(problem.nodes_of(reaction_point.where)[0])
        total = unknowns.nodal_forces(trial.residual)[node]
        # the reaction balances the contact forces, which act at the points of the body
        contact_values = [
            out
            for number, out in zip(problem.contact_of_pass, trial.point_values, strict=True)
            if number == reaction_point.where.contact
        ]
        arm = np.concatenate([out[:, k.X : k.X + dim] for out in contact_values]) - about
        force = np.concatenate([out[:, k.FORCE_X : k.FORCE_X + dim] for out in contact_values])
    else:
        nodes = problem.conditions.points_of(reaction_point.where)
        # forces on other places between the same control points are not those on this one
        residual = trial.residual.copy()
        residual[problem.conditions.other_places(reaction_point.where)] = 0.0
        force = unknowns.nodal_forces(residual)[nodes]
        arm, total = problem.positions(trial.u)[nodes] - about, force.sum(axis=0)
    components = dict(zip("xyz", map(float, total), strict=False))
    # rotation from x to y, y to z and z to x
    pairs = [(0, 1)] if dim == _PLANE else [(1, 2), (2, 0), (0, 1)]
    names = ["moment"] if dim == _PLANE else ["moment_x", "moment_y", "moment_z"]
    for name, (i, j) in zip(names, pairs, strict=True):
        components[name] = float(np.sum(arm[:, i] * force[:, j] - arm[:, j] * force[:, i]))
    return components
