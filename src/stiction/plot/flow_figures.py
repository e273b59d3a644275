"""The figures of a piecewise-smooth flow."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from stiction.plot.figures import unknown_figure
from stiction.plot.flow_data import FlowData
from stiction.results.run import Run

if TYPE_CHECKING:
    from stiction.plot._figure import PaperFigure

__all__ = ["FlowFigures"]


@dataclass(frozen=True, eq=False)
class FlowFigures:
    """The figures of a flow; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, live or loaded
    """

    run: Run

    NAMES = ("overview", "phase", "multiplier", "energy", "events")

    @functools.cached_property
    def _data(self) -> FlowData:
        return FlowData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named: those that say something for this run."""
        return self.NAMES if self.run.energy.defined else tuple(self._without("energy"))

    def _without(self, name: str) -> list[str]:
        return [other for other in self.NAMES if other != name]

    def overview(self) -> PaperFigure:
        """Return the states against time over bands of the modes, with events and losses."""
        from stiction.plot.flow_time import overview

        return overview(self._data)

    def phase(
        self, x: str | None = None, y: str | None = None, z: str | None = None
    ) -> PaperFigure:
        """Return the path in the space of two or three states, default the first three.

        Parameters
        ----------
        x, y, z : names of states; without `z` but with `x` and `y` a plane is drawn
        """
        from stiction.plot.flow_phase import phase

        return phase(self._data, (x, y, z))

    def multiplier(self) -> PaperFigure:
        """Return the share of friction used while sliding, within its bounds."""
        from stiction.plot.flow_time import multiplier

        return multiplier(self._data)

    def energy(self) -> PaperFigure:
        """Return energies, the ledger, and its imbalance.

        Raises
        ------
        ModelError : if the system has no energy.
        """
        from stiction.plot.flow_time import energy_of_flow

        return energy_of_flow(self._data)

    def events(self) -> PaperFigure:
        """Return a tick for every event, one line per kind."""
        from stiction.plot.flow_time import events

        return events(self._data)

    def __getattr__(self, name: str) -> NoReturn:
        """Say which figures there are when an unknown one is asked for."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(unknown_figure(name, self.NAMES, self.run.system_name))
