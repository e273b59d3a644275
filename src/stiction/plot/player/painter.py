"""Draw the frames of a movie by matplotlib, as pixels for GIF and MP4 files.

One `_Panel` per view draws the layers in their order; a method `_draw` exists for each class of
`movie`. Points in space are projected in parallel onto a plane and drawn the farthest first
(painter's algorithm). Sizes are those of `player.html`, so that both look alike. Called by
`writing.write_movie`.
"""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch

from stiction.plot.player import movie as m
from stiction.plot.style import FONT, INK, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["frames"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pixels = npt.NDArray[np.uint8]

_COLOURS = np.array([light for light, _ in m.PALETTE])
_SHADES = LinearSegmentedColormap.from_list("shades", ["#2166ac", "#f7f7f7", "#b2182b"])
# chosen: width of a single flat view, of any other single view, and of each of several views [in]
_WIDTH_FLAT, _WIDTH_SINGLE, _WIDTH_OF_SEVERAL = 7.0, 5.6, 3.5
_FLAT = 0.35  # a view with a smaller ratio of height to width is flat
_TOP, _LINE, _EDGE = 0.22, 0.15, 0.06  # heights of clock and text line, width of margin [in]
_AXES_LEFT, _AXES_RIGHT, _AXES_BELOW = 0.56, 0.12, 0.4  # margins of axes with labels [in]
_DPI, _LETTER = 120, 0.062  # dots per inch; width of a letter, about [in]
_PIXEL = 0.75  # one CSS pixel [pt]
_ZIGZAG = np.array([0.0, 0.0, *([4.0, -4.0] * 6), 0.0, 0.0])  # of a spring, to its side [pt]
_MOST_ZIGZAGS = 14  # more springs are straight lines
_HATCH = "//////"  # of boxes that stick
_NUMBERED = 14.0  # least width of a box that shows its number [pt]


def frames(movie: m.Movie, count: int) -> Iterator[Pixels]:
    """Yield `count` frames of a movie as (height, width, 3) pixels, at the times the player uses.

    Above the views stand the clock and the readings, below them the key and the notes.

    Verified by: tests/unit/plot/player/test_writing.py::test_every_format_is_written
    """
    last = movie.time.size - 1
    fraction = np.linspace(0.0, 1.0, count)
    if movie.even:
        picked = np.round(fraction * last).astype(np.int64)
    else:
        # 1e-12 more, so that rounding does not pick the frame before
        times = movie.time[0] + (fraction + 1e-12) * (movie.time[-1] - movie.time[0])
        picked = np.searchsorted(movie.time, times, side="right") - 1
    figure, panels = _laid_out(movie)
    clock = figure.texts[0]  # its decimals resolve 1/1000 of the time span
    digits = np.ceil(-np.log10((float(movie.time[-1] - movie.time[0]) or 1.0) / 1000.0))
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    # the static part is drawn once: text and ticks take most of the time of a frame
    empty = canvas.copy_from_bbox(figure.bbox)
    for k in np.clip(picked, 0, last).tolist():
        canvas.restore_region(empty)
        words = [f"{movie.clock} = {movie.time[k]:.{int(np.clip(digits, 0, 12))}f} {movie.unit}"]
        words += [f"{r.label} {r.values[k]:.4g} {r.unit}" for r in movie.readings]
        clock.set_text(", ".join(word.strip() for word in words).replace("-", "−"))
        figure.draw_artist(clock)
        for panel in panels:
            panel.show(k)
        yield np.array(canvas.buffer_rgba())[..., :3]


def _laid_out(movie: m.Movie) -> tuple[PaperFigure, list[_Panel]]:
    """Return the figure, and its panels from left to right."""
    several = len(movie.views) > 1
    flat = all(view.height < _FLAT for view in movie.views)
    wide = _WIDTH_OF_SEVERAL if several else _WIDTH_FLAT if flat else _WIDTH_SINGLE
    width, tallest = wide * len(movie.views), max(wide * view.height for view in movie.views)
    # the title of a movie with one view includes that of the view
    heads = [view.title for view in movie.views] if several else [movie.title]
    titles = [textwrap.wrap(head, int(wide / _LETTER)) for head in heads]
    parts = [movie.title, movie.notes] if several else [movie.notes]
    notes = textwrap.wrap("; ".join(filter(None, parts)), int(width / _LETTER))
    key = _EDGE + _LINE * len(notes)
    foot = key + (1.3 * _LINE if movie.keys else 0.0)
    height = foot + tallest + _LINE * max(map(len, titles)) + _TOP
    figure = new_figure(*(2.0 * np.ceil(0.5 * _DPI * size) / _DPI for size in (width, height)))
    figure.set_dpi(_DPI)

    def write(words: str, x: float, y: float, anchor: str) -> None:
        look: dict[str, Any] = {"size": FONT, "color": INK, "va": anchor}
        figure.text((x + _EDGE) / width, y / height, words, **look)

    write("", 0.0, height - 0.3 * _EDGE, "top")
    write("\n".join(notes), 0.0, _EDGE, "bottom")
    look: dict[str, Any] = {"edgecolor": _COLOURS[m.GREY], "linewidth": 0.0}
    patches = [Patch(facecolor=_COLOURS[tone], label=word, **look) for tone, word in movie.keys]
    for patch, (tone, _) in zip(patches, movie.keys, strict=True):
        patch.set_hatch(_HATCH if tone == m.STUCK else "")
    if patches:
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, key / height)}
        place |= {"ncols": len(patches), "borderaxespad": 0.0, "borderpad": 0.3}
        look = {"fontsize": FONT, "labelcolor": INK, "frameon": False}
        figure.legend(handles=patches, handlelength=1.2, columnspacing=1.2, **place, **look)
    panels = []
    for i, (view, title) in enumerate(zip(movie.views, titles, strict=True)):
        write("\n".join(title), i * wide, foot + tallest, "bottom")
        margins = _AXES_LEFT, _AXES_RIGHT, _AXES_BELOW
        left, right, below = margins if view.axes and view.low.size == 2 else (_EDGE,) * 3
        size = np.array([wide - left - right, tallest - below - 0.5 * _EDGE])
        at = np.array([i * wide + left, foot + below, *size]) / [width, height, width, height]
        panels.append(_Panel(figure.add_axes(tuple(at)), view, size))
    return figure, panels


