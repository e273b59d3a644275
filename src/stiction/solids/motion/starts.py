"""Equilibrium at the start, by an implicit gradient flow whose metric is the mass matrix.

From the given places u_0 on, and with ever longer steps 1/k_n of the flow, Newton's method solves

    f(u_n) + k_n M (u_n - u_{n-1}) = 0,

f being the residual of equilibrium: pseudo-transient continuation. As k_n falls the steps become
those of Newton's method for f = 0. Where the tangent of f is singular, k_n M still holds the
bodies: they keep their place along directions in which no force acts, and where nothing resists a
force yet they move until something does. Neither M nor f depends on the frame, so that the
equilibrium does not either.
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
    from stiction.solids.equilibria.problem import State, Trial
    from stiction.solids.motion.problem import MovingProblem
    from stiction.solids.motion.stepper import Motion

__all__ = ["find_start"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# factors of k after a step of the flow, and after one that failed
_LONGER, _SHORTER = 0.1, 10.0
# steps of the flow
_MOST = 100
# no step moves farther than its force drives it where the energy is convex; beyond twice that way
# Newton's method has jumped to another equilibrium
_CONVEX = 2.0
# part of its own length by which a body without support may move to its equilibrium
_NEAR = 0.5
# part of the rise of a boundary, over the elements beside the nearest point, by which a mesh may
# miss a contact: chords lie an eighth of it off their circle
_MISSED = 0.2
# singular values of rigid motions, over the largest, that are rounding
_SINGULAR = 1e-9


def find_start(march: Motion, given: Floats | None) -> tuple[Trial | None, float]:
    """Return the state in which a motion starts, and the forces out of equilibrium there.

    Three kinds of bodies start where they are: those that are thrown and that no condition names;
    those in flight on which loads have a resultant; those that contact alone supports and that have
    no equilibrium nearby. The others start in equilibrium with them. Forces on bodies of the third
    kind are returned.

    Parameters
    ----------
    given : (b, d) velocities of the bodies [m/s]; None for rest

    Returns
    -------
    The state, None where bodies that conditions support have no equilibrium; and the norm of the
    forces out of equilibrium over that of the forces in equilibrium [1].

    Source: Kelley, Keyes 1998 (pseudo-transient continuation).
    Verified by: tests/unit/solids/motion/test_starts.py::test_a_disc_rests_in_every_frame
    """
    problem, state = march.moving, march.state
    thrown = np.zeros(len(problem.parts), dtype=bool)
    if given is not None:
        thrown[:] = given.any(axis=1)
        thrown[sorted(bodies_named(problem.holding.conditions.values()))] = False
    loose = _loose(problem, state.time)
    flying = _flying(problem, state, loose)
    still = thrown.copy()
    while True:
        with problem.held_still(still):
            trial, astray, outcome = _flow(march, loose & ~still, flying & ~still)
        if trial is not None:
            break
        if not astray.any():
            march.give_up(outcome, state.time)
            return None, 0.0
        still |= astray
    forces = np.where(problem.fixed, 0.0, trial.residual)
    for body in np.flatnonzero(still & (thrown | flying)):
        forces[problem.nodes_of_body(int(body))] = 0.0
    return trial, size_of(forces.ravel()) / force_scale(problem, trial)


def _flow(march: Motion, loose: Bools, flying: Bools) -> tuple[Trial | None, Bools, Outcome]:
    """Return the equilibrium in which the flow ends, or the bodies that have none nearby.

    Friction has the history of the start: the equilibrium is that of one load step.
    """
    problem, t = march.moving, march.state.time
    begin, state, rate = march.state.u, march.state, 0.0
    outcome, failed = Outcome(None, 0, (), ""), False
    touched = _touching(problem, state)
    for _ in range(_MOST):
        trial, _ = problem.evaluate(state, state.u, t, None, data=False)
        left = size_of(trial.residual.ravel()[problem.free]) / force_scale(problem, trial)
        if left <= march.limits.tolerance:
            march.state = problem.accepted(march.state, trial, t)
            return trial, np.zeros_like(loose), outcome
        drift = problem.drift(trial.residual)
        rate = rate or drift / (march.range or problem.largest_length)
        problem.flow = (state.u, rate)
        try:
            outcome = solve_step(problem, state, t, state.u, march.limits, march.space)
        finally:
            problem.flow = None
        march.iterations += outcome.iterations
        after = outcome.trial
        if after is not None and march.ways.tunnels(state.u, after.u):
            after, outcome = None, Outcome(None, outcome.iterations, (), TUNNELLING)
        if after is None or problem.distance(after.u - state.u) * rate > _CONVEX * drift:
            rate, failed = rate * _SHORTER, True
            continue
        if march.meets(after.u):
            # the step is taken again with the pairs that joined
            state = march.state._replace(u=state.u)
            touched = _touching(problem, march.state)
            continue
        state = state._replace(u=after.u, founds=after.founds)
        astray = _far(problem, after.u - begin, loose)
        astray |= _sides(problem, np.flatnonzero(_touching(problem, state) & ~touched)) & flying
        if astray.any():
            return None, astray, outcome
        rate, failed = rate if failed else rate * _LONGER, False
    reason = outcome.reason or "no equilibrium was found"
    return None, loose, outcome._replace(trial=None, reason=reason)


def _loose(problem: MovingProblem, t: float) -> Bools:
    """Return which bodies could move as if rigid, for all that conditions prescribe."""
    moved = np.asarray(problem.prescribed(t).any(axis=1))
    found = np.zeros(len(problem.parts), dtype=bool)
    for body in range(found.size):
        nodes = problem.nodes_of_body(body)
        away = problem.points[nodes] - problem.points[nodes].mean(axis=0)
        modes = []
        for a in range(problem.dim):
            modes.append(np.zeros_like(problem.points))
            modes[-1][nodes, a] = np.abs(away).max()
            for b in range(a):
                modes.append(np.zeros_like(problem.points))
                modes[-1][nodes, a], modes[-1][nodes, b] = away[:, b], -away[:, a]
        fixed = np.stack([problem.unknowns.values(mode)[problem.fixed] for mode in modes])
        rank = np.linalg.matrix_rank(fixed, rtol=_SINGULAR) if fixed.size else 0
        found[body] = rank < len(modes) and not moved[nodes].any()
    return found


def _flying(problem: MovingProblem, state: State, loose: Bools) -> Bools:
    """Return which loose bodies no chain of springs and contacts connects with a support."""
    springs = [c for c in problem.holding.conditions.values() if isinstance(c, Spring)]
    flying = loose.copy()
    flying[sorted(bodies_named(springs))] = False
    touching = np.flatnonzero(_touching(problem, state))
    before = flying.size + 1
    while flying.sum() < before:
        before = flying.sum()
        for i in touching:
            sides = _sides(problem, [int(i)])
            if problem.passes[i].partner.rigid or not flying[sides].all():
                flying[sides] = False
    return flying


def _touching(problem: MovingProblem, state: State) -> Bools:
    """Return in which passes the boundary is in contact, as far as the mesh resolves it."""
    x, found = problem.places(state.u), np.zeros(len(problem.passes), dtype=bool)
    for i, (p, at) in enumerate(zip(problem.passes, state.founds, strict=True)):
        gaps = p.gaps(x, p.project(x, at))
        near = 3 ** (problem.dim - 1) * p.own.areas.shape[1]
        gaps = np.sort(gaps[np.isfinite(gaps)])[:near]
        if gaps.size:
            least = gaps[0] - _MISSED * (gaps[-1] - gaps[0])
            found[i] = least < p.contact.adhesion.gap_max
    return found


def _sides(problem: MovingProblem, passes: Iterable[int]) -> Bools:
    """Return the bodies whose boundaries these passes concern."""
    found = np.zeros(len(problem.parts), dtype=bool)
    for i in passes:
        contact = problem.assembled.pairs[problem.contact_of_pass[i]]
        found[contact.boundary.body] = True
        if isinstance(contact.partner, Boundary):
            found[contact.partner.body] = True
    return found


def _far(problem: MovingProblem, moved: Floats, loose: Bools) -> Bools:
    """Return which loose bodies have moved farther than a part of their own length."""
    found, moved = np.zeros_like(loose), problem.unknowns.displacements(moved)
    for body in np.flatnonzero(loose):
        nodes = problem.nodes_of_body(int(body))
        length = np.ptp(problem.points[nodes], axis=0).max()
        found[body] = np.abs(moved[nodes]).max() > _NEAR * length
    return found
