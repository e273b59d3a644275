"""MUMPS on several processes, through PETSc, behind the protocol of linear solvers.

It needs petsc4py with MUMPS, which Debian has as python3-petsc4py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from mpi_shares import SPENT, WORLD, spent
from petsc4py import PETSc

from stiction.numerics.direct.factors import Factors, Workspace
from stiction.numerics.linear_solvers import LinearSolver


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
        self._saved = {}

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
        saved = self._saved.get(kind)
        with spent("factors"):
            if saved is not None and saved[0] is pattern:
                _, made, solver = saved
                made.setValuesCSR(starts, columns, mine)
                made.assemble()
                solver.setOperators(made)
            else:
                made, solver = self._prepared((high - low, n), (starts, columns, mine), kind)
                self._saved[kind] = pattern, made, solver
                self.analyses += 1
            solver.setUp()
        if kind == "lu":
            factors = solver.getPC().getFactorMatrix()
            SPENT["fraction of flops"] = factors.getMumpsRinfo(2) / factors.getMumpsRinfog(2)
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
            # signs of pivots are counted on all processes, and zeros are searched for
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
