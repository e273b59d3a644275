"""Every built-in scenario of a chain: it runs, says where it comes from, and Python has it too."""

import json

import numpy as np
import pytest

import stiction as st
from stiction.chains import presets
from stiction.scenario import built_in, read_scenario

PRESETS = {
    "baseline": lambda: presets.baseline(),
    "baseline-weakening": lambda: presets.baseline_weakening(),
    "belt": lambda: presets.belt(),
    "burridge-knopoff": lambda: presets.burridge_knopoff(),
    "detachment-wave": lambda: presets.detachment_wave(),
    "energy-balance": lambda: presets.energy_balance(),
    "quasistatic-branches": lambda: presets.quasistatic_branches(),
    "quasistatic-ramp": lambda: presets.quasistatic_ramp(),
    "quasistatic-reversal": lambda: presets.quasistatic_reversal(),
    "ramp-wave-50": lambda: presets.ramp_wave(),
    "random-friction": lambda: presets.random_friction(),
    "reachability": lambda: presets.reachability(),
    "slip-wave": lambda: presets.slip_wave(),
    "slip-wave-damped": lambda: presets.slip_wave(damping=2.0),
    "stick-set": lambda: presets.stick_set(),
    "theta-0": lambda: presets.theta_scheme(0.0),
    "theta-half": lambda: presets.theta_scheme(0.5),
    "theta-one": lambda: presets.theta_scheme(1.0),
    "unequal-124": lambda: presets.unequal_masses(),
    "unequal-421": lambda: presets.unequal_masses((4.0, 2.0, 1.0)),
}

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


def test_every_chain_has_a_preset():
    chains = {name for name, path in built_in().items() if path.parents[1].name == "chains"}
    assert set(PRESETS) == chains


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_the_files(name):
    scenario, preset = read_scenario(name), PRESETS[name]()
    assert preset.system == scenario.system
    assert preset.method == scenario.method
    assert preset.t_span == scenario.t_span
    assert scenario.save is None


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_it_says_where_it_comes_from(name):
    scenario = read_scenario(name)
    assert 10 < len(scenario.title) <= 85
    assert scenario.paper
    assert scenario.note
    if scenario.figure.startswith(("Fig", "Table")):
        assert "lost in the text" in " ".join(scenario.note.split())


@pytest.mark.parametrize("name", sorted(PRESETS))
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


def solved(preset):
    return st.solve(*preset)


def test_reachability_arrives():
    run = solved(presets.reachability())
    assert run.quantities["stop_time"].value == pytest.approx(1.0, rel=1e-12)
    assert run.final["x"] == pytest.approx([0.5, 1.0, 1.5], rel=1e-13)
    rest = st.StickSet(run.system)
    assert rest.margins(run.final["x"]).relative == pytest.approx(1.0, rel=1e-12)


def test_slow_ramp_slips_at_the_critical_forces():
    run = solved(presets.quasistatic_ramp())
    force = run.quantities["onset_force"].value
    assert force == pytest.approx([7.3575, 4.905, 2.4525], rel=1e-12)


def test_slow_loading_ends_at_the_lower_corner():
    run = solved(presets.stick_set())
    lower = st.StickSet(run.system, 10.0).projections().lower
    assert run.final["x"] == pytest.approx(lower, rel=1e-12)


def test_branches_are_reported():
    run = solved(presets.quasistatic_branches())
    assert run.determinism.status == "lost"
    assert run.determinism.losses[0].kind == "quasistatic_branches"


def test_the_front_of_the_wave_runs_through():
    run = solved(presets.detachment_wave(20))
    onset = np.array(run.quantities["onset_time"].value)
    assert (np.diff(onset) < 0.0).all()
    assert onset[-1] == 0.0
