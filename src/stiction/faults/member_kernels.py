"""Sliders of a study one after the other in one set of arrays, each as a run by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults import stepper_kernels as sk
from stiction.faults.stepper_kernels import March, march_dense
from stiction.numerics.jit import kernel

__all__ = ["Found", "Starts", "march_sliders"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Starts(NamedTuple):
    """What b sliders begin with.

    log_speed, log_age, speed, stress : (b,) of the start
    spring, plate : (b,) [Pa/m], [m/s]
    par : (b, PAR_ROWS) of `rate_kernels`
    number : (NUMBERS,) what all march with
    """

    log_speed: Floats
    log_age: Floats
    speed: Floats
    stress: Floats
    spring: Floats
    plate: Floats
    par: Floats
    number: Floats


class Found(NamedTuple):
    """What is found of b sliders.

    done : (b,) 1 where the end was reached, 0 at first; others are left alone
    states : (b, 2, 6) at the start and at the end
    number : (b, NUMBERS), counts : (b, COUNTS) of the march at its end
    first : (b + 1,) where the events of a member begin
    events : (rows, 3) time, its low part, and whether it is an onset
    """

    done: npt.NDArray[np.int8]
    states: Floats
    number: Floats
    counts: Ints
    first: Ints
    events: Floats


@kernel
def _begin(m: March, stiffness: Floats, given: Starts, b: int) -> None:
    """Set the arrays to those of a slider that was just made."""
    for i in range(m.work.shape[0]):
        for j in range(m.work.shape[1]):
            m.work[i, j] = 0.0
    for i in range(m.number.size):
        m.number[i] = given.number[i]
    for i in range(m.counts.size):
        m.counts[i] = 0
    for row in (sk.STATE, sk.TRIAL):
        m.work[row, 0], m.work[row, 1] = given.log_speed[b], given.log_age[b]
    for i in range(m.par.shape[0]):
        m.par[i, 0] = given.par[b, i]
    stiffness[0, 0] = -given.spring[b]
    m.number[sk.PLATE], m.number[sk.OWN] = given.plate[b], given.spring[b]
    m.stress_start[0] = given.stress[b]
    m.pull[0] = given.speed[b] - given.plate[b]
    m.stress_rate[0] = stiffness[0, 0] * m.pull[0]


@kernel
def _note_events(m: March, events: Floats, used: int) -> int:
    """Take over the events of the buffer; return how many rows are used then."""
    for k in range(m.counts[sk.EVENTS]):
        events[used, 0] = m.events[k, sk.E_TIME]
        events[used, 1] = m.events[k, sk.E_TIME_LOW]
        events[used, 2] = m.events[k, sk.E_UP]
        used += 1
    m.counts[sk.EVENTS] = 0
    return used


@kernel(nogil=True)
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
    members = given.plate.size
    for b in range(begin, members):
        used = found.first[b]
        found.first[b + 1] = used
        if found.done[b] != 0:
            continue
        _begin(m, stiffness, given, b)
        code = sk.PAUSE
        while code == sk.PAUSE and m.counts[sk.STEPS] < most:
            m.counts[sk.LEFT] = most - m.counts[sk.STEPS]
            code = march_dense(m, stiffness)
            if used + m.counts[sk.EVENTS] > found.events.shape[0]:
                return b
            used = _note_events(m, found.events, used)
            # nobody reads the trace of a member
            m.counts[sk.TRACED] = 0
        found.first[b + 1] = used
        if code != sk.DONE:
            continue
        found.done[b] = 1
        if m.counts[sk.SAVED] < 2:
            # the last time may be missed by rounding; the march has ended there
            for j in range(m.work.shape[1]):
                m.kept[1, j] = m.work[sk.STATE, j]
        for i in range(2):
            for j in range(m.work.shape[1]):
                found.states[b, i, j] = m.kept[i, j]
        for i in range(m.number.size):
            found.number[b, i] = m.number[i]
        for i in range(m.counts.size):
            found.counts[b, i] = m.counts[i]
    return members
