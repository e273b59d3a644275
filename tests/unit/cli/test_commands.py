"""Commands with what they call replaced: which words go where, what is printed, exit codes."""

import contextlib
import errno
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from command_line import runner

from stiction.cli import compile as compiling
from stiction.cli import completion, main, output, plot, progress, reproduce, saved
from stiction.errors import ExtensionWarning, ModelError, StictionError, StoreError
from stiction.numerics.compiling import ahead_of_time


@pytest.fixture
def call(monkeypatch):
    """Call a command; signals keep their handlers."""
    monkeypatch.setattr(main, "catching_interrupts", contextlib.nullcontext)

    def run(*words):
        return runner().invoke(main.app, list(words))

    return run


# ---- errors become messages and codes


@pytest.mark.parametrize(
    ("error", "code", "reported"),
    [
        (ModelError("Chain.mass", 0, "> 0", "inertia.", "1."), 2, "Chain.mass: got 0; needs > 0"),
        (MemoryError(), 2, "memory: got a problem larger than this machine's memory"),
        (
            OSError(errno.ENOSPC, "No space left"),
            2,
            "stiction: got No space left; needs files and streams",
        ),
        (OSError("odd"), 2, "stiction: got odd; needs"),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (typer.Exit(7), 7, ""),
    ],
)
def test_errors_are_reported(monkeypatch, capsys, error, code, reported):
    monkeypatch.setattr(main, "catching_interrupts", contextlib.nullcontext)

    @main.guarded
    def command():
        raise error

    with pytest.raises(typer.Exit) as caught:
        command()
    assert caught.value.exit_code == code
    assert capsys.readouterr().err.startswith(reported)


def test_errors_of_ours_are_shown_whole(monkeypatch):
    monkeypatch.setattr(main, "catching_interrupts", contextlib.nullcontext)

    @main.guarded
    def command():
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError, match="a fault of ours"):
        command()


def test_an_error_after_ctrl_c_is_the_interrupt(monkeypatch, capsys):
    monkeypatch.setattr(main, "catching_interrupts", contextlib.nullcontext)
    heard = iter((0, 1))
    monkeypatch.setattr(main, "interrupts_caught", lambda: next(heard))

    @main.guarded
    def command():
        raise StictionError("a module that was not imported to its end")

    with pytest.raises(typer.Exit) as caught:
        command()
    assert caught.value.exit_code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_a_reader_that_left_is_no_error(monkeypatch):
    seen = []
    monkeypatch.setattr(main, "catching_interrupts", contextlib.nullcontext)
    monkeypatch.setattr(main, "silence", lambda: seen.append(1))

    @main.guarded
    def command():
        raise BrokenPipeError

    command()
    assert seen == [1]


@pytest.mark.parametrize("given", [[], ["error"]])
def test_warnings_are_silenced_unless_asked_for(monkeypatch, given):
    seen = []
    monkeypatch.setattr(main, "open_streams", lambda: seen.append("open"))
    monkeypatch.setattr(main, "end_at_once", lambda: seen.append("end"))
    monkeypatch.setattr(main, "app", lambda prog_name: seen.append(prog_name))
    monkeypatch.setattr(main.warnings, "simplefilter", lambda *words: seen.append(words))
    monkeypatch.setattr(sys, "warnoptions", given)
    main.main()
    filters = [("ignore",), ("default", ExtensionWarning)] if not given else []
    assert seen == ["open", "end", *filters, "stiction"]


# ---- words on the command line reach what they are for


def test_run_hands_over_every_option(monkeypatch, call):
    from stiction.cli.run import Job

    seen = []
    monkeypatch.setattr("stiction.cli.run.run_job", lambda job: seen.append(job) or 3)
    assert call("run", "n").exit_code == 3
    call("run", "n", "--no-figures", "--set", "a=1", "--set", "b=2", "--out", "o")
    for flag in ("--overwrite", "--resume", "--quiet", "--strict", "--json"):
        call("run", "n", flag)
    call("run", "n", "--checkpoint-every", "2.5", "--format", "pdf", "--dpi", "90")
    assert seen == [
        Job("n"),
        Job("n", ["a=1", "b=2"], "o", figures=False),
        Job("n", overwrite=True),
        Job("n", resume=True),
        Job("n", quiet=True),
        Job("n", strict=True),
        Job("n", json=True),
        Job("n", every=2.5, format="pdf", dpi=90.0),
    ]


