"""Figure of a `Funnel`: the exits of a two-fold, and the futures from them over time.

`funnel.Funnel`, the result of `stiction.switching.futures`, has the arrays; `Funnel.plot` calls
`funnel_figure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.switching.figures.data import labels
from stiction.switching.figures.over_time import LINES, line_handles

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.switching.funnel import Funnel

__all__ = ["funnel_figure"]

Floats = npt.NDArray[np.float64]

_MOST_LINES = 60


def funnel_figure(funnel: Funnel) -> PaperFigure:
    """Return the region of exits in a plane, and a state of the futures over time.

    The plane is that of the two states in which the exits have the largest area. Lines end where
    determinism is lost again; a dashed line is the fraction of futures that still run.

    Verified by: tests/unit/switching/test_funnel.py::test_figure_shows_every_future
    """
    figure = style.new_figure(style.PAGE, 3.1)
    left, right = style.grid(figure, 1, 2, margins=(0.72, 0.6, 0.42, 0.3), gaps=(1.55, 0.12))[0]
    *words, time = labels(funnel.names, funnel.units)
    a, b = _plane(funnel.exits)
    edge = funnel.boundary()
    left.fill(edge[:, a], edge[:, b], color="#f0f0f0", lw=0.0, zorder=1.0)
    left.plot(edge[:, a], edge[:, b], color=style.INK, lw=0.6, zorder=2.0)
    points = left.scatter(
        funnel.exits[:, a],
        funnel.exits[:, b],
        c=funnel.dwell,
        s=9.0,
        cmap=style.many_colours(),
        linewidths=0.0,
        zorder=3.0,
    )
    marker: dict[str, Any] = {
        "ls": "",
        "marker": "*",
        "color": style.PURPLE,
        "ms": 9.0,
        "zorder": 4.0,
    }
    style.key(left, left.plot(*funnel.x_star[[a, b]], label="two-fold", **marker))
    left.set_xlabel(words[a])
    left.set_ylabel(words[b])
    limits = points.get_clim()
    style.colour_bar(left, style.many_colours(), limits, f"dwelling, {time}", "")
    shown = style.few(funnel.dwell.size, _MOST_LINES)
    for future in shown.tolist():
        colour = LINES[int(funnel.side[future])]
        right.plot(funnel.time, funnel.states[future, :, b], color=colour, lw=0.5, alpha=0.6)
    style.key(right, line_handles("leaves to ", (1, -1)), columns=2)
    right.set_xlabel(f"{time} since the two-fold")
    right.set_ylabel(words[b])
    alive = (funnel.end_time[:, None] >= funnel.time).mean(axis=0)
    fraction = style.dress(right.twinx())
    fraction.spines["right"].set_visible(True)
    fraction.plot(funnel.time, alive, color=style.GREY, lw=1.0, ls="--")
    fraction.set_ylim(0.0, 1.05)
    fraction.set_ylabel("fraction still running", color="#6a6a6a")
    return figure


def _plane(exits: Floats) -> tuple[int, int]:
    """Return the two states in whose plane the scaled exits have the largest covariance area."""
    if exits.shape[1] < 3:
        return 0, 1
    unit = np.ptp(exits, axis=0)
    centred = (exits - exits.mean(axis=0)) / np.where(unit > 0.0, unit, 1.0)
    best, axes = -1.0, (0, 1)
    for i in range(exits.shape[1]):
        for j in range(i + 1, exits.shape[1]):
            area = float(np.linalg.det(centred[:, [i, j]].T @ centred[:, [i, j]]))
            if area > best:
                best, axes = area, (i, j)
    return axes
