"""Figure of tension along rods in contact along arcs, as in Euler and Eytelwein's belt friction.

Where a rod slips around a body, its tension T changes by dT = mu T d(angle) without bending
stiffness. The data are those of the methods `Quasistatic` and `ImplicitEuler` (package
`rods.wrapped`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stiction.plot import style
from stiction.rods.figures.data import SLIP, RodData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["tension"]

_MARGINS = (0.62, 0.75, 0.45, 0.12)  # left, right, bottom, top [in]
_HEIGHT = 2.6  # of the figure [in]
_MOST = 9  # largest number of times that are drawn


def tension(data: RodData) -> PaperFigure:
    """Return the tension in all elements at saved times; thick where the rod slips.

    Elements of all rods follow one another. A point of contact belongs to the element after its
    node.

    Raises
    ------
    ModelError : if the run has no tensions along rods.

    Verified by: tests/unit/rods/figures/test_tension.py::test_lines_are_those_of_the_run
    """
    mode = data.contact("contact_mode")
    values, rods = data.values("tension"), data.rod_of_node
    # elements lie between nodes of the same rod
    before = np.flatnonzero(rods[:-1] == rods[1:])
    node = data.values("node_of_contact").astype(np.int64) - 1
    slips = np.zeros((data.time.size, rods.size), dtype=bool)
    sample, contact = np.nonzero(mode == SLIP)
    slips[sample, node[contact]] = True
    figure = style.new_figure(style.COLUMN, _HEIGHT)
    ax = style.grid(figure, margins=_MARGINS)[0][0]
    number = np.arange(1, before.size + 1)
    begin, end = data.span
    drawn, colours = style.few(data.time.size, _MOST), style.many_colours()
    for k in drawn.tolist():
        colour = colours((data.time[k] - begin) / (end - begin))
        ax.plot(number, values[k], color=colour, lw=0.7)
        ax.plot(number, np.where(slips[k, before], values[k], np.nan), color=colour, lw=2.2)
    for joint in np.flatnonzero(np.diff(rods[before])):
        ax.axvline(joint + 1.5, color=style.INK, lw=0.5)
    style.room(ax.set_ylim, np.append(values[drawn], 0.0))
    style.scale_axis(ax.yaxis, "tension", "N")
    style.scale_axis(ax.xaxis, "element" if rods.max() == 1 else "element, rod by rod")
    style.colour_bar(ax, colours, (begin, end), "time", "s")
    return figure
