"""Atomic writing of result folders, by one process at a time.

A process locks the folder of its result before it begins. It writes the result into a temporary
folder beside that folder, and renames the temporary folder when all files are on disk. The next run
of the same name removes the temporary folder of a killed run.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stiction.core.files import flush, writing
from stiction.errors import StoreError
from stiction.io.contents import SUMMARY, foreign_files, is_result
from stiction.io.locks import Busy, Lock, acquire, locked_for

__all__ = ["Claim", "check_target", "claimed", "put_in_place", "staged", "whereabouts"]

_NEEDS = "a folder that can be written"
_WHY = "results are saved on disk."
_WHY_NEW = "every result is written to its own folder."
_TRY_NEW = "give another folder with --out, or replace this one with --overwrite."
_TRY_OTHER = "give another folder with --out."
_MOST_NAMED = 5


@dataclass
class Claim:
    """The lock of this process on the folder `path`; see `claimed`."""

    path: Path
    overwrite: bool
    lock: Lock

    def renew(self) -> None:
        """Acquire the lock again if its folder was removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.lock.held:
            renewed = _acquire(self.path)
            self.lock.release()
            self.lock = renewed


@contextlib.contextmanager
def claimed(path: Path, *, overwrite: bool = False) -> Iterator[Claim]:
    """Lock `path` against other processes until the end of the context.

    Parameters
    ----------
    path : folder of the result
    overwrite : replace an existing result

    Raises
    ------
    StoreError : if the folder exists, cannot be written, or is locked by another process, which
        the message names.

    Verified by: tests/unit/io/test_staging.py::test_the_second_of_two_runs_is_refused
    """
    path = check_target(path, overwrite=overwrite)
    with contextlib.ExitStack() as ended:
        with writing(path, _NEEDS, _WHY, _TRY_OTHER):
            lock = ended.enter_context(locked_for(path, partial(_acquire, path)))
            claim = Claim(path, overwrite, lock)
            ended.callback(lambda: claim.lock.release())
            _remove_stale(path)
            # another run may have ended in between
            _check_present(path, overwrite)
        yield claim


def _acquire(path: Path) -> Lock:
    """Return the lock of a folder; StoreError if another process holds it."""
    file = path.with_name(f".{path.name}.lock")
    try:
        return acquire(file)
    except Busy as busy:
        got = f"a folder to which {busy.holder} will write its result"
        why = "if two runs wrote to one folder, one result would be lost."
        try_ = "wait until that process ends, or give another folder with --out."
        if not busy.sure:
            try_ = f"if that process has ended, remove {file}; or give another folder with --out."
        needs = "a folder to which no other run will write"
        raise StoreError(str(path), got, needs, why, try_) from busy


def _remove_stale(path: Path) -> None:
    """Remove files of killed runs of the same name; restore a result that a killed run had renamed.

    Only the holder of the lock may call this function.
    """
    if (aside := whereabouts(path)) != path:
        os.rename(aside, path)
    # \w matches no dot, because `.run.old-1.checkpoint` belongs to a run called run.old-1
    name = re.compile(rf"\.{re.escape(path.name)}\.((old|partial)-\w+|checkpoint\.\w+\.part)")
    for left in path.parent.iterdir():
        if name.fullmatch(left.name):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


# ---- checks of the target


def check_target(path: Path, *, overwrite: bool = False) -> Path:
    """Check that a result may be written to a folder; return its absolute path.

    Raises
    ------
    StoreError : if the folder exists, or cannot be written.

    Verified by: tests/unit/io/test_staging.py::test_refusals_leave_nothing_behind
    """
    if not str(path).strip() or str(path) == ".":
        raise StoreError("--out", repr(str(path)), "the name of a folder", _WHY_NEW, _TRY_OTHER)
    # a ValueError means that the name is invalid for a file
    with writing(path, _NEEDS, _WHY, _TRY_OTHER, (OSError, ValueError)):
        path = Path(os.path.abspath(path))
        _check_present(path, overwrite)
        there = next(parent for parent in path.parents if os.path.lexists(parent))
        # this name is as long as the longest temporary name
        probe = there / f".{path.name}.partial-{secrets.token_hex(8)}"
        probe.mkdir()
        with contextlib.suppress(FileNotFoundError):
            # the holder of the lock may have removed it
            probe.rmdir()
    return path


def _check_present(path: Path, overwrite: bool) -> None:
    """Raise StoreError if `path` exists and must not be replaced."""
    if not os.path.lexists(path):
        return
    where = str(path)
    if not path.is_dir() or path.is_symlink():
        got, needs = "a file or link of that name", "a folder that does not exist yet"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_OTHER)
    if not overwrite:
        got, needs = "a folder that exists", "a folder that does not exist yet"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_NEW)
    here = Path.cwd()
    if path == here or path in here.parents:
        got, needs = "the current folder, or one that contains it", "a folder for the result alone"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_OTHER)
    if not any(path.iterdir()):
        return
    if not is_result(path):
        got, needs = "a folder with other files", f"a saved run (with {SUMMARY}) to replace"
        why = "--overwrite removes the whole folder."
        raise StoreError(where, got, needs, why, _TRY_OTHER)
    if foreign := foreign_files(path):
        more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        got = f"a saved run with files of yours in it: {', '.join(foreign[:_MOST_NAMED])}{more}"
        why = "--overwrite removes the whole folder, and would remove your files too."
        try_ = "move your files elsewhere, or give another folder with --out."
        raise StoreError(where, got, "a folder that contains only a saved run", why, try_)


# ---- writing and replacing


@contextlib.contextmanager
def staged(target: Path | Claim, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to the target at the end.

    After an error the temporary folder is removed, and the target is unchanged.

    Parameters
    ----------
    target : folder of the result, or the claim to it
    overwrite : replace an existing result; a claim has its own flag

    Raises
    ------
    StoreError : if the target cannot be written, or exists and must not be replaced.

    Verified by: tests/unit/io/test_staging.py::test_folder_appears_complete_or_not_at_all
    """
    if not isinstance(target, Claim):
        with claimed(target, overwrite=overwrite) as claim, staged(claim) as folder:
            yield folder
        return
    path = target.path
    folder = _hidden(path, "partial")
    with writing(path, _NEEDS, _WHY, _TRY_OTHER):
        target.renew()
        try:
            folder.mkdir()
            yield folder
            for place, _, names in os.walk(folder):
                for name in ("", *names):
                    flush(Path(place, name))
            # checked again, because the target may have changed during the run
            _check_present(path, target.overwrite)
            put_in_place(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def put_in_place(folder: Path, path: Path) -> None:
    """Exchange the names of `folder` and `path`, if `path` exists.

    Between the renames the old result has a name that `whereabouts` finds.

    Verified by: tests/unit/io/test_staging.py::test_a_kill_hides_nothing
    """
    aside = _hidden(path, "old")
    if replaces := os.path.lexists(path):
        os.rename(path, aside)
    try:
        os.rename(folder, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.rename(aside, path)
        raise
    # the old result may be removed once the new name is on disk
    flush(path.parent)
    if replaces:
        os.rename(aside, folder)


def whereabouts(path: Path) -> Path:
    """Return the present path of the result `path`, which a killed process may have renamed."""
    if not os.path.lexists(path) and path.name:
        with contextlib.suppress(OSError):
            asides = path.parent.glob(glob.escape(f".{path.name}.old-") + "?" * 8)
            return min(asides, default=path)
    return path


def _hidden(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{kind}-{secrets.token_hex(4)}")
