"""Folders that appear complete or not at all, written by one process at a time.

A process claims the folder of its result before it begins. The result is written into a hidden
sibling and put in place when everything is on disk. A killed run leaves the sibling, which the
next run of the same name removes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stiction.core.interrupts import uninterrupted
from stiction.errors import StoreError
from stiction.io.contents import MARK, TABLE, is_result, strangers
from stiction.io.locks import Busy, Lock, in_use, take
from stiction.io.swap import flush, put_in_place

__all__ = ["MARK", "TABLE", "Claim", "Stage", "check_target", "claimed", "staged"]

_WHY_NEW = "a result never mixes with what is there already."
_TRY_NEW = "give another folder with --out, or replace this one with --overwrite."
_TRY_OTHER = "give another folder with --out."
_MOST_NAMED = 5
_MOST_TRIES = 100


def check_target(path: Path, *, overwrite: bool = False) -> Path:
    """Return the absolute folder that a result may be written to; nothing is left behind.

    Raises
    ------
    StoreError : if something is there already, or nothing can be written there.

    Verified by: tests/unit/io/test_staging.py::test_refusals_leave_nothing_behind
    """
    if not str(path).strip() or str(path) == ".":
        why = "a result is a folder of its own."
        raise StoreError("--out", repr(str(path)), "a folder's name", why, _TRY_OTHER)
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
class Claim:
    """The right of this process to write the folder `path`; see `claimed`."""

    path: Path
    overwrite: bool
    lock: Lock

    def renew(self) -> None:
        """Take the lock again if its folder was removed meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.lock.held:
            fresh = _take(self.path)
            self.lock.release()
            self.lock = fresh


@contextlib.contextmanager
def claimed(path: Path, *, overwrite: bool = False) -> Iterator[Claim]:
    """Keep other processes from writing to `path` until the end of the context.

    Parameters
    ----------
    path : the folder that will hold the result
    overwrite : replace a result that is there

    Raises
    ------
    StoreError : if something is there already, nothing can be written there, or another process
        is about to; the message names it.

    Verified by: tests/unit/io/test_staging.py::test_the_second_of_two_runs_is_refused
    """
    path = check_target(path, overwrite=overwrite)
    with contextlib.ExitStack() as ended:
        try:
            # interrupted in between, it would leave the lock and the folders made for it
            with uninterrupted():
                claim = Claim(path, overwrite, _first_taken(path, ended))
                ended.callback(lambda: claim.lock.release())
            _remove_leftovers(path)
            if os.path.lexists(path):
                # another run may have ended since it was looked for
                _check_present(path, overwrite)
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise _unwritable(path, error) from error
        yield claim


@dataclass
class Stage:
    """A hidden folder to write into, until `complete` puts it in the place of `path`."""

    folder: Path
    path: Path
    overwrite: bool
    completed: bool = False

    def complete(self) -> None:
        """Put everything on disk and rename the folder; what comes later is not undone."""
        flush(self.folder)
        if os.path.lexists(self.path):
            # checked again: it may have appeared, or got other files, while the run was solved
            _check_present(self.path, self.overwrite)
        aside = self.path.with_name(_prefix(self.path, "old") + secrets.token_hex(4))
        put_in_place(self.folder, self.path, aside)
        self.completed = True


@contextlib.contextmanager
def staged(target: Path | Claim, *, overwrite: bool = False) -> Iterator[Stage]:
    """Give a stage for a folder; what was written there is removed unless it was completed.

    Parameters
    ----------
    target : the folder that will hold the result, or the claim to it
    overwrite : replace a result that is there; a claim says so itself

    Verified by: tests/unit/io/test_staging.py::test_folder_appears_complete_or_not_at_all
    """
    if not isinstance(target, Claim):
        with claimed(target, overwrite=overwrite) as claim, staged(claim) as stage:
            yield stage
        return
    path = target.path
    try:
        target.renew()
        stage = Stage(_sibling(path), path, target.overwrite)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise _unwritable(path, error) from error
    try:
        yield stage
    except OSError as error:
        if stage.completed or isinstance(error, StoreError):
            raise
        raise _unwritable(path, error) from error
    finally:
        if not stage.completed:
            shutil.rmtree(stage.folder, ignore_errors=True)


