"""The style of every figure: sizes, colours, axes, units, and thinning of long series.

Sizes are those of a two-column paper. Every line has a contrast of 3 or more to white paper. The
six `MASS_COLOURS` are distinct for colour-blind readers: three are of the palette of Okabe and
Ito, three replace colours of theirs that are too pale for a line. The lightness of the colour
map for many lines rises evenly, so that they differ in grey print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from stiction.plot.figure import PaperFigure

__all__ = [
    "BLUE", "BROWN", "COLUMN", "DIMENSIONLESS_TIME", "GREEN", "GREY", "INDIGO", "INK",
    "MASS_COLOURS", "MOST_PIXELS", "MOST_POINTS", "PAGE", "PURPLE", "REST", "STUCK", "VERMILION",
    "along", "colour_bar", "digit_room", "dress", "end_labels", "few", "finite", "grid", "key",
    "largest", "many_colours", "mass_colours", "new_figure", "room", "scale_axis", "subscript",
    "thin",
]  # fmt: skip

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COLUMN = 3.4  # width of one column [in]
PAGE = 7.0  # width of both columns [in]
FONT = 8.0  # [pt]

INK = "#262626"
GREY = "#8a8a8a"
BLUE, VERMILION, GREEN, PURPLE, BROWN, INDIGO = MASS_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#AA3377",
    "#6B3E00",
    "#332288",
)
STUCK = "#c4c4c4"  # a mass at rest
# the time of a system without units; figures, players and summaries say "dimensionless"
DIMENSIONLESS_TIME = "time (dimensionless)"
REST = "#eeeeee"  # shading of the times at which all masses are at rest

MOST_POINTS = 2000  # of one line; more cannot be distinguished on a page
MOST_PIXELS = 1600  # of one side of an image

_YEAR = 365.25 * 86400.0
# unit of times that exceed the first number [s]: its length [s] and its name
_LONG = ((10.0 * _YEAR, _YEAR, "years"), (1e6, 86400.0, "days"))
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
# units that begin with a power, a reciprocal or kg
_NO_PREFIX = re.compile(r"[^\W\d]+[\^²³⁴]|1\b|kg\b")
_TICK_ROOM = (0.35, 0.24)  # least distance of ticks, horizontally and vertically [in]
_PLAIN = (0.1, 1e4)  # an axis whose largest value lies between these has no prefix


def new_figure(width: float, height: float) -> PaperFigure:
    """Return an empty figure of a size in inches, outside pyplot's list of open figures."""
    from stiction.plot.figure import PaperFigure

    return PaperFigure(figsize=(width, height), dpi=150, facecolor="white")


def grid(
    figure: PaperFigure,
    rows: int = 1,
    columns: int = 1,
    *,
    margins: tuple[float, float, float, float] = (0.56, 0.16, 0.42, 0.12),
    gaps: tuple[float, float] = (0.55, 0.12),
    heights: Sequence[float] | None = None,
    share_time: bool = False,
) -> list[list[Axes]]:
    """Return the axes of a grid, laid out in inches so that no layout engine has to run.

    Parameters
    ----------
    margins : left, right, bottom, top [in]
    gaps : between columns, between rows [in]
    heights : relative heights of the rows
    share_time : the rows of a column share their horizontal axis, labelled at the bottom
    """
    width, height = figure.get_size_inches()
    left, right, bottom, top = margins
    inner_width = (width - left - right - (columns - 1) * gaps[0]) / columns
    inner_height = (height - bottom - top - (rows - 1) * gaps[1]) / rows
    spec = figure.add_gridspec(
        rows,
        columns,
        left=left / width,
        right=1.0 - right / width,
        bottom=bottom / height,
        top=1.0 - top / height,
        wspace=gaps[0] / inner_width,
        hspace=gaps[1] / inner_height,
        height_ratios=heights,
    )
    axes: list[list[Axes]] = []
    for i in range(rows):
        row: list[Axes] = []
        for j in range(columns):
            above = axes[0][j] if share_time and i > 0 else None
            row.append(dress(figure.add_subplot(spec[i, j], sharex=above)))
            if share_time and i < rows - 1:
                row[-1].tick_params(labelbottom=False)
        axes.append(row)
    return axes


