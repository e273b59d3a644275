"""Piecewise-smooth flows, and what happens where their future stops being unique."""

from __future__ import annotations

__all__: list[str] = []
