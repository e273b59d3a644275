"""Figure of the deformed plane bodies at a few times, coloured by the trace of the stress.

Cells are drawn as triangles with linear interpolation of the stress at drawn points.
`figures.SolidFigures.shapes` calls `shapes`; `space` uses its limits of colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.tri import Triangulation

    from stiction.plot.figure import PaperFigure

__all__ = ["shapes", "stress_limit"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEEDED = ("drawn_position", "drawn_cell", "snapshot_time", "stress_trace")
_MAP = "RdBu_r"  # blue in compression, red in tension; distinguished by colour-blind readers
# fraction of the points within the colour scale: stress concentrations at corners are cut off
_CLIPPED = 0.995
_LEFT, _RIGHT, _BOTTOM, _TITLE = 0.5, 0.72, 0.42, 0.2  # margins [in]
_BETWEEN = 0.34  # between panels [in]
_TALLEST = 8.0  # of the figure [in]


def shapes(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return the deformed bodies at a few snapshots, coloured by the trace of the Cauchy stress.

    All panels have the same colour scale and scale of length. Dashed lines are the outlines of the
    undeformed bodies.

    Parameters
    ----------
    times : of the snapshots drawn; default four evenly spaced ones

    Source: Mergel, Scheibert, Sauer 2021, Figs. 6, 9 and 12.
    Verified by: tests/unit/solids/figures/test_figures.py::test_shapes_are_the_deformed_bodies
    """
    data.require("shapes", *NEEDED)
    picks = data.snapshots(times)
    box = bounds(data, [0, *picks])
    aspect = (box[3] - box[2]) / (box[1] - box[0])
    # panels as wide as the page, unless the figure would be too tall [in]
    columns = 1 if len(picks) == 1 or aspect < 0.2 else 2
    rows = -(-len(picks) // columns)
    wide = (style.PAGE - _LEFT - _RIGHT - (columns - 1) * _BETWEEN) / columns
    most = (_TALLEST - _BOTTOM - rows * (_TITLE + 0.08)) / rows
    high = min(wide * aspect, most)
    wide = high / aspect
    width = columns * wide + (columns - 1) * _BETWEEN + _LEFT + _RIGHT
    height = rows * high + (rows - 1) * (_TITLE + 0.08) + _TITLE + _BOTTOM
    figure = style.new_figure(width, height)
    axes = style.grid(
        figure,
        rows,
        columns,
        margins=(_LEFT, _RIGHT, _BOTTOM, _TITLE),
        gaps=(_BETWEEN, _TITLE + 0.08),
    )
    panels = [ax for line in axes for ax in line]
    limit, clipped = stress_limit(data, picks)
    for k, ax in enumerate(panels):
        if k >= len(picks):
            ax.set_axis_off()
            continue
        below = k + columns >= len(picks)
        _panel(ax, data, picks[k], box, limit, below=below, left=k % columns == 0)
    _scale(figure, axes, data, limit, clipped)
    return figure


def _panel(
    ax: Axes,
    data: SolidData,
    k: int,
    box: tuple[float, float, float, float],
    limit: float,
    *,
    below: bool,
    left: bool,
) -> None:
    """Draw the bodies at snapshot `k`, with labels on outer axes alone."""
    start = data.values("drawn_position")[0]
    ax.add_collection(_lines([start[line] for line in data.outlines], style.GREY, 0.5, (0, (3, 2))))
    _draw(ax, data, k, limit)
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])
    ax.set_aspect("equal")
    style.scale_axis(ax.xaxis, data.place("x") if below else "")
    style.scale_axis(ax.yaxis, data.place("y") if left else "")
    ax.tick_params(labelbottom=below, labelleft=left)
    time = float(data.snapshot_time[k])
    ax.set_title(data.state(time), size=style.FONT, color=style.INK, pad=3.0, loc="left")


def _draw(ax: Axes, data: SolidData, k: int, limit: float) -> None:
    """Draw the bodies and the rigid partner of a snapshot."""
    places, cells = data.values("drawn_position")[k], data.cells
    ax.tripcolor(
        _triangles(places, cells),
        np.nan_to_num(data.values("stress_trace")[k]),
        shading="gouraud",
        cmap=_MAP,
        vmin=-limit,
        vmax=limit,
        rasterized=True,
    )
    ax.add_collection(_lines([places[line] for line in data.outlines], style.INK, 0.5))
    if data.has("rigid_x", "rigid_y"):
        x, y = data.values("rigid_x")[k], data.values("rigid_y")[k]
        ax.plot(x, y, color=style.INK, lw=1.4, solid_capstyle="butt", zorder=3.0)


def _triangles(places: Floats, cells: Ints) -> Triangulation:
    """Return the cells divided into triangles, the only cells that matplotlib shades."""
    from matplotlib.tri import Triangulation

    halves = cells if cells.shape[1] == 3 else np.concatenate([cells[:, :3], cells[:, [0, 2, 3]]])
    # degenerate triangles, with coincident corners, are left out
    proper = (
        (halves[:, 0] != halves[:, 1])
        & (halves[:, 1] != halves[:, 2])
        & (halves[:, 2] != halves[:, 0])
    )
    return Triangulation(places[:, 0], places[:, 1], halves[proper])


def _lines(lines: Sequence[Floats], colour: str, width: float, dashes: Any = "-") -> LineCollection:
    """Return polylines (k, 2) as one object of the figure."""
    from matplotlib.collections import LineCollection

    return LineCollection(lines, colors=colour, linewidths=width, linestyles=[dashes])


def bounds(data: SolidData, picks: Sequence[int]) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of the bodies at the snapshots, with a margin of 3 %."""
    places = data.values("drawn_position")[list(picks)].reshape(-1, 2)
    low, high = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
    spare = 0.03 * float((high - low).max())
    return (
        float(low[0] - spare),
        float(high[0] + spare),
        float(low[1] - spare),
        float(high[1] + spare),
    )


def stress_limit(data: SolidData, picks: Sequence[int]) -> tuple[float, bool]:
    """Return the end of the colour scale, and whether some stresses lie beyond it."""
    size = np.abs(data.values("stress_trace")[list(picks)])
    size = size[np.isfinite(size)]
    if not size.size or size.max() == 0.0:
        return 1.0, False
    end = float(np.quantile(size, _CLIPPED))
    return (end, True) if 0.0 < end < 0.8 * size.max() else (float(size.max()), False)


def _scale(
    figure: PaperFigure, axes: list[list[Axes]], data: SolidData, limit: float, clipped: bool
) -> None:
    """Add the colour scale of all panels; its ends are pointed if stresses exceed it."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    width = figure.get_figwidth()
    above, below = axes[0][-1].get_position(), axes[-1][-1].get_position()
    height = min(above.y1 - below.y0, 2.4 / figure.get_figheight())
    middle = 0.5 * (above.y1 + below.y0)
    place = (above.x1 + 0.1 / width, middle - height / 2, 0.09 / width, height)
    slim = figure.add_axes(place, label="<colorbar>")
    bar = figure.colorbar(
        ScalarMappable(Normalize(-limit, limit), _MAP),
        cax=slim,
        extend="both" if clipped else "neither",
    )
    bar.outline.set_linewidth(0.4)
    slim.tick_params(labelsize=style.FONT, width=0.6, length=2.5, pad=2.0)
    word = data.ratio("stress_trace") + ("" if data.plain else " (Pa)")
    slim.set_title(word, size=style.FONT, color=style.INK, pad=5.0 + (7.0 if clipped else 0.0))
