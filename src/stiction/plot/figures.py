"""Which figures a run has, and writing them to files.

A family of systems has one class of figures, named in `_FIGURES` and imported when a run of
that family is drawn. Such a class, for example `FlowFigures`,

- is made from a run alone, ``FlowFigures(run)``, and reads its data, never the system;
- lists its figures in ``NAMES``, a tuple of strings;
- has a method for each name that returns a new matplotlib figure and needs no argument;
- says in the property ``default`` which of them are written when none are named;
- answers an unknown name by an AttributeError with the text of `unknown_figure`.

That is all `run.plot`, `write_figures` and the command line ask of it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from stiction.errors import ModelError, StoreError, explain, nearest
from stiction.plot.chain_data import ChainData
from stiction.plot.files import written
from stiction.results.run import Run

if TYPE_CHECKING:
    from stiction.plot._figure import PaperFigure

__all__ = ["ChainFigures", "figures_of", "unknown_figure", "write_figures"]

_FORMATS = ("png", "pdf", "svg")
_PRINT_DPI = 150


@dataclass(frozen=True, eq=False)
class ChainFigures:
    """The figures of a chain; every method returns a new matplotlib Figure.

    Parameters
    ----------
    run : the run, live or loaded
    """

    run: Run

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

    @functools.cached_property
    def _data(self) -> ChainData:
        return ChainData(self.run)

    @property
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named: those that say something for this run."""
        from stiction.plot.stick_geometry import has_shadow

        last = ("stick_set",) if has_shadow(self._data) else ()
        return ("motion", "phase", "energy", "onset", *last)

    def motion(self) -> PaperFigure:
        """Return displacements and velocities above a strip that shows which masses stick."""
        from stiction.plot.motion import motion

        return motion(self._data)

    def displacements(self) -> PaperFigure:
        """Return displacements against time, with the strip of stick."""
        from stiction.plot.motion import motion

        return motion(self._data, ("x",))

    def velocities(self) -> PaperFigure:
        """Return velocities against time, with the strip of stick."""
        from stiction.plot.motion import motion

        return motion(self._data, ("v",))

    def phase(self, mass: int | None = None) -> PaperFigure:
        """Return the phase plane of one `mass` (numbered from 1), default of all."""
        from stiction.plot.phase import phase

        return phase(self._data, mass)

    def energy(self) -> PaperFigure:
        """Return energies, the ledger, and its imbalance."""
        from stiction.plot.energy import energy

        return energy(self._data)

    def onset(self, window: tuple[float, float] | None = None) -> PaperFigure:
        """Return slip rate over mass and time [s], with events and closed-form lines."""
        from stiction.plot.onset import onset

        return onset(self._data, window)

    def stick_set(
        self, *, time: float | None = None, pairs: Sequence[tuple[int, int]] | None = None
    ) -> PaperFigure:
        """Return the projections of the stick set at a `time` [s], default the last."""
        from stiction.plot.stick_set import stick_set

        return stick_set(self._data, time=time, pairs=pairs)

    def friction(self) -> PaperFigure:
        """Return friction forces against time, with the bounds of stick."""
        from stiction.plot.motion import friction

        return friction(self._data)

    def overview(self) -> PaperFigure:
        """Return displacements, velocities, ledger and onset diagram on one page width."""
        from stiction.plot.overview import overview

        return overview(self._data)

    def animate(
        self,
        path: str | Path,
        *,
        seconds: float = 8.0,
        fps: float = 20.0,
        scale: float | None = None,
        window: tuple[float, float] | None = None,
    ) -> Path:
        """Write an animation (.gif, .mp4 or .html); see `stiction.plot.animate`."""
        from stiction.plot.animation import animate

        return animate(self.run, path, seconds=seconds, fps=fps, scale=scale, window=window)

    def __getattr__(self, name: str) -> NoReturn:
        """Say which figures there are when an unknown one is asked for."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(unknown_figure(name, self.NAMES, self.run.system_name))


_FIGURES = {
    "chains": "stiction.plot.figures:ChainFigures",
    "switching": "stiction.plot.flow_figures:FlowFigures",
    "strings": "stiction.plot.string_figures:StringFigures",
    "rods": "stiction.plot.rod_figures:RodFigures",
    "solids": "stiction.plot.solid_figures:SolidFigures",
}


def figures_of(run: Run) -> Any:
    """Return the object whose methods are the figures of this run's family of systems.

    Raises
    ------
    ModelError : if there are no figures for the family.

    Verified by: tests/unit/plot/test_figures.py::test_figures_are_chosen_by_the_family
    """
    if run.family not in _FIGURES:
        raise ModelError(
            explain(
                "plot",
                f"a run of {run.system_name!r} from {run.family!r}",
                "a run of a system from " + ", ".join(_FIGURES),
                "every family of systems has figures of its own.",
                "read the arrays in `run.data` and draw them yourself.",
            )
        )
    module, _, name = _FIGURES[run.family].partition(":")
    return getattr(importlib.import_module(module), name)(run)


def write_figures(
    run: Run,
    folder: str | Path,
    what: Sequence[str] | str | None = None,
    format: str = "png",
) -> list[Path]:
    """Write figures of a run into a folder and return the paths, one file per figure.

    Parameters
    ----------
    folder : made if it is not there; files of the same name are replaced
    what : names of figures; default the set that fits the run
    format : "png", "pdf" or "svg"

    Raises
    ------
    ModelError : if a name or the format is not known; nothing is written then.
    StoreError : if the folder cannot be written.

    Verified by: tests/unit/plot/test_figures.py::test_default_set_is_written
    """
    figures = figures_of(run)
    names = figures.default if what is None else ((what,) if isinstance(what, str) else what)
    for name in names:
        if name not in figures.NAMES:
            raise ModelError(unknown_figure(name, figures.NAMES, run.system_name))
    if format not in _FORMATS:
        raise ModelError(
            explain(
                "write_figures.format",
                repr(format),
                "one of " + ", ".join(_FORMATS),
                "these are written without further software.",
                'use "png" for screens and "pdf" for papers.',
            )
        )
    folder = Path(folder)
    paths = []
    try:
        for name in dict.fromkeys(names):
            path = folder / f"{name}.{format}"
            _write(getattr(figures, name)(), path)
            paths.append(path)
    except OSError as error:
        raise StoreError(
            explain(
                "write_figures",
                f"{str(folder)!r} ({error.strerror or error})",
                "a folder that can be written",
                "every figure becomes a file there.",
                "choose another folder, or free space on the disk.",
            )
        ) from error
    return paths


def _write(figure: PaperFigure, path: Path) -> None:
    """Write one figure; the suffix of the path is the format."""
    import matplotlib

    # text stays text in vector files, so that it can be searched and edited
    looks = matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"})
    with looks, written(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], dpi=_PRINT_DPI)


def unknown_figure(name: str, known: Sequence[str], system: str) -> str:
    """Return the message for a figure called `name` that a system does not have."""
    return explain(
        "plot",
        f"figure {name!r}",
        "one of " + ", ".join(known),
        f"these are the figures of a {system}.",
        nearest(name, known),
    )
