"""What an event-driven run is made of: its numbers, its state, its rows, its work space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# kinds of touches
OF_BOUND, OF_SLIP = 0, 1


class Progress(Struct):
    """Where a run stands, in one element.

    time : [s]
    work, viscous : what load, belt and plate did, and what dampers took [J]
    tau, gap : length of the last fit and of the last step, in tau
    given, given_time : heat that friction gave back in steps [J], and the start of the first [s]
    piece : of the load
    saved, events, touch_rows : samples saved, and rows of `Events` that are filled
    steps, expansions, touches : counts of steps, of expansions in series, and of all touches
    rest_seen : 1 where all masses stick and this was told
    still : steps one after the other in which no time passed
    """

    time: float
    work: float
    viscous: float
    tau: float
    gap: float
    given: float
    given_time: float
    piece: int
    saved: int
    events: int
    touch_rows: int
    steps: int
    expansions: int
    touches: int
    rest_seen: int
    still: int


class Touch(Struct):
    """A mass that touches its bound, or whose slip rate touches zero.

    time : [s]
    length : how long it is undecided [s]
    mass, kind : its number from 0, and OF_BOUND or OF_SLIP
    slips : 1 where it slips on
    """

    time: float
    length: float
    mass: int
    kind: int
    slips: int


class Problem(NamedTuple):
    """A chain as kernels read it; units as in `Chain`.

    `response` is the time [s] in which a force moves each mass as far as its springs let it;
    touches between `slip_after` and `slip_before` are left by slip.
    """

    mass: Floats
    link_k: Floats
    link_c: Floats
    share: Floats
    plate_k: Floats
    plate_speed: float
    normal: Floats
    mu_static: Floats
    mu_kinetic: Floats
    law_start: int
    law_step: int
    constant: bool
    jump: bool
    fitted: bool
    belt: float
    piece_time: Floats
    piece_offset: Floats
    piece_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats
    load_address: int
    mu_address: int
    share_address: int
    rate: float
    order: int
    tolerance: float
    fit_tolerance: float
    longest_fit: float
    longest: float
    start: float
    response: Floats
    slip_after: float
    slip_before: float


class Scratch(NamedTuple):
    """Series and work space of one step.

    `root` and `touch` hold tau of each mass's event and touch, inf for none; `length` how long a
    touch is undecided [s]; `open` from where a mass is within its error to the end of the step;
    `corner` whether a mass at its bound is decided by the rule of a jump at the start of the step;
    `started` whether it then began to move.
    """

    x: Floats
    drive: Floats
    mu: Floats
    load: Floats
    work: Floats
    viscous: Floats
    heat: Floats
    fit: Floats
    poly: Floats
    bernstein: Floats
    norm: Floats
    active: Ints
    root: Floats
    touch: Floats
    length: Floats
    open: Floats
    corner: Ints
    started: Ints
    xs: Floats
    vs: Floats


class State(NamedTuple):
    """All that a run needs to go on: what a checkpoint keeps.

    `band` marks masses that came within their error of an event and have not left it yet.
    """

    progress: Table[Progress]
    x: Floats
    v: Floats
    mode: Ints
    shown: Ints
    lead: Ints
    side: Ints
    band: Ints
    heat: Floats


class Saved(NamedTuple):
    """What is kept at the save times."""

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    friction: Floats
    kinetic: Floats
    stored: Floats
    work: Floats
    viscous: Floats
    heat: Floats


class Track(NamedTuple):
    """A buffer of states on the way, which a replay goes through again; no rows for none.

    `mode` is what holds from that state on, `filled` (1,) how many rows there are, and `spacing`
    the longest way in tau from row to row that asks for none between.
    """

    time: Floats
    x: Floats
    v: Floats
    mode: npt.NDArray[np.int8]
    filled: Ints
    spacing: float


class Events(NamedTuple):
    """A buffer of mode changes, of touches, and of states on the way."""

    time: Floats
    mass: Ints
    before: Ints
    after: Ints
    x: Floats
    v: Floats
    left: Floats
    right: Floats
    touch: Table[Touch]
    track: Track
