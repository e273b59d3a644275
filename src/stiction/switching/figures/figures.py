"""The figures of a piecewise-smooth flow."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from stiction.errors import ModelError
from stiction.plot.figures import Figures
from stiction.switching.figures.data import FlowData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie

__all__ = ["FlowFigures"]


class FlowFigures(Figures):
    """The figures of a flow; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, live or loaded
    """

    NAMES = ("overview", "phase", "multiplier", "energy", "events")

    @functools.cached_property
    def _data(self) -> FlowData:
        return FlowData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named: those that apply to this run."""
        silent = set() if self.run.energy.defined else {"energy"}
        # a flow that never slides has no multiplier
        silent |= set() if (self._data.mode == 0).any() else {"multiplier"}
        return tuple(name for name in self.NAMES if name not in silent)

    def overview(self) -> PaperFigure:
        """Return the states against time over bands of the modes, with events and losses."""
        from stiction.switching.figures.over_time import overview

        return overview(self._data)

    def phase(
        self, x: str | None = None, y: str | None = None, z: str | None = None
    ) -> PaperFigure:
        """Return the path in the space of two or three states, default the first three.

        Parameters
        ----------
        x, y, z : names of states; without `z` but with `x` and `y` a plane is drawn
        """
        from stiction.switching.figures.phase import phase

        return phase(self._data, (x, y, z))

    def multiplier(self) -> PaperFigure:
        """Return the multiplier in sliding, within its bounds."""
        from stiction.switching.figures.over_time import multiplier

        return multiplier(self._data)

    def energy(self) -> PaperFigure:
        """Return energies, the ledger, and its imbalance.

        Raises
        ------
        ModelError : if the system has no energy.
        """
        from stiction.plot.energy import energy

        if not self.run.energy.defined:
            raise ModelError(
                "plot.energy",
                f"a run of {self.run.system_name}, which has no energy",
                "a system with kinetic and stored energy",
                "its equations are those of a vector field without an energy.",
                "draw overview or phase instead.",
            )
        return energy(self._data)

    def movie(self, count: int, *, window: tuple[float, float] | None = None) -> Movie:
        """Return the path in the space of states, and the machine where it is known.

        Parameters
        ----------
        window : begin and end of the times shown; default all
        """
        from stiction.plot.player.sampling import frame_times
        from stiction.switching.figures.player import movie_of

        return movie_of(self._data, frame_times(self.run, count, window))

    def events(self) -> PaperFigure:
        """Return a tick for every event, one line per kind."""
        from stiction.switching.figures.over_time import events

        return events(self._data)
