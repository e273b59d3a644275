"""Kills inside the swap of an old result for a new one: at every moment one of the two is there.

Half of the kills come between any two steps of the swap, half at a random time.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from forks import Fork

import stiction as st
from stiction.io.staging import staged

STEPS = ("rename", "fsync", "unlink", "rmdir")


def dying(after: int) -> None:
    """Let this process be killed before or after one of its next calls for files."""
    count = itertools.count()

    def counted(call: Any) -> Any:
        def inner(*args: Any, **options: Any) -> Any:
            if next(count) == after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*args, **options)
            if next(count) == after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return inner

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))


def overwrite(fresh: st.Run, after: int | None) -> str:
    """Overwrite the result, once with a kill at a step, or again and again."""
    while after is None:
        fresh.save("run", overwrite=True)
    with staged(Path("run"), overwrite=True) as folder:
        shutil.copytree("fresh", folder, dirs_exist_ok=True)
        dying(after)
    return "done"


def killed(fresh: st.Run, after: int | None, wait: float) -> bool:
    """Overwrite the result in another process; return whether it was killed."""
    fork = Fork(partial(overwrite, fresh, after))
    if after is None:
        time.sleep(wait)
        fork.kill()
    else:
        fork.answer()
    return fork.code == -signal.SIGKILL


def wrong(values: list[np.ndarray]) -> list[str]:
    """Return what is wrong with the result after a kill."""
    try:
        found = st.load("run").variables["x"].values
    except st.StictionError as error:
        return [f"lost or hidden: {error}"]
    return [] if any(np.array_equal(found, one) for one in values) else ["neither old nor new"]


def campaign(kills: int = 200, seed: int = 20260101) -> tuple[str, int]:
    """Kill at steps and at random times; count the results that are lost or hidden."""
    rng = random.Random(seed)
    runs = []
    for mu in ("0.05", "0.06"):
        scenario = st.read_scenario("baseline", (f"system.law.mu={mu}", "solve.save=21"))
        runs.append(st.solve(scenario.system, scenario.method, scenario.t_span))
    values = [run.variables["x"].values for run in runs]
    lost, absent, left, done = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as root:
        os.chdir(root)
        runs[1].save("fresh")
        runs[0].save("run", overwrite=True)
        while done < kills:
            stepwise = done % 2 == 0
            step = done // 2 % 40 if stepwise else None
            if not killed(runs[1], step, rng.uniform(0.0, 0.05)):
                # more steps than there are: the swap was over
                step, stepwise = rng.randrange(20), True
                if not killed(runs[1], step, 0.0):
                    continue
            done += 1
            absent += not Path("run").exists()
            if found := wrong(values):
                lost += 1
                print(f"step {step}: {found}", flush=True)
            runs[0].save("run", overwrite=True)
            rest = sorted({path.name for path in Path().iterdir()} - {"run", "fresh"})
            left += bool(rest)
            if rest:
                print(f"step {step}: left behind: {rest}", flush=True)
        print(f"{kills} kills, the name absent after {absent}")
        os.chdir("/")
    return (
        f"swap: {lost} of {done} results lost or hidden, {left} times something left behind",
        lost + left,
    )
