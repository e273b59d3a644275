"""Work of every condition over a step; forces of supports, springs and motors at a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesive_friction import Frictionless
from stiction.solids.conditions import Driven, Fixed, Rigid
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import CENTRE
from stiction.solids.equilibria import boundary_loads as on

if TYPE_CHECKING:
    from stiction.solids.conditions import Condition, Reaction
    from stiction.solids.equilibria.problem import Problem, Trial

__all__ = ["force_of", "moment_on_circle", "reaction", "works_of"]

Floats = npt.NDArray[np.float64]


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
    problem: Problem, before: Trial, after: Trial, times: tuple[float, float]
) -> tuple[float, ...]:
    """Return the work of every condition over a step by the trapezoidal rule [J/m].

    Parameters
    ----------
    before, after : the accepted states at both ends
    times : when

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_works_sum_to_the_external
    """
    holding, (t0, t1) = problem.holding, times
    found = np.zeros(len(problem.assembled.all_conditions))
    moved = after.u - before.u
    reaction = 0.5 * (before.residual + after.residual) * moved
    held = holding.fixed & (holding.owner >= 0)
    np.add.at(found, holding.owner[held], reaction[held])
    for number, *_ in holding.loaded:
        both = holding.force_of(number, t0) + holding.force_of(number, t1)
        found[number] += 0.5 * float(np.sum(both * moved))
    u0, u1 = (problem.unknowns.displacements(trial.u) for trial in (before, after))
    way = u1 - u0
    for number, shape, program in holding.dead:
        found[number] += 0.5 * (program.at(t0) + program.at(t1)) * float(np.sum(shape * way))
    for number, entries, program in holding.pressed:
        first = program.at(t0) * on.followers(entries, problem.points + u0)
        last = program.at(t1) * on.followers(entries, problem.points + u1)
        found[number] -= 0.5 * float(np.sum((first + last) * way))
    for number, spring, _, shape in holding.springs:
        g0, g1 = spring.program.at(t0), spring.program.at(t1)
        forces = spring.stiffness * (g0 + g1) - float(np.sum(shape * (u0 + u1)))
        found[number] += 0.5 * forces * (g1 - g0)
    for contact, (number, _) in holding.turned.items():
        angle = problem.turns(contact, t1) - problem.turns(contact, t0)
        torques = [moment_on_circle(problem, trial, contact) for trial in (before, after)]
        found[number] += 0.5 * sum(torques) * angle
    return tuple(float(v) for v in found)


def force_of(problem: Problem, trial: Trial, t: float, condition: Condition) -> Floats:
    """Return the force (2,) of a condition with a program on what it moves [N/m]."""
    holding = problem.holding
    for _, spring, _, shape in holding.springs:
        if spring is condition:
            out = np.zeros(2)
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


def reaction(problem: Problem, trial: Trial, place: Reaction) -> tuple[float, float, float]:
    """Return force and moment of supports on a body at a place [N/m, N/m, N m/m].

    Supports are all conditions that hold displacements. Forces of splines act on control points,
    whose functions reproduce any line: their moments are those of the tractions.

    Parameters
    ----------
    place : where, and the point of the moment

    Verified by: tests/unit/solids/equilibria/test_reactions.py::test_sums_of_reactions
    """
    unknowns, about = problem.unknowns, np.asarray(place.about)
    if isinstance(place.where, Rigid):
        node = int(problem.nodes_of(place.where)[0])
        force = unknowns.on_places(trial.residual)[node]
        # what holds the shape meets the forces of contact where these act
        moment = 0.0
        for number, out in zip(problem.contact_of_pass, trial.outs, strict=True):
            if number == place.where.contact:
                arm = out[:, [k.X, k.Y]] - about
                f = out[:, [k.FORCE_X, k.FORCE_Y]]
                moment += float(np.sum(arm[:, 0] * f[:, 1] - arm[:, 1] * f[:, 0]))
        return float(force[0]), float(force[1]), moment
    nodes = problem.holding.points_of(place.where)
    force = unknowns.on_places(trial.residual)[nodes]
    arm = problem.places(trial.u)[nodes] - about
    moment = float(np.sum(arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]))
    total = force.sum(axis=0)
    return float(total[0]), float(total[1]), moment
