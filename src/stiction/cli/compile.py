"""`stiction compile`: compile the Numba kernels of a system ahead of time, on all cores.

Without it, the first run of a system compiles the kernels that it needs. The file `kernels.txt` in
the folder of a system lists its kernels, one kernel with its argument types in a line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import typer

from stiction.cli.output import put, put_json
from stiction.cli.progress import Bar
from stiction.errors import ModelError, nearest
from stiction.numerics.compiling.folders import folder_for, mark_ready, systems, why_unusable

__all__ = ["compile_systems"]


def compile_systems(names: Sequence[str], *, json: bool = False, quiet: bool = False) -> int:
    """Compile the kernels of the named systems, or of all systems; return how many failed.

    Raises
    ------
    ModelError : for a name that is not a system, and without a folder for the compiled code.
    """
    known = systems()
    for name in names:
        if name not in known:
            needs = "one of " + ", ".join(known)
            why = "kernels are compiled system by system."
            try_ = f"{nearest(name, known)} Without a name, all systems are compiled."
            raise ModelError("compile", repr(name), needs, why, try_)
    source = str(next(iter(known.values())).parents[1] / "__init__.py")
    if folder_for(source) is None:
        why = "compiled code is saved in this folder for later processes."
        needs = "a folder of yours to which nobody else can write"
        repair = "set STICTION_CACHE_DIR to such a folder."
        raise ModelError("compile", why_unusable(source), needs, why, repair)
    from stiction.numerics.compiling.ahead_of_time import compile_lines

    lines = {
        line for name in names or known for line in known[name].read_text("utf-8").splitlines()
    }
    begin = time.perf_counter()
    if not (sys.stderr.isatty() or quiet):
        # in place of the progress bar, which needs a terminal
        typer.echo(f"compiling {len(lines)} kernels of {', '.join(names or known)}", err=True)
    with Bar(f"compiling {', '.join(names or known)}", shown=not quiet) as bar:

        def report(fraction: float) -> None:
            remaining = (time.perf_counter() - begin) * (1.0 - fraction) / max(fraction, 1e-3)
            bar(fraction, f"{remaining:.0f} s left")

        failed = compile_lines(lines, report)
    for error in dict.fromkeys(failed.values()):
        first, *more = [line.partition(" ")[0] for line in failed if failed[line] == error]
        others = f" and {len(more)} more" if more else ""
        typer.echo(f"{first}{others}: {error}", err=True)
    if not failed:
        for name in names or known:
            mark_ready(name)
    spent, ready = time.perf_counter() - begin, len(lines) - len(failed)
    if json:
        wrong = {line.partition(" ")[0]: error for line, error in failed.items()}
        whole = {"systems": list(names or known), "kernels": ready, "failed": wrong}
        put_json({**whole, "seconds": round(spent, 3)})
    elif not quiet:
        put(f"{ready} kernels are ready, {spent:.0f} s")
    return len(failed)
