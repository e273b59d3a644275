"""Adaptive Runge-Kutta steps of order 5 of faults, location of events, and saved states.

Unknowns are x = ln V and q = ln theta of every cell, slip speed V and state theta. They satisfy
sigma mu(V, theta) + eta V = tau0 + K s, with effective normal stress sigma, radiation damping eta,
initial shear stress tau0, stiffness K, and slip s less that of the plates; `rate_kernels.rates` has
the differential equations dy/dt = f(y). m is the tuple `state.MethodState`. The steps use
reverse communication: `advance` returns NEED when it needs the product of the stiffness and
`operand`; the caller writes it to `stress_rate` and calls `advance` again. So the same stepper
works with a dense stiffness in compiled code and with a convolution by fast Fourier transforms in
Python.

States at events and saved times result from shorter steps from the last accepted state. So they
have the order of the method, and saved times do not change the steps.

The order of a step: six further stages (`_request_stage`), the error estimate
(`_accept_or_reject`), events and extremes within the step (`_locate_next`, `_update_bracket`),
saved times (`_save_next`), acceptance (`_accept`), every 32 steps a projection (`_project`), and
the next step. `run` calls `integrate_dense` or `advance`; `member_kernels` calls `integrate_dense`.

Source: Dormand and Prince 1980, J. Comput. Appl. Math. 6, 19.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.faults.pressure_kernels import pressures
from stiction.faults.projection_kernels import EVERY, project_equilibrium
from stiction.faults.rate_kernels import Cell, coefficient, rates
from stiction.faults.state import MethodState, Progress
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

Floats = npt.NDArray[np.float64]

# purpose of a product: a step, a root within it, a saved time within it, the stress for the
# projection, the rates after it
STEP, LOCATE, SAVE, PROJECT, RESTART = range(5)
# monitored quantities, whose sign changes are located: the largest ln V less the level (events);
# for a single cell the rates of speed, state and friction (extremes)
FASTEST, SPEED, AGE, FRICTION = range(4)

# return codes of `advance`
NEED, DONE, PAUSE, STEP_TOO_SMALL, NOT_FINITE, OPENED = range(6)

# Dormand and Prince 1980, order 5 with embedded order 4: coefficients a_sr, nodes c_s, and the
# weights of the error, the differences of the two sets of b_s
_A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_C = _A.sum(axis=1)
_E = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
# index of the last stage, whose rates are those of the end of the step
_LAST = 6
# safety factor and bounds of the ratio of successive steps; the usual values
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
# shortest step over the time: the time is a sum of two doubles, and after 10^4 events of a fault a
# step of an event is 1e-17 of it
_SHORTEST = 1e-25
# distance from the level in ln V below which no projection is made: it might cross the level, by
# `projection_kernels._MOST` at most
_EVENT_DISTANCE = 1.5
# largest number of secants of one bracket
_MOST_SECANTS = 60


@kernel
def _add_time(now: Progress, h: float) -> None:
    """Add h [s] to the time by compensated summation; `time_low` is the rounding error."""
    # Kahan summation: in 1e10 s a double resolves 2e-6 s, and steps of an event are 1e-3 s
    low = h + now.time_low
    total = now.time + low
    now.time_low = low - (total - now.time)
    now.time = total


@kernel
def set_normal_stress(m: MethodState, t: float, after: bool) -> None:
    """Set the effective normal stress of every cell to that at time t [s], and its rate.

    `after` selects the rate after a jump at t, see `pressures`.
    """
    if len(m.fluid) == 0:
        return
    pressures(t, after, m.fluid, m.cells["pressure"], m.cells["pressure_rate"])
    for i in range(m.operand.size):
        cell = m.cells[i]
        cell.sigma = cell.normal_stress - cell.pressure


@kernel
def _request_stage(m: MethodState) -> int:
    """Compute the trial state y + h sum_r a_sr k_r of stage s; request its stress rate."""
    now, n = m.progress[0], m.operand.size
    s, h, plate_speed = now.stage, now.trial_step, now.plate_speed
    # the loop over components is the inner one, for vectorisation
    start, trial, size = m.state, m.trial, m.state.size
    for j in range(size):
        trial[j] = 0.0
    for r in range(s):
        stage, weight = m.stages[r], _A[s, r]
        for j in range(size):
            trial[j] += weight * stage[j]
    for j in range(size):
        trial[j] = start[j] + h * trial[j]
    # the stress rate is K (V - plate speed)
    for i in range(n):
        v = math.exp(trial[i])
        m.cells[i].speed, m.operand[i] = v, v - plate_speed
    now.asked += 1
    return NEED


@kernel
def _start_step(m: MethodState, aim: int, h: float) -> int:
    """Start a step of length h [s] from the accepted state, whose first stage is known."""
    now = m.progress[0]
    now.aim, now.stage, now.trial_step = aim, 1, h
    return _request_stage(m)


@kernel
def _fastest(state: Floats, n: int) -> int:
    """Return the index of the cell of the largest speed."""
    best = 0
    for i in range(1, n):
        if state[i] > state[best]:
            best = i
    return best


@kernel
def _monitored(now: Progress, cells: Table[Cell], state: Floats, rate: Floats) -> float:
    """Return the monitored quantity of a state (4 n + 2,) and its rates (4 n + 2,).

    `rate_kernels.rates` has their layout. For a single cell entry 0 is ln V, and entry 1 ln theta.
    """
    which = now.which
    if which == FASTEST:
        return float(state[_fastest(state, len(cells))] - now.level)
    if which == SPEED:
        return float(rate[0])
    if which == AGE:
        return float(rate[1])
    # d(mu)/dt is proportional to a dx/dt + b dq/dt
    return float(cells[0].a * rate[0] + cells[0].b * rate[1])


@kernel
def _update_extremes(m: MethodState, state: Floats) -> None:
    """Update the extremes of speed, state and friction by the fastest cell of a state."""
    now, n = m.progress[0], m.operand.size
    i = _fastest(state, n)
    v, age = math.exp(state[i]), math.exp(state[n + i])
    mu, _ = coefficient(state[i], state[n + i], m.cells[i])
    now.v_least, now.v_most = min(now.v_least, v), max(now.v_most, v)
    now.v_peak = max(now.v_peak, v)
    now.age_least, now.age_most = min(now.age_least, age), max(now.age_most, age)
    now.mu_least, now.mu_most = min(now.mu_least, mu), max(now.mu_most, mu)


@kernel
def _write_trace(m: MethodState) -> None:
    """Add a sample to the trace if the fastest cell has changed enough since the last one."""
    state, n, now = m.state, m.operand.size, m.progress[0]
    i = _fastest(state, n)
    x, q = state[i], state[n + i]
    changed = max(abs(x - now.traced_v), abs(q - now.traced_age))
    if changed < now.apart or now.traced >= len(m.trace):
        return
    now.traced_v, now.traced_age = x, q
    out = m.trace[now.traced]
    out.time, out.step = now.time, now.step
    out.speed, out.age = math.exp(x), math.exp(q)
    mu, _ = coefficient(x, q, m.cells[i])
    out.friction, out.slip = mu, state[2 * n + i]
    now.traced += 1


@kernel
def _error(m: MethodState) -> float:
    """Return the largest error of ln V and ln theta over the tolerance; NaN if not finite."""
    now, n = m.progress[0], m.operand.size
    h, worst = now.trial_step, 0.0
    for j in range(2 * n):
        total = 0.0
        for r in range(_LAST + 1):
            total += _E[r] * m.stages[r, j]
        size = abs(h * total)
        # true for NaN too
        if not size <= worst:
            worst = size
            if not size < math.inf:
                return math.nan
    return float(worst / now.rtol)


@kernel
def _write_event(m: MethodState) -> None:
    """Record an event at the trial state, where the largest speed crosses the level."""
    now, n, state = m.progress[0], m.operand.size, m.trial
    i, out = _fastest(state, n), m.events[now.events]
    # the time of the trial as a sum of two numbers; the accepted time is restored
    before, low = now.time, now.time_low
    _add_time(now, now.trial_step)
    out.time, out.time_low = now.time, now.time_low
    now.time, now.time_low = before, low
    out.cell, out.up = i, 1 if now.at_high > 0.0 else 0
    out.speed, out.age = math.exp(state[i]), math.exp(state[n + i])
    # mean slip over the cells
    total = 0.0
    for j in range(n):
        total += state[2 * n + j]
    out.slip = total / n
    out.largest = math.nan
    mu, _ = coefficient(state[i], state[n + i], m.cells[i])
    out.friction = mu
    if out.up == 1:
        _begin_event(m, out.time)
    elif now.onsets > 0:
        most = 0.0
        for j in range(n):
            most = max(most, state[2 * n + j] - m.cells[j].onset_slip)
        # add the displacement of the plates since the onset
        out.largest = most + now.plate_speed * (out.time - now.onset_at)
    # profile of the event
    for j in range(n):
        m.cells[j].event_slip = state[2 * n + j]
    now.events += 1


@kernel
def _begin_event(m: MethodState, at: float) -> None:
    """Store the slip at an onset; reset the extremes at the second onset, after the transient."""
    now, n = m.progress[0], m.operand.size
    for j in range(n):
        m.cells[j].onset_slip = m.trial[2 * n + j]
    now.onset_at = at
    now.onsets += 1
    if now.onsets == 2:
        now.v_least = now.age_least = now.mu_least = math.inf
        now.v_most = now.age_most = now.mu_most = -math.inf


@kernel
def _locate_next(m: MethodState) -> int:
    """Bracket the next sign change of a monitored quantity; without one compute saved times."""
    now, most = m.progress[0], 4 if m.operand.size == 1 else 1
    while now.which < most:
        a = _monitored(now, m.cells, m.state, m.stages[0])
        b = _monitored(now, m.cells, m.next_state, m.next_stage)
        if (a > 0.0) != (b > 0.0):
            now.low, now.high, now.at_low, now.at_high = 0.0, now.step, a, b
            now.turns = now.side = 0
            return _start_step(m, LOCATE, _secant(now))
        now.which += 1
    return _save_next(m)


@kernel
def _secant(now: Progress) -> float:
    """Return the root of the secant of the bracket [s], limited to its interior."""
    low, high = now.low, now.high
    fraction = now.at_low / (now.at_low - now.at_high)
    return float(low + (high - low) * min(max(fraction, 1e-3), 1.0 - 1e-3))


@kernel
def _update_bracket(m: MethodState) -> int:
    """Update the bracket by the trial; record the event or extremum if it has converged."""
    now = m.progress[0]
    h, value = now.trial_step, _monitored(now, m.cells, m.trial, m.stages[_LAST])
    now.turns += 1
    # Illinois variant of regula falsi: the value at an end that is retained twice is halved
    if (value > 0.0) == (now.at_low > 0.0):
        now.low, now.at_low = h, value
        now.at_high *= 0.5 if now.side == 1 else 1.0
        now.side = 1
    else:
        now.high, now.at_high = h, value
        now.at_low *= 0.5 if now.side == 2 else 1.0
        now.side = 2
    is_event = now.which == FASTEST
    # an extremum is flat: half the digits of its time give all digits of its value
    narrow = now.high - now.low <= (4e-16 if is_event else 1e-8) * now.step
    flat = abs(value) <= (1e-15 if is_event else 0.0)
    if not (narrow or flat or now.turns >= _MOST_SECANTS):
        return _start_step(m, LOCATE, _secant(now))
    if now.which == FASTEST:
        _write_event(m)
    else:
        _update_extremes(m, m.trial)
    # the next monitored quantity, within the same step
    now.which += 1
    return _locate_next(m)


@kernel
def _save_next(m: MethodState) -> int:
    """Compute the state at the next saved time within the step; then accept the step."""
    now = m.progress[0]
    while now.saved < m.saves.size:
        h = (m.saves[now.saved] - now.time) - now.time_low
        if h > now.step:
            break
        if h > 0.0:
            return _start_step(m, SAVE, h)
        _save_state(m, m.state)
    return _accept(m)


@kernel
def _save_state(m: MethodState, state: Floats) -> None:
    """Save a state as that of the next saved time."""
    now = m.progress[0]
    for j in range(state.size):
        m.saved_states[now.saved, j] = state[j]
    now.saved += 1


@kernel
def _accept(m: MethodState) -> int:
    """Accept the step; choose the length of the next one from the error estimate."""
    now = m.progress[0]
    for j in range(m.state.size):
        m.state[j], m.stages[0, j] = m.next_state[j], m.next_stage[j]
    _add_time(now, now.step)
    jump = _at_jump(m)
    _update_extremes(m, m.state)
    _write_trace(m)
    now.steps += 1
    now.left -= 1
    # the error of the embedded order 4 is proportional to h^5
    error = max(now.error, 1e-10)
    now.step *= min(_GROW, max(_SHRINK, _SAFETY * error**-0.2))
    now.since += 1
    if jump:
        return _request_rates(m)
    # a projection changes speeds: next to an event it might cross the level
    if now.since >= EVERY:
        n = m.operand.size
        if abs(m.state[_fastest(m.state, n)] - now.level) > _EVENT_DISTANCE:
            return _request_stress(m)
    return _after_step(m)


@kernel
def _at_jump(m: MethodState) -> bool:
    """Return whether the accepted time is the start or the end of injection; round it to that.

    There the rate of the pressure jumps, and the last stage has the rate before the jump.
    """
    now = m.progress[0]
    for k in range(len(m.fluid)):
        for jump in (0.0, m.fluid[k].until):
            away = abs((now.time - jump) + now.time_low)
            if away < math.inf and away <= 4e-16 * max(abs(jump), now.step):
                now.time, now.time_low = jump, 0.0
                return True
    return False


@kernel
def _request_stress(m: MethodState) -> int:
    """Request the elastic stress, the product of stiffness and slip."""
    now, n = m.progress[0], m.operand.size
    for i in range(n):
        m.operand[i] = m.state[2 * n + i]
    now.aim, now.since = PROJECT, 0
    now.asked += 1
    return NEED


@kernel
def _project(m: MethodState) -> int:
    """Project the speeds onto the balance of stress; request the stress rate of the result.

    `stress_rate` holds the requested product K s, and becomes the stress tau0 + K s.
    """
    state, now, n = m.state, m.progress[0], m.operand.size
    own_stiffness, largest = now.own_stiffness, 0.0
    # tau = tau0 + K s, and the largest of its terms for the rounding error
    for i in range(n):
        start = m.cells[i].stress_start
        largest = max(largest, abs(start), own_stiffness * abs(m.operand[i]))
        m.stress_rate[i] += start
    residual = project_equilibrium(state, m.stress_rate, m.cells, now.rtol, largest)
    now.off_balance = max(now.off_balance, residual)
    return _request_rates(m)


@kernel
def _request_rates(m: MethodState) -> int:
    """Request the stress rate of the accepted state, for the first stage of the next step."""
    now = m.progress[0]
    for j in range(m.state.size):
        m.trial[j] = m.state[j]
    for i in range(m.operand.size):
        v = math.exp(m.state[i])
        m.cells[i].speed, m.operand[i] = v, v - now.plate_speed
    now.aim = RESTART
    now.asked += 1
    return NEED


@kernel
def _after_step(m: MethodState) -> int:
    """End, pause, or start the next step, after an accepted step."""
    now = m.progress[0]
    # the next call starts a step
    now.stage = -1
    if (now.t_end - now.time) - now.time_low <= 0.0:
        return DONE
    full = now.events >= len(m.events) or now.traced >= len(m.trace)
    if now.left <= 0 or full:
        return PAUSE
    return _next_step(m)


@kernel
def _next_step(m: MethodState) -> int:
    """Start the next step, limited by the end time, and by the start and end of injection."""
    now = m.progress[0]
    remaining = (now.t_end - now.time) - now.time_low
    now.step = min(now.step, remaining)
    for k in range(len(m.fluid)):
        for jump in (0.0, m.fluid[k].until):
            gap = (jump - now.time) - now.time_low
            if gap > 0.0:
                now.step = min(now.step, gap)
    if now.step <= _SHORTEST * abs(now.time) and now.step < remaining:
        return STEP_TOO_SMALL
    now.which = 0
    return _start_step(m, STEP, now.step)


@kernel
def _accept_or_reject(m: MethodState) -> int:
    """Accept the step if its error is within the tolerance, else try a shorter one."""
    now = m.progress[0]
    error = _error(m)
    if error <= 1.0:
        # `sigma` is that at the end of the step
        for i in range(m.operand.size):
            if m.cells[i].sigma <= 0.0:
                return OPENED
        # events and saved times within the step are computed before its acceptance
        now.error = error
        for j in range(m.state.size):
            m.next_state[j], m.next_stage[j] = m.trial[j], m.stages[_LAST, j]
        return _locate_next(m)
    now.rejected += 1
    # rates that are not finite have no error estimate: the largest reduction
    if math.isnan(error):
        now.step *= _SHRINK
    else:
        now.step *= max(_SHRINK, _SAFETY * error**-0.2)
    if now.step < 1e-280:
        return NOT_FINITE
    return _next_step(m)


@kernel
def _first_step(m: MethodState) -> float:
    """Return an initial step [s] in which no logarithm changes by more than about 1e-3."""
    fastest, now = 0.0, m.progress[0]
    for j in range(2 * m.operand.size):
        fastest = max(fastest, abs(m.stages[0, j]))
    return 1e-3 / fastest if fastest > 0.0 else now.t_end - now.time


@kernel
def advance(m: MethodState) -> int:
    """Integrate until a product with the stiffness is needed, or until a pause.

    Returns
    -------
    int : NEED: a product is needed; DONE: the end time is reached; PAUSE: `left` steps are made or
        a buffer is full; STEP_TOO_SMALL; NOT_FINITE; OPENED: the pore pressure has reached the
        normal stress
    """
    now = m.progress[0]
    s, aim, h = now.stage, now.aim, now.trial_step
    if s < 0:
        return _next_step(m)
    # normal stress at the time of the stage; for PROJECT and RESTART at that of the accepted state
    offset = _C[s] * h if aim < PROJECT else 0.0
    # the first stage has the rate of the pressure after a jump, other stages that before it
    set_normal_stress(m, now.time + (now.time_low + offset), s == 0 or aim >= PROJECT)
    if aim == PROJECT:
        return _project(m)
    # RESTART evaluates the first stage after a projection
    if aim == RESTART:
        s = 0
    elif s == 0:
        for i in range(m.operand.size):
            m.cells[i].speed = math.exp(m.trial[i])
    # `stress_rate` holds the requested product: compute the rates of its stage
    rates(m.trial, m.stress_rate, m.cells, now.plate_speed, m.stages[s])
    if aim == RESTART:
        return _after_step(m)
    # the first product of a run: no step is known yet
    if s == 0:
        _update_extremes(m, m.state)
        now.step = _first_step(m)
        return _next_step(m)
    if s < _LAST:
        now.stage = s + 1
        return _request_stage(m)
    # all stages are known: the purpose of the trial decides what follows
    if aim == STEP:
        return _accept_or_reject(m)
    if aim == LOCATE:
        return _update_bracket(m)
    _save_state(m, m.trial)
    return _save_next(m)


@kernel(separate=True)
def integrate_dense(m: MethodState, stiffness: Floats) -> int:
    """Integrate with a dense stiffness (n, n) [Pa/m]; return a code of `advance` except NEED."""
    code = advance(m)
    while code == NEED:
        n = m.operand.size
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += stiffness[i, j] * m.operand[j]
            m.stress_rate[i] = total
        code = advance(m)
    return code
