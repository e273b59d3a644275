"""What the kernels of a trajectory read and change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table
from stiction.numerics.event_localisation import DEPTH, NODES
from stiction.switching.flow.tableau import STAGES

if TYPE_CHECKING:
    from stiction.switching.model import Compiled

__all__ = [
    "SAVED",
    "Addresses",
    "Event",
    "EventFunction",
    "EventFunctions",
    "Progress",
    "Records",
    "Workspace",
]

Floats = npt.NDArray[np.float64]


class Addresses(Struct):
    """Addresses of the functions of a system, 0 for none.

    smooth : field in which the sign of the first surface is smooth
    """

    field: int
    surface: int
    gradient: int
    smooth: int

    @classmethod
    def of(cls, compiled: Compiled, smooth: int = 0) -> Table[Addresses]:
        """Return the addresses of a system, in one element."""
        table = cls.table()
        here = table[0]
        here.field, here.surface, here.gradient = (
            compiled.field,
            compiled.surface,
            compiled.gradient,
        )
        here.smooth = smooth
        return table


class Progress(Struct):
    """A system, and where its trajectory stands, in one element.

    field, surface, gradient, power, stepper : addresses of its functions, 0 for none; the last is
        another step than the explicit one
    parameters : place of the numbers that are handed to them
    n, m, k, q : numbers of states, surfaces, kinks and energies
    line : 1 where h and the first kink vanish together on a line of codimension 2
    rtol, atol : relative tolerance, and absolute one over the size of a state
    on_line : distance that counts as on a line
    longest : longest step [time unit]
    direction : 1, or -1 for backward in time
    t_end : time at which this call ends
    which, other : surface, or event function, of a rare event that waits, and another one
    left : passes of the loop that are left then
    continues : 1 for a call that goes on where the last one paused
    event_fraction, event_step : where that event is, as a fraction of the step of this length
    came_from : sign of its surface before
    lowest : fraction of a step on an intersection at which a surface is nearest
    open_paths : directions that are open where a choice waits, as bits, see `corners.ways`
    speed_i, speed_j : |grad h| |f| of two surfaces that intersect
    fresh, refused, gap, error : what the loop knows when it pauses: whether rates are to be
        computed anew, whether the last step was rejected, L- - L+ over its scale, error
    broken, broken_at : steps into NaN, and the time since which they are counted
    forced : steps that were as short as the time can tell
    smooth : whether a step goes on smoothly from the last one
    plane : 0 for curved surfaces, 1 for planes, 2 for what has looked like planes so far
    sense, norm : direction and scale of the sliding time
    tightening : factor of the tolerance near a two-fold or a line
    rate_rounding, state_rounding, lie_rounding : what rounding does there to a rate over the size
        of its state, to a state, and to L
    time_scale : size of the time while the state slides
    next_step : length of the next step
    last_event, last_arrival : times of the last event, and of the last one at a surface
    last_interval : time between the last two of these
    line_step, line_distance : longest step towards a line, and the last distance to it
    drift : errors of steps added up, in tolerances
    least_margin, margin : smallest margin so far, and that of the event at hand; inf for none
    judged, judged_at : surface, from 1, and time of a lowest point that has been judged
    judged_from, judged_within : time at which that step began, and how far around it counts
    blunt : how deep the multiplier passed its limit without a slip that could be seen
    vague, tallest : of a run that began next to a two-fold the share of the heights |h| by which
        they may be off, and the largest height since
    steps, rejected, events, saves : counts of steps, rejected steps, and filled records
    shrinks, at_once : events in a row at ever shorter intervals, and at the same time
    branch : on an intersection of two surfaces the sign of the determinant of the sliding vector
    reported_open : whether it was reported that other directions are open there
    """

    field: int
    surface: int
    gradient: int
    power: int
    stepper: int
    parameters: int
    n: int
    m: int
    k: int
    q: int
    line: int
    rtol: float
    atol: float
    on_line: float
    longest: float
    direction: float
    t_end: float
    which: int
    other: int
    left: int
    continues: int
    event_fraction: float
    event_step: float
    came_from: float
    lowest: float
    open_paths: int
    speed_i: float
    speed_j: float
    fresh: int
    refused: int
    gap: float
    error: float
    broken: int
    broken_at: float
    forced: int
    smooth: int
    plane: int
    sense: float
    norm: float
    tightening: float
    rate_rounding: float
    state_rounding: float
    lie_rounding: float
    time_scale: float
    next_step: float
    last_event: float
    last_arrival: float
    last_interval: float
    line_step: float
    line_distance: float
    drift: float
    least_margin: float
    margin: float
    judged: int
    judged_at: float
    judged_from: float
    judged_within: float
    blunt: float
    vague: float
    tallest: float
    steps: int
    rejected: int
    events: int
    saves: int
    shrinks: int
    at_once: int
    branch: int
    reported_open: int


# what a checkpoint saves: the rest is given, or set before it is read
_NAMES = list(Progress.__annotations__)
SAVED = _NAMES[_NAMES.index("plane") :]


class EventFunction(Struct):
    """A function whose zero ends a step: |h| or a limit of the multiplier, a kink, the time left.

    value, slope : at the start of a step; the slope only where a fold was just left, or -1 for a
        surface that the last step came down to
    order : how many times it is known to be zero at the start of the step
    near : 1 for a surface on which the state was placed
    noise, grazing, uncertainty : sizes that are rounding, that count as grazing, and that the run
        may be off by
    """

    value: float
    slope: float
    noise: float
    grazing: float
    uncertainty: float
    order: int
    near: int


EventFunctions = Table[EventFunction]


class Event(Struct):
    """When, at which surface, and of which kind; signs and multipliers before and after; margin."""

    time: float
    surface: int
    before: float
    after: float
    kind: int
    multiplier_before: float
    multiplier_after: float
    margin: float


class Workspace(NamedTuple):
    """What a step reads and changes.

    Attributes
    ----------
    progress : one element
    rows : all vectors, by the numbers below
    """

    progress: Table[Progress]
    rows: Matrix


class Records(NamedTuple):
    """What is kept of a trajectory.

    Attributes
    ----------
    saved : (s, 1 + n + q + m) time, state, energies, signs or multipliers at each saving time
    events, states : (r,) events and (r, n) where they were, until they are taken away
    """

    saved: Floats
    events: Table[Event]
    states: Floats


# ---- rows of `Workspace.rows`, which are as wide as the widest of them. A call that takes many
# arrays takes longer than the work of most kernels, and compiles several times more slowly.

# y = (x, t, W): state, time, energies; y at the end of a step; scratch like y
Y, TRIAL, SPARE = range(3)
# signs of the surfaces, 0 on one that the state slides on; signs or multipliers as they are
# recorded; signs that are tried
SIDES, TOLD, TRIED = range(3, 6)
# sizes of the states; signs of the kinks
SCALE, KINKS = range(6, 8)
# values of the event functions; gradients of all h_i one after the other
VALUE, GRAD = range(8, 10)
# scratch
PLUS, MINUS, SIGNS, EXTRA, EXTRA2, DIFF, DIFF2, LATER = range(10, 18)
# rates of h_i, then of h_j, in the four corners where two surfaces meet: see `corners.ways`
QUADRANT_RATES = 18
# functions whose signs say which directions are open there: see `corners.stay`
OPENINGS = 13
# rates of the stages, coefficients of the dense output, event functions along it, scratch of the
# search for roots; then the Bernstein coefficients of each event function
STAGE = QUADRANT_RATES + 1
DENSE = STAGE + STAGES
DENSE_ROWS = 7
SAMPLE = DENSE + DENSE_ROWS
ROOT = SAMPLE + NODES
COEFFICIENT = ROOT + DEPTH + 2

# ---- rows of `table`: the tableau, then what `numerics.event_localisation` makes of samples

BERNSTEIN = 23
NODE, TAIL, LAST = BERNSTEIN + NODES, BERNSTEIN + NODES + 1, BERNSTEIN + NODES + 2
