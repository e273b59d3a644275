"""Theta steps with set-valued friction: a primal-dual active set method.

The slip rates solve  A w + mu N Sgn(w) contains q,  with the tridiagonal M-matrix

    A = M / (theta h) + B,    B = C + theta h (K + K_plate),    q = F + M u / (theta h),

u the slip rate before the step and F all forces but friction (derived in `step_kernels`). The
method starts from the modes of the last step, solves the linear system with w = 0 in stick, and
corrects the modes that violate complementarity. It is the semismooth Newton method of this
inclusion (Hintermueller, Ito, Kunisch 2002). Weakening friction adds its slope to A. If the
iteration does not end, modes are corrected in two nested rounds: the inner one between stick and
slip+, the outer one between stick and slip-. Each round is monotone because A is an M-matrix, so
that it cannot cycle (Bokanowski, Maroso, Zidani 2009). `theta.integrator` and
`blocks.theta_kernels` call these kernels. Arrays of masses are rows of `f` and `m` (`state`):
`system.solution` is w, `trial.force` q, `trial.friction` the friction force [N], `trial.hold` the
bound of stick [N], and in slip friction is resistance + slope |w|. p is the `Problem`, `now` the
`Progress`, `pull` the load at theta [N]; slip+ and slip- are the modes 1 and -1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.active_set_kernels import (
    LARGEST,
    cross_zero,
    farthest_plate,
    refactorise,
    resolve_around,
    slack_of,
    substitute_and_correct,
)
from stiction.chains.theta.state import (
    MASS,
    Events,
    Problem,
    Progress,
    Saved,
    Work,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.chains.theta.step_kernels import (
    ALL_STUCK,
    DONE,
    EVENTS_FULL,
    NOT_FINITE,
    PAUSE,
    begin_step,
    commit_states,
    forces,
    jump_states,
    mu_of,
    record_unconverged,
    save_samples,
    save_step_start,
    slope_of,
    time_after,
)
from stiction.chains.theta.unchanged_kernels import FEW, steps_with_unchanged_modes
from stiction.chains.theta.update_kernels import update_state
from stiction.laws.law_kernels import law_value
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import factorise, solve_factored, system_of

__all__ = ["advance_exact", "advance_weakening"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]

# active set iterations before the nested rounds; far above the usual number of 1 to 2
_PLAIN_ROUNDS = 30
# velocity weakening lowers a row sum of A at most to this fraction, so that A stays an M-matrix
_LEAST_PIVOT = 0.1


@kernel
def advance_exact(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with constant friction in slip; return why it stops.

    The return codes are DONE to NOT_FINITE of `step_kernels`.
    """
    segments, sines, f, m, lists, law, progress = work
    now = progress[0]
    room = events.first + events.changes.shape[0] - p.n
    n, far = p.n, farthest_plate(p)
    # factorise once; later steps refactorise only around mode changes
    prepare(p, f, m)
    made = 0
    while made < steps:
        # short chains: many steps in one call while no mode changes
        if n <= FEW:
            made += steps_with_unchanged_modes(p, segments, sines, f, m, now, steps - made)
            if made >= steps:
                break
        made += 1
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        segment, solves, noted = now.piece, now.solves, now.events
        pull = now.load
        if not p.steady:
            pull = begin_step(p, segments, sines, now)
        # semismooth Newton: solve, test all modes, and solve again around the corrected ones
        unchanged, count, most, size = substitute_and_correct(p, f, m, lists, pull, now.step)
        now.solves += most
        for _ in range(_PLAIN_ROUNDS):
            if count == 0:
                break
            count, part = resolve_around(n, f, m, lists, pull, far, count, 0, n)
            now.solves += 1
            size += part
        else:
            decide_in_nested_rounds(p, f, m, now, pull)
            size = slip_squared(n, f)
        now.most_solves = max(now.most_solves, now.solves - solves)
        if not size < LARGEST:
            return NOT_FINITE
        # a jump in the law: decide masses whose velocity passes zero within the step
        crossed = cross_zero(n, f, m, lists, p.theta) if p.jump else 0
        unchanged = unchanged and crossed == 0
        due = now.save_at <= time_after(p, now.step)
        if due:
            save_step_start(p, f, law, now)
        changed = update_state(p, f, m, now, lists, events, pull, unchanged, crossed)
        if crossed > 0:
            refactorise(n, f, m, lists, crossed)
        if changed and p.jump:
            bound_changed(f, m, events, noted, now.events)
        if due:
            save_samples(p, f, m, law, now, saved)
        # all masses stick: the integrator tests whether they stick for good
        if now.slipping == 0 and (changed or segment != now.piece):
            return ALL_STUCK
    return PAUSE


