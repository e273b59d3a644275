"""Printing that a closed pipe does not disturb."""

from __future__ import annotations

import os
import sys

import typer

__all__ = ["put", "silence"]


def put(text: str) -> None:
    """Print `text`; say nothing more if nobody reads it any longer."""
    try:
        typer.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send standard output nowhere: its reader left, as `head` does, and Python must not care."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
