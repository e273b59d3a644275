"""Results by name, lists reduced to numbers, functions of a run."""

import numpy as np
import pytest

import stiction as st
from stiction.io.scenario import read_scenario
from stiction.studies.results import Reading, fewest_saves, results_of, trajectories_of


@pytest.fixture(scope="module")
def run():
    return read_scenario("slip-wave").solve(save=11)


def test_states_are_saved_where_a_result_needs_them():
    jump = st.Chain(1.0, 1.0, law=st.StaticKinetic(0.4, 0.2))
    function = Reading(functions=(lambda run: {},))
    asked = [Reading(), Reading(("stop_time",)), Reading(("max(stick_above_kinetic)",)), function]
    assert [fewest_saves(jump, reading) for reading in asked] == [2, 2, None, None]
    found = st.solve(jump, t_span=(0.0, 1.0))
    assert "stick_above_kinetic" in found.quantities
    assert "stick_above_kinetic" not in results_of(found, Reading())
    assert fewest_saves(jump, Reading(("audit.stick_within_bound",))) is None
    assert fewest_saves(object(), Reading()) is None


def test_results_by_name(run):
    names = ("stop_time", "max(onset_force)", "count(onset_time)", "final.x", "events.slip")
    found = results_of(run, Reading((*names, "energy.friction_heat", "imbalance")))
    assert np.isnan(found["stop_time"].values)
    forces = [f for f in run.quantities["onset_force"].value if f is not None]
    assert found["max(onset_force)"].values == max(forces)
    assert found["count(onset_time)"].values == len(forces)
    assert found["final.x"].values.tolist() == run.final["x"].tolist()
    assert (found["final.x"].dims, found["final.x"].unit) == (("mass",), "m")
    assert found["events.slip"].values == list(run.event_log.kind).count("slip")
    heat = run.energy.columns()["friction_heat"][-1]
    assert (found["energy.friction_heat"].values, found["energy.friction_heat"].unit) == (heat, "J")


def test_times_of_events_and_between_them(run):
    times = run.event_log.time[np.array([kind == "slip" for kind in run.event_log.kind])]
    found = results_of(
        run, Reading(("first(times.slip)", "mean(gaps.slip)", "count(times.no_kind)"))
    )
    assert found["first(times.slip)"].values == times[0]
    assert found["mean(gaps.slip)"].values == np.mean(np.diff(times))
    assert found["mean(gaps.slip)"].unit == "s"
    assert found["count(times.no_kind)"].values == 0.0
    assert np.isnan(results_of(run, Reading(("mean(gaps.no_kind)",)))["mean(gaps.no_kind)"].values)


def test_every_number_is_saved_by_default(run):
    assert set(results_of(run, Reading())) == set(run.quantities)


def test_a_function_may_give_the_saved_results(run):
    found = results_of(run, Reading.of(lambda r: {"late": r.t_end, "both": [1.0, None]}))
    assert found["late"].values == 8.0
    assert np.isnan(found["both"].values[1])


def test_trajectories_have_rows(run):
    found = trajectories_of(run, 15)
    assert found["x_over_time"].values.shape == (15, 3)
    # the run has fewer rows
    assert np.isnan(found["time"].values[11:]).all()
    assert found["time"].values[10] == 8.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stop_tim", "did you mean 'stop_time'"),
        ("mx(onset_force)", "did you mean 'max'"),
        ("final.y", "final.x"),
        ("energy.friction", "energy.friction_heat"),
        ("audit.ledger", "audit.ledger_closes"),
        ("times.slip", "first\\(times.slip\\)"),
        ("measured.speed", "a result of these runs"),
    ],
)
def test_unknown_results_are_refused(run, name, words):
    with pytest.raises(st.ScenarioError, match=words):
        results_of(run, Reading((name,)))


def test_what_is_no_number_is_refused(run):
    large = {"large": 2**70, "lost": np.array([1.0, None], dtype=object)}
    found = results_of(run, Reading.of(lambda r: large))
    np.testing.assert_array_equal(found["large"].values, 2.0**70)
    np.testing.assert_array_equal(found["lost"].values, [1.0, np.nan])
    for value in ("fast", np.array(["1.0"]), np.array([1.0 + 2.0j]), [[1.0, 2.0], [3.0]]):
        with pytest.raises(st.ScenarioError, match="numbers"):
            results_of(run, Reading.of(lambda r, value=value: {"word": value}))
    for name in ("events", "mine"):
        with pytest.raises(st.ScenarioError, match="a new name"):
            results_of(run, Reading.of(lambda r, name=name: {name: 1.0}), taken=("mine",))
    with pytest.raises(st.ScenarioError, match="a dictionary"):
        results_of(run, Reading.of(lambda r: 3.0))
    with pytest.raises(st.ScenarioError, match="names of results"):
        Reading.of(5)
