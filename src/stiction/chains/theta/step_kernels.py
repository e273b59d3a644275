"""One step of the theta scheme: what the methods with exact and smoothed friction share.

Everything is written for the slip w = v - V over the belt. With v_theta = V + w and
x_theta = x + theta h (V + w) the scheme of the formulas sheet, section 5, reads

    M dv / h + B w - F + friction(w) = 0,      B = C + theta h (K + K_plate),

where F holds every force at x + theta h V and v = V. B acts through link elongations, so
a rigid motion of stiffly joined masses costs no digits. `_theta_exact_kernels` finds w
from the set-valued law, `_theta_smooth_kernels` from a smoothed one; `commit` moves the
chain and keeps the ledger.

Arrays come as rows of three tables, because a step of three masses takes less time than
handing over thirty arrays: `f` with numbers, `m` with modes, `lists` with numbers of masses. The
first rows of `f` are the tridiagonal system of `numerics.tridiagonal`, whose solution is w; the
others are named below. Entry i of a row belongs to mass i, or to the link on its left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.law_kernels import OLD, law_value
from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import call
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import ROWS, SOLUTION

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]
Sums = tuple[float, float, float, float, float, float, float, float, float]

# why a kernel came back
DONE, PAUSE, EVENTS_FULL, REST, NOT_FINITE = range(5)

# rows of f after those of the system. First what is constant; PIVOT is the row sum of
# A = M / (theta h) + B
_FIRST = ROWS
MASS, LINK_K, LINK_C, SHARE, PLATE_K, NORMAL = range(_FIRST, _FIRST + 6)
MU_KINETIC, INERTIA, PIVOT, BOUND = range(_FIRST + 6, _FIRST + 10)
# then the state, which a checkpoint keeps
X, X_LOW, U, FORCE, HEAT, HEAT_LOW = range(_FIRST + 10, _FIRST + 16)
STATE = slice(X, HEAT_LOW + 1)
# then work space that every step fills anew
Q, DU, NEW_FORCE, RESIST, SLOPE, HOLD, SLACK = range(_FIRST + 16, _FIRST + 23)
OLD_X, OLD_U, OLD_HEAT, BEST = range(_FIRST + 23, _FIRST + 27)
# with set-valued friction: friction from the end of a step on in which the velocity passed zero
AFTERWARDS = BEST
F_ROWS = _FIRST + 27
# rows of m; FREE pins no mass
MODE, NEW_MODE, FREE = range(3)
M_ROWS = 3
# rows of lists: masses whose modes were corrected in this step, and the stretches that are
# solved again for them; first those found in a part of the chain, last what is left of all
CHANGED, FOUND, UNTIL, LATER = range(4)
LIST_ROWS = 4
# entries of clock; a sum is followed by what its last addition lost
LOAD, KINETIC, STORED, SCALE, WORST, WORST_TIME, REST_SINCE, SAVE_AT = range(8)
WORK, VISCOUS, ALGORITHMIC, SUM_HEAT = 8, 10, 12, 14
FIRST_MISS, WORST_MISS = 16, 17
OLD_SUMS = 18
N_SUMS = 5
STEEPEST = OLD_SUMS + N_SUMS
# heat that friction gave back and when it first did; the largest slip against a mode, and when
GIVEN, GIVEN_TIME, AGAINST, AGAINST_TIME = range(STEEPEST + 1, STEEPEST + 5)
# most energy that the scheme had created up to a step, and when
CREATED, CREATED_TIME = range(STEEPEST + 5, STEEPEST + 7)
CLOCK_SIZE = STEEPEST + 7
# entries of counter
STEP, PIECE, NEXT_SAVE, N_EVENTS, SLIPPING, SOLVES, MOST, MISSES, RESCUES = range(9)
COUNTER_SIZE = 9

# masses summed one by one before a partial sum joins the total: keeps long sums accurate
BLOCK = 256
# save times this near the end of a step, in steps, are meant to be there
_SAME = 1e-9


class Problem(NamedTuple):
    """The numbers of a chain and a scheme that kernels read; units as in `Chain`.

    `rate` is 1 / theta, and 0 with theta = 0.
    """

    n: int
    t_start: float
    t_end: float
    n_step: int
    h: float
    theta: float
    rate: float
    belt: float
    plate_speed: float
    plates: bool
    steady: bool
    load_address: int
    constant: bool
    jump: bool
    law_start: int
    law_step: int
    mu_address: int
    slope_address: int
    static_address: int
    commit_address: int
    event_address: int
    n_state: int
    first_state: int
    exact: bool
    tolerance: float
    most: int
    line_search: bool
    shape: int
    width: float
    sign_address: int
    sign_slope_address: int
    creep: float


class Work(NamedTuple):
    """Tables and counters of a run; rows and entries are named above.

    `pieces` has rows (time, offset, rate) of the load, `sines` (amplitude, frequency, phase).
    `law` has a row per mass with parameters and states of its law, as in `laws.law_kernels`.
    """

    pieces: Floats
    sines: Floats
    f: Floats
    m: Marks
    lists: Ints
    law: Floats
    clock: Floats
    counter: Ints


class Saved(NamedTuple):
    """What is kept at the save times; `sums` are the columns of the ledger.

    `state` holds the states of the contacts, and last what friction could hold in that step.
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    heat: Floats
    sums: Floats
    state: Floats


