"""Make a figure or table of a paper: solve its scenarios, write runs, comparison and figure.

These are the steps of `stiction reproduce PAPER FIGURE`: find the item, solve each scenario, and
write the runs, the rows of the comparison, the picture and its curves to a folder.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from stiction.core.run import Run
from stiction.errors import ModelError, nearest
from stiction.io.contents import TABLE
from stiction.io.scenario import read_scenario, write_scenario
from stiction.io.staging import Claim, staged
from stiction.io.store import save
from stiction.papers.items import Item, Row, report_progress
from stiction.papers.tables import markdown, write_csv
from stiction.solve import solve

__all__ = ["PAPERS", "has_two_sizes", "items_of", "key_of", "solved", "write_item"]

PAPERS = {
    "adhesive-friction": "stiction.papers.adhesive_friction.figures",
    "chains": "stiction.papers.chains",
    "rods": "stiction.papers.rods",
    "switching": "stiction.papers.switching",
}


def items_of(paper: str, *, full: bool = False) -> dict[str, Item]:
    """Return the figures and tables of a paper by key.

    Raises
    ------
    ModelError : if there is no such paper, or it has one size only and `full` is set.
    """
    if paper not in PAPERS:
        raise ModelError(
            "PAPER",
            repr(paper),
            "one of " + ", ".join((*PAPERS, "all")),
            "the package reproduces the figures of these papers.",
            nearest(paper, (*PAPERS, "all")),
        )
    module = importlib.import_module(PAPERS[paper])
    items: dict[str, Item] = module.ITEMS
    if not full:
        return items
    if not has_two_sizes(paper):
        why = "the figures of this paper are computed at one size."
        raise ModelError("--full", repr(paper), "a paper with two sizes", why, "leave --full out.")
    full_items: dict[str, Item] = module.FULL_ITEMS
    return full_items


def has_two_sizes(paper: str) -> bool:
    """Return whether the figures of a paper are computed at a small or at the full size."""
    return hasattr(importlib.import_module(PAPERS[paper]), "FULL_ITEMS")


def key_of(figure: str, items: Mapping[str, Item]) -> str:
    """Return the key for a user's "5", "Fig. 5" or "table-2".

    Raises
    ------
    ModelError : if no figure or table is called so.
    """
    if figure.strip().lower() in items:
        return figure.strip().lower()
    if (key := f"figure-{figure.strip().lower()}") in items:
        return key
    match = re.fullmatch(r"(?:(fig(?:ure)?|table)s?)?[\s.-]*(s?\d+)", figure.strip().lower())
    if match is not None:
        kind = "table" if match[1] == "table" else "figure"
        if (key := f"{kind}-{match[2]}") in items:
            return key
    raise ModelError(
        "FIGURE",
        repr(figure),
        "one of " + ", ".join(items),
        "these figures and tables hold results; the others are sketches.",
        f"{nearest(figure.strip().lower(), items)} For example: stiction reproduce chains 5.",
    )


def solved(name: str, changes: Sequence[str] = ()) -> Run:
    """Return the run of a built-in scenario with changes, whatever its status."""
    scenario = read_scenario(name, changes)
    with report_progress(name) as report, np.errstate(all="ignore"):
        return solve(
            scenario.system,
            scenario.method,
            scenario.t_span,
            save=scenario.save,
            throw=False,
            progress=report,
        )


def write_item(
    key: str,
    item: Item,
    runs: Mapping[str, Run],
    folder: Path | Claim,
    *,
    overwrite: bool = False,
    figures: bool = True,
    changes: Sequence[str] = (),
) -> Sequence[Row]:
    """Write runs, comparison, figure and curves of an item to a folder; return the comparison.

    Parameters
    ----------
    changes : settings "path=value" that the runs were solved with

    Verified by: tests/scenarios/test_reproduce.py::test_slip_wave_table
    """
    rows = item.rows(runs)
    with staged(folder, overwrite=overwrite) as place:
        for name in item.scenarios:
            save(runs[name], place / name, scenario=write_scenario(read_scenario(name, changes)))
        if item.draw is not None and figures:
            item.draw(runs, place / f"{key}.png")
        if item.curves is not None:
            item.curves(runs, place / f"{key}.csv")
        (place / TABLE).write_text(markdown(key, item, rows), encoding="utf-8")
        write_csv(rows, place / "comparison.csv")
    return rows
