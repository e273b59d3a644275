"""The audit: whether the assumptions of the model held while it was solved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stiction.numerics.shown import table_html

__all__ = ["Audit", "Check"]


@dataclass(frozen=True)
class Check:
    """One assumption.

    Parameters
    ----------
    check : name of the assumption
    ok : whether it held
    value, limit : the worst value met and the limit it must keep
    time : when the worst value was met [s]; None when it concerns the whole run
    note : what it means with its [unit] where it has one, and what to do when it failed
    """

    check: str
    ok: bool
    value: float | None
    limit: float | None
    time: float | None = None
    note: str = ""

    @property
    def unit(self) -> str:
        """The unit of value and limit, as the note says it; "1" where it says none."""
        found = re.search(r"\[([^\[\]]{1,16})\]", self.note)
        return found[1] if found else "1"


@dataclass(frozen=True, repr=False)
class Audit:
    """All checks of a run."""

    checks: Sequence[Check] = ()

    @property
    def ok(self) -> bool:
        """Whether every assumption held."""
        return all(check.ok for check in self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __repr__(self) -> str:
        """Return how many checks held, and which did not."""
        failed = [check.check for check in self.checks if not check.ok]
        held = f"{len(self.checks) - len(failed)} held"
        return f"<Audit: {held}{', FAILED: ' + ', '.join(failed) if failed else ''}>"

    def _repr_html_(self) -> str:
        """Return the checks as a table, those that failed first."""
        lines = sorted(self.checks, key=lambda check: check.ok)
        rows = [
            (c.check, "held" if c.ok else "FAILED", c.value, c.limit, c.unit, c.time, c.note)
            for c in lines
        ]
        head = ("check", "", "value", "limit", "unit", "time", "meaning")
        title = "every assumption held" if self.ok else "assumptions were violated"
        return table_html(head, rows, title=title, bad=not self.ok)
