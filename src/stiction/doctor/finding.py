"""The findings of `stiction doctor`: the result of each check, and the text of the screen."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["FAULT", "NOTE", "OK", "Finding", "State", "screen"]

State = Literal["ok", "note", "fault"]
OK: State = "ok"
NOTE: State = "note"
FAULT: State = "fault"

_SIGNS = {OK: "  ", NOTE: "- ", FAULT: "! "}
_LABEL, _LEAST_ROOM = 16, 20


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Parameters
    ----------
    part : part of the installation: "machine", "solvers", ...
    name : name of the check
    state : OK; NOTE if an optional part is missing; FAULT if a part does not work
    value : result of the check, as text
    advice : remedy; "" if none is needed
    """

    part: str
    name: str
    state: State
    value: str
    advice: str = ""

    def lines(self, width: int) -> list[str]:
        """Return the finding as lines no longer than `width`."""
        head = f"{_SIGNS[self.state]}{self.name:<{_LABEL}}  "
        lines = textwrap.wrap(
            self.value + (f"; {self.advice}" if self.advice else ""),
            max(width, len(head) + _LEAST_ROOM),
            initial_indent=head,
            subsequent_indent=" " * len(head),
            # commands to be typed are not broken across lines
            break_long_words=False,
            break_on_hyphens=False,
        )
        return lines or [head.rstrip()]


def screen(findings: Sequence[Finding], width: int) -> str:
    """Return all findings as lines, part by part, and a summary.

    Verified by: tests/unit/doctor/test_doctor.py::test_the_screen_fits
    """
    lines = []
    for part, group in itertools.groupby(findings, lambda finding: finding.part):
        lines += [part, *(line for finding in group for line in finding.lines(width))]
    faults = [f"{f.part}: {f.name}" for f in findings if f.state == FAULT]
    count = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
    last = f"{count}: {', '.join(faults)}" if faults else "no fault found"
    return "\n".join([*lines, *textwrap.wrap(last, width)])
