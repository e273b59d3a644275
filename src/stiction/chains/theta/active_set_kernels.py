"""Active set of one theta step with constant friction, by the Thomas algorithm on parts of a chain.

The slip rates w of a step solve A w + mu N Sgn(w) containing q, with a tridiagonal M-matrix A
(`exact_kernels`, which call these kernels). The active set is found by forward and backward
substitution (Thomas algorithm), a complementarity test of each mode, and new solutions around the
masses whose modes were corrected.

A long chain does not fit into the caches, so memory traffic decides the time. A stuck mass has a
known slip and separates the system, so each part of the chain between two stuck masses is solved,
tested and solved again while it is in the caches. `update_kernels` then update the state and the
ledger in a second pass. Passing all numbers of a run would take longer than a step of three masses,
so these kernels receive only the few that they need: the number n of masses, the arrays f, m and
`lists` of `state`, of whose rows `system_of(f)` gives the matrix A and the solution w,
`trial_of(f)` the force q, the friction and its bounds, and `modes_of(m)` the modes; the load `pull`
at theta [N], and the largest displacement `far` of the plate [m]. A part consists of the masses
from `first` to before `last` (or `until`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.state import (
    Listed,
    Modes,
    Problem,
    Trial,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import System, system_of

__all__ = [
    "LARGEST",
    "agrees",
    "cross_zero",
    "farthest_plate",
    "forward_substitution",
    "refactorise",
    "resolve_around",
    "slack_of",
    "substitute_and_correct",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]

# a larger sum of squared slip rates counts as overflow
LARGEST = 1e200
# a stuck mass may exceed its bound by rounding in the forces on it
_ROUNDING = 1e-14
# least number of masses of a part of the chain that is solved separately: long enough for
# prefetching, short enough for the caches
PART = 2048
# largest number of solves of one part; then the active set of the whole chain is solved
_PART_ROUNDS = 30
# outcomes of a complementarity test: the mode fits, is degenerate within rounding, was corrected
_FITS, _DEGENERATE, _CORRECTED = range(3)


@kernel
def substitute_and_correct(
    p: Problem, f: Floats, m: ModeArray, lists: Table[Listed], pull: float, step: int
) -> tuple[bool, int, int, float]:
    """Write `force`, solve for the slip rates, and correct modes that violate complementarity.

    Each part of the chain ends with a stuck mass. The whole chain decides whether that mass is
    released, and all further corrections under a law with a jump, because there the modes depend on
    the order of corrections.

    Returns
    -------
    Whether all modes fit at once, the number of corrected modes that remain (listed as `changed`,
    rising), the largest number of solves of one part, and the sum of squared slip rates.

    Verified by: tests/unit/chains/theta/test_active_set.py::test_parts_make_no_difference
    """
    modes = modes_of(m)
    n, belt_shift, far = p.n, p.theta * p.h * p.belt, farthest_plate(p)
    belt, plates, plate = p.belt, p.plates, p.plate_speed * (p.t_start + (step + p.theta) * p.h)
    all_fit, left, most, size, last = True, 0, 1, 0.0, 0
    # parts end at a stuck mass, whose slip rate is known
    while last < n:
        first = last
        last = min(first + PART, n)
        while last < n and modes.trial[last - 1] != 0:
            last += 1
        forward_substitution(n, f, m, pull, belt_shift, belt, plates, plate, first, last)
        fits, count, part = backward_substitution(n, f, m, lists, pull, far, first, last)
        all_fit = all_fit and fits
        size += part
        rounds = 1
        until = last if last == n else last - 1
        # resolve a part while it is in the caches
        while count > 0 and rounds < _PART_ROUNDS and not p.jump:
            count, part = resolve_around(n, f, m, lists, pull, far, count, first, until)
            size += part
            rounds += 1
        most = max(most, rounds)
        # now both neighbours of the stuck mass before this part are known
        if first > 0:
            fits, left = correct_between_parts(n, f, m, lists, pull, far, first - 1, left)
            all_fit = all_fit and fits
        for q in range(count):
            lists[left].later = lists[q].changed
            left += 1
    for q in range(left):
        lists[q].changed = lists[q].later
    return all_fit, left, most, size


@kernel
def correct_between_parts(
    n: int,
    f: Floats,
    m: ModeArray,
    lists: Table[Listed],
    pull: float,
    far: float,
    i: int,
    left: int,
) -> tuple[bool, int]:
    """Test stuck mass i between two parts; return whether its mode fits, and the corrections.

    left : number of masses in the list `later`, to which i is appended if its mode is corrected
    """
    system = system_of(f)
    before = system.solution[i - 1] if i > 0 else 0.0
    verdict = complementarity_test(n, f, m, i, before, 0.0, system.solution[i + 1], pull, far)
    if verdict == _CORRECTED:
        lists[left].later = i
        left += 1
    return verdict == _FITS, left


@kernel(inline=True)
def forward_substitution(
    n: int,
    f: Floats,
    m: ModeArray,
    pull: float,
    belt_shift: float,
    belt: float,
    plates: bool,
    plate: float,
    first: int,
    last: int,
) -> None:
    """Write `force` (all forces but friction), and substitute forward in the factored system.

    The masses are those from `first` to before `last`; the mass before `first` is stuck.

    Parameters
    ----------
    belt_shift : displacement of the belt in the fraction theta of a step
    plate : displacement of the plate, if there are `plates`
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    if first == 0:
        left = masses.stiffness[0] * (motion.x[0] + belt_shift) + masses.damping[0] * belt
    else:
        left = masses.stiffness[first] * (motion.x[first] - motion.x[first - 1])
    # Thomas algorithm: y_i = q_i - sigma mu N + l_i y_{i-1}
    value = 0.0
    for i in range(first, last):
        if i + 1 < n:
            right = masses.stiffness[i + 1] * (motion.x[i + 1] - motion.x[i])
        else:
            right = -masses.stiffness[n] * (motion.x[i] + belt_shift) - masses.damping[n] * belt
        force = (right - left) + masses.load_vector[i] * pull
        if plates:
            force += masses.plate_stiffness[i] * (plate - motion.x[i] - belt_shift)
        # q = F + M u / (theta h) with the slip rate u at the start of the step
        force += masses.inertia[i] * motion.slip_rate[i]
        trial.force[i] = force
        value = (force - modes.trial[i] * trial.resistance[i]) + system.lower[i] * value
        system.solution[i] = value
        left = right


