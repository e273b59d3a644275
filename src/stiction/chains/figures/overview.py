"""Overview of a run on one page: displacements, velocities, ledger and onset diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.motion import mass_bar, series_panel
from stiction.chains.figures.onset import onset_panel
from stiction.plot import style
from stiction.plot.energy import ledger_handles, ledger_panel

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["overview"]


def overview(data: ChainData) -> PaperFigure:
    """Return displacements, velocities, ledger and onset diagram in one figure of page width.

    Verified by: tests/unit/chains/figures/test_figures.py::test_every_figure_has_si_units
    """
    figure = style.new_figure(style.PAGE, 4.7)
    axes = style.grid(figure, 2, 2, margins=(0.56, 0.74, 0.4, 0.1), gaps=(1.22, 0.78))
    series_panel(axes[0][0], data, "x")
    series_panel(axes[0][1], data, "v")
    mass_bar(data, axes[0][1], axes[0][1])
    ledger_panel(axes[1][0], data.run)
    style.key(axes[1][0], ledger_handles(data.run, lines=False), columns=3)
    onset_panel(axes[1][1], data)
    for ax in (axes[0][0], axes[0][1], axes[1][0]):
        data.time_axis(ax)
    return figure
