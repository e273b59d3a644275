"""Verdicts on a paper: the structure of their TOML file, and a check against computed rows.

A file holds our judgement alone; the numbers beside it come from runs. `uncovered` returns rows
that differ from the paper although the verdict does not mention them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from stiction.papers.items import Row

__all__ = [
    "VERDICTS",
    "Correction",
    "Statement",
    "Verdict",
    "Verdicts",
    "read_verdicts",
    "uncovered",
]

VERDICTS = (
    "reproduced",
    "reproduced with correction",
    "depends on an unstated choice",
    "not reproduced",
)

_HERE = Path(__file__).resolve().parent
# relative tolerance for equal numbers, and the absolute one where the paper's number is zero
_SAME, _ZERO = 1e-2, 1e-6


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a figure or table.

    Parameters
    ----------
    says : the statement of the paper's text, in our words
    verdict : one of VERDICTS
    because : the correction, the choice, or the reason
    shown_by : scripts and tests that show it
    differs : first words of the rows that are known to differ from the paper
    """

    says: str
    verdict: str
    because: str
    shown_by: tuple[str, ...]
    differs: tuple[str, ...] = ()


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a statement; see `Verdict`."""

    where: str
    says: str
    result: str
    verdict: str
    shown_by: tuple[str, ...]


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A misprint: the printed text, the correct one, and the checks that show it."""

    where: str
    printed: str
    correct: str
    shown_by: tuple[str, ...]


class Sketch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure or table that holds no result."""

    key: str
    what: str


class Verdicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All verdicts on a paper."""

    title: str
    citation: str
    caveats: str
    item: Mapping[str, Verdict]
    sketch: tuple[Sketch, ...] = ()
    statement: tuple[Statement, ...] = ()
    correction: tuple[Correction, ...] = ()

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every figure, table and statement."""
        figures = [one.verdict for one in self.item.values()]
        return figures + [one.verdict for one in self.statement]


def read_verdicts(paper: str) -> Verdicts:
    """Return the verdicts on a paper.

    Verified by: tests/unit/papers/test_verdicts.py::test_every_item_has_a_verdict
    """
    return msgspec.toml.decode((_HERE / f"{paper}.toml").read_bytes(), type=Verdicts)


def uncovered(verdict: Verdict, rows: Sequence[Row]) -> list[str]:
    """Return rows that differ from the paper and that `differs` of the verdict does not list.

    Verified by: tests/unit/papers/test_verdicts.py::test_rows_that_differ_are_found
    """
    return [row.what for row in rows if _differs(row) and not row.what.startswith(verdict.differs)]


def _differs(row: Row) -> bool:
    """Return whether the row's own verdict, a number, or a yes or no contradicts the paper."""
    if row.verdict:
        return row.verdict.startswith("does not")
    if isinstance(row.paper, str):
        # reasons may follow a yes or no
        said = re.match(r"(yes|no)\b", row.paper)
        return bool(said and isinstance(row.ours, str) and not re.match(rf"{said[0]}\b", row.ours))
    if isinstance(row.ours, str):
        return True
    return not abs(row.ours - row.paper) <= (_SAME * abs(row.paper) if row.paper else _ZERO)
