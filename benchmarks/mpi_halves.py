"""Direct solution on several processes: each eliminates what it alone has, then they meet.

What a process integrates touches unknowns of its own and those that it shares. It eliminates its
own ones by dense fronts, without a message. What is left of the shared ones is summed over all
processes, and each of them solves that small dense system. Solutions come back whole, with the
same bits on each process, so that all take the same decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from mpi4py import MPI
from mpi_fronts import Blocks, Order
from mpi_shares import SPENT, WORLD, owners, spent, summed

from stiction.numerics.direct.factors import Factors, Workspace
from stiction.numerics.linear_solvers import LinearSolver
from stiction.solids.equilibria.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Halves(LinearSolver):
    """Fronts of each process alone, and a dense system of what they share.

    Parameters
    ----------
    problem : whose elements are shared out; a matrix is the sum of what each process has
    orders : of elimination, found so far; several workspaces have the same
    """

    problem: Problem
    orders: list[Order] = field(default_factory=list)

    def start(self):
        """Return the workspace of one run."""
        return HalvesWorkspace(self)


class HalvesWorkspace(Workspace):
    """The order of elimination, and room for the numbers of one matrix."""

    def __init__(self, solver):
        super().__init__()
        self._solver, self._blocks = solver, None

    def _order_of(self, pattern):
        """Return the order for a pattern, which may be that of another workspace."""
        asked, orders = (pattern.indptr, pattern.indices), self._solver.orders
        for order in orders:
            if all(map(np.array_equal, order.pattern, asked)):
                return order
        problem = self._solver.problem
        owner = owners(problem)
        with spent("order"):
            node, mine, shared = problem.free // problem.dim, owner == WORLD.rank, owner < 0
            order = Order(*asked, node, problem.points, mine, shared)
            # the first process gives what is shared, too
            share = order.unknowns if WORLD.rank == 0 else order.unknowns[: order.inner]
            order.places = np.concatenate(WORLD.allgather(share))
            order.counts = WORLD.allgather(share.size)
            orders.append(order)
        self.analyses += 1
        return orders[-1]

    def _eliminated(self, pattern, data, signs=False):
        """Return blocks with what is left of the shared unknowns, by all processes."""
        order = self._order_of(pattern)
        if self._blocks is None or self._blocks.order is not order:
            self._blocks = Blocks(order)
        made = self._blocks
        with spent("factors"):
            made.eliminate(data, signs)
        inner = made.signs, made.sign, made.log_det
        shared = made.shared if WORLD.size == 1 else summed(made.shared)
        with spent("factors"):
            made.close(shared, signs)
        SPENT["operations"] = order.operations
        return made, inner

    def _factorise(self, pattern, data):
        self.factorisations += 1
        made, inner = self._eliminated(pattern, data)
        return HalvesFactors(made, inner, pattern.matrix(data))

    def _inertia(self, pattern, data):
        made, inner = self._eliminated(pattern, data, signs=True)
        above, below = summed(inner[0]) + made.signs
        return int(above), int(below)

    def _forget(self):
        self._blocks = None


class HalvesFactors(Factors):
    """What solves with a matrix of which each process has a part."""

    def __init__(self, made, inner, part):
        super().__init__(part)
        self.made = made
        self._inner = inner
        with spent("exchange"):
            self._size = WORLD.allreduce(self._size, MPI.MAX)

    def apply(self, b):
        """Return x with A x = b."""
        columns = [self._column(column) for column in np.atleast_2d(np.asarray(b).T)]
        return columns[0] if np.ndim(b) == 1 else np.stack(columns, axis=1)

    def _column(self, b):
        made, order = self.made, self.made.order
        inner, v = order.inner, b[order.unknowns]
        if WORLD.rank:
            # counted once
            v[inner:] = 0.0
        with spent("solutions"):
            made.down(v)
        total = summed(v[inner:])
        with spent("solutions"):
            v[inner:] = made.across(total)
            made.up(v)
        found, x = np.empty(order.places.size), np.empty(b.size)
        with spent("exchange"):
            WORLD.Allgatherv(v if WORLD.rank == 0 else v[:inner], (found, order.counts))
        x[order.places] = found
        return x

    def times(self, x):
        """Return A x."""
        with spent("solutions"):
            part = super().times(x)
        return summed(part)

    def _check_growth(self, x, right):
        # rows are known in parts, and not measured one by one: the residual is judged alone
        pass

    @property
    def sign(self):
        """Sign of the determinant."""
        return int(np.prod(WORLD.allgather(self._inner[1]))) * self.made.sign

    @property
    def log_det(self):
        """Natural logarithm of the size of the determinant."""
        return WORLD.allreduce(self._inner[2]) + self.made.log_det
