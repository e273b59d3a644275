"""Rigid bodies in the plane and in space with impacts and Coulomb friction."""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
