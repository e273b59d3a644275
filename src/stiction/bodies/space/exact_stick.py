"""Exact stick in space: velocities that closed contacts fix get no rounding.

As in the plane (`bodies.exact_stick`), a contact that sticks gives a body three conditions
J (v - v_support) = 0 on its velocities, a closed one that slips gives one. Gauss-Jordan elimination
with complete pivoting solves these conditions of a body for as many of its six velocities as they
determine; the others stay as they are. A body with six independent conditions gets the velocity of
the support. Bodies fixed one after the other come first, then groups that are fixed only together
(`label_groups`), and last the velocities of bodies that are not fixed. A label is 0, or 1 plus the
number of the support, from 0, whose velocity a body has. `space.mechanics.SpatialMechanics` calls
`stop_resting` after each step.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.bodies.exact_stick import label_groups, support_labels
from stiction.bodies.space.contact_kernels import SpatialContact
from stiction.numerics.arrays import Integers, Matrix, Table, Vector
from stiction.numerics.jit import kernel

__all__ = ["stop_resting"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# a pivot below this leaves the rest of the velocities free: entries are directions, and arms over
# the size of the body. Chosen, as in the plane between rounding and the tolerance of problems
_PIVOT = 1e-6


def stop_resting(
    contacts: Table[SpatialContact], closed: Bools, stick: Bools, reach: Floats, v: Floats,
    n_body: int,
) -> None:  # fmt: skip
    """Give bodies the velocities that their contacts with supports fix, in place.

    Parameters
    ----------
    closed, stick : (n,) which contacts are closed, and which stick
    reach : (m,) sizes of bodies, then of supports [m]
    v : (m, 6) velocities of bodies, then of supports

    Verified by: tests/unit/bodies/space/test_exact_stick.py::test_bodies_that_stick_rest
    """
    first, second = (np.ascontiguousarray(contacts[name]) for name in ("first", "second"))
    # conditions of each contact: 0 if it is open, 1 if it slips, 3 if it sticks
    rows, sizes = np.array(contacts["rows"]), closed.astype(np.int64) + 2 * stick
    for side, ends in enumerate((first, second)):
        rows[:, side, :, 3:] /= np.where(np.isfinite(reach), reach, 1.0)[ends, None, None]
    ends = np.concatenate([first, second])
    order = np.argsort(ends, kind="stable")
    begin = np.searchsorted(ends[order], np.arange(n_body + 1)).astype(np.int64)
    label = support_labels(v, n_body)
    _solve_bodies(rows, sizes, first, second, begin, order, label, reach, v, n_body, True)
    label_groups(rows, sizes, first, second, label, n_body)
    fixed = np.flatnonzero(label[:n_body])
    v[fixed] = v[n_body + label[fixed] - 1]
    _solve_bodies(rows, sizes, first, second, begin, order, label, reach, v, n_body, False)


@kernel(allocates=True)
def _solve_bodies(
    rows: npt.NDArray[np.float64], sizes: Integers, first: Integers, second: Integers,
    begin: Integers, order: Integers, label: Integers, reach: Vector, v: Matrix, n_body: int,
    fixing: bool,
) -> None:  # fmt: skip
    """Label the bodies that contacts with fixed ones fix; or solve for velocities of the others.

    A body whose fixed neighbours have different velocities is not solved for.

    Parameters
    ----------
    rows : (n, 2, 3, 6) rows of J of both bodies, moments over the bodies' sizes
    sizes : (n,) how many of the three rows hold
    begin, order : ends of contacts with body b are order[begin[b]:begin[b + 1]]; those from n on
        are second ends
    first, second : (n,) numbers of the parts of each contact
    label : (m,) 0 of bodies that are not fixed, else one more than the number of the support whose
        velocity they have
    reach : (m,) sizes of the parts [m]
    v : (m, 6) velocities of the parts
    fixing : labels change in place, else velocities
    """
    n, most = first.shape[0], 0
    for body in range(n_body):
        most = max(most, begin[body + 1] - begin[body])
    mine, pivot = np.zeros((3 * most, 6)), np.zeros(6, np.int64)
    changed = True
    while changed:
        # a body that is fixed may fix its neighbours in the next round
        changed = False
        for body in range(n_body):
            if label[body] != 0:
                continue
            # contacts with supports of one velocity fix a body whatever its other contacts are
            for trial in range(begin[body], begin[body + 1]):
                c = order[trial] % n
                one = label[second[c] if order[trial] < n else first[c]]
                if one == 0 or sizes[c] == 0:
                    continue
                # all conditions with parts of this label; `several` if others are fixed, too
                count, several = 0, False
                for at in range(begin[body], begin[body + 1]):
                    c = order[at] % n
                    side = 0 if order[at] < n else 1
                    other = label[second[c] if side == 0 else first[c]]
                    if other == one:
                        for k in range(sizes[c]):
                            mine[count] = rows[c, side, k]
                            count += 1
                    elif other != 0 and sizes[c] > 0:
                        several = True
                if fixing and _eliminate(mine, count, pivot) == 6:
                    label[body] = one
                    changed = True
                    break
                if not fixing and not several:
                    rank = _eliminate(mine, count, pivot)
                    _solve(mine, rank, pivot, reach[body], v, body, n_body + one - 1)
                if not several:
                    break


@kernel
def _eliminate(rows: Matrix, count: int, pivot: Integers) -> int:
    """Reduce rows in place by Gauss and Jordan with complete pivoting; return the rank.

    Parameters
    ----------
    rows : (c, 6) conditions, of which the first `count` are used
    pivot : (6,) the column of the pivot of each of the first rows
    """
    rank = 0
    while rank < min(count, 6):
        best, at, column = _PIVOT, -1, 0
        for i in range(rank, count):
            for j in range(6):
                if abs(rows[i, j]) > best:
                    best, at, column = abs(rows[i, j]), i, j
        if at < 0:
            break
        for j in range(6):
            rows[at, j], rows[rank, j] = rows[rank, j], rows[at, j]
        scale = 1.0 / rows[rank, column]
        for j in range(6):
            rows[rank, j] *= scale
        # the others get an exact zero in this column
        for i in range(count):
            if i != rank and rows[i, column] != 0.0:
                part = rows[i, column]
                for j in range(6):
                    rows[i, j] -= part * rows[rank, j]
                rows[i, column] = 0.0
        pivot[rank] = column
        rank += 1
    return rank


@kernel
def _solve(
    rows: Matrix, rank: int, pivot: Integers, size: float, v: Matrix, body: int, support: int
) -> None:
    """Compute the velocities of the pivots from the others, relative to those of the support.

    rows : as `_eliminate` leaves them: row i is w_pivot + sum_j rows[i, j] w_j = 0
    size : reach of the body [m]; w = v - v_support, with spins times the size
    """
    for i in range(rank):
        total = 0.0
        for j in range(6):
            is_pivot = False
            for k in range(rank):
                is_pivot = is_pivot or pivot[k] == j
            if not is_pivot:
                # moments in the rows are over the size of the body, and so spins are times it
                total -= rows[i, j] * (v[body, j] - v[support, j]) * (1.0 if j < 3 else size)
        k = pivot[i]
        v[body, k] = v[support, k] + total / (1.0 if k < 3 else size)
