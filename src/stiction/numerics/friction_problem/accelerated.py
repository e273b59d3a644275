"""Accelerated projected gradient method for frictional contact problems u = W r + q, with restarts.

r (n, size) are forces of n contacts, u their velocities, n the unit vector of the normal component,
mu and `rolling` coefficients of friction and rolling friction of the tangential and rolling
components u_t, u_m. For a given slip velocity, De Saxce's form is a convex quadratic programme over
Coulomb's cones K. A step from the extrapolated forces y_k is

    r_{k+1} = P(y_k - (W y_k + q + (mu |u_t| + rolling |u_m|) n)),    u = W y_k + q,
    y_{k+1} = r_{k+1} + beta_k (r_{k+1} - r_k),

with the projection P on K (`cones`), for contacts scaled such that the largest eigenvalue of W is
1. beta_k is Nesterov's sequence; it starts again at 0 if the step leads uphill or the error grows.
Momentum makes the number of steps grow with the square root of W's condition: long chains of
contacts in a heap take hundreds of steps, where Gauss-Seidel takes tens of thousands of sweeps. W
need not have full rank. `solver` calls `accelerated`.

Source: Nesterov 1983; O'Donoghue, Candes 2015 (restart); Mazhar, Heyn, Negrut, Tasora 2015 (heaps);
Acary, Cadoux, Lemarechal, Malick 2011 (the convex programme for a given slip velocity).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.cones import de_saxce, project, project_in_plane
from stiction.numerics.friction_problem.gauss_seidel import velocities
from stiction.numerics.jit import kernel

__all__ = ["accelerated", "gradient_steps"]

Floats = npt.NDArray[np.float64]

# iterations of the power method: its estimate of the largest eigenvalue is low by some per cent at
# most, and the gradient method is stable up to 4 / 3 of the step length for the exact one
_POWERS = 30
# ratio of the error to the least one since the last restart from which the momentum restarts: slip
# changes from step to step, so that the test of the gradient alone may miss an oscillation
_MOST_GROWTH = 2.0


@kernel
def _projected(
    ahead: Matrix, u: Matrix, mu: Vector, rolling: Vector, n_tangent: int, weight: Vector,
    r: Matrix, after: Matrix,
) -> tuple[float, float]:  # fmt: skip
    """Write the projected step r' = r_{k+1}; return its squared error, and (y - r') . (r' - r).

    The second number is positive if the step leads uphill (O'Donoghue, Candes, gradient test).

    Parameters
    ----------
    ahead, u : (n, size) extrapolated forces y, and W y + q
    weight : (n,) factors of the contacts in the error
    r, after : (n, size) forces r_k, and r' = r_{k+1}
    """
    n, size = r.shape[0], r.shape[1]
    error, uphill = 0.0, 0.0
    if size == 3 and n_tangent == 2:
        for c in range(n):
            # the tangential force is shortened along its direction
            slip = math.sqrt(u[c, 1] * u[c, 1] + u[c, 2] * u[c, 2])
            x = ahead[c, 0] - (u[c, 0] + mu[c] * slip)
            y, z = ahead[c, 1] - u[c, 1], ahead[c, 2] - u[c, 2]
            length = math.sqrt(y * y + z * z)
            normal, tangential = project_in_plane(x, length, mu[c])
            share = tangential / length if length > 0.0 else 0.0
            after[c, 0], after[c, 1], after[c, 2] = normal, share * y, share * z
            x, y, z = ahead[c, 0] - normal, ahead[c, 1] - share * y, ahead[c, 2] - share * z
            error += weight[c] * weight[c] * (x * x + y * y + z * z)
            uphill += x * (normal - r[c, 0])
            uphill += y * (after[c, 1] - r[c, 1])
            uphill += z * (after[c, 2] - r[c, 2])
        return error, uphill
    for c in range(n):
        total = 0.0
        if size == 2:
            # without loops over two components: a third of the time
            x, y = ahead[c, 0], ahead[c, 1]
            normal, tangential = project_in_plane(
                x - u[c, 0] - mu[c] * abs(u[c, 1]), y - u[c, 1], mu[c]
            )
            after[c, 0], after[c, 1] = normal, tangential
            x, y = x - normal, y - tangential
            total = x * x + y * y
            uphill += x * (normal - r[c, 0]) + y * (tangential - r[c, 1])
        else:
            for i in range(size):
                after[c, i] = ahead[c, i] - u[c, i]
            after[c, 0] = ahead[c, 0] - de_saxce(u[c], n_tangent, mu[c], rolling[c])
            project(after[c], n_tangent, mu[c], rolling[c], after[c])
            for i in range(size):
                step = ahead[c, i] - after[c, i]
                total += step * step
                uphill += step * (after[c, i] - r[c, i])
        error += weight[c] * weight[c] * total
    return error, uphill


@kernel
def _extrapolate(after: Matrix, share: float, r: Matrix, ahead: Matrix) -> None:
    """Write y = after + share (after - r) to `ahead`, and replace r by `after`."""
    for c in range(r.shape[0]):
        if r.shape[1] == 2:
            x, y = after[c, 0], after[c, 1]
            ahead[c, 0], ahead[c, 1] = x + share * (x - r[c, 0]), y + share * (y - r[c, 1])
            r[c, 0], r[c, 1] = x, y
        else:
            for i in range(r.shape[1]):
                ahead[c, i] = after[c, i] + share * (after[c, i] - r[c, i])
                r[c, i] = after[c, i]


@kernel(allocates=True)
def gradient_steps(
    blocks: Stack, start: Integers, column: Integers, q: Matrix, mu: Vector, rolling: Vector,
    n_tangent: int, weight: Vector, r: Matrix, tol: float, most: int,
) -> int:  # fmt: skip
    """Do up to `most` steps on r, and return their number.

    Parameters
    ----------
    blocks, q : scaled so that W's largest eigenvalue is 1
    weight : (n,) factors of the contacts in the error
    tol : error to reach

    Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_accelerated_converges
    """
    n, size = r.shape[0], r.shape[1]
    ahead, u, after = r.copy(), np.zeros((n, size)), np.zeros((n, size))
    momentum, least = 1.0, math.inf
    for count in range(most):
        velocities(blocks, start, column, q, ahead, u)
        squared, uphill = _projected(ahead, u, mu, rolling, n_tangent, weight, r, after)
        error = math.sqrt(squared)
        if error <= tol or not math.isfinite(error):
            r[:] = after
            return count + 1
        # restart the momentum if the step leads uphill, or if the error grows
        if uphill > 0.0 or error > _MOST_GROWTH * least:
            momentum, least = 1.0, error
        least = min(least, error)
        # Nesterov's sequence
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        share = (momentum - 1.0) / following
        momentum = following
        _extrapolate(after, share, r, ahead)
    return most


def accelerated(local: Local, r: Floats, tol: float, most: int) -> tuple[Floats, int]:
    """Return forces after up to `most` steps from r, and the number of steps.

    Parameters
    ----------
    tol : error to reach, as of `newton.Iterate` [m/s]
    """
    # scale each contact by the root of its rho: diagonal blocks have the largest eigenvalue 1
    row = np.repeat(np.arange(len(r)), np.diff(local.start))
    size = np.sqrt(local.rho)
    scaled = local._replace(
        blocks=local.blocks * (size[row] * size[local.column])[:, None, None],
        q=np.zeros_like(local.q),
    )
    # power method; blocks on the diagonal have an eigenvalue of 1, so that the largest is no less
    x, largest = np.random.default_rng(0).normal(size=r.shape), 1.0
    for _ in range(_POWERS):
        x = scaled.velocities(x / np.linalg.norm(x))
        largest = max(1.0, float(np.linalg.norm(x)))
    # the scaling by `size` gives the step length 1
    size /= math.sqrt(largest)
    x = r / size[:, None]
    # half of tol: the error is that before the last step, and with the shorter step of all contacts
    count = gradient_steps(
        scaled.blocks / largest, local.start, local.column, local.q * size[:, None], local.mu,
        local.rolling, local.n_tangent, 1.0 / size, x, 0.5 * tol, most,
    )  # fmt: skip
    return x * size[:, None], int(count)
