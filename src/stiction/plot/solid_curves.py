"""Solids over displacement: forces, fronts, contact, stress, and energy."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.plot.energy import imbalance_panel, ledger_handles, ledger_panel
from stiction.plot.solid_data import SolidData
from stiction.results.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot._figure import PaperFigure

__all__ = [
    "UNSTABLE",
    "contact_length",
    "contact_length_force",
    "energy",
    "forces",
    "fracture",
    "fronts",
    "path",
    "stress",
]

Floats = npt.NDArray[np.float64]

_MARGINS = (0.62, 0.2, 0.42)  # left, right, bottom [in]
UNSTABLE = (0, (2.0, 1.2))
DASH_DOT = (0, (6, 1.8, 1.2, 1.8))
_BLUE, _RED, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#8a8a8a"
_MARKS = {
    "peak": {"marker": "^", "ms": 5.0, "mfc": style.INK},
    "full sliding": {"marker": "s", "ms": 4.2, "mfc": "white"},
    "limit point": {"marker": "X", "ms": 5.5, "mfc": _RED},
}
_FRONTS = {
    "contact_length": ("contact", _BLUE),
    "peeling_length": ("peeled", _RED),
    "sliding_length": ("sliding", _GREEN),
}


def path(ax: Axes, data: SolidData, x: Floats, y: Floats, **looks: Any) -> None:
    """Draw a curve, dashed where the states are unstable."""
    unstable = data.unstable
    keep = style.thin(x, y, unstable.astype(np.float64))
    x, y, unstable = x[keep], y[keep], unstable[keep]
    looks = {"lw": 1.0, "solid_joinstyle": "round", **looks}
    # a piece begins at the last point of the one before, so that no gap shows
    cuts = [0, *(np.flatnonzero(np.diff(unstable.astype(np.int8))) + 1).tolist(), x.size]
    label = looks.pop("label", None)
    for low, high in itertools.pairwise(cuts):
        piece = slice(max(low - 1, 0), high)
        dashes = {"ls": UNSTABLE} if unstable[low] else {}
        ax.plot(x[piece], y[piece], label=label if low == 0 else None, **{**looks, **dashes})


def _mark(ax: Axes, word: str, x: float, y: float) -> None:
    ax.plot(
        [x], [y], ls="", mec=style.INK, mew=0.7, zorder=5.0, clip_on=False, **_MARKS[word]  # type: ignore[arg-type]
    )  # fmt: skip


def _mark_handles(words: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], ls="", mec=style.INK, mew=0.7, label=word, **_MARKS[word])  # type: ignore[arg-type]
        for word in words
    ]


def _marks(data: SolidData) -> dict[str, list[int]]:
    found = {"full sliding": data.full_sliding, "limit point": data.limit_points}
    return {word: rows for word, rows in found.items() if rows}


def _unstable_handle(data: SolidData, colour: str = style.INK) -> list[Any]:
    from matplotlib.lines import Line2D

    if not data.unstable.any():
        return []
    return [Line2D([], [], color=colour, lw=1.0, ls=UNSTABLE, label="unstable")]


def forces(data: SolidData) -> PaperFigure:
    """Return both force components over displacement, a constant one left out.

    The peak of the vertical force, the begin of full sliding and limit points are marked.

    Source: Mergel, Scheibert, Sauer 2021, Figs. 8(a), 8(b), 10 and 13(a).
    Verified by: tests/unit/plot/test_solid_figures.py::test_forces_mark_peak_sliding_and_limit
    """
    data.require("forces", "force_x", "force_y")
    parts = {"force_x": ("horizontal force", _BLUE), "force_y": ("vertical force", _RED)}
    drawn = [name for name in parts if data.changes(name)] or ["force_y"]
    marks = _marks(data)
    figure = style.new_figure(style.COLUMN, 0.75 + 1.5 * len(drawn))
    grid = style.grid(
        figure, len(drawn), margins=(*_MARGINS, 0.28), gaps=(0.0, 0.14), share_time=True
    )
    u = data.curve("displacement")
    words = list(marks)
    for (ax,), name in zip(grid, drawn, strict=True):
        force = data.curve(name)
        word, colour = parts[name]
        ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
        path(ax, data, u, force, color=colour)
        style.room(ax.set_ylim, np.append(force, 0.0))
        for kind, rows in marks.items():
            for row in rows:
                _mark(ax, kind, float(u[row]), float(force[row]))
        if name == "force_y" and np.isfinite(force).any():
            top = int(np.nanargmax(np.abs(force)))
            _mark(ax, "peak", float(u[top]), float(force[top]))
            words = ["peak", *marks]
        data.label(ax.yaxis, name, word)
    data.displacement_axis(grid[-1][0])
    style.key(
        grid[0][0], [*_mark_handles(words), *_unstable_handle(data)], columns=max(1, len(words) + 1)
    )
    figure.align_ylabels([row[0] for row in grid])
    return figure


def fronts(data: SolidData) -> PaperFigure:
    """Return length of contact, peeling front and sliding front over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 8(c).
    Verified by: tests/unit/plot/test_solid_figures.py::test_fronts_are_the_lengths
    """
    data.require("fronts", "contact_length")
    figure = style.new_figure(style.COLUMN, 2.4)
    ((ax,),) = style.grid(figure, margins=(*_MARGINS, 0.28))
    u = data.curve("displacement")
    every = [np.zeros(1)]
    for name, (word, colour) in _FRONTS.items():
        if data.has(name):
            every.append(data.curve(name))
            path(ax, data, u, every[-1], color=colour, label=word)
    for kind, rows in _marks(data).items():
        for row in rows:
            for curve in every[1:]:
                _mark(ax, kind, float(u[row]), float(curve[row]))
    style.room(ax.set_ylim, np.concatenate(every))
    data.displacement_axis(ax)
    data.label(ax.yaxis, "length", "length")
    lines = ax.get_legend_handles_labels()[0]
    style.key(ax, [*lines, *_mark_handles(list(_marks(data)))], columns=5)
    return figure


def contact_length(data: SolidData) -> PaperFigure:
    """Return the length of contact over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 13(b).
    Verified by: tests/unit/plot/test_solid_figures.py::test_contact_shrinks_as_fitted
    """
    data.require("contact_length", "contact_length")
    figure = style.new_figure(style.COLUMN, 2.3)
    ((ax,),) = style.grid(figure, margins=(*_MARGINS, 0.28))
    u, length = data.curve("displacement"), data.curve("contact_length")
    path(ax, data, u, length, color=_BLUE)
    marks = _marks(data)
    style.room(ax.set_ylim, length)
    for kind, rows in marks.items():
        for row in rows:
            _mark(ax, kind, float(u[row]), float(length[row]))
    data.displacement_axis(ax)
    data.label(ax.yaxis, "contact_length", "contact length")
    if marks:
        style.key(ax, _mark_handles(list(marks)))
    return figure


def contact_length_force(data: SolidData) -> PaperFigure:
    """Return the length of contact over the tangential force, with the fit L0 - xi F^2.

    Source: Mergel, Scheibert, Sauer 2021, eq. (37), Fig. 13(c).
    Verified by: tests/unit/plot/test_solid_figures.py::test_contact_shrinks_as_fitted
    """
    data.require("contact_length_force", "contact_length", "force_x")
    figure = style.new_figure(style.COLUMN, 2.4)
    ((ax,),) = style.grid(figure, margins=(*_MARGINS, 0.28))
    force, length = np.abs(data.curve("force_x")), data.curve("contact_length")
    path(ax, data, force, length, color=_BLUE, label="contact length")
    marks = _marks(data)
    for kind, rows in marks.items():
        for row in rows:
            _mark(ax, kind, float(force[row]), float(length[row]))
    fit = fitted(data)
    if fit is not None:
        word = r"$L_\mathrm{c,0} - \xi F_x^{\,2}$"
        ax.plot(*fit, color=style.INK, lw=0.9, ls=DASH_DOT, label=word, zorder=3.0)
    style.room(ax.set_ylim, length)
    style.room(ax.set_xlim, np.append(force, 0.0))
    ax.set_xlim(left=0.0)
    data.label(ax.xaxis, "tangential_force", "tangential force")
    data.label(ax.yaxis, "contact_length", "contact length")
    lines = ax.get_legend_handles_labels()[0]
    style.key(ax, [*lines, *_mark_handles(list(marks))], columns=3)
    return figure


def fitted(data: SolidData) -> tuple[Floats, Floats] | None:
    """Return forces and the lengths L0 - xi F^2 of the fit; None if the run holds no fit."""
    xi, start = data.quantity("xi"), data.quantity("contact_length_initial")
    if xi is None or start is None:
        return None
    force = np.linspace(0.0, style.largest(data.curve("force_x")), 80)
    return force, start - xi * force**2


def fracture(data: SolidData) -> PaperFigure:
    """Return the fracture energy over the peeled length, with the work of adhesion.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 8(d).
    Verified by: tests/unit/plot/test_solid_figures.py::test_fracture_energy_has_its_reference
    """
    data.require("fracture", "fracture_energy", "peeling_length")
    figure = style.new_figure(style.COLUMN, 2.3)
    ((ax,),) = style.grid(figure, margins=(*_MARGINS, 0.28))
    peeled, spent = data.curve("peeling_length"), data.curve("fracture_energy")
    path(ax, data, peeled, spent, color=_BLUE, label="fracture energy")
    work = data.quantity("work_of_adhesion")
    every = np.append(spent, 0.0)
    if work is not None:
        word = r"work of adhesion $W_\mathrm{adh}$"
        ax.axhline(work, color=style.INK, lw=0.8, ls=UNSTABLE, label=word, zorder=1.5)
        every = np.append(every, 1.1 * work)
    style.room(ax.set_ylim, every)
    ax.set_ylim(bottom=min(0.0, float(np.nanmin(every))))
    ax.set_xlim(0.0, style.largest(peeled) or 1.0)
    data.label(ax.xaxis, "peeling_length", "peeled length")
    data.label(ax.yaxis, "fracture_energy", "fracture energy")
    style.key(ax)
    return figure


def probes(data: SolidData) -> list[str]:
    """Return the names of the probes that change."""
    known = data.run.variables
    return [n for n in known if n.startswith("probe_") and known[n].dims == ("time",)]


def stress(data: SolidData) -> PaperFigure:
    """Return the stress at the probes over displacement.

    Source: Mergel, Scheibert, Sauer 2021, Fig. 10(d).
    Verified by: tests/unit/plot/test_solid_figures.py::test_probes_are_drawn
    """
    names = probes(data)
    data.require("stress", *(names or ["probe_stress_yy"]))
    figure = style.new_figure(style.COLUMN, 2.3)
    ((ax,),) = style.grid(figure, margins=(*_MARGINS, 0.28))
    u = data.curve("displacement")
    ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
    for name, colour in zip(names, style.MASS_COLOURS * 9, strict=False):
        word = data.run.variables[name].meaning or name.removeprefix("probe_").replace("_", " ")
        path(ax, data, u, data.curve(name), color=colour, label=word)
    style.room(ax.set_ylim, np.concatenate([data.curve(name) for name in names]))
    data.displacement_axis(ax)
    kind = "stress_yy" if all("yy" in name for name in names) else "stress_trace"
    data.label(ax.yaxis, kind, "stress")
    style.key(ax, columns=1 if len(names) < 3 else 2)
    return figure


@dataclass(frozen=True, eq=False)
class _Ledgered:
    """A run whose ledger counts over displacement, as `plot.energy` draws it."""

    run: Run
    span: tuple[float, float]


def energy(data: SolidData) -> PaperFigure:
    """Return the ledger as stacked shares, and its imbalance, over the displacement.

    Adhesive energy, negative in contact, is counted from its lowest value. A path that turns
    back is drawn over the time of the program instead.

    Verified by: tests/unit/plot/test_solid_figures.py::test_ledger_is_drawn_over_displacement
    """
    ledgered, over_u = _ledgered(data)
    handles = ledger_handles(ledgered, lines=False)
    top = 0.1 + 0.155 * -(-len(handles) // 3)
    figure = style.new_figure(style.COLUMN, 2.9 + top)
    grid = style.grid(
        figure,
        2,
        margins=(*_MARGINS, top),
        gaps=(0.0, 0.14),
        heights=[1.6, 0.8],
        share_time=True,
    )
    above, below = grid[0][0], grid[1][0]
    style.key(above, handles, columns=3)
    ledger_panel(above, ledgered)
    data.label(above.yaxis, "energy", "ledger" if data.plain else "ledger per width")
    imbalance_panel(below, ledgered)
    if over_u:
        data.displacement_axis(below)
    else:
        below.set_xlim(*ledgered.span)
        style.scale_axis(below.xaxis, "time of the program")
    figure.align_ylabels([above, below])
    return figure


def _ledgered(data: SolidData) -> tuple[_Ledgered, bool]:
    """Return the ledger from the begin of the drive on, and whether it is over displacement."""
    ledger = data.run.energy
    first = int(np.searchsorted(ledger.time, data.time[data.begin] * (1.0 - 1e-15)))
    full = np.zeros(ledger.time.size)
    adhesive = full + ledger.adhesive
    u = np.interp(ledger.time, data.time, data.values("displacement"))[first:]
    step = np.diff(u)
    over_u = bool(u.size > 1 and (np.all(step > 0.0) or np.all(step < 0.0)))
    work, heat = ledger.external_work, ledger.friction_heat
    gone = full + ledger.algorithmic
    begun = dataclasses.replace(
        ledger,
        time=u if over_u else ledger.time[first:],
        kinetic=(full + ledger.kinetic)[first:],
        stored=(full + ledger.stored)[first:],
        adhesive=(adhesive - np.nanmin(adhesive[first:]))[first:],
        external_work=(work - work[first])[first:],
        friction_heat=(heat - heat[first])[first:],
        viscous_heat=(full + ledger.viscous_heat)[first:],
        impact_loss=(full + ledger.impact_loss)[first:],
        algorithmic=(gone - gone[first])[first:],
    )
    span = data.span if over_u else (float(begun.time[0]), float(begun.time[-1]))
    return _Ledgered(dataclasses.replace(data.run, energy=begun), span), over_u
