"""Contacts of solids against closed forms: the long tables of docs/theory/solids-convergence.md.

The cases are those of tests/contact_cases.py, finer and further than tests have time for. Every
group of cases lets one parameter go to where its closed form holds; the last column is the order
at which the error falls from row to row. Errors do not depend on the machine, so the tables are
saved beside the page, as CSV.

    python benchmarks/solid_convergence.py           all groups, about half an hour of CPU, PARDISO
    python benchmarks/solid_convergence.py hertz-law peel-mesh
    python benchmarks/solid_convergence.py --quick   two rows of each group, nothing written
"""

from __future__ import annotations

import argparse
import csv
import functools
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import contact_cases as cases  # noqa: E402

TABLES = HERE.parent / "docs" / "theory" / "solids-convergence"
Row = dict[str, object]


def hertz(stiffness: float, cell: float, depth: float) -> tuple[Row, Row, Any]:
    """Return a case, and the errors of half width and of largest pressure."""
    found = cases.hertz(stiffness, cell, depth)
    errors = {"width error": found.width, "peak pressure error": found.peak}
    return {"k a/E*": stiffness, "h/a": cell, "H/a": depth}, errors, found


def jkr(
    tabor: float, per_zone: float, depth: float, zero_load: bool = False
) -> tuple[Row, Row, Any]:
    """Return a case, and the error of the pull-off force, or of the half width without load."""
    found = cases.jkr(tabor, per_zone, depth, zero_load=zero_load)
    case = {"Tabor": tabor, "elements per zone": per_zone, "H/a_c": depth}
    if zero_load:
        return case, {"half width error": found.zero_load - 1.0}, found
    return case, {"pull-off error": found.pull_off - 1.0}, found


def mindlin(stiffness: float, cell: float, poisson: float) -> tuple[Row, Row, Any]:
    """Return a case, and the errors of the stick zone and of the shear traction."""
    found = cases.mindlin(stiffness, cell, poisson=poisson)
    beta = (1.0 - 2.0 * poisson) / (2.0 * (1.0 - poisson))
    stuck = float(np.abs(found.stuck).mean())
    errors = {"mean error of c/a": stuck, "misplaced shear": found.misplaced}
    return {"k a/E*": stiffness, "h/a": cell, "beta": beta}, errors, found


def peel(work: float, along: int, zone: float) -> tuple[Row, Row, Any]:
    """Return a case, and the error of the steady force, and what it wavers by."""
    found = cases.peel(work, (along, 2), zone)
    case = {"W/(E h)": work, "elements": along, "zone/h": zone, "Kendall/W": found.kendall}
    return case, {"force error": found.mean - 1.0, "wavers by": found.spread}, found


# case, parameters from coarse to fine, column whose order is reported, refinement per row
GROUPS: dict[str, tuple[Callable[..., tuple[Row, Row, Any]], list, str, float]] = {
    "hertz-law": (
        hertz,
        [(k, 1 / 16, 80) for k in (25, 100, 400, 1600)],
        "peak pressure error",
        4.0,
    ),
    "hertz-block": (
        hertz,
        [(100, 1 / 16, depth) for depth in (5, 10, 20, 40, 80)],
        "change of peak pressure error",
        2.0,
    ),
    "hertz-all": (
        hertz,
        [
            (25, 1 / 4, 10),
            (50, 1 / 8, 20),
            (100, 1 / 16, 40),
            (200, 1 / 32, 80),
            (400, 1 / 64, 160),
        ],
        "width error",
        2.0,
    ),
    "mindlin-law": (
        mindlin,
        [(12.5, 1 / 4, 0.499), (25, 1 / 8, 0.499), (50, 1 / 16, 0.499), (100, 1 / 32, 0.499)],
        "misplaced shear",
        2.0,
    ),
    "mindlin-beta": (
        mindlin,
        [(50, 1 / 16, nu) for nu in (0.4, 0.45, 0.475, 0.4875, 0.499)],
        "",
        2.0,
    ),
    "peel-mesh": (peel, [(0.02, n, 4.0) for n in (60, 120, 240)], "wavers by", 2.0),
    "peel-work": (
        peel,
        [(work, 240, 4.0) for work in (0.04, 0.02, 0.01, 0.005)],
        "force error",
        2.0,
    ),
    "jkr-law": (jkr, [(tabor, 4, 80) for tabor in (1, 2, 4, 8)], "pull-off error", 2.0),
    "jkr-mesh": (
        jkr,
        [*((2, n, 80) for n in (2, 4, 8)), *((8, n, 80) for n in (4, 6))],
        "",
        2.0,
    ),
    "jkr-block": (jkr, [(1, 8, depth) for depth in (20, 40, 80)], "", 2.0),
    "jkr-zero-load": (
        functools.partial(jkr, zero_load=True),
        [(tabor, 4, 80) for tabor in (1, 2, 4, 8)],
        "half width error",
        2.0,
    ),
    "jkr-zero-load-mesh": (
        functools.partial(jkr, zero_load=True),
        [*((4, n, 80) for n in (4, 8)), (6, 4, 80), *((8, n, 80) for n in (4, 6, 8))],
        "",
        2.0,
    ),
}


def with_orders(rows: list[Row], column: str, ratio: float) -> list[Row]:
    """Return the rows with the order at which a column, or its change per row, falls."""
    if not column:
        return rows
    source = column.removeprefix("change of ")
    values = [float(row[source]) for row in rows]  # type: ignore[arg-type]
    if source != column:
        values = [math.nan, *(b - a for a, b in pairwise(values))]
        for row, value in zip(rows, values, strict=True):
            row[column] = value
    for i, row in enumerate(rows):
        known = i > 0 and values[i] != 0.0 and math.isfinite(values[i - 1])
        order = math.log(abs(values[i - 1] / values[i])) / math.log(ratio) if known else math.nan
        row["order"] = order
    return rows


def plain(value: object) -> str:
    """Return a number with the digits it deserves."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def main() -> None:
    """Run the groups asked for, print them, and keep their tables."""
    parser = argparse.ArgumentParser(description="contacts of solids against closed forms")
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], help="all when left out")
    parser.add_argument("--quick", action="store_true", help="two rows each, nothing written")
    asked = parser.parse_args()
    for name in asked.groups or GROUPS:
        make, parameters, column, ratio = GROUPS[name]
        rows = []
        for given in parameters[:2] if asked.quick else parameters:
            case, errors, found = make(*given)
            row = {**case, "unknowns": found.unknowns, **errors, "status": found.status}
            print(name, {key: plain(value) for key, value in row.items()}, flush=True)
            rows.append(row)
        rows = with_orders(rows, column, ratio)
        if column:
            print(name, "orders", [plain(row["order"]) for row in rows], flush=True)
        if asked.quick:
            continue
        TABLES.mkdir(parents=True, exist_ok=True)
        with (TABLES / f"{name}.csv").open("w", newline="") as file:
            keys = [key for key in rows[0] if key != "status"]
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(keys)
            writer.writerows([plain(row[key]) for key in keys] for row in rows)


if __name__ == "__main__":
    main()
