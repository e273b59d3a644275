"""Members of a study: many spring sliders, integrated one after the other in the same arrays.

A slider satisfies sigma mu(V, theta) + eta V = tau0 - k s: normal stress sigma, slip speed V, state
theta, radiation damping eta, initial shear stress tau0, spring k, and slip s less that of the
plates. Each member makes the same steps as in a single run. `stepper_kernels` has the method
(Dormand and Prince 1980), `rate_kernels` the equations. `members` calls `integrate_sliders`.
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

# entries of the state of a slider, as in `rate_kernels.rates`
LN_SPEED, LN_AGE = 0, 1


class InitialValues(NamedTuple):
    """Initial values and parameters of b sliders.

    log_speed, log_age : (b,) initial ln V and ln theta of slip speed V [m/s] and state theta [s]
    spring, plate : (b,) stiffness per area [Pa/m] and plate speed [m/s]
    cells : b
    progress : one element, the initial progress of all
    """

    log_speed: Floats
    log_age: Floats
    spring: Floats
    plate: Floats
    cells: Table[Cell]
    progress: Table[Progress]


class BlockResults(NamedTuple):
    """Results of b sliders.

    done : (b,) 1 if the end time was reached; 0 if not solved: not yet, failed, or out of steps; -1
        for inadmissible members, which are skipped
    states : (b, 2, 6) at the start and at the end: ln V, ln theta, slip less that of the plates,
        friction heat, radiated energy and work of the plates, as in `rate_kernels.rates`
    progress : (b,) progress at the end
    first : (b + 1,) member k has the events first[k] to first[k + 1] - 1
    events : events of all members in order
    """

    done: npt.NDArray[np.int8]
    states: Floats
    progress: Table[Progress]
    first: Ints
    events: Table[Event]


@kernel
def _reset_to_member(m: MethodState, stiffness: Floats, given: InitialValues, k: int) -> None:
    """Set the arrays to the initial values of slider k."""
    m.progress[0] = given.progress[0]
    m.cells[0] = given.cells[k]
    now = m.progress[0]
    now.plate_speed, now.own_stiffness = given.plate[k], given.spring[k]
    for state in (m.state, m.trial):
        for j in range(state.size):
            state[j] = 0.0
        state[LN_SPEED], state[LN_AGE] = given.log_speed[k], given.log_age[k]
    # the matrix K of the elastic stress of one cell
    stiffness[0, 0] = -given.spring[k]
    m.operand[0] = given.cells[k].speed - given.plate[k]
    m.stress_rate[0] = stiffness[0, 0] * m.operand[0]


@kernel
def _copy_events(m: MethodState, events: Table[Event], used: int) -> int:
    """Append the events of the buffer to the first `used` of `events`; return their number."""
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
    max_steps: int,
    begin: int,
    results: BlockResults,
) -> int:
    """Integrate sliders from index `begin`; return the first whose events exceed the buffer.

    If all events fit, the number of sliders is returned. Otherwise the caller enlarges the buffer
    and calls again with the returned index; the events of that slider begin at its `first` again.

    Parameters
    ----------
    m : arrays of one slider, overwritten by each member
    stiffness : (1, 1) work array [Pa/m]
    given : initial values and parameters of all sliders
    max_steps : largest number of steps of each slider
    begin : index of the first slider to integrate; `results` holds those before it
    results : output

    Verified by: tests/unit/faults/test_members.py::test_the_same_as_single_runs
    """
    members, now = given.plate.size, m.progress[0]
    for k in range(begin, members):
        used = results.first[k]
        results.first[k + 1] = used
        if results.done[k] != 0:
            continue
        _reset_to_member(m, stiffness, given, k)
        code = sk.PAUSE
        while code == sk.PAUSE and now.steps < max_steps:
            # a pause: a buffer is full, or the member has made `max_steps` steps
            now.left = max_steps - now.steps
            code = integrate_dense(m, stiffness)
            # the caller enlarges the buffer and repeats this member
            if used + now.events > len(results.events):
                return k
            used = _copy_events(m, results.events, used)
            # members have no trace
            now.traced = 0
        results.first[k + 1] = used
        if code != sk.DONE:
            continue
        results.done[k] = 1
        if now.saved < 2:
            # rounding may skip the last saved time: it is the end of the integration
            m.saved_states[1] = m.state
        results.states[k] = m.saved_states
        results.progress[k] = m.progress[0]
    return members
