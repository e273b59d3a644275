"""Flows against time: states, multiplier, energy and events over bands of the modes.

The mode of a surface is the sign of its h, or sliding; a band of colour marks the interval of each
mode, a vertical line each loss of determinism. `figures.FlowFigures` calls `overview`, `multiplier`
and `events`. Sizes of figures and margins are in inches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stiction.plot import style
from stiction.switching.figures.data import MODES, FlowData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["BANDS", "KINDS", "LINES", "events", "line_handles", "multiplier", "overview"]

# colours by mode: pale for areas, saturated for lines
BANDS = {1: "#d7e6f4", 0: "#dcdcdc", -1: "#fbe3d2"}
LINES = {1: style.BLUE, 0: style.INK, -1: style.VERMILION}
_WORDS = {1: "h > 0", 0: "sliding", -1: "h < 0"}
# marker, colour and word of each kind of event
KINDS = {
    "cross": ("|", style.BLUE, "crossing"),
    "slide": ("^", style.INK, "onto surface"),
    "leave": ("v", style.INK, "off surface"),
    "kink": ("x", style.GREY, "kink"),
    "fold": ("s", style.GREEN, "fold"),
    "two_fold": ("*", style.PURPLE, "two-fold"),
    "codim2_line": ("D", style.VERMILION, "line h = g = 0"),
    "escaping_start": ("P", style.BROWN, "escaping start"),
    "intersection": ("d", style.INDIGO, "intersection"),
    "undecided": ("p", style.INK, "undecided"),
}
# colour of losses of any other kind
_OTHER = style.GREY
_MOST_STATES = 6
# losses of one kind closer than this fraction of the time span share a line
_CLOSE = 0.004
_MOST_LINES = 12


def overview(data: FlowData) -> PaperFigure:
    """Return a panel for each state (at most six) over bands of the modes of all surfaces.

    Verified by: tests/unit/switching/figures/test_figures.py::test_overview_shows_states_and_losses
    """
    names = [data.names[int(i)] for i in style.few(len(data.names), _MOST_STATES)]
    strip = 0.16 * data.n_surface
    height = 0.95 * len(names) + strip + 0.12 * len(names) + 0.42 + 0.42
    figure = style.new_figure(style.COLUMN, height)
    panels = style.grid(
        figure,
        len(names) + 1,
        margins=(0.62, 0.16, 0.42, 0.42),
        gaps=(0.0, 0.12),
        heights=[0.95] * len(names) + [strip],
        share_time=True,
    )
    axes = [level[0] for level in panels]
    for ax, name in zip(axes[:-1], names, strict=True):
        values = data.state(name)
        if data.n_surface == 1:
            _bands(ax, data, 0)
        thinned = style.thin(values)
        ax.plot(data.time[thinned], values[thinned], color=style.INK, lw=0.9, zorder=3.0)
        style.room(ax.set_ylim, values)
        data.label(ax.yaxis, name)
        _losses(ax, data)
    _strip(axes[-1], data)
    _losses(axes[-1], data)
    data.time_axis(axes[-1])
    style.key(axes[0], _band_handles(data) + _loss_handles(data), columns=3)
    figure.align_ylabels(axes)
    return figure


def multiplier(data: FlowData) -> PaperFigure:
    """Return the multiplier of each surface in sliding, with its limits -1 and 1.

    Verified by: tests/unit/switching/figures/test_figures.py::test_multiplier_while_sliding
    """
    count = data.n_surface
    figure = style.new_figure(style.COLUMN, 1.15 * count + 0.12 * (count - 1) + 0.84)
    margins = (0.62, 0.16, 0.42, 0.42)
    panels = style.grid(figure, count, margins=margins, gaps=(0.0, 0.12), share_time=True)
    for i, (ax,) in enumerate(panels):
        _bands(ax, data, i)
        values = np.where(data.mode[:, i] == 0, data.multiplier[:, i], np.nan)
        thinned = style.thin(values)
        ax.plot(data.time[thinned], values[thinned], color=style.INK, lw=1.0, zorder=3.0)
        for bound in (-1.0, 1.0):
            ax.axhline(bound, color=style.INK, lw=0.6, ls=(0, (4, 2)), zorder=2.0)
        ax.set_ylim(-1.25, 1.25)
        word = "multiplier" + (f" λ{style.subscript(i + 1)}" if count > 1 else " λ")
        style.scale_axis(ax.yaxis, word)
        _losses(ax, data)
    data.time_axis(panels[-1][0])
    style.key(panels[0][0], _band_handles(data) + _loss_handles(data), columns=3)
    figure.align_ylabels([level[0] for level in panels])
    return figure


def events(data: FlowData) -> PaperFigure:
    """Return the events as ticks over time: a line for each kind, colours by the mode after it.

    Verified by: tests/unit/switching/figures/test_figures.py::test_events_have_a_line_per_kind
    """
    log = data.run.event_log
    kinds = [kind for kind in KINDS if kind in log.kind]
    kinds += sorted(set(log.kind) - set(kinds))
    figure = style.new_figure(style.COLUMN, 0.72 + 0.22 * max(len(kinds), 1))
    ((ax,),) = style.grid(figure, margins=(0.98, 0.16, 0.42, 0.26))
    after = np.array([MODES[word] for word in log.after])
    named = np.array(log.kind)
    for level, kind in enumerate(kinds):
        for mode in (1, -1, 0):
            times = log.time[(named == kind) & (after == mode)]
            ax.vlines(times, level - 0.36, level + 0.36, color=LINES[mode], lw=0.9)
    ax.set_ylim(len(kinds) - 0.4, -0.6)
    words = [KINDS[kind][2] if kind in KINDS else kind for kind in kinds]
    data.time_axis(ax)
    ax.set_yticks(range(len(kinds)), words)
    ax.tick_params(axis="y", length=0.0)
    style.key(ax, line_handles("to "), columns=3)
    if (legend := ax.get_legend()) is not None:
        legend.set_bbox_to_anchor((-0.36, 1.0))
    if not kinds:
        ax.text(0.5, 0.5, "no events", transform=ax.transAxes, ha="center", va="center", size=8.0)
    return figure


# ---- parts


def _bands(ax: Axes, data: FlowData, i: int, low: float = 0.0, high: float = 1.0) -> None:
    """Shade the times of each mode of surface `i`, between two heights of the axes."""
    times, modes = data.mode_changes(i)
    ends = np.append(times[1:], data.time[-1])
    for mode, colour in BANDS.items():
        selected = (modes == mode) & (ends > times)
        spans = np.column_stack([times[selected], (ends - times)[selected]])
        if len(spans):
            band = (low, high - low)
            ax.broken_barh(
                spans.tolist(),
                band,
                facecolors=colour,
                lw=0.0,
                transform=ax.get_xaxis_transform(),
                zorder=0.5,
            )


def _strip(ax: Axes, data: FlowData) -> None:
    """Draw the bands of all surfaces one below the other, the first on top."""
    for i in range(data.n_surface):
        # the first surface on top
        level = data.n_surface - 1 - i
        _bands(ax, data, i, level / data.n_surface, (level + 0.86) / data.n_surface)
    heights = [(level + 0.43) / data.n_surface for level in range(data.n_surface)]
    words = ["mode"] if data.n_surface == 1 else [f"{i}" for i in range(data.n_surface, 0, -1)]
    ax.set_ylim(0.0, 1.0)
    ax.set_yticks(heights, words)
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)


def _losses(ax: Axes, data: FlowData) -> None:
    """Draw a line at each loss of determinism; losses too close to distinguish share one."""
    begin, end = data.span
    last: dict[str, float] = {}
    kinds = [kind for _, kind in data.losses]
    for time, kind in data.losses:
        if time - last.get(kind, -np.inf) > _CLOSE * (end - begin):
            last[kind] = time
            colour = _loss_look(kind)[0]
            # many lines would hide the curve: draw ticks at the upper edge
            many = kinds.count(kind) > _MOST_LINES
            low, dashes = (0.92, "-") if many else (0.0, (0, (2, 1.2)))
            ax.axvline(time, ymin=low, color=colour, lw=0.8, ls=dashes, zorder=2.5)


def _band_handles(data: FlowData) -> list[Any]:
    """Return entries of a key for the modes that occur."""
    from matplotlib.patches import Patch

    present = {int(mode) for i in range(data.n_surface) for mode in data.mode_changes(i)[1]}
    return [Patch(facecolor=BANDS[m], label=_WORDS[m]) for m in BANDS if m in present]


def line_handles(prefix: str = "", modes: Sequence[int] = (1, 0, -1)) -> list[Any]:
    """Return entries of a key for lines in the colours of modes."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=LINES[m], lw=1.2, label=prefix + _WORDS[m]) for m in modes]


def _loss_handles(data: FlowData) -> list[Any]:
    """Return entries of a key for the kinds of losses of determinism that occur."""
    from matplotlib.lines import Line2D

    kinds = list(dict.fromkeys(kind for _, kind in data.losses))
    looks: dict[str, Any] = {"lw": 0.9, "ls": (0, (2, 1.2))}
    entries = map(_loss_look, kinds)
    return [Line2D([], [], color=colour, label=word, **looks) for colour, word in entries]


def _loss_look(kind: str) -> tuple[str, str]:
    """Return colour and word of a loss of determinism."""
    return KINDS[kind][1:] if kind in KINDS else (_OTHER, kind.replace("_", " "))