class Events(NamedTuple):
    """Mode changes: (time, x, v, friction before, friction after) and (mass, from, to).

    The first row is that of event number `first`; those before it lie elsewhere.
    """

    values: Floats
    marks: npt.NDArray[np.int32]
    first: int


@kernel(borrows=True)
def mu_of(p: Problem, f: Matrix, i: int, speed: float) -> float:
    """Return mu(speed) of mass i in slip, speed >= 0; with states, in the one it leads to."""
    if p.constant:
        return f[MU_KINETIC, i]
    return law_value(p.mu_address, speed, p.law_start + i * p.law_step)


@kernel(borrows=True)
def slope_of(p: Problem, i: int, speed: float) -> float:
    """Return d mu / d speed of mass i in slip, speed >= 0."""
    if p.constant:
        return 0.0
    return law_value(p.slope_address, speed, p.law_start + i * p.law_step)


@kernel(borrows=True)
def remember(p: Problem, f: Matrix, clock: Vector) -> None:
    """Move the state of every contact over the step just accepted.

    Notes how near the steepest fall of friction came to the inertia that has to hold against
    it: at 1 the slip of the step is not unique.
    """
    for i in range(p.n):
        # a stuck mass has no slip, unless it was arrested in this step
        speed = abs(f[SOLUTION, i])
        if p.theta > 0.0:
            fall = -f[NORMAL, i] * slope_of(p, i, speed) / f[INERTIA, i]
            clock[STEEPEST] = max(clock[STEEPEST], fall)
        law_value(p.commit_address, speed, p.law_start + i * p.law_step)


@kernel(borrows=True)
def jump_states(p: Problem, events: Events, first: int, last: int) -> None:
    """Change the states of the contacts of events `first` to `last` - 1, as these do."""
    for row in range(first - events.first, last - events.first):
        i, before, after = int(events.marks[row, 0]), events.marks[row, 1], events.marks[row, 2]
        # the places of "stick", "slip" and "reverse" in `friction.EVENTS`
        event = 0.0 if after == 0 else 1.0 if before == 0 else 2.0
        law_value(p.event_address, event, p.law_start + i * p.law_step)


@kernel(borrows=True, within=True)
def time_after(p: Problem, step: int) -> float:
    """Return the time at which step number `step` (from 0) ends."""
    return p.t_end if step + 1 >= p.n_step else p.t_start + (step + 1) * p.h


@kernel(borrows=True)
def load_at(pieces: Matrix, sines: Matrix, address: int, t: float, piece: int) -> float:
    """Return the load [N] at time t, on the given piece."""
    pull = pieces[1, piece] + pieces[2, piece] * (t - pieces[0, piece])
    for j in range(sines.shape[1]):
        pull += sines[0, j] * sin(sines[1, j] * t + sines[2, j])
    if address != 0:
        pull += call(address, t)
    return pull


