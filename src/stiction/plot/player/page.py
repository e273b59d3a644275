"""A self-contained page that plays a movie in any browser, without a network.

`page` writes the movie as JSON, its arrays packed by `packing`, into the script `player.html`,
which draws the frames on canvases. `frames_for` chooses the number of frames: as few as possible
for which linear interpolation is accurate to half a percent, within `MOST_BYTES`. Called by
`Figures.player` (notebooks) and by `writing.write_movie` (files).
"""

from __future__ import annotations

import dataclasses
import html
import importlib.resources
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.checks import number
from stiction.plot.player.movie import PALETTE, Movie, Reading, Trail
from stiction.plot.player.packing import Packer, described

__all__ = ["MOST_BYTES", "Filmed", "Page", "frames_for", "page", "sag"]

Floats = npt.NDArray[np.float64]
Filmed = Callable[[int], Movie]  # returns the movie with about this many frames

MOST_BYTES = 500_000
# numbers of frames, tried in this order until one suffices
_COUNTS = (240, 480, 960)
# tolerance of linear interpolation between frames, relative to the range of motion; rounding to
# 16-bit integers adds to it, within half a percent together
_TWEEN = 0.004
_FRAME_HEIGHT = 620


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """A page as text, which notebooks show in a frame of its own."""

    text: str

    def __repr__(self) -> str:
        """Return the size of the page."""
        size = len(self.text.encode()) / 1000.0
        return f"<Page: {size:.0f} kB of HTML in `text`; a notebook plays it>"

    def _repr_html_(self) -> str:
        """Return the page inside a sandboxed frame."""
        inside = html.escape(self.text, quote=True)
        return (
            f'<iframe srcdoc="{inside}" sandbox="allow-scripts" title="movie" '
            f'style="width:100%;height:{_FRAME_HEIGHT}px;border:0"></iframe>'
        )


def page(movie: Movie, *, seconds: float = 12.0, tween: bool = False) -> str:
    """Return a movie as a page: the player with the movie's data written into it.

    Parameters
    ----------
    seconds : how long it plays at the speed 1
    tween : whether the player interpolates linearly between frames

    Verified by: tests/unit/plot/player/test_page.py::test_page_is_self_contained
    """
    why, try_ = "the movie plays for this time.", "for example seconds=12.0."
    number("animate.seconds", seconds, rule="positive", unit="s", why=why, try_=try_)
    packer = Packer()
    data = described(movie, packer) | {
        "palette": PALETTE,
        "seconds": seconds,
        "tween": tween,
        "packed": packer.text(),
    }
    # escaped, so that "</script>" in the data cannot end the script
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    source = importlib.resources.files("stiction.plot.player").joinpath("player.html")
    before, after = source.read_text(encoding="utf-8").split("{{film}}")
    return before.replace("{{title}}", html.escape(movie.title)) + text + after


def frames_for(filmed: Filmed, seconds: float = 12.0) -> str:
    """Return the page with the frames that it needs, at most half a megabyte of them.

    Frames are added until linear interpolation between them is accurate to half a percent of the
    range of motion. If it is never that accurate, the player shows the frames alone.

    Parameters
    ----------
    filmed : returns the movie for a number of frames

    Verified by: tests/unit/plot/player/test_page.py::test_a_page_fits_its_limit
    """
    best = ""
    count = _COUNTS[0]
    # reduce the number of frames until the page fits
    while not best and count > 1:
        text = page(filmed(count), seconds=seconds, tween=False)
        if len(text.encode()) <= MOST_BYTES or count <= 2:
            best = text
        else:
            count = max(2, min(count - 1, int(0.95 * count * MOST_BYTES / len(text.encode()))))
    # add frames until interpolation is accurate or the page would not fit any more
    for more in (count, *(c for c in _COUNTS if c > count)):
        movie = filmed(more)
        tween = not movie.even and sag(movie, filmed(2 * more - 1)) <= _TWEEN
        text = page(movie, seconds=seconds, tween=tween)
        if len(text.encode()) > MOST_BYTES:
            break
        best = text
        if tween or movie.even:
            break
    return best


def sag(movie: Movie, finer: Movie) -> float:
    """Return the largest error of linear interpolation between frames against a finer movie.

    The error of each component is relative to its range; all layers and readings count.
    """
    worst = 0.0
    # frame before each finer time, frame after it, and the elapsed fraction of the interval
    at = np.clip(np.searchsorted(movie.time, finer.time, side="right") - 1, 0, None)
    last = np.minimum(at + 1, movie.time.size - 1)
    gap = movie.time[last] - movie.time[at]
    part = np.where(gap > 0.0, (finer.time - movie.time[at]) / np.where(gap > 0.0, gap, 1.0), 0.0)
    # the same array in both movies: (f, ..., d) and (finer f, ..., d)
    for mine, other in zip(_moving(movie), _moving(finer), strict=True):
        flat = mine.reshape(mine.shape[0], -1)
        given = other.reshape(other.shape[0], -1)
        drawn = flat[at] + part[:, None] * (flat[last] - flat[at])
        parts = mine.shape[-1] if mine.ndim > 2 else 1
        miss = np.abs(drawn - given).reshape(-1, parts)
        size = np.nanmax(given.reshape(-1, parts), axis=0) - np.nanmin(
            given.reshape(-1, parts), axis=0
        )
        over = np.where(size > 0.0, np.nanmax(miss, axis=0) / np.where(size > 0.0, size, 1.0), 0.0)
        worst = max(worst, float(over.max(initial=0.0)))
    return worst


def _moving(movie: Movie) -> Iterator[Floats]:
    """Yield the float arrays that the player interpolates: one row per frame, not held."""
    things: list[Any] = [layer for view in movie.views for layer in view.layers]
    for thing in (*things, *movie.readings):
        if isinstance(thing, Trail) or getattr(thing, "held", False):
            continue
        for field in dataclasses.fields(thing):
            value = getattr(thing, field.name)
            shaped = isinstance(value, np.ndarray) and value.dtype.kind == "f"
            if shaped and (value.shape[0] > 1 or isinstance(thing, Reading)):
                yield value
