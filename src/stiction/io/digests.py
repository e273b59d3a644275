"""SHA-256 digests of the files of a result; they show whether a file was changed or damaged.

They are stored in `summary.json` of a run, `fit.json` of a fit and `study.json` of a study. The key
`files` has the digest of every data file. The key `digest` has the digest of the JSON content
itself without this key, in a canonical form that does not depend on the layout of the file.
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
"""Keys of `summary.json`: the digests of the data files, and the digest of its own content."""


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
    OSError : if `path` is not a regular file, or cannot be read.
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file", str(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(
    content: Mapping[str, object], folder: Path | None = None, names: Iterable[str] = ()
) -> dict[str, object]:
    """Return `content` with the digests of the files `names` in `folder`, and with its own."""
    if folder is not None:
        content = {**content, FILES: {name: file_digest(folder / name) for name in names}}
    return {**content, DIGEST: digest_of(content)}


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file after a check of its own digest.

    Raises
    ------
    OSError, ValueError, LookupError, TypeError, RecursionError : if the content was changed.
    """
    content: dict[str, Any] = json.loads(regular_bytes(path))
    if content[DIGEST] != digest_of(content):
        raise ValueError("another digest")
    return content
