"""Set-valued friction in one step of the theta scheme: which masses stick, which slip.

The slip solves  A w + friction(w) = q,  A = M / (theta h) + B a tridiagonal M-matrix. A
mode is guessed for every mass (that of the last step), the linear system solved with
stuck rows pinned, and the modes corrected where they contradict the result: the primal-
dual active set method, which is Newton's method for this kinked equation. Weakening
friction adds its slope to A. If that does not end, corrections are made in two nested
rounds, first all between stick and slip+, then those between stick and slip-; each round
is monotone because A is an M-matrix, so it cannot cycle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.active_set_kernels import (
    LARGEST,
    cross_zero,
    refactorise,
    resolve_around,
    slack_of,
    substitute_and_correct,
)
from stiction.chains.theta.state import (
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
    DONE,
    EVENTS_FULL,
    NOT_FINITE,
    PAUSE,
    REST,
    begin_step,
    forces,
    jump_states,
    keep_old,
    mu_of,
    note_miss,
    remember,
    save_rows,
    slope_of,
    time_after,
)
from stiction.chains.theta.unchanged_kernels import FEW, quiet_steps
from stiction.chains.theta.update_kernels import move_on
from stiction.laws.law_kernels import law_value
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import factorise, solve_factored, system_of

__all__ = ["advance_exact", "advance_weakening"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# iterations of the active set before the nested iteration takes over; far above any number seen
_PLAIN_ROUNDS = 30
# how far a falling mu(v) may lower a pivot: beyond the step limit A stays an M-matrix
_LEAST_PIVOT = 0.1


@kernel
def advance_exact(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with constant kinetic friction; return why it stops."""
    pieces, sines, f, m, lists, law, progress = work
    now = progress[0]
    room = events.first + events.marks.shape[0] - p.n
    n, far = p.n, abs(p.plate_speed * p.t_end)
    prepare(p, f, m)
    made = 0
    while made < steps:
        if n <= FEW:
            made += quiet_steps(p, pieces, sines, f, m, now, steps - made)
            if made >= steps:
                break
        made += 1
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        piece, solves, noted = now.piece, now.solves, now.events
        pull = now.load
        if not p.steady:
            pull = begin_step(p, pieces, sines, now)
        held, count, most, size = substitute_and_correct(p, f, m, lists, pull, now.step)
        now.solves += most
        for _ in range(_PLAIN_ROUNDS):
            if count == 0:
                break
            count, part = resolve_around(n, f, m, lists, pull, far, count, 0, n)
            now.solves += 1
            size += part
        else:
            settle_slowly(p, f, m, now, pull)
            size = slip_squared(n, f)
        now.most_solves = max(now.most_solves, now.solves - solves)
        if not size < LARGEST:
            return NOT_FINITE
        crossed = cross_zero(n, f, m, lists, p.theta) if p.jump else 0
        held = held and crossed == 0
        due = now.save_at <= time_after(p, now.step)
        if due:
            keep_old(p, f, law, now)
        changed = move_on(p, f, m, now, lists, events, pull, held, crossed)
        if crossed > 0:
            refactorise(n, f, m, lists, crossed)
        if changed and p.jump:
            hold_changed(f, m, events, noted, now.events)
        if due:
            save_rows(p, f, m, law, now, saved)
        if now.slipping == 0 and (changed or piece != now.piece):
            return REST
    return PAUSE


