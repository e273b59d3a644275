"""A Neo-Hookean block in Q1 elements: the numbers every program gets, and the answer.

Needs NumPy only, so that it also runs in the interpreter of a peer that is not ours. The block
is a structured mesh that is bent a little, so that no program can take its elements for equal
rectangles. The energy is psi = mu/2 (tr C - 3) - mu ln J + lam/2 (ln J)^2 per reference volume,
in plane strain, integrated with 2 x 2 Gauss points.

A peer is asked by one JSON object, {"case": file, "answer": file, "settings": {...},
"budget": seconds}, and says {"seconds": [...], "setting": text, "versions": {...}} or
{"failed": why}; arrays travel in .npz files.
"""

import json
import sys
import time
from typing import NamedTuple

import numpy as np

CELLS = (900, 47)
SIZE = (180.0, 10.0)
# Lame's constants of E = 1, nu = 0.3
MU, LAM = 1.0 / 2.6, 0.3 / (1.3 * 0.4)
LEAST_RUNS, MOST_RUNS = 10, 300


class Case(NamedTuple):
    """The block.

    Parameters
    ----------
    points : (n, 2) places of the nodes
    cells : (e, 4) corners, counter-clockwise
    u : (n, 2) displacements
    v : (n, 2) what the tangent is multiplied with
    mu, lam : Lame's constants
    """

    points: np.ndarray
    cells: np.ndarray
    u: np.ndarray
    v: np.ndarray
    mu: float
    lam: float


def smooth(rng, points, waves):
    """Return random waves (n, 2) of size one, at most `waves` across the block's height."""
    made = np.zeros_like(points)
    for _ in range(12):
        k = rng.uniform(-waves, waves, (2, 2)) * np.pi / SIZE[1]
        phase = rng.uniform(0.0, 2.0 * np.pi, 2)
        made += rng.uniform(0.2, 1.0) * np.sin(points @ k + phase)
    return made / np.abs(made).max()


def block(cells=CELLS):
    """Return the block, bent and displaced at random; the same numbers in every run."""
    nx, ny = cells
    x, y = np.linspace(0.0, SIZE[0], nx + 1), np.linspace(0.0, SIZE[1], ny + 1)
    grid = np.stack(np.meshgrid(x, y, indexing="xy"), axis=-1).reshape(-1, 2)
    corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    quads = np.stack([corner, corner + 1, corner + nx + 2, corner + nx + 1], axis=1)
    rng = np.random.default_rng(20)
    points = grid + 0.3 * smooth(rng, grid, 1.0)
    # gradients of finite size, no element near being inside out
    u = 0.8 * smooth(rng, points, 1.5)
    return Case(points, quads, u, smooth(rng, points, 3.0), MU, LAM)


def save(case, path):
    """Write the block to a file."""
    np.savez(path, **case._asdict())


def load(path):
    """Return the block of a file."""
    with np.load(path) as held:
        arrays = {name: held[name] for name in Case._fields}
    return Case(**{**arrays, "mu": float(arrays["mu"]), "lam": float(arrays["lam"])})


def reference(case, chunk=5000):
    """Return residual (n, 2), tangent times v (n, 2) and the smallest det F, by plain NumPy.

    The product is the derivative of the stress along grad v: no matrix, no index of ours.
    """
    g = np.array([-1.0, 1.0]) / np.sqrt(3.0)
    xi, eta = np.tile(g, 2), np.repeat(g, 2)
    sx, sy = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    dn = 0.25 * np.stack([sx * (1.0 + np.outer(eta, sy)), sy * (1.0 + np.outer(xi, sx))], axis=-1)
    residual, product = np.zeros_like(case.u), np.zeros_like(case.u)
    smallest = np.inf
    for start in range(0, case.cells.shape[0], chunk):
        nodes = case.cells[start : start + chunk]
        jacobian = np.einsum("eai,qaj->eqij", case.points[nodes], dn)
        weight = np.linalg.det(jacobian)
        grad = np.einsum("qaj,eqji->eqai", dn, np.linalg.inv(jacobian))
        f = np.eye(2) + np.einsum("eai,eqaj->eqij", case.u[nodes], grad)
        h = np.einsum("eai,eqaj->eqij", case.v[nodes], grad)
        det = np.linalg.det(f)
        smallest = min(smallest, det.min())
        back = np.linalg.inv(f).swapaxes(-1, -2)
        pull = (case.lam * np.log(det) - case.mu)[..., None, None]
        stress = case.mu * f + pull * back
        along = np.einsum("eqij,eqij->eq", back, h)[..., None, None]
        turned = np.einsum("eqij,eqkj,eqkl->eqil", back, h, back)
        change = case.mu * h + case.lam * along * back - pull * turned
        for out, p in ((residual, stress), (product, change)):
            np.add.at(out, nodes, np.einsum("eqij,eqaj,eq->eai", p, grad, weight))
    return residual, product, float(smallest)


class Solver(NamedTuple):
    """A program that is ready.

    Parameters
    ----------
    encode : displacements (n, 2) -> the program's own state; not timed
    assemble : state -> residual and tangent; timed
    decode : residual and tangent -> residual (n, 2) and tangent times v (n, 2)
    setting : what was chosen, in a few words
    """

    encode: object
    assemble: object
    decode: object
    setting: str


def measure(case, solver, budget):
    """Return the seconds of each run, and residual and product at the case's displacement.

    Runs go between two displacements, so that nothing that hangs on them can be saved.
    """
    states = [solver.encode(0.5 * case.u), solver.encode(case.u)]
    solver.assemble(states[0])
    times = []
    while len(times) < LEAST_RUNS or (sum(times) < budget and len(times) < MOST_RUNS):
        state = states[len(times) % 2]
        start = time.perf_counter()
        made = solver.assemble(state)
        times.append(time.perf_counter() - start)
    made = solver.assemble(states[1])
    return times, *solver.decode(made)


def serve(prepare, versions):
    """Answer one question; `prepare(case, settings)` returns a Solver."""
    question = json.load(sys.stdin)
    case = load(question["case"])
    try:
        solver = prepare(case, question["settings"])
        times, residual, product = measure(case, solver, question["budget"])
    except (ArithmeticError, RuntimeError, ValueError) as failure:
        print(json.dumps({"failed": f"{type(failure).__name__}: {failure}"}))
        return
    np.savez(question["answer"], residual=residual, product=product)
    print(json.dumps({"seconds": times, "setting": solver.setting, "versions": versions}))
