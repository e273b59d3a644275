"""`stiction doctor`: checks of the installation.

It checks versions, optional packages, the Numba compiler, sparse solvers, files and figures.
"""

from __future__ import annotations

from stiction.doctor.checks import examine
from stiction.doctor.finding import FAULT, NOTE, OK, Finding, screen

__all__ = ["FAULT", "NOTE", "OK", "Finding", "examine", "screen"]
