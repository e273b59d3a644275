"""Figures of rigid bodies."""

from __future__ import annotations

from stiction.bodies.figures.figures import figures_of

__all__ = ["figures_of"]
