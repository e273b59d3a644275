"""Digests of the files of a result, in its `summary.json`, `fit.json` or `study.json`.

`files` has the SHA-256 of every data file, `digest` that of `summary.json` itself without this
field, in a canonical form that does not depend on the layout of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stiction.core.files import regular, regular_bytes

__all__ = ["DIGEST", "FILES", "digest_of", "file_digest", "read_sealed", "sealed"]

FILES, DIGEST = "files", "digest"
"""Keys of `summary.json`: digests of the data files, and its own."""


def digest_of(summary: Mapping[str, object]) -> str:
    """Return the SHA-256 of the content of `summary.json`, without the field that holds it.

    Notes
    -----
    The canonical form is JSON with sorted keys, without spaces, in ASCII, with the shortest digits
    that reproduce each number.

    Verified by: tests/unit/io/test_digests.py::test_the_canonical_form_is_written_out
    """
    content = {key: value for key, value in summary.items() if key != DIGEST}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
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


def sealed(
    content: Mapping[str, object], folder: Path | None = None, names: Iterable[str] = ()
) -> dict[str, object]:
    """Return `content` with the digests of files in `folder`, and with its own."""
    if folder is not None:
        content = {**content, FILES: {name: file_digest(folder / name) for name in names}}
    return {**content, DIGEST: digest_of(content)}


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file with a digest of its own.

    Raises
    ------
    OSError, ValueError, LookupError, TypeError, RecursionError : if it is not what was written.
    """
    content: dict[str, Any] = json.loads(regular_bytes(path))
    if content[DIGEST] != digest_of(content):
        raise ValueError("another digest")
    return content
