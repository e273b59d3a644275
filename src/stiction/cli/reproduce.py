"""`stiction reproduce`: a paper's figure or table beside ours, with the differences."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.papers.items import watched
from stiction.papers.making import items_of, key_of, solved, write_item
from stiction.papers.tables import screen
from stiction.results.run import Run
from stiction.results.staging import claimed

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
    runs: dict[str, Run] = {}
    with ExitStack() as held, watched(Bar):
        claims = {k: held.enter_context(claimed(root / k, overwrite=overwrite)) for k in keys}
        for key in keys:
            item = items[key]
            for name in item.scenarios:
                if name not in runs:
                    runs[name] = solved(name)
                if not (run := runs[name]).status.ok:
                    typer.echo(f"{name}: {run.reason}\nTry: {run.advice}", err=True)
                    return 1
            rows = write_item(key, item, runs, claims[key], figures=figures)
            put(f"{screen(key, item, rows)}\nwritten to {root / key}\n")
    return 0
