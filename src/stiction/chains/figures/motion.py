"""Figures against time: displacements, velocities, friction forces, and strips of stick.

They draw the saved arrays of `ChainData`, thinned to the resolution of the figure: `style.thin`
selects samples, `style.few(n, most)` at most `most` of n masses, evenly spaced. A strip has a row
per mass, coloured by its mode over time. The callers are `figures.ChainFigures` and `overview`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.bands import SLIP_MINUS, SLIP_PLUS, envelope, is_dense, zoom
from stiction.chains.figures.data import ChainData
from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["friction", "friction_panel", "mass_bar", "motion", "series_panel", "stick_strip"]

Floats = npt.NDArray[np.float64]

_WORDS = {"x": ("displacement", "m"), "v": ("velocity", "m/s")}
_SINGLE = len(style.MASS_COLOURS)  # up to here every mass has its own colour and label
_MOST_LINES = 50
_MOST_ROWS = 400
_ZOOM_GAP = 0.4  # between a strip and its zoom [in]


def motion(data: ChainData, names: tuple[str, ...] = ("x", "v")) -> PaperFigure:
    """Return a figure of displacements and/or velocities above a strip that shows stick.

    Parameters
    ----------
    names : "x", "v" or both, from top to bottom

    Source: Axioms 14(4) 299, Fig. 3 (a), (b).
    Verified by: tests/unit/chains/figures/test_motion.py::test_lines_are_the_saved_data
    """
    few = data.n_mass <= _SINGLE
    # heights [in]: of the strip, 0.11 for each of few masses, and of each panel
    strip = 0.11 * data.n_mass + 0.06 if few else 0.55
    heights = [1.55] * len(names) + [strip]
    spare = style.digit_room(data.n_mass)
    # dense mode changes get a zoomed strip below
    more = strip + _ZOOM_GAP if is_dense(data) else 0.0
    # left, right, bottom and top [in]
    margins = (0.56 + spare, 0.52 if few else 0.62 + spare, 0.38 + more, 0.08)
    gap = 0.1
    total = sum(heights) + gap * len(names) + margins[2] + margins[3]
    figure = style.new_figure(style.COLUMN, total)
    rows = style.grid(
        figure,
        len(heights),
        margins=margins,
        gaps=(0.0, gap),
        heights=heights,
        share_time=True,
    )
    axes = [row[0] for row in rows]
    for ax, name in zip(axes, names, strict=False):
        series_panel(ax, data, name)
    mass_bar(data, axes[0], axes[-2])
    stick_strip(axes[-1], data)
    data.time_axis(axes[-1])
    if more:
        box = axes[-1].get_position()
        below = figure.add_axes((box.x0, 0.38 / total, box.width, box.height))
        style.dress(below)
        zoom(below, axes[-1], data)
    figure.align_ylabels(axes[:-1])
    return figure


def series_panel(ax: Axes, data: ChainData, name: str) -> None:
    """Draw displacements ("x") or velocities ("v") of the masses on `ax`."""
    values = data.run.variables[name].values
    word, unit = _WORDS[name]
    _shade_stick(ax, data)
    if data.n_mass <= _SINGLE:
        colours = style.mass_colours(np.arange(1, data.n_mass + 1), data.n_mass)
        for i, colour in enumerate(colours):
            keep = style.thin(values[:, i])
            ax.plot(data.time[keep], values[keep, i], color=colour, lw=1.0, label=f"mass {i + 1}")
        style.room(ax.set_ylim, values)
        names = [f"mass {i + 1}" for i in range(data.n_mass)]
        style.end_labels(ax, values[-1], names, colours)
    else:
        _many_lines(ax, data, values)
    style.scale_axis(ax.yaxis, word, unit)


def mass_bar(data: ChainData, ax: Axes, below: Axes) -> None:
    """Add the colours of masses beside series from `ax` down to `below`, where they are many."""
    if data.n_mass <= _SINGLE:
        return
    shown = min(data.n_mass, _MOST_LINES)
    word = "mass" if shown == data.n_mass else f"mass ({shown} shown)"
    limits = (1.0, float(data.n_mass))
    style.colour_bar(ax, style.many_colours(), limits, word, "", below=below)


def _many_lines(ax: Axes, data: ChainData, values: Floats) -> None:
    """Draw at most `_MOST_LINES` masses as one collection."""
    from matplotlib.collections import LineCollection

    chosen = style.few(data.n_mass, _MOST_LINES)
    lines = []
    for i in chosen:
        keep = style.thin(values[:, i], most=800)
        lines.append(np.column_stack([data.time[keep], values[keep, i]]))
    style.room(ax.set_ylim, np.concatenate([line[:, 1] for line in lines]))
    colours = style.mass_colours(chosen + 1, data.n_mass)
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=0.6))


def _shade_stick(ax: Axes, data: ChainData) -> None:
    """Shade the times at which all masses stick."""
    all_stuck = _merged(data.rest_intervals, data.span)
    if len(all_stuck):
        bars = [(begin, end - begin) for begin, end in all_stuck]
        ax.broken_barh(
            bars,
            (0.0, 1.0),
            transform=ax.get_xaxis_transform(),
            facecolor=style.REST,
            edgecolor="none",
            zorder=0.0,
            label="_rest",
        )


def stick_strip(ax: Axes, data: ChainData) -> None:
    """Draw one row per mass: grey where it sticks, coloured where it slips.

    With more mode changes than `bands.is_dense` admits, colours are mixed by the fractions of time.

    Verified by: tests/unit/chains/figures/test_motion.py::test_grey_bars_agree_with_the_saved_modes
    """
    few, dense = data.n_mass <= _SINGLE, is_dense(data)
    if dense:
        envelope(ax, data)
    elif few:
        _bars(ax, data)
    else:
        _mode_image(ax, data)
    ax.set_ylim(0.5, data.n_mass + 0.5)
    ax.set_yticks(np.arange(1, data.n_mass + 1) if few else [1, data.n_mass])
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    if data.n_mass < 3:  # too low for an upright word
        ax.set_yticks(ax.get_yticks(), [f"mass {i + 1}" for i in range(data.n_mass)])
    else:
        ax.set_ylabel("mass")
    words = (
        [("stuck", style.GREY)]
        if few and not dense
        else [
            ("slip +", SLIP_PLUS),
            ("stuck", style.GREY),
            ("slip −", SLIP_MINUS),
        ]
    )
    middle = 0.5 * (data.n_mass + 1.0)
    low_high = ax.get_ylim()
    places = [middle] if len(words) == 1 else np.linspace(low_high[1], low_high[0], 5)[1:-1]
    style.end_labels(ax, places, [w for w, _ in words], [c for _, c in words])


def _bars(ax: Axes, data: ChainData) -> None:
    """Draw a bar per mass in its colour, with the times of stick in grey."""
    colours = style.mass_colours(np.arange(1, data.n_mass + 1), data.n_mass)
    begin, end = data.span
    for i, colour in enumerate(colours):
        row = (i + 0.6, 0.8)
        ax.broken_barh([(begin, end - begin)], row, facecolor=colour, edgecolor="none")
        stuck = _merged(data.stick_intervals(i), data.span)
        bars = [(a, b - a) for a, b in stuck]
        ax.broken_barh(bars, row, facecolor=style.STUCK, edgecolor="none", label=f"_stuck {i + 1}")


def _mode_image(ax: Axes, data: ChainData) -> None:
    """Draw the saved modes as an image, a row per mass."""
    from matplotlib.colors import ListedColormap

    rows = style.few(data.n_mass, _MOST_ROWS)
    at = _columns(data.time)
    image = data.mode[np.ix_(at, rows)].T
    extent = (*data.span, 0.5, data.n_mass + 0.5)
    ax.imshow(
        image,
        cmap=ListedColormap([SLIP_MINUS, style.STUCK, SLIP_PLUS]),
        vmin=-1,
        vmax=1,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=extent,
    )


def _columns(time: Floats) -> npt.NDArray[np.int64]:
    """Return for each of the columns of an image the index of the last saved time before its end.

    Saved times may be unevenly spaced; of those in one column the last is shown.
    """
    ends = np.linspace(time[0], time[-1], style.MOST_PIXELS + 1)[1:]
    return np.asarray(np.searchsorted(time, ends, side="right") - 1)


def _merged(intervals: Floats, span: tuple[float, float]) -> Floats:
    """Return intervals that can be drawn: of very many, the bins of time that they half fill.

    Verified by: tests/unit/chains/figures/test_motion.py::test_many_intervals_become_bins
    """
    if len(intervals) <= style.MOST_POINTS // 4:
        return intervals
    edges = np.linspace(*span, style.MOST_POINTS + 1)
    spent = np.concatenate([[0.0], np.cumsum(intervals[:, 1] - intervals[:, 0])])
    until = np.interp(edges, intervals.ravel(), np.repeat(spent, 2)[1:-1])
    full = np.diff(until) > 0.5 * np.diff(edges)
    changes = np.flatnonzero(np.diff(np.concatenate([[False], full, [False]]).astype(np.int8)))
    return edges[changes].reshape(-1, 2)


def friction(data: ChainData) -> PaperFigure:
    """Return the friction forces against time with the bounds of stick.

    Few masses get a panel each, many an image of force over bound.

    Verified by: tests/unit/chains/figures/test_motion.py::test_friction_panels_show_the_bound
    """
    if data.n_mass > _SINGLE:
        figure = style.new_figure(style.COLUMN, 2.3)
        spare = style.digit_room(data.n_mass)
        ax = style.grid(figure, margins=(0.5 + spare, 0.72, 0.4, 0.1))[0][0]
        _friction_image(ax, data)
        data.time_axis(ax)
        return figure
    count = data.n_mass
    height = 0.95 * count + 0.1 * (count - 1) + 0.46
    figure = style.new_figure(style.COLUMN, height)
    rows = style.grid(
        figure, count, margins=(0.56, 0.52, 0.38, 0.08), gaps=(0.0, 0.1), share_time=True
    )
    # the mass next to the wall stands at the bottom, as in the strips and onset diagrams
    axes = [row[0] for row in rows][::-1]
    for i, ax in enumerate(axes):
        friction_panel(ax, data, i)
    data.time_axis(axes[0])
    # one label for all panels, at the middle one
    for i, ax in enumerate(axes):
        if i != count // 2:
            ax.set_ylabel("")
    return figure


def friction_panel(ax: Axes, data: ChainData, i: int) -> None:
    """Draw the friction force of mass `i` (from 0), its bound, and shading where it sticks."""
    values = data.friction[:, i]
    colour = style.mass_colours(np.array([i + 1]), data.n_mass)[0]
    stuck = _merged(data.stick_intervals(i), data.span)
    ax.broken_barh(
        [(a, b - a) for a, b in stuck],
        (0.0, 1.0),
        transform=ax.get_xaxis_transform(),
        facecolor=style.REST,
        edgecolor="none",
        zorder=0.0,
        label="_stuck",
    )
    keep = style.thin(values)
    ax.plot(data.time[keep], values[keep], color=colour, lw=0.9)
    limit = style.largest(values)
    if data.stick_bound is not None:
        bound = data.stick_bound[:, i]
        limit = max(limit, style.largest(bound))
        keep = style.thin(bound)
        dashes: dict[str, Any] = {"color": style.INK, "lw": 0.6, "ls": (0, (4, 3))}
        for sign in (-1.0, 1.0):
            if np.ptp(bound) > 0.0:
                ax.plot(data.time[keep], sign * bound[keep], **dashes)
            else:
                ax.axhline(sign * bound[0], **dashes)
    style.room(ax.set_ylim, np.array([-limit, limit]))
    style.scale_axis(ax.yaxis, "friction force", "N")
    style.end_labels(ax, [0.0], [f"mass {i + 1}"], [colour])


def _friction_image(ax: Axes, data: ChainData) -> None:
    """Draw friction over its static bound as an image; in newtons where a bound is zero."""
    rows = style.few(data.n_mass, _MOST_ROWS)
    shown = np.ix_(_columns(data.time), rows)
    image = data.friction[shown].T
    word, unit, limit = "friction force", "N", style.largest(image) or 1.0
    if data.stick_bound is not None and np.all(data.stick_bound[shown] > 0.0):
        image = image / data.stick_bound[shown].T
        # viscous friction may exceed the bound
        word, unit, limit = "friction force / stick bound", "", max(1.0, style.largest(image))
    from matplotlib import colormaps

    colours = colormaps["RdBu_r"]
    ax.imshow(
        image,
        cmap=colours,
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        extent=(*data.span, 0.5, data.n_mass + 0.5),
    )
    style.scale_axis(ax.yaxis, "mass")
    style.colour_bar(ax, colours, (-limit, limit), word, unit)
