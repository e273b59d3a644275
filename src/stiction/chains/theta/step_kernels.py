"""Kernels of one theta step that set-valued and regularised friction have in common.

The unknown is the slip rate w = v - V over the belt. With v_theta = V + w and
x_theta = x + theta h (V + w) the scheme of the formulas sheet, section 5, reads

    M dv / h + B w - F + friction(w) = 0,      B = C + theta h (K + K_plate),

with masses M, dampers C, springs K and plate springs K_plate, where F is the sum of all forces at x
+ theta h V and v = V, and dv = (w - u) / theta the change of velocity in the step, with the slip
rate u at its start. B acts through link elongations, so a rigid motion of stiff chains loses no
digits. `exact_kernels` solve for w with the set-valued law, `smooth_kernels` with a regularised
one; `update_kernels` update the state and the ledger. `state` names the rows of the arrays `f` and
`m`. In all kernels p is the `Problem`, `now` the `Progress`, `pull` the load f_theta [N], and
`step` the number of the step from 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.state import (
    ALGORITHMIC,
    FRICTION_AFTER,
    FRICTION_BEFORE,
    KINETIC,
    MASS,
    MODE_AFTER,
    MODE_BEFORE,
    PLACE,
    STORED,
    TIME,
    VELOCITY,
    VISCOUS,
    WORK,
    Events,
    LoadSegment,
    Problem,
    Progress,
    Saved,
    Sine,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.laws.law_kernels import OLD, law_value
from stiction.numerics.arrays import Table, Vector
from stiction.numerics.callback import call
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]


class Sums(NamedTuple):
    """Sums over masses in a step, for the ledger; `close_ledger` gives them their factors.

    kinetic, stored : twice the kinetic energy, and the energy of links, after the step [J]
    viscous, rate_stored : sums of c and of k times the squared rates of elongation [W], [J/s^2]
    inertia : sum of m times the squared velocity changes [J]
    heat : friction heat [J]
    load_rate, belt_force : velocity times load vector [m/s]; force of the belt on the masses [N]
    removed : twice the kinetic energy, relative to the belt, removed from stuck masses [J]
    """

    kinetic: float
    stored: float
    viscous: float
    rate_stored: float
    inertia: float
    heat: float
    load_rate: float
    belt_force: float
    removed: float


# return codes of a kernel
DONE, PAUSE, EVENTS_FULL, ALL_STUCK, NOT_FINITE = range(5)

# masses per partial sum: sums of sums lose fewer digits in long chains
BLOCK = 256
# save times this near the end of a step, in steps, count as its end
_SAME = 1e-9


@kernel
def mu_of(p: Problem, mu_kinetic: Vector, i: int, speed: float) -> float:
    """Return mu(speed) of mass i in slip, speed >= 0; with states, at their new values."""
    # with a constant coefficient no compiled law is called
    if p.constant:
        return mu_kinetic[i]
    return law_value(p.mu_address, speed, p.law_start + i * p.law_step)


@kernel
def slope_of(p: Problem, i: int, speed: float) -> float:
    """Return d mu / d speed of mass i in slip, speed >= 0."""
    if p.constant:
        return 0.0
    return law_value(p.slope_address, speed, p.law_start + i * p.law_step)


@kernel
def commit_states(p: Problem, f: Floats, now: Progress) -> None:
    """Commit the states of all contacts after an accepted step.

    Also record the largest ratio of the decrease of friction to inertia, -N mu' / (m / (theta h)).
    At 1 the diagonal of the tangent vanishes and the slip of the step is not unique.
    """
    system, masses = system_of(f), masses_of(f)
    # the law commits its states here only, so that rejected trials do not change them
    for i in range(p.n):
        # a stuck mass has no slip, unless it stopped within this step
        speed = abs(system.solution[i])
        if p.theta > 0.0:
            fall = -masses.normal_force[i] * slope_of(p, i, speed) / masses.inertia[i]
            now.steepest = max(now.steepest, fall)
        law_value(p.commit_address, speed, p.law_start + i * p.law_step)


@kernel
def jump_states(p: Problem, events: Events, first: int, last: int) -> None:
    """Apply the jumps of contact states at events `first` to `last` - 1."""
    for entry in range(first - events.first, last - events.first):
        i, before, after = (
            int(events.changes[entry, MASS]),
            events.changes[entry, MODE_BEFORE],
            events.changes[entry, MODE_AFTER],
        )
        # indices of "stick", "slip" and "reverse" in `friction.EVENTS`
        event = 0.0 if after == 0 else 1.0 if before == 0 else 2.0
        law_value(p.event_address, event, p.law_start + i * p.law_step)


@kernel(inline=True)
def time_after(p: Problem, step: int) -> float:
    """Return the time at which step number `step` (from 0) ends."""
    return p.t_end if step + 1 >= p.n_step else p.t_start + (step + 1) * p.h


@kernel
def load_at(
    segments: Table[LoadSegment], sines: Table[Sine], address: int, t: float, segment: int
) -> float:
    """Return the load [N] at time t, on the given segment."""
    line = segments[segment]
    pull = line.offset + line.rate * (t - line.time)
    # sines act on all segments
    for j in range(len(sines)):
        sine = sines[j]
        pull += sine.amplitude * sin(sine.frequency * t + sine.phase)
    if address != 0:
        pull += call(address, t)
    return pull


@kernel
def begin_step(
    p: Problem, segments: Table[LoadSegment], sines: Table[Sine], now: Progress
) -> float:
    """Read the load at the end of the step and return its value f_theta."""
    t = time_after(p, now.step)
    while now.piece + 1 < len(segments) and segments[now.piece + 1].time <= t:
        now.piece += 1
    # f_theta = theta f(t_{l+1}) + (1 - theta) f(t_l)
    before = now.load
    now.load = load_at(segments, sines, p.load_address, t, now.piece)
    return p.theta * now.load + (1.0 - p.theta) * before


@kernel
def forces(p: Problem, f: Floats, step: int, pull: float) -> None:
    """Write `force`: all forces but inertia and friction, with velocities equal to the belt's."""
    masses, motion, trial = masses_of(f), motion_of(f), trial_of(f)
    n = p.n
    belt_shift = p.theta * p.h * p.belt
    # link forces first, then their differences: K x would cancel digits (docs/decisions/08)
    left = masses.stiffness[0] * (motion.x[0] + belt_shift) + masses.damping[0] * p.belt
    for i in range(n):
        if i + 1 < n:
            right = masses.stiffness[i + 1] * (motion.x[i + 1] - motion.x[i])
        else:
            right = -masses.stiffness[n] * (motion.x[i] + belt_shift) - masses.damping[n] * p.belt
        trial.force[i] = (right - left) + masses.load_vector[i] * pull
        left = right
    # springs to the plate, which is at its place at theta
    if p.plates:
        plate = p.plate_speed * (p.t_start + (step + p.theta) * p.h)
        for i in range(n):
            trial.force[i] += masses.plate_stiffness[i] * (plate - motion.x[i] - belt_shift)


