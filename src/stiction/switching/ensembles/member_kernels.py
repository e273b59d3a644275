"""Members of a study one after the other in one set of arrays, each as a run by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.inspection import Inspection, inspect_states, period_of
from stiction.switching.flow.placement import evaluate_state, place_state
from stiction.switching.flow.rare_events import advance_through_rare_events
from stiction.switching.flow.records import DONE
from stiction.switching.flow.state import (
    EXTRA,
    SIDES,
    EventFunction,
    EventFunctions,
    Progress,
    Records,
    Workspace,
    Y,
)

__all__ = ["Found", "Fresh", "follow_members"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Fresh(NamedTuple):
    """What every run begins with, and what audits take.

    progress, functions, rows : the arrays of a flow that was just made
    scale, plane : sizes of the states, and gradients where they never change
    cycle : (n,) two states this close belong to the same point of a cycle
    """

    progress: Table[Progress]
    functions: Table[EventFunction]
    vectors: Floats
    scale: Floats
    plane: Floats
    cycle: Floats


class Found(NamedTuple):
    """What is found of b members.

    done : (b,) 1 where the end was reached and nothing on the way asked for a choice
    saved : (b, 3, 1 + n + 3 + m) samples as those of `Records`, at the start, at the end that was
        asked for and at that which was reached
    worst : (b,) of the audit; counts : (b, 2) steps, rejected steps; kinds : (b, kinds)
    period : (b,) time between the last two equal events
    """

    done: npt.NDArray[np.int8]
    saved: Floats
    worst: Table[Inspection]
    counts: Ints
    kinds: Ints
    period: Floats


@kernel(allocates=True, nogil=True)
def follow_members(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    fresh: Fresh,
    x: Matrix,
    p: Vector,
    params: Matrix,
    most: int,
    found: Found,
) -> None:
    """Follow every member from its start to the end, and look at what was saved.

    Parameters
    ----------
    records : with two saving times, the start and the end
    x : (b, n) starts; params : (b, p) numbers of the system, p those of the present one
    most : passes of the loop

    Verified by: tests/unit/switching/ensembles/test_members.py::test_the_same_as_single_runs
    """
    now, a, saved = w.progress[0], w.vectors, records.saved
    n, m, q = now.n, now.m, now.q
    for b in range(x.shape[0]):
        w.progress[0] = fresh.progress[0]
        for i in range(len(functions)):
            functions[i] = fresh.functions[i]
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = fresh.vectors[i, j]
        for i in range(p.size):
            p[i] = params[b, i]
        for i in range(n):
            a[Y, i] = x[b, i]
        if not _starts(w, functions):
            continue
        place_state(w, functions, saved[0, 0])
        code = advance_through_rare_events(w, functions, table, records, saved[1, 0], most)
        if code != DONE or now.saves < 2 or a[Y, n] < saved[1, 0]:
            continue
        found.done[b] = 1
        for k in range(3):
            found.saved[b, k] = saved[min(k, 1)]
        if a[Y, n] > saved[1, 0]:
            # the state in which the run ended belongs to it
            last = found.saved[b, 2]
            last[0] = a[Y, n]
            for i in range(n):
                last[1 + i] = a[Y, i]
            for i in range(q):
                last[1 + n + i] = a[Y, n + 1 + i]
            for i in range(m):
                last[1 + n + q + i] = a[SIDES, i]
        inspect_states(
            now.surface,
            now.gradient,
            p,
            fresh.scale,
            fresh.plane,
            now.k,
            found.saved[b, :, 1 : n + 1].copy(),
            found.saved[b, :, 1 + n + q :].copy(),
            found.worst,
            b,
        )
        found.counts[b, 0], found.counts[b, 1] = now.steps, now.rejected
        for k in range(now.events):
            found.kinds[b, records.events[k].kind] += 1
        found.period[b] = period_of(records.events, records.states, now.events, fresh.cycle)


@kernel
def _starts(w: Workspace, functions: EventFunctions) -> bool:
    """Set the signs of a start that is off all surfaces; return whether it is."""
    now, a = w.progress[0], w.vectors
    if not evaluate_state(w, functions):
        return False
    for i in range(now.m):
        if functions[i].near != 0:
            return False
        a[SIDES, i] = 1.0 if a[EXTRA, i] > 0.0 else -1.0
    return True
