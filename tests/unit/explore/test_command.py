"""`stiction explore` without Panel, and what it costs those who do not call it."""

import importlib.util
import subprocess
import sys

import pytest
from command_line import runner

from stiction.cli.main import app


def test_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    known = importlib.util.find_spec
    absent = lambda name, *more: None if name == "panel" else known(name, *more)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", absent)
    answer = runner().invoke(app, ["explore"])
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("explore: got no Panel; needs the package `panel`")
    assert 'pip install "stiction[explore]"' in answer.stderr


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    pytest.importorskip("panel", reason='no Panel: pip install "stiction[explore]"')
    answer = runner().invoke(app, ["explore", "--folder", str(tmp_path / "nowhere")])
    assert answer.exit_code == 2
    assert answer.stderr.startswith("--folder: got")


def test_help_loads_nothing_of_it():
    script = (
        "import sys, stiction.cli.main; "
        "print(sorted(m for m in sys.modules if m.startswith(('stiction.explore', 'panel', "
        "'bokeh', 'tornado'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['stiction.explore', 'stiction.explore.command']"
