"""One line of `stiction doctor`, and all of them as text."""

from __future__ import annotations

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
_LABEL = 16


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    part : what it belongs to: "machine", "solvers", ...
    name : what was looked at
    state : OK; NOTE for what is absent and not needed; FAULT for what does not work
    value : what was found
    advice : what to do about it, "" for nothing
    """

    part: str
    name: str
    state: State
    value: str
    advice: str = ""

    def lines(self, width: int) -> list[str]:
        """Return the finding as lines no longer than `width`."""
        text = self.value + (f"; {self.advice}" if self.advice else "")
        head = f"{_SIGNS[self.state]}{self.name:<{_LABEL}}  "
        room = max(width - len(head), 20)
        # what is to be typed stays in one piece
        first, *rest = textwrap.wrap(
            text, room, break_long_words=False, break_on_hyphens=False
        ) or [""]
        return [(head + first).rstrip(), *(f"{'':{len(head)}}{line}" for line in rest)]


def screen(findings: Sequence[Finding], width: int) -> str:
    """Return all findings as lines, part by part, and what follows from them.

    Verified by: tests/unit/doctor/test_doctor.py::test_the_screen_fits
    """
    blocks: dict[str, list[str]] = {}
    for finding in findings:
        blocks.setdefault(finding.part, []).extend(finding.lines(width))
    faults = [f"{f.part}: {f.name}" for f in findings if f.state == FAULT]
    last = f"{len(faults)} faults: {', '.join(faults)}" if faults else "no fault found"
    if len(faults) == 1:
        last = f"1 fault: {faults[0]}"
    parts = (f"{part}\n" + "\n".join(lines) for part, lines in blocks.items())
    return "\n".join([*parts, *textwrap.wrap(last, width)])
