"""Digests of the files of a saved run, kept in its `summary.json`.

`files` holds the SHA-256 of every data file; `digest` that of `summary.json` itself, of everything
in it but this field, in a canonical form, so that another layout of the same content is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from stiction.core.trial import regular

__all__ = [
    "DATA",
    "DIGEST",
    "FILES",
    "UNREAD",
    "digest_of",
    "file_digest",
    "regular_bytes",
    "sealed",
]

DATA = ("events.csv", "run.nc", "scenario.toml", "snapshots.vtkhdf")
"""Data files of a saved run; figures are drawn again at will and have no digests."""

UNREAD = "snapshots.vtkhdf"
"""The one that is for other programs alone: a run without it is read all the same."""

FILES, DIGEST = "files", "digest"
"""Keys of `summary.json`: digests of the data files, and its own."""


def digest_of(summary: Mapping[str, object]) -> str:
    """Return the SHA-256 of the content of `summary.json`, without the field that keeps it.

    Notes
    -----
    Of the JSON text with sorted keys, no spaces, ASCII alone, and the shortest digits that give
    back each number.

    Verified by: tests/unit/io/test_digests.py::test_the_canonical_form_is_written_out
    """
    rest = {key: value for key, value in summary.items() if key != DIGEST}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises
    ------
    OSError : if it is no regular file, or cannot be read.
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file", str(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def regular_bytes(path: Path) -> bytes:
    """Return the content of a regular file; a pipe of that name would keep its reader waiting.

    Raises
    ------
    OSError : if it is no regular file, or cannot be read.

    Verified by: tests/unit/studies/test_store.py::test_pipes_in_place_of_files_are_damage
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file", str(path))
    return path.read_bytes()


def sealed(
    summary: Mapping[str, object], folder: Path, digests: Mapping[str, str]
) -> dict[str, object]:
    """Return `summary` with the digests of the files that lie in `folder`, and with its own.

    Parameters
    ----------
    digests : of each file; "" where it is to be read for that
    """
    found = {name: digest or file_digest(folder / name) for name, digest in digests.items()}
    made = {**summary, FILES: found}
    return {**made, DIGEST: digest_of(made)}
