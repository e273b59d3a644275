"""The examples in docstrings of public names run, and give what they show."""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

from stiction.catalogue import SUBPACKAGES, attribute, names_in, top

SRC = Path(__file__).resolve().parents[2] / "src" / "stiction"


def with_examples() -> dict[str, object]:
    """Return {name: object} of the public names whose docstring shows code."""
    places = {
        f"{subpackage}.{name}": m
        for subpackage in SUBPACKAGES
        for name, m in names_in(subpackage).items()
    }
    found = {}
    for name, module in {**places, **top()}.items():
        held = attribute(module, name.rpartition(".")[2])
        if ">>>" in (getattr(held, "__doc__", None) or "") and held not in found.values():
            found[name] = held
    return found


EXAMPLES = with_examples()


def failures(doc: str, name: str) -> str:
    """Return what differs when the code of a docstring runs; empty where nothing does."""
    reported: list[str] = []
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=reported.append)
    assert result.attempted >= 2, "it imports something, and shows something"
    return "".join(reported)


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring_runs(name):
    assert failures(inspect.getdoc(EXAMPLES[name]), name) == ""


def test_a_wrong_result_is_seen():
    assert "Got:\n    2" in failures(">>> 1\n1\n>>> 1 + 1\n3\n", "sample")


def test_no_docstring_is_left_out():
    """Code in a docstring that nothing runs would go stale."""
    run = {held.__name__ for held in EXAMPLES.values()}
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    for path in SRC.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if ">>>" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, kinds) and ">>>" in (ast.get_docstring(node) or ""):
                assert getattr(node, "name", "a module") in run, f"{path}: {node}"
