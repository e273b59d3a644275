"""Data types of a comparison: `Item`, a figure or table of a paper, and `Row`, one compared value.

An item names the scenarios to solve and the functions that compare and draw their runs. `making`
solves and writes items, `tables` prints their rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from stiction.core.run import Run

__all__ = ["LOST", "Item", "Progress", "Row", "Runs", "progress_to", "report_progress", "text"]

LOST = "missing in the text"

Runs = Mapping[str, Run]
# a progress receiver: given the title of a solve, it returns the context in which a function may be
# called with the fraction done and a short note
Progress = Callable[[str], contextlib.AbstractContextManager[Callable[[float, str], None]]]


@contextlib.contextmanager
def _silent(title: str) -> Iterator[Callable[[float, str], None]]:
    yield lambda fraction, note: None


_PROGRESS: ContextVar[Progress] = ContextVar("progress", default=_silent)


@contextlib.contextmanager
def progress_to(receiver: Progress) -> Iterator[None]:
    """Send the progress of the solves of papers to `receiver` inside this context."""
    token = _PROGRESS.set(receiver)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def report_progress(title: str) -> contextlib.AbstractContextManager[Callable[[float, str], None]]:
    """Return the context in which the solve called `title` reports its progress."""
    return _PROGRESS.get()(title)


@dataclass(frozen=True)
class Row:
    """One line of a comparison: a quantity, the paper's value, ours.

    Parameters
    ----------
    what : the quantity, with its unit
    paper : number or statement of the paper; LOST where its text lost it
    ours : number or statement of the run
    verdict : whether a statement of the paper holds, where it is assessed
    """

    what: str
    paper: float | str
    ours: float | str
    verdict: str = ""

    @property
    def difference(self) -> str:
        """Ours minus the paper's, when both are numbers."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return ""
        return f"{self.ours - self.paper:+.3g}"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The four columns of the table as text."""
        return self.what, text(self.paper), text(self.ours), self.difference


@dataclass(frozen=True)
class Item:
    """One figure or table of a paper.

    Parameters
    ----------
    title : what it shows
    scenarios : the built-in scenarios it needs
    rows : the comparison, from the runs by name of scenario
    draw : writes our figure to a path; None where there is none to draw
    curves : writes curves as CSV to a path; None where the runs' own files hold them
    """

    title: str
    scenarios: Sequence[str]
    rows: Callable[[Runs], list[Row]]
    draw: Callable[[Runs, Path], object] | None = None
    curves: Callable[[Runs, Path], object] | None = None


def text(value: float | str) -> str:
    """Return a cell of a table; numbers with ten digits."""
    return value if isinstance(value, str) else f"{value:.10g}"
