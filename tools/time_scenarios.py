"""Measure what built-in scenarios and studies take, for `stiction list`.

`python tools/time_scenarios.py [NAME ...]` runs each with compiled kernels and without figures, in
a process of its own, twice, and writes the lesser time of the processor (children included) to
`src/stiction/io/scenario/seconds.toml`. Without a name those are run that have no row yet.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from stiction.io.scenario.built_in import built_in
from stiction.studies.listing import ready

FILE = Path(__file__).parents[1] / "src" / "stiction" / "io" / "scenario" / "seconds.toml"
HEAD = """\
# Time of the processor that `stiction run NAME --no-figures` (`sweep` for a study) takes with
# compiled kernels [s]: two cores of a machine of 2026. Written by tools/time_scenarios.py.
[seconds]
"""
TIMES = 2


def main(names: list[str]) -> int:
    """Measure, and write after each: what is measured is saved; return how many failed."""
    known = tomllib.loads(FILE.read_text(encoding="utf-8"))["seconds"] if FILE.exists() else {}
    every = [*built_in(), *ready()]
    failed = 0
    for name in names or [name for name in every if name not in known]:
        spent = [measured(name) for _ in range(TIMES)]
        if None in spent:
            print(f"{name}: failed")
            failed += 1
            continue
        known[name] = min(spent)
        print(f"{name}: {known[name]:.1f} s")
        rows = (f"{one} = {known[one]:.1f}\n" for one in sorted(set(every) & set(known)))
        FILE.write_text(HEAD + "".join(rows), encoding="utf-8")
    return failed


def measured(name: str) -> float | None:
    """Return the seconds of the processor of one run; None if it did not run at all."""
    with tempfile.TemporaryDirectory() as folder:
        words = (
            ["sweep", name, "--quiet"] if name in ready() else ["run", name, "--no-figures", "-q"]
        )
        environment = {**os.environ, "STICTION_KERNELS": "compiled"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "stiction", *words, "--out", f"{folder}/out"],
            env=environment,
            check=False,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # 1: a scenario that is there to fail
    if done.returncode not in (0, 1):
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
