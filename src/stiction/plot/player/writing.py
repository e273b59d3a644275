"""Movies as files: a page, or pictures one after another."""

from __future__ import annotations

from pathlib import Path

from stiction.plot.pictures import check_path, frame_times, write_film
from stiction.plot.player.page import Filmed, write_page

__all__ = ["write_movie"]


def write_movie(filmed: Filmed, path: Path, *, seconds: float, fps: float) -> Path:
    """Write a movie as .html, .gif or .mp4 and return the path.

    Parameters
    ----------
    filmed : returns the movie for a number of frames
    seconds : how long it plays
    fps : frames per second of .gif and .mp4

    Raises
    ------
    ModelError : if the format is not known or cannot be made here, or an option is no number.
    StoreError : if the file cannot be written.

    Verified by: tests/unit/plot/player/test_writing.py::test_every_format_is_written
    """
    if path.suffix.lower() == ".html":
        return write_page(filmed, path, seconds)
    path = check_path(path)
    count = frame_times((0.0, 1.0), seconds, fps).size
    from stiction.plot.player.painter import painted

    return write_film(painted(filmed(count), count), path, fps, colours=128)
