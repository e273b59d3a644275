"""The arrays one trajectory works with, and the numbers its kernels return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import (
    DEPTH,
    NODES,
    bernstein_from_samples,
    nodes,
    tail_from_samples,
)
from stiction.switching.flow.rates import WORK_ROWS
from stiction.switching.flow.tableau import STAGES, tableau
from stiction.switching.model import Compiled

__all__ = ["Flow", "flow_arrays"]

Floats = npt.NDArray[np.float64]

# how a call of `advance` ended
DONE, PAUSED, EVENTS_FULL, TWO_FOLD_HIT, LINE_HIT, PILED_UP, STALLED, NOT_FINITE, CORNER, SPLIT = (
    range(10)
)
# kinds of events, in the order of KINDS
CROSS, SLIDE, LEAVE, KINK, FOLD, TWO_FOLD, CODIM2, ESCAPING = range(8)
KINDS = ("cross", "slide", "leave", "kink", "fold", "two_fold", "codim2_line", "escaping_start")
# entries of `clock`: length of the next step, time of the last event, the time
# between the last two, longest step towards a line, last distance to it
# and the time of the last event at a surface
NEXT_STEP, LAST_EVENT, LAST_GAP, RHO, DISTANCE, LAST_LANDING = range(6)
# entries of `count`: steps, rejected steps, events kept, saves kept, events in a row at
# ever shorter distance, events in a row at the same time, then one per kind
STEPS, REJECTED, N_EVENTS, N_SAVES, SHRINKS, SAME_TIME, BY_KIND = range(7)
COUNTS = BY_KIND + len(KINDS)
# columns of `event`: time, surface, its sign before and after, kind, then the state, then the
# multipliers before and after
AT, WHERE, BEFORE, AFTER, KIND, STATE = range(6)


class Flow(NamedTuple):
    """Everything kernels need: the system, the trajectory, where results go, scratch.

    system, p, scale, table, bernstein : the system and the method, read only
    y, sides, pace, kinks, order, clock, count : the trajectory; see `rates` and above
    save : (s,) times; saved, saved_signs : (s, 1 + n + q) and (s, m)
    event : (e, 7 + n) see above
    the rest is scratch
    """

    system: Integers
    p: Vector
    scale: Vector
    table: Matrix
    bernstein: Matrix
    y: Floats
    sides: Floats
    pace: Vector
    kinks: Floats
    order: Integers
    clock: Vector
    count: Integers  # type: ignore[assignment]
    save: Floats
    saved: Floats
    saved_signs: Floats
    event: Floats
    stages: Matrix
    dense: Matrix
    trial: Vector
    spare: Vector
    start: Matrix
    noise: Vector
    touch: Vector
    samples: Matrix
    coefficients: Matrix
    roots: Matrix
    grad: Matrix
    work: Matrix


def flow_arrays(
    compiled: Compiled, tolerance: Floats, save: Floats, n_events: int, *, energies: bool
) -> Flow:
    """Return fresh arrays for one trajectory of a compiled system.

    Parameters
    ----------
    tolerance : rtol, atol, distance from a line that counts as on it, longest step
    save : times at which the state is kept
    n_events : rows for events
    energies : whether energies are carried along
    """
    n, m, k = compiled.n, compiled.m, compiled.k
    q = 3 if energies and compiled.power else 0
    width, e = n + 1 + q, 2 * m + k + 1
    addresses = [compiled.field, compiled.surface, compiled.gradient, compiled.power]
    sizes = [n, m, k, int(compiled.line), q, _plane_kind(compiled)]
    grad = compiled.plane if compiled.plane is not None else np.zeros((m, n))
    return Flow(
        system=np.array([*addresses, *sizes], dtype=np.int64),
        p=compiled.params.copy(),
        scale=np.array(compiled.scale, dtype=np.float64),
        table=tableau(),
        bernstein=np.vstack([bernstein_from_samples(), nodes(), tail_from_samples()]),
        y=np.zeros(width),
        sides=np.ones(m),
        pace=np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, *tolerance, 0.0]),
        kinks=np.ones(k),
        order=np.zeros(e, dtype=np.int64),
        clock=np.zeros(6),
        count=np.zeros(COUNTS, dtype=np.int64),
        save=np.array(save, dtype=np.float64),
        saved=np.zeros((save.size, width)),
        saved_signs=np.zeros((save.size, m)),
        event=np.zeros((n_events, STATE + n + 2)),
        stages=np.zeros((STAGES, width)),
        dense=np.zeros((7, width)),
        trial=np.zeros(width),
        spare=np.zeros(width),
        start=np.zeros((2, e)),
        noise=np.zeros(e),
        touch=np.zeros(m),
        samples=np.zeros((NODES, e)),
        coefficients=np.zeros((e, NODES)),
        roots=np.zeros((DEPTH + 3, NODES + 2)),
        grad=np.array(grad, dtype=np.float64),
        work=np.zeros((WORK_ROWS, n + 2 * m + k + 2)),
    )


def _plane_kind(compiled: Compiled) -> int:
    """Return 0 for curved surfaces, 1 for planes, 2 for what has looked like planes so far."""
    if compiled.plane is None:
        return 0
    return 1 if compiled.plane_is_sure else 2
