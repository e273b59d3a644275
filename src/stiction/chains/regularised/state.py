"""Structures of a run without stick: parameters, progress, contacts, samples.

A state y holds x, the slip rate w = v - V and the contact state z of each mass, three numbers per
mass. Kernels take y as a row of a matrix. The names of fields are keys of checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Log
from stiction.numerics.arrays import Matrix, Struct, Table, Vector

__all__ = ["WIDTH", "Contact", "Mass", "Model", "Numbers", "Progress", "Saved", "Tables"]

Floats = npt.NDArray[np.float64]

# numbers of a mass in y
WIDTH = 3


class Mass(Struct):
    """A mass and its contact; one more element has the link on the right of the last mass.

    mass, normal, load_vector, plate : [kg], normal force [N], load vector [1], plate spring [N/m]
    stiffness, damping : of the link on its left [N/m], [N s/m]
    least, scale : speed below which slip need not be resolved [m/s], scale of the contact state
    narrow : speed range over which friction weakens [m/s]; 0 for none
    full : friction coefficient from which slip is gross slip [1]
    """

    mass: float
    normal: float
    load_vector: float
    plate: float
    stiffness: float
    damping: float
    least: float
    scale: float
    narrow: float
    full: float


class Numbers(Struct):
    """Parameters that a chain and a run have once, in an array of one element.

    belt, plate_speed : [m/s]
    answer, switches, load : addresses of the law's formulas and of a user's load; 0 for none
    t_start, t_end, cycle : of the run, and the period of the load [s]: 0 for none, infinity if no
        two cycles end
    rtol, max_step : of the method [1], [s]
    small, quickest : smallest slip over which friction changes [m]; shortest time sqrt(m / k) [s],
        whose ratio is a speed scale
    max_steps, max_events : bounds on the work
    """

    belt: float
    plate_speed: float
    answer: int
    switches: int
    load: int
    t_start: float
    t_end: float
    cycle: float
    rtol: float
    max_step: float
    small: float
    quickest: float
    max_steps: int
    max_events: int


class Model(NamedTuple):
    """Arguments of kernels: a chain, its law and its load.

    Parameters
    ----------
    masses : (n + 1,)
    numbers : one element
    law : (n, n_p) parameters of the law
    segments, sines : (n_segment, 3) time, offset, rate, and (n_sine, 3) amplitude, frequency, phase
        of the load, as in `loads.LoadSegments`
    """

    masses: Table[Mass]
    numbers: Table[Numbers]
    law: Matrix
    segments: Matrix
    sines: Matrix


class Progress(Struct):
    """Sums and counters of a run besides its state, in one element.

    time, next_step : [s]
    work, viscous, lost : external work, and dissipation by dampers and by the scheme [J]
    given, given_time : largest energy that friction returned to a mass [J], and when this began [s]
    reach : largest displacement of a mass [m]
    span : length of the step behind `Tables.before`, 0 for none [s]
    worst, worst_time : largest imbalance of a step [J], and when [s]
    largest : largest energy [J]
    missed_time : of the first unconverged step [s]
    fresh : 1 before signs are set
    steps, rounds, rejected : numbers of steps, of Newton iterations, of rejected steps
    saved : number of samples
    flips : changes of sign since the last advance of time
    misses : number of unconverged steps
    cycles : completed cycles of the load
    events : changes of sign of slip rates
    """

    time: float
    next_step: float
    work: float
    viscous: float
    lost: float
    given: float
    given_time: float
    reach: float
    span: float
    worst: float
    worst_time: float
    largest: float
    missed_time: float
    fresh: int
    steps: int
    rounds: int
    rejected: int
    saved: int
    flips: int
    misses: int
    cycles: int
    events: int


class Contact(Struct):
    """Sums of one contact.

    heat : friction heat so far [J]
    most_heat, most_heat_time : largest value of `heat` so far [J], and its time [s]
    fastest : largest slip rate [m/s]
    pending, half : slip of this half cycle or cycle so far, and of the previous half cycle [m]
    creep : irreversible slip of whole cycles [m], NaN before one has ended
    broken_time : first time of gross slip [s], NaN before
    quiet : 1 if friction stayed below gross slip since the start of the cycle
    """

    heat: float
    most_heat: float
    most_heat_time: float
    fastest: float
    pending: float
    half: float
    creep: float
    broken_time: float
    quiet: int


class Saved(NamedTuple):
    """Samples of a run.

    Parameters
    ----------
    time : [s]
    kept, sums, heat : states, (work, viscous heat, algorithmic, kinetic, stored energy), and heat
        per mass [J]
    """

    time: Vector
    kept: Matrix
    sums: Matrix
    heat: Matrix


@dataclass(eq=False)
class Tables:
    """The state of a run, as a checkpoint stores it.

    Parameters
    ----------
    y : (size,) state
    sides : (n, n_switch) signs of the switching functions of the law
    progress, contacts : one element, and (n,)
    before : (stages, size) values of the last step; not used if `progress.span` is 0
    kept, sums, heat : of `Saved`
    events : (m, 6) time, mass, mode before, x, v, friction
    """

    y: Floats
    sides: Floats
    progress: Table[Progress]
    contacts: Table[Contact]
    before: Floats
    kept: Floats
    sums: Floats
    heat: Floats
    events: Log