@kernel
def advance_weakening(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with friction that depends on slip rate or states.

    Return the code of the reason to stop, DONE to NOT_FINITE of `step_kernels`.
    """
    segments, sines, f, m, lists, law, progress = work
    now = progress[0]
    room = events.first + events.changes.shape[0] - p.n
    prepare(p, f, m)
    for _ in range(steps):
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        segment, solves, noted = now.piece, now.solves, now.events
        pull = now.load
        if not p.steady:
            pull = begin_step(p, segments, sines, now)
        # q = F + M u / (theta h)
        forces(p, f, now.step, pull)
        add_inertia(p.n, f)
        # bounds of stick at the contact states after this step
        if p.n_state > 0:
            bound_in_state(p, f)
        if p.jump:
            write_stick_bounds(p, f, m)
        # modes and mu(w) together
        newton_active_set(p, f, m, now, pull)
        now.most_solves = max(now.most_solves, now.solves - solves)
        if not slip_squared(p.n, f) < LARGEST:
            return NOT_FINITE
        crossed = cross_zero(p.n, f, m, lists, p.theta)
        due = now.save_at <= time_after(p, now.step)
        if due:
            save_step_start(p, f, law, now)
        if p.n_state > 0:
            commit_states(p, f, now)
        changed = update_state(p, f, m, now, lists, events, pull, False, crossed)
        if changed and p.event_address != 0:
            jump_states(p, events, noted, now.events)
        if due:
            save_samples(p, f, m, law, now, saved)
        if now.slipping == 0 and (changed or segment != now.piece):
            return ALL_STUCK
    return PAUSE


@kernel
def add_inertia(n: int, f: Floats) -> None:
    """Add the inertial terms m u / (theta h) to the forces, u the slip rate before the step."""
    masses, motion, trial = masses_of(f), motion_of(f), trial_of(f)
    for i in range(n):
        trial.force[i] += masses.inertia[i] * motion.slip_rate[i]


@kernel
def slip_squared(n: int, f: Floats) -> float:
    """Return the sum of squared slip rates, which is large or not finite after overflow."""
    system = system_of(f)
    size = 0.0
    for i in range(n):
        size += system.solution[i] * system.solution[i]
    return size


@kernel
def prepare(p: Problem, f: Floats, m: ModeArray) -> None:
    """Fill the work arrays from the state alone, so that a resumed run gives the same bits."""
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    modes = modes_of(m)
    for i in range(p.n):
        modes.trial[i] = modes.now[i]
        trial.resistance[i] = masses.mu_kinetic[i] * masses.normal_force[i]
        trial.slope[i] = 0.0
        system.excess[i] = masses.pivot[i]
    write_stick_bounds(p, f, m)
    factorise(p.n, f, modes.trial)


@kernel
def write_stick_bounds(p: Problem, f: Floats, m: ModeArray) -> None:
    """Write the bounds of stick in this step: static for stuck masses.

    Under a law with a jump a mass that slips at the start of a step gets its kinetic bound, so that
    the step has one solution. `cross_zero` decides whether it sticks once its velocity passes zero.
    """
    masses, trial, modes = masses_of(f), trial_of(f), modes_of(m)
    for i in range(p.n):
        # static bound mu_s N
        trial.hold[i] = masses.stick_bound[i]
        if p.jump and modes.now[i] != 0:
            trial.hold[i] = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, 0.0)


@kernel
def bound_changed(f: Floats, m: ModeArray, events: Events, first: int, last: int) -> None:
    """Write the bounds of stick, for constant friction, of masses whose mode has changed.

    These are the masses of the events `first` to `last` - 1; see `write_stick_bounds`.
    """
    masses, trial, modes = masses_of(f), trial_of(f), modes_of(m)
    for row in range(first - events.first, last - events.first):
        i = events.changes[row, MASS]
        trial.hold[i] = masses.stick_bound[i] if modes.now[i] == 0 else trial.resistance[i]


@kernel
def solve_modes(p: Problem, f: Floats, m: ModeArray, now: Progress) -> bool:
    """Solve for the slip rates with given modes; return whether all satisfy complementarity.

    Friction on slipping masses follows from the law, on stuck ones from the balance of forces.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    n = p.n
    now.solves += 1
    # right-hand side q - sigma (mu N - slope |w|): the slope of mu is part of the matrix
    for i in range(n):
        system.rhs[i] = trial.force[i] - modes.trial[i] * trial.resistance[i]
    solve_factored(n, f)
    good = True
    before = 0.0
    for i in range(n):
        w, mode = system.solution[i], modes.trial[i]
        if mode == 0:
            # with w_i = 0 the drive is q_i plus the couplings to both neighbours; stick balances it
            after = system.solution[i + 1] if i + 1 < n else 0.0
            drive = trial.force[i] + system.coupling[i] * before + system.coupling[i + 1] * after
            trial.friction[i] = -drive
            good = good and abs(drive) <= trial.hold[i]
        else:
            trial.friction[i] = -mode * (trial.resistance[i] + trial.slope[i] * abs(w))
            good = good and mode * w > 0.0
        before = w
    return good


@kernel
def correct(p: Problem, f: Floats, m: ModeArray, side: int) -> int:
    """Correct the modes that violate complementarity; return the number of corrected modes.

    `side` 0 corrects all, 1 only those between stick and slip+, -1 between stick and slip-.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    count = 0
    for i in range(p.n):
        mode = modes.trial[i]
        # slip: sigma w > 0, otherwise stick
        if mode != 0:
            if mode * system.solution[i] <= 0.0 and side * mode >= 0:
                modes.trial[i] = 0
                count += 1
        # stick: |R| <= bound, otherwise slip in the direction of R
        elif abs(trial.friction[i]) > trial.hold[i] + trial.slack[i]:
            push = 1 if trial.friction[i] < 0.0 else -1
            if side * push >= 0:
                modes.trial[i] = push
                count += 1
    return count


@kernel
def solve_again(p: Problem, f: Floats, m: ModeArray, now: Progress) -> None:
    """Factorise for the corrected modes and solve again; the results are those of `solve_modes`."""
    factorise(p.n, f, modes_of(m).trial)
    solve_modes(p, f, m, now)


@kernel
def decide_in_nested_rounds(
    p: Problem, f: Floats, m: ModeArray, now: Progress, pull: float
) -> None:
    """Decide the modes for constant friction by nested rounds, after the active set iteration."""
    masses, trial = masses_of(f), trial_of(f)
    slack(p, f, pull)
    now.rescues += 1
    decided = rescue(p, f, m, now)
    write_stick_bounds(p, f, m)
    for i in range(p.n):
        trial.resistance[i] = masses.mu_kinetic[i] * masses.normal_force[i]
    if not decided:
        solve_again(p, f, m, now)
        record_unconverged(p, now, 1.0)


@kernel
def slack(p: Problem, f: Floats, pull: float) -> None:
    """Write the rounding error [N] of the force on each mass, within which no bound is exceeded.

    Without it modes at a degenerate threshold could cycle.
    """
    trial = trial_of(f)
    far = farthest_plate(p)
    for i in range(p.n):
        trial.slack[i] = slack_of(p.n, f, i, pull, far)


@kernel
def bound_in_state(p: Problem, f: Floats) -> None:
    """Write the bounds of stick for the contact states that a step in stick leads to."""
    masses, trial = masses_of(f), trial_of(f)
    for i in range(p.n):
        mu_static = law_value(p.static_address, 0.0, p.law_start + i * p.law_step)
        masses.stick_bound[i] = masses.normal_force[i] * mu_static
        trial.hold[i] = masses.stick_bound[i]


@kernel
def newton_active_set(p: Problem, f: Floats, m: ModeArray, now: Progress, pull: float) -> None:
    """Solve for modes and friction together: active set with Newton's method in mu(w)."""
    slack(p, f, pull)
    linearise(p, f, m)
    # each round solves with the present modes and tangents of mu, then corrects both
    for _ in range(_PLAIN_ROUNDS):
        solve_again(p, f, m, now)
        changed = correct(p, f, m, 0)
        off = linearise(p, f, m)
        if changed == 0 and off <= p.tolerance:
            return
    now.rescues += 1
    if not rescue(p, f, m, now):
        record_unconverged(p, now, step_with_frozen_friction(p, f, m, now))


@kernel
def linearise(p: Problem, f: Floats, m: ModeArray) -> float:
    """Write the tangent of mu(|w|) N at the present slip rates to the work arrays.

    Return the largest deviation of the last tangent from the law, over the friction. `friction`
    receives the friction of the law.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    modes = modes_of(m)
    worst = 0.0
    for i in range(p.n):
        mode = modes.trial[i]
        if mode == 0:
            continue
        speed = max(mode * system.solution[i], 0.0)
        # value and slope of mu N at the present slip rate
        friction = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, speed)
        off = abs(friction - (trial.resistance[i] + trial.slope[i] * speed))
        # where friction grows from zero the static bound is zero and no scale
        size = max(trial.hold[i], abs(friction))
        if off > worst * size:
            worst = off / size
        slope = masses.normal_force[i] * slope_of(p, i, speed)
        # limit negative slopes, so that the matrix stays an M-matrix
        trial.slope[i] = max(slope, (_LEAST_PIVOT - 1.0) * masses.pivot[i])
        trial.resistance[i] = friction - trial.slope[i] * speed
        system.excess[i] = masses.pivot[i] + trial.slope[i]
        trial.friction[i] = -mode * friction
    return worst


# ---- nested monotone rounds


@kernel
def rescue(p: Problem, f: Floats, m: ModeArray, now: Progress) -> bool:
    """Decide the modes in nested monotone rounds; return whether they converged.

    Under a law with a jump, a mass that stuck at the start of the step keeps its static bound until
    it slips once; from then on, and for all others, the bound is kinetic. Each round then has one
    solution, and there are at most n rounds. Friction that varies with the slip rate enters by its
    secant from w = 0, which keeps the problem monotone.
    """
    trial, modes = trial_of(f), modes_of(m)
    last = now.solves + p.most
    # start from the modes of the last step, with static bounds
    for i in range(p.n):
        modes.trial[i] = modes.now[i]
        trial.resistance[i] = trial.hold[i]
    while now.solves < last:
        secant(p, f)
        if not nested(p, f, m, now, last):
            return False
        # constant friction is done unless masses that slip now get their kinetic bound; other
        # friction is done when its secants no longer change, and meet the law
        if p.constant:
            if not (p.jump and release(p, f, m)):
                return True
        elif secant(p, f) <= p.tolerance:
            return True
    return False


@kernel
def step_with_frozen_friction(p: Problem, f: Floats, m: ModeArray, now: Progress) -> float:
    """Make the step with the last values of mu; return the deviation from the law.

    The step is not a solution, but friction opposes slip, so that it creates no energy.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    # friction constant at the last mu(|w|), in stick and slip alike: the step has one solution
    for i in range(p.n):
        mu = mu_of(p, masses.mu_kinetic, i, abs(system.solution[i]))
        trial.hold[i] = masses.normal_force[i] * mu
        trial.resistance[i] = trial.hold[i]
        trial.slope[i] = 0.0
        system.excess[i] = masses.pivot[i]
    decided = nested(p, f, m, now, now.solves + p.most)
    # deviation of that friction from the law at the new slip rates; 1 if modes are contradicted
    worst = 0.0 if decided else 1.0
    for i in range(p.n):
        carried = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, abs(system.solution[i]))
        off = abs(carried - trial.resistance[i])
        size = max(masses.stick_bound[i], carried)
        if off > worst * size:
            worst = off / size
    write_stick_bounds(p, f, m)
    return worst


