"""What `make matrix` tries is what pyproject allows; what is missing is a failure."""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

from stiction.core.provenance import TRIED, release


@pytest.fixture(scope="module")
def matrix():
    path = Path(__file__).resolve().parents[2] / "tools/matrix.py"
    return runpy.run_path(str(path), run_name="a_module")


def test_the_oldest_lists_are_the_bounds(matrix):
    bounds = matrix["bounds"]()
    for python in matrix["PYTHONS"]:
        lines = matrix["oldest_file"](python).read_text("utf-8").splitlines()
        pins = dict(line.split("==") for line in lines if not line.startswith("#"))
        assert pins.keys() == bounds.keys()
        for name, bound in bounds.items():
            assert release(pins[name]) >= release(bound), name
            # the bound is a release that the first Python can install, not a guess below it
            assert python != matrix["PYTHONS"][0] or release(pins[name]) == release(bound), name


def test_the_first_python_is_the_bound(matrix, root):
    text = (root / "pyproject.toml").read_text("utf-8")
    assert f'requires-python = ">={matrix["PYTHONS"][0]}"' in text


def test_the_newest_tried_are_written_down(matrix):
    bounds = matrix["bounds"]()
    assert TRIED.keys() == {"python", *bounds}
    assert all(release(TRIED[name]) >= release(bound) for name, bound in bounds.items())
    assert TRIED["python"].startswith(matrix["PYTHONS"][-1] + ".")


def test_the_part_is_there(matrix, root):
    assert matrix["PART"]
    for name in matrix["PART"]:
        path, _, function = name.partition("::")
        text = (root / path).read_text("utf-8")
        assert not function or f"def {function}(" in text, name


def test_commands_of_first_pages_are_run(matrix):
    found = list(matrix["commands"]())
    runs = [words[1] for words in found if words[0] == "run"]
    assert {"detachment-wave", "slip-wave", "wheel-slips-then-slides"} <= set(runs)
    # as a user types them, figures included
    assert not any("--no-figures" in words for words in found)


def test_an_interpreter_that_is_missing_is_a_failure(matrix, monkeypatch, tmp_path):
    here = ".".join(map(str, sys.version_info[:2]))
    assert matrix["interpreter"](here) == Path(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    # one that is on the path and does not start is none
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(SystemExit, match=r"no Python 3\.99"):
        matrix["interpreter"]("3.99")


def test_ci_takes_both_ends(matrix, root):
    assert matrix["ENDS"] == ("3.11-oldest", "3.13-newest")
    script = (root / ".ci/run").read_text("utf-8")
    assert re.search(r"^section versions versions$", script, re.MULTILINE)
    assert "tools/matrix.py --part" in script
