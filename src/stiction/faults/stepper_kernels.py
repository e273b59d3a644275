"""A Runge-Kutta march that asks for elastic stress whenever it needs it.

`advance` goes on until it needs the stress rate of the state on its trial row, and is called again
once that stands in `stress_rate`. So one march serves a dense stiffness, multiplied in compiled
code, and one that only a Fourier transform from outside can multiply.

Events and saved rows are shorter steps from the last accepted state: their states have the order
of the method, and what is saved changes no step.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.faults.balance_kernels import EVERY, put_in_balance
from stiction.faults.pressure_kernels import pressures
from stiction.faults.rate_kernels import Cell, coefficient, rates
from stiction.faults.state import March, Progress
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

Floats = npt.NDArray[np.float64]

# what a product is for: steps, looks inside them, stress of the slip, rates once it is put right
MARCH, LOCATE, SAVE, BALANCE, AFRESH = range(5)
# what is watched: the largest speed, and of a single cell the rates of speed, state, friction
FASTEST, SPEED, AGE, FRICTION = range(4)

# ---- what `advance` returns
NEED, DONE, PAUSE, STEP_TOO_SMALL, NOT_FINITE, OPENED = range(6)

# Dormand and Prince 1980, order 5 with an error of order 4
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
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
# steps that the time can tell, which is a sum of two doubles: after 10^4 events of a fault one step
# of an event is 1e-17 of the time
_SHORTEST = 1e-25
# friction is not put in balance so near to an event in ln V: none is passed over
_CLEAR = 1.5
# halvings and secants of one bracket; far fewer are needed
_MOST_TURNS = 60


@kernel
def _add_time(now: Progress, h: float) -> None:
    """Add h to the time, whose low part keeps what doubles lose over years of short steps."""
    low = h + now.time_low
    total = now.time + low
    now.time_low = low - (total - now.time)
    now.time = total


@kernel
def set_normal_stress(m: March, t: float) -> None:
    """Set the effective normal stress of every cell to that at time t [s]."""
    if len(m.fluid) == 0:
        return
    pressures(t, m.fluid, m.cells["pressure"], m.cells["pressure_rate"])
    for i in range(m.pull.size):
        cell = m.cells[i]
        cell.sigma = cell.normal_stress - cell.pressure


@kernel
def _ask(m: March) -> int:
    """Build the trial of the present stage and say that its stress rate is needed."""
    now, n = m.progress[0], m.pull.size
    s, h, plate_speed = now.stage, now.trial_step, now.plate_speed
    # stage after stage, so that the compiler takes several cells at once
    start, trial, size = m.state, m.trial, m.state.size
    for j in range(size):
        trial[j] = 0.0
    for r in range(s):
        stage, share = m.stages[r], _A[s, r]
        for j in range(size):
            trial[j] += share * stage[j]
    for j in range(size):
        trial[j] = start[j] + h * trial[j]
    for i in range(n):
        v = math.exp(trial[i])
        m.cells[i].speed, m.pull[i] = v, v - plate_speed
    now.asked += 1
    return NEED


@kernel
def _start_step(m: March, aim: int, h: float) -> int:
    """Start a step of length h from the accepted state, whose first stage is known."""
    now = m.progress[0]
    now.aim, now.stage, now.trial_step = aim, 1, h
    return _ask(m)


@kernel
def _fastest(row: Floats, n: int) -> int:
    """Return the cell of the largest speed."""
    best = 0
    for i in range(1, n):
        if row[i] > row[best]:
            best = i
    return best


@kernel
def _watched(now: Progress, cells: Table[Cell], state: Floats, rate: Floats) -> float:
    """Return what is watched, at a state with its rates."""
    which = now.which
    if which == FASTEST:
        return float(state[_fastest(state, len(cells))] - now.level)
    if which == SPEED:
        return float(rate[0])
    if which == AGE:
        return float(rate[1])
    # mu' = share (a x' + b q')
    return float(cells[0].a * rate[0] + cells[0].b * rate[1])


@kernel
def _note_extremes(m: March, state: Floats) -> None:
    """Widen the extremes by a state; of many cells the fastest one counts."""
    now, n = m.progress[0], m.pull.size
    i = _fastest(state, n)
    v, age = math.exp(state[i]), math.exp(state[n + i])
    mu, _ = coefficient(state[i], state[n + i], m.cells[i])
    now.v_least, now.v_most = min(now.v_least, v), max(now.v_most, v)
    now.age_least, now.age_most = min(now.age_least, age), max(now.age_most, age)
    now.mu_least, now.mu_most = min(now.mu_least, mu), max(now.mu_most, mu)


@kernel
def _write_trace(m: March) -> None:
    """Add a row to the trace if the fastest cell has changed enough since the last one."""
    row, n, now = m.state, m.pull.size, m.progress[0]
    i = _fastest(row, n)
    x, q = row[i], row[n + i]
    changed = max(abs(x - now.traced_v), abs(q - now.traced_age))
    if changed < now.apart or now.traced >= len(m.trace):
        return
    now.traced_v, now.traced_age = x, q
    out = m.trace[now.traced]
    out.time, out.step = now.time, now.step
    out.speed, out.age = math.exp(x), math.exp(q)
    mu, _ = coefficient(x, q, m.cells[i])
    out.friction, out.slip = mu, row[2 * n + i]
    now.traced += 1


@kernel
def _error(m: March) -> float:
    """Return the error of ln V and ln theta of the step over the tolerance; NaN where none is."""
    now, n = m.progress[0], m.pull.size
    h, worst = now.trial_step, 0.0
    for j in range(2 * n):
        total = 0.0
        for r in range(7):
            total += _E[r] * m.stages[r, j]
        size = abs(h * total)
        # a comparison with NaN is false both ways
        if not size <= worst:
            worst = size
            if not size < math.inf:
                return math.nan
    return float(worst / now.rtol)


@kernel
def _write_event(m: March) -> None:
    """Record an event: the trial is where the largest speed passes the level."""
    now, n, row = m.progress[0], m.pull.size, m.trial
    i, out = _fastest(row, n), m.events[now.events]
    before, low = now.time, now.time_low
    _add_time(now, now.trial_step)
    out.time, out.time_low = now.time, now.time_low
    now.time, now.time_low = before, low
    out.cell, out.up = i, 1 if now.at_high > 0.0 else 0
    out.speed, out.age = math.exp(row[i]), math.exp(row[n + i])
    total = 0.0
    for j in range(n):
        total += row[2 * n + j]
    out.slip = total / n
    out.largest = math.nan
    mu, _ = coefficient(row[i], row[n + i], m.cells[i])
    out.friction = mu
    if out.up == 1:
        _begin_event(m, out.time)
    elif now.onsets > 0:
        most = 0.0
        for j in range(n):
            most = max(most, row[2 * n + j] - m.cells[j].onset_slip)
        # to the slip beyond the plates' comes what they moved meanwhile
        out.largest = most + now.plate_speed * (out.time - now.onset_at)
    for j in range(n):
        m.cells[j].event_slip = row[2 * n + j]
    now.events += 1


@kernel
def _begin_event(m: March, at: float) -> None:
    """Remember the slip at an onset; from the second one on extremes are of cycles alone."""
    now, n = m.progress[0], m.pull.size
    for j in range(n):
        m.cells[j].onset_slip = m.trial[2 * n + j]
    now.onset_at = at
    now.onsets += 1
    if now.onsets == 2:
        now.v_least = now.age_least = now.mu_least = math.inf
        now.v_most = now.age_most = now.mu_most = -math.inf


@kernel
def _locate_next(m: March) -> int:
    """Look for the next change of sign within the accepted step; then for saved times."""
    now, most = m.progress[0], 4 if m.pull.size == 1 else 1
    while now.which < most:
        a = _watched(now, m.cells, m.state, m.stages[0])
        b = _watched(now, m.cells, m.next_state, m.next_stage)
        if (a > 0.0) != (b > 0.0):
            now.low, now.high, now.at_low, now.at_high = 0.0, now.step, a, b
            now.turns = now.side = 0
            return _start_step(m, LOCATE, _secant(now))
        now.which += 1
    return _save_next(m)


@kernel
def _secant(now: Progress) -> float:
    """Return where the line between the ends of the bracket is zero, kept inside it."""
    low, high = now.low, now.high
    part = now.at_low / (now.at_low - now.at_high)
    return float(low + (high - low) * min(max(part, 1e-3), 1.0 - 1e-3))


@kernel
def _narrow(m: March) -> int:
    """Narrow the bracket by the trial; write the event when it is found."""
    now = m.progress[0]
    h, value = now.trial_step, _watched(now, m.cells, m.trial, m.stages[6])
    now.turns += 1
    # Illinois: an end that stays twice counts half
    if (value > 0.0) == (now.at_low > 0.0):
        now.low, now.at_low = h, value
        now.at_high *= 0.5 if now.side == 1 else 1.0
        now.side = 1
    else:
        now.high, now.at_high = h, value
        now.at_low *= 0.5 if now.side == 2 else 1.0
        now.side = 2
    is_event = now.which == FASTEST
    # an extreme is flat: half the digits of its place give all of its value
    narrow = now.high - now.low <= (4e-16 if is_event else 1e-8) * now.step
    flat = abs(value) <= (1e-15 if is_event else 0.0)
    if not (narrow or flat or now.turns >= _MOST_TURNS):
        return _start_step(m, LOCATE, _secant(now))
    if now.which == FASTEST:
        _write_event(m)
    else:
        _note_extremes(m, m.trial)
    now.which += 1
    return _locate_next(m)


@kernel
def _save_next(m: March) -> int:
    """Make the state at the next saved time within the accepted step; then accept it."""
    now = m.progress[0]
    while now.saved < m.saves.size:
        h = (m.saves[now.saved] - now.time) - now.time_low
        if h > now.step:
            break
        if h > 0.0:
            return _start_step(m, SAVE, h)
        _keep(m, m.state)
    return _accept(m)


@kernel
def _keep(m: March, state: Floats) -> None:
    """Keep a state as that of the next saved time."""
    now = m.progress[0]
    for j in range(state.size):
        m.kept[now.saved, j] = state[j]
    now.saved += 1


@kernel
def _accept(m: March) -> int:
    """Go on from the next state, with the step that the error allows."""
    now = m.progress[0]
    for j in range(m.state.size):
        m.state[j], m.stages[0, j] = m.next_state[j], m.next_stage[j]
    _add_time(now, now.step)
    _note_extremes(m, m.state)
    _write_trace(m)
    now.steps += 1
    now.left -= 1
    error = max(now.error, 1e-10)
    now.step *= min(_GROW, max(_SHRINK, _SAFETY * error**-0.2))
    now.since += 1
    if now.since >= EVERY:
        n = m.pull.size
        if abs(m.state[_fastest(m.state, n)] - now.level) > _CLEAR:
            return _ask_balance(m)
    return _go_on(m)


@kernel
def _ask_balance(m: March) -> int:
    """Ask for the stress of the slip."""
    now, n = m.progress[0], m.pull.size
    for i in range(n):
        m.pull[i] = m.state[2 * n + i]
    now.aim, now.since = BALANCE, 0
    now.asked += 1
    return NEED


@kernel
def _put_in_balance(m: March) -> int:
    """Correct the speeds by the stress that was asked for, and ask for its rate."""
    state, now, n = m.state, m.progress[0], m.pull.size
    own, plate_speed, largest = now.own_stiffness, now.plate_speed, 0.0
    for i in range(n):
        start = m.cells[i].stress_start
        largest = max(largest, abs(start), own * abs(m.pull[i]))
        m.stress_rate[i] += start
    off = put_in_balance(state, m.stress_rate, m.cells, now.rtol, largest)
    now.off_balance = max(now.off_balance, off)
    for j in range(m.state.size):
        m.trial[j] = state[j]
    for i in range(n):
        v = math.exp(state[i])
        m.cells[i].speed, m.pull[i] = v, v - plate_speed
    now.aim = AFRESH
    now.asked += 1
    return NEED


@kernel
def _go_on(m: March) -> int:
    """After an accepted step: the end, a pause, or the next step."""
    now = m.progress[0]
    # whoever calls again starts a step
    now.stage = -1
    if (now.t_end - now.time) - now.time_low <= 0.0:
        return DONE
    full = now.events >= len(m.events) or now.traced >= len(m.trace)
    if now.left <= 0 or full:
        return PAUSE
    return _next_step(m)


@kernel
def _next_step(m: March) -> int:
    """Start the next step of the march, not beyond the end."""
    now = m.progress[0]
    rest = (now.t_end - now.time) - now.time_low
    now.step = min(now.step, rest)
    if now.step <= _SHORTEST * abs(now.time) and now.step < rest:
        return STEP_TOO_SMALL
    now.which = 0
    return _start_step(m, MARCH, now.step)


@kernel
def _judge(m: March) -> int:
    """Take the step of the march, or try a shorter one."""
    now = m.progress[0]
    error = _error(m)
    if error <= 1.0:
        # the normal stress is that of the end of the step
        for i in range(m.pull.size):
            if m.cells[i].sigma <= 0.0:
                return OPENED
        now.error = error
        for j in range(m.state.size):
            m.next_state[j], m.next_stage[j] = m.trial[j], m.stages[6, j]
        return _locate_next(m)
    now.rejected += 1
    if math.isnan(error):
        now.step *= _SHRINK
    else:
        now.step *= max(_SHRINK, _SAFETY * error**-0.2)
    if now.step < 1e-280:
        return NOT_FINITE
    return _next_step(m)


@kernel
def _first_step(m: March) -> float:
    """Return a step in which no logarithm changes by more than a thousandth."""
    fastest = 0.0
    for j in range(2 * m.pull.size):
        fastest = max(fastest, abs(m.stages[0, j]))
    return 1e-3 / fastest if fastest > 0.0 else 1.0


@kernel
def advance(m: March) -> int:
    """Go on until a stress rate is needed, or there is something to tell.

    Returns
    -------
    int : NEED, DONE, PAUSE after `left` steps or full buffers, STEP_TOO_SMALL, NOT_FINITE, or
        OPENED where the pore pressure has reached the normal stress
    """
    now = m.progress[0]
    s, aim, h = now.stage, now.aim, now.trial_step
    if s < 0:
        return _next_step(m)
    ahead = _C[s] * h if aim < BALANCE else 0.0
    set_normal_stress(m, now.time + (now.time_low + ahead))
    if aim == BALANCE:
        return _put_in_balance(m)
    if aim == AFRESH:
        s = 0
    elif s == 0:
        for i in range(m.pull.size):
            m.cells[i].speed = math.exp(m.trial[i])
    rates(m.trial, m.stress_rate, m.cells, now.plate_speed, m.stages[s])
    if aim == AFRESH:
        return _go_on(m)
    if s == 0:
        now.step = _first_step(m)
        return _next_step(m)
    if s < 6:
        now.stage = s + 1
        return _ask(m)
    if aim == MARCH:
        return _judge(m)
    if aim == LOCATE:
        return _narrow(m)
    _keep(m, m.trial)
    return _save_next(m)


@kernel(separate=True)
def march_dense(m: March, stiffness: Floats) -> int:
    """March with a dense stiffness (n, n) [Pa/m] until there is something to tell."""
    code = advance(m)
    while code == NEED:
        n = m.pull.size
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += stiffness[i, j] * m.pull[j]
            m.stress_rate[i] = total
        code = advance(m)
    return code
