"""What is there on this machine, whether it works, and what to install for what."""

from __future__ import annotations

from stiction.doctor.finding import FAULT, NOTE, OK, Finding, screen
from stiction.doctor.machine import examine

__all__ = ["FAULT", "NOTE", "OK", "Finding", "examine", "screen"]
