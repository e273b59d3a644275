"""Figures of strings and rods, drawn from the data of a run, computed or loaded."""

from stiction.core.run import Run
from stiction.plot.figures import Figures

__all__ = ["figures_of"]


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of rods, or of strings if the run has their fields."""
    if run.system_name == "RollingStrings" or "u_t" in run.variables:
        from stiction.rods.figures.strings.figures import StringFigures

        return StringFigures(run)
    from stiction.rods.figures.figures import RodFigures

    return RodFigures(run)
