"""Sessions without a browser: what a page may ask for, with a process that solves."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
import tomllib

import pytest
from explorer import Talk, alive

import stiction as st
from stiction.errors import StoreError
from stiction.explore.fields import fields_of
from stiction.explore.hub import WORKER
from stiction.explore.worker import Worker
from stiction.io.scenario import read_scenario, write_scenario
from stiction.io.scenario.built_in import built_in
from stiction.studies import Sweep

HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(1)>"'&`${1}"""


@pytest.fixture
def talk(tmp_path):
    with Talk(tmp_path) as found:
        yield found


@pytest.fixture
def wave(talk):
    """A session that shows the first run."""
    talk.say("hello")
    assert talk.until("scenario")["name"] == "slip-wave"
    assert talk.until("result")["of"] == "run"
    talk.until("estimate")
    return talk


def long(talk):
    """Begin a run of some seconds, and wait until it is on its way."""
    talk.say("choose", name="belt")
    talk.until("result")
    talk.say("set", path="solve.t_end", value=100_000.0)
    talk.say("run")
    talk.until("progress")


def test_from_a_slider_to_a_picture(talk):
    talk.say("hello")
    names = [entry["name"] for entry in talk.until("catalogue")["scenarios"]]
    assert names == list(built_in())
    chosen = talk.until("scenario")
    paths = [field["path"] for field in chosen["fields"]]
    assert paths[:2] == ["system.mass[0]", "system.mass[1]"]
    first = talk.until("result")
    assert first["sound"]
    assert [name for name, _, _ in first["verdicts"]] == ["run", "determinism", "audit", "ledger"]
    assert "default-src 'none'" in first["page"]
    assert talk.until("estimate")["live"]
    talk.say("set", path="system.law.mu", value=0.1, live=True)
    second = talk.until("result")
    expected = read_scenario("slip-wave", ["system.law.mu=0.1"]).solve()
    events = next(table for table in second["tables"] if table["title"].startswith("events"))
    assert events["title"] == f"events ({len(expected.event_log)})"
    assert [row[0] for row in events["rows"]] == [f"{t:.9g}" for t in expected.event_log.time]
    assert second["page"] != first["page"]


def test_of_many_moves_the_last_one_counts(wave):
    for k in range(20):
        wave.say("set", path="system.law.mu", value=0.10 + 0.01 * k, live=True)
    runs, last = 0, None
    while not runs or wave.session._running:
        last = wave.until("result")
        runs += 1
    expected = read_scenario("slip-wave", [f"system.law.mu={0.10 + 0.01 * 19}"]).solve()
    events = next(table for table in last["tables"] if table["title"].startswith("events"))
    assert [row[0] for row in events["rows"]] == [f"{t:.9g}" for t in expected.event_log.time]
    assert runs < 20


@pytest.mark.parametrize(
    "asked",
    [
        None,
        3,
        [],
        "run",
        {},
        {"do": 3},
        {"do": "__class__"},
        {"do": "exec", "code": "1"},
        {"do": ["run"]},
    ],
)
def test_unknown_requests_are_refused(talk, asked):
    talk.session.hear(asked)
    assert "unknown" in talk.until("error")["text"]
    assert talk.hub.pid is None


def test_bad_values_are_reported_at_their_field(wave):
    wave.say("set", path="system.law.mu", value="much", live=True)
    message = wave.until("error")
    assert message["field"] == "system.law.mu"
    assert message["text"].startswith("system.law.mu: got 'much'; needs a finite number")
    # a number that the system refuses is message when it runs
    wave.say("set", path="system.law.mu", value=-1.0, live=False)
    wave.say("run")
    message = wave.until("error")
    assert message["about"] == "run"
    assert "mu" in message["text"]
    assert "Try:" in message["text"]
    wave.say("set", path="system.law.mu", value=0.2, live=False)
    wave.say("run")
    assert wave.until("result")["sound"]


def test_oversized_runs_are_refused_with_their_estimate(wave):
    wave.say("set", path="solve.t_end", value=1e12, live=True)
    message = wave.until("estimate")
    assert message["too_large"]
    assert "days" in message["text"]
    wave.say("run")
    assert "days" in wave.until("error")["text"]
    assert not wave.hub.busy


