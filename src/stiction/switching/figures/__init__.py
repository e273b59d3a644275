"""Figures of piecewise-smooth flows; they read the data of a run, live or loaded, never a model."""

from stiction.core.run import Run
from stiction.plot.figures import Figures

__all__ = ["figures_of"]


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of a flow."""
    from stiction.switching.figures.figures import FlowFigures

    return FlowFigures(run)