@kernel
def backward_substitution(
    n: int,
    f: Floats,
    m: ModeArray,
    lists: Table[Listed],
    pull: float,
    far: float,
    first: int,
    last: int,
) -> tuple[bool, int, float]:
    """Substitute backward from `last` - 1 to `first`; correct modes that violate complementarity.

    The mass `last` - 1 is stuck or the last of the chain. If it is stuck it is not tested, because
    the slip rate to its right is not known yet.

    Returns
    -------
    Whether all modes fit, the number of corrections (listed as `changed`, rising), and the sum of
    squared slip rates.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    good, seen, count, until = True, 0, 0, last if last == n else last - 1
    size = value = after = further = 0.0
    for i in range(last - 1, first - 2, -1):
        if i >= first:
            value = (system.solution[i] + system.coupling[i + 1] * value) * system.inverse[i]
            system.solution[i] = value
            size += value * value
        else:
            # the stuck mass before this part, or the end
            value = 0.0
        # the slip rates on both sides of the mass to the right are known now
        j = i + 1
        if j < until and not agrees(system, trial, modes, j, value, after, further):
            lists[seen].candidate = j
            seen += 1
        further, after = after, value
    for k in range(seen - 1, -1, -1):
        # the mass before this part is stuck
        i = lists[k].candidate
        before = system.solution[i - 1] if i > first else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        verdict = complementarity_test(n, f, m, i, before, system.solution[i], after, pull, far)
        good = good and verdict == _FITS
        if verdict == _CORRECTED:
            lists[count].changed = i
            count += 1
    return good, count, size


@kernel(inline=True)
def agrees(
    system: System, trial: Trial, modes: Modes, i: int, before: float, w: float, after: float
) -> bool:
    """Write the friction on mass i; return whether mode and slip rate are complementary.

    `before`, w, `after` are the slip rates of masses i - 1, i, i + 1. The test has no branch,
    because in a long chain branches on stick and slip are mispredicted.
    """
    mode = modes.trial[i]
    drive = trial.force[i] + system.coupling[i] * before + system.coupling[i + 1] * after
    trial.friction[i] = -drive if mode == 0 else -mode * trial.resistance[i]
    return bool(((mode == 0) & (abs(drive) <= trial.hold[i])) | (mode * w > 0.0))


@kernel
def complementarity_test(
    n: int,
    f: Floats,
    m: ModeArray,
    i: int,
    before: float,
    w: float,
    after: float,
    pull: float,
    far: float,
) -> int:
    """Write the friction on mass i; correct its mode if it violates complementarity.

    `before`, w, `after` are the slip rates of masses i - 1, i, i + 1. Returns `_FITS`,
    `_DEGENERATE` or `_CORRECTED`. Slip against its mode becomes stick; stick beyond its bound
    becomes slip along the drive.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    mode = modes.trial[i]
    if mode != 0:
        trial.friction[i] = -mode * trial.resistance[i]
        if mode * w > 0.0:
            return _FITS
        # (NaN fails both comparisons and corrects nothing)
        if mode * w <= 0.0:
            modes.trial[i] = 0
            return _CORRECTED
        return _DEGENERATE
    drive = trial.force[i] + system.coupling[i] * before + system.coupling[i + 1] * after
    trial.friction[i] = -drive
    size = abs(drive)
    if size <= trial.hold[i]:
        return _FITS
    # within rounding of the bound both modes are valid, and a correction might cycle
    if size > trial.hold[i] + slack_of(n, f, i, pull, far):
        modes.trial[i] = 1 if drive > 0.0 else -1
        return _CORRECTED
    return _DEGENERATE


