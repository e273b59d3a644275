"""Animations of a chain: GIF, MP4 (where ffmpeg is there) and a page for any browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.film import Film, film_of
from stiction.errors import ModelError, StoreError, explain
from stiction.plot.files import written
from stiction.plot.pictures import find_ffmpeg, write_gif, write_mp4
from stiction.results.run import Run

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
    writers: dict[str, Callable[[Film, Path], None]] = {
        ".gif": _write_gif,
        ".mp4": _write_mp4,
        ".html": _write_html,
    }
    if path.suffix.lower() not in writers:
        raise ModelError(
            explain(
                "animate.path",
                repr(str(path)),
                "a name that ends in " + ", ".join(writers),
                "the suffix names the format.",
                "use .html for a page with a player, .gif for slides.",
            )
        )
    film = film_of(ChainData(run), seconds=seconds, fps=fps, scale=scale, window=window)
    try:
        with written(path) as partial:
            writers[path.suffix.lower()](film, partial)
    except OSError as error:
        raise StoreError(
            explain(
                "animate.path",
                f"{str(path)!r} ({error.strerror or error})",
                "a place that can be written",
                "the animation becomes a file there.",
                "choose another folder, or free space on the disk.",
            )
        ) from error
    return path


def _write_gif(film: Film, path: Path) -> None:
    write_gif(_frames(film), path, film.fps)


def _write_mp4(film: Film, path: Path) -> None:
    find_ffmpeg(".gif or .html")
    write_mp4(_frames(film), path, film.fps)


def _frames(film: Film) -> list[Image]:
    from stiction.chains.figures.painter import Painter

    painter = Painter(film)
    return [painter.frame(k) for k in range(film.time.size)]


def _write_html(film: Film, path: Path) -> None:
    from stiction.chains.figures.player import page

    path.write_text(page(film), encoding="utf-8")
