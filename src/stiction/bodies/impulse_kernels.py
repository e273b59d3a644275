"""The Delassus matrix W = J M^-1 J^T of contacts in the plane, and products with J and J^T.

A contact has two rows of J, for the normal and the tangential velocity of its point on the first
body relative to that on the second: (n, a x n) and (t, a x t) for the first body, whose arm is a,
and the same with the other sign for the second. t is the normal n turned clockwise by 90 degrees.
A body has the velocities (v_x, v_y, spin), and M is diagonal: mass, mass, moment of inertia. So

    u = J v,   v+ = v + M^-1 J^T r,   u+ = u + W r

with velocities u (c, 2) of contacts [m/s] and impulses r (c, 2) on their first bodies [N s].
`mechanics`, `contacts` and `event_driven` call these kernels.

Source: Acary, Brogliato 2008, Numerical Methods for Nonsmooth Dynamical Systems (the problem).
"""

from __future__ import annotations

import numpy as np

from stiction.bodies.contact_kernels import Contact
from stiction.numerics.arrays import Integers, Matrix, Stack, Table
from stiction.numerics.jit import kernel

__all__ = ["add_impulses", "contact_matrix", "contact_velocities", "group_contacts"]


@kernel
def _row(c: Contact, of_first: bool, tangential: bool) -> tuple[float, float, float]:
    """Return a row of J of one of the two bodies: factors of v_x, v_y and spin."""
    arm = c.arm_first if of_first else c.arm_second
    x, y = (c.normal[1], -c.normal[0]) if tangential else (c.normal[0], c.normal[1])
    turn = arm[0] * y - arm[1] * x
    return (x, y, turn) if of_first else (-x, -y, -turn)


@kernel(allocates=True)
def group_contacts(contacts: Table[Contact], n_body: int, out: Integers) -> int:
    """Write the number of the group of each contact; return how many groups there are.

    Contacts of a group act on each other through bodies; supports do not connect them. The groups
    are the connected components of the graph of bodies, by union-find with path halving.

    Parameters
    ----------
    contacts : (c,) in the plane or in space; only `first` and `second` are used
    out : (c,) numbers of groups, from 0 in the order of their first contacts
    """
    parent = np.arange(n_body)
    for k in range(contacts.shape[0]):
        a, b = contacts[k].first, contacts[k].second
        if b >= n_body:
            continue
        # the roots of both trees, whose paths are halved on the way
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    count, number = 0, np.full(n_body, -1)
    for k in range(contacts.shape[0]):
        a = contacts[k].first
        while parent[a] != a:
            a = parent[a]
        # groups are numbered in the order of their first contact
        if number[a] < 0:
            number[a] = count
            count += 1
        out[k] = number[a]
    return count


@kernel
def contact_velocities(contacts: Table[Contact], v: Matrix, out: Matrix) -> None:
    """Write u = J v, normal and tangential velocity of each contact.

    Parameters
    ----------
    v : (m, 3) velocities and spins of bodies, then of supports
    out : (c, 2) velocities u [m/s]
    """
    for k in range(contacts.shape[0]):
        c = contacts[k]
        for i in range(2):
            total = 0.0
            for side in range(2):
                body = c.first if side == 0 else c.second
                x, y, turn = _row(c, side == 0, i == 1)
                total += x * v[body, 0] + y * v[body, 1] + turn * v[body, 2]
            out[k, i] = total


@kernel
def add_impulses(
    contacts: Table[Contact], r: Matrix, inverse: Matrix, v: Matrix
) -> None:  # fmt: skip
    """Add M^-1 J^T r to the velocities v (m, 3) of bodies and supports, in place.

    Parameters
    ----------
    r : (n, 2) impulses on the first bodies [N s]
    inverse : (m, 3) reciprocal masses and moments of inertia, 0 of supports
    """
    for k in range(contacts.shape[0]):
        c = contacts[k]
        # the rows of both bodies have opposite signs: action and reaction
        for side in range(2):
            body = c.first if side == 0 else c.second
            for i in range(2):
                x, y, turn = _row(c, side == 0, i == 1)
                v[body, 0] += inverse[body, 0] * x * r[k, i]
                v[body, 1] += inverse[body, 1] * y * r[k, i]
                v[body, 2] += inverse[body, 2] * turn * r[k, i]


@kernel
def _add_block(c: Contact, d: Contact, body: int, inverse: Matrix, block: Matrix) -> None:
    """Add the term J_c M^-1 J_d^T of a body that both contacts share to a block (2, 2) of W."""
    for i in range(2):
        x, y, turn = _row(c, c.first == body, i == 1)
        x, y, turn = x * inverse[body, 0], y * inverse[body, 1], turn * inverse[body, 2]
        for j in range(2):
            other_x, other_y, other_turn = _row(d, d.first == body, j == 1)
            block[i, j] += x * other_x + y * other_y + turn * other_turn


@kernel
def contact_matrix(
    contacts: Table[Contact], inverse: Matrix, n_body: int, first: Integers, of_body: Integers,
    blocks: Stack, start: Integers, column: Integers, diagonal: Integers, place: Integers,
) -> None:  # fmt: skip
    """Write W in blocks of 2 x 2 (block compressed rows), in the order of their columns.

    Block (c, d) is the sum of J_c M^-1 J_d^T over the bodies that contacts c and d share.

    Parameters
    ----------
    inverse : (m, 3) reciprocal masses and moments of inertia, 0 of supports
    first, of_body : the contacts of body b are of_body[first[b]:first[b + 1]], in rising order
    blocks, start, column, diagonal : as of `friction_problem.gauss_seidel`; blocks are zero before
    place : (n,) work, -1 before and after

    Verified by: tests/unit/bodies/test_contacts.py::test_the_matrix_of_a_heap
    """
    count = 0
    for k in range(contacts.shape[0]):
        c = contacts[k]
        # columns of this row: all contacts of both bodies, in rising order
        start[k] = count
        for side in range(2):
            body = c.first if side == 0 else c.second
            if body >= n_body:
                continue
            for at in range(first[body], first[body + 1]):
                d = of_body[at]
                if place[d] < 0:
                    # contacts that share two bodies come once; insert the column where it belongs
                    here = count
                    while here > start[k] and column[here - 1] > d:
                        column[here] = column[here - 1]
                        here -= 1
                    column[here] = d
                    place[d] = 0
                    count += 1
        # from here on `place` is the block of each column of this row
        for at in range(start[k], count):
            place[column[at]] = at
        # supports have infinite mass, and so no part in W
        for side in range(2):
            body = c.first if side == 0 else c.second
            if body < n_body:
                for at in range(first[body], first[body + 1]):
                    d = of_body[at]
                    _add_block(c, contacts[d], body, inverse, blocks[place[d]])
        diagonal[k] = place[k]
        for at in range(start[k], count):
            place[column[at]] = -1
    start[contacts.shape[0]] = count