@kernel
def release(p: Problem, f: Floats, m: ModeArray) -> bool:
    """Lower the bound of every slipping mass to its kinetic one; return whether any changed."""
    masses, trial, modes = masses_of(f), trial_of(f), modes_of(m)
    any_released = False
    for i in range(p.n):
        kinetic = masses.mu_kinetic[i] * masses.normal_force[i]
        if modes.trial[i] != 0 and trial.hold[i] > kinetic:
            trial.hold[i] = kinetic
            trial.resistance[i] = kinetic
            any_released = True
    return any_released


@kernel
def secant(p: Problem, f: Floats) -> float:
    """Write the secants of mu N between zero and the present slip rates to the work arrays.

    Return the largest deviation from the law: of the last secants and, where the limit of slopes
    changes them, of the new ones, over the friction.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    worst = 0.0
    if p.constant:
        return worst
    for i in range(p.n):
        speed = abs(system.solution[i])
        # secant of mu N between 0 and |w|; at w = 0 the tangent
        friction = trial.resistance[i]
        if speed > 0.0:
            friction = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, speed)
            slope = (friction - trial.resistance[i]) / speed
        else:
            slope = masses.normal_force[i] * slope_of(p, i, 0.0)
        # limit negative slopes, so that the matrix stays an M-matrix
        slope = max(slope, (_LEAST_PIVOT - 1.0) * masses.pivot[i])
        carried = trial.resistance[i] + slope * speed
        # a slope at its limit may change no more and yet miss the law
        off = max(abs(slope - trial.slope[i]) * speed, abs(friction - carried))
        size = max(trial.hold[i], abs(carried))
        if off > worst * size:
            worst = off / size
        trial.slope[i] = slope
        system.excess[i] = masses.pivot[i] + slope
    return worst


@kernel
def nested(p: Problem, f: Floats, m: ModeArray, now: Progress, last: int) -> bool:
    """Decide the modes for friction that is monotone in slip; false at `last`, the limit of solves.

    Source: Bokanowski, Maroso, Zidani 2009, Howard's algorithm for two obstacles: finite,
    because every round is monotone for an M-matrix.
    Verified by: tests/exact/test_theta_references.py::test_a_cycle_of_the_active_set_is_settled
    """
    # inner round: all changes between stick and slip+; outer: those between stick and slip-
    while now.solves < last:
        while now.solves < last:
            solve_again(p, f, m, now)
            if correct(p, f, m, 1) == 0:
                break
        if correct(p, f, m, -1) == 0:
            return True
    return False