@kernel
def advance_weakening(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with friction that varies; return the reason to stop."""
    pieces, sines, f, m, lists, law, progress = work
    now = progress[0]
    room = events.first + events.marks.shape[0] - p.n
    prepare(p, f, m)
    for _ in range(steps):
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        piece, solves, noted = now.piece, now.solves, now.events
        pull = now.load
        if not p.steady:
            pull = begin_step(p, pieces, sines, now)
        forces(p, f, now.step, pull)
        add_inertia(p.n, f)
        if p.n_state > 0:
            hold_in_state(p, f)
        if p.jump:
            hold(p, f, m)
        settle_weakening(p, f, m, now, pull)
        now.most_solves = max(now.most_solves, now.solves - solves)
        if not slip_squared(p.n, f) < LARGEST:
            return NOT_FINITE
        crossed = cross_zero(p.n, f, m, lists, p.theta)
        due = now.save_at <= time_after(p, now.step)
        if due:
            keep_old(p, f, law, now)
        if p.n_state > 0:
            remember(p, f, now)
        changed = move_on(p, f, m, now, lists, events, pull, False, crossed)
        if changed and p.event_address != 0:
            jump_states(p, events, noted, now.events)
        if due:
            save_rows(p, f, m, law, now, saved)
        if now.slipping == 0 and (changed or piece != now.piece):
            return REST
    return PAUSE


@kernel
def add_inertia(n: int, f: Floats) -> None:
    """Add to the forces what keeps the masses going."""
    masses, motion, trial = masses_of(f), motion_of(f), trial_of(f)
    for i in range(n):
        trial.force[i] += masses.inertia[i] * motion.slip_rate[i]


@kernel
def slip_squared(n: int, f: Floats) -> float:
    """Return the sum of squared slips: not finite, or large, where there is no motion."""
    system = system_of(f)
    size = 0.0
    for i in range(n):
        size += system.solution[i] * system.solution[i]
    return size


@kernel
def prepare(p: Problem, f: Floats, m: Marks) -> None:
    """Fill the work space from the state alone, so that a resumed run goes on the same."""
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    modes = modes_of(m)
    for i in range(p.n):
        modes.trial[i] = modes.now[i]
        trial.resistance[i] = masses.mu_kinetic[i] * masses.normal_force[i]
        trial.slope[i] = 0.0
        system.excess[i] = masses.pivot[i]
    hold(p, f, m)
    factorise(p.n, f, modes.trial)


@kernel
def hold(p: Problem, f: Floats, m: Marks) -> None:
    """Write what friction can hold in this step: its static bound where a mass was at rest.

    With a jump in the law a mass that moves at the start of a step is held by its friction in
    slip and no more, so that the step has one solution; whether it sticks after its velocity
    has passed zero is for `cross_zero` to say.
    """
    masses, trial, modes = masses_of(f), trial_of(f), modes_of(m)
    for i in range(p.n):
        trial.hold[i] = masses.stick_bound[i]
        if p.jump and modes.now[i] != 0:
            trial.hold[i] = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, 0.0)


@kernel
def hold_changed(f: Floats, m: Marks, events: Events, first: int, last: int) -> None:
    """Do what `hold` does for constant friction, for the masses of events `first` to `last` - 1."""
    masses, trial, modes = masses_of(f), trial_of(f), modes_of(m)
    for row in range(first - events.first, last - events.first):
        i = events.marks[row, 0]
        trial.hold[i] = masses.stick_bound[i] if modes.now[i] == 0 else trial.resistance[i]


@kernel
def solve_modes(p: Problem, f: Floats, m: Marks, now: Progress) -> bool:
    """Solve for the slip with the modes as they are and return whether they fit the result.

    The friction on slipping masses is their law's, on stuck ones what balance asks for.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    n = p.n
    now.solves += 1
    for i in range(n):
        system.rhs[i] = trial.force[i] - modes.trial[i] * trial.resistance[i]
    solve_factored(n, f)
    good = True
    before = 0.0
    for i in range(n):
        w, mode = system.solution[i], modes.trial[i]
        if mode == 0:
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
def correct(p: Problem, f: Floats, m: Marks, side: int) -> int:
    """Correct the modes that contradict the last solve and return how many.

    `side` 0 corrects all, 1 only those between stick and slip+, -1 between stick and slip-.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    count = 0
    for i in range(p.n):
        mode = modes.trial[i]
        if mode != 0:
            if mode * system.solution[i] <= 0.0 and side * mode >= 0:
                modes.trial[i] = 0
                count += 1
        elif abs(trial.friction[i]) > trial.hold[i] + trial.slack[i]:
            push = 1 if trial.friction[i] < 0.0 else -1
            if side * push >= 0:
                modes.trial[i] = push
                count += 1
    return count


@kernel
def again(p: Problem, f: Floats, m: Marks, now: Progress) -> None:
    """Factorise for the corrected modes and solve."""
    factorise(p.n, f, modes_of(m).trial)
    solve_modes(p, f, m, now)


@kernel
def settle_slowly(p: Problem, f: Floats, m: Marks, now: Progress, pull: float) -> None:
    """Find the modes for constant friction where correcting them has not ended."""
    masses, trial = masses_of(f), trial_of(f)
    slack(p, f, pull)
    now.rescues += 1
    settled = rescue(p, f, m, now)
    hold(p, f, m)
    for i in range(p.n):
        trial.resistance[i] = masses.mu_kinetic[i] * masses.normal_force[i]
    if not settled:
        again(p, f, m, now)
        note_miss(p, now, 1.0)


@kernel
def slack(p: Problem, f: Floats, pull: float) -> None:
    """Write what rounding can add to the force on each mass: a tie must not cycle."""
    trial = trial_of(f)
    far = abs(p.plate_speed * p.t_end)
    for i in range(p.n):
        trial.slack[i] = slack_of(p.n, f, i, pull, far)


@kernel
def hold_in_state(p: Problem, f: Floats) -> None:
    """Write what friction can hold in the state that rest through this step leads to."""
    masses, trial = masses_of(f), trial_of(f)
    for i in range(p.n):
        mu_static = law_value(p.static_address, 0.0, p.law_start + i * p.law_step)
        masses.stick_bound[i] = masses.normal_force[i] * mu_static
        trial.hold[i] = masses.stick_bound[i]


@kernel
def settle_weakening(p: Problem, f: Floats, m: Marks, now: Progress, pull: float) -> None:
    """Correct modes and friction together: Newton's method with the slope of mu."""
    slack(p, f, pull)
    linearise(p, f, m)
    for _ in range(_PLAIN_ROUNDS):
        again(p, f, m, now)
        changed = correct(p, f, m, 0)
        off = linearise(p, f, m)
        if changed == 0 and off <= p.tolerance:
            return
    now.rescues += 1
    if not rescue(p, f, m, now):
        note_miss(p, now, freeze(p, f, m, now))


@kernel
def linearise(p: Problem, f: Floats, m: Marks) -> float:
    """Put the tangent of mu(|w|) N at the present slip into the work space.

    Returns how far the last tangent was from the law, over what friction carries, and leaves
    the friction of the law itself in `friction`.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    modes = modes_of(m)
    worst = 0.0
    for i in range(p.n):
        mode = modes.trial[i]
        if mode == 0:
            continue
        speed = max(mode * system.solution[i], 0.0)
        friction = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, speed)
        off = abs(friction - (trial.resistance[i] + trial.slope[i] * speed))
        # friction that grows from nothing has no static bound to be measured by
        size = max(trial.hold[i], abs(friction))
        if off > worst * size:
            worst = off / size
        slope = masses.normal_force[i] * slope_of(p, i, speed)
        trial.slope[i] = max(slope, (_LEAST_PIVOT - 1.0) * masses.pivot[i])
        trial.resistance[i] = friction - trial.slope[i] * speed
        system.excess[i] = masses.pivot[i] + trial.slope[i]
        trial.friction[i] = -mode * friction
    return worst


# ---- when the active set does not end


@kernel
def rescue(p: Problem, f: Floats, m: Marks, now: Progress) -> bool:
    """Settle the modes in nested monotone rounds; return whether they settled.

    With a jump in the law, a mass that stuck at the start of the step is held by its static
    bound until it slips once; from then on, and for all others, the friction of slip is the
    bound too. So each round has one answer, and there are at most n rounds. Friction that
    varies with speed enters by its secant from rest, which keeps the problem monotone.
    """
    trial, modes = trial_of(f), modes_of(m)
    last = now.solves + p.most
    for i in range(p.n):
        modes.trial[i] = modes.now[i]
        trial.resistance[i] = trial.hold[i]
    while now.solves < last:
        secant(p, f)
        if not nested(p, f, m, now, last):
            return False
        if p.constant:
            if not (p.jump and let_go(p, f, m)):
                return True
        elif secant(p, f) <= p.tolerance:
            return True
    return False


@kernel
def freeze(p: Problem, f: Floats, m: Marks, now: Progress) -> float:
    """Make the step with mu as it last was, and return by how much the law differs.

    This is no solution, but friction resists every slip, so no energy comes from nowhere.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    for i in range(p.n):
        mu = mu_of(p, masses.mu_kinetic, i, abs(system.solution[i]))
        trial.hold[i] = masses.normal_force[i] * mu
        trial.resistance[i] = trial.hold[i]
        trial.slope[i] = 0.0
        system.excess[i] = masses.pivot[i]
    nested(p, f, m, now, now.solves + p.most)
    worst = 0.0
    for i in range(p.n):
        carried = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, abs(system.solution[i]))
        off = abs(carried - trial.resistance[i])
        size = max(masses.stick_bound[i], carried)
        if off > worst * size:
            worst = off / size
    hold(p, f, m)
    return worst


