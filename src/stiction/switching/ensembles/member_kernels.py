"""Members of a study one after the other in one set of arrays, each as a run by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.inspection import inspect_states
from stiction.switching.flow.placing import put, survey
from stiction.switching.flow.rare import carry_on
from stiction.switching.flow.records import DONE
from stiction.switching.flow.rows import (
    AT,
    BY_KIND,
    EXTRA,
    GRADIENT,
    KIND_COUNT,
    N_EVENTS,
    N_SAVES,
    REJECTED,
    SIDES,
    STATE,
    STEPS,
    SURFACE,
    VALUE,
    WHERE,
    K,
    M,
    N,
    Q,
    Y,
)

__all__ = ["Found", "Fresh", "follow_members"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Fresh(NamedTuple):
    """What every run begins with, and what audits take.

    system, a : the arrays of a flow that was just made
    scale, plane : sizes of the states, and gradients where they never change
    cycle : (n,) two states this close belong to the same point of a cycle
    """

    system: Ints
    a: Floats
    scale: Floats
    plane: Floats
    cycle: Floats


class Found(NamedTuple):
    """What is found of b members.

    done : (b,) 1 where the end was reached and nothing on the way asked for a choice
    time : (b,) reached
    states : (b, 3, n + 3) state and energies at the start, at the end that was asked for and at
        that which was reached; signs : (b, 3, m)
    worst : (b, 3) of the audit; counts : (b, 2) steps, rejected steps; kinds : (b, kinds)
    period : (b,) time between the last two equal events
    """

    done: npt.NDArray[np.int8]
    time: Floats
    states: Floats
    signs: Floats
    worst: Floats
    counts: Ints
    kinds: Ints
    period: Floats


@kernel(nogil=True)
def follow_members(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    fresh: Fresh,
    x: Matrix,
    params: Matrix,
    most: int,
    found: Found,
) -> None:
    """Follow every member from its start to the end, and look at what was saved.

    Parameters
    ----------
    x : (b, n) starts; params : (b, p) numbers of the system
    saved : two rows, the start and the end
    most : passes of the loop

    Verified by: tests/unit/switching/ensembles/test_members.py::test_the_same_as_single_runs
    """
    n, m, q = system[N], system[M], system[Q]
    row = np.zeros(3, np.int64)
    for b in range(x.shape[0]):
        for i in range(system.size):
            system[i] = fresh.system[i]
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = fresh.a[i, j]
        for i in range(p.size):
            p[i] = params[b, i]
        for i in range(n):
            a[Y, i] = x[b, i]
        if not _starts(system, p, a):
            continue
        put(system, p, a, saved[0, 0])
        code = carry_on(system, p, table, a, saved, event, saved[1, 0], most)
        if code != DONE or system[N_SAVES] < 2 or a[Y, n] < saved[1, 0]:
            continue
        found.done[b], found.time[b] = 1, a[Y, n]
        for k in range(2):
            for i in range(n):
                found.states[b, k, i] = saved[k, 1 + i]
            for i in range(q):
                found.states[b, k, n + i] = saved[k, 1 + n + i]
            for i in range(m):
                found.signs[b, k, i] = saved[k, 1 + n + q + i]
        for i in range(n):
            found.states[b, 2, i] = a[Y, i] if a[Y, n] > saved[1, 0] else saved[1, 1 + i]
        for i in range(q):
            beyond = a[Y, n] > saved[1, 0]
            found.states[b, 2, n + i] = a[Y, n + 1 + i] if beyond else saved[1, 1 + n + i]
        for i in range(m):
            beyond = a[Y, n] > saved[1, 0]
            found.signs[b, 2, i] = a[SIDES, i] if beyond else saved[1, 1 + n + q + i]
        states = found.states[b, :, :n].copy()
        inspect_states(
            system[SURFACE],
            system[GRADIENT],
            p,
            fresh.scale,
            fresh.plane,
            system[K],
            states,
            found.signs[b],
            found.worst[b],
            row,
        )
        found.counts[b, 0], found.counts[b, 1] = system[STEPS], system[REJECTED]
        for k in range(KIND_COUNT):
            found.kinds[b, k] = system[BY_KIND + k]
        found.period[b] = _period(event, system[N_EVENTS], fresh.cycle)


@kernel(borrows=True)
def _starts(system: Integers, p: Vector, a: Matrix) -> bool:
    """Set the signs of a start that is off all surfaces; return whether it is."""
    if not survey(system, p, a):
        return False
    for i in range(system[M]):
        if a[VALUE, i] != 0.0:
            return False
        a[SIDES, i] = 1.0 if a[EXTRA, i] > 0.0 else -1.0
    return True


@kernel(borrows=True)
def _period(event: Matrix, count: int, cycle: Vector) -> float:
    """Return the time between the last event and the last one like it at the same state, or NaN.

    Source: `switching.outcome`, which finds the same.
    """
    last = count - 1
    for row in range(last - 1, -1, -1):
        like = True
        for c in range(WHERE, STATE):
            like = like and event[row, c] == event[last, c]
        for i in range(cycle.size):
            like = like and abs(event[row, STATE + i] - event[last, STATE + i]) <= cycle[i]
        if like:
            time: float = event[last, AT] - event[row, AT]
            return time
    return np.nan
