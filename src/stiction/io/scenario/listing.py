"""The table of `stiction list`: the built-in scenarios and studies, grouped by system.

The lines are no wider than the terminal: long titles are shortened, and the column of papers is
shown only if there is space for it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from stiction.errors import ScenarioError, nearest
from stiction.io.scenario.built_in import Entry

__all__ = ["chosen", "duration", "table"]

_PACKAGE = Path(__file__).resolve().parents[2]
_GAP = 2
# smallest and largest width of the column of papers [characters]
_LEAST_SOURCE, _MOST_SOURCE = 24, 120


def chosen(every: Sequence[Entry], systems: Sequence[str]) -> list[Entry]:
    """Return the entries of the given systems; all entries if no system is given.

    Raises
    ------
    ScenarioError : for a name that is not a system.
    """
    known = list(dict.fromkeys(entry.system for entry in every))
    for name in systems:
        if name not in known:
            why = "the list is grouped by system."
            needs = "one of " + ", ".join(known)
            raise ScenarioError("list", repr(name), needs, why, nearest(name, known))
    return [entry for entry in every if not systems or entry.system in systems]


def table(every: Sequence[Entry], width: int) -> str:
    """Return the entries as text, one line of at most `width` characters each, grouped by system.

    Verified by: tests/unit/io/scenario/test_listing.py::test_it_fits
    """
    groups: dict[str, list[Entry]] = {}
    for entry in sorted(every, key=lambda e: (e.system == "studies", e.system)):
        groups.setdefault(entry.system, []).append(entry)
    times = max((len(duration(entry.seconds)) for entry in every), default=0)
    # the column of papers is shown if the longest title leaves space for it
    titles = max((len(entry.title) for entry in every), default=0)
    before = max((len(entry.name) for entry in every), default=0) + times + 3 * _GAP
    source = min(width - before - titles - _GAP, _MOST_SOURCE)
    blocks = []
    for system, group in groups.items():
        names = before - times - 3 * _GAP if source >= _LEAST_SOURCE else _longest(group)
        lines = [_headed(system, width)]
        for entry in group:
            line = f"{'':{_GAP}}{entry.name:<{names}}{'':{_GAP}}{duration(entry.seconds):>{times}}"
            room = width - len(line) - _GAP
            line += f"{'':{_GAP}}{cut(entry.title, room)}"
            if source >= _LEAST_SOURCE:
                line = f"{line:<{before + titles}}{'':{_GAP}}{cut(_source(entry), source)}"
            lines.append(line.rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _longest(group: Sequence[Entry]) -> int:
    return max(len(entry.name) for entry in group)


def duration(seconds: float | None) -> str:
    """Return a time in short form, such as 1.4 s, 25 s or 3 min; "" if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def cut(text: str, width: int) -> str:
    """Return `text`, shortened at the end of a word if it is longer than `width`."""
    if len(text) <= width:
        return text
    head = text[: max(width - 1, 0)]
    word = head.rpartition(" ")[0].rstrip(" ,:;")
    return f"{word if len(word) > 0.6 * width else head}…"[:width]


def _source(entry: Entry) -> str:
    return ", ".join(part for part in (entry.figure, entry.paper) if part)


def _headed(system: str, width: int) -> str:
    """Return the heading of a group: the first line of its package's docstring, shortened."""
    path = _PACKAGE / system / "__init__.py"
    first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[
        0
    ]
    text = f"{system}: {first[:1].lower()}{first[1:].rstrip('.')}"
    while len(text) > width and (
        ends := [k for k in (text.rfind(", "), text.rfind(": ")) if k > 0]
    ):
        text = text[: max(ends)]
    return cut(text, width)
