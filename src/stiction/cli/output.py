"""Printing to standard output, also if it is closed, or is a pipe whose reader has ended.

All subcommands print by `put` or `put_json`. `main` calls `open_streams` first.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping

import typer

__all__ = ["check_stream", "open_streams", "put", "put_json", "silence", "width"]

# width that is assumed if it is unknown, as in a pipe: lines are then not shortened [characters]
_ENDLESS = 10_000


def open_streams() -> None:
    """Open os.devnull in place of closed standard streams.

    Otherwise a file that is opened later would get the descriptor of a closed stream, and printed
    text would be written into that file.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def check_stream() -> None:
    """Raise OSError when standard output is closed, as by `>&-`."""
    if not sys.stdout:
        raise OSError(errno.EBADF, "a closed standard output")


def put(text: str) -> None:
    """Print `text`; print nothing more after the reader of a pipe has closed it."""
    check_stream()
    try:
        typer.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def put_json(value: object) -> None:
    """Print `value` as one JSON document; NaN and infinity become null."""
    put(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: object) -> object:
    """Return a value of the types of JSON: arrays become lists, NaN and infinity None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def width() -> int:
    """Return the width of the terminal in characters."""
    return shutil.get_terminal_size((_ENDLESS, 24)).columns


def silence() -> None:
    """Redirect standard output to os.devnull after its reader closed the pipe, as `head` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
