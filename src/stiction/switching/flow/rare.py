"""Rare events, which the loop leaves to others: touches, the line, meetings of surfaces.

`advance` returns a negative code for them, so that it compiles without them. Each of these
kernels handles one and returns RUNNING, or why the call must end.
"""

from __future__ import annotations

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import advance
from stiction.switching.flow.corners.handling import at_end_of_stay, at_meeting, at_stay
from stiction.switching.flow.events import forget_zeros, too_many_at_once
from stiction.switching.flow.line import slips_to_its_end
from stiction.switching.flow.rates import event_values, slide_data
from stiction.switching.flow.records import (
    FOLD,
    LINE_HIT,
    MEETS,
    PAUSED,
    RUNNING,
    SPLIT,
    STAY_ENDS,
    STAYS,
    TOUCHES,
)
from stiction.switching.flow.rows import (
    AT_LENGTH,
    AT_SHARE,
    CLOCK,
    GOES_ON,
    LEFT,
    NOISE,
    ORDER,
    SAMPLE,
    SIDES,
    TRIAL,
    WHICH,
    N,
    Q,
    Y,
)
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.steps import step
from stiction.switching.flow.surfaces import (
    FOLD_SHARE,
    begin_mode,
    project,
    surface_speed,
)

__all__ = ["at_line", "at_touch", "carry_on"]

# a value of h below this many times its rounding is zero
_ZERO = 64.0


@kernel
def at_touch(
    system: Integers, p: Vector, table: Matrix, a: Matrix, saved: Matrix, event: Matrix
) -> int:
    """Stop at a touch of a surface: a fold of this side, met from outside."""
    i, root, h = system[WHICH], a[CLOCK, AT_SHARE], a[CLOCK, AT_LENGTH]
    step(system, p, table, a, root * h)
    save_until(system, p, a, saved, a[TRIAL, system[N]], root)
    for c in range(system[N] + 1 + system[Q]):
        a[Y, c] = a[TRIAL, c]
    event_values(system, p, a, Y, SAMPLE)
    exact = abs(a[SAMPLE, i]) <= _ZERO * a[NOISE, i]
    project(system, p, a, i)
    side = a[SIDES, i]
    log_event(system, a, event, FOLD, i, side, side, side, side)
    forget_zeros(system)
    system[ORDER + i] = 2
    up, down = slide_data(system, p, a, SIDES, i, Y)
    # a field that is tangent too leads nowhere else
    least = FOLD_SHARE * surface_speed(system, a, i)
    begin_mode(system, p, a)
    # a touch within the tolerance only says nothing about the future
    if exact and ((side > 0.0 and down < -least) or (side < 0.0 and up > least)):
        return SPLIT
    return too_many_at_once(system, a)


@kernel
def at_line(system: Integers, p: Vector, a: Matrix) -> int:
    """Say whether a state very near the line has come to its end there."""
    return LINE_HIT if slips_to_its_end(system, p, a, a[CLOCK, AT_LENGTH]) else RUNNING


@kernel
def carry_on(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    t_end: float,
    max_steps: int,
) -> int:
    """Do what `advance` does, rare events included."""
    left = max_steps
    while left > 0:
        code = advance(system, p, table, a, saved, event, t_end, left)
        system[GOES_ON] = 0
        while code < RUNNING:
            if code == TOUCHES:
                code = at_touch(system, p, table, a, saved, event)
            elif code == MEETS:
                code = at_meeting(system, p, a, event)
            elif code == STAYS:
                code = at_stay(system, p, table, a, saved, event)
            elif code == STAY_ENDS:
                code = at_end_of_stay(system, p, a, event)
            else:
                code = at_line(system, p, a)
        if code != RUNNING:
            return code
        left = system[LEFT]
    return PAUSED
