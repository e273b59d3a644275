"""A study that is stored in a folder, complete or not: its results, invalid members and summary.

`Sweep.run` returns it, and `Study(folder)` opens it again. The results of all members are available
as arrays (`table`) and as one xarray dataset (`data`).
"""

from __future__ import annotations

import functools
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ScenarioError, StoreError
from stiction.studies.results import ABSENT, STANDARD, STATUSES, without_run
from stiction.studies.store import Manifest, Note, Store

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Study", "screen", "table_of", "verified"]

Array = npt.NDArray[Any]

_WIDTH = 92
_MOST_REASONS = 4
_KINDS = {
    "failed": "failed",
    "audit": "failed their audit",
    "determinism": "lost determinism",
}


class Study:
    """A study in a folder.

    Parameters
    ----------
    folder : path of the folder

    Raises
    ------
    StoreError : if the folder has no study, or its manifest is damaged.

    Verified by: tests/unit/studies/test_sweep.py::test_same_as_single_runs
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._store = Store(self.folder)
        self.manifest: Manifest = self._store.read()
        self.done: dict[int, list[Note]] = self._store.done(self.manifest)
        self.damaged: list[int] = self._store.damaged(self.done)

    @property
    def fields(self) -> tuple[str, ...]:
        """Paths of the swept fields."""
        return tuple(self.manifest.description["fields"])

    @property
    def title(self) -> str:
        """Title, one line."""
        return str(self.manifest.description.get("title", ""))

    @property
    def members(self) -> int:
        """Number of members, solved or not."""
        return self.manifest.members

    @property
    def solved(self) -> int:
        """Number of members that are done, whatever their status."""
        return sum(b - a for a, b in map(self.manifest.span, self.done))

    @property
    def complete(self) -> bool:
        """Whether every member is done."""
        return 0 < len(self.done) == self.manifest.chunks

    @functools.cached_property
    def table(self) -> dict[str, Array]:
        """Every variable as an array over the members, {name: (members, ...)}.

        Members that are not done yet have NaN, and the status -1.
        """
        slots = self._slots()
        table = {}
        for name in self.manifest.variables:
            values = self._store.values(self.manifest, name, list(self.done))[slots]
            table[name] = values
        # swept values are known before a member is solved
        batches = self._batches()
        for path in self.fields if batches else ():
            table[path] = np.concatenate([columns[path] for columns in batches])
        return table

    @functools.cached_property
    def data(self) -> xr.Dataset:
        """All members as one xarray dataset with the swept fields as coordinates.

        If the members form a grid, the axes are the swept fields; otherwise the axis is `member`,
        numbered from 0. A field with the name of another axis, such as `mass`, is `swept mass`.
        """
        import xarray as xr

        table = self.table
        variables: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        axes = self._grid(table)
        inner = {dim for stored in self.manifest.variables.values() for dim in stored.dims}
        names = {path: f"swept {path}" if path in inner else path for path in self.fields}
        if axes is None:
            front: tuple[str, ...] = ("member",)
            for path in self.fields:
                coords[names[path]] = (front, table[path], self._attributes(path))
        else:
            front = tuple(names.values())
            for path, (values, _) in axes.items():
                coords[names[path]] = ((names[path],), values, self._attributes(path))
        for name, stored in self.manifest.variables.items():
            if name in self.fields:
                continue
            values = table[name]
            if axes is not None:
                shape = tuple(len(v) for v, _ in axes.values())
                full = np.full((*shape, *stored.shape), stored.fill, values.dtype)
                full[tuple(place for _, place in axes.values())] = values
                values = full
            variables[name] = ((*front, *stored.dims), values, self._attributes(name))
        attributes = {"title": self.title, "stiction": self.manifest.description["version"]}
        return xr.Dataset(variables, coords=coords, attrs=attributes)

    @functools.cached_property
    def notes(self) -> list[Note]:
        """Notes on invalid members; members are numbered from 0."""
        place = {int(slot): k for k, slot in enumerate(self._slots())}
        every = (note for notes in self.done.values() for note in notes)
        notes = [Note(place[n.member], n.kind, n.reason) for n in every if n.member in place]
        return sorted(notes, key=lambda n: (n.member, n.kind))

    @functools.cached_property
    def failures(self) -> pd.DataFrame:
        """The invalid members: number from 0, swept values, kind and reason."""
        import pandas as pd

        members = [n.member for n in self.notes]
        made: dict[str, Any] = {"member": members}
        for path in self.fields:
            made[path] = self.table[path][members]
        made["kind"] = [n.kind for n in self.notes]
        made["reason"] = [n.reason for n in self.notes]
        return pd.DataFrame(made)

    def counts(self) -> dict[str, int]:
        """Return the numbers of members that failed, failed their audit, or lost determinism."""
        kinds = Counter(kind for kind, _ in {(n.kind, n.member) for n in self.notes})
        return {kind: kinds[kind] for kind in _KINDS}

    def run(self, member: int) -> Any:
        """Solve one member again and return its run.

        Parameters
        ----------
        member : number of the member, from 0, as in `failures`
        """
        from stiction.io.scenario import read_scenario
        from stiction.studies.fields import changed, place_of

        scenario = read_scenario(str(self.manifest.description["scenario"]))
        places = [place_of(scenario, path) for path in self.fields]
        values = [self.table[path][member] for path in self.fields]
        try:
            made = changed(scenario, places, values)
        except ScenarioError as error:
            if not any(self.manifest.variables[path].labels for path in self.fields):
                raise
            needs, why = "numbers or words", "objects and lists are stored by their text alone."
            try_ = "solve the scenario with this value."
            raise ScenarioError("Study.run", repr(values), needs, why, try_) from error
        return made.solve(throw=False)

    @property
    def plot(self) -> Any:
        """Figures of this study: `study.plot.map("stop_time")` and others."""
        from stiction.studies.figures import StudyFigures

        return StudyFigures(self)

    def animate(self, path: str | Path | None = None, **looks: Any) -> Any:
        """Return a player that varies a swept field, or write an animation and return its path.

        Parameters
        ----------
        path : ends in .html, .gif or .mp4; None for a player, which a notebook shows
        looks : options of `study.plot.animate`, such as `seconds`
        """
        return self.plot.player(**looks) if path is None else self.plot.animate(path, **looks)

    def __str__(self) -> str:
        """Return the one-screen summary."""
        return screen(self)

    def __repr__(self) -> str:
        """Return one line: swept fields, members done, invalid members."""
        parts = [f"{self.solved:,} of {self.members:,} members"]
        parts += [f"{n:,} {_KINDS[kind]}" for kind, n in self.counts().items() if n]
        return f"<Study of {', '.join(self.fields)}: {', '.join(parts)}>"

    def _batches(self) -> list[dict[str, Array]]:
        """Return {path: swept values} of every batch; StoreError if a file of them is damaged."""
        count = len(self.manifest.batches)
        return [self._store.columns(self.manifest, k) for k in range(count)]

    def _slots(self) -> Array:
        """Return (members,) indices of the members in the store."""
        size = self.manifest.chunk
        parts = [np.arange(b.members) + b.first * size for b in self.manifest.batches]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _grid(self, table: dict[str, Array]) -> dict[str, tuple[Array, Array]] | None:
        """Return {field: (distinct values, index of each member)}; None if there is no grid."""
        if self.manifest.description["design"] != "Grid":
            return None
        axes = {p: np.unique(table[p], return_inverse=True) for p in self.fields}
        cells = int(np.prod([len(v) for v, _ in axes.values()]))
        # added members may leave empty cells; a mostly empty grid is shown as a list of members
        return axes if cells <= 4 * self.members else None

    def _attributes(self, name: str) -> dict[str, Any]:
        """Return unit and meaning of a variable as attributes of xarray."""
        stored = self.manifest.variables[name]
        attributes: dict[str, Any] = {"units": stored.unit, "long_name": stored.meaning}
        if name == "status":
            attributes["flag_values"] = list(range(len(STATUSES)))
            attributes["flag_meanings"] = " ".join(STATUSES)
        return attributes


def screen(study: Study) -> str:
    """Return the one-screen summary of a study.

    Verified by: tests/unit/studies/test_show.py::test_the_summary_is_complete
    """
    inputs = study.manifest.description
    lines = [f"Study: {study.title or 'many runs'}", ""]
    lines += [_line("members", _members(study))]
    for path in study.fields:
        lines.append(_line(path, _swept(study.table[path])))
    status = study.table["status"]
    for code, count in sorted(Counter(status.tolist()).items(), key=lambda pair: -pair[1]):
        word = "not done" if code == ABSENT else STATUSES[code]
        lines.append(_line("ended" if code != ABSENT else "left", f"{count:,} {word}"))
    for name, stored in study.manifest.variables.items():
        if name in study.fields or (name in STANDARD and name not in ("events", "imbalance")):
            continue
        if stored.dims and stored.dims[0] == "row":
            continue
        lines.append(_line(name, _spread(study.table[name], status, stored.unit)))
    lines += _invalid(study)
    if study.damaged:
        text = f"{len(study.damaged)} chunks were changed; the same sweep solves them again"
        lines.append(_line("DAMAGED", text))
    lines.append(
        _line(
            "code",
            f"stiction {inputs['version']}, {inputs['code'][:12]}, {inputs['kernels']} kernels",
        )
    )
    return "\n".join(lines)


def table_of(study: Study) -> dict[str, object]:
    """Return the content of the summary as plain values, for JSON.

    Verified by: tests/scenarios/test_json.py::test_a_study
    """
    status = Counter(study.table["status"].tolist())
    words = {"not done" if c == ABSENT else STATUSES[c]: n for c, n in sorted(status.items())}
    results = {}
    for name, stored in study.manifest.variables.items():
        values = study.table[name]
        single = values.ndim == 1 and values.dtype.kind in "fiub" and name not in study.fields
        solved = study.table["status"] != ABSENT
        known = np.asarray(values[solved], float) if single else values[:0]
        if single and (known := known[np.isfinite(known)]).size:
            low, middle, high = float(known.min()), float(np.median(known)), float(known.max())
            spread = {"least": low, "median": middle, "largest": high}
            results[name] = {"unit": stored.unit, "members": int(known.size), **spread}
    return {
        "folder": str(study.folder),
        "title": study.title,
        "members": study.members,
        "done": study.solved,
        "complete": study.complete,
        "status": words,
        "invalid": study.counts(),
        "damaged_chunks": list(study.damaged),
        "fields": {path: np.unique(study.table[path]).tolist() for path in study.fields},
        "results": results,
    }


def _members(study: Study) -> str:
    if study.complete:
        return f"{study.members:,}, all done"
    return f"{study.members:,}, {study.solved:,} done: the same sweep continues with the others"


def _swept(values: Array) -> str:
    """Return the text of the values of a swept field: all of at most six, else the ends."""
    distinct = np.unique(values)
    if len(distinct) <= 6:
        return ", ".join(f"{v:.6g}" if values.dtype.kind in "fiu" else str(v) for v in distinct)
    if values.dtype.kind in "fiu":
        return f"{distinct[0]:.6g} ... {distinct[-1]:.6g}, {len(distinct):,} values"
    return f"{len(distinct)} values, such as {distinct[0]}"


def _spread(values: Array, status: Array, unit: str) -> str:
    """Return the text "lowest ... highest unit, median" of a result over the members."""
    known = np.asarray(values[~without_run(status)], dtype=np.float64)
    known = known[np.isfinite(known)]
    if not known.size:
        return "none"
    unit = "" if unit in ("", "1") else f" {unit}"
    low, middle, high = known.min(), np.median(known), known.max()
    return f"{low:.6g} ... {high:.6g}{unit}, median {middle:.6g}"


def _invalid(study: Study) -> list[str]:
    """Return the lines of the summary on invalid members, and their most frequent reasons."""
    counts = study.counts()
    if not any(counts.values()):
        return [_line("trust", "no member failed, failed its audit, or lost determinism")]
    lines = []
    for kind, count in counts.items():
        if not count:
            continue
        lines.append(_line(kind.upper(), f"{count:,} {_KINDS[kind]}"))
        words = Counter(
            n.reason.partition(" at ")[0].partition(" (limit")[0]
            for n in study.notes
            if n.kind == kind
        )
        shorter: Counter[str] = Counter()
        for reason, n in words.items():
            shorter[reason.rpartition(" ")[0] if kind == "audit" else reason] += n
        for reason, n in shorter.most_common(_MOST_REASONS):
            lines.append(textwrap.shorten(f"  {n:,} times {reason}", _WIDTH, placeholder="..."))
    return lines


def _line(label: str, text: str) -> str:
    return textwrap.shorten(text, _WIDTH - 24, placeholder="...").join([f"{label:<24}", ""])


def verified(folder: str | Path) -> tuple[int, str]:
    """Return the exit code and the line of `stiction verify` for a study: 0 valid, 2 damaged."""
    try:
        study = Study(folder)
        study._batches()
    except StoreError as error:
        return 2, f"DAMAGED      {folder}: {str(error).partition(chr(10))[0]}"
    if study.damaged:
        words = ", ".join(str(k) for k in study.damaged[:5])
        return 2, f"DAMAGED      {folder}: chunks {words} were changed after they were saved"
    return 0, f"valid        {folder}  {study.solved:,} of {study.members:,} members"
