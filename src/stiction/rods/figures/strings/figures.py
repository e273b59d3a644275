"""The figures of two strings in rolling contact.

Strings u(x, t) and v(x, t) touch at x = s1 and s2; the lead harmonic of a string is its coefficient
of sin(2 pi x / l). `run.plot` of a run of strings is a `StringFigures`; each method imports the
module that draws the figure.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stiction.core.run import Run
from stiction.plot.figures import Figures
from stiction.rods.figures.strings.data import StringData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie

__all__ = ["StringFigures"]


class StringFigures(Figures):
    """The figures of rolling strings; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, computed or loaded
    """

    NAMES = ("overview", "field", "spectrum", "paths", "section", "contact", "energy")
    SECONDS, FPS = 8.0, 20.0

    @functools.cached_property
    def _data(self) -> StringData:
        """The data of the run that figures read."""
        return StringData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """Names of the figures drawn by default: all that apply except overview and section."""
        silent = set() if self._data.has_spectrum else {"spectrum"}
        return tuple(name for name in self.NAMES if name not in {"overview", "section", *silent})

    def overview(self) -> PaperFigure:
        """Return the field of u with the contact, and the spectrum of its lead harmonic."""
        from stiction.rods.figures.strings.field import overview

        return overview(self._data)

    def field(
        self,
        names: Sequence[str] | str = ("u", "v"),
        window: tuple[float, float] | None = None,
    ) -> PaperFigure:
        """Return the fields over position and time, the contact in red.

        Parameters
        ----------
        names : u, v or both
        window : begin and end of the time interval; default all
        """
        from stiction.rods.figures.strings.field import field

        return field(self._data, names, window)

    def spectrum(self, names: Sequence[str] | str = ("u",)) -> PaperFigure:
        """Return the spectrum of the lead harmonics, beside that of the string without contact.

        The lead harmonic is the coefficient of sin(2 pi x / l); on fixed ends that is the second
        mode of the string, not the lowest.

        Parameters
        ----------
        names : u, v or both
        """
        from stiction.rods.figures.strings.field import spectrum

        return spectrum(self._data, names)

    def paths(self) -> PaperFigure:
        """Return the contact points over time, and each against its velocity."""
        from stiction.rods.figures.strings.over_time import paths

        return paths(self._data)

    def section(self) -> PaperFigure:
        """Return a Poincare section: contact points and velocities at upward zeros of u1."""
        from stiction.rods.figures.strings.chaos import section

        return section(self._data)

    def contact(self) -> PaperFigure:
        """Return contact points, their speed over that of the waves, and the contact force."""
        from stiction.rods.figures.strings.over_time import contact

        return contact(self._data)

    def energy(self) -> PaperFigure:
        """Return energies: kinetic and elastic, of u and v, of u + v and u - v; imbalance."""
        from stiction.rods.figures.strings.over_time import energy

        return energy(self._data)

    def growth(self, other: Run) -> PaperFigure:
        """Return the distance to `other`, a run from a nearby state, on a logarithmic axis."""
        from stiction.rods.figures.strings.over_time import growth

        return growth(self._data, other)

    def movie(self, count: int, *, window: tuple[float, float] | None = None) -> Movie:
        """Return both strings, with the contact that moves along them.

        Parameters
        ----------
        count : number of frames
        window : begin and end of the times shown; default all
        """
        from stiction.plot.player.sampling import frame_times
        from stiction.rods.figures.strings.player import movie_of

        return movie_of(self._data, frame_times(self.run, count, window))
