"""`--strict` and the first word of the summary; standard streams that the caller closed."""

import subprocess

import pytest

import stiction as st


@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        ("slip-wave", "SOLVED, audit held: Chain", ""),
        (
            "theta-0",
            "SOLVED, audit FAILED: Chain",
            "the audit line scheme_creates_no_energy failed",
        ),
        ("wheel-into-two-fold", "STOPPED, audit held: Wheel", "determinism was lost"),
        (
            "quasistatic-branches",
            "SOLVED, audit FAILED: Chain",
            "the audit line velocity_unique failed, determinism was lost",
        ),
    ],
)
def test_strict_runs_exit_with_three(stiction, here, name, word, said):
    plain = stiction("run", name, "--no-figures", "--out", "plain")
    assert plain.code == 0
    assert plain.err == ""
    assert plain.out.startswith(word)
    strict = stiction("run", name, "--no-figures", "--strict", "--out", "strict")
    assert strict.code == (3 if said else 0)
    assert strict.err == (f"--strict: {said}.\n" if said else "")
    # the result is there all the same
    assert st.load("strict").status is st.load("plain").status
    assert stiction("show", "strict").out.startswith(word)


def test_a_failed_run_exits_with_one_whatever_is_asked(stiction, here):
    short = ("--set", "method={type='EventDriven', max_events=1}")
    assert stiction("run", "slip-wave", *short, "--strict", "--no-figures").code == 1


def test_the_command_that_goes_on_is_strict_too():
    from stiction.cli.run import Job

    assert Job("slip-wave", strict=True).resume_command.endswith("--resume --strict")


@pytest.mark.parametrize(
    ("words", "code"),
    [("list >&-", 2), ("run slip-wave >&-", 2), ("list <&-", 0), ("run nothing 2>&-", 2)],
)
def test_closed_streams(command, here, words, code):
    done = subprocess.run(
        f"{command[0]} {words}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if words.endswith(">&-") and not words.endswith("2>&-"):
        assert "closed standard output; needs" in done.stderr
    assert list(here.iterdir()) == []
