"""Write a movie to a file: an HTML page, a GIF, or an MP4 (by the program ffmpeg).

`Figures.animate` calls `write_movie`; pages come from `page`, pixels of frames from `painter`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, StoreError
from stiction.numerics.checks import number
from stiction.plot.files import written
from stiction.plot.player.movie import PALETTE
from stiction.plot.player.page import Filmed, frames_for

__all__ = ["write_movie"]

Pixels = npt.NDArray[np.uint8]

_MOST_FRAMES = 900
# of a GIF: number of colours, number of sampled frames; colours at least this light become white
_COLOURS, _SAMPLES, _WHITE = 128, 8, 244
_MOST_GIF_FPS = 50.0  # browsers play GIFs with more frames per second more slowly
_LAST_FRAME_MS = 1500  # added, so that a GIF rests on it before it starts again


def write_movie(filmed: Filmed, path: Path, *, seconds: float, fps: float) -> Path:
    """Write a movie as .html, .gif or .mp4 and return the path.

    Parameters
    ----------
    filmed : returns the movie for a number of frames
    seconds : how long it plays; a GIF then rests on its last frame
    fps : frames per second of .gif (at most 50) and .mp4; long movies have fewer, 900 in all

    Raises
    ------
    ModelError : if the format is not known or cannot be made here, or a number is not positive.
    StoreError : if the file cannot be written.

    Verified by: tests/unit/plot/player/test_writing.py::test_every_format_is_written
    """
    kind = _checked(path)
    why, try_ = "both values set the number of frames.", "for example seconds=8.0, fps=20."
    for name, value, unit in (("seconds", seconds, "s"), ("fps", fps, "1/s")):
        number(f"animate.{name}", value, rule="positive", unit=unit, why=why, try_=try_)
    fps = min(fps, _MOST_GIF_FPS) if kind == ".gif" else fps
    count = int(np.clip(seconds * fps + 1e-9, 2, _MOST_FRAMES))
    try:
        with written(path) as partial:
            if kind == ".html":
                partial.write_text(frames_for(filmed, seconds), encoding="utf-8")
                return path
            # matplotlib takes a second to import
            from stiction.plot.player.painter import frames

            pictures = list(frames(filmed(count), count))
            if kind == ".gif":
                _write_gif(pictures, partial, seconds)
            else:
                _write_mp4(pictures, partial, count / seconds)
    except OSError as error:
        got = f"{str(path)!r} ({error.strerror or error})"
        needs, why = "a file that can be written", "the animation is written to this file."
        try_ = "choose another folder, or free space on the disk."
        raise StoreError("animate.path", got, needs, why, try_) from error
    return path


def _checked(path: Path) -> str:
    """Return the suffix of a path, which names the format; refuse an unknown format."""
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4", ".html"):
        needs, why = "a name that ends in .gif, .mp4, .html", "the suffix names the format."
        try_ = "use .html for a page with a player, .gif for slides."
        raise ModelError("animate.path", repr(str(path)), needs, why, try_)
    if kind == ".mp4" and shutil.which("ffmpeg") is None:
        got = "a name that ends in .mp4, and no program ffmpeg on this machine"
        needs, why = "ffmpeg to encode the video", "this package brings no video encoder."
        try_ = "write a .gif or .html instead, or install ffmpeg."
        raise ModelError("animate.path", got, needs, why, try_)
    return kind


def _write_gif(pictures: list[Pixels], path: Path, seconds: float) -> None:
    """Write frames (height, width, 3) as an endless GIF whose frames take `seconds` in all."""
    from PIL import Image, ImageColor

    # one palette for all frames: a quarter of the size, and colours do not flicker
    some = np.concatenate(pictures[:: -(-len(pictures) // _SAMPLES)])
    palette = Image.fromarray(some).quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE)
    entries = np.reshape(palette.getpalette() or [], (-1, 3)).astype(np.uint8)
    # the background is mixed with the palest greys, which would tint it
    entries[entries.min(axis=1) >= _WHITE] = 255
    fixed = np.array([ImageColor.getrgb(light) for light, _ in PALETTE], dtype=np.uint8)
    palette.putpalette(np.concatenate([fixed, entries]).tobytes())
    plain = Image.Dither.NONE
    first, *others = (Image.fromarray(p).quantize(palette=palette, dither=plain) for p in pictures)
    # GIF counts in hundredths of a second; rounded times, unlike delays, do not add up an error
    delays = 10 * np.diff(np.rint(np.linspace(0.0, 100.0 * seconds, len(pictures) + 1)))
    delays[-1] += _LAST_FRAME_MS
    times = delays.tolist()
    first.save(path, format="GIF", save_all=True, append_images=others, duration=times, loop=0)


def _write_mp4(pictures: list[Pixels], path: Path, fps: float) -> None:
    """Send raw RGB frames to ffmpeg, which encodes them as MP4 with 4:2:0 chroma."""
    height, width, _ = pictures[0].shape
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}"]
    coded = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path)]
    command = ["ffmpeg", "-y", "-loglevel", "error", *raw, "-i", "-", *coded]
    raw_frames = b"".join(picture.tobytes() for picture in pictures)
    done = subprocess.run(command, input=raw_frames, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(f"ffmpeg failed: {said[-1] if said else done.returncode}")
