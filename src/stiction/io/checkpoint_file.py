"""Checkpoint files: the state of a long run, from which `stiction run --resume` continues it.

A file holds the arrays of the method in NumPy's format, the digest of the scenario and of the
versions, and the digest of its own content. `stiction.core.driver.run_to_end` calls `save`.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import os
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction._version import __version__
from stiction.catalogue import used_outside
from stiction.core.files import UNREADABLE, atomic_write, regular_bytes, remove_stale
from stiction.errors import StoreError, explain
from stiction.io.locks import in_use, mark_in_use
from stiction.numerics.jit import Mode, mode

__all__ = ["EVERY", "FileCheckpoint", "checkpoint_path"]

EVERY = 10.0
_KEY, _KERNELS = "__scenario__", "__kernels__"
# at the end of the file, where ZIP has its comment
_LABEL = b"sha256 "
_SEAL = len(_LABEL) + 64
_DAMAGED = "the file is damaged."


def checkpoint_path(folder: Path) -> Path:
    """Return the path of the checkpoint of a run that will be saved as `folder`."""
    return folder.with_name(f".{folder.name}.checkpoint")


class FileCheckpoint:
    """Saves the state of a run in one file, which is replaced atomically.

    Parameters
    ----------
    path : the file
    scenario : text that identifies the problem; the checkpoint of another problem is an error
    resume : whether `load` returns an existing state
    every : wall time between two saves [s]
    warn : function that receives one message if the file cannot be written, and the run continues;
        if None, a failure to write is an error

    Verified by: tests/unit/io/test_checkpoint_file.py::test_state_survives
    """

    def __init__(
        self,
        path: Path,
        scenario: str,
        *,
        resume: bool = False,
        every: float = EVERY,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.path, self.resume, self.every, self._warn = path, resume, every, warn
        # whether this object has written the file
        self.saved = False
        self._failed = False
        digest = hashlib.sha256(
            "\n".join([__version__, *sorted(used_outside(scenario)), scenario]).encode()
        ).hexdigest()
        self._key = np.array(digest)
        self._last = clock.monotonic()

    def due(self) -> bool:
        """Return whether enough wall time has passed since the last save."""
        return clock.monotonic() - self._last >= self.every

    def save(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Save `state` and replace the last one atomically.

        Raises
        ------
        StoreError : if the file cannot be written and `warn` is not given.
        """
        if bad := [name for name, value in state.items() if np.asarray(value).dtype.hasobject]:
            raise ValueError(f"{', '.join(bad)}: objects would have to be pickled")
        arrays: dict[str, Any] = {_KEY: self._key, _KERNELS: np.array(mode()), **state}
        try:
            with atomic_write(self.path, sync=True) as partial, partial.open("x+b") as file:
                mark_in_use(file.fileno())
                # without `allow_pickle`: NumPy 2.0 would save it as an array of that name
                np.savez(file, **arrays)
                # the digest of all bytes before it is the comment of the ZIP file
                file.seek(-2, os.SEEK_END)
                file.write(_SEAL.to_bytes(2, "little"))
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                file.write(_LABEL + digest.encode("ascii"))
            self.saved = True
        except OSError as error:
            got, needs = error.strerror or str(error), "a file that can be written"
            why = "the state of a long run is saved in this file, so that the run can be resumed."
            if self._warn is None:
                try_ = "free space on the disk; --resume continues from the last checkpoint."
                raise StoreError(str(self.path), got, needs, why, try_) from error
            if not self._failed:
                try_ = "free space on the disk: the run continues, and writes the file later."
                self._warn(explain(str(self.path), got, needs, why, try_))
            self._failed = True
        self._last = clock.monotonic()

    def load(self) -> dict[str, npt.NDArray[Any]] | None:
        """Return the last state, or None for a new run.

        Raises
        ------
        StoreError : if the file is damaged or belongs to another problem.
        """
        if not self.resume or not os.path.lexists(self.path):
            return None
        state = self._arrays()
        key, kernels = str(state.pop(_KEY)), str(state.pop(_KERNELS))
        if key != str(self._key):
            got = "the checkpoint of another problem"
            why = "a run continues only from a state of the same scenario and version."
            raise self._refused(got, why)
        if kernels != mode():
            got = f"the checkpoint of a run with {kernels} kernels"
            why = f"this process runs {mode()} kernels, whose rounding errors differ."
            raise self._refused(got, why)
        return state

    def matches(self) -> bool:
        """Return whether the file holds a valid state of this problem."""
        with contextlib.suppress(StoreError):
            return str(self._arrays()[_KEY]) == str(self._key)
        return False

    def kernels(self) -> Mode | None:
        """Return the kernel mode of the run that wrote the file; None without a valid file."""
        if not self.resume or not os.path.lexists(self.path):
            return None
        with contextlib.suppress(StoreError):
            recorded = str(self._arrays()[_KERNELS])
            return cast(Mode, recorded) if recorded in ("compiled", "plain") else None
        return None

    def remove(self) -> None:
        """Remove the file, if there is one, and temporary files of killed runs."""
        self.path.unlink(missing_ok=True)
        partials = self.path.parent.glob(glob.escape(f".{self.path.name.lstrip('.')}") + ".*.part")
        remove_stale((partial for partial in partials if not in_use(partial)), age=0.0)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays of the file, after a check of its digest."""
        try:
            raw = regular_bytes(self.path)
            content, seal = memoryview(raw)[:-_SEAL], raw[-_SEAL:]
            if not seal.startswith(_LABEL):
                why = "the file is damaged, or was written by an earlier version."
                raise self._refused("a file that cannot be read (no digest)", why)
            if seal != _LABEL + hashlib.sha256(content).hexdigest().encode("ascii"):
                raise self._refused("a file that cannot be read (another digest)", _DAMAGED)
            with np.load(io.BytesIO(raw), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except StoreError:
            raise
        except UNREADABLE as error:
            got = f"a file that cannot be read ({type(error).__name__})"
            raise self._refused(got, _DAMAGED) from error
        if not {_KEY, _KERNELS} <= arrays.keys():
            raise self._refused("a file that cannot be read (no key)", _DAMAGED)
        return arrays

    def _refused(self, got: str, why: str) -> StoreError:
        needs = "a checkpoint of this run"
        try_ = "start the run from the beginning without --resume, or give another --out."
        return StoreError(str(self.path), got, needs, why, try_)
