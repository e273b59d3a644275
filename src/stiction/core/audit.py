"""The audit of a run: checks of the assumptions of the model and of the convergence of solvers.

Each check compares a value of the run with a limit, for example the largest contact speed with the
wave speed. Every method creates the checks of its system; the summary, the saved files and the
command line show them. A check fails if its value is beyond its limit or NaN. After a grave failure
(see `Kind`) `core.driver` gives the run the status UNTRUSTED.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.shown import table_html

__all__ = ["FAR", "Audit", "Check", "Kind", "Line"]

FAR = 100.0
"""Ratio of value and limit beyond which the whole run is untrusted."""


class Kind(enum.Enum):
    """Kind of a check. The kind decides when a failure makes the whole run untrusted.

    `CONVERGENCE`: equations were solved. Every failure makes the run untrusted.
    `AT_MOST`: upper limit. A value above 100 times the limit makes the run untrusted, unless the
    limit is zero: then no ratio is defined, and a failure is only reported.
    `AT_LEAST`: lower limit. A value below a hundredth of the limit makes the run untrusted, or for
    a negative limit a value below 100 times the limit.
    `CONDITION`: a count, a sign or a condition. No failure makes the run untrusted.
    """

    CONVERGENCE = "convergence"
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    CONDITION = "condition"


@dataclass(frozen=True)
class Check:
    """One assumption.

    Parameters
    ----------
    check : name of the assumption
    ok : whether the assumption held; None if it was not checked, for the reason in `note`
    value, limit : the worst value and its limit
    time : time of the worst value [s]; None if the value concerns the whole run
    note : meaning of the value, its [unit] if there is one, and advice on failure
    kind : how value and limit are compared, see `Kind`
    """

    check: str
    ok: bool | None
    value: float | None
    limit: float | None
    time: float | None = None
    note: str = ""
    kind: Kind = Kind.AT_MOST

    @property
    def verdict(self) -> str:
        """One of "held", "FAILED" and "not checked"."""
        return "not checked" if self.ok is None else "held" if self.ok else "FAILED"

    @property
    def unit(self) -> str:
        """The unit of value and limit: the first text in brackets in the note; "1" without one.

        So a note must name its unit first, as in "largest gap [m]".
        """
        match = re.search(r"\[([^\[\]]{1,16})\]", self.note)
        return match[1] if match else "1"

    @property
    def untrusted(self) -> str:
        """Why this failure makes the whole run untrusted; "" if it does not.

        Verified by: tests/unit/core/test_audit.py::test_a_run_is_untrusted
        """
        if self.ok is not False or self.kind is Kind.CONDITION:
            return ""
        if self.kind is Kind.CONVERGENCE:
            value = "" if self.value is None else f" ({self.value:.3g})"
            return f"{self.check} failed{value}; this check tests convergence"
        if self.value is None or not self.limit:
            return ""
        ratio = self.value / self.limit
        # NaN is beyond any limit
        if self.kind is Kind.AT_LEAST and self.limit > 0.0:
            within_factor, side = ratio >= 1.0 / FAR, "below a hundredth of its limit"
        else:
            within_factor, side = ratio <= FAR, f"beyond {FAR:g} times its limit"
        return "" if within_factor else f"{self.check} {self.value:.3g} is {side} {self.limit:.3g}"


@dataclass(frozen=True, eq=False)
class Line:
    """One assumption, for a single run or for the m runs of a block that are solved together.

    Parameters
    ----------
    check, note, kind : as in `Check`
    value, limit : numbers, or (m,) arrays with one entry per run
    time : time of the worst value of a single run [s]
    exempt : bool, or (m,): runs for which the assumption holds regardless of the value
    """

    check: str
    value: Any
    limit: Any
    note: str = ""
    time: float | None = None
    kind: Kind = Kind.AT_MOST
    exempt: Any = False

    @property
    def holds(self) -> npt.NDArray[np.bool_]:
        """Whether the assumption holds, () or (m,); it fails for a value of NaN."""
        value, limit = self.value, self.limit
        within = value >= limit if self.kind is Kind.AT_LEAST else value <= limit
        return np.asarray(np.logical_or(within, self.exempt))

    def of_run(self) -> Check:
        """Return the check of a single run.

        Verified by: tests/unit/core/test_audit.py::test_a_line_of_one_and_of_many
        """
        value, limit = float(self.value), float(self.limit)
        return Check(self.check, bool(self.holds), value, limit, self.time, self.note, self.kind)


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
        """The assumptions that were not checked.

        Verified by: tests/unit/core/test_verdicts.py::test_what_is_not_checked_is_reported
        """
        return tuple(check for check in self.checks if check.ok is None)

    @property
    def by_verdict(self) -> tuple[Check, ...]:
        """All checks in the order failed, not checked, held."""
        return (*self.failed, *self.not_checked, *self.held)

    @property
    def untrusted(self) -> str:
        """Why the whole run is untrusted; "" if it is not."""
        return "; ".join(why for check in self.checks if (why := check.untrusted))

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __repr__(self) -> str:
        """Return the number of checks that held, and the names of the others."""
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
