"""Folders that appear complete or not at all, written by one process at a time.

A process claims the folder of its result before it begins. The result is written into a hidden
sibling and put in place when everything is on disk. A killed run leaves the sibling, which the
next run of the same name removes.
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
from stiction.io.contents import MARK, is_result, strangers
from stiction.io.locks import Busy, Lock, held_for, take

__all__ = ["Claim", "check_target", "claimed", "put_in_place", "staged", "whereabouts"]

_NEEDS = "a folder that can be written"
_WHY = "results are kept on disk."
_WHY_NEW = "a result never mixes with what is there already."
_TRY_NEW = "give another folder with --out, or replace this one with --overwrite."
_TRY_OTHER = "give another folder with --out."
_MOST_NAMED = 5


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
        with writing(path, _NEEDS, _WHY, _TRY_OTHER):
            lock = ended.enter_context(held_for(path, partial(_take, path)))
            claim = Claim(path, overwrite, lock)
            ended.callback(lambda: claim.lock.release())
            _remove_leftovers(path)
            # another run may have ended since it was looked for
            _check_present(path, overwrite)
        yield claim


def _take(path: Path) -> Lock:
    file = path.with_name(f".{path.name}.lock")
    try:
        return take(file)
    except Busy as busy:
        got = f"a folder that {busy.holder} is about to write"
        why = "of two runs with one folder, one result would be lost."
        try_ = "wait until it is done, or give another folder with --out."
        if not busy.sure:
            try_ = f"if that process is gone, remove {file}; or give another folder with --out."
        needs = "one that no other run is to fill"
        raise StoreError(str(path), got, needs, why, try_) from busy


def _remove_leftovers(path: Path) -> None:
    """Remove what killed runs of the same name left; give back a result that one set aside.

    Only who holds the claim may do so: nobody else writes there.
    """
    if (aside := whereabouts(path)) != path:
        os.rename(aside, path)
    # no dots: `.run.old-1.checkpoint` belongs to a run called run.old-1
    name = re.compile(rf"\.{re.escape(path.name)}\.((old|partial)-\w+|checkpoint\.\w+\.part)")
    for found in path.parent.iterdir():
        if name.fullmatch(found.name):
            if found.is_dir():
                shutil.rmtree(found, ignore_errors=True)
            else:
                found.unlink(missing_ok=True)


# ---- what may be replaced


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
    # a name may hold what no name of a file can
    with writing(path, _NEEDS, _WHY, _TRY_OTHER, (OSError, ValueError)):
        path = Path(os.path.abspath(path))
        _check_present(path, overwrite)
        there = next(parent for parent in path.parents if os.path.lexists(parent))
        # as long as the longest of the names that a run may need
        probe = there / f".{path.name}.partial-{secrets.token_hex(8)}"
        probe.mkdir()
        with contextlib.suppress(FileNotFoundError):
            # the one who holds the claim may have taken it for a leftover
            probe.rmdir()
    return path


def _check_present(path: Path, overwrite: bool) -> None:
    """Raise StoreError if something is there that must not be replaced."""
    if not os.path.lexists(path):
        return
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


# ---- writing and replacing


@contextlib.contextmanager
def staged(target: Path | Claim, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a hidden folder to write into; it takes the place of the target in the end.

    After an error nothing of it is left, and the target stays as it was.

    Parameters
    ----------
    target : the folder that will hold the result, or the claim to it
    overwrite : replace a result that is there; a claim says so itself

    Raises
    ------
    StoreError : if it cannot be written, or something is there that must not be replaced.

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
            # checked again: it may have appeared, or got other files, while the run was solved
            _check_present(path, target.overwrite)
            put_in_place(folder, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def put_in_place(folder: Path, path: Path) -> None:
    """Rename `folder` to `path`; what was there is called `folder` in the end.

    Between the renames it has the name that `whereabouts` finds.

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
    # the one that was there may be removed when nothing can bring its name back any more
    flush(path.parent)
    if replaces:
        os.rename(aside, folder)


def whereabouts(path: Path) -> Path:
    """Return where the result called `path` lies: there, unless a kill left it between renames."""
    if not os.path.lexists(path) and path.name:
        with contextlib.suppress(OSError):
            asides = path.parent.glob(glob.escape(f".{path.name}.old-") + "?" * 8)
            return min(asides, default=path)
    return path


def _hidden(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{kind}-{secrets.token_hex(4)}")
