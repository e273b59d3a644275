"""Meshes with named boundaries: made, read from files, graded, checked."""

from __future__ import annotations

from stiction._lazy import former_names

__getattr__ = former_names(__name__)
