"""`stiction run` without a solve: the kernels it chooses, its messages, its exit codes."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.chains.methods import EventDriven
from stiction.cli import run as cli_run
from stiction.cli.run import Job
from stiction.errors import ModelError, Status


class Checkpoint:
    def __init__(self, path=None, saved=True):
        self.path, self.removed, self.saved = path, 0, saved

    def kernels(self):
        return "compiled"

    def remove(self):
        self.removed += 1


@pytest.fixture
def chosen(monkeypatch):
    """What `_chosen` asked of others, in order; `open_` and `fails` are what it meets."""
    calls = SimpleNamespace(log=[], open_=False, fails=None, kernels="plain", complete=True)

    def choose(place, kernels, seconds):
        calls.log.append(("choose", place, kernels, seconds))
        return "plain" if calls.open_ else "compiled", calls.open_

    def solved(job, scenario, checkpoint, trial):
        calls.log.append(("solved", trial._active))
        if trial._active and calls.fails is not None:
            raise calls.fails
        status = SimpleNamespace(complete=calls.complete)
        return SimpleNamespace(status=status, provenance={"kernels": calls.kernels})

    monkeypatch.setattr(cli_run, "choose", choose)
    monkeypatch.setattr(cli_run, "use", lambda mode: calls.log.append(("use", mode)))
    monkeypatch.setattr(cli_run, "note_ready", lambda place: calls.log.append(("ready", place)))
    monkeypatch.setattr(cli_run, "_solved", solved)
    return calls


class Timed:
    """A system that says how long a plain run takes."""

    def plain_seconds(self, method, duration):
        self.asked = (method, duration)
        return 0.25 * duration


def scenario_of(system, method, t_span=(2.0, 10.0)):
    return SimpleNamespace(system=system, method=method, t_span=t_span, t_end=t_span[1])


METHOD = EventDriven()


def test_the_time_of_a_plain_run_is_that_of_the_interval(chosen):
    # from 2 s to 10 s: 8 s, and 0.25 s of work for each
    system = Timed()
    cli_run._chosen(Job("x"), scenario_of(system, METHOD), Checkpoint())
    assert system.asked == (METHOD, 8.0)
    kind, place, kernels, seconds = chosen.log[0]
    assert (kind, kernels, seconds) == ("choose", "compiled", 2.0)
    assert place.startswith("stiction.chains")
    assert chosen.log[1:] == [("use", "compiled"), ("solved", False)]


def test_a_system_that_knows_no_time_has_none(chosen):
    cli_run._chosen(Job("x"), scenario_of(object(), METHOD), Checkpoint())
    assert chosen.log[0][3] is None


@pytest.mark.parametrize(
    ("kernels", "complete", "noted"),
    [("compiled", True, True), ("plain", True, False), ("compiled", False, False)],
)
def test_kernels_are_ready_after_a_complete_compiled_run(chosen, kernels, complete, noted):
    chosen.kernels, chosen.complete = kernels, complete
    cli_run._chosen(Job("x"), scenario_of(Timed(), METHOD), Checkpoint())
    assert any(entry[0] == "ready" for entry in chosen.log) is noted


@pytest.mark.parametrize("quiet", [False, True])
def test_a_small_run_that_was_plain_says_how_to_compile(chosen, capsys, quiet):
    chosen.open_ = True
    cli_run._chosen(Job("x", quiet=quiet), scenario_of(Timed(), METHOD), Checkpoint())
    assert chosen.log[1:] == [("use", "plain"), ("solved", True)]
    reported = (
        "The kernels of EventDriven (chains) are not compiled yet, and the run is small: "
        "it ran as plain Python.\nRun `stiction compile chains` once for full speed.\n"
    )
    assert capsys.readouterr().err == ("" if quiet else reported)


@pytest.mark.parametrize("fault", [cli_run.TooSlow(), ArithmeticError("0/0"), ValueError("NaN")])
def test_a_plain_run_that_is_too_slow_begins_again_compiled(chosen, capsys, fault):
    chosen.open_, chosen.fails = True, fault
    checkpoint = Checkpoint()
    cli_run._chosen(Job("x"), scenario_of(Timed(), METHOD), checkpoint)
    reported = [("use", "plain"), ("solved", True), ("use", "compiled"), ("solved", False)]
    assert chosen.log[1:] == reported
    assert checkpoint.removed == 1
    err = capsys.readouterr().err
    assert "the run starts again" in err
    assert ("Compiling takes less time" in err) == isinstance(fault, cli_run.TooSlow)
    assert isinstance(fault, cli_run.TooSlow) or f"{type(fault).__name__}: {fault}" in err


def test_a_refusal_of_a_plain_run_is_a_refusal(chosen):
    chosen.open_, chosen.fails = True, ModelError("Chain.mass", "0", "> 0", "inertia.", "1.")
    with pytest.raises(ModelError, match=r"Chain\.mass"):
        cli_run._chosen(Job("x"), scenario_of(Timed(), METHOD), Checkpoint())
    assert chosen.log[1:] == [("use", "plain"), ("solved", True)]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job("slip-wave"), "--out out/slip-wave --resume"),
        (Job("a/b.toml", out="here"), "--out here --resume"),
        (
            Job("n", ("a=1", "b='x y'"), out="o"),
            "--set a=1 --set 'b='\"'\"'x y'\"'\"'' --out o --resume",
        ),
        (Job("n", out="o", overwrite=True), "--out o --resume --overwrite"),
        (Job("n", out="o", figures=False), "--out o --resume --no-figures"),
        (Job("n", out="o", strict=True), "--out o --resume --strict"),
        (Job("n", out="o", json=True), "--out o --resume --json"),
        (Job("n", out="o", format="pdf"), "--out o --resume --format pdf"),
        (Job("n", out="o", dpi=72.0), "--out o --resume --dpi 72"),
        (Job("n", out="o", quiet=True), "--out o --resume --quiet"),
        (Job("n", out="o", every=2.5), "--out o --resume --checkpoint-every 2.5"),
    ],
)
def test_the_command_that_goes_on_repeats_the_options(job, words):
    assert job.resume_command == f"stiction run {job.name} {words}"


class Outcome:
    """A run and what `keep` made of it."""

    def __init__(self, status, reason="it broke", drawn=True, unit="s"):
        self.status, self.reason, self.advice, self.drawn = status, reason, "shorter steps", drawn
        self.t_end, self.time_unit, self.folder = 1.25, unit, "out/x"
        self.complete_text, self.partial_text = "All of it is saved.", "A part is saved."

    def __str__(self):
        return "written to out/x"


@pytest.fixture
def ended(monkeypatch, tmp_path):
    """`_run` with a run that has ended; `seen` holds what was saved of it."""

    def run_of(job, outcome, doubts=()):
        seen = SimpleNamespace(put=[], json=[], draw=None)

        def save_run(run, claim, folder, checkpoint, *, scenario, draw):
            seen.draw, seen.text = draw, scenario
            return outcome

        monkeypatch.setattr(cli_run, "_chosen", lambda *_: outcome)
        monkeypatch.setattr(cli_run, "save_run", save_run)
        monkeypatch.setattr(cli_run, "doubts", lambda run: list(doubts))
        monkeypatch.setattr(cli_run, "screen", lambda run: "SCREEN")
        monkeypatch.setattr(cli_run, "put", seen.put.append)
        monkeypatch.setattr(cli_run, "put_json", seen.json.append)
        summary = lambda folder, exit_code: {"folder": folder, "exit_code": exit_code}  # noqa: E731
        monkeypatch.setattr(cli_run, "saved_summary", summary)
        scenario = cli_run.read_scenario("slip-wave", ())
        claim = SimpleNamespace(path=tmp_path / "x")
        seen.code = cli_run._run(job, scenario, claim)
        return seen

    return run_of


@pytest.mark.parametrize(
    ("status", "strict", "doubts", "code"),
    [
        (Status.SOLVED, False, [], 0),
        (Status.SOLVED, False, ["audit"], 0),
        (Status.SOLVED, True, [], 0),
        (Status.SOLVED, True, ["audit", "determinism"], 3),
        (Status.UNCONVERGED, True, ["audit"], 1),
        (Status.UNTRUSTED, False, [], 1),
    ],
)
def test_exit_codes_and_what_is_printed(ended, capsys, status, strict, doubts, code):
    seen = ended(Job("slip-wave", strict=strict), Outcome(status), doubts)
    assert (seen.code, seen.put, seen.json) == (code, ["SCREEN\nwritten to out/x"], [])
    assert (seen.draw is not None) == status.complete
    assert 'type = "Chain"' in seen.text
    reported = {
        0: "",
        3: "--strict: audit, determinism.\n",
        1: "The solve stopped at t = 1.25 s, before 8 s.\nWhy: it broke\n"
        "Try: shorter steps. A part is saved.\n",
    }[code]
    if status is Status.UNTRUSTED:
        reported = (
            "The run cannot be trusted.\nWhy: it broke\nTry: shorter steps. All of it is saved.\n"
        )
    assert capsys.readouterr().err == reported


def test_a_run_without_units_stops_at_a_number(ended, capsys):
    ended(Job("slip-wave"), Outcome(Status.UNCONVERGED, unit="1"))
    assert "stopped at t = 1.25, before 8.\n" in capsys.readouterr().err


def test_other_ways_to_print(ended, capsys):
    seen = ended(Job("slip-wave", quiet=True), Outcome(Status.SOLVED))
    assert (seen.put, seen.json) == ([], [])
    seen = ended(Job("slip-wave", json=True), Outcome(Status.SOLVED))
    assert (seen.put, seen.json) == ([], [{"folder": "out/x", "exit_code": 0}])
    assert ended(Job("slip-wave", figures=False), Outcome(Status.SOLVED)).draw is None
    assert capsys.readouterr().err == ""
    seen = ended(Job("slip-wave"), Outcome(Status.SOLVED, drawn=False))
    assert (seen.code, seen.put) == (130, [])
    assert "out/x is complete except for its figures" in capsys.readouterr().err


@pytest.mark.parametrize("there", ["own", "other", "damaged", ""])
def test_checkpoints_that_exist_or_not_are_reported(ended, tmp_path, capsys, there):
    scenario = cli_run.read_scenario("slip-wave", ())
    path = cli_run.checkpoint_path(tmp_path / "x")
    assert scenario.t_end == 8.0
    if there == "damaged":
        path.write_bytes(b"")
    elif there:
        bare = cli_run.dataclasses.replace(scenario, title="", paper="", figure="", note="")
        key = cli_run.write_scenario(bare) if there == "own" else "another scenario"
        cli_run.FileCheckpoint(path, key).save({"x": np.zeros(2)})
    ended(Job("slip-wave"), Outcome(Status.SOLVED))
    err = capsys.readouterr().err
    assert ("--resume continues from it" in err) is (there == "own")
    assert ("this run replaces it" in err) is (there in ("other", "damaged"))
    there = bool(there)
    ended(Job("slip-wave", resume=True), Outcome(Status.SOLVED))
    assert ("There is no checkpoint to resume from" in capsys.readouterr().err) is not there


@pytest.mark.parametrize(
    ("file", "saved", "resume"),
    [(True, True, False), (True, False, True), (True, False, False), (False, False, False)],
)
def test_an_interrupt_says_how_to_go_on(tmp_path, capsys, file, saved, resume):
    path = tmp_path / "checkpoint"
    # a file that neither this run has written, nor was resumed from, is of another run
    there = file and (saved or resume)
    if file:
        path.write_bytes(b"")
    assert cli_run._interrupted(Job("slip-wave", resume=resume), Checkpoint(path, saved)) == 130
    err = capsys.readouterr().err
    command = "Continue with: stiction run slip-wave --out out/slip-wave --resume"
    assert err == (
        f"Interrupted; the last checkpoint is saved. {command}\n"
        if there
        else "Interrupted before the first checkpoint; nothing was written.\n"
    )


@pytest.mark.parametrize(
    ("quiet", "json", "checked"), [(False, False, 1), (True, False, 0), (True, True, 1)]
)
def test_a_closed_output_is_refused_if_anything_is_printed(
    monkeypatch, tmp_path, quiet, json, checked
):
    seen = []
    monkeypatch.setattr(cli_run, "check_stream", lambda: seen.append(1))
    monkeypatch.setattr(cli_run, "_run", lambda job, scenario, claim: 7)
    job = Job("slip-wave", out=str(tmp_path / "o"), quiet=quiet, json=json)
    assert cli_run.run_job(job) == 7
    assert len(seen) == checked


def test_figures_are_drawn_as_asked(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("stiction.plot.write_figures", lambda *words: seen.append(words))
    cli_run._draw("run", Job("n", format="svg", dpi=90.0), tmp_path)
    assert seen == [("run", tmp_path, None, "svg", 90.0)]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_solve_reports_to_the_bar_and_the_trial(monkeypatch, interrupted):
    seen = []

    class Bar:
        def __init__(self, title, *, shown):
            seen.append((title, shown))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def __call__(self, fraction, note):
            seen.append((fraction, note))

    class Trial(Bar):
        def __init__(self):
            pass

        def report(self, fraction):
            seen.append(fraction)

    def solve(system, method, t_span, *, save, throw, progress, checkpoint):
        seen.append((system, method, t_span, save, throw, checkpoint))
        progress(0.5, "half")
        status = Status.INTERRUPTED if interrupted else Status.SOLVED
        return SimpleNamespace(status=status)

    monkeypatch.setattr(cli_run, "Bar", Bar)
    monkeypatch.setattr(cli_run, "solve", solve)
    scenario = SimpleNamespace(system="s", method="m", t_span=(0.0, 1.0), save=3)
    job = Job("name", quiet=interrupted)
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            cli_run._solved(job, scenario, "c", Trial())
    else:
        assert cli_run._solved(job, scenario, "c", Trial()).status is Status.SOLVED
    asked = ("s", "m", (0.0, 1.0), 3, False, "c")
    assert seen == [("name", not interrupted), asked, 0.5, (0.5, "half")]


def test_a_checkpoint_is_that_of_the_job(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(
        cli_run, "FileCheckpoint", lambda *given, **named: seen.append((given, named))
    )
    scenario, claim = cli_run.read_scenario("slip-wave", ()), SimpleNamespace(path=tmp_path)
    with pytest.raises(AttributeError):
        cli_run._run(Job("n", resume=True, every=2.5), scenario, claim)
    ((path, key), named) = seen[0]
    assert path == cli_run.checkpoint_path(tmp_path)
    assert 'type = "Chain"' in key
    # the title of a scenario is not what is solved
    assert "title" not in key
    assert named == {"resume": True, "every": 2.5, "warn": cli_run._say}


def test_a_scenario_without_a_method_takes_the_default_one(chosen):
    system = cli_run.read_scenario("slip-wave", ()).system
    cli_run._chosen(Job("x"), scenario_of(system, None), Checkpoint())
    assert chosen.log[0][1] == "stiction.chains.methods.EventDriven"
