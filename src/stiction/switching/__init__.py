"""Piecewise-smooth (Filippov) flows: event-driven integration, and futures after two-folds."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
