"""What became of many members of a study that were solved in one call of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Solve"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Block:
    """Members that were solved together.

    A member is sound if its run would be solved, hold every line of its audit and keep its
    determinism. What stands here of the others counts for nothing: they are to be solved alone,
    which says in words what is the matter with them.

    Parameters
    ----------
    sound : (m,)
    reached : (m,) the time that was reached
    events : (m,) number of events
    imbalance : (m,) largest imbalance of the ledger over the largest energy
    results : {name: (m, ...)} named results, NaN where there is none
    """

    sound: npt.NDArray[np.bool_]
    reached: Array
    events: Array
    imbalance: Array
    results: Mapping[str, Array]


Solve = Callable[[Sequence[Array]], Block]
"""Takes (m,) values of each field that is varied, and solves the m members."""
