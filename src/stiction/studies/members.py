"""Solution of the members of a study, chunk by chunk: what a worker process does.

A member is one run with its own values of the swept fields; a chunk is a group of members that are
stored together. The results are arrays over the members, and notes on members that failed, failed
their audit or lost determinism.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.errors import ModelError, ScenarioError, StictionError
from stiction.io.scenario import Scenario
from stiction.numerics.jit import mode
from stiction.numerics.shown import exact_text
from stiction.studies.blocks import block_of
from stiction.studies.fields import Place, changed
from stiction.studies.results import (
    STANDARD,
    STATUSES,
    Reading,
    Result,
    fewest_saves,
    results_of,
    standard_results,
    trajectories_of,
)
from stiction.studies.store import Manifest, Note, Store, Stored

__all__ = [
    "Job",
    "compile_block",
    "count_notes",
    "label_of",
    "labels_of",
    "probe",
    "solve_alone",
    "solve_chunk",
    "solve_member",
    "store_after_death",
    "time_in_a_block",
    "variables_of",
]

Array = npt.NDArray[Any]

_MOST_PROBES = 5
# number of members of a timed block; duration of a single run above which no block is timed [s]
_TIMED, _SLOW_S = 32, 0.02
_MOST_REASON = 300


@dataclass(frozen=True, eq=False)
class Job:
    """The data with which a worker solves chunks of a study.

    Parameters
    ----------
    folder : folder of the study
    manifest : description of the study; see `store.Manifest`
    scenario : scenario whose fields are varied
    places : places of the swept fields in the scenario
    columns : for each batch of members, {path: (members,) values}
    reading : the results that are saved
    n_times : number of saved times of each trajectory; 0 for no trajectories
    """

    folder: str
    manifest: Manifest
    scenario: Scenario
    places: tuple[Place, ...]
    columns: tuple[Mapping[str, Array], ...]
    reading: Reading
    n_times: int

    def values(self, batch: int, member: int) -> list[Any]:
        """Return the swept values of a member of a batch."""
        return [self.columns[batch][place.path][member] for place in self.places]


def solve_member(job: Job, values: Sequence[Any]) -> Run:
    """Return the run of one member."""
    scenario = changed(job.scenario, job.places, values)
    save: Any = job.n_times or scenario.save
    if save is None:
        # if the results do not depend on the saved times, few are saved
        save = fewest_saves(scenario.system, job.reading)
    return scenario.solve(save=save, throw=False)


def probe(job: Job) -> dict[str, Result]:
    """Solve up to five members and return their results: names, shapes and units for the store.

    This compiles the kernels too. Arrays are as large as those of the member with the largest
    integers and the longest lists in the swept fields.

    Raises
    ------
    StictionError : if none of the tried members can be solved, or has a result. An exception of a
        user's function is named in it.
    MemoryError, OSError : if memory, or a file, was missing.
    """
    size = len(next(iter(job.columns[-1].values())))
    results: dict[str, Result] = {}
    failure: Exception | None = None
    largest, complete = _largest_members(job), False
    for member in dict.fromkeys([*largest, *_spread(size, _MOST_PROBES)]):
        if complete and member not in largest:
            break
        try:
            run = solve_member(job, job.values(-1, member))
            for name, result in _results_of_member(job, run).items():
                results[name] = _with_room(results.get(name, result), result)
            results_of(run, job.reading)
            complete = True
        except MemoryError:  # of the machine
            raise
        except Exception as error:  # noqa: BLE001 - of a user's law or function: one member
            failure = failure or error
    if complete:
        return results
    # no member has all results, but each result has a member
    if results and set(job.reading.names) <= set(results):
        return results
    assert failure is not None
    if isinstance(failure, StictionError | OSError):
        raise failure
    got, needs = f"{type(failure).__name__}: {failure}", "a member with all results"
    why, try_ = (
        "the first members determine which results are saved.",
        "correct the function or the law.",
    )
    raise ScenarioError("Sweep.results", got, needs, why, try_) from failure


def _largest_members(job: Job) -> list[int]:
    """Return a member with the largest value of each swept integer, and with the longest list."""
    members = []
    for place in job.places:
        column = job.columns[-1][place.path]
        if column.dtype.kind == "O":
            column = np.array([len(v) if isinstance(v, list | tuple) else 0 for v in column])
        seeds = place.path.rpartition(".")[2] == "seed"
        if column.dtype.kind in "iu" and not seeds and column.min() < column.max():
            members.append(int(np.argmax(column)))
    return members


def _with_room(one: Result, other: Result) -> Result:
    """Return a result whose array is large enough for both; a number gives way to a list."""
    a, b = one.values.shape, other.values.shape
    if not a or len(a) != len(b):
        return one if a else other
    return replace(one, values=np.full(np.maximum(a, b), np.nan))


def _spread(size: int, most: int) -> list[int]:
    """Return at most `most` indices, evenly spaced, with the first and the last."""
    return list(dict.fromkeys(int(k) for k in np.linspace(0, size - 1, min(size, most))))


def _results_of_member(job: Job, run: Run) -> dict[str, Result]:
    over_time = trajectories_of(run, job.n_times) if job.n_times else {}
    taken = {*over_time, *(place.path for place in job.places)}
    results = results_of(run, job.reading, lenient=True, taken=taken)
    return results | over_time


def variables_of(
    results: Mapping[str, Result], columns: Mapping[str, Array], units: Mapping[str, str], unit: str
) -> dict[str, Stored]:
    """Return the stored variables: swept values, standard results, requested results.

    Parameters
    ----------
    results : results of a member
    columns : swept values by path
    units : units of the swept fields by path
    unit : unit of time
    """
    variables = {}
    for path, values in columns.items():
        kind = values.dtype.kind
        dtype = {"f": "float64", "i": "int64", "u": "int64", "b": "int8"}.get(kind, "int32")
        labels = tuple(labels_of(values)) if kind in "UO" else ()
        variables[path] = Stored((), (), dtype, units.get(path, ""), f"swept: {path}", labels)
    for name, (dtype, its_unit, meaning) in STANDARD.items():
        labels = STATUSES if name == "status" else ()
        variables[name] = Stored((), (), dtype, its_unit or unit, meaning, labels)
    for name, value in results.items():
        if name not in variables:
            shape = np.shape(value.values)
            variables[name] = Stored(shape, value.dims, "float64", value.unit, value.meaning)
    return variables


def labels_of(values: Array) -> list[str]:
    """Return the distinct values, as text, of a field whose values are not numbers."""
    return list(dict.fromkeys(map(label_of, values)))


def label_of(value: object) -> str:
    """Return the text of a value that is not a number; different values have different texts.

    The text of an object rounds its numbers and omits entries of its lists; if it does, a digest of
    all of them follows.

    Verified by: tests/unit/studies/test_sweep.py::test_objects_that_differ_in_omitted_entries
    """
    short = str(value)
    exact = short if _is_plain(value) else exact_text(value)
    digest = hashlib.sha256(exact.encode()).hexdigest()[:16]
    return short if exact == short else f"{short} #{digest}"


def _is_plain(value: object) -> bool:
    """Return whether `str` has all digits and entries of a value."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def solve_chunk(job: Job, chunk: int, check: Callable[[], object] | None = None) -> dict[str, int]:
    """Solve the members of a chunk, store them, and return the number of invalid ones.

    Parameters
    ----------
    check : function that is called before each member; it raises an exception to stop

    Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
    """
    batch = job.manifest.batch_of(chunk)
    begin, end = job.manifest.span(chunk)
    arrays = _empty(job, batch, begin, end)
    notes: list[Note] = []
    first = chunk * job.manifest.chunk - begin
    for member in _solve_block(job, batch, begin, end, arrays):
        if check is not None:
            check()
        _solve_into(job, batch, member, arrays, member - begin, notes, first + member)
    Store(job.folder).write_chunk(job.manifest, chunk, arrays, notes)
    return {"members": end - begin, **count_notes(notes)}


