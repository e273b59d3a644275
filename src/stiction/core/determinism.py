"""Determinism of a run: where the solution was not unique, and which solution the run followed.

A Filippov system or a system with Coulomb friction may have several admissible solutions from one
state, for example at a two-fold. Methods record each such state as a `Loss`; `Run.determinism`
holds all of them, and the smallest distance of the run to a loss that it did not reach.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stiction.numerics.shown import brief, table_html

__all__ = ["Determinism", "Loss"]


@dataclass(frozen=True, repr=False)
class Loss:
    """A time from which the model has more than one admissible solution, or none.

    Parameters
    ----------
    time : [s, or the time unit of the run]
    kind : `no_continuation` if there is none; otherwise `quasistatic_branches`, `grazing_onset`,
        `two_fold`, `undecided`, `escaping_start`, `codim2_line`, `limit_point`, ...
    where : contact, state and forces at that time
    choice : the solution that the run followed, or that it ends
    units : unit of each number in `where` that has one
    """

    time: float
    kind: str
    where: Mapping[str, object] = field(default_factory=dict)
    choice: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def ends_run(self) -> bool:
        """Whether no solution exists from here, so that the run ends."""
        return self.kind == "no_continuation"

    @property
    def taken(self) -> str:
        """The choice, as it follows the other words of a line; "" for none.

        Verified by: tests/unit/core/test_summary.py::test_a_loss_without_a_future
        """
        if not self.choice:
            return ""
        return f"; {self.choice}" if self.ends_run else f"; choice: {self.choice}"

    def __repr__(self) -> str:
        """Return kind, time, contact and choice in one line."""
        place = "".join(f", {name} {brief(value)}" for name, value in self.where.items())
        return f"<{self.kind} at t = {self.time:.6g}{place}{self.taken}>"


@dataclass(frozen=True, repr=False)
class Determinism:
    """The losses of determinism of a run, in order of time.

    Parameters
    ----------
    losses : losses of determinism; after one with `ends_run` there are no others
    margin : smallest distance of the run to a loss, divided by the numerical error [1]; inf if no
        loss was near, or if the method does not compute the distance
    unseen : kinds of losses that the method does not detect; empty for none
    """

    losses: Sequence[Loss] = ()
    margin: float = math.inf
    unseen: str = ""

    @property
    def words(self) -> str:
        """What was lost; for a run without losses: unique solution, or no loss detected.

        Verified by: tests/unit/core/test_summary.py::test_missing_searches_are_reported
        """
        if self.losses:
            ends, several = self.losses[-1].ends_run, "the model has more than one solution"
            if not ends:
                return several
            none = "no solution exists: the run ends"
            return none if len(self.losses) == 1 else f"{several}, and no solution at the end"
        if self.unseen:
            return f"no loss was found; {self.unseen}"
        return "the solution was unique"

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
        header = ("time", "kind", "where", "choice")
        return table_html(header, rows, title=self.words, bad=bool(rows))
