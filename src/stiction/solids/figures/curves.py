"""Figures over displacement: forces, contact and peeled lengths, fracture energy, stress.

Each public function draws saved curves (t,) of one run and returns a figure; unstable states are
dashed, and markers show peak force, begin of full sliding and limit points. `figures.SolidFigures`
calls them; other modules of this folder use `page`, `draw_curve` and `line_key`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = [
    "DASH_DOT",
    "UNSTABLE",
    "contact_length",
    "contact_length_force",
    "draw_curve",
    "fitted",
    "forces",
    "fracture",
    "fronts",
    "line_key",
    "page",
    "probes",
    "start_left",
    "stress",
]

Floats = npt.NDArray[np.float64]

_MARGINS = (0.66, 0.2, 0.42)  # left, right, bottom [in]
_KEY_ROW = 0.155  # height of a row of the legend [in]
_SPIKE = 3.0  # bound of the vertical axis over the 90 % quantile of the values; chosen
UNSTABLE = (0, (2.0, 1.2))
DASH_DOT = (0, (6, 1.8, 1.2, 1.8))
_MARKS: dict[str, dict[str, Any]] = {
    "peak": {"marker": "^", "ms": 5.0, "mfc": style.INK},
    "full sliding": {"marker": "s", "ms": 4.2, "mfc": "white"},
    "limit point": {"marker": "X", "ms": 5.5, "mfc": style.VERMILION},
}
_FRONTS = {
    "contact_length": ("contact", style.BLUE),
    "peeling_length": ("peeled", style.VERMILION),
    "sliding_length": ("sliding", style.GREEN),
}


def page(
    height: float,
    handles: Sequence[Any],
    *,
    across: int = 3,
    rows: int = 1,
    heights: Sequence[float] | None = None,
) -> tuple[PaperFigure, list[Axes]]:
    """Return a figure of column width with the legend on top, and its axes from top to bottom.

    Parameters
    ----------
    height : of the figure without the legend [in]
    handles : entries of the legend, in `across` columns
    rows, heights : number and relative heights of the axes
    """
    top = 0.12 + _KEY_ROW * -(-len(handles) // across)
    figure = style.new_figure(style.COLUMN, height + top)
    grid = style.grid(
        figure, rows, margins=(*_MARGINS, top), gaps=(0.0, 0.14), heights=heights, share_time=True
    )
    axes = [row[0] for row in grid]
    if handles:
        style.key(axes[0], handles, columns=min(across, len(handles)))
        start_left(axes[0])
    return figure, axes


def start_left(ax: Axes) -> None:
    """Move the legend of `ax` to the left, above the tick labels, where there is more room."""
    figure, legend = ax.get_figure(root=True), ax.get_legend()
    assert figure is not None
    assert legend is not None
    box = ax.get_position()
    begin = (0.1 / figure.get_figwidth() - box.x0) / box.width
    legend.set_bbox_to_anchor((begin, 1.0), transform=ax.transAxes)


def line_key(word: str, colour: str, dashes: Any = "-") -> Any:
    """Return a legend entry that shows a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, lw=1.0, ls=dashes, label=word)


def draw_curve(ax: Axes, data: SolidData, x: Floats, y: Floats, **looks: Any) -> None:
    """Draw a curve (t,), dashed where the states are unstable."""
    unstable = data.unstable
    keep = style.thin(x, y, unstable.astype(np.float64))
    x, y, unstable = x[keep], y[keep], unstable[keep]
    looks = {"lw": 1.0, "solid_joinstyle": "round", **looks}
    # a segment begins at the last point of the one before, so that no gap shows
    breaks = [0, *(np.flatnonzero(np.diff(unstable.astype(np.int8))) + 1).tolist(), x.size]
    label = looks.pop("label", None)
    for low, high in itertools.pairwise(breaks):
        segment = slice(max(low - 1, 0), high)
        dashes = {"ls": UNSTABLE} if unstable[low] else {}
        ax.plot(x[segment], y[segment], label=label if low == 0 else None, **{**looks, **dashes})


def _marks(data: SolidData) -> dict[str, list[int]]:
    """Return the rows of full sliding and of limit points by the words of the legend."""
    found = {"full sliding": data.full_sliding, "limit point": data.limit_points}
    return {word: rows for word, rows in found.items() if rows}


