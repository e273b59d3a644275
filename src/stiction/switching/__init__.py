"""Piecewise-smooth flows, and what happens where their future stops being unique."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