def dress(ax: Axes) -> Axes:
    """Give axes thin spines, small ticks and the font size of all figures; return them."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(linewidth=0.6, color=INK)
    ax.tick_params(labelsize=FONT, width=0.6, length=2.5, color=INK, labelcolor=INK, pad=2.0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_fontsize(FONT)
        axis.label.set_color(INK)
        axis.offsetText.set_fontsize(FONT)
        axis.labelpad = 2.5
    return ax


def scale_axis(axis: Axis, word: str, unit: str = "") -> None:
    """Label an axis "word (unit)"; very small or large values get a prefix, such as mm.

    A power of ten stands for the prefix before units such as m^2, 1/m and kg, of which a prefix
    would have another meaning.
    Spans of more than ten years are labelled in years of 365.25 days, those of more than a million
    seconds in days. The data stay in SI units: only tick labels are scaled. Call it after the
    limits are set or all curves are drawn.

    Verified by: tests/unit/plot/test_style.py::test_prefixes_scale_labels_not_data
    """
    from stiction.plot.figure import EvenTicks, ScaledTicks

    ends = axis.get_view_interval()
    largest, span = float(np.abs(ends).max()), float(np.ptp(ends))
    factor, prefix, unit = 1.0, "", "" if unit == "1" else unit
    long = [entry[1:] for entry in _LONG if unit == "s" and entry[0] <= span < np.inf]
    if long:
        factor, unit = long[0]
    plain = _PLAIN[0] <= largest < (np.inf if unit in ("s", "days", "years") else _PLAIN[1])
    if unit and np.isfinite(largest) and largest > 0.0 and not plain:
        fitting = [entry for entry in _PREFIXES if entry[0] <= largest * 1.0001]
        factor, prefix = fitting[0] if fitting else _PREFIXES[-1]
        if prefix and _NO_PREFIX.match(unit):
            prefix = f"$10^{{{round(np.log10(factor))}}}$ "
    axis.set_label_text(f"{word} ({prefix}{unit})" if unit else word)
    box = axis.axes.get_position()
    width, height = _root(axis.axes).get_size_inches()
    across = axis is axis.axes.xaxis
    # labels of ticks that differ in their last digits are long
    long_labels = 0.065 * np.floor(np.log10(largest / span)) if 0.0 < span < largest else 0.0
    apart = (_TICK_ROOM[0] + long_labels) / width if across else _TICK_ROOM[1] / height
    ticks = (box.width if across else box.height) / apart
    axis.set_major_locator(EvenTicks(int(np.clip(ticks, 2, 6)), factor))
    axis.set_major_formatter(ScaledTicks(factor))


def key(
    ax: Axes, handles: Sequence[Any] | None = None, columns: int = 3, markers: float = 1.0
) -> None:
    """Put the legend above the axes, without a frame, in rows that read from left to right.

    handles, columns, markers : entries (None: all of `ax`), entries per row, scale of the markers
    """
    handles = ax.get_legend_handles_labels()[0] if handles is None else list(handles)
    # matplotlib fills column by column
    handles = [handle for start in range(columns) for handle in handles[start::columns]]
    look: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "frameon": False}
    look |= {"fontsize": FONT, "labelcolor": INK, "borderaxespad": 0.1, "borderpad": 0.2}
    look |= {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.0, "labelspacing": 0.25}
    ax.legend(handles=handles, ncols=columns, markerscale=markers, **look)


def end_labels(
    ax: Axes, values: Sequence[float] | Floats, words: Sequence[str], colours: Sequence[str]
) -> None:
    """Write `words` to the right of the axes at the heights of `values`, without overlap."""
    low, high = ax.get_ylim()
    height = ax.get_position().height * _root(ax).get_figheight()
    least = 1.25 * FONT / 72.0 / height
    places = spread((np.asarray(values, dtype=np.float64) - low) / (high - low), least)
    look: dict[str, Any] = {"transform": ax.transAxes, "size": FONT, "va": "center", "ha": "left"}
    for place, word, colour in zip(places, words, colours, strict=True):
        ax.text(1.015, place, word, color=colour, **look)


def spread(places: Floats, least: float) -> Floats:
    """Return `places` in [0, 1] with gaps of `least`, order unchanged, by the smallest shift."""
    order = np.argsort(np.nan_to_num(places, nan=0.5), kind="stable")
    moved = np.clip(np.nan_to_num(places, nan=0.5)[order], 0.0, 1.0)
    steps = least * np.arange(moved.size)
    # pool adjacent violators: groups that would overlap are centred on the mean of their places
    groups: list[list[float]] = []
    for value in moved - steps:
        groups.append([value, 1.0])
        while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
            value, count = groups.pop()
            before = groups[-1]
            total = before[1] + count
            groups[-1] = [(before[0] * before[1] + value * count) / total, total]
    flat = np.concatenate([np.full(int(count), value) for value, count in groups])
    flat = np.clip(flat, 0.0, max(0.0, 1.0 - steps[-1]))
    result = np.empty(places.size)
    result[order] = flat + steps
    return result


def mass_colours(numbers: Ints, n_mass: int) -> list[str]:
    """Return one colour per mass number (from 1): its own for few masses, a scale for many."""
    if n_mass <= len(MASS_COLOURS):
        return [MASS_COLOURS[int(i) - 1] for i in numbers]
    from matplotlib.colors import to_hex

    colours = many_colours()
    return [to_hex(colours((int(i) - 1) / max(1, n_mass - 1))) for i in numbers]


def many_colours() -> Colormap:
    """Return the dark part of the colour map plasma, visible on white paper and beside `STUCK`."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["plasma"](np.linspace(0.0, 0.63, 256)), name="masses")


