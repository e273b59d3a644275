"""Output of a comparison: aligned text, Markdown, JSON values and CSV.

Each row shows a quantity, the paper's value, ours and their difference, and a verdict if there is
one.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from stiction.papers.items import Item, Row

__all__ = ["markdown", "plain", "screen", "table", "write_csv"]

_HEAD = ("quantity", "paper", "ours", "difference")


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the header and the lines, with a column of verdicts if any row has one."""
    if not any(row.verdict for row in rows):
        return [_HEAD, *(row.cells for row in rows)]
    return [(*_HEAD, "verdict"), *((*row.cells, row.verdict) for row in rows)]


def screen(key: str, item: Item, rows: Sequence[Row]) -> str:
    """Return the comparison as aligned lines."""
    lines_of = table(rows)
    widths = [max(len(line[i]) for line in lines_of) for i in range(len(lines_of[0]))]
    lines = ("  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)) for line in lines_of)
    return "\n".join([f"{key}: {item.title}", *(line.rstrip() for line in lines)])


def plain(item: Item, rows: Sequence[Row]) -> dict[str, object]:
    """Return the comparison as plain values, for JSON.

    Verified by: tests/scenarios/test_json.py::test_reproduce
    """
    lines = [
        {"quantity": row.what, "paper": row.paper, "ours": row.ours, "verdict": row.verdict}
        for row in rows
    ]
    return {"title": item.title, "scenarios": list(item.scenarios), "rows": lines}


def markdown(key: str, item: Item, rows: Sequence[Row]) -> str:
    """Return the comparison as a page in Markdown."""
    head, *body_lines = table(rows)
    lines = [head, ("---",) * len(head), *body_lines]
    # a bar such as that of |x| would end its cell
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    body = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    scenarios = ", ".join(item.scenarios) or "none"
    return f"# {key}\n\n{item.title}\n\nScenarios: {scenarios}\n\n{body}\n"


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write the comparison with all digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        head, *_ = table(rows)
        writer.writerow(head)
        for row in rows:
            cells = (row.what, row.paper, row.ours, row.difference, row.verdict)
            writer.writerow(cells[: len(head)])
