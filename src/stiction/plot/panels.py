"""Panels of curves side by side: families of lines in one style, with a legend.

The figures of `papers.adhesive_friction` describe their curves by `Panel` and `Line`; `panels`
draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["Line", "Panel", "panels"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One curve.

    Parameters
    ----------
    x, y : (n,) coordinates of its points
    label, legend : name of the curve, and whether the legend shows it
    dash : a line style of matplotlib; empty draws dots
    shade : position along the colour map, 0 to 1; None draws grey
    """

    x: Floats
    y: Floats
    label: str = ""
    dash: str = "-"
    shade: float | None = 0.0
    legend: bool = True


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    across, up : labels of the horizontal and the vertical axis
    lines : curves
    logarithmic : whether both axes are logarithmic
    limits : of the horizontal axis; None fits them to the curves
    """

    across: str
    up: str
    lines: Sequence[Line] = field(default_factory=tuple)
    logarithmic: bool = False
    limits: tuple[float, float] | None = None


def panels(shown: Sequence[Panel], columns: int = 2) -> PaperFigure:
    """Return a figure of panels, labelled (a), (b), ... row by row.

    Verified by: tests/unit/plot/test_panels.py::test_panels_hold_their_lines
    """
    rows = -(-len(shown) // columns)
    figure = style.new_figure(style.PAGE, 0.3 + 2.75 * rows)
    axes = style.grid(figure, rows, columns, margins=(0.62, 0.16, 0.42, 0.62), gaps=(0.8, 0.95))
    places = [ax for line in axes for ax in line]
    for number, (ax, panel) in enumerate(zip(places, shown, strict=False)):
        _draw(ax, panel, columns)
        box = ax.get_position()
        x, y = box.x0 - 0.075, box.y1 + 0.42 / figure.get_figheight()
        letter = f"({chr(ord('a') + number)})"
        figure.text(x, y, letter, va="bottom", size=8.5, weight="bold", color=style.INK)
    for ax in places[len(shown) :]:
        ax.remove()
    return figure


def _columns(panel: Panel, columns: int) -> int:
    """Return how many entries, 1 to 4, fit into a row of the legend of 44 or 92 characters."""
    longest = max(len(line.label.replace("$", "")) for line in panel.lines)
    return max(1, min(4, (44 if columns > 1 else 92) // (longest + 6)))


def _draw(ax: Axes, panel: Panel, columns: int) -> None:
    """Draw the lines of a panel on its axes, and the legend if a line has a label."""
    colours = style.many_colours()
    for line in panel.lines:
        colour = style.GREY if line.shade is None else colours(line.shade)
        shown = style.thin(line.x, line.y)
        label = line.label if line.legend else ""
        if line.dash:
            ax.plot(line.x[shown], line.y[shown], line.dash, color=colour, lw=0.9, label=label)
        else:
            ax.plot(line.x, line.y, "o", ms=2.6, mew=0.0, color=colour, label=label)
    if panel.limits is not None:
        ax.set_xlim(*panel.limits)
    if panel.logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.tick_params(which="both", labelsize=7.0)
        ax.set_xlabel(panel.across)
        ax.set_ylabel(panel.up)
    else:
        style.scale_axis(ax.xaxis, panel.across)
        style.scale_axis(ax.yaxis, panel.up)
    if any(line.label and line.legend for line in panel.lines):
        style.key(ax, columns=_columns(panel, columns))
