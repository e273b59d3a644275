"""Checks of the installation: versions, optional packages, compilers, solvers, files, figures."""

from __future__ import annotations

from stiction.doctor.checks import examine
from stiction.doctor.finding import FAULT, NOTE, OK, Finding, screen

__all__ = ["FAULT", "NOTE", "OK", "Finding", "examine", "screen"]
