"""Folders that appear complete or not at all.

A result is written into a hidden sibling of its folder and renamed when everything is on
disk. A killed run leaves the sibling, which the next run of the same name removes.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stiction.errors import StoreError, explain

if sys.platform != "win32":
    import fcntl

__all__ = ["MARK", "TABLE", "Stage", "check_target", "staged"]

MARK = "summary.json"
"""The file whose presence says that a folder holds a saved run."""

TABLE = "comparison.md"
"""The same for a reproduced figure or table."""

_WHY_NEW = "a result never mixes with what is there already."
_TRY_NEW = "give another folder with --out, or replace this one with --overwrite."


def check_target(path: Path, *, overwrite: bool = False) -> Path:
    """Return the absolute folder that a result may be written to; nothing is left behind.

    Raises
    ------
    StoreError : if something is there already, or nothing can be written there.

    Verified by: tests/unit/results/test_staging.py::test_refusals_leave_nothing_behind
    """
    if not str(path).strip() or str(path) == ".":
        why = "a result is a folder of its own."
        raise StoreError(explain("--out", repr(str(path)), "a folder's name", why, _TRY_OTHER))
    try:
        path = Path(os.path.abspath(path))
        present = os.path.lexists(path)
        if present:
            _check_present(path, overwrite)
        _probe(path)
    except (OSError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise _unwritable(path, error) from error
    return path


@dataclass
class Stage:
    """A hidden folder to write into, until `complete` puts it in the place of `path`."""

    folder: Path
    path: Path
    overwrite: bool
    completed: bool = False

    def complete(self) -> None:
        """Put everything on disk and rename the folder; what comes later is not undone."""
        _flush(self.folder)
        _swap(self.folder, self.path, self.overwrite)
        self.completed = True


@contextlib.contextmanager
def staged(path: Path, *, overwrite: bool = False) -> Iterator[Stage]:
    """Give a stage for `path`; what was written there is removed unless it was completed.

    Parameters
    ----------
    path : the folder that will hold the result
    overwrite : replace a saved run that is there

    Verified by: tests/unit/results/test_staging.py::test_folder_appears_complete_or_not_at_all
    """
    path = check_target(path, overwrite=overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        folder, lock = _locked_sibling(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    stage = Stage(folder, path, overwrite)
    try:
        yield stage
    except OSError as error:
        if stage.completed or isinstance(error, StoreError):
            raise
        raise _unwritable(path, error) from error
    finally:
        if lock is not None:
            os.close(lock)
        if not stage.completed:
            shutil.rmtree(folder, ignore_errors=True)


_TRY_OTHER = "give another folder with --out."


def _unwritable(path: Path, error: BaseException) -> StoreError:
    got = getattr(error, "strerror", None) or str(error)
    needs = "a folder that can be written"
    return StoreError(explain(str(path), got, needs, "results are kept on disk.", _TRY_OTHER))


def _check_present(path: Path, overwrite: bool) -> None:
    where = str(path)
    if not path.is_dir() or path.is_symlink():
        got, needs = "a file or link of that name", "a folder that does not exist yet"
        raise StoreError(explain(where, got, needs, _WHY_NEW, _TRY_OTHER))
    if not overwrite:
        got, needs = "a folder that exists", "one that does not exist yet"
        raise StoreError(explain(where, got, needs, _WHY_NEW, _TRY_NEW))
    here = Path.cwd()
    if path == here or path in here.parents:
        got, needs = "the current folder, or one that holds it", "a folder of its own"
        raise StoreError(explain(where, got, needs, _WHY_NEW, _TRY_OTHER))
    if any(path.iterdir()) and not any((path / mark).is_file() for mark in (MARK, TABLE)):
        got, needs = "a folder with other things in it", f"a saved run (with {MARK}) to replace"
        why = "--overwrite removes the whole folder."
        raise StoreError(explain(where, got, needs, why, _TRY_OTHER))


def _probe(path: Path) -> None:
    """Raise OSError unless a folder can be made beside `path`, or in the first parent there is."""
    parent = path.parent
    while not os.path.lexists(parent) and parent != parent.parent:
        parent = parent.parent
    os.rmdir(tempfile.mkdtemp(prefix=_prefix(path, "partial"), dir=parent))


def _prefix(path: Path, what: str) -> str:
    return f".{path.name}.{what}-"


def _locked_sibling(path: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_prefix(path, "partial"), dir=path.parent))
        # mkdtemp makes it private; a result is as readable as any other file of the user
        umask = os.umask(0)
        os.umask(umask)
        folder.chmod(0o777 & ~umask)
        lock = _lock(folder)
        if folder.exists():
            return folder, lock
        # another run took it for a leftover before it was locked
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return an open lock on `folder`, None if its owner is alive or locks do not work here."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(path: Path) -> None:
    """Remove what killed runs of the same name left; give back a result lost half-way a swap."""
    for what in ("old", "partial"):
        for folder in path.parent.glob(glob.escape(_prefix(path, what)) + "*"):
            lock = _lock(folder)
            if lock is None and sys.platform != "win32":
                continue
            if what == "old" and not os.path.lexists(path):
                os.rename(folder, path)
            else:
                shutil.rmtree(folder, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _flush(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb+") as file:
                os.fsync(file.fileno())
        _flush_folder(Path(root))


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(folder: Path, path: Path, overwrite: bool) -> None:
    if os.path.lexists(path):
        # checked again: it may have appeared while the run was solved
        _check_present(path, overwrite)
        old = path.with_name(_prefix(path, "old") + secrets.token_hex(4))
        os.rename(path, old)
        os.rename(folder, path)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(folder, path)
    _flush_folder(path.parent)
