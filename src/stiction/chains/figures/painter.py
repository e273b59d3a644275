"""Draws the frames of a film with Pillow; imported only where an animation is made."""

from __future__ import annotations

import functools
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from stiction.chains.figures.film import BLOCK, Film
from stiction.plot import style

__all__ = ["Painter"]

SIZE = (760, 216)  # [px], even numbers as video needs
_FINE = 2  # everything is drawn twice as large and shrunk: smooth edges
_GROUND = 142
_MARGIN = 26
_ARROW = 84  # room for the load arrow at the right
_PLUS, _MINUS = "#0072B2", "#D55E00"
_DARK = "#6e6e6e"

Pen = ImageDraw.ImageDraw


class Painter:
    """Draws frames of one film.

    Parameters
    ----------
    film : what is drawn
    """

    def __init__(self, film: Film) -> None:
        self.film = film
        self.size = SIZE
        left, right = film.extent
        self._left = left
        self._per_metre = (SIZE[0] - 2 * _MARGIN - _ARROW) / (right - left)
        self._width = BLOCK * film.distance * self._per_metre
        self._height = float(np.clip(0.9 * self._width, 24.0, 58.0))
        self._strongest = float(np.abs(film.load).max()) or 1.0

    def frame(self, k: int) -> Image.Image:
        """Return frame `k` as an RGB image."""
        image = Image.new("RGB", (_FINE * SIZE[0], _FINE * SIZE[1]), "white")
        pen = ImageDraw.Draw(image)
        self._surface(pen, k)
        self._springs(pen, k)
        for q, mode in enumerate(self.film.mode[k]):
            self._block(pen, self._x(self.film.place[k, q]), int(mode), str(self.film.number[q]))
        self._arrows(pen, k)
        self._words(pen, k)
        return image.reduce(_FINE)

    # ---- parts of the picture, in pixels of the final size

    def _surface(self, pen: Pen, k: int) -> None:
        """Draw the rail with ticks that move with it."""
        self._line(pen, [(0, _GROUND), (SIZE[0], _GROUND)], style.INK, 1.2)
        step = max(0.25 * self.film.distance * self._per_metre, 9.0)
        shift = (self.film.ground[k] * self._per_metre) % step
        for x in np.arange(shift - step, SIZE[0] + step, step):
            self._line(pen, [(x + 6, _GROUND + 1), (x, _GROUND + 7)], "#a0a0a0", 0.8)

    def _springs(self, pen: Pen, k: int) -> None:
        centres = [self._x(place) for place in self.film.place[k]]
        half = 0.5 * self._width
        ends = [self._x(wall) for wall in self.film.wall]
        starts = [ends[0], *(c + half for c in centres)]
        stops = [*(c - half for c in centres), ends[1]]
        y = _GROUND - 0.5 * self._height
        for begin, end, linked in zip(starts, stops, self.film.linked, strict=True):
            if linked:
                self._spring(pen, begin, end, y)
        for at, linked, out in ((0, self.film.linked[0], -1), (1, self.film.linked[-1], 1)):
            if linked:
                self._wall(pen, ends[at], out)

    def _spring(self, pen: Pen, begin: float, end: float, y: float) -> None:
        if self.film.number.size > 14:
            self._line(pen, [(begin, y), (end, y)], _DARK, 1.2)
            return
        high = min(7.0, 0.22 * self._height)
        lead = 0.12 * (end - begin)
        across = np.linspace(begin + lead, end - lead, 13)
        up = high * np.array([0, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, 0])
        points = [(begin, y), *zip(across, y - up, strict=True), (end, y)]
        self._line(pen, points, _DARK, 1.3)

    def _wall(self, pen: Pen, x: float, out: int) -> None:
        top = _GROUND - max(1.5 * self._height, 26.0)
        self._line(pen, [(x, top), (x, _GROUND)], style.INK, 1.6)
        for y in np.arange(top + 4, _GROUND + 1, 8):
            self._line(pen, [(x, y), (x + 7 * out, y + 6)], "#a0a0a0", 0.8)

    def _block(self, pen: Pen, x: float, mode: int, number: str) -> None:
        half, top = 0.5 * self._width, _GROUND - self._height
        box = (x - half, top, x + half, _GROUND - 1)
        self._box(pen, box, mode)
        if self._width >= 18.0:
            fill = style.INK if mode == 0 else "white"
            middle = (x, 0.5 * (top + _GROUND))
            if mode == 0:  # a clear spot in the hatching for the number
                r = 8.0
                around = (middle[0] - r, middle[1] - r, middle[0] + r, middle[1] + r)
                pen.ellipse([_FINE * c for c in around], fill=style.STUCK)
            self._text(pen, middle, number, fill, "mm", 13)

    def _box(self, pen: Pen, box: tuple[float, float, float, float], mode: int) -> None:
        """Draw a block: grey with hatching when stuck, coloured by direction when it slips."""
        fill = {0: style.STUCK, 1: _PLUS, -1: _MINUS}[mode]
        pen.rectangle([_FINE * c for c in box], fill=fill)
        left, top, right, bottom = box
        if mode == 0:
            high = bottom - top
            for x in np.arange(left - high, right, 6.0):
                a, b = max(x, left), min(x + high, right)
                self._line(pen, [(a, bottom - (a - x)), (b, bottom - (b - x))], _DARK, 1.0)
        outline = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        self._line(pen, outline, style.INK, 1.0)

    def _arrows(self, pen: Pen, k: int) -> None:
        """Draw the load: it pulls at the right edge of a block, or pushes against it."""
        loaded = np.flatnonzero(self.film.share)
        force = self.film.load[k]
        if force == 0.0 or not 0 < loaded.size <= 4:
            return
        for q in loaded:
            pull = force * self.film.share[q] > 0.0
            length = 14.0 + 44.0 * abs(force) / self._strongest
            edge = self._x(self.film.place[k, q]) + 0.5 * self._width + 2.0
            y = _GROUND - 0.5 * self._height
            tail, tip = (edge, edge + length) if pull else (edge + length, edge)
            back = tip - 9.0 if pull else tip + 9.0
            self._line(pen, [(tail, y), (back, y)], style.INK, 2.4)
            head = [(tip, y), (back, y - 5.0), (back, y + 5.0)]
            pen.polygon([(_FINE * a, _FINE * b) for a, b in head], fill=style.INK)

    def _words(self, pen: Pen, k: int) -> None:
        film = self.film
        self._text(pen, (_MARGIN, 20), film.clock(k), style.INK, "lm", 15)
        load = f"load {film.load[k]:.4g} N".replace("-", "−")
        self._text(pen, (_MARGIN, 42), load, style.INK, "lm", 13)
        self._text(pen, (SIZE[0] - _MARGIN, 20), film.title, style.INK, "rm", 13)
        self._text(pen, (SIZE[0] - _MARGIN, 42), film.notes, _DARK, "rm", 13)
        x = float(_MARGIN)
        for mode, word in ((0, "stuck"), (1, "slips to the right"), (-1, "slips to the left")):
            self._box(pen, (x, 180.0, x + 22.0, 196.0), mode)
            self._text(pen, (x + 30, 188), word, style.INK, "lm", 13)
            x += 52.0 + self._font(13).getlength(word) / _FINE

    # ---- pens

    def _x(self, place: float) -> float:
        return _MARGIN + (place - self._left) * self._per_metre

    def _line(self, pen: Pen, points: list[tuple[float, float]], colour: str, width: float) -> None:
        fine = [(_FINE * a, _FINE * b) for a, b in points]
        pen.line(fine, fill=colour, width=max(1, round(_FINE * width)), joint="curve")

    def _text(
        self, pen: Pen, at: tuple[float, float], word: str, fill: str, anchor: str, size: int
    ) -> None:
        place = (_FINE * at[0], _FINE * at[1])
        pen.text(place, word, fill=fill, font=self._font(size), anchor=anchor)

    @functools.cache  # noqa: B019 - a painter lives as long as its one film
    def _font(self, size: int) -> ImageFont.FreeTypeFont:
        folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        return ImageFont.truetype(folder / "DejaVuSans.ttf", _FINE * size)
