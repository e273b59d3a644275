"""Figures of the wheel: maps of its surface h = 0, orbits through the two-fold, and tyre laws.

A map shows the sliding, escaping and crossing regions of the surface and the sticking flow, that is
Filippov's sliding field, over two coordinates. `portraits` computes them. `stiction.papers` draws
the figures of the paper, Szalai, Jeffrey 2014, by these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.plot import style
from stiction.switching.figures.data import FlowData
from stiction.switching.figures.over_time import LINES
from stiction.switching.figures.phase import path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["recurrence", "surface_map", "surface_panel", "tyre_curves"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# sliding, escaping, crossing to h > 0, crossing to h < 0
REGIONS = ("#dcdcdc", "#f6dfe9", "#e3f0fa", "#fdeee2")
_WORDS = ("sliding", "escaping", "crossing to h > 0", "crossing to h < 0")
_FORCE, _MOMENT = style.VERMILION, style.BLUE


def cells_around(x: Floats, y: Floats) -> tuple[float, float, float, float]:
    """Return the extent of an image whose cells have their middles at evenly spaced points."""
    (left, right), (below, above) = (
        (1.5 * a[0] - 0.5 * a[1], 1.5 * a[-1] - 0.5 * a[-2]) for a in (x, y)
    )
    return float(left), float(right), float(below), float(above)


def surface_panel(
    ax: Axes,
    grid: tuple[Floats, Floats],
    region: Ints,
    sticking: tuple[Floats, Floats],
    labels: Sequence[tuple[str, str]],
) -> None:
    """Draw the regions of a surface and the sticking flow over two coordinates.

    Parameters
    ----------
    grid : (n_x,) and (n_y,) evenly spaced coordinates
    region : (n_y, n_x) 0 sliding, 1 escaping, 2 and 3 crossing
    sticking : rates of both coordinates, (n_y, n_x) each, NaN where the flow crosses
    labels : symbol and unit of each coordinate
    """
    from matplotlib.colors import ListedColormap

    x, y = grid
    colours = ListedColormap(list(REGIONS))
    ax.imshow(region, origin="lower", extent=cells_around(x, y), aspect="auto", cmap=colours,
              vmin=0, vmax=3, interpolation="nearest", zorder=0.2)  # fmt: skip
    ax.streamplot(x, y, *sticking, color="#5a5a5a", linewidth=0.5, density=1.1, arrowsize=0.6)
    ax.set_xlim(float(x[0]), float(x[-1]))
    ax.set_ylim(float(y[0]), float(y[-1]))
    for axis, (word, unit) in zip((ax.xaxis, ax.yaxis), labels, strict=True):
        style.scale_axis(axis, word, unit)


def surface_map(
    grid: tuple[Floats, Floats],
    region: Ints,
    sticking: tuple[Floats, Floats],
    labels: Sequence[tuple[str, str]],
    *,
    points: Sequence[tuple[float, float]] = (),
    orbit: tuple[Floats, Floats, Ints] | None = None,
    line: float | None = None,
) -> PaperFigure:
    """Return one map of a surface, with two-folds, an orbit in it and the line h = g = 0.

    Parameters
    ----------
    points : coordinates of two-folds
    orbit : coordinates and modes (-1, 0, 1) of a run; parts off the surface are projected on it
    line : second coordinate of the line h = g = 0

    Source: Szalai, Jeffrey 2014, section VI.
    Verified by: tests/unit/switching/figures/test_papers.py::test_surface_map
    """
    figure = style.new_figure(style.COLUMN, 3.0)
    ((ax,),) = style.grid(figure, margins=(0.62, 0.12, 0.42, 0.62))
    surface_panel(ax, grid, region, sticking, labels)
    handles = _region_handles(region)
    if line is not None:
        ax.axhline(line, color=style.VERMILION, lw=1.0, ls=(0, (4, 2)))
        handles.append(_line("line h = g = 0", color=style.VERMILION, ls=(0, (4, 2))))
    for point in points:
        ax.plot(*point, "*", ms=9.0, mfc=style.PURPLE, mec="white", zorder=5.0)
    if points:
        handles.append(_line("two-fold", ls="", marker="*", ms=8.0, mfc=style.PURPLE, mec="white"))
    if orbit is not None:
        path(ax, np.stack(orbit[:2]), orbit[2], width=1.1, zorder=4.0)
    style.key(ax, handles, columns=2)
    return figure


def recurrence(
    grid: tuple[Floats, Floats],
    region: Ints,
    sticking: tuple[Floats, Floats],
    two_fold: Sequence[float],
    weak: Sequence[float],
    runs: Mapping[str, Run],
    near: Mapping[str, Run],
    line: float,
) -> PaperFigure:
    """Return (a) the sticking flow, (b) orbits through the two-fold, (c) their parts after it.

    Parameters
    ----------
    two_fold : r [m], v [m/s], omega [rad/s] of the two-fold
    weak : direction in (r, omega) along which sticking orbits pass the two-fold
    runs, near : the runs of panels (b) and (c); those of (c) are drawn after the two-fold
    line : omega of the line h = g = 0 [rad/s]

    Source: Szalai, Jeffrey 2014, Fig. 5.
    Verified by: tests/unit/switching/figures/test_papers.py::test_recurrence
    """
    figure = style.new_figure(style.PAGE, 5.6)
    ax = style.dress(figure.add_axes((0.1, 0.56, 0.52, 0.385)))
    surface_panel(ax, grid, region, sticking, (("r", "m"), ("ω", "rad/s")))
    point = (two_fold[0], two_fold[2])
    direction_end = (point[0] + weak[0], point[1] + weak[1])
    ax.axline(point, direction_end, color=LINES[1], lw=0.9)
    ax.axhline(line, color=style.VERMILION, lw=1.0, ls=(0, (4, 2)))
    ax.plot(*point, "*", ms=10.0, mfc=style.PURPLE, mec="white", zorder=5.0)
    handles = [
        *_region_handles(region),
        _line("weak eigenvector", color=LINES[1]),
        _line("line h = g = 0", color=style.VERMILION, ls=(0, (4, 2))),
        _line("two-fold", ls="", marker="*", ms=8.0, mfc=style.PURPLE, mec="white"),
        _line("orbit, h > 0", color=LINES[1], lw=1.6),
        _line("orbit, h < 0", color=LINES[-1], lw=1.6),
        _line("orbit, sticking", color=LINES[0], lw=1.6),
    ]
    figure.legend(
        handles=handles, loc=(0.66, 0.6), frameon=False, fontsize=8.0, labelcolor=style.INK
    )
    for left, shown, begin in ((0.02, runs, False), (0.51, near, True)):
        box = (left, 0.02, 0.42, 0.46)
        space: Any = figure.add_axes(box, projection="3d", computed_zorder=False)
        for run in shown.values():
            _orbit(space, FlowData(run), after_two_fold=begin)
        space.plot(
            two_fold[0], two_fold[2], 0.0, "*", ms=9.0, mfc=style.PURPLE, mec="white", zorder=6.0
        )
        ends = list(space.get_xlim())
        space.plot(ends, [line, line], [0.0, 0.0], color=style.VERMILION, lw=1.0, ls=(0, (4, 2)))
        space.view_init(20.0, -50.0)
        style.dress_3d(space, ("r (m)", "ω (rad/s)", "h (mm/s)"), size=7.5)
    for letter, x, y in (("(a)", 0.005, 0.985), ("(b)", 0.005, 0.47), ("(c)", 0.5, 0.47)):
        figure.text(x, y, letter, va="top", size=8.5, weight="bold", color=style.INK)
    return figure


def _orbit(ax: Any, data: FlowData, *, after_two_fold: bool) -> None:
    """Draw (r, omega, h) of a run up to its first arrival at the line h = g = 0."""
    first = {kind: time for time, kind in reversed(data.losses)}
    begin = first.get("two_fold", -np.inf) if after_two_fold else -np.inf
    shown = (data.time >= begin) & (data.time <= first.get("codim2_line", np.inf))
    lateral = 1e3 * np.asarray(data.run.variables["slip_velocity"].values, dtype=np.float64)
    series = np.stack([data.state("r"), data.state("omega"), lateral])
    path(ax, series[:, shown], data.mode[shown, 0], width=0.9)


def tyre_curves(angle: Floats, panels: Sequence[tuple[str, Floats, Floats]]) -> PaperFigure:
    """Return force (dashed) and moment (solid) over the slip angle, one panel per tyre.

    Parameters
    ----------
    angle : (n,) slip angles [rad]
    panels : title, force [N], moment [N m] of each

    Source: Szalai, Jeffrey 2014, Fig. 8.
    Verified by: tests/unit/switching/figures/test_papers.py::test_tyre_curves
    """
    figure = style.new_figure(style.PAGE, 2.5)
    margins = (0.62, 0.62, 0.42, 0.32)
    axes = style.grid(figure, 1, len(panels), margins=margins, gaps=(1.3, 0.1))[0]
    for ax, (title, force, moment) in zip(axes, panels, strict=True):
        ax.plot(angle, force, color=_FORCE, lw=1.2, ls=(0, (4, 2)))
        # both axes have their zero at the same height
        ratio = min(1.15 * float(moment.min()) / float(moment.max()), 0.0)
        ax.set_ylim(ratio * float(force.max()), 1.08 * float(force.max()))
        ax.set_xlim(0.0, float(angle[-1]))
        style.scale_axis(ax.yaxis, "force F", "N")
        style.scale_axis(ax.xaxis, "slip angle φ", "rad")
        right = style.dress(ax.twinx())
        right.spines["right"].set_visible(True)
        right.spines["left"].set_visible(False)
        right.spines["right"].set_linewidth(0.6)
        right.plot(angle, moment, color=_MOMENT, lw=1.2)
        right.set_ylim(ratio * float(moment.max()), 1.08 * float(moment.max()))
        style.scale_axis(right.yaxis, "moment M", "N m")
        ax.yaxis.label.set_color(_FORCE)
        right.yaxis.label.set_color(_MOMENT)
        ax.set_title(title, size=8.0, loc="left", pad=4.0, color=style.INK)
    return figure


def _region_handles(region: Ints) -> list[Any]:
    """Return entries of a key for the regions that occur."""
    from matplotlib.patches import Patch

    present = np.unique(region).tolist()
    return [Patch(fc=REGIONS[k], ec="#b0b0b0", lw=0.4, label=_WORDS[k]) for k in present]


def _line(label: str, **looks: Any) -> Any:
    """Return an entry of a key, drawn as a line or a marker."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"lw": 1.0, **looks})
