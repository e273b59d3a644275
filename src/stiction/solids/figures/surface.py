"""Figures along the contact surface: tractions and normal gap at a few times.

The horizontal axis is the surface coordinate, the reference length along the boundary of each body.
Curves are interrupted between contacts and change their dashes between stick and slip.
`figures.SolidFigures` calls `tractions` and `interface`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.solids.figures.curves import DASH_DOT, start_left
from stiction.solids.figures.data import NO_FRICTION, SLIDES, SolidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["interface", "tractions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_PANELS = {
    "normal_traction": "normal traction",
    "tangential_traction": "tangential traction",
}
_KEY_ROW = 0.155  # height of a row of the legend [in]
_TITLE_ROW = 0.16  # height of the titles of columns [in]
_CLOSED = 1e-6  # gaps with friction below this fraction of the largest gap are closed
_GAP_ROOM = 3.0  # largest gap drawn over the largest gap with friction


def tractions(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return normal and tangential tractions along the surface, dash-dotted where it slides.

    Tractions are per reference area; pressure is positive. Each body has a column of panels.

    Parameters
    ----------
    times : of the samples drawn; default four evenly spaced ones during contact

    Source: Mergel, Scheibert, Sauer 2021, Fig. 7.
    Verified by: tests/unit/solids/figures/test_figures.py::test_sliding_parts_are_dash_dotted
    """
    data.require("tractions", "surface_coordinate", *_PANELS)
    rows = data.rows(times)
    # a surface without friction has no tangential traction
    drawn = [name for name in _PANELS if style.largest(data.values(name)[rows]) > 0.0]
    drawn = drawn or ["normal_traction"]
    columns = len(data.bodies)
    width = style.COLUMN if columns == 1 else style.PAGE
    handles = _handles(data, rows, friction=data.has("slides"))
    across, top = _key_room(len(handles), columns)
    figure = style.new_figure(width, 0.42 + 1.49 * len(drawn) + top)
    margins = (0.66, 0.2, 0.42, top)
    grid = style.grid(
        figure, len(drawn), columns, margins=margins, gaps=(0.4, 0.14), share_time=True
    )
    for line, name in zip(grid, drawn, strict=True):
        for ax, body in zip(line, data.bodies, strict=True):
            ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
            for row, colour in zip(rows, _colours(len(rows)), strict=True):
                for points in data.by_contact(body):
                    _line(ax, data, name, row, points, colour, split=name == "tangential_traction")
            limits = data.values(name)[rows]
            style.room(ax.set_ylim, np.append(limits, 0.0))
        data.label(line[0].yaxis, name, _PANELS[name])
        for ax in line[1:]:
            style.scale_axis(ax.yaxis, "")
            ax.tick_params(labelleft=False)
    for ax, body in zip(grid[-1], data.bodies, strict=True):
        _surface_axis(ax, data, rows, body)
    _head(grid[0], data, handles, across)
    figure.align_ylabels([line[0] for line in grid])
    return figure


