"""Draw who may import whom, from the import contract in pyproject.toml, as an SVG picture.

::

    python tools/draw_layers.py docs/layers.svg
"""

from __future__ import annotations

import html
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_WORDS = {
    "cli": "the command line",
    "papers": "the four papers, judged",
    "studies": "many runs of one scenario",
    "fits": "from data to law",
    "scenario": "TOML to objects and back",
    "solve": "the one verb",
    "chains": "masses on a rail",
    "switching": "flows that switch",
    "rods": "strings and rods",
    "solids": "deformable bodies",
    "faults": "rate-and-state faults",
    "bodies": "rigid bodies",
    "plot": "the kit of all figures",
    "methods": "descriptions that several systems share",
    "laws": "what resists",
    "results": "what happened",
    "numerics": "pure mathematics",
    "errors": "what went wrong",
    "catalogue": "the one table of names",
}
_WIDTH, _ROW, _GAP = 640, 44, 12


def layers() -> list[list[str]]:
    """Return the rows of the contract, highest first; what is private or to come is left out."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    whole = [c for c in contracts if c["type"] == "layers" and c["containers"] == ["stiction"]]
    (rows,) = [c["layers"] for c in whole]
    names = [[n.strip() for n in re.split(r"[|:]", row)] for row in rows]
    shown = [[n for n in row if not n.startswith(("_", "("))] for row in names]
    return [row for row in shown if row]


def picture() -> str:
    """Return the picture: a row imports only from the rows below it, never from its own."""
    rows = layers()
    height = len(rows) * (_ROW + _GAP) + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" role="img">',
        "<title>Every row may import from the rows below it, never from its own</title>",
    ]
    for i, row in enumerate(rows):
        top = _GAP + i * (_ROW + _GAP)
        wide = (_WIDTH - (len(row) + 1) * _GAP) / len(row)
        for j, name in enumerate(row):
            left = _GAP + j * (wide + _GAP)
            parts.append(_box(left, top, wide, name, system=len(row) > 2))
    return "\n".join([*parts, "</svg>", ""])


def _box(left: float, top: float, wide: float, name: str, *, system: bool) -> str:
    middle, fill = left + 0.5 * wide, "#dbe9f6" if system else "#f2f2f2"
    word = html.escape(_WORDS.get(name, ""))
    return (
        f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{_ROW}" rx="5" '
        f'fill="{fill}" stroke="#8a8a8a"/>'
        f'<text x="{middle:.1f}" y="{top + 18}" text-anchor="middle" font-size="14" '
        f'font-weight="bold" fill="#262626">{name}</text>'
        f'<text x="{middle:.1f}" y="{top + 35}" text-anchor="middle" font-size="11" '
        f'fill="#444">{word}</text>'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
