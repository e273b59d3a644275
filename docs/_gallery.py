"""Images of the gallery: the figures of a run, which pyplot does not know."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from stiction.plot.figure import PaperFigure

__all__ = ["paper_figures"]

# the figure that was saved last
_saved: list[PaperFigure | None] = [None]


def paper_figures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figure that the last line of a block returns; return it as reStructuredText.

    Parameters
    ----------
    block : the block of a script, for sphinx-gallery
    variables : its names, and the paths that images take
    settings : of the gallery
    """
    last = variables["example_globals"].get("___")
    # the name outlives its block
    if not isinstance(last, PaperFigure) or last is _saved[0]:
        return figure_rst([], settings["src_dir"])
    path = next(variables["image_path_iterator"])
    last.savefig(path, format="png", dpi=150)
    _saved[0] = last
    return figure_rst([path], settings["src_dir"])
