"""Phase planes: velocity over displacement of single masses, called by `figures.ChainFigures`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.stick_geometry import Shadow, has_shadow
from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["phase", "phase_panel"]

_MOST_PANELS = 6


def phase(data: ChainData, mass: int | None = None) -> PaperFigure:
    """Return the phase plane of one mass, or those of all (of six, when there are more).

    The grey bar at zero velocity is the interval in which the mass can stick under the last load.

    Parameters
    ----------
    mass : number of the mass, counted from 1; default all

    Source: Axioms 14(4) 299, Fig. 4.
    Verified by: tests/unit/chains/figures/test_phase.py::test_path_is_the_saved_data
    """
    if mass is not None:
        chosen = np.array([data.index("plot.phase.mass", mass)])
    else:
        chosen = style.few(data.n_mass, _MOST_PANELS)
    shadow = Shadow(data) if has_shadow(data) else None
    count = len(chosen)
    columns = min(count, 3)
    lines = -(-count // columns)
    width = style.COLUMN if columns == 1 else style.PAGE * (columns / 3.0 if count > 1 else 1.0)
    figure = style.new_figure(width, 0.26 + 2.0 * lines + (0.3 if columns == 1 else 0.0))
    rows = style.grid(figure, lines, columns, margins=(0.56, 0.16, 0.42, 0.28), gaps=(0.52, 0.5))
    axes = [ax for row in rows for ax in row]
    colours = style.mass_colours(chosen + 1, data.n_mass)
    for ax, i, colour in zip(axes, chosen, colours, strict=False):
        phase_panel(ax, data, int(i), colour, shadow)
    for ax in axes[count:]:
        ax.remove()
    style.key(axes[0], _handles(shadow is not None), columns=4)
    return figure


def phase_panel(ax: Axes, data: ChainData, i: int, colour: str, shadow: Shadow | None) -> None:
    """Draw the path of mass `i` (from 0) with its start, its end and its stick interval."""
    x, v = data.x[:, i], data.v[:, i]
    if shadow is not None:
        ends = shadow.centre[i] + np.array([-1.0, 1.0]) * shadow.half_width[i]
        ax.plot(
            ends, [0.0, 0.0], color=style.GREY, lw=4.0, alpha=0.7, solid_capstyle="butt", zorder=1.0
        )
    keep = style.along(data.mode[:, i], np.stack([x, v]))
    ax.plot(x[keep], v[keep], color=colour, lw=0.9, zorder=2.0)
    ax.plot(x[0], v[0], ls="", marker="o", ms=4.0, mfc="white", mec=style.INK, mew=0.8, zorder=3.0)
    ax.plot(x[-1], v[-1], ls="", marker="o", ms=4.0, mfc=style.INK, mec=style.INK, zorder=3.0)
    number = style.subscript(i + 1)
    style.room(ax.set_ylim, v)
    finite = x[np.isfinite(x)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    if shadow is not None:
        # clip a stick interval far wider than the orbit, so that the orbit remains visible
        spare = high - low if high > low else np.inf
        low, high = min(low, max(low - spare, ends[0])), max(high, min(high + spare, ends[1]))
    style.room(ax.set_xlim, np.array([low, high]))
    style.scale_axis(ax.xaxis, f"displacement x{number}", "m")
    style.scale_axis(ax.yaxis, f"velocity v{number}", "m/s")


def _handles(with_span: bool) -> list[Any]:
    """Return the entries of the legend."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4.0, "mec": style.INK, "mew": 0.8}
    handles = [
        Line2D([], [], mfc="white", label="start", **dot),
        Line2D([], [], mfc=style.INK, label="end", **dot),
    ]
    if with_span:
        handles.append(Line2D([], [], color=style.GREY, lw=4.0, alpha=0.7, label="stick interval"))
    return handles
