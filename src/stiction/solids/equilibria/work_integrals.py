"""Work of every condition over a step; forces of supports, springs and motors at a state.

A load step ends in balance, and what lies between two of them does not. On the straight way from
one to the next forces f do the work

    int f . du = change of the energies + int tau dzeta,

and supports, by the trapezoidal rule, (f_0 + f_1) . du / 2, as all else balances at both ends, but
for what Newton's method leaves, which is no work of theirs. The difference is the work of what is
out of balance in between: it falls as the step squared where forces are smooth, as the step where
friction meets kinks of a partner, and is what a jump releases. `unbalanced` finds it from forces,
by a Lobatto rule that cuts its pieces where points come to meet other pieces of a partner, and
where it has to, so that energies which are not those of the forces leave the ledger open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.conditions import Driven, Fixed, Rigid
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import CENTRE
from stiction.solids.equilibria import boundary_loads as on

if TYPE_CHECKING:
    from stiction.solids.conditions import Condition, Reaction
    from stiction.solids.contact.model import ClosestPoints, ContactPass
    from stiction.solids.equilibria.problem import Problem, Trial

__all__ = [
    "LetGo",
    "Rule",
    "acting",
    "conservative",
    "force_of",
    "left_over",
    "let_go",
    "moment_on_circle",
    "reaction",
    "unbalanced",
    "works_of",
]

Floats = npt.NDArray[np.float64]
# value and mark
Told = tuple[float, object]

# error of the rule as a part of the energies, where it is one of what a step turns over; the most
# forces that are found for a step, at the usual error, and how much more for each digit
_EXACT, _MOST, _USUAL, _MORE = 0.1, 300, 1e-7, 3.0
# how often a stretch is halved in search of a change of what is met, and one too short for more
_HALVINGS, _WIDTH = 6, 1e-14
# values before that are all spent on cutting pieces in parts
_BLIND = 300
_PLANE = 2
# stands for no condition, and the part of two forces by which they may differ and be the same
_NOBODY, _EQUAL = -1, 1e-12
# points of the Kronrod rule of Lobatto's with four points, in the order in which weights stand
_KRONROD = (-np.sqrt(2.0 / 3.0), -1.0 / np.sqrt(5.0), 0.0, 1.0 / np.sqrt(5.0), np.sqrt(2.0 / 3.0))
_SEVEN = np.array([77.0, 432.0, 625.0, 672.0, 625.0, 432.0, 77.0]) / 1470.0
_FOUR = np.array([1.0, 0.0, 5.0, 0.0, 5.0, 0.0, 1.0]) / 6.0


def moment_on_circle(problem: Problem, trial: Trial, contact: int) -> float:
    """Return the torque that turns a rigid circle against its contact [N m/m].

    It balances the moments of the forces of contact, which act at the points of the body, about
    the centre.
    """
    total = 0.0
    for number, p, out in zip(problem.contact_of_pass, problem.passes, trial.outs, strict=True):
        if number != contact or isinstance(p.contact.friction, Frictionless):
            continue
        moved = problem.unknowns.displacements(trial.u)[p.partner.node]
        arm = out[:, [k.X, k.Y]] - p.partner.shape[CENTRE : CENTRE + 2] - moved
        force = out[:, [k.FORCE_X, k.FORCE_Y]]
        total += float(np.sum(arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]))
    return total


def works_of(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    carried: Floats | None = None,
    late: float = 0.5,
) -> tuple[float, ...]:
    """Return the work of every condition over a step [J/m].

    Parameters
    ----------
    before, after : the accepted states at both ends
    times : when
    carried : (nodes, d) what supports carry during the step [N/m]; None for the mean of its ends
    late : weight of the end of the step in the forces of loads; those of springs and motors are
        means, which is exact for springs

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_works_sum_to_the_external
    """
    holding, (t0, t1) = problem.holding, times
    found = np.zeros(len(problem.assembled.all_conditions))
    moved = after.u - before.u
    early = 1.0 - late
    mean = 0.5 * (before.residual + after.residual) if carried is None else carried
    reaction = mean * moved
    held = holding.fixed & (holding.owner >= 0)
    np.add.at(found, holding.owner[held], reaction[held])
    for number, *_ in holding.loaded:
        force = early * holding.force_of(number, t0) + late * holding.force_of(number, t1)
        found[number] += float(np.sum(force * moved))
    u0, u1 = (problem.unknowns.displacements(trial.u) for trial in (before, after))
    way = u1 - u0
    for number, shape, program in holding.dead:
        value = early * program.at(t0) + late * program.at(t1)
        found[number] += value * float(np.sum(shape * way))
    for number, entries, program in holding.pressed:
        first = program.at(t0) * on.followers(entries, problem.points + u0)
        last = program.at(t1) * on.followers(entries, problem.points + u1)
        found[number] -= float(np.sum((early * first + late * last) * way))
    for number, spring, _, shape in holding.springs:
        g0, g1 = spring.program.at(t0), spring.program.at(t1)
        forces = spring.stiffness * (g0 + g1) - float(np.sum(shape * (u0 + u1)))
        found[number] += 0.5 * forces * (g1 - g0)
    for contact, (number, _) in holding.turned.items():
        angle = problem.turns(contact, t1) - problem.turns(contact, t0)
        torques = [moment_on_circle(problem, trial, contact) for trial in (before, after)]
        found[number] += 0.5 * sum(torques) * angle
    if carried is None:
        # load steps let forces go, and take on new ones, slowly: by half of them over the way
        for number, force in _gone(problem, t0).items():
            found[number] += 0.5 * float(np.sum(force * moved))
    return tuple(float(v) for v in found)


def _handed_over(before: dict[int, Floats], after: dict[int, Floats]) -> set[int]:
    """Return conditions whose force another one goes on with, and those."""
    found: set[int] = set()
    for old in sorted(before.keys() - after.keys()):
        for new in sorted(after.keys() - before.keys() - found):
            least = _EQUAL * float(np.abs(before[old]).max(initial=0.0))
            if float(np.abs(before[old] - after[new]).max(initial=0.0)) <= least:
                found |= {old, new}
                break
    return found


def _heir(problem: Problem) -> int:
    """Return the condition that takes over a rigid partner which none named before."""
    named = (
        n for n, c in problem.holding.conditions.items() if isinstance(vars(c).get("where"), Rigid)
    )
    return max(named, default=0)


class LetGo(NamedTuple):
    """What conditions let go when a stage begins.

    Parameters
    ----------
    time : when
    forces : of every condition before it less those after it, on unknowns that are free (nodes, d)
        [N/m]
    energies : by which those of springs to the ground change at once, by condition [J/m]
    """

    time: float
    forces: dict[int, Floats]
    energies: dict[int, float]


def acting(
    problem: Problem, t: float, u: Floats, residual: Floats | None = None
) -> dict[int, Floats]:
    """Return the forces of every condition on nodes and control points (nodes, d) [N/m].

    Parameters
    ----------
    u : (nodes, d) displacements of nodes and control points [m]
    residual : (nodes, d) of balance, which supports carry; None leaves supports out. What carries
        and is no condition has the number -1
    """
    holding, unknowns, found = problem.holding, problem.unknowns, dict[int, Floats]()
    for number, *_ in holding.loaded:
        found[number] = unknowns.on_places(holding.force_of(number, t))
    for number, shape, program in holding.dead:
        found[number] = program.at(t) * shape
    for number, entries, program in holding.pressed:
        found[number] = -program.at(t) * on.followers(entries, problem.points + u)
    for number, spring, entries, shape in holding.springs:
        found[number] = spring.program.at(t) * shape - on.followers(entries, u)
    if residual is not None:
        held = np.where(holding.fixed, holding.owner, -1)
        for number in np.unique(held[held >= 0]):
            carried = unknowns.on_places(np.where(held == number, residual, 0.0))
            found[int(number)] = found.get(int(number), 0.0) + carried
        # what stays because no condition names it
        lone = holding.fixed & (holding.owner < 0)
        found[_NOBODY] = unknowns.on_places(np.where(lone, residual, 0.0))
    return found


def let_go(
    problem: Problem,
    t: float,
    u: Floats,
    before: dict[int, Floats],
    energies: dict[int, float],
) -> LetGo:
    """Return what conditions let go at the begin of the stage that a problem is in.

    Parameters
    ----------
    u : (nodes, d) displacements of nodes and control points [m]
    before, energies : forces of conditions, and energies of springs, in the stage before

    Verified by: tests/unit/solids/equilibria/test_stages.py::test_energies_of_what_is_let_go
    """
    after, forces = acting(problem, t, u), dict[int, Floats]()
    same = _handed_over(before, after)
    for number in sorted((before.keys() | after.keys()) - same):
        change = before.get(number, 0.0) - after.get(number, 0.0) + np.zeros_like(u)
        change = np.where(problem.fixed, 0.0, problem.unknowns.forces(change))
        if change.any():
            heir = _heir(problem) if number == _NOBODY else number
            forces[heir] = forces.get(heir, 0.0) + change
    now = problem.holding.spring_energies(t, u)
    changes = {n: now.get(n, 0.0) - energies.get(n, 0.0) for n in now.keys() | energies.keys()}
    return LetGo(t, forces, changes)


def unbalanced(
    problem: Problem,
    before: Trial,
    after: Trial,
    times: tuple[float, float],
    scale: float,
    turned: float,
) -> float:
    """Return the work of the trapezoidal rule beyond that of forces on the straight way [J/m].

    Bodies that touch by virtual work alone have one; zero for others. The trapezoidal rule is that
    of all forces, those of inertia included.

    Parameters
    ----------
    before, after : the accepted states at both ends
    times : when
    scale, turned : size of the energies, and of their changes [J/m]

    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_energies_close_in_any_step
    """
    if not problem.joined:
        return 0.0
    d, ramp = after.u - before.u, problem.assembled.attraction
    first, last = ramp.at(times[0]), ramp.at(times[1])
    rubbed = [0.0]

    def along(part: float) -> Told:
        strength = first + part * (last - first)
        u = before.u + part * d
        forces, by_strength, met = conservative(problem, before.founds, u, strength)
        if part in (0.0, 1.0):
            # what friction adds at the ends
            trial, t = (before, times[0]) if part == 0.0 else (after, times[1])
            loads = problem.loads(t, problem.unknowns.displacements(u))
            rubbed.append(float(np.sum(d * (trial.residual + loads - forces))))
        return float(np.sum(d * forces)) + (last - first) * by_strength, met

    def met(part: float) -> object:
        x = problem.places(before.u + part * d)
        pairs = zip(problem.passes, before.founds, strict=True)
        return tuple(p.pairing(p.project(x, found)) for p, found in pairs)

    ends = along(0.0), along(1.0)
    error = problem.work_tolerance
    most = _MOST * _MORE ** max(0.0, math.log10(_USUAL / error))
    line = Rule(along, met, error * (_EXACT * scale + turned), most).integral(*ends)
    slid = 0.0
    for p, a, b in zip(problem.passes, before.outs, after.outs, strict=True):
        if p.mortar:
            slid += 0.5 * float(
                np.sum((a[:, k.FRICTION_FORCE] + b[:, k.FRICTION_FORCE]) * _slid(p, a, b))
            )
    excess = 0.5 * (ends[0][0] + ends[1][0] + sum(rubbed)) - line - slid
    return excess if np.isfinite(excess) else 0.0


def _gone(problem: Problem, t: float) -> dict[int, Floats]:
    """Return the forces that conditions let go at a time, if a stage begins there."""
    return problem.gone.forces if problem.gone is not None and t == problem.gone.time else {}


def left_over(problem: Problem, before: Trial, after: Trial, t: float) -> float:
    """Return the work of the trapezoidal rule by what is left of balance at both ends [J/m].

    Between states of rest it is no work of conditions; in motion it is that of inertia.

    Parameters
    ----------
    before, after : at both ends of the step
    t : time of the first

    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_ledger_of_loose_balance
    """
    known = sum(_gone(problem, t).values(), np.zeros_like(before.residual))
    rest = 0.5 * (before.residual - known + after.residual).ravel()[problem.free]
    return float(np.sum(rest * (after.u - before.u).ravel()[problem.free]))


def _slid(p: ContactPass, a: Floats, b: Floats) -> Floats:
    """Return by how much nearest points moved along the partner: springs, and origins [m]."""
    per = p.contact.tangential_stiffness * a[:, k.WEIGHT]
    grown = (
        out[:, k.OWN_STRETCH] if p.contact.friction.per_current_area else 1.0 for out in (a, b)
    )
    one, other = (
        out[:, k.FRICTION_FORCE] / (per * j) for out, j in zip((a, b), grown, strict=True)
    )
    return np.asarray(other - one + b[:, k.SLIP_STEP])


def conservative(
    problem: Problem, founds: tuple[ClosestPoints, ...], u: Floats, strength: float | None
) -> tuple[Floats, float, tuple[bytes, ...]]:
    """Return internal forces [N/m], the derivative of energy by attraction [J/m], and what is met.

    Parameters
    ----------
    founds : nearest points from which those of this state are looked for
    u : (nodes, d) displacements [m]
    strength : attraction at which normal tractions of contact are added; None leaves them out
    """
    moved = problem.unknowns.displacements(u)
    x, total, by_strength = problem.points + moved, np.zeros_like(moved), 0.0
    if problem.bulk.add(moved, total, None):
        total[:] = np.nan
    if strength is None:
        return problem.unknowns.forces(total), by_strength, ()
    met = []
    for p, found in zip(problem.passes, founds, strict=True):
        change, here = p.add_normal_forces(x, found, strength, total)
        by_strength += change
        met.append(p.pairing(here))
    return problem.unknowns.forces(total), by_strength, tuple(met)


class _Piece(NamedTuple):
    """A part of the way: what the rule may be wrong by, what it says, places, values and marks.

    One of two places only has a change of the mark within, and is as long as this is known.
    """

    error: float
    found: float
    at: list[float]
    told: list[Told]


class Rule:
    """Integrates a function over [0, 1] that is smooth where its mark stays the same.

    Pieces are cut where a rule and its half differ most, into the parts between their points; when
    they have become short, a part between points with different marks is cut where these change,
    which halving finds from marks alone. Places of changes become as near as they have to.

    Parameters
    ----------
    f : returns value and mark at a place
    mark : returns the mark alone, for less
    near : error that is small enough
    most : values that are asked for, a mark counting half

    Source: the rule, Gander and Gautschi 2000.
    Verified by: tests/unit/solids/equilibria/test_virtual_work.py::test_the_rule_goes_by_marks
    """

    def __init__(
        self,
        f: Callable[[float], Told],
        mark: Callable[[float], object],
        near: float,
        most: float = _MOST,
    ) -> None:
        self.f, self.mark, self.near, self.most = f, mark, near, most
        self.pieces: list[_Piece] = []
        self.spent = 0.0

    def integral(self, first: Told, last: Told) -> float:
        """Return the integral, from value and mark at both ends."""
        self._add(0.0, 1.0, first, last)
        while self.spent < self.most and sum(p.error for p in self.pieces) > self.near:
            worst = max(range(len(self.pieces)), key=lambda i: self.pieces[i].error)
            if self.pieces[worst].error <= 0.0:
                break
            piece = self.pieces.pop(worst)
            # many changes lie in long pieces, and none of them is worth a search
            cut = self._add if self.spent < _BLIND else self._cut
            for i in range(len(piece.at) - 1):
                cut(piece.at[i], piece.at[i + 1], piece.told[i], piece.told[i + 1])
        return sum(piece.found for piece in self.pieces)

    def _add(self, low: float, high: float, one: Told, other: Told) -> None:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        at = [low, *(middle + x * half for x in _KRONROD), high]
        told = [one, *(self.f(x) for x in at[1:-1]), other]
        values = [value for value, _ in told]
        fine, rough = (half * float(np.dot(w, values)) for w in (_SEVEN, _FOUR))
        self.pieces.append(_Piece(abs(fine - rough), fine, at, told))
        self.spent += len(_KRONROD)

    def _cut(self, low: float, high: float, one: Told, other: Told) -> None:
        """Add what lies between two points: before a change of the mark, where it is, and after."""
        if one[1] == other[1]:
            self._add(low, high, one, other)
            return
        left, right = low, high
        for _ in range(_HALVINGS):
            middle = 0.5 * (left + right)
            if self.mark(middle) == one[1]:
                left = middle
            else:
                right = middle
        self.spent += 0.5 * _HALVINGS + 2.0
        # both ends are known where the stretch is that of a change
        before = self.f(left) if left > low else one
        after = self.f(right) if right < high else other
        between, step = right - left, abs(after[0] - before[0])
        error = 0.0 if between <= _WIDTH else 0.5 * step * between
        found = 0.5 * (before[0] + after[0]) * between
        self.pieces.append(_Piece(error, found, [left, right], [before, after]))
        for a, b, start, end in ((low, left, one, before), (right, high, after, other)):
            if b > a:
                self._add(a, b, start, end)


def force_of(problem: Problem, trial: Trial, t: float, condition: Condition) -> Floats:
    """Return the force (d,) of a condition with a program on what it moves [N/m]."""
    holding = problem.holding
    for _, spring, _, shape in holding.springs:
        if spring is condition:
            out = np.zeros(problem.dim)
            u = problem.unknowns.displacements(trial.u)
            pull = spring.stiffness * spring.program.at(t) - float(np.sum(shape * u))
            out[spring.component] = pull
            return out
    number = next((i for i, c in holding.conditions.items() if c is condition), -2)
    if not isinstance(condition, (Driven, Fixed)):
        mine = np.where(holding.fixed & (holding.owner == number), trial.residual, 0.0)
        return np.asarray(holding.unknowns.on_places(mine).sum(axis=0))
    nodes = problem.nodes_of(condition.where)
    if not holding.constrained:
        return np.asarray(trial.residual[nodes].sum(axis=0))
    return np.asarray(holding.unknowns.on_places(trial.residual)[nodes].sum(axis=0))


def reaction(problem: Problem, trial: Trial, place: Reaction) -> dict[str, float]:
    """Return force and moment of supports on a body at a place [N/m, N m/m; in space N, N m].

    Supports are all conditions that hold displacements. Forces of splines act on control points,
    whose functions reproduce any line: their moments are those of the tractions.

    Parameters
    ----------
    place : where, and the point of the moment

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """
    unknowns, dim = problem.unknowns, problem.dim
    about = np.zeros(dim) if place.about is None else np.asarray(place.about)
    if isinstance(place.where, Rigid):
        node = int(problem.nodes_of(place.where)[0])
        total = unknowns.on_places(trial.residual)[node]
        # what holds the shape meets the forces of contact where these act
        met = [
            out
            for number, out in zip(problem.contact_of_pass, trial.outs, strict=True)
            if number == place.where.contact
        ]
        arm = np.concatenate([out[:, k.X : k.X + dim] for out in met]) - about
        force = np.concatenate([out[:, k.FORCE_X : k.FORCE_X + dim] for out in met])
    else:
        nodes = problem.holding.points_of(place.where)
        force = unknowns.on_places(trial.residual)[nodes]
        arm, total = problem.places(trial.u)[nodes] - about, force.sum(axis=0)
    found = dict(zip("xyz", map(float, total), strict=False))
    # turning x to y, y to z and z to x
    pairs = [(0, 1)] if dim == _PLANE else [(1, 2), (2, 0), (0, 1)]
    names = ["moment"] if dim == _PLANE else ["moment_x", "moment_y", "moment_z"]
    for name, (i, j) in zip(names, pairs, strict=True):
        found[name] = float(np.sum(arm[:, i] * force[:, j] - arm[:, j] * force[:, i]))
    return found
