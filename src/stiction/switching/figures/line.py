"""Figure of the return map of the line h = g = 0 of the wheel, and of its return times.

On this line lateral and rolling velocity of the wheel vanish together; `wheel.return_map` computes
the returns, and `stiction.papers` draws the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.plot import style

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["line_returns"]

Floats = npt.NDArray[np.float64]

_COLOURS = (style.VERMILION, style.INK, style.PURPLE, style.BLUE, style.GREEN)


def line_returns(
    maps: Mapping[str, tuple[Floats, Floats]], times: Mapping[str, Floats]
) -> PaperFigure:
    """Return (a) the next position on the line over the last one, and (b) densities of times.

    Parameters
    ----------
    maps : for each exit direction, positions on the line [m] and the next ones [m], NaN for none
    times : for each choice of exits, scaled return times, NaN for none

    Verified by: tests/unit/switching/figures/test_papers.py::test_line_returns
    """
    figure = style.new_figure(style.PAGE, 2.9)
    margins = (0.6, 0.16, 0.42, 0.42)
    left, right = style.grid(figure, 1, 2, margins=margins, gaps=(0.7, 0.1))[0]
    for (word, (before, after)), colour in zip(maps.items(), _COLOURS, strict=False):
        left.plot(before, after, ".", ms=2.2, color=colour, mew=0.0, label=word)
    points = np.concatenate([before for before, _ in maps.values()])
    ends = [float(points.min()), float(points.max())]
    left.plot(ends, ends, color=style.GREY, lw=0.6, zorder=1.0)
    left.set_xlim(*ends)
    style.room(left.set_ylim, np.concatenate([after for _, after in maps.values()]))
    style.scale_axis(left.xaxis, "r on the line", "m")
    style.scale_axis(left.yaxis, "next r on the line", "m")
    style.key(left, columns=3, markers=3.0)
    every = np.concatenate(list(times.values()))
    longest = float(np.nanmax(every)) if np.isfinite(every).any() else 1.0
    bins = np.linspace(0.0, longest, 80).tolist()
    for (word, values), colour in zip(times.items(), _COLOURS[3:] + _COLOURS, strict=False):
        finite = values[np.isfinite(values)]
        right.hist(finite, bins, density=True, histtype="step", color=colour, lw=1.1, label=word)
    right.set_xlim(0.0, longest)
    style.scale_axis(right.xaxis, "scaled time τ to the line (s/(kg m²))")
    style.scale_axis(right.yaxis, "density")
    style.key(right, columns=3)
    for letter, ax in (("(a)", left), ("(b)", right)):
        x = ax.get_position().x0 - 0.08
        figure.text(x, 0.985, letter, va="top", size=8.5, weight="bold", color=style.INK)
    return figure
