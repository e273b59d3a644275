"""A sweep: a scenario, the fields that are varied, and what is kept of each member."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction._version import __version__
from stiction.catalogue import used_outside
from stiction.core.method import default_method
from stiction.errors import ScenarioError, StoreError
from stiction.io.scenario import Scenario, read_scenario, write_scenario
from stiction.numerics.checks import Record, whole
from stiction.numerics.compiling.user_functions import fingerprint
from stiction.numerics.jit import mode
from stiction.studies.designs import Design, Grid, columns
from stiction.studies.engines import in_processes, most_workers, on_dask
from stiction.studies.fields import Place, changed, place_of, unit_of
from stiction.studies.keep import Reading
from stiction.studies.members import (
    Job,
    labels_of,
    probe,
    time_in_a_block,
    variables_of,
    warm,
)
from stiction.studies.store import Held, Store, is_study
from stiction.studies.study import Study

__all__ = ["Progress", "Sweep", "code_digest"]

Array = npt.NDArray[Any]

# each end of this many fields is tried before anything is written
_MOST_TRIED = 200
# a chunk takes about this long [s], and every worker gets several
_CHUNK_S = 1.0
_CHUNKS_EACH = 16
_MOST_IN_CHUNK = 4096
_MOST_BYTES_OF_CHUNK = 64 << 20


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Parameters
    ----------
    done, members : how many are done, of how many
    rate : members per second since the start; 0 before the first
    doubtful : members that failed, failed their audit, or lost determinism, among those done now
    """

    done: int
    members: int
    rate: float
    doubtful: Mapping[str, int]

    def __str__(self) -> str:
        """Return it in words."""
        words = [f"{self.done:,} of {self.members:,}"]
        if self.rate > 0.0:
            left = (self.members - self.done) / self.rate
            words += [f"{self.rate:,.3g}/s", f"{_span(left)} left"]
        words += [f"{count:,} {_TOLD[kind]}" for kind, count in self.doubtful.items() if count]
        return ", ".join(words)


_TOLD = {"failed": "failed", "audit": "failed their audit", "determinism": "lost determinism"}


