"""An animation of two strings: their shapes, and the contact that moves along both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stiction.plot import style
from stiction.plot.pictures import check_path, frame_times, picture_of, write_film
from stiction.rods.figures.strings.data import CONTACT, STRINGS, StringData

if TYPE_CHECKING:
    from PIL.Image import Image


__all__ = ["animate"]


def animate(
    data: StringData,
    path: str | Path,
    *,
    seconds: float,
    fps: float,
    window: tuple[float, float] | None = None,
) -> Path:
    """Write an animation of both strings and return its path; the suffix names the format.

    Raises
    ------
    ModelError : if the format is not known or cannot be made here, or an option is no number.
    StoreError : if the file cannot be written.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_animation_has_every_frame
    """
    path = check_path(path)
    times = frame_times(data.window(window), seconds, fps)
    return write_film(_frames(data, times.tolist()), path, fps)


def _frames(data: StringData, times: list[float]) -> list[Image]:
    figure = style.new_figure(style.COLUMN, 3.0)
    rows = style.grid(figure, 2, margins=(0.56, 0.2, 0.42, 0.3), gaps=(0.0, 0.36))
    waves, points = {}, {}
    for (ax,), name in zip(rows, STRINGS, strict=True):
        wave = data.values(name)
        (waves[name],) = ax.plot(data.place(name), wave[0], color=STRINGS[name], lw=1.4)
        (points[name],) = ax.plot([], [], ls="", marker="o", ms=5.0, color=CONTACT, mec="white")
        ax.set_xlim(0.0, data.length(name))
        size = style.largest(wave) or 1.0
        ax.set_ylim(-1.1 * size, 1.1 * size)
        style.scale_axis(ax.yaxis, name)
        style.scale_axis(ax.xaxis, f"place on {name}" if name == "v" else "")
    figure.align_ylabels([row[0] for row in rows])
    clock = figure.text(0.02, 0.985, "", size=style.FONT, color=style.INK, va="top")
    pictures = []
    for time in times:
        row = int(np.clip(np.searchsorted(data.time, time, side="right") - 1, 0, None))
        clock.set_text(f"t = {data.time[row]:.3f}")
        for name in STRINGS:
            wave, x = data.values(name)[row], data.place(name)
            s = data.contact(name)[row] % data.length(name)
            waves[name].set_ydata(wave)
            points[name].set_data([s], [np.interp(s, x, wave, period=_period(data, name))])
        pictures.append(picture_of(figure))
    return pictures


def _period(data: StringData, name: str) -> float | None:
    """Return the length of a string that is closed to a circle, None for fixed ends."""
    x, length = data.place(name), data.length(name)
    return length if x[-1] < length - 0.5 * (x[1] - x[0]) else None
