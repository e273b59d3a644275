"""Parallel integration of an ensemble: blocks of starts, and one set of arrays for each thread.

`run_task` calls the kernel `kernels.follow` for each block of 256 of the N starts. Starts so near
to a two-fold that the kernels cannot resolve their first arcs are integrated by `two_folds.hopping`
first. `study.ensemble`, `wheel.return_map` and `wheel.escapes` call `run_task`.
"""

from __future__ import annotations

import dataclasses
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.checks import cores_of_process, whole
from stiction.numerics.jit import mode
from stiction.switching.ensembles.state import End, Ends, Grid, Limits
from stiction.switching.model import SwitchingSystem

if TYPE_CHECKING:
    from stiction.switching.flow.records import Flow
    from stiction.switching.methods import EventDriven

__all__ = ["MOST_STEPS", "Task", "run_task"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# number of starts in one kernel call, which takes a few milliseconds; it is fixed, so that sums
# over blocks do not depend on the number of threads
_BLOCK = 256
# largest number of steps of a trajectory
MOST_STEPS = 20_000
# kinds of events from this number on end every trajectory
_ENDS_ALWAYS = 5


@dataclass(frozen=True, eq=False)
class Task:
    """The arrays of an ensemble.

    system, method : the flow, and the method with the tolerances and the bound on the steps
    x, sides : (N, n) initial states and (N, m) signs, NaN for the only admissible ones
    dwell : (N, 2) time at which a sliding state leaves its surface, inf for never, and the side
    t_end : end time; the starts are at time 0
    stop : (kinds,) 1 for the kinds of events that end a trajectory
    grid : axes, lower ends, widths and numbers of cells, see `Occupation.grid`; None for no grid
    interval : time between two samples of the state for the grid
    backward : whether to integrate to the time -t_end; then there is no grid
    off : relative error of the distance of the starts from a two-fold
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
    """Return the ends of all starts, the times in each cell of the grid, and the time outside."""
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
        _integrate_hops(task, out)
    return out, density, outside


def _integrate_hops(task: Task, out: Ends) -> None:
    """Integrate the starts next to a two-fold whose first arcs are too low for the kernels.

    A hop is an arc of the orbit from the surface back to it. `hop_away` computes them until they
    are large enough; then the kernels continue.
    """
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
        remaining = dataclasses.replace(
            task,
            x=hops.nodes[-1:, 1:].copy(),
            sides=np.array([[hops.side]]),
            dwell=task.dwell[i : i + 1],
            t_end=task.t_end - spent,
            off=hops.relative_error,
        )
        result = run_task(remaining, 1)[0]
        out.state[i], out.signs[i], out.ends[i] = result.state[0], result.signs[0], result.ends[0]
        out.ends[int(i)].time += spent
        out.counts[i], out.first[i] = result.counts[0], result.first[0] + spent
        out.counts[i, CROSS] += len(hops.landings)
        out.first[i, CROSS] = hops.nodes[hops.landings[0][0], 0]


def _blocks(task: Task, out: Ends, workers: int) -> Iterator[tuple[int, Floats, float]]:
    """Yield for each block the number of completed starts, and the times in and outside cells."""
    from stiction.switching.ensembles.kernels import follow

    n_starts = len(task.x)
    direction = -1.0 if task.backward else 1.0
    most = min(task.method.steps_allowed(), MOST_STEPS)
    limits = Limits.table()
    limit = limits[0]
    limit.t_end, limit.direction, limit.steps, limit.off = (
        direction * task.t_end,
        direction,
        most,
        task.off,
    )
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

    # the kernels are compiled in the first block, by one thread
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
    """Return the arrays of one thread; with three event records each event is returned at once."""
    from stiction.switching.flow.records import Flow
    from stiction.switching.flow.trajectory import Tolerance

    method = task.method
    longest = np.inf if method.max_step is None else float(method.max_step)
    tolerance = Tolerance(method.rtol, method.atol, longest).array()
    save: Floats = np.empty(0)
    if task.grid is not None:
        samples = int(np.ceil(task.t_end / task.interval))
        save = np.asarray((np.arange(samples) + 0.5) * task.interval, dtype=np.float64)
    return Flow(task.system.compiled, tolerance, save, 3, energies=False)


def _grid(task: Task) -> Grid:
    """Return a new grid of zero times, or an empty one."""
    if task.grid is None:
        return Grid(np.zeros(2, dtype=np.int64), np.ones((2, 2)), np.zeros((0, 0)))
    axes, low, width, bins = task.grid
    return Grid(axes, np.array([low, width]), np.zeros(bins))


def _workers(system: SwitchingSystem, workers: int | None) -> int:
    """Return the number of threads."""
    if workers is not None:
        why, try_ = "this is the number of threads.", "leave this value out."
        whole("ensemble.workers", workers, least=1, most=4096, why=why, try_=try_)
    # NumPy fallbacks hold the interpreter lock: threads do not run in parallel
    if not system.compiled.parallel or mode() == "plain":
        return 1
    return cores_of_process() if workers is None else workers
