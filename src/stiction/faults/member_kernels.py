"""Members of a study: spring sliders integrated one after the other in one set of arrays.

Each member has the steps of a single run: `stepper_kernels` has the method (Dormand, Prince 1980),
`rate_kernels` the equations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults import stepper_kernels as sk
from stiction.faults.rate_kernels import Cell
from stiction.faults.state import Event, MethodState, Progress
from stiction.faults.stepper_kernels import integrate_dense
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["BlockResults", "InitialValues", "integrate_sliders"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class InitialValues(NamedTuple):
    """Initial values of b sliders.

    log_speed, log_age : (b,) initial ln V and ln theta
    spring, plate : (b,) [Pa/m], [m/s]
    cells : b
    progress : one element, the initial one of all
    """

    log_speed: Floats
    log_age: Floats
    spring: Floats
    plate: Floats
    cells: Table[Cell]
    progress: Table[Progress]


class BlockResults(NamedTuple):
    """Results of b sliders.

    done : (b,) 1 if the end was reached, 0 initially; members with other values are skipped
    states : (b, 2, 6) at the start and at the end
    progress : (b,) at the end
    first : (b + 1,) index of the first event of each member
    events : of all members in order
    """

    done: npt.NDArray[np.int8]
    states: Floats
    progress: Table[Progress]
    first: Ints
    events: Table[Event]


@kernel
def _begin(m: MethodState, stiffness: Floats, given: InitialValues, b: int) -> None:
    """Set the arrays to the initial values of slider b."""
    m.progress[0] = given.progress[0]
    m.cells[0] = given.cells[b]
    now = m.progress[0]
    now.plate_speed, now.own_stiffness = given.plate[b], given.spring[b]
    for state in (m.state, m.trial):
        for j in range(state.size):
            state[j] = 0.0
        state[0], state[1] = given.log_speed[b], given.log_age[b]
    stiffness[0, 0] = -given.spring[b]
    m.operand[0] = given.cells[b].speed - given.plate[b]
    m.stress_rate[0] = stiffness[0, 0] * m.operand[0]


@kernel
def _copy_events(m: MethodState, events: Table[Event], used: int) -> int:
    """Append the events of the buffer; return their new number."""
    for k in range(m.progress[0].events):
        events[used] = m.events[k]
        used += 1
    m.progress[0].events = 0
    return used


@kernel(allocates=True, nogil=True)
def integrate_sliders(
    m: MethodState,
    stiffness: Floats,
    given: InitialValues,
    most: int,
    begin: int,
    results: BlockResults,
) -> int:
    """Integrate sliders from index `begin`; return the first whose events exceed the buffer.

    Parameters
    ----------
    m : arrays of one slider
    stiffness : (1, 1)
    most : steps of each

    Verified by: tests/unit/faults/test_members.py::test_the_same_as_single_runs
    """
    members, now = given.plate.size, m.progress[0]
    for b in range(begin, members):
        used = results.first[b]
        results.first[b + 1] = used
        if results.done[b] != 0:
            continue
        _begin(m, stiffness, given, b)
        code = sk.PAUSE
        while code == sk.PAUSE and now.steps < most:
            # a pause is a full buffer, or the end of the allowed steps
            now.left = most - now.steps
            code = integrate_dense(m, stiffness)
            # the caller enlarges the buffer and repeats this member
            if used + now.events > len(results.events):
                return b
            used = _copy_events(m, results.events, used)
            # members have no trace
            now.traced = 0
        results.first[b + 1] = used
        if code != sk.DONE:
            continue
        results.done[b] = 1
        if now.saved < 2:
            # rounding may skip the last saved time: it is the end of the integration
            m.saved_states[1] = m.state
        results.states[b] = m.saved_states
        results.progress[b] = m.progress[0]
    return members
