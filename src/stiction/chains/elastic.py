"""The elastic part of a chain, K x and K^-1 r, in O(n) and without subtraction.

K is never formed. Mass after mass from the left is replaced by the stiffness with which
it is held to the ground; that is Gaussian elimination written with sums and products of
positive numbers only, so a weak wall beside stiff springs loses no digits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.errors import ModelError

__all__ = ["Elastic", "links_pull"]

Floats = npt.NDArray[np.float64]


def links_pull(link: Floats, x: Floats) -> Floats:
    """Return D' diag(link) D x: the pull of the links on each mass, with opposite sign.

    Parameters
    ----------
    link : (n + 1,) stiffness or damping of the links
    x : (n,) or (n, m) displacements or velocities; columns are independent
    """
    edge = np.zeros((1, *x.shape[1:]))
    stretch = np.diff(np.concatenate([edge, x, edge]), axis=0)
    factor = link.reshape(-1, *(1,) * (x.ndim - 1))
    return np.asarray(-np.diff(factor * stretch, axis=0))


class Elastic:
    """K of a chain, plate springs included.

    Parameters
    ----------
    chain : any chain that is held somewhere
    asked_by : name for the message when it is not

    Raises
    ------
    ModelError : if neither a wall nor a plate spring holds the chain, so that K is singular.

    Verified by: tests/unit/chains/test_stick_set.py::test_elastic_solve
    """

    def __init__(self, chain: Chain, asked_by: str) -> None:
        self.link = chain.link_stiffness
        self.plate = chain.plate_springs
        held = self.link[0] > 0.0 or self.link[-1] > 0.0 or bool((self.plate > 0.0).any())
        if not held:
            raise ModelError(
                asked_by,
                f"a chain with supports = {chain.supports!r} and no plate springs",
                "a chain that a wall or a plate spring holds",
                "a chain that nothing holds can be shifted at will: its stiffness matrix is "
                "singular, and its states of rest fill an unbounded set.",
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
    pivots: list[float] = []
    # stiffness with which the masses so far are held to the ground, seen from the next link
    held = link[0] + plate[0]
    for i in range(len(plate)):
        if i > 0:
            held = plate[i] + link[i] * (held / pivots[-1])
        pivots.append(held + link[i + 1])
    return pivots
