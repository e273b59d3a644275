"""Residual and tangent of 42,300 Neo-Hookean Q1 elements, one thread, beside four programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from peers import last_line
from record import Record, record_all
from solid_case import LAM, MU, Case, Solver, block, measure, reference, save

from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.elements.kinds import Q1, discretise
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import Mesh

HERE = Path(__file__).resolve().parent
WANTED = 20e-3
# how well residual and K v have to agree, over their largest component
AGREEMENT = 1e-10
LONGEST = 240.0
_THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "NGS_NUM")
ONE_THREAD = {f"{name}_THREADS": "1" for name in _THREADS}


@dataclass(frozen=True)
class Program:
    """One row: a program and what is chosen in it."""

    name: str
    script: str
    settings: dict

    @property
    def words(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in self.settings.items())


def _ngsolve(compiled: str) -> Program:
    settings = {"form": "variation", "space": "H1", "half": False, "compiled": compiled}
    return Program("NGSolve", "peer_ngsolve.py", settings)


# the fastest of each first; what else was tried is said in README.md
PROGRAMS = [
    Program("FElupe", "peer_felupe.py", {"material": "own, in the plane"}),
    Program("FElupe", "peer_felupe.py", {"material": "of the program"}),
    Program("scikit-fem", "peer_skfem.py", {"route": "blocks"}),
    Program("scikit-fem", "peer_skfem.py", {"route": "whole"}),
    _ngsolve("c++"),
    _ngsolve("tree"),
    Program("GetFEM", "peer_getfem.py", {"route": "model", "text": "residual"}),
    Program("GetFEM", "peer_getfem.py", {"route": "asm", "text": "residual"}),
]


def young_and_poisson() -> tuple[float, float]:
    """Return the constants of the block as our material wants them."""
    return MU * (3.0 * LAM + 2.0 * MU) / (LAM + MU), 0.5 * LAM / (LAM + MU)


def ours(case: Case) -> Solver:
    """Return our assembly: the pattern is found once, values are new in every call."""
    body = discretise(Mesh(case.points, case.cells), Q1())
    # without contact layers nodes keep their numbers
    assert np.array_equal(body.points, case.points)
    bulk = Bulk([(elements, NeoHookean(*young_and_poisson()).table()) for elements in body.blocks])
    pattern = Pattern(case.points.shape[0], 2, bulk.pairs())
    bulk.bind(pattern)

    def assemble(u: np.ndarray) -> tuple[np.ndarray, object]:
        residual, data = np.zeros(u.shape), np.zeros(pattern.entries)
        bulk.add(u, residual, data)
        return residual, pattern.matrix(data)

    def decode(made: tuple) -> tuple[np.ndarray, np.ndarray]:
        residual, matrix = made
        return residual, (matrix @ case.v.ravel()).reshape(case.v.shape)

    return Solver(np.copy, assemble, decode, "CSR matrix, both halves")


def ask(program: Program, folder: Path, budget: float) -> dict:
    """Return what a peer says, its arrays included; {"failed": why} where it does not."""
    python = sys.executable
    if program.script == "peer_getfem.py":
        found = getfem_python()
        if found is None:
            return {"failed": "missing"}
        python = found
    answer = folder / "answer.npz"
    answer.unlink(missing_ok=True)
    question = {"case": str(folder / "case.npz"), "answer": str(answer), "budget": budget}
    # a compiler that comes with a peer lies beside our interpreter
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    try:
        run = subprocess.run(
            [python, str(HERE / program.script)],
            input=json.dumps(question | {"settings": program.settings}),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            # some peers leave files where they run
            cwd=folder,
            env={**os.environ, **ONE_THREAD, "PATH": path},
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {LONGEST:.0f} s"}
    if run.returncode != 0:
        last = last_line(run.stderr)
        missing = last.startswith("ModuleNotFoundError")
        return {"failed": "missing" if missing else f"ended with {run.returncode}: {last}"}
    said = json.loads(run.stdout.splitlines()[-1])
    if "failed" not in said:
        with np.load(answer) as held:
            said |= {"residual": held["residual"], "product": held["product"]}
    return said


@cache
def getfem_python() -> str | None:
    """Return an interpreter that has GetFEM: GETFEM_PYTHON, else the system's."""
    for python in (os.environ.get("GETFEM_PYTHON"), "/usr/bin/python3"):
        if python is None or not Path(python).exists():
            continue
        if subprocess.run([python, "-c", "import getfem"], capture_output=True).returncode == 0:
            return python
    return None


def apart(said: dict, wanted: tuple[np.ndarray, np.ndarray], name: str) -> tuple[float, float]:
    """Return how far residual and K v are from the reference; they have to agree."""
    errors = tuple(
        float(np.abs(said[key] - array).max() / np.abs(array).max())
        for key, array in zip(("residual", "product"), wanted, strict=True)
    )
    if not max(errors) <= AGREEMENT:
        raise RuntimeError(f"{name} solves another problem: {errors[0]:.1e}, {errors[1]:.1e}")
    return errors


def add(record: Record, name: str, said: dict, errors: tuple[float, float], **more: object) -> None:
    """Add one row."""
    times = np.array(said["seconds"])
    record.add(
        "assembly",
        solver=name,
        setting=said["setting"],
        seconds=float(times.min()),
        median=float(np.median(times)),
        runs=times.size,
        residual_error=errors[0],
        product_error=errors[1],
        **more,
    )


def main(record: Record, quick: bool) -> None:
    case = block((90, 5)) if quick else block()
    budget = 0.2 if quick else 4.0
    *wanted, smallest = reference(case)
    elements, unknowns = case.cells.shape[0], case.points.size
    record.add("assembly_case", elements=elements, unknowns=unknowns, smallest_det=smallest)
    times, residual, product = measure(case, (solver := ours(case)), budget)
    said = {"seconds": times, "residual": residual, "product": product, "setting": solver.setting}
    add(record, "stiction", said, apart(said, tuple(wanted), "stiction"), group="ours")
    mine, best = min(times), {}
    with tempfile.TemporaryDirectory() as name:
        save(case, Path(name) / "case.npz")
        for program in PROGRAMS:
            said = ask(program, Path(name), budget)
            if "failed" in said:
                failed = {"setting": program.words, "failed": said["failed"]}
                record.add("assembly", solver=program.name, group="peer", **failed)
                continue
            errors = apart(said, tuple(wanted), program.name)
            add(record, program.name, said, errors, group="peer", versions=said["versions"])
            best[program.name] = min(min(said["seconds"]), best.get(program.name, np.inf))
    record.target(
        f"residual and tangent of {elements:,} Q1 Neo-Hookean elements, one thread",
        f"<= {1e3 * WANTED:.0f} ms",
        f"{1e3 * mine:.1f} ms",
        bool(mine <= WANTED),
    )
    for name in dict.fromkeys(program.name for program in PROGRAMS):
        ratio = None if name not in best else best[name] / mine
        record.target(
            f"residual and tangent of {elements:,} Q1 elements, against {name}",
            "faster",
            "not measured" if ratio is None else f"{ratio:.1f} times as fast",
            None if ratio is None else ratio > 1.0,
        )


if __name__ == "__main__":
    record_all("solid_assembly", __doc__, main)
