"""Figures in three dimensions: deformed membranes and bodies, and contact pressure (footprint).

Positions have the axes x, y, z of the model, with the contact normal along y; figures draw y
upwards. `figures.SolidFigures` calls `snapshots` and `footprint`. In shapes, s is the number of
snapshots, p that of drawn points or of contact points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.solids.figures.curves import line_key
from stiction.solids.figures.data import NO_FRICTION, STICKS, SolidData
from stiction.solids.figures.shapes import stress_limit

if TYPE_CHECKING:
    from stiction.plot.figure import PaperFigure

__all__ = ["NEEDED", "footprint", "snapshots"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEEDED = ("drawn_position", "drawn_cell", "snapshot_time")
# systems that solve one half, z >= 0, of a symmetric problem; both halves are drawn
_HALVED = ("TapePeeling", "CapSliding3D")
_MAP, _SIGNED = "viridis", "RdBu_r"  # colour maps of stretches, and of signed values
_HIGH, _SIDE = 2.5, 0.74  # height of the figure, and width of the colour scale [in]
_NARROW = 0.3  # an axis shorter than this fraction of the longest one has a single tick
_FLAT = 1e-9  # least height of the axes over the longest side
_VIEW = (24.0, -118.0)  # elevation and azimuth [degrees]


def snapshots(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return deformed membranes coloured by ln(area stretch), or bodies by the stress trace.

    All panels have the same colour scale and scale of length. Of a symmetric problem of which one
    half is solved, both halves are drawn.

    Parameters
    ----------
    times : of the snapshots drawn; default three evenly spaced ones

    Source: Mergel, Scheibert, Sauer 2021, Fig. 11(b).
    Verified by: tests/unit/solids/membranes/test_tape.py::test_figure_of_three_moments
    """
    data.require("shapes", *NEEDED)
    picks = data.snapshots(times, 3)
    figure = style.new_figure(style.PAGE, _HIGH)
    left = 0.3 / style.PAGE
    width = (1.0 - left - _SIDE / style.PAGE) / len(picks)
    places = data.values("drawn_position")
    box = [(float(side.min()), float(side.max())) for side in _shown(places[[0, *picks]])]
    if data.run.system_name in _HALVED:
        outermost = max(-box[1][0], box[1][1])
        box[1] = (-outermost, outermost)
    scale = _stress_scale(data, picks)
    for number, k in enumerate(picks):
        ax = figure.add_axes((left + number * width, 0.0, width, 0.92), projection="3d")
        _panel(ax, data, k, box, scale)
        title = data.state(float(data.snapshot_time[k]))
        ax.set_title(title, size=style.FONT, color=style.INK, pad=-4.0)
    _draw_scale(figure, scale)
    return figure


class ColourScale(NamedTuple):
    """A field and its colour scale.

    Parameters
    ----------
    values : (s, p) at the drawn points of every snapshot
    limits : ends of the colour scale
    colours : name of the colour map
    word : title of the colour scale
    clipped : whether values lie beyond its ends
    """

    values: Floats
    limits: tuple[float, float]
    colours: str
    word: str
    clipped: bool = False


def _stress_scale(data: SolidData, picks: Sequence[int]) -> ColourScale:
    """Return the field that colours membranes or bodies, with its colour scale."""
    if data.has("area_stretch"):
        values = np.log(data.values("area_stretch"))
        seen = values[picks][np.isfinite(values[picks])]
        limits = (min(0.0, float(seen.min())), float(seen.max()))
        return ColourScale(values, limits, _MAP, r"$\ln J_\mathrm{c}$")
    data.require("shapes", "stress_trace")
    values = data.values("stress_trace")
    end, clipped = stress_limit(data, picks)
    word = data.ratio("stress_trace") + ("" if data.plain else " (Pa)")
    return ColourScale(values, (-end, end), _SIGNED, word, clipped)


def _shown(places: Floats) -> Floats:
    """Return positions (..., 3) in the order x, z, y, axis first: y is vertical in the figure."""
    return np.moveaxis(places[..., [0, 2, 1]], -1, 0)


def _panel(
    ax: Any,
    data: SolidData,
    k: int,
    box: list[tuple[float, float]],
    scale: ColourScale,
) -> None:
    """Draw the surfaces at snapshot `k` in axes with the limits `box`."""
    from matplotlib import colormaps
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    x = np.moveaxis(_shown(data.values("drawn_position")[k]), 0, -1)[data.cells]
    values = np.nan_to_num(scale.values[k][data.cells].mean(axis=1))
    if data.run.system_name in _HALVED:
        x = np.concatenate([x, x * np.array([1.0, -1.0, 1.0])])
        values = np.concatenate([values, values])
    low, high = scale.limits
    shade = colormaps[scale.colours]((values - low) / (high - low or 1.0))
    ax.add_collection3d(Poly3DCollection(x, facecolors=shade, edgecolors="none", linewidths=0.0))
    longest = max(high - low for low, high in box)
    (x0, x1), (y0, y1), (z0, z1) = box
    # a flat body has no height, which axes need
    z1 = max(z1, z0 + _FLAT * longest)
    ax.set(xlim=(x0, x1), ylim=(y0, y1), zlim=(z0, z1))
    ax.set_box_aspect((x1 - x0, y1 - y0, z1 - z0), zoom=0.8)
    ax.view_init(*_VIEW)
    style.dress_3d(ax, [data.place(axis) for axis in "xzy"], ticks=3, size=style.FONT - 1.0)
    for axis, (low, high) in zip((ax.xaxis, ax.yaxis, ax.zaxis), box, strict=True):
        if high - low < _NARROW * longest:
            axis.get_major_locator().set_params(nbins=1)


