"""Semismooth Newton method on the natural map of a friction problem.

Given u = W r + q at n contacts, with the Delassus matrix W, the forces r solve Signorini's
conditions and Coulomb's law if and only if r_c = P(r_c - rho_c u~_c) at each contact c. Here P
projects on Coulomb's cone and u~ = u + (mu |u_t| + rolling |u_m|) n is De Saxce's velocity
(`cones`). The map F = (r - P(r - rho u~)) / rho has the derivative (I - D) / rho + D E W, with
D = P' and E = du~/du. `solver` and `proximal` call `newton`.

Arrays: r (n, size) forces [N], u (n, size) velocities [m/s], normal component first; mu, rolling
(n,) coefficients of friction [1] and of rolling friction [m]; rho (n,) [N s/m]; the blocks (size,
size) of W and of the derivative, with `start`, `column` and `diagonal`, are in rows as in SciPy's
BSR format, see `blocks.Local`.

If W does not have full rank, forces are not unique and the derivative of the map is singular. A
small shift of the diagonal of W in the derivative makes the Newton step nearly one of least norm.
The map itself is not shifted, so that its zeros are the solutions.

Source: Alart, Curnier 1991; Acary, Bremond, Huber 2018 (comparison of methods).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.cones import (
    de_saxce,
    de_saxce_derivative,
    project,
    projection_derivative,
)
from stiction.numerics.jit import kernel

__all__ = ["Iterate", "linearise", "natural_map", "newton"]

Floats = npt.NDArray[np.float64]

# shift of the diagonal of W in the derivative, relative to the diagonal blocks: half the digits, so
# that a singular W gives nearly the step of least norm (docs/decisions/38)
_SHIFT = 1e-8
# matrices of at least this size with few blocks are factorised as sparse ones
_SPARSE_FROM = 100
# largest number of halvings of a step
_HALVINGS = 8


@kernel
def natural_map(
    r: Matrix, u: Matrix, mu: Vector, rolling: Vector, n_tangent: int, rho: Vector, out: Matrix
) -> None:
    """Write (r - P(r - rho De Saxce's velocity)) / rho, one row per contact.

    Verified by: tests/unit/numerics/friction_problem/test_certificate.py::test_extended_precision
    """
    n, size = r.shape[0], r.shape[1]
    for c in range(n):
        for i in range(size):
            out[c, i] = r[c, i] - rho[c] * u[c, i]
        out[c, 0] = r[c, 0] - rho[c] * de_saxce(u[c], n_tangent, mu[c], rolling[c])
        project(out[c], n_tangent, mu[c], rolling[c], out[c])
        for i in range(size):
            out[c, i] = (r[c, i] - out[c, i]) / rho[c]


@kernel(allocates=True)
def linearise(
    blocks: Stack, start: Integers, diagonal: Integers, r: Matrix, u: Matrix,
    mu: Vector, rolling: Vector, n_tangent: int, rho: Vector, shift: Vector, jacobian: Stack,
) -> None:  # fmt: skip
    """Write the derivative of the natural map, divided by rho, in blocks as those of W.

    Parameters
    ----------
    shift : (n,) shift of the diagonal of W in the derivative

    Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_newton_derivative
    """
    n, size = r.shape[0], r.shape[1]
    argument, gradient = np.zeros(size), np.zeros(size)
    derivative, changed = np.zeros((size, size)), np.zeros((size, size))
    for c in range(n):
        for i in range(size):
            argument[i] = r[c, i] - rho[c] * u[c, i]
        argument[0] = r[c, 0] - rho[c] * de_saxce(u[c], n_tangent, mu[c], rolling[c])
        # D, derivative of P at r - rho De Saxce's velocity; D E, with E that of this velocity by u
        projection_derivative(argument, n_tangent, mu[c], rolling[c], derivative)
        de_saxce_derivative(u[c], n_tangent, mu[c], rolling[c], gradient)
        for i in range(size):
            for j in range(size):
                changed[i, j] = derivative[i, j] + (
                    derivative[i, 0] * gradient[j] if j > 0 else 0.0
                )
        # all blocks of row c of D E W
        for b in range(start[c], start[c + 1]):
            for i in range(size):
                for j in range(size):
                    total = 0.0
                    for k in range(size):
                        total += changed[i, k] * blocks[b, k, j]
                    jacobian[b, i, j] = total
        # the block on the diagonal: (I - D) / rho, and the shift of W
        here = diagonal[c]
        for i in range(size):
            for j in range(size):
                jacobian[here, i, j] += shift[c] * changed[i, j] - derivative[i, j] / rho[c]
            jacobian[here, i, i] += 1.0 / rho[c]


class Iterate(NamedTuple):
    """Forces with their error.

    Attributes
    ----------
    r, u : (n, size) forces [N] and velocities [m/s]
    natural : (n, size) natural map over rho [m/s]
    error : 2-norm of `natural` over all contacts [m/s]
    """

    r: Floats
    u: Floats
    natural: Floats
    error: float


def iterate_of(local: Local, r: Floats) -> Iterate:
    """Return forces with their velocities and error."""
    u, natural = local.velocities(r), np.empty_like(r)
    natural_map(r, u, local.mu, local.rolling, local.n_tangent, local.rho, natural)
    return Iterate(r, u, natural, math.sqrt(np.vdot(natural, natural)))


def newton(
    local: Local, r: Floats, tol: float, most: int = 40, shift: float = _SHIFT
) -> tuple[Iterate, int]:
    """Return the best iterate, and the number of solved linear systems.

    A step is halved up to eight times until the error decreases; if it does not, the last trial is
    accepted. After three such steps in succession the method stops.

    Parameters
    ----------
    tol : largest error of a solution [m/s]
    most : largest number of steps
    shift : shift of the diagonal of W in the derivative, relative to the diagonal blocks

    Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_files_are_solved
    """
    now = best = iterate_of(local, r)
    jacobian, shifts = np.empty_like(local.blocks), shift / local.rho
    stalled = 0
    for count in range(most):
        if now.error <= tol or stalled == 3 or not math.isfinite(now.error):
            return best, count
        linearise(
            local.blocks, local.start, local.diagonal, now.r, now.u, local.mu, local.rolling,
            local.n_tangent, local.rho, shifts, jacobian,
        )  # fmt: skip
        change = _solved(local._replace(blocks=jacobian), now.natural)
        if change is None:
            return best, count
        length = 1.0
        for _ in range(_HALVINGS):
            after = iterate_of(local, now.r - length * change)
            if after.error < (1.0 - 1e-4 * length) * now.error:
                break
            length *= 0.5
        stalled = 0 if after.error < now.error else stalled + 1
        now = after
        if now.error < best.error:
            best = now
    return best, most


def _solved(system: Local, right: Floats) -> Floats | None:
    """Return the solution for a matrix in blocks; None if the matrix is singular."""
    from scipy.linalg.lapack import dgetrf, dgetrs
    from scipy.sparse.linalg import splu

    if right.size < _SPARSE_FROM or system.is_full:
        # LAPACK takes columns: the transpose is factorised in place
        factors, pivots, info = dgetrf(system.dense().T, overwrite_a=1)
        if info != 0:
            return None
        solution, _ = dgetrs(factors, pivots, right.ravel(), trans=1)
    else:
        try:
            factor = splu(system.matrix.tocsc(), permc_spec="MMD_AT_PLUS_A")
        except RuntimeError:
            # a factor that is exactly singular
            return None
        solution = factor.solve(right.ravel())
    return np.asarray(solution).reshape(right.shape) if np.isfinite(solution).all() else None
