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
    ok : whether it held; None where it was not made, which `note` says why
    value, limit : the worst value met and the limit it must keep
    time : when the worst value was met [s]; None when it concerns the whole run
    note : what it means with its [unit] where it has one, and what to do when it failed
    """

    check: str
    ok: bool | None
    value: float | None
    limit: float | None
    time: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """One of "held", "FAILED" and "not checked"."""
        return "not checked" if self.ok is None else "held" if self.ok else "FAILED"

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
        """Whether every assumption that was checked held."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.ok is False)

    @property
    def held(self) -> tuple[Check, ...]:
        """The checks that held."""
        return tuple(check for check in self.checks if check.ok)

    @property
    def not_checked(self) -> tuple[Check, ...]:
        """The checks that were not made: nobody knows whether these assumptions held.

        Verified by: tests/unit/results/test_verdicts.py::test_what_is_not_checked_is_told
        """
        return tuple(check for check in self.checks if check.ok is None)

    @property
    def by_verdict(self) -> tuple[Check, ...]:
        """The checks that failed, those that were not made, and those that held."""
        return (*self.failed, *self.not_checked, *self.held)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __repr__(self) -> str:
        """Return how many checks held, and which did not or were not made."""
        parts = [f"{len(self.held)} held"]
        for word, checks in (("FAILED", self.failed), ("not checked", self.not_checked)):
            parts += [f"{word}: {', '.join(check.check for check in checks)}"] if checks else []
        return f"<Audit: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Return the checks as a table, those that failed first."""
        rows = [
            (c.check, c.verdict, c.value, c.limit, c.unit, c.time, c.note) for c in self.by_verdict
        ]
        head = ("check", "", "value", "limit", "unit", "time", "meaning")
        title = "assumptions were violated"
        if self.ok:
            title = f"every assumption{' that was checked' if self.not_checked else ''} held"
        return table_html(head, rows, title=title, bad=not self.ok)
