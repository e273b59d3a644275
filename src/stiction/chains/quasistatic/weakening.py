"""Friction coefficients of a chain as functions of the slip speed, one per mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.laws.coulomb import FrictionTable, LawKind

__all__ = ["Weakening"]

Floats = npt.NDArray[np.float64]

# speeds at which a user's law is looked at [m/s]; it is smooth, so this shows its course
_PROBES = np.concatenate([[0.0], np.geomspace(1e-8, 1e4, 481)])


@dataclass(frozen=True, eq=False)
class Weakening:
    """mu(|v|) N per mass, with what decides how many motions are possible.

    Parameters
    ----------
    table : the law written out
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
    def of(cls, chain: Chain) -> Weakening:
        """Return the friction of `chain`."""
        table, normal = chain.friction, chain.normal_forces
        n = chain.n_mass
        drop = (np.asarray(table.mu_static) - np.asarray(table.mu_kinetic)) * normal
        if table.kind is LawKind.USER:
            return cls._of_user(table, normal)
        falls, bends = np.zeros(n), np.zeros(n)
        if table.kind is LawKind.STATIC_KINETIC:
            falls = np.where(drop > 0.0, np.inf, 0.0)
        if table.kind is LawKind.EXPONENTIAL:
            falls = bends = drop / table.v_scale
        return cls(table, normal, not falls.any(), False, falls, bends)

    @classmethod
    def _of_user(cls, table: FrictionTable, normal: Floats) -> Weakening:
        assert table.function is not None
        assert table.derivative is not None
        mu = np.array([float(table.function(float(v))) for v in _PROBES])
        slope = np.array([float(table.derivative(float(v))) for v in _PROBES])
        constant = bool(np.ptp(mu) <= 1e-14 * np.max(mu)) and not slope.any()
        rises = bool((slope > 0.0).all())
        fall, bend = max(0.0, -float(slope.min())), float(np.abs(slope).max())
        return cls(table, normal, constant, rises, fall * normal, bend * normal)

    @property
    def n(self) -> int:
        """Number of masses."""
        return int(self.normal.size)

    def force(self, v: Floats) -> Floats:
        """Return mu(|v|) N [N] in slip, (n,) or (n, m); at v = 0 the limit from slip."""
        shape = (-1, *(1,) * (v.ndim - 1))
        normal = self.normal.reshape(shape)
        table = self.table
        if table.kind is LawKind.USER:
            return normal * _mapped(table.function, v)
        slow = np.asarray(table.mu_kinetic).reshape(shape)
        if table.kind is LawKind.EXPONENTIAL:
            drop = np.asarray(table.mu_static).reshape(shape) - slow
            slow = slow + drop * np.exp(-np.abs(v) / np.asarray(table.v_scale).reshape(shape))
        return np.asarray(normal * slow + 0.0 * v)

    def force_on(self, i: int, speed: Floats) -> Floats:
        """Return mu(speed) N [N] of mass i at (m,) speeds."""
        table, normal = self.table, float(self.normal[i])
        if table.kind is LawKind.USER:
            return normal * _mapped(table.function, speed)
        slow = float(np.asarray(table.mu_kinetic)[i])
        if table.kind is LawKind.EXPONENTIAL:
            drop = float(np.asarray(table.mu_static)[i]) - slow
            return np.asarray(
                normal * (slow + drop * np.exp(-np.abs(speed) / float(table.v_scale[i])))
            )
        return np.full(speed.shape, normal * slow)

    def slope(self, v: Floats) -> Floats:
        """Return d(mu N)/d|v| [N s/m] in slip, (n,) or (n, m); at v = 0 from the right."""
        shape = (-1, *(1,) * (v.ndim - 1))
        table, normal = self.table, self.normal.reshape(shape)
        if table.kind is LawKind.USER:
            return normal * _mapped(table.derivative, v)
        if table.kind is not LawKind.EXPONENTIAL:
            return np.zeros_like(v)
        scale = np.asarray(table.v_scale).reshape(shape)
        drop = (np.asarray(table.mu_static) - np.asarray(table.mu_kinetic)).reshape(shape)
        return np.asarray(-normal * drop / scale * np.exp(-np.abs(v) / scale))

    def unique(self, damping: Floats) -> float:
        """Return the smallest eigenvalue of C - diag(falls) [N s/m]; >= 0: always one motion.

        Parameters
        ----------
        damping : (n, n) matrix C

        Source: formulas sheet of the chains paper, section 1e, last line.
        """
        if not np.isfinite(self.falls).all():
            return -np.inf
        return float(np.linalg.eigvalsh(damping - np.diag(self.falls))[0])


def _mapped(function: object, v: Floats) -> Floats:
    assert callable(function)
    speeds = np.abs(v)
    return np.array([float(function(float(s))) for s in speeds.ravel()]).reshape(speeds.shape)