def test_a_killed_worker_is_reported_and_survived(wave):
    pid = wave.hub.pid
    wave.say("choose", name="strip-peeling")
    wave.say("run")
    wave.until("begins")
    os.kill(pid, signal.SIGKILL)
    message = wave.until("error")
    assert "ended by signal 9" in message["text"]
    assert "Try: press Run again" in message["text"]
    wave.say("choose", name="slip-wave")
    assert wave.until("result")["sound"]
    assert wave.hub.pid != pid


def test_a_run_is_stopped(wave):
    long(wave)
    begin = time.monotonic()
    wave.say("stop")
    message = wave.until("error")
    assert message["stopped"]
    assert time.monotonic() - begin < 10.0
    wave.say("choose", name="slip-wave")
    assert wave.until("result")["sound"]


def test_a_worker_that_does_not_hear_is_killed(tmp_path):
    deaf = "import time, sys\nfor line in sys.stdin: time.sleep(60)"
    with Talk(tmp_path, [sys.executable, "-c", deaf]) as talk:
        talk.say("choose", name="slip-wave")
        talk.until("begins")
        pid = talk.hub.pid
        talk.say("stop")
        assert talk.until("error")["stopped"]
        assert talk.hub.pid != pid


def test_a_worker_that_ends_at_once_is_not_started_for_ever(tmp_path):
    with Talk(tmp_path, [sys.executable, "-c", "raise SystemExit(3)"]) as talk:
        for again in (True, True, False):
            talk.say("choose", name="slip-wave")
            text = talk.until("error")["text"]
            assert "exit code 3" in text
            assert ("another solver process is started" in text) is again
        assert "3 processes have ended in a row" in text


def test_no_code_of_the_working_folder_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("numpy", "json", "stiction", "msgspec", "sitecustomize"):
        text = f"open({str(tmp_path / 'was_run')!r}, 'w').close()"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    with Talk(tmp_path) as talk:
        talk.say("hello")
        assert talk.until("result")["sound"]
    assert not (tmp_path / "was_run").exists()
    # without the flag that the worker has they are run
    command = [WORKER[0], *(word for word in WORKER[1:] if word != "-P")]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert (tmp_path / "was_run").exists()


