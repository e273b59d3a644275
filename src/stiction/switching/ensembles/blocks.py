"""The loop over the blocks of an ensemble: threads that each own one set of arrays."""

from __future__ import annotations

import dataclasses
import os
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.checks import whole
from stiction.numerics.jit import mode
from stiction.switching.ensembles.state import End, Ends, Grid, Limits
from stiction.switching.model import SwitchingSystem

if TYPE_CHECKING:
    from stiction.switching.flow.records import Flow
    from stiction.switching.methods import EventDriven

__all__ = ["MOST_STEPS", "Task", "run_task"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# starts of one call of the kernel: a few milliseconds, and a fixed number, so that sums
# over blocks do not depend on how many threads there are
_BLOCK = 256
MOST_STEPS = 20_000
# kinds of events from this one on end every trajectory
_ENDS_ALWAYS = 5


@dataclass(frozen=True, eq=False)
class Task:
    """An ensemble as kernels need it; `backward` runs in negative time, without a grid.

    x, sides : (N, n) and (N, m) starts, NaN for signs the field forces
    dwell : (N, 2) when a state that slides leaves, and to which side; inf for never
    stop : (kinds,) 1 for the kinds of events that end a trajectory
    grid : axes, lower ends, widths and numbers of cells; None for no grid
    interval : time between two looks at the state for the grid
    off : share of their distance from a two-fold by which the starts may be off
    """

    system: SwitchingSystem
    x: Floats
    sides: Floats
    dwell: Floats
    t_end: float
    method: EventDriven
    stop: Ints
    grid: tuple[Ints, Floats, Floats, tuple[int, int]] | None = None
    interval: float = 1.0
    backward: bool = False
    off: float = 0.0


def run_task(
    task: Task, workers: int | None = None, progress: Callable[[float], None] | None = None
) -> tuple[Ends, Floats, float]:
    """Return what became of every start of a task; its arrays have been checked.

    Beside it the time spent in each cell of the grid, and outside it.
    """
    compiled, n_starts, kinds = task.system.compiled, len(task.x), task.stop.size
    out = Ends(
        np.empty((n_starts, compiled.n)),
        np.empty((n_starts, compiled.m)),
        End.table(n_starts),
        np.zeros((n_starts, kinds), dtype=np.int32),
        np.empty((n_starts, kinds)),
    )
    density = np.zeros((0, 0) if task.grid is None else task.grid[3])
    outside = 0.0
    for done, cells, beyond in _blocks(task, out, _workers(task.system, workers)):
        density += cells
        outside += beyond
        for callback in compiled.keep:
            if hasattr(callback, "check"):
                callback.check()
        if progress is not None:
            progress(done / n_starts)
    if task.grid is None and not task.backward and not task.stop[:_ENDS_ALWAYS].any():
        _hop_on(task, out)
    return out, density, outside


def _hop_on(task: Task, out: Ends) -> None:
    """Follow the starts next to a two-fold, whose hops kernels cannot see, and fill their rows."""
    from stiction.switching.flow.records import CROSS, UNDECIDED
    from stiction.switching.two_folds.hopping import hop_away

    for i in np.flatnonzero(out.ends["code"] == UNDECIDED):
        on = np.flatnonzero(np.abs(task.sides[i]) == 1.0)
        if task.sides.shape[1] != 1 or not on.size or np.isfinite(task.dwell[i, 0]):
            continue
        hops = hop_away(task.system, task.x[i], 0, task.sides[i], 0, task.t_end)
        if hops is None:
            continue
        spent = float(hops.nodes[-1, 0])
        rest = dataclasses.replace(
            task,
            x=hops.nodes[-1:, 1:].copy(),
            sides=np.array([[hops.side]]),
            dwell=task.dwell[i : i + 1],
            t_end=task.t_end - spent,
            off=hops.doubt,
        )
        more = run_task(rest, 1)[0]
        out.state[i], out.signs[i], out.ends[i] = more.state[0], more.signs[0], more.ends[0]
        out.ends[int(i)].time += spent
        out.counts[i], out.first[i] = more.counts[0], more.first[0] + spent
        out.counts[i, CROSS] += len(hops.landings)
        out.first[i, CROSS] = hops.nodes[hops.landings[0][0], 0]


def _blocks(task: Task, out: Ends, workers: int) -> Iterator[tuple[int, Floats, float]]:
    """Yield, in order, how many starts are done and what each block spent in the grid."""
    from stiction.switching.ensembles.kernels import follow

    n_starts = len(task.x)
    way = -1.0 if task.backward else 1.0
    most = min(task.method.steps_allowed(), MOST_STEPS)
    limits = Limits.table()
    limit = limits[0]
    limit.t_end, limit.direction, limit.steps, limit.off = way * task.t_end, way, most, task.off
    flows: queue.SimpleQueue[Flow] = queue.SimpleQueue()
    for _ in range(workers):
        flows.put(_flow(task))

    def work(begin: int) -> tuple[int, Floats, float]:
        part = slice(begin, min(begin + _BLOCK, n_starts))
        grid, flow = _grid(task), flows.get()
        try:
            views = Ends._make(array[part] for array in out)
            starts = (task.x[part], task.sides[part], task.dwell[part])
            outside = follow(*flow.arrays, *starts, task.stop, limits, grid, views)
        finally:
            flows.put(flow)
        return part.stop, grid.cells, float(outside)

    # the first block compiles, which happens in one thread anyway
    yield work(0)
    begins = range(_BLOCK, n_starts, _BLOCK)
    if workers == 1:
        yield from map(work, begins)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(work, begins)
    finally:
        pool.shutdown(cancel_futures=True)


def _flow(task: Task) -> Flow:
    """Return the arrays of one thread; two rows for events hand each event over at once."""
    from stiction.switching.flow.records import Flow
    from stiction.switching.flow.trajectory import Tolerance

    method = task.method
    longest = np.inf if method.max_step is None else float(method.max_step)
    tolerance = Tolerance(method.rtol, method.atol, longest).array()
    save: Floats = np.empty(0)
    if task.grid is not None:
        looks = int(np.ceil(task.t_end / task.interval))
        save = np.asarray((np.arange(looks) + 0.5) * task.interval, dtype=np.float64)
    return Flow(task.system.compiled, tolerance, save, 2, energies=False)


def _grid(task: Task) -> Grid:
    if task.grid is None:
        return Grid(np.zeros(2, dtype=np.int64), np.ones((2, 2)), np.zeros((0, 0)))
    axes, low, width, bins = task.grid
    return Grid(axes, np.array([low, width]), np.zeros(bins))


def _workers(system: SwitchingSystem, workers: int | None) -> int:
    if workers is not None:
        why, try_ = "it counts threads.", "leave it out."
        whole("ensemble.workers", workers, least=1, most=4096, why=why, try_=try_)
    # plain kernels hold the interpreter: threads would only take turns
    if not system.compiled.parallel or mode() == "plain":
        return 1
    if workers is not None:
        return workers
    here = getattr(os, "sched_getaffinity", None)
    return len(here(0)) if here is not None else os.cpu_count() or 1
