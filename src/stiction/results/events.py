"""The event log: what changed, when, at which contact, and the state on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EventLog"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EventLog:
    """Events in order of time.

    Parameters
    ----------
    time : (m,) [s, or the time unit of the run]
    contact : (m,) numbered from 1 as in the papers; 0 for the whole system
    before, after : (m,) names of the modes
    kind : (m,) names of the kinds
    columns : state columns, each (m,), in the order they are written
    units : unit of each state column
    """

    time: Floats = field(default_factory=lambda: np.empty(0))
    contact: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    kind: Sequence[str] = ()
    columns: Mapping[str, Floats] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.time.size)

    def table(self, time_unit: str = "s") -> pd.DataFrame:
        """Return the log as a pandas table: time, contact, from, to, kind, state columns."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "time": self.time,
                "contact": self.contact,
                "from": list(self.before),
                "to": list(self.after),
                "kind": list(self.kind),
                **self.columns,
            }
        )
        frame.attrs["units"] = {"time": time_unit, **self.units}
        return frame
