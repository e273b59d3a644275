"""`stiction compile`: make the kernels of a system beforehand, on all cores."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.errors import ModelError, explain
from stiction.numerics.compiling.folders import folder_for, mark_ready, why_unusable

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
    source = str(Path(__file__).parents[1] / "__init__.py")
    if folder_for(source) is None:
        why = "what is compiled now would be lost with this process."
        needs = "a folder of yours that nobody else can write to"
        repair = "set STICTION_CACHE_DIR to such a folder."
        raise ModelError(explain("compile", why_unusable(source), needs, why, repair))
    from stiction.numerics.compiling.beforehand import compile_lines

    lines = {line for name in names or known for line in known[name].read_text().splitlines()}
    begin = time.perf_counter()
    if not sys.stderr.isatty():
        # where no bar is shown
        typer.echo(f"compiling {len(lines)} kernels of {', '.join(names or known)}", err=True)
    with Bar(f"compiling {', '.join(names or known)}") as bar:

        def report(share: float) -> None:
            left = (time.perf_counter() - begin) * (1.0 - share) / max(share, 1e-3)
            bar(share, f"{left:.0f} s left")

        failed = compile_lines(lines, report)
    for error in dict.fromkeys(failed.values()):
        first, *more = [line.partition(" ")[0] for line in failed if failed[line] == error]
        others = f" and {len(more)} more" if more else ""
        typer.echo(f"{first}{others}: {error}", err=True)
    if not failed:
        for name in names or known:
            mark_ready(name)
    spent = time.perf_counter() - begin
    put(f"{len(lines) - len(failed)} kernels are ready, {spent:.0f} s")
    return len(failed)