@kernel(borrows=True)
def begin_step(p: Problem, pieces: Matrix, sines: Matrix, clock: Vector, counter: Ints) -> float:
    """Read the load at the end of the step and return its value f_theta."""
    t = time_after(p, counter[STEP])
    last = pieces.shape[1] - 1
    while counter[PIECE] < last and pieces[0, counter[PIECE] + 1] <= t:
        counter[PIECE] += 1
    before = clock[LOAD]
    clock[LOAD] = load_at(pieces, sines, p.load_address, t, counter[PIECE])
    return p.theta * clock[LOAD] + (1.0 - p.theta) * before


@kernel(borrows=True)
def forces(p: Problem, f: Floats, step: int, pull: float) -> None:
    """Write F to row Q: all forces but inertia and friction on masses that ride on the belt."""
    n = p.n
    ride = p.theta * p.h * p.belt
    left = f[LINK_K, 0] * (f[X, 0] + ride) + f[LINK_C, 0] * p.belt
    for i in range(n):
        if i + 1 < n:
            right = f[LINK_K, i + 1] * (f[X, i + 1] - f[X, i])
        else:
            right = -f[LINK_K, n] * (f[X, i] + ride) - f[LINK_C, n] * p.belt
        f[Q, i] = (right - left) + f[SHARE, i] * pull
        left = right
    if p.plates:
        plate = p.plate_speed * (p.t_start + (step + p.theta) * p.h)
        for i in range(n):
            f[Q, i] += f[PLATE_K, i] * (plate - f[X, i] - ride)


@kernel(borrows=True)
def note_miss(p: Problem, clock: Floats, counter: Ints, size: float) -> None:
    """Count a step that was not solved; `size` tells by how much."""
    if counter[MISSES] == 0:
        clock[FIRST_MISS] = time_after(p, counter[STEP])
    counter[MISSES] += 1
    # written so that NaN counts as the worst
    if not size <= clock[WORST_MISS]:
        clock[WORST_MISS] = size


@kernel(borrows=True)
def commit(
    p: Problem,
    f: Floats,
    m: Marks,
    clock: Floats,
    counter: Ints,
    pull: float,
) -> None:
    """Move the chain by the slip w and enter the step into the ledger.

    Source: formulas sheet, section 5, the discrete energy identity; the work of belt and
    plate follows from the same product with v_theta.
    Verified by: tests/properties/test_theta_energy.py::test_every_step_closes
    """
    n = p.n
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    for first in range(0, n, BLOCK):
        sums = sweep(p, f, m, clock, first, min(first + BLOCK, n), time_after(p, counter[STEP]))
        kinetic += sums[0]
        stored += sums[1]
        viscous += sums[2]
        spread += sums[3]
        inertia += sums[4]
        heat += sums[5]
        pushed += sums[6]
        ridden += sums[7]
        stopped += sums[8]
    close_books(
        p,
        f,
        clock,
        counter,
        pull,
        (kinetic, stored, viscous, spread, inertia, heat, pushed, ridden, stopped),
    )


@kernel(borrows=True, within=True)
def close_books(
    p: Problem, f: Floats, clock: Floats, counter: Ints, pull: float, sums: Sums
) -> None:
    """Enter the sums of all masses into the ledger, with those of the last link and the plate."""
    n, h, belt = p.n, p.h, p.belt
    kinetic, stored, viscous, spread, inertia, heat, pushed, ridden, stopped = sums
    rate, stretch = f[SOLUTION, n - 1] + belt, f[X, n - 1]
    stored += f[LINK_K, n] * stretch * stretch
    viscous += f[LINK_C, n] * rate * rate
    spread += f[LINK_K, n] * rate * rate
    work = h * (pull * pushed + belt * ridden)
    if p.plates:
        plate_stored, plate_spread, plate_work = plate_sums(p, f, counter[STEP])
        stored += plate_stored
        spread += plate_spread
        work += plate_work
    taken = (p.theta - 0.5) * (inertia + h * h * spread) + 0.5 * stopped
    t = time_after(p, counter[STEP])
    balance(clock, t, 0.5 * kinetic, 0.5 * stored, work, h * viscous, taken, heat)
    counter[STEP] += 1


