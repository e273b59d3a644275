"""The event log of a run: transitions between modes such as stick and slip, and impacts.

Each event has its time, contact, modes before and after, kind, and selected state variables.
Methods create the log; `Run.events` shows it as a table, and `events.csv` stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NUMBERED", "EventLog"]

# axes whose entries are numbered from 1, as in the papers
NUMBERED = ("mass", "contact", "link", "node", "future")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EventLog:
    """The m events of a run in order of time.

    Parameters
    ----------
    time : (m,) times [s, or the time unit of the run]
    contact : (m,) numbers of contacts, from 1 as in the papers; 0 for the whole system
    before, after : (m,) names of the modes before and after, such as "stick"
    kind : (m,) names of the kinds of events
    columns : {name: (m,)} state variables at the events, in the order in which they are written
    units : {name: unit} of the state variables
    """

    time: Floats = field(default_factory=lambda: np.empty(0))
    contact: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    before: Sequence[str] = field(default_factory=tuple)
    after: Sequence[str] = field(default_factory=tuple)
    kind: Sequence[str] = field(default_factory=tuple)
    columns: Mapping[str, Floats] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def late(cls, count: int, read: Callable[[], EventLog]) -> EventLog:
        """Return a log of `count` events that `read` assembles on first access.

        Naming millions of events takes longer than locating them, and most are never read.

        Verified by: tests/unit/core/test_events.py::test_a_late_log_is_read_once
        """
        log = object.__new__(cls)
        log.__dict__["_late"] = count, read
        return log

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if "_late" not in self.__dict__ or name not in {one.name for one in fields(self)}:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__.update(self.__dict__["_late"][1]().__dict__)
            self.__dict__.pop("_late", None)
            return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __len__(self) -> int:
        late = self.__dict__.get("_late")
        return int(self.time.size if late is None else late[0])

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
