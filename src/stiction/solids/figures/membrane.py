"""Membranes in space at a few moments, coloured with the stretch of their area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.solids.figures.data import SolidData

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["NEEDED", "moments"]

Floats = npt.NDArray[np.float64]

NEEDED = ("drawn_position", "drawn_cell", "snapshot_time", "area_stretch")
# of which one half is solved
_HALVED = "TapePeeling"
_MAP = "viridis"
_HIGH, _SIDE = 2.5, 0.62  # of the figure, and room for the scale [in]
_VIEW = (24.0, -118.0)  # elevation and azimuth [degrees]


def moments(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return the deformed membranes at a few snapshots, with the logarithm of their area stretch.

    All panels share one scale of colours and of lengths. Of a tape both halves are drawn.

    Parameters
    ----------
    times : of the snapshots drawn; default three that are spread over the run

    Source: Mergel, Scheibert, Sauer 2021, Fig. 11(b).
    Verified by: tests/unit/solids/membranes/test_tape.py::test_figure_of_three_moments
    """
    data.require("shapes", *NEEDED)
    picks = data.snapshots(times, 3)
    figure = style.new_figure(style.PAGE, _HIGH)
    part = (1.0 - _SIDE / style.PAGE) / len(picks)
    places = data.values("drawn_position")
    box = [(float(side.min()), float(side.max())) for side in _shown(places[[0, *picks]])]
    if data.run.system_name == _HALVED:
        box[1] = (-box[1][1], box[1][1])
    colours = np.log(data.values("area_stretch"))
    limits = (min(0.0, float(colours[picks].min())), float(colours[picks].max()))
    for number, k in enumerate(picks):
        ax = figure.add_axes((number * part, 0.0, part, 0.92), projection="3d")
        _panel(ax, data, k, box, limits, colours[k])
        title = data.state(float(data.snapshot_time[k]))
        ax.set_title(title, size=style.FONT, color=style.INK, pad=-4.0)
    _scale(figure, limits)
    return figure


def _shown(places: Floats) -> Floats:
    """Return places with the direction away from the plane as the last one, (axis, ...)."""
    return np.moveaxis(places[..., [0, 2, 1]], -1, 0)


def _panel(
    ax: Any,
    data: SolidData,
    k: int,
    box: list[tuple[float, float]],
    limits: tuple[float, float],
    colours: Floats,
) -> None:
    from matplotlib import colormaps
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    x = np.moveaxis(_shown(data.values("drawn_position")[k]), 0, -1)[data.cells]
    paint = colours[data.cells].mean(axis=1)
    if data.run.system_name == _HALVED:
        x = np.concatenate([x, x * np.array([1.0, -1.0, 1.0])])
        paint = np.concatenate([paint, paint])
    span = max(limits[1] - limits[0], 1e-12)
    shade = colormaps[_MAP]((paint - limits[0]) / span)
    ax.add_collection3d(Poly3DCollection(x, facecolors=shade, edgecolors="none", linewidths=0.0))
    (x0, x1), (y0, y1), (z0, z1) = box
    ax.set(xlim=(x0, x1), ylim=(y0, y1), zlim=(z0, max(z1, z0 + 1e-12)))
    ax.set_box_aspect((x1 - x0, y1 - y0, max(z1 - z0, 1e-12)), zoom=0.88)
    ax.view_init(*_VIEW)
    ax.tick_params(labelsize=style.FONT - 2.0, pad=-2.0)
    ax.locator_params(nbins=3)


def _scale(figure: PaperFigure, limits: tuple[float, float]) -> None:
    """Add one scale of colours for all panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    slim = figure.add_axes((1.0 - 0.46 / style.PAGE, 0.22, 0.09 / style.PAGE, 0.5))
    bar = figure.colorbar(ScalarMappable(Normalize(*limits), _MAP), cax=slim)
    bar.outline.set_linewidth(0.4)
    slim.tick_params(labelsize=style.FONT, width=0.6, length=2.5, pad=2.0)
    slim.set_title(r"$\ln J_\mathrm{c}$", size=style.FONT, color=style.INK, pad=5.0)
