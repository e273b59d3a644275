"""Events of a theta run as they are told: those that took two steps made one, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.outcome import Kinds
from stiction.chains.theta.state import Events
from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel, mode

__all__ = ["NEAR", "count_joined", "counted", "join", "join_at_once", "joined"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# a change of mode in the step after another one is told with it [steps]
NEAR = 1.5
# events from which on the compiled loop pays
_MANY = 20_000


def joined(blocks: Sequence[Events], h: float, n: int) -> tuple[Floats, Ints, Marks]:
    """Return the events with every reversal or arrest that took two steps made one.

    A mass that turns round passes through stick for one step (slip+, stick, slip-), and
    with theta = 1/2 one that stops may turn round for one (slip+, slip-, stick). Both are
    one event, at the time of the first change; a step resolves no more than that.

    Parameters
    ----------
    blocks : all events in order of time
    h : step [s]
    n : number of masses

    Returns
    -------
    Time, x, v, friction before and after (5, m), mass (m,), modes before and after (2, m).
    """
    rows = sum(block.marks.shape[0] for block in blocks)
    columns = np.empty((5, rows))
    mass, modes = np.empty(rows, np.int64), np.empty((2, rows), np.int8)
    made = 0
    if rows >= _MANY and mode() == "compiled":
        last = np.full(n + 1, -1)
        for block in blocks:
            made = join(block, h, columns, mass, modes, last, made)
    else:
        values = np.concatenate([block.values for block in blocks])
        marks = np.concatenate([block.marks for block in blocks])
        made = join_at_once(values, marks, h, columns, mass, modes)
    return columns[:, :made], mass[:made], modes[:, :made]


def counted(blocks: Sequence[Events], h: float, n: int) -> tuple[int, Floats] | None:
    """Return how many events `joined` will find, and when each mass first slips (n,), else NaN.

    None where the events are so few that they may as well be joined.
    """
    if sum(block.marks.shape[0] for block in blocks) < _MANY or mode() != "compiled":
        return None
    kinds, onset = Kinds.table(), np.full(n + 1, np.nan)
    time, modes = np.full(n + 1, -np.inf), np.zeros((2, n + 1), np.int8)
    for block in blocks:
        count_joined(block, h, time, modes, onset, kinds[0])
    every = kinds[0]
    return every.slip + every.stick + every.reverse, onset[:n]


def join_at_once(
    values: Floats, marks: Any, h: float, columns: Floats, mass: Ints, modes: Marks
) -> int:
    """Do what `join` does, for all events of a run at once."""
    order = np.argsort(marks[:, 0], kind="stable")
    which, before, after = marks[order].T
    time = values[order, 0]
    near = (which[1:] == which[:-1]) & (time[1:] - time[:-1] < NEAR * h)
    turned = (after[:-1] == 0) & (after[1:] == -before[:-1])
    arrested = (after[:-1] == -before[:-1]) & (after[1:] == 0)
    pairs = np.flatnonzero(near & (before[:-1] != 0) & (turned | arrested))
    # what was joined to the event before it begins no pair: of neighbours every second one counts
    at = np.arange(pairs.size)
    begins = np.diff(pairs, prepend=-2) > 1
    in_row = at - np.maximum.accumulate(np.where(begins, at, 0))
    pairs = pairs[in_row % 2 == 0]
    first, second = order[pairs], order[pairs + 1]
    kept = np.ones(marks.shape[0], bool)
    kept[second] = False
    place = np.cumsum(kept) - 1
    made = int(np.count_nonzero(kept))
    columns[:, :made], mass[:made] = values[kept].T, marks[kept, 0]
    modes[:, :made] = marks[kept, 1:].T
    modes[1, place[first]], columns[4, place[first]] = marks[second, 2], values[second, 4]
    return made


@kernel
def join(
    events: Events,
    h: float,
    columns: Matrix,
    mass: Integers,
    modes: Marks,
    last: Integers,
    made: int,
) -> int:
    """Write events to `columns`, `mass` and `modes`, in order of time; return how many are there.

    Parameters
    ----------
    last : (n + 1,) -1 to begin with; then where the last event of each mass was written,
        -1 where that was joined to another
    made : how many are there already

    Verified by: tests/unit/chains/theta/test_events.py::test_events_are_joined_alike
    """
    near = 0
    for row in range(events.marks.shape[0]):
        i, before, after = events.marks[row, 0], events.marks[row, 1], events.marks[row, 2]
        time, friction = events.values[row, 0], events.values[row, 4]
        # the first event of the step before: what is older is not looked at again
        while near < made and not time - columns[0, near] < NEAR * h:
            near += 1
        at = last[i]
        if at >= near and modes[0, at] != 0:
            turned = modes[1, at] == 0 and after == -modes[0, at]
            arrested = modes[1, at] == -modes[0, at] and after == 0
            if turned or arrested:
                modes[1, at], columns[4, at] = after, friction
                last[i] = -1
                continue
        columns[0, made], columns[4, made] = time, friction
        for k in range(1, 4):
            columns[k, made] = events.values[row, k]
        mass[made], modes[0, made], modes[1, made] = i, before, after
        last[i] = made
        made += 1
    return made


@kernel
def count_joined(
    events: Events, h: float, time: Vector, modes: Marks, onset: Vector, kinds: Kinds
) -> None:
    """Count the events that `join` would write.

    Parameters
    ----------
    time, modes : (n + 1,), (2, n + 1) the last event of each mass; 0 before it where that was
        joined to another, or there was none
    onset : (n + 1,) when each mass first slips, NaN to begin with

    Verified by: tests/unit/chains/theta/test_events.py::test_events_are_counted_as_they_are_joined
    """
    for row in range(events.marks.shape[0]):
        i, before, after = events.marks[row, 0], events.marks[row, 1], events.marks[row, 2]
        now = events.values[row, 0]
        if modes[0, i] != 0 and now - time[i] < NEAR * h:
            turned = modes[1, i] == 0 and after == -modes[0, i]
            arrested = modes[1, i] == -modes[0, i] and after == 0
            if turned or arrested:
                # the two are one event, which ends as the second does
                modes[0, i] = 0
                kinds.reverse += 1 if turned else -1
                kinds.stick -= 1 if turned else -1
                continue
        time[i], modes[0, i], modes[1, i] = now, before, after
        if before == 0:
            kinds.slip += 1
            if np.isnan(onset[i]):
                onset[i] = now
        elif after == 0:
            kinds.stick += 1
        else:
            kinds.reverse += 1
