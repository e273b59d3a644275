"""Residual and tangent of 42,300 Neo-Hookean Q1 elements, one thread, beside four programs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from peers import LONGEST, Peer, talk
from record import Record, record_all
from solid_case import LAM, MU, Case, Solver, block, measure, reference, save

from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.elements.kinds import Q1, discretise
from stiction.solids.materials import NeoHookean
from stiction.solids.mesh.model import Mesh

WANTED = 20e-3
# how well residual and K v have to agree, over their largest component
AGREEMENT = 1e-10

# the fastest of each first; what else was tried is said in README.md
PROGRAMS = [
    Peer(
        "FElupe", "material own, in the plane", "peer_felupe.py", {"material": "own, in the plane"}
    ),
    Peer("FElupe", "material of the program", "peer_felupe.py", {"material": "of the program"}),
    Peer("scikit-fem", "route blocks", "peer_skfem.py", {"route": "blocks"}),
    Peer("scikit-fem", "route whole", "peer_skfem.py", {"route": "whole"}),
    Peer("NGSolve", "compiled c++", "peer_ngsolve.py", {"compiled": "c++"}),
    Peer("NGSolve", "compiled tree", "peer_ngsolve.py", {"compiled": "tree"}),
    Peer("GetFEM", "route model", "peer_getfem.py", {"route": "model"}),
    Peer("GetFEM", "route asm", "peer_getfem.py", {"route": "asm"}),
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


def ask(program: Peer, folder: Path, budget: float) -> dict:
    """Return what a peer says, its arrays included; {"failed": why} where it does not."""
    answer = folder / "answer.npz"
    answer.unlink(missing_ok=True)
    question = {"case": str(folder / "case.npz"), "answer": str(answer), "budget": budget}
    module = "getfem" if program.name == "GetFEM" else ""
    # some peers leave files where they run
    said = talk(
        program.script, question | {"settings": program.settings}, LONGEST, module, cwd=folder
    )
    if "failed" not in said:
        with np.load(answer) as held:
            said |= {"residual": held["residual"], "product": held["product"]}
    return said


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
                failed = {"setting": program.setting, "failed": said["failed"]}
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
