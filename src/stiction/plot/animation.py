"""Animations of a chain: GIF, MP4 (where ffmpeg is there) and a page for any browser."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stiction.errors import ModelError, StoreError, explain
from stiction.plot.chain_data import ChainData
from stiction.plot.files import written
from stiction.plot.film import Film, film_of
from stiction.results.run import Run

__all__ = ["animate"]

_LAST_FRAME_MS = 1500  # a GIF rests on its last frame before it starts again


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

    Verified by: tests/unit/plot/test_animation.py::test_gif_has_every_frame
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
    if run.family != "chains":
        raise ModelError(
            explain(
                "animate.run",
                f"a run of {run.system_name!r}",
                "a run of a chain",
                "an animation shows blocks on a rail.",
                "draw the figures that `run.plot` has.",
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
    from PIL import Image

    from stiction.plot._painter import Painter

    painter = Painter(film)
    frames = [painter.frame(k) for k in range(film.time.size)]
    # one palette for all frames: smaller, and colours do not flicker
    palette = frames[len(frames) // 2].quantize(64, method=Image.Quantize.MEDIANCUT)
    # the paper is mixed with the palest greys, which would tint it
    colours = np.array(palette.getpalette(), dtype=np.uint8).reshape(-1, 3)
    colours[colours.min(axis=1) >= 244] = 255
    palette.putpalette(colours.tobytes())
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    # GIF counts in hundredths of a second
    delay = max(20, 10 * round(100.0 / film.fps))
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


def _write_mp4(film: Film, path: Path) -> None:
    from stiction.plot._painter import Painter

    program = shutil.which("ffmpeg")
    if program is None:
        raise ModelError(
            explain(
                "animate.path",
                "a name that ends in .mp4, and no program ffmpeg on this machine",
                "ffmpeg to encode the video",
                "this package brings no video encoder.",
                "write a .gif or .html instead, or install ffmpeg.",
            )
        )
    painter = Painter(film)
    width, height = painter.size
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{film.fps:g}"]
    coded = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path)]
    pictures = b"".join(painter.frame(k).tobytes() for k in range(film.time.size))
    command = [program, "-y", "-loglevel", "error", *raw, "-i", "-", *coded]
    done = subprocess.run(command, input=pictures, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(f"ffmpeg failed: {said[-1] if said else done.returncode}")


def _write_html(film: Film, path: Path) -> None:
    from stiction.plot.player import page

    path.write_text(page(film), encoding="utf-8")