def _span(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Record):
    """Many runs of one scenario, with other values of some fields.

    Parameters
    ----------
    scenario : a built-in name, a file, a `Scenario`, or a system with `t_span`
    fields : {path: values}, such as {"law.mu": [0.1, 0.2], "mass[2]": Range(1, 3, 5)}; a path
        leads through the fields of the system, or begins with `method.` or `solve.`; places in
        lists are counted from 0. Values are numbers, words, lists or objects; a Range is spread
        evenly, or is the side of a box that a design samples
    design : how values make members: Grid(), Paired(), LatinHypercube(...), Sobol(...),
        Saltelli(...)
    keep : names of results, or functions of a run that return {name: number or array}; () keeps
        every result that is a number. `max(NAME)` and min, mean, sum, first, last, count make one
        number of a list; `final.x`, `energy.friction_heat`, `events.slip`, `stats.steps` and
        `audit.CHECK` name the rest
    trajectories : rows of time to keep of each member; 0 keeps none
    t_span, method : for a system: start and end [time unit], and how it is solved
    title : one line that says what is to be seen

    Raises
    ------
    ScenarioError : on paths that lead nowhere and values of a wrong type.
    ModelError : on values that a system refuses.

    Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
    """

    scenario: Any
    fields: Mapping[str, Any]
    design: Design = field(default_factory=Grid)
    keep: Any = ()
    trajectories: int = 0
    t_span: tuple[float, float] | None = None
    method: object | None = None
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scenario", _scenario(self))
        if self.trajectories != 0:
            why, try_ = "so many rows of time are kept.", "for example 200; 0 keeps none."
            each = 8.0 * (self.scenario.system.state_size + 1)
            where = "Sweep.trajectories"
            whole(where, self.trajectories, least=2, each=each, why=why, try_=try_)
        given: tuple[object, object] = (self.design, self.fields)
        if not isinstance(given[0], Design):
            needs, why = "a design, such as Grid()", "it makes members of the values."
            try_ = "Grid(), Paired(), LatinHypercube(members=256), Sobol(members=256)."
            raise ScenarioError("Sweep.design", repr(self.design), needs, why, try_)
        if not isinstance(given[1], Mapping):
            needs, why = "a dictionary {path: values}", "it says what is swept."
            try_ = 'for example {"law.mu": [0.1, 0.2]}.'
            raise ScenarioError("Sweep.fields", repr(self.fields), needs, why, try_)
        places = tuple(place_of(self.scenario, path) for path in self.fields)
        Reading.of(self.keep)
        _try_ends(self.scenario, places, self._columns)

    @functools.cached_property
    def _columns(self) -> dict[str, Array]:
        """The values of every field, (members,) each."""
        return columns(self.design, self.fields)

    @property
    def members(self) -> int:
        """How many members there are."""
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
        """Solve what is not in `folder` yet, and return the study.

        Whatever is killed, at most the chunks in flight are lost: the same call goes on. Other
        values of the same fields are added to what is there.

        Parameters
        ----------
        workers : processes; None for as many as cores and memory allow
        engine : "local" or "dask"
        address : of a Dask scheduler; None starts one here
        shard : (i, n): solve the i-th of n parts alone, from 1
        chunk : members solved and stored together; None for about a second's work
        progress : called after every chunk

        Raises
        ------
        StoreError : if the folder holds another study, cannot be written, or is being filled.

        Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
        """
        _check_run(workers, engine, shard, chunk)
        store = Store(folder)
        with store.claimed(shard):
            job = self._job(store, chunk, workers)
            done = store.done(job.held)
            left = [k for k in range(job.held.chunks) if k not in done]
            if shard is not None:
                left = [k for k in left if k % shard[1] == shard[0] - 1]
            if left:
                crew = most_workers(workers, len(left))
                warm(job)
                if engine == "dask":
                    found = on_dask(job, left, crew, address)
                else:
                    found = in_processes(job, left, crew)
                _follow(job, left, found, progress)
        return Study(folder)

    def _job(self, store: Store, chunk: int | None, workers: int | None) -> Job:
        """Return the work on a study that is there, or is made now."""
        reading = Reading.of(self.keep)
        places = tuple(place_of(self.scenario, path) for path in self.fields)
        values = self._columns
        told, inputs = self._told()
        if is_study(store.folder):
            held = store.read()
            _same_study(store.folder, held, told, inputs)
        else:
            if store.folder.exists() and any(store.folder.iterdir()):
                needs, why = "a folder that does not exist, or a study", "nothing is mixed."
                got = "a folder with other things in it"
                try_ = "give another folder with --out."
                raise StoreError(str(store.folder), got, needs, why, try_)
            first = Held(inputs, told, {}, 1, ())
            job = Job("", first, self.scenario, places, (values,), reading, self.trajectories)
            probe(job)
            # the second time nothing is compiled any more; others may use this processor, too
            begin = clock.process_time()
            kept = probe(job)
            each = clock.process_time() - begin
            unit = getattr(self.scenario.system, "time_unit", "")
            units = {place.path: unit_of(self.scenario, place) for place in places}
            variables = variables_of(kept, values, units, unit)
            told_of = Held(inputs, told, variables, 1, ())
            each = time_in_a_block(dataclasses.replace(job, held=told_of), each) or each
            size = chunk or _chunk_of(each, self.members, workers, variables)
            held = Held(inputs, told, variables, size, ())
            store.begin(held)
        held, every = _added(store, held, values, self.design)
        job = Job(
            str(Path(store.folder).resolve()),
            held,
            self.scenario,
            places,
            every,
            reading,
            self.trajectories,
        )
        return job

    def _told(self) -> tuple[dict[str, Any], str]:
        """Return what the numbers depend on, in words, and its digest."""
        reading = Reading.of(self.keep)
        bare = dataclasses.replace(self.scenario, title="", paper="", figure="", note="")
        text = write_scenario(bare)
        # at their first values, so that the same fields of the same scenario are the same study
        told = {
            "title": self.title or self.scenario.title,
            "scenario": text,
            "fields": list(self.fields),
            "design": type(self.design).__name__,
            "keep": [*reading.names, *(_named(f) for f in reading.functions)],
            "trajectories": self.trajectories,
            "version": __version__,
            "code": code_digest(text),
            "kernels": mode(),
        }
        functions = [*_functions(bare), *reading.functions]
        prints = [repr(fingerprint(f)) for f in functions]
        counted = {key: value for key, value in told.items() if key != "title"}
        every = repr((sorted(counted.items()), prints))
        return told, hashlib.sha256(every.encode()).hexdigest()


