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
    saved = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(saved)


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


# ---- flows that switch


def test_work_of_flows_is_not_more_than_what_was_recorded(bench):
    recorded = {}
    for line in (FOLDER / "results" / "counts.jsonl").read_text().splitlines():
        point = json.loads(line)
        if point["kind"] == "flow_count":
            recorded[point["problem"], point["method"]] = point
    rows = bench("bench_counts").flow_counts()
    assert {(row["problem"], row["method"]) for row in rows} == set(recorded)
    for row in rows:
        before = recorded[row["problem"], row["method"]]
        name = (row["problem"], row["method"])
        assert row["steps"] <= 1.1 * before["steps"] + 2, name
        assert row["rejected"] <= 1.2 * before["rejected"] + 3, name
        assert row["events"] == before["events"], name


@pytest.mark.parametrize("t_end", [1.0, 5.0, 8.0, 20.0])
def test_closed_form_of_the_belt_agrees_with_event_driven(bench, t_end):
    belts = bench("belt")
    belt = belts.Belt(t_end=t_end)
    run = st.solve(st.BeltOscillator(), st.EventDriven(rtol=1e-12), (0.0, t_end), save=2)
    log = run.event_log
    events = [
        (float(t), 1, kind, MODES[after])
        for t, kind, after in zip(log.time, log.kind, log.after, strict=True)
    ]
    found = belts.errors(events, run.final["x"], run.final["v"], belts.exact(belt))
    assert max(part or 0.0 for part in found) < 1e-11


MODES = {"+": 1, "-": -1, "slide": 0}


def test_another_sequence_is_the_largest_error(bench):
    belts = bench("belt")
    want = belts.exact(belts.Belt())
    assert len(want.events) == 5
    assert belts.errors(want.events, want.x, want.v, want) == (0.0, 0.0)
    for events in (want.events[:-1], [*want.events, (19.0, 1, "slide", 0)]):
        assert belts.errors(events, want.x, want.v, want)[1] == np.inf
    assert belts.errors(None, want.x, want.v + 0.5, want) == (0.5, None)


@pytest.mark.parametrize("kind", ["restarted", "filippov"])
def test_peers_of_the_belt_solve_the_same_problem(bench, kind):
    belts = bench("belt")
    belt = belts.Belt(t_end=8.0)
    # the loop as plain Python, so that nothing is compiled here
    args = ("DOP853", 1e-11) if kind == "restarted" else (False, False, 1e-11)
    reply = bench("peers").ask(getattr(belts, kind)(*args), belt, 0.0)
    assert reply.failed is None
    answer = reply.answer
    found = belts.errors(answer.events, answer.x[-1], answer.v[-1], belts.exact(belt))
    assert max(found) < 1e-9


def test_smoothed_peer_approaches_the_belt(bench):
    peer, belts = bench("peer_filippov"), bench("belt")
    belt = belts.Belt(t_end=8.0)
    errors = []
    for width in (1e-3, 1e-4, 1e-5):
        settings = {"kind": "smoothed", "method": "odeint", "width": width}
        answer = peer.prepare(belt.plain(), settings | {"rtol": 1e-9, "atol": 1e-12})()
        errors.append(belts.errors(None, answer["x"][-1], answer["v"][-1], belts.exact(belt))[0])
    assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


def test_interpolant_of_the_filippov_peer_ends_with_its_step(bench):
    steps = bench("filippov_steps")
    # the weights of the last stage and of the continuous extension at the end are the same
    assert np.abs(steps.P.sum(axis=1) - np.append(steps.A[6], 0.0)).max() < 1e-15
    assert abs(steps.E.sum()) < 1e-16


def test_forces_that_sweeps_increase_without_bound(bench):
    """A drop in which every sweep presses two contacts harder; Newton's method solves them."""
    system, _ = bench("trust_rods").drop(np.random.default_rng(742))
    method = st.rods.RollingLeapfrog(fraction=0.05)
    run = st.solve(system, method, (0.0, 0.06), save=13, throw=False)
    assert run.status is st.Status.SOLVED
    assert run.t_end == 0.06
    assert np.abs(run.data.position.values).max() < 1.0
    assert next(c for c in run.audit if c.check == "contacts_solved").value == 0.0


def test_tables_of_pages_are_those_of_the_recorded_runs(bench):
    for name, table in bench("page_tables").TABLES.items():
        written = (FOLDER / "results" / "pages" / f"{name}.md").read_text("utf-8")
        if name.startswith("tyre"):
            # the first motion is not sensitive to rounding
            assert written.startswith(table(rows=1)), name
        else:
            assert table() + "\n" == written, name


def test_verdicts_are_those_of_the_recorded_curves(bench, capsys):
    bench("solids_claims").verdicts()
    written = FOLDER / "results" / "solids" / "verdicts.md"
    assert capsys.readouterr().out.lstrip("\n") == written.read_text("utf-8")
