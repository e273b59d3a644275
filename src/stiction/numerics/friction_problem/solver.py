"""The sequence of methods that solves a frictional contact problem.

The problem is u = W r + q with Signorini's conditions and Coulomb's law between forces r [N] and
velocities u [m/s] of contacts; a sweep solves for each contact in turn. Sweeps of the Gauss-Seidel
method determine which contacts are open, stick or slip; the semismooth Newton method then converges
in a few steps. In a large problem a linear system takes as long as hundreds of steps of the
accelerated projected gradient, which then come first. If both fail, all modes of up to three
contacts in the plane are enumerated; then the proximal point method follows, and Newton's method
from random starts. `problem.FrictionProblem.solve` calls `solve_local` for a problem u = W r + q of
a user, and `bodies` in each step. Each method reports its error, the norm of the natural map [m/s]
(`newton`); the best forces are returned, whether they reach the tolerance or not.

Source: Acary, Bremond, Huber 2018 (comparison of these methods).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.friction_problem.accelerated import accelerated
from stiction.numerics.friction_problem.blocks import Local
from stiction.numerics.friction_problem.existence import solutions_in_the_plane
from stiction.numerics.friction_problem.gauss_seidel import swept
from stiction.numerics.friction_problem.newton import Iterate, iterate_of, newton
from stiction.numerics.friction_problem.proximal import proximal

__all__ = ["Work", "solve_local"]

Floats = npt.NDArray[np.float64]

# contacts in the plane whose modes are enumerated, 4 for each
_FEW_CONTACTS = 3
# number of random starts; without them 5 of 720 random problems are not solved (docs/decisions/38)
_STARTS = 60
# entries of W up to which Newton's method comes before the gradient: a linear system of a larger
# heap takes 40 ms, as hundreds of gradient steps, and tens of them are solved
_FEW_ENTRIES = 20_000
# steps of the accelerated gradient: heaps of 1,000 discs take up to 4,000 from zero forces
_STEPS = 5000
# largest number of linear systems; for small problems it is larger, up to this number of operations
_SYSTEMS, _OPERATIONS = 150, 2e11


class Work(NamedTuple):
    """The work of a solution.

    Attributes
    ----------
    sweeps : number of passes over all contacts, by Gauss-Seidel or by the accelerated gradient
    linear_systems : number of solved linear systems
    method : name of the method that gave the forces
    """

    sweeps: int
    linear_systems: int
    method: str


def solve_local(
    local: Local, r: Floats, tol: float, attempts: int | None = None, systems: int | None = None
) -> tuple[Iterate, Work]:
    """Return forces whose natural map has a norm of at most `tol` [m/s], or the best ones found.

    Parameters
    ----------
    r : (n, size) initial forces
    attempts : largest number of attempts: sweeps, Newton's method, gradient steps (in a large
        problem from zero forces too), Newton's method again, then others; None for all
    systems : number of linear systems after which no further attempt begins; None for a number that
        depends on the size of the problem
    """
    best, method = iterate_of(local, r), "start"
    n_sweeps = n_systems = 0
    most = max(_SYSTEMS, int(_OPERATIONS / max(r.size, 1) ** 3)) if systems is None else systems
    if best.error > tol:
        for found, name, count, solved in islice(_attempts(local, r, tol, most), attempts):
            n_sweeps, n_systems = n_sweeps + count, n_systems + solved
            if found.error < best.error or not np.isfinite(best.error):
                best, method = found, name
            if best.error <= tol or n_systems >= most:
                break
    return best, Work(n_sweeps, n_systems, method)


def _attempts(
    local: Local, r: Floats, tol: float, most: int
) -> Iterator[tuple[Iterate, str, int, int]]:
    """Yield for each attempt the forces, the method, and the numbers of sweeps and systems.

    Parameters
    ----------
    most : largest number of linear systems
    """
    is_large, is_warm = local.blocks.size > _FEW_ENTRIES, bool(r.any())
    r, count = swept(local, r, 10)
    now = iterate_of(local, r)
    yield now, "gauss_seidel", count, 0
    if not is_large:
        found, solved = newton(local, r, tol)
        yield found, "newton", 0, solved
        now = found if found.error < now.error else now
    r, count = accelerated(local, now.r, tol, _STEPS)
    found = iterate_of(local, r)
    yield found, "accelerated", count, 0
    now = found if found.error < now.error else now
    if is_large and is_warm:
        # from the forces of another step the gradient may oscillate where it converges from zero
        r, count = accelerated(local, np.zeros_like(r), tol, _STEPS)
        found = iterate_of(local, r)
        yield found, "accelerated", count, 0
        now = found if found.error < now.error else now
    found, solved = newton(local, now.r, tol)
    yield found, "newton", 0, solved
    if local.q.shape[1] == 2 and len(r) <= _FEW_CONTACTS:
        # corners of a body that lie a little apart from a line: with high friction only one of them
        # sticks, and iterations do not find which
        for forces in solutions_in_the_plane(local):
            yield iterate_of(local, forces), "enumeration", 0, 0
    r = found.r if found.error < now.error else now.r
    found, count, solved = proximal(local, r, tol, systems=most)
    yield found, "proximal", count, solved
    # with high friction Newton's method converges from few starts only; the seed is fixed
    rng = np.random.default_rng(0)
    size = float(np.abs(local.q).max() * local.rho.max())
    for _ in range(_STARTS):
        start = size * 10.0 ** rng.uniform(-2.0, 2.0) * rng.normal(size=r.shape)
        start[:, 0] = np.abs(start[:, 0])
        start, count = swept(local, start, 10)
        tried, solved = newton(local, start, tol, most=60)
        yield tried, "newton", count, solved
    for shift in (1.0, 10.0):
        found, count, solved = proximal(local, np.zeros_like(r), tol, shift, systems=most)
        yield found, "proximal", count, solved
    r, count = swept(local, found.r, 5000)
    yield iterate_of(local, r), "gauss_seidel", count, 0
