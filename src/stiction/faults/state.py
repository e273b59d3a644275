"""What a march reads and changes: its progress, its stages, and what it records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.faults.pressure_kernels import Fluid
from stiction.faults.rate_kernels import Cell
from stiction.numerics.arrays import Struct, Table

__all__ = ["Event", "March", "Progress", "Sample"]

Floats = npt.NDArray[np.float64]


class Progress(Struct):
    """Where a march stands, in one element.

    time + time_low : time of the last accepted state [s]
    t_end : [s]
    step, trial_step : length of the step of the march, and of the trial [s]
    error : of the accepted trial, over the tolerance
    rtol, plate_speed, level : tolerance, speed of the plates [m/s], ln V of an event
    own_stiffness : stress of a cell by its own slip [Pa/m]
    low, high, at_low, at_high : bracket of an event, in lengths of steps [s], and values there
    v_least ... mu_most : extremes of speed, state and friction since they were last reset
    traced_v, traced_age : ln V and ln theta of the last sample of the trace
    apart : how far apart samples of the trace are in ln V or ln theta
    onset_at : time of the last onset [s]
    off_balance : the worst distance from balance that was corrected, over the normal stress
    stage : of the trial whose stress rate is needed; -1 between two steps
    aim, which : what the product is for, and what is located, see `stepper_kernels`
    turns, side : secants of this bracket, and which end the last one moved
    saved, events, traced : entries of `kept`, `events`, `trace` that are filled
    steps, rejected, asked, onsets : counts of steps, products and onsets
    left : steps to the next pause
    since : steps since friction was last put in balance
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
    """The largest speed passes the level: when (two parts), where, upwards or not; what is there.

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
    """What the fastest cell did, wherever it has changed enough since the sample before.

    step : length of the step that ended here [s]; until it began there was not enough change
    """

    time: float
    step: float
    speed: float
    age: float
    friction: float
    slip: float


class March(NamedTuple):
    """What `advance` reads and changes; a state is as `rate_kernels.rates` has it.

    Attributes
    ----------
    progress : one element
    stages, next_stage : (7, 4 n + 2) rates of the stages, and of the first one of the next step
    state, next_state, trial : (4 n + 2,) the last accepted one, the one after it, and the trial
    cells : n
    fluid : one element, or none where the normal stress is constant
    stress_rate, pull : (n,) what is asked for [Pa/s], and V - plate speed [m/s] of the trial; for
        BALANCE the stress [Pa] and the slip [m]
    saves : (s,) times [s] at which the state is kept
    kept : (s, 4 n + 2) states at these times
    events, trace : what is recorded until it is taken away
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
    pull: Floats
    saves: Floats
    kept: Floats
    events: Table[Event]
    trace: Table[Sample]
