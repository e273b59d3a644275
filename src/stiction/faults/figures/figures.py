"""Figures of faults: speed and friction over time, the loop of a cycle, slip along the fault."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.figure import PaperFigure
from stiction.plot.figures import Figures
from stiction.plot.player.movie import Movie

__all__ = ["FaultFigures", "figures_of"]

Floats = npt.NDArray[np.float64]

# lines of slip along a fault: between events, and in them
_MOST_LINES = 60
_CREEP, _RUPTURE = style.MASS_COLOURS[0], style.MASS_COLOURS[1]


class FaultFigures(Figures):
    """The figures of a run of a fault.

    Verified by: tests/unit/faults/test_figures.py::test_every_figure_is_drawn
    """

    NAMES = ("cycles", "loop", "slip")

    @property
    def default(self) -> tuple[str, ...]:
        """A slider has a loop; a fault has slip along it."""
        return ("cycles", "loop") if self._cells == 1 else ("cycles", "slip")

    @property
    def _cells(self) -> int:
        return int(self.run.variables["slip"].values.shape[1])

    def _trace(self, name: str) -> Floats:
        return np.asarray(self.run.variables[f"trace_{name}"].values, dtype=np.float64)

    def cycles(self) -> PaperFigure:
        """Return speed and friction of the fastest cell over time, events marked."""
        figure = style.new_figure(style.PAGE, 3.2)
        (top,), (low,) = style.grid(figure, rows=2, share_time=True)
        time, speed, mu = self._trace("time"), self._trace("speed"), self._trace("friction")
        at = style.thin(time, np.log(speed), most=4 * style.MOST_POINTS)
        top.semilogy(time[at], speed[at], color=style.INK, lw=0.8)
        low.plot(time[at], mu[at], color=style.INK, lw=0.8)
        log = self.run.event_log
        onsets = log.time[np.array([kind == "onset" for kind in log.kind], dtype=bool)]
        if 0 < onsets.size <= _MOST_LINES:
            top.plot(onsets, np.full(onsets.size, np.max(speed)), "v", color=_RUPTURE, ms=3)
        low.set_xlim(0.0, float(time.max()))
        style.scale_axis(low.xaxis, "time", "s")
        top.set_ylabel("slip speed (m/s)")
        low.set_ylabel("friction $\\mu$")
        return figure

    def loop(self) -> PaperFigure:
        """Return friction against speed: the cycle around the steady state."""
        figure = style.new_figure(style.COLUMN, 2.8)
        ((ax,),) = style.grid(figure)
        speed, mu = self._trace("speed"), self._trace("friction")
        ax.semilogx(speed, mu, color=style.INK, lw=0.8)
        ax.plot(speed[:1], mu[:1], "o", color=_CREEP, ms=4)
        ax.set(xlabel="slip speed (m/s)", ylabel="friction $\\mu$")
        return figure

    def movie(self, count: int) -> Movie:
        """Return slip and speed along the fault, or the block of a slider."""
        from stiction.faults.figures.player import movie_of, times_of

        return movie_of(self.run, times_of(self.run, count))

    def slip(self) -> PaperFigure:
        """Return slip along the fault: lines at saved times, and bands that ruptures swept."""
        figure = style.new_figure(style.COLUMN, 2.8)
        ((ax,),) = style.grid(figure)
        values = self.run.variables
        slip, place = values["slip"].values, values["place"].values / 1e3
        for k in style.few(len(slip), _MOST_LINES):
            ax.plot(slip[k], place, color=_CREEP, lw=0.6)
        if "slip_at_event" in values:
            kinds = self.run.event_log.kind
            at = values["slip_at_event"].values
            for k in range(len(at) - 1):
                if kinds[k] == "onset":
                    ax.fill_betweenx(place, at[k], at[k + 1], color=_RUPTURE, alpha=0.35, lw=0.0)
        ax.set_ylim(float(place.max()), 0.0)
        ax.set_xlim(left=0.0)
        ax.set(xlabel="slip (m)", ylabel="along the fault (km)")
        return figure


def figures_of(run: Run) -> Figures:
    """Return the figures of a run of a fault."""
    return FaultFigures(run)
