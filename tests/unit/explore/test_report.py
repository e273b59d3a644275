"""What a page is message of runs: the verdicts are those of the run itself."""

import dataclasses
import json

import numpy as np
import pytest

from stiction.core.audit import Audit, Check
from stiction.explore.report import report_of_run
from stiction.io.scenario import read_scenario


@pytest.fixture(scope="module")
def wave():
    return read_scenario("slip-wave").solve()


def table(message, title):
    return next(one for one in message["tables"] if one["title"].startswith(title))


def test_a_run_is_reported(wave):
    message = report_of_run(wave)
    assert json.loads(json.dumps(message, allow_nan=False)) == message
    assert message["screen"] == str(wave)
    assert message["sound"]
    assert message["figures"] == list(wave.plot.NAMES)
    assert message["verdicts"][3][2].startswith(f"closes to {wave.energy.imbalance_rel:.1e}")
    work = next(row for row in table(message, "ledger")["rows"] if row[0].startswith("work"))
    assert work[2] == f"{wave.energy.external_work[-1]:.6g}"
    assert table(message, "ledger")["head"][1] == "start [J]"
    assert [row[0] for row in table(message, "audit")["rows"]] == [c.check for c in wave.audit]
    assert table(message, "events")["head"][0] == "time [s]"


def test_what_failed_is_reported_first(wave):
    bad = Check("stick_within_bound", False, 2.0, 1.0, 0.5, "force over bound [N]")
    message = report_of_run(dataclasses.replace(wave, audit=Audit((*wave.audit, bad))))
    assert not message["sound"]
    assert message["verdicts"][2] == ["audit", False, "failed: stick_within_bound"]
    assert table(message, "audit")["rows"][0][:5] == ["stick_within_bound", "FAILED", "2", "1", "N"]


def test_lost_determinism_is_reported():
    run = read_scenario("quasistatic-branches").solve(throw=False)
    message = report_of_run(run)
    assert run.determinism.losses
    assert message["verdicts"][1][:2] == ["determinism", False]
    rows = table(message, "losses")["rows"]
    assert len(rows) == len(run.determinism.losses)
    assert rows[0][1] == run.determinism.losses[0].kind
    assert not message["sound"]


def test_a_run_that_stopped_says_why():
    run = read_scenario("wheel-slips-then-slides").solve(throw=False)
    message = report_of_run(run)
    assert message["verdicts"][0][1] is run.status.ok
    assert run.reason in message["verdicts"][0][2]
    assert not message["sound"]


def test_many_events_are_cut_and_reported(wave):
    log = wave.event_log
    many = 600
    longer = dataclasses.replace(
        log,
        time=np.linspace(0.0, 8.0, many),
        contact=np.ones(many, np.int64),
        before=["stick"] * many,
        after=["slip+"] * many,
        kind=["slip"] * many,
        columns={name: np.zeros(many) for name in log.columns},
    )
    message = table(report_of_run(dataclasses.replace(wave, event_log=longer)), "events")
    assert message["title"] == "events (600)"
    assert len(message["rows"]) == 500
    assert message["note"].startswith("100 more")
