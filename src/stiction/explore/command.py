"""The command `stiction explore`; Panel is imported when it is called."""

from __future__ import annotations

import importlib.util
import json as json_text
import sys
from typing import Annotated

import typer

from stiction.errors import ModelError

__all__ = ["explore_command"]

_LAST = "Ctrl-C stops the server. Every user of this machine who has this address may use the page."


def explore_command(
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port. Default: a free port.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address only.")
    ] = False,
    folder: Annotated[
        str, typer.Option(metavar="DIR", help="The folder that the page may read and write.")
    ] = ".",
    json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the address.")] = False,
) -> None:
    """A page on this machine: choose a system, move sliders, run, view, save; Ctrl-C stops it."""
    check_panel()
    from stiction.explore.places import WorkingFolder
    from stiction.explore.server import Server

    server = Server(WorkingFolder(folder), port)

    def ready() -> None:
        """Write the address to standard output, and open it in a browser."""
        lines = [server.address] if quiet else [server.address, _LAST]
        text = json_text.dumps({"address": server.address}) if json else "\n".join(lines)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        if not no_browser:
            import webbrowser

            webbrowser.open(server.address)

    server.run(ready)


def check_panel() -> None:
    """Raise an error that names the package to install if Panel is missing.

    Raises
    ------
    ModelError : if it is.

    Verified by: tests/unit/explore/test_command.py::test_it_says_what_to_install
    """
    if importlib.util.find_spec("panel") is None:
        why = "Panel serves the page; with Bokeh it takes 170 MB, so it is an optional dependency."
        try_ = 'pip install "stiction[explore]"'
        raise ModelError("explore", "no Panel", "the package `panel`", why, try_)
