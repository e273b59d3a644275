"""Determinism of a run: where the solution was not unique, and which solution the run followed.

A Filippov system or a system with Coulomb friction may have several admissible solutions from one
state, for example at a two-fold. Methods record each such state as a `Loss`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stiction.numerics.shown import brief, table_html

__all__ = ["Determinism", "Loss"]


@dataclass(frozen=True, repr=False)
class Loss:
    """A time at which the model has more than one admissible solution.

    Parameters
    ----------
    time : [s, or the time unit of the run]
    kind : `quasistatic_branches`, `no_continuation`, `grazing_onset`, `two_fold`,
        `undecided`, `escaping_start`, `codim2_line`, `limit_point`, ...
    where : contact, state and forces at that time
    choice : the solution that the run followed
    units : unit of each number in `where` that has one
    """

    time: float
    kind: str
    where: Mapping[str, object] = field(default_factory=dict)
    choice: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return kind, time, contact and choice in one line."""
        place = "".join(f", {name} {brief(value)}" for name, value in self.where.items())
        choice = f"; taken: {self.choice}" if self.choice else ""
        return f"<{self.kind} at t = {self.time:.6g}{place}{choice}>"


@dataclass(frozen=True, repr=False)
class Determinism:
    """The losses of determinism of a run, in order of time.

    Parameters
    ----------
    losses : losses of uniqueness
    margin : smallest distance of the run to a loss, divided by the numerical error [1]; inf if no
        loss was near, or if the method does not compute the distance
    unseen : kinds of losses that the method does not detect; empty for none
    """

    losses: Sequence[Loss] = ()
    margin: float = math.inf
    unseen: str = ""

    @property
    def words(self) -> str:
        """Text for a run without losses: unique future, or no loss detected.

        Verified by: tests/unit/core/test_summary.py::test_missing_searches_are_reported
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
