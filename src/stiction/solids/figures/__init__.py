"""Figures of solids in contact, drawn from the saved data of a run."""

from stiction.core.run import Run
from stiction.plot.figures import Figures

__all__ = ["figures_of"]


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of solids."""
    from stiction.solids.figures.figures import SolidFigures

    return SolidFigures(run)
