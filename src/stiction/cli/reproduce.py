"""`stiction reproduce`: a paper's figure or table beside ours, with the differences."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer

from stiction.cli.output import put, put_json
from stiction.cli.progress import Bar
from stiction.papers.items import watched
from stiction.papers.making import items_of, key_of, solved, write_item
from stiction.papers.tables import plain, screen
from stiction.results.run import Run
from stiction.results.staging import claimed

__all__ = ["Wanted", "reproduce"]


@dataclass(frozen=True)
class Wanted:
    """What `stiction reproduce` was asked for, as on the command line."""

    paper: str
    figure: str | None = None
    out: str | None = None
    overwrite: bool = False
    figures: bool = True
    full: bool = False
    json: bool = False
    quiet: bool = False


def reproduce(wanted: Wanted) -> int:
    """Run what a figure needs, write its folder, print the comparison; return the exit code.

    Verified by: tests/scenarios/test_reproduce.py::test_slip_wave_table
    """
    items = items_of(wanted.paper, full=wanted.full)
    keys = list(items) if wanted.figure is None else [key_of(wanted.figure, items)]
    root = Path(wanted.out or Path("out", f"reproduce-{wanted.paper}"))
    runs: dict[str, Run] = {}
    told = []
    with ExitStack() as held, watched(partial(Bar, shown=not wanted.quiet)):
        over = wanted.overwrite
        claims = {k: held.enter_context(claimed(root / k, overwrite=over)) for k in keys}
        for key in keys:
            item = items[key]
            for name in item.scenarios:
                if name not in runs:
                    runs[name] = solved(name)
                if not (run := runs[name]).status.ok:
                    typer.echo(f"{name}: {run.reason}\nTry: {run.advice}", err=True)
                    return 1
            rows = write_item(key, item, runs, claims[key], figures=wanted.figures)
            told.append({"key": key, "folder": str(root / key), **plain(item, rows)})
            if not (wanted.quiet or wanted.json):
                put(f"{screen(key, item, rows)}\nwritten to {root / key}\n")
    if wanted.json:
        put_json({"paper": wanted.paper, "items": told})
    return 0
