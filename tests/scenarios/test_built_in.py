"""Every built-in scenario of a chain: it runs, and says where it comes from."""

import json

import numpy as np
import pytest

import stiction as st
from stiction.io.scenario import built_in, read_scenario

CHAINS = sorted(n for n, path in built_in().items() if path.parents[1].name == "chains")

# the others are short enough to be run whole
SHORTER = {
    "burridge-knopoff": 5.0,
    "energy-balance": 1.0,
    "random-friction": 10.0,
    "theta-0": 1.0,
    "theta-half": 1.0,
    "theta-one": 1.0,
}


# what these two are there to show
FAILS = {
    "theta-0": {"scheme_creates_no_energy"},
    "quasistatic-branches": {"velocity_unique"},
}


@pytest.mark.parametrize("name", CHAINS)
def test_it_says_where_it_comes_from(name):
    scenario = read_scenario(name)
    assert 10 < len(scenario.title) <= 85
    assert scenario.paper
    assert scenario.note
    if scenario.figure.startswith(("Fig", "Table")):
        assert "missing in the available text" in " ".join(scenario.note.split())


@pytest.mark.parametrize("name", CHAINS)
def test_it_runs(stiction, here, name):
    shorter = ("--set", f"solve.t_end={SHORTER[name]}") if name in SHORTER else ()
    answer = stiction("run", name, "--no-figures", *shorter)
    assert answer.code == 0, answer
    summary = json.loads((here / "out" / name / "summary.json").read_text())
    assert summary["status"] == "solved"
    assert summary["energy"]["imbalance_rel"] < 1e-9
    failed = {check["check"] for check in summary["audit"] if not check["ok"]}
    assert failed == FAILS.get(name, set())
    lost = summary["determinism"]["status"] == "lost"
    assert lost == (name == "quasistatic-branches"), summary["determinism"]


def solved(name, changes=(), **fields):
    return read_scenario(name, changes, **fields).solve()


def test_reachability_arrives():
    run = solved("reachability")
    assert run.quantities["stop_time"].value == pytest.approx(1.0, rel=1e-12)
    assert run.final["x"] == pytest.approx([0.5, 1.0, 1.5], rel=1e-13)
    rest = st.StickSet(run.system)
    assert rest.margins(run.final["x"]).relative == pytest.approx(1.0, rel=1e-12)


def test_slow_ramp_slips_at_the_critical_forces():
    run = solved("quasistatic-ramp")
    force = run.quantities["onset_force"].value
    assert force == pytest.approx([7.3575, 4.905, 2.4525], rel=1e-12)


def test_slow_loading_ends_at_the_lower_corner():
    run = solved("stick-set")
    lower = st.StickSet(run.system, 10.0).projections().lower
    assert run.final["x"] == pytest.approx(lower, rel=1e-12)


def test_branches_are_reported():
    run = solved("quasistatic-branches")
    assert run.determinism.status == "lost"
    assert run.determinism.losses[0].kind == "quasistatic_branches"


def test_the_front_of_the_wave_runs_through():
    run = solved("detachment-wave", n=20, mass=1.0 / 20, stiffness=2000.0, spacing=1.0 / 20)
    onset = np.array(run.quantities["onset_time"].value)
    assert (np.diff(onset) < 0.0).all()
    assert onset[-1] == 0.0