class _Panel:
    """Draws the layers of a view on axes; three-dimensional points by parallel projection."""

    def __init__(self, ax: Axes, view: m.View, size: Floats) -> None:
        self.ax, self.view = ax, view
        low, high = view.low, view.high
        if low.size == 3:
            a, b = view.turn  # azimuth and elevation of the viewer [rad]
            # unit vectors towards the viewer and to the right; their cross product is upwards
            out = np.array([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
            right = np.array([-np.sin(a), np.cos(a), 0.0])
            extent = np.maximum(high - low, 1e-300)
            # axes that are not lengths of one space are scaled separately
            scale = np.ones(3) if view.equal else float(np.linalg.norm(extent)) / extent
            self.turned = np.column_stack([right, np.cross(out, right), out]) * scale[:, None]
            half = 0.54 * extent @ np.abs(self.turned[:, :2])  # half the box, and 8 % more room
            low, high = -half, half
        # an axis may grow downwards
        middle, half = 0.5 * (low + high), 0.5 * np.where(high == low, 1e-300, high - low)
        if view.equal or view.low.size == 3:
            half = size * float((half / size).max())
        self.points = 36.0 * size / half  # per unit of the view [pt]: 72 pt/inch, over 2 `half`
        ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
        ax.set_ylim(middle[1] - half[1], middle[1] + half[1])
        if view.axes and view.low.size == 2:
            dress(ax).set(xlabel=view.axes[0], ylabel=view.axes[1])
            ax.locator_params(nbins=5)
            return
        ax.set_axis_off()
        for i, name in enumerate(view.axes):
            ends = np.stack([view.low, view.low])
            ends[1, i] = view.high[i]
            x, y = self._project(ends)[:, :2].T
            ax.plot(x, y, color=_COLOURS[m.GREY], lw=0.6)
            ax.annotate(name, (x[1], y[1]), size=FONT, color=INK)

    def show(self, k: int) -> None:
        """Draw frame `k`."""
        for layer in self.view.layers:
            self._draw(layer, k)

    def _put(self, artist: Any) -> None:
        """Add an artist above the ones drawn so far."""
        if artist.axes is None:
            self.ax.add_artist(artist)
        self.ax.draw_artist(artist)
        artist.remove()

    def _project(self, points: Floats) -> Floats:
        """Return coordinates of points (..., 3): to the right, upwards and towards the viewer."""
        if points.shape[-1] == 3:
            return np.asarray((points - 0.5 * (self.view.low + self.view.high)) @ self.turned)
        return np.concatenate([points, np.zeros((*points.shape[:-1], 1))], axis=-1)

    @functools.singledispatchmethod
    def _draw(self, layer: Any, k: int) -> None:
        raise TypeError(f"no painter of {type(layer).__name__}")

    @_draw.register
    def _(self, layer: m.Lines, k: int) -> None:
        places, tones = self._project(_at(layer.points, k)), _at(layer.colour, k)
        lines = np.split(places, layer.starts[1:])
        shown = [i for i, tone in enumerate(tones) if tone != m.HIDDEN]
        if layer.thick and shown and self.view.low.size == 3:
            self._tubes([lines[i] for i in shown], tones[shown], layer.thick)
            return
        flat, colours = [lines[i][:, :2] for i in shown], _COLOURS[tones[shown]]
        if layer.filled:
            self._put(PolyCollection(flat, facecolors=colours))
            return
        flat = [np.vstack([line, line[:1]]) if layer.closed else line for line in flat]
        width = max(layer.width * _PIXEL, layer.thick * self.points[0])
        self._put(LineCollection(flat, colors=colours, linewidths=width))

    def _tubes(self, lines: list[Floats], tones: Ints, thick: float) -> None:
        """Draw lines, projected points (n, 3) each, as tubes with a rim, the nearest last."""
        parts = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
        order = np.argsort(parts[..., 2].sum(axis=1), kind="stable")
        begin, end = (parts[order, i, None, :2] for i in (0, 1))
        along = end - begin
        along /= np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-300)
        turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9)[:, None]
        across = np.sin(turn) * (along[..., ::-1] * [-1.0, 1.0])
        radius, rim = 0.5 * max(thick, 1.0 / self.points[0]), 0.5 / self.points[0]
        # a rim has straight ends; round ones would be drawn over the neighbouring segment
        caps = [(radius + rim) * across, radius * (np.cos(turn) * along + across)]
        both = [np.concatenate([end + cap, begin - cap], axis=1) for cap in caps]
        colours = np.repeat(_COLOURS[tones], [len(line) - 1 for line in lines])[order]
        tinted = np.stack([np.full(order.size, INK), colours], axis=1).ravel()
        polygons = np.stack(both, axis=1).reshape(2 * order.size, -1, 2)
        self._put(PolyCollection(list(polygons), facecolors=tinted, edgecolors="none"))

    @_draw.register
    def _(self, layer: m.Dots, k: int) -> None:
        places, tones = self._project(_at(layer.points, k)), _at(layer.colour, k)
        tones = np.broadcast_to(tones, len(places))
        (shown,) = np.nonzero(tones != m.HIDDEN)
        look: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.5}
        size = (2.0 * _PIXEL * layer.size) ** 2
        x, y = places[shown, :2].T
        self._put(self.ax.scatter(x, y, s=size, c=_COLOURS[tones[shown]], **look))

    @_draw.register
    def _(self, layer: m.Boxes, k: int) -> None:
        centres, tones = _at(layer.points, k), _at(layer.colour, k)
        corners = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) * layer.half
        boxes = centres[:, None] + corners
        for hatch, mine in (("", tones != m.STUCK), (_HATCH, tones == m.STUCK)):
            look: dict[str, Any] = {"edgecolors": _COLOURS[m.GREY], "hatch": hatch}
            colours = _COLOURS[tones[mine]]
            self._put(PolyCollection(list(boxes[mine]), facecolors=colours, linewidths=0.0, **look))
        outline: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.7}
        self._put(PolyCollection(list(boxes), **outline))
        if 2.0 * layer.half[0] * self.points[0] < _NUMBERED:
            return
        for (x, y), tone, label in zip(centres, tones, layer.labels, strict=True):
            ink = INK if tone == m.STUCK else "white"
            words: dict[str, Any] = {"size": FONT, "color": ink, "ha": "center"}
            # a clear spot in the hatching
            spot = {"facecolor": _COLOURS[tone], "linewidth": 0.0, "pad": 1.0}
            self._put(self.ax.text(x, y, label, va="center", bbox=spot if label else None, **words))

    @_draw.register
    def _(self, layer: m.Springs, k: int) -> None:
        ends = _at(layer.points, k).reshape(-1, 2, 2)
        lines = ends
        if len(ends) <= _MOST_ZIGZAGS:
            along = np.diff(ends, axis=1)
            length = np.linalg.norm(along, axis=2, keepdims=True)
            across = along[..., ::-1] * [1.0, -1.0] / np.where(length > 0.0, length, 1.0)
            fraction = np.array([0.0, *np.linspace(0.12, 0.88, _ZIGZAG.size - 2), 1.0])[:, None]
            lines = ends[:, :1] + fraction * along + _ZIGZAG[:, None] / self.points * across
        self._put(LineCollection(list(lines), colors=_COLOURS[m.GREY], linewidths=1.0))

    @_draw.register
    def _(self, layer: m.Ground, k: int) -> None:
        left, right = self.view.low[0], self.view.high[0]
        self._put(LineCollection([[(left, layer.level), (right, layer.level)]], colors=INK))
        side = 6.0 * _PIXEL / self.points
        step = max(layer.step, 1.5 * float(side[0]))
        x = np.arange(left + float(_at(layer.points, k)[0, 0]) % step, right, step)
        hatches = np.array([[0.0, 0.0], -side]) + np.stack([x, 0.0 * x], 1)[:, None]
        hatches[..., 1] += layer.level
        self._put(LineCollection(list(hatches), colors=_COLOURS[m.GREY], linewidths=0.6))

    @_draw.register
    def _(self, layer: m.Arrows, k: int) -> None:
        points = _at(layer.points, k)
        begin, end = (self._project(x)[:, :2] for x in (points, points + _at(layer.vectors, k)))
        tones = np.broadcast_to(_at(layer.colour, k), len(points))
        long = np.linalg.norm((end - begin) * self.points, axis=1) > 1.5 * _PIXEL
        (shown,) = np.nonzero(long & (tones != m.HIDDEN))
        look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "minlength": 0.0}
        look |= {"units": "inches", "width": 0.02, "color": _COLOURS[tones[shown]]}
        if shown.size:
            self._put(self.ax.quiver(*begin[shown].T, *(end - begin)[shown].T, **look))

    @_draw.register
    def _(self, layer: m.Cells, k: int) -> None:
        corners = self._project(_at(layer.points, k))[layer.cells]
        order = np.argsort(corners[..., 2].mean(axis=1), kind="stable")
        colours = _SHADES(_at(layer.shade, k)[order] / m.SHADES)
        look: dict[str, Any] = {"edgecolors": "face", "linewidths": 0.4}
        self._put(PolyCollection(list(corners[order, :, :2]), facecolors=colours, **look))

    @_draw.register
    def _(self, layer: m.Trail, k: int) -> None:
        places = self._project(layer.points)[:, :2]
        self._put(LineCollection([places], colors=_COLOURS[m.PALE], linewidths=0.8))
        done = int(layer.passed[k])
        changes = np.flatnonzero(np.diff(layer.colour[:done])) + 1
        edges = list(itertools.pairwise([0, *changes.tolist(), done]))
        strokes = [places[begin : min(end + 1, done)] for begin, end in edges]
        colours = [_COLOURS[layer.colour[begin]] for begin, _ in edges]
        self._put(LineCollection(strokes, colors=colours, linewidths=1.1))


def _at(values: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
    """Return the values of frame `k`; a static array has a single row."""
    return np.asarray(values[0 if len(values) == 1 else k])
