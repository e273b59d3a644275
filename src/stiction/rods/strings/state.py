"""State of the method of characteristics for two strings, dimensionless.

Four waves leave the contact: R of u, L of u, R of v, L of v (waves 0 to 3). Each is stored over
the coordinate of its characteristics, xi = t - s/c for R and eta = t + s/c for L, as cubics
between knots. Incoming waves (0 R-, 1 L+ of u, 2 and 3 of v) are outgoing waves of one reflection
or turn earlier.
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
    """A string: c, l, s' / V, and 1 on a circle, 0 with fixed ends."""

    speed: float
    length: float
    rate: float
    periodic: int


class Parameters(Struct):
    """The scattering law of the contact, and bounds on steps.

    ratio : F of the rolling condition V_1 = F V_2
    rolling : resistance r
    linear : 1 where the law of the contact is linear
    step : longest step
    margin : least distance to a fixed end, over the length
    tolerance : of the third difference of s' / c in a step
    steepest : largest (s' / c) / V
    size : largest initial wave
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
    """The contact at a time: points s1 and s2, mean velocity V of v there, force lam."""

    time: float
    s1: float
    s2: float
    velocity: float
    force: float


class Contact(Struct):
    """The contact at the end of the last step, as saved.

    time, s1, s2, velocity, force : see `Moment`
    heat : of rolling
    u_cosine, u_sine, v_cosine, v_sine : integrals of the force on a string times sin(k s) times
        cos and sin(c k t), with k = 2 pi / l
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

    fastest, fastest_at : largest |s'| / c, and when
    alone, alone_at : largest |w| / V_m of a string without contact force, and when
    room, room_at : least distance to a fixed end over the length, and when
    longest : longest step now
    steps, tries : steps taken, steps tried
    met : corners at which a step ended
    fresh : 1 where the start of a step must be evaluated anew
    done : saved times reached
    flag : result of the last call, see `characteristics_kernels`
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
    read : the last one evaluated
    first, last : range that may be evaluated, between two corners
    head, tail : range of the queue with corners that have not arrived
    begin, per_time : look-up table of `field_kernels`: its first coordinate, slots per time
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
    """A cubic of a wave in x - knot, from its knot to the next one.

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
    """Two strings, their waves, and the cubics (wave, knot) of each, in order."""

    strings: Table[String]
    waves: Table[Wave]
    cubics: Table[Cubic]


class Step(NamedTuple):
    """The start, the thirds and the end of a step, and a trial between them.

    incoming : (moment, wave) values of the incoming waves
    """

    moments: Table[Moment]
    incoming: npt.NDArray[np.float64]


def numbers_of(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a plain view (..., field) of a struct array whose fields are all floats.

    NumPy copies it fifteen times as fast as the struct array.
    """
    return table.view(np.float64).reshape(*table.shape, -1)
