"""What is there on this machine, whether it works, and what to install for what."""

from __future__ import annotations

from stiction.doctor.checks import examine
from stiction.doctor.finding import FAULT, NOTE, OK, Finding, screen

__all__ = ["FAULT", "NOTE", "OK", "Finding", "examine", "screen"]