@kernel
def record_unconverged(p: Problem, now: Progress, size: float) -> None:
    """Count a step that did not converge, with the size of its residual."""
    if now.misses == 0:
        now.first_miss = time_after(p, now.step)
    now.misses += 1
    # the negated comparison counts NaN as the largest
    if not size <= now.worst_miss:
        now.worst_miss = size


@kernel(inline=True)
def close_ledger(p: Problem, f: Floats, now: Progress, pull: float, sums: Sums) -> None:
    """Add the sums over all masses, the last link and the plate to the ledger."""
    system, masses, motion = system_of(f), masses_of(f), motion_of(f)
    n, h, belt = p.n, p.h, p.belt
    kinetic, stored, viscous, rate_stored, inertia, heat, load_rate, belt_force, removed = sums
    rate, elongation = system.solution[n - 1] + belt, motion.x[n - 1]
    # the link on the right of the last mass
    stored += masses.stiffness[n] * elongation * elongation
    viscous += masses.damping[n] * rate * rate
    rate_stored += masses.stiffness[n] * rate * rate
    work = h * (pull * load_rate + belt * belt_force)
    if p.plates:
        plate_stored, plate_rate_stored, plate_work = plate_sums(p, f, now.step)
        stored += plate_stored
        rate_stored += plate_rate_stored
        work += plate_work
    # (theta - 1/2) (|dv|_M^2 + |dx|_K^2), and the kinetic energy removed from stuck masses
    dissipated = (p.theta - 0.5) * (inertia + h * h * rate_stored) + 0.5 * removed
    t = time_after(p, now.step)
    balance(now, t, 0.5 * kinetic, 0.5 * stored, work, h * viscous, dissipated, heat)
    now.step += 1


