"""What is judged of each paper: figures, tables, statements, corrections; one file a paper."""

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
