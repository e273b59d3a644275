"""`stiction reproduce adhesive-friction`: curves, figures and verdicts."""

import csv

import numpy as np
import pytest

from stiction.laws import DI, EA
from stiction.papers.adhesive_friction import figures as paper_solids
from stiction.papers.adhesive_friction.cap import Fit, _enhancement, fit
from stiction.papers.adhesive_friction.cases import (
    Case,
    Curves,
    Study,
    cases,
    extract,
    read_curves,
    write_curves,
)
from stiction.papers.adhesive_friction.cylinders import _levels
from stiction.papers.adhesive_friction.laws import _mapped
from stiction.papers.adhesive_friction.strip import first_above, nucleation, verdict
from stiction.plot.panels import Line, Panel
from stiction.solids.methods import Quasistatic
from stiction.solids.presets.plane import StripPeeling, TwoCylinders
from stiction.solve import solve


def rows_of(folder):
    with (folder / "comparison.csv").open(newline="") as file:
        return {row["quantity"]: row for row in csv.DictReader(file)}


def test_figures_of_laws(stiction, here):
    for figure in ("2", "3", "figure-4", "5"):
        answer = stiction("reproduce", "adhesive-friction", figure)
        assert answer.code == 0, answer
    root = here / "out" / "reproduce-adhesive-friction"
    names = ["comparison.csv", "comparison.md", "figure-3.csv", "figure-3.png"]
    assert sorted(p.name for p in (root / "figure-3").iterdir()) == names
    found = rows_of(root / "figure-3")
    assert float(found["threshold at g_cut over tau"]["ours"]) == pytest.approx(0.5, abs=1e-12)
    assert found["threshold at g_cut over tau"]["verdict"] == "holds"
    kinks = {k: row["ours"] for k, row in rows_of(root / "figure-4").items() if "kink" in k}
    assert list(kinks.values()) == ["yes", "yes", "no"]
    with (root / "figure-2" / "figure-2.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    lowest = min(float(row["traction"]) for row in table)
    assert lowest == pytest.approx(-2.0 * np.sqrt(5.0) / 9.0, rel=1e-4)


def test_every_figure_of_the_text_is_there():
    assert list(paper_solids.ITEMS) == list(paper_solids.FULL_ITEMS)
    wanted = {f"figure-{i}" for i in (*range(2, 11), 12, 13, 14)} | {"figure-s1"}
    assert wanted <= set(paper_solids.ITEMS)


def test_both_sizes_have_the_cases_of_the_verdicts():
    quick, full = cases(full=False), cases(full=True, cap_cells=(30, 4))
    assert set(quick) <= set(full) | {"cap-nu-0.4--0.2"}
    assert full["cap-0"].system.cells == (30, 4)
    assert full["strip-ea-0.1"].system.size == "paper"
    assert quick["cap-dry-3"].system.adhesive is False


def test_full_size_is_refused_where_there_is_none(refused):
    assert "two sizes" in refused("reproduce", "chains", "5", "--full")


def test_curves_survive_files(tmp_path):
    case = Case(StripPeeling(model=EA(0.02), cells=(40, 2), u_end=4.0), 4, (4.0,))
    run = solve(case.system, Quasistatic(steps=4))
    saved = extract(run, case)
    write_curves(saved, tmp_path, "strip")
    found = read_curves(tmp_path, "strip")
    for name, column in saved.columns.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-6, atol=1e-12)
    assert found.numbers["steps"] == run.stats["steps"]
    every = run.variables["normal_traction"].values[-1]
    shown = found.profile(4.0)["normal_traction"]
    assert every.size // 3 <= shown.size < every.size
    assert np.abs(shown).max() == pytest.approx(np.abs(every).max(), rel=1e-6)
    # reason: surface stretches of a stiff strip are near one, and only their presence is asked
    assert saved.profile(4.0)["stretch"] == pytest.approx(1.0, abs=0.05)
    study = Study(full=False, folder=tmp_path)
    assert study.pair("strip", "strip")[0].numbers["steps"] == run.stats["steps"]
    assert study.has("strip")
    assert not study.has("cap-0")


def test_stress_is_followed_at_a_corner():
    corner = {"trailing": (-1.0, 0.0), "leading": (1.0, 0.0)}
    case = Case(TwoCylinders(u_end=0.2), 3, (), corner)
    saved = extract(solve(case.system, Quasistatic(steps=3)), case)
    assert saved.stresses["trailing"].shape == saved.stresses["displacement"].shape
    assert saved.base["x"][0] == pytest.approx(-1.0)
    assert saved.base["x"][-1] == pytest.approx(1.0)


def shrinking(start, xi, slides_at):
    force = np.linspace(0.0, 1.0, 41) * slides_at
    long = start - xi * force**2
    stick = np.where(np.arange(41) < 40, long, 0.0)
    columns = {
        "displacement": np.arange(41.0),
        "contact_length": long,
        "force_x": -force,
        "sticking_length": stick,
    }
    return Curves(columns, {})


