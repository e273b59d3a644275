"""The folder of a study: description, results of the members, and records of complete chunks.

A member is one run of the study, a chunk is a group of members that are stored together, and a
batch is a set of members that were added by one call.

::

    study.json               the manifest: swept fields, saved results, digest of all inputs
    study.toml               the study as text, if it came from a file
    batches/0.npz            swept values of the members, one file for each batch
    members.zarr/            a zarr store (format 3): a folder for each variable
    done/000012.json         chunk 12 is complete: digests of its arrays, notes on invalid members

Each array of a chunk is written under a temporary name and renamed atomically; the completion
record is written last. A chunk without a record is solved again. An array is damaged if its digest
(SHA-256) differs from the one in the record.
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
    flush,
    regular_bytes,
    remove_stale,
    writing,
)
from stiction.errors import StoreError
from stiction.io.contents import STUDY
from stiction.io.digests import file_digest, read_sealed, sealed
from stiction.io.locks import Busy, Lock, acquire, in_use, locked_for
from stiction.studies.results import ABSENT

__all__ = ["Batch", "Manifest", "Note", "Store", "Stored", "is_study"]

Array = npt.NDArray[Any]

MEMBERS, DONE, BATCHES = "members.zarr", "done", "batches"
_RECORDS = "[0-9]*.json"


@dataclass(frozen=True)
class Stored:
    """One variable of the store.

    Parameters
    ----------
    shape : shape of the values of one member
    dims : names of the axes of `shape`
    dtype : type of the values: "float64", "int32", ...
    unit, meaning : unit and meaning of the values
    labels : text for each integer code, if the values are not numbers
    """

    shape: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: str
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def fill(self) -> float | int:
        """Value of entries without a member."""
        return float("nan") if self.dtype.startswith("float") else ABSENT


class Batch(NamedTuple):
    """A set of members that were added together.

    Parameters
    ----------
    members : number of members
    first : index of their first chunk
    digest : SHA-256 of the file of their swept values
    """

    members: int
    first: int
    digest: str


class Note(NamedTuple):
    """The reason why a member is invalid.

    Parameters
    ----------
    member : index of the member in the store, from 0
    kind : "failed", "audit" or "determinism"
    reason : message
    """

    member: int
    kind: str
    reason: str


@dataclass(frozen=True)
class Manifest:
    """The content of the manifest.

    Parameters
    ----------
    inputs : digest of everything on which the results depend
    description : what the digest covers, as text: scenario, fields, saved results, code
    variables : the stored variables by name
    chunk : number of members in a chunk
    batches : the batches of members in the order in which they were added
    """

    inputs: str
    description: Mapping[str, Any]
    variables: Mapping[str, Stored]
    chunk: int
    batches: tuple[Batch, ...]

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.batches[-1].first + self.chunks_of(self.batches[-1]) if self.batches else 0

    @property
    def members(self) -> int:
        """Number of members."""
        return sum(batch.members for batch in self.batches)

    def chunks_of(self, batch: Batch) -> int:
        """Return the number of chunks of a batch; the last one may be partly filled."""
        return -(-batch.members // self.chunk)

    def batch_of(self, chunk: int) -> int:
        """Return the index of the batch of a chunk."""
        return max(k for k, batch in enumerate(self.batches) if batch.first <= chunk)

    def span(self, chunk: int) -> tuple[int, int]:
        """Return the begin and the end of the members of a chunk within its batch."""
        batch = self.batches[self.batch_of(chunk)]
        begin = (chunk - batch.first) * self.chunk
        return begin, min(begin + self.chunk, batch.members)


def is_study(folder: str | Path) -> bool:
    """Return whether a folder holds a study."""
    return (Path(folder) / STUDY).is_file()


class Store:
    """The folder of a study, for reading and writing.

    Parameters
    ----------
    folder : path of the folder
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    # ---- the manifest

    def read(self) -> Manifest:
        """Return the manifest.

        Raises
        ------
        StoreError : if there is none, or it is damaged.

        Verified by: tests/unit/studies/test_store.py::test_damage_is_found
        """
        path = self.folder / STUDY
        try:
            content = read_sealed(path)
            return msgspec.convert(_renamed(content), Manifest)
        except FileNotFoundError as error:
            needs = f"the folder of a study (with {STUDY})"
            why, try_ = "the folder has no manifest.", "`stiction sweep FILE.toml` writes a study."
            raise StoreError(str(self.folder), "no study", needs, why, try_) from error
        except UNREADABLE as error:
            got, needs = f"a file that cannot be read ({error})", "the manifest of a study"
            why = "the manifest describes the results; it was damaged after it was written."
            try_ = "give another folder with --out; the chunks of this folder remain unchanged."
            raise StoreError(str(path), got, needs, why, try_) from error

    def begin(self, manifest: Manifest) -> Manifest:
        """Create the folder with a manifest without members; the manifest makes it a study.

        Shards of a new study may begin together. The manifest of the first one is returned to all.

        Verified by: tests/unit/studies/test_store.py::test_shards_that_begin_together
        """
        path = self.folder / STUDY
        with self._writing(), contextlib.suppress(FileExistsError), atomic_write(path) as partial:
            partial.write_bytes(_manifest_bytes(manifest))
            flush(partial)
            # a link, unlike a renamed file, does not replace a manifest
            try:
                os.link(partial, path)
            except OSError as error:
                # file systems without links rename the file
                if isinstance(error, FileExistsError):
                    raise
        return self.read()

    def add(self, manifest: Manifest, columns: Mapping[str, Array]) -> Manifest:
        """Append a batch of members; write and return the new manifest."""
        with self._writing():
            buffer = io.BytesIO()
            arrays: dict[str, Any] = {f"f{k}": v for k, v in enumerate(columns.values())}
            np.savez(buffer, **arrays)
            raw = buffer.getvalue()
            size = len(next(iter(columns.values())))
            batch = Batch(size, manifest.chunks, hashlib.sha256(raw).hexdigest())
            more = dataclasses.replace(manifest, batches=(*manifest.batches, batch))
            _put(self.folder / BATCHES / f"{len(manifest.batches)}.npz", raw)
            self._write_shapes(more)
            _put(self.folder / STUDY, _manifest_bytes(more), sync=True)
            return more

    def columns(self, manifest: Manifest, batch: int) -> dict[str, Array]:
        """Return {path: (members,) stored values} of a batch.

        Raises
        ------
        StoreError : if the file is damaged.
        """
        path = self.folder / BATCHES / f"{batch}.npz"
        try:
            raw = regular_bytes(path)
            if hashlib.sha256(raw).hexdigest() != manifest.batches[batch].digest:
                raise ValueError("the digest of the file differs from that in the manifest")
        except (OSError, ValueError) as error:
            got, needs = f"a file that cannot be read ({error})", "the swept values of the members"
            why, try_ = (
                "the file was damaged after it was written.",
                "give another folder with --out.",
            )
            raise StoreError(str(path), got, needs, why, try_) from error
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            return {path: file[f"f{k}"] for k, path in enumerate(manifest.description["fields"])}

    def _write_shapes(self, manifest: Manifest) -> None:
        """Write the zarr metadata: a file for each variable, and the consolidated metadata."""
        every = {name: _array_metadata(manifest, v) for name, v in manifest.variables.items()}
        for name, metadata in every.items():
            _put_json(self.folder / MEMBERS / name / "zarr.json", metadata)
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"title": manifest.description.get("title", "")},
            "consolidated_metadata": {
                "kind": "inline",
                "must_understand": False,
                "metadata": every,
            },
        }
        _put_json(self.folder / MEMBERS / "zarr.json", group)

    # ---- chunks

    def write_chunk(
        self, manifest: Manifest, chunk: int, arrays: Mapping[str, Array], notes: Sequence[Note]
    ) -> None:
        """Write the arrays of a chunk, then its completion record."""
        with self._writing():
            digests = {}
            for name, stored in manifest.variables.items():
                values = np.asarray(arrays[name]).astype(_little(stored.dtype))
                full = np.full((manifest.chunk, *stored.shape), stored.fill, values.dtype)
                full[: len(values)] = values
                raw = full.tobytes()
                digests[name] = hashlib.sha256(raw).hexdigest()
                _put(self._array_file(name, stored, chunk), raw)
            record = {"inputs": manifest.inputs, "chunk": chunk, "digests": digests, "notes": notes}
            _put(self._record(chunk), json.dumps(sealed(record)).encode("ascii"))

    def done(self, manifest: Manifest) -> dict[int, list[Note]]:
        """Return {chunk: notes} of the chunks that are complete and undamaged."""
        done: dict[int, list[Note]] = {}
        for path in sorted((self.folder / DONE).glob(_RECORDS)):
            with contextlib.suppress(*UNREADABLE):
                record = read_sealed(path)
                chunk, digests = record["chunk"], record["digests"]
                if record["inputs"] == manifest.inputs and 0 <= chunk < manifest.chunks:
                    arrays = {
                        n: self._array_file(n, v, chunk) for n, v in manifest.variables.items()
                    }
                    if all(file_digest(file) == digests[n] for n, file in arrays.items()):
                        done[chunk] = [Note(*note) for note in record["notes"]]
        return done

    def damaged(self, done: Mapping[int, object]) -> list[int]:
        """Return the chunks that have a completion record and are not in `done`."""
        names = (path.stem for path in (self.folder / DONE).glob(_RECORDS))
        return sorted(int(name) for name in names if name.isdigit() and int(name) not in done)

    def values(self, manifest: Manifest, name: str, chunks: Sequence[int]) -> Array:
        """Return the values (slots, ...) of a variable; every chunk has `manifest.chunk` slots."""
        stored = manifest.variables[name]
        size = manifest.chunk
        kind = _little(stored.dtype)
        made = np.full((manifest.chunks * size, *stored.shape), stored.fill, kind)
        for chunk in chunks:
            raw = regular_bytes(self._array_file(name, stored, chunk))
            array = np.frombuffer(raw, kind).reshape((size, *stored.shape))
            made[chunk * size : (chunk + 1) * size] = array
        return made

    def _array_file(self, name: str, stored: Stored, chunk: int) -> Path:
        """Return the file of a variable of one chunk, as zarr names it."""
        return self.folder / MEMBERS / name / ".".join([str(chunk), *("0" for _ in stored.shape)])

    def _record(self, chunk: int) -> Path:
        return self.folder / DONE / f"{chunk:06d}.json"

    # ---- one process at a time

    @contextlib.contextmanager
    def locked(self, shard: tuple[int, int] | None = None) -> Iterator[None]:
        """Lock this study, or one shard (i of n) of it, against other processes.

        Raises
        ------
        StoreError : if another process holds the lock; the message names the process.

        Verified by: tests/unit/studies/test_store.py::test_the_second_process_ends_at_once
        """
        folder = Path(os.path.abspath(self.folder))
        # other shards may be writing, so that only old temporary files are removed
        age = 0.0 if shard is None else STALE_S
        with contextlib.ExitStack() as ended:
            with self._writing():
                ended.enter_context(locked_for(folder, partial(self._lock, folder, shard)))
            remove_stale(folder.rglob(".*.part"), age)
            yield
            # a worker that was killed leaves temporary files
            remove_stale(folder.rglob(".*.part"), age)

    def _lock(self, folder: Path, shard: tuple[int, int] | None) -> Lock:
        """Return the lock of the study, or of a shard, unless a lock of the other kind is held."""
        own = folder.with_name(f".{folder.name}.lock")
        if shard is None:
            for other in folder.parent.glob(f".{glob.escape(folder.name)}.shard-*.lock"):
                if in_use(other):
                    raise self._busy(f"a shard ({other.name})")
        else:
            if in_use(own):
                raise self._busy("a process that solves the whole study")
            own = own.with_name(f".{folder.name}.shard-{shard[0]}-of-{shard[1]}.lock")
        try:
            return acquire(own)
        except Busy as busy:
            raise self._busy(busy.holder) from busy

    def _busy(self, who: str) -> StoreError:
        got, needs = f"a study that is in use by {who}", "a study that no other process solves"
        why = "two processes would solve the same members."
        try_ = "wait, give another folder with --out, or divide the work by --shard i/n."
        return StoreError(str(self.folder), got, needs, why, try_)

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        needs, why = "a folder that can be written", "the members are saved in this folder."
        try_ = "free space on the disk; the same command continues. Or give another --out."
        return writing(self.folder, needs, why, try_)


