"""Animations of a chain: GIF, MP4 (where ffmpeg is there) and a page for any browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.film import Film, film_of, window_of
from stiction.chains.figures.player import movie_of
from stiction.core.run import Run
from stiction.errors import ModelError
from stiction.plot.pictures import find_ffmpeg, unknown_suffix, write_film
from stiction.plot.pictures import frame_times as frame_times_of
from stiction.plot.player.movie import Movie
from stiction.plot.player.page import write_page
from stiction.plot.player.sampling import frame_times

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["animate"]


def animate(
    run: Run,
    path: str | Path,
    *,
    seconds: float = 8.0,
    fps: float = 20.0,
    scale: float | None = None,
    window: tuple[float, float] | None = None,
) -> Path:
    """Write an animation of a chain and return its path; the suffix names the format.

    Blocks sit at their place plus the scaled displacement. A stuck mass is grey and
    hatched, a slipping one coloured by its direction. The picture states the scale.

    Parameters
    ----------
    path : ends in .gif, .mp4 (needs the program ffmpeg) or .html (self-contained, with a
        player; needs no network)
    seconds : how long the animation plays
    fps : frames per second
    scale : factor of the displacements; default a round number that shows the motion
    window : begin and end of the times shown [s]; default all

    Raises
    ------
    ModelError : if the format is not known or cannot be made here, or an option is no number.
    StoreError : if the file cannot be written.

    Verified by: tests/unit/chains/figures/test_animation.py::test_gif_has_every_frame
    """
    path = Path(path)
    if path.suffix.lower() == ".html":
        data = ChainData(run)
        frame_times_of((0.0, 1.0), seconds, fps)  # checks both
        span = window_of(window, data)

        def filmed(count: int) -> Movie:
            time = frame_times(run, count, None if window is None else span)
            return movie_of(data, time, scale=scale)

        return write_page(filmed, path, seconds)
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ModelError(unknown_suffix(path))
    if path.suffix.lower() == ".mp4":
        find_ffmpeg(".gif or .html")
    film = film_of(ChainData(run), seconds=seconds, fps=fps, scale=scale, window=window)
    return write_film(_frames(film), path, film.fps)


def _frames(film: Film) -> list[Image]:
    from stiction.chains.figures.painter import Painter

    painter = Painter(film)
    return [painter.frame(k) for k in range(film.time.size)]