@kernel(borrows=True)
def sweep(p: Problem, f: Floats, m: Marks, clock: Floats, first: int, last: int, t: float) -> Sums:
    """Move the masses from `first` to before `last` and return their sums for the ledger."""
    belt, h = p.belt, p.h
    kinetic = stored = viscous = spread = inertia = heat = pushed = ridden = stopped = 0.0
    rate_before = f[SOLUTION, first - 1] + belt if first > 0 else 0.0
    x_before = f[X, first - 1] if first > 0 else 0.0
    for i in range(first, last):
        w, mass, force, du = f[SOLUTION, i], f[MASS, i], f[NEW_FORCE, i], f[DU, i]
        rate = w + belt
        # steps in x are tiny beside x: what an addition loses is kept for the next one
        step = h * rate - f[X_LOW, i]
        x = f[X, i] + step
        f[X_LOW, i] = (x - f[X, i]) - step
        f[X, i] = x
        u = f[U, i] + du
        inertia += mass * du * du
        if p.exact and m[NEW_MODE, i] == 0:
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
def note_given(clock: Floats, heat: float, t: float) -> None:
    """Add heat that friction gave back to a mass in the step that ends at t."""
    if clock[GIVEN] == 0.0:
        clock[GIVEN_TIME] = t
    clock[GIVEN] += heat


@kernel(borrows=True)
def note_against(clock: Floats, slip: float, t: float) -> None:
    """Note a slip against its mode, or of a mass that sticks, if it is the largest."""
    if abs(slip) > clock[AGAINST]:
        clock[AGAINST], clock[AGAINST_TIME] = abs(slip), t


@kernel(borrows=True)
def plate_sums(p: Problem, f: Floats, step: int) -> tuple[float, float, float]:
    """Return twice the energy in the plate springs, their spread, and the work of the plate."""
    stored = spread = work = 0.0
    place = p.plate_speed * (p.t_start + (step + 1) * p.h)
    for i in range(p.n):
        rate = p.plate_speed - (f[SOLUTION, i] + p.belt)
        stretch = place - f[X, i]
        # the stretch at theta, counted back from the end of the step
        mean = stretch - (1.0 - p.theta) * p.h * rate
        stored += f[PLATE_K, i] * stretch * stretch
        spread += f[PLATE_K, i] * rate * rate
        work += f[PLATE_K, i] * mean
    return stored, spread, p.h * p.plate_speed * work


@kernel(borrows=True, within=True)
def balance(
    clock: Floats,
    t: float,
    kinetic: float,
    stored: float,
    work: float,
    viscous: float,
    taken: float,
    heat: float,
) -> None:
    """Enter one step into the ledger and note its imbalance if it is the worst so far."""
    change = (kinetic - clock[KINETIC]) + (stored - clock[STORED])
    off = abs(change - work + heat + viscous + taken)
    clock[KINETIC], clock[STORED] = kinetic, stored
    add(clock, WORK, work)
    add(clock, VISCOUS, viscous)
    add(clock, ALGORITHMIC, taken)
    add(clock, SUM_HEAT, heat)
    if -clock[ALGORITHMIC] > clock[CREATED]:
        clock[CREATED], clock[CREATED_TIME] = -clock[ALGORITHMIC], t
    size = max(max(kinetic, stored), max(abs(clock[WORK]), clock[SUM_HEAT]))
    clock[SCALE] = max(clock[SCALE], max(size, clock[VISCOUS]))
    if off > clock[WORST] * clock[SCALE]:
        clock[WORST] = off / clock[SCALE]
        clock[WORST_TIME] = t


@kernel(borrows=True, within=True)
def add(clock: Floats, at: int, value: float) -> None:
    """Add `value` to the sum at `at`, with what the last addition lost."""
    value -= clock[at + 1]
    total = clock[at] + value
    clock[at + 1] = (total - clock[at]) - value
    clock[at] = total


