"""The list of slow tests names tests that exist, so that none hides in it."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "tests/slow.txt").read_text(encoding="utf-8").splitlines()


def test_every_line_names_a_test():
    known = {}
    for line in LINES:
        file, _, test = line.partition("::")
        if file not in known:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            known[file] = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        assert not test or test.partition("[")[0] in known[file], line


def test_lines_are_sorted_and_few():
    assert sorted(set(LINES)) == LINES
    assert len(LINES) <= 200


def test_what_is_left_out_runs_in_ci():
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "section test make test\n" in text
    assert "section slow slow\n" in text
    assert "make test-slow" in text
