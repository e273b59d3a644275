"""Elimination of a sparse matrix by dense fronts, in an order by dissection of its nodes.

Nodes are cut in two by as few others as can be, which go last, again and again (George 1973).
What is left of each piece, and each set of nodes that cut, is a front: a dense matrix of its own
unknowns and of those later ones that it is coupled with (Duff, Reid 1983). All numbers go through
LAPACK and BLAS. Rows are exchanged within a front alone; the caller refines solutions.

Nodes that other processes have, too, stay to the end: what elimination leaves of them is summed.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack
from scipy.sparse.csgraph import maximum_bipartite_matching

# unknowns of a piece that is not cut any more
LEAST = 90


def cover(couples):
    """Return rows and columns, as few as can be, that all entries lie in: Koenig's theorem."""
    partner = maximum_bipartite_matching(couples, perm_type="column")
    row_of = np.full(couples.shape[1], -1)
    row_of[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    rows, columns = partner < 0, np.zeros(couples.shape[1], dtype=bool)
    new = np.flatnonzero(rows)
    while new.size:
        met = np.unique(couples[new].indices)
        met = met[~columns[met]]
        columns[met] = True
        new = row_of[met]
        new = new[(new >= 0) & ~rows[np.maximum(new, 0)]]
        rows[new] = True
    return ~rows, columns


def halved(graph, sizes, places):
    """Return the numbers of two sides and of what lies between, across the best coordinate."""
    best = None
    for place in places.T:
        low = place <= np.median(place)
        if low.all():
            low = place < np.median(place)
        sides = np.flatnonzero(low), np.flatnonzero(~low)
        couples = graph[sides[0]][:, sides[1]]
        between = np.concatenate([s[c] for s, c in zip(sides, cover(couples), strict=True)])
        sides = tuple(np.setdiff1d(side, between) for side in sides)
        parts = [sizes[side].sum() for side in sides]
        cost = sizes[between].sum() * (1.0 + 4.0 * max(0.0, max(parts) / sum(parts) - 0.55))
        if min(parts) and (best is None or cost < best[0]):
            best = cost, sides, between
    return best


def dissected(graph, sizes, places):
    """Return the nodes of each front, lower ones first, which one is above, and where it lies.

    The last is a number that no other front has from when it is eliminated to when the one above
    is: what it leaves can be saved in a room of that number.
    """
    fronts, above, slots = [], [], []

    def part(nodes, slot):
        found = None
        if sizes[nodes].sum() > LEAST:
            found = halved(graph[nodes][:, nodes], sizes[nodes], places[nodes])
        deeper = slot - slot % 2 + 2
        below = [part(nodes[side], deeper + k) for k, side in enumerate(found[1] if found else ())]
        fronts.append(nodes[found[2]] if found else nodes)
        above.append(-1)
        slots.append(slot)
        for front in below:
            above[front] = len(fronts) - 1
        return len(fronts) - 1

    if sizes.size:
        part(np.arange(sizes.size), 0)
    return fronts, above, slots


class Front(NamedTuple):
    """A dense matrix of `size` unknowns that go and others that stay.

    Parameters
    ----------
    first, size : its own unknowns, in the order of elimination
    later : those that stay, in that order
    above : the front that takes what is left; the number after the last is what is shared
    place : of `later` in that front
    slot : of what is left
    source, target : entries of the matrix, and where they go in the three blocks of own unknowns
    """

    first: int
    size: int
    later: np.ndarray
    above: int
    place: np.ndarray
    slot: int
    source: np.ndarray
    target: np.ndarray


class Order:
    """The order in which a process eliminates what it alone has, and what that takes.

    Parameters
    ----------
    indptr, indices : pattern of the matrix, symmetric
    node : (n,) node of each unknown
    places : (nodes, d)
    mine, shared : (nodes,) which are this process's alone, and which several have
    """

    def __init__(self, indptr, indices, node, places, mine, shared):
        self.pattern = indptr, indices
        n = node.size
        ones = np.ones(indices.size)
        by_node = sp.csr_matrix((np.ones(n), (np.arange(n), node)), (n, mine.size))
        whole = sp.csr_matrix((ones, indices, indptr), (n, n))
        graph = (by_node.T @ whole @ by_node).tocsr()
        sizes = np.bincount(node, minlength=mine.size)
        here = np.flatnonzero(mine & (sizes > 0))
        cuts, above, slots = dissected(graph[here][:, here], sizes[here], places[here])
        last = np.flatnonzero(shared & (sizes > 0))
        if not last.size and cuts:
            # of one process: the set that cuts first goes last
            last = here[cuts.pop()]
            above.pop(), slots.pop()
        above = [len(cuts) if k < 0 else k for k in above]
        groups = [here[cut] for cut in cuts] + [last]
        sets = sp.csr_matrix((np.ones(n), (node, np.arange(n))), (mine.size, n))
        groups = [sets[np.sort(group)].indices for group in groups]
        self.unknowns = np.concatenate(groups)
        ends = np.cumsum([0] + [group.size for group in groups])
        self.inner, self.whole = int(ends[-2]), int(ends[-1])
        at = np.full(n, -1)
        at[self.unknowns] = np.arange(self.whole)
        # entries by the front of the unknown that goes first
        rows, columns = at[np.repeat(np.arange(n), np.diff(indptr))], at[indices]
        known = np.flatnonzero((rows >= 0) & (columns >= 0))
        front = np.searchsorted(ends[1:], np.minimum(rows[known], columns[known]), side="right")
        by_front = known[np.argsort(front, kind="stable")]
        starts = np.searchsorted(np.sort(front), np.arange(1, len(groups)))
        entries = np.split(by_front, starts)
        self.source = entries.pop()
        side = self.whole - self.inner
        self.target = rows[self.source] - self.inner + (columns[self.source] - self.inner) * side
        self.fronts = self._fronts(ends, above, slots, entries, rows, columns)

    def _fronts(self, ends, above, slots, entries, rows, columns):
        """Return the fronts; what is left below goes to the front above, or to what is shared."""
        laters = [[] for _ in [*above, 0]]
        for k, mine in enumerate(entries):
            found = np.unique(np.concatenate([rows[mine], columns[mine], *laters[k]]))
            laters[k] = found[found >= ends[k + 1]]
            laters[above[k]].append(laters[k])
        laters[-1] = ends[:0]
        fronts, local = [], np.zeros(self.whole, dtype=np.int64)
        for k, (mine, later, up) in enumerate(zip(entries, laters, above, strict=False)):
            first, size = int(ends[k]), int(ends[k + 1] - ends[k])
            local[first : first + size] = np.arange(size)
            local[later] = size + np.arange(later.size)
            i, j = local[rows[mine]], local[columns[mine]]
            lower = size * size + i - size + j * later.size
            upper = size * (size + later.size) + i + (j - size) * size
            target = np.where(j >= size, upper, np.where(i < size, i + j * size, lower))
            beyond = ends[up + 1] - ends[up] + np.searchsorted(laters[up], later)
            place = np.where(later < ends[up + 1], later - ends[up], beyond)
            fronts.append(Front(first, size, later, up, place, slots[k], mine, target))
        return fronts

    @property
    def operations(self):
        """How many operations on numbers the fronts take."""
        sizes = [(float(f.size), float(f.later.size)) for f in self.fronts]
        return sum(2.0 / 3.0 * p**3 + 2.0 * p * p * b + 2.0 * p * b * b for p, b in sizes)


@numba.njit("void(f8[::1], i8[::1], i8, i8, f8[::1], f8[::1])", cache=True)
def add_left(left, place, size, later, own, rest):
    """Add what a front leaves to the one above: its columns `own`, its rows, and what stays.

    Parameters
    ----------
    left, place : (count^2,) by columns, and where its rows and columns lie above, in order
    size, later : unknowns that go above, and that stay
    own : (size, size), (later, size) and (size, later) by columns, one after another
    rest : (later, later) by columns
    """
    count = place.size
    inner = np.searchsorted(place, size)
    lower, upper = size * size - size, size * (size + later)
    for j in range(count):
        to, column = place[j], left[j * count : (j + 1) * count]
        if j < inner:
            for i in range(inner):
                own[to * size + place[i]] += column[i]
            for i in range(inner, count):
                own[lower + to * later + place[i]] += column[i]
        else:
            to -= size
            for i in range(inner):
                own[upper + to * size + place[i]] += column[i]
            for i in range(inner, count):
                rest[to * later + place[i] - size] += column[i]


def signs_of(matrix):
    """Return how many eigenvalues of a symmetric matrix are positive and negative."""
    factors, pivots, _ = lapack.dsytrf(matrix, lower=1)
    # blocks of two have one of either sign
    single, pairs = np.diag(factors)[pivots > 0], int((pivots < 0).sum()) // 2
    return np.array([(single > 0.0).sum() + pairs, (single < 0.0).sum() + pairs])


def turned(turns):
    """Return the sign of a determinant and the log of its size, of pivots and exchanges."""
    sign, size = 1, 0.0
    for pivots, swaps in turns:
        odd = np.count_nonzero(swaps != np.arange(swaps.size)) + np.count_nonzero(pivots < 0.0)
        sign *= -1 if odd % 2 else 1
        with np.errstate(divide="ignore"):
            size += float(np.log(np.abs(pivots)).sum())
    return sign, size


class Blocks:
    """Numbers of the fronts of one order, written anew for each matrix.

    Attributes
    ----------
    shared : what is left of the shared unknowns; its sum over processes is to be given back
    signs : eigenvalues above and below zero of what was eliminated last, if they were asked for
    sign, log_det : of the determinant of what was eliminated last
    """

    def __init__(self, order):
        self.order = order
        slots = [f.slot for f in order.fronts]
        widest = np.zeros(1 + max(slots, default=0), dtype=np.int64)
        np.maximum.at(widest, slots, [f.later.size for f in order.fronts])
        left = [np.empty(size * size) for size in widest]
        self.rooms = [self._room(f, left[f.slot]) for f in order.fronts]
        side = order.whole - order.inner
        self.shared = np.empty((side, side), order="F")
        self.made = []

    @staticmethod
    def _room(front, left):
        """Return where the numbers of a front are, and its blocks there, with one for a product."""
        own, later = front.size, front.later.size
        entries = np.empty(own * (own + 3 * later))
        cuts = own * own, own * (own + later), own * (own + 2 * later)
        left = left[: later * later]
        shapes = (own, own), (later, own), (own, later), (own, later), (later, later)
        parts = zip([*np.split(entries, cuts), left], shapes, strict=True)
        return entries[: cuts[-1]], left, [p.reshape(s, order="F") for p, s in parts]

    def eliminate(self, data, signs=False):
        """Eliminate all unknowns of this process; `data` are the entries that it knows."""
        order, fronts = self.order, self.order.fronts
        self.signs, self.made, turns = np.zeros(2, dtype=np.int64), [], []
        shared, side = self.shared.ravel(order="K"), self.shared.shape[0]
        shared[:] = 0.0
        shared[order.target] = data[order.source]
        below = [[] for _ in fronts]
        for k, front in enumerate(fronts):
            entries, left, (own, lower, upper, solved, rest) = self.rooms[k]
            entries[:] = left[:] = 0.0
            entries[front.target] = data[front.source]
            for place, child in below[k]:
                add_left(child, place, front.size, front.later.size, entries, left)
            if signs:
                self.signs += signs_of(own)
            own, swaps, _ = lapack.dgetrf(own, overwrite_a=1)
            turns.append((own.diagonal().copy(), swaps))
            # products with an inverse are faster than triangles, and solutions are refined
            own, bad = lapack.dgetri(own, swaps, overwrite_lu=1)
            if bad:
                # all processes see it in what is summed
                own[:] = np.nan
            if front.later.size:
                upper = blas.dgemm(1.0, own, upper, c=solved, overwrite_c=1)
                blas.dgemm(-1.0, lower, upper, beta=1.0, c=rest, overwrite_c=1)
                if front.above == len(fronts):
                    add_left(left, front.place, side, 0, shared, left)
                else:
                    below[front.above].append((front.place, left))
            self.made.append((own, lower, upper))
        self.sign, self.log_det = turned(turns)

    def close(self, shared, signs=False):
        """Factorise what all have left of the shared unknowns; signs are those of them alone."""
        self.signs = signs_of(shared) if signs and shared.size else np.zeros(2, dtype=np.int64)
        turns = []
        if shared.size:
            self.last = lapack.dgetrf(shared, overwrite_a=1)[:2]
            turns.append((self.last[0].diagonal(), self.last[1]))
        self.sign, self.log_det = turned(turns)

    def down(self, v):
        """Eliminate from a right-hand side in the order of elimination: shared ones come last."""
        for front, (own, lower, _) in zip(self.order.fronts, self.made, strict=True):
            mine = slice(front.first, front.first + front.size)
            v[mine] = own @ v[mine]
            v[front.later] -= lower @ v[mine]

    def across(self, v):
        """Return the shared unknowns, of the sum of right-hand sides."""
        return lapack.dgetrs(*self.last, v)[0] if v.size else v

    def up(self, v):
        """Put in the unknowns of this process; shared ones are known."""
        for front, made in zip(self.order.fronts[::-1], self.made[::-1], strict=True):
            v[front.first : front.first + front.size] -= made[2] @ v[front.later]
