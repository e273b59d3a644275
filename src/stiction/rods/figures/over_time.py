"""Figures of contacts of rods over time: forces, gaps, slip, and positions on the rods.

Data are variables (t, contact) of a run, NaN without a contact. `RodFigures` calls `contact` and
`paths`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.rods.figures.data import MODES, ROLL, SLIP, RodData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["contact", "paths"]

Floats = npt.NDArray[np.float64]

BANDS = {0: "#eeeeee", ROLL: "#ffffff", SLIP: "#fbe3d2"}
_MARGINS = (0.72, 0.16, 0.42)  # left, right, bottom [in]
_PANEL = 0.92  # height of a panel [in]
_SINGLE = len(style.MASS_COLOURS)  # largest number of contacts with individual colours
_BAR_ROOM = 0.6  # width at the right for a colour bar [in]
_SMALL_GAP = 1e-5  # over the radius; smaller gaps count as closed
_DASHED: Any = (0, (3, 2))
_MOST = 12  # largest number of contacts drawn
_LIMIT: dict[str, Any] = {"color": style.INK, "lw": 0.7, "ls": (0, (4, 2)), "zorder": 1.5}


def contact(data: RodData) -> PaperFigure:
    """Return the audited quantities of contacts over time, with their limits dashed.

    Panels: normal force -lambda_n; tangential over normal force; det A of the tangency conditions
    (-sin^2 of the angle of straight rods, 0 where the closest points are not unique); speed of the
    contact points over that of shear waves; gap; slip speed. Shaded are the times at which a single
    contact is open or slips.

    Verified by: tests/unit/rods/figures/test_figures.py::test_contact_audit_shows_forces_and_limits
    """
    data.contact("contact_mode")  # raises ModelError without contacts
    panels = [draw for name, draw in _PANELS.items() if data.has(name)]
    # contacts that never open have no gap
    least = _SMALL_GAP * data.least_radius
    if _gap in panels and style.largest(data.contact("gap")) <= least:
        panels.remove(_gap)
    if data.has("slip_speed") and (data.contact("contact_mode") == SLIP).any():
        panels.append(_slip)
    handles = _handles(data)
    axes, figure = _stack(data, len(panels), handles)
    for ax, draw in zip(axes, panels, strict=True):
        draw(ax, data)
    _finish(data, axes, handles)
    figure.align_ylabels(axes)
    return figure


def paths(data: RodData) -> PaperFigure:
    """Return contact points on the first and the second rod, and their speed.

    Several contacts are shown by their displacement, because their positions differ much.

    Verified by: tests/unit/rods/figures/test_figures.py::test_paths_on_both_rods
    """
    from matplotlib.lines import Line2D

    looks: dict[str, Any] = {"color": style.INK, "lw": 0.8}
    handles = [
        *_handles(data),
        Line2D([], [], label="ṡ₁", **looks),
        Line2D([], [], label="ṡ₂", ls=_DASHED, **looks),
    ]
    axes, figure = _stack(data, 3, handles)
    for ax, name, word in zip(axes, ("s1", "s2"), ("s₁", "s₂"), strict=False):
        values = data.contact(name)
        if len(_chosen(data)) > 1:
            first = np.isfinite(values).argmax(axis=0)
            values = values - np.take_along_axis(values, first[None], axis=0)
            word = f"shift of {word}"
        _lines(ax, data, values)
        style.room(ax.set_ylim, values)
        style.scale_axis(ax.yaxis, word, "m")
    rates = [data.contact(name) for name in ("s1_rate", "s2_rate")]
    for values, dashes in zip(rates, ("-", _DASHED), strict=True):
        _lines(axes[2], data, values, dashes)
    style.room(axes[2].set_ylim, np.concatenate(rates))
    style.scale_axis(axes[2].yaxis, "speed ṡ", "m/s")
    _finish(data, axes, handles)
    figure.align_ylabels(axes)
    return figure


# ---- panels


def _pressure(ax: Axes, data: RodData) -> None:
    """Draw the normal force, positive in compression."""
    values = -data.contact("lambda_n")
    _lines(ax, data, values)
    ax.axhline(0.0, **_LIMIT)
    style.room(ax.set_ylim, np.append(values, 0.0))
    style.scale_axis(ax.yaxis, "normal force\n−λₙ", "N")


def _ratio(ax: Axes, data: RodData) -> None:
    """Draw the ratio of tangential to normal force, with the bound of friction."""
    values = style.finite(data.contact("friction_ratio"))
    _lines(ax, data, values)
    mu = data.limit("friction_within_bound")
    shown = values if mu is None else np.append(values, mu)
    if mu is not None:
        ax.axhline(mu, **_LIMIT)
    elif style.largest(values) > 0.0:
        # at zero normal force the ratio of a bilateral contact is infinite: limit the axis
        shown = np.append(np.clip(values, 0.0, _most(values)), 0.0)
    style.room(ax.set_ylim, np.append(shown, 0.0))
    style.scale_axis(ax.yaxis, "tangential /\nnormal force")


def _most(values: Floats) -> float:
    """Return an upper axis limit: the maximum, or 4 times the 90 % quantile if that is less."""
    finite = np.abs(values[np.isfinite(values)])
    usual = 4.0 * float(np.quantile(finite, 0.9))
    return min(float(finite.max()), usual) if usual > 0.0 else float(finite.max())


def _tangency(ax: Axes, data: RodData) -> None:
    """Draw det A of the tangency conditions, negative where closest points are unique."""
    values = data.contact("det_A")
    _lines(ax, data, values)
    ax.axhline(0.0, **_LIMIT)
    style.room(ax.set_ylim, np.append(values, 0.0))
    style.scale_axis(ax.yaxis, "crossing of\nthe rods")


def _speed(ax: Axes, data: RodData) -> None:
    """Draw the speed of contact points over that of shear waves."""
    c = data.limit("contact_subsonic")
    rates = [data.contact(name) / (c or 1.0) for name in ("s1_rate", "s2_rate")]
    fastest = np.maximum(np.abs(rates[0]), np.abs(rates[1]))
    _lines(ax, data, fastest)
    every = np.append(fastest, 0.0)
    if c is not None and style.largest(fastest) > 0.3:
        ax.axhline(1.0, **_LIMIT)
        every = np.append(every, 1.0)
    style.room(ax.set_ylim, every)
    style.scale_axis(ax.yaxis, "|ṡ| / c" if c else "|ṡ|", "" if c else "m/s")


def _gap(ax: Axes, data: RodData) -> None:
    """Draw the gap of the surfaces, positive if a contact is open."""
    values = data.contact("gap")
    _lines(ax, data, values)
    ax.axhline(0.0, **_LIMIT)
    style.room(ax.set_ylim, np.append(values, 0.0))
    style.scale_axis(ax.yaxis, "gap", "m")


def _slip(ax: Axes, data: RodData) -> None:
    """Draw the magnitude of the slip velocity."""
    values = data.contact("slip_speed")
    _lines(ax, data, values)
    style.room(ax.set_ylim, np.append(values, 0.0))
    style.scale_axis(ax.yaxis, "slip speed", "m/s")


_PANELS: dict[str, Callable[[Axes, RodData], None]] = {
    "lambda_n": _pressure,
    "friction_ratio": _ratio,
    "det_A": _tangency,
    "s1_rate": _speed,
    "gap": _gap,
}


# ---- parts


def _stack(data: RodData, count: int, handles: list[Any]) -> tuple[list[Axes], PaperFigure]:
    """Return `count` panels above each other, and their figure."""
    lines = -(-len(handles) // 3)
    top = 0.1 + 0.16 * lines
    left, right, bottom = _MARGINS
    if len(_chosen(data)) > _SINGLE:
        right = _BAR_ROOM
    figure = style.new_figure(style.COLUMN, _PANEL * count + 0.12 * (count - 1) + 0.42 + top)
    grid = style.grid(
        figure, count, margins=(left, right, bottom, top), gaps=(0.0, 0.12), share_time=True
    )
    return [panel[0] for panel in grid], figure


def _finish(data: RodData, axes: list[Axes], handles: list[Any]) -> None:
    """Add shading, time axis and legend."""
    for ax in axes:
        if data.n_contact == 1:
            _bands(ax, data)
    data.time_axis(axes[-1])
    style.key(axes[0], handles)
    chosen = _chosen(data)
    if len(chosen) > _SINGLE:
        limits = (chosen[0] + 1.0, chosen[-1] + 1.0)
        style.colour_bar(axes[0], style.many_colours(), limits, "contact", "", below=axes[-1])


def _chosen(data: RodData) -> list[int]:
    """Return the indices of the contacts to draw: at most _MOST of those in use."""
    used = np.flatnonzero(np.isfinite(data.contact("lambda_n")).any(axis=0))
    return [int(used[i]) for i in style.few(used.size, _MOST)]


def _colours(data: RodData) -> list[str]:
    """Return a colour for each contact that is drawn."""
    chosen = _chosen(data)
    if len(chosen) == 1:
        return [style.INK]
    if len(chosen) <= _SINGLE:
        return list(style.MASS_COLOURS[: len(chosen)])
    return style.mass_colours(np.array(chosen) + 1, chosen[-1] + 1)


def _lines(ax: Axes, data: RodData, values: Floats, dashes: Any = "-") -> None:
    """Draw a line per contact, dashed if it coincides with another."""
    chosen = _chosen(data)
    width = 0.8 if len(chosen) <= _SINGLE else 0.6
    size = style.largest(values)
    drawn: list[Floats] = []
    for i, colour in zip(chosen, _colours(data), strict=True):
        series = style.finite(values[:, i])
        hides = any(np.allclose(series, e, 0.0, 1e-2 * size, equal_nan=True) for e in drawn)
        thinned = style.thin(series)
        look = _DASHED if hides else dashes
        ax.plot(data.time[thinned], series[thinned], color=colour, lw=width, ls=look, zorder=3.0)
        drawn.append(series)


def _changes(data: RodData) -> list[tuple[float, int]]:
    """Return times and new modes of the only contact, from events or else saved states."""
    mode = np.nan_to_num(data.contact("contact_mode")[:, 0]).astype(np.int64)
    words = {"open": 0, "roll": ROLL, "slip": SLIP}
    log = data.run.event_log
    start = [(float(data.time[0]), int(mode[0]))]
    changes = [
        (float(log.time[k]), words[log.after[k]])
        for k in range(log.time.size)
        if log.after[k] in words and log.after[k] != log.before[k]
    ]
    if not changes:
        samples = np.flatnonzero(np.diff(mode)) + 1
        changes = [(float(data.time[k]), int(mode[k])) for k in samples]
    return start + changes


def _bands(ax: Axes, data: RodData) -> None:
    """Shade the times at which the only contact is open or slips."""
    changes = _changes(data)
    ends = [time for time, _ in changes[1:]] + [data.span[1]]
    for (begin, mode), end in zip(changes, ends, strict=True):
        if mode != ROLL and end > begin:
            ax.axvspan(begin, end, color=BANDS[mode], lw=0.0, zorder=0.5)


def _handles(data: RodData) -> list[Any]:
    """Return the legend entries: contacts and modes."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    chosen = _chosen(data)
    entries: list[Any] = []
    if 1 < len(chosen) <= _SINGLE:
        entries = [
            Line2D([], [], color=colour, lw=1.0, label=f"contact {i + 1}")
            for i, colour in zip(chosen, _colours(data), strict=True)
        ]
    if data.n_contact == 1:
        modes = sorted({mode for _, mode in _changes(data)} - {ROLL})
        entries += [Patch(facecolor=BANDS[mode], label=MODES[mode]) for mode in modes]
    return entries
