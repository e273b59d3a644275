"""Strings and rods in rolling contact: reduced strings, solved exactly, and elastic rods.

Shapes of strings are imported from here, because `stiction.chains.Sine` is a load of chains.
"""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
