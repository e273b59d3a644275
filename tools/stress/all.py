"""Every campaign of this folder, and one table of what was asked and what was measured.

Usage: python tools/stress/all.py [--quick | --tiny] [NAME ...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FULL_S, QUICK_S = 4 * 3600.0, 600.0


class Row(NamedTuple):
    """A campaign: what is asked, its words at each size, and the lines that it ends in.

    A campaign without `tiny` is left out at that size.
    """

    asked: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    tiny: tuple[str, ...] = ()
    lines: int = 1


ROWS = {
    "damage": Row("1,000 damaged runs: 0 silent, 0 foreign, 0 hangs", (), ("20",), ("5",)),
    "damage_checkpoint": Row(
        "damaged checkpoints: 0 silent, 0 foreign, 0 hangs", (), ("13",), ("4", "1", "theta")
    ),
    "full_disk": Row("20 full disks: exit 2 or success, 0 crashes", (), ("3",), lines=2),
    "same_folder": Row("5 processes x 20 rounds: one winner, 0 collisions", (), ("5", "1")),
    "swap_kills": Row("200 kills in the swap: 0 lost or hidden", (), ("8",), ("4",)),
    "kill_resume": Row(
        "10 families x 50 kills: 0 wrong bits, 0 leftovers",
        quick=("--kills", "2"),
        tiny=("switching", "strings", "--kills", "2"),
    ),
    "studies": Row("20 kills of each process: the data as undisturbed", quick=("--kills", "2")),
    "fuzz": Row(
        "20,000 solves: 0 foreign, silent, warned, slow",
        quick=("--quick",),
        tiny=("100", "--families", "chains,switching,strings"),
    ),
    "counts": Row("counts beyond reason: refused in 1 s and 500 MiB"),
    "bounds_check": Row(
        "26 presets with bounds checked: 0",
        quick=("baseline", "belt-oscillator"),
        tiny=("baseline",),
    ),
    "strict_python": Row(
        "python -X dev, -W error, 8 on an empty cache: 0 words",
        quick=("slip-wave", "--processes", "3"),
    ),
    "digest_cost": Row("digests of 100 MB: at most 2 % of a run", quick=("--quick",), lines=2),
    "bits": Row(
        "the same bits twice, in threads, in other units", quick=("baseline",), tiny=("baseline",)
    ),
}


def main() -> int:
    """Run what was asked for, print the table; return 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(ROWS))
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, in minutes")
    size.add_argument("--tiny", action="store_true", help="some campaigns, within a minute")
    given = parser.parse_args()
    if unknown := set(given.names) - ROWS.keys():
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}")
    limit = QUICK_S if given.quick or given.tiny else FULL_S
    table, failed = [], 0
    for name in given.names:
        row = ROWS[name]
        if given.tiny and not row.tiny:
            continue
        print(f"== {name}", flush=True)
        words = [
            sys.executable,
            str(HERE / f"{name}.py"),
            *(row.tiny if given.tiny else row.quick if given.quick else row.full),
        ]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                words, stdout=subprocess.PIPE, text=True, timeout=limit, check=False
            )
            code, told = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            code, told = 1, (error.stdout or b"").decode() + f"\nnot over after {limit:.0f} s"
        print(told, end="", flush=True)
        failed += bool(code)
        measured = "; ".join(told.strip().splitlines()[-row.lines :])
        table.append((row.asked, "yes" if code == 0 else "NO", measured, time.monotonic() - begin))
    print(f"\n{'asked':52s} {'met':4s} measured")
    for asked, met, measured, spent in table:
        print(f"{asked:52s} {met:4s} {measured} ({spent:.0f} s)")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