def test_reproduce_hands_over_every_option(monkeypatch, call):
    Wanted, seen = reproduce.Wanted, []
    monkeypatch.setattr(reproduce, "reproduce", lambda wanted: seen.append(wanted) or 1)
    assert call("reproduce", "chains").exit_code == 1
    call("reproduce", "chains", "5", "--out", "o", "--no-figures", "--set", "a=1")
    for flag in ("--overwrite", "--full", "--quick", "--json", "--quiet"):
        call("reproduce", "rods", flag)
    flags = ({"overwrite": True}, {"full": True}, {"quick": True}, {"json": True}, {"quiet": True})
    assert [w if w.changes else reproduce.dataclasses.replace(w, changes=()) for w in seen] == [
        Wanted("chains"),
        Wanted("chains", "5", "o", figures=False, changes=["a=1"]),
        *(Wanted("rods", **flag) for flag in flags),
    ]


def test_sweep_hands_over_every_option(monkeypatch, call):
    from stiction.studies.command import Asked

    seen = []
    monkeypatch.setattr(
        "stiction.studies.command.sweep_file",
        lambda asked, put, bar: seen.append((asked, put)) or 4,
    )
    assert call("sweep", "s").exit_code == 4
    call("sweep", "s", "--workers", "3", "--engine", "dask", "--address", "tcp", "--shard", "1/2")
    call("sweep", "s", "--out", "o", "--quiet", "--json")
    assert seen == [
        (Asked("s", None, None, "local", None, None, False, False), main.put),
        (Asked("s", None, 3, "dask", "1/2", "tcp", False, False), main.put),
        (Asked("s", "o", None, "local", None, None, True, True), main.put_json),
    ]


def test_compile_fails_if_a_kernel_does(monkeypatch, call):
    seen = []

    def compiled(names, *, json, quiet):
        seen.append((list(names), json, quiet))
        return len(names)

    monkeypatch.setattr(compiling, "compile_systems", compiled)
    assert call("compile").exit_code == 0
    assert call("compile", "chains", "rods", "--json").exit_code == 1
    assert call("compile", "--quiet").exit_code == 0
    assert seen == [([], False, False), (["chains", "rods"], True, False), ([], False, True)]


def test_verify_returns_the_code(monkeypatch, call):
    seen = []
    monkeypatch.setattr(
        saved,
        "verify_all",
        lambda folders, *, json, quiet: seen.append((folders, json, quiet)) or 3,
    )
    assert call("verify", "a", "b", "--json").exit_code == 3
    assert call("verify", "a", "--quiet").exit_code == 3
    assert seen == [(["a", "b"], True, False), (["a"], False, True)]


def finding(state):
    from stiction.doctor import Finding

    return Finding("solvers", f"one {state}", state, "said", "do it")


@pytest.mark.parametrize("states", [["ok", "note"], ["ok", "fault"]])
@pytest.mark.parametrize("flag", ["", "--json", "--quiet"])
def test_doctor_prints_faults(monkeypatch, call, states, flag):
    monkeypatch.setattr("stiction.doctor.examine", lambda: [finding(s) for s in states])
    answer = call("doctor", *([flag] if flag else []))
    faulty = "fault" in states
    assert answer.exit_code == (2 if faulty else 0)
    if flag == "--json":
        reported = json.loads(answer.stdout)
        assert reported["faults"] == faulty
        assert [f["name"] for f in reported["findings"]] == [f"one {s}" for s in states]
    elif flag == "--quiet" and not faulty:
        assert answer.stdout == ""
    else:
        assert ("one ok" in answer.stdout) is (flag == "")
        assert ("1 fault: solvers: one fault" in answer.stdout) is faulty