def colour_bar(
    ax: Axes, colours: Colormap, limits: Sequence[float], word: str, unit: str, below: Any = None
) -> Axes:
    """Add a colour scale "word (unit)" to the right of `ax`, down to `below`; return its axes."""
    figure = _root(ax)
    box, low = ax.get_position(), (below or ax).get_position().y0
    width = figure.get_figwidth()
    place = (box.x1 + 0.08 / width, low, 0.08 / width, box.y1 - low)
    slim = figure.add_axes(place, label="<colorbar>")
    dress(slim)
    ramp = np.linspace(0.0, 1.0, 256)[:, None]
    slim.imshow(
        ramp, cmap=colours, aspect="auto", origin="lower", extent=(0.0, 1.0, limits[0], limits[1])
    )
    slim.set_xticks([])
    slim.yaxis.tick_right()
    slim.yaxis.set_label_position("right")
    scale_axis(slim.yaxis, word, unit)
    slim.spines[:].set_visible(False)
    return slim


def _root(ax: Axes) -> Figure:
    """Return the figure that contains the axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def digit_room(n_mass: int) -> float:
    """Return the extra margin [in] for axis labels of mass numbers with more than two digits."""
    return 0.065 * max(0, len(str(n_mass)) - 2)


def few(count: int, most: int) -> Ints:
    """Return at most `most` of the indices 0 ... count - 1, evenly spaced, ends included."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(np.int64))


def along(mode: npt.NDArray[Any], series: Floats, most: int = 4 * MOST_POINTS) -> Ints:
    """Return the indices of the samples to draw of a path (q, n): all, or enough for its shape.

    A sample is omitted if it lies in the same cell as the sample before, on a grid of 500 cells
    over the range of each coordinate. Of the others at most `most` are drawn, evenly spaced, and
    both samples at each change of `mode` (n,). If these miss the path by over 1/200 of its range,
    the last `most` samples are drawn instead, because chords would cut across an orbit.

    Verified by: tests/unit/plot/test_style.py::test_a_path_keeps_its_shape_and_its_modes
    """
    if mode.size <= most:
        return np.arange(mode.size)
    place = np.nan_to_num(series, posinf=0.0, neginf=0.0)
    place = place / (np.ptp(place, axis=1, keepdims=True) + 1e-300)
    moved = (np.diff(np.floor(500.0 * place)) != 0.0).any(axis=0)
    change = np.flatnonzero(np.diff(mode))
    moved[change] = True
    keep = np.unique(np.concatenate([[0], np.flatnonzero(moved) + 1, change, [mode.size - 1]]))
    change = change[few(change.size, most)]
    drawn = np.union1d(keep[few(keep.size, most)], np.append(change, change + 1))
    length = np.append(0.0, np.cumsum(np.abs(np.diff(place)).sum(axis=0)))
    off = max(np.abs(np.interp(length, length[drawn], line[drawn]) - line).max() for line in place)
    return drawn if off < 0.005 else keep[-most:]


def thin(*values: Floats, most: int = MOST_POINTS) -> Ints:
    """Return the indices of the samples to draw of series (n,): all, or the extremes of each bin.

    More than `most` samples are divided into bins. Each bin retains the indices of the smallest
    and the largest value of each series, so that no peak is lost.

    Verified by: tests/unit/plot/test_style.py::test_thinning_preserves_the_peaks
    """
    count = values[0].size
    if count <= most:
        return np.arange(count)
    width = -(-count // max(1, (most - 2) // (2 * len(values))))
    begins = np.arange(0, count, width)
    picked = [np.array([0, count - 1])]
    for series in values:
        clean = np.nan_to_num(series, nan=0.0)
        full = np.append(clean, np.full(begins.size * width - count, clean[-1]))
        parts = full.reshape(begins.size, width)
        picked += [begins + parts.argmin(axis=1), begins + parts.argmax(axis=1)]
    return np.unique(np.minimum(np.concatenate(picked), count - 1))


def finite(values: Floats) -> Floats:
    """Return values with infinity replaced by NaN, which is not drawn."""
    return np.where(np.isfinite(values), values, np.nan)


def largest(values: Floats) -> float:
    """Return the largest magnitude among the finite values; 0 if there are none."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def room(set_limits: Callable[[float, float], object], values: Floats) -> None:
    """Set the limits of an axis to the range of the finite values, widened by 6 % on each side."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    spare = 0.06 * (high - low) if high > low else (0.1 * abs(high) or 1.0)
    set_limits(low - spare, high + spare)


def subscript(number: int) -> str:
    """Return a number in subscript digits, as in x₁₂."""
    return "".join(chr(0x2080 + int(digit)) for digit in str(number))


def dress_3d(ax: Any, labels: Sequence[str], *, ticks: int = 4, size: float = 8.0) -> None:
    """Give three-dimensional axes white walls, thin lines, few ticks and labels."""
    from matplotlib.ticker import MaxNLocator

    for axis, label in zip((ax.xaxis, ax.yaxis, ax.zaxis), labels, strict=True):
        axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
        axis.line.set_color(INK)
        axis.line.set_linewidth(0.6)
        axis._axinfo["grid"].update(color="#e2e2e2", linewidth=0.4)
        axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
        axis.set_label_text(label)
        axis.label.set_size(size)
        axis.labelpad = -2.0
        axis.set_tick_params(labelsize=size - 1.0, pad=1.0 if axis is ax.zaxis else -2.0)
    ax.set_proj_type("ortho")