@kernel
def let_go(p: Problem, f: Floats, m: Marks) -> bool:
    """Lower the bound of every mass that slips to its kinetic one; return whether any did."""
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
    """Put the secants of mu N between rest and the present slip into the work space.

    Returns by how much the friction at the present slip changed, over what friction carries.
    """
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    worst = 0.0
    if p.constant:
        return worst
    for i in range(p.n):
        speed = abs(system.solution[i])
        if speed > 0.0:
            friction = masses.normal_force[i] * mu_of(p, masses.mu_kinetic, i, speed)
            slope = (friction - trial.resistance[i]) / speed
        else:
            slope = masses.normal_force[i] * slope_of(p, i, 0.0)
        slope = max(slope, (_LEAST_PIVOT - 1.0) * masses.pivot[i])
        off = abs(slope - trial.slope[i]) * speed
        size = max(trial.hold[i], abs(trial.resistance[i] + slope * speed))
        if off > worst * size:
            worst = off / size
        trial.slope[i] = slope
        system.excess[i] = masses.pivot[i] + slope
    return worst


@kernel
def nested(p: Problem, f: Floats, m: Marks, now: Progress, last: int) -> bool:
    """Find the modes for friction that is monotone in slip; false when the solves run out.

    Source: Bokanowski, Maroso, Zidani 2009, Howard's algorithm for two obstacles: finite,
    because every round is monotone for an M-matrix.
    Verified by: tests/exact/test_theta_references.py::test_a_cycle_of_the_active_set_is_settled
    """
    while now.solves < last:
        while now.solves < last:
            again(p, f, m, now)
            if correct(p, f, m, 1) == 0:
                break
        if correct(p, f, m, -1) == 0:
            return True
    return False
