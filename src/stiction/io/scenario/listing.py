"""The table of `stiction list`: scenarios and studies by system, as wide as the terminal."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from stiction.errors import ScenarioError, nearest
from stiction.io.scenario.built_in import Entry

__all__ = ["chosen", "duration", "table"]

_PACKAGE = Path(__file__).resolve().parents[2]
_GAP = 2
# width of the column of papers; it is dropped if less is available
_LEAST_SOURCE, _MOST_SOURCE = 24, 120


def chosen(every: Sequence[Entry], systems: Sequence[str]) -> list[Entry]:
    """Return the entries of some systems, of all for none.

    Raises
    ------
    ScenarioError : for a name that is no system.
    """
    known = list(dict.fromkeys(entry.system for entry in every))
    for name in systems:
        if name not in known:
            why = "the list has one part for each of them."
            needs = "one of " + ", ".join(known)
            raise ScenarioError("list", repr(name), needs, why, nearest(name, known))
    return [entry for entry in every if not systems or entry.system in systems]


def table(every: Sequence[Entry], width: int) -> str:
    """Return the entries as lines no longer than `width`, one for each, grouped by system.

    What does not fit is cut at a word; papers are shown where the terminal is wide enough.

    Verified by: tests/unit/io/scenario/test_listing.py::test_it_fits
    """
    groups: dict[str, list[Entry]] = {}
    for entry in sorted(every, key=lambda e: (e.system == "studies", e.system)):
        groups.setdefault(entry.system, []).append(entry)
    times = max((len(duration(entry.seconds)) for entry in every), default=0)
    # one column of papers, if all titles leave room for it
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
    """Return a time in short form: 1.4 s, 25 s, 3 min; empty if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def cut(text: str, width: int) -> str:
    """Return `text`, cut at a word where it is longer than `width`."""
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
