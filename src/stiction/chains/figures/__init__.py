"""Figures of chains. They read the data of a run, live or loaded from disk, never a model."""

from stiction.core.run import Run
from stiction.plot.figures import Figures

__all__ = ["figures_of"]


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of chains."""
    from stiction.chains.figures.figures import ChainFigures

    return ChainFigures(run)