@kernel(inline=True)
def farthest_plate(p: Problem) -> float:
    """Return the largest displacement of the plate in the run, which may start before t = 0 [m]."""
    return abs(p.plate_speed) * max(abs(p.t_start), abs(p.t_end))


@kernel
def slack_of(n: int, f: Floats, i: int, pull: float, far: float) -> float:
    """Return a bound of rounding in the force on mass i, within which thresholds are degenerate.

    `far` is the largest displacement of the plate. (Passing p would cost more than the sum.)
    """
    masses, motion, trial = masses_of(f), motion_of(f), trial_of(f)
    size = trial.hold[i] + abs(masses.inertia[i] * motion.slip_rate[i])
    size += abs(masses.load_vector[i] * pull)
    size += masses.plate_stiffness[i] * (far + abs(motion.x[i]))
    size += masses.stiffness[i] * abs(motion.x[i] - (motion.x[i - 1] if i > 0 else 0.0))
    size += masses.stiffness[i + 1] * abs((motion.x[i + 1] if i + 1 < n else 0.0) - motion.x[i])
    slack: float = _ROUNDING * size
    return slack


@kernel
def resolve_around(
    n: int,
    f: Floats,
    m: ModeArray,
    lists: Table[Listed],
    pull: float,
    far: float,
    count: int,
    first: int,
    until: int,
) -> tuple[int, float]:
    """Solve again around the masses `changed`; test the modes from `first` to before `until`.

    Returns
    -------
    The number of corrections, and the sum of squared slip rates in what was solved again.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    intervals, size = solve_around(n, f, m, lists, count)
    found, left, seen = 0, 0, first - 1
    for q in range(intervals):
        # the forces on the stuck masses at both ends change as well
        last = min(lists[q].until + 1, until - 1)
        # intervals that end at one stuck mass share it: test it once
        for i in range(max(lists[q].changed - 1, seen + 1), last + 1):
            before = system.solution[i - 1] if i > 0 else 0.0
            after = system.solution[i + 1] if i + 1 < n else 0.0
            if not agrees(system, trial, modes, i, before, system.solution[i], after):
                lists[found].candidate = i
                found += 1
        seen = last
    # rounding of the force is needed only for masses that failed the first test
    for q in range(found):
        i = lists[q].candidate
        before = system.solution[i - 1] if i > 0 else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        if (
            complementarity_test(n, f, m, i, before, system.solution[i], after, pull, far)
            == _CORRECTED
        ):
            lists[left].changed = i
            left += 1
    return left, size


@kernel
def solve_around(
    n: int, f: Floats, m: ModeArray, lists: Table[Listed], count: int
) -> tuple[int, float]:
    """Factorise and solve around the masses `changed`, rising, up to stuck ones.

    Returns how many intervals there were, listed from `changed` to `until`, and the sum
    of squared slips in them.
    """
    modes = modes_of(m)
    intervals, last, size = 0, -1, 0.0
    for q in range(count):
        i = lists[q].changed
        if i <= last:
            continue
        first = i
        # extend the interval to the next stuck mass on both sides
        while first - 1 > last and modes.trial[first - 1] != 0:
            first -= 1
        last = i
        while last + 1 < n and modes.trial[last + 1] != 0:
            last += 1
        size += solve_interval(f, m, first, last)
        lists[intervals].changed, lists[intervals].until = first, last
        intervals += 1
    return intervals, size


@kernel
def solve_interval(f: Floats, m: ModeArray, first: int, last: int) -> float:
    """Factorise and solve between two stuck masses, or ends: as for the whole chain.

    Returns the sum of squared slips.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    ground, before, value = system.coupling[first], 0.0, 0.0
    for i in range(first, last + 1):
        mode = modes.trial[i]
        lower = system.coupling[i] * before
        # pivots by sums of positive numbers: `ground` is the coupling to the left, condensed
        grounded = system.excess[i] + ground
        after = system.coupling[i + 1]
        if mode != 0:
            before = 1.0 / (grounded + after)
            ground = after * grounded * before
        else:
            # a stuck mass has w = 0: for the next mass it is the ground
            before = 0.0
            ground = after
        system.lower[i], system.inverse[i] = lower, before
        value = (trial.force[i] - mode * trial.resistance[i]) + lower * value
        system.solution[i] = value
    # backward substitution
    size = value = 0.0
    for i in range(last, first - 1, -1):
        value = (system.solution[i] + system.coupling[i + 1] * value) * system.inverse[i]
        system.solution[i] = value
        size += value * value
    return size


