"""Figures of strings over time: contact points, their speed, contact force, and energies.

The strings u and v touch at x = s1 and x = s2, and u1 is the coefficient of sin(2 pi x / l). All
data are dimensionless arrays (t,) of a run. `StringFigures` calls these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.plot import style
from stiction.plot.energy import imbalance_panel
from stiction.rods.figures.strings.data import STRINGS, StringData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.core.run import Run
    from stiction.plot.figure import PaperFigure

__all__ = ["contact", "energy", "growth", "growths", "paths"]

Floats = npt.NDArray[np.float64]

_SPLIT = {"energy_P": (style.GREEN, "P ∝ u + v"), "energy_M": (style.PURPLE, "M ∝ u − v")}
_HEAT = {
    "friction_heat": (style.VERMILION, "rolling resistance"),
    "viscous_heat": (style.BROWN, "drag"),
}
_MARGINS = (0.62, 0.16, 0.42)  # left, right, bottom [in]
_ORBIT = 8000  # largest number of points of an orbit
_FAST = 0.35  # the limit is drawn above this fraction of the wave speed


def paths(data: StringData) -> PaperFigure:
    """Return both contact points against time, and each against its velocity.

    s1 and s2 are not drawn against each other, because s2 is a linear function of s1.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_paths_of_both_contact_points
    """
    figure = style.new_figure(style.PAGE, 2.6)
    margins = (0.56, 0.16, 0.42, 0.3)
    ((left, right),) = style.grid(figure, 1, 2, margins=margins, gaps=(0.75, 0.0))
    both = [data.contact(name) for name in STRINGS]
    _lines(left, data, {"s₁ on u": (both[0], "u"), "s₂ on v": (both[1], "v")})
    style.room(left.set_ylim, np.concatenate(both))
    data.end_lines(left)
    data.time_axis(left)
    style.scale_axis(left.yaxis, "contact point")
    style.key(left, [*left.get_legend_handles_labels()[0], *data.end_handles()])
    for name, rate in zip(STRINGS, ("s1_rate", "s2_rate"), strict=True):
        alike = name == "v" and np.allclose(both[0], both[1], rtol=1e-9, atol=1e-12)
        _orbit(right, data, name, rate, (0, (3, 2)) if alike else "-")
    style.room(right.set_xlim, np.concatenate(both))
    style.room(right.set_ylim, np.concatenate([data.values("s1_rate"), data.values("s2_rate")]))
    style.scale_axis(right.xaxis, "contact point s")
    style.scale_axis(right.yaxis, "its velocity ṡ")
    style.key(right, columns=4)
    return figure


def contact(data: StringData) -> PaperFigure:
    """Return contact points, their speed over that of the waves, and the contact force.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_speed_is_over_the_waves
    """
    figure = style.new_figure(style.COLUMN, 4.0)
    margins = (*_MARGINS, 0.3)
    panels = style.grid(figure, 3, margins=margins, gaps=(0.0, 0.14), share_time=True)
    top, middle, bottom = (panel[0] for panel in panels)
    both = {name: data.contact(name) for name in STRINGS}
    _lines(top, data, {"s₁ on u": (both["u"], "u"), "s₂ on v": (both["v"], "v")})
    style.room(top.set_ylim, np.concatenate(list(both.values())))
    style.scale_axis(top.yaxis, "contact point")
    rates = {
        name: data.values(rate) / (data.speed(name) or 1.0)
        for name, rate in zip(STRINGS, ("s1_rate", "s2_rate"), strict=True)
    }
    _lines(middle, data, {name: (values, name) for name, values in rates.items()})
    every = np.concatenate(list(rates.values()))
    if data.has("wave_speed") and style.largest(every) > _FAST:
        for bound in (-1.0, 1.0):
            middle.axhline(bound, color=style.INK, lw=0.6, ls=(0, (4, 2)), zorder=1.5)
        every = np.append(every, [-1.0, 1.0])
    style.room(middle.set_ylim, every)
    style.scale_axis(middle.yaxis, "ṡ / c" if data.has("wave_speed") else "ṡ")
    force = data.values("contact_force")
    thinned = style.thin(force)
    bottom.plot(data.time[thinned], force[thinned], color=style.INK, lw=0.8)
    style.room(bottom.set_ylim, force)
    style.scale_axis(bottom.yaxis, "contact force λ")
    for ax in (top, middle, bottom):
        data.end_lines(ax)
    data.time_axis(bottom)
    style.key(top, [*top.get_legend_handles_labels()[0], *data.end_handles()])
    figure.align_ylabels([top, middle, bottom])
    return figure


def energy(data: StringData) -> PaperFigure:
    """Return energies: kinetic and elastic, u and v, sum and difference.

    The last panel is the imbalance of the ledger, over the largest energy.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_energy_parts_add_up
    """
    split = [name for name in _SPLIT if data.has(name)]
    count = 4 if split else 3
    figure = style.new_figure(style.COLUMN, 1.2 * count + 0.75)
    margins = (*_MARGINS, 0.3)
    # each panel has its own legend above it
    panels = style.grid(figure, count, margins=margins, gaps=(0.0, 0.33), share_time=True)
    axes = [panel[0] for panel in panels]
    ledger = data.run.energy
    total = ledger.kinetic + ledger.stored
    parts = {"kinetic": (ledger.kinetic, style.BLUE), "elastic": (ledger.stored, style.GREEN)}
    heats = {"friction_heat": ledger.total_friction_heat, "viscous_heat": ledger.viscous_heat}
    for name, values in heats.items():
        if style.largest(values) > 1e-14 * ledger.scale:
            parts[_HEAT[name][1]] = (values, _HEAT[name][0])
    _energies(axes[0], data, parts, total)
    _energies(axes[1], data, {n: (data.values(f"energy_{n}"), STRINGS[n]) for n in STRINGS}, total)
    if split:
        split_energies = {_SPLIT[name][1]: (data.values(name), _SPLIT[name][0]) for name in split}
        _energies(axes[2], data, split_energies, total)
    imbalance_panel(axes[-1], data.run)
    data.end_lines(axes[-1])
    data.time_axis(axes[-1])
    figure.align_ylabels(axes)
    return figure


def growth(data: StringData, other: Run) -> PaperFigure:
    """Return the distance of the run to another one from a nearby initial state.

    The distance is the root of the sum of squared differences of s1, s2, and of mean squared
    differences of the fields that both runs have. A straight line indicates chaos.

    Raises
    ------
    ModelError : if fewer than two saved times are equal, or the grids differ.

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_growth_of_a_difference
    """
    twin = StringData(other)
    count = int(min(data.time.size, twin.time.size))
    same = np.isclose(data.time[:count], twin.time[:count], rtol=1e-12, atol=0.0)
    count = count if same.all() else int(np.argmin(same))
    if count < 2 or data.values("u").shape[1] != twin.values("u").shape[1]:
        raise ModelError(
            "plot.growth",
            "a run saved at other times or on another grid",
            "a run of the same system with the same `save`, from a start that differs a little",
            "the states of one run are subtracted from those of the other.",
            "change s2 by 1e-7, solve again, and give that run.",
        )
    square = sum(
        (_first_samples(data, n, count) - _first_samples(twin, n, count)) ** 2 for n in ("s1", "s2")
    )
    for name in ("u", "v", "u_t", "v_t"):
        if data.has(name) and twin.has(name):
            difference = _first_samples(data, name, count) - _first_samples(twin, name, count)
            square = square + (difference**2).mean(axis=1)
    distance = np.sqrt(np.asarray(square, dtype=np.float64))
    return growths({"distance of two runs": (data.time[:count], distance)})


def growths(curves: Mapping[str, tuple[Floats, Floats]]) -> PaperFigure:
    """Return distances of pairs of runs on a logarithmic axis.

    Parameters
    ----------
    curves : (times, distances) by their names in the legend

    Verified by: tests/unit/rods/figures/strings/test_figures.py::test_growth_of_a_difference
    """
    figure = style.new_figure(style.COLUMN, 2.3)
    ((ax,),) = style.grid(figure, margins=(0.62, 0.16, 0.42, 0.3))
    for (word, (time, distance)), colour in zip(curves.items(), style.MASS_COLOURS, strict=False):
        shown = np.where(distance > 0.0, distance, np.nan)
        thinned = style.thin(np.log(np.nan_to_num(shown, nan=1.0)))
        ax.semilogy(time[thinned], shown[thinned], color=colour, lw=0.9, label=word)
    ax.set_ylabel("distance")
    ends = [time[[0, -1]] for time, _ in curves.values()]
    ax.set_xlim(min(end[0] for end in ends), max(end[1] for end in ends))
    style.scale_axis(ax.xaxis, style.DIMENSIONLESS_TIME)
    style.key(ax, columns=2)
    return figure


def _first_samples(data: StringData, name: str, count: int) -> Floats:
    """Return the first `count` samples of a variable."""
    return data.values(name)[:count]


def _orbit(ax: Axes, data: StringData, name: str, rate: str, dashes: Any) -> None:
    """Draw the velocity of a contact point over its position, with start and end."""
    s, velocity = data.contact(name), data.values(rate)
    thinned = style.few(s.size, _ORBIT)
    word = {"u": "s₁", "v": "s₂"}[name]
    ax.plot(s[thinned], velocity[thinned], color=STRINGS[name], lw=0.6, ls=dashes, label=word)
    for sample, marker in ((0, "o"), (-1, "s")):
        look: dict[str, Any] = {"ls": "", "marker": marker, "ms": 4.0, "mec": "white", "mew": 0.6}
        what = {"o": "start", "s": "end"}[marker] if name == "v" else None
        ax.plot(s[sample], velocity[sample], color=style.INK, label=what, **look)


def _lines(ax: Axes, data: StringData, lines: dict[str, tuple[Floats, str]]) -> None:
    """Draw lines by label; if both strings agree, the second is dashed over the first."""
    first: Floats | None = None
    for word, (values, name) in lines.items():
        alike = first is not None and np.allclose(values, first, rtol=1e-9, atol=1e-12)
        thinned = style.thin(values)
        dashes: Any = (0, (3, 2)) if alike else "-"
        ax.plot(
            data.time[thinned], values[thinned], color=STRINGS[name], lw=0.9, ls=dashes, label=word
        )
        first = values


def _energies(
    ax: Axes, data: StringData, parts: dict[str, tuple[Floats, str]], total: Floats
) -> None:
    """Draw energies and their sum over time."""
    for word, (values, colour) in {**parts, "sum": (total, style.INK)}.items():
        thinned = style.thin(values)
        ax.plot(data.time[thinned], values[thinned], color=colour, lw=0.8, label=word)
    style.room(
        ax.set_ylim, np.concatenate([total, [0.0], *(values for values, _ in parts.values())])
    )
    style.scale_axis(ax.yaxis, "energy")
    data.end_lines(ax)
    style.key(ax, columns=4)
