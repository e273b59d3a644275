"""Frames of a movie as pictures, for formats that are not pages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot.player.movie import (
    HIDDEN,
    INK,
    PALE,
    PALETTE,
    Arrows,
    Boxes,
    Cells,
    Dots,
    Ground,
    Layer,
    Lines,
    Movie,
    Springs,
    Trail,
    View,
)

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["painted"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WIDTH, _TOP = 420, 26  # of a view, and of the line above it [px]
_FINE = 2  # pixels are painted so many times finer
_EDGE = 0.04
_TURN = (-np.pi / 3.0, 0.45)  # azimuth and elevation of the eye
_ZIGZAGS = 12


def painted(movie: Movie, count: int) -> list[Image]:
    """Return pictures of so many frames of a movie, evenly spread as the player shows them.

    Verified by: tests/unit/plot/player/test_writing.py::test_every_format_is_written
    """
    last = movie.time.size - 1
    share = np.linspace(0.0, 1.0, count)
    if movie.even:
        rows = np.round(share * last).astype(np.int64)
    else:
        times = movie.time[0] + share * (movie.time[-1] - movie.time[0])
        rows = np.searchsorted(movie.time, times, side="right") - 1
    return [_frame(movie, int(np.clip(row, 0, last))) for row in rows]


def _frame(movie: Movie, k: int) -> Image:
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    height = max(int(_WIDTH * max(view.height, 0.25)) for view in movie.views) + _TOP
    size = (_WIDTH * len(movie.views) // 2 * 2, height // 2 * 2)
    sheet = Image.new("RGB", (size[0] * _FINE, size[1] * _FINE), "white")
    pen = ImageDraw.Draw(sheet)
    for i, view in enumerate(movie.views):
        box = (i * _WIDTH, _TOP, (i + 1) * _WIDTH, size[1])
        brush = _Brush(pen, _lens(view, box), k, float(movie.time[k]), view)
        for layer in view.layers:
            brush.paint(layer)
    words = f"{movie.clock} = {movie.time[k]:.5g} {movie.unit}   " + ", ".join(
        f"{r.label} {r.values[k]:.4g} {r.unit}".strip() for r in movie.readings
    )
    file = Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    font = ImageFont.truetype(str(file), 12 * _FINE)
    pen.text((8 * _FINE, 5 * _FINE), words, fill=PALETTE[INK][0], font=font)
    return sheet.resize(size, Image.Resampling.LANCZOS)


def _lens(view: View, box: tuple[int, int, int, int]) -> Callable[[Floats], Floats]:
    """Return what places points of a view on the sheet, with their depth in space."""
    middle, size = 0.5 * (view.low + view.high), np.maximum(view.high - view.low, 1e-300)
    scale = np.ones(size.size)
    if view.low.size == 3:
        a, b = _TURN
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        up = np.array([-np.sin(b) * np.cos(a), -np.sin(b) * np.sin(a), np.cos(b)])
        axes = np.stack([right, up, np.cross(right, up)])
        scale = scale if view.equal else float(np.linalg.norm(size)) / size
    else:
        axes = np.eye(2)
    half = 0.5 * np.abs(axes[:2]) @ (size * scale)
    wide, high = box[2] - box[0], box[3] - box[1]
    zoom = (0.5 - _EDGE) * np.array([wide, high]) / half
    if view.equal or view.low.size == 3:
        zoom[:] = zoom.min()
    centre = np.array([0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])])

    def project(points: Floats) -> Floats:
        flat = ((points - middle) * scale) @ axes.T
        out = np.zeros((*flat.shape[:-1], 3))
        out[..., 0] = _FINE * (centre[0] + zoom[0] * flat[..., 0])
        out[..., 1] = _FINE * (centre[1] - zoom[1] * flat[..., 1])
        out[..., 2] = flat[..., 2] if flat.shape[-1] == 3 else 0.0
        return out

    return project


@dataclass(frozen=True, eq=False)
class _Brush:
    """Paints the layers of a view: frame `k`, at a `time`."""

    pen: Any
    project: Callable[[Floats], Floats]
    k: int
    time: float
    view: View

    def _now(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(values[0 if len(values) == 1 else self.k])

    def _tone(self, colour: Ints, n: int) -> Ints:
        return np.broadcast_to(self._now(colour), (n,))

    def paint(self, layer: Layer) -> None:
        """Paint one layer."""
        named: dict[type, Callable[[Any], None]] = {
            Lines: self._lines,
            Dots: self._dots,
            Boxes: self._boxes,
            Springs: self._springs,
            Ground: self._ground,
            Arrows: self._arrows,
            Cells: self._cells,
            Trail: self._trail,
        }
        named[type(layer)](layer)

    def _stroke(self, points: Floats, tone: int, width: float) -> None:
        flat = [(float(x), float(y)) for x, y in points[:, :2]]
        wide = max(1, round(width * _FINE))
        self.pen.line(flat, fill=PALETTE[tone][0], width=wide, joint="curve")

    def _lines(self, layer: Lines) -> None:
        places = self.project(self._now(layer.points))
        stops = [*layer.starts[1:], len(places)]
        tones = self._tone(layer.colour, len(stops))
        unit = np.zeros((2, layer.points.shape[2]))
        unit[1, 0] = layer.thick
        thick = float(np.abs(np.diff(self.project(unit), axis=0)[0, :2]).max()) / _FINE
        for begin, end, tone in zip(layer.starts, stops, tones, strict=True):
            part = places[begin:end]
            if tone == HIDDEN:
                continue
            if layer.filled:
                flat = [(float(x), float(y)) for x, y in part[:, :2]]
                self.pen.polygon(flat, fill=PALETTE[tone][0])
            else:
                part = np.vstack([part, part[:1]]) if layer.closed else part
                self._stroke(part, int(tone), max(layer.width, thick))

    def _dots(self, layer: Dots) -> None:
        places = self.project(self._now(layer.points))
        r = layer.size * _FINE
        for (x, y, _), tone in zip(places, self._tone(layer.colour, len(places)), strict=True):
            if tone != HIDDEN:
                box = (x - r, y - r, x + r, y + r)
                self.pen.ellipse(box, fill=PALETTE[tone][0], outline="white")

    def _boxes(self, layer: Boxes) -> None:
        centres, half = self._now(layer.points), np.array(layer.half)
        low, high = self.project(centres - half), self.project(centres + half)
        tones = self._tone(layer.colour, len(centres))
        for (x0, y1, _), (x1, y0, _), tone in zip(low, high, tones, strict=True):
            look = {"fill": PALETTE[tone][0], "outline": PALETTE[INK][0], "width": _FINE}
            self.pen.rectangle((x0, y0, x1, y1), **look)

    def _springs(self, layer: Springs) -> None:
        ends = self.project(self._now(layer.points))[:, :2].reshape(-1, 2, 2)
        share = np.concatenate([[0.0], np.linspace(0.12, 0.88, _ZIGZAGS + 1), [1.0]])[:, None]
        high = np.array([0.0, 0.0, *([5.0, -5.0] * _ZIGZAGS)])[: _ZIGZAGS + 1] * _FINE
        high = np.append(high, [0.0, 0.0])[:, None]
        for begin, end in ends:
            along = end - begin
            across = np.array([along[1], -along[0]]) / (np.hypot(*along) or 1.0)
            self._stroke(begin + share * along + high * across, INK, 1.0)

    def _ground(self, layer: Ground) -> None:
        ends = [[x[0], layer.level] for x in (self.view.low, self.view.high)]
        self._stroke(self.project(np.array(ends)), INK, 1.0)

    def _arrows(self, layer: Arrows) -> None:
        points = self._now(layer.points)
        begin, end = self.project(points), self.project(points + self._now(layer.vectors))
        tones = self._tone(layer.colour, len(points))
        for a, b, tone in zip(begin, end, tones, strict=True):
            along = b[:2] - a[:2]
            long = float(np.hypot(*along))
            if tone == HIDDEN or long < 2.0 * _FINE:
                continue
            self._stroke(np.stack([a, b]), int(tone), 1.5)
            head = min(7.0 * _FINE, 0.5 * long) * along / long
            side = 0.5 * np.array([head[1], -head[0]])
            tip = [b[:2], b[:2] - head + side, b[:2] - head - side]
            self.pen.polygon([(float(x), float(y)) for x, y in tip], fill=PALETTE[tone][0])

    def _cells(self, layer: Cells) -> None:
        places = self.project(self._now(layer.points))
        corners, shades = places[layer.cells], self._now(layer.shade)
        for c in np.argsort(corners[..., 2].mean(axis=1), kind="stable"):
            flat = [(float(x), float(y)) for x, y in corners[c, :, :2]]
            self.pen.polygon(flat, fill=_shade(int(shades[c])))

    def _trail(self, layer: Trail) -> None:
        places = self.project(layer.points)
        self._stroke(places, PALE, 1.0)
        done = int(np.searchsorted(layer.moment, self.time, side="right"))
        for begin, end in _stretches(layer.colour[:done]):
            self._stroke(places[begin : min(end + 1, done)], int(layer.colour[begin]), 1.5)


def _stretches(colour: Ints) -> Iterator[tuple[int, int]]:
    """Give begin and end of the stretches of one colour."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(colour)) + 1, [colour.size]])
    for begin, end in itertools.pairwise(edges):
        if end > begin:
            yield int(begin), int(end)


def _shade(number: int) -> tuple[int, int, int]:
    ends = ((33, 102, 172), (247, 247, 247), (178, 24, 43))
    half, share = (0, number / 128.0) if number < 128 else (1, (number - 128) / 127.0)
    first, second = np.array(ends[half]), np.array(ends[half + 1])
    red, green, blue = np.round(first + share * (second - first)).astype(int).tolist()
    return red, green, blue
