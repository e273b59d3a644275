"""The energy balance of one step of the generalised-alpha scheme.

The scheme has Newmark's parameters beta, gamma and the weights alpha_m, alpha_f of inertia and
forces (see `dynamics.problem`); T is the kinetic energy, and indices 0 and 1 are start and end of
the step. With d = u_1 - u_0, the Newmark relations give exactly, for any forces S,

    d^T M a_m = T_1 - T_0 + dt (beta - gamma / 2) (a_1 - a_0)^T M (v_1 - v_0)
                + (1 - alpha_m - gamma) d^T M (a_1 - a_0),
    d^T S_f   = d^T (S_0 + S_1) / 2 + (1/2 - alpha_f) d^T (S_1 - S_0),

with S_f = (1 - alpha_f) S_1 + alpha_f S_0. Work and dissipation in the step are:

- for supports and loads d^T (R + F_f), with reactions R and loads F, including pressures;
- for dampers d^T C d / dt, never negative; the difference to d^T C v_f is algorithmic energy;
- for springs to the ground and rotating circles the trapezoidal rule, which is exact for springs;
- for internal forces the trapezoidal rule; its difference to the stored energy is algorithmic.

A Lobatto rule of degree five along d integrates this difference from forces, not from energies, so
that the imbalance of the ledger would show an error of an energy. In the mortar method the rule
includes contact, and the difference is recorded as unbalanced work.

`dynamics.stepper` calls `time_step_energies` after each accepted step, and `impulse_energies`
where velocities of supports jump.
Source: Chung, Hulbert 1993 (the scheme); the balance is derived here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.dynamics.problem import MovingProblem, Step
from stiction.solids.equilibria.history import Energies, contact_energies
from stiction.solids.equilibria.problem import State, Trial
from stiction.solids.equilibria.work_integrals import (
    condition_works,
    conservative_forces,
    unbalanced_work,
)

__all__ = ["SolvedStep", "impulse_energies", "time_step_energies"]

Floats = npt.NDArray[np.float64]

# largest number of panels in a step, and tolerance of the rule over the energies
_MOST_PANELS, _TOLERANCE = 16, 1e-9
# interior points of the Lobatto rule with four points, and the weight of its ends
_INSIDE, _ENDS = (0.5 - 0.5 / np.sqrt(5.0), 0.5 + 0.5 / np.sqrt(5.0)), 1.0 / 12.0


class SolvedStep(NamedTuple):
    """A time step that converged.

    Parameters
    ----------
    before, after : static residuals and contact states at both ends
    residual : (nodes, d) residual of the step, at supports the reaction forces [N/m]
    v, a : velocities [m/s] and accelerations [m/s^2] at the end
    """

    before: Trial
    after: Trial
    residual: Floats
    v: Floats
    a: Floats


def time_step_energies(
    problem: MovingProblem,
    state: State,
    step: Step,
    solved: SolvedStep,
    times: tuple[float, float],
    last: Energies,
) -> Energies:
    """Return the energies after a step.

    Parameters
    ----------
    problem : the discrete equations
    state, last : state and energies at the start of the step
    step, solved : the time step and its solution
    times : at the start and the end

    Source: derived above; docs/theory/solids-in-motion.
    Verified by: tests/unit/solids/dynamics/test_balance.py::test_ledger_of_random_steps
    """
    # work of supports and loads; springs and rotations by the trapezoidal rule
    w, dt = step.weights, step.dt
    before, after = solved.before, solved.after
    d = after.u - before.u
    f0, s0 = _external_forces(problem, before, times[0])
    f1, s1 = _external_forces(problem, after, times[1])
    reactions = np.where(problem.fixed, solved.residual, 0.0)
    loads = (1.0 - w.force) * f1 + w.force * f0
    parts = condition_works(problem, before, after, times, reactions, 1.0 - w.force)
    driven = [number for number, *_ in problem.conditions.springs]
    driven += [number for number, _ in problem.conditions.rotations.values()]
    work = float(np.sum(d * (reactions + loads))) + sum(parts[number] for number in driven)
    # algorithmic energy by beta, gamma, alpha_m and alpha_f, see the module docstring
    da, dv = solved.a - step.a, solved.v - step.v
    force_change = after.residual + f1 - before.residual - f0
    scheme = dt * (w.beta - 0.5 * w.gamma) * float(np.sum(da * problem.mass_times(dv)))
    scheme += (1.0 - w.mass - w.gamma) * float(np.sum(d * problem.mass_times(da)))
    scheme += (0.5 - w.force) * float(np.sum(d * force_change))
    viscous, errors = _dampers(problem, step, solved, d)
    scale = max(abs(last.stored), abs(last.adhesive), abs(last.work), last.kinetic)
    unbalanced = 0.0
    if problem.mortar_only:
        changed = abs(work) + abs(viscous)
        unbalanced = unbalanced_work(problem, before, after, times, scale, changed)
    else:
        errors += _quadrature_error(problem, state, after.u, times, scale)
    scheme += errors + unbalanced
    # work of contact forces by the trapezoidal rule: all static forces but internal ones
    stored, adhesive = problem.stored(after)
    contact_force = before.residual + f0 + s0 - before.internal
    contact_force += after.residual + f1 + s1 - after.internal
    contact_work = 0.5 * float(np.sum(d * contact_force))
    ground_springs = problem.ground_energy(after, times[1])
    contact_work += ground_springs - problem.ground_energy(before, times[0])
    now = Energies(stored + ground_springs, adhesive, work, last.heat, 0.0, 0.0, parts)
    spent = work - contact_work
    energies = contact_energies(problem, before, after, times, last, now, spent)
    return energies._replace(
        work=last.work + energies.work,
        condition_work=tuple(a + b for a, b in zip(last.condition_work, parts, strict=True)),
        algorithmic=last.algorithmic + energies.algorithmic + scheme,
        reciprocity=last.reciprocity + energies.reciprocity + unbalanced,
        kinetic=problem.kinetic(solved.v),
        viscous=last.viscous + viscous,
    )


def _external_forces(problem: MovingProblem, trial: Trial, t: float) -> tuple[Floats, Floats]:
    """Return the forces of loads, and those of springs to the ground, on the unknowns [N/m]."""
    u = problem.unknowns.displacements(trial.u)
    springs = problem.unknowns.forces(problem.conditions.spring_forces(t, u))
    return problem.loads(t, u) - springs, springs


def _dampers(
    problem: MovingProblem, step: Step, solved: SolvedStep, d: Floats
) -> tuple[float, float]:
    """Return the dissipation of dampers in a step, and the scheme's excess over it [J/m].

    `d` is the displacement (nodes, d) of the step [m].
    """
    w, dt = step.weights, step.dt
    before, after = problem.dashpots(solved.before), problem.dashpots(solved.after)
    force = (1.0 - w.force) * problem.damping_force(after, solved.v)
    force += w.force * problem.damping_force(before, step.v)
    dissipated = 0.5 * (problem.damping_power(before, d) + problem.damping_power(after, d)) / dt
    return dissipated, float(np.sum(d * force)) - dissipated


def _quadrature_error(
    problem: MovingProblem, state: State, u: Floats, times: tuple[float, float], scale: float
) -> float:
    """Return the error of the trapezoidal rule for the work of forces along the step [J/m].

    The attraction changes linearly along the step as displacements do. Contact between two
    deformable bodies by the two-half-pass method has no potential: it is left out.
    """
    d, ramp = u - state.u, problem.assembled.attraction
    first, last = ramp.at(times[0]), ramp.at(times[1])
    rigid = all(p.partner.rigid for p in problem.passes)

    def along(x: float) -> float:
        strength = first + x * (last - first) if rigid else None
        u = state.u + x * d
        forces, by_strength, _ = conservative_forces(problem, state.closest_points, u, strength)
        return float(np.sum(d * forces)) + (last - first) * by_strength

    # the work of a changing attraction is counted by the trapezoidal rule too
    points, values = np.array([0.0, 1.0]), np.array([along(0.0), along(1.0)])
    ends = 0.5 * values.sum()
    excess, panels = 0.0, 1
    while panels <= _MOST_PANELS:
        interior = [along(a + x * (b - a)) for a, b in pairwise(points) for x in _INSIDE]
        rule = 2.0 * values.sum() - values[0] - values[-1]
        previous, excess = excess, ends - (_ENDS * rule + (0.5 - _ENDS) * sum(interior)) / panels
        if not abs(excess - previous) > _TOLERANCE * scale:
            break
        # laws have a kink at the equilibrium gap: halve the panels
        middle = 0.5 * (points[1:] + points[:-1])
        between = np.array([along(float(x)) for x in middle])
        order = np.argsort(np.concatenate([points, middle]))
        points = np.concatenate([points, middle])[order]
        values = np.concatenate([values, between])[order]
        panels *= 2
    return excess if np.isfinite(excess) else 0.0


def impulse_energies(problem: MovingProblem, v: Floats, after: Floats, last: Energies) -> Energies:
    """Return the energies after an instantaneous change of velocities from `v` to `after`.

    The work of the impulse of supports is its product with the mean of both velocities.

    Parameters
    ----------
    problem : the equations
    v, after : (nodes, d) velocities [m/s]
    last : the energies before
    """
    impulse = np.where(problem.fixed, problem.mass_times(after - v), 0.0)
    work = 0.5 * impulse * (v + after)
    work_by_condition = np.array(last.condition_work)
    owner = problem.conditions.owner
    owned = owner >= 0
    np.add.at(work_by_condition, owner[owned], work[owned])
    return last._replace(
        kinetic=problem.kinetic(after),
        work=last.work + float(np.sum(work)),
        condition_work=tuple(float(v) for v in work_by_condition),
    )