def _mark(ax: Axes, x: Floats, y: Floats, marks: dict[str, list[int]]) -> None:
    """Draw the markers of `_marks` on a curve."""
    for word, rows in marks.items():
        looks = {**_MARKS[word], "mec": style.INK, "mew": 0.7, "zorder": 5.0}
        ax.plot(x[rows], y[rows], ls="", clip_on=False, **looks)


def _mark_keys(marks: dict[str, list[int]], data: SolidData) -> list[Any]:
    """Return the legend entries of the markers, and of unstable states."""
    from matplotlib.lines import Line2D

    made: list[Any] = [
        Line2D([], [], ls="", mec=style.INK, mew=0.7, label=word, **_MARKS[word]) for word in marks
    ]
    if data.unstable.any():
        made.append(line_key("unstable", style.INK, UNSTABLE))
    return made


def forces(data: SolidData) -> PaperFigure:
    """Return both force components over displacement, without constant ones.

    Markers show the largest vertical force by size, the begin of full sliding and limit points.

    Source: Mergel, Scheibert, Sauer 2021, Figs. 8(a), 8(b), 10 and 13(a).
    Verified by: tests/unit/solids/figures/test_figures.py::test_forces_mark_peak_sliding_and_limit
    """
    data.require("forces", "force_x", "force_y")
    parts = {
        "force_x": ("horizontal force", style.BLUE),
        "force_y": ("vertical force", style.VERMILION),
    }
    # a prescribed constant force varies by the tolerance of the solver alone
    swing = {name: float(np.ptp(data.curve(name))) for name in parts}
    least = 1e-6 * max(swing.values())
    drawn = [n for n in parts if data.changes(n) and swing[n] > least] or ["force_y"]
    marks, peak = _marks(data), {}
    if "force_y" in drawn:
        peak = {"peak": [int(np.nanargmax(np.abs(data.curve("force_y"))))]}
    keys = _mark_keys({**peak, **marks}, data)
    figure, axes = page(0.45 + 1.55 * len(drawn), keys, rows=len(drawn))
    u = data.curve("displacement")
    for ax, name in zip(axes, drawn, strict=True):
        force = data.curve(name)
        word, colour = parts[name]
        ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
        draw_curve(ax, data, u, force, color=colour)
        style.room(ax.set_ylim, np.append(force, 0.0))
        _mark(ax, u, force, {**marks, **(peak if name == "force_y" else {})})
        data.label(ax.yaxis, name, word)
    data.displacement_axis(axes[-1])
    figure.align_ylabels(axes)
    return figure


def fronts(data: SolidData) -> PaperFigure:
    """Return contact length, peeled length and sliding length over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 8(c).
    Verified by: tests/unit/solids/figures/test_figures.py::test_fronts_are_the_lengths
    """
    data.require("fronts", "contact_length")
    marks = _marks(data)
    drawn = {name: looks for name, looks in _FRONTS.items() if data.has(name)}
    keys = [line_key(word, colour) for word, colour in drawn.values()]
    figure, (ax,) = page(2.2, [*keys, *_mark_keys(marks, data)])
    u = data.curve("displacement")
    for name, (_, colour) in drawn.items():
        draw_curve(ax, data, u, data.curve(name), color=colour)
        _mark(ax, u, data.curve(name), marks)
    style.room(ax.set_ylim, np.concatenate([np.zeros(1), *map(data.curve, drawn)]))
    data.displacement_axis(ax)
    data.label(ax.yaxis, "length", "length")
    return figure


def contact_length(data: SolidData) -> PaperFigure:
    """Return the contact length over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 13(b).
    Verified by: tests/unit/solids/figures/test_figures.py::test_contact_shrinks_as_fitted
    """
    data.require("contact_length", "contact_length")
    marks = _marks(data)
    figure, (ax,) = page(2.1, _mark_keys(marks, data))
    u, length = data.curve("displacement"), data.curve("contact_length")
    draw_curve(ax, data, u, length, color=style.BLUE)
    style.room(ax.set_ylim, length)
    _mark(ax, u, length, marks)
    data.displacement_axis(ax)
    data.label(ax.yaxis, "contact_length", "contact length")
    return figure


