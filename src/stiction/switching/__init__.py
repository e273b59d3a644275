"""Piecewise-smooth (Filippov) flows: event-driven integration, and futures after two-folds."""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
