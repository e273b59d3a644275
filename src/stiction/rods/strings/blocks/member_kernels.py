"""Kernels for b pairs of strings: contact paths, energies and fields, bitwise as in single runs.

A pair of strings u and v touches at x = s1 and s2; its contact path is s1(t), s2(t), and outgoing
waves are stored as cubics. The kernels here call the kernels of single runs in
`characteristics_kernels` and `field_kernels`; `members` calls them once for a whole block. Arrays
have b members first, t saved times, n points, room for cubics, and q places in a queue of corners.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.rods.strings.characteristics_kernels import FULL, REACHED, integrate
from stiction.rods.strings.field_kernels import fields, guide_waves, powers
from stiction.rods.strings.state import Contact, Pair, Parameters, Progress, Step

__all__ = ["Fields", "PathArrays", "evaluate_strings", "integrate_strings"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class PathArrays(NamedTuple):
    """Arrays of b contact paths; the structs of `state` describe one.

    parameters, contact, progress : (b,); a path whose flag in `progress` is FULL is incomplete
    strings : (b, 2)
    cubics, waves, queue : (b, 4, room), (b, 4), (b, 4, q)
    moments, incoming : (b, 5), (b, 5, 4)
    samples : (b, t) at the saved times
    """

    parameters: Table[Parameters]
    strings: Array
    contact: Table[Contact]
    progress: Table[Progress]
    cubics: Array
    waves: Array
    queue: Ints
    moments: Array
    incoming: Floats
    samples: Array


class Fields(NamedTuple):
    """Energies at all saved times, and fields at the last one.

    energy, product : (b, t, 2) as of `field_kernels.powers`
    both : (b, t) as of `field_kernels.powers`
    wanted : 1 if fields are evaluated
    x : (b, 2, n) points on u and v
    start : (b, 2) initial displacements of u and v at the contact
    place, rate : (b, 2, n) displacements and velocities
    """

    energy: Floats
    product: Floats
    both: Floats
    wanted: int
    x: Floats
    start: Floats
    place: Floats
    rate: Floats


@kernel(nogil=True)
def integrate_strings(targets: Floats, most: int, m: PathArrays) -> None:
    """Integrate the paths whose flag is FULL up to the target times.

    Parameters
    ----------
    targets : (t,) times from the start
    most : largest number of steps of each path

    Verified by: tests/unit/rods/strings/blocks/test_members.py::test_the_same_as_single_runs
    """
    for b in range(len(m.progress)):
        if m.progress[b].flag == FULL:
            m.progress[b].flag = integrate(
                targets,
                m.samples[b],
                most,
                m.parameters[b : b + 1],
                m.contact[b : b + 1],
                m.progress[b : b + 1],
                Pair(m.strings[b], m.waves[b], m.cubics[b]),
                m.queue[b],
                Step(m.moments[b], m.incoming[b]),
            )


@kernel(allocates=True, nogil=True)
def evaluate_strings(
    m: PathArrays, gauss: Floats, weights: Floats, identical: Ints, out: Fields
) -> None:
    """Set energies at all saved times, and fields at the last one.

    Parameters
    ----------
    gauss, weights : Gauss points and weights of an interval of length 1
    identical : (b,) 1 if both strings have the same speed and length

    Verified by: tests/unit/rods/strings/blocks/test_members.py::test_the_same_as_single_runs
    """
    size = m.samples.shape[1]
    times, contacts, ends, contact = np.zeros(size), np.zeros((size, 2)), np.zeros(2), np.zeros(2)
    place, rate = np.zeros((2, out.x.shape[2])), np.zeros((2, out.x.shape[2]))
    for b in range(len(m.progress)):
        # a path that did not reach the end has no fields
        if m.progress[b].flag != REACHED:
            continue
        for k in range(size):
            sample = m.samples[b, k]
            times[k], contacts[k, 0], contacts[k, 1] = sample.time, sample.s1, sample.s2
        pair, slots = Pair(m.strings[b], m.waves[b], m.cubics[b]), 0
        for f in range(4):
            slots = max(slots, pair.waves[f].count)
        # look-up table with as many slots as the longest wave has cubics
        guide = np.zeros((4, slots), np.int64)
        guide_waves(pair, guide)
        same, energy, product, both = identical[b] == 1, out.energy[b], out.product[b], out.both[b]
        powers(times, contacts, gauss, weights, same, pair, guide, energy, product, both)
        # fields at the first and the last time; the last ones are returned
        ends[0], ends[1] = times[0], times[-1]
        for i in range(2 if out.wanted == 1 else 0):
            contact[0], contact[1] = contacts[0, i], contacts[-1, i]
            start = out.start[b, i]
            x = out.x[b, i]
            fields(i, x, ends, contact, start, pair, guide, place, rate)
            for j in range(place.shape[1]):
                out.place[b, i, j], out.rate[b, i, j] = place[1, j], rate[1, j]
