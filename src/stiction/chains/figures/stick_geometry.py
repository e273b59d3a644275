"""The stick set of a chain, from saved data, and its projections on pairs of masses.

In equilibrium the stick force is R = b f + p - K x, with |R_i| <= mu_s N_i, the load b f and the
force p of the plate at x = 0. Because x is an affine image of the box of all such R, the stick set
is a zonotope: its projection on two masses i and j is a polygon with edges
2 mu_s N_q (K^-1_iq, K^-1_jq) for all masses q, sorted by their angle. `figures.stick_set` and
`figures.phase` draw them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.errors import ModelError

__all__ = ["Shadow", "has_shadow"]

Floats = npt.NDArray[np.float64]

_MOST_EDGES = 400


def has_shadow(data: ChainData) -> bool:
    """Return whether the stick set of this run is bounded and known from its data."""
    return _reason(data) is None


def _reason(data: ChainData) -> str | None:
    """Return why the stick set cannot be drawn, None if it can."""
    stiffness = data.constant("link_stiffness")
    if data.stick_bound is None or stiffness is None or data.constant("load_weight") is None:
        return "the run does not hold stiffness, load weight, normal force and static coefficient."
    plate = data.constant("plate_stiffness")
    held = stiffness[0] > 0.0 or stiffness[-1] > 0.0 or (plate is not None and plate.any())
    if not held:
        return "without a wall the chain can rest anywhere: its stick set has no bounds."
    if data.belt_speed != 0.0:
        return "on a moving belt a mass that sticks moves with it: there is no set of equilibria."
    return None


@dataclass(frozen=True, eq=False)
class Shadow:
    """The stick set of a run at one saved time, seen in its displacements.

    Parameters
    ----------
    data : the history
    at : index of the saved time

    Raises
    ------
    ModelError : if the set is unbounded, not defined (on a moving belt), or not known from the data

    Source: formulas sheet of the chains paper, section 2; Axioms 14(4) 299, (15)-(17), (29).
    Verified by: tests/unit/chains/figures/test_stick_set.py::test_polygon_contains_the_equilibria
    """

    data: ChainData
    at: int = -1

    def __post_init__(self) -> None:
        reason = _reason(self.data)
        if reason is not None:
            raise ModelError(
                "plot.stick_set",
                f"a run of {self.data.run.system_name} without a bounded stick set",
                "a chain held by a wall, on a surface at rest",
                reason,
                "for example plot the phase planes instead.",
            )

    @functools.cached_property
    def centre(self) -> Floats:
        """(n,) displacements [m] of equilibrium without friction."""
        return self._solve(self._push)

    @functools.cached_property
    def half_width(self) -> Floats:
        """(n,) half widths [m] of the sharp interval of each displacement.

        K^-1 has no negative entry, so the widest state has every friction force at its bound.
        """
        return self._solve(self._bound)

    def polygon(self, i: int, j: int) -> Floats:
        """Return the (k, 2) vertices [m] of the projection on masses `i` and `j` (from 0)."""
        rows = np.stack([self._solve(_unit(self.data.n_mass, q)) for q in (i, j)])
        edges = (rows * self._bound).T
        edges = edges[(edges != 0.0).any(axis=1)]
        if not len(edges):
            return np.array([[self.centre[i], self.centre[j]]])
        # no entry is negative, so all angles lie between 0 and 90 degrees
        edges = edges[np.argsort(np.arctan2(edges[:, 1], edges[:, 0]), kind="stable")]
        if len(edges) > _MOST_EDGES:
            starts = np.linspace(0, len(edges), _MOST_EDGES + 1).astype(np.int64)[:-1]
            edges = np.add.reduceat(edges, starts, axis=0)
        lower = np.vstack([np.zeros(2), 2.0 * np.cumsum(edges, axis=0)]) - edges.sum(axis=0)
        middle = np.array([self.centre[i], self.centre[j]])
        return np.asarray(middle + np.vstack([lower, -lower[1:-1]]))

    @property
    def _bound(self) -> Floats:
        """(n,) static bound of each mass [N]."""
        bound = self.data.stick_bound
        assert bound is not None
        return np.asarray(bound[self.at])

    @property
    def _push(self) -> Floats:
        """(n,) force [N] on each mass at x = 0 without friction."""
        load_vector = self.data.constant("load_weight")
        assert load_vector is not None
        push = load_vector * self.data.load[self.at]
        plate, place = self.data.constant("plate_stiffness"), self.data.constant("plate_place")
        if plate is not None and place is not None:
            push = push + plate * place[self.at]
        return np.asarray(push)

    def _solve(self, right: Floats) -> Floats:
        """Return K^-1 right for the tridiagonal stiffness K, plate springs included."""
        from scipy.linalg import solveh_banded

        stiffness = self.data.constant("link_stiffness")
        assert stiffness is not None
        band = np.zeros((2, self.data.n_mass))
        band[0, 1:] = -stiffness[1:-1]
        band[1] = stiffness[:-1] + stiffness[1:]
        plate = self.data.constant("plate_stiffness")
        if plate is not None:
            band[1] += plate
        if self.data.n_mass == 1:  # a band of one entry is not a matrix to LAPACK
            return np.asarray(right / band[1])
        return np.asarray(solveh_banded(band, right))


def _unit(size: int, at: int) -> Floats:
    unit = np.zeros(size)
    unit[at] = 1.0
    return unit
