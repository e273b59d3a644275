"""The data of a movie: views with layers of lines, dots, boxes, springs, arrows and cells.

Shapes of arrays: f frames (1 for a layer that does not move), n points, d = 2 or 3 components.
Coordinates are in the unit of the view. Colours are indices of `PALETTE`; `HIDDEN` draws nothing.
The module `player` of each system's `figures` makes a `Movie` of a run. `page` plays it in a
browser, `painter` draws its frames for GIF and MP4 files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "BLUE", "BODIES", "GREEN", "GREY", "HIDDEN", "INK", "MODE_COLOURS", "ORANGE", "PALE",
    "PALETTE", "PINK", "RED", "SHADES", "STUCK", "SURFACE", "YELLOW", "Arrows", "Boxes", "Cells",
    "Dots", "Ground", "Layer", "Lines", "Mark", "Movie", "Reading", "Springs", "Trail", "View",
    "raised", "row_of_blocks",
]  # fmt: skip

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

INK, STUCK, BLUE, ORANGE, GREEN, PINK, YELLOW, RED, PALE, GREY, SURFACE = range(11)
HIDDEN = 255  # the colour of a point or line that is not drawn

# each colour on a white and on a black page
PALETTE = (
    ("#262626", "#ececec"),
    ("#c4c4c4", "#8a8a8a"),
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f08a3c"),
    ("#009e73", "#2cc79b"),
    ("#cc79a7", "#e09ac2"),
    ("#b8860b", "#e6b422"),
    ("#c1272d", "#ff6b6b"),
    ("#d9d9d9", "#444444"),
    ("#6e6e6e", "#a6a6a6"),
    ("#d0d3d6", "#3c4147"),
    # bodies: pale, so that arrows stand out on them
    ("#9ecae1", "#5d93b3"),
    ("#f6c38b", "#b98648"),
    ("#b5d8b0", "#76a56f"),
    ("#d5c3e0", "#9a83a8"),
    ("#efe08f", "#ab9c4c"),
    ("#c9c9c9", "#7d7d7d"),
)
BODIES = tuple(range(11, 17))
# of backward slip, stick and forward slip
MODE_COLOURS = (ORANGE, STUCK, BLUE)
# the largest shade of cells: 0 blue, 128 white, 255 red
SHADES = 255
_WALL, _HATCH = 2.6, 1.2  # height of a wall and distance of hatches, over half of a block


@dataclass(frozen=True, eq=False)
class Layer:
    """Base of the layers of a view: lines, dots, boxes and the other classes below."""

    KIND: ClassVar[str] = ""


@dataclass(frozen=True, eq=False)
class Lines(Layer):
    """Polylines.

    Parameters
    ----------
    points : (f, n, d) points of one line after the other
    starts : index of the first point of each line
    colour : (f, lines)
    width, thick : line width [px]; a positive `thick` replaces it by one in the unit of the view
    closed, filled : whether the last point is joined to the first, and the inside painted
    """

    KIND = "lines"
    points: Floats
    starts: tuple[int, ...]
    colour: Ints
    width: float = 1.5
    thick: float = 0.0
    closed: bool = False
    filled: bool = False


@dataclass(frozen=True, eq=False)
class Dots(Layer):
    """Round markers.

    Parameters
    ----------
    points : (f, n, d)
    colour : (f, n)
    size : radius [px]
    held : no interpolation between frames, because an index may be another point in the next
    """

    KIND = "dots"
    points: Floats
    colour: Ints
    size: float = 4.0
    held: bool = False


@dataclass(frozen=True, eq=False)
class Boxes(Layer):
    """Rectangles with a label each, hatched where their colour is `STUCK`.

    Parameters
    ----------
    points : (f, n, 2) centres
    colour : (f, n)
    half : half of their width and of their height, in the unit of the view
    labels : text on each
    """

    KIND = "boxes"
    points: Floats
    colour: Ints
    half: tuple[float, float]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Springs(Layer):
    """Springs, drawn as zigzags.

    Parameters
    ----------
    points : (f, 2 n, 2) both ends of each
    """

    KIND = "springs"
    points: Floats


@dataclass(frozen=True, eq=False)
class Ground(Layer):
    """A horizontal ground line, hatched below, that moves horizontally.

    Parameters
    ----------
    points : (f, 1, 1) its horizontal displacement, in the unit of the view
    level : its vertical coordinate
    step : distance of the hatches
    """

    KIND = "ground"
    points: Floats
    level: float
    step: float


@dataclass(frozen=True, eq=False)
class Arrows(Layer):
    """Arrows.

    Parameters
    ----------
    points : (f, n, d) their tails
    vectors : (f, n, d) from tail to tip
    colour : (f, n)
    held : as of dots
    """

    KIND = "arrows"
    points: Floats
    vectors: Floats
    colour: Ints
    held: bool = False


@dataclass(frozen=True, eq=False)
class Cells(Layer):
    """Polygons (faces of elements) in a colour that shows a field.

    Parameters
    ----------
    points : (f, n, d)
    cells : (c, k) indices of the corners of each polygon
    shade : (f, c) from 0 (blue) over 128 (white) to `SHADES` (red)
    """

    KIND = "cells"
    points: Floats
    cells: Ints
    shade: Ints


@dataclass(frozen=True, eq=False)
class Trail(Layer):
    """A trajectory: pale as a whole, the points passed so far in `colour`.

    Parameters
    ----------
    points : (k, d)
    passed : (f,) number of points passed
    colour : (k,)
    """

    KIND = "trail"
    points: Floats
    passed: Ints
    colour: Ints


@dataclass(frozen=True, eq=False)
class View:
    """One of the pictures side by side in a movie.

    Parameters
    ----------
    title : its heading
    layers : from the back to the front
    low, high : (d,) coordinates at the lower left and the upper right; an axis may be reversed
    axes : labels of the axes; () draws no axes
    equal : whether both axes have the same scale; always so in space
    height : of the picture over its width
    turn : initial azimuth and elevation of the viewer, for d = 3 [rad]
    """

    title: str
    layers: Sequence[Layer]
    low: Floats
    high: Floats
    axes: tuple[str, ...] = ()
    equal: bool = True
    height: float = 0.5
    turn: tuple[float, float] = (-np.pi / 3.0, 0.45)


@dataclass(frozen=True, eq=False)
class Reading:
    """A number that is shown beside the clock: (f,) `values`."""

    label: str
    unit: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Mark:
    """An event on the time bar: its exact time, its label, its colour."""

    time: float
    label: str
    colour: int = INK


@dataclass(frozen=True, eq=False)
class Movie:
    """Frames at rising times, and the numbers beside them.

    Parameters
    ----------
    title, notes : heading, and how the picture differs from the solution, such as magnification
    time : (f,) times of the frames
    unit : of the time; "" for none
    views : pictures side by side
    marks : events
    readings : numbers beside the clock
    keys : legend: colours and their meaning
    strip : (f, n) colours under the time bar
    even : whether each frame is shown equally long, although the steps of `time` differ
    clock : symbol before the time, another one if frames follow another parameter
    """

    title: str
    notes: str
    time: Floats
    unit: str
    views: Sequence[View]
    marks: Sequence[Mark] = ()
    readings: Sequence[Reading] = ()
    keys: Sequence[tuple[int, str]] = ()
    strip: Ints | None = None
    even: bool = False
    clock: str = "t"


def row_of_blocks(
    place: Floats,
    colour: Ints,
    half: float,
    moved: Floats,
    *,
    numbers: Ints,
    walls: Floats,
    linked: Bools,
) -> list[Layer]:
    """Return the layers of a spring-block chain: ground, springs, walls and numbered blocks.

    Parameters
    ----------
    place, colour : (f, n) horizontal positions of the blocks, and their colours
    half : half of the side of a block
    moved : (f,) displacement of the ground
    numbers : (n,) numbers on the blocks
    walls : (2,) positions of the left and the right wall
    linked : (n + 1,) whether spring i joins block i to its left neighbour or the left wall; the
        last one joins the last block to the right wall
    """
    # columns: left wall, left and right faces of the blocks, right wall; pairs of them are springs
    ends = np.pad(np.repeat(place, 2, axis=1), ((0, 0), (1, 1)))
    ends[:, 0], ends[:, -1] = walls
    ends[:, 1:-1] += np.tile([-half, half], place.shape[1])
    ends = ends.reshape(len(place), -1, 2)[:, linked].reshape(len(place), -1)
    layers: list[Layer] = [Ground(moved[:, None, None], 0.0, _HATCH * half)]
    if ends.size:
        layers.append(Springs(raised(ends, half)))
    for at in walls[linked[[0, -1]]]:
        line = np.array([[[at, 0.0], [at, _WALL * half]]])
        layers.append(Lines(line, (0,), np.array([[INK]]), width=2.0))
    labels = tuple(map(str, numbers.tolist()))
    return [*layers, Boxes(raised(place, half), colour, (half, half), labels)]


def raised(across: Floats, level: float) -> Floats:
    """Return (..., 2) points from horizontal coordinates and a common height."""
    return np.stack([across, np.full(across.shape, level)], axis=-1)
