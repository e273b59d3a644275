"""Chains for other simulators: co-simulation units of FMI 3, in which events are outputs."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
