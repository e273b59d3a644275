"""The worst that contacts met in all steps of a run: what the audit compares with its limits.

Source: formulas sheet of the rods paper, sections 2 to 4.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import FITTED
from stiction.rods.contact.kernels import (
    AT_END,
    B1,
    CROSSING,
    DISTANCE,
    EMPTY,
    FORCE_C,
    KIND,
    MODE,
    NODE1,
    NOISE,
    OUTER,
    REACH,
    ROD1,
    ROLL,
    RULE,
    SLOW,
    TANGENCY,
    N,
    P,
    Touch,
)
from stiction.rods.contact.observe_kernels import contact_rates
from stiction.rods.driving_kernels import SLIDES, SLOT, SPIN

# columns of the extremes of a contact, each with the time [s] after it: normal force, pulling > 0
# [N]; interpenetration [m]; minus the sine of the angle at a single point; speed along a rod over
# that of its shear waves, and the number of the rod behind its time; tangential over normal force;
# part of the force that an end which slides ignores, and the number of the rod behind its time
PULL, DEPTH, PARALLEL, FAST, FAST_ROD, RUB, IGNORED, IGNORED_ROD = 0, 2, 4, 6, 8, 9, 11, 13
EXTREMES = 14
# less than any value
NEVER = -1e300


@kernel(borrows=True)
def end_weight(touch: Touch, c: int, side: int, node: int) -> float:
    """Return the weight of a node in the point of contact c on one of its rods."""
    g, first = touch.geom[c], touch.marks[c, NODE1 + side]
    if first <= node < first + 4:
        return float(g[B1 + 4 * side + node - first])
    if touch.marks[c, RULE] == FITTED and node == first - 1:
        return float(g[OUTER + 2 * side])
    if touch.marks[c, RULE] == FITTED and node == first + 4:
        return float(g[OUTER + 2 * side + 1])
    return 0.0


@kernel(borrows=True)
def note_extremes(touch: Touch, v: Matrix, driven: Matrix, rate: float, now: float) -> None:
    """Keep the worst of every contact at the end of a step.

    Parameters
    ----------
    v : velocities of nodes [m/s]
    driven : clamps that move, as `driving_kernels` has them
    rate : what makes a force of the impulses of the step [1/s]; 0 where kick holds forces
    now : time [s]

    Verified by: tests/audit/test_all_steps.py::test_saved_times_do_not_matter
    """
    index, geom, law = touch.marks, touch.geom, touch.law
    for c in range(index.shape[0]):
        if index[c, MODE] == EMPTY:
            continue
        g, k, most = geom[c], touch.kick[c], touch.extremes[c]
        depth = law[c, REACH] - g[DISTANCE]
        if depth > most[DEPTH]:
            most[DEPTH], most[DEPTH + 1] = depth, now
        if index[c, KIND] == CROSSING and index[c, AT_END] == 0:
            sine = min(1.0, g[TANGENCY])
            if -sine > most[PARALLEL]:
                most[PARALLEL], most[PARALLEL + 1] = -sine, now
        if index[c, MODE] < ROLL:
            continue
        fx, fy, fz = k[FORCE_C], k[FORCE_C + 1], k[FORCE_C + 2]
        if rate > 0.0:
            fx, fy, fz = rate * k[P], rate * k[P + 1], rate * k[P + 2]
        along = fx * g[N] + fy * g[N + 1] + fz * g[N + 2]
        tx, ty, tz = fx - along * g[N], fy - along * g[N + 1], fz - along * g[N + 2]
        if along > most[PULL]:
            most[PULL], most[PULL + 1] = along, now
        # forces that are rounding have no direction
        rub = math.sqrt(tx * tx + ty * ty + tz * tz)
        ratio = rub / abs(along) if abs(along) > law[c, NOISE] else 0.0
        if ratio > most[RUB]:
            most[RUB], most[RUB + 1] = ratio, now
        first, second = contact_rates(v, c, touch.place, index, geom)
        for side in range(2):
            speed = law[c, SLOW + side] * (abs(first) if side == 0 else abs(second))
            if speed > most[FAST]:
                most[FAST], most[FAST + 1] = speed, now
                most[FAST_ROD] = index[c, ROD1 + side]
        size = math.sqrt(along * along + rub * rub)
        for d in range(driven.shape[0] if size > 0.0 else 0):
            if driven[d, SLIDES] == 1.0:
                row = driven[d]
                part = abs(fx * row[SPIN] + fy * row[SPIN + 1] + fz * row[SPIN + 2]) / size
                for side in range(2):
                    weight = abs(end_weight(touch, c, side, int(row[SLOT])))
                    if weight != 0.0 and weight * part > most[IGNORED]:
                        most[IGNORED], most[IGNORED + 1] = weight * part, now
                        most[IGNORED_ROD] = index[c, ROD1 + side]
