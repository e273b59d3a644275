"""`stiction reproduce rods`: our strings beside what the paper shows and says."""

import csv

import pytest
from references import reference


def rows_of(folder):
    with (folder / "comparison.csv").open(newline="") as file:
        return {row["quantity"]: row for row in csv.DictReader(file)}


def test_every_item_has_a_comparison_and_a_figure(stiction, here):
    answer = stiction("reproduce", "rods")
    assert answer.code == 0, answer
    root = here / "out" / "reproduce-rods"
    names = {"figure-2-left", "figure-2-right", "periodic", "symmetric", "chaos"}
    assert {path.name for path in root.iterdir()} == {*names, "report.html"}
    for name in names:
        assert (root / name / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    field = rows_of(root / "figure-2-left")
    assert abs(float(field["largest |u(x, 0) - sin x|"]["ours"])) < 1e-13
    assert float(field["largest |s1'| / c"]["ours"]) < 1.0
    assert abs(float(field["largest relative change of the energy"]["ours"])) < 1e-9
    assert all(
        row["paper"] == "missing in the text" for what, row in field.items() if "assumed" in what
    )
    lines = rows_of(root / "figure-2-right")
    assert float(lines["frequency of the string without contact [rad per time]"]["ours"]) == 1.0
    assert lines["mode of fixed ends that is called the first harmonic"]["ours"] == "second"
    assert lines["high overtones persist"]["ours"] == "yes"
    ring = rows_of(root / "periodic")
    assert float(ring["u + v is a free wave: largest difference from it"]["ours"]) < 1e-11
    wanted = reference("rods.json")["A_periodic"]["s"][-1]
    # the table has ten digits
    assert float(ring["contact point at t = 100"]["ours"]) == pytest.approx(wanted, abs=1e-10)
    same = rows_of(root / "symmetric")
    assert float(same["largest difference of s from its closed form"]["ours"]) < 1e-12
    assert float(same["largest difference of u1 + v1 from cos t"]["ours"]) < 1e-12
    growth = rows_of(root / "chaos")
    factors = [float(row["ours"]) for what, row in growth.items() if "factor" in what]
    # a small difference that grew as exp(t / 10) would be 400 times larger by then
    assert len(factors) == 2
    assert max(factors) < 100.0


def test_unknown_figures_are_refused(refused):
    assert "figure-2-left" in refused("reproduce", "rods", "3")
    assert "rods" in refused("reproduce", "rod")
