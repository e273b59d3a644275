"""Phase portraits of flows: the path in the space of two or three states, with its events.

The colour of the path is that of its mode: h > 0, sliding, or h < 0. `figures.FlowFigures` calls
`phase`; figures of the wheel use `path` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.switching.figures.data import FlowData, symbol
from stiction.switching.figures.over_time import KINDS, LINES

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["path", "phase"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WORDS = {1: "h > 0", 0: "sliding", -1: "h < 0"}
# largest number of symbols for each kind of event
_MOST_MARKS = 400
# losses of determinism, whose symbols are drawn on top
_PLACES = ("two_fold", "codim2_line", "escaping_start")


def phase(data: FlowData, axes: Sequence[str | None] = (None, None, None)) -> PaperFigure:
    """Return the path in the space of two or three states, by default of the first ones.

    With several surfaces the colour of sliding is used if the state slides on any of them.

    Source: Szalai, Jeffrey 2014, Fig. 5 (b), (c).
    Verified by: tests/unit/switching/figures/test_figures.py::test_phase_axes_are_chosen
    """
    given = [name for name in axes if name is not None]
    names = data.chosen(given) if given else data.names[:3]
    if len(names) == 1:
        names = (*names, next(n for n in data.names if n != names[0]))
    spatial = len(names) == 3
    figure = style.new_figure(style.COLUMN, 3.3 if spatial else 2.7)
    if spatial:
        box = (0.04, 0.06, 0.86, 0.86)
        ax: Any = figure.add_axes(box, projection="3d", computed_zorder=False)
    else:
        ((ax,),) = style.grid(figure, margins=(0.62, 0.16, 0.42, 0.42))
    series = np.stack([data.state(name) for name in names])
    path(ax, series, _one_mode(data))
    kinds = _marks(ax, data, names)
    ends: dict[str, Any] = {"ls": "", "marker": "o", "ms": 4.0, "mec": style.INK, "mew": 0.8}
    ax.plot(*series[:, :1], mfc="white", zorder=6.0, **ends)
    ax.plot(*series[:, -1:], mfc=style.INK, zorder=5.5, **ends)
    if spatial:
        style.dress_3d(ax, [_label(data, name) for name in names])
    else:
        style.room(ax.set_xlim, series[0])
        style.room(ax.set_ylim, series[1])
        data.label(ax.xaxis, names[0], alone=True)
        data.label(ax.yaxis, names[1], alone=True)
    _legend(figure, data, kinds)
    return figure


def path(ax: Any, series: Floats, mode: Ints, *, width: float = 0.9, zorder: float = 2.0) -> None:
    """Draw a path of two or three coordinates, each interval in the colour of its mode.

    Parameters
    ----------
    series : (2 or 3, t) coordinates
    mode : (t,) -1, 0, 1
    """
    drawn = style.along(mode, series)
    series, mode = series[:, drawn], mode[drawn]
    for value in (1, -1, 0):
        # an interval extends to the first point of the next mode, without a gap
        shown = mode == value
        shown[1:] |= shown[:-1].copy()
        if shown.any():
            ax.plot(*np.where(shown, series, np.nan), color=LINES[value], lw=width, zorder=zorder)


def _one_mode(data: FlowData) -> Ints:
    """Return (t,) the mode of the first surface, 0 where the state slides on any surface."""
    slides = (data.mode == 0).any(axis=1)
    return np.where(slides, 0, data.mode[:, 0])


def _label(data: FlowData, name: str) -> str:
    """Return the symbol of a state with its unit."""
    plain = "dimensionless" if data.time_word == style.DIMENSIONLESS_TIME else ""
    unit = data.unit(name) or plain
    return f"{symbol(name)} ({unit})" if unit else symbol(name)


def _marks(ax: Any, data: FlowData, names: Sequence[str]) -> list[str]:
    """Mark the states of events, at most a few hundred of each kind; return the kinds."""
    log = data.run.event_log
    named = np.array(log.kind)
    kinds = [kind for kind in KINDS if kind in log.kind]
    for kind in kinds:
        selected = np.flatnonzero(named == kind)
        selected = selected[style.few(selected.size, _MOST_MARKS)]
        points = [np.asarray(log.columns[name])[selected] for name in names]
        ax.plot(*points, zorder=7.0 if kind in _PLACES else 5.0, **_look(kind))
    return kinds


def _look(kind: str) -> dict[str, Any]:
    """Return Matplotlib's options for the symbol of a kind of event."""
    marker, colour, _ = KINDS[kind]
    size = {"*": 8.0, "D": 4.0, "P": 5.0}.get(marker, 3.2)
    if kind == "cross":
        marker, size = "o", 2.0
    edge = "white" if kind in _PLACES else colour
    return {"ls": "", "marker": marker, "ms": size, "mfc": colour, "mec": edge, "mew": 0.5}


def _legend(figure: PaperFigure, data: FlowData, kinds: Sequence[str]) -> None:
    """Add a key of modes and kinds of events above the figure."""
    from matplotlib.lines import Line2D

    present = set(_one_mode(data).tolist())
    handles = [
        Line2D([], [], color=LINES[m], lw=1.2, label=_WORDS[m]) for m in (1, 0, -1) if m in present
    ]
    handles += [Line2D([], [], label=KINDS[kind][2], **_look(kind)) for kind in kinds]
    figure.legend(
        handles=handles,
        loc="upper center",
        ncols=4,
        frameon=False,
        fontsize=7.0,
        labelcolor=style.INK,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=0.9,
        borderaxespad=0.2,
    )