def _draw_scale(figure: PaperFigure, scale: ColourScale) -> None:
    """Add the colour scale of all panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    place = (1.0 - 0.58 / style.PAGE, 0.22, 0.09 / style.PAGE, 0.5)
    slim = figure.add_axes(place, label="<colorbar>")
    colours = ScalarMappable(Normalize(*scale.limits), scale.colours)
    bar = figure.colorbar(colours, cax=slim, extend="both" if scale.clipped else "neither")
    bar.outline.set_linewidth(0.4)
    slim.tick_params(labelsize=style.FONT, width=0.6, length=2.5, pad=2.0)
    slim.locator_params(nbins=5)
    slim.set_title(scale.word, size=style.FONT, color=style.INK, pad=5.0)


# ---------------------------------------------------------------- view along the contact normal

# zones of contact, with the colour of their edge and its text
_ZONES = {
    "contact": (style.INK, "edge of contact zone"),
    "stick": (style.GREEN, "edge of stick zone"),
}
_PANEL_HIGH, _PANEL_SIDE = 2.4, 0.74  # height of the figure, and width of the colour scale [in]
_MARGIN = 0.12  # around the points in contact, over their extent


def footprint(data: SolidData, times: Sequence[float] | None = None) -> PaperFigure:
    """Return the contact pressure on the deformed surface, with the edges of contact and stick.

    The view is along the second axis, y, the contact normal. Of two bodies in contact the surface
    of the first is drawn.

    Parameters
    ----------
    times : of the samples drawn; default three evenly spaced ones during contact

    Verified by: tests/unit/solids/three_d/test_space_figures.py::test_footprint
    """
    data.require("footprint", "surface_x", "surface_z", "normal_traction", "slides")
    rows = data.rows(times, 3)
    figure = style.new_figure(style.PAGE, _PANEL_HIGH)
    left, gap = 0.62, 0.14  # [in]
    wide = (style.PAGE - _PANEL_SIDE - left - gap * (len(rows) - 1)) / len(rows)
    end = style.largest(data.values("normal_traction")[rows]) or 1.0
    surfaces = _surfaces(data)
    box = _box(data, rows, np.concatenate(surfaces))
    for number, row in enumerate(rows):
        begin = (left + number * (wide + gap)) / style.PAGE
        ax = figure.add_axes((begin, 0.18, wide / style.PAGE, 0.64))
        for points in surfaces:
            _seen_from_above(ax, data, row, points, end)
        ax.set(xlim=box[0], ylim=box[1], aspect="equal")
        ax.tick_params(labelleft=number == 0, labelsize=style.FONT)
        ax.set_xlabel(data.place("x"), size=style.FONT)
        ax.set_title(data.state(float(data.time[row])), size=style.FONT, color=style.INK, pad=3.0)
        if number == 0:
            ax.set_ylabel(data.place("z"), size=style.FONT)
    word = data.ratio("normal_traction") + ("" if data.plain else " (Pa)")
    _draw_scale(figure, ColourScale(np.zeros(0), (-end, end), _SIGNED, word))
    handles = [line_key(word, colour) for colour, word in _ZONES.values()]
    figure.legend(handles=handles, loc="upper left", ncols=2, frameon=False, fontsize=style.FONT)
    return figure


def _surfaces(data: SolidData) -> list[Ints]:
    """Return the indices of the points of each contact on its first body."""
    count = data.values("slides").shape[1]
    body, contact = (
        data.values(name) if data.has(name) else np.ones(count)
        for name in ("body_of_point", "contact_of_point")
    )
    points = [np.flatnonzero(contact == k) for k in np.unique(contact)]
    return [mine[body[mine] == body[mine].min()] for mine in points]


def _box(data: SolidData, rows: Sequence[int], points: Ints) -> list[tuple[float, float]]:
    """Return the limits of both axes around the points in contact, with a margin."""
    touching = points[(data.values("slides")[rows][:, points] > NO_FRICTION).any(axis=0)]
    found = []
    for name in ("surface_x", "surface_z"):
        values = data.values(name)[rows][:, touching if touching.size else points]
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        found.append((low - _MARGIN * (high - low), high + _MARGIN * (high - low)))
    if data.run.system_name in _HALVED:
        found[1] = (-found[1][1], found[1][1])
    return found


def _seen_from_above(ax: Any, data: SolidData, row: int, points: Ints, end: float) -> None:
    """Draw the pressure and the edges of the contact and stick zones of one surface."""
    from matplotlib.tri import Triangulation

    names = ("surface_x", "surface_z", "normal_traction", "slides")
    x, z, pressure, state = (data.values(name)[row][points] for name in names)
    if data.run.system_name in _HALVED:
        x, z = np.concatenate([x, x]), np.concatenate([z, -z])
        pressure, state = np.concatenate([pressure] * 2), np.concatenate([state] * 2)
    mesh = Triangulation(x, z)
    unknown = ~np.isfinite(pressure)[mesh.triangles].all(axis=1)
    if unknown.all():
        return
    mesh.set_mask(unknown)
    ax.tripcolor(
        mesh,
        pressure,
        cmap=_SIGNED,
        vmin=-end,
        vmax=end,
        shading="gouraud",
        rasterized=True,
    )
    # `slides` is `NO_FRICTION` without contact
    zones = {"contact": state > NO_FRICTION, "stick": state == STICKS}
    for name, inside in zones.items():
        if 0.0 < inside.mean() < 1.0:
            colour, _ = _ZONES[name]
            ax.tricontour(mesh, inside.astype(float), [0.5], colors=[colour], linewidths=0.9)