def contact_length_force(data: SolidData) -> PaperFigure:
    """Return the contact length over the tangential force F, with the fit L_c0 - xi F^2.

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Fig. 13(c).
    Verified by: tests/unit/solids/figures/test_figures.py::test_contact_shrinks_as_fitted
    """
    data.require("contact_length_force", "contact_length", "force_x")
    marks, fit = _marks(data), fitted(data)
    keys = [line_key("contact length", style.BLUE)]
    if fit is not None:
        keys.append(line_key(r"$L_\mathrm{c,0} - \xi F_x^{\,2}$", style.INK, DASH_DOT))
    figure, (ax,) = page(2.2, [*keys, *_mark_keys(marks, data)])
    force, length = np.abs(data.curve("force_x")), data.curve("contact_length")
    draw_curve(ax, data, force, length, color=style.BLUE)
    _mark(ax, force, length, marks)
    if fit is not None:
        ax.plot(*fit, color=style.INK, lw=0.9, ls=DASH_DOT, zorder=3.0)
    style.room(ax.set_ylim, length)
    style.room(ax.set_xlim, np.append(force, 0.0))
    ax.set_xlim(left=0.0)
    data.label(ax.xaxis, "tangential_force", "tangential force")
    data.label(ax.yaxis, "contact_length", "contact length")
    return figure


def fitted(data: SolidData) -> tuple[Floats, Floats] | None:
    """Return forces F and lengths L_c0 - xi F^2 of the fit; None if the run has no fit."""
    xi, start = data.quantity("xi"), data.quantity("contact_length_initial")
    if xi is None or start is None:
        return None
    force = np.linspace(0.0, style.largest(data.curve("force_x")), 80)
    return force, start - xi * force**2


def fracture(data: SolidData) -> PaperFigure:
    """Return the fracture energy over the peeled length, with the work of adhesion.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 8(d).
    Verified by: tests/unit/solids/figures/test_figures.py::test_fracture_energy_has_its_reference
    """
    data.require("fracture", "fracture_energy", "peeling_length")
    work = data.quantity("work_of_adhesion")
    keys = [line_key("fracture energy", style.BLUE), *_mark_keys({}, data)]
    if work is not None:
        keys.append(line_key(r"work of adhesion $W_\mathrm{adh}$", style.INK, DASH_DOT))
    figure, (ax,) = page(2.1, keys)
    peeled, spent = data.curve("peeling_length"), data.curve("fracture_energy")
    draw_curve(ax, data, peeled, spent, color=style.BLUE)
    if work is not None:
        ax.axhline(work, color=style.INK, lw=0.8, ls=DASH_DOT, zorder=1.5)
    energy_limits(ax, spent, work)
    ax.set_xlim(0.0, float(np.nanmax(np.maximum(peeled, 0.0))) or 1.0)
    data.label(ax.xaxis, "peeling_length", "peeled length")
    data.label(ax.yaxis, "fracture_energy", "fracture energy")
    return figure


def energy_limits(ax: Axes, spent: Floats, work: float | None) -> None:
    """Fit the axis to fracture energies `spent` and the work of adhesion `work`.

    Spikes, where the change of the peeled length is nearly zero, are ignored.
    """
    finite = spent[np.isfinite(spent)]
    most = _SPIKE * float(np.quantile(np.abs(finite), 0.9)) if finite.size else 1.0
    shown = np.clip(finite, -most, most)
    every = np.append(shown, [0.0, 0.0 if work is None else 1.1 * work])
    style.room(ax.set_ylim, every)
    if every.min() == 0.0:
        ax.set_ylim(bottom=0.0)


def probes(data: SolidData) -> list[str]:
    """Return the names of the variables `probe_...`: stresses at given points."""
    known = data.run.variables
    return [n for n in known if n.startswith("probe_") and known[n].dims == ("time",)]


def stress(data: SolidData) -> PaperFigure:
    """Return the stress at the probes, given points of the bodies, over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 10(d).
    Verified by: tests/unit/solids/figures/test_figures.py::test_probes_are_drawn
    """
    names = probes(data)
    data.require("stress", *(names or ["probe_stress_yy"]))
    colours = dict(zip(names, itertools.cycle(style.MASS_COLOURS), strict=False))
    keys = [
        line_key(name.removeprefix("probe_").replace("_", " "), colours[name]) for name in names
    ]
    figure, (ax,) = page(2.1, [*keys, *_mark_keys({}, data)], across=2)
    u = data.curve("displacement")
    ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
    for name in names:
        draw_curve(ax, data, u, data.curve(name), color=colours[name])
    style.room(ax.set_ylim, np.concatenate([data.curve(name) for name in names]))
    data.displacement_axis(ax)
    kind = "stress_yy" if all("yy" in name for name in names) else "stress"
    data.label(ax.yaxis, kind, "stress")
    return figure
