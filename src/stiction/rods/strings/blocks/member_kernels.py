"""Pairs of strings one after the other: marches, energies and fields, each as of a single run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.rods.strings.characteristics_kernels import COUNT, FULL, PLACE, REACHED, TIME, march
from stiction.rods.strings.field_kernels import fields, guide_waves, powers

__all__ = ["Fields", "Marches", "look_at_strings", "march_strings"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Marches(NamedTuple):
    """Arrays of b marches, as `characteristics_kernels` has those of one.

    par (b, p), now (b, k), wave (b, 4, room, columns), marks (b, rows, 4), queue (b, 4, q),
    node (b, rows, columns), rows (b, t, columns) at the saved times; flag and done (b,) what
    `march` returned last: FULL for those that are to go on
    """

    par: Floats
    now: Floats
    wave: Floats
    marks: Ints
    queue: Ints
    node: Floats
    rows: Floats
    flag: Ints
    done: Ints


class Fields(NamedTuple):
    """Where and what fields are read at the last time.

    wanted : 1 if they are asked for
    x : (b, 2, n) places on u and v; start : (b, 2) u and v at the contact at the start
    place, rate : (b, 2, n) displacements and velocities
    """

    wanted: int
    x: Floats
    start: Floats
    place: Floats
    rate: Floats


@kernel(nogil=True)
def march_strings(targets: Floats, most: int, m: Marches) -> None:
    """March those whose flag is FULL on to the targets.

    Parameters
    ----------
    most : steps of each

    Verified by: tests/unit/rods/strings/blocks/test_members.py::test_the_same_as_single_runs
    """
    for b in range(m.flag.size):
        if m.flag[b] == FULL:
            m.flag[b], m.done[b] = march(
                targets,
                m.rows[b],
                m.done[b],
                most,
                m.par[b],
                m.now[b],
                m.wave[b],
                m.marks[b],
                m.queue[b],
                m.node[b],
            )


@kernel(nogil=True)
def look_at_strings(
    m: Marches, gauss: Floats, weights: Floats, alike: Ints, power: Floats, out: Fields
) -> None:
    """Fill in the energies (b, t, 5) at all saved times, and the fields at the last one.

    Parameters
    ----------
    gauss, weights : of a panel of length 1
    alike : (b,) 1 where both strings have the same speed and length

    Verified by: tests/unit/rods/strings/blocks/test_members.py::test_the_same_as_single_runs
    """
    times, contacts = np.zeros(m.rows.shape[1]), np.zeros((m.rows.shape[1], 2))
    ends, own, scale = np.zeros(2), np.zeros(2), np.zeros((4, 2))
    place, rate = np.zeros((2, out.x.shape[2])), np.zeros((2, out.x.shape[2]))
    for b in range(m.flag.size):
        if m.flag[b] != REACHED:
            continue
        for k in range(times.size):
            times[k] = m.rows[b, k, TIME]
            contacts[k, 0], contacts[k, 1] = m.rows[b, k, PLACE], m.rows[b, k, PLACE + 1]
        count, slots = m.marks[b, COUNT], 0
        for f in range(4):
            slots = max(slots, count[f])
        guide = np.zeros((4, slots), np.int64)
        wave, par = m.wave[b], m.par[b]
        guide_waves(wave, count, guide, scale)
        same = alike[b] == 1
        powers(times, contacts, gauss, weights, same, par, wave, count, guide, scale, power[b])
        ends[0], ends[1] = times[0], times[-1]
        for i in range(2 if out.wanted == 1 else 0):
            own[0], own[1] = contacts[0, i], contacts[-1, i]
            start = out.start[b, i]
            fields(i, out.x[b, i], ends, own, start, par, wave, count, guide, scale, place, rate)
            for j in range(place.shape[1]):
                out.place[b, i, j], out.rate[b, i, j] = place[1, j], rate[1, j]
