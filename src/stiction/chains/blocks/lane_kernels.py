"""Quiet steps of the theta scheme for a group of chains at once, a chain to each lane.

A step in which no mode changes is the same arithmetic for every chain, without a branch. Here it
is made of eight chains by each instruction (`compiling.lanes`); each lane sees the operations of
`theta.quiet_kernels` in their order, and so the same bits. A lane whose step is not quiet is left
to the kernels of one chain.

The chains stand on a surface at rest. A table has a row for each mass and one more at both ends,
zero but for the last link: a mass that does not move, which is what a wall is. In a row every
quantity has `WIDTH` lanes, some vectors that the processor can work on by turns. What a chain has
once stands in a table of one row, `c`. Places in these rows are known here alone: vectors begin
at them, so they are numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.pass_kernels import LARGEST
from stiction.chains.theta.state import (
    LoadPiece,
    Problem,
    Progress,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.numerics.arrays import Table
from stiction.numerics.compiling.lanes import LANES, Lanes, count, full, load, store, where
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import system_of

__all__ = [
    "OF_CHAIN",
    "OF_MASS",
    "WIDTH",
    "clear_lane",
    "fetch_lane",
    "fill_lane",
    "fits",
    "leave",
    "move_lanes",
    "pull_lanes",
    "put_lane",
    "solve_lanes",
]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]

WIDTH = 32
_W = WIDTH
# places in the row of a mass: constants, state, work space
MASS, LINK_K, LINK_C, SHARE, PLATE_K, INERTIA = 0, _W, 2 * _W, 3 * _W, 4 * _W, 5 * _W
RESIST, HOLD, COUPLING, INVERSE, LOWER, MODE = 6 * _W, 7 * _W, 8 * _W, 9 * _W, 10 * _W, 11 * _W
X, X_LOW, U, HEAT, HEAT_LOW = 12 * _W, 13 * _W, 14 * _W, 15 * _W, 16 * _W
Q, SOLUTION, NEW_FORCE = 17 * _W, 18 * _W, 19 * _W
OF_MASS = 20 * _W
# places in the row of the chain: the load and the ledger
PIECE_TIME, PIECE_OFFSET, PIECE_RATE, PIECE_ENDS = 0, _W, 2 * _W, 3 * _W
LOAD, NEW_LOAD, PULL, FITS = 4 * _W, 5 * _W, 6 * _W, 7 * _W
KINETIC, STORED, SCALE, WORST = 8 * _W, 9 * _W, 10 * _W, 11 * _W
# each sum is followed by what its last addition lost
WORK, WORK_LOW, VISCOUS, VISCOUS_LOW = 12 * _W, 13 * _W, 14 * _W, 15 * _W
ALGORITHMIC, ALGORITHMIC_LOW, SUM_HEAT, SUM_HEAT_LOW = 16 * _W, 17 * _W, 18 * _W, 19 * _W
OF_CHAIN = 20 * _W


# ---- one chain and its lane


@kernel
def fill_lane(n: int, f: Floats, a: Floats, j: int) -> None:
    """Write what is constant of a chain to lane j; the last row is a wall: nothing but a link."""
    masses, coupling = masses_of(f), system_of(f).coupling
    for i in range(n + 1):
        row = a[i + 1]
        row[LINK_K + j], row[LINK_C + j] = masses.stiffness[i], masses.damping[i]
        row[COUPLING + j] = coupling[i]
        if i < n:
            row[MASS + j], row[INERTIA + j] = masses.mass[i], masses.inertia[i]
            row[SHARE + j], row[PLATE_K + j] = masses.share[i], masses.plate_stiffness[i]


@kernel
def put_lane(
    n: int,
    f: Floats,
    m: Marks,
    now: Progress,
    pieces: Table[LoadPiece],
    a: Floats,
    c: Floats,
    j: int,
) -> None:
    """Write the state of a chain to lane j."""
    motion, trial, system, modes = motion_of(f), trial_of(f), system_of(f), modes_of(m)
    for i in range(n):
        row = a[i + 1]
        row[X + j], row[X_LOW + j], row[U + j] = motion.x[i], motion.x_low[i], motion.slip_rate[i]
        row[HEAT + j], row[HEAT_LOW + j] = motion.heat[i], motion.heat_low[i]
        row[RESIST + j], row[HOLD + j] = trial.resistance[i], trial.hold[i]
        row[INVERSE + j], row[LOWER + j] = system.inverse[i], system.lower[i]
        row[SOLUTION + j], row[MODE + j] = system.solution[i], modes.now[i]
    row = c[0]
    row[KINETIC + j], row[STORED + j] = now.kinetic, now.stored
    row[SCALE + j], row[WORST + j] = now.scale, now.worst
    row[WORK + j], row[WORK_LOW + j] = now.work, now.work_low
    row[VISCOUS + j], row[VISCOUS_LOW + j] = now.viscous, now.viscous_low
    row[ALGORITHMIC + j], row[ALGORITHMIC_LOW + j] = now.algorithmic, now.algorithmic_low
    row[SUM_HEAT + j], row[SUM_HEAT_LOW + j] = now.heat, now.heat_low
    # a load that does not vary is what a step sees of it
    row[LOAD + j] = row[PULL + j] = row[NEW_LOAD + j] = now.load
    piece, after = pieces[now.piece], now.piece + 1
    row[PIECE_TIME + j], row[PIECE_OFFSET + j] = piece.time, piece.offset
    row[PIECE_RATE + j] = piece.rate
    row[PIECE_ENDS + j] = pieces[after].time if after < len(pieces) else np.inf


@kernel
def fetch_lane(n: int, a: Floats, c: Floats, j: int, f: Floats, now: Progress) -> None:
    """Read the state of a chain from lane j."""
    motion, solution = motion_of(f), system_of(f).solution
    for i in range(n):
        row = a[i + 1]
        motion.x[i], motion.x_low[i], motion.slip_rate[i] = row[X + j], row[X_LOW + j], row[U + j]
        motion.heat[i], motion.heat_low[i] = row[HEAT + j], row[HEAT_LOW + j]
        solution[i] = row[SOLUTION + j]
    row = c[0]
    now.load, now.kinetic, now.stored = row[LOAD + j], row[KINETIC + j], row[STORED + j]
    now.scale, now.worst = row[SCALE + j], row[WORST + j]
    now.work, now.work_low = row[WORK + j], row[WORK_LOW + j]
    now.viscous, now.viscous_low = row[VISCOUS + j], row[VISCOUS_LOW + j]
    now.algorithmic, now.algorithmic_low = row[ALGORITHMIC + j], row[ALGORITHMIC_LOW + j]
    now.heat, now.heat_low = row[SUM_HEAT + j], row[SUM_HEAT_LOW + j]


@kernel
def clear_lane(a: Floats, c: Floats, j: int) -> None:
    """Make lane j a chain at rest that nothing moves: its steps are quiet for ever."""
    for i in range(a.shape[0]):
        for at in (X, X_LOW, U, SHARE, MODE, SOLUTION, INVERSE):
            a[i, at + j] = 0.0
    c[0, PIECE_ENDS + j] = np.inf


@kernel
def fits(c: Floats, j: int) -> bool:
    """Return whether the last step of lane j was quiet."""
    return bool(c[0, FITS + j] != 0.0)


@kernel
def leave(c: Floats, j: int) -> None:
    """Leave the step of lane j to the kernels of one chain."""
    c[0, FITS + j] = 0.0


# ---- all lanes at once


@kernel
def pull_lanes(p: Problem, c: Floats, sines: Floats, t: float) -> None:
    """Write the load at time t, the end of a step, and what the step sees of it.

    Parameters
    ----------
    c : (1, OF_CHAIN) what chains have once
    sines : (3, sines, WIDTH) amplitude, frequency, phase
    """
    for k in range(0, WIDTH, LANES):
        rate, since = load(c, 0, PIECE_RATE + k), t - load(c, 0, PIECE_TIME + k)
        store(c, 0, NEW_LOAD + k, load(c, 0, PIECE_OFFSET + k) + rate * since)
    for q in range(sines.shape[1]):
        for j in range(WIDTH):
            c[0, NEW_LOAD + j] += sines[0, q, j] * sin(sines[1, q, j] * t + sines[2, q, j])
    for k in range(0, WIDTH, LANES):
        new, old = load(c, 0, NEW_LOAD + k), load(c, 0, LOAD + k)
        store(c, 0, PULL + k, p.theta * new + (1.0 - p.theta) * old)


@kernel
def solve_lanes(p: Problem, a: Floats, c: Floats, t: float) -> int:
    """Solve for the slip with the modes as they are; return in how many lanes they do not fit.

    Place FITS of `c` says in which they do, 1 or 0.

    Source: `theta.pass_kernels.ahead` and `theta.quiet_kernels.stays`.
    """
    n, good = p.n, 0
    for k in range(0, WIDTH, LANES):
        pull, before = load(c, 0, PULL + k), full(0.0)
        x = load(a, 1, X + k)
        left = load(a, 1, LINK_K + k) * (x - load(a, 0, X + k))
        for i in range(1, n + 1):
            after = load(a, i + 1, X + k)
            right = load(a, i + 1, LINK_K + k) * (after - x)
            force = (right - left) + load(a, i, SHARE + k) * pull
            if p.plates:
                force += load(a, i, PLATE_K + k) * (0.0 - x)
            force += load(a, i, INERTIA + k) * load(a, i, U + k)
            store(a, i, Q + k, force)
            slips = force - load(a, i, MODE + k) * load(a, i, RESIST + k)
            before = slips + load(a, i, LOWER + k) * before
            store(a, i, SOLUTION + k, before)
            x, left = after, right
        value, size = full(0.0), full(0.0)
        for i in range(n, 0, -1):
            behind = load(a, i + 1, COUPLING + k) * value
            value = (load(a, i, SOLUTION + k) + behind) * load(a, i, INVERSE + k)
            store(a, i, SOLUTION + k, value)
            size += value * value
        fits = (load(c, 0, PIECE_ENDS + k) > t) & (size < LARGEST)
        w, before, coupling = value, full(0.0), load(a, 1, COUPLING + k)
        for i in range(1, n + 1):
            mode, beyond = load(a, i, MODE + k), load(a, i + 1, COUPLING + k)
            next_w = load(a, i + 1, SOLUTION + k)
            drive = (load(a, i, Q + k) + coupling * before) + beyond * next_w
            held = mode == 0.0
            slips = -mode * load(a, i, RESIST + k)
            store(a, i, NEW_FORCE + k, where(held, -drive, slips))
            fits = fits & ((held & (abs(drive) <= load(a, i, HOLD + k))) | (mode * w > 0.0))
            if p.jump:
                lasts = mode * (w - (1.0 - p.theta) * load(a, i, U + k)) > 0.0
                fits = fits & (held | lasts)
            before, w, coupling = w, next_w, beyond
        store(c, 0, FITS + k, where(fits, 1.0, 0.0))
        good += count(fits)
    return WIDTH - good


@kernel
def move_lanes(p: Problem, a: Floats, c: Floats) -> None:
    """Move all masses by their slip and enter the step into the ledgers.

    Source: `theta.quiet_kernels.slide` and `theta.step_kernels.close_books`.
    """
    n, h = p.n, p.h
    for k in range(0, WIDTH, LANES):
        kinetic, stored, viscous, spread = full(0.0), full(0.0), full(0.0), full(0.0)
        inertia, heat, pushed, stopped = full(0.0), full(0.0), full(0.0), full(0.0)
        plate, pulled = full(0.0), full(0.0)
        w_before, x_before = full(0.0), full(0.0)
        for i in range(1, n + 1):
            w, mass, u = load(a, i, SOLUTION + k), load(a, i, MASS + k), load(a, i, U + k)
            du = (w - u) * p.rate
            u += du
            stuck = load(a, i, MODE + k) == 0.0
            ringing = where(stuck, u, 0.0)
            u = where(stuck, 0.0, u)
            store(a, i, U + k, u)
            inertia += mass * du * du
            stopped += mass * ringing * ringing
            kinetic += mass * u * u
            pushed += load(a, i, SHARE + k) * w
            old = load(a, i, X + k)
            step = h * w - load(a, i, X_LOW + k)
            x = old + step
            store(a, i, X_LOW + k, (x - old) - step)
            store(a, i, X + k, x)
            gain = -h * load(a, i, NEW_FORCE + k) * w
            heat += gain
            _add(a, i, HEAT + k, gain)
            spin, stretch, stiff = w - w_before, x - x_before, load(a, i, LINK_K + k)
            stored += stiff * stretch * stretch
            spread += stiff * spin * spin
            viscous += load(a, i, LINK_C + k) * spin * spin
            if p.plates:
                stiff = load(a, i, PLATE_K + k)
                plate += stiff * x * x
                pulled += stiff * w * w
            w_before, x_before = w, x
        spin, stretch, stiff = 0.0 - w_before, 0.0 - x_before, load(a, n + 1, LINK_K + k)
        stored += stiff * stretch * stretch
        spread += stiff * spin * spin
        viscous += load(a, n + 1, LINK_C + k) * spin * spin
        if p.plates:
            stored += plate
            spread += pulled
        kinetic, stored = 0.5 * kinetic, 0.5 * stored
        work, viscous = h * (load(c, 0, PULL + k) * pushed), h * viscous
        taken = (p.theta - 0.5) * (inertia + h * h * spread) + 0.5 * stopped
        change = (kinetic - load(c, 0, KINETIC + k)) + (stored - load(c, 0, STORED + k))
        off = abs(change - work + heat + viscous + taken)
        store(c, 0, KINETIC + k, kinetic)
        store(c, 0, STORED + k, stored)
        size = abs(_add(c, 0, WORK + k, work))
        rubbed, damped = _add(c, 0, SUM_HEAT + k, heat), _add(c, 0, VISCOUS + k, viscous)
        _add(c, 0, ALGORITHMIC + k, taken)
        size = where(rubbed > size, rubbed, size)
        size = where(kinetic > size, kinetic, size)
        size = where(stored > size, stored, size)
        size = where(damped > size, damped, size)
        scale = load(c, 0, SCALE + k)
        scale = where(size > scale, size, scale)
        store(c, 0, SCALE + k, scale)
        worst = load(c, 0, WORST + k)
        store(c, 0, WORST + k, where(off > worst * scale, off / scale, worst))
        store(c, 0, LOAD + k, load(c, 0, NEW_LOAD + k))


@kernel(within=True)
def _add(a: Floats, i: int, at: int, gain: Lanes) -> Lanes:
    """Add to a sum that is followed by what its last addition lost; return it."""
    gain -= load(a, i, at + WIDTH)
    old = load(a, i, at)
    total = old + gain
    store(a, i, at + WIDTH, (total - old) - gain)
    store(a, i, at, total)
    return total
