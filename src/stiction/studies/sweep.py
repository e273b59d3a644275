"""A parameter sweep: a scenario, the fields that are varied, and the results that are saved.

A member is one run of the scenario with its own values of the varied fields. `Sweep.run` divides
the members into chunks, solves the chunks in processes or on a Dask cluster, and stores each chunk
atomically. An interrupted study therefore continues after its complete chunks. A study is
identified by a digest of scenario, code, fields and saved results.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import secrets
import sys
import time as clock
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction._version import __version__
from stiction.catalogue import used_outside
from stiction.core.method import default_method
from stiction.errors import ScenarioError, StoreError, explain
from stiction.io.contents import STUDY
from stiction.io.scenario import Scenario, read_scenario, write_scenario
from stiction.numerics.checks import Record, whole
from stiction.numerics.compiling.user_functions import fingerprint
from stiction.numerics.jit import mode
from stiction.studies.designs import Design, Grid, columns
from stiction.studies.engines import in_processes, most_workers, on_dask
from stiction.studies.fields import Place, changed, place_of, unit_of
from stiction.studies.members import (
    Job,
    compile_block,
    label_of,
    labels_of,
    probe,
    time_in_a_block,
    variables_of,
)
from stiction.studies.results import Reading
from stiction.studies.store import Manifest, Store, is_study
from stiction.studies.study import Study

__all__ = ["Progress", "Sweep", "code_digest"]

Array = npt.NDArray[Any]

# largest number of values of a field without numbers that are checked before anything is written
_MOST_TRIED = 200
# intended duration of a chunk [s]; least number of chunks for each worker
_CHUNK_S = 1.0
_CHUNKS_PER_WORKER = 16
_MOST_IN_CHUNK = 4096
_OTHER = "another function, or one that refers to an object that cannot be pickled"
_MOST_BYTES_OF_CHUNK = 64 << 20


@dataclass(frozen=True)
class Progress:
    """Progress of a study.

    Parameters
    ----------
    done, members : number of solved members, and of all members
    rate : members per second since the start; 0 before the first chunk
    invalid : number of members that failed, failed their audit, or lost determinism
    """

    done: int
    members: int
    rate: float
    invalid: Mapping[str, int]

    def __str__(self) -> str:
        """Return the progress as text."""
        words = [f"{self.done:,} of {self.members:,}"]
        if self.rate > 0.0:
            remaining = (self.members - self.done) / self.rate
            words += [f"{self.rate:,.3g}/s", f"{_span(remaining)} left"]
        words += [f"{count:,} {_WORDS[kind]}" for kind, count in self.invalid.items() if count]
        return ", ".join(words)


_WORDS = {"failed": "failed", "audit": "failed their audit", "determinism": "lost determinism"}


def _span(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Record):
    """Many runs of one scenario with varied values of some fields.

    Parameters
    ----------
    scenario : a built-in name, a file, a `Scenario`, or a system together with `t_span`
    fields : {path: values}, such as {"law.mu": [0.1, 0.2], "mass[2]": Range(1, 3, 5)}. A path
        names a field of the system, or begins with `method.` or `solve.`. Indices of lists start
        at 0. Values are numbers, words, lists or objects. A `Range` gives evenly spaced values, or
        the interval that a design samples
    design : how values are combined to members: Grid(), Paired(), LatinHypercube(...), Sobol(...),
        Saltelli(...)
    results : names of results, or functions of a run that return {name: number or array}. () saves
        all numeric results except `stick_above_kinetic`, for which each member must save as many
        states as a single run, and is slower. The reductions max(NAME), min, mean, sum, first, last
        and count turn a list into a number. `final.x`, `energy.friction_heat`, `events.slip`,
        `stats.steps` and `audit.CHECK` name further results
    trajectories : number of times at which the state of each member is saved; 0 for none
    t_span, method : if `scenario` is a system, its start and end [time unit] and its method
    title : title of the study, one line

    Raises
    ------
    ScenarioError : on unknown paths and values of a wrong type.
    ModelError : on values that a system does not admit.

    Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
    """

    scenario: Any
    fields: Mapping[str, Any]
    design: Design = field(default_factory=Grid)
    results: Any = ()
    trajectories: int = 0
    t_span: tuple[float, float] | None = None
    method: object | None = None
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scenario", _scenario(self))
        if self.trajectories != 0:
            why, try_ = (
                "each member saves its states at this many times.",
                "for example 200, or 0 for no states.",
            )
            each = 8.0 * (self.scenario.system.state_size + 1)
            where = "Sweep.trajectories"
            count = whole(where, self.trajectories, least=2, each=each, why=why, try_=try_)
            object.__setattr__(self, "trajectories", count)
        given: tuple[object, object] = (self.design, self.fields)
        if not isinstance(given[0], Design):
            needs, why = "a design, such as Grid()", "a design combines the values into members."
            try_ = "Grid(), Paired(), LatinHypercube(members=256), Sobol(members=256)."
            raise ScenarioError("Sweep.design", repr(self.design), needs, why, try_)
        if not isinstance(given[1], Mapping):
            needs, why = (
                "a dictionary {path: values}",
                "the keys of `fields` name the varied fields.",
            )
            try_ = 'for example {"law.mu": [0.1, 0.2]}.'
            raise ScenarioError("Sweep.fields", repr(self.fields), needs, why, try_)
        # strings of NumPy are strings that the manifest cannot encode
        object.__setattr__(self, "fields", {_plain(path): v for path, v in given[1].items()})
        object.__setattr__(self, "title", _plain(self.title))
        places = tuple(place_of(self.scenario, path) for path in self.fields)
        Reading.of(self.results)
        _check_extremes(self.scenario, places, self._columns)

    @functools.cached_property
    def _columns(self) -> dict[str, Array]:
        """The values of every field, (members,) each."""
        return columns(self.design, self.fields)

    @property
    def members(self) -> int:
        """Number of members."""
        return len(next(iter(self._columns.values())))

    def run(
        self,
        folder: str | Path,
        *,
        workers: int | None = None,
        engine: str = "local",
        address: str | None = None,
        shard: tuple[int, int] | None = None,
        chunk: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Study:
        """Solve the members that are not in `folder` yet, and return the study.

        An interruption loses only the chunks in progress, and the same call continues the study,
        unless a user's function refers to an object that has no pickle. A call with
        other values of the same fields adds members to the study.

        Parameters
        ----------
        folder : folder of the study
        workers : number of processes; None for as many as cores and memory allow
        engine : "local" or "dask"
        address : address of a Dask scheduler; None starts one on this machine
        shard : (i, n) to solve only the i-th of n parts of the study, i from 1
        chunk : number of members that are solved and stored together; None for about a second of
            work
        progress : function that is called after every chunk

        Raises
        ------
        StoreError : if the folder holds another study or cannot be written, or another process
            solves this study.

        Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
        """
        _check_run(workers, engine, shard, chunk)
        unknown = [_named(f) for f in self._compared if _print_of(f) is None]
        if unknown:
            _check_whole(unknown[0], shard)
        store = Store(folder)
        with store.locked(shard):
            job = self._job(store, chunk, workers)
            done = store.done(job.manifest)
            remaining = [k for k in range(job.manifest.chunks) if k not in done]
            if shard is not None:
                remaining = [k for k in remaining if k % shard[1] == shard[0] - 1]
            if remaining:
                pool = most_workers(workers, len(remaining))
                compile_block(job)
                if engine == "dask":
                    results = on_dask(job, remaining, pool, address)
                else:
                    results = in_processes(job, remaining, pool)
                _report(job, remaining, results, progress)
        return Study(folder)

    def _job(self, store: Store, chunk: int | None, workers: int | None) -> Job:
        """Return the job for the study in a folder, which is created if it does not exist."""
        reading = Reading.of(self.results)
        places = tuple(place_of(self.scenario, path) for path in self.fields)
        values = self._columns
        description, inputs = self._description()
        # before the manifest of another shard is sought, which precedes its other files
        files = [path.name for path in store.folder.iterdir()] if store.folder.exists() else []
        if is_study(store.folder):
            manifest = store.read()
        else:
            if not all(name.startswith(f".{STUDY}.") for name in files):
                needs, why = (
                    "a folder that does not exist, or a study",
                    "every study is written to its own folder.",
                )
                got = "a folder with other files"
                try_ = "give another folder with --out."
                raise StoreError(str(store.folder), got, needs, why, try_)
            first = Manifest(inputs, description, {}, 1, ())
            job = Job("", first, self.scenario, places, (values,), reading, self.trajectories)
            probe(job)
            # the second run measures the processor time without compilation
            begin = clock.process_time()
            results = probe(job)
            each = clock.process_time() - begin
            unit = getattr(self.scenario.system, "time_unit", "")
            units = {place.path: unit_of(self.scenario, place) for place in places}
            variables = variables_of(results, values, units, unit)
            measured = Manifest(inputs, description, variables, 1, ())
            each = time_in_a_block(dataclasses.replace(job, manifest=measured), each) or each
            size = int(chunk or 0) or _chunk_of(each, self.members, workers, variables)
            manifest = store.begin(Manifest(inputs, description, variables, size, ()))
        _check_same_study(store.folder, manifest, description, inputs)
        manifest, every = _add_members(store, manifest, values, self.design)
        job = Job(
            str(Path(store.folder).resolve()),
            manifest,
            self.scenario,
            places,
            every,
            reading,
            self.trajectories,
        )
        return job

    @property
    def _compared(self) -> list[Callable[..., Any]]:
        """The user's functions that a study with the same inputs shares.

        Swept values are compared by their text; values of equal text are included.
        """
        given = [*_functions(self.scenario), *Reading.of(self.results).functions]
        swept = [column.tolist() for column in self._columns.values() if column.dtype.kind == "O"]
        return given + [f for f in _functions(swept) if _print_of(f) is None]

    def _description(self) -> tuple[dict[str, Any], str]:
        """Return the inputs of the study as text, and their digest."""
        reading = Reading.of(self.results)
        bare = dataclasses.replace(self.scenario, title="", paper="", figure="", note="")
        text = write_scenario(bare)
        # swept values are not included: other values of the same fields belong to the same study
        description = {
            "title": self.title or self.scenario.title,
            "scenario": text,
            "fields": list(self.fields),
            "design": type(self.design).__name__,
            "results": [*reading.names, *(_named(f) for f in reading.functions)],
            "trajectories": self.trajectories,
            "version": __version__,
            "code": code_digest(text),
            "kernels": mode(),
        }
        # a function that cannot be compared differs from that of every other call
        prints = [repr(_print_of(f) or secrets.token_hex()) for f in self._compared]
        digested = {key: value for key, value in description.items() if key != "title"}
        every = repr((sorted(digested.items()), prints))
        return description, hashlib.sha256(every.encode()).hexdigest()


def _plain(text: Any) -> Any:
    """Return a string of NumPy as a string of Python, any other value as it is."""
    return str(text) if isinstance(text, str) else text


def _scenario(sweep: Sweep) -> Scenario:
    """Return the scenario from a name, a file, a `Scenario` or a system."""
    given = sweep.scenario
    if isinstance(given, str | Path):
        scenario = read_scenario(given)
    elif isinstance(given, Scenario):
        scenario = given
    elif hasattr(given, "default_method") and not isinstance(given, type):
        if sweep.t_span is None:
            why = "a system has no end time."
            try_ = "for example t_span=(0.0, 8.0)."
            raise ScenarioError("Sweep.t_span", "nothing", "a start and an end", why, try_)
        start, end = sweep.t_span
        method = sweep.method or default_method(given)
        return Scenario(given, method, float(end), float(start))
    else:
        needs = "a name, a file, a Scenario or a system"
        why = "a study solves one scenario many times."
        try_ = 'for example Sweep("slip-wave", ...).'
        raise ScenarioError("Sweep.scenario", repr(given), needs, why, try_)
    if sweep.t_span is not None:
        start, end = sweep.t_span
        scenario = dataclasses.replace(scenario, t_end=float(end), t_start=float(start))
    if sweep.method is None:
        return scenario
    return dataclasses.replace(scenario, method=sweep.method)


def _check_extremes(
    scenario: Scenario, places: Sequence[Place], values: Mapping[str, Array]
) -> None:
    """Build the systems at the extreme values of each field, which raises errors early."""
    size = len(next(iter(values.values())))
    first = [column[0] for column in values.values()]
    changed(scenario, places, first)
    for k, (path, column) in enumerate(values.items()):
        if column.dtype.kind in "OUb":
            _check_comparable(path, column)
            tried = list({label_of(v): v for v in column}.values())[:_MOST_TRIED]
        else:
            tried = [column[int(np.argmin(column))], column[int(np.argmax(column))]]
        for value in tried if size > 1 else ():
            changed(scenario, places, [*first[:k], value, *first[k + 1 :]])


def _check_comparable(path: str, column: Array) -> None:
    """Raise an error if two values with functions could be taken for the same value."""
    known: dict[str, object] = {}
    for value in column.tolist():
        for function in _functions(value):
            if _print_of(function) is not None:
                continue
            if known.setdefault(label_of(value), value) is not value:
                got = f"{path} with functions {_named(function)}, which stiction cannot compare"
                needs = (
                    "functions that refer only to objects that can be pickled, such as "
                    "numbers and splines"
                )
                why = "members with equal values are solved once."
                raise ScenarioError(
                    "Sweep.fields", got, needs, why, "give the functions other names."
                )


def _check_whole(function: str, shard: tuple[int, int] | None) -> None:
    """Warn that a study with a function without fingerprint cannot be continued."""
    got = f"the function {function}, which refers to an object that cannot be pickled"
    needs = "functions that refer only to objects that can be pickled, such as numbers and splines"
    if shard is not None:
        why = "shards have the same function, and stiction cannot compare this one."
        raise ScenarioError("shard", got, needs, why, "solve the study without shards.")
    why, try_ = (
        "an interrupted study is continued with the same function.",
        "pass this object to the function as a field, or define it in a module.",
    )
    warnings.warn(explain("Sweep", got, needs, why, try_), stacklevel=3)


def _check_run(
    workers: int | None, engine: str, shard: tuple[int, int] | None, chunk: int | None
) -> None:
    """Raise an error for arguments of `Sweep.run` that are not admissible."""
    if workers is not None:
        why, try_ = "each worker is one process.", "leave this value out for all cores."
        whole("workers", workers, least=1, most=4096, why=why, try_=try_)
    if chunk is not None:
        why, try_ = "a chunk has at least one member.", "leave this value out."
        whole("chunk", chunk, least=1, most=1_000_000, why=why, try_=try_)
    if engine not in ("local", "dask"):
        needs, why = '"local" or "dask"', "a study has these two engines."
        raise ScenarioError("engine", repr(engine), needs, why, 'take "local".')
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        got, needs = f"{shard[0]}/{shard[1]}", "i/n with i from 1 to n"
        why, try_ = "a shard is one of n parts of the members.", "for example 1/8."
        raise ScenarioError("shard", got, needs, why, try_)


def _chunk_of(each: float, members: int, workers: int | None, variables: Mapping[str, Any]) -> int:
    """Return the size of a chunk: about a second of work, several chunks for each worker."""
    pool = most_workers(workers, members)
    by_time = int(_CHUNK_S / max(each, 1e-6))
    by_count = -(-members // (_CHUNKS_PER_WORKER * pool))
    size = sum(8 * int(np.prod(v.shape, initial=1)) for v in variables.values())
    by_memory = _MOST_BYTES_OF_CHUNK // max(size, 1)
    return max(1, min(by_time, by_count, by_memory, _MOST_IN_CHUNK))


def _check_same_study(
    folder: Path, manifest: Manifest, description: Mapping[str, Any], inputs: str
) -> None:
    """Raise an error if the folder holds a study with other inputs."""
    if manifest.inputs == inputs:
        return
    words = {
        "version": "another version of stiction",
        "code": "other code of stiction",
        "kernels": "kernels with other rounding errors (compiled, plain)",
        "fields": "other fields",
        "results": "other saved results",
        "design": "another design",
        "trajectories": "other trajectories",
        "scenario": "another scenario",
    }
    other = [
        text for key, text in words.items() if manifest.description.get(key) != description[key]
    ]
    got = f"a study of {' and '.join(other) or _OTHER}"
    needs, why = "the same study, or no folder yet", "all members of a study have the same inputs."
    raise StoreError(str(folder), got, needs, why, "give another folder with --out.")


def _add_members(
    store: Store, manifest: Manifest, values: Mapping[str, Array], design: Design
) -> tuple[Manifest, tuple[dict[str, Array], ...]]:
    """Add the new members; return the manifest and the columns of every batch."""
    every = [store.columns(manifest, k) for k in range(len(manifest.batches))]
    plain = {path: _as_stored(column) for path, column in values.items()}
    if not every and len(plain) == 1 and all(c.dtype.kind in "fi" for c in plain.values()):
        # fast path for one numeric field of a new study: distinct members in their order
        (only,) = plain.values()
        first = np.sort(np.unique(only, return_index=True)[1])
        manifest = store.add(_labelled(manifest, values), {p: c[first] for p, c in plain.items()})
        return manifest, (dict.fromkeys(plain, only[first]),)
    for path, column in plain.items():
        whole_numbers = np.dtype(manifest.variables[path].dtype).kind in "iu"
        if column.dtype.kind == "f" and whole_numbers and (column % 1.0).any():
            got, needs = f"{path} with fractions", "whole numbers, with which the study began"
            why = "the arrays of the folder store this field as whole numbers."
            raise StoreError(str(store.folder), got, needs, why, "give another folder with --out.")
    members = list(zip(*(column.tolist() for column in plain.values()), strict=True))
    known = {
        member for old in every for member in zip(*(c.tolist() for c in old.values()), strict=True)
    }
    added = [k for k, member in enumerate(members) if member not in known]
    if known and added and not design.extends:
        name = type(design).__name__
        got, needs = f"a {name} with other members", "the members of the study in the folder"
        why = f"members cannot be added to a {name} without losing its structure."
        try_ = "take Sobol, which can be extended, or give another folder with --out."
        raise StoreError(str(store.folder), got, needs, why, try_)
    if added:
        # equal members are solved once
        if len(set(members)) < len(members):
            seen: set[tuple[Any, ...]] = set()
            added = [k for k in added if not (members[k] in seen or seen.add(members[k]))]  # type: ignore[func-returns-value]
        manifest = store.add(_labelled(manifest, values), {p: c[added] for p, c in plain.items()})
        every.append(store.columns(manifest, len(manifest.batches) - 1))
    swept = {path: column for path, column in values.items() if column.dtype.kind == "O"}
    objects = {path: {label_of(v): v for v in column} for path, column in swept.items()}
    return manifest, tuple(_with_objects(old, objects) for old in every)


def _labelled(manifest: Manifest, values: Mapping[str, Array]) -> Manifest:
    """Return the manifest with labels for values that are not numbers, old ones first."""
    variables = dict(manifest.variables)
    for path, column in values.items():
        if column.dtype.kind in "UO":
            words = dict.fromkeys([*variables[path].labels, *labels_of(column)])
            variables[path] = dataclasses.replace(variables[path], labels=tuple(words))
    return dataclasses.replace(manifest, variables=variables)


def _as_stored(column: Array) -> Array:
    """Return a column as it is stored: objects and lists as text."""
    return np.array([label_of(v) for v in column]) if column.dtype.kind == "O" else column


def _with_objects(
    stored: Mapping[str, Array], objects: Mapping[str, Mapping[str, Any]]
) -> dict[str, Array]:
    """Return the columns of a batch with objects in place of their text."""
    columns: dict[str, Array] = {}
    for path, column in stored.items():
        known = objects.get(path)
        if known is None:
            columns[path] = column
            continue
        made = np.empty(len(column), dtype=object)
        for k, word in enumerate(column.tolist()):
            made[k] = known.get(word, word)
        columns[path] = made
    return columns


def _report(
    job: Job,
    chunks: Sequence[int],
    results: Iterator[tuple[int, dict[str, int]]],
    progress: Callable[[Progress], object] | None,
) -> None:
    """Report the progress of an engine after each chunk."""
    every = sum(b - a for a, b in map(job.manifest.span, chunks))
    total = job.manifest.members
    before = total - every
    done, invalid = 0, {"failed": 0, "audit": 0, "determinism": 0}
    begin = clock.perf_counter()
    for _, counts in results:
        done += counts["members"]
        for kind in invalid:
            invalid[kind] += counts[kind]
        if progress is not None:
            rate = done / max(clock.perf_counter() - begin, 1e-9)
            progress(Progress(before + done, total, rate, dict(invalid)))


def code_digest(scenario: str) -> str:
    """Return the SHA-256 of the source code on which results depend.

    Commands, figures and papers are left out. The other packages whose classes occur in `scenario`,
    a text in TOML, are included.
    """
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).parts
        if inside[0] in ("cli", "plot", "papers") or any("figures" in part for part in inside):
            continue
        digest.update("/".join(inside).encode() + path.read_bytes())
    for name in sorted(used_outside(scenario).values()):
        place = Path(str(sys.modules[name].__file__))
        for path in sorted(place.parent.rglob("*.py")) if "." in name else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _functions(owner: object, depth: int = 6) -> Iterator[Callable[..., Any]]:
    """Yield the user's functions in the fields of an object, recursively."""
    if depth and dataclasses.is_dataclass(owner) and not isinstance(owner, type):
        for f in dataclasses.fields(owner):
            yield from _functions(getattr(owner, f.name), depth - 1)
    elif depth and isinstance(owner, list | tuple):
        for value in owner:
            yield from _functions(value, depth - 1)
    elif depth and isinstance(owner, Mapping):
        yield from _functions([*owner.values()], depth)
    elif callable(owner) and not isinstance(owner, type):
        yield owner


def _print_of(function: Callable[..., Any]) -> tuple[object, ...] | None:
    """Return the fingerprint of a function, which changes with its code."""
    return fingerprint(function, objects=True)


def _named(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
