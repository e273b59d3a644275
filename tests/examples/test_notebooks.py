"""The notebooks are those of the pages, and run from the first cell to the last."""

import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
NAMES = ("adhesion", "dynamicist", "engineer", "tribologist")


def cells(name, kind):
    read = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    return ["".join(cell["source"]) for cell in read["cells"] if cell["cell_type"] == kind]


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    import notebooks

    yield notebooks
    sys.path.remove(str(ROOT / "tools"))


def test_notebooks_are_those_of_the_pages(tool):
    found = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.ipynb")}
    written = {name: tool.notebook(page) for name, page in tool.PAGES.items()}
    assert found == written, "run: python tools/notebooks.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_draws(name):
    names, drawn = {}, []
    for number, cell in enumerate(cells(name, "code")):
        *body, last = cell.rstrip().split("\n")
        exec(compile("\n".join(body), f"cell {number}", "exec"), names)
        # what a notebook shows below a cell
        if ".plot." in last:
            drawn.append(hasattr(eval(last, names), "savefig"))
        else:
            exec(last, names)
    plt.close("all")
    assert drawn
    assert all(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name):
    text = "".join(cells(name, "markdown"))
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (FOLDER / target).exists(), target
