"""`stiction reproduce switching`: our figures and numbers beside the paper's."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from references import reference

from stiction.io.scenario import read_scenario
from stiction.papers import switching as paper


def rows_of(folder):
    with (folder / "comparison.csv").open(newline="") as file:
        return {row["quantity"]: row for row in csv.DictReader(file)}


def test_every_item_has_a_comparison(stiction, here):
    answer = stiction("reproduce", "switching", "--no-figures")
    assert answer.code == 0, answer
    root = here / "out" / "reproduce-switching"
    names = {"figure-3", "figure-4", "figure-5", "figure-8", "gamma-0", "gamma-90", "line"}
    assert names <= {path.name for path in root.iterdir()}
    wanted = reference("switching.json")
    local = rows_of(root / "figure-3")
    for ours, theirs in (
        ("J1", "J1"),
        ("J2", "J2"),
        ("lambda1", "lambda1"),
        ("lambda2", "lambda2"),
    ):
        assert float(local[ours]["ours"]) == pytest.approx(float(wanted[theirs]), rel=1e-11)
    regions = rows_of(root / "figure-4")
    held = [row["ours"] for what, row in regions.items() if what.startswith("(")]
    assert held == ["yes"] * 7
    motion = rows_of(root / "figure-5")
    assert float(motion["v* [m/s]"]["ours"]) == pytest.approx(float(wanted["v_star"]), rel=1e-12)
    assert motion["sliding orbits reach the two-fold"]["ours"] == "yes"
    tyre = rows_of(root / "figure-8")
    full = tyre["(a) force in full slip [N]; the paper's 2 a delta lacks rho"]
    assert float(full["ours"]) == pytest.approx(4.0 / 3.0, rel=1e-14)
    across = rows_of(root / "gamma-0")
    assert float(across["relative difference of both fields at the two-fold"]["ours"]) < 1e-13
    line = rows_of(root / "line")
    met = [float(row["ours"]) for what, row in line.items() if what.startswith("fraction of 4000")]
    # every exit from the region meets the line, as an ensemble of another code finds
    assert min(met) > 0.99
    along = rows_of(root / "gamma-90")
    assert float(along["number of two-folds"]["ours"]) == 0.0
    assert float(along["distance of both boundaries, over mu"]["ours"]) == pytest.approx(2.0)


@pytest.mark.parametrize("figure", ["3", "Fig. 4", "figure-5", "8", "gamma-0", "gamma-90", "line"])
def test_figures_are_drawn(stiction, here, figure):
    assert stiction("reproduce", "switching", figure, "--out", "mine").code == 0
    (folder,) = (here / "mine").iterdir()
    picture = folder / f"{folder.name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_unknown_figures_are_refused(refused):
    assert "figure-3" in refused("reproduce", "switching", "7")
    assert "gamma-0" in refused("reproduce", "switching", "gamma-45")


def fake_run(system, ended, events=()):
    """Return as much of a run as the table of Fig. 5 looks at."""
    log = SimpleNamespace(time=np.arange(float(len(events))), kind=list(events))
    losses = [SimpleNamespace(kind=kind) for kind in ended]
    return SimpleNamespace(
        system=system, event_log=log, determinism=SimpleNamespace(losses=losses), t_end=7.5
    )


def test_claims_of_figure_5_are_counted_in_the_runs():
    wheel = read_scenario("wheel-into-two-fold").system
    runs = {
        "wheel-into-two-fold": fake_run(wheel, ["two_fold"]),
        "wheel-through-plus": fake_run(wheel, ["two_fold", "codim2_line"]),
        "wheel-through-minus": fake_run(wheel, ["codim2_line", "invisible-invisible"]),
        "wheel-slips-then-slides": fake_run(wheel, ["two_fold"]),
        "wheel-leaves-minus": fake_run(wheel, ["codim2_line"], ["cross", "slide", "cross"]),
        "wheel-recurrent": fake_run(wheel, [], ["two_fold", "codim2_line", "two_fold", "cross"]),
    }
    rows = {row.what: row.ours for row in paper._figure_5(runs)}
    count = rows["orbits from the escaping region that reach the line h = g = 0"]
    assert count == "2 of 3"
    assert rows["sliding orbits reach the two-fold"] == "yes"
    assert rows["scaled times of the slip phases of wheel-leaves-minus"] == "2.0000"
    assert [rows[what] for what in rows if what.startswith("arrivals")] == [2.0, 1.0]


def test_the_area_of_figure_4_is_its_fraction_of_the_drawn_area():
    run = SimpleNamespace(system=read_scenario("wheel-into-two-fold").system)
    rows = {row.what: row.ours for row in paper._figure_4({"wheel-into-two-fold": run})}
    share = rows["fraction of the area drawn"]
    assert 0.0 < share < 1.0
    drawn = (0.35 - 0.02) * (1.1 - 1.0005)
    area = rows["area where all hold, of the area drawn [m rad/s]"]
    # a cell more along each side than there are between the points
    assert area == pytest.approx(share * drawn, rel=1e-2)
