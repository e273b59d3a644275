"""What was found: saved in a file after every fault, and reported as a table at the end."""

from __future__ import annotations

import json
import math
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutation.judge import KILLED, SURVIVED, TIMED_OUT, UNDECIDED, Verdict
from mutation.source import Mutant
from mutation.tree import Tree

__all__ = ["OVERALL", "PER_PACKAGE", "Report", "say"]

# the least fraction of faults that the tests must see, in all and in every package
OVERALL, PER_PACKAGE = 0.90, 0.85
# of fewer faults a share says little
_HANDFUL = 5
# a sample as poor as this would come up less often if the rate were what it must be
_SELDOM = 0.05
ARGUED = "argued"


def say(line: str = "") -> None:
    """Print a line now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Report:
    """Verdicts by fault, with what is needed to go on later.

    Parameters
    ----------
    path : file to continue and to keep; None for none
    retry : keep what was killed before even if the tree has changed, try all others again
    """

    def __init__(self, path: Path | None, tree: Tree, seed: int, *, retry: bool = False) -> None:
        self.path, self.tree, self._lock = path, tree, threading.Lock()
        self.about = {
            "seed": seed,
            "source": tree.digest(tree.sources),
            "tests": tree.digest(tree.tests),
        }
        self.rows: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            same = all(old.get(key) == value for key, value in self.about.items())
            seen = (KILLED, TIMED_OUT)
            if retry:
                self.rows = {k: r for k, r in old["mutants"].items() if r["verdict"] in seen}
            elif same:
                self.rows = old["mutants"]

    def add(self, mutant: Mutant, verdict: Verdict, seconds: float) -> None:
        """Keep a verdict, and write the file in one step."""
        reported = ("file", "line", "function", "operator", "old", "new")
        about = {name: getattr(mutant, name) for name in reported}
        with self._lock:
            self.rows[mutant.id] = {**about, **asdict(verdict), "seconds": round(seconds, 1)}
            if self.path is not None:
                new = self.path.with_name(f"{self.path.name}.new")
                text = json.dumps({**self.about, "mutants": self.rows}, indent=1)
                new.write_text(text, encoding="utf-8")
                new.replace(self.path)

    def line(self, mutant: Mutant, number: int, count: int) -> str:
        """Return one line of progress."""
        row = self.rows[mutant.id]
        place = f"{mutant.file}:{mutant.line}"
        how = f"{row['verdict']} by {row['by']}" if row["by"] else row["verdict"]
        if row["by"]:
            how += f" ({row['error']}{', plain' if row['plain'] else ''})"
        text = f"[{number:3d}/{count}] {mutant.id} {place} {mutant.operator}: {how}"
        return f"{text} {row['seconds']:.0f} s"

    # ---- the end

    def table(self, chosen: list[Mutant], *, sampled: bool = False) -> tuple[list[str], bool]:
        """Return the lines of the table of kill rates, and whether the bounds hold.

        A sample breaks a bound only if it would seldom do so by chance.
        """
        groups: dict[str, list[dict[str, Any]]] = {}
        for mutant in chosen:
            if mutant.id in self.rows:
                groups.setdefault(self.tree.part(mutant.file), []).append(self.rows[mutant.id])
        titles = ("killed", "timed out", "survived", "undecided", "argued", "rate")
        lines = [f"{'package':<12}" + "".join(f"{title:>11}" for title in titles)]
        good = True
        for part, rows in sorted(groups.items()):
            text, rate, judged = _counted(rows)
            short = _is_short(rate, judged, PER_PACKAGE, sampled) and judged >= _HANDFUL
            good = good and not short
            lines.append(f"{part:<12}{text}" + (f"  below {PER_PACKAGE:.0%}" if short else ""))
        text, rate, judged = _counted([row for rows in groups.values() for row in rows])
        short = _is_short(rate, judged, OVERALL, sampled)
        lines.append(f"{'all':<12}{text}" + (f"  below {OVERALL:.0%}" if short else ""))
        return lines, good and not short

    def survivors(self, chosen: list[Mutant]) -> list[str]:
        """Return what no test saw, two lines each."""
        lines = []
        for mutant in chosen:
            row = self.rows.get(mutant.id, {})
            if row.get("verdict") in (SURVIVED, UNDECIDED):
                where = f"{mutant.file}:{mutant.line} {mutant.function or 'module'}"
                lines.append(f"{mutant.id} {row['verdict']}: {where}, {mutant.operator}")
                lines.append(f"    {mutant.old}  ->  {mutant.new}")
        return lines


def _is_short(rate: float, judged: int, bound: float, sampled: bool) -> bool:
    """Return whether a rate is below its bound; of a sample, by more than chance explains."""
    if not sampled:
        return rate < bound
    seen = round(rate * judged)
    chances = (
        math.comb(judged, k) * bound**k * (1.0 - bound) ** (judged - k) for k in range(seen + 1)
    )
    return sum(chances) < _SELDOM


def _counted(rows: list[dict[str, Any]]) -> tuple[str, float, int]:
    kinds = (KILLED, TIMED_OUT, SURVIVED, UNDECIDED, ARGUED)
    counts = [sum(row["verdict"] == kind for row in rows) for kind in kinds]
    judged = sum(counts[:4])
    rate = (counts[0] + counts[1]) / judged if judged else 1.0
    return "".join(f"{n:11d}" for n in counts) + f"{rate:11.1%}", rate, judged
