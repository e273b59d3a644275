"""The figures of a chain, as methods of `run.plot`; each is drawn by a module of this folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stiction.chains.figures.data import ChainData
from stiction.plot.figures import Figures

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie

__all__ = ["ChainFigures"]


class ChainFigures(Figures):
    """The figures of a chain; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, live or loaded
    """

    NAMES = (
        "motion",
        "displacements",
        "velocities",
        "phase",
        "energy",
        "onset",
        "stick_set",
        "friction",
        "overview",
    )
    SECONDS, FPS = 8.0, 20.0

    @functools.cached_property
    def _data(self) -> ChainData:
        return ChainData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named; a run without slip has no phase planes."""
        from stiction.chains.figures.stick_geometry import has_shadow

        # of a chain that never slips these would be empty
        moved = ("phase", "energy", "onset") if self._data.mode.any() else ()
        return ("motion", *moved, *(("stick_set",) if has_shadow(self._data) else ()))

    def motion(self) -> PaperFigure:
        """Return displacements and velocities above a strip that shows which masses stick."""
        from stiction.chains.figures.motion import motion

        return motion(self._data)

    def displacements(self) -> PaperFigure:
        """Return displacements against time, with the strip of stick."""
        from stiction.chains.figures.motion import motion

        return motion(self._data, ("x",))

    def velocities(self) -> PaperFigure:
        """Return velocities against time, with the strip of stick."""
        from stiction.chains.figures.motion import motion

        return motion(self._data, ("v",))

    def phase(self, mass: int | None = None) -> PaperFigure:
        """Return the phase plane of one `mass` (numbered from 1), default of all.

        Paths of too many turns to draw are drawn from the last samples alone.
        """
        from stiction.chains.figures.phase import phase

        return phase(self._data, mass)

    def energy(self) -> PaperFigure:
        """Return energies, the ledger, and its imbalance."""
        from stiction.plot.energy import energy

        return energy(self._data)

    def onset(self, window: tuple[float, float] | None = None) -> PaperFigure:
        """Return slip rate over mass and time [s], with events and closed-form lines."""
        from stiction.chains.figures.onset import onset

        return onset(self._data, window)

    def stick_set(
        self, *, time: float | None = None, pairs: Sequence[tuple[int, int]] | None = None
    ) -> PaperFigure:
        """Return the projections of the stick set at a `time` [s], default the last."""
        from stiction.chains.figures.stick_set import stick_set

        return stick_set(self._data, time=time, pairs=pairs)

    def friction(self) -> PaperFigure:
        """Return friction forces against time, with the bounds of stick."""
        from stiction.chains.figures.motion import friction

        return friction(self._data)

    def overview(self) -> PaperFigure:
        """Return displacements, velocities, ledger and onset diagram on one page width."""
        from stiction.chains.figures.overview import overview

        return overview(self._data)

    def movie(
        self,
        count: int,
        *,
        scale: float | None = None,
        window: tuple[float, float] | None = None,
    ) -> Movie:
        """Return the blocks with their springs, and the strip of stick.

        A stuck mass is grey and hatched, a slipping one coloured by its direction.

        Parameters
        ----------
        scale : factor of the displacements; default a round number that shows the motion
        window : begin and end of the times shown [s]; default all
        """
        from stiction.chains.figures.player import movie_of
        from stiction.plot.player.sampling import frame_times

        return movie_of(self._data, frame_times(self.run, count, window), scale=scale)
