"""Passes over a chain in one step with constant friction: as few as the step allows.

A long chain does not fit into the caches, so what counts is how often each row is read from
memory. A stuck mass parts the system: a part of the chain between two of them is solved forward
and back, looked at, and solved again where modes were corrected, all while it is in the caches.
The move and the ledger are the second pass (`move_kernels`).

A step of three masses takes less time than handing over all numbers of a run, so these kernels
are given the few they need.
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
    "ahead",
    "cross_zero",
    "mend",
    "refactor",
    "slack_of",
    "there_and_back",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# a sum of squared slips beyond this is no motion any more
LARGEST = 1e200
# a stuck mass may exceed its bound by rounding in the forces on it
_ROUNDING = 1e-14
# fewest masses of a part of the chain that is settled on its own: long enough for the processor to
# see streams, short enough for its rows to stay in the caches
PART = 2048
# what has not settled after so many solves is for the whole chain
_PART_ROUNDS = 30
# what `judge` says of a mode
_FITS, _TIES, _CORRECTED = range(3)


@kernel
def there_and_back(
    p: Problem, f: Floats, m: Marks, lists: Table[Listed], pull: float, step: int
) -> tuple[bool, int, int, float]:
    """Write `force`, solve for the slip, and correct the modes that contradict it.

    Goes over a part of the chain at a time, forward, back, and again where modes were corrected,
    while it is in the caches: a stuck mass parts the system, so a part ends with one. Whether
    that one lets go is for the whole chain to say, and so is the rest under a law with a jump,
    where modes depend on the order in which they are corrected.

    Returns
    -------
    Whether all modes fit at once, how many are left to be solved for (listed as `changed`,
    rising), how often a part was solved at most, and the sum of squared slips.

    Verified by: tests/unit/chains/theta/test_passes.py::test_parts_make_no_difference
    """
    modes = modes_of(m)
    n, ride, far = p.n, p.theta * p.h * p.belt, abs(p.plate_speed * p.t_end)
    belt, plates, plate = p.belt, p.plates, p.plate_speed * (p.t_start + (step + p.theta) * p.h)
    held, left, most, size, last = True, 0, 1, 0.0, 0
    while last < n:
        first = last
        last = min(first + PART, n)
        while last < n and modes.trial[last - 1] != 0:
            last += 1
        ahead(n, f, m, pull, ride, belt, plates, plate, first, last)
        fits, count, part = back(n, f, m, lists, pull, far, first, last)
        held = held and fits
        size += part
        rounds = 1
        until = last if last == n else last - 1
        while count > 0 and rounds < _PART_ROUNDS and not p.jump:
            count, part = mend(n, f, m, lists, pull, far, count, first, until)
            size += part
            rounds += 1
        most = max(most, rounds)
        if first > 0:
            fits, left = let_part(n, f, m, lists, pull, far, first - 1, left)
            held = held and fits
        for q in range(count):
            lists[left].later = lists[q].changed
            left += 1
    for q in range(left):
        lists[q].changed = lists[q].later
    return held, left, most, size


@kernel
def let_part(
    n: int, f: Floats, m: Marks, lists: Table[Listed], pull: float, far: float, i: int, left: int
) -> tuple[bool, int]:
    """Correct the mode of the stuck mass i between two parts; return if it fit, and the count."""
    system = system_of(f)
    before = system.solution[i - 1] if i > 0 else 0.0
    said = judge(n, f, m, i, before, 0.0, system.solution[i + 1], pull, far)
    if said == _CORRECTED:
        lists[left].later = i
        left += 1
    return said == _FITS, left


@kernel(inline=True)
def ahead(
    n: int,
    f: Floats,
    m: Marks,
    pull: float,
    ride: float,
    belt: float,
    plates: bool,
    plate: float,
    first: int,
    last: int,
) -> None:
    """Write `force`, all but friction, and go forward through the factored system.

    Does so for the masses from `first` to before `last`; the one before is stuck.

    Parameters
    ----------
    ride : how far the belt moves in the share theta of a step
    plate : the place of the plate, where there are `plates`
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    if first == 0:
        left = masses.stiffness[0] * (motion.x[0] + ride) + masses.damping[0] * belt
    else:
        left = masses.stiffness[first] * (motion.x[first] - motion.x[first - 1])
    value = 0.0
    for i in range(first, last):
        if i + 1 < n:
            right = masses.stiffness[i + 1] * (motion.x[i + 1] - motion.x[i])
        else:
            right = -masses.stiffness[n] * (motion.x[i] + ride) - masses.damping[n] * belt
        force = (right - left) + masses.share[i] * pull
        if plates:
            force += masses.plate_stiffness[i] * (plate - motion.x[i] - ride)
        force += masses.inertia[i] * motion.slip_rate[i]
        trial.force[i] = force
        value = (force - modes.trial[i] * trial.resistance[i]) + system.lower[i] * value
        system.solution[i] = value
        left = right


