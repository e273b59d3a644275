"""Figures of strings: the field over position and time with the contact, and its spectrum.

The field of a string is its displacement u(x, t); u and v touch at the contact. The spectrum is
that of the lead harmonic, the coefficient of sin(2 pi x / l); `data` computes it.
`StringFigures` calls these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.rods.figures.strings.data import CONTACT, STRINGS, StringData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from stiction.plot.figure import PaperFigure

__all__ = ["field", "overview", "spectrum"]

Floats = npt.NDArray[np.float64]

_SCALE_ROOM = 0.72  # width at the right of a field for the colour scale [in]
_MOST_LINES = 8.0  # frequencies up to this many times that of the free string are drawn
_DECADES = 9.0


def field(
    data: StringData,
    names: Sequence[str] | str = ("u", "v"),
    window: tuple[float, float] | None = None,
) -> PaperFigure:
    """Return the displacement of the strings over position and time, the contact in red.

    names : u, v or both
    window : begin and end of the time interval; None: all

    Source: Gay-Balmaz, Putkaradze 2012, Fig. 2 left.
    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_field_shows_the_saved_waves
    """
    names, span = data.chosen(names), data.window(window)
    height = 1.5 * len(names) + 0.14 * (len(names) - 1) + 0.42 + 0.3
    figure = style.new_figure(style.COLUMN, height)
    panels = style.grid(
        figure,
        len(names),
        margins=(0.5, _SCALE_ROOM, 0.42, 0.3),
        gaps=(0.0, 0.14),
        share_time=True,
    )
    axes = [panel[0] for panel in panels]
    largest = max(_size(data, name) for name in names)
    for ax, name in zip(axes, names, strict=True):
        _panel(ax, data, name, span, largest)
    data.time_axis(axes[-1], span)
    _field_key(axes[0], data)
    word = "displacement " + ", ".join(names)
    style.colour_bar(axes[0], field_colours(), (-largest, largest), word, "", below=axes[-1])
    figure.align_ylabels(axes)
    return figure


def spectrum(data: StringData, names: Sequence[str] | str = ("u",)) -> PaperFigure:
    """Return the power of the lead harmonics on a logarithmic axis, with those of the free string.

    Source: Gay-Balmaz, Putkaradze 2012, Fig. 2 right.
    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_spectrum_of_the_free_string
    """
    names = data.chosen(names)
    figure = style.new_figure(style.COLUMN, 2.7)
    ((ax,),) = style.grid(figure, margins=(0.56, 0.16, 0.42, 0.44))
    _spectrum_panel(ax, data, names)
    return figure


def overview(data: StringData) -> PaperFigure:
    """Return the field of u, and the spectrum of its lead harmonic if there are enough samples.

    Source: Gay-Balmaz, Putkaradze 2012, Fig. 2.
    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_overview_is_the_papers
    """
    figure = style.new_figure(style.PAGE, 2.7)
    gap = 0.56 + _SCALE_ROOM
    margins = (0.5, 0.16, 0.42, 0.44)
    ((left, right),) = style.grid(figure, 1, 2, margins=margins, gaps=(gap, 0.0))
    size = _size(data, "u")
    _panel(left, data, "u", data.span, size)
    style.colour_bar(left, field_colours(), (-size, size), "displacement u", "")
    data.time_axis(left)
    _field_key(left, data)
    if data.has_spectrum:
        _spectrum_panel(right, data, ("u",))
    else:
        right.set_axis_off()
        text = "too few times\nfor a spectrum"
        right.text(0.5, 0.5, text, transform=right.transAxes, ha="center", size=style.FONT)
    return figure


def field_colours() -> Colormap:
    """Return a diverging scale from violet to green on which the red contact line is visible."""
    from matplotlib.colors import LinearSegmentedColormap

    # equal lightness at equal distance from zero; after Brewer's PRGn
    stops = ("#40004b", "#8a60a2", "#d5c0dd", "#ffffff", "#bfe0ba", "#3f9650", "#00441b")
    return LinearSegmentedColormap.from_list("strings", stops)


def _size(data: StringData, name: str) -> float:
    """Return the largest displacement of a string, or 1 if it does not move."""
    return style.largest(data.values(name)) or 1.0


def _panel(
    ax: Axes, data: StringData, name: str, span: tuple[float, float], largest: float
) -> None:
    """Draw the field of one string over time and position, and the contact."""
    begin, end = span
    samples = np.flatnonzero((data.time >= begin) & (data.time <= end))
    samples = samples[style.few(samples.size, style.MOST_PIXELS)]
    columns = style.few(data.place(name).size, style.MOST_PIXELS)
    # rows of the image are evenly spaced, also before an early end
    even = np.linspace(begin, end, samples.size)
    at = samples[
        np.clip(np.searchsorted(data.time[samples], even + 1e-9 * (end - begin)) - 1, 0, None)
    ]
    image = data.values(name)[np.ix_(at, columns)].T
    length, place = data.length(name), data.place(name)[columns]
    if place[-1] < (1.0 - 1e-9) * length:  # the first node of a periodic string is also the last
        place, image = np.append(place, length), np.vstack([image, image[:1]])
    # pixels have their middles at the nodes and instants
    half = [0.5 * (x[-1] - x[0]) / max(x.size - 1, 1) for x in (even, place)]
    extent = (begin - half[0], end + half[0], place[0] - half[1], place[-1] + half[1])
    ax.imshow(
        image,
        cmap=field_colours(),
        vmin=-largest,
        vmax=largest,
        origin="lower",
        aspect="auto",
        extent=extent,
        interpolation="antialiased",
        zorder=1.0,
    )
    s = data.contact_on_grid(name)
    thinned = style.thin(s)
    for colour, width in (("white", 2.2), (CONTACT, 1.1)):
        ax.plot(data.time[thinned], s[thinned], color=colour, lw=width, zorder=2.0)
    data.end_lines(ax)
    ax.set_xlim(begin, end)
    ax.set_ylim(0.0, length)
    style.scale_axis(ax.yaxis, f"place on {name}")


def _field_key(ax: Axes, data: StringData) -> None:
    """Draw the legend: the contact line, and the ends of the model."""
    from matplotlib.lines import Line2D

    line = Line2D([], [], color=CONTACT, lw=1.1, label="contact")
    style.key(ax, [line, *data.end_handles()])


def _spectrum_panel(ax: Axes, data: StringData, names: Sequence[str]) -> None:
    """Draw the spectra of lead harmonics on a logarithmic axis."""
    most, top = 0.0, 1e-300
    for name in names:
        line = data.spectrum(name)
        last = line.omega[-1]
        if line.frequency is not None:
            last = min(last, _MOST_LINES * line.frequency)
        most, top = max(most, float(last)), max(top, float(line.density.max()))
        if line.free is not None and name == names[0]:
            word = f"{name} without contact"
            look = {"color": style.GREY, "lw": 0.8, "ls": (0, (3, 1.5)), "zorder": 1.5}
            ax.semilogy(line.omega, np.maximum(line.free, 1e-300), label=word, **look)
            top = max(top, float(line.free.max()))
        thinned = style.thin(np.log(np.maximum(line.density, 1e-300)))
        colour, word = STRINGS[name], f"{name}₁"
        shown = np.maximum(line.density[thinned], 1e-300)
        ax.semilogy(line.omega[thinned], shown, color=colour, lw=0.8, label=word, zorder=2.0)
    ax.set_xlim(0.0, most)
    ax.set_ylim(top * 10.0**-_DECADES, 5.0 * top)
    style.scale_axis(ax.xaxis, "angular frequency ω")
    ax.set_ylabel("spectrum S(ω)")
    _decades(ax)
    style.key(ax, columns=2)


def _decades(ax: Axes) -> None:
    """Label at most six powers of ten of a logarithmic vertical axis."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="y", which="both", labelsize=style.FONT)
