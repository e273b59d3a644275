"""Arrays of a run under a regularised friction law (without stick): parameters, state, samples.

The state y has three numbers per mass: position x, slip rate w = v - V (V is the speed of the belt)
and contact state z of the law, such as the deflection of bristles. Kernels take y as a row of a
matrix. Checkpoints use the names of the fields as keys, so these names do not change.
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
    """Parameters of a mass and its contact.

    The table has one element more than masses, with the link on the right of the last mass.

    mass, normal : mass [kg], normal force [N]
    load_vector, plate : component of the load vector [1], stiffness of the plate spring [N/m]
    stiffness, damping : of the link on the left of the mass [N/m], [N s/m]
    least, scale : slip rate below which slip need not be resolved [m/s], scale of z
    narrow : range of slip rates over which friction weakens [m/s]; 0 if friction does not weaken
    full : friction coefficient above which slip counts as gross slip [1]
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
    """Parameters of the chain and of the run, in a table of one element.

    belt, plate_speed : speeds of the belt and of the plate [m/s]
    answer : address of the compiled friction law, which returns a `Response`
    switches : address of its compiled switching functions, the first of which is the slip rate
    load : address of a user's load; 0 if the load has segments and sines only
    t_start, t_end : start and end of the run [s]
    cycle : period of the load [s]; 0 if the load has none, infinity if the run contains fewer than
        two cycles
    rtol, max_step : relative tolerance [1] and longest step [s] of the method
    small, quickest : smallest slip over which friction changes [m], and shortest time sqrt(m / k)
        [s]; small / quickest is a scale of slip rates
    max_steps, max_events : largest numbers of steps and of events
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
    """Time, sums and counters of a run, in a table of one element.

    time, next_step : time, and length of the next step [s]
    work, viscous, lost : external work, and dissipation by dampers and by the scheme [J]
    given : largest fall of the friction heat of a contact below its earlier maximum [J]
    given_time : time of that maximum [s]
    reach : largest |x| of a mass so far [m]
    span : length of the last step, whose values `Tables.before` holds [s]; 0 if the next step must
        not extrapolate them
    worst, worst_time : largest energy imbalance of a step [J], and its time [s]
    largest : largest energy so far [J]
    missed_time : time of the first unconverged step [s]
    fresh : 1 until the signs of the switching functions at the start are set
    steps, rounds, rejected : numbers of steps, of Newton iterations, of rejected steps
    saved : number of samples
    flips : number of sign changes of switching functions since time last advanced
    misses : number of unconverged steps
    cycles : number of completed cycles of the load
    events : number of sign changes of slip rates
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
    fastest : largest slip rate so far [m/s]
    pending : irreversible slip since the start of the present cycle or half cycle [m]
    half : irreversible slip of the previous half cycle [m]
    creep : irreversible slip of all completed cycles [m]; NaN before the first has ended
    broken_time : time at which gross slip first began [s]; NaN before
    quiet : 1 if there was no gross slip since the start of the present cycle or half cycle
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
    """Samples of a run at m save times.

    Parameters
    ----------
    time : (m,) [s]
    kept, sums, heat : (m, 3 n) states y; (m, 5) energies of the chain [J]: external work, viscous
        heat, algorithmic dissipation, kinetic and stored energy; (m, n) friction heat of each mass
        [J]
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
    before : (stages, size) stage values of the last step; not used if `progress.span` is 0
    kept, sums, heat : of `Saved`
    events : (m, 6) time [s], mass from 0, mode before, x [m], v [m/s], friction force [N]
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
