"""Whether a saved run is what was written, found out before anything in it is opened.

Nothing here trusts a file: what is not text, no JSON, too deep or too large is damage, and a file
of HDF5 is hashed, not opened, because a damaged one can keep its reader busy without end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stiction.core.files import UNREADABLE, regular
from stiction.errors import StoreError, nearest
from stiction.io.contents import DATA, FIT, MARK, MOST_OF_SUMMARY, SNAPSHOTS
from stiction.io.digests import DIGEST, FILES, digest_of, file_digest
from stiction.io.staging import whereabouts

__all__ = ["DAMAGED", "SOUND", "UNVERIFIED", "Verdict", "examine", "examined", "refusal"]

SOUND, DAMAGED, UNVERIFIED = 0, 2, 3
"""Exit codes of `stiction verify`."""

_NO_DIGESTS = "it has no digests: it was saved by an earlier version"


@dataclass(frozen=True)
class Verdict:
    """What the digests of a saved run or fit say.

    Parameters
    ----------
    folder : of the run
    summary : what `summary.json` or `fit.json` holds; None if it cannot be read
    wrong : name of each file that is not what was saved, and what is wrong with it
    sealed : whether the run has digests at all
    size : bytes of the files that were checked
    """

    folder: Path
    summary: dict[str, Any] | None
    wrong: dict[str, str]
    sealed: bool
    size: int = 0

    @property
    def code(self) -> int:
        """The exit code: sound, damaged or unverified."""
        return DAMAGED if self.wrong else SOUND if self.sealed else UNVERIFIED

    @property
    def suspect(self) -> dict[str, str]:
        """The wrong files from which a reader could take wrong numbers."""
        absent = (SNAPSHOTS, _MISSING)
        return {name: what for name, what in self.wrong.items() if (name, what) != absent}

    @property
    def doubt(self) -> str:
        """Why what is read is not verified, in a line; "" if it is."""
        if self.suspect:
            return ", ".join(f"{name} {what}" for name, what in self.suspect.items())
        return "" if self.sealed else _NO_DIGESTS

    def __str__(self) -> str:
        """Return the line of `stiction verify`, one more for each wrong file."""
        count = len(self.summary[FILES]) + 1 if self.summary and self.sealed else 0
        if self.code == SOUND:
            return f"sound        {_shown(self.folder)}  {count} files, {_bytes(self.size)}"
        if self.code == UNVERIFIED:
            return f"UNVERIFIED   {_shown(self.folder)}: {_NO_DIGESTS}"
        return "\n".join(
            f"DAMAGED      {_shown(self.folder / name)}: {what}"
            for name, what in self.wrong.items()
        )


def examine(folder: Path, mark: str = MARK) -> Verdict:
    """Return what the digests of the run in `folder` say; damage is no error here.

    Parameters
    ----------
    mark : the file that holds them: MARK of a run, FIT of a fit

    Raises
    ------
    StoreError : if there is no such file.

    Verified by: tests/unit/io/test_digests.py::test_every_damage_is_reported
    """
    if not regular(folder / mark):
        got = f"no {mark}" if folder.is_dir() else "no such folder"
        why = "`stiction run` and `run.save` write such folders."
        try_ = f"{_near(folder)}{_TRY_LOAD}"
        raise StoreError(str(folder), got, "the folder of a saved run", why, try_)
    wrong: dict[str, str] = {}
    try:
        size = (folder / mark).stat().st_size
        if size > MOST_OF_SUMMARY:
            raise ValueError("too large")
        summary = json.loads((folder / mark).read_text("utf-8"))
        if not isinstance(summary, dict):
            raise ValueError("no table")
        # either of them says that there were digests: damage to one must not pass for none
        marked = DIGEST in summary or FILES in summary
        if marked and summary.get(DIGEST) != digest_of(summary):
            wrong[mark] = _CHANGED
    except UNREADABLE as error:
        return Verdict(folder, None, {mark: f"cannot be read ({_short(error)})"}, True)
    if not marked:
        return Verdict(folder, summary, {}, False, size)
    digests = summary.get(FILES)
    digests = digests if isinstance(digests, dict) else {}
    for name in dict.fromkeys([*digests, *DATA[mark]]):
        path = folder / name
        if name not in digests:
            if os.path.lexists(path) and not wrong:
                wrong[name] = "was not saved with this run"
        elif os.path.basename(name) != name or not regular(path):
            wrong[name] = _MISSING
        else:
            try:
                size += path.stat().st_size
                if file_digest(path) != digests[name]:
                    wrong[name] = _CHANGED if mark not in wrong else f"is not what {mark} says"
            except OSError as error:
                wrong[name] = f"cannot be read ({_short(error)})"
    return Verdict(folder, summary, wrong, True, size)


_MISSING = "is missing"
_CHANGED = "was changed since it was saved"


def _near(folder: Path) -> str:
    """Return a question for a folder beside, where one is called nearly so."""
    with contextlib.suppress(OSError):
        near = [str(path) for path in sorted(folder.parent.iterdir()) if (path / MARK).is_file()]
        asked = nearest(str(folder), near) if near and not folder.is_dir() else ""
        return f"{asked} Or " if asked.startswith("did you mean") else ""
    return ""


_TRY_LOAD = f"check the path; a folder that holds {MARK} is a saved run."


def refusal(verdict: Verdict) -> StoreError:
    """Return the error for a run whose files are not what was saved."""
    names = list(verdict.suspect)
    where = ", ".join(str(verdict.folder / name) for name in names)
    got = verdict.doubt
    why = "a damaged file can hold wrong numbers that look right, so nothing of it is read."
    try_ = "take it from a backup, or run it again."
    if "scenario.toml" not in names:
        again = shlex.quote(str(verdict.folder / "scenario.toml"))
        try_ = f"take it from a backup, or run it again: stiction run {again} --out another folder."
    if verdict.summary is not None:
        try_ += " If you changed it yourself, --unverified (load(..., unverified=True)) reads it."
    return StoreError(where, got, "the files of a run as they were saved", why, try_)


def examined(path: str | Path) -> Iterator[tuple[str, Path, Verdict | StoreError]]:
    """Give the kind and folder of every run and fit in or below a folder, and what is said of it.

    That is a verdict, or the error that says that there is none.

    Verified by: tests/scenarios/test_verify.py::test_exit_codes
    """
    path = whereabouts(Path(path))
    kinds = {MARK: "run", FIT: "fit"}
    found = [(path, mark) for mark in kinds if regular(path / mark)]
    for root, folders, names in () if found else os.walk(path):
        # hidden ones are being written, or are what a kill left
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [(Path(root), mark) for mark in kinds if mark in names]
    for folder, mark in sorted(found) or [(path, MARK)]:
        try:
            yield kinds[mark], folder, examine(folder, mark)
        except StoreError as error:
            yield kinds[mark], folder, error


def _short(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or "no more is known"
    return f"{type(error).__name__}: {text}".splitlines()[0][:100]


def _shown(path: Path) -> str:
    """Return a path on one line, whatever is in its name: each line is about one run."""
    return str(path) if str(path).isprintable() else ascii(str(path))


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"
