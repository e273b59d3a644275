"""The figures of a run, and writing them to files.

Each system has a folder `figures` with a function ``figures_of(run)``. The function returns an
object of a subclass of `Figures`: each method in ``NAMES`` returns a figure, and ``default``
names the figures that `write_figures` writes if the caller names none. The object is made from a
run alone; it reads the data of the run, not the model, so that loaded runs can be drawn too.
"""

from __future__ import annotations

import abc
import functools
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from stiction.catalogue import package_of
from stiction.core.run import Run
from stiction.errors import ModelError, StoreError, explain, nearest
from stiction.plot.files import check_looks, written

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure
    from stiction.plot.player.movie import Movie
    from stiction.plot.player.page import Page

__all__ = ["Animated", "Figures", "figures_of", "unknown_figure", "write_figures"]


class Animated(abc.ABC):
    """Base of classes with a movie: writes it to a file and shows it in notebooks."""

    # how long an animation plays [s], and its frames per second
    SECONDS: ClassVar[float] = 12.0
    FPS: ClassVar[float] = 15.0

    @abc.abstractmethod
    def movie(self, count: int) -> Movie:
        """Return the movie with about `count` frames."""

    def animate(
        self,
        path: str | Path,
        *,
        seconds: float | None = None,
        fps: float | None = None,
        **looks: Any,
    ) -> Path:
        """Write an animation and return its path; the suffix names the format.

        Parameters
        ----------
        path : ends in .html (a page with a player, which needs no network), .gif, or .mp4 (needs
            the program ffmpeg)
        seconds : how long the animation plays; default `SECONDS`
        fps : frames per second of .gif and .mp4; default `FPS`
        looks : further arguments of the method `movie`, such as `window`

        Raises
        ------
        ModelError : if there is no animation, or none in this format.
        StoreError : if the file cannot be written.
        """
        from stiction.plot.player.writing import write_movie

        seconds = self.SECONDS if seconds is None else seconds
        fps = self.FPS if fps is None else fps
        filmed = functools.partial(self.movie, **looks)
        return write_movie(filmed, Path(path), seconds=seconds, fps=fps)

    def player(self, seconds: float = 12.0, **looks: Any) -> Page:
        """Return the page with the player, which notebooks show; `looks` as for `animate`."""
        from stiction.plot.player.page import Page, frames_for

        return Page(frames_for(functools.partial(self.movie, **looks), seconds))


@dataclass(frozen=True, eq=False)
class Figures(Animated):
    """The figures of a run; base of the classes of every system.

    Parameters
    ----------
    run : the run, live or loaded
    """

    run: Run

    # names of the methods that return a figure and need no argument
    NAMES: ClassVar[tuple[str, ...]] = ()

    @property
    @abc.abstractmethod
    def default(self) -> tuple[str, ...]:
        """The figures written when none are named: those that apply to this run."""

    def movie(self, count: int) -> Movie:
        """Return the movie of this run with about `count` frames.

        Raises
        ------
        ModelError : if this system has none.
        """
        got, needs = f"a run of {self.run.system_name!r}", "a run of a system that has an animation"
        why = "each system defines its own animation, and this one has none."
        raise ModelError("animate", got, needs, why, f"draw one of {', '.join(self.NAMES)}.")

    def __call__(self, *_args: object, **_options: object) -> NoReturn:
        """Refuse `run.plot()`: each figure is a separate method."""
        try_ = f"run.plot.{(*self.default, *self.NAMES)[0]}(); figures: {', '.join(self.NAMES)}."
        needs = "the name of a figure; every figure is a method of `run.plot`"
        raise ModelError("plot", "run.plot(...)", needs, "a run has several figures.", try_)

    def __getattr__(self, name: str) -> Callable[..., PaperFigure]:
        """Refuse an unknown name and list the known ones."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(unknown_figure(name, self.NAMES, self.run.system_name))


def figures_of(run: Run) -> Figures:
    """Return the object whose methods are the figures of this run's system.

    Raises
    ------
    ModelError : if the system has no figures.

    Verified by: tests/unit/plot/test_kit.py::test_figures_are_those_of_the_system
    """
    package = package_of(run.system_name, run.system)
    if not package or importlib.util.find_spec(f"{package}.figures") is None:
        got, needs = f"a run of {run.system_name!r}", "a run of a system that has figures"
        why = "every system draws its own figures, in the folder `figures` beside its model."
        raise ModelError("plot", got, needs, why, "draw the arrays in `run.data` yourself.")
    return cast(Figures, importlib.import_module(f"{package}.figures").figures_of(run))


def write_figures(
    run: Run,
    folder: str | Path,
    what: Sequence[str] | str | None = None,
    format: str = "png",
    dpi: float | None = None,
) -> list[Path]:
    """Write figures of a run into a folder and return the paths, one file per figure.

    Parameters
    ----------
    folder : made if it is not there; files of the same name are replaced
    what : names of figures; default the set that fits the run
    format : "png", "pdf" or "svg"
    dpi : dots per inch of PNG; None for 150

    Raises
    ------
    ModelError : if a name or the format is not known; nothing is written then.
    StoreError : if the folder cannot be written.

    Verified by: tests/unit/chains/figures/test_figures.py::test_default_set_is_written
    """
    figures = figures_of(run)
    names = figures.default if what is None else ((what,) if isinstance(what, str) else what)
    for name in names:
        if name not in figures.NAMES:
            raise ModelError(unknown_figure(name, figures.NAMES, run.system_name))
    dpi = check_looks(format, dpi)
    folder = Path(folder)
    paths = []
    try:
        for name in dict.fromkeys(names):
            path = folder / f"{name}.{format}"
            _write(getattr(figures, name)(), path, dpi)
            paths.append(path)
    except OSError as error:
        raise StoreError(
            "write_figures",
            f"{str(folder)!r} ({error.strerror or error})",
            "a folder that can be written",
            "every figure is written to a file in this folder.",
            "choose another folder, or free space on the disk.",
        ) from error
    return paths


def _write(figure: PaperFigure, path: Path, dpi: float) -> None:
    """Write one figure; the suffix of the path is the format."""
    import matplotlib

    # text is not converted to paths in vector files, so that it can be searched and edited
    looks = matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"})
    with looks, written(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], dpi=dpi)


def unknown_figure(name: str, known: Sequence[str], system: str) -> str:
    """Return the message for a figure called `name` that a system does not have."""
    needs, why = "one of " + ", ".join(known), f"a run of {system} has these figures."
    return explain("plot", f"figure {name!r}", needs, why, nearest(name, known))
