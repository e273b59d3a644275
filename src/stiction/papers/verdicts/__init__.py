"""Verdicts on the papers: figures, tables, statements, corrections; one TOML file a paper."""

from __future__ import annotations

from stiction.papers.verdicts.reading import (
    VERDICTS,
    Correction,
    Statement,
    Verdict,
    Verdicts,
    read_verdicts,
    uncovered,
)
from stiction.papers.verdicts.report import Made, report

__all__ = [
    "VERDICTS",
    "Correction",
    "Made",
    "Statement",
    "Verdict",
    "Verdicts",
    "read_verdicts",
    "report",
    "uncovered",
]
