"""Friction, adhesion and tyre laws: pure functions of slip rate, gap and internal state."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
