"""What the march of a contact along characteristics reads and changes; all of it dimensionless.

Four waves leave the contact: R of u, L of u, R of v, L of v (waves 0 to 3). Each is kept against
its own characteristic, xi = t - s/c for R and eta = t + s/c for L, as cubics between knots. The
waves that come in (0 R-, 1 L+ of u, 2 and 3 of v) are read from them a whole reflection or turn
earlier.
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
    """The law of the contact, and what steps obey.

    ratio : F of the rolling condition V_1 = F V_2
    rolling : resistance r
    linear : 1 where the law of the contact is linear
    step : longest step
    margin : least distance to a fixed end, over the length
    tolerance : of the third difference of s' / c in a step
    steepest : largest (s' / c) / V
    size : largest initial wave
    least : least strength of a corner that is met, over `size`
    corners : about how many corners are met
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
    """The contact at a time: its places s1 and s2, mean velocity V of v there, force lam."""

    time: float
    s1: float
    s2: float
    velocity: float
    force: float


class Contact(Struct):
    """The contact at the end of the last step, as it is saved.

    time, s1, s2, velocity, force : as of a moment
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
    """Where a march stands, in one element.

    fastest, fastest_at : largest |s'| / c, and when
    alone, alone_at : largest |w| / V_m of a string without contact, and when
    room, room_at : least distance to a fixed end over the length, and when
    longest : longest step now
    steps, tries : steps taken, steps tried
    met : corners met
    fresh : 1 where the state at the start of a step must be computed again
    done : saved times reached
    flag : why the last call came back, see `characteristics_kernels`
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

    count : how many there are
    read : which one was read last
    first, last : those that may be read
    head, tail : corners of the queue that are still to be met
    begin, per_time : slots by which `field_kernels` find a cubic: first place, and slots per time
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

    area, square : integrals up to there of the wave and of its square
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

    incoming : (moment, wave) what the waves that come in hold then
    """

    moments: Table[Moment]
    incoming: npt.NDArray[np.float64]


def numbers_of(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return elements whose fields are all floats as rows of a plain array, a view.

    NumPy copies rows fifteen times as fast as elements.
    """
    return table.view(np.float64).reshape(*table.shape, -1)
