"""The elastic part of a chain, K x and K^-1 r, in O(n) and without subtraction.

K is the stiffness matrix of a chain: row i of K x is k_i (x_i - x_{i-1}) - k_{i+1} (x_{i+1} - x_i)
+ kp_i x_i, with the springs k of the links and kp of the plate. K is never formed. From the left,
each mass is replaced by its stiffness to the ground: Gaussian elimination with sums and products of
positive numbers only, so that a soft wall beside stiff springs loses no digits. Stick set,
reachability and the quasistatic methods use it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.errors import ModelError

__all__ = ["Elastic", "links_pull"]

Floats = npt.NDArray[np.float64]


def links_pull(link: Floats, x: Floats) -> Floats:
    """Return D' diag(link) D x, minus the force of the links on each mass [N].

    D (n + 1, n) maps displacements to the elongations x_i - x_{i-1} of the links; walls stand
    still.

    Parameters
    ----------
    link : (n + 1,) stiffness or damping of the links
    x : (n,) or (n, m) displacements or velocities; columns are independent
    """
    edge = np.zeros((1, *x.shape[1:]))
    elongation = np.diff(np.concatenate([edge, x, edge]), axis=0)
    factor = link.reshape(-1, *(1,) * (x.ndim - 1))
    return np.asarray(-np.diff(factor * elongation, axis=0))


class Elastic:
    """K of a chain, plate springs included.

    Parameters
    ----------
    chain : a chain with a wall or a plate spring
    asked_by : name of the caller, for the message

    Raises
    ------
    ModelError : without a wall and plate springs, because K is then singular.

    Verified by: tests/unit/chains/test_stick_set.py::test_elastic_solve
    """

    def __init__(self, chain: Chain, asked_by: str) -> None:
        self.link = chain.link_stiffness
        self.plate = chain.plate_springs
        supported = self.link[0] > 0.0 or self.link[-1] > 0.0 or bool((self.plate > 0.0).any())
        if not supported:
            raise ModelError(
                asked_by,
                f"a chain with supports = {chain.supports!r} and no plate springs",
                "a chain that a wall or a plate spring holds",
                "a chain without support has a rigid motion: its stiffness matrix is singular, "
                "and its stick set is unbounded.",
                'use supports = "left", or give a plate_stiffness.',
            )
        self._pivot: Floats | None = None

    @property
    def pivot(self) -> Floats:
        """(n,) pivots of the elimination [N/m]; their product is det K."""
        if self._pivot is None:
            self._pivot = np.array(_pivots(self.link.tolist(), self.plate.tolist()))
        return self._pivot

    @property
    def log_det(self) -> float:
        """Logarithm of det K."""
        return float(np.log(self.pivot).sum())

    def force(self, x: Floats) -> Floats:
        """Return K x [N] for (n,) or (n, m) displacements."""
        plate = self.plate.reshape(-1, *(1,) * (x.ndim - 1))
        return np.asarray(links_pull(self.link, x) + plate * x)

    def solve(self, r: Floats) -> Floats:
        """Return K^-1 r [m] for (n,) or (n, m) forces."""
        if not self.plate.any() and self.link[-1] == 0.0:
            return _one_wall(self.link[:-1], r)
        if not self.plate.any() and self.link[0] == 0.0:
            return _one_wall(self.link[:0:-1], r[::-1])[::-1]
        # forward elimination and backward substitution (Thomas algorithm)
        link, pivot = self.link.tolist(), self.pivot.tolist()
        load = r.tolist() if r.ndim == 1 else list(r)
        for i in range(1, len(load)):
            load[i] = load[i] + link[i] / pivot[i - 1] * load[i - 1]
        x = load
        x[-1] = x[-1] / pivot[-1]
        for i in range(len(x) - 2, -1, -1):
            x[i] = (load[i] + link[i + 1] * x[i + 1]) / pivot[i]
        return np.array(x)


def _one_wall(link: Floats, r: Floats) -> Floats:
    """Return K^-1 r with the wall at the left: link forces, then elongations, added up."""
    tension = np.cumsum(r[::-1], axis=0)[::-1]
    return np.cumsum(tension / link.reshape(-1, *(1,) * (r.ndim - 1)), axis=0)


def _pivots(link: list[float], plate: list[float]) -> list[float]:
    """Return the n pivots [N/m]: stiffness to the ground from the left, plus the right link."""
    pivots: list[float] = []
    # stiffness to the ground of the masses so far
    supported = link[0] + plate[0]
    for i in range(len(plate)):
        if i > 0:
            supported = plate[i] + link[i] * (supported / pivots[-1])
        pivots.append(supported + link[i + 1])
    return pivots