@kernel
def back(
    n: int,
    f: Floats,
    m: Marks,
    lists: Table[Listed],
    pull: float,
    far: float,
    first: int,
    last: int,
) -> tuple[bool, int, float]:
    """Solve backward from before `last` to `first`; correct the modes that contradict the slip.

    The mass before `last` is stuck or the last of all. A stuck one is left as it is, because the
    slip to its right is not known yet.

    Returns
    -------
    Whether all modes fit, how many were corrected (listed as `changed`, rising), and the sum
    of squared slips.
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
        # the slip on both sides of the mass to the right is known now
        j = i + 1
        if j < until and not agrees(system, trial, modes, j, value, after, further):
            lists[seen].found = j
            seen += 1
        further, after = after, value
    for k in range(seen - 1, -1, -1):
        # the mass before this part is stuck
        i = lists[k].found
        before = system.solution[i - 1] if i > first else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        said = judge(n, f, m, i, before, system.solution[i], after, pull, far)
        good = good and said == _FITS
        if said == _CORRECTED:
            lists[count].changed = i
            count += 1
    return good, count, size


@kernel(inline=True)
def agrees(
    system: System, trial: Trial, modes: Modes, i: int, before: float, w: float, after: float
) -> bool:
    """Write the friction on mass i; return whether its mode fits the slip.

    Without a branch: in a long chain whether a mass sticks or slips would be guessed wrong.
    """
    mode = modes.trial[i]
    drive = trial.force[i] + system.coupling[i] * before + system.coupling[i + 1] * after
    trial.friction[i] = -drive if mode == 0 else -mode * trial.resistance[i]
    return bool(((mode == 0) & (abs(drive) <= trial.hold[i])) | (mode * w > 0.0))


@kernel
def judge(
    n: int,
    f: Floats,
    m: Marks,
    i: int,
    before: float,
    w: float,
    after: float,
    pull: float,
    far: float,
) -> int:
    """Write the friction on mass i; correct its mode if it contradicts the slip."""
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    mode = modes.trial[i]
    if mode != 0:
        trial.friction[i] = -mode * trial.resistance[i]
        if mode * w > 0.0:
            return _FITS
        if mode * w <= 0.0:
            modes.trial[i] = 0
            return _CORRECTED
        return _TIES
    drive = trial.force[i] + system.coupling[i] * before + system.coupling[i + 1] * after
    trial.friction[i] = -drive
    size = abs(drive)
    if size <= trial.hold[i]:
        return _FITS
    if size > trial.hold[i] + slack_of(n, f, i, pull, far):
        modes.trial[i] = 1 if drive > 0.0 else -1
        return _CORRECTED
    return _TIES


@kernel
def slack_of(n: int, f: Floats, i: int, pull: float, far: float) -> float:
    """Return what rounding can add to the force on a mass: a tie must not cycle.

    `far` is the farthest place of the plate. (The whole of p would cost more than the sum.)
    """
    masses, motion, trial = masses_of(f), motion_of(f), trial_of(f)
    size = trial.hold[i] + abs(masses.inertia[i] * motion.slip_rate[i])
    size += abs(masses.share[i] * pull)
    size += masses.plate_stiffness[i] * (far + abs(motion.x[i]))
    size += masses.stiffness[i] * abs(motion.x[i] - (motion.x[i - 1] if i > 0 else 0.0))
    size += masses.stiffness[i + 1] * abs((motion.x[i + 1] if i + 1 < n else 0.0) - motion.x[i])
    slack: float = _ROUNDING * size
    return slack


@kernel
def mend(
    n: int,
    f: Floats,
    m: Marks,
    lists: Table[Listed],
    pull: float,
    far: float,
    count: int,
    first: int,
    until: int,
) -> tuple[int, float]:
    """Solve again around the masses `changed`; correct modes from `first` to before `until`.

    Returns
    -------
    How many were corrected, and the sum of squared slips of what was solved again.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    stretches, size = solve_around(n, f, m, lists, count)
    found, left, seen = 0, 0, first - 1
    for q in range(stretches):
        # the stuck masses at both ends feel another force too
        last = min(lists[q].until + 1, until - 1)
        for i in range(max(lists[q].changed - 1, seen + 1), last + 1):
            before = system.solution[i - 1] if i > 0 else 0.0
            after = system.solution[i + 1] if i + 1 < n else 0.0
            if not agrees(system, trial, modes, i, before, system.solution[i], after):
                lists[found].found = i
                found += 1
        seen = last
    for q in range(found):
        i = lists[q].found
        before = system.solution[i - 1] if i > 0 else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        if judge(n, f, m, i, before, system.solution[i], after, pull, far) == _CORRECTED:
            lists[left].changed = i
            left += 1
    return left, size


