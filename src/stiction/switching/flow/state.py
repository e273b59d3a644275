"""State and work arrays of one trajectory of a piecewise-smooth flow.

`Progress` holds the state of the integrator, `EventFunction` one function whose root ends a step,
and `Workspace.vectors` all vectors, which are numbered at the end of this module.
"""

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

    smooth : regularised field, in which the sign of the first surface is a smooth function
    """

    field: int
    surface: int
    gradient: int
    smooth: int

    @classmethod
    def of(cls, compiled: Compiled, smooth: int = 0) -> Table[Addresses]:
        """Return the addresses of a system, in one element."""
        table = cls.table()
        addresses = table[0]
        addresses.field, addresses.surface, addresses.gradient = (
            compiled.field,
            compiled.surface,
            compiled.gradient,
        )
        addresses.smooth = smooth
        return table


class Progress(Struct):
    """A system, and the state of the integration of its trajectory, in one element.

    field, surface, gradient, power, stepper : addresses of its functions, 0 for none; the last is
        the implicit step, if it is used
    parameters : address of their parameters
    n, m, k, q : numbers of states, surfaces, kinks and energies
    line : 1 where h and the first kink vanish together on a codimension-2 line
    rtol, atol : relative tolerance, and absolute one over the size of a state
    on_line : distance up to which a state counts as on the line
    longest : longest step [time unit]
    direction : 1, or -1 for backward in time
    t_end : time at which this call ends
    which, other : surface, or event function, of a pending rare event, and a second surface
    left : remaining passes of the loop at a rare event
    continues : 1 for a call that continues the paused one
    recorded : number of recorded steps
    event_fraction, event_step : position of that event in a step, as a fraction, and its length
    came_from : sign of its surface before
    lowest : fraction of a step on an intersection at which another surface is nearest
    open_paths : exit directions at a pending choice, as bits, see `intersections.directions`
    speed_i, speed_j : |grad h| |f| of two surfaces that intersect
    fresh, refused, gap, error : state of the loop at a pause: whether rates must be computed
        anew, whether the last step was rejected, L- - L+ over its scale, error
    broken, broken_at : steps into NaN, and the time since which they are counted
    forced : steps as short as the resolution of the time
    smooth : whether a step continues the last one without an event
    plane : 0 for curved surfaces, 1 for planes, 2 for surfaces that agreed with planes so far
    sense, norm : direction and scale of the sliding time
    tightening : factor of the tolerance near a two-fold or a line
    rate_rounding, state_rounding, lie_rounding : rounding errors there of a rate over the size of
        its state, of a state, and of L
    time_scale : scale of the time in sliding
    next_step : length of the next step
    last_event, last_arrival : times of the last event, and of the last one at a surface
    last_interval : time between the last two of these
    line_step, line_distance : longest step towards a line, and the last distance to it
    drift : sum of the errors of steps, in tolerances
    least_margin, margin : smallest margin so far, and that of the present event; inf for none
    judged, judged_at : surface, from 1, and time of a minimum of |h| that has been classified
    judged_from, judged_within : time at which that step began, and tolerance of the time
    blunt : excess of the multiplier over its limit without a detectable slip
    vague, tallest : in a run that began next to a two-fold the relative error of the heights |h|,
        and the largest height since
    steps, rejected, events, saves : numbers of steps, rejected steps, events and saved states
    shrinks, at_once : consecutive events at decreasing intervals, and at the same time
    branch : on an intersection of two surfaces the sign of the determinant of the sliding vector
    reported_open : whether the existence of other exit directions was reported there
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
    recorded: int
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


# fields in a checkpoint: the others are parameters, or set before use
_NAMES = list(Progress.__annotations__)
SAVED = _NAMES[_NAMES.index("plane") :]


class EventFunction(Struct):
    """A function whose root ends a step: |h| or a limit of the multiplier, a kink, the time left.

    value, slope : at the start of a step; the slope only after a fold, or -1 for a surface that
        the last step approached
    order : multiplicity of its known zero at the start of the step
    near : 1 for a surface on which the state was placed
    noise, grazing, uncertainty : its rounding error, the largest value of a grazing, its error
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
    """An event: time, surface, kind; signs and multipliers before and after; margin."""

    time: float
    surface: int
    before: float
    after: float
    kind: int
    multiplier_before: float
    multiplier_after: float
    margin: float


class Workspace(NamedTuple):
    """Work arrays of a step.

    Attributes
    ----------
    progress : one element
    vectors : all vectors, by the numbers below
    """

    progress: Table[Progress]
    vectors: Matrix


class Records(NamedTuple):
    """Saved states and events of a trajectory.

    Attributes
    ----------
    saved : (s, 1 + n + q + m) time, state, energies, signs or multipliers at each saving time
    events, states : (r,) events and (r, n) their states, until the caller stores them
    steps : (k, 8 (n + 1)) for each step state and time at its start, and the coefficients of
        their dense output; k = 0 records none
    """

    saved: Floats
    events: Table[Event]
    states: Floats
    steps: Floats


# ---- numbers of `Workspace.vectors`, all as wide as the widest. One array instead of many: a call
# with many arrays takes longer than the work of most kernels, and compiles several times slower.

# y = (x, t, W): state, time, energies; y at the end of a step; scratch like y
Y, TRIAL, SPARE = range(3)
# signs of the surfaces, 0 in sliding; signs or multipliers for output; trial signs
SIDES, RECORDED, TRIED = range(3, 6)
# sizes of the states; signs of the kinks
SCALE, KINKS = range(6, 8)
# values of the event functions; gradients of all h_i one after the other
VALUE, GRAD = range(8, 10)
# scratch
PLUS, MINUS, SIGNS, EXTRA, EXTRA2, DIFF, DIFF2, LATER = range(10, 18)
# rates of h_i, then of h_j, in the four quadrants at an intersection: `intersections.directions`
QUADRANT_RATES = 18
# functions whose signs determine the exit directions there: see `intersections.sliding`
OPENINGS = 13
# rates of the stages, coefficients of the dense output, event functions along it, scratch of the
# search for roots; then the Bernstein coefficients of each event function
STAGE = QUADRANT_RATES + 1
DENSE = STAGE + STAGES
DENSE_TERMS = 7
SAMPLE = DENSE + DENSE_TERMS
ROOT = SAMPLE + NODES
COEFFICIENT = ROOT + DEPTH + 2

# ---- rows of `table`: the tableau, then the transforms of samples for event localisation

BERNSTEIN = 23
NODE, TAIL, LAST = BERNSTEIN + NODES, BERNSTEIN + NODES + 1, BERNSTEIN + NODES + 2
