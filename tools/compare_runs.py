"""Compare every built-in scenario, number by number, between this tree and another one.

::

    python tools/compare_runs.py REVISION              # makes a worktree of that commit
    python tools/compare_runs.py REVISION --keep DIR   # keeps the runs of that commit in DIR
    python tools/compare_runs.py REVISION slip-wave belt-oscillator --rtol 1e-13

Each scenario is run by the command line of both trees. Arrays of run.nc, events.csv and the
numbers of summary.json must be the same to the last bit; with --rtol they may differ by that
share of the largest entry, and events must be the same ones. What a machine says about itself
(provenance) and words are left out. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_WORDS = ("provenance", "reason", "method", "system")


def main() -> int:
    """Return 0 when all scenarios agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="a commit, or the folder of another checkout")
    parser.add_argument("scenarios", nargs="*", help="names; default all")
    parser.add_argument("--keep", type=Path, help="folder for the runs of the other tree")
    parser.add_argument("--mine", type=Path, help="folder for the runs of this tree")
    parser.add_argument("--rtol", type=float, default=0.0, help="relative difference allowed")
    asked = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        other = checkout(asked.revision, Path(scratch))
        theirs, ours = asked.keep or Path(scratch, "theirs"), asked.mine or Path(scratch, "ours")
        for name in asked.scenarios or built_in():
            for tree, folder in ((other, theirs), (ROOT, ours)):
                if not (folder / name / "summary.json").exists():
                    solve(tree, name, folder / name)
            found = list(differences(theirs / name, ours / name, asked.rtol))
            bad += bool(found)
            print(f"{name:<28} {'the same' if not found else found[0]}", flush=True)
            for line in found[1:6]:
                print(f"{'':<28} {line}")
        if other.parent == Path(scratch):
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)
    print("all the same" if not bad else f"{bad} scenarios differ")
    return int(bad > 0)


def checkout(revision: str, scratch: Path) -> Path:
    """Return the folder of the other tree, made as a worktree where a commit is named."""
    if Path(revision, "src", "stiction").is_dir():
        return Path(revision).resolve()
    folder = scratch / "tree"
    command = ["git", "worktree", "add", "--detach", str(folder), revision]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def built_in() -> list[str]:
    """Return the names of the built-in scenarios of this tree."""
    return sorted(path.stem for path in (ROOT / "src/stiction").glob("*/scenarios/*.toml"))


def solve(tree: Path, name: str, out: Path) -> None:
    """Run a scenario with the sources of a tree; a solve that fails leaves its partial result."""
    out.parent.mkdir(parents=True, exist_ok=True)
    code = "from stiction.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", name, "--no-figures", "--quiet", "--out"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [*command, str(out)], env=environment, cwd=tree, capture_output=True, text=True
    )
    if not (out / "summary.json").exists():
        raise SystemExit(f"{name} in {tree} wrote nothing:\n{done.stderr}")


def differences(theirs: Path, ours: Path, rtol: float) -> Iterator[str]:
    """Yield what differs between two saved runs."""
    a, b = (json.loads((folder / "summary.json").read_text()) for folder in (theirs, ours))
    words = {key: value for key, value in a.items() if key not in _WORDS}
    yield from _tree(words, {k: v for k, v in b.items() if k not in _WORDS}, "summary", rtol)
    yield from _arrays(theirs / "run.nc", ours / "run.nc", rtol)
    rows = [list(csv.reader((folder / "events.csv").open())) for folder in (theirs, ours)]
    if rows[0] != rows[1] and rtol == 0.0:
        yield "events.csv differs"
    elif [row[1:5] for row in rows[0]] != [row[1:5] for row in rows[1]]:
        yield "the sequence of events differs"


def _tree(a: Any, b: Any, where: str, rtol: float) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            if key not in a or key not in b:
                yield f"{where}.{key} is in one of them only"
            else:
                yield from _tree(a[key], b[key], f"{where}.{key}", rtol)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _tree(x, y, f"{where}[{i}]", rtol)
    elif isinstance(a, float) and isinstance(b, float):
        if a != b and not abs(a - b) <= rtol * max(abs(a), abs(b)):
            yield f"{where}: {a!r} became {b!r}"
    elif a != b:
        yield f"{where}: {a!r} became {b!r}"


def _arrays(theirs: Path, ours: Path, rtol: float) -> Iterator[str]:
    with h5py.File(theirs) as a, h5py.File(ours) as b:
        for name in sorted(set(a) | set(b)):
            if name not in a or name not in b:
                yield f"run.nc: {name} is in one of them only"
                continue
            x, y = np.asarray(a[name]), np.asarray(b[name])
            if x.shape != y.shape:
                yield f"run.nc: {name} has shape {x.shape}, now {y.shape}"
            elif x.dtype.kind == "f" and not np.array_equal(x, y, equal_nan=True):
                size = np.nanmax(np.abs(x), initial=0.0)
                far = np.nanmax(np.abs(x - y), initial=0.0)
                if not far <= rtol * size or (np.isnan(x) != np.isnan(y)).any():
                    yield f"run.nc: {name} differs by {far:.3g} of {size:.3g}"
            elif x.dtype.kind != "f" and not np.array_equal(x, y):
                yield f"run.nc: {name} differs"
            if a[name].attrs.get("units") != b[name].attrs.get("units"):
                yield f"run.nc: the unit of {name} changed"


if __name__ == "__main__":
    raise SystemExit(main())
