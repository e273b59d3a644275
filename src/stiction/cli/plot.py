"""`stiction plot`: draws figures and animations of a saved run into its folder `figures`.

The format and the dots per inch are checked first, because loading a run takes time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from stiction.errors import ModelError, nearest
from stiction.io.contents import FIGURES
from stiction.io.store import load
from stiction.plot.files import check_looks

__all__ = ["check_films", "draw"]

_FILMS = ("gif", "html", "mp4")


def draw(
    folder: str,
    what: Sequence[str],
    format: str,
    dpi: float | None,
    films: Sequence[str],
    *,
    unverified: bool = False,
) -> list[Path]:
    """Write figures and animations of the run in `folder`, and return their paths.

    Parameters
    ----------
    folder : folder of a saved run
    what : names of figures; empty for the default figures of the run
    format, dpi : format and dots per inch of the figures
    films : formats of animations; if there is one, only the figures in `what` are written
    unverified : whether files that were changed after they were saved are read

    Verified by: tests/scenarios/test_show_and_plot.py::test_plot_writes_what_is_asked
    """
    check_looks(format, dpi)
    run = load(folder, unverified=unverified)
    if run.unverified:
        typer.echo(f"UNVERIFIED: {run.unverified}", err=True)
    check_films(films)
    # imported after the checks, because the import of Matplotlib takes a second
    from stiction.plot import figures_of, write_figures

    target = Path(folder, FIGURES)
    paths = (
        [] if films and not what else write_figures(run, target, list(what) or None, format, dpi)
    )
    target.mkdir(exist_ok=True)
    return paths + [figures_of(run).animate(target / f"animation.{film}") for film in films]


def check_films(films: Sequence[str]) -> None:
    """Raise ModelError for an unknown format of an animation."""
    for film in films:
        if film not in _FILMS:
            why = "an animation is a GIF, an MP4 film, or an HTML page."
            needs, try_ = "one of " + ", ".join(_FILMS), nearest(film, _FILMS)
            raise ModelError("--animate", repr(film), needs, why, try_)
