"""End of a theta step: state, ledger and events in one pass.

`step_kernels` has the equation of the step for the slip rate w at theta. `exact_kernels` and
`smooth_kernels` solve it and then call `update_state`, which makes the updates

    x = x + h (V + w),      u = u + (w - u) / theta,      u = 0 in stick

of displacements x and of slip rates u over a belt of speed V in a step of length h, adds the
energies of the step and records events. A single pass over the masses reads memory once; memory
traffic decides the time of long chains. p is the `Problem`, `now` the `Progress`; `state` names the
rows of f and m: w is `system.solution`, and the friction force `trial.friction`.
"""

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
    close_ledger,
    record_mode_changes,
    record_returned_heat,
    record_wrong_slip,
    time_after,
)
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

__all__ = ["update_state"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]


@kernel
def update_state(
    p: Problem,
    f: Floats,
    m: ModeArray,
    now: Progress,
    lists: Table[Listed],
    events: Events,
    pull: float,
    unchanged: bool,
    crossed: int,
) -> bool:
    """Update state and ledger by the slip rate w, and record mode changes; return whether any is.

    Source: formulas sheet, section 5, the discrete energy identity; the work of belt and
    plate follows from the same product with v_theta.
    Verified by: tests/properties/test_theta_energy.py::test_every_step_closes

    Parameters
    ----------
    unchanged : whether all modes are those of the last step
    crossed : number of masses that `cross_zero` listed
    """
    motion, trial = motion_of(f), trial_of(f)
    n, t, before = p.n, time_after(p, now.step), now.events
    done = 0
    # partial sums of BLOCK masses
    kinetic = stored = viscous = rate_stored = inertia = heat = load_rate = belt_force = removed = (
        0.0
    )
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        sums = move(f, m, now, first, last, t, p.belt, p.h, p.rate, p.exact)
        kinetic += sums.kinetic
        stored += sums.stored
        viscous += sums.viscous
        rate_stored += sums.rate_stored
        inertia += sums.inertia
        heat += sums.heat
        load_rate += sums.load_rate
        belt_force += sums.belt_force
        removed += sums.removed
        while done < crossed and lists[done].changed < last:
            # heat is computed with the friction in the step; after the step friction differs
            i = lists[done].changed
            trial.friction[i] = trial.friction_after[i]
            done += 1
        # events record the friction of the last step too, so they precede its replacement
        if not unchanged:
            record_mode_changes(f, m, now, events, t, first, last, p.belt)
        for i in range(first, last):
            motion.friction[i] = trial.friction[i]
    close_ledger(
        p,
        f,
        now,
        pull,
        Sums(kinetic, stored, viscous, rate_stored, inertia, heat, load_rate, belt_force, removed),
    )
    if now.events == before:
        return False
    now.rest_since = t
    return True


@kernel
def move(
    f: Floats,
    m: ModeArray,
    now: Progress,
    first: int,
    last: int,
    t: float,
    belt: float,
    h: float,
    rate: float,
    exact: bool,
) -> Sums:
    """Update the masses from `first` to before `last`; return their sums for the ledger.

    With set-valued friction (`exact`) also test that each mass slips in the direction of its mode.
    `rate` is 1 / theta.
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    modes = modes_of(m)
    kinetic = stored = viscous = rate_stored = inertia = heat = load_rate = belt_force = removed = (
        0.0
    )
    belt_momentum = 0.0
    speed_before = system.solution[first - 1] + belt if first > 0 else 0.0
    x_before = motion.x[first - 1] if first > 0 else 0.0
    for i in range(first, last):
        w, mass, force = system.solution[i], masses.mass[i], trial.friction[i]
        # velocity change: v_theta = u + theta du; steps with theta = 0 have written it
        du = (w - motion.slip_rate[i]) * rate if exact else trial.rate_change[i]
        speed = w + belt
        # compensated (Kahan) summation, because steps in x are small beside x
        step = h * speed - motion.x_low[i]
        x = motion.x[i] + step
        motion.x_low[i] = (x - motion.x[i]) - step
        motion.x[i] = x
        u = motion.slip_rate[i] + du
        inertia += mass * du * du
        mode = modes.trial[i]
        # a single rarely true condition: branches on modes would be mispredicted
        off = exact & ((mode * w < 0.0) | ((mode == 0) & (w != 0.0)))
        if off and (mode != 0 or modes.now[i] == 0):
            record_wrong_slip(now, w, t)
        # a stuck mass gets the belt speed; with theta = 1/2 w = 0 alone gives v_new = -v_old for
        # ever (formulas sheet, section 5)
        stuck = exact & (mode == 0)
        removed_velocity = u if stuck else 0.0
        u = 0.0 if stuck else u
        removed += mass * removed_velocity * removed_velocity
        # the belt takes this momentum, as a force belt_momentum / h
        belt_momentum += mass * removed_velocity
        motion.slip_rate[i] = u
        kinetic += mass * (u + belt) * (u + belt)
        # twice the energies of the link on the left, and its damping power
        elongation_rate, elongation = speed - speed_before, x - x_before
        stored += masses.stiffness[i] * elongation * elongation
        rate_stored += masses.stiffness[i] * elongation_rate * elongation_rate
        viscous += masses.damping[i] * elongation_rate * elongation_rate
        # friction heat -h F w with friction and slip rate at theta
        gain = -h * force * w
        heat += gain
        if gain < 0.0:
            record_returned_heat(now, -gain, t)
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