def interface(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return the normal gap along the surface near the contact, dash-dotted where it slides.

    Verified by: tests/unit/solids/figures/test_figures.py::test_gap_is_drawn_near_the_contact
    """
    data.require("interface", "surface_coordinate", "gap")
    rows = data.rows(times)
    columns = len(data.bodies)
    width = style.COLUMN if columns == 1 else style.PAGE
    handles = _handles(data, rows, friction=data.has("slides"))
    across, top = _key_room(len(handles), columns)
    figure = style.new_figure(width, 2.0 + top)
    (line,) = style.grid(figure, 1, columns, margins=(0.66, 0.2, 0.42, top), gaps=(0.4, 0.0))
    gaps = data.values("gap")[rows]
    near = np.isfinite(gaps)
    if data.has("slides"):
        with_friction = near & (data.values("slides")[rows] > NO_FRICTION)
        largest = float(np.max(gaps[with_friction], initial=0.0))
        # closed gaps without adhesion are zero but for rounding, and set no scale
        scaled = largest > _CLOSED * float(np.max(gaps[near], initial=0.0))
        near = with_friction if scaled else near
    high = _GAP_ROOM * float(np.max(gaps[near], initial=0.0)) or 1.0
    low = min(0.0, float(np.min(gaps[near], initial=0.0)))
    for ax, body in zip(line, data.bodies, strict=True):
        for row, colour in zip(rows, _colours(len(rows)), strict=True):
            for points in data.by_contact(body):
                _line(ax, data, "gap", row, points, colour, split=True)
        ax.set_ylim(low - 0.04 * (high - low), high)
        _surface_axis(ax, data, rows, body)
    data.label(line[0].yaxis, "gap", "normal gap")
    for ax in line[1:]:
        style.scale_axis(ax.yaxis, "")
        ax.tick_params(labelleft=False)
    _head(line, data, handles, across)
    return figure


def _key_room(entries: int, columns: int) -> tuple[int, float]:
    """Return the number of columns of the legend, and the height above the axes [in]."""
    across = 3 if columns == 1 else 6
    titles = _TITLE_ROW if columns > 1 else 0.0
    return across, 0.1 + _KEY_ROW * math.ceil(entries / across) + titles


def _head(axes: Sequence[Axes], data: SolidData, handles: Sequence[Any], across: int) -> None:
    """Put the legend above the first axes, and the number of its body above each column."""
    style.key(axes[0], handles, columns=across)
    if len(axes) == 1:
        start_left(axes[0])
        return
    legend = axes[0].get_legend()
    assert legend is not None
    box = axes[0].get_position()
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    lift = _TITLE_ROW / (box.height * figure.get_figheight())
    legend.set_bbox_to_anchor((-0.02, 1.0 + lift), transform=axes[0].transAxes)
    for ax, body in zip(axes, data.bodies, strict=True):
        ax.set_title(f"on body {body}", size=style.FONT, color=style.INK, pad=2.0)


def _colours(count: int) -> list[str]:
    """Return colours along the colour map, one for each time."""
    from matplotlib.colors import to_hex

    if count == 1:
        return [style.MASS_COLOURS[0]]
    colours = style.many_colours()
    return [to_hex(colours(k / (count - 1))) for k in range(count)]


def _handles(data: SolidData, rows: Sequence[int], *, friction: bool) -> list[Any]:
    """Return the legend entries of the drawn samples, and of slip zones."""
    from matplotlib.lines import Line2D

    words = [data.state(float(data.time[row])) for row in rows]
    if len(set(words)) < len(words):  # the drive stands still: times distinguish states
        unit = "" if data.run.time_unit == "1" else f" {data.run.time_unit}"
        words = [f"$t = {data.time[row]:.4g}${unit}" for row in rows]
    made = [
        Line2D([], [], color=colour, lw=1.1, label=word)
        for word, colour in zip(words, _colours(len(rows)), strict=True)
    ]
    if friction and (data.values("slides")[list(rows)] == SLIDES).any():
        made.append(Line2D([], [], color=style.INK, lw=1.1, ls=DASH_DOT, label="slides"))
    return made


def _line(
    ax: Axes, data: SolidData, name: str, row: int, points: Ints, colour: str, *, split: bool
) -> None:
    """Draw a variable of one sample along a surface; `split` draws slip zones dash-dotted."""
    x = data.values("surface_coordinate")[points]
    y = style.finite(data.values(name)[row][points])
    sliding = np.zeros(x.size, dtype=bool)
    if split and data.has("slides"):
        sliding = data.values("slides")[row][points] == SLIDES
    breaks = [0, *(np.flatnonzero(np.diff(sliding.astype(np.int8))) + 1).tolist(), x.size]
    for low, high in itertools.pairwise(breaks):
        segment = slice(max(low - 1, 0), high)
        dashes: Any = DASH_DOT if sliding[low] else "-"
        ax.plot(x[segment], y[segment], color=colour, lw=0.9, ls=dashes, solid_joinstyle="round")


def _surface_axis(ax: Axes, data: SolidData, rows: Sequence[int], body: int) -> None:
    """Label the horizontal axis as the surface coordinate, and fit it to the contact."""
    points = data.of_body(body)
    x = data.values("surface_coordinate")[points]
    touching = x[data.active(rows)[points]]
    low, high = (touching.min(), touching.max()) if touching.size > 1 else (x[0], x[-1])
    spare = 0.08 * (high - low)
    ax.set_xlim(max(low - spare, x[0]), min(high + spare, x[-1]))
    data.label(ax.xaxis, "surface_coordinate", "surface coordinate")
