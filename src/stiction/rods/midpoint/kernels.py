"""Kernels of the implicit midpoint rule: rotations, tangent stiffness, Jacobian of constraints.

A step of length h solves 2 M (u / h - v) / h = f(midpoint) + J^T lam, J u = 0 by Newton's method: M
masses and inertias, v velocities at its start, f elastic forces and loads, lam contact forces, J
the matrix of slip. Newton's matrix is 2 M / h^2 - df/du. The unknowns u are six per slot, numbered
6 i + k: displacement of the node over a step [m] (k < 3), and rotation vector of the element in
space [rad]. Arrays r, q, mat are those of `rod_kernels`. Called by `midpoint.run`; `statics` uses
the tangent stiffness too.

Source: formulas sheet (docs/formulas/rods.md), sections 3 and 6.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import FITTED
from stiction.rods.contact.kernels import ROLL, Contacts
from stiction.rods.driving_kernels import Switches
from stiction.rods.rod_kernels import axis_of, copy, elastic, material_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# half bandwidth: neighbouring slots couple, six unknowns each
BAND = 11
# increment of central differences: of positions over the element length, and of angles
_INCREMENT = 1e-6


@kernel
def turned(q: Matrix, change: Matrix, part: float, out: Matrix) -> None:
    """Set `out` to frames q (4, slots), rotated by `part` times the rotation vectors of `change`.

    change : (slots, 6) unknowns
    """
    for i in range(q.shape[1]):
        x, y, z = 0.5 * part * change[i, 3], 0.5 * part * change[i, 4], 0.5 * part * change[i, 5]
        angle = math.sqrt(x * x + y * y + z * z)
        c, s = cos(angle), 1.0
        if angle > 1e-8:
            s = sin(angle) / angle
        x, y, z = s * x, s * y, s * z
        # rotation vectors are in space: the change stands to the left of q
        w0, x0, y0, z0 = q[0, i], q[1, i], q[2, i], q[3, i]
        out[0, i] = c * w0 - x * x0 - y * y0 - z * z0
        out[1, i] = c * x0 + x * w0 + y * z0 - z * y0
        out[2, i] = c * y0 - x * z0 + y * w0 + z * x0
        out[3, i] = c * z0 + x * y0 - y * x0 + z * w0


@kernel
def increment_of(mat: Floats, i: int, k: int) -> float:
    """Return the increment of unknown k of a slot for central differences."""
    rod = material_of(mat)
    return _INCREMENT * (rod.length[max(i - 1, 0)] + rod.length[i] if k < 3 else 1.0)


@kernel
def is_fixed(mat: Floats, i: int, k: int) -> bool:
    """Return whether a support fixes unknown k of a slot."""
    rod = material_of(mat)
    return bool((rod.free[i] if k < 3 else rod.turns[i]) == 0.0)


@kernel
def inertia_of(mat: Floats, i: int, k: int) -> float:
    """Return the mass of a node [kg] (k < 3), or the inertia of an element [kg m^2]."""
    rod = material_of(mat)
    return float(rod.mass[i] if k < 3 else rod.inertia[i])


@kernel(allocates=True)
def difference_forces(
    r: Matrix,
    q: Matrix,
    mat: Floats,
    retard: Vector,
    flags: Switches,
    unknown: Floats,
    h: float,
    scratch: Matrix,
    work: Matrix,
) -> Floats:
    """Return (slots, 6, 3, 6) derivatives of forces on slots i - 1, i, i + 1 by unknowns of slot i.

    Elastic forces at the midpoint of the step are differentiated by central differences. A slot
    acts on its neighbours only, so every third slot is changed in one evaluation (colouring).
    Internal damping has the derivative of stiffness times 2 `retard` / h.

    Parameters
    ----------
    retard : (slots,) retardation times [s]
    unknown : (6 slots,) changes over the step of h [s]
    scratch, work : (24 or more, slots), (6 or more, slots) work arrays
    """
    size = r.shape[1]
    table = np.zeros((size, 6, 3, 6))
    change = unknown.copy().reshape(size, 6)
    middle_r, middle_q = np.empty((3, size)), np.empty((4, size))
    plus = np.empty((6, size))
    n, m = scratch[18:21], scratch[21:24]
    f, t = work[0:3].copy(), work[3:6].copy()
    # 36 evaluations for any number of slots: three colours, six unknowns, two signs
    for colour in range(3):
        for k in range(6):
            for sign in (1.0, -1.0):
                for i in range(colour, size, 3):
                    increment = increment_of(mat, i, k)
                    change[i, k] += sign * increment
                for a in range(3):
                    for i in range(size):
                        # forces at the midpoint, differences by the change over the whole step: the
                        # factor 1/2 of the chain rule is in them
                        middle_r[a, i] = r[a, i] + 0.5 * change[i, a]
                turned(q, change, 0.5, middle_q)
                elastic(middle_r, middle_q, mat, n, m, f, t)
                # store the forces of the positive increment for the difference
                if sign > 0.0:
                    copy(f, plus[0:3])
                    copy(t, plus[3:6])
                for i in range(colour, size, 3):
                    increment = increment_of(mat, i, k)
                    change[i, k] -= sign * increment
                    if sign > 0.0:
                        continue
                    for j in range(3):
                        other = i - 1 + j
                        if other < 0 or other >= size:
                            continue
                        # the strain rate is twice the strain at the midpoint over the step
                        damped = 1.0
                        if flags.retarded:
                            damped += 2.0 * retard[min(i, other)] / h
                        for a in range(3):
                            table[i, k, j, a] = (
                                damped * (plus[a, other] - f[a, other]) / (2 * increment)
                            )
                            table[i, k, j, 3 + a] = (
                                damped * (plus[3 + a, other] - t[a, other]) / (2 * increment)
                            )
    return table


@kernel(allocates=True)
def banded(table: Floats, mat: Floats, q: Matrix, h: float) -> Floats:
    """Return Newton's matrix, 2 M / h^2 minus the table, in diagonal form (23, 6 slots).

    Fixed unknowns have one on the diagonal.
    """
    size, diagonal = table.shape[0], BAND
    out = np.zeros((2 * BAND + 1, 6 * size))
    for i in range(size):
        for k in range(6):
            # column by unknown, row by equation minus column: the diagonal form of banded solvers
            column = 6 * i + k
            if is_fixed(mat, i, k):
                out[diagonal, column] = 1.0
                continue
            for j in range(3):
                other = i - 1 + j
                if other < 0 or other >= size:
                    continue
                for a in range(6):
                    if is_fixed(mat, other, a):
                        continue
                    row = 6 * other + a
                    if abs(row - column) <= BAND:
                        out[diagonal + row - column, column] -= table[i, k, j, a]
            # a change d of position has v_1 + v_0 = 2 d / h, and m (v_1 - v_0) = h f: so the
            # residual contains 2 m d / h^2 - f
            inertia = inertia_of(mat, i, k)
            if k < 3:
                out[diagonal, column] += 2.0 * inertia / (h * h)
            else:
                axis = axis_of(q, i)
                for a in range(3):
                    # inertia J (1 + d3 d3^T): twice as large about the axis
                    w = axis[a] * axis[k - 3] + (1.0 if a == k - 3 else 0.0)
                    out[diagonal + a + 3 - k, column] += 2.0 * inertia * w / (h * h)
    return out


@kernel
def constraint_jacobian(contacts: Contacts, jacobian: Matrix) -> None:
    """Set J (3 contacts, unknowns): slip of closed contacts [m] is J times the unknowns.

    jacobian : zero on entry
    """
    for c in range(contacts.shape[0]):
        k, x = contacts[c], 3 * c
        if k.mode < ROLL:
            continue
        y, z, d = x + 1, x + 2, k.separation
        for side in range(2):
            # u = R1' + b1 W1 x D - R2' + b2 W2 x D: the difference of nodes, the sum of frames
            sign = 1.0 - 2.0 * side
            for j in range(4):
                column = 6 * (k.nodes[side] + j)
                for a in range(3):
                    jacobian[x + a, column + a] += sign * k.node_weights[side, j]
                e = k.frame_weights[side, j]
                column = 6 * (k.frames[side] + j) + 3
                # frames contribute w x D, a matrix on w
                jacobian[x, column + 1] += e * d[2]
                jacobian[x, column + 2] -= e * d[1]
                jacobian[y, column] -= e * d[2]
                jacobian[y, column + 2] += e * d[0]
                jacobian[z, column] += e * d[1]
                jacobian[z, column + 1] -= e * d[0]
            for j in range(2 if k.rule == FITTED else 0):
                b, column = sign * k.outer_weights[side, j], 6 * (k.nodes[side] + 5 * j - 1)
                if b != 0.0:
                    for a in range(3):
                        jacobian[x + a, column + a] += b