def _unwritable(path: Path, error: BaseException) -> StoreError:
    got = getattr(error, "strerror", None) or str(error)
    needs = "a folder that can be written"
    return StoreError(str(path), got, needs, "results are kept on disk.", _TRY_OTHER)


def _check_present(path: Path, overwrite: bool) -> None:
    where = str(path)
    if not path.is_dir() or path.is_symlink():
        got, needs = "a file or link of that name", "a folder that does not exist yet"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_OTHER)
    if not overwrite:
        got, needs = "a folder that exists", "one that does not exist yet"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_NEW)
    here = Path.cwd()
    if path == here or path in here.parents:
        got, needs = "the current folder, or one that holds it", "a folder of its own"
        raise StoreError(where, got, needs, _WHY_NEW, _TRY_OTHER)
    if not any(path.iterdir()):
        return
    if not is_result(path):
        got, needs = "a folder with other things in it", f"a saved run (with {MARK}) to replace"
        why = "--overwrite removes the whole folder."
        raise StoreError(where, got, needs, why, _TRY_OTHER)
    if foreign := strangers(path):
        more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        got = f"a saved run with files of yours in it: {', '.join(foreign[:_MOST_NAMED])}{more}"
        why = "--overwrite removes the whole folder, and would remove them too."
        try_ = "move them elsewhere, or give another folder with --out."
        raise StoreError(where, got, "a folder with a saved run alone", why, try_)


def _probe(path: Path) -> None:
    """Raise OSError unless a folder can be made beside `path`, or in the first parent there is."""
    parent = path.parent
    while not os.path.lexists(parent) and parent != parent.parent:
        parent = parent.parent
    # as long as the longest of the names that a run may need
    probe = tempfile.mkdtemp(prefix=_prefix(path, "checkpoint.try"), dir=parent)
    with contextlib.suppress(FileNotFoundError):
        # the one who holds the claim may have taken it for a leftover
        os.rmdir(probe)


def _prefix(path: Path, what: str) -> str:
    return f".{path.name}.{what}-"


# ---- one process at a time


def _first_taken(path: Path, ended: contextlib.ExitStack) -> Lock:
    """Return the lock; parents that are made for it and stay empty are removed in the end."""
    for _ in range(_MOST_TRIES):
        made = [p for p in reversed(path.parents) if not p.exists()]
        with contextlib.suppress(FileNotFoundError):
            path.parent.mkdir(parents=True, exist_ok=True)
            ended.callback(_remove_empty, made)
            # the parent is gone again where another run made it, and was refused in between
            return _take(path)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()


def _take(path: Path) -> Lock:
    file = path.with_name(f".{path.name}.lock")
    try:
        return take(file)
    except Busy as busy:
        got = f"a folder that {busy.owner or 'another process'} is about to write"
        why = "of two runs with one folder, one result would be lost."
        try_ = "wait until it is done, or give another folder with --out."
        if not busy.sure:
            try_ = f"if that process is gone, remove {file}; or give another folder with --out."
        needs = "one that no other run is to fill"
        raise StoreError(str(path), got, needs, why, try_) from busy


def _sibling(path: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_prefix(path, "partial"), dir=path.parent))
    # mkdtemp makes it private; a result is as readable as any other file of the user
    umask = os.umask(0)
    os.umask(umask)
    folder.chmod(0o777 & ~umask)
    return folder


def _remove_leftovers(path: Path) -> None:
    """Remove what killed runs of the same name left; give back a result lost half-way a swap.

    Only who holds the claim may do so: nobody else writes there.
    """
    # no dots: `.run.old-1.checkpoint` belongs to a run called run.old-1
    kinds = r"old-\w+|partial-\w+|checkpoint\.(new|try)(-\w+)?"
    name = re.compile(rf"\.{re.escape(path.name)}\.({kinds})")
    for found in sorted(path.parent.iterdir()):
        match = name.fullmatch(found.name)
        # a run of an earlier version, which knew no claims, has marked its folder
        if match is None or in_use(found):
            continue
        if not found.is_dir():
            found.unlink(missing_ok=True)
        elif match[1].startswith("old") and not os.path.lexists(path):
            os.rename(found, path)
        else:
            shutil.rmtree(found, ignore_errors=True)
