"""Direct solves of 85 000 unknowns, matrices of one pattern one after another."""

from __future__ import annotations

import importlib.metadata
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from record import Record, record_all
from scipy.sparse.linalg import splu, spsolve

from stiction.errors import ModelError
from stiction.numerics.linear_solvers import LinearSolver, Pardiso, SuperLU

# friction, contact stiffness over Young's modulus, and how much elements differ
MU, CONTACT, SPREAD = 0.3, 30.0, 0.2
TUNED = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01}
MMD = {**TUNED, "options": {"SymmetricMode": True}}

# takes a matrix, returns how to solve with it
Factorise = Callable[[sp.csr_matrix], Callable[[np.ndarray], np.ndarray]]


# ---- the matrices


def element() -> np.ndarray:
    """Return the stiffness of a bilinear square in plane strain, nu = 0.4, E = 1."""
    nu = 0.4
    shear, bulk = 0.5 / (1.0 + nu), nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    moduli = np.array([[bulk + 2.0 * shear, bulk, 0], [bulk, bulk + 2.0 * shear, 0], [0, 0, shear]])
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    stiffness, at = np.zeros((8, 8)), 1.0 / np.sqrt(3.0)
    for x in (-at, at):
        for y in (-at, at):
            slopes = signs * (1.0 + signs[:, ::-1] * [y, x]) / 2.0
            strain = np.zeros((3, 8))
            strain[0, ::2], strain[1, 1::2] = slopes[:, 0], slopes[:, 1]
            strain[2, ::2], strain[2, 1::2] = slopes[:, 1], slopes[:, 0]
            stiffness += strain.T @ moduli @ strain / 4.0
    return stiffness