@kernel
def record_returned_heat(now: Progress, heat: float, t: float) -> None:
    """Add heat that friction returned to a mass in the step that ends at t."""
    if now.given == 0.0:
        now.given_time = t
    now.given += heat


@kernel
def record_wrong_slip(now: Progress, slip: float, t: float) -> None:
    """Record the largest slip rate against its mode, or of a stuck mass."""
    if abs(slip) > now.against:
        now.against, now.against_time = abs(slip), t


@kernel
def plate_sums(p: Problem, f: Floats, step: int) -> tuple[float, float, float]:
    """Return sum k_p d^2 [J], sum k_p d'^2 [J/s^2], and the work of the plate in the step [J].

    d, d' : elongations of the plate springs k_p after the step, and their rates
    """
    stored = rate_stored = work = 0.0
    system, masses, motion = system_of(f), masses_of(f), motion_of(f)
    place = p.plate_speed * (p.t_start + (step + 1) * p.h)
    for i in range(p.n):
        rate = p.plate_speed - (system.solution[i] + p.belt)
        elongation = place - motion.x[i]
        # the elongation at theta
        mean = elongation - (1.0 - p.theta) * p.h * rate
        # twice the stored energy; the work of the plate is its force at theta times V_p h
        stored += masses.plate_stiffness[i] * elongation * elongation
        rate_stored += masses.plate_stiffness[i] * rate * rate
        work += masses.plate_stiffness[i] * mean
    return stored, rate_stored, p.h * p.plate_speed * work


@kernel(inline=True)
def balance(
    now: Progress,
    t: float,
    kinetic: float,
    stored: float,
    work: float,
    viscous: float,
    dissipated: float,
    heat: float,
) -> None:
    """Add the energies of one step to the ledger, and record the largest imbalance.

    The identity of the scheme is dE - work + friction heat + viscous heat + dissipated = 0
    (formulas sheet, section 5).
    """
    # dE of the identity, from small differences rather than from the sum E
    change = (kinetic - now.kinetic) + (stored - now.stored)
    off = abs(change - work + heat + viscous + dissipated)
    # sums of many steps are compensated, so that the imbalance of a step stays visible
    now.kinetic, now.stored = kinetic, stored
    now.work, now.work_low = added(now.work, now.work_low, work)
    now.viscous, now.viscous_low = added(now.viscous, now.viscous_low, viscous)
    now.algorithmic, now.algorithmic_low = added(now.algorithmic, now.algorithmic_low, dissipated)
    now.heat, now.heat_low = added(now.heat, now.heat_low, heat)
    if -now.algorithmic > now.created:
        now.created, now.created_time = -now.algorithmic, t
    size = max(max(kinetic, stored), max(abs(now.work), now.heat))
    now.scale = max(now.scale, max(size, now.viscous))
    if off > now.worst * now.scale:
        now.worst = off / now.scale
        now.worst_time = t


@kernel(inline=True)
def added(old: float, low: float, value: float) -> tuple[float, float]:
    """Return old + value by compensated (Kahan) summation, and the new correction after `low`."""
    # `low` is what the last additions added too much by rounding
    value -= low
    total = old + value
    return total, (total - old) - value


