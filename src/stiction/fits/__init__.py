"""From data to law: measured curves, rigs, parameters with intervals, comparison of laws."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
