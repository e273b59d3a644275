"""A Runge-Kutta march that asks for elastic stress whenever it needs it.

`advance` goes on until it needs the stress rate of the state on its trial row, and is called again
once that stands in `stress_rate`. So one march serves a dense stiffness, multiplied in compiled
code, and one that only a Fourier transform from outside can multiply.

Events and saved rows are shorter steps from the last accepted state: their states have the order
of the method, and what is saved changes no step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults.balance_kernels import EVERY, put_in_balance
from stiction.faults.pressure_kernels import pressures
from stiction.faults.rate_kernels import (
    PRESSURE,
    PRESSURE_RATE,
    REGULARISED,
    SIGMA,
    TOTAL,
    A,
    B,
    coefficient,
    rates,
)
from stiction.numerics.jit import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# ---- rows of `work`: seven stages, those of the next step's first, the last accepted state, the
# next one, the trial, and the states at the last onset and at the last event of either kind
K_NEXT = 7
STATE, NEXT, TRIAL, ONSET, PASSED = 8, 9, 10, 11, 12
WORK_ROWS = 13

# ---- entries of `number`
TIME, TIME_LOW, STEP, TRY_STEP, RTOL, PLATE, LEVEL = range(7)
# the bracket in which an event is looked for: lengths of steps, and values there
LOW, HIGH, AT_LOW, AT_HIGH = range(7, 11)
ERROR = 11
# extremes of speed, state and friction since they were last reset
V_LEAST, V_MOST, AGE_LEAST, AGE_MOST, MU_LEAST, MU_MOST = range(12, 18)
T_END, ONSET_AT = 18, 19
# the last row of the trace, and how far apart rows are in ln V or ln theta
TRACED_V, TRACED_AGE, APART = 20, 21, 22
# the worst distance from balance that was put right, and stress of a cell by its own slip [Pa/m]
OFF_BALANCE, OWN = 23, 24
NUMBERS = 25

# ---- entries of `counts`
STAGE, AIM, WHICH, SAVED, EVENTS, STEPS, REJECTED, TURNS, LEFT, ASKED, ONSETS, SIDE = range(12)
# steps since friction was last put in balance
TRACED, SINCE = 12, 13
COUNTS = 14

# what a product is for: steps, looks inside them, stress of the slip, rates once it is put right
MARCH, LOCATE, SAVE, BALANCE, AFRESH = range(5)
# what is watched: the largest speed, and of a single cell the rates of speed, state, friction
FASTEST, SPEED, AGE, FRICTION = range(4)

# ---- what `advance` returns
NEED, DONE, PAUSE, STEP_TOO_SMALL, NOT_FINITE, OPENED = range(6)

# ---- columns of `events`
E_TIME, E_TIME_LOW, E_CELL, E_UP, E_SPEED, E_SLIP, E_LARGEST, E_FRICTION, E_AGE = range(9)
EVENT_COLUMNS = 9

# ---- columns of `trace`: time, then of the fastest cell
T_TIME, T_SPEED, T_AGE, T_FRICTION, T_SLIP = range(5)
TRACE_COLUMNS = 5

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


class March(NamedTuple):
    """What `advance` reads and changes.

    Attributes
    ----------
    work : (WORK_ROWS, 4 n + 2) stages, states, trial
    par, forms : of `rate_kernels`
    fluid : of `pressure_kernels`; none where the normal stress is constant
    stress_rate, pull : (n,) what is asked for [Pa/s], and V - plate speed [m/s] of the trial; for
        BALANCE the stress [Pa] and the slip [m]
    stress_start, speed : (n,) at the start [Pa], and of the trial [m/s]
    number, counts : see the names above
    saves : (s,) times [s] at which the state is kept
    kept : (s, 4 n + 2) states at these times
    events : (m, EVENT_COLUMNS)
    trace : (r, TRACE_COLUMNS) the fastest cell wherever it has changed enough
    """

    work: Floats
    par: Floats
    forms: Ints
    fluid: Floats
    stress_rate: Floats
    pull: Floats
    stress_start: Floats
    speed: Floats
    number: Floats
    counts: Ints
    saves: Floats
    kept: Floats
    events: Floats
    trace: Floats


@kernel
def _add_time(number: Floats, h: float) -> None:
    """Add h to the time, whose low part keeps what doubles lose over years of short steps."""
    low = h + number[TIME_LOW]
    total = number[TIME] + low
    number[TIME_LOW] = low - (total - number[TIME])
    number[TIME] = total


@kernel
def set_normal_stress(m: March, t: float) -> None:
    """Set the effective normal stress of every cell to that at time t [s]."""
    if m.fluid.size == 0:
        return
    pressures(t, m.fluid, m.par[PRESSURE], m.par[PRESSURE_RATE])
    for i in range(m.pull.size):
        m.par[SIGMA, i] = m.par[TOTAL, i] - m.par[PRESSURE, i]


@kernel
def _ask(m: March) -> int:
    """Build the trial of the present stage and say that its stress rate is needed."""
    work, s, h = m.work, m.counts[STAGE], m.number[TRY_STEP]
    n = m.pull.size
    # row after row, so that the compiler takes several cells at once
    start, trial, size = work[STATE], work[TRIAL], work.shape[1]
    for j in range(size):
        trial[j] = 0.0
    for r in range(s):
        stage, share = work[r], _A[s, r]
        for j in range(size):
            trial[j] += share * stage[j]
    for j in range(size):
        trial[j] = start[j] + h * trial[j]
    for i in range(n):
        m.speed[i] = math.exp(trial[i])
        m.pull[i] = m.speed[i] - m.number[PLATE]
    m.counts[ASKED] += 1
    return NEED


@kernel
def _start_step(m: March, aim: int, h: float) -> int:
    """Start a step of length h from the accepted state, whose first stage is known."""
    m.counts[AIM], m.counts[STAGE], m.number[TRY_STEP] = aim, 1, h
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
def _watched(m: March, which: int, state: int, slope: int) -> float:
    """Return what is watched, at a row of states with its row of rates."""
    row, rate, n = m.work[state], m.work[slope], m.pull.size
    if which == FASTEST:
        return float(row[_fastest(row, n)] - m.number[LEVEL])
    if which == SPEED:
        return float(rate[0])
    if which == AGE:
        return float(rate[1])
    # mu' = share (a x' + b q')
    return float(m.par[A, 0] * rate[0] + m.par[B, 0] * rate[1])


@kernel
def _note_extremes(m: March, state: int) -> None:
    """Widen the extremes by a state; of many cells the fastest one counts."""
    row, n, number = m.work[state], m.pull.size, m.number
    i = _fastest(row, n)
    v, age = math.exp(row[i]), math.exp(row[n + i])
    mu, _ = coefficient(row[i], row[n + i], m.par, i, m.forms[REGULARISED] == 1)
    number[V_LEAST], number[V_MOST] = min(number[V_LEAST], v), max(number[V_MOST], v)
    number[AGE_LEAST], number[AGE_MOST] = min(number[AGE_LEAST], age), max(number[AGE_MOST], age)
    number[MU_LEAST], number[MU_MOST] = min(number[MU_LEAST], mu), max(number[MU_MOST], mu)


@kernel
def _write_trace(m: March) -> None:
    """Add a row to the trace if the fastest cell has changed enough since the last one."""
    row, n, number = m.work[STATE], m.pull.size, m.number
    i = _fastest(row, n)
    x, q = row[i], row[n + i]
    changed = max(abs(x - number[TRACED_V]), abs(q - number[TRACED_AGE]))
    if changed < number[APART] or m.counts[TRACED] >= m.trace.shape[0]:
        return
    number[TRACED_V], number[TRACED_AGE] = x, q
    out = m.trace[m.counts[TRACED]]
    out[T_TIME], out[T_SPEED], out[T_AGE] = number[TIME], math.exp(x), math.exp(q)
    mu, _ = coefficient(x, q, m.par, i, m.forms[REGULARISED] == 1)
    out[T_FRICTION], out[T_SLIP] = mu, row[2 * n + i]
    m.counts[TRACED] += 1


@kernel
def _error(m: March) -> float:
    """Return the error of ln V and ln theta of the step over the tolerance; NaN where none is."""
    work, h, n = m.work, m.number[TRY_STEP], m.pull.size
    worst = 0.0
    for j in range(2 * n):
        total = 0.0
        for r in range(7):
            total += _E[r] * work[r, j]
        size = abs(h * total)
        # a comparison with NaN is false both ways
        if not size <= worst:
            worst = size
            if not size < math.inf:
                return math.nan
    return float(worst / m.number[RTOL])


@kernel
def _write_event(m: March) -> None:
    """Write a row of the log: the trial is where the largest speed passes the level."""
    n, row = m.pull.size, m.work[TRIAL]
    i, out = _fastest(row, n), m.events[m.counts[EVENTS]]
    before, low = m.number[TIME], m.number[TIME_LOW]
    _add_time(m.number, m.number[TRY_STEP])
    out[E_TIME], out[E_TIME_LOW] = m.number[TIME], m.number[TIME_LOW]
    m.number[TIME], m.number[TIME_LOW] = before, low
    out[E_CELL], out[E_UP] = float(i), 1.0 if m.number[AT_HIGH] > 0.0 else 0.0
    out[E_SPEED], out[E_AGE] = math.exp(row[i]), math.exp(row[n + i])
    total = 0.0
    for j in range(n):
        total += row[2 * n + j]
    out[E_SLIP] = total / n
    out[E_LARGEST] = math.nan
    mu, _ = coefficient(row[i], row[n + i], m.par, i, m.forms[REGULARISED] == 1)
    out[E_FRICTION] = mu
    if out[E_UP] > 0.0:
        _begin_event(m, out[E_TIME])
    elif m.counts[ONSETS] > 0:
        most = 0.0
        for j in range(n):
            most = max(most, row[2 * n + j] - m.work[ONSET, 2 * n + j])
        # to the slip beyond the plates' comes what they moved meanwhile
        out[E_LARGEST] = most + m.number[PLATE] * (out[E_TIME] - m.number[ONSET_AT])
    for j in range(m.work.shape[1]):
        m.work[PASSED, j] = row[j]
    m.counts[EVENTS] += 1


@kernel
def _begin_event(m: March, at: float) -> None:
    """Remember the slip at an onset; from the second one on extremes are of cycles alone."""
    for j in range(m.work.shape[1]):
        m.work[ONSET, j] = m.work[TRIAL, j]
    m.number[ONSET_AT] = at
    m.counts[ONSETS] += 1
    if m.counts[ONSETS] == 2:
        for low, high in ((V_LEAST, V_MOST), (AGE_LEAST, AGE_MOST), (MU_LEAST, MU_MOST)):
            m.number[low], m.number[high] = math.inf, -math.inf


@kernel
def _locate_next(m: March) -> int:
    """Look for the next change of sign within the accepted step; then for saved times."""
    most = 4 if m.pull.size == 1 else 1
    while m.counts[WHICH] < most:
        which = m.counts[WHICH]
        a, b = _watched(m, which, STATE, 0), _watched(m, which, NEXT, K_NEXT)
        if (a > 0.0) != (b > 0.0):
            number = m.number
            number[LOW], number[HIGH], number[AT_LOW], number[AT_HIGH] = 0.0, number[STEP], a, b
            m.counts[TURNS] = m.counts[SIDE] = 0
            return _start_step(m, LOCATE, _secant(number))
        m.counts[WHICH] += 1
    return _save_next(m)


@kernel
def _secant(number: Floats) -> float:
    """Return where the line between the ends of the bracket is zero, kept inside it."""
    low, high = number[LOW], number[HIGH]
    part = number[AT_LOW] / (number[AT_LOW] - number[AT_HIGH])
    return float(low + (high - low) * min(max(part, 1e-3), 1.0 - 1e-3))


@kernel
def _narrow(m: March) -> int:
    """Narrow the bracket by the trial; write the event when it is found."""
    number, count = m.number, m.counts
    h, value = number[TRY_STEP], _watched(m, count[WHICH], TRIAL, 6)
    count[TURNS] += 1
    # Illinois: an end that stays twice counts half
    if (value > 0.0) == (number[AT_LOW] > 0.0):
        number[LOW], number[AT_LOW] = h, value
        number[AT_HIGH] *= 0.5 if count[SIDE] == 1 else 1.0
        count[SIDE] = 1
    else:
        number[HIGH], number[AT_HIGH] = h, value
        number[AT_LOW] *= 0.5 if count[SIDE] == 2 else 1.0
        count[SIDE] = 2
    is_event = count[WHICH] == FASTEST
    # an extreme is flat: half the digits of its place give all of its value
    narrow = number[HIGH] - number[LOW] <= (4e-16 if is_event else 1e-8) * number[STEP]
    flat = abs(value) <= (1e-15 if is_event else 0.0)
    if not (narrow or flat or count[TURNS] >= _MOST_TURNS):
        return _start_step(m, LOCATE, _secant(number))
    if count[WHICH] == FASTEST:
        _write_event(m)
    else:
        _note_extremes(m, TRIAL)
    count[WHICH] += 1
    return _locate_next(m)


@kernel
def _save_next(m: March) -> int:
    """Make the state at the next saved time within the accepted step; then accept it."""
    number, count = m.number, m.counts
    while count[SAVED] < m.saves.size:
        h = (m.saves[count[SAVED]] - number[TIME]) - number[TIME_LOW]
        if h > number[STEP]:
            break
        if h > 0.0:
            return _start_step(m, SAVE, h)
        _keep(m, STATE)
    return _accept(m)


@kernel
def _keep(m: March, state: int) -> None:
    """Keep a state as that of the next saved time."""
    for j in range(m.work.shape[1]):
        m.kept[m.counts[SAVED], j] = m.work[state, j]
    m.counts[SAVED] += 1


@kernel
def _accept(m: March) -> int:
    """Go on from the next state, with the step that the error allows."""
    number, count, work = m.number, m.counts, m.work
    for j in range(work.shape[1]):
        work[STATE, j], work[0, j] = work[NEXT, j], work[K_NEXT, j]
    _add_time(number, number[STEP])
    _note_extremes(m, STATE)
    _write_trace(m)
    count[STEPS] += 1
    count[LEFT] -= 1
    error = max(number[ERROR], 1e-10)
    number[STEP] *= min(_GROW, max(_SHRINK, _SAFETY * error**-0.2))
    count[SINCE] += 1
    if count[SINCE] >= EVERY:
        n = m.pull.size
        if abs(work[STATE, _fastest(work[STATE], n)] - number[LEVEL]) > _CLEAR:
            return _ask_balance(m)
    return _go_on(m)


@kernel
def _ask_balance(m: March) -> int:
    """Ask for the stress of the slip."""
    n = m.pull.size
    for i in range(n):
        m.pull[i] = m.work[STATE, 2 * n + i]
    m.counts[AIM], m.counts[SINCE] = BALANCE, 0
    m.counts[ASKED] += 1
    return NEED


@kernel
def _put_in_balance(m: March) -> int:
    """Correct the speeds by the stress that was asked for, and ask for its rate."""
    state, number, n = m.work[STATE], m.number, m.pull.size
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(m.stress_start[i]), number[OWN] * abs(m.pull[i]))
        m.stress_rate[i] += m.stress_start[i]
    off = put_in_balance(state, m.stress_rate, m.par, m.forms, number[RTOL], largest)
    number[OFF_BALANCE] = max(number[OFF_BALANCE], off)
    for j in range(m.work.shape[1]):
        m.work[TRIAL, j] = state[j]
    for i in range(n):
        m.speed[i] = math.exp(state[i])
        m.pull[i] = m.speed[i] - number[PLATE]
    m.counts[AIM] = AFRESH
    m.counts[ASKED] += 1
    return NEED


@kernel
def _go_on(m: March) -> int:
    """After an accepted step: the end, a pause, or the next step."""
    number, count = m.number, m.counts
    # whoever calls again starts a step
    count[STAGE] = -1
    if (number[T_END] - number[TIME]) - number[TIME_LOW] <= 0.0:
        return DONE
    full = count[EVENTS] >= m.events.shape[0] or count[TRACED] >= m.trace.shape[0]
    if count[LEFT] <= 0 or full:
        return PAUSE
    return _next_step(m)


@kernel
def _next_step(m: March) -> int:
    """Start the next step of the march, not beyond the end."""
    number = m.number
    rest = (number[T_END] - number[TIME]) - number[TIME_LOW]
    number[STEP] = min(number[STEP], rest)
    if number[STEP] <= _SHORTEST * abs(number[TIME]) and number[STEP] < rest:
        return STEP_TOO_SMALL
    m.counts[WHICH] = 0
    return _start_step(m, MARCH, number[STEP])


@kernel
def _judge(m: March) -> int:
    """Take the step of the march, or try a shorter one."""
    number, count, work = m.number, m.counts, m.work
    error = _error(m)
    if error <= 1.0:
        # the normal stress is that of the end of the step
        if m.par[SIGMA].min() <= 0.0:
            return OPENED
        number[ERROR] = error
        for j in range(work.shape[1]):
            work[NEXT, j], work[K_NEXT, j] = work[TRIAL, j], work[6, j]
        return _locate_next(m)
    count[REJECTED] += 1
    if math.isnan(error):
        number[STEP] *= _SHRINK
    else:
        number[STEP] *= max(_SHRINK, _SAFETY * error**-0.2)
    if number[STEP] < 1e-280:
        return NOT_FINITE
    return _next_step(m)


@kernel
def _first_step(m: March) -> float:
    """Return a step in which no logarithm changes by more than a thousandth."""
    fastest = 0.0
    for j in range(2 * m.pull.size):
        fastest = max(fastest, abs(m.work[0, j]))
    return 1e-3 / fastest if fastest > 0.0 else 1.0


@kernel
def advance(m: March) -> int:
    """Go on until a stress rate is needed, or there is something to tell.

    Returns
    -------
    int : NEED, DONE, PAUSE after `LEFT` steps or full buffers, STEP_TOO_SMALL, NOT_FINITE, or
        OPENED where the pore pressure has reached the normal stress
    """
    count = m.counts
    s = count[STAGE]
    if s < 0:
        return _next_step(m)
    ahead = 0.0
    if count[AIM] < BALANCE:
        ahead = _C[s] * m.number[TRY_STEP]
    set_normal_stress(m, m.number[TIME] + (m.number[TIME_LOW] + ahead))
    if count[AIM] == BALANCE:
        return _put_in_balance(m)
    if count[AIM] == AFRESH:
        s = 0
    elif s == 0:
        for i in range(m.pull.size):
            m.speed[i] = math.exp(m.work[TRIAL, i])
    rates(m.work[TRIAL], m.speed, m.stress_rate, m.par, m.forms, m.number[PLATE], m.work[s])
    if count[AIM] == AFRESH:
        return _go_on(m)
    if s == 0:
        m.number[STEP] = _first_step(m)
        return _next_step(m)
    if s < 6:
        count[STAGE] = s + 1
        return _ask(m)
    if count[AIM] == MARCH:
        return _judge(m)
    if count[AIM] == LOCATE:
        return _narrow(m)
    _keep(m, TRIAL)
    return _save_next(m)


@kernel(apart=True)
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
