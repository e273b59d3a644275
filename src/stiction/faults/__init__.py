"""Faults under rate-and-state friction, loaded by plates at constant speed."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
