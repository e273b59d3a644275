"""Members of a study that are solved in one call of compiled code, with their energy ledgers.

The ledgers of all members are computed at once, by the operations of `Ledger` in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.ledger import COLUMNS

__all__ = ["Block", "Energies", "Solve", "ledger_of"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Block:
    """Members that were solved together.

    A member is valid if its run is solved without a failed check and without a loss of determinism.
    The entries of other members are undefined: they are repeated as single runs, whose status and
    audit give the reason.

    Parameters
    ----------
    valid : (m,) whether a member is valid
    reached : (m,) the time that was reached
    events : (m,) number of events
    imbalance : (m,) largest imbalance of the ledger over the largest energy
    results : {name: (m, ...)} named results, NaN for missing entries
    """

    valid: npt.NDArray[np.bool_]
    reached: Array
    events: Array
    imbalance: Array
    results: Mapping[str, Array]


Solve = Callable[[Sequence[Array]], Block]
"""Takes (m,) values of each varied field, and solves the m members."""


@dataclass(frozen=True, eq=False)
class Energies:
    """The ledger of every member at its saved times, (m, times); `heat` (m, times, n)."""

    kinetic: Floats
    stored: Floats
    work: Floats
    viscous: Floats
    heat: Floats
    friction_heat: Floats
    imbalance: Floats
    scale: Floats
    imbalance_rel: Floats
    algorithmic: Floats

    def at_end(self) -> dict[str, Floats]:
        """Return the final ledgers of the members: {energy.COLUMN: (m,)}."""
        none = np.zeros(len(self.kinetic))
        columns = {
            "kinetic": self.kinetic[:, -1],
            "stored": self.stored[:, -1],
            "adhesive": none,
            "external_work": self.work[:, -1],
            "friction_heat": self.friction_heat[:, -1],
            "viscous_heat": self.viscous[:, -1],
            "impact_loss": none,
            "algorithmic": self.algorithmic[:, -1],
            "imbalance": self.imbalance[:, -1],
        }
        return {f"energy.{name}": columns[name] for name in COLUMNS}


def ledger_of(sums: Floats, heat: Floats, algorithmic: Floats | None = None) -> Energies:
    """Return the ledgers of many members, by the formulas of `Ledger`.

    Parameters
    ----------
    sums : (m, times, 4) kinetic and stored energy, work, viscous heat
    heat : (m, times, n) of friction
    algorithmic : (m, times) numerical dissipation; None for none
    """
    kinetic, stored, work, viscous = (sums[:, :, k] for k in range(4))
    scheme = np.zeros_like(kinetic) if algorithmic is None else algorithmic
    total = heat[:, :, 0] if heat.shape[2] == 1 else heat.sum(axis=2)
    energy = kinetic + stored + 0.0
    losses = viscous + 0.0 + scheme
    change = energy - energy[:, :1]
    off = change - work + total + losses
    parts = np.concatenate([kinetic, stored, work, total, viscous, scheme], axis=1)
    scale = np.abs(parts).max(axis=1)
    worst = np.abs(off).max(axis=1)
    relative = worst / np.maximum(scale, 1e-290)
    return Energies(kinetic, stored, work, viscous, heat, total, off, scale, relative, scheme)