def _scenario(sweep: Sweep) -> Scenario:
    """Return the scenario behind whatever a user gave."""
    given = sweep.scenario
    if isinstance(given, str | Path):
        found = read_scenario(given)
    elif isinstance(given, Scenario):
        found = given
    elif hasattr(given, "default_method") and not isinstance(given, type):
        if sweep.t_span is None:
            why = "a system alone does not say when a run ends."
            try_ = "for example t_span=(0.0, 8.0)."
            raise ScenarioError("Sweep.t_span", "nothing", "start and end", why, try_)
        start, end = sweep.t_span
        method = sweep.method or default_method(given)
        return Scenario(given, method, float(end), float(start))
    else:
        needs = "a name, a file, a Scenario or a system"
        why, try_ = "it is what the members have in common.", 'for example Sweep("slip-wave", ...).'
        raise ScenarioError("Sweep.scenario", repr(given), needs, why, try_)
    if sweep.t_span is not None:
        start, end = sweep.t_span
        found = dataclasses.replace(found, t_end=float(end), t_start=float(start))
    return found if sweep.method is None else dataclasses.replace(found, method=sweep.method)


def _try_ends(scenario: Scenario, places: Sequence[Place], values: Mapping[str, Array]) -> None:
    """Make, of each field, the systems of its extreme values: bad ones are refused at once."""
    size = len(next(iter(values.values())))
    first = [column[0] for column in values.values()]
    changed(scenario, places, first)
    for k, column in enumerate(values.values()):
        if column.dtype.kind in "OUb":
            tried = list({str(v): v for v in column}.values())[:_MOST_TRIED]
        else:
            tried = [column[int(np.argmin(column))], column[int(np.argmax(column))]]
        for value in tried if size > 1 else ():
            changed(scenario, places, [*first[:k], value, *first[k + 1 :]])


def _check_run(
    workers: int | None, engine: str, shard: tuple[int, int] | None, chunk: int | None
) -> None:
    if workers is not None:
        why, try_ = "it counts processes.", "leave it out for all cores."
        whole("workers", workers, least=1, most=4096, why=why, try_=try_)
    if chunk is not None:
        why, try_ = "it counts members.", "leave it out."
        whole("chunk", chunk, least=1, most=1_000_000, why=why, try_=try_)
    if engine not in ("local", "dask"):
        needs, why = '"local" or "dask"', "it says who solves the members."
        raise ScenarioError("engine", repr(engine), needs, why, 'take "local".')
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        got, needs = f"{shard[0]}/{shard[1]}", "i/n with i from 1 to n"
        why, try_ = "it is one of n parts of the work.", "for example 1/8."
        raise ScenarioError("shard", got, needs, why, try_)


