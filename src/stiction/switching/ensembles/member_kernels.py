"""Members of a study, integrated one after the other with the results of single runs: kernels.

The integration is that of `flow.advance` and `flow.rare_events`, the audit that of
`flow.inspection`. `members` prepares the arrays and evaluates the results.

The arguments w, functions, table and records are the arrays of one trajectory (`flow.state`), which
all members use in turn: work arrays, event functions, Runge-Kutta tableau, saved states.
"""

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

__all__ = ["InitialArrays", "MemberResults", "follow_members"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class InitialArrays(NamedTuple):
    """The arrays of a flow before its start, which each member copies, and data of the audit.

    progress, functions, vectors : arrays of a flow before its start, see `flow.state`
    scale, plane : sizes of the states, and gradients of planes
    cycle : (n,) distance up to which two states count as the same point of a cycle
    """

    progress: Table[Progress]
    functions: Table[EventFunction]
    vectors: Floats
    scale: Floats
    plane: Floats
    cycle: Floats


class MemberResults(NamedTuple):
    """Results of b members.

    done : (b,) 1 if the end time was reached without a loss of determinism
    saved : (b, 3, 1 + n + 3 + m) samples as in `Records`: at the start, at the requested end and
        at the end reached
    worst : (b,) largest errors of the audit
    counts : (b, 2) numbers of steps and of rejected steps
    kinds : (b, kinds) numbers of events of each kind
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
    initial: InitialArrays,
    x: Matrix,
    p: Vector,
    params: Matrix,
    most: int,
    results: MemberResults,
) -> None:
    """Integrate every member from its start to the end, and check the saved states.

    Parameters
    ----------
    initial : arrays that each member copies before its start
    records : arrays for saved states, with two saving times, the start and the end
    x : (b, n) initial states
    p : array from which the functions of the system read their parameters
    params : (b, p) parameters of each member
    most : largest number of passes of the integration loop

    Verified by: tests/unit/switching/ensembles/test_members.py::test_the_same_as_single_runs
    """
    now, a, saved = w.progress[0], w.vectors, records.saved
    n, m, q = now.n, now.m, now.q
    for b in range(x.shape[0]):
        # reset all arrays to those of a new flow
        w.progress[0] = initial.progress[0]
        for i in range(len(functions)):
            functions[i] = initial.functions[i]
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = initial.vectors[i, j]
        # the kernels read the parameters at the address of p
        for i in range(p.size):
            p[i] = params[b, i]
        for i in range(n):
            a[Y, i] = x[b, i]
        # done = 0, for a start on a surface or an early end: the member is repeated as a single run
        if not _starts(w, functions):
            continue
        place_state(w, functions, saved[0, 0])
        code = advance_through_rare_events(w, functions, table, records, saved[1, 0], most)
        if code != DONE or now.saves < 2 or a[Y, n] < saved[1, 0]:
            continue
        results.done[b] = 1
        # samples at the start, at the requested end, and at the end reached
        for k in range(3):
            results.saved[b, k] = saved[min(k, 1)]
        if a[Y, n] > saved[1, 0]:
            # the last sample is the state at the end
            last = results.saved[b, 2]
            last[0] = a[Y, n]
            for i in range(n):
                last[1 + i] = a[Y, i]
            for i in range(q):
                last[1 + n + i] = a[Y, n + 1 + i]
            for i in range(m):
                last[1 + n + q + i] = a[SIDES, i]
        # the checks of the audit of a single run
        inspect_states(
            now.surface,
            now.gradient,
            p,
            initial.scale,
            initial.plane,
            now.k,
            results.saved[b, :, 1 : n + 1].copy(),
            results.saved[b, :, 1 + n + q :].copy(),
            results.worst,
            b,
        )
        results.counts[b, 0], results.counts[b, 1] = now.steps, now.rejected
        for k in range(now.events):
            results.kinds[b, records.events[k].kind] += 1
        results.period[b] = period_of(records.events, records.states, now.events, initial.cycle)


@kernel
def _starts(w: Workspace, functions: EventFunctions) -> bool:
    """Set the signs of the start; return False if it lies on a surface or is not finite."""
    now, a = w.progress[0], w.vectors
    if not evaluate_state(w, functions):
        return False
    for i in range(now.m):
        if functions[i].near != 0:
            return False
        a[SIDES, i] = 1.0 if a[EXTRA, i] > 0.0 else -1.0
    return True
