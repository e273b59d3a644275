"""`stiction run`: exit codes, the folder it writes, and that it can be run again."""

import ast
import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import stiction as st
from stiction.io.scenario import entries
from stiction.io.scenario.listing import duration
from stiction.io.staging import claimed
from stiction.studies.listing import ready_entries

FOLDER = ["events.csv", "run.nc", "scenario.toml", "summary.json"]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def test_help_and_list(stiction, monkeypatch):
    # as in a pipe, where nothing is cut, whatever ran the tests says of its own screen
    monkeypatch.setenv("COLUMNS", "10000")
    assert "reproduce" in stiction("--help").out
    listed = stiction("list").out.splitlines()
    assert any(line.startswith("  slip-wave ") and "Fig. 5" in line for line in listed)
    # columns stand apart, those of the longest words too
    columns = [re.split(r" {2,}", line.strip()) for line in listed if line.startswith("  ")]
    # by system, studies behind the scenarios
    known = [*sorted(entries(), key=lambda entry: entry.system), *ready_entries()]
    assert [column[0] for column in columns] == [entry.name for entry in known]
    assert [column[1] for column in columns] == [duration(entry.seconds) for entry in known]
    reported = stiction("run", "--help").out
    assert re.search(r"--checkpoint-every[^\[]*\[x>=0\.0\][^\[]*\[default: 10\.0\]", reported)
    assert stiction("--version").out.strip() == f"stiction {st.__version__}"


def test_result_is_complete(stiction, here):
    answer = stiction("run", "slip-wave", "--no-figures")
    assert answer.code == 0
    assert answer.err == ""
    assert answer.out.startswith("SOLVED, audit held: Chain by EventDriven, 3 masses")
    assert answer.out.endswith("written to   out/slip-wave\n")
    folder = here / "out" / "slip-wave"
    assert sorted(path.name for path in folder.iterdir()) == FOLDER
    assert sorted(path.name for path in (here / "out").iterdir()) == ["slip-wave"]
    table = summary(folder)
    assert table["status"] == "solved"
    assert table["energy"]["imbalance_rel"] < 1e-12
    assert all(check["ok"] for check in table["audit"])
    # reference case B_ramp_1; mass 3 slips when the ramp reaches mu m g
    assert table["quantities"]["onset_time"]["value"] == pytest.approx(
        [7.460278294702263, 4.742238325874063, 2.4525], rel=1e-10
    )
    with (folder / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["contact"], row["kind"]) for row in rows] == [
        ("3", "slip"),
        ("2", "slip"),
        ("2", "stick"),
        ("2", "slip"),
        ("1", "slip"),
    ]


def test_figures_are_drawn_by_default(stiction, here):
    assert stiction("run", "slip-wave").code == 0
    pictures = list((here / "out" / "slip-wave" / "figures").glob("*.png"))
    assert len(pictures) >= 3
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_the_saved_scenario_gives_the_same_numbers(stiction, here):
    assert stiction("run", "baseline", "--no-figures", "--set", "system.law.mu=0.06").code == 0
    first = here / "out" / "baseline"
    again = stiction("run", first / "scenario.toml", "--no-figures", "--out", "again")
    assert again.code == 0
    one, two = st.load(first), st.load(here / "again")
    assert one.system == two.system
    for name, variable in one.variables.items():
        assert np.array_equal(variable.values, two.variables[name].values), name
    for name in ("events.csv", "scenario.toml"):
        assert (first / name).read_bytes() == (here / "again" / name).read_bytes()


def test_python_and_the_command_line_agree(stiction, here):
    assert stiction("run", "slip-wave", "--no-figures").code == 0
    scenario = st.read_scenario("slip-wave")
    run = st.solve(scenario.system, scenario.method, scenario.t_span)
    loaded = st.load(here / "out" / "slip-wave")
    assert np.array_equal(run.variables["x"].values, loaded.variables["x"].values)
    assert np.array_equal(run.event_log.time, loaded.event_log.time)


def test_exit_codes(stiction, here):
    assert stiction("run", "baseline", "--no-figures").code == 0
    assert stiction("run", "baseline", "--no-figures").code == 2
    assert stiction("run", "baseline", "--no-figures", "--overwrite").code == 0
    assert stiction("run", "--nonsense").code == 2
    assert stiction("run").code == 2
    assert stiction("rum").code == 2
    failed = stiction("run", "baseline", "--set", "method.max_events=5", "--out", "failed")
    assert failed.code == 1
    assert failed.out.startswith("WORK LIMIT")
    assert "Why: " in failed.err
    assert "Try: " in failed.err
    assert sorted(path.name for path in (here / "failed").iterdir()) == FOLDER
    table = summary(here / "failed")
    assert table["status"] == "work_limit"
    assert table["reason"]
    assert table["t_end"] < 10.0


