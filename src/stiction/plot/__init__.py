"""Figures and movies of saved runs: style, panels, energy ledger, player, files.

``run.plot`` is ``figures_of(run)``: an object whose methods are the figures of the run's
system (``run.plot.phase(mass=3)``). ``write_figures`` writes them to PNG, PDF or SVG files.
"""

from __future__ import annotations

from stiction.plot.figures import Figures, figures_of, write_figures

__all__ = ["Figures", "figures_of", "write_figures"]
