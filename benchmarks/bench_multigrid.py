"""Multigrid against SuperLU on cubes of trilinear hexahedra: CPU time and memory as ratios.

::

    python benchmarks/bench_multigrid.py [cells along an edge ...]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse as sp

from stiction.numerics.direct.factors import Layout
from stiction.numerics.linear_solvers import Multigrid, SuperLU

# friction of a plate on the upper face, and its stiffness over Young's modulus
MU, CONTACT = 0.3, 30.0


def element(nu: float) -> np.ndarray:
    """Return the stiffness (24, 24) of a unit cube, E = 1."""
    shear, lam = 0.5 / (1.0 + nu), nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    moduli = np.diag([2.0 * shear] * 3 + [shear] * 3)
    moduli[:3, :3] += lam
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    stiffness, at = np.zeros((24, 24)), 1.0 / np.sqrt(3.0)
    for point in corners * at:
        one = 1.0 + corners * point
        slopes = corners * np.stack([one[:, [1, 2]], one[:, [0, 2]], one[:, [0, 1]]], 1).prod(2) / 4
        strain = np.zeros((6, 24))
        for i in range(3):
            strain[i, i::3] = slopes[:, i]
        for row, (i, j) in enumerate(((0, 1), (1, 2), (2, 0)), start=3):
            strain[row, i::3], strain[row, j::3] = slopes[:, j], slopes[:, i]
        stiffness += strain.T @ moduli @ strain / 8.0
    return stiffness


def cube(n: int, nu: float) -> tuple[sp.csr_matrix, Layout]:
    """Return a cube held below, with springs and friction of a plate above, and its layout."""
    number = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)
    corner = [
        number[x : n + x, y : n + y, z : n + z] for x in (0, 1) for y in (0, 1) for z in (0, 1)
    ]
    nodes = np.stack([c.ravel() for c in corner], axis=1)
    unknowns = (3 * nodes[:, :, None] + np.arange(3)).reshape(-1, 24)
    rows, columns = np.repeat(unknowns, 24, axis=1).ravel(), np.tile(unknowns, 24).ravel()
    values = np.tile(element(nu).ravel() / n, nodes.shape[0])
    top = number[:, :, -1].ravel()
    x, z = 3 * top, 3 * top + 2
    spring = np.full(top.size, CONTACT / n**2)
    rows = np.concatenate([rows, z, x, z])
    columns = np.concatenate([columns, z, z, x])
    values = np.concatenate([values, spring, MU * spring, 0.0 * spring])
    size = 3 * number.size
    whole = sp.csr_matrix(sp.coo_matrix((values, (rows, columns)), shape=(size, size)))
    free = np.flatnonzero(~np.isin(np.arange(size) // 3, number[:, :, 0].ravel()))
    matrix = whole[free][:, free].tocsr()
    matrix.sort_indices()
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, n + 1)] * 3, indexing="ij"), -1)
    layer = np.isin(free // 3, top)
    return matrix, Layout(grid.reshape(-1, 3)[free // 3], free % 3, layer)


def main() -> None:
    """Print a line for each cube."""
    for n in [int(word) for word in sys.argv[1:]] or [8, 12, 16, 24]:
        for nu in (0.3, 0.49):
            matrix, layout = cube(n, nu)
            b = np.random.default_rng(0).standard_normal(matrix.shape[0])
            line = [f"{matrix.shape[0]:7d} unknowns, nu = {nu}:"]
            begin = time.process_time()
            space = Multigrid(direct=SuperLU(), direct_below=0, tolerance=1e-10).start()
            space.describe(layout)
            made = space.factorise(matrix)
            x = made.solve(b)
            taken = time.process_time() - begin
            told = space.told()
            line.append(
                f"multigrid {taken:.2f} s, {told['linear_iterations']} iterations, "
                f"{told['solver_bytes'] / 2**20:.0f} MiB, fallbacks {told['linear_fallbacks']};"
            )
            if matrix.shape[0] <= 30_000:
                begin = time.process_time()
                exact = SuperLU().start().factorise(matrix)
                y = exact.solve(b)
                other = time.process_time() - begin
                size = 12 * (exact._lu.L.nnz + exact._lu.U.nnz)  # type: ignore[attr-defined]
                off = np.abs(x - y).max() / np.abs(y).max()
                line.append(
                    f"SuperLU {other:.2f} s, {size / 2**20:.0f} MiB: time x {other / taken:.2f}, "
                    f"memory x {size / told['solver_bytes']:.1f}, solutions differ by {off:.0e}"
                )
            print(*line, flush=True)


if __name__ == "__main__":
    main()
