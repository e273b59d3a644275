"""What digests cost: a run of 100 MB saved with and without them, turn by turn.

The whole run is a process of its own, with and without figures. What digests add to the time of
`save` is the least of many rounds, because other processes only ever add to it.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from forks import MAIN

import stiction as st
from stiction.io import digests, store

NAME, SETS = "detachment-wave", ["solve.save=58000"]
ALLOWED = 0.02


def least(root: Path, rounds: int) -> tuple[float, float]:
    """Return what digests add to the time and to the time of the processor of saving [s]."""
    run = st.read_scenario(NAME, SETS).solve()
    ways = {True: digests.file_digest, False: lambda path: "0" * 64}
    spent: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for k in range(2 * rounds + 1):
        with_digests = k % 2 == 0
        digests.file_digest = ways[with_digests]
        shutil.rmtree(root / "run", ignore_errors=True)
        begin, cpu = time.perf_counter(), time.process_time()
        store.save(run, root / "run", scenario="")
        spent[with_digests].append((time.perf_counter() - begin, time.process_time() - cpu))
    best = {way: [min(row[k] for row in rows) for k in (0, 1)] for way, rows in spent.items()}
    return best[True][0] - best[False][0], best[True][1] - best[False][1]


def whole(root: Path, *options: str) -> tuple[float, float]:
    """Return the least time and time of the processor of the whole run, in its own process [s]."""
    found = []
    for _ in range(3):
        words = [*MAIN, "run", NAME, "--quiet", "--overwrite", *options]
        words += [word for text in SETS for word in ("--set", text)]
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*words, "--out", str(root / "whole")], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((time.perf_counter() - begin, cpu))
    return min(t for t, _ in found), min(cpu for _, cpu in found)


def campaign(rounds: int = 15) -> tuple[str, int]:
    """Measure, with and without figures; a fault is more time than digests may add."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        added, cpu = least(root, rounds)
        size = sum(path.stat().st_size for path in (root / "run").iterdir()) / 1e6
        bad, lines = 0, []
        for what, options in (("with figures", ()), ("without figures", ("--no-figures",))):
            time_, processor = whole(root, *options)
            bad += added > ALLOWED * time_
            lines.append(
                f"{what}: {1e3 * added:.0f} ms of {time_:.2f} s, {100 * added / time_:.1f} %; "
                f"of the processor {1e3 * cpu:.0f} ms of {processor:.2f} s, "
                f"{100 * cpu / processor:.1f} %; {size:.0f} MB"
            )
    return "; ".join(lines), bad
