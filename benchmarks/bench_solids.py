"""Whole solves of solids at the paper's sizes: seconds, work and memory. Nobody to compare with."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass

from peers import talk
from record import RESULTS, Record, load

MOST_MEMORY = 2.0 * 2**30
LONGEST = 3600.0


@dataclass(frozen=True)
class Solve:
    """One row: a preset, a method, a solver, and how many seconds it may take.

    Parameters
    ----------
    until : what has to be found on the way
    warm : end of the run that warms up
    turn : stop at the first limit point
    """

    what: str
    preset: str
    fields: dict
    model: tuple[str, dict]
    method: tuple[str, dict]
    solver: str
    wanted: float
    until: str
    warm: float
    turn: bool = False

    def question(self, quick: bool) -> dict:
        """Return what the child is asked."""
        asked = {**vars(self), "fields": {**self.fields, "size": "quick" if quick else "paper"}}
        return {name: asked[name] for name in QUESTION}


QUESTION = ("preset", "fields", "model", "method", "solver", "warm", "turn")
STRIP = "strip 320 x 8, EA, mu 0.01: first load to the limit point"
CAP = "cap 900 x 47, F_n = 0: load and shear to full sliding"


def _strip(solver: str) -> Solve:
    model, method = ("EA", {"mu": 0.01}), ("Continuation", {"steps": 40})
    fields, until = {"u_end": 200.0}, "limit_point_at"
    return Solve(
        STRIP, "StripPeeling", fields, model, method, solver, 60.0, until, 0.005, turn=True
    )


def _cap(solver: str, wanted: float) -> Solve:
    model, method = ("DI", {"mu": 1.0}), ("Quasistatic", {"steps": 40})
    until = "full_sliding_at"
    return Solve(CAP, "CapSliding", {"u_end": 2.5}, model, method, solver, wanted, until, 0.35)


SOLVES = {
    "strip-pardiso": _strip("Pardiso"),
    "strip-superlu": _strip("SuperLU"),
    "cap-pardiso": _cap("Pardiso", 240.0),
    "cap-superlu": _cap("SuperLU", 600.0),
}


def verdict(record: Record, name: str, solve: Solve, said: dict) -> None:
    """Add what was to be reached, by the run; one that stops short has not reached it."""
    what, seconds = f"{solve.what}, {solve.solver}, 2 cores", f"<= {solve.wanted:.0f} s"
    if "failed" in said:
        record.target(what, seconds, "not measured", None, name=name)
        return
    there = said.get(solve.until) is not None
    measured = f"{said['seconds']:.0f} s, {said['cpu_seconds']:.0f} s of the processor"
    measured += "" if there else f", ended early: {said['status']}"
    met = there and said["seconds"] <= solve.wanted
    record.target(what, seconds, measured, met, name=name)
    if solve.preset == "CapSliding":
        memory = f"{said['peak_bytes'] / 2**30:.2f} GiB"
        what = f"memory of the whole process, cap 900 x 47, {solve.solver}"
        met = there and said["peak_bytes"] <= MOST_MEMORY
        record.target(what, f"<= {MOST_MEMORY / 2**30:.0f} GiB", memory, met, name=name)


def saved(record: Record, name: str) -> None:
    """Take the samples of a saved run from the file."""
    path = RESULTS / "solids.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    record.lines += [line for line in map(json.loads, lines) if line.get("name") == name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="quick sizes, nothing written")
    parser.add_argument(
        "--only", nargs="+", choices=list(SOLVES), default=list(SOLVES), help="keep other rows"
    )
    options = parser.parse_args()
    record = Record("solids", options.quick)
    for name, solve in SOLVES.items():
        if name not in options.only:
            saved(record, name)
            continue
        before = load()
        said = talk("solid_child.py", solve.question(options.quick), LONGEST, threads="")
        about = {"what": solve.what, "name": name, "commit": record.lines[0]["commit"]}
        about |= {"solver": solve.solver, "method": solve.method, "load": [before, load()]}
        record.add("solid_solve", **about, **said)
        verdict(record, name, solve, said)
    record.close()


if __name__ == "__main__":
    main()
