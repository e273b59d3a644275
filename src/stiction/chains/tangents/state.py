"""Arrays of the variational equation: directions, variations, the series of a step, the log.

A direction is a component of the initial state or a parameter of the chain; a variation is the
derivative of the state with respect to it. The kernels of this folder read and write these arrays;
`directions`, `run` and `adjoint` create them. n is the number of masses, m that of directions. The
unit of a derivative is that of its quantity over that of the parameter. Arrays with n + 2 columns
contain the walls, so that mass i (from 0) has column i + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

__all__ = [
    "BREAKPOINT",
    "END",
    "FRICTIONLESS",
    "GRAZING",
    "POINTS",
    "SHAPE",
    "START",
    "THRESHOLDS",
    "Directions",
    "Failure",
    "Log",
    "Variation",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# reasons for which a run has no derivative
GRAZING, THRESHOLDS, BREAKPOINT, START, END, FRICTIONLESS = range(6)
# a direction that changes the law beyond its two coefficients
SHAPE = 2
# points of a difference of sixth order
POINTS = 7


class Failure(Struct):
    """A time at which the run has no derivative.

    time : [s]
    value, limit : the quantity that is too small, and its margin
    kind, mass : one of the kinds above, and the number of the mass from 0
    """

    time: float
    value: float
    limit: float
    kind: int
    mass: int


class Directions(NamedTuple):
    """Derivatives of the coefficients of a chain in m directions; names as in `Problem`.

    Each coefficient has a row per direction: `mass` (m, n), `link_k` (m, n + 1), `belt` (m,), ...

    whole : (m,) 1 for components of a start that is varied as a whole, see `directions.expanded`
    mechanics, load : (m,) whether a direction changes coefficients of masses and contacts; those of
        the load
    law : (m,) 0 if a direction does not change a law that depends on the slip speed; 1 if it
        changes mu_static and mu_kinetic alone; SHAPE if it changes more of the law
    law_row, law_weight : (m, POINTS) the difference of the formulas of a law: addresses of the
        parameters of the first contact at each point, and weights of the points
    slope_address : of the compiled slope of mu
    slip_step : (n,) step of differences in the slip speed [m/s]
    """

    whole: Ints
    mechanics: Ints
    load: Ints
    law: Ints
    mass: Floats
    link_k: Floats
    link_c: Floats
    load_vector: Floats
    plate_k: Floats
    plate_speed: Floats
    normal: Floats
    mu_static: Floats
    mu_kinetic: Floats
    belt: Floats
    segment_time: Floats
    segment_offset: Floats
    segment_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats
    law_row: Ints
    law_weight: Floats
    slope_address: int
    slip_step: Floats


class Variation(NamedTuple):
    """Derivatives of the state with respect to m directions, and the series of one step.

    Series have K + 1 = order + 1 coefficients by rising power of tau.

    x, v, heat : (m, n + 2), (m, n + 2), (m, n) derivatives of displacements, velocities and
        friction heats
    mode : (n,) modes of the step before
    x_event, v_event : (n + 2,) state at the end of the step before [m], [m/s]
    base, load : (K + 1, n + 2), (K + 1,) series of the displacements and of the load
    mu, slope : (n, K + 1) series of mu and of its slope; empty for constant friction
    mu_by : (m, n, K + 1) series of the derivatives of mu in the directions
    series, load_by : (K + 1, n + 2), (K + 1,) series of the variation and of the derivative of the
        load in one direction
    trial, speed : (n, K + 1), (K + 1,) work array, and series of one slip rate
    of_speed, of_force : (n, K + 1) moments of the slip rates and of the friction forces over a step
    power : (2 K + 2,) integrals of powers of tau
    moving : (n,) indices of the masses that do not stick
    last : (3,) time of the last event [s]; 1 after the start is passed; 1 after all variations have
        ended
    save, saves : (k,) times at which derivatives are saved [s], and (1,) number of those passed
    saved_x, saved_v : (k, m, n) derivatives at these times
    """

    x: Floats
    v: Floats
    heat: Floats
    mode: Ints
    x_event: Floats
    v_event: Floats
    base: Floats
    load: Floats
    mu: Floats
    slope: Floats
    mu_by: Floats
    trial: Floats
    series: Floats
    load_by: Floats
    speed: Floats
    of_speed: Floats
    of_force: Floats
    power: Floats
    moving: Ints
    last: Floats
    save: Floats
    saved_x: Floats
    saved_v: Floats
    saves: Ints


class Log(NamedTuple):
    """A buffer of events with the derivatives of their times, and of failures.

    Each of r events has a row.

    time, mass : (r,) time [s], and mass from 0
    before, after : (r,) modes
    time_by : (r, m) derivatives of the time
    rate : (r,) rate at which the event function passes zero: [N/s] for a release, [m/s^2] for the
        end of slip; 0 for an event at a fixed time
    jump : (r,) acceleration before the event minus that after it [m/s^2]
    x, v : (r, n) state at the event [m], [m/s]
    filled, failed : (1,) numbers of events and of failures in the buffer
    failure : failures
    """

    time: Floats
    mass: Ints
    after: Ints
    before: Ints
    time_by: Floats
    rate: Floats
    jump: Floats
    x: Floats
    v: Floats
    filled: Ints
    failure: Table[Failure]
    failed: Ints
