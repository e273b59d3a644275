"""Paths lead to fields, and values are put there."""

import numpy as np
import pytest

import stiction as st
from stiction.io.scenario import read_scenario
from stiction.studies.fields import changed, current, place_of, unit_of

SCENARIO = read_scenario("slip-wave")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("law.mu", 0.25),
        ("system.law.mu", 0.25),
        ("load.rate", 1.0),
        ("mass[2]", 1.0),
        ("method.rtol", 1e-12),
        ("solve.t_end", 8.0),
    ],
)
def test_paths_lead_to_fields(path, value):
    assert current(SCENARIO, place_of(SCENARIO, path)) == value


def test_values_are_put_in_place():
    paths = ("law.mu", "mass[2]", "load.rate", "method.order", "solve.t_end")
    places = [place_of(SCENARIO, path) for path in paths]
    made = changed(SCENARIO, places, [np.float64(0.3), 4.0, 2, 20.0, 9.0])
    assert (made.system.law.mu, made.system.load.rate, made.t_end) == (0.3, 2, 9.0)
    assert list(made.system.mass) == [1.0, 1.0, 4.0]
    assert made.method.order == 20
    assert isinstance(made.method.order, int)
    # the rest is as it was, and so is what was changed
    assert made.system.stiffness == SCENARIO.system.stiffness
    assert SCENARIO.system.law.mu == 0.25


def test_an_object_may_be_a_value():
    law = st.StaticKinetic(mu_static=0.3, mu_kinetic=0.2)
    assert changed(SCENARIO, [place_of(SCENARIO, "law")], [law]).system.law == law
    table = {"type": "Coulomb", "mu": 0.1}
    assert changed(SCENARIO, [place_of(SCENARIO, "law")], [table]).system.law == st.Coulomb(0.1)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("law.mue", "did you mean 'mu'"),
        ("lod.rate", "did you mean 'load'"),
        ("mass[7]", "an index from 0 to 2"),
        ("mass[9]", "indices start at 0"),
        ("stiffness[0]", "this field holds one value"),
        ("law.mu.x", "it holds a value"),
        ("solve.t_ende", "did you mean 't_end'"),
        ("law mu", "a dotted path"),
        ("", "a dotted path"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(path, words):
    with pytest.raises(st.ScenarioError, match=words.replace("[", r"\[")):
        place_of(SCENARIO, path)


def test_values_of_a_wrong_type_are_refused():
    with pytest.raises(st.ScenarioError, match="has another type"):
        changed(SCENARIO, [place_of(SCENARIO, "load.rate")], ["fast"])
    with pytest.raises(st.ModelError, match="mu"):
        changed(SCENARIO, [place_of(SCENARIO, "law.mu")], [-1.0])
    with pytest.raises(st.ModelError, match="positive numbers"):
        changed(SCENARIO, [place_of(SCENARIO, "mass[2]")], [None])


@pytest.mark.parametrize(
    "paths", [("mass[2]", "mass"), ("mass", "mass[2]"), ("mass[0]", "system.mass[0]")]
)
def test_paths_of_one_value_are_refused(paths):
    places = [place_of(SCENARIO, path) for path in paths]
    with pytest.raises(st.ScenarioError, match="none is a part of another"):
        changed(SCENARIO, places, [1.0, 1.0])


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("law.mu", "1"),
        ("load.rate", "N/s"),
        ("mass[2]", "kg"),
        ("x0", "m"),
        ("v0", "m/s"),
        ("solve.t_end", "s"),
    ],
)
def test_units_are_those_of_the_fields(path, unit):
    assert unit_of(SCENARIO, place_of(SCENARIO, path)) == unit


def test_units_of_fields_behind_an_index():
    scenario = read_scenario("cube-slides")
    for path, unit in {"bodies[0].mass": "kg", "bodies[0].shape.width": "m"}.items():
        assert unit_of(scenario, place_of(scenario, path)) == unit


def test_what_has_no_unit_says_none():
    assert unit_of(SCENARIO, place_of(SCENARIO, "method.order")) == ""
