"""`stiction reproduce`: a paper's figure or table beside ours, with the differences."""

from __future__ import annotations

from pathlib import Path

import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.papers.items import watched
from stiction.papers.making import items_of, key_of, solved, write_item
from stiction.papers.tables import screen
from stiction.results.run import Run
from stiction.results.staging import check_target

__all__ = ["reproduce"]


def reproduce(
    paper: str,
    figure: str | None,
    out: str | None,
    *,
    overwrite: bool,
    figures: bool,
    full: bool = False,
) -> int:
    """Run what a figure needs, write its folder, print the comparison; return the exit code.

    Verified by: tests/scenarios/test_reproduce.py::test_slip_wave_table
    """
    items = items_of(paper, full=full)
    keys = list(items) if figure is None else [key_of(figure, items)]
    root = Path("out", f"reproduce-{paper}") if out is None else Path(out)
    for key in keys:
        check_target(root / key, overwrite=overwrite)
    runs: dict[str, Run] = {}
    with watched(Bar):
        for key in keys:
            item = items[key]
            for name in item.scenarios:
                if name not in runs:
                    runs[name] = solved(name)
                if not (run := runs[name]).status.ok:
                    typer.echo(f"{name}: {run.reason}\nTry: {run.advice}", err=True)
                    return 1
            folder = root / key
            rows = write_item(key, item, runs, folder, overwrite=overwrite, figures=figures)
            put(f"{screen(key, item, rows)}\nwritten to {folder}\n")
    return 0
