"""`--json` and `--quiet` of every command."""

import json

import pytest

COMMANDS = (
    "list",
    "run",
    "show",
    "sweep",
    "verify",
    "plot",
    "reproduce",
    "fit",
    "compile",
    "doctor",
    "export",
    "explore",
)


@pytest.fixture
def saved(stiction, here):
    assert stiction("run", "slip-wave", "--no-figures", "-q").code == 0
    return "out/slip-wave"


def parsed(answer, code=0):
    assert answer.code == code, answer
    return json.loads(answer.out)


def test_every_command_has_both(stiction):
    for command in COMMANDS:
        said = stiction(command, "--help").out
        assert "--json" in said, command
        assert "--quiet" in said, command


def test_list(stiction):
    found = parsed(stiction("list", "--json"))
    (wave,) = (entry for entry in found if entry["name"] == "slip-wave")
    assert wave["system"] == "chains"
    assert wave["seconds"] > 0.0
    names = stiction("list", "faults", "--quiet").out.split()
    assert names == ["earthquake-cycles", "seas-bp1", "seas-bp6", "spring-slider"]
    assert {e["name"] for e in parsed(stiction("list", "faults", "--json"))} == set(names)


def test_run_and_show(stiction, saved, here):
    run = parsed(stiction("run", "slip-wave", "--no-figures", "--json", "--out", "again"))
    assert (run["folder"], run["exit_code"], run["status"]) == ("again", 0, "solved")
    on_disk = json.loads((here / "again" / "summary.json").read_text())
    assert {k: run[k] for k in on_disk} == on_disk
    shown = parsed(stiction("show", saved, "--json"))
    assert shown["quantities"] == run["quantities"]
    line = stiction("show", saved, "--quiet").out
    assert line.startswith("SOLVED, audit held: Chain by EventDriven")
    assert line.count("\n") == 1
    # a run that is doubted is reported so in both
    doubted = stiction("run", "quasistatic-branches", "--no-figures", "--strict", "--json")
    assert parsed(doubted, 3)["exit_code"] == 3
    assert "determinism was lost" in doubted.err


def test_quiet_runs_print_nothing(stiction, here):
    answer = stiction("run", "slip-wave", "--no-figures", "--quiet")
    assert (answer.out, answer.err) == ("", "")


def test_verify(stiction, saved, here):
    assert parsed(stiction("verify", saved, "--json")) == [
        {"folder": saved, "kind": "run", "exit_code": 0, "wrong": {}}
    ]
    assert stiction("verify", saved, "--quiet").out == ""
    with (here / saved / "events.csv").open("a") as file:
        file.write("x")
    (found,) = parsed(stiction("verify", saved, "--json"), 2)
    assert found["wrong"] == {"events.csv": "was changed after it was saved"}
    assert "DAMAGED" in stiction("verify", saved, "--quiet").out


def test_plot(stiction, saved, here):
    found = parsed(stiction("plot", saved, "--what", "phase", "--dpi", "60", "--json"))
    assert found == {"files": [f"{saved}/figures/phase.png"]}
    small = (here / found["files"][0]).read_bytes()
    assert stiction("plot", saved, "--what", "phase", "--quiet").out == ""
    large = (here / found["files"][0]).read_bytes()
    # width and height stand in bytes 16 to 24: 150 dots per inch against 60
    wide = [int.from_bytes(picture[16:20], "big") for picture in (small, large)]
    # reason: both widths are whole dots, and the picture may be trimmed
    assert wide[1] == pytest.approx(2.5 * wide[0], abs=3)


def test_a_study(stiction, here):
    found = parsed(stiction("sweep", "reachability-map", "--workers", "1", "--json"))
    assert found["complete"]
    assert found["done"] == found["members"] == sum(found["status"].values())
    assert all(stored["least"] <= stored["largest"] for stored in found["results"].values())
    assert parsed(stiction("show", found["folder"], "--json")) == found
    assert stiction("show", found["folder"], "--quiet").out.startswith("<Study of ")
    (verdict,) = parsed(stiction("verify", found["folder"], "--json"))
    assert (verdict["kind"], verdict["exit_code"]) == ("study", 0)
    assert stiction("sweep", "reachability-map", "--quiet").out == ""


def test_reproduce(stiction, here):
    words = ("reproduce", "chains", "table-2", "--no-figures")
    found = parsed(stiction(*words, "--json"))
    assert found["paper"] == "chains"
    (item,) = found["items"]
    assert item["key"] == "table-2"
    assert item["not_covered"] == []
    assert {"quantity", "paper", "ours", "verdict"} <= set(item["rows"][0])
    assert stiction(*words, "--quiet", "--overwrite").out == ""


def test_doctor(stiction):
    found = parsed(stiction("doctor", "--json"))
    assert found["faults"] == 0
    assert {"part", "name", "state", "value", "advice"} == set(found["findings"][0])
    assert stiction("doctor", "--quiet").out == ""


def test_doctor_reports_faults(stiction, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    answer = stiction("doctor", "--quiet")
    assert answer.code == 2
    assert "! OMP_NUM_THREADS" in answer.out
    assert parsed(stiction("doctor", "--json"), 2)["faults"] == 1


def test_compile(stiction, monkeypatch):
    from stiction.numerics.compiling import ahead_of_time

    monkeypatch.setattr(ahead_of_time, "compile_lines", lambda lines, report: {})
    monkeypatch.setattr("stiction.cli.compile.mark_ready", lambda name: None)
    found = parsed(stiction("compile", "faults", "--json"))
    assert found["systems"] == ["faults"]
    assert found["kernels"] > 0
    assert found["failed"] == {}
    answer = stiction("compile", "faults", "--quiet")
    assert (answer.out, answer.err) == ("", "")


def test_refusals_leave_nothing_to_parse(refused):
    # programs look at the exit code; the message is for people
    for words in (("run", "slip-wav"), ("show", "out/none"), ("plot", "out/none")):
        assert "Try: " in refused(*words, "--json")


def test_looks_of_figures_are_checked_before_anything_is_solved(refused):
    assert "did you mean 'pdf'" in refused("run", "slip-wave", "--format", "pfd")
    assert refused("run", "slip-wave", "--dpi", "1")
    assert refused("run", "slip-wave", "--dpi", "nan")


def test_runs_draw_in_other_formats(stiction, here):
    assert stiction("run", "slip-wave", "--format", "svg", "-q").code == 0
    figures = sorted(path.suffix for path in (here / "out/slip-wave/figures").iterdir())
    assert set(figures) == {".svg"}


def test_export(stiction, here):
    pytest.importorskip("pythonfmu3", reason="the extra fmi brings PythonFMU3, which writes units")
    reported = parsed(stiction("export", "fmu", "slip-wave", "--json"))
    assert (here / reported["file"]).is_file()
    assert reported["masses"] == 3
    assert "law.mu" in reported["parameters"]
    assert stiction("export", "fmu", "slip-wave", "--quiet").out == ""
    words = stiction("export", "fmu", "slip-wave", "--set", "system.law.mu=0.3").out
    assert "outputs     x [m], v [m/s], friction [N]" in words


def test_export_says_what_it_cannot(refused):
    assert "export: got 'fum'; needs fmu" in refused("export", "fum", "slip-wave")
    assert "did you mean" in refused("export", "fmu", "slip-wav").lower()