def test_an_untrusted_run_exits_with_one(stiction, here):
    """It is complete: written, and drawn; it replaces none that was solved."""
    newton = "method={type='RegularizedTheta', step=1e-2, theta=1.0, smoothing=1e-3}"
    assert stiction("run", "baseline", "--set", newton, "--no-figures").code == 0
    plain = ("--set", newton, "--set", "method.line_search=false")
    answer = stiction("run", "baseline", *plain, "--out", "other")
    assert answer.code == 1
    assert answer.out.startswith("UNTRUSTED, audit FAILED: Chain by RegularizedTheta")
    assert answer.err.startswith("The run cannot be trusted.\nWhy: ")
    assert "steps_converged failed" in answer.err
    assert answer.err.endswith("The result is in other.\n")
    assert list((here / "other" / "figures").iterdir())
    table = summary(here / "other")
    assert (table["status"], table["t_end"]) == ("untrusted", 10.0)
    assert "steps_converged failed" in table["reason"]
    kinds = {check["check"]: check["kind"] for check in table["audit"]}
    assert (kinds["steps_converged"], kinds["ledger_closes"]) == ("convergence", "at_most")
    assert stiction("show", "other").out.startswith("UNTRUSTED")
    beside = stiction("run", "baseline", *plain, "--no-figures", "--overwrite")
    assert beside.code == 1
    assert summary(here / "out" / "baseline.failed")["instead_of"] == "baseline"


def test_a_failed_run_replaces_no_solved_one(stiction, here):
    assert stiction("run", "baseline", "--no-figures").code == 0
    solved = (here / "out" / "baseline" / "run.nc").read_bytes()
    answer = stiction("run", "baseline", "--overwrite", "--set", "method.max_events=5")
    assert answer.code == 1
    written, stored = answer.out.splitlines()[-2:]
    assert written == "written to   out/baseline.failed"
    assert stored.startswith("unchanged    out/baseline,")
    assert "is in out/baseline.failed; out/baseline is unchanged." in answer.err
    assert (here / "out" / "baseline" / "run.nc").read_bytes() == solved
    assert sorted(p.name for p in (here / "out").iterdir()) == ["baseline", "baseline.failed"]
    table = summary(here / "out" / "baseline.failed")
    assert (table["status"], table["instead_of"]) == ("work_limit", "baseline")


def test_a_folder_that_another_run_fills_is_refused(stiction, here):
    with claimed(here / "out" / "baseline"):
        for more in ((), ("--overwrite",), ("--resume",)):
            answer = stiction("run", "baseline", "--no-figures", *more)
            assert answer.code == 2
            assert re.search(rf"process {os.getpid()} on .*, since 2", answer.err)
    assert not (here / "out").exists()


def test_a_run_that_its_policy_ended_is_complete(stiction, here):
    (here / "fold.toml").write_text(
        '[system]\ntype = "NormalForm"\nJ1 = -1.5\nJ2 = -2.0\n\n[solve]\nt_end = 10.0\n'
    )
    answer = stiction("run", "fold.toml", "--no-figures")
    assert answer.code == 0
    assert answer.out.startswith("STOPPED, audit held: NormalForm by EventDriven, 3 states")
    assert "requested end time 10 try the" in " ".join(answer.out.split())
    assert "mass" not in answer.out
    assert summary(here / "out" / "fold")["status"] == "stopped"
    settings = ('method={type="EventDriven", policy={type="Enumerate", grid=2}}', "solve.save=11")
    changes = [word for setting in settings for word in ("--set", setting)]
    gone_on = stiction("run", "fold.toml", *changes, "--no-figures", "--out", "on")
    assert gone_on.code == 0
    assert gone_on.out.startswith("SOLVED")


def test_quiet_says_nothing(stiction, here):
    answer = stiction("run", "baseline", "--no-figures", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert (here / "out" / "baseline" / "summary.json").exists()


def test_a_file_gives_its_name_to_the_folder(stiction, here):
    text = 'title = "mine"\n[system]\ntype = "Chain"\nmass = 1.0\nstiffness = 1.0\n'
    (here / "mine.toml").write_text(text + "[solve]\nt_end = 1.0\n")
    assert stiction("run", "mine.toml", "--no-figures").code == 0
    saved = st.read_scenario(here / "out" / "mine" / "scenario.toml")
    assert (saved.title, saved.t_end) == ("mine", 1.0)


def test_it_works_as_a_process(shell, here):
    answer = shell("run", "slip-wave", "--no-figures")
    assert (answer.code, answer.err) == (0, "")
    shown = shell("show", "out/slip-wave")
    assert shown.code == 0
    assert answer.out.startswith(shown.out)
    refused = shell("run", "slip-wave", "--no-figures")
    assert (refused.code, refused.out) == (2, "")
    assert "Traceback" not in refused.err


def test_light_commands_import_nothing_heavy(here):
    code = (
        "import sys\n"
        "from stiction.cli.main import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'numpy', 'numba', 'pandas', 'xarray', 'matplotlib', 'h5py'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
    )

    def heavy(*words):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return set(ast.literal_eval(done.stderr))

    assert heavy("--help") == set()
    assert heavy("list") == set()
    assert heavy("run", "--help") == set()
    assert not heavy("run", "slip-wave", "--no-figures") & {"pandas", "xarray", "matplotlib"}


def closed_pipe(words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        error = process.stderr.read()
    return process.returncode, error.decode()


def test_a_closed_pipe_is_quiet(here, command):
    assert closed_pipe([*command, "list"]) == (0, "")
    assert closed_pipe([*command, "run", "slip-wave", "--no-figures"]) == (0, "")
    assert st.load("out/slip-wave").status.ok
    short = ["--set", "method.max_events=5", "--out", "short"]
    code, error = closed_pipe([*command, "run", "baseline", *short])
    assert code == 1
    assert error.startswith("The solve stopped")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_disk_behind_the_output_is_said(here, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*command, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
