"""Studies in files."""

import pytest

import stiction as st
from stiction.studies import Grid, Range, Sobol
from stiction.studies.listing import ready, ready_entries
from stiction.studies.reader import read_study

TEXT = """
title = "Where a chain stops"
scenario = "slip-wave"
set = ["solve.t_end=4"]
results = ["stop_time"]

[design]
type = "Sobol"
members = 16

[fields]
law.mu = { from = 0.1, to = 0.3 }
"mass[2]" = { from = 1.0, to = 3.0, log = true }
"""


def test_files_become_sweeps(tmp_path):
    sweep = read_study(TEXT)
    assert (sweep.design, sweep.title) == (Sobol(16), "Where a chain stops")
    assert sweep.fields == {"law.mu": Range(0.1, 0.3), "mass[2]": Range(1.0, 3.0, log=True)}
    assert (sweep.scenario.t_end, sweep.members) == (4.0, 16)
    (tmp_path / "mine.toml").write_text(TEXT)
    assert read_study(tmp_path / "mine.toml") == sweep
    # the key of earlier files
    assert read_study(TEXT.replace("results =", "keep =")) == sweep


def test_a_scenario_may_lie_beside_its_study(tmp_path):
    own = '[system]\ntype = "Chain"\nmass = [1.0]\nstiffness = 1.0\n[solve]\nt_end = 1.0\n'
    (tmp_path / "own.toml").write_text(own)
    text = 'scenario = "own.toml"\n[fields]\nstiffness = [1.0, 2.0]\n'
    (tmp_path / "study.toml").write_text(text)
    beside = read_study(tmp_path / "study.toml")
    inside = read_study(own + "[fields]\nstiffness = [1.0, 2.0]\n")
    assert beside.scenario == inside.scenario
    assert inside.design == Grid()


@pytest.mark.parametrize("name", list(ready()))
def test_ready_studies_can_be_read(name):
    assert read_study(name).members > 10
    assert any(entry.name == name and entry.title for entry in ready_entries())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("results =", "resuls =", "did you mean 'results'"),
        ("from = 0.1,", "frm = 0.1,", "did you mean 'from'"),
        ("from = 0.1, to = 0.3", "from = 0.1, count = 4", "fields.law.mu.to"),
        ('type = "Sobol"', 'type = "Sobbol"', "did you mean 'Sobol'"),
        ("members = 16", "member = 16", "did you mean 'members'"),
        ('"slip-wave"', '"slip-wav"', "did you mean 'slip-wave'"),
        ('scenario = "slip-wave"', "", "needs scenario"),
        ("log = true", 'log = "yes"', "true or false"),
        ('["stop_time"]', "5", "names of results"),
        ('["solve.t_end=4"]', '["solve.t_end"]', "path=value"),
        ("[fields]", "[fieldz]", "did you mean 'fields'"),
        ("law.mu =", "law.mue =", "did you mean 'mu'"),
        ("[design]", "trajectories = 1.5\n[design]", "a whole number"),
        ("title =", "title", "study"),
    ],
)
def test_bad_files_are_refused(old, new, words):
    assert old in TEXT
    with pytest.raises(st.ModelError, match=words):
        read_study(TEXT.replace(old, new, 1))


def test_unknown_names_are_refused():
    with pytest.raises(st.ScenarioError, match="did you mean 'sensitivity'"):
        read_study("sensitivty")
    with pytest.raises(st.ScenarioError, match="which has no table of swept fields"):
        read_study("slip-wave")
