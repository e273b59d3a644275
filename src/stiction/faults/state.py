"""Data of the time integration of faults: step control, stages, events, trace.

`run` makes a `MethodState`, and the kernels of `stepper_kernels` change it in place. V is the slip
speed [m/s], theta the state [s] of a cell; a state vector (4 n + 2,) has n values each of ln V,
ln theta, slip less that of the plates [m] and friction heat [J/m^2], then radiated energy and work
of the plates (`rate_kernels.rates`). The level is ln V at which events are defined. The
trace samples the cell of the largest speed. Checkpoints save the fields of `Progress`, `Event` and
`Sample` by their names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults.pressure_kernels import Fluid
from stiction.faults.rate_kernels import Cell
from stiction.numerics.arrays import Struct, Table

__all__ = ["Event", "MethodState", "Progress", "Sample"]

Floats = npt.NDArray[np.float64]


class Progress(Struct):
    """State of the step control; tables have one element.

    time + time_low : time of the last accepted state [s]
    t_end : [s]
    step, trial_step : length of the step, and of the trial, which may be a part of the step [s]
    error : error of the accepted trial, over the tolerance
    rtol, plate_speed, level : tolerance [1], speed of the plates [m/s], ln V of an event
    own_stiffness : stress on a cell due to its own slip [Pa/m]
    low, high, at_low, at_high : bracket of a root within the step [s], and the monitored quantity
        at its ends
    v_least, v_most, age_least, age_most, mu_least, mu_most : extremes of speed, state and friction
        of the fastest cell since their reset
    traced_v, traced_age : ln V and ln theta of the last sample of the trace
    apart : smallest change of ln V or ln theta between samples of the trace
    onset_at : time of the last onset [s]
    off_balance : largest residual of the balance before a projection, over the normal stress
    v_peak : largest slip speed of a cell in the whole run [m/s]
    stage : index of the Runge-Kutta stage whose stress rate is needed; -1 between two steps
    aim, which : purpose of the requested product and monitored quantity; constants of
        `stepper_kernels`
    turns, side : number of secants of this bracket; the end that the last one moved, 1 low, 2 high
    saved, events, traced : filled entries of `saved_states`, `events`, `trace`
    steps, rejected, asked, onsets : numbers of accepted and rejected steps, of products with the
        stiffness, of onsets
    left : steps to the next pause
    since : steps since the last projection
    """

    time: float
    time_low: float
    t_end: float
    step: float
    trial_step: float
    error: float
    rtol: float
    plate_speed: float
    level: float
    own_stiffness: float
    low: float
    high: float
    at_low: float
    at_high: float
    v_least: float
    v_most: float
    age_least: float
    age_most: float
    mu_least: float
    mu_most: float
    traced_v: float
    traced_age: float
    apart: float
    onset_at: float
    off_balance: float
    v_peak: float
    stage: int
    aim: int
    which: int
    turns: int
    side: int
    saved: int
    events: int
    traced: int
    steps: int
    rejected: int
    asked: int
    onsets: int
    left: int
    since: int


class Event(Struct):
    """Crossing of the level by the largest speed.

    time + time_low : time of the crossing [s]
    cell : index of the fastest cell
    up : 1 at an onset, where the speed increases; 0 at an arrest
    speed, friction, age : slip speed [m/s], mu [1] and state theta [s] of this cell
    slip : slip less that of the plates, mean over the cells [m]
    largest : largest slip of a cell since the onset [m], NaN at an onset
    """

    time: float
    time_low: float
    cell: int
    up: int
    speed: float
    slip: float
    largest: float
    friction: float
    age: float


class Sample(Struct):
    """Sample of the fastest cell, saved when ln V or ln theta has changed by `Progress.apart`.

    time, step : time and length of the step that ended then [s]
    speed, age, friction : slip speed [m/s], state theta [s] and mu [1]
    slip : slip less that of the plates [m]
    """

    time: float
    step: float
    speed: float
    age: float
    friction: float
    slip: float


class MethodState(NamedTuple):
    """Arrays of the integration; the layout of a state is that of `rate_kernels.rates`.

    Attributes
    ----------
    progress : one element
    stages : (7, 4 n + 2) rates at the stages of the step
    next_stage : (4 n + 2,) rates at the first stage of the next step
    state, next_state, trial : (4 n + 2,) last accepted state, the state after it, and that of the
        present stage
    cells : n
    fluid : one element, or none if the normal stress is constant
    operand : (n,) vector that the stiffness multiplies: V - plate speed at the stage [m/s]; for the
        purpose PROJECT the slip [m]
    stress_rate : (n,) product of stiffness and operand [Pa/s]; for PROJECT the stress [Pa]
    saves : (s,) times to be saved [s]
    saved_states : (s, 4 n + 2) states at these times
    events, trace : buffers, emptied by the caller of the kernels
    """

    progress: Table[Progress]
    stages: Floats
    next_stage: Floats
    state: Floats
    next_state: Floats
    trial: Floats
    cells: Table[Cell]
    fluid: Table[Fluid]
    stress_rate: Floats
    operand: Floats
    saves: Floats
    saved_states: Floats
    events: Table[Event]
    trace: Table[Sample]
