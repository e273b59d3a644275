"""Figures of faults: speed and friction over time, the loop of a cycle, slip along the fault.

They are drawn from the saved variables of a run (`faults.outcome`): the trace of the fastest cell
(samples in time of the cell of the largest slip speed), slip at saved times, and slip at events.
A rupture lasts from an onset to the next arrest, the times when the largest slip speed rises above
and falls below `Cycles.seismic`. `stiction plot` and `run.plot` call `figures_of`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.faults.figures.player import is_depth, movie_of, times_of
from stiction.plot import style
from stiction.plot.figure import PaperFigure
from stiction.plot.figures import Figures
from stiction.plot.player.movie import Movie

__all__ = ["FaultFigures", "figures_of"]

Floats = npt.NDArray[np.float64]

_MOST_LINES = 100  # of slip along a fault
_MOST_ONSETS = 60  # more would overlap
_START, _RUPTURE = style.BLUE, style.VERMILION
_MARGINS = (0.56, 0.16, 0.42, 0.28)  # with a key above the axes [in]


class FaultFigures(Figures):
    """The figures of a run of a fault.

    Verified by: tests/unit/faults/test_figures.py::test_every_figure_is_drawn
    """

    NAMES = ("cycles", "loop", "slip")

    @property
    def default(self) -> tuple[str, ...]:
        """Names of the figures drawn by default; `loop` is for a slider, `slip` for a fault."""
        return ("cycles", "loop") if self._cells == 1 else ("cycles", "slip")

    @property
    def _cells(self) -> int:
        """Number of cells; 1 for a slider."""
        return int(self.run.variables["slip"].values.shape[1])

    def _trace(self, name: str) -> Floats:
        """Return a quantity of the fastest cell at the samples of its trace."""
        return np.asarray(self.run.variables[f"trace_{name}"].values, dtype=np.float64)

    def cycles(self) -> PaperFigure:
        """Return speed and friction of the fastest cell over time, with the onsets of ruptures.

        The trace has a sample at the end of each step that changed the fastest cell. Curves are
        constant from a sample to the start of the step that ends at the next sample.

        Verified by: tests/unit/faults/test_figures.py::test_a_sample_holds_until_the_next_step
        """
        figure = style.new_figure(style.PAGE, 3.4)
        (top,), (low,) = style.grid(figure, rows=2, margins=(0.72, *_MARGINS[1:]), share_time=True)
        time, speed, mu = self._trace("time"), self._trace("speed"), self._trace("friction")
        # older runs saved no steps
        saved = "trace_step" in self.run.variables
        # each sample twice: at its time, and at the start of the step to the next sample
        step = self._trace("step")[1:] if saved else np.diff(time)
        ends = np.append(np.repeat(time, 2)[1:], self.run.t_end)
        ends[1:-1:2] = np.maximum(ends[1:-1:2] - step, time[:-1])
        for ax, values in ((top, speed), (low, mu)):
            ax.plot(ends, np.repeat(values, 2), color=style.INK, lw=0.8)
        top.set_yscale("log")
        log = self.run.event_log
        onsets = log.time[np.array([kind == "onset" for kind in log.kind], dtype=bool)]
        if 0 < onsets.size <= _MOST_ONSETS:
            look: dict[str, Any] = {
                "marker": "v",
                "ls": "",
                "color": _RUPTURE,
                "ms": 3,
                "label": "onset of rupture",
            }
            style.key(top, top.plot(onsets, np.full(onsets.size, np.max(speed)), **look))
        low.set_xlim(self.run.time[0], self.run.t_end)
        style.scale_axis(low.xaxis, "time", "s")
        of = "" if self._cells == 1 else "\nof the fastest cell"
        top.set_ylabel(f"slip speed (m/s){of}")
        low.set_ylabel(f"friction $\\mu${of}")
        figure.align_ylabels([top, low])
        return figure

    def loop(self) -> PaperFigure:
        """Return friction over speed of the fastest cell: the cycle around the steady state."""
        figure = style.new_figure(style.COLUMN, 2.8)
        ((ax,),) = style.grid(figure, margins=_MARGINS)
        speed, mu = self._trace("speed"), self._trace("friction")
        ax.semilogx(speed, mu, color=style.INK, lw=0.8)
        style.key(ax, ax.plot(speed[:1], mu[:1], "o", color=_START, ms=4, label="start"))
        ax.set(xlabel="slip speed (m/s)", ylabel="friction $\\mu$")
        return figure

    def movie(self, count: int) -> Movie:
        """Return a movie of `count` frames: slip along the fault, or the block of a slider."""
        return movie_of(self.run, times_of(self.run, count))

    def slip(self) -> PaperFigure:
        """Return slip along the fault: lines coloured by time; areas show ruptures.

        The slip at an onset and at the next arrest bound an area.

        Lines are saved states and states at events, about equally spaced in slip, not in time.

        Verified by: tests/unit/faults/test_figures.py::test_a_rupture_is_a_band
        """
        from matplotlib.collections import LineCollection

        figure = style.new_figure(style.COLUMN, 2.8)
        ((ax,),) = style.grid(figure, margins=(0.56, 0.86, 0.42, 0.28))
        values = self.run.variables
        time, slip, place = self.run.time, values["slip"].values, values["place"].values
        if "slip_at_event" in values:
            kinds, at = self.run.event_log.kind, values["slip_at_event"].values
            look: dict[str, Any] = {"color": _RUPTURE, "alpha": 0.35, "lw": 0.0}
            bands = [
                ax.fill_betweenx(place, at[k], at[k + 1], label="rupture", **look)
                for k in range(len(at) - 1)
                if kinds[k] == "onset"
            ]
            style.key(ax, bands[:1])
            time = np.append(time, values["event_time"].values)
            order = np.argsort(time, kind="stable")
            time, slip = time[order], np.concatenate([slip, at])[order]
        # states equally spaced in the path of the cell that slips most
        distance = np.cumsum(np.abs(np.diff(slip, axis=0, prepend=slip[:1])).max(axis=1))
        some = np.unique(np.searchsorted(distance, np.linspace(0.0, distance[-1], _MOST_LINES)))
        lines = [np.column_stack([profile, place]) for profile in slip[some]]
        colours, span = style.many_colours(), (time[0], max(time[-1], np.nextafter(time[0], 1.0)))
        tints = colours((time[some] - span[0]) / (span[1] - span[0]))
        ax.add_collection(LineCollection(lines, colors=tints, linewidths=0.6))
        style.room(ax.set_xlim, slip)
        moved = place[np.ptp(slip, axis=0) > 0.01 * np.ptp(slip)]
        if is_depth(self.run):
            ax.set_ylim(place[0] + place[-1], 0.0)
            style.scale_axis(ax.yaxis, "depth", "m")
        else:
            style.room(ax.set_ylim, moved)
            style.scale_axis(ax.yaxis, "position along the fault", "m")
        style.scale_axis(ax.xaxis, "slip", "m")
        style.colour_bar(ax, colours, span, "time", "s")
        return figure


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of a fault."""
    return FaultFigures(run)
