"""Whether the future was unique; where it was not, and which choice was made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stiction.numerics.shown import brief, table_html

__all__ = ["Determinism", "Loss"]


@dataclass(frozen=True, repr=False)
class Loss:
    """One moment at which the model allows more than one future.

    Parameters
    ----------
    time : [s, or the time unit of the run]
    kind : `quasistatic_branches`, `no_continuation`, `grazing_onset`, `two_fold`,
        `undecided`, `escaping_start`, `codim2_line`, `limit_point`, ...
    where : what is known of the place: contact, state, forces
    choice : what the run did there
    units : unit of each number in `where` that has one
    """

    time: float
    kind: str
    where: Mapping[str, object] = field(default_factory=dict)
    choice: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return kind, time, place and choice in one line."""
        place = "".join(f", {name} {brief(value)}" for name, value in self.where.items())
        choice = f"; taken: {self.choice}" if self.choice else ""
        return f"<{self.kind} at t = {self.time:.6g}{place}{choice}>"


@dataclass(frozen=True, repr=False)
class Determinism:
    """The losses of a run, in order of time; none means the future was unique.

    Parameters
    ----------
    losses : the moments at which the model allows more than one future
    margin : the smallest distance of the run to a split of futures, over its error; inf
        where none was near, or where the method knows no such distance
    unseen : what a loss could have been that the method did not look for; empty for nothing
    """

    losses: Sequence[Loss] = ()
    margin: float = math.inf
    unseen: str = ""

    @property
    def words(self) -> str:
        """What no loss means: that the future was unique, or that none was found.

        Verified by: tests/unit/core/test_summary.py::test_what_was_not_looked_for_is_reported
        """
        if self.unseen:
            return f"no loss was found; {self.unseen}"
        return "the future was unique"

    @property
    def status(self) -> str:
        """Return "deterministic" or "lost"."""
        return "lost" if self.losses else "deterministic"

    def __repr__(self) -> str:
        """Return the status, and the first losses."""
        kinds = [f"{loss.kind} at {loss.time:.6g}" for loss in self.losses[:3]]
        more = f", {len(self.losses) - 3} more" if len(self.losses) > 3 else ""
        return f"<Determinism: {self.status}{': ' + ', '.join(kinds) + more if kinds else ''}>"

    def _repr_html_(self) -> str:
        """Return the losses as a table."""
        rows = [(x.time, x.kind, str(dict(x.where)), x.choice) for x in self.losses]
        title = "the future was not unique" if rows else self.words
        return table_html(("time", "kind", "where", "taken"), rows, title=title, bad=bool(rows))