@pytest.mark.parametrize("study", [True, False])
@pytest.mark.parametrize("flag", ["", "--json", "--quiet"])
def test_plot_draws_what_is_saved(monkeypatch, call, study, flag):
    seen = []
    monkeypatch.setattr(saved, "existing_folder", lambda folder: folder)
    monkeypatch.setattr("stiction.studies.store.is_study", lambda folder: study)
    monkeypatch.setattr(
        "stiction.studies.command.plot_study", lambda *given: seen.append(given) or [Path("s")]
    )
    monkeypatch.setattr(
        plot, "draw", lambda *given, **named: seen.append((*given, named)) or [Path("a"), Path("b")]
    )
    words = ["plot", "f", "--what", "phase", "--format", "svg", "--dpi", "70", "--animate", "gif"]
    answer = call(*words, "--unverified", *([flag] if flag else []))
    given = ("f", ["phase"], "svg", 70.0, ["gif"])
    assert seen == [given if study else (*given, {"unverified": True})]
    paths = ["s"] if study else ["a", "b"]
    if flag == "--json":
        assert json.loads(answer.stdout) == {"files": paths}
    else:
        assert answer.stdout.splitlines() == ([] if flag else paths)
    assert answer.exit_code == 0


@pytest.mark.parametrize(
    ("kind", "flag", "reported"),
    [
        ("study", "", ("study", False, False, "put")),
        ("study", "--json", ("study", True, False, "put_json")),
        ("study", "--quiet", ("study", False, True, "put")),
        ("run", "", ("run", False, False, False)),
        ("run", "--json", ("run", False, True, False)),
        ("run", "--quiet", ("run", False, False, True)),
    ],
)
def test_show_takes_what_is_there(monkeypatch, call, kind, flag, reported):
    seen = []
    monkeypatch.setattr(saved, "existing_folder", lambda folder: folder)
    monkeypatch.setattr("stiction.studies.store.is_study", lambda folder: kind == "study")
    monkeypatch.setattr("stiction.fits.folder.fit_in", lambda folder: None)
    monkeypatch.setattr(
        "stiction.studies.command.show_study",
        lambda folder, put, *, json, quiet: seen.append(("study", json, quiet, put.__name__)),
    )
    monkeypatch.setattr(
        saved,
        "show_run",
        lambda folder, *, unverified, json, quiet: seen.append(("run", unverified, json, quiet)),
    )
    assert call("show", "f", *([flag] if flag else [])).exit_code == 0
    assert seen == [reported]


@pytest.mark.parametrize(
    ("flag", "reported"), [("", "one\ntwo\n"), ("--quiet", "one\n"), ("--json", '"screen"')]
)
def test_show_prints_a_fit(monkeypatch, call, flag, reported):
    monkeypatch.setattr(saved, "existing_folder", lambda folder: folder)
    monkeypatch.setattr("stiction.studies.store.is_study", lambda folder: False)
    monkeypatch.setattr("stiction.fits.folder.fit_in", lambda folder: {"screen": "one\ntwo"})
    answer = call("show", "f", *([flag] if flag else []))
    assert reported in answer.stdout
    assert len(answer.stdout.splitlines()) == reported.count("\n") or flag == "--json"


def test_list_prints_names_lines_or_json(call):
    names = call("list", "chains", "--quiet").stdout.split()
    assert "slip-wave" in names
    reported = json.loads(call("list", "chains", "--json").stdout)
    assert [entry["name"] for entry in reported] == names
    table = call("list", "chains").stdout
    assert all(name in table for name in names)
    assert len(call("list", "--quiet").stdout.split()) > len(names)


# ---- compile


class Bar:
    def __init__(self, title, *, shown=True):
        BARS.append((title, shown))

    def __enter__(self):
        return lambda share, words: None

    def __exit__(self, *_):
        return False


