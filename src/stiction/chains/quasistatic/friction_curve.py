"""Friction curves mu(|v|) N of the masses of a chain, with slopes and conditions of uniqueness.

The velocity v of the quasistatic problem, C v + mu(|v|) N Sgn(v) containing R, is unique if the
dampers outweigh the steepest weakening: C - diag(N max |mu'|) is positive semidefinite.
`branching`, `run` and the algorithms for friction that depends on the slip rate (`nonlinear_slip`,
`slip_branch`, `fast_flow`) use these curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.laws.friction import FrictionTable

__all__ = ["FrictionCurve"]

Floats = npt.NDArray[np.float64]

# speeds at which a user's law, which is smooth, is sampled [m/s]: 40 in each decade. Chosen
_PROBES = np.concatenate([[0.0], np.geomspace(1e-8, 1e4, 481)])


@dataclass(frozen=True, eq=False)
class FrictionCurve:
    """mu(|v|) N per mass, with the slopes that decide uniqueness.

    Parameters
    ----------
    table : the parameters of the law for each mass
    normal : (n,) normal forces [N]
    constant : friction does not depend on the speed
    strengthens : it rises strictly with speed on every mass that has friction
    falls : (n,) largest rate at which mu N falls with speed [N s/m]; inf for a jump
    bends : (n,) largest rate at which mu N changes with speed [N s/m], jumps left out
    """

    table: FrictionTable
    normal: Floats
    constant: bool
    strengthens: bool
    falls: Floats
    bends: Floats

    @classmethod
    def of(cls, chain: Chain) -> FrictionCurve:
        """Return the friction of `chain`."""
        table, law, normal = chain.friction, chain.law, chain.normal_forces
        drop = (table.mu_static - table.mu_kinetic) * normal
        falls = bends = np.zeros(chain.n_mass)
        constant, rises = True, False
        if law.convex:
            falls = bends = drop / table.v_scale
        elif not law.constant:
            mu, slope = table.probed(_PROBES)
            # a law whose coefficient varies by rounding only does not depend on the speed
            flat = np.ptp(mu, axis=1) <= 1e-14 * np.max(mu, axis=1)
            constant = bool(flat.all()) and not slope.any()
            rises = bool((slope > 0.0).all())
            falls = np.maximum(0.0, -slope.min(axis=1)) * normal
            bends = np.abs(slope).max(axis=1) * normal
        if law.has_jump:
            falls = np.where(drop > 0.0, np.inf, falls)
        return cls(table, normal, constant and not falls.any(), rises, falls, bends)

    @property
    def n(self) -> int:
        """Number of masses."""
        return int(self.normal.size)

    def force(self, v: Floats) -> Floats:
        """Return mu(|v|) N [N] in slip, (n,) or (n, m); at v = 0 the limit from slip."""
        return np.asarray(self._normal(v) * self.table.mu(v))

    def force_on(self, i: int, speed: Floats) -> Floats:
        """Return mu(speed) N [N] of mass i at (m,) speeds."""
        return np.asarray(float(self.normal[i]) * self.table.mu_of(i, speed))

    def slope(self, v: Floats) -> Floats:
        """Return d(mu N)/d|v| [N s/m] in slip, (n,) or (n, m); at v = 0 from the right."""
        return np.asarray(self._normal(v) * self.table.slope(v))

    @property
    def jump(self) -> float:
        """Largest difference between static friction and friction in slow slip [N]."""
        slow = self.table.mu(np.zeros(self.n))
        return float(np.max((self.table.mu_static - slow) * self.normal))

    def unique(self, damping: Floats) -> float:
        """Return the smallest eigenvalue of C - diag(falls) [N s/m]; >= 0: unique velocity.

        Parameters
        ----------
        damping : (n, n) matrix C

        Source: formulas sheet of the chains paper, section 1e, last line.
        """
        if not np.isfinite(self.falls).all():
            return -np.inf
        return float(np.linalg.eigvalsh(damping - np.diag(self.falls))[0])

    def _normal(self, v: Floats) -> Floats:
        return self.normal.reshape((-1, *(1,) * (v.ndim - 1)))
