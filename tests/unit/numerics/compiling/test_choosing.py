"""The choice of kernels for a run of the command line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import stiction as st
from stiction.cli.compile import compile_systems, systems
from stiction.errors import ModelError
from stiction.numerics.compiling import folders
from stiction.numerics.compiling.choosing import TooSlow, Trial, choose
from stiction.numerics.jit import running

RUNNER = "stiction.chains.event_driven.run:solve"


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine without kernels, where nobody asks for a mode."""
    monkeypatch.setattr("stiction.numerics.compiling.choosing.GIVEN", None)
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path / "saved"))
    monkeypatch.setattr(folders, "PACKAGED", tmp_path / "packaged")


def test_the_choice(fresh, monkeypatch):
    assert choose(RUNNER, None) == ("plain", True)
    assert choose(RUNNER, "compiled") == ("compiled", False)
    assert choose(RUNNER, "plain") == ("plain", False)
    # a user's own method may compile what it likes
    assert choose("", None) == ("compiled", False)
    folders.mark_ready(RUNNER)
    assert choose(RUNNER, None) == ("compiled", False)
    monkeypatch.setattr("stiction.numerics.compiling.choosing.GIVEN", "plain")
    assert choose(RUNNER, None) == ("plain", False)


def test_what_is_over_at_once_is_plain_on_every_machine(fresh):
    folders.mark_ready(RUNNER)
    assert choose(RUNNER, None, 0.1) == ("plain", False)
    assert choose(RUNNER, None, 1.0) == ("compiled", False)
    assert choose(RUNNER, "compiled", 0.1) == ("compiled", False)


def test_small_chains_say_so():
    small, large = (st.read_scenario(name) for name in ("slip-wave", "ramp-wave-50"))
    assert small.system.plain_seconds(st.EventDriven(), 8.0) < 0.25
    assert large.system.plain_seconds(st.EventDriven(), large.t_end) > 0.25
    assert small.system.plain_seconds(st.ThetaStepper(1e-5), 8.0) > 10.0


def test_a_system_that_was_compiled_is_ready(fresh):
    folders.mark_ready("chains")
    assert choose(RUNNER, None) == ("compiled", False)
    assert choose("stiction.rods.leapfrog.run:solve", None) == ("plain", True)


def test_a_package_that_brings_kernels_is_ready(fresh):
    place = folders.PACKAGED / "x86-64-v3"
    place.mkdir(parents=True)
    (place / folders._ready_name("chains")).write_text("chains")
    assert choose(RUNNER, None) == ("compiled", False)


def work(seconds):
    """Keep the processor busy."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_long_run_is_given_up(monkeypatch):
    monkeypatch.setattr("stiction.numerics.compiling.choosing._FIRST_LOOK", 0.0)
    with Trial(active=True) as trial:
        trial.report(0.5)
        work(0.02)
        with pytest.raises(TooSlow):
            trial.report(1e-4)
    with Trial(active=False) as trial:
        trial.report(1e-9)


def test_only_the_time_of_the_run_counts(monkeypatch):
    clock = [1e4]
    monkeypatch.setattr("stiction.numerics.compiling.choosing.time.process_time", lambda: clock[0])
    monkeypatch.setattr("stiction.numerics.compiling.choosing._BUDGET", 10.0)
    monkeypatch.setattr("stiction.numerics.compiling.choosing._FIRST_LOOK", 0.1)
    with Trial(active=True) as trial:
        clock[0] += 4.9
        trial.report(0.5)
        clock[0] += 0.2
        with pytest.raises(TooSlow):
            trial.report(0.5)


def test_a_run_that_reports_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr("stiction.numerics.compiling.choosing._BUDGET", 0.05)
    with pytest.raises(TooSlow), Trial(active=True):
        work(5.0)
    work(0.1)  # no alarm is left behind


def test_a_handler_of_another_library_remains(monkeypatch):
    monkeypatch.setattr("signal.getsignal", lambda _: None)
    before = signal.getitimer(signal.ITIMER_PROF)
    with Trial(active=True):
        assert signal.getitimer(signal.ITIMER_PROF) == before


def test_a_run_given_up_inside_a_law_is_no_error_of_the_law(monkeypatch):
    """Most of a plain run with weakening friction is spent in its formulas."""
    monkeypatch.setattr("stiction.numerics.compiling.choosing._BUDGET", 0.02)
    scenario = st.read_scenario("burridge-knopoff")
    for _ in range(10):
        with running("plain"), pytest.raises(TooSlow), Trial(active=True):
            scenario.solve()


def test_a_run_that_is_nearly_over_may_end(monkeypatch):
    monkeypatch.setattr("stiction.numerics.compiling.choosing._BUDGET", 0.05)
    with Trial(active=True) as trial:
        trial.report(0.9)
        work(0.07)
        ended = True
    assert ended


def command(folder, *words, **variables):
    """Run the command line on a machine without kernels."""
    environment = {k: v for k, v in os.environ.items() if k != "STICTION_KERNELS"}
    environment |= {"STICTION_CACHE_DIR": str(folder / "saved"), **variables}
    code = "from stiction.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def provenance(folder):
    return json.loads((folder / "summary.json").read_text())["provenance"]


def test_a_small_first_run_compiles_nothing_and_says_so(tmp_path):
    done = command(tmp_path, "run", "slip-wave", "--no-figures", "--out", "a")
    assert done.returncode == 0, done.stderr
    reported = provenance(tmp_path / "a")
    assert reported["kernels"] == "plain"
    assert reported["compile_s"] == 0.0
    assert not list((tmp_path / "saved").glob("*.kernel"))


@pytest.mark.slow
def test_a_run_that_is_compiled_once_is_compiled_the_next_time(tmp_path):
    # strings have the fewest kernels; so does any system of unknown plain time
    words = ("run", "string-symmetric", "--no-figures", "--overwrite", "--out", "a")
    done = command(tmp_path, *words, STICTION_KERNELS="compiled")
    assert done.returncode == 0, done.stderr
    assert provenance(tmp_path / "a")["kernels"] == "compiled"
    done = command(tmp_path, *words)
    assert provenance(tmp_path / "a")["kernels"] == "compiled"
    assert done.stderr == ""


def test_a_small_first_run_of_unknown_length_reports_how_to_compile(tmp_path, monkeypatch):
    # kernels of others are there: of the other systems, and of another method of this one
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path / "saved"))
    for other in (*({*systems()} - {"switching"}), "stiction.switching.ensembles.ensemble:run"):
        folders.mark_ready(other)
    done = command(tmp_path, "run", "normal-form", "--no-figures", "--out", "a")
    assert done.stderr == (
        "The kernels of EventDriven (switching) are not compiled yet, and the run is small: "
        "it ran as plain Python.\nRun `stiction compile switching` once for full speed.\n"
    )
    assert provenance(tmp_path / "a")["kernels"] == "plain"


def test_no_system_is_refused(tmp_path):
    done = command(tmp_path, "compile", "chain")
    assert done.returncode == 2
    assert "chains" in done.stderr
    with pytest.raises(ModelError, match="needs one of"):
        compile_systems(["chain"])


def test_every_system_has_its_list():
    assert set(systems()) == {"bodies", "chains", "faults", "rods", "solids", "switching"}