BARS: list[tuple[str, bool]] = []


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """Two systems with three kernels, one of both; `failed` says which fail, and how."""
    BARS.clear()
    files = {"chains": tmp_path / "p" / "k" / "chains", "rods": tmp_path / "p" / "k" / "rods"}
    files["chains"].parent.mkdir(parents=True)
    files["chains"].write_text("a (f8)\nb (i8)\n")
    files["rods"].write_text("b (i8)\nc (f8)\n")
    made = SimpleNamespace(failed={}, ready=[], compiled=[], folder="there", source=[])

    def compiled(lines, report):
        made.compiled.append(sorted(lines))
        return {line: error for line, error in made.failed.items() if line in lines}

    def folder_for(source):
        made.source.append(source)
        return made.folder

    times = iter((100.0, 142.0, 142.0, 142.0))
    monkeypatch.setattr(compiling, "systems", lambda: files)
    monkeypatch.setattr(compiling, "folder_for", folder_for)
    monkeypatch.setattr(compiling, "why_unusable", lambda source: f"no {source}")
    monkeypatch.setattr(compiling, "mark_ready", made.ready.append)
    monkeypatch.setattr(compiling, "Bar", Bar)
    monkeypatch.setattr(compiling.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(ahead_of_time, "compile_lines", compiled)
    made.root = tmp_path
    return made


def test_all_systems_are_compiled_once(kernels, capsys):
    assert compiling.compile_systems([]) == 0
    assert kernels.compiled == [["a (f8)", "b (i8)", "c (f8)"]]
    assert kernels.ready == ["chains", "rods"]
    assert kernels.source == [str(kernels.root / "p" / "__init__.py")]
    out, err = capsys.readouterr()
    assert out == "3 kernels are ready, 42 s\n"
    assert err == "compiling 3 kernels of chains, rods\n"
    assert BARS == [("compiling chains, rods", True)]


def test_nothing_is_ready_if_a_kernel_fails(kernels, capsys):
    kernels.failed = {"a (f8)": "no type", "b (i8)": "no type"}
    assert compiling.compile_systems(["chains"]) == 2
    out, err = capsys.readouterr()
    assert out == "0 kernels are ready, 42 s\n"
    assert err == "compiling 2 kernels of chains\na and 1 more: no type\n"
    assert kernels.ready == []


def test_failures_are_reported_one_by_one(kernels, capsys):
    kernels.failed = {"a (f8)": "no type", "b (i8)": "no name"}
    assert compiling.compile_systems(["chains"], json=True, quiet=True) == 2
    out, err = capsys.readouterr()
    assert err == "a: no type\nb: no name\n"
    reported = {"a": "no type", "b": "no name"}
    wanted = {"systems": ["chains"], "kernels": 0, "failed": reported, "seconds": 42.0}
    assert json.loads(out) == wanted
    assert BARS == [("compiling chains", False)]


def test_quiet_prints_nothing(kernels, capsys):
    assert compiling.compile_systems(["rods"], quiet=True) == 0
    assert capsys.readouterr() == ("", "")
    assert kernels.ready == ["rods"]


def test_where_nothing_can_be_cached_nothing_is_compiled(kernels):
    kernels.folder = None
    with pytest.raises(ModelError, match=r"compile: got no .*; needs a folder of yours"):
        compiling.compile_systems([])
    assert kernels.compiled == []


# ---- output


def test_what_is_not_finite_is_null_in_json(capsys):
    import numpy as np

    value = {1: np.array([1.0, np.nan]), "b": (np.inf, 2), "c": [{"d": np.float64(0.5)}]}
    output.put_json(value)
    assert json.loads(capsys.readouterr().out) == {
        "1": [1.0, None],
        "b": [None, 2],
        "c": [{"d": 0.5}],
    }


def test_a_closed_output_is_an_error(monkeypatch):
    output.check_stream()
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="a closed standard output") as caught:
        output.put("text")
    assert caught.value.errno == errno.EBADF


def test_a_pipe_is_endlessly_wide(monkeypatch):
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda usual: os.terminal_size(usual))
    assert output.width() == 10_000


def test_a_reader_that_leaves_silences_output(monkeypatch):
    seen = []

    def gone(text):
        raise BrokenPipeError

    monkeypatch.setattr(output.typer, "echo", gone)
    monkeypatch.setattr(output, "silence", lambda: seen.append(1))
    output.put("text")
    assert seen == [1]


def test_streams_that_are_closed_are_opened(monkeypatch):
    numbers = iter((1, 2, 3))
    closed = []
    monkeypatch.setattr(output.os, "open", lambda path, flags: next(numbers))
    monkeypatch.setattr(output.os, "close", closed.append)
    monkeypatch.setattr(output.os, "fdopen", lambda number, mode: (number, mode))
    monkeypatch.setattr(sys, "stderr", None)
    output.open_streams()
    opened = sys.stderr
    monkeypatch.undo()
    assert closed == [3]
    assert opened == (2, "w")


# ---- the bar


