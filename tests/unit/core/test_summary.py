"""The one-screen summary."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism, Loss
from stiction.core.events import EventLog
from stiction.core.run import Quantity
from stiction.errors import Status
from stiction.io.store import load, save


def test_says_what_matters(run):
    text = str(run)
    lines = text.splitlines()
    assert lines[0] == "SOLVED, audit FAILED: Chain by EventDriven, 3 masses, t = 0 ... 8 s"
    assert "onset time [s]" in lines[1]
    assert lines[2].split() == ["1", "0.1"]
    assert lines[4].split() == ["3", "never"]
    assert "2.66666667 s: time from which all masses stick for good" in text
    assert "word = lower corner: a name" in text
    assert "3 (1 slip, 1 reverse, 1 stop)" in text
    assert "each step to 1.0e-16" in text
    assert "lost once" in text
    assert "t = 1.5 s  grazing_onset, contact 2; choice: stuck on" in text
    assert "0.25 s; steps 17, solves per step 1.0625" in text


def test_compiling_and_solving_are_distinguished(run):
    clocks = {"wall_s": 8.25, "compile_s": 8.0, "solve_s": 0.25}
    text = str(dataclasses.replace(run, provenance={**run.provenance, **clocks}))
    assert "cost         0.25 s and 8 s to compile; steps 17" in text


def test_a_table_of_numbers_is_no_column(run):
    pairs = {"pairs": Quantity([[0.0, 1.0], [2.0, 3.0]], "m", "two of each")}
    lines = str(dataclasses.replace(run, quantities={**pairs, **run.quantities})).splitlines()
    assert lines[1:5] == str(run).splitlines()[1:5]


def test_failed_checks_come_first(run):
    lines = str(run).splitlines()
    failed = next(i for i, line in enumerate(lines) if line.startswith("AUDIT FAILED"))
    held = next(i for i, line in enumerate(lines) if line.startswith("audit"))
    assert failed < held
    assert "made_up 0.667 (limit 0.5) at t = 1.25 s: what it means" in lines[failed]
    assert "1 held: ledger_closes" in lines[held]


def test_a_unique_future_is_said(run):
    assert "the solution was unique" in str(dataclasses.replace(run, determinism=Determinism()))


def test_a_loss_without_a_future(run):
    several = run.determinism.losses
    end = Loss(2.0, "no_continuation", {"drive": 3.5}, "the run ends here", {"drive": "N"})
    text = str(dataclasses.replace(run, determinism=Determinism([end])))
    assert "lost once: no solution exists: the run ends" in text
    assert "no_continuation, drive 3.5 N; the run ends here" in text
    assert "choice" not in text
    assert "choice" not in repr(end)
    both = Determinism([*several, end])
    assert both.words == "the model has more than one solution, and no solution at the end"
    assert both.words in both._repr_html_()


def test_a_failed_run_says_why_and_what_to_try(make_run):
    asked = np.linspace(0.0, 99.0, 12)
    text = str(make_run(status=Status.WORK_LIMIT, reason="max_steps were used up", asked=asked))
    assert text.startswith("WORK LIMIT")
    assert "max_steps were used up; requested end time 99 s" in text
    assert "try a" in text


def test_a_loss_shows_its_few_numbers(run):
    where = {"velocities": [[0.0], [0.75]], "names": ["stick"], "many": [1.0] * 9, "load": 0.25}
    lost = Determinism((Loss(0.0, "quasistatic_branches", where),))
    text = str(dataclasses.replace(run, determinism=lost))
    assert "t = 0 s  quasistatic_branches, velocities 0 | 0.75, load 0.25\n" in text


def test_nothing_happened(run):
    text = str(dataclasses.replace(run, event_log=EventLog(), audit=Audit(), stats={}))
    assert "events       none" in text
    assert "nothing was checked" in text


@pytest.mark.parametrize("n", [1, 3, 50, 4000])
def test_fits_on_one_screen(make_run, n):
    crowded = make_run(
        n,
        quantities={
            **{
                name: Quantity([float(i) / 3.0 for i in range(n - 1)] + [None], "N m s/kg")
                for name in ("onset_time", "onset_force", "critical_force", "another", "more")
            },
            **{f"number_{i}": Quantity(1.0 / 3.0, "m", "x" * 90) for i in range(20)},
        },
        determinism=Determinism(tuple(Loss(1.0, "kind", {}, "y" * 90) for _ in range(30))),
        audit=Audit(tuple(Check(f"check_{i}", i > 5, 1.0, 2.0, 3.0, "z" * 90) for i in range(12))),
        stats={f"count_{i}": i for i in range(40)},
    )
    lines = str(crowded).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100


def test_a_loaded_run_reads_the_same(run, tmp_path):
    assert str(load(save(run, tmp_path / "run"))) == str(run)


def test_notebooks_show_what_is_folded(run, make_run):
    text = run._repr_html_()
    assert "3 events" in text
    assert "#d6336c" in text.partition("</strong>")[0]
    valid = dataclasses.replace(run, audit=Audit(), determinism=Determinism())
    assert "#1a8754" in valid._repr_html_()
    assert len(text) < 20_000
    # nothing that a run is called can become markup
    odd = "<script>alert(1)</script>"
    hostile = make_run(3, quantities={odd: Quantity(odd, odd, odd)}, system_name=odd, reason=odd)
    assert "<script" not in hostile._repr_html_()


def test_missing_searches_are_reported(run, tmp_path):
    unseen = "splits of a kind were not searched for"
    shown = dataclasses.replace(run, determinism=Determinism((), unseen=unseen))
    assert f"determinism  no loss was found; {unseen}" in str(shown)
    assert shown.determinism.status == "deterministic"
    save(shown, tmp_path / "run")
    assert load(tmp_path / "run").determinism.unseen == unseen


def test_an_unknown_attribute_of_a_run_says_where_the_arrays_are(run):
    with pytest.raises(AttributeError, match=r"saved arrays are in run\.data\[NAME\]"):
        run.x_1  # noqa: B018
    assert not hasattr(run, "_private")


def test_scaled_times_beside_metres_a_second_are_explained():
    wheel = st.WheelOnTurntable(x0=[0.6, -0.05, -0.9])
    shown = str(st.solve(wheel, t_span=(0.0, 0.1)))
    assert "scaled t = 0 ... 0.1" in shown.splitlines()[0]
    assert "times are scaled; velocities are per second of physical time" in shown
