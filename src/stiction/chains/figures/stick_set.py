"""Figure of the stick set: the interval of each mass, and projections on pairs of masses.

The stick set holds all displacements x at which every mass can stick, |R_i| <= mu_s N_i, with the
stick force R = b f - K x of load and springs. The projections show that the product of the
intervals is larger than the set. `stick_geometry` computes intervals and projections;
`figures.ChainFigures.stick_set` calls this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.stick_geometry import Shadow
from stiction.errors import ModelError
from stiction.numerics.checks import number
from stiction.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["stick_set"]

Floats = npt.NDArray[np.float64]

_SET = "#56B4E9"
_MOST_BARS = 12


def stick_set(
    data: ChainData, *, time: float | None = None, pairs: Sequence[tuple[int, int]] | None = None
) -> PaperFigure:
    """Return the projections of the stick set at one saved time, with the run's state.

    Left, the sharp interval of every displacement; then, for pairs of masses, the true
    projection inside the box that the two intervals span. The box is never full: the
    intervals are necessary for equilibrium, not sufficient.

    Parameters
    ----------
    time : the load is taken at the saved time nearest to this [s]; default the last one
    pairs : masses, numbered from 1; default neighbours, at most three pairs

    Source: Axioms 14(4) 299, the intervals (29) and Proposition 1.
    Verified by: tests/unit/chains/figures/test_stick_set.py::test_polygon_lies_inside_the_box
    """
    at = data.time.size - 1
    if time is not None:
        wanted = number(
            "plot.stick_set.time",
            time,
            unit="s",
            why="the load, and with it the set, depends on time.",
            try_="give a time of the run.",
        )
        at = int(np.argmin(np.abs(data.time - wanted)))
    # one panel of intervals, and one for each pair of masses
    shadow = Shadow(data, at)
    chosen = _pairs(data, pairs)
    count = 1 + len(chosen)
    width = style.PAGE if count > 2 else style.COLUMN * (1.0 if count == 1 else 1.4)
    figure = style.new_figure(width, 2.35)
    axes = style.grid(
        figure,
        1,
        count,
        margins=(0.5 + style.digit_room(data.n_mass), 0.16, 0.42, 0.42),
        gaps=(0.58, 0.0),
    )[0]
    _intervals(axes[0], shadow)
    for ax, (i, j) in zip(axes[1:], chosen, strict=True):
        _pair(ax, shadow, i, j)
    words = f"stick set at t = {data.time[at]:.4g} s, load {data.load[at]:.4g} N".replace("-", "−")
    style.key(axes[0], _handles(with_pairs=bool(chosen)), columns=4)
    right = 1.0 - 0.16 / width
    figure.text(right, 0.985, words, ha="right", va="top", size=8.0, color=style.INK)
    return figure


def _handles(with_pairs: bool) -> list[Any]:
    """Return the entries of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    pairs = [
        Line2D([], [], color=style.INK, lw=0.7, ls=(0, (4, 3)), label="box of intervals"),
        Line2D([], [], color=style.GREY, lw=0.7, label="path"),
    ]
    return [
        Patch(facecolor=_SET, alpha=0.55, edgecolor=style.BLUE, label="stick set"),
        *(pairs if with_pairs else []),
        Line2D([], [], color=style.VERMILION, marker="o", ms=4.0, lw=0.0, label="state"),
    ]


def _pairs(data: ChainData, pairs: Sequence[tuple[int, int]] | None) -> list[tuple[int, int]]:
    """Return the pairs of masses to draw, counted from 0; `pairs` count from 1."""
    n = data.n_mass
    if pairs is None:
        # neighbours move almost as one in a long chain, so its ends are shown together too
        return (
            [(i, i + 1) for i in range(n - 1)] if n <= 3 else [(0, 1), (0, n - 1), (n - 2, n - 1)]
        )
    chosen = []
    given: Any = pairs
    for pair in given if isinstance(given, Iterable) else [given]:
        if not isinstance(pair, Iterable) or len(pair := list(pair)) != 2:
            raise ModelError(
                "plot.stick_set.pairs",
                repr(pair),
                "pairs of mass numbers",
                "each pair spans one plane of projection.",
                "for example pairs=[(1, 2), (1, 3)].",
            )
        i, j = (data.index("plot.stick_set.pairs", mass) for mass in pair)
        chosen.append((i, j))
    return chosen


def _intervals(ax: Axes, shadow: Shadow) -> None:
    """Draw the interval of each mass with the state of the run."""
    data = shadow.data
    low, high = shadow.centre - shadow.half_width, shadow.centre + shadow.half_width
    state = data.x[shadow.at]
    n = data.n_mass
    numbers = np.arange(1, n + 1)
    if n <= _MOST_BARS:
        ax.barh(
            numbers,
            high - low,
            left=low,
            height=0.5,
            facecolor=_SET,
            alpha=0.55,
            edgecolor=style.BLUE,
            lw=0.6,
        )
        ax.plot(shadow.centre, numbers, ls="", marker="|", ms=8.0, mew=0.8, color=style.BLUE)
        ax.plot(state, numbers, ls="", marker="o", ms=4.0, color=style.VERMILION)
        ax.set_yticks(numbers)
    else:
        keep = style.few(n, 400)
        ax.fill_betweenx(keep + 1, low[keep], high[keep], facecolor=_SET, alpha=0.55, lw=0.0)
        ax.plot(state[keep], keep + 1, color=style.VERMILION, lw=1.0)
        ax.set_ylim(0.5, n + 0.5)
        style.scale_axis(ax.yaxis, "mass")
    ax.set_ylim(0.5, n + 0.5)
    ax.set_ylabel("mass")
    ends = np.concatenate([low, high, state[np.isfinite(state)]])
    style.room(ax.set_xlim, ends)
    style.scale_axis(ax.xaxis, "displacement", "m")


def _pair(ax: Axes, shadow: Shadow, i: int, j: int) -> None:
    """Draw the projection on two masses, the box around it, the path and the state."""
    data = shadow.data
    vertices = shadow.polygon(i, j)
    ax.fill(*vertices.T, facecolor=_SET, alpha=0.55, edgecolor=style.BLUE, lw=0.8, zorder=2.0)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    box = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
    ax.plot(*box.T, color=style.INK, lw=0.7, ls=(0, (4, 3)), zorder=2.5)
    path = data.x[:, [i, j]]
    keep = style.along(3 * data.mode[:, i] + data.mode[:, j], path.T)
    ax.plot(*path[keep].T, color=style.GREY, lw=0.6, zorder=1.0)
    state = path[shadow.at]
    ax.plot(*state, ls="", marker="o", ms=4.0, color=style.VERMILION, zorder=3.0)
    # the state belongs in the picture, unless it lies so far away that the set would vanish
    size = np.where(high > low, high - low, 1.0)
    near = np.clip(state, low - 1.5 * size, high + 1.5 * size)
    near = np.where(np.isfinite(near), near, low)
    for set_limits, q in ((ax.set_xlim, 0), (ax.set_ylim, 1)):
        begin, end = min(low[q], near[q]), max(high[q], near[q])
        set_limits(begin - 0.12 * (end - begin or 1.0), end + 0.12 * (end - begin or 1.0))
    style.scale_axis(ax.xaxis, f"x{style.subscript(i + 1)}", "m")
    style.scale_axis(ax.yaxis, f"x{style.subscript(j + 1)}", "m")