@kernel
def solve_around(
    n: int, f: Floats, m: Marks, lists: Table[Listed], count: int
) -> tuple[int, float]:
    """Factorise and solve around the masses `changed`, rising, up to stuck ones.

    Returns how many stretches there were, listed from `changed` to `until`, and the sum
    of squared slips in them.
    """
    modes = modes_of(m)
    stretches, last, size = 0, -1, 0.0
    for q in range(count):
        i = lists[q].changed
        if i <= last:
            continue
        first = i
        while first - 1 > last and modes.trial[first - 1] != 0:
            first -= 1
        last = i
        while last + 1 < n and modes.trial[last + 1] != 0:
            last += 1
        size += solve_stretch(f, m, first, last)
        lists[stretches].changed, lists[stretches].until = first, last
        stretches += 1
    return stretches, size


@kernel
def solve_stretch(f: Floats, m: Marks, first: int, last: int) -> float:
    """Factorise and solve between two stuck masses, or ends: as for the whole chain.

    Returns the sum of squared slips.
    """
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    ground, before, value = system.coupling[first], 0.0, 0.0
    for i in range(first, last + 1):
        mode = modes.trial[i]
        lower = system.coupling[i] * before
        held = system.excess[i] + ground
        after = system.coupling[i + 1]
        if mode != 0:
            before = 1.0 / (held + after)
            ground = after * held * before
        else:
            before = 0.0
            ground = after
        system.lower[i], system.inverse[i] = lower, before
        value = (trial.force[i] - mode * trial.resistance[i]) + lower * value
        system.solution[i] = value
    size = value = 0.0
    for i in range(last, first - 1, -1):
        value = (system.solution[i] + system.coupling[i + 1] * value) * system.inverse[i]
        system.solution[i] = value
        size += value * value
    return size


@kernel
def cross_zero(n: int, f: Floats, m: Marks, lists: Table[Listed], theta: float) -> int:
    """Decide what the masses do whose velocity passes zero in this step.

    The slip w at theta may fit its mode although the velocity at the end of the step does not,
    and a mass may be held through a step in which it turns round. What counts is all other
    forces on the mass at the moment of rest, taken here at theta with the mass held: where its
    static bound carries them it sticks (`docs/decisions/07`), else it slips on the way they
    pull. It moves with w through this step; `move` takes out what velocity an arrested mass
    has left.

    Returns
    -------
    How many masses end the step in another mode than that of the solve, listed as `changed`,
    rising.

    Verified by: tests/convergence/test_theta_jumps.py::test_no_mass_misses_its_stick
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    count = 0
    for i in range(n):
        mode, w = modes.now[i], system.solution[i]
        # the velocity at the end of the step, times theta
        end = w - (1.0 - theta) * motion.slip_rate[i]
        # one condition that hardly ever holds: modes alone would be guessed wrong
        if not (mode != 0) & (mode * end <= 0.0):
            continue
        before = system.solution[i - 1] if i > 0 else 0.0
        after = system.solution[i + 1] if i + 1 < n else 0.0
        drive = trial.force[i] - masses.inertia[i] * motion.slip_rate[i]
        drive += system.coupling[i] * before + system.coupling[i + 1] * after
        sticks, slips = abs(drive) <= masses.stick_bound[i], modes.trial[i] != 0
        if sticks == slips:
            lists[count].changed = i
            lists[count].found = 0 if sticks else (1 if drive > 0.0 else -1)
            trial.friction_after[i] = -drive if sticks else -lists[count].found * trial.hold[i]
            count += 1
    for q in range(count):
        modes.trial[lists[q].changed] = lists[q].found
    return count


@kernel
def refactor(n: int, f: Floats, m: Marks, lists: Table[Listed], count: int) -> None:
    """Write the factors that belong to the modes around the masses `changed`."""
    modes = modes_of(m)
    last = -1
    for q in range(count):
        i = lists[q].changed
        if i <= last:
            continue
        first = i
        while first - 1 > last and modes.trial[first - 1] != 0:
            first -= 1
        last = factor_stretch(n, f, m, first, i)


@kernel
def factor_stretch(n: int, f: Floats, m: Marks, first: int, least: int) -> int:
    """Factorise from after a stuck mass up to one beyond `least`; return the last but it."""
    system, modes = system_of(f), modes_of(m)
    ground, before = system.coupling[first], 0.0
    for i in range(first, n):
        mode = modes.trial[i]
        if mode == 0 and i > least:
            return i - 1
        system.lower[i] = system.coupling[i] * before
        held = system.excess[i] + ground
        after = system.coupling[i + 1]
        if mode != 0:
            before = 1.0 / (held + after)
            ground = after * held * before
        else:
            before = 0.0
            ground = after
        system.inverse[i] = before
    return n - 1
