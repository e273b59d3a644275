"""Figure of the energy balance (ledger) of a solid over the prescribed displacement.

The upper panel stacks the terms of kinetic + stored + adhesive + heat + algorithmic = work, the
lower one has the imbalance of this equation over the largest energy. `figures.SolidFigures.energy`
calls `energy`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.ledger import Ledger
from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.energy import ledger_handles, ledger_panel
from stiction.solids.figures.curves import page
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stiction.plot.figure import PaperFigure

__all__ = ["energy"]


def energy(data: SolidData) -> PaperFigure:
    """Return the stacked terms of the ledger, and its imbalance, over the displacement.

    Adhesive energy, negative in contact, is measured from its lowest value. The ledger is drawn
    over program time instead if the displacement is not monotonic.

    Verified by: tests/unit/solids/figures/test_figures.py::test_ledger_is_drawn_over_displacement
    """
    run, over_u = _ledgered(data)
    handles = ledger_handles(run, lines=False)
    figure, (above, below) = page(2.9, handles, rows=2, heights=[1.6, 0.8])
    ledger_panel(above, run)
    data.label(
        above.yaxis, "ledger", "ledger" if data.plain or data.in_space else "ledger per width"
    )
    _imbalance(below, run.energy)
    if over_u:
        data.displacement_axis(below)
    else:
        below.set_xlim(run.energy.time[0], run.energy.time[-1])
        unit = data.run.time_unit
        plain = "" if unit != "1" else " (dimensionless)"
        style.scale_axis(below.xaxis, f"time of the program{plain}", "" if plain else unit)
    figure.align_ylabels([above, below])
    return figure


def _imbalance(ax: Axes, ledger: Ledger) -> None:
    """Draw the size of the imbalance over the largest energy, on a logarithmic axis."""
    size = np.abs(style.finite(ledger.imbalance)) / (ledger.scale or 1.0)
    drawn = np.where(size > 0.0, size, np.nan)
    ax.semilogy(ledger.time, drawn, color=style.INK, lw=0.9)
    worst = float(np.nanmax(drawn)) if np.isfinite(drawn).any() else 1e-12
    ax.set_ylim(1e-6 * worst, 10.0 * worst)
    ax.set_ylabel("rel. imbalance")


def _ledgered(data: SolidData) -> tuple[Run, bool]:
    """Return the run with the ledger since the begin of the drive, and whether it is over u."""
    # work and heat are counted from the first row at which the displacement changes
    ledger = data.run.energy
    start = data.time[data.begin]
    first = int(np.searchsorted(ledger.time, start - 1e-15 * abs(start)))
    full = np.zeros(ledger.time.size)
    adhesive = full + ledger.adhesive

    def since(term: float | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray((full + term)[first:] - (full + term)[first])

    u = np.interp(ledger.time, data.time, data.values("displacement"))[first:]
    step = np.diff(u)
    over_u = bool(u.size > 1 and (np.all(step > 0.0) or np.all(step < 0.0)))
    heat = ledger.friction_heat
    driven = dataclasses.replace(
        ledger,
        time=u if over_u else ledger.time[first:],
        kinetic=(full + ledger.kinetic)[first:],
        stored=(full + ledger.stored)[first:],
        adhesive=(adhesive - np.nanmin(adhesive[first:]))[first:],
        external_work=since(ledger.external_work),
        friction_heat=(heat - heat[first])[first:],
        viscous_heat=since(ledger.viscous_heat),
        impact_loss=since(ledger.impact_loss),
        algorithmic=since(ledger.algorithmic),
    )
    return dataclasses.replace(data.run, energy=driven), over_u
