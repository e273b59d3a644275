"""Events of a theta run: mode changes of one mass in two successive steps merged into one event.

A step resolves the time of an event to its length h only. A reversal may appear as slip, stick,
reversed slip in successive steps, and a stop as slip, reversed slip, stick. Either is reported as
one event. A block of events (`state.Events`) has the columns TIME, PLACE (x), VELOCITY (v),
FRICTION_BEFORE and FRICTION_AFTER of `values`, and MASS, MODE_BEFORE and MODE_AFTER of `changes`.
Modes are -1 and 1 in slip, 0 in stick. The callers are `theta.integrator` and `blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stiction.chains.outcome import Kinds
from stiction.chains.theta.state import (
    FRICTION_AFTER,
    MASS,
    MODE_AFTER,
    MODE_BEFORE,
    PLACE,
    TIME,
    Events,
)
from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["NEAR", "count_joined", "counted", "join", "joined"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]

# two mode changes of a mass within this many steps may be one event: successive steps differ by h,
# others by at least 2 h, so a number between decides whatever the rounding of times
NEAR = 1.5
# number of events from which they are joined only when they are read
_MANY = 20_000


def joined(blocks: Sequence[Events], h: float, n: int) -> tuple[Floats, Ints, ModeArray]:
    """Return the events, with each reversal or stop that took two steps merged into one.

    A mass that reverses sticks for one step (slip+, stick, slip-); with theta = 1/2 a mass that
    stops may slip backwards for one step (slip+, slip-, stick). Either is one event at the time of
    the first change.

    Parameters
    ----------
    blocks : all events in order of time
    h : step [s]
    n : number of masses

    Returns
    -------
    Time, x, v, friction before and after (5, m), mass (m,), modes before and after (2, m).
    """
    rows = sum(block.changes.shape[0] for block in blocks)
    columns = np.empty((5, rows))
    mass, modes = np.empty(rows, np.int64), np.empty((2, rows), np.int8)
    last, made = np.full(n + 1, -1), 0
    for block in blocks:
        made = join(block, h, columns, mass, modes, last, made)
    return columns[:, :made], mass[:made], modes[:, :made]


def counted(blocks: Sequence[Events], h: float, n: int) -> tuple[int, Floats] | None:
    """Return the number of events of `joined`, and the first slip time of each mass (n,) or NaN.

    None if there are few events, which are then joined at once.
    """
    if sum(block.changes.shape[0] for block in blocks) < _MANY:
        return None
    kinds, onset = Kinds.table(), np.full(n + 1, np.nan)
    time, modes = np.full(n + 1, -np.inf), np.zeros((2, n + 1), np.int8)
    for block in blocks:
        count_joined(block, h, time, modes, onset, kinds[0])
    every = kinds[0]
    return every.slip + every.stick + every.reverse, onset[:n]


@kernel
def join(
    events: Events,
    h: float,
    columns: Matrix,
    mass: Integers,
    modes: ModeArray,
    last: Integers,
    made: int,
) -> int:
    """Append joined events to `columns`, `mass` and `modes`; return the number written so far.

    Parameters
    ----------
    columns, mass, modes : (5, m), (m,), (2, m) output as in `joined`
    last : (n + 1,) index of the last event of each mass; -1 if there is none that can be joined
    made : number of events written before this block

    Verified by: tests/unit/chains/theta/test_events.py::test_events_are_joined_in_any_blocks
    """
    near = 0
    for row in range(events.changes.shape[0]):
        i, before, after = (
            events.changes[row, MASS],
            events.changes[row, MODE_BEFORE],
            events.changes[row, MODE_AFTER],
        )
        time, friction = events.values[row, TIME], events.values[row, FRICTION_AFTER]
        # first event within the last NEAR steps; older ones cannot be joined
        while near < made and not time - columns[TIME, near] < NEAR * h:
            near += 1
        at = last[i]
        if at >= near and modes[0, at] != 0:
            turned = modes[1, at] == 0 and after == -modes[0, at]
            arrested = modes[1, at] == -modes[0, at] and after == 0
            if turned or arrested:
                modes[1, at], columns[FRICTION_AFTER, at] = after, friction
                last[i] = -1
                continue
        # a separate event
        columns[TIME, made], columns[FRICTION_AFTER, made] = time, friction
        for k in range(PLACE, FRICTION_AFTER):
            columns[k, made] = events.values[row, k]
        mass[made], modes[0, made], modes[1, made] = i, before, after
        last[i] = made
        made += 1
    return made


@kernel
def count_joined(
    events: Events, h: float, time: Vector, modes: ModeArray, onset: Vector, kinds: Kinds
) -> None:
    """Count the events that `join` would write.

    Parameters
    ----------
    time, modes : (n + 1,), (2, n + 1) time of the last event of each mass, and its modes before
        and after; the mode before is 0 (stick) if there is no event or it is joined already
    onset : (n + 1,) first time at which each mass slips, initially NaN

    Verified by: tests/unit/chains/theta/test_events.py::test_events_are_counted_as_they_are_joined
    """
    for row in range(events.changes.shape[0]):
        i, before, after = (
            events.changes[row, MASS],
            events.changes[row, MODE_BEFORE],
            events.changes[row, MODE_AFTER],
        )
        now = events.values[row, TIME]
        if modes[0, i] != 0 and now - time[i] < NEAR * h:
            turned = modes[1, i] == 0 and after == -modes[0, i]
            arrested = modes[1, i] == -modes[0, i] and after == 0
            if turned or arrested:
                # the two are one event with the final mode of the second
                modes[0, i] = 0
                # the first was counted as stick (turned) or as reversal (arrested)
                kinds.reverse += 1 if turned else -1
                kinds.stick -= 1 if turned else -1
                continue
        # a separate event
        time[i], modes[0, i], modes[1, i] = now, before, after
        if before == 0:
            kinds.slip += 1
            if np.isnan(onset[i]):
                onset[i] = now
        elif after == 0:
            kinds.stick += 1
        else:
            kinds.reverse += 1
