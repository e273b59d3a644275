"""Verdicts on the papers, read from one TOML file per paper, and their report as an HTML page.

A verdict says whether a figure, table or statement is reproduced, with a correction or a choice
that the paper does not state; each file also lists misprints with their corrections.
"""

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
