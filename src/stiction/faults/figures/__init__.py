"""Figures and movies of faults and spring sliders, drawn from the data of a run."""

from __future__ import annotations

from stiction.faults.figures.figures import figures_of

__all__ = ["figures_of"]
