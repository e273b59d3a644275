"""`stiction reproduce`: a paper's figure or table beside ours, with the differences."""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.errors import ModelError, explain, nearest
from stiction.results.run import Run
from stiction.results.staging import TABLE, check_target, staged
from stiction.results.store import save
from stiction.scenario import read_scenario, write_scenario
from stiction.solve import solve

__all__ = ["LOST", "PAPERS", "Item", "Row", "Runs", "reproduce"]

LOST = "lost in the text"
PAPERS = {
    "adhesive-friction": "stiction.cli.paper_solids",
    "chains": "stiction.cli.paper_chains",
    "rods": "stiction.cli.paper_rods",
    "switching": "stiction.cli.paper_switching",
}

Runs = Mapping[str, Run]


@dataclass(frozen=True)
class Row:
    """One line of a comparison: a quantity, what the paper says, what we find.

    Parameters
    ----------
    what : the quantity, with its unit
    paper : number or statement of the paper; LOST where its text lost it
    ours : number or statement of the run
    verdict : whether a statement of the paper holds, where that is judged
    """

    what: str
    paper: float | str
    ours: float | str
    verdict: str = ""

    @property
    def difference(self) -> str:
        """Ours minus the paper's, when both are numbers."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return ""
        return f"{self.ours - self.paper:+.3g}"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The four columns of the table as text."""
        return self.what, _text(self.paper), _text(self.ours), self.difference


@dataclass(frozen=True)
class Item:
    """One figure or table of a paper.

    Parameters
    ----------
    title : what it shows
    scenarios : the built-in scenarios it needs
    rows : the comparison, from the runs by name of scenario
    draw : writes our figure to a path; None where there is none to draw
    curves : writes curves as CSV to a path; None where the runs' own files hold them
    """

    title: str
    scenarios: Sequence[str]
    rows: Callable[[Runs], list[Row]]
    draw: Callable[[Runs, Path], object] | None = None
    curves: Callable[[Runs, Path], object] | None = None


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
    items = _items(paper, full=full)
    keys = list(items) if figure is None else [_key(figure, items)]
    root = Path("out", f"reproduce-{paper}") if out is None else Path(out)
    for key in keys:
        check_target(root / key, overwrite=overwrite)
    runs: dict[str, Run] = {}
    for key in keys:
        item = items[key]
        for name in item.scenarios:
            if name not in runs:
                runs[name] = _solved(name)
            if not runs[name].status.ok:
                typer.echo(
                    f"{name}: {runs[name].reason}\nTry: {runs[name].status.advice}", err=True
                )
                return 1
        rows = item.rows(runs)
        with staged(root / key, overwrite=overwrite) as stage:
            for name in item.scenarios:
                text = write_scenario(read_scenario(name))
                save(runs[name], stage.folder / name, scenario=text)
            if item.draw is not None and figures:
                item.draw(runs, stage.folder / f"{key}.png")
            if item.curves is not None:
                item.curves(runs, stage.folder / f"{key}.csv")
            (stage.folder / TABLE).write_text(_markdown(key, item, rows), encoding="utf-8")
            _write_csv(rows, stage.folder / "comparison.csv")
            stage.complete()
        put(f"{_screen(key, item, rows)}\nwritten to {root / key}\n")
    return 0


def _items(paper: str, *, full: bool) -> dict[str, Item]:
    if paper not in PAPERS:
        raise ModelError(
            explain(
                "PAPER",
                repr(paper),
                "one of " + ", ".join(PAPERS),
                "a paper is called by the package that solves its system.",
                nearest(paper, PAPERS),
            )
        )
    module = importlib.import_module(PAPERS[paper])
    items: dict[str, Item] = module.ITEMS
    if not full:
        return items
    if not hasattr(module, "FULL_ITEMS"):
        why = "its figures are made at the size that the paper has."
        raise ModelError(
            explain("--full", repr(paper), "a paper with two sizes", why, "leave it out.")
        )
    full_items: dict[str, Item] = module.FULL_ITEMS
    return full_items


def _key(figure: str, items: Mapping[str, Item]) -> str:
    if figure.strip().lower() in items:
        return figure.strip().lower()
    if (key := f"figure-{figure.strip().lower()}") in items:
        return key
    match = re.fullmatch(r"(fig(?:ure)?|table)?s?[\s.-]*(\d+)", figure.strip().lower())
    if match is not None:
        kind = "table" if match[1] == "table" else "figure"
        if (key := f"{kind}-{match[2]}") in items:
            return key
    raise ModelError(
        explain(
            "FIGURE",
            repr(figure),
            "one of " + ", ".join(items),
            "these figures and tables hold results; the others are sketches.",
            "for example: stiction reproduce chains 5, or table-2.",
        )
    )


def _solved(name: str) -> Run:
    scenario = read_scenario(name)
    with Bar(name) as bar, np.errstate(all="ignore"):
        return solve(
            scenario.system,
            scenario.method,
            scenario.t_span,
            save=scenario.save,
            throw=False,
            progress=bar,
        )


# ---- the table


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


_HEAD = ("quantity", "paper", "ours", "difference")


def _table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return head and lines; a column of verdicts only where there are any."""
    if not any(row.verdict for row in rows):
        return [_HEAD, *(row.cells for row in rows)]
    return [(*_HEAD, "verdict"), *((*row.cells, row.verdict) for row in rows)]


def _screen(key: str, item: Item, rows: Sequence[Row]) -> str:
    table = _table(rows)
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    lines = ("  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)) for line in table)
    return "\n".join([f"{key}: {item.title}", *(line.rstrip() for line in lines)])


def _markdown(key: str, item: Item, rows: Sequence[Row]) -> str:
    head, *rest = _table(rows)
    lines = [head, ("---",) * len(head), *rest]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    needs = ", ".join(item.scenarios) or "none"
    return f"# {key}\n\n{item.title}\n\nScenarios: {needs}\n\n{table}\n"


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        head, *_ = _table(rows)
        writer.writerow(head)
        for row in rows:
            plain = (row.what, row.paper, row.ours, row.difference, row.verdict)
            writer.writerow(plain[: len(head)])