def test_fits_find_what_was_put_in():
    one = Fit(shrinking(10.0, 1.5, 1.2))
    assert one.slid
    assert one.xi == pytest.approx(1.5, rel=1e-12)
    assert one.eta == pytest.approx(2.0, rel=1e-10)
    fits = {
        float(i): Fit(shrinking(x, 3e3 * x**-3.5, 0.3)) for i, x in enumerate((8.0, 11.0, 15.0))
    }
    beta, misfit = fit(fits)
    assert beta == pytest.approx(-3.5, rel=1e-10)
    assert misfit < 1e-10


def test_a_fit_ends_where_contact_is_least_if_nothing_slides():
    saved = shrinking(10.0, 1.5, 1.2)
    saved.columns["sticking_length"][:] = 1.0
    saved.columns["contact_length"][30:] = 9.8
    one = Fit(saved)
    assert not one.slid
    # after 29 of 40 steps of the force
    assert one.force == pytest.approx(1.2 * 29 / 40, rel=1e-12)
    assert one.end == pytest.approx(10.0 - 1.5 * one.force**2, rel=1e-12)


NO = "does not hold"


@pytest.mark.parametrize(
    ("share", "words"),
    [(1.0, "holds"), (1.15, "holds"), (0.7, "holds partly"), (1.3, "holds partly"), (0.3, NO)],
)
def test_enhancement_by_adhesion_is_judged_by_the_papers_percentages(share, words):
    # xi falls with a power of the length, by adhesion to another one: at 8.5 and 15 L0 it is
    # larger by a given fraction of the 163 % and 24 % that the paper reports
    slope = np.log((1.0 + 1.63 * share) / (1.0 + 0.24 * share)) / np.log(15.0 / 8.5)

    def fits(extra, top):
        lengths = (7.0, 10.0, 20.0)
        return {
            float(i): Fit(shrinking(x, top * 1e3 * x**-3.0 * (x / 15.0) ** -extra, 0.1))
            for i, x in enumerate(lengths)
        }

    rows = _enhancement(fits(slope, 1.0 + 0.24 * share), fits(0.0, 1.0))
    assert [row.paper for row in rows] == [163.0, 24.0, "negligible"]
    assert [row.ours for row in rows[:2]] == pytest.approx([163.0 * share, 24.0 * share], rel=1e-6)
    assert [row.verdict for row in rows[:2]] == [words, words]


def test_points_of_a_figure_are_saved_by_panel_and_curve(tmp_path):
    x = np.array([1.0, 2.0])
    first = Panel("u", "F", [Line(x, x, "soft"), Line(x, 2.0 * x, "stiff")])
    bare = [Line(x, c * x, word, legend=False) for c, word in ((3.0, "stiff"), (4.0, "other"))]
    second = Panel("u", "A", bare)
    paper_solids._write_panels([first, second], tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["panel"], row["curve"], row["up"]) for row in rows[::2]] == [
        ("a", "soft", "F"),
        ("a", "stiff", "F"),
        ("b", "stiff", "A"),
        ("b", "other", "A"),
    ]
    assert [float(row["y"]) for row in rows] == [1.0, 2.0, 2.0, 4.0, 3.0, 6.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("more", "words"), [(0.05, "holds"), (0.2, "holds partly"), (0.5, NO), (-0.2, "holds partly")]
)
def test_peaks_of_both_models_are_compared(more, words):
    u = np.linspace(0.0, 2.0, 401)

    def curve(height):
        return Curves({"displacement": u, "force_x": height * np.sin(0.5 * np.pi * u)}, {})

    _, _, peak, shape = _levels({"EA 0.5": curve(2.0), "DI 3": curve(2.0 * (1.0 + more))})
    assert peak.ours == pytest.approx(1.0 + more, rel=1e-4)
    assert peak.verdict == words
    # root mean square of a half wave, over its top; the ends are left out
    # reason: a twentieth of the half wave is not there on both sides
    assert shape.ours == pytest.approx(abs(more) * np.sqrt(0.5), rel=6e-2)


@pytest.mark.parametrize("law", [EA(0.5), DI(0.5)])
def test_maps_of_the_laws_reach_as_far_to_both_sides(law):
    trial, traction, lost = _mapped(law, 1.1)
    assert trial[-1] > 0.0
    assert trial == pytest.approx(-trial[::-1], abs=1e-14 * trial[-1])
    assert traction == pytest.approx(-traction[::-1], abs=1e-12 * trial[-1])
    assert lost == pytest.approx(lost[::-1], abs=1e-12 * trial[-1])


def test_words_of_verdicts():
    assert verdict(True) == "holds"
    assert verdict(False, True, "why") == "holds partly: why"
    assert verdict(False) == "does not hold"
    x = np.array([0.0, 1.0, 2.0])
    assert first_above(x, x**2, 2.5) == pytest.approx(1.5)
    assert np.isnan(first_above(x, x, 5.0))
    curves = Curves({"displacement": x, "peeling_length": 4.0 * x}, {})
    assert nucleation(curves) == pytest.approx(0.25)
