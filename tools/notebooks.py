"""Write four notebooks from the pages in docs/learn: `python tools/notebooks.py`.

A page is the only source: its Python blocks become code cells, its text becomes Markdown cells. A
test compares the notebooks with the pages and runs them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
# name of the notebook, and of its page
PAGES = {
    "tribologist": "tribologist",
    "dynamicist": "dynamicist",
    "engineer": "engineer",
    "adhesion": "experimentalist",
}
_BLOCK = re.compile(r"```python\n(.*?)```\n?", re.DOTALL)


def cells_of(text: str) -> list[dict[str, object]]:
    """Return the cells of a page, as nbformat 4.5 has them."""
    cells: list[dict[str, object]] = []
    for i, part in enumerate(_BLOCK.split(text)):
        # pages lie in docs/learn, notebooks beside docs
        content = part.strip() if i % 2 else part.strip().replace("](../", "](../docs/")
        if not content:
            continue
        cell: dict[str, object] = {"id": f"cell-{len(cells)}", "metadata": {}}
        if i % 2:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        else:
            cell |= {"cell_type": "markdown"}
        cells.append(cell | {"source": content.splitlines(keepends=True)})
    return cells


def notebook(page: str) -> str:
    """Return the notebook of a page in docs/learn as text."""
    text = (ROOT / "docs" / "learn" / f"{page}.md").read_text("utf-8")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells_of(text),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / f"{name}.ipynb").write_text(notebook(page), encoding="utf-8")
