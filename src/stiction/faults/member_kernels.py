"""Sliders of a study one after the other in one set of arrays, each as a run by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults import stepper_kernels as sk
from stiction.faults.rate_kernels import Cell
from stiction.faults.state import Event, March, Progress
from stiction.faults.stepper_kernels import march_dense
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["Found", "Starts", "march_sliders"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Starts(NamedTuple):
    """What b sliders begin with.

    log_speed, log_age : (b,) of the start
    spring, plate : (b,) [Pa/m], [m/s]
    cells : b
    progress : one element, with which all begin
    """

    log_speed: Floats
    log_age: Floats
    spring: Floats
    plate: Floats
    cells: Table[Cell]
    progress: Table[Progress]


class Found(NamedTuple):
    """What is found of b sliders.

    done : (b,) 1 where the end was reached, 0 at first; others are left alone
    states : (b, 2, 6) at the start and at the end
    progress : (b,) of the march at its end
    first : (b + 1,) where the events of a member begin
    events : of one member after the other
    """

    done: npt.NDArray[np.int8]
    states: Floats
    progress: Table[Progress]
    first: Ints
    events: Table[Event]


@kernel
def _begin(m: March, stiffness: Floats, given: Starts, b: int) -> None:
    """Set the arrays to those of a slider that was just made."""
    m.progress[0] = given.progress[0]
    m.cells[0] = given.cells[b]
    now = m.progress[0]
    now.plate_speed, now.own_stiffness = given.plate[b], given.spring[b]
    for state in (m.state, m.trial):
        for j in range(state.size):
            state[j] = 0.0
        state[0], state[1] = given.log_speed[b], given.log_age[b]
    stiffness[0, 0] = -given.spring[b]
    m.pull[0] = given.cells[b].speed - given.plate[b]
    m.stress_rate[0] = stiffness[0, 0] * m.pull[0]


@kernel
def _note_events(m: March, events: Table[Event], used: int) -> int:
    """Take over the events of the buffer; return how many there are then."""
    for k in range(m.progress[0].events):
        events[used] = m.events[k]
        used += 1
    m.progress[0].events = 0
    return used


@kernel(allocates=True, nogil=True)
def march_sliders(
    m: March, stiffness: Floats, given: Starts, most: int, begin: int, found: Found
) -> int:
    """March sliders to the end, from one on; return the first for whose events there is no room.

    Parameters
    ----------
    m : arrays of one slider
    stiffness : (1, 1)
    most : steps of each

    Verified by: tests/unit/faults/test_members.py::test_the_same_as_single_runs
    """
    members, now = given.plate.size, m.progress[0]
    for b in range(begin, members):
        used = found.first[b]
        found.first[b + 1] = used
        if found.done[b] != 0:
            continue
        _begin(m, stiffness, given, b)
        code = sk.PAUSE
        while code == sk.PAUSE and now.steps < most:
            now.left = most - now.steps
            code = march_dense(m, stiffness)
            if used + now.events > len(found.events):
                return b
            used = _note_events(m, found.events, used)
            # nobody reads the trace of a member
            now.traced = 0
        found.first[b + 1] = used
        if code != sk.DONE:
            continue
        found.done[b] = 1
        if now.saved < 2:
            # the last time may be missed by rounding; the march has ended there
            m.kept[1] = m.state
        found.states[b] = m.kept
        found.progress[b] = m.progress[0]
    return members
