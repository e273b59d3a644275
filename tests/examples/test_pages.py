"""The Python on the pages runs, and the commands on them are ones the program knows."""

import itertools
import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from command_line import runner

import stiction as st

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in path.read_text(encoding="utf-8") and "_build" not in path.parts
]
COMMAND_PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if re.search(r"^\$ stiction ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_blocks(path: Path) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("path", PAGES, ids=page)
def test_python_blocks_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scenario = st.read_scenario("slip-wave")
    st.solve(scenario.system, scenario.method, scenario.t_span).save("out/slip-wave")
    names: dict[str, object] = {"__name__": "__page__"}
    exec(compile(python_blocks(path), str(path), "exec"), names)
    plt.close("all")
    # it is about this project: by a name of it, a library that reads its files, or its program
    ours = any(
        str(getattr(value, "__module__", getattr(value, "__name__", ""))).startswith("stiction")
        for value in names.values()
    )
    assert ours or "pd" in names or '"-m", "stiction"' in python_blocks(path)
    said = capsys.readouterr().err.splitlines()
    # the first to need a kernel is reported that it is compiled
    assert [line for line in said if not line.startswith("stiction: compiling")] == []


def commands(path: Path) -> list[list[str]]:
    lines = re.findall(r"^\$ stiction (.*)$", path.read_text("utf-8"), re.MULTILINE)
    # what the shell completes is not yet a command
    return [shlex.split(line, comments=True) for line in lines if not line.endswith("<Tab>")]


@pytest.mark.parametrize("path", COMMAND_PAGES, ids=page)
def test_commands_are_known(path):
    """Every command, option and setting is understood; nothing is solved here."""
    from stiction.cli.main import app

    for words in commands(path):
        result = runner().invoke(app, [words[0], "--help"])
        assert result.exit_code == 0, words
        for option in (word for word in words if word.startswith("--")):
            assert option in result.output, (words, option)
        if words[0] == "run" and not words[1].endswith(".toml"):
            changes = [b for a, b in itertools.pairwise(words) if a == "--set"]
            assert st.read_scenario(words[1], changes).t_end > 0.0


def steady(text: str) -> list[str]:
    """Return the lines of a summary without what differs from machine to machine."""
    closed = re.sub(r"closes to \S+ of", "closes to ... of", text)
    return [line.rstrip() for line in closed.strip().splitlines() if not line.startswith("cost")]


PRINTED = ("README.md", "docs/howto/other-masses.md", "docs/learn/dynamicist.md")


def printed_runs() -> list[tuple[list[str], str]]:
    """Return the commands that first pages show with their output, and the output."""
    text = "\n".join((ROOT / page).read_text("utf-8") for page in PRINTED)
    # what goes to the screen beside the summary stands before it
    said = r"(?:(?:The kernels of|Run `stiction).*\n)*"
    summary = r"((?:SOLVED|STOPPED)(?:.*\n)*?written to .*\n)"
    shown = re.findall(rf"stiction (run .*)\n{said}{summary}", text)
    return [(shlex.split(words), output) for words, output in shown]


@pytest.mark.parametrize(("words", "output"), printed_runs(), ids=lambda v: str(v)[:30])
def test_shown_output_is_what_is_printed(words, output, tmp_path, monkeypatch):
    from stiction.cli.main import app

    monkeypatch.chdir(tmp_path)
    result = runner().invoke(app, [*words, "--no-figures"])
    assert result.exit_code == 0
    assert steady(result.output) == steady(output)


def test_three_runs_are_shown():
    names = [words[1] for words, _ in printed_runs()]
    assert names == ["detachment-wave", "slip-wave", "wheel-slips-then-slides"]


def test_start_page_shows_what_is_printed():
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    scenario = st.read_scenario("slip-wave")
    run = st.solve(scenario.system, scenario.method, scenario.t_span)
    assert steady(str(run)) == steady(shown)
