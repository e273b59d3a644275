"""Shell completion, executed in the shells that are on this machine."""

import shutil
import subprocess

import pytest

from stiction.io.scenario.built_in import built_in
from stiction.studies.listing import ready

ASK = """
source ./script
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ :; }}
_stiction
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def needs(shell):
    missing = shutil.which(shell) is None
    return pytest.mark.skipif(
        missing, reason=f"no {shell} on this machine: apt-get install {shell}"
    )


@pytest.fixture
def script(stiction, here):
    def written(shell):
        answer = stiction("completion", shell)
        assert (answer.code, answer.err) == (0, "")
        (here / "script").write_text(answer.out)
        return answer.out

    return written


@pytest.fixture
def bash(script, here):
    script("bash")

    def ask(words):
        text = ASK.format(words=words)
        done = subprocess.run(
            ["bash", "--norc", "-c", text], capture_output=True, text=True, check=True, cwd=here
        )
        assert done.stderr == ""
        return done.stdout.split()

    return ask


@needs("bash")
def test_bash_completes(bash, here):
    assert bash("stiction ru") == ["run"]
    every = bash("stiction ''")
    assert {"list", "run", "show", "sweep", "verify", "plot", "doctor", "completion"} <= set(every)
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
    assert bash("stiction completion f") == ["fish"]
    # no second scenario, and none where an option wants its own value
    assert bash("stiction run slip-wave ''") == []
    assert bash("stiction run --out x slip-wave-") == ["slip-wave-damped"]
    assert bash("stiction sweep --workers ''") == []


@needs("bash")
def test_bash_completes_files_and_folders(bash, here):
    (here / "my study.toml").write_text("")
    (here / "mine.toml").write_text("")
    (here / "mine.txt").write_text("")
    (here / "results").mkdir()
    assert bash("stiction run min") == ["mine.toml"]
    assert bash("stiction run my") == ["my", "study.toml"]
    assert bash("stiction show re") == ["results"]
    assert bash("stiction run x.toml --out re") == ["results"]


@needs("zsh")
def test_zsh_reads_its_script(script, here):
    assert script("zsh").startswith("#compdef stiction")
    text = "autoload -U compinit; compinit -D -u; source ./script; print $_comps[stiction]"
    done = subprocess.run(
        ["zsh", "-f", "-c", text], capture_output=True, text=True, check=True, cwd=here
    )
    assert (done.stdout.strip(), done.stderr) == ("_stiction", "")


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
        done = subprocess.run(
            ["zsh", "-f", "-c", TALK.format(line=line)],
            capture_output=True,
            text=True,
            check=True,
            cwd=here,
        )
        assert "bad option" not in done.stdout
        assert "missing argument" not in done.stdout
        return done.stdout

    assert "slip-wave-damped" in ask("stiction run slip-wave-")
    assert "--overwrite" in ask("stiction run slip-wave --overw")
    assert "reproduce chains" in ask("stiction reproduce ch")


@needs("fish")
def test_fish_completes(script, here):
    script("fish")

    def ask(line):
        text = f"source ./script; complete -C {line!r}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", text],
            capture_output=True,
            text=True,
            check=True,
            cwd=here,
        )
        assert done.stderr == ""
        return [row.partition("\t")[0] for row in done.stdout.splitlines()]

    assert ask("stiction ru") == ["run"]
    assert ask("stiction run slip-wave-") == ["slip-wave-damped"]
    assert ask("stiction run slip-wave --overw") == ["--overwrite"]
    assert ask("stiction run slip-wave --format p") == ["pdf", "png"]
    assert ask("stiction reproduce ch") == ["chains"]


def test_other_shells_are_refused(refused):
    assert "did you mean 'fish'" in refused("completion", "fsh")
    assert "one of bash, zsh, fish" in refused("completion", "tcsh")
