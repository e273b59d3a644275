"""`stiction compile`: make the kernels of a system beforehand, on all cores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.errors import ModelError, explain
from stiction.numerics.compiling.folders import mark_ready

__all__ = ["compile_systems", "systems"]

_LIST = "kernels.txt"


def systems() -> dict[str, Path]:
    """Return the systems that have kernels, each with the list of what Python calls."""
    root = Path(__file__).parents[1]
    return {path.parent.name: path for path in sorted(root.glob(f"*/{_LIST}"))}


def compile_systems(names: Sequence[str]) -> int:
    """Compile all kernels of systems, all systems for none; return how many failed.

    Raises
    ------
    ModelError : for a name that is no system
    """
    known = systems()
    for name in names:
        if name not in known:
            needs = "one of " + ", ".join(known)
            why = "kernels are compiled system by system."
            raise ModelError(explain("compile", name, needs, why, "leave it out for all."))
    from stiction.numerics.compiling.beforehand import compile_lines

    lines = {line for name in names or known for line in known[name].read_text().splitlines()}
    begin = time.perf_counter()
    with Bar(f"compiling {', '.join(names or known)}") as bar:

        def report(share: float) -> None:
            left = (time.perf_counter() - begin) * (1.0 - share) / max(share, 1e-3)
            bar(share, f"{left:.0f} s left")

        failed = compile_lines(lines, report)
    for line, error in failed.items():
        typer.echo(f"{line.partition(' ')[0]}: {error}", err=True)
    if not failed:
        for name in names or known:
            mark_ready(name)
    spent = time.perf_counter() - begin
    put(f"{len(lines) - len(failed)} kernels are ready, {spent:.0f} s")
    return len(failed)
