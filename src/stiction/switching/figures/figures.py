"""The figures of a run of a piecewise-smooth flow, as methods of `run.plot`.

Each method calls a function of a module of this folder, which is imported then.
"""

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
        """Return the states over time on bands of the modes, with the losses of determinism."""
        from stiction.switching.figures.over_time import overview

        return overview(self._data)

    def phase(
        self, x: str | None = None, y: str | None = None, z: str | None = None
    ) -> PaperFigure:
        """Return the path in the space of two or three states; by default of the first three.

        Parameters
        ----------
        x, y, z : names of states for the axes; without `z` the portrait is plane

        Paths of too many turns to draw are drawn from the last samples alone.
        """
        from stiction.switching.figures.phase import phase

        return phase(self._data, (x, y, z))

    def multiplier(self) -> PaperFigure:
        """Return the multipliers in sliding over time, with their limits -1 and 1."""
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
                "this system is defined by a vector field without an energy.",
                "draw overview or phase instead.",
            )
        return energy(self._data)

    def movie(self, count: int, *, window: tuple[float, float] | None = None) -> Movie:
        """Return a movie of the path in state space, and of the machine if a picture of it exists.

        Parameters
        ----------
        count : number of frames
        window : first and last time shown; by default those of the run
        """
        from stiction.plot.player.sampling import frame_times
        from stiction.switching.figures.player import movie_of

        return movie_of(self._data, frame_times(self.run, count, window))

    def events(self) -> PaperFigure:
        """Return the events as ticks over time, one line for each kind."""
        from stiction.switching.figures.over_time import events

        return events(self._data)
