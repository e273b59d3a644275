"""Exact stick in the plane: velocities that closed contacts fix get no rounding.

Rounding leaves velocities of 1e-16 m/s in a body that rests, and a million steps add them up. A
contact that sticks gives a body two conditions J (v - v_support) = 0, a closed one that slips gives
one. Where these conditions determine all three velocities of a body, or all of a group of bodies,
the velocities are those of the support. Where they leave one or two free, as of a box that slides
or a disc that rolls, the velocities are projected onto the null space of the conditions.

The order in `stop_resting`: bodies fixed one after the other (`spread_labels`), then bodies fixed
only together (`label_groups`), then projections (`project_moving`), which need all fixed bodies.
The label of a part is 0 if nothing fixes it; else it is 1 plus the number of the support, from 0,
whose velocity it has. `mechanics.Mechanics` calls this after each step, `event_driven.run` after
each event. Source: docs/decisions/40, "Exact stick".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel

if TYPE_CHECKING:
    from stiction.bodies.contact_kernels import Contact
    from stiction.numerics.arrays import Table

__all__ = ["label_groups", "sticking", "stop_resting", "support_labels"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The numbers below were chosen, between rounding and the tolerance of contact problems.
# normal impulses below this fraction of the largest impulse are rounding, and close no contact
CLOSED = 1e-12
# a contact whose friction is nearer to its bound than this fraction of it may slip; one that moves
# faster than this fraction of the largest velocity of its group neither sticks nor is closed
_INSIDE = 1e-9
# slip at the friction bound slower than this fraction of the velocity without impulses is rounding.
# Where forces are not unique, a contact that sticks may have any tangential force up to the bound
_SLIP = 1e-13
# a determinant below this fraction of the cube of the mean eigenvalue does not prove that a body is
# fixed
_FIXED = 1e-8
# singular values of conditions of a group above the first number are not zero; components of free
# motions below the second one are rounding
_RANK, _UNMOVED = 1e-6, 1e-9
# bodies of a group that is judged as a whole; larger groups keep their rounding
_MOST_GROUP = 30


def sticking(r: Floats, free: Floats, after: Floats, mu: Floats) -> tuple[Bools, Bools]:
    """Return which contacts are closed, and which of them stick.

    Parameters
    ----------
    r, free, after : (n, 2) or (n, 3) impulses [N s], and velocities without them and with them
        [m/s], normal components first
    mu : (n,) coefficients of friction
    """
    # impulses of surfaces that graze are rounding, and so is their direction
    moving = _INSIDE * np.abs(free).max(initial=0.0)
    closed = (r[:, 0] > CLOSED * r[:, 0].max(initial=0.0)) & (np.abs(after[:, 0]) <= moving)
    slip = np.linalg.norm(after[:, 1:], axis=1)
    inside = slip <= moving
    inside &= np.linalg.norm(r[:, 1:], axis=1) < (1.0 - _INSIDE) * mu * r[:, 0]
    still = slip <= _SLIP * np.linalg.norm(free, axis=1)
    return closed, closed & (inside | still)


def stop_resting(
    contacts: Table[Contact], closed: Bools, stick: Bools, reach: Floats, v: Floats, n_body: int
) -> int:
    """Give bodies that are fixed to a support its velocity, in place; return their number.

    Parameters
    ----------
    closed, stick : (n,) which contacts are closed, and which stick
    reach : (m,) sizes of bodies, then of supports [m]
    v : (m, 3) velocities of bodies, then of supports

    Verified by: tests/unit/bodies/test_exact_stick.py::test_bodies_that_stick_rest_to_the_last_bit
    """
    # conditions of each contact: sizes (n,) is 0 if it is open, 1 if it slips, 2 if it sticks
    rows, sizes = _rows(contacts, closed, stick, reach)
    if not len(rows):
        return 0
    first, second = (np.ascontiguousarray(contacts[name]) for name in ("first", "second"))
    label = support_labels(v, n_body)
    spread_labels(rows, sizes, first, second, label)
    label_groups(rows, sizes, first, second, label, n_body)
    fixed = np.flatnonzero(label[:n_body])
    for body in fixed:
        v[body] = v[n_body + label[body] - 1]
    project_moving(rows, sizes, first, second, label, reach, v, n_body)
    return len(fixed)


def support_labels(v: Floats, n_body: int) -> npt.NDArray[np.int64]:
    """Return (m,) labels: 0 of bodies; of supports from 1, those of the same velocity as one."""
    label = np.arange(len(v)) - n_body + 1
    label[:n_body] = 0
    for k in range(n_body, len(v)):
        same = np.flatnonzero((v[n_body:k] == v[k]).all(axis=1))
        if same.size:
            label[k] = label[n_body + same[0]]
    return label


def _rows(
    contacts: Table[Contact], closed: Bools, stick: Bools, reach: Floats
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return rows of J, and the numbers (n,) of those that hold: 0 open, 1 slip, 2 stick.

    The rows (n, 2, 2, 3) are those of each contact, body (first, second), direction (normal,
    tangent) and velocity (x, y, spin); moments are over the sizes of the bodies [1].
    """
    n, normal = len(contacts), np.asarray(contacts["normal"])
    tangent = np.stack([normal[:, 1], -normal[:, 0]], axis=1)
    rows = np.zeros((n, 2, 2, 3))
    for side, name in enumerate(("first", "second")):
        arm, size = np.asarray(contacts[f"arm_{name}"]), reach[contacts[name]]
        for i, way in enumerate((normal, tangent)):
            rows[:, side, i, :2] = way
            moment = arm[:, 0] * way[:, 1] - arm[:, 1] * way[:, 0]
            rows[:, side, i, 2] = np.where(np.isfinite(size), moment / size, 0.0)
    rows[:, 1] *= -1.0
    return rows, closed.astype(np.int64) + stick.astype(np.int64)