@kernel
def save_step_start(p: Problem, f: Floats, law: Floats, now: Progress) -> None:
    """Copy the state at the start of a step that contains a save time."""
    motion, trial = motion_of(f), trial_of(f)
    for i in range(p.n):
        trial.x_before[i], trial.heat_before[i] = motion.x[i], motion.heat[i]
        trial.slip_rate_before[i] = motion.slip_rate[i]
    now.kinetic_before, now.stored_before, now.work_before = now.kinetic, now.stored, now.work
    now.viscous_before, now.algorithmic_before = now.viscous, now.algorithmic
    # states of the law before the step
    old = p.first_state + OLD * p.n_state
    for i in range(p.n if p.n_state > 0 else 0):
        for j in range(p.n_state):
            law[i, old + j] = law[i, p.first_state + j]


@kernel
def save_samples(
    p: Problem,
    f: Floats,
    m: ModeArray,
    law: Floats,
    now: Progress,
    saved: Saved,
) -> None:
    """Save the samples inside the last step, by linear interpolation between its ends.

    law : (n, numbers) parameters and states of each contact; OLD states are those before the step
    """
    masses, motion, trial, modes = masses_of(f), motion_of(f), trial_of(f), modes_of(m)
    t, old = time_after(p, now.step - 1), p.first_state + OLD * p.n_state
    sample = now.saved
    while sample < saved.time.size and saved.time[sample] <= t + _SAME * p.h:
        # fraction of the step that has elapsed at the save time
        back = (t - saved.time[sample]) / p.h
        new_part = 1.0 if back < _SAME else max(1.0 - back, 0.0)
        old_part = 1.0 - new_part
        for i in range(p.n):
            saved.x[sample, i] = old_part * trial.x_before[i] + new_part * motion.x[i]
            slip_rate = old_part * trial.slip_rate_before[i] + new_part * motion.slip_rate[i]
            saved.v[sample, i] = p.belt + slip_rate
            saved.heat[sample, i] = old_part * trial.heat_before[i] + new_part * motion.heat[i]
            # friction and mode are those at the end of the step
            saved.friction[sample, i] = trial.friction[i]
            saved.mode[sample, i] = modes.trial[i]
            for j in range(p.n_state):
                saved.state[sample, i, j] = (
                    old_part * law[i, old + j] + new_part * law[i, p.first_state + j]
                )
            if p.n_state > 0:
                saved.state[sample, i, p.n_state] = masses.stick_bound[i]
        # the columns of the ledger are interpolated in the same way
        columns = saved.sums[sample]
        columns[KINETIC] = old_part * now.kinetic_before + new_part * now.kinetic
        columns[STORED] = old_part * now.stored_before + new_part * now.stored
        columns[WORK] = old_part * now.work_before + new_part * now.work
        columns[VISCOUS] = old_part * now.viscous_before + new_part * now.viscous
        columns[ALGORITHMIC] = old_part * now.algorithmic_before + new_part * now.algorithmic
        sample += 1
    now.saved = sample
    now.save_at = saved.time[sample] - _SAME * p.h if sample < saved.time.size else np.inf


@kernel
def record_mode_changes(
    f: Floats,
    m: ModeArray,
    now: Progress,
    events: Events,
    t: float,
    first: int,
    last: int,
    belt: float,
) -> None:
    """Record mode changes of masses from `first` to before `last`; update the number that slip."""
    motion, trial, modes = motion_of(f), trial_of(f), modes_of(m)
    for i in range(first, last):
        if modes.trial[i] != modes.now[i]:
            sample = now.events - events.first
            events.values[sample, TIME] = t
            events.values[sample, PLACE] = motion.x[i]
            events.values[sample, VELOCITY] = motion.slip_rate[i] + belt
            events.values[sample, FRICTION_BEFORE] = motion.friction[i]
            events.values[sample, FRICTION_AFTER] = trial.friction[i]
            events.changes[sample, MASS] = i
            events.changes[sample, MODE_BEFORE] = modes.now[i]
            events.changes[sample, MODE_AFTER] = modes.trial[i]
            # update the number of slipping masses, |mode| is 1 in slip
            now.slipping += abs(int(modes.trial[i])) - abs(int(modes.now[i]))
            modes.now[i] = modes.trial[i]
            now.events += 1