def _chunk_of(each: float, members: int, workers: int | None, variables: Mapping[str, Any]) -> int:
    """Return how many members make a chunk: a second's work, several chunks for each worker."""
    crew = most_workers(workers, members)
    by_time = int(_CHUNK_S / max(each, 1e-6))
    by_share = -(-members // (_CHUNKS_EACH * crew))
    size = sum(8 * int(np.prod(v.shape, initial=1)) for v in variables.values())
    by_memory = _MOST_BYTES_OF_CHUNK // max(size, 1)
    return max(1, min(by_time, by_share, by_memory, _MOST_IN_CHUNK))


def _same_study(folder: Path, held: Held, told: Mapping[str, Any], inputs: str) -> None:
    """Refuse a folder that holds other numbers than these."""
    if held.inputs == inputs:
        return
    words = {
        "version": "another version of stiction",
        "code": "other code of stiction",
        "kernels": "kernels that round differently (compiled, plain)",
        "fields": "other fields",
        "keep": "other kept results",
        "design": "another design",
        "trajectories": "other trajectories",
        "scenario": "another scenario",
    }
    other = [text for key, text in words.items() if held.told.get(key) != told[key]]
    got = f"a study of {' and '.join(other) or 'another function'}"
    needs, why = "the same study, or no folder yet", "nothing is mixed in one study."
    raise StoreError(str(folder), got, needs, why, "give another folder with --out.")


def _added(
    store: Store, held: Held, values: Mapping[str, Array], design: Design
) -> tuple[Held, tuple[dict[str, Array], ...]]:
    """Return the manifest with the members that are new, and the columns of every batch."""
    every = [store.columns(held, k) for k in range(len(held.batches))]
    plain = {path: _written(column) for path, column in values.items()}
    if not every and len(plain) == 1 and all(c.dtype.kind in "fi" for c in plain.values()):
        # one field of a new study: the first of equal members, in order
        (only,) = plain.values()
        first = np.sort(np.unique(only, return_index=True)[1])
        held = store.add(_labelled(held, values), {p: c[first] for p, c in plain.items()})
        return held, (dict.fromkeys(plain, only[first]),)
    rows = list(zip(*(column.tolist() for column in plain.values()), strict=True))
    known = {row for old in every for row in zip(*(c.tolist() for c in old.values()), strict=True)}
    fresh = [k for k, row in enumerate(rows) if row not in known]
    if known and fresh and not design.extends:
        name = type(design).__name__
        got, needs = f"a {name} of other members", "the same one"
        why = f"members added to a {name} make no {name}."
        try_ = "take Sobol, which goes on, or give another folder with --out."
        raise StoreError(str(store.folder), got, needs, why, try_)
    if fresh:
        # of two equal members one is enough
        if len(set(rows)) < len(rows):
            seen: set[tuple[Any, ...]] = set()
            fresh = [k for k in fresh if not (rows[k] in seen or seen.add(rows[k]))]  # type: ignore[func-returns-value]
        held = store.add(_labelled(held, values), {p: c[fresh] for p, c in plain.items()})
        every.append(store.columns(held, len(held.batches) - 1))
    objects = {path: {str(v): v for v in c} for path, c in values.items() if c.dtype.kind == "O"}
    return held, tuple(_read_back(old, objects) for old in every)


def _labelled(held: Held, values: Mapping[str, Array]) -> Held:
    """Return the manifest with words for values that are no numbers, old ones first."""
    variables = dict(held.variables)
    for path, column in values.items():
        if column.dtype.kind in "UO":
            words = dict.fromkeys([*variables[path].labels, *labels_of(column)])
            variables[path] = dataclasses.replace(variables[path], labels=tuple(words))
    return dataclasses.replace(held, variables=variables)


def _written(column: Array) -> Array:
    """Return a column as files hold it: objects and lists as words."""
    return np.array([str(v) for v in column]) if column.dtype.kind == "O" else column


def _read_back(
    stored: Mapping[str, Array], objects: Mapping[str, Mapping[str, Any]]
) -> dict[str, Array]:
    """Return the columns of a batch with the objects that their words stand for."""
    found: dict[str, Array] = {}
    for path, column in stored.items():
        known = objects.get(path)
        if known is None:
            found[path] = column
            continue
        made = np.empty(len(column), dtype=object)
        for k, word in enumerate(column.tolist()):
            made[k] = known.get(word, word)
        found[path] = made
    return found


def _follow(
    job: Job,
    left: Sequence[int],
    found: Iterator[tuple[int, dict[str, int]]],
    progress: Callable[[Progress], object] | None,
) -> None:
    """Take in what the engine tells, and pass it on."""
    every = sum(b - a for a, b in map(job.held.span, left))
    total = job.held.members
    before = total - every
    done, doubtful = 0, {"failed": 0, "audit": 0, "determinism": 0}
    begin = clock.perf_counter()
    for _, counts in found:
        done += counts["members"]
        for kind in doubtful:
            doubtful[kind] += counts[kind]
        if progress is not None:
            rate = done / max(clock.perf_counter() - begin, 1e-9)
            progress(Progress(before + done, total, rate, dict(doubtful)))


def code_digest(scenario: str) -> str:
    """Return the SHA-256 of the code that numbers come from: all but commands and pictures.

    What other packages add to the scenario, a text in TOML, belongs to it.
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
    """Yield the user's functions that stand in the fields of an object."""
    if depth and dataclasses.is_dataclass(owner) and not isinstance(owner, type):
        for f in dataclasses.fields(owner):
            value = getattr(owner, f.name)
            if callable(value) and hasattr(value, "__code__"):
                yield value
            yield from _functions(value, depth - 1)
    elif depth and isinstance(owner, list | tuple):
        for value in owner:
            yield from _functions(value, depth - 1)


def _named(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
