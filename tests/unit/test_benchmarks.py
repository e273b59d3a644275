"""The error measure of the benchmarks, their own reference solution, and counts of work."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import stiction as st

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    """Yield a function that imports a script of the benchmarks, which are no package."""
    names = [path.stem for path in FOLDER.glob("*.py")]
    if not names:
        pytest.skip("this copy of the sources has no benchmarks")
    # their names are short; nobody else's module of the same name may come or go with them
    kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


@pytest.fixture
def answer(bench):
    scenarios = bench("scenarios")
    return scenarios.Answer(
        x=np.array([[1.0, -2.0], [3.0, 4.0]]),
        v=np.array([[0.5, 0.0], [0.0, -0.1]]),
        events=[(0.25, 1, "slip", 1), (0.5, 2, "slip", -1), (0.75, 1, "stick", 0)],
        onset=np.array([0.25, 0.5]),
    )


def compare(scenarios, got, want):
    return scenarios.errors(got, scenarios.Reference(want, len(want.events), "made up"))


def test_no_error_against_itself(bench, answer):
    found = compare(bench("scenarios"), answer, answer)
    assert (found.state, found.onset, found.event, found.events) == (0.0, 0.0, 0.0, 3)


def test_error_is_relative_to_the_largest_of_its_kind(bench, answer):
    scenarios = bench("scenarios")
    in_x = dataclasses.replace(answer, x=answer.x + np.array([[0.0, 0.0], [0.4, 0.0]]))
    in_v = dataclasses.replace(answer, v=answer.v + np.array([[0.0, 0.1], [0.0, 0.0]]))
    assert compare(scenarios, in_x, answer).state == pytest.approx(0.1, rel=1e-14)
    assert compare(scenarios, in_v, answer).state == pytest.approx(0.2, rel=1e-14)


def test_nan_is_the_largest_error(bench, answer):
    broken = dataclasses.replace(answer, x=answer.x * np.nan)
    assert compare(bench("scenarios"), broken, answer).state == np.inf


def test_events_count_only_in_the_right_sequence(bench, answer):
    scenarios = bench("scenarios")
    late = [(t + 0.01, *what) for t, *what in answer.events]
    found = compare(scenarios, dataclasses.replace(answer, events=late), answer)
    assert found.event == pytest.approx(0.01, rel=1e-12)
    swapped = [answer.events[1], answer.events[0], answer.events[2]]
    for events in (swapped, answer.events[:2], [*answer.events, (0.9, 2, "stick", 0)]):
        found = compare(scenarios, dataclasses.replace(answer, events=events), answer)
        assert found.event == np.inf
        assert found.events == len(events)


def test_onsets_count_only_for_the_right_masses(bench, answer):
    scenarios = bench("scenarios")
    late = dataclasses.replace(answer, onset=answer.onset + np.array([0.0, 0.125]))
    assert compare(scenarios, late, answer).onset == 0.125
    never = dataclasses.replace(answer, onset=np.array([0.25, np.nan]))
    assert compare(scenarios, never, answer).onset == np.inf


def test_what_is_not_given_is_not_judged(bench, answer):
    bare = dataclasses.replace(answer, events=None, onset=None)
    found = compare(bench("scenarios"), bare, answer)
    assert (found.onset, found.event, found.events) == (None, None, None)


@pytest.mark.parametrize("name", ["BASELINE", "SLIP_WAVE"])
def test_dense_modal_solution_agrees_with_event_driven(bench, name):
    scenarios, accuracy = bench("scenarios"), bench("bench_accuracy")
    problem = getattr(scenarios, name)
    chain, span = accuracy.chain_of(problem), (0.0, problem.t_end)
    run = st.solve(chain, st.EventDriven(), span, save=problem.samples)
    mine = accuracy.answer_of(problem, run, with_events=True)
    found = scenarios.errors(mine, scenarios.modal_reference(problem))
    assert found.state < 1e-12
    assert found.event < 1e-11
    assert found.onset < 1e-11


@pytest.mark.parametrize("name", ["BASELINE", "SLIP_WAVE", "STEP_WAVE"])
def test_work_is_not_more_than_what_was_recorded(bench, name):
    recorded = {}
    for line in (FOLDER / "results" / "counts.jsonl").read_text().splitlines():
        point = json.loads(line)
        if point["kind"] == "count":
            recorded[point["problem"], point["method"]] = point
    counts, problem = bench("bench_counts"), getattr(bench("scenarios"), name)
    for row in counts.counts(problem):
        before = recorded[row["problem"], row["method"]]
        for key in ("steps", "expansions", "solves"):
            if key in row:
                assert row[key] <= 1.1 * before[key] + 2, (row["method"], key)
        assert row.get("unconverged_steps", 0) == 0
