"""Each gallery script runs to its end; its own asserts decide."""

import ast
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*/plot_*.py"))
MOST_LINES = 120


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(script, capsys):
    try:
        names = runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    assert "st" in names
    assert capsys.readouterr().out, "a script prints the numbers it found"


def test_there_are_scripts():
    assert len(SCRIPTS) >= 14


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_keeps_its_form(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert "Source:" in ast.get_docstring(tree)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert len(text.splitlines()) <= MOST_LINES
    for heading in ("The model", "The law", "Method and solve", "Reading the result"):
        assert f"# {heading}\n# -" in text, f"the block {heading!r} is missing"
