"""The end of a step with set-valued friction: the move, the ledger, the events, in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.state import (
    Events,
    Listed,
    Problem,
    Progress,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.chains.theta.step_kernels import (
    BLOCK,
    Sums,
    close_books,
    note_against,
    note_given,
    note_modes,
    time_after,
)
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

__all__ = ["move_on"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]


@kernel
def move_on(
    p: Problem,
    f: Floats,
    m: Marks,
    now: Progress,
    lists: Table[Listed],
    events: Events,
    pull: float,
    held: bool,
    crossed: int,
) -> bool:
    """Move the chain by the slip w, keep the ledger, note changes of mode; return if any.

    The same sums in the same order as `theta_kernels.commit`, and what `record` does.

    Parameters
    ----------
    held : whether all modes are those of the last step
    crossed : how many masses `cross_zero` listed
    """
    motion, trial = motion_of(f), trial_of(f)
    n, t, before = p.n, time_after(p, now.step), now.events
    done = 0
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        sums = move(f, m, now, first, last, t, p.belt, p.h, p.rate)
        kinetic += sums[0]
        stored += sums[1]
        viscous += sums[2]
        spread += sums[3]
        inertia += sums[4]
        heat += sums[5]
        pushed += sums[6]
        ridden += sums[7]
        stopped += sums[8]
        while done < crossed and lists[done].changed < last:
            # the friction of the step made the heat; from now on it is another
            i = lists[done].changed
            trial.friction[i] = trial.friction_after[i]
            done += 1
        if not held:
            note_modes(f, m, now, events, t, first, last, p.belt)
        for i in range(first, last):
            motion.friction[i] = trial.friction[i]
    close_books(
        p,
        f,
        now,
        pull,
        (kinetic, stored, viscous, spread, inertia, heat, pushed, ridden, stopped),
    )
    if now.events == before:
        return False
    now.rest_since = t
    return True


@kernel
def move(
    f: Floats,
    m: Marks,
    now: Progress,
    first: int,
    last: int,
    t: float,
    belt: float,
    h: float,
    rate: float,
) -> Sums:
    """Move the masses from `first` to before `last` and return their sums for the ledger.

    Looks at every one: whether it slips as its mode says, and what friction takes from it.
    `rate` is 1 / theta.
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    lost = 0.0
    speed_before = system.solution[first - 1] + belt if first > 0 else 0.0
    x_before = motion.x[first - 1] if first > 0 else 0.0
    for i in range(first, last):
        w, mass, force = system.solution[i], masses.mass[i], trial.friction[i]
        du = (w - motion.slip_rate[i]) * rate
        speed = w + belt
        # steps in x are tiny beside x: what an addition loses is kept for the next one
        step = h * speed - motion.x_low[i]
        x = motion.x[i] + step
        motion.x_low[i] = (x - motion.x[i]) - step
        motion.x[i] = x
        u = motion.slip_rate[i] + du
        inertia += mass * du * du
        mode = modes.trial[i]
        # one condition that hardly ever holds: modes alone would be guessed wrong
        off = (mode * w < 0.0) | ((mode == 0) & (w != 0.0))
        if off and (mode != 0 or modes.now[i] == 0):
            note_against(now, w, t)
        # a stuck mass rides on the belt; without this theta = 1/2 would ring for ever
        ringing = u if mode == 0 else 0.0
        u = 0.0 if mode == 0 else u
        stopped += mass * ringing * ringing
        lost += mass * ringing
        motion.slip_rate[i] = u
        kinetic += mass * (u + belt) * (u + belt)
        spin, stretch = speed - speed_before, x - x_before
        stored += masses.stiffness[i] * stretch * stretch
        spread += masses.stiffness[i] * spin * spin
        viscous += masses.damping[i] * spin * spin
        gain = -h * force * w
        heat += gain
        if gain < 0.0:
            note_given(now, -gain, t)
        gain -= motion.heat_low[i]
        total = motion.heat[i] + gain
        motion.heat_low[i] = (total - motion.heat[i]) - gain
        motion.heat[i] = total
        pushed += masses.share[i] * speed
        ridden += force
        speed_before, x_before = speed, x
    return kinetic, stored, viscous, spread, inertia, heat, pushed, ridden - lost / h, stopped
