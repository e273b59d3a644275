"""n masses on a rail: dynamic, quasistatic and static friction problems."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
