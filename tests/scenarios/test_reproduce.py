"""`stiction reproduce`: our figure, and a table that says what the paper's text still holds."""

import csv
import json
import re
import time
from dataclasses import replace

import pytest

from stiction.io.scenario import read_scenario
from stiction.io.store import load
from stiction.papers.chains import _table_2
from stiction.papers.items import Row
from stiction.papers.making import PAPERS, items_of


def rows_of(folder):
    with (folder / "comparison.csv").open(newline="") as file:
        return {row["quantity"]: row for row in csv.DictReader(file)}


def test_slip_wave_table(stiction, here):
    answer = stiction("reproduce", "chains", "table-2", "--no-figures")
    assert answer.code == 0
    assert "missing in the text" in answer.out
    folder = here / "out" / "reproduce-chains" / "table-2"
    assert sorted(p.name for p in folder.iterdir()) == [
        "comparison.csv",
        "comparison.md",
        "slip-wave",
    ]
    rows = rows_of(folder)
    assert float(rows["first slip of mass 2 [s]"]["ours"]) == pytest.approx(
        4.742238325874063, rel=1e-10
    )
    assert float(rows["critical force of mass 1 [N]"]["ours"]) == pytest.approx(7.3575, rel=1e-14)
    assert load(folder / "slip-wave").status.ok
    assert stiction("reproduce", "chains", "Table 2").code == 2
    assert stiction("reproduce", "chains", "Table 2", "--overwrite", "--no-figures").code == 0


def test_a_figure_of_a_changed_scenario(stiction, here):
    change = ("--set", "system.normal_force=9.81", "--no-figures")
    answer = stiction("reproduce", "chains", "table-2", *change)
    assert answer.code == 0, answer.err
    assert "verdict: none: the scenario was changed by --set system.normal_force=9.81" in answer.out
    folder = here / "out" / "reproduce-chains" / "table-2"
    assert load(folder / "slip-wave").system.normal_force == 9.81
    assert stiction("reproduce", "chains", *change).code == 2
    answer = stiction("reproduce", "switching", "8", *change)
    assert answer.code == 2
    assert "without a scenario" in answer.err


def test_rows_that_differ_are_reported(stiction, here, monkeypatch):
    """The verdict is written by hand, for rows as they were."""
    items = items_of("chains")
    other = replace(items["table-2"], rows=lambda runs: [Row("a new number", 1.0, 2.0)])
    monkeypatch.setitem(items, "table-2", other)
    answer = stiction("reproduce", "chains", "table-2", "--no-figures")
    assert answer.code == 1
    assert "not covered by this verdict: a new number differ" in answer.out
    answer = stiction("reproduce", "chains", "table-2", "--no-figures", "--overwrite", "--json")
    assert json.loads(answer.out)["items"][0]["not_covered"] == ["a new number"]


def test_figure_is_drawn(stiction, here):
    assert stiction("reproduce", "chains", "5", "--out", "mine").code == 0
    picture = here / "mine" / "figure-5" / "figure-5.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = rows_of(here / "mine" / "figure-5")
    assert rows["order of first slips, from the loaded end"]["ours"] == "3, 2, 1"
    assert rows["displacements never decrease"]["ours"] == "yes"


def test_everything_has_a_comparison(stiction, here):
    begun = time.perf_counter()
    answer = stiction("reproduce", "chains", "--no-figures")
    took = time.perf_counter() - begun
    assert answer.code == 0, answer
    folders = sorted(p.name for p in (here / "out" / "reproduce-chains").iterdir())
    assert folders == sorted(
        [*(f"figure-{i}" for i in range(2, 11)), "report.html", "table-1", "table-2"]
    )
    root = here / "out" / "reproduce-chains"
    (wall,) = re.findall(r"; wall_s ([^;<]+)", (root / "report.html").read_text(encoding="utf-8"))
    assert 0.0 < float(wall) <= took
    rest = rows_of(root / "figure-2")
    corner = rest["ends from which every increase of f moves all masses"]
    assert (corner["paper"], corner["ours"]) == ("the right ends", "lower")
    energy = rows_of(root / "figure-10")
    closed = {k: float(v["ours"]) for k, v in energy.items() if "scheme removes" in k}
    assert len(closed) == 4
    assert max(closed.values()) < 1e-9
    half = energy["theta-half: uniform difference of the sides of (35) [J]"]
    one = energy["theta-one: uniform difference of the sides of (35) [J]"]
    assert float(half["ours"]) < 1e-9 < float(one["ours"])


def test_differences_are_taken_of_numbers_only():
    assert Row("a", 7.0, 6.5).cells == ("a", "7", "6.5", "-0.5")
    assert Row("a", "lost", 6.5).difference == ""


def test_wrong_papers_and_figures(refused):
    assert "did you mean 'chains'?" in refused("reproduce", "chain")
    for figure in ("11", "figure-1", "table-3", "x", ""):
        assert refused("reproduce", "chains", figure)
    assert refused("reproduce", "chains", "5", "--out", "/dev/null/x")
    assert list(PAPERS) == ["adhesive-friction", "chains", "rods", "switching"]


def test_table_2_numbers_masses_from_1():
    rows = _table_2({"slip-wave": read_scenario("slip-wave").solve()})
    found = {row.what: row.ours for row in rows}
    # a load of t N, on the last mass: it slips at mu m g
    assert found["first slip of mass 3 [s]"] == pytest.approx(2.4525, rel=1e-12)
    assert found["load at first slip of mass 3 [N]"] == pytest.approx(2.4525, rel=1e-12)
    # what takes m, 2 m and 3 m along
    critical = [found[f"critical force of mass {i} [N]"] for i in (3, 2, 1)]
    assert critical == pytest.approx([2.4525, 4.905, 7.3575], rel=1e-12)
