"""What each process does of one problem: it integrates a range of the elements, forces are summed.

Elements of every kind and points of contact are cut into ranges. A node is a process's own where
no other process has anything that touches it; those between are shared.
"""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

from stiction.solids.contact.model import ContactPass
from stiction.solids.elements.assembly import Bulk, Pattern
from stiction.solids.equilibria import problem as equations

WORLD = MPI.COMM_WORLD
# wall time and processor time of what the processes do together [s]
SPENT = {}


@contextmanager
def spent(part):
    """Count the time of a part; what waits for others counts with it."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    before = SPENT.get(part, (0.0, 0.0))
    now = time.perf_counter() - wall, time.process_time() - cpu
    SPENT[part] = before[0] + now[0], before[1] + now[1]


def summed(values):
    """Return the sum of an array over all processes, with the same bits on each."""
    total = np.empty_like(values, order="K")
    with spent("exchange"):
        WORLD.Allreduce(values, total)
    return total


def range_of(count, rank=None):
    """Return the first and the last number but one of a process, of so many things."""
    return tuple(count * ((WORLD.rank if rank is None else rank) + k) // WORLD.size for k in (0, 1))


def owners(problem):
    """Return the process of each node, -1 where several touch it, and `size` where none does."""
    low = np.full(problem.points.shape[0], WORLD.size)
    high = np.full_like(low, -1)
    kinds = [block.elements.nodes for block in problem.bulk.blocks]
    for p in problem.passes:
        # points of a partner that moves are known to all
        kinds.append(p._nodes)
        low[p.partner.node], high[p.partner.node] = -1, WORLD.size
    for nodes in kinds:
        for rank in range(WORLD.size):
            touched = nodes[slice(*range_of(nodes.shape[0], rank))].ravel()
            low[touched] = np.minimum(low[touched], rank)
            high[touched] = np.maximum(high[touched], rank)
    return np.where(high < 0, WORLD.size, np.where(low == high, low, -1))


class RangeOfBulk(Bulk):
    """Forces, tangent and energy of a range of the elements of every kind; forces are summed."""

    def bind(self, pattern):
        """Find where the blocks of this range are."""
        whole, mine = self._blocks, []
        for block in whole:
            low, high = range_of(block.elements.nodes.shape[0])
            cut = (None if part is None else part[low:high] for part in block.elements)
            mine.append(block._replace(elements=type(block.elements)(*cut)))
        self._blocks = mine
        super().bind(pattern)
        self._mine, self._blocks = self._blocks, whole

    def add(self, u, residual, data):
        """Add internal forces of all, and the tangent of this range."""
        whole, self._blocks = self._blocks, self._mine
        # the last number counts points inside out
        part = np.zeros(residual.size + 1)
        with spent("elements"):
            part[-1] = super().add(u, part[:-1].reshape(residual.shape), data)
        self._blocks = whole
        total = summed(part)
        residual += total[:-1].reshape(residual.shape)
        return int(total[-1])

    def energy(self, u):
        """Return the strain energy."""
        whole, self._blocks = self._blocks, self._mine
        found = summed(np.array([super().energy(u)]))
        self._blocks = whole
        return float(found[0])


evaluate = ContactPass.evaluate


def evaluate_share(self, *given, values=None, **named):
    """Evaluate contact as ever, and keep the tangent of a range of its points."""
    with spent("contact"):
        out = evaluate(self, *given, values=values, **named)
    if values is not None:
        low, high = range_of(values.shape[0])
        values[:low], values[high:] = 0.0, 0.0
    return out


class PartOfMatrix(sp.csr_matrix):
    """What a process knows of a matrix; products are those of the whole."""

    def __matmul__(self, other):
        """Return the product with a vector."""
        return summed(super().__matmul__(other))


class PatternOfParts(Pattern):
    """A pattern whose matrices are the sum of what processes have."""

    def matrix(self, data):
        """Return the part of the matrix with these values."""
        return PartOfMatrix(super().matrix(data))


def share_out():
    """Make problems integrate in parts."""
    equations.Bulk, equations.Pattern = RangeOfBulk, PatternOfParts
    ContactPass.evaluate = evaluate_share
