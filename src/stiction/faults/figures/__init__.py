"""Figures of faults and sliders."""

from __future__ import annotations

from stiction.faults.figures.figures import figures_of

__all__ = ["figures_of"]
