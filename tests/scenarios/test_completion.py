"""Shell completion, executed in the shells that are on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stiction.io.scenario.built_in import built_in
from stiction.studies.listing import ready

ASK = """
source ./script
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_stiction_completion {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
PROGRAM = Path(sys.executable).with_name("stiction")


def run(command, here, **variables):
    """Run a program with `stiction` on its path."""
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=here,
        env={**os.environ, "PATH": path, **variables},
    )
    assert done.stderr == ""
    return done.stdout


def needs(shell):
    missing = shutil.which(shell) is None
    return pytest.mark.skipif(
        missing, reason=f"no {shell} on this machine: apt-get install {shell}"
    )


@pytest.fixture
def script(here):
    def written(shell):
        text = run([PROGRAM], here, _STICTION_COMPLETE=f"source_{shell}")
        (here / "script").write_text(text)
        return text

    return written


@pytest.fixture
def bash(script, here):
    script("bash")

    def ask(words):
        text = ASK.format(words=words, program=PROGRAM)
        return run(["bash", "--norc", "-c", text], here).split()

    return ask


@needs("bash")
def test_bash_completes(bash, here):
    assert bash("stiction ru") == ["run"]
    every = bash("stiction ''")
    assert {"list", "run", "show", "sweep", "verify", "plot", "doctor", "explore"} <= set(every)
    # scenarios, studies, options, papers, systems, alternatives
    assert set(bash("stiction run ''")) >= set(built_in())
    assert bash("stiction run slip-wave-") == ["slip-wave-damped"]
    assert set(bash("stiction sweep ''")) >= set(ready())
    assert bash("stiction run slip-wave --overw") == ["--overwrite"]
    assert bash("stiction reproduce ch") == ["chains"]
    assert set(bash("stiction compile chains ''")) >= {"chains", "rods"}
    assert bash("stiction list stu") == ["studies"]
    assert bash("stiction run slip-wave --format ''") == ["png", "pdf", "svg"]
    assert bash("stiction plot --animate h") == ["html"]
    # keys of the scenario that is named
    assert bash("stiction run slip-wave --set system.l") == [
        "system.load.type=",
        "system.load.rate=",
        "system.law.type=",
        "system.law.mu=",
    ]
    assert "method.type=" in bash("stiction export fmu slip-wave --set m")
    assert bash("stiction run no-such-wave --set system.l") == []
    # no second scenario, and none where an option wants its own value
    assert bash("stiction run slip-wave ''") == []
    assert bash("stiction run --out x slip-wave-") == ["slip-wave-damped"]
    assert bash("stiction sweep --workers ''") == []


@needs("bash")
def test_bash_completes_files_and_folders(bash, here):
    (here / "mine.toml").write_text("")
    (here / "mine.txt").write_text("")
    for saved in ("out/wave", "apart"):
        (here / saved).mkdir(parents=True)
        (here / saved / "summary.json").write_text("")
    (here / "results").mkdir()
    assert bash("stiction run min") == ["mine.toml"]
    assert bash("stiction run ./mi") == ["./mine.toml"]
    # saved runs first, other folders where none begins so
    assert bash("stiction show ''") == ["apart", "out/wave"]
    assert bash("stiction verify out/wave a") == ["apart"]
    assert bash("stiction plot re") == ["results/"]


@needs("zsh")
def test_zsh_reads_its_script(script, here):
    assert script("zsh").lstrip().startswith("#compdef stiction")
    text = "autoload -U compinit; compinit -D -u; source ./script; print $_comps[stiction]"
    assert run(["zsh", "-f", "-c", text], here).strip() == "_stiction_completion"


TALK = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "autoload -U compinit; compinit -D -u; source ./script; echo rea''dy"
typeset seen=
for k in {{1..100}}; do
    zpty -r -t shell line && seen+=$line || sleep 0.1
    [[ $seen == *ready* ]] && break
done
zpty -n -w shell "{line}"$'\\t'
for k in {{1..15}}; do while zpty -r -t shell line; do print -rn -- $line; done; sleep 0.1; done
"""


@needs("zsh")
def test_zsh_completes(script, here):
    script("zsh")

    def ask(line):
        reported = run(["zsh", "-f", "-c", TALK.format(line=line)], here)
        assert "bad option" not in reported
        assert "missing argument" not in reported
        return reported

    assert "slip-wave-damped" in ask("stiction run slip-wave-")
    assert "--overwrite" in ask("stiction run slip-wave --overw")
    assert "reproduce chains" in ask("stiction reproduce ch")


@needs("fish")
def test_fish_completes(script, here):
    script("fish")

    def ask(line):
        text = f"source ./script; complete -C {line!r}"
        reported = run(["fish", "--no-config", "-c", text], here)
        return [row.partition("\t")[0] for row in reported.splitlines()]

    assert ask("stiction ru") == ["run"]
    assert ask("stiction run slip-wave-") == ["slip-wave-damped"]
    assert ask("stiction run slip-wave --overw") == ["--overwrite"]
    assert ask("stiction run slip-wave --format p") == ["pdf", "png"]
    assert ask("stiction reproduce ch") == ["chains"]
