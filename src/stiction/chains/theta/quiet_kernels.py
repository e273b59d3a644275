"""Steps of a few masses in which no mode changes: nothing but what such a step needs.

Most steps of a short chain are like that, and take less time than handing over the numbers of a
run. They are made here one after another; the first step that needs more is left untouched to
the general kernels. Arithmetic is the same in the same order, so that it makes no difference who
made a step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.pass_kernels import LARGEST, agrees, ahead
from stiction.chains.theta.step_kernels import (
    FORCE,
    HEAT,
    HEAT_LOW,
    LINK_C,
    LINK_K,
    LOAD,
    MASS,
    MODE,
    MOST,
    NEW_FORCE,
    PIECE,
    SAVE_AT,
    SHARE,
    SOLVES,
    STEP,
    X_LOW,
    Problem,
    Sums,
    U,
    X,
    close_books,
    load_at,
    time_after,
)
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import COUPLING, INVERSE, SOLUTION

__all__ = ["FEW", "quiet_steps"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# chains of more masses change too often, and have less to gain
FEW = 32


@kernel(borrows=True)
def quiet_steps(
    p: Problem,
    pieces: Floats,
    sines: Floats,
    f: Floats,
    m: Marks,
    clock: Floats,
    counter: Ints,
    steps: int,
) -> int:
    """Make up to `steps` steps while no mode changes and nothing is to be saved; return how many.

    Verified by: tests/unit/chains/theta/test_passes.py::test_quiet_steps_make_no_difference
    """
    n, ride = p.n, p.theta * p.h * p.belt
    last = pieces.shape[1] - 1
    ends = pieces[0, counter[PIECE] + 1] if counter[PIECE] < last else np.inf
    pull = load = clock[LOAD]
    made = 0
    while made < steps and counter[STEP] < p.n_step:
        t = time_after(p, counter[STEP])
        if clock[SAVE_AT] <= t or ends <= t:
            break
        if not p.steady:
            load = load_at(pieces, sines, p.load_address, t, counter[PIECE])
            pull = p.theta * load + (1.0 - p.theta) * clock[LOAD]
        plate = p.plate_speed * (p.t_start + (counter[STEP] + p.theta) * p.h)
        ahead(n, f, m, pull, ride, p.belt, p.plates, plate, 0, n)
        if not stays(n, f, m, p.theta, p.jump):
            break
        clock[LOAD] = load
        sums = slide(n, f, m, p.belt, p.h, p.rate)
        close_books(p, f, clock, counter, pull, sums)
        made += 1
    counter[SOLVES] += made
    if made > 0:
        counter[MOST] = max(counter[MOST], 1)
    return made


@kernel(borrows=True, within=True)
def stays(n: int, f: Floats, m: Marks, theta: float, jump: bool) -> bool:
    """Solve backward; return whether every mode fits the slip and lasts to the end of the step."""
    good, size = True, 0.0
    value = after = further = 0.0
    for i in range(n - 1, -2, -1):
        value = 0.0
        if i >= 0:
            value = (f[SOLUTION, i] + f[COUPLING, i + 1] * after) * f[INVERSE, i]
            f[SOLUTION, i] = value
            size += value * value
        if i + 1 < n:
            good = good & agrees(f, m, i + 1, value, after, further)
        if jump and i >= 0 and m[MODE, i] != 0:
            # a velocity that passes zero within the step is for `cross_zero`
            good = good & (m[MODE, i] * (value - (1.0 - theta) * f[U, i]) > 0.0)
        further, after = after, value
    return good & (size < LARGEST)


@kernel(borrows=True, within=True)
def slide(n: int, f: Floats, m: Marks, belt: float, h: float, rate: float) -> Sums:
    """Move all masses and return their sums for the ledger, as `move_kernels.move` does.

    What `move` looks for cannot happen here: every mass slips as its mode says.
    """
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    lost = speed_before = x_before = 0.0
    for i in range(n):
        w, mass, force = f[SOLUTION, i], f[MASS, i], f[NEW_FORCE, i]
        f[FORCE, i] = force
        du = (w - f[U, i]) * rate
        speed = w + belt
        step = h * speed - f[X_LOW, i]
        x = f[X, i] + step
        f[X_LOW, i] = (x - f[X, i]) - step
        f[X, i] = x
        u = f[U, i] + du
        inertia += mass * du * du
        stuck = m[MODE, i] == 0
        ringing = u if stuck else 0.0
        u = 0.0 if stuck else u
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
        gain -= f[HEAT_LOW, i]
        total = f[HEAT, i] + gain
        f[HEAT_LOW, i] = (total - f[HEAT, i]) - gain
        f[HEAT, i] = total
        pushed += f[SHARE, i] * speed
        ridden += force
        speed_before, x_before = speed, x
    return kinetic, stored, viscous, spread, inertia, heat, pushed, ridden - lost / h, stopped
