"""How long the command line takes, from the shell's point of view."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import last_line
from record import Record, record_all

# a process start varies more than a computation: take the best of several
REPEAT = 9


def best_of(command: list[str], repeat: int) -> tuple[float, str | None]:
    """Return the least seconds of a warm command, or why there is none."""
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        run = subprocess.run(command, capture_output=True, text=True)
        times.append(time.perf_counter() - start)
        if run.returncode != 0:
            return float("nan"), f"ended with code {run.returncode}: {last_line(run.stderr)}"
    return min(times[1:]), None


def main(record: Record, quick: bool) -> None:
    repeat = 2 if quick else REPEAT
    program = Path(sys.executable).parent / "stiction"
    with tempfile.TemporaryDirectory() as folder:
        run = [str(program), "run", "baseline", "--out", f"{folder}/run", "--overwrite"]
        commands = (
            ("python -c 'import stiction'", [sys.executable, "-c", "import stiction"], None),
            ("stiction --help", [str(program), "--help"], 0.4),
            ("stiction list", [str(program), "list"], None),
            ("stiction run baseline --no-figures", [*run, "--no-figures"], 3.0),
            ("stiction run baseline (with figures)", run, 6.0),
        )
        for name, command, limit in commands:
            seconds, failed = best_of(command, repeat)
            record.add("command", name=name, seconds=seconds, runs=repeat, failed=failed)
            if limit is None:
                continue
            measured = failed if failed is not None else f"{seconds:.2f} s"
            met = None if failed is not None else seconds <= limit
            record.target(f"{name}, warm kernel cache", f"<= {limit:g} s", measured, met)


if __name__ == "__main__":
    record_all("cli", __doc__, main)
