"""What a first run costs: processor time from empty caches, in units of a fixed piece of compiling.

The unit is `reference_compile.py`, the median of runs between the measured ones. Processor time is
that of a process and all its children. Caches are empty folders; nothing of the user's is touched.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from peers import last_line
from record import Record, record_all

ROOT = Path(__file__).resolve().parents[1]
MAIN = "from stiction.cli.main import main; main()"
FIRST = {
    "slip-wave": ("slip-wave",),
    "wheel-slips-then-slides": ("wheel-slips-then-slides",),
    "rods-crossed, t_end .005": ("rods-crossed", "--set", "solve.t_end=0.005"),
    "strip-peeling, 60 x 2, 5 steps": (
        *("strip-peeling", "--set", "system.cells=[60,2]"),
        *("--set", "method.steps=5"),
    ),
}
FROM_WHEEL = "every built-in scenario, first run from the wheel, over its warm run"


@dataclass
class Clock:
    """Measures commands, and the unit between them.

    Attributes
    ----------
    units : seconds of the reference, one after each command
    """

    units: list[float] = field(default_factory=list)

    def cpu(self, words: list[str], variables: dict[str, str]) -> tuple[float, str | None]:
        """Return the processor seconds of a command, and why it failed if it did."""
        saved = {k: v for k, v in os.environ.items() if not k.startswith(("STICTION_", "NUMBA_"))}
        before = _children()
        run = subprocess.run(
            words, env={**saved, **variables}, capture_output=True, text=True, cwd=variables["HOME"]
        )
        spent = _children() - before
        reference = [sys.executable, str(ROOT / "benchmarks" / "reference_compile.py")]
        reported = subprocess.run(reference, check=True, capture_output=True, text=True)
        self.units.append(float(reported.stdout))
        # a solve that stops where the future is not unique ends with 1, and has run
        failed = None if run.returncode in (0, 1) else last_line(run.stderr)
        return spent, failed

    @property
    def unit(self) -> float:
        """The median of the last five references [s]."""
        return statistics.median(self.units[-5:])


def _children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def stiction(*words: str) -> list[str]:
    """Return a command of this package, by the source that is imported."""
    return [sys.executable, "-c", MAIN, *words]


def empty(folder: Path, source: Path) -> dict[str, str]:
    """Return variables for a machine without kernels."""
    folder.mkdir()
    return {
        "HOME": str(folder),
        "STICTION_CACHE_DIR": str(folder / "saved"),
        "PYTHONPATH": str(source),
        "MPLBACKEND": "Agg",
    }


def main(record: Record, quick: bool) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as scratch:
        first_runs(record, clock, Path(scratch))
        if not quick:
            compile_all(record, clock, Path(scratch))
            from_wheel(record, clock, Path(scratch))


def measured(
    record: Record, clock: Clock, name: str, limit: float, seconds: float, failed: str | None
) -> None:
    """Add a row and its verdict."""
    units = seconds / clock.unit
    record.add("cold", name=name, seconds=seconds, unit=clock.unit, units=units, failed=failed)
    reported = failed or f"{units:.2f} units ({seconds:.2f} s, unit {clock.unit:.2f} s)"
    record.target(name, f"<= {limit:g} units", reported, None if failed else units <= limit)


def first_runs(record: Record, clock: Clock, scratch: Path) -> None:
    """Measure the first runs of a fresh clone, the demo, and a warm run."""
    source = ROOT / "src"
    clock.cpu(stiction("--help"), empty(scratch / "unit", source))
    for k, (name, words) in enumerate(FIRST.items()):
        variables = empty(scratch / f"first{k}", source)
        spent, failed = clock.cpu(stiction("run", *words, "--no-figures"), variables)
        measured(record, clock, f"first run of {name}, --no-figures", 6.0, spent, failed)
    variables = empty(scratch / "demo", source)
    spent, failed = clock.cpu(stiction("run", "detachment-wave"), variables)
    measured(record, clock, "make demo after the install, with figures", 6.0, spent, failed)
    variables = empty(scratch / "warm", source)
    words = stiction("run", "slip-wave", "--no-figures", "--overwrite")
    clock.cpu(words, {**variables, "STICTION_KERNELS": "compiled"})
    spent, failed = min(clock.cpu(words, variables) for _ in range(5))
    measured(record, clock, "slip-wave --no-figures, warm", 0.6, spent, failed)


def compile_all(record: Record, clock: Clock, scratch: Path) -> None:
    """Measure `stiction compile` of everything."""
    variables = empty(scratch / "all", ROOT / "src")
    spent, failed = clock.cpu(stiction("compile"), variables)
    measured(record, clock, "stiction compile of everything", 90.0, spent, failed)


def from_wheel(record: Record, clock: Clock, scratch: Path) -> None:
    """Measure every built-in scenario from a wheel, first and warm, outside of the sources."""
    out, place = scratch / "wheel", scratch / "elsewhere"
    words = [sys.executable, str(ROOT / "tools/wheel.py"), str(out)]
    if subprocess.run(words).returncode:
        record.target(FROM_WHEEL, "<= 1.5 units", "no wheel was built", None)
        return
    (made,) = out.glob("*.whl")
    zipfile.ZipFile(made).extractall(place)
    record.add("wheel", megabytes=made.stat().st_size / 1e6)
    worst, name_of_worst = 0.0, ""
    for path in sorted((ROOT / "src/stiction").glob("*/scenarios/*.toml")):
        variables = empty(scratch / f"w-{path.stem}", place)
        words = stiction("run", path.stem, "--no-figures", "--overwrite")
        first, failed = clock.cpu(words, variables)
        warm, _ = clock.cpu(words, variables)
        over = (first - warm) / clock.unit
        record.add("from wheel", name=path.stem, first=first, warm=warm, over=over, failed=failed)
        if over > worst:
            worst, name_of_worst = over, path.stem
    reported = f"at most {worst:.2f} units ({name_of_worst})"
    record.target(FROM_WHEEL, "<= 1.5 units", reported, worst <= 1.5)


if __name__ == "__main__":
    record_all("cold", __doc__, main)
