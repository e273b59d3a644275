"""The energy of one step of generalised alpha, line by line.

With d = u_1 - u_0, the Newmark relations give for any forces, without approximation,

    d^T M a_m = T_1 - T_0 + dt (beta - gamma / 2) (a_1 - a_0)^T M (v_1 - v_0)
                + (1 - alpha_m - gamma) d^T M (a_1 - a_0),
    d^T S_f   = d^T (S_0 + S_1) / 2 + (1/2 - alpha_f) d^T (S_1 - S_0),

for S at the middle alpha_f. The work of supports and loads is d^T (R + F_f), pressures included;
that of dampers d^T C d / dt, never negative, plus a rest. Springs to the ground count among S:
their ends, and the motors of turning circles, work by the trapezoidal rule, which is exact for
springs. What that rule differs by, for the internal forces, from the energy between both states
is found by a Lobatto rule of degree five along d, of forces and not of energies: an energy that
is not that of the forces leaves the ledger open. Bodies that touch by virtual work have one energy:
contact is part of the rule there, and its difference is told as the work that steps pass over.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.equilibria.history import Energies, contact_energies
from stiction.solids.equilibria.problem import State, Trial
from stiction.solids.equilibria.work_integrals import conservative, unbalanced, works_of
from stiction.solids.motion.problem import MovingProblem, Step

__all__ = ["Moved", "balance", "kick_energies"]

Floats = npt.NDArray[np.float64]

# pieces of a step, and the part of the energies that the rule may be off by
_MOST, _EXACT = 16, 1e-9
# interior points of the Lobatto rule with four points, and the weight of its ends
_INSIDE, _ENDS = (0.5 - 0.5 / np.sqrt(5.0), 0.5 + 0.5 / np.sqrt(5.0)), 1.0 / 12.0


class Moved(NamedTuple):
    """A step that was solved.

    Parameters
    ----------
    before, after : trials of balance at both ends
    residual : (nodes, d) of the step, on supports what they carry [N/m]
    v, a : at the end
    """

    before: Trial
    after: Trial
    residual: Floats
    v: Floats
    a: Floats


def balance(
    problem: MovingProblem,
    state: State,
    step: Step,
    moved: Moved,
    times: tuple[float, float],
    last: Energies,
) -> Energies:
    """Return the energies after a step.

    Parameters
    ----------
    state : at the start of the step
    last : energies there

    Source: derived above; docs/theory/solids-in-motion.
    Verified by: tests/unit/solids/motion/test_balance.py::test_ledger_of_random_steps
    """
    w, dt = step.weights, step.dt
    d = moved.after.u - moved.before.u
    (first, sprung), (second, sprung_last) = (
        _outside(problem, trial, t)
        for trial, t in zip((moved.before, moved.after), times, strict=True)
    )
    carried = np.where(problem.fixed, moved.residual, 0.0)
    given = (1.0 - w.force) * second + w.force * first
    works = works_of(problem, moved.before, moved.after, times, carried, 1.0 - w.force)
    ends = [number for number, *_ in problem.holding.springs]
    ends += [number for number, _ in problem.holding.turned.values()]
    work = float(np.sum(d * (carried + given))) + sum(works[number] for number in ends)
    # what the scheme does to masses, and by weighing forces to one side
    da, dv = moved.a - step.a, moved.v - step.v
    pull = moved.after.residual + second - moved.before.residual - first
    scheme = dt * (w.beta - 0.5 * w.gamma) * float(np.sum(da * problem.weigh(dv)))
    scheme += (1.0 - w.mass - w.gamma) * float(np.sum(d * problem.weigh(da)))
    scheme += (0.5 - w.force) * float(np.sum(d * pull))
    viscous, rest = _dampers(problem, step, moved, d)
    scale = max(abs(last.stored), abs(last.adhesive), abs(last.work), last.kinetic)
    open_ = 0.0
    if problem.joined:
        changed = abs(work) + abs(viscous)
        open_ = unbalanced(problem, moved.before, moved.after, times, scale, changed)
    else:
        rest += _quadrature(problem, state, moved.after.u, times, scale)
    scheme += rest + open_
    stored, adhesive = problem.stored(moved.after)
    start, end = moved.before, moved.after
    touch = start.residual + first + sprung - start.internal
    touch += end.residual + second + sprung_last - end.internal
    taken = 0.5 * float(np.sum(d * touch))
    grounded = problem.grounded(moved.after, times[1])
    taken += grounded - problem.grounded(moved.before, times[0])
    now = Energies(stored + grounded, adhesive, work, last.heat, 0.0, 0.0, works)
    told = contact_energies(problem, moved.before, moved.after, times, last, now, work - taken)
    return told._replace(
        work=last.work + told.work,
        works=tuple(a + b for a, b in zip(last.works, works, strict=True)),
        algorithmic=last.algorithmic + told.algorithmic + scheme,
        reciprocity=last.reciprocity + told.reciprocity + open_,
        kinetic=problem.kinetic(moved.v),
        viscous=last.viscous + viscous,
    )


def _outside(problem: MovingProblem, trial: Trial, t: float) -> tuple[Floats, Floats]:
    """Return the forces of loads, and those of springs to the ground, on the unknowns [N/m]."""
    u = problem.unknowns.displacements(trial.u)
    springs = problem.unknowns.forces(problem.holding.sprung(t, u))
    return problem.loads(t, u) - springs, springs


def _dampers(problem: MovingProblem, step: Step, moved: Moved, d: Floats) -> tuple[float, float]:
    """Return what dampers take in a step, and what the scheme gives them beyond that [J/m]."""
    w, dt = step.weights, step.dt
    before, after = problem.dashpots(moved.before), problem.dashpots(moved.after)
    force = (1.0 - w.force) * problem.resisted(after, moved.v)
    force += w.force * problem.resisted(before, step.v)
    taken = 0.5 * (problem.lost(before, d) + problem.lost(after, d)) / dt
    return taken, float(np.sum(d * force)) - taken


def _quadrature(
    problem: MovingProblem, state: State, u: Floats, times: tuple[float, float], scale: float
) -> float:
    """Return the work of the trapezoidal rule beyond that of the forces along the step [J/m].

    Attraction grows along the step as displacements do, and its work is that of the same rule.
    Two deformable bodies have no potential between them: there the bodies alone count.
    """
    d, ramp = u - state.u, problem.assembled.attraction
    first, last = ramp.at(times[0]), ramp.at(times[1])
    rigid = all(p.partner.rigid for p in problem.passes)

    def along(part: float) -> float:
        strength = first + part * (last - first) if rigid else None
        u = state.u + part * d
        forces, by_strength, _ = conservative(problem, state.founds, u, strength)
        return float(np.sum(d * forces)) + (last - first) * by_strength

    # what ramps do is counted by the trapezoidal rule among the work
    at, values = np.array([0.0, 1.0]), np.array([along(0.0), along(1.0)])
    ends = 0.5 * values.sum()
    excess, panels = 0.0, 1
    while panels <= _MOST:
        inside = [along(a + part * (b - a)) for a, b in pairwise(at) for part in _INSIDE]
        rule = 2.0 * values.sum() - values[0] - values[-1]
        before, excess = excess, ends - (_ENDS * rule + (0.5 - _ENDS) * sum(inside)) / panels
        if not abs(excess - before) > _EXACT * scale:
            break
        # a law bends at its gap of equilibrium: half as long pieces
        middle = 0.5 * (at[1:] + at[:-1])
        between = np.array([along(float(part)) for part in middle])
        order = np.argsort(np.concatenate([at, middle]))
        at, values = np.concatenate([at, middle])[order], np.concatenate([values, between])[order]
        panels *= 2
    return excess if np.isfinite(excess) else 0.0


def kick_energies(problem: MovingProblem, v: Floats, after: Floats, last: Energies) -> Energies:
    """Return the energies after supports have changed their velocities at once.

    Their impulse works at the mean of the velocities before and after.
    """
    impulse = np.where(problem.fixed, problem.weigh(after - v), 0.0)
    done = 0.5 * impulse * (v + after)
    works = np.array(last.works)
    owner = problem.holding.owner
    owned = owner >= 0
    np.add.at(works, owner[owned], done[owned])
    return last._replace(
        kinetic=problem.kinetic(after),
        work=last.work + float(np.sum(done)),
        works=tuple(float(v) for v in works),
    )
