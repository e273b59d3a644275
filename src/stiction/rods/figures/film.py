"""An animation of rods in space."""

from __future__ import annotations

from pathlib import Path

from stiction.errors import ModelError
from stiction.plot.pictures import check_path, frame_times, picture_of, write_film
from stiction.rods.figures.data import RodData
from stiction.rods.figures.paint import paint
from stiction.rods.figures.scene import Stage, pixels_of, tubes_missing
from stiction.rods.figures.view import RODS, ROLL_COLOUR, SLIP_COLOUR, view_of

__all__ = ["animate"]

_DPI = 120
_COLOURS = 160  # of a GIF; shaded tubes need more than flat drawings
_SHADES = (1.0, 0.8, 0.6)  # of an arrow, which is small but says most


def animate(
    data: RodData,
    path: str | Path,
    *,
    seconds: float,
    fps: float,
    view: tuple[float, float] = (28.0, -60.0),
    tubes: bool | None = None,
) -> Path:
    """Write an animation of the rods and return its path; the suffix names the format.

    Raises
    ------
    ModelError : if the format is not known or cannot be made here, or an option is no number.
    StoreError : if the file cannot be written.

    Verified by: tests/unit/rods/figures/test_figures.py::test_animation_has_every_frame
    """
    path = check_path(path)
    span = (float(data.time[0]), float(data.time[-1]))
    scenes = [data.scene(data.row(float(t))) for t in frame_times(span, seconds, fps)]
    looks = view_of(data, scenes, view)
    # twice as fine as the film, so that edges are smooth
    fine = pixels_of(looks, 2 * _DPI)
    pictures, reason = ([], "") if tubes is False else paint(looks, scenes, fine, smooth=False)
    if tubes and not pictures:
        raise ModelError(tubes_missing(reason))
    stage = Stage(data, looks, scenes, pictures, view)
    frames = []
    for k in range(len(scenes)):
        stage.show(k)
        frames.append(picture_of(stage.figure, _DPI))
    return write_film(frames, path, fps, colours=_COLOURS, keep=_kept())


def _kept() -> list[str]:
    """Return the colours of the key, and of arrows in the shade."""
    from matplotlib.colors import to_hex, to_rgb

    arrows = []
    for colour in (ROLL_COLOUR, SLIP_COLOUR):
        red, green, blue = to_rgb(colour)
        arrows += [to_hex((k * red, k * green, k * blue)) for k in _SHADES]
    return [*RODS, *arrows]
