"""Verdicts on the papers: figures, tables, statements, corrections; one TOML file a paper."""

from __future__ import annotations

from stiction.papers.judged.reading import (
    VERDICTS,
    Correction,
    Judged,
    Judgement,
    Statement,
    judged,
    unjudged,
)
from stiction.papers.judged.report import Made, report

__all__ = [
    "VERDICTS",
    "Correction",
    "Judged",
    "Judgement",
    "Made",
    "Statement",
    "judged",
    "report",
    "unjudged",
]
