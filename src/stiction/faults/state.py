"""Data of the time integration: progress, stages, events, trace.

Checkpoints save the fields of `Progress`, `Event` and `Sample` by their names.
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
    """State of the step control, in one element.

    time + time_low : time of the last accepted state [s]
    t_end : [s]
    step, trial_step : length of the step, and of the trial [s]
    error : of the accepted trial, over the tolerance
    rtol, plate_speed, level : tolerance, speed of the plates [m/s], ln V of an event
    own_stiffness : stress of a cell due to its own slip [Pa/m]
    low, high, at_low, at_high : bracket of a root within the step [s], and values at its ends
    v_least ... mu_most : extremes of speed, state and friction since their reset
    traced_v, traced_age : ln V and ln theta of the last sample of the trace
    apart : distance of samples of the trace in ln V or ln theta
    onset_at : time of the last onset [s]
    off_balance : largest residual of the balance before a projection, over the normal stress
    stage : of the trial whose stress rate is needed; -1 between two steps
    aim, which : purpose of the product, and the located quantity, see `stepper_kernels`
    turns, side : secants of this bracket, and the end that the last one moved
    saved, events, traced : filled entries of `saved_states`, `events`, `trace`
    steps, rejected, asked, onsets : counts of steps, products and onsets
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
    """The largest speed crosses the level: time in two parts, cell, direction, state of the cell.

    slip, largest : mean over the cells, and the largest since the onset, NaN at an onset [m]
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
    """State of the fastest cell, sampled when it has changed enough.

    step : length of the step that ended here [s]; at its start the change was too small
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
    stages, next_stage : (7, 4 n + 2) rates of the stages, and of the first one of the next step
    state, next_state, trial : (4 n + 2,) the last accepted one, the one after it, and the trial
    cells : n
    fluid : one element, or none where the normal stress is constant
    operand : (n,) factor of the stiffness: V - plate speed of the trial [m/s]; for PROJECT the
        slip [m]
    stress_rate : (n,) product of stiffness and operand [Pa/s]; for PROJECT the stress [Pa]
    saves : (s,) saved times [s]
    saved_states : (s, 4 n + 2) states at these times
    events, trace : buffers
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