def springs(top: np.ndarray, plate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns, values of a rigid plate that presses and slides on a surface."""
    x, y, p = 2 * top, 2 * top + 1, np.full(top.size, plate)
    parts = ((y, y, 1.0), (y, p, -1.0), (p, y, -1.0), (p, p, 1.0), (x, y, MU), (x, p, -MU))
    # places of friction that are empty keep the pattern symmetric
    parts += ((y, x, 0.0), (p, x, 0.0))
    rows, columns = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return rows, columns, CONTACT * np.repeat([part[2] for part in parts], top.size)


def matrices(nx: int, ny: int) -> Iterator[sp.csr_matrix]:
    """Yield matrices that share their index arrays: a strip, held below, a plate above."""
    corner = (np.arange(nx)[:, None] * (ny + 1) + np.arange(ny)).ravel()
    nodes = corner[:, None] + np.array([0, ny + 1, ny + 2, 1])
    unknowns = (2 * nodes[:, :, None] + [0, 1]).reshape(-1, 8)
    plate = 2 * (nx + 1) * (ny + 1)
    held = (2 * (np.arange(nx + 1) * (ny + 1))[:, None] + [0, 1]).ravel()
    top = np.arange(nx + 1) * (ny + 1) + ny
    contact = springs(top, plate)
    rows = np.concatenate([np.repeat(unknowns, 8, axis=1).ravel(), held, contact[0]])
    columns = np.concatenate([np.tile(unknowns, 8).ravel(), held, contact[1]])
    places, slots = np.unique(rows * (plate + 1) + columns, return_inverse=True)
    indptr = np.searchsorted(places, np.arange(plate + 2) * (plate + 1)).astype(np.int32)
    indices = (places % (plate + 1)).astype(np.int32)
    rng, one = np.random.default_rng(0), element().ravel()
    matrix = sp.csr_matrix((np.zeros(places.size), indices, indptr))
    while True:
        modulus = rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, corner.size)
        bulk = (modulus[:, None] * one).ravel()
        values = np.concatenate([bulk, np.full(held.size, 1e3), contact[2]])
        matrix.data[:] = np.bincount(slots, values, places.size)
        yield matrix


# ---- the solvers


@dataclass(frozen=True)
class Candidate:
    """One row: a solver, how it is used, and how it starts."""

    group: str
    name: str
    setting: str
    start: Callable[[], Factorise]


def ours(solver: LinearSolver) -> Callable[[], Factorise]:
    """Return a start of one of our workspaces."""

    def start() -> Factorise:
        workspace = solver.start()
        return lambda matrix: workspace.factorise(matrix).solve

    return start


def analysed_anew() -> Factorise:
    """Return PARDISO that sees a new pattern every time."""
    workspace = Pardiso().start()
    return lambda matrix: workspace.factorise(matrix.copy()).solve


def scipy_lu(**settings: object) -> Callable[[], Factorise]:
    """Return a start of SciPy's SuperLU."""
    return lambda: lambda matrix: splu(matrix.tocsc(), **settings).solve


def scipy_spsolve() -> Factorise:
    """Return SciPy's one-call solve, which does all its work in the solution."""
    return lambda matrix: lambda b: spsolve(matrix, b)


def pypardiso() -> Factorise:
    """Return one object of pypardiso, factorised and solved as its manual says."""
    from pypardiso import PyPardisoSolver

    solver = PyPardisoSolver()

    def factorise(matrix: sp.csr_matrix) -> Callable[[np.ndarray], np.ndarray]:
        solver.factorize(matrix)
        return lambda b: solver.solve(matrix, b)

    return factorise


CANDIDATES = (
    Candidate("ours", "SuperLU", "defaults", ours(SuperLU())),
    Candidate("ours", "Pardiso", "one thread", ours(Pardiso(threads=1))),
    Candidate("ours", "Pardiso", "defaults", ours(Pardiso())),
    Candidate("ours", "Pardiso", "pattern analysed for every matrix", analysed_anew),
    Candidate("peer", "SciPy splu", "defaults (COLAMD)", scipy_lu()),
    Candidate("peer", "SciPy splu", "symmetric mode, minimum degree", scipy_lu(**MMD)),
    Candidate("peer", "SciPy spsolve", "defaults", scipy_spsolve),
    Candidate("peer", "pypardiso", "one object, factorize and solve", pypardiso),
)


def measure(candidate: Candidate, size: tuple[int, int], rounds: int) -> dict:
    """Return the seconds of the first matrix and the best of the later ones."""
    factorise = candidate.start()
    taken, worst = [], 0.0
    stream = matrices(*size)
    for _ in range(rounds):
        matrix = next(stream)
        b = np.random.default_rng(1).standard_normal(matrix.shape[0])
        start = time.perf_counter()
        solve = factorise(matrix)
        middle = time.perf_counter()
        x = solve(b)
        taken.append((middle - start, time.perf_counter() - middle))
        worst = max(worst, float(np.abs(b - matrix @ x).max() / np.abs(b).max()))
    later = min(taken[1:], key=sum)
    return {
        "unknowns": matrix.shape[0],
        "entries": matrix.nnz,
        "first": sum(taken[0]),
        "factorise": later[0],
        "solve": later[1],
        "seconds": sum(later),
        "residual": worst,
    }


def targets(record: Record, points: list[dict]) -> None:
    """Judge the two solvers against what they were chosen for."""
    for name, wanted in (("SuperLU", 0.6), ("Pardiso", 0.25)):
        rows = [p for p in points if (p["solver"], p["setting"]) == (name, "defaults")]
        what = f"85k unknowns in two dimensions, {name}, known pattern, one matrix, one solution"
        limit = f"<= {wanted:g} s, residual <= 1e-10"
        if "failed" in rows[0]:
            record.target(what, limit, rows[0]["failed"], None)
            continue
        seconds, residual = rows[0]["seconds"], rows[0]["residual"]
        met = seconds <= wanted and residual <= 1e-10
        record.target(what, limit, f"{seconds:.3f} s, {residual:.0e}", met)


def versions() -> dict[str, str | None]:
    """Return the versions of what is measured and may be missing."""
    found: dict[str, str | None] = {}
    for name in ("mkl", "pypardiso"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def main(record: Record, quick: bool) -> None:
    record.lines[0]["versions"] |= versions()
    size, rounds = ((90, 20), 3) if quick else ((900, 46), 7)
    # a first small problem loads libraries and starts threads
    for candidate in CANDIDATES:
        point = {"group": candidate.group, "solver": candidate.name, "setting": candidate.setting}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measure(candidate, (20, 10), 2)
                point |= measure(candidate, size, rounds)
        except (ImportError, ModelError, OSError) as failure:
            point["failed"] = str(failure).splitlines()[0]
        record.add("linear_solver", **point)
    targets(record, [line for line in record.lines if line["kind"] == "linear_solver"])


if __name__ == "__main__":
    record_all("linear_solvers", __doc__, main)
