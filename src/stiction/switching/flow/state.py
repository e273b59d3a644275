"""State and work arrays of one trajectory of a piecewise-smooth flow, as the kernels see them.

`Progress` holds the state of the integrator, `EventFunction` one function whose root ends a step,
`Event` one event, and `Workspace.vectors` all vectors. A kernel refers to a vector by its number,
such as Y for the present state; the numbers are at the end of this module. `records` allocates the
arrays.

In all shapes n is the number of states, m that of surfaces, k that of kink functions, and q that of
energies. The variable y = (x, t, W) has n + 1 + q components: state, time, and energies (external
work, friction heat, viscous heat). Steps integrate y over s, which is the time except in sliding on
one surface (`rates`). L+ and L- are the rates of h along the fields of both sides of a surface.
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

    smooth : field that takes the sign and the modulus of a kink function as inputs, for
        regularised runs; see `SwitchingSystem.smooth_field`
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

    field, surface, gradient, power, stepper : addresses of its functions, 0 for none; `stepper` is
        the implicit step of stiff systems
    parameters : address of the parameters of these functions
    n, m, k, q : numbers of states, surfaces, kink functions and energies
    line : 1 if h_1 = g_1 = 0 is a codimension-2 line at which the field has no limit, else 0
    rtol, atol : relative tolerance, and absolute tolerance over the size of a state
    on_line : distance up to which a state counts as on the line
    longest : longest step [time unit]
    direction : 1, or -1 for backward in time
    t_start, t_end : start of the run, and time at which this call ends
    which, other : surface, or event function, of a pending rare event, and a second surface
    left : remaining passes of the loop at a rare event
    continues : 1 for a call that continues the paused one
    recorded : number of recorded steps
    event_fraction, event_step : fraction of the step at the pending event, and length of that step
    came_from : sign of the surface before the pending event
    lowest : fraction of a step on an intersection at which another surface is nearest
    open_paths : exit directions at a pending choice, as bits, see `intersections.directions`
    speed_i, speed_j : |grad h| |f| of two surfaces that intersect
    fresh, refused, gap, error : state of the loop at a pause: whether the rates must be computed
        again, whether the last step was rejected, L- - L+ over its scale, error of the last step
    broken, broken_at : number of steps whose rates are NaN or infinite, and the time since which
        they count
    forced : number of steps as short as the rounding of the time
    smooth : whether a step continues the last one without an event
    plane : 0 for curved surfaces, 1 for planes, 2 for surfaces that agreed with planes so far
    sense, norm : direction and scale of the independent variable in sliding, see `rates`
    tightening : factor <= 1 of the tolerance near a two-fold or a line
    rate_rounding, state_rounding, lie_rounding : rounding errors near a two-fold or a line, of a
        rate over the size of its state, of a state, and of L
    time_scale : scale of the time in sliding
    next_step : length of the next step
    last_event, last_arrival : times of the last event, and of the last one at a surface
    last_interval : time between the last two arrivals at a surface
    line_step, line_distance : longest step towards a line, and the last distance to it
    drift : sum of the errors of all steps since the last placement on a surface, in tolerances
    least_margin, margin : smallest margin so far, and margin of the present event; inf for none
    judged, judged_at : surface, from 1, and time of a minimum of |h| that has been classified
    judged_from, judged_within : time at which that step began, and tolerance of the time
    blunt : excess of the multiplier over its limit that causes no detectable slip
    start_error, tallest : in a run that began next to a two-fold the relative error of maxima of
        |h|, and the largest |h| since then
    steps, rejected, events, saves : numbers of steps, rejected steps, events and saved states
    shrinks, at_once : numbers of consecutive events at decreasing intervals, and at the same time
    branch : on an intersection of two surfaces the selected sliding vector: the sign of the
        determinant of the Jacobian there, see `intersections.bilinear`
    reported_open : 1 if other exit directions from this intersection have been reported
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
    t_start: float
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
    start_error: float
    tallest: float
    steps: int
    rejected: int
    events: int
    saves: int
    shrinks: int
    at_once: int
    branch: int
    reported_open: int


# fields in a checkpoint; the fields before them are parameters or are set before each use
_NAMES = list(Progress.__annotations__)
SAVED = _NAMES[_NAMES.index("plane") :]


class EventFunction(Struct):
    """An event function, whose root ends a step; see `rates.event_values` for the functions.

    value, slope : value and slope at the start of a step; the slope is set after a fold only, or is
        -1 for a surface that the last step approached
    order : multiplicity of a known zero at the start of the step, 0 for none
    near : 1 for a surface on which the state was placed, within rounding or from its wrong side
    noise : rounding error of the function
    grazing : largest minimum of |h| that counts as a grazing
    uncertainty : error of the function due to the errors of all steps
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
    progress : the state of the integrator, a table of one element
    vectors : all vectors, one in each row, padded to the longest; their numbers follow below. There
        are COEFFICIENT rows, and one more for each event function
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


# ---- numbers of the rows of `Workspace.vectors`. All vectors are in one array, because a call with
# many arrays takes longer than the work of most kernels, and compiles several times slower.

# y = (x, t, W), that is state, time and energies, at the start of a step; y at its end; scratch
Y, TRIAL, SPARE = range(3)
# signs of the surfaces, 0 in sliding; signs or multipliers for output; trial signs
SIDES, RECORDED, TRIED = range(3, 6)
# sizes of the states; signs of the kinks
SCALE, KINKS = range(6, 8)
# values of the event functions; gradients of all h_i one after the other
VALUE, GRAD = range(8, 10)
# fields f+ and f- of a surface; the signs at which a field is evaluated
PLUS, MINUS, SIGNS = range(10, 13)
# scratch: values of h and g, or multipliers (EXTRA); values at a second state (EXTRA2); two rows of
# differences of h (DIFF); and in LATER gradients that must not replace those in GRAD, or a state of
# the dense output
EXTRA, EXTRA2, DIFF, DIFF2, LATER = range(13, 18)
# rates of h_i, then of h_j, in the four quadrants at an intersection: `intersections.directions`
QUADRANT_RATES = 18
# functions whose signs determine the exit directions there: see `intersections.sliding`
OPENINGS = 13
# first of the vectors with: rates of the stages; coefficients of the dense output; samples of the
# event functions along it; scratch of the search for roots; Bernstein coefficients of each event
# function
STAGE = QUADRANT_RATES + 1
DENSE = STAGE + STAGES
DENSE_TERMS = 7
SAMPLE = DENSE + DENSE_TERMS
ROOT = SAMPLE + NODES
COEFFICIENT = ROOT + DEPTH + 2

# ---- rows of `table`: the tableau, then the transforms of samples for event localisation

BERNSTEIN = 23
NODE, TAIL, LAST = BERNSTEIN + NODES, BERNSTEIN + NODES + 1, BERNSTEIN + NODES + 2
