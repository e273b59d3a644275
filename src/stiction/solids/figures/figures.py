"""The figures of deformable solids in contact: `run.plot` of a solid is a `SolidFigures`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stiction.plot.figures import Figures
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie

__all__ = ["SolidFigures"]

# fractions of the initial contact length lost, from which the default set contains the figure of
# the fronts and that of the fracture energy
_LITTLE, _MUCH = 0.01, 0.25


class SolidFigures(Figures):
    """The figures of solids; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, live or loaded
    """

    NAMES = (
        "forces",
        "fronts",
        "tractions",
        "shapes",
        "energy",
        "fracture",
        "contact_length",
        "contact_length_force",
        "stress",
        "interface",
        "footprint",
    )
    SECONDS = 6.0

    @functools.cached_property
    def _data(self) -> SolidData:
        return SolidData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named: those of variables that change in this run.

        Verified by: tests/unit/solids/figures/test_figures.py::test_default_leaves_out_the_silent
        """
        from stiction.solids.figures.curves import probes

        data = self._data
        says = {
            "forces": data.changes("force_x") or data.changes("force_y"),
            "fronts": data.peeled > _LITTLE or data.changes("sliding_length"),
            "tractions": data.has("surface_coordinate", "normal_traction", "tangential_traction"),
            "shapes": data.has("drawn_position", "drawn_cell", "snapshot_time")
            and (data.has("stress_trace") or data.has("area_stretch")),
            "energy": self.run.energy.defined and self.run.energy.scale > 0.0,
            "fracture": data.changes("fracture_energy") and data.peeled > _MUCH,
            "contact_length": data.changes("contact_length"),
            "contact_length_force": data.changes("contact_length")
            and data.changes("force_x")
            and data.fit_holds,
            "stress": any(data.changes(name) for name in probes(data)),
            "interface": data.has("surface_coordinate", "gap"),
            "footprint": data.has("surface_z", "normal_traction", "slides")
            and bool((data.values("slides") > 0.0).any()),
        }
        return tuple(name for name in self.NAMES if says[name])

    def forces(self) -> PaperFigure:
        """Return both force components over displacement, with peak and limit points."""
        from stiction.solids.figures.curves import forces

        return forces(self._data)

    def fronts(self) -> PaperFigure:
        """Return contact length, peeled length and sliding length over displacement."""
        from stiction.solids.figures.curves import fronts

        return fronts(self._data)

    def tractions(self, times: Sequence[float] | None = None) -> PaperFigure:
        """Return contact tractions along the surface at `times`, by default at four times."""
        from stiction.solids.figures.surface import tractions

        return tractions(self._data, times)

    def shapes(self, times: Sequence[float] | None = None) -> PaperFigure:
        """Return the deformed bodies with their stress at `times`, by default at four times."""
        if self._data.in_space:
            from stiction.solids.figures.space import snapshots

            return snapshots(self._data, times)
        from stiction.solids.figures.shapes import shapes

        return shapes(self._data, times)

    def energy(self) -> PaperFigure:
        """Return the ledger over displacement, and its imbalance."""
        from stiction.solids.figures.energy import energy

        return energy(self._data)

    def fracture(self) -> PaperFigure:
        """Return the fracture energy over the peeled length, and the work of adhesion."""
        from stiction.solids.figures.curves import fracture

        return fracture(self._data)

    def contact_length(self) -> PaperFigure:
        """Return the contact length over displacement."""
        from stiction.solids.figures.curves import contact_length

        return contact_length(self._data)

    def contact_length_force(self) -> PaperFigure:
        """Return the contact length over the tangential force, with its quadratic fit."""
        from stiction.solids.figures.curves import contact_length_force

        return contact_length_force(self._data)

    def stress(self) -> PaperFigure:
        """Return the stress at the probes over displacement."""
        from stiction.solids.figures.curves import stress

        return stress(self._data)

    def interface(self, times: Sequence[float] | None = None) -> PaperFigure:
        """Return the normal gap near the contact at `times`, by default at four times."""
        from stiction.solids.figures.surface import interface

        return interface(self._data, times)

    def footprint(self, times: Sequence[float] | None = None) -> PaperFigure:
        """Return the contact pressure on a surface in space at `times`, with stick and slip zones.

        By default at three times.
        """
        from stiction.solids.figures.space import footprint

        return footprint(self._data, times)

    def movie(self, count: int) -> Movie:
        """Return the movie of the bodies with their stress, surfaces and tractions."""
        from stiction.solids.figures.player import movie_of, times_of

        self._data.require("animate", "snapshot_time", "drawn_position")
        return movie_of(self._data, times_of(self._data, count))
