"""Several runs into one folder at once: one wins, the others are refused and reported by whom."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from forks import Fork

import stiction as st
from stiction.cli.run import Job, run_job
from stiction.errors import StictionError

NAME, SETS = "burridge-knopoff", ("solve.t_end=150", "solve.save=21")
AT_ONCE = 1.0  # processor time [s] that a refused run may take


def run(overwrite: bool, start: int) -> str:
    """Be one of the processes: wait for the start, run, return how it ended."""
    os.read(start, 1)
    begin, code, text, errors = time.process_time(), 99, "", io.StringIO()
    try:
        job = Job(NAME, SETS, "same", figures=False, quiet=True, every=0.0, overwrite=overwrite)
        with contextlib.redirect_stderr(errors):
            code = run_job(job)
    except StictionError as error:
        code, text = 2, str(error)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is counted
        text = f"{type(error).__name__}: {error}"
    took = time.process_time() - begin
    return f"{code} {took:.3f} {time.time():.3f} {text}{errors.getvalue()}"


def one_round(processes: int, overwrite: bool, whole: bytes) -> list[str]:
    """Return what went wrong in a round."""
    start, go = os.pipe()
    forks = [Fork(partial(run, overwrite, start)) for _ in range(processes)]
    os.write(go, b"x" * processes)
    answers = {}
    for fork in forks:
        code, took, at, text = (fork.answer() or f"{fork.code} 0 0 crashed").split(" ", 3)
        answers[fork.pid] = int(code), float(took), float(at), text
    os.close(start)
    os.close(go)
    winners = [pid for pid, answer in answers.items() if answer[0] == 0]
    if len(winners) != 1:
        return [f"{len(winners)} winners: {Counter(answer[0] for answer in answers.values())}"]
    found = []
    for pid, (code, took, at, text) in answers.items():
        if pid == winners[0]:
            continue
        named = re.search(r"process (\d+) on ", text)
        if code != 2 or not named or int(named[1]) != winners[0]:
            found.append(f"exit {code}, not reported by whom: {text[:200]}")
        if took > AT_ONCE or at > answers[winners[0]][2]:
            found.append(f"refused after {took} s")
    if st.load("same").variables["x"].values.tobytes() != whole:
        found.append("other numbers")
    if left := sorted(path.name for path in Path().iterdir() if path.name not in ("whole", "same")):
        found.append(f"left behind: {left}")
    return found


def campaign(processes: int = 5, rounds: int = 20) -> tuple[str, int]:
    """Run all rounds and count those that went wrong."""
    with tempfile.TemporaryDirectory() as root:
        os.chdir(root)
        run_job(Job(NAME, SETS, "whole", figures=False, quiet=True))
        whole = st.load("whole").variables["x"].values.tobytes()
        wrong = 0
        for overwrite in (False, True):
            for number in range(rounds):
                if number == 0 or not overwrite:
                    shutil.rmtree("same", ignore_errors=True)
                found = one_round(processes, overwrite, whole)
                wrong += bool(found)
                if found:
                    print(f"overwrite {overwrite}, round {number}: {found}", flush=True)
        os.chdir("/")
    return f"same folder: {wrong} of {2 * rounds} rounds of {processes} processes wrong", wrong
