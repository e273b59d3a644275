"""The audit: whether the assumptions of the model held while it was solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    note : what it means, and what to do when it failed
    """

    check: str
    ok: bool
    value: float | None
    limit: float | None
    time: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Audit:
    """All checks of a run."""

    checks: Sequence[Check] = ()

    @property
    def ok(self) -> bool:
        """Whether every assumption held."""
        return all(check.ok for check in self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)
