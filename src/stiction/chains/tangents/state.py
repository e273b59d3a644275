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

    Each has one row per direction, for example `mass` (m, n), `link_k` (m, n + 1), `belt` (m,).
    `whole`, `mechanics`, `load` and `law` (m,) are flags. `whole` is true for components of a start
    that is varied as a whole, see `directions.expanded`. `mechanics`, `load` and `law` say whether
    a direction changes the coefficients of masses and contacts, those of the load, and a law that
    depends on the slip speed. `law` is SHAPE if the direction changes more of the law than
    mu_static and mu_kinetic. The formulas of a law are differenced: `law_row` (m, POINTS) are the
    rows of the first contact's parameters at each point of the difference, as addresses in memory,
    `law_weight` (m, POINTS) the weights of the points. `slope_address` is that of the compiled
    slope of mu. `slip_step` (n,) is the step of the differences in slip speed [m/s].
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

    `x`, `v` (m, n + 2) and `heat` (m, n) are the derivatives; `mode` (n,) are the modes of the step
    before, `x_event`, `v_event` (n + 2,) the state at its end. `base` (order + 1, n + 2) is the
    series of the displacements, `load` (order + 1,) that of the load, `mu` and `slope`
    (n, order + 1) those of the coefficient and its slope, `mu_by` (m, n, order + 1) its
    derivatives in the directions. `series` (order + 1, n + 2) and `load_by` (order + 1,) are the
    variation and the derivative of the load in one direction, `trial` (n, order + 1) a work array,
    `speed` (order + 1,) the series of one slip rate. All series are by rising power of tau.
    `of_speed`, `of_force` (n, order + 1) are the moments of the
    slip rates and of the friction forces over the step, `power` the integrals of powers of tau.
    `moving` (n,) lists the masses that do not stick. `last` (3,) holds the time of the last event
    [s], 1 after the start is passed, and 1 after all variations have ended. `saved_x`, `saved_v`
    (k, m, n) are the derivatives at the times `save` (k,), of which `saves` (1,) are passed.
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
    """A buffer of `filled` (1,) events with the derivatives of their times, and of failures.

    Each event has a row: `time` [s], `mass` from 0, modes `before` and `after`, derivatives of the
    time `time_by` (events, m), and the state `x` [m], `v` [m/s] (events, n). `rate` is the rate at
    which the event function passes zero, 0 for an event at a fixed time: N/s for a release, m/s^2
    for the end of slip. `jump` is the acceleration before the event minus that after it [m/s^2].
    `failure` has `failed` (1,) entries.
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
