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

from stiction.chains.theta.move_kernels import move_on
from stiction.chains.theta.pass_kernels import (
    LARGEST,
    cross_zero,
    mend,
    refactor,
    slack_of,
    there_and_back,
)
from stiction.chains.theta.quiet_kernels import FEW, quiet_steps
from stiction.chains.theta.step_kernels import (
    BOUND,
    DONE,
    EVENTS_FULL,
    HOLD,
    INERTIA,
    LOAD,
    MODE,
    MOST,
    MU_KINETIC,
    N_EVENTS,
    NEW_FORCE,
    NEW_MODE,
    NORMAL,
    NOT_FINITE,
    PAUSE,
    PIECE,
    PIVOT,
    RESCUES,
    RESIST,
    REST,
    SAVE_AT,
    SLACK,
    SLIPPING,
    SLOPE,
    SOLVES,
    STEP,
    Events,
    Problem,
    Q,
    Saved,
    U,
    Work,
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
from stiction.laws.law_kernels import law_value
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import (
    COUPLING,
    EXCESS,
    RHS,
    SOLUTION,
    factorise,
    solve_factored,
)

__all__ = ["advance_exact", "advance_weakening"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# rounds of the active set before the nested rounds take over; far above what it ever needs
_PLAIN_ROUNDS = 30
# how far a falling mu(v) may lower a pivot: beyond the step limit A stays an M-matrix
_LEAST_PIVOT = 0.1


@kernel
def advance_exact(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with friction that is constant in slip; return why not."""
    pieces, sines, f, m, lists, law, clock, counter = work
    room = events.first + events.marks.shape[0] - p.n
    n, far = p.n, abs(p.plate_speed * p.t_end)
    prepare(p, f, m)
    made = 0
    while made < steps:
        if n <= FEW:
            made += quiet_steps(p, pieces, sines, f, m, clock, counter, steps - made)
            if made >= steps:
                break
        made += 1
        if counter[STEP] >= p.n_step:
            return DONE
        if counter[N_EVENTS] > room:
            return EVENTS_FULL
        piece, solves, noted = counter[PIECE], counter[SOLVES], counter[N_EVENTS]
        pull = clock[LOAD]
        if not p.steady:
            pull = begin_step(p, pieces, sines, clock, counter)
        held, count, most, size = there_and_back(p, f, m, lists, pull, counter[STEP])
        counter[SOLVES] += most
        for _ in range(_PLAIN_ROUNDS):
            if count == 0:
                break
            count, part = mend(n, f, m, lists, pull, far, count, 0, n)
            counter[SOLVES] += 1
            size += part
        else:
            settle_slowly(p, f, m, clock, counter, pull)
            size = motion(n, f)
        counter[MOST] = max(counter[MOST], counter[SOLVES] - solves)
        if not size < LARGEST:
            return NOT_FINITE
        crossed = cross_zero(n, f, m, lists, p.theta) if p.jump else 0
        held = held and crossed == 0
        due = clock[SAVE_AT] <= time_after(p, counter[STEP])
        if due:
            keep_old(p, f, law, clock)
        changed = move_on(p, f, m, clock, counter, lists, events, pull, held, crossed)
        if crossed > 0:
            refactor(n, f, m, lists, crossed)
        if changed and p.jump:
            hold_changed(f, m, events, noted, counter[N_EVENTS])
        if due:
            save_rows(p, f, m, law, clock, counter, saved)
        if counter[SLIPPING] == 0 and (changed or piece != counter[PIECE]):
            return REST
    return PAUSE


@kernel
def advance_weakening(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with friction that varies; return why it came back."""
    pieces, sines, f, m, lists, law, clock, counter = work
    room = events.first + events.marks.shape[0] - p.n
    prepare(p, f, m)
    for _ in range(steps):
        if counter[STEP] >= p.n_step:
            return DONE
        if counter[N_EVENTS] > room:
            return EVENTS_FULL
        piece, solves, noted = counter[PIECE], counter[SOLVES], counter[N_EVENTS]
        pull = clock[LOAD]
        if not p.steady:
            pull = begin_step(p, pieces, sines, clock, counter)
        forces(p, f, counter[STEP], pull)
        for i in range(p.n):
            f[Q, i] += f[INERTIA, i] * f[U, i]
        if p.n_state > 0:
            hold_in_state(p, f)
        if p.jump:
            hold(p, f, m)
        settle_weakening(p, f, m, clock, counter, pull)
        counter[MOST] = max(counter[MOST], counter[SOLVES] - solves)
        if not motion(p.n, f) < LARGEST:
            return NOT_FINITE
        crossed = cross_zero(p.n, f, m, lists, p.theta)
        due = clock[SAVE_AT] <= time_after(p, counter[STEP])
        if due:
            keep_old(p, f, law, clock)
        if p.n_state > 0:
            remember(p, f, clock)
        changed = move_on(p, f, m, clock, counter, lists, events, pull, False, crossed)
        if changed and p.event_address != 0:
            jump_states(p, events, noted, counter[N_EVENTS])
        if due:
            save_rows(p, f, m, law, clock, counter, saved)
        if counter[SLIPPING] == 0 and (changed or piece != counter[PIECE]):
            return REST
    return PAUSE


@kernel(borrows=True)
def motion(n: int, f: Floats) -> float:
    """Return the sum of squared slips: not finite, or large, where there is no motion."""
    size = 0.0
    for i in range(n):
        size += f[SOLUTION, i] * f[SOLUTION, i]
    return size


@kernel(borrows=True)
def prepare(p: Problem, f: Floats, m: Marks) -> None:
    """Fill the work space from the state alone, so that a resumed run goes on the same."""
    for i in range(p.n):
        m[NEW_MODE, i] = m[MODE, i]
        f[RESIST, i] = f[MU_KINETIC, i] * f[NORMAL, i]
        f[SLOPE, i] = 0.0
        f[EXCESS, i] = f[PIVOT, i]
    hold(p, f, m)
    factorise(p.n, f, m, NEW_MODE)


@kernel(borrows=True)
def hold(p: Problem, f: Floats, m: Marks) -> None:
    """Write what friction can hold in this step: its static bound where a mass was at rest.

    With a jump in the law a mass that moves at the start of a step is held by its friction in
    slip and no more, so that the step has one solution; whether it sticks after its velocity
    has passed zero is for `cross_zero` to say.
    """
    for i in range(p.n):
        f[HOLD, i] = f[BOUND, i]
        if p.jump and m[MODE, i] != 0:
            f[HOLD, i] = f[NORMAL, i] * mu_of(p, f, i, 0.0)


@kernel(borrows=True)
def hold_changed(f: Floats, m: Marks, events: Events, first: int, last: int) -> None:
    """Do what `hold` does for constant friction, for the masses of events `first` to `last` - 1."""
    for row in range(first - events.first, last - events.first):
        i = events.marks[row, 0]
        f[HOLD, i] = f[BOUND, i] if m[MODE, i] == 0 else f[RESIST, i]


@kernel(borrows=True)
def solve_modes(p: Problem, f: Floats, m: Marks, counter: Ints) -> bool:
    """Solve for the slip with the modes as they are and return whether they fit the result.

    The friction on slipping masses is their law's, on stuck ones what balance asks for.
    """
    n = p.n
    counter[SOLVES] += 1
    for i in range(n):
        f[RHS, i] = f[Q, i] - m[NEW_MODE, i] * f[RESIST, i]
    solve_factored(n, f)
    good = True
    before = 0.0
    for i in range(n):
        w, mode = f[SOLUTION, i], m[NEW_MODE, i]
        if mode == 0:
            after = f[SOLUTION, i + 1] if i + 1 < n else 0.0
            drive = f[Q, i] + f[COUPLING, i] * before + f[COUPLING, i + 1] * after
            f[NEW_FORCE, i] = -drive
            good = good and abs(drive) <= f[HOLD, i]
        else:
            f[NEW_FORCE, i] = -mode * (f[RESIST, i] + f[SLOPE, i] * abs(w))
            good = good and mode * w > 0.0
        before = w
    return good


@kernel(borrows=True)
def correct(p: Problem, f: Floats, m: Marks, side: int) -> int:
    """Correct the modes that contradict the last solve and return how many.

    `side` 0 corrects all, 1 only those between stick and slip+, -1 between stick and slip-.
    """
    count = 0
    for i in range(p.n):
        mode = m[NEW_MODE, i]
        if mode != 0:
            if mode * f[SOLUTION, i] <= 0.0 and side * mode >= 0:
                m[NEW_MODE, i] = 0
                count += 1
        elif abs(f[NEW_FORCE, i]) > f[HOLD, i] + f[SLACK, i]:
            push = 1 if f[NEW_FORCE, i] < 0.0 else -1
            if side * push >= 0:
                m[NEW_MODE, i] = push
                count += 1
    return count


@kernel(borrows=True)
def again(p: Problem, f: Floats, m: Marks, counter: Ints) -> None:
    """Factorise for the corrected modes and solve."""
    factorise(p.n, f, m, NEW_MODE)
    solve_modes(p, f, m, counter)


@kernel(borrows=True)
def settle_slowly(
    p: Problem, f: Floats, m: Marks, clock: Floats, counter: Ints, pull: float
) -> None:
    """Find the modes for constant friction where correcting them has not ended."""
    slack(p, f, pull)
    counter[RESCUES] += 1
    settled = rescue(p, f, m, counter)
    hold(p, f, m)
    for i in range(p.n):
        f[RESIST, i] = f[MU_KINETIC, i] * f[NORMAL, i]
    if not settled:
        again(p, f, m, counter)
        note_miss(p, clock, counter, 1.0)


@kernel(borrows=True)
def slack(p: Problem, f: Floats, pull: float) -> None:
    """Write what rounding can add to the force on each mass: a tie must not cycle."""
    far = abs(p.plate_speed * p.t_end)
    for i in range(p.n):
        f[SLACK, i] = slack_of(p.n, f, i, pull, far)


@kernel(borrows=True)
def hold_in_state(p: Problem, f: Floats) -> None:
    """Write what friction can hold in the state that rest through this step leads to."""
    for i in range(p.n):
        f[BOUND, i] = f[NORMAL, i] * law_value(p.static_address, 0.0, p.law_start + i * p.law_step)
        f[HOLD, i] = f[BOUND, i]


@kernel(borrows=True)
def settle_weakening(
    p: Problem, f: Floats, m: Marks, clock: Floats, counter: Ints, pull: float
) -> None:
    """Correct modes and friction together: Newton's method with the slope of mu."""
    slack(p, f, pull)
    linearise(p, f, m)
    for _ in range(_PLAIN_ROUNDS):
        again(p, f, m, counter)
        changed = correct(p, f, m, 0)
        off = linearise(p, f, m)
        if changed == 0 and off <= p.tolerance:
            return
    counter[RESCUES] += 1
    if not rescue(p, f, m, counter):
        note_miss(p, clock, counter, freeze(p, f, m, counter))


@kernel(borrows=True)
def linearise(p: Problem, f: Floats, m: Marks) -> float:
    """Put the tangent of mu(|w|) N at the present slip into the work space.

    Returns how far the last tangent was from the law, over what friction carries, and leaves
    the friction of the law itself in row NEW_FORCE.
    """
    worst = 0.0
    for i in range(p.n):
        mode = m[NEW_MODE, i]
        if mode == 0:
            continue
        speed = max(mode * f[SOLUTION, i], 0.0)
        friction = f[NORMAL, i] * mu_of(p, f, i, speed)
        off = abs(friction - (f[RESIST, i] + f[SLOPE, i] * speed))
        # friction that grows from nothing has no static bound to be measured by
        size = max(f[HOLD, i], abs(friction))
        if off > worst * size:
            worst = off / size
        slope = f[NORMAL, i] * slope_of(p, i, speed)
        f[SLOPE, i] = max(slope, (_LEAST_PIVOT - 1.0) * f[PIVOT, i])
        f[RESIST, i] = friction - f[SLOPE, i] * speed
        f[EXCESS, i] = f[PIVOT, i] + f[SLOPE, i]
        f[NEW_FORCE, i] = -mode * friction
    return worst


# ---- when the active set does not end


@kernel(borrows=True)
def rescue(p: Problem, f: Floats, m: Marks, counter: Ints) -> bool:
    """Settle the modes in nested monotone rounds; return whether they settled.

    With a jump in the law, a mass that stuck at the start of the step is held by its static
    bound until it slips once; from then on, and for all others, the friction of slip is the
    bound too. So each round has one answer, and there are at most n rounds. Friction that
    varies with speed enters by its secant from rest, which keeps the problem monotone.
    """
    last = counter[SOLVES] + p.most
    for i in range(p.n):
        m[NEW_MODE, i] = m[MODE, i]
        f[RESIST, i] = f[HOLD, i]
    while counter[SOLVES] < last:
        secant(p, f)
        if not nested(p, f, m, counter, last):
            return False
        if p.constant:
            if not (p.jump and let_go(p, f, m)):
                return True
        elif secant(p, f) <= p.tolerance:
            return True
    return False


@kernel(borrows=True)
def freeze(p: Problem, f: Floats, m: Marks, counter: Ints) -> float:
    """Make the step with mu as it last was, and return by how much the law differs.

    This is no solution, but friction resists every slip, so no energy comes from nowhere.
    """
    for i in range(p.n):
        f[HOLD, i] = f[NORMAL, i] * mu_of(p, f, i, abs(f[SOLUTION, i]))
        f[RESIST, i] = f[HOLD, i]
        f[SLOPE, i] = 0.0
        f[EXCESS, i] = f[PIVOT, i]
    nested(p, f, m, counter, counter[SOLVES] + p.most)
    worst = 0.0
    for i in range(p.n):
        carried = f[NORMAL, i] * mu_of(p, f, i, abs(f[SOLUTION, i]))
        off = abs(carried - f[RESIST, i])
        size = max(f[BOUND, i], carried)
        if off > worst * size:
            worst = off / size
    hold(p, f, m)
    return worst


@kernel(borrows=True)
def let_go(p: Problem, f: Floats, m: Marks) -> bool:
    """Lower the bound of every mass that slips to its kinetic one; return whether any did."""
    any_released = False
    for i in range(p.n):
        kinetic = f[MU_KINETIC, i] * f[NORMAL, i]
        if m[NEW_MODE, i] != 0 and f[HOLD, i] > kinetic:
            f[HOLD, i] = kinetic
            f[RESIST, i] = kinetic
            any_released = True
    return any_released


@kernel(borrows=True)
def secant(p: Problem, f: Floats) -> float:
    """Put the secants of mu N between rest and the present slip into the work space.

    Returns by how much the friction at the present slip changed, over what friction carries.
    """
    worst = 0.0
    if p.constant:
        return worst
    for i in range(p.n):
        speed = abs(f[SOLUTION, i])
        if speed > 0.0:
            slope = (f[NORMAL, i] * mu_of(p, f, i, speed) - f[RESIST, i]) / speed
        else:
            slope = f[NORMAL, i] * slope_of(p, i, 0.0)
        slope = max(slope, (_LEAST_PIVOT - 1.0) * f[PIVOT, i])
        off = abs(slope - f[SLOPE, i]) * speed
        size = max(f[HOLD, i], abs(f[RESIST, i] + slope * speed))
        if off > worst * size:
            worst = off / size
        f[SLOPE, i] = slope
        f[EXCESS, i] = f[PIVOT, i] + slope
    return worst


@kernel(borrows=True)
def nested(p: Problem, f: Floats, m: Marks, counter: Ints, last: int) -> bool:
    """Find the modes for friction that is monotone in slip; false when the solves run out.

    Source: Bokanowski, Maroso, Zidani 2009, Howard's algorithm for two obstacles: finite,
    because every round is monotone for an M-matrix.
    Verified by: tests/exact/test_theta_references.py::test_a_cycle_of_the_active_set_is_settled
    """
    while counter[SOLVES] < last:
        while counter[SOLVES] < last:
            again(p, f, m, counter)
            if correct(p, f, m, 1) == 0:
                break
        if correct(p, f, m, -1) == 0:
            return True
    return False