@kernel(borrows=True)
def keep_old(p: Problem, f: Floats, law: Floats, clock: Floats) -> None:
    """Keep the state at the start of a step inside which a save time lies."""
    for i in range(p.n):
        f[OLD_X, i], f[OLD_U, i], f[OLD_HEAT, i] = f[X, i], f[U, i], f[HEAT, i]
    for j, at in enumerate((KINETIC, STORED, WORK, VISCOUS, ALGORITHMIC)):
        clock[OLD_SUMS + j] = clock[at]
    for i in range(p.n if p.n_state > 0 else 0):
        for j in range(p.n_state):
            at = p.first_state + j
            law[i, at + OLD * p.n_state] = law[i, at]


@kernel(borrows=True)
def save_rows(
    p: Problem,
    f: Floats,
    m: Marks,
    law: Floats,
    clock: Floats,
    counter: Ints,
    saved: Saved,
) -> None:
    """Write the save times inside the step just made, on straight lines between its ends."""
    t = time_after(p, counter[STEP] - 1)
    row = counter[NEXT_SAVE]
    while row < saved.time.size and saved.time[row] <= t + _SAME * p.h:
        back = (t - saved.time[row]) / p.h
        part = 1.0 if back < _SAME else max(1.0 - back, 0.0)
        rest = 1.0 - part
        for i in range(p.n):
            saved.x[row, i] = rest * f[OLD_X, i] + part * f[X, i]
            saved.v[row, i] = p.belt + (rest * f[OLD_U, i] + part * f[U, i])
            saved.heat[row, i] = rest * f[OLD_HEAT, i] + part * f[HEAT, i]
            saved.friction[row, i] = f[NEW_FORCE, i]
            saved.mode[row, i] = m[NEW_MODE, i]
            for j in range(p.n_state):
                at = p.first_state + j
                saved.state[row, i, j] = rest * law[i, at + OLD * p.n_state] + part * law[i, at]
            if p.n_state > 0:
                saved.state[row, i, p.n_state] = f[BOUND, i]
        for j, at in enumerate((KINETIC, STORED, WORK, VISCOUS, ALGORITHMIC)):
            saved.sums[row, j] = rest * clock[OLD_SUMS + j] + part * clock[at]
        row += 1
    counter[NEXT_SAVE] = row
    clock[SAVE_AT] = saved.time[row] - _SAME * p.h if row < saved.time.size else np.inf


@kernel(borrows=True)
def note_modes(
    f: Floats,
    m: Marks,
    counter: Ints,
    events: Events,
    t: float,
    first: int,
    last: int,
    belt: float,
) -> None:
    """Note the masses from `first` to before `last` whose modes changed; count who slips."""
    for i in range(first, last):
        if m[NEW_MODE, i] != m[MODE, i]:
            row = counter[N_EVENTS] - events.first
            events.values[row, 0] = t
            events.values[row, 1] = f[X, i]
            events.values[row, 2] = f[U, i] + belt
            events.values[row, 3] = f[FORCE, i]
            events.values[row, 4] = f[NEW_FORCE, i]
            events.marks[row, 0] = i
            events.marks[row, 1] = m[MODE, i]
            events.marks[row, 2] = m[NEW_MODE, i]
            counter[SLIPPING] += abs(int(m[NEW_MODE, i])) - abs(int(m[MODE, i]))
            m[MODE, i] = m[NEW_MODE, i]
            counter[N_EVENTS] += 1


@kernel(borrows=True)
def record(p: Problem, f: Floats, m: Marks, clock: Floats, counter: Ints, events: Events) -> bool:
    """Note every mass whose mode changed, at the end of the step; return whether one did."""
    t, before = time_after(p, counter[STEP] - 1), counter[N_EVENTS]
    note_modes(f, m, counter, events, t, 0, p.n, p.belt)
    if counter[N_EVENTS] == before:
        return False
    clock[REST_SINCE] = t
    return True