def test_workers_end_with_their_parent(tmp_path):
    command = [sys.executable, "-m", "stiction.explore.worker"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b"ready" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(10) == 0
    process.stdout.close()


def test_a_closed_hub_leaves_no_process(tmp_path):
    with Talk(tmp_path) as talk:
        talk.hub.start()
        pid = talk.hub.pid
        assert alive(pid)
    assert not alive(pid)


def test_a_closed_page_receives_nothing_and_stops(wave):
    long(wave)
    wave.received.clear()
    wave.session.close()
    end = time.monotonic() + 20.0
    while wave.hub.busy and time.monotonic() < end:
        wave.posted.get(timeout=5.0)()
    assert not wave.hub.busy
    assert wave.received == []


# ---- files


def test_a_saved_file_runs_again_to_the_same_numbers(wave, tmp_path):
    wave.say("set", path="system.mass[1]", value=2.5)
    wave.say("set", path="solve.t_end", value=12.0)
    wave.say("run")
    shown = wave.until("result")
    wave.say("save", name="mine.toml")
    assert wave.until("saved")["name"] == "mine.toml"
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    scenario = read_scenario(tmp_path / "mine.toml")
    assert scenario.system.masses.tolist() == [1.0, 2.5, 1.0]
    assert scenario.title == read_scenario("slip-wave").title
    # to the text itself, and back
    assert write_scenario(scenario) == text
    events = next(table for table in shown["tables"] if table["title"].startswith("events"))
    assert [row[0] for row in events["rows"]] == [
        f"{t:.9g}" for t in scenario.solve().event_log.time
    ]
    # nothing is replaced unasked
    wave.say("save", name="mine.toml")
    assert "which exists" in wave.until("error")["text"]
    wave.say("save", name="mine.toml", overwrite=True)
    wave.until("saved")
    wave.say("open", name="mine.toml")
    message = wave.until("scenario")
    assert {f["path"]: f["value"] for f in message["fields"]}["system.mass[1]"] == 2.5


@pytest.mark.parametrize("name", built_in())
def test_every_scenario_goes_through_its_file(name):
    text = write_scenario(read_scenario(name))
    table = tomllib.loads(text)
    assert write_scenario(read_scenario(text)) == text
    before = {f.path: f.value for f in fields_of(tomllib.loads(built_in()[name].read_text()))}
    after = {f.path: f.value for f in fields_of(table)}
    same = {path: value for path, value in before.items() if path in after}
    assert {path: after[path] for path in same} == same


@pytest.mark.parametrize(
    ("do", "name"),
    [
        ("save", "../mine.toml"),
        ("save", "/tmp/mine.toml"),
        ("save", "x.txt"),
        ("save", None),
        ("open", "../secret.toml"),
        ("open", "/etc/passwd"),
        ("open", 3),
        ("choose", "../x"),
    ],
)
def test_no_path_leads_outside(talk, tmp_path, do, name):
    (tmp_path.parent / "secret.toml").write_text("secret = 1\n", encoding="utf-8")
    talk.say("choose", name="stick-set")
    talk.until("scenario")
    talk.say(do, name=name)
    message = talk.until("error")
    assert message["about"] == do
    assert "secret = " not in str(message)
    assert not (tmp_path.parent / "mine.toml").exists()


def test_saved_runs_and_studies_are_loaded(talk, tmp_path):
    run = read_scenario("slip-wave", ["system.law.mu=0.2"]).solve()
    run.save(tmp_path / "wave")
    sweep = Sweep("slip-wave", {"law.mu": [0.1, 0.2, 0.3]}, results=["onset_time"])
    sweep.run(tmp_path / "study", workers=1)
    talk.say("folder")
    assert [(p["kind"], p["name"]) for p in talk.until("folder")["places"]] == [
        ("run", "wave"),
        ("study", "study"),
    ]
    talk.say("open", name="wave")
    fields = {f["path"]: f["value"] for f in talk.until("scenario")["fields"]}
    assert fields["system.law.mu"] == 0.2
    message = talk.until("result")
    assert (message["of"], message["name"], message["sound"]) == ("run", "wave", True)
    talk.say("open", name="study")
    message = talk.until("result")
    assert message["of"] == "study"
    assert message["verdicts"] == [["members", True, "3 of 3 members are solved"]]
    assert "default-src 'none'" in message["page"]
    # a run that was changed since is refused, as everywhere
    (tmp_path / "wave" / "events.csv").write_text("x", encoding="utf-8")
    talk.say("open", name="wave")
    assert "events.csv" in talk.until("error")["text"]


def test_figures_are_drawn_of_the_last_run(wave):
    wave.say("figure", name="onset")
    message = wave.until("figure")
    assert message["svg"].startswith("<?xml")
    for name in ("nothing", "__class__", "default"):
        wave.say("figure", name=name)
        assert wave.until("error")["text"].startswith("figure: got")


def test_hostile_names_stay_words(talk, tmp_path):
    scenario = read_scenario("slip-wave")
    text = write_scenario(dataclasses.replace(scenario, title=HOSTILE, note=HOSTILE))
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    talk.say("open", name="mine.toml")
    assert talk.until("scenario")["title"] == HOSTILE
    talk.say("run")
    page = talk.until("result")["page"]
    assert "<script>alert(1)" not in page
    assert "<img" not in page


def test_files_that_are_no_scenario_are_reported(talk, tmp_path):
    for name, text in {"a.toml": "x = [", "b.toml": "x = 1", "c.toml": "[system]\nn = 3"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        talk.say("open", name=name)
        if name == "c.toml":
            talk.say("run")
        assert "Try:" in talk.until("error")["text"], name
    with pytest.raises(StoreError):
        st.load(tmp_path)


def test_compiling_is_no_part_of_what_a_run_will_take(monkeypatch):
    """Kernels that are compiled once must not keep the next move of a slider from running."""
    worker = Worker([].append)
    run = read_scenario("slip-wave").solve()

    def solved(scenario, number):
        time.sleep(0.4)
        return run.completed({**run.provenance, "compile_s": 0.3}, None, None)

    monkeypatch.setattr(worker, "_solved", solved)
    message = worker._timed(read_scenario("slip-wave"), 1, "")
    assert 0.05 < message["seconds"] < 0.3
