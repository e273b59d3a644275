"""Runs of chains by theta schemes, with the audit of their steps.

A step of length h with theta > 0 solves for the slip rate w at t + theta h

    A w + friction(w) contains q,   A = M / (theta h) + C + theta h (K + K_plate),

with friction = mu N Sgn(w), or mu N phi(w / eps) with the smoothed sign phi of width eps
(`step_kernels` derives A and q). `ThetaStepper` calls `solve_exactly` (set-valued friction),
`RegularizedTheta` calls `solve_smoothed` (regularised). `integrator.ThetaIntegrator` makes the
steps. The checks read its results: `now`, the extremes over all steps (`state.Progress`), and
`saved`, the samples (m, n) at saved times (`state.Saved`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.audit import (
    mode_line,
    rounding_of_steps,
    step_lines,
    stick_line,
    stick_ratios,
)
from stiction.chains.model import Chain
from stiction.chains.outcome import build_run
from stiction.chains.theta.integrator import ThetaIntegrator
from stiction.chains.theta.setup import Scheme
from stiction.core.audit import Check, Kind
from stiction.core.run import Request, Run
from stiction.laws.friction import with_stick

if TYPE_CHECKING:
    from stiction.chains.methods import RegularizedTheta, ThetaStepper

__all__ = ["scheme_of", "solve_exactly", "solve_smoothed"]

Floats = npt.NDArray[np.float64]

# instead of a width of zero
_TINY = 1e-200
# chosen: above the rounding that adds up over the steps of a run
_STATE_ROUNDING = 1e-12
# largest number of entries, samples times masses, that are checked at once
_BLOCK = 1_000_000
# slip speeds [m/s] at which the steepest decrease of a user's law is sampled; chosen: far below and
# above the speeds of experiments
_SPEEDS = np.concatenate([[0.0], np.geomspace(1e-9, 1e3, 241)])


def solve_exactly(chain: Chain, method: ThetaStepper, request: Request) -> Run:
    """Return the run of `chain` with set-valued friction, solved exactly in every step."""
    if not chain.law.sticks:
        from stiction.chains.regularised.run import solve_in_steps

        return solve_in_steps(chain, method, request)
    integrator = ThetaIntegrator(scheme_of(method), chain, request)
    integrator.run()
    checks = [*_common_checks(integrator), *_exact_checks(integrator)]
    return build_run(chain, method, integrator.history(checks))


def scheme_of(method: ThetaStepper) -> Scheme:
    """Return the parameters of the scheme that kernels need."""
    return Scheme(
        name=type(method).__name__,
        step=method.step,
        theta=method.theta,
        most_iterations=method.max_solves,
        tolerance=1e-13,  # chosen: a few hundred roundings
        max_steps=method.max_steps,
        max_events=method.max_events,
    )


def solve_smoothed(chain: Chain, method: RegularizedTheta, request: Request) -> Run:
    """Return the run of `chain` with regularised friction."""
    with_stick(chain.law, type(method).__name__)
    scheme = Scheme(
        name=type(method).__name__,
        step=method.step,
        theta=method.theta,
        most_iterations=method.max_iterations,
        tolerance=method.tolerance,
        max_steps=method.max_steps,
        max_events=method.max_events,
        shape=method.shape,
        smoothing=method.smoothing,
        line_search=method.line_search,
        creep=method.onset_at * method.smoothing,
    )
    integrator = ThetaIntegrator(scheme, chain, request)
    integrator.run()
    checks = [*_common_checks(integrator), *_smooth_checks(integrator, method)]
    return build_run(chain, method, integrator.history(checks))


# ---- the audit


def _common_checks(integrator: ThetaIntegrator) -> Iterator[Check]:
    """Yield audit lines of both schemes: energy and convergence of steps, and their length."""
    now = integrator.now
    missed = int(now.misses)
    for line in step_lines(
        now.worst,
        missed,
        worst_time=float(now.worst_time),
        missed_time=float(now.first_miss) if missed else None,
        residual=f", worst residual {float(now.worst_miss):.2g}" if missed else "",
    ):
        yield line.of_run()
    # largest decrease of friction with slip speed over the mass, times theta [1/s]
    chain, h, theta = integrator.chain, integrator.problem.h, integrator.scheme.theta
    rate = float(np.max(theta * _steepest_fall(chain) / chain.masses))
    if chain.law.states:
        rate = float(now.steepest) / h
    # the step is unique while M / (theta h) exceeds the steepest decrease of friction
    if rate > np.finfo(float).tiny:
        yield Check(
            "step_below_weakening_limit",
            h * rate < 1.0,
            h,
            1.0 / rate,
            None,
            "length of a step [s]; beyond the limit a step has no unique solution under this "
            "weakening friction",
        )
    yield from _state_checks(integrator)


def _state_checks(integrator: ThetaIntegrator) -> Iterator[Check]:
    """Return audit lines of states of the law that left their range.

    The excess is over the width of the range; without a finite width it is over the largest value.
    """
    samples = int(integrator.now.saved)
    for j, state in enumerate(integrator.chain.law.states):
        values = integrator.saved.state[:samples, :, j]
        excess = np.maximum(state.low - values, values - state.high).max(axis=1)
        width = state.high - state.low
        width = width if np.isfinite(width) else max(float(np.max(np.abs(values))), _TINY)
        worst = float(excess.max()) / width
        yield Check(
            "state_in_range",
            worst <= _STATE_ROUNDING,
            max(worst, 0.0),
            _STATE_ROUNDING,
            float(integrator.saved.time[int(excess.argmax())]) if worst > 0.0 else None,
            f"largest distance of {state.name} from the range that its law admits, over the width "
            "of that range, at the saved times; a shorter step keeps it inside",
        )


def _exact_checks(integrator: ThetaIntegrator) -> Iterator[Check]:
    """Yield audit lines of set-valued friction: bounds in stick, and directions of slip."""
    chain = integrator.chain
    samples = int(integrator.now.saved)
    worst, time = 0.0, None
    block = max(1, _BLOCK // chain.n_mass)
    for first in range(0, samples, block):
        part = slice(first, min(first + block, samples))
        # the bound of a law with states differs in each step; it is the last column of the states
        bound = integrator.saved.state[part, :, -1] if chain.law.states else chain.stick_bound
        allowed = bound + _rounding(integrator, part)[:, None]
        ratio = stick_ratios(integrator.saved.friction[part], integrator.saved.mode[part], allowed)
        here = ratio.max(axis=1)
        if here.max() > worst:
            worst, time = float(here.max()), float(integrator.saved.time[first + here.argmax()])
    yield stick_line(worst, time).of_run()
    # slip rate against the direction of its mode
    against, at = float(integrator.now.against), float(integrator.now.against_time)
    largest = np.max(np.abs(integrator.saved.v[:samples] - chain.belt_speed))
    yield mode_line(against, largest, at if against > 0.0 else None).of_run()


def _rounding(integrator: ThetaIntegrator, part: slice) -> Floats:
    """Return the rounding error of a force at each saved time [N]."""
    chain, saved = integrator.chain, integrator.saved
    time, inertia = saved.time[part], float(np.max(integrator.work.masses.inertia[: chain.n_mass]))
    reach = np.max(np.abs(saved.x[part]), axis=1) + np.abs(chain.plate_speed * time)
    speed = np.max(np.abs(saved.v[part] - chain.belt_speed), axis=1)
    springs = np.max(chain.link_stiffness) + np.max(chain.plate_springs)
    return rounding_of_steps(springs, reach, np.abs(chain.load.at(time)), inertia, speed)


def _smooth_checks(integrator: ThetaIntegrator, method: RegularizedTheta) -> Iterator[Check]:
    """Yield audit lines of regularised friction: static friction lost, and stability."""
    chain, h, theta = integrator.chain, integrator.problem.h, method.theta
    table = chain.friction
    if chain.law.has_jump:
        lost = float(np.max(table.mu_static - table.mu_kinetic))
        note = "static minus kinetic coefficient: a smoothed law has no static friction"
        yield Check(
            "static_friction_represented", lost == 0.0, lost, 0.0, None, note, kind=Kind.CONDITION
        )
    if theta >= 0.5:
        return
    steepest = float(method.shape.slope(0.0, method.smoothing))
    # the smoothed sign multiplies the friction of slip: a law with a jump has no more at rest
    carried = chain.normal_forces * table.mu(np.zeros(chain.n_mass))
    rate = float(np.max(carried / chain.masses)) * steepest
    if rate > 0.0:
        # beyond it the factor of slip per step is below -1: (1 - (1 - theta) h r) / (1 + theta h r)
        limit = 2.0 / ((1.0 - 2.0 * theta) * rate)
        note = "length of a step [s]; beyond the limit the scheme chatters about zero slip"
        yield Check("step_resolves_smoothing", h <= limit, h, limit, None, note)
    created, at = float(integrator.now.created), float(integrator.now.created_time)
    note = "energy that the scheme created in all steps [J]; theta >= 1/2 creates none"
    when = at if created > 0.0 else None
    yield Check(
        "scheme_creates_no_energy", created <= 0.0, created, 0.0, when, note, kind=Kind.CONDITION
    )


def _steepest_fall(chain: Chain) -> Floats:
    """Return the steepest decrease of mu N with slip speed of each mass [N s/m]."""
    table, law = chain.friction, chain.law
    if law.constant:
        fall = np.zeros(chain.n_mass)
    elif law.convex:
        fall = (table.mu_static - table.mu_kinetic) / table.v_scale
    else:
        _, slope = table.probed(_SPEEDS)
        fall = np.maximum(-slope.min(axis=1), 0.0)
    return np.asarray(fall * chain.normal_forces)
