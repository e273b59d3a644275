"""Solving the members of a chunk: arrays of what is kept, and why a member is doubtful."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.errors import ModelError, StictionError
from stiction.io.scenario import Scenario
from stiction.numerics.jit import mode
from stiction.studies.blocks import block_of
from stiction.studies.fields import Place, changed
from stiction.studies.keep import (
    ALWAYS,
    STATUSES,
    Kept,
    Reading,
    always_of,
    kept_of,
    trajectories_of,
)
from stiction.studies.store import Held, Note, Store, Stored

__all__ = [
    "Job",
    "counted",
    "died",
    "labels_of",
    "probe",
    "solve_alone",
    "solve_chunk",
    "solve_member",
    "time_in_a_block",
    "variables_of",
    "warm",
]

Array = npt.NDArray[Any]

_MOST_TRIES = 5
# members whose time is taken in a block, and what none of them may take alone [s]
_TIMED, _SLOW_S = 32, 0.02
_MOST_REASON = 300


@dataclass(frozen=True, eq=False)
class Job:
    """What a worker needs to solve chunks of a study.

    Parameters
    ----------
    folder : of the study
    held : the manifest
    scenario : what is changed
    places : where the swept values stand
    columns : of each batch, {path: (members,) values}
    reading : what is kept
    rows : rows of time of each trajectory; 0 keeps none
    """

    folder: str
    held: Held
    scenario: Scenario
    places: tuple[Place, ...]
    columns: tuple[Mapping[str, Array], ...]
    reading: Reading
    rows: int

    def values(self, batch: int, member: int) -> list[Any]:
        """Return the swept values of a member of a batch."""
        return [self.columns[batch][place.path][member] for place in self.places]


def solve_member(job: Job, values: Sequence[Any]) -> Run:
    """Return the run of one member."""
    scenario = changed(job.scenario, job.places, values)
    save: Any = job.rows or scenario.save
    if save is None:
        # times at which nobody looks are not kept, where the results do not depend on them
        save = getattr(scenario.system, "fewest_saves", None)
    return scenario.solve(save=save, throw=False)


def probe(job: Job) -> dict[str, Kept]:
    """Return what the members keep, from the first that have it; kernels are compiled on the way.

    Raises
    ------
    StictionError : if none of those tried can be solved, or has one of the results.
    """
    size = len(next(iter(job.columns[-1].values())))
    found: dict[str, Kept] = {}
    failure: StictionError | None = None
    for member in _spread(size, _MOST_TRIES):
        try:
            run = solve_member(job, job.values(-1, member))
            for name, kept in _kept(job, run).items():
                if name not in found or not found[name].values.shape:
                    found[name] = kept
            kept_of(run, job.reading)
        except StictionError as error:
            failure = failure or error
            continue
        return found
    # each name by itself may be a result of another member
    if found and set(job.reading.names) <= set(found):
        return found
    assert failure is not None
    raise failure


def _spread(size: int, most: int) -> list[int]:
    """Return at most so many places, the first and the last among them."""
    return list(dict.fromkeys(int(k) for k in np.linspace(0, size - 1, min(size, most))))


def _kept(job: Job, run: Run) -> dict[str, Kept]:
    found = kept_of(run, job.reading, lenient=True)
    if job.rows:
        found.update(trajectories_of(run, job.rows))
    return found


def variables_of(
    kept: Mapping[str, Kept], columns: Mapping[str, Array], units: Mapping[str, str], unit: str
) -> dict[str, Stored]:
    """Return what is stored of each member: swept values, what is always kept, what was asked for.

    Parameters
    ----------
    units : of the swept fields
    unit : of time
    """
    found = {}
    for path, values in columns.items():
        kind = values.dtype.kind
        dtype = {"f": "float64", "i": "int64", "u": "int64", "b": "int8"}.get(kind, "int32")
        labels = tuple(labels_of(values)) if kind in "UO" else ()
        found[path] = Stored((), (), dtype, units.get(path, ""), f"swept: {path}", labels)
    for name, (dtype, its_unit, meaning) in ALWAYS.items():
        labels = STATUSES if name == "status" else ()
        found[name] = Stored((), (), dtype, its_unit or unit, meaning, labels)
    for name, value in kept.items():
        if name not in found:
            shape = np.shape(value.values)
            found[name] = Stored(shape, value.dims, "float64", value.unit, value.meaning)
    return found


def labels_of(values: Array) -> list[str]:
    """Return the distinct values of a field that holds no numbers, as words."""
    return list(dict.fromkeys(str(v) for v in values))


def solve_chunk(job: Job, chunk: int, check: Callable[[], object] | None = None) -> dict[str, int]:
    """Solve the members of a chunk, put them in the store, and return how many are doubtful.

    Parameters
    ----------
    check : called before each member; raises to give up

    Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
    """
    batch = job.held.batch_of(chunk)
    begin, end = job.held.span(chunk)
    arrays = _empty(job, batch, begin, end)
    notes: list[Note] = []
    for member in _in_a_block(job, batch, begin, end, arrays):
        if check is not None:
            check()
        _one(job, batch, member, arrays, notes, chunk * job.held.chunk)
    Store(job.folder).write_chunk(job.held, chunk, arrays, notes)
    return {"members": end - begin, **counted(notes)}


def warm(job: Job) -> None:
    """Solve one member in a block, where that can be: workers are copies that need not compile."""
    if mode() == "compiled":
        _in_a_block(job, len(job.columns) - 1, 0, 1, _empty(job, len(job.columns) - 1, 0, 1))


def time_in_a_block(job: Job, alone: float) -> float | None:
    """Return what a member takes in a block, of the processor [s]; None where some go alone.

    Parameters
    ----------
    alone : what a member takes by itself [s]; of slow ones no block is tried

    Verified by: tests/unit/studies/test_blocks.py::test_chunks_are_as_long_as_blocks_take
    """
    fill = block_of(job) if mode() == "compiled" and alone < _SLOW_S else None
    count = min(_TIMED, len(next(iter(job.columns[-1].values()))))
    if fill is None:
        return None
    for members in (1, count):
        columns = [job.columns[-1][p.path][:members] for p in job.places]
        begin = time.process_time()
        done = fill(columns, _empty(job, -1, 0, members))
        spent = time.process_time() - begin
    # of what goes one by one nothing is known here
    return spent / count if done.all() else None


def _in_a_block(job: Job, batch: int, begin: int, end: int, arrays: dict[str, Array]) -> list[int]:
    """Solve members at once where that can be; return those that are left."""
    fill, every = block_of(job), list(range(begin, end))
    if fill is None:
        return every
    done = fill([job.columns[batch][p.path][begin:end] for p in job.places], arrays)
    return [member for member, is_done in zip(every, done.tolist(), strict=True) if not is_done]


def died(
    job: Job, chunk: int, solved: Mapping[int, Mapping[str, Array]], notes: Sequence[Note]
) -> None:
    """Put a chunk in place of which each member was solved in a process of its own.

    Parameters
    ----------
    solved : {member of the batch: its row}; the processes of the others died
    """
    batch = job.held.batch_of(chunk)
    begin, end = job.held.span(chunk)
    arrays = _empty(job, batch, begin, end)
    every = list(notes)
    for member in range(begin, end):
        if member in solved:
            for name, row in solved[member].items():
                arrays[name][member - begin] = row[0]
        else:
            arrays["status"][member - begin] = STATUSES.index("died")
            slot = chunk * job.held.chunk + member - begin
            every.append(Note(slot, "failed", "died: the process that solved it came to an end"))
    Store(job.folder).write_chunk(job.held, chunk, arrays, every)


def solve_alone(job: Job, chunk: int, member: int) -> tuple[dict[str, Array], list[Note]]:
    """Return the row of one member of a chunk, and what is doubtful about it."""
    batch = job.held.batch_of(chunk)
    begin, _ = job.held.span(chunk)
    arrays = _empty(job, batch, member, member + 1)
    notes: list[Note] = []
    first = chunk * job.held.chunk + member - begin
    _one(job, batch, member, arrays, notes, first, begin=member)
    return arrays, notes


def counted(notes: Sequence[Note]) -> dict[str, int]:
    """Return how many notes there are of each kind."""
    kinds = [note.kind for note in notes]
    return {kind: kinds.count(kind) for kind in ("failed", "audit", "determinism")}


def _empty(job: Job, batch: int, begin: int, end: int) -> dict[str, Array]:
    """Return arrays for members of a batch, with the swept values in place."""
    made: dict[str, Array] = {}
    for name, stored in job.held.variables.items():
        made[name] = np.full((end - begin, *stored.shape), stored.fill, stored.dtype)
    for path, values in job.columns[batch].items():
        part = values[begin:end]
        labels = job.held.variables[path].labels
        if labels:
            part = np.array([labels.index(str(v)) for v in part])
        made[path][:] = part
    made["events"][:] = 0
    made["losses"][:] = 0
    made["audit_failed"][:] = 0
    return made


def _one(
    job: Job,
    batch: int,
    member: int,
    arrays: dict[str, Array],
    notes: list[Note],
    first: int,
    begin: int | None = None,
) -> None:
    """Solve one member into its row; whatever goes wrong is its status and a note."""
    start = job.held.span(first // job.held.chunk)[0] if begin is None else begin
    row = member - start
    slot = first + row
    try:
        values = job.values(batch, member)
        run = solve_member(job, values)
        found = _kept(job, run)
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - of a user's law or function: one member, not the study
        refused = isinstance(error, ModelError)
        arrays["status"][row] = STATUSES.index("refused" if refused else "error")
        words = str(error).partition("\n")[0] or type(error).__name__
        kind = "refused" if refused else type(error).__name__
        notes.append(Note(slot, "failed", f"{kind}: {words}"[:_MOST_REASON]))
        return
    for name, number in always_of(run).items():
        arrays[name][row] = number
    for name, kept in found.items():
        if name in job.held.variables and name not in ALWAYS:
            _fill(arrays[name][row : row + 1], kept.values)
    if not run.status.ok:
        text = f"{run.status.value}: {run.reason}"
        notes.append(Note(slot, "failed", text[:_MOST_REASON]))
    for check in run.audit.failed:
        value = "" if check.value is None else f" {check.value:.3g}"
        limit = "" if check.limit is None else f" (limit {check.limit:.3g})"
        notes.append(Note(slot, "audit", f"{check.check}{value}{limit}"))
    if run.determinism.losses:
        loss = run.determinism.losses[0]
        text = f"{loss.kind} at {loss.time:.6g}, {len(run.determinism.losses)} in all"
        notes.append(Note(slot, "determinism", text))


def _fill(row: Array, values: Array) -> None:
    """Put an array into a row of another length: what is missing stays NaN, the rest is cut."""
    if row.shape[1:] == values.shape:
        row[0] = values
        return
    if row.ndim - 1 != values.ndim:
        return
    part = tuple(slice(0, min(a, b)) for a, b in zip(row.shape[1:], values.shape, strict=True))
    row[0][part] = values[part]
