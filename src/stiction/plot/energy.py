"""Figures of the energy balance (ledger) of a run: stacked energies and heats, and imbalance.

The balance is kinetic + elastic + adhesive energy + heats and losses = initial energy + external
work; the imbalance is the difference of both sides. `core.ledger` defines the columns, each (t,)
in the energy unit of the run. The figures of the systems call these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.ledger import Ledger
from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.run_data import RunData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["energy", "energy_panel", "imbalance_panel", "ledger_handles", "ledger_panel"]

Floats = npt.NDArray[np.float64]


_TERMS = {  # column of the ledger: its label and colour
    "stored": ("elastic", style.GREEN),
    "kinetic": ("kinetic", style.BLUE),
    "adhesive": ("adhesive", style.PURPLE),
    "friction_heat": ("friction heat", style.VERMILION),
    "viscous_heat": ("viscous heat", style.BROWN),
    "impact_loss": ("impacts", style.INDIGO),
    "algorithmic": ("time scheme", style.GREY),
}
_NEGLIGIBLE = 1e-14  # fraction of the largest column below which a column is not drawn
_THIN = 1e-4  # fraction of the largest column that is thinner than a line on the page
_DASHES = (0, (4, 2))  # of the line of the supplied energy


def energy(data: RunData) -> PaperFigure:
    """Return three panels: energies, the ledger as stacked terms, and the imbalance.

    The coloured terms of the ledger add up to the supplied energy, the dashed line: initial energy
    plus external work. The difference is the imbalance, drawn below on a logarithmic axis.

    Source: Axioms 14(4) 299, Fig. 10 and equation (26).
    Verified by: tests/unit/plot/test_energy.py::test_terms_add_up_to_the_energy_put_in
    """
    handles = ledger_handles(data.run, lines=True)
    top = 0.1 + 0.155 * -(-len(handles) // 3)
    figure = style.new_figure(style.COLUMN, 4.1 + top)
    room: dict[str, Any] = {"margins": (0.62, 0.16, 0.38, top), "gaps": (0.0, 0.13)}
    rows = style.grid(figure, 3, heights=[1.0, 1.35, 0.75], share_time=True, **room)
    axes = [row[0] for row in rows]
    style.key(axes[0], handles, columns=3)
    energy_panel(axes[0], data.run)
    ledger_panel(axes[1], data.run)
    imbalance_panel(axes[2], data.run)
    data.time_axis(axes[2])
    figure.align_ylabels(axes)
    return figure


def energy_panel(ax: Axes, run: Run) -> None:
    """Draw kinetic and elastic energy over time, and in a wider line their sum with adhesion."""
    ledger = run.energy
    terms = _terms(ledger)
    lines = {_TERMS[name]: terms[name] for name in ("kinetic", "stored") if name in terms}
    total = style.finite(ledger.kinetic + ledger.stored + ledger.adhesive)
    for (word, colour), values in {("total", style.INK): total, **lines}.items():
        shown = style.thin(values)
        width = 2.0 if word == "total" else 0.9
        ax.plot(ledger.time[shown], values[shown], color=colour, lw=width, label=word)
    style.room(ax.set_ylim, np.append(total, 0.0))
    style.scale_axis(ax.yaxis, "energy", run.energy_unit)


def ledger_panel(ax: Axes, run: Run) -> None:
    """Draw stored energy, heats and losses on top of each other, and the supplied energy.

    If a term is negative (a time scheme that creates energy), lines replace the stack.
    """
    ledger = run.energy
    terms = _terms(ledger)
    supplied = _supplied(ledger)
    size = max((style.largest(values) for values in terms.values()), default=0.0)
    stackable = all(np.nanmin(values) >= -_THIN * size for values in terms.values())
    shown = style.thin(*terms.values(), supplied) if terms else np.arange(ledger.time.size)
    time = ledger.time[shown]
    if terms and stackable:
        ax.stackplot(
            time,
            [values[shown] for values in terms.values()],
            colors=[_TERMS[name][1] for name in terms],
            labels=[_TERMS[name][0] for name in terms],
            lw=0.0,
        )
    else:
        for name, values in terms.items():
            word, colour = _TERMS[name]
            ax.plot(time, values[shown], color=colour, lw=0.9, label=word)
    ax.plot(time, supplied[shown], color=style.INK, lw=0.9, ls=_DASHES, label="supplied")
    tops = [np.sum(list(terms.values()), axis=0)] if stackable and terms else terms.values()
    every = np.concatenate([supplied, [0.0], *tops])
    style.room(ax.set_ylim, every)
    if stackable:
        ax.set_ylim(bottom=min(0.0, float(np.nanmin(every))))
    style.scale_axis(ax.yaxis, "ledger", run.energy_unit)


def imbalance_panel(ax: Axes, run: Run) -> None:
    """Draw the size of the imbalance over the largest energy, on a logarithmic axis."""
    ledger = run.energy
    columns = (values for name, values in ledger.columns().items() if name != "imbalance")
    scale = max(map(style.largest, columns)) or 1.0
    size = np.abs(style.finite(ledger.imbalance)) / scale
    shown = style.thin(size)
    # exact zeros have no logarithm: no dot at these times
    drawn = np.where(size[shown] > 0.0, size[shown], np.nan)
    ax.semilogy(ledger.time[shown], drawn, color=style.INK, ls="", marker=".", ms=1.4, mew=0.0)
    ax.set_ylabel("rel. imbalance")
    finite = drawn[np.isfinite(drawn)]
    worst = float(finite.max()) if finite.size else 1e-17
    ax.set_ylim(min(1e-17, 0.1 * worst), max(1e-12, 30.0 * worst))
    _few_decades(ax)
    if not finite.size:
        ax.text(0.5, 0.5, "exactly zero", transform=ax.transAxes, ha="center", va="center", size=8)


def _few_decades(ax: Axes) -> None:
    """Label at most about three powers of ten of a logarithmic vertical axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = (int(np.floor(np.log10(limit))) for limit in ax.get_ylim())
    step = max(1, -(-(high - low) // 3))
    ax.yaxis.set_major_locator(FixedLocator([10.0**k for k in range(low + 1, high + 1, step)]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(_power))
    ax.tick_params(axis="y", which="both", labelsize=8.0)


def _power(value: float, position: int | None = None) -> str:
    """Return a power of ten in superscript digits."""
    digits = str(round(np.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}"


def ledger_handles(run: Run, *, lines: bool) -> list[Any]:
    """Return the legend entries of the ledger panel, with `lines` those of the energy panel too."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    terms = _terms(run.energy)
    patches: list[Any] = [Patch(facecolor=_TERMS[t][1], label=_TERMS[t][0]) for t in terms]
    if lines:
        patches.append(Line2D([], [], color=style.INK, lw=2.0, label="total"))
    return [*patches, Line2D([], [], color=style.INK, lw=0.9, ls=_DASHES, label="supplied")]


def _terms(ledger: Ledger) -> dict[str, Floats]:
    """Return stored energies and dissipated heats, without columns that are zero throughout."""
    columns = {name: style.finite(values) for name, values in ledger.columns().items()}
    size = {name: style.largest(values) for name, values in columns.items()}
    least = _NEGLIGIBLE * max(size.values())
    return {name: columns[name] for name in _TERMS if size[name] > least}


def _supplied(ledger: Ledger) -> Floats:
    """Return (t,) the initial energy plus external work, in the energy unit of the run."""
    start = ledger.kinetic[0] + ledger.stored[0] + ledger.adhesive[0]
    return style.finite(start + ledger.external_work)
