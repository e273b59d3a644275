"""The onset diagram: slip rate over mass and time, with the detachment front along the chain.

The front consists of the first slips of all masses. `figures.ChainFigures.onset` and `overview`
draw it from `ChainData`. Slip rates are velocities relative to the belt; a sudden load sends a wave
of speed sqrt(k/m) masses per second along equal masses m and springs k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.plot import style
from stiction.plot.run_data import window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from stiction.plot.figure import PaperFigure

__all__ = ["onset", "onset_panel", "slip_image"]

Floats = npt.NDArray[np.float64]

_MOST_EVENTS = 300  # more markers than this would hide the picture: then onsets only
_ONE_SIGN = 0.01  # slip in the other direction counts above this fraction of the largest
_MOST_ROWS = 12  # up to this many masses white lines separate the rows
_MARKS: dict[str, dict[str, Any]] = {
    "slip": {"marker": "^", "mfc": "white", "label": "slip"},
    "stick": {"marker": "s", "mfc": style.INK, "label": "stick"},
    "reverse": {"marker": "D", "mfc": "white", "label": "reversal"},
}


def onset(data: ChainData, window: tuple[float, float] | None = None) -> PaperFigure:
    """Return mass against time, coloured by slip rate, grey where stuck, events marked.

    The dashed line is the closed-form critical load of a slowly rising load; the dotted one
    a wave that leaves the loaded end at its first slip with sqrt(k/m) masses per second.

    Parameters
    ----------
    window : begin and end of the times shown [s]; default all

    Source: formulas sheet of the chains paper, section 3; Axioms 14(4) 299, Fig. 5, Table 2.
    Verified by: tests/unit/chains/figures/test_onset.py::test_critical_line_is_the_closed_form
    """
    shown = data.span if window is None else window_of("plot.onset.window", window, data.run)
    wide = data.n_mass > _MOST_ROWS
    figure = style.new_figure(style.COLUMN, 2.9 if wide else 1.5 + 0.24 * data.n_mass)
    ax = style.grid(figure, margins=(0.46 + style.digit_room(data.n_mass), 0.72, 0.4, 0.42))[0][0]
    onset_panel(ax, data, shown)
    return figure


def onset_panel(ax: Axes, data: ChainData, window: tuple[float, float] | None = None) -> None:
    """Draw the onset diagram on `ax`, which needs about 0.7 in to its right."""
    window = window or data.span
    # slip rates as colours, grey in stick; then the lines of the front and the events
    image = slip_image(data, window)
    limits, colours = _limits(image)
    colours = colours.with_extremes(bad=style.STUCK)
    n = data.n_mass
    ax.imshow(
        image,
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(*window, 0.5, n + 0.5),
    )
    if n <= _MOST_ROWS:
        for edge in np.arange(1.5, n):
            ax.axhline(edge, color="white", lw=1.6)
        ax.set_yticks(np.arange(1, n + 1))
    handles = _lines(ax, data) + _events(ax, data, window)
    ax.set_ylim(0.5, n + 0.5)
    if n > _MOST_ROWS:
        style.scale_axis(ax.yaxis, "mass")
    ax.set_ylabel("mass")
    data.time_axis(ax, window)
    style.colour_bar(ax, colours, limits, "slip rate", "m/s")
    from matplotlib.patches import Patch

    style.key(
        ax,
        [Patch(facecolor=style.STUCK, label="stuck"), *handles],
        columns=3,
        markers=1.0 if n <= _MOST_ROWS else 2.0,
    )


def slip_image(data: ChainData, window: tuple[float, float]) -> Floats:
    """Return slip rates [m/s], one row per mass, NaN where stuck, at most 1600 pixels a side.

    Where several masses or instants share a pixel, the fastest slip among them is shown, so
    that a pixel is grey only if all of them stick.

    Verified by: tests/unit/chains/figures/test_onset.py::test_image_is_grey_where_masses_stick
    """
    time = data.time
    inside = np.flatnonzero((time >= window[0]) & (time <= window[1]))
    count = int(np.clip(inside.size, 1, style.MOST_PIXELS))
    edges = np.linspace(*window, count + 1)
    # a pixel shows the saved times inside it; one without any shows the last before its middle
    held = np.maximum(np.searchsorted(time, 0.5 * (edges[1:] + edges[:-1]), side="right") - 1, 0)
    bounds = np.searchsorted(time, edges)
    bounds[-1] = np.searchsorted(time, window[1], side="right")
    some = bounds[1:] > bounds[:-1]
    first, last = np.where(some, bounds[:-1], held), np.where(some, bounds[1:] - 1, held)
    n = data.n_mass
    rows = min(n, style.MOST_PIXELS)
    starts = np.linspace(0, n, rows + 1).astype(np.int64)[:-1]
    image = np.empty((rows, count))
    for j in range(count):
        block = slice(first[j], last[j] + 1)
        rate = np.where(data.mode[block] == 0, 0.0, data.v[block] - data.belt_speed)
        stuck = (data.mode[block] == 0).all(axis=0)
        fastest = rate[np.abs(rate).argmax(axis=0), np.arange(n)]
        image[:, j] = _fastest(fastest, stuck, starts)
    return image


def _fastest(rate: Floats, stuck: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> Floats:
    """Return (g,) the slip rate of largest size of each group of masses, NaN where all stick.

    rate, stuck : (n,) slip rates [m/s], and whether masses stick
    starts : (g,) index of the first mass of each group
    """
    if starts.size == rate.size:
        return np.where(stuck, np.nan, rate)
    high, low = np.maximum.reduceat(rate, starts), np.minimum.reduceat(rate, starts)
    return np.where(
        np.logical_and.reduceat(stuck, starts), np.nan, np.where(high >= -low, high, low)
    )


def _limits(image: Floats) -> tuple[tuple[float, float], Colormap]:
    """Return the limits (low, high) of the colours [m/s] and the colour map.

    The map is diverging if both signs of slip occur.
    """
    from matplotlib import colormaps

    finite = image[np.isfinite(image)]
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    size = max(-low, high) or 1.0
    if low < -_ONE_SIGN * size and high > _ONE_SIGN * size:
        return (-size, size), colormaps["RdBu_r"]
    one = style.many_colours()
    return ((0.0, size), one) if high >= -low else ((-size, 0.0), one.reversed())


def _lines(ax: Axes, data: ChainData) -> list[Any]:
    """Draw the closed-form critical line and the wave line where they apply."""
    drawn: list[Any] = []
    critical = data.critical_times
    chosen = style.few(data.n_mass, 400)
    if critical is not None and np.nanmax(critical, initial=-np.inf) > data.time[0]:
        drawn += ax.plot(
            critical[chosen],
            chosen + 1,
            color=style.VERMILION,
            lw=1.0,
            ls=(0, (4, 2)),
            marker="" if data.n_mass > _MOST_ROWS else "|",
            ms=9.0,
            label="critical load",
            zorder=3.0,
        )
    start = data.onsets[-1]
    # Under a slowly rising load the front follows the load, not a wave: the whole load must act at
    # once, until the front has passed. A chain without the closed form is not loaded at its end,
    # one that moves at the start has no front, and without inertia there are no waves.
    at_rest = not data.mode[0, :-1].any() and bool(np.any(data.run.energy.kinetic))
    known = data.constant("critical_force") is not None
    until = data.time <= np.nanmax(data.onsets, initial=data.time[0])
    sudden = np.abs(data.load[until]).max() <= 1.01 * abs(data.load[0]) and known and at_rest
    speed = data.wave_speed if sudden else None
    if speed is not None and np.isfinite(start):
        n = data.n_mass
        arrival = start + (n - 1) / speed
        drawn += ax.plot(
            [start, arrival],
            [n, 1],
            color=style.INK,
            lw=1.0,
            ls=(0, (1, 1.2)),
            label="wave √(k/m)",
            zorder=5.0,
        )
    return drawn


def _events(ax: Axes, data: ChainData, window: tuple[float, float]) -> list[Any]:
    """Mark the events; with too many of them only the first slip of each mass."""
    log = data.run.event_log
    inside = (log.time >= window[0]) & (log.time <= window[1]) & (log.contact > 0)
    wide = data.n_mass > _MOST_ROWS
    every: dict[str, Any] = {"ls": "", "mec": style.INK, "zorder": 4.0, "clip_on": False}
    every |= {"ms": 1.5, "mew": 0.3} if wide else {"ms": 3.0, "mew": 0.6}
    if inside.sum() <= _MOST_EVENTS:
        kinds = np.array(log.kind, dtype=object)
        drawn = []
        for kind, look in _MARKS.items():
            at = inside & (kinds == kind)
            if at.any():
                drawn += ax.plot(log.time[at], log.contact[at], **look, **every)
        return drawn
    chosen = style.few(data.n_mass, 400)
    first = data.onsets[chosen]
    first = np.where((first >= window[0]) & (first <= window[1]), first, np.nan)
    return ax.plot(first, chosen + 1, marker="o", mfc="white", label="first slip", **every)
