"""Passes over a chain in one step with constant friction: as few as the step allows.

A long chain does not fit into the caches, so what counts is how often each row is read. Forces
and the way forward through the factored system are one pass, the way back and the look at the
modes another, the move and the ledger a third. Where modes are corrected only the stretches
between stuck masses are solved again in which one was: a stuck mass parts the system.

A step of three masses takes less time than handing over all numbers of a run, so these kernels
are given the few they need.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.step_kernels import (
    AFTERWARDS,
    BLOCK,
    BOUND,
    CHANGED,
    FORCE,
    FOUND,
    HEAT,
    HEAT_LOW,
    HOLD,
    INERTIA,
    LINK_C,
    LINK_K,
    MASS,
    MODE,
    N_EVENTS,
    NEW_FORCE,
    NEW_MODE,
    PLATE_K,
    RESIST,
    REST_SINCE,
    SHARE,
    SLIPPING,
    SOLVES,
    STEP,
    UNTIL,
    X_LOW,
    Events,
    Problem,
    Q,
    Sums,
    U,
    X,
    close_books,
    note_against,
    note_given,
    time_after,
)
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import COUPLING, EXCESS, INVERSE, LOWER, SOLUTION

__all__ = ["ahead", "back", "cross_zero", "mend", "move_on", "refactor", "slack_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# a stuck mass may exceed its bound by rounding in the forces on it
_ROUNDING = 1e-14
# what `judge` says of a mode
_FITS, _TIES, _CORRECTED = range(3)


@kernel(borrows=True)
def ahead(
    n: int, f: Floats, m: Ints, pull: float, ride: float, belt: float, plates: bool, plate: float
) -> None:
    """Write Q, all forces but friction, and go forward through the factored system.

    Parameters
    ----------
    ride : how far the belt moves in the share theta of a step
    plate : the place of the plate, where there are `plates`
    """
    left = f[LINK_K, 0] * (f[X, 0] + ride) + f[LINK_C, 0] * belt
    value = 0.0
    for i in range(n):
        if i + 1 < n:
            right = f[LINK_K, i + 1] * (f[X, i + 1] - f[X, i])
        else:
            right = -f[LINK_K, n] * (f[X, i] + ride) - f[LINK_C, n] * belt
        force = (right - left) + f[SHARE, i] * pull
        if plates:
            force += f[PLATE_K, i] * (plate - f[X, i] - ride)
        force += f[INERTIA, i] * f[U, i]
        f[Q, i] = force
        value = (force - m[NEW_MODE, i] * f[RESIST, i]) + f[LOWER, i] * value
        f[SOLUTION, i] = value
        left = right


@kernel(borrows=True)
def back(n: int, f: Floats, m: Ints, counter: Ints, pull: float, far: float) -> tuple[bool, int]:
    """Solve backward and correct the modes that contradict the slip.

    Returns
    -------
    Whether all modes fit, and how many were corrected: row CHANGED lists them, rising.
    """
    count, good = 0, True
    counter[SOLVES] += 1
    value = after = further = 0.0
    for i in range(n - 1, -2, -1):
        if i >= 0:
            value = (f[SOLUTION, i] + f[COUPLING, i + 1] * value) * f[INVERSE, i]
            f[SOLUTION, i] = value
        else:
            value = 0.0
        if i + 1 < n:
            # the slip on both sides of the mass to the right is known now
            said = judge(n, f, m, i + 1, value, after, further, pull, far)
            good = good and said == _FITS
            if said == _CORRECTED:
                m[CHANGED, count] = i + 1
                count += 1
        further, after = after, value
    for j in range(count // 2):
        one = m[CHANGED, j]
        m[CHANGED, j] = m[CHANGED, count - 1 - j]
        m[CHANGED, count - 1 - j] = one
    return good, count


@kernel(borrows=True)
def judge(
    n: int,
    f: Floats,
    m: Ints,
    i: int,
    before: float,
    w: float,
    after: float,
    pull: float,
    far: float,
) -> int:
    """Write the friction on mass i; correct its mode if it contradicts the slip."""
    mode = m[NEW_MODE, i]
    if mode != 0:
        f[NEW_FORCE, i] = -mode * f[RESIST, i]
        if mode * w > 0.0:
            return _FITS
        if mode * w <= 0.0:
            m[NEW_MODE, i] = 0
            return _CORRECTED
        return _TIES
    drive = f[Q, i] + f[COUPLING, i] * before + f[COUPLING, i + 1] * after
    f[NEW_FORCE, i] = -drive
    size = abs(drive)
    if size <= f[HOLD, i]:
        return _FITS
    if size > f[HOLD, i] + slack_of(n, f, i, pull, far):
        m[NEW_MODE, i] = 1 if drive > 0.0 else -1
        return _CORRECTED
    return _TIES


@kernel(borrows=True)
def slack_of(n: int, f: Floats, i: int, pull: float, far: float) -> float:
    """Return what rounding can add to the force on a mass: a tie must not cycle.

    `far` is the farthest place of the plate. (The whole of p would cost more than the sum.)
    """
    size = f[HOLD, i] + abs(f[INERTIA, i] * f[U, i]) + abs(f[SHARE, i] * pull)
    size += f[PLATE_K, i] * (far + abs(f[X, i]))
    size += f[LINK_K, i] * abs(f[X, i] - (f[X, i - 1] if i > 0 else 0.0))
    size += f[LINK_K, i + 1] * abs((f[X, i + 1] if i + 1 < n else 0.0) - f[X, i])
    slack: float = _ROUNDING * size
    return slack


@kernel(borrows=True)
def mend(n: int, f: Floats, m: Ints, counter: Ints, pull: float, far: float, count: int) -> int:
    """Solve again around the masses in row CHANGED; correct modes and return how many."""
    counter[SOLVES] += 1
    stretches = solve_around(n, f, m, count)
    found, seen = 0, -1
    for q in range(stretches):
        # the stuck masses at both ends feel another force too
        last = min(m[UNTIL, q] + 1, n - 1)
        for i in range(max(m[CHANGED, q] - 1, seen + 1), last + 1):
            before = f[SOLUTION, i - 1] if i > 0 else 0.0
            after = f[SOLUTION, i + 1] if i + 1 < n else 0.0
            if judge(n, f, m, i, before, f[SOLUTION, i], after, pull, far) == _CORRECTED:
                m[FOUND, found] = i
                found += 1
        seen = last
    for q in range(found):
        m[CHANGED, q] = m[FOUND, q]
    return found


@kernel(borrows=True)
def solve_around(n: int, f: Floats, m: Ints, count: int) -> int:
    """Factorise and solve around the masses in row CHANGED, rising, up to stuck ones.

    Returns how many stretches there were: rows CHANGED and UNTIL hold their ends.
    """
    stretches, last = 0, -1
    for q in range(count):
        i = m[CHANGED, q]
        if i <= last:
            continue
        first = i
        while first - 1 > last and m[NEW_MODE, first - 1] != 0:
            first -= 1
        last = i
        while last + 1 < n and m[NEW_MODE, last + 1] != 0:
            last += 1
        solve_stretch(f, m, first, last)
        m[CHANGED, stretches], m[UNTIL, stretches] = first, last
        stretches += 1
    return stretches


@kernel(borrows=True)
def solve_stretch(f: Floats, m: Ints, first: int, last: int) -> None:
    """Factorise and solve between two stuck masses, or ends: as for the whole chain."""
    ground, before, value = f[COUPLING, first], 0.0, 0.0
    for i in range(first, last + 1):
        mode = m[NEW_MODE, i]
        lower = f[COUPLING, i] * before
        held = f[EXCESS, i] + ground
        after = f[COUPLING, i + 1]
        if mode != 0:
            before = 1.0 / (held + after)
            ground = after * held * before
        else:
            before = 0.0
            ground = after
        f[LOWER, i], f[INVERSE, i] = lower, before
        value = (f[Q, i] - mode * f[RESIST, i]) + lower * value
        f[SOLUTION, i] = value
    value = 0.0
    for i in range(last, first - 1, -1):
        value = (f[SOLUTION, i] + f[COUPLING, i + 1] * value) * f[INVERSE, i]
        f[SOLUTION, i] = value


@kernel(borrows=True)
def cross_zero(n: int, f: Floats, m: Ints, theta: float) -> tuple[float, int]:
    """Decide what the masses do whose velocity passes zero in this step.

    The slip w at theta may fit its mode although the velocity at the end of the step does not,
    and a mass may be held through a step in which it turns round. What counts is all other
    forces on the mass at the moment of rest, taken here at theta with the mass held: where its
    static bound carries them it sticks (`docs/decisions/0003`), else it slips on the way they
    pull. It moves with w through this step; `move` takes out what velocity an arrested mass
    has left.

    Returns
    -------
    The sum of squared slips, and how many masses end the step in another mode than that of the
    solve: row CHANGED lists them, rising.

    Verified by: tests/convergence/test_theta_jumps.py::test_no_mass_misses_its_stick
    """
    size, count = 0.0, 0
    for i in range(n):
        mode, w = m[MODE, i], f[SOLUTION, i]
        size += w * w
        # the velocity at the end of the step, times theta
        end = w - (1.0 - theta) * f[U, i]
        # one condition that hardly ever holds: modes alone would be guessed wrong
        if not (mode != 0) & (mode * end <= 0.0):
            continue
        before = f[SOLUTION, i - 1] if i > 0 else 0.0
        after = f[SOLUTION, i + 1] if i + 1 < n else 0.0
        drive = f[Q, i] - f[INERTIA, i] * f[U, i]
        drive += f[COUPLING, i] * before + f[COUPLING, i + 1] * after
        sticks, slips = abs(drive) <= f[BOUND, i], m[NEW_MODE, i] != 0
        if sticks == slips:
            m[CHANGED, count] = i
            m[FOUND, count] = 0 if sticks else (1 if drive > 0.0 else -1)
            f[AFTERWARDS, i] = -drive if sticks else -m[FOUND, count] * f[HOLD, i]
            count += 1
    for q in range(count):
        m[NEW_MODE, m[CHANGED, q]] = m[FOUND, q]
    return size, count


@kernel(borrows=True)
def refactor(n: int, f: Floats, m: Ints, count: int) -> None:
    """Write the factors that belong to the modes around the masses in row CHANGED."""
    last = -1
    for q in range(count):
        i = m[CHANGED, q]
        if i <= last:
            continue
        first = i
        while first - 1 > last and m[NEW_MODE, first - 1] != 0:
            first -= 1
        last = factor_stretch(n, f, m, first, i)


@kernel(borrows=True)
def factor_stretch(n: int, f: Floats, m: Ints, first: int, least: int) -> int:
    """Factorise from after a stuck mass up to one beyond `least`; return the last but it."""
    ground, before = f[COUPLING, first], 0.0
    for i in range(first, n):
        mode = m[NEW_MODE, i]
        if mode == 0 and i > least:
            return i - 1
        f[LOWER, i] = f[COUPLING, i] * before
        held = f[EXCESS, i] + ground
        after = f[COUPLING, i + 1]
        if mode != 0:
            before = 1.0 / (held + after)
            ground = after * held * before
        else:
            before = 0.0
            ground = after
        f[INVERSE, i] = before
    return n - 1


@kernel(borrows=True)
def move_on(
    p: Problem,
    f: Floats,
    m: Ints,
    clock: Floats,
    counter: Ints,
    events: Events,
    pull: float,
    held: bool,
    crossed: int,
) -> bool:
    """Move the chain by the slip w, keep the ledger, note changes of mode; return if any.

    The same sums in the same order as `step_kernels.commit`, and what `record` does.

    Parameters
    ----------
    held : whether all modes are those of the last step
    crossed : how many masses `cross_zero` listed
    """
    n, t, before = p.n, time_after(p, counter[STEP]), counter[N_EVENTS]
    done = 0
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    if not held:
        counter[SLIPPING] = 0
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        sums = move(f, m, clock, first, last, t, p.belt, p.h, p.theta)
        kinetic += sums[0]
        stored += sums[1]
        viscous += sums[2]
        spread += sums[3]
        inertia += sums[4]
        heat += sums[5]
        pushed += sums[6]
        ridden += sums[7]
        stopped += sums[8]
        while done < crossed and m[CHANGED, done] < last:
            # the friction of the step made the heat; from now on it is another
            i = m[CHANGED, done]
            f[NEW_FORCE, i] = f[AFTERWARDS, i]
            done += 1
        if not held:
            note_modes(f, m, counter, events, t, first, last, p.belt)
        for i in range(first, last):
            f[FORCE, i] = f[NEW_FORCE, i]
    close_books(
        p,
        f,
        clock,
        counter,
        pull,
        (kinetic, stored, viscous, spread, inertia, heat, pushed, ridden, stopped),
    )
    if counter[N_EVENTS] == before:
        return False
    clock[REST_SINCE] = t
    return True


@kernel(borrows=True)
def move(
    f: Floats,
    m: Ints,
    clock: Floats,
    first: int,
    last: int,
    t: float,
    belt: float,
    h: float,
    theta: float,
) -> Sums:
    """Move the masses from `first` to before `last` and return their sums for the ledger.

    Looks at every one: whether it slips as its mode says, and what friction takes from it.
    """
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    rate_before = f[SOLUTION, first - 1] + belt if first > 0 else 0.0
    x_before = f[X, first - 1] if first > 0 else 0.0
    for i in range(first, last):
        w, mass, force = f[SOLUTION, i], f[MASS, i], f[NEW_FORCE, i]
        du = (w - f[U, i]) / theta
        rate = w + belt
        # steps in x are tiny beside x: what an addition loses is kept for the next one
        step = h * rate - f[X_LOW, i]
        x = f[X, i] + step
        f[X_LOW, i] = (x - f[X, i]) - step
        f[X, i] = x
        u = f[U, i] + du
        inertia += mass * du * du
        mode = m[NEW_MODE, i]
        if mode * w < 0.0 or (mode == 0 and w != 0.0 and m[MODE, i] == 0):
            note_against(clock, w, t)
        if mode == 0:
            # a stuck mass rides on the belt; without this theta = 1/2 would ring for ever
            stopped += mass * u * u
            ridden -= mass * u / h
            u = 0.0
        f[U, i] = u
        kinetic += mass * (u + belt) * (u + belt)
        spin, stretch = rate - rate_before, x - x_before
        stored += f[LINK_K, i] * stretch * stretch
        spread += f[LINK_K, i] * spin * spin
        viscous += f[LINK_C, i] * spin * spin
        gain = -h * force * w
        heat += gain
        if gain < 0.0:
            note_given(clock, -gain, t)
        gain -= f[HEAT_LOW, i]
        total = f[HEAT, i] + gain
        f[HEAT_LOW, i] = (total - f[HEAT, i]) - gain
        f[HEAT, i] = total
        pushed += f[SHARE, i] * rate
        ridden += force
        rate_before, x_before = rate, x
    return kinetic, stored, viscous, spread, inertia, heat, pushed, ridden, stopped


@kernel(borrows=True)
def note_modes(
    f: Floats,
    m: Ints,
    counter: Ints,
    events: Events,
    t: float,
    first: int,
    last: int,
    belt: float,
) -> None:
    """Note the masses from `first` to before `last` whose modes changed, and count who slips."""
    slipping = 0
    for i in range(first, last):
        if m[NEW_MODE, i] != m[MODE, i]:
            row = counter[N_EVENTS]
            events.values[row, 0] = t
            events.values[row, 1] = f[X, i]
            events.values[row, 2] = f[U, i] + belt
            events.values[row, 3] = f[FORCE, i]
            events.values[row, 4] = f[NEW_FORCE, i]
            events.marks[row, 0] = i
            events.marks[row, 1] = m[MODE, i]
            events.marks[row, 2] = m[NEW_MODE, i]
            m[MODE, i] = m[NEW_MODE, i]
            counter[N_EVENTS] = row + 1
        slipping += abs(m[NEW_MODE, i])
    counter[SLIPPING] += slipping
