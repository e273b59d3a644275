"""Nonlinear Gauss-Seidel method for frictional contact problems: kernels.

A sweep solves the problem of each contact c in turn, with fixed forces at all other contacts:

    u = W_cc r + q_c',    q_c' = q_c + sum of W_cd r_d over the other contacts d.

The root of the natural map r - P(r - rho (u + (mu |u_t| + rolling |u_m|) n)) solves it, with the
projection P on Coulomb's cone (`cones`), the normal n, tangential and rolling components u_t, u_m,
their coefficients of friction mu and `rolling`, and a number rho > 0; a semismooth Newton method
computes it, or improves the forces by one projected step. Arrays q, r, u are (n, size), normal
components first. W is stored in blocks (block compressed rows): those of contact c are
`blocks[start[c]:start[c + 1]]`, in columns `column[...]` in increasing order, and the block on the
diagonal has the number `diagonal[c]`. `solver` combines sweeps with other methods.

Source: Jourdan, Alart, Jean 1998 (Gauss-Seidel); Alart, Curnier 1991 (the problem of one contact).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.friction_problem.cones import (
    de_saxce,
    de_saxce_derivative,
    project,
    projection_derivative,
)
from stiction.numerics.jit import kernel

__all__ = ["solve_small", "sweeps", "swept", "velocities"]

if TYPE_CHECKING:
    from stiction.numerics.friction_problem.blocks import Local

# largest number of Newton iterations for the problem of one contact
_MOST_LOCAL = 12


@kernel
def velocities(
    blocks: Stack, start: Integers, column: Integers, q: Matrix, r: Matrix, u: Matrix
) -> None:
    """Write u = W r + q, one row per contact.

    Sums of two and three components stay in registers: a third of the time of the general loops.
    """
    n, size = r.shape[0], r.shape[1]
    for c in range(n):
        if size == 2:
            u0, u1 = q[c, 0], q[c, 1]
            for b in range(start[c], start[c + 1]):
                x, y = r[column[b], 0], r[column[b], 1]
                u0 += blocks[b, 0, 0] * x + blocks[b, 0, 1] * y
                u1 += blocks[b, 1, 0] * x + blocks[b, 1, 1] * y
            u[c, 0], u[c, 1] = u0, u1
        elif size == 3:
            u0, u1, u2 = q[c, 0], q[c, 1], q[c, 2]
            for b in range(start[c], start[c + 1]):
                x, y, z = r[column[b], 0], r[column[b], 1], r[column[b], 2]
                u0 += blocks[b, 0, 0] * x + blocks[b, 0, 1] * y + blocks[b, 0, 2] * z
                u1 += blocks[b, 1, 0] * x + blocks[b, 1, 1] * y + blocks[b, 1, 2] * z
                u2 += blocks[b, 2, 0] * x + blocks[b, 2, 1] * y + blocks[b, 2, 2] * z
            u[c, 0], u[c, 1], u[c, 2] = u0, u1, u2
        else:
            for i in range(size):
                u[c, i] = q[c, i]
            for b in range(start[c], start[c + 1]):
                for i in range(size):
                    for j in range(size):
                        u[c, i] += blocks[b, i, j] * r[column[b], j]


@kernel
def solve_small(a: Matrix, b: Vector) -> bool:
    """Replace b by the solution of a x = b, by elimination in place; False where a is singular."""
    n = b.shape[0]
    for c in range(n):
        # partial pivoting
        best = c
        for i in range(c + 1, n):
            if abs(a[i, c]) > abs(a[best, c]):
                best = i
        if not abs(a[best, c]) > 0.0:
            return False
        for j in range(n):
            a[c, j], a[best, j] = a[best, j], a[c, j]
        b[c], b[best] = b[best], b[c]
        for i in range(c + 1, n):
            factor = a[i, c] / a[c, c]
            for j in range(c, n):
                a[i, j] -= factor * a[c, j]
            b[i] -= factor * b[c]
    # backward substitution
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return True


@kernel
def _natural(
    w: Matrix, q: Vector, r: Vector, n_tangent: int, mu: float, rolling: float, rho: float,
    work: Matrix,
) -> float:  # fmt: skip
    """Return |r - P(r - rho De Saxce's velocity)| of one contact.

    Rows 0 to 2 of `work` get the velocity u, the argument of P, and P.
    """
    size = r.shape[0]
    # argument r - rho (u + (mu |u_t| + rolling |u_m|) n), and its projection on Coulomb's cone
    u, argument, nearest = work[0], work[1], work[2]
    for i in range(size):
        u[i] = q[i]
        for j in range(size):
            u[i] += w[i, j] * r[j]
        argument[i] = r[i] - rho * u[i]
    argument[0] = r[0] - rho * de_saxce(u, n_tangent, mu, rolling)
    project(argument, n_tangent, mu, rolling, nearest)
    total = 0.0
    for i in range(size):
        total += (r[i] - nearest[i]) ** 2
    return math.sqrt(total)


@kernel
def _one_contact(
    w: Matrix, q: Vector, r: Vector, n_tangent: int, mu: float, rolling: float, rho: float,
    work: Matrix,
) -> None:  # fmt: skip
    """Solve the problem of one contact by Newton's method, or make one projected step.

    Parameters
    ----------
    w : (size, size) block of W on the diagonal
    q : (size,) velocity of the contact without its own force
    r : (size,) force of the contact, which is replaced
    rho : 1 / the largest eigenvalue of w
    work : (4 + 3 size, size) scratch
    """
    size = r.shape[0]
    # the bodies separate without a force: the contact is open
    if q[0] >= 0.0:
        for i in range(size):
            r[i] = 0.0
        return
    u, argument, nearest, gradient = work[0], work[1], work[2], work[3]
    derivative, jacobian = work[4 : 4 + size], work[4 + size : 4 + 2 * size]
    first, trial = work[4 + 2 * size], work[5 + 2 * size]
    # the projected step is the result unless a step of Newton's method lowers the residual
    error = _natural(w, q, r, n_tangent, mu, rolling, rho, work)
    for i in range(size):
        first[i] = nearest[i]
        trial[i] = r[i]
    scale = rho * _length(q)
    for _ in range(_MOST_LOCAL):
        if error <= 1e-15 * scale:
            break
        # semismooth Newton: (I - D + rho D E w) dr = P - r
        projection_derivative(argument, n_tangent, mu, rolling, derivative)
        de_saxce_derivative(u, n_tangent, mu, rolling, gradient)
        newton_block(w, derivative, gradient, rho, jacobian)
        for i in range(size):
            nearest[i] -= trial[i]
        if not solve_small(jacobian, nearest):
            break
        for i in range(size):
            trial[i] += nearest[i]
        after = _natural(w, q, trial, n_tangent, mu, rolling, rho, work)
        # a larger residual may decrease again: continue unless it grows tenfold
        if not after < error:
            if after > 10.0 * error:
                break
        else:
            for i in range(size):
                first[i] = trial[i]
        error = min(error, after)
    for i in range(size):
        r[i] = first[i]
    project(r, n_tangent, mu, rolling, r)


@kernel
def _length(x: Vector) -> float:
    """Return the Euclidean norm."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return math.sqrt(total)


@kernel
def newton_block(w: Matrix, derivative: Matrix, gradient: Vector, rho: float, out: Matrix) -> None:
    """Write I - D + rho D E w, the derivative of the natural map of one contact.

    D is the derivative of the projection, E that of De Saxce's velocity by u.
    """
    size = gradient.shape[0]
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                # row k of E w: E adds the gradient of mu |u_t| + rolling |u_m| to the normal row
                changed = w[k, j]
                if k == 0:
                    for m in range(1, size):
                        changed += gradient[m] * w[m, j]
                total += derivative[i, k] * changed
            out[i, j] = rho * total - derivative[i, j]
        out[i, i] += 1.0


@kernel(allocates=True)
def sweeps(
    blocks: Stack, start: Integers, column: Integers, diagonal: Integers, q: Matrix,
    mu: Vector, rolling: Vector, n_tangent: int, rho: Vector, r: Matrix, most: int,
) -> int:  # fmt: skip
    """Make up to `most` sweeps on r; stop after a sweep that changes nothing.

    Parameters
    ----------
    rho : (n,) 1 / largest eigenvalue of the diagonal block of each contact
    r : (n, size) forces, changed in place

    Returns
    -------
    The number of sweeps that were done.

    Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_gauss_seidel_converges
    """
    n, size = r.shape[0], r.shape[1]
    work, own, before = np.zeros((4 + 3 * size, size)), np.zeros(size), np.zeros(size)
    for sweep in range(most):
        change = 0.0
        for c in range(n):
            here = diagonal[c]
            for i in range(size):
                own[i] = q[c, i]
                before[i] = r[c, i]
            # velocity due to the forces of all other contacts, of earlier ones with new values
            for b in range(start[c], start[c + 1]):
                if b != here:
                    k = column[b]
                    for i in range(size):
                        for j in range(size):
                            own[i] += blocks[b, i, j] * r[k, j]
            _one_contact(
                blocks[here], own, r[c], n_tangent, mu[c], rolling[c], rho[c], work
            )  # fmt: skip
            for i in range(size):
                change = max(change, abs(r[c, i] - before[i]) / rho[c])
        if change == 0.0:
            return sweep + 1
    return most


def swept(
    local: Local, r: npt.NDArray[np.float64], most: int
) -> tuple[npt.NDArray[np.float64], int]:
    """Return forces after up to `most` sweeps from r, and the number of sweeps."""
    after = r.copy()
    count = sweeps(
        local.blocks, local.start, local.column, local.diagonal, local.q, local.mu, local.rolling,
        local.n_tangent, local.rho, after, most,
    )  # fmt: skip
    return after, int(count)
