"""Compare several runs of solids in one figure: a curve or a fitted number of each run.

`compare_solids` is public; `_FAMILIES` at the end has the function that draws each kind of figure,
from the data and labels of all runs. Curves have one colour for each run, points one for each
label. Fits are L_c = L_c0 - xi F_x^2 and 1 - L_c / L_c0 ~ F^eta (Mergel, Scheibert, Sauer 2021,
eq. 37), whose numbers come from the runs.

L_c is the length of contact, L_c0 its value before shear, F_x the tangential force; xi and eta are
fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.errors import ModelError, nearest
from stiction.plot import style
from stiction.solids.figures.curves import (
    DASH_DOT,
    UNSTABLE,
    draw_curve,
    energy_limits,
    fitted,
    line_key,
    page,
)
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["compare_solids", "normal_force"]

Floats = npt.NDArray[np.float64]

_WHERE = "plot.compare_solids"
_SHAPES = ("o", "s", "^", "D", "v", "P")
_LONG = 12  # letters of a label from which the legend has two columns


def compare_solids(
    runs: Sequence[Run], labels: Sequence[str] | None = None, *, what: str = "force_y"
) -> PaperFigure:
    """Return one figure with a curve or a point for each run.

    Curves: "force_x", "force_y" and "contact_length" over displacement, "fracture" for the
    fracture energy over the peeled length, "contact_length_force" for the contact length L_c over
    the tangential force F_x with its fit L_c = L_c0 - xi F_x^2. Points: "xi" over the initial
    contact length L_c0 with a power law, "eta" (exponent of the loss of contact length) over the
    normal force; runs with the same label form one series.

    Parameters
    ----------
    runs : at least one
    labels : one per run; default the names of the systems
    what : name of one of the curves or points above

    Raises
    ------
    ModelError : if the number of labels or `what` is invalid, or a run lacks the variable drawn.

    Source: Mergel, Scheibert, Sauer 2021, Figs. 8, 10, 13 and 14.
    Verified by: tests/unit/solids/figures/test_comparison.py::test_families_are_drawn

    Examples
    --------
    >>> import stiction as st
    >>> try:
    ...     st.solids.compare_solids([])
    ... except st.ModelError as error:
    ...     print(str(error).splitlines()[0])
    plot.compare_solids.runs: got no runs; needs at least one.
    """
    if len(runs) == 0:
        raise ModelError(
            _WHERE + ".runs", "no runs", "at least one", "each run is drawn.", "give runs."
        )
    data = [SolidData(run) for run in runs]
    names = _names(runs, labels)
    if what not in _FAMILIES:
        why = "runs can be compared by these variables."
        needs = "one of " + ", ".join(_FAMILIES)
        raise ModelError(_WHERE + ".what", repr(what), needs, why, nearest(what, _FAMILIES))
    return _FAMILIES[what](data, names)


def normal_force(data: SolidData) -> float:
    """Return the normal force at the begin of the drive, positive in compression.

    Verified by: tests/unit/solids/figures/test_comparison.py::test_normal_force_has_a_sign
    """
    size = abs(float(data.curve("force_y")[0]))
    if not data.has("surface_coordinate", "normal_traction"):
        return size
    points = data.of_body(data.bodies[0])
    x = data.values("surface_coordinate")[points]
    traction = np.nan_to_num(data.values("normal_traction")[data.begin][points])
    total = float(np.sum(0.5 * (traction[1:] + traction[:-1]) * np.diff(x)))
    return float(np.copysign(size, total))


def _names(runs: Sequence[Run], labels: Sequence[str] | None) -> list[str]:
    """Return one label for each run, after checking their number."""
    if labels is None:
        return [run.system_name for run in runs]
    if isinstance(labels, str) or len(labels) != len(runs):
        needs = f"{len(runs)} labels, one per run"
        why, try_ = (
            "the legend names every run.",
            "leave `labels` out for the names of the systems.",
        )
        raise ModelError(_WHERE + ".labels", repr(labels), needs, why, try_)
    return [str(label) for label in labels]


def _colours(count: int) -> list[str]:
    """Return distinct colours for up to six runs, else colours along the colour map."""
    if count <= len(style.MASS_COLOURS):
        return list(style.MASS_COLOURS[:count])
    from matplotlib.colors import to_hex

    colours = style.many_colours()
    return [to_hex(colours(k / (count - 1))) for k in range(count)]


def _page(
    names: Sequence[str], colours: Sequence[str], more: Sequence[Any]
) -> tuple[PaperFigure, Axes]:
    """Return a figure with one panel, and a legend of all runs and of `more` entries."""
    keys = [line_key(name, colour) for name, colour in zip(names, colours, strict=True)]
    across = 2 if max(map(len, names)) > _LONG else 3
    figure, (ax,) = page(2.3, [*keys, *more], across=across)
    return figure, ax


def _common_span(ax: Axes, data: Sequence[SolidData]) -> None:
    """Set the horizontal axis to the displacements of all runs."""
    spans = np.array([entry.span for entry in data])
    ax.set_xlim(spans[:, 0].min(), spans[:, 1].max())
    data[0].label(ax.xaxis, "displacement", "displacement")


def _unstable_key(data: Sequence[SolidData]) -> list[Any]:
    """Return the legend entry of unstable states, if a run has any."""
    unstable = any(entry.unstable.any() for entry in data)
    return [line_key("unstable", style.INK, UNSTABLE)] if unstable else []


def _over_displacement(name: str, word: str) -> Callable[..., PaperFigure]:
    """Return the function that draws a curve of every run over displacement."""

    def draw(data: Sequence[SolidData], names: Sequence[str]) -> PaperFigure:
        colours = _colours(len(data))
        figure, ax = _page(names, colours, _unstable_key(data))
        every = []
        for entry, colour in zip(data, colours, strict=True):
            entry.require("compare_solids", name)
            every.append(entry.curve(name))
            draw_curve(ax, entry, entry.curve("displacement"), every[-1], color=colour)
            for row in entry.full_sliding:
                _square(ax, entry.curve("displacement")[row], every[-1][row], colour)
        force = name.startswith("force")
        if force:
            ax.axhline(0.0, color=style.INK, lw=0.4, zorder=1.0)
        style.room(ax.set_ylim, np.concatenate([*every, np.zeros(1 if force else 0)]))
        _common_span(ax, data)
        data[0].label(ax.yaxis, name, word)
        return figure

    return draw


def _square(ax: Axes, x: float, y: float, colour: str) -> None:
    """Draw a square at the begin of full sliding, as in the source."""
    ax.plot([x], [y], ls="", marker="s", ms=3.6, mfc="white", mec=colour, mew=0.8, zorder=4.0)


def _fracture(data: Sequence[SolidData], names: Sequence[str]) -> PaperFigure:
    """Draw the fracture energy of every run over its peeled length."""
    colours = _colours(len(data))
    work = data[0].quantity("work_of_adhesion")
    more = [] if work is None else [line_key(r"$W_\mathrm{adh}$", style.INK, DASH_DOT)]
    figure, ax = _page(names, colours, [*more, *_unstable_key(data)])
    spent, furthest = [], 0.0
    for entry, colour in zip(data, colours, strict=True):
        entry.require("compare_solids", "fracture_energy", "peeling_length")
        peeled, curve = entry.curve("peeling_length"), entry.curve("fracture_energy")
        spent.append(curve)
        furthest = max(furthest, float(np.nanmax(peeled)))
        draw_curve(ax, entry, peeled, curve, color=colour)
        for row in entry.full_sliding:
            _square(ax, peeled[row], curve[row], colour)
    if work is not None:
        ax.axhline(work, color=style.INK, lw=0.8, ls=DASH_DOT, zorder=1.5)
    energy_limits(ax, np.concatenate(spent), work)
    ax.set_xlim(0.0, furthest or 1.0)
    data[0].label(ax.xaxis, "peeling_length", "peeled length")
    data[0].label(ax.yaxis, "fracture_energy", "fracture energy")
    return figure


def _contact_over_force(data: Sequence[SolidData], names: Sequence[str]) -> PaperFigure:
    """Draw the contact length of every run over its tangential force, with fits."""
    colours = _colours(len(data))
    fits = [fitted(entry) for entry in data]
    word = r"$L_\mathrm{c,0} - \xi F_x^{\,2}$"
    more = [line_key(word, style.INK, DASH_DOT)] if any(f is not None for f in fits) else []
    figure, ax = _page(names, colours, more)
    forces, lengths = [np.zeros(1)], [np.zeros(1)]
    for entry, colour, fit in zip(data, colours, fits, strict=True):
        entry.require("compare_solids", "contact_length", "force_x")
        forces.append(np.abs(entry.curve("force_x")))
        lengths.append(entry.curve("contact_length"))
        draw_curve(ax, entry, forces[-1], lengths[-1], color=colour)
        if fit is not None:
            ax.plot(*fit, color=style.INK, lw=0.7, ls=DASH_DOT, zorder=3.0)
        for row in entry.full_sliding:
            _square(ax, forces[-1][row], lengths[-1][row], colour)
    style.room(ax.set_ylim, np.concatenate(lengths))
    style.room(ax.set_xlim, np.concatenate(forces))
    ax.set_xlim(left=0.0)
    ax.set_ylim(bottom=0.0)
    data[0].label(ax.xaxis, "tangential_force", "tangential force")
    data[0].label(ax.yaxis, "contact_length", "contact length")
    return figure


def _series(
    data: Sequence[SolidData], names: Sequence[str], name: str, x: Callable[[SolidData], float]
) -> dict[str, tuple[Floats, Floats]]:
    """Return for each label x and the quantity `name` of its runs that have it, sorted by x."""
    found: dict[str, tuple[Floats, Floats]] = {}
    for label in dict.fromkeys(names):
        mine = [entry for entry, own in zip(data, names, strict=True) if own == label]
        pairs = [(x(entry), entry.quantity(name)) for entry in mine]
        points = np.array([pair for pair in pairs if pair[1] is not None], dtype=np.float64)
        if points.size:
            points = points[np.argsort(points[:, 0])]
            found[label] = points[:, 0], points[:, 1]
    if not found:
        needs = f"at least one run with a number for {name}"
        why, try_ = (
            "each point of the figure shows this number of one run.",
            "take what='contact_length_force'.",
        )
        raise ModelError(f"{_WHERE}.runs", f"runs without {name}", needs, why, try_)
    return found


def _points(
    found: dict[str, tuple[Floats, Floats]], words: Sequence[str], log: bool
) -> tuple[PaperFigure, Axes, list[str]]:
    """Draw a series of points for each label; return figure, axes and colours."""
    from matplotlib.lines import Line2D

    colours = _colours(len(found))
    looks = [
        {"color": colour, "marker": marker, "ms": 4.0, "mec": "white", "mew": 0.4}
        for colour, marker in zip(colours, _SHAPES * 9, strict=False)
    ]
    keys = [Line2D([], [], ls="", label=w, **k) for w, k in zip(words, looks, strict=True)]  # type: ignore[arg-type]
    figure, (ax,) = page(2.3, keys, across=1 if max(map(len, words)) > 2 * _LONG else 2)
    for (x, y), look in zip(found.values(), looks, strict=True):
        ax.plot(x, y, ls="" if log else "-", lw=0.8, zorder=3.0, **look)  # type: ignore[arg-type]
    return figure, ax, colours


def _xi(data: Sequence[SolidData], names: Sequence[str]) -> PaperFigure:
    """Draw xi over the initial contact length on logarithmic axes, with power laws L_c0^beta."""
    numbers = "contact_length_initial", "xi"
    # a logarithmic axis has no place for other numbers
    shown = [k for k, d in enumerate(data) if all((d.quantity(n) or 0.0) > 0.0 for n in numbers)]
    mine = [data[k] for k in shown], [names[k] for k in shown]
    found = _series(*mine, "xi", lambda entry: entry.quantity(numbers[0]) or np.nan)
    laws = {k: np.polyfit(np.log(x), np.log(y), 1) for k, (x, y) in found.items() if x.size > 1}
    words = [
        f"{k}: $\\beta = {laws[k][0]:.2f}$".replace("-", "−") if k in laws else k for k in found
    ]
    figure, ax, colours = _points(found, words, log=True)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for (label, (x, _)), colour in zip(found.items(), colours, strict=True):
        if label in laws:
            ends = np.array([x.min() / 1.08, x.max() * 1.08])
            slope, offset = laws[label]
            ax.plot(ends, np.exp(offset) * ends**slope, color=colour, lw=0.8, ls=DASH_DOT)
    lengths = np.concatenate([x for x, _ in found.values()])
    _few_ticks(ax, lengths)
    ax.set_xlabel(f"initial contact length {data[0].ratio(numbers[0])}")
    ax.set_ylabel(f"{data[0].ratio(numbers[1])}")
    return figure


def _few_ticks(ax: Axes, values: Floats) -> None:
    """Label a logarithmic axis of about one decade with plain numbers."""
    from matplotlib.ticker import FixedLocator, NullLocator

    from stiction.plot.figure import ScaledTicks

    low, high = values.min() / 1.1, values.max() * 1.1
    ax.set_xlim(low, high)
    if high / low > 30.0:
        return
    steps = np.outer(10.0 ** np.arange(-12.0, 13.0), [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]).ravel()
    ax.xaxis.set_major_locator(FixedLocator(steps[(steps >= low) & (steps <= high)]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScaledTicks(1.0))


def _eta(data: Sequence[SolidData], names: Sequence[str]) -> PaperFigure:
    """Draw the exponent eta over the normal force, and a line at eta = 2."""
    found = _series(data, names, "eta", normal_force)
    figure, ax, _ = _points(found, list(found), log=False)
    ax.axhline(2.0, color=style.INK, lw=0.6, ls=UNSTABLE, zorder=1.0)
    style.room(ax.set_xlim, np.concatenate([x for x, _ in found.values()]))
    style.room(ax.set_ylim, np.concatenate([np.array([2.0]), *(y for _, y in found.values())]))
    data[0].label(ax.xaxis, "normal_force", "normal force")
    data[0].label(ax.yaxis, "eta", "exponent")
    return figure


_FAMILIES: dict[str, Callable[..., PaperFigure]] = {
    "force_x": _over_displacement("force_x", "horizontal force"),
    "force_y": _over_displacement("force_y", "vertical force"),
    "contact_length": _over_displacement("contact_length", "contact length"),
    "fracture": _fracture,
    "contact_length_force": _contact_over_force,
    "xi": _xi,
    "eta": _eta,
}