def _renamed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a manifest, with names of earlier versions replaced.

    Verified by: tests/unit/studies/test_store.py::test_manifests_with_earlier_names_are_read
    """
    description = dict(content.get("description", content.get("told", {})))
    if "keep" in description:
        description["results"] = description.pop("keep")
    return {**content, "description": description}


def _put(path: Path, raw: bytes, *, sync: bool = False) -> None:
    """Write a file atomically."""
    with atomic_write(path, sync=sync) as partial:
        partial.write_bytes(raw)


def _put_json(path: Path, content: Mapping[str, Any]) -> None:
    _put(path, json.dumps(content, indent=1).encode("ascii"))


def _manifest_bytes(manifest: Manifest) -> bytes:
    content = sealed({"format": 1, **msgspec.to_builtins(manifest)})
    return json.dumps(content, indent=1).encode("ascii")


def _little(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype).newbyteorder("<")


def _array_metadata(manifest: Manifest, stored: Stored) -> dict[str, Any]:
    """Return the metadata of a variable in zarr format 3; a chunk of zarr is one of the study."""
    attributes: dict[str, Any] = {"units": stored.unit, "long_name": stored.meaning}
    if stored.labels:
        attributes["flag_values"] = list(range(len(stored.labels)))
        attributes["flag_meanings"] = " ".join(label.replace(" ", "_") for label in stored.labels)
    floating = stored.dtype.startswith("float")
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [manifest.chunks * manifest.chunk, *stored.shape],
        "data_type": stored.dtype,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": [manifest.chunk, *(max(n, 1) for n in stored.shape)]},
        },
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": "NaN" if floating else stored.fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": ["member", *stored.dims],
    }
