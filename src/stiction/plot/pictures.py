"""Pictures one after another, written as a GIF, or as MP4 where ffmpeg is there."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, StoreError, explain
from stiction.numerics.checks import number
from stiction.plot.files import written

if TYPE_CHECKING:
    from PIL.Image import Image

    from stiction.plot.figure import PaperFigure

__all__ = [
    "check_path",
    "find_ffmpeg",
    "frame_times",
    "picture_of",
    "saving",
    "unknown_suffix",
    "write_film",
    "write_gif",
    "write_mp4",
]

MOST_FRAMES = 900
_DPI = 120  # of a figure that becomes a frame
_LAST_FRAME_MS = 1500  # a GIF rests on its last frame before it starts again


def check_path(path: str | Path) -> Path:
    """Return where a film goes, its suffix checked; a ModelError says which there are."""
    path = Path(path)
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ModelError(unknown_suffix(path))
    if path.suffix.lower() == ".mp4":
        find_ffmpeg(".gif or .html")
    return path


def unknown_suffix(path: Path) -> str:
    """Return the message for an animation whose name ends in something else."""
    return explain(
        "animate.path",
        repr(str(path)),
        "a name that ends in .gif, .mp4, .html",
        "the suffix names the format.",
        "use .html for a page with a player, .gif for slides.",
    )


@contextlib.contextmanager
def saving(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; a StoreError says why a file cannot be written."""
    try:
        with written(path) as partial:
            yield partial
    except OSError as error:
        raise StoreError(
            "animate.path",
            f"{str(path)!r} ({error.strerror or error})",
            "a place that can be written",
            "the animation becomes a file there.",
            "choose another folder, or free space on the disk.",
        ) from error


def frame_times(span: tuple[float, float], seconds: float, fps: float) -> npt.NDArray[np.float64]:
    """Return the times of the frames of an animation.

    Parameters
    ----------
    span : begin and end of what is shown
    seconds : how long the animation plays
    fps : frames per second
    """
    why, try_ = "it sets the number of frames.", "for example seconds=8.0, fps=20."
    for name, value, unit in (("seconds", seconds, "s"), ("fps", fps, "1/s")):
        number(f"animate.{name}", value, rule="positive", unit=unit, why=why, try_=try_)
    return np.linspace(*span, int(np.clip(round(seconds * fps), 2, MOST_FRAMES)))


def write_film(
    frames: Sequence[Image],
    path: Path,
    fps: float,
    *,
    colours: int = 64,
    keep: Sequence[str] = (),
) -> Path:
    """Write pictures of one size as .gif or .mp4 and return the path.

    Parameters
    ----------
    fps : frames per second
    colours : of the palette of a GIF
    keep : colours that palette has in any case, however few pixels have them

    Raises
    ------
    StoreError : if the file cannot be written.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_animation_has_every_frame
    """
    with saving(path) as partial:
        if path.suffix.lower() == ".gif":
            write_gif(frames, partial, fps, colours, keep)
        else:
            write_mp4(frames, partial, fps)
    return path


def write_gif(
    frames: Sequence[Image],
    path: Path,
    fps: float,
    colours: int = 64,
    keep: Sequence[str] = (),
) -> None:
    """Write pictures as a GIF that runs again and again."""
    from PIL import Image, ImageColor

    # one palette for all frames: smaller, and colours do not flicker
    palette = frames[len(frames) // 2].quantize(colours, method=Image.Quantize.MEDIANCUT)
    # the paper is mixed with the palest greys, which would tint it
    entries = np.array(palette.getpalette(), dtype=np.uint8).reshape(-1, 3)
    entries[entries.min(axis=1) >= 244] = 255
    if keep:
        wanted = np.array([ImageColor.getrgb(colour) for colour in keep], dtype=np.uint8)
        entries = np.concatenate([entries[:colours], wanted])
    palette.putpalette(entries.tobytes())
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    # GIF counts in hundredths of a second
    delay = max(20, 10 * round(100.0 / fps))
    delays = [delay] * (len(flat) - 1) + [_LAST_FRAME_MS]
    flat[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=flat[1:],
        duration=delays,
        loop=0,
        optimize=False,
    )


def write_mp4(frames: Sequence[Image], path: Path, fps: float) -> None:
    """Write pictures as an MP4 video; a ModelError says so if there is no ffmpeg."""
    program = find_ffmpeg()
    width, height = frames[0].size
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}"]
    coded = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path)]
    command = [program, "-y", "-loglevel", "error", *raw, "-i", "-", *coded]
    pictures = b"".join(frame.tobytes() for frame in frames)
    done = subprocess.run(command, input=pictures, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(f"ffmpeg failed: {said[-1] if said else done.returncode}")


def find_ffmpeg(others: str = ".gif or .html") -> str:
    """Return the program ffmpeg; without it a ModelError says which `others` need none."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise ModelError(
            "animate.path",
            "a name that ends in .mp4, and no program ffmpeg on this machine",
            "ffmpeg to encode the video",
            "this package brings no video encoder.",
            f"write a {others} instead, or install ffmpeg.",
        )
    return program


def picture_of(figure: PaperFigure, dpi: int = _DPI) -> Image:
    """Return a figure as a picture of even width and height, as video needs."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="raw", dpi=dpi)
    width = int(figure.get_figwidth() * dpi)
    pixels = np.frombuffer(buffer.getvalue(), dtype=np.uint8).reshape(-1, width, 4)[..., :3]
    height, width = (size - size % 2 for size in pixels.shape[:2])
    return Image.fromarray(np.ascontiguousarray(pixels[:height, :width]))
