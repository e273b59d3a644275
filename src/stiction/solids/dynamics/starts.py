"""Initial equilibrium of a motion, by an implicit gradient flow whose metric is the mass matrix.

From the given displacements u_0, with growing steps 1/k_n of the flow, Newton's method solves

    f(u_n) + k_n M (u_n - u_{n-1}) = 0,

with the residual f of equilibrium: pseudo-transient continuation. As k_n tends to zero, the steps
become those of Newton's method for f = 0. Where the tangent of f is singular, k_n M keeps the
system regular. Bodies do not move along directions without force; a body under an unopposed force
moves until a contact or spring resists it. M and f do not depend on the frame, nor does the
equilibrium. k_n [1/s^2] decreases by a factor after each step and increases after a failed one.
`dynamics.stepper.TimeStepper._begin` calls `initial_equilibrium` once per run.

Source: Kelley, Keyes 1998.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.vectors import size_of
from stiction.solids.conditions import bodies_named
from stiction.solids.contact.partners import Boundary
from stiction.solids.equilibria.newton import Outcome, force_scale, solve_step
from stiction.solids.loads import Spring
from stiction.solids.many.continuous_collision import TUNNELLING

if TYPE_CHECKING:
    from stiction.solids.dynamics.problem import MovingProblem
    from stiction.solids.dynamics.stepper import TimeStepper
    from stiction.solids.equilibria.problem import State, Trial

__all__ = ["initial_equilibrium"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# factors of k after a step of the flow, and after a step that failed
_GROWTH, _REDUCTION = 0.1, 10.0
# largest number of steps of the flow
_MOST_STEPS = 100
# with a convex energy the displacement of a step is at most force over (k M); beyond twice that,
# Newton's method has jumped to another equilibrium
_CONVEX = 2.0
# displacement over the length of an unsupported body beyond which it has no equilibrium nearby
_NEARBY = 0.5
# error of the gap over its variation in the elements around the closest point: a chord deviates
# from its circle by an eighth
_MESH_ERROR = 0.2
# ratio to the largest singular value below which singular values are rounding
_SINGULAR = 1e-9


def initial_equilibrium(stepper: TimeStepper, v0: Floats | None) -> tuple[Trial | None, float]:
    """Return the initial state of a motion, and its unbalanced forces.

    Three kinds of bodies start in their given positions: those with an initial velocity that no
    condition names; those in free flight with a resultant load; and those that contact alone
    supports and that have no equilibrium nearby. All others start in equilibrium. The unbalanced
    forces are those on bodies of the third kind.

    Parameters
    ----------
    stepper : time stepper of the run, whose state is replaced by the equilibrium
    v0 : (b, d) initial velocities of the bodies [m/s]; None for zero

    Returns
    -------
    The trial, None if bodies that conditions support have no equilibrium; and the norm of the
    unbalanced forces over that of the forces in equilibrium [1].

    Source: Kelley, Keyes 1998 (pseudo-transient continuation).
    Verified by: tests/unit/solids/dynamics/test_starts.py::test_a_disc_rests_in_every_frame
    """
    problem, state = stepper.moving, stepper.state
    thrown = np.zeros(len(problem.parts), dtype=bool)
    if v0 is not None:
        thrown[:] = v0.any(axis=1)
        thrown[sorted(bodies_named(problem.conditions.by_number.values()))] = False
    unsupported = _unsupported(problem, state.time)
    in_flight = _in_flight(problem, state, unsupported)
    fixed = thrown.copy()
    while True:
        with problem.fixed_bodies(fixed):
            trial, failed, outcome = _flow(stepper, unsupported & ~fixed, in_flight & ~fixed)
        if trial is not None:
            break
        # bodies without an equilibrium nearby keep their positions in the next attempt
        if not failed.any():
            stepper.give_up(outcome, state.time)
            return None, 0.0
        fixed |= failed
    forces = np.where(problem.fixed, 0.0, trial.residual)
    for body in np.flatnonzero(fixed & (thrown | in_flight)):
        forces[problem.nodes_of_body(int(body))] = 0.0
    return trial, size_of(forces.ravel()) / force_scale(problem, trial)


def _flow(
    stepper: TimeStepper, unsupported: Bools, in_flight: Bools
) -> tuple[Trial | None, Bools, Outcome]:
    """Return the equilibrium at the end of the flow, or the bodies that have none nearby.

    Friction starts from the initial history in every step: the equilibrium is that of a single load
    step.

    Parameters
    ----------
    stepper : time stepper of the run
    unsupported, in_flight : (b,) flags of bodies, as `_unsupported` and `_in_flight` return them

    Returns
    -------
    The trial or None; (b,) which bodies have no equilibrium nearby; outcome of Newton's method.
    """
    problem, t = stepper.moving, stepper.state.time
    start, state, rate = stepper.state.u, stepper.state, 0.0
    outcome, failed = Outcome(None, 0, (), ""), False
    before = _in_contact(problem, state)
    for _ in range(_MOST_STEPS):
        trial, _ = problem.evaluate(state, state.u, t, None, data=False)
        residual = size_of(trial.residual.ravel()[problem.free]) / force_scale(problem, trial)
        # equilibrium without the term k M: the flow ends
        if residual <= stepper.limits.tolerance:
            stepper.state = problem.accepted(stepper.state, trial, t)
            return trial, np.zeros_like(unsupported), outcome
        if not np.isfinite(residual):
            reason = "the forces in the initial position are not finite"
            return None, np.zeros_like(unsupported), outcome._replace(trial=None, reason=reason)
        # the first k lets the solid move by the range of the laws, or its length without contact
        speed = problem.flow_speed(trial.residual)
        rate = rate or speed / (stepper.length_scale or problem.largest_length)
        problem.flow = (state.u, rate)
        try:
            outcome = solve_step(problem, state, t, state.u, stepper.limits, stepper.workspace)
        finally:
            problem.flow = None
        stepper.iterations += outcome.iterations
        after = outcome.trial
        if after is not None and stepper.collision.tunnels(state.u, after.u):
            after, outcome = None, Outcome(None, outcome.iterations, (), TUNNELLING)
        if after is None or problem.distance(after.u - state.u) * rate > _CONVEX * speed:
            rate, failed = rate * _REDUCTION, True
            continue
        if stepper.activate_pairs(after.u):
            # the step is repeated with the pairs that were activated
            state = stepper.state._replace(u=state.u)
            before = _in_contact(problem, stepper.state)
            continue
        # bodies that moved far, and bodies in flight that came into contact, have no equilibrium
        state = state._replace(u=after.u, closest_points=after.closest_points)
        far = _moved_far(problem, after.u - start, unsupported)
        new = np.flatnonzero(_in_contact(problem, state) & ~before)
        far |= _bodies_of(problem, new) & in_flight
        if far.any():
            return None, far, outcome
        rate, failed = rate if failed else rate * _GROWTH, False
    reason = outcome.reason or "no equilibrium was found"
    return None, unsupported, outcome._replace(trial=None, reason=reason)


def _unsupported(problem: MovingProblem, t: float) -> Bools:
    """Return (b,) which bodies have a rigid motion that no boundary condition prevents."""
    driven = np.asarray(problem.prescribed(t).any(axis=1))
    unsupported = np.zeros(len(problem.parts), dtype=bool)
    for body in range(unsupported.size):
        # rigid translations and rotations, normalised to the size of the body [m]: the body is
        # supported if their components at fixed unknowns are linearly independent
        nodes = problem.nodes_of_body(body)
        lever = problem.points[nodes] - problem.points[nodes].mean(axis=0)
        modes = []
        for a in range(problem.dim):
            modes.append(np.zeros_like(problem.points))
            modes[-1][nodes, a] = np.abs(lever).max()
            for b in range(a):
                modes.append(np.zeros_like(problem.points))
                modes[-1][nodes, a], modes[-1][nodes, b] = lever[:, b], -lever[:, a]
        fixed = np.stack([problem.unknowns.values(mode)[problem.fixed] for mode in modes])
        rank = np.linalg.matrix_rank(fixed, rtol=_SINGULAR) if fixed.size else 0
        unsupported[body] = rank < len(modes) and not driven[nodes].any()
    return unsupported


def _in_flight(problem: MovingProblem, state: State, unsupported: Bools) -> Bools:
    """Return (b,) which unsupported bodies have no chain of springs and contacts to a support."""
    springs = [c for c in problem.conditions.by_number.values() if isinstance(c, Spring)]
    in_flight = unsupported.copy()
    in_flight[sorted(bodies_named(springs))] = False
    in_contact = np.flatnonzero(_in_contact(problem, state))
    count = in_flight.size + 1
    while in_flight.sum() < count:
        count = in_flight.sum()
        for i in in_contact:
            sides = _bodies_of(problem, [int(i)])
            if problem.passes[i].partner.rigid or not in_flight[sides].all():
                in_flight[sides] = False
    return in_flight


def _in_contact(problem: MovingProblem, state: State) -> Bools:
    """Return (passes,) which boundaries are in contact, within the resolution of the mesh."""
    x, in_contact = problem.positions(state.u), np.zeros(len(problem.passes), dtype=bool)
    for i, (p, points) in enumerate(zip(problem.passes, state.closest_points, strict=True)):
        gaps = p.gaps(x, p.project(x, points))
        neighbours = 3 ** (problem.dim - 1) * p.own.areas.shape[1]
        gaps = np.sort(gaps[np.isfinite(gaps)])[:neighbours]
        if gaps.size:
            smallest = gaps[0] - _MESH_ERROR * (gaps[-1] - gaps[0])
            in_contact[i] = smallest < p.contact.adhesion.gap_max
    return in_contact


def _bodies_of(problem: MovingProblem, passes: Iterable[int]) -> Bools:
    """Return (b,) which bodies these passes belong to."""
    bodies = np.zeros(len(problem.parts), dtype=bool)
    for i in passes:
        contact = problem.assembled.pairs[problem.contact_of_pass[i]]
        bodies[contact.boundary.body] = True
        if isinstance(contact.partner, Boundary):
            bodies[contact.partner.body] = True
    return bodies


def _moved_far(problem: MovingProblem, displacements: Floats, unsupported: Bools) -> Bools:
    """Return (b,) which unsupported bodies have moved farther than half of their length."""
    far, displacements = (np.zeros_like(unsupported), problem.unknowns.displacements(displacements))
    for body in np.flatnonzero(unsupported):
        nodes = problem.nodes_of_body(int(body))
        length = np.ptp(problem.points[nodes], axis=0).max()
        far[body] = np.abs(displacements[nodes]).max() > _NEARBY * length
    return far
