"""`stiction sweep`, and `show`, `plot`, `verify` and `list` with studies."""

import pytest
from typer.testing import CliRunner

from stiction.cli.main import app

TEXT = """
title = "Friction of three masses"
scenario = "slip-wave"
results = ["max(onset_force)"]
[fields]
"law.mu" = { from = 0.1, to = 0.3, count = 6 }
"load.rate" = [0.5, 1.0]
"""


def asked(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TEXT)
    return tmp_path / "mine.toml"


def test_a_sweep_from_the_command_line(file, tmp_path):
    code, text = asked("sweep", file, "--workers", 1)
    assert code == 0, text
    assert "12, all done" in text
    folder = tmp_path / "out" / "mine"
    assert asked("show", folder)[1].splitlines()[0] == "Study: Friction of three masses"
    code, text = asked("plot", folder, "--what", "events")
    assert code == 0
    assert (folder / "figures" / "events.png").is_file()
    code, text = asked("verify", folder)
    assert (code, "12 of 12" in text) == (0, True)
    (folder / "members.zarr" / "events" / "0").write_bytes(b"")
    assert asked("verify", folder)[0] == 2
    # the same command repairs it
    assert asked("sweep", file, "--quiet")[0] == 0
    assert asked("verify", folder)[0] == asked("verify", "out")[0] == 0


def test_shards_from_the_command_line(file, tmp_path):
    for shard in ("1/2", "2/2"):
        assert asked("sweep", file, "--shard", shard, "--workers", 1, "--out", "there")[0] == 0
    assert "12, all done" in asked("show", "there")[1]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--shard", "3/2"), "--shard"),
        (("--shard", "one"), "--shard"),
        (("--engine", "local2"), "engine"),
        (("--workers", "0"), "workers"),
    ],
)
def test_bad_options_are_exit_code_two(file, tmp_path, words, reported):
    code, text = asked("sweep", file, *words)
    assert (code, reported in text) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]


def test_bad_paths_are_exit_code_two(file, tmp_path):
    file.write_text(TEXT.replace("load.rate", "load.rat"))
    code, text = asked("sweep", file)
    assert (code, "did you mean 'rate'" in text) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]


def test_ready_studies_are_listed():
    assert "belt-phase-diagram" in asked("list")[1]
