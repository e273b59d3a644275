"""The working folder: the page may read and write files in it, and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stiction.core.files import atomic_write, writing
from stiction.errors import StoreError
from stiction.io.contents import STUDY, SUMMARY

__all__ = ["Place", "WorkingFolder"]

_MOST_BYTES = 1 << 20  # of a scenario
_MOST_DEPTH = 3
_MOST_LISTED = 300
_MOST_LOOKED_AT = 20_000  # entries of folders that a listing reads
_MOST_LETTERS = 300  # of a name
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .+-]{0,80}\.toml")
_WHY = "the page reads and writes in its working folder alone."


@dataclass(frozen=True)
class Place:
    """A saved run, a study or a scenario file in the working folder.

    Parameters
    ----------
    kind : "run", "study" or "scenario"
    name : its path from the working folder, with slashes
    """

    kind: str
    name: str


class WorkingFolder:
    """The folder that a page may read and write.

    Parameters
    ----------
    root : its path

    Raises
    ------
    StoreError : if it is not a folder.
    """

    def __init__(self, root: str | Path) -> None:
        try:
            self.root = Path(root).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            needs, try_ = (
                "an existing folder",
                "create the folder, or name another one with --folder.",
            )
            raise StoreError("--folder", repr(str(root)), needs, _WHY, try_) from error
        if not self.root.is_dir():
            needs, try_ = "a folder", "name the folder in which the file lies."
            raise StoreError("--folder", repr(str(root)), needs, _WHY, try_)

    def resolve(self, name: object) -> Path:
        """Return the absolute path of a file or folder in the working folder.

        Raises
        ------
        StoreError : if it does not exist, or its name or a symbolic link leads outside.

        Verified by: tests/unit/explore/test_places.py::test_nothing_outside_the_folder_is_resolved
        """
        path = self.root / self._checked(name)
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            needs, try_ = "an existing file or folder", "choose one from the list."
            raise StoreError("open", repr(name)[:80], needs, _WHY, try_) from error
        self._inside(real, name)
        if real.is_dir():
            for inner in _folders(real):
                if inner.is_symlink():
                    self._inside(inner.resolve(), name)
        return real

    def text_of(self, name: object) -> str:
        """Return the text of a file in the folder.

        Raises
        ------
        StoreError : if it cannot be found or read, or is too long for a scenario.
        """
        path = self.resolve(name)
        needs, try_ = "a TOML file in UTF-8 of at most 1 MB", "choose another file."
        # reading a named pipe would wait for a writer
        if not path.is_file() or path.suffix != ".toml" or path.stat().st_size > _MOST_BYTES:
            raise StoreError("open", repr(name)[:80], needs, _WHY, try_)
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise StoreError("open", repr(name)[:80], needs, _WHY, try_) from error

    def write(self, name: object, text: str, *, overwrite: bool = False) -> Path:
        """Write a scenario into the folder atomically and return its path.

        Raises
        ------
        StoreError : if the name is not that of a TOML file in the folder, a file exists and
            `overwrite` is False, or the file cannot be written.

        Verified by: tests/unit/explore/test_places.py::test_nothing_outside_is_written
        """
        parts = Path(self._checked(name))
        if not _FILE.fullmatch(parts.name):
            needs = "a name that ends in .toml, of letters, digits and the characters _-+."
            raise StoreError("save", repr(name)[:80], needs, _WHY, "for example mine.toml.")
        folder = self.resolve(parts.parent.as_posix()) if parts.parent != Path(".") else self.root
        path = folder / parts.name
        inside = next((p for p in (folder, *folder.parents) if self.kind_of(p)), None)
        if inside is not None and inside != self.root and inside.is_relative_to(self.root):
            got, why = f"a file in {inside.name!r:.60}", "this folder is a saved run or a study."
            raise StoreError("save", got, "another folder", why, "choose another folder.")
        if (size := len(text.encode("utf-8", "replace"))) > _MOST_BYTES:
            got, needs = f"{size:,} bytes", "at most 1 MB"
            why, try_ = (
                "a longer scenario could not be opened again.",
                "shorten the lists of the scenario.",
            )
            raise StoreError("save", got, needs, why, try_)
        if path.is_symlink() or (path.exists() and not path.is_file()):
            needs, try_ = "a plain file, or none", "choose another name."
            raise StoreError("save", repr(name)[:80], needs, _WHY, try_)
        if path.exists() and not overwrite:
            got, why = f"{parts.name!r}, which exists", "no file is replaced without consent."
            try_ = "choose another name, or tick `replace`."
            raise StoreError("save", got, "an unused name", why, try_)
        needs, try_ = (
            "a folder that can be written",
            "free disk space, or change the permissions of the folder.",
        )
        with writing("save", needs, _WHY, try_), atomic_write(path) as partial:
            partial.write_text(text, encoding="utf-8")
        return path

    def listed(self) -> list[Place]:
        """Return the saved runs, studies and scenarios of the folder, without symbolic links.

        Of each kind the newest 300 are listed.

        Verified by: tests/unit/explore/test_places.py::test_what_can_be_loaded_is_listed
        """
        every = list(self._places())
        listed: list[Place] = []
        for kind in ("run", "scenario", "study"):
            found = [place for place in every if place.kind == kind]
            if len(found) > _MOST_LISTED:
                found.sort(key=lambda place: -(self.root / place.name).lstat().st_mtime)
            listed += sorted(found[:_MOST_LISTED], key=lambda place: place.name)
        return listed

    def kind_of(self, path: Path) -> str:
        """Return "run" or "study" if a folder is one, else ""."""
        kinds = {SUMMARY: "run", STUDY: "study"}
        return next((kind for file, kind in kinds.items() if (path / file).is_file()), "")

    def _places(self) -> Iterator[Place]:
        """Yield runs, studies and scenarios, to a limited depth and number of entries."""
        looked = 0
        for top, folders, files in os.walk(self.root):
            here = Path(top).relative_to(self.root)
            looked += len(files) + len(folders)
            kind = self.kind_of(Path(top))
            deep = len(here.parts) >= _MOST_DEPTH or looked > _MOST_LOOKED_AT
            if kind or deep:
                folders.clear()
            folders[:] = [name for name in sorted(folders) if not name.startswith((".", "__"))]
            if here.parts and not _is_safe(here.as_posix()):
                # a page could not open it
                folders.clear()
                continue
            if kind and here.parts:
                yield Place(kind, here.as_posix())
                continue
            for name in files:
                if _FILE.fullmatch(name) and not Path(top, name).is_symlink():
                    yield Place("scenario", (here / name).as_posix())

    def _checked(self, name: object) -> str:
        """Return a name if, as written, it does not leave the folder."""
        if not isinstance(name, str) or not _is_safe(name):
            needs = "a path inside the working folder, without .."
            raise StoreError("path", repr(name)[:80], needs, _WHY, "choose a name from the list.")
        return name

    def _inside(self, real: Path, name: object) -> None:
        """Raise StoreError for a path outside the working folder."""
        if not real.is_relative_to(self.root):
            got, needs = f"{name!r:.80}, which leads outside", "a path inside the working folder"
            raise StoreError(
                "path", got, needs, _WHY, "start `stiction explore` with another --folder."
            )


def _is_safe(name: str) -> bool:
    """Return whether a name, as written, does not leave the folder."""
    odd = any(ord(letter) < 32 or letter in "\\:\x7f" for letter in name)
    leaves = name.startswith(("/", "~")) or ".." in name.split("/")
    return 0 < len(name) <= _MOST_LETTERS and not odd and not leaves


def _folders(folder: Path) -> Iterator[Path]:
    """Yield all files and folders below a folder, without following links."""
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(top, name)