def test_a_bar_is_updated_and_stopped(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    seen = []

    class Shown:
        def update(self, task, *, completed, note):
            seen.append((task, completed, note))

        def stop(self):
            seen.append("stop")

    with progress.Bar("run") as bar:
        bar(0.1, "not open yet")
        bar._bar, bar._task = Shown(), 5
        bar(0.5, "half")
    assert seen == [(5, 0.5, "half"), "stop"]
    bar._bar = None
    bar._open()
    # a run that is over opens no bar
    assert bar._bar is None


def test_a_bar_begins_at_nothing(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress.Bar("run") as bar:
        bar._open()
        task = bar._bar.tasks[bar._task]
        assert (task.description, task.total, task.completed) == ("run", 1.0, 0)
        assert task.fields["note"] == "starting"
        assert bar._timer is None
    assert bar._bar.finished is False


# ---- completion, saved runs, figures


def test_words_are_completed(monkeypatch, tmp_path):
    assert completion.one_of("png", "pdf", "svg")("p") == ["png", "pdf"]
    assert completion.papers("") == ["adhesive-friction", "chains", "rods", "switching", "all"]
    assert completion.papers("al") == ["all"]
    assert "studies" in completion.systems("s")
    assert "chains" in completion.systems("")
    monkeypatch.chdir(tmp_path)
    for place, mark in (("b", "summary.json"), ("out/a", "summary.json"), ("s", "study.toml")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / mark).write_text("")
    (tmp_path / "out" / "t").mkdir()
    (tmp_path / "out" / "t" / "study.toml").write_text("")
    (tmp_path / "plain").mkdir()
    assert completion.folders("") == ["b", "out/a", "s", "out/t"]
    assert completion.folders("out/") == ["out/a", "out/t"]
    assert [word.rstrip("/") for word in completion.folders("pl")] == ["plain"]


def test_folders_that_are_not_there_are_guessed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for place in ("out/slip-wave", "here/slop"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "file").write_text("")
    for given, hint in (
        ("slip-wave", "did you mean 'out/slip-wave'"),
        ("here/slip-wave", "did you mean 'out/slip-wave'"),
        ("here/slob", "did you mean 'here/slop'"),
    ):
        with pytest.raises(StoreError, match="no such folder") as caught:
            saved.existing_folder(given)
        assert hint in str(caught.value)
    assert saved.existing_folder("here/slop") == "here/slop"
    assert saved._folders(tmp_path) == [str(tmp_path / "here"), str(tmp_path / "out")]
    assert saved._folders(tmp_path / "none") == []


def test_summaries_are_joined_with_what_is_said(tmp_path):
    (tmp_path / "summary.json").write_text('{"status": "solved"}')
    reported = saved.saved_summary(tmp_path, exit_code=3)
    assert list(reported.items()) == [
        ("folder", str(tmp_path)),
        ("exit_code", 3),
        ("status", "solved"),
    ]


@pytest.mark.parametrize(
    ("json_", "quiet", "unverified"),
    [(False, False, ""), (False, True, ""), (True, False, ""), (True, False, "by hand")],
)
def test_a_saved_run_is_shown(monkeypatch, tmp_path, capsys, json_, quiet, unverified):
    (tmp_path / "summary.json").write_text('{"status": "solved"}')
    run = SimpleNamespace(unverified=unverified)
    monkeypatch.setattr(saved, "load", lambda folder, unverified: run)
    monkeypatch.setattr(saved, "screen", lambda run: "one\ntwo")
    saved.show_run(str(tmp_path), unverified=False, json=json_, quiet=quiet)
    out = capsys.readouterr().out
    if json_:
        wanted = {"folder": str(tmp_path), "status": "solved"}
        assert json.loads(out) == {**wanted, **({"unverified": unverified} if unverified else {})}
    else:
        assert out == ("one\n" if quiet else "one\ntwo\n")


class Valid(saved.Verdict):
    """A verdict with a code of ours."""

    def __init__(self, code):
        object.__setattr__(self, "reported", code)

    code = property(lambda self: self.reported)
    wrong = property(lambda self: {"a": "b"} if self.reported else {})

    def __str__(self):
        return f"verdict {self.reported}"


@pytest.mark.parametrize(
    ("codes", "code"), [([0, 0], 0), ([0, 3], 3), ([3, 2], 2), ([2, 0], 2), ([0], 0)]
)
@pytest.mark.parametrize("study", [False, True])
@pytest.mark.parametrize(("json_", "quiet"), [(False, False), (False, True), (True, False)])
def test_the_worst_verdict_decides(monkeypatch, capsys, codes, code, study, json_, quiet):
    reported = iter(codes)

    def examined(folder):
        return [("study", folder, None) if study else ("run", folder, Valid(next(reported)))]

    monkeypatch.setattr(saved, "examined", examined)
    monkeypatch.setattr(saved, "verified_study", lambda f: ((c := next(reported)), f"verdict {c}"))
    names = [f"f{i}" for i in range(len(codes))]
    assert saved.verify_all(names, json=json_, quiet=quiet) == code
    out = capsys.readouterr().out
    if json_:
        rows = json.loads(out)
        assert [(r["folder"], r["exit_code"]) for r in rows] == list(zip(names, codes, strict=True))
        assert {r["kind"] for r in rows} == {"study" if study else "run"}
    else:
        assert out.split("\n")[:-1] == [f"verdict {c}" for c in codes if c or not quiet]


def test_what_is_no_saved_run_is_damage(monkeypatch, capsys):
    monkeypatch.setattr(saved, "examined", lambda folder: [("run", folder, "nothing there")])
    assert saved.verify_all(["f"], json=False, quiet=True) == 2
    assert capsys.readouterr().out == "nothing there\n"


@pytest.mark.parametrize(
    ("what", "films", "figures"),
    [([], [], None), (["phase"], [], ["phase"]), ([], ["gif"], False), (["a"], ["gif"], ["a"])],
)
def test_figures_and_films(monkeypatch, tmp_path, capsys, what, films, figures):
    run = SimpleNamespace(unverified="by hand")
    seen = []
    drawn = SimpleNamespace(animate=lambda path: path)
    monkeypatch.setattr(plot, "load", lambda folder, unverified: run)
    monkeypatch.setattr("stiction.plot.figures_of", lambda run: drawn)
    monkeypatch.setattr(
        "stiction.plot.write_figures", lambda *given: seen.append(given) or [Path("p")]
    )
    paths = plot.draw(str(tmp_path), what, "png", None, films)
    target = tmp_path / "figures"
    assert seen == ([] if figures is False else [(run, target, figures, "png", None)])
    assert paths == [Path("p")] * len(seen) + [target / f"animation.{f}" for f in films]
    assert target.is_dir()
    assert capsys.readouterr().err == "UNVERIFIED: by hand\n"


def test_other_films_are_refused():
    plot.check_films(["gif", "html", "mp4"])
    with pytest.raises(ModelError, match="--animate: got 'gef'; needs one of gif, html, mp4"):
        plot.check_films(["mp4", "gef"])


# ---- reproduce


@pytest.mark.parametrize(
    ("wanted", "reported"),
    [
        ({"paper": "chains", "full": True, "quick": True}, "got --quick and --full"),
        ({"paper": "chains", "changes": ["a=1"]}, "--set: got 'chains' without a figure"),
        ({"paper": "all", "figure": "5"}, "PAPER: got 'all'; needs a paper, one of"),
    ],
)
def test_what_cannot_be_reproduced_is_refused(wanted, reported):
    with pytest.raises(ModelError, match=reported):
        reproduce.reproduce(reproduce.Wanted(**wanted))


@pytest.mark.parametrize("out", [None, "o"])
def test_all_papers_are_made_and_the_worst_code_counts(monkeypatch, capsys, out, tmp_path):
    seen = []

    def made(job):
        wanted = job.wanted
        seen.append((wanted.paper, wanted.out, wanted.full, len(job.claims) == len(job.items)))
        return int(wanted.paper == "rods"), {"paper": wanted.paper}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "_paper", made)
    assert reproduce.reproduce(reproduce.Wanted("all", out=out, full=True, json=True)) == 1
    papers = list(reproduce.PAPERS)
    # one of the papers has two sizes
    expected = [(p, out and f"o/{p}", p == "adhesive-friction", True) for p in papers]
    assert seen == expected
    assert json.loads(capsys.readouterr().out) == {"papers": [{"paper": p} for p in papers]}
    # a folder of the last paper is refused before the first one is made
    later = Path(f"{out}/switching" if out else "out/reproduce-switching", "figure-8")
    later.mkdir(parents=True)
    (later / "mine.txt").touch()
    with pytest.raises(StoreError, match="figure-8"):
        reproduce.reproduce(reproduce.Wanted("all", out=out))
    assert seen == expected
    capsys.readouterr()
    assert reproduce.reproduce(reproduce.Wanted("chains")) == 0
    assert capsys.readouterr().out == ""