@kernel(allocates=True)
def spread_labels(
    rows: npt.NDArray[np.float64], sizes: Integers, first: Integers, second: Integers,
    label: Integers,
) -> None:  # fmt: skip
    """Give a body the label of its neighbours where contacts with them fix it.

    The conditions A of a body have full rank if their Gram matrix A^T A (3, 3) is regular.

    Parameters
    ----------
    rows : (n, 2, 2, 3) rows of J for first and second body
    sizes : (n,) how many of the two rows hold
    label : (m,) 0 of bodies that are not fixed; changed in place
    """
    m, most = label.shape[0], 0
    for k in range(m):
        most = max(most, label[k])
    gram = np.zeros((m, 3, 3))
    changed = True
    while changed:
        # a body that is fixed may fix its neighbours in the next round
        changed = False
        # contacts with supports of one velocity fix a body whatever its other contacts are
        for one in range(1, most + 1):
            gram[:] = 0.0
            for c in range(sizes.shape[0]):
                for side in range(2):
                    body, other = (first[c], second[c]) if side == 0 else (second[c], first[c])
                    if label[body] != 0 or label[other] != one:
                        continue
                    # Gram matrix of the rows that hold: regular if they fix all three velocities
                    for k in range(sizes[c]):
                        for i in range(3):
                            for j in range(3):
                                gram[body, i, j] += rows[c, side, k, i] * rows[c, side, k, j]
            for body in range(m):
                if label[body] == 0 and _is_regular(gram[body]):
                    label[body] = one
                    changed = True


@kernel(allocates=True)
def project_moving(
    rows: npt.NDArray[np.float64], sizes: Integers, first: Integers, second: Integers,
    label: Integers, reach: Vector, v: Matrix, n_body: int,
) -> None:  # fmt: skip
    """Project velocities of bodies onto those that contacts with fixed bodies leave free, in place.

    Of the rows of a body the pair that is farthest from parallel leaves one direction, their cross
    product; parallel rows leave two. Parameters are as of `stop_resting` and `spread_labels`.
    """
    mine, free = np.zeros((2 * sizes.shape[0], 3)), np.zeros(3)
    for body in range(n_body):
        if label[body] != 0:
            continue
        # the rows of contacts with fixed bodies, if these all have one velocity
        count, holds = 0, 0
        for c in range(sizes.shape[0]):
            for side in range(2):
                here, other = (first[c], second[c]) if side == 0 else (second[c], first[c])
                if here == body and sizes[c] > 0 and label[other] != 0:
                    holds = label[other] if holds in (0, label[other]) else -1
                    for k in range(sizes[c]):
                        mine[count] = rows[c, side, k]
                        count += 1
        if holds <= 0:
            continue
        support = n_body + holds - 1
        if not _free_direction(mine, count, free):
            free[:] = 0.0
        # moments in the rows are over the size of the body, and so spins are times it
        size = reach[body]
        x, y = v[body, 0] - v[support, 0], v[body, 1] - v[support, 1]
        turn = size * v[body, 2]
        if free[0] == 0.0 and free[1] == 0.0 and free[2] == 0.0:
            # parallel rows: remove the velocity along the only one
            r = mine[0]
            part = (r[0] * x + r[1] * y + r[2] * turn) / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
            x, y, turn = x - part * r[0], y - part * r[1], turn - part * r[2]
        else:
            # two independent rows: keep the velocity along what both leave
            part = free[0] * x + free[1] * y + free[2] * turn
            part /= free[0] * free[0] + free[1] * free[1] + free[2] * free[2]
            x, y, turn = part * free[0], part * free[1], part * free[2]
        v[body, 0], v[body, 1], v[body, 2] = v[support, 0] + x, v[support, 1] + y, turn / size


