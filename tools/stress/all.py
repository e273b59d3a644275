"""Every campaign of random systems, damage and kills, and one table of what was asked and measured.

Usage: python tools/stress/all.py [--quick | --tiny] [NAME ...]
       [--seed N] [--set KEY=VALUE ...] [--report FILE]

A campaign is the function `campaign` in the module of its name, here or in `benchmarks`; `--set`
sets its parameters. It prints each fault and returns its measurements and the number of faults.
Each campaign runs in a process of its own, which may crash.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FULL_S, QUICK_S = 4 * 3600.0, 600.0
# exit code of a campaign that came to its end; an error of Python is 1
FAULTS = 3


class Row(NamedTuple):
    """A campaign: what is asked, and its settings at the smaller sizes.

    The defaults of its function are the full size. A campaign whose settings are None at a size
    runs at that size only where it is named; none runs where the library that it needs is absent.
    """

    asked: str
    quick: str | None = None
    tiny: str | None = None
    env: tuple[str, str] = ("", "")
    mounts: bool = False
    needs: str = ""


ROWS = {
    "damage": Row("1,000 damaged runs: 0 silent, 0 foreign, 0 hangs", "trials=20", "trials=5"),
    "damage_checkpoint": Row(
        "damaged checkpoints: 0 silent, 0 foreign, 0 hangs", "trials=13", "trials=4 families=theta"
    ),
    "full_disk": Row("20 full disks: exit 2 or success, 0 crashes", "count=3", mounts=True),
    "same_folder": Row("5 processes x 20 rounds: one winner, 0 collisions", "rounds=1"),
    "swap_kills": Row("200 kills in the swap: 0 lost or hidden", "kills=8", "kills=4"),
    "kill_resume": Row(
        *("13 families x 50 kills: 0 wrong bits, 0 leftovers", "kills=2"),
        tiny="families=switching,strings kills=2",
    ),
    "studies": Row("20 kills of each process: the data as undisturbed", "kills=2"),
    "fuzz": Row(
        *("20,000 solves: 0 foreign, silent, warned, slow", "trials=300"),
        tiny="trials=100 families=chains,switching,strings",
    ),
    "bounds_check": Row(
        *("26 presets with bounds checked: 0", "names=baseline,belt-oscillator", "names=baseline"),
        env=("NUMBA_BOUNDSCHECK", "1"),
    ),
    "bits": Row(
        "the same bits twice, in threads, in other units", "names=baseline", "names=baseline"
    ),
    "trust_arches": Row("arches: loads within 0.1 % of polynomials"),
    "trust_attraction": Row("sliding that stops attracting: reported within 1e-9"),
    "trust_branches": Row("300 chains: no branch missed, all balance"),
    "trust_buckling": Row("200 columns: none buckles in silence"),
    "trust_intersections": Row("2,000 codimension-2 intersections as enumerated"),
    "trust_cycles": Row(
        *("500 chains: no branch of periodic orbits lost", "chains=10 starts=3"),
        tiny="chains=1 starts=2",
    ),
    "trust_creep": Row("laws without stick: 1e-8 of 30 digits", needs="mpmath"),
    "trust_plates": Row("plates: bifurcation within 0.1 % of the exact load"),
    "trust_rods": Row("300 drops of rods: every overlap is reported"),
    "trust_sliders": Row("24 sliders on waves: ledgers within 1e-7"),
    "trust_snap": Row("snap-off: 2 % of continuation, ledger 1e-6"),
    "trust_switching": Row("10,000 grazing orbits: 0 wrong without a word"),
    "trust_theta": Row("1,000 chains and law: the error falls with the order"),
    "trust_degenerate": Row("10,000 degenerate and grazing chains: 0 wrong"),
    "trust_two_bodies": Row("Hertz between two bodies: within 0.2 %"),
    "trust_units": Row("9 problems in 10 systems of units: 1e-8"),
}


def campaign_of(name: str) -> Callable[..., tuple[str, int]]:
    """Return the function of a campaign."""
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests"), str(HERE)]
    function: Callable[..., tuple[str, int]] = importlib.import_module(name).campaign
    return function


def settings(function: Callable[..., Any], words: list[str]) -> dict[str, Any]:
    """Return the values of `key=value`, of the types of the defaults of a function."""
    known, found = inspect.signature(function).parameters, {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in known:
            raise SystemExit(f"--set {word}: needs one of {', '.join(known)}")
        default = known[key].default
        if isinstance(default, tuple):
            found[key] = tuple(type(default[0])(part) for part in text.split(","))
        else:
            found[key] = type(default)(text)
    return found


def alone(name: str, words: list[str], seed: int | None) -> int:
    """Run one campaign in this process; return FAULTS if it has one."""
    function = campaign_of(name)
    given = settings(function, words)
    if seed is not None and "seed" in inspect.signature(function).parameters:
        given.setdefault("seed", seed)
    measured, faults = function(**given)
    print(measured, flush=True)
    return FAULTS if faults else 0


def apart(name: str, words: list[str], seed: int | None, limit: float) -> tuple[int, str]:
    """Run one campaign in its own process; return the exit code and what it printed."""
    row = ROWS[name]
    command = [sys.executable, __file__, "--alone", name]
    command += [] if seed is None else ["--seed", str(seed)]
    command += ["--set", *words] if words else []
    if row.mounts and os.geteuid() and shutil.which("unshare"):
        command = ["unshare", "--map-root-user", "--mount", *command]
    env = {**os.environ, **dict([row.env] if row.env[0] else [])}
    try:
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        return 1, (error.stdout or b"").decode() + f"\nnot over after {limit:.0f} s\n"
    return done.returncode, done.stdout


def main() -> int:
    """Run the campaigns that are named, print the table; return 1 if one has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, in minutes")
    size.add_argument("--tiny", action="store_true", help="some campaigns, within a minute")
    parser.add_argument("--seed", type=int, help="for each campaign that draws")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--report", type=Path, help="file for the table")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.names) - ROWS.keys():
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}")
    if given.alone:
        return alone(given.names[0], given.set, given.seed)
    limit = QUICK_S if given.quick or given.tiny else FULL_S
    lines, failed = [f"\n{'asked':52s} {'met':4s} measured"], 0
    for name in given.names or ROWS:
        row = ROWS[name]
        sized = row.tiny if given.tiny else row.quick if given.quick else ""
        if sized is None and not given.names:
            continue
        if row.needs and importlib.util.find_spec(row.needs) is None:
            print(f"== {name} is left out: it needs {row.needs}", flush=True)
            continue
        print(f"== {name}", flush=True)
        begin = time.monotonic()
        code, printed = apart(name, [*(sized or "").split(), *given.set], given.seed, limit)
        print(printed, end="", flush=True)
        failed += bool(code)
        measured = f"no result, exit code {code}"
        if code in (0, FAULTS):
            measured = printed.strip().splitlines()[-1]
        met, spent = "NO" if code else "yes", time.monotonic() - begin
        lines.append(f"{row.asked:52s} {met:4s} {measured} ({spent:.0f} s)")
    print(*lines, sep="\n")
    if given.report:
        given.report.write_text("\n".join([*lines, ""]))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
