"""The movie of rods in space: rods, rigid partners, contacts and contact forces.

Positions at the times of the frames are cubic Hermite interpolants of saved positions, with rates
by finite differences. Contacts and their forces are those of the last saved state, because they may
jump. `RodFigures.movie` calls `movie_of`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import held, hermite, run_movie, slopes
from stiction.rods.figures.data import ROLL, SLIP, RodData
from stiction.rods.figures.partners import near
from stiction.rods.figures.view import turn_of

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_NODES = 400  # of all rods; the last node of each rod is added
_MOST_STRIPES = 40  # contacts under the time bar
_MOST_SURFACE = 900  # points of the lines that show a rigid partner
_JUDGED = 240  # times, besides the saved ones, at which their distance to the rods is judged
_COLOUR_OF_MODE = {0: m.PALE, ROLL: m.BLUE, SLIP: m.RED}  # 0 is open
_ARROW = 0.2  # longest arrow over the size of the scene


def movie_of(data: RodData, time: Floats, angles: tuple[float, float] = (28.0, -60.0)) -> m.Movie:
    """Return the movie of rods with frames at `time` (f,) [s].

    angles : elevation and azimuth of the initial direction of view [degrees]

    Verified by: tests/unit/rods/figures/test_player.py::test_frames_are_the_saved_rods
    """
    finite = np.flatnonzero(np.isfinite(_values(data, "position")).all(axis=(1, 2)))
    knots, saved = data.time[finite], _values(data, "position")[finite]
    low, high = data.box
    layers: list[m.Layer] = [*_partners(data, finite, time), *_rods(data, time, knots, saved)]
    marks, arrows = _contacts(data, time, float(np.linalg.norm(high - low)))
    layers += [*arrows, *marks]
    title, axes, turn = "the rods in space", ("x (m)", "y (m)", "z (m)"), turn_of(angles)
    notes = "between saved states rods and partners move on cubics through them; "
    notes += "contacts and forces are those of the last saved state"
    views = [m.View(title, layers, low, high, axes, height=0.6, turn=turn)]
    if not marks:
        return run_movie(data.run, time, views, notes)
    keys = [(m.BLUE, "rolls"), (m.RED, "slips"), (m.PALE, "open")]
    modes = np.nan_to_num(data.contact("contact_mode")).astype(np.int64)
    modes = modes[:, modes.any(axis=0)]
    if modes.shape[1] > _MOST_STRIPES:
        notes += f"; the bars show the first {_MOST_STRIPES} of {modes.shape[1]} contacts"
    modes = held(time, data.time, modes[:, :_MOST_STRIPES])
    strip = np.vectorize(_COLOUR_OF_MODE.get, otypes=[np.int64])(modes)
    return run_movie(data.run, time, views, notes, keys=keys, strip=strip)


def _values(data: RodData, name: str) -> Floats:
    """Return a saved variable as floats."""
    return np.asarray(data.run.variables[name].values, dtype=np.float64)


def _rods(data: RodData, time: Floats, knots: Floats, saved: Floats) -> list[m.Lines]:
    """Return the rods as lines, those of one radius as one layer.

    Parameters
    ----------
    time : (f,) times of the frames [s]
    knots, saved : (k,) times of the saved states that are finite [s], (k, node, 3) positions [m]
    """
    of, radius = data.rod_of_node, _values(data, "radius_of_node")
    every = math.ceil(of.size / _MOST_NODES)
    by_radius: dict[float, list[tuple[int, Ints]]] = {}
    for number, i in enumerate(np.unique(of)):
        mine = np.flatnonzero(of == i)
        nodes = np.unique(np.append(mine[::every], mine[-1]))
        colour = m.BODIES[number % len(m.BODIES)]
        by_radius.setdefault(float(radius[mine[0]]), []).append((colour, nodes))
    layers = []
    for thickness, rods in by_radius.items():
        positions = saved[:, np.concatenate([nodes for _, nodes in rods])]
        moved = hermite(time, knots, positions, slopes(knots, positions, np.zeros(0)))
        colours = np.array([[colour for colour, _ in rods]])
        starts = _starts([nodes for _, nodes in rods])
        layers.append(m.Lines(moved, starts, colours, thick=2.0 * thickness))
    return layers


def _starts(lines: list[Ints]) -> tuple[int, ...]:
    """Return the index of the first point of each line, where all follow one another."""
    return tuple(int(k) for k in np.cumsum([0, *(len(line) for line in lines[:-1])]))


def _contacts(data: RodData, time: Floats, size: float) -> tuple[list[m.Dots], list[m.Arrows]]:
    """Return dots and force arrows of the closed contacts, those saved last before each frame.

    size : diagonal of the box around the rods [m]
    """
    if not data.n_contact or not data.has("contact_point"):
        return [], []
    samples = np.clip(np.searchsorted(data.time, time, side="right") - 1, 0, None)
    scenes = [data.scene(int(sample)) for sample in np.unique(samples)]
    most = max(scene.points.shape[0] for scene in scenes)
    if not most:
        return [], []
    shape = (len(scenes), most, 3)
    points, forces = np.zeros(shape), np.zeros(shape)
    points[:] = 0.5 * (data.box[0] + data.box[1])
    colour = np.full(shape[:2], m.HIDDEN)
    for k, scene in enumerate(scenes):
        n = scene.points.shape[0]
        points[k, :n], forces[k, :n] = scene.points, scene.forces
        colour[k, :n] = np.where(scene.slips, m.RED, m.BLUE)
    at = np.searchsorted(np.unique(samples), samples)
    points, forces, colour = points[at], forces[at], colour[at]
    dots = [m.Dots(points, colour, 4.0, held=True)]
    force = data.largest_force
    if force <= 0.0:
        return dots, []
    return dots, [m.Arrows(points, _ARROW * size / force * forces, colour, held=True)]


def _partners(data: RodData, finite: Ints, time: Floats) -> list[m.Layer]:
    """Return lines on the surfaces of rigid partners, where these are near the rods.

    finite : indices of the saved states that are finite; partners are interpolated between them
    """
    points, knots = data.partner_points[finite], data.time[finite]
    # a point is drawn if it is near the rods at any saved time or at one of _JUDGED times between;
    # these do not depend on the frames, so that movies with more frames have the same lines
    judged = points = points[:1] if (points == points[0]).all() else points
    if len(points) > 1:
        rates, even = slopes(knots, points, np.zeros(0)), np.linspace(knots[0], knots[-1], _JUDGED)
        between, points = (hermite(at, knots, points, rates) for at in (even, time))
        judged = np.concatenate([judged, between])
    seen = [near(surface, data.box) for surface in data.surfaces(judged[0])]
    for place in judged[1:]:
        for shown, surface in zip(seen, data.surfaces(place), strict=True):
            shown |= near(surface, data.box)
    layers: list[m.Layer] = []
    partners = zip(*map(data.surfaces, points), strict=True)
    for shown, partner in zip(seen, partners, strict=True):
        surface, lines = np.stack(partner), _grid_lines(shown)
        if not lines:
            continue
        positions = surface.reshape(len(surface), -1, 3)[:, np.concatenate(lines)]
        colour = np.full((1, len(lines)), m.GREY)
        layers.append(m.Lines(positions, _starts(lines), colour, width=0.5))
    return layers


def _grid_lines(shown: npt.NDArray[np.bool_]) -> list[Ints]:
    """Return lines along both directions of a grid, as indices of its flattened points.

    They have at most `_MOST_SURFACE` points together. A line is interrupted at points that are not
    shown.
    """
    grid = np.arange(shown.size).reshape(shown.shape)
    lines: list[Ints] = []
    for points in (grid, grid.T):
        most = max(2, _MOST_SURFACE // (2 * len(points[0])))
        for line in points[style.few(len(points), most)]:
            parts = np.split(line, np.flatnonzero(~shown.flat[line]))
            # each part but the first begins with a point that is not shown
            lines += [parts[0], *(part[1:] for part in parts[1:])]
    return [line for line in lines if line.size > 1]
