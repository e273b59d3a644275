"""Heaps at rest: processor time of the friction solve alone, warm and cold, residual 1e-6.

Discs or spheres with radii of 0.8 to 1.2 stand on a floor between walls. Centres are relaxed until
the penalty forces of overlaps balance the weights; contacts are the overlapping pairs. In a step
each body gets g h = 1e-2 and random velocities of 1e-4, new ones each step. W and q follow from
masses and contact frames; detection and assembly are not timed. Run with OMP_NUM_THREADS=1.

::

    python benchmarks/bench_heaps.py [bodies] [steps]
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial import cKDTree

import stiction as st

Floats = npt.NDArray[np.float64]

MU, WANTED, FALL, NOISE, STIFF = 0.5, 1e-6, 1e-2, 1e-4, 2e2


def contacts(x: Floats, radius: Floats, width: float) -> tuple[Floats, Floats, Floats]:
    """Return pairs of bodies, -1 for a wall, normals on the first and overlaps."""
    dim = x.shape[1]
    pairs = cKDTree(x).query_pairs(2.0 * radius.max(), output_type="ndarray")
    d = x[pairs[:, 0]] - x[pairs[:, 1]]
    length = np.linalg.norm(d, axis=1)
    depth = radius[pairs].sum(axis=1) - length
    on = depth > 0.0
    ends, normals, depths = [pairs[on]], [d[on] / length[on, None]], [depth[on]]
    for axis in range(dim):
        for side, sign in ((0.0, 1.0), (width, -1.0)):
            if axis == dim - 1 and side:
                continue
            deep = radius - sign * (x[:, axis] - side)
            hit = np.flatnonzero(deep > 0.0)
            ends.append(np.column_stack([hit, np.full(hit.size, -1)]))
            normals.append(np.tile(sign * np.eye(dim)[axis], (hit.size, 1)))
            depths.append(deep[hit])
    return np.concatenate(ends), np.concatenate(normals), np.concatenate(depths)


def settled(count: int, dim: int, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Return centres, radii and the width of a heap at rest."""
    side = round((count / (2.0 if dim == 2 else 1.5)) ** (1.0 / dim))
    width = 2.2 * side
    grid = np.stack(np.meshgrid(*[np.arange(side)] * (dim - 1), indexing="ij"), axis=-1)
    layers = -(-count // side ** (dim - 1))
    flat = grid.reshape(-1, dim - 1)
    x = np.concatenate([np.column_stack([flat, np.full(len(flat), k)]) for k in range(layers)])
    x = 2.2 * (x[:count] + 0.5) + rng.uniform(-0.1, 0.1, (count, dim))
    radius = rng.uniform(0.8, 1.2, count)
    v, step = np.zeros_like(x), 0.04
    for _ in range(800):
        ends, normals, depth = contacts(x, radius, width)
        push = STIFF * depth[:, None] * normals
        force = np.zeros_like(x)
        np.add.at(force, ends[:, 0], push)
        inner = ends[:, 1] >= 0
        np.add.at(force, ends[inner, 1], -push[inner])
        force[:, -1] -= 1.0
        v = 0.97 * (v + step * force)
        x = x + step * v
    return x, radius, width


def heap(count: int, dim: int, seed: int = 0) -> tuple[sp.csr_array, Floats, int]:
    """Return the contact frames over the roots of masses (dof, components), masses, components."""
    x, radius, width = settled(count, dim, np.random.default_rng(seed))
    ends, normals, _ = contacts(x, radius, width)
    turns = 1 if dim == 2 else 3
    mass = radius**dim
    inertia = (0.5 if dim == 2 else 0.4) * mass * radius**2
    inverse = np.column_stack([*[1.0 / mass] * dim, *[1.0 / inertia] * turns])
    rows, columns, values = [], [], []
    for c, ((a, b), n) in enumerate(zip(ends, normals, strict=True)):
        if dim == 2:
            frame = np.array([n, [-n[1], n[0]]])
        else:
            t = np.cross(n, np.eye(3)[np.abs(n).argmin()])
            t /= np.linalg.norm(t)
            frame = np.array([n, t, np.cross(n, t)])
        for body, sign in ((a, 1.0), (b, -1.0)):
            if body < 0:
                continue
            arm = -sign * radius[body] * n
            for i, e in enumerate(frame):
                spin = [arm[0] * e[1] - arm[1] * e[0]] if dim == 2 else np.cross(arm, e)
                value = sign * np.array([*e, *spin])
                rows += [body * (dim + turns) + j for j in range(dim + turns)]
                columns += [c * dim + i] * (dim + turns)
                values += value.tolist()
    shape = (count * (dim + turns), len(ends) * dim)
    h = sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))
    return h, inverse.ravel(), dim


def main(count: int = 1000, steps: int = 100) -> None:
    """Print a line for the plane and one for space."""
    for dim in (2, 3):
        h, inverse, size = heap(count, dim)
        w = sp.csr_array(h.T @ sp.diags_array(inverse) @ h)
        rng = np.random.default_rng(1)
        fall = np.zeros((count, len(inverse) // count))
        fall[:, dim - 1] = -FALL
        times: dict[str, list[float]] = {"cold": [], "warm": []}
        worst, last, methods = 0.0, None, set()
        for step in range(steps + 1):
            free = h.T @ (fall + NOISE * rng.normal(size=fall.shape)).ravel()
            problem = st.friction_problem(w, free.reshape(-1, size), MU)
            for name, start in (("cold", None), ("warm", last)):
                begin = time.process_time()
                found = problem.solve(start, tol=WANTED)
                spent = time.process_time() - begin
                # the first step has no impulses to start from
                times[name] += [spent] if step else []
                worst = max(worst, found.residual)
                methods.add((name, found.work.method))
            last = found.r
        medians = ", ".join(
            f"{k} {1e3 * statistics.median(v):.0f} ms, most {1e3 * max(v):.0f}"
            for k, v in times.items()
        )
        print(
            f"{count} bodies in {dim}D, {problem.n_contact} contacts: {medians}, residual "
            f"{worst:.1e}, {sorted(methods)}, {found.work}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
