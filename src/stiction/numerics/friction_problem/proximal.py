"""Proximal point method for frictional contact problems, for cases in which Newton's method cycles.

The problem is u = W r + q with Coulomb's law between forces r and velocities u of contacts.
W + shift D and q - shift D r_k in place of W and q, with D = diag(1 / rho), give a problem whose
solution r_{k+1} is unique near r_k for a large shift. Fixed points r_{k+1} = r_k are the solutions
of the original problem u = W r + q. Each problem is solved by sweeps and Newton's method. The shift
decreases after a solved problem and increases after one that is not. `solver` calls `proximal`;
arrays r, q are (n, size), see `blocks.Local`.

Source: Rockafellar 1976 (proximal point algorithm); Acary, Bremond, Huber 2018 (for friction).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.gauss_seidel import swept
from stiction.numerics.friction_problem.newton import Iterate, iterate_of, newton

__all__ = ["proximal", "shifted"]

Floats = npt.NDArray[np.float64]

# bounds of the shift relative to the diagonal blocks of W, and its factors of decrease and
# increase after a subproblem that was, and was not, solved. Chosen
_LEAST_SHIFT, _MOST_SHIFT = 1e-9, 1e2
_FALL, _GROWTH = 0.3, 4.0


def shifted(local: Local, r: Floats, shift: float) -> Local:
    """Return the problem with W + shift diag(1 / rho) and q - shift r / rho."""
    added = shift / local.rho
    blocks = local.blocks.copy()
    blocks[local.diagonal] += added[:, None, None] * np.eye(r.shape[1])
    rho = 1.0 / (1.0 / local.rho + added)
    return local._replace(blocks=blocks, q=local.q - added[:, None] * r, rho=rho)


def proximal(
    local: Local, r: Floats, tol: float, shift: float = 0.1, most: int = 60, systems: int = 5000
) -> tuple[Iterate, int, int]:
    """Return the best iterate, and the numbers of sweeps and linear systems.

    Parameters
    ----------
    tol : largest norm of the natural map [m/s]
    shift : first shift, relative to the diagonal blocks of W
    most, systems : largest number of problems, and number of linear systems after which no further
        problem begins

    Verified by: tests/unit/numerics/friction_problem/test_solvers.py::test_proximal
    """
    best = iterate_of(local, r)
    n_sweeps = n_systems = 0
    for _ in range(most):
        if best.error <= tol or n_systems >= systems:
            break
        # the subproblem to a tolerance below the present error: ten sweeps and Newton's method,
        # then a hundred sweeps
        inner = shifted(local, r, shift)
        enough = max(0.1 * tol, 1e-3 * best.error)
        found = Iterate(r, r, r, np.inf)
        start = r
        for most_sweeps in (10, 100):
            start, count = swept(inner, start, most_sweeps)
            tried, solved = newton(inner, start, enough, most=25)
            n_sweeps, n_systems = n_sweeps + count, n_systems + solved
            found = min(found, tried, key=lambda one: one.error)
            start = found.r
            if found.error <= 10.0 * enough:
                break
        after = iterate_of(local, found.r)
        if found.error <= 10.0 * enough:
            r, shift = found.r, max(_FALL * shift, _LEAST_SHIFT)
        else:
            r, shift = (
                (after.r if after.error < best.error else r),
                min(_GROWTH * shift, _MOST_SHIFT),
            )
        best = min(best, after, key=lambda one: one.error)
    return best, n_sweeps, n_systems
