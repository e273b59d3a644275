"""Figures and animations of a run, drawn from its data alone, live or loaded.

``run.plot`` is ``figures_of(run)``: an object whose methods are the figures of the run's
system (``run.plot.phase(mass=3)``). ``compare`` draws the differences between runs of a chain,
``compare_solids`` families of runs of solids, ``write_figures`` writes files, ``animate`` makes a
GIF, an MP4 or a page for a browser.
"""

from stiction.plot.animation import animate
from stiction.plot.comparison import compare
from stiction.plot.figures import ChainFigures, figures_of, write_figures
from stiction.plot.solid_comparison import compare_solids

__all__ = ["ChainFigures", "animate", "compare", "compare_solids", "figures_of", "write_figures"]
