"""Where measurements go: one JSON line per point, and what machine they were taken on."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from protocol import plain

RESULTS = Path(__file__).resolve().parent / "results"


class Record:
    """The points of one script; written as a whole when the script ends well.

    A quick run is for trying out: its points are printed and not saved.
    """

    def __init__(self, name: str, quick: bool) -> None:
        self.name, self.quick = name, quick
        self.lines: list[dict] = []
        self.add("machine", **machine())

    def add(self, kind: str, **values: object) -> None:
        """Add one point and print it."""
        line = {"kind": kind, **{name: _plain(value) for name, value in values.items()}}
        text = json.dumps(line, default=plain)
        self.lines.append(json.loads(text))
        print(text, flush=True)

    def target(
        self, what: str, wanted: str, measured: str, met: bool | None, **more: object
    ) -> None:
        """Add the verdict on a number that is to be reached; None where it could not be taken."""
        self.add("target", what=what, wanted=wanted, measured=measured, met=met, **more)

    def close(self) -> None:
        """Keep the points and write the table anew."""
        if self.quick:
            print("a quick run: nothing was written")
            return
        from table import write

        self.lines[0]["load_after"] = load()
        RESULTS.mkdir(exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        path = RESULTS / f"{self.name}.jsonl"
        part = path.with_suffix(".part")
        part.write_text(text)
        part.replace(path)
        print(f"table written to {write()}")


def record_all(name: str, summary: str, *parts: Callable[[Record, bool], object]) -> None:
    """Measure the parts of a script, each given whether it is to be quick; keep the points."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--quick", action="store_true", help="few short runs, nothing written")
    quick = parser.parse_args().quick
    record = Record(name, quick)
    for part in parts:
        part(record, quick)
    record.close()


def machine() -> dict:
    """Return what the numbers depend on besides the code."""
    names = ("stiction", "numpy", "numba", "scipy", "solve-nivp", "pyelastica")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in names},
        "load_before": load(),
    }


def _plain(value: object) -> object:
    """Return what JSON has a word for: an infinite error is one that makes no sense."""
    return "wrong" if isinstance(value, float) and not math.isfinite(value) else value


def load() -> float | None:
    """Return how many processes wanted the processor in the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    try:
        run = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=RESULTS.parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
