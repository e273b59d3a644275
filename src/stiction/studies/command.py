"""The command `stiction sweep`, and the commands `show` and `plot` for the folder of a study."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stiction.errors import ScenarioError
from stiction.io.interrupts import Interrupts
from stiction.studies.figures import write_study_figures
from stiction.studies.reader import read_study
from stiction.studies.store import is_study
from stiction.studies.study import Study, screen, table_of
from stiction.studies.sweep import Progress

__all__ = ["Asked", "is_study", "plot_study", "show_study", "sweep_file"]

_EVERY_S = 30.0


@dataclass(frozen=True)
class Asked:
    """Arguments of `stiction sweep`; see `Sweep.run`."""

    source: str
    out: str | None = None
    workers: int | None = None
    engine: str = "local"
    shard: str | None = None
    address: str | None = None
    quiet: bool = False
    json: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the study."""
        return Path("out", Path(self.source).stem) if self.out is None else Path(self.out)


def sweep_file(
    asked: Asked, put: Callable[[Any], None], bar: Callable[[float, str], object]
) -> int:
    """Solve a study that a file describes; return the exit code.

    The code is 1 if all members are done and none was solved, else 0. The summary reports members
    that fail.

    Verified by: tests/scenarios/test_sweep.py::test_a_sweep_from_the_command_line
    """
    sweep = read_study(asked.source)
    shard = None if asked.shard is None else _shard(asked.shard)
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        interrupts.check()
        bar(progress.done / max(progress.members, 1), str(progress))
        if not sys.stderr.isatty() and time.monotonic() - last >= _EVERY_S:
            # without a terminal, as in a batch job, progress is written as lines of a log
            last = time.monotonic()
            sys.stderr.write(f"{progress}\n")
            sys.stderr.flush()

    try:
        with Interrupts() as interrupts:
            study = sweep.run(
                asked.folder,
                workers=asked.workers,
                engine=asked.engine,
                address=asked.address,
                shard=shard,
                progress=report,
            )
    except KeyboardInterrupt:
        words = f"Interrupted. The same command continues; complete chunks are in {asked.folder}.\n"
        sys.stderr.write(words)
        raise
    if asked.json:
        put(table_of(study))
    elif not asked.quiet:
        put(f"{screen(study)}\nfolder                  {shlex.quote(str(asked.folder))}")
    status = study.table["status"]
    return 1 if study.complete and not (status <= 1).any() else 0


def _shard(text: str) -> tuple[int, int]:
    """Return (i, n) of the text "i/n": part i of n parts of the members, i from 1."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        needs, why = "i/n, with i from 1 to n", "a shard is one of n parts of the members."
        raise ScenarioError("--shard", repr(text), needs, why, "for example 1/8.")
    return int(match[1]), int(match[2])


def show_study(
    folder: str, put: Callable[[Any], None], *, json: bool = False, quiet: bool = False
) -> None:
    """Print the summary of the study in a folder: one screen, JSON, or one line."""
    study = Study(folder)
    if json:
        put(table_of(study))
    else:
        put(repr(study) if quiet else screen(study))


def plot_study(
    folder: str,
    what: Sequence[str],
    format: str,
    dpi: float | None = None,
    films: Sequence[str] = (),
) -> list[Path]:
    """Write the figures and animations of the study in a folder, and return their paths."""
    study, target = Study(folder), Path(folder, "figures")
    drawn = not films or what
    paths = write_study_figures(study, target, what, format, dpi) if drawn else []
    return paths + [study.animate(target / f"animation.{film}") for film in films]
