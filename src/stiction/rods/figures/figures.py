"""The figures of rods in rolling and slipping contact.

`run.plot` of a run of rods is a `RodFigures`; each method imports the module that draws the figure.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from stiction.plot.figures import Figures
from stiction.rods.figures.data import RodData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie

__all__ = ["RodFigures"]


class RodFigures(Figures):
    """The figures of rods; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, computed or loaded
    """

    NAMES = ("contact", "paths", "tension", "energy", "scene")
    SECONDS = 5.0

    @functools.cached_property
    def _data(self) -> RodData:
        """The data of the run that figures read."""
        return RodData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """Names of the figures drawn by default: those that apply to this run."""
        if self._data.has("tension"):
            return ("tension", "energy", "scene")
        contact = ("contact",) if self._data.has("contact_mode") else ()
        paths = ("paths",) if self._data.has("s1") else ()
        return (*contact, *paths, "energy", "scene")

    def contact(self) -> PaperFigure:
        """Return the contacts over time: forces, crossing, speed, gap, and slip.

        Raises
        ------
        ModelError : if the run has no contacts.
        """
        from stiction.rods.figures.over_time import contact

        return contact(self._data)

    def paths(self) -> PaperFigure:
        """Return the contact points on the rods over time, and their speed.

        Raises
        ------
        ModelError : if the run has no contacts.
        """
        from stiction.rods.figures.over_time import paths

        return paths(self._data)

    def tension(self) -> PaperFigure:
        """Return the tension along rods in contact along arcs, by time, and where they slip.

        Raises
        ------
        ModelError : if the run is not one of `Quasistatic` or `ImplicitEuler`.
        """
        from stiction.rods.figures.tension import tension

        return tension(self._data)

    def energy(self) -> PaperFigure:
        """Return energies over time, the energy ledger, and its imbalance."""
        from stiction.plot.energy import energy

        return energy(self._data)

    def scene(
        self,
        time: float | None = None,
        *,
        view: tuple[float, float] = (28.0, -60.0),
        tubes: bool | None = None,
    ) -> PaperFigure:
        """Return the rods in space with the contact forces; see `stiction.rods.figures.scene`.

        Parameters
        ----------
        time : [s]; default the last
        view : elevation and azimuth of the direction of view [degrees]
        tubes : True draws tubes, or raises an error if PyVista cannot render; False draws lines;
            None draws tubes if PyVista can render
        """
        from stiction.rods.figures.scene import scene

        return scene(self._data, time, view=view, tubes=tubes)

    def movie(
        self,
        count: int,
        *,
        view: tuple[float, float] = (28.0, -60.0),
        window: tuple[float, float] | None = None,
    ) -> Movie:
        """Return the rods in space, with contacts and forces.

        Parameters
        ----------
        count : number of frames
        view : elevation and azimuth of the initial direction of view [degrees]
        window : begin and end of the time interval [s]; default all
        """
        from stiction.plot.player.sampling import frame_times
        from stiction.rods.figures.player import movie_of

        return movie_of(self._data, frame_times(self.run, count, window), view)
