"""Strips of stick and slip against time, for chains with too many events to draw each one.

`envelope` draws the fractions of time in stick and slip, `zoom` every mode change of a short
interval. The caller is `figures.motion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "SLIP_MINUS",
    "SLIP_PLUS",
    "busiest",
    "envelope",
    "fractions_of_time",
    "is_dense",
    "zoom",
]

Floats = npt.NDArray[np.float64]

SLIP_PLUS, SLIP_MINUS = style.BLUE, style.VERMILION
# mode changes of one mass beyond which bars are not distinguishable
_MOST_CHANGES = 60
_MOST_MASSES = 64  # with more masses a row is too low
_COLUMNS = 240  # intervals of time of the picture
_ZOOM = 24.0  # ratio of the time span to the zoom


def is_dense(data: ChainData) -> bool:
    """Return whether a mass changes between stick and slip more often than bars can show.

    False for more masses than the picture has rows for.

    Verified by: tests/unit/chains/figures/test_bands.py::test_few_changes_are_drawn_as_they_are
    """
    log = data.run.event_log
    if data.n_mass > _MOST_MASSES or log.contact.size <= _MOST_CHANGES:
        return False
    return int(np.bincount(log.contact[log.contact > 0]).max(initial=0)) > _MOST_CHANGES


def fractions_of_time(data: ChainData, i: int, edges: Floats) -> Floats:
    """Return (3, k) fractions of time of mass `i` in slip-, stick and slip+ between edges.

    They follow from the events, hence exactly; without events the modes of the saved times hold up
    to the middle between two of them. `edges` begin and end with the run.

    Verified by: tests/unit/chains/figures/test_bands.py::test_fractions_of_time_from_events
    """
    times, modes = data.mode_changes(i)
    ends = np.append(times[1:], edges[-1])
    found = np.empty((3, edges.size - 1))
    for row, mode in enumerate((-1, 0, 1)):
        spent = np.concatenate([[0.0], np.cumsum((ends - times) * (modes == mode))])
        at = np.interp(edges, np.append(times, edges[-1]), spent)
        found[row] = np.diff(at)
    return np.asarray(found / np.diff(edges))


def envelope(ax: Axes, data: ChainData) -> None:
    """Draw a row per mass; its colour mixes those of its modes by their fractions of time."""
    from matplotlib.colors import to_rgb

    edges = np.linspace(*data.span, _COLUMNS + 1)
    colours = np.array([to_rgb(c) for c in (SLIP_MINUS, style.STUCK, SLIP_PLUS)])
    image = np.stack([fractions_of_time(data, i, edges).T @ colours for i in range(data.n_mass)])
    extent = (*data.span, 0.5, data.n_mass + 0.5)
    ax.imshow(
        np.clip(image, 0.0, 1.0),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=extent,
    )


def busiest(data: ChainData) -> tuple[float, float]:
    """Return begin and end of the short time interval with the most events, of any kind [s].

    There are events, since `is_dense` holds.

    Verified by: tests/unit/chains/figures/test_bands.py::test_the_zoom_is_where_most_happens
    """
    begin, end = data.span
    width = (end - begin) / _ZOOM
    time = np.sort(data.run.event_log.time)
    inside = np.searchsorted(time, time + width, side="right") - np.arange(time.size)
    at = min(float(time[int(inside.argmax())]), end - width)
    return max(at, begin), max(at, begin) + width


def zoom(ax: Axes, above: Axes, data: ChainData) -> None:
    """Draw the busiest interval with every mode change, and indicate it on the strip above."""
    begin, end = busiest(data)
    colours = {-1: SLIP_MINUS, 0: style.STUCK, 1: SLIP_PLUS}
    for i in range(data.n_mass):
        times, modes = data.mode_changes(i)
        ends = np.append(times[1:], data.span[1])
        seen = (ends > begin) & (times < end)
        left, right = np.maximum(times[seen], begin), np.minimum(ends[seen], end)
        bars = list(zip(left, right - left, strict=True))
        faces = [colours[int(mode)] for mode in modes[seen]]
        ax.broken_barh(bars, (i + 0.6, 0.8), facecolor=faces, edgecolor="none")
    for place in (begin, end):
        above.axvline(place, color=style.INK, lw=0.8)
    ax.set_ylim(0.5, data.n_mass + 0.5)
    ax.set_yticks([1, data.n_mass] if data.n_mass > 1 else [1])
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(begin, end)
    style.scale_axis(ax.xaxis, "time between the marks", "s")
