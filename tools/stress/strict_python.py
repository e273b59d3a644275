"""Python at its strictest, and processes that find nothing compiled: no warning, the same results.

Every command runs as `python -X dev` and as `python -W error`. Then N processes run the first
preset at once, with an empty cache of kernels.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PRESETS = ("slip-wave", "wheel-slips-then-slides", "string-symmetric")
MODES = {"-X dev": ("-X", "dev"), "-W error": ("-W", "error")}
# what is said of kernels is no fault
EXPECTED = ("stiction: compiling", "The kernels of", "Run `stiction compile", "Compiling takes")
RESULT = ("events.csv", "run.nc")


def command(mode: tuple[str, ...], *words: str) -> list[str]:
    """Return the words of a command in a mode of Python."""
    return [sys.executable, *mode, "-m", "stiction", *words]


def said(errors: str) -> list[str]:
    """Return the lines that nobody expects."""
    return [line for line in errors.splitlines() if line and not line.startswith(EXPECTED)]


def commands(presets: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the commands; later ones read what earlier ones have written."""
    runs = [("run", name, "--no-figures", "--overwrite", "--out", name) for name in presets]
    first = presets[0]
    read = [("show", first), ("verify", first), ("plot", first)]
    fit = ("fit", "curve.csv", "--law", "Coulomb", "--normal-force", "10", "--overwrite")
    return [("--version",), ("list",), *runs, *read, fit, ("show", "out/curve"), ("doctor",)]


def strict(presets: tuple[str, ...], folder: Path) -> tuple[int, list[str]]:
    """Return how many commands ran, and what went wrong."""
    rows = [f"{k}.5,{3 - 6 * (k > 9)}.{k}" for k in [*range(15), *range(15, 0, -1)]]
    (folder / "curve.csv").write_text("\n".join(["displacement [mm],force [N]", *rows]))
    wrong, count = [], 0
    for name, mode in MODES.items():
        for words in commands(presets):
            done = subprocess.run(
                command(mode, *words), cwd=folder, capture_output=True, text=True, check=False
            )
            count += 1
            more = said(done.stderr)
            # `doctor` may find a fault of this machine
            if (done.returncode and words != ("doctor",)) or more:
                wrong.append(f"{name} {' '.join(words)}: exit {done.returncode}; {more[-1:]}")
                print(wrong[-1], *more[-8:], sep="\n  ", flush=True)
    return count, wrong


def at_once(preset: str, processes: int, folder: Path) -> list[str]:
    """Return what went wrong where many processes compile the same kernels."""
    saved = folder / "saved"
    environment = {
        **os.environ,
        "STICTION_CACHE_DIR": str(saved),
        "STICTION_KERNELS": "compiled",
    }
    running = []
    for k in range(processes):
        words = command((), "run", preset, "--no-figures", "--out", f"at-once-{k}")
        running.append(
            subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    wrong, found = [], set()
    for k, process in enumerate(running):
        _, errors = process.communicate()
        if process.returncode or said(errors):
            wrong.append(f"process {k}: exit {process.returncode}; {said(errors)[-1:]}")
            continue
        files = [folder / f"at-once-{k}" / name for name in RESULT]
        found.add(hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest())
    if len(found) > 1:
        wrong.append(f"{len(found)} different results")
    left = [path.name for path in saved.iterdir() if path.name.startswith(".")]
    if left:
        wrong.append(f"{len(left)} files left over: {left[0]}")
    for line in wrong:
        print(line, flush=True)
    return wrong


def campaign(presets: tuple[str, ...] = PRESETS, processes: int = 8) -> tuple[str, int]:
    """Run both; count warnings, errors and collisions."""
    with tempfile.TemporaryDirectory() as place:
        count, wrong = strict(presets, Path(place))
        collided = at_once(presets[0], processes, Path(place))
    return (
        f"{count} commands, {len(wrong)} with a warning or an error; "
        f"{processes} processes on an empty cache, {len(collided)} faults",
        len(wrong) + len(collided),
    )
