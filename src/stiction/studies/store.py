"""The folder of a study: a manifest, a zarr store that grows by chunks, and marks of what is done.

::

    study.json               what is swept and kept, and the digest of everything that counts
    study.toml               the study as text, where it came from a file
    batches/0.npz            swept values of the members, one file for each time some were added
    members.zarr/            a zarr store (format 3): a folder for each variable
    done/000012.json         chunk 12 is complete; digests of its pieces, and doubtful members

A chunk is written piece by piece under hidden names, each piece takes its name in one step, and
the mark comes last. So a chunk without a mark was never begun, or is begun again; and a piece that
does not fit the digest in the mark is damage.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stiction.core.files import (
    STALE_S,
    UNREADABLE,
    atomic_write,
    regular_bytes,
    remove_stale,
    writing,
)
from stiction.errors import StoreError
from stiction.io.digests import file_digest, read_sealed, sealed
from stiction.io.locks import Busy, Lock, held_for, in_use, take
from stiction.studies.keep import ABSENT

__all__ = ["MANIFEST", "Batch", "Held", "Note", "Store", "Stored", "is_study"]

Array = npt.NDArray[Any]

MANIFEST = "study.json"
MEMBERS, DONE, BATCHES = "members.zarr", "done", "batches"
_MARKS = "[0-9]*.json"


@dataclass(frozen=True)
class Stored:
    """One variable of the store.

    Parameters
    ----------
    shape : of one member
    dims : names of these axes
    dtype : "float64", "int32", ...
    unit, meaning : what it is
    labels : words behind whole numbers, for values that are no numbers
    """

    shape: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: str
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def fill(self) -> float | int:
        """What stands where no member is."""
        return float("nan") if self.dtype.startswith("float") else ABSENT


class Batch(NamedTuple):
    """Members that were added together.

    Parameters
    ----------
    members : how many
    first : the first of their chunks
    digest : SHA-256 of the file of their values
    """

    members: int
    first: int
    digest: str


class Note(NamedTuple):
    """Why a member is not to be trusted.

    Parameters
    ----------
    member : its place in the store, from 0
    kind : "failed", "audit" or "determinism"
    reason : in words
    """

    member: int
    kind: str
    reason: str


@dataclass(frozen=True)
class Held:
    """The content of the manifest.

    Parameters
    ----------
    inputs : digest of all that the numbers depend on
    told : what the digest was made of, in words: scenario, fields, kept results, code
    variables : what is stored, by name
    chunk : members in a chunk
    batches : members that were added together
    """

    inputs: str
    told: Mapping[str, Any]
    variables: Mapping[str, Stored]
    chunk: int
    batches: tuple[Batch, ...]

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return self.batches[-1].first + self.chunks_of(self.batches[-1]) if self.batches else 0

    @property
    def members(self) -> int:
        """How many members there are."""
        return sum(batch.members for batch in self.batches)

    def chunks_of(self, batch: Batch) -> int:
        """Return the number of chunks of a batch; its last one may have room to spare."""
        return -(-batch.members // self.chunk)

    def batch_of(self, chunk: int) -> int:
        """Return the place of the batch that a chunk belongs to."""
        return max(k for k, batch in enumerate(self.batches) if batch.first <= chunk)

    def span(self, chunk: int) -> tuple[int, int]:
        """Return the members of a chunk within its batch."""
        batch = self.batches[self.batch_of(chunk)]
        begin = (chunk - batch.first) * self.chunk
        return begin, min(begin + self.chunk, batch.members)


def is_study(folder: str | Path) -> bool:
    """Return whether a folder holds a study."""
    return (Path(folder) / MANIFEST).is_file()


class Store:
    """The folder of a study, for reading and writing.

    Parameters
    ----------
    folder : where it lies
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    # ---- the manifest

    def read(self) -> Held:
        """Return the manifest.

        Raises
        ------
        StoreError : if there is none, or it is damaged.

        Verified by: tests/unit/studies/test_store.py::test_damage_is_found
        """
        path = self.folder / MANIFEST
        try:
            return msgspec.convert(read_sealed(path), Held)
        except FileNotFoundError as error:
            needs, why = f"the folder of a study (with {MANIFEST})", "there is no study in it."
            try_ = "`stiction sweep FILE.toml` makes one."
            raise StoreError(str(self.folder), "no study", needs, why, try_) from error
        except UNREADABLE as error:
            got, needs = f"a file that cannot be read ({error})", "the manifest of a study"
            why = "it says what the numbers are, and was changed since it was written."
            try_ = "give another folder with --out; the chunks of this one stay as they are."
            raise StoreError(str(path), got, needs, why, try_) from error

    def begin(self, held: Held) -> None:
        """Make the folder, with the manifest of no members: a folder without one is no study."""
        with self._writing():
            self._write_manifest(held)

    def add(self, held: Held, columns: Mapping[str, Array]) -> Held:
        """Return the manifest with one more batch of members, as it is written."""
        with self._writing():
            buffer = io.BytesIO()
            arrays: dict[str, Any] = {f"f{k}": v for k, v in enumerate(columns.values())}
            np.savez(buffer, **arrays)
            raw = buffer.getvalue()
            size = len(next(iter(columns.values())))
            batch = Batch(size, held.chunks, hashlib.sha256(raw).hexdigest())
            more = dataclasses.replace(held, batches=(*held.batches, batch))
            _put(self.folder / BATCHES / f"{len(held.batches)}.npz", raw)
            self._write_shapes(more)
            self._write_manifest(more)
            return more

    def columns(self, held: Held, batch: int) -> dict[str, Array]:
        """Return {path: (members,) stored values} of a batch.

        Raises
        ------
        StoreError : if the file is damaged.
        """
        path = self.folder / BATCHES / f"{batch}.npz"
        try:
            raw = regular_bytes(path)
            if hashlib.sha256(raw).hexdigest() != held.batches[batch].digest:
                raise ValueError("another digest")
        except (OSError, ValueError) as error:
            got, needs = f"a file that cannot be read ({error})", "the swept values of the members"
            why, try_ = "it was changed since it was written.", "give another folder with --out."
            raise StoreError(str(path), got, needs, why, try_) from error
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            return {path: file[f"f{k}"] for k, path in enumerate(held.told["fields"])}

    def _write_manifest(self, held: Held) -> None:
        content = sealed({"format": 1, **msgspec.to_builtins(held)})
        _put_json(self.folder / MANIFEST, content, sync=True)

    def _write_shapes(self, held: Held) -> None:
        """Write the metadata of zarr: one file for each variable, and all of them for the group."""
        every = {name: _array_metadata(held, v) for name, v in held.variables.items()}
        for name, metadata in every.items():
            _put_json(self.folder / MEMBERS / name / "zarr.json", metadata)
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"title": held.told.get("title", "")},
            "consolidated_metadata": {
                "kind": "inline",
                "must_understand": False,
                "metadata": every,
            },
        }
        _put_json(self.folder / MEMBERS / "zarr.json", group)

    # ---- chunks

    def write_chunk(
        self, held: Held, chunk: int, arrays: Mapping[str, Array], notes: Sequence[Note]
    ) -> None:
        """Put the members of a chunk in place, and mark it done."""
        with self._writing():
            digests = {}
            for name, stored in held.variables.items():
                values = np.asarray(arrays[name]).astype(_little(stored.dtype))
                full = np.full((held.chunk, *stored.shape), stored.fill, values.dtype)
                full[: len(values)] = values
                raw = full.tobytes()
                digests[name] = hashlib.sha256(raw).hexdigest()
                _put(self._piece(name, stored, chunk), raw)
            told = {"inputs": held.inputs, "chunk": chunk, "digests": digests, "notes": notes}
            _put(self._mark(chunk), json.dumps(sealed(told)).encode("ascii"))

    def done(self, held: Held) -> dict[int, list[Note]]:
        """Return {chunk: notes} of what is complete and as it was written."""
        found: dict[int, list[Note]] = {}
        for mark in sorted((self.folder / DONE).glob(_MARKS)):
            with contextlib.suppress(*UNREADABLE):
                told = read_sealed(mark)
                chunk, digests = told["chunk"], told["digests"]
                if told["inputs"] == held.inputs and 0 <= chunk < held.chunks:
                    pieces = {n: self._piece(n, v, chunk) for n, v in held.variables.items()}
                    if all(file_digest(path) == digests[n] for n, path in pieces.items()):
                        found[chunk] = [Note(*note) for note in told["notes"]]
        return found

    def damaged(self, done: Mapping[int, object]) -> list[int]:
        """Return the chunks that have a mark and are not among those that are done."""
        names = (mark.stem for mark in (self.folder / DONE).glob(_MARKS))
        return sorted(int(name) for name in names if name.isdigit() and int(name) not in done)

    def values(self, held: Held, name: str, chunks: Sequence[int]) -> Array:
        """Return (slots, ...) of a variable: every chunk has `held.chunk` slots."""
        stored = held.variables[name]
        size = held.chunk
        kind = _little(stored.dtype)
        made = np.full((held.chunks * size, *stored.shape), stored.fill, kind)
        for chunk in chunks:
            raw = regular_bytes(self._piece(name, stored, chunk))
            piece = np.frombuffer(raw, kind).reshape((size, *stored.shape))
            made[chunk * size : (chunk + 1) * size] = piece
        return made

    def _piece(self, name: str, stored: Stored, chunk: int) -> Path:
        return self.folder / MEMBERS / name / ".".join([str(chunk), *("0" for _ in stored.shape)])

    def _mark(self, chunk: int) -> Path:
        return self.folder / DONE / f"{chunk:06d}.json"

    # ---- one process at a time

    @contextlib.contextmanager
    def claimed(self, shard: tuple[int, int] | None = None) -> Iterator[None]:
        """Keep other processes from filling this study, or this shard of it.

        Raises
        ------
        StoreError : if another process does; the message names it.

        Verified by: tests/unit/studies/test_store.py::test_the_second_process_ends_at_once
        """
        folder = Path(os.path.abspath(self.folder))
        # of other shards nobody knows here whether they are being written
        age = 0.0 if shard is None else STALE_S
        with contextlib.ExitStack() as ended:
            with self._writing():
                ended.enter_context(held_for(folder, partial(self._taken, folder, shard)))
            remove_stale(folder.rglob(".*.part"), age)
            yield
            # a worker that was killed leaves what it was writing
            remove_stale(folder.rglob(".*.part"), age)

    def _taken(self, folder: Path, shard: tuple[int, int] | None) -> Lock:
        """Return the lock of the study, or of a shard, unless the other kind is held."""
        own = folder.with_name(f".{folder.name}.lock")
        if shard is None:
            for other in folder.parent.glob(f".{glob.escape(folder.name)}.shard-*.lock"):
                if in_use(other):
                    raise self._busy(f"a shard ({other.name})")
        else:
            if in_use(own):
                raise self._busy("a process that fills all of it")
            own = own.with_name(f".{folder.name}.shard-{shard[0]}-of-{shard[1]}.lock")
        try:
            return take(own)
        except Busy as busy:
            raise self._busy(busy.holder) from busy

    def _busy(self, who: str) -> StoreError:
        got, needs = f"a study that is being filled by {who}", "one that no other process fills"
        why = "two processes would do the same work twice."
        try_ = "wait, give another folder with --out, or share the work with --shard i/n."
        return StoreError(str(self.folder), got, needs, why, try_)

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        needs, why = "a folder that can be written", "the members are kept there."
        try_ = "make room or give another folder with --out; "
        return writing(
            self.folder, needs, why, f"{try_}the same command goes on with what is done."
        )


def _put(path: Path, raw: bytes, *, sync: bool = False) -> None:
    """Write a file that is complete or not there."""
    with atomic_write(path, sync=sync) as fresh:
        fresh.write_bytes(raw)


def _put_json(path: Path, content: Mapping[str, Any], *, sync: bool = False) -> None:
    _put(path, json.dumps(content, indent=1).encode("ascii"), sync=sync)


def _little(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype).newbyteorder("<")


def _array_metadata(held: Held, stored: Stored) -> dict[str, Any]:
    attributes: dict[str, Any] = {"units": stored.unit, "long_name": stored.meaning}
    if stored.labels:
        attributes["flag_values"] = list(range(len(stored.labels)))
        attributes["flag_meanings"] = " ".join(label.replace(" ", "_") for label in stored.labels)
    floating = stored.dtype.startswith("float")
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [held.chunks * held.chunk, *stored.shape],
        "data_type": stored.dtype,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": [held.chunk, *(max(n, 1) for n in stored.shape)]},
        },
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": "NaN" if floating else stored.fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": ["member", *stored.dims],
    }
