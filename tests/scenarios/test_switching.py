"""Flows through the command line: built-in scenarios, files, and every kind of bad input."""

import csv
import json
from pathlib import Path

import pytest
from references import reference

from stiction.io.scenario import built_in, read_scenario

NAMES = sorted(name for name, path in built_in().items() if path.parts[-3] == "switching")
STOPS = {
    "normal-form": "two_fold",
    "wheel-into-two-fold": "two_fold",
    "wheel-slips-then-slides": "two_fold",
    "wheel-physical-time": "two_fold",
    "wheel-leaves-minus": "codim2_line",
    "wheel-through-minus": "codim2_line",
    "wheel-through-plus": "codim2_line",
}
WITHOUT_ENERGY = {"normal-form", "relay-feedback"}
REFERENCES = {
    "wheel-leaves-minus": "leaves_escaping_region_minus",
    "wheel-into-two-fold": "slides_into_two_fold",
    "wheel-slips-then-slides": "slips_then_slides_into_two_fold",
}


def written(folder):
    summary = json.loads((folder / "summary.json").read_text())
    with (folder / "events.csv").open(newline="") as file:
        return summary, list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMES)
def test_it_says_where_it_comes_from(name):
    scenario = read_scenario(name)
    assert 10 < len(scenario.title) <= 85
    assert scenario.paper
    assert scenario.note
    if scenario.figure.startswith("Fig"):
        assert "missing in the available text" in " ".join(scenario.note.split())


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(stiction, here, name):
    answer = stiction("run", name, "--no-figures")
    assert answer.code == 0, answer
    summary, _ = written(here / "out" / name)
    assert summary["status"] == ("stopped" if name in STOPS else "solved")
    assert [c for c in summary["audit"] if not c["ok"]] == []
    losses = summary["determinism"]["losses"]
    lost = name in STOPS or name == "wheel-recurrent"
    assert summary["determinism"]["status"] == ("lost" if lost else "deterministic")
    if name in STOPS:
        assert losses[-1]["kind"] == STOPS[name]
        assert losses[-1]["time"] == pytest.approx(summary["t_end"], rel=1e-12)
    if name not in WITHOUT_ENERGY:
        assert summary["energy"]["imbalance_rel"] < 1e-9


@pytest.mark.parametrize("name", REFERENCES)
def test_event_files_hold_the_reference_events(stiction, here, name):
    assert stiction("run", name, "--no-figures").code == 0
    summary, rows = written(here / "out" / name)
    states = ["r", "v", "omega"]
    assert list(rows[0])[:5] == ["time", "contact", "from", "to", "kind"]
    assert set(states) <= set(rows[0])
    wanted = reference("switching.json")["wheel_trajectories"][REFERENCES[name]]
    expected = wanted["events"][1:]
    found = [row for row in rows if row["kind"] != "escaping_start"]
    assert len(found) == len(expected)
    kinds = {"+->-": "cross", "-->+": "cross", "-->slide": "slide", "TWOFOLD": "two_fold"}
    for row, (time, what, state) in zip(found, expected, strict=True):
        assert float(row["time"]) == pytest.approx(time, abs=2e-8)
        assert row["kind"] == kinds.get(what, "codim2_line")
        assert {row["from"], row["to"]} <= {"+", "-", "slide"}
        assert [float(row[s]) for s in states] == pytest.approx(state, abs=1e-8)
    assert summary["t_end"] == pytest.approx(expected[-1][0], abs=2e-8)


def test_physical_time_has_the_events_of_scaled_time(stiction, here):
    for name in ("wheel-slips-then-slides", "wheel-physical-time"):
        assert stiction("run", name, "--no-figures").code == 0
    scaled = written(here / "out" / "wheel-slips-then-slides")[1]
    physical = written(here / "out" / "wheel-physical-time")[1]
    assert [row["kind"] for row in scaled] == [row["kind"] for row in physical]
    for a, b in zip(scaled, physical, strict=True):
        for name in ("r", "v", "omega"):
            assert float(a[name]) == pytest.approx(float(b[name]), abs=1e-9)


def test_a_policy_goes_on(stiction, here):
    policy = "method.policy={type='Leave', side='+', after=1.0}"
    answer = stiction("run", "normal-form", "--no-figures", "--set", policy, "--set",
                      "solve.t_end=2.5")  # fmt: skip
    assert answer.code == 0, answer
    summary, rows = written(here / "out" / "normal-form")
    assert summary["t_end"] > 2.0
    leaves = [row for row in rows if row["kind"] == "leave"]
    assert float(leaves[0]["time"]) == pytest.approx(1.1375 + 1.0, abs=1e-7)
    assert (leaves[0]["from"], leaves[0]["to"]) == ("slide", "+")


def test_the_scenario_written_runs_again(stiction, here):
    assert stiction("run", "wheel-through-plus", "--no-figures").code == 0
    again = Path("out", "wheel-through-plus", "scenario.toml")
    assert stiction("run", again, "--no-figures", "--out", "second").code == 0
    first, second = (written(here / p)[1] for p in ("out/wheel-through-plus", "second"))
    assert first == second


def test_figures_are_written(stiction, here):
    assert stiction("run", "wheel-leaves-minus").code == 0
    folder = here / "out" / "wheel-leaves-minus" / "figures"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["energy.png", "events.png", "overview.png", "phase.png"]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("wheel-into-two-fold", "method.policy={type='Guess'}"),
        ("wheel-into-two-fold", "method.policy={type='Leave', side='up'}"),
        ("wheel-into-two-fold", "method.policy={type='Leave', after=-1.0}"),
        ("wheel-into-two-fold", "method.policy={type='Sample', hazard=0.0}"),
        ("wheel-into-two-fold", "method.policy={type='Enumerate', grid=1}"),
        ("wheel-into-two-fold", "method.policy={type='ByKind', two_fold={type='ByKind'}}"),
        ("wheel-into-two-fold", "system.mode=up"),
        ("wheel-into-two-fold", "system.mode=+"),
        ("wheel-into-two-fold", "system.x0=[0.2, 0.1]"),
        ("wheel-into-two-fold", "system.x0=[0.2, 0.1, nan]"),
        ("wheel-into-two-fold", "system.x0=[0.2, 0.1, -1.0, 0.0]"),
        ("wheel-into-two-fold", "system.mu=-1.0"),
        ("wheel-into-two-fold", "system.beta=0.0"),
        ("wheel-into-two-fold", "system.kappa=nan"),
        ("wheel-into-two-fold", "system.kapa=0.2"),
        ("wheel-into-two-fold", "system.type=Wheel"),
        ("wheel-into-two-fold", "system.type=PiecewiseSmooth"),
        ("wheel-into-two-fold", "solve.t_end=0.0"),
        ("wheel-into-two-fold", "solve.t_end=-1.0"),
        ("wheel-into-two-fold", "solve.t_end=nan"),
        ("wheel-into-two-fold", "method.rtol=1e-17"),
        ("wheel-into-two-fold", "method.atol=-1e-9"),
        ("normal-form", "system.J1=inf"),
        ("belt-oscillator", "system.mu0=-1.0"),
        ("relay-feedback", "system.order=0"),
        ("two-block-stick-slip", "system.mass=[1.0, 0.0]"),
        ("static-jump-oscillator", "system.v_scale=0.0"),
    ],
)
def test_bad_input_leaves_nothing(refused, name, setting):
    assert refused("run", name, "--set", setting)
