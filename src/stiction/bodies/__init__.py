"""Rigid bodies in the plane and in space with impacts and Coulomb friction."""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
