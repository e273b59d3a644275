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
import hashlib
import io
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import StoreError
from stiction.io.digests import DIGEST, digest_of, regular_bytes
from stiction.io.locks import Busy, Lock, in_use, take
from stiction.studies.keep import ABSENT

__all__ = ["MANIFEST", "Batch", "Held", "Note", "Store", "Stored", "is_study"]

Array = npt.NDArray[Any]

MANIFEST = "study.json"
MEMBERS, DONE, BATCHES = "members.zarr", "done", "batches"
_STALE_S = 3600.0


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


@dataclass(frozen=True)
class Batch:
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


@dataclass(frozen=True)
class Note:
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
            told = json.loads(regular_bytes(path))
            if told[DIGEST] != digest_of(told):
                raise ValueError("another digest")
            return _held(told)
        except FileNotFoundError as error:
            needs, why = f"the folder of a study (with {MANIFEST})", "there is no study in it."
            try_ = "`stiction sweep FILE.toml` makes one."
            raise StoreError(str(self.folder), "no study", needs, why, try_) from error
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            got, needs = f"a file that cannot be read ({error})", "the manifest of a study"
            why = "it says what the numbers are, and was changed since it was written."
            try_ = "give another folder with --out; the chunks of this one stay as they are."
            raise StoreError(str(path), got, needs, why, try_) from error

    def begin(self, held: Held) -> None:
        """Make the folder, unless another process just did."""
        with self._writing():
            for name in (MEMBERS, DONE, BATCHES):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            self._write_manifest(held)

    def add(self, held: Held, columns: Mapping[str, Array]) -> Held:
        """Return the manifest with one more batch of members, as it is written."""
        with self._writing():
            (self.folder / BATCHES).mkdir(parents=True, exist_ok=True)
            buffer = io.BytesIO()
            arrays: dict[str, Any] = {f"f{k}": v for k, v in enumerate(columns.values())}
            np.savez(buffer, **arrays)
            raw = buffer.getvalue()
            size = len(next(iter(columns.values())))
            batch = Batch(size, held.chunks, hashlib.sha256(raw).hexdigest())
            more = Held(held.inputs, held.told, held.variables, held.chunk, (*held.batches, batch))
            _put(self.folder / BATCHES / f"{len(held.batches)}.npz", raw)
            for name in (MEMBERS, DONE):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
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
        told = _told(held)
        text = json.dumps({**told, DIGEST: digest_of(told)}, indent=1)
        _put(self.folder / MANIFEST, text.encode("ascii"), sync=True)

    def _write_shapes(self, held: Held) -> None:
        """Write the metadata of zarr: one file for each variable, and all of them for the group."""
        every = {}
        for name, stored in held.variables.items():
            every[name] = _array_metadata(held, stored)
            (self.folder / MEMBERS / name).mkdir(parents=True, exist_ok=True)
            text = json.dumps(every[name], indent=1)
            _put(self.folder / MEMBERS / name / "zarr.json", text.encode("ascii"))
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
        text = json.dumps(group, indent=1)
        _put(self.folder / MEMBERS / "zarr.json", text.encode("ascii"))

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
            told = {
                "inputs": held.inputs,
                "chunk": chunk,
                "digests": digests,
                "notes": [[n.member, n.kind, n.reason] for n in notes],
            }
            text = json.dumps({**told, DIGEST: digest_of(told)})
            _put(self._mark(chunk), text.encode("ascii"))

    def done(self, held: Held, *, verify: bool = False) -> dict[int, list[Note]]:
        """Return {chunk: notes} of what is complete.

        Parameters
        ----------
        verify : read all pieces, too, and leave out chunks that were damaged
        """
        found: dict[int, list[Note]] = {}
        with contextlib.suppress(OSError):
            for entry in sorted(os.listdir(self.folder / DONE)):
                if entry.endswith(".json") and not entry.startswith("."):
                    told = self._told_by(held, self.folder / DONE / entry)
                    if told is None or (verify and not self._pieces_fit(held, told)):
                        continue
                    found[int(told["chunk"])] = [Note(*note) for note in told["notes"]]
        return found

    def damaged(self, held: Held) -> list[int]:
        """Return the chunks that have a mark and are not what was written."""
        whole = self.done(held, verify=True)
        names = (p.stem for p in (self.folder / DONE).glob("[0-9]*.json"))
        return sorted(int(name) for name in names if name.isdigit() and int(name) not in whole)

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

    def _told_by(self, held: Held, mark: Path) -> dict[str, Any] | None:
        """Return what a mark says; None if it is damaged or of another study."""
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            told: dict[str, Any] = json.loads(regular_bytes(mark))
            fits = told["inputs"] == held.inputs and told[DIGEST] == digest_of(told)
            if fits and 0 <= told["chunk"] < held.chunks:
                return told
        return None

    def _pieces_fit(self, held: Held, told: Mapping[str, Any]) -> bool:
        for name, stored in held.variables.items():
            try:
                raw = regular_bytes(self._piece(name, stored, told["chunk"]))
            except OSError:
                return False
            if hashlib.sha256(raw).hexdigest() != told["digests"].get(name):
                return False
        return True

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
        made = [p for p in reversed(folder.parents) if not p.exists()]
        with contextlib.ExitStack() as ended:
            with self._writing():
                folder.parent.mkdir(parents=True, exist_ok=True)
                ended.callback(_remove_empty, made)
                whole = folder.with_name(f".{folder.name}.lock")
                if shard is None:
                    for other in folder.parent.glob(f".{folder.name}.shard-*.lock"):
                        if in_use(other):
                            raise self._busy(f"a shard ({other.name})")
                    lock = self._taken(whole)
                else:
                    if whole.exists() and in_use(whole):
                        raise self._busy("a process that fills all of it")
                    name = f".{folder.name}.shard-{shard[0]}-of-{shard[1]}.lock"
                    lock = self._taken(folder.with_name(name))
            ended.callback(lock.release)
            self._remove_stale(0.0 if shard is None else _STALE_S)
            yield
            # a worker that was killed leaves what it was writing
            self._remove_stale(0.0 if shard is None else _STALE_S)

    def _taken(self, path: Path) -> Lock:
        try:
            return take(path)
        except Busy as busy:
            raise self._busy(str(busy.owner or "another process")) from busy

    def _busy(self, who: str) -> StoreError:
        got, needs = f"a study that is being filled by {who}", "one that no other process fills"
        why = "two processes would do the same work twice."
        try_ = "wait, give another folder with --out, or share the work with --shard i/n."
        return StoreError(str(self.folder), got, needs, why, try_)

    def _remove_stale(self, age: float) -> None:
        """Remove half-written pieces that killed processes left."""
        if not self.folder.is_dir():
            return
        for found in [
            *self.folder.glob(".*.part"),
            *self.folder.glob("*/.*.part"),
            *self.folder.glob(f"{MEMBERS}/*/.*.part"),
        ]:
            with contextlib.suppress(OSError):
                if time.time() - found.stat().st_mtime >= age:
                    found.unlink()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            got = error.strerror or str(error)
            needs, why = "a folder that can be written", "the members are kept there."
            try_ = (
                "make room or give another folder with --out; "
                "the same command goes on with what is done."
            )
            raise StoreError(str(self.folder), got, needs, why, try_) from error


def _put(path: Path, raw: bytes, *, sync: bool = False) -> None:
    """Write a file that is complete or not there."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with fresh.open("xb") as file:
            file.write(raw)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def _remove_empty(folders: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()


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


def _told(held: Held) -> dict[str, Any]:
    variables = {
        name: {
            "shape": list(v.shape),
            "dims": list(v.dims),
            "dtype": v.dtype,
            "unit": v.unit,
            "meaning": v.meaning,
            "labels": list(v.labels),
        }
        for name, v in held.variables.items()
    }
    batches = [[b.members, b.first, b.digest] for b in held.batches]
    return {
        "format": 1,
        "inputs": held.inputs,
        "told": dict(held.told),
        "variables": variables,
        "chunk": held.chunk,
        "batches": batches,
    }


def _held(told: Mapping[str, Any]) -> Held:
    variables = {
        name: Stored(
            tuple(v["shape"]),
            tuple(v["dims"]),
            str(v["dtype"]),
            str(v["unit"]),
            str(v["meaning"]),
            tuple(v["labels"]),
        )
        for name, v in told["variables"].items()
    }
    batches = tuple(Batch(*b) for b in told["batches"])
    return Held(told["inputs"], told["told"], variables, int(told["chunk"]), batches)
