"""Figures of chains: they read a run's data, live or loaded, never a model."""

from stiction.plot.figures import Figures
from stiction.results.run import Run

__all__ = ["figures_of"]


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of chains."""
    from stiction.chains.figures.figures import ChainFigures

    return ChainFigures(run)
