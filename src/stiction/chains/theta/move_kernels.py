"""The end of a step with set-valued friction: the move, the ledger, the events, in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.step_kernels import (
    AFTERWARDS,
    BLOCK,
    CHANGED,
    FORCE,
    HEAT,
    HEAT_LOW,
    LINK_C,
    LINK_K,
    MASS,
    MODE,
    N_EVENTS,
    NEW_FORCE,
    NEW_MODE,
    REST_SINCE,
    SHARE,
    STEP,
    X_LOW,
    Events,
    Problem,
    Sums,
    U,
    X,
    close_books,
    note_against,
    note_given,
    note_modes,
    time_after,
)
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import SOLUTION

__all__ = ["move_on"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]


@kernel(borrows=True)
def move_on(
    p: Problem,
    f: Floats,
    m: Marks,
    clock: Floats,
    counter: Ints,
    lists: Ints,
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
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        sums = move(f, m, clock, first, last, t, p.belt, p.h, p.rate)
        kinetic += sums[0]
        stored += sums[1]
        viscous += sums[2]
        spread += sums[3]
        inertia += sums[4]
        heat += sums[5]
        pushed += sums[6]
        ridden += sums[7]
        stopped += sums[8]
        while done < crossed and lists[CHANGED, done] < last:
            # the friction of the step made the heat; from now on it is another
            i = lists[CHANGED, done]
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
    m: Marks,
    clock: Floats,
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
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    lost = 0.0
    speed_before = f[SOLUTION, first - 1] + belt if first > 0 else 0.0
    x_before = f[X, first - 1] if first > 0 else 0.0
    for i in range(first, last):
        w, mass, force = f[SOLUTION, i], f[MASS, i], f[NEW_FORCE, i]
        du = (w - f[U, i]) * rate
        speed = w + belt
        # steps in x are tiny beside x: what an addition loses is kept for the next one
        step = h * speed - f[X_LOW, i]
        x = f[X, i] + step
        f[X_LOW, i] = (x - f[X, i]) - step
        f[X, i] = x
        u = f[U, i] + du
        inertia += mass * du * du
        mode = m[NEW_MODE, i]
        # one condition that hardly ever holds: modes alone would be guessed wrong
        off = (mode * w < 0.0) | ((mode == 0) & (w != 0.0))
        if off and (mode != 0 or m[MODE, i] == 0):
            note_against(clock, w, t)
        # a stuck mass rides on the belt; without this theta = 1/2 would ring for ever
        ringing = u if mode == 0 else 0.0
        u = 0.0 if mode == 0 else u
        stopped += mass * ringing * ringing
        lost += mass * ringing
        f[U, i] = u
        kinetic += mass * (u + belt) * (u + belt)
        spin, stretch = speed - speed_before, x - x_before
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
        pushed += f[SHARE, i] * speed
        ridden += force
        speed_before, x_before = speed, x
    return kinetic, stored, viscous, spread, inertia, heat, pushed, ridden - lost / h, stopped
