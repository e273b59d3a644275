"""A pressed sphere in space on several processes: elements, rows and factors are shared out.

    mpirun -n 2 python benchmarks/solids_mpi.py [CELLS]

Each process runs the same program. It integrates a range of the elements of every kind; forces are
summed, and what it knows of the matrix goes to the process that owns the rows, where MUMPS, through
PETSc, factorises and solves. Contact is a small part, and found by all. Solutions come back whole,
with the same bits on each process, so that all take the same decisions. What is not shared out:
places of nodes and the pattern of the matrix.

It needs petsc4py with MUMPS and mpi4py, which Debian has as python3-petsc4py and python3-mpi4py.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI
from petsc4py import PETSc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from sphere_cases import on_a_block

import stiction as st
from stiction.laws import LennardJones
from stiction.numerics.direct.factors import Factors, Workspace
from stiction.numerics.linear_solvers import LinearSolver
from stiction.solids import Program
from stiction.solids.assembly import Bulk
from stiction.solids.contact.model import ContactPass
from stiction.solids.equilibria import problem as equations

WORLD = MPI.COMM_WORLD
RADIUS = 0.025


# wall time of what the processes do together, and the part of the elimination that is this one's
SPENT = {}


@contextmanager
def spent(part):
    """Count the wall time of a part; what waits for others counts with it."""
    begin = time.perf_counter()
    yield
    SPENT[part] = SPENT.get(part, 0.0) + time.perf_counter() - begin


def summed(values):
    """Return the sum of an array over all processes."""
    total = np.empty_like(values)
    WORLD.Allreduce(values, total)
    return total


class RangeOfBulk(Bulk):
    """Forces, tangent and energy of a range of the elements of every kind; forces are summed."""

    def bind(self, pattern):
        """Find where the blocks of this range are."""
        whole, mine = self._blocks, []
        for block in whole:
            count = block.elements.nodes.shape[0]
            low, high = (count * (WORLD.rank + k) // WORLD.size for k in (0, 1))
            cut = (part[low:high] for part in block.elements)
            mine.append(block._replace(elements=type(block.elements)(*cut)))
        self._blocks = mine
        super().bind(pattern)
        self._mine, self._blocks = self._blocks, whole

    def add(self, u, residual, data):
        """Add internal forces of all, and the tangent of this range."""
        whole, self._blocks = self._blocks, self._mine
        part = np.zeros_like(residual)
        with spent("elements"):
            bad = super().add(u, part, data)
        self._blocks = whole
        with spent("exchange"):
            residual += summed(part)
        return WORLD.allreduce(bad)

    def energy(self, u):
        """Return the strain energy."""
        whole, self._blocks = self._blocks, self._mine
        found = WORLD.allreduce(super().energy(u))
        self._blocks = whole
        return found


evaluate = ContactPass.evaluate


def told_once(self, *given, values=None, **named):
    """Evaluate contact as ever; the first process alone puts its tangent into the matrix."""
    with spent("contact"):
        out = evaluate(self, *given, values=values, **named)
    if values is not None and WORLD.rank:
        values[...] = 0.0
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Mumps(LinearSolver):
    """MUMPS on all processes; a matrix is the sum of what each of them has."""

    def start(self):
        """Return the workspace of one run."""
        return MumpsWorkspace()


class MumpsWorkspace(Workspace):
    """Rows of the matrix, its entries and its factors on several processes.

    What one process alone can do, the order of elimination, is found once for each pattern.
    """

    def __init__(self):
        super().__init__()
        self._kept = {}

    def _factorise(self, pattern, data):
        made = MumpsFactors(*self._solver(pattern, data, "lu"))
        self.factorisations += 1
        return made

    def _solver(self, pattern, data, kind):
        """Return a solver with factors, what this process has of the matrix, and its rows."""
        n, rank, size = pattern.n, WORLD.rank, WORLD.size
        cuts = n * np.arange(size + 1) // size
        low, high = cuts[rank : rank + 2]
        # rows lie one after another: values travel to the process that owns them, and are summed
        ends = pattern.indptr[cuts]
        mine = np.empty(ends[rank + 1] - ends[rank])
        with spent("exchange"):
            WORLD.Reduce_scatter(data, mine, np.diff(ends).tolist())
        starts = pattern.indptr[low : high + 1] - ends[rank]
        columns = pattern.indices[ends[rank] : ends[rank + 1]]
        rows = sp.csr_matrix((mine, columns, starts), shape=(high - low, n))
        kept = self._kept.get(kind)
        with spent("factors"):
            if kept is not None and kept[0] is pattern:
                _, made, solver = kept
                made.setValuesCSR(starts, columns, mine)
                made.assemble()
                solver.setOperators(made)
            else:
                made, solver = self._prepared((high - low, n), (starts, columns, mine), kind)
                self._kept[kind] = pattern, made, solver
                self.analyses += 1
            solver.setUp()
        if kind == "lu":
            factors = solver.getPC().getFactorMatrix()
            SPENT["share of flops"] = factors.getMumpsRinfo(2) / factors.getMumpsRinfog(2)
        return solver, pattern.matrix(data), rows

    def _prepared(self, sizes, arrays, kind):
        """Return a matrix and a solver for it, whose pattern is new."""
        made = PETSc.Mat().createAIJ((sizes, sizes), csr=arrays, comm=WORLD)
        solver = PETSc.KSP().create(WORLD)
        solver.setOperators(made)
        solver.setType("preonly")
        solver.getPC().setType(kind)
        solver.getPC().setFactorSolverType("mumps")
        if kind == "cholesky":
            made.setOption(PETSc.Mat.Option.SYMMETRIC, True)
            # signs of pivots are counted on all processes, and zeros are looked for
            solver.getPC().setFactorSetUpSolverType()
            for number in (13, 24):
                solver.getPC().getFactorMatrix().setMumpsIcntl(number, 1)
        return made, solver

    def _inertia(self, pattern, data):
        solver, _, _ = self._solver(pattern, data, "cholesky")
        below, _, above = solver.getPC().getFactorMatrix().getInertia()
        return above, below

    def _forget(self):
        pass


class MumpsFactors(Factors):
    """What solves with a matrix whose rows lie on several processes."""

    def __init__(self, solver, local, rows):
        super().__init__(local)
        self.solver, self.rows = solver, rows
        self.right, self.left = solver.getOperators()[0].createVecs()

    def gathered(self, mine):
        """Return a vector of which each process has its rows."""
        return np.concatenate(WORLD.allgather(np.array(mine)))

    def apply(self, b):
        """Return x with A x = b."""
        low, high = self.right.getOwnershipRange()
        columns = []
        for column in np.atleast_2d(np.asarray(b).T):
            self.left.setArray(column[low:high])
            self.solver.solve(self.left, self.right)
            columns.append(self.gathered(self.right.getArray()))
        return columns[0] if np.ndim(b) == 1 else np.stack(columns, axis=1)

    def times(self, x):
        """Return A x."""
        return self.gathered(self.rows @ x)

    # MUMPS keeps its determinant for itself
    log_det = sign = float("nan")

    def solve(self, b):
        """Return x with A x = b, refined once."""
        with spent("solutions"):
            x = self.apply(b)
            return x + self.apply(b - self.times(x))


def main() -> None:
    """Press a sphere, and let the first process print what was found."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    equations.Bulk, ContactPass.evaluate = RangeOfBulk, told_once
    law = LennardJones.from_strength(0.03, 0.003 * RADIUS**2, adhesive=False)
    down, fine = Program((0.0, 1.0), (0.0, -(RADIUS**2))), RADIUS / cells
    solid = on_a_block(
        law, down, fine, 1.5 * RADIUS, 12.0 * RADIUS, 1.0 + 2.4 / cells, 0.75 * cells
    )
    WORLD.Barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    run = st.solve(solid, st.Quasistatic(steps=4, solver=Mumps()), t_span=(0.0, 1.0))
    times = [WORLD.gather(t) for t in (time.perf_counter() - wall, time.process_time() - cpu)]
    parts = WORLD.gather({key: round(value, 3) for key, value in SPENT.items()})
    force, stored = (float(v) for v in (run.data["force_y"].values[-1], run.energy.stored[-1]))
    same = WORLD.gather((force, stored))
    if WORLD.rank == 0:
        told = {"processes": WORLD.size, "unknowns": run.stats["unknowns"]}
        told |= {"force": force, "stored": stored, "alike": len(set(same)) == 1}
        told |= {"wall": max(times[0]), "cpu": times[1], "steps": run.stats["newton_iterations"]}
        print(json.dumps(told | {"parts": parts}))


if __name__ == "__main__":
    main()
