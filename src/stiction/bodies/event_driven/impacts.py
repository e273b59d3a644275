"""Impacts: impulses at contacts that close, by Newton's law or Poisson's, and Coulomb's.

The frictional contact problem u+ = W r + u- of a group of contacts that share bodies is solved for
the impulses r (c, 2) [N s]; u (c, 2) are normal and tangential velocities [m/s]. The impulses are
those of `TimeStepper` in the limit of short steps: Newton's u_n+ >= -e u_n- where surfaces
approach, u_n+ >= 0 at contacts that were closed, Coulomb's law for velocities after the impact, and
a coefficient of restitution that is reduced where it would add energy. By Poisson's law all
contacts expand that are pressed, also those that were closed. `run.Integrator` calls `impact`.

Source: Moreau 1988; Pfeiffer, Glocker 1996, chapter 8 (Poisson's law).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import Contact
from stiction.bodies.contacts import local_problem
from stiction.bodies.exact_stick import sticking
from stiction.bodies.impulse_kernels import add_impulses, contact_velocities
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.restitution import expand, without_gain
from stiction.numerics.arrays import Table
from stiction.numerics.friction_problem.certificate import residual
from stiction.numerics.friction_problem.solver import solve_local

__all__ = ["Impact", "impact"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# relative tolerance of the contact problem of an impact; Newton's method ends far below it
_TOLERANCE = 1e-13
# least energy, over the work of the impulses, that an impact must add for its restitution to be
# reduced: above the error of the contact problem
_GAIN = 1e-12


class Impact(NamedTuple):
    """Impulses of one group of contacts.

    Attributes
    ----------
    r, before, after : (c, 2) impulses [N s], velocities before and after [m/s]
    stick : (c,) whether contacts stick after it
    error : residual of the contact problem, relative
    reduced : whether restitution was reduced
    """

    r: Floats
    before: Floats
    after: Floats
    stick: Bools
    error: float
    reduced: bool


def impact(
    m: Mechanics, contacts: Table[Contact], v: Floats, elastic: Bools
) -> tuple[Impact, Floats]:
    """Return the impulses of a group of contacts, and velocities of all bodies after them.

    Parameters
    ----------
    v : (n, 3) velocities before
    elastic : (c,) contacts with restitution, if they approach or, by Poisson's law, are pressed

    Verified by: tests/unit/bodies/test_event_driven.py::test_impulses_of_both_methods_agree
    """
    e = np.where(elastic, m.restitution(contacts), 0.0)
    found, reduced = without_gain(
        lambda part: _solved(m, contacts, v, part * e),
        lambda found: float(np.abs(found.r * found.before).sum()),
        _GAIN if m.restitution(contacts).any() else np.inf,
    )
    after = m.velocity(v)
    add_impulses(contacts, found.r, m.inverse, after)
    return found._replace(reduced=reduced), after[: m.n]


def _solved(m: Mechanics, contacts: Table[Contact], v: Floats, e: Floats) -> Impact:
    """Return the impulses with the coefficients of restitution e (c,)."""
    before = np.empty((len(contacts), 2))
    contact_velocities(contacts, m.velocity(v), before)
    if m.poisson and e.any():
        local = local_problem(contacts, m.inverse, m.n, before, m.mu(contacts))
        made = expand(local, e, _TOLERANCE)
        return Impact(made.r, before, made.u, made.stick, made.error, False)
    # Newton's law: the contact problem for u + bounce n, where bounce = e u_n- <= 0
    bounce, q = e * np.minimum(before[:, 0], 0.0), before.copy()
    q[:, 0] += bounce
    mu = m.mu(contacts)
    local = local_problem(contacts, m.inverse, m.n, q, mu)
    found, _ = solve_local(local, np.zeros_like(q), _TOLERANCE * float(np.linalg.norm(q)))
    after = found.u.copy()
    after[:, 0] -= bounce
    _, stick = sticking(found.r, before, after, mu)
    return Impact(found.r, before, after, stick, residual(local, found.r), False)
