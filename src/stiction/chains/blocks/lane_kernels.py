"""Quiet steps of the theta scheme for a group of chains at once, a chain to each lane.

A step in which no mode changes is the same arithmetic for every chain, without a branch. Here it
is written lane by lane over arrays that lie side by side, so that the compiler makes one
instruction of several lanes; each lane sees the operations of `theta.quiet_kernels` in their
order, and so the same bits. A lane whose step is not quiet is left to the kernels of one chain.

The chains stand on a surface at rest. A table has a row for each mass and one more at both ends,
zero but for the last link: a mass that does not move, which is what a wall is. In a row every
quantity has `WIDTH` lanes, so that the compiler knows how far places are apart and need not fear
that they overlap; sums over masses are passed on from row to row. What a chain has once stands in a
row of its own, `c`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.pass_kernels import LARGEST
from stiction.chains.theta.step_kernels import Problem
from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel

__all__ = ["OF_CHAIN", "OF_MASS", "WIDTH", "move_lanes", "pull_lanes", "solve_lanes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WIDTH = 32
_W = WIDTH
# places in the row of a mass: constants, state, work space
MASS, LINK_K, LINK_C, SHARE, PLATE_K, INERTIA = 0, _W, 2 * _W, 3 * _W, 4 * _W, 5 * _W
RESIST, HOLD, COUPLING, INVERSE, LOWER, MODE = 6 * _W, 7 * _W, 8 * _W, 9 * _W, 10 * _W, 11 * _W
X, X_LOW, U, HEAT, HEAT_LOW = 12 * _W, 13 * _W, 14 * _W, 15 * _W, 16 * _W
Q, SOLUTION, NEW_FORCE, FIT, SIZE = 17 * _W, 18 * _W, 19 * _W, 20 * _W, 21 * _W
# sums over this mass and all before
S_KINETIC, S_STORED, S_VISCOUS, S_SPREAD, S_INERTIA = 22 * _W, 23 * _W, 24 * _W, 25 * _W, 26 * _W
S_HEAT, S_PUSHED, S_STOPPED, S_PLATE, S_PULLED = 27 * _W, 28 * _W, 29 * _W, 30 * _W, 31 * _W
OF_MASS, _SUMS = 32 * _W, 10 * _W
# places in the row of the chain: the load and the ledger
PIECE_TIME, PIECE_OFFSET, PIECE_RATE, PIECE_ENDS = 0, _W, 2 * _W, 3 * _W
LOAD, NEW_LOAD, PULL, FITS = 4 * _W, 5 * _W, 6 * _W, 7 * _W
KINETIC, STORED, SCALE, WORST = 8 * _W, 9 * _W, 10 * _W, 11 * _W
# each sum is followed by what its last addition lost
WORK, VISCOUS, ALGORITHMIC, SUM_HEAT = 12 * _W, 14 * _W, 16 * _W, 18 * _W
OF_CHAIN = 20 * _W


@kernel(borrows=True)
def pull_lanes(p: Problem, c: Floats, sines: Floats, t: float) -> None:
    """Write the load at time t, the end of a step, and what the step sees of it.

    Parameters
    ----------
    c : (OF_CHAIN,) row of the chains
    sines : (3, sines, WIDTH) amplitude, frequency, phase
    """
    for j in range(_W):
        c[NEW_LOAD + j] = c[PIECE_OFFSET + j] + c[PIECE_RATE + j] * (t - c[PIECE_TIME + j])
    for q in range(sines.shape[1]):
        for j in range(_W):
            c[NEW_LOAD + j] += sines[0, q, j] * sin(sines[1, q, j] * t + sines[2, q, j])
    for j in range(_W):
        c[PULL + j] = p.theta * c[NEW_LOAD + j] + (1.0 - p.theta) * c[LOAD + j]


@kernel(borrows=True)
def solve_lanes(p: Problem, a: Floats, c: Floats, t: float) -> int:
    """Solve for the slip with the modes as they are; return in how many lanes they do not fit.

    Place FITS of `c` says in which they do, 1 or 0.

    Source: `theta.pass_kernels.ahead` and `theta.quiet_kernels.stays`.
    """
    n = p.n
    for i in range(1, n + 1):
        for j in range(_W):
            left = a[i, LINK_K + j] * (a[i, X + j] - a[i - 1, X + j])
            right = a[i + 1, LINK_K + j] * (a[i + 1, X + j] - a[i, X + j])
            a[i, Q + j] = right - left
        for j in range(_W):
            a[i, Q + j] += a[i, SHARE + j] * c[PULL + j]
        if p.plates:
            for j in range(_W):
                a[i, Q + j] += a[i, PLATE_K + j] * (0.0 - a[i, X + j])
        for j in range(_W):
            force = a[i, Q + j] + a[i, INERTIA + j] * a[i, U + j]
            a[i, Q + j] = force
            slips = force - a[i, MODE + j] * a[i, RESIST + j]
            a[i, SOLUTION + j] = slips + a[i, LOWER + j] * a[i - 1, SOLUTION + j]
    for i in range(n, 0, -1):
        for j in range(_W):
            after = a[i + 1, COUPLING + j] * a[i + 1, SOLUTION + j]
            value = (a[i, SOLUTION + j] + after) * a[i, INVERSE + j]
            a[i, SOLUTION + j] = value
            a[i, SIZE + j] = a[i + 1, SIZE + j] + value * value
    for j in range(_W):
        a[0, FIT + j] = 0.0 if c[PIECE_ENDS + j] <= t else 1.0
    for i in range(1, n + 1):
        for j in range(_W):
            mode, w = a[i, MODE + j], a[i, SOLUTION + j]
            drive = a[i, Q + j] + a[i, COUPLING + j] * a[i - 1, SOLUTION + j]
            drive += a[i + 1, COUPLING + j] * a[i + 1, SOLUTION + j]
            a[i, NEW_FORCE + j] = -drive if mode == 0.0 else -mode * a[i, RESIST + j]
            good = ((mode == 0.0) & (abs(drive) <= a[i, HOLD + j])) | (mode * w > 0.0)
            a[i, FIT + j] = a[i - 1, FIT + j] if good else 0.0
        if p.jump:
            for j in range(_W):
                mode, w = a[i, MODE + j], a[i, SOLUTION + j]
                lasts = mode * (w - (1.0 - p.theta) * a[i, U + j]) > 0.0
                a[i, FIT + j] = a[i, FIT + j] if (mode == 0.0) | lasts else 0.0
    bad = 0
    for j in range(_W):
        fits = (a[n, FIT + j] != 0.0) & (a[1, SIZE + j] < LARGEST)
        c[FITS + j] = 1.0 if fits else 0.0
        bad += 0 if fits else 1
    return bad


@kernel(borrows=True)
def move_lanes(p: Problem, a: Floats, c: Floats) -> None:
    """Move all masses by their slip and enter the step into the ledgers.

    Source: `theta.quiet_kernels.slide` and `theta.step_kernels.close_books`.
    """
    n, h, rate = p.n, p.h, p.rate
    for k in range(_SUMS):
        a[n + 1, S_KINETIC + k] = 0.0
    # few quantities to a loop: the compiler looks at all pairs of what is read and written
    for i in range(1, n + 1):
        for j in range(_W):
            w, mass = a[i, SOLUTION + j], a[i, MASS + j]
            du = (w - a[i, U + j]) * rate
            u = a[i, U + j] + du
            stuck = a[i, MODE + j] == 0.0
            ringing = u if stuck else 0.0
            u = 0.0 if stuck else u
            a[i, U + j] = u
            a[i, S_INERTIA + j] = mass * du * du
            a[i, S_STOPPED + j] = mass * ringing * ringing
            a[i, S_KINETIC + j] = mass * u * u
            a[i, S_PUSHED + j] = a[i, SHARE + j] * w
        for j in range(_W):
            w = a[i, SOLUTION + j]
            move = h * w - a[i, X_LOW + j]
            x = a[i, X + j] + move
            a[i, X_LOW + j] = (x - a[i, X + j]) - move
            a[i, X + j] = x
            gain = -h * a[i, NEW_FORCE + j] * w
            a[i, S_HEAT + j] = gain
            gain -= a[i, HEAT_LOW + j]
            total = a[i, HEAT + j] + gain
            a[i, HEAT_LOW + j] = (total - a[i, HEAT + j]) - gain
            a[i, HEAT + j] = total
    for i in range(1, n + 2):
        for j in range(_W):
            spin = a[i, SOLUTION + j] - a[i - 1, SOLUTION + j]
            stretch = a[i, X + j] - a[i - 1, X + j]
            a[i, S_STORED + j] = a[i, LINK_K + j] * stretch * stretch
            a[i, S_SPREAD + j] = a[i, LINK_K + j] * spin * spin
            a[i, S_VISCOUS + j] = a[i, LINK_C + j] * spin * spin
        if p.plates:
            for j in range(_W):
                x, w, k = a[i, X + j], a[i, SOLUTION + j], a[i, PLATE_K + j]
                a[i, S_PLATE + j] = k * x * x
                a[i, S_PULLED + j] = k * w * w
        for k in range(_SUMS):
            a[i, S_KINETIC + k] += a[i - 1, S_KINETIC + k]
    _balance(p, a, c)


@kernel(borrows=True, within=True)
def _balance(p: Problem, a: Floats, c: Floats) -> None:
    """Enter the sums of the step into the ledgers, as `step_kernels.balance`."""
    # the last row has the sums of all
    n, h = p.n + 1, p.h
    if p.plates:
        for k in range(_W):
            a[n, S_STORED + k] += a[n, S_PLATE + k]
            a[n, S_SPREAD + k] += a[n, S_PULLED + k]
    for j in range(_W):
        kinetic, stored = 0.5 * a[n, S_KINETIC + j], 0.5 * a[n, S_STORED + j]
        work, viscous = h * (c[PULL + j] * a[n, S_PUSHED + j]), h * a[n, S_VISCOUS + j]
        spread, heat = a[n, S_INERTIA + j] + h * h * a[n, S_SPREAD + j], a[n, S_HEAT + j]
        taken = (p.theta - 0.5) * spread + 0.5 * a[n, S_STOPPED + j]
        change = (kinetic - c[KINETIC + j]) + (stored - c[STORED + j])
        off = abs(change - work + heat + viscous + taken)
        c[KINETIC + j], c[STORED + j] = kinetic, stored
        value = work - c[WORK + _W + j]
        worked = c[WORK + j] + value
        c[WORK + _W + j] = (worked - c[WORK + j]) - value
        c[WORK + j] = worked
        value = viscous - c[VISCOUS + _W + j]
        damped = c[VISCOUS + j] + value
        c[VISCOUS + _W + j] = (damped - c[VISCOUS + j]) - value
        c[VISCOUS + j] = damped
        value = taken - c[ALGORITHMIC + _W + j]
        total = c[ALGORITHMIC + j] + value
        c[ALGORITHMIC + _W + j] = (total - c[ALGORITHMIC + j]) - value
        c[ALGORITHMIC + j] = total
        value = heat - c[SUM_HEAT + _W + j]
        rubbed = c[SUM_HEAT + j] + value
        c[SUM_HEAT + _W + j] = (rubbed - c[SUM_HEAT + j]) - value
        c[SUM_HEAT + j] = rubbed
        size = abs(worked)
        size = rubbed if rubbed > size else size
        size = kinetic if kinetic > size else size
        size = stored if stored > size else size
        size = damped if damped > size else size
        scale = c[SCALE + j]
        scale = size if size > scale else scale
        c[SCALE + j] = scale
        worst = c[WORST + j]
        c[WORST + j] = off / scale if off > worst * scale else worst
