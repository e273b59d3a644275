"""Structs of the method of characteristics for two strings u and v; all numbers dimensionless.

u(x, t) and v(x, t) touch at x = s1 and s2. V_u and V_v are u_t and v_t at the contact, there the
mean of both sides. Rolling couples them by V_u = F V_v, and V = V_v determines s1', s2' and the
contact force (the scattering law, docs/formulas/rods.md, section 5).

Four waves leave the contact: R of u, L of u, R of v, L of v (waves 0 to 3), with R = u_t - c u_x
and L = u_t + c u_x. Each is stored as cubics between knots, over the coordinate of its
characteristics, xi = t - s/c for R and eta = t + s/c for L. Incoming waves (0 R-, 1 L+ of u, 2 and
3 of v) are outgoing waves after a reflection or a turn. A corner is a jump of a wave or of a
derivative. Checkpoints save the fields by their names. `characteristics.Path` makes the tables,
`characteristics_kernels` changes them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Struct, Table

__all__ = [
    "Contact",
    "Cubic",
    "Moment",
    "Pair",
    "Parameters",
    "Progress",
    "Step",
    "String",
    "Wave",
    "numbers_of",
]


class String(Struct):
    """A string.

    speed, length : wave speed c, length l
    rate : speed of the contact point over V: s' / V
    periodic : 1 for a circle, 0 for fixed ends
    """

    speed: float
    length: float
    rate: float
    periodic: int


class Parameters(Struct):
    """The scattering law of the contact, and bounds on steps.

    ratio : F of the rolling condition V_u = F V_v
    rolling : resistance r
    linear : 1 if the equation for V is linear
    step : longest step
    margin : least admissible distance to a fixed end, over the length
    tolerance : largest third difference of s' / c over the points of a step
    steepest : larger (s' / c) / V of both strings, which is 1 / V_m (see `Progress`)
    size : largest absolute value of the initial waves
    least : least strength of a corner at which a step ends, over `size`
    corners : approximate number of corners at which steps end
    """

    ratio: float
    rolling: float
    linear: int
    step: float
    margin: float
    tolerance: float
    steepest: float
    size: float
    least: float
    corners: int


class Moment(Struct):
    """The contact at a time: points s1 and s2, velocity V, contact force lambda.

    V is the mean of v_t on both sides of the contact, where the slope of v has a corner.
    """

    time: float
    s1: float
    s2: float
    velocity: float
    force: float


class Contact(Struct):
    """The contact at the end of the last step, as saved.

    time, s1, s2, velocity, force : see `Moment`
    heat : heat of the rolling resistance
    u_cosine, u_sine, v_cosine, v_sine : integrals of the force on a string times sin(k s) times
        cos and sin(c k t), with k = 2 pi / l; with them the amplitude of this mode is known
    """

    time: float
    s1: float
    s2: float
    velocity: float
    force: float
    heat: float
    u_cosine: float
    u_sine: float
    v_cosine: float
    v_sine: float


class Progress(Struct):
    """Progress of the integration, in one element.

    fastest, fastest_at : largest |s'| / c, and its time
    alone, alone_at : largest |w| / V_m, and its time; w is the contact velocity without contact
        force, V_m the least V at which s' reaches a wave speed
    room, room_at : least distance to a fixed end over the length, and its time
    longest : longest step at present
    steps, tries : numbers of steps taken and tried
    met : number of corners at which a step has ended
    fresh : 1 if the start of the next step must be evaluated again
    done : number of saved times reached
    flag : how the last call ended, a constant of `characteristics_kernels`
    """

    fastest: float
    fastest_at: float
    alone: float
    alone_at: float
    room: float
    room_at: float
    longest: float
    steps: int
    tries: int
    met: int
    fresh: int
    done: int
    flag: int


class Wave(Struct):
    """The cubics of a wave that leaves the contact.

    count : number of cubics
    read : index of the last one evaluated
    first, last : range of indices that may be evaluated, between two corners
    head, tail : range of the queue with corners that have not arrived
    begin, per_time : look-up table of `field_kernels`: its first coordinate, entries per time
    """

    count: int
    read: int
    first: int
    last: int
    head: int
    tail: int
    begin: float
    per_time: float


class Cubic(Struct):
    """A cubic of a wave, c0 + d (c1 + d (c2 + d c3)), d = x - knot, up to the next knot.

    area, square : integrals of the wave and of its square up to the knot
    """

    c0: float
    c1: float
    c2: float
    c3: float
    knot: float
    area: float
    square: float


class Pair(NamedTuple):
    """Two strings (2,), their waves (4,), and cubics (4, knots) of each wave in order."""

    strings: Table[String]
    waves: Table[Wave]
    cubics: Table[Cubic]


# moments of a step; 1 and 2 are its thirds
START, END, TRIAL = 0, 3, 4


class Step(NamedTuple):
    """A step of the path.

    moments : (5,) the contact at the start, both thirds, the end of the step, and at a trial time
    incoming : (5, 4) incoming waves at these times: R- and L+ of u, then of v
    """

    moments: Table[Moment]
    incoming: npt.NDArray[np.float64]


def numbers_of(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a plain view (..., field) of a struct array whose fields are all floats.

    NumPy copies it fifteen times faster than the struct array.
    """
    return table.view(np.float64).reshape(*table.shape, -1)
