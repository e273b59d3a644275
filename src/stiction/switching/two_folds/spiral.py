"""Orbits that leave a two-fold by infinitely many crossings, in the local normal form.

The normal form is f+ = (-y, 1, J1) for h = x > 0 and f- = (z, J2, 1) for x < 0, with the states
(x, y, z) and the two-fold at the origin (`presets.NormalForm`). The crossing map around the
two-fold is linear in (y, z). The eigenvectors of this map are invariant rays of the surface x = 0;
along one of them orbits spiral out of the two-fold, along the other one into it, in finite time.

Source: Szalai, Jeffrey 2014, (30); formulas sheet, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stiction.errors import ModelError
from stiction.numerics.checks import Record, number

__all__ = ["Spiral", "spiral"]


@dataclass(frozen=True, eq=False, repr=False)
class Spiral(Record):
    """Invariant rays of the crossing map of the normal form.

    Parameters
    ----------
    growth : factor of y and z per revolution on the ray that spirals out (> 1) [1]
    decay : factor per revolution on the ray that spirals in, 1 / growth [1]
    ray_out, ray_in : z / y on these rays where orbits cross to h > 0 (y < 0 < z) [1]
    """

    growth: float
    decay: float
    ray_out: float
    ray_in: float


def spiral(J1: float, J2: float) -> Spiral:
    """Return the rays that spiral out of and into the two-fold of `NormalForm(J1, J2)`.

    One revolution maps (y, z) by an arc in h > 0 to (-y, z - 2 J1 y), and by an arc in h < 0 on to
    ((4 J1 J2 - 1) y - 2 J2 z, 2 J1 y - z). The eigenvalues of this map are
    2 J1 J2 - 1 +- 2 sqrt(J1 J2 (J1 J2 - 1)), with the product 1.

    Raises
    ------
    ModelError : if it is not case 1, J1 < 0, J2 < 0 and J1 J2 > 1.

    Source: Szalai, Jeffrey 2014, (30); formulas sheet, section 5.
    Verified by: tests/unit/switching/two_folds/test_spiral.py::test_spiral_of_the_run

    Examples
    --------
    >>> import stiction as st
    >>> found = st.switching.spiral(-1.2, -1.5)
    >>> round(found.growth, 9), round(found.ray_out, 9)
    (5.0, -0.4)
    """
    for name, value in (("J1", J1), ("J2", J2)):
        why = "J1 and J2 are slopes of one field relative to the other."
        number(f"spiral.{name}", value, rule="finite", why=why, try_="give -1.2 and -1.5.")
    product = J1 * J2
    if J1 >= 0.0 or J2 >= 0.0 or product <= 1.0:
        needs = "J1 < 0, J2 < 0 and J1 J2 > 1 (case 1)"
        why = "only from these two-folds an orbit spirals out along a ray."
        got = f"J1 = {J1}, J2 = {J2}"
        raise ModelError("spiral", got, needs, why, "give J1 = -1.2, J2 = -1.5.")
    growth = 2.0 * product - 1.0 + 2.0 * math.sqrt(product * (product - 1.0))
    # z / y from the second row of the map, 2 J1 y - z = eigenvalue z, without cancellation
    return Spiral(growth, 1.0 / growth, 2.0 * J1 / (1.0 + growth), 2.0 * J1 / (1.0 + 1.0 / growth))
