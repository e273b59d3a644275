"""`stiction verify`, and what `show` says of files that are not what was saved."""

import json

import pytest


@pytest.fixture
def saved(stiction, here):
    assert stiction("run", "slip-wave", "--no-figures", "--out", "out/a").code == 0
    return here / "out" / "a"


def edit(folder):
    text = (folder / "events.csv").read_text()
    (folder / "events.csv").write_text(text.replace("stick", "slick", 1))


def age(folder):
    summary = json.loads((folder / "summary.json").read_text())
    del summary["files"], summary["digest"]
    (folder / "summary.json").write_text(json.dumps(summary))


def test_exit_codes(stiction, saved, here):
    answer = stiction("verify", "out/a")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("valid        out/a  4 files")
    # all runs below a folder, hidden ones left alone
    assert stiction("run", "slip-wave", "--no-figures", "--out", "out/b/c").code == 0
    (here / "out" / ".half").mkdir()
    (here / "out" / ".half" / "summary.json").write_text("{")
    assert stiction("verify", "out").out.split()[1::6] == ["out/a", "out/b/c"]
    age(here / "out" / "b" / "c")
    answer = stiction("verify", "out")
    assert answer.code == 3
    assert "UNVERIFIED   out/b/c: the run has no digests" in answer.out
    edit(saved)
    answer = stiction("verify", "out/b/c", "out/a")
    assert answer.code == 2
    assert "DAMAGED      out/a/events.csv: was changed after it was saved" in answer.out
    assert stiction("verify", "out/none").code == 2
    assert "no such folder" in stiction("verify", "out/none").out


def test_show_refuses_what_was_changed(stiction, saved):
    edit(saved)
    answer = stiction("show", "out/a")
    assert answer.code == 2
    assert "events.csv was changed after it was saved" in answer.err
    assert "--unverified" in answer.err
    answer = stiction("show", "out/a", "--unverified")
    assert answer.code == 0
    assert answer.out.splitlines()[1] == "UNVERIFIED   events.csv was changed after it was saved"
    assert stiction("plot", "out/a").code == 2
    assert not (saved / "figures").exists()


def test_figures_may_be_drawn_again(stiction, saved):
    assert stiction("plot", "out/a", "--what", "phase").code == 0
    assert stiction("verify", "out/a").code == 0
