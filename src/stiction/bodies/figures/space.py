"""Figures of rigid bodies in space: edges and circles, projected along a fixed direction.

The direction of view is 30 degrees from the y axis and 20 degrees above the horizon; z points up.
Half spaces are not drawn. `figures.BodyFigures` calls `scene_in_space` and `movie_in_space`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.bodies.space.rotation import matrices
from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.figure import PaperFigure
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import between, run_movie

__all__ = ["movie_in_space", "outlines_in_space", "scene_in_space"]

Floats = npt.NDArray[np.float64]

# angles of the viewer: about z from the x axis, and above the horizon [rad]
_AZIMUTH, _ELEVATION = np.deg2rad(-60.0), np.deg2rad(20.0)
# angles of the points on a circle [rad]
_ARC = np.linspace(0.0, 2.0 * np.pi, 49)
# the variable `surface_kind` of a half space
_HALF_SPACE = 2


def _projected(points: Floats) -> Floats:
    """Return (..., 2) coordinates to the right and upwards in the view of points (..., 3)."""
    cos, sin = np.cos(_AZIMUTH), np.sin(_AZIMUTH)
    right = np.array([-sin, cos, 0.0])
    up = np.array([-np.sin(_ELEVATION) * cos, -np.sin(_ELEVATION) * sin, np.cos(_ELEVATION)])
    return np.asarray(points @ np.stack([right, up], axis=1))


def outlines_in_space(
    run: Run, surface: int, position: Floats, turned: Floats
) -> tuple[Floats, tuple[int, ...]]:
    """Return projected lines of a shape, and the index of the first point of each.

    A sphere has its outline, and its equator, which shows how it turns. A capsule has those of both
    ends, and the sides of its outline.

    Parameters
    ----------
    surface : number of the surface, from 0
    position, turned : (f, 3) and (f, 4) places [m] and quaternions

    Returns
    -------
    (f, n, 2) points [m], and the indices.
    """
    turn = matrices(turned / np.linalg.norm(turned, axis=-1, keepdims=True))
    radius = float(run.variables["surface_radius"].values[surface])
    edges = run.variables["surface_edges"].values[surface]
    if radius > 0.0:
        core = edges[0] if np.isfinite(edges[0]).all() else np.zeros((1, 3))
        circle = radius * np.stack([np.cos(_ARC), np.sin(_ARC)], axis=1)
        equator = np.column_stack([circle, np.zeros(len(_ARC))]) @ np.swapaxes(turn, 1, 2)
        around = np.broadcast_to(circle, (len(position), *circle.shape))
        ends = _projected(core @ np.swapaxes(turn, 1, 2) + position[:, None])
        curves = [
            one + ends[:, k, None]
            for k in range(len(core))
            for one in (around, _projected(equator))
        ]
        if len(core) > 1:
            along = ends[:, 1] - ends[:, 0]
            across = np.stack([-along[:, 1], along[:, 0]], axis=1)
            # a capsule seen along its axis is a circle
            across *= radius / np.maximum(np.linalg.norm(along, axis=1), 1e-300)[:, None]
            curves += [ends + side * across[:, None] for side in (1.0, -1.0)]
        starts = np.cumsum([0, *(curve.shape[1] for curve in curves[:-1])])
        return np.concatenate(curves, axis=1), tuple(starts.tolist())
    ends = edges[np.isfinite(edges[:, 0, 0])].reshape(-1, 3)
    lines = _projected(ends @ np.swapaxes(turn, 1, 2) + position[:, None])
    return lines, tuple(range(0, len(ends), 2))


def _surfaces(run: Run, time: Floats) -> list[tuple[Floats, tuple[int, ...]]]:
    """Return `outlines_in_space` of bodies, then of supports that are not half spaces.

    time : (f,) [s]. Columns of the variable `support` are place, quaternion and velocity
    """
    values = run.variables
    position = between(time, run.time, values["position"].values)
    turned = between(time, run.time, values["orientation"].values)
    shown = [outlines_in_space(run, k, *one) for k, one in enumerate(_each(position, turned))]
    for k, row in enumerate(values["support"].values, start=position.shape[1]):
        if values["surface_kind"].values[k] != _HALF_SPACE:
            moved = row[:3] + (time - run.time[0])[:, None] * row[7:]
            shown.append(outlines_in_space(run, k, moved, np.tile(row[3:7], (len(time), 1))))
    return shown


def _each(position: Floats, turned: Floats) -> list[tuple[Floats, Floats]]:
    """Return the places (f, 3) and quaternions (f, 4) of each body."""
    return list(zip(np.swapaxes(position, 0, 1), np.swapaxes(turned, 0, 1), strict=True))


def _spring_ends(run: Run) -> Floats:
    """Return (t, s, 2, 2) projected places of the ends of the springs [m]."""
    if "spring_ends" not in run.variables:
        return np.zeros((len(run.time), 0, 2, 2))
    return _projected(run.variables["spring_ends"].values)


def _limits(run: Run, shown: list[tuple[Floats, tuple[int, ...]]]) -> tuple[Floats, Floats]:
    """Return the lower left and upper right corners (2,) of the view [m]."""
    points = [points for points, _ in shown] + list(np.moveaxis(_spring_ends(run), 1, 0))
    low = np.min([one.min(axis=(0, 1)) for one in points], axis=0)
    high = np.max([one.max(axis=(0, 1)) for one in points], axis=0)
    room = 0.08 * float((high - low).max())
    return low - room, high + room


def scene_in_space(run: Run, frames: int) -> PaperFigure:
    """Return the bodies at some times, the last ones darkest, with the paths of their centres.

    Verified by: tests/unit/bodies/space/test_figures.py::test_lines_stand_where_the_bodies_are
    """
    n = run.variables["position"].values.shape[1]
    times = run.time[np.unique(np.linspace(0, len(run.time) - 1, frames).round().astype(int))]
    shown = _surfaces(run, times)
    low, high = _limits(run, shown)
    height = (style.PAGE - 0.72) * (high - low)[1] / (high - low)[0]
    figure = style.new_figure(style.PAGE, float(np.clip(height, 0.8, 5.0)) + 0.54)
    ((ax,),) = style.grid(figure)
    for k, (points, starts) in enumerate(shown):
        for at, frame in enumerate(points):
            shade = min(1.0, 0.2 + 0.8 * (at + 1) / len(points))
            colour = style.INK if k < n else style.GREY
            for line in np.split(frame, starts[1:]):
                ax.plot(*line.T, color=colour, lw=0.7, alpha=shade if k < n else 1.0)
    for ends in _spring_ends(run)[-1]:
        ax.plot(*ends.T, color=style.GREY, lw=0.9, marker="o", ms=2.0)
    if "hinge_place" in run.variables:
        pins = _projected(run.variables["hinge_place"].values[-1])
        ax.plot(*pins.T, color=style.INK, lw=0.0, marker="o", ms=3.5, mfc="white")
    path = _projected(run.variables["position"].values)
    for body in range(n):
        ax.plot(*path[:, body].T, color=style.BLUE, lw=0.6)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="horizontal in the view (m)")
    ax.set_ylabel("vertical in the view (m)")
    ax.set_aspect("equal", adjustable="box")
    return figure


def movie_in_space(run: Run, time: Floats) -> m.Movie:
    """Return the movie with frames at these times [s]."""
    n = run.variables["position"].values.shape[1]
    shown = _surfaces(run, time)
    low, high = _limits(run, shown)
    layers: list[m.Layer] = []
    for k, (points, starts) in enumerate(shown):
        colour = m.INK if k < n else m.SURFACE
        layers.append(m.Lines(points, starts, np.full((1, len(starts)), colour)))
    ends = between(time, run.time, _spring_ends(run))
    if ends.size:
        layers.append(m.Springs(ends.reshape(len(time), -1, 2)))
    if "hinge_place" in run.variables:
        pins = _projected(between(time, run.time, run.variables["hinge_place"].values))
        layers.append(m.Dots(pins, np.full((1, pins.shape[1]), m.INK), size=3.0))
    height = float(np.clip((high - low)[1] / (high - low)[0], 0.2, 1.0))
    labels = ("horizontal in the view (m)", "vertical in the view (m)")
    view = m.View("motion", layers, low, high, labels, height=height)
    notes = "places and quaternions between saved states are interpolated linearly"
    speed = np.linalg.norm(run.variables["velocity"].values, axis=-1).max(axis=1)
    fastest = m.Reading("fastest body", "m/s", between(time, run.time, speed))
    return run_movie(run, time, [view], notes, readings=[fastest])
