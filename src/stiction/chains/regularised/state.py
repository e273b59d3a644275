"""What a run of a chain without stick reads and carries.

A state y holds x, the slip w = v - V and the state z of the law of mass after mass, three numbers
each. Kernels read y as a row of a matrix.
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

    mass, normal, share, plate : [kg], normal force [N], load vector [1], plate spring [N/m]
    stiffness, damping : of the link on its left [N/m], [N s/m]
    least, scale : speed below which slip need not be resolved [m/s], size of the law's state
    narrow : speed by which friction has fallen from that at rest [m/s]; 0 for none
    full : friction coefficient from which slip is full [1]
    """

    mass: float
    normal: float
    share: float
    plate: float
    stiffness: float
    damping: float
    least: float
    scale: float
    narrow: float
    full: float


class Numbers(Struct):
    """Numbers of a chain and a run, in one element.

    belt, plate_speed : [m/s]
    answer, switches, load : addresses of the law's formulas and of a user's load; 0 for none
    t_start, t_end, cycle : of the run, and the period of what drives it [s]: 0 for none, infinity
        for no two ends
    rtol, max_step : of the method [1], [s]
    small, quickest : least slip over which friction changes [m]; shortest time of a mass on its
        springs [s], from which a speed is made of a length
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
    """A chain, its law and its load, as kernels read them.

    Parameters
    ----------
    masses : (n + 1,)
    numbers : one element
    law : (n, n_p) parameters of the law
    pieces, sines : (n_piece, 3) time, offset, rate, and (n_sine, 3) amplitude, frequency, phase of
        the load, as in `loads.Pieces`
    """

    masses: Table[Mass]
    numbers: Table[Numbers]
    law: Matrix
    pieces: Matrix
    sines: Matrix


class Progress(Struct):
    """What is carried from step to step beside the state, in one element.

    time, next_step : [s]
    work, viscous, lost : what drives did, and what dampers and the scheme took [J]
    given, given_time : most heat that friction gave back to a mass [J], and since when [s]
    reach : farthest place of a mass [m]
    span : length of the step behind `Tables.before`, 0 for none [s]
    worst, worst_time : largest imbalance of a step [J], and when [s]
    largest : largest energy [J]
    missed_time : of the first step that was not solved [s]
    fresh : 1 where signs have not been read yet
    steps, rounds, rejected : steps, iterations of Newton's method, steps that were shortened
    saved : samples saved
    flips : changes of sign since time last passed
    misses : steps that were not solved
    cycles : cycles of the drive that have ended
    events : changes of sign of slip
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
    """What is carried of one mass.

    heat : of friction so far [J]
    most_heat, most_heat_time : the most it was [J], and when [s]
    fastest : largest slip rate [m/s]
    pending, half : slip of this half cycle or cycle so far, and of the half cycle before [m]
    creep : slip of whole cycles that did not come back [m], NaN before one has ended
    broken_time : when it first broke away [s], NaN before
    quiet : 1 where friction has stayed far from what slip resists since the cycle began
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
    """All that a run carries, and that a checkpoint keeps.

    Parameters
    ----------
    y : (size,) state
    sides : (n, n_switch) signs that the law is read with
    progress, contacts : one element, and (n,)
    before : (stages, size) values of the last step; no guess where `progress.span` is 0
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
