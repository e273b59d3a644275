"""Theta steps of short chains in which no mode changes.

Most steps of a short chain keep all modes; passing the arguments of the general kernels would take
longer than such a step. These kernels make successive steps without a mode change. The first step
with a mode change, a save time or a new load segment is left to the general kernels
(`exact_kernels`, the caller). Operations and their order are the same in both, so that results do
not depend on the kernel. A step solves A w + mu N Sgn(w) containing q for the slip rates w, with a
tridiagonal A (`step_kernels`), by the Thomas algorithm (`active_set_kernels`). p is the `Problem`,
`now` the `Progress`; `state` names the rows of f and m.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.active_set_kernels import LARGEST, agrees, forward_substitution
from stiction.chains.theta.state import (
    LoadSegment,
    Problem,
    Progress,
    Sine,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.chains.theta.step_kernels import Sums, close_ledger, load_at, time_after
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

__all__ = ["FEW", "steps_with_unchanged_modes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]

# longer chains change modes too often to gain from it
FEW = 32


@kernel
def steps_with_unchanged_modes(
    p: Problem,
    segments: Table[LoadSegment],
    sines: Table[Sine],
    f: Floats,
    m: ModeArray,
    now: Progress,
    steps: int,
) -> int:
    """Make at most `steps` steps, up to a mode change or a save time; return their number.

    Verified by: tests/unit/chains/theta/test_active_set.py::test_unchanged_modes_make_no_difference
    """
    n, belt_shift = p.n, p.theta * p.h * p.belt
    ends = segments[now.piece + 1].time if now.piece + 1 < len(segments) else np.inf
    pull = load = now.load
    made = 0
    while made < steps and now.step < p.n_step:
        t = time_after(p, now.step)
        # the general kernels handle save times and breakpoints of the load
        if now.save_at <= t or ends <= t:
            break
        if not p.steady:
            load = load_at(segments, sines, p.load_address, t, now.piece)
            pull = p.theta * load + (1.0 - p.theta) * now.load
        plate = p.plate_speed * (p.t_start + (now.step + p.theta) * p.h)
        # factors are valid, because no mode changes
        forward_substitution(n, f, m, pull, belt_shift, p.belt, p.plates, plate, 0, n)
        if not modes_persist(n, f, m, p.theta, p.jump):
            break
        now.load = load
        sums = slide(n, f, m, p.belt, p.h, p.rate)
        close_ledger(p, f, now, pull, sums)
        made += 1
    now.solves += made
    if made > 0:
        now.most_solves = max(now.most_solves, 1)
    return made


@kernel(inline=True)
def modes_persist(n: int, f: Floats, m: ModeArray, theta: float, jump: bool) -> bool:
    """Substitute backward; return whether all modes satisfy complementarity and persist."""
    system, motion, trial, modes = system_of(f), motion_of(f), trial_of(f), modes_of(m)
    good, size = True, 0.0
    value = after = further = 0.0
    for i in range(n - 1, -2, -1):
        value = 0.0
        if i >= 0:
            # backward substitution; mode i + 1 is tested once w_i is known
            value = (system.solution[i] + system.coupling[i + 1] * after) * system.inverse[i]
            system.solution[i] = value
            size += value * value
        if i + 1 < n:
            good = good & agrees(system, trial, modes, i + 1, value, after, further)
        if jump and i >= 0 and modes.now[i] != 0:
            # `cross_zero` handles a velocity that passes zero within the step
            good = good & (modes.now[i] * (value - (1.0 - theta) * motion.slip_rate[i]) > 0.0)
        further, after = after, value
    return good & (size < LARGEST)


@kernel(inline=True)
def slide(n: int, f: Floats, m: ModeArray, belt: float, h: float, rate: float) -> Sums:
    """Update all masses and return their sums for the ledger, as `update_kernels.move` does.

    Every mass slips in the direction of its mode here, so the tests of `move` are not needed.
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    kinetic = stored = viscous = rate_stored = inertia = heat = load_rate = belt_force = removed = (
        0.0
    )
    belt_momentum = speed_before = x_before = 0.0
    for i in range(n):
        w, mass, force = system.solution[i], masses.mass[i], trial.friction[i]
        motion.friction[i] = force
        # velocity change: v_theta = u + theta du
        du = (w - motion.slip_rate[i]) * rate
        speed = w + belt
        # compensated (Kahan) summation, because steps in x are small beside x
        step = h * speed - motion.x_low[i]
        x = motion.x[i] + step
        motion.x_low[i] = (x - motion.x[i]) - step
        motion.x[i] = x
        u = motion.slip_rate[i] + du
        inertia += mass * du * du
        stuck = modes.now[i] == 0
        # a stuck mass gets the belt speed, as in `move`
        removed_velocity = u if stuck else 0.0
        u = 0.0 if stuck else u
        removed += mass * removed_velocity * removed_velocity
        belt_momentum += mass * removed_velocity
        motion.slip_rate[i] = u
        kinetic += mass * (u + belt) * (u + belt)
        # energies of the link on the left
        elongation_rate, elongation = speed - speed_before, x - x_before
        stored += masses.stiffness[i] * elongation * elongation
        rate_stored += masses.stiffness[i] * elongation_rate * elongation_rate
        viscous += masses.damping[i] * elongation_rate * elongation_rate
        gain = -h * force * w
        heat += gain
        gain -= motion.heat_low[i]
        total = motion.heat[i] + gain
        motion.heat_low[i] = (total - motion.heat[i]) - gain
        motion.heat[i] = total
        load_rate += masses.load_vector[i] * speed
        belt_force += force
        speed_before, x_before = speed, x
    return Sums(
        kinetic,
        stored,
        viscous,
        rate_stored,
        inertia,
        heat,
        load_rate,
        belt_force - belt_momentum / h,
        removed,
    )