def compile_block(job: Job) -> None:
    """Solve one member in a block, if possible, so that forked workers need not compile."""
    if mode() == "compiled":
        _solve_block(job, len(job.columns) - 1, 0, 1, _empty(job, len(job.columns) - 1, 0, 1))


def time_in_a_block(job: Job, alone: float) -> float | None:
    """Return the processor time of a member in a block [s]; None if some members are solved singly.

    Parameters
    ----------
    alone : duration of a single run [s]; slow runs are not timed in a block

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
    # members that are solved singly were not timed
    return spent / count if done.all() else None


def _solve_block(job: Job, batch: int, begin: int, end: int, arrays: dict[str, Array]) -> list[int]:
    """Solve members in one block if possible; return the members that remain to be solved."""
    fill, every = block_of(job), list(range(begin, end))
    if fill is None:
        return every
    done = fill([job.columns[batch][p.path][begin:end] for p in job.places], arrays)
    return [member for member, is_done in zip(every, done.tolist(), strict=True) if not is_done]


def store_after_death(
    job: Job, chunk: int, solved: Mapping[int, Mapping[str, Array]], notes: Sequence[Note]
) -> None:
    """Store a chunk whose worker died and whose members were then solved in separate processes.

    Parameters
    ----------
    solved : {member of the batch: its arrays}; the processes of all other members died
    notes : notes on the solved members
    """
    batch = job.manifest.batch_of(chunk)
    begin, end = job.manifest.span(chunk)
    arrays = _empty(job, batch, begin, end)
    every = list(notes)
    for member in range(begin, end):
        if member in solved:
            for name, values in solved[member].items():
                arrays[name][member - begin] = values[0]
        else:
            arrays["status"][member - begin] = STATUSES.index("died")
            slot = chunk * job.manifest.chunk + member - begin
            every.append(Note(slot, "failed", "died: the process that solved this member ended"))
    Store(job.folder).write_chunk(job.manifest, chunk, arrays, every)


def solve_alone(job: Job, chunk: int, member: int) -> tuple[dict[str, Array], list[Note]]:
    """Return the arrays of one member of a chunk, and its notes."""
    batch = job.manifest.batch_of(chunk)
    begin, _ = job.manifest.span(chunk)
    arrays = _empty(job, batch, member, member + 1)
    notes: list[Note] = []
    slot = chunk * job.manifest.chunk + member - begin
    _solve_into(job, batch, member, arrays, 0, notes, slot)
    return arrays, notes


def count_notes(notes: Sequence[Note]) -> dict[str, int]:
    """Return the number of members with a note, for each kind."""
    kinds = [kind for kind, _ in {(note.kind, note.member) for note in notes}]
    return {kind: kinds.count(kind) for kind in ("failed", "audit", "determinism")}


def _empty(job: Job, batch: int, begin: int, end: int) -> dict[str, Array]:
    """Return arrays for members of a batch with the swept values, and fill values elsewhere."""
    made: dict[str, Array] = {}
    for name, stored in job.manifest.variables.items():
        made[name] = np.full((end - begin, *stored.shape), stored.fill, stored.dtype)
    for path, values in job.columns[batch].items():
        part = values[begin:end]
        labels = job.manifest.variables[path].labels
        if labels:
            part = np.array([labels.index(label_of(v)) for v in part])
        made[path][:] = part
    made["events"][:] = 0
    made["losses"][:] = 0
    made["audit_failed"][:] = 0
    return made


def _solve_into(
    job: Job,
    batch: int,
    member: int,
    arrays: dict[str, Array],
    index: int,
    notes: list[Note],
    slot: int,
) -> None:
    """Solve one member and write its entries; an error becomes its status and a note.

    Parameters
    ----------
    index : of the member in `arrays`
    slot : its index in the store
    """
    try:
        values = job.values(batch, member)
        run = solve_member(job, values)
        results = _results_of_member(job, run)
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - of a user's law or function: one member, not the study
        refused = isinstance(error, ModelError)
        arrays["status"][index] = STATUSES.index("refused" if refused else "error")
        words = str(error).partition("\n")[0] or type(error).__name__
        kind = "refused" if refused else type(error).__name__
        notes.append(Note(slot, "failed", f"{kind}: {words}"[:_MOST_REASON]))
        return
    for name, number in standard_results(run).items():
        arrays[name][index] = number
    for name, result in results.items():
        if name not in job.manifest.variables and job.reading.functions:
            text = f"{name}: a result that the first solved members do not have"
            notes.append(Note(slot, "failed", text[:_MOST_REASON]))
        elif name in job.manifest.variables and name not in STANDARD:
            entry = arrays[name][index : index + 1]
            if not _fill(entry, result.values):
                text = f"{name}: values of the shape {result.values.shape} in {entry.shape[1:]}"
                notes.append(Note(slot, "failed", text[:_MOST_REASON]))
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


def _fill(entry: Array, values: Array) -> bool:
    """Copy an array into an entry of another shape, padded with NaN; return whether all had room.

    Of an array with another number of axes nothing is copied.
    """
    if entry.shape[1:] == values.shape:
        entry[0] = values
        return True
    if entry.ndim - 1 != values.ndim:
        return not np.isfinite(values).any()
    part = tuple(slice(0, min(a, b)) for a, b in zip(entry.shape[1:], values.shape, strict=True))
    entry[0][part] = values[part]
    return all(a >= b for a, b in zip(entry.shape[1:], values.shape, strict=True))
