"""Blocks: several runs of a study that one call of compiled code solves, with their ledgers.

A member of a block is one run with its own values of the varied fields. `Method.blocks` returns
the function that solves a block; `stiction.studies` calls it. The energy ledgers of all members are
computed by array operations, in the same order as in `stiction.core.ledger.Ledger`, so that
rounding is the same. The first axis of all arrays counts the m members.
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
    """Results of the m members that were solved together.

    A member is valid if its run is solved without a failed check and without a loss of determinism.
    The entries of invalid members are undefined. The study solves these members again as single
    runs, whose status and audit give the reason.

    Parameters
    ----------
    valid : (m,) whether a member is valid
    reached : (m,) the time that was reached [s, or the time unit of the system]
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
"""A function of the (m,) values of each varied field that solves the m members."""


@dataclass(frozen=True, eq=False)
class Energies:
    """The ledgers of m members at their saved times.

    All arrays are (m, times) in the unit of energy of the system, except `heat` (m, times, n), the
    friction heat of each of n contacts, and `scale` and `imbalance_rel` (m,), the largest energy
    and the largest imbalance divided by it [1].
    """

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
    sums : (m, times, 4) kinetic and stored energy, external work, viscous heat
    heat : (m, times, n) friction heat of each contact
    algorithmic : (m, times) numerical dissipation; None for none
    """
    kinetic, stored, work, viscous = (sums[:, :, k] for k in range(4))
    # adhesive energy and impact loss are zero: 0.0 is added as in `Ledger`, for equal rounding
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
