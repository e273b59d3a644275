"""Verification of saved runs and fits: the digests of their files are compared with the files.

`stiction verify` and `load` use it. Files are not trusted: invalid text or JSON, deep nesting and
excessive sizes count as damage. HDF5 files are hashed and not opened, because the HDF5 library may
hang on a damaged file.
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
from stiction.io.contents import DATA, FIT, MOST_OF_SUMMARY, SNAPSHOTS, STUDY, SUMMARY
from stiction.io.digests import DIGEST, FILES, digest_of, file_digest
from stiction.io.staging import whereabouts

__all__ = ["DAMAGED", "UNVERIFIED", "VALID", "Verdict", "examine", "examined", "refusal"]

VALID, DAMAGED, UNVERIFIED = 0, 2, 3
"""Exit codes of `stiction verify`."""

_NO_DIGESTS = "the run has no digests, because an earlier version saved it"


@dataclass(frozen=True)
class Verdict:
    """Result of the verification of a saved run or fit.

    Parameters
    ----------
    folder : folder of the run or fit
    summary : content of `summary.json` or `fit.json`; None if it cannot be read
    wrong : {name: fault} of the files that differ from the saved ones
    sealed : whether the run has digests
    size : total size of the checked files [bytes]
    """

    folder: Path
    summary: dict[str, Any] | None
    wrong: dict[str, str]
    sealed: bool
    size: int = 0

    @property
    def code(self) -> int:
        """The exit code of `stiction verify`: VALID, DAMAGED or UNVERIFIED."""
        return DAMAGED if self.wrong else VALID if self.sealed else UNVERIFIED

    @property
    def suspect(self) -> dict[str, str]:
        """The files of `wrong` on which the loaded numbers depend."""
        absent = (SNAPSHOTS, _MISSING)
        return {name: what for name, what in self.wrong.items() if (name, what) != absent}

    @property
    def doubt(self) -> str:
        """Why the files are not verified, in one line; "" if they are."""
        if self.suspect:
            return ", ".join(f"{name} {what}" for name, what in self.suspect.items())
        return "" if self.sealed else _NO_DIGESTS

    def __str__(self) -> str:
        """Return the lines of `stiction verify`: one, or one for each wrong file."""
        if self.code == VALID:
            count = len(self.summary[FILES]) + 1 if self.summary else 0
            return f"valid        {_shown(self.folder)}  {count} files, {_bytes(self.size)}"
        if self.code == UNVERIFIED:
            return f"UNVERIFIED   {_shown(self.folder)}: {_NO_DIGESTS}"
        return "\n".join(
            f"DAMAGED      {_shown(self.folder / name)}: {what}"
            for name, what in self.wrong.items()
        )


def examine(folder: Path, key_file: str = SUMMARY) -> Verdict:
    """Verify the digests of the run or fit in `folder`; the verdict reports damage.

    Parameters
    ----------
    folder : folder of the run or fit
    key_file : name of the file with the digests: SUMMARY for a run, FIT for a fit

    Raises
    ------
    StoreError : if the folder has no such file.

    Verified by: tests/unit/io/test_digests.py::test_every_damage_is_reported
    """
    if not regular(folder / key_file):
        got = f"no {key_file}" if folder.is_dir() else "no such folder"
        why = "`stiction run` and `run.save` write such folders."
        try_ = f"{_similar_folders(folder)}{_TRY_LOAD}"
        raise StoreError(str(folder), got, "the folder of a saved run", why, try_)
    wrong: dict[str, str] = {}
    try:
        size = (folder / key_file).stat().st_size
        if size > MOST_OF_SUMMARY:
            raise ValueError("too large")
        summary = json.loads((folder / key_file).read_text("utf-8"))
        if not isinstance(summary, dict):
            raise ValueError("no table")
        # if one of the two keys is present, the file had both: a missing one is damage
        has_digests = DIGEST in summary or FILES in summary
        listed = isinstance(summary.get(FILES), dict)
        if has_digests and not (listed and summary.get(DIGEST) == digest_of(summary)):
            wrong[key_file] = _CHANGED
    except UNREADABLE as error:
        return Verdict(folder, None, {key_file: f"cannot be read ({_short(error)})"}, True)
    if not has_digests:
        return Verdict(folder, summary, {}, False, size)
    digests = summary[FILES] if listed else {}
    for name in dict.fromkeys([*digests, *DATA[key_file]]):
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
                    wrong[name] = (
                        _CHANGED if key_file not in wrong else f"is not what {key_file} says"
                    )
            except OSError as error:
                wrong[name] = f"cannot be read ({_short(error)})"
    return Verdict(folder, summary, wrong, True, size)


_MISSING = "is missing"
_CHANGED = "was changed after it was saved"


def _similar_folders(folder: Path) -> str:
    """Return a question that names a saved run of a similar name; "" if there is none."""
    with contextlib.suppress(OSError):
        near = [str(path) for path in sorted(folder.parent.iterdir()) if (path / SUMMARY).is_file()]
        asked = nearest(str(folder), near) if near and not folder.is_dir() else ""
        return f"{asked} Or " if asked.startswith("did you mean") else ""
    return ""


_TRY_LOAD = f"check the path; a folder that holds {SUMMARY} is a saved run."


def refusal(verdict: Verdict) -> StoreError:
    """Return the error for a run whose files differ from the saved ones."""
    names = list(verdict.suspect)
    where = ", ".join(str(verdict.folder / name) for name in names)
    got = verdict.doubt
    why = "a damaged file can contain plausible but wrong numbers, so it is not read."
    try_ = "restore the files from a backup, or run the scenario again."
    if "scenario.toml" not in names:
        again = shlex.quote(str(verdict.folder / "scenario.toml"))
        try_ = (
            f"restore the files from a backup, or run: stiction run {again} --out another folder."
        )
    if verdict.summary is not None:
        try_ += (
            " If you changed the files yourself, --unverified (load(..., unverified=True)) reads "
            "the run."
        )
    return StoreError(where, got, "the files of a run as they were saved", why, try_)


def examined(path: str | Path) -> Iterator[tuple[str, Path, Verdict | StoreError | None]]:
    """Yield kind, folder and verdict of every run, fit and study in or below a folder.

    The kind is "run", "fit" or "study". The verdict of a study is None: its package verifies it.
    If the folder has no result, an error takes the place of the verdict.

    Verified by: tests/scenarios/test_verify.py::test_exit_codes
    """
    path = whereabouts(Path(path))
    kinds = {STUDY: "study", SUMMARY: "run", FIT: "fit"}
    results = [(path, key_file) for key_file in kinds if regular(path / key_file)]
    for root, folders, names in () if results else os.walk(path):
        # hidden folders are temporary
        study = STUDY in names
        folders[:] = [name for name in folders if not (study or name.startswith("."))]
        results += [(Path(root), key_file) for key_file in kinds if key_file in names]
    for folder, key_file in sorted(results) or [(path, SUMMARY)]:
        if key_file == STUDY:
            yield "study", folder, None
            continue
        try:
            yield kinds[key_file], folder, examine(folder, key_file)
        except StoreError as error:
            yield kinds[key_file], folder, error


def _short(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or "without a message"
    return f"{type(error).__name__}: {text}".splitlines()[0][:100]


def _shown(path: Path) -> str:
    """Return a path as text without line breaks, so that each run takes one line."""
    return str(path) if str(path).isprintable() else ascii(str(path))


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"
