"""Elastic rods through the command line: the built-in scenarios, changes to them, and bad input."""

import csv
import json

import pytest
from references import reference

from stiction.io.scenario import built_in, read_scenario

NAMES = sorted(name for name in built_in() if name.startswith("rods-"))
# perfect rolling holds in tension, and the audit says where it does
PULLS = {"rods-crossed", "rods-plucked"}


def ran(stiction, here, name, *more):
    answer = stiction("run", name, "--no-figures", *more)
    assert answer.code == 0, answer
    folder = here / "out" / name
    with (folder / "events.csv").open(newline="") as file:
        return json.loads((folder / "summary.json").read_text()), list(csv.DictReader(file))


def test_there_is_one_of_each_kind():
    kinds = {"crossed", "plucked", "slip", "net", "braid", "on-rod", "knot"}
    assert {name.removeprefix("rods-") for name in NAMES} >= kinds


@pytest.mark.parametrize("name", NAMES)
def test_it_says_where_it_comes_from(name):
    scenario = read_scenario(name)
    assert 10 < len(scenario.title) <= 85
    assert scenario.paper
    words = " ".join(scenario.note.split())
    assert words
    if scenario.figure.startswith("Fig"):
        assert "missing in the available text" in words
        assert "assumed" in words


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(stiction, here, name):
    summary, _ = ran(stiction, here, name)
    assert summary["status"] == "solved"
    failed = {check["check"] for check in summary["audit"] if not check["ok"]}
    assert failed == ({"normal_force_compressive"} if name in PULLS else set())
    assert summary["energy"]["imbalance_rel"] < 1e-3
    assert summary["determinism"]["status"] == "deterministic"


def test_the_crossed_rods_are_the_reference_case(stiction, here):
    summary, events = ran(stiction, here, "rods-crossed", "--set", "method.step=2.5e-5")
    case = reference("rods.json")["G_two_crossed_rods_3d"]
    assert summary["t_end"] == case["t"][-1]
    for name in ("s1", "s2"):
        assert summary["final"][name][0] == pytest.approx(case[name][-1], abs=1e-6)
    assert events == []


def test_a_contact_slips_and_opens(stiction, here):
    _, events = ran(stiction, here, "rods-slip")
    assert {row["kind"] for row in events} == {"slip", "stick", "open", "close"}
    assert {row["from"] for row in events} | {row["to"] for row in events} == {
        "roll",
        "slip",
        "open",
    }


def test_rough_rods_do_not_slip(stiction, here):
    # the limit of rolling: with more friction than any force asks for
    change = "system.friction={type='Coulomb', mu=1000.0}"
    _, events = ran(stiction, here, "rods-slip", "--set", change)
    assert not [row for row in events if row["kind"] == "slip"]


def test_the_scenario_written_runs_again(stiction, here):
    first, events = ran(stiction, here, "rods-slip")
    again = here / "out" / "rods-slip" / "scenario.toml"
    answer = stiction("run", again, "--no-figures", "--out", "second")
    assert answer.code == 0, answer
    second = json.loads((here / "second" / "summary.json").read_text())
    assert second["final"] == first["final"]
    assert len(events) > 5


@pytest.mark.parametrize(
    ("name", "setting", "word"),
    [
        ("rods-crossed", "method.step=1e-2", "stability limit"),
        ("rods-crossed", "system.angle=0.1", "CrossedRods.angle"),
        ("rods-crossed", "system.radius=-0.1", "CrossedRods.radius"),
        ("rods-crossed", "system.half_wave=[0.0, 1.0]", "CrossedRods.half_wave"),
        ("rods-crossed", "system.elements=4", "CrossedRods.elements"),
        ("rods-crossed", "system.elments=40", "elements"),
        ("rods-crossed", "system.friction={type='Coulomb', mu=-1.0}", "Coulomb.mu"),
        ("rods-crossed", "system.friction={type='StaticKinetic', mu_static=0.3, mu_kinetic=0.2}",
         "CrossedRods.friction"),
        ("rods-net", "system.rows=0", "RodNet.rows"),
        ("rods-braid", "system.strands=5", "Braid.strands"),
        ("rods-knot", "system.radius=0.05", "interpenetrate"),
        ("rods-knot", "system.friction.mu=nan", "mu"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(stiction, name, setting, word):
    answer = stiction("run", name, "--no-figures", "--set", setting)
    assert answer.code == 2, answer
    said = answer.out + answer.err
    assert "Traceback" not in said
    assert word in said
    assert "Why: " in said