@kernel
def _free_direction(mine: Matrix, count: int, out: Vector) -> bool:
    """Write the cross product of the two rows farthest from parallel; False if all are parallel."""
    best = 0.0
    for i in range(count):
        for j in range(i + 1, count):
            a, b = mine[i], mine[j]
            x = a[1] * b[2] - a[2] * b[1]
            y = a[2] * b[0] - a[0] * b[2]
            z = a[0] * b[1] - a[1] * b[0]
            squared = x * x + y * y + z * z
            if squared > best:
                best = squared
                out[0], out[1], out[2] = x, y, z
    return best > _FIXED


@kernel
def _is_regular(g: Matrix) -> bool:
    """Return whether the determinant is not small beside the mean eigenvalue, cubed."""
    mean = (g[0, 0] + g[1, 1] + g[2, 2]) / 3.0
    determinant = (
        g[0, 0] * (g[1, 1] * g[2, 2] - g[1, 2] * g[2, 1])
        - g[0, 1] * (g[1, 0] * g[2, 2] - g[1, 2] * g[2, 0])
        + g[0, 2] * (g[1, 0] * g[2, 1] - g[1, 1] * g[2, 0])
    )
    return bool(determinant > _FIXED * mean * mean * mean)


def label_groups(
    rows: Floats,
    sizes: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    label: npt.NDArray[np.int64],
    n_body: int,
) -> None:
    """Give groups of bodies that are fixed only together the label of their neighbours, in place.

    A group has the conditions A v = 0 of all its contacts. Its free motions are the null space of
    A, from a singular value decomposition; a body that none of them moves is fixed.

    Parameters
    ----------
    rows : (n, 2, k, size) rows of J for first and second body; of a body size velocities
    sizes : (n,) how many of the k rows hold
    first, second : (n,) numbers of the bodies or supports of each contact
    label : (m,) labels of bodies, then of supports
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    used = np.flatnonzero((sizes > 0) & ((label[first] == 0) | (label[second] == 0)))
    inner = used[(label[first[used]] == 0) & (label[second[used]] == 0)]
    if not inner.size:
        return
    shape = (n_body, n_body)
    links = coo_array((np.ones(len(inner)), (first[inner], second[inner])), shape=shape)
    count, group = connected_components(links, directed=False)
    for one in range(count):
        # bodies of the group that are not fixed yet; supports around them have one velocity
        bodies = np.flatnonzero((group == one) & (label[:n_body] == 0))
        if not 2 <= len(bodies) <= _MOST_GROUP:
            continue
        mine = used[np.isin(first[used], bodies) | np.isin(second[used], bodies)]
        around = np.unique(np.concatenate([label[first[mine]], label[second[mine]]]))
        around = around[around != 0]
        if len(around) != 1:
            continue
        place = {int(body): k for k, body in enumerate(bodies)}
        most, size = rows.shape[2:]
        matrix = np.zeros((most * len(mine), size * len(bodies)))
        for row, c in enumerate(mine):
            for side, body in enumerate((first[c], second[c])):
                if (k := place.get(int(body))) is not None:
                    held = sizes[c]
                    at = slice(most * row, most * row + held)
                    matrix[at, size * k : size * (k + 1)] = rows[c, side, :held]
        _, values, right = np.linalg.svd(matrix, full_matrices=matrix.shape[0] < matrix.shape[1])
        free = right[int((values > _RANK).sum()) :]
        # a body that no free motion moves is fixed, whatever others of its group do
        moves = np.abs(free).max(axis=0, initial=0.0).reshape(-1, size).max(axis=1)
        label[bodies[moves <= _UNMOVED]] = around[0]