@kernel
def cross_zero(n: int, f: Floats, m: ModeArray, lists: Table[Listed], theta: float) -> int:
    """Decide between stick and slip for masses whose velocity passes zero in this step.

    The slip rate at theta may agree with the mode although the velocity at the end of the step does
    not. The drive at the instant of zero velocity decides: a mass sticks if its static bound
    carries the drive (`docs/decisions/07`), otherwise it slips in the direction of the drive. The
    drive is taken at theta with the mass stuck. The mass moves with w through this step; `move`
    removes the remaining velocity of a stopped mass.

    Returns
    -------
    The number of masses that end the step in another mode than that of the solve, listed as
    `changed`, rising.

    Verified by: tests/convergence/test_theta_jumps.py::test_no_mass_misses_its_stick
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    count = 0
    for i in range(n):
        mode, w = modes.now[i], system.solution[i]
        # the velocity at the end of the step, times theta
        end = w - (1.0 - theta) * motion.slip_rate[i]
        # a single rarely true condition: branches on modes would be mispredicted
        if not (mode != 0) & (mode * end <= 0.0):
            continue
        before = system.solution[i - 1] if i > 0 else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        # all forces without inertia, the mass stuck
        drive = trial.force[i] - masses.inertia[i] * motion.slip_rate[i]
        drive += system.coupling[i] * before + system.coupling[i + 1] * after
        sticks, slips = abs(drive) <= masses.stick_bound[i], modes.trial[i] != 0
        if sticks == slips:
            lists[count].changed = i
            lists[count].candidate = 0 if sticks else (1 if drive > 0.0 else -1)
            trial.friction_after[i] = -drive if sticks else -lists[count].candidate * trial.hold[i]
            count += 1
    for q in range(count):
        modes.trial[lists[q].changed] = lists[q].candidate
    return count


@kernel
def refactorise(n: int, f: Floats, m: ModeArray, lists: Table[Listed], count: int) -> None:
    """Factorise again around the masses `changed`, for their new modes."""
    modes = modes_of(m)
    last = -1
    for q in range(count):
        i = lists[q].changed
        if i <= last:
            continue
        first = i
        while first - 1 > last and modes.trial[first - 1] != 0:
            first -= 1
        last = factorise_interval(n, f, m, first, i)


@kernel
def factorise_interval(n: int, f: Floats, m: ModeArray, first: int, least: int) -> int:
    """Factorise up to the first stuck mass beyond `least`; return the mass before it."""
    system, modes = system_of(f), modes_of(m)
    # elimination as in `tridiagonal.factorise`; beyond the stuck mass the factors remain valid
    ground, before = system.coupling[first], 0.0
    for i in range(first, n):
        mode = modes.trial[i]
        if mode == 0 and i > least:
            return i - 1
        system.lower[i] = system.coupling[i] * before
        grounded = system.excess[i] + ground
        after = system.coupling[i + 1]
        if mode != 0:
            before = 1.0 / (grounded + after)
            ground = after * grounded * before
        else:
            before = 0.0
            ground = after
        system.inverse[i] = before
    return n - 1
