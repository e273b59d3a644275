"""Printing that a closed pipe does not disturb, and a closed stream does not derail."""

from __future__ import annotations

import errno
import os
import sys

import typer

__all__ = ["check_stream", "open_streams", "put", "silence"]


def open_streams() -> None:
    """Open nothing in the place of closed streams, lest a file of ours takes their number."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def check_stream() -> None:
    """Raise OSError when standard output is closed, as by `>&-`."""
    if not sys.stdout:
        raise OSError(errno.EBADF, "a closed standard output")


def put(text: str) -> None:
    """Print `text`; say nothing more if nobody reads it any longer."""
    check_stream()
    try:
        typer.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send standard output nowhere: its reader left, as `head` does, and Python must not care."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
