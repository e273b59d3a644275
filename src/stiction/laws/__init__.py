"""Friction, adhesion and tyre laws: pure functions of slip rate, gap and internal state."""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
